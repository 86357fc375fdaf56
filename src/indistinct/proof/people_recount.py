"""The recount of people: every model on rows that still say whose they are, or on the original behind a release.

Rows are counted by the engine, or told apart with NumPy; nothing here shares code with the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import Groups, IntArray, Tally, encode_eligible
from indistinct.engine import PROFILE, Rows
from indistinct.linkage import counted_people
from indistinct.policy import PSEUDONYM, Policy, sensitive_columns
from indistinct.privacy.model import PrivacyModel
from indistinct.proof.checks import Check, knows_few, model_check
from indistinct.proof.known_columns import CodedTuples, KnownColumns
from indistinct.proof.truth.person_trees import Numbers, PersonTrees, SingleTable, linked_people_checks
from indistinct.recoding.recoding import PeopleFacts
from indistinct.release.manifest import Facts, StatedPeople


@dataclass(frozen=True, slots=True)
class CellTuples:
    """The distinct rows of a generalized table over its quasi and its asked sensitive columns, with their counts."""

    codes: IntArray
    """(quasi columns, tuples) label codes."""
    labels: Mapping[str, Sequence[str | None]]
    """The labels of each quasi column, by their codes."""
    values: Mapping[str, IntArray]
    texts: Mapping[str, Sequence[str | None]]
    counts: IntArray
    persons: IntArray
    """The number of each tuple's person; a tuple of several people occurs once for each, where that is counted."""

    @classmethod
    def of(cls, general: Rows, policy: Policy) -> CellTuples:
        """Count a generalized table."""
        asked, person = policy.asked_sensitive, policy.person_columns
        names = (*policy.quasi, *asked, *person)
        with general.encode(names) as encoded:
            texts, counted = encoded.values, encoded.count_by(names)
        codes = [np.asarray(code, np.int64) for code in counted.codes]
        end = len(policy.quasi) + len(asked)
        values = dict(zip(asked, codes[len(policy.quasi) : end], strict=True))
        told_apart = np.stack([np.zeros(len(counted.counts), np.int64), *codes[end:]])
        persons = np.unique(told_apart, axis=1, return_inverse=True)[1].ravel()
        labels = {name: texts[name] for name in policy.quasi}
        asked_texts = {name: texts[name] for name in asked}
        return cls(np.stack(codes[: len(policy.quasi)]), labels, values, asked_texts, counted.counts, persons)


NOT_COUNTED = Check("people.uncounted", True)
"""Rows were recounted; whose they are is not in the release."""


def count_people(released: Rows, policy: Policy, person: Sequence[str]) -> list[Check]:
    """Check every model on rows of which some columns say whose they are; linked rows by the profiles of people."""
    checks = []
    for name, columns, model in policy.requirements():
        if policy.links_rows:
            with released.with_profiles(columns, person, PROFILE) as profiled:
                groups = _groups(profiled, (PROFILE,), policy, model, person)
            checks.append(model_check(model, groups, name, "profile", "person").in_people())
        elif knows_few(model, columns):
            found = KnownColumns.count(model, name, columns, CodedTuples.of(released, columns, person), "person")
            checks.append(found.check(model).in_people())
        else:
            groups = _groups(released, columns, policy, model, person)
            checks.append(model_check(model, groups, name, unit="person").in_people())
    return checks


def released_people_check(released: Rows, policy: Policy, said: PeopleFacts) -> Check:
    """Compare what a release says of its people with the rows that are about to leave, none of them blank."""
    person = policy.person_columns
    found = {
        "released": int(released.sizes_by((), person).sum()),
        "smallest_group": int(released.sizes_by(policy.quasi, person).min(initial=said.eligible)),
    }
    wrong = {name: count for name, count in found.items() if getattr(said, name) != count}
    return Check("people.stated", not wrong, wrong)


def stated_people_checks(said: Facts, source: Rows, policy: Policy) -> list[Check]:
    """Compare the people that a release is about, as it says, with the original; shown only if they differ.

    Who lost rows cannot be found where nothing links them.
    """
    if said.people is None or said.drawn is not None:
        return []
    with encode_eligible(source, policy, policy.person_columns) as encoded:
        return _wrong_people(said.people, {"eligible": len(encoded.count_by(policy.person_columns).counts)})


