"""Regrouping: rows in groups of at least k, bettered by taking a few groups apart and building them anew.

The rows of one tuple travel in *parcels*, so that a tuple can be split. A tuple with k rows or more is a *home*: a
group of its own that costs nothing; the rows it can spare may be lent to a group that is short. All others are *loose*.
A group's *box* says what its cells span in every column; from it follows what a row of the group costs.

Functions on the hot path have one exit and no ``continue``: numba then counts no references to their arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from indistinct.kernels.kernel import kernel

TABLE, STEPS, RANGE, SET = range(4)
"""How a column's costs are laid out, see ``Prices``."""
KIND, BOX, NUMBERS, STRIDE = range(4)
"""A column: its kind, where it stands in a box, where its numbers start, and how far their rows are apart."""
ROWS, HEAD, LENDER, SEEN, LOGGED = range(5)
"""A group: the rows of its parcels, the last parcel that came, the home it borrows from, and two marks."""
TUPLE, SIZE, GROUP, NEXT = range(4)
"""A parcel: its tuple, its rows, its group, and the parcel that came to the group before it."""
FREE, RANDOM, TICK = range(3)
"""Counters of groups: how many are free, the state of the random numbers, the last mark."""
POOL, LOG, APART, TURN, FREE_BEFORE = range(5)
"""Counters of work: parcels in the pool, groups in the log, groups taken apart, the turn, the groups free before it."""

NOBODY = -1
VALUES_A_WORD = 4
"""A word of a set holds 2**4 values."""
MOST_APART = 4
"""At most so many groups are taken apart together."""
TRIES = 4
"""The next group to take apart is the costliest of so many."""
LARGE = 4
"""Of a group of more than LARGE * k rows only a part, of 2 k rows or a little more, is taken."""
TOLERANCE = 1e-9
"""As good within this share is good enough: walking along a plateau leads out of dead ends."""
PRIME, FACTOR = 2**31 - 1, 48271


class Prices(NamedTuple):
    """What a row costs in a group, by the ranks that the group spans in each column.

    ``columns``  (columns, 4) int64: KIND, BOX, NUMBERS, STRIDE
    ``numbers``  float64, where ``low`` and ``high`` are the ends of the span
                 TABLE  the cost of low..high at low * stride + high
                 STEPS  the cost of low..high is the most that a step between neighbours in it costs;
                        row 0: each rank alone, row r: the most that 2**(r - 1) steps from each rank on cost
                 RANGE  each rank's share of the cost, then what a range costs besides
                 SET    at n: the cost of n values and one more
    """

    columns: Any
    numbers: Any


class Loose(NamedTuple):
    """The loose tuples, and what is near them.

    ``ranks``       (tuples, columns) int32: the loose tuples, then the homes that can lend
    ``parcel_at``   (loose + 1,) int64: where the parcels of each loose tuple start
    ``near_at``     (loose + 1,) int64, ``near`` int32: the loose tuples near each, its row of ``near``
    ``homes``       (loose, most) int32: the nearest homes that can lend, by their place in ``ranks``, or NOBODY
    ``home_costs``  (loose, most) float64: what a row costs in a group of the tuple and that home
    """

    ranks: Any
    parcel_at: Any
    near_at: Any
    near: Any
    homes: Any
    home_costs: Any


class Groups(NamedTuple):
    """A state of the groups.

    ``boxes``     (groups, words) int32: low and high per column; for a set the number of values, then their bits
    ``facts``     (groups, 5) int64: ROWS, HEAD, LENDER, SEEN, LOGGED; a free group has no rows
    ``costs``     (groups,) float64: what a row of the group costs
    ``parcels``   (parcels, 4) int64: TUPLE, SIZE, GROUP, NEXT
    ``spare``     (tuples,) int64: the rows that a home can still lend
    ``free``      (groups,) int64: a stack of free groups
    ``counters``  (3,) int64: FREE, RANDOM, TICK

    A group with fewer than k rows of its own borrows the rest from its lender, so it counts as k rows.
    """

    boxes: Any
    facts: Any
    costs: Any
    parcels: Any
    spare: Any
    free: Any
    counters: Any


