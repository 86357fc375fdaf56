"""The Typer application: every command under its name, loaded when it is called, and what stands before a command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

import indistinct
from indistinct.cli.command import CommandLine, Group
from indistinct.cli.options import option

COMMANDS = {
    "demo": "setup.demo",
    "init": "setup.init",
    "from-arx": "setup.from_arx",
    "check": "explore.check",
    "anonymize": "release.anonymize",
    "apply": "release.apply",
    "recoding": "release.recoding",
    "verify": "release.verify",
    "sign": "release.sign",
    "keys": "release.keys",
    "gate": "release.gate",
    "solutions": "explore.solutions",
    "best-tables": "release.best_tables",
    "distance-matrix": "explore.distance_matrix",
    "frontier": "explore.frontier",
    "compare": "explore.compare",
    "report": "release.report",
    "dossier": "documents.dossier",
    "risk": "explore.risk",
    "utility": "explore.utility",
    "decode": "explore.decode",
    "bounds": "explore.bounds",
    "studio": "setup.studio",
    "mcp": "setup.mcp",
    "mu-argus": "release.mu_argus",
    "paper": "explore.paper",
    "doctor": "setup.doctor",
    "schema": "setup.schema",
    "hierarchy": "setup.hierarchy",
    "attack": "attack",
    "ledger": "release.ledger",
    "review": "documents.review",
}
"""What there is, each with its module: a function of the same name, or a group of commands, its ``app``."""


class Commands(Mapping[str, Any]):
    """Commands by their names; a command is loaded when it is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = typer.main.get_command(_application(name))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _application(name: str) -> CommandLine:
    """Return a command as an application of its own."""
    module = import_module(f"indistinct.cli.{COMMANDS[name]}")
    if hasattr(module, "app"):
        group: CommandLine = module.app
        return group
    single = CommandLine()
    single.command(name)(getattr(module, name.replace("-", "_")))
    return single


def _in_the_list(name: str) -> TyperCommand:
    """Return what the list of commands says of one, without its options."""
    module = import_module(f"indistinct.cli.{COMMANDS[name]}")
    told = module.app.info.help if hasattr(module, "app") else getattr(module, name.replace("-", "_")).__doc__
    return TyperCommand(name, help=told)


class AllCommands(Group):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Commands()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write what there is."""
        self.commands = {name: _in_the_list(name) for name in COMMANDS}
        super().format_help(ctx, formatter)
        self.commands = Commands()


app = CommandLine(
    name="indistinct",
    cls=AllCommands,
    help="Release tables of people in which nobody can be singled out, and prove it.",
    epilog="Start with: indistinct demo",
    no_args_is_help=True,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"indistinct {indistinct.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, option("Print the version and leave.", "--version", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, option("Show the traceback of an unexpected error; it may quote cells.", "--debug")] = False,
) -> None:
    """Release tables of people in which nobody can be singled out, and prove it."""
