"""Stata files (.dta)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from indistinct.engine.duckdb.origin import Origin
from indistinct.engine.duckdb.source import DuckSource
from indistinct.engine.formats.file_format import Reading
from indistinct.engine.formats.statistics_files import StatisticsFile, pyreadstat
from indistinct.errors import TableError

END = b"</stata_dta>"
MOST_BEFORE_ROWS = 1 << 26
"""Bytes before the rows of a file at most: 32,767 columns have less."""


class Stata(StatisticsFile):
    """Files of Stata 8 and later; version 15 is written. Released labels are texts, without value labels."""

    kind = "stata"
    name = "Stata"
    suffixes = (".dta",)

    def read(self, library: Any, path: Path, reading: Reading) -> tuple[Mapping[str, Sequence[object]], Any]:
        found: tuple[Mapping[str, Sequence[object]], Any] = library.read_dta(
            str(path), output_format="dict", encoding=reading.encoding
        )
        return found

    def hidden_content(self, path: Path, reading: Reading) -> list[str]:
        """Say what a file tells beyond its cells; what programs note about variables is read by nobody here."""
        found = super().hidden_content(path, reading)
        with path.open("rb") as file:
            _, mark, after = file.read(MOST_BEFORE_ROWS).partition(b"<characteristics>")
            file.seek(-len(END), os.SEEK_END)
            has_end = file.read() == END
        if not mark or not after.startswith(b"</characteristics>") or not has_end:
            found.append("characteristics, something after its end, or another form than the one that is written here")
        return found

    def write(self, source: DuckSource, path: Path, origin: Origin) -> None:
        library = pyreadstat()
        try:
            library.write_dta(self.frame(source), str(path))
        except (library.ReadstatError, library.PyreadstatError, ValueError, TypeError):
            raise TableError(f"{path.name}: Stata cannot keep a name or a cell of it; release it as CSV") from None
