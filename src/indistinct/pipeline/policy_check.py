"""check(): every mistake of a policy on a table, and whether a release can satisfy it, without making one."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from indistinct.counting import FrequencyList, as_declared, encode_eligible
from indistinct.disclosure_risk import HIGH, UNICITY_COLUMNS, count_unicity
from indistinct.engine import Rows
from indistinct.errors import IndistinctError, PolicyError
from indistinct.linkage import Dependency, count_encoded, find_dependencies, unseen_pairs
from indistinct.pipeline.refusals import refuse_tables, refuse_unable
from indistinct.pipeline.stages import encode_tables, open_tables
from indistinct.policy import Policy
from indistinct.policy.files.policy_file import load_policy
from indistinct.privacy import KAnonymity
from indistinct.privacy.model import least_rows
from indistinct.progress import Watch
from indistinct.regimes import unsaid
from indistinct.search import Task, algorithm_of, as_algorithm, refusal
from indistinct.showing.numbers import figure

FEWEST_ROWS = 100
"""In smaller tables everybody stands alone by a few cells; that is not worth a warning."""
MOST_KNOWN = 4
"""Cells that whoever looks for somebody is taken to know, at most, where a check warns of columns."""


@dataclass(frozen=True, slots=True)
class PolicyCheck:
    """What became of holding a policy against a table."""

    figures: Mapping[str, int] = field(default_factory=dict)
    """How anonymous the table is as it is, and what would be suppressed at the top; empty if there are mistakes."""
    error: IndistinctError | None = None
    """What anonymize would raise: a PolicyError with every mistake, or an InfeasibleError."""
    dependencies: tuple[Dependency, ...] = ()
    """Columns that the policy releases as they are, and that tell a quasi column."""
    notes: tuple[str, ...] = ()
    """What else is to be known before a release."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """The columns that the policy gives another name in the release, with that name."""
    unsaid: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What the policy does not say of its context, by the regime that asks for it; nothing where it says no context."""
    unknown_values: Mapping[str, Sequence[str | None]] = field(default_factory=dict, repr=False)
    """The values of each column that its hierarchy lacks, cells of the private table; only if they were asked for."""

    @property
    def mistakes(self) -> tuple[str, ...]:
        """Every way in which the policy does not fit the table."""
        return tuple(self.error.mistakes) if isinstance(self.error, PolicyError) else ()

    @property
    def is_feasible(self) -> bool:
        """The policy fits the table, and its algorithm finds a release."""
        return self.error is None

    def raise_if_infeasible(self) -> None:
        """Raise what anonymize would raise, if anything."""
        if self.error is not None:
            raise self.error

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON takes it, without values of the table."""
        mistakes = {"mistakes": list(self.mistakes)} if self.mistakes else {}
        told: dict[str, Any] = (
            {"dependencies": [one.to_dict() for one in self.dependencies]} if self.dependencies else {}
        )
        told |= {"notes": list(self.notes)} if self.notes else {}
        told |= {"renamed": dict(self.renamed)} if self.renamed else {}
        told |= {"unsaid": {name: list(lacks) for name, lacks in self.unsaid.items()}} if self.unsaid else {}
        return {**self.figures, **told, "feasible": self.is_feasible, **mistakes}

    def __str__(self) -> str:
        return "the policy fits the table and can be met" if self.error is None else str(self.error)


def check(
    table: Any,
    policy: Policy | str | os.PathLike[str],
    *,
    show_values: bool = False,
    watch: Watch | None = None,
    **reading: Any,
) -> PolicyCheck:
    """Tell every mistake of a policy, or of its file, on a table, or else whether a release can satisfy it.

    With ``show_values`` the result also holds the values that a hierarchy lacks, which are cells of the private table.
    ``reading`` goes to the engine, as for ``anonymize``. Several tables that belong together are given by name.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, quasi, suppress
    >>> policy = Policy(columns={"zip": quasi(suppress())}, privacy=[KAnonymity(2)])
    >>> check(pa.table({"zip": ["02138", "02139"]}), policy).is_feasible
    True
    >>> print(check(pa.table({"town": ["Cambridge"]}), policy))
    2 mistakes in the policy:
      - columns.zip: the table has no such column
      - column 'town' of the table is not declared; give it a role (identifier, quasi, sensitive, other or drop)
    """
    watch, policy = watch or Watch(), load_policy(policy)
    with open_tables(table, policy, **reading) as tables:
        watch.report("count")
        try:
            with ExitStack() as opened:
                task = Task.of(_count(tables, policy, opened), policy)
                refuse_unable(policy, algorithm_of(policy))
                told, notes = _warnings(tables, policy, opened)
        except PolicyError as error:
            return PolicyCheck(error=error, unknown_values=_unknown_values(tables, policy) if show_values else {})
        figures = _figures(task, sum(rows.count() for rows in tables.values()))
        watch.report("search")
        has_context = policy.context is not None or bool(policy.recipients)
        lacks = unsaid(policy) if has_context else {}
        return PolicyCheck(figures, refusal(task, watch), told, notes, policy.renamed, lacks)


def _warnings(
    tables: Mapping[str, Rows], policy: Policy, opened: ExitStack
) -> tuple[tuple[Dependency, ...], tuple[str, ...]]:
    """Return the columns that tell a quasi column though they leave as they are, and what else is to be known."""
    told: list[Dependency] = []
    notes = [*_notes(policy)]
    for name, part in policy.parts.items():
        rows = opened.enter_context(as_declared(tables[name], part.policy))
        as_they_are = [own for own in part.policy.compared_columns if own not in part.policy.quasi]
        found = find_dependencies(rows, as_they_are, part.policy.quasi)
        more = [*_singled_out(rows, as_they_are), *unseen_pairs(as_they_are, part.policy.quasi)]
        more += _made_of_table(rows, part.policy)
        full_name = partial(policy.form.full_name, name)
        told += [replace(one, column=full_name(one.column), tells=full_name(one.tells)) for one in found]
        notes += [policy.form.place(name) + note for note in more]
    return tuple(told), tuple(notes)


def _singled_out(rows: Rows, as_they_are: Sequence[str]) -> list[str]:
    """Warn if columns that leave as they are make many rows unique, whatever becomes of the quasi columns.

    Of very many some are looked at, spread evenly: all of them only make more rows unique.
    """
    if not as_they_are or rows.count() < FEWEST_ROWS:
        return []
    some = as_they_are[:: -(-len(as_they_are) // UNICITY_COLUMNS)]
    try:
        found = count_unicity(rows, some)
    except PolicyError:  # more distinct rows than it is counted for
        return []
    worst = max((one for one in found.known if one.cells <= MOST_KNOWN), key=lambda one: one.worst)
    if worst.worst <= HIGH:
        return []
    which = "" if len(some) == len(as_they_are) else f" ({len(some)} of {len(as_they_are):,} columns were looked at)"
    return [
        f"{worst.worst:.1%} of the rows stand alone by {', '.join(worst.columns)}, which leave as they are; on average "
        f"over as many columns {worst.mean:.1%}{which}; make some of them quasi, recode or drop them"
    ]


def _made_of_table(rows: Rows, policy: Policy) -> list[str]:
    """Remind whoever draws rows that no part of the policy may come from the table, and name what looks like it."""
    if not policy.is_drawn:
        return []
    hierarchies = {name: policy.columns[name].hierarchy for name in policy.quasi}
    with encode_eligible(rows, policy, policy.quasi) as encoded:
        like = [name for name, hierarchy in hierarchies.items() if hierarchy.lists_just(encoded.values[name])]
    named = f"; {', '.join(like)}: just the values of the table are listed, as if they came from it" if like else ""
    return [
        "differential privacy holds only if nothing of the policy was made from this table or guessed by init: "
        f"hierarchies, their bounds, which rows are eligible{named}"
    ]


def _notes(policy: Policy) -> tuple[str, ...]:
    """Say what a release by a policy needs that a check does not."""
    names = ", ".join(policy.stable_pseudonyms)
    told = f"the pseudonyms of {names} are to be the same in all releases, so only a ledger can release it (--ledger)"
    return (*((told,) if names else ()), *_above_threshold(policy))


def _above_threshold(policy: Policy) -> list[str]:
    """Warn if the k of a policy lets a release be above the threshold of its context."""
    context = policy.context
    if context is None or context.limit is None or context.which == "average":
        return []
    k = max(map(least_rows, policy.privacy), default=1)
    if context.likelihood / k <= context.limit.value * (1 + 1e-12):
        return []
    needed = math.ceil(context.likelihood / context.limit.value - 1e-9)
    return [
        f"k = {k} leaves a risk of up to {figure(context.likelihood / k)} in this context, above the threshold "
        f"{figure(context.limit.value)}; k = {needed:,} is enough"
    ]


def _count(tables: Mapping[str, Rows], policy: Policy, opened: ExitStack) -> FrequencyList:
    """Count the tables, or raise one error with every column and every hierarchy that does not fit."""
    try:
        refuse_tables(tables, policy)
        return count_encoded(encode_tables(tables, policy, opened), policy)[0]
    except PolicyError as error:
        if more := _further_mistakes(tables, policy):
            raise PolicyError([*error.mistakes, *more]) from None
        raise


def _further_mistakes(tables: Mapping[str, Rows], policy: Policy) -> list[str]:
    """List the hierarchies that do not fit, of tables that lack other columns of the policy."""
    mistakes = []
    for name, rows in tables.items():
        own = policy.parts[name].policy if name in policy.parts else None
        fitting = None if own is None else _fitting_part(own, rows.columns())
        if fitting is None or fitting is own:
            continue
        try:
            with encode_eligible(rows, fitting) as encoded:
                FrequencyList.count(encoded, fitting)
        except PolicyError as error:
            mistakes += [policy.form.place(name) + mistake for mistake in error.mistakes]
    return mistakes


def _fitting_part(policy: Policy, columns: Sequence[str]) -> Policy | None:
    """Return what a policy says about the columns that a table has, or None if no quasi column is left."""
    if all(name in columns for name in policy.columns):
        return policy
    known = {name: column for name, column in policy.columns.items() if name in columns}
    person = [name for name in policy.person_columns if name in columns]
    if not any(column.role == "quasi" for column in known.values()):
        return None
    eligible = [condition for condition in policy.eligible if condition.column in known]
    fewer = {"person": person or None, "columns": known, "eligible": eligible, "quasi_identifiers": None}
    return replace(policy, privacy=[KAnonymity(1)], **fewer)  # type: ignore[arg-type]


def _unknown_values(tables: Mapping[str, Rows], policy: Policy) -> dict[str, list[str | None]]:
    """Return the values of each quasi column that its hierarchy lacks: for the holder's own eyes only."""
    unknown: dict[str, list[str | None]] = {}
    for name, part in policy.parts.items():
        found = _unknown_in(tables[name], part.policy) if name in tables else {}
        unknown |= {policy.form.full_name(name, own): values for own, values in found.items()}
    return unknown


