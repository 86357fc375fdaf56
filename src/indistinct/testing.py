"""Conformance checks for models, measures and algorithms of your own, and hypothesis strategies for what they work on.

Call a check in a test; it raises an AssertionError with a small counterexample if a promise does not hold:

    from indistinct.testing import check_measure

    def test_my_measure_keeps_its_promises():
        check_measure(MyMeasure())

hypothesis is needed: ``pip install "indistinct[test]"``.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.algorithms import Algorithm, Task
from indistinct.errors import InfeasibleError, MissingExtraError
from indistinct.frequency import FrequencyList, Groups, Node
from indistinct.hierarchy import Hierarchy, keep, levels
from indistinct.policy import Policy, quasi
from indistinct.privacy import KAnonymity, PrivacyModel
from indistinct.quality import QualityMeasure
from indistinct.recoding import AnyRecoding, LocalRecoding, Recoding
from indistinct.truth import Covers
from indistinct.watch import Watch

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

TOLERANCE = 1e-9
EXAMPLES = 50
NAMES = "abcd"


def check_model(model: PrivacyModel, *, examples: int = EXAMPLES) -> None:
    """Check that a privacy model judges each group by itself, describes itself, and is as monotone as it claims.

    ``is_monotone`` is what an exact search relies on: from a node to any node above it, the rows that must be
    suppressed never become more. It is not enough that merging satisfied groups gives satisfied ones; a failing group
    that joins a satisfied one must not spoil it.
    """
    assert isinstance(model.name, str), "a model has a name"
    assert isinstance(model.is_monotone, bool), "is_monotone is True or False"
    described = model.describe()
    assert described.get("model") == model.name, "describe() names the model"
    assert json.loads(json.dumps(described)) == described, "describe() must fit into a manifest and a policy file"

    def check(frequencies: FrequencyList) -> None:
        required = {}
        for node in _nodes(frequencies):
            groups, _ = frequencies.roll_up(node)
            satisfied = model.satisfied(groups)
            assert satisfied.dtype == np.bool_, "satisfied() gives one claim per group"
            assert satisfied.shape == (len(groups),), "satisfied() gives one claim per group"
            again = model.satisfied(_backwards(groups))[::-1]
            assert (satisfied == again).all(), "a group's verdict depends on nothing but the group"
            required[node] = int(groups.sizes[~satisfied].sum())
        if model.is_monotone:
            for low, high in _ordered_pairs(required):
                assert required[high] <= required[low], (
                    f"{model.name} is not monotone: {required[low]} rows fail at {low}, but {required[high]} at {high}"
                )

    _for_all(check, frequency_lists(), examples)


def check_measure(measure: QualityMeasure, *, examples: int = EXAMPLES) -> None:
    """Check that a measure's loss lies in [0, 1], and that its bounds hold wherever an exact search uses them.

    ``level_losses`` must not add up to more than the loss at any node, and ``bound_above`` of a node's groups must
    not exceed the loss at that node or any above it, whichever groups are suppressed.
    """
    assert isinstance(measure.name, str), "a measure has a name"

    def check(drawn: tuple[FrequencyList, list[Recoding]]) -> None:
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

    _for_all(check, _recoded(), examples)


def check_algorithm(
    algorithm: Algorithm, *, models: Sequence[PrivacyModel] | None = None, examples: int = EXAMPLES
) -> None:
    """Check that every answer of an algorithm verifies: true groups, every model satisfied, within the limit.

    It may raise InfeasibleError, it must release something, and it gives the same answer twice. ``models`` are put
    into every policy; without them each policy asks for some k-anonymity.
    """
    assert isinstance(algorithm.name, str), "an algorithm has a name"

    def check(task: Task) -> None:
        first, second = _answer(algorithm, task), _answer(algorithm, task)
        assert (first is None) == (second is None), "the same task has the same answer"
        if first is None or second is None:
            return
        assert _fingerprint(first) == _fingerprint(second), "the same task has the same answer"
        assert first.frequencies is task.frequencies, "the recoding is one of the task's frequency list"
        rows = _released_locally(first) if isinstance(first, LocalRecoding) else _released(first)
        if getattr(first, "is_safe", True):
            _recount(task, first, rows)

    _for_all(check, tasks(models=models), examples)


def _fingerprint(recoding: AnyRecoding) -> object:
    """Give what must be the same when an algorithm answers twice."""
    if isinstance(recoding, Recoding):
        return recoding.node, recoding.suppressed_rows
    pieces = recoding.pieces
    placed = sorted(zip(pieces.tuples.tolist(), pieces.groups.tolist(), pieces.rows.tolist(), strict=True))
    return placed, [labels.texts for labels in recoding.labels], recoding.codes.tolist()


def _answer(algorithm: Algorithm, task: Task) -> AnyRecoding | None:
    try:
        return algorithm.run(task, Watch())
    except InfeasibleError:
        return None


def _released_locally(recoding: LocalRecoding) -> Counter[tuple[str | None, ...]]:
    """Count the released rows of a local recoding, and check that every row has its place under a label of its own."""
    frequencies, pieces = recoding.frequencies, recoding.pieces
    placed = np.bincount(pieces.tuples, pieces.rows, len(frequencies.base)).astype(np.int64)
    assert (placed == frequencies.base.sizes).all(), "every row of every tuple goes to one group, or is suppressed"
    assert (pieces.rows > 0).all(), "a piece has rows"
    values = [frequencies.base.label_codes(column) for column in range(len(frequencies.columns))]
    covers = [Covers(hierarchy) for hierarchy in frequencies.hierarchies]
    released: Counter[tuple[str | None, ...]] = Counter()
    for position, rows, group in zip(pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), strict=True):
        if group < 0:
            continue
        texts = [labels.texts[int(codes[group])] for labels, codes in zip(recoding.labels, recoding.codes, strict=True)]
        for column, text in enumerate(texts):
            assert values[column][position] in covers[column].of(text), "a row's labels cover its values"
        released[tuple(texts)] += rows
    assert sorted(released.values()) == sorted(recoding.sizes.tolist()), "no two groups carry the same labels"
    return released


def _released(recoding: Recoding) -> Counter[tuple[str | None, ...]]:
    """Count the released rows of a full-domain recoding anew, group by group, without the search's own code."""
    frequencies = recoding.frequencies
    rows: Counter[tuple[str | None, ...]] = Counter()
    base_codes = [frequencies.base.label_codes(column) for column in range(len(frequencies.columns))]
    for position, size in enumerate(frequencies.base.sizes.tolist()):
        rows[_labels(frequencies, recoding.node, [int(codes[position]) for codes in base_codes])] += size
    released: Counter[tuple[str | None, ...]] = Counter()
    codes_of = [recoding.groups.label_codes(column) for column in range(len(frequencies.columns))]
    for position, size in enumerate(recoding.groups.sizes.tolist()):
        labels = tuple(
            hierarchy.labels[level][int(codes[position])]
            for hierarchy, level, codes in zip(frequencies.hierarchies, recoding.node, codes_of, strict=True)
        )
        assert rows[labels] == size, f"a group at {recoding.node} has {size} rows where {rows[labels]} were counted"
        if not recoding.is_suppressed[position]:
            released[labels] = size
    return released


