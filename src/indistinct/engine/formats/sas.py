"""SAS files (.sas7bdat, .xpt), which are read only: their releases are CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from indistinct.engine.duckdb.origin import Origin
from indistinct.engine.duckdb.source import DuckSource
from indistinct.engine.formats.delimited_text import DelimitedText
from indistinct.engine.formats.file_format import Reading
from indistinct.engine.formats.statistics_files import StatisticsFile

WRITTEN_AS_CSV = "files of SAS are read only: the release is written as CSV, which SAS imports"


class Sas(StatisticsFile):
    """Files of SAS. Their formats stand in catalogues of their own, which are not read: cells are codes."""

    kind = "sas"
    name = "SAS"
    suffixes = (".sas7bdat", ".xpt")
    written_as = "csv"

    def origin(self, notes: tuple[str, ...]) -> Origin:
        return Origin(self.kind, delimiter=",", notes=(*notes, WRITTEN_AS_CSV))

    def read(self, library: Any, path: Path, reading: Reading) -> tuple[Mapping[str, Sequence[object]], Any]:
        said: dict[str, Any] = {"output_format": "dict", "encoding": reading.encoding}
        read = library.read_xport if path.suffix.lower() == ".xpt" else library.read_sas7bdat
        found: tuple[Mapping[str, Sequence[object]], Any] = read(str(path), **said)
        return found

    def write(self, source: DuckSource, path: Path, origin: Origin) -> None:
        DelimitedText().write(source, path, origin)
