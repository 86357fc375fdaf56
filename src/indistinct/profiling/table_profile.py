"""profile(): what each column of a table looks like, which role and hierarchy that suggests, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.engine import Rows, use_table
from indistinct.errors import TableError
from indistinct.hierarchy import suppress
from indistinct.linkage import (
    ENOUGH,
    CodedColumn,
    Dependency,
    alike_by,
    coded_columns,
    dependencies_between,
    pairs_between,
    tells_some_value,
)
from indistinct.policy import Role
from indistinct.profiling.column_roles import HALF, ColumnProfile, judge, roles_by_siblings
from indistinct.profiling.column_shapes import shape_of
from indistinct.profiling.column_statistics import MANY, ColumnStatistics, statistics_of
from indistinct.profiling.combinations import Combination, DistinctRows, minimal_combinations
from indistinct.profiling.entities import entity_profile, find_entity
from indistinct.profiling.protection import protect
from indistinct.profiling.repeated_rows import find_person, names_that_repeat, person_profile, whose_rows
from indistinct.progress import Watch

MOST_ROWS = 0.8
"""The share of rows alone from which columns are said to identify."""
MOST_WORK = 50_000_000
"""Distinct rows that are counted to find them, for all sets of columns of one size together."""
MOST_LOOKED_AT = 15
"""Of more quasi columns those with most values are looked at together."""
MOST_ASKED = 400
"""Pairs of a sensitive and a quasi column of which it is asked whether the latter determines the former."""
MOST_TRIED = 1_000
"""Rows, spread evenly, that are kept to try releases on; where people have several rows, people with all of theirs, in
up to three times as many rows."""
FEWEST_FILLED, MOSTLY_FILLED, MOST_BELOW = 3, 0.1, 20
"""Columns that nearly all rows have, at least; the cells that these may lack; and rows of notes, at most."""
LARGEST_ASKED = 20
"""Up to this size it is asked how many rows stand in groups, and how often groups have one sensitive value."""
MOST_COUNTED = 20_000
"""Rows, spread evenly, from which the latter is counted; fewer where there are many pairs of columns."""
FEW_PAIRS = 100
"""Pairs of columns that are counted in MOST_COUNTED rows each."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a table looks like, column by column. No cell is quoted."""

    rows: int
    columns: tuple[ColumnProfile, ...]
    identifying: tuple[Combination, ...] = ()
    """The smallest sets of up to three quasi columns by which most rows stand alone."""
    person: str | None = None
    """The column that names the people of several rows each, if there seems to be one."""
    names: tuple[str, ...] = ()
    """The columns that name people, if nothing numbers them and the same names stand in many rows."""
    dependencies: tuple[Dependency, ...] = ()
    """Columns that would be released as they are, and determine a quasi column."""
    small_groups: tuple[int, ...] = ()
    """How many rows, or people, stand in groups of 1, 2, 3, … of them by all quasi columns as they are."""
    namesakes: tuple[str, ...] = ()
    """Columns that name or number people and repeat, and yet are those of different people."""
    sample: pa.Table | None = field(default=None, repr=False, compare=False)
    """Some rows of the quasi and sensitive columns, and of those that say whose they are, to try releases on."""
    is_one_row_each: bool = False
    """Somebody said that every row is of somebody else."""
    rows_below: int = 0
    """Rows at the end that lack most of their cells, as notes and totals below a sheet do."""

    @property
    def nodes(self) -> int:
        """How many combinations of levels the suggested hierarchies span."""
        return math.prod((column.hierarchy.height or 0) + 1 for column in self.columns if column.hierarchy is not None)

    def with_role(self, role: Role) -> list[ColumnProfile]:
        """Return the columns of a role, in their order."""
        return [column for column in self.columns if column.role == role]

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as JSON takes it."""
        identifying = [{"columns": list(one.columns), "share": one.share} for one in self.identifying]
        return {
            "rows": self.rows,
            "columns": [column.to_dict() for column in self.columns],
            "identifying": identifying,
            "person": self.person if self.person is not None else list(self.names) or None,
            "namesakes": list(self.namesakes),
            "dependencies": [one.to_dict() for one in self.dependencies],
        }

    def __str__(self) -> str:
        lines = [f"{column.name}: {column.role}, because {column.reason}" for column in self.columns]
        return "\n".join([f"{self.rows} rows", *lines])


@dataclass(frozen=True, slots=True)
class SaidRoles:
    """What somebody who knows the table says of it; None is what is left to be guessed."""

    person: tuple[str, ...] | None = None
    """The columns that say whose row it is; none if every row is of somebody else."""
    known: tuple[str, ...] | None = None
    """The columns that others know; they know no other."""
    secret: tuple[str, ...] | None = None
    """The columns that nobody should learn; no other is a secret."""
    is_part: bool = False
    """The table is one of several, and need not have a quasi column."""

    def of(self, column: ColumnProfile, cells: ColumnStatistics) -> ColumnProfile:
        """Return a column with the role that was said of it."""
        if column.name in (self.person or ()):
            return replace(column, role="identifier", hierarchy=None, reason="you said that it says whose row it is")
        if column.name in (self.known or ()):
            shape = shape_of(column.name, cells)
            made = column.as_quasi(shape, f"you said that others know it; {shape.words}")
            return replace(made, is_unsure=False)
        if column.name in (self.secret or ()):
            return replace(column.as_sensitive("you said that it is a secret"), is_unsure=False)
        is_other = (column.role == "quasi" and self.known is not None) or (
            column.role == "sensitive" and self.secret is not None
        )
        if not is_other:
            return column
        why = "you said that others do not know it" if column.role == "quasi" else "you said that it is no secret"
        return replace(
            column, role="other", hierarchy=None, reason=why, missing_codes=(), unreadable="refuse", is_unsure=False
        )


def profile(
    table: Any, k: int = 5, *, said: SaidRoles | None = None, watch: Watch | None = None, **reading: Any
) -> Profile:
    """Look at every column of a table and suggest what it is to a release.

    A column that nothing is known about becomes quasi: to protect too much is mended sooner than to protect too
    little. No other column leaves with a value that fewer than ``k`` people have. ``said`` goes before guesses.
    ``reading`` goes to the engine: memory_limit, threads, delimiter, encoding.

    >>> import pyarrow as pa
    >>> print(profile(pa.table({"zip": ["02138", "02139"] * 10, "illness": ["flu"] * 10 + ["cough"] * 10})))
    20 rows
    zip: quasi, because its name speaks of a place, which others may know; HIPAA (B); codes of 5 digits
    illness: sensitive, because its name speaks of health, which nobody should learn
    """
    watch = watch or Watch()
    with use_table(table, **reading) as rows:
        count = rows.count()
        if count == 0:
            raise TableError(f"{rows.name}: has a header but no rows; there is nothing to look at")
        watch.report("profile", 0, len(rows.columns()))
        coded = coded_columns(rows, rows.columns())
        below = rows_below(coded)
        found = statistics_of(rows, coded, count, watch)
        said = said or SaidRoles()
        columns, namesakes = _judge_all(coded, found, watch)
        columns = [said.of(column, found[column.name]) for column in columns]
        if said.person is None:
            person = next((column.name for column in columns if column.topic == "person"), None)
            names, are_namesakes = ((), False) if person is not None else names_that_repeat(coded, columns, found)
            names, namesakes = ((), (*namesakes, *names)) if are_namesakes else (names, () if names else namesakes)
        else:
            person = said.person[0] if len(said.person) == 1 else None
            names, namesakes = (said.person if len(said.person) > 1 else ()), ()
        people = names if person is None else (person,)
        watch.report("dependencies")
        columns, leaving = protect(columns, coded, found, whose_rows(coded, people), k)
        columns, dependencies = _without_dependencies(coded, leaving, columns, found)
        recoded = {one.name for one in columns if one.recode is not None}
        coded = {name: leaving[name] if name in recoded else cells for name, cells in coded.items()}
        columns = _with_determined(coded, columns if said.is_part else _with_some_quasi(columns, person))
        identifying = _identifying(rows, [column for column in columns if column.role == "quasi"], count)
        small = _small_groups(rows, columns, people)
        sample = _sample(coded, columns, people)
    described = [_with_partners(column, identifying) for column in columns]
    is_one_row_each = said.person == ()
    return Profile(
        count,
        tuple(described),
        identifying,
        person,
        names,
        dependencies,
        small,
        namesakes,
        sample,
        is_one_row_each,
        below,
    )


def rows_below(coded: Mapping[str, CodedColumn]) -> int:
    """Return how many rows at the end lack most of the cells that nearly all other rows have; none if they are many."""
    if len(coded) < FEWEST_FILLED:
        return 0
    gaps = np.stack([np.array([text is None for text in one.texts])[one.codes] for one in coded.values()])
    filled = gaps[gaps.mean(axis=1) <= MOSTLY_FILLED]
    if len(filled) < FEWEST_FILLED:
        return 0
    lacks = filled.mean(axis=0) >= HALF
    below = int(len(lacks) if lacks.all() else np.argmin(lacks[::-1]))
    return below if below <= MOST_BELOW and lacks.sum() == below else 0


def comments(profile: Profile) -> dict[str, str]:
    """Return the reason for each column, as ``policy_toml`` puts it beside the column."""
    return {
        column.name: f"unsure: {column.reason}" if column.is_unsure else column.reason for column in profile.columns
    }


def _judge_all(
    coded: Mapping[str, CodedColumn], found: Mapping[str, ColumnStatistics], watch: Watch
) -> tuple[list[ColumnProfile], tuple[str, ...]]:
    """Judge every column by itself, then find the one that says whose rows these are, and those that only seem to."""
    by_siblings = roles_by_siblings(found)
    columns = []
    for done, (name, cells) in enumerate(found.items()):
        watch.report("profile", done, len(found))
        columns.append(judge(name, cells, by_siblings))
    person, others = find_person(coded, columns, found)
    if person is None:
        entity = find_entity(coded, found, others)
        if entity is None:
            return columns, others
        unit = entity_profile(entity, found[entity.column])
        return [unit if one.name == entity.column else one for one in columns], ()
    return [person_profile(person, found[person]) if one.name == person else one for one in columns], ()


def _without_dependencies(
    coded: Mapping[str, CodedColumn],
    leaving: Mapping[str, CodedColumn],
    columns: list[ColumnProfile],
    found: Mapping[str, ColumnStatistics],
) -> tuple[list[ColumnProfile], tuple[Dependency, ...]]:
    """Make quasi what is neither quasi nor sensitive and determines a quasi column; and say which sensitive ones do.

    What is neither also tells a quasi column if it tells of one of its values who has it: where that value is kept
    nowhere, a recipient takes what is left for certain. Columns are looked at with the codes with which they are
    ``leaving``. A number that was computed from a quasi column tells it also in intervals, though not each value: such
    numbers are looked at as they were, too.
    """
    names = [column.name for column in columns if column.role == "quasi"]
    released = [column.name for column in columns if column.role in ("other", "sensitive") and column.distinct > 1]
    dependencies = dependencies_between(leaving, released, names)
    pairs = {(one.column, one.tells) for one in dependencies}
    recoded = [column.name for column in columns if column.role == "other" and column.recode is not None]
    dependencies += [one for one in dependencies_between(coded, recoded, names) if (one.column, one.tells) not in pairs]
    others = [column.name for column in columns if column.role == "other" and column.distinct > 1]
    dependencies += [
        Dependency(column, name, 0.0, is_exact=False)
        for column, name in pairs_between(leaving, others, names)
        if (column, name) not in pairs and tells_some_value(leaving[column].codes, leaving[name].codes)
    ]
    columns, dependencies = _with_twins(columns, dependencies)
    tells: dict[str, list[Dependency]] = {}
    for one in dependencies:
        tells.setdefault(one.column, []).append(one)
    changed = []
    for column in columns:
        found_quasi = tells.get(column.name)
        if found_quasi is None:
            changed.append(column)
            continue
        which = ", ".join(one.tells for one in found_quasi[:3])
        if column.role == "other":
            shape = shape_of(column.name, found[column.name])
            what = f"some values of {which}" if all(one.explained < ENOUGH for one in found_quasi) else which
            reason = f"it determines {what}, which is quasi; {shape.words}"
            changed.append(column.as_quasi(shape, reason))
        else:
            how = "always" if any(one.is_exact for one in found_quasi) else "nearly always"
            why = f"{column.reason}; dropped, since it {how} tells {which}, which is quasi"
            changed.append(replace(column, role="drop", recode=None, reason=f"{why}; it can stay if it is made quasi"))
    roles = {column.name: column.role for column in changed}
    return changed, tuple(one for one in dependencies if roles[one.column] in ("other", "sensitive"))


def _with_twins(
    columns: list[ColumnProfile], dependencies: Sequence[Dependency]
) -> tuple[list[ColumnProfile], list[Dependency]]:
    """Make sensitive each quasi column of an unknown name that is one to one with a sensitive column.

    Both say the same. To generalize one and to release the other as it is would hide nothing. Few values may go
    together for another reason, such as a ward and an outcome, unless nothing at all says what the quasi column is.
    """
    named = {column.name: column for column in columns}
    twins = {
        one.tells: one.column
        for one in dependencies
        if one.is_exact
        and named[one.column].role == "sensitive"
        and named[one.tells].topic is None
        and (named[one.tells].distinct >= MANY or named[one.tells].is_unsure)
        and (named[one.tells].distinct, named[one.tells].missing)
        == (named[one.column].distinct, named[one.column].missing)
    }
    made = [
        column.as_sensitive(f"one to one with {twins[column.name]}, which is sensitive")
        if column.name in twins
        else column
        for column in columns
    ]
    return made, [one for one in dependencies if one.tells not in twins]


def _with_determined(coded: Mapping[str, CodedColumn], columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Note which quasi column determines a sensitive one more often than not; of many the most urgent."""
    sensitive = sorted((one for one in columns if one.role == "sensitive"), key=lambda one: one.urgency)
    names = [column.name for column in columns if column.role == "quasi"]
    asked = [column.name for column in sensitive[: max(1, MOST_ASKED // max(1, len(names)))]]
    determined: dict[str, str] = {}
    for one in dependencies_between(coded, names, asked, enough=HALF):
        determined.setdefault(one.tells, one.column)
    counted = min(MOST_COUNTED, MOST_COUNTED * FEW_PAIRS // max(1, len(asked) * len(names)))
    alike = {name: _alike(coded, names, name, counted) for name in asked if name in coded}
    return [replace(one, determined_by=determined.get(one.name), alike=alike.get(one.name, ())) for one in columns]


def _alike(
    coded: Mapping[str, CodedColumn], names: Sequence[str], sensitive: str, counted: int
) -> tuple[tuple[str, float], ...]:
    """Return, for groups of 2, 3, … rows, the quasi column within which they most often have one sensitive value."""
    step = max(1, len(coded[sensitive].codes) // counted)
    values = coded[sensitive].codes[::step]
    shares = {name: alike_by(coded[name].codes[::step], values, LARGEST_ASKED) for name in names if name in coded}
    if not shares:
        return ()
    return tuple(
        max(((name, one[size]) for name, one in shares.items()), key=lambda found: found[1])
        for size in range(LARGEST_ASKED - 1)
    )


def _sample(
    coded: Mapping[str, CodedColumn], columns: Sequence[ColumnProfile], people: Sequence[str]
) -> pa.Table | None:
    """Return some rows of what a release is made of, spread evenly, and all rows of whom they are; none if not read."""
    names = [one.name for one in columns if one.role in ("quasi", "sensitive") or one.name in people]
    if not all(name in coded for name in names):
        return None
    rows = len(next(iter(coded.values())).codes)
    kept = np.arange(rows)[:: max(1, -(-rows // MOST_TRIED))]
    if people:
        whose = np.unique(np.stack([coded[name].codes for name in people]), axis=1, return_inverse=True)[1].ravel()
        number = int(whose.max()) + 1
        some = np.arange(number)[:: max(1, -(-number // MOST_TRIED), -(-rows // (3 * MOST_TRIED)))]
        kept = np.flatnonzero(np.isin(whose, some))
    cells = {name: (coded[name].texts, coded[name].codes[kept].tolist()) for name in names}
    return pa.table(
        {name: pa.array([texts[code] for code in own], pa.string()) for name, (texts, own) in cells.items()}
    )


def _small_groups(rows: Rows, columns: Sequence[ColumnProfile], person: Sequence[str]) -> tuple[int, ...]:
    """Count the rows, or people, in groups of 1, 2, 3, … of them by all quasi columns as they are."""
    sizes = rows.sizes_by([column.name for column in columns if column.role == "quasi"], person)
    by_size = np.bincount(sizes[sizes < LARGEST_ASKED], minlength=LARGEST_ASKED)
    return tuple((by_size * np.arange(LARGEST_ASKED)).tolist()[1:])


def _identifying(rows: Rows, columns: Sequence[ColumnProfile], count: int) -> tuple[Combination, ...]:
    """Find which few quasi columns tell most rows apart; fewer columns at a time where the table is large."""
    if count < MANY or not columns:
        return ()
    most = {column.name for column in sorted(columns, key=lambda one: -one.distinct)[:MOST_LOOKED_AT]}
    names = [column.name for column in columns if column.name in most]
    counted = DistinctRows.of(rows, names)
    sizes = [size for size in (1, 2, 3) if math.comb(len(names), size) * len(counted.base) <= MOST_WORK]
    return tuple(minimal_combinations(counted, MOST_ROWS, max(sizes, default=0)))


def _with_partners(column: ColumnProfile, identifying: Sequence[Combination]) -> ColumnProfile:
    """Add to a column's reason by which other columns it tells rows apart."""
    own = [one for one in identifying if column.name in one.columns]
    if column.role != "quasi" or not own:
        return column
    best = max(own, key=lambda one: one.share)
    others = ", ".join(name for name in best.columns if name != column.name)
    how = f"with {others}" if others else "alone"
    return replace(column, reason=f"{column.reason}; {how} it tells {100 * best.share:.0f} % of the rows apart")


def _with_some_quasi(columns: list[ColumnProfile], person: str | None) -> list[ColumnProfile]:
    """Make one column quasi where none is, since a policy protects at least one: the one that harms least."""
    if any(column.role == "quasi" for column in columns):
        return columns
    order: tuple[Role, ...] = ("other", "drop", "sensitive", "identifier")
    others = [column for column in columns if column.name != person] or columns
    chosen = min(others, key=lambda column: (order.index(column.role), column.distinct))
    reason = f"a policy needs a quasi column; else it were {chosen.role}: {chosen.reason}"
    promoted = replace(chosen, role="quasi", hierarchy=suppress(), reason=reason, recode=None, recode_level=1)
    return [promoted if column is chosen else column for column in columns]
