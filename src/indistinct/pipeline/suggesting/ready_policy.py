"""ready_policy(): the policy of tables of a known form, such as those of OMOP; others may know a few of the events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from indistinct.engine import Rows, use_table
from indistinct.engine.formats import COMPRESSED, known_suffixes
from indistinct.errors import TableError
from indistinct.hierarchy import Hierarchy, intervals, prefix, suppress
from indistinct.linkage import coded_columns
from indistinct.pipeline.suggesting.concept_trees import Ancestry, concept_tree
from indistinct.pipeline.suggesting.known_schemas import KnownColumn, KnownSchema, KnownTable
from indistinct.policy import Column, Knows, LinkedTable, Policy, drop, identifier, quasi
from indistinct.privacy import KAnonymity
from indistinct.profiling import ColumnStatistics, shape_of, statistics_of
from indistinct.progress import Watch
from indistinct.showing.words import counted

EVENTS = 2
"""So many events of a person others may know."""
YEARS = (5, 10, 20, 40)
NO_CONCEPT = "0"
"""What OMOP writes where there is no concept."""
LONGEST_CODE, LONGEST_PREFIX = 40, 4
ANCESTORS = "concept_ancestor"
ANCESTOR_COLUMNS = ("ancestor_concept_id", "descendant_concept_id", "min_levels_of_separation")


@dataclass(frozen=True, slots=True)
class FoundTables:
    """The tables of a form that lie in a folder, and the names of all else there."""

    paths: Mapping[str, Path]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadyPolicy:
    """A policy for tables of a known form, and why it is so."""

    policy: Policy
    tables: Mapping[str, Path]
    """Where the table lies that the policy calls so."""
    reasons: tuple[str, ...]
    comments: Mapping[str, str] = field(default_factory=dict)
    """The reason for each column."""


def find_tables(folder: Path, names: Sequence[str]) -> FoundTables:
    """Return which files of a folder hold the tables of these names, in whatever case and format they are written."""
    if not folder.is_dir():
        raise TableError(f"{folder}: is no folder; name the one that holds the tables")
    paths: dict[str, Path] = {}
    others = []
    for path in sorted(folder.iterdir()):
        name = table_name(path)
        if name in names and name in paths:
            raise TableError(f"{folder.name}: {paths[name].name} and {path.name} are both {name}; take one away")
        if name in names:
            paths[name] = path
        elif not path.name.startswith("."):
            others.append(path.name)
    return FoundTables(paths, tuple(others))


def table_name(path: Path) -> str:
    """Return what the table of a file is called: the file's name in lower case without the endings of its format.

    >>> table_name(Path("PERSON.csv.gz")), table_name(Path("person.txt.bak"))
    ('person', 'person.txt.bak')
    """
    name = path.name.lower()
    if Path(name).suffix in COMPRESSED:
        name = name.removesuffix(Path(name).suffix)
    return name.removesuffix(Path(name).suffix) if Path(name).suffix in known_suffixes() else name


def ready_policy(
    folder: Path, schema: KnownSchema, k: int = 5, *, watch: Watch | None = None, **reading: Any
) -> ReadyPolicy:
    """Return the policy of the tables of a known form that lie in a folder: it runs as it is."""
    watch = watch or Watch()
    found = find_tables(folder, (*schema.tables, ANCESTORS))
    paths = dict(found.paths)
    ancestors = paths.pop(ANCESTORS, None)
    if schema.people not in paths:
        raise TableError(
            f"{folder.name or folder}: holds no table {schema.people}, such as {schema.people}.csv or "
            f"{schema.people}.parquet"
        )
    ancestry = None if ancestors is None else _Ancestors(ancestors, reading)
    made: dict[str, _MadeTable] = {}
    reasons = [
        f"{name}: left out, since it is no table of {schema.name} that a policy is known for" for name in found.others
    ]
    people: frozenset[str | None] = frozenset()
    for name in sorted(paths, key=lambda one: (one != schema.people, list(schema.tables).index(one))):
        with use_table(paths[name], **reading) as rows:
            if not rows.count():
                if name == schema.people:
                    raise TableError(f"{rows.name}: has no row, so there is nobody to release")
                reasons.append(f"{name}: left out, since it has no row")
                continue
            person = _person_column(rows, schema)
            people = _check_people(rows, person, people, is_list=name == schema.people)
            made[name] = _Columns(rows, schema.tables[name], person, ancestry, watch).make()
    policy = _policy(made, schema, k)
    if len(made) == 1:
        reasons.append(f"{schema.people} stands alone: without events nothing is asked of them")
    else:
        reasons.append(
            f"knows = {{ events = {EVENTS} }}: others may know a person's row and any {EVENTS} of her events"
        )
    comments = {column: said for one in made.values() for column, said in one.reasons.items()}
    return ReadyPolicy(policy, {name: paths[name] for name in made}, tuple(reasons), comments)


@dataclass(frozen=True, slots=True)
class _MadeTable:
    person: str
    columns: Mapping[str, Column]
    reasons: Mapping[str, str]


def _policy(made: Mapping[str, _MadeTable], schema: KnownSchema, k: int) -> Policy:
    """Return the policy of one table of people, or of people and events."""
    people = made[schema.people]
    if len(made) == 1:
        columns = {people.person: identifier(), **people.columns}
        return Policy(columns=columns, privacy=[KAnonymity(k)], max_suppression=0.02)
    tables = {
        name: LinkedTable(one.columns, key=one.person)
        if name == schema.people
        else LinkedTable(one.columns, references={one.person: schema.people})
        for name, one in made.items()
    }
    return Policy(tables=tables, privacy=[KAnonymity(k)], person=people.person, knows=Knows(EVENTS))


def _person_column(rows: Rows, schema: KnownSchema) -> str:
    """Return what the column of the person is called in a table, as regards capitals."""
    found = next((name for name in rows.columns() if name.lower() == schema.person), None)
    if found is None:
        raise TableError(f"{rows.name}: has no column {schema.person!r}, which says whose row it is")
    return found


def _check_people(rows: Rows, person: str, people: frozenset[str | None], *, is_list: bool) -> frozenset[str | None]:
    """Return who is listed; raise if somebody is not, or is twice: a release would be refused."""
    with rows.encode([person]) as encoded:
        values = frozenset(encoded.values[person])
        total = encoded.rows
    if None in values:
        raise TableError(f"{rows.name}: rows have nothing in {person!r}, which says whose they are; take them out")
    if is_list and len(values) < total:
        raise TableError(
            f"{rows.name}: {counted(total - len(values), 'row repeats', 'rows repeat')} the {person!r} of another; "
            "a person has one row there"
        )
    if not is_list and (lost := values - people):
        raise TableError(
            f"{rows.name}: {counted(len(lost), 'person', 'people')} in {person!r} have no row in the table of people; "
            "take their rows out, or add theirs"
        )
    return values if is_list else people


class _Ancestors:
    """The table of ancestors of concepts: only what some concepts need of it is read."""

    def __init__(self, path: Path, reading: Mapping[str, Any]) -> None:
        self._path = path
        self._reading = reading

    def tree(self, concepts: Sequence[str]) -> Hierarchy | None:
        """Return the hierarchy of some concepts, if their ancestors are there."""
        with use_table(self._path, **self._reading) as rows:
            named = {name.lower(): name for name in rows.columns()}
            if lacking := [name for name in ANCESTOR_COLUMNS if name not in named]:
                raise TableError(f"{rows.name}: has no column {lacking[0]!r}")
            names = [named[name] for name in ANCESTOR_COLUMNS]
            first = self._read(rows, names, concepts)
            further = {ancestor for ancestor, _, _ in first} - set(concepts)
            return concept_tree([*first, *self._read(rows, names, sorted(further))], concepts)

    @staticmethod
    def _read(rows: Rows, names: Sequence[str], concepts: Sequence[str]) -> list[Ancestry]:
        """Return the ancestors of some concepts."""
        if not concepts:
            return []
        with rows.encode(names, [(names[1], "in", tuple(concepts))]) as encoded:
            codes = [codes.tolist() for codes in encoded.count_by(names).codes]
            texts = [encoded.values[name] for name in names]
        lines = zip(*([text[code] for code in own] for text, own in zip(texts, codes, strict=True)), strict=True)
        return [
            (above, below, int(steps))
            for above, below, steps in lines
            if above and below and steps and steps.isdecimal()
        ]


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of a table, as what is known of its form says."""

    rows: Rows
    known: KnownTable
    person: str
    ancestors: _Ancestors | None
    watch: Watch

    def make(self) -> _MadeTable:
        """Return the columns, with a reason for each."""
        named = {name.lower(): name for name in self.rows.columns() if name != self.person}
        sources = {one.source for one in self.known.quasi.values() if one.source}
        wanted = [name for lower, name in named.items() if lower in self.known.quasi or lower in sources]
        cells = self._cells(wanted)
        chosen: dict[str, tuple[Column, str]] = {}
        for lower, one in self.known.quasi.items():
            is_there = lower in named and bool(cells[named[lower]].present)
            other = named.get(one.unless or "")
            if one.kind == "concept":
                chosen |= self._concept(named.get(lower), named.get(one.source or ""), cells)
            elif is_there and not (other and cells[other].present):
                chosen[named[lower]] = _quasi(named[lower], one, cells[named[lower]])
        columns, reasons = {}, {}
        for lower, name in named.items():
            columns[name], reasons[name] = chosen.get(name, (drop(), self._why_dropped(lower, name, cells)))
        return _MadeTable(self.person, columns, reasons)

    def _why_dropped(self, lower: str, name: str, cells: Mapping[str, ColumnStatistics]) -> str:
        """Return why a column is not released."""
        if name in cells and not cells[name].present:
            return "it has no cell"
        one = self.known.quasi.get(lower)
        if one is not None and one.unless is not None:
            return f"says again what {one.unless} says"
        return self.known.dropped.get(lower, "this form of table does not have it, so nothing is known of it")

    def _cells(self, names: Sequence[str]) -> dict[str, ColumnStatistics]:
        """Return what the cells of some columns are."""
        coded = coded_columns(self.rows, names)
        return statistics_of(self.rows, coded, self.rows.count(), self.watch, names)

    def _concept(
        self, concept: str | None, source: str | None, cells: Mapping[str, ColumnStatistics]
    ) -> dict[str, tuple[Column, str]]:
        """Return how a concept and its code in the source are released: one of them, by ancestors or by the code."""
        concepts = [] if concept is None else [one for one in cells[concept].values or () if one != NO_CONCEPT]
        tree = self.ancestors.tree(concepts) if self.ancestors is not None and concepts else None
        by_source = None if source is None else _code_hierarchy(source, cells[source])
        again = "says what the other column of the code says"
        if concept is not None and concepts and (tree is not None or by_source is None):
            how = (
                f"by its ancestors in {ANCESTORS}"
                if tree is not None
                else (f"no common ancestors in {ANCESTORS}, and no code that tells its kind: it stays or is left out")
            )
            made = quasi(tree or suppress(), missing=_no_concept(cells[concept]))
            return {concept: (made, how)} | ({} if source is None else {source: (drop(), again)})
        if source is None or not cells[source].present:
            return {}
        if by_source is None:
            by_source = quasi(suppress()), "codes without a common shape: one stays or is left out"
        return {source: by_source} | ({} if concept is None else {concept: (drop(), again)})


