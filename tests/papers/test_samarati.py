"""Samarati, "Protecting respondents' identities in microdata release", 2001: every figure and example that can be
computed, through the public API. Where the paper contradicts itself the recomputed value stands, and the test says so.
"""

from __future__ import annotations

import math
from itertools import product

import pytest

import indistinct as ix
from helpers.papers import (
    FIGURE_4,
    FIGURE_6,
    FIGURE_6_COLUMNS,
    FIGURE_8,
    SAMARATI,
    at,
    cells,
    policy_of,
    released_at,
    table_of,
)
from indistinct.errors import InterruptedSearchError
from indistinct.progress import Watch
from indistinct.search.full_domain.samarati import find_vector, strategies
from indistinct.search.full_domain.solutions import PREFERENCES

RACE_ZIP = ("Race", "ZIP")
NODES = list(product(range(2), range(3)))
TABLE_4 = table_of(RACE_ZIP, FIGURE_4)
TABLE_6 = table_of(FIGURE_6_COLUMNS, FIGURE_6)
TABLE_8 = table_of(RACE_ZIP, FIGURE_8)


def small_policy(k, max_suppression=None, **more):
    return policy_of(SAMARATI, RACE_ZIP, k, max_suppression, **more)


def large_policy(k, max_suppression=None, **more):
    return policy_of(SAMARATI, FIGURE_6_COLUMNS, k, max_suppression, **more)


def minimal_vectors(table, policy):
    return {solution.vector for solution in ix.solutions(table, policy)}


@pytest.mark.parametrize(("column", "height"), [("ZIP", 2), ("Race", 1), ("Sex", 1), ("MaritalStatus", 2), ("DOB", 4)])
def test_figure_2_hierarchies_have_the_papers_heights_without_a_suppressed_top(column, height):
    hierarchy = ix.levels(list(SAMARATI[column].values()))
    compiled = hierarchy.compile(sorted(SAMARATI[column]))
    assert hierarchy.height == height
    assert len(compiled.labels[-1]) == 1
    assert not compiled.has_suppressed_top


def test_figure_2_zip_is_also_a_prefix_hierarchy():
    zips = sorted(SAMARATI["ZIP"])
    assert ix.prefix(5, keep=[4, 3], top=None).table(zips) == [SAMARATI["ZIP"][value] for value in zips]


def test_figure_2_marital_status_is_also_a_tree():
    status = ix.tree({"not released": {"been married": ["married", "divorced", "widow"], "never married": ["single"]}})
    assert {row[0]: row for row in status.table()} == SAMARATI["MaritalStatus"]


def test_figure_3_the_lattice_of_race_and_zip_has_six_nodes_and_height_three():
    top = (1, 2)
    on_some_path = {node for path in strategies(top) for node in path}
    assert on_some_path == set(NODES)
    assert len(on_some_path) == 6
    assert sum(top) == 3


def test_figure_5_race_and_zip_have_three_generalization_strategies():
    assert strategies((1, 2)) == [
        [(0, 0), (1, 0), (1, 1), (1, 2)],
        [(0, 0), (0, 1), (1, 1), (1, 2)],
        [(0, 0), (0, 1), (0, 2), (1, 2)],
    ]


@pytest.mark.parametrize("heights", [(1, 2), (2, 3), (1, 1, 1), (2, 2, 2), (4,), (0, 3), (1, 2, 1, 2)])
def test_section_5_the_number_of_strategies_is_the_multinomial_coefficient(heights):
    expected = math.factorial(sum(heights)) // math.prod(math.factorial(height) for height in heights)
    assert len(strategies(heights)) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("node", "largest"), [((0, 0), 1), ((0, 1), 2), ((1, 0), 3), ((0, 2), 4), ((1, 1), 6), ((1, 2), 12)]
)
def test_figure_4_each_generalization_satisfies_k_anonymity_up_to_the_stated_k(node, largest):
    """Figure 4 and Example 3.3."""
    with released_at(TABLE_4, small_policy(largest), node) as release:
        assert cells(release.table) == cells(table_of(RACE_ZIP, at(FIGURE_4, RACE_ZIP, SAMARATI, node)))
        assert release.verdict.smallest_group == largest
        assert ix.verify(release.table, small_policy(largest)).passed
        assert not ix.verify(release.table, small_policy(largest + 1)).passed


