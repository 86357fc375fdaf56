"""Writing a frame of Spark as a folder of Parquet files on storage that driver and executors share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet

from indistinct.engine.spark.session import spark_errors, spark_path
from indistinct.errors import OutputError, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def write_parquet(frame: DataFrame, path: Path, rows: int) -> None:
    """Write all rows to a folder of Parquet files, and leave nothing else in it.

    Spark gives the folder its files only when all tasks have succeeded. If the executors have another disk than the
    driver, the folder is there, but the files are not: that is found out by counting.
    """
    try:
        with spark_errors(path.name):
            frame.write.mode("overwrite").option("compression", "zstd").parquet(spark_path(path))
    except TableError as error:
        raise OutputError(f"{path.name}: cannot be written to {path.parent}: {error}") from None
    for place in (*path.glob(".*.crc"), *path.glob("_*")):
        place.unlink()
    try:
        written = sum(pyarrow.parquet.read_metadata(part).num_rows for part in path.glob("*.parquet"))
    except (OSError, pa.ArrowException):
        written = -1
    if written != rows:
        raise OutputError(
            f"{path.name}: the executors of Spark do not write where the driver reads; "
            "name a folder on storage that all machines share"
        )
