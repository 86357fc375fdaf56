"""What a column is to a release: a role, by its values, its name and the columns beside it, and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from indistinct.hierarchy import Hierarchy
from indistinct.policy import Role
from indistinct.policy.column import Unreadable
from indistinct.profiling.column_names import SHORTEST_PART, numbers_something, topics_of, word_list, words_of
from indistinct.profiling.column_shapes import Shape, shape_of
from indistinct.profiling.column_statistics import MANY, ColumnStatistics
from indistinct.profiling.date_shapes import FIRST_YEAR, LAST_YEAR, read_dates
from indistinct.profiling.safe_harbor import SafeHarbor, identifiers_like

LONG_TEXT, MANY_WORDS = 40, 5
"""Average letters, or words, from which texts that mostly differ count as written freely."""
EXACT_PLACES = 3
"""Decimals from which coordinates point to a house."""
LARGEST_RATING = 10
"""A rate of no more is a mark that somebody gives."""
LONG_NUMBER = 6
LARGEST_COUNT = 1_000
"""Whole numbers below it may say how many of something there are."""
FEW_SHARE = 5
"""Codes that fewer rows share on average name somebody."""
HALF, NEARLY_ALL = 0.5, 0.9
DIAGNOSES, LONG_DIAGNOSIS = ("icd10", "icd10_cm", "icd9"), 4
"""Codes of diagnoses, known by such a length: A10 may be a ward as well."""
FEWEST_ILLNESSES, MOST_TEXTS = 2, 1_000
"""Values that must speak of health, at least; columns of more than MOST_TEXTS texts are not read for it."""
LABORATORY = re.compile(r"(?<![a-z])(cd[348]|b12|a1c|il6|ca125|ca199)(?![a-z])", re.IGNORECASE)
"""What laboratories count is known by a name with digits, which words do not have."""
LIGHTEST, HEAVIEST = 30, 250
"""Between these the middle of bodies' weights lies, in kilograms or pounds."""
ROLES_BY_NAME: tuple[Role, ...] = ("sensitive", "quasi")
TOPICS: Mapping[str | None, str] = {
    "health": "health",
    "money": "money",
    "beliefs": "beliefs",
    "offences": "offences",
    "scores": "marks or scores",
    "birth": "birth",
    "age": "age",
    "sex": "sex or gender",
    "origin": "origin",
    "place": "a place",
    "household": "family or household",
    "work": "work or education",
    "time": "a time",
    "sight": "what can be seen",
}
"""What the topic of a name is called in a sentence."""
URGENT = ("health", "offences", "beliefs", "money", "scores")
"""Topics of sensitive columns, the one that harms most first."""

