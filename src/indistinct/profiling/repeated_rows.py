"""Whose rows these are: the column that names the same people in several rows, by what stays the same in a life."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from indistinct.linkage import CodedColumn, Codes, explained_by
from indistinct.profiling.column_names import (
    NAMESAKES,
    is_given_name,
    names_people,
    number_people,
    numbers_something,
    word_list,
    words_of,
)
from indistinct.profiling.column_roles import ColumnProfile, are_counts
from indistinct.profiling.column_statistics import MANY, ColumnStatistics
from indistinct.profiling.entities import entity_of, find_entity
from indistinct.profiling.safe_harbor import identifiers_like

LIFELONG = ("birth", "sex", "origin")
"""What the name of a column is about whose value stays the same for a person."""
SAME = 0.9
"""The share of people with several rows whose rows must all agree there; the rest are mistakes."""
HARDLY = 0.1
"""Names that take away fewer mistakes about the sex or origin of those who bear them are those of different people."""
SEED = 1


def find_person(
    coded: Mapping[str, CodedColumn], columns: Sequence[ColumnProfile], found: Mapping[str, ColumnStatistics]
) -> tuple[str | None, tuple[str, ...]]:
    """Return the column that says whose row it is, where some people have several rows, or None; and those that do not.

    What numbers people has a name that says so, or does not differ, from row to row of one number, in what stays the
    same for a person: date of birth, sex, origin. If it does differ there, it numbers something else, as a household
    or the starters of a run, unless its name speaks of people and nothing else tells by structure whose rows they are.
    """
    candidates = [name for name, cells in found.items() if _may_number(name, cells)]
    lifelong = [column.name for column in columns if column.topic in LIFELONG and column.distinct >= 2]
    ranked, others = [], []
    for name in candidates:
        shares = [
            _share_that_agrees(coded[name].codes, coded[other])
            for other in lifelong
            if other != name and name in coded and other in coded
        ]
        same = [share for share in shares if share is not None]
        is_same = bool(same) and sum(share >= SAME for share in same) >= len(same) / 2
        words = words_of(name)
        is_person = word_list("identifier.people").fits_any(words)
        is_named = names_people(name) == "number"
        if found[name].has_few and not is_person and not all(map(numbers_something, words)):
            is_named = False  # a plan's id of eight values numbers plans, and a number of children no child
        if not is_same and not is_named:
            continue
        is_doubtful = bool(same) and not is_same
        if is_doubtful and not is_person and max(same) < SAME:
            others.append(name)
            continue
        ranked.append((not is_person, is_doubtful, -found[name].distinct, name))
    if len(ranked) > 1:  # of several names that number people those count within whose rows other columns stay the same
        told = [one for one in ranked if entity_of(one[-1], coded, found) is not None]
        ranked = told or ranked
    if not ranked:
        return None, tuple(others)
    _, is_doubtful, _, chosen = min(ranked)
    if is_doubtful and entity_of(chosen, coded, found) is None and find_entity(coded, found, (*others, chosen)):
        return None, (*others, chosen)  # a number of students; something else names whose rows these are
    return chosen, tuple(others)


def names_that_repeat(
    coded: Mapping[str, CodedColumn], columns: Sequence[ColumnProfile], found: Mapping[str, ColumnStatistics]
) -> tuple[tuple[str, ...], bool]:
    """Return the columns that name people, if the same names stand in many rows, and whether these are namesakes.

    Rows with one name are of one person unless they differ in the date of birth, or in sex and origin where nobody's
    birth is known; where nothing of this is known, unless something numbers people and is different in every row.
    """
    names = [one.name for one in columns if one.role == "identifier" and names_people(one.name) == "name"]
    if not names or any(found[name].missing or name not in coded for name in names):
        return (), False
    whose = whose_rows(coded, names)
    assert whose is not None  # all were read
    rows = found[names[0]].rows
    if rows - int(whose.max(initial=-1)) - 1 <= NAMESAKES * rows:
        return (), False
    is_given = all(is_given_name(name) for name in names)
    return tuple(names), not _are_of_one(whose, coded, columns, found, is_given=is_given)


def _are_of_one(
    whose: Codes,
    coded: Mapping[str, CodedColumn],
    columns: Sequence[ColumnProfile],
    found: Mapping[str, ColumnStatistics],
    *,
    is_given: bool,
) -> bool:
    """Return whether rows with one name seem to be of one person: many have one birth, or else one sex or origin.

    Many people have the same given name, which also says their sex: by such names only births show who is one.
    """
    lifelong = {topic: [one.name for one in columns if one.topic == topic and one.name in coded] for topic in LIFELONG}
    births = [coded[name].codes for name in lifelong["birth"] if found[name].distinct >= MANY]
    if births:
        return any(_repeats_beyond_chance(whose, birth) > NAMESAKES for birth in births)
    if is_given:
        return False
    others = [coded[name].codes for name in (*lifelong["sex"], *lifelong["origin"]) if found[name].distinct >= 2]
    if others:
        return max(explained_by(whose, other)[0] for other in others) >= HARDLY
    numbered = [one for one in columns if one.role == "identifier" and names_people(one.name) == "number"]
    return not any(
        found[one.name].distinct == found[one.name].rows and word_list("identifier.people").fits_any(words_of(one.name))
        for one in numbered
    )


def _repeats_beyond_chance(codes: Codes, others: Codes) -> float:
    """Return the share of the rows that repeat both of two columns, less that if one is shuffled."""
    shuffled = np.random.default_rng(SEED).permutation(others)
    together, by_chance = (np.unique(np.stack([codes, one]), axis=1).shape[1] for one in (others, shuffled))
    return float((by_chance - together) / max(1, len(codes)))


def _share_that_agrees(codes: Codes, other: CodedColumn) -> float | None:
    """Return the share of the values with several rows whose rows agree in another column; None if it says nothing.

    A missing cell contradicts nothing: sex often stands in the first row of a person alone.
    """
    is_known = np.array([text is not None for text in other.texts], np.bool_)[other.codes]
    pairs, sizes = np.unique(np.stack([codes[is_known], other.codes[is_known]]), axis=1, return_counts=True)
    rows, different = np.bincount(pairs[0], sizes), np.bincount(pairs[0])
    is_several = rows >= 2
    return float((different[is_several] == 1).mean()) if is_several.any() else None


def _may_number(name: str, cells: ColumnStatistics) -> bool:
    """Return whether a column looks as if it numbered people of whom some have several rows."""
    if cells.missing or not number_people(cells.rows, cells.distinct):
        return False
    if cells.numbers and not cells.is_whole:
        return False  # nobody is numbered by 1.5
    words = words_of(name)
    if word_list("identifier.others").fits_any(words):
        return False
    is_of_people = word_list("identifier.people").fits_any(words)
    if len(words) > 1 and words[0] in word_list("identifier.counting") and not is_of_people and are_counts(cells):
        return False  # how many accounts somebody has
    if names_people(name) == "number":
        return True
    return any(map(numbers_something, words)) and not cells.has_few


def person_profile(name: str, cells: ColumnStatistics) -> ColumnProfile:
    """Describe the column that says whose row it is."""
    listed = tuple(identifiers_like(name, cells.values))
    reason = f"it names the same people in several rows ({cells.distinct:,} different in {cells.rows:,} rows)"
    return ColumnProfile(name, "identifier", None, reason, cells.distinct, cells.missing, listed, "person")


def whose_rows(coded: Mapping[str, CodedColumn], people: Sequence[str]) -> Codes | None:
    """Return a number for the person of each row; None where every row is of somebody else, or nothing was read."""
    if not people or any(name not in coded for name in people):
        return None
    stacked = np.stack([coded[name].codes for name in people])
    return np.unique(stacked, axis=1, return_inverse=True)[1].ravel().astype(np.int32)
