"""Excel workbooks: a sheet whose first row names the columns, and what a workbook holds beside the cells of one sheet.

A workbook is a zip of XML files: further sheets, names, comments, properties and hidden parts may stand there. What is
written here is known: all that a workbook of ours says, with cells of every kind, is collected once, and whatever else
a file says is hidden content. Only cells, the name of the sheet, the time and the version of the library may differ.
"""

from __future__ import annotations

import datetime
import io
import math
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree  # nosec B405 # see where it is parsed

import pyarrow as pa

from indistinct.engine.formats.file_format import Contents, FileFormat, FileReading
from indistinct.engine.formats.typed_columns import LARGEST_EXACT, arrow_column, cell_text
from indistinct.errors import MissingExtraError, TableError
from indistinct.showing.words import counted

COMPOUND_FILE = b"\xd0\xcf\x11\xe0"
"""How a workbook with a password begins, and one of Excel 2003 or before."""
LONGEST_TEXT = 32_767
"""Characters of a cell; of more the library would cut off the rest."""
FIRST_DAY = datetime.date(1900, 3, 1)
"""Days before it have no number of their own in Excel."""
ERRORS = frozenset({"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!"})
SHEET, BOOK, TIMES, LIBRARY = "xl/worksheets/sheet1.xml", "xl/workbook.xml", "docProps/core.xml", "docProps/app.xml"
FREE = {
    (BOOK, "sheet", "name"): re.compile(r".{1,31}", re.DOTALL),
    (TIMES, "created", None): re.compile(r"[\d:TZ.-]{10,30}"),
    (TIMES, "modified", None): re.compile(r"[\d:TZ.-]{10,30}"),
    (LIBRARY, "Application", None): re.compile(r"[A-Za-z /]{1,60}([\d.]{1,12})?"),
    (LIBRARY, "AppVersion", None): re.compile(r"[\d.]{1,12}"),
    (SHEET, "row", "r"): re.compile(r"\d{1,7}"),
    (SHEET, "c", "r"): re.compile(r"[A-Z]{1,3}\d{1,7}"),
    (SHEET, "c", "s"): re.compile(r"\d"),
    (SHEET, "v", None): re.compile(r".*", re.DOTALL),
    (SHEET, "t", None): re.compile(r".*", re.DOTALL),
    ("xl/styles.xml", "numFmts", "count"): re.compile(r"\d"),
    ("xl/styles.xml", "cellXfs", "count"): re.compile(r"\d"),
    ("xl/styles.xml", "numFmt", "numFmtId"): re.compile(r"16\d"),
    ("xl/styles.xml", "xf", "numFmtId"): re.compile(r"0|14|22|16\d"),
}
"""Where something may stand that differs from file to file: member, element, attribute (None for its text)."""
LOCAL_HEADER, LOCAL_LENGTHS, CENTRAL_HEADER, END_RECORD = 30, 26, 46, 22
"""Bytes of the records of a zip without names, and where the lengths of a part's name and extra bytes stand."""
SIZES_FOLLOW = 8
"""The flag of a part whose sizes stand behind it; parts of ours have them in front."""
Statement = tuple[str, str, str | None, str]
"""Member, element, attribute or None for text, and what is said there."""


class Excel(FileFormat):
    """A sheet of a workbook. Numbers, texts and dates stay what they are; wholly empty rows and columns are none."""

    kind = "excel"
    name = "Excel"
    suffixes = (".xlsx", ".xlsm")
    most_rows = 1_048_575

    def open(self, path: Path, reading: FileReading, scratch: Callable[[], Path]) -> Contents:
        with _workbook(path, data_only=True) as values, _workbook(path, data_only=False) as formulas:
            sheet = _choose_sheet(path.name, values, reading.sheet)
            rows = _rows(path.name, values[sheet], formulas[sheet])
        if not rows:
            raise TableError(f"{path.name}: the sheet {sheet!r} is empty; a table needs at least a row of names")
        names, columns = _named_columns(path.name, rows)
        return Contents(pa.table([arrow_column(cells) for cells in columns], names), table=sheet)

    def hidden_content(self, path: Path, reading: FileReading) -> list[str]:
        return _hidden_in(_library(), path)

    def write(self, batches: pa.RecordBatchReader, path: Path, table: str) -> None:
        openpyxl = _library()
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet(table[:31])
        try:
            sheet.append([_text_cell(openpyxl, sheet, name) for name in batches.schema.names])
            for batch in batches:
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    sheet.append([_cell(openpyxl, sheet, cell) for cell in row])
            book.save(path)
        except (ValueError, openpyxl.utils.exceptions.IllegalCharacterError):
            raise TableError(f"{path.name}: a cell holds a character that Excel cannot keep") from None


def _library() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError('Excel files need openpyxl: pip install "indistinct[excel]"') from None
    return openpyxl


@contextmanager
def _workbook(path: Path, *, data_only: bool) -> Iterator[Any]:
    openpyxl = _library()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl's quote cells, and what it leaves out is no part of a table
        yield from _open_book(openpyxl, path, data_only)


