"""DecodedPair: a release and its original, decoded alike, so that every figure can be computed of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from indistinct.array_types import IntArray
from indistinct.data_utility.decode import (
    Decoded,
    DecodedColumn,
    NumberColumn,
    decode,
    decode_original,
    decode_with_domains,
)
from indistinct.errors import PolicyError
from indistinct.policy import PSEUDONYM, Policy
from indistinct.release.released_tables import ReleasedTables


@dataclass(frozen=True, slots=True, eq=False)
class DecodedPair:
    """The columns that a release shares with its original, of both."""

    release: Decoded
    original: Decoded
    clusters: IntArray | None = None
    """Whose row each of the original is, as numbers; None where nobody says it."""
    released_clusters: IntArray | None = None
    """Whose row each of the release is; None where it has no pseudonyms."""

    @classmethod
    def of(cls, release: Any, original: Any, policy: Policy, **reading: Any) -> DecodedPair:
        """Decode a release and the eligible rows of its original; identifiers and pseudonyms are left out.

        A column that holds numbers in one of them only is a category in both. The step between numbers is that of
        the original, and so are the values below labels such as ``130**``: both count as known.
        """
        limits = {name: value for name, value in reading.items() if name in ("memory_limit", "threads")}
        tables = ReleasedTables.of(release, policy, **limits)
        everything = decode(tables, policy=policy)
        hidden = {*policy.person_columns, *policy.pseudonym_columns, *policy.with_role("identifier")}
        released = _only(
            everything, [name for name in everything.columns if name in policy.columns and name not in hidden]
        )
        private, clusters = decode_original(original, policy, released, **reading)
        names = list(private.columns)
        released = decode_with_domains(tables, policy, private)
        released = Decoded(
            {name: _fitting(released.columns[name], private.columns[name]) for name in names}, len(released)
        )
        if not len(released) or not released.columns:
            raise PolicyError("the release has no row or no column in common with its original: nothing to compare")
        pseudonym = everything.columns.get(PSEUDONYM) if policy.links_rows else None
        return cls(released, private, clusters, None if pseudonym is None else pseudonym.codes)


def _only(table: Decoded, names: list[str]) -> Decoded:
    return Decoded({name: table.columns[name] for name in names}, table.rows)


def _fitting(released: DecodedColumn, own: DecodedColumn) -> DecodedColumn:
    """Return a released column with the step of the original, where its labels alone suggest a wider one.

    A column that says nothing at all is of the same kind as in the original.
    """
    if not isinstance(own, NumberColumn):
        return released
    if isinstance(released, NumberColumn):
        return replace(released, unit=own.unit) if own.unit < released.unit else released
    one = np.ones(1)
    codes = np.zeros(len(released), np.int64)
    return NumberColumn(own.name, own.kind, ("*",), codes, -np.inf * one, np.inf * one, 0 * one, 0 * one, own.unit, one)
