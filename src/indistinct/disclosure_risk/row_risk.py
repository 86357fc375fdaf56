"""explain_row(): why one row is at risk, by which columns, and which generalization would help it.

What it gives holds cells of the private table: it is for who holds that, and for nobody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from indistinct.errors import PolicyError, TableError
from indistinct.policy.files.policy_file import load_policy
from indistinct.showing.fields import as_json
from indistinct.showing.words import counted, list_names

if TYPE_CHECKING:
    import os

    from indistinct.engine import Rows
    from indistinct.hierarchy import CompiledHierarchy
    from indistinct.policy import Policy

ALL_SETS = 12
"""Columns of which every set is looked at; of more columns, sets of at most FEW."""
FEW = 3
MOST_COMPARED = 200_000_000
"""Comparisons of a tuple with a node, after which no further combination of steps is looked for."""
MOST_GIVEN = 20
"""Sets of columns, and combinations of steps, that are given."""

Levels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Singling:
    """A minimal set of columns by which too few share the row's cells; without any one of them there are enough."""

    columns: tuple[str, ...]
    size: int
    """The rows, or people, that share them, this one among them."""


@dataclass(frozen=True, slots=True)
class LevelStep:
    """What a row's cell would become, and how many would then share all quasi cells with it."""

    column: str
    level: int
    level_name: str
    label: str | None
    size: int


@dataclass(frozen=True, slots=True)
class Remedy:
    """Levels of some columns, the others as they are, that together bring the row among enough."""

    steps: tuple[LevelStep, ...]
    size: int


@dataclass(frozen=True, slots=True)
class RowRisk:
    """Why a row is at risk, and what would help it."""

    also: ClassVar[tuple[str, ...]] = ("is_at_risk",)

    row: int
    """Its number, from 1."""
    cells: Mapping[str, str | None]
    """Its quasi cells."""
    k: int
    """How many must share them."""
    size: int
    """How many do: rows, or people where those are counted; this one among them."""
    noun: str
    shares: Mapping[str, int]
    """How many share the cell of each column alone."""
    singled_out_by: tuple[Singling, ...]
    steps: tuple[LevelStep, ...]
    """Of each column that can do it alone, the lowest level that brings the row among k. Here and below no level lies
    under one that the policy demands, and the others are as low as it allows."""
    best_of_others: tuple[LevelStep, ...]
    """Of each other column that is generalized at all, its highest level: how far it brings the row."""
    remedies: tuple[Remedy, ...]
    """The combinations of levels with the fewest steps that bring the row among k."""
    notes: tuple[str, ...] = ()

    @property
    def is_at_risk(self) -> bool:
        """Fewer than k share the row's cells."""
        return self.size < self.k

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        found: dict[str, Any] = as_json(self)
        found["counted"] = found.pop("noun")
        return found

    def __str__(self) -> str:
        return "\n".join(in_words(self))


def in_words(found: RowRisk) -> Iterator[str]:
    """Say why a row is at risk and what would help, a line for each thing."""
    one, many = ("row", "rows") if found.noun == "rows" else ("person", "people")
    share = "stands alone by" if found.size == 1 else f"is one of {counted(found.size, one, many)} with the same"
    yield f"row {found.row} {share} {list_names(found.cells)}; {found.k} are asked for"
    for single in found.singled_out_by:
        yield f"singled out by {list_names(single.columns)}: shared by {counted(single.size, one, many)}"
    for step in found.steps:
        yield f"{step.column} at level {step.level} ({step.level_name}) is enough: {counted(step.size, one, many)}"
    for remedy in found.remedies:
        if len(remedy.steps) > 1:
            told = list_names([f"{step.column} at level {step.level}" for step in remedy.steps])
            yield f"{told} together are enough: {counted(remedy.size, one, many)}"
    yield from (f"note: {note}" for note in found.notes)


