"""PrivacyModel: what every privacy model must say about groups, and what is refused of its parameters."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from indistinct.array_types import Array, BoolArray, FloatArray, IntArray, np
from indistinct.counting import Groups, Tally
from indistinct.errors import PolicyError
from indistinct.hierarchy import CompiledHierarchy, Texts


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


TOLERANCE = 1e-9
"""Shares that differ by less are equal: they differ by rounding only."""


class PrivacyModel(ABC):
    """A requirement on every group of a release, on one quasi-identifier or on all of them.

    Models are frozen dataclasses; their fields are what a policy file may say.
    """

    name: ClassVar[str]
    """The model's name in policy files, reports and verdicts."""
    title: ClassVar[str] = ""
    """What it asks for, in one line for people who choose."""
    sentence: ClassVar[str] = ""
    """What it asks for, in a sentence with its terms in braces; ``{rows}`` stands for rows, or people where counted."""
    usual: ClassVar[Mapping[str, float]] = {}
    """The numbers with which it is offered to people who choose."""
    optional: ClassVar[Mapping[str, str]] = {}
    """Numbers that may be left out, each with what it means, for people who choose."""
    is_monotone: ClassVar[bool] = False
    """A satisfied group stays satisfied whatever it is merged with, so on the way up no more rows are suppressed."""
    is_monotone_unsuppressed: ClassVar[bool] = False
    """Satisfied groups stay satisfied when they are merged with each other, whichever of them: enough where no row is
    suppressed, and what labels that chance raises rely on."""
    asks_sensitive: ClassVar[bool] = False
    """The model asks about sensitive values: about ``column``, or about all sensitive columns if that is None."""
    asks_whole_table: ClassVar[bool] = False
    """The verdict on a group also depends on what else is released."""
    is_drawn: ClassVar[bool] = False
    """It promises how rows were drawn, which only an algorithm that ``draws_rows`` does."""
    asks_population: ClassVar[bool] = False
    """The model counts people of a table, its ``population``, linked as ``link`` says, under ``population_id``."""

    on: str | None = None
    """The quasi-identifier that the model protects; None for all."""
    column: str | None = None
    known: int | None = None
    """The most columns that an adversary knows of a person; None for all of a quasi-identifier."""

    def column_sets(self, columns: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the sets of columns whose groups the model judges: all of a quasi-identifier, as one set."""
        return [tuple(columns)]

    @property
    def population_id(self) -> str:
        """What the people that it asks about are called among the populations of groups."""
        raise LookupError(f"{self.name} asks about no population")

    @abstractmethod
    def satisfied(self, groups: Groups) -> BoolArray:
        """Return which groups satisfy the model; one without rows does."""

    def holds(self, groups: Groups) -> BoolArray:
        """Return which groups satisfy the model, counted in people where those have several rows.

        Whoever judges groups asks this; ``satisfied`` sees sizes and values that are counted already. Where not
        everybody has a value of each column, as in several tables, each column is judged among those who have one; a
        group in which nobody has one needs as many people as the model asks for at the least.
        """
        asked = [name for name in groups.tallies if self.asks_sensitive and self.column in (None, name)]
        counted = groups.in_people(asked)
        if not self.asks_sensitive or all(tally.holders is None for _, tally in self.tallies(counted)):
            return self.satisfied(counted)
        verdict: BoolArray = (counted.sizes >= least_rows(self)) | (counted.sizes == 0)
        for column, tally in self.tallies(counted):
            sizes = counted.sizes if tally.holders is None else tally.holders
            verdict &= self.satisfied(dataclasses.replace(counted, sizes=sizes, tallies={column: tally}))
        return verdict

    def value_rule(self, texts: Texts, hierarchy: CompiledHierarchy | None = None) -> ValueRule | None:
        """Say what ``satisfied`` asks of a sensitive column, beside ``least_rows``, as a rule for compiled code.

        ``texts`` are the column's values, a missing one among them; ``hierarchy`` is its own, if it has one.

        It is a matter of speed alone. None, the default, has a search ask ``satisfied`` about every node.
        """
        return None

    @property
    def floor(self) -> PrivacyModel | None:
        """A monotone model that this one implies, with which a search rules nodes out; None if there is none."""
        return self if self.is_monotone else None

    @property
    def least_rows(self) -> int:
        """The rows that a group over the columns that it judges must have at least."""
        return int(getattr(self, "k", 1))

    @property
    def alone(self) -> PrivacyModel:
        """A model that implies this one and judges groups one by one, for algorithms that make them one by one."""
        return self

    def objection(self, groups: Groups) -> str | None:
        """Say why not even all rows together satisfy the model; None if there is nothing particular to say.

        ``groups`` is one group of all rows. The words name columns and shares, never a value.
        """
        return None

    def objections_to(self, policy: Any) -> list[str]:
        """Say what of a policy would make the model's promise untrue, beside what groups show."""
        return []

    def describe(self) -> dict[str, Any]:
        """Return the model as it stands in a policy file and a manifest."""
        fields = [one for one in dataclasses.fields(self) if one.init]  # type: ignore[arg-type]
        given = {field.name: (field.default, getattr(self, field.name)) for field in fields}
        said = {name: value for name, (default, value) in given.items() if value != default}
        plain = {name: dict(value) if isinstance(value, Mapping) else value for name, value in said.items()}
        return {"model": self.name} | plain

    def terms(self) -> dict[str, Any]:
        """Return the model as a public manifest may state it: limits of single values without naming the values."""
        return {
            name: sorted(value.values()) if isinstance(value, Mapping) else value
            for name, value in self.describe().items()
        }

    def in_words(self, counted: Literal["rows", "people"] = "rows") -> str:
        """Say what the model asks for, with its terms; without a sentence of its own by its name.

        ``counted`` says what its groups are made of: people, where a policy says whose row it is.

        >>> from indistinct import KAnonymity, LDiversity
        >>> KAnonymity(5).in_words()
        'Each person is hidden among at least 5 rows that look alike.'
        >>> KAnonymity(5).in_words("people")
        'Each person is hidden among at least 5 people that look alike.'
        >>> LDiversity(2).in_words("people")
        'Every group has at least 2 sensitive values (counted in people).'
        """
        terms = {name: _term_in_words(value) for name, value in self.terms().items()}
        said = self.sentence.format_map(terms | {"rows": counted}) if self.sentence else f"The model {self.name} holds."
        shown = ("model", "on", *(name for name in terms if f"{{{name}}}" in self.sentence))
        rest = [f"{name} = {value}" for name, value in terms.items() if name not in shown]
        rest += [f"on the quasi-identifier {self.on}"] if self.on else []
        is_said = counted == "rows" or "{rows}" in self.sentence or self.asks_population
        rest += [] if is_said else ["counted in people"]
        return f"{said[:-1]} ({', '.join(rest)})." if rest else said

    def tallies(self, groups: Groups) -> Iterator[tuple[str, Tally]]:
        """Return each sensitive column that the model asks about, and its tally.

        Groups without such a tally are refused: a model must not hold because there was nothing to look at.
        """
        asked = [column for column in groups.tallies if self.column in (None, column)]
        if not asked:
            raise LookupError(f"{self.name} was asked about groups without a tally of their sensitive values")
        return ((column, groups.tallies[column]) for column in asked)


def _term_in_words(value: object) -> str:
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)


