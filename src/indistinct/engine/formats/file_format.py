"""FileFormat: what a file format says of itself, how a file of it is opened, and how rows are written to one.

A format knows files and Arrow, and no engine. It returns the rows of a file as an Arrow table, or describes a scan that
an engine makes where the file lies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar, cast

from indistinct.errors import TableError

if TYPE_CHECKING:
    import pyarrow as pa

    from indistinct.engine.formats.delimited_text import TextFile
    from indistinct.engine.formats.duckdb_database import DatabaseTable
    from indistinct.engine.formats.parquet import ParquetFiles

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""How names of compressed text end, behind the suffix of the text."""


class DamagedError(OSError):
    """A compressed file is damaged, or is none."""


@dataclass(frozen=True, slots=True)
class FileReading:
    """What the caller says of a file; a format takes from it what it can use, and finds out the rest."""

    delimiter: str | None = None
    encoding: str | None = None
    table: str | None = None
    sheet: str | None = None
    codes: bool = False
    """Value labels are left unread: cells are the codes that stand in the file."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file holds: its rows, as an Arrow table or as what an engine scans, and what is written back with them."""

    rows: pa.Table | TextFile | ParquetFiles | DatabaseTable
    delimiter: str | None = None
    table: str = "release"
    """The name of the sheet or of the database table."""
    notes: tuple[str, ...] = ()
    """What the caller should know of how the file was read, or will be written."""


class FileFormat(ABC):
    """A format of files that hold one table."""

    kind: ClassVar[str]
    """What ``Rows.kind`` says of a table from such a file; the key in ``FORMATS``."""
    name: ClassVar[str]
    """What people call the format, for errors."""
    suffixes: ClassVar[tuple[str, ...]]
    """How names of such files end, in lower case; the first is that of the files that are written."""

    written_as: ClassVar[str | None] = None
    """The kind of file in which its tables are released, if not its own."""

    is_text: ClassVar[bool] = False
    """Files of it are text, which may be compressed."""

    is_canonical: ClassVar[bool] = False
    """Rows that are read from a file of it are written as the same bytes, if it was written here."""

    most_rows: ClassVar[int | None] = None
    """How many rows a file of it has room for; None if that does not matter."""

    @abstractmethod
    def open(self, path: Path, reading: FileReading, scratch: Callable[[], Path]) -> Contents:
        """Return what a file holds; ``scratch()`` makes a private folder for copies of it. No error quotes a cell.

        Rows stay where they are, if that can be. The engine refuses names of columns that it cannot keep apart.
        """

    def hidden_content(self, path: Path, reading: FileReading) -> list[str]:
        """Return in words what a file holds beside the rows of one table; what is written here holds nothing more.

        Readers of the format find it, and no recount does. No cell is quoted.
        """
        return []

    def write(self, batches: pa.RecordBatchReader, path: Path, table: str) -> None:
        """Write all rows in their order to a file, which is read again as the same cells; a sheet is called ``table``.

        Whatever is raised as OSError or TableError becomes an OutputError. Formats that every engine writes by itself,
        such as Parquet, have no writing of their own.
        """
        raise TableError(f"{path.name}: files of {self.name} are written by an engine alone")


@contextmanager
def open_packed(path: Path) -> Iterator[BinaryIO]:
    """Open a compressed file to read what was packed; damage is an OSError. Only what its suffix names is imported."""
    import zlib
    from lzma import LZMAError

    suffix = path.suffix.lower()
    try:
        if suffix == ".zst":
            import pyarrow as pa

            file = pa.input_stream(path, compression="zstd")
        else:
            file = import_module({".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}[suffix]).open(path)
        with file:
            yield cast("BinaryIO", file)
    except (zlib.error, LZMAError, EOFError):
        raise DamagedError(f"{path.name} is damaged") from None
