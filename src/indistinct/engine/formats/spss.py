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

    def stowaways(self, path: Path) -> list[str]:
        """Say what a file tells beyond its cells; which values it declares missing is told only if it is asked."""
        found = super().stowaways(path)
        told = pyreadstat().read_sav(str(path), metadataonly=True, user_missing=True)[1]
        is_declared = told.missing_ranges or told.missing_user_values
        return [*found, *(["values that are declared missing"] if is_declared else [])]

    def write(self, source: DuckSource, path: Path, origin: Origin) -> None:
        library = pyreadstat()
        try:
            library.write_sav(self.frame(source), str(path))
        except (library.ReadstatError, library.PyreadstatError, ValueError, TypeError):
            raise TableError(f"{path.name}: SPSS cannot keep a name or a cell of it; release it as CSV") from None
