"""Applied: the groups of an earlier release, for other rows of the same form.

What the labels of that release cover is read at the table at hand: the values, and how wide each label is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from indistinct.array_types import Array, BoolArray, FloatArray, IntArray
from indistinct.counting import FrequencyList
from indistinct.errors import HierarchyError, InfeasibleError, PolicyError
from indistinct.hierarchy import CompiledHierarchy
from indistinct.policy.algorithms import AppliedOptions, LabelKind
from indistinct.progress import Watch
from indistinct.recoding import SUPPRESSED, LocalRecoding, Pieces
from indistinct.recoding.group_labels import join_labels, lowest_labels
from indistinct.recoding.label_texts import Cover, read_label
from indistinct.recoding.recoding import Labels
from indistinct.recoding.saved import SavedRecoding
from indistinct.search.algorithm import Algorithm, algorithm_of
from indistinct.search.local.regroup import Regroup
from indistinct.search.task import Task


@dataclass(frozen=True, slots=True)
class LabelSpans:
    """Some labels of one column, and which values of the table each covers."""

    labels: Labels
    covers: BoolArray
    """(labels, values)"""

    @classmethod
    def of(cls, frequencies: FrequencyList, column: int, texts: Sequence[str | None]) -> LabelSpans:
        """Return what each label covers; one that covers no value of the table is as wide as the domain."""
        hierarchy, counts = frequencies.hierarchies[column], frequencies.value_counts(column)
        covers = np.zeros((len(texts), len(hierarchy.values)), np.bool_)
        levels, leaves = np.zeros((2, len(texts)), np.int64)
        reading = LabelReading(hierarchy)
        for number, text in enumerate(texts):
            covers[number] = reading.values_of(text)
            levels[number], leaves[number] = reading.level_and_width(text, covers[number])
        rows = covers @ counts
        return cls(Labels(tuple(texts), levels, leaves, rows.astype(np.int64)), covers)


class LabelReading:
    """Tells which values of a column a label covers."""

    def __init__(self, hierarchy: CompiledHierarchy) -> None:
        self.hierarchy = hierarchy
        self.codes = [{text: code for code, text in enumerate(names)} for names in hierarchy.labels]

    def levels_of(self, text: str | None) -> list[int]:
        """Return the levels that have a label, lowest first."""
        levels = range(self.hierarchy.lowest, self.hierarchy.height + 1)
        return [level for level in levels if text in self.codes[level]]

    def values_of(self, text: str | None) -> BoolArray:
        """Return which values a label covers: those under it at any level, or those of the range or set that it is."""
        found = np.zeros(len(self.hierarchy.values), np.bool_)
        levels = self.levels_of(text)
        for level in levels:
            found |= self.hierarchy.maps[level] == self.codes[level][text]
        if levels or text is None or self.hierarchy.lowest:
            return found
        cover = read_label(text)
        return found if cover is None else covered_values(self.hierarchy, cover)

    def level_and_width(self, text: str | None, covered: BoolArray) -> tuple[int, int]:
        """Return the level of a label that covers these values, and how many values of the domain it is wide.

        One that covers no value of the table is as wide as the domain.
        """
        hierarchy, at = self.hierarchy, self.levels_of(text)
        if at:  # a text that several levels have says no more than the widest
            return at[-1], int(hierarchy.leaves[at[-1]][self.codes[at[-1]][text]])
        if text is not None and (cover := read_label(text)) is not None and covered.any():
            return _common_level(hierarchy, covered), _width(hierarchy, cover, covered)
        return 0, hierarchy.domain_size


def covered_values(hierarchy: CompiledHierarchy, cover: Cover) -> BoolArray:
    """Return which values of a column a range or a set covers; a missing one has the last code."""
    values = hierarchy.values
    if cover.is_range:
        keys, ends = _keys(hierarchy, values), _keys(hierarchy, cover.values)
        if keys is None or ends is None or None in ends:
            return np.zeros(len(values), np.bool_)
        low, high = min(ends), max(ends)
        found = np.array([key is not None and low <= key <= high for key in keys])
    else:
        members = set(cover.values)
        found = np.array([value in members for value in values])
    if values and values[-1] is None:
        found[-1] = cover.or_missing
    return found


def _keys(hierarchy: CompiledHierarchy, values: Sequence[str | None]) -> list[Any] | None:
    try:
        return hierarchy.sort_keys(values)
    except HierarchyError:  # an end that is no date
        return None


def _common_level(hierarchy: CompiledHierarchy, covered: BoolArray) -> int:
    """Return the lowest level that has one label for all the values."""
    return next(
        (level for level, codes in enumerate(hierarchy.maps) if (codes[covered] == codes[covered][0]).all()),
        hierarchy.height,
    )


def _width(hierarchy: CompiledHierarchy, cover: Cover, covered: BoolArray) -> int:
    """Return how many values of the domain lie between the first and the last that is covered, or are in a set."""
    positions = hierarchy.find_positions() if cover.is_range else None
    if positions is None:
        return int(covered.sum())
    is_missing = np.array([value is None for value in hierarchy.values])
    present = positions[covered & ~is_missing]
    between = int(present.max() - present.min()) + 1 if len(present) else 0
    return between + int((covered & is_missing).any())


def share_of_domain(leaves: IntArray, domain_size: int) -> FloatArray:
    """Return what cells lose by NCP under labels so many values wide."""
    return np.where(leaves > 1, leaves / max(1, domain_size), 0.0)


MOST_TOLD = 1 << 26
"""Groups times values, or tuples times eight groups, that are looked at together."""


def narrowest(covers: Sequence[BoolArray], codes: IntArray, values: IntArray, is_open: BoolArray) -> IntArray:
    """Return the first open group that covers each tuple in every column, -1 where none does.

    ``covers[column]`` tells which values each label covers, ``codes`` (columns, groups) has the label of each group,
    and ``values`` (columns, tuples) those of the tuples. Groups stand in the order in which they are preferred.
    """
    found = np.full(values.shape[1], -1, np.int64)
    groups = np.flatnonzero(is_open)
    step = max(8, MOST_TOLD // max(cover.shape[1] for cover in covers))
    for start in range(0, len(groups), step):
        own = groups[start : start + step]
        bits = [np.packbits(cover[code[own]].T, axis=1) for cover, code in zip(covers, codes, strict=True)]
        left = np.flatnonzero(found < 0)
        width = max(1, MOST_TOLD // bits[0].shape[1])
        for first in range(0, len(left), width):
            tuples = left[first : first + width]
            place = _first_of_all(bits, values[:, tuples])
            found[tuples] = np.where(place >= 0, own[np.maximum(place, 0)], -1)
    return found


def _first_of_all(bits: Sequence[Array], values: IntArray) -> IntArray:
    """Return the place of the first bit that the values of each tuple have in common, -1 where there is none."""
    common = bits[0][values[0]]
    for own, codes in zip(bits[1:], values[1:], strict=True):
        common &= own[codes]
    byte = (common != 0).argmax(axis=1)
    first = common[np.arange(len(common)), byte]
    bit = 7 - np.floor(np.log2(np.maximum(first, 1))).astype(np.int64)
    return np.where(first > 0, byte * 8 + bit, -1)


class Applied(AppliedOptions, Algorithm):
    """Gives rows the labels of the groups of another release, as ``recoding`` has them.

    A row goes to the narrowest group whose labels cover it in every column. A group that fails a model with the rows
    that came to it, is closed, the smallest first, and its rows go to the next group that covers them. The rows that no
    group takes form groups of their own under the lowest labels that cover them, as the policy's algorithm makes them,
    if it is a local one, or else Regroup. What cannot be grouped so is left out.

    Rows of the earlier release do not count: each group is safe by the rows at hand.
    """

    __slots__ = ()

    def run(self, task: Task, watch: Watch) -> LocalRecoding:
        """Return the recoding to the given groups, and to groups of those that fit none of them."""
        frequencies = task.frequencies
        given = _Given.of(task, saved_recoding(self.recoding))
        own = given.take(task)
        left = np.flatnonzero(own == SUPPRESSED)
        taken = np.flatnonzero(own != SUPPRESSED)
        anew = _group_anew(task, left, watch, given.kind)
        groups = np.where(anew.groups == SUPPRESSED, SUPPRESSED, anew.groups + given.number)
        pieces = Pieces(
            np.append(taken, anew.tuples),
            np.append(frequencies.entries.counts[taken], anew.rows),
            np.append(own[taken], groups),
        )
        recoding = given.recoding(frequencies, _only_safe(task, pieces))
        if recoding.suppressed_rows > task.budget or not recoding.released_rows:
            raise InfeasibleError(
                f"{recoding.suppressed_rows} of {frequencies.rows} rows fit no group of the recoding that is safe with "
                f"the rows at hand, and are too few for groups of their own; the policy allows {task.budget} "
                "suppressed rows: wait for more rows, allow more suppression, or make a new release"
            )
        return recoding


def saved_recoding(given: Any) -> SavedRecoding | None:
    """Return the recoding that an option gives, by itself or by the path of its file."""
    return given if given is None or isinstance(given, SavedRecoding) else SavedRecoding.read(given)


@dataclass(frozen=True, slots=True)
class _Given:
    """The groups of a saved recoding, the narrowest first, and what their labels cover in the table at hand."""

    covers: tuple[LabelSpans, ...]
    codes: IntArray
    """(columns, groups) the label of each group"""

    @classmethod
    def of(cls, task: Task, saved: SavedRecoding | None) -> _Given:
        """Read the labels of a recoding in the terms of a task; without one there are no groups."""
        frequencies = task.frequencies
        columns = frequencies.columns
        if saved is None or not saved.groups:
            none = [LabelSpans.of(frequencies, column, ()) for column in range(len(columns))]
            return cls(tuple(none), np.zeros((len(columns), 0), np.int64))
        if saved.labels is None or set(columns) != set(saved.labels):
            raise PolicyError(
                "recoding: it is of other columns than the search is asked about; give the policy of the release that "
                "it was made with, and leave out what makes a release keep to earlier ones"
            )
        found = cls(
            tuple(LabelSpans.of(frequencies, column, saved.labels[name]) for column, name in enumerate(columns)),
            np.array(saved.groups, np.int64).T[[saved.columns.index(name) for name in columns]],
        )
        if found.kind == "ranges" and any(task.policy.columns[name].demands_levels for name in task.policy.quasi):
            raise PolicyError("recoding: it has ranges or sets, which keep to no min_level or max_level")
        return replace(found, codes=found.codes[:, np.argsort(found._widths(frequencies), kind="stable")])

    @property
    def number(self) -> int:
        """How many groups there are."""
        return int(self.codes.shape[1])

    @property
    def kind(self) -> LabelKind:
        """Whether a label is a range or a set."""
        texts = (text for one in self.covers for text in one.labels.texts)
        return "ranges" if any(text is not None and read_label(text) is not None for text in texts) else "hierarchy"

    def _widths(self, frequencies: FrequencyList) -> FloatArray:
        """Return what a row loses in each group by NCP, each column by its weight."""
        widths = np.zeros(self.number)
        for column, (one, codes) in enumerate(zip(self.covers, self.codes, strict=True)):
            domain_size = frequencies.hierarchies[column].domain_size
            widths += frequencies.weights[column] * share_of_domain(one.labels.leaves[codes], domain_size)
        return widths

    def take(self, task: Task) -> IntArray:
        """Return the group of each entry, SUPPRESSED where no group that is safe covers it."""
        entries = task.frequencies.entries
        tuples = np.stack([task.frequencies.tuple_codes(column) for column in range(len(self.covers))])
        covers = [one.covers for one in self.covers]
        is_open = np.ones(self.number, np.bool_)
        found = narrowest(covers, self.codes, tuples, is_open)
        while True:
            groups = found[entries.tuples]
            closing = _smaller_half(Pieces(np.arange(len(entries)), entries.counts, groups), task)
            if not len(closing):
                return groups
            is_open[closing] = False
            lost = np.flatnonzero(np.isin(found, closing))
            found[lost] = narrowest(covers, self.codes, tuples[:, lost], is_open)

    def recoding(self, frequencies: FrequencyList, pieces: Pieces) -> LocalRecoding:
        """Return the recoding in which the first groups carry the given labels, others the lowest that cover them."""
        pieces, earlier = pieces.number_groups()
        is_new = earlier >= self.number
        anew = np.flatnonzero(pieces.is_released)
        anew = anew[is_new[pieces.groups[anew]]]
        places = (np.cumsum(is_new) - 1)[pieces.groups[anew]]
        labels: list[Labels] = []
        codes = np.zeros((len(self.covers), len(earlier)), np.int64)
        for column, one in enumerate(self.covers):
            lowest, own = lowest_labels(frequencies, column, pieces.tuples[anew], places, int(is_new.sum()), self.kind)
            codes[column, ~is_new] = self.codes[column, earlier[~is_new]]
            codes[column, is_new] = own + len(one.labels.texts)
            joined, codes[column] = join_labels(one.labels, lowest, codes[column])
            labels.append(joined)
        return LocalRecoding.of_labels(frequencies, pieces, tuple(labels), codes)


def _unsafe(task: Task, pieces: Pieces) -> IntArray:
    """Return the groups that fail a model, by the rows that are in any group."""
    frequencies = task.frequencies
    is_in = pieces.is_released
    left = np.bincount(pieces.tuples[is_in], pieces.rows[is_in], len(frequencies.entries))
    used, part_of = np.unique(pieces.groups[is_in], return_inverse=True)
    own = task.without(left == 0)
    return used[~own.safe_parts(pieces.tuples[is_in], pieces.rows[is_in], part_of.ravel(), len(used))]


def _smaller_half(pieces: Pieces, task: Task) -> IntArray:
    """Return the smaller half of the groups that fail a model: the rows of those may make the others safe."""
    failing = _unsafe(task, pieces)
    sizes = pieces.sizes(int(pieces.groups.max(initial=-1)) + 1)[failing]
    return failing[np.argsort(sizes, kind="stable")][: -(-len(failing) // 2)]


def _only_safe(task: Task, pieces: Pieces) -> Pieces:
    """Leave out groups that fail a model until none does: some models compare a group with all that is released."""
    while len(failing := _unsafe(task, pieces)):
        pieces = pieces.without_groups(np.isin(np.arange(int(pieces.groups.max()) + 1), failing))
    return pieces


def _group_anew(task: Task, left: IntArray, watch: Watch, kind: LabelKind) -> Pieces:
    """Return groups of the entries that are left, among themselves; SUPPRESSED where there is no such group."""
    frequencies = task.frequencies
    nothing = Pieces(left, frequencies.entries.counts[left], np.full(len(left), SUPPRESSED))
    if not len(left) or frequencies.base.populations:
        return nothing
    totals = {name: tally.totals for name, tally in frequencies.base.tallies.items()}
    asked = Task.of(_list_of(frequencies, left), replace(task.policy, max_suppression=1.0))
    asked = replace(asked, totals=totals, people_totals=frequencies.people_totals())
    algorithm = algorithm_of(task.policy)
    if algorithm.name == Applied.name or algorithm.label_kind != kind:
        algorithm = Regroup(labels=kind)
    try:
        pieces = algorithm.run(asked, watch).as_pieces()
    except InfeasibleError:
        return nothing
    return replace(pieces, tuples=left[pieces.tuples])


def _list_of(frequencies: FrequencyList, entries: IntArray) -> FrequencyList:
    """Return the list of some entries, in the same order."""
    own = frequencies.entries
    columns = range(len(frequencies.columns))
    made = FrequencyList.of_codes(
        frequencies.columns,
        frequencies.hierarchies,
        [frequencies.entry_codes(column)[entries] for column in columns],
        own.counts[entries],
        frequencies.weights,
        {name: (frequencies.sensitive.get(name), codes[entries]) for name, codes in own.codes.items()},
    )
    return replace(made, value_rows=tuple(frequencies.value_counts(column) for column in columns))
