"""Commands that are run in this process: what they print, and the documents that they answer with."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner, Result

from indistinct.cli import app


def run(*arguments: object, env: dict[str, str] | None = None) -> Result:
    """Run a command, given in words."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=env)


def answer(*arguments: object, exit_code: int = 0) -> dict[str, Any]:
    """Run a command with --json and give its document, which must be all that it prints on stdout."""
    result = run(*arguments, "--json")
    assert result.exit_code == exit_code, result.output
    content: dict[str, Any] = json.loads(result.stdout)
    return content