class Work(NamedTuple):
    """What is needed to build a few groups anew, and to undo it.

    ``pool``      (most,) int64: parcels without a group
    ``taken``     (most,) int64: the same parcels in the order in which they were taken
    ``taken_to``  (MOST_APART, 2) int64: for each group taken apart, the end of its parcels in ``taken``, and the first
                  parcel that it kept
    ``logged``    (most,) int64: groups that changed; ``boxes``, ``facts``, ``costs`` are what they were
    ``trial``     (most, 2) int64: what ``grow`` tries and what it takes; ``bounds`` (most,) float64
    ``counters``  (5,) int64: POOL, LOG, APART, TURN, FREE_BEFORE
    """

    pool: Any
    taken: Any
    taken_to: Any
    logged: Any
    boxes: Any
    facts: Any
    costs: Any
    trial: Any
    bounds: Any
    counters: Any


# Costs.


@kernel
def span_cost(column: int, low: Any, high: Any, columns: Any, numbers: Any) -> float:
    """Give the cost of the span of ranks low..high in a column that is no set."""
    at, stride = columns[column, NUMBERS], columns[column, STRIDE]
    cost = 0.0
    if columns[column, KIND] == TABLE:
        cost = numbers[at + low * stride + high]
    elif columns[column, KIND] == RANGE:
        cost = numbers[at + high] - numbers[at + low] + (numbers[at + stride] if low < high else 0.0)
    else:
        distance, half = high - low, 0  # half: the largest power of two in the distance
        while distance > 0:
            distance >>= 1
            half = 2 * half if half > 0 else 1
            at += stride
        cost = max(numbers[at + low], numbers[at + high - half])
    return float(cost)


@kernel
def pair_cost(one: int, other: int, ranks: Any, columns: Any, numbers: Any) -> float:
    """Give what a row costs in a group of two tuples."""
    cost = 0.0
    for column in range(columns.shape[0]):
        a, b = np.int64(ranks[one, column]), np.int64(ranks[other, column])
        if columns[column, KIND] == SET:
            cost += numbers[columns[column, NUMBERS] + (1 if a != b else 0)]
        else:
            cost += span_cost(column, min(a, b), max(a, b), columns, numbers)
    return cost


@kernel
def cost_with(group: int, tuple_: Any, ranks: Any, boxes: Any, columns: Any, numbers: Any) -> float:
    """Give what a row costs in a group once a tuple has joined it."""
    cost = 0.0
    for column in range(columns.shape[0]):
        value, box = np.int64(ranks[tuple_, column]), columns[column, BOX]
        if columns[column, KIND] == SET:
            has_it = (boxes[group, box + 1 + (value >> VALUES_A_WORD)] >> (value & (2**VALUES_A_WORD - 1))) & 1
            cost += numbers[columns[column, NUMBERS] + boxes[group, box] - has_it]
        else:
            low, high = min(np.int64(boxes[group, box]), value), max(np.int64(boxes[group, box + 1]), value)
            cost += span_cost(column, low, high, columns, numbers)
    return cost


@kernel
def clear(group: int, boxes: Any, columns: Any) -> None:
    """Make a box span nothing."""
    for word in range(boxes.shape[1]):
        boxes[group, word] = 0
    for column in range(columns.shape[0]):
        if columns[column, KIND] != SET:
            boxes[group, columns[column, BOX]] = 2**30
            boxes[group, columns[column, BOX] + 1] = -1


