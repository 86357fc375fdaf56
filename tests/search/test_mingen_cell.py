"""MinGen at cell level: Figure 7, every set partition of small tables, and the kernels by their obvious versions."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import indistinct as ix
from helpers.brute_force import Case, cases, table_of_case, task_of
from helpers.papers import HOSPITAL, HOSPITAL_COLUMNS, SWEENEY, cells, policy_of, table_of
from helpers.profiles import examples, scaled
from indistinct import testing
from indistinct.counting import FrequencyList, encode_eligible
from indistinct.engine import open_table
from indistinct.errors import InfeasibleError, InterruptedSearchError, PolicyError
from indistinct.progress import Watch
from indistinct.quality import NCP, Loss, Precision
from indistinct.recoding import SUPPRESSED
from indistinct.registry import ALGORITHMS
from indistinct.search import MinGenCell, Task, algorithm_named
from indistinct.search.bounds import exact_partition as exact
from indistinct.search.bounds.bounds import cell_bound, duals_by_nodes, least_cost
from indistinct.search.bounds.candidate_groups import LabelLevels, LabelVectors
from indistinct.search.bounds.column_generation import Effort, linear_duals
from indistinct.search.bounds.kernels import group_prices, row_choices
from indistinct.search.local.groups.space import Space
from indistinct.search.local.regroup import group_tuples

QUASI = HOSPITAL_COLUMNS[:4]
TABLE_7 = table_of(HOSPITAL_COLUMNS, HOSPITAL)
POLICY_7 = policy_of(SWEENEY, QUASI, 2, sensitive=["Problem"])

# Figure 7: what the printed GT releases of t1 to t12, and the three tables of greatest precision, which it is not.
SAME = [
    ("black", "1965", "male", "02141"),
    ("black", "1965", "male", "02141"),
    ("black", "1965", "female", "02138"),
    ("black", "1965", "female", "02138"),
    ("black", "1964", "female", "02138"),
    ("black", "1964", "female", "02138"),
]
WIDE, NARROW = ("white", "1960-69", "human", "02139"), ("white", "1964", "male", "0213*")
LAST = [("white", "1967", "male", "02138")] * 2
BEST_TABLES = [
    [*SAME, *[("white", "1960-69", "human", "0213*")] * 2, *[("white", "1964", "male", "02139")] * 2, *LAST],
    [*SAME, NARROW, WIDE, NARROW, WIDE, *LAST],
    [*SAME, NARROW, WIDE, WIDE, NARROW, *LAST],
]
PRINTED = [
    *SAME[:2],
    *[("person", "1965", "female", "0213*")] * 2,
    *SAME[4:],
    ("white", "1960-69", "male", "02138"),
    ("person", "1965", "female", "0213*"),
    *[("white", "1964", "male", "02139")] * 2,
    *[("white", "1960-69", "male", "02138")] * 2,
]


def precision_of(released):
    """Sweeney's Definition 5 by hand."""
    lost = Fraction(0)
    for row, cells_ in zip(HOSPITAL, released, strict=True):
        for name, value, label in zip(QUASI, row, cells_, strict=False):
            path = SWEENEY[name][value]
            lost += Fraction(path.index(label), len(path) - 1)
    return 1 - lost / (len(HOSPITAL) * len(QUASI))


def task_for(table, policy):
    with open_table(table) as rows:
        return Task.of(FrequencyList.count(encode_eligible(rows, policy), policy), policy)


def table_by_row(recoding, rows):
    """Return the labels that each row of Figure 7 carries; all its tuples are different."""
    frequencies = recoding.frequencies
    carried = {}
    for entry, group in zip(recoding.pieces.tuples.tolist(), recoding.pieces.groups.tolist(), strict=True):
        values = tuple(
            hierarchy.values[int(frequencies.entry_codes(column)[entry])]
            for column, hierarchy in enumerate(frequencies.hierarchies)
        )
        carried[values] = tuple(
            labels.texts[int(codes[group])] for labels, codes in zip(recoding.labels, recoding.codes, strict=True)
        )
    return [carried[row[:4]] for row in rows]


def test_figure_7_the_greatest_precision_is_611_720():
    with ix.anonymize(TABLE_7, POLICY_7, algorithm=ix.MinGenCell()) as release:
        assert release.measures["precision"] == pytest.approx(611 / 720, abs=1e-12)
        assert release.suppressed == 0
        assert release.verdict.smallest_group == 2
        assert cells(release.table.select(list(QUASI))) in [Counter(table) for table in BEST_TABLES]


