"""Top-down local recoding: start with one class at the top of every hierarchy, and specialise as long as it is safe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import FrequencyList, IntArray
from indistinct.policy.algorithms import TopDownOptions
from indistinct.progress import Watch
from indistinct.recoding import SUPPRESSED, LocalRecoding, Pieces
from indistinct.recoding.recoding import Labels
from indistinct.search.local.groups.partition import WithinBlocks, blocks_of, stay_safe
from indistinct.search.local.return_rows import Cases, Kinds, PullingBack, number_pairs, sums
from indistinct.search.task import Task


class TopDown(TopDownOptions, WithinBlocks):
    """Wong's top-down local recoding, for every privacy model: quick, always safe, not always the least distorted.

    All rows start in one class with the top label in every column. In a class every column is tried one level down:
    its rows divide into children by the label below. Children that fail a model are *unspecialised*: their rows fall
    back to the class. If the remainder, all that is back there, fails, further rows are pulled back until it holds.
    The column that leaves most rows specialised is taken, of equals the one with fewest children, then the first in
    the policy. The children are classes of their own and go on; the remainder stays as it is.

    Which rows to pull back the papers leave open. Here rows are told apart by their *kind*, their values in the
    sensitive columns that models ask about. Until the remainder is safe,

    1. a child gives rows of the kind that is rarest in the remainder. A kind is as frequent as the most frequent of
       its values; where a model compares with the whole table, relative to that. Of equals it is the child and kind
       with most rows, then the first by label and value.
    2. It gives one row; more, if many are missing to k or the remainder is large (see PullingBack). A child that would
       become unsafe gives half as many, and if it cannot spare one, no more of that kind.
    3. When no child can spare a row, the smallest falls back as a whole. When none is left, the column is given up.

    Of one kind the rows of the tuples with fewest rows go first: they are the hardest to specialise further.

    Classes carry the labels at which they stopped. With ``tighten`` they carry the lowest labels that cover their
    rows, which changes remainders only, and which the papers do not do.

    Source: Wong et al. 2007, Algorithm 1; the choice among several columns is that of Wong et al. 2006.
    """

    __slots__ = ()

    def run(self, task: Task, watch: Watch) -> LocalRecoding:
        """Return the classes at which specialisation ends."""
        frequencies = task.frequencies
        trees = [_Tree.of(frequencies, column) for column in range(len(frequencies.columns))]
        block_of, blocks = blocks_of(task)
        task = task.without(block_of == SUPPRESSED)
        kinds = Kinds.of(task)
        classes = _Classes.of_blocks(frequencies, block_of, blocks)
        finished: list[_Classes] = []
        rows_done, is_cut = 0, False
        while len(classes):
            classes = classes.at_lowest_levels(trees)
            if watch.time_is_up():
                finished.append(classes)
                is_cut = True
                break
            done, classes = _specialise_classes(task, kinds, trees, classes)
            finished.append(done)
            rows_done += int(done.rows.sum())
            watch.report("search", rows_done, frequencies.rows)
        found = _Classes.all_of(finished)
        is_out = block_of == SUPPRESSED
        pieces = Pieces(
            np.concatenate([found.entries, np.flatnonzero(is_out)]),
            np.concatenate([found.rows, frequencies.entries.counts[is_out]]),
            np.concatenate([found.class_of, block_of[is_out]]),
        )
        labels, codes = _labels(frequencies, trees, found.at_lowest_levels(trees) if self.tighten else found)
        recoding = stay_safe(task, LocalRecoding.of_labels(frequencies, pieces, labels, codes), "hierarchy")
        return replace(recoding, is_cut_short=is_cut)


@dataclass(frozen=True, slots=True)
class _Tree:
    """One column: its values in an order in which every label covers a run of neighbours."""

    ranks: IntArray
    """The rank of each entry's value."""
    labels: IntArray
    """(levels, values) the code of each rank's label at each level."""

    @classmethod
    def of(cls, frequencies: FrequencyList, column: int) -> Self:
        maps = frequencies.hierarchies[column].maps
        order = np.lexsort(maps)  # by the top level first
        return cls(np.argsort(order)[frequencies.entry_codes(column)], np.stack(maps)[:, order])


