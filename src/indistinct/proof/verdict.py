"""verify(): recounts a released table from its own cells, and against the original if that is at hand.

Nothing here uses the search: groups are counted by the engine's plain GROUP BY, and what had to be suppressed is
worked out anew with NumPy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from indistinct.counting import CountedCrowd, Groups, IntArray, Node, Tally
from indistinct.engine import Plan, Rows, open_table
from indistinct.errors import TableError
from indistinct.hierarchy import CompiledHierarchy
from indistinct.linkage.population import counted_people, people_that_fit
from indistinct.policy import Policy, sensitive_columns
from indistinct.privacy.model import BoolArray, PrivacyModel, least_rows
from indistinct.proof.checks import PLURALS, Check, Checked, columns_check, counted_groups, model_check
from indistinct.proof.truth import rows_without_original
from indistinct.recoding.link_column import TWO_TABLES
from indistinct.showing.words import counted

PARTS = ("quasi", "sensitive")
"""The tables of such a release."""

MOST_NODES_TRIED = 256
"""Labels that occur on several levels leave several nodes possible; so many are tried."""


@dataclass(frozen=True, slots=True)
class Verdict(Checked):
    """What an independent recount found about a release."""

    subject: ClassVar[str] = "release"

    rows: int
    groups: int
    smallest_group: int
    noun: str = "group"
    """What the groups are called: those of a release of two tables are classes."""

    @property
    def groups_in_words(self) -> str:
        """The number of groups, or of classes."""
        return counted(self.groups, self.noun, PLURALS[self.noun])

    def to_dict(self) -> dict[str, Any]:
        """Give the verdict as JSON takes it."""
        return {
            "passed": self.passed,
            "rows": self.rows,
            "groups": self.groups,
            "smallest_group": self.smallest_group,
            "checks": self._listed(),
        }

    def _repr_html_(self) -> str:
        """Give the verdict as a notebook shows it."""
        from indistinct.showing.notebook import card, table

        figures = {"rows": self.rows, PLURALS[self.noun]: self.groups, "in the smallest": self.smallest_group}
        checks = [["✓" if check.passed else "✗ FAILED", check.name, check.detail] for check in self.checks]
        mark = "✓ passed" if self.passed else "✗ FAILED: do not hand this table out"
        return card("Verdict", mark, figures, table(["", "check", "found"], checks))

    def __str__(self) -> str:
        return self._told(f"{counted(self.rows, 'row')}, {self.groups_in_words}, smallest {self.smallest_group}")


def verify(
    table: Any,
    policy: Policy,
    *,
    original: Any = None,
    suppressed: int | None = None,
    node: Mapping[str, int] | None = None,
    is_local: bool | None = None,
    **reading: Any,
) -> Verdict:
    """Judge any table, or a release folder, by a policy; with ``original`` also whether it is true.

    From the cells alone: the columns are those that the policy releases, and every model holds. A folder is also
    compared with its manifest. With the original: every released row generalizes a row of the original, one to one,
    and no more rows were suppressed than must be. ``suppressed``, ``node`` and ``is_local`` (cells were generalized
    one by one) are what the release says of itself; ``node`` is only a hint and is not believed. ``reading`` goes to
    the engine: memory_limit and threads for all tables; delimiter and encoding for the original, since a folder says
    how its own table is written.
    """
    checks: list[Check] = []
    manifest = None
    if isinstance(table, str | Path) and (Path(table) / "manifest.json").is_file():
        paths, manifest, manifest_checks = _read_folder(Path(table), policy)
        checks += manifest_checks
        table = paths if len(paths) > 1 else next(iter(paths.values()))
        suppressed = manifest["suppressed"] if suppressed is None else suppressed
        node = manifest["node"] if node is None else node
        is_local = node is None
        released_reading = reading | {"delimiter": manifest.get("delimiter"), "encoding": None}
    else:
        released_reading = reading
    if isinstance(table, Mapping):
        return _verify_two_tables(table, policy, checks, manifest, original, suppressed, released_reading, reading)
    released = open_table(table, **released_reading)
    try:
        counted_sizes = _Sizes(released, policy)
        recount = _recount(released, policy, counted_sizes)
        checks += recount
        sizes, rows = counted_sizes.by(policy.quasi), counted_sizes.rows
        has_the_columns = recount[0].passed
        if manifest is not None:
            checks.append(_as_claimed(manifest, policy, rows, sizes))
        if original is not None and has_the_columns and rows:
            source = open_table(original, **reading)
            try:
                checks += _prove(released, source, policy, node, is_local, suppressed)
            finally:
                if source is not original:
                    source.close()
        elif suppressed is not None:
            removed = suppressed if policy.suppressed_rows == "remove" else 0
            checks += _within_limit(policy, suppressed, rows + removed)
    finally:
        if released is not table:
            released.close()
    return Verdict(tuple(checks), rows, len(sizes), int(sizes.min(initial=rows)) if rows else 0)


class _Sizes:
    """Group sizes of a released table, each counted once: reading a file again is dear."""

    def __init__(self, released: Rows, policy: Policy) -> None:
        self._released = released
        self._policy = policy
        self._known: dict[tuple[str, ...], IntArray] = {}
        self.has_quasi = all(name in released.columns() for name in policy.quasi)
        self.rows = int(self.by(policy.quasi).sum()) if self.has_quasi else released.count()

    def by(self, columns: Sequence[str]) -> IntArray:
        """Give the sizes of the groups over these columns; none if the table lacks a quasi column."""
        if not self.has_quasi:
            return np.zeros(0, np.int64)
        if tuple(columns) not in self._known:
            self._known[tuple(columns)] = self._released.sizes_by(columns)
        return self._known[tuple(columns)]

    def groups_for(self, columns: Sequence[str], model: PrivacyModel) -> Groups:
        """Give the groups over these columns, with their sensitive values if the model asks about any."""
        if model.asks_population:
            return counted_people(self._released, columns, self._policy, model)
        if not sensitive_columns(model, self._policy):
            return Groups.of_sizes(self.by(columns))
        return counted_groups(self._released, columns, self._policy, model)


def _recount(released: Rows, policy: Policy, counted_sizes: _Sizes) -> list[Check]:
    """Check columns and models from the released cells alone."""
    checks = [columns_check(released.columns(), policy.with_role("quasi", "sensitive", "other"), policy)]
    if not counted_sizes.has_quasi:
        return checks
    if counted_sizes.rows == 0:
        return [*checks, Check("rows", False, "the table has no rows")]
    for name, quasi, model in policy.requirements():
        if any(column not in released.columns() for column in sensitive_columns(model, policy)):
            checks.append(Check(f"{model.name} on {name}", False, "a sensitive column is missing"))
        else:
            checks.append(model_check(model, counted_sizes.groups_for(quasi, model), name))
    return checks


def _within_limit(policy: Policy, suppressed: int, rows: int) -> list[Check]:
    """Check the number of suppressed rows against the policy's limit, if it sets one."""
    if policy.max_suppression is None:
        return []
    allowed = policy.allowed_suppression(rows)
    detail = f"{suppressed} of {rows} rows suppressed, {allowed} allowed"
    return [Check("suppression limit", suppressed <= allowed, detail)]


