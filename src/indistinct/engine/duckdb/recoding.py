"""Recoding in DuckDB: labels are joined to codes, rows of a tuple are drawn for groups, and all stand in random order.

Every function here makes a table of the session and returns its name; tables on the way are dropped again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from indistinct.engine.arrays import NOWHERE, integers, pieces, text_column
from indistinct.engine.duckdb import distinct_lines
from indistinct.engine.duckdb.changed_cells import shifted_sql
from indistinct.engine.duckdb.distinct_lines import SAFE_TYPES, rows_repeat
from indistinct.engine.duckdb.source import DuckSource, Encoding, code_type, count_known_codes, store_coded_rows
from indistinct.engine.plans import ClassPlan, LocalPlan, Plan, Shifts
from indistinct.randomness import Draws

# Most labels of a released column that is stored as a one- or two-byte ENUM, which sorts and decodes faster than text,
# unless the rows are so few that to make the type takes longer.
SMALL_DICTIONARY = 65_000
FEW_ROWS = 10_000
KEYS_PER_BATCH = 122_880
LINE = "line"
"""The column of a stored release with the number of what a row says, if rows repeat."""
ENUM = "enum"


class Stored(NamedTuple):
    """A table of the session with cells r0, r1, … that are to be released."""

    table: str
    rows: int
    enums: frozenset[str] = frozenset()
    """The columns that are ENUMs made here, which are released as text."""
    has_lines: bool = False
    """Whether there is a column ``LINE``."""
    kinds: str | None = None
    """The table with the cells of each line, if these stand apart: the other one then has ``LINE`` alone."""


class ShownLabels(NamedTuple):
    """What a column's codes become: SQL of code, label and what is shown, and whether that is an ENUM made here."""

    sql: str
    is_enum: bool


def recoded_by_column(source: DuckSource, encoding: Encoding, plan: Plan) -> Stored:
    """Create the table of released cells r0, r1, … in random order."""
    coded = _copied_rows(source, encoding, plan) if plan.copied else encoding.coded
    labels = _labels_of_codes(source, encoding, plan)
    shown = {column: _labels_of_column(source, encoding, column, plan, labels) for column in encoding.columns}
    unordered = _labelled_by_column(source, encoding, coded, shown, plan)
    source.session.drop(*(table for table in (labels, coded) if table not in (None, encoding.coded)))
    unordered = _numbered_lines(source, unordered, plan.draws, is_distinct=encoding.weight is not None)
    return _shuffled_rows(source, unordered, plan.draws)


def recoded_locally(source: DuckSource, encoding: Encoding, plan: LocalPlan) -> Stored:
    """Create the table of released cells r0, r1, … in random order."""
    coded = _copied_rows(source, encoding, plan) if plan.copied else encoding.coded
    placed = _placed_rows(source, encoding, coded, plan)
    if coded != encoding.coded:
        source.session.drop(coded)
    unordered = _labelled_by_group(source, encoding, placed, plan)
    source.session.drop(placed)
    return _shuffled_rows(source, _numbered_lines(source, unordered, plan.draws, is_distinct=False), plan.draws)


def divided_tables(source: DuckSource, encoding: Encoding, plan: ClassPlan) -> dict[str, str]:
    """Create the tables of a plan, each in a random order of its own: r0 is the class, r1, r2, … are cells."""
    coded = _copied_rows(source, encoding, plan)
    placed = _placed_rows(source, encoding, coded, plan)
    source.session.drop(coded)
    classes = int(np.max(plan.groups, initial=-1)) + 1
    random_numbers = np.argsort(plan.draws.part("classes").keys(classes)) + 1
    names = pa.table({"goal": integers(np.arange(classes)), "class": integers(random_numbers)})
    tables = {}
    with source.session.registered_table(names) as given:
        for name, columns in plan.tables.items():
            unordered = source.session.fresh("unordered")
            cells = "".join(f", rows.o{plan.copied.index(column)} AS r{n}" for n, column in enumerate(columns, 1))
            rows = source.session.store(
                unordered, f"SELECT n.class AS r0{cells} FROM {placed} AS rows JOIN {given} AS n USING (goal)"
            )
            tables[name] = _shuffled_rows(source, Stored(unordered, rows), plan.draws.part(name)).table
    source.session.drop(placed)
    return tables


