"""What catalogues of data read of a release: Croissant and RO-Crate, made from its manifest and from nothing else.

Whoever has the manifest can make both files again, so ``verify`` does, and compares them byte by byte: they hold
nothing that the manifest does not say. What they look like is therefore as fixed as the manifest's format.

Sources: Croissant 1.0, mlcommons.org/croissant/1.0; RO-Crate 1.1, w3id.org/ro/crate/1.1.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from indistinct.atomic_files import write_whole
from indistinct.release.alone import records_of
from indistinct.release.manifest import CROISSANT, RO_CRATE, Manifest, read_manifest


def catalogue_records(said: Manifest, folders: Collection[str] = ()) -> dict[str, str]:
    """Return the texts of ``croissant.json`` and ``ro-crate-metadata.json`` that follow from a manifest, by their
    names.

    ``folders`` are the tables that are folders of Parquet files. What a manifest does not state, such as a licence, is
    left out.
    """
    return records_of(said.to_dict(), folders)


def write_metadata(folder: str | os.PathLike[str]) -> list[Path]:
    """Write ``croissant.json`` and ``ro-crate-metadata.json`` into a release folder, and give their paths.

    They follow from the manifest, so they can be added to any release later, also to one that a ledger gave out. What
    stands there under these names is replaced.
    """
    place = Path(folder)
    said = read_manifest(place)
    records = catalogue_records(said, {name for name in said.files if (place / name).is_dir()})
    for name, text in records.items():
        write_whole(place / name, text)
    return [place / name for name in records]


def strange_records(folder: Path, said: Manifest) -> list[str]:
    """Say which records in a release folder are not the ones that follow from its manifest."""
    there = [name for name in (CROISSANT, RO_CRATE) if (folder / name).exists()]
    if not there:
        return []
    try:
        own = catalogue_records(said, {name for name in said.files if (folder / name).is_dir()})
        wrong = [name for name in there if (folder / name).read_bytes() != own[name].encode()]
    except (OSError, KeyError):  # a link to nowhere, or tables that are not those of the files
        wrong = there
    return [f"{name} does not follow from the manifest" for name in wrong]
