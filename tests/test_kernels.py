"""The first run says that kernels are compiled; later runs say nothing, because they find them in the cache."""

from __future__ import annotations

import os
import subprocess
import sys

ASK = "from indistinct.counting import kernels_are_compiled; print(kernels_are_compiled())"
USE = (
    "import pyarrow as pa, indistinct as ix; stages = [];"
    "policy = ix.Policy(columns={'a': ix.quasi()}, privacy=[ix.KAnonymity(2)]);"
    "watch = ix.Watch(progress=lambda stage, done, total: stages.append(stage));"
    "ix.anonymize(pa.table({'a': ['x', 'x']}), policy, watch=watch).close(); print('compile' in stages)"
)


def run(code, cache, **more):
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_DISABLE_JIT"}
    environment |= {"NUMBA_CACHE_DIR": str(cache)} | more
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_only_the_first_run_compiles_and_says_so(tmp_path):
    assert run(ASK, tmp_path) == "False"
    assert run(USE, tmp_path) == "True"
    assert run(ASK, tmp_path) == "True"
    assert run(USE, tmp_path) == "False"


def test_without_compilation_nothing_is_said(tmp_path):
    assert run(ASK, tmp_path, NUMBA_DISABLE_JIT="1") == "True"
