"""Known events: how many fit what others may know of a person's events, beside what an attack found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from indistinct.policy import lists_people
from indistinct.report.subject import Subject


def known_events(subject: Subject, attacks: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return how many fit what others may know, what was kept of each table of events, and what the attack found.

    None where the policy does not say how many events others know.
    """
    policy = subject.policy
    if policy.knows is None:
        return None
    tried = next((one for one in attacks if one["attack"] == "history" and one["severity"] != "not tried"), None)
    return {
        "together": policy.knows.together,
        "fewest": subject.verdict.fewest_who_fit,
        "tables": [
            {"name": name, "eligible": rows.eligible, "released": rows.released}
            for name, rows in subject.said.tables.items()
            if not lists_people(policy.parts[name])
        ],
        "attack": None if tried is None else {"summary": tried["summary"], "findings": tried["findings"]},
    }
