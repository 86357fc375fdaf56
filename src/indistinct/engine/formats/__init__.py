"""File formats: each is one file that knows its suffixes, its reading and its writing, and one line here."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from indistinct.engine.formats.file_format import COMPRESSED, Contents, FileFormat, FileReading, open_packed

__all__ = [
    "COMPRESSED",
    "FORMATS",
    "Contents",
    "FileFormat",
    "FileReading",
    "format_of",
    "format_to_write",
    "known_suffixes",
    "load_format",
    "name_formats",
    "open_packed",
]

FORMATS: dict[str, str] = {
    "csv": "delimited_text:DelimitedText",
    "parquet": "parquet:Parquet",
    "ipc": "arrow_ipc:ArrowIPC",
    "database": "duckdb_database:DuckDBDatabase",
    "json-lines": "json_lines:JsonLines",
    "excel": "excel:Excel",
    "stata": "statistics_files:Stata",
    "spss": "statistics_files:Spss",
    "sas": "statistics_files:Sas",
}
"""Every file format by the kind of its tables: the module beside this one, and the class in it."""


def load_format(kind: str) -> FileFormat:
    """Return the format of a kind of table.

    >>> load_format("parquet").suffixes
    ('.parquet', '.pq')
    """
    module, _, name = FORMATS[kind].partition(":")
    found: type[FileFormat] = getattr(import_module(f"{__name__}.{module}"), name)
    return found()


def format_of(path: Path) -> FileFormat:
    """Return the format of a file by its suffix; what has no suffix of any format is taken for delimited text.

    >>> [format_of(Path(name)).kind for name in ("people.PQ", "people.csv.gz", "people.jsonl.zst")]
    ['parquet', 'csv', 'json-lines']
    """
    is_compressed = path.suffix.lower() in COMPRESSED
    suffix = (path.with_suffix("") if is_compressed else path).suffix.lower()
    forms = (form for form in map(load_format, FORMATS) if form.is_text or not is_compressed)
    return next((form for form in forms if suffix in form.suffixes), load_format("csv"))


def format_to_write(kind: str) -> FileFormat:
    """Return the format in which a kind of table is written: its own if it can be, Parquet for frames."""
    own = load_format(kind if kind in FORMATS else "parquet")
    return own if own.written_as is None else load_format(own.written_as)


def known_suffixes() -> tuple[str, ...]:
    """Return how names of files end that have a format.

    >>> [".csv" in known_suffixes(), ".toml" in known_suffixes()]
    [True, False]
    """
    return tuple(suffix for kind in FORMATS for suffix in load_format(kind).suffixes)


def name_formats() -> str:
    """Return the names of all formats, for errors.

    >>> name_formats()
    'CSV, TSV, Parquet, Arrow, DuckDB (file.duckdb::table), JSON lines, Excel, Stata, SPSS or SAS'
    """
    *names, last = (load_format(kind).name for kind in FORMATS)
    return f"{', '.join(names)} or {last}"
