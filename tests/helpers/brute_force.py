"""Oracles: k-anonymity by its definitions, in plain Python, and random tables to compare the package with.

The oracles share no code with the package: rows are tuples, hierarchies are a dictionary from a value to its labels,
groups are Counters, and the whole lattice is walked. Only the last section says a case in the package's terms.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, product
from math import floor, log2
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import indistinct as ix
from indistinct.counting import FrequencyList
from indistinct.search import Task

Value = str | None
Node = tuple[int, ...]
Row = tuple[Value, ...]


@dataclass(frozen=True)
class Column:
    """A quasi column: the rows of its hierarchy as ``levels`` takes them, None for one that is never generalized."""

    name: str
    listed: tuple[tuple[Value, ...], ...] | None
    top: str | None = None
    weight: float = 1.0

    def path(self, value: Value) -> tuple[Value, ...]:
        """Return the labels of a value at every level, the value first."""
        if self.listed is None:
            return (value,)
        above = () if self.top is None else (self.top,)
        for row in self.listed:
            if row[0] == value:
                return row + above
        assert value is None, "a value that the hierarchy lacks"
        width = len(self.listed[0])
        return (None,) * width + above if above else (None,) * (width - 1) + self.listed[0][-1:]

    @property
    def height(self) -> int:
        return 0 if self.listed is None else len(self.listed[0]) - 1 + (self.top is not None)

    def domain(self, present: Sequence[Value]) -> list[Value]:
        """Return the ground values: what the hierarchy lists and what the table holds."""
        listed = [] if self.listed is None else [row[0] for row in self.listed]
        return list(dict.fromkeys([*listed, *present]))


@dataclass(frozen=True)
class Case:
    """A table of quasi columns, and what its release must satisfy."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    k: int
    budget: int | float | None = None
    quasi_identifiers: tuple[tuple[int, ...], ...] | None = None
    persons: tuple[str, ...] | None = None
    """Whose row each is; None if every row is of somebody else."""

    def crowd(self, numbers: Collection[int]) -> int:
        """Return the number of people who have these rows."""
        return len(numbers) if self.persons is None else len({self.persons[number] for number in numbers})

    @property
    def heights(self) -> Node:
        return tuple(column.height for column in self.columns)

    @property
    def allowed(self) -> int:
        """The rows that may be suppressed."""
        if self.budget is None:
            return 0
        if isinstance(self.budget, float):
            return floor(Fraction(str(self.budget)) * len(self.rows))
        return min(self.budget, len(self.rows))

    def nodes(self) -> Iterator[Node]:
        return product(*(range(height + 1) for height in self.heights))


@dataclass(frozen=True)
class Outcome:
    """What happens to a table at a node: each row's labels, and which rows are suppressed."""

    case: Case
    node: Node
    rows: tuple[Row, ...]
    suppressed: frozenset[int]

    @property
    def released(self) -> list[Row]:
        return [row for number, row in enumerate(self.rows) if number not in self.suppressed]

    @property
    def passes(self) -> bool:
        """No more rows are suppressed than allowed, and something is released."""
        return len(self.suppressed) <= self.case.allowed and len(self.suppressed) < len(self.rows)


def generalized(case: Case, node: Node) -> tuple[Row, ...]:
    """Return every row with its labels at a node."""
    return tuple(
        tuple(column.path(cell)[level] for column, cell, level in zip(case.columns, row, node, strict=True))
        for row in case.rows
    )


def failing(case: Case, rows: Sequence[Row], kept: Sequence[int]) -> set[int]:
    """Return the kept rows whose cells in some quasi-identifier are those of fewer than k people."""
    found: set[int] = set()
    for quasi_identifier in case.quasi_identifiers or (tuple(range(len(case.columns))),):
        shared = defaultdict(set)
        for number in kept:
            shared[tuple(rows[number][column] for column in quasi_identifier)].add(number)
        found |= {number for numbers in shared.values() if case.crowd(numbers) < case.k for number in numbers}
    return found


def outcome(case: Case, node: Node) -> Outcome:
    """Take failing rows out until none fails."""
    rows = generalized(case, node)
    kept = list(range(len(rows)))
    while out := failing(case, rows, kept):
        kept = [number for number in kept if number not in out]
    return Outcome(case, node, rows, frozenset(range(len(rows))) - frozenset(kept))


