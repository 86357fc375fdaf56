"""The entries of a policy file: what may be written where, as pydantic checks it and the JSON Schema states it."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, create_model

from indistinct.engine.plans import OPERATORS
from indistinct.hierarchy import FORMS
from indistinct.policy.about import ABOUT
from indistinct.policy.context import LIMITS, Context, Likelihood, RecipientTerms
from indistinct.registry import ALGORITHMS, DEFAULT_ALGORITHM, MODELS

if TYPE_CHECKING:
    from indistinct.privacy import PrivacyModel

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
    columns: list[str] | None = Field(
        None, description="In place of a cell: columns of 0 and 1, whose names are members."
    )


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


Graded = Literal["low", "medium", "high"]


class LikelihoodEntry(FileEntries):
    value: float | None = Field(None, ge=0, le=1, description="The probability itself.")
    controls: Graded | None = Field(None, description="How strong the holder's privacy and security controls are.")
    motives: Graded | None = Field(None, description="How much the holder wants to find somebody, and can.")
    prevalence: float | None = Field(
        None, ge=0, le=1, description="The share of people who have what the table is about."
    )
    acquaintances: int | None = Field(None, ge=1, description="How many people somebody knows. Else 150.")
    why: str = Field(description="What the probability rests on.")

    def value_of(self) -> Likelihood:
        """Return the likelihood that is meant."""
        return Likelihood(**self.model_dump(exclude_none=True))


class ContextEntry(FileEntries):
    sharing: Literal["public", "agreement", "controlled"] | None = Field(
        None,
        description="Who can get the release: everybody, those who signed, or those who come to a controlled room.",
    )
    deliberate: LikelihoodEntry | None = Field(None, description="That a recipient tries to find people.")
    inadvertent: LikelihoodEntry | None = Field(None, description="That a recipient recognises somebody by chance.")
    breach: LikelihoodEntry | None = Field(None, description="That the release is stolen or lost.")
    threshold: Any = Field(
        None,
        description="The largest risk that is accepted: a number, or the name of a published one.",
        json_schema_extra={
            "anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": 1}, {"enum": list(LIMITS)}, {"type": "null"}]
        },
    )
    measure: Literal["maximum", "average"] | None = Field(
        None, description="The chance of whoever is worst off, or of a record on average. Else by how it is shared."
    )
    highest: float | None = Field(
        None, gt=0, le=1, description="With the average: the largest chance that anybody may have. Else 1/3."
    )
    why: str = Field("", description="Why this threshold.")
    decided_by: str = Field("", description="Who decided it.")
    review_by: Any = Field(
        None,
        description="The day until which the decision holds.",
        json_schema_extra={"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
    )
    enforce: bool | None = Field(None, description="Refuse a release whose risk is above the threshold.")

    def value_of(self) -> Context:
        """Return the context that is meant."""
        said: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        for name, given in said.items():
            if isinstance(given, LikelihoodEntry):
                said[name] = given.value_of()
            elif isinstance(given, datetime.datetime):
                said[name] = given.date()
        return Context(**said)


class RecipientEntry(FileEntries):
    who: str = Field("", description="Who they are.")
    holds: str = Field("", description="What they hold, or can lawfully get, that could be linked with the release.")
    means: str = Field("", description="What an attempt would cost them, and what would help them.")
    contract: str = Field("", description="The agreement that binds them.")
    context: ContextEntry | None = Field(None, description="What is otherwise for them than in [context].")
    k: int | None = Field(None, ge=1, description="The k of every model, for them.")
    columns: list[str] | None = Field(None, min_length=1, description="All columns that are released to them.")
    max_suppression: Any = Field(None, description="A share of the rows (0.02) or a number of rows (3), for them.")
    min_level: dict[str, int | str] = Field(
        default_factory=dict, description="The lowest level of some quasi columns, for them."
    )
    profile: dict[str, float] | None = Field(None, description="How likely they link by each quasi column, 0 to 1.")

    def value_of(self) -> RecipientTerms:
        """Return the terms that are meant."""
        said: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        return RecipientTerms(**{**said, "context": None if self.context is None else self.context.value_of()})


VERSION = 1
NumberOrTable = Annotated[
    Annotated[float, Tag("<number>")] | Annotated[dict[str, float], Tag("<table>")],
    Discriminator(lambda written: "<table>" if isinstance(written, Mapping) else "<number>"),
]
"""One number, or one for each of some values; mistakes are reported of the one that was written."""
NUMBER_OR_MAPPING = float | Mapping[str, float]


class ConditionEntry(FileEntries):
    column: str
    op: str = Field(json_schema_extra={"enum": list(OPERATORS)})
    value: Any = None


class PersonEntry(FileEntries):
    column: str | None = None
    columns: list[str] | None = None
    release: Literal["nothing", "pseudonym"] | None = Field(
        None, description="pseudonym: rows of a person can be followed, and k people share all of hers together."
    )
    suppress: Literal["people", "rows"] | None = Field(
        None, description="What is suppressed where too few share a profile: all rows of such people, or single ones."
    )
    key_file: str | None = Field(None, description="The file of the key of pseudonyms, which only its owner can read.")
    key_env: str | None = Field(None, description="The environment variable that holds the key of pseudonyms.")
    stable: bool | None = Field(
        None, description="Pseudonyms are the same in all releases of a ledger's source, which keeps their key."
    )


class AboutEntry(FileEntries):
    title: str | None = Field(None, description=ABOUT["title"])
    data: str | None = Field(None, description=ABOUT["data"])
    purpose: str | None = Field(None, description=ABOUT["purpose"])
    recipient: str | None = Field(None, description=ABOUT["recipient"])
    decided_by: str | None = Field(None, description=ABOUT["decided_by"])
    creator: str | None = Field(None, description=ABOUT["creator"])
    license: str | None = Field(None, description=ABOUT["license"])


class TableEntry(FileEntries):
    columns: dict[str, ColumnEntry]
    person: str | list[str] | None = Field(
        None, description="The columns that say whose row it is, if they are not those that the policy names for all."
    )
    key: str | None = Field(None, description="The column that no two rows have equal.")
    references: dict[str, str] = Field(
        default_factory=dict, description="The column that holds the key of a row of another table, and that table."
    )
    eligible: list[ConditionEntry] = Field(default_factory=list)


class KnowsEntry(FileEntries):
    events: int | dict[str, int] | None = Field(
        None,
        description="How many events of a person others know, in all tables or in each; k people share any so many.",
    )
    dated: int | dict[str, int] = Field(0, description="In place of events: how many are known in full.")
    undated: int | dict[str, int] = Field(0, description="How many others are known without their columns of time.")
    time: list[str] = Field(
        default_factory=list, description="The columns of time, such as visits.day. Else those with dates."
    )
    number: bool = Field(False, description="Whether the number of events in each table is known, too.")
    labels: Literal["ranges", "hierarchy"] = Field(
        "ranges", description="Dates and numbers of events have ranges of what occurs, or labels of hierarchies alone."
    )


class PolicyEntries(FileEntries):
    version: int = Field(ge=VERSION, le=VERSION)
    columns: dict[str, ColumnEntry] = Field(default_factory=dict)
    tables: dict[str, TableEntry] = Field(
        default_factory=dict,
        min_length=1,
        description="Several tables that belong together, each by its name, in place of columns.",
    )
    privacy: list[dict[str, Any]] = Field(min_length=1)
    knows: KnowsEntry | None = Field(
        None, description="What others know of a person's events, where several tables have a row for each of them."
    )
    max_suppression: Any = Field(
        None, description="A share of the rows (0.02) or a number of rows (3), of all tables together."
    )
    quasi_identifiers: dict[str, list[str]] | None = None
    eligible: list[ConditionEntry] = Field(default_factory=list)
    suppressed_rows: Literal["remove", "blank"] = "remove"
    person: str | list[str] | PersonEntry | None = Field(
        None, description="The column, or the columns, that say whose row it is; models then count people."
    )
    one_row_per_person: bool = Field(
        False, description="Every row is of somebody else, also where the identifiers of rows are equal."
    )
    about: AboutEntry | None = Field(
        None, description="What the release is about, for reports and its manifest; nothing is demanded by it."
    )
    context: ContextEntry | None = Field(
        None, description="In what surroundings the release is used, which risk is accepted, by whom, until when."
    )
    recipients: dict[str, RecipientEntry] = Field(
        default_factory=dict, description="Who gets a release, each by a name, with terms of their own."
    )
    max_unique: Any = Field(
        0.05,
        description="The share of rows that may be unique by one column which leaves unprotected; attacks report more.",
    )
    algorithm: str = DEFAULT_ALGORITHM
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the algorithm.")
    recipient_profile: dict[str, float] | None = Field(
        None, description="How likely the recipient links by each quasi column, 0 to 1 (Datafly)."
    )


OF_ONE_TABLE = ("columns", "quasi_identifiers", "eligible", "suppressed_rows", "one_row_per_person")
"""What a policy of several tables says of each of them, or not at all."""


class AtLevelEntry(FileEntries):
    level: float = Field(ge=0, le=1)
    population: int = Field(ge=1)


@lru_cache(maxsize=64)
def model_entries(kind: type[PrivacyModel]) -> type[BaseModel]:
    """Return the form of a model's entry: the fields of its dataclass."""
    hints = {name: NumberOrTable if hint == NUMBER_OR_MAPPING else hint for name, hint in get_type_hints(kind).items()}
    hints |= getattr(kind, "written", {})
    fields: dict[str, Any] = {
        field.name: (hints[field.name], ... if field.default is MISSING else field.default)
        for field in dataclasses.fields(kind)  # type: ignore[arg-type]
        if field.init
    }
    return create_model(kind.__name__, __base__=FileEntries, **fields)