@dataclass(frozen=True, slots=True)
class _Classes:
    """Classes of rows, each with a level in every column. A piece is so many rows of an entry in a class.

    ``entries``, ``rows``, ``class_of``  (pieces,) sorted by class
    ``levels``  (columns, classes)
    """

    entries: IntArray
    rows: IntArray
    class_of: IntArray
    levels: IntArray

    @classmethod
    def of_blocks(cls, frequencies: FrequencyList, block_of: IntArray, blocks: int) -> Self:
        """Return one class at the top for each block."""
        order = np.argsort(block_of, kind="stable")
        entries = order[int((block_of == SUPPRESSED).sum()) :]
        levels = np.repeat(np.array(frequencies.heights, np.int64)[:, None], blocks, axis=1)
        return cls(entries, frequencies.entries.counts[entries], block_of[entries], levels)

    @classmethod
    def all_of(cls, several: list[_Classes]) -> Self:
        """Return the classes of all, numbered on."""
        starts = np.cumsum([0, *(len(classes) for classes in several)])
        return cls(
            np.concatenate([classes.entries for classes in several]),
            np.concatenate([classes.rows for classes in several]),
            np.concatenate([c.class_of + start for c, start in zip(several, starts[:-1].tolist(), strict=True)]),
            np.concatenate([classes.levels for classes in several], axis=1),
        )

    def __len__(self) -> int:
        return int(self.levels.shape[1])

    @property
    def sizes(self) -> IntArray:
        """The rows of each class."""
        return sums(self.class_of, self.rows, len(self))

    @property
    def firsts(self) -> IntArray:
        """Where the rows of each class start."""
        return np.searchsorted(self.class_of, np.arange(len(self)))

    def with_rows(self, rows: IntArray) -> _Classes:
        """The same classes with so many rows of each piece; those without any are left out."""
        stays = rows > 0
        numbers, class_of = np.unique(self.class_of[stays], return_inverse=True)
        return _Classes(self.entries[stays], rows[stays], class_of, self.levels[:, numbers])

    def only(self, is_kept: BoolArray) -> _Classes:
        """Some of the classes."""
        return self.with_rows(np.where(is_kept[self.class_of], self.rows, 0))

    def children(self, columns: IntArray, labels: IntArray, rows: IntArray) -> _Classes:
        """Return the classes into which so many rows of each piece divide by their label one level down a column."""
        goes_on = np.flatnonzero(rows)
        parent_of, child_of, _ = number_pairs(self.class_of[goes_on], labels[goes_on])
        order = np.argsort(child_of, kind="stable")
        goes_on = goes_on[order]
        levels = self.levels[:, parent_of]
        levels[columns[parent_of], np.arange(len(parent_of))] -= 1
        return _Classes(self.entries[goes_on], rows[goes_on], child_of[order], levels)

    def at_lowest_levels(self, trees: list[_Tree]) -> _Classes:
        """The same classes, every column at the lowest level that has one label for all rows of a class.

        A column in which all rows of a class share the label below is specialised before any other: no row falls
        back, and there is one child only.
        """
        levels, firsts = self.levels.copy(), self.firsts
        for column, tree in enumerate(trees):
            ranks = tree.ranks[self.entries]
            low, high = np.minimum.reduceat(ranks, firsts), np.maximum.reduceat(ranks, firsts)
            for level in range(len(tree.labels) - 1, -1, -1):
                labels = tree.labels[level]
                levels[column, (levels[column] > level) & (labels[low] == labels[high])] = level
        return _Classes(self.entries, self.rows, self.class_of, levels)


def _specialise_classes(task: Task, kinds: Kinds, trees: list[_Tree], classes: _Classes) -> tuple[_Classes, _Classes]:
    """Specialise every class in its best column: give the classes that are done with, and the children."""
    may_split = (classes.sizes >= 2 * task.largest_k()) & (classes.levels > 0).any(axis=0)
    done, classes = classes.only(~may_split), classes.only(may_split)
    if not len(classes):
        return done, classes
    trial = _Trial.of(task, trees, classes)
    columns = trial.best_columns(task, kinds)
    is_split = trial.kept[columns, np.arange(len(classes))] > 0
    pieces = columns[classes.class_of], np.arange(len(classes.rows))
    back = np.where(is_split[classes.class_of], trial.back[pieces], classes.rows)
    children = classes.children(columns, trial.child[pieces], classes.rows - back)
    return _Classes.all_of([done, classes.with_rows(back)]), children