def _read_folder(folder: Path, policy: Policy) -> tuple[dict[str, Path], dict[str, Any], list[Check]]:
    """Read a release folder: the paths of its tables, its manifest, and whether they belong together."""
    from indistinct.policy.statement import policy_digest

    try:
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        parts = PARTS if manifest.get("form") == TWO_TABLES else ("table",)
        listed = sorted(manifest["files"].items(), key=lambda file: parts.index(Path(file[0]).stem) if parts[1:] else 0)
        files = dict(zip(parts, listed, strict=True))
        numbers = [manifest[key] for key in ("released", "suppressed", "groups", "smallest_group")]
        levels = [] if manifest["node"] is None else manifest["node"].values()
        is_sound = all(type(number) is int for number in (*numbers, *levels))
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        is_sound = False
    if not is_sound:
        raise TableError(
            f"{folder / 'manifest.json'} is no manifest of a release; verify the table file itself instead"
        )
    is_same_file = True
    for name, digest in files.values():
        if Path(name).name != name or not (folder / name).exists():
            raise TableError(f"{folder}: the manifest's table {name!r} is not there")
        is_same_file &= file_digest(folder / name) == digest
    same, changed = ("the table is the one of", "the table was changed after")
    if len(files) > 1:
        same, changed = ("the tables are those of", "a table was changed after")
    is_same_policy = policy_digest(policy) == manifest.get("policy_sha256")
    checks = [
        Check("file", is_same_file, f"{same if is_same_file else changed} the manifest"),
        Check("policy", is_same_policy, f"the release was made for {'this' if is_same_policy else 'another'} policy"),
    ]
    return {part: folder / name for part, (name, _) in files.items()}, manifest, checks


