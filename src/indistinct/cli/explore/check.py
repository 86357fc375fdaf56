"""``indistinct check``: every mistake of a policy on a table, and whether a release can satisfy it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, NamedRecipient, PolicyPath, ReadingAnywhere, option
from indistinct.cli.paths import Tables, policy_of_recipient, tables_given

if TYPE_CHECKING:
    from indistinct.pipeline.policy_check import PolicyCheck

READABLE = 10**15
"""Larger numbers are told by how many digits they have."""
MOST_SHOWN = 50


def check(
    policy_path: PolicyPath,
    tables: Tables,
    show_values: Annotated[
        bool, option("Show the values that a hierarchy lacks: cells of the private table.", "--show-values")
    ] = False,
    recipient: NamedRecipient = None,
    *,
    reading: ReadingAnywhere,
    as_json: AsJson = False,
) -> None:
    """Find every mistake of a policy on a table, and tell whether a release can satisfy it.

    Exit code 2 says that there are mistakes, 3 that no release can satisfy the policy.
    """
    from indistinct.pipeline.policy_check import check as check_policy

    policy = policy_of_recipient(policy_path, recipient)
    given = tables_given(policy, tables)
    limits = reading.arguments()
    with show.progress() as watch:
        found = check_policy(given, policy, show_values=show_values, watch=watch, **limits)
    if as_json:
        _print_document(found)
        return
    if found.unknown_values:
        _print_unknown(found.unknown_values)
    if found.figures:
        _print_figures(found.figures)
    for note in found.notes:
        show.say(f"warning: {note}", show.BAD)
    if found.renamed:
        show.say(f"released under new names: {', '.join(f'{name} as {new}' for name, new in found.renamed.items())}")
    for one in found.dependencies:
        show.say(
            f"warning: {one.sentence}, whatever becomes of that; make {one.column} quasi, or leave it out", show.BAD
        )
    for regime, lacks in found.unsaid.items():
        show.say(f"not said, and asked for by {regime}: {', '.join(lacks)}", "yellow")
    found.raise_if_infeasible()
    show.say(str(found), show.GOOD)
    whose = [] if recipient is None else ["--recipient", recipient]
    show.next_steps(["anonymize", policy_path, *tables, "-o", "release", *whose, *reading.as_typed()])


def _print_document(found: PolicyCheck) -> None:
    """Print what was found as one document, and leave with the exit code of the error, if there is one."""
    unknown = {"unknown_values": dict(found.unknown_values)} if found.unknown_values else {}
    error = {} if found.error is None else show.error_facts(found.error)
    show.document({**found.to_dict(), **error, **unknown})
    raise typer.Exit(0 if found.error is None else found.error.exit_code)


def _print_unknown(unknown: Mapping[str, Sequence[str | None]]) -> None:
    """Print the values that hierarchies lack: for the holder's own eyes only."""
    made = show.table("Values without a label (cells of the private table)", "column", "value")
    for name, values in unknown.items():
        for value in values[:MOST_SHOWN]:
            made.add_row(name, "(missing)" if value is None else value)
        if len(values) > MOST_SHOWN:
            made.add_row(name, f"… {len(values) - MOST_SHOWN:,} more", style=show.QUIET)
    show.out().print(made)


def _print_figures(figures: Mapping[str, int]) -> None:
    """Print how anonymous the table is as it is, and what could be done about it."""
    share = figures["unsafe_rows"] / max(1, figures["eligible"])
    show.out().print(
        show.facts(
            [
                ("rows", f"{figures['rows']:,}, {figures['eligible']:,} of them eligible"),
                ("distinct tuples", figures["tuples"]),
                ("rows that are unique", figures["unique_rows"]),
                *_people(figures),
                ("k of the table as it is", figures["k_of_the_table"]),
                ("k of the policy", f"{figures['k_of_the_policy']:,}; {share:.1%} of the rows fail it as they are"),
                ("nodes of the lattice", _nodes(figures["lattice_nodes"])),
                ("rows to suppress at its top", figures["suppression_at_the_top"]),
                ("rows that may be suppressed", figures["suppression_allowed"]),
            ]
        )
    )


def _nodes(number: int) -> str:
    """Return the number of nodes, one that nobody can read by its digits.

    >>> _nodes(62_208), _nodes(3 * 10**40)
    ('62,208', 'a number of 41 digits')
    """
    return f"{number:,}" if number < READABLE else f"a number of {len(str(number))} digits"


def _people(figures: Mapping[str, int]) -> list[tuple[str, str]]:
    """Say how many people there are, and who has a tuple to herself, where people have several rows."""
    if "people" not in figures:
        return []
    return [("people", f"{figures['people']:,}, {figures['unique_people']:,} tuples of one of them alone")]
