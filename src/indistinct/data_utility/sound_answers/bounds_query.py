"""BoundsQuery: what is asked of a release: a count, a mean, a rate or a linear model, of some rows, by a column."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from indistinct.errors import PolicyError

Function = Literal["count", "mean", "rate", "linear"]
Operator = Literal["=", "!=", "<", "<=", ">", ">="]
FORM = (
    "count, mean(COLUMN), rate(COLUMN=VALUE) or linear(COLUMN ~ COLUMN + COLUMN), then if wanted "
    "'where COLUMN>=VALUE and …' and 'by COLUMN'"
)
NAME = r"(?:`[^`]+`|[^\s`=!<>()~+]+)"
WORDS = re.compile(
    rf"\s*(?P<function>count|mean|rate|linear)\s*(?:\((?P<inside>.*?)\))?\s*"
    rf"(?:\bwhere\s+(?P<where>.+?))?\s*(?:\bby\s+(?P<by>{NAME}))?\s*",
    re.DOTALL,
)
CONDITION = re.compile(rf"\s*(?P<column>{NAME})\s*(?P<operator>!=|<=|>=|=|<|>)\s*(?P<value>.+?)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CellCondition:
    """What the cells of a column must be."""

    column: str
    operator: Operator
    value: str

    @classmethod
    def parse(cls, text: str) -> CellCondition:
        """Return the condition that a text describes.

        >>> CellCondition.parse("age >= 65")
        CellCondition(column='age', operator='>=', value='65')
        """
        found = CONDITION.fullmatch(text)
        if found is None:
            raise PolicyError("query: a condition is COLUMN=VALUE, with !=, <, <=, > or >= for other comparisons")
        operator: Operator = found["operator"]  # type: ignore[assignment]
        return cls(_plain(found["column"]), operator, _value_of(found["value"]))


@dataclass(frozen=True, slots=True)
class BoundsQuery:
    """A question to a release."""

    function: Function
    column: str | None = None
    """Whose mean is asked, or the outcome of a linear model."""
    hit: CellCondition | None = None
    """Of a rate: what is counted."""
    predictors: tuple[str, ...] = ()
    where: tuple[CellCondition, ...] = ()
    by: str | None = None

    @property
    def measured(self) -> tuple[str, ...]:
        """The columns whose cells a row must have."""
        own = () if self.column is None else (self.column,)
        return (*own, *(() if self.hit is None else (self.hit.column,)), *self.predictors)

    @classmethod
    def parse(cls, text: str) -> BoundsQuery:
        """Return the query that a text describes; names with blanks or signs stand between backquotes.

        >>> BoundsQuery.parse("mean(age) by sex")
        BoundsQuery(function='mean', column='age', hit=None, predictors=(), where=(), by='sex')
        >>> BoundsQuery.parse("rate(ill=flu) where age>=65 and sex=f").where[1].value
        'f'
        """
        found = WORDS.fullmatch(text)
        if found is None or (found["function"] == "count") != (found["inside"] is None):
            raise PolicyError(f"query: write it as {FORM}")
        function: Function = found["function"]  # type: ignore[assignment]
        where = tuple(CellCondition.parse(one) for one in re.split(r"\band\b", found["where"] or "") if one.strip())
        by = None if found["by"] is None else _plain(found["by"])
        inside = found["inside"] or ""
        if function == "rate":
            return cls(function, hit=CellCondition.parse(inside), where=where, by=by)
        if function == "linear":
            outcome, is_model, rest = inside.partition("~")
            names = tuple(_plain(one) for one in rest.split("+"))
            if not is_model or by is not None or not all((_plain(outcome), *names)):
                raise PolicyError("query: a linear model is linear(COLUMN ~ COLUMN + COLUMN), without 'by'")
            return cls(function, _plain(outcome), predictors=names, where=where)
        if function == "mean" and not _plain(inside):
            raise PolicyError(f"query: write it as {FORM}")
        return cls(function, _plain(inside) or None, where=where, by=by)


def _plain(text: str) -> str:
    return text.strip().strip("`")


def _value_of(text: str) -> str:
    """Return a value without the quotation marks around it."""
    text = text.strip()
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\"`"
    return text[1:-1] if is_quoted else text
