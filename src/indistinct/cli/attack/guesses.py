"""``indistinct attack inference`` and its kin: attacks that guess, each beside a control that lacks the release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading, ReleasePath
from indistinct.showing.numbers import figure, percent

if TYPE_CHECKING:
    from indistinct.attacks.guessing.guess_report import GuessReport

Original = Annotated[
    str, typer.Argument(metavar="ORIGINAL", help="The private table, which says who is right.", show_default=False)
]
Control = Annotated[
    str | None,
    typer.Option(metavar="TABLE", help="People who are not in the release. Else the original is divided."),
]


def inference(
    policy_path: PolicyPath,
    release: ReleasePath,
    original: Original,
    control: Control = None,
    known: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A column that is known of people. Else all quasi ones.")
    ] = None,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show how well sensitive values are guessed from the release, and how well from other people.

    Exit code 0 also with findings.
    """
    more = {"control": control, "known": known or None}
    _guess("inference", policy_path, release, original, as_json, **more, **reading.arguments())


def minimality(
    policy_path: PolicyPath, release: ReleasePath, original: Original, *, reading: Reading, as_json: AsJson = False
) -> None:
    """Show what follows about sensitive values from why groups were not divided.

    Exit code 0 also with findings.
    """
    _guess("minimality", policy_path, release, original, as_json, **reading.arguments())


def definetti(
    policy_path: PolicyPath, release: ReleasePath, original: Original, *, reading: Reading, as_json: AsJson = False
) -> None:
    """Show how well the values of a class are given to its rows by what all classes of two tables say together.

    Exit code 0 also with findings.
    """
    _guess("definetti", policy_path, release, original, as_json, **reading.arguments())


def singling_out(
    policy_path: PolicyPath,
    release: ReleasePath,
    original: Original,
    control: Control = None,
    cells: Annotated[
        list[int] | None, typer.Option(min=1, help="How many cells describe somebody. Else 2, 3 and 4.")
    ] = None,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show how often a few cells of a released row fit exactly one person.

    Exit code 0 also with findings.
    """
    from indistinct.attacks.guessing.singling_out import CELLS

    more = {"control": control, "cells": cells or CELLS}
    _guess("singling_out", policy_path, release, original, as_json, **more, **reading.arguments())


def _guess(attack: str, policy_path: Path, release: str, original: str, as_json: bool, **more: Any) -> None:
    """Run an attack and show what it found."""
    from indistinct import attacks
    from indistinct.policy.files.policy_file import read_policy

    show.either(getattr(attacks, attack)(release, read_policy(policy_path), original, **more), _show, as_json)


def _show(report: GuessReport) -> None:
    from indistinct.attacks.guessing.guess_report import points

    numbers = ("guesses", "right", "control", "most frequent", "difference", "from", "to")
    made = show.table(f"Guessing: {report.attack}", "", *numbers, right=numbers)
    for guess in report.guesses:
        baseline = "" if guess.baseline is None else percent(guess.baseline)
        rates = (percent(guess.rate), percent(guess.control), baseline)
        made.add_row(guess.what, figure(guess.people), *rates, *map(points, (guess.difference, *guess.interval)))
    if report.guesses:
        show.out().print(made)
    show.say(report.summary, show.BAD if report.found else show.GOOD)
    for assumed in report.assumed:
        show.say(f"assumed: {assumed}", show.QUIET)
    show.caveats(report.notes, report.advice if report.found else (), report.scope)
