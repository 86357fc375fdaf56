"""What is refused before any work: promises that a policy cannot keep, algorithms that cannot do what it asks, and
tables with people who repeat unsaid, or with cells that it cannot take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from indistinct.engine import ELSEWHERE, Rows
from indistinct.errors import PolicyError, TableError
from indistinct.policy import Person, Policy
from indistinct.policy.algorithms import Declaration, PredictionTarget, choices_that, declaration_of
from indistinct.policy.policy import TARGETED
from indistinct.profiling import NAMESAKES, names_people, number_people, repeated_entity
from indistinct.randomness import Seed
from indistinct.release.pseudonyms import read_key, refuse_unrepeatable
from indistinct.search import Algorithm
from indistinct.showing.words import counted

READ_AS_NUMBERS = ("intervals", "rounding")
"""Hierarchies whose labels follow from the number that a cell is, however it is written."""
MOST_LOOKED_AT = 20_000
"""Of a longer table the first rows show whether people have several."""
MOST_COLUMNS_LOOKED_AT = 400
"""Of a wider table the first columns that are released or name people; to ask for thousands takes minutes."""
MOST_NAMED = 3


def refuse_tables(tables: Mapping[str, Rows], policy: Policy, seed: Seed | None = None) -> None:
    """Raise if a policy does not fit its tables, or cannot be kept on them: all that is known before they are read."""
    policy.check_tables({name: rows.columns() for name, rows in tables.items()})  # every mistake at once
    policy.form.refuse_engines({name: rows.kind for name, rows in tables.items()})
    if seed is not None:
        for rows in tables.values():
            refuse_seed(rows, policy)
    refuse_broken_promises(policy)
    refuse_bad_key(policy)


def refuse_cells(tables: Mapping[str, Rows], policy: Policy) -> None:
    """Raise with all cells that a policy cannot take, in tables with the cells that it declares."""
    mistakes = []
    for name, part in policy.parts.items():
        refuse_repeated_people(tables[name], part.policy)
        mistakes += [policy.form.place(name) + mistake for mistake in refused_cells(tables[name], part.policy)]
    if mistakes:
        raise PolicyError(mistakes)


def refuse_broken_promises(policy: Policy) -> None:
    """Raise with everything in a policy that would make the promise of one of its models untrue."""
    asked = [model.objections_to for model in policy.privacy if hasattr(model, "objections_to")]
    if mistakes := [mistake for objections_to in asked for mistake in objections_to(policy)]:
        raise PolicyError(mistakes)


def refuse_without_ledger(policy: Policy) -> None:
    """Raise if pseudonyms should be those of earlier releases, though no ledger keeps their key."""
    if policy.stable_pseudonyms:
        names = ", ".join(map(repr, policy.stable_pseudonyms))
        raise PolicyError(
            f"stable: the pseudonyms of {names} are to be the same in all releases, and only a ledger keeps their key "
            "and knows what those releases reveal together; release with one (--ledger), or drop stable"
        )


def refuse_bad_key(policy: Policy) -> None:
    """Raise if the key of the pseudonyms of people cannot be read, is too short, or others could know it."""
    if policy.links_rows and isinstance(policy.person, Person):
        read_key(policy.person)


def refuse_seed(rows: Rows, policy: Policy) -> None:
    """Raise if the release of a table cannot be drawn again from a seed."""
    if rows.kind in ELSEWHERE:
        raise TableError(
            f"seed: rows that {ELSEWHERE[rows.kind]} holds have no order to begin with; leave the seed out, or use "
            "DuckDB"
        )
    if policy.pseudonym_columns:
        refuse_unrepeatable(policy.person)
    if policy.is_drawn:
        raise PolicyError("seed: differential privacy holds only for draws that nobody can repeat; leave the seed out")


def refuse_unable(policy: Policy, algorithm: Algorithm) -> None:
    """Raise if an algorithm cannot do what a policy asks: count people, link rows, move dates, keep to levels."""
    declared = declaration_of(algorithm)
    if policy.knows is not None:
        refuse_for_histories(declared)
        return
    if policy.tables and not declared.links_tables:
        raise PolicyError(
            f"tables: the algorithm {algorithm.name!r} does not look at all rows of a person in several tables; "
            f"choose {choices_that('links_tables')}"
        )
    if policy.person_columns and not declared.counts_people:
        raise PolicyError(
            f"person: the algorithm {algorithm.name!r} counts rows, not people; choose {choices_that('counts_people')}"
        )
    if policy.links_rows and not declared.links_rows:
        raise PolicyError(
            f"person: the algorithm {algorithm.name!r} does not look at all rows of a person together, which "
            f"pseudonyms link; choose {choices_that('links_rows')}"
        )
    for what, asked in (("shift", policy.shifted), ("microaggregate and noise", policy.perturbed)):
        if asked and not declared.has_one_level:
            raise PolicyError(
                f"{what}: the algorithm {algorithm.name!r} neither moves dates nor perturbs numbers; choose "
                f"{choices_that('has_one_level')}"
            )
    refuse_other_target(policy, algorithm)
    refuse_undrawn(policy, algorithm)
    refuse_other_levels(policy, algorithm)


def refuse_other_target(policy: Policy, algorithm: Algorithm) -> None:
    """Raise if the policy names a target and the algorithm has another one, or none.

    Then verify and attacks, which ask the policy, would be misled about what the search looked at.
    """
    given = PredictionTarget.of(getattr(algorithm, "target", None))
    if (None if given is None else given.column) == policy.target_column or not declaration_of(algorithm).is_search:
        return
    if policy.links_rows:
        raise PolicyError("options.target: rows that pseudonyms link are grouped by person; leave the target out")
    names, has = (repr(one) if one else "none" for one in (policy.target_column, given and given.column))
    raise PolicyError(
        f"options.target: the policy names {names}, and the algorithm {algorithm.name!r} has {has}; name it in the "
        f"policy, as options of {', '.join(TARGETED)}"
    )


def refuse_for_histories(declared: Declaration) -> None:
    """Raise if an algorithm cannot recode the table of people where others know some of their events."""
    if declared.kind == "two-table" or declared.draws_rows or not declared.is_safe or declared.name == "applied":
        raise PolicyError(
            f"knows: the algorithm {declared.name!r} does not give each person of a table labels of her own, safely; "
            "choose lattice, samarati, datafly, regroup, mondrian or another that does"
        )


def refuse_undrawn(policy: Policy, algorithm: Algorithm) -> None:
    """Raise if a policy promises how rows are drawn and the algorithm draws none."""
    if policy.is_drawn and not declaration_of(algorithm).draws_rows:
        raise PolicyError(
            f"algorithm: {algorithm.name!r} draws no rows at random, which differential privacy needs; choose "
            f"{choices_that('draws_rows')}"
        )


def refuse_other_levels(policy: Policy, algorithm: Algorithm) -> None:
    """Raise if an algorithm does not keep to the levels that a policy demands."""
    demanding = [name for name in policy.quasi if policy.columns[name].demands_levels]
    if demanding and not declaration_of(algorithm).keeps_levels:
        raise PolicyError(
            f"columns.{demanding[0]}: the algorithm {algorithm.name!r}, as it is asked for, does not keep to min_level "
            f"and max_level; choose {choices_that('keeps_levels')}, with labels of the hierarchy"
        )


def refuse_repeated_people(rows: Rows, policy: Policy) -> None:
    """Raise if eligible rows seem to be of the same people, of whom the policy says nothing.

    Looked at are identifiers whose name says that they number people, and all that name people together; then, whatever
    columns are called, whether there is one within whose equal rows many others stay the same.
    """
    if policy.person_columns or policy.one_row_per_person or not policy.is_whole:
        return
    kinds = {name: names_people(name) for name in policy.with_role("identifier") if not name.startswith(".")}
    conditions = [condition.as_triple() for condition in policy.eligible]
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    mistakes = []
    for name in numbers:
        present, distinct = rows.repeats_of([name], conditions)
        if number_people(present, distinct):
            mistakes.append(_several_rows([name], present, distinct))
    names = [name for name, kind in kinds.items() if kind == "name"]
    if names and not numbers:
        present, distinct = rows.repeats_of(names, conditions)
        if present - distinct > NAMESAKES * present:
            mistakes.append(_several_rows(names, present, distinct))
    if not mistakes and not conditions and rows.kind not in ELSEWHERE:  # whole rows would leave where they are
        mistakes = _same_within(rows, policy)
    if mistakes:
        raise PolicyError(mistakes)


def _same_within(rows: Rows, policy: Policy) -> list[str]:
    """Say which column seems to say whose rows these are, by what stays the same within its equal rows."""
    names = [name for name in policy.columns if not name.startswith(".")]
    names = sorted(names, key=lambda name: policy.columns[name].role == "drop")[:MOST_COLUMNS_LOOKED_AT]
    taken: list[pa.RecordBatch] = []
    with rows.texts(names) as stream:
        for batch in stream:
            taken.append(batch)
            if sum(one.num_rows for one in taken) >= MOST_LOOKED_AT:
                break
    found = repeated_entity(pa.Table.from_batches(taken, stream.schema).slice(0, MOST_LOOKED_AT))
    if found is None or not found.constant:
        return []  # that rows stand together alone is no proof
    same = ", ".join(map(repr, found.constant[:MOST_NAMED]))
    return [
        f"person: rows with the same {found.column!r} agree in {same}, so they seem to be of one person or household; "
        f"say person = {found.column!r} and people are counted, or one_row_per_person = true if every row is of "
        "somebody else"
    ]


def _several_rows(names: Sequence[str], present: int, distinct: int) -> str:
    """Say that some people seem to have several rows, and what to do."""
    person = repr(names[0]) if len(names) == 1 else f"[{', '.join(map(repr, names))}]"
    said = "is" if len(names) == 1 else "are together"
    return (
        f"person: {', '.join(map(repr, names))} {said} the same in several rows ({distinct} different in {present}), "
        f"so people seem to have several; say person = {person} and people are counted, or one_row_per_person = true "
        "if every row is of somebody else"
    )


def refused_cells(rows: Rows, policy: Policy) -> list[str]:
    """Say what cells the policy cannot take: how many there are, of columns that no search looks at."""
    cells = [*unreadable_dates(rows, policy), *unreadable_numbers(rows, policy), *missing_cells(rows, policy)]
    return [*cells, *telling_types(rows, policy)] if policy.is_drawn else cells


def telling_types(rows: Rows, policy: Policy) -> list[str]:
    """Say which columns of floating numbers would show, where rows are drawn, that somebody is in the table.

    One missing cell makes whole numbers of pandas floating, one fraction those of a spreadsheet: then every cell reads
    20.0 in place of 20. What ``intervals`` and the like make of numbers is the same for both.
    """
    types = rows.head(0).schema
    found = [name for name in policy.quasi if pa.types.is_floating(types.field(name).type)]
    columns = {name: policy.columns[name] for name in found}
    return [
        f"columns.{name}: cells of floating numbers read 20.0 where one of them has a fraction or is missing, and 20 "
        "where none is, which tells of people who are not drawn; make them whole numbers (Int64 in pandas) or text, "
        "or use intervals or rounding with min_level = 1"
        for name, column in columns.items()
        if column.hierarchy.kind not in READ_AS_NUMBERS or not column.lowest_level
    ]


def unreadable_dates(rows: Rows, policy: Policy) -> list[str]:
    """Say how many cells of columns whose dates move are none; a missing cell stays missing."""
    conditions = [condition.as_triple() for condition in policy.eligible]
    mistakes = []
    for name, shift in policy.shifted.items():
        if wrong := rows.unreadable_dates(name, shift.format, conditions):
            expected = "an ISO date" if shift.format is None else repr(shift.format)
            mistakes.append(
                f"columns.{name}.shift: {counted(wrong, 'row holds', 'rows hold')} what cannot be read as {expected}, "
                "or lies before the year 20 or after 9980; give shift their format, or correct the table"
            )
    return mistakes


def unreadable_numbers(rows: Rows, policy: Policy) -> list[str]:
    """Say how many cells of columns whose numbers are perturbed are none; a missing cell stays missing."""
    conditions = [condition.as_triple() for condition in policy.eligible]
    found = {name: rows.unreadable_numbers(name, conditions) for name in policy.perturbed}
    return [
        f"columns.{name}.{key}: {counted(wrong, 'row holds', 'rows hold')} what is no number, or one beyond 1e150; "
        "list codes that mean a missing cell under missing, or correct the table"
        for name, wrong in found.items()
        if wrong
        for key in policy.columns[name].describe_perturbation()
    ]


def missing_cells(rows: Rows, policy: Policy) -> list[str]:
    """Say how many cells are missing where a policy refuses that; quasi columns say it when they are counted."""
    conditions = [condition.as_triple() for condition in policy.eligible]
    mistakes = []
    for name, column in policy.columns.items():
        if column.missing != "refuse" or column.role == "quasi":
            continue
        with rows.encode([name], [*conditions, (name, "missing", None)]) as found:
            missing = found.rows
        if missing:
            mistakes.append(
                f"columns.{name}.missing: {counted(missing, 'row has', 'rows have')} no cell there, which the policy "
                "refuses; fill them, leave those rows out with a filter (op = 'present'), or say missing = 'value'"
            )
    return mistakes
