"""Ledger: remembers what was released to whom, and lets nothing leave that would undo an earlier release."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from indistinct.algorithms import Algorithm, MInvariant
from indistinct.counting import IntArray, encode_eligible
from indistinct.engine import HISTORY, KEY, Encoded, Histories, Recognition, Rows, use_table
from indistinct.errors import InfeasibleError, LedgerError, PolicyError, RefusedError
from indistinct.hierarchy import Hierarchy
from indistinct.hierarchy.released_labels import Based
from indistinct.ledger.again import settled, told_policy
from indistinct.ledger.earlier_signatures import promised, refuse_linkable, signed_column
from indistinct.ledger.history import Linked, linked
from indistinct.ledger.policies import policy_text
from indistinct.ledger.store.entry import Draft, Entry
from indistinct.ledger.store.entry_files import RELEASE
from indistinct.ledger.store.store import HeadMoved, Store
from indistinct.pipeline import chosen_algorithm, encode_checked, task_for
from indistinct.policy import Policy
from indistinct.policy.policy_file import parse_policy
from indistinct.recoding import Recoding
from indistinct.recoding.link_column import LINK
from indistinct.release import Release, recoded
from indistinct.released.manifest import read_manifest
from indistinct.released.release_folder import refuse_occupied
from indistinct.watch import Watch

MEMBERS = "members.parquet"
"""The private file of an entry: who was released in which group, by digests of their keys."""
PUBLIC = "public"
"""The recipient of what everybody may have."""

Again = Literal["consistent", "based"]
"""How a search keeps to earlier releases: no history is split too finely, or nothing becomes more specific either."""
Colluding = Literal["all", "none"] | Sequence[str]
"""Who might put releases together with the recipient: everybody, nobody, or these recipients."""


@dataclass(frozen=True, slots=True)
class Terms:
    """For whom a release is, of whom it is about, and by what they are recognised."""

    recipient: str
    source: str
    colluding: Colluding
    key: tuple[str, ...]
    is_numbered: bool
    """Equal keys are numbered: the key is the whole row, which nothing else names."""
    again: Again | None
    policy: str
    """The policy as the ledger keeps it."""


class Ledger:
    """What was released, to whom and when, as a chain of entries that only ever grows.

    ``url`` is the path of an SQLite file, or the address of a PostgreSQL database; ``Ledger.create`` makes a new one.
    ``folder`` is where its files are, if they are not where they were when it was made.
    """

    def __init__(self, url: str | Path, *, folder: str | Path | None = None) -> None:
        self.store = Store(url, folder=folder)

    @classmethod
    def create(cls, url: str | Path, folder: str | Path | None = None) -> Ledger:
        """Make a new ledger and open it; ``folder`` is where the released tables are kept, by default beside it."""
        Store.create(url, folder=folder).close()
        return cls(url)

    @property
    def entries(self) -> list[Entry]:
        """All entries, the oldest first."""
        return list(self.store.entries())

    @property
    def head(self) -> str:
        """The hash of the last entry: note it elsewhere, and nobody can shorten the ledger unseen."""
        return self.store.head

    def verify(self, head: str | None = None) -> Any:
        """Recompute the chain and compare every stored file with its digest."""
        return self.store.verify(head=head)

    def anonymize(
        self,
        table: Any,
        policy: Policy,
        *,
        recipient: str,
        purpose: str = "",
        source: str = "main",
        key: Sequence[str] | str | None = None,
        colluding: Colluding = "all",
        again: Again | None = None,
        algorithm: Algorithm | str | None = None,
        folder: str | Path | None = None,
        replace: bool = False,
        watch: Watch | None = None,
        **reading: Any,
    ) -> Release:
        """Give a verified release that undoes no earlier one, after it was entered in the ledger.

        It is checked against all releases of the same ``source`` that the recipient, or those who might collude with
        her, already hold; a RefusedError says why it may not leave. ``key`` names the columns by which people are
        recognised; by default the policy's identifiers, or else the whole row. ``again="consistent"`` has the search
        keep to what was released before, ``again="based"`` also lets nothing become more specific than it was in the
        latest of those releases. With ``folder`` the release is written there as well, whole or not at all.
        """
        watch = watch or Watch()
        chosen = chosen_algorithm(algorithm, policy)
        if folder is not None:
            refuse_occupied(Path(folder), replace)
        terms = _terms(policy, recipient, source, colluding, key, again)
        with use_table(table, **reading) as rows:
            while True:
                try:
                    return self._attempt(rows, policy, terms, purpose, chosen, folder, replace, watch, reading)
                except _OvertakenError:
                    continue  # somebody else released in the meantime, and what was found does not hold any more

    def check(
        self,
        table: Any,
        policy: Policy,
        *,
        recipient: str,
        source: str = "main",
        key: Sequence[str] | str | None = None,
        colluding: Colluding = "all",
        again: Again | None = None,
        algorithm: Algorithm | str | None = None,
        watch: Watch | None = None,
        **reading: Any,
    ) -> Linked:
        """Tell what a release would reveal together with earlier ones, without making an entry or giving it away."""
        chosen = chosen_algorithm(algorithm, policy)
        terms = _terms(policy, recipient, source, colluding, key, again)
        with use_table(table, **reading) as rows, tempfile.TemporaryDirectory(prefix="indistinct-") as private:
            held = self._held(terms)
            release = self._candidate(rows, policy, terms, held, chosen, Path(private), watch or Watch(), reading)
            release.close()
            return self._linked(Path(private) / MEMBERS, policy, held, reading)

    def add(
        self,
        release: str | Path,
        policy: Policy,
        original: Any,
        *,
        recipient: str,
        purpose: str = "",
        source: str = "main",
        key: Sequence[str] | str | None = None,
        **reading: Any,
    ) -> tuple[Entry, Linked]:
        """Enter a release folder that was made without the ledger, and tell what it reveals with the others.

        It has left the house already, so it is entered whatever is found. The original shows who was in which group.
        """
        from indistinct.ledger.adding import members_of

        terms = _terms(policy, recipient, source, "all", key, None)
        with use_table(original, **reading) as rows, tempfile.TemporaryDirectory(prefix="indistinct-") as private:
            manifest = members_of(
                Path(release), rows, policy, self._recognition(policy, terms), Path(private) / MEMBERS
            )
            while True:
                head, held = self.head, self._held(terms)  # in this order: no entry can come in between unseen
                found = self._linked(Path(private) / MEMBERS, policy, held, reading)
                try:
                    details = {"added": True}
                    entry = self._enter(
                        Path(release), Path(private), manifest, policy, terms, purpose, found, head, details
                    )
                except HeadMoved:
                    continue
                return entry, found

    def export(self, number: int, folder: str | Path) -> Path:
        """Write the release of an entry once more, as its recipient got it."""
        return self.store.files.export(self.store.entry(number), Path(folder))

    def close(self) -> None:
        """Let go of the database."""
        self.store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _attempt(
        self,
        rows: Rows,
        policy: Policy,
        terms: Terms,
        purpose: str,
        chosen: Algorithm,
        folder: str | Path | None,
        replace: bool,
        watch: Watch,
        reading: dict[str, Any],
    ) -> Release:
        """Make a release, check it, enter it and give it; raise _OvertakenError if it must be made anew."""
        with tempfile.TemporaryDirectory(prefix="indistinct-") as private:
            held = self._held(terms)
            release = self._candidate(rows, policy, terms, held, chosen, Path(private), watch, reading)
            try:
                watch.report("ledger")
                found = self._linked(Path(private) / MEMBERS, policy, held, reading)
                _refuse(found, terms)
                watch.report("write")
                enter = self._entering(release, Path(private), policy, terms, purpose, held, found, reading)
                if folder is None:
                    release.write(Path(private) / RELEASE, before_naming=enter)
                else:
                    release.write(folder, replace=replace, before_naming=enter)
            except BaseException:
                release.close()
                raise
            return release

    def _entering(
        self,
        release: Release,
        private: Path,
        policy: Policy,
        terms: Terms,
        purpose: str,
        held: list[Entry],
        found: Linked,
        reading: dict[str, Any],
    ) -> Callable[[Path], None]:
        """Give what enters a written release, the last step before its folder gets its name."""

        def enter(written: Path) -> None:
            manifest = read_manifest(written)
            checked, finding = held, found
            while True:
                head, now = self.head, self._held(terms)
                if [entry.number for entry in now] != [entry.number for entry in checked]:
                    checked, finding = now, self._linked(private / MEMBERS, policy, now, reading)
                    if not finding.passed and terms.again is not None:
                        raise _OvertakenError
                    _refuse(finding, terms)
                try:
                    details = {} if terms.again is None else {"again": terms.again}
                    entry = self._enter(written, private, manifest, policy, terms, purpose, finding, head, details)
                except HeadMoved:
                    continue
                release.entry = entry.number
                return

        return enter

    def _enter(
        self,
        written: Path,
        private: Path,
        manifest: dict[str, Any],
        policy: Policy,
        terms: Terms,
        purpose: str,
        found: Linked,
        head: str,
        details: dict[str, Any],
    ) -> Entry:
        """Store the files of a release and append its entry, if the ledger still ends where it did."""

        def write(folder: Path) -> None:
            shutil.copyfile(private / MEMBERS, folder / MEMBERS)
            (folder / RELEASE).mkdir()
            for path in written.iterdir():
                shutil.copyfile(path, folder / RELEASE / path.name)

        known = {
            "key": "whole row" if terms.is_numbered else list(terms.key),
            "checked_against": list(found.entries),
            "people": found.people,
            "cells": found.cells,
            "smallest_cell": found.smallest,
            "people_at_risk": found.at_risk,
        }
        with self.store.stage(write) as staged:
            draft = Draft(
                recipient=terms.recipient,
                purpose=purpose,
                source=terms.source,
                manifest=manifest,
                policy=terms.policy,
                files=staged.digests,
                place=staged.place,
                details=known | details,
            )
            return self.store.append(draft, head)

    def _held(self, terms: Terms) -> list[Entry]:
        """Give the entries that the recipient and those who might collude with her hold, the oldest first."""
        entries = list(self.store.entries(source=terms.source))
        if terms.colluding != "all" and terms.recipient != PUBLIC:
            others = () if terms.colluding == "none" else terms.colluding
            entries = [entry for entry in entries if entry.recipient in (terms.recipient, PUBLIC, *others)]
        for entry in entries:
            _refuse_other_key(entry, terms)
        return entries

    def _candidate(
        self,
        rows: Rows,
        policy: Policy,
        terms: Terms,
        held: list[Entry],
        chosen: Algorithm,
        private: Path,
        watch: Watch,
        reading: dict[str, Any],
    ) -> Release:
        """Make a release and write who is in which of its groups; nothing of it is given away yet."""
        policy.check(rows.columns())
        earlier = held if terms.again is not None else []
        policies = [parse_policy(entry.policy) for entry in earlier]
        signed = signed_column(policy, policies)
        if signed is not None and earlier:
            _refuse_other_ways(chosen, terms)
        path, sizes = self._history(earlier, policies, policy, signed, private, reading)
        based = _based_columns(policy, earlier) if terms.again == "based" else ()
        ground = encode_eligible(rows, policy, based).values if based else {}
        hierarchies: dict[str, Hierarchy] = {
            name: Based(policy.columns[name].hierarchy, ground[name]) for name in based
        }
        told = rows.recognise(self._recognition(policy, terms, path, based))
        try:
            asked = told_policy(policy, policies, hierarchies, signed)
            encoded = encode_checked(told, asked, watch)
            recoding = _searched(encoded, asked, chosen, sizes, policies, watch)
            watch.report("release")
            parts = recoded(encoded, recoding, policy, (KEY,))
            first = "quasi" if recoding.is_divided else "table"
            group = [LINK] if recoding.is_divided else policy.quasi
            told.write_members(parts[first], private / MEMBERS, group, policy.with_role("sensitive"))
            parts[first] = parts[first].without([KEY])
        finally:
            told.close()
        release = Release(parts, recoding.without_column(HISTORY), policy, chosen.name)
        watch.report("verify")
        verdict = release.verify()
        if not verdict.passed:
            release.close()
            verdict.raise_if_failed()
        return release

    def _history(
        self,
        entries: list[Entry],
        policies: list[Policy],
        policy: Policy,
        signed: str | None,
        private: Path,
        reading: dict[str, Any],
    ) -> tuple[Path | None, IntArray | None]:
        """Write the history of everybody who was released before; also give the number of people of each history.

        With a ``signed`` column it is the values that a person's group had there; None are counted then, since people
        may come and go one by one.
        """
        if not entries:
            return None, None
        path = private / "history.parquet"
        with Histories([self._members(entry) for entry in entries], **_limits(reading)) as histories:
            if signed is None:
                histories.write(path, _based_columns(policy, entries))
                return path, histories.cells()[1]
            showing = [release for release, one in enumerate(policies) if signed in one.with_role("sensitive")]
            if not showing:
                return None, None
            histories.write_signatures(path, showing, signed)
            return path, None

    def _linked(self, members: Path, policy: Policy, held: list[Entry], reading: dict[str, Any]) -> Linked:
        """Tell what a release reveals together with those that are held already."""
        files = [members, *(self._members(entry) for entry in held)]
        policies = [policy, *(parse_policy(entry.policy) for entry in held)]
        with Histories(files, **_limits(reading)) as histories:
            return linked(histories, [0, *(entry.number for entry in held)], policies)

    def _members(self, entry: Entry) -> Path:
        return self.store.files.path(entry, MEMBERS)

    def _recognition(
        self, policy: Policy, terms: Terms, earlier: Path | None = None, based: tuple[str, ...] = ()
    ) -> Recognition:
        return Recognition(
            key=terms.key,
            state=policy.quasi,
            secret=self.store.secret.hex(),
            numbered=terms.is_numbered,
            earlier=earlier,
            based=based,
            where=tuple(condition.as_triple() for condition in policy.eligible),
        )


class _OvertakenError(Exception):
    """Another release was entered while this one was made, and this one must be made anew."""


def _searched(
    encoded: Encoded, policy: Policy, chosen: Algorithm, sizes: IntArray | None, earlier: list[Policy], watch: Watch
) -> Recoding:
    """Search for a recoding; with earlier releases, one that keeps to them.

    ``sizes`` has the number of people of each history; without it, they may come and go one by one.
    """
    if not earlier:
        return _found(encoded, policy, chosen, watch)[0]
    try:
        recoding, budget = _found(encoded, policy, chosen, watch)
    except InfeasibleError as error:
        needed = (
            " New people must be as many as the models ask for, and of those who were released before enough must stay "
            "or go together: allow more suppression, or wait until more have changed"
        )
        raise RefusedError(
            f"no release under this policy keeps to the earlier ones: {error}{'' if sizes is None else '.' + needed}"
        ) from None
    if sizes is None:
        return recoding
    if recoding.is_divided:
        raise RefusedError(
            "a release of two tables cannot be made to keep to earlier ones; release one table, or check it without "
            "again"
        )
    k = max((model.least_rows for one in (policy, *earlier) for model in one.privacy), default=1)
    recoding = settled(recoding, sizes, k)
    if recoding.suppressed_rows > budget or recoding.released_rows == 0:
        raise RefusedError(
            f"to keep to the earlier releases {recoding.suppressed_rows} of {recoding.rows} rows must be suppressed, "
            f"but the policy allows {budget}: people who are gone would be missed in too small a group; allow more "
            "suppression"
        )
    return recoding


def _refuse_other_ways(chosen: Algorithm, terms: Terms) -> None:
    """Raise if a release that must be m-invariant with earlier ones is asked for in a way that does not see to it."""
    if chosen.name != MInvariant.name:
        raise LedgerError(
            f"m-invariance over several releases is seen to by the algorithm {MInvariant.name!r} alone, not by "
            f"{chosen.name!r}: say algorithm = {MInvariant.name!r}"
        )
    if terms.again == "based":
        raise LedgerError(
            "with m-invariance people move between groups, so a release cannot be based on an earlier "
            "one: say again='consistent' (--again consistent)"
        )


def _found(encoded: Encoded, policy: Policy, chosen: Algorithm, watch: Watch) -> tuple[Recoding, int]:
    task = task_for(encoded, policy, secret=(HISTORY,))
    watch.start()
    watch.report("search")
    recoding = chosen.run(task, watch)
    if recoding.released_rows == 0:
        raise InfeasibleError("every row would have to be suppressed; lower k or add levels to the hierarchies")
    return recoding, max(task.budget, recoding.suppressed_rows)


def _terms(
    policy: Policy,
    recipient: str,
    source: str,
    colluding: Colluding,
    key: Sequence[str] | str | None,
    again: Again | None,
) -> Terms:
    """Bring together what a release is made under; raise if it makes no sense."""
    if again not in (None, "consistent", "based"):
        raise LedgerError(f"again must be 'consistent' or 'based', got {again!r}")
    if isinstance(colluding, str) and colluding not in ("all", "none"):
        raise LedgerError(f"colluding must be 'all', 'none' or a list of recipients, got {colluding!r}")
    if again is not None and policy.suppressed_rows == "blank":
        raise LedgerError(
            "a release that keeps to earlier ones removes suppressed rows: say suppressed_rows = 'remove'"
        )
    for column in promised(policy):
        refuse_linkable(policy, column)
    named = (key,) if isinstance(key, str) else tuple(key or policy.with_role("identifier"))
    for name in named:
        if name not in policy.columns:
            raise LedgerError(f"the key names {name!r}, which is no column of the policy")
    return Terms(recipient, source, colluding, named or tuple(policy.columns), not named, again, _kept(policy))


def _kept(policy: Policy) -> str:
    """Give a policy as a text by which later releases can be held to it."""
    text = policy_text(policy)
    try:
        parse_policy(text)
    except PolicyError:
        raise LedgerError(
            "a model or hierarchy of the policy cannot be written in a policy file, so the ledger could not hold later "
            "releases to it; use the models and hierarchies of indistinct"
        ) from None
    return text


def _refuse(found: Linked, terms: Terms) -> None:
    """Raise a RefusedError if a release would undo earlier ones."""
    if found.passed:
        return
    if found.failures[0].values is not None:
        advice = "make it with the algorithm 'm-invariance' and again='consistent' (--again consistent)"
    elif terms.again is not None:
        advice = "wait until more people have changed, or allow more suppression"
    else:
        advice = "let the search keep to them: again='consistent' or 'based' (--again)"
    raise RefusedError(f"refused: {found.reason}; {advice}")


def _refuse_other_key(entry: Entry, terms: Terms) -> None:
    """Raise if an earlier release recognised people by other columns, so that nobody would be recognised."""
    known = entry.details.get("key")
    now = "whole row" if terms.is_numbered else list(terms.key)
    if known != now:
        before = known if isinstance(known, str) else ", ".join(map(repr, known or []))
        raise LedgerError(
            f"entry {entry.number} recognises people by {before}; give the same key, or name another source if these "
            "are other people"
        )


def _based_columns(policy: Policy, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Give the quasi columns that the latest of the releases generalized, which the next one can be based on."""
    latest = parse_policy(entries[-1].policy).quasi if entries else ()
    is_one_table = bool(entries) and entries[-1].manifest.get("form") is None
    return tuple(name for name in policy.quasi if name in latest) if is_one_table else ()


def _limits(reading: dict[str, Any]) -> dict[str, Any]:
    return {name: reading[name] for name in ("memory_limit", "threads") if name in reading}
