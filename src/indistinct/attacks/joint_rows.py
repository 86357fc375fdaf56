"""Rows of linked tables as rows of one: below each other, or each beside the rows of other tables that it belongs to.

A recipient joins the tables by their pseudonyms. Below each other, all rows of a pseudonym are one person's. Beside
each other, a prescription has the cells of its visit and of its patient.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from indistinct.attacks.attack import InapplicableError
from indistinct.attacks.target import Target
from indistinct.counting import as_declared
from indistinct.engine import Counts, Rows, use_table
from indistinct.policy import PSEUDONYM, Column, Policy, Role
from indistinct.privacy import KAnonymity, PrivacyModel
from indistinct.release.released_tables import ReleasedTables

Report = TypeVar("Report")
TREE = ".tree"
"""A number that two rows share which have equal quasi cells, and equal rows that belong to them."""


@contextmanager
def rows_of_people(target: Target) -> Iterator[Rows]:
    """Return the rows that have the quasi columns; those of linked tables stand below each other."""
    if not target.policy.tables:
        with target.release.quasi_rows() as rows:
            yield rows
        return
    with target.release.rows() as tables:
        stacked = stack_rows(_read(tables), target.policy)
    with use_table(stacked, **target.reading) as rows:
        yield rows


@contextmanager
def rows_of_each_table(target: Target) -> Iterator[tuple[Rows, list[Rows]]]:
    """Return the rows that have the quasi columns, those of linked tables below each other; and those of each table.

    All have the pseudonym of their person where tables are linked, and columns ``table.column``.
    """
    if not target.policy.tables:
        with target.release.quasi_rows() as rows:
            yield rows, [rows]
        return
    with target.release.rows() as tables:
        read = _read(tables)
    stacked, first = stack_rows(read, target.policy), 0
    with ExitStack() as opened:
        each = []
        for name, table in read.items():
            own = stacked.slice(first, table.num_rows)
            first += table.num_rows
            own = own.select([c for c in own.column_names if c == PSEUDONYM or c.startswith(f"{name}.")])
            each.append(opened.enter_context(use_table(own, **target.reading)))
        yield opened.enter_context(use_table(stacked, **target.reading)), each


def stack_rows(tables: Mapping[str, pa.Table], policy: Policy) -> pa.Table:
    """Return the released rows of all tables below each other, with columns ``table.column``, PSEUDONYM and TREE.

    A row has nothing in the columns of other tables.
    """
    people, trees = _people(tables, policy), _trees(tables, policy)
    parts = []
    for name, table in tables.items():
        own = [column for column in policy.parts[name].policy.columns if column in table.column_names]
        cells = {f"{name}.{column}": table[column] for column in own}
        parts.append(pa.table(cells | {PSEUDONYM: people[name], TREE: list(map(str, trees[name]))}))
    return pa.concat_tables(parts, promote_options="default")


def with_some_cell(found: Counts, values: Mapping[str, Sequence[str | None]], names: Sequence[str]) -> Counts:
    """Return those of stacked rows that have a cell in one of some columns: others say nothing there."""
    has_cell = np.zeros(len(found.counts), np.bool_)
    for name, codes in zip(names, found.codes, strict=False):
        has_cell |= np.array([text is not None for text in values[name]], np.bool_)[np.asarray(codes, np.int64)]
    return Counts(tuple(codes[has_cell] for codes in found.codes), found.counts[has_cell])


def _people(tables: Mapping[str, pa.Table], policy: Policy) -> dict[str, list[str | None]]:
    """Return the pseudonym of each row: its own, or that of the row which it refers to."""
    found: dict[str, list[str | None]] = {}
    for name in policy.in_order():
        part, table = policy.parts[name], tables[name]
        if PSEUDONYM in table.column_names:
            found[name] = table[PSEUDONYM].to_pylist()
            continue
        assert part.parent is not None  # else it would have pseudonyms
        keys = _texts(tables[part.parent], (policy.parts[part.parent].key,))
        whose = dict(zip(keys, found[part.parent], strict=True))
        found[name] = [whose.get(key) for key in _texts(table, (part.reference,))]
    return found


def _trees(tables: Mapping[str, pa.Table], policy: Policy) -> dict[str, list[int]]:
    """Number the rows of each table by their quasi cells and by the rows of other tables that belong to them."""
    numbers: dict[Any, int] = {}
    below: defaultdict[str, defaultdict[Any, list[int]]] = defaultdict(lambda: defaultdict(list))
    found = {}
    for name in reversed(policy.in_order()):
        part, table = policy.parts[name], tables[name]
        cells = _texts(table, part.policy.quasi)
        keys = [None] * len(cells) if part.key is None else _texts(table, (part.key,))
        found[name] = [
            numbers.setdefault((name, own, tuple(sorted(below[name].get(key, ())))), len(numbers))
            for own, key in zip(cells, keys, strict=True)
        ]
        if part.parent is not None:
            for key, number in zip(_texts(table, (part.reference,)), found[name], strict=True):
                below[part.parent][key].append(number)
    return found


def attack_each_table(
    attack: Callable[[Target], Report], target: Target, join: Callable[[dict[str, Report]], Report], *roles: Role
) -> Report:
    """Return what an attack on rows finds; of linked tables it looks at each that has columns of all roles."""
    if not target.policy.tables:
        return attack(target)
    views = {name: view for name, view in row_targets(target) if all(view.policy.with_role(role) for role in roles)}
    return join({name: attack(view) for name, view in views.items()})


def row_targets(target: Target) -> Iterator[tuple[str, Target]]:
    """Return each of linked tables that has sensitive or other columns as a release of one table.

    Its rows, and those of the original, have the cells of the rows that they belong to as well.
    """
    policy = target.policy
    if any(part.policy.eligible for part in policy.parts.values()):
        raise InapplicableError("rows of linked tables are compared where all of them are eligible")
    with target.release.rows() as tables:
        released = _read(tables)
    with ExitStack() as opened:
        original = {
            name: opened.enter_context(
                as_declared(opened.enter_context(use_table(target.original[name], **target.reading)), part.policy)
            )
            for name, part in policy.parts.items()
        }
        private = _read(original)
    for name in policy.parts:
        mine, theirs = (_beside(one, policy, name, is_released=one is released) for one in (released, private))
        columns = {
            one: column
            for one, column in policy.columns.items()
            if one in mine.column_names and one in policy.compared_columns
        }
        roles = {column.role for column in columns.values()}
        if "quasi" in roles and any(one.startswith(f"{name}.") for one in columns):
            one_table = Policy(columns=columns, privacy=_models_of(policy.privacy, columns))
            release = ReleasedTables.of(mine.select(list(columns)), one_table)
            yield name, replace(target, release=release, policy=one_table, original=theirs)


def _models_of(models: Sequence[PrivacyModel], columns: Mapping[str, Column]) -> Sequence[PrivacyModel]:
    """Return the models that can be asked of some columns: without those of secrets that stand in other tables."""
    secrets = {name for name, column in columns.items() if column.role == "sensitive"}
    kept = [one for one in models if not one.asks_sensitive or {getattr(one, "column", None)} <= {None, *secrets}]
    return [one for one in kept if secrets or not one.asks_sensitive] or [KAnonymity(1)]


def _beside(tables: Mapping[str, pa.Table], policy: Policy, name: str, *, is_released: bool) -> pa.Table:
    """Return the rows of a table with the cells of the rows that they refer to, and of their person's own row."""
    part, table = policy.parts[name], tables[name]
    found = {f"{name}.{column}": table[column] for column in part.policy.columns if column in table.column_names}
    ties: list[tuple[str, Sequence[str | None], Sequence[str | None]]] = []
    if part.parent is not None:
        ties.append((part.parent, (part.reference,), (policy.parts[part.parent].key,)))
    if part.member_of is not None and is_released:
        ties.append((part.member_of, (PSEUDONYM,), (PSEUDONYM,)))
    elif part.member_of is not None:
        ties.append((part.member_of, part.person, policy.parts[part.member_of].person))
    for goal, ours, theirs in ties:
        place = {key: row for row, key in enumerate(_texts(tables[goal], theirs))}
        rows = pa.array([place.get(key) for key in _texts(table, ours)], pa.int64())
        above = _beside(tables, policy, goal, is_released=is_released).take(rows)
        found |= {column: above[column] for column in above.column_names}
    return pa.table(found)


def _texts(table: pa.Table, columns: Sequence[str | None]) -> list[tuple[Any, ...]]:
    """Return the cells of some columns, row by row."""
    cells = [table[column].to_pylist() for column in columns if column is not None]
    return list(zip(*cells, strict=True)) if cells else [()] * table.num_rows


def _read(tables: Mapping[str, Rows]) -> dict[str, pa.Table]:
    return {name: rows.texts(list(rows.columns())).read_all() for name, rows in tables.items()}
