"""Populations: the people that models ask about which count k there, for searches and for the recount.

A search counts by keys: the population's tuples climb the same hierarchies as the table's and are looked up by the
labels of a group. The recount asks which people the released labels cover, by another code: see ``linkage``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from indistinct.counting import (
    FixedPopulationCounts,
    FrequencyList,
    Groups,
    IntArray,
    Layout,
    Node,
    PopulationCounts,
    UIntArray,
    linked_as_declared,
)
from indistinct.counting.joined_tables import TableCount, count_tables
from indistinct.counting.kernels import grouping
from indistinct.engine import Counts, Encoded, Rows, use_table
from indistinct.errors import PolicyError
from indistinct.hierarchy import CompiledHierarchy, Prefix
from indistinct.linkage.paired_columns import plain_name
from indistinct.policy import Column, Policy
from indistinct.privacy.model import PrivacyModel

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_KEPT = 16_000_000
"""So many tuples of rolled-up populations are kept for the nodes above."""


def count_with_population(encoded: Encoded, policy: Policy, *, may_merge: bool = False) -> FrequencyList:
    """Count an encoded table by its quasi-identifier, and the populations that the policy's models ask about."""
    frequencies = FrequencyList.count(encoded, policy, may_merge=may_merge)
    asking = [model for model in policy.privacy if model.asks_population]
    if not asking:
        return frequencies
    populations: dict[str, PopulationCounts] = {}
    for model in asking:
        populations[model.population_id] = Population.count(frequencies, policy, model)
    return replace(frequencies, base=replace(frequencies.base, populations=populations))


def count_encoded(
    encoded: Mapping[str, Encoded], policy: Policy, *, may_merge: bool = False
) -> tuple[FrequencyList, Mapping[str, TableCount]]:
    """Return the frequency list of all tables that were encoded for a policy, and the entries of each of several."""
    if policy.tables:
        joined = count_tables(encoded, policy)
        return joined.frequencies, joined.tables
    (only,) = encoded.values()
    return count_with_population(only, policy, may_merge=may_merge), {}


@dataclass(frozen=True, slots=True)
class PopulationColumn:
    """A quasi column and the column of a population that it is linked with."""

    name: str
    theirs: str
    column: Column


@contextmanager
def population_of(model: Any, policy: Policy) -> Iterator[tuple[Rows, list[PopulationColumn]]]:
    """Open the population that a model asks about, for the time of the block, and give the columns that it links."""
    with use_people(model.source) as rows:
        linked = _linked_columns(model, policy, rows)
        with linked_as_declared(rows, {one.name: one.theirs for one in linked}, policy) as read:
            yield read, linked


