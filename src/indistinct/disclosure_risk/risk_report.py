"""risk(): how exposed the people of a table are, before or after it is released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from indistinct.errors import PolicyError
from indistinct.policy.files.policy_file import load_policy
from indistinct.showing.words import counted

if TYPE_CHECKING:
    import os

    from indistinct.disclosure_risk.cell_unicity import Unicity
    from indistinct.disclosure_risk.exposure import Exposure
    from indistinct.disclosure_risk.population_estimates import Estimate
    from indistinct.policy import Policy
    from indistinct.profiling import Combination, SafeHarbor
    from indistinct.progress import Watch

THRESHOLD = 0.2
"""Records with a larger chance to be found count as at risk; 0.2 is a group of fewer than five."""
NEARLY = 0.95


@dataclass(frozen=True, slots=True)
class Risk:
    """How exposed the people of a table are: numbers and names of columns, and no cell."""

    rows: int
    groups: int
    quasi: tuple[str, ...]
    sizes: Mapping[int, int]
    """How many groups have one row, two …; or one person, where people are counted."""
    threshold: float
    prosecutor: Exposure
    """By somebody who knows that a person is in the table: 1 over the rows, or the people, of the group."""
    journalist: Exposure | None
    """By somebody who does not know it: 1 over the group's people in the population. None without a population."""
    marketer: float
    """The share of all records that are found when each is given to one who fits, drawn at random."""
    is_estimated: bool
    """Journalist and marketer risk are estimated, since only the size of the population or weights are known."""
    estimate: Estimate | None
    """People of the population who stand alone, estimated; None unless its size is known, or where notes say why."""
    unique: tuple[Combination, ...]
    """The minimal sets of quasi columns by which every row, or everybody, stands alone, up to a number of columns."""
    nearly_unique: tuple[Combination, ...]
    """The minimal sets by which nearly all do."""
    safe_harbor: tuple[SafeHarbor, ...]
    """Columns of the table, whatever their role, that look like identifiers of HIPAA Safe Harbor."""
    uniques: int
    """The rows that no other row equals in the quasi columns, or the people who have some combination to themselves."""
    unicity: Unicity | None = None
    """How many rows stand alone to whoever knows any few cells of all that is released; None where notes say why."""
    people: int | None = None
    """The people of the table; None where rows are counted, each as somebody else."""
    notes: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        """What was counted: the people of the table, or its rows."""
        return self.rows if self.people is None else self.people

    @property
    def noun(self) -> str:
        """What a record is: rows, or people."""
        return "rows" if self.people is None else "people"

    @property
    def title(self) -> str:
        """What was counted, in words."""
        whose = "" if self.people is None else f" of {counted(self.people, 'person', 'people')}"
        return f"{counted(self.rows, 'row')}{whose} in {counted(self.groups, 'group')} by {', '.join(self.quasi)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the risks as JSON takes them."""
        found = self.estimate
        return {
            "rows": self.rows,
            "people": self.people,
            "groups": self.groups,
            "quasi": list(self.quasi),
            "uniques": self.uniques,
            "sizes": {str(size): number for size, number in self.sizes.items()},
            "threshold": self.threshold,
            "prosecutor": asdict(self.prosecutor),
            "journalist": None if self.journalist is None else asdict(self.journalist),
            "marketer": self.marketer,
            "is_estimated": self.is_estimated,
            "population": None
            if found is None
            else {
                "size": found.population,
                "fraction": found.fraction,
                "uniques": dict(found.uniques),
                "chosen": found.chosen,
                "uniqueness": found.population_uniqueness,
            },
            "unique": [_as_json(one) for one in self.unique],
            "nearly_unique": [_as_json(one) for one in self.nearly_unique],
            "safe_harbor": [
                {"column": one.column, "letter": one.letter, "meaning": one.meaning, "reason": one.reason}
                for one in self.safe_harbor
            ],
            "unicity": None if self.unicity is None else self.unicity.to_dict(),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [
            f"{self.title}; {self.uniques:,} alone",
            f"prosecutor: {_in_words(self.prosecutor, self)}",
        ]
        if self.journalist is not None:
            how = "estimated " if self.is_estimated else ""
            lines.append(f"journalist: {how}{_in_words(self.journalist, self)}")
        lines.append(f"marketer: {self.marketer:.4g} of the records are found on average")
        if self.estimate is not None:
            lines.append(
                f"alone in the population: about {self.estimate.population_uniques:,.0f} of "
                f"{self.estimate.population:,} people ({self.estimate.chosen})"
            )
        lines += [f"all {self.noun} stand alone by {', '.join(one.columns)}" for one in self.unique]
        lines += [
            f"{100 * one.share:.1f} % of the {self.noun} stand alone by {', '.join(one.columns)}"
            for one in self.nearly_unique
        ]
        lines += [
            f"{one.column}: HIPAA Safe Harbor lists {one.meaning} ({one.letter}); {one.reason}"
            for one in self.safe_harbor
        ]
        lines += [] if self.unicity is None else [self.unicity.sentence]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _in_words(exposure: Exposure, found: Risk) -> str:
    return (
        f"highest {exposure.highest:.4g}, average {exposure.average:.4g}, "
        f"{100 * exposure.at_risk:.1f} % of the {'records' if found.people is None else 'people'} above "
        f"{found.threshold:g}"
    )


def _as_json(combination: Combination) -> dict[str, Any]:
    return {"columns": list(combination.columns), "alone": combination.alone, "share": combination.share}


def risk(
    table: Any,
    quasi: Sequence[str] | None = None,
    *,
    policy: Policy | str | os.PathLike[str] | None = None,
    person: str | Sequence[str] | None = None,
    population: Any = None,
    weights: str | None = None,
    threshold: float = THRESHOLD,
    most: int = 3,
    nearly: float = NEARLY,
    watch: Watch | None = None,
    **reading: Any,
) -> Risk:
    """Return how exposed the people of a table are to somebody who knows some columns of it.

    ``quasi`` names those columns; without it they are the policy's, or those that ``profile`` suggests. ``person``
    names the column, or the columns, that say whose row it is, if somebody may have several; without it they are the
    policy's. People are counted then, and a table that does not have the policy's says in ``notes`` that rows were.
    ``population`` is the number of people that the table was drawn from, or a table of them, which is matched with the
    columns as ``attacks.link`` does. A policy of several tables takes each by its name, or a release of them: a group
    is then the people who share a profile, the tree of their rows. ``weights`` names a column that says for how many
    people each row stands. Sets of at most ``most`` columns are looked at, and ``nearly`` is the share alone that is
    nearly all. ``reading`` goes to
    the engine: memory_limit, threads, delimiter and encoding.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["02138", "02138", "02139", "02141"], "sex": ["f", "f", "f", "m"]})
    >>> found = risk(table, ["zip", "sex"])
    >>> found.uniques, found.prosecutor.highest, found.prosecutor.average
    (2, 1.0, 0.75)
    """
    from indistinct.disclosure_risk.table_counts import Asked, count_linked, count_one
    from indistinct.profiling import minimal_combinations
    from indistinct.progress import Watch

    _check(threshold, nearly, most)
    watch = watch or Watch()
    policy = None if policy is None else load_policy(policy)
    asked = Asked(policy, None if quasi is None else tuple(quasi), person, population, weights, most)
    counting = count_linked if policy is not None and policy.tables else count_one
    counted_rows, found, looked = counting(table, asked, watch, **reading)
    unique = minimal_combinations(counted_rows, 1.0, most, watch)
    close = minimal_combinations(counted_rows, nearly, most, watch)
    return Risk(
        rows=counted_rows.base.rows,
        groups=len(found.sizes),
        quasi=counted_rows.columns,
        sizes=found.by_size,
        threshold=threshold,
        prosecutor=found.prosecutor(threshold),
        journalist=found.journalist(threshold),
        marketer=found.marketer,
        is_estimated=found.is_estimated,
        estimate=found.estimate(),
        unique=tuple(unique),
        nearly_unique=tuple(one for one in close if not one.is_unique),
        safe_harbor=looked.safe_harbor,
        uniques=found.alone,
        unicity=looked.unicity,
        people=None if found.members is None else found.records,
        notes=(*looked.notes, *found.notes),
    )


def _check(threshold: float, nearly: float, most: int) -> None:
    mistakes = [
        f"{name}: must lie above 0 and be at most 1, got {value!r}"
        for name, value in (("threshold", threshold), ("nearly", nearly))
        if not 0 < value <= 1
    ]
    if most < 0:
        mistakes.append(f"most: must be a number of columns, got {most!r}")
    if mistakes:
        raise PolicyError(mistakes)