@pytest.mark.parametrize(
    ("k", "minimal"),
    [
        (1, {(0, 0)}),
        (2, {(0, 1), (1, 0)}),
        (3, {(0, 2), (1, 0)}),
        (4, {(0, 2), (1, 1)}),
        (6, {(1, 1)}),
        (12, {(1, 2)}),
    ],
)
def test_example_3_5_the_k_minimal_generalizations_of_figure_4(k, minimal):
    """k = 2 and 3 are printed; the others follow from Figure 4. Definition 3.3 means < where it prints <=."""
    assert minimal_vectors(TABLE_4, small_policy(k)) == minimal


def test_figure_4_cannot_be_thirteen_anonymous():
    with pytest.raises(ix.InfeasibleError, match="fewer than k = 13"):
        ix.solutions(TABLE_4, small_policy(13))


def test_figure_6_has_the_two_printed_2_minimal_generalizations():
    assert minimal_vectors(TABLE_6, large_policy(2)) == {(0, 2, 1, 2, 2), (1, 3, 0, 1, 1)}


@pytest.mark.parametrize("node", [(0, 2, 1, 2, 2), (1, 3, 0, 1, 1)])
def test_figure_6_releases_the_printed_tables(node):
    with ix.anonymize(
        TABLE_6, large_policy(2), algorithm=ix.Samarati(preference=lambda solution: solution.vector != node)
    ) as release:
        assert cells(release.table) == cells(table_of(FIGURE_6_COLUMNS, at(FIGURE_6, FIGURE_6_COLUMNS, SAMARATI, node)))
        assert release.suppressed == 0


def test_figure_6_prints_these_rows():
    """Two rows of each printed table, typed from the paper, so that the tables above are not only our own work."""
    first, second = ((0, 2, 1, 2, 2), (1, 3, 0, 1, 1))
    by_first, by_second = (at(FIGURE_6, FIGURE_6_COLUMNS, SAMARATI, node) for node in (first, second))
    assert by_first[4] == ("black", "63", "not released", "941**", "not released")
    assert by_first[10] == ("white", "61", "not released", "941**", "not released")
    assert by_second[0] == ("person", "[60-64]", "female", "9413*", "been married")
    assert by_second[8] == ("person", "[60-64]", "male", "9413*", "never married")


FIGURE_7 = [
    ("asian", "09/64", "female", "94139", "divorced"),
    ("asian", "09/64", "female", "94139", "divorced"),
    ("asian", "04/64", "male", "94139", "married"),
    ("asian", "04/64", "male", "94139", "married"),
    ("black", "03/63", "male", "94138", "married"),
    ("black", "03/63", "male", "94138", "married"),
    ("black", "09/64", "female", "94141", "married"),
    ("black", "09/64", "female", "94141", "married"),
    ("white", "05/61", "male", "94138", "single"),
    ("white", "05/61", "male", "94138", "single"),
]


@pytest.mark.slow
def test_figure_7_without_its_last_row_the_table_needs_the_month_alone():
    table = table_of(FIGURE_6_COLUMNS, FIGURE_6[:10])
    assert minimal_vectors(table, large_policy(2)) == {(0, 1, 0, 0, 0)}
    with ix.anonymize(table, large_policy(2), algorithm=ix.Samarati()) as release:
        assert cells(release.table) == cells(table_of(FIGURE_6_COLUMNS, FIGURE_7))


@pytest.mark.slow
def test_figure_7_suppressing_one_row_of_figure_6_gives_the_same_table():
    assert minimal_vectors(TABLE_6, large_policy(2, 1)) == {(0, 1, 0, 0, 0)}
    with ix.anonymize(TABLE_6, large_policy(2, 1), algorithm=ix.Samarati()) as release:
        assert release.suppressed == 1
        assert cells(release.table) == cells(table_of(FIGURE_6_COLUMNS, FIGURE_7))
        assert release.verify(TABLE_6).passed


def test_section_4_suppression_alone_would_remove_all_of_figure_6():
    """Without generalization all eleven tuples are outliers."""
    assert ix.distance_matrix(TABLE_6, large_policy(2)).required_suppression((0, 0, 0, 0, 0)) == 11


REQUIRED = {(0, 0): 4, (1, 0): 1, (0, 1): 2, (0, 2): 1, (1, 1): 0, (1, 2): 0}
SUPPRESSED_ROWS = {(0, 0): (4, 5, 6, 7), (1, 0): (5,), (0, 1): (4, 7), (0, 2): (7,), (1, 1): (), (1, 2): ()}


