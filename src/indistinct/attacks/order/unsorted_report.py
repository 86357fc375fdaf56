"""UnsortedReport: what the order of a release tells, in counts, chances and words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from indistinct.showing.words import counted

if TYPE_CHECKING:
    pass

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

    advice: ClassVar[tuple[str, ...]] = ADVICE
    """What to do where something was found."""
    scope: ClassVar[str] = SCOPE
    """What was looked for, and what was not."""

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
        """Return the report as JSON takes it."""
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
