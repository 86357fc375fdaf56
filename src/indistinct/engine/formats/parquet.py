"""Parquet: a file, or a folder or pattern of them, scanned where they lie; and what such a file holds beside its cells.

A file has metadata, statistics, dictionaries, and perhaps bytes that no part of it owns. Tools show statistics and
dictionaries without reading a row, and skip rows by them. So they have to be those of the cells.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa

from indistinct.engine.formats.file_format import Contents, FileFormat, FileReading
from indistinct.errors import TableError
from indistinct.lazy import lazy_module

if TYPE_CHECKING:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
else:
    pc, pq = lazy_module("pyarrow.compute"), lazy_module("pyarrow.parquet")

WRITERS = re.compile(
    r"(DuckDB|parquet-mr|parquet-cpp-arrow) version v?[0-9][0-9A-Za-z.+-]{0,30}( \(build [0-9a-f]{6,40}\))?"
)
"""How DuckDB, Spark and Arrow name themselves in the files that they write; nobody else has a say there."""
DUCKDB = "DuckDB"
HEAD, TAIL = 4, 8
"""The bytes before the first part of a file, and those behind its footer."""
SHORTENED = 32
"""Bytes of a text that may be cut off in statistics: DuckDB cuts at 256, others at 64."""
MOST_READERS = 4
"""So many parts of a file are looked into at once; each is held in memory."""


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """A file, or all files of a folder or of a pattern, to be scanned as one table; ``names`` are those of one file."""

    place: str
    names: tuple[str, ...]
    what: str = "file"
    """``file``, ``folder`` or ``pattern``."""


class Parquet(FileFormat):
    """Parquet, the only format of which many files may be one table."""

    kind = "parquet"
    name = "Parquet"
    suffixes = (".parquet", ".pq")
    is_canonical = True

    def open(self, path: Path, reading: FileReading, scratch: Callable[[], Path]) -> Contents:
        return Contents(ParquetFiles(str(path), _names_in(path)))

    def open_many(self, place: str) -> Contents | None:
        """Return what the files in a folder and below it hold, or those that match a pattern; None if there are none.

        Names of partition folders are columns of text, so that 01234 stays 01234.
        """
        if Path(place).is_dir():
            first, what = next(Path(place).rglob("*.parquet"), None), "folder"
        else:
            first, what = next(map(Path, sorted(glob(place, recursive=True))), None), "pattern"
        return None if first is None else Contents(ParquetFiles(place, _names_in(first), what))

    def hidden_content(self, path: Path, reading: FileReading) -> list[str]:
        parts = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        return sorted({what for part in parts for what in _hidden_in(part)})


def _names_in(path: Path) -> tuple[str, ...]:
    try:
        return tuple(pq.read_schema(path).names)
    except (OSError, pa.ArrowException):
        raise TableError(f"{path.name}: is not a Parquet file") from None


def _hidden_in(path: Path) -> list[str]:
    """Say in words what one file holds that no file has that was written here; no cell is quoted.

    Files of Spark have indexes of pages, which pyarrow does not show, so of those alone bytes are not counted.
    """
    try:
        with pq.ParquetFile(path) as file:
            found = [*_remarks(file), *_strange_columns(path, file)]
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


def _strange_columns(path: Path, file: pq.ParquetFile) -> Iterator[str]:
    """Say of which columns statistics are not those of the cells, or a dictionary lists a value that no row has.

    Parts of the file are looked into side by side. Text is read as its dictionary and numbers of places in it, which
    is a fraction of the text.
    """
    texts = [name for name, kind in _types(file) if pa.types.is_string(kind) or pa.types.is_binary(kind)]
    footer = file.metadata
    columns = {footer.schema.column(place).path: place for place in range(footer.num_columns)}
    workers = min(MOST_READERS, os.cpu_count() or 1)
    with ExitStack() as opened, ThreadPoolExecutor(workers) as pool:
        readers: SimpleQueue[pq.ParquetFile] = SimpleQueue()
        for _ in range(min(workers, max(1, footer.num_row_groups))):  # a reader serves one thread at a time
            readers.put(opened.enter_context(pq.ParquetFile(path, read_dictionary=texts)))

        def look(group: int) -> set[str]:
            reader = readers.get()
            try:
                return {word for name, place in columns.items() for word in _strange_part(reader, group, place, name)}
            finally:
                readers.put(reader)

        found = set().union(*pool.map(look, range(footer.num_row_groups)))
    yield from sorted(found)


def _strange_part(file: pq.ParquetFile, group: int, place: int, path: str) -> Iterator[str]:
    """Say what is strange about the cells of one column in one part of a file."""
    (column,) = file.read_row_group(group, columns=[path]).columns
    name, nulls = path.partition(".")[0], column.null_count
    if pa.types.is_dictionary(column.type):
        used = [_used_values(chunk) for chunk in column.chunks]
        if any(len(values) < len(chunk.dictionary) for values, chunk in zip(used, column.chunks, strict=True)):
            yield f"values of column {name!r} that no row has"
        cells = pa.chunked_array(used, column.type.value_type).combine_chunks()
    else:
        cells = _leaf(column.combine_chunks())
    stated = file.metadata.row_group(group).column(place).statistics
    if stated is not None and cells is not None and _is_false(stated, cells, nulls if path == name else None):
        yield f"false statistics of column {name!r}"


def _used_values(cells: Any) -> Any:
    """Return the values of a dictionary that some cell has."""
    is_used = np.zeros(len(cells.dictionary), np.bool_)
    is_used[np.from_dlpack(cells.indices.drop_null())] = True
    return cells.dictionary if is_used.all() else cells.dictionary.filter(pa.array(is_used))


def _is_false(stated: Any, cells: Any, nulls: int | None) -> bool:
    """Return whether statistics are not those of cells; ``nulls`` are not known of nested ones."""
    if nulls is not None and stated.has_null_count and stated.null_count != nulls:
        return True
    if nulls is not None and stated.has_distinct_count and stated.distinct_count < pc.count_distinct(cells).as_py():
        return True
    try:
        found = pc.min_max(cells)
        least, most = found["min"].as_py(), found["max"].as_py()
        return bool(stated.has_min_max and not (_is_least(stated.min, least) and _is_most(stated.max, most)))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, ValueError):  # of a type without an order
        return False


def _leaf(cells: Any) -> Any:
    """Return the cells inside of lists and structures, of which one column was read; None of maps, which have two."""
    while pa.types.is_nested(cells.type):
        if pa.types.is_struct(cells.type):
            (cells,) = cells.flatten()
        elif pa.types.is_list(cells.type) or pa.types.is_large_list(cells.type):
            cells = cells.flatten()
        else:
            return None
    return cells.storage if isinstance(cells.type, pa.BaseExtensionType) else cells


def _is_least(stated: Any, found: Any) -> bool:
    """Return whether this is the least cell, or the beginning of one that is long."""
    if stated == found or not isinstance(stated, str | bytes) or found is None:
        return bool(stated == found)
    return len(_bytes(stated)) >= SHORTENED and _bytes(found).startswith(_bytes(stated))


def _is_most(stated: Any, found: Any) -> bool:
    """Return whether this is the greatest cell, or what follows on the beginning of one that is long."""
    if stated == found or not isinstance(stated, str | bytes) or found is None:
        return bool(stated == found)
    start = _bytes(stated)
    return len(start) >= SHORTENED and _bytes(found)[: len(start) - 4] == start[:-4] and _bytes(found) < start


def _bytes(cell: str | bytes) -> bytes:
    return cell.encode() if isinstance(cell, str) else cell


def _types(file: pq.ParquetFile) -> Iterator[tuple[str, Any]]:
    return ((field.name, field.type) for field in file.schema_arrow)


def _has_gaps(path: Path) -> bool:
    """Return whether a file of DuckDB has bytes that are neither of a column, nor of a filter, nor of the footer."""
    with path.open("rb") as file:
        file.seek(-TAIL, 2)
        end = file.tell() - int.from_bytes(file.read(4), "little")
    with duckdb.connect() as session:
        parts = session.execute(
            "SELECT coalesce(dictionary_page_offset, data_page_offset), total_compressed_size, bloom_filter_offset, "
            "bloom_filter_length FROM parquet_metadata(?)",
            ["".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))],
        ).fetchall()
    taken = {(start, length) for column in parts for start, length in (column[:2], column[2:]) if start is not None}
    at = HEAD
    for start, length in sorted(taken):
        if start != at:
            return True
        at += length
    return at != end


def _is_of_writer(key: bytes, text: bytes) -> bool:
    """Return whether metadata are what Spark adds to every file: its version, and the columns without a remark."""
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