def explain_row(
    table: Any, policy: Policy | str | os.PathLike[str], row: int, *, on: str | None = None, **reading: Any
) -> RowRisk:
    """Return why a row of a table is at risk under a policy's k, and which generalization would help it.

    ``row`` is its number, from 1. ``on`` names one of several quasi-identifiers; without it, it is the one by which
    the row is most exposed. Where a model says how few columns are known, it is the set of so many by which the row
    is most exposed. k is the largest that the policy's models ask for, or 2. People are counted where the
    policy says whose row it is. ``reading`` goes to the engine: memory_limit, threads, delimiter and encoding.

    >>> import pyarrow as pa
    >>> import indistinct as ix
    >>> table = pa.table({"age": ["31", "34", "52", "58"], "sex": ["f", "f", "f", "m"]})
    >>> policy = ix.Policy(
    ...     {"age": ix.quasi(ix.intervals(5, 10)), "sex": ix.quasi(ix.suppress())}, privacy=[ix.KAnonymity(2)]
    ... )
    >>> print(explain_row(table, policy, 1))
    row 1 stands alone by age, sex; 2 are asked for
    singled out by age: shared by 1 row
    age at level 1 (5 wide) is enough: 2 rows
    """
    policy = load_policy(policy, to="risk of a row")
    from indistinct.counting import as_declared, encode_eligible
    from indistinct.counting.frequency_list import number_persons, refuse_nobodies
    from indistinct.engine import use_table

    if on is not None and on not in (policy.quasi_identifiers or {}):
        raise PolicyError(f"on: the policy has no quasi-identifier {on!r}")
    with use_table(table, **reading) as given:
        policy.check(given.columns())
        mine = _cells_of(given, policy, row)
        with as_declared(given, policy) as rows, encode_eligible(rows, policy) as encoded:
            refuse_nobodies(encoded, policy.person_columns)
            both = (*policy.quasi, *policy.person_columns)
            values, found = encoded.values, encoded.count_by(both)
    codes = [np.asarray(code).astype(np.int64) for code in found.codes]
    persons = number_persons(codes[len(policy.quasi) :])
    compiled = {name: policy.columns[name].compile(values[name]) for name in policy.quasi}
    apart = {
        name: _levels_apart(compiled[name], values[name].index(mine[name]))[code]
        for name, code in zip(policy.quasi, codes, strict=False)
    }
    alike = Alike(compiled, mine, apart, found.counts, persons)
    named = dict(policy.quasi_identifiers or {})
    asked = [on] if on is not None else list(named)
    judged = [(columns, k) for one in asked for columns, k in _ks_by_columns(policy, one, named[one]).items()]
    columns, k = min(judged, key=lambda one: alike.size_by(one[0]) / one[1])
    return alike.explain(row, columns, k)


def _cells_of(given: Rows, policy: Policy, row: int) -> dict[str, str | None]:
    """Return the quasi cells of a row, as the policy declares them."""
    from indistinct.counting import as_declared, encode_eligible
    from indistinct.engine import use_table

    if isinstance(row, bool) or not isinstance(row, int) or row < 1:
        raise PolicyError(f"row: must be a whole number from 1, got {row!r}")
    alone = given.row_at(row)
    if not alone.num_rows:
        raise TableError(f"{given.name}: has {counted(given.count(), 'row')}, and no row {row:,}")
    with (
        use_table(alone) as one,
        as_declared(one, policy) as declared,
        encode_eligible(declared, policy, policy.quasi) as encoded,
    ):
        if not len(encoded.count_by(policy.quasi).counts):
            raise PolicyError(f"row {row:,} is not among those that the policy releases; choose another")
        return {name: encoded.values[name][0] for name in policy.quasi}


def _levels_apart(compiled: CompiledHierarchy, mine: int) -> Levels:
    """Return for each value the lowest level at which it has the label of one of them; above the top if at none."""
    levels = np.full(len(compiled.values), compiled.height + 1, np.int64)
    for level in range(compiled.height, -1, -1):
        levels[compiled.maps[level] == compiled.maps[level][mine]] = level
    return levels


def _ks_by_columns(policy: Policy, name: str, columns: Sequence[str]) -> dict[tuple[str, ...], int]:
    """Return the largest k that models ask for on the columns of a quasi-identifier, or on each few that are known."""
    ks: dict[tuple[str, ...], int] = {}
    for model in policy.privacy:
        k = getattr(model, "k", None)
        if getattr(model, "on", None) in (None, name) and isinstance(k, int):
            ks |= {chosen: max(k, ks.get(chosen, 0)) for chosen in model.column_sets(columns)}
    return ks or {tuple(columns): 2}


