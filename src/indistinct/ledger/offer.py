"""Offer: a release that is made for a recipient, before anything of it is given away.

It is made of recognised people: the table has columns that no release shows, by which the ledger knows who is who. The
key names a person by a digest, the state tells whether her quasi cells have changed, and the history says what was
released of her before. Where a person may have several rows there are a digest of whose row it is and one that tells
her rows apart, and the key is only a number of the row. Only here and in ``again`` are these columns known: a search is
told of the history, and of a release nothing is left of them. A release that was made without the ledger is made anew
in the same way, to learn who was in which of its groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from indistinct.engine import (
    HISTORY,
    KEY,
    PARENT,
    PERSON,
    PROFILE,
    ROW,
    STATE,
    Recognition,
    Rows,
    TableMembers,
    join_members,
)
from indistinct.errors import LedgerError
from indistinct.ledger.again import History, search_again, with_internal_columns, write_history
from indistinct.ledger.history import Earlier
from indistinct.ledger.store.entry_files import MEMBERS
from indistinct.ledger.terms import Terms
from indistinct.pipeline import Counted, count, recount
from indistinct.pipeline.stages import count_and_hide_people, made_with, refuse_risk
from indistinct.policy import PSEUDONYM, Part, Person, Policy
from indistinct.progress import Watch
from indistinct.proof.checks import Check
from indistinct.proof.verdict import verify
from indistinct.recoding import Recoding
from indistinct.release import Release
from indistinct.release.manifest import MANIFEST, has_manifest
from indistinct.release.pseudonyms import PseudonymKey, stable_key
from indistinct.release.released_tables import ReleasedTables
from indistinct.search import Algorithm


@dataclass(frozen=True, slots=True)
class Offer:
    """What a release is made of, for whom, how, and in which folder its private files are until it is entered."""

    tables: Mapping[str, Rows]
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
        history = History()
        if self.terms.again is not None:
            (rows,) = self.tables.values()  # of several tables nobody asks for it
            history = write_history(rows, self.terms, self.algorithm, earlier, self.private)
        how, asked = recognitions(self.terms, secret, history), history.policy(policy)
        with recognise_people(self.tables, how) as recognised, count_recognised(recognised, asked, watch) as counted:
            recoding = search_again(counted, self.algorithm, history, watch)
            watch.report("release")
            key = pseudonym_key(self.terms, secret)
            parts, people = recode_recognised(recognised, counted, recoding, policy, self.members, key)
            made = made_with(self.algorithm, watch, counted.task, counted.max_tuples)
            made = replace(made, based=True) if history.based else made
        salt = None if key is None else key.salt
        release = Release(parts, without_history(recoding), policy, made, people, salt)
        return refuse_risk(recount(release, watch))


def pseudonym_key(terms: Terms, secret: bytes) -> PseudonymKey | None:
    """Return the key of a release's pseudonyms, if it has any; that of stable ones is made of the ledger's secret."""
    if not terms.policy.pseudonym_columns:
        return None
    person = terms.policy.person
    return PseudonymKey.fresh(person if isinstance(person, Person) else None, stable_key(secret, terms.source))


def recognitions(terms: Terms, secret: bytes, history: History | None = None) -> dict[str, Recognition]:
    """Say how people are recognised in each table under these terms, and what is known of them already."""
    history = history or History()
    if terms.policy.tables:
        return {name: _recognition_in(name, part, secret) for name, part in terms.policy.parts.items()}
    whole_row = tuple(sorted(terms.policy.columns))
    (table,) = terms.policy.parts
    how = Recognition(
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
    return {table: how}


def _recognition_in(table: str, part: Part, secret: bytes) -> Recognition:
    """Say how people are recognised in one of several tables: by its key a row is known again, or by all its cells."""
    policy = part.policy
    reference = () if part.reference is None else (part.reference,)
    return Recognition(
        key=part.person or reference,
        state=(),
        secret=secret.hex(),
        where=tuple(condition.as_triple() for condition in policy.eligible),
        person=part.person or reference,
        row=tuple(sorted(policy.columns)) if part.unique is None else (part.unique,),
        names_rows=part.unique is not None,
        table=table,
        parent=reference if part.parent else (),
        above=part.parent or "",
    )


@contextmanager
def recognise_people(tables: Mapping[str, Rows], how: Mapping[str, Recognition]) -> Iterator[dict[str, Rows]]:
    """Return the eligible rows with the key, the state and the history of each person, for the time of the block."""
    with ExitStack() as stack:
        found = {}
        for name, rows in tables.items():
            found[name] = recognised = rows.recognise(how[name])
            stack.callback(recognised.close)
            recognised.unreadable = rows.unreadable  # what a policy declares of cells was read before
        yield found


def count_recognised(recognised: Mapping[str, Rows], policy: Policy, watch: Watch) -> Counted:
    """Count rows whose people were recognised, under a policy that knows of the internal columns."""
    return count(recognised, policy, watch, secret=(KEY, STATE, HISTORY, PERSON, ROW, PARENT))


def recode_recognised(
    recognised: Mapping[str, Rows],
    counted: Counted,
    recoding: Recoding,
    policy: Policy,
    members: Path,
    key: PseudonymKey | None = None,
) -> tuple[dict[str, Rows], list[Check]]:
    """Recode rows whose people were recognised, and write who is in which group; the policy is that of the release.

    Also give what was counted on the very rows while they said whose they are, where a person may have several.
    Pseudonyms are made under the key.
    """
    for name, part in policy.parts.items():
        refuse_repeated_pseudonyms(recognised[name], part)
    parts = counted.recode_parts(recoding, policy, (KEY,))
    if policy.tables:
        _write_joint_members(recognised, parts, policy, members)
    else:
        (rows,) = recognised.values()
        first, group = recoding.form.first, recoding.form.grouped_by(policy.quasi)
        rows.write_members(parts[first], members, group, policy.with_role("sensitive"))
    for name, made in parts.items():
        if KEY in made.columns():
            parts[name] = made.without([KEY])
    return parts, count_and_hide_people(parts, recoding, policy, key)


def _write_joint_members(
    recognised: Mapping[str, Rows], parts: Mapping[str, Rows], policy: Policy, members: Path
) -> None:
    """Write who is in which group of several tables: of each table by itself first, then as one file."""
    found = []
    for name in policy.in_order():
        part, path = policy.parts[name], members.with_name(f"{name}.{members.name}")
        values = part.policy.with_role("sensitive")
        recognised[name].write_members(parts[name], path, part.policy.quasi, values)
        found.append(
            TableMembers(path, name, part.parent, bool(part.person), named=part.unique is not None, values=values)
        )
    join_members(found, members)


def refuse_repeated_pseudonyms(recognised: Rows, part: Part) -> None:
    """Raise if an identifier's pseudonym would stand in several rows: what links them is not what the ledger judges.

    What joins several tables may: that rows belong to each other is judged.
    """
    for name in part.policy.pseudonymous:
        if name in (part.key, part.reference):
            continue
        present, distinct = recognised.repeats_of([name])
        missing = recognised.count() - present
        repeated = present - distinct + max(0, missing - 1)
        if repeated:
            raise LedgerError(
                f"columns.{name}: {repeated} rows repeat a cell of another, so its pseudonym would link rows, and the "
                "ledger cannot tell what that reveals; leave the pseudonym out, or link the rows of people "
                "(person = { column = …, release = 'pseudonym' })"
            )


def without_history(recoding: Recoding) -> Recoding:
    """Return a recoding as it looks in the release, which knows nothing of histories."""
    return recoding.without_column(HISTORY)


def write_members_of(folder: Path, tables: Mapping[str, Rows], terms: Terms, secret: bytes, path: Path) -> None:
    """Write who was released in which group of a release folder.

    The release is made anew from its original and must come out the same, row by row; that is possible where every
    column was taken to one level.
    """
    policy = terms.policy
    if not has_manifest(folder):
        raise LedgerError(f"{folder} is no release folder: it has no {MANIFEST}")
    released = ReleasedTables.of(folder, policy)
    verify(released, policy).raise_if_failed()
    levels = released.claims.node
    if levels is None or not released.form.generalizes:
        raise LedgerError(
            f"{folder} cannot be entered afterwards: nothing in it tells which of its groups a person went to, since "
            "cells were generalized one by one or sensitive values are in a table of their own; make such releases "
            "with the ledger"
        )
    with recognise_people(tables, recognitions(terms, secret)) as recognised:
        with count_recognised(recognised, with_internal_columns(policy), Watch()) as counted:
            node = tuple(int(levels[column]) for column in counted.task.frequencies.columns)
            recoding = counted.task.recoding(counted.task.frequencies.roll_up(node)[0])
            key = PseudonymKey.fresh(stable=bytes(32)) if policy.pseudonym_columns else None  # it stays in here
            made = recode_recognised(recognised, counted, recoding, policy, path, key)[0]["table"]
        with made:
            _refuse_another(made, released, policy)


def _refuse_another(made: Rows, released: ReleasedTables, policy: Policy) -> None:
    """Raise if a release made anew has other rows than the one that is to be entered."""
    columns = policy.with_role("quasi", "sensitive", "other")
    with released.only_rows() as rows:
        is_another = made.count() != rows.count() or bool(made.difference(rows, columns))
        if policy.links_rows and not is_another:
            with (
                made.with_profiles(columns, (PSEUDONYM,), PROFILE) as mine,
                rows.with_profiles(columns, (PSEUDONYM,), PROFILE) as theirs,
            ):
                is_another = bool(mine.difference(theirs, (PROFILE,)))
        if is_another:
            raise LedgerError(
                f"{released.folder} is not the release of this original at the levels that its manifest states; give "
                "the original as it was when the release was made"
            )
