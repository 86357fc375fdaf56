"""Trade-off: what every k and every suppression limit would cost, and where the release stands among them."""

from __future__ import annotations

import math
from typing import Any

from indistinct.policy import Policy
from indistinct.policy.algorithms import exact_measure_of
from indistinct.progress import Watch
from indistinct.report.subject import Subject
from indistinct.search import DEFAULT_KS, Frontier, Task, TupleCounter, sweep

LIMITS = (0.0, 0.01, 0.05, 0.2)
MOST_NODES = 50_000
MOST_WORK = 2_000_000_000
"""Nodes times tuples: a sweep of so much takes some seconds."""
USUAL_MEASURE = "precision"


def tradeoff(subject: Subject, watch: Watch) -> dict[str, Any]:
    """Return the best figure for each k and limit, and the curve at the release's own k; or why there is none."""
    reason = _why_not(subject)
    if reason is not None:
        return {"left_out": reason}
    assert subject.before is not None  # else there is a reason
    policy, measure = subject.policy, _measure(subject)
    ks = sorted({*(k for k in DEFAULT_KS if k <= subject.before.rows), subject.k})
    found = sweep(Task.of(subject.before, policy), watch, ks, [measure])
    return {
        "measure": measure,
        "counted": "people" if policy.person_columns else "rows",
        "nodes": len(found.nodes),
        "lines": [_line(found, limit, measure) for limit in _limits(policy)],
        "curve": [
            {"suppressed": point.suppressed, "value": point.value, "node": point.node}
            for point in found.curve(subject.k, measure)
        ],
        "chosen": {
            "k": subject.k,
            "suppressed": subject.said.suppressed,
            "value": subject.said.measures[measure],
            "is_local": subject.node is None,
        },
    }


def _why_not(subject: Subject) -> str | None:
    """Say why no trade-off is drawn, if that is so."""
    if subject.edition == "public":
        return "it would describe the private table, so it stands in the internal edition only"
    if subject.before is None:
        return "it is counted from the private table, which is not at hand"
    if not subject.form.generalizes:
        return "a release of two tables generalizes nothing, so there are no levels to choose from"
    if subject.policy.is_drawn:
        return "the levels were drawn at random, so there is nothing to choose"
    if not TupleCounter.serves(Task.of(subject.before, subject.policy)):
        return "it is counted for k-anonymity on one quasi-identifier, and the policy asks for more than that"
    nodes = math.prod(height + 1 for height in subject.before.heights)
    if nodes > MOST_NODES or nodes * len(subject.before.base) > MOST_WORK:
        return f"the hierarchies span {nodes:,} nodes, too many to count for a page; see indistinct frontier"
    return None


def _measure(subject: Subject) -> str:
    """Return the measure that the policy's search minimizes, if it names one and the release states it."""
    asked = exact_measure_of(subject.policy) or USUAL_MEASURE
    return asked if asked in subject.said.measures else USUAL_MEASURE


def _limits(policy: Policy) -> list[float | int]:
    """Return the usual limits and the policy's own, shares before numbers of rows."""
    own = policy.max_suppression or 0.0
    return sorted({*LIMITS, own}, key=lambda limit: (isinstance(limit, int), limit))


def _line(found: Frontier, limit: float | int, measure: str) -> dict[str, Any]:
    """Return the best figure over k for one suppression limit."""
    points = [(k, found.best(k, limit, measure)) for k in found.ks]
    return {"limit": limit, "points": [[k, point.value] for k, point in points if point is not None]}
