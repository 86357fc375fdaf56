"""The package against the oracles of ``brute_force`` on random tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

import indistinct as ix
from helpers import brute_force as bf
from helpers.profiles import examples
from helpers.uncompiled import run_uncompiled
from indistinct.counting import Layout
from indistinct.counting.kernels import grouping
from indistinct.quality import all_measures
from indistinct.registry import MEASURES
from indistinct.search.full_domain.distance_matrix import DistanceMatrix
from indistinct.search.full_domain.solutions import PREFERENCES, minimal_solutions

ALGORITHMS = {
    "lattice": ix.Lattice(),
    "samarati": ix.Samarati(),
    "samarati by matrix": ix.Samarati(satisfies="matrix"),
    "samarati with a preference": ix.Samarati(preference="min-suppression"),
    "mingen": ix.MinGen(),
    "datafly": ix.Datafly(),
}


def run(algorithm, task, watch=None):
    """Return the recoding, or None if the policy cannot be met; the matrix counts rows, so people are rolled up."""
    if algorithm == ALGORITHMS["samarati by matrix"] and task.counts_people:
        algorithm = ALGORITHMS["samarati"]
    try:
        return algorithm.run(task, watch or ix.Watch())
    except ix.InfeasibleError:
        return None


def test_every_measure_and_preference_of_the_package_has_an_oracle():
    assert bf.MEASURES.keys() == MEASURES.keys()
    assert bf.PREFERENCES.keys() == PREFERENCES.keys()


@pytest.mark.slow
@given(bf.cases(people=None))
def test_solutions_are_exactly_the_k_minimal_nodes(case):
    """Samarati 2001, Definition 4.3."""
    outcomes = bf.passing(case)
    found = minimal_solutions(bf.task_of(case), ix.Watch())
    assert {solution.vector for solution in found} == bf.minimal(list(outcomes))
    for solution in found:
        one = outcomes[solution.vector]
        assert solution.suppressed == len(one.suppressed)
        assert solution.groups == len(set(one.released))
        for name, (figure, _) in bf.MEASURES.items():
            assert solution.measures[name] == pytest.approx(figure(one), abs=1e-9), name


@pytest.mark.slow
@given(bf.cases(several=True, people=None))
def test_solutions_are_exactly_the_minimal_nodes_with_several_quasi_identifiers(case):
    found = minimal_solutions(bf.task_of(case), ix.Watch())
    assert {solution.vector for solution in found} == bf.minimal(list(bf.passing(case)))


@pytest.mark.slow
@given(bf.cases(people=None))
def test_lattice_finds_the_optimum_of_every_measure(case):
    outcomes = bf.passing(case)
    task = bf.task_of(case)
    for name, (figure, more_is_better) in bf.MEASURES.items():
        recoding = run(ix.Lattice(measure=name), task)
        if not outcomes:
            assert recoding is None
            continue
        best = (max if more_is_better else min)(figure(one) for one in outcomes.values())
        assert recoding is not None, name
        assert recoding.node in outcomes, name
        assert figure(outcomes[recoding.node]) == pytest.approx(best, abs=1e-9), name
        assert recoding.suppressed_rows == len(outcomes[recoding.node].suppressed)
        assert recoding.is_proven
        for other, (own_figure, _) in bf.MEASURES.items():
            assert all_measures(recoding)[other] == pytest.approx(own_figure(outcomes[recoding.node]), abs=1e-9), other


@given(bf.cases(several=True, people=None))
def test_lattice_finds_the_optimum_with_several_quasi_identifiers(case):
    outcomes = bf.passing(case)
    recoding = run(ix.Lattice(), bf.task_of(case))
    if not outcomes:
        assert recoding is None
    else:
        best = max(bf.precision(one) for one in outcomes.values())
        assert bf.precision(outcomes[recoding.node]) == pytest.approx(best, abs=1e-9)


@given(bf.cases(people=None), st.booleans())
def test_precision_without_the_suppressed_top_is_also_optimized(case, counted):
    """Against a height without the top where the hierarchy ends in one; at the top itself all is lost."""

    def figure(one):
        def lost(column, cell, level):
            labels = {column.path(value)[-1] for value in column.domain([cell])}
            has_top = column.top is not None or (column.height and set("".join(map(str, labels))) == {"*"})
            height = column.height - (1 if has_top and not counted and column.height > 1 else 0)
            return min(1.0, level / height) if height else 0.0

        return 1 - bf._cells(one, lost)

    outcomes = bf.passing(case)
    measure = ix.Precision(count_suppressed_top=counted)
    recoding = run(ix.Lattice(measure=measure), bf.task_of(case))
    if outcomes:
        assert figure(outcomes[recoding.node]) == pytest.approx(max(map(figure, outcomes.values())), abs=1e-9)
        assert measure.value(recoding) == pytest.approx(figure(outcomes[recoding.node]), abs=1e-9)


@given(bf.cases())
def test_samarati_finds_a_node_of_least_height_by_roll_up_and_by_matrix_alike(case):
    """Theorem 5.3; section 5."""
    outcomes = bf.passing(case)
    task = bf.task_of(case)
    by_roll_up, by_matrix = run(ix.Samarati(), task), run(ix.Samarati(satisfies="matrix"), task)
    if not outcomes:
        assert by_roll_up is None
        assert by_matrix is None
        return
    assert by_roll_up.node in outcomes
    assert sum(by_roll_up.node) == min(map(sum, outcomes))
    assert by_matrix.node == by_roll_up.node
    assert by_matrix.suppressed_rows == by_roll_up.suppressed_rows == len(outcomes[by_roll_up.node].suppressed)


@given(bf.cases())
def test_required_suppression_by_matrix_is_what_counting_gives_at_every_node(case):
    matrix = DistanceMatrix.of(bf.task_of(case))
    for node in case.nodes():
        assert matrix.required_suppression(node) == len(bf.outcome(case, node).suppressed)


@given(bf.cases(people=None), st.sampled_from(sorted(bf.PREFERENCES)))
def test_samarati_with_a_preference_takes_a_preferred_k_minimal_node(case, preference):
    outcomes = bf.passing(case)
    recoding = run(ix.Samarati(preference=preference), bf.task_of(case))
    if outcomes:
        assert recoding.node in bf.preferred(outcomes, bf.PREFERENCES[preference])
    else:
        assert recoding is None


@given(bf.cases(people=None))
def test_samarati_takes_a_users_own_preference(case):
    outcomes = bf.passing(case)
    assume(outcomes)
    recoding = run(ix.Samarati(preference=lambda solution: (solution.suppressed, solution.node["b"])), bf.task_of(case))
    assert recoding.node in bf.minimal(list(outcomes))
    ranks = {node: (len(outcomes[node].suppressed), node[1]) for node in bf.minimal(list(outcomes))}
    assert ranks[recoding.node] == min(ranks.values())


@given(bf.cases(people=None))
def test_mingen_has_the_best_precision_without_suppressing_a_row(case):
    outcomes = {node: one for node in case.nodes() if not (one := bf.outcome(case, node)).suppressed}
    recoding = run(ix.MinGen(), bf.task_of(case))
    if not outcomes:
        assert recoding is None
        return
    assert recoding.suppressed_rows == 0
    best = max(bf.precision(one) for one in outcomes.values())
    assert bf.precision(outcomes[recoding.node]) == pytest.approx(best, abs=1e-9)
    equal = [node for node, one in outcomes.items() if bf.precision(one) >= best - 1e-9]
    assert sum(recoding.node) == min(map(sum, equal))  # its preference settles ties


@given(bf.cases(people=None))
def test_datafly_is_figure_8(case):
    limit = len(case.rows) if case.budget is None else case.allowed
    expected = bf.datafly(case, case.k if case.budget is None else case.allowed, limit)
    recoding = run(ix.Datafly(), bf.task_of(case))
    event("feasible" if expected else "infeasible")
    if expected is None:
        assert recoding is None
    else:
        assert (recoding.node, recoding.suppressed_rows) == expected


@given(bf.cases(people=None), st.integers(0, 5))
def test_datafly_stops_at_its_own_threshold_within_the_policys_limit(case, stop_at):
    limit = len(case.rows) if case.budget is None else case.allowed
    expected = bf.datafly(case, min(limit, stop_at), limit)
    recoding = run(ix.Datafly(suppression=stop_at), bf.task_of(case))
    assert (None if recoding is None else (recoding.node, recoding.suppressed_rows)) == expected


@pytest.mark.slow
@given(bf.cases(several=True, people=None), st.booleans())
def test_datafly_always_satisfies_every_quasi_identifier_within_the_limit(case, complementary):
    recoding = run(ix.Datafly(complementary=complementary), bf.task_of(case))
    assume(recoding is not None)
    kept = rows_left(case, recoding)
    assert not bf.failing(case, bf.generalized(case, recoding.node), kept)
    assert kept
    if case.budget is not None:
        assert recoding.suppressed_rows <= case.allowed


def rows_left(case, recoding):
    """Return the numbers of the rows that a recoding releases, by the labels of its suppressed groups."""
    hierarchies = recoding.frequencies.hierarchies
    suppressed = np.flatnonzero(recoding.is_suppressed)
    codes = [recoding.groups.label_codes(column)[suppressed] for column in range(len(case.columns))]
    labels = [
        [hierarchy.labels[level][code] for code in own]
        for hierarchy, level, own in zip(hierarchies, recoding.node, codes, strict=True)
    ]
    gone = set(zip(*labels, strict=True))
    return [number for number, row in enumerate(bf.generalized(case, recoding.node)) if row not in gone]


@pytest.mark.parametrize("name", ALGORITHMS)
@given(case=bf.cases(people=None))
@examples(25)
def test_what_an_algorithm_leaves_is_safe_and_within_the_budget(name, case):
    recoding = run(ALGORITHMS[name], bf.task_of(case))
    assume(recoding is not None)
    kept = rows_left(case, recoding)
    assert len(case.rows) - len(kept) == recoding.suppressed_rows
    assert not bf.failing(case, bf.generalized(case, recoding.node), kept)
    if case.budget is not None:
        assert recoding.suppressed_rows <= case.allowed


@given(bf.cases(several=True, most_rows=8, most_columns=3))
@examples(30)
def test_suppression_is_the_least_that_satisfies_several_quasi_identifiers(case):
    """By trying every subset of the rows, at every node."""
    task = bf.task_of(case)
    for node in list(case.nodes())[:12]:
        groups, _ = task.frequencies.roll_up(node)
        assert task.recoding(groups).suppressed_rows == bf.least_suppression_by_subsets(case, node)


@given(bf.cases(most_rows=8, most_columns=3))
@examples(30)
def test_suppressing_the_groups_that_fail_is_the_least(case):
    """Samarati 2001, Lemma 4.1, by trying every subset of the rows; and Theorem 5.2."""
    task = bf.task_of(case)
    required = {}
    for node in case.nodes():
        groups, _ = task.frequencies.roll_up(node)
        required[node] = task.recoding(groups).suppressed_rows
    for node in list(case.nodes())[:8]:
        assert required[node] == bf.least_suppression_by_subsets(case, node)
    for low, high in product(required, repeat=2):
        if all(a <= b for a, b in zip(low, high, strict=True)):
            assert required[low] >= required[high]


@given(bf.cases())
def test_infeasible_exactly_when_no_node_passes(case):
    assert bool(bf.passing(case)) == all(
        run(ALGORITHMS[name], bf.task_of(case)) is not None
        for name in ("lattice", "samarati", "samarati by matrix", "samarati with a preference")
    )


@pytest.mark.slow
@given(bf.cases(most_columns=3, people=None))
@examples(15)
def test_the_public_calls_say_infeasible_exactly_when_no_node_passes(case):
    table, policy = bf.table_of_case(case), bf.policy_of_case(case)
    if bf.passing(case):
        assert {solution.vector for solution in ix.solutions(table, policy)} == bf.minimal(list(bf.passing(case)))
        for measure in ("precision", "absolute-distance"):
            ix.anonymize(table, policy, algorithm=ix.Lattice(measure=measure)).close()
    else:
        with pytest.raises(ix.InfeasibleError):
            ix.solutions(table, policy)
        with pytest.raises(ix.InfeasibleError):
            ix.anonymize(table, policy)


@pytest.mark.slow
@given(bf.cases(people=None), st.sampled_from(["precision", "discernibility", "entropy", "loss", "distinct-tuples"]))
def test_law_8_an_exact_search_is_never_beaten_by_a_heuristic_on_its_own_measure(case, measure):
    task = bf.task_of(case)
    exact = run(ix.Lattice(measure=measure), task)
    loss = MEASURES[measure]().loss
    for algorithm in ALGORITHMS.values():
        other = run(algorithm, task)
        if other is not None and case.budget is not None:
            assert exact is not None
        # without a limit in the policy Datafly alone suppresses rows, so it plays another game
        if other is not None and not (case.budget is None and isinstance(algorithm, ix.Datafly)):
            assert loss(exact) <= loss(other) + 1e-9


@dataclass(slots=True)
class Impatient(ix.Watch):
    """A watch whose time is up after so many questions."""

    questions: int = 0

    def time_is_up(self) -> bool:
        self.questions -= 1
        return self.questions < 0


@given(bf.cases(people=None), st.integers(0, 12), st.sampled_from(sorted(bf.MEASURES)))
def test_a_search_cut_short_says_so_or_has_the_optimum(case, questions, measure):
    outcomes = bf.passing(case)
    assume(outcomes)
    figure, more_is_better = bf.MEASURES[measure]
    try:
        recoding = ix.Lattice(measure=measure).run(bf.task_of(case), Impatient(questions=questions))
    except ix.InterruptedSearchError:
        return
    event(f"proven: {recoding.is_proven}")
    assert recoding.node in outcomes
    if recoding.is_proven:
        best = (max if more_is_better else min)(figure(one) for one in outcomes.values())
        assert figure(outcomes[recoding.node]) == pytest.approx(best, abs=1e-9)


@given(bf.cases(people=None), st.integers(0, 12))
def test_mingen_cut_short_says_so_or_has_the_optimum(case, questions):
    outcomes = {node: one for node in case.nodes() if not (one := bf.outcome(case, node)).suppressed}
    assume(outcomes)
    try:
        recoding = ix.MinGen().run(bf.task_of(case), Impatient(questions=questions))
    except ix.InterruptedSearchError:
        return
    assert recoding.node in outcomes
    if recoding.is_proven:
        best = max(bf.precision(one) for one in outcomes.values())
        assert bf.precision(outcomes[recoding.node]) == pytest.approx(best, abs=1e-9)


@given(bf.cases(), st.integers(0, 12))
def test_samarati_cut_short_raises_or_has_least_height(case, questions):
    outcomes = bf.passing(case)
    assume(outcomes)
    for algorithm in (ix.Samarati(), ix.Samarati(satisfies="matrix"), ix.Samarati(preference="min-absolute")):
        try:
            recoding = algorithm.run(bf.task_of(case), Impatient(questions=questions))
        except ix.InterruptedSearchError:
            continue
        assert sum(recoding.node) == min(map(sum, outcomes))


def test_a_cancelled_search_stops_at_once():
    case = bf.Case((bf.Column("a", (("x", "*"), ("y", "*"))),), (("x",), ("y",)), 2)
    with pytest.raises(ix.InterruptedSearchError, match="cancelled"):
        ix.Lattice().run(bf.task_of(case), ix.Watch(is_cancelled=lambda: True))


# The whole path: rows in, rows out.


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
@given(case=bf.cases(most_columns=3), data=st.data())
@examples(8)
def test_law_2_released_rows_are_generalizations_of_rows_of_their_own(name, case, data):
    """As multisets over all columns, with each row's other cells beside its labels; suppressed rows are counted."""
    notes = data.draw(st.lists(st.sampled_from(["u", "v", None]), min_size=len(case.rows), max_size=len(case.rows)))
    table = bf.table_of_case(case, note=notes, who=[f"person {number}" for number in range(len(case.rows))])
    policy = bf.policy_of_case(case, columns={"note": ix.other(), "who": ix.identifier()})
    try:
        release = ix.anonymize(table, policy, algorithm=ALGORITHMS[name])
    except ix.InfeasibleError:
        return
    with release:
        node = tuple(release.node.values())
        whole = Counter((*labels, note) for labels, note in zip(bf.generalized(case, node), notes, strict=True))
        names = release.table.column_names
        released = Counter(zip(*(release.table[column].to_pylist() for column in names), strict=True))
        assert names == [*(column.name for column in case.columns), "note"]
        assert not released - whole
        assert released.total() == len(case.rows) - release.suppressed
        assert release.verify(table).passed, str(release.verdict)


