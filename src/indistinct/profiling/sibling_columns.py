"""What a column is by the company of the others: items of one record, one of a series, the outcome of a study."""

from __future__ import annotations

from collections.abc import Mapping

from indistinct.profiling import role_words
from indistinct.profiling.column_names import is_one_of, words_of
from indistinct.profiling.column_roles import said_by
from indistinct.profiling.column_statistics import MANY, Look

FEWEST_ITEMS = 4
"""So many columns with the same values, three or more, of unknown or sensitive names are items of one record."""
FEWEST_CHECKED = 8
"""So many columns of unknown names with the same two words are a list of questions that was ticked off."""
FEWEST_OF_HEALTH = 4
"""So many columns, and more than others may know, tell of health in a medical record."""
FEWEST_SIBLINGS = 2
"""So many others must be named alike."""
MOST_OUTCOMES = 3
"""A study ends in no more ways: alive, ill again, dead."""


def company_among(looks: Mapping[str, Look]) -> dict[str, tuple[str | None, str]]:
    """Return the columns of unknown names that belong to what nobody should learn, each with its topic and the reason.

    What surrounds a column tells more than a name that says nothing: in a medical record it is a finding or a
    treatment, which those know who treat. Whatever holds a value of its own for nearly every row is left to
    others to judge.
    """
    said = {name: said_by(name) for name, look in looks.items() if look.distinct > 1}
    found: dict[str, tuple[str | None, str]] = {}
    for topic, members in (
        ("health", _of_a_record(looks, said)),
        ("health", _outcomes(looks)),
        (None, _siblings(said)),
    ):
        found |= {name: (topic, reason) for name, reason in members.items()}
    for name, number in _items(looks).items():
        topic = found[name][0] if name in found else None
        found[name] = (topic, f"one of {number} columns with the same values: items that only a record knows")
    return found


def _items(looks: Mapping[str, Look]) -> dict[str, int]:
    """Return the columns that are items of one record, each with their number: they have equal values."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, look in looks.items():
        if look.values is not None and 2 <= look.distinct <= MANY and said_by(name)[0] != "quasi":
            alike.setdefault(look.values, []).append(name)
    items: dict[str, int] = {}
    for values, names in alike.items():
        is_words = not any(value.strip().isdecimal() for value in values)
        if len(values) == 2 and is_words:
            unknown = [name for name in names if said_by(name)[0] is None]
            items |= dict.fromkeys(unknown if len(unknown) >= FEWEST_CHECKED else (), len(unknown))
        if len(values) < 3 or len(names) < FEWEST_ITEMS:
            continue
        with_fewer = [more for few, others in alike.items() if set(few) < set(values) for more in others]
        every = [*names, *(with_fewer if is_words else ())]
        items |= dict.fromkeys(every, len(every))
    return items


def _of_a_record(looks: Mapping[str, Look], said: Mapping[str, tuple[str | None, str | None]]) -> dict[str, str]:
    """Return the columns of unknown names in a table of which most known names tell of health."""
    of_health = sum(topic == "health" for _, topic in said.values())
    known = sum(role == "quasi" and topic != "time" for role, topic in said.values())
    if of_health < FEWEST_OF_HEALTH or of_health <= known:
        return {}
    told = f"its name says nothing, but {of_health} columns tell of health"
    reason = f"{told}: a medical record knows it; if others may, make it quasi"
    return {name: reason for name, (role, _) in said.items() if role is None and not looks[name].is_nearly_unique}


def _outcomes(looks: Mapping[str, Look]) -> dict[str, str]:
    """Return the few codes that say what came of people, beside the number that says how long it took."""
    timed = [
        name
        for name, look in looks.items()
        if look.numbers
        and look.distinct > MANY
        and all(is_one_of(word, role_words.FOLLOWED) for word in words_of(name))
    ]
    if not timed:
        return {}
    return {
        name: f"what came of somebody, beside {timed[0]}, which says how long it took"
        for name, look in looks.items()
        if 2 <= look.distinct <= MOST_OUTCOMES
        and look.is_whole
        and all(is_one_of(word, role_words.OUTCOMES) for word in words_of(name))
    }


def _siblings(said: Mapping[str, tuple[str | None, str | None]]) -> dict[str, str]:
    """Return the columns of unknown names that differ in their last letter from others, which nobody should learn."""
    found = {}
    for name, (role, _) in said.items():
        stem = name[:-1]
        alike = [said[other][0] for other in said if other != name and other[:-1] == stem and len(stem) > 2]
        if role is None and len(alike) >= FEWEST_SIBLINGS and set(alike) == {"sensitive"}:
            found[name] = f"named like {len(alike)} columns that nobody should learn"
    return found
