"""Column blocks: what the cells of some columns lose at the least, whatever becomes of the other columns.

A row that stands among too few by some columns alone stands among no more by all columns. So the rows that the columns
of a block alone would have suppressed are among those that a node suppresses, and the block's cells lose no less than
by these. Over blocks that share no column such losses add up to a bound for all nodes of an interval. Blocks are small
enough for each of their nodes to be counted once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.counting import FrequencyList, Node
from indistinct.privacy import KAnonymity
from indistinct.quality.measures import CellMeasure
from indistinct.search.full_domain.best_node.counters import Source, TupleCounter
from indistinct.search.task import Requirement, Task, with_level

MOST_SETS, MOST_JOINED_NODES = 70, 100_000
"""Two blocks are joined if they have no more sets of known columns than these, and no more nodes."""
ROUNDING = 1e-11
"""What a bound gives away, so that adding up in another order takes it above no loss."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """What the cells of some columns lose at each of their nodes at the least."""

    columns: tuple[int, ...]
    start: Node
    """The lowest level of each of its columns; arrays begin there."""
    losses: FloatArray
    """One axis a column: what they lose by the rows that they alone suppress; infinite if those are too many."""
    costs: FloatArray
    """What they lose with nothing suppressed."""
    kept: FloatArray
    """What one row more that is suppressed loses besides, at the least."""

    def least_loss(self, low: Node, high: Node, suppressed_rows: int) -> float:
        """Return what they lose at the least at any node of an interval in which at least so many rows are
        suppressed."""
        part = tuple(
            [slice(low[c] - start, high[c] - start + 1) for c, start in zip(self.columns, self.start, strict=True)]
        )
        least = self.losses[part]
        if suppressed_rows:
            least = np.maximum(least, self.costs[part] + suppressed_rows * self.kept[part])
        return float(least.min())


class ColumnBlocks:
    """Blocks that share no column, and the columns that are in none of them."""

    def __init__(self, blocks: Sequence[Block], level_losses: Sequence[Sequence[float]]) -> None:
        self.blocks = blocks
        within = {column for block in blocks for column in block.columns}
        self.others = [(column, own) for column, own in enumerate(level_losses) if column not in within]

    def least_loss(self, low: Node, high: Node, suppressed_rows: int) -> float:
        """Return a loss that no node of an interval gets below in which at least so many rows are suppressed.

        It is infinite if none of the nodes passes.
        """
        alone = sum([losses[low[column]] for column, losses in self.others])
        return alone + sum([block.least_loss(low, high, suppressed_rows) for block in self.blocks]) - ROUNDING


def serves(task: Task) -> bool:
    """Return whether blocks can be made for a task: one for which tuples are counted by rows."""
    return most_columns(task) > 0 and task.frequencies.base.people is None


def most_columns(task: Task) -> int:
    """Return how many columns a block may have: all of a single quasi-identifier, or as many as somebody may know.

    Where k rows are asked for by each set of so many columns, so they are by fewer. Blocks of other sets are not made.
    """
    if TupleCounter.serves(task):
        return len(task.frequencies.columns)
    if not task.asks_rows_only or task.policy.links_rows:
        return 0
    sets = task.ks_by_columns()
    known = min(map(len, sets))
    is_each = len(sets) == math.comb(len(task.frequencies.columns), known) and max(map(len, sets)) == known
    return known if is_each else 0


def block_of(task: Task, measure: CellMeasure, budget: int, columns: Sequence[int]) -> Iterator[Block | None]:
    """Count the nodes of a block one by one; yield None after each, and the block when all are counted."""
    part = only_columns(task, columns)
    whole = measure.prepare(task.frequencies).whole
    block = _empty_block(part, measure, whole, columns)
    start, losses = block.start, block.losses
    counter = TupleCounter(part, measure)
    for node, suppressed_rows, own_loss in _passing_nodes(counter, start, part.frequencies.heights, budget):
        if suppressed_rows <= budget:
            at = tuple(level - least for level, least in zip(node, start, strict=True))
            losses[at] = block.costs[at] + own_loss / whole
        yield None
    yield block


def make_blocks(
    task: Task, measure: CellMeasure, budget: int, parts: Sequence[Sequence[int]]
) -> Iterator[list[Block] | None]:
    """Make the block of each part, then join every two of them; yield all blocks whenever one is made, else None.

    Blocks are joined where somebody may know only so many columns. A node of the columns of both passes only if it does
    by each set of so many of them. So few pass, and they lose more than both blocks by themselves at the least.
    """
    made: list[Block] = []
    for part in parts:
        for block in block_of(task, measure, budget, part):
            made = made if block is None else [*made, block]
            yield None if block is None else made
    for one, other in zip(made[::2], made[1::2], strict=False):
        for joined in _join(task, measure, budget, (one, other)):
            made = made if joined is None else [*(block for block in made if block not in (one, other)), joined]
            yield None if joined is None else made


def _join(task: Task, measure: CellMeasure, budget: int, blocks: tuple[Block, Block]) -> Iterator[Block | None]:
    """Count what all sets of known columns of two blocks need; yield None after each node, and the joined block."""
    columns, known = (*blocks[0].columns, *blocks[1].columns), most_columns(task)
    nodes = blocks[0].losses.size * blocks[1].losses.size
    if len(columns) <= known or math.comb(len(columns), known) > MOST_SETS or nodes > MOST_JOINED_NODES:
        return
    counted = {block.columns: block for block in blocks}
    for own in combinations(columns, known):
        for block in block_of(task, measure, budget, own) if own not in counted else ():
            if block is not None:
                counted[own] = block
            yield None
    whole = measure.prepare(task.frequencies).whole
    joined = _empty_block(only_columns(task, columns), measure, whole, columns)
    losses = joined.costs
    for block in counted.values():  # the rows that a set suppresses lose at least what they have in its columns
        axis = [size if column in block.columns else 1 for column, size in zip(columns, losses.shape, strict=True)]
        losses = np.maximum(losses, joined.costs + (block.losses - block.costs).reshape(axis))
    yield replace(joined, losses=losses)


def _empty_block(part: Task, measure: CellMeasure, whole: float, columns: Sequence[int]) -> Block:
    """Return the block of some columns, of which no node is known to pass."""
    frequencies, retained = part.frequencies, measure.prepare(part.frequencies)
    start, high = frequencies.start, frequencies.heights
    shape = [most - least + 1 for least, most in zip(start, high, strict=True)]
    costs, kept = np.zeros(shape), np.zeros(shape)
    for column, (own, least) in enumerate(zip(retained.level_losses, start, strict=True)):
        axis = [1] * len(shape)
        axis[column] = -1
        costs = costs + (own[least:] * retained.whole / whole).reshape(axis)
        lowest = np.array(
            [float(labels.min()) if len(labels) else 0.0 for labels in retained.per_label[column][least:]]
        )
        kept = kept + (lowest / whole).reshape(axis)
    return Block(tuple(columns), start, np.full(shape, math.inf), costs, kept)


def _passing_nodes(counter: TupleCounter, start: Node, high: Node, budget: int) -> Iterator[tuple[Node, int, float]]:
    """Count every node that passes, and some that do not: rows suppressed, and what those would have kept.

    Columns go down from the top one after the other, those with most levels last. Where a node fails all below fail.
    """
    order = sorted(range(len(high)), key=lambda column: high[column] - start[column])

    def go_down(position: int, node: Node, source: Source) -> Iterator[tuple[Node, int, float]]:
        column = order[position]
        for level in range(high[column], start[column] - 1, -1):
            at = with_level(node, column, level)
            if level < high[column] or position == 0:
                outcome = counter.outcome(at, source)
                yield at, outcome.suppressed_rows, outcome.over_suppressed(())
                if outcome.suppressed_rows > budget:
                    return
            if position + 1 < len(order):
                below = with_level(source.node, column, level)
                yield from go_down(position + 1, at, counter.reduce_source(below, source))

    yield from go_down(0, high, counter.base)


def only_columns(task: Task, columns: Sequence[int]) -> Task:
    """Return the task of some columns alone."""
    frequencies = task.frequencies
    codes = np.stack([frequencies.tuple_codes(column) for column in columns])
    order = np.lexsort(codes)
    codes = codes[:, order]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (codes[:, 1:] != codes[:, :-1]).any(axis=0)
    counts = np.add.reduceat(frequencies.base.sizes[order], np.flatnonzero(is_new))
    part = FrequencyList.of_codes(
        [frequencies.columns[column] for column in columns],
        [frequencies.hierarchies[column] for column in columns],
        list(codes[:, is_new]),
        counts,
        [frequencies.weights[column] for column in columns],
        node=tuple(frequencies.lowest[column] for column in columns),
    )
    rows = tuple(frequencies.value_rows[column] for column in columns) if frequencies.value_rows else ()
    part = replace(part, value_rows=rows, has_absent=frequencies.has_absent)
    models = task.requirements[0].models
    if not TupleCounter.serves(task):  # by each set of columns k rows are asked for, and so they are by these
        models = (KAnonymity(min(task.ks_by_columns().values())),)
    requirement = Requirement(tuple(range(len(columns))), models)
    return replace(task, frequencies=part, requirements=(requirement,))


def divide(numbers: Sequence[int], most_nodes: int, most_columns: int | None = None) -> list[list[int]]:
    """Put columns with so many levels each into as few blocks of about equally many nodes as stay below a number.

    >>> divide([5, 2, 3, 4], 20)
    [[0, 1], [3, 2]]
    """
    order = sorted(range(len(numbers)), key=lambda column: -numbers[column])
    widest = len(numbers) if most_columns is None else most_columns
    for blocks in range(-(-len(numbers) // max(1, widest)), len(numbers) + 1):
        parts: list[list[int]] = [[] for _ in range(blocks)]
        nodes = [1] * blocks
        for column in order:
            smallest = min((block for block in range(blocks) if len(parts[block]) < widest), key=nodes.__getitem__)
            parts[smallest].append(column)
            nodes[smallest] *= numbers[column]
        if max(nodes) <= most_nodes or blocks == len(numbers):
            return parts
    return []