def _verify_two_tables(
    tables: Mapping[str, Any],
    policy: Policy,
    checks: list[Check],
    manifest: Mapping[str, Any] | None,
    original: Any,
    suppressed: int | None,
    released_reading: Mapping[str, Any],
    reading: Mapping[str, Any],
) -> Verdict:
    """Judge a release of two tables from those tables alone, by the join that an adversary would do."""
    from indistinct.proof.two_tables import judge, prove

    if set(tables) != {*PARTS}:
        names = ", ".join(map(repr, tables)) or "none"
        raise TableError(f"a release of two tables has the tables 'quasi' and 'sensitive'; given: {names}")
    with ExitStack() as stack:
        quasi, sensitive = (_opened(stack, tables[name], released_reading) for name in PARTS)
        found, sizes = judge(quasi, sensitive, policy)
        checks += found
        rows = int(sizes.sum())
        if manifest is not None:
            checks.append(_as_claimed(manifest, policy, rows, sizes))
        if original is not None and found[0].passed and rows:
            proof, eligible = prove(quasi, sensitive, _opened(stack, original, reading), policy)
            checks += [
                *proof,
                *_as_said(suppressed, eligible - rows),
                *_within_limit(policy, eligible - rows, eligible),
            ]
        elif suppressed is not None:
            checks += _within_limit(policy, suppressed, rows + suppressed)
    return Verdict(tuple(checks), rows, len(sizes), int(sizes.min(initial=rows)) if rows else 0, "class")


def _opened(stack: ExitStack, table: Any, reading: Mapping[str, Any]) -> Rows:
    """Open a table that the stack closes, unless it is open already."""
    rows = open_table(table, **reading)
    if rows is not table:
        stack.enter_context(rows)
    return rows


def _as_claimed(manifest: Mapping[str, Any], policy: Policy, rows: int, sizes: IntArray) -> Check:
    """Compare a manifest's counts with the table's."""
    removed = policy.suppressed_rows == "remove"
    claims = {
        "released": rows if removed else rows - manifest["suppressed"],
        "groups": len(sizes),
        "smallest_group": int(sizes.min()) if len(sizes) else 0,
    }
    if not removed and manifest["suppressed"]:  # the blank rows are a group of their own, which the manifest leaves out
        del claims["groups"], claims["smallest_group"]
    wrong = [f"{name} is {count}, not {manifest[name]}" for name, count in claims.items() if manifest[name] != count]
    return Check("manifest", not wrong, "; ".join(wrong) or "the table has the counts of the manifest")


def file_digest(path: Path) -> str:
    """Give the SHA-256 of a file as a manifest states it; of a folder, that of the names and digests of its files."""
    if path.is_dir():
        parts = [(place.relative_to(path).as_posix(), place) for place in path.rglob("*") if place.is_file()]
        listed = "".join(f"{file_digest(place)}  {name}\n" for name, place in sorted(parts))
        return hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _prove(
    released: Rows,
    source: Rows,
    policy: Policy,
    hint: Mapping[str, int] | None,
    is_local: bool | None,
    claimed: int | None,
) -> list[Check]:
    """Check truthfulness, one to one, and least suppression against the original."""
    if is_local:
        return _prove_locally(released, source, policy, claimed)
    checks = _prove_by_column(released, source, policy, hint, claimed)
    if is_local is None and not checks[0].passed:  # nothing says how the table was made
        return _prove_locally(released, source, policy, claimed)
    return checks


def _prove_locally(released: Rows, source: Rows, policy: Policy, claimed: int | None) -> list[Check]:
    """Check truthfulness, one to one, of a table whose cells were generalized one by one."""
    policy.check(source.columns())
    values = source.encode(policy.quasi, [condition.as_triple() for condition in policy.eligible])
    hierarchies = {name: policy.columns[name].compile(values[name]) for name in policy.quasi}
    eligible = int(source.count_by([]).counts.sum())
    rows = released.count()
    false_rows = rows_without_original(released, source, policy, hierarchies)
    if false_rows:
        return [Check("truthful", False, f"{false_rows} released rows generalize no row of the original, one to one")]
    suppressed = eligible - rows + _blank_rows(released, policy)
    return [
        Check("truthful", True, f"each of {rows} rows generalizes a row of its own of the original, cell by cell"),
        *_as_said(claimed, suppressed),
        *_within_limit(policy, suppressed, eligible),
    ]


def _as_said(claimed: int | None, suppressed: int) -> list[Check]:
    """Check what a release says about the rows that it leaves out, if it does."""
    if claimed is None or claimed == suppressed:
        return []
    return [Check("suppressed rows", False, f"the release says {claimed}, but {suppressed} rows are missing from it")]


