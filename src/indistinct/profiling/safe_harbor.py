"""HIPAA Safe Harbor: which columns look like one of the eighteen identifiers that it lists.

A column is recognized by words of its name, or by what its values look like. That none is recognized proves nothing.

Source: 45 CFR 164.514(b)(2)(i).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from indistinct.hierarchy import read_number
from indistinct.linkage import FORMATS, DaySpelling
from indistinct.profiling.column_names import topics_of, word_list, words_of

ENOUGH = 0.8
"""The share of a column's values that must look like an identifier."""
SAMPLE = 5_000
FIRST, CLEARLY = 200, 0.2
"""Values that are looked at first; if their share lies below ENOUGH by more than CLEARLY, no others are."""
OLDEST = 89
"""Ages above this one must be put into one category."""

IDENTIFIERS = {
    "A": "names",
    "B": "geographic units smaller than a state",
    "C": "dates more exact than a year, and ages over 89",
    "D": "telephone numbers",
    "E": "fax numbers",
    "F": "e-mail addresses",
    "G": "social security numbers",
    "H": "medical record numbers",
    "I": "health plan beneficiary numbers",
    "J": "account numbers",
    "K": "certificate and license numbers",
    "L": "vehicle identifiers and license plates",
    "M": "device identifiers and serial numbers",
    "N": "web addresses",
    "O": "IP addresses",
    "P": "biometric identifiers",
    "Q": "full-face photographs",
    "R": "any other unique identifying number or code",
}
"""The letters of the rule, and what they list."""

PHRASES = {
    "G": ("social", "security"),
    "H": ("record", "number"),
    "I": ("health", "plan"),
}


@dataclass(frozen=True, slots=True)
class SafeHarbor:
    """A column that looks like one of the identifiers, and why."""

    column: str
    letter: str
    reason: str
    by_values: bool
    """Its values look so, whatever its name says."""

    @property
    def meaning(self) -> str:
        """What the rule lists under this letter."""
        return IDENTIFIERS[self.letter]


def identifiers_like(column: str, values: Sequence[str] | None) -> list[SafeHarbor]:
    """Return the identifiers that a column looks like; ``values`` are its distinct values, if they are known.

    >>> [one.letter for one in identifiers_like("contact", ["sue@example.org", "bob@example.org"])]
    ['F']
    >>> [one.letter for one in identifiers_like("DateOfBirth", ["1961-09-15"])]
    ['C']
    >>> identifiers_like("birth year", ["1961", "1962"])
    []
    """
    found = {
        letter: SafeHarbor(column, letter, reason, True) for letter, reason in _by_values(column, values or ()).items()
    }
    for letter in _by_name(column):
        if letter == "C" and values and not _is_exact_date(values):
            continue  # a year, or an age, is allowed
        found.setdefault(letter, SafeHarbor(column, letter, "its name says so", False))
    return [found[letter] for letter in sorted(found)]


def _by_name(column: str) -> list[str]:
    """Return the identifiers that a column's name suggests; a weak word yields to any other."""
    words, weak = words_of(column), word_list("weak.safe_harbor")
    found = [letter for letter, phrase in PHRASES.items() if all(part in words for part in phrase)]
    known = topics_of("safe_harbor")
    found += [letter for letter, names in known.items() if names.without(weak).fits_any(words)]
    if found or any(word not in weak and word not in word_list("weak.persons") for word in words):
        return found
    return [letter for letter, names in known.items() if any(word in names for word in words)]


