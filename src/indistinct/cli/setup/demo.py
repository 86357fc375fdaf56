"""``indistinct demo``: the papers' own tables, released, verified and shown before and after."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import indistinct
from indistinct.cli import show
from indistinct.cli.options import AsJson, option
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from indistinct.examples import Example
    from indistinct.policy import Policy
    from indistinct.release import Release

Record = dict[str, Any]
"""One row: a cell for each column."""

WIDTH_OF_PICTURE = 100
REPORTED = "samarati"
"""The example of which a report is written: it has a suppressed row to explain."""


def demo(
    save: Annotated[
        Path | None, option("Copy the tables and their policy files to this folder.", metavar="FOLDER")
    ] = None,
    svg: Annotated[Path | None, option("Also save what is shown as a picture.", metavar="FILE", dir_okay=False)] = None,
    report: Annotated[
        Path | None,
        option("Also write the report of Samarati's release, one page of HTML.", metavar="FILE", dir_okay=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Release the papers' own tables, verify the releases and show them before and after."""
    from indistinct.examples import EXAMPLES, save_examples

    if report is not None:
        _refuse_place(report)
    saved = [] if save is None else save_examples(save)
    console = show.out() if svg is None else _recording()
    described = {}
    for example in EXAMPLES:
        page = report if example.name == REPORTED else None
        described[example.name] = _run(example, None if as_json else console, page)
    if as_json:
        show.document({"examples": described, "saved": [str(path) for path in saved]})
        return
    if svg is not None:
        _save_picture(console, svg)
    _suggest(save)


def _run(example: Example, console: Console | None, page: Path | None = None) -> dict[str, Any]:
    """Release one example, prove the release against the original, show both, and describe the release."""
    from indistinct import pipeline
    from indistinct.engine import open_table
    from indistinct.policy.files.policy_file import read_policy

    with example.paths() as (table, policy_path):
        policy = read_policy(policy_path)
        with open_table(table) as rows:
            original: list[Record] = rows.head(rows.count()).to_pylist()
        with pipeline.anonymize(table, policy) as release:
            verdict = release.verify(original=table)
            verdict.raise_if_failed()
            if page is not None:
                voters = table.with_name(example.file_names[2])
                release.report(page, original=table, external=voters, title=f"Report of a release: {example.title}")
                show.say(f"saved {page}", show.QUIET)
            released: list[Record] = release.table.to_pylist()
    if console is not None:
        _show(console, example, policy, original, released, release)
    return {**release.facts.to_dict(), "verdict": verdict.to_dict()}


def _show(
    console: Console,
    example: Example,
    policy: Policy,
    original: list[Record],
    released: list[Record],
    release: Release,
) -> None:
    """Show an example before and after, with the measures and the checks."""
    from rich.padding import Padding
    from rich.rule import Rule
    from rich.text import Text

    assert release.verdict is not None  # it was just proved
    title = Text.assemble((example.title, "bold"), (f"  {example.source}", show.QUIET))
    console.print(Rule(title, align="left", style=show.ACCENT))
    before, after = _before(policy, original, release), _after(policy, released, release)
    console.print(Padding(show.beside_or_below(console, before, after), (1, 0)))
    console.print(_climb(release), _figures(release), _proof(release), sep="\n")
    console.print()


def _before(policy: Policy, original: list[Record], release: Release) -> Table:
    """Return the private table in the order of the release; the rows that were suppressed are struck out at its end."""
    node = release.node or {}
    labels = [
        tuple(policy.columns[name].hierarchy.label(record[name], level) for name, level in node.items())
        for record in original
    ]
    k = max(model.least_rows for model in policy.privacy)
    rows = [(labels.count(label) < k, label, record) for label, record in zip(labels, original, strict=True)]
    rows.sort(key=lambda row: (row[0], list(map(str, row[1])), _sorted_cells(policy, row[2])))
    made = _table(f"Private table: {counted(len(original), 'row')}", *original[0])
    for position, (is_suppressed, label, record) in enumerate(rows):
        ends_group = position + 1 < len(rows) and rows[position + 1][1] != label
        made.add_row(*map(str, record.values()), style="dim strike" if is_suppressed else "", end_section=ends_group)
    return made