def _prove_by_column(
    released: Rows, source: Rows, policy: Policy, hint: Mapping[str, int] | None, claimed: int | None
) -> list[Check]:
    """Check truthfulness, one to one, and least suppression of a table whose columns each have one level."""
    policy.check(source.columns())
    values = source.encode(policy.quasi, [condition.as_triple() for condition in policy.eligible])
    hierarchies = {name: policy.columns[name].compile(values[name]) for name in policy.quasi}
    eligible = int(source.count_by(policy.quasi).counts.sum())
    rows = released.count()
    blank = _blank_rows(released, policy)
    possible, lost = _possible_nodes(released, policy, hierarchies, blank > 0, hint)
    if lost:
        return [Check("truthful", False, f"{', '.join(map(repr, lost))}: labels that no single level has")]
    fewest, general = rows, None
    for node in possible:
        candidate = source.recode(_generalization(node, policy, hierarchies))
        unmatched = released.difference(candidate, candidate.columns())
        if unmatched == 0:
            blank = 0  # rows are blank by nature, none was suppressed and left so
        false_rows = max(0, unmatched - blank)
        if general is None or false_rows < fewest:
            fewest, general = false_rows, candidate
        if false_rows == 0:
            break
    assert general is not None  # there is at least one possible node
    others = policy.with_role("sensitive", "other")
    if fewest == 0 and blank and others:
        fewest = released.difference(general, others)
    if blank and _blank_rows(general, policy):
        detail = "rows whose quasi cells are all missing cannot be told from suppressed rows that were left blank"
        return [Check("truthful", False, detail)]
    if fewest:
        return [Check("truthful", False, f"{fewest} released rows generalize no row of the original, one to one")]
    suppressed = eligible - rows + blank
    detail = f"each of {rows} rows generalizes a row of its own of the original"
    return [
        Check("truthful", True, detail),
        *_as_said(claimed, suppressed),
        *_within_limit(policy, suppressed, eligible),
        _least_suppression(general, policy, suppressed),
    ]


def _blank_rows(released: Rows, policy: Policy) -> int:
    """Give the number of released rows whose quasi-identifier is blank, if the policy lets rows be released so."""
    if policy.suppressed_rows != "blank":
        return 0
    released.encode(policy.quasi, [(name, "missing", None) for name in policy.quasi])
    return int(released.count_by(policy.quasi).counts.sum())


def _possible_nodes(
    released: Rows,
    policy: Policy,
    hierarchies: Mapping[str, CompiledHierarchy],
    has_blank_rows: bool,
    hint: Mapping[str, int] | None,
) -> tuple[list[Node], list[str]]:
    """Give the nodes whose labels include all released ones, the hinted first, and the columns that fit no level."""
    found = released.encode(policy.quasi)
    per_column: list[list[int]] = []
    lost = []
    for name in policy.quasi:
        labels = set(found[name])
        if has_blank_rows:
            labels.discard(None)
        levels = [level for level, known in enumerate(hierarchies[name].labels) if labels <= set(known)]
        if not levels:
            lost.append(name)
        if hint is not None and hint.get(name) in levels:
            levels.sort(key=lambda level: level != hint[name])
        per_column.append(levels)
    return list(islice(product(*per_column), MOST_NODES_TRIED)), lost


def _generalization(node: Node, policy: Policy, hierarchies: Mapping[str, CompiledHierarchy]) -> Plan:
    """Give the plan that takes every eligible row to a node and suppresses none."""
    levels = dict(zip(policy.quasi, node, strict=True))
    return Plan(
        columns=policy.with_role("quasi", "sensitive", "other"),
        maps={name: hierarchies[name].maps[level] for name, level in levels.items()},
        labels={name: hierarchies[name].labels[level] for name, level in levels.items()},
        kept=frozenset(name for name, level in levels.items() if level == 0),
        suppressed={name: np.zeros(0, np.int64) for name in levels},
        blank=False,
    )


def _least_suppression(general: Rows, policy: Policy, suppressed: int) -> Check:
    """Check that no more rows were suppressed than must be at this node, save Datafly's complementary group."""
    tuples = Tuples.of(general, policy)
    is_kept = greatest_safe_set(tuples, tuples.counts, policy)
    required = int(tuples.counts[~is_kept].sum())
    name = "least suppression"
    if suppressed == required:
        return Check(name, True, f"{counted(suppressed, 'row')} suppressed, as many as must be at this generalization")
    if suppressed > required and any(model.asks_population for model in policy.privacy):
        # the search counts only people who surely fit, and so may suppress more
        return Check(name, True, f"{counted(suppressed, 'row')} suppressed; at least {required} must be here")
    if suppressed in _with_complement(tuples, is_kept, policy):
        return Check(
            name, True, f"{counted(required, 'row')} must be suppressed, and the smallest group to hide them among"
        )
    return Check(name, False, f"{counted(suppressed, 'row')} suppressed, but {required} must be at this generalization")


