"""Recoding as SQL: labels are joined to rows by the keys of their cells, and rows of a tuple are drawn for groups.

What has to be random is drawn here, on the driver, and is part of the statement, however often an engine computes it.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from indistinct.array_types import BoolArray, IntArray
from indistinct.engine.arrays import NOWHERE, integers, numbers, pieces, text_column
from indistinct.engine.plans import ClassPlan, LocalPlan, Plan
from indistinct.engine.sql.dialect import Dialect
from indistinct.engine.sql.rows import join

if TYPE_CHECKING:
    from indistinct.engine.sql.keyed import KeyedSource, KeyedTuples


class Recoded(NamedTuple):
    """A query, how many rows it must give, and the tables of the driver that it uses."""

    query: str
    rows: int
    sent: list[str]


def recode_by_column(source: KeyedSource, tuples: KeyedTuples, plan: Plan) -> Recoded:
    """Return the query of released cells r0, r1, … in no order."""
    own = [column for column in plan.columns if column not in plan.maps or column in plan.kept]
    joined = _label_rows(source, tuples, plan, own)
    shown = []
    for number, column in enumerate(plan.columns):
        cell = f"o{own.index(column)}" if column in own else f"s{tuples.position(column)}"
        if plan.blank and column in plan.maps and column not in plan.unblanked:
            cell = f"CASE WHEN is_suppressed IS NULL THEN {cell} END"
        shown.append(f"{cell} AS r{number}")
    return joined._replace(query=f"SELECT {', '.join(shown)} FROM {joined.query}")


def recode_locally(source: KeyedSource, tuples: KeyedTuples, plan: LocalPlan) -> Recoded:
    """Return the query of released cells r0, r1, … in no order."""
    own = [column for column in plan.columns if column not in plan.labels or column in plan.kept]
    placed = place_rows(source, tuples, plan, own)
    carried = [column for column in plan.columns if column not in own]
    shown = []
    for number, column in enumerate(plan.columns):
        cell = f"o{own.index(column)}" if column in own else f"s{carried.index(column)}"
        if plan.blank and column in plan.labels:
            cell = f"CASE WHEN goal <> {NOWHERE} THEN {cell} END"
        shown.append(f"{cell} AS r{number}")
    joined, sent = f"({placed.query}) AS placed", list(placed.sent)
    if carried:
        codes = {column: np.asarray(plan.codes[column], np.int64) for column in carried}
        data = {f"s{n}": text_column(plan.labels[column], codes[column]) for n, column in enumerate(carried)}
        goals = integers(np.arange(len(next(iter(codes.values())))))
        sent.append(source.relation_of(pa.table({"goal": goals} | data)))
        joined += f" LEFT JOIN {sent[-1]} AS labels USING (goal)"
    released = "" if plan.blank else f" WHERE goal <> {NOWHERE}"
    number_of_rows = int(np.sum(plan.rows)) if plan.blank else placed.rows
    return Recoded(f"SELECT {', '.join(shown)} FROM {joined}{released}", number_of_rows, sent)


def place_rows(source: KeyedSource, tuples: KeyedTuples, plan: LocalPlan | ClassPlan, own: Sequence[str]) -> Recoded:
    """Return the query of rows, their cells o0, o1, … and the number of the group, ``goal``, that each goes to.

    Its number of rows is that of rows that go to some group. Where the rows of a tuple go to several groups, they stand
    in the order of a digest of their cells under a secret that is drawn here: rows that have the same cells may change
    places, others cannot, however often an engine computes them.
    """
    rows, names = keyed_rows(source, tuples, own, tuples.columns), tuples.names
    cells = [f"o{position}" for position in range(len(own))]
    listed = "".join(f", {cell}" for cell in cells)
    whole, shared = (_with_keys(part, tuples) for part in pieces(plan, tuples.columns))
    sent = [source.relation_of(whole.select([*names, "goal"]))]
    query = f"SELECT goal{listed} FROM {join(rows, sent[0], names)}"
    released = int(np.sum(np.asarray(plan.rows)[np.asarray(plan.groups) != NOWHERE]))
    if not len(shared):
        return Recoded(query, released, sent)
    first = shared.take(integers(np.flatnonzero(numbers(shared["first"]) == 0)))
    number = {"piece": integers(np.arange(len(shared)))}  # rises with the places within a tuple
    starts = pa.table(number | {"tuple": shared["tuple"], "place": shared["first"]})
    goals = pa.table(number | {"goal": shared["goal"]})
    sent += [source.relation_of(table) for table in (first.select([*names, "tuple"]), starts, goals)]
    order = ", ".join([row_digest(source.dialect, ["tuple", *cells]), *cells])
    drawn = f"SELECT tuple{listed} FROM {join(rows, sent[1], names)}"
    ranked = f"SELECT *, row_number() OVER (PARTITION BY tuple ORDER BY {order}) - 1 AS place FROM ({drawn}) AS drawn"
    # The pieces stand among the rows at their first places; each row belongs to the last piece before it.
    among = (
        f"SELECT tuple, place, 1 AS is_row, NULL AS piece{listed} FROM ({ranked}) AS ranked UNION ALL "
        f"SELECT tuple, place, 0, piece{', NULL' * len(cells)} FROM {sent[2]} AS starts"
    )
    last = "max(piece) OVER (PARTITION BY tuple ORDER BY place, is_row ROWS UNBOUNDED PRECEDING) AS piece"
    divided = f"SELECT is_row, {last}{listed} FROM ({among}) AS among"
    query += (
        f" UNION ALL SELECT goal{listed} FROM ({divided}) AS divided JOIN {sent[3]} AS goals USING (piece) "
        "WHERE is_row = 1"
    )
    return Recoded(query, released, sent)


def keyed_rows(
    source: KeyedSource, tuples: KeyedTuples, own: Sequence[str], joined: Sequence[str], single: Sequence[str] = ()
) -> str:
    """Return the query of eligible rows: k0, k1, … are the keys of encoded columns by which labels are joined.

    o0, o1, … are cells in their own type, and ``single`` are more cells as SQL.
    """
    keys = [f"{source.text(column)} AS k{tuples.position(column)}" for column in joined]
    cells = [f"{source.cell(column).own} AS o{position}" for position, column in enumerate(own)]
    listed = ", ".join([*keys, *cells, *single]) or "1 AS nothing"
    return f"SELECT {listed} FROM {source.relation} WHERE {tuples.where}"


def row_digest(dialect: Dialect, cells: Sequence[str]) -> str:
    """Return the SQL of a digest of some cells under a secret that is drawn now."""
    texts = [f"coalesce(CAST({cell} AS {dialect.text_type}), '')" for cell in cells]
    parts = [part for text in texts for part in (f"length({text})", "':'", text)]
    return dialect.sha256(dialect.concat([dialect.text(secrets.token_hex(32)), *parts]))


def _label_rows(source: KeyedSource, tuples: KeyedTuples, plan: Plan, own: Sequence[str]) -> Recoded:
    """Return rows with the labels s0, s1, … of their cells, and ``is_suppressed``, null for those that are not.

    A column with several labels is joined with them by its keys; one that is kept, or has a single label, by none.
    """
    sent, joins, single, joined = [], "", [], []
    for position, column in enumerate(tuples.columns):
        codes = np.asarray(plan.maps[column], np.int64)
        if column in plan.kept:
            continue
        if len(codes) and (codes == codes[0]).all():
            label = plan.labels[column][codes[0]]
            text = "NULL" if label is None else source.dialect.text(label)
            single.append(f"CAST({text} AS {source.dialect.text_type}) AS s{position}")
            continue
        joined.append(column)
        labels = {f"l{position}": integers(codes), f"s{position}": text_column(plan.labels[column], codes)}
        sent.append(source.relation_of(pa.table({f"k{position}": tuples.keys[position], **labels})))
        joins += f" JOIN {sent[-1]} AS d{position} USING (k{position})"
    marks = _suppressed_tuples(tuples, plan, joined)
    if len(marks):
        sent.append(source.relation_of(marks))
        names = marks.column_names[:-1]
        joins += f" LEFT JOIN {sent[-1]} AS marks " + (f"USING ({', '.join(names)})" if names else "ON true")
        joins += "" if plan.blank else " WHERE is_suppressed IS NULL"
        joined += [column for column in plan.kept if f"k{tuples.position(column)}" in names]
    else:
        single.append(f"CAST(NULL AS {source.dialect.text_type}) AS is_suppressed")
    rows = keyed_rows(source, tuples, own, joined, single)
    return Recoded(f"({rows}) AS r{joins}", _rows_left(source, tuples, plan, joins), sent)


def _suppressed_tuples(tuples: KeyedTuples, plan: Plan, labelled: Sequence[str]) -> pa.Table:
    """Return the tuples that are suppressed, each once, with a mark behind.

    They have the codes l0, l1, … of labels, and the keys k0, k1, … of kept columns; columns with a single label do not
    tell them apart.
    """
    given = {column: np.asarray(codes, np.int64) for column, codes in plan.suppressed.items()}
    is_met = np.ones(len(next(iter(given.values()), ())), np.bool_)
    for column, codes in given.items():
        is_met &= np.isin(codes, np.asarray(plan.maps[column], np.int64))
    data = {}
    for column in (column for column in given if column in plan.kept or column in labelled):
        position, codes = tuples.position(column), integers(given[column][is_met])
        is_kept = column in plan.kept
        data[f"{'k' if is_kept else 'l'}{position}"] = tuples.keys[position].take(codes) if is_kept else codes
    marks = pa.table(data | {"is_suppressed": text_column(["yes"] * int(is_met.sum()))})
    return marks.group_by(marks.column_names).aggregate([])


def _rows_left(source: KeyedSource, tuples: KeyedTuples, plan: Plan, joins: str) -> int:
    """Return the number of rows that are released, from the tuples that were counted."""
    if tuples.counted is None:
        return source.total(f"SELECT n FROM {tuples.relation} AS tuples{joins}")
    counts = tuples.counted.counts
    if plan.blank or not plan.suppressed:
        return int(counts.sum())
    labels = [
        np.asarray(plan.maps[own], np.int64)[tuples.counted.codes[tuples.position(own)]] for own in plan.suppressed
    ]
    return int(counts[~_are_among(labels, list(plan.suppressed.values()), len(counts))].sum())


def _are_among(tuples: Sequence[IntArray], wanted: Sequence[IntArray], length: int) -> BoolArray:
    """Return which tuples of codes, one array per column, are among the wanted ones; without columns none is."""
    if not tuples or not len(wanted[0]):
        return np.zeros(length, np.bool_)
    both = np.stack([np.concatenate([own, np.asarray(other)]) for own, other in zip(tuples, wanted, strict=True)])
    number = np.unique(both, axis=1, return_inverse=True)[1].ravel()
    return np.isin(number[:length], number[length:])


def _with_keys(part: pa.Table, tuples: KeyedTuples) -> pa.Table:
    """Return pieces of tuples with the keys k0, k1, … of their tuples in place of codes."""
    codes = [numbers(part[f"c{position}"]) for position in range(len(tuples.columns))]
    others = {name: part[name] for name in part.column_names if not name.startswith("c")}
    return pa.table(tuples.key_columns(codes) | others)
