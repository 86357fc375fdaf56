"""Deduction: how many rows of a group lie under each lower label, as far as that follows from what is assumed.

The rows of a group are divided among the labels below its label. What is assumed rules out some divisions; ``limits``
says what those that are left have in common. The rest of this module finds out what is ruled out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from indistinct.attacks.labels import Label, Labels, LabelTree
from indistinct.attacks.sharpening.downcoding_report import Bound, Kind
from indistinct.engine import Rows
from indistinct.errors import PolicyError
from indistinct.policy import Policy
from indistinct.recoding.label_texts import read_label
from indistinct.release.manifest import Facts
from indistinct.release.released_tables import ReleasedTables
from indistinct.showing.words import counted

LOWEST_LABELS, MINIMAL, MINIMAL_ROWS = 1, 2, 3
"""How much is assumed about a local release, each with those before it; 0 is nothing."""

NOTHING: frozenset[Label] = frozenset()


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
    def read(cls, released: ReleasedTables, policy: Policy) -> ReleasedGroups:
        """Read a release of one table."""
        with released.only_rows() as rows:
            found = _count_groups(rows, policy)
        said = released.said
        if not said:
            return found
        return replace(
            found,
            suppressed=said.suppressed,
            is_local=said.node is None,
            levels=said.node,
            algorithm=said.algorithm,
            options=said.options,
            is_proven=_is_as_promised(said),
            is_of_policy=released.is_of(policy),
        )


def _is_as_promised(said: Facts) -> bool:
    """Return whether an algorithm came to its own end, on the whole table, so that its answer is what it promises."""
    was_in_fragments = said.node is None and said.start_node is not None
    return said.is_proven is not False and not said.is_cut_short and not was_in_fragments


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


class Limits(NamedTuple):
    """How many rows lie under each possible lower label, and at most how many under the rarest that occurs."""

    least: int
    most: int
    crowd: int


class Split(NamedTuple):
    """What a label can split into."""

    level: int
    labels: Labels | None
    """The labels below it; None where they cannot be listed."""
    is_cover: bool = False
    """It is a range or a set; these are the values that it names, because they occur."""


class GeneralizedLabel(NamedTuple):
    """A generalized label of a group; it stands for the cells of all its rows."""

    column: int
    group: int
    rows: int
    label: Label
    split: Split


class Deduced(NamedTuple):
    """Something that follows about one column of a group; of the whole table, if there is no group."""

    kind: Kind
    column: int
    group: int | None
    rows: int
    """The rows of the group; for the whole table, those that would stand out one level lower."""
    bounds: tuple[Bound, ...]
    crowd: int
    """Some rows of the group, at least 1 and at most this number, share a lower label that none of the others has."""
    strength: int
    """How much has to be assumed for it."""


def limits(
    rows: int, parts: int | None, k: int, *, splits: bool = False, standing_out: int = 0, all_small: bool = False
) -> Limits | None:
    """Bound the rows under each of ``parts`` lower labels (None: nobody knows how many); None if nothing is possible.

    ``splits`` says that at least two labels occur, ``standing_out`` how many of k or more rows at least have labels
    with fewer than k, and ``all_small`` that every label has fewer than k. All limits are reached.

    >>> limits(6, 2, 3, splits=True)
    Limits(least=1, most=5, crowd=3)
    >>> limits(6, 2, 3, standing_out=1)
    Limits(least=1, most=5, crowd=2)
    >>> limits(6, 3, 3, all_small=True)
    Limits(least=2, most=2, crowd=2)
    """
    if parts is None:
        parts = rows + 1  # of more labels than rows some do not occur, as of any number
    if not standing_out and not all_small:
        if splits and (parts < 2 or rows < 2):
            return None
        return Limits(max(0, rows - (parts - 1) * (rows - splits)), rows - splits, rows // (1 + splits))
    if k == 1 or standing_out > rows:
        return None
    small_ones = -(-standing_out // (k - 1))
    one_is_large = not all_small and small_ones < parts and standing_out <= rows - k
    crowd = min(k - 1, (rows - k) // small_ones) if one_is_large else 0
    needed = -(-rows // (k - 1))
    if needed <= parts:  # then all can be small
        crowd = max(crowd, rows // needed)
    if crowd == 0:
        return None
    most = rows - standing_out if one_is_large else k - 1
    least = max(0, rows - (parts - 1) * most)
    while least + most_standing_out(rows - least, parts - 1, k) < standing_out:
        least += 1
    return Limits(least, most, crowd)


def most_standing_out(rows: int, parts: int | None, k: int) -> int:
    """Return the largest number of rows that can lie under lower labels with fewer than k.

    >>> most_standing_out(6, 2, 3), most_standing_out(6, 3, 3), most_standing_out(6, 1, 3)
    (2, 6, 0)
    """
    return rows if parts is None or rows <= parts * (k - 1) else max(0, parts - 1) * (k - 1)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What somebody knows who has a release and its policy: the groups, what their labels can split into, and k."""

    released: ReleasedGroups
    trees: Sequence[LabelTree]
    splits: Sequence[dict[Label, Split | None]]
    """For each column what its released labels can split into; None for those that are or may be values."""
    is_local: bool
    k: int

    @classmethod
    def of(cls, released: ReleasedGroups, trees: Sequence[LabelTree], k: int) -> Knowledge:
        """Find out what kind of release it is, and what its labels can split into."""
        labels: list[set[Label]] = [set(column) for column in zip(*released.groups, strict=True)]
        labels = labels or [set() for _ in trees]
        common = [_common_levels(tree, found) for tree, found in zip(trees, labels, strict=True)]
        is_local = not all(common) if released.is_local is None else released.is_local
        splits: list[dict[Label, Split | None]] = []
        mistakes = []
        for name, tree, found, levels in zip(released.columns, trees, labels, common, strict=True):
            unknown = sum(not tree.levels_of(label) and not (is_local and _cover(label)) for label in found)
            if unknown:
                mistakes.append(
                    f"column {name!r}: {counted(unknown, 'released label is', 'released labels are')} not in its "
                    "hierarchy; give the policy that the release was made for"
                )
            elif not is_local and not levels:
                mistakes.append(f"column {name!r}: no level has all its released labels, so it is not full-domain")
            elif is_local:
                splits.append({label: _local_split(tree, label) for label in found})
            else:
                said = levels if released.levels is None else frozenset([released.levels[name]])
                splits.append({label: _level_split(tree, label, said) for label in found})
        if mistakes:
            raise PolicyError(mistakes)
        return cls(released, trees, splits, is_local, k)

    def cells(self, column: int) -> Iterator[GeneralizedLabel]:
        """Return the generalized labels of a column, group by group."""
        splits = self.splits[column]
        for group, (labels, rows) in enumerate(zip(self.released.groups, self.released.sizes, strict=True)):
            if (split := splits[labels[column]]) is not None:
                yield GeneralizedLabel(column, group, rows, labels[column], split)

    def deduce(self, strength: int, standing_out: int) -> Iterator[Deduced | None]:
        """Return everything that follows; None for each label that contradicts what is assumed.

        ``strength`` says how much is assumed. ``standing_out`` is the least number of released rows that would stand
        in groups of fewer than k if any column of a full-domain release were one level lower.
        """
        for column in range(len(self.splits)):
            yield from self._local(column, strength) if self.is_local else self._full(column, strength, standing_out)

    def _local(self, column: int, strength: int) -> Iterator[Deduced | None]:
        """Return what follows about each group of a local release.

        "lowest-labels" says that at least two lower labels occur, "minimal" that one of them has fewer than k rows.
        "minimal-rows" says more. In a group of 2k rows or more, any k rows with one lower label could have been
        released under it, with k left; so every lower label has fewer than k. And a group of more than k has no row
        that fits a group which differs by a lower label in this column only: it could have gone there.
        """
        taken = self._labels_beside(column) if strength >= MINIMAL_ROWS else {}
        for cell in self.cells(column):
            excluded = taken.get(cell.group, NOTHING)
            parts = self._number_of_possible(cell, excluded)
            found = self._local_limits(cell, parts, strength)
            if found is None:
                yield None
                continue
            needed = strength
            while needed and not excluded and self._local_limits(cell, parts, needed - 1) == found:
                needed -= 1
            yield from self._conclusions(cell, found, needed, excluded)

    def _local_limits(self, cell: GeneralizedLabel, parts: int | None, strength: int) -> Limits | None:
        """Bound the rows under each of the lower labels that are possible in a group of a local release."""
        if not cell.split.is_cover:
            return limits(
                cell.rows,
                parts,
                self.k,
                splits=strength >= LOWEST_LABELS,
                standing_out=int(strength >= MINIMAL),
                all_small=strength >= MINIMAL_ROWS and cell.rows >= 2 * self.k,
            )
        named = parts or 0
        if strength < LOWEST_LABELS:
            return Limits(0, cell.rows, cell.rows)
        return Limits(1, cell.rows - named + 1, cell.rows // named) if named <= cell.rows else None

    def _labels_beside(self, column: int) -> dict[int, frozenset[Label]]:
        """Return for groups of more than k rows the labels of this column in groups that are otherwise the same."""
        by_rest: dict[Labels, list[int]] = {}
        for group, labels in enumerate(self.released.groups):
            by_rest.setdefault(labels[:column] + labels[column + 1 :], []).append(group)
        beside = {}
        for alike in by_rest.values():
            present = frozenset(self.released.groups[group][column] for group in alike)
            for group in alike:
                if len(alike) > 1 and self.released.sizes[group] > self.k:
                    beside[group] = present - {self.released.groups[group][column]}
        return beside

    def _full(self, column: int, strength: int, standing_out: int) -> Iterator[Deduced | None]:
        """Return what follows about a column of a full-domain release.

        Had it been one level lower, at least ``standing_out`` rows would have stood in groups of fewer than k. Those
        for which the other groups have no room stand in this one.
        """
        cells = list(self.cells(column))
        room = [most_standing_out(cell.rows, self._number_of_possible(cell), self.k) for cell in cells]
        room_to_spare = sum(room) - standing_out
        is_assumed = strength > 0 and bool(cells)
        if is_assumed and room_to_spare < 0:
            yield None
            return
        is_placed = False
        for cell, own_room in zip(cells, room, strict=True):
            here = max(0, own_room - room_to_spare) if is_assumed else 0
            is_placed |= here > 0
            found = limits(cell.rows, self._number_of_possible(cell), self.k, standing_out=here)
            assert found is not None  # there is room for those that stand out here
            yield from self._conclusions(cell, found, int(here > 0))
        if is_assumed and not is_placed:
            yield Deduced("somewhere", column, None, standing_out, (), self.k - 1, strength)

    def _conclusions(
        self, cell: GeneralizedLabel, found: Limits, strength: int, excluded: frozenset[Label] = NOTHING
    ) -> Iterator[Deduced]:
        """Say what limits mean for the labels below a label, if they mean anything."""
        level = cell.split.level - 1
        bounds = []
        if found.least or excluded:
            for lower in cell.split.labels or ():
                if not self._is_possible(cell.column, level, lower, excluded):
                    bounds.append(Bound(lower, 0, 0))
                elif found.least:
                    narrowed = lower if cell.split.is_cover else self._lowest_label(cell.column, level, lower, excluded)
                    bounds.append(Bound(narrowed, found.least, found.most))
        yield from self.conclude(cell, bounds, found.crowd, strength)

    def conclude(self, cell: GeneralizedLabel, bounds: Sequence[Bound], crowd: int, strength: int) -> Iterator[Deduced]:
        """Say what is known of the labels below a label, if it says anything."""
        occurring = [bound for bound in bounds if bound.least]
        crowd = min([crowd, *(bound.most for bound in occurring)])
        kind: Kind
        if len(occurring) == 1 and occurring[0].least == cell.rows:
            if occurring[0].label == cell.label:
                return  # the label only has the same name one level lower
            kind = "certain"
        elif sum(bound.least for bound in occurring) == cell.rows:
            kind = "counted"
        elif any(bound.most < self.k for bound in occurring):
            kind = "named"
        elif occurring:
            kind = "present"
        elif crowd < self.k:
            kind = "crowd"
        elif bounds:
            kind = "absent"
        else:
            return
        yield Deduced(kind, cell.column, cell.group, cell.rows, tuple(bounds), crowd, strength)

    def limits_of(self, cell: GeneralizedLabel, strength: int) -> Limits | None:
        """Bound the rows under each label below a label of a local release, as far as follows from it alone."""
        return self._local_limits(cell, self._number_of_possible(cell), strength)

    def narrow(self, cell: GeneralizedLabel, lower: Label) -> Label:
        """Return the lowest label that stands for the same values as a label below another."""
        return self._lowest_label(cell.column, cell.split.level - 1, lower, NOTHING)

    def _number_of_possible(self, cell: GeneralizedLabel, excluded: frozenset[Label] = NOTHING) -> int | None:
        """Return how many labels below a label are possible; None where they cannot be listed."""
        labels, level = cell.split.labels, cell.split.level - 1
        if labels is None or not excluded:
            return None if labels is None else len(labels)
        return sum(self._is_possible(cell.column, level, lower, excluded) for lower in labels)

    def _is_possible(self, column: int, level: int, label: Label, excluded: frozenset[Label]) -> bool:
        """Return whether neither a label nor everything below it is excluded."""
        if not excluded:
            return True
        tree = self.trees[column]
        if label in excluded and not tree.is_ambiguous(label):
            return False
        below = tree.below(level, label)
        return below is None or any(self._is_possible(column, level - 1, lower, excluded) for lower in below)

    def _lowest_label(self, column: int, level: int, label: Label, excluded: frozenset[Label]) -> Label:
        """Go down from a label as long as only one label is possible below it, and give the last."""
        tree = self.trees[column]
        while level and (below := tree.below(level, label)) is not None:
            possible = [lower for lower in below if self._is_possible(column, level - 1, lower, excluded)]
            if len(possible) != 1:
                break
            level, label = level - 1, possible[0]
        return label


def _levels_of(tree: LabelTree, label: Label) -> frozenset[int]:
    """Return the levels on which a released text can stand; none for a range or a set."""
    levels = tree.levels_of(label)
    return frozenset() if tree.takes_any_text and 0 in levels and _cover(label) else levels


def _common_levels(tree: LabelTree, labels: set[Label]) -> frozenset[int]:
    """Return the levels on which all these labels can stand; a missing cell can stand on any."""
    levels = [_levels_of(tree, label) for label in labels if label is not None]
    return frozenset.intersection(*levels) if levels else frozenset([0])


def _local_split(tree: LabelTree, label: Label) -> Split | None:
    """Return what a label of a local release can split into; None if it is a value, or may be one."""
    levels = _levels_of(tree, label)
    if not levels:
        return _cover(label)
    level = min(levels)
    if label is None or level <= tree.lowest:
        return None
    return Split(level, None if tree.is_ambiguous(label) else tree.below(level, label))


def _level_split(tree: LabelTree, label: Label, levels: frozenset[int]) -> Split | None:
    """Return what a label can split into if its column is on one of these levels; None if it may be a value."""
    if label is None or min(levels, default=0) <= tree.lowest:
        return None
    if len(levels) > 1:
        return Split(min(levels), None)
    (level,) = levels
    return Split(level, tree.below(level, label))


def _cover(label: Label) -> Split | None:
    """Read a range or a set of several values: its ends or members, and a missing value, occur."""
    cover = None if label is None else read_label(label)
    if cover is None:
        return None
    named = (*dict.fromkeys(cover.values), *[None] * cover.or_missing)
    return Split(1, named, is_cover=True) if len(named) > 1 else None