@dataclass(frozen=True, slots=True)
class Tuples:
    """The distinct rows of a generalized table over its quasi and its asked sensitive columns, with their counts."""

    codes: IntArray
    """(quasi columns, tuples) label codes."""
    labels: Mapping[str, Sequence[str | None]]
    """The labels of each quasi column, by their codes."""
    values: Mapping[str, IntArray]
    texts: Mapping[str, Sequence[str | None]]
    counts: IntArray

    @classmethod
    def of(cls, general: Rows, policy: Policy) -> Tuples:
        """Count a generalized table."""
        asked = policy.asked_sensitive
        texts = general.encode((*policy.quasi, *asked))
        counted = general.count_by((*policy.quasi, *asked))
        codes = [np.asarray(code, np.int64) for code in counted.codes]
        values = dict(zip(asked, codes[len(policy.quasi) :], strict=True))
        labels = {name: texts[name] for name in policy.quasi}
        asked_texts = {name: texts[name] for name in asked}
        return cls(np.stack(codes[: len(policy.quasi)]), labels, values, asked_texts, counted.counts)


def _with_complement(tuples: Tuples, is_kept: BoolArray, policy: Policy) -> set[int]:
    """Give the numbers of rows that Datafly's step 4 may suppress: the required ones and a smallest safe group."""
    counts = tuples.counts
    required = int(counts[~is_kept].sum())
    k = max((least_rows(model) for model in policy.privacy), default=1)
    if not 0 < required < k or not is_kept.any():
        return set()
    _, group_of = np.unique(tuples.codes, axis=1, return_inverse=True)
    group_of = group_of.ravel()
    sizes = np.bincount(group_of, counts * is_kept).astype(np.int64)
    smallest = np.flatnonzero(sizes == sizes[sizes > 0].min())
    totals = set()
    for group in smallest:
        left = np.where(group_of == group, 0, counts)
        still_kept = greatest_safe_set(tuples, left, policy)
        totals.add(int(counts.sum() - left[still_kept].sum()))
    return totals


def greatest_safe_set(tuples: Tuples, counts: IntArray, policy: Policy) -> BoolArray:
    """Tell which tuples can stay, by taking failing ones out until none fails; models of the whole table come last."""
    by_columns: dict[tuple[int, ...], list[PrivacyModel]] = {}
    for _, columns, model in policy.requirements():
        positions = tuple(sorted(policy.quasi.index(column) for column in columns))
        by_columns.setdefault(positions, []).append(model)
    is_kept = counts > 0
    for alone in (True, False):
        before = -1
        while int((~is_kept).sum()) > before:
            before = int((~is_kept).sum())
            for positions, models in by_columns.items():
                _, group_of = np.unique(tuples.codes[list(positions)], axis=1, return_inverse=True)
                left = counts * is_kept
                for model in models:  # all of them judge the same rows: what one takes out changes what others see
                    if not (alone and model.asks_whole_table):
                        is_safe = _satisfied(model, tuples, positions, group_of.ravel(), left, policy)
                        is_kept &= is_safe[group_of.ravel()]
    return is_kept


def _satisfied(
    model: PrivacyModel,
    tuples: Tuples,
    positions: Sequence[int],
    group_of: IntArray,
    left: IntArray,
    policy: Policy,
) -> BoolArray:
    """Tell which groups, by the columns at some positions, satisfy a model with the rows that are left."""
    if model.asks_population:
        sizes = np.bincount(group_of, left).astype(np.int64)
        codes = np.zeros((len(positions), len(sizes)), np.int64)
        codes[:, group_of] = tuples.codes[list(positions)]
        names = [policy.quasi[position] for position in positions]
        people = people_that_fit(tuples.labels, names, codes, sizes, policy, model)
        return model.satisfied(Groups.of_sizes(sizes, crowds={model.crowd: CountedCrowd(people)}))
    tallies = {}
    for name in sensitive_columns(model, policy):
        compiled = policy.columns[name].compile(tuples.texts[name])
        hierarchy = compiled if compiled.height else None
        tallies[name] = Tally.of(group_of, tuples.values[name], left, tuples.texts[name], hierarchy)
    return model.satisfied(Groups.of_sizes(np.bincount(group_of, left).astype(np.int64), tallies))
