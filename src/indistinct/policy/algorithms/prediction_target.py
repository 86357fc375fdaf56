"""The target of a release: the column that a release is made for, and what may be paid for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from indistinct.errors import PolicyError
from indistinct.policy.algorithms.declaration import choice_mistakes, is_number

TASKS = ("classification", "regression")
MANY_NUMBERS = 10
"""Numbers of more different values are for regression, if nothing is said."""


@dataclass(frozen=True, slots=True)
class PredictionTarget:
    """A sensitive column that others will want to predict: groups are cut where that costs the prediction least.

    ``task`` is ``"classification"``, ``"regression"``, or None: regression for many different numbers.
    ``max_alike`` bounds the price: at most this share of the rows come to groups in which all have one target value, as
    far as cuts decide it.
    """

    column: str
    task: Literal["classification", "regression"] | None = None
    max_alike: float = 1.0

    @classmethod
    def of(cls, given: PredictionTarget | Mapping[str, Any] | str | None) -> Self | None:
        """Return a target from what a policy says; raise a PolicyError with all that is wrong with it."""
        if given is None or isinstance(given, cls):
            return given
        if mistakes := list(target_mistakes(given)):
            raise PolicyError(mistakes)
        return cls(given) if isinstance(given, str) else cls(**given)  # type: ignore[arg-type]

    def describe(self) -> dict[str, Any]:
        """Return it as a policy file and a manifest say it."""
        said: dict[str, Any] = {"column": self.column}
        if self.task is not None:
            said["task"] = self.task
        return said | ({"max_alike": self.max_alike} if self.max_alike < 1 else {})

    def is_regression(self, values: Sequence[str | None]) -> bool:
        """Return whether such values are numbers to be estimated, and not classes."""
        if self.task is not None:
            return self.task == "regression"
        return len(values) > MANY_NUMBERS and all(one is None or _is_numeral(one) for one in values)


def target_mistakes(given: Any) -> Iterator[str]:
    """Say what is wrong with a target as a policy gives it."""
    if given is None or isinstance(given, PredictionTarget) or (isinstance(given, str) and given):
        return
    if not isinstance(given, Mapping):
        yield f"target: must be the name of a sensitive column, or {{ column, task, max_alike }}, got {given!r}"
        return
    for key in given:
        if key not in ("column", "task", "max_alike"):
            yield f"target.{key}: is not known; say column, task and max_alike"
    if not isinstance(given.get("column"), str) or not given["column"]:
        yield "target.column: must name the sensitive column that is to be predicted"
    if given.get("task") is not None:
        yield from choice_mistakes("target.task", given["task"], TASKS)
    if not is_number(given.get("max_alike", 1.0), 0, 1):
        yield f"target.max_alike: must be a share from 0 to 1, got {given['max_alike']!r}"


def _is_numeral(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
