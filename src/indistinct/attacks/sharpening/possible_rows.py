"""PossibleRows: which tuples can be behind each group of a local release, and what is known of them together.

Every tuple below the labels of a group may be behind it: its box. What is assumed of an algorithm says more. Some
tuples cannot be there, of others all groups together hold a limited number of rows, and neither can all rows of a
group lie in some parts of its box. All this is linear in the number of rows of each tuple in each group.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.attacks.labels import Label, LabelTree
from indistinct.attacks.sharpening.deduction import LOWEST_LABELS, MINIMAL_ROWS, Knowledge, Split
from indistinct.counting import IntArray

MOST_TUPLES = 2_000
"""A box of more tuples has room for all rows that anybody could put there, so nothing is concluded about it."""
MOST_IN_ALL = 500_000
"""The most tuples of all boxes that are looked at, the smallest boxes first."""


class PossibleTuples(NamedTuple):
    """The tuples that can be behind a group, and where they lie below its generalized labels."""

    group: int
    rows: int
    tuples: IntArray
    parts: dict[int, IntArray]
    """For each generalized column the place of each tuple's label among those that its split lists."""


class Cap(NamedTuple):
    """At most ``most`` rows of all groups together lie in these places: (box, position of the tuple in it)."""

    places: tuple[tuple[int, int], ...]
    most: int


@dataclass(frozen=True, slots=True)
class Extra:
    """What is assumed beside what downcoding assumes."""

    whole_tuples: bool = False
    """k equal rows or more are never all generalized."""
    node_by_node: bool = False
    """Groups were made node by node, lower ones first, each of all rows that share its labels and were left."""