def _copied_rows(source: DuckSource, encoding: Encoding, plan: Plan | LocalPlan | ClassPlan) -> str:
    """Create the table of the codes and the copied cells of the eligible rows.

    The rows are read again for it, so that cells nobody asked for were never held. If they are no longer
    those that were counted, nothing is released.
    """
    copied = source.session.fresh("copied")
    store_coded_rows(source, encoding, plan.copied, copied)
    source.refuse_changed(count_known_codes(source, encoding, copied) != encoding.rows)
    return copied


def _labelled_by_column(
    source: DuckSource, encoding: Encoding, coded: str, labels: Mapping[str, ShownLabels], plan: Plan
) -> Stored:
    """Create the table of released cells r0, r1, … in the order of the source."""
    unordered = source.session.fresh("unordered")
    suppressed = _suppressed_groups(plan)
    cells = ", ".join(
        f"{_shown_cell(source, column, plan, encoding, may_blank=suppressed is not None)} AS r{position}"
        for position, column in enumerate(plan.columns)
    )
    joins = "".join(
        f" LEFT JOIN ({found.sql}) AS l{position} ON rows.c{position} = l{position}.code"
        for position, found in enumerate(labels.values())
    )
    with ExitStack() as given:
        if plan.shifts is not None:
            moved = given.enter_context(source.session.registered_table(_days_of_people(plan.shifts)))
            of_person = " AND ".join(
                f"rows.c{encoding.position(name)} = m.{name_of}" for name_of, name in _names(plan.shifts)
            )
            joins += f" LEFT JOIN {moved} AS m ON {of_person}"
        if suppressed is not None:
            left_out = given.enter_context(source.session.registered_table(suppressed))
            same = " AND ".join(
                f"l{encoding.position(column)}.label = s.g{position}" for position, column in enumerate(plan.suppressed)
            )
            joins += f" LEFT JOIN (SELECT DISTINCT *, true AS is_suppressed FROM {left_out}) AS s ON {same}"
            joins += "" if plan.blank else " WHERE s.is_suppressed IS NULL"
        number = "" if encoding.weight is None else ", rows.n"
        rows = source.session.store(unordered, f"SELECT {cells}{number} FROM {coded} AS rows{joins}")
    return Stored(unordered, rows, frozenset(column for column, found in labels.items() if found.is_enum))


def _placed_rows(source: DuckSource, encoding: Encoding, coded: str, plan: LocalPlan | ClassPlan) -> str:
    """Create the table of rows with the number of the group that each goes to.

    Where the rows of a tuple go to several groups they are drawn in random order: the order of the source would
    tell something about who went where.
    """
    session = source.session
    placed, drawn_from = session.fresh("placed"), session.fresh("divided")
    undivided, shared = pieces(plan, encoding.columns)
    same = " AND ".join(f"rows.c{position} = p.c{position}" for position in range(len(encoding.columns)))
    others = "".join(f"rows.o{position}, " for position in range(len(plan.copied)))
    every = coded if encoding.weight is None else f"(SELECT *, unnest(range(n)) FROM {coded})"
    joined = f"FROM {every} AS rows JOIN {{}} AS p ON {same or 'true'}"
    with session.registered_table(undivided) as whole:
        rows = session.store(placed, f"SELECT {others}p.goal {joined.format(whole)}")
    if len(shared):
        with session.registered_table(shared) as several:
            tuples = f"(SELECT DISTINCT * EXCLUDE (goal, first, last) FROM {several})"
            divided = session.store(drawn_from, f"SELECT {others}p.tuple {joined.format(tuples)}")
            drawn_from = _repeatable_order(source, drawn_from, plan.draws)
            with session.registered_table(_random_keys(divided, plan.draws.part("groups"))) as keys:
                drawn = (
                    "SELECT d.*, row_number() OVER (PARTITION BY tuple ORDER BY key) - 1 AS place "
                    f"FROM {drawn_from} AS d POSITIONAL JOIN {keys}"
                )
                rows += session.fetch(
                    f"INSERT INTO {placed} SELECT {others}p.goal FROM ({drawn}) AS rows JOIN {several} AS p "
                    "ON rows.tuple = p.tuple AND rows.place >= p.first AND rows.place < p.last"
                )[0][0]
            source.session.drop(drawn_from)
    source.refuse_changed(rows != encoding.rows)
    return placed


