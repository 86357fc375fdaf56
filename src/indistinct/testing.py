"""Conformance checks for models, measures and algorithms of your own, and hypothesis strategies for what they work on.

Call a check in a test; it raises an AssertionError with a small counterexample if a promise does not hold:

    from indistinct.testing import check_measure

    def test_my_measure_keeps_its_promises():
        check_measure(MyMeasure())

hypothesis is needed: ``pip install "indistinct[test]"``.
"""

from __future__ import annotations

import functools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.algorithms import Algorithm, Task
from indistinct.counting import FrequencyList, Groups, Node, Sensitive, Tally
from indistinct.errors import InfeasibleError, MissingExtraError
from indistinct.hierarchy import Hierarchy, keep, levels
from indistinct.policy import Policy, quasi, sensitive
from indistinct.privacy import KAnonymity, PrivacyModel
from indistinct.proof.truth import Covers
from indistinct.quality import QualityMeasure
from indistinct.recoding import Classes, FullDomainRecoding, LocalRecoding, Recoding
from indistinct.watch import Watch

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

TOLERANCE = 1e-9
EXAMPLES = 50
NAMES = "abcd"
SENSITIVE_NAMES = ("illness", "income")
SENSITIVE_NUMBERS = (7001, 7002, 7005, 7010)

Texts = tuple[str | None, ...]
Released = Counter[tuple[Texts, Texts]]
"""How many rows are released with these labels and these sensitive values."""


def check_model(model: PrivacyModel, *, examples: int = EXAMPLES) -> None:
    """Check that a privacy model judges each group by itself, describes itself, and is as monotone as it claims.

    ``is_monotone`` is what an exact search relies on: from a node to any node above it, the rows that must be
    suppressed never become more. It is not enough that merging satisfied groups gives satisfied ones; a failing group
    that joins a satisfied one must not spoil it. ``is_monotone_unsuppressed`` is enough where no row is suppressed:
    above a node at which every group is satisfied every group is. ``floor`` must be monotone and implied by the model,
    ``alone`` must imply it. A model with ``asks_whole_table`` may also judge a group by what else is released.
    """
    assert isinstance(model.name, str), "a model has a name"
    assert isinstance(model.is_monotone, bool), "is_monotone is True or False"
    described = model.describe()
    assert described.get("model") == model.name, "describe() names the model"
    assert json.loads(json.dumps(described)) == described, "describe() must fit into a manifest and a policy file"

    def check(frequencies: FrequencyList) -> None:
        at_nodes = {node: frequencies.roll_up(node)[0] for node in _nodes(frequencies)}
        for groups in at_nodes.values():
            _check_judgement(model, groups)
            _check_relatives(model, groups)
        _check_monotone(model, at_nodes)
        floor = getattr(model, "floor", None)
        if floor is not None and floor is not model:
            assert floor.is_monotone, "floor is a monotone model"
            _check_monotone(floor, at_nodes)
        _check_objection(model, frequencies)

    _for_all(check, frequency_lists(sensitive=_asked_columns([model])), examples)


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


def _check_objection(model: PrivacyModel, frequencies: FrequencyList) -> None:
    """Check that a model says in words that quote no value why not even all rows together satisfy it."""
    everything, _ = frequencies.base.only([])
    words = model.objection(everything) if isinstance(model, PrivacyModel) else None
    if words is not None:
        values = [value for column in frequencies.sensitive.values() for value in column.values if value is not None]
        assert not [value for value in values if value in words], "objection() quotes no value of the table"


def _rows_to_suppress(model: PrivacyModel, groups: Groups) -> int:
    """Count the rows of the groups that fail, taking them out until none fails."""
    is_out = np.zeros(len(groups), np.bool_)
    while True:
        fails = ~model.holds(groups.without(is_out)) & ~is_out
        if not fails.any():
            return int(groups.sizes[is_out].sum())
        is_out |= fails


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

    _for_all(check, _lists_with_recodings(), examples)


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
        assert _fingerprint(first) == _fingerprint(second), "the same task has the same answer"
        assert first.frequencies is task.frequencies, "the recoding is one of the task's frequency list"
        released = _released_rows(first)
        if first.is_safe:
            _recount(task, first, released)

    _for_all(check, tasks(models=models), examples)


def _released_rows(recoding: Recoding) -> Released:
    """Count the released rows anew, each kind of recoding in its own way."""
    if isinstance(recoding, Classes):
        return _released_in_classes(recoding)
    if isinstance(recoding, LocalRecoding):
        return _released_locally(recoding)
    assert isinstance(recoding, FullDomainRecoding), "an algorithm gives a recoding of indistinct.recoding"
    return _full_domain_rows(recoding)


