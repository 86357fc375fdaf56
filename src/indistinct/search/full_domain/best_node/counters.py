"""Counters: what a search asks about a node, and the answer. One serves every task, one is quicker, for k-anonymity.

A counter works from a source: the groups, or one tuple for each group, at any node below. The shorter the source, the
quicker the answer.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from indistinct.counting import FrequencyList, IntArray, Node, UIntArray
from indistinct.privacy import KAnonymity
from indistinct.quality import QualityMeasure
from indistinct.quality.measures import CellMeasure
from indistinct.recoding import LabelValues, Outcome
from indistinct.search.full_domain.best_node.kernels import node_counts as counting
from indistinct.search.set_counts import SetCounts, steps_above
from indistinct.search.task import Task, with_level

CHUNK_BITS = range(8, 14)
"""A chunk's tables have at most 2 to one of these many entries, unless one column alone has more values."""
DENSE = 8
"""Places are addressed directly up to so many for each tuple, as long as they are not too many to stay near."""
MOST_DENSE = 1 << 24
FEWEST_PLACES = 1 << 16


class Source(Protocol):
    """Groups at a node, from which groups at any node above can be counted."""

    @property
    def node(self) -> Node:
        """The node of the groups."""

    @property
    def sizes(self) -> IntArray:
        """The rows of each group."""


class Counter(Protocol):
    """Answers for the nodes of one task."""

    base: Source

    def outcome(self, node: Node, source: Source) -> Outcome:
        """Return what a measure may ask of a node, with the least suppression that satisfies the policy.

        Of a node that suppresses too many rows it need only be right that they are too many.
        """

    def reduce_source(self, node: Node, source: Source) -> Source:
        """Return the groups at a node as a source for the nodes above it."""


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """An outcome as numbers."""

    local: ClassVar[None] = None

    frequencies: FrequencyList
    node: Node
    rows: int
    suppressed_rows: int
    kept_by_suppressed: float
    suppressed_groups: int = 0
    released_groups: int = 0
    suppressed_squares: float = 0.0
    released_squares: float = 0.0

    def over_suppressed(self, values: LabelValues) -> float:
        """Sum a number per label over all cells of suppressed rows; done beforehand, for the measure of the search."""
        return self.kept_by_suppressed


class GroupCounter:
    """Rolls groups up and builds recodings: for any model, measure and number of quasi-identifiers."""

    def __init__(self, task: Task, at_most: int | None = None) -> None:
        self.task = task
        self.at_most = at_most
        self.base: Source = task.frequencies.base

    def outcome(self, node: Node, source: Any) -> Outcome:
        return self.task.recoding(self.reduce_source(node, source), self.at_most)

    def reduce_source(self, node: Node, source: Any) -> Any:
        return source if source.node == node else self.task.frequencies.roll_up(node, source)[0]


class Stairs:
    """Counts nodes in any order by way of a few below: each column climbs in turn, those with fewest levels first.

    Nodes have the levels of their first columns in common with many others, so the groups there are kept.
    """

    def __init__(self, counter: Counter, heights: Node, most_tuples: int) -> None:
        self.counter = counter
        self._order = sorted(range(len(heights)), key=lambda column: heights[column])
        self._kept: OrderedDict[Node, Source] = OrderedDict()
        self._room = most_tuples

    def outcome(self, node: Node) -> Outcome:
        """Return what a measure may ask of a node."""
        return self.counter.outcome(node, self.source_for(node))

    def source_for(self, node: Node) -> Source:
        """Return the groups at the node below in which only the last column has not climbed."""
        source = self.counter.base
        for column in self._order[:-1]:
            step = with_level(source.node, column, node[column])
            if step == source.node:
                continue
            if step not in self._kept:
                self._keep(self.counter.reduce_source(step, source))
            self._kept.move_to_end(step)
            source = self._kept[step]
        return source

    def _keep(self, source: Source) -> None:
        """Keep groups for the nodes above; those that were not used for longest go first."""
        self._kept[source.node] = source
        self._room -= len(source.sizes)
        while self._room < 0 and len(self._kept) > 1:
            self._room += len(self._kept.popitem(last=False)[1].sizes)


@dataclass(frozen=True, slots=True)
class MergedTuples:
    """One tuple, by its codes in the frequency list, for each group at a node, and the group's rows."""

    node: Node
    keys: UIntArray
    sizes: Any
    """int32 as long as the table has fewer than 2**31 rows, else int64."""
    entries: tuple[Any, Any, Any] | None = None
    """Where people have several rows: those of each group who stand in no other, and the groups of all others.

    Groups that are full have as many as are ever asked for, or more, and nobody of others stands in them.
    """


