"""Writing rows to a file of the kind that came in, in the order in which they stand."""

from __future__ import annotations

from pathlib import Path

from indistinct.engine.duckdb.origin import Origin
from indistinct.engine.duckdb.source import DuckSource
from indistinct.engine.formats import format_to_write
from indistinct.errors import OutputError, TableError


def write_file(source: DuckSource, folder: Path, name: str, origin: Origin) -> Path:
    """Write all rows to a file of this name and of the kind that came in, and return its path."""
    form = format_to_write(origin.kind)
    path = Path(folder) / f"{name}{form.suffixes[0]}"
    try:
        form.write(source, path, origin)
    except (OSError, TableError):
        raise OutputError(
            f"{path.name}: cannot be written to {path.parent}; check the folder and the free space"
        ) from None
    return path