def least_suppression_by_subsets(case: Case, node: Node) -> int:
    """Try every set of rows that could be kept; only for tiny tables."""
    rows = generalized(case, node)
    numbers = range(len(rows))
    subsets = chain.from_iterable(combinations(numbers, size) for size in reversed(range(len(rows) + 1)))
    return len(rows) - len(next(kept for kept in subsets if not failing(case, rows, kept)))


def passing(case: Case) -> dict[Node, Outcome]:
    """Return every node at which the table can be released."""
    found = (outcome(case, node) for node in case.nodes())
    return {one.node: one for one in found if one.passes}


def minimal(nodes: Sequence[Node]) -> set[Node]:
    """Return the nodes that have no other below them."""
    return {
        node
        for node in nodes
        if not any(other != node and all(a <= b for a, b in zip(other, node, strict=True)) for other in nodes)
    }


# Measures, each by its definition: the figure that people quote, and whether more of it is better.


def _cells(one: Outcome, lost: Callable[[Column, Value, int], float]) -> float:
    """Average over all cells what each has lost, by the columns' weights; a suppressed cell has lost all."""
    total = whole = 0.0
    for number, row in enumerate(one.case.rows):
        for column, cell, level in zip(one.case.columns, row, one.node, strict=True):
            whole += column.weight
            total += column.weight * (1.0 if number in one.suppressed else lost(column, cell, level))
    return total / whole


def _leaves(one: Outcome, column: Column, cell: Value, level: int) -> tuple[int, int]:
    """Return the ground values under a cell's label, and in all."""
    position = one.case.columns.index(column)
    domain = column.domain([row[position] for row in one.case.rows])
    label = column.path(cell)[level]
    return sum(column.path(value)[level] == label for value in domain), len(domain)


def precision(one: Outcome) -> float:
    return 1 - _cells(one, lambda column, cell, level: level / column.height if column.height else 0.0)


def loss(one: Outcome) -> float:
    def lost(column: Column, cell: Value, level: int) -> float:
        under, all_leaves = _leaves(one, column, cell, level)
        return (under - 1) / (all_leaves - 1) if all_leaves > 1 else 0.0

    return _cells(one, lost)


def ncp(one: Outcome) -> float:
    def lost(column: Column, cell: Value, level: int) -> float:
        under, all_leaves = _leaves(one, column, cell, level)
        return 0.0 if under == 1 else under / all_leaves

    return _cells(one, lost)


def entropy(one: Outcome) -> float:
    bits = bits_if_all_were_suppressed = 0.0
    rows = one.case.rows
    for position, (column, level) in enumerate(zip(one.case.columns, one.node, strict=True)):
        values = Counter(row[position] for row in rows)
        labels = Counter(column.path(row[position])[level] for row in rows)
        for number, row in enumerate(rows):
            hidden = column.weight * log2(len(rows) / values[row[position]])
            bits_if_all_were_suppressed += hidden
            label = column.path(row[position])[level]
            shown = column.weight * log2(labels[label] / values[row[position]])
            bits += hidden if number in one.suppressed else shown
    return bits / bits_if_all_were_suppressed if bits_if_all_were_suppressed else 0.0


def discernibility(one: Outcome) -> float:
    groups = Counter(one.released)
    return sum(size * size for size in groups.values()) + len(one.suppressed) * len(one.rows)


def average_group_size(one: Outcome) -> float:
    groups = Counter(one.released)
    return len(one.released) / len(groups) if groups else float(len(one.rows))


def relative_distance(one: Outcome) -> float:
    return sum(
        column.weight * level / column.height
        for column, level in zip(one.case.columns, one.node, strict=True)
        if column.height
    )


MEASURES: dict[str, tuple[Callable[[Outcome], float], bool]] = {
    "precision": (precision, True),
    "loss": (loss, False),
    "ncp": (ncp, False),
    "entropy": (entropy, False),
    "discernibility": (discernibility, False),
    "average-group-size": (average_group_size, False),
    "distinct-tuples": (lambda one: len(set(one.released)), True),
    "accuracy": (lambda one: 1 - sum(one.node) / max(1, sum(one.case.heights)), True),
    "completeness": (lambda one: len(one.released) / len(one.rows), True),
    "absolute-distance": (lambda one: sum(one.node), False),
    "relative-distance": (relative_distance, False),
}