@dataclass(frozen=True, slots=True)
class Chunk:
    """Neighbouring columns in one word of the key."""

    columns: tuple[int, ...]
    word: int
    shift: int
    bits: int


class TupleCounter:
    """Counts groups for k-anonymity on one quasi-identifier, by table look-ups instead of roll-ups.

    Only what the measure asks is computed: the sums over labels of a cell measure, or the tally of groups.
    """

    def __init__(self, task: Task, measure: QualityMeasure | None, most_asked: int | None = None) -> None:
        frequencies, base = task.frequencies, task.frequencies.base
        self.frequencies = frequencies
        self.k = task.largest_k()
        # the largest k that will be asked for: people beyond that many need not be told apart
        self._enough = self.k if most_asked is None else max(self.k, most_asked)
        self._rows = frequencies.rows
        counts = base.sizes.astype(np.int32) if self._rows < 2**31 else base.sizes
        self.base: Source = MergedTuples(base.node, base.keys, counts, _entries_by_person(frequencies, self._enough))
        self._chunks = _chunks(frequencies)
        self._out_words = _out_words(frequencies, self._chunks)
        self._labels = [[len(labels) for labels in hierarchy.labels] for hierarchy in frequencies.hierarchies]
        self._values: LabelValues | None = None
        if isinstance(measure, CellMeasure):
            self._values = measure.prepare(frequencies).per_label
        self._is_plain = self._values is not None and is_plain(self._values)
        self._wants_tally = measure is not None and self._values is None and measure.level_losses(frequencies) is None
        # entry 0 of both stays 0, for spare chunks
        self._tables = np.zeros(FEWEST_PLACES, np.uint32)
        self._numbers = np.zeros(FEWEST_PLACES if self._values is not None and not self._is_plain else 0)
        self._used = 1
        self._known: dict[tuple[int, tuple[int, ...]], tuple[int, int]] = {}
        tuples = max(1, len(base))
        self._most_dense = max(FEWEST_PLACES, min(DENSE * tuples, MOST_DENSE))
        self._most_places = max(self._most_dense, 3 * tuples)  # hashed places are a power of two below that
        self._work = (
            np.empty((tuples, max(self._out_words) + 1), np.uint64),
            np.empty(tuples, np.int32 if self._most_places < 2**31 else np.int64),
            np.empty(self._most_places, counts.dtype),
            np.empty(self._most_places, np.int32),
        )
        scratch = 0 if base.people is None else self._most_places
        self._people = np.empty(scratch, np.int32), np.empty(scratch, np.int32)

    @staticmethod
    def serves(task: Task) -> bool:
        """Return whether a task asks for k-anonymity on one quasi-identifier and nothing else."""
        return (
            len(task.requirements) == 1
            and len(task.requirements[0].columns) == len(task.frequencies.columns)
            and all(isinstance(model, KAnonymity) for model in task.requirements[0].models)
            and not task.policy.links_rows
        )

    def outcome(self, node: Node, source: Any) -> Outcome:
        """Return the numbers of a node."""
        wants_tuples = source.entries is not None or (self._values is not None and not self._is_plain)
        chunks, places = self._locate_tuples(node, source, wants_tuples=wants_tuples)
        sizes, crowds = self._work[2], self._crowds(source, places)
        rows = int(counting.rows_in_small(sizes, crowds, places, self.k))
        kept = 0.0
        if rows and self._values is not None:
            if self._is_plain:
                kept = rows * sum([float(levels[level][0]) for levels, level in zip(self._values, node, strict=True)])
            else:
                at = (self._work[1], crowds)
                kept = counting.sum_over_small(source.keys, source.sizes, chunks, self._numbers, self.k, at)
        if not self._wants_tally:
            return NodeCounts(self.frequencies, node, self._rows, rows, kept)
        return NodeCounts(
            self.frequencies, node, self._rows, rows, kept, *counting.tally(sizes, crowds, places, self.k)
        )

    def _crowds(self, source: Any, places: int) -> Any:
        """Return what is compared with k at each place: its rows, or its people where those have several."""
        if source.entries is None:
            return self._work[2]
        people, last = self._people
        counting.count_people(source.entries, self._work[1], places, people, last)
        return people

    def reduce_source(self, node: Node, source: Any) -> Source:
        """Return one tuple for each group at a node."""
        if source.node == node:
            return source  # type: ignore[no-any-return]
        _, places = self._locate_tuples(node, source)
        merged = counting.merge(source.keys, places, self._work)
        if source.entries is None:
            return MergedTuples(node, *merged)
        _, place_of, _, group_at = self._work
        number = len(merged[1])
        last = self._people[1]
        entries = counting.merge_people(source.entries, place_of, group_at[:places], number, self._enough, last)
        return MergedTuples(node, *merged, entries)

    def tally_by_k(self, node: Node, source: Any, ks: IntArray, into: Sequence[Any]) -> tuple[int, float]:
        """Write what groups smaller than each k hold at a node: rows, groups, squares, what their cells keep.

        Return the number of all groups and the sum of their squared sizes.
        """
        chunks, places = self._locate_tuples(node, source)
        *totals_of, kept = into
        crowds = self._crowds(source, places)
        totals = counting.tally_by_k(self._work[2], crowds, places, ks, tuple(totals_of))
        if len(self._numbers):
            at = (self._work[1], crowds)
            counting.sum_by_k(source.keys, source.sizes, chunks, self._numbers, ks, kept, at)
        return int(totals[0]), float(totals[1])

    def _locate_tuples(self, node: Node, source: Any, wants_tuples: bool = True) -> tuple[IntArray, int]:
        """Count the rows at each place of a node, and find the place of each tuple if that is wanted.

        Return the chunks' tables and the number of places.
        """
        parts = []
        strides = [1] * (max(self._out_words) + 1)
        for position, (chunk, out_word) in enumerate(zip(self._chunks, self._out_words, strict=True)):
            offset, indices = self._table(position, tuple([node[column] for column in chunk.columns]))
            parts.append((chunk.word, chunk.shift, (1 << chunk.bits) - 1, offset, strides[out_word], out_word))
            strides[out_word] *= indices
        while len(parts) < counting.FUSED_CHUNKS:
            parts.append((0, 0, 0, 0, 0, 0))
        chunks = np.array(parts, np.int64)
        tuples = len(source.sizes)
        is_dense = len(strides) == 1 and strides[0] <= min(self._most_dense, max(DENSE * tuples, 4096))
        dense = strides[0] if is_dense else 0
        if dense and not wants_tuples and len(parts) == counting.FUSED_CHUNKS and source.keys.shape[1] == 1:
            counting.count_dense(source.keys, source.sizes, chunks, self._tables, dense, self._work[2])
            return chunks, dense
        return chunks, int(counting.locate(source.keys, source.sizes, chunks, self._tables, dense, self._work))

    def _table(self, position: int, levels: tuple[int, ...]) -> tuple[int, int]:
        """Return where the table of a chunk at some levels starts, and how many indices it has."""
        found = self._known.get((position, levels))
        if found is not None:
            return found
        index, number, indices = np.zeros(1, np.uint32), np.zeros(1), 1
        for column, level in zip(self._chunks[position].columns, levels, strict=True):
            labels = self._padded_codes(column, level)
            # a later column has higher bits, so its values are the rows of the table
            index = np.add.outer(labels * np.uint32(indices), index).ravel()
            indices *= self._labels[column][level]
            if len(self._numbers):
                assert self._values is not None  # numbers are kept for values only
                number = np.add.outer(self._values[column][level][labels], number).ravel()
        end = self._used + len(index)
        if end > len(self._tables):
            room = max(end, 2 * len(self._tables))
            self._tables = np.concatenate([self._tables, np.zeros(room - len(self._tables), np.uint32)])
            if len(self._numbers):
                self._numbers = np.concatenate([self._numbers, np.zeros(room - len(self._numbers))])
        self._tables[self._used : end] = index
        if len(self._numbers):
            self._numbers[self._used : end] = number
        self._known[position, levels] = self._used, indices
        self._used = end
        return self._known[position, levels]

    def _padded_codes(self, column: int, level: int) -> NDArray[np.uint32]:
        """Return the label code of each code of a column in the list, and of those that its field could hold beyond."""

        def pad() -> NDArray[np.uint32]:
            padded = np.zeros(int(self.frequencies.base.layout.masks[column]) + 1, np.uint32)
            codes = self.frequencies.coarser(column, self.frequencies.lowest[column], level)
            padded[: len(codes)] = codes
            return padded

        return self.frequencies.remember(("padded", column, level), pad)


