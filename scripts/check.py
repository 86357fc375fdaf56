"""Run every check that a change must pass: lint, format, types, tests. Further arguments go to pytest."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PEER = "pycanon==1.3.6"
"""Another implementation that tests compare with. It pins old versions of NumPy and pandas, so it is no extra."""

CHECKS = [
    ["ruff", "check", "."],
    ["ruff", "format", "--check", "."],
    ["mypy"],
    ["pytest", "-n", "auto", "--dist", "loadgroup", "-q", *sys.argv[1:]],
]


def main() -> int:
    """Run the checks in order, stop at the first that fails, and give its exit code."""
    install_peer()
    return next((code for command in CHECKS if (code := run(command))), 0)


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
    raise SystemExit(main())
