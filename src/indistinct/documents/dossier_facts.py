"""Dossier: the facts of a release, each once with the command that makes it, and the documents that show them.

It is a typed value that JSON takes; pages are drawn from it, and say nothing else.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue


class Frozen(BaseModel):
    """A value that nobody changes, with nothing unknown in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FactTable(Frozen):
    """Rows of a fact under their heads."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Fact(Frozen):
    """Something that was measured, or that people said: in sentences, a table and numbers."""

    title: str
    said: tuple[str, ...] = ()
    table: FactTable | None = None
    numbers: dict[str, JsonValue] = {}
    command: str = ""
    """What makes it; empty of what people said."""

    @property
    def is_empty(self) -> bool:
        """There is nothing to show."""
        return not self.said and self.table is None


class Blank(Frozen):
    """What only people can say, or what could not be measured without more."""

    number: int
    hint: str
    place: str
    """Where it is said: a key of the policy, an option of the command, or by hand."""


class Section(Frozen):
    """A heading of a document: the facts under it, by name, and its blanks, by number."""

    title: str
    facts: tuple[str, ...]
    blanks: tuple[int, ...]


class Paper(Frozen):
    """One document: a view of the facts, as a regime asks for it."""

    name: str
    regime: str
    title: str
    source: str
    recipient: str | None
    decision: tuple[str, ...]
    """The first lines of its first page; those of a recipient's statement say only its own risk."""
    sections: tuple[Section, ...]


class Dossier(Frozen):
    """The facts of one release, and its documents."""

    made_by: str
    made_at: str
    title: str
    verdict: str
    decision: tuple[str, ...]
    """What was measured, against which threshold, and who decides: the first lines of the first page."""
    is_verified: bool
    is_broken: bool
    is_above: bool | None
    facts: dict[str, Fact]
    papers: tuple[Paper, ...]
    blanks: tuple[Blank, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the dossier as JSON takes it."""
        return self.model_dump(mode="json")

    @classmethod
    def json_form(cls) -> dict[str, Any]:
        """Return the JSON Schema of the facts."""
        schema = cls.model_json_schema()
        schema["properties"] = {"$schema": {"type": "string"}, **schema["properties"]}
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "indistinct dossier"}

    def papers_with(self, blank: Blank) -> tuple[str, ...]:
        """Return the names of the documents that have a blank."""
        return tuple(
            paper.name for paper in self.papers if any(blank.number in section.blanks for section in paper.sections)
        )

    def write(self, folder: str | os.PathLike[str], *, replace: bool = False) -> Path:
        """Write all documents and the facts as a folder, whole or not at all; only its owner may read it."""
        from indistinct.documents.pages import write_dossier

        return write_dossier(self, Path(folder), replace=replace)