def shares_of_table(tally: Tally) -> FloatArray:
    """Return the share of each value in all groups that are released together.

    Where people have several rows it is the share of people who have the value; these add up to more than 1 where
    somebody has several.
    """
    return tally.totals / max(1, tally.whole or int(tally.totals.sum()))


def shares_of_groups(tally: Tally, groups: Groups) -> FloatArray:
    """Return the share in its group of each value that a group has: one number for each entry of the tally.

    Where people have several rows it is the share of people who have the value.
    """
    return tally.counts / groups.sizes[tally.groups]


def compared_shares(tally: Tally, groups: Groups) -> tuple[FloatArray, FloatArray]:
    """Return the share in its group of each value that a group has, and beside it that value's share in the table."""
    return shares_of_groups(tally, groups), shares_of_table(tally)[tally.values]


def spread_of_table(tally: Tally) -> FloatArray:
    """Return how values are spread over all groups that are released together; it adds up to 1.

    Where people have several rows each counts once for each of her values.
    """
    return tally.totals / max(1, int(tally.totals.sum()))


def spread_of_groups(tally: Tally, groups: Groups) -> FloatArray:
    """Return how the values of each group are spread: one number for each entry of the tally; a group's add up to 1."""
    return tally.counts / counts_of_groups(tally, groups)[tally.groups]


def counts_of_groups(tally: Tally, groups: Groups) -> IntArray:
    """Return what the counts of each group add up to: its rows, or its people with each of their values."""
    return np.bincount(tally.groups, tally.counts, len(groups)).astype(np.int64) if tally.whole else groups.sizes


def least_rows(model: PrivacyModel) -> int:
    """Return the rows that a group must have by a model, or by the floor that it implies, which may ask for more."""
    return model.least_rows if model.floor is None else max(model.least_rows, model.floor.least_rows)


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Refuse a parameter that is no whole number of at least so much."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise PolicyError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_share(name: str, value: object) -> None:
    """Refuse a parameter that is no number above 0 and at most 1."""
    if not _is_number(value) or not 0 < value <= 1:  # type: ignore[operator]
        raise PolicyError(f"{name} must lie above 0 and be at most 1, got {value!r}")


def check_positive(name: str, value: object) -> None:
    """Refuse a parameter that is no finite number above 0."""
    if not _is_number(value) or not 0 < value < math.inf:  # type: ignore[operator]
        raise PolicyError(f"{name} must be a number above 0, got {value!r}")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a parameter that is none of some words."""
    if value not in choices:
        raise PolicyError(f"{name} must be {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}, got {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