FEWEST_ITEMS = 4
"""Columns of unknown or sensitive names with the same three or more values that make them items of one record."""
FEWEST_CHECKED = 8
"""Columns of unknown names with the same two words that make them a list of questions which was ticked off."""
FEWEST_OF_HEALTH = 4
"""Columns of health that make a medical record, if they are more than those that others may know."""
FEWEST_SIBLINGS = 2
"""Others that must be named alike."""
MOST_OUTCOMES = 3
"""A study ends in no more ways: alive, ill again, dead."""


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What a column looks like, and the role and the hierarchy that this suggests."""

    name: str
    role: Role
    hierarchy: Hierarchy | None
    reason: str
    distinct: int
    missing: int
    safe_harbor: tuple[SafeHarbor, ...] = ()
    """The identifiers of HIPAA Safe Harbor that it looks like."""
    topic: str | None = None
    """What its name is about: birth, age, sex, health, money …; None if it says nothing."""
    largest_share: float = 0.0
    """The share of the rows that have its most frequent value; a missing cell is one."""
    values: tuple[str, ...] = field(default=(), repr=False)
    """Its values, the most frequent first, if they are few."""
    missing_codes: tuple[str, ...] = ()
    """Values that seem to mean a missing cell."""
    unreadable: Unreadable = "refuse"
    """What is to become of the few values that the hierarchy cannot read."""
    recode: Hierarchy | None = None
    """What the cells of a sensitive or another column leave as, at ``recode_level``; None if they leave as they are."""
    recode_level: int = 1
    is_unsure: bool = False
    """Nothing says what the column is, so it is protected; whoever knows better mends the policy."""
    determined_by: str | None = None
    """Of a sensitive column: a quasi column that determines it, more often than not."""
    alike: tuple[tuple[str, float], ...] = ()
    """Of a sensitive column, for groups of 2, 3, … rows that agree in one quasi column: the column within which they
    have one value most often, and how often by chance."""

    def alike_within(self, k: int) -> tuple[str, float]:
        """Return the quasi column within which groups of k rows have one value most often, and how often."""
        return self.alike[min(k - 2, len(self.alike) - 1)] if self.alike and k >= 2 else ("", 0.0)

    @property
    def urgency(self) -> int:
        """How early a sensitive column is thought of, by its topic; the first is 0."""
        return URGENT.index(self.topic) if self.topic in URGENT else len(URGENT)

    def as_quasi(self, shape: Shape, reason: str) -> ColumnProfile:
        """Return the column as a quasi one of a shape."""
        said = {"missing_codes": shape.missing_codes, "unreadable": shape.unreadable}
        made = replace(self, role="quasi", hierarchy=shape.hierarchy, reason=reason, recode=None, recode_level=1)
        return replace(made, **said)  # type: ignore[arg-type]

    def as_sensitive(self, reason: str) -> ColumnProfile:
        """Return the column as a sensitive one."""
        return replace(self, role="sensitive", hierarchy=None, reason=reason, missing_codes=(), unreadable="refuse")

    def to_dict(self) -> dict[str, Any]:
        """Return the column as JSON takes it."""
        return {
            "name": self.name,
            "role": self.role,
            "hierarchy": None if self.hierarchy is None else self.hierarchy.spec(),
            "reason": self.reason,
            "distinct": self.distinct,
            "missing": self.missing,
            "safe_harbor": [one.letter for one in self.safe_harbor],
            "missing_codes": len(self.missing_codes),
            "unreadable": self.unreadable,
            "recode": None if self.recode is None else self.recode.spec() | {"level": self.recode_level},
            "unsure": self.is_unsure,
            "determined_by": self.determined_by,
        }


def judge(name: str, cells: ColumnStatistics, by_siblings: Mapping[str, tuple[str | None, str]]) -> ColumnProfile:
    """Return the role of a column; ``by_siblings`` has the topic and the reason of columns that the others reveal."""
    listed = tuple(identifiers_like(name, cells.values))
    said, topic = said_by(name)

    @cache
    def shape() -> Shape:
        return shape_of(name, cells)  # it reads every value, which nobody needs of numbers that name people

    def are_dates() -> bool:
        return read_dates(cells) is not None and shape().kind == "dates"

    def profile(role: Role, reason: str) -> ColumnProfile:
        if listed and role != "other":
            reason += f"; HIPAA ({', '.join(one.letter for one in listed)})"
        made = ColumnProfile(name, role, None, reason, cells.distinct, cells.missing, listed, topic)
        made = replace(made, largest_share=cells.largest_share, values=cells.few_values)
        return made.as_quasi(shape(), f"{reason}; {shape().words}") if role == "quasi" else made

    naming = _naming(name, cells, listed, are_dates)
    if naming:
        return profile("identifier", naming)
    if cells.distinct == 0:
        return profile("other", "every cell is missing")
    if cells.distinct == 1 and not cells.missing:
        return profile("other", "one value for all rows tells nobody apart")
    if _serves_to_count(name, cells):
        return profile("other", "it serves to count, and says nothing of a person")
    if shape().kind == "dates" and said != "quasi":
        return profile("quasi", "others may know when something happened to a person")
    if _are_years(cells) and said != "quasi":
        return profile("quasi", "others may know the year in which something happened to a person")
    if _is_rating(name, cells):
        return profile("sensitive", "a mark that somebody gives is an opinion")
    if _are_illnesses(cells, shape()) and (said is None or is_vague(name)):
        return profile("sensitive", "its values speak of health, whatever its name")
    if said == "sensitive":
        hint = "; nearly every value is different: make it quasi if others may know it" * cells.is_nearly_unique
        return profile("sensitive", f"its name speaks of {TOPICS[topic]}, which nobody should learn{hint}")
    if said == "quasi":
        return profile("quasi", f"its name speaks of {TOPICS[topic]}, which others may know")
    telling = _telling(cells, shape())
    if telling:
        return profile("identifier", telling)
    if name in by_siblings:
        topic, reason = by_siblings[name]
        return profile("sensitive", reason)
    if cells.numbers and not cells.is_whole and cells.distinct > MANY:
        return profile("other", "a measured or computed number that others hardly know; if they may, make it quasi")
    made = profile("quasi", "its name says nothing, so others may know it")
    return replace(made, reason=f"{made.reason}; if nobody can link by it, make it other", is_unsure=True)


def said_by(name: str) -> tuple[Role | None, str | None]:
    """Return the role that a column's name suggests, and its topic; a word that says little yields to another.

    >>> said_by("HealthProblem"), said_by("marital_status"), said_by("date_of_treatment"), said_by("x17")
    (('sensitive', 'health'), ('quasi', 'household'), ('sensitive', 'health'), (None, None))
    """
    words = words_of(name)
    if LABORATORY.search(name):
        return "sensitive", "health"
    if "rate" in words and word_list("numbers.periods").fits_any(words):
        return "sensitive", "money"  # an hourly rate is what somebody earns
    yielding = word_list("weak.roles")
    heads = [word for word in words if word not in yielding]
    if len(heads) > 1 and word_list("quasi.place").fits(heads[-1], SHORTEST_PART):
        return "quasi", "place"  # the last word says what it is: a health service area
    for is_yielding in (False, True):
        telling = [word for word in words if (word in yielding) == is_yielding]
        for role in ROLES_BY_NAME:
            for topic, known in topics_of(role).items():
                if known.fits_any(telling, SHORTEST_PART):
                    return role, topic
    return None, None


def is_vague(name: str) -> bool:
    """Return whether a name has no other words than such that say little: time, type, number.

    >>> is_vague("Time"), is_vague("time_of_birth")
    (True, False)
    """
    return all(word in word_list("weak.roles") for word in words_of(name))


def _is_rating(name: str, cells: ColumnStatistics) -> bool:
    """Return whether a column holds marks that somebody gave, on a scale from 0 or 1 to at most ten."""
    is_named = word_list("numbers.ratings").fits_any(words_of(name))
    return is_named and cells.is_whole and cells.numbers[0] >= 0 and 2 < cells.numbers[-1] <= LARGEST_RATING


def _naming(name: str, cells: ColumnStatistics, listed: Sequence[SafeHarbor], are_dates: Callable[[], bool]) -> str:
    """Say why a column names people, by its values or by its name; nothing if it does not."""
    by_values = [one.reason for one in listed if one.by_values and one.letter != "C"]
    if by_values:
        return by_values[0]
    if _is_place(name, cells):
        return "coordinates that point to a house"
    words = words_of(name)
    is_amount = bool(cells.numbers) and not cells.is_whole
    if is_amount or cells.distinct == 0 or are_dates():
        return ""
    if _is_written_freely(cells, words):
        return "long texts, nearly all different, may name people"
    if _names_somebody(name, cells):
        return "its name says that it names people"
    if cells.has_few:
        return ""  # yes and no, or eight kinds of something, name nobody
    leads = word_list("identifier.contacts", "identifier.documents").fits_any(words, SHORTEST_PART)
    if leads and not are_counts(cells):
        return "its name says that it leads to people"
    if word_list("identifier.reached").fits_any(words) and not cells.numbers:
        return "its name says that it names whom to call"
    return _numbering(cells, words)


def are_counts(cells: ColumnStatistics) -> bool:
    """Return whether numbers count something, as how many accounts somebody has: small, and each that of many rows."""
    if not cells.is_whole or cells.numbers[0] < 0 or cells.numbers[-1] >= LARGEST_COUNT:
        return False
    return cells.present >= MANY * cells.distinct


def _names_somebody(name: str, cells: ColumnStatistics) -> bool:
    """Return whether a column holds names of people, or parts of them."""
    words = words_of(name)
    if cells.distinct <= 2 and cells.present > MANY:
        return False  # whether there is a name
    if any(word_list("identifier.names").fits(word, SHORTEST_PART) for word in words if word != "name"):
        return True
    parts = [word for word in words if word in word_list("identifier.parts_of_names")]
    kin = [word for word in words if word_list("identifier.relatives").fits(word)]
    if "name" in words or "names" in words:
        others = [word for word in words if word not in ("name", "names")]
        if parts or kin:
            return True  # a spouse's name is a name, and a last name that of a person
        return said_by(" ".join(others))[0] is None and not word_list("identifier.others").fits_any(others)
    has_parts = bool(parts) and len(parts) + len(kin) == len(words)
    return has_parts and cells.distinct >= MANY and not cells.numbers


def _numbering(cells: ColumnStatistics, words: Sequence[str]) -> str:
    """Say why a column of numbers or codes singles people out, or who belongs together; nothing if it does not."""
    is_number = any(map(numbers_something, words))
    strict = [word for word in words if word not in ("num", "number", "no", "nb")]
    is_strict = any(map(numbers_something, strict))
    if not is_number and not word_list("identifier.people").fits_any(words):
        return ""
    if cells.distinct >= HALF * cells.present:
        return "its name says that it numbers people or rows, and most values are different"
    if not is_strict or cells.distinct <= MANY:
        return ""
    if word_list("identifier.belonging").fits_any(words):
        return "it numbers something that several rows have in common, and shows who belongs together"
    is_of_others = word_list("identifier.others").fits_any(words) or said_by(" ".join(strict))[0] == "quasi"
    return "" if is_of_others else "its name says that it numbers people or rows"


def _is_place(name: str, cells: ColumnStatistics) -> bool:
    """Return whether a column holds exact coordinates."""
    is_named = any(word in word_list("identifier.coordinates") for word in words_of(name))
    values = cells.meaningful[:: max(1, len(cells.meaningful) // 1000)]
    if not values:
        return False
    if all(re.fullmatch(r"(POINT ?)?\(?-?\d{1,3}\.\d+[, ]+-?\d{1,3}\.\d+\)?", value.strip()) for value in values):
        return True
    exact = sum(len(value.partition(".")[2]) >= EXACT_PLACES for value in values)
    is_degrees = bool(cells.numbers) and cells.numbers[0] >= -180 and cells.numbers[-1] <= 180
    return is_named and is_degrees and exact >= HALF * len(values)


def _is_written_freely(cells: ColumnStatistics, words: Sequence[str]) -> bool:
    """Return whether cells are texts that somebody wrote, which may name anybody."""
    if cells.values is None or cells.numbers or cells.distinct < MANY:
        return False
    sample = cells.values[:: max(1, len(cells.values) // 1000)]
    letters = sum(map(len, sample)) / len(sample)
    many_words = sum(len(value.split()) for value in sample) / len(sample)
    is_note = word_list("identifier.notes").fits_any(words, SHORTEST_PART)
    is_varied = cells.distinct >= (0.05 if is_note else HALF) * cells.present
    return is_varied and (is_note or letters > LONG_TEXT or many_words >= MANY_WORDS)


def _serves_to_count(name: str, cells: ColumnStatistics) -> bool:
    """Return whether a column holds the weights of a survey: never negative, and not what bodies weigh."""
    words = [word for word in words_of(name) if word_list("numbers.weights").fits(word, SHORTEST_PART)]
    if not words or not cells.numbers:
        return bool(words)
    if cells.numbers[0] < 0:
        return False
    middle = cells.numbers[len(cells.numbers) // 2]
    is_body = LIGHTEST <= middle <= HEAVIEST and cells.numbers[-1] < 4 * middle
    return not (is_body and all(word in word_list("numbers.body_weights") for word in words))


def _are_illnesses(cells: ColumnStatistics, shape: Shape) -> bool:
    """Return whether most cells are texts about health, or codes of diagnoses beyond bare letters and two digits."""
    if cells.values is None or cells.counts is None or cells.numbers or cells.distinct > MOST_TEXTS:
        return False
    if shape.kind in DIAGNOSES:
        return any(len(value.strip()) >= LONG_DIAGNOSIS for value in cells.meaningful)
    speaking = [word_list("values.illnesses").fits_any(words_of(one), SHORTEST_PART) for one in cells.values]
    rows = int(cells.counts[np.array(speaking, np.bool_)].sum()) if speaking else 0
    return sum(speaking) >= FEWEST_ILLNESSES and rows >= HALF * cells.present


def _telling(cells: ColumnStatistics, shape: Shape) -> str:
    """Say why the values of a column without a telling name alone name people, or nothing if they do not."""
    if _is_code_of_few(cells) and shape.kind != "levels":
        return "codes that few rows share"
    if not cells.is_nearly_unique:
        return ""
    if cells.values is None:
        return "nearly every row has a value of its own"
    if cells.numbers and not cells.is_whole:
        return ""
    if cells.numbers:
        digits = {len(f"{abs(number):.0f}") for number in cells.numbers}
        is_numbering = cells.distinct == cells.rows or min(digits) >= LONG_NUMBER or _is_dense(cells)
        return "every row has a whole number of its own" if is_numbering else ""
    if shape.kind == "levels":
        return ""
    return "nearly every row has a text of its own"


def _is_code_of_few(cells: ColumnStatistics) -> bool:
    """Return whether cells are codes with digits that few rows share."""
    if cells.values is None or cells.numbers or cells.distinct < MANY or cells.present >= FEW_SHARE * cells.distinct:
        return False
    with_digits = sum(any(map(str.isdigit, value)) for value in cells.values)
    return with_digits >= NEARLY_ALL * cells.distinct


def _are_years(cells: ColumnStatistics) -> bool:
    """Return whether numbers are years."""
    return (
        cells.is_whole and len(cells.numbers) >= 2 and cells.numbers[0] >= FIRST_YEAR and cells.numbers[-1] <= LAST_YEAR
    )


def _is_dense(cells: ColumnStatistics) -> bool:
    """Return whether nearly all whole numbers of a range occur, as in a numbering."""
    return len(cells.numbers) >= HALF * (cells.numbers[-1] - cells.numbers[0] + 1)


def roles_by_siblings(table: Mapping[str, ColumnStatistics]) -> dict[str, tuple[str | None, str]]:
    """Return the columns of unknown names that belong to what nobody should learn, each with its topic and the reason.

    What surrounds a column says more than a name that says nothing: in a medical record it is a finding or a
    treatment, which those know who treat. Whatever holds a value of its own for nearly every row is left to
    others to judge.
    """
    said = {name: said_by(name) for name, cells in table.items() if cells.distinct > 1}
    found: dict[str, tuple[str | None, str]] = {}
    for topic, members in (
        ("health", _of_a_record(table, said)),
        ("health", _outcomes(table)),
        (None, _siblings(said)),
    ):
        found |= {name: (topic, reason) for name, reason in members.items()}
    for name, number in _items(table).items():
        topic = found[name][0] if name in found else None
        found[name] = (topic, f"one of {number} columns with the same values: items that only a record knows")
    return found


def _items(table: Mapping[str, ColumnStatistics]) -> dict[str, int]:
    """Return the columns that are items of one record, each with their number: they have equal values."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, cells in table.items():
        if cells.values is not None and 2 <= cells.distinct <= MANY and said_by(name)[0] != "quasi":
            alike.setdefault(cells.values, []).append(name)
    items: dict[str, int] = {}
    for values, names in alike.items():
        is_words = not any(value.strip().isdecimal() for value in values)
        if len(values) == 2 and is_words:
            unknown = [name for name in names if said_by(name)[0] is None]
            items |= dict.fromkeys(unknown if len(unknown) >= FEWEST_CHECKED else (), len(unknown))
        if len(values) < 3 or len(names) < FEWEST_ITEMS:
            continue
        with_fewer = [more for few, others in alike.items() if set(few) < set(values) for more in others]
        every = [*names, *(with_fewer if is_words else ())]
        items |= dict.fromkeys(every, len(every))
    return items


