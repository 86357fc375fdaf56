"""Attacks tried: what a recipient could conclude, in numbers for every reader and in full for the internal edition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from indistinct import attacks
from indistinct.attacks.attack_run import GUESSES, TITLES
from indistinct.recoding.classes import LINK
from indistinct.report.subject import Subject
from indistinct.showing.words import counted

MOST_FINDINGS = 5


def attack_outcomes(
    subject: Subject, release: Any, external: Any = None, earlier: Sequence[Any] = (), **reading: Any
) -> list[dict[str, Any]]:
    """Return the outcome of each attack, worst first; only an internal edition says what exactly was found.

    A sharpened label may be a cell of the private table that is not in the release, so a public edition has counts.
    """
    is_public = subject.edition == "public"
    found = attacks.run(
        release,
        subject.policy,
        external=external,
        earlier=earlier,
        original=subject.source,  # never there in a public edition
        most=0 if is_public else MOST_FINDINGS,
        **reading,
    )
    outcomes = [
        _outcome(one.attack, one.title, one.severity, one.summary, () if is_public else one.findings)
        | ({"guesses": one.report.to_dict()["guesses"]} if one.attack in GUESSES else {})
        for one in found.outcomes
    ]
    not_run = dict(found.not_run)
    if not subject.form.generalizes:
        not_run.pop("homogeneity", None)
        outcomes += [_alike_classes(subject, name) for name in subject.policy.with_role("sensitive")]
    return outcomes + [_outcome(name, TITLES[name], "not tried", why) for name, why in not_run.items()]


def _alike_classes(subject: Subject, column: str) -> dict[str, Any]:
    """Count the classes of a release of two tables whose rows all have the same sensitive value."""
    found = subject.with_column(column).values_by((LINK,), column)
    values, rows = np.bincount(found.groups), np.bincount(found.groups, found.counts).astype(np.int64)
    alike, classes = int((values == 1).sum()), counted(len(values), "class", "classes")
    if alike:
        said = f"{alike:,} of {classes}, with {counted(int(rows[values == 1].sum()), 'row')}, have one {column} each"
    else:
        said = f"each of {classes} has at least {counted(int(values.min()), 'value')} of {column}"
    return _outcome("homogeneity", f"Classes with one {column}", "broken" if alike else "nothing", said)


def _outcome(attack: str, title: str, severity: str, summary: str, findings: Sequence[str] = ()) -> dict[str, Any]:
    return {"attack": attack, "title": title, "severity": severity, "summary": summary, "findings": list(findings)}
