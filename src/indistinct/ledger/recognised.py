"""Recognised people: a table with columns that no release shows, by which the ledger knows who is who.

The key names a person by a digest, the state tells whether her quasi cells have changed, and the history says what was
released of her before. Where a person may have several rows there are a digest of whose row it is and one that tells
her rows apart, and the key is only a number of the row. Only here and in ``again`` are these columns known: a search is
told of the history, and of a release nothing is left of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from indistinct.engine import HISTORY, KEY, PERSON, ROW, STATE, Recognition, Rows
from indistinct.errors import LedgerError
from indistinct.pipeline import Counted, count
from indistinct.policy import Column, Policy, identifier
from indistinct.proof.checks import Check
from indistinct.recoding import Recoding
from indistinct.recoding.classes import LINK
from indistinct.release import recode_rows
from indistinct.release.pseudonyms import PseudonymKey
from indistinct.release.release import count_and_hide_people
from indistinct.watch import Watch


@contextmanager
def recognise_people(rows: Rows, how: Recognition) -> Iterator[Rows]:
    """Give the eligible rows with the key, the state and the history of each person, for the time of the block."""
    recognised = rows.recognise(how)
    recognised.unreadable = rows.unreadable  # what a policy declares of cells was read before
    try:
        yield recognised
    finally:
        recognised.close()


def with_internal_columns(
    policy: Policy, history: Column | None = None, quasi_identifiers: Mapping[str, Sequence[str]] | None = None
) -> Policy:
    """Give the policy for rows whose people were recognised; the history plays a part only if it has a role."""
    names = (KEY, STATE, PERSON, ROW) if policy.person_columns else (KEY, STATE)
    internal = {**{name: identifier() for name in names}, HISTORY: history or identifier()}
    for name in policy.columns:
        if name.lower() in internal:
            raise LedgerError(f"column {name!r} has a name that the ledger needs for itself; give the column another")
    return replace(
        policy,
        columns={**policy.columns, **internal},
        quasi_identifiers=quasi_identifiers or policy.quasi_identifiers,
        eligible=(),  # rows that are not eligible were left out when the others were recognised
    )


def count_recognised(recognised: Rows, policy: Policy, watch: Watch) -> Counted:
    """Count rows whose people were recognised, under a policy that knows of the internal columns."""
    return count(recognised, policy, watch, secret=(KEY, STATE, HISTORY, PERSON, ROW))


def refuse_repeated_pseudonyms(recognised: Rows, policy: Policy) -> None:
    """Raise if an identifier's pseudonym would stand in several rows: what links them is not what the ledger judges."""
    for name in policy.pseudonymous:
        present, distinct = recognised.repeats_of([name])
        missing = recognised.count() - present
        repeated = present - distinct + max(0, missing - 1)
        if repeated:
            raise LedgerError(
                f"columns.{name}: {repeated} rows repeat a cell of another, so its pseudonym would link rows, and the "
                "ledger cannot tell what that reveals; leave the pseudonym out, or link the rows of people "
                "(person = { column = …, release = 'pseudonym' })"
            )


def recode_recognised(
    recognised: Rows,
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
    refuse_repeated_pseudonyms(recognised, policy)
    parts = recode_rows(counted.encoded, recoding, policy, (KEY, *policy.person_columns, *policy.pseudonymous))
    first = "quasi" if recoding.is_divided else "table"
    group = [LINK] if recoding.is_divided else policy.quasi
    recognised.write_members(parts[first], members, group, policy.with_role("sensitive"))
    parts[first] = parts[first].without([KEY])
    return parts, count_and_hide_people(parts, recoding, policy, key)


def without_history(recoding: Recoding) -> Recoding:
    """Give a recoding as it looks in the release, which knows nothing of histories."""
    return recoding.without_column(HISTORY)