@pytest.mark.slow
@pytest.mark.parametrize("node", NODES)
def test_figures_8_and_9_each_generalization_suppresses_what_the_figures_leave_out(node):
    """Example 4.1: the unique best table at a node drops exactly the tuples that occur fewer than k times."""
    left = [row for number, row in enumerate(FIGURE_8) if number not in SUPPRESSED_ROWS[node]]
    with released_at(TABLE_8, small_policy(2, 4), node) as release:
        assert release.suppressed == REQUIRED[node]
        assert cells(release.table) == cells(table_of(RACE_ZIP, at(left, RACE_ZIP, SAMARATI, node)))
        assert release.verify(TABLE_8).passed


@pytest.mark.parametrize("node", NODES)
def test_figure_8_required_suppression_is_the_same_by_matrix_as_by_roll_up(node):
    assert ix.distance_matrix(TABLE_8, small_policy(2)).required_suppression(node) == REQUIRED[node]


@pytest.mark.parametrize("k", [2, 3, 4])
def test_figure_6_required_suppression_is_the_same_by_matrix_as_by_counting(k):
    matrix = ix.distance_matrix(TABLE_6, large_policy(k))
    for node in product(*(range(height + 1) for height in (1, 4, 1, 2, 2))):
        counted = cells(table_of(FIGURE_6_COLUMNS, at(FIGURE_6, FIGURE_6_COLUMNS, SAMARATI, node)))
        assert matrix.required_suppression(node) == sum(count for count in counted.values() if count < k)


BY_MAXSUP = {0: {(1, 1)}, 1: {(0, 2), (1, 0)}, 2: {(0, 1), (1, 0)}, 3: {(0, 1), (1, 0)}, 4: {(0, 0)}}


@pytest.mark.parametrize("maxsup", BY_MAXSUP)
def test_example_4_2_the_k_minimal_generalizations_for_each_maxsup(maxsup):
    """The prose says "fewer than MaxSup"; Definition 4.3 and the example accept MaxSup itself."""
    solutions = ix.solutions(TABLE_8, small_policy(2, maxsup))
    assert {solution.vector for solution in solutions} == BY_MAXSUP[maxsup]
    assert all(solution.suppressed == REQUIRED[solution.vector] <= maxsup for solution in solutions)


@pytest.mark.parametrize(("share", "maxsup"), [(0.0, 0), (0.124, 0), (0.125, 1), (0.25, 2), (0.5, 4)])
def test_example_4_2_maxsup_may_be_a_share_of_the_rows(share, maxsup):
    assert minimal_vectors(TABLE_8, small_policy(2, share)) == BY_MAXSUP[maxsup]


def test_section_5_a_locally_minimal_generalization_need_not_be_minimal():
    """MaxSup 1: [1,1] is minimal on the second strategy, but [1,0] of the first lies below it."""
    second = strategies((1, 2))[1]
    assert next(node for node in second if REQUIRED[node] <= 1) == (1, 1)
    assert (1, 1) not in minimal_vectors(TABLE_8, small_policy(2, 1))


@pytest.mark.parametrize("satisfies", ["roll-up", "matrix"])
@pytest.mark.parametrize(
    ("maxsup", "heights_tried", "solutions"),
    [
        (0, [1, 2], {(1, 1)}),
        (1, [1, 0], {(1, 0)}),
        (2, [1, 0], {(1, 0), (0, 1)}),
        (3, [1, 0], {(1, 0), (0, 1)}),
        (4, [1, 0], {(0, 0)}),
    ],
)
def test_figure_10_find_vector_tries_heights_by_halving(satisfies, maxsup, heights_tried, solutions):
    """The trace follows from the printed pseudo-code; the bounds of section 5 may spare the matrix some heights."""
    tried = []
    watch = ix.Watch(progress=lambda stage, done, total: tried.append(done) if stage == "height" else None)
    with ix.anonymize(
        TABLE_8, small_policy(2, maxsup), algorithm=ix.Samarati(satisfies=satisfies), watch=watch
    ) as release:
        assert tuple(release.node.values()) in solutions
    if satisfies == "roll-up":
        assert tried == heights_tried
    else:
        assert len(tried) <= len(heights_tried)


@pytest.mark.slow
def test_figure_10_finds_a_lowest_solution_of_figure_6():
    """Theorem 5.3: [1,3,0,1,1] has height 6, the other 2-minimal generalization height 7."""
    with ix.anonymize(TABLE_6, large_policy(2), algorithm=ix.Samarati()) as release:
        assert tuple(release.node.values()) == (1, 3, 0, 1, 1)
    with ix.anonymize(TABLE_6, large_policy(2), algorithm=ix.Samarati(satisfies="matrix")) as release:
        assert tuple(release.node.values()) == (1, 3, 0, 1, 1)