@kernel
def cover(group: int, tuple_: int, ranks: Any, boxes: Any, columns: Any) -> None:
    """Widen a box so that it spans a tuple."""
    for column in range(columns.shape[0]):
        value, box = ranks[tuple_, column], columns[column, BOX]
        if columns[column, KIND] == SET:
            word, bit = box + 1 + (value >> VALUES_A_WORD), 1 << (value & (2**VALUES_A_WORD - 1))
            if boxes[group, word] & bit == 0:
                boxes[group, word] |= bit
                boxes[group, box] += 1
        else:
            boxes[group, box] = min(boxes[group, box], value)
            boxes[group, box + 1] = max(boxes[group, box + 1], value)


# What is near.


@kernel
def offer(one: int, other: int, cost: float, near: Any, costs: Any) -> None:
    """Put a tuple among the nearest of another, if it belongs there; the nearest come first."""
    last = near.shape[1] - 1
    is_wanted = cost < costs[one, last]
    place = 0
    while is_wanted and place <= last:
        is_wanted = near[one, place] != other
        place += 1
    if is_wanted:
        place = last
        while place > 0 and costs[one, place - 1] > cost:
            near[one, place], costs[one, place] = near[one, place - 1], costs[one, place - 1]
            place -= 1
        near[one, place], costs[one, place] = other, cost


@kernel
def link(order: Any, window: int, ranks: Any, prices: Prices, near: Any, costs: Any) -> None:
    """Offer tuples to each other that stand close in an order.

    IN      order        (tuples,) int64
    IN OUT  near, costs  (tuples, most) int32 and float32: the nearest tuples so far, NOBODY and infinity where none
    """
    columns, numbers = prices
    for place in range(len(order)):
        for next_place in range(place + 1, min(len(order), place + 1 + window)):
            one, other = order[place], order[next_place]
            cost = pair_cost(one, other, ranks, columns, numbers)
            offer(one, other, cost, near, costs)
            offer(other, one, cost, near, costs)


@kernel
def link_further(ranks: Any, prices: Prices, near: Any, costs: Any) -> None:
    """Offer each tuple those that are near to what is near to it.

    IN OUT  near, costs  as in ``link``
    """
    columns, numbers = prices
    tuples, most = near.shape
    met = np.full(tuples, NOBODY, np.int64)
    for one in range(tuples):
        met[one] = one
        for place in range(most):
            if near[one, place] != NOBODY:
                met[near[one, place]] = one
        for place in range(most):
            if near[one, place] != NOBODY:
                between = near[one, place]
                for further in range(most):
                    other = near[between, further]
                    if other != NOBODY and met[other] != one:
                        met[other] = one
                        offer(one, other, pair_cost(one, other, ranks, columns, numbers), near, costs)


@kernel
def link_homes(order: Any, ranks: Any, prices: Prices, homes: Any, home_costs: Any) -> None:
    """Offer each loose tuple the homes that come next before and after it in an order.

    IN      order              (tuples,) int64 of loose tuples and, after them, homes
    IN OUT  homes, home_costs  (loose, most) int32 and float64, as in ``link``
    """
    columns, numbers = prices
    loose, length = len(homes), len(order)
    for way in range(2):
        home = NOBODY
        for place in range(length):
            one = order[place] if way == 0 else order[length - 1 - place]
            if one >= loose:
                home = one
            elif home != NOBODY:
                offer(one, home, pair_cost(one, home, ranks, columns, numbers), homes, home_costs)


@kernel
def write_links(members: Any, near: Any, ends: Any, links: Any) -> None:
    """Append what is near to some tuples to their lists.

    IN      members  (members,) int64: the tuples
    IN      near     (members, most) int32: by their place in ``members``, or NOBODY
    IN OUT  ends     (tuples,) int64: where the list of each tuple ends so far
    OUT     links    int32
    """
    for member in range(len(members)):
        for place in range(near.shape[1]):
            if near[member, place] != NOBODY:
                links[ends[members[member]]] = members[near[member, place]]
                ends[members[member]] += 1


# Groups.


@kernel
def draw(below: int, counters: Any) -> int:
    """Give the next random number in 0..below - 1 (the minimal standard generator of Park and Miller)."""
    counters[RANDOM] = counters[RANDOM] * FACTOR % PRIME
    return int(counters[RANDOM] % below)