@pytest.mark.slow
def test_figure_7_three_tables_reach_it_and_the_printed_one_does_not():
    problems = [row[4] for row in HOSPITAL]
    with ExitStack() as opened:
        releases = [opened.enter_context(release) for release in ix.best_tables(TABLE_7, POLICY_7)]
        assert all(release.verdict.passed and release.recoding.gap == 0 for release in releases)
        found = [cells(release.table.select(HOSPITAL_COLUMNS)) for release in releases]
    wanted = [Counter((*row, said) for row, said in zip(best, problems, strict=True)) for best in BEST_TABLES]
    assert len(found) == 3
    assert all(table in found for table in wanted)
    assert {precision_of(table) for table in BEST_TABLES} == {Fraction(611, 720)}
    assert precision_of(PRINTED) == Fraction(79, 96)


@pytest.mark.parametrize("preference", ["min-absolute", "max-distribution", lambda solution: -solution.groups])
def test_exactly_one_table_is_preferred_always_the_same(preference):
    """The three tables of Figure 7 have the same node and as many groups; the first by its labels is taken."""
    task = task_for(TABLE_7, POLICY_7)
    found = [MinGenCell(preference=preference).run(task, Watch()) for _ in range(2)]
    assert table_by_row(found[0], HOSPITAL) == table_by_row(found[1], HOSPITAL) == BEST_TABLES[0]


@pytest.mark.slow
def test_a_preference_chooses_among_equals():
    """x and y may join in either column: (x, *) twice or (*, 1) twice, both with half of the cells released."""
    table = pa.table({"a": ["x", "x", "y", "y"], "b": ["1", "2", "1", "2"]})
    policy = ix.Policy(columns={"a": ix.quasi(ix.suppress()), "b": ix.quasi(ix.suppress())}, privacy=[ix.KAnonymity(2)])
    for column, wanted in (("a", {"x", "y"}), ("b", {"1", "2"})):
        algorithm = MinGenCell(preference=lambda solution, column=column: solution.node[column])
        with ix.anonymize(table, policy, algorithm=algorithm) as release:
            assert set(release.table[column].to_pylist()) == wanted
            assert release.measures["precision"] == 0.5


# Every set partition.


def partitions(rows, k):
    """Return every partition of some rows into groups of at least k."""
    if not rows:
        yield []
        return
    first, others = rows[0], rows[1:]
    for size in range(k - 1, len(others) + 1):
        for company in combinations(others, size):
            for rest in partitions([row for row in others if row not in company], k):
                yield [(first, *company), *rest]


class Oracle:
    """The least loss of precision of a case, by trying every partition of every block, in exact fractions."""

    def __init__(self, case: Case) -> None:
        self.case = case
        blocks = {}
        for number, row in enumerate(case.rows):
            kept = tuple(cell for column, cell in zip(case.columns, row, strict=True) if column.listed is None)
            blocks.setdefault(kept, []).append(number)
        self.blocks = [block for block in blocks.values() if len(block) >= case.k]
        self.lost = [number for block in blocks.values() if len(block) < case.k for number in block]
        self.is_feasible = len(self.lost) <= case.allowed and bool(self.blocks)
        self.weight = sum(Fraction(column.weight) for column in case.columns)

    @cache  # noqa: B019
    def labels(self, group):
        """Return the lowest labels over a group, with their levels."""
        found = []
        for position, column in enumerate(self.case.columns):
            paths = {column.path(self.case.rows[number][position]) for number in group}
            level = next(level for level in range(column.height + 1) if len({path[level] for path in paths}) == 1)
            found.append((level, next(iter(paths))[level]))
        return tuple(found)

    @cache  # noqa: B019
    def cost(self, group):
        return len(group) * sum(
            Fraction(column.weight) * Fraction(level, max(1, column.height))
            for column, (level, _) in zip(self.case.columns, self.labels(group), strict=True)
        )

    def best(self):
        """Return the least cost of the released rows, and every table (labels per distinct tuple) that has it."""
        total, tables = Fraction(0), [Counter()]
        for block in self.blocks:
            found = [(sum(map(self.cost, groups)), groups) for groups in partitions(block, self.case.k)]
            least = min(cost for cost, _ in found)
            total += least
            own = {self.table(groups) for cost, groups in found if cost == least}
            tables = [table + Counter(dict(more)) for table in tables for more in own]
        return total, {frozenset(table.items()) for table in tables}

    def table(self, groups):
        rows = Counter((self.case.rows[number], self.labels(group)) for group in groups for number in group)
        return frozenset(rows.items())

    def loss(self):
        return float((self.best()[0] + len(self.lost) * self.weight) / (len(self.case.rows) * self.weight))