@dataclass(frozen=True)
class PossibleRows:
    """The boxes of a local release, and what limits the rows of their tuples."""

    known: Knowledge
    boxes: tuple[PossibleTuples, ...]
    strength: int
    extra: Extra
    released: frozenset[int]
    """The tuples that some group is released with, as they are."""
    capped: BoolArray
    """(boxes,) equal rows of a box are known to be fewer than k, where they are not released."""
    unlisted: int
    """Groups whose tuples are too many, or cannot be listed."""

    @classmethod
    def of(cls, known: Knowledge, strength: int, extra: Extra, fixed: Collection[int] = ()) -> PossibleRows:
        """List the tuples behind each group; ``fixed`` are columns that may be those which no label joins."""
        coder = _Coder(known.trees)
        found, released, unlisted = [], set(), 0
        for group, (labels, rows) in enumerate(zip(known.released.groups, known.released.sizes, strict=True)):
            splits = [splits[label] for splits, label in zip(known.splits, labels, strict=True)]
            cells = zip(range(len(labels)), labels, splits, strict=True)
            listed = [values for cell in cells if (values := coder.values(*cell)) is not None]
            if len(listed) < len(labels) or math.prod(len(values) for values, _ in listed) > MOST_TUPLES:
                unlisted += 1
                continue
            found.append((group, rows, listed, [split is not None for split in splits]))
        boxes, in_all = [], 0
        for group, rows, listed, is_generalized in sorted(found, key=lambda one: math.prod(len(v) for v, _ in one[2])):
            in_all += math.prod(len(values) for values, _ in listed) if any(is_generalized) else 0
            if in_all > MOST_IN_ALL and any(is_generalized):
                unlisted += 1
                continue
            tuples, parts = coder.product(listed)
            if any(is_generalized):
                own = {column: parts[column] for column, is_own in enumerate(is_generalized) if is_own}
                boxes.append(PossibleTuples(group, rows, tuples, own))
            else:
                released.add(int(tuples[0]))
        block_of = [tuple(known.released.groups[box.group][column] for column in sorted(fixed)) for box in boxes]
        blocks = Counter(block_of)
        capped = np.array([extra.whole_tuples and blocks[block] > 1 for block in block_of], np.bool_)
        return cls(known, tuple(boxes), strength, extra, frozenset(released), capped, unlisted)

    @cached_property
    def is_free(self) -> tuple[BoolArray, ...]:
        """For each box the tuples that are released as they are, of which there may be any number."""
        every = np.concatenate([np.zeros(0, np.int64), *(box.tuples for box in self.boxes)])
        found = np.isin(every, np.fromiter(self.released, np.int64))
        ends = np.cumsum([len(box.tuples) for box in self.boxes])
        return tuple(np.split(found, ends[:-1])) if self.boxes else ()

    @cached_property
    def may_hold(self) -> tuple[BoolArray, ...]:
        """For each box the tuples that may be behind it."""
        held = []
        for number, box in enumerate(self.boxes):
            is_taken = self._takes_all_below(box)
            own = ~self.is_free[number] if is_taken else np.ones(len(box.tuples), np.bool_)
            for other in self._boxes_inside(number) if is_taken else ():
                own &= ~np.isin(box.tuples, self.boxes[other].tuples)
            held.append(own)
        return tuple(held)

    def _takes_all_below(self, box: PossibleTuples) -> bool:
        """Return whether rows that fit a group with lower labels are all in that one.

        Who is minimal row by row would have moved a row there, if k were left. Who goes node by node had taken it
        there before.
        """
        is_minimal = self.strength >= MINIMAL_ROWS and box.rows > self.known.k
        return self.extra.node_by_node or is_minimal

    def _boxes_inside(self, number: int) -> Iterator[int]:
        """Return the boxes that lie in a larger one."""
        box = self.boxes[number]
        for other, positions in self._shared_with(number).items():
            if len(positions) == len(self.boxes[other].tuples) < len(box.tuples):
                yield other

    @cached_property
    def boxes_of(self) -> dict[int, list[tuple[int, int]]]:
        """The boxes that each tuple lies in, and where in them."""
        found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, box in enumerate(self.boxes):
            for position, code in enumerate(box.tuples.tolist()):
                found[code].append((number, position))
        return dict(found)

    def _shared_with(self, number: int) -> dict[int, list[int]]:
        """Return for each other box that shares tuples with a box where in it they are."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for code in self.boxes[number].tuples.tolist():
            for other, position in self.boxes_of[code]:
                if other != number:
                    found[other].append(position)
        return dict(found)

    @cached_property
    def room(self) -> tuple[IntArray, ...]:
        """For each box how many rows of each tuple it can have, as far as that follows from this tuple alone."""
        found = []
        for number, box in enumerate(self.boxes):
            most = np.full(len(box.tuples), box.rows)
            if self.has_caps(number):
                most = np.where(self.is_free[number], most, np.minimum(most, self.known.k - 1))
            found.append(np.where(self.may_hold[number], most, 0))
        return tuple(found)

    def has_caps(self, number: int) -> bool:
        """Return whether tuples behind a box that are not released as they are have fewer than k rows in all."""
        return bool(self.capped[number]) or self.extra.node_by_node

    def needed_by(self, number: int) -> list[int]:
        """Return the boxes that must put rows into a box, since they have too little room elsewhere."""
        if not self.has_caps(number):
            return []
        found = []
        for other, positions in self._shared_with(number).items():
            room = self.room[other]
            if self.has_caps(other) and int(room.sum()) - int(room[positions].sum()) < self.boxes[other].rows:
                found.append(other)
        return sorted(found)

    def caps(self, numbers: Sequence[int]) -> list[Cap]:
        """Return what limits the rows of several boxes together, as far as it is about these boxes."""
        most = self.known.k - 1
        places: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for number in numbers:
            if self.has_caps(number):
                for position, code in enumerate(self.boxes[number].tuples.tolist()):
                    if code not in self.released:
                        places[code].append((number, position))
        found = [Cap(tuple(own), most) for own in places.values() if len(own) > 1]
        return found + (self._parts_of_nodes(numbers) if self.extra.node_by_node else [])

    def _parts_of_nodes(self, numbers: Sequence[int]) -> list[Cap]:
        """Return what follows from nodes that were tried before: no k rows that were left shared labels there.

        It is said of each box with one label a level lower, and counts all boxes whose nodes lie above that.
        """
        found = []
        levels = {number: self._levels(number) for number in numbers}
        for number in numbers:
            box = self.boxes[number]
            for column, part_of in box.parts.items():
                node = levels[number].copy()
                node[column] -= 1
                others = [other for other in numbers if (levels[other] >= node).all() and (levels[other] > node).any()]
                for part in np.unique(part_of).tolist():
                    inside = set(box.tuples[part_of == part].tolist())
                    places = [
                        (other, position)
                        for other in others
                        for position, code in enumerate(self.boxes[other].tuples.tolist())
                        if code in inside
                    ]
                    found.append(Cap(tuple(places), self.known.k - 1))
        return found

    def _levels(self, number: int) -> IntArray:
        labels = self.known.released.groups[self.boxes[number].group]
        splits = [splits[label] for splits, label in zip(self.known.splits, labels, strict=True)]
        return np.array([0 if split is None else split.level for split in splits], np.int64)

    def most_in_part(self, box: PossibleTuples) -> int:
        """Return how many rows of a group can lie under one of the labels below a label of it."""
        if self.strength >= MINIMAL_ROWS and box.rows >= 2 * self.known.k:
            return self.known.k - 1
        return box.rows - (self.strength >= LOWEST_LABELS)


class _Coder:
    """Numbers the values of each column, and tuples of them."""

    def __init__(self, trees: Sequence[LabelTree]) -> None:
        self._trees = trees
        self._codes: list[dict[Label, int]] = [{} for _ in trees]
        self._tuples: dict[tuple[int, ...], int] = {}
        self._known: dict[tuple[int, Label, bool], tuple[IntArray, IntArray] | None] = {}

    def values(self, column: int, label: Label, split: Split | None) -> tuple[IntArray, IntArray] | None:
        """Return the values below a label, and the place of the label one level lower of each; None if not listed."""
        key = (column, label, split is None)
        if key not in self._known:
            self._known[key] = self._list_values(column, label, split)
        return self._known[key]

    def _list_values(self, column: int, label: Label, split: Split | None) -> tuple[IntArray, IntArray] | None:
        codes = self._codes[column]
        if split is None:
            return np.array([codes.setdefault(label, len(codes))]), np.zeros(1, np.int64)
        if split.labels is None or split.is_cover:
            return None
        values: list[int] = []
        places: list[int] = []
        for place, lower in enumerate(split.labels):
            below = _values_below(self._trees[column], split.level - 1, lower)
            if below is None or len(values) + len(below) > MOST_TUPLES:
                return None
            values += [codes.setdefault(value, len(codes)) for value in below]
            places += [place] * len(below)
        return np.array(values, np.int64), np.array(places, np.int64)

    def product(self, listed: Sequence[tuple[IntArray, IntArray]]) -> tuple[IntArray, list[IntArray]]:
        """Number all tuples of some values, and give the place of each in every column."""
        grid = np.indices([len(values) for values, _ in listed]).reshape(len(listed), -1)
        columns = [values[at] for (values, _), at in zip(listed, grid, strict=True)]
        return self._numbers(columns), [places[at] for (_, places), at in zip(listed, grid, strict=True)]

    def _numbers(self, columns: Sequence[IntArray]) -> IntArray:
        sizes = [len(codes) for codes in self._codes]
        if math.prod(sizes) < 1 << 62:
            number = np.zeros(1, np.int64)
            for size, codes in zip(sizes, columns, strict=True):
                number = number * size + codes
            return number
        cells = zip(*(one.tolist() for one in columns), strict=True)
        return np.array([self._tuples.setdefault(one, len(self._tuples)) for one in cells], np.int64)


def _values_below(tree: LabelTree, level: int, label: Label) -> list[Label] | None:
    """Return the values below a label; None where they cannot be listed, or are too many."""
    if level == 0:
        return [label]
    found: list[Label] = []
    for lower in tree.below(level, label) or ():
        below = _values_below(tree, level - 1, lower)
        if below is None or len(found) + len(below) > MOST_TUPLES:
            return None
        found += below
    return found or None
