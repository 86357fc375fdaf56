"""SPSS files (.sav, .zsav, .por)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from indistinct.engine.duckdb.origin import Origin
from indistinct.engine.duckdb.source import DuckSource
from indistinct.engine.formats.file_format import Reading
from indistinct.engine.formats.statistics_files import StatisticsFile, pyreadstat
from indistinct.errors import TableError

PLACE, FIXED = 68, 84
"""Where a file says how many cells of 8 bytes a row has, how rows are packed, by which column they are weighted, and
how many there are, in 4 bytes each."""
BEFORE_ROWS = (999).to_bytes(8, "little")


class Spss(StatisticsFile):
    """Files of SPSS; values that the file declares missing are missing. Released labels are texts."""

    kind = "spss"
    name = "SPSS"
    suffixes = (".sav", ".zsav", ".por")

    def read(self, library: Any, path: Path, reading: Reading) -> tuple[Mapping[str, Sequence[object]], Any]:
        found: tuple[Mapping[str, Sequence[object]], Any]
        if path.suffix.lower() == ".por":
            found = library.read_por(str(path), output_format="dict")  # portable files have one encoding
        else:
            found = library.read_sav(str(path), output_format="dict", encoding=reading.encoding)
        return found

    def hidden_content(self, path: Path, reading: Reading) -> list[str]:
        """Say what a file tells beyond its cells; which values it declares missing is told only if it is asked."""
        found = super().hidden_content(path, reading)
        told = pyreadstat().read_sav(str(path), metadataonly=True, user_missing=True)[1]
        is_declared = told.missing_ranges or told.missing_user_values
        found += ["values that are declared missing"] if is_declared else []
        return found if _ends_with_rows(path) else [*found, "something after its rows, or another form than ours"]

    def write(self, source: DuckSource, path: Path, origin: Origin) -> None:
        library = pyreadstat()
        try:
            library.write_sav(self.frame(source), str(path))
        except (library.ReadstatError, library.PyreadstatError, ValueError, TypeError):
            raise TableError(f"{path.name}: SPSS cannot keep a name or a cell of it; release it as CSV") from None


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