@pytest.mark.slow
@given(bf.cases(most_columns=3, several=True))
@examples(8)
def test_several_quasi_identifiers_hold_in_what_is_released(case):
    table, policy = bf.table_of_case(case), bf.policy_of_case(case)
    for algorithm in (ix.Lattice(), ix.Datafly()):
        try:
            release = ix.anonymize(table, policy, algorithm=algorithm)
        except ix.InfeasibleError:
            continue
        with release:
            rows = list(zip(*(release.table[column.name].to_pylist() for column in case.columns), strict=True))
            assert not bf.failing(case, rows, range(len(rows)))
            assert release.verify(table).passed, str(release.verdict)


@pytest.mark.slow
@given(bf.cases(most_columns=3, most_rows=15))
@examples(4)
def test_law_5_every_kind_of_table_gives_the_same_recoding(tmp_path_factory, case):
    import duckdb
    import polars
    import pyarrow.csv
    import pyarrow.parquet

    table, policy = bf.table_of_case(case), bf.policy_of_case(case)
    folder = tmp_path_factory.mktemp("kinds")
    pyarrow.csv.write_csv(table, folder / "table.csv")
    pyarrow.parquet.write_table(table, folder / "table.parquet")
    connection = duckdb.connect()
    kinds = {
        "arrow": table,
        "pandas": table.to_pandas(),
        "polars": polars.DataFrame(table),
        "polars lazy": polars.DataFrame(table).lazy(),
        "csv": folder / "table.csv",
        "parquet": folder / "table.parquet",
        "duckdb": connection.from_arrow(table),
    }
    found = {}
    for kind, source in kinds.items():
        try:
            with ix.anonymize(source, policy) as release:
                facts = release.facts
                found[kind] = (facts.node, facts.suppressed, facts.groups, facts.measures)
        except ix.InfeasibleError as error:
            found[kind] = str(error)
    connection.close()
    for kind, what in found.items():
        assert what == found["arrow"], kind


