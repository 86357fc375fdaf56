"""What a Parquet file holds beside its cells: metadata, statistics, dictionaries, and bytes that no part of it owns.

Tools show statistics and dictionaries without reading a row, and skip rows by them. So they have to be those of the
cells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from indistinct.engine.duckdb.session import Session, escape_pattern
from indistinct.errors import TableError

WRITERS = re.compile(
    r"(DuckDB|parquet-mr|parquet-cpp-arrow) version v?[0-9][0-9A-Za-z.+-]{0,30}( \(build [0-9a-f]{6,40}\))?"
)
"""How DuckDB, Spark and Arrow name themselves in the files that they write; nobody else has a say there."""
DUCKDB = "DuckDB"
HEAD, TAIL = 4, 8
"""The bytes before the first part of a file, and those behind its footer."""
SHORTENED = 32
"""Texts of so many bytes may be cut off in statistics: DuckDB cuts at 256, others at 64."""


def parquet_stowaways(path: Path) -> list[str]:
    """Say in words what one file holds that no file has that was written here; no cell is quoted.

    Files of Spark have indexes of pages, which pyarrow does not show, so of those alone bytes are not counted.
    """
    try:
        with pq.ParquetFile(path) as file:
            found = [*_remarks(file), *_false_statistics(file), *_unused_values(path, file)]
            is_ours = file.metadata.created_by.startswith(DUCKDB)
    except (OSError, UnicodeError, pa.ArrowException):
        raise TableError(f"{path.name}: is not a Parquet file") from None
    return found + (["bytes that belong to nothing"] if is_ours and _has_gaps(path) else [])


def _remarks(file: pq.ParquetFile) -> Iterator[str]:
    """Say what is said beside the columns and their types."""
    if not WRITERS.fullmatch(file.metadata.created_by):
        yield "the name of another program"
    if any(not _is_of_writer(key, text) for key, text in (file.metadata.metadata or {}).items()):
        yield "metadata of its own"
    if any(field.metadata for field in file.schema_arrow):
        yield "numbers of columns"


def _false_statistics(file: pq.ParquetFile) -> Iterator[str]:
    """Say of which columns statistics are not those of the cells."""
    footer = file.metadata
    paths = {footer.schema.column(place).path: place for place in range(footer.num_columns)}
    for path, place in paths.items():
        if any(_is_false(file, group, place, path) for group in range(footer.num_row_groups)):
            yield f"false statistics of column {path.partition('.')[0]!r}"


def _is_false(file: pq.ParquetFile, group: int, place: int, path: str) -> bool:
    stated = file.metadata.row_group(group).column(place).statistics
    if stated is None:
        return False
    (column,) = file.read_row_group(group, columns=[path]).columns
    cells = _leaf(column.combine_chunks())
    if cells is None:
        return False
    is_flat = "." not in path
    if is_flat and stated.has_null_count and stated.null_count != cells.null_count:
        return True
    if is_flat and stated.has_distinct_count and stated.distinct_count < pc.count_distinct(cells).as_py():
        return True
    try:
        found = pc.min_max(cells)
        least, most = found["min"].as_py(), found["max"].as_py()
        return bool(stated.has_min_max and not (_is_least(stated.min, least) and _is_most(stated.max, most)))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, ValueError):  # of a type without an order
        return False


def _leaf(cells: Any) -> Any:
    """Give the cells inside of lists and structures, of which one column was read; None of maps, which have two."""
    while pa.types.is_nested(cells.type):
        if pa.types.is_struct(cells.type):
            (cells,) = cells.flatten()
        elif pa.types.is_list(cells.type) or pa.types.is_large_list(cells.type):
            cells = cells.flatten()
        else:
            return None
    return cells.storage if isinstance(cells.type, pa.BaseExtensionType) else cells


def _is_least(stated: Any, found: Any) -> bool:
    """Tell whether this is the least cell, or the beginning of one that is long."""
    if stated == found or not isinstance(stated, str | bytes) or found is None:
        return bool(stated == found)
    return len(_bytes(stated)) >= SHORTENED and _bytes(found).startswith(_bytes(stated))


def _is_most(stated: Any, found: Any) -> bool:
    """Tell whether this is the greatest cell, or what follows on the beginning of one that is long."""
    if stated == found or not isinstance(stated, str | bytes) or found is None:
        return bool(stated == found)
    start = _bytes(stated)
    return len(start) >= SHORTENED and _bytes(found)[: len(start) - 4] == start[:-4] and _bytes(found) < start


def _bytes(cell: str | bytes) -> bytes:
    return cell.encode() if isinstance(cell, str) else cell


def _unused_values(path: Path, file: pq.ParquetFile) -> Iterator[str]:
    """Say of which columns of text a dictionary lists a value that no row has."""
    is_text = {name: pa.types.is_string(kind) or pa.types.is_binary(kind) for name, kind in _types(file)}
    names = [name for name, is_one in is_text.items() if is_one]
    with pq.ParquetFile(path, read_dictionary=names) as listed:
        for name in names:
            for group in range(listed.num_row_groups):
                (column,) = listed.read_row_group(group, columns=[name]).columns
                if any(
                    len(chunk.dictionary) > len(pc.unique(chunk.indices.drop_null()))
                    for chunk in column.chunks
                    if pa.types.is_dictionary(chunk.type)
                ):
                    yield f"values of column {name!r} that no row has"
                    break


def _types(file: pq.ParquetFile) -> Iterator[tuple[str, Any]]:
    return ((field.name, field.type) for field in file.schema_arrow)


def _has_gaps(path: Path) -> bool:
    """Tell whether a file of DuckDB has bytes that are neither of a column, nor of a filter, nor of the footer."""
    with path.open("rb") as file:
        file.seek(-TAIL, 2)
        end = file.tell() - int.from_bytes(file.read(4), "little")
    with closing(Session(path.name)) as session:
        parts = session.fetch(
            "SELECT coalesce(dictionary_page_offset, data_page_offset), total_compressed_size, bloom_filter_offset, "
            "bloom_filter_length FROM parquet_metadata(?)",
            [escape_pattern(path)],
        )
    taken = {(start, length) for column in parts for start, length in (column[:2], column[2:]) if start is not None}
    at = HEAD
    for start, length in sorted(taken):
        if start != at:
            return True
        at += length
    return at != end


def _is_of_writer(key: bytes, text: bytes) -> bool:
    """Tell whether metadata are what Spark adds to every file: its version, and the columns without a remark."""
    if key == b"org.apache.spark.version":
        return re.fullmatch(rb"[0-9]+(\.[0-9]+)*", text) is not None
    if key != b"org.apache.spark.sql.parquet.row.metadata":
        return False
    try:
        said = json.loads(text)
        return said.keys() == {"type", "fields"} and all(
            field.keys() == {"name", "type", "nullable", "metadata"} and not field["metadata"]
            for field in said["fields"]
        )
    except (ValueError, AttributeError, KeyError, TypeError):
        return False
