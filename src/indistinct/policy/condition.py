"""Condition: which rows are eligible for release, as a column, an operator and a value."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from indistinct.engine.plans import OPERATORS
from indistinct.errors import PolicyError


@dataclass(frozen=True, slots=True)
class Condition:
    """A test that an eligible row passes: a column, an operator and a value."""

    column: str
    op: str
    value: Any = None

    def __post_init__(self) -> None:
        if self.op not in OPERATORS:
            raise PolicyError(f"op must be one of {', '.join(OPERATORS)}; got {self.op!r}")
        if self.op in ("present", "missing"):
            if self.value is not None:
                raise PolicyError(f"op {self.op!r} takes no value")
        elif self.op in ("in", "not in"):
            if isinstance(self.value, str) or not isinstance(self.value, Sequence) or not self.value:
                raise PolicyError(f"op {self.op!r} takes a list of values")
            object.__setattr__(self, "value", tuple(self.value))
            if not all(isinstance(v, str | int | float | datetime.date) for v in self.value):
                raise PolicyError(f"op {self.op!r} compares with texts, numbers and dates only")
        elif not isinstance(self.value, str | int | float | datetime.date):
            raise PolicyError(f"op {self.op!r} takes a text, a number or a date")

    def as_triple(self) -> tuple[str, str, Any]:
        """Return the condition as the engines take it."""
        return self.column, self.op, self.value


def where(column: str, op: str, value: Any = None) -> Condition:
    """A condition on eligible rows: Datafly's data holder declares which tuples may be released at all.

    >>> where("age", ">=", 18)
    Condition(column='age', op='>=', value=18)
    """
    return Condition(column, op, value)