def small_cases(most_rows=8):
    return cases(most_rows=most_rows, most_columns=3)


def as_table(recoding):
    """Return how many rows of each distinct tuple are released under which labels."""
    frequencies = recoding.frequencies
    found = Counter()
    pieces = recoding.pieces
    for entry, rows, group in zip(pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), strict=True):
        values = tuple(
            hierarchy.values[int(frequencies.entry_codes(column)[entry])]
            for column, hierarchy in enumerate(frequencies.hierarchies)
        )
        if group != SUPPRESSED:
            labels = tuple(
                (int(labels.levels[codes[group]]), labels.texts[codes[group]])
                for labels, codes in zip(recoding.labels, recoding.codes, strict=True)
            )
            found[values, labels] += rows
    return frozenset(found.items())


@pytest.mark.slow
@given(st.one_of(small_cases(), small_cases(10).map(lambda case: replace(case, k=2 + case.k % 2))))
def test_no_set_partition_is_better(case):
    oracle = Oracle(case)
    if not oracle.is_feasible:
        with pytest.raises(InfeasibleError):
            MinGenCell().run(task_of(case), Watch())
        return
    recoding = MinGenCell().run(task_of(case), Watch())
    assert Precision().loss(recoding) == pytest.approx(oracle.loss(), abs=1e-9)
    assert recoding.suppressed_rows == len(oracle.lost)
    assert recoding.is_proven
    assert recoding.sizes.min() >= case.k


@given(small_cases(7))
@examples(30)
def test_all_minimal_gives_every_best_table_once(case):
    oracle = Oracle(case)
    assume(oracle.is_feasible)
    found = [as_table(recoding) for recoding in MinGenCell().all_minimal(task_of(case), Watch())]
    assert len(found) == len(set(found))
    assert set(found) == oracle.best()[1]


@pytest.mark.slow
@given(small_cases())
@examples(12)
def test_a_release_of_the_best_table_verifies(case):
    oracle = Oracle(case)
    assume(oracle.is_feasible)
    policy = task_of(case).policy
    table = table_of_case(case)
    with ix.anonymize(table, policy, algorithm=ix.MinGenCell()) as release:
        assert release.verdict.passed
        assert 1 - release.measures["precision"] == pytest.approx(oracle.loss(), abs=1e-9)


# Column generation against dynamic programming.


def spaces():
    """Draw spaces in which every column can be generalized."""
    return st.tuples(testing.frequency_lists(most_tuples=7), st.sampled_from([Precision(), Loss(), NCP()])).filter(
        lambda drawn: all(h.height or len(h.values) == 1 for h in drawn[0].hierarchies)
    )


def check_pieces(space, pieces, k):
    assert (np.bincount(pieces.tuples, pieces.rows, len(space.counts)) == space.counts).all()
    assert np.bincount(pieces.groups, pieces.rows).min() >= k


@pytest.mark.slow
@given(spaces(), st.integers(2, 4))
@examples(100)
def test_column_generation_and_dynamic_programming_agree(drawn, k):
    frequencies, measure = drawn
    assume(frequencies.rows >= k)
    space = Space.of(frequencies, measure)
    ladders = LabelLevels.of(space)
    exactly, by_label_vectors = exact.by_choices(ladders, k), exact.by_label_vectors(ladders, k, Watch(), Effort())
    assert by_label_vectors.cost == pytest.approx(exactly.cost, abs=1e-6)
    assert by_label_vectors.is_proven
    assert by_label_vectors.bound == by_label_vectors.cost
    for found in (exactly, by_label_vectors):
        check_pieces(space, found.pieces, k)


