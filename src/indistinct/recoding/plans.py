"""Plans: recodings in the engine's terms, which know columns, codes and texts, but nothing of privacy."""

from __future__ import annotations

import numpy as np

from indistinct.engine.plans import ClassPlan, LocalPlan, Plan
from indistinct.policy import Policy
from indistinct.recoding.classes import Classes
from indistinct.recoding.full_domain import FullDomainRecoding
from indistinct.recoding.link_column import LINK
from indistinct.recoding.local import LocalRecoding


def class_plan(recoding: Classes, policy: Policy, extra: tuple[str, ...] = ()) -> ClassPlan:
    """Give the plan of two tables: quasi, other and extra columns as they are, and sensitive ones apart."""
    frequencies, pieces = recoding.frequencies, recoding.pieces
    tuples = {name: frequencies.entry_codes(c)[pieces.tuples] for c, name in enumerate(frequencies.columns)}
    return ClassPlan(
        tables={"quasi": (*policy.with_role("quasi", "other"), *extra), "sensitive": policy.with_role("sensitive")},
        tuples=tuples | {name: codes[pieces.tuples] for name, codes in frequencies.entries.codes.items()},
        rows=pieces.rows,
        groups=pieces.groups,
        link=LINK,
    )


def local_plan(recoding: LocalRecoding, policy: Policy, extra: tuple[str, ...] = ()) -> LocalPlan:
    """Put a local recoding in the engine's terms: the tuple, rows and group of each piece, and each group's labels."""
    frequencies, pieces = recoding.frequencies, recoding.pieces
    names = frequencies.columns
    tuples = {name: frequencies.entry_codes(column)[pieces.tuples] for column, name in enumerate(names)}
    kept = [name for name, labels in zip(names, recoding.labels, strict=True) if not labels.levels.any()]
    return LocalPlan(
        columns=(*policy.with_role("quasi", "sensitive", "other"), *extra),
        tuples=tuples | {name: codes[pieces.tuples] for name, codes in frequencies.entries.codes.items()},
        rows=pieces.rows,
        groups=pieces.groups,
        labels={name: recoding.labels[column].texts for column, name in enumerate(names)},
        codes={name: recoding.codes[column] for column, name in enumerate(names)},
        kept=frozenset(kept),
        blank=policy.suppressed_rows == "blank",
    )


def column_plan(recoding: FullDomainRecoding, policy: Policy, extra: tuple[str, ...] = ()) -> Plan:
    """Put a recoding in the engine's terms: maps of codes, texts of labels, and the groups to suppress."""
    suppressed = np.flatnonzero(recoding.is_suppressed)
    sensitive = recoding.frequencies.sensitive
    plan_maps, plan_labels, plan_suppressed = {}, {}, {}
    for column, (name, level) in enumerate(recoding.levels.items()):
        hierarchy = recoding.frequencies.hierarchies[column]
        plan_maps[name] = hierarchy.maps[level]
        plan_labels[name] = hierarchy.labels[level]
        plan_suppressed[name] = recoding.groups.label_codes(column)[suppressed]
    for name, column_values in sensitive.items():  # released as they are
        plan_maps[name] = np.arange(len(column_values.values))
        plan_labels[name] = column_values.values
    return Plan(
        columns=(*policy.with_role("quasi", "sensitive", "other"), *extra),
        maps=plan_maps,
        labels=plan_labels,
        kept=frozenset([*(name for name, level in recoding.levels.items() if level == 0), *sensitive]),
        suppressed=plan_suppressed,
        blank=policy.suppressed_rows == "blank",
        unblanked=frozenset(sensitive),
    )
