"""The folder of a dossier: its pages, and its facts as JSON with their schema, written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from indistinct.atomic_files import OWNER_ONLY, drop_draft, flush_all, give_name, make_draft
from indistinct.documents.pages import html_page, markdown_page
from indistinct.errors import OutputError

if TYPE_CHECKING:
    from indistinct.documents.dossier_facts import Dossier

FACTS, SCHEMA = "dossier.json", "dossier.schema.json"
"""The file of all facts, and that of their schema."""
INDEX = "index.html"
"""The first page: the decision, every blank, and the documents."""


def write_dossier(dossier: Dossier, goal: Path, *, replace: bool = False) -> Path:
    """Write all documents as a folder that only its owner may read; return it."""
    refuse_folder(goal, replace=replace)
    texts, draft = dossier_files(dossier), None
    try:
        draft = make_draft(goal, is_folder=True)
        for name, text in texts.items():
            place = draft / name
            place.write_text(text, "utf-8")
            place.chmod(OWNER_ONLY)
        flush_all(draft)
        give_name(draft, goal, replace=replace)
    except OSError as error:
        raise OutputError(f"cannot write {goal}: {error.strerror or error}; nothing was written") from None
    finally:
        if draft is not None:
            drop_draft(draft)
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
    parent = goal.absolute().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"{parent} is no folder that can be written to; name a folder elsewhere")
