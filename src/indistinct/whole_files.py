"""Files that are written whole or not at all: under another name first, brought to the disk, then given their own.

A draft stands beside its goal and is locked as long as its process lives. A process that is killed leaves it there; the
next one that writes beside it takes it away, by the same rule as private folders. What a dead process had moved aside
to make room gets its name back, if nothing else has it by now.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path

from indistinct.errors import OutputError
from indistinct.private_folders import is_let_go, remove_whatever_comes, take_hold

EVERYBODY = 0o644
OWNER_ONLY = 0o600
"""For what tells about a private table."""


_named: list[tuple[Path, int]] = []
"""The places that something whole was to be named, each with the number of what it is on the disk."""
_held: dict[Path, int] = {}
_MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:6]
"""Drafts of other machines on a shared drive are theirs: their locks may not be seen here."""
_OURS = re.compile(rf"\.(?P<goal>.+)\.{_MACHINE}[0-9a-f]{{12}}\.(?P<kind>new|partial|old)", re.DOTALL)
_AT_WORKING_FOLDER, _EXCHANGE = -100, 2
"""What Linux calls AT_FDCWD and RENAME_EXCHANGE."""
MOST_NAMED = 100
NEW_FOR = 3600.0
"""Seconds after which something empty that nobody holds yet was left by a process that is gone."""


def make_draft(goal: Path, *, is_folder: bool = False) -> Path:
    """Make an empty file or folder beside its goal, for its owner only; what dead processes left there goes first."""
    remove_forsaken_drafts(goal.absolute().parent)
    new = _beside(goal, "new")
    draft, handle = new.with_suffix(".partial"), None
    try:
        if is_folder:
            new.mkdir(0o700)
            handle = os.open(new, os.O_RDONLY | os.O_CLOEXEC) if os.name == "posix" else None
        else:
            handle = os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, OWNER_ONLY)
        take_hold(handle)  # before it has the name by which others find it
        os.rename(new, draft)
    except BaseException:
        _close(handle)
        _remove(new)
        _remove(draft)
        raise
    if handle is not None:
        _held[draft] = handle
    return draft


def drop_draft(draft: Path) -> None:
    """Remove what still has the name of a draft, and let go of it; doing so twice is harmless."""
    _remove(draft)
    _close(_held.pop(draft, None))


def remove_forsaken_drafts(parent: Path) -> int:
    """Remove the drafts beside a goal whose process is gone, and return how many; what stepped aside comes back."""
    removed = 0
    with contextlib.suppress(OSError), os.scandir(parent) as inside:
        found = [(Path(item.path), ours) for item in inside if (ours := _OURS.fullmatch(item.name))]
        for place, ours in found:
            if not is_let_go(place) or (ours["kind"] == "new" and place.lstat().st_mtime > time.time() - NEW_FOR):
                continue
            goal = place.with_name(ours["goal"])
            if ours["kind"] == "old" and not os.path.lexists(goal):
                os.rename(place, goal)
            else:
                _remove(place)
            removed += 1
    return removed


def give_name(partial: Path, goal: Path, *, replace: bool = False) -> None:
    """Rename what is whole to its goal, at once; to ``replace`` a folder, both change places and that one is removed.

    Where the system cannot exchange two names, the folder that is there steps aside and comes back if that fails.
    Without ``replace`` an OSError tells that a folder with something in it is there, however late it came.
    """
    _named.append((goal, partial.stat().st_ino))
    del _named[:-MOST_NAMED]  # a process that lives for long forgets the oldest
    if not (replace and goal.is_dir() and any(goal.iterdir())):
        os.replace(partial, goal)
    elif not _exchange(partial, goal):
        aside = _beside(goal, "old")
        handle = os.open(goal, os.O_RDONLY | os.O_CLOEXEC) if os.name == "posix" else None
        take_hold(handle)
        try:
            os.replace(goal, aside)
            os.replace(partial, goal)
        except BaseException:
            if not goal.exists():  # a signal may come when the new one has its name already
                os.replace(aside, goal)
            raise
        finally:
            _remove(aside)
            _close(handle)
    if os.path.lexists(partial):
        _remove(partial)  # what was there before


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names at once; False where the system or the disk cannot."""
    if sys.platform != "linux":
        return False
    import ctypes

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    places = _AT_WORKING_FOLDER, os.fsencode(one), _AT_WORKING_FOLDER, os.fsencode(other)
    return rename is not None and rename(*places, _EXCHANGE) == 0


def _beside(goal: Path, kind: str) -> Path:
    return goal.absolute().parent / f".{goal.name}.{_MACHINE}{secrets.token_hex(6)}.{kind}"


def _remove(place: Path) -> None:
    """Remove a file, a link or a folder with all in it, if it is there."""
    if place.is_dir() and not place.is_symlink():
        remove_whatever_comes(place)
    else:
        with contextlib.suppress(OSError):
            place.unlink()


def _close(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


def forget_places() -> None:
    """Begin anew to note what is written."""
    _named.clear()


def whole_places() -> list[Path]:
    """Give the places that were written since the command began and are whole, also if it is ended just now."""
    return [goal for goal, number in _named if goal.exists() and goal.stat().st_ino == number]


def write_whole(goal: Path, content: str | Callable[[Path], object], *, mode: int = EVERYBODY) -> None:
    """Write a text, or let a file be written, and give it its name when it is whole; nothing is left of a failure."""
    draft: Path | None = None
    try:
        draft = make_draft(goal)
        if isinstance(content, str):
            draft.write_text(content, "utf-8", newline="")
        else:
            content(draft)
        draft.chmod(mode)
        flush(draft)
        give_name(draft, goal)
        flush_name(goal)
    except OSError as error:
        raise OutputError(f"cannot write {goal}: {error.strerror or error}; nothing was written") from None
    finally:
        if draft is not None:
            drop_draft(draft)


def flush(place: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_name(goal: Path) -> None:
    """Bring the name of something to the disk, where its folder may be read."""
    with contextlib.suppress(PermissionError):
        flush(goal.absolute().parent)


def flush_all(folder: Path) -> None:
    """Bring a folder and everything in it to the disk."""
    for place in (*folder.rglob("*"), folder):
        flush(place)
