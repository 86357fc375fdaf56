"""Tables of people and releases as codes, for attacks that guess: who is in the release, and what it teaches.

Whoever guesses knows the quasi cells of people; the sensitive cells of the private table say only whether a guess was
right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.array_types import FloatArray, IntArray
from indistinct.attacks.attack import InapplicableError
from indistinct.counting import as_declared, encode_eligible
from indistinct.engine import Counts, Rows, use_table
from indistinct.errors import PolicyError
from indistinct.linkage import Coverage, EqualPairs, count_candidates, hierarchy_of
from indistinct.policy import Policy
from indistinct.recoding.classes import LINK
from indistinct.release.released_tables import ReleasedTables


@dataclass(frozen=True, slots=True)
class CodedRows:
    """The distinct rows of a table by some columns."""

    texts: Mapping[str, tuple[str | None, ...]]
    """What the codes of each column stand for."""
    codes: Mapping[str, IntArray]
    counts: IntArray

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.counts.sum())

    def only(self, chosen: Any, counts: IntArray | None = None) -> CodedRows:
        """Some of the distinct rows, with counts of their own if those are given."""
        codes = {name: own[chosen] for name, own in self.codes.items()}
        return CodedRows(self.texts, codes, self.counts[chosen] if counts is None else counts)

    def counts_by(self, names: Sequence[str]) -> Counts:
        """Return the rows by some columns, as they are counted."""
        return Counts(tuple(self.codes[name].astype(np.int32) for name in names), self.counts)

    def table(self, name: str, other: str, weights: IntArray | None = None) -> Any:
        """Return (values of a column, values of another): the rows that have both."""
        return count_pairs(
            self.codes[name],
            self.codes[other],
            self.counts if weights is None else weights,
            (len(self.texts[name]), len(self.texts[other])),
        )


def count_pairs(first: IntArray, second: IntArray, weights: Any, shape: tuple[int, int]) -> Any:
    """Sum up weights by two codes, as a table of this shape."""
    return np.bincount(first * shape[1] + second, weights, shape[0] * shape[1]).reshape(shape)


def cells_of(rows: Rows, names: Sequence[str]) -> CodedRows:
    """Read the distinct rows of an open table."""
    with rows.encode(names) as encoded:
        return _cells(encoded.values, encoded.count_by(names), names)


def people_of(table: Any, policy: Policy, names: Sequence[str], what: str, **reading: Any) -> CodedRows:
    """Read the people of a table as a policy declares its cells, those that are eligible."""
    with use_table(table, **reading) as given, as_declared(given, policy) as rows:
        if absent := [name for name in names if name not in rows.columns()]:
            raise InapplicableError([f"{what}: the table has no column {name!r}" for name in absent])
        with encode_eligible(rows, policy, names) as encoded:
            found = _cells(encoded.values, encoded.count_by(names), names)
    if not found.rows:
        raise InapplicableError(f"{what}: the table has no eligible row, so there is nobody to guess about")
    return found


def _cells(values: Mapping[str, Sequence[str | None]], counts: Counts, names: Sequence[str]) -> CodedRows:
    """Return distinct rows in the order of their codes: however they were counted, whoever draws draws the same."""
    order = np.lexsort(counts.codes[::-1]) if counts.codes else np.arange(len(counts.counts))
    codes = {name: np.asarray(own, np.int64)[order] for name, own in zip(names, counts.codes, strict=True)}
    return CodedRows({name: tuple(values[name]) for name in names}, codes, np.asarray(counts.counts, np.int64)[order])


def with_shared_texts(tables: Sequence[CodedRows], names: Sequence[str]) -> list[CodedRows]:
    """Return tables with one code for each text of some columns."""
    texts = {name: tuple(dict.fromkeys(text for table in tables for text in table.texts[name])) for name in names}
    found = []
    for table in tables:
        codes = dict(table.codes)
        for name in names:
            place = {text: code for code, text in enumerate(texts[name])}
            codes[name] = np.array([place[text] for text in table.texts[name]], np.int64)[codes[name]]
        found.append(CodedRows({**table.texts, **texts}, codes, table.counts))
    return found


def coverages_of(policy: Policy, released: CodedRows, people: CodedRows, names: Sequence[str]) -> list[Coverage]:
    """Return what the released labels cover of the values of people, column by column."""
    return [
        Coverage.of(hierarchy_of(policy, name), released.texts[name], people.texts[name], missing_fits=False)
        for name in names
    ]


def fitting_rows(
    released: CodedRows, people: CodedRows, coverages: Sequence[Coverage], names: Sequence[str]
) -> IntArray:
    """Count the released rows that fit each of the distinct people."""
    return count_candidates(released.counts_by(names), people.counts_by(names), coverages).rows


def guessable(policy: Policy, known: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the sensitive columns whose released cells are those of people, and notes on the others."""
    names = [name for name in policy.with_role("sensitive") if name not in known]
    if unknown := [name for name in known if name not in policy.columns]:
        raise PolicyError([f"known: the policy has no column {name!r}" for name in unknown])
    if not names:
        raise InapplicableError("columns: no sensitive column; say which values nobody should learn, with sensitive()")
    changed = {*policy.perturbed, *policy.shifted}
    notes = [f"{name}: its cells are perturbed or moved, so no guess was compared" for name in names if name in changed]
    return [name for name in names if name not in changed], notes


