"""Check: one claim about a release and what a recount found, and the checks that every form of release shares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from indistinct.counting import Groups, IntArray, Tally
from indistinct.engine import Rows
from indistinct.errors import TableError, VerificationError
from indistinct.policy import Policy, sensitive_columns
from indistinct.policy.released_names import not_renamed
from indistinct.privacy.model import PrivacyModel
from indistinct.proof.sentences import check_detail, check_name, not_checked_words
from indistinct.release.manifest import SIGNATURE, has_manifest, read_manifest
from indistinct.release.released_tables import ReleasedTables, strange_parts

PSEUDONYM_SHAPE = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Check:
    """One claim about a release, and what the recount found; its words are made when it is shown.

    >>> Check("suppression.limit", True, {"suppressed": 1, "rows": 10, "allowed": 2}).detail
    '1 of 10 rows suppressed, 2 allowed'
    """

    id: str
    """A stable dotted name, such as ``model.k-anonymity`` or ``truth.rows``."""
    passed: bool
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """What was counted, and what it is about: numbers, names of columns and terms of models; never a cell."""

    @property
    def name(self) -> str:
        """What the check is called, in words."""
        return check_name(self.id, self.numbers)

    @property
    def detail(self) -> str:
        """What the check found, in words."""
        return check_detail(self.id, self.passed, self.numbers)

    def of_table(self, name: str) -> Check:
        """Return the same check of one of several tables."""
        return replace(self, numbers={"table": name, **self.numbers})

    def in_people(self) -> Check:
        """Return the check of a model that was counted in people."""
        return replace(self, id=f"people.{self.id}")

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON takes it."""
        return {"id": self.id, "passed": self.passed, "numbers": dict(self.numbers)}


@dataclass(frozen=True, slots=True)
class NotChecked:
    """What could not be checked with what is at hand."""

    id: str
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return not_checked_words(self.id, self.numbers)


class ShownCheck(Protocol):
    """Whatever is shown as a check: what it is called, whether it passed, and what it found."""

    @property
    def name(self) -> str:
        """What the check is called, in words."""

    @property
    def passed(self) -> bool:
        """It holds."""

    @property
    def detail(self) -> str:
        """What the check found, in words."""


class Checked:
    """Checks that were made together."""

    __slots__ = ()
    subject: ClassVar[str]
    """What was checked, in an error message."""
    checks: tuple[ShownCheck, ...]

    @property
    def passed(self) -> bool:
        """Every check passed."""
        return all(check.passed for check in self.checks)

    def raise_if_failed(self) -> None:
        """Raise a VerificationError that names every check that failed."""
        failed = [f"{check.name}: {check.detail}" for check in self.checks if not check.passed]
        if failed:
            raise VerificationError(f"the {self.subject} does not verify: " + "; ".join(failed))

    def _report(self, found: str) -> str:
        """Return what was found, and each check on a line of its own."""
        lines = [f"{'✓' if check.passed else '✗'} {check.name}: {check.detail}" for check in self.checks]
        return "\n".join([f"{'passed' if self.passed else 'FAILED'}: {found}", *lines])


@dataclass(frozen=True, slots=True, eq=False)
class Recount:
    """What the released cells alone show."""

    checks: tuple[Check, ...]
    sizes: IntArray
    """The sizes of the groups, or of the classes of two tables."""
    rows: int
    noun: str = "group"
    known: tuple[Any, ...] = ()
    """What whoever knows few columns finds, where a model says how many."""
    people: int | None = None
    """The people in several tables that belong together."""
    rows_of: Mapping[str, int] | None = None
    """The rows of each of several tables."""

    @property
    def has_columns(self) -> bool:
        """The tables have their columns."""
        return all(check.passed for check in self.checks if check.id in ("cells.columns", "tables.names"))

    @property
    def smallest(self) -> int:
        """The rows of the smallest group; 0 if there is none."""
        return int(self.sizes.min()) if len(self.sizes) else 0


def columns_check(columns: Sequence[str], expected: Sequence[str], policy: Policy) -> Check:
    """Check that a released table has the columns it should have, and no identifier."""
    identifiers = [name for name in columns if name in policy.with_role("identifier") and name not in expected]
    others = [name for name in columns if name not in expected and name not in identifiers]
    absent = [name for name in expected if name not in columns]
    if not identifiers and not others and not absent:
        return Check("cells.columns", True, {"columns": len(columns)})
    own = {not_renamed(name): name for name in policy.renamed}
    wrong = {
        "identifiers": identifiers,
        "to_rename": {own[name]: policy.renamed[own[name]] for name in others if name in own},
        "unknown": [name for name in others if name not in policy.columns and name not in own],
        "elsewhere": [name for name in others if name in policy.columns],
        "missing": absent,
        "renamed": {name: policy.renamed[name] for name in absent if name in policy.renamed},
    }
    return Check("cells.columns", False, wrong)


