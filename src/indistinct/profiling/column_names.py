"""What the names of columns say: their words, and whether a word is one of some that are known."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Literal

PERSON_WORDS = (
    "person patient customer client member subject participant respondent individual employee user student pupil "
    "citizen resident insured policyholder beneficiary passenger driver donor borrower debtor voter taxpayer claimant "
    "personne adherent persona paciente cliente persone paziente kunde mitglied versicherter proband teilnehmer ssn "
    "mrn nhs pid"
)
NUMBER_WORDS = "id ids uuid guid nr nbr num number no key identifier nummer numero"
NAME_WORDS = (
    "name surname forename firstname lastname fullname vorname nachname nom prenom nombre apellido apellidos cognome"
)
GIVEN_NAMES = "first forename firstname given vorname prenom fname voornaam roepnaam middle middlename initial initials"
OTHERS_WORDS = (
    "doctor physician surgeon nurse provider practitioner hospital clinic ward site department household family "
    "school teacher class employer company firm branch agent agency arzt haushalt famille medecin visit encounter "
    "admission episode stay claim order transaction event record row line case sample test address street city town "
    "phone telephone mobile fax email mail zip url ip plate vehicle product item drug"
)


def names_people(name: str) -> Literal["number", "name"] | None:
    """Return whether a column of this name says whose row it is, by a number or a name; not whose doctor or which
    visit.

    >>> names_people("patient_nbr"), names_people("ID"), names_people("last_name"), names_people("encounter_id")
    ('number', 'number', 'name', None)
    """
    words = words_of(name)
    if any(is_one_of(word, OTHERS_WORDS) for word in words):
        return None
    if any(is_one_of(word, NAME_WORDS) for word in words):
        return "name"
    is_number = any(word in NUMBER_WORDS.split() for word in words)
    return "number" if is_number or any(is_one_of(word, PERSON_WORDS) for word in words) else None


def is_given_name(name: str) -> bool:
    """Return whether a column of this name has given names alone, which many people share.

    >>> is_given_name("first_name"), is_given_name("Vorname"), is_given_name("name"), is_given_name("last_name")
    (True, True, False, False)
    """
    return any(is_one_of(word, GIVEN_NAMES) for word in words_of(name))


def numbers_something(word: str) -> bool:
    """Return whether a word of a name says that values are numbers of something: id, nr, caseid.

    >>> [word for word in ("id", "caseid", "idcode", "patientnr", "paid", "age") if numbers_something(word)]
    ['id', 'caseid', 'idcode', 'patientnr']
    """
    return word in NUMBER_WORDS.split() or (word not in NO_NUMBERS.split() and bool(NUMBERING.fullmatch(word)))


NUMBERING = re.compile(r"id(code|num|no|nr|nbr)|.+(id|idno|idnum|nbr|nummer|nr)")
NO_NUMBERS = "paid unpaid aid said void covid valid invalid solid rapid hybrid avid android steroid thyroid medicaid"

FEWEST = 0.01
"""Of so many different values for each row at least one thinks that they number people: who has hundreds of rows?"""


NAMESAKES = 0.05
"""Names may be those of several people; where more rows than this share repeat one, they are taken for one person's."""


def number_people(rows: int, distinct: int) -> bool:
    """Return whether so many different numbers in so many rows look as if they were those of people with several rows.

    >>> number_people(1000, 700), number_people(1000, 1000), number_people(1000, 8)
    (True, False, False)
    """
    return FEWEST * rows <= distinct < rows


def words_of(name: str) -> list[str]:
    """Return the words of a column's name, in small letters without accents.

    >>> words_of("DateOfBirth"), words_of("prénom_2"), words_of("SSN")
    (['date', 'of', 'birth'], ['prenom'], ['ssn'])
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", plain)]


def is_one_of(word: str, known: str, shortest_part: int = 5) -> bool:
    """Return whether a word is known, also in the plural or as the start or end of a longer one.

    A known word with a star is all words that fit it; others are parts of longer ones from ``shortest_part`` letters.

    >>> is_one_of("ids", "id name"), is_one_of("birthplace", "birth age"), is_one_of("agent", "birth age")
    (True, True, False)
    >>> is_one_of("educcat", "educ* age"), is_one_of("lwage", "*wage")
    (True, True)
    """
    words, parts, pattern = _read_words(known)
    if word in words or word.removesuffix("s") in words:
        return True
    if pattern is not None and pattern.fullmatch(word):
        return True
    return any(word.startswith(part) or word.endswith(part) for part in parts if len(part) >= shortest_part)


@cache
def _read_words(known: str) -> tuple[frozenset[str], tuple[str, ...], re.Pattern[str] | None]:
    """Return the words without stars, once to be looked up and once in order, and the pattern of those with stars."""
    plain = [word for word in known.split() if "*" not in word]
    starred = [re.escape(word).replace(r"\*", ".*") for word in known.split() if "*" in word]
    return (
        frozenset(plain),
        tuple(plain),
        re.compile("|".join(starred)) if starred else None,
    )
