"""Telling people apart: which entries are the first of a person in a place, so that nobody is counted twice there."""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.kernels.array_types import IntArray
from indistinct.kernels.kernel import kernel


@kernel
def first_of_person(places: IntArray, persons: IntArray) -> Any:
    """Mark the first entry of each person in each place; entries below place 0 are in none.

    IN   places   (entries,) int64
    IN   persons  (entries,) int64
    OUT  is_first (entries,) bool
    """
    entries = places.shape[0]
    capacity = 16
    while capacity < 2 * entries:
        capacity *= 2
    last = np.uint64(capacity - 1)
    slots = np.full(capacity, -1, np.int64)
    is_first = np.zeros(entries, np.bool_)
    for entry in range(entries):
        if places[entry] < 0:
            continue
        mixed = np.uint64(places[entry]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
        mixed = (mixed + np.uint64(persons[entry])) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
        slot = mixed & last
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = entry
                is_first[entry] = True
                break
            if places[other] == places[entry] and persons[other] == persons[entry]:
                break
            slot = (slot + np.uint64(1)) & last
    return is_first