# Figure 11, one line per pair of tuples below the diagonal: (row, column): vector.
FIGURE_11 = """
2,1 01000
3,1 02101   3,2 02101
4,1 02101   4,2 02101   4,3 01000
5,1 13111   5,2 13111   5,3 13010   5,4 13010
6,1 13111   6,2 13111   6,3 13010   6,4 13010   6,5 01000
7,1 11021   7,2 11021   7,3 12120   7,4 12120   7,5 03120   7,6 03120
8,1 11021   8,2 11021   8,3 12120   8,4 12120   8,5 03120   8,6 03120   8,7 01000
9,1 13112   9,2 13112   9,3 13012   9,4 13012   9,5 13002   9,6 13002   9,7 13122   9,8 13122
10,1 13112  10,2 13112  10,3 13012  10,4 13012  10,5 13002  10,6 13002  10,7 13122  10,8 13122  10,9 01000
11,1 13021  11,2 13021  11,3 13121  11,4 13121  11,5 13121  11,6 13121  11,7 13011  11,8 13011  11,9 02122  11,10 02122
"""


def test_figure_11_the_matrix_of_distance_vectors():
    words = FIGURE_11.split()
    expected = {(n, n): (0, 0, 0, 0, 0) for n in range(1, 12)}
    for pair, vector in zip(words[::2], words[1::2], strict=True):
        row, column = map(int, pair.split(","))
        expected[row, column] = expected[column, row] = tuple(map(int, vector))
    matrix = ix.distance_matrix(TABLE_6, large_policy(2))
    where = _tuples_of_figure_6(matrix)
    assert len(matrix.outliers) == 11
    for (row, column), vector in expected.items():
        outlier = list(matrix.outliers).index(where[row - 1])
        assert tuple(matrix.vectors[outlier, where[column - 1]]) == vector, (row, column)


def _tuples_of_figure_6(matrix):
    """Return where the rows of Figure 6 stand in the matrix: its codes number the sorted values of each column."""
    values = [sorted({row[column] for row in FIGURE_6}) for column in range(5)]
    positions = {tuple(codes): position for position, codes in enumerate(matrix.codes.T.tolist())}
    return [positions[tuple(values[column].index(cell) for column, cell in enumerate(row))] for row in FIGURE_6]


def test_section_5_asian_and_black_at_one_zip_are_one_step_apart():
    table = table_of(RACE_ZIP, [("asian", "94139"), ("black", "94139")])
    matrix = ix.distance_matrix(table, small_policy(2))
    assert matrix.vectors[0, 1].tolist() == [1, 0]


def test_example_5_1_the_widow_has_two_minimal_vectors_of_height_six_and_seven():
    matrix = ix.distance_matrix(TABLE_6, large_policy(2))
    widow = list(matrix.outliers).index(_tuples_of_figure_6(matrix)[10])
    assert set(matrix.minimal_vectors(widow)) == {(0, 2, 1, 2, 2), (1, 3, 0, 1, 1)}
    below = matrix.lower_bounds(0)
    assert max(min(sum(vector) for vector in vectors) for vectors in below) == 6


def test_example_5_1_the_least_upper_bound_is_corrected():
    """The paper prints [1,3,2,2,2], level 10, but Sex has only one step: [1,3,1,2,2], level 9."""
    bound = ix.distance_matrix(TABLE_6, large_policy(2)).upper_bound()
    assert bound == (1, 3, 1, 2, 2)
    assert sum(bound) == 9


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("maxsup", [0, 1, 2, 3, 4, 5])
def test_section_5_every_bound_of_the_matrix_holds_for_every_minimal_generalization(k, maxsup):
    matrix = ix.distance_matrix(TABLE_6, large_policy(k))
    top, below, levels = matrix.upper_bound(), matrix.lower_bounds(maxsup), matrix.occurring_levels()
    for vector in minimal_vectors(TABLE_6, large_policy(k, maxsup)):
        assert all(level <= most for level, most in zip(vector, top, strict=True))
        assert all(level in occurring for level, occurring in zip(vector, levels, strict=True))
        for vectors in below:
            assert any(all(a <= b for a, b in zip(least, vector, strict=True)) for least in vectors)


EXAMPLE_6_1 = {
    1: {
        "min-absolute": {(1, 0)},
        "min-relative": {(0, 2), (1, 0)},
        "max-distribution": {(0, 2), (1, 0)},
        "min-suppression": {(0, 2), (1, 0)},
    },
    2: {
        "min-absolute": {(0, 1), (1, 0)},
        "min-relative": {(0, 1)},
        "max-distribution": {(0, 1)},
        "min-suppression": {(1, 0)},
    },
}


