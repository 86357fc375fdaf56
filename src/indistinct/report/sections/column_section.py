"""Columns: the hierarchy of each, the level that was used, and how its values were and are distributed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from indistinct.counting import FrequencyList
from indistinct.engine import Rows
from indistinct.hierarchy import CompiledHierarchy, Hierarchy, label_text
from indistinct.linkage import Coverage
from indistinct.policy import Policy
from indistinct.release.manifest import Facts
from indistinct.report.subject import Subject, columns_by_table

MOST_BARS = 12
"""Labels of a column that are shown one by one; the others are added up."""

LabelCounts = Mapping[str | None, int]
"""The rows of each label."""
SpreadCounts = Mapping[str | None, float]
"""The rows of each label, or a part of them that is spread to it."""
BeforeAndAfter = Mapping[str | None, tuple[float, float]]
"""The rows of each label in the release and before."""


def columns(subject: Subject) -> list[dict[str, Any]]:
    """Describe every quasi and sensitive column."""
    after = count_released(subject.tables, subject.policy)
    made = [_quasi(subject, name, after[name]) for name in subject.policy.quasi]
    before = _sensitive_before(subject)
    for name in subject.policy.with_role("sensitive"):
        distribution = bars(after[name], before.get(name))
        made.append({"name": name, "role": "sensitive", "before": None, "after": distribution})
    renamed = subject.policy.renamed
    return [one | ({"rename": renamed[one["name"]]} if one["name"] in renamed else {}) for one in made]


def _quasi(subject: Subject, name: str, after: LabelCounts) -> dict[str, Any]:
    """Describe a quasi column; what the private table holds only in an internal edition."""
    said, hierarchy = subject.said, subject.policy.columns[name].hierarchy
    level = None if subject.node is None else subject.node[name]
    described: dict[str, Any] = {
        "name": name,
        "role": "quasi",
        "kind": hierarchy.kind,
        "level": level if subject.form.generalizes else 0,
        "mean_level": (said.mean_levels or {}).get(name),
        "height": said.heights[name],
        "levels": _level_names(hierarchy.describe()["levels"], said, name),
        "before": None,
    }
    if subject.before is None:
        return described | {"after": bars(after)}
    place = subject.before.columns.index(name)
    compiled = _own_hierarchy(subject.before, place, hierarchy)
    values = dict(zip(compiled.values, _value_counts(subject.before, place), strict=True))
    described["levels"] = _levels(compiled, values)
    described["before"] = bars(values, order=_order(compiled))
    if level is None:
        spread = spread_labels(after, hierarchy, compiled.values)
        if spread is None:
            return described | {"after": bars(after)}
        distinct = sum(1 for label, rows in after.items() if rows and label is not None)
        found = bars(spread, values, order=_order(compiled)) | {"distinct": distinct, "is_spread": True}
        return described | {"after": found}
    return described | {"after": bars(after, _at_level(compiled, values, level))}


def bars(
    after: SpreadCounts, before: SpreadCounts | None = None, order: Mapping[str | None, Any] | None = None
) -> dict[str, Any]:
    """Return the rows of each label, those of the most frequent ones one by one, and of the others together.

    ``before`` has the rows of the same labels before any was suppressed. ``order`` says what to sort the labels by;
    where there are too many, neighbours are then added up instead of the rare ones.

    >>> bars({"b": 1, "a": 5})["bars"]
    [{'label': 'a', 'rows': 5}, {'label': 'b', 'rows': 1}]
    """
    labels = list(dict.fromkeys([*after, *(before or {})]))
    rows = {label: (after.get(label, 0), (before or {}).get(label, 0)) for label in labels}
    present = [label for label in labels if label is not None]
    kept = MOST_BARS - (None in rows)
    runs = [[label] for label in _sort_labels(present, rows, order)]
    others: list[str] = []
    if len(runs) > kept and order is not None:
        runs = _neighbours([run[0] for run in runs], kept)
    elif len(runs) > kept:
        frequent = sorted(present, key=lambda label: (-max(rows[label]), label))
        others = frequent[kept - 1 :]
        runs = [run for run in runs if run[0] in set(frequent[: kept - 1])]
    made = [_bar(_name_of_run(run), run, rows, before) for run in runs]
    if others:
        made.append(_bar(f"{len(others):,} others", others, rows, before) | {"is_others": True})
    if None in rows:
        made.append(_bar(label_text(None), [None], rows, before))
    return {
        "rows": round(sum(after.values())),
        "distinct": len([label for label in present if after.get(label)]),
        "bars": made,
    }


def _bar(name: str, labels: Sequence[str | None], rows: BeforeAndAfter, before: SpreadCounts | None) -> dict[str, Any]:
    made: dict[str, Any] = {"label": name, "rows": round(sum(rows[label][0] for label in labels))}
    if before is not None:
        made["before"] = round(sum(rows[label][1] for label in labels))
    return made


def _name_of_run(run: Sequence[str]) -> str:
    return run[0] if len(run) == 1 else f"{run[0]} … {run[-1]}"


def _neighbours(labels: Sequence[str], most: int) -> list[list[str]]:
    """Cut labels in order into at most ``most`` runs of about equal length."""
    length = -(-len(labels) // most)
    return [list(labels[start : start + length]) for start in range(0, len(labels), length)]


def _sort_labels(labels: Sequence[str], rows: BeforeAndAfter, order: Mapping[str | None, Any] | None) -> list[str]:
    """Sort labels by what is given, else by the numbers in them if all have some, else the most frequent first."""
    if order is not None:
        return sorted(labels, key=lambda label: (order[label], label))
    if all(any(map(str.isdecimal, label)) for label in labels):
        return sorted(labels, key=_natural)
    return sorted(labels, key=lambda label: (-max(rows[label]), label))


def _natural(label: str) -> list[tuple[int, int, str]]:
    """Return a key by which numbers in texts are sorted as numbers.

    >>> sorted(["100-119", "20-39", "0213*"], key=_natural)
    ['20-39', '100-119', '0213*']
    """
    parts = re.findall(r"[0-9]+|[^0-9]+", label)
    return [(1, int(part[:4000]), "") if part[0] in "0123456789" else (0, 0, part) for part in parts]


def _order(compiled: CompiledHierarchy) -> dict[str | None, Any] | None:
    """Return the number or date that each value says; None if they have no such order."""
    keys = compiled.sort_keys(compiled.values)
    return None if keys is None else dict(zip(compiled.values, keys, strict=True))


def count_released(tables: Mapping[str, Rows], policy: Policy) -> dict[str, LabelCounts]:
    """Count the released rows of each label of each quasi and sensitive column."""
    found: dict[str, LabelCounts] = {}
    for table, columns in columns_by_table(tables, policy).items():
        counts = count_labels(tables[table], list(columns.values()))
        found |= {name: counts[own] for name, own in columns.items()}
    return found


def count_labels(
    rows: Rows, names: Sequence[str], where: Sequence[tuple[str, str, object]] = ()
) -> dict[str, LabelCounts]:
    """Count the rows of each label of some columns."""
    if not names:
        return {}
    found: dict[str, LabelCounts] = {}
    with rows.encode(names, where) as encoded:
        for name in names:
            counts, labels = encoded.count_by([name]), encoded.values[name]
            found[name] = dict(
                zip([labels[code] for code in counts.codes[0].tolist()], counts.counts.tolist(), strict=True)
            )
    return found


def _sensitive_before(subject: Subject) -> dict[str, LabelCounts]:
    """Count the sensitive values of the eligible private rows, as far as somebody can see them here."""
    policy = subject.policy
    found: dict[str, LabelCounts] = {}
    for table, columns in columns_by_table(subject.sources, policy).items():
        own_policy = policy.parts[table].policy
        asked = {name: own for name, own in columns.items() if policy.columns[name].role == "sensitive"}
        where = [condition.as_triple() for condition in own_policy.eligible]
        counts = count_labels(subject.sources[table], list(asked.values()), where)
        found |= {name: counts[own] for name, own in asked.items()}
    if found or subject.before is None:
        return found
    tallies = subject.before.base.tallies
    return {name: dict(zip(tally.texts, tally.totals.tolist(), strict=True)) for name, tally in tallies.items()}


def _own_hierarchy(before: FrequencyList, place: int, hierarchy: Hierarchy) -> CompiledHierarchy:
    """Return the hierarchy of a column's own values; where tables are counted together, others have a last one."""
    compiled = before.hierarchies[place]
    return hierarchy.compile(compiled.values[:-1]) if before.has_absent else compiled


