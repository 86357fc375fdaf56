"""Entry: one release as the ledger remembers it, and the chain of hashes that makes a change show.

The hash of an entry covers everything it says and the hash of the entry before it. So whoever changes, removes, inserts
or reorders entries must change the hash of every later entry too, up to the head; a head that was noted elsewhere then
no longer stands in the chain.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from indistinct.errors import LedgerError

if TYPE_CHECKING:
    from indistinct.release.manifest import RememberedManifest

FORMAT = 1
"""The form of an entry that is hashed; a change of what is hashed needs a new one."""
PLACE = re.compile(r"[0-9a-f]{32}")
DIGEST = re.compile(r"[0-9a-f]{64}")
TEXTS = ("source", "recipient", "purpose", "policy", "place")
DOCUMENTS = ("manifest", "files", "details")


def canonical(content: Any) -> str:
    """Return the one JSON text of a value: keys sorted, no spaces, ASCII, floats as the shortest text that reads back.

    >>> canonical({"b": 0.1, "a": ["ü", None]})
    '{"a":["\\\\u00fc",null],"b":0.1}'
    """
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(content: Any) -> str:
    """Return the SHA-256 of the canonical JSON of a value."""
    return hashlib.sha256(canonical(content).encode("ascii")).hexdigest()


def file_names_mistake(files: Mapping[str, Any]) -> str | None:
    """Say what is wrong with the names of an entry's files, or None: each must lie inside the entry's own folder."""
    for name in files:
        parts = name.split("/")
        if "\\" in name or "\0" in name or any(part in ("", ".", "..") for part in parts):
            return f"{name!r} does not name a file of its folder"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What an entry will say, before it has a place in the chain."""

    recipient: str
    """Who gets the release."""
    manifest: Mapping[str, Any]
    """The manifest, as it is written with the release."""
    policy: str
    """The policy as the text of a policy file, or as JSON where a file cannot hold it."""
    files: Mapping[str, str]
    """The stored files: their names below the entry's folder, with ``/``, and the SHA-256 of each."""
    place: str
    """The name of the entry's folder in the store: 32 hexadecimal digits."""
    source: str = "main"
    """The population of people that the table is about; the same people are the same source."""
    purpose: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else is to be remembered: the names of key columns, the entries that the release was checked against."""

    def __post_init__(self) -> None:
        for name in TEXTS:
            if not _is_storable(getattr(self, name)):
                raise LedgerError(f"the {name} of a release holds characters that cannot be stored")
        for name in ("recipient", "source"):
            if not getattr(self, name).strip():
                raise LedgerError(f"the {name} of a release must have a name")
        if not PLACE.fullmatch(self.place):
            raise LedgerError("the place of an entry must be 32 hexadecimal digits")
        for name in DOCUMENTS:
            # as it will be read again: tuples become lists, keys texts, and nobody else holds the mapping
            object.__setattr__(self, name, json.loads(canonical(getattr(self, name))))
        if mistake := file_names_mistake(self.files):
            raise LedgerError(f"a stored file {mistake}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Draft):
    """One release in the chain."""

    number: int
    """1 for the first release, then one more for each."""
    time: str
    """When it was entered: UTC, as ISO 8601, to the second."""
    previous: str
    """The hash of the entry before this one; that of the empty ledger for the first."""
    hash: str
    """The hash as it is stored; ``computed_hash`` is what it must be."""

    @classmethod
    def following(cls, draft: Draft, number: int, previous: str) -> Entry:
        """Return the entry that a draft becomes at a place in the chain, now."""
        said = {item.name: getattr(draft, item.name) for item in fields(Draft)}
        time = datetime.now(UTC).isoformat(timespec="seconds")
        chained = {**said, "number": number, "time": time, "previous": previous}
        return cls(**chained, hash=_hash(chained))

    @property
    def said(self) -> RememberedManifest:
        """What the ledger reads of the manifest, which anybody may have changed since."""
        from indistinct.release.manifest import RememberedManifest

        return RememberedManifest.of(self.manifest)

    @property
    def review(self) -> str | None:
        """The day when the release is to be looked at again, as ISO 8601; None if nobody said so."""
        said = self.details.get("review")
        return said if isinstance(said, str) else None

    @property
    def is_drawn(self) -> bool:
        """Its rows were drawn at random: it spends, and is joined with no other release."""
        return self.said.drawn is not None

    @property
    def computed_hash(self) -> str:
        """The hash of what the entry says, computed anew."""
        return _hash({item.name: getattr(self, item.name) for item in fields(self) if item.name != "hash"})

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON takes it."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


def due_entries(entries: Iterable[Entry], on: date | None = None) -> list[Entry]:
    """Return the entries whose day of review is no later than today, or ``on``, the longest due first."""
    day = (on or datetime.now(UTC).date()).isoformat()
    due = [(entry.review, entry.number, entry) for entry in entries if entry.review is not None]
    return [entry for review, _, entry in sorted(due) if review <= day]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A stored entry that cannot be read as one."""

    number: int
    hash: str
    reason: str


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """One claim about a ledger, and what its audit found, in words."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class ChainFinding:
    """What is wrong with one entry."""

    number: int
    wrong: str

    def __str__(self) -> str:
        return f"entry {self.number} {self.wrong}"


def chain_findings(entries: Iterable[Entry | Unreadable], start: str, first: int = 1) -> list[ChainFinding]:
    """Return what is wrong with a chain of entries, given in the order of their numbers; nothing if it is whole.

    ``start`` is what the entry of number ``first`` must name as the one before it.
    """
    findings = []
    expected, previous = first, start
    for entry in entries:
        if entry.number < expected:
            findings.append(ChainFinding(entry.number, f"stands where entry {expected} must stand"))
        elif entry.number > expected:
            last = entry.number - 1
            findings.append(ChainFinding(expected, "is missing" if last == expected else f"to {last} are missing"))
        if isinstance(entry, Unreadable):
            findings.append(ChainFinding(entry.number, f"cannot be read: {entry.reason}"))
        else:
            if entry.computed_hash != entry.hash:
                findings.append(ChainFinding(entry.number, "was changed: its hash is not that of what it says"))
            if entry.previous != previous:
                before = "the start of this ledger" if entry.number == 1 else "the entry before it"
                findings.append(ChainFinding(entry.number, f"does not follow {before}"))
        expected, previous = entry.number + 1, entry.hash
    return findings


def to_row(entry: Entry) -> dict[str, Any]:
    """Return an entry as a row of the ledger's table: documents as their canonical JSON."""
    return {
        name: canonical(value) if name in DOCUMENTS else value
        for name, value in ((item.name, getattr(entry, item.name)) for item in fields(Entry))
    }


def from_row(row: Mapping[Any, Any]) -> Entry | Unreadable:
    """Read a row of the ledger's table, which anybody may have changed."""
    content = dict(row)
    number = content["number"] if type(content["number"]) is int else 0
    try:
        for name in content:
            if name != "number" and not isinstance(content[name], str):
                raise LedgerError(f"its {name} is not a text")
        if type(content["number"]) is not int:
            raise LedgerError("its number is not a whole number")
        for name in DOCUMENTS:
            content[name] = _document(name, content[name])
        return Entry(**content)
    except LedgerError as error:
        return Unreadable(number, str(row["hash"]), str(error))


def _hash(chained: Mapping[str, Any]) -> str:
    return digest({"format": FORMAT, **chained})


def _document(name: str, text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise LedgerError(f"its {name} is not JSON") from None
    if not isinstance(content, dict):
        raise LedgerError(f"its {name} is not a JSON object")
    return content


def _is_storable(text: str) -> bool:
    """Return whether every database can store a text."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\0" not in text
