"""risk(): how exposed the people of a table are, before or after it is released.

Source of the three risks: El Emam and Dankar 2008; El Emam 2013, chapter 16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from indistinct.errors import PolicyError
from indistinct.showing.words import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from indistinct.engine import Counts, Rows
    from indistinct.policy import Policy
    from indistinct.study.risk.combinations import Combination
    from indistinct.study.risk.population_estimates import Estimate
    from indistinct.study.risk.safe_harbor import SafeHarbor
    from indistinct.watch import Watch

THRESHOLD = 0.2
"""Records with a larger chance to be found count as at risk; 0.2 is a group of fewer than five."""
NEARLY = 0.95


@dataclass(frozen=True, slots=True)
class Exposure:
    """The chance that a record is found: the highest, the average, and the share of records above a threshold."""

    highest: float
    average: float
    at_risk: float


@dataclass(frozen=True, slots=True)
class Risk:
    """How exposed the people of a table are: numbers and names of columns, and no cell."""

    rows: int
    groups: int
    quasi: tuple[str, ...]
    sizes: Mapping[int, int]
    """How many groups have one row, two …"""
    threshold: float
    prosecutor: Exposure
    """By somebody who knows that a person is in the table: 1 over the rows of the group."""
    journalist: Exposure | None
    """By somebody who does not know it: 1 over the group's people in the population. None without a population."""
    marketer: float
    """The share of all records that are found when each is given to one who fits, drawn at random."""
    is_estimated: bool
    """Journalist and marketer risk are estimated, since only the size of the population or weights are known."""
    estimate: Estimate | None
    """People of the population who stand alone, estimated; None unless the population's size is known."""
    unique: tuple[Combination, ...]
    """The minimal sets of quasi columns by which every row stands alone, up to a number of columns."""
    nearly_unique: tuple[Combination, ...]
    """The minimal sets by which nearly all do."""
    safe_harbor: tuple[SafeHarbor, ...]
    """Columns of the table, whatever their role, that look like identifiers of HIPAA Safe Harbor."""
    notes: tuple[str, ...] = ()

    @property
    def uniques(self) -> int:
        """The rows that no other row equals in the quasi columns."""
        return self.sizes.get(1, 0)

    def to_dict(self) -> dict[str, Any]:
        """Give the risks as JSON takes them."""
        found = self.estimate
        return {
            "rows": self.rows,
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
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [
            f"{counted(self.rows, 'row')} in {counted(self.groups, 'group')} by {', '.join(self.quasi)}; "
            f"{self.uniques:,} alone",
            f"prosecutor: {_in_words(self.prosecutor, self.threshold)}",
        ]
        if self.journalist is not None:
            how = "estimated " if self.is_estimated else ""
            lines.append(f"journalist: {how}{_in_words(self.journalist, self.threshold)}")
        lines.append(f"marketer: {self.marketer:.4g} of the records are found on average")
        if self.estimate is not None:
            lines.append(
                f"alone in the population: about {self.estimate.population_uniques:,.0f} of "
                f"{self.estimate.population:,} people ({self.estimate.chosen})"
            )
        lines += [f"all rows stand alone by {', '.join(one.columns)}" for one in self.unique]
        lines += [
            f"{100 * one.share:.1f} % of the rows stand alone by {', '.join(one.columns)}" for one in self.nearly_unique
        ]
        lines += [
            f"{one.column}: HIPAA Safe Harbor lists {one.meaning} ({one.letter}); {one.reason}"
            for one in self.safe_harbor
        ]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _in_words(exposure: Exposure, threshold: float) -> str:
    return (
        f"highest {exposure.highest:.4g}, average {exposure.average:.4g}, "
        f"{100 * exposure.at_risk:.1f} % of the records above {threshold:g}"
    )


def _as_json(combination: Combination) -> dict[str, Any]:
    return {"columns": list(combination.columns), "alone": combination.alone, "share": combination.share}


def risk(
    table: Any,
    quasi: Sequence[str] | None = None,
    *,
    policy: Policy | None = None,
    population: Any = None,
    weights: str | None = None,
    threshold: float = THRESHOLD,
    most: int = 3,
    nearly: float = NEARLY,
    watch: Watch | None = None,
    **reading: Any,
) -> Risk:
    """Give how exposed the people of a table are to somebody who knows some columns of it.

    ``quasi`` names those columns; without it they are the policy's, or those that ``profile`` suggests. ``population``
    is the number of people that the table was drawn from, or a table of them, which is matched with the columns as
    ``attacks.link`` does. ``weights`` names a column that says for how many people each row stands. Sets of at most
    ``most`` columns are looked at, and ``nearly`` is the share of rows alone that is nearly all. ``reading`` goes to
    the engine: memory_limit, threads, delimiter and encoding.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["02138", "02138", "02139", "02141"], "sex": ["f", "f", "f", "m"]})
    >>> found = risk(table, ["zip", "sex"])
    >>> found.uniques, found.prosecutor.highest, found.prosecutor.average
    (2, 1.0, 0.75)
    """
    from indistinct.engine import use_table
    from indistinct.study.profiling import profile
    from indistinct.watch import Watch

    _check(threshold, nearly, most)
    with use_table(table, **reading) as rows:
        _refuse_absent(rows, [*(quasi or ()), *([] if weights is None else [weights])])
        looked = profile(rows, watch=watch)
        names = tuple(quasi or (policy.quasi if policy is not None else ()))
        names = names or tuple(column.name for column in looked.columns if column.role == "quasi")
        _refuse_absent(rows, names)
        found = _Measured.of(rows, names, policy, population, weights, reading)
        combinations = found.combinations(rows, most, nearly, watch or Watch())
    return found.report(threshold, combinations, [one for column in looked.columns for one in column.safe_harbor])


@dataclass(frozen=True, slots=True)
class _Measured:
    """What was counted: the groups, and how many people of the population each stands for."""

    quasi: tuple[str, ...]
    sizes: NDArray[np.int64]
    people: NDArray[np.float64] | None
    """Per group; None if nothing is known of the population."""
    population: int | None
    """Its size, if it is known."""
    is_estimated: bool
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        rows: Rows,
        quasi: tuple[str, ...],
        policy: Policy | None,
        population: Any,
        weights: str | None,
        reading: Mapping[str, Any],
    ) -> _Measured:
        import numpy as np

        if weights is not None:
            sizes, people = _sum_weights(rows, quasi, weights)
            known = population if isinstance(population, int) else round(float(people.sum()))
            return cls(quasi, sizes, people, known, True, ())
        with rows.encode(quasi) as encoded:
            labels, groups = encoded.values, encoded.count_by(quasi)
        sizes = groups.counts
        if population is None:
            return cls(quasi, sizes, None, None, False, ())
        if isinstance(population, int) and not isinstance(population, bool):
            if population < int(sizes.sum()):
                raise PolicyError(
                    f"population: must be at least the {int(sizes.sum()):,} rows of the table, got {population}"
                )
            weight = population / max(1, int(sizes.sum()))
            return cls(quasi, sizes, sizes.astype(np.float64) * weight, population, True, ())
        fitting, total = _count_people(labels, groups, quasi, policy, population, reading)
        absent = int(sizes[fitting < sizes].sum())
        notes = (
            f"{counted(absent, 'row belongs', 'rows belong')} to groups with fewer people in the population than rows "
            "here, so these rows are counted instead",
        ) * bool(absent)
        return cls(quasi, sizes, np.maximum(fitting, sizes).astype(np.float64), total, False, notes)

    def combinations(
        self, rows: Rows, most: int, nearly: float, watch: Watch
    ) -> tuple[list[Combination], list[Combination]]:
        """Find the columns that identify; those that are unique are not listed as nearly so again."""
        from indistinct.study.risk.combinations import Counted, minimal_combinations

        table = Counted.of(rows, self.quasi)
        unique = minimal_combinations(table, 1.0, most, watch)
        close = minimal_combinations(table, nearly, most, watch)
        return unique, [one for one in close if not one.is_unique]

    def report(
        self,
        threshold: float,
        combinations: tuple[list[Combination], list[Combination]],
        safe_harbor: Sequence[SafeHarbor],
    ) -> Risk:
        """Sum up."""
        import numpy as np

        from indistinct.study.risk.individual_risk import individual_risk
        from indistinct.study.risk.population_estimates import estimate

        sizes, rows = self.sizes, max(1, int(self.sizes.sum()))
        found, numbers = np.unique(sizes, return_counts=True)
        by_size = dict(zip(found.tolist(), numbers.tolist(), strict=True))
        journalist, marketer, alone = None, len(sizes) / rows, None
        if self.people is not None:
            chances = individual_risk(sizes, self.people) if self.is_estimated else 1 / self.people
            marketer = float(sizes @ chances) / rows
            average = marketer if self.is_estimated else max(marketer, len(sizes) / float(self.people.sum()))
            journalist = Exposure(float(chances.max()), average, _above(chances, sizes, threshold))
        if self.population is not None and self.is_estimated:
            alone = estimate(by_size, max(self.population, rows))
        return Risk(
            rows=int(sizes.sum()),
            groups=len(sizes),
            quasi=self.quasi,
            sizes=by_size,
            threshold=threshold,
            prosecutor=Exposure(float((1 / sizes).max()), len(sizes) / rows, _above(1 / sizes, sizes, threshold)),
            journalist=journalist,
            marketer=marketer,
            is_estimated=self.people is not None and self.is_estimated,
            estimate=alone,
            unique=tuple(combinations[0]),
            nearly_unique=tuple(combinations[1]),
            safe_harbor=tuple(safe_harbor),
            notes=self.notes,
        )