def _value_counts(before: FrequencyList, place: int) -> list[int]:
    """Return the rows of each of a column's own values."""
    counts: list[int] = before.value_counts(place).tolist()
    return counts[:-1] if before.has_absent else counts


def spread_labels(
    after: LabelCounts, hierarchy: Hierarchy, values: Sequence[str | None]
) -> dict[str | None, float] | None:
    """Return the released rows of each value, those of a label spread evenly over the values that it covers.

    None if some label covers none of the values.

    >>> from indistinct.hierarchy import intervals
    >>> spread_labels({"1": 2, "0-9": 6, None: 1}, intervals(10), ["1", "5", "8", None])
    {'1': 4.0, '5': 2.0, '8': 2.0, None: 1}
    """
    labels, present = [label for label in after if label is not None], [one for one in values if one is not None]
    coverage = Coverage.of(hierarchy, labels, present)
    values_of_rank = np.bincount(coverage.ranks, minlength=coverage.number)
    each = np.zeros(coverage.number)
    for label, ranks in zip(labels, coverage.covered, strict=True):
        covered = np.arange(ranks.start, ranks.stop) if isinstance(ranks, range) else np.asarray(ranks, np.int64)
        number = int(values_of_rank[covered].sum())
        if not number:
            return None
        each[covered] += after[label] / number
    found: dict[str | None, float] = dict(zip(present, each[coverage.ranks].tolist(), strict=True))
    return found | ({None: after.get(None, 0)} if None in after or None in values else {})


