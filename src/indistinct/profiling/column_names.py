"""What the names of columns say: their words, and which topics of ``words.toml`` these belong to."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

WORDS = Path(__file__).with_name("words.toml")
SHORTEST_PART = 7
"""Letters from which words of roles and codes are also recognized as parts of longer ones."""


def names_people(name: str) -> Literal["number", "name"] | None:
    """Return whether a column of this name says whose row it is, by a number or a name; not whose doctor or which
    visit.

    >>> names_people("patient_nbr"), names_people("ID"), names_people("last_name"), names_people("encounter_id")
    ('number', 'number', 'name', None)
    """
    words = words_of(name)
    if word_list("identifier.others").fits_any(words):
        return None
    if word_list("identifier.names_of_rows").fits_any(words):
        return "name"
    is_number = any(word in word_list("identifier.numbers") for word in words)
    return "number" if is_number or word_list("identifier.people").fits_any(words) else None


def is_given_name(name: str) -> bool:
    """Return whether a column of this name has given names alone, which many people share.

    >>> is_given_name("first_name"), is_given_name("Vorname"), is_given_name("name"), is_given_name("last_name")
    (True, True, False, False)
    """
    return word_list("identifier.given_names").fits_any(words_of(name))


def numbers_something(word: str) -> bool:
    """Return whether a word of a name says that values are numbers of something: id, nr, caseid.

    >>> [word for word in ("id", "caseid", "idcode", "patientnr", "paid", "age") if numbers_something(word)]
    ['id', 'caseid', 'idcode', 'patientnr']
    """
    return word in word_list("identifier.numbers") or (
        word not in word_list("identifier.no_numbers") and bool(NUMBERING.fullmatch(word))
    )


NUMBERING = re.compile(r"id(code|num|no|nr|nbr)|.+(id|idno|idnum|nbr|nummer|nr)")

FEWEST = 0.01
"""Different values for each row, at least, if they number people: hardly anybody has hundreds of rows."""


NAMESAKES = 0.05
"""Names may be those of several people; where more rows than this share repeat one, they are taken for one person's."""


def number_people(rows: int, distinct: int) -> bool:
    """Return whether numbers look like those of people with several rows, by their rows and their distinct values.

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


@dataclass(frozen=True, slots=True)
class WordList:
    """Words of one topic; a star stands for any letters.

    >>> some = WordList.of("id birth age educ* *wage")
    >>> [word for word in ("ids", "birthplace", "educcat", "lwage", "agent") if some.fits(word)]
    ['ids', 'birthplace', 'educcat', 'lwage']
    """

    words: frozenset[str]
    pattern: re.Pattern[str] | None
    """All words with a star."""

    @classmethod
    def of(cls, text: str) -> WordList:
        """Read the words of a text."""
        starred = [re.escape(word).replace(r"\*", ".*") for word in text.split() if "*" in word]
        return cls(frozenset(text.split()), re.compile("|".join(starred)) if starred else None)

    def __contains__(self, word: str) -> bool:
        return word in self.words

    def without(self, others: WordList) -> WordList:
        """Return the words that are not among others."""
        return WordList(self.words - others.words, self.pattern)

    def fits(self, word: str, shortest_part: int = 5) -> bool:
        """Return whether a word is in the list, also in the plural, or starts or ends with one of ``shortest_part``
        letters.
        """
        if word in self.words or word.removesuffix("s") in self.words:
            return True
        if self.pattern is not None and self.pattern.fullmatch(word):
            return True
        return any(len(part) >= shortest_part and (word.startswith(part) or word.endswith(part)) for part in self.words)

    def fits_any(self, words: Iterable[str], shortest_part: int = 5) -> bool:
        """Return whether one of some words fits."""
        return any(self.fits(word, shortest_part) for word in words)


@cache
def word_list(*topics: str) -> WordList:
    """Return the words of one or several topics of ``words.toml``, such as ``sensitive.health``, in all languages."""
    sections = (topic.partition(".") for topic in topics)
    found = (_read_words()[section][topic] for section, _, topic in sections)
    return WordList.of(" ".join(text if isinstance(text, str) else " ".join(text.values()) for text in found))


def topics_of(section: str) -> dict[str, WordList]:
    """Return the word lists of a section of ``words.toml`` by topic, in their order."""
    return {topic: word_list(f"{section}.{topic}") for topic in _read_words()[section]}


@cache
def _read_words() -> dict[str, dict[str, str | dict[str, str]]]:
    """Read the file of words, once."""
    with WORDS.open("rb") as file:
        return tomllib.load(file)
