"""``indistinct check``: every mistake of a policy on a table, and whether a release can satisfy it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from indistinct.cli import show
from indistinct.cli.options import (
    AsJson,
    Delimiter,
    Encoding,
    Engine,
    Master,
    Memory,
    PolicyPath,
    Table,
    Threads,
    reading,
)
from indistinct.errors import InfeasibleError, PolicyError

if TYPE_CHECKING:
    from indistinct.algorithms import Task
    from indistinct.counting import FrequencyList
    from indistinct.engine import Rows
    from indistinct.policy import Policy

MOST_SHOWN = 50


def check(
    policy_path: PolicyPath,
    table: Table,
    show_values: Annotated[
        bool,
        typer.Option("--show-values", help="Show the values that a hierarchy lacks: cells of the private table."),
    ] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    memory: Memory = None,
    threads: Threads = None,
    engine: Engine = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Find every mistake of a policy on a table, and tell whether a release can satisfy it.

    Exit code 2 says that there are mistakes, 3 that no release can satisfy the policy.
    """
    from indistinct.algorithms import Task
    from indistinct.algorithms.feasibility import refusal
    from indistinct.engine import open_table
    from indistinct.policy.policy_file import read_policy

    policy = read_policy(policy_path)
    limits = reading(delimiter, encoding, memory, threads, engine, master)
    with show.progress() as watch, open_table(table, **limits) as rows:
        watch.report("count")
        try:
            task = Task.of(_counted(rows, policy), policy)
        except PolicyError as error:
            _tell_mistakes(error, _unknown_values(rows, policy) if show_values else {}, as_json)
        report = feasibility(task, rows.count())
        watch.report("search")
        refused = refusal(task, watch)
    _tell_feasibility(report, refused, as_json)
    if not as_json:
        show.next_steps(["anonymize", policy_path, table, "-o", "release"])


def _counted(rows: Rows, policy: Policy) -> FrequencyList:
    """Count the table, or raise one error with every column and every hierarchy that does not fit."""
    from indistinct.counting import FrequencyList
    from indistinct.linkage.population import count_with_population

    try:
        policy.check(rows.columns())
        return count_with_population(rows, policy)
    except PolicyError as error:
        fitting = _fitting(policy, rows.columns())
        if fitting is None or fitting is policy:
            raise
        try:
            FrequencyList.count(rows, fitting)
        except PolicyError as more:
            raise PolicyError([*error.mistakes, *more.mistakes]) from None
        raise


def _fitting(policy: Policy, columns: Sequence[str]) -> Policy | None:
    """Give what a policy says about the columns that a table has, or None if no quasi column is left."""
    if all(name in columns for name in policy.columns):
        return policy
    known = {name: column for name, column in policy.columns.items() if name in columns}
    if not any(column.role == "quasi" for column in known.values()):
        return None
    from indistinct.privacy import KAnonymity

    eligible = [condition for condition in policy.eligible if condition.column in known]
    return replace(policy, columns=known, eligible=eligible, privacy=[KAnonymity(1)], quasi_identifiers=None)


def _unknown_values(rows: Rows, policy: Policy) -> dict[str, list[str | None]]:
    """Give the values of each quasi column that its hierarchy lacks: for the holder's own eyes only."""
    fitting = _fitting(policy, rows.columns())
    if fitting is None:
        return {}
    values = rows.encode(fitting.quasi, [condition.as_triple() for condition in fitting.eligible])
    unknown: dict[str, list[str | None]] = {}
    for name in fitting.quasi:
        try:
            policy.columns[name].compile(values[name])
        except PolicyError as error:
            codes: tuple[int, ...] = getattr(error, "codes", ())
            if codes:
                unknown[name] = [values[name][code] for code in codes]
    return unknown


def _tell_mistakes(error: PolicyError, unknown: Mapping[str, list[str | None]], as_json: bool) -> NoReturn:
    """Tell every mistake, and the values that were asked for, and leave."""
    if not unknown:
        raise error
    if as_json:
        show.document(show.described(error) | {"unknown_values": unknown})
        raise typer.Exit(error.exit_code)
    made = show.table("Values without a label (cells of the private table)", "column", "value")
    for name, values in unknown.items():
        for value in values[:MOST_SHOWN]:
            made.add_row(name, "(missing)" if value is None else value)
        if len(values) > MOST_SHOWN:
            made.add_row(name, f"… {len(values) - MOST_SHOWN:,} more", style=show.QUIET)
    show.out().print(made)
    raise error


def feasibility(task: Task, rows: int) -> dict[str, Any]:
    """Tell how anonymous a table is as it is, and what would be suppressed at the top of the lattice."""
    frequencies = task.frequencies
    sizes = frequencies.base.sizes
    top, _ = frequencies.roll_up(frequencies.heights)
    return {
        "rows": rows,
        "eligible": frequencies.rows,
        "tuples": len(sizes),
        "unique_rows": int((sizes == 1).sum()),
        "k_of_the_table": int(sizes.min(initial=frequencies.rows)),
        "k_of_the_policy": task.largest_k(),
        "unsafe_rows": int(sizes[task.unsafe(frequencies.base)].sum()),
        "lattice_nodes": math.prod(height + 1 for height in frequencies.heights),
        "suppression_allowed": _allowed_suppression(task),
        "suppression_at_the_top": int(top.sizes[task.unsafe(top)].sum()),
    }


def _allowed_suppression(task: Task) -> int:
    """Give the rows that the policy's algorithm may suppress; a release of nothing is none."""
    policy = task.policy
    if policy.algorithm == "datafly":
        return task.largest_k() if policy.max_suppression is None else task.budget
    return 0 if policy.algorithm == "mingen" else min(task.budget, task.frequencies.rows - 1)


def _tell_feasibility(report: Mapping[str, Any], refusal: InfeasibleError | None, as_json: bool) -> None:
    """Tell what was found, and leave if the policy cannot be met."""
    if as_json:
        show.document({**report, "feasible": refusal is None} | ({} if refusal is None else show.described(refusal)))
        raise typer.Exit(0 if refusal is None else refusal.exit_code)
    share = report["unsafe_rows"] / max(1, report["eligible"])
    show.out().print(
        show.facts(
            [
                ("rows", f"{report['rows']:,}, {report['eligible']:,} of them eligible"),
                ("distinct tuples", report["tuples"]),
                ("rows that are unique", report["unique_rows"]),
                ("k of the table as it is", report["k_of_the_table"]),
                ("k of the policy", f"{report['k_of_the_policy']:,}; {share:.1%} of the rows fail it as they are"),
                ("nodes of the lattice", report["lattice_nodes"]),
                ("rows to suppress at its top", report["suppression_at_the_top"]),
                ("rows that may be suppressed", report["suppression_allowed"]),
            ]
        )
    )
    if refusal is not None:
        raise refusal
    show.say("the policy fits the table and can be met", show.GOOD)