def _labelled_by_group(source: DuckSource, encoding: Encoding, placed: str, plan: LocalPlan) -> Stored:
    """Create the table of released cells r0, r1, … in the order of the source."""
    unordered = source.session.fresh("unordered")
    names = {column: f"l{position}" for position, column in enumerate(plan.labels)}
    groups = np.arange(max((len(codes) for codes in plan.codes.values()), default=0))
    data = {"goal": integers(groups)} | {
        names[column]: text_column(plan.labels[column], np.asarray(plan.codes[column], np.int64)) for column in names
    }
    shown = ", ".join(
        f"{f'l.{names[column]}' if column in names else f'rows.o{plan.copied.index(column)}'} AS r{position}"
        for position, column in enumerate(plan.columns)
    )
    with source.session.registered_table(pa.table(data)) as given:
        stored = {
            column: _storage(source, encoding, column, plan, f"SELECT {name} AS text FROM {given}")
            for column, name in names.items()
        }
        cells = "".join(f", {name}::{stored[column]} AS {name}" for column, name in names.items())
        rows = source.session.store(
            unordered,
            f"SELECT {shown} FROM {placed} AS rows LEFT JOIN (SELECT goal{cells} FROM {given}) AS l USING (goal)"
            f"{'' if plan.blank else f' WHERE rows.goal <> {NOWHERE}'}",
        )
    return Stored(unordered, rows, frozenset(column for column, kind in stored.items() if _is_enum(kind)))


def _labels_of_codes(source: DuckSource, encoding: Encoding, plan: Plan) -> str | None:
    """Create the table of the codes of generalized columns, their label codes and texts; None if there are none."""
    raised = [column for column in encoding.columns if column not in plan.kept]
    if not raised:
        return None
    maps = [np.asarray(plan.maps[column], np.int64) for column in raised]
    places = np.array([encoding.position(column) for column in raised])
    data = {
        "position": integers(np.repeat(places, [len(codes) for codes in maps])),
        "code": integers(np.concatenate([np.arange(len(codes)) for codes in maps])),
        "label": integers(np.concatenate(maps)),
        "text": text_column(
            [plan.labels[column][label] for column, codes in zip(raised, maps, strict=True) for label in codes.tolist()]
        ),
    }
    table = source.session.fresh("labels")
    with source.session.registered_table(pa.table(data)) as given:
        source.session.store(table, f"SELECT * FROM {given}")
    return table


def _labels_of_column(
    source: DuckSource, encoding: Encoding, column: str, plan: Plan, labels: str | None
) -> ShownLabels:
    """Return what the codes of a column become; one that is kept has its own codes as labels, and its own texts."""
    position = encoding.position(column)
    found = (
        f"SELECT code, code AS label, nullif(text, '') AS text FROM {encoding.dictionary} WHERE position = {position}"
        if column in plan.kept
        else f"SELECT code, label, text FROM {labels} WHERE position = {position}"
    )
    kind = _storage(source, encoding, column, plan, found)
    code = f"code::{code_type(encoding.sizes[position])} AS code"
    return ShownLabels(f"SELECT {code}, label, text::{kind} AS shown FROM ({found})", _is_enum(kind))


def _storage(source: DuckSource, encoding: Encoding, column: str, plan: Plan | LocalPlan, labels: str) -> str:
    """Return the type in which a released column is stored until it is read."""
    own_type = source.types[column]
    if column in plan.kept and own_type != "VARCHAR" and not own_type.startswith("ENUM") and own_type != '"NULL"':
        return own_type
    if encoding.rows < FEW_ROWS:
        return "VARCHAR"
    distinct = f"SELECT DISTINCT text FROM ({labels}) WHERE text IS NOT NULL"
    if not 0 < source.rows_of(f"({distinct})") <= SMALL_DICTIONARY:
        return "VARCHAR"
    enum = source.session.fresh(ENUM)
    source.session.execute(f"CREATE TYPE {enum} AS ENUM ({distinct})")
    return enum


def _is_enum(kind: str) -> bool:
    return kind.startswith(ENUM)


def _shown_cell(source: DuckSource, column: str, plan: Plan, encoding: Encoding, *, may_blank: bool) -> str:
    """Return the SQL of one released cell."""
    if column not in plan.maps:
        cell = f"rows.o{plan.copied.index(column)}"
        if plan.shifts is None or column not in plan.shifts.formats:
            return cell
        return shifted_sql(source.types[column], cell, plan.shifts.formats[column], "m.days")
    cell = f"l{encoding.position(column)}.shown"
    is_blanked = may_blank and plan.blank and column not in plan.unblanked
    return f"CASE WHEN s.is_suppressed THEN NULL ELSE {cell} END" if is_blanked else cell


def _suppressed_groups(plan: Plan) -> pa.Table | None:
    """Return the suppressed tuples of label codes as columns g0, g1, …; None if there are none."""
    codes = [integers(np.asarray(codes, dtype=np.int64)) for codes in plan.suppressed.values()]
    if not codes or not len(codes[0]):
        return None
    return pa.table({f"g{position}": column for position, column in enumerate(codes)})


