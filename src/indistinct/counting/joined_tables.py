"""Several tables counted as one: the rows of all of them in one frequency list, each with its person and its parent.

A row has the quasi columns of its own table; in those of other tables it has a value of its own, under which it stays
at every level. Whose row it is, and to which row of another table it belongs, is found here, or refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from indistinct.array_types import BoolArray, IntArray
from indistinct.counting.declared_cells import rows_without
from indistinct.counting.frequency_list import FrequencyList, Sensitive, compile_columns
from indistinct.counting.membership import People, RowTree
from indistinct.errors import PolicyError
from indistinct.hierarchy import CompiledHierarchy

if TYPE_CHECKING:
    from indistinct.engine import Encoded
    from indistinct.policy import Part, Policy

ABSENT = ".absent"
ENTRY = ".entry"
NONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class TableCount:
    """The distinct rows of one table by their quasi cells and by what says whose they are."""

    part: Part
    hierarchies: Mapping[str, CompiledHierarchy]
    """Those of quasi columns, and of sensitive ones that models ask about."""
    values: Mapping[str, Sequence[str | None]]
    codes: Mapping[str, IntArray]
    """The value code of each entry in each column that is counted."""
    rows: IntArray
    """The rows of each entry."""
    persons: IntArray
    """The number of each entry's person, the same in all tables."""
    parents: IntArray
    """The number of the row of another table that each entry belongs to, or NONE."""
    keys: IntArray
    """The number by which rows of other tables refer to each entry, or NONE."""

    @property
    def told_by(self) -> tuple[str, ...]:
        """The columns that say whose row it is, or to which row of another table it belongs."""
        assert self.part.person or self.part.reference is not None  # rows are somebody's
        return self.part.person or (str(self.part.reference),)

    def rows_of(self, is_chosen: BoolArray) -> int:
        """Return the number of rows of some people."""
        return int(self.rows[is_chosen[self.persons]].sum())


@dataclass(frozen=True, slots=True, eq=False)
class JoinedCount:
    """All tables as one frequency list, and each by itself."""

    frequencies: FrequencyList
    tables: Mapping[str, TableCount]


def count_tables(encoded: Mapping[str, Encoded], policy: Policy) -> JoinedCount:
    """Count tables that were encoded for a policy, or raise one error with all that does not fit together."""
    mistakes: list[str] = []
    hierarchies = {}
    for name, part in policy.parts.items():
        try:
            asked = [column for column in policy.counted_columns(name) if column not in part.identity]
            hierarchies[name] = compile_columns(encoded[name], part.policy, asked)
        except PolicyError as error:
            mistakes += [f"tables.{name}: {mistake}" for mistake in error.mistakes]
        mistakes += [
            f"tables.{name}: {rows} in {column!r}, which says whose row it is or which; fill it in, or leave such rows "
            "out with a filter (op = 'present')"
            for column, rows in rows_without(encoded[name], part.identity).items()
        ]
    if mistakes:
        raise PolicyError(mistakes)
    people: dict[tuple[str | None, ...], int] = {}
    tables: dict[str, TableCount] = {}
    first_key = 0
    for name in policy.in_order():
        tables[name] = _count_table(
            name, policy.parts[name], encoded[name], hierarchies[name], (tables, people, first_key)
        )
        first_key += len(tables[name].rows) if policy.parts[name].key is not None else 0
    ordered = {name: tables[name] for name in policy.parts}
    unreadable = {
        f"{name}.{column}": rows for name in policy.parts for column, rows in (encoded[name].unreadable or {}).items()
    }
    return JoinedCount(replace(_joined_list(ordered, policy), unreadable=unreadable), ordered)


def _rows(number: int, verb: str = "has", verbs: str = "have") -> str:
    return f"{number} row {verb}" if number == 1 else f"{number} rows {verbs}"


def _count_table(
    name: str,
    part: Part,
    encoded: Encoded,
    hierarchies: Mapping[str, CompiledHierarchy],
    known: tuple[Mapping[str, TableCount], dict[tuple[str | None, ...], int], int],
) -> TableCount:
    """Count one table; ``known`` are the tables before it, the people so far, and the first number for its keys."""
    tables, people, first_key = known
    columns = (*hierarchies, *part.identity)
    counted = encoded.count_by(columns)
    codes = {column: np.asarray(code, np.int64) for column, code in zip(columns, counted.codes, strict=True)}
    rows, values = counted.counts, encoded.values
    mistakes = []
    if part.unique is not None:
        times = np.bincount(codes[part.unique], rows, len(values[part.unique]))
        if repeated := int(times[times > 1].sum()):
            mistakes.append(f"{_rows(repeated)} a key in {part.unique!r} that another row has; it must tell rows apart")
    parents = np.full(len(rows), NONE)
    of_parent = np.full(len(rows), NONE)
    if part.reference is not None and part.parent is not None:
        above = tables[part.parent]
        parents, of_parent = _referred_to(above, values[part.reference], codes[part.reference])
        if orphans := int(rows[parents == NONE].sum()):
            mistakes.append(
                f"references.{part.reference}: {_rows(orphans, 'refers', 'refer')} to no eligible row of "
                f"{part.parent!r}; add what is missing there, or leave such rows out with a filter"
            )
    persons = of_parent
    if part.person:
        persons = _number_people([values[column] for column in part.person], [codes[c] for c in part.person], people)
        if strangers := int(rows[(parents != NONE) & (of_parent != persons)].sum()):
            mistakes.append(
                f"references.{part.reference}: {_rows(strangers, 'refers', 'refer')} to a row of somebody else in "
                f"{part.parent!r}"
            )
        if part.member_of is not None:
            is_member = np.zeros(len(people), np.bool_)
            if part.member_of in tables:
                is_member[tables[part.member_of].persons] = True
            if orphans := int(rows[~is_member[persons]].sum()):
                mistakes.append(
                    f"references.{part.person[0]}: {_rows(orphans, 'is', 'are')} of people who have no eligible row in "
                    f"{part.member_of!r}; add them there, or leave such rows out with a filter"
                )
    if mistakes:
        raise PolicyError([f"tables.{name}: {mistake}" for mistake in mistakes])
    keys = first_key + np.arange(len(rows)) if part.key is not None else np.full(len(rows), NONE)
    return TableCount(part, hierarchies, values, codes, rows, persons, parents, keys)


