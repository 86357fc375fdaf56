"""Opening: the released table of whatever somebody holds, what it says about itself, and what to call it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from indistinct.attacks.released import list_tables, read_manifest
from indistinct.engine import Rows, open_table
from indistinct.errors import PolicyError
from indistinct.policy import Policy
from indistinct.release import MANIFEST, Release


@contextmanager
def opened(release: Any, **reading: Any) -> Iterator[tuple[Rows, Mapping[str, Any]]]:
    """Give the rows of a Release, a release folder or a released table of any kind, and what it says of itself."""
    said: Mapping[str, Any] = {}
    table = release
    if isinstance(release, Release):
        said, table = {**release.facts, "algorithm": release.algorithm}, release.table
    elif isinstance(release, str | Path) and (Path(release) / MANIFEST).is_file():
        table, said = read_manifest(Path(release))
        reading = {**reading, "delimiter": said.get("delimiter"), "encoding": None}
    rows = open_table(table, **reading)
    try:
        yield rows, said
    finally:
        if rows is not table:
            rows.close()


def holds_two_tables(release: Any) -> bool:
    """Tell whether a release keeps sensitive values in a table of their own."""
    if isinstance(release, Release):
        return len(release.tables) > 1
    if isinstance(release, str | Path) and (Path(release) / MANIFEST).is_file():
        return len(list_tables(Path(release))[0]) > 1
    return isinstance(release, Mapping)


def named(releases: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """Give releases with their names: those that they were given, those of their files, or numbers."""
    if isinstance(releases, Mapping):
        return dict(releases)
    if isinstance(releases, str | Path):
        raise PolicyError("releases: give several, earliest first")
    names = [
        Path(release).name if isinstance(release, str | Path) else f"release {number}"
        for number, release in enumerate(releases, 1)
    ]
    if len(set(names)) < len(names):
        names = [f"release {number}" for number in range(1, len(names) + 1)]
    return dict(zip(names, releases, strict=True))


def policy_of_each(policies: Policy | Sequence[Policy], number: int) -> list[Policy]:
    """Give a policy for each release: the same for all, or one each."""
    if isinstance(policies, Policy):
        return [policies] * number
    if len(policies) != number:
        raise PolicyError(f"policies: {len(policies)} for {number} releases; give one for all, or one for each")
    return list(policies)
