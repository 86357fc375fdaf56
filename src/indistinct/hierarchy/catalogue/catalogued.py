"""Hierarchies of known codes: what those of the catalogue share, and the tables that they read their labels from."""

from __future__ import annotations

import hashlib
import unicodedata
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar

from indistinct.errors import HierarchyError
from indistinct.hierarchy.hierarchy import Computed, Texts, UnknownValues, checked_top, top_name, top_option
from indistinct.showing.words import counted


@dataclass(frozen=True, slots=True, repr=False)
class Catalogued(Computed):
    """Codes whose labels a published classification gives; a value that is none of them is refused.

    A code that is coarser than a level, such as a chapter where categories are asked for, stands for itself there.
    """

    main_option = "levels"
    all_levels: ClassVar[tuple[str, ...]]
    """The levels that there are, finest first."""
    usual_levels: ClassVar[tuple[str, ...]]
    """Those that are taken unless others are named."""
    what: ClassVar[str]
    """What a value is, in words: ``a country``."""
    edition: ClassVar[str]
    source: ClassVar[str]
    """Where the codes and labels come from, and why they may be used."""
    table_name: ClassVar[str] = ""
    """The file of labels, if there is one."""
    is_closed: ClassVar[bool] = False
    """Every label above the values is one of the values that are listed."""

    levels: tuple[str, ...]
    top: str | None

    def __post_init__(self) -> None:
        checked_top(self.top)
        known = list(self.all_levels)
        strange = [level for level in self.levels if level not in known]
        if strange:
            raise HierarchyError(f"{self.kind}: no level {strange[0]!r}; there are {', '.join(known)}")
        places = [known.index(level) for level in self.levels]
        if places != sorted(set(places)):
            raise HierarchyError(f"{self.kind}: name each level once, the finest first: {', '.join(known)}")

    @classmethod
    def of(cls, levels: Sequence[str], top: str | None) -> Catalogued:
        """Return the hierarchy with these levels, or with the usual ones if none is named."""
        return cls(tuple(levels) or cls.usual_levels, top)

    @abstractmethod
    def path(self, value: str) -> tuple[str, ...] | None:
        """Return the label of a value at each of all levels; None if it is no such code."""

    def is_listed(self, value: str) -> bool:
        """Return whether the classification is sure to have this value, beyond that it has the shape of its codes."""
        return self.path(value) is not None

    def chance(self, value: str) -> float:
        """Return how likely a text of this shape is listed by coincidence; 1 for one that tells nothing."""
        return 1.0

    def one_spelling(self, text: str) -> str | None:
        """Return the one way of writing a value that others may write otherwise; None if it is no such code."""
        return None if self.path(text) is None else text.strip().upper()

    def standing(self, label: str) -> dict[int, str]:
        """Return a value below a text on each of all levels that it can stand on as a label, by the level's number."""
        own = self.path(label)
        found = {} if own is None else {place: label for place, text in enumerate(own) if text == label}
        return {place: values[label] for place, values in enumerate(_values_by_label(self)) if label in values} | found

    @property
    def level_names(self) -> tuple[str, ...]:
        """The names of the levels."""
        return ("value", *self.levels, *top_name(self.top))

    def options(self) -> dict[str, Any]:
        """Return the levels and every option that differs from its default."""
        given: dict[str, Any] = {} if self.levels == self.usual_levels else {"levels": list(self.levels)}
        return given | top_option(self.top)

    def climb(self, values: Texts) -> list[Texts]:
        """Return the labels that the classification gives; a value that it does not know is refused."""
        paths = [None if value is None else self.path(value) for value in values]
        unknown = [code for code, path in enumerate(paths) if path is None and values[code] is not None]
        if unknown:
            raise UnknownValues(
                f"{counted(len(unknown), 'value is', 'values are')} not {self.what}; correct the table, "
                "say what becomes of them with missing or unreadable of the column, "
                f"or write a list with `indistinct hierarchy show {self.kind} --table TABLE --column COLUMN -o FILE` "
                "and use levels()",
                unknown,
            )
        places = [self.all_levels.index(level) for level in self.levels]
        return [[None if path is None else path[place] for path in paths] for place in places]

    def sort_keys(self, values: Texts) -> list[Any] | None:
        """Return nothing: codes are names, also those that are written in digits."""
        return None

    def _codes_of_all_sizes(self) -> Texts:
        """Return the codes that are listed, and coarser ones that stand for themselves below their level."""
        return self._listed_values()

    def _content(self) -> Any:
        return [self.options(), table_digest(self.table_name) if self.table_name else self.edition]


def fold(text: str) -> str:
    """Return a name without case, accents, spaces and signs, so that spellings of it are equal.

    >>> fold("Côte d'Ivoire"), fold("United-States")
    ('cotedivoire', 'unitedstates')
    """
    return "".join(sign for sign in unicodedata.normalize("NFKD", text.casefold()) if sign.isalnum())


@cache
def _values_by_label(hierarchy: Catalogued) -> list[dict[str, str]]:
    """Return a listed value for each label of each level."""
    found: list[dict[str, str]] = [{} for _ in hierarchy.all_levels]
    for value in hierarchy._codes_of_all_sizes():
        path = None if value is None else hierarchy.path(value)
        for place, label in enumerate(path or ()):
            found[place].setdefault(label, value or "")
    return found


@cache
def table_rows(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a table of the catalogue; it is read when it is first asked for."""
    lines = _table_text(name).splitlines()
    return tuple(tuple(line.split(";")) for line in lines if line and not line.startswith("#"))


@cache
def table_digest(name: str) -> str:
    """Return the SHA-256 of a table of the catalogue."""
    return hashlib.sha256(_table_text(name).encode()).hexdigest()


def _table_text(name: str) -> str:
    text = (files("indistinct.hierarchy.catalogue") / "tables" / name).read_text("utf-8")
    return text.replace("\r\n", "\n")
