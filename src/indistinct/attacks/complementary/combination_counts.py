"""CombinationCounts: how few people can have the labels that several releases give them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from indistinct.array_types import BoolArray, IntArray
from indistinct.attacks.complementary.chains import (
    ABSENT,
    Chains,
    JoinStep,
    distinct,
)
from indistinct.attacks.complementary.complementary_report import (
    ComplementaryReport,
    JoinedRelease,
    LinkedSource,
    LinkedTuple,
)
from indistinct.attacks.complementary.joined_releases import JoinedReleases
from indistinct.linkage import number_tuples

MOST_SOURCES = 3
"""The entries of each release that are described for a finding."""
NO_LIMIT = np.iinfo(np.int64).max


class CombinationCounts(NamedTuple):
    """The combinations of labels over some columns, and how many people can have each."""

    tuples: IntArray
    """(chains,) number of the combination that a chain leads to"""
    parts: IntArray
    """(chains,) number of the combination together with the releases that a chain is in"""
    rows: IntArray
    """(tuples,) the most people of a combination"""
    rows_of_parts: IntArray
    is_linked: BoolArray
    """(tuples,) somebody in it may stand in all releases"""


@dataclass(frozen=True, slots=True)
class JoinedChains:
    """The chains through all releases, whose people are counted and described here."""

    joined: JoinedReleases
    chains: Chains
    is_in: BoolArray
    """(releases, releases) everybody in the first is in the second, as far as the counts allow"""

    def report(
        self, requirements: Mapping[tuple[int, ...], int], steps: Sequence[JoinStep], notes: Sequence[str], most: int
    ) -> ComplementaryReport:
        """Count the counts of each quasi-identifier, and describe the smallest."""
        joined, chains = self.joined, self.chains
        is_small = np.zeros(len(chains), np.bool_)
        findings: list[LinkedTuple] = []
        kinds = {"linked": 0, "absent": 0}
        certain, smallest, tuples = 0, NO_LIMIT, 0
        for columns, k in requirements.items():
            counts = self._crowds(columns)
            is_certain = self._is_certain(counts)
            linked = np.flatnonzero(counts.is_linked & (counts.rows < k))
            absent = self._absent_parts(counts, k)
            is_small |= np.isin(counts.tuples, linked) | np.isin(counts.parts, absent)
            kinds["linked"] += len(linked)
            kinds["absent"] += len(absent)
            certain += int(is_certain[linked].sum()) + len(absent)
            smallest = min(smallest, int(counts.rows[counts.is_linked].min(initial=NO_LIMIT)))
            tuples += len(counts.rows)
            for number in linked[np.lexsort((linked, counts.rows[linked], ~is_certain[linked]))][:most]:
                rows = int(counts.rows[number])
                where = np.flatnonzero(counts.tuples == number)
                findings.append(self._linked_tuple(where, columns, rows, k, bool(is_certain[number])))
            for number in absent[np.lexsort((absent, counts.rows_of_parts[absent]))][:most]:
                rows = int(counts.rows_of_parts[number])
                findings.append(self._absent_tuple(np.flatnonzero(counts.parts == number), columns, rows, k))
        findings.sort(key=lambda one: (one.kind == "absent", not one.is_certain, one.rows))  # stable
        at_risk, possibly = self._rows_at_risk(is_small)
        return ComplementaryReport(
            k=max(requirements.values()),
            on=joined.on,
            columns=joined.columns,
            releases=tuple(self._join_figures(position, step) for position, step in enumerate(steps)),
            assumed=tuple(self._assumptions()),
            tuples=tuples,
            smallest=0 if smallest == NO_LIMIT else smallest,
            kinds={kind: number for kind, number in kinds.items() if number},  # type: ignore[misc]
            certain=certain,
            rows_at_risk=at_risk,
            rows_possibly_at_risk=possibly,
            findings=tuple(findings[:most]),
            notes=tuple(notes),
        )

    def _crowds(self, columns: Sequence[int]) -> CombinationCounts:
        """Count the most people that each combination of labels can have.

        People with one combination and one value that links, who stand in the same releases, are at most as many as
        the rows that any of these releases has for them. Each entry counts once, in however many pairs it is.
        """
        chains, number = self.chains, len(self.chains)
        tuples = number_tuples([chains.labels[:, column] for column in columns], number)
        is_there = chains.members != ABSENT
        parts = number_tuples([tuples, *is_there.T.astype(np.int64)], number)
        cells = number_tuples([parts, chains.values], number)
        fewest = np.full(int(cells.max(initial=-1)) + 1, NO_LIMIT)
        for position, entries in enumerate(self.joined.entries):
            here = np.flatnonzero(is_there[:, position])
            size = max(1, len(entries.counts))
            once = distinct(cells[here] * size + chains.members[here, position])
            rows = np.bincount(once // size, entries.counts[once % size], len(fewest)).astype(np.int64)
            is_counted = np.zeros(len(fewest), np.bool_)
            is_counted[once // size] = True
            fewest = np.where(is_counted, np.minimum(fewest, rows), fewest)
        part_of = _any_of(cells, parts, len(fewest))
        rows_of_parts = np.bincount(part_of, fewest, int(parts.max(initial=-1)) + 1).astype(np.int64)
        tuple_of = _any_of(parts, tuples, len(rows_of_parts))
        rows = np.bincount(tuple_of, rows_of_parts, int(tuples.max(initial=-1)) + 1).astype(np.int64)
        is_linked = np.zeros(len(rows), np.bool_)
        is_linked[tuples[is_there.all(axis=1)]] = True
        return CombinationCounts(tuples, parts, rows, rows_of_parts, is_linked)

    def _absent_parts(self, counts: CombinationCounts, k: int) -> IntArray:
        """Return the counts of fewer than k that are missing from some release."""
        is_missing = np.zeros(len(counts.rows_of_parts), np.bool_)
        is_missing[counts.parts[(self.chains.members == ABSENT).any(axis=1)]] = True
        return np.flatnonzero(is_missing & (counts.rows_of_parts < k))

    def _is_certain(self, counts: CombinationCounts) -> BoolArray:
        """Return which combinations somebody has: an entry that stands in all releases leads nowhere else."""
        certain = np.zeros(len(counts.rows), np.bool_)
        size = max(1, len(counts.rows))
        is_everywhere = (self.chains.members != ABSENT).all(axis=1)
        for position, entries in enumerate(self.joined.entries):
            members = self.chains.members[:, position]
            here = members != ABSENT
            once = distinct(members[here] * size + counts.tuples[here])
            leads_to_one = np.bincount(once // size, minlength=len(entries.counts)) == 1
            leads_to_one[members[here & ~is_everywhere]] = False
            certain[once[leads_to_one[once // size]] % size] = True
        return certain

    def _rows_at_risk(self, is_small: BoolArray) -> tuple[int, int]:
        """Return the rows of the last release that belong to small counts in any case, and that may belong to one."""
        members, counts = self.chains.members[:, -1], self.joined.entries[-1].counts
        here = members != ABSENT
        number = np.bincount(members[here], minlength=len(counts))
        small = np.bincount(members[here], is_small[here], len(counts))
        return int(counts[(small == number) & (number > 0)].sum()), int(counts[small > 0].sum())

    def _linked_tuple(
        self, where: IntArray, columns: Sequence[int], rows: int, k: int, is_certain: bool
    ) -> LinkedTuple:
        return LinkedTuple(
            "linked", self._labels(where[0], columns), rows, k, is_certain, (), self._sources(where, columns)
        )

    def _absent_tuple(self, where: IntArray, columns: Sequence[int], rows: int, k: int) -> LinkedTuple:
        members = self.chains.members[where[0]]
        absent = tuple(
            name for name, member in zip(self.joined.names, members.tolist(), strict=True) if member == ABSENT
        )
        return LinkedTuple(
            "absent", self._labels(where[0], columns), rows, k, True, absent, self._sources(where, columns)
        )

    def _labels(self, chain: int, columns: Sequence[int]) -> dict[str, str | None]:
        return self._label_texts(self.chains.labels[chain], columns)

    def _label_texts(self, codes: IntArray, columns: Sequence[int]) -> dict[str, str | None]:
        joined = self.joined
        return {joined.columns[one]: joined.vocabularies[one].names[codes[one]] for one in columns}

    def _sources(self, where: IntArray, columns: Sequence[int]) -> tuple[LinkedSource, ...]:
        """Return the labels under which the rows of some chains were released, the most frequent first."""
        found = []
        for position, (name, entries) in enumerate(zip(self.joined.names, self.joined.entries, strict=True)):
            members = np.unique(self.chains.members[where, position])
            rows: dict[tuple[int, ...], int] = {}
            for member in members[members != ABSENT].tolist():
                key = tuple(entries.labels[member].tolist())
                rows[key] = rows.get(key, 0) + int(entries.counts[member])
            ranked = sorted(rows.items(), key=lambda item: (-item[1], item[0]))[:MOST_SOURCES]
            found += [LinkedSource(name, self._label_texts(np.array(key), columns), number) for key, number in ranked]
        return tuple(found)

    def _join_figures(self, position: int, step: JoinStep) -> JoinedRelease:
        members = self.chains.members
        is_alone = (members[:, position] != ABSENT) & ((members != ABSENT).sum(axis=1) == 1)
        counts = self.joined.entries[position].counts
        alone = int(counts[np.unique(members[is_alone, position])].sum())
        name, rows = self.joined.names[position], self.joined.entries[position].rows
        return JoinedRelease(name, rows, step.pairs, step.consistent, step.dropped, alone)

    def _assumptions(self) -> list[str]:
        joined = self.joined
        linked = ", ".join(joined.on)
        assumed = [f"a person has the same {linked} in every release"] if linked else []
        assumed.append("whose row fits a row of another release is in that release")
        for one, name in enumerate(joined.names):
            for other, second in enumerate(joined.names):
                if one != other and self.is_in[one, other]:
                    assumed.append(f"everybody in {name} is in {second}, which the counts allow")
        return assumed


def _any_of(groups: IntArray, numbers: IntArray, size: int) -> IntArray:
    """Return for each group the number that all its members have."""
    found = np.zeros(size, np.int64)
    found[groups] = numbers
    return found
