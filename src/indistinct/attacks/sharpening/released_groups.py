"""ReleasedGroups: what somebody sees who has a release, its groups and what it says about itself, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from indistinct.engine import Rows
from indistinct.errors import PolicyError
from indistinct.policy import Policy
from indistinct.release.released_tables import ReleasedTables

Labels = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class ReleasedGroups:
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
    options: Mapping[str, Any] | None = None
    """Those of the algorithm that are not the usual ones, if the release says so."""
    is_proven: bool = True
    is_of_policy: bool = True
    """The release was made for this policy, as far as it says."""

    @property
    def rows(self) -> int:
        """The number of released rows."""
        return sum(self.sizes)

    @classmethod
    def read(cls, release: Any, policy: Policy, **reading: Any) -> ReleasedGroups:
        """Read a Release, a release folder or a released table of any kind; ``reading`` goes to the engine."""
        released = ReleasedTables.of(release, policy, **reading)
        with released.only_rows() as rows:
            found = _count_groups(rows, policy)
        said = released.said
        if not said:
            return found
        return replace(
            found,
            suppressed=said.get("suppressed", found.suppressed),
            is_local=said.get("node") is None,
            levels=said.get("node"),
            algorithm=said.get("algorithm"),
            options=said.get("options"),
            is_proven=_is_as_promised(said),
            is_of_policy=released.is_of(policy),
        )


def _is_as_promised(said: Mapping[str, Any]) -> bool:
    """Return whether an algorithm came to its own end, on the whole table, so that its answer is what it promises."""
    was_in_fragments = said.get("node") is None and "bottom" in said
    return said.get("is_proven") is not False and not said.get("is_cut_short") and not was_in_fragments


def _count_groups(rows: Rows, policy: Policy) -> ReleasedGroups:
    """Count the groups of a released table; rows that were suppressed and left blank are none."""
    absent = [name for name in policy.quasi if name not in rows.columns()]
    if absent:
        raise PolicyError([f"columns.{name}: the release has no such column" for name in absent])
    sizes = _sizes(rows, policy)
    blank = sizes.pop((None,) * len(policy.quasi), 0) if policy.suppressed_rows == "blank" else 0
    groups = sorted(sizes, key=lambda labels: [(label is None, label or "") for label in labels])
    return ReleasedGroups(policy.quasi, tuple(groups), tuple(sizes[group] for group in groups), blank or None)


def _sizes(rows: Rows, policy: Policy) -> dict[Labels, int]:
    """Return each combination of released quasi cells with the number of its rows."""
    with rows.encode(policy.quasi) as encoded:
        values, found = encoded.values, encoded.count_by(policy.quasi)
    cells = (
        map(values[name].__getitem__, codes.tolist()) for name, codes in zip(policy.quasi, found.codes, strict=True)
    )
    return dict(zip(zip(*cells, strict=True), found.counts.tolist(), strict=True))
