"""The manifest: what a release says about itself, without a cell of the private table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import indistinct
from indistinct.errors import TableError
from indistinct.policy import Policy
from indistinct.policy.statement import policy_described, policy_digest
from indistinct.recoding.link_column import TWO_TABLES

MANIFEST = "manifest.json"
"""The file in which a release folder says what it is."""
FORMAT = 1
PARTS = ("quasi", "sensitive")
"""The tables of a release that keeps quasi and sensitive columns apart."""


def manifest(
    policy: Policy,
    *,
    algorithm: str,
    facts: Mapping[str, Any],
    verdict: Mapping[str, Any],
    files: Mapping[str, str],
) -> dict[str, Any]:
    """Give the manifest of a release as JSON takes it; ``verdict`` is what the recount found, as JSON takes it."""
    return {
        "format": FORMAT,
        "made_by": f"indistinct {indistinct.__version__}",
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        **facts,
        "algorithm": algorithm,
        "policy": policy_described(policy),
        "policy_sha256": policy_digest(policy),
        "verdict": dict(verdict),
        "files": dict(files),
    }


def has_manifest(place: object) -> bool:
    """Tell whether this is the path of a release folder."""
    return isinstance(place, str | Path) and (Path(place) / MANIFEST).is_file()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a release folder; raise a TableError if it does not say what one must say."""
    try:
        said: dict[str, Any] = json.loads((folder / MANIFEST).read_text("utf-8"))
        table_files(folder, said)
        numbers = [said[key] for key in ("released", "suppressed", "groups", "smallest_group")]
        levels = [] if said["node"] is None else said["node"].values()
        is_sound = all(type(number) is int for number in (*numbers, *levels))
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        is_sound = False
    if not is_sound:
        raise TableError(f"{folder / MANIFEST} is no manifest of a release; give the table file itself instead")
    return said


def table_files(folder: Path, said: Mapping[str, Any]) -> dict[str, Path]:
    """Give the paths of the tables that a manifest lists: ``table``, or ``quasi`` and ``sensitive``."""
    names = list(said["files"])
    if said.get("form") == TWO_TABLES:
        return {part: folder / name for part, name in zip(PARTS, sorted(names, key=_place_of_part), strict=True)}
    (only,) = names
    return {"table": folder / only}


def _place_of_part(name: str) -> int:
    return PARTS.index(Path(name).stem)


def file_digest(path: Path) -> str:
    """Give the SHA-256 of a file as a manifest states it; of a folder, that of the names and digests of its files."""
    if path.is_dir():
        parts = [(place.relative_to(path).as_posix(), place) for place in path.rglob("*") if place.is_file()]
        listed = "".join(f"{file_digest(place)}  {name}\n" for name, place in sorted(parts))
        return hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
