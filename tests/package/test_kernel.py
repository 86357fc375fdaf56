"""Kernels are compiled once, where a table is large: the first run says so, and a change compiles them anew."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import indistinct as ix
import indistinct.kernel
from indistinct import progress
from indistinct.kernel import Interpreter, is_private, kernel

PACKAGE = Path(indistinct.kernel.__file__).parent
USE = (
    "import pyarrow as pa, indistinct as ix, sys; stages = [];"
    "policy = ix.Policy(columns={'a': ix.quasi(ix.intervals(2))}, privacy=[ix.KAnonymity(2)], algorithm='datafly');"
    "watch = ix.Watch(progress=lambda stage, done, total: stages.append(stage));"
    "ix.anonymize(pa.table({'a': range(%d)}), policy, watch=watch).close();"
    "print(stages.count('compile'), 'numba' in sys.modules)"
)
SMALL, LARGE = USE % 20, USE % 2000


def run(code: str, cache: Path, **more: str) -> str:
    """Run Python with a folder for numba's cache, and return what it prints."""
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_DISABLE_JIT"}
    environment |= {"NUMBA_CACHE_DIR": str(cache)} | more
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


@pytest.mark.slow
def test_only_the_first_run_of_a_large_table_compiles_and_says_so(tmp_path):
    assert run(SMALL, tmp_path) == "0 False"
    assert run(LARGE, tmp_path) == "1 True"
    assert run(LARGE, tmp_path) == "0 True"
    assert run(LARGE, tmp_path, NUMBA_DISABLE_JIT="1") == "0 False"


# What is interpreted.


@pytest.fixture
def fresh_kernels(monkeypatch):
    """As in a process that has compiled nothing yet, and cannot."""
    monkeypatch.setattr(indistinct.kernel, "_compile", lambda function: lambda *given: "compiled")
    monkeypatch.setattr(Interpreter, "is_slow", False)
    monkeypatch.setattr(indistinct.kernel, "_interpreter", Interpreter())
    monkeypatch.setattr(indistinct.kernel, "_kernels", [])
    monkeypatch.setattr(indistinct.kernel, "_unregistered", [])


def total_of_at_most(few, calls):
    """Return a kernel that notes how it runs; it calls another."""

    @kernel
    def add_one(number):
        return number + 1

    @kernel(rows="numbers", few=few)
    def total(numbers):
        calls.append("interpreted")
        return sum(add_one(number) for number in numbers)

    return total


def test_a_kernel_is_interpreted_while_rows_are_few(fresh_kernels):
    calls = []
    total = total_of_at_most(3, calls)
    assert (total(np.arange(3)), calls) == (6, ["interpreted"])  # the inner one too
    assert total(np.arange(4)) == "compiled"
    assert total(np.arange(3)) == "compiled", "numba is loaded by now"
    assert total_of_at_most(3, calls)(np.arange(2)) == "compiled", "for every kernel"


def test_kernels_are_compiled_once_they_were_slow(fresh_kernels, monkeypatch):
    monkeypatch.setattr(indistinct.kernel, "PLAIN_SECONDS", -1)
    total = total_of_at_most(3, [])
    assert [total(np.arange(3)), total(np.arange(3))] == [6, "compiled"]


def test_a_kernel_that_names_no_rows_is_always_compiled(fresh_kernels):
    assert kernel(lambda numbers: numbers)(np.arange(1)) == "compiled"


# Kernels that call kernels.


@kernel
def _added(number: int, more: int) -> int:
    return number + more


@kernel
def _added_thrice(number: int) -> int:
    return _added(number, 1) + _added(number, -1) + _added(number, number)


@pytest.mark.slow
def test_a_kernel_is_not_compiled_for_each_number_that_another_passes_to_it():
    from numba.core import event

    inner: Any = _added
    with event.install_recorder("numba:compile") as recorder:
        assert _added_thrice(5) == 20
    compiled = [one.data["dispatcher"].py_func for _, one in recorder.buffer if one.is_start]
    assert compiled.count(inner._function) <= 1  # 0 if it came from the cache


