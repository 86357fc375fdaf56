"""Linked rows: whether those of a pseudonym are of one person of the original, and who had to be suppressed."""

from __future__ import annotations

import numpy as np

from indistinct.counting import IntArray
from indistinct.engine import PROFILE, Rows
from indistinct.policy import PSEUDONYM, Policy
from indistinct.privacy.model import BoolArray
from indistinct.proof.checks import Check
from indistinct.proof.people_recount import groups_in_people
from indistinct.proof.truth.linked_people import linked_people_checks
from indistinct.proof.truth.person_trees import Numbers, OneTable, PersonTrees
from indistinct.proof.truth.tuples import Tuples


def linked_rows_checks(released: Rows, general: Rows, policy: Policy) -> list[Check]:
    """Check that the rows of each pseudonym are all rows of one person, whom no other pseudonym stands for."""
    if type(released) is not type(general):
        return [Check("linked rows", True, "not compared: the release and the original are in different engines")]
    if policy.suppresses_single_rows:
        return [Check("linked rows", True, "not compared: people may have lost single rows, and nothing tells which")]
    if policy.shifted:
        return _moved_rows_checks(released, general, policy)
    columns = policy.compared_columns
    with (
        released.with_profiles(columns, (PSEUDONYM,), PROFILE) as mine,
        general.with_profiles(columns, policy.person_columns, PROFILE) as theirs,
    ):
        false = mine.difference(theirs, (PROFILE,))
    found = "the rows of each pseudonym are all rows of a person of her own"
    return [Check("linked rows", not false, f"{false:,} rows are linked that are not one person's" if false else found)]


def _moved_rows_checks(released: Rows, general: Rows, policy: Policy) -> list[Check]:
    """Check the same where dates move, and that those of a person have moved together."""
    numbers, tied = Numbers(), OneTable.of(policy)
    mine = PersonTrees.of({"table": released}, tied, numbers, is_released=True)
    theirs = PersonTrees.of({"table": general}, tied, numbers, is_released=False)
    return linked_people_checks(mine, theirs, numbers)


def people_who_stay(tuples: Tuples, policy: Policy) -> BoolArray:
    """Return which entries stay when everybody is taken out who shares a profile with too few, until nobody does."""
    is_left = np.ones(len(tuples.counts), np.bool_)
    for alone in (True, False):
        before = -1
        while int((~is_left).sum()) > before:
            before = int((~is_left).sum())
            for _, columns, model in policy.requirements():
                if alone and model.asks_whole_table:
                    continue
                positions = [policy.quasi.index(column) for column in columns]
                class_of = _profiles(tuples, positions)
                groups = groups_in_people(tuples, class_of, is_left, policy, model)
                is_left &= model.holds(groups)[class_of]
    return is_left


def _profiles(tuples: Tuples, positions: list[int]) -> IntArray:
    """Return the number of the profile of each entry's person: all her rows, by their cells in some columns."""
    _, group_of = np.unique(tuples.codes[positions], axis=1, return_inverse=True)
    pairs, place = np.unique(np.stack([tuples.persons, group_of.ravel()]), axis=1, return_inverse=True)
    rows = np.bincount(place.ravel(), tuples.counts).astype(np.int64)
    profile = np.stack([pairs[1], rows], axis=1)
    ends = np.searchsorted(pairs[0], np.arange(int(tuples.persons.max(initial=-1)) + 2))
    numbers: dict[bytes, int] = {}
    of_person = [
        numbers.setdefault(profile[start:end].tobytes(), len(numbers))
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]
    return np.array(of_person, np.int64)[tuples.persons]
