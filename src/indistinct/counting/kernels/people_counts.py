"""Telling people apart: who is counted in a place for the first time, and who has the same rows as somebody else."""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.array_types import IntArray
from indistinct.kernel import kernel


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
    """Return a number that looks random, the same one for the same seed: the finalizer of splitmix64."""
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
    return _number_sums(first, second, class_of)


@kernel
def number_trees(places: IntArray, rows: IntArray, parents: IntArray, persons: IntArray, number: int) -> Any:
    """Number the profiles of people whose rows belong to each other: two have the same if their trees are equal.

    An entry with a parent stands under that one, others under their person. Two trees are equal if as many rows stand
    in the same places, each over equal trees. They are compared by two sums of 64 bits each, as profiles are.

    IN   places, rows  (entries,) int64; entries below place 0 do not count, nor what stands under them
    IN   parents       (entries,) int64: a later entry, or -1
    IN   persons       (entries,) int64
    IN   number        of people
    OUT  class_of      (number,) int64: -1 for somebody without entries
    """
    first, second = np.zeros(number, np.uint64), np.zeros(number, np.uint64)
    entries = places.shape[0]
    below, beneath = np.zeros(entries, np.uint64), np.zeros(entries, np.uint64)
    class_of = np.full(number, -1, np.int64)
    for entry in range(entries):
        if places[entry] < 0:
            continue
        place, times = np.uint64(places[entry]), np.uint64(rows[entry])
        one = _mix(place, np.uint64(0x9E3779B97F4A7C15)) + below[entry]
        two = _mix(place, np.uint64(0xD1B54A32D192ED03)) + beneath[entry]
        one = times * _mix(one, np.uint64(0xA0761D6478BD642F))
        two = times * _mix(two, np.uint64(0xE7037ED1A0B428DB))
        parent, person = parents[entry], persons[entry]
        if parent >= 0:
            below[parent] += one
            beneath[parent] += two
        else:
            first[person] += one
            second[person] += two
        class_of[person] = 0
    return _number_sums(first, second, class_of)


@kernel
def _number_sums(first: Any, second: Any, class_of: Any) -> Any:
    """Number people by two sums each, those whose number is not below 0; equal sums have equal numbers."""
    number = first.shape[0]
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
