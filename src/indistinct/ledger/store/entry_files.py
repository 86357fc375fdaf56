"""The store: a private folder with one folder of files for each entry, staged, flushed and named once.

A folder gets its name before the transaction that refers to it commits, so an entry never refers to files that are not
there. A folder without an entry was left by a writer that was stopped in between; ``Store.sweep`` removes it.

    <store>/.<32 hexadecimal digits>.partial     being written
    <store>/<32 hexadecimal digits>/             written and flushed; an entry may refer to it
    <store>/.<32 hexadecimal digits>.swept       being removed
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indistinct.atomic_files import flush, flush_all, whole_folder
from indistinct.errors import LedgerError, OutputError, VerificationError
from indistinct.ledger.store.entry import PLACE, Entry

RELEASE = "release"
"""The folder inside an entry's folder that holds the release as its recipient got it; all else is private."""
MEMBERS = "members.parquet"
"""The private file of an entry: who was released in which group, by digests of their keys."""
PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
LEFT_OVER_AFTER = 3600.0
"""Seconds after which a folder that no entry refers to was left by a writer that is gone."""

_OWN_NAMES = re.compile(rf"(?P<adopted>{PLACE.pattern})|\.{PLACE.pattern}\.(?:partial|swept)")


@dataclass(frozen=True, slots=True)
class Staged:
    """Files that were written and flushed, with the name that their folder will have."""

    place: str
    digests: dict[str, str]
    """The SHA-256 of each file by its name below the folder, as an entry states it."""