def _referred_to(above: TableCount, values: Sequence[str | None], codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the number and the person of the row that each entry refers to; NONE where there is none."""
    assert above.part.key is not None  # references are to keys
    entry_of = np.full(len(above.values[above.part.key]) + 1, NONE)
    entry_of[above.codes[above.part.key]] = np.arange(len(above.rows))
    code_of = {text: code for code, text in enumerate(above.values[above.part.key])}
    there = np.array([code_of.get(text, NONE) for text in values], np.int64)
    entries = entry_of[there[codes]]  # the last place is that of no entry
    is_found = entries != NONE
    return np.where(is_found, above.keys[entries], NONE), np.where(is_found, above.persons[entries], NONE)


def _number_people(
    values: Sequence[Sequence[str | None]], codes: Sequence[IntArray], people: dict[tuple[str | None, ...], int]
) -> IntArray:
    """Return the number of each entry's person, by the texts of some columns; new people are added."""
    distinct, which = np.unique(np.stack(codes), axis=1, return_inverse=True)
    texts = zip(
        *([texts[code] for code in column] for texts, column in zip(values, distinct.tolist(), strict=True)),
        strict=True,
    )
    numbers = [people.setdefault(one, len(people)) for one in texts]
    return np.array(numbers, np.int64)[which.ravel()]


def _joined_list(tables: Mapping[str, TableCount], policy: Policy) -> FrequencyList:
    """Put the entries of all tables into one frequency list."""
    sizes = [len(table.rows) for table in tables.values()]
    starts = np.append(0, np.cumsum(sizes))
    columns, hierarchies, codes, weights = [], [], [], []
    for position, (name, table) in enumerate(tables.items()):
        for column in table.part.policy.quasi:
            hierarchy = table.hierarchies[column]
            of_entries = np.full(starts[-1], len(hierarchy.values))
            of_entries[starts[position] : starts[position + 1]] = table.codes[column]
            columns.append(f"{name}.{column}")
            hierarchies.append(_with_absent(hierarchy))
            codes.append(of_entries)
            weights.append(table.part.policy.columns[column].weight)
    persons, parents, keys = (
        np.concatenate([getattr(table, of) for table in tables.values()]) for of in ("persons", "parents", "keys")
    )
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    depths = np.repeat([_depth(name, policy) for name in tables], sizes)
    rows = np.concatenate([table.rows for table in tables.values()])
    (person,) = policy.person_columns
    sensitive = _sensitive_columns(tables, starts)
    apart = {**sensitive, person: (None, persons), ENTRY: (None, np.arange(starts[-1]))}
    found = FrequencyList.of_codes(columns, hierarchies, codes, rows, weights, apart)
    order = found.entries.codes[ENTRY]
    values = {name: codes_of[order] for name, (_, codes_of) in sensitive.items()}
    entries = replace(found.entries, codes={**values, person: persons[order]}, persons=persons[order])
    tree = replace(RowTree.of(keys[order], parents[order], numbers[order], depths[order]), sources=order)
    people = People(persons[order], entries.tuples, values, rows=entries.counts, tree=tree)
    return replace(found, entries=entries, base=replace(found.base, people=people), has_absent=True)


def _sensitive_columns(
    tables: Mapping[str, TableCount], starts: IntArray
) -> dict[str, tuple[Sensitive | None, IntArray]]:
    """Return the sensitive columns that models ask about, and the value code of each entry; NONE in other tables."""
    found: dict[str, tuple[Sensitive | None, IntArray]] = {}
    for position, (name, table) in enumerate(tables.items()):
        for column, hierarchy in table.hierarchies.items():
            if column not in table.part.policy.quasi:
                codes = np.full(starts[-1], NONE)
                codes[starts[position] : starts[position + 1]] = table.codes[column]
                described = Sensitive(tuple(table.values[column]), hierarchy if hierarchy.height else None)
                found[f"{name}.{column}"] = described, codes
    return found


def _depth(name: str, policy: Policy) -> int:
    parent = policy.parts[name].parent
    return 0 if parent is None else 1 + _depth(parent, policy)


def _with_absent(hierarchy: CompiledHierarchy) -> CompiledHierarchy:
    """Return a hierarchy with one more value, which stays apart from all others at every level."""
    return replace(
        hierarchy,
        values=(*hierarchy.values, ABSENT),
        labels=tuple((*labels, ABSENT) for labels in hierarchy.labels),
        maps=tuple(
            np.append(codes, len(labels)) for codes, labels in zip(hierarchy.maps, hierarchy.labels, strict=True)
        ),
        domain_size=max(1, hierarchy.domain_size),  # a table may have no rows
        leaves=tuple(np.append(leaves, 1) for leaves in hierarchy.leaves),
        find_positions=lambda: None,
        sort_keys=lambda values: None,
    )
