"""What a column is to a release: a role, by what its values look like first and by its name then, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from indistinct.hierarchy import Hierarchy
from indistinct.policy import Role
from indistinct.policy.column import Unreadable
from indistinct.profiling import role_words
from indistinct.profiling.column_names import OTHERS_WORDS, PERSON_WORDS, is_one_of, numbers_something, words_of
from indistinct.profiling.column_shapes import Shape, shape_of
from indistinct.profiling.column_statistics import MANY, Look
from indistinct.profiling.date_shapes import FIRST_YEAR, LAST_YEAR
from indistinct.profiling.safe_harbor import SafeHarbor, identifiers_like

LONG_TEXT, MANY_WORDS = 40, 5
"""Texts of so many letters or words on average, many of them different, are written freely."""
EXACT_PLACES = 3
"""Coordinates with so many decimals tell a house."""
LARGEST_RATING = 10
"""A rate of no more is a mark that somebody gives."""
SHORTEST_PART = 7
"""Words of roles are parts of longer ones from so many letters on."""
LONG_NUMBER = 6
LARGEST_COUNT = 1_000
"""Whole numbers below it may say how many of something there are."""
FEW_SHARE = 5
"""Codes that fewer rows share on average name somebody."""
HALF, NEARLY_ALL = 0.5, 0.9
DIAGNOSES, LONG_DIAGNOSIS = ("icd10", "icd10_cm", "icd9"), 4
"""Codes of diagnoses, known by such a length: A10 may be a ward as well."""
FEWEST_ILLNESSES, MOST_TEXTS = 2, 1_000
"""So many values must tell of health; columns of more texts are not read for it."""
LIGHTEST, HEAVIEST = 30, 250
"""Between these the middle of bodies' weights lies, in kilograms or pounds."""
BELONGING = (
    "household hh family famille haushalt hogar famiglia menage couple case crash accident dwelling parent group"
)
"""What numbers such a thing tells who belongs together."""
URGENT = ("health", "offences", "beliefs", "money", "scores")
"""Topics of sensitive columns, the one that harms most first."""


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
    told_by: str | None = None
    """Of a sensitive column: a quasi column that tells it, more often than not."""
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
        return replace(self, role="quasi", hierarchy=shape.hierarchy, reason=reason, **said)  # type: ignore[arg-type]

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
            "told_by": self.told_by,
        }


def judge(name: str, look: Look, company: Mapping[str, tuple[str | None, str]]) -> ColumnProfile:
    """Return the role of a column; ``company`` has the topic of columns that belong to what others tell, and why."""
    listed = tuple(identifiers_like(name, look.values))
    shape = shape_of(name, look)
    said, topic = said_by(name)

    def give(role: Role, reason: str) -> ColumnProfile:
        if listed and role != "other":
            reason += f"; HIPAA ({', '.join(one.letter for one in listed)})"
        made = ColumnProfile(
            name, role, None, reason, look.distinct, look.missing, listed, topic, look.largest_share, look.few_values
        )
        return made.as_quasi(shape, f"{reason}; {shape.words}") if role == "quasi" else made

    naming = _naming(name, look, shape, listed)
    if naming:
        return give("identifier", naming)
    if look.distinct == 0:
        return give("other", "every cell is missing")
    if look.distinct == 1 and not look.missing:
        return give("other", "one value for all rows tells nobody apart")
    if _serves_to_count(name, look):
        return give("other", "it serves to count, and says nothing of a person")
    if shape.kind == "dates" and said != "quasi":
        return give("quasi", "others may know when something happened to a person")
    if _are_years(look) and said != "quasi":
        return give("quasi", "others may know the year in which something happened to a person")
    if _is_rating(name, look):
        return give("sensitive", "a mark that somebody gives is an opinion")
    if _are_illnesses(look, shape) and (said is None or is_vague(name)):
        return give("sensitive", "its values tell of health, whatever its name")
    if said == "sensitive":
        hint = "; nearly every value is different: make it quasi if others may know it" * look.is_nearly_unique
        return give("sensitive", f"its name says that nobody should learn it ({topic}){hint}")
    if said == "quasi":
        return give("quasi", f"its name says that others know it ({topic})")
    telling = _telling(look, shape)
    if telling:
        return give("identifier", telling)
    if name in company:
        topic, reason = company[name]
        return give("sensitive", reason)
    if look.numbers and not look.is_whole and look.distinct > MANY:
        return give("other", "a measured or computed number that others hardly know; if they may, make it quasi")
    made = give("quasi", "its name says nothing, so others may know it")
    return replace(made, reason=f"{made.reason}; if nobody can link by it, make it other")


