"""Events: the rows of people in tables of events, and sets of their labels that too few people share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray, UIntArray
from indistinct.counting import FrequencyList, Node
from indistinct.errors import TableError
from indistinct.policy import Policy, lists_people
from indistinct.quality import NCP
from indistinct.recoding.group_labels import labels_of_all_levels
from indistinct.recoding.recoding import Labels
from indistinct.search.histories.kernels import label_sets
from indistinct.search.histories.private_values import PrivateValues
from indistinct.search.histories.ranges import RangedColumn

SETS_AT_ONCE = 12_000_000
"""So many sets are held in memory at a time: 0.5 GB."""
NOTHING: Mapping[int, FloatArray] = MappingProxyType({})
MOST_SETS = 20_000_000_000
"""More sets than this are refused: to look at them once takes minutes."""


@dataclass(frozen=True, slots=True, eq=False)
class EventColumn:
    """The labels of a column of events at all levels, each text once."""

    position: int
    """Among the columns of the frequency list."""
    labels: Labels
    places: IntArray
    """(levels, values): the label of each value at each level."""
    kept: FloatArray
    """What a cell keeps under each label."""
    lowest: int
    ranged: RangedColumn | None
    """Where its labels may be ranges."""

    @classmethod
    def of(cls, frequencies: FrequencyList, position: int, policy: Policy) -> EventColumn:
        """Take a column of the list of all tables."""
        labels, places = labels_of_all_levels(frequencies, position)
        kept = frequencies.weights[position] * NCP().kept(frequencies, position, labels)
        ranged = RangedColumn.of(frequencies, position, policy)
        return cls(position, labels, places, kept, frequencies.hierarchies[position].lowest, ranged)


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """All events, in the order of people."""

    entries: IntArray
    """The entry of the frequency list that each is a row of."""
    persons: IntArray
    tables: IntArray
    """The number of each one's table."""
    values: IntArray
    """(columns, events): value codes; columns of other tables have any."""
    columns: tuple[EventColumn, ...]
    columns_of: tuple[tuple[int, ...], ...]
    """The places of each table's columns among these columns."""
    timeless: tuple[int, ...]
    """The columns that are not of time."""
    kinds: IntArray
    """(sorts, tables): the kind of each table's events in full and, where they may be known so, without time."""
    limits: IntArray
    """The most items of each kind that are known together."""
    together: int
    """The most events that are known together."""
    has_number: bool
    """Whether the number of a person's events in each table is known, too."""
    private: PrivateValues | None = None
    """What nobody may learn for sure enough."""

    def __len__(self) -> int:
        return len(self.entries)

    @classmethod
    def of(cls, frequencies: FrequencyList, policy: Policy, table_of_entry: IntArray) -> Events:
        """Take the rows of the tables of events; ``table_of_entry`` numbers the tables of a policy."""
        assert policy.knows is not None
        assert frequencies.entries.persons is not None
        names = list(policy.parts)
        is_of_people = np.array([lists_people(part) for part in policy.parts.values()])
        chosen = np.flatnonzero(~is_of_people[table_of_entry])
        entries = np.repeat(chosen, frequencies.entries.counts[chosen])
        entries = entries[np.argsort(frequencies.entries.persons[entries], kind="stable")]
        owners = [name.partition(".")[0] for name in frequencies.columns]
        positions = [p for p, owner in enumerate(owners) if not is_of_people[names.index(owner)]]
        columns = tuple(EventColumn.of(frequencies, position, policy) for position in positions)
        values = [frequencies.entry_codes(position)[entries] for position in positions]
        kinds = policy.knows.kinds(names)
        return cls(
            entries,
            frequencies.entries.persons[entries],
            table_of_entry[entries],
            np.stack(values) if values else np.zeros((0, len(entries)), np.int64),
            columns,
            tuple(tuple(place for place, p in enumerate(positions) if owners[p] == name) for name in names),
            tuple(place for place, p in enumerate(positions) if frequencies.columns[p] not in policy.knows.time),
            np.array([own for own in (kinds.in_full, kinds.without_time) if own], np.int64),
            np.array(kinds.limits, np.int64),
            policy.knows.together,
            policy.knows.number,
            PrivateValues.of(frequencies, policy),
        )

    def among(self, is_released: BoolArray) -> Events:
        """Return the same events where these people are released."""
        return self if self.private is None else replace(self, private=self.private.among(is_released))

    def most_sets(self) -> int:
        """Return how many sets of the most events people have at the most."""
        numbers: list[int] = np.bincount(self.persons).tolist()
        found = [math.comb(len(self.kinds) * number, self.together) for number in numbers]
        return sum(found)

    def codes_of(self, levels: IntArray) -> IntArray:
        """Return the label of each event in each column, at a level of its own: (columns, events)."""
        found = [column.places[own, mine] for column, own, mine in zip(self.columns, levels, self.values, strict=True)]
        return np.stack(found) if found else self.values

    def codes_at(self, node: Node, chosen: BoolArray | None = None) -> IntArray:
        """Return the label of each event, or of chosen ones, in each column at a node: (columns, events)."""
        values = self.values if chosen is None else self.values[:, chosen]
        found = [column.places[level][own] for column, level, own in zip(self.columns, node, values, strict=True)]
        return np.stack(found) if found else values

    def sum_kept(self, codes: IntArray, others: Mapping[int, FloatArray] = NOTHING) -> FloatArray:
        """Return what all cells of each event keep under labels: (events,).

        ``others`` has what the labels keep of columns whose labels are not those of their hierarchy.
        """
        found = np.zeros(codes.shape[1])
        for place, (column, own) in enumerate(zip(self.columns, codes, strict=True)):
            found += others.get(place, column.kept)[own]
        return found

    def numbers(self, codes: IntArray, groups: IntArray, chosen: BoolArray | None = None) -> IntArray:
        """Number the labels of events: the same number for the same labels in one group of people: (sorts, events).

        The first sort are labels in full; where events may be known without their time, a second one is without it.
        ``groups`` has the group of each person.
        """
        tables, persons = self.tables, self.persons
        if chosen is not None:
            tables, persons = tables[chosen], persons[chosen]
        columns = (range(len(self.columns)), self.timeless)
        found = []
        for own in columns[: len(self.kinds)]:
            numbers = groups[persons] * (self.kinds.shape[1] + 1) + tables
            for place in own:
                numbers = dense(numbers) * (int(codes[place].max(initial=0)) + 1) + codes[place]
            found.append(dense(numbers))
        return np.stack(found)


