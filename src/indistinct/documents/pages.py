"""Pages of a dossier: HTML to print, Markdown to edit; each shows facts and blanks, and says nothing else."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indistinct.atomic_files import OWNER_ONLY, refuse_unwritable, whole_folder
from indistinct.errors import OutputError
from indistinct.showing.page_templates import page_templates

if TYPE_CHECKING:
    from indistinct.documents.dossier_facts import Blank, Dossier, Fact, Paper

LONGEST, PIECE = 20, 8
"""Letters of a word that is broken, and of the pieces that it is broken into."""
TITLE = "Dossier of a release"
CONFIDENTIAL = "**Confidential.** It describes the private table: keep it as you keep that."


def html_page(dossier: Dossier, paper: Paper | None = None) -> str:
    """Return one document as a page that loads nothing and runs nothing; without one the first page of all."""
    from markupsafe import Markup

    page: str = _template().render(
        dossier=dossier,
        paper=paper,
        title=TITLE if paper is None else paper.title,
        blanks=blanks_of(dossier, paper),
        by_number={one.number: one for one in dossier.blanks},
        style=Markup(page_style()),  # nosec B704 # a file of our own
    )
    return page


def page_style() -> str:
    """Return the style of pages that are printed."""
    return (files(__package__) / "page.css").read_text("utf-8")


@functools.cache
def _template() -> Any:
    environment = page_templates(str(__package__))
    environment.filters["breakable"] = breakable
    return environment.get_template("page.html")


def breakable(text: str) -> Any:
    """Return a text whose long words, such as digests, may be broken, so that no table is wider than its page."""
    from markupsafe import Markup, escape

    words = (
        Markup("<wbr>").join(word[at : at + PIECE] for at in range(0, len(word), PIECE))
        if len(word) > LONGEST
        else escape(word)
        for word in text.split(" ")
    )
    return Markup(" ").join(words)


def blanks_of(dossier: Dossier, paper: Paper | None) -> list[Blank]:
    """Return the blanks of a document, by number; those of all without one."""
    if paper is None:
        return list(dossier.blanks)
    numbers = {number for section in paper.sections for number in section.blanks}
    return [one for one in dossier.blanks if one.number in numbers]


def markdown_page(dossier: Dossier, paper: Paper) -> str:
    """Return one document as Markdown, for people to edit."""
    by_number = {one.number: one for one in dossier.blanks}
    lines = [f"# {escape(paper.title)}", "", f"{escape(dossier.title)}, {dossier.made_by}, {dossier.made_at[:10]}", ""]
    lines += [f"Headings after: {escape(paper.source)}", ""]
    lines += [line for one in paper.decision for line in (f"> {escape(one)}", ">")][:-1]
    lines += ["", CONFIDENTIAL, "", "## To be filled in", ""]
    lines += [f"- Blank {one.number}: {escape(one.hint)} ({one.place})" for one in blanks_of(dossier, paper)] or [
        "Nothing."
    ]
    for section in paper.sections:
        lines += ["", f"## {escape(section.title)}", ""]
        for name in section.facts:
            lines += _fact_lines(dossier.facts[name], section.title)
        for number in section.blanks:
            lines += [f"**[Blank {number}: {escape(by_number[number].hint)}]**", ""]
    lines += ["", "Name, role:", "", "Date, signature:"]
    return "\n".join(lines) + "\n"


def _fact_lines(fact: Fact, heading: str) -> list[str]:
    lines = [] if fact.title == heading else [f"### {escape(fact.title)}", ""]
    for said in fact.said:
        lines += [escape(said), ""]
    if fact.table is not None:
        lines += [_row(fact.table.heads), _row(["---"] * len(fact.table.heads), escaped=True)]
        lines += [*(_row(row) for row in fact.table.rows), ""]
    if fact.command:
        lines += [f"Made by: `{fact.command.replace('`', '')}`", ""]
    return lines


def _row(cells: Sequence[str], *, escaped: bool = False) -> str:
    return f"| {' | '.join(cell if escaped else escape(cell) for cell in cells)} |"


def escape(text: str) -> str:
    """Return a text whose signs Markdown takes for themselves.

    >>> escape("a|b *c* <d>")
    'a\\\\|b \\\\*c\\\\* &lt;d>'
    """
    text = " ".join(text.split()).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{sign}" if sign in "*_`[]|#" else sign for sign in text)


FACTS, SCHEMA = "dossier.json", "dossier.schema.json"
"""The file of all facts, and that of their schema."""
INDEX = "index.html"
"""The first page: the decision, every blank, and the documents."""


def write_dossier(dossier: Dossier, goal: Path, *, replace: bool = False) -> Path:
    """Write all documents as a folder that only its owner may read; return it."""
    refuse_folder(goal, replace=replace)
    texts = dossier_files(dossier)
    with whole_folder(goal, replace=replace) as draft:
        for name, text in texts.items():
            place = draft / name
            place.write_text(text, "utf-8")
            place.chmod(OWNER_ONLY)
    return goal


def dossier_files(dossier: Dossier) -> dict[str, str]:
    """Return the text of each file of a dossier, by its name."""
    found = {INDEX: html_page(dossier)}
    for paper in dossier.papers:
        found[f"{paper.name}.html"] = html_page(dossier, paper)
        found[f"{paper.name}.md"] = markdown_page(dossier, paper)
    found[FACTS] = json.dumps({"$schema": SCHEMA, **dossier.to_dict()}, indent=2, ensure_ascii=False) + "\n"
    found[SCHEMA] = json.dumps(dossier.json_form(), indent=2) + "\n"
    return found


def refuse_folder(goal: Path, *, replace: bool) -> None:
    """Raise if no dossier can be written at this place; asked before the work begins."""
    if goal.exists() and not (replace and (goal / FACTS).is_file()):
        what = "say --replace" if (goal / FACTS).is_file() else "it is no dossier, so name another one"
        raise OutputError(f"{goal} exists already; {what}")
    refuse_unwritable(goal, "folder")
