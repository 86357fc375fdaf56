"""Kernels as plain Python: with NUMBA_DISABLE_JIT=1 the very same functions run without compilation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_uncompiled(program: str) -> str:
    """Run a program, which may import modules of these tests, and give what it prints."""
    places = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": places, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
