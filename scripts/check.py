"""Run the checks that a change must pass: lint, format, types, tests. Further arguments go to pytest.

python scripts/check.py             what a change usually needs: no slow tests, few random tables
python scripts/check.py --all       everything; this is what must pass before a change is merged
python scripts/check.py --coverage  everything, with the branches that no test takes; the core must have none
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent

PEER = "pycanon==1.3.6"
"""Another implementation that tests compare with. It pins old versions of NumPy and pandas, so it is no extra."""

LINT = [["ruff", "check", "."], ["ruff", "format", "--check", "."]]
SAFETY = ["bandit", "-q", "-c", "pyproject.toml", "-r", "src"]
TYPES = ["mypy"]
CORES = os.cpu_count() or 1
WAITING = 2
"""Workers beyond the cores, since some wait for a browser, for Spark or for processes that they started."""
TESTS = ["pytest", "-n", str(CORES + WAITING), "-q"]
QUICK_TESTS = ["pytest", "-n", str(CORES), "-q", "-m", "not slow"]
"""None of them waits, and each worker spends seconds on collecting all."""
COLLECT = ["pytest", "-p", "no:xdist", "--collect-only", "-q"]
KERNELS = ["indistinct", "doctor", "--compile"]
COVERED = ["ledger", "privacy", "proof", "recoding"]
"""Parts of the package of which every branch is tested."""


def main(arguments: list[str]) -> int:
    """Run lint, types and tests, some of them at once; give an exit code that is not 0 if one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="slow tests as well, and all random tables")
    parser.add_argument("--coverage", action="store_true", help="--all, and fail if the core has a branch untested")
    asked, more = parser.parse_known_args(arguments)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # every process that tests start would compile the package anew
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # arrays are small here, and threads of these wait by spinning
    if asked.all or asked.coverage:
        install_peer()
    else:
        os.environ.setdefault("HYPOTHESIS_PROFILE", "quick")
    if asked.coverage:
        covered = [*TESTS, "--cov=indistinct", "--cov-branch", "--cov-report=", *more]
        return run_in_order([covered, *coverage_reports()])
    if not asked.all:
        return run_in_order(LINT) or run_beside([TYPES], lambda: run([*QUICK_TESTS, *more]))
    # What is collected, and kernels, lie compiled for all workers, which would else do it at the same time, each for
    # itself.
    once = [KERNELS, COLLECT]
    return run_in_order(LINT) or run_beside([TYPES, SAFETY], lambda: run_quietly(once) or run([*TESTS, *more]))


def coverage_reports() -> list[list[str]]:
    """Return what shows the coverage of the whole package, and then fails if the core is not covered."""
    core = ",".join(f"src/indistinct/{part}/*" for part in COVERED)
    return [
        ["coverage", "report", "--skip-covered"],
        ["coverage", "report", f"--include={core}", "--show-missing", "--skip-covered", "--fail-under=100"],
    ]


def install_peer() -> None:
    """Install pycanon without its pins into a virtual environment that lacks it; tests say what is not checked else."""
    if importlib.util.find_spec("pycanon") is None and sys.prefix != sys.base_prefix:
        run(["pip", "install", "-q", "--no-deps", PEER])


def run_in_order(commands: list[list[str]], to: IO[str] | None = None) -> int:
    """Run commands until one fails, and give its exit code."""
    return next((code for command in commands if (code := run(command, to))), 0)


def run_beside(quiet: list[list[str]], act: Callable[[], int]) -> int:
    """Run commands beside what takes longer, and fail if one of them does."""
    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(run_quietly, quiet)
        code = act()
        return code or beside.result()


def run_quietly(commands: list[list[str]]) -> int:
    """Run commands until one fails, show what they said only then, and give its exit code."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        code = run_in_order(commands, said)
        if code:
            said.seek(0)
            show(said.read())
    return code


def run(command: list[str], to: IO[str] | None = None) -> int:
    """Run a module of this Python, which says what it has to say here or to a file, and give its exit code."""
    show(f"\n$ {' '.join(command)}\n", to)
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, check=False, stdout=to, stderr=to and subprocess.STDOUT
    )
    return done.returncode


def show(text: str, to: IO[str] | None = None) -> None:
    to = to or sys.stderr
    to.write(text)
    to.flush()


if __name__ == "__main__":
    failed = main(sys.argv[1:])
    # Types are checked beside the tests, whose closing line says nothing of them.
    show("\na check failed: see what stands above\n" if failed else "\nevery check passed\n")
    raise SystemExit(failed)