def _entries_by_person(frequencies: FrequencyList, enough: int) -> tuple[Any, Any, Any] | None:
    """Return the people who stand in each tuple alone, and the tuples of all others; None where nobody has several
    rows.

    Whoever stands in one tuple need not be looked up: nowhere above is she counted twice. Nor need the people of a
    full tuple, which has ``enough``: so has every group above. Whoever stands in one tuple besides full ones counts as
    standing there alone: she is counted twice only together with a full one.
    """
    people = frequencies.base.people
    if people is None:
        return None

    def divide() -> tuple[Any, Any, Any]:
        crowds = np.bincount(people.groups, minlength=len(frequencies.base))
        is_open = crowds[people.groups] < enough
        groups, persons = people.groups[is_open], people.persons[is_open]
        is_single = np.bincount(persons)[persons] == 1
        singles = np.bincount(groups[is_single], minlength=len(crowds))
        singles = np.where(crowds < enough, singles, crowds).astype(np.int32)
        groups, persons = groups[~is_single], persons[~is_single].astype(np.int32)
        order = np.argsort(persons, kind="stable")
        return singles, groups[order].astype(np.int32), persons[order]

    return frequencies.remember(("entries by person", enough), divide)


def is_plain(values: LabelValues) -> bool:
    """Return whether all labels of a level have the same number, so that sums over rows need no labels."""
    return all((numbers == numbers[0]).all() for levels in values for numbers in levels if len(numbers))


