"""Column: what a column is to the release, what its cells mean, and how it may be generalized.

A policy that is written in Python makes columns by their roles, each a function: identifier, quasi, sensitive, other,
drop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, Unpack

from indistinct.errors import HierarchyError, PolicyError
from indistinct.hierarchy import CompiledHierarchy, Hierarchy, keep, read_number
from indistinct.policy.cell_rules import CellSet, DateShift, Microaggregation, Noise, Perturbation
from indistinct.policy.released_names import check_new_name

Role = Literal["identifier", "quasi", "sensitive", "other", "drop"]
Rule = Literal["value", "refuse"]
"""What a missing cell is: a value of its own, or a mistake."""
Unreadable = Literal["refuse", "missing", "suppress"]
"""What becomes of a cell that the hierarchy cannot read: a mistake, a missing cell, or a row that is left out."""
Missing = Rule | Sequence[str | int | float] | Mapping[str, Any]
"""The rule, the codes that mean a missing cell, or both as ``{"codes": […], "rule": …}``."""
Shift = DateShift | Mapping[str, Any] | int
"""How dates move: as it is, as a policy file says it, or as the most days."""
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
    min_level: int | str | None = None
    """The lowest level that may be released, by its number or name."""
    max_level: int | str | None = None
    """The highest."""
    recode: Hierarchy | None = None
    """Of a sensitive or other column: what its cells are recoded by before they are counted and released."""
    recode_level: int | str = 1
    shift: DateShift | None = None
    """By how much the dates of a person move."""
    microaggregate: Microaggregation | None = None
    """Of numbers: they leave as means of clusters."""
    noise: Noise | None = None
    """Of numbers: what is added to them."""
    rename: str | None = None
    """What the column is called in the release, if not as in the table."""
    set: CellSet | None = None
    """Of a table of events: each cell holds a set, whose members are the person's events."""

    def __post_init__(self) -> None:
        self._check_perturbation()
        if self.set is not None:
            object.__setattr__(self, "set", CellSet.of(self.set))
            if self.role != "quasi":
                raise PolicyError(f"set: only a quasi column of a table of events has one; its role is {self.role}")
        if self.shift is not None:
            object.__setattr__(self, "shift", DateShift.of(self.shift))
            if self.role not in ("sensitive", "other"):
                raise PolicyError(
                    f"shift: only dates of a sensitive or another column move; its role is {self.role}; a quasi column "
                    "is generalized with dates()"
                )
            if self.recode is not None:
                raise PolicyError(
                    "shift: its cells are recoded as well; dates move as they are, so drop one of the two"
                )
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
        self._check_levels()
        reads_nothing = self.recode is None and self.hierarchy.is_never_generalized
        if self.unreadable != "refuse" and self.role != "quasi" and reads_nothing:
            raise PolicyError(
                "unreadable: no hierarchy reads the cells of this column, so there is none that cannot be read; say "
                "recode as well, or list codes that mean a missing cell under missing"
            )
        check_new_name(self.rename, self.role)
        self._check_recoding()

    def compile(self, values: Sequence[str | None]) -> CompiledHierarchy:
        """Compile the hierarchy for the values at hand, under the column's rule for missing values."""
        if self.missing == "refuse" and None in values:
            raise HierarchyError(
                "has missing cells, which its policy refuses; fill them, leave those rows out with a filter "
                "(op = 'present'), or set missing = 'value'"
            )
        compiled = self.hierarchy.compile(values)
        if not self.demands_levels:
            return compiled
        names, height = compiled.level_names, compiled.height
        lowest = 0 if self.min_level is None else _level("min_level", self.min_level, names, height)
        highest = height if self.max_level is None else _level("max_level", self.max_level, names, height)
        if lowest > highest:
            raise PolicyError(f"min_level: {lowest} lies above max_level, {highest}")
        return compiled.between(lowest, highest)

    @property
    def demands_levels(self) -> bool:
        """Not every level of the hierarchy may be released."""
        return self.min_level is not None or self.max_level is not None

    @property
    def lowest_level(self) -> int | None:
        """The lowest level that may be released; None if only the values of the table tell which one is meant."""
        return _known_level(self.min_level, self.hierarchy)

    def recode_values(self, values: Sequence[str | None]) -> list[str | None]:
        """Return the label of each value of a column that is recoded.

        >>> from indistinct.hierarchy import rounding
        >>> from indistinct.policy import other
        >>> other(recode=rounding(100)).recode_values(["1234", None])
        ['1200', None]
        """
        assert self.recode is not None  # asked of columns that are recoded
        columns = [values, *self.recode.climb(values)]
        if self.recode.top is not None:
            columns.append([self.recode.top] * len(values))
        level = _level("recode", self.recode_level, self.recode.level_names, len(columns) - 1)
        return list(columns[level])

    def shows_value(self, label: str) -> bool:
        """Return whether a released text is a value that the hierarchy reads, and a label on no level that is allowed.

        >>> from indistinct.hierarchy import dates
        >>> from indistinct.policy import quasi
        >>> birth = quasi(dates("month", "year"), min_level="year")
        >>> birth.shows_value("1964-09-27"), birth.shows_value("1964")
        (True, False)
        """
        hierarchy = self.recode or self.hierarchy
        lowest = _known_level(self.min_level if self.recode is None else self.recode_level, hierarchy)
        if hierarchy.unreadable([label]) or label in hierarchy.all_labels(lowest or 0):
            return False
        above = [hierarchy.top, *(climbed[0] for climbed in hierarchy.climb([label]))]
        allowed = [above[0], *above[1 if lowest is None else lowest :]]
        return lowest != 0 and not any(_is_same(label, one) for one in allowed)

    def _check_recoding(self) -> None:
        if self.recode is None:
            return
        if self.role not in ("sensitive", "other"):
            raise PolicyError(f"recode: of a sensitive or other column; one that is {self.role} has another way")
        if not isinstance(self.recode, Hierarchy):
            raise PolicyError(f"recode must be a hierarchy, such as rounding(100), not {type(self.recode).__name__}")
        height = self.recode.height
        if height is not None:
            _level("recode", self.recode_level, self.recode.level_names, height)

    def _check_perturbation(self) -> None:
        """Read the perturbations, and raise if they do not go with what else is said."""
        if self.microaggregate is not None:
            object.__setattr__(self, "microaggregate", Microaggregation.of(self.microaggregate))
        if self.noise is not None:
            object.__setattr__(self, "noise", Noise.of(self.noise))
        said = self.describe_perturbation()
        if said and self.role not in ("sensitive", "other"):
            raise PolicyError(
                f"{next(iter(said))}: only numbers of a sensitive or another column are perturbed; its role is "
                f"{self.role}; a quasi column is generalized with intervals() or rounding()"
            )
        said |= {name: {} for name in ("recode", "shift") if said and getattr(self, name) is not None}
        if len(said) > 1:
            raise PolicyError(f"{' and '.join(said)}: its cells are changed in one way only; drop all but one")

    @property
    def perturbation(self) -> Microaggregation | Noise | None:
        """How the numbers of the column are perturbed, if they are."""
        return self.microaggregate or self.noise

    def describe_perturbation(self) -> dict[str, Any]:
        """Return how numbers are perturbed, as a policy file and a manifest write it."""
        said = {"microaggregate": self.microaggregate, "noise": self.noise}
        return {key: how.describe() for key, how in said.items() if how is not None}

    def _check_levels(self) -> None:
        """Raise if a level is demanded that the hierarchy does not have, as far as it tells without values."""
        if self.demands_levels and self.role != "quasi":
            raise PolicyError(f"min_level and max_level: only a quasi column climbs; its role is {self.role}")
        names, height = self.hierarchy.level_names, self.hierarchy.height
        found = [
            None if given is None or height is None else _level(key, given, names, height)
            for key, given in (("min_level", self.min_level), ("max_level", self.max_level))
        ]
        if found[0] is not None and found[1] is not None and found[0] > found[1]:
            raise PolicyError(f"min_level: {found[0]} lies above max_level, {found[1]}")

    def read(self, values: Sequence[str | None]) -> list[str | None]:
        """Return the values of a column of texts that are left, missing last, where codes and unreadable ones are
        not.
        """
        left = [value for value in values if value is not None and value not in self.missing_codes]
        gone = set() if self.unreadable == "refuse" else set(self.hierarchy.unreadable(left))
        is_missing = len(left) < len(values) or (gone and self.unreadable == "missing")
        return [*(value for value in left if value not in gone), *([None] if is_missing else [])]

    def describe_levels(self) -> dict[str, Any]:
        """Return the levels that are demanded, as a policy file writes them."""
        said = {"min_level": self.min_level, "max_level": self.max_level}
        return {key: level for key, level in said.items() if level is not None}

    def describe_recoding(self) -> dict[str, Any]:
        """Return how the cells are recoded, as a policy file writes it."""
        if self.recode is None:
            return {}
        return {"recode": self.recode.spec() | ({} if self.recode_level == 1 else {"level": self.recode_level})}

    def describe_missing(self) -> dict[str, Any]:
        """Return what is said of missing and unreadable cells, as a policy file writes it; the usual is left out."""
        said: dict[str, Any] = {} if self.missing == "value" else {"missing": self.missing}
        if self.missing_codes:
            codes = list(self.missing_codes)
            said = {"missing": {"codes": codes, "rule": self.missing} if said else codes}
        return said if self.unreadable == "refuse" else said | {"unreadable": self.unreadable}


