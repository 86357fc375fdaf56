"""Earlier releases: what a ledger remembers of the same people, and what this release was checked against."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any, Protocol

from indistinct.ledger.store import Entry, Store
from indistinct.report.subject import Subject


class HasStore(Protocol):
    """A Ledger, of which only the store is looked at."""

    @property
    def store(self) -> Store:
        """Its entries and files."""


def ledger_entries(subject: Subject, ledger: HasStore | str | Path | None) -> dict[str, Any] | None:
    """Return the entry of a release and those before it of the same source; of all sources if it has no entry.

    ``ledger`` is a Ledger or its path. A public edition says nothing of other recipients.
    """
    if ledger is None or subject.edition == "public":
        return None
    with Store(ledger) if isinstance(ledger, str | Path) else nullcontext(ledger.store) as store:
        entries = store.entries()
    own = next((entry for entry in reversed(entries) if _is_entry_of(entry, subject)), None)
    others = [entry for entry in entries if own is None or (entry.source == own.source and entry.number < own.number)]
    return {
        "entry": None if own is None else _facts_of_entry(own),
        "checked_against": [] if own is None else list(own.details.get("checked_against", [])),
        "smallest_cell": None if own is None else own.details.get("smallest_cell"),
        "earlier": [_facts_of_entry(entry) for entry in others],
    }


def _is_entry_of(entry: Entry, subject: Subject) -> bool:
    """Return whether an entry is about this release: by its number, or by the digests of its tables."""
    if subject.manifest is None:
        return subject.entry == entry.number
    return entry.said.files == subject.manifest.files


def _facts_of_entry(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "time": entry.time,
        "source": entry.source,
        "recipient": entry.recipient,
        "purpose": entry.purpose,
        "rows": entry.said.released,
        "again": entry.details.get("again"),
        "review": entry.review,
    }
