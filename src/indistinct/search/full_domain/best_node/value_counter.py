"""ValueCounter: counts nodes where models ask about sensitive values; they are rolled up beside the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.counting import FrequencyList, IntArray, Node, Tally, UIntArray
from indistinct.privacy import KAnonymity, PrivacyModel
from indistinct.privacy.kernels import value_bounds, value_counts, value_tables
from indistinct.privacy.kernels.rule_kinds import FIRST_OF_TABLE, KINDS
from indistinct.privacy.model import ValueRule
from indistinct.quality import QualityMeasure
from indistinct.recoding import Outcome
from indistinct.search.full_domain.best_node.counters import NodeCounts, Source, TupleCounter
from indistinct.search.full_domain.best_node.kernels import node_counts as counting
from indistinct.search.task import Task

MOST_CODES, MOST_CELLS = 64, 1 << 21
"""Groups are judged in a table of their values up to so many codes, and cells: 8 MB. Others entry by entry."""


@dataclass(frozen=True, slots=True)
class Aspect:
    """A sensitive column under some codes, such as its ranks, and the rules on it."""

    rules: FloatArray
    """(rules, 3): kind, number, second."""
    limits: FloatArray
    """(rules, codes)."""
    totals: IntArray
    """(codes + 1,): the rows of each code in the whole table, and at the end all rows."""
    entries: tuple[Any, Any, Any]
    """Of each tuple in the list: where they start, their codes, their rows."""

    @classmethod
    def of(cls, frequencies: FrequencyList, column: str, rules: Sequence[ValueRule], dtype: Any) -> Aspect:
        """Tally a column by the codes that the rules share."""
        tally = frequencies.base.tallies[column]
        number, coded = len(tally.texts), tally
        if rules[0].codes is not None:
            codes = rules[0].codes_of(number)
            ways, number = len(codes), int(codes.max(initial=-1)) + 1
            groups, counts = np.tile(tally.groups, ways), np.tile(tally.counts, ways)
            coded = Tally.of(groups, codes[:, tally.values].ravel(), counts, [None] * number)
        limits = np.ones((len(rules), number))
        for place, rule in enumerate(rules):
            if rule.limits is not None:
                limits[place] = rule.limits
        starts = np.zeros(len(frequencies.base) + 1, np.int64)
        np.cumsum(np.bincount(coded.groups, minlength=len(frequencies.base)), out=starts[1:])
        return cls(
            np.array([(KINDS[rule.kind], rule.number, rule.second) for rule in rules], np.float64),
            limits,
            np.append(coded.totals, frequencies.rows),
            (starts, coded.values.astype(np.int32), coded.counts.astype(dtype)),
        )

    @property
    def asks_table(self) -> bool:
        """Some rule compares groups with the table."""
        return bool((self.rules[:, 0] >= FIRST_OF_TABLE).any())

    @property
    def asks_groups(self) -> bool:
        """Some rule judges groups alone."""
        return bool((self.rules[:, 0] < FIRST_OF_TABLE).any())


@dataclass(frozen=True, slots=True)
class ValuedTuples:
    """One tuple for each group at a node, the group's rows, and how often it has each value."""

    entries: ClassVar[None] = None
    """Nobody has several rows."""

    node: Node
    keys: UIntArray
    sizes: Any
    values: tuple[tuple[Any, Any, Any], ...]
    """The entries of each aspect."""


@dataclass(frozen=True, slots=True)
class _AtNode:
    """The groups at a node, for each aspect, without those that have too few rows."""

    node: Node
    source: Any
    chunks: IntArray
    places: int
    small_rows: int
    groups: list[Any]