def _fingerprint(recoding: Recoding) -> object:
    """Give what must be the same when an algorithm answers twice."""
    if isinstance(recoding, FullDomainRecoding):
        return recoding.node, recoding.suppressed_rows
    pieces = recoding.as_pieces()
    placed = sorted(zip(pieces.tuples.tolist(), pieces.groups.tolist(), pieces.rows.tolist(), strict=True))
    if not isinstance(recoding, LocalRecoding):
        return placed
    return placed, [labels.texts for labels in recoding.labels], recoding.codes.tolist()


def _answer(algorithm: Algorithm, task: Task) -> Recoding | None:
    try:
        return algorithm.run(task, Watch())
    except InfeasibleError:
        return None


def _released_in_classes(recoding: Classes) -> Released:
    """Count the rows of each class, which stands for all labels, and check that every row has its place."""
    frequencies, pieces = recoding.frequencies, recoding.pieces
    placed = np.bincount(pieces.tuples, pieces.rows, len(frequencies.entries)).astype(np.int64)
    assert (placed == frequencies.entries.counts).all(), "every row of every tuple goes to one class, or is suppressed"
    sensitive = _sensitive_texts(frequencies)
    released: Released = Counter()
    for position, rows, group in zip(pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), strict=True):
        if group >= 0:
            released[(str(group),) * len(frequencies.columns), sensitive[position]] += rows
    return released


def _released_locally(recoding: LocalRecoding) -> Released:
    """Count the released rows of a local recoding, and check that every row has its place under a label of its own."""
    frequencies, pieces = recoding.frequencies, recoding.pieces
    placed = np.bincount(pieces.tuples, pieces.rows, len(frequencies.entries)).astype(np.int64)
    assert (placed == frequencies.entries.counts).all(), "every row of every tuple goes to one group, or is suppressed"
    assert (pieces.rows > 0).all(), "a piece has rows"
    values = [frequencies.entry_codes(column) for column in range(len(frequencies.columns))]
    covers = [Covers(hierarchy) for hierarchy in frequencies.hierarchies]
    sensitive = _sensitive_texts(frequencies)
    released: Released = Counter()
    for position, rows, group in zip(pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), strict=True):
        if group < 0:
            continue
        texts = [labels.texts[int(codes[group])] for labels, codes in zip(recoding.labels, recoding.codes, strict=True)]
        for column, text in enumerate(texts):
            assert values[column][position] in covers[column].of(text), "a row's labels cover its values"
        released[tuple(texts), sensitive[position]] += rows
    sizes = _sizes(released, range(len(frequencies.columns)))
    assert sorted(sizes.values()) == sorted(recoding.sizes.tolist()), "no two groups carry the same labels"
    return released


def _full_domain_rows(recoding: FullDomainRecoding) -> Released:
    """Count the released rows of a full-domain recoding anew, row by row, without the search's own code."""
    frequencies = recoding.frequencies
    sensitive = _sensitive_texts(frequencies)
    value_codes = [frequencies.entry_codes(column) for column in range(len(frequencies.columns))]
    rows: Released = Counter()
    for position, count in enumerate(frequencies.entries.counts.tolist()):
        labels = _labels(frequencies, recoding.node, [int(codes[position]) for codes in value_codes])
        rows[labels, sensitive[position]] += count
    sizes = _sizes(rows, range(len(frequencies.columns)))
    suppressed = set()
    codes_of = [recoding.groups.label_codes(column) for column in range(len(frequencies.columns))]
    for position, size in enumerate(recoding.groups.sizes.tolist()):
        labels = tuple(
            hierarchy.labels[level][int(codes[position])]
            for hierarchy, level, codes in zip(frequencies.hierarchies, recoding.node, codes_of, strict=True)
        )
        assert sizes[labels] == size, f"a group at {recoding.node} has {size} rows where {sizes[labels]} were counted"
        if recoding.is_suppressed[position]:
            suppressed.add(labels)
    return Counter({(labels, values): count for (labels, values), count in rows.items() if labels not in suppressed})


def _sensitive_texts(frequencies: FrequencyList) -> list[Texts]:
    """Give the sensitive values of each entry."""
    columns = [
        [column.values[code] for code in frequencies.entries.codes[name].tolist()]
        for name, column in frequencies.sensitive.items()
    ]
    return list(zip(*columns, strict=True)) if columns else [()] * len(frequencies.entries)


def _sizes(released: Released, positions: Iterable[int]) -> Counter[Texts]:
    """Count the rows of each group over the columns at these positions."""
    positions, sizes = tuple(positions), Counter[Texts]()
    for (labels, _), rows in released.items():
        sizes[tuple(labels[position] for position in positions)] += rows
    return sizes


