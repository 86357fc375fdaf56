"""Balanced boxes: which group of a box gains most where rows are charged, if each of its values is equally frequent.

A *box* is one combination of labels, and in one table it has one group. A group gains what its rows are charged beyond
what they cost in the box. Entries are rows that are alike, their sensitive value included; they stand by value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.counting.kernels.ordering import highest_of, total_of
from indistinct.kernel import kernel

NOWHERE = -1
BOXES, MEMBERS = range(2)
"""Counters of boxes that are listed: how many there are, and their members."""
FEW = 64
"""Up to so many members are put in order by steps of one alone."""


class Ladders(NamedTuple):
    """What values are called.

    ``codes``  (columns, entries) int32; ``values`` (entries,) int64, ascending: the sensitive value
    ``keys``   (columns, levels, values) int64: what a label adds to the key of a box, NOWHERE if a lower level has it
    ``costs``  (columns, levels, values) float64: what it costs a row
    """

    codes: Any
    values: Any
    keys: Any
    costs: Any


class Listed(NamedTuple):
    """Boxes that are found.

    ``members``  int32: the entries of each box, by value; ``starts`` (boxes + 1,) int64: where those of a box start
    ``costs``    (boxes,) float64: what a row costs; ``keys``, ``nodes`` (boxes,) int64
    ``counters`` (2,) int64: BOXES, MEMBERS
    """

    members: Any
    starts: Any
    costs: Any
    keys: Any
    nodes: Any
    counters: Any

    @classmethod
    def room(cls, boxes: int, members: int) -> Listed:
        """Return room for so many boxes, none of which is listed."""
        return cls(
            members=np.empty(members, np.int32),
            starts=np.zeros(boxes + 1, np.int64),
            costs=np.zeros(boxes),
            keys=np.zeros(boxes, np.int64),
            nodes=np.zeros(boxes, np.int64),
            counters=np.zeros(2, np.int64),
        )


class Charged(NamedTuple):
    """Rows that seek a box.

    ``values``   (entries,) int64; ``left`` (entries,) int64: the rows that have no place yet
    ``charges``  (entries,) float64: what a row is charged
    ``wanted``   (entries,) int64 OUT: so many rows of it boxes want
    """

    values: Any
    left: Any
    charges: Any
    wanted: Any


class Bench(NamedTuple):
    """What a box is looked at with, for each of its values, those of the group first when one is found.

    ``first``, ``end``, ``rows``  (values,) int64: where its members stand, and their rows
    ``at``, ``rest``  (values,) int64: the member at hand, and its rows; ``gains``, ``sums`` (values,) float64
    """

    first: Any
    end: Any
    rows: Any
    at: Any
    rest: Any
    gains: Any
    sums: Any

    @classmethod
    def of(cls, values: int) -> Bench:
        """Return room for so many values."""
        return cls._make([*np.zeros((5, values), np.int64), *np.zeros((2, values))])


@kernel(rows="visits")
def list_boxes(visits: int, first: int, nodes: Any, m: int, ladders: Ladders, found: Listed) -> None:
    """List the boxes of some nodes that have m values or more; there is room for all of them.

    IN  visits  nodes times entries; first  the number of the first node
    IN  nodes   (nodes, columns) int64 levels
    """
    codes, values, keys, costs = ladders
    entries, columns, room = codes.shape[1], codes.shape[0], 2
    while room < 2 * entries:
        room *= 2
    slots, box_keys = np.full(room, NOWHERE), np.empty(entries, np.int64)
    taken, box_of, box_costs = np.empty(entries, np.int64), np.empty(entries, np.int64), np.empty(entries)
    size, different, last = np.empty((3, entries), np.int64)
    for node in range(len(nodes)):
        number = 0
        for entry in range(entries):
            box_of[entry] = NOWHERE
            key, cost, is_there = np.int64(0), 0.0, True
            for column in range(columns):
                part = keys[column, nodes[node, column], codes[column, entry]]
                is_there = is_there and part != NOWHERE
                key += part
                cost += costs[column, nodes[node, column], codes[column, entry]]
            if is_there:
                slot = ((key * np.int64(-7046029254386353131)) >> np.int64(32)) & (room - 1)
                while slots[slot] != NOWHERE and box_keys[slots[slot]] != key:
                    slot = (slot + 1) & (room - 1)
                if slots[slot] == NOWHERE:
                    slots[slot], taken[number], box_keys[number], box_costs[number] = number, slot, key, cost
                    size[number], different[number], last[number] = 0, 0, NOWHERE
                    number += 1
                box = slots[slot]
                box_of[entry] = box
                size[box] += 1
                if last[box] != values[entry]:
                    different[box] += 1
                    last[box] = values[entry]
        for box in range(number):
            slots[taken[box]] = NOWHERE
            last[box] = NOWHERE
            if different[box] >= m:
                place = found.counters[BOXES]
                found.keys[place], found.costs[place], found.nodes[place] = box_keys[box], box_costs[box], first + node
                last[box] = found.starts[place]
                found.starts[place + 1] = found.starts[place] + size[box]
                found.counters[BOXES] += 1
        for entry in range(entries):
            box = box_of[entry]
            if box != NOWHERE and last[box] != NOWHERE:
                found.members[last[box]] = entry
                last[box] += 1
        found.counters[MEMBERS] = found.starts[found.counters[BOXES]]


@kernel
def look_at(box: int, listed: Listed, charged: Charged, m: int, bench: Bench) -> int:
    """Return how many values have rows left in a box; 0 where no group of it gains anything.

    A group of m values gains no more than all rows that are charged more than they cost, less what the values cost
    whose rows are all charged less, each at least once.
    """
    members, cost, end = listed.members, listed.costs[box], listed.starts[box + 1]
    place, number, gain, gaining = listed.starts[box], 0, 0.0, 0
    while place < end:
        value, first, rows, most = charged.values[members[place]], place, 0, -np.inf
        while place < end and charged.values[members[place]] == value:
            left, beyond = charged.left[members[place]], charged.charges[members[place]] - cost
            if left > 0:
                rows += left
                most = max(most, beyond)
                gain += left * max(beyond, 0.0)
            place += 1
        if rows > 0:
            bench.first[number], bench.end[number], bench.rows[number], bench.sums[number] = first, place, rows, most
            number += 1
            gaining += 1 if most > 0.0 else 0
    if number < m or gain <= 0.0:
        return 0
    while gaining < m:
        best = NOWHERE
        for run in range(number):
            if bench.sums[run] <= 0.0 and (best == NOWHERE or bench.sums[run] > bench.sums[best]):
                best = run
        gain += bench.sums[best]
        bench.sums[best] = -np.inf
        gaining += 1
    return number if gain > 0.0 else 0


@kernel
def sort_run(first: int, end: int, members: Any, charges: Any) -> None:
    """Put members in the order of their charges, the lowest first."""
    gap = 1
    for place in range(first + 1, end):
        if charges[members[place - 1]] > charges[members[place]]:
            gap = max(gap, (end - first) // 3 if end - first > FEW else 1)
    while gap > 0:  # Shell's order: coarse steps first
        for place in range(first + gap, end):
            member, at = members[place], place
            while at >= first + gap and charges[members[at - gap]] > charges[member]:
                members[at] = members[at - gap]
                at -= gap
            members[at] = member
        gap = gap // 3 if gap > 3 else gap - 1 if gap == 1 else 1


@kernel
def best_group(box: int, listed: Listed, charged: Charged, m: int, bench: Bench) -> tuple[float, int, int]:
    """Return what the best group of a box gains, how often it has each value, and how many values it has.

    Values come in whole or not at all, and the more often each has its place, the less its next rows gain. Between two
    frequencies at which some value comes to its next entry every choice of values gains evenly, so only those count.
    """
    number = look_at(box, listed, charged, m, bench)
    if number == 0:
        return 0.0, 0, 0
    members, cost, charges, left = listed.members, listed.costs[box], charged.charges, charged.left
    first, end, rows, at, rest, gains, sums = bench
    for run in range(number):
        sort_run(first[run], end[run], members, charges)
        gains[run], at[run], rest[run] = 0.0, end[run], 0
    best, often, tried = 0.0, 0, 0
    while True:
        step, alive, is_gaining = 1 << 60, 0, False
        for run in range(number):
            if rows[run] > tried:
                while rest[run] == 0:
                    at[run] -= 1
                    rest[run] = left[members[at[run]]]
                alive += 1
                step = min(step, rest[run])
                is_gaining = is_gaining or charges[members[at[run]]] > cost
        if alive < m or not is_gaining:
            break
        tried += step
        gain, gaining = 0.0, 0
        for run in range(number):
            sums[run] = -np.inf
            if rows[run] >= tried:
                gains[run] += step * (charges[members[at[run]]] - cost)
                rest[run] -= step
                sums[run] = gains[run]
                if gains[run] > 0.0:
                    gain += gains[run]
                    gaining += 1
        while gaining < m:
            most = NOWHERE
            for run in range(number):
                if sums[run] <= 0.0 and (most == NOWHERE or sums[run] > sums[most]):
                    most = run
            gain += sums[most]
            sums[most] = -np.inf
            gaining += 1
        if gain > best:
            best, often = gain, tried
    if often == 0:
        return 0.0, 0, 0
    return best, often, choose_values(often, number, cost, m, listed, charged, bench)


@kernel
def choose_values(often: int, number: int, cost: float, m: int, listed: Listed, charged: Charged, bench: Bench) -> int:
    """Put the values of the best group with so many rows of each first; give how many they are."""
    first, end, rows, _, _, gains, _ = bench
    for run in range(number):
        gains[run] = -np.inf
        if rows[run] >= often:
            gains[run], asked, at = 0.0, often, end[run]
            while asked > 0:
                at -= 1
                one = listed.members[at]
                taken = min(asked, charged.left[one])
                gains[run] += taken * (charged.charges[one] - cost)
                asked -= taken
    chosen = 0
    while chosen < number:
        best = chosen
        for run in range(chosen, number):
            if gains[run] > gains[best]:
                best = run
        if gains[best] <= 0.0 and chosen >= m:
            break
        first[chosen], first[best] = first[best], first[chosen]
        end[chosen], end[best] = end[best], end[chosen]
        rows[chosen], rows[best] = rows[best], rows[chosen]
        gains[chosen], gains[best] = gains[best], gains[chosen]
        chosen += 1
    return chosen


@kernel
def take_rows(often: int, chosen: int, listed: Listed, charged: Charged, bench: Bench, taken: Any) -> None:
    """Add the rows of a group, so many of each of its values, to those that are taken of each entry."""
    for run in range(chosen):
        asked, at = often, bench.end[run]
        while asked > 0:
            at -= 1
            one = listed.members[at]
            number = min(asked, charged.left[one])
            taken[one] += number
            asked -= number


@kernel(rows="which")
def weigh(which: Any, listed: Listed, charged: Charged, m: int, bench: Bench, gains: Any) -> float:
    """Find the best group of some boxes, each by itself; return what they gain together.

    IN      which  (some,) int64 boxes
    IN OUT  listed  the members of a box are put in another order
    OUT     charged  ``wanted``; gains (some,) float64
    """
    total = 0.0
    for entry in range(len(charged.wanted)):
        charged.wanted[entry] = 0
    for place in range(len(which)):
        gain, often, chosen = best_group(which[place], listed, charged, m, bench)
        gains[place] = gain
        if chosen > 0:
            total += gain
            take_rows(often, chosen, listed, charged, bench, charged.wanted)
    return total


class Placed(NamedTuple):
    """Groups that have a box.

    ``totals``  (values,) int64: the rows of each value that have no place yet
    ``group``, ``often``  (groups,) int64: its box, and how often it has each value
    ``pieces``  (3, rows) int64: entry, rows and group
    ``counters``  (3,) int64: groups, pieces and rows that have a place
    """

    totals: Any
    group: Any
    often: Any
    pieces: Any
    counters: Any


@kernel(rows="order")
def settle(order: Any, pace: Any, listed: Listed, charged: Charged, m: int, bench: Bench, placed: Placed) -> None:
    """Let boxes have their best groups of the rows that are left, one after the other.

    A group is taken if it gains nearly what the box gained before others took rows, and if the rows that are left can
    still share groups, or no worse than before.

    IN      order  (some,) int64 boxes
    IN      pace   (1 + some,) float64: so many rows are placed at the most, and the least that each box must gain
    IN OUT  charged  ``left``; placed
    """
    most = placed.counters[2] + pace[0]
    for place in range(len(order)):
        box = order[place]
        if placed.counters[2] >= most:
            return
        gain, often, chosen = best_group(box, listed, charged, m, bench)
        if chosen == 0 or gain < pace[1 + place]:
            continue
        totals = placed.totals
        before = total_of(totals) - m * highest_of(totals)
        for run in range(chosen):
            totals[charged.values[listed.members[bench.first[run]]]] -= often
        if total_of(totals) - m * highest_of(totals) < min(0, before):
            for run in range(chosen):
                totals[charged.values[listed.members[bench.first[run]]]] += often
            continue
        group = placed.counters[0]
        placed.counters[0] += 1
        placed.counters[2] += often * chosen
        placed.group[group], placed.often[group] = box, often
        for run in range(chosen):
            asked, at = often, bench.end[run]
            while asked > 0:
                at -= 1
                one = listed.members[at]
                number = min(asked, charged.left[one])
                if number > 0:
                    piece = placed.counters[1]
                    placed.pieces[0, piece], placed.pieces[1, piece], placed.pieces[2, piece] = one, number, group
                    placed.counters[1] += 1
                    charged.left[one] -= number
                    asked -= number
