"""linked_suggestion(): a first policy for tables that belong together, with keys and references found by containment.

Each table is looked at with the person of every row beside it, so that what few people share leaves none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from indistinct.engine import use_table
from indistinct.errors import IndistinctError, InterruptedSearchError, PolicyError
from indistinct.linkage import CodedColumn, Reference, coded_columns, find_references
from indistinct.pipeline.stages import anonymize
from indistinct.pipeline.suggesting.first_policy import columns_of
from indistinct.policy import Column, LinkedTable, Policy
from indistinct.privacy import KAnonymity, LDiversity, PrivacyModel
from indistinct.profiling import Profile, SaidRoles, profile
from indistinct.progress import Watch

WHOSE = ".whose row"
LIMITS = (0.02, 0.1, 0.3, 0.5)
"""Shares of the rows that may be suppressed: the first by which there is a release is written."""
MOST_TRIED = 50_000
"""Of more rows no release is tried."""
DIVERSE = 2


@dataclass(frozen=True, slots=True)
class LinkedSuggestion:
    """A policy of several tables, why it is so, and what each table looks like."""

    policy: Policy
    reasons: tuple[str, ...]
    profiles: Mapping[str, Profile]

    def comments(self) -> dict[str, str]:
        """Return the reason for each column by its name; of several tables with such a column that of the first."""
        found: dict[str, str] = {}
        for one in self.profiles.values():
            for column in one.columns:
                said = f"unsure: {column.reason}" if column.is_unsure else column.reason
                found.setdefault(column.name, said)
        return found


@dataclass(frozen=True, slots=True)
class _Links:
    """Which table lists the people, and what ties the others to it."""

    root: str
    key: str
    references: Mapping[str, Mapping[str, str]]
    """Of each table the tables that its columns refer to."""
    keys: Mapping[str, str]
    reasons: tuple[str, ...] = field(default=())


def linked_suggestion(
    tables: Mapping[str, Any], k: int = 5, *, watch: Watch | None = None, **reading: Any
) -> LinkedSuggestion:
    """Return a first policy for tables that are given by name; raise if nothing ties them to one of them."""
    watch = watch or Watch()
    with ExitStack() as stack:
        opened = {name: stack.enter_context(use_table(one, **reading)) for name, one in tables.items()}
        coded = {name: coded_columns(rows, rows.columns()) for name, rows in opened.items()}
    if empty := [name for name, columns in coded.items() if not columns]:
        raise PolicyError(f"tables: {empty[0]} is too large to look for keys in; write the policy by hand")
    links = _links(coded)
    whose = _whose(coded, links)
    profiles = {}
    for name, columns in coded.items():
        held = {links.keys.get(name), *links.references[name]}
        own = {column: _texts(cells) for column, cells in columns.items() if column not in held}
        if own:
            table = pa.table(own | ({} if name == links.root else {WHOSE: pa.array(whose[name], pa.string())}))
            said = SaidRoles(person=() if name == links.root else (WHOSE,), is_part=True)
            profiles[name] = profile(table, k, said=said, watch=watch)
    policy, why = _release_that_exists(tables, coded, links, profiles, k, watch)
    return LinkedSuggestion(policy, (*links.reasons, why), profiles)


def _links(coded: Mapping[str, Mapping[str, CodedColumn]]) -> _Links:
    """Return what ties tables together: every other table leads to the one that lists the people."""
    found = find_references(coded)
    parents = {one.table: [other for other in found if other.table == one.table] for one in found}
    roots = [name for name in coded if name not in parents]
    if len(roots) != 1:
        what = "none lists the people" if not roots else f"nothing in {roots[1]} refers to another table"
        raise PolicyError(
            f"tables: {what}; a column of every other table must hold keys of another, all of which stand there once"
        )
    (root,) = roots
    to_root = [one for one in found if one.parent == root]
    key = max({one.key for one in to_root}, key=lambda name: sum(one.key == name for one in to_root))
    references: dict[str, dict[str, str]] = {name: {} for name in coded}
    keys, reasons = {root: key}, []
    for name, own in parents.items():
        members = [one for one in own if one.parent == root and one.key == key][:1]
        others = sorted((one for one in own if one.parent != root), key=lambda one: (not one.is_alike, -one.share))
        for one in (*members, *others[:1]):
            if keys.setdefault(one.parent, one.key) == one.key:
                references[name][one.column] = one.parent
                reasons.append(_say(one))
    if lost := [name for name in coded if name != root and not references[name]]:
        raise PolicyError(f"tables: nothing in {lost[0]} leads to {root}, which lists the people; leave it out")
    return _Links(root, key, references, keys, (f"{root} lists the people, by {key}", *reasons))


def _say(one: Reference) -> str:
    return f"{one.table}.{one.column} refers to {one.parent}.{one.key}: all its cells stand there, and each once"


def _texts(cells: CodedColumn) -> pa.Array:
    return pa.array([cells.texts[code] for code in cells.codes.tolist()], pa.string())


def _whose(coded: Mapping[str, Mapping[str, CodedColumn]], links: _Links) -> dict[str, list[str | None]]:
    """Return whose each row of each table is, as its references lead to the table that lists the people."""
    whose = {links.root: _texts(coded[links.root][links.key]).to_pylist()}
    while len(whose) < len(coded):
        ready = [name for name in coded if name not in whose and set(links.references[name].values()) & set(whose)]
        if not ready:
            raise PolicyError("tables: they refer to each other in a ring; write the policy by hand")
        for name in ready:
            column, parent = next(one for one in links.references[name].items() if one[1] in whose)
            keys = _texts(coded[parent][links.keys[parent]]).to_pylist()
            of = dict(zip(keys, whose[parent], strict=True))
            whose[name] = [of[cell] for cell in _texts(coded[name][column]).to_pylist()]
    return whose


def _policy(links: _Links, profiles: Mapping[str, Profile], k: int, limit: float, *, is_diverse: bool) -> Policy:
    """Return the policy; without models of secrets these are dropped, since what k people share tells them."""
    tables = {}
    models: list[PrivacyModel] = [KAnonymity(k)]
    for name, references in links.references.items():
        columns = _columns(profiles[name]) if name in profiles else {}
        secrets = [column for column, one in columns.items() if one.role == "sensitive"]
        if is_diverse:
            several = [one.name for one in profiles[name].columns if one.distinct > 1] if secrets else []
            models += [LDiversity(DIVERSE, column=f"{name}.{one}") for one in secrets if one in several]
        else:
            columns |= {one: Column("drop") for one in secrets}
        is_key = name in links.keys
        tables[name] = LinkedTable(columns, key=links.keys[name] if is_key else None, references=references)
    return Policy(tables=tables, privacy=models, person=links.key, max_suppression=limit)


def _columns(found: Profile) -> dict[str, Column]:
    return {name: column for name, column in columns_of(found).items() if name != WHOSE}


def _release_that_exists(
    tables: Mapping[str, Any],
    coded: Mapping[str, Mapping[str, CodedColumn]],
    links: _Links,
    profiles: Mapping[str, Profile],
    k: int,
    watch: Watch,
) -> tuple[Policy, str]:
    """Return the first policy by which there is a release: with models, and as few rows suppressed as can be."""
    rows = sum(len(next(iter(columns.values())).codes) for columns in coded.values())
    most = LIMITS[-1]
    if rows > MOST_TRIED:
        return _policy(links, profiles, k, most, is_diverse=True), f"no release was tried of {rows:,} rows"
    for is_diverse, limit in _ways(profiles):
        policy = _policy(links, profiles, k, limit, is_diverse=is_diverse)
        watch.report("weigh")
        try:
            anonymize(tables, policy, watch=Watch(is_cancelled=watch.is_cancelled, time_limit=watch.time_limit)).close()
        except InterruptedSearchError:
            raise
        except IndistinctError:
            continue
        left = "" if is_diverse else "; secrets are dropped, since people with one profile would share them"
        return policy, f"max_suppression = {limit}: the least of those tried by which there is a release{left}"
    return _policy(links, profiles, k, most, is_diverse=True), (
        f"no release was found that suppresses at most {most:.0%} of the rows: recode or drop columns, or lower k"
    )


def _ways(profiles: Mapping[str, Profile]) -> Sequence[tuple[bool, float]]:
    """Return in which order policies are tried."""
    has_secrets = any(one.with_role("sensitive") for one in profiles.values())
    return [(is_diverse, limit) for is_diverse in ((True, False) if has_secrets else (True,)) for limit in LIMITS]
