"""Telling people apart: who is counted in a place for the first time, and who has the same rows as somebody else."""

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


@kernel
def _mix(number: Any, seed: Any) -> Any:
    """Give a number that looks random, the same one for the same seed: the finalizer of splitmix64."""
    mixed = (number + np.uint64(1)) * seed
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@kernel
def number_profiles(persons: IntArray, groups: IntArray, rows: IntArray, number: int) -> Any:
    """Number the profiles of people: two have the same if they have as many rows in the same groups.

    Profiles are compared by two sums of 64 bits each, so that two different ones are taken for the same with a chance
    of one in 2**128.

    IN   persons, groups, rows  (entries,) int64; entries below group 0 do not count
    IN   number    of people
    OUT  class_of  (number,) int64: -1 for somebody without entries
    """
    first, second = np.zeros(number, np.uint64), np.zeros(number, np.uint64)
    class_of = np.full(number, -1, np.int64)
    for entry in range(persons.shape[0]):
        if groups[entry] >= 0:
            person, group, times = persons[entry], np.uint64(groups[entry]), np.uint64(rows[entry])
            first[person] += times * _mix(group, np.uint64(0x9E3779B97F4A7C15))
            second[person] += times * _mix(group, np.uint64(0xD1B54A32D192ED03))
            class_of[person] = 0
    capacity = 16
    while capacity < 2 * number:
        capacity *= 2
    last = np.uint64(capacity - 1)
    slots = np.full(capacity, -1, np.int64)
    classes = 0
    for person in range(number):
        if class_of[person] < 0:
            continue
        slot = first[person] & last
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = person
                class_of[person] = classes
                classes += 1
                break
            if first[other] == first[person] and second[other] == second[person]:
                class_of[person] = class_of[other]
                break
            slot = (slot + np.uint64(1)) & last
    return class_of