def keys_at(form: type[BaseModel], place: Sequence[int | str]) -> tuple[str, ...]:
    """Return the keys that may stand beside the last part of a place in a file of this form.

    >>> keys_at(PolicyEntries, ("columns", "zip", "rol"))[:2], keys_at(PolicyEntries, ("eligible", 0, "colum"))[0]
    (('role', 'hierarchy'), 'column')
    """
    parts = list(place[:-1])
    while parts:
        field = form.model_fields.get(str(parts.pop(0)))
        inner = [] if field is None else list(_forms_in(field.annotation))
        if not inner:
            return ()
        form = inner[0]
        if parts and get_origin(field.annotation if field else None) in (dict, list):
            parts.pop(0)  # the name of a column, or a position
        elif parts and parts[0] not in form.model_fields:
            parts.pop(0)  # which one of several forms it was taken for
    return tuple(form.model_fields)


def _forms_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Return the forms of entries that an annotation holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _forms_in(inner)


def policy_schema() -> dict[str, Any]:
    """Return the JSON Schema of policy files, for editors that complete and check them."""
    schema = TypeAdapter(PolicyEntries).json_schema()
    schema["oneOf"] = [
        {"required": ["columns"], "not": {"required": ["tables"]}},
        {"required": ["tables", "person"], "not": {"anyOf": [{"required": [name]} for name in OF_ONE_TABLE]}},
    ]
    variants = []
    for name, kind in MODELS.items():
        variant = model_entries(kind).model_json_schema()
        variant["title"] = name
        variant["properties"] = {"model": {"const": name}} | variant["properties"]
        variant["required"] = ["model", *variant.get("required", [])]
        variant["additionalProperties"] = False
        variants.append(variant)
        if hasattr(kind, "at_level"):
            computed = {**variant["properties"], "at_level": TypeAdapter(AtLevelEntry).json_schema()}
            del computed["k"]
            variants.append(variant | {"properties": computed, "required": ["model", "at_level"]})
    schema["properties"]["privacy"]["items"] = {"anyOf": variants}
    (written, _) = schema["$defs"]["ColumnEntry"]["properties"]["hierarchy"]["anyOf"]
    written |= {"propertyNames": {"enum": list(FORMS)}, "minProperties": 1, "maxProperties": 1}
    schema["properties"]["algorithm"]["enum"] = list(ALGORITHMS)
    schema["properties"]["max_suppression"]["anyOf"] = [
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "integer", "minimum": 0},
    ]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "indistinct policy"}
