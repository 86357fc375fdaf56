"""Command: runs one command and turns every error into clear lines, or one JSON document, and an exit code."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from indistinct.cli import show
from indistinct.errors import IndistinctError

UNEXPECTED = 1
INTERRUPTED = 130


class Command(TyperCommand):
    """A command whose errors never show a traceback, since that could quote a cell of the private table."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; leave with the exit code of the error that it raised, if any."""
        as_json = bool(ctx.params.get("as_json"))
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except IndistinctError as error:
            show.failure(type(error).__name__, str(error), error.exit_code, as_json)
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            show.failure("Interrupted", "interrupted; nothing was written", INTERRUPTED, as_json)
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if ctx.find_root().params.get("debug"):
                raise
            show.failure(type(error).__name__, _hint(error), UNEXPECTED, as_json)
            raise typer.Exit(UNEXPECTED) from None


def _hint(error: Exception) -> str:
    """Say where an unexpected error arose, without its text, and how to see all of it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"unexpected {type(error).__name__} at {Path(place.filename).name}, line {place.lineno}; nothing was written. "
        "This is a mistake of indistinct: please report it. For the whole traceback, which may quote cells, "
        "put --debug right after indistinct"
    )
