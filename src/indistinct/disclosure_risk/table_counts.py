"""What risk() counts: the distinct rows of one table, or the people of several tables that belong together.

In one table a group is the rows, or the people, with equal quasi cells. Of several tables somebody's rows are found
together, so a group is the people with equal trees of rows; columns are called ``table.column``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from indistinct.counting import as_declared, encode_eligible
from indistinct.counting.joined_tables import count_tables
from indistinct.disclosure_risk.cell_unicity import UNICITY_COLUMNS, Unicity, count_unicity, unicity_of
from indistinct.disclosure_risk.exposure import Exposed, refuse_absent
from indistinct.engine import Rows, use_table
from indistinct.errors import PolicyError, TableError
from indistinct.linkage import find_dependencies, labels_among, unseen_pairs
from indistinct.policy import PSEUDONYM, Person, Policy, other, quasi
from indistinct.policy.released_names import own_name
from indistinct.privacy import KAnonymity
from indistinct.profiling import DistinctRows, SafeHarbor, profile
from indistinct.progress import Watch
from indistinct.release.released_tables import ReleasedTables, under_own_names

LINKED = (
    "people are told apart by their pseudonyms, and each row is looked at by itself; who knows several rows of "
    "somebody finds them together"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What risk() was asked about."""

    policy: Policy | None
    quasi: tuple[str, ...] | None
    person: str | Sequence[str] | None
    population: Any
    weights: str | None
    most: int
    """The most columns of a set that is looked at."""


@dataclass(frozen=True, slots=True)
class LookedAt:
    """What was seen beside the groups."""

    safe_harbor: tuple[SafeHarbor, ...]
    unicity: Unicity | None
    notes: tuple[str, ...]


class TableCounts(NamedTuple):
    """The distinct rows that sets of columns are counted from, the chances that follow, and what else was seen."""

    rows: DistinctRows
    exposed: Exposed
    looked: LookedAt


def count_one(table: Any, asked: Asked, watch: Watch, **reading: Any) -> TableCounts:
    """Count one table."""
    policy = asked.policy
    renamed = {} if policy is None else policy.renamed
    known = None if asked.quasi is None else [own_name(name, renamed) for name in asked.quasi]
    weights = None if asked.weights is None else own_name(asked.weights, renamed)
    with (
        use_table(table, **reading) as given,
        under_own_names(given, renamed) as named,
        _as_declared(named, policy) as rows,
    ):
        refuse_absent(rows, [*(known or ()), *([] if weights is None else [weights])])
        whose, notes = _whose_rows(rows, policy, asked.person)
        looked = profile(rows, watch=watch)
        names = tuple(known or (policy.quasi if policy is not None else ()))
        names = names or tuple(one.name for one in looked.columns if one.role == "quasi" and one.name not in whose)
        refuse_absent(rows, names)
        _refuse_people(names, whose, weights)
        counted = DistinctRows.of(rows, names, whose)
        cells, why_not = _unicity(rows, policy, whose, watch)
        notes = (*notes, *_dependencies(rows, policy, names), *why_not, *counted.left_out(asked.most))
        if weights is None:
            found = Exposed.of(counted, policy, asked.population, reading)
        else:
            found = Exposed.of_weights(rows, names, weights, asked.population)
    return TableCounts(
        counted, found, LookedAt(tuple(one for own in looked.columns for one in own.safe_harbor), cells, notes)
    )


def count_linked(tables: Any, asked: Asked, watch: Watch, **reading: Any) -> TableCounts:
    """Count the people of several tables, or of a release of them, by their trees of rows."""
    policy = asked.policy
    assert policy is not None  # it says how the tables belong together
    _refuse_of_linked(asked)
    released = ReleasedTables.of(tables, policy, **reading)
    if absent := [name for name in policy.parts if name not in released.sources]:
        raise TableError(f"the policy describes several tables; give each by its name: {', '.join(absent)} is missing")
    known = asked.quasi or policy.quasi
    if unknown := [name for name in known if name not in policy.quasi]:
        raise PolicyError(
            [f"quasi: the policy has no quasi column {name!r}; it has {', '.join(policy.quasi)}" for name in unknown]
        )
    harbors: list[SafeHarbor] = []
    notes: list[str] = []
    opened_tables: dict[str, Rows] = {}
    with released.rows() as given, ExitStack() as opened:
        for name, part in policy.parts.items():
            rows = opened.enter_context(_under_persons_name(given[name], part.person))
            opened_tables[name] = rows = opened.enter_context(_as_declared(rows, part.policy))
            for column in profile(rows, watch=watch).columns if rows.count() else ():
                harbors += [replace(one, column=f"{name}.{one.column}") for one in column.safe_harbor]
            notes += [f"{name}: {note}" for note in _dependencies(rows, part.policy, part.policy.quasi)]
        counted = _count_trees(opened_tables, policy, known)
        cells, why_not = _unicity_of_people(opened_tables, policy, watch)
    notes += [*why_not, *counted.left_out(asked.most)]
    exposed = Exposed.of(counted, policy, asked.population, reading)
    return TableCounts(counted, exposed, LookedAt(tuple(harbors), cells, tuple(notes)))


