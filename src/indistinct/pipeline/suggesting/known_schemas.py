"""What is known of tables that have a published form: which columns others may know, and why others are dropped.

Each form is data: a file of TOML beside this module.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

Kind = Literal["category", "year", "date", "concept", "code"]
"""What a column holds: a number of a concept has ancestors or a code of the source beside it, a code has its shape."""


@dataclass(frozen=True, slots=True)
class KnownColumn:
    """A column that others may know."""

    kind: Kind
    unless: str | None = None
    """Only where that column has no cell: it says the same."""
    source: str | None = None
    """The column with the code as the source of the data wrote it."""


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table of the form: its quasi columns, and the reason for each that is dropped."""

    quasi: Mapping[str, KnownColumn]
    dropped: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class KnownSchema:
    """A published form of tables about people."""

    name: str
    people: str
    """The table with a row for each person."""
    person: str
    """The column that says whose row it is, in every table."""
    tables: Mapping[str, KnownTable]


@cache
def known_schema(name: str) -> KnownSchema:
    """Return a form by its name, which is that of its file.

    >>> known_schema("omop").tables["death"].quasi["death_datetime"].unless
    'death_date'
    """
    content = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))
    reasons = content["reasons"]
    tables = {
        table: KnownTable(
            {column: KnownColumn(**said) for column, said in one["quasi"].items()},
            {column: reasons[reason] for reason, columns in one["drop"].items() for column in columns},
        )
        for table, one in content["tables"].items()
    }
    return KnownSchema(content["name"], content["people"], content["person"], tables)
