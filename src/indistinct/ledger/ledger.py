"""Ledger: remembers what was released to whom, and lets nothing leave that would undo an earlier release."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from indistinct.atomic_files import private_folder
from indistinct.errors import RefusedError
from indistinct.ledger.history import Earlier, Linked
from indistinct.ledger.offer import Offer, write_members_of
from indistinct.ledger.store.entry import Draft, Entry, due_entries
from indistinct.ledger.store.entry_files import MEMBERS, RELEASE
from indistinct.ledger.store.spending import Spending, add_spending, refuse_overspending
from indistinct.ledger.store.store import HeadMoved, Store
from indistinct.ledger.terms import Again, Colluding, Terms
from indistinct.pipeline import anonymize as make_release
from indistinct.pipeline import choose_algorithm, open_declared
from indistinct.policy import Policy
from indistinct.policy.files.policy_file import load_policy
from indistinct.privacy import DifferentialPrivacy as Private
from indistinct.progress import Watch
from indistinct.proof.verdict import verify
from indistinct.release import Release
from indistinct.release.manifest import read_manifest, refuse_occupied
from indistinct.release.signature import private_key
from indistinct.search import Algorithm

if TYPE_CHECKING:
    from indistinct.ledger.store.audit import Audit


class Ledger:
    """What was released, to whom and when, as a chain of entries that only ever grows.

    ``url`` is the path of an SQLite file, or the address of a PostgreSQL database; ``Ledger.create`` makes a new one.
    ``folder`` is where its files are, if they are not where they were when it was made.
    """

    def __init__(self, url: str | Path, *, folder: str | Path | None = None) -> None:
        self.store = Store(url, folder=folder)

    @classmethod
    def create(
        cls,
        url: str | Path,
        folder: str | Path | None = None,
        *,
        witness: str | Path | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
    ) -> Ledger:
        """Make a new ledger and open it; ``folder`` is where the released tables are kept, by default beside it.

        ``epsilon`` and ``delta`` are the budget of each source: what its releases may spend together under differential
        privacy. A ledger with a budget takes no other releases.
        """
        budget = Spending.of_budget(epsilon, delta)
        Store.create(url, folder=folder, witness=witness, budget=budget).close()
        return cls(url)

    @property
    def entries(self) -> list[Entry]:
        """All entries, the oldest first."""
        return list(self.store.entries())

    @property
    def head(self) -> str:
        """The hash of the last entry: note it elsewhere, and nobody can shorten the ledger unseen."""
        return self.store.head

    @property
    def spent(self) -> dict[str, Spending]:
        """What the releases of each source have spent together under differential privacy."""
        return add_spending(self.store.entries())

    def due(self, on: date | None = None) -> list[Entry]:
        """Return the entries whose day of review has come, today or ``on`` that day, the longest due first."""
        return due_entries(self.store.entries(), on)

    def verify(self, head: str | None = None) -> Audit:
        """Recompute the chain and compare every stored file with its digest."""
        return self.store.verify(head=head)

    def anonymize(
        self,
        table: Any,
        policy: Policy | str | os.PathLike[str],
        *,
        recipient: str,
        purpose: str = "",
        source: str = "main",
        key: Sequence[str] | str | None = None,
        colluding: Colluding = "all",
        again: Again | None = None,
        review: date | str | None = None,
        algorithm: Algorithm | str | None = None,
        folder: str | Path | None = None,
        replace: bool = False,
        sign: Any = None,
        refuse: Callable[[Release], None] | None = None,
        watch: Watch | None = None,
        **reading: Any,
    ) -> Release:
        """Return a verified release that undoes no earlier one, after it was entered in the ledger.

        It is checked against all releases of the same ``source`` that the recipient, or those who might collude with
        her, already hold; a RefusedError says why it may not leave. ``key`` names the columns by which people are
        recognised; by default the policy's identifiers, or else the whole row. Where the policy says whose row it is,
        people are recognised by that, and ``key`` tells the rows of a person apart. ``again="consistent"`` has the
        search keep to what was released before, ``again="based"`` also lets nothing become more specific than it was
        in the latest of those releases. ``review`` is the day when the release is to be looked at again. With
        ``folder`` the release is written there as well, whole or not at all; ``sign`` is a private key, or its file.
        ``refuse`` is shown the release before it leaves, and raises if there is another reason why it may not.
        """
        policy = load_policy(policy)
        chosen = choose_algorithm(algorithm, policy)
        if folder is not None:
            refuse_occupied(Path(folder), replace)
        goal = _Goal(folder, replace, None if sign is None else private_key(sign))
        terms = Terms(policy, recipient, source, purpose, key, colluding, again, review)
        self._refuse_overspending(terms)
        if policy.is_drawn:
            release = make_release(table, policy, algorithm=chosen, watch=watch, **reading)
            return self._give_drawn(release, terms, goal, refuse)
        with open_declared(table, policy, **reading) as tables:
            while True:
                with private_folder() as private:
                    offer = Offer(tables, terms, chosen, private, watch or Watch(), reading)
                    try:
                        return self._give(offer, goal, refuse)
                    except _OvertakenError:
                        continue  # somebody else released in the meantime, and what was found does not hold any more

    def check(
        self,
        table: Any,
        policy: Policy | str | os.PathLike[str],
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
        """Return what a release would reveal together with earlier ones, without making an entry or giving it away."""
        policy = load_policy(policy)
        terms = Terms(policy, recipient, source, named_key=key, colluding=colluding, again=again)
        chosen = choose_algorithm(algorithm, policy)
        self._refuse_overspending(terms)
        if policy.is_drawn:
            return ALONE
        with open_declared(table, policy, **reading) as tables, private_folder() as private:
            earlier = self._earlier(terms, reading)
            offer = Offer(tables, terms, chosen, private, watch or Watch(), reading)
            offer.make(earlier, self.store.secret).close()
            return earlier.joined_with(offer.members, policy)

    def add(
        self,
        release: str | Path,
        policy: Policy | str | os.PathLike[str],
        original: Any,
        *,
        recipient: str,
        purpose: str = "",
        source: str = "main",
        key: Sequence[str] | str | None = None,
        review: date | str | None = None,
        **reading: Any,
    ) -> tuple[Entry, Linked]:
        """Enter a release folder that was made without the ledger; return the entry and what it reveals with others.

        It has left the house already, so it is entered whatever is found. The original shows who was in which group.
        ``review`` is the day when the release is to be looked at again.
        """
        policy = load_policy(policy, to="ledger add")
        terms = Terms(policy, recipient, source, purpose, key, review=review)
        if policy.is_drawn:
            verify(release, policy, original=original, **reading).raise_if_failed()
            return self._append_drawn(terms, Path(release), {"added": True}), ALONE
        with open_declared(original, policy, **reading) as tables, private_folder() as private:
            members = private / MEMBERS
            write_members_of(Path(release), tables, terms, self.store.secret, members)
            while True:
                head, earlier = self.head, self._earlier(terms, reading)  # no entry can come in between unseen
                found = earlier.joined_with(members, policy)
                try:
                    return self._append(terms, Path(release), members, found, head, {"added": True}), found
                except HeadMoved:
                    continue

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

    def _earlier(self, terms: Terms, reading: Mapping[str, Any]) -> Earlier:
        """Return the releases that the recipient and those who might collude with her hold."""
        every = [entry for entry in self.store.entries(source=terms.source) if not entry.is_drawn]
        entries = terms.entries_held(every)
        return Earlier.of(entries, self.store.files, reading, names_rows=terms.names_rows)

    def _give(self, offer: Offer, goal: _Goal, refuse: Callable[[Release], None] | None) -> Release:
        """Make a release, check it, enter it and give it; raise _OvertakenError if it must be made anew."""
        earlier = self._earlier(offer.terms, offer.reading)
        release = offer.make(earlier, self.store.secret)

        def enter(written: Path) -> None:
            """Enter the written release, the last step before its folder gets its name."""
            release.entry = self._enter(offer, written, earlier, found).number

        try:
            if refuse is not None:
                refuse(release)
            offer.watch.report("ledger")
            found = earlier.joined_with(offer.members, offer.terms.policy)
            _refuse_undoing(found, offer.terms)
            offer.watch.report("write")
            release.ledger_head = self.head
            goal.write(release, offer.private, enter)
        except BaseException:
            release.close()
            raise
        return release

    def _refuse_overspending(self, terms: Terms) -> None:
        """Raise a RefusedError if a release would spend more than the budget of its source."""
        if self.store.budget is None:
            return
        own = next((Spending(m.epsilon, m.delta) for m in terms.policy.privacy if isinstance(m, Private)), None)
        refuse_overspending(terms.source, own, self.store.entries(source=terms.source), self.store.budget)

    def _give_drawn(
        self, release: Release, terms: Terms, goal: _Goal, refuse: Callable[[Release], None] | None
    ) -> Release:
        """Enter a release whose rows were drawn, and give it; it needs no look at earlier ones, only at the budget."""

        def enter(written: Path) -> None:
            release.entry = self._append_drawn(terms, written, {}).number

        try:
            if refuse is not None:
                refuse(release)
            with private_folder() as private:
                goal.write(release, private, enter)
        except BaseException:
            release.close()
            raise
        return release

    def _append_drawn(self, terms: Terms, written: Path, details: Mapping[str, Any]) -> Entry:
        """Append the entry of a release whose rows were drawn; nobody is told who is in it."""
        while True:
            head = self.head
            if "added" not in details:  # what has left the house is booked whatever it spent
                self._refuse_overspending(terms)
            try:
                return self._append(terms, written, None, ALONE, head, details)
            except HeadMoved:
                continue

    def _enter(self, offer: Offer, written: Path, checked: Earlier, found: Linked) -> Entry:
        """Enter a written release that was checked; what was entered in the meantime is checked as well."""
        terms = offer.terms
        while True:
            head, now = self.head, self._earlier(terms, offer.reading)
            if now.numbers != checked.numbers:
                checked, found = now, now.joined_with(offer.members, terms.policy)
                if not found.passed and terms.again is not None:
                    raise _OvertakenError
                _refuse_undoing(found, terms)
            try:
                details = {} if terms.again is None else {"again": terms.again}
                return self._append(terms, written, offer.members, found, head, details)
            except HeadMoved:
                continue

    def _append(
        self, terms: Terms, written: Path, members: Path | None, found: Linked, head: str, details: Mapping[str, Any]
    ) -> Entry:
        """Store the files of a release and append its entry, if the ledger still ends where it did."""

        def write(folder: Path) -> None:
            if members is not None:
                shutil.copyfile(members, folder / MEMBERS)
            (folder / RELEASE).mkdir()
            for path in written.iterdir():
                shutil.copyfile(path, folder / RELEASE / path.name)

        known = {
            **terms.details,
            "checked_against": list(found.entries),
            "people": found.people,
            "cells": found.cells,
            "smallest_cell": found.smallest,
            "people_at_risk": found.at_risk,
        }
        with self.store.stage(write) as staged:
            draft = Draft(
                recipient=terms.recipient,
                purpose=terms.purpose,
                source=terms.source,
                manifest=read_manifest(written).to_dict(),
                policy=terms.policy_kept,
                files=staged.digests,
                place=staged.place,
                details={**known, **details},
            )
            return self.store.append(draft, head)


ALONE = Linked((), 0, 0, 0, 0, ())
"""What a release whose rows were drawn reveals with others: no more than it spends."""


class _Goal(NamedTuple):
    """Where a release is written beside the ledger's store, if anywhere, and the private key that signs it."""

    folder: str | Path | None
    replace: bool
    key: Any

    def write(self, release: Release, private: Path, enter: Callable[[Path], None]) -> None:
        """Write a release, or else put it into a private folder, and enter it before it gets its name."""
        if self.folder is None:
            release.write(private / RELEASE, sign=self.key, before_naming=enter)
        else:
            release.write(self.folder, replace=self.replace, sign=self.key, before_naming=enter)


class _OvertakenError(Exception):
    """Another release was entered while this one was made, and this one must be made anew."""


def _refuse_undoing(found: Linked, terms: Terms) -> None:
    """Raise a RefusedError if a release would undo earlier ones."""
    if found.passed:
        return
    if found.unrecognised:
        advice = (
            "name the columns that tell the rows of a person apart as the key (--key, or key of each table), from the "
            "first release of a source on"
        )
    elif terms.person:
        advice = "generalize more, or release it to somebody who holds none of them (colluding, --colluding)"
    elif found.failures[0].values is not None:
        advice = "make it with the algorithm 'm-invariance' and again='consistent' (--again consistent)"
    elif terms.again is not None:
        advice = "wait until more people have changed, or allow more suppression"
    else:
        advice = "let the search keep to them: again='consistent' or 'based' (--again)"
    raise RefusedError(f"refused: {found.reason}; {advice}")
