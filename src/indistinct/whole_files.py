"""Files that are written whole or not at all: under another name first, brought to the disk, then given their own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from indistinct.errors import OutputError

EVERYBODY = 0o644
OWNER_ONLY = 0o600
"""For what tells about a private table."""


_named: list[tuple[Path, int]] = []
"""The places that something whole was to be named, each with the number of what it is on the disk."""


def give_name(partial: Path, goal: Path) -> None:
    """Rename what is whole to its goal, at once."""
    _named.append((goal, partial.stat().st_ino))
    os.replace(partial, goal)


def forget_places() -> None:
    """Begin anew to note what is written."""
    _named.clear()


def whole_places() -> list[Path]:
    """Give the places that were written since the command began and are whole, also if it is ended just now."""
    return [goal for goal, number in _named if goal.exists() and goal.stat().st_ino == number]


def write_whole(goal: Path, content: str | Callable[[Path], object], *, mode: int = EVERYBODY) -> None:
    """Write a text, or let a file be written, and give it its name when it is whole; nothing is left of a failure."""
    partial: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{goal.name}.", suffix=".partial", dir=goal.absolute().parent)
        os.close(handle)
        partial = Path(name)
        if isinstance(content, str):
            partial.write_text(content, "utf-8", newline="")
        else:
            content(partial)
        partial.chmod(mode)
        flush(partial)
        give_name(partial, goal)
        flush(goal.absolute().parent)
    except OSError as error:
        raise OutputError(f"cannot write {goal}: {error.strerror or error}; nothing was written") from None
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)


def flush(place: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_all(folder: Path) -> None:
    """Bring a folder and everything in it to the disk."""
    for place in (*folder.rglob("*"), folder):
        flush(place)
