"""review_ledger(): every release of a ledger recounted, attacked and joined with all others, by what is known today."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import indistinct
from indistinct import attacks
from indistinct.disclosure_risk import overall_risk
from indistinct.errors import IndistinctError, LedgerError, PolicyError
from indistinct.ledger import Entry, Ledger
from indistinct.ledger.history import Earlier
from indistinct.ledger.store import MEMBERS, RELEASE, Files
from indistinct.ledger_review.review_findings import EntryReview, LedgerReview, Notice
from indistinct.policy import Policy
from indistinct.policy.files.policy_file import parse_policy
from indistinct.progress import Watch
from indistinct.proof.verdict import verify
from indistinct.showing.numbers import figure

Together = Literal["all", "none"]
PUBLIC = "public"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known today that may not have been when a release was made."""

    external: Any = None
    """A table that names people."""
    threshold: float | None = None
    """The largest risk that is accepted now, where it is below that of a release's policy."""


def review_ledger(
    ledger: Ledger | str | Path,
    *,
    since: int | date | str | None = None,
    external: Any = None,
    threshold: float | None = None,
    colluding: Together = "all",
    on: date | None = None,
    state: str | Path | None = None,
    watch: Watch | None = None,
) -> LedgerReview:
    """Return what still holds of the releases of a ledger, what fell, whom to notify and what is due.

    Each release is recounted from its stored files, attacked, and held against the threshold of its policy, or a lower
    one; all releases of a source are joined. ``external`` is a table that names people, such as a new voter list.
    Entries before ``since``, a number or a day, are only joined. ``colluding="none"`` joins what each recipient holds
    by herself. ``state`` is a file that remembers what was found, so that an interrupted review goes on where it was.
    """
    if threshold is not None and not 0 < threshold <= 1:
        raise PolicyError(f"threshold: must lie above 0 and be at most 1, got {threshold!r}")
    if colluding not in ("all", "none"):
        raise PolicyError(f"colluding: must be 'all' or 'none', got {colluding!r}")
    watch, known = watch or Watch(), Known(external, threshold)
    with ExitStack() as stack:
        opened = ledger if isinstance(ledger, Ledger) else stack.enter_context(Ledger(ledger))
        entries, files = opened.entries, opened.store.files
        remembered = _Remembered.open(state, opened.head, known)
        reviewed: list[EntryReview] = []
        notices: list[Notice] = []
        for number, entry in enumerate(entries, 1):
            watch.report("review", number, len(entries))
            watch.time_is_up()
            if not _is_since(entry, since):
                reviewed.append(_describe(entry))
                continue
            found = remembered.get(entry) or remembered.put(entry, _review_entry(entry, files, known))
            reviewed.append(found[0])
            notices += found[1]
        joined, notes = _join_sources(entries, files, colluding, watch)
        remembered.forget()
        name = opened.store.name
    return LedgerReview(
        ledger=name,
        made_by=f"indistinct {indistinct.__version__}",
        day=on or datetime.now(UTC).date(),
        entries=tuple(reviewed),
        notices=(*notices, *joined),
        notes=tuple(notes),
    )


def _is_since(entry: Entry, since: int | date | str | None) -> bool:
    """Return whether an entry is looked at anew."""
    if since is None:
        return True
    if isinstance(since, int):
        return entry.number >= since
    try:
        day = date.fromisoformat(since) if isinstance(since, str) else since
    except ValueError:
        raise LedgerError(
            f"since: must be the number of an entry or a date such as 2027-05-30, got {since!r}"
        ) from None
    return entry.time[:10] >= day.isoformat()


def _describe(entry: Entry, policy: Policy | None = None) -> EntryReview:
    """Return an entry with what it says of itself."""
    about = entry.manifest.get("about") or {}
    context = None if policy is None else policy.context
    by_policy = None if context is None or context.review_by is None else context.review_by.isoformat()
    days = sorted(day for day in (entry.review, by_policy) if day is not None)
    said = entry.said
    return EntryReview(
        number=entry.number,
        time=entry.time,
        source=entry.source,
        recipient=entry.recipient,
        purpose=entry.purpose or about.get("purpose", ""),
        title=about.get("title", ""),
        technique=said.algorithm or "",
        decided_by=(context.decided_by if context is not None else "") or about.get("decided_by", ""),
        review=days[0] if days else None,
        is_reviewed=False,
    )