def said_by(name: str) -> tuple[Role | None, str | None]:
    """Return the role that a column's name tells, and its topic; a word that says little yields to another.

    >>> said_by("HealthProblem"), said_by("marital_status"), said_by("date_of_treatment"), said_by("x17")
    (('sensitive', 'health'), ('quasi', 'household'), ('sensitive', 'health'), (None, None))
    """
    words = words_of(name)
    if role_words.LABORATORY.search(name):
        return "sensitive", "health"
    if "rate" in words and any(is_one_of(word, role_words.PERIODS) for word in words):
        return "sensitive", "money"  # an hourly rate is what somebody earns
    yielding = role_words.YIELDING.split()
    heads = [word for word in words if word not in yielding]
    if len(heads) > 1 and is_one_of(heads[-1], role_words.PLACES, SHORTEST_PART):
        return "quasi", "place"  # the last word says what it is: a health service area
    for is_yielding in (False, True):
        telling = [word for word in words if (word in yielding) == is_yielding]
        for role, topics in (("sensitive", role_words.SENSITIVE), ("quasi", role_words.QUASI)):
            for topic, known in topics.items():
                if any(is_one_of(word, known, SHORTEST_PART) for word in telling):
                    return role, topic  # type: ignore[return-value]  # one of the two above
    return None, None


def is_vague(name: str) -> bool:
    """Return whether a name has no other words than such that say little: time, type, number.

    >>> is_vague("Time"), is_vague("time_of_birth")
    (True, False)
    """
    return all(word in role_words.YIELDING.split() for word in words_of(name))


def _is_rating(name: str, look: Look) -> bool:
    """Return whether a column holds marks that somebody gave, on a scale from 0 or 1 to at most ten."""
    is_named = any(is_one_of(word, role_words.RATINGS) for word in words_of(name))
    return is_named and look.is_whole and look.numbers[0] >= 0 and 2 < look.numbers[-1] <= LARGEST_RATING


def _naming(name: str, look: Look, shape: Shape, listed: Sequence[SafeHarbor]) -> str:
    """Say why a column names people, by its values or by its name; nothing if it does not."""
    by_values = [one.reason for one in listed if one.by_values and one.letter != "C"]
    if by_values:
        return by_values[0]
    if _is_place(name, look):
        return "coordinates that tell a house"
    words = words_of(name)
    is_amount = bool(look.numbers) and not look.is_whole
    if is_amount or shape.kind == "dates" or look.distinct == 0:
        return ""
    if _is_written_freely(look, words):
        return "long texts, nearly all different, may name people"
    if _names_somebody(name, look):
        return "its name says that it names people"
    if look.has_few:
        return ""  # yes and no, or eight kinds of something, name nobody
    leads = any(is_one_of(word, f"{role_words.CONTACTS} {role_words.DOCUMENTS}", SHORTEST_PART) for word in words)
    if leads and not are_counts(look):
        return "its name says that it leads to people"
    if any(is_one_of(word, role_words.REACHED) for word in words) and not look.numbers:
        return "its name says that it names whom to call"
    return _numbering(look, words)


def are_counts(look: Look) -> bool:
    """Return whether numbers count something, as how many accounts somebody has: small, and each that of many rows."""
    if not look.is_whole or look.numbers[0] < 0 or look.numbers[-1] >= LARGEST_COUNT:
        return False
    return look.present >= MANY * look.distinct


def _names_somebody(name: str, look: Look) -> bool:
    """Return whether a column holds names of people, or parts of them."""
    words = words_of(name)
    if look.distinct <= 2 and look.present > MANY:
        return False  # whether there is a name
    if any(is_one_of(word, role_words.PERSONAL_NAMES, SHORTEST_PART) for word in words if word != "name"):
        return True
    parts = [word for word in words if word in role_words.PARTS_OF_NAMES.split()]
    kin = [word for word in words if is_one_of(word, role_words.RELATIVES)]
    if "name" in words or "names" in words:
        others = [word for word in words if word not in ("name", "names")]
        if parts or kin:
            return True  # a spouse's name is a name, and a last name that of a person
        return said_by(" ".join(others))[0] is None and not any(is_one_of(word, OTHERS_WORDS) for word in others)
    has_parts = bool(parts) and len(parts) + len(kin) == len(words)
    return has_parts and look.distinct >= MANY and not look.numbers


def _numbering(look: Look, words: Sequence[str]) -> str:
    """Say why a column of numbers or codes tells single people, or who belongs together; nothing if it does not."""
    is_number = any(map(numbers_something, words))
    strict = [word for word in words if word not in ("num", "number", "no", "nb")]
    is_strict = any(map(numbers_something, strict))
    if not is_number and not any(is_one_of(word, PERSON_WORDS) for word in words):
        return ""
    if look.distinct >= HALF * look.present:
        return "its name says that it numbers people or rows, and most values are different"
    if not is_strict or look.distinct <= MANY:
        return ""
    if any(is_one_of(word, BELONGING) for word in words):
        return "it numbers something that several rows have in common, and tells who belongs together"
    is_of_others = any(is_one_of(word, OTHERS_WORDS) for word in words) or said_by(" ".join(strict))[0] == "quasi"
    return "" if is_of_others else "its name says that it numbers people or rows"


