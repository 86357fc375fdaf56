"""Regression: which outcome is explained by which columns, and by which family of models."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import get_args

from indistinct.data_utility.regression.newton import Family
from indistinct.errors import PolicyError

FAMILIES: tuple[Family, ...] = get_args(Family)
FORM = "[linear: | logistic: | poisson:] OUTCOME[=VALUE] ~ COLUMN + COLUMN"


@dataclass(frozen=True, slots=True)
class Regression:
    """An outcome and the columns that explain it; the text of a formula becomes one by ``parse``."""

    outcome: str
    predictors: tuple[str, ...]
    family: Family | None = None
    """Else logistic for a category, linear for numbers."""
    value: str | None = None
    """The value of a category whose probability is modelled; not needed if it has two."""

    def __post_init__(self) -> None:
        mistakes = []
        if not self.outcome or not self.predictors or not all(self.predictors):
            mistakes.append(f"regression: write it as {FORM}")
        if len({self.outcome, *self.predictors}) < 1 + len(self.predictors):
            mistakes.append("regression: a column stands in it twice")
        if self.family is not None and self.family not in FAMILIES:
            mistakes.append(f"regression: the family must be one of {', '.join(FAMILIES)}")
        if mistakes:
            raise PolicyError(mistakes)

    @classmethod
    def parse(cls, text: str) -> Regression:
        """Return the regression that a formula describes; names with ``+``, ``~`` or ``=`` stand between backquotes.

        >>> Regression.parse("poisson: visits ~ age + `blood pressure`")
        Regression(outcome='visits', predictors=('age', 'blood pressure'), family='poisson', value=None)
        >>> Regression.parse("ill=flu ~ age").value
        'flu'
        """
        given, rest = None, text
        for family in FAMILIES:
            if found := re.match(rf"\s*{family}\s*:", text):
                given, rest = family, text[found.end() :]
        parts = _outside_quotes(rest, "~")
        if len(parts) != 2:
            raise PolicyError(f"regression: write it as {FORM}")
        outcome, *value = _outside_quotes(parts[0], "=")
        names = tuple(_name(one) for one in _outside_quotes(parts[1], "+"))
        return cls(_name(outcome), names, given, "=".join(value).strip() if value else None)

    def __str__(self) -> str:
        outcome = self.outcome if self.value is None else f"{self.outcome}={self.value}"
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
