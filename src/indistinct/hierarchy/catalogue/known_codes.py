"""The catalogue: hierarchies that are there without being written, and which of them fits the values of a column."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from indistinct.hierarchy.catalogue.catalogued import Catalogued
from indistinct.hierarchy.catalogue.classifications import Age, Education, Isco, Nace, Naics
from indistinct.hierarchy.catalogue.diagnoses import Icd9, Icd10, Icd10Cm
from indistinct.hierarchy.catalogue.places import Countries, Nuts, UsStates, UsZip, checked_areas

CATALOGUE: dict[str, type[Catalogued]] = {
    kind.kind: kind
    for kind in (Countries, UsStates, UsZip, Nuts, Icd10, Icd10Cm, Icd9, Isco, Nace, Naics, Education, Age)
}
"""Every kind by its name, which is that of its function and of the hierarchy in a policy file."""

MOST_COINCIDENCE = 0.01
"""A column is recognised if its values would fit by coincidence no more often than this."""
SIGNS_OF_UNKNOWN = "? - -- . n/a n.a. unknown missing not-available not-reported refused unspecified"
"""Texts that stand for no value in many tables; whether a column fits is asked of the others."""
SAMPLE, CLEARLY = 500, 0.15
"""Values that are looked at first; a kind whose share of them lies that far below the threshold is left out."""
NEED_SPREAD = {"icd10": 3, "icd10_cm": 3, "isco": 4, "naics": 4}
"""Texts of the last level that codes in digits must reach: those of one range may be any numbers of it."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """What the values of a column are: a hierarchy of the catalogue, and how many of them it knows."""

    name: str
    """The kind, such as ``countries``; a key of ``CATALOGUE``."""
    hierarchy: Catalogued
    values: int
    """How many different values were looked at, without missing ones and signs of unknown."""
    fitting: int
    """How many of them are listed."""
    unfit: tuple[str, ...] = field(repr=False)
    """The values that the hierarchy refuses, signs of unknown included: cells of the table, to be kept private.
    Before the hierarchy can be used each of them must be declared missing, corrected or listed."""

    @property
    def share(self) -> float:
        """The share of the values that are listed."""
        return self.fitting / self.values


def recognise(
    values: Iterable[str | None], *, expected: Collection[str] = (), threshold: float = 0.95
) -> Recognised | None:
    """Return the hierarchy of the catalogue that the distinct values of a column fit, or None.

    It goes by the values alone. At least ``threshold`` of them must be listed, and they must be too many, or too
    telling, for a coincidence: five two-letter codes are countries, AM and PM are not; four are states of the
    United States if all of them are, since these are far fewer; digits alone (ZIP codes, ICD-9 without V and E codes,
    NACE without its letter, ISCED, ages) may be anything. ``expected`` names what the column's name speaks of, such as
    ``{"us_zip"}``: of these the listed share is all that is asked. Texts that mean unknown, such as "?", are not
    counted; ``unfit`` of the answer lists them with all other values that the hierarchy would refuse.

    >>> found = recognise(["DE", "FR", "GB", "US", "JP", "?"])
    >>> found.name, found.share, found.unfit
    ('countries', 1.0, ('?',))
    >>> recognise(["CA", "DE", "IN", "CO"]).name, recognise(["AM", "PM"])
    ('us_states', None)
    >>> recognise(["02138", "94141"]), recognise(["02138", "94141"], expected=["us_zip"]).hierarchy
    (None, us_zip())
    """
    given = list(dict.fromkeys(value for value in values if value is not None and value.strip()))
    texts = [value for value in given if fold_sign(value) not in SIGNS_OF_UNKNOWN.split()]
    if not texts:
        return None
    sample = texts[:: max(1, len(texts) // SAMPLE)]
    found: list[tuple[bool, float, int, str, Catalogued, int]] = []
    for place, (name, kind) in enumerate(CATALOGUE.items()):
        hierarchy = kind.of((), "*")
        if len(sample) < len(texts) and _share(hierarchy, sample) < threshold - CLEARLY:
            continue
        listed = [text for text in texts if hierarchy.is_listed(text)]
        share = len(listed) / len(texts)
        if share >= threshold and (name in expected or _is_telling(hierarchy, listed)):
            # of those that fit as well the one with fewer codes: states before countries, the others as they stand
            rank = -1 if name == "us_states" else place
            found.append((name not in expected, -share, rank, name, hierarchy, len(listed)))
    if not found:
        return None
    _, _, _, name, hierarchy, fitting = min(found, key=lambda one: one[:3])
    unfit = tuple(value for value in given if hierarchy.path(value) is None)
    return Recognised(name, hierarchy, len(texts), fitting, unfit)


def fold_sign(value: str) -> str:
    """Return a text as signs of unknown are written.

    >>> fold_sign(" Not available ")
    'not-available'
    """
    return "-".join(value.casefold().split())


def _share(hierarchy: Catalogued, texts: Sequence[str]) -> float:
    return sum(map(hierarchy.is_listed, texts)) / len(texts)


def _is_telling(hierarchy: Catalogued, listed: Sequence[str]) -> bool:
    """Return whether values would hardly be listed by coincidence."""
    if prod(hierarchy.chance(text) for text in listed) > MOST_COINCIDENCE:
        return False
    paths = [path for path in map(hierarchy.path, listed) if path is not None]
    return len({path[-1] for path in paths}) >= NEED_SPREAD.get(hierarchy.kind, 1)


def countries(*levels: str, top: str | None = "*") -> Countries:
    """Return the hierarchy of countries: codes of ISO 3166 and English names, sub-regions and regions of the UN.

    Levels: "country" (one name for all spellings; not taken unless named), "sub-region", "region".

    >>> [countries().label(code, 1) for code in ("DE", "DEU", "Germany")], countries().label("DE", 2)
    (['Western Europe', 'Western Europe', 'Western Europe'], 'Europe')
    """
    return Countries(levels or Countries.usual_levels, top)


def us_states(*levels: str, top: str | None = "*") -> UsStates:
    """Return the hierarchy of states: postal codes, FIPS codes or names, divisions and regions of the Census Bureau.

    Levels: "state" (one name for all spellings; not taken unless named), "division", "region".

    >>> [us_states().label("MA", level) for level in range(4)]
    ['MA', 'New England', 'Northeast', '*']
    """
    return UsStates(levels or UsStates.usual_levels, top)


def us_zip(*levels: str, small: Sequence[str] | None = None, top: str | None = "*") -> UsZip:
    """Return the hierarchy of ZIP codes by HIPAA: three digits, 000 for areas of 20,000 people or fewer.

    ``small`` lists such areas by their first three digits, in place of those of the censuses of 2000 and 2010. Levels:
    "4 digits", "3 digits", "2 digits", "1 digit"; the second and the last unless others are named.

    >>> us_zip().table(["02138", "03601"])
    [['02138', '021**', '0****', '*'], ['03601', '000', '000', '*']]
    """
    return UsZip(levels or UsZip.usual_levels, top, checked_areas(small))


def nuts(*levels: str, top: str | None = "*") -> Nuts:
    """Return the hierarchy of the regions of Europe by their codes. Levels: "NUTS 3", "NUTS 2", "NUTS 1", "country".

    >>> [nuts().label("DE212", level) for level in range(5)]
    ['DE212', 'DE21', 'DE2', 'DE', '*']
    """
    return Nuts(levels or Nuts.usual_levels, top)


def icd10(*levels: str, top: str | None = "*") -> Icd10:
    """Return the hierarchy of diagnoses by the WHO's ICD-10. Levels: "category", "block", "chapter".

    >>> [icd10().label("E11.9", level) for level in range(1, 4)]
    ['E11', 'E10-E14', 'IV Endocrine, nutritional and metabolic diseases']
    """
    return Icd10(levels or Icd10.usual_levels, top)


def icd10_cm(*levels: str, top: str | None = "*") -> Icd10Cm:
    """Return the hierarchy of diagnoses by ICD-10-CM of the United States. Levels: "category", "block", "chapter".

    >>> [icd10_cm().label("E11.65", level) for level in range(1, 4)]
    ['E11', 'E08-E13', '4 Endocrine, nutritional and metabolic diseases']
    """
    return Icd10Cm(levels or Icd10Cm.usual_levels, top)


def icd9(*levels: str, top: str | None = "*") -> Icd9:
    """Return the hierarchy of diagnoses by ICD-9-CM, with V and E codes. Levels: "category", "block", "chapter".

    >>> [icd9().label(code, 2) for code in ("250.83", "25083", "8", "V45.81", "E885.9")]
    ['249-259', '249-259', '001-009', 'V40-V49', 'E880-E888']
    """
    return Icd9(levels or Icd9.usual_levels, top)


def isco(*levels: str, top: str | None = "*") -> Isco:
    """Return the hierarchy of occupations by ISCO-08.

    Levels: "unit group", "minor group", "sub-major group", "major group"; all but the first unless others are named.

    >>> [isco().label("2512", level) for level in range(1, 4)]
    ['251', '25', '2 Professionals']
    """
    return Isco(levels or Isco.usual_levels, top)


def nace(*levels: str, top: str | None = "*") -> Nace:
    """Return the hierarchy of industries by NACE Rev. 2, with or without the letter of the section.

    Levels: "class", "group", "division", "section"; all but the first unless others are named.

    >>> [nace().label(code, 1) for code in ("10.11", "1011", "C10.11")], nace().label("10.11", 3)
    (['10.1', '10.1', '10.1'], 'C Manufacturing')
    """
    return Nace(levels or Nace.usual_levels, top)


def naics(*levels: str, top: str | None = "*") -> Naics:
    """Return the hierarchy of industries by NAICS.

    Levels: "industry" "industry group", "subsector", "sector"; all but the first unless others are named.

    >>> [naics().label("311421", level) for level in range(1, 4)]
    ['3114', '311', '31-33 Manufacturing']
    """
    return Naics(levels or Naics.usual_levels, top)


def education(*levels: str, top: str | None = "*") -> Education:
    """Return the hierarchy of education by ISCED 2011: 0 to 8, or common texts. Levels: "level", "broad level".

    >>> [education().label(text, 1) for text in ("3", "HS-grad", "Bachelor's degree")]
    ['3 Upper secondary', '3 Upper secondary', "6 Bachelor's or equivalent"]
    """
    return Education(levels or Education.usual_levels, top)


def age(*levels: str, top: str | None = "*") -> Age:
    """Return the hierarchy of ages by HIPAA: from 90 on nothing more is shown, at any level above the value itself.

    Levels: "year", "5 years", "10 years", "20 years".

    >>> age().table(["39", "93"])
    [['39', '39', '35-39', '30-39', '20-39', '*'], ['93', '>=90', '>=90', '>=90', '>=90', '*']]
    """
    return Age(levels or Age.usual_levels, top)
