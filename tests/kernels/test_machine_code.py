"""Kernels run without numba: the same numbers, from code that is whole and made for this machine."""

from __future__ import annotations

import ctypes
import shutil
from typing import Any

import numpy as np
import pytest

from indistinct.counting.kernels import grouping
from indistinct.kernels import machine_code, own_memory, shipped_code
from indistinct.kernels.kernel import _interpreter
from indistinct.kernels.machine_code import find_code, flatten, make_code
from indistinct.search.full_domain.best_node.kernels import node_counts as counting

pytestmark = pytest.mark.skipif(not machine_code.is_possible(), reason="code is kept on Linux and x86-64 alone")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path / "indistinct"


def sample(seed: int) -> dict[Any, Any]:
    """Return arguments of every kernel that says that it allocates nothing, from a random list of tuples."""
    random = np.random.default_rng(seed)
    tuples, places = 50, 128
    keys = random.integers(0, 64, (tuples, 1)).astype(np.uint64)
    counts = random.integers(1, 9, tuples).astype(np.int32)
    chunks = np.array([[0, 0, 7, 1, 1, 0], [0, 3, 7, 9, 8, 0], [0] * 6, [0] * 6])
    tables = np.array([0, *np.tile(np.arange(8), 2)], np.uint32)
    sizes, crowds = (random.integers(0, 9, places).astype(np.int32) for _ in range(2))
    place_of = random.integers(0, places, tuples).astype(np.int32)
    work = (np.zeros((tuples, 1), np.uint64), place_of, np.where(sizes, sizes, 1), np.zeros(places, np.int32))
    fields = np.zeros(2, np.int64), np.array([0, 3]), np.array([7, 7], np.uint64), np.array([0, 8])
    maps = random.integers(0, 3, 16).astype(np.uint64)
    into = (np.full(128, -1), np.zeros_like(keys), np.zeros(tuples, np.int64), np.zeros(tuples, np.int64))
    return {
        counting.count_dense: (keys, counts, chunks, tables, places, sizes),
        counting.locate: (keys, counts, chunks, tables, int(random.integers(2)) * places, work),
        counting.rows_in_small: (sizes, crowds, places, 5),
        counting.tally: (sizes, crowds, places, 5),
        counting.sum_over_small: (keys, counts, chunks, random.random(17), 5, (place_of, crowds)),
        counting._merge_tuples: (keys, work, np.zeros_like(keys), np.zeros(tuples, np.int32)),
        grouping.merge_mapped: (keys, counts.astype(np.int64), fields, maps, into),
    }


def copied(given):
    return tuple(copied(one) if isinstance(one, tuple) else np.copy(one) if np.ndim(one) else one for one in given)


def flat(given):
    return [one for some in given for one in (flat(some) if isinstance(some, tuple) else [np.asarray(some)])]


def written(kernel, given):
    """Run a kernel as it is written, and give its answer and what became of its arguments."""
    own = copied(given)
    return _interpreter.run(kernel._function, own), own


@pytest.mark.slow
def test_every_kernel_that_allocates_nothing_gives_the_same_without_numba(cache):
    for kernel, given in sample(0).items():
        made = make_code(kernel._function, given, "sources")
        assert made is not None, f"{kernel.__name__} needs numba"
        found = find_code(kernel._function, flatten(given)[0], "sources")
        assert found == made, "what was kept is what was made"
        run = found.load(flatten(given)[0])
        for seed in range(20):
            given = sample(seed)[kernel]
            expected, after = written(kernel, given)
            answer = run(flatten(given)[1])
            assert answer == expected, kernel.__name__
            assert type(answer) is type(expected) or np.ndim(expected) == 0
            for one, other in zip(flat(given), flat(after), strict=True):
                assert np.array_equal(one, other), f"{kernel.__name__} left other arrays"


def made_arrays(numbers, number):
    """Return arrays in every way: whole, a part, none, the same memory twice, and that of an argument."""
    squares, table = np.empty(number, np.float64), np.zeros((number, 3), np.uint32)
    for place in range(number):
        squares[place] = numbers[place] * numbers[place]
        table[place, place % 3] = place + 1
    is_odd = np.zeros(number, np.bool_)
    is_odd[1::2] = True
    return number, (squares, squares[1:], is_odd), table[:, 1], np.empty((0, 2), np.int32), numbers[:2], 0.5


