"""Files that are written whole or not at all, and private folders: nothing is left of a process, however it ended.

What is written stands under another name first, is brought to the disk, then given its own. Such a draft lies beside
its goal. A private folder lies below the system's temporary one; only this user reads it. Both are removed by whoever
made them. A process that is killed outright cannot; so it keeps a lock on what it made, and the next one removes what
nobody holds any more. The system lets go of the locks of a dead process, and of no others, so nothing is taken away
that somebody uses. What a dead process had moved aside to make room gets its name back, if nothing else has it by now.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import platform
import re
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from indistinct.errors import OutputError

try:
    import fcntl
except ImportError:  # not on Windows: there nothing is swept
    fcntl = None  # type: ignore[assignment]

EVERYBODY = 0o644
OWNER_ONLY = 0o600
"""For what tells about a private table."""
PREFIX = "indistinct-"
"""How the names of private folders begin."""
OWNER = ".owner"
"""The file that is locked as long as a private folder is in use."""

_named: list[tuple[Path, int]] = []
"""The places that something whole was to be named, each with the number of what it is on the disk."""
_held: dict[Path, int] = {}
"""The drafts that are in use, each with what is open and locked."""
_folders: dict[Path, tuple[int, int]] = {}
"""The private folders that are in use, each with the process that made it and the open file that is locked."""
_swept: set[tuple[int, str]] = set()
_lock = threading.RLock()
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
    """Return the places that were written since the command began and are whole, also if it is ended just now."""
    return [goal for goal, number in _named if goal.exists() and goal.stat().st_ino == number]


def refuse_unwritable(goal: Path, what: str = "file") -> None:
    """Raise if nothing can be written beside a goal; asked before the work begins."""
    parent = goal.absolute().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"{parent} is no folder that can be written to; name a {what} elsewhere")


def write_whole(goal: Path, content: str | Callable[[Path], object], *, mode: int = EVERYBODY) -> None:
    """Write a text, or let a file be written, and give it its name when it is whole; nothing is left of a failure."""
    with _whole(goal) as draft:
        if isinstance(content, str):
            draft.write_text(content, "utf-8", newline="")
        else:
            content(draft)
        draft.chmod(mode)


@contextlib.contextmanager
def whole_folder(goal: Path, *, replace: bool = False) -> Iterator[Path]:
    """Return a folder for its owner only, which gets its name when the block ends; nothing is left of a failure."""
    with _whole(goal, is_folder=True, replace=replace) as draft:
        yield draft


@contextlib.contextmanager
def _whole(goal: Path, *, is_folder: bool = False, replace: bool = False) -> Iterator[Path]:
    draft: Path | None = None
    try:
        if is_folder:
            goal.absolute().parent.mkdir(parents=True, exist_ok=True)
        draft = make_draft(goal, is_folder=is_folder)
        yield draft
        flush_all(draft)
        give_name(draft, goal, replace=replace)
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


def flush_all(place: Path) -> None:
    """Bring a file, or a folder and everything in it, to the disk."""
    for inside in (*(place.rglob("*") if place.is_dir() else ()), place):
        flush(inside)


def make_private_folder() -> Path:
    """Make a folder below the system's temporary one; those that dead processes left there are removed first."""
    parent = tempfile.gettempdir()
    with _lock:
        if (os.getpid(), parent) not in _swept:
            _swept.add((os.getpid(), parent))
            remove_forsaken(Path(parent))
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            if fcntl is not None:
                # locked before it has its name: whoever finds it by that name cannot be quicker
                handle = os.open(folder / f"{OWNER}.new", os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
                _folders[folder] = os.getpid(), handle
                if take_hold(handle):
                    os.rename(folder / f"{OWNER}.new", folder / OWNER)
        except BaseException:
            remove_private_folder(folder)
            raise
        return folder


def remove_private_folder(folder: Path) -> None:
    """Remove a folder that was made here, also if a signal comes meanwhile; doing so twice is harmless."""
    with _lock:
        remove_whatever_comes(folder)
        _, handle = _folders.pop(folder, (0, None))
        if handle is not None:
            os.close(handle)


@atexit.register
def _remove_folders() -> None:
    """Remove at the end what a signal kept others from removing; a fork leaves its parent's folders alone."""
    for folder, (process, _) in list(_folders.items()):
        if process == os.getpid():
            remove_private_folder(folder)


def remove_whatever_comes(folder: Path) -> None:
    """Remove a folder with all in it; a signal that ends the command in the middle is heeded when that is done."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """Return a private folder for the time of the block."""
    folder = make_private_folder()
    try:
        yield folder
    finally:
        remove_private_folder(folder)


def remove_forsaken(parent: Path) -> int:
    """Remove the private folders of this user whose process is gone, and return how many."""
    try:
        forsaken = [folder for folder in parent.glob(f"{PREFIX}*") if _is_forsaken(folder)]
    except OSError:
        return 0
    for folder in forsaken:
        shutil.rmtree(folder, ignore_errors=True)
    return len(forsaken)


def take_hold(handle: int | None) -> bool:
    """Lock what is open, which the system undoes when the process ends; False on a file system without locks."""
    if fcntl is None or handle is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False


def is_let_go(place: Path) -> bool:
    """Return whether a file or folder of this user is held by no process any more."""
    if fcntl is None:
        return False
    try:
        if place.lstat().st_uid != os.getuid():
            return False
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return take_hold(handle)
    finally:
        os.close(handle)


def _is_forsaken(folder: Path) -> bool:
    """Return whether a folder is one of ours, made by a process of this user that no longer holds it."""
    return not folder.is_symlink() and is_let_go(folder / OWNER)
