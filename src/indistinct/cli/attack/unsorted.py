"""``indistinct attack unsorted``: whether the order of a release tells where its rows come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading, ReleasePath
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.attacks import UnsortedReport


def unsorted(
    policy_path: PolicyPath,
    release: ReleasePath,
    earlier: Annotated[
        str, typer.Argument(metavar="EARLIER", help="An earlier release, or the private table.", show_default=False)
    ],
    earlier_policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The policy of the earlier release. Else POLICY.")
    ] = None,
    k: Annotated[int | None, typer.Option(min=1, help="How many rows a crowd needs. Else the policy's k.")] = None,
    significance: Annotated[float, typer.Option(help="How seldom chance may be taken for order.")] = 0.01,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Lay a release beside an earlier one, row by row, and tell whether its order says anything.

    Exit code 0 also with findings.
    """
    from indistinct.attacks.order.unsorted import unsorted as compare
    from indistinct.policy.files.policy_file import read_policy

    report = compare(
        release,
        earlier,
        read_policy(policy_path),
        earlier_policy=None if earlier_policy is None else read_policy(earlier_policy),
        k=k,
        significance=significance,
        **reading.arguments(),
    )
    show.either(report, _show, as_json)


def _show(report: UnsortedReport) -> None:
    from indistinct.attacks.order.unsorted_report import ADVICE, SCOPE

    show.out().print(_signals(report))
    show.say(report.summary, show.BAD if report.is_telling else show.GOOD)
    show.caveats(report.notes, ADVICE if report.is_telling else (), SCOPE)


def _signals(report: UnsortedReport) -> Table:
    """Return what order could tell, against random order."""
    numbers = ("found", "in random order", "chance")
    title = f"Order of {counted(report.rows, 'row')} against {counted(report.earlier_rows, 'earlier row')}"
    made = show.table(title, "", "what the order could tell", *numbers, right=numbers)
    for signal in report.signals:
        figures = (figure(signal.found), figure(signal.expected), figure(signal.chance))
        made.add_row(show.mark(not signal.is_telling), signal.name, *figures)
    return made
