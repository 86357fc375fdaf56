"""SAS files (.sas7bdat, .xpt), which are read only: their releases are CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from indistinct.engine.duckdb.origin import Origin
from indistinct.engine.duckdb.source import DuckSource
from indistinct.engine.formats.delimited_text import DelimitedText
from indistinct.engine.formats.file_format import Reading
from indistinct.engine.formats.statistics_files import StatisticsFile
from indistinct.errors import TableError

CATALOGUE, FORMATS = ".sas7bcat", "formats"
"""How names of catalogues end, and the name that SAS gives the one of a folder."""
WRITTEN_AS_CSV = "files of SAS are read only: the release is written as CSV, which SAS imports"


class Sas(StatisticsFile):
    """Files of SAS. Their value labels stand in a catalogue of formats, which is read if it lies beside the file.

    It has the name of the file or that of SAS, ``formats``, and ends in ``.sas7bcat``. Without one cells are codes.
    """

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
        catalogue = None if reading.codes or read is library.read_xport else _catalogue_beside(path)
        if catalogue is not None:
            found[1].variable_value_labels = _labels(library, catalogue, found[1].variable_to_label, reading)
        return found

    def write(self, source: DuckSource, path: Path, origin: Origin) -> None:
        DelimitedText().write(source, path, origin)


def _catalogue_beside(path: Path) -> Path | None:
    """Return the catalogue of formats beside a file, if there is one; its own comes before that of the folder."""
    beside = sorted(path.parent.iterdir())
    for stem in (path.stem, FORMATS):
        name = f"{stem}{CATALOGUE}".casefold()
        found = next((one for one in beside if one.name.casefold() == name and one.is_file()), None)
        if found is not None:
            return found
    return None


def _labels(library: Any, catalogue: Path, formats: Mapping[str, str], reading: Reading) -> dict[str, Any]:
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
