"""The entries of a policy file about one column, and what all entries have in common."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MISSING_SAID = "What a missing cell is: a value of its own, or refused; or the codes that mean a missing cell."
_RULE: dict[str, Any] = {"enum": ["value", "refuse"]}
_CODES: dict[str, Any] = {"type": "array", "items": {"type": ["string", "number"]}}
_BOTH = {"type": "object", "properties": {"codes": _CODES, "rule": _RULE}, "additionalProperties": False}
MISSING_FORMS: list[Any] = [_RULE, _CODES, _BOTH]


class FileEntries(BaseModel):
    # made when first used: few commands use all
    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True, defer_build=True)


class ShiftEntry(FileEntries):
    days: int = Field(description="Dates of a person move by one random number of days, at most so many.")
    format: str | None = Field(None, description="The format of the dates, as strptime reads it. Else ISO dates.")


class MicroaggregationEntry(FileEntries):
    k: int = Field(description="The least number of rows whose mean is released.")


class NoiseEntry(FileEntries):
    scale: float = Field(
        description="Of Laplace noise its mean size, of normal its standard deviation, of uniform its most."
    )
    kind: Literal["laplace", "normal", "uniform"] = "laplace"


class SetEntry(FileEntries):
    separator: str | None = Field(None, description="What separates the members; none for lists and JSON arrays.")


class ColumnEntry(FileEntries):
    role: Literal["identifier", "quasi", "sensitive", "other", "drop"]
    hierarchy: dict[str, Any] | None = Field(
        None,
        description="One builder, such as intervals or tree, or kind of the catalogue, such as countries.",
    )
    weight: float = Field(1.0, gt=0, description="How much distortion of this column counts.")
    missing: Any = Field("value", description=MISSING_SAID, json_schema_extra={"anyOf": MISSING_FORMS})
    unreadable: Literal["refuse", "missing", "suppress"] = Field(
        "refuse", description="What becomes of a cell that the hierarchy cannot read."
    )
    min_level: int | str | None = Field(None, description="The lowest level that may be released: number or name.")
    max_level: int | str | None = Field(None, description="The highest level that may be released: number or name.")
    recode: dict[str, Any] | None = Field(
        None, description="Of a sensitive or other column: one hierarchy, and the level (1) to which cells are recoded."
    )
    pseudonym: bool | Literal["stable"] = Field(
        False,
        description="Of an identifier: a keyed pseudonym is released in its place; stable: the same in all releases.",
    )
    shift: ShiftEntry | None = Field(None, description="Of dates: all of a person move by one random number of days.")
    microaggregate: MicroaggregationEntry | None = Field(
        None, description="Of numbers: they are released as means of clusters of at least k rows (MDAV)."
    )
    noise: NoiseEntry | None = Field(None, description="Of numbers: they are released with random noise added.")
    rename: str | None = Field(
        None, description="What the column is called in the release; of quasi, sensitive and other columns."
    )
    set: SetEntry | None = Field(None, description="Of a table of events: a cell holds a set, a row for each member.")
