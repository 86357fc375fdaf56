"""``indistinct attack all``: every attack that applies to a release, and a report for whoever answers for the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import show
from indistinct.cli.attack.complementary import policies_of
from indistinct.cli.options import AsJson, EarlierPolicies, PolicyPath, Reading, ReleasePath
from indistinct.errors import ExposedError

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.attacks import AttackRun

GOOD_ENOUGH = {"nothing": True, "something": None, "broken": False}
"""Whether a release can leave by what an attack found; None where that is to be decided."""


def run_all(
    policy_path: PolicyPath,
    release: ReleasePath,
    earlier: Annotated[
        list[str] | None,
        typer.Option(metavar="RELEASE", help="An earlier release of the same source; earliest first."),
    ] = None,
    earlier_policies: EarlierPolicies = None,
    external: Annotated[
        str | None, typer.Option(metavar="TABLE", help="A table that names people, such as a voter list.")
    ] = None,
    original: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="The private table, to compare order and guesses with."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the whole report: .html, .md or .json.")
    ] = None,
    most: Annotated[int, typer.Option(min=0, help="How many findings of each attack to describe.")] = 5,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Run every attack that applies, and say what was assumed known, what was found and what to do.

    Exit code 6 says that an attack exposes people: do not hand the release out. Lesser findings leave it at 0.
    """
    from indistinct.attacks import run
    from indistinct.policy.files.policy_file import read_policy

    policy = read_policy(policy_path)
    found = run(
        release,
        policy,
        earlier=earlier or (),
        earlier_policies=policies_of(earlier_policies, policy, len(earlier or ())),
        external=external,
        original=original,
        most=most,
        **reading.arguments(),
    )
    if report is not None:
        found.write(report)
    if as_json:
        show.document(found.to_dict())
    else:
        _show(found, report)
    if found.is_broken:
        raise typer.Exit(ExposedError.exit_code)


def _show(found: AttackRun, path: Path | None) -> None:
    console = show.out()
    console.print(_outcomes(found))
    for outcome in found.outcomes:
        if outcome.findings or outcome.meaning:
            console.print(outcome.title, style="bold")
            for finding in outcome.findings:
                show.tell(f"  - {finding}")
            if outcome.meaning:
                show.tell(f"what it means: {outcome.meaning}")
                show.tell(f"what to do: {'; or '.join(outcome.advice)}")
    style = {"broken": show.BAD, "something": "", "nothing": show.GOOD}[found.severity]
    show.say(found.summary, style)
    if path is not None:
        show.say(f"the whole report is in {path}")


def _outcomes(found: AttackRun) -> Table:
    """Return the outcome of each attack, and why others were not run."""
    from indistinct.attacks.attack_run import TITLES

    made = show.table(f"Attacks on {found.release}", "", "attack", "outcome")
    for outcome in found.outcomes:
        made.add_row(show.mark(GOOD_ENOUGH[outcome.severity]), outcome.title, outcome.summary)
    for name, why in found.not_run.items():
        made.add_row("", TITLES[name], f"not run: {why}")
    return made
