"""Entering a release that was made without the ledger: finding out who was in which of its groups."""

from __future__ import annotations

from pathlib import Path

from indistinct.engine import PROFILE, Recognition, Rows
from indistinct.errors import LedgerError
from indistinct.ledger.again import with_internal_columns
from indistinct.ledger.offer import count_recognised, recode_recognised, recognise_people
from indistinct.policy import PSEUDONYM, Policy
from indistinct.progress import Watch
from indistinct.proof.verdict import verify
from indistinct.release.manifest import MANIFEST, has_manifest
from indistinct.release.pseudonyms import PseudonymKey
from indistinct.release.released_tables import ReleasedTables


def write_members_of(folder: Path, rows: Rows, policy: Policy, how: Recognition, path: Path) -> None:
    """Write who was released in which group of a release folder.

    The release is made anew from its original and must come out the same, row by row; that is possible where every
    column was taken to one level.
    """
    if not has_manifest(folder):
        raise LedgerError(f"{folder} is no release folder: it has no {MANIFEST}")
    released = ReleasedTables.of(folder, policy)
    verify(released, policy).raise_if_failed()
    manifest = released.said
    if manifest["node"] is None or released.is_apart:
        raise LedgerError(
            f"{folder} cannot be entered afterwards: nothing in it tells which of its groups a person went to, since "
            "cells were generalized one by one or sensitive values are in a table of their own; make such releases "
            "with the ledger"
        )
    policy.check(rows.columns())
    with recognise_people(rows, how) as recognised:
        with count_recognised(recognised, with_internal_columns(policy), Watch()) as counted:
            node = tuple(int(manifest["node"][column]) for column in counted.task.frequencies.columns)
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
