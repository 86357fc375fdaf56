"""What files of Stata, SPSS and SAS share: pyreadstat reads them, value labels become cells or do not."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.engine.duckdb.origin import Origin
from indistinct.engine.duckdb.session import Session
from indistinct.engine.duckdb.source import DuckSource
from indistinct.engine.formats.file_format import FileFormat, Reading
from indistinct.engine.formats.typed_columns import arrow_column, cell_text
from indistinct.engine.rows import check_names
from indistinct.errors import MissingExtraError, TableError

NEEDED = 'files of Stata, SPSS and SAS need pyreadstat and pandas: pip install "indistinct[statistics]"'


class StatisticsFile(FileFormat):
    """A file of a statistics program. Cells that have a value label are read as that, or as codes if that is asked."""

    def open(self, path: Path, session: Session, reading: Reading) -> tuple[str, Origin]:
        cells, told = self._read_or_refuse(path, reading)
        names = list(cells)
        check_names(session.name, names)
        labels = {} if reading.codes else told.variable_value_labels
        table = pa.table([arrow_column(label_cells(list(cells[name]), labels.get(name, {}))) for name in names], names)
        return session.register(table), self.origin(label_notes(told.variable_value_labels, reading.codes))

    def hidden_content(self, path: Path, reading: Reading) -> list[str]:
        """Say what a file tells beyond its cells: released labels are texts, and what is written here has no others."""
        told = self._read_or_refuse(path, Reading())[1]
        said = {
            "a label of the file": told.file_label,
            "notes": told.notes,
            "labels of columns": any(told.column_labels),
            "value labels": told.value_labels or told.variable_value_labels,
            "sets of columns": told.mr_sets,
        }
        return [words for words, found in said.items() if found]

    def origin(self, notes: tuple[str, ...]) -> Origin:
        """Return what is needed to write the same kind of file."""
        return Origin(self.kind, notes=notes)

    def _read_or_refuse(self, path: Path, reading: Reading) -> tuple[Mapping[str, Sequence[object]], Any]:
        """Return what ``read`` gives, or say that the file is broken."""
        library = pyreadstat()
        try:
            return self.read(library, path, reading)
        except (library.ReadstatError, library.PyreadstatError, OSError, UnicodeError, ValueError, KeyError):
            raise TableError(
                f"{path.name}: is not a whole {self.name} file; check that it was copied whole and has no password"
            ) from None

    @abstractmethod
    def read(self, library: Any, path: Path, reading: Reading) -> tuple[Mapping[str, Sequence[object]], Any]:
        """Return the cells of each column, and what the file tells beyond them."""

    def frame(self, source: DuckSource) -> Any:
        """Return the rows as pyreadstat writes them."""
        pyreadstat()
        table = source.session.arrow(f"SELECT * FROM {source.relation}")
        return table.to_pandas(date_as_object=True)


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
