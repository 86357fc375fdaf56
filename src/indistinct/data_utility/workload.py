"""queries(): how far COUNT(*) queries on a release go wrong, by the workload of Wong et al. 2007, section 7.

A query asks how many rows have one of some values in each of a few columns. Its answer on the original is known; on a
release it must be estimated, since generalized cells say less than a query asks, and two tables do not say who has
which sensitive value. How good the estimates are is what the release is worth to somebody who counts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import Any

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import IntArray, as_declared, encode_eligible
from indistinct.data_utility.query_errors import QueryErrors
from indistinct.data_utility.query_estimates import (
    CountedTable,
    CoveredLabels,
    Named,
    OneTableEstimates,
    TwoTablesEstimates,
)
from indistinct.engine import Rows, use_table
from indistinct.errors import InfeasibleError, PolicyError
from indistinct.hierarchy import CompiledHierarchy
from indistinct.policy import Policy
from indistinct.policy.files.policy_file import load_policy
from indistinct.proof.truth.row_fits import Covers
from indistinct.recoding.classes import LINK
from indistinct.release.released_tables import ReleasedTables
from indistinct.showing.words import counted

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
        """Return how many values a predicate on each column names: the paper's b."""
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

    def errors(self, release: Any, *, literal: bool = False, **reading: Any) -> QueryErrors:
        """Ask the queries of a release and give the estimates beside the actual counts.

        ``release`` is a Release, a release folder, a table of any kind, or the two tables of a release under the names
        ``quasi`` and ``sensitive``. Only its cells are looked at, and what its labels cover among the values of the
        original. Suppressed rows are missing from the answers. ``reading`` goes to the engine.

        One table has these estimates:

        - ``uniform``: a generalized cell stands for each value below it equally often, so a row counts as the share of
          its cells' values that the query names
        - ``overlap``: a row counts if each of its cells may be one of the values that the query names
        - ``literal``, only if it is asked for: a row counts if each of its cells is, as text, one of these values, so
          that a generalized cell never matches: the paper's first query as it stands, asked of the generalized table

        and two tables these:

        - ``proportional``: a class's matching sensitive rows are spread evenly over its quasi rows, as Xiao and Tao
          2006 do
        - ``paper``: every matching sensitive row of every class that has a matching quasi row: it never falls below the
          actual count if no row is suppressed

        A blank cell means a missing value if the original has missing cells in its column; else it may be any value,
        as may all cells of a row whose quasi cells are all blank under ``suppressed_rows = "blank"``.

        Source: Wong et al. 2007, section 7, which does not say how a generalized cell is matched.
        """
        released = ReleasedTables.of(release, self.policy, **reading)
        with released.rows() as tables:
            if released.form.generalizes:
                form: OneTableEstimates | TwoTablesEstimates = self._one_table(tables["table"], literal)
            else:
                form = self._two_tables(tables)
        answers = np.array([form.estimates(query) for query in self.named], np.float64)
        return QueryErrors(self.counts, dict(zip(form.estimators, answers.T, strict=True)))

    def _one_table(self, rows: Rows, literal: bool) -> OneTableEstimates:
        names = (*self.policy.quasi, *([self.sensitive] if self.sensitive else []))
        as_text = self._count_table(rows, names, literal=True) if literal else None
        return OneTableEstimates(self._count_table(rows, names), as_text)

    def _two_tables(self, tables: Mapping[str, Rows]) -> TwoTablesEstimates:
        if self.sensitive is None:
            raise PolicyError("a release of two tables has a sensitive column, but the workload asks about none")
        quasi = self._count_table(tables["quasi"], (*self.policy.quasi, LINK))
        sensitive = self._count_table(tables["sensitive"], (self.sensitive, LINK))
        return TwoTablesEstimates.of(quasi, sensitive, self.sensitive)

    def _count_table(self, rows: Rows, names: Sequence[str], *, literal: bool = False) -> CountedTable:
        """Count the cells of a released table, and find out what its labels cover, or as text are."""
        absent = [name for name in names if name not in rows.columns()]
        if absent:
            raise PolicyError([f"columns.{name}: the release has no such column" for name in absent])
        with rows.encode(names) as encoded:
            texts, found = encoded.values, encoded.count_by(names)
        codes = {name: np.asarray(own, np.int64) for name, own in zip(names, found.codes, strict=True)}
        is_blank = self._blank_rows(texts, codes, len(found.counts))
        labels = {}
        for name in names:
            if name in self.domains and (literal or name not in self.policy.quasi):
                labels[name] = CoveredLabels.same(texts[name], self.domains[name].values)
            elif name in self.policy.quasi:
                domain = self.domains[name]
                covers = Covers(domain)
                covered = [_values_covered(label, domain, covers) for label in texts[name]]
                codes[name] = np.where(is_blank, len(covered), codes[name])
                labels[name] = CoveredLabels.of([*covered, np.arange(len(domain.values))])
        return CountedTable(codes, np.asarray(found.counts, np.int64), labels, texts.get(LINK, ()))

    def _blank_rows(
        self, texts: Mapping[str, Sequence[str | None]], codes: Mapping[str, IntArray], entries: int
    ) -> BoolArray:
        """Return which entries are rows that were suppressed and left blank."""
        is_blank = np.full(entries, self.policy.suppressed_rows == "blank")
        for name in self.policy.quasi:
            if name in codes:
                is_blank &= np.array([text is None for text in texts[name]], np.bool_)[codes[name]]
        return is_blank


