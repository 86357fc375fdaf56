"""Kernels are compiled once, where a table is large: the first run says so, and a change compiles them anew."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import indistinct.kernels.kernel
from indistinct.kernels import linked_parts, machine_code, own_memory, shipped_code
from indistinct.kernels.kernel import Interpreter, WithoutNumba, kernel

USE = (
    "import pyarrow as pa, indistinct as ix, sys; stages = [];"
    "policy = ix.Policy(columns={'a': ix.quasi(ix.intervals(2))}, privacy=[ix.KAnonymity(2)], algorithm='datafly');"
    "watch = ix.Watch(progress=lambda stage, done, total: stages.append(stage));"
    "ix.anonymize(pa.table({'a': range(%d)}), policy, watch=watch).close();"
    "print(stages.count('compile'), 'numba' in sys.modules)"
)
SMALL, LARGE = USE % 20, USE % 2000


def environment_of(cache, **more):
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_DISABLE_JIT"}
    return environment | {"NUMBA_CACHE_DIR": str(cache), "INDISTINCT_COMPILE": "1"} | more


def run(code, cache, **more):
    environment = environment_of(cache, **more)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.slow
def test_only_the_first_run_of_a_large_table_compiles_and_says_so(tmp_path):
    assert run(SMALL, tmp_path) == "0 False"
    assert run(LARGE, tmp_path) == "1 True"
    assert run(LARGE, tmp_path) == f"0 {not machine_code.is_possible()}", "its code runs without numba"


@pytest.fixture
def fresh_kernels(monkeypatch):
    """As in a process that has compiled nothing yet, where no code can be kept that runs without numba."""
    monkeypatch.setattr(indistinct.kernels.kernel, "find_code", lambda *given: None)
    monkeypatch.setattr(indistinct.kernels.kernel, "make_code", lambda *given: None)
    monkeypatch.setattr(WithoutNumba, "is_used", False)
    monkeypatch.setattr(Interpreter, "is_slow", False)
    monkeypatch.setattr(indistinct.kernels.kernel, "_interpreter", Interpreter())


def above(limit, calls):
    """Return a kernel that notes how it runs, and one that it calls."""

    @kernel
    def add_one(number):
        return number + 1

    @kernel(rows="numbers", few=limit)
    def total(numbers):
        calls.append("as it is written")
        return sum(add_one(number) for number in numbers)

    return total


def test_a_kernel_runs_as_it_is_written_while_rows_are_few(fresh_kernels, monkeypatch):
    calls = []
    monkeypatch.setattr(indistinct.kernels.kernel, "_dispatcher", lambda *made: lambda *given: ("compiled", *given))
    total = above(3, calls)
    assert (total(np.arange(3)), calls) == (6, ["as it is written"])  # the inner one too
    assert total(np.arange(4))[0] == "compiled"
    assert total(np.arange(3))[0] == "compiled", "numba is loaded by now"
    assert above(3, calls)(np.arange(2))[0] == "compiled", "for every kernel"


def test_kernels_are_compiled_once_they_were_slow(fresh_kernels, monkeypatch):
    monkeypatch.setattr(indistinct.kernels.kernel, "_dispatcher", lambda *made: lambda *given: "compiled")
    monkeypatch.setattr(indistinct.kernels.kernel, "PLAIN_SECONDS", -1)
    total = above(3, [])
    assert [total(np.arange(3)), total(np.arange(3))] == [6, "compiled"]


def test_a_kernel_that_names_no_rows_is_always_compiled(fresh_kernels, monkeypatch):
    monkeypatch.setattr(indistinct.kernels.kernel, "_dispatcher", lambda *made: lambda *given: "compiled")
    assert kernel(lambda numbers: numbers)(np.arange(1)) == "compiled"


@pytest.mark.slow
def test_of_several_processes_one_compiles_and_the_others_wait_for_it(tmp_path):
    use = (
        "import sys, numpy as np; from indistinct.search.full_domain.best_node.kernels import node_counts;"
        "f = node_counts.rows_in_small; sys.stdin.readline();"
        "f.stats; f(np.array([1, 5]), np.array([1, 5]), 2, 3); print(sum(f.stats.cache_misses.values()))"
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


@pytest.mark.slow
def test_without_compilation_nothing_is_said(tmp_path):
    assert run(LARGE, tmp_path, NUMBA_DISABLE_JIT="1") == "0 False"


@pytest.mark.slow
def test_a_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(tmp_path):
    room = tmp_path / "source" / "indistinct" / "kernels"
    room.mkdir(parents=True)
    (room.parent / "__init__.py").touch()
    (room / "__init__.py").touch()
    for module in (indistinct.kernels.kernel, linked_parts, machine_code, own_memory, shipped_code):
        (room / Path(module.__file__).name).write_bytes(Path(module.__file__).read_bytes())
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

    assert [call(2), call(2), call(3)] == ["41 0", "41 1", "61 0"]
    assert call(2, NUMBA_DISABLE_JIT="1") == "41"


TWINS = """
import numpy as np
from numba import njit
from indistinct.kernels.kernel import kernel