def _open_book(openpyxl: Any, path: Path, data_only: bool) -> Iterator[Any]:
    try:
        with path.open("rb") as file:
            if file.read(4) == COMPOUND_FILE:
                raise TableError(
                    f"{path.name}: is protected by a password, or older than Excel 2007; save it as .xlsx without one"
                )
        book = openpyxl.load_workbook(path, read_only=True, data_only=data_only)
    except TableError:
        raise
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile, SyntaxError):
        raise TableError(f"{path.name}: is not a whole Excel workbook; open it in Excel and save it anew") from None
    except Exception as error:  # openpyxl raises whatever a broken part of the file runs into
        raise TableError(f"{path.name}: cannot be read as an Excel workbook ({type(error).__name__})") from None
    try:
        yield book
    finally:
        book.close()


def _choose_sheet(name: str, book: Any, asked: str | None) -> str:
    """Return the sheet that was asked for, or the only one that holds a cell: Excel once made three of each
    workbook.
    """
    sheets = book.sheetnames
    listed = ", ".join(map(repr, sheets)) or "none"
    if asked is None and len(sheets) > 1:
        filled: list[str] = [sheet.title for sheet in book.worksheets if _has_cells(sheet)]
        if len(filled) == 1:
            return filled[0]
    if asked is not None and asked not in sheets:
        raise TableError(f"{name}: no sheet is called {asked!r}; it has {listed}")
    if asked is None and len(sheets) != 1:
        raise TableError(f"{name}: say which sheet, with --sheet NAME or sheet='NAME'; it has {listed}")
    return asked or str(sheets[0])


def _has_cells(sheet: Any) -> bool:
    """Return whether a sheet holds any cell; one that cannot be read is not passed over."""
    try:
        return any(cell not in (None, "") for row in sheet.iter_rows(values_only=True) for cell in row)
    except Exception:  # openpyxl raises whatever a broken part of the file runs into
        return True


def _rows(name: str, values: Any, formulas: Any) -> list[tuple[object, ...]]:
    """Return the rows of a sheet that are not empty; refuse formulas without a result, and results that are errors."""
    found: list[tuple[object, ...]] = []
    unknown = wrong = 0
    try:
        for row, written in zip(values.iter_rows(values_only=True), formulas.iter_rows(values_only=True), strict=True):
            unknown += sum(
                cell is None and isinstance(said, str) and said.startswith("=")
                for cell, said in zip(row, written, strict=True)
            )
            wrong += sum(cell in ERRORS for cell in row if isinstance(cell, str))
            if any(cell is not None and cell != "" for cell in row):
                found.append(row)
    except Exception as error:
        raise TableError(f"{name}: is not a whole Excel workbook ({type(error).__name__}); save it anew") from None
    if unknown:
        without = counted(unknown, "formula has", "formulas have")
        raise TableError(f"{name}: {without} no result; open the workbook in Excel and save it")
    if wrong:
        errors = counted(wrong, "cell is an error of a formula", "cells are errors of formulas")
        raise TableError(f"{name}: {errors}, such as #N/A; mend or empty what is wrong")
    return found


def _named_columns(name: str, rows: Sequence[Sequence[object]]) -> tuple[list[str], list[list[object]]]:
    """Return the names in the first row, and the cells below each; a column without a name and cells is none."""
    width = max(map(len, rows))
    head, *body = ([*row, *[None] * (width - len(row))] for row in rows)
    columns = [[row[place] for row in body] for place in range(width)]
    kept = [place for place in range(width) if head[place] is not None or any(c is not None for c in columns[place])]
    for place in kept:
        if head[place] is None or not str(head[place]).strip():
            raise TableError(
                f"{name}: column {place + 1} has no name in the first row; where cells of a header are merged, or it "
                "takes several rows, unmerge them and give each column one name"
            )
    return [cell_text(head[place]) for place in kept], [columns[place] for place in kept]


def _cell(openpyxl: Any, sheet: Any, cell: Any) -> object:
    """Return a cell as Excel keeps it: what it cannot keep as it is becomes text, and no text a formula."""
    if cell is None or isinstance(cell, bool) or (isinstance(cell, int) and abs(cell) <= LARGEST_EXACT):
        return cell
    if isinstance(cell, float) and math.isfinite(cell):
        made = openpyxl.cell.WriteOnlyCell(sheet, cell)
        made._value = repr(cell)  # all digits, as Excel writes them; the library would keep sixteen
        return made
    if isinstance(cell, datetime.datetime) and cell.tzinfo is None and cell.date() >= FIRST_DAY:
        return cell
    if isinstance(cell, datetime.date) and not isinstance(cell, datetime.datetime) and cell >= FIRST_DAY:
        return cell
    return _text_cell(openpyxl, sheet, cell_text(cell))


def _text_cell(openpyxl: Any, sheet: Any, text: str) -> object:
    if len(text) > LONGEST_TEXT:
        raise TableError(f"a cell or label is longer than the {LONGEST_TEXT:,} characters that Excel keeps")
    made = openpyxl.cell.WriteOnlyCell(sheet, text)
    made.data_type = "s"
    return made