def _recount(task: Task, recoding: AnyRecoding, released: Counter[tuple[str | None, ...]]) -> None:
    """Check that released rows satisfy the policy."""
    frequencies, policy = task.frequencies, task.policy
    assert released, "something is released"
    for name, columns, model in policy.requirements():
        positions = [frequencies.columns.index(column) for column in columns]
        merged: Counter[tuple[str | None, ...]] = Counter()
        for labels, size in released.items():
            merged[tuple(labels[position] for position in positions)] += size
        satisfied = model.satisfied(Groups.of_sizes(list(merged.values())))
        assert satisfied.all(), f"{model.name} fails on {name} in {int((~satisfied).sum())} groups"
    if policy.max_suppression is not None:
        allowed = policy.allowed_suppression(frequencies.rows)
        assert recoding.suppressed_rows <= allowed, f"{recoding.suppressed_rows} rows suppressed, {allowed} allowed"


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

    @st.composite  # type: ignore[untyped-decorator, unused-ignore]
    def drawn(draw: DrawFn) -> Hierarchy:
        if draw(st.integers(0, 5)) == 0:
            return keep()
        columns: list[list[str]] = [list(values)]
        for level in range(1, 1 + draw(st.integers(0, most_levels - 1))):
            names = {label: f"{level}.{draw(st.integers(0, 2))}" for label in dict.fromkeys(columns[-1])}
            columns.append([names[label] for label in columns[-1]])
        columns.append([draw(st.sampled_from(["*", "any"]))] * len(values))
        return levels(list(zip(*columns, strict=True)))

    made: SearchStrategy[Hierarchy] = drawn()
    return made


