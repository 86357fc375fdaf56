"""Offer: a release that is made for a recipient, before anything of it is given away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indistinct.algorithms import Algorithm
from indistinct.engine import Recognition, Rows
from indistinct.ledger.again import History, search_again, tell_history
from indistinct.ledger.history import Earlier
from indistinct.ledger.recognised import count_recognised, recode_recognised, recognise_people, without_history
from indistinct.ledger.store.entry_files import MEMBERS
from indistinct.ledger.terms import Terms
from indistinct.pipeline import recount
from indistinct.pipeline.stages import made_with
from indistinct.policy import Person
from indistinct.release import Release
from indistinct.release.pseudonyms import PseudonymKey, stable_key
from indistinct.watch import Watch


@dataclass(frozen=True, slots=True)
class Offer:
    """What a release is made of, for whom, how, and in which folder its private files are until it is entered."""

    rows: Rows
    terms: Terms
    algorithm: Algorithm
    private: Path
    watch: Watch
    reading: Mapping[str, Any]

    @property
    def members(self) -> Path:
        """The file that tells who was released in which group."""
        return self.private / MEMBERS

    def make(self, earlier: Earlier, secret: bytes) -> Release:
        """Make the release that the terms ask for, and write who is in which of its groups.

        The path is that of ``anonymize``, on rows whose people were recognised; with ``again`` the search is told of
        the earlier releases.
        """
        policy, watch = self.terms.policy, self.watch
        policy.check(self.rows.columns())
        history = History()
        if self.terms.again is not None:
            history = tell_history(self.rows, self.terms, self.algorithm, earlier, self.private)
        how, asked = recognition(self.terms, secret, history), history.policy(policy)
        with recognise_people(self.rows, how) as recognised, count_recognised(recognised, asked, watch) as counted:
            recoding = search_again(counted, self.algorithm, history, watch)
            watch.report("release")
            key = pseudonym_key(self.terms, secret)
            parts, people = recode_recognised(recognised, counted, recoding, policy, self.members, key)
            made = made_with(self.algorithm, watch, counted.task, counted.encoded.max_tuples)
            made |= {"based": True} if history.based else {}  # measures begin at the labels of the earlier release
        salt = None if key is None else key.salt
        return recount(Release(parts, without_history(recoding), policy, made, people, salt), watch)


def pseudonym_key(terms: Terms, secret: bytes) -> PseudonymKey | None:
    """Give the key of a release's pseudonyms, if it has any; that of stable ones is made of the ledger's secret."""
    if not terms.policy.pseudonym_columns:
        return None
    person = terms.policy.person
    return PseudonymKey.fresh(person if isinstance(person, Person) else None, stable_key(secret, terms.source))


def recognition(terms: Terms, secret: bytes, history: History | None = None) -> Recognition:
    """Say how people are recognised under these terms, and what is known of them already."""
    history = history or History()
    whole_row = tuple(sorted(terms.policy.columns))
    return Recognition(
        key=terms.key,
        state=terms.policy.quasi,
        secret=secret.hex(),
        numbered=terms.is_numbered,
        earlier=history.path,
        based=tuple(history.based),
        where=tuple(condition.as_triple() for condition in terms.policy.eligible),
        person=terms.person,
        row=(terms.key if terms.names_rows else whole_row) if terms.person else (),
        names_rows=terms.names_rows,
    )