@kernel
def enter(parcel: int, group: int, parcels: Any, facts: Any) -> None:
    """Put a parcel into a group whose box spans it."""
    facts[group, ROWS] += parcels[parcel, SIZE]
    parcels[parcel, GROUP], parcels[parcel, NEXT] = group, facts[group, HEAD]
    facts[group, HEAD] = parcel


@kernel
def borrow(group: int, k: int, sign: int, facts: Any, spare: Any) -> None:
    """Take from the lender of a group the rows that it is short of, or give them back."""
    if facts[group, LENDER] != NOBODY and facts[group, ROWS] < k:
        spare[facts[group, LENDER]] -= sign * (k - facts[group, ROWS])


@kernel
def join(parcel: int, group: int, k: int, ranks: Any, groups: Groups, columns: Any) -> None:
    """Put a parcel into a group; what the group borrows falls."""
    boxes, facts, _, parcels, spare, _, _ = groups
    borrow(group, k, -1, facts, spare)
    cover(group, parcels[parcel, TUPLE], ranks, boxes, columns)
    enter(parcel, group, parcels, facts)
    borrow(group, k, 1, facts, spare)


@kernel
def start_with_home(group: int, home: int, k: int, ranks: Any, groups: Groups, columns: Any) -> None:
    """Make a free group one that borrows from a home."""
    boxes, facts, _, _, spare, _, counters = groups
    counters[FREE] -= 1
    clear(group, boxes, columns)
    cover(group, home, ranks, boxes, columns)
    facts[group, LENDER] = home
    borrow(group, k, 1, facts, spare)


@kernel
def best_place(
    parcel: int, k: int, most: float, loose: Loose, groups: Groups, prices: Prices
) -> tuple[float, float, int, int]:
    """Give the cheapest way to put a parcel into a group near it, or into a new one with a home.

    OUT  what it adds to the cost of all groups (``most`` if every way adds as much), what a row of the group then
         costs, the group (NOBODY if it is a new one), and the home (NOBODY if none)
    """
    ranks, parcel_at, near_at, near, homes, home_costs = loose
    boxes, facts, costs, parcels, spare, _, counters = groups
    columns, numbers = prices
    tuple_, size = parcels[parcel, TUPLE], parcels[parcel, SIZE]
    least, cost, group, home = most, 0.0, NOBODY, NOBODY
    counters[TICK] += 1
    for place in range(near_at[tuple_] - 1, near_at[tuple_ + 1]):
        other = tuple_ if place < near_at[tuple_] else np.int64(near[place])
        for friend in range(parcel_at[other], parcel_at[other + 1]):
            there = parcels[friend, GROUP]
            if there != NOBODY and facts[there, SEEN] != counters[TICK]:
                facts[there, SEEN] = counters[TICK]
                rows, cost_there = facts[there, ROWS], cost_with(there, tuple_, ranks, boxes, columns, numbers)
                added = max(rows + size, k) * cost_there - max(rows, k) * costs[there]
                if added < least:
                    least, cost, group = added, cost_there, there
    for place in range(homes.shape[1]):
        lender: Any = np.int64(homes[tuple_, place])
        if lender != NOBODY and k * home_costs[tuple_, place] < least and spare[lender] >= k - size:
            least, cost, group, home = k * home_costs[tuple_, place], home_costs[tuple_, place], NOBODY, lender
    return least, cost, group, home