@dataclass(frozen=True, slots=True)
class LearnedRelease:
    """The distinct rows of a release by known columns and sensitive ones; by class, if these stand apart."""

    known: CodedRows
    """The known columns, and the sensitive ones or the class."""
    values: CodedRows
    """The sensitive columns, and the class if they stand apart; else the same rows."""
    is_apart: bool

    @classmethod
    def read(cls, tables: ReleasedTables, known: Sequence[str], sensitive: Sequence[str]) -> LearnedRelease:
        """Read a release of one table or of two."""
        with tables.rows() as rows:
            quasi = rows[tables.form.first]
            apart = rows.get("sensitive", quasi)
            absent = [name for name in known if name not in quasi.columns()]
            absent += [name for name in sensitive if name not in apart.columns()]
            if absent:
                raise PolicyError([f"columns.{name}: the release has no such column" for name in absent])
            if tables.form.generalizes:
                both = cells_of(quasi, list(dict.fromkeys([*known, *sensitive])))
                return cls(both, both, is_apart=False)
            return cls(cells_of(quasi, [*known, LINK]), cells_of(apart, [*sensitive, LINK]), is_apart=True)

    def with_values(self, values: CodedRows) -> LearnedRelease:
        """The same release whose sensitive values have other codes."""
        return LearnedRelease(self.known if self.is_apart else values, values, self.is_apart)

    def shares(self, name: str) -> FloatArray:
        """Return the released rows of each value of a sensitive column."""
        found = np.bincount(self.values.codes[name], self.values.counts, len(self.values.texts[name]))
        return found.astype(np.float64)

    def beside(self, column: str, name: str) -> FloatArray:
        """Return (labels of a known column, values of a sensitive one): the rows that have both, or may have."""
        shape = (len(self.known.texts[column]), len(self.values.texts[name]))
        if not self.is_apart:
            return np.asarray(self.known.table(column, name), np.float64)
        (rows, entries), sizes = self.class_pairs()
        weights = self.known.counts[rows] * self.values.counts[entries] / sizes[rows]
        found = count_pairs(self.known.codes[column][rows], self.values.codes[name][entries], weights, shape)
        return np.asarray(found, np.float64)

    def class_pairs(self) -> tuple[tuple[IntArray, IntArray], FloatArray]:
        """Join both tables by class: pairs of distinct rows, and the rows that the class of each known one has."""
        place = {text: code for code, text in enumerate(self.values.texts[LINK])}
        class_of = np.array([place.get(text, -1) for text in self.known.texts[LINK]], np.int64)[self.known.codes[LINK]]
        pairs = EqualPairs.of(class_of, self.values.codes[LINK])
        sizes = np.bincount(self.values.codes[LINK], self.values.counts, len(place) or 1)
        return pairs.between(0, len(class_of)), np.maximum(sizes[class_of], 1.0)
