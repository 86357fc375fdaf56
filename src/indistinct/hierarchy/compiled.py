"""The integer form of a hierarchy, which the search works on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from indistinct.errors import HierarchyError
from indistinct.lazy import lazy_module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy_module("numpy")

Labels = Sequence[str | None]


class UnknownValues(HierarchyError):
    """The values at hand do not fit a hierarchy; ``codes`` are the positions of those that have no label.

    The text says how many they are and never quotes one: they come from the private table.
    """

    def __init__(self, message: str, codes: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.codes = tuple(codes)


@dataclass(frozen=True, slots=True, eq=False)
class CompiledHierarchy:
    """A hierarchy as integer maps, for the distinct values of one column.

    ``labels[level][code]`` is a label, ``maps[level][value code]`` the code of a value's label, and
    ``leaves[level][label code]`` the number of ground values of the domain under a label. Making one checks that
    every label has exactly one parent, as a domain generalization hierarchy demands.

    Source: Samarati 2001, Section 2.2; Sweeney 2002, Section 2.
    """

    values: tuple[str | None, ...]
    labels: tuple[tuple[str | None, ...], ...]
    maps: tuple[NDArray[np.int64], ...]
    leaves: tuple[NDArray[np.int64], ...]
    domain_size: int
    has_suppressed_top: bool
    level_names: tuple[str, ...]
    lowest: int = 0
    """The lowest level that may be released; levels below it are there to count from."""
    find_positions: Callable[[], NDArray[np.int64] | None] = field(default=lambda: None, repr=False)
    """Gives where each value stands among those of the domain in the order of numbers or dates, a missing one last;
    None if they have no such order. It is asked only by who releases ranges."""
    sort_keys: Callable[[Labels], list[Any] | None] = field(default=lambda values: None, repr=False)
    """Gives what to sort any values by: numbers or dates, None for a missing one; None if they have no such order."""
    _steps: tuple[NDArray[np.int64], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        steps = tuple(self._parents(level) for level in range(self.height))
        object.__setattr__(self, "_steps", steps)
        for array in (*self.maps, *self.leaves, *steps):
            array.setflags(write=False)

    @property
    def height(self) -> int:
        """The number of steps from a ground value to the top."""
        return len(self.labels) - 1

    def between(self, lowest: int, highest: int) -> CompiledHierarchy:
        """Return the hierarchy cut off above ``highest``, of which no level below ``lowest`` may be released."""
        end = highest + 1
        return replace(
            self,
            labels=self.labels[:end],
            maps=self.maps[:end],
            leaves=self.leaves[:end],
            level_names=self.level_names[:end],
            has_suppressed_top=self.has_suppressed_top and highest == self.height,
            lowest=lowest,
        )

    def step(self, level: int) -> NDArray[np.int64]:
        """Return the code at ``level + 1`` of the parent of each label at ``level``.

        >>> from indistinct.hierarchy import prefix
        >>> prefix(5, keep=[4, 3]).compile(["94138", "94139", "94141"]).step(0)
        array([0, 0, 1])
        """
        return self._steps[level]

    def _parents(self, level: int) -> NDArray[np.int64]:
        below, above = self.maps[level], self.maps[level + 1]
        parents = np.zeros(len(self.labels[level]), dtype=np.int64)
        parents[below] = above
        torn = len(np.unique(below[parents[below] != above]))
        if torn:
            raise HierarchyError(f"{torn} labels at level {level} have more than one parent; a label has exactly one")
        return parents
