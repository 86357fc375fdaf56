"""What ``verify.py`` counts of people who have rows in several tables, with nothing but Python: a part of that program.

At least k people share what the tables tell of a person: all her rows or, where the policy says how many events others
know, her row with each set of so many of her events.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any

MOST_KNOWN_SETS = 5_000_000  # of more sets of events they are not counted here
Event = tuple[Any, Any]  # its table and quasi cells, and the same without time


def as_list(said: Any) -> list[Any]:
    return [said] if said is None or isinstance(said, str) else list(said)


def fewest_alike(policy: dict[str, Any], tables: dict[str, list[dict[str, str]]]) -> int | None:
    """Return how many people share the rarest of what may be known of one; None if that is too much to count."""
    person, knows = policy["person"], policy.get("knows")
    whose = as_list(person.get("columns") or person.get("column") if isinstance(person, dict) else person)
    time = (knows or {}).get("time", ())
    people: Any = defaultdict(lambda: ([], []))  # rows of tables of people, and events
    for name, rows in tables.items():
        said = policy["tables"][name]
        quasi = [column for column, one in said["columns"].items() if one["role"] == "quasi"]
        timeless = [column for column in quasi if f"{name}.{column}" not in time]
        is_event = as_list(said.get("person") or whose) != [said.get("key")]
        for row in rows:
            event = ((name, *(row[one] for one in quasi)), (name, *(row[one] for one in timeless)))
            people[row["pseudonym"]][is_event].append(event)
    whole = None if knows is None else [knows.get("events") or knows.get("dated", 0), knows.get("undated", 0)]
    totals = [sum(one.values()) if isinstance(one, dict) else one for one in whole or ()]
    if sum(math.comb(len(own) + sum(totals), sum(totals)) for _, own in people.values()) > MOST_KNOWN_SETS:
        return None
    shared: Any = Counter()
    for rows, events in people.values():
        alike = tuple(sorted(cells for cells, _ in rows))
        if knows is not None and knows.get("number"):
            alike = (*alike, *sorted(Counter(table for (table, *_), _ in events).items()))
        if whole is None:
            shared[alike, tuple(sorted(cells for cells, _ in events))] += 1
        else:
            shared.update((alike, *known) for known in set(known_events(events, whole, totals)))
    return min(shared.values(), default=0)


def known_events(events: list[Event], limits: list[Any], totals: list[int]) -> Iterator[tuple[Any, Any]]:
    """Return what may be known of a person's events: some of them in full, and others without their time."""
    places = range(len(events))
    for number in range(totals[0] + 1):
        for chosen in combinations(places, number):
            full = tuple(sorted(events[place][0] for place in chosen))
            rest = [place for place in places if place not in chosen]
            others = (some for more in range(totals[1] + 1) for some in combinations(rest, more))
            if not is_too_much(full, limits[0]):
                for some in others:
                    bare = tuple(sorted(events[place][1] for place in some))
                    if not is_too_much(bare, limits[1]):
                        yield full, bare


def is_too_much(cells: tuple[Any, ...], limits: Any) -> bool:
    """Return whether so many events of some table are known by nobody."""
    found = Counter(table for table, *_ in cells)
    return isinstance(limits, dict) and any(number > limits.get(table, 0) for table, number in found.items())
