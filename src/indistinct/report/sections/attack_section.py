"""Attacks tried: what a recipient could conclude, in numbers for every reader and in full for the internal edition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from indistinct import attacks
from indistinct.attacks.guessing import GuessReport
from indistinct.progress import Watch
from indistinct.registry import ATTACKS
from indistinct.report.subject import Subject

MOST_FINDINGS = 5


def attack_outcomes(
    subject: Subject, external: Any = None, earlier: Sequence[Any] = (), *, watch: Watch, **reading: Any
) -> list[dict[str, Any]]:
    """Return the outcome of each attack, worst first; only an internal edition says what exactly was found.

    A sharpened label may be a cell of the private table that is not in the release, so a public edition has counts.
    """
    is_public = subject.edition == "public"
    found = attacks.run(
        subject.released_tables,
        subject.policy,
        external=external,
        earlier=earlier,
        original=subject.original,  # never there in a public edition
        most=0 if is_public else MOST_FINDINGS,
        watch=watch,
        **reading,
    )
    outcomes = [
        _outcome(one.attack, one.title, one.severity, one.summary, () if is_public else one.findings)
        | ({"guesses": one.report.to_dict()["guesses"]} if isinstance(one.report, GuessReport) else {})
        for one in found.outcomes
    ]
    return outcomes + [_outcome(name, ATTACKS[name].title, "not tried", why) for name, why in found.not_run.items()]


def _outcome(attack: str, title: str, severity: str, summary: str, findings: Sequence[str] = ()) -> dict[str, Any]:
    return {"attack": attack, "title": title, "severity": severity, "summary": summary, "findings": list(findings)}
