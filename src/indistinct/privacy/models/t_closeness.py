"""t-closeness: the sensitive values of every group are spread nearly as in the whole table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

from indistinct.array_types import Array, BoolArray, FloatArray, IntArray, np
from indistinct.counting import Groups, Tally
from indistinct.errors import PolicyError
from indistinct.hierarchy import CompiledHierarchy, Texts, read_number
from indistinct.privacy.model import (
    TOLERANCE,
    PrivacyModel,
    ValueRule,
    check_choice,
    check_share,
    counts_of_groups,
    spread_of_groups,
    spread_of_table,
)


@dataclass(frozen=True, slots=True)
class TCloseness(PrivacyModel):
    """The earth mover's distance between a group's sensitive values and the table's is at most ``t``.

    ``equal``         all values are equally far apart: half the sum of the differences of shares
    ``ordered``       values are numbers or dates, and as far apart as their ranks among those of the table
    ``hierarchical``  values are as far apart as the level at which the column's hierarchy joins them

    Merging satisfied groups gives a satisfied one. The table is what is released: suppressed rows do not count.

    Source: Li, Li and Venkatasubramanian 2007, sections 4.1 and 4.2.
    """

    name: ClassVar[str] = "t-closeness"
    title: ClassVar[str] = "Groups look like the whole table, up to t"
    sentence: ClassVar[str] = (
        "The sensitive values of every group are spread as in the whole table, within a distance of {t}."
    )
    usual: ClassVar[Mapping[str, float]] = {"t": 0.3}
    is_monotone_unsuppressed: ClassVar[bool] = True
    asks_sensitive: ClassVar[bool] = True
    asks_whole_table: ClassVar[bool] = True

    t: float
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    column: str | None = None
    on: str | None = None

    def __post_init__(self) -> None:
        check_share("t", self.t)
        check_choice("distance", self.distance, ("equal", "ordered", "hierarchical"))

    def satisfied(self, groups: Groups) -> BoolArray:
        """Return which groups are close to the whole table in every sensitive column that is asked about."""
        close = np.ones(len(groups), np.bool_)
        for column, tally in self.tallies(groups):
            close &= self.distances(column, tally, groups) <= self.t + TOLERANCE
        verdict: BoolArray = close | (groups.sizes == 0)
        return verdict

    def distances(self, column: str, tally: Tally, groups: Groups) -> FloatArray:
        """Return the distance of each group's values in a column from the table's."""
        if self.distance == "ordered":
            return _along_the_order(tally, groups, _ranks(column, tally))
        if self.distance == "hierarchical":
            return _up_the_hierarchy(column, tally, groups)
        gains = np.maximum(spread_of_groups(tally, groups) - spread_of_table(tally)[tally.values], 0.0)
        return _sums(tally.groups, gains, len(groups))  # what is gained here is lost elsewhere

    def value_rule(self, texts: Texts, hierarchy: CompiledHierarchy | None = None) -> ValueRule | None:
        """Say it by labels: the distance up a hierarchy is that of the labels on each level below the top, on average.

        Values are joined through as many steps up as down, so each label below the top is passed by what it has too
        much or too little, and a step counts half of 1 / height. Columns without what a distance needs are refused by
        ``satisfied``, which says so.
        """
        if self.distance == "equal":
            return ValueRule("close", self.t, 1.0)
        if self.distance == "ordered":
            ranks = _ranks_of_all(tuple(texts), hierarchy)
            return None if (ranks < 0).any() else ValueRule("ordered", self.t, codes=ranks[None, :])
        if hierarchy is None or len(hierarchy.labels[hierarchy.height]) != 1:
            return None
        first = np.cumsum([0, *map(len, hierarchy.labels)])
        codes = [hierarchy.maps[level] + first[level] for level in range(hierarchy.height)]
        return ValueRule("close", self.t, float(hierarchy.height), codes=np.stack(codes).astype(np.int64))


def _along_the_order(tally: Tally, groups: Groups, ranks: IntArray) -> FloatArray:
    """Return the distance of each group where values are as far apart as their ranks.

    It is the area between two cumulative distributions, over the number of steps. A group's distribution is constant
    between the values that it has, and the table's rises, so the two cross at most once there.
    """
    number = int(ranks.max(initial=-1)) + 1
    of_table = _sums(ranks[ranks >= 0], tally.totals[ranks >= 0], number).cumsum() / max(1, int(tally.totals.sum()))
    area = np.concatenate([[0.0], of_table.cumsum()])

    order = np.lexsort((ranks[tally.values], tally.groups))
    in_group, counts, start = tally.groups[order], tally.counts[order], ranks[tally.values[order]]
    first = np.searchsorted(in_group, in_group)
    is_first = first == np.arange(len(first))
    end = np.where(np.roll(is_first, -1), number, np.roll(start, -1))
    rows = counts.cumsum()
    height = (rows - (rows - counts)[first]) / counts_of_groups(tally, groups)[in_group]
    cross = np.clip(np.searchsorted(of_table, height), start, end)
    between = height * (2 * cross - start - end) + area[start] + area[end] - 2 * area[cross]
    between += np.where(is_first, area[start], 0.0)  # what lies before a group's first value
    return _sums(in_group, between, len(groups)) / max(1, number - 1)


def _up_the_hierarchy(column: str, tally: Tally, groups: Groups) -> FloatArray:
    """Return the distance of each group where values are as far apart as the level that joins them.

    Shares are moved as low as possible: under each label, what some of its children have too much goes to others that
    have too little, and only what is left goes up.
    """
    if tally.hierarchy is None:
        raise PolicyError(
            f"column {column!r}: t-closeness by hierarchical distance needs a hierarchy of this sensitive column, "
            "such as sensitive(tree(…))"
        )
    hierarchy = tally.hierarchy
    in_group, labels = tally.groups, tally.values
    shares, whole = spread_of_groups(tally, groups), spread_of_table(tally)
    work = np.zeros(len(groups))
    for level in range(1, hierarchy.height + 1):
        parents, number = hierarchy.step(level - 1), len(hierarchy.labels[level])
        found, where = np.unique(in_group * number + parents[labels], return_inverse=True)
        too_much = _sums(where, np.maximum(shares - whole[labels], 0.0), len(found))
        shares, whole = _sums(where, shares, len(found)), _sums(parents, whole, number)
        in_group, labels = np.divmod(found, number)
        too_little = too_much - (shares - whole[labels])
        work += _sums(in_group, np.minimum(too_much, too_little), len(groups)) * level / hierarchy.height
    return work


def _sums(codes: IntArray, numbers: Array, length: int) -> FloatArray:
    return np.bincount(codes, numbers, length).astype(np.float64)


def _ranks(column: str, tally: Tally) -> IntArray:
    """Return the rank of each value of the table by its number or date, a missing one last; -1 for one it lacks.

    Values that are not released have no rank, so that the verdict is the same where nobody knows of them.
    """
    of_all, is_released = _ranks_of_all(tally.texts, tally.hierarchy), tally.totals > 0
    if (of_all[is_released] < 0).any():
        raise PolicyError(
            f"column {column!r}: t-closeness by ordered distance needs numbers, or a hierarchy of dates, in this "
            "sensitive column; use distance = 'equal' or 'hierarchical'"
        )
    ranks = np.full(len(of_all), -1, np.int64)
    ranks[is_released] = np.unique(of_all[is_released], return_inverse=True)[1]
    return ranks


@lru_cache(maxsize=4)  # a search asks at every node
def _ranks_of_all(texts: tuple[str | None, ...], hierarchy: CompiledHierarchy | None) -> IntArray:
    """Return the rank of each text by its number or date, a missing one last; -1 for one that is neither."""
    if hierarchy is None:
        keys: list[Any] = [None if text is None else read_number(text) for text in texts]
    else:
        keys = hierarchy.sort_keys(texts) or [None] * len(texts)
    rank_of = {key: rank for rank, key in enumerate(sorted({key for key in keys if key is not None}))}
    otherwise = [len(rank_of) if text is None else -1 for text in texts]
    return np.array([rank_of.get(key, other) for key, other in zip(keys, otherwise, strict=True)], np.int64)
