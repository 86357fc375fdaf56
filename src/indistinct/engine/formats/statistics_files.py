"""Files of Stata, SPSS and SAS: pyreadstat reads them, and value labels become cells or do not.

Files of SAS are read only: their releases are CSV.
"""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from indistinct.engine.formats.file_format import Contents, FileFormat, FileReading
from indistinct.engine.formats.typed_columns import arrow_column, cell_text
from indistinct.errors import MissingExtraError, TableError

NEEDED = 'files of Stata, SPSS and SAS need pyreadstat and pandas: pip install "indistinct[statistics]"'
END = b"</stata_dta>"
MOST_BEFORE_ROWS = 1 << 26
"""Bytes before the rows of a file at most: 32,767 columns have less."""
PLACE, FIXED = 68, 84
"""Where a file says how many cells of 8 bytes a row has, how rows are packed, by which column they are weighted, and
how many there are, in 4 bytes each."""
BEFORE_ROWS = (999).to_bytes(8, "little")
CATALOGUE, FORMATS = ".sas7bcat", "formats"
"""How names of catalogues end, and the name that SAS gives the one of a folder."""


class StatisticsFile(FileFormat):
    """A file of a statistics program. Cells that have a value label are read as that, or as codes if that is asked."""

    note: ClassVar[str | None] = None
    """What the caller should know of how its tables are released."""
    writer: ClassVar[str]
    """The function of pyreadstat that writes a frame to a file."""

    def open(self, path: Path, reading: FileReading, scratch: Callable[[], Path]) -> Contents:
        cells, stated = self._read_or_refuse(path, reading)
        labels = {} if reading.codes else stated.variable_value_labels
        columns = [arrow_column(label_cells(list(own), labels.get(name, {}))) for name, own in cells.items()]
        notes = (*label_notes(stated.variable_value_labels, reading.codes), *([self.note] if self.note else []))
        delimiter = "," if self.written_as == "csv" else None
        return Contents(pa.table(columns, list(cells)), delimiter=delimiter, notes=notes)

    def hidden_content(self, path: Path, reading: FileReading) -> list[str]:
        """Return what a file says beyond its cells; released labels are texts, and no others are written here."""
        stated = self._read_or_refuse(path, FileReading())[1]
        said = {
            "a label of the file": stated.file_label,
            "notes": stated.notes,
            "labels of columns": any(stated.column_labels),
            "value labels": stated.value_labels or stated.variable_value_labels,
            "sets of columns": stated.mr_sets,
        }
        return [words for words, found in said.items() if found]

    def _read_or_refuse(self, path: Path, reading: FileReading) -> tuple[Mapping[str, Sequence[object]], Any]:
        """Return what ``read`` gives, or say that the file is broken."""
        library = pyreadstat()
        try:
            return self.read(library, path, reading)
        except (library.ReadstatError, library.PyreadstatError, OSError, UnicodeError, ValueError, KeyError):
            raise TableError(
                f"{path.name}: is not a whole {self.name} file; check that it was copied whole and has no password"
            ) from None

    @abstractmethod
    def read(self, library: Any, path: Path, reading: FileReading) -> tuple[Mapping[str, Sequence[object]], Any]:
        """Return the cells of each column, and what the file says beyond them."""

    def write(self, batches: pa.RecordBatchReader, path: Path, table: str) -> None:
        library = pyreadstat()
        frame = batches.read_all().to_pandas(date_as_object=True)
        try:
            getattr(library, self.writer)(frame, str(path))
        except (library.ReadstatError, library.PyreadstatError, ValueError, TypeError):
            raise TableError(
                f"{path.name}: {self.name} cannot keep a name or a cell of it; release it as CSV"
            ) from None


class Stata(StatisticsFile):
    """Files of Stata 8 and later; version 15 is written. Released labels are texts, without value labels."""

    kind = "stata"
    name = "Stata"
    suffixes = (".dta",)
    writer = "write_dta"

    def read(self, library: Any, path: Path, reading: FileReading) -> tuple[Mapping[str, Sequence[object]], Any]:
        found: tuple[Mapping[str, Sequence[object]], Any] = library.read_dta(
            str(path), output_format="dict", encoding=reading.encoding
        )
        return found

    def hidden_content(self, path: Path, reading: FileReading) -> list[str]:
        """Return what a file says beyond its cells; what programs note about variables is read by nobody here."""
        found = super().hidden_content(path, reading)
        with path.open("rb") as file:
            _, mark, after = file.read(MOST_BEFORE_ROWS).partition(b"<characteristics>")
            file.seek(-len(END), os.SEEK_END)
            has_end = file.read() == END
        if not mark or not after.startswith(b"</characteristics>") or not has_end:
            found.append("characteristics, something after its end, or another form than the one that is written here")
        return found


