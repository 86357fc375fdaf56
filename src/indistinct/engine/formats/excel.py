"""Excel workbooks: a sheet whose first row names the columns."""

from __future__ import annotations

import datetime
import math
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.engine.duckdb.origin import Origin, restore_arrow
from indistinct.engine.duckdb.session import Session
from indistinct.engine.duckdb.source import DuckSource
from indistinct.engine.formats.excel_contents import hidden_in_excel
from indistinct.engine.formats.file_format import FileFormat, Reading
from indistinct.engine.formats.typed_columns import LARGEST_EXACT, arrow_column, cell_text
from indistinct.engine.rows import check_names
from indistinct.errors import MissingExtraError, TableError
from indistinct.showing.words import counted

COMPOUND_FILE = b"\xd0\xcf\x11\xe0"
"""How a workbook with a password begins, and one of Excel 2003 or before."""
MOST_ROWS = 1_048_576
LONGEST_TEXT = 32_767
"""Characters of a cell; of more the library would cut off the rest."""
FIRST_DAY = datetime.date(1900, 3, 1)
"""Days before it have no number of their own in Excel."""
ERRORS = frozenset({"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!"})


class Excel(FileFormat):
    """A sheet of a workbook. Numbers, texts and dates stay what they are; wholly empty rows and columns are none."""

    kind = "excel"
    name = "Excel"
    suffixes = (".xlsx", ".xlsm")

    def open(self, path: Path, session: Session, reading: Reading) -> tuple[str, Origin]:
        with _workbook(path, data_only=True) as values, _workbook(path, data_only=False) as formulas:
            sheet = _choose_sheet(path.name, values, reading.sheet)
            rows = _rows(path.name, values[sheet], formulas[sheet])
        if not rows:
            raise TableError(f"{path.name}: the sheet {sheet!r} is empty; a table needs at least a row of names")
        names, columns = _named_columns(path.name, rows)
        check_names(session.name, names)
        table = pa.table([arrow_column(cells) for cells in columns], names)
        return session.register(table), Origin(self.kind, restore_arrow(table.schema), table=sheet)

    def hidden_content(self, path: Path, reading: Reading) -> list[str]:
        return hidden_in_excel(_library(), path)

    def write(self, source: DuckSource, path: Path, origin: Origin) -> None:
        openpyxl = _library()
        if source.rows_of(source.relation) >= MOST_ROWS:
            raise TableError(f"{path.name}: a sheet has room for {MOST_ROWS - 1:,} rows below its names")
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet(origin.table[:31])
        try:
            sheet.append([_text_cell(openpyxl, sheet, name) for name in source.types])
            for batch in source.session.stream(f"SELECT * FROM {source.relation}"):
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
