"""The command line: one module per command, and nothing heavy is imported before a command runs."""

from __future__ import annotations

from indistinct.cli import signals
from indistinct.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    signals.listen()
    app()
