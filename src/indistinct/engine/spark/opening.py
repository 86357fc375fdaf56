"""Tables that Spark holds: frames of a session, Parquet files and folders, and tables of its catalog."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indistinct.engine.formats import FORMATS, load_format
from indistinct.engine.formats.parquet import Parquet
from indistinct.engine.spark.failures import spark_errors
from indistinct.engine.spark.rows import SparkRows
from indistinct.engine.spark.session import find_session, spark_path
from indistinct.errors import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"


def open_spark_frame(frame: Any) -> SparkRows:
    """Return the rows of a DataFrame of Spark, classic or Connect, where they are."""
    name = "the spark table"
    with spark_errors(name):
        return SparkRows(frame, name)


def open_in_spark(
    source: str, engine: object, master: str | None = None, memory_limit: str | None = None, threads: int | None = None
) -> SparkRows:
    """Return the rows of a Parquet file, of a folder or pattern of them, or of a table of Spark's catalog."""
    suffix = Path(source).suffix.lower()
    if any(suffix in load_format(kind).suffixes for kind in FORMATS if kind != "parquet"):
        raise TableError(
            f"{Path(source).name}: Spark reads Parquet files, folders of them and tables; "
            "save the table as Parquet, or leave out --engine spark"
        )
    session = find_session(engine, master, memory_limit, threads)
    name = Path(source).name
    with spark_errors(name):
        if _is_path(source):
            return SparkRows(_read_parquet(session, spark_path(source)), name)
        return SparkRows(session.table(source), name)


def _is_path(source: str) -> bool:
    """Tell a path from the name of a table: it exists, or looks like nothing but a path."""
    return "/" in source or os.path.exists(source) or glob.has_magic(source) or source.endswith(Parquet.suffixes)


def _read_parquet(session: SparkSession, path: str) -> DataFrame:
    """Read Parquet; names of partition folders are columns of text, so that 01234 stays 01234."""
    before = session.conf.get(INFERENCE)
    session.conf.set(INFERENCE, "false")
    try:
        frame = session.read.option("recursiveFileLookup", "false").parquet(path)
        frame.schema  # noqa: B018  # read now, while the setting holds
        return frame
    finally:
        session.conf.set(INFERENCE, before or "true")