def _count_trees(tables: Mapping[str, Rows], policy: Policy, known: Sequence[str]) -> DistinctRows:
    """Count the people of several tables by their trees of rows, as some columns show them."""
    plain = _plain_policy(policy, known)
    with ExitStack() as opened:
        encoded = {}
        for name, rows in tables.items():
            refuse_absent(rows, plain.counted_columns(name), f"{name}: the table")
            counting = encode_eligible(rows, plain.parts[name].policy, plain.counted_columns(name))
            encoded[name] = opened.enter_context(counting)
        found = count_tables(encoded, plain).frequencies
    return DistinctRows(found.columns, tuple(len(one.values) for one in found.hierarchies), found.base)


def _unicity_of_people(
    tables: Mapping[str, Rows], policy: Policy, watch: Watch
) -> tuple[Unicity | None, tuple[str, ...]]:
    """Return the unicity of people by all that is released of them; or a note why not."""
    if len(policy.compared_columns) > UNICITY_COLUMNS:
        return None, (f"how many people any few columns single out is not counted for more than {UNICITY_COLUMNS}",)
    try:
        return unicity_of(_count_trees(tables, policy, policy.compared_columns), watch), ()
    except PolicyError as error:
        return None, (str(error),)


def _refuse_of_linked(asked: Asked) -> None:
    """Raise if something was asked of several tables that only rows of one have."""
    mistakes = []
    if asked.person is not None:
        mistakes.append("person: the policy says whose the rows of each table are; leave it out")
    if asked.weights is not None:
        mistakes.append("weights: they are those of rows, and of several tables people are counted; leave them out")
    if asked.population is not None and not isinstance(asked.population, int):
        mistakes.append(
            "population: people of several tables are told by all their rows, which a table of the population does not "
            "have; give how many people it has"
        )
    if mistakes:
        raise PolicyError(mistakes)


def _plain_policy(policy: Policy, known: Sequence[str]) -> Policy:
    """Return a policy of the same tables whose known cells are counted as they stand, values and labels alike."""
    tables = {
        name: replace(
            table,
            columns={own: quasi() if f"{name}.{own}" in known else other() for own in table.columns},
            eligible=(),
        )
        for name, table in policy.tables.items()
    }
    return Policy(tables=tables, privacy=[KAnonymity(1)], person=policy.person)


@contextmanager
def _under_persons_name(rows: Rows, person: Sequence[str]) -> Iterator[Rows]:
    """Return rows in which the pseudonyms of a release stand in the column that says whose row it is."""
    if PSEUDONYM in rows.columns() and len(person) == 1 and person[0] not in rows.columns():
        with rows.with_names({PSEUDONYM: person[0]}) as named:
            yield named
    else:
        yield rows


def _dependencies(rows: Rows, policy: Policy | None, quasi: Sequence[str]) -> list[str]:
    """Say which columns that are released as they are tell a quasi column."""
    shown = [one for one in (policy.with_role("other", "sensitive") if policy else ()) if one in rows.columns()]
    return [*(one.sentence for one in find_dependencies(rows, shown, quasi)), *unseen_pairs(shown, quasi)]


def _unicity(
    rows: Rows, policy: Policy | None, whose: Sequence[str], watch: Watch
) -> tuple[Unicity | None, tuple[str, ...]]:
    """Return the unicity of all that is released, or of the whole table without a policy; or a note why not."""
    left_out = {PSEUDONYM, *whose} if policy is None else {*policy.with_role("identifier"), *policy.pseudonym_columns}
    names = [name for name in rows.columns() if name not in left_out]
    if len(names) > UNICITY_COLUMNS:
        said = f"how many rows any few cells single out is not counted for more than {UNICITY_COLUMNS} columns at once"
        return None, (f"{said}; ask unicity() by some of them",)
    try:
        return count_unicity(rows, names, watch), ()
    except PolicyError as error:
        return None, (str(error),)


@contextmanager
def _as_declared(rows: Rows, policy: Policy | None) -> Iterator[Rows]:
    """Return the rows as a policy declares their cells; the labels of a released table stay as they are."""
    if policy is None:
        yield rows
        return
    with as_declared(rows, policy, labels_among) as read:
        yield read


def _whose_rows(
    rows: Rows, policy: Policy | None, person: str | Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns that say whose row it is, and what is to be noted if the policy's are not in the table."""
    if person is not None:
        named = Person.of(person).columns
        refuse_absent(rows, named)
        return named, ()
    asked = () if policy is None else policy.person_columns
    absent = [name for name in asked if name not in rows.columns()]
    if not absent:
        return asked, ()
    if policy is not None and policy.links_rows and PSEUDONYM in rows.columns():
        return (PSEUDONYM,), (LINKED,)
    said = f"rows were counted, not people: the table has no {', '.join(map(repr, absent))} to say whose they are"
    return (), (said,)


def _refuse_people(quasi: Sequence[str], person: Sequence[str], weights: str | None) -> None:
    """Raise if people cannot be counted as it was asked for."""
    mistakes = [f"quasi: {name!r} says whose row it is; leave it out, or person" for name in person if name in quasi]
    if person and weights is not None:
        mistakes.append("weights: they are those of rows, and people are counted here; leave out weights or person")
    if mistakes:
        raise PolicyError(mistakes)