def frequency_lists(*, most_columns: int = 3, most_tuples: int = 10) -> SearchStrategy[FrequencyList]:
    """Draw a small frequency list: random hierarchies, weights, missing values, and one to four rows per tuple."""
    st = _strategies()

    @st.composite  # type: ignore[untyped-decorator, unused-ignore]
    def drawn(draw: DrawFn) -> FrequencyList:
        number = draw(st.integers(1, most_columns))
        domains = [[f"{name}{n}" for n in range(draw(st.integers(1, 4)))] for name in NAMES[:number]]
        cells = [st.sampled_from([*domain, None]) for domain in domains]
        tuples = draw(st.lists(st.tuples(*cells), min_size=1, max_size=most_tuples, unique=True))
        counts = [draw(st.integers(1, 4)) for _ in tuples]
        weights = [draw(st.sampled_from([1.0, 1.0, 2.0, 0.5])) for _ in domains]
        compiled, codes = [], []
        for column, domain in enumerate(domains):
            present = {cell[column] for cell in tuples}
            values = sorted(value for value in present if value is not None) + [None] * (None in present)
            compiled.append(draw(hierarchies(domain)).compile(values))
            codes.append(np.array([values.index(cell[column]) for cell in tuples], np.uint64))
        return FrequencyList.of_codes(NAMES[:number], compiled, codes, np.array(counts, np.int64), weights)

    made: SearchStrategy[FrequencyList] = drawn()
    return made


def policies(columns: Sequence[str], *, models: Sequence[PrivacyModel] | None = None) -> SearchStrategy[Policy]:
    """Draw a policy for quasi columns of these names: models, a suppression limit, one quasi-identifier or two."""
    st = _strategies()

    @st.composite  # type: ignore[untyped-decorator, unused-ignore]
    def drawn(draw: DrawFn) -> Policy:
        named: dict[str, list[str]] | None = None
        if draw(st.integers(0, 3)) == 0:
            first = draw(st.lists(st.sampled_from(columns), min_size=1, unique=True))
            rest = [column for column in columns if column not in first]
            named = {"patient": first, "doctor": [*rest, draw(st.sampled_from(first))]}
        return Policy(
            columns={column: quasi() for column in columns},
            privacy=models or [KAnonymity(draw(st.integers(1, 4)))],
            max_suppression=draw(st.none() | st.integers(0, 6) | st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0])),
            quasi_identifiers=named,
        )

    made: SearchStrategy[Policy] = drawn()
    return made


def tasks(*, models: Sequence[PrivacyModel] | None = None) -> SearchStrategy[Task]:
    """Draw what an algorithm is given: a frequency list and a policy for it."""
    st = _strategies()

    @st.composite  # type: ignore[untyped-decorator, unused-ignore]
    def drawn(draw: DrawFn) -> Task:
        frequencies = draw(frequency_lists())
        return Task.of(frequencies, draw(policies(frequencies.columns, models=models)))

    made: SearchStrategy[Task] = drawn()
    return made


def _recoded() -> SearchStrategy[tuple[FrequencyList, list[Recoding]]]:
    """Draw a frequency list with a recoding to every node, each with some groups suppressed."""
    st = _strategies()

    @st.composite  # type: ignore[untyped-decorator, unused-ignore]
    def drawn(draw: DrawFn) -> tuple[FrequencyList, list[Recoding]]:
        frequencies = draw(frequency_lists())
        recodings = []
        for node in _nodes(frequencies):
            groups, _ = frequencies.roll_up(node)
            least = draw(st.integers(1, 5))  # suppress small groups, as every algorithm does
            recodings.append(Recoding(frequencies, groups, groups.sizes < least))
        return frequencies, recodings

    made: SearchStrategy[tuple[FrequencyList, list[Recoding]]] = drawn()
    return made


# Helpers.


def _nodes(frequencies: FrequencyList) -> Iterator[Node]:
    return product(*(range(height + 1) for height in frequencies.heights))


def _is_below(low: Node, high: Node) -> bool:
    return all(a <= b for a, b in zip(low, high, strict=True))


def _ordered_pairs(nodes: dict[Node, int]) -> Iterator[tuple[Node, Node]]:
    return ((low, high) for low in nodes for high in nodes if _is_below(low, high))


def _backwards(groups: Groups) -> Groups:
    return Groups(groups.sizes[::-1].copy(), groups.keys[::-1].copy(), groups.node, groups.layout)


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