def possible_groups(frequencies: FrequencyList, node: Node) -> int:
    """Return the number of label combinations at a node: no more groups can be there."""
    return math.prod([len(h.labels[level]) for h, level in zip(frequencies.hierarchies, node, strict=True)])


def _chunks(frequencies: FrequencyList) -> list[Chunk]:
    """Return the chunks with the smallest tables of which there are few enough."""
    layout = frequencies.base.layout
    fields = zip(layout.words.tolist(), layout.masks.tolist(), layout.shifts.tolist(), strict=True)
    columns = [Chunk((column,), word, shift, mask.bit_length()) for column, (word, mask, shift) in enumerate(fields)]
    columns.sort(key=lambda one: one.word)  # in their order within a word
    for most_bits in CHUNK_BITS:
        chunks = _join_neighbours(columns, most_bits)
        if len(chunks) <= counting.FUSED_CHUNKS:
            break
    return chunks


def _join_neighbours(columns: Sequence[Chunk], most_bits: int) -> list[Chunk]:
    """Group neighbouring columns of a word as long as their fields have few enough bits together."""
    chunks: list[Chunk] = []
    for one in columns:
        last = chunks[-1] if chunks else None
        if last is not None and last.word == one.word and last.bits + one.bits <= most_bits:
            chunks[-1] = Chunk((*last.columns, *one.columns), one.word, last.shift, last.bits + one.bits)
        else:
            chunks.append(one)
    return chunks


def _out_words(frequencies: FrequencyList, chunks: Sequence[Chunk]) -> list[int]:
    """Return each chunk a word of the group index, so that no word's index space exceeds 63 bits."""
    words, word, space = [], 0, 1
    for chunk in chunks:
        indices = math.prod(len(frequencies.hierarchies[column].values) for column in chunk.columns)
        if space * indices >= 2**63:
            word, space = word + 1, 1
        space *= max(1, indices)
        words.append(word)
    return words or [0]


@dataclass(frozen=True, slots=True)
class Base:
    """The tuples of the list, from which every node is counted."""

    node: Node
    sizes: IntArray


class SetCounter:
    """Counts nodes for k-anonymity by several sets of columns; what is counted by a set serves all nodes above.

    Only what the measure asks is computed: the sums over labels of a cell measure.
    """

    def __init__(self, task: Task, measure: QualityMeasure | None, at_most: int | None = None) -> None:
        self.frequencies = task.frequencies
        self.base: Source = Base(task.frequencies.base.node, task.frequencies.base.sizes)
        self._at_most = task.frequencies.rows if at_most is None else at_most
        self._sets = SetCounts.of_list(task.frequencies, task.ks_by_columns())
        self._values: LabelValues | None = None
        if isinstance(measure, CellMeasure):
            self._values = measure.prepare(task.frequencies).per_label

    @staticmethod
    def serves(task: Task, measure: QualityMeasure | None) -> bool:
        """Return whether a task asks for k-anonymity in rows and nothing else, and a measure for sums over labels."""
        asks_sums = measure is None or (
            measure.asks_counts_only
            and (isinstance(measure, CellMeasure) or measure.level_losses(task.frequencies) is not None)
        )
        return (
            asks_sums
            and task.asks_rows_only
            and not task.policy.links_rows
            and SetCounts.serves(task.ks_by_columns(), task.frequencies.heights)
        )

    def outcome(self, node: Node, source: Any) -> Outcome:
        """Return the numbers of a node."""
        gone, lost = self._sets.taken_out(steps_above(node, self.frequencies.lowest), self._at_most)
        kept = 0.0
        if lost and lost <= self._at_most and self._values is not None:
            kept = self._sets.sum_over(gone, steps_above(node, self.frequencies.lowest), self._values, node)
        return NodeCounts(self.frequencies, node, self.frequencies.rows, min(lost, self.frequencies.rows), kept)

    def reduce_source(self, node: Node, source: Any) -> Source:
        """Every node is counted from the list: what is known of single sets is worth more than a shorter list."""
        return self.base
