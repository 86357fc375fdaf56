"""Column: what a column is to the release, what its cells mean, and how it may be generalized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from indistinct.errors import HierarchyError, PolicyError
from indistinct.hierarchy import CompiledHierarchy, Hierarchy, keep

Role = Literal["identifier", "quasi", "sensitive", "other"]
Rule = Literal["value", "refuse"]
"""What a missing cell is: a value of its own, or a mistake."""
Unreadable = Literal["refuse", "missing", "suppress"]
"""What becomes of a cell that the hierarchy cannot read: a mistake, a missing cell, or a row that is left out."""
Missing = Rule | Sequence[str | int | float] | Mapping[str, Any]
"""The rule, the codes that mean a missing cell, or both as ``{"codes": […], "rule": …}``."""
STABLE = "stable"
"""A pseudonym that stays the same from release to release."""
RULES = ("value", "refuse")
UNREADABLE = ("refuse", "missing", "suppress")


@dataclass(frozen=True, slots=True)
class Column:
    """What a column is to the release: its role, what its cells mean, and how a quasi one may be generalized.

    ``missing`` takes the rule for missing cells, a list of codes that mean one, or both; afterwards it is the rule
    alone, and the codes are ``missing_codes``.
    """

    role: Role
    hierarchy: Hierarchy = field(default_factory=keep)
    weight: float = 1.0
    missing: Missing = "value"
    pseudonym: bool | Literal["stable"] = False
    missing_codes: tuple[str, ...] = ()
    unreadable: Unreadable = "refuse"

    def __post_init__(self) -> None:
        if self.pseudonym not in (True, False, STABLE):
            raise PolicyError(f"pseudonym: must be true, false or {STABLE!r}, got {self.pseudonym!r}")
        if self.pseudonym and self.role != "identifier":
            raise PolicyError(f"pseudonym: only an identifier has one; its role is {self.role}")
        if not isinstance(self.hierarchy, Hierarchy):
            raise PolicyError(
                f"hierarchy must be made by levels(), tree(), intervals(), prefix(), dates(), rounding(), "
                f"top_bottom(), suppress() or keep(), not by {type(self.hierarchy).__name__}"
            )
        if isinstance(self.weight, bool) or not isinstance(self.weight, int | float) or not 0 < self.weight < 1e9:
            raise PolicyError(f"weight must be a positive number, got {self.weight!r}")
        try:
            rule, codes = read_missing(self.missing)
        except PolicyError as error:
            raise PolicyError(f"missing {error}") from None
        object.__setattr__(self, "missing", rule)
        object.__setattr__(self, "missing_codes", tuple(dict.fromkeys((*self.missing_codes, *codes))))
        if self.unreadable not in UNREADABLE:
            raise PolicyError(f"unreadable must be 'refuse', 'missing' or 'suppress', got {self.unreadable!r}")
        if self.unreadable == "missing" and rule == "refuse":
            raise PolicyError(
                "unreadable = 'missing' makes missing cells, which missing = 'refuse' refuses; say one of them"
            )

    def compile(self, values: Sequence[str | None]) -> CompiledHierarchy:
        """Compile the hierarchy for the values at hand, under the column's rule for missing values."""
        if self.missing == "refuse" and None in values:
            raise HierarchyError(
                "has missing cells, which its policy refuses; fill them, leave those rows out with a filter "
                "(op = 'present'), or set missing = 'value'"
            )
        return self.hierarchy.compile(values)

    def read(self, values: Sequence[str | None]) -> list[str | None]:
        """Give the values of a column of texts that are left, missing last, where codes and unreadable ones are not."""
        left = [value for value in values if value is not None and value not in self.missing_codes]
        gone = set() if self.unreadable == "refuse" else set(self.hierarchy.unreadable(left))
        is_missing = len(left) < len(values) or (gone and self.unreadable == "missing")
        return [*(value for value in left if value not in gone), *([None] if is_missing else [])]

    def describe_missing(self) -> dict[str, Any]:
        """Give what is said of missing and unreadable cells, as a policy file writes it; the usual is left out."""
        said: dict[str, Any] = {} if self.missing == "value" else {"missing": self.missing}
        if self.missing_codes:
            codes = list(self.missing_codes)
            said = {"missing": {"codes": codes, "rule": self.missing} if said else codes}
        return said if self.unreadable == "refuse" else said | {"unreadable": self.unreadable}