def number_jointly(labels: IntArray, is_free: BoolArray) -> IntArray:
    """Return numbers that also differ between sorts, and between events that are free and others, which come first.

    >>> number_jointly(np.array([[0, 1], [0, 0]]), np.array([[True, False], [True, False]]))
    array([[4, 1],
           [6, 2]])
    """
    span = int(labels.max(initial=0)) + 1
    sorts = len(labels)
    found: IntArray = labels + span * (np.arange(sorts)[:, None] + sorts * is_free)
    return found


def dense(numbers: IntArray) -> IntArray:
    """Number what occurs through from 0.

    >>> dense(np.array([7, 3, 7]))
    array([1, 0, 1])
    """
    found: IntArray = np.unique(numbers, return_inverse=True)[1].ravel().astype(np.int64)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """What sets are made of: the different labels of each person, with as many copies as may be known together.

    Each event has an item in full and, where events may be known so, one without time; but a set has an event once.
    """

    starts: IntArray
    frees: IntArray
    """Where the items of each person begin that are free: their labels have the highest numbers."""
    labels: IntArray
    kinds: IntArray
    covers: IntArray
    """For an item in full the label of the same event without time, else -1."""
    rooms: IntArray
    """How many more events with its label the person has than there are copies up to this one."""
    runs: IntArray
    """The run of each item: the events of one person with one label."""
    holders: IntArray
    """The people who hold the label of each item."""
    persons: IntArray
    """The person of each who has items."""

    @classmethod
    def of(
        cls, events: Events, chosen: IntArray, labels: IntArray, is_free: BoolArray
    ) -> tuple[Items, IntArray, IntArray]:
        """Return the items of chosen events, and the run of each event with its place in that: (sorts, events).

        ``labels`` are numbered through, jointly for all sorts; those of what ``is_free`` are the highest.
        """
        sorts, count = labels.shape
        persons = np.tile(events.persons[chosen], sorts)
        flat, kinds = labels.ravel(), events.kinds[:, events.tables[chosen]].ravel()
        covers = np.full(len(flat), -1)
        covers[: count * (sorts - 1)] = labels[-1] if sorts > 1 else 0
        number = int(flat.max(initial=0)) + 1
        order = np.argsort(persons * number + flat, kind="stable")
        mine, own = persons[order], flat[order]
        is_new = np.ones(len(order), np.bool_)
        is_new[1:] = (mine[1:] != mine[:-1]) | (own[1:] != own[:-1])
        run = np.cumsum(is_new) - 1
        firsts = np.flatnonzero(is_new)
        place = np.arange(len(order)) - firsts[run]
        runs, places = np.empty_like(run), np.empty_like(place)
        runs[order], places[order] = run, place
        is_item = place < events.together
        item_persons, item_labels = mine[is_item], own[is_item]
        starts = np.flatnonzero(np.diff(item_persons, prepend=-1, append=-2))
        holders = np.bincount(own[firsts], minlength=number)
        lengths = np.diff(np.append(firsts, len(order)))
        found = cls(
            starts,
            starts[1:]
            - np.add.reduceat(np.append(is_free.ravel()[order][is_item], False).astype(np.int64), starts[:-1]),
            item_labels,
            kinds[order][is_item],
            covers[order][is_item],
            (lengths[run] - place - 1)[is_item],
            run[is_item],
            holders[item_labels].astype(np.int64),
            item_persons[starts[:-1]],
        )
        return found, runs.reshape(labels.shape), places.reshape(labels.shape)

    def _arrays(self, limits: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray, IntArray]:
        """Return what kernels ask of items."""
        return self.starts, self.frees, self.labels, self.kinds, self.covers, self.rooms, limits

    def parts(self, size: int) -> int:
        """Return into how many parts sets of a size are divided, so that each fits the memory."""
        number = self.most_sets(size)
        if number > MOST_SETS:
            raise TableError(
                f"knows: the events of all people make {number:.1e} sets of {size}, and somebody has "
                f"{int(np.diff(self.starts).max())} different ones; leave out such people or codes with a filter, or "
                "let fewer events be known"
            )
        return 1 + number // SETS_AT_ONCE

    def break_rare(self, size: int, k: int, events: Events, is_left: BoolArray) -> int:
        """Take items out of the sets of a size that fewer than k people have, or that tell too much of these.

        Return how many.
        """
        gone, parts, limits = 0, self.parts(size), events.limits
        for part in range(parts):
            keys, owners = self.sets(size, limits, part, parts, has_owners=events.private is not None)
            is_rare = label_sets.rare_keys(keys, k)
            if events.private is not None:
                sets = label_sets.number_keys(keys)
                is_rare |= events.private.too_sure(sets, self.persons[owners])[sets]
            if is_rare.any():
                gone += int(
                    label_sets.break_sets(*self._arrays(limits), is_rare, self.holders, is_left, part, parts, size)
                )
        return gone

    def sets(
        self, size: int, limits: IntArray, part: int = 0, parts: int = 1, *, has_owners: bool = False
    ) -> tuple[UIntArray, IntArray]:
        """Return the key of each set of a size that has a free item, and the person of each if that is asked."""
        base = self.base
        if base**size >= 1 << 64:
            raise TableError(f"knows: {base} different labels are too many for sets of {size}; let fewer be known")
        own = self._arrays(limits)
        most = self.most_sets(size) if parts == 1 else int(label_sets.count_sets(*own, size, part, parts))
        keys, owners = np.empty(most, np.uint64), np.empty(most * has_owners, np.int64)
        number = int(label_sets.write_sets(*own, base, part, parts, keys, owners, size))
        return keys[:number], owners[:number]

    @property
    def base(self) -> int:
        """One more than the highest label."""
        return int(self.labels.max(initial=0)) + 1

    def most_sets(self, size: int) -> int:
        """Return how many sets of a size with a free item there are at the most."""
        lengths, others = np.diff(self.starts), self.frees - self.starts[:-1]
        return int((_choices(lengths, size) - _choices(others, size)).sum())


