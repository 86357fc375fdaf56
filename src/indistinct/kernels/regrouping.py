"""Grouping rows at little cost: near neighbours first, then ruin a few groups and recreate them, again and again.

A group is a box: per column the lowest and highest rank in it, or, for a set, the number of values and a bit for each.
Loose tuples have fewer than k rows and must share; lenders have more than k and can spare the surplus. Rows of a loose
tuple travel in parcels of at most k / 5 rows, so that large k costs no more than small k.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]

RUN, RANGE, SET, CLIMB = 0, 1, 2, 3
"""How a column is priced: a table over runs, positions, a table over numbers of values, or labels level by level."""
KIND, BOX, AT, VALUES, LEVELS = 0, 1, 2, 3, 4
"""What is said of a column: its kind, where it stands in a box and in the numbers, its values and levels."""
ROWS, HEAD, LENDER, SEEN, LOGGED = 0, 1, 2, 3, 4
"""What is said of a group: rows of its own, its first parcel, who lends it the rest, and two marks."""
TUPLE, SIZE, GROUP, NEXT = 0, 1, 2, 3
"""What is said of a parcel: its tuple, rows, group, and the next parcel of that group."""
FREE, RANDOM, TICK = 0, 1, 2
ENTRIES, POOL, RUINED, TURN = 0, 1, 2, 3
NOBODY = -1
LARGEST = 1 << 30
PRIME = 2147483647


class Prices(NamedTuple):
    """What boxes cost per row: a line of facts per column, and the numbers that they point to."""

    columns: Array
    numbers: Array


class Loose(NamedTuple):
    """The loose tuples, and after them the lenders: ranks, parcels, near loose tuples, near lenders and their cost."""

    ranks: Array
    parcel_at: Array
    near_at: Array
    near: Array
    lenders: Array
    lender_costs: Array


class State(NamedTuple):
    """All groups and parcels, the rows that lenders can spare, the numbers of unused groups, and counters."""

    boxes: Array
    facts: Array
    costs: Array
    parcels: Array
    spare: Array
    free: Array
    counters: Array


class Log(NamedTuple):
    """What must be put back if a change does not pay."""

    boxes: Array
    facts: Array
    costs: Array
    groups: Array
    pool: Array
    taken: Array
    taken_to: Array
    counters: Array


@njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _run_price(column: int, low: Any, high: Any, columns: Array, numbers: Array) -> float:
    """Give what the run from low to high costs in a column."""
    at, values = columns[column, AT], columns[column, VALUES]
    if columns[column, KIND] == RUN:
        return float(numbers[at + low * values + high])
    if columns[column, KIND] == RANGE:
        return float(numbers[at + high] - numbers[at + low] + numbers[at + values]) if low < high else 0.0
    for level in range(columns[column, LEVELS]):
        codes = at + 2 * level * values
        if numbers[codes + low] == numbers[codes + high]:
            return float(numbers[codes + values + low])
    return float(LARGEST)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def apart(one: Any, other: Any, ranks: Array, columns: Array, numbers: Array) -> float:
    """Give what a row costs in a group of two tuples: their distance."""
    cost = 0.0
    for column in range(ranks.shape[1]):
        a, b = np.int64(ranks[one, column]), np.int64(ranks[other, column])
        if columns[column, KIND] == SET:
            cost += numbers[columns[column, AT] + 1] if a != b else 0.0
        else:
            cost += _run_price(column, min(a, b), max(a, b), columns, numbers)
    return cost


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def widened(group: int, one: int, ranks: Array, boxes: Array, columns: Array, numbers: Array) -> float:
    """Give what a row costs in a group's box once a tuple is in it."""
    cost = 0.0
    for column in range(ranks.shape[1]):
        value, box = np.int64(ranks[one, column]), columns[column, BOX]
        if columns[column, KIND] == SET:
            is_there = (boxes[group, box + 1 + (value >> 4)] >> (value & 15)) & 1
            cost += numbers[columns[column, AT] + boxes[group, box] - is_there]
        else:
            low = min(np.int64(boxes[group, box]), value)
            high = max(np.int64(boxes[group, box + 1]), value)
            cost += _run_price(column, low, high, columns, numbers)
    return cost


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def offer(one: Any, other: Any, cost: float, near: Array, costs: Array) -> None:
    """Put a neighbour into the sorted list of a tuple's nearest, if it is near enough."""
    last = near.shape[1] - 1
    if last < 0 or cost >= costs[one, last]:
        return
    for place in range(last + 1):
        if near[one, place] == other:
            return
    place = last
    while place > 0 and costs[one, place - 1] > cost:
        costs[one, place], near[one, place] = costs[one, place - 1], near[one, place - 1]
        place -= 1
    costs[one, place], near[one, place] = cost, other


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def link(order: Array, window: int, ranks: Array, prices: Prices, near: Array, costs: Array) -> None:
    """Introduce every tuple to the next ones in an order."""
    for place in range(len(order)):
        for other in range(place + 1, min(len(order), place + 1 + window)):
            cost = apart(order[place], order[other], ranks, prices.columns, prices.numbers)
            offer(order[place], order[other], cost, near, costs)
            offer(order[other], order[place], cost, near, costs)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def link_further(ranks: Array, prices: Prices, near: Array, costs: Array) -> None:
    """Introduce every tuple to the neighbours of its neighbours."""
    tuples, most = near.shape
    seen = np.full(tuples, NOBODY, np.int64)
    for one in range(tuples):
        seen[one] = one
        for place in range(most):
            if near[one, place] >= 0:
                seen[near[one, place]] = one
        for place in range(most):
            between = near[one, place]
            if between < 0:
                break
            for further in range(most):
                other = near[between, further]
                if other < 0:
                    break
                if seen[other] != one:
                    seen[other] = one
                    offer(one, other, apart(one, other, ranks, prices.columns, prices.numbers), near, costs)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def link_lenders(
    order: Array, loose: int, window: int, ranks: Array, prices: Prices, near: Array, costs: Array
) -> None:
    """Introduce loose tuples to the lenders before and after them in an order of all."""
    recent = np.full(window, NOBODY, np.int64)
    for turn in range(2):
        recent[:] = NOBODY
        at = 0
        for place in range(len(order)):
            one = order[place] if turn == 0 else order[len(order) - 1 - place]
            if one >= loose:
                recent[at] = one
                at = (at + 1) % window
                continue
            for lender in recent:
                if lender >= 0:
                    offer(one, lender, apart(one, lender, ranks, prices.columns, prices.numbers), near, costs)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def chain(members: Array, lists: Array, near: Array, fill: Array) -> None:
    """Append lists of neighbours to the lists of some tuples."""
    for place in range(len(members)):
        for column in range(lists.shape[1]):
            if lists[place, column] >= 0:
                near[fill[members[place]]] = lists[place, column]
                fill[members[place]] += 1


@njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _empty(group: int, boxes: Array, columns: Array) -> None:
    for word in range(boxes.shape[1]):
        boxes[group, word] = 0
    for column in range(len(columns)):
        if columns[column, KIND] != SET:
            boxes[group, columns[column, BOX]] = LARGEST
            boxes[group, columns[column, BOX] + 1] = -1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _cover(group: int, one: int, ranks: Array, boxes: Array, columns: Array) -> None:
    """Widen a group's box so that it holds a tuple."""
    for column in range(ranks.shape[1]):
        value, box = ranks[one, column], columns[column, BOX]
        if columns[column, KIND] == SET:
            word, bit = box + 1 + (value >> 4), 1 << (value & 15)
            if boxes[group, word] & bit == 0:
                boxes[group, word] |= bit
                boxes[group, box] += 1
        else:
            boxes[group, box] = min(boxes[group, box], value)
            boxes[group, box + 1] = max(boxes[group, box + 1], value)


@njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _enter(parcel: int, group: int, parcels: Array, facts: Array) -> None:
    facts[group, ROWS] += parcels[parcel, SIZE]
    parcels[parcel, NEXT] = facts[group, HEAD]
    facts[group, HEAD] = parcel
    parcels[parcel, GROUP] = group


@njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _borrowed(group: int, k: int, facts: Array) -> int:
    """Give the rows that a group borrows from its lender."""
    return max(0, k - facts[group, ROWS]) if facts[group, LENDER] >= 0 else 0


@njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _draw(below: int, counters: Array) -> int:
    """Draw a number, the same each time the search is run."""
    counters[RANDOM] = counters[RANDOM] * 48271 % PRIME
    return int(counters[RANDOM] % below)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def gather(k: int, seeds: Array, loose: Loose, state: State, prices: Prices) -> None:
    """Make groups: around each seed the near tuples that widen its box least, until k rows are together."""
    tuples = len(loose.parcel_at) - 1
    candidates, bounds = np.empty(tuples, np.int64), np.empty(tuples)
    mark, taken = np.full(tuples, NOBODY, np.int64), np.empty(tuples, np.int64)
    columns, numbers = prices.columns, prices.numbers
    parcels, facts, boxes, ranks = state.parcels, state.facts, state.boxes, loose.ranks
    left = np.empty(tuples, np.int64)
    for one in range(tuples):
        left[one] = loose.parcel_at[one + 1] - loose.parcel_at[one]
    for seed in seeds:
        if left[seed] == 0:
            continue
        group = state.free[state.counters[FREE] - 1]
        _empty(group, boxes, columns)
        number, members, rows, cost, new = 0, 0, 0, 0.0, seed
        mark[seed] = seed
        while True:
            _cover(group, new, ranks, boxes, columns)
            place = left[new]
            while place > 0 and rows < k:
                place -= 1
                rows += parcels[loose.parcel_at[new] + place, SIZE]
            taken[members] = new
            members += 1
            if rows >= k:
                break
            for at in range(loose.near_at[new], loose.near_at[new + 1]):
                other = loose.near[at]
                if left[other] > 0 and mark[other] != seed:
                    mark[other] = seed
                    candidates[number], bounds[number] = other, 0.0
                    number += 1
            best, chosen = 1e18, NOBODY
            for candidate in range(number):
                if bounds[candidate] < best:  # a box only grows, so what was found before is a bound
                    bounds[candidate] = widened(group, candidates[candidate], ranks, boxes, columns, numbers)
                    if bounds[candidate] < best:
                        best, chosen = bounds[candidate], candidate
                        if best <= cost:
                            break
            if chosen < 0:
                break
            cost, new = best, candidates[chosen]
            number -= 1
            candidates[chosen], bounds[chosen] = candidates[number], bounds[number]
        if rows < k:
            continue
        state.counters[FREE] -= 1
        state.costs[group] = cost
        rows = 0
        for place in range(members):
            one = taken[place]
            while left[one] > 0 and rows < k:
                left[one] -= 1
                parcel = loose.parcel_at[one] + left[one]
                _enter(parcel, group, parcels, facts)
                rows += parcels[parcel, SIZE]


@njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _best_place(
    parcel: int, k: int, bound: float, loose: Loose, state: State, prices: Prices
) -> tuple[float, int, float, int]:
    """Give what it costs to put a parcel where it is cheapest, the group, its new cost per row, and a lender.

    The group is one of a near tuple, or NOBODY if none costs less than the bound; with a lender it is a new one.
    """
    facts, costs, parcels = state.facts, state.costs, state.parcels
    one, rows = parcels[parcel, TUPLE], parcels[parcel, SIZE]
    best, best_group, best_cost, best_lender = bound, NOBODY, 0.0, NOBODY
    state.counters[TICK] += 1
    tick = state.counters[TICK]
    for at in range(loose.near_at[one] - 1, loose.near_at[one + 1]):
        other = one if at < loose.near_at[one] else loose.near[at]
        for neighbour in range(loose.parcel_at[other], loose.parcel_at[other + 1]):
            group = parcels[neighbour, GROUP]
            if group < 0 or facts[group, SEEN] == tick:
                continue
            facts[group, SEEN] = tick
            cost = widened(group, one, loose.ranks, state.boxes, prices.columns, prices.numbers)
            added = max(facts[group, ROWS] + rows, k) * cost - max(facts[group, ROWS], k) * costs[group]
            if added < best:
                best, best_group, best_cost = added, group, cost
    for place in range(loose.lenders.shape[1]):
        lender = loose.lenders[one, place]
        if lender < 0:
            break
        cost = loose.lender_costs[one, place]
        if k * cost < best and state.spare[lender] >= k - rows:
            best, best_group, best_cost, best_lender = k * cost, 0, cost, lender
    return best, best_group, best_cost, best_lender


@njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _lend(parcel: int, group: int, lender: int, k: int, loose: Loose, state: State, columns: Array) -> None:
    """Make a group of a parcel and rows of a lender."""
    _empty(group, state.boxes, columns)
    _cover(group, lender, loose.ranks, state.boxes, columns)
    _cover(group, state.parcels[parcel, TUPLE], loose.ranks, state.boxes, columns)
    _enter(parcel, group, state.parcels, state.facts)
    state.facts[group, LENDER] = lender
    state.spare[lender] -= k - state.facts[group, ROWS]


@njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _join(parcel: int, group: int, k: int, loose: Loose, state: State, columns: Array) -> None:
    """Put a parcel into a group; a lender gets back what is no longer needed."""
    before = _borrowed(group, k, state.facts)
    _cover(group, state.parcels[parcel, TUPLE], loose.ranks, state.boxes, columns)
    _enter(parcel, group, state.parcels, state.facts)
    if before > 0:
        state.spare[state.facts[group, LENDER]] += before - _borrowed(group, k, state.facts)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def settle(k: int, loose: Loose, state: State, prices: Prices) -> None:
    """Put every parcel that has no group where it costs least; one without neighbours in groups stays."""
    for parcel in range(len(state.parcels)):
        if state.parcels[parcel, GROUP] >= 0:
            continue
        _, group, cost, lender = _best_place(parcel, k, 1e18, loose, state, prices)
        if group < 0:
            continue
        if lender >= 0:
            state.counters[FREE] -= 1
            group = state.free[state.counters[FREE]]
            _lend(parcel, group, lender, k, loose, state, prices.columns)
        else:
            _join(parcel, group, k, loose, state, prices.columns)
        state.costs[group] = cost


@njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _remember(group: int, state: State, log: Log) -> None:
    """Note how a group is before it is changed for the first time in this turn."""
    turn = log.counters[TURN]
    if state.facts[group, LOGGED] == turn:
        return
    state.facts[group, LOGGED] = turn
    entry = log.counters[ENTRIES]
    log.counters[ENTRIES] += 1
    log.groups[entry], log.costs[entry] = group, state.costs[group]
    for fact in range(3):
        log.facts[entry, fact] = state.facts[group, fact]
    for word in range(state.boxes.shape[1]):
        log.boxes[entry, word] = state.boxes[group, word]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _undo(k: int, state: State, log: Log) -> None:
    """Put back everything as it was before this turn."""
    facts, parcels = state.facts, state.parcels
    for entry in range(log.counters[ENTRIES]):
        group = log.groups[entry]
        if facts[group, LENDER] >= 0:
            state.spare[facts[group, LENDER]] += _borrowed(group, k, facts)
        state.costs[group] = log.costs[entry]
        for fact in range(3):
            facts[group, fact] = log.facts[entry, fact]
        if facts[group, LENDER] >= 0:
            state.spare[facts[group, LENDER]] -= _borrowed(group, k, facts)
        for word in range(state.boxes.shape[1]):
            state.boxes[group, word] = log.boxes[entry, word]
    at = 0
    for ruined in range(log.counters[RUINED]):
        end = log.taken_to[ruined, 0]
        for place in range(at, end):
            parcel = log.taken[place]
            parcels[parcel, GROUP] = log.groups[ruined]
            parcels[parcel, NEXT] = log.taken[place + 1] if place + 1 < end else log.taken_to[ruined, 1]
        at = end


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _ruin(group: int, k: int, state: State, log: Log) -> float:
    """Take the parcels of a group out, of a large one only some, and give what they cost there."""
    facts, parcels = state.facts, state.parcels
    _remember(group, state, log)
    before = max(facts[group, ROWS], k) * state.costs[group]
    is_whole = facts[group, ROWS] <= 3 * k
    parcel, rows, at = facts[group, HEAD], 0, log.counters[POOL]
    while parcel >= 0 and (is_whole or rows < 2 * k):
        log.taken[at] = parcel
        log.pool[at] = parcel
        at += 1
        parcels[parcel, GROUP] = NOBODY
        rows += parcels[parcel, SIZE]
        parcel = parcels[parcel, NEXT]
    log.counters[POOL] = at
    ruined = log.counters[RUINED]
    log.counters[RUINED] += 1
    log.taken_to[ruined, 0], log.taken_to[ruined, 1] = at, parcel
    if is_whole:
        if facts[group, LENDER] >= 0:
            state.spare[facts[group, LENDER]] += _borrowed(group, k, facts)
        facts[group, ROWS], facts[group, HEAD], facts[group, LENDER] = 0, NOBODY, NOBODY
        state.costs[group] = 0.0
        state.free[state.counters[FREE]] = group
        state.counters[FREE] += 1
        return float(before)
    facts[group, HEAD] = parcel
    facts[group, ROWS] -= rows
    return float(before - facts[group, ROWS] * state.costs[group])


@njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _grow(
    place: int,
    left: int,
    new: int,
    k: int,
    most: float,
    loose: Loose,
    state: State,
    prices: Prices,
    log: Log,
    work: Any,
) -> tuple[int, int, float]:
    """Try to make a group of parcels of the pool around one of them, for less than so much a row.

    Give its rows, how many parcels were chosen, and its cost per row.
    """
    candidates, bounds, chosen = work
    parcels, boxes, ranks = state.parcels, state.boxes, loose.ranks
    columns, numbers = prices.columns, prices.numbers
    _empty(new, boxes, columns)
    _cover(new, parcels[log.pool[place], TUPLE], ranks, boxes, columns)
    for candidate in range(left):
        candidates[candidate], bounds[candidate] = candidate, 0.0
    number = left - 1
    candidates[place] = number
    chosen[0] = place
    members, rows, cost = 1, parcels[log.pool[place], SIZE], 0.0
    while rows < k:
        best, found = most, NOBODY
        for candidate in range(number):
            if bounds[candidate] < best:
                one = parcels[log.pool[candidates[candidate]], TUPLE]
                bounds[candidate] = widened(new, one, ranks, boxes, columns, numbers)
                if bounds[candidate] < best:
                    best, found = bounds[candidate], candidate
                    if best <= cost:
                        break
        if found < 0:
            break
        cost = best
        chosen[members] = candidates[found]
        members += 1
        parcel = log.pool[candidates[found]]
        rows += parcels[parcel, SIZE]
        number -= 1
        candidates[found], bounds[found] = candidates[number], bounds[number]
        _cover(new, parcels[parcel, TUPLE], ranks, boxes, columns)
    return rows, members, cost


@njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _near_group(loose: Loose, state: State, log: Log) -> int:
    """Draw a group near the pool that costs something and has not been touched in this turn; NOBODY if none is met."""
    for _ in range(6):
        one = state.parcels[log.pool[_draw(log.counters[POOL], state.counters)], TUPLE]
        degree = loose.near_at[one + 1] - loose.near_at[one]
        if degree == 0:
            continue
        other = loose.near[loose.near_at[one] + _draw(degree, state.counters)]
        parcels = loose.parcel_at[other + 1] - loose.parcel_at[other]
        group = state.parcels[loose.parcel_at[other] + _draw(parcels, state.counters), GROUP]
        if group >= 0 and state.costs[group] > 0.0 and state.facts[group, LOGGED] != log.counters[TURN]:
            return int(group)
    return NOBODY


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def regroup(k: int, most: int, reach: float, loose: Loose, state: State, prices: Prices, log: Log) -> None:
    """Go over all parcels once: ruin a group and up to so many near it, recreate them, keep what is no dearer."""
    parcels, facts, costs, counters = state.parcels, state.facts, state.costs, state.counters
    room = len(log.pool)
    work = (np.empty(room, np.int64), np.empty(room), np.empty(room, np.int64))
    for centre in range(len(parcels)):
        group = parcels[centre, GROUP]
        if group < 0 or costs[group] * PRIME <= reach * _draw(PRIME, counters):
            continue
        for counter in range(3):
            log.counters[counter] = 0
        log.counters[TURN] += 1
        free_before = counters[FREE]
        budget = _ruin(group, k, state, log)
        for _ in range(_draw(most, counters)):
            group = _near_group(loose, state, log)
            if group < 0:
                break
            budget += _ruin(group, k, state, log)
        left = log.counters[POOL]
        limit = budget + 1e-9 * (1.0 + budget)
        spent = 0.0
        while left > 0 and spent <= limit:
            place = _draw(left, counters)
            parcel = log.pool[place]
            best, group, cost, lender = _best_place(parcel, k, limit - spent, loose, state, prices)
            new = state.free[counters[FREE] - 1]
            rows, members, new_cost = _grow(
                place, left, new, k, best / parcels[parcel, SIZE], loose, state, prices, log, work
            )
            if rows >= k:
                counters[FREE] -= 1
                _remember(new, state, log)
                for member in range(members):
                    _enter(log.pool[work[2][member]], new, parcels, facts)
                costs[new] = new_cost
                spent += rows * new_cost
                kept = 0
                for place in range(left):
                    if parcels[log.pool[place], GROUP] < 0:
                        log.pool[kept] = log.pool[place]
                        kept += 1
                left = kept
            elif group >= 0:
                if lender >= 0:
                    counters[FREE] -= 1
                    group = new
                    _remember(group, state, log)
                    _lend(parcel, group, lender, k, loose, state, prices.columns)
                else:
                    _remember(group, state, log)
                    _join(parcel, group, k, loose, state, prices.columns)
                costs[group] = cost
                left -= 1
                log.pool[place] = log.pool[left]
                spent += best
            else:
                break
        if left > 0 or spent > limit:
            _undo(k, state, log)
            counters[FREE] = free_before


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def tighten(k: int, loose: Loose, state: State, prices: Prices) -> None:
    """Draw every box anew around what is in it: parcels that left may have stretched it."""
    for group in range(len(state.facts)):
        parcel = state.facts[group, HEAD]
        if parcel < 0:
            continue
        first = state.parcels[parcel, TUPLE]
        _empty(group, state.boxes, prices.columns)
        if state.facts[group, LENDER] >= 0:
            if state.facts[group, ROWS] < k:
                _cover(group, state.facts[group, LENDER], loose.ranks, state.boxes, prices.columns)
            else:
                state.facts[group, LENDER] = NOBODY
        while parcel >= 0:
            _cover(group, state.parcels[parcel, TUPLE], loose.ranks, state.boxes, prices.columns)
            parcel = state.parcels[parcel, NEXT]
        state.costs[group] = widened(group, first, loose.ranks, state.boxes, prices.columns, prices.numbers)