@dataclass(frozen=True, slots=True)
class _Trial:
    """What becomes of each class when each column is specialised; the arrays change as rows are pulled back."""

    classes: _Classes
    child: IntArray
    """(columns, pieces) the label one level down."""
    back: IntArray
    """(columns, pieces) the rows that fall back."""
    kept: IntArray
    """(columns, classes) the rows that stay specialised, 0 if the column is given up; where it is not settled, no more
    than that will stay."""
    branches: IntArray
    """(columns, classes) the children that stay."""
    is_settled: BoolArray
    """(columns, classes) the remainder is safe; otherwise further rows must be pulled back."""

    @classmethod
    def of(cls, task: Task, trees: list[_Tree], classes: _Classes) -> Self:
        """Unspecialise the children that fail a model, in every column."""
        tried = [_try_column(task, tree, classes, levels) for tree, levels in zip(trees, classes.levels, strict=True)]
        child, back, kept, branches, is_settled = (np.stack(arrays) for arrays in zip(*tried, strict=True))
        return cls(classes, child, back, kept, branches, is_settled.astype(np.bool_))

    def best_columns(self, task: Task, kinds: Kinds) -> IntArray:
        """Return the column of each class that leaves most rows specialised, and pull rows back where that decides."""
        each = np.arange(len(self.classes))
        more_than_branches = int(self.branches.max()) + 1
        while True:
            rank = self.kept * more_than_branches - np.where(self.is_settled, self.branches, 0)
            best: IntArray = rank.argmax(axis=0)
            is_open = ~self.is_settled[best, each]
            if not is_open.any():
                return best
            self._settle(task, kinds, np.flatnonzero(is_open), best[is_open])

    def _settle(self, task: Task, kinds: Kinds, numbers: IntArray, columns: IntArray) -> None:
        """Pull rows back in the classes of these numbers, each specialised in one column."""
        classes = self.classes
        case_of_class = np.full(len(classes), -1)
        case_of_class[numbers] = np.arange(len(numbers))
        pieces = np.flatnonzero(case_of_class[classes.class_of] >= 0)
        case_of = case_of_class[classes.class_of[pieces]]
        here = columns[case_of], pieces
        cases = Cases(case_of, classes.entries[pieces], classes.rows[pieces], self.child[here], self.back[here] > 0)
        to_beat = np.where(self.is_settled, self.kept, 0).max(axis=0)
        pulling = PullingBack(task, kinds, cases)
        pulling.run(to_beat[numbers])
        self.back[here] = pulling.back()
        self.kept[columns, numbers] = pulling.kept
        self.branches[columns, numbers] = pulling.branches()
        self.is_settled[columns, numbers] = True


def _try_column(task: Task, tree: _Tree, classes: _Classes, levels: IntArray) -> tuple[IntArray, ...]:
    """Specialise all classes in one column: give the five arrays of a trial."""
    class_of, entries, rows = classes.class_of, classes.entries, classes.rows
    number, sizes, k = len(classes), classes.sizes, task.largest_k()
    child = tree.labels[np.maximum(levels - 1, 0)[class_of], tree.ranks[entries]]
    parent_of, part_of, _ = number_pairs(class_of, child)
    is_safe = task.safe_parts(entries, rows, part_of, len(parent_of))
    back = np.where(is_safe[part_of], 0, rows)
    branches = sums(parent_of, is_safe.astype(np.int64), number)
    kept = np.where(levels > 0, sizes - sums(class_of, back, number), 0)
    asked = (back > 0) & (kept > 0)[class_of]
    has_remainder = sums(class_of[asked], rows[asked], number) > 0
    fails = has_remainder & ~task.safe_parts(entries[asked], rows[asked], class_of[asked], number)
    # a remainder that fails takes at least one row more, and remainder and children have k rows each
    at_most = np.minimum(kept - 1, sizes - k)
    kept = np.where(fails, np.where(at_most < k, 0, at_most), kept)
    return child, back, kept, branches, ~fails | (kept == 0)


def _labels(frequencies: FrequencyList, trees: list[_Tree], classes: _Classes) -> tuple[tuple[Labels, ...], IntArray]:
    """Return the labels of each column that classes carry, and which one each class carries.

    Where labels of two levels read the same nobody can tell them apart: it is the one that covers more, then the lower.
    """
    examples = classes.entries[classes.firsts]
    found, codes = [], np.zeros(classes.levels.shape, np.int64)
    for column, tree in enumerate(trees):
        levels = classes.levels[column]
        all_labels = [Labels.at_level(frequencies, column, level) for level in range(len(tree.labels))]
        of_level, carried, of_code = number_pairs(levels, tree.labels[levels, tree.ranks[examples]])
        used = [(all_labels[level], code) for level, code in zip(of_level.tolist(), of_code.tolist(), strict=True)]
        texts = [labels.texts[code] for labels, code in used]
        leaves, rows = (np.array([getattr(labels, n)[code] for labels, code in used]) for n in ("leaves", "rows"))
        widest: dict[str | None, int] = {}
        for place in np.lexsort((of_level, -leaves)).tolist():
            widest.setdefault(texts[place], place)
        codes[column] = np.array([widest[text] for text in texts])[carried]
        found.append(Labels(tuple(texts), of_level, leaves, rows))
    return tuple(found), codes
