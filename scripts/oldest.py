"""Test with the oldest versions that ``pyproject.toml`` allows: ``python scripts/oldest.py``.

A new virtual environment gets the package and exactly the versions of ``constraints/oldest.txt``, and runs the tests of
what uses them. Further arguments go to pytest. The newest versions are those that all other tests run with.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = "constraints/oldest.txt"
EXTRAS = ".[excel,postgres,sign,statistics,studio]"
TOOLS = ("hypothesis>=6.100", "jsonschema>=4.20", "polars", "pytest>=8.2", "pytest-xdist>=3.5")
TESTS = (
    "engine",
    "hierarchy",
    "ledger/test_store.py",
    "policy",
    "privacy",
    "proof/test_verify.py",
    "release",
    "report",
)
"""What meets a library directly; old ones warn of what newer ones have changed since."""


def main(arguments: list[str]) -> int:
    """Return the exit code of pytest."""
    with tempfile.TemporaryDirectory(prefix="oldest-") as folder:
        python = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [str(python), "-m", "pip", "install", "-q", "-e", EXTRAS, *TOOLS, "-c", CONSTRAINTS]
        subprocess.run(install, cwd=ROOT, check=True)
        tests = [f"tests/{name}" for name in TESTS]
        ask = [
            str(python),
            "-m",
            "pytest",
            "-q",
            "-m",
            "not slow",
            "-W",
            "ignore::DeprecationWarning",
            *tests,
            *arguments,
        ]
        quick = {**os.environ, "HYPOTHESIS_PROFILE": "quick"}
        return subprocess.run(ask, cwd=ROOT, env=quick, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
