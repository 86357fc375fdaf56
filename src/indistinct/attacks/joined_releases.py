"""Several: releases of one source in common codes, the chains of rows through them, and the crowds that are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from indistinct.attacks.chains import (
    ABSENT,
    BoolArray,
    Chains,
    Entries,
    IntArray,
    Step,
    combined,
    consistent_pairs,
    distinct,
    extend,
    pair_numbers,
    start,
)
from indistinct.attacks.complementary import MOST_SOURCES, ComplementaryReport, Joined, LinkedTuple, Source
from indistinct.attacks.meanings import EVERYTHING, Reader, Vocabulary
from indistinct.attacks.one_to_one import one_to_one as pair_off
from indistinct.attacks.opening import opened
from indistinct.engine import Counts, Rows
from indistinct.errors import PolicyError
from indistinct.hierarchy.dates import Dates
from indistinct.policy import Column, Policy
from indistinct.showing.words import counted

MOST_MATCHED = 3_000_000
"""Up to so many pairs of entries of two releases are matched one to one."""
BLANKING = ("mu-argus",)
"""Algorithms that blank single cells, so that a missing cell says nothing."""
NO_LIMIT = np.iinfo(np.int64).max

Codes = dict[str, tuple[str | None, ...]]


class Held(NamedTuple):
    """One release as it was read: its distinct cells, and how often each combination of them occurs."""

    values: Codes
    counts: Counts
    columns: tuple[str, ...]
    said: Mapping[str, Any]


class Crowds(NamedTuple):
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
class Several:
    """Releases of one source, ready to be joined."""

    names: tuple[str, ...]
    policies: tuple[Policy, ...]
    columns: tuple[str, ...]
    on: tuple[str, ...]
    vocabularies: tuple[Vocabulary, ...]
    entries: tuple[Entries, ...]
    notes: tuple[str, ...]

    @classmethod
    def read(
        cls,
        releases: Mapping[str, Any],
        policies: Sequence[Policy],
        on: Sequence[str] | None,
        *,
        row_by_row: bool = False,
        **reading: Any,
    ) -> Several:
        """Read the releases, one after the other, and give their labels and values that link common codes.

        ``row_by_row`` gives an entry for each row, in their order.
        """
        names = tuple(releases)
        columns = tuple(dict.fromkeys(name for policy in policies for name in policy.quasi))
        with ExitStack() as stack:
            tables = [stack.enter_context(opened(release, **reading)) for release in releases.values()]
            links, notes = _links(on, columns, names, [rows.columns() for rows, _ in tables], policies)
            held = [_held(rows, said, columns, links, row_by_row) for rows, said in tables]
        vocabularies, labels = _label_codes(names, columns, policies, held)
        values = _link_codes(links, held)
        entries = tuple(
            Entries(codes, linked, np.asarray(one.counts.counts, np.int64))
            for codes, linked, one in zip(labels, values, held, strict=True)
        )
        return cls(names, tuple(policies), columns, links, vocabularies, entries, tuple(notes))

    def attack(self, k: int | None, is_one_to_one: bool, most: int) -> ComplementaryReport:
        """Join all releases and count who is left with whom."""
        barred, is_in, notes = self._rule_out(is_one_to_one)
        chains, steps = start(self.entries[0]), [Step(0, 0, 0)]
        for position in range(1, len(self.entries)):
            blocks = [vocabulary.components() for vocabulary in self.vocabularies]
            ruled_out = [barred.get((earlier, position)) for earlier in range(position)]
            chains, step = extend(chains, self.entries, self.vocabularies, blocks, ruled_out)
            steps.append(step)
        return _Found(self, chains, is_in).report(self.requirements(k), steps, [*self.notes, *notes], most)

    def requirements(self, k: int | None) -> dict[tuple[int, ...], int]:
        """Give the positions of the columns of each quasi-identifier, and the k that it must have."""
        wanted: dict[tuple[int, ...], int] = {}
        for policy in self.policies:
            for _, columns, model in policy.requirements():
                places = tuple(sorted(self.columns.index(name) for name in columns))
                counts_rows = not model.asks_population  # the k of k-map is one of people, not of rows
                own = (getattr(model, "k", None) if counts_rows else None) or 2
                wanted[places] = max(wanted.get(places, 0), own if k is None else k)
        return wanted

    def _rule_out(self, is_asked: bool) -> tuple[dict[tuple[int, int], IntArray], BoolArray, list[str]]:
        """Give pairs that are ruled out for each two releases, and whether all people of one are in another."""
        number = len(self.entries)
        barred: dict[tuple[int, int], IntArray] = {}
        is_in = np.eye(number, dtype=np.bool_)
        notes = []
        blocks = [vocabulary.components() for vocabulary in self.vocabularies]
        for later in range(1, number if is_asked else 0):
            for earlier in range(later):
                pairs = self._pairs(earlier, later, blocks)
                if pairs is None:
                    notes.append(
                        f"{self.names[earlier]} and {self.names[later]} have too many pairs to be matched one to one, "
                        "so none is ruled out"
                    )
                    continue
                left, right = pairs
                counts = self.entries[earlier].counts, self.entries[later].counts
                found = pair_off(left, right, counts)
                is_in[earlier, later], is_in[later, earlier] = (alone == 0 for alone in found.alone)
                if 0 in found.alone:
                    ruled_out = ~found.is_possible
                    barred[earlier, later] = np.sort(
                        pair_numbers(left[ruled_out], right[ruled_out], len(self.entries[later].counts))
                    )
        return barred, is_in, notes

    def _pairs(self, earlier: int, later: int, blocks: Sequence[IntArray]) -> tuple[IntArray, IntArray] | None:
        """Give the consistent pairs of entries of two releases; None if they are too many to match."""
        one, other = self.entries[earlier], self.entries[later]
        lefts, rights, number = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
        for left, right, _ in consistent_pairs(one.labels, one.values, other, self.vocabularies, blocks):
            lefts.append(left)
            rights.append(right)
            number += len(left)
            if number > MOST_MATCHED:
                return None
        return np.concatenate(lefts), np.concatenate(rights)


@dataclass(frozen=True, slots=True)
class _Found:
    """The chains through all releases, ready to be counted and told."""

    several: Several
    chains: Chains
    is_in: BoolArray
    """(releases, releases) everybody in the first is in the second, as far as the counts allow"""

    def report(
        self, requirements: Mapping[tuple[int, ...], int], steps: Sequence[Step], notes: Sequence[str], most: int
    ) -> ComplementaryReport:
        """Count the crowds of each quasi-identifier, and describe the smallest."""
        several, chains = self.several, self.chains
        is_small = np.zeros(len(chains), np.bool_)
        findings: list[LinkedTuple] = []
        kinds = {"linked": 0, "absent": 0}
        certain, smallest, tuples = 0, NO_LIMIT, 0
        for columns, k in requirements.items():
            crowds = self._crowds(columns)
            is_certain = self._is_certain(crowds)
            linked = np.flatnonzero(crowds.is_linked & (crowds.rows < k))
            absent = self._absent_parts(crowds, k)
            is_small |= np.isin(crowds.tuples, linked) | np.isin(crowds.parts, absent)
            kinds["linked"] += len(linked)
            kinds["absent"] += len(absent)
            certain += int(is_certain[linked].sum()) + len(absent)
            smallest = min(smallest, int(crowds.rows[crowds.is_linked].min(initial=NO_LIMIT)))
            tuples += len(crowds.rows)
            for number in linked[np.lexsort((linked, crowds.rows[linked], ~is_certain[linked]))][:most]:
                rows = int(crowds.rows[number])
                where = np.flatnonzero(crowds.tuples == number)
                findings.append(self._linked(where, columns, rows, k, bool(is_certain[number])))
            for number in absent[np.lexsort((absent, crowds.rows_of_parts[absent]))][:most]:
                rows = int(crowds.rows_of_parts[number])
                findings.append(self._absent(np.flatnonzero(crowds.parts == number), columns, rows, k))
        findings.sort(key=lambda one: (one.kind == "absent", not one.is_certain, one.rows))  # stable
        at_risk, possibly = self._rows_at_risk(is_small)
        return ComplementaryReport(
            k=max(requirements.values()),
            on=several.on,
            columns=several.columns,
            releases=tuple(self._joined(position, step) for position, step in enumerate(steps)),
            assumed=tuple(self._assumed()),
            tuples=tuples,
            smallest=0 if smallest == NO_LIMIT else smallest,
            kinds={kind: number for kind, number in kinds.items() if number},  # type: ignore[misc]
            certain=certain,
            rows_at_risk=at_risk,
            rows_possibly_at_risk=possibly,
            findings=tuple(findings[:most]),
            notes=tuple(notes),
        )

    def _crowds(self, columns: Sequence[int]) -> Crowds:
        """Count the most people that each combination of labels can have.

        People with one combination and one value that links, who stand in the same releases, are at most as many as
        the rows that any of these releases has for them. Each entry counts once, in however many pairs it is.
        """
        chains, number = self.chains, len(self.chains)
        tuples = combined([chains.labels[:, column] for column in columns], number)
        is_there = chains.members != ABSENT
        parts = combined([tuples, *is_there.T.astype(np.int64)], number)
        cells = combined([parts, chains.values], number)
        fewest = np.full(int(cells.max(initial=-1)) + 1, NO_LIMIT)
        for position, entries in enumerate(self.several.entries):
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
        return Crowds(tuples, parts, rows, rows_of_parts, is_linked)

    def _absent_parts(self, crowds: Crowds, k: int) -> IntArray:
        """Give the crowds of fewer than k that are missing from some release."""
        is_missing = np.zeros(len(crowds.rows_of_parts), np.bool_)
        is_missing[crowds.parts[(self.chains.members == ABSENT).any(axis=1)]] = True
        return np.flatnonzero(is_missing & (crowds.rows_of_parts < k))

    def _is_certain(self, crowds: Crowds) -> BoolArray:
        """Tell which combinations somebody has: an entry that stands in all releases leads nowhere else."""
        certain = np.zeros(len(crowds.rows), np.bool_)
        size = max(1, len(crowds.rows))
        is_everywhere = (self.chains.members != ABSENT).all(axis=1)
        for position, entries in enumerate(self.several.entries):
            members = self.chains.members[:, position]
            here = members != ABSENT
            once = distinct(members[here] * size + crowds.tuples[here])
            leads_to_one = np.bincount(once // size, minlength=len(entries.counts)) == 1
            leads_to_one[members[here & ~is_everywhere]] = False
            certain[once[leads_to_one[once // size]] % size] = True
        return certain

    def _rows_at_risk(self, is_small: BoolArray) -> tuple[int, int]:
        """Give the rows of the last release that belong to small crowds in any case, and that may belong to one."""
        members, counts = self.chains.members[:, -1], self.several.entries[-1].counts
        here = members != ABSENT
        number = np.bincount(members[here], minlength=len(counts))
        small = np.bincount(members[here], is_small[here], len(counts))
        return int(counts[(small == number) & (number > 0)].sum()), int(counts[small > 0].sum())

    def _linked(self, where: IntArray, columns: Sequence[int], rows: int, k: int, is_certain: bool) -> LinkedTuple:
        return LinkedTuple(
            "linked", self._labels(where[0], columns), rows, k, is_certain, (), self._sources(where, columns)
        )

    def _absent(self, where: IntArray, columns: Sequence[int], rows: int, k: int) -> LinkedTuple:
        members = self.chains.members[where[0]]
        absent = tuple(
            name for name, member in zip(self.several.names, members.tolist(), strict=True) if member == ABSENT
        )
        return LinkedTuple(
            "absent", self._labels(where[0], columns), rows, k, True, absent, self._sources(where, columns)
        )

    def _labels(self, chain: int, columns: Sequence[int]) -> dict[str, str | None]:
        return self._written(self.chains.labels[chain], columns)

    def _written(self, codes: IntArray, columns: Sequence[int]) -> dict[str, str | None]:
        several = self.several
        return {several.columns[one]: several.vocabularies[one].names[codes[one]] for one in columns}

    def _sources(self, where: IntArray, columns: Sequence[int]) -> tuple[Source, ...]:
        """Give the labels under which the rows of some chains were released, the most frequent first."""
        found = []
        for position, (name, entries) in enumerate(zip(self.several.names, self.several.entries, strict=True)):
            members = np.unique(self.chains.members[where, position])
            rows: dict[tuple[int, ...], int] = {}
            for member in members[members != ABSENT].tolist():
                key = tuple(entries.labels[member].tolist())
                rows[key] = rows.get(key, 0) + int(entries.counts[member])
            ranked = sorted(rows.items(), key=lambda item: (-item[1], item[0]))[:MOST_SOURCES]
            found += [Source(name, self._written(np.array(key), columns), number) for key, number in ranked]
        return tuple(found)

    def _joined(self, position: int, step: Step) -> Joined:
        members = self.chains.members
        is_alone = (members[:, position] != ABSENT) & ((members != ABSENT).sum(axis=1) == 1)
        counts = self.several.entries[position].counts
        alone = int(counts[np.unique(members[is_alone, position])].sum())
        name, rows = self.several.names[position], self.several.entries[position].rows
        return Joined(name, rows, step.pairs, step.consistent, step.dropped, alone)

    def _assumed(self) -> list[str]:
        several = self.several
        linked = ", ".join(several.on)
        assumed = [f"a person has the same {linked} in every release"] if linked else []
        assumed.append("whose row fits a row of another release is in that release")
        for one, name in enumerate(several.names):
            for other, second in enumerate(several.names):
                if one != other and self.is_in[one, other]:
                    assumed.append(f"everybody in {name} is in {second}, which the counts allow")
        return assumed


def _any_of(groups: IntArray, numbers: IntArray, size: int) -> IntArray:
    """Give for each group the number that all its members have."""
    found = np.zeros(size, np.int64)
    found[groups] = numbers
    return found


def _links(
    on: Sequence[str] | None,
    columns: Sequence[str],
    names: Sequence[str],
    shapes: Sequence[Sequence[str]],
    policies: Sequence[Policy],
) -> tuple[tuple[str, ...], list[str]]:
    """Give the columns that link, and say which ones cannot."""
    if isinstance(on, str):
        raise PolicyError("on: must list columns")
    mistakes = [
        f"columns.{name}: {names[position]} has no such column"
        for position, policy in enumerate(policies)
        for name in policy.quasi
        if name not in shapes[position]
    ]
    if on is not None:
        mistakes += [
            f"on: {release} has no column {name!r}"
            for name in on
            for release, shape in zip(names, shapes, strict=True)
            if name not in shape
        ]
    if mistakes:
        raise PolicyError(mistakes)
    plain = list(dict.fromkeys(name for shape in shapes for name in shape if name not in columns))
    everywhere = tuple(name for name in plain if all(name in shape for shape in shapes))
    links = everywhere if on is None else tuple(dict.fromkeys(on))
    unused = [name for name in plain if name not in links]
    notes = [f"not used to link, since not every release has it: {name}" for name in unused if name not in everywhere]
    if not links:
        notes.append("no column was released as it is in every release, so rows are linked by their labels alone")
    return links, notes


def _held(rows: Rows, said: Mapping[str, Any], columns: Sequence[str], links: Sequence[str], row_by_row: bool) -> Held:
    """Count the combinations of labels and values that link, or give them row by row."""
    present = rows.columns()
    names = tuple(dict.fromkeys(name for name in (*columns, *links) if name in present))
    if row_by_row:
        values, codes = rows_in_order(rows, names)
        return Held(values, Counts(tuple(codes), np.ones(rows.count(), np.int64)), names, said)
    return Held(rows.encode(names), rows.count_by(names), names, said)


def rows_in_order(rows: Rows, names: Sequence[str]) -> tuple[Codes, list[Any]]:
    """Give the distinct cells of some columns, by code point and missing last, and the codes of the rows in order."""
    values, codes = {}, []
    for name in names:
        column = rows.texts([name]).read_all()[name].combine_chunks().dictionary_encode("encode")
        found = column.dictionary.to_pylist()
        order = sorted(range(len(found)), key=lambda code: (found[code] is None, found[code] or ""))
        ranks = np.empty(len(found), np.int64)
        ranks[order] = np.arange(len(found))
        values[name] = tuple(found[code] for code in order)
        codes.append(ranks[np.asarray(column.indices)])
    return values, codes


def _codes_of(held: Held, name: str) -> IntArray:
    return np.asarray(held.counts.codes[held.columns.index(name)], np.int64)


def _label_codes(
    names: Sequence[str], columns: Sequence[str], policies: Sequence[Policy], held: Sequence[Held]
) -> tuple[tuple[Vocabulary, ...], list[IntArray]]:
    """Give each column's vocabulary, and the codes of its labels in each release."""
    vocabularies, mistakes = [], []
    coded: list[list[IntArray]] = [[] for _ in held]
    for name in columns:
        described = next(policy.columns[name] for policy in policies if name in policy.quasi)
        longest = max((len(label or "") for one in held for label in one.values.get(name, ())), default=0)
        vocabulary = Vocabulary(Reader(described, False).number_of, isinstance(described.hierarchy, Dates))
        for release, policy, one, codes in zip(names, policies, held, coded, strict=True):
            if name not in one.values:
                codes.append(np.full(len(one.counts.counts), vocabulary.code(EVERYTHING, "*")))
                continue
            reader = _reader(name, policy, described, one.said, longest)
            meanings = [reader.read(label) for label in one.values[name]]
            unknown = meanings.count(None)
            if unknown:
                mistakes.append(
                    f"column {name!r}: {counted(unknown, 'label', 'labels')} of {release} "
                    f"{'is' if unknown == 1 else 'are'} not in its hierarchy; give the policy it was made for"
                )
                continue
            numbers = [
                vocabulary.code(meaning, label)
                for meaning, label in zip(meanings, one.values[name], strict=True)
                if meaning is not None
            ]
            codes.append(np.array(numbers, np.int64)[_codes_of(one, name)])
        vocabularies.append(vocabulary)
    if mistakes:
        raise PolicyError(mistakes)
    stacked = [
        np.column_stack(codes) if codes else np.zeros((len(one.counts.counts), 0), np.int64)
        for one, codes in zip(held, coded, strict=True)
    ]
    return tuple(vocabularies), stacked


def _reader(name: str, policy: Policy, described: Column, said: Mapping[str, Any], longest: int) -> Reader:
    """Give what reads a column of a release; where it is no quasi column it was released as it is."""
    is_quasi = name in policy.quasi
    column = policy.columns[name] if is_quasi else replace(described, missing="value")
    algorithm = said.get("algorithm", policy.algorithm)
    is_blank = is_quasi and (column.missing == "refuse" or policy.suppressed_rows == "blank" or algorithm in BLANKING)
    level = (said.get("node") or {}).get(name) if is_quasi else 0
    return Reader(column, is_blank, level, longest)


def _link_codes(links: Sequence[str], held: Sequence[Held]) -> list[IntArray]:
    """Give the number of each entry's combination of values that link, the same in all releases."""
    sizes = [len(one.counts.counts) for one in held]
    columns = []
    for name in links:
        codes: dict[str | None, int] = {}
        parts = []
        for one in held:
            own = [codes.setdefault(value, len(codes)) for value in one.values[name]]
            parts.append(np.array(own, np.int64)[_codes_of(one, name)])
        columns.append(np.concatenate(parts))
    numbers = combined(columns, sum(sizes))
    return np.split(numbers, np.cumsum(sizes)[:-1])
