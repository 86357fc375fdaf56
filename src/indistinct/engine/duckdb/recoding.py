"""Recoding in DuckDB: labels are joined to codes, rows of a tuple are drawn for groups, and all stand in random order.

Every function here makes a table of the session and returns its name; tables on the way are dropped again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from indistinct.draws import Draws
from indistinct.engine.arrays import NOWHERE, integers, pieces, text_column
from indistinct.engine.duckdb import folding
from indistinct.engine.duckdb.encoding import Encoding, code_type, count_known_codes, store_coded_rows
from indistinct.engine.duckdb.folding import SAFE_TYPES, rows_repeat
from indistinct.engine.duckdb.moving_dates import shifted_sql
from indistinct.engine.duckdb.source import DuckSource
from indistinct.engine.plans import ClassPlan, LocalPlan, Plan, Shifts

# Up to so many labels a released column is stored as a one- or two-byte ENUM, which sorts and decodes faster than text,
# unless the rows are so few that to make the type takes longer.
SMALL_DICTIONARY = 65_000
FEW_ROWS = 10_000
KEYS_PER_BATCH = 122_880
LINE = "line"
"""The column of a stored release with the number of what a row says, if rows repeat."""


def recoded_by_column(source: DuckSource, encoding: Encoding, plan: Plan) -> str:
    """Create the table of released cells r0, r1, … in random order."""
    coded = _copied_rows(source, encoding, plan) if plan.copied else encoding.coded
    labels = [_labels_of_codes(source, column, plan, encoding) for column in encoding.columns]
    unordered = _labelled_by_column(source, encoding, coded, labels, plan)
    source.session.drop(*labels, *([] if coded == encoding.coded else [coded]))
    unordered = _numbered_lines(source, unordered, is_folded=encoding.weight is not None)
    return _shuffled_rows(source, unordered, plan.draws)


def recoded_locally(source: DuckSource, encoding: Encoding, plan: LocalPlan) -> str:
    """Create the table of released cells r0, r1, … in random order."""
    coded = _copied_rows(source, encoding, plan) if plan.copied else encoding.coded
    placed = _placed_rows(source, encoding, coded, plan)
    if coded != encoding.coded:
        source.session.drop(coded)
    unordered = _labelled_by_group(source, encoding, placed, plan)
    source.session.drop(placed)
    return _shuffled_rows(source, _numbered_lines(source, unordered, is_folded=False), plan.draws)


def divided_tables(source: DuckSource, encoding: Encoding, plan: ClassPlan) -> dict[str, str]:
    """Create the tables of a plan, each in a random order of its own: r0 is the class, r1, r2, … are cells."""
    coded = _copied_rows(source, encoding, plan)
    placed = _placed_rows(source, encoding, coded, plan)
    source.session.drop(coded)
    classes = int(np.max(plan.groups, initial=-1)) + 1
    random_numbers = np.argsort(plan.draws.part("classes").keys(classes)) + 1
    names = pa.table({"goal": integers(np.arange(classes)), "class": integers(random_numbers)})
    tables = {}
    for name, columns in plan.tables.items():
        unordered = source.session.fresh("unordered")
        cells = "".join(f", rows.o{plan.copied.index(column)} AS r{n}" for n, column in enumerate(columns, 1))
        with source.session.registered_table(names) as given:
            source.session.execute(
                f"CREATE TABLE {unordered} AS SELECT n.class AS r0{cells} "
                f"FROM {placed} AS rows JOIN {given} AS n USING (goal)"
            )
        tables[name] = _shuffled_rows(source, unordered, plan.draws.part(name))
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


def _labelled_by_column(source: DuckSource, encoding: Encoding, coded: str, labels: Sequence[str], plan: Plan) -> str:
    """Create the table of released cells r0, r1, … in the order of the source."""
    unordered = source.session.fresh("unordered")
    joins = "".join(
        f" LEFT JOIN {table} AS l{position} ON rows.c{position} = l{position}.code"
        for position, table in enumerate(labels)
    )
    same = " AND ".join(
        f"l{encoding.position(column)}.label = s.g{position}" for position, column in enumerate(plan.suppressed)
    )
    cells = ", ".join(
        f"{_shown_cell(source, column, plan, encoding)} AS r{position}" for position, column in enumerate(plan.columns)
    )
    with (
        source.session.registered_table(_suppressed_groups(plan)) as suppressed,
        source.session.registered_table(_days_of_people(plan)) as days,
    ):
        if plan.shifts is not None:
            of_person = " AND ".join(
                f"rows.c{encoding.position(name)} = m.{name_of}" for name_of, name in _names(plan.shifts)
            )
            joins += f" LEFT JOIN {days} AS m ON {of_person}"
        source.session.execute(
            f"CREATE TABLE {unordered} AS SELECT {cells}{'' if encoding.weight is None else ', rows.n'} "
            f"FROM {coded} AS rows{joins} "
            f"LEFT JOIN (SELECT DISTINCT *, true AS is_suppressed FROM {suppressed}) AS s ON {same or 'false'}"
            f"{'' if plan.blank else ' WHERE s.is_suppressed IS NULL'}"
        )
    return unordered


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
    unfolded = coded if encoding.weight is None else f"(SELECT *, unnest(range(n)) FROM {coded})"
    joined = f"FROM {unfolded} AS rows JOIN {{}} AS p ON {same or 'true'}"
    with session.registered_table(undivided) as whole:
        session.execute(f"CREATE TABLE {placed} AS SELECT {others}p.goal {joined.format(whole)}")
    if len(shared):
        with session.registered_table(shared) as several:
            tuples = f"(SELECT DISTINCT * EXCLUDE (goal, first, last) FROM {several})"
            session.execute(f"CREATE TABLE {drawn_from} AS SELECT {others}p.tuple {joined.format(tuples)}")
            drawn_from = _repeatable_order(source, drawn_from, plan.draws)
            with session.registered_table(_random_keys(source.rows_of(drawn_from), plan.draws.part("groups"))) as keys:
                drawn = (
                    "SELECT d.*, row_number() OVER (PARTITION BY tuple ORDER BY key) - 1 AS place "
                    f"FROM {drawn_from} AS d POSITIONAL JOIN {keys}"
                )
                session.execute(
                    f"INSERT INTO {placed} SELECT {others}p.goal FROM ({drawn}) AS rows JOIN {several} AS p "
                    "ON rows.tuple = p.tuple AND rows.place >= p.first AND rows.place < p.last"
                )
            source.session.drop(drawn_from)
    source.refuse_changed(source.rows_of(placed) != encoding.rows)
    return placed


def _labelled_by_group(source: DuckSource, encoding: Encoding, placed: str, plan: LocalPlan) -> str:
    """Create the table of released cells r0, r1, … in the order of the source."""
    unordered, labels = source.session.fresh("unordered"), source.session.fresh("labels")
    names = {column: f"l{position}" for position, column in enumerate(plan.labels)}
    groups = np.arange(max((len(codes) for codes in plan.codes.values()), default=0))
    data = {"goal": integers(groups)} | {
        names[column]: text_column(plan.labels[column], np.asarray(plan.codes[column], np.int64)) for column in names
    }
    with source.session.registered_table(pa.table(data)) as given:
        stored = {
            column: _storage(source, encoding, column, plan, f"SELECT {name} AS text FROM {given}")
            for column, name in names.items()
        }
        cells = ", ".join(f"{name}::{stored[column]} AS {name}" for column, name in names.items())
        source.session.execute(f"CREATE TABLE {labels} AS SELECT goal{', ' if cells else ''}{cells} FROM {given}")
    shown = ", ".join(
        f"{f'l.{names[column]}' if column in names else f'rows.o{plan.copied.index(column)}'} AS r{position}"
        for position, column in enumerate(plan.columns)
    )
    source.session.execute(
        f"CREATE TABLE {unordered} AS SELECT {shown} FROM {placed} AS rows LEFT JOIN {labels} AS l USING (goal)"
        f"{'' if plan.blank else f' WHERE rows.goal <> {NOWHERE}'}"
    )
    source.session.drop(labels)
    return unordered


def _labels_of_codes(source: DuckSource, column: str, plan: Plan, encoding: Encoding) -> str:
    """Create the table from value codes to label codes and to the cells that are shown for them."""
    position = encoding.position(column)
    size = encoding.sizes[position]
    table = source.session.fresh("labels")
    label_codes = np.asarray(plan.maps[column], dtype=np.int64)
    if column in plan.kept:
        data = pa.table({"code": integers(np.arange(size)), "label": integers(label_codes)})
        values = f"SELECT code, nullif(text, '') AS text FROM {encoding.dictionary} WHERE position = {position}"
        query = f"SELECT * FROM ({values}) JOIN {{}} USING (code)"
    else:
        shown = text_column(plan.labels[column], label_codes)
        data = pa.table({"code": integers(np.arange(size)), "label": integers(label_codes), "text": shown})
        query = "SELECT * FROM {}"
    with source.session.registered_table(data) as registered:
        stored = _storage(source, encoding, column, plan, query.format(registered))
        source.session.execute(
            f"CREATE TABLE {table} AS SELECT code::{code_type(size)} AS code, label, text::{stored} AS shown "
            f"FROM ({query.format(registered)})"
        )
    return table


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
    enum = source.session.fresh("enum")
    source.session.execute(f"CREATE TYPE {enum} AS ENUM ({distinct})")
    return enum


def _shown_cell(source: DuckSource, column: str, plan: Plan, encoding: Encoding) -> str:
    """Return the SQL of one released cell."""
    if column not in plan.maps:
        cell = f"rows.o{plan.copied.index(column)}"
        if plan.shifts is None or column not in plan.shifts.formats:
            return cell
        return shifted_sql(source.types[column], cell, plan.shifts.formats[column], "m.days")
    cell = f"l{encoding.position(column)}.shown"
    is_blanked = plan.blank and column not in plan.unblanked
    return f"CASE WHEN s.is_suppressed THEN NULL ELSE {cell} END" if is_blanked else cell


def _suppressed_groups(plan: Plan) -> pa.Table:
    """Return the suppressed tuples of label codes as columns g0, g1, …"""
    codes = [integers(np.asarray(codes, dtype=np.int64)) for codes in plan.suppressed.values()]
    return pa.table({f"g{position}": column for position, column in enumerate(codes or [integers(np.empty(0, "i8"))])})


def _names(shifts: Shifts) -> list[tuple[str, str]]:
    return [(f"k{position}", column) for position, column in enumerate(shifts.codes)]


def _days_of_people(plan: Plan) -> pa.Table:
    """Return the days by which dates move, beside the codes k0, k1, … of whose dates they are."""
    if plan.shifts is None:
        return pa.table({"days": integers(np.empty(0, "i8"))})
    codes = {name: integers(np.asarray(plan.shifts.codes[column], np.int64)) for name, column in _names(plan.shifts)}
    return pa.table({**codes, "days": integers(np.asarray(plan.shifts.days, np.int64))})


def _numbered_lines(source: DuckSource, unordered: str, *, is_folded: bool) -> str:
    """Give rows that are alike a number, in a column ``LINE``, if they repeat; folded rows are unfolded."""
    session = source.session
    if not is_folded and source.rows_of(unordered) < folding.SAMPLED_ROWS:
        return unordered
    types = dict(session.fetch(f"SELECT column_name, column_type FROM (DESCRIBE {unordered})"))
    cells = [name for name in types if name != "n"]
    is_safe = all(kind.startswith(SAFE_TYPES) for kind in types.values())
    if not is_folded and not (is_safe and rows_repeat(session, unordered, cells)):
        return unordered
    names, number = ", ".join(cells), "sum(n)::BIGINT" if is_folded else "count(*)"
    kinds, lines = session.fresh("kinds"), session.fresh("lines")
    session.execute(
        f"CREATE TABLE {kinds} AS SELECT *, row_number() OVER () - 1 AS {LINE} "
        f"FROM (SELECT {names}, {number} AS n FROM {unordered} GROUP BY {names})"
    )
    kind = code_type(source.rows_of(kinds))
    session.execute(
        f"CREATE TABLE {lines} AS SELECT {names}, {LINE} FROM "
        f"(SELECT {names}, {LINE}::{kind} AS {LINE}, unnest(range(n)) FROM {kinds})"
    )
    session.drop(unordered, kinds)
    return lines


def _shuffled_rows(source: DuckSource, unordered: str, draws: Draws) -> str:
    """Move the rows into a new table in the order of 64-bit keys, usually of the system's secure generator."""
    ordered = source.session.fresh("released")
    unordered = _repeatable_order(source, unordered, draws)
    with source.session.registered_table(_random_keys(source.rows_of(unordered), draws.part("order"))) as keys:
        source.session.execute(
            f"CREATE TABLE {ordered} AS SELECT u.* FROM {unordered} AS u POSITIONAL JOIN {keys} ORDER BY key"
        )
    source.session.drop(unordered)
    return ordered


def _repeatable_order(source: DuckSource, unordered: str, draws: Draws) -> str:
    """Move the rows into a table in the order of their cells if draws are to repeat; else leave them where they are.

    Keys are given to rows by position, and without this the position follows from the source and from threads. Cells
    are ordered as texts, since an ENUM made here has its values in any order.
    """
    if not draws.repeats:
        return unordered
    ordered = source.session.fresh("ordered")
    names = [name for (name,) in source.session.fetch(f"SELECT column_name FROM (DESCRIBE {unordered})")]
    by = ", ".join(f"{name}::VARCHAR NULLS FIRST" for name in names)
    source.session.execute(f"CREATE TABLE {ordered} AS SELECT * FROM {unordered} ORDER BY {by}")
    source.session.drop(unordered)
    return ordered


def _random_keys(rows: int, draws: Draws) -> pa.RecordBatchReader:
    """Return so many uniform 64-bit keys as a stream; 5 million rows collide with a chance below one in a million."""
    schema = pa.schema([("key", pa.uint64())])

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, rows, KEYS_PER_BATCH):
            keys = draws.part(str(start)).keys(min(KEYS_PER_BATCH, rows - start))
            yield pa.record_batch([integers(keys)], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())