@pytest.mark.slow
def test_a_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(tmp_path):
    """numba looks at a kernel's own file alone."""
    room = tmp_path / "source" / "indistinct"
    room.mkdir(parents=True)
    (room / "__init__.py").touch()
    for name in ("kernel.py", "progress.py", "errors.py"):
        shutil.copy(PACKAGE / name, room)
    (room / "above.py").write_text(
        "from indistinct.below import PLUS, twice\nfrom indistinct.kernel import kernel\n\n"
        "@kernel\ndef twice_and_more(number):\n    return twice(number) + PLUS\n"
    )
    use = (
        "from indistinct.above import twice_and_more as f; from indistinct.kernel import reporting_compilation\n"
        "with reporting_compilation(lambda: print(end='compiled ')): print(f(20))"
    )

    def call(factor, plus, **more):
        below = f"from indistinct.kernel import kernel\n\nPLUS = {plus}\n\n"
        (room / "below.py").write_text(f"{below}@kernel\ndef twice(number):\n    return {factor} * number\n")
        # files of one length that change within a second look the same to Python, which would take its bytecode
        own = {"PYTHONPATH": str(room.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        return run(use, tmp_path / "cache", **own, **more)

    assert [call(2, 1), call(2, 1), call(3, 1), call(3, 2)] == ["compiled 41", "41", "compiled 61", "compiled 62"]
    assert call(2, 1) == "41"
    assert call(2, 1, NUMBA_DISABLE_JIT="1") == "41"


ALLOWED = {
    *("bool_", "float32", "float64", "inf", "int8", "int32", "int64", "uint64"),
    *("empty", "empty_like", "exp", "floor", "full", "log", "log2", "ones", "zeros"),
}
"""What kernels use of NumPy."""


def kernel_files() -> list[Path]:
    """Return all modules with kernels."""
    return [
        path for path in PACKAGE.rglob("*.py") if "from indistinct.kernel import kernel\n" in path.read_text("utf-8")
    ]


@pytest.mark.parametrize("path", kernel_files(), ids=lambda path: path.stem)
def test_kernels_use_nothing_of_numpy_whose_inner_functions_share_a_name(path):
    """numba links a function by its name, its types and a number that begins anew in every process.

    Its sorts are inner functions of one name, whatever they compare. So one from the cache could be taken for another
    that was compiled here, and kernels would return wrong numbers. ``counting/kernels/grouping.py`` has sorts of ours.
    """
    tree = ast.parse(path.read_text("utf-8"))
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and "kernel" in map(_decorator, function.decorator_list):
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np":
                    assert node.attr in ALLOWED, f"{path.name}:{node.lineno}"
                if isinstance(node, ast.Call):
                    assert ast.unparse(node.func).rpartition(".")[2] not in {"sort", "argsort", "sorted"}


def _decorator(node: ast.expr) -> str:
    return ast.unparse(node.func if isinstance(node, ast.Call) else node)


# Who may write to the cache.

ADD = """
import sys
sys.path.insert(0, {folder!r})
from added import add
print(add(2, 3))
"""
SOURCE = "from indistinct.kernel import kernel\n\n@kernel\ndef add(one, other):\n    return one + other\n"
PLANT = """
import pathlib, pickle, sys

class Planted:
    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path(sys.argv[2]),)

pathlib.Path(sys.argv[1]).write_bytes(pickle.dumps(Planted()))
"""


@pytest.fixture
def cached(tmp_path):
    """Return a folder in which numba has kept a kernel, and then somebody else put what runs when it is read."""
    sources = tmp_path / "sources"
    sources.mkdir(mode=0o755)
    (sources / "added.py").write_text(SOURCE, "utf-8")
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    assert run(ADD.format(folder=str(sources)), cache) == "5"
    (index,) = cache.rglob("*.nbi")
    subprocess.run([sys.executable, "-c", PLANT, index, tmp_path / "was_run"], check=True)
    return cache


@pytest.mark.slow
def test_nothing_is_read_from_a_cache_to_which_others_may_write(cached, tmp_path):
    folder = next(cached.iterdir())
    for place, mode in product((folder, cached), (0o770, 0o777, 0o703)):
        place.chmod(mode)
        said = run(ADD.format(folder=str(tmp_path / "sources")), cached)
        assert said.splitlines()[-1] == "5"
        assert said.count("RuntimeWarning") == 1
        assert "NUMBA_CACHE_DIR" in said
        assert not (tmp_path / "was_run").exists()
        place.chmod(0o700)
    run(ADD.format(folder=str(tmp_path / "sources")), cached)
    assert (tmp_path / "was_run").exists(), "whoever reads what was put there runs it"


def test_a_cache_belongs_to_this_user_or_to_whoever_may_change_the_sources(tmp_path):
    if not hasattr(os, "getuid"):
        pytest.skip("Windows has other permissions")
    sources, cache = tmp_path / "sources", tmp_path / "cache"
    for folder in (sources, cache, cache / "one", cache / "two", sources / "__pycache__"):
        folder.mkdir(mode=0o755)
    (cache / "one" / "x.nbi").touch()

    def verdict(folder: Path) -> bool:
        is_private.cache_clear()
        return is_private(folder, sources)

    assert verdict(cache / "one")
    (cache / "one").chmod(0o775)
    assert not verdict(cache / "one")
    (cache / "one").chmod(0o755)
    for mode in (0o666, 0o620, 0o602):
        (cache / "one" / "x.nbi").chmod(mode)
        assert not verdict(cache / "one"), "somebody could write code into the file itself"
    (cache / "one" / "x.nbi").chmod(0o644)
    (cache / "one" / "y.nbc").symlink_to(tmp_path / "elsewhere")
    assert not verdict(cache / "one"), "what a link leads to may be anybody's"
    (cache / "one" / "y.nbc").unlink()
    assert verdict(cache / "one")
    cache.chmod(0o777)
    assert not verdict(cache / "one"), "somebody could put another folder in its place"
    cache.chmod(0o1777)
    assert verdict(cache / "one"), "as in /tmp, nobody can"
    (sources / "__pycache__").chmod(0o775)
    assert not verdict(sources / "__pycache__")
    sources.chmod(0o775)
    assert verdict(sources / "__pycache__"), "whoever may write there may change the sources"
    if os.getuid() == 0:
        os.chown(cache / "two", 4711, -1)
        assert not verdict(cache / "two")
        os.chown(cache / "one" / "x.nbi", 4711, -1)
        assert not verdict(cache / "one")


def test_compiling_uses_up_no_time_of_a_search_that_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_compiling", [0.0])
    ending, limited = ix.Watch().ending_after(60.0), ix.Watch(time_limit=0.0)
    progress.leave_out(-60.0)
    assert ending.time_is_up()
    assert not ix.Watch().ending_after(60.0).time_is_up()
    progress.leave_out(120.0)
    assert not ending.time_is_up()
    assert limited.time_is_up()