def random_space(rows, columns=4, seed=0, measure=None):
    """Return the space of a random table over balanced hierarchies of eight values."""
    generator = np.random.default_rng(seed)
    names = [f"c{column}" for column in range(columns)]
    listed = [[str(n), f"{n // 2}-", f"{n // 4}--", "*"] for n in range(8)]
    cells_ = {name: generator.integers(0, 8, rows).astype(str) for name in names}
    policy = ix.Policy(columns={name: ix.quasi(ix.levels(listed)) for name in names}, privacy=[ix.KAnonymity(2)])
    return Space.of(task_for(pa.table(cells_), policy).frequencies, measure or Precision())


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "k"), [(30, 2), (30, 3), (45, 2), (24, 5), (60, 2)])
def test_middle_sized_tables_are_proven(rows, k):
    space = random_space(rows, 3, seed=rows + k)
    ladders = LabelLevels.of(space)
    found = exact.least_cost_partition(space, k, Watch())
    assert found.is_proven
    check_pieces(space, found.pieces, k)
    linear = float(
        linear_duals(LabelVectors.of(ladders, k, 10**7), duals_by_nodes(ladders.space, k, Watch()), k, Watch())
        @ ladders.counts
    )
    start = ladders.cost(group_tuples(ladders.space, k, Watch()))
    assert least_cost(ladders.space, k, Watch()) - 1e-6 <= linear <= found.cost + 1e-6
    assert found.cost <= start + 1e-6


def test_a_table_too_large_to_prove_comes_with_a_bound():
    space = random_space(200)
    limited = exact.least_cost_partition(space, 3, Watch(), Effort(members=200, nodes=1))
    assert not limited.is_proven
    assert 0 < limited.bound < limited.cost
    check_pieces(space, limited.pieces, 3)
    without_boxes = exact.least_cost_partition(space, 3, Watch(), Effort(vector_members=100))
    assert not without_boxes.is_proven
    assert without_boxes.bound <= limited.cost + 1e-6
    check_pieces(space, without_boxes.pieces, 3)


@pytest.mark.slow
def test_the_same_space_has_the_same_answer():
    space = random_space(40, 3)
    first, second = (exact.least_cost_partition(space, 2, Watch()).pieces for _ in range(2))
    for name in ("tuples", "rows", "groups"):
        assert (getattr(first, name) == getattr(second, name)).all()


def test_tuples_of_k_rows_stay_as_they_are():
    frequencies = task_for(
        pa.table({"a": ["x"] * 3 + ["y"] * 2}),
        ix.Policy(columns={"a": ix.quasi(ix.suppress())}, privacy=[ix.KAnonymity(2)]),
    ).frequencies
    found = exact.least_cost_partition(Space.of(frequencies, Precision()), 2, Watch())
    assert (found.cost, found.bound, found.is_proven) == (0.0, 0.0, True)


def test_too_few_rows_are_refused():
    with pytest.raises(InfeasibleError, match="30 rows cannot form a group of 31"):
        exact.least_cost_partition(random_space(30, 2), 31, Watch())


def test_a_huge_count_does_not_make_a_table_small():
    """Two tuples are few choices, but half a million rows are too many to try group by group."""
    frequencies = task_for(
        pa.table({"a": ["x"] * 500_000 + ["y"]}),
        ix.Policy(columns={"a": ix.quasi(ix.suppress())}, privacy=[ix.KAnonymity(3)]),
    ).frequencies
    space = Space.of(frequencies, Precision())
    assert exact.least_cost_tables(space, 3) is None
    found = exact.least_cost_partition(space, 3, Watch())
    assert (found.cost, found.is_proven) == (3.0, True)


# Limits of time, and other models.


def large_task(rows=300, model=None):
    generator = np.random.default_rng(3)
    listed = [[str(n), f"{n // 2}-", f"{n // 4}--", "*"] for n in range(8)]
    names = ["a", "b", "c"]
    columns = {name: ix.quasi(ix.levels(listed)) for name in names} | {"illness": ix.sensitive()}
    table = pa.table(
        {name: generator.integers(0, 8, rows).astype(str) for name in names}
        | {"illness": generator.integers(0, 3, rows).astype(str)}
    )
    return table, ix.Policy(columns=columns, privacy=[model or ix.KAnonymity(3)])


def test_a_time_limit_gives_the_best_so_far_and_its_gap():
    table, policy = large_task()
    recoding = MinGenCell().run(task_for(table, policy), Watch(time_limit=0))
    assert not recoding.is_proven
    assert 0 < recoding.gap < Precision().loss(recoding)
    assert recoding.sizes.min() >= 3


