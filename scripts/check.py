"""Run every check that a change must pass: lint, format, types, tests. Further arguments go to pytest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

CHECKS = [
    ["ruff", "check", "."],
    ["ruff", "format", "--check", "."],
    ["mypy"],
    ["pytest", "-n", "auto", "-q", *sys.argv[1:]],
]


def main() -> int:
    """Run the checks in order, stop at the first that fails, and give its exit code."""
    for command in CHECKS:
        sys.stderr.write(f"\n$ {' '.join(command)}\n")
        sys.stderr.flush()
        code = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
