"""The entries of a policy file: what may be written where, as pydantic checks it and the JSON Schema states it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Discriminator, Field, Tag, create_model

from indistinct.engine.plans import OPERATORS
from indistinct.policy.about import ABOUT
from indistinct.policy.files.column_entries import ColumnEntry, FileEntries
from indistinct.policy.files.context_entries import ContextEntry, RecipientEntry
from indistinct.registry import DEFAULT_ALGORITHM

if TYPE_CHECKING:
    from indistinct.privacy import PrivacyModel

VERSION = 1
NumberOrTable = Annotated[
    Annotated[float, Tag("<number>")] | Annotated[dict[str, float], Tag("<table>")],
    Discriminator(lambda written: "<table>" if isinstance(written, Mapping) else "<number>"),
]
"""One number, or one for each of some values; what is wrong is told of the one that was written."""
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
        0.05, description="The share of rows that may be unique by one column which leaves unprotected; attacks tell."
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
