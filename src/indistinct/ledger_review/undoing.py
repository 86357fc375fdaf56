"""Which releases of the same people undo each other, when everybody's are put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from indistinct.ledger import Entry
from indistinct.ledger.history import Earlier
from indistinct.ledger.store import MEMBERS, Files
from indistinct.policy.files.policy_file import parse_policy
from indistinct.progress import Watch

MOST_FOUND = 20
"""Releases that undo others are looked for until so many were found; more are told as one."""


class Undoing(NamedTuple):
    """A release, and the earlier ones that each undo it or are undone by it; all of them where no pair does."""

    entry: Entry
    others: tuple[Entry, ...]
    why: str


def find_undoing(entries: Sequence[Entry], files: Files, watch: Watch) -> list[Undoing]:
    """Return the releases that undo earlier ones among some of the same people, the oldest first.

    All of them are joined at once. Only if that tells people apart is it looked for the first release with which it
    does, by halving, and then for those that do so with it alone; it is set aside, and the rest are joined again.
    """
    rest = sorted((one for one in entries if not one.is_drawn), key=lambda one: one.number)
    found: list[Undoing] = []
    while len(rest) > 1 and (why := reason(rest, files)) is not None:
        watch.time_is_up()
        place = _first_failing(lambda number: reason(rest[: number + 1], files) is not None, len(rest))
        last = rest[place]
        if place and len(found) < MOST_FOUND:
            others = tuple(one for one in rest[:place] if reason([one, last], files) is not None)
            found.append(Undoing(last, others or tuple(rest[:place]), reason(rest[: place + 1], files) or why))
        elif place:
            return [*found, Undoing(last, tuple(rest[:place]), why)]
        rest.pop(place)  # alone it fails its recount, which says so
    return found


def _first_failing(fails: Callable[[int], bool], number: int) -> int:
    """Return the first of so many places that fails, if all after it do; the last one does."""
    low, high = 0, number - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) else (middle + 1, high)
    return low


def reason(entries: Sequence[Entry], files: Files) -> str | None:
    """Say what some releases reveal together that they had promised not to; None if nothing."""
    *earlier, last = entries
    key, person = last.details.get("key"), last.details.get("person")
    names_rows = bool(person) and key != person
    joined = Earlier.of(earlier, files, {}, names_rows=names_rows)
    linked = joined.joined_with(files.path(last, MEMBERS), parse_policy(last.policy))
    return None if linked.passed else linked.reason
