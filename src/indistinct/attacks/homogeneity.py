"""Homogeneity: what a neighbour learns who knows somebody's quasi-identifier, because the whole group has one value.

k-anonymity hides which row is whose. Where all rows of a group have the same sensitive value, nobody has to know which.

Source: Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, ICDE 2006, section 1.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from indistinct.array_types import BoolArray
from indistinct.attacks.attack import Attack, most_option, option
from indistinct.attacks.attack_report import AttackReport, ReportTable, Severity
from indistinct.attacks.joint_rows import TREE, rows_of_people
from indistinct.attacks.target import OnePolicy, Target, people_notes
from indistinct.counting import IntArray
from indistinct.engine import PROFILE, Encoded, Rows
from indistinct.errors import PolicyError
from indistinct.linkage import distinct_tuples
from indistinct.policy import PSEUDONYM, Policy
from indistinct.privacy import AlphaK
from indistinct.release.forms import LINKED_TABLES, ONE_TABLE, TWO_TABLES, Form
from indistinct.showing.words import cells_in_words, counted

Label = str | None
Unit = Literal["row", "person"]
PLURALS = {"row": "rows", "person": "people"}

ALIKE = "where all rows of a group have one value, so have all its people; other shares are those of rows"
BY_PROFILE = "people are counted, by the pseudonyms: a group is those who have the same rows"

ADVICE = (
    'ask for several values in every group: [[privacy]] model = "l-diversity", l = 2, column = "{column}" in the '
    "policy",
    "if that loses too much, recode the column so that fewer values stand for themselves, or leave it out: "
    '{column} = {{ role = "drop" }}',
    "if only some of its values are a secret, limit those alone, by name: [[privacy]] "
    'model = "alpha-k", alpha = {{ "…" = 0.8 }}, k = 2, column = "{column}"',
    'if it is no secret, say so: {column} = {{ role = "other" }}',
)
"""What to do about a column, in the words of a policy file."""
ADVICE_OF_MANY = (
    "no group has one value alone, so l = 2 is met already; limit the share of each value as well: [[privacy]] "
    'model = "alpha-k", alpha = {alpha}, k = 2, column = "{column}"'
)
"""What to do instead of the first where every group has several values, one of them nearly always."""

MOST_NAMED = 6
"""Columns that a summary names, those first that tell most."""

SCOPE = (
    "Counted are values that a group shares by more than the given share. Not shown is what is sensitive only when "
    "several values or columns are taken together, and what else a neighbour knows."
)


@dataclass(frozen=True, slots=True)
class AlikeGroup:
    """A group whose rows have one sensitive value, nearly all of them or all."""

    also: ClassVar[tuple[str, ...]] = ("sentence",)

    labels: dict[str, Label]
    column: str
    rows: int
    share: float
    """The share of the rows, or people, that have the most frequent value."""
    unit: Unit = "row"
    bits: float = 0.0
    """What it tells beyond the whole release: log2 of that share, divided by the value's share in all."""

    @property
    def sentence(self) -> str:
        """What a neighbour learns, in English; the value itself is not said."""
        how_many = "all have" if self.share == 1 else f"{self.share:.0%} have"
        who = counted(self.rows, self.unit, PLURALS[self.unit])
        return f"Of the {who} with {cells_in_words(self.labels)} {how_many} one and the same {self.column}."


@dataclass(frozen=True, slots=True)
class AlikeColumn:
    """What the groups tell about one sensitive column, in numbers."""

    column: str
    same_groups: int
    same_rows: int
    """Rows of groups in which all have one value."""
    alike_groups: int
    alike_rows: int
    """Rows of groups in which at least the given share has one value."""
    common_rows: int = 0
    """Those of the former in groups in which all have a value that a large share of the whole release has, too, and
    that no model limits by name: belief in it hardly rises."""
    empty_rows: int = 0
    """Those of the others in groups in which all cells are missing: what follows is that nothing was recorded."""
    harmless_rows: int = 0
    """Those of the others in groups that share a value which is no secret by the policy: an (α,k)-model limits some
    values of the column by name, and not this one."""

    exposed_values: int = 0
    """How many different values the exposed groups tell."""
    bits: float = 0.0
    """The most that an exposed group tells beyond the column itself, in bits: log2(1 / share of its value in all)."""

    @property
    def exposed_rows(self) -> int:
        """Rows of groups that share a value which is recorded and a secret, and which nearly all others do not have."""
        return self.same_rows - self.common_rows - self.empty_rows - self.harmless_rows


