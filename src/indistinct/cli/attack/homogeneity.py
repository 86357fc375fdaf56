"""``indistinct attack homogeneity``: what a neighbour learns because a whole group has one sensitive value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading, ReleasePath
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.attacks import HomogeneityReport


def homogeneity(
    policy_path: PolicyPath,
    release: ReleasePath,
    share: Annotated[
        float, typer.Option(min=0, max=1, help="The share of a group's rows with one value that is too large.")
    ] = 0.9,
    most: Annotated[int, typer.Option(min=0, help="How many groups to describe; all are counted.")] = 10,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show the groups in which all rows, or nearly all, have the same sensitive value.

    Exit code 0 also with findings.
    """
    from indistinct.attacks import homogeneity as look
    from indistinct.policy.files.policy_file import read_policy

    policy = read_policy(policy_path)
    report = look(release, policy, share=share, most=most, **reading.arguments())
    show.either(report, _show, as_json)


def _show(report: HomogeneityReport) -> None:
    from indistinct.attacks.homogeneity import SCOPE

    console = show.out()
    console.print(_columns(report))
    for number, finding in enumerate(report.findings, 1):
        show.tell(f"  {number}. {finding.sentence}")
    if report.findings:
        console.print()
    show.say(report.summary, show.BAD if report.is_broken else "" if report.findings else show.GOOD)
    show.caveats(report.notes, report.advice if report.findings else (), SCOPE)


def _columns(report: HomogeneityReport) -> Table:
    """Return the numbers of each sensitive column."""
    from indistinct.attacks.homogeneity import PLURALS

    many = PLURALS[report.unit]
    numbers = ("groups with one value", f"their {many}", f"groups with {report.share:.0%}", f"{many} of those")
    title = f"{counted(report.rows, report.unit, many)} in {counted(report.groups, 'group')}"
    made = show.table(title, "sensitive column", *numbers, right=numbers)
    for column in report.columns:
        figures = (column.same_groups, column.same_rows, column.alike_groups, column.alike_rows)
        made.add_row(column.column, *map(figure, figures))
    return made
