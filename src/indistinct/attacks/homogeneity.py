"""Homogeneity: what a neighbour learns who knows somebody's quasi-identifier, because the whole group has one value.

k-anonymity hides which row is whose. Where all rows of a group have the same sensitive value, nobody has to know which.

Source: Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, ICDE 2006, section 1.1.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from indistinct.attacks.people_notes import ALIKE, BY_PROFILE, people_notes
from indistinct.errors import PolicyError
from indistinct.showing.words import cells_in_words, counted

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from indistinct.counting import IntArray
    from indistinct.engine import Rows
    from indistinct.policy import Policy
    from indistinct.privacy.model import BoolArray

Label = str | None
Unit = Literal["row", "person"]
PLURALS = {"row": "rows", "person": "people"}

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

    labels: dict[str, Label]
    column: str
    rows: int
    share: float
    """The share of the rows, or people, that have the most frequent value."""
    unit: Unit = "row"

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
    """Those of the former in groups in which all have the value that so large a share of the whole release has, too:
    no release could hide that, and a group tells little beyond it."""
    empty_rows: int = 0
    """Those of the others in groups in which all cells are missing: what follows is that nothing was recorded."""
    harmless_rows: int = 0
    """Those of the others in groups that share a value which is no secret by the policy: an (α,k)-model limits some
    values of the column by name, and not this one."""

    @property
    def exposed_rows(self) -> int:
        """Rows of groups that share a value which is recorded and a secret, and which nearly all others do not have."""
        return self.same_rows - self.common_rows - self.empty_rows - self.harmless_rows


@dataclass(frozen=True, slots=True)
class HomogeneityReport:
    """How far groups tell the sensitive values of their rows: counts, and released labels."""

    scope: ClassVar[str] = SCOPE
    """What was looked for, and what was not."""

    rows: int
    groups: int
    share: float
    columns: tuple[AlikeColumn, ...]
    findings: tuple[AlikeGroup, ...]
    """The groups that tell most, worst first; no more than were asked for."""
    notes: tuple[str, ...] = ()
    unit: Unit = "row"
    """What is counted: rows, or people by all rows of a pseudonym; then each count of rows is one of people."""

    @property
    def is_broken(self) -> bool:
        """Somebody's sensitive value is known to whoever knows the quasi-identifier, and nearly all have another."""
        return any(column.exposed_rows for column in self.columns)

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
        return f"{column.column} is the same for {all_of_some}{nearly}{self._in_common(column)}"

    def _in_common(self, column: AlikeColumn) -> str:
        """Say how much of it is what nearly everybody has, or nothing at all."""
        having = {
            f"what {self.share:.0%} of the whole release have": column.common_rows,
            "no value": column.empty_rows,
            "a value that the policy does not limit": column.harmless_rows,
        }
        said = [
            f"{'all' if rows == column.same_rows else f'{rows:,}'} of these {PLURALS[self.unit]} have {what}"
            for what, rows in having.items()
            if rows
        ]
        return f" ({', '.join(said)})" if said else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON takes it."""
        said = {"unit"} if self.unit == "row" else set()
        findings = [
            {key: value for key, value in asdict(one).items() if key not in said} | {"sentence": one.sentence}
            for one in self.findings
        ]
        return {
            **({} if self.unit == "row" else {"unit": self.unit}),
            "rows": self.rows,
            "groups": self.groups,
            "share": self.share,
            "columns": [asdict(column) for column in self.columns],
            "findings": findings,
            "summary": self.summary,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [f"homogeneity: {self.summary}", *(f"note: {note}" for note in self.notes)]
        if self.findings:
            lines += ["", "worst first:", *(f"  - {finding.sentence}" for finding in self.findings)]
            lines += ["", "what to do:", *(f"  - {advice}" for advice in self.advice)]
        return "\n".join([*lines, "", SCOPE])


def homogeneity(
    release: Any, policy: Policy | str | os.PathLike[str], *, share: float = 0.9, most: int = 20, **reading: Any
) -> HomogeneityReport:
    """Return the groups in which at least a ``share`` of the rows has the same sensitive value.

    ``release`` is a Release, a release folder or a released table of any kind. ``most`` groups are described, all are
    counted. ``reading`` goes to the engine. With pseudonyms people are counted: a group is those with the same rows,
    and somebody has each value that one of her rows shows.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, quasi, sensitive
    >>> policy = Policy(columns={"sex": quasi(), "ill": sensitive()}, privacy=[KAnonymity(2)])
    >>> report = homogeneity(pa.table({"sex": ["f", "f", "m", "m"], "ill": ["flu", "flu", "flu", "gout"]}), policy)
    >>> report.columns[0].same_rows, report.findings[0].labels
    (2, {'sex': 'f'})
    """
    from indistinct.policy import PSEUDONYM
    from indistinct.policy.load import load_policy
    from indistinct.release.released_tables import ReleasedTables

    policy = load_policy(policy, to="attack")
    sensitive = policy.with_role("sensitive")
    if not sensitive:
        raise PolicyError("columns: no sensitive column; say which values nobody should learn, with sensitive()")
    if not 0 < share <= 1:
        raise PolicyError(f"share: must be above 0 and at most 1, got {share!r}")
    columns, findings = [], []
    units = groups = 0
    with ReleasedTables.of(release, policy, **reading).only_rows() as table:
        is_linked = policy.links_rows and PSEUDONYM in table.columns()
        look = _by_profiles if is_linked else _by_rows
        unit: Unit = "person" if is_linked else "row"
        for found in look(table, policy, sensitive):
            is_alike, is_same = found.largest >= share * found.sizes - 1e-9, found.largest == found.sizes
            units, groups = int(found.sizes.sum()), len(found.sizes)
            same, alike = (int(found.sizes[one].sum()) for one in (is_same, is_alike))
            is_common = found.has_common(share)
            is_empty = found.is_missing[found.values] & ~is_common
            is_harmless = found.has_other_than(_limited_values(policy, found.column)) & ~is_common & ~is_empty
            less = [int(found.sizes[is_same & one].sum()) for one in (is_common, is_empty, is_harmless)]
            columns.append(AlikeColumn(found.column, int(is_same.sum()), same, int(is_alike.sum()), alike, *less))
            for group in found.worst(is_alike & ~is_common & ~is_empty & ~is_harmless)[:most]:
                size, largest = int(found.sizes[group]), int(found.largest[group])
                findings.append(AlikeGroup(found.labels(group), found.column, size, largest / size, unit))
    findings.sort(key=lambda one: (-one.share, -one.rows))
    notes = [BY_PROFILE] if is_linked else people_notes(policy)
    notes += [ALIKE] if notes and not is_linked else []
    return HomogeneityReport(units, groups, share, tuple(columns), tuple(findings[:most]), tuple(notes), unit)


def _limited_values(policy: Policy, column: str) -> set[str]:
    """Return the values of a column that the policy limits by name: those alone are a secret."""
    from indistinct.privacy import AlphaK

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

    def has_common(self, share: float) -> BoolArray:
        """Return of each group whether most of it have the value that at least a share of all have."""
        found: BoolArray = self.having[self.values] >= share * self.sizes.sum() - 1e-9
        return found

    @property
    def is_missing(self) -> BoolArray:
        """Which code stands for a missing cell."""
        return self._are([text is None for text in self.texts])

    def has_other_than(self, limited: set[str]) -> BoolArray:
        """Return of each group whether most of it have another value than some; of none if there are no such values."""
        return self._are([bool(limited) and text not in limited for text in self.texts])[self.values]

    def _are(self, found: list[bool]) -> BoolArray:
        import numpy as np

        return np.array(found, np.bool_)

    def worst(self, is_alike: BoolArray) -> list[int]:
        """Return the groups that are alike, those first that tell most, of most."""
        import numpy as np

        alike = np.flatnonzero(is_alike)
        order = np.lexsort((alike, -self.sizes[alike], -(self.largest / self.sizes)[alike]))
        return [int(group) for group in alike[order]]


def _by_rows(table: Rows, policy: Policy, sensitive: Sequence[str]) -> Iterator[_Shares]:
    """Count rows: a group has equal quasi cells."""
    import numpy as np

    from indistinct.attacks.complementary.chains import number_combinations

    with table.encode([*policy.quasi, *sensitive]) as encoded:
        values = encoded.values
        for name in sensitive:
            found = encoded.count_by([*policy.quasi, name])
            codes = [np.asarray(own, np.int64) for own in found.codes]
            number = number_combinations(codes[:-1], len(found.counts))
            sizes = np.bincount(number, found.counts).astype(np.int64)
            largest, most = _largest(number, codes[-1], found.counts, len(sizes))
            having = np.bincount(codes[-1], found.counts).astype(np.int64)
            first = np.unique(number, return_index=True)[1]
            cells = {column: (values[column], codes[place][first]) for place, column in enumerate(policy.quasi)}
            yield _Shares(name, sizes, largest, most, having, values[name], partial(_cells_of, cells))


def _largest(groups: IntArray, values: IntArray, counts: IntArray, number: int) -> tuple[IntArray, IntArray]:
    """Return the count of the most frequent value of each group, and that value's code."""
    import numpy as np

    largest, most = np.zeros(number, np.int64), np.zeros(number, np.int64)
    np.maximum.at(largest, groups, counts)
    is_most = counts == largest[groups]
    most[groups[is_most]] = values[is_most]
    return largest, most