@pytest.mark.parametrize("maxsup", EXAMPLE_6_1)
@pytest.mark.parametrize("preference", EXAMPLE_6_1[1])
def test_example_6_1_each_preference_puts_the_stated_generalizations_first(maxsup, preference):
    solutions = ix.solutions(TABLE_8, small_policy(2, maxsup))
    ranks = {solution.vector: PREFERENCES[preference](solution) for solution in solutions}
    first = {vector for vector, rank in ranks.items() if rank == min(ranks.values())}
    assert first == EXAMPLE_6_1[maxsup][preference]
    policy = small_policy(2, maxsup)
    with ix.anonymize(TABLE_8, policy, algorithm=ix.Samarati(preference=preference)) as release:
        assert tuple(release.node.values()) in first


@pytest.mark.parametrize(
    ("preference", "chosen"),
    [
        ("highest-absolute-peak", (0, 2)),
        ("highest-relative-peak", {(0, 2), (1, 0)}),
        ("fewest-attributes", {(0, 2), (1, 0)}),
        ("most-attributes", {(0, 2), (1, 0)}),
        (lambda solution: solution.node["Race"], (0, 2)),
        (lambda solution: solution.node["ZIP"], (1, 0)),
    ],
)
def test_section_6_lists_further_preferences(preference, chosen):
    """Peaks, numbers of generalized attributes and a user's own function, on Figure 8 with MaxSup 1."""
    with ix.anonymize(TABLE_8, small_policy(2, 1), algorithm=ix.Samarati(preference=preference)) as release:
        assert tuple(release.node.values()) in (chosen if isinstance(chosen, set) else {chosen})


def test_section_6_weights_enter_the_relative_distance():
    """Unweighted, [1,0] and [0,2] are equally far in relative steps; a heavier column is left alone."""
    for heavy, chosen in (("Race", (0, 2)), ("ZIP", (1, 0))):
        columns = {
            name: ix.quasi(ix.levels(list(SAMARATI[name].values())), weight=3 if name == heavy else 1)
            for name in RACE_ZIP
        }
        policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)], max_suppression=1)
        with ix.anonymize(TABLE_8, policy, algorithm=ix.Samarati(preference="min-relative")) as release:
            assert tuple(release.node.values()) == chosen


@pytest.mark.parametrize("node", NODES)
def test_section_6_accuracy_and_completeness(node):
    """Accuracy is one minus height over the lattice's height; completeness is the share of rows released."""
    with released_at(TABLE_8, small_policy(2, 4), node) as release:
        assert release.measures["accuracy"] == pytest.approx(1 - sum(node) / 3)
        assert release.measures["completeness"] == pytest.approx((8 - REQUIRED[node]) / 8)
        assert release.measures["absolute-distance"] == sum(node)
        assert release.measures["relative-distance"] == pytest.approx(node[0] / 1 + node[1] / 2)


def test_section_7_datafly_overshoots_on_figure_4():
    """k = 3 without suppression: Datafly climbs [0,0], [0,1], [1,1], though [0,2] and [1,0] are 3-minimal."""
    heights = []
    watch = ix.Watch(progress=lambda stage, done, total: heights.append(done) if stage == "search" and done else None)
    with ix.anonymize(TABLE_4, small_policy(3, 0), algorithm=ix.Datafly(), watch=watch) as release:
        assert tuple(release.node.values()) == (1, 1)
        assert release.suppressed == 0
    assert heights == [1, 2]
    assert (1, 1) not in minimal_vectors(TABLE_4, small_policy(3, 0))


@pytest.mark.slow
def test_section_2_several_quasi_identifiers_are_all_protected():
    """Patient and doctor: one row short in either is one row suppressed."""
    table = table_of(("Race", "ZIP"), [("asian", "94138"), ("asian", "94139"), ("black", "94138"), ("black", "94139")])
    policy = small_policy(2, quasi_identifiers={"patient": ["Race"], "doctor": ["ZIP"]})
    with ix.anonymize(table, policy) as release:
        assert tuple(release.node.values()) == (0, 0)
        assert release.verify(table).passed
    assert minimal_vectors(table, small_policy(2)) == {(0, 1), (1, 0)}


def test_the_vectors_of_one_height_of_a_wide_table_are_listed_within_the_time_limit():
    with pytest.raises(InterruptedSearchError):
        find_vector((3,) * 50, (3,) * 50, lambda vector: True, Watch(time_limit=0.2))
