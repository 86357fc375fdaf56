"""Release folders: where a release may be written without taking anything else away."""

from __future__ import annotations

import json
import os
from pathlib import Path

from indistinct.errors import OutputError
from indistinct.released.manifest import MANIFEST


def refuse_occupied(folder: Path, replace: bool = False) -> None:
    """Raise an OutputError if a release cannot be written at this place; cheap, so it can be asked beforehand."""
    if len(folder.parts) > 1 and len(folder.parts[0]) > 2 and folder.parts[0].endswith(":"):
        raise OutputError(
            f"{folder.parts[0]}// is no folder here; write to storage that is mounted as a folder, "
            "or write release.table with Spark and verify what it wrote"
        )
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; name a folder for the release")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / MANIFEST).is_file():
            raise OutputError(f"{folder} is not empty; name a new folder for the release")
        if not replace:
            raise OutputError(f"{folder} already holds a release; name another folder, or say replace (--replace)")
        if beside := sorted(_names_in(folder) - _names_of_release(folder)):
            raise OutputError(
                f"{folder} also holds {beside[0]!r}, which replacing the release would remove; move it elsewhere first"
            )
    parent = next(place for place in (folder.absolute().parent, *folder.absolute().parents) if place.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"{parent} cannot be written to; name a folder elsewhere")


def _names_in(folder: Path) -> set[str]:
    return {place.name for place in folder.iterdir()}


def _names_of_release(folder: Path) -> set[str]:
    """Give the names of the files that belong to the release in a folder."""
    try:
        return {MANIFEST, *json.loads((folder / MANIFEST).read_text("utf-8"))["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {MANIFEST}
