"""What a review found: each entry of the ledger as it stands today, and a notice for everything that fell."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Fallen = Literal["files", "recount", "attack", "risk", "joined"]
FALLEN = {
    "files": "its stored files are gone or changed",
    "recount": "its recount fails",
    "attack": "an attack exposes people",
    "risk": "its risk is above the threshold",
    "joined": "releases undo each other",
}
"""What may have fallen, in words."""


class ReviewValue(BaseModel):
    """A value of a review that nobody changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Notice(ReviewValue):
    """Something that does not hold any more, and who has to know it."""

    kind: Fallen
    entries: tuple[int, ...]
    """The entries that it is about, the oldest first."""
    recipients: tuple[str, ...]
    """Who got them."""
    why: str

    @property
    def sentence(self) -> str:
        """The notice in one line."""
        which = ", ".join(map(str, self.entries))
        return f"entry {which}: {FALLEN[self.kind]}; {self.why}; notify {', '.join(self.recipients)}"


class EntryReview(ReviewValue):
    """One entry as it stands today."""

    number: int
    time: str
    source: str
    recipient: str
    purpose: str
    title: str
    technique: str
    decided_by: str
    review: str | None
    """The day when it is to be looked at again."""
    is_reviewed: bool
    """It was recounted and attacked in this review; else it was entered before ``since``."""
    attacked: str = ""
    """The worst outcome of the attacks."""
    risk: float | None = None
    """R in the context of its policy."""
    threshold: float | None = None
    notes: tuple[str, ...] = ()

    def is_due(self, day: date) -> bool:
        """Return whether its day of review has come."""
        return self.review is not None and self.review <= day.isoformat()


class LedgerReview(ReviewValue):
    """What holds, what fell, whom to notify, and what is due."""

    ledger: str
    made_by: str
    day: date
    entries: tuple[EntryReview, ...]
    notices: tuple[Notice, ...]
    notes: tuple[str, ...] = ()
    """What could not be judged, and why."""

    @property
    def fallen(self) -> tuple[int, ...]:
        """The entries of which something does not hold any more."""
        return tuple(sorted({number for notice in self.notices for number in notice.entries}))

    @property
    def holding(self) -> tuple[int, ...]:
        """The entries that were looked at, and of which all holds."""
        lost = set(self.fallen)
        return tuple(one.number for one in self.entries if one.is_reviewed and one.number not in lost)

    @property
    def due(self) -> tuple[EntryReview, ...]:
        """The entries whose day of review has come, the longest due first."""
        return tuple(sorted((one for one in self.entries if one.is_due(self.day)), key=lambda one: one.review or ""))

    @property
    def coming(self) -> tuple[EntryReview, ...]:
        """The entries that will be due, the next first."""
        left = (one for one in self.entries if one.review is not None and not one.is_due(self.day))
        return tuple(sorted(left, key=lambda one: one.review or ""))

    @property
    def to_notify(self) -> dict[str, tuple[int, ...]]:
        """The recipients who have to know of something, each with the entries that it is about."""
        found: dict[str, set[int]] = {}
        by_number = {one.number: one.recipient for one in self.entries}
        for notice in self.notices:
            for number in notice.entries:
                found.setdefault(by_number[number], set()).add(number)
        return {name: tuple(sorted(numbers)) for name, numbers in sorted(found.items())}

    def to_dict(self) -> dict[str, Any]:
        """Return the review as JSON takes it."""
        return {
            **self.model_dump(mode="json"),
            "holding": list(self.holding),
            "fallen": list(self.fallen),
            "due": [one.number for one in self.due],
            "to_notify": {name: list(numbers) for name, numbers in self.to_notify.items()},
        }
