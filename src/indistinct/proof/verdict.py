"""verify(): recounts a released table from its own cells, and against the original if that is at hand.

Nothing here uses the search: groups are counted by the engine's plain GROUP BY, and what had to be suppressed is
worked out anew with NumPy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from indistinct.errors import PolicyError, TableError
from indistinct.policy import Policy
from indistinct.policy.files.policy_file import load_policy
from indistinct.policy.stated_policy import stated_policy
from indistinct.proof.canonical import canonical_checks
from indistinct.proof.checks import (
    Check,
    Checked,
    NotChecked,
    Recount,
    explain_bad_signature,
    folder_checks,
    limit_checks,
    reader_checks,
    unchecked_signature,
    unsafe_checks,
)
from indistinct.proof.judges.judge import Judge, judge_of
from indistinct.proof.known_columns import KnownColumns
from indistinct.proof.people_recount import NOT_COUNTED
from indistinct.proof.sentences import PLURALS, count_words
from indistinct.proof.statements import manifest_check, search_check, unchecked_statements
from indistinct.release.forms import ONE_TABLE
from indistinct.release.manifest import StatedCheck, StatedKnown, StatedVerdict
from indistinct.release.released_tables import Claims, ReleasedTables
from indistinct.showing.words import counted

SETS_CHECK = "histories.sets"


@dataclass(frozen=True, slots=True)
class Verdict(Checked):
    """What an independent recount found about a release."""

    subject: ClassVar[str] = "release"

    checks: tuple[Check, ...]
    rows: int
    groups: int
    smallest_group: int
    noun: str = "group"
    """What the groups are called: those of a release of two tables are classes."""
    not_checked: tuple[NotChecked, ...] = ()
    """What could not be checked with what is at hand."""
    known: tuple[KnownColumns, ...] = ()
    """What whoever knows few columns finds at the least, where a model says how many."""

    @property
    def groups_in_words(self) -> str:
        """The number of groups, or of classes."""
        return count_words(self.groups, self.noun)

    @property
    def known_in_words(self) -> str:
        """What holds for whoever knows few columns; empty where no model asks for that."""
        several = len(self.known) > 1
        return "; ".join(f"{one.in_words}{f' on {one.on}' if several else ''}" for one in self.known)

    @property
    def fewest_who_fit(self) -> int:
        """The fewest people who fit what may be known of one: her row, and her events if a policy says how many."""
        return min(
            (one.numbers["smallest"] for one in self.checks if one.id == SETS_CHECK and one.numbers["sets"]),
            default=self.smallest_group,
        )

    def with_people(self, people: Sequence[Check]) -> Verdict:
        """The same verdict with what was counted of people before it was dropped whose rows they are."""
        rest = tuple(check for check in self.checks if check != NOT_COUNTED)
        more = [check for check in people if check not in rest]
        return replace(self, checks=(*rest, *more)) if people else self

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON takes it."""
        return {
            "passed": self.passed,
            "rows": self.rows,
            "groups": self.groups,
            "smallest_group": self.smallest_group,
            **({"known": [one.to_dict() for one in self.known]} if self.known else {}),
            "checks": [{"name": one.name, "detail": one.detail, **one.to_dict()} for one in self.checks],
            **({"not_checked": list(map(str, self.not_checked))} if self.not_checked else {}),
        }

    def to_statement(self) -> StatedVerdict:
        """Return the verdict as a manifest states it."""
        return StatedVerdict(
            passed=self.passed,
            rows=self.rows,
            groups=self.groups,
            smallest_group=self.smallest_group,
            known=tuple(StatedKnown(**one.to_dict()) for one in self.known) or None,
            checks=tuple(StatedCheck(**one.to_dict()) for one in self.checks),
        )

    def _repr_html_(self) -> str:
        """Return the verdict as a notebook shows it."""
        from indistinct.showing.notebook import card, table

        figures = {"rows": self.rows, PLURALS[self.noun]: self.groups, "in the smallest": self.smallest_group}
        checks = [["✓" if check.passed else "✗ FAILED", check.name, check.detail] for check in self.checks]
        mark = "✓ passed" if self.passed else "✗ FAILED: do not hand this table out"
        return card("Verdict", mark, figures, table(["", "check", "found"], checks))

    def __str__(self) -> str:
        known = f"; {self.known_in_words}" if self.known else ""
        rows = counted(self.rows, "row")
        found = self._report(f"{rows}, {self.groups_in_words}, smallest {self.smallest_group:,}{known}")
        return "\n".join([found, *(f"– not checked: {what}" for what in self.not_checked)])


