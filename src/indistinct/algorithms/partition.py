"""What local algorithms share: blocks that no label joins, and the way from a grouping of rows to a recoding.

A local algorithm only has to group the tuples of a space into groups of k rows or more. Here its groups are made safe
for every other model, by merging, and get their labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from indistinct.algorithms.base import Task
from indistinct.algorithms.space import Space
from indistinct.errors import InfeasibleError
from indistinct.frequency import IntArray
from indistinct.quality.base import within_unit
from indistinct.quality.cells import CellMeasure
from indistinct.recoding import SUPPRESSED, LabelKind, LocalRecoding, Pieces
from indistinct.watch import Watch


@dataclass(frozen=True, slots=True)
class Partition:
    """Rows in groups, and what is proven about what they cost."""

    pieces: Pieces
    cost: float
    bound: float
    """No grouping costs less."""
    is_proven: bool


Grouping = Callable[[Space, int, Watch], Pieces | Partition]
"""Groups the tuples of a space into groups of at least so many rows."""


def blocks_of(task: Task) -> tuple[IntArray, int]:
    """Give the block of each tuple, SUPPRESSED for those that cannot be released, and the number of blocks.

    Tuples that differ in a column which is never generalized can share no group. A block that fails even as one group
    must be suppressed; if that is more than the policy allows, there is no answer.
    """
    frequencies = task.frequencies
    entries = frequencies.entries
    fixed = [
        column
        for column, hierarchy in enumerate(frequencies.hierarchies)
        if hierarchy.height == 0 and len(hierarchy.values) > 1
    ]
    if fixed:
        codes = np.stack([frequencies.entry_codes(column) for column in fixed])
        _, block_of = np.unique(codes, axis=1, return_inverse=True)
        block_of = block_of.ravel().astype(np.int64)
    else:
        block_of = np.zeros(len(entries), np.int64)
    number = int(block_of.max(initial=-1)) + 1
    is_safe = task.safe_parts(np.arange(len(entries)), entries.counts, block_of, number)
    lost = int(entries.counts[~is_safe[block_of]].sum())
    if lost > task.budget or lost == frequencies.rows:
        if not fixed:
            raise task.infeasible(task.budget)
        names = ", ".join(repr(frequencies.columns[column]) for column in fixed)
        raise InfeasibleError(
            f"{names} {'is' if len(fixed) == 1 else 'are'} never generalized, and {lost} of {frequencies.rows} rows "
            f"have values there that too few share; the policy allows {task.budget} suppressed rows: allow more, "
            f"or give {'it a hierarchy' if len(fixed) == 1 else 'them hierarchies'}"
        )
    new_numbers = np.where(is_safe, np.cumsum(is_safe) - 1, SUPPRESSED)
    return new_numbers[block_of], int(is_safe.sum())


def partitioned(task: Task, watch: Watch, measure: CellMeasure, labels: LabelKind, group: Grouping) -> LocalRecoding:
    """Group the tuples of each block, make the groups safe for every model, and give them their labels."""
    frequencies = task.frequencies
    space = Space.of(frequencies, measure, labels)
    block_of, blocks = blocks_of(task)
    order = np.argsort(block_of, kind="stable")
    starts = np.searchsorted(block_of[order], np.arange(blocks + 1))
    parts = [_suppressed(order[: starts[0]], frequencies.entries.counts)]
    groups, bound, is_proven = 0, 0.0, True
    for block in range(blocks):
        tuples = order[starts[block] : starts[block + 1]]
        found = group(space.only(tuples), task.largest_k(), watch)
        pieces = found.pieces if isinstance(found, Partition) else found
        if isinstance(found, Partition):
            bound += found.bound
            is_proven &= found.is_proven
        parts.append(Pieces(tuples[pieces.tuples], pieces.rows, pieces.groups + groups))
        groups += int(pieces.groups.max(initial=-1)) + 1
    pieces = _joined(parts)
    safe = made_safe(task, space, block_of, pieces, groups)
    recoding = LocalRecoding.of_pieces(frequencies, safe, labels, is_proven=is_proven and safe is pieces)
    if recoding.is_proven or bound == 0.0:
        return recoding
    least = within_unit(1.0 - (space.whole_row * recoding.released_rows - bound) / measure.prepared(frequencies).whole)
    return recoding.with_gap(max(0.0, measure.loss(recoding) - least))


def _suppressed(tuples: IntArray, sizes: IntArray) -> Pieces:
    return Pieces(tuples, sizes[tuples], np.full(len(tuples), SUPPRESSED))


def _joined(parts: list[Pieces]) -> Pieces:
    return Pieces(
        np.concatenate([part.tuples for part in parts]),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.groups for part in parts]),
    )


def made_safe(task: Task, space: Space, block_of: IntArray, pieces: Pieces, groups: int) -> Pieces:
    """Merge groups that fail a model with the group of their block that costs least to join, until none fails.

    A whole block is safe, so this ends.
    """
    is_released = pieces.groups != SUPPRESSED
    tuples, rows = pieces.tuples[is_released], pieces.rows[is_released]
    group_of = pieces.groups[is_released]
    is_safe = task.safe_parts(tuples, rows, group_of, groups)
    if is_safe.all():
        return pieces
    block = np.zeros(groups, np.int64)
    block[group_of] = block_of[tuples]
    low, high = _ends(space, tuples, group_of, groups)
    sizes = np.bincount(group_of, rows, groups)
    merged_into = np.arange(groups)
    costs = space.run_costs(low, high)
    while not is_safe.all():
        failing = np.flatnonzero(~is_safe)
        group = failing[np.lexsort((failing, sizes[failing]))[0]]
        others = np.flatnonzero((block == block[group]) & (merged_into == np.arange(groups)))
        others = others[others != group]
        joined_low, joined_high = np.minimum(low[others], low[group]), np.maximum(high[others], high[group])
        joined = space.run_costs(joined_low, joined_high)
        added = (sizes[others] + sizes[group]) * joined - sizes[others] * costs[others]
        chosen = int(others[np.argmin(added)])
        low[chosen], high[chosen] = np.minimum(low[chosen], low[group]), np.maximum(high[chosen], high[group])
        sizes[chosen] += sizes[group]
        costs[chosen] = space.run_costs(low[chosen][None], high[chosen][None])[0]
        merged_into[merged_into == group] = chosen
        is_safe[group] = True  # it is no group any more
        members = merged_into[group_of] == chosen
        is_safe[chosen] = task.safe_parts(tuples[members], rows[members], np.zeros(int(members.sum()), np.int64), 1)[0]
    new_groups = pieces.groups.copy()
    new_groups[is_released] = merged_into[group_of]
    return Pieces(pieces.tuples, pieces.rows, new_groups)


def _ends(space: Space, tuples: IntArray, group_of: IntArray, groups: int) -> tuple[IntArray, IntArray]:
    """Give the lowest and the highest rank of each group in each column."""
    ranks = space.ranks[tuples].astype(np.int64)
    low = np.full((groups, ranks.shape[1]), np.iinfo(np.int64).max)
    high = np.full((groups, ranks.shape[1]), -1)
    np.minimum.at(low, group_of, ranks)
    np.maximum.at(high, group_of, ranks)
    return low, high
