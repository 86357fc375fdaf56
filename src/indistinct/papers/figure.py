"""Figure: one table, figure or example of a paper, what is computed for it, and what the paper prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Cells = tuple[str, ...]
Status = Literal["same", "known difference", "not printed", "not computed", "DIFFERS"]


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table as papers print it: columns of text, and rows whose order says nothing.

    >>> one, other = (PaperTable.of(["Race"], rows) for rows in ([["a"], ["b"]], [["b"], ["a"]]))
    >>> one == other
    True
    """

    columns: Cells
    rows: tuple[tuple[Cells, int], ...]
    """Every different row and how often it stands there, sorted."""

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> PaperTable:
        """Take rows of any cells; a missing one is empty text."""
        counts = Counter(tuple("" if cell is None else str(cell) for cell in row) for row in rows)
        return cls(tuple(columns), tuple(sorted(counts.items())))

    @classmethod
    def of_arrow(cls, table: Any, columns: Sequence[str] | None = None) -> PaperTable:
        """Take an Arrow table, or some columns of it."""
        chosen = table if columns is None else table.select(list(columns))
        return cls.of(chosen.column_names, list(zip(*(own.to_pylist() for own in chosen.columns), strict=True)))

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON takes it: each row with its number."""
        return {"columns": list(self.columns), "rows": [[list(cells), number] for cells, number in self.rows]}


@dataclass(frozen=True, slots=True)
class Differs:
    """What a paper prints where something else is computed, what that is, and why."""

    printed: Any
    """None if the paper says it of data that are not at hand, and nothing is computed."""
    ours: Any
    why: str


@dataclass(frozen=True, slots=True)
class PaperStatement:
    """One thing that a figure says: what was computed, and what the paper prints."""

    name: str
    found: Any
    printed: Any
    status: Status
    why: str = ""

    @classmethod
    def of(cls, name: str, found: Any, printed: Any) -> PaperStatement:
        """Compare what was computed with what is printed, if anything is."""
        if found is None:
            shown, why = (printed.printed, printed.why) if isinstance(printed, Differs) else (printed, "")
            return cls(name, None, shown, "not computed", why)
        if isinstance(printed, Differs):
            is_known = plain(found) == plain(printed.ours) != plain(printed.printed)
            return cls(name, found, printed.printed, "known difference" if is_known else "DIFFERS", printed.why)
        if printed is None:
            return cls(name, found, None, "not printed")
        return cls(name, found, printed, "same" if plain(found) == plain(printed) else "DIFFERS")

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as JSON takes it."""
        said = {"name": self.name, "status": self.status, "computed": plain(self.found), "printed": plain(self.printed)}
        return said | ({"why": self.why} if self.why else {})


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What was computed for a figure, beside what the paper prints."""

    name: str
    paper: str
    where: str
    title: str
    statements: tuple[PaperStatement, ...]
    note: str = ""

    @property
    def agrees(self) -> bool:
        """Nothing differs but what is known to, and why."""
        return all(one.status != "DIFFERS" for one in self.statements)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON takes it."""
        head = {"name": self.name, "paper": self.paper, "where": self.where, "title": self.title, "note": self.note}
        return {**head, "agrees": self.agrees, "statements": [one.to_dict() for one in self.statements]}

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.title} ({self.paper}, {self.where})"]
        for one in self.statements:
            lines.append(f"  {one.status}: {one.name}" + (f" ({one.why})" if one.why else ""))
        return "\n".join([*lines, *([f"  note: {self.note}"] if self.note else [])])


@dataclass(frozen=True, slots=True)
class Figure:
    """A table, figure or example of a paper, and how it is computed anew."""

    name: str
    where: str
    """Its number, and the section and examples that speak of it."""
    title: str
    compute: Callable[..., dict[str, Any]]
    """Returns what is computed, each under what it is; None for what is not."""
    printed: Callable[[], Mapping[str, Any]]
    """What the paper prints of these, as it is or as ``Differs``."""
    note: str = ""
    takes_adult: bool = False
    """It may be given a table of UCI Adult."""
    is_large: bool = False
    """It takes long, and is left out where all are asked for."""

    def reproduce(self, paper: str, adult: str | None = None) -> Reproduction:
        """Compute it, and compare it with what is printed."""
        found = self.compute(adult) if self.takes_adult else self.compute()
        printed = dict(self.printed())
        note = str(found.pop("note", self.note))
        names = [*found, *(name for name in printed if name not in found)]
        said = (PaperStatement.of(name, found.get(name), printed.get(name)) for name in names)
        return Reproduction(self.name, paper, self.where, self.title, tuple(said), note)


def plain(value: Any) -> Any:
    """Return a value as JSON takes it, so that lists and tuples are alike.

    >>> plain({"a": (1, {2})})
    {'a': [1, [2]]}
    """
    if isinstance(value, PaperTable):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(plain(item) for item in value)
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value