@dataclass(frozen=True, slots=True)
class HomogeneityReport(AttackReport):
    """How far groups tell the sensitive values of their rows: counts, and released labels."""

    attack: ClassVar[str] = "homogeneity"
    scope: ClassVar[str] = SCOPE

    rows: int
    groups: int
    share: float
    common: float
    """The share of the whole release from which a value is no news of a group."""
    columns: tuple[AlikeColumn, ...]
    findings: tuple[AlikeGroup, ...]
    """The groups that tell most, worst first; no more than were asked for."""
    notes: tuple[str, ...] = ()
    unit: Unit = "row"
    """What is counted: rows, or people by all rows of a pseudonym; then each count of rows is one of people."""

    @property
    def severity(self) -> Severity:
        """Broken if a value that nearly all others do not have is known to whoever knows the quasi-identifier."""
        if any(column.exposed_rows for column in self.columns):
            return "broken"
        return "something" if any(column.alike_rows for column in self.columns) else "nothing"

    @property
    def figures(self) -> Mapping[str, float]:
        """How many stand in groups that share a value."""
        many = PLURALS[self.unit]
        figures: dict[str, float] = {"groups": self.groups}
        for column in self.columns:
            figures[f"{many} that share their {column.column} with their whole group"] = column.same_rows
            figures[f"{many} of groups that nearly all share one {column.column}"] = column.alike_rows
            figures[f"{many} whose {column.column} is exposed by that"] = column.exposed_rows
            figures[f"values of {column.column} exposed"] = column.exposed_values
            figures[f"bits learned of {column.column}, at most"] = column.bits
        return figures

    def tables(self) -> list[ReportTable]:
        """Return the numbers of each sensitive column."""
        many = PLURALS[self.unit]
        numbers = ("groups with one value", f"their {many}", f"groups with {self.share:.0%}", f"{many} of those")
        title = f"{counted(self.rows, self.unit, many)} in {counted(self.groups, 'group')}"
        rows = [(one.column, one.same_groups, one.same_rows, one.alike_groups, one.alike_rows) for one in self.columns]
        return [ReportTable(title, ("sensitive column", *numbers), rows)]

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do where something was found, with the names of the columns that tell most."""
        alike = self._alike()
        names = [column.column for column in alike if column.exposed_rows] or [column.column for column in alike]
        if not names:
            return ()
        also = f" (and so for {', '.join(names[1:MOST_NAMED])})" if len(names) > 1 else ""
        worst = alike[0]
        lines = ADVICE if worst.same_rows else (ADVICE_OF_MANY, *ADVICE[1:])
        first, *rest = (line.format(column=names[0], alpha=f"{max(0.1, self.share - 0.1):.1f}") for line in lines)
        return (first + also, *rest)

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        if not any(column.alike_rows for column in self.columns):
            least = f"{self.share:.0%} of its {PLURALS[self.unit]} or more"
            return f"no group of {self.groups:,} has one sensitive value in {least}"
        alike = self._alike()
        said = [self._sharing_in_words(column) for column in alike[:MOST_NAMED]]
        more = len(alike) - len(said)
        return "; ".join([*said, *([f"and {counted(more, 'more column', 'more columns')}"] if more else [])])

    def _alike(self) -> list[AlikeColumn]:
        """Return the columns of which groups share a value, those first that tell most."""
        return sorted((one for one in self.columns if one.alike_rows), key=lambda one: -one.exposed_rows)

    def _sharing_in_words(self, column: AlikeColumn) -> str:
        """Say of how many groups all have one value, if any do, and of how many nearly all."""
        who = counted(column.same_rows, self.unit, PLURALS[self.unit])
        all_of_some = f"all of {who} in {counted(column.same_groups, 'group')}, and for " if column.same_rows else ""
        nearly = f"at least {self.share:.0%} in {counted(column.alike_groups, 'group')}"
        return f"column {column.column} is the same for {all_of_some}{nearly}{self._in_common(column)}"

    def _in_common(self, column: AlikeColumn) -> str:
        """Say how much of it is what nearly everybody has, or nothing at all."""
        having = {
            f"what at least {self.common:.0%} of the whole release have": column.common_rows,
            "no value": column.empty_rows,
            "a value that the policy does not limit": column.harmless_rows,
        }
        said = [
            f"{'all' if rows == column.same_rows else f'{rows:,}'} of these {PLURALS[self.unit]} have {what}"
            for what, rows in having.items()
            if rows
        ]
        if column.exposed_rows:
            values = counted(column.exposed_values, "value")
            said.append(f"{column.exposed_rows:,} are exposed, by {values} and up to {column.bits:.1f} bits")
        return f" ({', '.join(said)})" if said else ""


@dataclass(frozen=True, slots=True)
class Homogeneity(Attack):
    """Show the groups in which all rows, or nearly all, have the same sensitive value."""

    name: ClassVar[str] = "homogeneity"
    title: ClassVar[str] = "Groups with one sensitive value"
    meaning: ClassVar[str] = (
        "whoever knows that somebody is in such a group learns the sensitive value, without knowing which row is hers"
    )
    held: ClassVar[tuple[str, ...]] = ("the release", "somebody's quasi-identifier, and that they are in the release")
    forms: ClassVar[tuple[Form, ...]] = (ONE_TABLE, TWO_TABLES, LINKED_TABLES)
    roles: ClassVar[tuple[str, ...]] = ("sensitive",)

    share: float = option(
        0.9, "The share of a group's rows with one value that is too large.", float, least=0, largest=1
    )
    common: float = option(
        0.5,
        "The share of all rows with a value from which a group that shares it exposes nobody.",
        float,
        least=0,
        largest=1,
    )
    most: int = most_option("How many groups to describe; all are counted.")

    def __post_init__(self) -> None:
        if not 0 < self.common <= 1:
            raise PolicyError(f"common: must be above 0 and at most 1, got {self.common!r}")
        if not 0 < self.share <= 1:
            raise PolicyError(f"share: must be above 0 and at most 1, got {self.share!r}")

    def attack(self, target: Target) -> HomogeneityReport:
        """Count the groups of each sensitive column, and describe the worst."""
        policy = target.policy
        columns, findings = [], []
        units = groups = 0
        with rows_of_people(target) if target.form.generalizes else target.release.sensitive_rows() as table:
            by_people = policy.links_rows and PSEUDONYM in table.columns()
            unit: Unit = "person" if by_people else "row"
            for found in _by_profiles(table, policy) if by_people else _by_rows(table, target):
                units, groups = int(found.sizes.sum()), len(found.sizes)
                column, worst = self._look_at(found, policy)
                columns.append(column)
                for group in worst:
                    size, largest = int(found.sizes[group]), int(found.largest[group])
                    bits = float(found.bits[group])
                    findings.append(AlikeGroup(found.labels(group), found.column, size, largest / size, unit, bits))
        findings.sort(key=lambda one: (-one.share, -one.rows, -one.bits))
        notes = [BY_PROFILE] if by_people else people_notes(policy)
        notes += [ALIKE] if notes and not by_people else []
        return HomogeneityReport(
            units, groups, self.share, self.common, tuple(columns), tuple(findings[: self.most]), tuple(notes), unit
        )

    def _look_at(self, found: _Shares, policy: Policy) -> tuple[AlikeColumn, list[int]]:
        """Return the numbers of one sensitive column, and the groups that tell most about it."""
        is_alike, is_same = found.largest >= self.share * found.sizes - 1e-9, found.largest == found.sizes
        same, alike = (int(found.sizes[one].sum()) for one in (is_same, is_alike))
        limited = _limited_values(policy, found.column)
        is_secret = found.has_one_of(limited)
        is_harmless = ~is_secret & bool(limited) & ~found.is_missing[found.values]
        is_common = (found.shares >= self.common - 1e-9) & ~is_secret & ~is_harmless
        is_empty = found.is_missing[found.values] & ~is_common
        is_exposed = is_same & ~is_common & ~is_empty & ~is_harmless
        common, empty, harmless = (int(found.sizes[is_same & one].sum()) for one in (is_common, is_empty, is_harmless))
        column = AlikeColumn(
            found.column,
            int(is_same.sum()),
            same,
            int(is_alike.sum()),
            alike,
            common_rows=common,
            empty_rows=empty,
            harmless_rows=harmless,
            exposed_values=len(np.unique(found.values[is_exposed])),
            bits=float(found.bits[is_exposed].max(initial=0.0)),
        )
        return column, found.worst(is_alike & ~is_common & ~is_empty & ~is_harmless)[: self.most]


def homogeneity(
    release: Any, policy: OnePolicy, *, share: float = 0.9, common: float = 0.5, most: int = 20, **reading: Any
) -> HomogeneityReport:
    """Return the groups in which at least a ``share`` of the rows has the same sensitive value.

    ``release`` is a Release, a release folder or a released table of any kind; of two tables the groups are the
    classes. Nobody is exposed by a value that is missing, nor by one that a share of ``common`` of all rows have and
    that no model limits by name. ``most`` groups are described, all are counted. ``reading`` goes to the engine. With
    pseudonyms people are counted: a group is those with the same rows, and somebody has each value that one of her
    rows shows.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, quasi, sensitive
    >>> policy = Policy(columns={"sex": quasi(), "ill": sensitive()}, privacy=[KAnonymity(2)])
    >>> report = homogeneity(pa.table({"sex": [*"ffmmm"], "ill": ["flu", "flu", "cold", "gout", "gout"]}), policy)
    >>> report.columns[0].same_rows, report.findings[0].labels
    (2, {'sex': 'f'})
    """
    return Homogeneity(share, common, most).attack(Homogeneity.target_of(release, policy, **reading))


def _limited_values(policy: Policy, column: str) -> set[str]:
    """Return the values of a column that the policy limits by name: those alone are a secret."""
    models = [model for model in policy.privacy if isinstance(model, AlphaK) and model.column in (column, None)]
    return {value for model in models if not isinstance(model.alpha, float | int) for value in model.alpha}


@dataclass(frozen=True, slots=True)
class _Shares:
    """How many of each group have the value that most of them have."""

    column: str
    sizes: IntArray
    largest: IntArray
    values: IntArray
    """The code of that value."""
    having: IntArray
    """How many of all have each value."""
    texts: Sequence[Label]
    """The value of each code; None for a missing cell."""
    labels: Callable[[int], dict[str, Label]]
    """What the cells of a group are."""

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of all that have the value which most of each group have."""
        found: NDArray[np.float64] = self.having[self.values] / max(1, int(self.sizes.sum()))
        return found

    @property
    def bits(self) -> NDArray[np.float64]:
        """What each group tells of that value beyond its share of all: log2 of how much larger its share there is."""
        times = np.ones(len(self.sizes))  # a group may have no value at all, and tells nothing then
        np.divide(self.largest / self.sizes, self.shares, out=times, where=self.largest > 0)
        found: NDArray[np.float64] = np.log2(np.maximum(times, 1.0))
        return found

    @property
    def is_missing(self) -> BoolArray:
        """Which code stands for a missing cell."""
        return np.array([text is None for text in self.texts], np.bool_)

    def has_one_of(self, some: set[str]) -> BoolArray:
        """Return of each group whether most of it have one of some values."""
        return np.array([text in some for text in self.texts], np.bool_)[self.values]

    def worst(self, is_alike: BoolArray) -> list[int]:
        """Return the groups that are alike, those first that tell most, of most."""
        alike = np.flatnonzero(is_alike)
        order = np.lexsort((alike, -self.sizes[alike], -(self.largest / self.sizes)[alike]))
        return [int(group) for group in alike[order]]


