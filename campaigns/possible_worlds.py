"""An adversary who counts worlds: who can each followed row be, given all releases that she holds; no code is shared.

She follows rows from release to release without error, knows everybody's quasi-identifying values at any time, and who
is in which release. A world gives every followed row to one of the people, no two to the same, so that each person is
in just the releases that her row is in, under labels that cover her values there. All worlds are equally likely to her.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Covers = Callable[[str, str, str], bool]
"""Tells whether, in a column, a label can stand for a value."""


@dataclass
class Held:
    """One release that the adversary holds: its rows by the mark that she follows, and what she knows of its people."""

    rows: Mapping[str, Mapping[str, str]]
    known: Mapping[str, Mapping[str, str]]
    """The quasi-identifying values of everybody who is in the release, by what the person's row is called."""


def chances(held: Sequence[Held], columns: Sequence[str], covers: Covers) -> dict[str, dict[str, Fraction]]:
    """Return, for each person's row, the chance of each followed row to be hers; only those above 0."""
    found: dict[str, dict[str, Fraction]] = {}
    traces = _by_trace({mark for one in held for mark in one.rows}, [one.rows for one in held])
    people = _by_trace({name for one in held for name in one.known}, [one.known for one in held])
    for trace, names in people.items():
        marks = traces.get(trace, [])
        fits = [[_can_be(name, mark, trace, held, columns, covers) for mark in marks] for name in names]
        shares = matching_shares(fits)
        for place, name in enumerate(names):
            found[name] = {mark: share for mark, share in zip(marks, shares[place], strict=True) if share}
    return found


def _by_trace(names: set[str], there: Sequence[Mapping[str, Any]]) -> dict[Hashable, list[str]]:
    """Put together who is in the same releases; people of different ones can never be exchanged."""
    found: dict[Hashable, list[str]] = defaultdict(list)
    for name in sorted(names):
        found[tuple(name in rows for rows in there)].append(name)
    return found


def _can_be(name: str, mark: str, trace: Any, held: Sequence[Held], columns: Sequence[str], covers: Covers) -> bool:
    return all(
        covers(column, one.rows[mark][column], one.known[name][column])
        for one, is_there in zip(held, trace, strict=True)
        if is_there
        for column in columns
    )


def matching_shares(fits: Sequence[Sequence[bool]]) -> list[list[Fraction]]:
    """Return, for each row and column of a square table, in which share of all its perfect matchings the two are
    matched.

    Matchings of the first rows to sets of columns are counted forwards, of the last ones backwards: 2 ** n sets
    instead of n! worlds.
    """
    size = len(fits)
    full = (1 << size) - 1
    ahead: list[dict[int, int]] = [{0: 1}]
    for row in fits:
        step: dict[int, int] = defaultdict(int)
        for taken, ways in ahead[-1].items():
            for place, is_fitting in enumerate(row):
                if is_fitting and not taken >> place & 1:
                    step[taken | 1 << place] += ways
        ahead.append(step)
    behind: list[dict[int, int]] = [{0: 1}]
    for row in reversed(fits):
        step = defaultdict(int)
        for taken, ways in behind[-1].items():
            for place, is_fitting in enumerate(row):
                if is_fitting and not taken >> place & 1:
                    step[taken | 1 << place] += ways
        behind.append(step)
    worlds = ahead[-1].get(full, 0)
    if not worlds:
        raise ValueError("no world fits what is known, so a release is untrue")
    shares = []
    for number, row in enumerate(fits):
        line = []
        for place, is_fitting in enumerate(row):
            after = behind[size - number - 1]
            ways = sum(
                count * after.get(full ^ taken ^ (1 << place), 0)
                for taken, count in ahead[number].items()
                if is_fitting and not taken >> place & 1
            )
            line.append(Fraction(ways, worlds))
        shares.append(line)
    return shares