def read_missing(given: object) -> tuple[Rule, tuple[str, ...]]:
    """Give the rule and the codes that ``missing`` says.

    >>> read_missing("refuse"), read_missing([999, "?"]), read_missing({"codes": ["N"], "rule": "refuse"})
    (('refuse', ()), ('value', ('999', '?')), ('refuse', ('N',)))
    """
    if isinstance(given, Mapping):
        unknown = [str(key) for key in given if key not in ("codes", "rule")]
        if unknown:
            raise PolicyError(f"takes codes and rule, got {', '.join(unknown)}")
        rule, codes = given.get("rule", "value"), given.get("codes", ())
    else:
        rule, codes = (given, ()) if isinstance(given, str) else ("value", given)
    if rule not in RULES:
        raise PolicyError(
            f"must be 'value' or 'refuse', or list codes that mean missing, such as ['999', '?']; got {rule!r}"
        )
    if isinstance(codes, str) or not isinstance(codes, Sequence):
        raise PolicyError(f"codes must be a list, such as ['999', '?']; got {codes!r}")
    if not all(isinstance(code, str | int | float) and not isinstance(code, bool) for code in codes):
        raise PolicyError("codes must be texts or numbers, such as ['999', '?']")
    return rule, tuple(code if isinstance(code, str) else repr(code) for code in codes)


def identifier(*, pseudonym: bool | Literal["stable"] = False, missing: Missing = "value") -> Column:
    """A column that names people (name, address, record number): never released as it is.

    With ``pseudonym`` a keyed one stands in its place: equal cells have equal pseudonyms, new ones in each release, or
    with ``"stable"`` the same ones in all releases of a ledger's source. ``missing`` may list codes that mean a
    missing cell.
    """
    return Column("identifier", pseudonym=pseudonym, missing=missing)


def quasi(
    hierarchy: Hierarchy | None = None,
    *,
    weight: float = 1.0,
    missing: Missing = "value",
    unreadable: Unreadable = "refuse",
) -> Column:
    """A column that others may know and link by; generalized along its hierarchy.

    Without a hierarchy it is never generalized; only whole rows can be suppressed. ``weight`` says how much its
    distortion counts. ``missing`` says what a missing cell is: ``"value"``, a value of its own that matches only
    other missing cells until the top, or ``"refuse"``, a mistake; or it lists codes that mean a missing cell, such as
    ``["999", "?"]``. ``unreadable`` says what becomes of a cell that the hierarchy cannot read: ``"refuse"``,
    ``"missing"`` (it is taken for a missing one) or ``"suppress"`` (its row is left out).
    """
    return Column("quasi", keep() if hierarchy is None else hierarchy, weight, missing=missing, unreadable=unreadable)


def sensitive(
    hierarchy: Hierarchy | None = None, *, missing: Missing = "value", unreadable: Unreadable = "refuse"
) -> Column:
    """A column whose value nobody should learn about a person (illness, salary): released as it is.

    A hierarchy says which values are close to each other; only t-closeness by hierarchical distance asks for it.
    ``missing`` and ``unreadable`` are as in ``quasi``.
    """
    return Column("sensitive", keep() if hierarchy is None else hierarchy, missing=missing, unreadable=unreadable)


def other(*, missing: Missing = "value") -> Column:
    """A column that neither identifies nor harms: released as it is; ``missing`` may list codes that mean missing."""
    return Column("other", missing=missing)