def _by_rows(table: Rows, target: Target) -> Iterator[_Shares]:
    """Count rows: a group has equal quasi cells, or is a class of two tables."""
    sensitive = target.policy.with_role("sensitive")
    quasi = target.form.grouped_by(target.policy.quasi)
    with table.encode([*quasi, *sensitive]) as encoded:
        values = encoded.values
        for name in sensitive:
            found = encoded.count_by([*quasi, name])
            codes = [np.asarray(own, np.int64) for own in found.codes]
            first, number = distinct_tuples(codes[:-1], len(found.counts))
            sizes = np.bincount(number, found.counts).astype(np.int64)
            largest, most = _largest(number, codes[-1], found.counts, len(sizes))
            having = np.bincount(codes[-1], found.counts).astype(np.int64)
            cells = {column: (values[column], codes[place][first]) for place, column in enumerate(quasi)}
            yield _Shares(name, sizes, largest, most, having, values[name], partial(_cells_of, cells))


def _largest(groups: IntArray, values: IntArray, counts: IntArray, number: int) -> tuple[IntArray, IntArray]:
    """Return the count of the most frequent value of each group, and that value's code."""
    largest, most = np.zeros(number, np.int64), np.zeros(number, np.int64)
    np.maximum.at(largest, groups, counts)
    is_most = counts == largest[groups]
    most[groups[is_most]] = values[is_most]
    return largest, most


