"""Known cells: tables of people as codes, for attacks that guess: who is in the release, and who is not.

Whoever guesses knows the quasi cells of people; the sensitive cells of the private table say only whether a guess was
right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.attacks.linking.linked_columns import hierarchy_of
from indistinct.counting import IntArray, as_declared, encode_eligible
from indistinct.engine import Counts, Rows, use_table
from indistinct.errors import PolicyError
from indistinct.linkage.coverage import Coverage
from indistinct.linkage.fitting_people import count_candidates
from indistinct.policy import Policy

Texts = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Cells:
    """The distinct rows of a table by some columns."""

    texts: Mapping[str, Texts]
    """What the codes of each column stand for."""
    codes: Mapping[str, IntArray]
    counts: IntArray

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.counts.sum())

    def only(self, chosen: Any, counts: IntArray | None = None) -> Cells:
        """Some of the distinct rows, with counts of their own if those are given."""
        codes = {name: own[chosen] for name, own in self.codes.items()}
        return Cells(self.texts, codes, self.counts[chosen] if counts is None else counts)

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


def cells_of(rows: Rows, names: Sequence[str]) -> Cells:
    """Read the distinct rows of an open table."""
    with rows.encode(names) as encoded:
        return _cells(encoded.values, encoded.count_by(names), names)


def people_of(table: Any, policy: Policy, names: Sequence[str], what: str, **reading: Any) -> Cells:
    """Read the people of a table as a policy declares its cells, those that are eligible."""
    with use_table(table, **reading) as given, as_declared(given, policy) as rows:
        if absent := [name for name in names if name not in rows.columns()]:
            raise PolicyError([f"{what}: the table has no column {name!r}" for name in absent])
        with encode_eligible(rows, policy, names) as encoded:
            found = _cells(encoded.values, encoded.count_by(names), names)
    if not found.rows:
        raise PolicyError(f"{what}: the table has no eligible row, so there is nobody to guess about")
    return found


def _cells(values: Mapping[str, Sequence[str | None]], counts: Counts, names: Sequence[str]) -> Cells:
    """Return distinct rows in the order of their codes: however they were counted, whoever draws draws the same."""
    order = np.lexsort(counts.codes[::-1]) if counts.codes else np.arange(len(counts.counts))
    codes = {name: np.asarray(own, np.int64)[order] for name, own in zip(names, counts.codes, strict=True)}
    return Cells({name: tuple(values[name]) for name in names}, codes, np.asarray(counts.counts, np.int64)[order])


def with_shared_texts(tables: Sequence[Cells], names: Sequence[str]) -> list[Cells]:
    """Return tables with one code for each text of some columns."""
    texts = {name: tuple(dict.fromkeys(text for table in tables for text in table.texts[name])) for name in names}
    found = []
    for table in tables:
        codes = dict(table.codes)
        for name in names:
            place = {text: code for code, text in enumerate(texts[name])}
            codes[name] = np.array([place[text] for text in table.texts[name]], np.int64)[codes[name]]
        found.append(Cells({**table.texts, **texts}, codes, table.counts))
    return found


def coverages_of(policy: Policy, released: Cells, people: Cells, names: Sequence[str]) -> list[Coverage]:
    """Return what the released labels cover of the values of people, column by column."""
    return [
        Coverage.of(hierarchy_of(policy, name), released.texts[name], people.texts[name], missing_fits=False)
        for name in names
    ]


def fitting_rows(released: Cells, people: Cells, coverages: Sequence[Coverage], names: Sequence[str]) -> IntArray:
    """Count the released rows that fit each of the distinct people."""
    groups = Counts(tuple(_small(released.codes[name]) for name in names), released.counts)
    known = Counts(tuple(_small(people.codes[name]) for name in names), people.counts)
    return count_candidates(groups, known, coverages).rows


def _small(codes: IntArray) -> Any:
    return codes.astype(np.int32)


def guessable(policy: Policy, known: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the sensitive columns whose released cells are those of people, and notes on the others."""
    names = [name for name in policy.with_role("sensitive") if name not in known]
    if unknown := [name for name in known if name not in policy.columns]:
        raise PolicyError([f"known: the policy has no column {name!r}" for name in unknown])
    if not names:
        raise PolicyError("columns: no sensitive column; say which values nobody should learn, with sensitive()")
    changed = {*policy.perturbed, *policy.shifted}
    notes = [f"{name}: its cells are perturbed or moved, so no guess was compared" for name in names if name in changed]
    return [name for name in names if name not in changed], notes
