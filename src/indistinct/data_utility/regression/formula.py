"""Regression: which outcome is explained by which columns, and by which family of models."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from indistinct.errors import PolicyError

ModelFamily = Literal["linear", "logistic", "poisson", "cox"]
FAMILIES: tuple[ModelFamily, ...] = get_args(ModelFamily)
FORM = "[linear: | logistic: | poisson:] OUTCOME[=VALUE] ~ COLUMN + COLUMN, or cox: TIME + EVENT[=VALUE] ~ COLUMN"


@dataclass(frozen=True, slots=True)
class Regression:
    """An outcome and the columns that explain it; the text of a formula becomes one by ``parse``."""

    outcome: str
    predictors: tuple[str, ...]
    family: ModelFamily | None = None
    """Else logistic for a category, linear for numbers."""
    value: str | None = None
    """The value of a category whose probability is modelled, or that is the event; not needed if it has two."""
    event: str | None = None
    """Of a Cox regression, whose outcome is a time: the column that says whether it ended with the event, else all
    did."""

    def __post_init__(self) -> None:
        mistakes = []
        if not self.outcome or not self.predictors or not all(self.predictors):
            mistakes.append(f"regression: write it as {FORM}")
        if len(set(self.columns)) < len(self.columns):
            mistakes.append("regression: a column stands in it twice")
        if self.family is not None and self.family not in FAMILIES:
            mistakes.append(f"regression: the family must be one of {', '.join(FAMILIES)}")
        if (self.event is not None or self.value is not None) and (self.event is None) == (self.family == "cox"):
            mistakes.append("regression: a time and an event belong to cox, as cox: TIME + EVENT=VALUE ~ COLUMN")
        if mistakes:
            raise PolicyError(mistakes)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it is of, the outcome first."""
        return (self.outcome, *(() if self.event is None else (self.event,)), *self.predictors)

    @classmethod
    def parse(cls, text: str) -> Regression:
        """Return the regression that a formula describes; names with ``+``, ``~`` or ``=`` stand between backquotes.

        >>> Regression.parse("poisson: visits ~ age + `blood pressure`")
        Regression(outcome='visits', predictors=('age', 'blood pressure'), family='poisson', value=None, event=None)
        >>> Regression.parse("ill=flu ~ age").value
        'flu'
        >>> Regression.parse("cox: days + died=yes ~ age").event
        'died'
        """
        given, rest = None, text
        for family in FAMILIES:
            if found := re.match(rf"\s*{family}\s*:", text):
                given, rest = family, text[found.end() :]
        parts = _outside_quotes(rest, "~")
        if len(parts) != 2:
            raise PolicyError(f"regression: write it as {FORM}")
        names = tuple(_name(one) for one in _outside_quotes(parts[1], "+"))
        first, *more = _outside_quotes(parts[0], "+") if given == "cox" else [parts[0]]
        column, *equal = _outside_quotes("+".join(more) if more else first, "=")
        value = "=".join(equal).strip() if equal else None
        return cls(_name(first if more else column), names, given, value, _name(column) if more else None)

    def __str__(self) -> str:
        value = "" if self.value is None else f"={self.value}"
        outcome = self.outcome + ("" if self.event is None else f" + {self.event}") + value
        family = "" if self.family is None else f"{self.family}: "
        return f"{family}{outcome} ~ {' + '.join(self.predictors)}"


def _outside_quotes(text: str, sign: str) -> list[str]:
    """Return the parts of a text between signs that do not stand between backquotes."""
    parts, is_quoted = [""], False
    for letter in text:
        is_quoted ^= letter == "`"
        if letter == sign and not is_quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _name(text: str) -> str:
    return text.strip().strip("`")
