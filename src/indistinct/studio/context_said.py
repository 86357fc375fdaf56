"""What the steward says of the context of a release, as the policy file says it: nothing is kept that is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Said = dict[str, Any]
"""What was said beside columns, models and algorithm, as a policy file has it."""
Way = Literal["", "value", "controls", "prevalence"]
"""How the probability of an attempt is said; nothing if it is not."""
DOCUMENTED = ("about", "context", "recipients")
"""The parts of a policy that say in what surroundings a release is used; they change no cell of it."""
USUAL: Mapping[Way, Mapping[str, Any]] = {
    "": {},
    "value": {"value": ""},
    "controls": {"controls": "medium", "motives": "medium"},
    "prevalence": {"prevalence": ""},
}


def part(said: Said, *path: str) -> Said:
    """Return a part of what was said, by its keys; an empty one of what was not."""
    for name in path:
        found = said.get(name)
        said = found if isinstance(found, dict) else {}
    return said


def say(said: Said, path: tuple[str, ...], value: Any) -> None:
    """Say something at a place, or nothing if it is empty; parts in which nothing is left go as well.

    >>> said = {}
    >>> say(said, ("context", "sharing"), "agreement")
    >>> said
    {'context': {'sharing': 'agreement'}}
    >>> say(said, ("context", "sharing"), "")
    >>> said
    {}
    """
    first, *rest = path
    if not rest:
        if value in ("", None, {}):
            said.pop(first, None)
        else:
            said[first] = value
        return
    below = dict(part(said, first))
    say(below, tuple(rest), value)
    say(said, (first,), below)


def say_recipient(said: Said, name: str, terms: Mapping[str, Any] | None) -> None:
    """Say who gets the release, also if nothing is said of them; None takes them out."""
    recipients = {**part(said, "recipients")}
    recipients.pop(name, None)
    say(said, ("recipients",), recipients if terms is None else {**recipients, name: dict(terms)})


def way_of(threat: Mapping[str, Any]) -> Way:
    """Return how a probability was said.

    >>> way_of({"controls": "low", "motives": "low"}), way_of({"value": 0.1}), way_of({})
    ('controls', 'value', '')
    """
    ways: tuple[Way, ...] = ("value", "controls", "prevalence")
    return next((way for way in ways if way in threat), "")


def choose_way(said: Said, threat: str, way: Way) -> None:
    """Say a probability in another way; its reason stays."""
    before = part(said, "context", threat)
    why = {"why": before["why"]} if before.get("why") else {}
    say(said, ("context", threat), {**USUAL[way], **why} if way else {})


def choose_sharing(said: Said, sharing: str) -> None:
    """Say how the release is shared; of a public one an attempt is certain, so its likelihoods go."""
    say(said, ("context", "sharing"), sharing)
    for threat in ("deliberate", "inadvertent", "breach") if sharing == "public" else ():
        say(said, ("context", threat), None)
