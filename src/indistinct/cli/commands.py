"""The Typer application: every command under its name, and the options that stand before a command."""

from __future__ import annotations

from typing import Annotated

import typer

import indistinct
from indistinct.cli import (
    anonymize,
    attack,
    best_tables,
    check,
    compare,
    demo,
    distance_matrix,
    doctor,
    from_arx,
    frontier,
    hierarchy,
    init,
    ledger,
    mu_argus,
    report,
    risk,
    schema,
    solutions,
    studio,
    verify,
)
from indistinct.cli.command import CommandLine

app = CommandLine(
    name="indistinct",
    help="Release tables of people in which nobody can be singled out, and prove it.",
    epilog="Start with: indistinct demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (
    demo.demo,
    init.init,
    from_arx.from_arx,
    check.check,
    anonymize.anonymize,
    verify.verify,
    solutions.solutions,
    best_tables.best_tables,
    distance_matrix.distance_matrix,
    frontier.frontier,
    compare.compare,
    report.report,
    risk.risk,
    studio.studio,
    mu_argus.mu_argus,
    doctor.doctor,
    schema.schema,
):
    app.command()(command)
app.add_typer(hierarchy.app)
app.add_typer(attack.app)
app.add_typer(ledger.app)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"indistinct {indistinct.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an unexpected error; it may quote cells.")
    ] = False,
) -> None:
    """Release tables of people in which nobody can be singled out, and prove it."""
