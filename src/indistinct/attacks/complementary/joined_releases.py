"""JoinedReleases: releases of one source, counted and given common codes, so that their rows can be joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from indistinct.attacks.attack import InapplicableError
from indistinct.attacks.complementary.chains import IntArray, ReleaseEntries
from indistinct.attacks.labels import EVERYTHING, Reader, Vocabulary
from indistinct.attacks.target import people_notes
from indistinct.engine import Counts, Rows
from indistinct.errors import PolicyError
from indistinct.hierarchy import Dates
from indistinct.linkage import number_tuples
from indistinct.policy import Column, Policy
from indistinct.policy.algorithms import declared_by
from indistinct.policy.released_names import own_name
from indistinct.release.manifest import Facts
from indistinct.release.released_tables import ReleasedTables
from indistinct.showing.words import counted

Codes = Mapping[str, tuple[str | None, ...]]

MOST_SETS = 3_000
"""The most sets of columns of several policies that are judged together."""


class CountedRelease(NamedTuple):
    """One release as it was read: its distinct cells, and how often each combination of them occurs."""

    values: Codes
    counts: Counts
    columns: tuple[str, ...]
    said: Facts | None


@dataclass(frozen=True, slots=True)
class JoinedReleases:
    """Releases of one source, ready to be joined."""

    names: tuple[str, ...]
    policies: tuple[Policy, ...]
    columns: tuple[str, ...]
    on: tuple[str, ...]
    vocabularies: tuple[Vocabulary, ...]
    entries: tuple[ReleaseEntries, ...]
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
    ) -> JoinedReleases:
        """Read the releases, one after the other, and give their labels and values that link common codes.

        ``row_by_row`` gives an entry for each row, in their order.
        """
        names = tuple(releases)
        columns = tuple(dict.fromkeys(name for policy in policies for name in policy.quasi))
        with ExitStack() as stack:
            given = [
                ReleasedTables.of(release, policy, **reading)
                for release, policy in zip(releases.values(), policies, strict=True)
            ]
            tables = [stack.enter_context(one.only_rows()) for one in given]
            links, notes = _links(on, columns, names, [rows.columns() for rows in tables], policies)
            held = [
                _count_release(rows, one.said, columns, links, row_by_row)
                for one, rows in zip(given, tables, strict=True)
            ]
        vocabularies, labels = _label_codes(names, columns, policies, held)
        values = _link_codes(links, held)
        entries = tuple(
            ReleaseEntries(codes, linked, np.asarray(one.counts.counts, np.int64))
            for codes, linked, one in zip(labels, values, held, strict=True)
        )
        return cls(names, tuple(policies), columns, links, vocabularies, entries, (*people_notes(*policies), *notes))

    def requirements(self, k: int | None) -> dict[tuple[int, ...], int]:
        """Return the positions of the columns that somebody may know together, and the k that each set must have.

        These are the sets that each policy judges, and the largest that all policies allow: those of which nobody
        knows more of a policy's quasi columns than one of its sets.

        Source: Sweeney 2002, section 4.2: the attributes of all releases together are the quasi-identifier.
        """
        of_policies = [_judged_sets(policy, k) for policy in self.policies]
        wanted: dict[frozenset[str], int] = {}
        for sets in of_policies:
            for columns, own in sets.items():
                wanted[columns] = max(own, wanted.get(columns, 0))
        for columns, own in _known_together(self.policies, of_policies).items():
            wanted[columns] = max(own, wanted.get(columns, 0))
        return {tuple(sorted(map(self.columns.index, columns))): own for columns, own in wanted.items()}


def _judged_sets(policy: Policy, k: int | None) -> dict[frozenset[str], int]:
    """Return each set of columns that a policy judges, and its k: that of its models, unless one is given."""
    found: dict[frozenset[str], int] = {}
    for columns, model in policy.judged_sets():
        counts_rows = not model.asks_population  # the k of k-map is one of people, not of rows
        own = (getattr(model, "k", None) if counts_rows else None) or 2
        found[frozenset(columns)] = max(found.get(frozenset(columns), 0), own if k is None else k)
    return found


def _known_together(
    policies: Sequence[Policy], of_policies: Sequence[Mapping[frozenset[str], int]]
) -> dict[frozenset[str], int]:
    """Return the largest sets whose part in each policy's quasi columns lies in a set that it judges, each with a k."""
    together = {frozenset(name for policy in policies for name in policy.quasi): 0}
    seen: list[tuple[tuple[str, ...], Mapping[frozenset[str], int]]] = []
    for policy, sets in zip(policies, of_policies, strict=True):
        if (policy.quasi, sets) in seen:
            continue
        seen.append((policy.quasi, sets))
        longer: dict[frozenset[str], int] = {}
        for (known, k), (columns, own) in product(together.items(), sets.items()):
            left = known - (frozenset(policy.quasi) - columns)
            longer[left] = max(k, own, longer.get(left, 0))
        if len(longer) > MOST_SETS:
            raise InapplicableError(
                f"the policies allow more than {MOST_SETS:,} sets of columns to be known together; attack fewer "
                "releases at once, or give policies with fewer sets of known columns"
            )
        together = {
            columns: k
            for columns, k in longer.items()
            if not any(columns < other and k <= more for other, more in longer.items())
        }
    return together