def _linked_columns(model: Any, policy: Policy, rows: Rows) -> list[PopulationColumn]:
    """Pair quasi columns with the population's, and refuse a quasi-identifier of which nothing is known there."""
    theirs = rows.columns()
    if model.link is None:
        by_name = {plain_name(name): name for name in theirs}
        pairs = {name: by_name[plain_name(name)] for name in policy.quasi if plain_name(name) in by_name}
    else:
        pairs = dict(model.link)
    mistakes = [f"link: {name!r} is not a quasi column" for name in pairs if name not in policy.quasi]
    mistakes += [f"link: the population has no column {name!r}" for name in pairs.values() if name not in theirs]
    for name, columns, asked in policy.requirements():
        if asked == model and not set(columns) & set(pairs):
            mistakes.append(
                f"the population has no column of {name!r}; say which belong together, such as "
                'link = { BirthDate = "DOB" }'
            )
    if mistakes:
        raise PolicyError([f"privacy: {model.name}: {mistake}" for mistake in mistakes])
    return [PopulationColumn(name, pairs[name], policy.columns[name]) for name in policy.quasi if name in pairs]


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """The distinct tuples of a population, which climb the hierarchies of a table and are looked up by its labels.

    A label that the table has too has the same code here; labels that only the population has come after those.
    """

    columns: tuple[int, ...]
    """The places of the linked columns among those of the frequency list."""
    base: Groups
    maps: tuple[tuple[UIntArray, ...], ...]
    """For each column and level: the code one level up of each code."""
    known: frozenset[int] | None = None
    """The columns of the frequency list that count; None for all."""
    _kept: dict[Node, Groups] = field(default_factory=dict, repr=False)
    _ground: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def count(cls, frequencies: FrequencyList, policy: Policy, model: PrivacyModel) -> Population:
        """Count the people of a model's population by the columns that are linked."""
        with population_of(model, policy) as (rows, linked):
            theirs = [one.theirs for one in linked]
            with rows.encode(theirs) as encoded:
                values, people = encoded.values, encoded.count_by(theirs)
        places = tuple(frequencies.columns.index(one.name) for one in linked)
        climbs = [
            _Climb.of(one.column, frequencies.hierarchies[place], values[one.theirs])
            for one, place in zip(linked, places, strict=True)
        ]
        layout = Layout.for_sizes([max(climb.sizes) for climb in climbs])
        codes = np.stack(
            [climb.ground[np.asarray(own, np.int64)] for climb, own in zip(climbs, people.codes, strict=True)]
        )
        keys = grouping.pack(codes.astype(np.uint64), layout.words, layout.shifts, layout.number_of_words)
        base = Groups(people.counts, keys, (0,) * len(places), layout)
        # values that are spelled differently are one here
        same = {column: np.arange(climb.sizes[0], dtype=np.uint64) for column, climb in enumerate(climbs)}
        return cls(places, base.merge(same, base.node)[0], tuple(climb.steps for climb in climbs))

    def of(self, groups: Groups) -> IntArray:
        """Return the people whose labels at the node of the groups are those of each group."""
        node = tuple(groups.node[place] for place in self.columns)
        people = self._at(node)
        labels = np.stack([groups.label_codes(place) for place in self.columns]).astype(np.uint64)
        if self.known is not None:
            inside = [column for column, place in enumerate(self.columns) if place in self.known]
            people = people.only(inside)[0]
            labels[[column for column in range(len(self.columns)) if column not in inside]] = 0
        layout = self.base.layout
        wanted = grouping.pack(labels, layout.words, layout.shifts, layout.number_of_words)
        return _looked_up(people, wanted)

    def of_parts(self, base: Groups, tuples: IntArray, parts: IntArray, number: int) -> FixedPopulationCounts:
        """Count for each part the people who have one of its tuples themselves: whatever its labels are, they fit."""
        if "people" not in self._ground:
            codes = np.stack([base.label_codes(place) for place in self.columns])
            _, first, which = np.unique(codes, axis=1, return_index=True, return_inverse=True)
            self._ground["people"] = self.of(base)[first]
            self._ground["which"] = which.ravel()
        people, which = self._ground["people"], self._ground["which"]
        pairs = np.unique(parts * len(people) + which[tuples])
        part, tuple_of = np.divmod(pairs, max(1, len(people)))
        return FixedPopulationCounts(np.bincount(part, people[tuple_of], number).astype(np.int64))

    def everyone(self) -> FixedPopulationCounts:
        """All people, who fit a group of blank cells."""
        return FixedPopulationCounts(np.array([self.base.rows], np.int64))

    def only(self, columns: Sequence[int]) -> Population:
        """The same people, of whom only these columns of the frequency list count."""
        known = frozenset(columns) if self.known is None else self.known & frozenset(columns)
        return replace(self, known=known)

    def _at(self, node: Node) -> Groups:
        """Roll the population up to a node, from the shortest list that is kept below it."""
        kept = self._kept
        if node in kept:
            return kept[node]
        below = [
            groups for place, groups in list(kept.items()) if all(a <= b for a, b in zip(place, node, strict=True))
        ]
        start = min(below, key=len, default=self.base)
        maps = {}
        for column, (level, goal) in enumerate(zip(start.node, node, strict=True)):
            codes = None
            for step in self.maps[column][level:goal]:
                codes = step if codes is None else step[codes.astype(np.int64)]
            if codes is not None:
                maps[column] = codes
        people, _ = start.merge(maps, node)
        if sum(map(len, list(kept.values()))) + len(people) > MOST_KEPT:
            kept.clear()
        kept[node] = people
        return people


def _looked_up(people: Groups, wanted: UIntArray) -> IntArray:
    """Return the size of the group that has each key, 0 where there is none."""
    if wanted.shape[1] == 1:
        order = np.argsort(people.keys[:, 0], kind="stable")
        keys = people.keys[order, 0]
        places = np.minimum(np.searchsorted(keys, wanted[:, 0]), max(0, len(keys) - 1))
        if not len(keys):
            return np.zeros(len(wanted), np.int64)
        found: IntArray = np.where(keys[places] == wanted[:, 0], people.sizes[order][places], 0)
        return found
    _, which = np.unique(np.concatenate([people.keys, wanted]), axis=0, return_inverse=True)
    sizes = np.zeros(int(which.max(initial=-1)) + 1, np.int64)
    sizes[which.ravel()[: len(people)]] = people.sizes
    return sizes[which.ravel()[len(people) :]]