class Files:
    """The folder in which a ledger keeps the files of its entries."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create(self) -> None:
        """Make the folder, readable by its owner only; one that holds something already is refused."""
        try:
            if self.folder.is_dir() and any(self.folder.iterdir()):
                raise LedgerError(f"the store {self.folder} is not empty; name a new folder for it")
            make_private_folder(self.folder)
            self.folder.chmod(PRIVATE_FOLDER)
        except OSError as error:
            raise LedgerError(f"cannot make the store {self.folder}: {error.strerror or error}") from None

    def stage(self, write: Callable[[Path], Any]) -> Staged:
        """Have files written into a private folder of the store and bring them to the disk.

        ``write`` gets the folder. Nothing is left behind if it raises.
        """
        place = secrets.token_hex(16)
        folder = self._partial(place)
        try:
            folder.mkdir(PRIVATE_FOLDER)
            write(folder)
            return Staged(place, _flush_and_digest(folder))
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise LedgerError(f"cannot write to the store {self.folder}: {error.strerror or error}") from None
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def adopt(self, staged: Staged) -> None:
        """Return staged files their name in the store, for good; an entry may refer to it from now on."""
        try:
            os.utime(self._partial(staged.place))  # the time after which they count as left over begins now
            os.rename(self._partial(staged.place), self.folder / staged.place)
            flush(self.folder)
        except OSError as error:
            shutil.rmtree(self._partial(staged.place), ignore_errors=True)
            raise LedgerError(f"cannot write to the store {self.folder}: {error.strerror or error}") from None

    def holds(self, place: str) -> bool:
        """Return whether a folder of this name was adopted."""
        return PLACE.fullmatch(place) is not None and (self.folder / place).is_dir()

    def path(self, entry: Entry, name: str) -> Path:
        """Return the path of one file of an entry after comparing it with its digest.

        Raises a VerificationError if the file is gone or is not the one that the entry was made with.
        """
        if name not in entry.files:
            raise LedgerError(f"entry {entry.number} has no file {name!r}")
        if wrong := self._wrong(entry, name):
            raise VerificationError(f"entry {entry.number}: {wrong}")
        return self.folder / entry.place / name

    def findings(self, entry: Entry) -> list[str]:
        """Return what is wrong with the stored files of an entry: missing, changed, or there without being named."""
        if not self.holds(entry.place):
            return ["its files are missing"]
        folder = self.folder / entry.place
        if links := _links(folder):
            return [f"{name!r} is a link to another place" for name in links]
        beside = sorted(_names(folder) - set(entry.files))
        return [wrong for name in entry.files if (wrong := self._wrong(entry, name))] + [
            f"{name!r} does not belong to it" for name in beside
        ]

    def export(self, entry: Entry, goal: Path) -> Path:
        """Write the stored release as a folder of its own, whole or not at all; the private files stay in the store.

        A folder that holds something already is refused.
        """
        from indistinct.release.manifest import refuse_occupied

        if goal.is_dir() and any(goal.iterdir()):
            raise OutputError(f"{goal} is not empty; name a new folder for the release")
        refuse_occupied(goal)
        names = [name for name in entry.files if name.startswith(f"{RELEASE}/")]
        if not names:
            raise LedgerError(f"entry {entry.number} holds no release that could be written")
        paths = {name: self.path(entry, name) for name in names}
        with whole_folder(goal) as staging:
            for name, path in paths.items():
                copy = staging / name.removeprefix(f"{RELEASE}/")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
                if _digest(copy) != entry.files[name]:
                    raise VerificationError(f"entry {entry.number}: {name!r} changed while it was copied")
            staging.chmod(0o755)
        return goal

    def left_over(self, places: Iterable[str], older_than: float = LEFT_OVER_AFTER) -> list[Path]:
        """Return the folders that none of these places names and nobody has touched for ``older_than`` seconds."""
        named = set(places)
        before = time.time() - older_than
        found = []
        with os.scandir(self.folder) as inside:
            for item in inside:
                own = _OWN_NAMES.fullmatch(item.name)
                if own is None or own["adopted"] in named:
                    continue
                try:
                    is_old = item.stat(follow_symlinks=False).st_mtime <= before
                except FileNotFoundError:
                    continue  # adopted or removed in the meantime
                if is_old:
                    found.append(Path(item.path))
        return found

    def links(self) -> list[str]:
        """Return what of the store is a link to another place: the folder itself, and what lies in it by its name."""
        own = [str(self.folder)] if self.folder.is_symlink() else []
        with os.scandir(self.folder) as inside:
            return own + sorted(repr(item.name) for item in inside if item.is_symlink())

    def put_aside(self, folder: Path) -> Path:
        """Take the name from a folder that was left over, so that no entry can come to refer to it."""
        aside = self.folder / f".{secrets.token_hex(16)}.swept"
        os.rename(folder, aside)
        return aside

    def _partial(self, place: str) -> Path:
        return self.folder / f".{place}.partial"

    def _wrong(self, entry: Entry, name: str) -> str | None:
        """Say what is wrong with one stored file, or None."""
        if not self.holds(entry.place):
            return "its files are missing"
        try:
            if (self.folder / entry.place).is_symlink() or (self.folder / entry.place / name).is_symlink():
                return f"{name!r} is a link to another place"
            is_same = _digest(self.folder / entry.place / name) == entry.files[name]
        except FileNotFoundError:
            return f"{name!r} is missing"
        except OSError as error:
            return f"{name!r} cannot be read: {error.strerror or error}"
        except ValueError:
            return f"{name!r} is the name of no file"
        return None if is_same else f"{name!r} was changed"


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, readable by their owner only."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir(PRIVATE_FOLDER, exist_ok=True)
        flush(place.parent)


def _flush_and_digest(folder: Path) -> dict[str, str]:
    """Make files private, bring them and their folders to the disk, and give the digest of each."""
    names = sorted(_names(folder))
    for name in names:
        (folder / name).chmod(PRIVATE_FILE)
    digests = {name: _digest(folder / name) for name in names}
    flush_all(folder)
    return digests


def _names(folder: Path) -> set[str]:
    """Return the names of all files below a folder, with ``/``."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def _links(folder: Path) -> list[str]:
    """Return the names of all links in a folder, and of the folder if it is one: what they lead to can be exchanged."""
    if folder.is_symlink():
        return [folder.name]
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