def queries(
    table: Any,
    policy: Policy | str | os.PathLike[str],
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
    and names for each of them ``⌈a · s^(1 / number of predicates)⌉`` different random values of the ``a`` that the
    table has there: at ``selectivity`` s, so many that a query would match the share s of the rows if columns were
    independent and values equally frequent. A missing cell is a value like any other. Queries that no row matches are
    drawn again. ``sensitive`` says which sensitive column if there are several; a policy without one has queries about
    quasi columns alone. The same ``seed`` gives the same queries. ``reading`` goes to the engine.

    Source: Wong et al. 2007, section 7.
    """
    policy = load_policy(policy, to="workload")
    sensitive = _check(policy, dimensions, selectivity, number, seed, sensitive)
    with use_table(table, **reading) as given, as_declared(given, policy) as rows:
        policy.check(rows.columns())
        names = (*policy.quasi, *([sensitive] if sensitive else []))
        with encode_eligible(rows, policy, names) as encoded:
            values, found = encoded.values, encoded.count_by(names)
    if not len(found.counts):
        raise InfeasibleError("the table has no eligible rows")
    domains = _compile_hierarchies(policy, values)
    dimensions = dimensions or min(DIMENSIONS, len(policy.quasi))
    sizes = _sizes(domains, dimensions + (sensitive is not None), selectivity)
    original = CountedTable(
        {name: np.asarray(codes, np.int64) for name, codes in zip(names, found.codes, strict=True)},
        np.asarray(found.counts, np.int64),
        {name: CoveredLabels.same(values[name], values[name]) for name in names},
    )
    draw = partial(_draw_query, np.random.default_rng(seed), policy.quasi, dimensions, sensitive, sizes, domains)
    named, counts = _draw_matching(draw, original, number, selectivity)
    return Workload(
        policy, sensitive, dimensions, float(selectivity), seed, domains, tuple(named), np.array(counts, np.int64)
    )


def _draw_matching(
    draw: Callable[[], Named], original: CountedTable, number: int, selectivity: float
) -> tuple[list[Named], list[int]]:
    """Draw queries that some row matches, and count the rows of each; raise if hardly any query is matched."""
    named: list[Named] = []
    counts: list[int] = []
    empty = 0
    while len(named) < number:
        query = draw()
        count = int(original.counts[original.matching(query) > 0].sum())
        if count:
            named.append(query)
            counts.append(count)
        empty = 0 if count else empty + 1
        if empty == EMPTY_DRAWS:
            raise PolicyError(
                f"selectivity: of {EMPTY_DRAWS:,} queries in a row none matches any row; raise it above {selectivity:g}"
            )
    return named, counts


def predicate_size(values: int, predicates: int, selectivity: float) -> int:
    """Return how many of a column's values a predicate names, in a query of so many predicates.

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


def _compile_hierarchies(policy: Policy, values: Mapping[str, tuple[str | None, ...]]) -> dict[str, CompiledHierarchy]:
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


def _draw_query(
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


def _values_covered(label: str | None, domain: CompiledHierarchy, covers: Covers) -> IntArray:
    """Return the codes of the values that a released cell may stand for."""
    if label is None and domain.values[-1] is None:  # a missing value has the last code
        return np.array([len(domain.values) - 1])
    return covers.of(label)