def pseudonym_checks(released: Rows, policy: Policy) -> list[Check]:
    """Check that what stands in place of identifiers has the shape of pseudonyms, and is not an identifier left in."""
    checks = []
    for name in policy.pseudonym_columns:
        if name in released.columns():
            with released.encode([name]) as encoded:
                false = sum(1 for text in encoded.values[name] if text is None or not PSEUDONYM_SHAPE.fullmatch(text))
            checks.append(Check("cells.pseudonyms", not false, {"column": name, "wrong": false}))
    return checks


def code_checks(released: Rows, policy: Policy, names: Sequence[str]) -> list[Check]:
    """Check that released cells that are no labels do not show a code which means that they are missing."""
    checks = []
    for name in names:
        codes = policy.columns[name].missing_codes
        if codes and name in released.columns():
            with released.with_missing({}, {name: codes}) as others:
                left = released.count() - others.count()
            checks.append(Check("cells.codes", not left, {"column": name, "cells": left}))
    return checks


def level_checks(released: Rows, policy: Policy) -> list[Check]:
    """Check that no released label is finer than the policy demands, as far as labels tell it without the original."""
    checks = []
    for name, column in policy.columns.items():
        level = column.min_level if column.recode is None else column.recode_level
        if level is None or name not in released.columns():
            continue
        with released.encode([name]) as encoded:
            labels = [label for label in encoded.values[name] if label is not None]
        finer = sum(column.shows_value(label) for label in labels)
        checks.append(Check("cells.level", not finer, {"column": name, "level": level, "finer": finer}))
    return checks


def cell_checks(released: Rows, policy: Policy) -> list[Check]:
    """Check what single cells of a table may be, before models are asked."""
    return [
        *pseudonym_checks(released, policy),
        *level_checks(released, policy),
        *code_checks(released, policy, [name for name in policy.compared_columns if name not in policy.quasi]),
    ]


def unreadable_checks(source: Rows, claimed: Mapping[str, int] | None) -> list[Check]:
    """Check what a release says about cells of the original that hierarchies cannot read, if the policy allows some."""
    if not source.unreadable and not claimed:
        return []
    there = dict(source.unreadable or {})
    if claimed is None or dict(claimed) == there:
        return [Check("truth.unreadable", True, {"found": there})]
    return [Check("truth.unreadable", False, {"found": there, "stated": dict(claimed)})]


def model_check(model: PrivacyModel, groups: Groups, where: str, noun: str = "group", unit: str = "row") -> Check:
    """Check a model on groups that were counted from released cells, in rows or in people."""
    is_satisfied = model.holds(groups)
    failing = int((~is_satisfied).sum())
    numbers = model_numbers(model.terms(), where) | {"groups": len(groups), "noun": noun, "unit": unit}
    if failing:
        numbers |= {"failing": failing, "inside": int(groups.sizes[~is_satisfied].sum())}
    else:
        numbers |= {"smallest": int(groups.sizes.min()) if len(groups) else 0}
    return Check(f"model.{model.name}", failing == 0, numbers)


