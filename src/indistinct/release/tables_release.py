"""TablesRelease: several released tables that belong together, with one manifest and one verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from indistinct.counting.joined_tables import JoinedCount
from indistinct.counting.membership import NOWHERE, People
from indistinct.engine import Rows
from indistinct.errors import PolicyError, TableError
from indistinct.policy import PSEUDONYM, Person, Policy
from indistinct.randomness import SECURE, Draws
from indistinct.recoding import LinkedRecoding
from indistinct.recoding.table_plans import people_gone, table_plans
from indistinct.release.manifest import LINKED_TABLES
from indistinct.release.pseudonyms import PseudonymKey
from indistinct.release.release import Release
from indistinct.showing.numbers import figure


class TablesRelease(Release):
    """Several generalized tables, each in fresh random order, that a recipient can join by their pseudonyms.

    ``tables`` gives each by its name, of the kind that came in.
    """

    policy: Policy
    recoding: LinkedRecoding

    def __init__(
        self,
        parts: Mapping[str, Rows],
        joined: JoinedCount,
        recoding: LinkedRecoding,
        how: tuple[Policy, Mapping[str, Any]],
        salt: str | None = None,
    ) -> None:
        """Take the released rows, what was counted, the answer of the search, and the policy and what ran."""
        policy, made_with = how
        super().__init__(parts, recoding, policy, made_with, salt=salt)
        is_gone = people_gone(recoding)
        self._of_tables = {
            name: {
                "columns": list(self._parts[name].columns()),
                "eligible": int(table.rows.sum()),
                "released": table.rows_of(~is_gone),
                "suppressed": table.rows_of(is_gone),
                **parts[name].format(),
            }
            for name, table in joined.tables.items()
        }
        self._profiles = _profile_sizes(recoding)

    @property
    def table(self) -> Any:
        """There is more than one."""
        names = " and ".join(f'release.tables["{name}"]' for name in self._parts)
        raise TableError(f"this release has several tables: {names}")

    @property
    def facts(self) -> dict[str, Any]:
        """What the release says about itself: counts, levels and measures; no cell of the private tables."""
        facts = self.recoding.facts(self.policy)
        facts |= {"groups": len(self._profiles), "smallest_group": int(self._profiles.min())}
        facts |= {"form": LINKED_TABLES, "linked_tables": self._of_tables}
        if shifts := [shift for part in self.policy.parts.values() for shift in part.policy.shifted.values()]:
            facts["dates_moved"] = {"days": shifts[0].days}
        if unreadable := self.recoding.frequencies.unreadable:
            facts["unreadable"] = dict(unreadable)
        if self._salt is not None:
            facts["pseudonym_salt"] = self._salt
        return facts | {"measures": dict(self.measures)} | self.made_with

    def _renamed_in(self, table: str) -> Mapping[str, str]:
        return self.policy.parts[table].policy.renamed

    def report(self, *_: Any, **__: Any) -> Path:
        """There is none: a report is about one table."""
        raise PolicyError("a report is about one table; several tables that belong together have none")

    def __repr__(self) -> str:
        facts = self.facts
        state = "unverified" if self.verdict is None else "verified" if self.verdict.passed else "FAILED"
        return (
            f"Release({facts['released']} rows of {facts['people']['released']} people in {len(self._parts)} tables, "
            f"{facts['groups']} profiles of at least {facts['smallest_group']} people, {self.suppressed} suppressed, "
            f"precision {figure(self.measures['precision'])}, {state})"
        )


def recode_tables(
    encoded: Mapping[str, Any],
    joined: JoinedCount,
    recoding: LinkedRecoding,
    policy: Policy,
    draws: Draws = SECURE,
) -> tuple[dict[str, Rows], str | None]:
    """Return the released rows of each table under pseudonyms, and the salt by which the holder makes those anew."""
    assert isinstance(policy.person, Person)  # set when the policy was made
    key = PseudonymKey.fresh(policy.person, draws=draws)
    parts: dict[str, Rows] = {}
    try:
        for name, plan in table_plans(joined, recoding, draws).items():
            parts[name] = encoded[name].recode(plan)
            part = policy.parts[name]
            for column in part.policy.pseudonymous:
                own = f"{name}.{column}"
                if column == part.reference and part.parent is not None:
                    own = f"{part.parent}.{policy.parts[part.parent].key}"
                parts[name] = parts[name].with_pseudonyms((column,), key.for_column(own, part.policy), column)
            if part.person:
                parts[name] = parts[name].with_pseudonyms(part.person, key.key, PSEUDONYM)
    except BaseException:
        for rows in parts.values():
            rows.close()
        raise
    return parts, key.salt


def _profile_sizes(recoding: LinkedRecoding) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return how many people share each profile that is released."""
    people = recoding.groups.people
    assert people is not None  # rows are linked
    left = People(
        people.persons, np.where(recoding.is_gone, NOWHERE, people.groups), rows=people.rows, tree=people.tree
    )
    _, class_of = left.by_profile()
    return np.bincount(class_of[class_of >= 0]).astype(np.int64)