def _recount(task: Task, recoding: Recoding, released: Released) -> None:
    """Check that released rows satisfy the policy."""
    frequencies, policy = task.frequencies, task.policy
    assert released, "something is released"
    for name, columns, model in policy.requirements():
        groups = _groups_over(released, [frequencies.columns.index(column) for column in columns], frequencies)
        satisfied = model.holds(groups)
        assert satisfied.all(), f"{model.name} fails on {name} in {int((~satisfied).sum())} groups"
    if policy.max_suppression is not None:
        allowed = policy.allowed_suppression(frequencies.rows)
        assert recoding.suppressed_rows <= allowed, f"{recoding.suppressed_rows} rows suppressed, {allowed} allowed"


def _groups_over(released: Released, positions: Sequence[int], frequencies: FrequencyList) -> Groups:
    """Give the groups of released rows over the columns at these positions, with tallies of their sensitive values."""
    sizes = _sizes(released, positions)
    number = {labels: group for group, labels in enumerate(sizes)}
    group_of = np.array([number[tuple(labels[position] for position in positions)] for labels, _ in released])
    counts = np.array(list(released.values()), np.int64)
    tallies = {}
    for place, (name, column) in enumerate(frequencies.sensitive.items()):
        codes = np.array([column.values.index(values[place]) for _, values in released])
        tallies[name] = Tally.of(group_of, codes, counts, column.values, column.hierarchy)
    return Groups.of_sizes(list(sizes.values()), tallies)


def _labels(frequencies: FrequencyList, node: Node, values: list[int]) -> tuple[str | None, ...]:
    """Give the labels at a node of a tuple of value codes."""
    return tuple(
        hierarchy.labels[level][int(hierarchy.maps[level][value])]
        for hierarchy, level, value in zip(frequencies.hierarchies, node, values, strict=True)
    )


# Strategies.


def hierarchies(values: Sequence[str], *, most_levels: int = 2) -> SearchStrategy[Hierarchy]:
    """Draw a hierarchy of these values: never generalized, or with random levels and a single top, suppressed or not.

    Missing values go straight to the top.
    """
    st = _strategies()
    listed = _listed_hierarchies(values, most_levels)
    made: SearchStrategy[Hierarchy] = st.integers(0, 5).flatmap(lambda chance: listed if chance else st.just(keep()))
    return made


def _listed_hierarchies(values: Sequence[str], most_levels: int = 2) -> SearchStrategy[Hierarchy]:
    """Draw a hierarchy with random levels and a single top, suppressed or not."""
    return _strategy_of(_draw_hierarchy, values, most_levels)


def _draw_hierarchy(draw: DrawFn, values: Sequence[str], most_levels: int) -> Hierarchy:
    st = _strategies()
    columns: list[list[str]] = [list(values)]
    for level in range(1, 1 + draw(st.integers(0, most_levels - 1))):
        names = {label: f"{level}.{draw(st.integers(0, 2))}" for label in dict.fromkeys(columns[-1])}
        columns.append([names[label] for label in columns[-1]])
    columns.append([draw(st.sampled_from(["*", "any"]))] * len(values))
    return levels(list(zip(*columns, strict=True)))


def frequency_lists(
    *, most_columns: int = 3, most_tuples: int = 10, sensitive: Sequence[str] = ()
) -> SearchStrategy[FrequencyList]:
    """Draw a small frequency list: random hierarchies, weights, missing values, and one to four rows per tuple.

    ``sensitive`` names sensitive columns. Their values are numbers and missing ones, under a hierarchy, so that models
    can ask for any order or distance; a tuple occurs with several combinations of them.
    """
    return _strategy_of(_draw_list, most_columns, most_tuples, sensitive)


def _draw_list(draw: DrawFn, most_columns: int, most_tuples: int, sensitive: Sequence[str]) -> FrequencyList:
    st = _strategies()
    number = draw(st.integers(1, most_columns))
    names = [*NAMES[:number], *sensitive]
    domains = [[f"{name}{n}" for n in range(draw(st.integers(1, 4)))] for name in NAMES[:number]]
    domains += [[f"{n}" for n in SENSITIVE_NUMBERS[: draw(st.integers(1, 4))]] for _ in sensitive]
    cells = [st.sampled_from([*domain, None]) for domain in domains]
    most = 2 * most_tuples if sensitive else most_tuples
    tuples = draw(st.lists(st.tuples(*cells), min_size=1, max_size=most, unique=True))
    counts = np.array([draw(st.integers(1, 4)) for _ in tuples], np.int64)
    weights = [draw(st.sampled_from([1.0, 1.0, 2.0, 0.5])) for _ in range(number)]
    compiled, codes = [], []
    for column, domain in enumerate(domains):
        present = {cell[column] for cell in tuples}
        values = sorted(value for value in present if value is not None) + [None] * (None in present)
        hierarchy = draw(hierarchies(domain) if column < number else _listed_hierarchies(domain))
        compiled.append(hierarchy.compile(values))
        codes.append(np.array([values.index(cell[column]) for cell in tuples], np.uint64))
    described = {
        names[column]: (Sensitive(compiled[column].values, compiled[column]), codes[column])
        for column in range(number, len(names))
    }
    return FrequencyList.of_codes(names[:number], compiled[:number], codes[:number], counts, weights, described)


