"""Arrow files: tables as they lie in memory, as a file or as a stream."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engine.arrays import without_rests
from indistinct.engine.formats.file_format import Contents, FileFormat, FileReading
from indistinct.errors import TableError


class ArrowIPC(FileFormat):
    """Arrow's format for files, which is also Feather's; its types come back with ``to_native``."""

    kind = "ipc"
    name = "Arrow"
    suffixes = (".arrow", ".feather", ".ipc")
    is_canonical = True

    def open(self, path: Path, reading: FileReading, scratch: Callable[[], Path]) -> Contents:
        return Contents(_read(path))

    def hidden_content(self, path: Path, reading: FileReading) -> list[str]:
        table = _read(path)
        found = ["metadata of its own"] if table.schema.metadata or _has_remarks(path) else []
        for field, column in zip(table.schema, table.columns, strict=True):
            has_notes = field.metadata or isinstance(field.type, pa.BaseExtensionType)
            found += [f"metadata of column {field.name!r}"] if has_notes else []
            if pa.types.is_dictionary(field.type) and any(
                len(chunk.dictionary) > len(chunk.indices.drop_null().unique()) for chunk in column.chunks
            ):
                found.append(f"values of column {field.name!r} that no row has")
            found += [f"bytes of column {field.name!r} that no cell shows"] if any(map(_hides, column.chunks)) else []
        return found

    def write(self, batches: pa.RecordBatchReader, path: Path, table: str) -> None:
        with pa.ipc.new_file(str(path), batches.schema) as file:
            for batch in batches:
                file.write_table(without_rests(pa.Table.from_batches([batch])))


def _hides(cells: pa.Array) -> bool:
    """Return whether something stands behind missing cells: nothing does in what is written here."""
    kind = cells.type
    is_text = pa.types.is_string(kind) or pa.types.is_binary(kind)
    is_number = pa.types.is_primitive(kind) and not pa.types.is_boolean(kind)
    if not cells.null_count or not (is_text or is_number):
        return False
    shown = pa.Array.from_buffers(kind, len(cells), [None, *cells.buffers()[1:]], offset=cells.offset)
    behind = shown.filter(cells.is_null())
    if is_text:
        return bool(pc.max(pc.binary_length(behind)).as_py())
    return len(behind.view(pa.binary(kind.bit_width // 8)).unique()) > 1  # as bytes, of which NaN has many


def _has_remarks(path: Path) -> bool:
    """Return whether a file has metadata beside its schema: at its end, or at one of its batches."""
    try:
        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
            batches = range(file.num_record_batches)
            return bool(getattr(file, "metadata", None)) or any(
                file.get_batch_with_custom_metadata(place).custom_metadata for place in batches
            )
    except pa.ArrowInvalid:  # a stream, which none of ours is
        return True


def _read(path: Path) -> pa.Table:
    """Return the table of a file, or of a stream that was saved as one.

    Arrow believes what a file says of itself: lengths and offsets of a damaged one would be read beyond its end, which
    ends the process. So all of it is looked at first.
    """
    try:
        with pa.memory_map(str(path)) as file:
            try:
                table = pa.ipc.open_file(file).read_all()
            except pa.ArrowInvalid:
                file.seek(0)
                table = pa.ipc.open_stream(file).read_all()
            table.validate(full=True)
            return table
    except (OSError, ValueError, OverflowError, MemoryError, pa.ArrowException):
        raise TableError(f"{path.name}: is not an Arrow IPC file") from None
