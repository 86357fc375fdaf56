"""Hierarchies of any text: leading characters kept, everything suppressed, or nothing changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from indistinct.errors import HierarchyError
from indistinct.hierarchy.hierarchy import Computed, Texts, UnknownValues, checked_top, top_name, top_option
from indistinct.showing.words import counted

MOST_LEVELS = 256
"""Levels of a prefix that loses one character at each."""
MOST_CHARACTERS = 10_000
"""Characters of a value whose prefix has levels that were listed."""


def prefix(
    length: int | None = None, *, keep: Sequence[int] | None = None, mask: str = "*", top: str | None = "*"
) -> Prefix:
    """Return the hierarchy that keeps ever fewer leading characters, as for ZIP codes.

    ``length`` is the number of characters of a value; without it, that of the longest value at hand counts.
    ``keep`` says how many leading characters each level keeps; without it, one fewer each time. ``mask`` stands for
    each character that is not kept.

    Source: Samarati 2001, Figure 2; Sweeney 2002, Figure 2.

    >>> [prefix().label("02138", level) for level in range(6)]
    ['02138', '0213*', '021**', '02***', '0****', '*']
    >>> prefix(5, keep=[4, 3], top=None).table(["94138", "94141"])
    [['94138', '9413*', '941**'], ['94141', '9414*', '941**']]
    """
    if keep is not None and (isinstance(keep, str) or not isinstance(keep, Sequence)):
        raise HierarchyError(f"keep must be a list of how many characters each level keeps, got {keep!r}")
    return Prefix(length, None if keep is None else tuple(keep), mask, top)


def suppress(label: str = "*") -> Suppress:
    """Return the hierarchy of one step: a value is released, or it is not.

    >>> suppress("not released").table(["female", "male"])
    [['female', 'not released'], ['male', 'not released']]
    """
    return Suppress(label)


def keep() -> Keep:
    """Return the hierarchy without levels: the column stays as it is, and only whole rows can be suppressed.

    >>> keep().compile(["female", "male"]).height
    0
    """
    return Keep()


@dataclass(frozen=True, slots=True, repr=False)
class Prefix(Computed):
    """Leading characters; see ``prefix``."""

    kind = "prefix"
    main_option = "length"

    length: int | None
    keep: tuple[int, ...] | None
    mask: str
    top: str | None

    def __post_init__(self) -> None:
        checked_top(self.top)
        if self.length is not None and not (_is_whole(self.length) and self.length > 0):
            raise HierarchyError(f"length must be a number of characters, at least 1, got {self.length!r}")
        if self.length is not None and self.length > (MOST_LEVELS if self.keep is None else MOST_CHARACTERS):
            raise HierarchyError(
                f"length must be at most {MOST_LEVELS} characters, or {MOST_CHARACTERS} if keep lists the levels"
            )
        if not isinstance(self.mask, str) or len(self.mask) != 1:
            raise HierarchyError(f"mask must be one character, got {self.mask!r}")
        if self.keep is not None:
            self._check_keep(self.keep)

    def _check_keep(self, keep: tuple[int, ...]) -> None:
        if not keep or not all(_is_whole(kept) and kept >= 0 for kept in keep):
            raise HierarchyError(f"keep must list at least one number of characters, got {list(keep)}")
        if any(above >= below for below, above in pairwise(keep)):
            raise HierarchyError(f"keep must fall from level to level, got {list(keep)}")
        if self.length is not None and keep[0] >= self.length:
            raise HierarchyError(f"keep must start below length {self.length}, got {list(keep)}")

    @property
    def level_names(self) -> tuple[str, ...]:
        """The number of characters that each level keeps; empty while neither length nor keep is known."""
        if self.keep is None and self.length is None:
            return ()
        return self._names(self._kept_lengths(self.length or 0))

    def options(self) -> dict[str, Any]:
        """Return every option that differs from its default."""
        given: dict[str, Any] = {}
        if self.length is not None:
            given["length"] = self.length
        if self.keep is not None:
            given["keep"] = list(self.keep)
        if self.mask != "*":
            given["mask"] = self.mask
        return given | top_option(self.top)

    def climb(self, values: Texts) -> list[Texts]:
        """Return the masked values at each level; a value longer than ``length`` has none."""
        length = min(self._length_for(values), MOST_LEVELS if self.keep is None else MOST_CHARACTERS)
        too_long = [code for code, value in enumerate(values) if value is not None and len(value) > length]
        if too_long:
            raise UnknownValues(
                f"{counted(len(too_long), 'value is', 'values are')} longer than {length} characters; "
                "give prefix() a larger length, list the levels with keep, or correct them in the table",
                too_long,
            )
        columns: list[Texts] = []
        for kept in self._kept_lengths(length):
            masked = self.mask * (length - kept)
            columns.append([None if value is None else value[:kept] + masked for value in values])
        return columns

    def _length_for(self, values: Texts) -> int:
        if self.length is not None:
            return self.length
        return max((len(value) for value in values if value is not None), default=0)

    def _kept_lengths(self, length: int) -> Sequence[int]:
        return range(length - 1, 0, -1) if self.keep is None else self.keep

    def _names(self, kept: Sequence[int]) -> tuple[str, ...]:
        names = (counted(number, "character", "characters") for number in kept)
        return ("value", *names, *top_name(self.top))

    def _level_names_for(self, values: Texts) -> tuple[str, ...]:
        return self._names(self._kept_lengths(self._length_for(values)))


@dataclass(frozen=True, slots=True, repr=False)
class Suppress(Computed):
    """All or nothing; see ``suppress``."""

    kind = "suppress"
    main_option = "label"

    top: str

    def __post_init__(self) -> None:
        if not isinstance(self.top, str) or not self.top:
            raise HierarchyError(f"the label of suppress() must be some text, got {self.top!r}")

    @property
    def level_names(self) -> tuple[str, ...]:
        """Always the same two."""
        return ("value", "suppressed")

    def options(self) -> dict[str, Any]:
        """Return the label."""
        return {"label": self.top}

    def climb(self, values: Texts) -> list[Texts]:
        """Return no level: there is nothing between a value and the top."""
        return []


@dataclass(frozen=True, slots=True, repr=False)
class Keep(Computed):
    """Nothing changes; see ``keep``."""

    kind = "keep"
    main_option = ""
    is_never_generalized = True

    top: None = field(default=None, init=False)

    @property
    def level_names(self) -> tuple[str, ...]:
        """There is only the level of the values."""
        return ("value",)

    def options(self) -> dict[str, Any]:
        """Return nothing: there is nothing to choose."""
        return {}

    def climb(self, values: Texts) -> list[Texts]:
        """Return no level."""
        return []


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)
