"""Tables in memory: pandas, Polars, Arrow and DuckDB relations, in and out, each with its own types."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

from indistinct.engine.duckdb.dialect import literal
from indistinct.engine.duckdb.rows import DuckRows
from indistinct.engine.duckdb.session import Session
from indistinct.engine.duckdb.table_files import (
    Origin,
    Typed,
    as_duckdb_reads_it,
    in_own_types,
    numbers_as_spans,
    restore_arrow,
    with_durations,
)
from indistinct.engine.rows import check_names
from indistinct.errors import TableError


def frame_kind(source: object) -> str | None:
    """Return the kind of an in-memory table by where its class comes from, without importing any library."""
    module, name = type(source).__module__.split(".")[0], type(source).__name__
    kinds = {
        ("pandas", "DataFrame"): "pandas",
        ("polars", "DataFrame"): "polars",
        ("polars", "LazyFrame"): "polars-lazy",
    }
    if (module, name) in kinds:
        return kinds[module, name]
    if type(source).__module__.startswith("pyspark.sql.") and name == "DataFrame":
        return "spark"
    if module in ("duckdb", "_duckdb") and name == "DuckDBPyRelation":
        return "duckdb"
    return "arrow" if module == "pyarrow" or hasattr(source, "__arrow_c_stream__") else None


def open_frame(source: Any, kind: str, session: Session) -> DuckRows:
    """Return the rows of an in-memory table; streams, relations and lazy frames are read once, others stay in place."""
    return {
        "pandas": _open_pandas,
        "polars": _open_polars,
        "polars-lazy": _open_lazy,
        "duckdb": _open_relation,
        "arrow": _open_arrow,
    }[kind](source, session)


def _open_arrow(source: Any, session: Session) -> DuckRows:
    if not isinstance(source, pa.Table) and not hasattr(source, "scanner"):
        source = source if isinstance(source, pa.RecordBatchReader) else _stream(source, session.name)
    schema = source.schema
    check_names(session.name, schema.names)
    source = as_duckdb_reads_it(source) if isinstance(source, pa.Table) else source
    relation = _spool(source, session) if isinstance(source, pa.RecordBatchReader) else session.register(source)
    return DuckRows(session, relation, Origin("arrow", restore_arrow(schema)))


def _stream(source: Any, name: str) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(source)
    except (pa.ArrowException, TypeError):
        raise TableError(f"{name}: is no table with columns; a single column has to be put in one") from None


def _open_relation(source: Any, session: Session) -> DuckRows:
    """Read a relation once: it belongs to a connection that this one cannot see."""
    check_names(session.name, source.columns)
    relation = _spool(source.to_arrow_reader(100_000), session)

    def restore(table: pa.Table, typed: Typed) -> duckdb.DuckDBPyRelation:
        return duckdb.from_arrow(table)

    return DuckRows(session, relation, Origin("duckdb", restore))


def _open_pandas(source: Any, session: Session) -> DuckRows:
    if source.columns.nlevels > 1:
        raise TableError(f"{session.name}: columns have several levels; give each column one name")
    labels = {str(label): label for label in source.columns}
    check_names(session.name, [str(label) for label in source.columns])
    dtypes = {name: source[label].dtype for name, label in labels.items()}
    table = pa.table({name: _pandas_column(session.name, name, source[label]) for name, label in labels.items()})

    def restore(released: pa.Table, typed: Typed) -> object:
        own = in_own_types(released, typed, table_schema)
        columns = {
            labels.get(name, name): _restore_pandas(own[name], dtypes[typed[name]] if name in typed else None)
            for name in released.column_names
        }
        import pandas

        return pandas.DataFrame(columns)

    table_schema = table.schema
    return DuckRows(session, session.register(as_duckdb_reads_it(table)), Origin("pandas", restore))


def _pandas_column(table: str, name: str, series: Any) -> pa.Array | pa.ChunkedArray:
    try:
        column = pa.Array.from_pandas(series)
        return (
            pa.Array.from_pandas(series.astype("string")) if isinstance(column.type, pa.BaseExtensionType) else column
        )
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        raise TableError(f"{table}: column {name!r} mixes types; make its cells all text or all numbers") from None


def _restore_pandas(column: pa.ChunkedArray, dtype: Any) -> Any:
    """Return a pandas series in its own type; unused categories are left out, because they tell of suppressed rows."""
    import pandas

    if dtype is None:
        return column.to_pandas()
    if isinstance(dtype, pandas.CategoricalDtype):
        values = (
            column.cast(column.type.value_type).to_pandas()
            if pa.types.is_dictionary(column.type)
            else column.to_pandas()
        )
        series = values.astype(dtype)
        return series.cat.remove_unused_categories()
    try:
        if hasattr(dtype, "__from_arrow__") and not isinstance(dtype, (pandas.PeriodDtype, pandas.IntervalDtype)):
            return pandas.Series(dtype.__from_arrow__(column))
        if column.null_count and dtype.kind in "iub":
            nullable = {"i": "Int", "u": "UInt"}.get(dtype.kind)
            return pandas.Series(
                pandas.array(column.to_pylist(), dtype=f"{nullable}{8 * dtype.itemsize}" if nullable else "boolean")
            )
        return column.to_pandas().astype(dtype)
    except (TypeError, ValueError, NotImplementedError):
        return column.to_pandas()


def _open_polars(source: Any, session: Session) -> DuckRows:
    check_names(session.name, source.columns)
    relation = session.register(as_duckdb_reads_it(source.to_arrow()))
    return DuckRows(session, relation, Origin("polars", _restore_polars(source.schema)))


def _open_lazy(source: Any, session: Session) -> DuckRows:
    """Run a lazy frame once, into the private folder, so that it need not fit into memory."""
    schema = source.collect_schema()
    check_names(session.name, schema.names())
    path = session.folder / "lazy.parquet"
    try:
        source.sink_parquet(path)
    except Exception as error:
        raise TableError(f"{session.name}: the lazy frame cannot be computed ({type(error).__name__})") from None
    units = {name: kind.time_unit for name, kind in schema.items() if type(kind).__name__ == "Duration"}
    scan = f"read_parquet({literal(str(path))}, hive_partitioning = false)"
    view = session.create_view(numbers_as_spans(scan, units))
    restore = _restore_polars(schema)
    return DuckRows(session, view, Origin("polars-lazy", lambda table, typed: restore(table, typed).lazy()))


def _restore_polars(schema: Any) -> Any:
    def restore(table: pa.Table, typed: Typed) -> Any:
        import polars

        frame = polars.DataFrame(with_durations(table))
        for name in frame.columns:
            if name in typed and frame.schema[name] != schema[typed[name]]:
                dtype = schema[typed[name]]
                if isinstance(dtype, polars.Enum):
                    # Categories without rows would tell of suppressed rows.
                    present = set(frame[name])
                    dtype = polars.Enum([category for category in dtype.categories if category in present])
                frame = frame.with_columns(frame[name].cast(dtype))
        return frame

    return restore


def _spool(reader: pa.RecordBatchReader, session: Session) -> str:
    """Read a stream once into a table that spills to disk, because it cannot be read again."""
    table = session.fresh("spooled")
    with session.registered_table(reader) as stream:
        session.execute(f"CREATE TABLE {table} AS SELECT * FROM {stream}")
    return table
