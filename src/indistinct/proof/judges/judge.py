"""Judge: what every form of release is asked: what its cells alone show, and whether they are true."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from indistinct.engine import Rows
from indistinct.linkage import read_once
from indistinct.policy import Policy
from indistinct.proof.checks import Check, Recount, unreadable_checks
from indistinct.release.released_tables import Claims, ReleasedTables


class Judge(ABC):
    """Judges the tables of a release, which are open, by a policy."""

    def __init__(self, released: ReleasedTables, tables: Mapping[str, Rows], policy: Policy, claims: Claims) -> None:
        self.released = released
        self.tables = tables
        self.policy = policy
        self.claims = claims

    @property
    def policies(self) -> Mapping[str, Policy]:
        """The policy of each table."""
        return dict.fromkeys(self.tables, self.policy)

    def refuse_original(self, original: Any) -> None:
        """Raise a TableError if this cannot be an original of such a release."""
        return

    @abstractmethod
    def recount(self) -> Recount:
        """Return what the released cells alone show."""

    @abstractmethod
    def truth_checks(self, source: Rows) -> list[Check]:
        """Check the cells against the original, and how many rows are missing."""

    def stated_people_checks(self) -> list[Check]:
        """Compare the people that a release is about, as its manifest says, with its cells."""
        return []

    def prove(self, original: Any, found: Recount, *, is_sound: bool, **reading: Any) -> list[Check]:
        """Check the release against its original; ``is_sound`` if what its manifest states is possible."""
        from indistinct.proof.people_recount import stated_people_checks
        from indistinct.proof.stated_measures import measures_check

        with read_once(original, self.policy, **reading) as source:
            checks = [*unreadable_checks(source, self.claims.unreadable), *(truth := self.truth_checks(source))]
            said = self.released.said
            if said is not None and is_sound and all(check.passed for check in truth):
                first = self.tables[self.released.form.first]
                figures = measures_check(said, first, source, self.policy, found.sizes)
                checks += stated_people_checks(said, source, self.policy) + ([] if figures is None else [figures])
        return checks


def judge_of(released: ReleasedTables, tables: Mapping[str, Rows], policy: Policy, claims: Claims) -> Judge:
    """Return what judges a release of this form; of other forms nothing is loaded."""
    module = released.form.judged_in if policy.knows is None else "known_events"
    kind: type[Judge] = import_module(f"indistinct.proof.judges.{module}").JUDGE
    return kind(released, tables, policy, claims)