def _hidden_in(openpyxl: Any, path: Path) -> list[str]:
    """Say in words what a workbook holds beside the cells of one sheet; it was opened before and is a whole one."""
    try:
        with zipfile.ZipFile(path) as file:
            names = file.namelist()
            told = [file.comment, *(part for entry in file.infolist() for part in (entry.comment, entry.extra))]
            members = {name: file.read(name) for name in names}
            has_gaps = _has_gaps(path, file)
        said = {one for name, content in members.items() for one in _statements(name, content)}
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, ElementTree.ParseError, RuntimeError):
        raise TableError(f"{path.name}: is not a whole Excel workbook") from None
    known_names, known = _of_ours(openpyxl)
    found = []
    if set(names) - known_names or len(set(names)) < len(names):
        found.append("further parts: sheets, comments, pictures, strings that no cell has, or properties")
    if has_gaps or any(told) or any(re.search(rb"<!|.<\?", content) for content in members.values()):
        found.append("remarks between its parts")
    if any(name in known_names and not _is_known(one, known) for one in said for name in one[:1]):
        found.append("names, formats, properties or hidden rows and columns that a released sheet does not have")
    if SHEET in members and not _is_plain_grid(members[SHEET]):
        found.append("cells that readers do not all see")
    return found


def _has_gaps(path: Path, file: zipfile.ZipFile) -> bool:
    """Return whether bytes stand before, between or behind the parts of a zip, which readers pass over."""
    at = 0
    with path.open("rb") as content:
        for entry in sorted(file.infolist(), key=lambda entry: entry.header_offset):
            if entry.header_offset != at or entry.flag_bits & SIZES_FOLLOW:
                return True
            content.seek(at + LOCAL_LENGTHS)
            name, extra = (int.from_bytes(content.read(2), "little") for _ in range(2))
            at += LOCAL_HEADER + name + extra + entry.compress_size
    listed = sum(CENTRAL_HEADER + len(entry.orig_filename.encode()) for entry in file.infolist())
    return at != file.start_dir or path.stat().st_size != at + listed + END_RECORD


def _is_known(one: Statement, known: frozenset[Statement]) -> bool:
    free = FREE.get(one[:3])
    return one in known if free is None else free.fullmatch(one[3]) is not None


def _statements(member: str, content: bytes) -> set[Statement]:
    """Return everything that a part of a workbook says: each element, its attributes and its text."""
    found: set[Statement] = set()
    for element in _elements(content):
        name = _plain(element.tag)
        found.add((member, name, "", ""))
        found |= {(member, name, _plain(key), value) for key, value in element.attrib.items()}
        found |= {(member, name, None, text) for text in (element.text,) if text and text.strip()}
        found |= {(member, name, "after", text) for text in (element.tail,) if text and text.strip()}
    return found


def _elements(content: bytes) -> list[ElementTree.Element]:
    """Return all elements of a part; of one with declarations or remarks none, which is reported by itself."""
    if b"<!" in content:
        return []
    return list(ElementTree.fromstring(content).iter())  # nosec B314 # without declarations there is no entity


def _plain(name: str) -> str:
    return name.rpartition("}")[2]


def _is_plain_grid(content: bytes) -> bool:
    """Return whether rows and cells stand in their order, each once, and each cell says one thing."""
    before = 0
    for row in _elements(content):
        if _plain(row.tag) != "row":
            continue
        number = row.get("r", "0")
        if not number.isdecimal() or int(number) != before + 1:
            return False
        before, last = int(number), 0
        for cell in row:
            letters, digits = re.fullmatch(r"([A-Z]*)(\d*)", cell.get("r", "")) is not None, cell.get("r", "")
            place = _column_number(digits.rstrip("0123456789")) if letters else 0
            inside = ["v"] if cell.get("t") != "inlineStr" else ["is"]
            children = [_plain(child.tag) for child in cell]
            is_single = children == inside and all(len(child) <= 1 for child in cell)
            is_single &= all(_keeps_blanks_as_needed(text) for text in cell.iter())
            if place <= last or not digits.endswith(number) or not is_single:
                return False
            last = place
    return True


def _keeps_blanks_as_needed(text: ElementTree.Element) -> bool:
    """Return whether blanks are said to be kept where, and only where, the library says so: around a text."""
    written = text.text or ""
    needs = _plain(text.tag) == "t" and written.strip() not in ("", written)
    return needs == any(_plain(key) == "space" for key in text.attrib)


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


@cache
def _of_ours(openpyxl: Any) -> tuple[frozenset[str], frozenset[Statement]]:
    """Return the parts of workbooks as they are written here, and all that they say."""
    said: set[Statement] = set()
    names: set[str] = set()
    day = datetime.datetime(2001, 2, 3, 4, 5)
    for cells in (
        ["text", " text", 1, 1.5, True],
        ["text", day],
        ["text", day.date()],
        ["text", day, day.date(), day.time()],
    ):
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet("Sheet1")
        sheet.append(cells)
        content = io.BytesIO()
        book.save(content)
        with zipfile.ZipFile(content) as file:
            names |= set(file.namelist())
            said |= {one for name in file.namelist() for one in _statements(name, file.read(name))}
    return frozenset(names), frozenset(said)
