"""ValueRule: what a model asks of the values of a sensitive column, in terms that compiled code can judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from indistinct.array_types import Array, FloatArray, IntArray, np


@dataclass(frozen=True, slots=True, eq=False)
class ValueRule:
    """One of the kinds that ``kernels.rule_kinds`` explains, and the numbers that it compares with.

    A model may offer it, so that a search need not ask ``satisfied`` at every node. It must say the same.
    """

    kind: Literal["distinct", "entropy", "recursive", "shares", "near", "like", "close", "ordered"]
    number: float
    second: float = 0.0
    codes: IntArray | None = None
    """(ways, values): the codes under which each value counts, such as its rank, or its labels; None for its own."""
    limits: FloatArray | None = None
    """The largest share of each value."""

    def codes_of(self, values: int) -> IntArray:
        """Return the codes under which each of so many values counts."""
        own: Array = np.arange(values, dtype=np.int64)[None, :] if self.codes is None else self.codes
        return own
