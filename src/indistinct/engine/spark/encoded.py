"""SparkEncoded: tuples of keys in Spark; where they do not fit the driver, the executors recode them in fragments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from indistinct.engine.arrays import numbers
from indistinct.engine.plans import FragmentPlan
from indistinct.engine.spark.failures import let_go, telling_errors
from indistinct.engine.spark.fragments import groups_of_pieces, pieces_of_fragments, rows_of_pieces
from indistinct.engine.sql.keyed import KeyedEncoded

if TYPE_CHECKING:
    from indistinct.engine.rows import Rows
    from indistinct.engine.spark.rows import SparkRows
    from indistinct.engine.spark.source import SparkSource


@telling_errors
class SparkEncoded(KeyedEncoded):
    """The distinct tuples of keys of a frame."""

    can_work_in_fragments = True
    _source: SparkSource
    _table: SparkRows

    def recode_in_fragments(self, plan: FragmentPlan) -> tuple[Rows, pa.Table]:
        self.refuse_closed()
        pieces = self._source.keep(pieces_of_fragments(self._source, self._made, plan))
        groups = groups_of_pieces(self._source, pieces, plan)
        frame = rows_of_pieces(self._source, self._made, pieces, plan)
        released = self._table.release_frame(frame, plan.columns, int(numbers(groups["n"]).sum()))
        let_go(pieces)
        return released, groups
