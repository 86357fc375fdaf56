"""queries(): how far COUNT(*) queries on a release go wrong, by the workload of Wong et al. 2007, section 7.

A query asks how many rows have one of some values in each of a few columns. Its answer on the original is known; on a
release it must be estimated, since generalized cells say less than a query asks, and two tables do not say who has
which sensitive value. How good the estimates are is what the release is worth to somebody who counts.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indistinct.counting import IntArray
from indistinct.engine import Rows, open_table
from indistinct.errors import InfeasibleError, PolicyError, TableError
from indistinct.hierarchy import CompiledHierarchy
from indistinct.policy import Policy
from indistinct.privacy.model import BoolArray
from indistinct.proof.truth import Covers
from indistinct.recoding.link_column import LINK
from indistinct.release import MANIFEST, Release
from indistinct.showing.words import counted

FloatArray = NDArray[np.float64]
Named = Mapping[str, BoolArray]
"""A query: for each column that it asks about, which of the column's values it names."""

ONE_TABLE = ("uniform", "overlap")
TWO_TABLES = ("proportional", "paper")
"""The estimators of each form of release: first the one that spreads evenly what is not known, then the one that counts
whatever could match."""

DIMENSIONS = 4
"""Quasi columns that a query asks about if nothing is said; fewer if the policy has fewer."""
EMPTY_DRAWS = 10_000
"""So many queries in a row that no row matches: there is hardly one that any row does."""


@dataclass(frozen=True, slots=True)
class Query:
    """Counts the rows that have, in each of some columns, one of some values; None stands for a missing one."""

    predicates: Mapping[str, tuple[str | None, ...]]
    count: int
    """The rows of the original that match; never 0."""