@kernel
def gather(k: int, seeds: Any, loose: Loose, groups: Groups, prices: Prices) -> None:
    """Start groups at tuples, one after the other, and let each take the cheapest tuple near it until it has k rows.

    IN      seeds   (seeds,) int64: loose tuples
    IN OUT  groups  all free at first
    """
    ranks, parcel_at, near_at, near, _, _ = loose
    boxes, facts, costs, parcels, _, free, counters = groups
    columns, numbers = prices
    tuples = len(parcel_at) - 1
    left = parcel_at[1:] - parcel_at[:-1]  # parcels of each tuple that have no group yet; they are its first ones
    met = np.full(tuples, NOBODY, np.int64)
    candidates, bounds = np.empty(tuples, np.int64), np.empty(tuples, np.float64)
    taken = np.empty(tuples, np.int64)
    for seed in seeds:
        if left[seed] == 0:
            continue
        group = free[counters[FREE] - 1]
        clear(group, boxes, columns)
        met[seed] = seed
        new, cost, rows, number, members = seed, 0.0, 0, 0, 0
        while new != NOBODY:
            cover(group, new, ranks, boxes, columns)
            taken[members] = new
            members += 1
            parcel = parcel_at[new] + left[new]
            while rows < k and parcel > parcel_at[new]:
                parcel -= 1
                rows += parcels[parcel, SIZE]
            for place in range(near_at[new], near_at[new + 1]):
                other = near[place]
                if left[other] > 0 and met[other] != seed:
                    met[other] = seed
                    candidates[number], bounds[number] = other, 0.0
                    number += 1
            new, least, chosen = NOBODY, np.inf, NOBODY
            place = 0
            while rows < k and place < number:
                if bounds[place] < least:  # a candidate's cost only rises as the group grows
                    bounds[place] = cost_with(group, candidates[place], ranks, boxes, columns, numbers)
                    if bounds[place] < least:
                        least, chosen = bounds[place], place
                place = number if least <= cost else place + 1
            if chosen != NOBODY:
                new, cost = candidates[chosen], least
                number -= 1
                candidates[chosen], bounds[chosen] = candidates[number], bounds[number]
        if rows < k:
            continue
        counters[FREE] -= 1
        costs[group] = cost
        for member in range(members):
            tuple_ = taken[member]
            while left[tuple_] > 0 and facts[group, ROWS] < k:
                left[tuple_] -= 1
                enter(parcel_at[tuple_] + left[tuple_], group, parcels, facts)


@kernel
def settle(k: int, loose: Loose, groups: Groups, prices: Prices) -> None:
    """Give every parcel a group: the best near it, or else one with parcels that follow each other.

    IN OUT  groups  those that exist have k rows; all parcels together have at least k; ``refresh`` gives the costs
    """
    boxes, _, costs, parcels, _, free, counters = groups
    for parcel in range(len(parcels)):
        if parcels[parcel, GROUP] == NOBODY:
            _, cost, group, home = best_place(parcel, k, np.inf, loose, groups, prices)
            if home != NOBODY:
                group = free[counters[FREE] - 1]
                start_with_home(group, home, k, loose.ranks, groups, prices.columns)
            if group != NOBODY:
                join(parcel, group, k, loose.ranks, groups, prices.columns)
                costs[group] = cost
    start, rows, last = 0, 0, NOBODY
    for parcel in range(len(parcels)):
        if parcels[parcel, GROUP] != NOBODY:
            last = parcels[parcel, GROUP]
        else:
            rows += parcels[parcel, SIZE]
        if rows >= k:
            counters[FREE] -= 1
            last = free[counters[FREE]]
            clear(last, boxes, prices.columns)
            join_all(start, parcel + 1, last, k, loose.ranks, groups, prices.columns)
            start, rows = parcel + 1, 0
    join_all(start, len(parcels), last, k, loose.ranks, groups, prices.columns)


@kernel
def join_all(start: int, end: int, group: int, k: int, ranks: Any, groups: Groups, columns: Any) -> None:
    """Put all parcels in start..end - 1 that have no group into one."""
    for parcel in range(start, end):
        if groups.parcels[parcel, GROUP] == NOBODY:
            join(parcel, group, k, ranks, groups, columns)


