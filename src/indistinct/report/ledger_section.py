"""Earlier releases: what a ledger remembers of the same people, and what this release was checked against."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from indistinct.ledger import Ledger
from indistinct.ledger.store.entry import Entry
from indistinct.release import Release
from indistinct.report.subject import Subject


def remembered(subject: Subject, release: Any, ledger: Ledger | str | Path | None) -> dict[str, Any] | None:
    """Give the entry of a release and those before it of the same source; of all sources if it has no entry.

    A public edition says nothing of other recipients.
    """
    if ledger is None or subject.edition == "public":
        return None
    if not isinstance(ledger, Ledger):
        with Ledger(ledger) as opened:
            return remembered(subject, release, opened)
    entries = ledger.entries
    own = next((entry for entry in reversed(entries) if _is_of(entry, subject, release)), None)
    others = [entry for entry in entries if own is None or (entry.source == own.source and entry.number < own.number)]
    return {
        "entry": None if own is None else _described(own),
        "checked_against": [] if own is None else list(own.details.get("checked_against", [])),
        "smallest_cell": None if own is None else own.details.get("smallest_cell"),
        "earlier": [_described(entry) for entry in others],
    }


def _is_of(entry: Entry, subject: Subject, release: Any) -> bool:
    """Tell whether an entry is about this release: by its number, or by the digests of its tables."""
    if isinstance(release, Release):
        return release.entry == entry.number
    return bool(subject.said.get("files")) and entry.manifest.get("files") == subject.said["files"]


def _described(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "time": entry.time,
        "source": entry.source,
        "recipient": entry.recipient,
        "purpose": entry.purpose,
        "rows": entry.manifest.get("released"),
    }