@dataclass(frozen=True, slots=True)
class Alike:
    """How far each tuple of a table is from one row: the lowest level of each column at which they are equal."""

    compiled: Mapping[str, CompiledHierarchy]
    cells: Mapping[str, str | None]
    apart: Mapping[str, Levels]
    counts: NDArray[np.int64]
    persons: NDArray[np.int64] | None

    def size_by(self, columns: Sequence[str]) -> int:
        """Count the rows, or the people, that are equal to the row in some columns."""
        return self._size(np.stack([self.apart[name] for name in columns]) == 0)

    def explain(self, row: int, columns: Sequence[str], k: int) -> RowRisk:
        """Return why the row is at risk by some columns."""
        apart = np.stack([self.apart[name] for name in columns])
        heights = [self.compiled[name].height for name in columns]
        start = [self.compiled[name].lowest for name in columns]
        size, demanded = self._size(apart == 0), self._size(apart <= np.array(start)[:, None])
        is_enough = size < k <= demanded
        steps, others = [], []
        for place, name in enumerate(columns):
            allowed = range(max(1, start[place]), heights[place] + 1)
            tried = [
                self._step(columns, apart, (*start[:place], level, *start[place + 1 :]), place) for level in allowed
            ]
            enough = next((step for step in tried if step.size >= k), None)
            if enough is not None and demanded < k:
                steps.append(enough)
            elif tried and demanded < k:
                others.append(LevelStep(name, tried[-1].level, tried[-1].level_name, tried[-1].label, tried[-1].size))
        remedies, is_cut = self._remedies(columns, apart, start, k) if size < k else ((), False)
        singled, is_short = self._minimal_sets(columns, apart == 0, k)
        notes = [f"only sets of at most {FEW} columns were looked at"] if is_short else []
        notes += ["combinations of steps were looked for until there were too many"] if is_cut else []
        notes += ["the levels that the policy demands are enough"] if is_enough else []
        if size < k and not remedies and not is_cut:
            notes.append("no generalization of these hierarchies brings it among enough; it must be left out")
        return RowRisk(
            row,
            {name: self.cells[name] for name in columns},
            k,
            size,
            "rows" if self.persons is None else "people",
            {name: self._size(apart[[place]] == 0) for place, name in enumerate(columns)},
            singled[:MOST_GIVEN],
            tuple(sorted(steps, key=lambda step: (step.level, step.size))),
            tuple(sorted(others, key=lambda step: -step.size)),
            remedies,
            tuple(notes),
        )

    def _size(self, is_equal: NDArray[np.bool_]) -> int:
        """Count the rows, or the people, of the tuples that are equal in all columns given."""
        is_alike = np.logical_and.reduce(is_equal, axis=0)
        if self.persons is None:
            return int(self.counts[is_alike].sum())
        return len(np.unique(self.persons[is_alike]))

    def _step(self, columns: Sequence[str], apart: Levels, node: Sequence[int], place: int) -> LevelStep:
        name, level = columns[place], node[place]
        return LevelStep(name, level, *self._label(name, level), self._size(apart <= np.array(node)[:, None]))

    def _label(self, name: str, level: int) -> tuple[str, str | None]:
        """Return the name of a level, and the label of the row's cell there."""
        compiled = self.compiled[name]
        code = compiled.maps[level][compiled.values.index(self.cells[name])]
        return compiled.level_names[level], compiled.labels[level][code]

    def _minimal_sets(
        self, columns: Sequence[str], is_equal: NDArray[np.bool_], k: int
    ) -> tuple[tuple[Singling, ...], bool]:
        """Return the minimal sets of columns that fewer than k share, and whether larger ones were not looked at.

        More columns are never shared by more, so a set that contains one that was found is not minimal.
        """
        most = len(columns) if len(columns) <= ALL_SETS else FEW
        found: list[tuple[frozenset[int], int]] = []
        for number in range(1, most + 1):
            for chosen in combinations(range(len(columns)), number):
                if any(smaller <= set(chosen) for smaller, _ in found):
                    continue
                size = self._size(is_equal[list(chosen)])
                if size < k:
                    found.append((frozenset(chosen), size))
        made = [Singling(tuple(columns[place] for place in sorted(chosen)), size) for chosen, size in found]
        return tuple(sorted(made, key=lambda one: (len(one.columns), one.size, one.columns))), most < len(columns)

    def _remedies(
        self, columns: Sequence[str], apart: Levels, start: Sequence[int], k: int
    ) -> tuple[tuple[Remedy, ...], bool]:
        """Return the nodes with the fewest steps at which the row is among k, and whether the search was cut short.

        They begin at the lowest levels that may be released, and go up to the highest.
        """
        heights = [self.compiled[name].height for name in columns]
        room = max(100, MOST_COMPARED // max(1, apart.size))
        layer = {tuple(start)}
        if (size := self._size(apart <= np.array(start)[:, None])) >= k:
            return (self._remedy(columns, start, size),), False
        while layer and room > 0:
            layer = {
                (*node[:at], node[at] + 1, *node[at + 1 :])
                for node in layer
                for at in range(len(columns))
                if node[at] < heights[at]
            }
            if len(layer) > room:
                return (), True
            room -= len(layer)
            sizes = {node: self._size(apart <= np.array(node)[:, None]) for node in sorted(layer)}
            enough = sorted((node for node in sizes if sizes[node] >= k), key=lambda node: (-sizes[node], node))
            if enough:
                return tuple(self._remedy(columns, node, sizes[node]) for node in enough[:MOST_GIVEN]), False
        return (), bool(layer)

    def _remedy(self, columns: Sequence[str], node: Sequence[int], size: int) -> Remedy:
        steps = [
            LevelStep(name, level, *self._label(name, level), size)
            for name, level in zip(columns, node, strict=True)
            if level
        ]
        return Remedy(tuple(steps), size)
