"""Check: one claim about a release and what a recount found, and the checks that every form of release shares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from indistinct.counting import Groups, IntArray, Tally
from indistinct.engine import Rows
from indistinct.errors import TableError, VerificationError
from indistinct.policy import Policy, sensitive_columns
from indistinct.policy.released_names import not_renamed
from indistinct.privacy.model import PrivacyModel
from indistinct.release.manifest import SIGNATURE, has_manifest, read_manifest
from indistinct.release.released_tables import ReleasedTables, strange_parts
from indistinct.showing.words import counted

PSEUDONYM_SHAPE = re.compile("[0-9a-f]{32}")
PLURALS = {"group": "groups", "class": "classes", "row": "rows", "person": "people", "profile": "profiles"}


@dataclass(frozen=True, slots=True)
class Check:
    """One claim about a release, and what the recount found."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Checked:
    """Checks that were made together."""

    subject: ClassVar[str]
    """What was checked, in an error message."""

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Every check passed."""
        return all(check.passed for check in self.checks)

    def raise_if_failed(self) -> None:
        """Raise a VerificationError that names every check that failed."""
        failed = [f"{check.name}: {check.detail}" for check in self.checks if not check.passed]
        if failed:
            raise VerificationError(f"the {self.subject} does not verify: " + "; ".join(failed))

    def _checks_as_json(self) -> list[dict[str, Any]]:
        """Return the checks as JSON takes them."""
        return [{"name": check.name, "passed": check.passed, "detail": check.detail} for check in self.checks]

    def _report(self, found: str) -> str:
        """Return what was found, and each check on a line of its own."""
        lines = [f"{'✓' if check.passed else '✗'} {check.name}: {check.detail}" for check in self.checks]
        return "\n".join([f"{'passed' if self.passed else 'FAILED'}: {found}", *lines])


@dataclass(frozen=True, slots=True, eq=False)
class Recount:
    """What the released cells alone show; the first check is that of the columns."""

    checks: tuple[Check, ...]
    sizes: IntArray
    """The sizes of the groups, or of the classes of two tables."""
    rows: int
    noun: str = "group"
    known: tuple[Any, ...] = ()
    """What whoever knows few columns finds, where a model says how many."""

    @property
    def smallest(self) -> int:
        """The rows of the smallest group; 0 if there is none."""
        return int(self.sizes.min(initial=self.rows))


def columns_check(columns: Sequence[str], expected: Sequence[str], policy: Policy) -> Check:
    """Check that a released table has the columns it should have, and no identifier."""
    forbidden = [name for name in columns if name in policy.with_role("identifier") and name not in expected]
    unknown = [name for name in columns if name not in expected and name not in forbidden]
    absent = [name for name in expected if name not in columns]
    wrong = [f"identifier {name!r} is left in" for name in forbidden]
    own = {not_renamed(name): f"{name!r} should be called {new!r}" for name, new in policy.renamed.items()}
    wrong += [
        own.get(name, f"{name!r} is not in the policy")
        if name not in policy.columns
        else f"{name!r} is not released here"
        for name in unknown
    ]
    told = {name: f"{new!r}, which is {name!r} of the policy," for name, new in policy.renamed.items()}
    wrong += [f"{told.get(name, repr(name))} is missing" for name in absent]
    return Check("columns", not wrong, "; ".join(wrong) or f"{len(columns)} columns, no identifier")


def pseudonym_checks(released: Rows, policy: Policy) -> list[Check]:
    """Check that what stands in place of identifiers has the shape of pseudonyms, and is not an identifier left in."""
    checks = []
    for name in policy.pseudonym_columns:
        if name in released.columns():
            with released.encode([name]) as encoded:
                false = sum(1 for text in encoded.values[name] if text is None or not PSEUDONYM_SHAPE.fullmatch(text))
            found = "32 hexadecimal digits in every row"
            checks.append(Check(f"pseudonyms in {name}", not false, f"{false:,} values are none" if false else found))
    return checks


def code_checks(released: Rows, policy: Policy, names: Sequence[str]) -> list[Check]:
    """Check that released cells that are no labels do not show a code which means that they are missing."""
    checks = []
    for name in names:
        codes = policy.columns[name].missing_codes
        if codes and name in released.columns():
            with released.with_missing({}, {name: codes}) as others:
                left = released.count() - others.count()
            found = "no cell shows a code that means missing"
            wrong = f"{counted(left, 'cell shows', 'cells show')} a code that means missing, instead of none"
            checks.append(Check(f"missing cells in {name}", not left, wrong if left else found))
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
        found = f"no value of the table is shown below level {level}"
        wrong = f"{counted(finer, 'label is', 'labels are')} finer than {level!r}, which the policy demands"
        checks.append(Check(f"level of {name}", not finer, wrong if finer else found))
    return checks


def unreadable_checks(source: Rows, claimed: Mapping[str, int] | None) -> list[Check]:
    """Check what a release says about cells of the original that hierarchies cannot read, if the policy allows some."""
    if not source.unreadable and not claimed:
        return []
    there = dict(source.unreadable or {})
    found = ", ".join(f"{rows:,} in {name!r}" for name, rows in there.items()) or "none"
    if claimed is not None and dict(claimed) != there:
        said = ", ".join(f"{rows} in {name!r}" for name, rows in claimed.items()) or "none"
        return [Check("unreadable cells", False, f"the release says {said}, but there are {found}")]
    return [Check("unreadable cells", True, f"{found}, dealt with as the policy says")]


def model_check(model: PrivacyModel, groups: Groups, where: str, noun: str = "group", unit: str = "row") -> Check:
    """Check a model on groups that were counted from released cells, in rows or in people."""
    is_satisfied = model.holds(groups)
    failing = int((~is_satisfied).sum())
    if failing:
        inside = counted(int(groups.sizes[~is_satisfied].sum()), unit, PLURALS[unit])
        detail = f"{failing:,} of {len(groups):,} {PLURALS[noun]} fail, {inside} in them"
    else:
        smallest = counted(int(groups.sizes.min()), unit, PLURALS[unit])
        detail = f"{counted(len(groups), noun, PLURALS[noun])}, the smallest of {smallest}"
    return Check(model_words(model, where), failing == 0, detail)


def knows_few(model: PrivacyModel, columns: Sequence[str]) -> bool:
    """Return whether a model asks about some of the columns at a time; with as many as there are it asks about all."""
    return model.known is not None and model.known < len(columns)


def model_words(model: PrivacyModel, where: str) -> str:
    """Return what the check of a model is called."""
    return stated_words(model.terms(), where)


CLASSES = "the classes"
"""Where models are asked of two tables."""


def stated_words(stated: Mapping[str, Any], where: str) -> str:
    """Return what the check of a model is called whose terms a manifest states."""
    terms = ", ".join(f"{key} = {value}" for key, value in stated.items() if key not in ("model", "on"))
    return f"{stated['model']} ({terms}) on {where}"


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
    detail = f"{suppressed:,} of {rows:,} rows suppressed, {allowed:,} allowed"
    return [Check("suppression limit", suppressed <= allowed, detail)]


def claim_checks(claimed: int | None, suppressed: int) -> list[Check]:
    """Check what a release says about the rows that it leaves out, if it does."""
    if claimed is None or claimed == suppressed:
        return []
    return [
        Check("suppressed rows", False, f"the release says {claimed:,}, but {suppressed:,} rows are missing from it")
    ]


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
    same, changed = ("the table is the one of", "the table was changed after")
    if len(released.sources) > 1:
        same, changed = ("the tables are those of", "a table was changed after")
    is_same_file = released.is_as_stated()
    strange = released.strange_contents()
    detail = f"{same if is_same_file else changed} the manifest"
    detail += f"; the folder holds what no release has: {'; '.join(strange)}" if strange else ""
    file = Check("file", is_same_file and not strange, detail)
    signed = [] if key is None else [signature_check(released, key)]
    if policy is None:
        return [*signed, file]
    is_same_policy = released.is_of(policy)
    return [
        *signed,
        file,
        Check("policy", is_same_policy, f"the release was made for {'this' if is_same_policy else 'another'} policy"),
    ]


def signature_check(released: ReleasedTables, key: Any) -> Check:
    """Check that the manifest of a release folder is signed by the owner of a public key."""
    from indistinct.release.signature import fingerprint, public_key, signature_mistake

    assert released.folder is not None  # it has a manifest
    owner = public_key(key)
    wrong = signature_mistake(released.folder, owner)
    if wrong is None and read_manifest(released.folder) != released.said:
        wrong = "the manifest changed while it was verified"
    return Check("signature", wrong is None, wrong or f"the manifest is signed by the key {fingerprint(owner)}")


@contextmanager
def told_as_forged(table: Any, key: Any) -> Iterator[None]:
    """Say first of a release that cannot be opened that it is not the one that was signed, if that is so."""
    try:
        yield
    except TableError:
        if key is not None and has_manifest(table):
            from indistinct.release.signature import public_key, signature_mistake

            if wrong := signature_mistake(Path(table), public_key(key)):
                raise VerificationError(f"the release does not verify: signature: {wrong}") from None
        raise


def unchecked_signature(released: ReleasedTables, key: Any) -> tuple[str, ...]:
    """Say that a release is signed where nobody gave the key that tells by whom."""
    is_unread = key is None and released.folder is not None and (released.folder / SIGNATURE).exists()
    return ("who signed it: that needs her public key (--key)",) if is_unread else ()


def unsafe_checks(released: ReleasedTables, checks: Sequence[Check]) -> list[Check]:
    """Fail a release that says itself that it failed; shown only if nothing that can be checked here fails."""
    if not released.said.get("unsafe") or not all(check.passed for check in checks):
        return []
    return [
        Check("unsafe", False, "its maker found that it fails, as the manifest says, in what cannot be checked here")
    ]


def reader_checks(source: Any, rows: Rows, policy: Policy) -> list[Check]:
    """Check that other readers get the rows that were counted; shown only where they would not.

    Rows that are open were made here, with one form of missing.
    """
    if isinstance(source, Rows):
        return []
    inside = (*rows.columns(), *policy.renamed.values())
    strange = strange_parts(Path(source), inside) if _is_folder(source) else []
    mixed = rows.mixed_missing([name for name in policy.with_role("quasi", "sensitive") if name in rows.columns()])
    checks = [Check("file", False, f"readers do not agree on its rows: {'; '.join(strange)}")] if strange else []
    if mixed:
        names = ", ".join(map(repr, mixed))
        detail = f"{names}: null beside empty text or no number; here they are one value, to other readers several"
        checks.append(Check("missing cells", False, detail))
    return checks


def _is_folder(source: object) -> bool:
    return isinstance(source, str | Path) and Path(source).is_dir()