@dataclass(frozen=True, slots=True, eq=False)
class QueryErrors:
    """What each estimator answers to each query on one release, beside what is true.

    >>> found = QueryErrors(np.array([4, 10]), {"uniform": np.array([5.0, 10.0]), "overlap": np.array([6.0, 20.0])})
    >>> found.average
    {'uniform': 0.125, 'overlap': 0.75}
    """

    actual: IntArray
    """The answers on the original."""
    estimates: Mapping[str, FloatArray]
    """The answers on the release by estimator: ``uniform`` and ``overlap`` for one table, ``proportional`` and
    ``paper`` for two."""

    @property
    def estimators(self) -> tuple[str, ...]:
        """The estimators; the first is the one to use."""
        return tuple(self.estimates)

    def relative(self, estimator: str) -> FloatArray:
        """Give the relative error of every query: the distance to the actual count, in actual counts."""
        if estimator not in self.estimates:
            raise PolicyError(f"estimator: there is no {estimator!r}; this release has {' and '.join(self.estimates)}")
        return np.abs(self.actual - self.estimates[estimator]) / self.actual

    @property
    def average(self) -> dict[str, float]:
        """The average relative error by estimator: the figure of the paper."""
        return {estimator: float(self.relative(estimator).mean()) for estimator in self.estimates}

    @property
    def median(self) -> dict[str, float]:
        """The median relative error by estimator: half of the queries go no further wrong."""
        return {estimator: float(np.median(self.relative(estimator))) for estimator in self.estimates}

    def to_dict(self) -> dict[str, Any]:
        """Give the averages and medians as JSON takes them."""
        return {"queries": len(self.actual), "average": self.average, "median": self.median}

    def __repr__(self) -> str:
        average, median = self.average, self.median
        said = [f"{name} {average[name]:.4f} on average, {median[name]:.4f} in the median" for name in self.estimates]
        return f"QueryErrors({counted(len(self.actual), 'query', 'queries')}: {'; '.join(said)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Workload:
    """Queries that were drawn from an original table, to be asked of its releases.

    It holds values of the private table: keep it as you keep the table.
    """

    policy: Policy
    sensitive: str | None
    """The sensitive column that every query asks about, besides some quasi columns."""
    dimensions: int
    """The number of quasi columns that a query asks about."""
    selectivity: float
    """The share of the rows that a query would match if columns were independent and values equally frequent."""
    seed: int
    domains: Mapping[str, CompiledHierarchy]
    """The values of each column that queries may ask about, with its hierarchy for them."""
    named: tuple[Named, ...]
    """For each query which values it names in which columns."""
    counts: IntArray
    """The rows of the original that match each query; never 0."""

    def __len__(self) -> int:
        return len(self.named)

    def __repr__(self) -> str:
        about = counted(self.dimensions, "quasi column") + (f" and {self.sensitive!r}" if self.sensitive else "")
        asked = counted(len(self), "query", "queries")
        return f"Workload({asked} about {about}, selectivity {self.selectivity:g}, seed {self.seed})"

    @property
    def queries(self) -> tuple[Query, ...]:
        """The queries in words, to be asked elsewhere."""
        return tuple(
            Query(
                {name: tuple(compress(self.domains[name].values, chosen)) for name, chosen in query.items()}, int(count)
            )
            for query, count in zip(self.named, self.counts, strict=True)
        )

    def predicate_sizes(self) -> dict[str, int]:
        """Give how many values a predicate on each column names: the paper's b."""
        return _sizes(self.domains, self.dimensions + (self.sensitive is not None), self.selectivity)

    def describe(self) -> dict[str, Any]:
        """Say how the queries were drawn, without any value."""
        return {
            "queries": len(self),
            "dimensions": self.dimensions,
            "selectivity": self.selectivity,
            "seed": self.seed,
            "sensitive": self.sensitive,
        }

    def errors(self, release: Any, **reading: Any) -> QueryErrors:
        """Ask the queries of a release and give the estimates beside the actual counts.

        ``release`` is a Release, a release folder, a table of any kind, or the two tables of a release under the names
        ``quasi`` and ``sensitive``. Only its cells are looked at, and what its labels cover among the values of the
        original. Suppressed rows are missing from the answers. ``reading`` goes to the engine.

        One table has these estimates:

        uniform    a generalized cell stands for each value below it equally often, so a row counts as the share of
                   its cells' values that the query names
        overlap    a row counts if each of its cells may be one of the values that the query names

        and two tables these:

        proportional  a class's matching sensitive rows are spread evenly over its quasi rows, as Xiao and Tao 2006 do
        paper         every matching sensitive row of every class that has a matching quasi row: it never falls below
                      the actual count if no row is suppressed

        A blank cell means a missing value if the original has missing cells in its column; else it may be any value,
        as may all cells of a row whose quasi cells are all blank under ``suppressed_rows = "blank"``.

        Source: Wong et al. 2007, section 7, which does not say how a generalized cell is matched.
        """
        with _opened(release, reading) as tables:
            form = self._two_tables(tables) if len(tables) > 1 else self._one_table(tables["table"])
        answers = np.array([form.estimates(query) for query in self.named], np.float64)
        return QueryErrors(self.counts, dict(zip(form.estimators, answers.T, strict=True)))

    def _one_table(self, rows: Rows) -> _OneTable:
        return _OneTable(self._counted(rows, (*self.policy.quasi, *([self.sensitive] if self.sensitive else []))))

    def _two_tables(self, tables: Mapping[str, Rows]) -> _TwoTables:
        if self.sensitive is None:
            raise PolicyError("a release of two tables has a sensitive column, but the workload asks about none")
        quasi = self._counted(tables["quasi"], (*self.policy.quasi, LINK))
        sensitive = self._counted(tables["sensitive"], (self.sensitive, LINK))
        return _TwoTables.of(quasi, sensitive, self.sensitive)

    def _counted(self, rows: Rows, names: Sequence[str]) -> _Counted:
        """Count the cells of a released table, and find out what its labels cover."""
        absent = [name for name in names if name not in rows.columns()]
        if absent:
            raise PolicyError([f"columns.{name}: the release has no such column" for name in absent])
        texts = rows.encode(names)
        found = rows.count_by(names)
        codes = {name: np.asarray(own, np.int64) for name, own in zip(names, found.codes, strict=True)}
        is_blank = self._blank_rows(texts, codes, len(found.counts))
        labels = {}
        for name in names:
            if name in self.policy.quasi:
                domain = self.domains[name]
                covers = Covers(domain)
                covered = [_covered(label, domain, covers) for label in texts[name]]
                codes[name] = np.where(is_blank, len(covered), codes[name])
                labels[name] = _Labels.of([*covered, np.arange(len(domain.values))])
            elif name in self.domains:
                labels[name] = _Labels.same(texts[name], self.domains[name].values)
        return _Counted(codes, np.asarray(found.counts, np.int64), labels, texts.get(LINK, ()))

    def _blank_rows(
        self, texts: Mapping[str, Sequence[str | None]], codes: Mapping[str, IntArray], entries: int
    ) -> BoolArray:
        """Tell which entries are rows that were suppressed and left blank."""
        is_blank = np.full(entries, self.policy.suppressed_rows == "blank")
        for name in self.policy.quasi:
            if name in codes:
                is_blank &= np.array([text is None for text in texts[name]], np.bool_)[codes[name]]
        return is_blank


