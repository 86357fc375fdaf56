"""Homogeneity: what a neighbour learns who knows somebody's quasi-identifier, because the whole group has one value.

k-anonymity hides which row is whose. Where all rows of a group have the same sensitive value, nobody has to know which.

Source: Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, ICDE 2006, section 1.1.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from indistinct.attacks.people_notes import ALIKE, people_notes
from indistinct.errors import PolicyError
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.policy import Policy

Label = str | None

ADVICE = (
    "ask for l-diversity or (alpha,k)-anonymity of the sensitive column as well as for k",
    "generalize or leave out the sensitive values that whole groups share",
)

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
    """The share of the rows that have the most frequent value."""

    @property
    def sentence(self) -> str:
        """What a neighbour learns, in English; the value itself is not said."""
        cells = ", ".join(f"{name} {'missing' if label is None else label}" for name, label in self.labels.items())
        how_many = "all have" if self.share == 1 else f"{self.share:.0%} have"
        return f"Of the {counted(self.rows, 'row')} with {cells} {how_many} one and the same {self.column}."


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


@dataclass(frozen=True, slots=True)
class HomogeneityReport:
    """How far groups tell the sensitive values of their rows: counts, and released labels."""

    advice: ClassVar[tuple[str, ...]] = ADVICE
    """What to do where something was found."""
    scope: ClassVar[str] = SCOPE
    """What was looked for, and what was not."""

    rows: int
    groups: int
    share: float
    columns: tuple[AlikeColumn, ...]
    findings: tuple[AlikeGroup, ...]
    """The groups that tell most, worst first; no more than were asked for."""
    notes: tuple[str, ...] = ()

    @property
    def is_broken(self) -> bool:
        """The sensitive value of somebody is known to whoever knows the quasi-identifier."""
        return any(column.same_rows for column in self.columns)

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        if not any(column.alike_rows for column in self.columns):
            return f"no group of {self.groups:,} has one sensitive value in {self.share:.0%} of its rows or more"
        return "; ".join(
            f"{column.column} is the same for all of {counted(column.same_rows, 'row')} in "
            f"{counted(column.same_groups, 'group')}, and for at least {self.share:.0%} in "
            f"{counted(column.alike_groups, 'group')}"
            for column in self.columns
            if column.alike_rows
        )

    def to_dict(self) -> dict[str, Any]:
        """Give the report as JSON takes it."""
        return {
            "rows": self.rows,
            "groups": self.groups,
            "share": self.share,
            "columns": [asdict(column) for column in self.columns],
            "findings": [{**asdict(one), "sentence": one.sentence} for one in self.findings],
            "summary": self.summary,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [f"homogeneity: {self.summary}", *(f"note: {note}" for note in self.notes)]
        if self.findings:
            lines += ["", "worst first:", *(f"  - {finding.sentence}" for finding in self.findings)]
            lines += ["", "what to do:", *(f"  - {advice}" for advice in ADVICE)]
        return "\n".join([*lines, "", SCOPE])


def homogeneity(
    release: Any, policy: Policy, *, share: float = 0.9, most: int = 20, **reading: Any
) -> HomogeneityReport:
    """Give the groups in which at least a ``share`` of the rows has the same sensitive value.

    ``release`` is a Release, a release folder or a released table of any kind. ``most`` groups are described, all are
    counted. ``reading`` goes to the engine.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, quasi, sensitive
    >>> policy = Policy(columns={"sex": quasi(), "ill": sensitive()}, privacy=[KAnonymity(2)])
    >>> report = homogeneity(pa.table({"sex": ["f", "f", "m", "m"], "ill": ["flu", "flu", "flu", "gout"]}), policy)
    >>> report.columns[0].same_rows, report.findings[0].labels
    (2, {'sex': 'f'})
    """
    import numpy as np

    from indistinct.attacks.chains import number_combinations
    from indistinct.released.released_tables import ReleasedTables

    sensitive = policy.with_role("sensitive")
    if not sensitive:
        raise PolicyError("columns: no sensitive column; say which values nobody should learn, with sensitive()")
    if not 0 < share <= 1:
        raise PolicyError(f"share: must be above 0 and at most 1, got {share!r}")
    columns, findings = [], []
    rows = groups = 0
    with ReleasedTables.of(release, **reading).only_rows() as table:
        encoded = table.encode([*policy.quasi, *sensitive])
        values = encoded.values
        for name in sensitive:
            found = encoded.count_by([*policy.quasi, name])
            codes = [np.asarray(own, np.int64) for own in found.codes]
            number = number_combinations(codes[:-1], len(found.counts))
            sizes = np.bincount(number, found.counts).astype(np.int64)
            largest = np.zeros(len(sizes), np.int64)
            np.maximum.at(largest, number, found.counts)
            first = np.unique(number, return_index=True)[1]
            is_alike = largest >= share * sizes - 1e-9
            is_same = largest == sizes
            rows, groups = int(sizes.sum()), len(sizes)
            columns.append(
                AlikeColumn(
                    name, int(is_same.sum()), int(sizes[is_same].sum()), int(is_alike.sum()), int(sizes[is_alike].sum())
                )
            )
            alike = np.flatnonzero(is_alike)
            for group in alike[np.lexsort((alike, -sizes[alike], -(largest / sizes)[alike]))][:most]:
                labels = {
                    column: values[column][int(own[first[group]])]
                    for column, own in zip(policy.quasi, codes, strict=False)
                }
                findings.append(AlikeGroup(labels, name, int(sizes[group]), float(largest[group] / sizes[group])))
    findings.sort(key=lambda one: (-one.share, -one.rows))
    notes = people_notes(policy)
    notes += [ALIKE] if notes else []
    return HomogeneityReport(rows, groups, share, tuple(columns), tuple(findings[:most]), tuple(notes))