def test_arrays_that_a_kernel_makes_are_numpys_own_without_numba(cache):
    numbers = np.arange(7, dtype=np.int64)
    given = (numbers, 7)
    made = make_code(made_arrays, given, "sources", allocates=True)
    assert made is not None
    found = find_code(made_arrays, flatten(given)[0], "sources")
    assert found == made
    answer, expected = found.load(flatten(given)[0])(flatten(given)[1]), made_arrays(*given)
    assert len(flat(answer)) == len(flat(expected)) == 8
    for one, other in zip(flat(answer), flat(expected), strict=True):
        assert np.array_equal(one, other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
    (squares, rest, _), part = answer[1], answer[2]
    squares[3] = -1.0
    assert rest[2] == -1, "one memory, which two arrays have"
    del answer, squares
    assert rest.tolist() == [1, 4, -1, 16, 25, 36]
    assert part.tolist() == [0, 2, 0, 0, 5, 0, 0]
    references = ctypes.c_int64.from_address(rest.base._head)
    assert references.value == 1, "all other memory was given back"


def test_memory_is_given_back_when_the_last_array_goes(cache, monkeypatch):
    given = (np.arange(4), 4)
    run = make_code(made_arrays, given, "sources", allocates=True).load(flatten(given)[0])
    freed = []
    monkeypatch.setattr(own_memory, "_free", lambda: freed.append)
    answer = run(flatten(given)[1])
    heads = {one.base._head for one in flat(answer) if hasattr(one.base, "_head")}
    assert len(heads) == 4
    assert freed == []
    del answer
    assert sorted(freed) == sorted(heads)


def test_a_kernel_that_says_it_makes_no_array_and_does_needs_numba(cache):
    def squares(numbers):
        return (numbers * numbers).sum()

    assert make_code(squares, (np.arange(3),), "sources") is None
    assert not cache.exists()


def test_arguments_of_other_types_stay_with_numba():
    for given in ([None], [np.int32(1)], [np.float32(1)], ["text"], [(np.arange(2), "text")]):
        assert flatten(given)[0] is None
    narrow, wide = (flatten([np.zeros(3, kind)])[0] for kind in (np.int32, np.int64))
    assert narrow != wide
    assert flatten([np.zeros((4, 4))[:, :2]])[0] != flatten([np.zeros((4, 2))])[0], "gaps between rows"
    assert flatten([np.zeros((1, 4))])[0] == flatten([np.zeros((2, 4))])[0], "one row lies both ways"
    assert flatten([1, 1.0, True])[0] == ("q", "d", "?")
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    assert flatten([frozen])[0] != flatten([np.zeros(3)])[0]


def test_code_that_is_damaged_or_of_other_sources_is_not_loaded(cache):
    kernel: Any = counting.rows_in_small
    given = sample(1)[kernel]
    kind = flatten(given)[0]
    assert make_code(kernel._function, given, "sources") is not None
    assert find_code(kernel._function, kind, "other sources") is None
    assert find_code(kernel._function, flatten(sample(1)[counting.tally][:2])[0], "sources") is None
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:-1] + b"\0" + whole[-1:], b"", b"{}\n", b"no JSON", b"[]\n" + whole):
        path.write_bytes(damaged)
        assert find_code(kernel._function, kind, "sources") is None
    path.write_bytes(whole)
    assert find_code(kernel._function, kind, "sources") is not None


def test_shipped_code_is_used_only_where_it_is_safe(cache, tmp_path, monkeypatch):
    """The processor has what it asks for, the sources are those it was made of, and it is whole."""
    folder = tmp_path / "compiled"
    monkeypatch.setattr(shipped_code, "FOLDER", folder)
    monkeypatch.setenv(machine_code.SHIP, str(folder))
    kernel: Any = counting.rows_in_small
    given = sample(1)[kernel]
    kind, words = flatten(given)
    made = make_code(kernel._function, given, "sources")
    (path,) = folder.iterdir()
    shutil.rmtree(cache)
    is_served = shipped_code.is_served.__wrapped__
    monkeypatch.setattr(machine_code, "is_served", is_served)
    found = find_code(kernel._function, kind, "sources")
    if found is None:
        pytest.skip("an older processor")
    assert found == made
    assert found.load(kind)(words) == written(kernel, given)[0]
    assert find_code(kernel._function, kind, "changed sources") is None
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert find_code(kernel._function, kind, "sources") is None
    path.write_bytes(whole)
    monkeypatch.setattr(shipped_code, "FEATURES", [*shipped_code.FEATURES, "no processor has it"])
    assert find_code(kernel._function, kind, "sources") is None


def test_arrays_of_all_kinds_are_given_by_their_address() -> None:
    whole = np.arange(12, dtype=np.int32).reshape(3, 4)
    fixed = whole.copy()
    fixed.setflags(write=False)
    for array in (whole, whole[1:], whole.T, whole[:, 1], fixed, whole[:0], np.zeros(0), np.ones(1, np.bool_)):
        _, words = flatten((array,))
        assert words[2:5] == [array.size, array.itemsize, array.__array_interface__["data"][0]]
