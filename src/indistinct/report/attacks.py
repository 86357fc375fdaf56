"""Attacks tried: what a recipient could conclude from the release, counted for every reader and told to its holder."""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct import attacks
from indistinct.link import LINK
from indistinct.report.subject import Subject
from indistinct.words import counted

MOST_GROUPS = 100_000
"""Groups whose labels are searched for what lies below them; more would take minutes."""
MOST_FINDINGS = 5


def tried(subject: Subject, release: Any, external: Any = None, **reading: Any) -> list[dict[str, Any]]:
    """Give the outcome of each attack; what exactly was found is told in an internal edition only.

    A sharpened label may be a cell of the private table that is not in the release, so a public edition has counts.
    """
    outcomes = [_homogeneity(subject, name) for name in subject.policy.with_role("sensitive")]
    outcomes.append(_downcoding(subject, release, reading))
    outcomes.append(_linking(subject, release, external, reading))
    return outcomes


def _homogeneity(subject: Subject, column: str) -> dict[str, Any]:
    """Count the groups whose rows all have the same sensitive value."""
    columns = (LINK,) if subject.is_apart else subject.policy.quasi
    found = subject.with_column(column).values_by(columns, column)
    values, rows = np.bincount(found.groups), np.bincount(found.groups, found.counts).astype(np.int64)
    alike = int((values == 1).sum())
    groups = counted(len(values), "class", "classes") if subject.is_apart else counted(len(values), "group")
    if alike:
        said = (
            f"{alike:,} of {groups} {'has' if alike == 1 else 'have'} one {column} only: whoever knows that a person "
            f"is among these {counted(int(rows[values == 1].sum()), 'row')} knows it, too"
        )
    else:
        said = f"each of {groups} has at least {counted(int(values.min()), 'value')} of {column}"
    return _outcome("homogeneity", f"Groups with one {column}", said, "found" if alike else "nothing")


def _downcoding(subject: Subject, release: Any, reading: dict[str, Any]) -> dict[str, Any]:
    """Sharpen labels by what the algorithm promises."""
    title = "Sharpening labels by what lies below them"
    if subject.is_apart:
        return _outcome("downcoding", title, "a release of two tables generalizes nothing", "not tried")
    if subject.said["groups"] > MOST_GROUPS:
        return _outcome("downcoding", title, f"more than {MOST_GROUPS:,} groups; run the attack by itself", "not tried")
    report = attacks.downcoding(release, subject.policy, most=MOST_FINDINGS, **reading)
    is_found = bool(report.kinds) and (report.sharpened_cells > 0 or report.smallest_crowd < report.k)
    findings = [finding.sentence for finding in report.findings] if subject.edition == "internal" else []
    return _outcome("downcoding", title, report.summary, "found" if is_found else "nothing", findings)


def _linking(subject: Subject, release: Any, external: Any, reading: dict[str, Any]) -> dict[str, Any]:
    """Link the release with a table that names people."""
    title = "Linking with a table that names people"
    if external is None:
        return _outcome("linking", title, "no such table was given", "not tried")
    report = attacks.link(release, external, subject.policy, most=0, **reading)
    is_found = bool(report.one_to_one or report.unique_rows or report.unique_people)
    return _outcome("linking", title, report.summary, "found" if is_found else "nothing")


def _outcome(attack: str, title: str, summary: str, outcome: str, findings: list[str] | None = None) -> dict[str, Any]:
    return {"attack": attack, "title": title, "outcome": outcome, "summary": summary, "findings": findings or []}
