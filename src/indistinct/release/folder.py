"""The release folder: the names of its files, their digests, and whether one may be written at a place.

A folder that has a manifest is a release, and is not overwritten unless that is asked for.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from indistinct.errors import OutputError, TableError
from indistinct.release.alone import VERIFIER as VERIFIER
from indistinct.release.alone import verifier_text as verifier_text
from indistinct.release.manifest import MANIFEST as MANIFEST
from indistinct.release.manifest import read_manifest

SIGNATURE = "manifest.json.sig"
"""The Ed25519 signature over the bytes of the manifest, if whoever made a release signed it."""
SIGNATURE_BYTES = 64
CROISSANT, RO_CRATE = "croissant.json", "ro-crate-metadata.json"
"""What catalogues of data read of a release; a folder may hold both."""


def has_manifest(place: object) -> bool:
    """Return whether this is the path of a release folder."""
    return isinstance(place, str | Path) and (Path(place) / MANIFEST).is_file()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file as a manifest states it; of a folder, that of the names and digests of its files."""
    if path.is_dir():
        parts = [(place.relative_to(path).as_posix(), place) for place in path.rglob("*") if place.is_file()]
        listed = "".join(f"{file_digest(place)}  {name}\n" for name, place in sorted(parts))
        return hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_known_verifier(digest: str) -> bool:
    """Return whether a program with this digest is the one of this version."""
    return digest == hashlib.sha256(verifier_text().encode()).hexdigest()


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
    """Return the names of the files that belong to the release in a folder."""
    try:
        said = read_manifest(folder)
        own = {MANIFEST, SIGNATURE, CROISSANT, RO_CRATE, *said.files}
        return own | (set() if said.verifier is None else {VERIFIER})
    except TableError:
        return {MANIFEST, SIGNATURE}