def verify(
    table: Any,
    policy: Policy | str | os.PathLike[str] | None = None,
    *,
    original: Any = None,
    key: Any = None,
    canonical: bool = False,
    suppressed: int | None = None,
    node: Mapping[str, int] | None = None,
    is_local: bool | None = None,
    **reading: Any,
) -> Verdict:
    """Judge any table, or a release folder, by a policy or its path; with ``original`` also whether it is true.

    Without a policy a release folder is judged by the one that its manifest states, as a recipient can, and the verdict
    says what could not be checked.

    From the cells alone: the columns are those that the policy releases, and every model holds. A folder is also
    compared with its manifest. With the original: every released row generalizes a row of the original, one to one,
    and no more rows were suppressed than must be. With ``key``, the public key of whoever made it or its file: that she
    signed this very manifest. ``canonical`` also compares each file with the one canonical writing of its rows, in
    their order. Several tables that belong together, and their originals, are given by name.

    Of a table without a manifest can be said how many rows are ``suppressed``, its ``node``, and that cells were
    generalized one by one (``is_local``); ``node`` is only a hint and is not believed. ``reading`` goes to the engine:
    memory_limit and threads for all tables; delimiter and encoding for the original, since a folder says how its own
    is written.
    """
    policy = None if policy is None else load_policy(policy)
    with explain_bad_signature(table, key):
        released = ReleasedTables.of(table, policy, is_release=True, **reading)
    claims = _claims(Claims(suppressed, node, is_local), released)
    is_stated, not_checked = policy is None, list[NotChecked]()
    if policy is None:
        policy, not_checked = _policy_of_manifest(released, original)
    checks = folder_checks(released, None if is_stated else policy, key)
    with released.read_once() as read, read.rows() as tables:
        judge = judge_of(released, tables, policy, claims)
        if original is not None:
            judge.refuse_original(original)
        found = judge.recount()
        checks += found.checks
        for name, rows in tables.items():
            checks += reader_checks(released.sources[name], rows, judge.policies.get(name, policy))
        if canonical:
            more, unsaid = canonical_checks(released, tables, judge.policies)
            checks, not_checked = [*checks, *more], [*not_checked, *unsaid]
        stated, is_sound = _stated_checks(judge, found, is_stated=is_stated)
        checks += stated
        has_original = original is not None and found.has_columns and found.rows > 0
        if has_original:
            checks += judge.prove(original, found, is_sound=is_sound, **reading)
        else:
            checks += _limit(judge, found)
            checks += [NOT_COUNTED] if policy.person_columns and not policy.links_rows else []
    if released.manifest is not None:
        checks += unsafe_checks(released, checks)
        is_measured = any(check.id == "manifest.measures" for check in checks)
        not_checked += unchecked_statements(released.manifest, has_original=has_original, is_measured=is_measured)
        not_checked += unchecked_signature(released, key)
    return Verdict(
        tuple(checks), found.rows, len(found.sizes), found.smallest, found.noun, tuple(not_checked), found.known
    )


def _stated_checks(judge: Judge, found: Recount, *, is_stated: bool) -> tuple[list[Check], bool]:
    """Check what a manifest states, if there is one, and return whether all of it is possible."""
    manifest = judge.released.manifest
    if manifest is None:
        return [], True
    recounted = [*found.checks, *_limit(judge, found)]
    statements = manifest_check(manifest, judge.policy, found, recounted, is_stated=is_stated)
    checks = [search_check(manifest, judge.policy), statements]
    return checks + (judge.stated_people_checks() if found.has_columns and found.rows else []), statements.passed


def _limit(judge: Judge, found: Recount) -> list[Check]:
    """Check the number of suppressed rows that is stated; those that were left blank are among the rows."""
    if judge.claims.suppressed is None:
        return []
    is_removed = not judge.released.form.blanks or judge.policy.suppressed_rows == "remove"
    return limit_checks(judge.policy, judge.claims.suppressed, found.rows + judge.claims.suppressed * is_removed)


def _policy_of_manifest(released: ReleasedTables, original: Any) -> tuple[Policy, list[NotChecked]]:
    """Return the policy that a manifest states, and what a recipient cannot check who has no other."""
    ONE_TABLE.refuse_tables_of(released.form)
    if original is not None:
        raise PolicyError(
            "to prove a release against the original its policy is needed: its hierarchies tell what is true"
        )
    if (manifest := released.manifest) is None:
        raise TableError(
            "without a policy file only a release folder with its manifest.json can be verified; say verify POLICY "
            "RELEASE, or give the folder"
        )
    policy, unjudged = stated_policy(manifest.policy)
    columns = manifest.policy.all_columns
    demanded = [name for name, column in columns.items() if column.demanded_level is not None]
    coded = [name for name, column in columns.items() if column.missing_codes is not None]
    return policy, [
        *(NotChecked("model", one._asdict()) for one in unjudged),
        *([NotChecked("cells.level", {"columns": demanded})] if demanded else []),
        *([NotChecked("cells.codes", {"columns": coded})] if coded else []),
        NotChecked("policy"),
        NotChecked("truth"),
    ]


def _claims(claimed: Claims, released: ReleasedTables) -> Claims:
    """Return what the caller says, and else what the release says."""
    stated = released.claims
    if stated.policy_sha256 is None:  # it says nothing of itself
        return claimed
    node = stated.node if claimed.node is None else claimed.node
    suppressed = stated.suppressed if claimed.suppressed is None else claimed.suppressed
    return replace(stated, suppressed=suppressed, node=node, is_local=node is None)
