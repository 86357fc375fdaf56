"""Recoding in Spark: labels are joined to rows, rows of a tuple are drawn for groups, and all stand in random order.

What has to be random is drawn here, on the driver, and is part of the plan that Spark computes, however often it does.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from indistinct.engine.arrays import NOWHERE, integers, numbers, pieces, text_column
from indistinct.engine.plans import ClassPlan, Counts, LocalPlan, Plan
from indistinct.engine.spark.dialect import SPARK
from indistinct.engine.spark.source import Encoding, SparkSource, are_among, join_rows, keyed_pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_PER_PART = 250_000
"""Released rows stand in parts of about so many, each of which becomes a file."""
MARKER, ROW = 0, 1


def recoded_by_column(source: SparkSource, encoding: Encoding, plan: Plan) -> tuple[DataFrame, int]:
    """Return released cells r0, r1, … in no order, and how many rows there must be."""
    own = [column for column in plan.columns if column not in plan.maps or column in plan.kept]
    rows = source.keyed_rows(encoding, own)
    labelled, expected = (
        _labelled_by_column(source, rows, plan, encoding)
        if encoding.counted is None
        else _labelled_by_tuple(source, rows, plan, encoding, encoding.counted)
    )
    shown = []
    for number, column in enumerate(plan.columns):
        cell = f"o{own.index(column)}" if column in own else f"s{encoding.position(column)}"
        if plan.blank and column in plan.maps and column not in plan.unblanked:
            cell = f"CASE WHEN is_suppressed IS NULL THEN {cell} END"
        shown.append(f"{cell} AS r{number}")
    return labelled.selectExpr(*shown), expected


def recoded_locally(source: SparkSource, encoding: Encoding, plan: LocalPlan) -> tuple[DataFrame, int]:
    """Return released cells r0, r1, … in no order, and how many rows there must be."""
    own = [column for column in plan.columns if column not in plan.labels or column in plan.kept]
    rows = placed_rows(source, encoding, plan, own)
    expected = int(np.sum(plan.rows))
    if not plan.blank:
        rows = rows.where(f"goal <> {NOWHERE}")
        expected -= int(np.sum(np.asarray(plan.rows)[np.asarray(plan.groups) == NOWHERE]))
    carried = [column for column in plan.columns if column not in own]
    if carried:
        texts = {column: text_column(plan.labels[column]) for column in carried}
        codes = {column: integers(np.asarray(plan.codes[column], np.int64)) for column in carried}
        data = {f"s{n}": texts[column].take(codes[column]) for n, column in enumerate(carried)}
        goals = integers(np.arange(len(next(iter(codes.values())))))
        rows = rows.join(source.send(pa.table({"goal": goals} | data)), "goal", "left")
    shown = []
    for number, column in enumerate(plan.columns):
        cell = f"o{own.index(column)}" if column in own else f"s{carried.index(column)}"
        if plan.blank and column in plan.labels:
            cell = f"CASE WHEN goal <> {NOWHERE} THEN {cell} END"
        shown.append(f"{cell} AS r{number}")
    return rows.selectExpr(*shown), expected


def placed_rows(source: SparkSource, encoding: Encoding, plan: LocalPlan | ClassPlan, own: Sequence[str]) -> DataFrame:
    """Return the rows, their cells o0, o1, … and the number of the group that each goes to.

    Where the rows of a tuple go to several groups, they stand in the order of a hash of their cells under a secret
    that is drawn here: rows that have the same cells may change places, others cannot, however often Spark
    computes them.
    """
    rows = source.keyed_rows(encoding, own)
    names = [f"k{position}" for position in range(len(encoding.columns))]
    cells = [f"o{position}" for position in range(len(own))]
    whole, shared = (keyed_pieces(part, encoding) for part in pieces(plan, encoding.columns))
    undivided = join_rows(rows, source.send(whole.select([*names, "goal"])), names).select("goal", *cells)
    if not len(shared):
        return undivided
    first_pieces = shared.take(integers(np.flatnonzero(numbers(shared["first"]) == 0)))
    drawn = join_rows(rows, source.send(first_pieces.select([*names, "tuple"])), names).select("tuple", *cells)
    order = ", ".join([f"sha2(to_json(struct({', '.join([SPARK.text(secret()), 'tuple', *cells])})), 256)", *cells])
    ranked = drawn.selectExpr(
        "*", f"row_number() OVER (PARTITION BY tuple ORDER BY {order}) - 1 AS place", f"{ROW} AS what"
    )
    # The pieces stand among the rows at their first places; each row goes where the last piece before it goes.
    starts = source.send(shared.select(["tuple", "goal", "first"])).selectExpr(
        "tuple", "goal", "first AS place", f"{MARKER} AS what"
    )
    among = ranked.unionByName(starts, allowMissingColumns=True).selectExpr(
        "what",
        "last_value(goal) IGNORE NULLS OVER (PARTITION BY tuple ORDER BY place, what "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS goal",
        *cells,
    )
    return undivided.union(among.where(f"what = {ROW}").select("goal", *cells))


def shuffled_rows(frame: DataFrame, rows: int) -> DataFrame:
    """Return released rows in random order.

    The order is that of a hash of the whole row under a secret, so it is random, but stays the same when Spark
    computes it again; and it tells nothing of the order of the source, since it follows from what is released.
    """
    cells = list(frame.columns)
    hashed = frame.selectExpr("*", f"xxhash64({', '.join([SPARK.text(secret()), *cells])}) AS place")
    parts = -(-max(1, rows) // ROWS_PER_PART)
    return hashed.repartition(parts, "place").sortWithinPartitions("place", *cells).drop("place")


def _labelled_by_tuple(
    source: SparkSource, rows: DataFrame, plan: Plan, encoding: Encoding, counted: Counts
) -> tuple[DataFrame, int]:
    """Join rows with the labels s0, s1, … of their tuples; also return how many rows there must be."""
    label_codes = [
        np.asarray(plan.maps[column], np.int64)[codes]
        for column, codes in zip(encoding.columns, counted.codes, strict=True)
    ]
    asked = [label_codes[encoding.position(column)] for column in plan.suppressed]
    is_suppressed = are_among(asked, list(plan.suppressed.values()), len(counted.counts))
    is_joined = np.ones_like(is_suppressed) if plan.blank else ~is_suppressed
    data = encoding.key_columns(counted.codes) | {
        f"s{position}": text_column(plan.labels[column]).take(integers(label_codes[position]))
        for position, column in enumerate(encoding.columns)
        if column not in plan.kept
    }
    flags = np.where(is_suppressed, "yes", "")
    data["is_suppressed"] = text_column([flag or None for flag in flags.tolist()])
    table = pa.table(data).take(integers(np.flatnonzero(is_joined)))
    names = [f"k{position}" for position in range(len(encoding.columns))]
    return join_rows(rows, source.send(table), names), int(counted.counts[is_joined].sum())


def _labelled_by_column(source: SparkSource, rows: DataFrame, plan: Plan, encoding: Encoding) -> tuple[DataFrame, int]:
    """Join rows with the labels s0, s1, … of their cells; also return how many rows there must be."""
    tuples = encoding.tuples
    for position, column in enumerate(encoding.columns):
        labels = _labels(source, encoding.keys[position], position, column, plan)
        rows = rows.join(labels, f"k{position}")
        tuples = tuples.join(labels, f"k{position}")
    expected = source.total(encoding.tuples)
    suppressed = _suppressed_tuples(source, plan, encoding)
    on = [name for name in suppressed.columns if name != "is_suppressed"]
    if plan.blank:
        return rows.join(suppressed, on, "left"), expected
    expected -= source.total(tuples.join(suppressed, on, "left_semi"))
    return rows.join(suppressed, on, "left_anti"), expected


def _labels(source: SparkSource, keys: pa.Array, position: int, column: str, plan: Plan) -> DataFrame:
    """Return the table from the keys of a column to label codes and, unless it keeps its cells, to labels."""
    label_codes = integers(np.asarray(plan.maps[column], np.int64))
    data = {f"k{position}": keys, f"l{position}": label_codes}
    if column not in plan.kept:
        data[f"s{position}"] = text_column(plan.labels[column]).take(label_codes)
    return source.send(pa.table(data))


def _suppressed_tuples(source: SparkSource, plan: Plan, encoding: Encoding) -> DataFrame:
    """Return the table of suppressed tuples of label codes, each once."""
    codes = [np.asarray(codes, np.int64) for codes in plan.suppressed.values()]
    names = [f"l{encoding.position(column)}" for column in plan.suppressed]
    distinct = np.unique(np.stack(codes), axis=1) if codes else np.zeros((1, 0), np.int64)
    data = {name: integers(own) for name, own in zip(names or ["l0"], distinct, strict=True)}
    return source.send(pa.table(data)).selectExpr("*", "'yes' AS is_suppressed")


def secret() -> str:
    """Return what nobody can guess, from the system's secure generator."""
    return secrets.token_hex(32)
