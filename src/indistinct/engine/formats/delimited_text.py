"""Delimited text: which encoding, delimiter and header a file has, and whether it is written as releases are.

Readers of text forgive much: blank lines, or quotation marks that need not be there. The rows are the same, and the
rest can say something. ``verify --canonical`` writes whole files anew, which takes ten times as long (0.43 and 0.04
seconds for a million rows); what is found here needs no second writing, and does not follow from versions.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from indistinct.atomic_files import OWNER_ONLY
from indistinct.engine.formats import name_formats
from indistinct.engine.formats.file_format import COMPRESSED, Contents, FileFormat, FileReading, open_packed
from indistinct.errors import TableError

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_BYTES = 1 << 18
SAMPLE_LINES = 200
# The longest line there may be. A quarter of DuckDB's own choice: as fast, and leaves room under a small memory limit.
BUFFER_BYTES = 8_000_000
DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
NO_NAME = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Signs of text that is read in a wrong encoding, in which the whole table may be one line."""
CELL = re.compile(r"\s*([+-]?[0-9]+([.,][0-9]+)*|[0-9]{1,4}([-/.][0-9]{1,4}){2}([ T].*)?|\S+@\S+\.\S+)\s*")
"""A number, a date or an address, as cells are and names of columns are not."""
LONGEST_NAME = 1000
BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
BLOCK = 1 << 17
"""So many bytes are looked at together, which stay in the processor's cache."""
LINE_END = ord("\n")
QUOTE = ord('"')
QUOTED = re.compile(rb'"[^"]*(?:""[^"]*)*"')

BYTE_ORDER_MARK = "a byte order mark"
OTHER_ENDS = "line ends of another kind"
BLANK_LINES = "blank lines"
NO_END = "a last line without its end"
QUOTATION = "quotation marks where none are needed"
TOO_MANY_CELLS = "delimiters beyond the last column"


class DelimitedText(FileFormat):
    """Lines of cells between delimiters, below a header; also compressed, and also in other encodings than UTF-8."""

    kind = "csv"
    name = "CSV, TSV"
    suffixes = (".csv", ".tsv", ".txt")
    is_text = True
    is_canonical = True

    def open(self, path: Path, reading: FileReading, scratch: Callable[[], Path]) -> Contents:
        layout = read_layout(path, scratch, reading.delimiter, reading.encoding)
        _refuse_cells_as_names(path.name, layout.names, layout.repeated)
        return Contents(layout, delimiter=layout.delimiter)

    def hidden_content(self, path: Path, reading: FileReading) -> list[str]:
        with path.open("rb") as file:
            start = file.read(SAMPLE_BYTES)
            file.seek(0)
            is_whole = len(start) < SAMPLE_BYTES
            delimiter = reading.delimiter or _best_delimiter(start.decode("utf-8-sig", "replace"), is_whole)
            return delimited_oddities(file, delimiter)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file of UTF-8 text, its delimiter, its column names, and the blank lines before the header.

    ``line_end`` is set if DuckDB would take a line break inside a column name for the end of a line.
    """

    path: Path
    delimiter: str
    names: tuple[str, ...]
    blank_lines: int
    line_end: str | None = None
    repeated: frozenset[int] = frozenset()
    """Places of names that seem to be cells, since they stand in their columns again."""

    def measure_header(self) -> tuple[int, int]:
        """Return how many bytes the header has, with all before it and its line end, and how many that end has."""
        with self.path.open("rb") as file:
            start = file.read(SAMPLE_BYTES)
        mark = len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0
        first = len(start) - len(start[mark:].lstrip(b"\r\n"))
        header = start[first:].splitlines(keepends=True)[0]
        return first + len(header), len(header) - len(header.rstrip(b"\r\n"))


def read_layout(path: Path, scratch: Callable[[], Path], delimiter: str | None, encoding: str | None) -> TextFile:
    """Return how to scan a file; text that is compressed or not UTF-8 is first copied into a private folder."""
    name = path.name
    try:
        with _open_bytes(path) as file:
            start = file.read(SAMPLE_BYTES)
        encoding = _encoding(name, start, encoding)
        if path.suffix.lower() in COMPRESSED or encoding not in ("utf-8", "utf-8-sig"):
            path = _copy_as_utf8(path, scratch(), encoding)
            with path.open("rb") as file:
                start = file.read(SAMPLE_BYTES)
        _refuse_long_last_line(path, name)
    except UnicodeError:
        raise TableError(f"{name}: is not {encoding} text; say another encoding") from None
    except OSError as error:
        raise TableError(f"{name}: cannot be read ({type(error).__name__})") from None
    return _layout(path, name, _decode(name, start), len(start) < SAMPLE_BYTES, delimiter)


def _open_bytes(path: Path) -> AbstractContextManager[BinaryIO]:
    return open_packed(path) if path.suffix.lower() in COMPRESSED else path.open("rb")


def _encoding(name: str, start: bytes, encoding: str | None) -> str:
    """Return Python's name of the encoding: the one given, else by byte order mark, else UTF-8."""
    marked = next((found for mark, found in BYTE_ORDER_MARKS.items() if start.startswith(mark)), None)
    if encoding is None:
        return marked or "utf-8"
    try:
        given = codecs.lookup(encoding).name
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)  # refuses codecs that give no text, such as hex and zlib
    except (LookupError, ValueError):
        raise TableError(f"{name}: no encoding is called {encoding!r}; say for example 'utf-8' or 'latin-1'") from None
    return marked or given if given in ("utf-8", "utf-16") else given


