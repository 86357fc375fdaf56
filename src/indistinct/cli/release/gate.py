"""``indistinct gate``: fails if one of the releases at some paths does not verify; for CI and pre-commit."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, NamedRecipient, argument, option
from indistinct.cli.paths import policy_of_recipient
from indistinct.errors import IndistinctError, TableError, VerificationError
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.policy import Policy

RELEASED = ("table", "quasi", "sensitive")
"""What the tables of a release are called: where one lies, there must be a manifest. A policy may name others."""


def gate(
    paths: Annotated[
        list[Path],
        argument("PATH...", "Folders, in which every release is looked for, or files, whose release is meant."),
    ],
    policy_path: Annotated[
        Path | None, option("The policy that each of them must be made for and satisfy.", "--policy", metavar="FILE")
    ] = None,
    recipient: NamedRecipient = None,
    as_json: AsJson = False,
) -> None:
    """Verify every release at some paths, and fail if one does not hold what it promises.

    A policy whose context enforces a threshold also fails a release whose risk is above it. For CI and pre-commit:
    files that belong to no release are passed over; a folder without any release is a mistake.
    Exit code 4 says that a release failed.
    """
    policy = None if policy_path is None else policy_of_recipient(policy_path, recipient)
    names = {*RELEASED, *(() if policy is None else policy.parts)}
    found = {folder: _why_it_fails(folder, policy) for folder in _release_folders(paths, names)}
    failed = {str(folder): why for folder, why in found.items() if why is not None}
    if as_json:
        show.document({"releases": [str(folder) for folder in found], "failed": failed})
    else:
        for folder, why in found.items():
            if why is None:
                show.say(f"verified: {folder}", show.GOOD)
            else:
                show.say(f"FAILED: {folder}: {why}", show.BAD)
        show.say(f"{counted(len(found), 'release')}, {len(failed)} failed" if found else "no release at these paths")
    if failed:
        raise typer.Exit(VerificationError.exit_code)


def _why_it_fails(folder: Path, policy: Policy | None) -> str | None:
    """Say in one line what does not hold of a release; None if all does."""
    from indistinct.pipeline.stages import risk_if_enforced
    from indistinct.proof.verdict import verify
    from indistinct.release.manifest import MANIFEST, has_manifest

    if not has_manifest(folder):
        return f"there are tables of a release, and no {MANIFEST}"
    try:
        verdict = verify(folder, policy)
        risk = risk_if_enforced(folder, policy) if verdict.passed else None
    except IndistinctError as error:
        return str(error)
    if risk is not None and risk.is_above:
        return risk.sentence
    return (
        None if verdict.passed else "; ".join(f"{one.name}: {one.detail}" for one in verdict.checks if not one.passed)
    )


def _release_folders(paths: Sequence[Path], names: Collection[str]) -> list[Path]:
    """Return the folders of the releases that are meant, whose tables have these names, in the order of theirs."""
    found: set[Path] = set()
    for path in paths:
        if path.is_dir() and not _release_around(path, names):
            below = set(_releases_below(path, names))
            if not below:
                raise TableError(f"{path} holds no release; name a folder that anonymize wrote, or one that holds some")
            found |= below
        else:
            found |= set(_release_around(path, names))
    return sorted(found)


def _releases_below(folder: Path, tables: Collection[str]) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if _is_release(names + folders, tables):
            folders.clear()  # what lies in a release is part of it
            yield Path(place)


def _release_around(path: Path, tables: Collection[str]) -> list[Path]:
    """Return the release that a path is in; a file that is gone may have left one without its manifest."""
    for place in (path, *path.parents):
        if place.is_dir() and _is_release([one.name for one in place.iterdir()], tables):
            return [place]
    return []


def _is_release(names: Sequence[str], tables: Collection[str]) -> bool:
    from indistinct.engine.formats import FORMATS, load_format
    from indistinct.release.manifest import MANIFEST

    suffixes = {suffix for kind in FORMATS for suffix in load_format(kind).suffixes}
    return MANIFEST in names or any(Path(name).stem in tables and Path(name).suffix in suffixes for name in names)