@kernel
def refresh(k: int, ranks: Any, groups: Groups, prices: Prices) -> float:
    """Give every group the smallest box and its cost, and return the cost of all groups.

    A group that lost parcels or no longer borrows may have a wider box than it needs.
    """
    boxes, facts, costs, parcels, _, _, _ = groups
    columns, numbers = prices
    total = 0.0
    for group in range(len(facts)):
        parcel = facts[group, HEAD]
        if parcel != NOBODY:
            clear(group, boxes, columns)
            if facts[group, ROWS] >= k:
                facts[group, LENDER] = NOBODY
            elif facts[group, LENDER] != NOBODY:
                cover(group, facts[group, LENDER], ranks, boxes, columns)
            while parcel != NOBODY:
                cover(group, parcels[parcel, TUPLE], ranks, boxes, columns)
                parcel = parcels[parcel, NEXT]
            costs[group] = cost_with(group, parcels[facts[group, HEAD], TUPLE], ranks, boxes, columns, numbers)
            total += max(facts[group, ROWS], k) * costs[group]
    return total


# Regrouping: Shaw 1998 and Schrimpf et al. 2000 call it large neighbourhood search, ruin and recreate.


@kernel
def regroup(visits: Any, k: int, reach: float, loose: Loose, groups: Groups, prices: Prices, work: Work) -> float:
    """Take apart groups around some parcels and build them anew, keep what is no worse, and return what was gained.

    IN      visits  (3,) int64: the first parcel, the end, and the step between those that are visited
    IN      reach   a group in which a row costs as much is always taken apart, one that costs less in proportion
    IN OUT  groups
    """
    costs, parcels, counters = groups.costs, groups.parcels, groups.counters
    gained = 0.0
    for parcel in range(visits[0], visits[1], visits[2]):
        if costs[parcels[parcel, GROUP]] * PRIME > reach * draw(PRIME, counters):
            gained += rebuild(parcels[parcel, GROUP], k, loose, groups, prices, work)
    return gained


@kernel
def rebuild(group: int, k: int, loose: Loose, groups: Groups, prices: Prices, work: Work) -> float:
    """Take a group and some near it apart and build them anew; return what was gained, or undo it and return 0."""
    work.counters[POOL], work.counters[LOG], work.counters[APART] = 0, 0, 0
    work.counters[TURN] += 1
    work.counters[FREE_BEFORE] = groups.counters[FREE]
    before = take_apart(group, k, groups, work)
    for _ in range(draw(MOST_APART, groups.counters)):
        other = neighbour(loose, groups, work)
        if other != NOBODY:
            before += take_apart(other, k, groups, work)
    most = before + TOLERANCE * (1.0 + before)
    after = put_together(k, most, loose, groups, prices, work)
    gained = 0.0
    if after <= most:
        gained = before - after
    else:
        undo(k, groups, work)
    return gained


@kernel
def neighbour(loose: Loose, groups: Groups, work: Work) -> int:
    """Give the costliest of a few groups near the pool, or NOBODY."""
    _, parcel_at, near_at, near, _, _ = loose
    _, facts, costs, parcels, _, _, counters = groups
    found = NOBODY
    for _ in range(TRIES):
        tuple_ = parcels[work.pool[draw(work.counters[POOL], counters)], TUPLE]
        if near_at[tuple_] < near_at[tuple_ + 1]:
            other = near[near_at[tuple_] + draw(near_at[tuple_ + 1] - near_at[tuple_], counters)]
            parcel = parcel_at[other] + draw(parcel_at[other + 1] - parcel_at[other], counters)
            group = parcels[parcel, GROUP]
            is_new = group != NOBODY and facts[group, LOGGED] != work.counters[TURN]
            if is_new and costs[group] > (0.0 if found == NOBODY else costs[found]):
                found = group
    return found


@kernel
def remember(group: int, boxes: Any, facts: Any, costs: Any, work: Work) -> None:
    """Log what a group is before it changes for the first time in this turn."""
    _, _, _, logged, old_boxes, old_facts, old_costs, _, _, counters = work
    if facts[group, LOGGED] != counters[TURN]:
        facts[group, LOGGED] = counters[TURN]
        entry = counters[LOG]
        logged[entry], old_costs[entry] = group, costs[group]
        for fact in range(SEEN):
            old_facts[entry, fact] = facts[group, fact]
        for word in range(boxes.shape[1]):
            old_boxes[entry, word] = boxes[group, word]
        counters[LOG] += 1