def _copy_as_utf8(path: Path, folder: Path, encoding: str) -> Path:
    copy = folder / "text.csv"
    handle = os.open(copy, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, OWNER_ONLY)
    with _open_bytes(path) as source, open(handle, "wb") as target:
        if encoding in ("utf-8", "utf-8-sig"):
            shutil.copyfileobj(source, target, 1 << 20)
        else:
            text = io.TextIOWrapper(source, encoding=encoding, newline="")
            while part := text.read(1 << 20):
                target.write(part.encode())
    return copy


def _refuse_long_last_line(path: Path, name: str) -> None:
    """Refuse a last line that does not fit into the scan's buffer: DuckDB would leave it out without a word."""
    size = path.stat().st_size
    if size <= BUFFER_BYTES:
        return
    with path.open("rb") as file:
        file.seek(size - BUFFER_BYTES)
        end = file.read().rstrip(b"\r\n")
    if b"\n" not in end and b"\r" not in end:
        raise TableError(f"{name}: the last line is longer than 8 MB; check that the file is delimited text")


FOREIGN = {
    ".xls": "a workbook of Excel 2003 or before; open it in Excel or LibreOffice and save it as .xlsx",
    ".xlsb": "a binary workbook of Excel; save it as .xlsx",
    ".ods": "a spreadsheet of LibreOffice; save it as .xlsx or CSV",
    ".sas7bcat": "a catalogue of SAS formats, which has no rows; give the .sas7bdat file",
    ".rds": "a file of R; write it as CSV or Parquet there",
    ".rda": "a file of R; write it as CSV or Parquet there",
    ".rdata": "a file of R; write it as CSV or Parquet there",
    ".mdb": "a database of Access; export the table as CSV",
    ".accdb": "a database of Access; export the table as CSV",
    ".sqlite": "a database of SQLite; export the table as CSV",
    ".pkl": "a file of Python objects; write the frame as Parquet",
    ".zip": "an archive; unpack it and give the table in it",
}
"""Files that people have and that are no text, by their suffix: what they are, and what to do."""


def _decode(name: str, start: bytes) -> str:
    if not start.strip():
        raise TableError(f"{name}: is empty; a table needs at least a header line")
    if b"\0" in start:
        foreign = FOREIGN.get(Path(name).suffix.lower())
        if foreign is not None:
            raise TableError(f"{name}: is {foreign}")
        raise TableError(f"{name}: holds NUL bytes, so it is not delimited text; give {name_formats()}")
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        return decoder.decode(start, final=len(start) < SAMPLE_BYTES)
    except UnicodeDecodeError as error:
        line = start.count(b"\n", 0, error.start) + 1
        raise TableError(f"{name}: line {line} is not UTF-8; say encoding='latin-1' or --encoding latin-1") from None


