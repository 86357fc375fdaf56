"""AttackReport: what one attack found, in figures, findings and words; every attack returns one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from indistinct.showing.fields import as_json
from indistinct.showing.numbers import figure

Severity = Literal["nothing", "something", "broken"]

SEVERITIES: dict[Severity, str] = {
    "broken": "people are exposed: do not hand this release out",
    "something": "something follows that the release does not say: decide whether it matters",
    "nothing": "nothing was found",
}
"""How bad the outcome of an attack is, worst first."""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of a report: its first columns are words, the others numbers."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[object]]
    words: int = 1
    """How many columns are words."""


class AttackReport:
    """What an attack found. A report of an attack is a dataclass that says at least its summary and its severity.

    Its fields are what ``to_dict`` returns, with the properties that ``also`` names. Findings have a ``sentence``.
    """

    __slots__ = ()

    attack: ClassVar[str]
    """The name of the attack."""
    also: ClassVar[tuple[str, ...]] = ()
    """The properties that JSON has beside the fields."""
    usual_advice: ClassVar[tuple[str, ...]] = ()
    """What to do where something was found, whatever it is."""
    scope: ClassVar[str]
    """What was looked for, and what was not."""

    notes: tuple[str, ...]
    """What else is to be known of the figures."""

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        raise NotImplementedError

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        raise NotImplementedError

    @property
    def figures(self) -> Mapping[str, float]:
        """The outcome in numbers, each with what it counts."""
        return {}

    @property
    def sentences(self) -> list[str]:
        """The findings in English, worst first."""
        return [one.sentence for one in getattr(self, "findings", ())]

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What has to be true for it, in English."""
        return ()

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do where something was found."""
        return self.usual_advice

    @property
    def why_left_out(self) -> str | None:
        """Why it need not stand among the outcomes of all attacks; None if it should."""
        return None

    @property
    def is_broken(self) -> bool:
        """It exposes people."""
        return self.severity == "broken"

    @property
    def is_found(self) -> bool:
        """It found something."""
        return self.severity != "nothing"

    def tables(self) -> list[ReportTable]:
        """Return the figures of each column, release or the like, for commands and notebooks."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON takes it."""
        found: dict[str, Any] = as_json(self)
        return {**found, "summary": self.summary}

    def __str__(self) -> str:
        lines = [f"{self.attack}: {self.summary}"]
        lines += [f"  {name}: {figure(value)}" for name, value in self.figures.items()]
        lines += [f"assumed: {one}" for one in self.assumptions]
        lines += [f"note: {note}" for note in self.notes]
        if self.sentences:
            lines += ["", "worst first:", *(f"  - {one}" for one in self.sentences)]
        if self.is_found and self.advice:
            lines += ["", "what to do:", *(f"  - {one}" for one in self.advice)]
        return "\n".join([*lines, "", self.scope])

    def _repr_html_(self) -> str:
        from indistinct.showing.notebook import card, table

        return card(
            f"attack: {self.attack}", self.summary, self.figures, *(table(one.heads, one.rows) for one in self.tables())
        )
