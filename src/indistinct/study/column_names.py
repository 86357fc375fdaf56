"""What the names of columns say: their words, and whether a word is one of some that are known."""

from __future__ import annotations

import re
import unicodedata


def words_of(name: str) -> list[str]:
    """Give the words of a column's name, in small letters without accents.

    >>> words_of("DateOfBirth"), words_of("prénom_2"), words_of("SSN")
    (['date', 'of', 'birth'], ['prenom'], ['ssn'])
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", plain)]


def is_one_of(word: str, known: str) -> bool:
    """Tell whether a word is known, also in the plural or as the start or end of a longer one.

    >>> is_one_of("ids", "id name"), is_one_of("birthplace", "birth age"), is_one_of("agent", "birth age")
    (True, True, False)
    """
    words = known.split()
    if word in words or word.removesuffix("s") in words:
        return True
    return any(word.startswith(part) or word.endswith(part) for part in words if len(part) >= 5)