def _choices(numbers: IntArray, size: int) -> IntArray:
    """Return in how many ways so many can be chosen of each number."""
    found = np.ones(len(numbers), np.int64)
    for step in range(size):
        found = found * np.maximum(numbers - step, 0) // (step + 1)
    return found


def without_rare_sets(
    events: Events, labels: IntArray, is_there: BoolArray, is_free: BoolArray, k: int, *, passes: int | None = None
) -> BoolArray:
    """Return which events are left when some were dropped until k people share every set that may be known.

    Where there are private values, no set that is left tells too much of one.

    ``labels`` numbers the labels of all events (sorts, events); those that are not ``is_there`` are none. Only events
    that are ``is_free`` are dropped: the others are safe by themselves. Dropping lowers the support of other sets, so
    this ends in a fixpoint; with ``passes`` it ends sooner, and some sets may still be rare.
    """
    left = is_there.copy()
    whole = passes is None
    done = 0
    while whole or done < (passes or 0):
        done += 1
        gone = sum(_one_pass(events, labels, left, is_free, k, size) for size in range(1, events.together + 1))
        if not gone:
            break
    return left


def _one_pass(events: Events, labels: IntArray, left: BoolArray, is_free: BoolArray, k: int, size: int) -> int:
    """Drop events from the rare sets of a size, as they are counted now; return how many."""
    concerned = np.zeros(int(events.persons.max(initial=-1)) + 1, np.bool_)
    concerned[events.persons[left & is_free]] = True
    chosen = np.flatnonzero(left & concerned[events.persons])
    if not len(chosen):
        return 0
    own_free = np.broadcast_to(is_free[chosen], (len(labels), len(chosen)))
    own = dense(number_jointly(labels[:, chosen], own_free)).reshape(own_free.shape)
    items, runs, places = Items.of(events, chosen, own, own_free)
    is_left = np.ones(len(items.labels), np.bool_)
    if not items.break_rare(size, k, events, is_left):
        return 0
    number = int(runs.max(initial=-1)) + 1
    held = np.bincount(items.runs, minlength=number)
    kept = np.bincount(items.runs, is_left, number)
    stays = ((places < kept[runs]) | (kept[runs] == held[runs])).all(axis=0)
    left[chosen[~stays]] = False
    return int((~stays).sum())