@kernel
def take_apart(group: int, k: int, groups: Groups, work: Work) -> float:
    """Bring the parcels of a group, or a part of a large one, into the pool, and return what they cost there."""
    boxes, facts, costs, parcels, spare, free, free_counters = groups
    pool, taken, taken_to, _, _, _, _, _, _, counters = work
    remember(group, boxes, facts, costs, work)
    all_rows, rows = facts[group, ROWS], 0
    most = all_rows if all_rows <= LARGE * k else 2 * k
    parcel, end = facts[group, HEAD], counters[POOL]
    while rows < most:
        pool[end] = taken[end] = parcel
        end += 1
        rows += parcels[parcel, SIZE]
        parcels[parcel, GROUP] = NOBODY
        parcel = parcels[parcel, NEXT]
    counters[POOL] = end
    taken_to[counters[APART], 0], taken_to[counters[APART], 1] = end, parcel
    counters[APART] += 1
    cost = max(all_rows, k) * costs[group]
    if rows < all_rows:
        facts[group, HEAD], facts[group, ROWS] = parcel, all_rows - rows
        cost -= facts[group, ROWS] * costs[group]
    else:
        borrow(group, k, -1, facts, spare)
        facts[group, HEAD], facts[group, ROWS], facts[group, LENDER] = NOBODY, 0, NOBODY
        costs[group] = 0.0
        free[free_counters[FREE]] = group
        free_counters[FREE] += 1
    return float(cost)


@kernel
def put_together(k: int, most: float, loose: Loose, groups: Groups, prices: Prices, work: Work) -> float:
    """Give the parcels of the pool new groups, and return what they cost; stop when that is more than ``most``."""
    boxes, facts, costs, parcels, spare, free, counters = groups
    pool, trial = work.pool, work.trial
    left, rows_left, spent = work.counters[POOL], 0, 0.0
    for place in range(left):
        rows_left += parcels[pool[place], SIZE]
    while left > 0 and spent <= most:
        place = draw(left, counters)
        parcel = pool[place]
        size, new = parcels[parcel, SIZE], free[counters[FREE] - 1]
        added, cost, group, home = best_place(parcel, k, most - spent, loose, groups, prices)
        members, rows, new_cost, lender = 0, 0, 0.0, NOBODY
        if rows_left >= k or loose.homes.shape[1] > 0:
            work.counters[POOL] = left
            members, rows, new_cost = grow(place, new, added / size, k, loose.ranks, groups, prices, work)
            if rows < k:
                new_cost, lender = lender_of(new, parcels[parcel, TUPLE], rows, k, added / size, loose, groups, prices)
        if rows >= k or lender != NOBODY:
            remember(new, boxes, facts, costs, work)
            counters[FREE] -= 1
            costs[new] = new_cost
            if lender != NOBODY:
                cover(new, lender, loose.ranks, boxes, prices.columns)
                facts[new, LENDER] = lender
                spare[lender] -= k - rows
            for member in range(members):
                enter(pool[trial[member, 1]], new, parcels, facts)
            kept = 0
            for other in range(left):
                if parcels[pool[other], GROUP] == NOBODY:
                    pool[kept] = pool[other]
                    kept += 1
            left, rows_left, spent = kept, rows_left - rows, spent + max(rows, k) * new_cost
        elif group != NOBODY or home != NOBODY:
            if home != NOBODY:
                group = new
            remember(group, boxes, facts, costs, work)
            if home != NOBODY:
                start_with_home(group, home, k, loose.ranks, groups, prices.columns)
            join(parcel, group, k, loose.ranks, groups, prices.columns)
            costs[group] = cost
            left, rows_left, spent = left - 1, rows_left - size, spent + added
            pool[place] = pool[left]
        else:
            spent = np.inf
    return spent