class ValueCounter(TupleCounter):
    """Counts groups for models whose rules compiled code can judge, on one quasi-identifier and in rows."""

    def __init__(self, task: Task, measure: QualityMeasure | None, at_most: int | None = None) -> None:
        super().__init__(task, measure)
        dtype = self._work[2].dtype
        self.aspects = [Aspect.of(task.frequencies, *one, dtype) for one in rules_by_codes(task)]
        base: Any = self.base
        self.base = ValuedTuples(base.node, base.keys, base.sizes, tuple(aspect.entries for aspect in self.aspects))
        self.at_most = self._rows if at_most is None else at_most
        tuples, codes = len(base.sizes), max(aspect.limits.shape[1] for aspect in self.aspects)
        sizes = self._most_places, tuples, tuples, max(1, codes)
        self._scratch = tuple(np.empty(size, np.int32) for size in sizes)
        self._at: _AtNode | None = None
        self.judging, self.begins = _beside_each_other(self.aspects)
        width, groups = self.judging[1].shape[1], min(tuples, self._rows // self.k)
        self._in_cells: value_tables.CellScratch | None = None
        if width <= MOST_CODES and groups * width <= MOST_CELLS:
            cells, is_gone = np.empty((groups, width), dtype), np.empty(groups, np.bool_)
            self._in_cells = value_tables.CellScratch(self._scratch[0], cells, is_gone, np.zeros(1, np.int64))

    @staticmethod
    def serves(task: Task) -> bool:
        """Return whether a task asks for k-anonymity and rules that compiled code judges, in rows, on all columns."""
        return (
            len(task.requirements) == 1
            and len(task.requirements[0].columns) == len(task.frequencies.columns)
            and not task.policy.links_rows
            and has_rules(task)
        )

    def outcome(self, node: Node, source: Any) -> Outcome:
        """Return the numbers of a node."""
        return self.outcome_within(node, source, self.at_most)

    def outcome_within(self, node: Node, source: Any, most: int) -> Outcome:
        """Return the numbers of a node; if more than ``most`` rows are suppressed, only so much is right about it."""
        if self._in_cells is not None and not self._is_at(node, source):
            return self._judge_in_cells(node, source, most, self._in_cells)
        at = self._groups_at(node, source, most)
        if at.small_rows > most:
            return NodeCounts(self.frequencies, node, self._rows, at.small_rows, 0.0)
        is_gone = np.zeros(len(at.groups[0][0]), np.bool_)
        rows = at.small_rows + self.find_unsafe(at.groups, most - at.small_rows, is_gone)
        if rows > most:
            return NodeCounts(self.frequencies, node, self._rows, rows, 0.0)
        return self._count_lost(at, rows, is_gone.astype(np.float64))

    def _judge_in_cells(self, node: Node, source: Any, most: int, work: value_tables.CellScratch) -> Outcome:
        """Judge groups by a table of their values, which is not kept."""
        self._at = None
        chunks, places = self._locate_tuples(node, source)
        limits = places, self._rows, self.k, most
        *_, place_of, sizes, _ = self._work
        rows = 0
        for begin, values in zip(self.begins, source.values, strict=True):
            span = begin, begin == self.begins[-1]
            rows = int(
                value_tables.judge_values(
                    values, place_of[: len(source.sizes)], sizes, limits, self.judging, span, work
                )
            )
        if rows > most:
            return NodeCounts(self.frequencies, node, self._rows, rows, 0.0)
        at = _AtNode(node, source, chunks, places, 0, [])
        return self._count_lost(at, rows, work.is_gone[: int(work.number[0])].astype(np.float64))

    def least_outcome(self, node: Node, source: Any, most: int) -> Outcome:
        """Return numbers that neither the node nor any below it gets below, if it suppresses at most ``most`` rows.

        If these are more than that, only so much is right about it.
        """
        at = self._groups_at(node, source, most)
        found = [self._least_lost(*pair, most) for pair in zip(self.aspects, at.groups, strict=False)]
        lost, rows = found[0] if found else (np.zeros(0, np.int64), at.small_rows)
        if len(found) > 1:
            lost = np.maximum.reduce([own for own, _ in found])
            rows = at.small_rows + int(lost.sum())
        if rows > most:
            return NodeCounts(self.frequencies, node, self._rows, rows, 0.0)
        if self._wants_tally:  # parts of groups are no groups
            is_gone = lost == at.groups[0][0]
            return self._count_lost(at, at.small_rows + int(lost[is_gone].sum()), is_gone.astype(np.float64))
        return self._count_lost(at, rows, lost / at.groups[0][0])

    def reduce_source(self, node: Node, source: Any) -> Source:
        """Return one tuple for each group at a node, with the values of the group."""
        if source.node == node:
            return source  # type: ignore[no-any-return]
        self._at = None
        _, places = self._locate_tuples(node, source)
        merged = [self._merge_values(values, places, 1) for values in source.values]
        keys, sizes = counting.merge(source.keys, places, self._work)
        return ValuedTuples(node, keys, sizes, tuple((starts, *values) for _, _, starts, *values in merged))

    def _groups_at(self, node: Node, source: Any, most: int) -> _AtNode:
        """Return the groups at a node; none of them if those that are too small have more than ``most`` rows."""
        at = self._at
        if at is None or not self._is_at(node, source) or (not at.groups and at.small_rows <= most):
            chunks, places = self._locate_tuples(node, source)
            sizes = self._work[2]
            small = int(counting.rows_in_small(sizes, sizes, places, self.k))
            groups = [] if small > most else [self._merge_values(one, places, self.k) for one in source.values]
            self._at = at = _AtNode(node, source, chunks, places, small, groups)
        return at

    def _is_at(self, node: Node, source: Any) -> bool:
        """Return whether the groups at a node were merged just now."""
        return self._at is not None and self._at.node == node and self._at.source is source

    def _merge_values(self, values: Any, places: int, least: int) -> Any:
        return value_counts.merge_values(values, self._work[1], self._work[2], places, least, self._scratch)

    def find_unsafe(self, groups: Sequence[Any], most: int, is_gone: Any) -> int:
        """Mark the groups that must be suppressed, and return their rows, or more than ``most``."""
        rows = 0
        for aspect, own in zip(self.aspects, groups, strict=True):
            if aspect.asks_groups:
                rows = value_counts.find_unsafe(own, aspect.rules, aspect.limits, most, is_gone, value_counts.ALONE)
        asking = [pair for pair in zip(self.aspects, groups, strict=True) if pair[0].asks_table]
        if len(asking) == 1:
            ((aspect, own),) = asking
            return int(
                value_counts.find_unsafe(own, aspect.rules, aspect.limits, most, is_gone, value_counts.UNTIL_NONE)
            )
        before = -1
        while asking and before < rows <= most:  # all are compared with the same table
            before = rows
            fails = [is_gone.copy() for _ in asking]
            for (aspect, own), found in zip(asking, fails, strict=True):
                value_counts.find_unsafe(own, aspect.rules, aspect.limits, most, found, value_counts.ONCE)
            is_gone |= np.logical_or.reduce(fails)
            rows = int(groups[0][0][is_gone].sum())
        return int(rows)

    def _least_lost(self, aspect: Aspect, groups: Any, most: int) -> tuple[IntArray, int]:
        lost, rows = value_bounds.least_lost(
            groups, len(groups[0]), aspect.rules, aspect.limits, aspect.totals, most, self.k
        )
        return lost, int(rows)

    def _count_lost(self, at: _AtNode, rows: int, lost: FloatArray) -> Outcome:
        """Return what a measure asks, where these shares of the groups are suppressed and all of smaller ones."""
        if not self._wants_tally and (self._values is None or self._is_plain or not rows):
            kept = 0.0
            if self._values is not None:
                kept = rows * sum(
                    [float(levels[level][0]) for levels, level in zip(self._values, at.node, strict=True)]
                )
            return NodeCounts(self.frequencies, at.node, self._rows, rows, kept)
        _, place_of, sizes, _ = self._work
        lost_at = np.append(lost, 1.0)[self._scratch[0][: at.places]]  # groups that are too small are number -1
        if self._wants_tally:
            is_released = (lost_at == 0).astype(np.int32)
            return NodeCounts(
                self.frequencies, at.node, self._rows, rows, 0.0, *counting.tally(sizes, is_released, at.places, 1)
            )
        source = at.source
        kept = value_counts.sum_over_lost(source.keys, source.sizes, at.chunks, self._numbers, place_of, lost_at)
        return NodeCounts(self.frequencies, at.node, self._rows, rows, kept)


def _beside_each_other(aspects: Sequence[Aspect]) -> tuple[tuple[FloatArray, FloatArray], list[int]]:
    """Return rules and limits of all aspects as ``value_tables`` takes them, and where the cells of each begin."""
    ends = np.cumsum([1, *(aspect.limits.shape[1] for aspect in aspects)]).tolist()
    rules: list[tuple[float, ...]] = []
    limits = np.ones((sum(len(aspect.rules) for aspect in aspects), ends[-1]))
    for aspect, begin, end in zip(aspects, ends, ends[1:], strict=False):
        limits[len(rules) : len(rules) + len(aspect.rules), begin:end] = aspect.limits
        rules += [(*rule, begin, end) for rule in aspect.rules.tolist()]
    return (np.array(rules, np.float64), limits), ends[:-1]


def has_rules(task: Task) -> bool:
    """Return whether models ask about sensitive values, and all can be judged by compiled code, counted in rows."""
    return (
        not task.counts_people
        and any(model.asks_sensitive for model in task.models)
        and all(_asks_rows_alone(model) or rules_of(task, model) for model in task.models)
    )


def _asks_rows_alone(model: PrivacyModel) -> bool:
    """Return whether a model is k-anonymity, and none that was derived from it and judges otherwise."""
    return isinstance(model, KAnonymity) and type(model).satisfied is KAnonymity.satisfied


def _speaks_for_itself(model: PrivacyModel) -> bool:
    """Return whether a model's rule is as young as its verdict: a class that changes the latter changes both."""
    kinds = type(model).__mro__
    places = [
        next(place for place, kind in enumerate(kinds) if name in vars(kind)) for name in ("value_rule", "satisfied")
    ]
    return places[0] <= places[1]


def rules_of(task: Task, model: PrivacyModel) -> list[tuple[str, ValueRule]] | None:
    """Return the rule that a model has for each column that it asks about; None if it has none for one of them."""
    if not _speaks_for_itself(model):
        return None
    columns = task.frequencies.sensitive
    found = [
        (name, model.value_rule(column.values, column.hierarchy))
        for name, column in columns.items()
        if model.asks_sensitive and model.column in (None, name)
    ]
    rules = [(name, rule) for name, rule in found if rule is not None]
    return rules if rules and len(rules) == len(found) else None


def rules_by_codes(task: Task) -> list[tuple[str, list[ValueRule]]]:
    """Return the rules on each column, those that count it under the same codes together."""
    sorted_out: dict[tuple[str, bytes], list[ValueRule]] = {}
    for model in task.models:
        for name, rule in rules_of(task, model) or []:
            codes = b"" if rule.codes is None else rule.codes.tobytes()
            sorted_out.setdefault((name, codes), []).append(rule)
    return [(name, rules) for (name, _), rules in sorted_out.items()]
