"""Command lines that run one after the other, each in a process of its own: for what only a process has.

Its exit code, its streams and its signals are those of ``python -m indistinct``. But the processes are forked from one
that has imported what commands import, which takes longer than most commands. Run as a program, which may fork safely:

    python forked_commands.py '[["check", "policy.toml", "table.csv"]]' 'code that each process runs first'
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

USED = (
    "duckdb",
    "pyarrow",
    "pydantic",
    "indistinct.search.full_domain.lattice",
    "indistinct.cli.release.anonymize",
    "indistinct.cli.commands",
    "indistinct.engine.duckdb.rows",
    "indistinct.pipeline.stages",
    "indistinct.policy.files.policy_file",
    "indistinct.privacy.models.k_anonymity",
    "indistinct.proof.verdict",
    "indistinct.release.release",
    "indistinct.profiling.table_profile",
)
"""What commands import when they need it."""


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def run_forked(
    commands: list[list[str]], folder: Path, *, first: str = "", temporary: Path | None = None
) -> list[Ended]:
    """Run command lines in a folder, one after the other, and give how each of them ended."""
    done = subprocess.run(
        [sys.executable, __file__, json.dumps(commands), first],
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=os.environ | ({} if temporary is None else {"TMPDIR": str(temporary)}),
        timeout=60 + 30 * len(commands),
        check=True,
    )
    return [Ended(*ended) for ended in json.loads(done.stdout)]


def fork(arguments: list[str], first: str) -> tuple[int, str, str]:
    """Run a command line in a new process; give its exit code and what it printed. The new process never returns."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said, tempfile.TemporaryFile("w+", encoding="utf-8") as told:
        process = os.fork()
        if not process:
            os.dup2(said.fileno(), sys.stdout.fileno())
            os.dup2(told.fileno(), sys.stderr.fileno())
            sys.argv = ["indistinct", *arguments]
            exec(first, {"__name__": "first"})
            from indistinct.cli import main

            main()
            raise SystemExit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        said.seek(0), told.seek(0)
        return code, said.read(), told.read()


if __name__ == "__main__":
    for name in USED:
        import_module(name)
    ended = [fork(arguments, sys.argv[2]) for arguments in json.loads(sys.argv[1])]
    sys.stdout.write(json.dumps(ended))
