"""Kernels are compiled once: the first run says so, later ones find them in the cache, a change compiles them anew."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import indistinct.kernels.kernel

ASK = "from indistinct.counting import kernels_are_compiled; print(kernels_are_compiled())"
USE = (
    "import pyarrow as pa, indistinct as ix; stages = [];"
    "policy = ix.Policy(columns={'a': ix.quasi()}, privacy=[ix.KAnonymity(2)]);"
    "watch = ix.Watch(progress=lambda stage, done, total: stages.append(stage));"
    "ix.anonymize(pa.table({'a': ['x', 'x']}), policy, watch=watch).close(); print('compile' in stages)"
)


def environment_of(cache, **more):
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_DISABLE_JIT"}
    return environment | {"NUMBA_CACHE_DIR": str(cache)} | more


def run(code, cache, **more):
    environment = environment_of(cache, **more)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_only_the_first_run_compiles_and_says_so(tmp_path):
    assert run(f"{ASK}\n{USE}", tmp_path).split() == ["False", "True"]
    assert run(f"{ASK}\n{USE}", tmp_path).split() == ["True", "False"]


def test_of_several_processes_one_compiles_and_the_others_wait_for_it(tmp_path):
    use = (
        "import sys, numpy as np; from indistinct.kernels.counting import rows_in_small as f; sys.stdin.readline();"
        "f(np.array([1, 5]), np.array([1, 5]), 2, 3); print(sum(f.stats.cache_misses.values()))"
    )
    environment = environment_of(tmp_path)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", use], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for process in processes:
        process.stdin.write("now\n")
        process.stdin.flush()
    assert sorted(process.communicate()[0].strip() for process in processes) == ["0", "0", "1"]


def test_without_compilation_nothing_is_said(tmp_path):
    assert run(ASK, tmp_path, NUMBA_DISABLE_JIT="1") == "True"


def test_a_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(tmp_path):
    room = tmp_path / "source" / "indistinct" / "kernels"
    room.mkdir(parents=True)
    (room.parent / "__init__.py").touch()
    (room / "__init__.py").touch()
    (room / "kernel.py").write_bytes(Path(indistinct.kernels.kernel.__file__).read_bytes())
    (room / "above.py").write_text(
        "from indistinct.kernels.below import twice\nfrom indistinct.kernels.kernel import kernel\n\n"
        "@kernel\ndef twice_and_one(number):\n    return twice(number) + 1\n"
    )
    use = (
        "from indistinct.kernels.above import twice_and_one as f; print(f(20), sum(f.stats.cache_hits.values()))"
        " if hasattr(f, 'stats') else print(f(20))"
    )

    def call(factor, **more):
        below = f"@kernel\ndef twice(number):\n    return {factor} * number\n"
        (room / "below.py").write_text(f"from indistinct.kernels.kernel import kernel\n\n{below}")
        # files of one length that change within a second look the same to Python, which would take its bytecode
        own = {"PYTHONPATH": str(room.parent.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        return run(use, tmp_path / "cache", **own, **more)

    assert [call(2), call(2), call(3), call(3)] == ["41 0", "41 1", "61 0", "61 1"]
    assert call(2, NUMBA_DISABLE_JIT="1") == "41"
