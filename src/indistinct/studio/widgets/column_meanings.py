"""What names of columns mean, so that columns of two tables that say the same find each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MEANINGS = (
    ("birth", "dob", "birthdate", "birthday", "dateofbirth", "born", "geburtsdatum"),
    ("sex", "gender", "geschlecht"),
    ("zip", "zipcode", "postcode", "postalcode", "plz"),
    ("race", "ethnicity"),
)
"""Names that say the same."""


def pair_by_meaning(ours: Iterable[str], theirs: Sequence[str]) -> dict[str, str]:
    """Return the column of another table that seems to say the same as each of ours, the first of several.

    >>> pair_by_meaning(["DOB", "job"], ["name", "DateOfBirth"])
    {'DOB': 'DateOfBirth'}
    """
    by_meaning = {_meaning(name): name for name in reversed(theirs)}
    return {name: by_meaning[_meaning(name)] for name in ours if _meaning(name) in by_meaning}


def _meaning(name: str) -> str:
    """Return what a column's name says, whatever its spelling.

    >>> _meaning("DateOfBirth") == _meaning("DOB"), _meaning("Party")
    (True, 'party')
    """
    plain = "".join(letter for letter in name.casefold() if letter.isalnum())
    return next((names[0] for names in MEANINGS if plain in names), plain)
