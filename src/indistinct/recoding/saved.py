"""SavedRecoding: what a release shows of its recoding, as a file, so that new rows can be recoded in the same way.

Of a recoding by levels it holds the level of each column, of a local one the labels of each released group. No number
of rows stands in it, no value that no label shows, and nothing of what was suppressed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from indistinct.atomic_files import write_whole
from indistinct.errors import PolicyError, TableError

Label = str | None


class SavedRecoding(BaseModel):
    """The levels or the groups of a recoding, with the digest of each column's hierarchy."""

    model_config = ConfigDict(frozen=True, extra="forbid", title="A recoding of indistinct")

    version: Literal[1] = 1
    hierarchies: Mapping[str, str] = Field(description="The SHA-256 of the hierarchy of each quasi column.")
    levels: Mapping[str, int] | None = Field(default=None, description="The level of each column, where each has one.")
    labels: Mapping[str, tuple[Label, ...]] | None = Field(default=None, description="The labels of each column.")
    groups: tuple[tuple[int, ...], ...] | None = Field(
        default=None, description="Of each group the place of its label in each column, in the order of the columns."
    )

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.levels is None) == (self.labels is None or self.groups is None):
            raise ValueError("a recoding has levels, or labels and groups")
        named = self.levels if self.levels is not None else self.labels or {}
        if list(named) != list(self.hierarchies) or not named:
            raise ValueError("levels or labels name the columns of hierarchies, in their order")
        if any(level < 0 for level in (self.levels or {}).values()):
            raise ValueError("a level is 0 or more")
        numbers = [len(labels) for labels in (self.labels or {}).values()]
        for group in self.groups or ():
            if len(group) != len(numbers) or not all(
                0 <= place < most for place, most in zip(group, numbers, strict=True)
            ):
                raise ValueError("each group has the place of one label in each column")
        return self

    @classmethod
    def of_groups(
        cls, hierarchies: Mapping[str, str], texts: Sequence[Sequence[Label]], groups: Sequence[Sequence[int]]
    ) -> Self:
        """Return a saved recoding of groups by the labels that they carry, each once, in the order of their labels.

        ``groups`` has for each column the place of each group's label in ``texts``.
        """
        rows = {tuple(own[place] for own, place in zip(texts, row, strict=True)) for row in zip(*groups, strict=True)}
        ordered = sorted(rows, key=lambda row: [(text is None, text or "") for text in row])
        used = [list(dict.fromkeys(column)) for column in zip(*ordered, strict=True)] or [[] for _ in hierarchies]
        places = [{text: place for place, text in enumerate(column)} for column in used]
        return cls(
            hierarchies=dict(hierarchies),
            labels={name: tuple(column) for name, column in zip(hierarchies, used, strict=True)},
            groups=tuple(tuple(own[text] for own, text in zip(places, row, strict=True)) for row in ordered),
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Return the recoding that a file holds, or raise a TableError that says what is wrong with it."""
        try:
            return cls.model_validate_json(Path(path).read_bytes())
        except OSError as error:
            raise TableError(f"cannot read {path}: {error.strerror or error}") from None
        except ValidationError as error:
            said = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(map(str, said["loc"]))
            raise TableError(
                f"{path}: is no saved recoding: {where + ': ' if where else ''}{said['msg']}; "
                "save it again with release.recoding.save(…) or 'indistinct recoding'"
            ) from None

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON, whole or not at all."""
        write_whole(Path(path), self.text)

    @property
    def text(self) -> str:
        """What its file holds."""
        content = self.model_dump(mode="json", exclude_none=True)
        if self.labels is not None:  # a label may be that of a missing cell
            content["labels"] = {name: list(labels) for name, labels in self.labels.items()}
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"

    @property
    def name(self) -> str:
        """What a manifest calls it: the beginning of the digest of its file."""
        return f"sha256-{hashlib.sha256(self.text.encode()).hexdigest()[:32]}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The quasi columns, in their order."""
        return tuple(self.hierarchies)

    def group_labels(self) -> list[tuple[Label, ...]]:
        """Return the labels of each group; none where columns have levels."""
        named = list((self.labels or {}).values())
        return [tuple(own[place] for own, place in zip(named, group, strict=True)) for group in self.groups or ()]

    def refuse_other(self, hierarchies: Mapping[str, str]) -> None:
        """Raise if a policy has other quasi columns, or other hierarchies for them, than this was made with."""
        mistakes = []
        if set(hierarchies) != set(self.hierarchies):
            mistakes.append(
                f"columns: the recoding is of the quasi columns {', '.join(self.hierarchies)}, the policy's are "
                f"{', '.join(hierarchies)}; give the policy of the release that it was made with"
            )
        else:
            mistakes += [
                f"columns.{name}: its hierarchy is not the one that the recoding was made with; give that policy, or "
                "make a new release"
                for name, digest in self.hierarchies.items()
                if hierarchies[name] != digest
            ]
        if mistakes:
            raise PolicyError(mistakes)


def recoding_schema() -> dict[str, Any]:
    """Return the JSON Schema of saved recodings."""
    schema = SavedRecoding.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
