"""Kernels that kernels call are linked into them: compiled once, kept with them alone, and the same in every number."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import pytest

from indistinct.counting.kernels.ordering import drop_first, order_of, push, sort_points
from indistinct.kernels import machine_code
from indistinct.kernels.kernel import kernel


@kernel
def _share(part: int, whole: int, times: float) -> float:
    return times * part / whole


def _mean_share(parts: Any, whole: int) -> float:
    total = 0.0
    for part in parts:
        total += _share(part, whole, 1.0) + _share(part, times=2.0, whole=whole)
    return total / len(parts)


@kernel(allocates=True)
def _shares(parts: Any, whole: int) -> Any:
    found = np.empty(len(parts))
    for place in range(len(parts)):
        found[place] = _share(parts[place], whole, 1.0)
    return found


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.slow
def test_a_part_takes_names_and_is_kept_with_the_kernel_alone(cache):
    assert kernel(_mean_share)(np.array([1, 2, 3]), 4) == pytest.approx(1.5)
    made = [path.name for path in cache.rglob("*.*") if path.is_file()]
    assert len(made) == (1 if machine_code.is_possible() else 2), "the code; numba also keeps an index"
    assert all("_mean_share" in name for name in made)


@pytest.mark.slow
def test_a_kernel_that_allocates_may_have_parts_that_do_not(cache):
    assert _shares(np.array([1, 2]), 4).tolist() == [0.25, 0.5]


@pytest.mark.slow
def test_an_error_in_a_part_ends_the_kernel(cache):
    with pytest.raises((ZeroDivisionError, RuntimeError)):
        kernel(_mean_share)(np.array([1]), 0)


@pytest.mark.slow
def test_points_stop_in_the_order_of_their_charges_and_equal_ones_as_they_are():
    for number in (0, 1, 2, 7, 64, 65):
        random = np.random.default_rng(number)
        duals, points = random.integers(0, 9, 100) / 8, random.permutation(100)
        expected = points.copy()
        expected[5 : 5 + number] = points[5 : 5 + number][np.argsort(duals[points[5 : 5 + number]], kind="stable")]
        sort_points(5, 5 + number, points, duals, np.empty(100, np.int64))
        assert points.tolist() == expected.tolist()
        assert np.array_equal(order_of(duals[:number]), np.argsort(duals[:number], kind="stable"))


def test_boxes_leave_a_heap_by_level_and_equal_ones_by_number():
    random = np.random.default_rng(1)
    levels, boxes, expected = np.empty(99), np.empty(99, np.int64), []
    for box in random.permutation(200).tolist():
        if expected and (len(expected) == 99 or random.random() < 0.4):
            assert (levels[0], boxes[0]) == heapq.heappop(expected)
            drop_first(levels, boxes, len(expected) + 1)
        level = float(random.integers(6))
        push(level, box, levels, boxes, len(expected))
        heapq.heappush(expected, (level, box))
    while expected:
        assert (levels[0], boxes[0]) == heapq.heappop(expected)
        drop_first(levels, boxes, len(expected) + 1)