def _of_a_record(
    table: Mapping[str, ColumnStatistics], said: Mapping[str, tuple[str | None, str | None]]
) -> dict[str, str]:
    """Return the columns of unknown names in a table of which most known names speak of health."""
    of_health = sum(topic == "health" for _, topic in said.values())
    known = sum(role == "quasi" and topic != "time" for role, topic in said.values())
    if of_health < FEWEST_OF_HEALTH or of_health <= known:
        return {}
    found = f"its name says nothing, but {of_health} columns speak of health"
    reason = f"{found}: a medical record knows it; if others may, make it quasi"
    return {name: reason for name, (role, _) in said.items() if role is None and not table[name].is_nearly_unique}


def _outcomes(table: Mapping[str, ColumnStatistics]) -> dict[str, str]:
    """Return the few codes that say what came of people, beside the number that says how long it took."""
    timed = [
        name
        for name, cells in table.items()
        if cells.distinct > MANY
        and all(word_list("numbers.followed").fits(word) for word in words_of(name))
        and cells.numbers
    ]
    if not timed:
        return {}
    return {
        name: f"what came of somebody, beside {timed[0]}, which says how long it took"
        for name, cells in table.items()
        if 2 <= cells.distinct <= MOST_OUTCOMES
        and cells.is_whole
        and all(word_list("numbers.outcomes").fits(word) for word in words_of(name))
    }


def _siblings(said: Mapping[str, tuple[str | None, str | None]]) -> dict[str, str]:
    """Return the columns of unknown names that differ in their last letter from others, which nobody should learn."""
    found = {}
    for name, (role, _) in said.items():
        stem = name[:-1]
        alike = [said[other][0] for other in said if other != name and other[:-1] == stem and len(stem) > 2]
        if role is None and len(alike) >= FEWEST_SIBLINGS and set(alike) == {"sensitive"}:
            found[name] = f"named like {len(alike)} columns that nobody should learn"
    return found