def _after(policy: Policy, released: list[Record], release: Release) -> Table:
    """Return the released table sorted into its groups, with the generalized cells highlighted."""
    from rich.text import Text

    node = release.node or {}
    rows = [([str(record[name]) for name in policy.quasi], record) for record in released]
    rows.sort(key=lambda row: (row[0], _sorted_cells(policy, row[1])))
    made = _table(f"Release: {counted(len(released), 'row')}, sorted into groups", *released[0])
    for position, (cells, record) in enumerate(rows):
        ends_group = position + 1 < len(rows) and rows[position + 1][0] != cells
        shown = [Text(str(cell), show.GENERALIZED if node.get(name, 0) else "") for name, cell in record.items()]
        made.add_row(*shown, end_section=ends_group)
    return made


def _sorted_cells(policy: Policy, record: Record) -> list[str]:
    return [str(record[name]) for name in policy.with_role("sensitive", "other")]


def _table(title: str | None, *columns: str, right: Iterable[str] = ()) -> Table:
    """Return an empty table in the house style, as narrow as can be."""
    made = show.table(title, *columns, right=right)
    made.show_edge, made.pad_edge, made.collapse_padding = False, False, True
    return made


def _figures(release: Release) -> Table:
    """Return the figures that the papers quote, on one line."""
    facts = release.facts
    figures = {
        "precision": facts.measures["precision"],
        "accuracy": facts.measures["accuracy"],
        "completeness": facts.measures["completeness"],
        "groups": facts.groups,
        "smallest": facts.smallest_group,
        "suppressed": facts.suppressed,
    }
    made = _table(None, *figures, right=figures)
    made.add_row(*map(figure, figures.values()))
    return made


def _climb(release: Release) -> Text:
    """Say how far the algorithm had to generalize."""
    from rich.text import Text

    facts = release.facts
    climbed = [f"{name} {level}/{facts.heights[name]}" for name, level in (facts.node or {}).items() if level]
    return Text.assemble(
        (f"generalized by {release.algorithm}: ", show.QUIET), (", ".join(climbed), show.GENERALIZED), "\n"
    )


def _proof(release: Release) -> Text:
    """Return the names of the checks that the release passed."""
    from rich.text import Text

    from indistinct.policy import ALL_QUASI

    assert release.verdict is not None  # it was just proved
    names = [check.name.removesuffix(f" on {ALL_QUASI}") for check in release.verdict.checks]
    line = Text("\nproved: ", show.QUIET)
    for position, name in enumerate(names):
        line.append(", " if position else "").append(name, show.GOOD)
    return line


def _recording() -> Console:
    """Return a console that remembers what it prints, as wide as the picture."""
    from rich.console import Console

    return Console(record=True, width=WIDTH_OF_PICTURE, markup=False, highlight=False, emoji=False)


def _save_picture(console: Console, path: Path) -> None:
    from indistinct.errors import OutputError

    try:
        console.save_svg(str(path), title=f"indistinct {indistinct.__version__} demo")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; name a file elsewhere") from None
    show.say(f"saved {path}", show.QUIET)


def _refuse_place(path: Path) -> None:
    from indistinct.report import refuse_place

    refuse_place(path)


def _suggest(save: Path | None) -> None:
    """Say what to try next."""
    if save is None:
        show.next_steps(["demo", "--save", "examples"], ["init", "your-table.csv"])
        return
    show.say(f"the tables and their policy files are in {save}", show.QUIET)
    hospital, samarati = save / "hospital", save / "samarati"
    show.next_steps(
        ["anonymize", f"{hospital}.toml", f"{hospital}.csv", "-o", save / "release"],
        ["solutions", f"{samarati}.toml", f"{samarati}.csv"],
    )
