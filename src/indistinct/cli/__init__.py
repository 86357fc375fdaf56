"""The command line: one module per command, and nothing heavy is imported before a command runs."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from indistinct.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; a termination signal ends it as an error does, so that nothing is left behind."""
    signal.signal(signal.SIGTERM, _leave)
    app()


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