class Spss(StatisticsFile):
    """Files of SPSS; values that the file declares missing are missing. Released labels are texts."""

    kind = "spss"
    name = "SPSS"
    suffixes = (".sav", ".zsav", ".por")
    writer = "write_sav"

    def read(self, library: Any, path: Path, reading: FileReading) -> tuple[Mapping[str, Sequence[object]], Any]:
        found: tuple[Mapping[str, Sequence[object]], Any]
        if path.suffix.lower() == ".por":
            found = library.read_por(str(path), output_format="dict")  # portable files have one encoding
        else:
            found = library.read_sav(str(path), output_format="dict", encoding=reading.encoding)
        return found

    def hidden_content(self, path: Path, reading: FileReading) -> list[str]:
        """Return what a file says beyond its cells; which values it declares missing is said only if it is asked."""
        found = super().hidden_content(path, reading)
        told = pyreadstat().read_sav(str(path), metadataonly=True, user_missing=True)[1]
        is_declared = told.missing_ranges or told.missing_user_values
        found += ["values that are declared missing"] if is_declared else []
        return found if _ends_with_rows(path) else [*found, "something after its rows, or another form than ours"]


class Sas(StatisticsFile):
    """Files of SAS. Their value labels stand in a catalogue of formats, which is read if it lies beside the file.

    It has the name of the file or that of SAS, ``formats``, and ends in ``.sas7bcat``. Without one cells are codes.
    """

    kind = "sas"
    name = "SAS"
    suffixes = (".sas7bdat", ".xpt")
    written_as = "csv"

    note = "files of SAS are read only: the release is written as CSV, which SAS imports"

    def read(self, library: Any, path: Path, reading: FileReading) -> tuple[Mapping[str, Sequence[object]], Any]:
        said: dict[str, Any] = {"output_format": "dict", "encoding": reading.encoding}
        read = library.read_xport if path.suffix.lower() == ".xpt" else library.read_sas7bdat
        found: tuple[Mapping[str, Sequence[object]], Any] = read(str(path), **said)
        catalogue = None if reading.codes or read is library.read_xport else _catalogue_beside(path)
        if catalogue is not None:
            found[1].variable_value_labels = _labels(library, catalogue, found[1].variable_to_label, reading)
        return found


def pyreadstat() -> Any:
    """Return the library, or say how it is installed."""
    try:
        import pandas  # noqa: F401  # it writes from frames
        import pyreadstat as library
    except ImportError:
        raise MissingExtraError(NEEDED) from None
    return library


def label_cells(cells: Sequence[object], labels: Mapping[object, str]) -> list[object]:
    """Return the label of each cell that has one; others are texts, so that a column has one type.

    >>> label_cells([1.0, 2.0, 9.0], {1: "male", 2: "female"})
    ['male', 'female', '9']
    """
    if not labels:
        return list(cells)
    return [None if cell is None or cell != cell else labels.get(cell, cell_text(cell)) for cell in cells]


def label_notes(labels: Mapping[str, Any], codes: bool) -> tuple[str, ...]:
    """Say how the columns with value labels were read."""
    if not labels:
        return ()
    names = ", ".join(labels)
    if codes:
        return (f"read as codes, without their value labels: {names}",)
    return (f"read by their value labels instead of codes: {names}; for codes say --codes (codes=True)",)


def _ends_with_rows(path: Path) -> bool:
    """Return whether rows that are not packed, as they are written here, are the last that a file has."""
    with path.open("rb") as file:
        start = file.read(FIXED)
        numbers = [int.from_bytes(start[at : at + 4], "little", signed=True) for at in range(PLACE, FIXED, 4)]
        cells, packing, _, rows = numbers
        size = 8 * cells * rows
        if packing or rows < 0 or path.stat().st_size - size - len(BEFORE_ROWS) < FIXED:
            return False
        file.seek(-size - len(BEFORE_ROWS), 2)
        return file.read(len(BEFORE_ROWS)) == BEFORE_ROWS


def _catalogue_beside(path: Path) -> Path | None:
    """Return the catalogue of formats beside a file, if there is one; its own comes before that of the folder."""
    beside = sorted(path.parent.iterdir())
    for stem in (path.stem, FORMATS):
        name = f"{stem}{CATALOGUE}".casefold()
        found = next((one for one in beside if one.name.casefold() == name and one.is_file()), None)
        if found is not None:
            return found
    return None


def _labels(library: Any, catalogue: Path, formats: Mapping[str, str], reading: FileReading) -> dict[str, Any]:
    """Return the value labels of each column whose format stands in a catalogue."""
    try:
        _, told = library.read_sas7bcat(str(catalogue), output_format="dict", encoding=reading.encoding)
    except (library.ReadstatError, library.PyreadstatError, OSError, UnicodeError, ValueError, KeyError):
        raise TableError(
            f"{catalogue.name}: is not a whole catalogue of SAS formats; check that it was copied whole, "
            "or read the codes without their labels (--codes)"
        ) from None
    known = {_format_name(name): labels for name, labels in told.value_labels.items()}
    return {column: known[_format_name(form)] for column, form in formats.items() if _format_name(form) in known}


def _format_name(form: str) -> str:
    """Return the name of a format without its width, which names never end in.

    >>> _format_name("SEXF8."), _format_name("sexf"), _format_name("$REGION12")
    ('sexf', 'sexf', '$region')
    """
    return re.sub(r"\d*\.?\d*$", "", form).casefold()