def _review_entry(entry: Entry, files: Files, known: Known) -> tuple[EntryReview, list[Notice]]:
    """Recount and attack one release by what is known today."""

    def notice(kind: Any, why: str) -> Notice:
        return Notice(kind=kind, entries=(entry.number,), recipients=(entry.recipient,), why=why)

    if wrong := files.findings(entry):
        return _describe(entry).model_copy(update={"is_reviewed": True}), [notice("files", "; ".join(wrong[:3]))]
    folder, notes = files.folder / entry.place / RELEASE, []
    try:
        policy = parse_policy(entry.policy)
        described = _describe(entry, policy)
        verdict = verify(folder, policy)
        if not verdict.passed:
            failed = "; ".join(f"{one.name}: {one.detail}" for one in verdict.checks if not one.passed)
            return described.model_copy(update={"is_reviewed": True}), [notice("recount", failed)]
        run = attacks.run(folder, policy, external=known.external, most=0)
        risk = overall_risk(folder, policy)
    except IndistinctError as error:
        return _describe(entry).model_copy(update={"is_reviewed": True}), [notice("recount", str(error))]
    notices = [notice("attack", f"{one.title}: {one.summary}") for one in run.outcomes if one.severity == "broken"]
    limits = [one for one in (known.threshold, None if risk.context.limit is None else risk.context.limit.value) if one]
    limit = min(limits, default=None)
    is_above = limit is not None and risk.value > limit * (1 + 1e-12)
    if is_above or risk.is_above:
        notices.append(
            notice("risk", f"R = {figure(risk.value)}, above {figure(limit)}" if is_above else risk.sentence)
        )
    notes += [f"{one.title}: {one.summary}" for one in run.outcomes if one.severity == "something"]
    found = {
        "is_reviewed": True,
        "attacked": run.severity,
        "risk": risk.value,
        "threshold": limit,
        "notes": tuple(notes),
    }
    return described.model_copy(update=found), notices


def _join_sources(
    entries: Sequence[Entry], files: Files, colluding: Together, watch: Watch
) -> tuple[list[Notice], list[str]]:
    """Join the releases of each source, and return a notice for each that undoes others."""
    notices, notes = [], []
    whole = [entry for entry in entries if not files.findings(entry)]
    for name, held in _held_together(whole, colluding):
        watch.report("join")
        try:
            undoing = find_undoing(held, files, watch)
        except (PolicyError, LedgerError) as error:
            notes.append(f"{name}: its releases could not be joined: {error}")
            continue
        for last, others, why in undoing:
            both = sorted((*others, last), key=lambda one: one.number)
            recipients = tuple(dict.fromkeys(one.recipient for one in both))
            numbers = tuple(one.number for one in both)
            notices.append(Notice(kind="joined", entries=numbers, recipients=recipients, why=why))
    return list(dict.fromkeys(notices)), notes


def _held_together(entries: Sequence[Entry], colluding: Together) -> Iterator[tuple[str, list[Entry]]]:
    """Return the releases that somebody may hold together: of each source all, or those of each recipient."""
    for source in dict.fromkeys(entry.source for entry in entries):
        own = [entry for entry in entries if entry.source == source]
        if colluding == "all":
            yield source, own
            continue
        for recipient in dict.fromkeys(entry.recipient for entry in own):
            yield f"{source}, {recipient}", [one for one in own if one.recipient in (recipient, PUBLIC)]


