"""The entries of a policy file about its context and its recipients, and the values that are made of them."""

from __future__ import annotations

import datetime
from typing import Any, Literal

from pydantic import Field

from indistinct.policy.context import LIMITS, Context, Likelihood, RecipientTerms
from indistinct.policy.files.column_entries import FileEntries

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
