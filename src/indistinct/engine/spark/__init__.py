"""Rows in Spark: the same verbs and the same answers as in DuckDB, for tables that do not fit one machine."""

from indistinct.engine.spark.opening import open_in_spark, open_spark_frame
from indistinct.engine.spark.rows import SparkRows

__all__ = ["SparkRows", "open_in_spark", "open_spark_frame"]