def make(number):
    lines = "".join(
        f"    for i{n} in range(x):\\n        a[i{n} % 7] += t * {n}.5\\n        t += a[(i{n} * 3) % 7] % {n}.25\\n"
        for n in range(1, 12)  # so long that it is called, not copied into who calls it
    )
    space = {"number": number, "__name__": __name__}
    exec(f"def add(x, a):\\n    t = 0.0\\n{lines}    return t * 0 + number\\n", space)
    return njit(space["add"])

add_one, add_ten = make(1), make(10)

@kernel
def one(x, a):
    return add_one(x, a) + add_one(x + 1, a)

@kernel
def ten(x, a):
    return add_ten(x, a) + add_ten(x + 1, a)
"""


@pytest.mark.slow
def test_kernels_of_several_processes_share_no_names(tmp_path):
    """numba names functions by a number that begins at 1 in each process, and the linker takes one for another."""
    (tmp_path / "twins.py").write_text(TWINS, "utf-8")
    use = (
        "import sys; sys.path.insert(0, {path!r}); import twins, numpy as np;"
        "print(*(getattr(twins, name)(5, np.ones(7)) for name in {names}))"
    )
    first = use.format(path=str(tmp_path), names=["one"])
    second = use.format(path=str(tmp_path), names=["ten", "one"])  # one comes from the cache, by the first process
    assert (run(first, tmp_path), run(second, tmp_path)) == ("2.0", "20.0 2.0")


@pytest.mark.slow
def test_processes_that_were_forked_share_no_names_either(tmp_path):
    """Workers of Spark and of multiprocessing would go on counting where their parent was."""
    (tmp_path / "twins.py").write_text(TWINS, "utf-8")
    use = (
        f"import os, sys; sys.path.insert(0, {str(tmp_path)!r}); import twins; twins.one.stats;"
        "from numba.core.bytecode import FunctionIdentity;"
        "read, write = os.pipe(); child = os.fork(); here = next(FunctionIdentity._unique_ids);"
        "child or os._exit(0 * os.write(write, str(here).encode()));"
        "os.waitpid(child, 0); print(abs(int(os.read(read, 99)) - here) > 1_000_000)"
    )
    assert run(use, tmp_path) == "True"


@kernel
def _added(number: int, more: int) -> int:
    return number + more


@kernel
def _added_thrice(number: int) -> int:
    return _added(number, 1) + _added(number, -1) + _added(number, number)


@pytest.mark.slow
def test_a_kernel_is_not_compiled_for_each_number_that_another_passes_to_it():
    inner: Any = _added
    outer: Any = _added_thrice
    assert outer(5) == 20
    assert len(inner._numba_type_.dispatcher.nopython_signatures) <= 1  # 0 if the code of both was kept


def test_threads_compile_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """What numba knows of functions may be changed by one thread at a time; a search has several."""
    at_once: list[int] = []
    inside: set[int] = set()

    def make(*_: object) -> None:
        inside.add(threading.get_ident())
        at_once.append(len(inside))
        time.sleep(0.02)
        inside.discard(threading.get_ident())

    monkeypatch.setattr(indistinct.kernels.kernel, "find_code", lambda *_: None)
    monkeypatch.setattr(indistinct.kernels.kernel, "make_code", make)
    given = (np.zeros(3, np.int64),)
    kinds = machine_code.flatten(given)[0]
    made = []
    for name, code in (("one.py", one_of_two.__code__), ("other.py", other_of_two.__code__)):
        made.append(kernel(FunctionType(code.replace(co_filename=name), globals())))  # kernels of two files
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(lambda one: one._machine_code(kinds, given), made)) == [None, None]
    assert at_once == [1, 1]


def one_of_two(numbers: Any) -> Any:
    return numbers[0]


def other_of_two(numbers: Any) -> Any:
    return numbers[1]


def test_a_kernel_that_others_call_still_runs_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """While numba compiles a kernel it asks for names that its own functions have."""
    inner: Any = kernel(one_of_two)
    monkeypatch.setitem(globals(), "one_of_two", inner)

    def outer(numbers: Any) -> Any:
        return one_of_two(numbers) + 1

    assert kernel(outer)(np.array([5])) == 6
    assert inner._run == inner._choose