def _names(shifts: Shifts) -> list[tuple[str, str]]:
    return [(f"k{position}", column) for position, column in enumerate(shifts.codes)]


def _days_of_people(shifts: Shifts) -> pa.Table:
    """Return the days by which dates move, beside the codes k0, k1, … of whose dates they are."""
    codes = {name: integers(np.asarray(shifts.codes[column], np.int64)) for name, column in _names(shifts)}
    return pa.table({**codes, "days": integers(np.asarray(shifts.days, np.int64))})


def _numbered_lines(source: DuckSource, unordered: Stored, draws: Draws, *, is_distinct: bool) -> Stored:
    """Return rows that are alike a number, in a column ``LINE``, if they repeat; distinct ones are repeated.

    Of text, which is written line by line, only the numbers are shuffled: the cells of each stand in another table.
    """
    session = source.session
    if not is_distinct and unordered.rows < distinct_lines.SAMPLED_ROWS:
        return unordered
    types = dict(session.fetch(f"SELECT column_name, column_type FROM (DESCRIBE {unordered.table})"))
    cells = [name for name in types if name != "n"]
    is_safe = all(kind.startswith(SAFE_TYPES) for kind in types.values())
    if not is_distinct and not (is_safe and rows_repeat(session, unordered.table, cells)):
        return unordered
    names, number = ", ".join(cells), "sum(n)::BIGINT" if is_distinct else "count(*)"
    kinds, lines = session.fresh("kinds"), session.fresh("lines")
    order = f"ORDER BY {_as_texts(cells)}" if draws.repeats else ""  # so that lines are in the order of their cells
    different = session.store(
        kinds,
        f"SELECT *, row_number() OVER ({order}) - 1 AS {LINE} "
        f"FROM (SELECT {names}, {number} AS n FROM {unordered.table} GROUP BY {names})",
    )
    are_apart = source.repeats is not None
    shown = LINE if are_apart else f"{names}, {LINE}"
    rows = session.store(
        lines,
        f"SELECT {shown} FROM (SELECT * REPLACE ({LINE}::{code_type(different)} AS {LINE}), unnest(range(n)) "
        f"FROM {kinds})",
    )
    session.drop(unordered.table, *([] if are_apart else [kinds]))
    return Stored(lines, rows, unordered.enums, has_lines=True, kinds=kinds if are_apart else None)


def _shuffled_rows(source: DuckSource, unordered: Stored, draws: Draws) -> Stored:
    """Move the rows into a new table in the order of 64-bit keys, usually of the system's secure generator."""
    ordered = source.session.fresh("released")
    table = _repeatable_order(source, unordered.table, draws, LINE if unordered.kinds is not None else None)
    with source.session.registered_table(_random_keys(unordered.rows, draws.part("order"))) as keys:
        source.session.store(ordered, f"SELECT u.* FROM {table} AS u POSITIONAL JOIN {keys} ORDER BY key")
    source.session.drop(table)
    return unordered._replace(table=ordered)


def _repeatable_order(source: DuckSource, unordered: str, draws: Draws, by: str | None = None) -> str:
    """Move the rows into a table in the order of their cells if draws are to repeat; else leave them where they are.

    Keys are given to rows by position, and without this the position follows from the source and from threads. The
    order is that of the column ``by``, if it has that of the cells.
    """
    if not draws.repeats:
        return unordered
    ordered = source.session.fresh("ordered")
    names = [name for (name,) in source.session.fetch(f"SELECT column_name FROM (DESCRIBE {unordered})")]
    source.session.execute(f"CREATE TABLE {ordered} AS SELECT * FROM {unordered} ORDER BY {by or _as_texts(names)}")
    source.session.drop(unordered)
    return ordered


def _as_texts(names: Iterable[str]) -> str:
    """Return the SQL of an order of cells as texts, since an ENUM made here has its values in any order."""
    return ", ".join(f"{name}::VARCHAR NULLS FIRST" for name in names)


def _random_keys(rows: int, draws: Draws) -> pa.RecordBatchReader:
    """Return ``rows`` uniform 64-bit keys as a stream; 5 million rows collide with a chance below one in a million."""
    schema = pa.schema([("key", pa.uint64())])

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, rows, KEYS_PER_BATCH):
            keys = draws.part(str(start)).keys(min(KEYS_PER_BATCH, rows - start))
            yield pa.record_batch([integers(keys)], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())