def test_a_cancelled_search_stops():
    table, policy = large_task()
    asked = []

    def is_cancelled():
        asked.append(True)
        return len(asked) > 20

    with pytest.raises(InterruptedSearchError):
        MinGenCell().run(task_for(table, policy), Watch(is_cancelled=is_cancelled))


@pytest.mark.slow
def test_progress_is_reported():
    seen = set()
    table, policy = large_task(30)
    task = task_for(table, policy)
    MinGenCell(program_size=400).run(task, Watch(progress=lambda stage, done, total: seen.add(stage)))
    assert {"linear program", "integer program"} <= seen


def test_other_models_hold_and_are_not_proven_to_be_best():
    table, policy = large_task(60, ix.AlphaK(alpha=0.5, k=3))
    with ix.anonymize(table, policy, algorithm=MinGenCell(program_size=100)) as release:
        assert release.verdict.passed
        assert release.suppressed == 0


def test_answers_verify_whatever_the_policy():
    testing.check_algorithm(MinGenCell(program_size=500), examples=scaled(25))


# Bounds.


@given(small_cases())
def test_no_bound_exceeds_the_least_loss(case):
    oracle = Oracle(case)
    assume(oracle.is_feasible)
    task = task_of(case)
    bound = cell_bound(task.frequencies, Precision(), case.k, Watch())
    assert bound <= oracle.loss() + 1e-9
    assert cell_bound(task.frequencies, Precision(), case.k, Watch(time_limit=0)) <= oracle.loss() + 1e-9


@pytest.mark.slow
@given(spaces(), st.integers(2, 4))
@examples(100)
def test_bounds_hold_for_every_measure(drawn, k):
    frequencies, measure = drawn
    assume(frequencies.rows >= k)
    ladders = LabelLevels.of(Space.of(frequencies, measure))
    cost = exact.by_choices(ladders, k).cost
    assert 0 <= least_cost(ladders.space, k, Watch()) <= cost + 1e-9


def test_a_bound_can_be_the_least_loss_itself():
    """Two pairs that share a half label: every row must climb one of two levels in one of two columns."""
    table = pa.table({"a": ["11", "12", "21", "22"], "b": ["x"] * 4})
    columns = {"a": ix.quasi(ix.prefix()), "b": ix.quasi(ix.suppress())}
    task = task_for(table, ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)]))
    recoding = MinGenCell().run(task, Watch())
    assert cell_bound(task.frequencies, Precision(), 2, Watch()) == Precision().loss(recoding) == 0.25


# Options and names.


def test_an_algorithm_is_made_by_its_name():
    assert MinGenCell() == algorithm_named("mingen-cell")
    assert ALGORITHMS["mingen-cell"](program_size=10).program_size == 10  # type: ignore[call-arg, attr-defined]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: MinGenCell(program_size=-1), "program_size: must be a whole number"),
        (lambda: MinGenCell(program_size=True), "program_size: must be a whole number"),
        (lambda: MinGenCell(precision="loss"), "precision: must be a Precision"),
        (lambda: MinGenCell(preference="best"), "preference: there is no 'best'"),
    ],
)
def test_wrong_options_are_refused(make, said):
    with pytest.raises(PolicyError, match=said):
        make()


def test_all_minimal_is_refused_for_large_tables():
    table, policy = large_task()
    with pytest.raises(PolicyError, match=r"run\(\) gives one of them"):
        MinGenCell().all_minimal(task_for(table, policy), Watch())


# The kernels against their obvious versions.


def obvious_boxes(ladders, k):
    """Return the points and cost of every label vector that some points span, by trying every set of points."""
    table = ladders.run_costs()
    found = {}
    number, columns = ladders.points.shape
    for size in range(1, number + 1):
        for group in combinations(range(number), size):
            low, high = ladders.points[list(group)].min(axis=0), ladders.points[list(group)].max(axis=0)
            level = [
                next(
                    j for j in range(ladders.labels.shape[1]) if len(set(ladders.labels[c, j, [low[c], high[c]]])) == 1
                )
                for c in range(columns)
            ]
            inside = [
                point
                for point in range(number)
                if all(
                    ladders.labels[c, level[c], ladders.points[point, c]] == ladders.labels[c, level[c], low[c]]
                    for c in range(columns)
                )
            ]
            if ladders.counts[inside].sum() >= k:
                found[tuple(inside)] = sum(table[c, low[c], high[c]] for c in range(columns))
    return found


