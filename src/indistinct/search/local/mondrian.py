"""Mondrian: cut the rows into ever smaller groups, one column at a time, for as long as all parts are safe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from indistinct.array_types import BoolArray
from indistinct.counting import IntArray
from indistinct.hierarchy import CompiledHierarchy
from indistinct.policy.algorithms import LabelKind, MondrianOptions, PredictionTarget
from indistinct.privacy import KAnonymity
from indistinct.progress import Watch
from indistinct.recoding import SUPPRESSED, LocalRecoding, Pieces
from indistinct.search.local.aligned_profiles import Aligning
from indistinct.search.local.groups.partition import blocks_of, stay_safe
from indistinct.search.local.kernels import cut_scores, cutting
from indistinct.search.local.kernels.target_scores import ListedCuts, TargetSums, score_for_target
from indistinct.search.target_of_rows import TargetOfRows
from indistinct.search.task import Task


class Mondrian(MondrianOptions, Aligning):
    """Multidimensional partitioning: for any privacy model, a million rows in seconds, no promise about the optimum.

    All rows are one group at first. A group is cut in one column if every part satisfies all models; the parts are cut
    again, until no group has such a cut. ``labels`` says what the cells of a group carry: the lowest label of the
    hierarchy over its values, or a range of numbers or dates, and of other values a set. These cuts are tried:

    - children: where labels come from a hierarchy, one part for each child of the group's label. Children that are not
      safe by themselves stay together, under the label that the group had.
    - halves: at the median, or rather at the boundary between two values that is nearest to it. Sets are halved in the
      depth-first order of their hierarchy, and a missing value stands last. Halves under a hierarchy's label mostly
      keep that label, so they gain only what other columns do.
    - one value: the most frequent one, and all others; only with ``"loss"``.

    ``choose`` says which cut comes first. ``"widest"`` is the paper's heuristic: a cut of the column whose label covers
    the largest share of its domain, times the column's weight. ``"loss"`` takes the cut that lowers the mean NCP of
    the group's cells, in all columns, most for each bit that tells its parts apart; groups of k rows leave only so
    many bits. Of equal ones the first in the policy's order of columns comes first. If a model refuses a cut, the
    next one is tried; those that gain nothing come last.

    ``strict`` keeps rows with equal values together. Relaxed, a group that allows no other cut is also halved by
    dividing the rows of its median value: the loss is never above that of the strict answer.

    ``target`` names a sensitive column that others will want to predict, see ``PredictionTarget``. Cuts that tell
    something of it come first: the one that saves most entropy of its classes, or most squared distance of its numbers
    from their mean. A cut tells something if it saves more bits than it takes to name a row of the table, log2 of the
    rows; others follow chance. Ranges and sets are then cut between any two neighbours, sets in the order of the
    target's mean. The search is not blind: it looks at that column.

    With ``random_raise`` chance raises some labels, so that none can be sharpened: about so many times as many as are
    generalized, which loses about that much more.

    With k-anonymity alone no boundary in any column of a group is left to cut at. This partitioning is minimal: with d
    columns no group has more than 2d(k - 1) + m rows, m being the most that are equal in all columns; relaxed, no group
    with two different rows has 2k. Groups that come to carry the same labels are then one group of the release.

    All models are demanded of each group over all quasi columns, which is more than several quasi-identifiers need.
    Rows are suppressed only where a column is never generalized and too few share their value. A time limit ends the
    cutting early: what is there by then is safe.

    Source: LeFevre, DeWitt and Ramakrishnan 2006 (ICDE) for strict and relaxed partitioning, median, widest column and
    bounds; the same 2006 (KDD) for cuts by hierarchy and other choices. Children that stay together, cuts of one value
    and gains for a bit are our own.
    """

    __slots__ = ()

    def group(self, task: Task, watch: Watch) -> LocalRecoding:
        """Return the groups of the cuts with their lowest labels; the time limit leaves those that are cut so far."""
        cut = self.cut(task, watch)
        recoding = stay_safe(task, LocalRecoding.of_pieces(task.frequencies, cut.pieces, self.labels), self.labels)
        return replace(recoding, is_cut_short=cut.is_cut_short)

    def cut(self, task: Task, watch: Watch) -> CutRows:
        """Return the rows of each part that is cut no further."""
        frequencies = task.frequencies
        block_of, blocks = blocks_of(task)
        task = task.without(block_of == SUPPRESSED)
        named = PredictionTarget.of(self.target)
        target = None if named is None else TargetOfRows.of(task, named)
        axes, ranks = _axes(task, self.labels, target)
        rules = cut_scores.CutRules(task.largest_k(), self.choose == "loss", not self.strict)
        uncut = _Parts.of_blocks(block_of, blocks, frequencies.entries.counts, ranks)
        if target is not None:
            target.new_blocks(blocks)
        final: list[_Parts] = []
        while len(uncut) and not watch.time_is_up():
            watch.report("search", sum(len(parts.rows) for parts in final), len(block_of))
            uncut, finished = _cut_all(task, uncut, axes, rules, target)
            final.append(finished)
        groups = _join_parts([*final, uncut])
        suppressed = np.flatnonzero(block_of == SUPPRESSED)
        pieces = Pieces(
            np.append(groups.entries, suppressed),
            np.append(groups.rows, frequencies.entries.counts[suppressed]),
            np.append(groups.numbers, np.full(len(suppressed), SUPPRESSED)),
        )
        own_blocks = np.full(len(block_of), SUPPRESSED)
        if target is not None:
            own_blocks[groups.entries] = np.unique(groups.blocks, return_inverse=True)[1].ravel()[groups.numbers]
        return CutRows(pieces, len(uncut) > 0, own_blocks)


@dataclass(frozen=True, slots=True)
class CutRows:
    """The rows of the parts that Mondrian made."""

    pieces: Pieces
    is_cut_short: bool
    """The time limit came before all cuts were made."""
    block_of: IntArray
    """With a target, the block of each entry: within a block no cut tells anything of the target."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """Groups that lie one after the other: their pieces, each so many rows of an entry of the frequency list."""

    entries: IntArray
    rows: IntArray
    ranks: NDArray[np.int32]
    """(columns, pieces)"""
    starts: IntArray
    """Where the pieces of each group start, and where the last one's end."""
    blocks: IntArray
    """The block of each group: cuts that tell something of a target make new ones."""

    @classmethod
    def of_blocks(cls, block_of: IntArray, blocks: int, counts: IntArray, ranks: NDArray[np.int32]) -> _Parts:
        """Return each block as one group; what is in none is left out."""
        entries = np.arange(len(block_of))
        released = entries[block_of != SUPPRESSED]
        whole = cls(entries, counts, ranks, np.array([0, len(entries)]), np.zeros(1, np.int64))
        return whole.cut_to(released, counts[released], block_of[released], np.arange(blocks))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def numbers(self) -> IntArray:
        """The number of each piece's group."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def cut_to(self, source: IntArray, rows: IntArray, parts: IntArray, blocks: IntArray) -> _Parts:
        """Return groups of these blocks, made of these rows of these pieces."""
        order, starts = cutting.arrange(parts, len(blocks))
        source = source[order]
        return _Parts(self.entries[source], rows[order], np.take(self.ranks, source, axis=1), starts, blocks)

    def only(self, is_chosen: BoolArray) -> _Parts:
        """Return some of the groups."""
        lengths = np.diff(self.starts)
        pieces = np.flatnonzero(np.repeat(is_chosen, lengths))
        starts = np.append(0, np.cumsum(lengths[is_chosen]))
        ranks = np.take(self.ranks, pieces, axis=1)
        return _Parts(self.entries[pieces], self.rows[pieces], ranks, starts, self.blocks[is_chosen])


def _join_parts(several: Sequence[_Parts]) -> _Parts:
    lengths = np.concatenate([np.diff(parts.starts) for parts in several])
    return _Parts(
        np.concatenate([parts.entries for parts in several]),
        np.concatenate([parts.rows for parts in several]),
        np.concatenate([parts.ranks for parts in several], axis=1),
        np.append(0, np.cumsum(lengths)),
        np.concatenate([parts.blocks for parts in several]),
    )


def _cut_all(
    task: Task,
    parts: _Parts,
    axes: cutting.Axes,
    rules: cut_scores.CutRules,
    target: TargetOfRows | None,
) -> tuple[_Parts, _Parts]:
    """Cut every group once, by the first of its cuts that is safe; return the new groups, and those that stay.

    Cuts that tell something of a target come first.
    """
    listed = ListedCuts(*cut_scores.find_cuts(parts.ranks, parts.rows, parts.starts, axes, rules))
    if target is None:
        made, stays = _cut_by(listed, task, parts, axes, None)
        return made, parts.only(stays)
    sums = TargetSums(target.sums(parts.entries, parts.rows), target.is_number, target.least_bits)
    telling = score_for_target(parts.ranks, parts.rows, parts.starts, sums, axes, rules.least, listed)
    made, stays = _cut_by(telling, task, parts, axes, target)
    made = replace(made, blocks=target.new_blocks(len(made)))
    others = parts.only(stays)
    rest = ListedCuts(listed.scores[stays], listed.spans[stays])
    made_by_width, stays = _cut_by(rest, task, others, axes, target)
    return _join_parts([made, made_by_width]), others.only(stays)


def _cut_by(
    listed: ListedCuts, task: Task, parts: _Parts, axes: cutting.Axes, target: TargetOfRows | None
) -> tuple[_Parts, BoolArray]:
    """Cut groups by the best of some cuts that is allowed; return the new groups, and which groups stay."""
    scores = np.round(listed.scores, 9)  # if they differ by rounding only, the first column's cut is tried
    stays = np.ones(len(parts), np.bool_)
    made = [parts.only(~stays)]
    groups = np.arange(len(parts))
    alike = None if target is None else target.alike(parts.entries, parts.rows, parts.numbers, len(parts))
    while len(groups):
        places = scores[groups].argmax(axis=1)
        has_cut = scores[groups, places] > cut_scores.NONE
        groups, places = groups[has_cut], places[has_cut]
        if not len(groups):
            break
        cuts = cutting.Cuts(groups, places, listed.spans[groups, places])
        source, rows, part_of, first = cutting.cut(parts.ranks, parts.rows, parts.starts, axes, cuts)
        part_of, cut_of, is_allowed = _unite_unsafe_parts(task, parts.entries[source], rows, part_of, first)
        if target is not None and alike is not None:
            own = target.alike(parts.entries[source], rows, part_of, len(cut_of))
            after = np.bincount(cut_of, own, len(groups)).astype(np.int64)
            is_allowed = target.affords(after, alike[groups], is_allowed)
        taken = is_allowed[cut_of[part_of]]
        source, rows, part_of = source[taken], rows[taken], part_of[taken]
        exists = np.bincount(part_of, minlength=len(cut_of)) > 0
        blocks = parts.blocks[groups[cut_of[exists]]]
        made.append(parts.cut_to(source, rows, (np.cumsum(exists) - 1)[part_of], blocks))
        stays[groups[is_allowed]] = False
        groups, places = groups[~is_allowed], places[~is_allowed]
        scores[groups, places] = cut_scores.NONE
    return _join_parts(made), stays


def _unite_unsafe_parts(
    task: Task, entries: IntArray, rows: IntArray, part_of: IntArray, first: IntArray
) -> tuple[IntArray, IntArray, BoolArray]:
    """Unite the unsafe parts of a cut; return the part of each piece, each part's cut, and which cuts are allowed.

    Where parts are united, the first of them stands for all.
    """
    cuts, number = len(first) - 1, int(first[-1])
    cut_of = np.repeat(np.arange(cuts), np.diff(first))
    is_safe = _safe(task, entries, rows, part_of, number)
    if is_safe.all():
        return part_of, cut_of, np.ones(cuts, np.bool_)
    unsafe = np.flatnonzero(~is_safe)
    united = np.full(cuts, number)
    np.minimum.at(united, cut_of[unsafe], unsafe)
    goes_to = np.arange(number)
    goes_to[unsafe] = united[cut_of[unsafe]]
    part_of, stands = goes_to[part_of], goes_to == np.arange(number)
    is_safe = _safe(task, entries, rows, part_of, number)
    failing, standing = np.bincount(cut_of, stands & ~is_safe, cuts), np.bincount(cut_of, stands, cuts)
    return part_of, cut_of, (failing == 0) & (standing > 1)


def _safe(task: Task, entries: IntArray, rows: IntArray, part_of: IntArray, number: int) -> BoolArray:
    """Return which parts satisfy every model; that they have k rows is certain, as no other cuts are listed."""
    if not task.counts_people and all(type(model) is KAnonymity for model in task.models):
        return np.ones(number, np.bool_)
    return task.safe_parts(entries, rows, part_of, number)


def _axes(task: Task, labels: LabelKind, target: TargetOfRows | None) -> tuple[cutting.Axes, NDArray[np.int32]]:
    """Lay out the columns, and return the rank of every entry in each; a target gives sets their order."""
    frequencies = task.frequencies
    columns = [_Axis.of(hierarchy, labels) for hierarchy in frequencies.hierarchies]
    if target is not None:
        columns = [
            replace(one, ranks=_inverse(np.argsort(target.mean_of_values(task, number), kind="stable")))
            if one.kind == cutting.SET
            else one
            for number, one in enumerate(columns)
        ]
    lengths = [len(column.labels) for column in columns]
    domains = np.array([hierarchy.domain_size for hierarchy in frequencies.hierarchies])
    weights = np.array(frequencies.weights) / max(frequencies.weights)  # only their relation counts
    axes = cutting.Axes(
        kinds=np.array([column.kind for column in columns], np.int64),
        sizes=np.array([len(column.ranks) for column in columns], np.int64),
        offsets=(np.cumsum(lengths) - lengths).astype(np.int64),
        labels=np.concatenate([column.labels for column in columns]),
        leaves=np.concatenate([column.leaves for column in columns]),
        slopes=weights / domains,
        missing=np.array([column.missing for column in columns], np.int64),
    )
    ranks = [column.ranks[frequencies.entry_codes(number)] for number, column in enumerate(columns)]
    return axes, np.stack(ranks)


@dataclass(frozen=True, slots=True)
class _Axis:
    """One column of the axes."""

    kind: int
    ranks: NDArray[np.int32]
    """The rank of each value code."""
    labels: IntArray
    leaves: IntArray
    missing: int = -1

    @classmethod
    def of(cls, hierarchy: CompiledHierarchy, labels: LabelKind) -> _Axis:
        positions = hierarchy.find_positions()
        if labels == "ranges" and hierarchy.height and positions is not None:
            order = np.argsort(positions, kind="stable")
            missing = len(order) - 1 if None in hierarchy.values else -1
            return cls(cutting.RANGE, _inverse(order), positions[order], np.zeros(len(order), np.int64), missing)
        order = _depth_first(hierarchy, positions)
        kind = cutting.SET if labels == "ranges" and hierarchy.height else cutting.LABEL
        codes = [codes[order] for codes in hierarchy.maps]
        leaves = [leaves[own] for leaves, own in zip(hierarchy.leaves, codes, strict=True)]
        return cls(kind, _inverse(order), np.concatenate(codes), np.concatenate(leaves))


def _depth_first(hierarchy: CompiledHierarchy, positions: IntArray | None) -> IntArray:
    """Return the values in an order in which every label covers a run; children in the order of their first values."""
    positions = np.arange(len(hierarchy.values)) if positions is None else positions
    keys = []
    for codes, labels in zip(hierarchy.maps, hierarchy.labels, strict=True):
        first = np.full(len(labels), len(positions) + hierarchy.domain_size)
        np.minimum.at(first, codes, positions)
        keys.append(first[codes])
    return np.lexsort(keys)


def _inverse(order: IntArray) -> NDArray[np.int32]:
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order))
    return ranks
