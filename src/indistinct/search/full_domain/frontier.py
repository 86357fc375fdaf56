"""Frontier: one sweep over the lattice that answers for every k at once what a release would cost."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from indistinct.atomic_files import write_whole
from indistinct.counting import FrequencyList, IntArray, Node
from indistinct.errors import InterruptedSearchError, PolicyError
from indistinct.policy import suppression_in_rows
from indistinct.privacy import KAnonymity
from indistinct.progress import Watch
from indistinct.quality import QualityMeasure, measure_named
from indistinct.quality.measures import CellMeasure
from indistinct.recoding import FullDomainRecoding, LabelValues
from indistinct.search.full_domain.best_node.counters import Source, TupleCounter, is_plain
from indistinct.search.full_domain.best_node.incumbent import DIGITS
from indistinct.search.set_counts import SetCounts, steps_above
from indistinct.search.task import Task, with_level

DEFAULT_KS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000)
DEFAULT_MEASURES = ("precision", "loss", "discernibility")
LARGEST_SWEEP = 2_000_000
"""Nodes: a sweep visits every one of them."""
NOT_COUNTED = (
    "the time limit passed before every node was counted; give more time or none, or fewer quasi columns or levels"
)
MOST_SHOWN = 12
SHOWN_LIMITS = (0.0, 0.01, 0.05, 0.1)
"""The ks and the suppression limits that a notebook shows, at most."""


@dataclass(frozen=True, slots=True)
class Point:
    """One release that could be made: a node, a k, and what it costs."""

    k: int
    node: dict[str, int]
    suppressed: int
    measure: str
    value: float
    loss: float


@dataclass(frozen=True, eq=False)
class Frontier:
    """For every node and every k asked: the rows to suppress, and each measure's loss and figure."""

    columns: tuple[str, ...]
    rows: int
    ks: tuple[int, ...]
    nodes: NDArray[np.int16]
    """(nodes, columns), in lexicographic order."""
    suppressed: NDArray[np.int64]
    """(nodes, ks)"""
    losses: dict[str, NDArray[np.float64]] = field(repr=False)
    """Each measure's loss, (nodes, ks)."""
    values: dict[str, NDArray[np.float64]] = field(repr=False)
    """The figure that people quote, (nodes, ks)."""

    def best(self, k: int, max_suppression: float | int = 0, measure: str = "precision") -> Point | None:
        """Return the release of least loss for a k and a suppression limit, as ``anonymize`` finds it; None if none.

        Of equal ones it is the one with fewest suppressed rows, then fewest steps, then the first in order.
        """
        column = self._column(k)
        allowed = min(suppression_in_rows(max_suppression, self.rows), self.rows - 1)
        passing = np.flatnonzero(self.suppressed[:, column] <= allowed)
        if not len(passing):
            return None
        losses = np.round(self._losses(measure)[passing, column], DIGITS)
        order = np.lexsort((passing, self.nodes[passing].sum(axis=1), self.suppressed[passing, column], losses))
        return self._point(int(passing[order[0]]), column, measure)

    def curve(self, k: int, measure: str = "precision") -> list[Point]:
        """Return the trade-off at one k: every release that is better than all which suppress no more rows."""
        column = self._column(k)
        losses = np.round(self._losses(measure)[:, column], DIGITS)
        order = np.lexsort((self.nodes.sum(axis=1), losses, self.suppressed[:, column]))
        points, least = [], math.inf
        for position in order:
            if losses[position] < least and self.suppressed[position, column] < self.rows:
                least = float(losses[position])
                points.append(self._point(int(position), column, measure))
        return points

    def pareto(self, measure: str = "precision") -> list[Point]:
        """Return the releases that no other beats in k, suppressed rows and loss together."""
        points: list[Point] = []
        for k in sorted(self.ks, reverse=True):  # a point of a larger k can only be beaten by such
            for point in self.curve(k, measure):
                if not any(p.suppressed <= point.suppressed and p.loss <= point.loss for p in points):
                    points.append(point)
        return sorted(points, key=lambda point: (point.k, point.suppressed))

    def to_arrow(self) -> Any:
        """Return one row per node and k, with the levels, the rows to suppress and each measure's figure."""
        import pyarrow as pa

        nodes, ks = self.suppressed.shape
        data: dict[str, Any] = {
            f"level {name}": np.repeat(self.nodes[:, column], ks) for column, name in enumerate(self.columns)
        }
        data["k"] = np.tile(np.array(self.ks, np.int64), nodes)
        data["suppressed"] = self.suppressed.ravel()
        return pa.table(data | {name: values.ravel() for name, values in self.values.items()})

    def to_dict(self, limits: Sequence[float | int] = (0.0, 0.01, 0.02, 0.05, 0.1)) -> dict[str, Any]:
        """Return the best release for each k and limit, and the front of each measure, as JSON takes them."""

        def point_facts(point: Point) -> dict[str, Any]:
            return {"k": point.k, "node": point.node, "suppressed": point.suppressed, "value": point.value}

        measures = {}
        for measure in self.losses:
            best = [(limit, self.best(k, limit, measure)) for k in self.ks for limit in limits]
            measures[measure] = {
                "best": [{"max_suppression": limit} | point_facts(point) for limit, point in best if point is not None],
                "pareto": [point_facts(point) for point in self.pareto(measure)],
            }
        return {"rows": self.rows, "nodes": len(self.nodes), "ks": list(self.ks), "measures": measures}

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write every node and k as Parquet, or the best releases as JSON, by the path's ending."""
        goal = Path(path)
        if goal.suffix == ".json":
            write_whole(goal, json.dumps(self.to_dict(), indent=2) + "\n")
        elif goal.suffix == ".parquet":
            import pyarrow.parquet

            write_whole(goal, lambda draft: pyarrow.parquet.write_table(self.to_arrow(), draft))
        else:
            raise PolicyError(f"a frontier is written as .parquet or .json, not as {goal.suffix or 'a bare name'}")
        return goal

    def _repr_html_(self) -> str:
        """Return the best figures as a notebook shows them: k by suppression limit, for the first measure."""
        from indistinct.showing.notebook import card, table

        measure = next(iter(self.losses))
        shown = self.ks[:: -(-len(self.ks) // MOST_SHOWN)]
        rows = []
        for k in shown:
            points = [self.best(k, limit, measure) for limit in SHOWN_LIMITS]
            rows.append([k, *("–" if point is None else point.value for point in points)])
        limits = [f"{100 * limit:g} % left out" for limit in SHOWN_LIMITS]
        figures = {"rows": self.rows, "nodes": len(self.nodes), "ks": len(self.ks)}
        best = table(["k", *limits], rows, len(self.ks) - len(shown))
        return card("Frontier", f"best {measure}", figures, best)

    def _column(self, k: int) -> int:
        if k not in self.ks:
            raise PolicyError(f"k = {k} was not swept; ask for it: ks = [{k}, …]")
        return self.ks.index(k)

    def _losses(self, measure: str) -> NDArray[np.float64]:
        if measure not in self.losses:
            raise PolicyError(f"measure {measure!r} was not swept; ask for it: measures = [{measure!r}, …]")
        return self.losses[measure]

    def _point(self, position: int, column: int, measure: str) -> Point:
        node = dict(zip(self.columns, self.nodes[position].tolist(), strict=True))
        value, loss = self.values[measure][position, column], self.losses[measure][position, column]
        return Point(self.ks[column], node, int(self.suppressed[position, column]), measure, float(value), float(loss))


def sweep(
    task: Task, watch: Watch, ks: Sequence[int] | None = None, measures: Sequence[QualityMeasure | str] | None = None
) -> Frontier:
    """Count every node of the lattice once and work out what each k costs there.

    A node's groups by size hold the answers for all k: the rows of groups smaller than k must be suppressed. Where few
    columns are known, what goes follows for each k by itself, from counts by sets of columns that serve all nodes.
    """
    frequencies = task.frequencies
    by_sets = _asks_by_sets(task)
    if not by_sets and not TupleCounter.serves(task):
        raise PolicyError(_not_served(task))
    size = math.prod(_numbers_of_levels(frequencies))
    if size > LARGEST_SWEEP:
        raise PolicyError(f"the hierarchies span {size:,} nodes; a frontier sweeps at most {LARGEST_SWEEP:,}")
    chosen = tuple(sorted({k for k in (DEFAULT_KS if ks is None else ks) if ks is not None or k <= frequencies.rows}))
    if not chosen or any(type(k) is not int or k < 1 for k in chosen):
        raise PolicyError(f"ks must be whole numbers of at least 1, got {ks!r}")
    scales = [measure_named(measure) for measure in (DEFAULT_MEASURES if measures is None else measures)]
    swept = (_count_sets if by_sets else _count_nodes)(task, watch, np.array(chosen, np.int64), scales, size)
    nodes = np.concatenate(swept.node, axis=1).astype(np.int16)
    losses, values = {}, {}
    for scale in scales:
        if scale.asks_counts_only:
            losses[scale.name], values[scale.name] = swept.spread(scale.loss(swept)), swept.spread(scale.value(swept))
        else:
            losses[scale.name], values[scale.name] = _one_by_one(task, watch, chosen, scale, nodes)
    return Frontier(frequencies.columns, frequencies.rows, chosen, nodes, swept.suppressed_rows, losses, values)


def _one_by_one(
    task: Task, watch: Watch, ks: Sequence[int], scale: QualityMeasure, nodes: NDArray[np.int16]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the loss and the figure of every node and k by a measure that asks more than counts: it needs
    recodings.
    """
    losses, values = np.empty((len(nodes), len(ks))), np.empty((len(nodes), len(ks)))
    for place, node in enumerate(nodes.tolist()):
        watch.report(scale.name, place, len(nodes))
        if watch.time_is_up():
            raise InterruptedSearchError(NOT_COUNTED)
        groups, _ = task.frequencies.roll_up(tuple(node))
        crowds = groups.sizes_in_people()
        for column, k in enumerate(ks):
            is_suppressed = task.with_k(k).unsafe(groups) if _asks_by_sets(task) else crowds < k
            recoding = FullDomainRecoding(task.frequencies, groups, is_suppressed)
            losses[place, column], values[place, column] = scale.loss(recoding), scale.value(recoding)
    return losses, values


def _asks_by_sets(task: Task) -> bool:
    """Return whether k rows are asked for by every few columns, and nothing else."""
    is_one = len(task.models) == 1 and task.models[0].known is not None and len(task.requirements) > 1
    return is_one and task.asks_rows_only and SetCounts.serves(task.ks_by_columns(), task.frequencies.heights)


def _not_served(task: Task) -> str:
    """Say what of a policy a sweep cannot answer for: to leave it out silently would promise releases that are none."""
    others = sorted({model.name for model in task.models if not isinstance(model, KAnonymity)})
    if not others and any(model.known is not None for model in task.models):
        return "a frontier is drawn for known as the only model, in rows and with few sets of columns; use compare"
    if not others:
        return "a frontier is drawn for one quasi-identifier; ask for each with a policy of its own"
    return (
        f"a frontier counts k-anonymity only and cannot tell what {', '.join(others)} would cost; use compare, or a "
        "policy with k-anonymity alone"
    )


@dataclass(frozen=True)
class SweptOutcomes:
    """The outcomes of all nodes and ks together: what a measure asks for one, as arrays for all."""

    local: ClassVar[None] = None

    frequencies: FrequencyList
    node: Any
    """For each column the levels, (nodes, 1)."""
    rows: int
    suppressed_rows: Any
    """(nodes, ks), as all that follow."""
    suppressed_groups: Any
    suppressed_squares: Any
    released_groups: Any
    released_squares: Any
    kept: list[tuple[LabelValues, Any]]
    """What suppressed cells would have kept, for measures where labels of one level differ."""

    @classmethod
    def of(
        cls,
        frequencies: FrequencyList,
        nodes: IntArray,
        suppressed: tuple[Any, Any, Any],
        every: tuple[Any, Any],
        kept: list[tuple[LabelValues, Any]],
    ) -> SweptOutcomes:
        """Return the outcomes from rows, groups and squares of what is suppressed, and groups and squares of all."""
        rows, groups, squares = suppressed
        levels = [nodes[:, [column]] for column in range(nodes.shape[1])]
        released = every[0] - groups, every[1] - squares
        return cls(frequencies, levels, frequencies.rows, rows, groups, squares, *released, kept)

    def over_suppressed(self, values: LabelValues) -> Any:
        """Sum a number per label over all cells of suppressed rows."""
        for known, kept in self.kept:
            if known is values:
                return kept
        return self.suppressed_rows * sum(
            np.array([numbers[0] for numbers in levels])[level] for levels, level in zip(values, self.node, strict=True)
        )

    def spread(self, numbers: Any) -> NDArray[np.float64]:
        """Return numbers as an array of all nodes and ks, also if they depend on the node alone."""
        return np.ascontiguousarray(np.broadcast_to(numbers, self.suppressed_rows.shape), np.float64)


def _count_nodes(task: Task, watch: Watch, ks: IntArray, scales: Sequence[QualityMeasure], size: int) -> SweptOutcomes:
    """Count every node; one counter for each measure whose labels differ, since it sums over them."""
    frequencies = task.frequencies
    per_label = [scale.prepare(frequencies).per_label for scale in scales if isinstance(scale, CellMeasure)]
    uneven = [values for values in per_label if not is_plain(values)]
    asking = [s for s in scales if isinstance(s, CellMeasure) and not is_plain(s.prepare(frequencies).per_label)]
    largest = int(ks[-1])
    counters = [TupleCounter(task, scale, largest) for scale in asking] or [TupleCounter(task, None, largest)]
    shape = (size, len(ks))
    suppressed, groups, squares = np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape)
    kept = [np.zeros(shape) for _ in counters]
    all_groups, all_squares = np.empty((size, 1), np.int64), np.empty((size, 1))
    nodes = np.empty((size, len(frequencies.columns)), np.int64)
    strides, start = np.cumprod([1, *_numbers_of_levels(frequencies)[::-1]])[-2::-1], frequencies.start
    for done, (node, source) in enumerate(visit(counters[0], frequencies)):
        if done % 256 == 0:
            watch.report("sweep", done, size)
            if watch.time_is_up():
                raise InterruptedSearchError(NOT_COUNTED)
        at = int(sum([stride * (level - low) for stride, level, low in zip(strides, node, start, strict=True)]))
        nodes[at] = node
        for counter, into in zip(counters, kept, strict=True):
            all_groups[at], all_squares[at] = counter.tally_by_k(
                node, source, ks, (suppressed[at], groups[at], squares[at], into[at])
            )
    kept_by = list(zip(uneven, kept, strict=False))
    return SweptOutcomes.of(frequencies, nodes, (suppressed, groups, squares), (all_groups, all_squares), kept_by)


def _count_sets(task: Task, watch: Watch, ks: IntArray, scales: Sequence[QualityMeasure], size: int) -> SweptOutcomes:
    """Count every node by sets of columns. What goes for a k goes for all larger ones, so all may be gone soon."""
    frequencies = task.frequencies
    counts = [SetCounts.of_list(frequencies, task.with_k(k).ks_by_columns()) for k in ks.tolist()]
    per_label = [scale.prepare(frequencies).per_label for scale in scales if isinstance(scale, CellMeasure)]
    kept = [(values, np.zeros((size, len(ks)))) for values in per_label]
    suppressed, groups = np.empty((size, len(ks)), np.int64), np.zeros((size, len(ks)), np.int64)
    squares, all_groups, all_squares = np.zeros((size, len(ks))), np.empty((size, 1), np.int64), np.empty((size, 1))
    nodes = list(product(*(range(a, b + 1) for a, b in zip(frequencies.start, frequencies.heights, strict=True))))
    for at, node in enumerate(nodes):
        if at % 64 == 0:
            watch.report("sweep", at, size)
            if watch.time_is_up():
                raise InterruptedSearchError(NOT_COUNTED)
        found, group_of = frequencies.roll_up(node)
        squared = found.sizes.astype(np.float64) ** 2
        all_groups[at], all_squares[at] = len(found), squared.sum()
        gone, lost, steps = group_of[:0], 0, steps_above(node, frequencies.lowest)
        for column, own in enumerate(counts):
            if lost < frequencies.rows:
                gone, lost = own.taken_out(steps, frequencies.rows)
            out = np.unique(group_of[gone])
            suppressed[at, column], groups[at, column], squares[at, column] = lost, len(out), squared[out].sum()
            for values, into in kept:
                into[at, column] = own.sum_over(gone, steps, values, node)
    levels = np.array(nodes, np.int64).reshape(size, len(frequencies.columns))
    return SweptOutcomes.of(frequencies, levels, (suppressed, groups, squares), (all_groups, all_squares), kept)


def _numbers_of_levels(frequencies: FrequencyList) -> list[int]:
    """Return how many levels of each column may be released."""
    return [height - low + 1 for low, height in zip(frequencies.start, frequencies.heights, strict=True)]


def visit(
    counter: TupleCounter, frequencies: FrequencyList, levels: Sequence[Sequence[int]] | None = None
) -> Iterator[tuple[Node, Source]]:
    """Return every node with a short source: one column after the other climbs, those with most levels last.

    ``levels`` are those of each column that are wanted, in ascending order; all that may be released if not given.
    """
    climbed = [range(low, high + 1) for low, high in zip(frequencies.start, frequencies.heights, strict=True)]
    wanted = climbed if levels is None else levels
    order = sorted(range(len(wanted)), key=lambda column: frequencies.heights[column])

    def climb(position: int, source: Any) -> Iterator[tuple[Node, Source]]:
        column = order[position]
        for level in wanted[column]:
            if position == len(order) - 1:
                yield with_level(source.node, column, level), source
            else:
                source = counter.reduce_source(with_level(source.node, column, level), source)
                yield from climb(position + 1, source)

    yield from climb(0, counter.base)