def groups_within(members, counts, k):
    """Return every group of k to 2k - 1 rows of some points, as a row's point repeated."""
    rows = [point for point in members for _ in range(counts[point])]
    return {group for size in range(k, min(2 * k, len(rows) + 1)) for group in combinations(sorted(rows), size)}


@given(spaces(), st.integers(1, 4), st.integers(0, 5))
@examples(40)
def test_boxes_and_their_prices_are_what_trying_everything_gives(drawn, k, seed):
    frequencies, measure = drawn
    assume(k <= frequencies.rows <= 8)
    ladders = LabelLevels.of(Space.of(frequencies, measure))
    label_vectors = LabelVectors.of(ladders, k, 10**6)
    found = {
        tuple(sorted(label_vectors.members[start:end].tolist())): cost
        for start, end, cost in zip(
            label_vectors.starts[:-1], label_vectors.starts[1:], label_vectors.costs, strict=True
        )
    }
    assert len(found) == len(label_vectors), "each label vector once"
    assert found == pytest.approx(obvious_boxes(ladders, k))

    arrays = label_vectors.members, label_vectors.starts, label_vectors.costs, label_vectors.counts
    duals = np.random.default_rng(seed).uniform(0, 1.5, len(ladders.counts))
    reduced = group_prices.reduced_costs(*arrays, duals, k)
    lowered = group_prices.feasible_duals(label_vectors.members, label_vectors.starts, reduced, duals, k)
    rising = duals_by_nodes(ladders.space, k, Watch())
    beyond = group_prices.member_costs(*arrays, lowered, k)
    for label_vector in range(len(label_vectors)):
        members = label_vectors.members[
            label_vectors.starts[label_vector] : label_vectors.starts[label_vector + 1]
        ].tolist()
        groups = groups_within(members, ladders.counts, k)

        def price(group, prices, cost=label_vectors.costs[label_vector]):
            return sum(cost - prices[point] for point in group)

        assert reduced[label_vector] == pytest.approx(min(price(group, duals) for group in groups))
        assert min(price(group, lowered) for group in groups) >= -1e-9
        assert min(price(group, rising) for group in groups) >= -1e-9
        for place, point in enumerate(members, start=label_vectors.starts[label_vector]):
            least = min(price(group, lowered) for group in groups if point in group)
            assert beyond[place] == pytest.approx(least, abs=1e-9)

    order = np.argsort(reduced, kind="stable")
    chosen, starts, points, rows = group_prices.best_groups(order, *arrays, duals, k)
    for label_vector, start, end in zip(chosen, starts[:-1], starts[1:], strict=True):
        group = np.repeat(points[start:end], rows[start:end])
        assert (rows[start:end] <= ladders.counts[points[start:end]]).all()
        assert k <= len(group) < 2 * k
        assert sum(label_vectors.costs[label_vector] - duals[group]) == pytest.approx(reduced[label_vector])
    served = set(points.tolist())
    for label_vector in set(range(len(label_vectors))) - set(chosen.tolist()):
        groups = groups_within(
            label_vectors.members[label_vectors.starts[label_vector] : label_vectors.starts[label_vector + 1]].tolist(),
            ladders.counts,
            k,
        )
        best = [
            group
            for group in groups
            if sum(label_vectors.costs[label_vector] - duals[list(group)]) <= reduced[label_vector] + 1e-9
        ]
        assert any(set(group) <= served for group in best), "only a group of points that have one is left out"


@given(spaces(), st.integers(1, 3))
@examples(40)
def test_dynamic_programming_tries_every_partition(drawn, k):
    frequencies, measure = drawn
    assume(k <= frequencies.rows <= 8)
    ladders = LabelLevels.of(Space.of(frequencies, measure))
    least = row_choices.least_costs(ladders.counts, ladders.points.astype(np.int64), ladders.run_costs(), k)
    rows = [point for point, count in enumerate(ladders.counts.tolist()) for _ in range(count)]
    table = ladders.run_costs()

    @cache
    def cost(group):
        values = ladders.points[[rows[number] for number in group]]
        low, high = values.min(axis=0), values.max(axis=0)
        return len(group) * sum(table[column, low[column], high[column]] for column in range(len(low)))

    best = min(sum(map(cost, groups)) for groups in partitions(list(range(len(rows))), k))
    assert least[-1] == pytest.approx(best)