def _layout(path: Path, name: str, sample: str, is_whole: bool, delimiter: str | None) -> TextFile:
    body = sample.lstrip("\r\n")
    blank_lines = len(sample[: len(sample) - len(body)].splitlines())
    best = _best_delimiter(body, is_whole)
    if delimiter is None:
        delimiter = best
    delimiter = DELIMITER_NAMES.get(delimiter, delimiter)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise TableError(f"{name}: the delimiter must be one character, such as ',' or ';' or 'tab'")
    if not is_whole and not _ends_first_line(body, delimiter):
        raise TableError(
            f"{name}: the first line goes on after {SAMPLE_BYTES:,} bytes, which is too long for names of columns; "
            "check that columns stand side by side, and that no quotation mark in that line is left open"
        )
    names, *rows = _records(body, delimiter, is_whole) or [[]]
    if not names:
        raise TableError(
            f"{name}: the first line cannot be read: a quotation mark in it is not closed or not doubled, or the name "
            f"of a column is longer than {csv.field_size_limit():,} characters"
        )
    if not rows and any(NO_NAME.search(column) or len(column) > LONGEST_NAME for column in names):
        raise TableError(
            f"{name}: all of it is one line, with signs that names of columns do not have, or more than "
            f"{LONGEST_NAME:,} in one; say its encoding and delimiter"
        )
    widths = {len(record) for record in _records(body, best, is_whole)}
    if len(names) == 1 and delimiter != best and len(widths) == 1 and widths != {1}:
        raise TableError(f"{name}: its lines seem to be separated by {best!r}, not by {delimiter!r}; say so")
    return TextFile(
        path, delimiter, tuple(names), blank_lines, _line_end(name, body, names), _places_of_repeated_names(names, rows)
    )


def _places_of_repeated_names(names: list[str], rows: Sequence[list[str]]) -> frozenset[int]:
    """Return the places of names that are also cells of their column, beside others, as those of a first row are.

    A column that marks something by its own name has no other cells, and a header that comes again says nothing.
    """
    columns = [
        set(cells) for cells in zip(*(row for row in rows if len(row) == len(names) and row != names), strict=True)
    ]
    named = enumerate(zip(names, columns, strict=False))
    return frozenset(place for place, (name, cells) in named if name and name in cells and cells - {name, ""})


def _refuse_cells_as_names(table: str, names: Sequence[str], repeated: frozenset[int]) -> None:
    """Refuse a file whose first line seems to be a row of the table; no name is quoted, since it may be a cell.

    Columns that are numbered, or named by years, are not refused.
    """
    cells = [place for place, name in enumerate(names) if CELL.fullmatch(name)]
    numbers = sorted(int(names[place]) for place in cells if names[place].isdecimal() and len(names[place]) < 10)
    is_numbered = len(cells) > 1 and numbers == list(
        range(min(numbers, default=0), len(cells) + min(numbers, default=0))
    )
    strange = repeated.difference(cells) if is_numbered else repeated.union(cells)
    if 2 * len(strange) >= len(names) and (len(repeated & strange) > 1 or not strange.isdisjoint(cells)):
        raise TableError(
            f"{table}: the first line seems to be a row and not the names of columns ({len(strange)} of {len(names)} "
            "cells there are numbers, dates or addresses, or stand in their column again); write the names into a line "
            "above it"
        )


def _line_end(name: str, body: str, names: Sequence[str]) -> str | None:
    """Return how DuckDB calls the line end if a column name holds a line break, else None: DuckDB finds it itself."""
    if not any("\n" in column or "\r" in column for column in names):
        return None
    outside_quotes = "".join(body.split('"')[::2])
    found = re.search(r"\r\n|\n|\r", outside_quotes)
    if found is not None and found.group() == "\r\n":
        # DuckDB would lose rows silently.
        raise TableError(f"{name}: a column name holds a line break; rename it, or save the file with \\n line ends")
    return "\\r" if found is not None and found.group() == "\r" else "\\n"


def _best_delimiter(sample: str, is_whole: bool) -> str:
    """Return the delimiter under which most lines have as many cells as the header, the more cells the better."""

    def merit(delimiter: str) -> tuple[bool, float, int]:
        widths = [len(record) for record in _records(sample, delimiter, is_whole)]
        return (widths[0] > 1, widths.count(widths[0]) / len(widths), widths[0]) if widths else (False, 0.0, 0)

    return max(DELIMITERS, key=merit)


