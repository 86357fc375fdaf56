"""``indistinct attack link``: who of another table, such as a voter list, fits which released rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.attacks import LinkReport


def link(
    policy_path: PolicyPath,
    release: Annotated[
        str,
        typer.Argument(metavar="RELEASE", help="A folder that anonymize wrote, or any table file.", show_default=False),
    ],
    external: Annotated[
        str,
        typer.Argument(metavar="EXTERNAL", help="A table that names people, such as a voter list.", show_default=False),
    ],
    on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN[=COLUMN]",
            help="A column to link by; after = its name in the other table. Else all quasi columns of the same name.",
        ),
    ] = None,
    shown: Annotated[
        list[str] | None, typer.Option("--show", metavar="COLUMN", help="A column of the other table to show.")
    ] = None,
    fuzzy: Annotated[
        float | None, typer.Option(min=0, max=1, help="Also link texts that are as similar as this, such as 0.85.")
    ] = None,
    most: Annotated[int, typer.Option(min=0, help="How many of the worst groups to show; all are counted.")] = 10,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Link a release with another table, and show who is found.

    Labels fit the values that they generalize; days, numbers and texts may be written differently. Exit code 0 also
    with findings.
    """
    from indistinct.attacks import link as linked
    from indistinct.policy.files.policy_file import read_policy

    report = linked(
        Path(release) if Path(release).is_dir() else release,
        external,
        read_policy(policy_path),
        on=None if on is None else read_pairs(on),
        show=shown or (),
        fuzzy=fuzzy,
        most=most,
        **reading.arguments(),
    )
    show.either(report, _show, as_json)


def read_pairs(on: list[str]) -> dict[str, str]:
    """Read the columns to link by.

    >>> read_pairs(["ZIP", "DateOfBirth=DOB"])
    {'ZIP': 'ZIP', 'DateOfBirth': 'DOB'}
    """
    split = [text.partition("=") for text in on]
    return {ours: theirs or ours for ours, _, theirs in split}


def _show(report: LinkReport) -> None:
    from indistinct.attacks.linking.link_report import ADVICE, SCOPE

    console = show.out()
    console.print(_columns(report))
    console.print(_distributions(report))
    if report.worst:
        console.print(_worst(report))
    is_found = report.one_to_one > 0
    show.say(report.summary, show.BAD if is_found else show.GOOD if not report.unique_people else "")
    show.say(
        f"guessing names {figure(report.expected_matches)} of {counted(report.rows, report.unit)} right on average, "
        "if all of them are on the list",
    )
    show.caveats(report.notes, ADVICE if report.unique_rows or report.unique_people else (), SCOPE)


def _columns(report: LinkReport) -> Table:
    """Return the columns that link, and how the other table's values were read."""
    numbers = ("values", "written otherwise", "similar", "unknown")
    title = f"Linking {counted(report.rows, report.unit)} with {counted(report.people, 'person', 'people')}"
    made = show.table(title, "column", "in the other table", "read as", *numbers, right=numbers)
    for column in report.columns:
        figures = (column.values, column.respelled, len(column.fuzzy), column.strangers)
        made.add_row(column.column, column.external, column.kind, *map(figure, figures))
    return made


def _distributions(report: LinkReport) -> Table:
    """Return how many rows fit so many people, and how many people so many rows."""
    from indistinct.attacks.linking.link_report import bars

    heads = ("candidates", f"released {report.unit}s that fit so many people", f"people who fit so many {report.unit}s")
    made = show.table("How many fit", *heads, right=heads)
    rows, people = bars(report.people_of_rows), bars(report.rows_of_people)
    for name in bars({**report.people_of_rows, **report.rows_of_people}):
        made.add_row(name, figure(rows.get(name, 0)), figure(people.get(name, 0)))
    return made


def _worst(report: LinkReport) -> Table:
    """Return the groups that tell most, and who fits them."""
    names = [column.column for column in report.columns]
    numbers = (f"{report.unit}s", "people", "chance")
    made = show.table("Worst first", *names, *numbers, "who fits", right=numbers)
    for group in report.worst:
        labels = ("(blank)" if label is None else label for label in group.labels.values())
        fits = [
            ", ".join("(missing)" if cell is None else cell for cell in person.shown.values()) or f"row {person.row}"
            for person in group.persons
        ]
        more = ["…"] if group.people > len(fits) else []
        made.add_row(*labels, figure(group.rows), figure(group.people), figure(group.chance), "; ".join([*fits, *more]))
    return made