def _by_values(column: str, values: Sequence[str]) -> dict[str, str]:
    """Return the identifiers that the values look like, each with the reason."""
    sample = values[:: max(1, len(values) // SAMPLE)]
    if not sample:
        return {}
    found = {letter: reason for letter, (reason, test) in PATTERNS.items() if _is_enough(test, sample)}
    is_age = word_list("numbers.years_of_age").fits_any(words_of(column))
    if is_age and any((number := read_number(value)) is not None and number > OLDEST for value in sample):
        found["C"] = f"it has ages over {OLDEST}"
    return found


def _is_exact_date(values: Sequence[str]) -> bool:
    return _is_enough(_is_date, values[:: max(1, len(values) // SAMPLE)])


def _is_enough(test: Callable[[str], bool], sample: Sequence[str]) -> bool:
    """Return whether enough of some values pass a test, by few of them where these leave no doubt."""
    first = sample[:: max(1, len(sample) // FIRST)]
    if len(first) < len(sample) and sum(test(value.strip()) for value in first) < (ENOUGH - CLEARLY) * len(first):
        return False
    return sum(test(value.strip()) for value in sample) >= ENOUGH * len(sample)


def _is_date(text: str) -> bool:
    return not text.isdecimal() and DAYS.of(text) is not None


DAYS = DaySpelling(FORMATS, 9999)
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}")
URL = re.compile(r"(https?|ftp)://\S+|www\.\S+\.\S+", re.IGNORECASE)
SOCIAL_SECURITY = re.compile(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}", re.ASCII)
PHONE = re.compile(r"(\+\d{1,3}[ .-]?)?(\(\d{2,5}\)|\d{2,5})[ .-]\d{2,4}([ .-]?\d{2,4}){1,3}", re.ASCII)
TWO_NUMBERS = re.compile(r"(?!\d{3}-\d{4}$)(?!0)\d+ ?- ?\d+|\d+\.\d+", re.ASCII)
"""Two numbers alone are a telephone number if there are three and four digits, or the first begins with a zero; with
one dot between them they are a decimal number."""
VEHICLE = re.compile(r"[A-HJ-NPR-Z0-9]{17}", re.ASCII)
ACCOUNT = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", re.ASCII)
CARD = re.compile(r"\d{4}[ -]?\d{4}[ -]?\d{4}[ -]?\d{1,7}", re.ASCII)
HARDWARE = re.compile(r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}", re.ASCII)
UNIVERSAL = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", re.ASCII)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_phone(text: str) -> bool:
    if not PHONE.fullmatch(text) or SOCIAL_SECURITY.fullmatch(text) or _is_date(text):
        return False
    if TWO_NUMBERS.fullmatch(text):  # 1998-1999 is a range, 25-00503 a district, 58.413688659668 an amount
        return False
    return 7 <= sum(map(str.isdecimal, text)) <= 15


def _is_vehicle(text: str) -> bool:
    has_both = any(map(str.isalpha, text)) and any(map(str.isdecimal, text))
    return has_both and bool(VEHICLE.fullmatch(text))


def _is_account(text: str) -> bool:
    """Return whether a text is an IBAN or the number of a payment card, by their check digits."""
    plain = text.replace(" ", "")
    if ACCOUNT.fullmatch(plain):
        return int("".join(str(int(character, 36)) for character in plain[4:] + plain[:4])) % 97 == 1
    if not CARD.fullmatch(text):
        return False
    digits = [int(character) for character in text if character.isdecimal()][::-1]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


PATTERNS: dict[str, tuple[str, Callable[[str], bool]]] = {
    "C": ("its values are exact dates", _is_date),
    "D": ("its values look like telephone numbers", _is_phone),
    "F": ("its values are e-mail addresses", lambda text: bool(EMAIL.fullmatch(text))),
    "G": ("its values look like social security numbers", lambda text: bool(SOCIAL_SECURITY.fullmatch(text))),
    "J": ("its values are bank accounts or card numbers, by their check digits", _is_account),
    "L": ("its values look like vehicle identification numbers", _is_vehicle),
    "M": ("its values are hardware addresses", lambda text: bool(HARDWARE.fullmatch(text))),
    "N": ("its values are web addresses", lambda text: bool(URL.fullmatch(text))),
    "O": ("its values are IP addresses", _is_address),
    "R": ("its values are universally unique identifiers", lambda text: bool(UNIVERSAL.fullmatch(text))),
}
"""What values can look like: the identifier's letter, the reason, and the test of one value."""