class _Remembered:
    """What an interrupted review of the same ledger found already, a line for each entry."""

    def __init__(self, path: Path | None, key: str) -> None:
        self.path, self.key = path, key
        self.found: dict[str, tuple[EntryReview, list[Notice]]] = {}

    @classmethod
    def open(cls, path: str | Path | None, head: str, known: Known) -> _Remembered:
        """Read what was found with the same version, on the same ledger, by the same knowledge."""
        of = Path(known.external) if isinstance(known.external, str | Path) else None
        changed = of.stat().st_mtime if of is not None and of.exists() else None
        said = [indistinct.__version__, head, str(known.external), changed, known.threshold]
        made = cls(None if path is None else Path(path), hashlib.sha256(json.dumps(said).encode()).hexdigest())
        if made.path is None or not made.path.is_file():
            return made
        for line in made.path.read_text("utf-8").splitlines():
            try:
                said_of = json.loads(line)
                if said_of["key"] == made.key:
                    entry = EntryReview.model_validate(said_of["entry"])
                    made.found[said_of["hash"]] = entry, [Notice.model_validate(one) for one in said_of["notices"]]
            except (ValueError, KeyError, TypeError):
                continue  # the line that was being written when the review was interrupted
        return made

    def get(self, entry: Entry) -> tuple[EntryReview, list[Notice]] | None:
        """Return what was found of an entry before."""
        return self.found.get(entry.hash)

    def put(self, entry: Entry, found: tuple[EntryReview, list[Notice]]) -> tuple[EntryReview, list[Notice]]:
        """Remember what was found of an entry, and return it."""
        if self.path is not None:
            said = {
                "key": self.key,
                "hash": entry.hash,
                "entry": found[0].model_dump(mode="json"),
                "notices": [one.model_dump(mode="json") for one in found[1]],
            }
            is_new = not self.path.exists()
            with self.path.open("a", encoding="utf-8") as file:
                if is_new:
                    self.path.chmod(0o600)
                file.write(json.dumps(said, ensure_ascii=False) + "\n")
        return found

    def forget(self) -> None:
        """Remove what was remembered: the review came to its end."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


MOST_FOUND = 20
"""The most releases that undo others and are looked for; further ones are reported as one."""


class Undoing(NamedTuple):
    """A release, and the earlier ones that each undo it or are undone by it; all of them where no pair does."""

    entry: Entry
    others: tuple[Entry, ...]
    why: str


def find_undoing(entries: Sequence[Entry], files: Files, watch: Watch) -> list[Undoing]:
    """Return the releases that undo earlier ones among some of the same people, the oldest first.

    All of them are joined at once. Only if that tells people apart is it looked for the first release with which it
    does, by halving, and then for those that do so with it alone; it is set aside, and the rest are joined again.
    """
    rest = sorted((one for one in entries if not one.is_drawn), key=lambda one: one.number)
    found: list[Undoing] = []
    while len(rest) > 1 and (why := reason(rest, files)) is not None:
        watch.time_is_up()
        place = _first_failing(lambda number: reason(rest[: number + 1], files) is not None, len(rest))
        last = rest[place]
        if place and len(found) < MOST_FOUND:
            others = tuple(one for one in rest[:place] if reason([one, last], files) is not None)
            found.append(Undoing(last, others or tuple(rest[:place]), reason(rest[: place + 1], files) or why))
        elif place:
            return [*found, Undoing(last, tuple(rest[:place]), why)]
        rest.pop(place)  # alone it fails its recount, which says so
    return found


def _first_failing(fails: Callable[[int], bool], number: int) -> int:
    """Return the first of ``number`` places that fails, if all after it do; the last one does."""
    low, high = 0, number - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) else (middle + 1, high)
    return low


def reason(entries: Sequence[Entry], files: Files) -> str | None:
    """Say what some releases reveal together that they had promised not to; None if nothing."""
    *earlier, last = entries
    key, person = last.details.get("key"), last.details.get("person")
    names_rows = bool(person) and key != person
    joined = Earlier.of(earlier, files, {}, names_rows=names_rows)
    linked = joined.joined_with(files.path(last, MEMBERS), parse_policy(last.policy))
    return None if linked.passed else linked.reason
