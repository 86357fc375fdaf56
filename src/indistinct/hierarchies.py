"""Hierarchies that need not be written: those of known codes.

>>> from indistinct import hierarchies
>>> hierarchies.icd10().label("E11.9", 2)
'E10-E14'
"""

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
    "countries",
    "education",
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
