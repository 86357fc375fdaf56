"""state_bound(): the lower bound that is stated with every local release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.privacy.model import least_rows
from indistinct.progress import Watch
from indistinct.quality.measures import NCP, CellMeasure
from indistinct.recoding import Recoding
from indistinct.search.algorithm import Algorithm, as_algorithm
from indistinct.search.full_domain.best_node.value_counter import rules_of
from indistinct.search.task import Task

if TYPE_CHECKING:
    from indistinct.search.bounds.cost_grids import ValueShares


def state_bound(task: Task, recoding: Recoding, algorithm: Algorithm, watch: Watch) -> Recoding:
    """Return the recoding with a lower bound on the loss of any recoding of its kind, unless it already has one.

    The loss is by the measure that the algorithm optimizes, or else by NCP. The bound holds for groups of as many rows
    as the policy asks for, with labels of this kind, however many rows are suppressed. Without a time limit it takes
    about a fifth of the algorithm's time; with one, it uses what is left as long as the bound rises. Where a sensitive
    value may make up only a share of a group, it holds for such groups alone. With randomly raised labels no bound is
    stated, since it would disclose something of the values below them.
    """
    declared = as_algorithm(algorithm)
    measure = declared.optimizes if isinstance(declared.optimizes, CellMeasure) else NCP()
    if not recoding.tells_measure(measure.name) or recoding.bound is not None:
        return recoding
    if recoding.gap is not None:
        return replace(recoding, bound={measure.name: max(0.0, measure.loss(recoding) - recoding.gap)})
    k = rows_of_every_group(task)
    if declared.label_kind is None or k < 2:
        return recoding
    from indistinct.search.bounds.bounds import (  # much is loaded for it, and full-domain releases take none
        MOST_VISITS,
        cell_bound,
    )

    visits = MOST_VISITS
    if watch.time_limit is None or watch.time_is_up():
        visits = declared.bound_effort * len(task.frequencies.entries)
        watch = Watch(None, watch.progress, watch.is_cancelled)
    bound = cell_bound(task.frequencies, measure, k, watch, declared.label_kind, visits, value_shares(task))
    gap = max(0.0, measure.loss(recoding) - bound)
    is_proven = recoding.is_proven if recoding.is_proven is None else recoding.is_proven or gap == 0
    return replace(recoding, bound={measure.name: bound}, gap=gap, is_proven=is_proven)


def rows_of_every_group(task: Task) -> int:
    """Return the rows that every group over all quasi columns must have; 1 where only some columns are asked about."""
    everything = len(task.frequencies.columns)
    asked = [one.models for one in task.requirements if len(one.columns) == everything]
    return max((least_rows(model) for models in asked for model in models), default=1)


def value_shares(task: Task) -> ValueShares | None:
    """Return what every value of one sensitive column may make up of a group over all quasi columns, if that is
    limited.

    Of several columns it is the one whose values are limited most. Where people are counted, shares are not of rows.
    """
    frequencies = task.frequencies
    if frequencies.base.people is not None:
        return None
    found = list[tuple[float, str, FloatArray]]()
    for one in task.requirements:
        if len(one.columns) == len(frequencies.columns):
            for model in one.models:
                for column, rule in [] if model.asks_whole_table else rules_of(task, model) or []:
                    if rule.kind == "shares" and rule.limits is not None:
                        found.append((float(rule.limits.mean()), column, rule.limits))
    if not found:
        return None
    from indistinct.search.bounds.cost_grids import ValueShares

    _, column, limits = min(found, key=lambda one: one[:2])
    return ValueShares(frequencies.entries.codes[column].astype(np.int32), limits)