def _is_place(name: str, look: Look) -> bool:
    """Return whether a column holds exact coordinates."""
    is_named = any(word in role_words.COORDINATES.split() for word in words_of(name))
    values = look.meaningful[:: max(1, len(look.meaningful) // 1000)]
    if not values:
        return False
    if all(re.fullmatch(r"(POINT ?)?\(?-?\d{1,3}\.\d+[, ]+-?\d{1,3}\.\d+\)?", value.strip()) for value in values):
        return True
    exact = sum(len(value.partition(".")[2]) >= EXACT_PLACES for value in values)
    is_degrees = bool(look.numbers) and look.numbers[0] >= -180 and look.numbers[-1] <= 180
    return is_named and is_degrees and exact >= HALF * len(values)


def _is_written_freely(look: Look, words: Sequence[str]) -> bool:
    """Return whether cells are texts that somebody wrote, which may name anybody."""
    if look.values is None or look.numbers or look.distinct < MANY:
        return False
    sample = look.values[:: max(1, len(look.values) // 1000)]
    letters = sum(map(len, sample)) / len(sample)
    many_words = sum(len(value.split()) for value in sample) / len(sample)
    is_note = any(is_one_of(word, role_words.NOTES, SHORTEST_PART) for word in words)
    is_varied = look.distinct >= (0.05 if is_note else HALF) * look.present
    return is_varied and (is_note or letters > LONG_TEXT or many_words >= MANY_WORDS)


def _serves_to_count(name: str, look: Look) -> bool:
    """Return whether a column holds the weights of a survey: never negative, and not what bodies weigh."""
    words = [word for word in words_of(name) if is_one_of(word, role_words.WEIGHTS, SHORTEST_PART)]
    if not words or not look.numbers:
        return bool(words)
    if look.numbers[0] < 0:
        return False
    middle = look.numbers[len(look.numbers) // 2]
    is_body = LIGHTEST <= middle <= HEAVIEST and look.numbers[-1] < 4 * middle
    return not (is_body and all(word in role_words.BODY_WEIGHTS.split() for word in words))


def _are_illnesses(look: Look, shape: Shape) -> bool:
    """Return whether most cells are texts about health, or codes of diagnoses beyond bare letters and two digits."""
    if look.values is None or look.counts is None or look.numbers or look.distinct > MOST_TEXTS:
        return False
    if shape.kind in DIAGNOSES:
        return any(len(value.strip()) >= LONG_DIAGNOSIS for value in look.meaningful)
    told = [any(is_one_of(word, role_words.ILLNESSES, SHORTEST_PART) for word in words_of(one)) for one in look.values]
    rows = int(look.counts[np.array(told, np.bool_)].sum()) if told else 0
    return sum(told) >= FEWEST_ILLNESSES and rows >= HALF * look.present


def _telling(look: Look, shape: Shape) -> str:
    """Say why the values of a column without a telling name alone name people, or nothing if they do not."""
    if _is_code_of_few(look) and shape.kind != "levels":
        return "codes that few rows share"
    if not look.is_nearly_unique:
        return ""
    if look.values is None:
        return "nearly every row has a value of its own"
    if look.numbers and not look.is_whole:
        return ""
    if look.numbers:
        digits = {len(f"{abs(number):.0f}") for number in look.numbers}
        is_numbering = look.distinct == look.rows or min(digits) >= LONG_NUMBER or _is_dense(look)
        return "every row has a whole number of its own" if is_numbering else ""
    if shape.kind == "levels":
        return ""
    return "nearly every row has a text of its own"


def _is_code_of_few(look: Look) -> bool:
    """Return whether cells are codes with digits that few rows share."""
    if look.values is None or look.numbers or look.distinct < MANY or look.present >= FEW_SHARE * look.distinct:
        return False
    with_digits = sum(any(map(str.isdigit, value)) for value in look.values)
    return with_digits >= NEARLY_ALL * look.distinct


def _are_years(look: Look) -> bool:
    """Return whether numbers are years."""
    return look.is_whole and len(look.numbers) >= 2 and look.numbers[0] >= FIRST_YEAR and look.numbers[-1] <= LAST_YEAR


def _is_dense(look: Look) -> bool:
    """Return whether nearly all whole numbers of a range occur, as in a numbering."""
    return len(look.numbers) >= HALF * (look.numbers[-1] - look.numbers[0] + 1)
