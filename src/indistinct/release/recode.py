"""The rows of a release: recoded in fresh random order, their people counted and then hidden or under pseudonyms."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

from indistinct.counting.joined_tables import TableCount
from indistinct.engine import ClassPlan, Encoded, LocalPlan, Plan, Rows
from indistinct.errors import InfeasibleError, PolicyError
from indistinct.policy import PSEUDONYM, Policy
from indistinct.proof.checks import Check
from indistinct.proof.people_recount import count_people, released_people_check
from indistinct.randomness import SECURE, Draws
from indistinct.recoding import LinkedRecoding, Recoding
from indistinct.recoding.table_plans import table_plans, with_shifts
from indistinct.release.perturbing import perturb
from indistinct.release.pseudonyms import PseudonymKey


def recode_rows(
    encoded: Encoded, recoding: Recoding, policy: Policy, extra: tuple[str, ...] = (), draws: Draws = SECURE
) -> dict[str, Rows]:
    """Return the released tables of one by name; ``extra`` columns stay beside the quasi columns, as they are."""
    plan = replace(recoding.plan(policy, extra), draws=draws)
    if policy.shifted:
        plan = _with_moved_dates(plan, recoding, policy)
    if policy.perturbed and not isinstance(plan, Plan):
        raise PolicyError("microaggregate and noise: numbers are perturbed only where every column has one level")
    if isinstance(plan, ClassPlan):
        return encoded.divide(plan)
    if plan.blank:
        _refuse_unsafe_blanks(recoding, policy)
    rows = encoded.recode(plan)
    return {recoding.form.first: perturb(rows, policy, draws) if policy.perturbed else rows}


def recode_linked(
    encoded: Mapping[str, Encoded],
    tables: Mapping[str, TableCount],
    recoding: Recoding,
    extra: tuple[str, ...] = (),
    draws: Draws = SECURE,
) -> dict[str, Rows]:
    """Return the released rows of several tables, still with what says whose they are, and with ``extra`` columns."""
    plans: Mapping[str, Plan | LocalPlan]
    if recoding.known_events is not None:
        from indistinct.recoding.histories import HistoryRecoding, history_plans

        assert isinstance(recoding, HistoryRecoding)  # no other knows of events
        plans = history_plans(tables, recoding, extra, draws)
    else:
        assert isinstance(recoding, LinkedRecoding)  # every column has one level
        plans = table_plans(tables, recoding, extra, draws)
    with ExitStack() as stack:
        parts = {name: stack.enter_context(encoded[name].recode(plan)) for name, plan in plans.items()}
        stack.pop_all()
    return parts


def _with_moved_dates(plan: Plan | LocalPlan | ClassPlan, recoding: Recoding, policy: Policy) -> Plan:
    """Return the plan in which the dates of each person move by a number of days of her own."""
    entries = recoding.frequencies.entries
    if not isinstance(plan, Plan) or entries.persons is None:
        raise PolicyError("shift: dates move only where every column has one level and it is said whose rows they are")
    return with_shifts(plan, policy, entries.codes, entries.persons)


def count_and_hide_people(
    parts: dict[str, Rows], recoding: Recoding, policy: Policy, key: PseudonymKey | None
) -> list[Check]:
    """Count the people on rows that are to leave, and then take out what says whose they are, or give pseudonyms.

    People of several tables are counted by their pseudonyms, when those tables are verified.
    """
    checks: list[Check] = []
    for name, part in policy.parts.items():
        place = policy.form.released_as(name, recoding.form)
        for column in part.policy.pseudonymous:
            assert key is not None  # made where there are pseudonyms
            own = key.for_column(_name_of_key(policy, name, column), part.policy)
            parts[place] = parts[place].with_pseudonyms((column,), own, column)
        if not part.person:
            continue
        if part.policy.is_whole:
            checks += count_people(parts[place], policy, part.person)
            facts = recoding.people_facts(policy)
            if facts is not None and (policy.suppressed_rows == "remove" or not recoding.suppressed_rows):
                checks.append(released_people_check(parts[place], policy, facts))
        if policy.links_rows and key is not None:
            parts[place] = parts[place].with_pseudonyms(part.person, key.for_person(part.policy), PSEUDONYM)
        else:
            parts[place] = parts[place].without(part.person)
    return checks


def _name_of_key(policy: Policy, table: str, column: str) -> str:
    """Return under which name an identifier gets its pseudonyms: a reference has those of the key it refers to."""
    part = policy.parts[table]
    if part.policy.is_whole:
        return column
    if column == part.reference and part.parent is not None:
        return f"{part.parent}.{policy.parts[part.parent].key}"
    return f"{table}.{column}"


def _refuse_unsafe_blanks(recoding: Recoding, policy: Policy) -> None:
    """Raise if suppressed rows, released with a blank quasi-identifier, would themselves be too small a group."""
    if recoding.looks_suppressed():
        raise InfeasibleError(
            "suppressed_rows = 'blank' is not possible here: some rows have no quasi cell at all and could not be told "
            "from suppressed ones; use suppressed_rows = 'remove', or leave those rows out with a filter"
        )
    if not recoding.suppressed_rows:
        return
    blanks = recoding.suppressed_as_one()
    for _, _, model in policy.requirements():
        if model.asks_whole_table:
            raise InfeasibleError(
                f"suppressed_rows = 'blank' is not possible with {model.name}, which compares groups with the whole "
                "table: blank rows would count there; use suppressed_rows = 'remove'"
            )
        if not model.holds(blanks).all():
            raise InfeasibleError(
                f"suppressed_rows = 'blank' is not safe here: {recoding.suppressed_rows} blank rows fail "
                f"{model.name}; use suppressed_rows = 'remove', or algorithm = 'datafly', which suppresses at least k"
            )
