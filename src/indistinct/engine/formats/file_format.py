"""FileFormat: what a file format says of itself, how a file of it is opened, and how rows are written to one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar, cast

if TYPE_CHECKING:
    from indistinct.engine.duckdb.origin import Origin
    from indistinct.engine.duckdb.session import Session
    from indistinct.engine.duckdb.source import DuckSource

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""How names of compressed text end, behind the suffix of the text."""


class DamagedError(OSError):
    """A compressed file is damaged, or is none."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the caller says of a file; a format takes from it what it can use, and finds out the rest."""

    delimiter: str | None = None
    encoding: str | None = None
    table: str | None = None
    sheet: str | None = None
    codes: bool = False
    """Value labels are left unread: cells are the codes that stand in the file."""


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

    @abstractmethod
    def open(self, path: Path, session: Session, reading: Reading) -> tuple[str, Origin]:
        """Return the table, view or scan of the session that has the rows of a file, and where they came from.

        Rows stay where they are, if that can be. Names of columns go through ``check_names``; no error quotes a cell.
        """

    def hidden_content(self, path: Path, reading: Reading) -> list[str]:
        """Return what a file holds beside the rows of one table, in words; what is written here holds nothing more.

        Readers of the format find it, and no recount does. No cell is quoted.
        """
        return []

    @abstractmethod
    def write(self, source: DuckSource, path: Path, origin: Origin) -> None:
        """Write all rows in their order to a file, which is read again as the same cells.

        Whatever is raised as OSError or TableError becomes an OutputError.
        """


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
            yield cast(BinaryIO, file)
    except (zlib.error, LZMAError, EOFError):
        raise DamagedError(f"{path.name} is damaged") from None