@dataclass(frozen=True, slots=True)
class _Climb:
    """How the values of a population's column climb the hierarchy of a table's column."""

    ground: IntArray
    """The code at level 0 of each value of the population."""
    steps: tuple[UIntArray, ...]
    """For each level the code one level up of each code."""
    sizes: tuple[int, ...]
    """The number of codes at each level."""

    @classmethod
    def of(cls, column: Column, compiled: CompiledHierarchy, values: Sequence[str | None]) -> _Climb:
        from indistinct.linkage.coverage import climbed_labels, label_of_all

        hierarchy = column.hierarchy
        fold = str.casefold if isinstance(hierarchy, Prefix) else str
        height = compiled.height
        is_cut = column.max_level is not None and height < (hierarchy.height or 0)  # the top may not be released
        top = label_of_all(hierarchy) if height and not is_cut else None
        stranger: list[object] = [STRANGER] * height + [STRANGER if top is None else fold(top)]
        rows = [
            stranger
            if labels is None or (len(labels) != height + 1 and column.max_level is None)
            else [None if label is None else fold(label) for label in labels[: height + 1]]
            for labels in climbed_labels(hierarchy, compiled.values, values)
        ]
        codes: list[dict[object, int]] = []
        for level in range(height + 1):
            known = {None if label is None else fold(label): code for code, label in enumerate(compiled.labels[level])}
            own = len(compiled.labels[level])
            extra = [label for label in dict.fromkeys(row[level] for row in rows) if label not in known]
            codes.append(known | {label: own + place for place, label in enumerate(extra)})
        numbers = tuple(max(code.values(), default=0) + 1 for code in codes)
        steps = []
        for level in range(height):
            step = np.zeros(numbers[level], np.uint64)
            step[: len(compiled.labels[level])] = compiled.step(level)
            for row in rows:
                if codes[level][row[level]] >= len(compiled.labels[level]):
                    step[codes[level][row[level]]] = codes[level + 1][row[level + 1]]
            steps.append(step)
        ground = np.array([codes[0][row[0]] for row in rows], np.int64)
        return cls(ground, tuple(steps), numbers)


STRANGER = object()
"""Stands for the labels of a value that is missing or that the hierarchy does not know."""


def counted_people(released: Rows, columns: Sequence[str], policy: Policy, model: PrivacyModel) -> Groups:
    """Count the groups of a released table over some columns, and the people of a population that its labels cover."""
    with released.encode(columns) as encoded:
        labels, groups = encoded.values, encoded.count_by(columns)
    codes = np.stack([np.asarray(code, np.int64) for code in groups.codes])
    people = people_that_fit(labels, columns, codes, groups.counts, policy, model)
    return Groups.of_sizes(groups.counts, populations={model.population_id: FixedPopulationCounts(people)})


def people_that_fit(
    labels: Mapping[str, Sequence[str | None]],
    columns: Sequence[str],
    codes: NDArray[np.int64],
    sizes: IntArray,
    policy: Policy,
    model: PrivacyModel,
) -> IntArray:
    """Count the people of a model's population that each group's labels cover; ``codes`` has a row per column."""
    from indistinct.linkage.coverage import Coverage
    from indistinct.linkage.fitting_people import count_candidates

    with population_of(model, policy) as (rows, linked):
        linked = [one for one in linked if one.name in columns]
        theirs = [one.theirs for one in linked]
        with rows.encode(theirs) as encoded:
            values, people = encoded.values, encoded.count_by(theirs)
    coverages = [
        Coverage.of(one.column.hierarchy, labels[one.name], values[one.theirs], missing_fits=False) for one in linked
    ]
    own = tuple(codes[list(columns).index(one.name)].astype(np.uint64) for one in linked)
    return count_candidates(Counts(own, sizes), people, coverages).people


@contextmanager
def use_people(source: Any, **reading: Any) -> Iterator[Rows]:
    """Return the rows of an external table, or of several in a list or tuple as one, for the time of the block.

    Tables are joined by all columns that both have; whoever is missing in one has no value in its other columns. Equal
    rows of tables with the same columns are the same people. That is the universal relation of Samarati's footnote 3.

    Source: Samarati 2001, section 2, footnote 3.
    """
    if not isinstance(source, list | tuple):
        with use_table(source, **reading) as rows:
            yield rows
        return
    if not source:
        raise PolicyError("external: an empty list of tables names nobody")
    tables = [_texts(one, reading) for one in source]
    joined = tables[0]
    for table in tables[1:]:
        joined = _join(joined, table)
    limits = {name: value for name, value in reading.items() if name in ("memory_limit", "threads")}
    with use_table(joined, **limits) as rows:
        yield rows


def _texts(source: Any, reading: Any) -> pa.Table:
    with use_table(source, **reading) as rows:
        return rows.texts(list(rows.columns())).read_all()


def _join(first: pa.Table, second: pa.Table) -> pa.Table:
    """Return the natural full outer join of two tables."""
    names = list(dict.fromkeys([*first.column_names, *second.column_names]))
    # under names of our own, since Arrow reads some names as paths
    one, other = (
        table.rename_columns([f"c{names.index(name)}" for name in table.column_names]) for table in (first, second)
    )
    shared = [name for name in one.column_names if name in other.column_names]
    if not shared:
        raise PolicyError("external: two of the tables have no column in common; say by its name who is who")
    if len(shared) < len(names):
        joined = one.join(other, shared, join_type="full outer")
    else:
        counts = [
            table.group_by(shared, use_threads=False).aggregate([([], "count_all")]).rename_columns([*shared, name])
            for table, name in ((one, "rows"), (other, "others"))
        ]
        both = counts[0].join(counts[1], shared, join_type="full outer")
        numbers = [np.nan_to_num(both[name].to_numpy().astype(float)) for name in ("rows", "others")]
        rows = np.repeat(np.arange(len(both)), np.maximum(*numbers).astype(np.int64))
        joined = both.select(shared).take(pa.array(rows))
    return joined.rename_columns([names[int(name[1:])] for name in joined.column_names])
