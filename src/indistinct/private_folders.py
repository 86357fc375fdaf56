"""Private folders: only this user reads them, and they go with their process, however that ended.

A folder is removed by whoever made it. A process that is killed outright cannot; so each folder holds a file that its
process keeps locked, and the next process removes the folders that nobody holds any more. The system lets go of
the lock of a dead process, and of no other, so nothing is taken away that somebody uses.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows: there nothing is swept
    fcntl = None  # type: ignore[assignment]

PREFIX = "indistinct-"
OWNER = ".owner"
"""The file that is locked as long as the folder is in use."""

_held: dict[Path, tuple[int, int]] = {}
"""The folders that are in use, each with the process that made it and the open file that is locked."""
_swept: set[tuple[int, str]] = set()
_lock = threading.RLock()


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
                _held[folder] = os.getpid(), handle
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
        _, handle = _held.pop(folder, (0, None))
        if handle is not None:
            os.close(handle)


@atexit.register
def _remove_held() -> None:
    """Remove at the end what a signal kept others from removing; a fork leaves its parent's folders alone."""
    for folder, (process, _) in list(_held.items()):
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
    """Give a private folder for the time of the block."""
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
    """Tell whether a file or folder of this user is held by no process any more."""
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
    """Tell whether a folder is one of ours, made by a process of this user that no longer holds it."""
    return not folder.is_symlink() and is_let_go(folder / OWNER)