def preferred(outcomes: Mapping[Node, Outcome], rank: Callable[[Outcome], float]) -> set[Node]:
    """Return the k-minimal nodes of least rank."""
    ranks = {node: rank(outcomes[node]) for node in minimal(list(outcomes))}
    return {node for node, own in ranks.items() if own <= min(ranks.values()) + 1e-9}


def _relative(one: Outcome) -> list[float]:
    return [level / max(1, height) for level, height in zip(one.node, one.case.heights, strict=True)]


PREFERENCES: dict[str, Callable[[Outcome], float]] = {
    "min-absolute": lambda one: sum(one.node),
    "min-relative": relative_distance,
    "max-distribution": lambda one: -len(set(one.released)),
    "min-suppression": lambda one: len(one.suppressed),
    "highest-absolute-peak": lambda one: -max(one.node),
    "highest-relative-peak": lambda one: -max(_relative(one)),
    "fewest-attributes": lambda one: sum(level > 0 for level in one.node),
    "most-attributes": lambda one: -sum(level > 0 for level in one.node),
}


def datafly(case: Case, stop_at: int, limit: int) -> tuple[Node, int] | None:
    """Sweeney's Figure 8 on one quasi-identifier: the node, and the number of rows suppressed with step 4.

    It goes on when nothing would be left, or when step 4 would break the limit. None if it cannot go on.
    """
    node = [0] * len(case.columns)
    while True:
        rows = generalized(case, tuple(node))
        groups = defaultdict(list)
        for number, row in enumerate(rows):
            groups[row].append(number)
        unsafe = [number for numbers in groups.values() if case.crowd(numbers) < case.k for number in numbers]
        outliers = suppressed = len(unsafe)
        safe = [len(numbers) for numbers in groups.values() if case.crowd(numbers) >= case.k]
        if 0 < case.crowd(unsafe) < case.k and safe:
            suppressed += min(safe)
        if outliers <= stop_at and suppressed <= limit and suppressed < len(rows):
            return tuple(node), suppressed
        distinct = {
            column: len({row[column] for row in rows})
            for column, height in enumerate(case.heights)
            if node[column] < height
        }
        if not distinct:
            return None
        node[max(distinct, key=lambda column: (distinct[column], -column))] += 1


# Random cases.


def draw_digits(draw: st.DrawFn, base: int, number: int) -> list[int]:
    """Draw so many numbers below a base as one number, since hypothesis takes most of its time for each draw."""
    drawn = draw(st.integers(0, base**number - 1))
    return [drawn // base**place % base for place in range(number)]


@st.composite
def columns(draw: st.DrawFn, name: str, most_levels: int = 2) -> tuple[Column, list[Value]]:
    """Draw a column with its hierarchy, and the values that its cells may have."""
    values: list[Value] = [f"{name}{number}" for number in range(draw(st.integers(1, 4)))]
    weight = draw(st.sampled_from([1.0, 1.0, 2.0, 0.5]))
    if draw(st.integers(0, 5)) == 0:
        return Column(name, None, None, weight), [*values, None]
    listed = [*values, None] if draw(st.integers(0, 3)) == 0 else list(values)
    levels: list[list[Value]] = [listed]
    for level in range(1, draw(st.integers(0, most_levels)) + 1):
        levels.append(draw(_coarser(levels[-1], f"{name}.{level}", len(listed))))
    top = draw(st.sampled_from([None, "*", "any"]))
    if top is None and (len(levels) == 1 or len(set(levels[-1])) > 1):
        levels.append([draw(st.sampled_from(["*", f"all {name}"]))] * len(listed))
    if top is not None and set(levels[-1]) == {top}:
        top = None
    return Column(name, tuple(zip(*levels, strict=True)), top, weight), [*values, None]


@st.composite
def _coarser(draw: st.DrawFn, below: list[Value], stem: str, size: int) -> list[Value]:
    """Draw the next level: labels merge at random; a label may also repeat that of one of its children."""
    children = list(dict.fromkeys(below))
    group_of = dict(zip(children, draw_digits(draw, len(children), len(children)), strict=True))
    repeats = draw_digits(draw, 5, len(children))
    label_of: dict[int, Value] = {}
    for (child, group), repeat in zip(group_of.items(), repeats, strict=True):
        may_repeat = child is not None and repeat == 0
        label_of.setdefault(group, child if may_repeat and child not in label_of.values() else f"{stem}.{group}")
    return [label_of[group_of[child]] for child in below]


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    most_rows: int = 25,
    most_columns: int = 4,
    several: bool = False,
    fewest_columns: int = 2,
    people: bool | None = False,
) -> Case:
    """Draw a table of two to four columns with missing values, random hierarchies and weights, k and budget.

    With ``people`` rows are of people who may have several; None draws whether they are.
    """
    number = draw(st.integers(fewest_columns, most_columns))
    drawn = [draw(columns("abcd"[position], 2 if number < 3 else 1)) for position in range(number)]
    possible = list(product(*([*values, *values[:1] * 2] for _, values in drawn)))
    numbers = draw(st.lists(st.integers(0, len(possible) - 1), min_size=1, max_size=most_rows))
    rows = [possible[chosen] for chosen in numbers]
    budget: int | float | None = draw(
        st.one_of(st.none(), st.integers(0, 6), st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 1.0]))
    )
    quasi_identifiers = None
    if several:
        first = draw(st.sets(st.integers(0, number - 1), min_size=1))
        second = draw(st.sets(st.integers(0, number - 1), min_size=1)) | (set(range(number)) - first)
        quasi_identifiers = (tuple(sorted(first)), tuple(sorted(second)))
    persons = None
    if draw(st.booleans()) if people is None else people:
        persons = tuple(f"p{person}" for person in draw_digits(draw, max(2, len(rows)), len(rows)))
    asked = draw(st.integers(1, 4)), budget, quasi_identifiers, persons
    return Case(tuple(column for column, _ in drawn), tuple(rows), *asked)