def _no_concept(cells: ColumnStatistics) -> tuple[str, ...]:
    """Return the code of a missing cell, where there is one."""
    return (NO_CONCEPT,) if NO_CONCEPT in (cells.values or ()) else ()


def _quasi(name: str, known: KnownColumn, cells: ColumnStatistics) -> tuple[Column, str]:
    """Return a column that others may know, and how it is generalized."""
    if known.kind == "category":
        return quasi(suppress(), missing=_no_concept(cells)), "a kind, which stays or is left out"
    if known.kind == "year":
        years = intervals(*YEARS)
        is_odd = bool(cells.values and years.unreadable(cells.values))
        return quasi(years, unreadable="missing" if is_odd else "refuse"), "a year"
    if known.kind == "code":
        made = _code_hierarchy(name, cells)
        return made or (quasi(suppress()), "codes without a common shape: one stays or is left out")
    shape = shape_of(name, cells)
    if shape.kind != "dates":
        return quasi(suppress()), "no dates could be read in it: a cell stays or is left out"
    return quasi(shape.hierarchy, missing=shape.missing_codes, unreadable=shape.unreadable), shape.words


def _code_hierarchy(name: str, cells: ColumnStatistics) -> tuple[Column, str] | None:
    """Return codes by the catalogue, or by their first characters; None if they are numbers that mean nothing."""
    if not cells.values:
        return None
    shape = shape_of(name, cells)
    if shape.kind in ("icd10", "icd10_cm", "icd9"):
        return quasi(shape.hierarchy, missing=shape.missing_codes, unreadable=shape.unreadable), shape.words
    longest = max(map(len, cells.values))
    with_letters = sum(any(map(str.isalpha, value)) and " " not in value for value in cells.values)
    if 2 * with_letters <= len(cells.values) or not 2 <= longest <= LONGEST_CODE:
        return None
    kept = [length for length in range(LONGEST_PREFIX, 0, -1) if length < longest]
    return quasi(prefix(longest, keep=kept)), "codes by their first characters"
