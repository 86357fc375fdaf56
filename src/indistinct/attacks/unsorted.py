"""Unsorted matching: whether the order of a release tells where its rows come from.

Somebody who holds an earlier release of the same source lays the two tables side by side, row by row. If both kept the
order of the source, the rows at one position are the same person's, and their labels together say more than either. So
released rows stand in random order; this attack finds out whether they do.

Source: Sweeney, k-anonymity: a model for protecting privacy, 2002, section 4.1.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from indistinct.errors import PolicyError
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.policy import Policy

ADVICE = (
    "put the released rows in a fresh random order before anybody gets them; anonymize always does",
    "never release a table in the order of its source, sorted by a column, or in the order of an earlier release",
)

SCOPE = (
    "Order is judged by three kinds of statistics. An order that carries something in another way, such as "
    "every second row, is not seen."
)


@dataclass(frozen=True, slots=True)
class Signal:
    """One way in which an order can tell something."""

    name: str
    what: str
    """What was found, in English."""
    found: float
    expected: float
    """What random order gives on average."""
    chance: float
    """The chance that random order gives at least what was found."""
    is_telling: bool


@dataclass(frozen=True, slots=True)
class UnsortedReport:
    """What the order of a release tells: counts and chances, and no cell."""

    k: int
    rows: int
    earlier_rows: int
    columns: tuple[str, ...]
    """The columns by which rows at one position are compared."""
    agreeing: int
    """Positions at which the rows of both tables can be the same person's."""
    expected: float
    """Such positions in random order, on average."""
    disclosed: int
    """Rows that fewer than k others share what position tells about them; 0 if position tells nothing."""
    signals: tuple[Signal, ...]
    significance: float
    notes: tuple[str, ...]

    @property
    def is_telling(self) -> bool:
        """The order tells something."""
        return any(signal.is_telling for signal in self.signals)

    @property
    def is_broken(self) -> bool:
        """The order tells something."""
        return self.is_telling

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        if not self.is_telling:
            return "the order of the rows tells nothing that random order would not"
        told = "; ".join(signal.what for signal in self.signals if signal.is_telling)
        return f"the order of the rows tells something: {told}; {counted(self.disclosed, 'row')} disclosed by position"

    def to_dict(self) -> dict[str, Any]:
        """Give the report as JSON takes it."""
        return {
            **asdict(self),
            "columns": list(self.columns),
            "signals": [asdict(signal) for signal in self.signals],
            "notes": list(self.notes),
            "is_telling": self.is_telling,
            "summary": self.summary,
        }

    def __str__(self) -> str:
        lines = [f"unsorted: {self.summary}"]
        lines += [f"  - {signal.what}: chance {signal.chance:.2g}" for signal in self.signals]
        lines += [f"note: {note}" for note in self.notes]
        if self.is_telling:
            lines += ["", "what to do:", *(f"  - {advice}" for advice in ADVICE)]
        return "\n".join([*lines, "", SCOPE])


def unsorted(
    release: Any,
    earlier: Any,
    policy: Policy,
    *,
    earlier_policy: Policy | None = None,
    k: int | None = None,
    significance: float = 0.01,
    **reading: Any,
) -> UnsortedReport:
    """Compare a release with an earlier one, or the original, row by row, and tell whether its order says anything.

    Rows at one position agree if their labels can stand for the same value in every quasi column and all other columns
    that both tables have are equal. That is held against random order, as are the likeness of neighbouring rows in
    each column and the correlation of positions with where rows seem to come from. An order is telling if chance gives
    as much in less than a share ``significance`` of all tables, in any of these ways. ``earlier_policy`` is the policy
    of the earlier release if it had another. ``reading`` goes to the engine.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, intervals, quasi
    >>> policy = Policy(columns={"age": quasi(intervals(10))}, privacy=[KAnonymity(2)])
    >>> ages = [32, 57, 31, 46, 58, 72, 44, 75]
    >>> private = pa.table({"age": [str(age) for age in ages]})
    >>> released = pa.table({"age": [f"{age // 10 * 10}-{age // 10 * 10 + 9}" for age in ages]})
    >>> report = unsorted(released, private, policy)
    >>> report.agreeing, report.expected, report.disclosed
    (8, 2.0, 8)
    """
    from indistinct.attacks.positions import Positions

    if not 0 < significance < 1:
        raise PolicyError(f"significance: must lie between 0 and 1, got {significance!r}")
    positions = Positions.read(release, earlier, policy, earlier_policy or policy, **reading)
    return positions.attack(k, significance)
