"""The checks that models, measures and algorithms of one's own must pass."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import FrequencyList, Groups, Node, Tally
from indistinct.errors import InfeasibleError
from indistinct.privacy import PrivacyModel
from indistinct.progress import Watch
from indistinct.quality import QualityMeasure
from indistinct.recoding import FullDomainRecoding, Recoding
from indistinct.search import Algorithm, Task
from indistinct.testing.random_tables import (
    EXAMPLES,
    asked_columns,
    for_all,
    frequency_lists,
    lists_with_recodings,
    nodes_of,
    tasks,
)
from indistinct.testing.recounted_rows import fingerprint, recount, released_rows

TOLERANCE = 1e-9


def check_model(model: PrivacyModel, *, examples: int = EXAMPLES) -> None:
    """Check that a privacy model judges each group by itself, describes itself, and is as monotone as it claims.

    ``is_monotone`` is what an exact search relies on: from a node to any node above it, the rows that must be
    suppressed never become more. It is not enough that merging satisfied groups gives satisfied ones; a failing group
    that joins a satisfied one must not spoil it. ``is_monotone_unsuppressed`` is enough where no row is suppressed:
    any satisfied groups that become one satisfy it, whichever labels they have. ``floor`` must be monotone and implied
    by the model, ``alone`` must imply it. A model with ``asks_whole_table`` may also judge a group by what else is
    released.
    """
    assert isinstance(model.name, str), "a model has a name"
    assert isinstance(model.is_monotone, bool), "is_monotone is True or False"
    described = model.describe()
    assert described.get("model") == model.name, "describe() names the model"
    assert json.loads(json.dumps(described)) == described, "describe() must fit into a manifest and a policy file"

    def check(frequencies: FrequencyList) -> None:
        at_nodes = {node: frequencies.roll_up(node)[0] for node in nodes_of(frequencies)}
        for groups in at_nodes.values():
            _check_judgement(model, groups)
            _check_relatives(model, groups)
            _check_unions(model, groups)
        _check_monotone(model, at_nodes)
        floor = getattr(model, "floor", None)
        if floor is not None and floor is not model:
            assert floor.is_monotone, "floor is a monotone model"
            _check_monotone(floor, at_nodes)
        _check_objection(model, frequencies)

    for_all(check, frequency_lists(sensitive=asked_columns([model])), examples)


def _check_judgement(model: PrivacyModel, groups: Groups) -> None:
    """Check that a model gives every group a verdict, and that it depends on the group alone where it should."""
    satisfied = model.holds(groups)
    assert satisfied.dtype == np.bool_, "satisfied() gives one claim per group"
    assert satisfied.shape == (len(groups),), "satisfied() gives one claim per group"
    if not getattr(model, "asks_whole_table", False):
        one_by_one = [bool(model.holds(_single(groups, position))[0]) for position in range(len(groups))]
        assert satisfied.tolist() == one_by_one, "a group's verdict depends on nothing but the group"
    again = model.holds(_backwards(groups))[::-1]
    assert (satisfied == again).all(), "a group's verdict does not depend on the order of the groups"
    empty = model.holds(groups.without(np.ones(len(groups), np.bool_)))
    assert empty.all(), "a group without rows satisfies every model"


def _check_relatives(model: PrivacyModel, groups: Groups) -> None:
    """Check that a model implies its floor, and is implied by what it says for groups that are made one by one."""
    satisfied = model.holds(groups)
    floor, alone = getattr(model, "floor", None), getattr(model, "alone", model)
    if floor is not None:
        assert (floor.holds(groups) | ~satisfied).all(), "a group that satisfies the model satisfies its floor"
    if alone.holds(groups).all():
        assert satisfied.all(), "groups that all satisfy what alone gives satisfy the model"


def _check_monotone(model: PrivacyModel, at_nodes: Mapping[Node, Groups]) -> None:
    """Check what a model claims about the way up the lattice."""
    required = {node: _rows_to_suppress(model, groups) for node, groups in at_nodes.items()}
    for low, high in _ordered_pairs(required):
        is_worse = required[high] > required[low]
        words = f"{required[low]} rows fail at {low}, but {required[high]} at {high}"
        if model.is_monotone:
            assert not is_worse, f"{model.name} is not monotone: {words}"
        if getattr(model, "is_monotone_unsuppressed", False) and required[low] == 0:
            assert not is_worse, f"{model.name} is not monotone even without suppression: {words}"


def _check_unions(model: PrivacyModel, groups: Groups) -> None:
    """Check that a release of satisfied groups satisfies the model when some of them become one."""
    if not getattr(model, "is_monotone_unsuppressed", False):
        return
    kept = groups.without(_failing(model, groups))
    for into in (np.arange(len(groups)) // 2, np.arange(len(groups)) % 2, np.zeros(len(groups), np.int64)):
        sizes = np.bincount(into, kept.sizes, len(groups)).astype(np.int64)
        joined = Groups.of_sizes(sizes, {name: tally.merge(into) for name, tally in kept.tallies.items()})
        assert model.holds(joined).all(), f"groups that satisfy {model.name} do not satisfy it together"


def _check_objection(model: PrivacyModel, frequencies: FrequencyList) -> None:
    """Check that a model says in words that quote no value why not even all rows together satisfy it."""
    everything, _ = frequencies.base.only([])
    words = model.objection(everything) if isinstance(model, PrivacyModel) else None
    if words is not None:
        values = [value for column in frequencies.sensitive.values() for value in column.values if value is not None]
        assert not [value for value in values if value in words], "objection() quotes no value of the table"


def _rows_to_suppress(model: PrivacyModel, groups: Groups) -> int:
    """Count the rows of the groups that fail."""
    return int(groups.sizes[_failing(model, groups)].sum())


def _failing(model: PrivacyModel, groups: Groups) -> BoolArray:
    """Return which groups fail, taking them out until none fails."""
    is_out = np.zeros(len(groups), np.bool_)
    while (fails := ~model.holds(groups.without(is_out)) & ~is_out).any():
        is_out |= fails
    return is_out


def check_measure(measure: QualityMeasure, *, examples: int = EXAMPLES) -> None:
    """Check that a measure's loss lies in [0, 1], and that its bounds hold wherever an exact search uses them.

    ``level_losses`` must not add up to more than the loss at any node, and ``bound_above`` of a node's groups must
    not exceed the loss at that node or any above it, whichever groups are suppressed.
    """
    assert isinstance(measure.name, str), "a measure has a name"

    def check(drawn: tuple[FrequencyList, list[FullDomainRecoding]]) -> None:
        frequencies, recodings = drawn
        losses = []
        parts = measure.level_losses(frequencies)
        if parts is not None:
            sizes = tuple(len(part) - 1 for part in parts)
            assert sizes == frequencies.heights, "level_losses() gives one loss per level of each column"
        for recoding in recodings:
            loss = measure.loss(recoding)
            losses.append(loss)
            assert -TOLERANCE <= loss <= 1 + TOLERANCE, f"the loss {loss} does not lie in [0, 1]"
            assert math.isfinite(measure.value(recoding)), "value() is a number"
            assert measure.loss(recoding) == loss, "the loss depends on the recoding alone"
            if parts is not None:
                bound = sum(float(part[level]) for part, level in zip(parts, recoding.node, strict=True))
                assert bound <= loss + TOLERANCE, f"level_losses() add up to {bound}, but the loss is {loss}"
        for low in recodings:
            bound = measure.bound_above(low.groups, frequencies)
            for high, loss in zip(recodings, losses, strict=True):
                if _is_below(low.node, high.node):
                    assert bound <= loss + TOLERANCE, (
                        f"bound_above() says {bound} at {low.node}, but the loss at {high.node} is {loss}"
                    )

    for_all(check, lists_with_recodings(), examples)


def check_algorithm(
    algorithm: Algorithm, *, models: Sequence[PrivacyModel] | None = None, examples: int = EXAMPLES
) -> None:
    """Check that every answer of an algorithm verifies: true groups, every model satisfied, within the limit.

    It may raise InfeasibleError, it must release something, and it gives the same answer twice. ``models`` are put
    into every policy, with the sensitive columns that they ask about; without them each policy asks for some
    k-anonymity.
    """
    assert isinstance(algorithm.name, str), "an algorithm has a name"

    def check(task: Task) -> None:
        first, second = _answer(algorithm, task), _answer(algorithm, task)
        assert (first is None) == (second is None), "the same task has the same answer"
        if first is None or second is None:
            return
        assert fingerprint(first) == fingerprint(second), "the same task has the same answer"
        assert first.frequencies is task.frequencies, "the recoding is one of the task's frequency list"
        released = released_rows(first)
        if first.is_safe:
            recount(task, first, released)

    for_all(check, tasks(models=models), examples)


def _answer(algorithm: Algorithm, task: Task) -> Recoding | None:
    try:
        return algorithm.run(task, Watch())
    except InfeasibleError:
        return None


def _is_below(low: Node, high: Node) -> bool:
    return all(a <= b for a, b in zip(low, high, strict=True))


def _ordered_pairs(nodes: dict[Node, int]) -> Iterator[tuple[Node, Node]]:
    return ((low, high) for low in nodes for high in nodes if _is_below(low, high))


def _backwards(groups: Groups) -> Groups:
    """The same groups in the opposite order."""
    tallies = {column: tally.merge(np.arange(len(groups))[::-1]) for column, tally in groups.tallies.items()}
    return Groups(groups.sizes[::-1].copy(), groups.keys[::-1].copy(), groups.node, groups.layout, tallies)


def _single(groups: Groups, position: int) -> Groups:
    """One of the groups as if it were released alone."""
    only = groups.without(np.arange(len(groups)) != position)
    tallies = {
        column: Tally.of(tally.groups - position, tally.values, tally.counts, tally.texts, tally.hierarchy)
        for column, tally in only.tallies.items()
    }
    return Groups.of_sizes(groups.sizes[[position]], tallies)
