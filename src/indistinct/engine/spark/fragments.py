"""Fragments: tuples that do not fit the driver are recoded by the executors, each part of the table by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from indistinct.engine.arrays import NOWHERE, integers
from indistinct.engine.plans import FragmentPlan
from indistinct.engine.spark.source import SparkSource
from indistinct.engine.sql.keyed import KeyedTuples
from indistinct.engine.sql.recoding import keyed_rows, row_digest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MARKER, ROW = 0, 1
PER_LABEL = {"s": "string", "v": "int", "w": "bigint", "u": "bigint"}
"""What the pieces say of each label: its text, its level, the values under it, and the rows under it."""


def pieces_of_fragments(source: SparkSource, encoding: KeyedTuples, plan: FragmentPlan) -> DataFrame:
    """Return the pieces that the plan's work makes of each fragment: codes c0, c1, …, rows n, a group and its labels.

    The work gets the tuples of a fragment by their codes, in any order, and must depend on nothing else: Spark does it
    again wherever its result is lost.
    """
    tuples = source.select(f"SELECT * FROM {encoding.relation} AS tuples")
    for position, column in enumerate(encoding.columns):
        keys = encoding.keys[position]
        data = {f"k{position}": keys, f"c{position}": integers(np.arange(len(keys), dtype=np.int32))}
        if column in plan.tuples:
            merged = plan.merged.get(column, np.arange(len(keys)))
            data[f"m{position}"] = integers(np.asarray(merged, np.int32))
        tuples = tuples.join(source.send(pa.table(data)), f"k{position}")
    coarse = {
        f"m{encoding.position(column)}": integers(np.asarray(codes, np.int32)) for column, codes in plan.tuples.items()
    }
    fragments = source.send(pa.table(coarse | {"fragment": integers(np.asarray(plan.fragments, np.int64))}))
    codes = [f"c{position}" for position in range(len(encoding.columns))]
    parts = tuples.join(fragments, list(coarse)).select("fragment", *codes, "n")
    labels = [f"{name}{n} {kind}" for n in range(len(plan.labelled)) for name, kind in PER_LABEL.items()]
    schema = ", ".join([*(f"{code} int" for code in codes), "n bigint", "goal bigint", *labels])
    return parts.groupBy("fragment").applyInArrow(_on_codes(plan), schema)


def groups_of_pieces(source: SparkSource, pieces: DataFrame, plan: FragmentPlan) -> pa.Table:
    """Return the labels of each released group, whichever fragments it comes from, with its rows n."""
    labels = [f"{name}{n}" for n in range(len(plan.labelled)) for name in PER_LABEL]
    released = pieces.where(f"goal <> {NOWHERE}")
    return source.collect(released.groupBy(*labels).agg({"n": "sum"}).toDF(*labels, "n"))


def rows_of_pieces(source: SparkSource, encoding: KeyedTuples, pieces: DataFrame, plan: FragmentPlan) -> DataFrame:
    """Return released cells r0, r1, … in no order; rows of a divided tuple are drawn as in any local recoding."""
    own = [column for column in plan.columns if column not in plan.labelled]
    codes = [f"c{position}" for position in range(len(encoding.columns))]
    cells = [f"o{position}" for position in range(len(own))]
    texts = [f"s{number}" for number in range(len(plan.labelled))]
    rows = source.select(keyed_rows(source, encoding, own, encoding.columns))
    for position, keys in enumerate(encoding.keys):
        data = {f"k{position}": keys, f"c{position}": integers(np.arange(len(keys), dtype=np.int32))}
        rows = rows.join(source.send(pa.table(data)), f"k{position}")
    rows = rows.select(*codes, *cells)
    by_tuple = f"PARTITION BY {', '.join(codes)}"
    placed = pieces.where("n > 0").selectExpr(
        *codes,
        "goal",
        *texts,
        f"count(*) OVER ({by_tuple}) AS several",
        f"sum(n) OVER ({by_tuple} ORDER BY goal ROWS UNBOUNDED PRECEDING) - n AS place",
    )
    whole = rows.join(placed.where("several = 1"), codes).select("goal", *texts, *cells)
    divided = rows.join(placed.where("several > 1 AND place = 0").select(*codes), codes)
    order = ", ".join([row_digest(source.dialect, [*codes, *cells]), *cells])
    ranked = divided.selectExpr("*", f"row_number() OVER ({by_tuple} ORDER BY {order}) - 1 AS place", f"{ROW} AS what")
    starts = placed.where("several > 1").selectExpr(*codes, "place", "goal", *texts, f"{MARKER} AS what")
    last = f"IGNORE NULLS OVER ({by_tuple} ORDER BY place, what ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    # texts may be missing themselves, so that a piece is carried whole
    among = ranked.unionByName(
        starts.selectExpr(*codes, "place", "what", f"struct({', '.join(['goal', *texts])}) AS piece"),
        allowMissingColumns=True,
    ).selectExpr("what", f"last_value(piece) {last} AS piece", *cells)
    drawn = among.where(f"what = {ROW}").selectExpr("piece.goal", *(f"piece.{text}" for text in texts), *cells)
    shown = [
        f"{f's{plan.labelled.index(column)}' if column in plan.labelled else f'o{own.index(column)}'} AS r{number}"
        for number, column in enumerate(plan.columns)
    ]
    return whole.union(drawn).where(f"goal <> {NOWHERE}").selectExpr(*shown)


def _on_codes(plan: FragmentPlan) -> Callable[[pa.Table], pa.Table]:
    """Return the plan's work as Spark calls it, without the number of the fragment."""
    work = plan.work

    def on_codes(fragment: pa.Table) -> pa.Table:
        return work(fragment.drop_columns(["fragment"]))

    return on_codes
