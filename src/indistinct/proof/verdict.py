"""verify(): recounts a released table from its own cells, and against the original if that is at hand.

Nothing here uses the search: groups are counted by the engine's plain GROUP BY, and what had to be suppressed is
worked out anew with NumPy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from indistinct.counting import Groups, IntArray, as_declared
from indistinct.engine import Rows, use_table
from indistinct.errors import PolicyError, TableError
from indistinct.linkage import counted_people
from indistinct.policy import PSEUDONYM, Policy, sensitive_columns
from indistinct.policy.load import load_policy
from indistinct.policy.stated_policy import stated_policy
from indistinct.privacy.model import PrivacyModel
from indistinct.proof.canonical import canonical_checks
from indistinct.proof.checks import (
    Check,
    Checked,
    NotChecked,
    Recount,
    code_checks,
    columns_check,
    counted_groups,
    folder_checks,
    implied_of_rows,
    knows_few,
    level_checks,
    limit_checks,
    model_check,
    pseudonym_checks,
    reader_checks,
    told_as_forged,
    unchecked_signature,
    unreadable_checks,
    unsafe_checks,
)
from indistinct.proof.known_columns import CodedTuples, KnownColumns
from indistinct.proof.people_recount import NOT_COUNTED, count_people, pseudonym_people_checks, stated_people_checks
from indistinct.proof.perturbed_numbers import perturbation_checks
from indistinct.proof.sentences import PLURALS, count_words
from indistinct.proof.stated_measures import FROM_ORIGINAL, FROM_STATEMENTS
from indistinct.proof.statements import manifest_check, search_check, unchecked_statements
from indistinct.release.manifest import Manifest, StatedCheck, StatedKnown, StatedVerdict
from indistinct.release.released_tables import Claims, ReleasedTables
from indistinct.showing.words import counted


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
    **how: Any,
) -> Verdict:
    """Judge any table, or a release folder, by a policy or its path; with ``original`` also whether it is true.

    Without a policy a release folder is judged by the one that its manifest states, as a recipient can, and the verdict
    says what could not be checked.

    From the cells alone: the columns are those that the policy releases, and every model holds. A folder is also
    compared with its manifest. With the original: every released row generalizes a row of the original, one to one,
    and no more rows were suppressed than must be. With ``key``, the public key of whoever made it or its file: that she
    signed this very manifest. ``canonical`` also compares each file with the one canonical writing of its rows, in
    their order. Several tables that belong together, and their originals, are given by name.

    ``how`` is what a table without a manifest says of itself, ``suppressed``, ``node`` and ``is_local`` (cells were
    generalized one by one); ``node`` is only a hint and is not believed. What else it has goes to the engine:
    memory_limit and threads for all tables; delimiter and encoding for the original, since a folder says how its own
    is written.
    """
    claimed, reading = _take_claims(how)
    policy = None if policy is None else load_policy(policy)
    if policy is not None and policy.tables:
        return _verify_tables(table, policy, original, claimed, reading | {"canonical": canonical, "key": key})
    with told_as_forged(table, key):
        released = ReleasedTables.of(table, **reading)
    if policy is not None:
        released = released.named_by(policy, is_release=True)
    if policy is None and released.form.is_joined:
        raise TableError("the release holds several tables that belong together; give the policy of all of them")
    claims = _claims(claimed, released)
    not_checked: list[NotChecked] = []
    if policy is None and original is not None:
        raise PolicyError(
            "to prove a release against the original its policy is needed: its hierarchies tell what is true"
        )
    if is_stated := policy is None:
        policy, not_checked = _policy_of_manifest(released.manifest)
    checks = folder_checks(released, None if is_stated else policy, key)
    is_removed = not released.form.blanks or policy.suppressed_rows == "remove"
    with released.rows() as tables:
        found = _judge_one_table(tables["table"], policy) if released.form.generalizes else _judge_apart(tables, policy)
        checks += found.checks
        for name, rows in tables.items():
            checks += reader_checks(released.sources[name], rows, policy)
        if canonical:
            more, unsaid = canonical_checks(released, tables, dict.fromkeys(tables, policy))
            checks, not_checked = [*checks, *more], [*not_checked, *unsaid]
        limit = (
            limit_checks(policy, claims.suppressed, found.rows + claims.suppressed * is_removed)
            if claims.suppressed is not None
            else []
        )
        is_sound = True
        if released.manifest is not None:
            statements = manifest_check(released.manifest, policy, found, [*found.checks, *limit], is_stated=is_stated)
            is_sound = statements.passed
            checks += [search_check(released.manifest, policy), statements]
            if policy.links_rows and found.has_columns and found.rows:
                checks += pseudonym_people_checks(released.manifest, tables["table"], policy)
        figures: Check | None = None
        if original is not None and found.has_columns and found.rows:
            with use_table(original, **reading) as given, as_declared(given, policy) as source:
                checks += unreadable_checks(source, claims.unreadable)
                proof = (
                    _prove_one_table(tables["table"], source, policy, claims)
                    if released.form.generalizes
                    else _prove_apart(tables, source, policy, claims)
                )
                checks += proof
                said = released.said
                if said is not None and is_sound and all(check.passed for check in proof):
                    from indistinct.proof.stated_measures import measures_check

                    first = tables[released.form.first]
                    figures = measures_check(said, first, source, policy, found.sizes)
                    checks += stated_people_checks(said, source, policy)
            checks += [] if figures is None else [figures]
        else:
            checks += limit
            checks += [NOT_COUNTED] if policy.person_columns and not policy.links_rows else []
    if released.manifest is not None:
        checks += unsafe_checks(released, checks)
        measured = (*FROM_STATEMENTS, *(FROM_ORIGINAL if figures is not None else ()))
        not_checked += unchecked_statements(released.manifest, has_original=original is not None, measured=measured)
        not_checked += unchecked_signature(released, key)
    return Verdict(
        tuple(checks), found.rows, len(found.sizes), found.smallest, found.noun, tuple(not_checked), found.known
    )


def _policy_of_manifest(manifest: Manifest | None) -> tuple[Policy, list[NotChecked]]:
    """Return the policy that a manifest states, and what a recipient cannot check who has no other."""
    if manifest is None:
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


def _verify_tables(table: Any, policy: Policy, original: Any, claimed: Claims, reading: Mapping[str, Any]) -> Verdict:
    """Judge several tables that belong together."""
    from indistinct.proof.tables_verdict import judge_tables

    if original is not None and not isinstance(original, Mapping):
        raise TableError(f"original: the policy describes several tables; give each by name: {', '.join(policy.parts)}")
    canonical, key = reading["canonical"], reading["key"]
    reading = {name: value for name, value in reading.items() if name not in ("canonical", "key")}
    with told_as_forged(table, key):
        released = ReleasedTables.of(table, policy, **reading).named_by(policy, is_release=True)
    checks = folder_checks(released, policy, key)
    unsaid: list[NotChecked] = []
    with released.rows() as tables:
        for name, part in policy.parts.items():
            if name in tables:
                checks += reader_checks(released.sources[name], tables[name], part.policy)
        if canonical:
            more, unsaid = canonical_checks(released, tables, {n: part.policy for n, part in policy.parts.items()})
            checks += more
        claims = _claims(claimed, released)
        found, rows, sizes = judge_tables((released, tables), policy, original, claims, **reading)
    if released.manifest is not None:
        found += unsafe_checks(released, [*checks, *found])
        unsaid += unchecked_statements(released.manifest, has_original=original is not None, measured=())
        unsaid += unchecked_signature(released, key)
    smallest = int(sizes.min()) if len(sizes) else 0
    return Verdict((*checks, *found), rows, len(sizes), smallest, "profile", tuple(unsaid))


def _take_claims(how: Mapping[str, Any]) -> tuple[Claims, dict[str, Any]]:
    """Return what the caller says of a table, apart from how it is read."""
    names = ("suppressed", "node", "is_local")
    reading = {name: value for name, value in how.items() if name not in names}
    return Claims(**{name: how[name] for name in names if name in how}), reading


def _claims(claimed: Claims, released: ReleasedTables) -> Claims:
    """Return what the caller says, and else what the release says."""
    stated = released.claims
    if stated.policy_sha256 is None:  # it says nothing of itself
        return claimed
    node = stated.node if claimed.node is None else claimed.node
    suppressed = stated.suppressed if claimed.suppressed is None else claimed.suppressed
    return replace(stated, suppressed=suppressed, node=node, is_local=node is None)


def _judge_apart(tables: Mapping[str, Rows], policy: Policy) -> Recount:
    from indistinct.proof.two_tables import judge_two_tables

    return judge_two_tables(tables, policy)


def _prove_apart(tables: Mapping[str, Rows], source: Rows, policy: Policy, claims: Claims) -> list[Check]:
    from indistinct.proof.two_tables import prove_two_tables

    return prove_two_tables(tables, source, policy, claims.suppressed)


def _prove_one_table(released: Rows, source: Rows, policy: Policy, claims: Claims) -> list[Check]:
    """Check truthfulness, one to one, and least suppression against the original."""
    from indistinct.proof.truth.by_column import prove_by_column
    from indistinct.proof.truth.cell_by_cell import prove_cell_by_cell

    if claims.is_local:
        return prove_cell_by_cell(released, source, policy, claims.suppressed)
    checks = prove_by_column(released, source, policy, claims.node, claims.suppressed)
    if claims.is_local is None and not checks[0].passed:  # nothing says how the table was made
        return prove_cell_by_cell(released, source, policy, claims.suppressed)
    return checks


def _judge_one_table(released: Rows, policy: Policy) -> Recount:
    """Check columns and models from the released cells alone."""
    sizes = _Sizes(released, policy)
    checks = tuple(_checks_of_cells(released, policy, sizes))
    return Recount(checks, sizes.by(policy.quasi), sizes.rows, known=tuple(sizes.known))


def _checks_of_cells(released: Rows, policy: Policy, sizes: _Sizes) -> list[Check]:
    checks = [columns_check(released.columns(), policy.released_columns, policy)]
    if not sizes.has_quasi:
        return checks
    if sizes.rows == 0 and not policy.is_drawn:
        return [*checks, Check("cells.rows", False)]
    checks += [
        *pseudonym_checks(released, policy),
        *level_checks(released, policy),
        *code_checks(released, policy, [name for name in policy.compared_columns if name not in policy.quasi]),
    ]
    if policy.perturbed:
        checks += perturbation_checks(released, policy)
    if policy.links_rows and PSEUDONYM in released.columns():
        checks += count_people(released, policy, (PSEUDONYM,))
    for name, quasi, model in policy.requirements():
        if any(column not in released.columns() for column in sensitive_columns(model, policy)):
            checks.append(Check(f"model.{model.name}", False, {"on": name, "why": "no sensitive column"}))
        elif knows_few(model, quasi):
            checks.append(sizes.by_known(model, name, quasi).check(model))
        else:
            own = implied_of_rows(model, links_rows=policy.links_rows) if policy.person_columns else model
            checks += [] if own is None else [model_check(own, sizes.groups_for(quasi, own), name)]
    return checks


class _Sizes:
    """Group sizes of a released table, each counted once: to read a file again takes long."""

    def __init__(self, released: Rows, policy: Policy) -> None:
        self._released = released
        self._policy = policy
        self._known: dict[tuple[str, ...], IntArray] = {}
        self._tuples: CodedTuples | None = None
        self.known: list[KnownColumns] = []
        self.has_quasi = all(name in released.columns() for name in policy.quasi)
        self.rows = int(self.by(policy.quasi).sum()) if self.has_quasi else released.count()

    def by(self, columns: Sequence[str]) -> IntArray:
        """Return the sizes of the groups over these columns; none if the table lacks a quasi column."""
        if not self.has_quasi:
            return np.zeros(0, np.int64)
        if tuple(columns) not in self._known:
            self._known[tuple(columns)] = self._released.sizes_by(columns)
        return self._known[tuple(columns)]

    def by_known(self, model: PrivacyModel, name: str, columns: Sequence[str]) -> KnownColumns:
        """Count every set of as many columns as the model says that others know, all of them from one scan."""
        if self._tuples is None:
            self._tuples = CodedTuples.of(self._released, self._policy.quasi)
        self.known.append(KnownColumns.count(model, name, columns, self._tuples))
        return self.known[-1]

    def groups_for(self, columns: Sequence[str], model: PrivacyModel) -> Groups:
        """Return the groups over these columns, with their sensitive values if the model asks about any."""
        if model.asks_population:
            return counted_people(self._released, columns, self._policy, model)
        if not sensitive_columns(model, self._policy):
            return Groups.of_sizes(self.by(columns))
        return counted_groups(self._released, columns, self._policy, model)
