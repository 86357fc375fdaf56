"""What lies in a release folder beside its tables: a recipient finds it, and no recount does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from indistinct.engine.formats import format_of, load_format
from indistinct.released.manifest import MANIFEST
from indistinct.showing.words import counted


def strange_contents(folder: Path, tables: Iterable[Path]) -> list[str]:
    """Say what a release folder holds that none of ours has: other files, links elsewhere, more than rows in a file."""
    tables = list(tables)
    listed = {MANIFEST, *(path.name for path in tables)}
    others = [place for place in folder.iterdir() if place.name not in listed]
    linked = [name for name in sorted(listed) if (folder / name).is_symlink()]
    found = [f"{counted(len(others), 'file', 'files')} that the manifest does not list"] if others else []
    found += [f"{name} is a link to another place" for name in linked]
    for path in tables:
        if path.is_symlink():
            continue
        if path.is_dir():
            found += strange_parts(path)
        form = load_format("parquet") if path.is_dir() else format_of(path)
        found += [f"{path.name} holds {what}" for what in form.stowaways(path)]
    return found


def strange_parts(folder: Path, columns: Iterable[str] = ()) -> list[str]:
    """Say what in a folder of Parquet files some readers take for rows and others do not.

    The engine reads ``*.parquet``, other readers everything that begins neither with a dot nor with an underline.
    ``columns`` are those inside the files: a folder named for one of them, ``sex=m``, would have two answers.
    """
    places = sorted(place for place in folder.rglob("*") if place.is_symlink() or not place.is_dir())
    own = [place for place in places if place.name.endswith(".parquet") and not place.name.startswith((".", "_"))]
    inside = {column.lower() for column in columns}
    folders = {part for place in places for part in place.relative_to(folder).parts[:-1]}
    named = [part for part in folders if part.partition("=")[0].lower() in inside and "=" in part]
    strange = len(places) - len(own)
    found = [f"{folder.name} holds {counted(strange, 'file', 'files')} beside its Parquet files"] if strange else []
    found += [f"{folder.name} holds links to other places"] if any(place.is_symlink() for place in own) else []
    found += [f"{folder.name} has folders named for columns that stand in the files as well"] if named else []
    return found