def policies(columns: Sequence[str], *, models: Sequence[PrivacyModel] | None = None) -> SearchStrategy[Policy]:
    """Draw a policy for quasi columns of these names: models, a suppression limit, one quasi-identifier or two.

    It has the sensitive columns that the models ask about.
    """
    return _strategy_of(_draw_policy, columns, models)


def _draw_policy(draw: DrawFn, columns: Sequence[str], models: Sequence[PrivacyModel] | None) -> Policy:
    st = _strategies()
    named: dict[str, list[str]] | None = None
    if draw(st.integers(0, 3)) == 0:
        first = draw(st.lists(st.sampled_from(columns), min_size=1, unique=True))
        rest = [column for column in columns if column not in first]
        named = {"patient": first, "doctor": [*rest, draw(st.sampled_from(first))]}
    return Policy(
        columns={column: quasi() for column in columns}
        | {column: sensitive() for column in _asked_columns(models or [])},
        privacy=models or [KAnonymity(draw(st.integers(1, 4)))],
        max_suppression=draw(st.none() | st.integers(0, 6) | st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0])),
        quasi_identifiers=named,
    )


def tasks(*, models: Sequence[PrivacyModel] | None = None) -> SearchStrategy[Task]:
    """Draw what an algorithm is given: a frequency list and a policy for it."""
    return _strategy_of(_draw_task, models)


def _draw_task(draw: DrawFn, models: Sequence[PrivacyModel] | None) -> Task:
    frequencies = draw(frequency_lists(sensitive=_asked_columns(models or [])))
    return Task.of(frequencies, draw(policies(frequencies.columns, models=models)))


def _asked_columns(models: Sequence[PrivacyModel]) -> tuple[str, ...]:
    """Give the sensitive columns that models ask about: those they name, or two where they ask about all."""
    asked = [getattr(model, "column", None) for model in models if getattr(model, "asks_sensitive", False)]
    named = [column for column in asked if column is not None]
    return tuple(dict.fromkeys([*named, *(SENSITIVE_NAMES if None in asked else ())]))


def _lists_with_recodings() -> SearchStrategy[tuple[FrequencyList, list[FullDomainRecoding]]]:
    """Draw a frequency list with a recoding to every node, each with some groups suppressed."""
    return _strategy_of(_draw_recodings)


def _draw_recodings(draw: DrawFn) -> tuple[FrequencyList, list[FullDomainRecoding]]:
    st = _strategies()
    frequencies = draw(frequency_lists())
    recodings = []
    for node in _nodes(frequencies):
        groups, _ = frequencies.roll_up(node)
        least = draw(st.integers(1, 5))  # suppress small groups, as every algorithm does
        recodings.append(FullDomainRecoding(frequencies, groups, groups.sizes < least))
    return frequencies, recodings


# Helpers.


def _nodes(frequencies: FrequencyList) -> Iterator[Node]:
    return product(*(range(height + 1) for height in frequencies.heights))


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


def _for_all(check: Callable[[Any], None], strategy: SearchStrategy[Any], examples: int) -> None:
    """Run a check on so many drawn examples, the same each time."""
    hypothesis = _hypothesis()
    run = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        report_multiple_bugs=False,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        suppress_health_check=list(hypothesis.HealthCheck),
    )(hypothesis.given(strategy)(check))
    run()


def _strategy_of(draw_one: Callable[..., Any], *arguments: object) -> SearchStrategy[Any]:
    """Give the strategy that draws by this function, after ``draw`` with these arguments."""
    _hypothesis()
    made: SearchStrategy[Any] = _composite(draw_one)(*arguments)
    return made


@functools.cache  # hypothesis reads the source of the function, which takes longer than drawing an example
def _composite(draw_one: Callable[..., Any]) -> Callable[..., Any]:
    made: Callable[..., Any] = _strategies().composite(draw_one)
    return made


def _hypothesis() -> ModuleType:
    try:
        import hypothesis
    except ImportError:
        raise MissingExtraError('conformance checks need hypothesis: pip install "indistinct[test]"') from None
    return hypothesis


def _strategies() -> ModuleType:
    _hypothesis()
    from hypothesis import strategies

    return strategies
