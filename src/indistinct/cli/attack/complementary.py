"""``indistinct attack complementary``: what follows from several releases of one source together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, EarlierPolicies, PolicyPath, Reading
from indistinct.showing.numbers import figure

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from indistinct.attacks import ComplementaryReport
    from indistinct.policy import Policy


def complementary(
    policy_path: PolicyPath,
    releases: Annotated[
        list[str],
        typer.Argument(
            metavar="RELEASE…",
            help="All releases of one source, earliest first: folders or tables.",
            show_default=False,
        ),
    ],
    on: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column to link by. Else all that were released as they are."),
    ] = None,
    k: Annotated[int | None, typer.Option(min=1, help="How many rows a crowd needs. Else the policies' k.")] = None,
    one_to_one: Annotated[
        bool, typer.Option(help="Rule out pairs that would leave somebody else without a row, where counts allow it.")
    ] = True,
    earlier_policies: EarlierPolicies = None,
    most: Annotated[int, typer.Option(min=0, help="How many findings to describe; all are counted.")] = 10,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Link releases of one source with each other, also over time, and show who is left in a crowd below k.

    Exit code 0 also with findings.
    """
    from indistinct.attacks.complementary.join import complementary as link
    from indistinct.policy.files.policy_file import read_policy

    policy = read_policy(policy_path)
    report = link(
        releases,
        [*policies_of(earlier_policies, policy, len(releases) - 1), policy],
        on=on,
        k=k,
        one_to_one=one_to_one,
        most=most,
        **reading.arguments(),
    )
    show.either(report, _show, as_json)


def policies_of(paths: list[Path] | None, policy: Policy, number: int) -> list[Policy]:
    """Read the policies of earlier releases: the new one's, one for all, or one for each."""
    from indistinct.attacks.release_names import policy_of_each
    from indistinct.policy.files.policy_file import read_policy

    read = [read_policy(path) for path in paths or ()]
    if len(read) < 2:
        return policy_of_each(read[0] if read else policy, max(0, number))
    return policy_of_each(read, number)


def _show(report: ComplementaryReport) -> None:
    from indistinct.attacks.complementary.complementary_report import ADVICE, SCOPE

    console = show.out()
    console.print(_releases(report))
    for number, finding in enumerate(report.findings, 1):
        show.tell(f"  {number}. {finding.sentence}")
    if report.findings:
        console.print()
    style = show.BAD if report.is_broken else "" if report.kinds else show.GOOD
    show.say(report.summary, style)
    for meaning in report.assumed:
        show.say(f"assumed: {meaning}", show.QUIET)
    show.caveats(report.notes, ADVICE if report.kinds else (), SCOPE)


def _releases(report: ComplementaryReport) -> Table:
    """Return how the rows of each release fit those before."""
    numbers = ("rows", "pairs", "consistent", "ruled out", "in no other release")
    title = f"Linked on {', '.join(report.on) or 'labels alone'}"
    made = show.table(title, "release", *numbers, right=numbers)
    for one in report.releases:
        figures = (one.rows, one.pairs, one.consistent_pairs, one.ruled_out_pairs, one.rows_alone)
        made.add_row(one.release, *map(figure, figures))
    return made