def queries(
    table: Any,
    policy: Policy,
    *,
    dimensions: int | None = None,
    selectivity: float = 0.05,
    number: int = 1000,
    seed: int = 0,
    sensitive: str | None = None,
    **reading: Any,
) -> Workload:
    """Draw COUNT(*) queries from the eligible rows of an original table, to ask them of its releases.

    Each asks about ``dimensions`` random quasi columns, 4 or all if there are fewer, and about the sensitive column,
    and names for each of them ⌈|A| · s^(1 / number of predicates)⌉ different random values of the |A| that the table
    has there: at ``selectivity`` s, so many that a query would match the share s of the rows if columns were
    independent and values equally frequent. A missing cell is a value like any other. Queries that no row matches are
    drawn again. ``sensitive`` says which sensitive column if there are several; a policy without one has queries about
    quasi columns alone. The same ``seed`` gives the same queries. ``reading`` goes to the engine.

    Source: Wong et al. 2007, section 7.
    """
    sensitive = _check(policy, dimensions, selectivity, number, seed, sensitive)
    rows = open_table(table, **reading)
    try:
        policy.check(rows.columns())
        names = (*policy.quasi, *([sensitive] if sensitive else []))
        values = rows.encode(names, [condition.as_triple() for condition in policy.eligible])
        found = rows.count_by(names)
    finally:
        if rows is not table:
            rows.close()
    if not len(found.counts):
        raise InfeasibleError("the table has no eligible rows")
    domains = _compiled(policy, values)
    dimensions = dimensions or min(DIMENSIONS, len(policy.quasi))
    sizes = _sizes(domains, dimensions + (sensitive is not None), selectivity)
    original = _Counted(
        {name: np.asarray(codes, np.int64) for name, codes in zip(names, found.codes, strict=True)},
        np.asarray(found.counts, np.int64),
        {name: _Labels.same(values[name], values[name]) for name in names},
    )
    generator = np.random.default_rng(seed)
    named: list[Named] = []
    counts: list[int] = []
    empty = 0
    while len(named) < number and empty < EMPTY_DRAWS:
        query = _drawn(generator, policy.quasi, dimensions, sensitive, sizes, domains)
        count = int(original.counts[original.matching(query) > 0].sum())
        if count:
            named.append(query)
            counts.append(count)
        empty = 0 if count else empty + 1
    if len(named) < number:
        raise PolicyError(
            f"selectivity: of {EMPTY_DRAWS:,} queries in a row none matches any row; raise it above {selectivity:g}"
        )
    return Workload(
        policy, sensitive, dimensions, float(selectivity), seed, domains, tuple(named), np.array(counts, np.int64)
    )


def predicate_size(values: int, predicates: int, selectivity: float) -> int:
    """Give how many of a column's values a predicate names, in a query of so many predicates.

    >>> [predicate_size(values, 5, 0.05) for values in (74, 16, 2)]
    [41, 9, 2]
    """
    exact = values * math.pow(selectivity, 1 / predicates)
    return max(1, math.ceil(exact - 1e-9))  # 10 * 0.001 ** (1 / 3) is a bit above 1


