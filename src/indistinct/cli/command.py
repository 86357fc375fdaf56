"""Command: runs one command and turns every error into clear lines, or one JSON document, and an exit code."""

from __future__ import annotations

import signal
import traceback
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from indistinct.cli import show, signals
from indistinct.errors import IndistinctError

UNEXPECTED = 1


class Command(TyperCommand):
    """A command whose errors never show a traceback, since that could quote a cell of the private table."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; leave with the exit code of the error that it raised, if any."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except (Exception, KeyboardInterrupt) as error:
            kind, message, exit_code = _kind_and_message(error)
            if exit_code == UNEXPECTED and ctx.find_root().params.get("debug"):
                raise
            show.failure(kind, message, exit_code, bool(ctx.params.get("as_json")))
            raise typer.Exit(exit_code) from None


def _kind_and_message(error: BaseException) -> tuple[str, str, int]:
    """Give the kind of an error, what to say about it, and the exit code."""
    if signals.received or isinstance(error, KeyboardInterrupt):
        number = signals.received[-1] if signals.received else signal.SIGINT
        return "Interrupted", "interrupted; nothing was written", 128 + number
    if isinstance(error, IndistinctError):
        return type(error).__name__, str(error), error.exit_code
    place = traceback.extract_tb(error.__traceback__)[-1]
    message = (
        f"unexpected {type(error).__name__} at {Path(place.filename).name}, line {place.lineno}; nothing was written. "
        "This is a mistake of indistinct: please report it. For the whole traceback, which may quote cells, "
        "put --debug right after indistinct"
    )
    return type(error).__name__, message, UNEXPECTED
