"""Spending: what releases under differential privacy have spent of a source's people, and what they may spend."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from indistinct.errors import LedgerError, RefusedError
from indistinct.ledger.store.entry import Entry

if TYPE_CHECKING:
    from indistinct.release.manifest import RememberedDraws


@dataclass(frozen=True, slots=True)
class Spending:
    """An ε and a δ: of one release, of several that compose, or what all of them may have together.

    What releases of the same people spend adds up, whoever holds them: ε and δ each by itself (basic composition).
    """

    epsilon: float = 0.0
    delta: float = 0.0

    def __add__(self, other: Spending) -> Spending:
        return Spending(_add_up(self.epsilon, other.epsilon), _add_up(self.delta, other.delta))

    def fits(self, budget: Spending) -> bool:
        """Return whether it is no more than a budget."""
        return self.epsilon <= budget.epsilon and self.delta <= budget.delta

    def __str__(self) -> str:
        return f"ε = {self.epsilon:g}, δ = {self.delta:g}"

    def to_dict(self) -> dict[str, float]:
        """Return it as JSON takes it."""
        return {"epsilon": self.epsilon, "delta": self.delta}

    @classmethod
    def of_budget(cls, epsilon: float | None, delta: float | None) -> Spending | None:
        """Return the budget that was asked for; both of them, or none."""
        if epsilon is None and delta is None:
            return None
        for name, value in (("epsilon", epsilon), ("delta", delta)):
            if value is None or not isinstance(value, int | float) or not 0 < value < math.inf:
                raise LedgerError(f"a budget needs both an epsilon and a delta above 0; {name} is {value!r}")
        assert epsilon is not None  # else it was refused
        assert delta is not None
        return cls(float(epsilon), float(delta))

    @classmethod
    def of_draws(cls, drawn: RememberedDraws | None) -> Spending | None:
        """Return what a release says that it spent; None if its rows were not drawn."""
        return None if drawn is None else cls(drawn.epsilon, drawn.delta)


def add_spending(entries: Iterable[Entry]) -> dict[str, Spending]:
    """Return what the releases of each source have spent together; sources without such a release are left out."""
    spent: dict[str, Spending] = {}
    for entry in entries:
        if (own := Spending.of_draws(entry.said.drawn)) is not None:
            spent[entry.source] = spent.get(entry.source, Spending()) + own
    return spent


def refuse_overspending(source: str, own: Spending | None, entries: Iterable[Entry], budget: Spending) -> None:
    """Raise a RefusedError if a release would spend more than the budget; one that is not drawn spends all of it."""
    if own is None:
        raise RefusedError(
            f"refused: this ledger has a budget ({budget} for each source), and a release without differential privacy "
            "has none to keep to; use the model differential-privacy, or a ledger without a budget"
        )
    spent = add_spending(entries).get(source, Spending())
    if not (spent + own).fits(budget):
        raise RefusedError(
            f"refused: it would spend {own} on source {source!r}, whose releases have spent {spent} of {budget}; ask "
            "for less, or release nothing more of these people"
        )


def _add_up(one: float, other: float) -> float:
    """Add two numbers as the decimals that people write, so that 0.1 and 0.2 are 0.3.

    >>> _add_up(0.1, 0.2)
    0.3
    """
    return float(Fraction(repr(one)) + Fraction(repr(other)))