def _above(chances: NDArray[np.float64], sizes: NDArray[np.int64], threshold: float) -> float:
    """Give the share of records whose chance to be found lies above a threshold."""
    return float(sizes[chances > threshold * (1 + 1e-12)].sum()) / max(1, int(sizes.sum()))


def _sum_weights(rows: Rows, quasi: Sequence[str], weights: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Count the groups, and sum the weights of each."""
    import numpy as np

    from indistinct.hierarchy.exact_numbers import read_number

    found = rows.values_by(quasi, weights)
    numbers = [None if text is None else read_number(text) for text in found.texts]
    if any(number is None or number <= 0 for number in numbers):
        raise PolicyError(f"weights: column {weights!r} must hold a number above 0 in every row")
    each = np.array([float(number or 0) for number in numbers])
    sizes = np.bincount(found.groups, found.counts).astype(np.int64)
    people = np.bincount(found.groups, found.counts * each[found.values], len(sizes))
    return sizes, np.maximum(people, sizes)


def _count_people(
    labels: Mapping[str, Sequence[str | None]],
    groups: Counts,
    quasi: Sequence[str],
    policy: Policy | None,
    population: Any,
    reading: Mapping[str, Any],
) -> tuple[NDArray[np.int64], int]:
    """Count the people of a population table that fit each group, and all of them."""
    from indistinct.engine import use_table
    from indistinct.hierarchy import keep
    from indistinct.linkage.coverage import Coverage
    from indistinct.linkage.fitting_people import count_candidates

    with use_table(population, **reading) as rows:
        _refuse_absent(rows, quasi, "the population")
        with rows.encode(quasi) as encoded:
            values, people = encoded.values, encoded.count_by(quasi)
    hierarchies = {} if policy is None else {name: policy.columns[name].hierarchy for name in policy.quasi}
    coverages = [Coverage.of(hierarchies.get(name, keep()), labels[name], values[name]) for name in quasi]
    return count_candidates(groups, people, coverages).people, int(people.counts.sum())


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


def _refuse_absent(rows: Rows, names: Sequence[str], table: str = "the table") -> None:
    mistakes = [f"{table} has no column {name!r}" for name in names if name not in rows.columns()]
    if mistakes:
        raise PolicyError(mistakes)