def _check(
    policy: Policy, dimensions: int | None, selectivity: float, number: int, seed: int, sensitive: str | None
) -> str | None:
    """Raise every mistake at once; give the sensitive column that is meant."""
    mistakes = []
    if dimensions is not None and (not _is_whole(dimensions, 1) or dimensions > len(policy.quasi)):
        mistakes.append(
            f"dimensions: must be a whole number from 1 to {len(policy.quasi)}, the number of quasi columns, "
            f"got {dimensions!r}"
        )
    if isinstance(selectivity, bool) or not isinstance(selectivity, int | float) or not 0 < selectivity <= 1:
        mistakes.append(f"selectivity: must lie above 0 and be at most 1, got {selectivity!r}")
    for name, value, least in (("number", number, 1), ("seed", seed, 0)):
        if not _is_whole(value, least):
            mistakes.append(f"{name}: must be a whole number of at least {least}, got {value!r}")
    declared = policy.with_role("sensitive")
    if sensitive is not None and sensitive not in declared:
        mistakes.append(f"sensitive: {sensitive!r} is not a sensitive column of the policy")
    elif sensitive is None and declared:
        likely = policy.asked_sensitive if len(declared) > 1 else declared
        if len(likely) == 1:
            sensitive = likely[0]
        else:
            mistakes.append(f"sensitive: say which of {', '.join(map(repr, declared))} the queries ask about")
    if mistakes:
        raise PolicyError(mistakes)
    return sensitive


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _compiled(policy: Policy, values: Mapping[str, tuple[str | None, ...]]) -> dict[str, CompiledHierarchy]:
    """Compile each column's hierarchy for its values; raise every mistake at once."""
    compiled, mistakes = {}, []
    for name, own in values.items():
        try:
            compiled[name] = policy.columns[name].compile(own)
        except PolicyError as error:
            mistakes += [f"column {name!r}: {mistake}" for mistake in error.mistakes]
    if mistakes:
        raise PolicyError(mistakes)
    return compiled


def _sizes(domains: Mapping[str, CompiledHierarchy], predicates: int, selectivity: float) -> dict[str, int]:
    return {name: predicate_size(len(domain.values), predicates, selectivity) for name, domain in domains.items()}


def _drawn(
    generator: np.random.Generator,
    quasi: Sequence[str],
    dimensions: int,
    sensitive: str | None,
    sizes: Mapping[str, int],
    domains: Mapping[str, CompiledHierarchy],
) -> Named:
    """Draw the columns of a query, and the values that it names in each."""
    places = np.sort(generator.choice(len(quasi), dimensions, replace=False))
    query = {}
    for name in [*(quasi[place] for place in places), *([sensitive] if sensitive else [])]:
        query[name] = np.zeros(len(domains[name].values), np.bool_)
        query[name][generator.choice(len(query[name]), sizes[name], replace=False)] = True
    return query


def _covered(label: str | None, domain: CompiledHierarchy, covers: Covers) -> IntArray:
    """Give the codes of the values that a released cell may stand for."""
    if label is None and domain.values[-1] is None:  # a missing value has the last code
        return np.array([len(domain.values) - 1])
    return covers.of(label)


@dataclass(frozen=True, slots=True)
class _Labels:
    """The labels of a column and the values of the original that each covers, as pairs."""

    label_of: IntArray
    value_of: IntArray
    sizes: IntArray
    """The number of values that each label covers."""

    @classmethod
    def of(cls, covered: Sequence[IntArray]) -> _Labels:
        """Give the labels that cover these values each."""
        sizes = np.array([len(own) for own in covered], np.int64)
        flat = np.concatenate([*covered, np.zeros(0, np.int64)]).astype(np.int64)
        return cls(np.repeat(np.arange(len(covered)), sizes), flat, sizes)

    @classmethod
    def same(cls, labels: Sequence[str | None], values: Sequence[str | None]) -> _Labels:
        """Give labels that are values themselves; one that the original does not have covers nothing."""
        code_of = {value: code for code, value in enumerate(values)}
        return cls.of([np.array([code_of[label]] if label in code_of else [], np.int64) for label in labels])

    def shares(self, chosen: BoolArray) -> FloatArray:
        """Give the share of each label's values that is chosen."""
        found = np.bincount(self.label_of, chosen[self.value_of], len(self.sizes))
        return np.asarray(found / np.maximum(self.sizes, 1), np.float64)


