"""CommandLine: its commands are plain functions; each runs as a Command, which turns errors into an exit code."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from indistinct.atomic_files import forget_places, whole_places
from indistinct.cli import show, signals
from indistinct.cli.options import FORMATS, option
from indistinct.cli.paths import refuse_passwords
from indistinct.errors import IndistinctError, OutputError

UNEXPECTED = 1
Quiet = Annotated[bool, option("Print nothing but errors, and what --json asks for.", "--quiet", "-q")]
Function = TypeVar("Function", bound=Callable[..., Any])


class CommandLine(typer.Typer):
    """A command line whose commands turn every error into clear lines, or one JSON document, and an exit code.

    A command may take groups of options, such as ``Reading``, as one parameter each.
    """

    def __init__(self, **settings: Any) -> None:
        plain = {
            "pretty_exceptions_enable": False,
            "rich_markup_mode": None,
        }  # frames take a tenth of a second
        super().__init__(**{"cls": Group, "add_completion": False, **plain, **settings})

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Function], Function]:
        """Add a function as a command."""
        register = super().command(name, **{"cls": Command, **settings})

        def add(function: Function) -> Function:
            register(spread_groups(function))
            return function

        return add


def spread_groups(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command as Typer takes it: the options of a group, which is a dataclass, stand in the group's place.

    Every command also takes ``--quiet``.
    """
    parameters = signature(function, eval_str=True).parameters
    groups: dict[str, Any] = {
        name: taken.annotation for name, taken in parameters.items() if is_dataclass(taken.annotation)
    }
    options = {name: signature(group, eval_str=True).parameters for name, group in groups.items()}
    spread: dict[str, Parameter] = {}
    for name, taken in parameters.items():
        spread |= options.get(name, {name: taken})

    @wraps(function)
    def call(*, is_quiet: bool = False, **given: Any) -> Any:
        made = {name: group(**{own: given.pop(own) for own in options[name]}) for name, group in groups.items()}
        with show.quietly(is_quiet):
            return function(**given, **made)

    spread["is_quiet"] = Parameter("is_quiet", Parameter.KEYWORD_ONLY, default=False, annotation=Quiet)
    keywords = [taken.replace(kind=Parameter.KEYWORD_ONLY) for taken in spread.values()]
    call.__signature__ = Signature(keywords)  # type: ignore[attr-defined]  # functions may have one
    call.__annotations__ = {taken.name: taken.annotation for taken in keywords}
    return call


UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What Typer raises for a command that it does not understand; versions of it keep it in different places."""
GIVEN = "indistinct.given"


class Group(TyperGroup):
    """A group of commands that reports a mistake in a command as that would: in JSON, if it was asked for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options of the group; what was given is kept for whoever reports a mistake in it."""
        ctx.meta.setdefault(GIVEN, list(args))
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            raise _exit_of(error, ctx) from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what each command does: whole sentences, of which Typer would cut the end."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        shown = [(name, one.get_short_help_str(limit=1000)) for name, one in commands if one and not one.hidden]
        if shown:
            with formatter.section("Commands"):
                formatter.write_dl(shown)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            raise _exit_of(error, ctx) from None


def _exit_of(error: Any, ctx: Any) -> Exception:
    """Return what is raised for a mistake in a command: the same, or the exit after it was printed as JSON."""
    if "--json" not in ctx.meta[GIVEN]:
        found: Exception = error
        return found
    show.failure("UsageError", error.format_message(), error.exit_code, True)
    return typer.Exit(error.exit_code)


class Command(TyperCommand):
    """A command whose errors never show a traceback, since that could quote a cell of the private table."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help text, which names the formats of files that there are."""
        told = [one for one in self.params if FORMATS in (getattr(one, "help", None) or "")]
        if told:
            from indistinct.engine.formats import name_formats

            for one in told:
                one.help = one.help.replace(FORMATS, name_formats())  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; leave with the exit code of the error that it raised, if any."""
        forget_places()
        try:
            refuse_passwords(ctx.params.values())
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except (Exception, KeyboardInterrupt) as error:
            kind, message, exit_code = _kind_and_message(error)
            if kind == "Interrupted" and "time_limit" in ctx.params:
                message += "; --time-limit SECONDS ends a search by itself, with the best answer so far"
            if exit_code == UNEXPECTED and ctx.find_root().params.get("debug"):
                raise
            show.failure(kind, message, exit_code, bool(ctx.params.get("as_json")))
            raise typer.Exit(exit_code) from None


def _kind_and_message(error: BaseException) -> tuple[str, str, int]:
    """Return the kind of an error, what to say about it, and the exit code."""
    whole = " and ".join(map(str, whole_places()))
    told = f"{whole} was written before and is whole" if whole else "nothing was written"
    if signals.received or isinstance(error, KeyboardInterrupt):
        number = signals.received[-1] if signals.received else signal.SIGINT
        return "Interrupted", f"interrupted; {told}", 128 + number
    if isinstance(error, IndistinctError):
        return type(error).__name__, str(error), error.exit_code
    if isinstance(error, OSError) and error.strerror:  # a full disk, a name that is too long, what may not be read
        where = f": {error.filename}" if isinstance(error.filename, str) else ""
        return "OutputError", f"the system says: {error.strerror}{_cut_short(where)}; {told}", OutputError.exit_code
    if isinstance(error, MemoryError):
        advice = "give the machine more, or say --memory-limit, which lets rows go to the disk"
        return "OutputError", f"the memory is used up; {told}; {advice}", OutputError.exit_code
    place = traceback.extract_tb(error.__traceback__)[-1]
    message = (
        f"unexpected {type(error).__name__} at {Path(place.filename).name}, line {place.lineno}; {told}. "
        "This is a mistake of indistinct: please report it. For the whole traceback, which may quote cells, "
        "put --debug right after indistinct"
    )
    return type(error).__name__, message, UNEXPECTED


def _cut_short(text: str, most: int = 200) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