def pseudonym_people_checks(said: Facts, released: Rows, policy: Policy) -> list[Check]:
    """Compare the people in a release whose pseudonyms tell them apart with what it says; shown only if they differ."""
    if said.people is None:
        return []
    person = (PSEUDONYM,)
    with released.with_profiles(policy.quasi, person, PROFILE) as profiled:
        profiles = profiled.sizes_by((PROFILE,), person)
    found = {
        "released": int(released.sizes_by((), person).sum()),
        "smallest_group": int(released.sizes_by(policy.quasi, person).min()),
        "smallest_profile": int(profiles.min()),
    }
    return _wrong_people(said.people, found)


def _wrong_people(stated: StatedPeople, found: Mapping[str, int]) -> list[Check]:
    wrong = {name: count for name, count in found.items() if getattr(stated, name) != count}
    return [Check("manifest.people", False, wrong)] if wrong else []


def _groups(
    released: Rows, columns: Sequence[str], policy: Policy, model: PrivacyModel, person: Sequence[str]
) -> Groups:
    """Count the people of the groups over these columns, and those who have each sensitive value there."""
    if model.asks_population:
        return counted_people(released, columns, policy, model)
    tallies = {}
    for name in sensitive_columns(model, policy):
        found, whole = released.values_by(columns, name, person), released.values_by((), name, person)
        hierarchy = policy.columns[name].compile(found.texts)
        totals = np.zeros(len(found.texts), np.int64)
        totals[whole.values] = whole.counts
        tallies[name] = Tally(
            *_sort_tally(found.groups, found.values, found.counts),
            totals,
            found.texts,
            hierarchy if hierarchy.height else None,
            int(released.sizes_by((), person).sum()),
        )
    return Groups.of_sizes(released.sizes_by(columns, person), tallies)