def _links(
    on: Sequence[str] | None,
    columns: Sequence[str],
    names: Sequence[str],
    shapes: Sequence[Sequence[str]],
    policies: Sequence[Policy],
) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns that link, and say which ones cannot."""
    if isinstance(on, str):
        raise PolicyError("on: must list columns")
    mistakes = [
        f"columns.{name}: {names[position]} has no such column"
        for position, policy in enumerate(policies)
        for name in policy.quasi
        if name not in shapes[position]
    ]
    if on is not None:
        renamed = {name: new for policy in policies for name, new in policy.renamed.items()}
        on = [own_name(name, renamed) for name in on]
        mistakes += [
            f"on: {release} has no column {name!r}"
            for name in on
            for release, shape in zip(names, shapes, strict=True)
            if name not in shape
        ]
    if mistakes:
        raise PolicyError(mistakes)
    plain = list(dict.fromkeys(name for shape in shapes for name in shape if name not in columns))
    unlike = [name for name in plain if len({_recoding(policy, name) for policy in policies}) > 1]
    everywhere = tuple(name for name in plain if name not in unlike and all(name in shape for shape in shapes))
    links = everywhere if on is None else tuple(dict.fromkeys(on))
    unused = [name for name in plain if name not in links]
    absent = [name for name in unused if name not in everywhere and name not in unlike]
    notes = [f"not used to link, since not every release has it: {name}" for name in absent]
    notes += [f"not used to link, since it is not recoded alike in all releases: {name}" for name in unlike]
    if not links:
        notes.append("no column was released as it is in every release, so rows are linked by their labels alone")
    return links, notes


def _recoding(policy: Policy, name: str) -> str:
    """Return what tells how a column was recoded; nothing for one that was released as it is."""
    column = policy.columns.get(name)
    return "" if column is None or column.recode is None else f"{column.recode.digest()} {column.recode_level}"


def _count_release(
    rows: Rows, said: Facts | None, columns: Sequence[str], links: Sequence[str], row_by_row: bool
) -> CountedRelease:
    """Count the combinations of labels and values that link, or give them row by row."""
    present = rows.columns()
    names = tuple(dict.fromkeys(name for name in (*columns, *links) if name in present))
    if row_by_row:
        values, codes = rows_in_order(rows, names)
        return CountedRelease(values, Counts(tuple(codes), np.ones(rows.count(), np.int64)), names, said)
    with rows.encode(names) as encoded:
        return CountedRelease(encoded.values, encoded.count_by(names), names, said)


def rows_in_order(rows: Rows, names: Sequence[str]) -> tuple[Codes, list[Any]]:
    """Return the distinct cells of some columns, by code point and missing last, and the codes of the rows in order."""
    codes_of: dict[str, dict[str | None, int]] = {name: {} for name in names}
    parts: dict[str, list[IntArray]] = {name: [np.zeros(0, np.int64)] for name in names}
    for batch in rows.texts(names) if names else ():
        for name, column in zip(names, batch.columns, strict=True):
            coded, own = column.dictionary_encode("encode"), codes_of[name]
            numbers = [own.setdefault(text, len(own)) for text in coded.dictionary.to_pylist()]
            parts[name].append(np.array(numbers, np.int64)[np.asarray(coded.indices)])
    values, codes = {}, []
    for name in names:
        found = list(codes_of[name])
        order = sorted(range(len(found)), key=lambda code: (found[code] is None, found[code] or ""))
        ranks = np.empty(len(found), np.int64)
        ranks[order] = np.arange(len(found))
        values[name] = tuple(found[code] for code in order)
        codes.append(ranks[np.concatenate(parts[name])])
    return values, codes


def _codes_of(held: CountedRelease, name: str) -> IntArray:
    return np.asarray(held.counts.codes[held.columns.index(name)], np.int64)


def _label_codes(
    names: Sequence[str], columns: Sequence[str], policies: Sequence[Policy], held: Sequence[CountedRelease]
) -> tuple[tuple[Vocabulary, ...], list[IntArray]]:
    """Return each column's vocabulary, and the codes of its labels in each release."""
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
            declared = policy.columns.get(name, described)
            labels = [None if label in declared.missing_codes else label for label in one.values[name]]
            meanings = [reader.read(label) for label in labels]
            if declared.unreadable != "refuse":  # in a private table, such as the original
                unread = EVERYTHING if declared.unreadable == "suppress" else reader.read(None)
                meanings = [unread if meaning is None else meaning for meaning in meanings]
            unknown = meanings.count(None)
            if unknown:
                mistakes.append(
                    f"column {name!r}: {counted(unknown, 'label', 'labels')} of {release} "
                    f"{'is' if unknown == 1 else 'are'} not in its hierarchy; give the policy it was made for"
                )
                continue
            numbers = [
                vocabulary.code(meaning, label)
                for meaning, label in zip(meanings, labels, strict=True)
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


def _reader(name: str, policy: Policy, described: Column, said: Facts | None, longest: int) -> Reader:
    """Return what reads a column of a release; where it is no quasi column it was released as it is."""
    is_quasi = name in policy.quasi
    column = policy.columns[name] if is_quasi else replace(described, missing="value")
    algorithm = declared_by(policy.algorithm if said is None else said.algorithm, policy)
    blanks_cells = algorithm is not None and algorithm.blanks_cells
    is_blank = is_quasi and (column.missing == "refuse" or policy.suppressed_rows == "blank" or blanks_cells)
    node = {} if said is None or said.node is None else said.node
    level = node.get(name) if is_quasi else 0
    return Reader(column, is_blank, level, longest)


def _link_codes(links: Sequence[str], held: Sequence[CountedRelease]) -> list[IntArray]:
    """Return the number of each entry's combination of values that link, the same in all releases."""
    sizes = [len(one.counts.counts) for one in held]
    columns = []
    for name in links:
        codes: dict[str | None, int] = {}
        parts = []
        for one in held:
            own = [codes.setdefault(value, len(codes)) for value in one.values[name]]
            parts.append(np.array(own, np.int64)[_codes_of(one, name)])
        columns.append(np.concatenate(parts))
    numbers = number_tuples(columns, sum(sizes))
    return np.split(numbers, np.cumsum(sizes)[:-1])
