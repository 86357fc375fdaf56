"""A release in an object store, such as S3: its manifest is written last, and what has none is no release.

A store cannot give many files their names at once. So the release is written and verified on this machine, each file is
sent and read back, byte by byte what was verified, and the manifest comes when all others are there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from indistinct.atomic_files import make_private_folder, remove_private_folder
from indistinct.errors import OutputError
from indistinct.release.manifest import MANIFEST

STORE = re.compile(r"(s3|gs|gcs|abfss?|hdfs|file)://")
BLOCK = 1 << 22


def is_store(place: str) -> bool:
    """Return whether a place is one in an object store, or another file system that Arrow writes to.

    >>> is_store("s3://bucket/release"), is_store("research.visits")
    (True, False)
    """
    return STORE.match(place) is not None


def send_release(write: Callable[[Path], object], place: str, *, replace: bool) -> str:
    """Have a release written to a private folder, send it to a place of a store, and return the place without keys."""
    parts = urlsplit(place)
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")
    import pyarrow.fs

    folder = make_private_folder()
    try:
        store, root = pyarrow.fs.FileSystem.from_uri(place)
        root = root.rstrip("/")
        there = _files_in(store, root)
        if there and not (replace and MANIFEST in there):
            raise OutputError(f"{shown} is not empty; name another place, or, where it holds a release, say replace")
        write(folder / "release")
        files = {path.relative_to(folder / "release").as_posix(): path for path in _files_of(folder / "release")}
        if MANIFEST in there:
            store.delete_file(f"{root}/{MANIFEST}")  # from here on it is no release
        try:
            for name in sorted(files, key=lambda name: name == MANIFEST):
                if name == MANIFEST:
                    for left in there - files.keys():
                        store.delete_file(f"{root}/{left}")
                _send(store, files[name], f"{root}/{name}")
        except BaseException:
            for name in files:
                with suppress(OSError):
                    store.delete_file(f"{root}/{name}")
            raise
    except (OSError, ValueError) as error:
        raise OutputError(
            f"{shown}: cannot be written to ({type(error).__name__}); see the address and the keys. "
            "No release stands there, nor one that was to be replaced once files were sent"
        ) from None
    finally:
        remove_private_folder(folder)
    return shown


def _files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _files_in(store: Any, root: str) -> set[str]:
    """Return the names of the files at a place of a store."""
    import pyarrow.fs

    found = store.get_file_info(pyarrow.fs.FileSelector(root, recursive=True, allow_not_found=True))
    return {one.path[len(root) + 1 :] for one in found if one.type == pyarrow.fs.FileType.File}


def _send(store: Any, path: Path, goal: str) -> None:
    """Send a file, and raise unless the store gives the same bytes back."""
    with suppress(NotImplementedError):
        store.create_dir(goal.rpartition("/")[0], recursive=True)
    with path.open("rb") as file, store.open_output_stream(goal) as sent:
        while block := file.read(BLOCK):
            sent.write(block)
    with path.open("rb") as file, store.open_input_stream(goal) as found:
        while block := file.read(BLOCK):
            if found.read(len(block)) != block:
                raise OSError("other bytes came back")
        if found.read(1):
            raise OSError("more bytes came back")
