"""The command line: one module per command, and nothing heavy is imported before a command runs."""

from __future__ import annotations

import os
import sys

from indistinct.cli import signals
from indistinct.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    signals.listen()
    try:
        app()
    except OSError as error:  # what was to be said could not be written, not even that
        _give_up(f"error: the output cannot be written: {error.strerror or type(error).__name__}\n")
    finally:
        signals.finish()


def _give_up(reason: str) -> None:
    """Leave with the exit code of an output that cannot be written; what is still to be flushed goes nowhere."""
    from indistinct.errors import OutputError

    try:
        sys.stderr.write(reason)
        sys.stderr.flush()
    except OSError:
        pass  # a full disk takes this one as little
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    raise SystemExit(OutputError.exit_code)