def _records(sample: str, delimiter: str, is_whole: bool) -> Sequence[list[str]]:
    """Return the first lines as cells, at least the header, without the last one of a longer file: it may be cut."""
    records: list[list[str]] = []
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, strict=True)
    try:
        for record in reader:
            if record:
                records.append(record)
            if len(records) > SAMPLE_LINES:
                return records
    except csv.Error:
        # A quotation mark that is never closed: below the header the scan says on which line.
        return records
    return records if is_whole or len(records) == 1 else records[:-1]


def _ends_first_line(sample: str, delimiter: str) -> bool:
    """Return whether the first line ends in a sample: something stands below it, however that goes on."""
    records = 0
    try:
        for record in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, strict=True):
            records += bool(record)
            if records > 1:
                return True
    except csv.Error:
        return records == 1
    return False


def delimited_oddities(file: BinaryIO, delimiter: str) -> list[str]:
    """Say in words what delimited text has that none of ours has: cells are quoted here only if they must be.

    >>> import io
    >>> delimited_oddities(io.BytesIO(b'age,ill\\n30,"a, b"\\n40,""\\n'), ",")
    []
    >>> delimited_oddities(io.BytesIO(b'age,ill\\n30,"flu"\\n\\n40,flu'), ",")
    ['a last line without its end', 'blank lines', 'quotation marks where none are needed']
    """
    mark = delimiter.encode()
    needs_quotes = re.compile(re.escape(mark) + rb'|["\r\n#]')
    beside_text = re.compile(rb'"(?!MARK|\n|\Z)|(?<!MARK)(?<!\n)(?<!\A)"'.replace(b"MARK", re.escape(mark)))
    found, ends, delimiters, in_header, last = set(), 0, 0, 0, b"\n"
    for block in _whole_lines(file):
        plain = block
        if b'"' in block:
            plain = QUOTED.sub(b'"', block)
            cells = (quoted.group()[1:-1] for quoted in QUOTED.finditer(block))
            if beside_text.search(plain) or any(cell and not needs_quotes.search(cell) for cell in cells):
                found.add(QUOTATION)
        if not ends:
            in_header = plain.partition(b"\n")[0].count(mark)
            found |= {BYTE_ORDER_MARK} if block.startswith(codecs.BOM_UTF8) else set()
        found |= {OTHER_ENDS} if b"\r" in plain else set()
        letters = np.frombuffer(plain, np.uint8)
        is_end = letters == LINE_END
        found |= {BLANK_LINES} if is_end[0] or (is_end[1:] & is_end[:-1]).any() else set()
        ends, last = ends + int(np.count_nonzero(is_end)), plain[-1:]
        delimiters += int(np.count_nonzero(letters == mark[0])) if len(mark) == 1 else plain.count(mark)
    found |= {NO_END} if last != b"\n" else set()
    found |= {TOO_MANY_CELLS} if delimiters > in_header * (ends + (last != b"\n")) else set()
    return sorted(found)


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Return a file in blocks that end where a line ends outside of quotation marks; each byte is looked at once."""
    pieces: list[bytes] = []
    is_quoted = False
    while block := file.read(BLOCK):
        end = _last_line_end(block, is_quoted)
        is_quoted ^= block.count(b'"') % 2 == 1
        if end:
            yield b"".join((*pieces, block[:end]))
            pieces.clear()
        pieces.append(block[end:])
    if rest := b"".join(pieces):
        yield rest


def _last_line_end(block: bytes, is_quoted: bool) -> int:
    r"""Return where the last line ends that ends outside of quotation marks; ``is_quoted`` says how the block begins.

    >>> _last_line_end(b'1\n2,"3\n4', False), _last_line_end(b'1\n2,"3\n4', True)
    (2, 7)
    """
    end = block.rfind(b"\n") + 1
    if is_quoted == block.count(b'"', 0, end) % 2:
        return end
    letters = np.frombuffer(block, np.uint8)
    is_inside = np.logical_xor.accumulate(letters == QUOTE) != is_quoted
    ends = np.flatnonzero((letters == LINE_END) & ~is_inside)
    return int(ends[-1]) + 1 if ends.size else 0
