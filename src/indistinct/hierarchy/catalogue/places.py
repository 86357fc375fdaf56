"""Hierarchies of places: countries, states of the United States, their ZIP codes, and regions of Europe (NUTS)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from indistinct.errors import HierarchyError
from indistinct.hierarchy.catalogue.catalogued import Catalogued, fold, table_rows
from indistinct.hierarchy.hierarchy import Texts

BY_NAME = 0.01
"""How likely a text is the name of a place by coincidence."""
AREAS_OF_FEW = "036 059 063 102 203 205 369 556 692 790 821 823 830 831 878 879 884 890 893"
SMALL_ZIP_AREAS = tuple(AREAS_OF_FEW.split())
"""ZIP codes that begin so are of areas of 20,000 people or fewer, by the census of 2000 or that of 2010."""
OF_THE_UNION = "AT BE BG CY CZ DE DK EE EL ES FI FR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK"
WITH_THE_SAME_LEVELS = "UK CH IS LI NO AL BA ME MK RS TR XK"
NUTS_COUNTRIES = (*OF_THE_UNION.split(), *WITH_THE_SAME_LEVELS.split())
ZIP = re.compile(r"(\d{3,5})(?:-?(\d{4}))?")
NUTS = re.compile(r"([A-Z]{2})([0-9A-Z]{0,3})")


@dataclass(frozen=True, slots=True, repr=False)
class NamedPlaces(Catalogued):
    """Places that a table lists with their codes and names; its last two columns are the levels above."""

    is_closed = True
    code_columns: ClassVar[int]
    """How many columns of codes stand before the names."""
    chance_of_codes: ClassVar[dict[int, float]]
    """How likely a text of capital letters is a code by coincidence."""

    def path(self, value: str) -> tuple[str, ...] | None:
        """Return the labels of a place, however it is written."""
        return places_of(self.table_name, self.code_columns).get(fold(value))

    def one_spelling(self, text: str) -> str | None:
        """Return the name of the place."""
        path = self.path(text)
        return None if path is None else path[0]

    def chance(self, value: str) -> float:
        """Return how likely it is that a text names a place by coincidence; codes are written in capitals."""
        text = value.strip()
        if not any(sign.isalpha() for sign in text):
            return 1.0
        if len(text) > max(self.chance_of_codes):
            return BY_NAME
        return self.chance_of_codes.get(len(text), 1.0) if text.isupper() else 1.0

    def _listed_values(self) -> Texts:
        return [row[0] or row[1] for row in table_rows(self.table_name)]

    def _domain(self, values: Texts) -> Texts:
        """Return the values at hand, and the places that none of them means."""
        met = {self.path(value) for value in values if value is not None}
        # two places may have the same labels only if their names are equal, so labels tell places apart
        return [*values, *(place for place in self._listed_values() if place and self.path(place) not in met)]


@cache
def places_of(table_name: str, code_columns: int) -> dict[str, tuple[str, ...]]:
    """Return the labels of each place, by each of its codes and names."""
    found: dict[str, tuple[str, ...]] = {}
    for row in table_rows(table_name):
        names = row[code_columns].split("|")
        labels = (names[0], *row[code_columns + 1 :])
        codes = [code for code in row[:code_columns] if code]
        for text in (*codes, *(code.lstrip("0") for code in codes if code.isdecimal()), *names):
            found.setdefault(fold(text), labels)
    return found


@dataclass(frozen=True, slots=True, repr=False)
class Countries(NamedPlaces):
    """Countries; see ``countries``."""

    kind = "countries"
    all_levels = ("country", "sub-region", "region")
    usual_levels = ("sub-region", "region")
    what = "a country: a name, or a code of ISO 3166"
    edition = "ISO 3166-1 as of 2025 with five former countries of ISO 3166-3; UN M49 regions"
    source = "codes and names: iso3166 (MIT); regions: UN M49 by way of hdx-python-country (MIT)"
    table_name = "countries.csv"
    code_columns = 3
    chance_of_codes = {2: 0.37, 3: 0.1}  # noqa: RUF012  # nobody changes it


@dataclass(frozen=True, slots=True, repr=False)
class UsStates(NamedPlaces):
    """States of the United States; see ``us_states``."""

    kind = "us_states"
    all_levels = ("state", "division", "region")
    usual_levels = ("division", "region")
    what = "a state or territory of the United States"
    edition = "Census Bureau divisions and regions since 1984; postal and FIPS codes"
    source = "U.S. Census Bureau, in the public domain"
    table_name = "us_states.csv"
    code_columns = 2
    chance_of_codes = {2: 0.25}  # noqa: RUF012


@dataclass(frozen=True, slots=True, repr=False)
class UsZip(Catalogued):
    """ZIP codes; see ``us_zip``."""

    kind = "us_zip"
    all_levels = ("4 digits", "3 digits", "2 digits", "1 digit")
    usual_levels = ("3 digits", "1 digit")
    what = "a ZIP code of 5 or 9 digits, or the first 3 of one"
    edition = "areas of 20,000 people or fewer by the censuses of 2000 and 2010"
    source = "HHS guidance on de-identification (2012) and U.S. Census Bureau, in the public domain"

    small: tuple[str, ...] = SMALL_ZIP_AREAS

    def __post_init__(self) -> None:
        Catalogued.__post_init__(self)
        if not all(isinstance(area, str) and re.fullmatch(r"\d{3}", area, re.ASCII) for area in self.small):
            raise HierarchyError('us_zip: small lists the first three digits of ZIP codes, such as ["036", "059"]')

    def path(self, value: str) -> tuple[str, ...] | None:
        """Return the leading digits; from three on an area of few people is 000."""
        code = self.one_spelling(value)
        if code is None:
            return None
        if code == "000":
            return ("000",) * 4
        is_small = code[:3] in self.small
        fourth = f"{code[:4]}*" if len(code) == 5 else f"{code}**"
        return fourth, *("000" if is_small else code[:kept] + "*" * (5 - kept) for kept in (3, 2, 1))

    def one_spelling(self, text: str) -> str | None:
        """Return the first five digits, or three; 2138 was 02138 before it became a number."""
        found = ZIP.fullmatch(text.strip())
        if found is None or not text.isascii() or (found[2] and len(found[1]) < 5):
            return None
        return found[1] if len(found[1]) == 3 else found[1].zfill(5)

    def standing(self, label: str) -> dict[int, str]:
        """Return a code with the digits that a masked one keeps, and what else a text can stand for."""
        kept = re.fullmatch(r"([0-9]{1,4})\*+", label)
        sample = kept[1].ljust(5, "1") if kept and len(label) == 5 else ""
        own = self.path(sample) or ()
        return Catalogued.standing(self, label) | {place: sample for place, text in enumerate(own) if text == label}

    def chance(self, value: str) -> float:
        """Return how likely a text is a ZIP code by coincidence: five digits may be any number."""
        return 0.05 if re.fullmatch(r"\d{5}-\d{4}", value.strip(), re.ASCII) else 1.0

    def options(self) -> dict[str, Any]:
        """Return the levels, the areas of few people if others were given, and the top."""
        given = Catalogued.options(self)
        return given if self.small == SMALL_ZIP_AREAS else given | {"small": list(self.small)}

    def _listed_values(self) -> Texts:
        return [f"{number:03}" for number in range(1, 1000)]

    def _content(self) -> Any:
        return [self.options(), list(self.small)]


@dataclass(frozen=True, slots=True, repr=False)
class Nuts(Catalogued):
    """Regions of Europe; see ``nuts``."""

    kind = "nuts"
    all_levels = ("NUTS 3", "NUTS 2", "NUTS 1", "country")
    usual_levels = ("NUTS 2", "NUTS 1", "country")
    what = "a code of NUTS, such as DE212"
    edition = "the levels of NUTS are those of every edition since 2003; a code is checked by its shape and country"
    source = "Regulation (EC) 1059/2003; Eurostat"

    def path(self, value: str) -> tuple[str, ...] | None:
        """Return ever fewer leading characters of the code."""
        code = value.strip().upper()
        found = NUTS.fullmatch(code)
        if found is None or not code.isascii() or found[1] not in NUTS_COUNTRIES:
            return None
        return tuple(code[:kept] for kept in (5, 4, 3, 2))

    def chance(self, value: str) -> float:
        """Return how likely a text is a code by coincidence; a country alone tells nothing of NUTS."""
        return 0.15 if len(value.strip()) > 2 and value.strip().isupper() else 1.0

    def _listed_values(self) -> Texts:
        return list(NUTS_COUNTRIES)


def checked_areas(small: Sequence[str] | None) -> tuple[str, ...]:
    """Return the ZIP areas of few people, those of the censuses if none are given."""
    if small is not None and (isinstance(small, str) or not isinstance(small, Sequence)):
        raise HierarchyError('us_zip: small lists the first three digits of ZIP codes, such as ["036", "059"]')
    return SMALL_ZIP_AREAS if small is None else tuple(small)
