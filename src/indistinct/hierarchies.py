"""Hierarchies that need not be written: those of known codes, and those that are made of the data.

>>> from indistinct import hierarchies
>>> hierarchies.icd10().label("E11.9", 2)
'E10-E14'
"""

from indistinct.hierarchy import balanced_prefixes, by_frequency, by_target, dates, equal_depth
from indistinct.hierarchy.catalogue import (
    CATALOGUE,
    Recognised,
    age,
    countries,
    education,
    icd9,
    icd10,
    icd10_cm,
    isco,
    nace,
    naics,
    nuts,
    recognise,
    us_states,
    us_zip,
)

__all__ = [
    "CATALOGUE",
    "Recognised",
    "age",
    "balanced_prefixes",
    "by_frequency",
    "by_target",
    "countries",
    "dates",
    "education",
    "equal_depth",
    "icd9",
    "icd10",
    "icd10_cm",
    "isco",
    "nace",
    "naics",
    "nuts",
    "recognise",
    "us_states",
    "us_zip",
]