def _at_level(compiled: CompiledHierarchy, values: LabelCounts, level: int) -> dict[str | None, int]:
    """Count the eligible rows of each label at a level."""
    labels, counts = compiled.labels[level], dict.fromkeys(compiled.labels[level], 0)
    for code, rows in zip(compiled.maps[level].tolist(), values.values(), strict=True):
        counts[labels[code]] += rows
    return counts


def _levels(compiled: CompiledHierarchy, values: LabelCounts) -> list[dict[str, Any]]:
    """Describe each level: its name, how many labels the table has there, and what the most frequent value becomes."""
    present = [value for value in values if value is not None]
    usual = compiled.values.index(max(present, key=lambda value: (values[value], value))) if present else 0
    return [
        {
            "level": level,
            "name": name,
            "labels": len(set(labels) - {None}),
            "example": label_text(labels[int(codes[usual])]),
        }
        for level, (name, labels, codes) in enumerate(
            zip(compiled.level_names, compiled.labels, compiled.maps, strict=True)
        )
    ]


def _level_names(names: Sequence[str], said: Facts, column: str) -> list[dict[str, Any]]:
    """Describe each level by its name alone; what is not named is numbered."""
    height = said.heights[column]
    named = list(names) if len(names) == height + 1 else ["value", *(f"level {n}" for n in range(1, height + 1))]
    if said.node is not None and said.level_names is not None:
        named[said.node[column]] = said.level_names[column]
    return [{"level": level, "name": name} for level, name in enumerate(named)]