@pytest.mark.slow
def test_law_3_released_rows_stand_in_fresh_random_order():
    rows = 64
    case = bf.Case((bf.Column("a", (("x", "*"), ("y", "*"))),), (("x",), ("y",)) * (rows // 2), 2)
    table = bf.table_of_case(case, number=range(rows))
    policy = bf.policy_of_case(case, columns={"number": ix.other()})
    orders = []
    for _ in range(3):
        with ix.anonymize(table, policy) as release:
            orders.append(release.table["number"].to_pylist())
    assert all(sorted(order) == list(range(rows)) for order in orders)
    assert list(range(rows)) not in orders
    assert len(set(map(tuple, orders))) == 3
    together = [sum(abs(a - b) == 1 for a, b in pairwise(order)) for order in orders]
    assert max(together) < rows // 2  # neighbours are torn apart, too


SENTINEL = "xyzzy"


@pytest.fixture
def secrets():
    """A table each of whose cells is unmistakable."""
    return {name: [f"{SENTINEL}-{name}-{number}" for number in range(6)] for name in ("who", "a", "b", "ill")}


def test_law_4_a_manifest_quotes_no_cell(secrets, tmp_path):
    import pyarrow as pa

    hierarchy = ix.levels([[cell, f"label {number % 2}", "*"] for number, cell in enumerate(secrets["a"])])
    policy = ix.Policy(
        columns={"who": ix.identifier(), "a": ix.quasi(hierarchy), "b": ix.quasi(ix.suppress()), "ill": ix.sensitive()},
        privacy=[ix.KAnonymity(2)],
        eligible=[ix.where("ill", "!=", secrets["ill"][0]), ix.where("a", "not in", [secrets["a"][1]])],
        max_suppression=0.5,
    )
    with ix.anonymize(pa.table(secrets), policy) as release:
        folder = release.write(tmp_path / "out")
        assert SENTINEL not in repr(release)
        assert SENTINEL not in str(release.facts)
        assert SENTINEL not in str(release.verdict)
    assert SENTINEL not in (folder / "manifest.json").read_text("utf-8")


def failures(secrets, tmp_path):
    """Yield calls that must fail, each with a table full of sentinels."""
    import pyarrow as pa

    table = pa.table(secrets)
    few = ix.levels([[cell, "*"] for cell in secrets["a"][:2]])

    def policy(hierarchy, k=2, **more):
        return ix.Policy(
            columns={
                "who": ix.identifier(),
                "a": ix.quasi(hierarchy),
                "b": ix.quasi(ix.suppress()),
                "ill": ix.sensitive(),
            },
            privacy=[ix.KAnonymity(k)],
            **more,
        )

    yield "a hierarchy that lacks values", lambda: ix.anonymize(table, policy(few))
    yield "no numbers", lambda: ix.anonymize(table, policy(ix.intervals(5, 10)))
    yield "no dates", lambda: ix.anonymize(table, policy(ix.dates("month", "year")))
    yield "too long", lambda: ix.anonymize(table, policy(ix.prefix(3)))
    yield "rounding", lambda: ix.anonymize(table, policy(ix.rounding(10)))
    yield "top and bottom", lambda: ix.anonymize(table, policy(ix.top_bottom((0, 10))))
    yield "no coarser level", lambda: ix.anonymize(table, policy(ix.prefix(20, keep=[16], top=None)))
    yield "infeasible", lambda: ix.anonymize(table, policy(ix.keep()))
    yield "too large a k", lambda: ix.anonymize(table, policy(ix.suppress(), 50))
    yield (
        "numbers compared with text",
        lambda: ix.anonymize(table, policy(ix.suppress(), eligible=[ix.where("ill", ">=", 10)])),
    )
    missing = pa.table(secrets | {"a": [*secrets["a"][:5], None]})
    yield (
        "missing refused",
        lambda: ix.anonymize(
            missing,
            ix.Policy(
                columns={
                    "who": ix.identifier(),
                    "a": ix.quasi(ix.suppress(), missing="refuse"),
                    "b": ix.other(),
                    "ill": ix.sensitive(),
                },
                privacy=[ix.KAnonymity(2)],
            ),
        ),
    )
    yield "undeclared", lambda: ix.anonymize(table.append_column("more", table["a"]), policy(ix.suppress()))
    ragged = tmp_path / "ragged.csv"
    ragged.write_text(f"who,a,b,ill\n{SENTINEL},{SENTINEL},{SENTINEL}\n{SENTINEL},{SENTINEL},{SENTINEL},{SENTINEL}\n")
    yield "ragged", lambda: ix.anonymize(ragged, policy(ix.suppress()))
    unclosed = tmp_path / "unclosed.csv"
    unclosed.write_text(f'who,a,b,ill\n{SENTINEL},"{SENTINEL},{SENTINEL},{SENTINEL}\n')
    yield "unclosed quote", lambda: ix.anonymize(unclosed, policy(ix.suppress()))
    yield (
        "false release",
        lambda: ix.verify(table.drop_columns("who"), policy(ix.suppress()), original=table).raise_if_failed(),
    )


@pytest.mark.slow
def test_law_4_errors_quote_no_cell(secrets, tmp_path):
    for what, call in failures(secrets, tmp_path):
        with pytest.raises(ix.IndistinctError) as caught:
            call()
        error = caught.value
        while error is not None:
            assert SENTINEL not in str(error), what
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pandas NaN", "pandas None", "empty text", "null", "csv", "float NaN"])
def test_law_6_missing_is_one_value_whatever_it_is_written_as(kind, tmp_path):
    """Two missing cells match each other and nothing else, and are missing in the release."""
    import pandas
    import pyarrow as pa

    path = tmp_path / "table.csv"
    path.write_text("a,b\nx,1\nx,2\n,3\n,4\n")
    table = {
        "pandas NaN": lambda: pandas.DataFrame({"a": ["x", "x", float("nan"), float("nan")], "b": [1, 2, 3, 4]}),
        "pandas None": lambda: pandas.DataFrame({"a": ["x", "x", None, float("nan")], "b": [1, 2, 3, 4]}),
        "empty text": lambda: pa.table({"a": ["x", "x", "", None], "b": [1, 2, 3, 4]}),
        "null": lambda: pa.table({"a": ["x", "x", None, None], "b": [1, 2, 3, 4]}),
        "csv": lambda: path,
        "float NaN": lambda: pa.table({"a": [1.5, 1.5, float("nan"), None], "b": [1, 2, 3, 4]}),
    }[kind]()
    policy = ix.Policy(columns={"a": ix.quasi(), "b": ix.other()}, privacy=[ix.KAnonymity(2)])
    with ix.anonymize(table, policy) as release:
        assert release.facts.groups == 2
        assert release.verdict.smallest_group == 2
        column = release.table["a"]
        cells = column.to_pylist() if hasattr(column, "to_pylist") else column.astype(object).tolist()
        assert sum(cell is None or cell != cell for cell in cells) == 2
        assert release.verify(table).passed


def test_law_6_a_missing_cell_matches_nothing_but_missing_ones_until_the_top():
    import pyarrow as pa

    table = pa.table({"zip": ["02138", "02139", None]})
    policy = ix.Policy(columns={"zip": ix.quasi(ix.prefix(5, keep=[4]))}, privacy=[ix.KAnonymity(2)], max_suppression=1)
    with ix.anonymize(table, policy) as release:
        assert release.node == {"zip": 1}
        assert release.table["zip"].to_pylist() == ["0213*", "0213*"]
    with ix.anonymize(table, policy, algorithm=ix.MinGen()) as release:
        assert release.table["zip"].to_pylist() == ["*"] * 3


# Kernels against their obvious versions.


def obvious_pack(codes, layout):
    """One Python integer per word, field by field."""
    keys = [[0] * layout.number_of_words for _ in range(codes.shape[1])]
    for column, (word, shift) in enumerate(zip(layout.words, layout.shifts, strict=True)):
        for row in range(codes.shape[1]):
            keys[row][word] |= int(codes[column, row]) << int(shift)
    return keys


def obvious_roll_up(codes, counts, maps):
    """Map the codes, and count equal tuples in order of first appearance."""
    merged = {}
    group_of = []
    for row, count in enumerate(counts):
        key = tuple(int(maps.get(column, {}).get(int(c), c)) for column, c in enumerate(codes[:, row]))
        merged[key] = merged.get(key, 0) + int(count)
        group_of.append(list(merged).index(key))
    return merged, group_of


@st.composite
def packed(draw):
    """Codes of some columns whose fields may need several words, counts, and maps to coarser codes."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 200, 2**16, 2**31, 2**40, 2**63]), min_size=1, max_size=6))
    tuples = draw(st.integers(0, 12))
    codes = np.array(
        [
            draw(st.lists(st.integers(0, size - 1) | st.sampled_from([0, size - 1]), min_size=tuples, max_size=tuples))
            for size in sizes
        ],
        np.uint64,
    ).reshape(len(sizes), tuples)
    counts = np.array(draw(st.lists(st.integers(1, 10**12), min_size=tuples, max_size=tuples)), np.int64)
    small = [column for column, size in enumerate(sizes) if size <= 200]
    chosen = draw(st.sets(st.sampled_from(small))) if small else set()
    maps = {
        column: dict(
            enumerate(draw(st.lists(st.integers(0, sizes[column] - 1), min_size=sizes[column], max_size=sizes[column])))
        )
        for column in chosen
    }
    return sizes, codes, counts, maps


@given(packed())
def test_kernels_pack_unpack_and_roll_up_are_what_they_obviously_are(drawn):
    check_kernels(*drawn)


def check_kernels(sizes, codes, counts, maps):
    layout = Layout.for_sizes(sizes)
    keys = grouping.pack(codes, layout.words, layout.shifts, layout.number_of_words)
    assert keys.tolist() == obvious_pack(codes, layout)
    for column in range(len(sizes)):
        word, shift, mask = int(layout.words[column]), int(layout.shifts[column]), int(layout.masks[column])
        assert grouping.unpack(keys, word, shift, mask).tolist() == codes[column].tolist()
    mapped = np.array(sorted(maps), np.int64)
    flat = [np.array([maps[column][code] for code in range(sizes[column])], np.uint64) for column in sorted(maps)]
    offsets = np.cumsum([0, *map(len, flat)])[:-1].astype(np.int64)
    found, sizes_found, group_of = grouping.roll_up(
        keys,
        counts,
        layout.words[mapped],
        layout.shifts[mapped],
        layout.masks[mapped],
        offsets,
        np.concatenate([*flat, np.empty(0, np.uint64)]),
    )
    merged, expected_group_of = obvious_roll_up(codes, counts, maps)
    wanted = np.array(list(merged), np.uint64).reshape(len(merged), len(sizes)).T
    assert found.tolist() == obvious_pack(wanted, layout)
    assert sizes_found.tolist() == list(merged.values())
    assert group_of.tolist() == expected_group_of


@given(st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2, 2**32, 2**63, 2**64 - 1]), max_size=12))
def test_layouts_hold_every_field_once(sizes):
    layout = Layout.for_sizes(sizes)
    taken = Counter()
    for word, shift, mask in zip(layout.words, layout.shifts, layout.masks, strict=True):
        bits = int(mask).bit_length()
        assert int(shift) + bits <= 64
        for bit in range(int(shift), int(shift) + bits):
            taken[int(word), bit] += 1
    assert all(count == 1 for count in taken.values())
    assert all(int(mask) >= max(size, 1) - 1 for mask, size in zip(layout.masks, sizes, strict=True))
    assert layout.number_of_words == max([1, *(int(word) + 1 for word in layout.words)])


@pytest.mark.slow
def test_quasi_identifiers_wider_than_64_bits_are_grouped_right():
    """Twelve columns of 300 values each need 108 bits: two words."""
    import pyarrow as pa

    rng = np.random.default_rng(7)
    rows = [tuple(rng.integers(0, 300, 12)) for _ in range(40)]
    rows = rows + rows[:25]
    listed = [tuple(range(300))[n : n + 1] * 12 for n in range(300)]  # every value occurs, so that codes need 9 bits
    columns = [f"c{n}" for n in range(12)]
    cells = rows + listed
    table = pa.table({name: [f"{row[n]:03}" for row in cells] for n, name in enumerate(columns)})
    policy = ix.Policy(
        columns={name: ix.quasi() for name in columns}, privacy=[ix.KAnonymity(2)], max_suppression=len(cells)
    )
    with ix.anonymize(table, policy) as release:
        assert release.recoding.groups.layout.number_of_words == 2  # type: ignore[attr-defined]
        assert release.suppressed == 15 + 300
        assert release.facts.groups == 25
        assert release.verify(table).passed


WITHOUT_JIT = """
import numpy as np
from laws.test_against_brute_force import check_kernels
from indistinct.counting.kernels import grouping
assert not hasattr(grouping.roll_up, "py_func"), "compiled after all"
rng = np.random.default_rng(1)
for _ in range(50):
    sizes = rng.choice([1, 2, 3, 200, 2**31, 2**40, 2**62], rng.integers(1, 6)).tolist()
    tuples = int(rng.integers(0, 20))
    codes = np.array([rng.integers(0, min(size, 4), tuples) for size in sizes], np.uint64).reshape(len(sizes), tuples)
    counts = rng.integers(1, 9, tuples)
    maps = {c: {v: int(rng.integers(0, s)) for v in range(s)} for c, s in enumerate(sizes) if s <= 200 and c % 2 == 0}
    check_kernels(sizes, codes, counts, maps)
import indistinct as ix
from helpers import brute_force as bf
case = bf.Case((bf.Column("a", (("x", "m", "*"), ("y", "m", "*"), ("z", "n", "*"))),
                bf.Column("b", (("p", "*"), ("q", "*")))),
               (("x", "p"), ("y", "p"), ("z", "q"), ("z", "q"), ("x", "q")), 2, 1)
recoding = ix.Lattice().run(bf.task_of(case), ix.Watch())
assert recoding.node in bf.passing(case)
print("the same without compilation")
"""


@pytest.mark.slow
def test_kernels_do_the_same_without_compilation():
    assert "the same" in run_uncompiled(WITHOUT_JIT)