# The same case in the package's terms.


def hierarchy_of(column: Column) -> ix.Hierarchy:
    return ix.keep() if column.listed is None else ix.levels(column.listed, top=column.top)


def policy_of_case(case: Case, **more: Any) -> ix.Policy:
    """Return the policy; ``columns`` in ``more`` are added to the quasi columns."""
    roles = {column.name: ix.quasi(hierarchy_of(column), weight=column.weight) for column in case.columns}
    quasi_identifiers = None
    if case.quasi_identifiers is not None:
        names = ("patient", "doctor", *(f"set {number}" for number in range(2, len(case.quasi_identifiers))))
        quasi_identifiers = {
            name: [case.columns[position].name for position in positions]
            for name, positions in zip(names, case.quasi_identifiers, strict=False)
        }
    return ix.Policy(
        columns=roles | more.pop("columns", {}),
        privacy=[ix.KAnonymity(case.k)],
        max_suppression=case.budget,
        quasi_identifiers=quasi_identifiers,
        person=None if case.persons is None else "person",
        **more,
    )


def task_of(case: Case) -> Task:
    """Return the task of an algorithm, counted here and not by an engine."""
    policy = policy_of_case(case)
    values = [
        sorted({row[p] for row in case.rows if row[p] is not None}) + [None] * any(row[p] is None for row in case.rows)
        for p in range(len(case.columns))
    ]
    counted: Counter[Row] = Counter(case.rows)
    if case.persons is not None:
        counted = Counter((*row, person) for row, person in zip(case.rows, case.persons, strict=True))
    names_of = sorted(set(case.persons or ()))
    people = {"person": (None, np.array([names_of.index(row[-1]) for row in counted]))} if case.persons else None
    hierarchies = [policy.columns[column.name].compile(own) for column, own in zip(case.columns, values, strict=True)]
    codes = [np.array([own.index(row[p]) for row in counted], np.uint64) for p, own in enumerate(values)]
    weights = [column.weight for column in case.columns]
    names = [column.name for column in case.columns]
    counts = np.array(list(counted.values()), np.int64)
    return Task.of(FrequencyList.of_codes(names, hierarchies, codes, counts, weights, people), policy)


def table_of_case(case: Case, **more: Sequence[Any]) -> pa.Table:
    """Return the table, with further columns."""
    cells = {
        column.name: pa.array([row[position] for row in case.rows], pa.string())
        for position, column in enumerate(case.columns)
    }
    person = {} if case.persons is None else {"person": pa.array(case.persons)}
    return pa.table(cells | person | {name: pa.array(list(values)) for name, values in more.items()})
