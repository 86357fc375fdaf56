"""``indistinct attack dependencies``: which columns of a release tell what became of a generalized one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading, ReleasePath
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.attacks import DependencyReport


def dependencies(
    policy_path: PolicyPath,
    release: ReleasePath,
    original: Annotated[
        str | None, typer.Option(metavar="TABLE", help="The private table, from which it is learned what tells what.")
    ] = None,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show which columns that are released as they are tell a generalized one, and how many rows that leaves alone.

    Exit code 0 also with findings.
    """
    from indistinct.attacks import dependencies as look
    from indistinct.policy.files.policy_file import read_policy

    report = look(release, read_policy(policy_path), original=original, **reading.arguments())
    show.either(report, _show, as_json)


def _show(report: DependencyReport) -> None:
    from indistinct.attacks.dependencies import ADVICE, SCOPE

    if report.columns:
        title = f"Columns of {counted(report.rows, 'row')} that tell others"
        made = show.table(title, "column", "tells", "alone", "fewer than k", right=("alone", "fewer than k"))
        for one in report.columns:
            tells = ", ".join(one.tells) + ("" if one.is_exact else " (nearly)")
            made.add_row(one.column, tells, figure(one.alone), figure(one.below_k))
        show.out().print(made)
    show.say(report.summary, show.BAD if report.is_broken else "" if report.columns else show.GOOD)
    show.caveats(report.notes, ADVICE if report.columns else (), SCOPE)