def _cells_of(cells: Mapping[str, tuple[Sequence[Label], IntArray]], group: int) -> dict[str, Label]:
    """Return the labels of a group by the texts of each column and the code of each group there."""
    return {column: texts[int(codes[group])] for column, (texts, codes) in cells.items()}


def _by_profiles(table: Rows, policy: Policy, sensitive: Sequence[str]) -> Iterator[_Shares]:
    """Count people: a group has equal profiles, and somebody has each value that one of her rows shows."""
    import numpy as np

    from indistinct.engine import PROFILE
    from indistinct.policy import PSEUDONYM

    with (
        table.with_profiles(policy.quasi, (PSEUDONYM,), PROFILE) as profiled,
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
            return {
                c: own[0] if len(own) == 1 else " / ".join("missing" if text is None else text for text in own)
                for c, own in texts.items()
            }

        number = len(values[PROFILE])
        for name in sensitive:
            found = np.stack([np.asarray(own, np.int64) for own in encoded.count_by([PROFILE, PSEUDONYM, name]).codes])
            sizes = np.bincount(np.unique(found[:2], axis=1)[0], minlength=number).astype(np.int64)
            pairs, people = np.unique(found[[0, 2]], axis=1, return_counts=True)
            largest, most = _largest(pairs[0], pairs[1], people.astype(np.int64), number)
            having = np.bincount(pairs[1], people).astype(np.int64)
            yield _Shares(name, sizes, largest, most, having, values[name], labels)