def _unknown_in(rows: Rows, policy: Policy) -> dict[str, list[str | None]]:
    """Return the values of each quasi column of one table that its hierarchy lacks."""
    fitting = _fitting_part(policy, rows.columns())
    if fitting is None:
        return {}
    known = {
        name: column if column.recode is None else replace(column, recode=None, unreadable="refuse")
        for name, column in fitting.columns.items()
    }
    fitting = replace(fitting, columns=known)
    with as_declared(rows, fitting) as read, encode_eligible(read, fitting, fitting.quasi) as encoded:
        values = encoded.values
    unknown: dict[str, list[str | None]] = {}
    for name in fitting.quasi:
        try:
            policy.columns[name].compile(values[name])
        except PolicyError as error:
            codes: tuple[int, ...] = getattr(error, "codes", ())
            if codes:
                unknown[name] = [values[name][code] for code in codes]
    return unknown


def _figures(task: Task, rows: int) -> dict[str, int]:
    """Return how anonymous a table is as it is, and what would be suppressed at the top of the lattice."""
    frequencies = task.frequencies
    sizes, crowds = frequencies.base.sizes, frequencies.base.sizes_in_people()
    people = {"people": task.number_of_people(), "unique_people": int((crowds == 1).sum())}
    top, _ = frequencies.roll_up(frequencies.heights)
    return {
        "rows": rows,
        "eligible": frequencies.rows,
        "tuples": len(sizes),
        "unique_rows": int((sizes == 1).sum()),
        **(people if task.counts_people else {}),
        "k_of_the_table": int(crowds.min(initial=frequencies.rows)),
        "k_of_the_policy": task.largest_k(),
        "unsafe_rows": task.recoding(frequencies.base).suppressed_rows,
        "lattice_nodes": math.prod(
            height - low + 1 for low, height in zip(frequencies.start, frequencies.heights, strict=True)
        ),
        "suppression_allowed": as_algorithm(algorithm_of(task.policy)).allowed_suppression(task),
        "suppression_at_the_top": task.recoding(top).suppressed_rows,
    }
