"""Released: what somebody sees who has a release, its groups and what it says about itself, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from indistinct.engine import Rows, open_table
from indistinct.errors import PolicyError, TableError
from indistinct.policy import Policy
from indistinct.policy.statement import policy_digest
from indistinct.release import MANIFEST, Release
from indistinct.showing.words import counted

Labels = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Released:
    """The groups of a released table, and what its manifest says, as far as there is one."""

    columns: tuple[str, ...]
    groups: tuple[Labels, ...]
    """The cells of each group in the quasi columns; no two are the same."""
    sizes: tuple[int, ...]
    suppressed: int | None = None
    is_local: bool | None = None
    """Groups have labels of their own; None if the release does not say."""
    levels: Mapping[str, int] | None = None
    """The level of each column of a full-domain release, if it says so."""
    algorithm: str | None = None
    is_proven: bool = True
    is_of_policy: bool = True
    """The release was made for this policy, as far as it says."""

    @property
    def rows(self) -> int:
        """The number of released rows."""
        return sum(self.sizes)

    @classmethod
    def read(cls, release: Any, policy: Policy, **reading: Any) -> Released:
        """Read a Release, a release folder or a released table of any kind; ``reading`` goes to the engine."""
        if isinstance(release, Release):
            said = {**release.facts, "algorithm": release.algorithm}
            return _with_facts(_counted(release.table, policy, **reading), said)
        if isinstance(release, str | Path) and (Path(release) / MANIFEST).is_file():
            path, said = read_manifest(Path(release))
            reading |= {"delimiter": said.get("delimiter"), "encoding": None}
            found = _with_facts(_counted(path, policy, **reading), said)
            return replace(found, is_of_policy=said.get("policy_sha256") == policy_digest(policy))
        return _counted(release, policy, **reading)


@contextmanager
def quasi_rows(release: Any, **reading: Any) -> Iterator[tuple[Rows, bool]]:
    """Give the released rows with quasi columns for the time of the block, and whether sensitive ones stand apart.

    ``release`` is a Release, a release folder, ``{"quasi": …, "sensitive": …}`` or a released table of any kind.
    """
    if isinstance(release, Release):
        release = release.tables
    elif isinstance(release, str | Path) and (Path(release) / MANIFEST).is_file():
        paths, said = list_tables(Path(release))
        reading |= {"delimiter": said.get("delimiter"), "encoding": None}
        release = {path.stem: path for path in paths} if len(paths) > 1 else {"table": paths[0]}
    elif not isinstance(release, Mapping):
        release = {"table": release}
    is_apart = "quasi" in release
    table = release["quasi"] if is_apart else release["table"]
    rows = open_table(table, **reading)
    try:
        yield rows, is_apart
    finally:
        if rows is not table:
            rows.close()


def _counted(table: Any, policy: Policy, **reading: Any) -> Released:
    """Count the groups of a released table; rows that were suppressed and left blank are none."""
    rows = open_table(table, **reading)
    try:
        absent = [name for name in policy.quasi if name not in rows.columns()]
        if absent:
            raise PolicyError([f"columns.{name}: the release has no such column" for name in absent])
        sizes = _sizes(rows, policy)
    finally:
        if rows is not table:
            rows.close()
    blank = sizes.pop((None,) * len(policy.quasi), 0) if policy.suppressed_rows == "blank" else 0
    groups = sorted(sizes, key=lambda labels: [(label is None, label or "") for label in labels])
    return Released(policy.quasi, tuple(groups), tuple(sizes[group] for group in groups), blank or None)


def _sizes(rows: Rows, policy: Policy) -> dict[Labels, int]:
    """Give each combination of released quasi cells with the number of its rows."""
    values = rows.encode(policy.quasi)
    found = rows.count_by(policy.quasi)
    cells = (
        map(values[name].__getitem__, codes.tolist()) for name, codes in zip(policy.quasi, found.codes, strict=True)
    )
    return dict(zip(zip(*cells, strict=True), found.counts.tolist(), strict=True))


def _with_facts(released: Released, said: Mapping[str, Any]) -> Released:
    """Add what a release says about itself."""
    levels = said.get("node")
    return replace(
        released,
        suppressed=said.get("suppressed", released.suppressed),
        is_local=levels is None,
        levels=levels,
        algorithm=said.get("algorithm"),
        is_proven=_is_as_promised(said),
    )


def _is_as_promised(said: Mapping[str, Any]) -> bool:
    """Tell whether an algorithm came to its own end, on the whole table, so that its answer is what it promises."""
    was_in_fragments = said.get("node") is None and "bottom" in said
    return said.get("is_proven") is not False and not said.get("is_cut_short") and not was_in_fragments


def read_manifest(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Give the path of a release's only table, and its manifest."""
    paths, manifest = list_tables(folder)
    if len(paths) != 1:
        raise TableError(
            f"{folder} holds {counted(len(paths), 'table')}; only a release of one table has generalized cells"
        )
    return paths[0], manifest


def list_tables(folder: Path) -> tuple[list[Path], dict[str, Any]]:
    """Give the paths of the tables that a release's manifest lists, and the manifest."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        names = list(manifest["files"])
    except (OSError, ValueError, KeyError, TypeError):
        raise TableError(f"{folder / MANIFEST} is no manifest of a release; give the table file itself") from None
    for name in names:
        if Path(name).name != name or not (folder / name).is_file():
            raise TableError(f"{folder}: the manifest's table {name!r} is not there")
    return [folder / name for name in names], manifest