def _sort_tally(groups: IntArray, values: IntArray, counts: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    order = np.lexsort((values, groups))
    return groups[order], values[order], counts[order]


def people_checks(released: Rows, general: Rows, policy: Policy) -> list[Check]:
    """Check every model on the people behind a release; ``general`` is the original at the levels of the release.

    Where all rows of a tuple are released it is certain whose they are. Where some are missing, the missing ones are
    taken for those that leave fewest people.
    """
    tuples = CellTuples.of(general, policy)
    is_left, in_part = _entries_left(tuples, _released_rows(released, tuples, policy))
    checks = []
    for name, columns, model in policy.requirements():
        if knows_few(model, columns):
            left = CodedTuples(policy.quasi, tuples.codes[:, is_left], tuples.counts[is_left], tuples.persons[is_left])
            checks.append(KnownColumns.count(model, name, columns, left, "person").check(model).in_people())
            continue
        positions = [policy.quasi.index(column) for column in columns]
        _, group_of = np.unique(tuples.codes[positions], axis=1, return_inverse=True)
        if in_part and sensitive_columns(model, policy):
            numbers = {"on": name, "why": "partly released", "tuples": in_part}
            checks.append(Check(f"people.model.{model.name}", False, numbers))
        elif not model.asks_population:  # people of a population were counted with the cells
            released_groups = np.unique(group_of.ravel()[is_left])
            number = np.minimum(np.searchsorted(released_groups, group_of.ravel()), len(released_groups) - 1)
            groups = groups_in_people(tuples, number, is_left, policy, model)
            checks.append(model_check(model, groups, name, unit="person").in_people())
    return checks


def _released_rows(released: Rows, tuples: CellTuples, policy: Policy) -> IntArray:
    """Return the released rows of the tuple of quasi cells that each entry belongs to."""
    with released.encode(policy.quasi) as encoded:
        texts, found = encoded.values, encoded.count_by(policy.quasi)
    codes = []
    for name, own in zip(policy.quasi, found.codes, strict=True):
        code_of: Mapping[str | None, int] = {label: code for code, label in enumerate(tuples.labels[name])}
        codes.append(np.array([code_of.get(text, -1) for text in texts[name]], np.int64)[own])
    both = np.concatenate([np.stack(codes), tuples.codes], axis=1)
    _, number = np.unique(both, axis=1, return_inverse=True)
    number = number.ravel()
    rows = np.zeros(int(number.max(initial=-1)) + 1, np.int64)
    np.add.at(rows, number[: len(found.counts)], found.counts)
    return rows[number[len(found.counts) :]]


def _entries_left(tuples: CellTuples, released: IntArray) -> tuple[BoolArray, int]:
    """Return which entries are released, as few people as can be, and how many tuples are released in part."""
    _, tuple_of = np.unique(tuples.codes, axis=1, return_inverse=True)
    tuple_of = tuple_of.ravel()
    rows = np.bincount(tuple_of, tuples.counts).astype(np.int64)
    is_left = released > 0
    partial = np.unique(tuple_of[is_left & (released < rows[tuple_of])])
    for one in partial.tolist():
        members = np.flatnonzero(tuple_of == one)
        _, person_of = np.unique(tuples.persons[members], return_inverse=True)
        of_person = np.bincount(person_of, tuples.counts[members])
        fewest_first = np.argsort(of_person, kind="stable")
        missing = rows[one] - released[members[0]]
        gone = fewest_first[np.cumsum(of_person[fewest_first]) <= missing]
        is_left[members[np.isin(person_of, gone)]] = False
    return is_left, len(partial)


def groups_in_people(
    tuples: CellTuples, group_of: IntArray, is_left: BoolArray, policy: Policy, model: PrivacyModel
) -> Groups:
    """Return groups of entries that are left, with sizes and sensitive values in people."""
    number = int(group_of.max(initial=-1)) + 1
    pairs = np.unique(np.stack([group_of[is_left], tuples.persons[is_left]]), axis=1)
    tallies = {}
    for name in sensitive_columns(model, policy):
        compiled = policy.columns[name].compile(tuples.texts[name])
        values, persons = tuples.values[name][is_left], tuples.persons[is_left]
        told_apart = np.unique(np.stack([group_of[is_left], values, persons]), axis=1)
        found, counts = np.unique(told_apart[:2], axis=1, return_counts=True)
        holders = np.unique(np.stack([values, persons]), axis=1)[0]
        tallies[name] = Tally(
            found[0],
            found[1],
            counts.astype(np.int64),
            np.bincount(holders, minlength=len(tuples.texts[name])).astype(np.int64),
            tuple(tuples.texts[name]),
            compiled if compiled.height else None,
            len(np.unique(persons)),
        )
    return Groups.of_sizes(np.bincount(pairs[0], minlength=number), tallies)


# Linked rows: whether those of a pseudonym are of one person of the original, and who had to be suppressed.


def linked_rows_checks(released: Rows, general: Rows, policy: Policy) -> list[Check]:
    """Check that the rows of each pseudonym are all rows of one person, whom no other pseudonym stands for."""
    if type(released) is not type(general):
        return [Check("truth.linked_rows", True, {"why": "engines"})]
    if policy.suppresses_single_rows:
        return [Check("truth.linked_rows", True, {"why": "single rows"})]
    if policy.shifted:
        return _moved_rows_checks(released, general, policy)
    columns = policy.compared_columns
    with (
        released.with_profiles(columns, (PSEUDONYM,), PROFILE) as mine,
        general.with_profiles(columns, policy.person_columns, PROFILE) as theirs,
    ):
        false = mine.difference(theirs, (PROFILE,))
    return [Check("truth.linked_rows", not false, {"wrong": false, "unit": "row"} if false else {})]


def _moved_rows_checks(released: Rows, general: Rows, policy: Policy) -> list[Check]:
    """Check the same where dates move, and that those of a person have moved together."""
    numbers, tied = Numbers(), SingleTable.of(policy)
    mine = PersonTrees.of({"table": released}, tied, numbers, is_released=True)
    theirs = PersonTrees.of({"table": general}, tied, numbers, is_released=False)
    return linked_people_checks(mine, theirs, numbers)


def people_who_stay(tuples: CellTuples, policy: Policy) -> BoolArray:
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


def _profiles(tuples: CellTuples, positions: list[int]) -> IntArray:
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