def _level(key: str, given: int | str, names: Sequence[str], height: int) -> int:
    """Return the number of a level that is demanded by its number or name.

    >>> _level("min_level", "year", ["value", "month", "year"], 2), _level("min_level", 1, [], 2)
    (2, 1)
    """
    if isinstance(given, str) and given in names:
        return list(names).index(given)
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= height:
        return given
    named = f", or one of {', '.join(map(repr, names))}" if names else ""
    raise PolicyError(f"{key}: there is no level {given!r}; say a number from 0 to {height}{named}")


def _known_level(given: int | str | None, hierarchy: Hierarchy) -> int | None:
    """Return the number of a level as far as it is known without values, else None."""
    if isinstance(given, str):
        return hierarchy.level_names.index(given) if given in hierarchy.level_names else None
    return given or 0


def _is_same(label: str, other: str | None) -> bool:
    """Return whether two labels are the same text, or the same number: 1200 may stand as 1200.0 in a released
    column.
    """
    if other is None or label == other:
        return label == other
    number = read_number(label)
    return number is not None and number == read_number(other)


def read_missing(given: object) -> tuple[Rule, tuple[str, ...]]:
    """Return the rule and the codes that ``missing`` says.

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
    min_level: int | str | None = None,
    max_level: int | str | None = None,
    rename: str | None = None,
    set: CellSet | Mapping[str, str] | None = None,
) -> Column:
    """A column that others may know and link by; generalized along its hierarchy.

    Without a hierarchy it is never generalized; only whole rows can be suppressed. ``weight`` says how much its
    distortion counts. ``missing`` says what a missing cell is: ``"value"``, a value of its own that matches only
    other missing cells until the top, or ``"refuse"``, a mistake; or it lists codes that mean a missing cell, such as
    ``["999", "?"]``. ``unreadable`` says what becomes of a cell that the hierarchy cannot read: ``"refuse"``,
    ``"missing"`` (it is taken for a missing one) or ``"suppress"`` (its row is left out). ``min_level`` and
    ``max_level`` say which levels may be released at all, by number or name: with ``min_level="year"`` no date is
    finer. ``rename`` is what the column is called in the release. ``set`` says of a table of events that each cell
    holds a set, whose members are rows: ``{"separator": ";"}``, or ``{}`` for lists and JSON arrays.
    """
    return Column(
        "quasi",
        keep() if hierarchy is None else hierarchy,
        weight,
        missing=missing,
        unreadable=unreadable,
        min_level=min_level,
        max_level=max_level,
        rename=rename,
        set=None if set is None else CellSet.of(set),
    )


def sensitive(hierarchy: Hierarchy | None = None, **cells: Unpack[CellRules]) -> Column:
    """A column whose value nobody should learn about a person (illness, salary): released as it is.

    A hierarchy says which values are close to each other; only t-closeness by hierarchical distance asks for it.
    What may be said of its ``cells`` are ``missing`` and ``unreadable``, and with ``rename`` their name in the release,
    as in ``quasi``, and one way to change them. With ``recode`` they are released, and counted by models, as labels of
    that hierarchy at one level, ``recode_level``: rounded, top-coded, the month of a date. ``shift`` is for dates,
    ``perturb`` is for numbers that no model asks about, as in ``other``.
    """
    return _as_it_is("sensitive", hierarchy, **cells)


def drop() -> Column:
    """A column that names nobody and is not released all the same: free text, say, or what the recipient need not know.

    Conditions on eligible rows may still ask about it.
    """
    return Column("drop")


def other(**cells: Unpack[CellRules]) -> Column:
    """A column that neither identifies nor harms: released as it is, or recoded as a sensitive one can be.

    Its ``cells`` take what those of ``sensitive`` take: ``missing``, ``unreadable``, ``rename``, ``recode``,
    ``recode_level``, ``shift`` and ``perturb``. With ``shift``, a number of days, its dates move by up to so many: by
    one random number for all rows of a person, so that what lies between them stays. With ``perturb`` its numbers leave
    as means of clusters, ``Microaggregation(5)``, or with noise, ``Noise(10.0, "normal")``: released cells are false
    then, as manifests and reports say.
    """
    return _as_it_is("other", None, **cells)


class CellRules(TypedDict, total=False):
    """What a policy may say of the cells of a sensitive or another column."""

    missing: Missing
    unreadable: Unreadable
    rename: str | None
    recode: Hierarchy | None
    recode_level: int | str
    shift: Shift | None
    perturb: Perturbation | None


def _as_it_is(role: Role, hierarchy: Hierarchy | None, *, perturb: Perturbation | None = None, **cells: Any) -> Column:
    """Return a column that is not generalized."""
    if unknown := [name for name in cells if name not in CellRules.__annotations__]:
        raise TypeError(f"{role}() got an unexpected keyword argument {unknown[0]!r}")
    return Column(role, keep() if hierarchy is None else hierarchy, **cells, **_by_key(perturb))


def _by_key(perturb: Perturbation | None) -> dict[str, Any]:
    """Return a perturbation by the key that a policy file has for it."""
    if perturb is not None and not isinstance(perturb, Microaggregation | Noise):
        raise PolicyError(f"perturb must be Microaggregation(k) or Noise(scale), not {type(perturb).__name__}")
    return {} if perturb is None else {"microaggregate" if isinstance(perturb, Microaggregation) else "noise": perturb}