@dataclass(frozen=True, slots=True)
class _Counted:
    """The distinct rows of a table over some columns: an entry each, with its label codes and its number of rows."""

    codes: Mapping[str, IntArray]
    counts: IntArray
    labels: Mapping[str, _Labels]
    classes: Sequence[str | None] = ()
    """The names of the classes, if the table has any."""

    def matching(self, query: Named) -> FloatArray:
        """Give the share of each entry's rows that a query matches if labels are spread evenly; 0 if it cannot."""
        shares: FloatArray = np.ones(len(self.counts))
        for name, chosen in query.items():
            shares *= self.labels[name].shares(chosen).take(self.codes[name])
        return shares


@dataclass(frozen=True, slots=True)
class _OneTable:
    """A table, generalized or not."""

    table: _Counted
    estimators = ONE_TABLE

    def estimates(self, query: Named) -> tuple[float, float]:
        """Give the answers to a query: spread evenly, and whatever could match."""
        shares, rows = self.table.matching(query), self.table.counts
        return float((rows * shares).sum()), float(rows[shares > 0].sum())


@dataclass(frozen=True, slots=True)
class _TwoTables:
    """Quasi and sensitive cells apart, each row of both in a class."""

    quasi: _Counted
    sensitive: _Counted
    column: str
    """The sensitive column."""
    class_of: tuple[IntArray, IntArray]
    """The class of each entry of both tables."""
    sizes: IntArray
    estimators = TWO_TABLES

    @classmethod
    def of(cls, quasi: _Counted, sensitive: _Counted, column: str) -> _TwoTables:
        """Number the classes of both tables alike."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys([*quasi.classes, *sensitive.classes]))}
        first, second = (
            np.array([numbers[name] for name in table.classes], np.int64)[table.codes[LINK]]
            for table in (quasi, sensitive)
        )
        sizes = np.bincount(first, quasi.counts, len(numbers)).astype(np.int64)
        return cls(quasi, sensitive, column, (first, second), np.maximum(sizes, 1))

    def estimates(self, query: Named) -> tuple[float, float]:
        """Give the answers to a query: spread evenly, and whatever could match."""
        about_quasi = {name: chosen for name, chosen in query.items() if name != self.column}
        people = self.quasi.counts * self.quasi.matching(about_quasi)
        values = self.sensitive.counts * self.sensitive.matching({self.column: query[self.column]})
        matching, possible = (
            np.bincount(class_of, rows, len(self.sizes))
            for class_of, rows in zip(self.class_of, (people, values), strict=True)
        )
        return float((matching * possible / self.sizes).sum()), float(possible[matching > 0].sum())


@contextmanager
def _opened(release: Any, reading: Mapping[str, Any]) -> Iterator[Mapping[str, Rows]]:
    """Give the tables of a release by name, ``table`` or ``quasi`` and ``sensitive``; close those opened here."""
    if isinstance(release, Release):
        yield release._parts
        return
    if isinstance(release, str | os.PathLike) and (Path(release) / MANIFEST).is_file():
        release, said = _files(Path(release))
        reading = {**reading, "delimiter": said, "encoding": None}
    tables = release if isinstance(release, Mapping) else {"table": release}
    if set(tables) not in ({"table"}, {"quasi", "sensitive"}):
        raise TableError('a release is one table, or two under the names "quasi" and "sensitive"')
    with ExitStack() as stack:
        opened = {}
        for name, table in tables.items():
            opened[name] = rows = open_table(table, **reading)
            if rows is not table:
                stack.enter_context(rows)
        yield opened


def _files(folder: Path) -> tuple[dict[str, Path], str | None]:
    """Give the table files of a release folder by name, and what separates their cells if they are text."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        names = [Path(name).name for name in manifest["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise TableError(f"{folder / MANIFEST} is no manifest of a release; give the table file itself") from None
    return {Path(name).stem: folder / name for name in names}, manifest.get("delimiter")
