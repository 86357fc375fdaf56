"""Recoding of several tables: one answer for all of them, put in the engine's terms for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import IntArray
from indistinct.counting.joined_tables import TableCount
from indistinct.engine.plans import Plan, Shifts
from indistinct.policy import Policy
from indistinct.randomness import SECURE, Draws
from indistinct.recoding.linked import LinkedRecoding


def people_gone(recoding: LinkedRecoding) -> BoolArray:
    """Return which people are suppressed, with their rows in all tables."""
    people = recoding.groups.people
    assert people is not None  # rows are linked
    is_gone = np.zeros(int(people.persons.max(initial=-1)) + 1, np.bool_)
    is_gone[people.persons[recoding.is_gone]] = True
    return is_gone


def table_plans(
    tables: Mapping[str, TableCount], recoding: LinkedRecoding, extra: tuple[str, ...] = (), draws: Draws = SECURE
) -> dict[str, Plan]:
    """Return the plan of each table; what says whose rows they are stays, until pseudonyms take its place.

    ``extra`` columns stay as they are.
    """
    is_gone = people_gone(recoding)
    shifts = [shift for table in tables.values() for shift in table.part.policy.shifted.values()]
    days = draw_days(len(is_gone), shifts[0].days, draws) if shifts else None
    levels = recoding.levels
    plans = {}
    for name, table in tables.items():
        own = {column: levels[f"{name}.{column}"] for column in table.part.policy.quasi}
        plan = _table_plan(table, own, is_gone, days)
        plans[name] = replace(plan, columns=(*plan.columns, *extra), draws=draws.part(name))
    return plans


def _table_plan(table: TableCount, levels: Mapping[str, int], is_gone: BoolArray, days: IntArray | None) -> Plan:
    """Return the plan of one table: labels at these levels, without the rows of people who are gone."""
    part, policy = table.part, table.part.policy
    maps = {column: table.hierarchies[column].maps[level] for column, level in levels.items()}
    labels = {column: table.hierarchies[column].labels[level] for column, level in levels.items()}
    as_they_are = [column for column in table.codes if column not in levels]
    for column in as_they_are:
        maps[column] = np.arange(len(table.values[column]))
        labels[column] = tuple(table.values[column])
    goes = is_gone[table.persons]
    shifts = None
    if days is not None and policy.shifted:
        formats = {column: shift.format for column, shift in policy.shifted.items()}
        shifts = shifts_by(formats, {column: table.codes[column] for column in table.told_by}, days[table.persons])
    released = (*policy.with_role("quasi", "sensitive", "other"), *policy.pseudonymous, *part.person)
    return Plan(
        columns=released,
        maps=maps,
        labels=labels,
        kept=frozenset([*(column for column, level in levels.items() if level == 0), *as_they_are]),
        suppressed={column: table.codes[column][goes] for column in table.told_by},
        shifts=shifts,
    )


def with_shifts(plan: Plan, policy: Policy, codes: Mapping[str, IntArray], persons: IntArray) -> Plan:
    """Return the plan of one table in which the dates of each person move by a number of days of her own."""
    shifted = policy.shifted
    days = draw_days(int(persons.max(initial=-1)) + 1, next(iter(shifted.values())).days, plan.draws)
    formats = {column: shift.format for column, shift in shifted.items()}
    apart = {column: codes[column] for column in policy.person_columns}
    return replace(plan, shifts=shifts_by(formats, apart, days[persons]))


def shifts_by(formats: Mapping[str, str | None], codes: Mapping[str, IntArray], days: IntArray) -> Shifts:
    """Return the days of each combination of codes once; entries with equal codes have equal days."""
    distinct, first = np.unique(np.stack(list(codes.values())), axis=1, return_index=True)
    return Shifts(formats, dict(zip(codes, distinct, strict=True)), days[first])


def draw_days(people: int, most: int, draws: Draws) -> IntArray:
    """Draw a number of days from -most to most for each person.

    A remainder of 64 bits is uniform up to one in 2**51. Nobody keeps the numbers.
    """
    drawn = draws.part("days").keys(people) % np.uint64(2 * most + 1)
    return drawn.astype(np.int64) - most
