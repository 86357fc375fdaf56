"""Run the checks that a change must pass: lint, format, types, tests. Further arguments go to pytest.

python scripts/check.py             what a change usually needs, in 75 seconds: no slow tests, few random tables
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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PEER = "pycanon==1.3.6"
"""Another implementation that tests compare with. It pins old versions of NumPy and pandas, so it is no extra."""

LINT = [["ruff", "check", "."], ["ruff", "format", "--check", "."]]
SAFETY = ["bandit", "-q", "-c", "pyproject.toml", "-r", "src"]
TYPES = ["mypy"]
WORKERS = (os.cpu_count() or 1) + 2
"""More than there are cores: some wait for a browser, for Spark or for processes that they started."""
TESTS = ["pytest", "-n", str(WORKERS), "-q"]
QUICK = ["-m", "not slow"]
COVERED = ["ledger", "privacy", "proof", "recoding"]
"""Parts of the package of which every branch is tested."""


def main(arguments: list[str]) -> int:
    """Run lint, then types and tests at once; give an exit code that is not 0 if one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="slow tests as well, and all random tables")
    parser.add_argument("--coverage", action="store_true", help="--all, and fail if the core has a branch untested")
    asked, more = parser.parse_known_args(arguments)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # every process that tests start would compile the package anew
    if asked.all or asked.coverage:
        install_peer()
    else:
        os.environ.setdefault("HYPOTHESIS_PROFILE", "quick")
        more = [*QUICK, *more]
    if asked.coverage:
        covered = [*TESTS, "--cov=indistinct", "--cov-branch", "--cov-report=", *more]
        return run_in_order([covered, *coverage_reports()])
    return run_in_order([*LINT, SAFETY] if asked.all else LINT) or run_beside(TYPES, [*TESTS, *more])


def coverage_reports() -> list[list[str]]:
    """Give what shows the coverage of the whole package, and then fails if the core is not covered."""
    core = ",".join(f"src/indistinct/{part}/*" for part in COVERED)
    return [
        ["coverage", "report", "--skip-covered"],
        ["coverage", "report", f"--include={core}", "--show-missing", "--skip-covered", "--fail-under=100"],
    ]


def install_peer() -> None:
    """Install pycanon without its pins into a virtual environment that lacks it; tests say what is not checked else."""
    if importlib.util.find_spec("pycanon") is None and sys.prefix != sys.base_prefix:
        run(["pip", "install", "-q", "--no-deps", PEER])


def run_in_order(commands: list[list[str]]) -> int:
    """Run commands until one fails, and give its exit code."""
    return next((code for command in commands if (code := run(command))), 0)


def run_beside(quiet: list[str], shown: list[str]) -> int:
    """Run two commands at once, show what the quiet one said when both are done, and fail if one of them does."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        beside = subprocess.Popen([sys.executable, "-m", *quiet], cwd=ROOT, stdout=said, stderr=subprocess.STDOUT)
        code = run(shown)
        beside_code = beside.wait()
        said.seek(0)
        show(f"\n$ {' '.join(quiet)}\n{said.read()}")
    return code or beside_code


def run(command: list[str]) -> int:
    """Run a module of this Python, and give its exit code."""
    show(f"\n$ {' '.join(command)}\n")
    return subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode


def show(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
