"""Run the checks that a change must pass: lint, format, types, tests. Further arguments go to pytest.

python scripts/check.py             what a change usually needs, in some minutes: no slow tests, few random tables
python scripts/check.py --all       everything; this is what must pass before a change is merged
python scripts/check.py --coverage  everything, with the branches that no test takes; the core must have none
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PEER = "pycanon==1.3.6"
"""Another implementation that tests compare with. It pins old versions of NumPy and pandas, so it is no extra."""

LINT = [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]]
TESTS = ["pytest", "-n", "auto", "-q"]
QUICK = ["-m", "not slow"]
COVERED = ["ledger", "privacy", "proof", "recoding"]
"""Parts of the package of which every branch is tested."""


def main(arguments: list[str]) -> int:
    """Run the checks in order, stop at the first that fails, and give its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="slow tests as well, and all random tables")
    parser.add_argument("--coverage", action="store_true", help="--all, and fail if the core has a branch untested")
    asked, more = parser.parse_known_args(arguments)
    if asked.all or asked.coverage:
        install_peer()
    else:
        os.environ.setdefault("HYPOTHESIS_PROFILE", "quick")
        more = [*QUICK, *more]
    checks = [*LINT, [*TESTS, *more]]
    if asked.coverage:
        checks = [[*TESTS, "--cov=indistinct", "--cov-branch", "--cov-report=", *more], *coverage_reports()]
    return next((code for command in checks if (code := run(command))), 0)


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


def run(command: list[str]) -> int:
    """Run a module of this Python, and give its exit code."""
    sys.stderr.write(f"\n$ {' '.join(command)}\n")
    sys.stderr.flush()
    return subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