def model_numbers(terms: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return what tells the checks of a model apart: its terms, and the quasi-identifier that it is asked of."""
    own = {name: value for name, value in terms.items() if name not in ("model", "on")}
    return {"terms": own, "on": where}


def knows_few(model: PrivacyModel, columns: Sequence[str]) -> bool:
    """Return whether a model asks about some of the columns at a time; with as many as there are it asks about all."""
    return model.known is not None and model.known < len(columns)


def implied_of_rows(model: PrivacyModel, *, links_rows: bool) -> PrivacyModel | None:
    """Return what a model that is asked of people implies about their rows, whoever they are of; None if nothing.

    Where pseudonyms link rows, values are those of all rows of a person, so nothing follows for those of one group.
    """
    floor = model if model.asks_population or model.known is not None else model.floor
    return None if floor is None or (links_rows and floor.asks_sensitive) else floor


CLASSES = "the classes"
"""Where models are asked of two tables."""


def counted_groups(released: Rows, columns: Sequence[str], policy: Policy, model: PrivacyModel) -> Groups:
    """Count the groups over these columns from the cells, with the sensitive values that a model asks about."""
    sizes: IntArray = np.zeros(0, np.int64)
    tallies = {}
    for name in sensitive_columns(model, policy):
        found = released.values_by(columns, name)
        hierarchy = policy.columns[name].compile(found.texts)
        tallies[name] = Tally.of(
            found.groups, found.values, found.counts, found.texts, hierarchy if hierarchy.height else None
        )
        sizes = np.bincount(found.groups, found.counts).astype(np.int64)
    return Groups.of_sizes(sizes, tallies)


def limit_checks(policy: Policy, suppressed: int, rows: int) -> list[Check]:
    """Check the number of suppressed rows against the policy's limit, if it sets one."""
    if policy.max_suppression is None:
        return []
    allowed = policy.allowed_suppression(rows)
    numbers = {"suppressed": suppressed, "rows": rows, "allowed": allowed}
    return [Check("suppression.limit", suppressed <= allowed, numbers)]


def claim_checks(claimed: int | None, suppressed: int) -> list[Check]:
    """Check what a release says about the rows that it leaves out, if it does."""
    if claimed is None or claimed == suppressed:
        return []
    return [Check("suppression.stated", False, {"stated": claimed, "suppressed": suppressed})]


def count_blank_rows(released: Rows, policy: Policy) -> int:
    """Return the number of released rows whose quasi-identifier is blank, if the policy lets rows be released so."""
    if policy.suppressed_rows != "blank":
        return 0
    with released.encode(policy.quasi, [(name, "missing", None) for name in policy.quasi]) as blank:
        return blank.rows


def folder_checks(released: ReleasedTables, policy: Policy | None, key: Any = None) -> list[Check]:
    """Check that the tables of a release folder are those of its manifest, and that it was made for this policy.

    With ``key``, a public key or its file, also that the manifest is signed by it.
    """
    if released.manifest is None:
        if key is not None:
            raise TableError("a key tells who signed a manifest: give the release folder, not a table without one")
        return []
    changed, strange = not released.is_as_stated(), released.strange_contents()
    numbers = {"tables": len(released.sources), "changed": changed, "strange": strange}
    file = Check("manifest.files", not changed and not strange, numbers)
    signed = [] if key is None else [signature_check(released, key)]
    if policy is None:
        return [*signed, file]
    return [*signed, file, Check("manifest.policy", released.is_of(policy))]


def signature_check(released: ReleasedTables, key: Any) -> Check:
    """Check that the manifest of a release folder is signed by the owner of a public key."""
    from indistinct.release.signature import fingerprint, public_key, signature_mistake

    assert released.folder is not None  # it has a manifest
    owner = public_key(key)
    wrong = signature_mistake(released.folder, owner)
    if wrong is None and read_manifest(released.folder) != released.manifest:
        wrong = "the manifest changed while it was verified"
    return Check("manifest.signature", wrong is None, {"key": fingerprint(owner), "wrong": wrong})


@contextmanager
def explain_bad_signature(table: Any, key: Any) -> Iterator[None]:
    """Say first of a release that cannot be opened that it is not the one that was signed, if that is so."""
    try:
        yield
    except TableError:
        if key is not None and has_manifest(table):
            from indistinct.release.signature import public_key, signature_mistake

            if wrong := signature_mistake(Path(table), public_key(key)):
                raise VerificationError(f"the release does not verify: signature: {wrong}") from None
        raise


def unchecked_signature(released: ReleasedTables, key: Any) -> list[NotChecked]:
    """Say that a release is signed where nobody gave the key that tells by whom."""
    is_unread = key is None and released.folder is not None and (released.folder / SIGNATURE).exists()
    return [NotChecked("manifest.signature")] if is_unread else []


def unsafe_checks(released: ReleasedTables, checks: Sequence[Check]) -> list[Check]:
    """Fail a release that says itself that it failed; shown only if nothing that can be checked here fails."""
    if released.manifest is None or not released.manifest.unsafe or not all(check.passed for check in checks):
        return []
    return [Check("manifest.unsafe", False)]


def reader_checks(source: Any, rows: Rows, policy: Policy) -> list[Check]:
    """Check that other readers get the rows that were counted; shown only where they would not.

    Rows that are open were made here, with one form of missing.
    """
    if isinstance(source, Rows):
        return []
    inside = (*rows.columns(), *policy.renamed.values())
    strange = strange_parts(Path(source), inside) if _is_folder(source) else []
    mixed = rows.mixed_missing([name for name in policy.with_role("quasi", "sensitive") if name in rows.columns()])
    checks = [Check("files.readers", False, {"strange": strange})] if strange else []
    return checks + ([Check("cells.missing", False, {"columns": list(mixed)})] if mixed else [])


def _is_folder(source: object) -> bool:
    return isinstance(source, str | Path) and Path(source).is_dir()
