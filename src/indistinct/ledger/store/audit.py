"""Audit: whether a ledger is still what was entered, by its chain of hashes and the digests of its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from indistinct.errors import LedgerError
from indistinct.ledger.store.entry import AuditCheck, Entry, Unreadable, chain_findings
from indistinct.ledger.store.entry_files import Files
from indistinct.ledger.store.witness import Witness
from indistinct.proof.checks import Checked
from indistinct.showing.words import counted

MOST_FINDINGS = 10
"""Findings that are reported of each check; the others are counted."""
UNSEEN = (
    "no head is noted elsewhere: that entries were cut off at the end, or the whole ledger was rolled back, exchanged "
    "or computed anew, could not be seen; note heads with ledger init --witness, or give one with --head or --release"
)


@dataclass(frozen=True, slots=True)
class Audit(Checked):
    """What a check of a ledger found."""

    subject: ClassVar[str] = "ledger"

    checks: tuple[AuditCheck, ...]
    entries: int
    head: str
    warnings: tuple[str, ...] = ()
    """What nobody could have seen, in words."""

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON takes it."""
        checks = [asdict(check) for check in self.checks]
        said = {"passed": self.passed, "entries": self.entries, "head": self.head, "checks": checks}
        return said | ({"warnings": list(self.warnings)} if self.warnings else {})

    def __str__(self) -> str:
        return self._report(f"{counted(self.entries, 'entry', 'entries')}, head {self.head}")


def audit(
    rows: Sequence[Entry | Unreadable],
    start: str,
    files: Files,
    head: str | None,
    witness: Witness | None = None,
    strange: Sequence[str] = (),
) -> Audit:
    """Check the chain, the files of every entry, and that heads noted elsewhere stand in the chain.

    ``strange`` is what the database has or lacks that no ledger has or lacks.
    """
    checks = [_chain(rows, start), _files(rows, files)]
    if witness is not None:
        checks.append(_witness(rows, start, witness))
    if head is not None:
        checks.append(_head(rows, start, head))
    checks += _stated_heads(rows, start)
    checks += [_database(strange), _left_over(rows, files)]
    warnings = () if witness is not None or head is not None else (UNSEEN,)
    return Audit(tuple(checks), len(rows), rows[-1].hash if rows else start, warnings)


def _chain(rows: Sequence[Entry | Unreadable], start: str) -> AuditCheck:
    findings = [str(finding) for finding in chain_findings(rows, start)]
    return AuditCheck(
        "chain", not findings, _findings_text(findings) or f"{counted(len(rows), 'entry', 'entries')}, none changed"
    )


def _files(rows: Sequence[Entry | Unreadable], files: Files) -> AuditCheck:
    findings = [
        f"entry {entry.number}: {wrong}"
        for entry in rows
        if isinstance(entry, Entry)
        for wrong in files.findings(entry)
    ]
    number = sum(len(entry.files) for entry in rows if isinstance(entry, Entry))
    return AuditCheck("files", not findings, _findings_text(findings) or f"{counted(number, 'file')}, none changed")


def _database(strange: Sequence[str]) -> AuditCheck:
    found = "its tables, and what keeps them from being changed, are there and nothing else"
    return AuditCheck("database", not strange, _findings_text(strange) or found)


def _head(rows: Sequence[Entry | Unreadable], start: str, head: str) -> AuditCheck:
    """Look for a head that was noted earlier among the hashes of the chain."""
    if head == start:
        return AuditCheck("head", True, "the head is that of the empty ledger")
    number = next((row.number for row in rows if row.hash == head), None)
    if number is None:
        return AuditCheck("head", False, "no entry has this hash: entries were removed or changed since it was noted")
    return AuditCheck("head", True, f"entry {number}, {counted(rows[-1].number - number, 'entry', 'entries')} since")


def _stated_heads(rows: Sequence[Entry | Unreadable], start: str) -> list[AuditCheck]:
    """Look for the heads that manifests state among the hashes of earlier entries; shown if any states one."""
    stated = [row for row in rows if isinstance(row, Entry) and row.said.ledger_head is not None]
    earlier = {start: 0} | {row.hash: row.number for row in rows}
    wrong = [row.number for row in stated if earlier.get(str(row.said.ledger_head), row.number) >= row.number]
    findings = [f"entry {number}: its manifest states a head that no earlier entry has" for number in wrong]
    found = f"{counted(len(stated), 'release states', 'releases state')} the head before it, all in the chain"
    return [AuditCheck("heads in releases", not wrong, _findings_text(findings) or found)] if stated else []


def _witness(rows: Sequence[Entry | Unreadable], start: str, witness: Witness) -> AuditCheck:
    try:
        return witness.check([row.hash for row in rows], start)
    except LedgerError as error:
        return AuditCheck("witness", False, str(error))


def _left_over(rows: Sequence[Entry | Unreadable], files: Files) -> AuditCheck:
    """Report folders that no entry refers to; a writer that was stopped leaves them, so they are no fault.

    A link is one: what it leads to can be exchanged, and nobody who looks at the store sees it.
    """
    places = {row.place for row in rows if isinstance(row, Entry)}
    try:
        number, links = len(files.left_over(places)), files.links()
    except OSError as error:
        return AuditCheck("store", False, f"{files.folder} cannot be read: {error.strerror}")
    if links:
        found = [f"{name} is a link to another place" for name in links]
        return AuditCheck(
            "store", False, f"{_findings_text(found)}; put the folder itself there, or name it with --store"
        )
    told = f"{counted(number, 'folder')} without an entry; indistinct ledger sweep removes what stopped writers left"
    return AuditCheck("store", True, told if number else "nothing without an entry")


def _findings_text(findings: Sequence[str]) -> str:
    more = len(findings) - MOST_FINDINGS
    return "; ".join(findings[:MOST_FINDINGS]) + (f"; and {more} more" if more > 0 else "")