def _cells_of(cells: Mapping[str, tuple[Sequence[Label], IntArray]], group: int) -> dict[str, Label]:
    """Return the labels of a group by the texts of each column and the code of each group there."""
    return {column: texts[int(codes[group])] for column, (texts, codes) in cells.items()}


def _by_profiles(table: Rows, policy: Policy) -> Iterator[_Shares]:
    """Count people: a group has equal profiles, and somebody has each value that one of her rows shows.

    Rows of linked tables have nothing in the columns of other tables, which is no value.
    """
    sensitive = policy.with_role("sensitive")
    is_joined = TREE in table.columns()
    told_by = (TREE,) if is_joined else policy.quasi
    with (
        table.with_profiles(told_by, (PSEUDONYM,), PROFILE) as profiled,
        profiled.encode([PROFILE, PSEUDONYM, *policy.quasi, *sensitive]) as encoded,
    ):
        values, rows = encoded.values, encoded.count_by([PROFILE, PSEUDONYM, *policy.quasi])

        def labels(group: int) -> dict[str, Label]:
            """Return the cells of all rows of somebody with this profile, one after the other."""
            whose = rows.codes[1][rows.codes[0] == group]
            mine = np.flatnonzero((rows.codes[0] == group) & (rows.codes[1] == whose[0]))
            mine = np.repeat(mine, rows.counts[mine])
            texts = {
                c: [values[c][int(at[row])] for row in mine] for c, at in zip(policy.quasi, rows.codes[2:], strict=True)
            }
            if is_joined:
                texts = {c: [text for text in own if text is not None] or [None] for c, own in texts.items()}
            return {
                c: own[0] if len(own) == 1 else " / ".join("missing" if text is None else text for text in own)
                for c, own in texts.items()
            }

        number = len(values[PROFILE])
        sizes = np.bincount(_distinct([PROFILE, PSEUDONYM], encoded)[0], minlength=number).astype(np.int64)
        for name in sensitive:
            found = _distinct([PROFILE, PSEUDONYM, name], encoded)
            if is_joined:
                found = found[:, [values[name][code] is not None for code in found[2].tolist()]]
            pairs, people = np.unique(found[[0, 2]], axis=1, return_counts=True)
            largest, most = _largest(pairs[0], pairs[1], people.astype(np.int64), number)
            having = np.bincount(pairs[1], people, len(values[name])).astype(np.int64)
            yield _Shares(name, sizes, largest, most, having, values[name], labels)


def _distinct(columns: Sequence[str], encoded: Encoded) -> IntArray:
    """Return the combinations of codes that occur, a row of the array per column."""
    return np.stack([np.asarray(own, np.int64) for own in encoded.count_by(columns).codes])