@kernel
def lender_of(
    group: int, tuple_: int, rows: int, k: int, most: float, loose: Loose, groups: Groups, prices: Prices
) -> tuple[float, int]:
    """Give the home from which a new group that is short borrows best, if its own rows then cost less than ``most``."""
    ranks, _, _, _, homes, _ = loose
    boxes, _, _, _, spare, _, _ = groups
    columns, numbers = prices
    least, found = most * rows / k, NOBODY
    for place in range(homes.shape[1]):
        home: Any = np.int64(homes[tuple_, place])
        if home != NOBODY and spare[home] >= k - rows:
            cost = cost_with(group, home, ranks, boxes, columns, numbers)
            if cost < least:
                least, found = cost, home
    return least, found


@kernel
def grow(
    place: int, group: int, most: float, k: int, ranks: Any, groups: Groups, prices: Prices, work: Work
) -> tuple[int, int, float]:
    """Let a free group start at a parcel of the pool and take the cheapest others until it has k rows.

    OUT  how many parcels it takes (their places in the pool: ``trial[:, 1]``), their rows (fewer than k if it cannot
         go on for less than ``most`` a row), and what a row costs
    """
    boxes, _, _, parcels, _, _, _ = groups
    columns, numbers = prices
    pool, _, _, _, _, _, _, trial, bounds, counters = work
    clear(group, boxes, columns)
    cover(group, parcels[pool[place], TUPLE], ranks, boxes, columns)
    number, members, rows, cost = counters[POOL] - 1, 1, parcels[pool[place], SIZE], 0.0
    for candidate in range(number):
        trial[candidate, 0], bounds[candidate] = candidate, 0.0
    if place < number:
        trial[place, 0] = number
    trial[0, 1] = place
    chosen = place
    while rows < k and chosen != NOBODY:
        least, chosen = most, NOBODY
        candidate = 0
        while candidate < number:
            if bounds[candidate] < least:  # a candidate's cost only rises as the group grows
                tuple_ = parcels[pool[trial[candidate, 0]], TUPLE]
                bounds[candidate] = cost_with(group, tuple_, ranks, boxes, columns, numbers)
                if bounds[candidate] < least:
                    least, chosen = bounds[candidate], candidate
            candidate = number if least <= cost else candidate + 1
        if chosen != NOBODY:
            parcel = pool[trial[chosen, 0]]
            cover(group, parcels[parcel, TUPLE], ranks, boxes, columns)
            trial[members, 1] = trial[chosen, 0]
            members, rows, cost, number = members + 1, rows + parcels[parcel, SIZE], least, number - 1
            trial[chosen, 0], bounds[chosen] = trial[number, 0], bounds[number]
    return members, rows, cost


@kernel
def undo(k: int, groups: Groups, work: Work) -> None:
    """Make all groups what they were before this turn."""
    boxes, facts, costs, parcels, spare, _, free_counters = groups
    _, taken, taken_to, logged, old_boxes, old_facts, old_costs, _, _, counters = work
    for entry in range(counters[LOG]):
        group = logged[entry]
        borrow(group, k, -1, facts, spare)
        costs[group] = old_costs[entry]
        for fact in range(SEEN):
            facts[group, fact] = old_facts[entry, fact]
        for word in range(boxes.shape[1]):
            boxes[group, word] = old_boxes[entry, word]
        borrow(group, k, 1, facts, spare)
    place = 0
    for apart in range(counters[APART]):  # the groups that were taken apart are the first in the log
        while place < taken_to[apart, 0]:
            parcel = taken[place]
            place += 1
            is_last = place == taken_to[apart, 0]
            parcels[parcel, GROUP] = logged[apart]
            parcels[parcel, NEXT] = taken_to[apart, 1] if is_last else taken[place]
    free_counters[FREE] = counters[FREE_BEFORE]
