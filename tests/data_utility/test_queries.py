"""COUNT(*) queries on releases: estimates by plain Python over the released cells, their laws, the command line."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers.profiles import examples
from indistinct.cli import app
from indistinct.data_utility.query_errors import QueryErrors
from indistinct.data_utility.workload import Workload, predicate_size, queries
from indistinct.examples import save_examples
from indistinct.pipeline.comparison import compare
from indistinct.recoding import SUPPRESSED, Classes, LocalRecoding, Pieces
from indistinct.search import Task
from indistinct.search.local.mondrian import Mondrian
from indistinct.search.local.top_down import TopDown
from indistinct.search.two_tables.anatomy import Anatomy
from indistinct.search.two_tables.lossy_join import LossyJoin

Value = str | None
Row = dict[str, Value]

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"

# A table of three quasi columns: listed labels, numbers in intervals, and one that is suppressed or not.

QUASI = ("town", "age", "sex")
SOUTH, NORTH, EAST = ("south", "*"), ("north", "*"), ("east", "*")
TOWNS = {"Ulm": SOUTH, "Hof": SOUTH, "Kiel": NORTH, "a, b": NORTH, "Jena": EAST}
COLUMNS = {
    "town": ix.quasi(ix.levels([[town, *above] for town, above in TOWNS.items()])),
    "age": ix.quasi(ix.intervals(5, 10)),
    "sex": ix.quasi(ix.suppress()),
    "illness": ix.sensitive(),
}
ILLNESSES = ("flu", "HIV", "ulcer", None)


def rows_of(town: Sequence[Value], age: Sequence[Value], sex: Sequence[Value]) -> st.SearchStrategy[list[Row]]:
    row = st.fixed_dictionaries(
        {
            "town": st.sampled_from(town),
            "age": st.sampled_from(age),
            "sex": st.sampled_from(sex),
            "illness": st.sampled_from(ILLNESSES),
        }
    )
    return st.lists(row, min_size=1, max_size=24)


AGES = ("0", "3", "4", "5", "9", "10", "12", "20")
PRESENT = rows_of([*TOWNS], AGES, ["f", "m"])
WITH_MISSING = rows_of([*TOWNS], [*AGES, None], ["f", "m", None])
ANY_ROWS = st.one_of(PRESENT, WITH_MISSING)


def policy_of(model: ix.PrivacyModel | None = None, **more: Any) -> ix.Policy:
    return ix.Policy(columns=COLUMNS, privacy=[model or ix.KAnonymity(1)], **more)


def table_of(rows: Sequence[Row]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in COLUMNS})


# The oracle: what a cell may stand for, and each estimate, row by row, in plain Python.


def path(column: str, value: Value) -> tuple[Value, ...]:
    """Return a value's labels at every level, the value first."""
    if column == "town":
        return (value, *TOWNS[str(value)])
    if column == "sex":
        return (value, "*")
    if value is None:
        return (None, None, None, "*")
    starts = [(int(value) // width * width, width) for width in (5, 10)]
    return (value, *(f"{start}-{start + width - 1}" for start, width in starts), "*")


def meaning(label: Value, column: str, domain: set[Value], is_suppressed: bool = False) -> set[Value]:
    """Return the values of the original that a released cell may stand for."""
    if is_suppressed or (label is None and None not in domain):
        return domain
    if label is None:
        return {None}
    below = {value for value in domain if label in path(column, value)}
    if below:
        return below
    body = label.removesuffix(" or missing")
    inside = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|([^,"\[\]{} ][^,"\[\]{}]*)', body)]
    if body.startswith("["):
        low, high = min(map(int, inside)), max(map(int, inside))
        found = {value for value in domain if value is not None and low <= int(value) <= high}
    else:
        found = {value for value in domain if value in inside}
    return found | ({None} & domain if body != label else set())


def asked(query: Any) -> dict[str, set[Value]]:
    return {name: set(values) for name, values in query.predicates.items()}


def actual(rows: Sequence[Row], predicates: dict[str, set[Value]]) -> int:
    return sum(all(row[name] in values for name, values in predicates.items()) for row in rows)


def on_one_table(
    released: Sequence[Row], rows: Sequence[Row], predicates: dict[str, set[Value]], has_blanks: bool = False
) -> dict[str, Fraction]:
    domains = {name: {row[name] for row in rows} for name in COLUMNS}
    uniform, overlap = Fraction(0), Fraction(0)
    for row in released:
        is_suppressed = has_blanks and all(row[name] is None for name in QUASI)
        shares = []
        for name, values in predicates.items():
            cell = {row[name]} if name == "illness" else meaning(row[name], name, domains[name], is_suppressed)
            shares.append(Fraction(len(cell & values), len(cell)))
        uniform += prod(shares, start=Fraction(1))
        overlap += all(shares)
    return {"uniform": uniform, "overlap": overlap}


def on_two_tables(
    quasi: Sequence[Row], sensitive: Sequence[Row], predicates: dict[str, set[Value]]
) -> dict[str, Fraction]:
    matching = Counter(
        row["class_id"] for row in quasi if all(row[name] in predicates[name] for name in QUASI if name in predicates)
    )
    sizes = Counter(row["class_id"] for row in quasi)
    possible = Counter(row["class_id"] for row in sensitive if row["illness"] in predicates["illness"])
    proportional = sum((Fraction(matching[name] * possible[name], sizes[name]) for name in sizes), Fraction(0))
    paper = sum(row["class_id"] in matching and row["illness"] in predicates["illness"] for row in sensitive)
    return {"proportional": proportional, "paper": Fraction(paper)}


def check_release(release: ix.Release, rows: Sequence[Row], workload: Workload) -> QueryErrors:
    """Compare every estimate on a release with the oracle's."""
    found = workload.errors(release)
    tables = {name: table.to_pylist() for name, table in release.tables.items()}
    for place, query in enumerate(workload.queries):
        predicates = asked(query)
        assert query.count == found.actual[place] == actual(rows, predicates) > 0
        if len(tables) == 1:
            expected = on_one_table(tables["table"], rows, predicates, release.policy.suppressed_rows == "blank")
        else:
            expected = on_two_tables(tables["quasi"], tables["sensitive"], predicates)
        assert {name: estimates[place] for name, estimates in found.estimates.items()} == pytest.approx(
            {name: float(value) for name, value in expected.items()}
        )
        for name, value in expected.items():
            assert found.relative(name)[place] == pytest.approx(float(abs(query.count - value) / query.count))
    return found


class Drawn:
    """An algorithm that puts rows into groups as it is told, or suppresses them."""

    name = "drawn"

    def __init__(self, groups: Sequence[int], kind: str) -> None:
        self.groups, self.kind = groups, kind

    def run(self, task: Task, watch: ix.Watch) -> LocalRecoding | Classes:
        entries = task.frequencies.entries
        units = np.repeat(np.arange(len(entries)), entries.counts)
        groups = np.resize(np.array(self.groups), len(units))
        groups[0] = max(groups[0], 0)  # something must be released
        pairs, counts = np.unique(np.stack([units, groups]), axis=1, return_counts=True)
        pieces = Pieces(pairs[0], counts.astype(np.int64), pairs[1])
        if self.kind == "classes":
            return Classes.of_pieces(task.frequencies, pieces)
        return LocalRecoding.of_pieces(task.frequencies, pieces, self.kind)  # type: ignore[arg-type]


GROUPS = st.lists(st.integers(SUPPRESSED, 5), min_size=1, max_size=24)
SOME = st.fixed_dictionaries(
    {
        "dimensions": st.integers(1, 3),
        "selectivity": st.sampled_from([0.02, 0.1, 0.4, 1.0]),
        "seed": st.integers(0, 5),
        "number": st.just(8),
    }
)


@pytest.mark.slow
@given(ANY_ROWS, GROUPS, st.sampled_from(["hierarchy", "ranges", "classes"]), SOME)
@examples(20, opens_tables=True)
def test_estimates_on_local_recodings_and_two_tables_are_those_of_plain_python(
    rows: list[Row], groups: list[int], kind: str, some: dict[str, Any]
) -> None:
    policy = policy_of(ix.LDiversity(1), max_suppression=1.0)
    workload = queries(table_of(rows), policy, **some)
    with ix.anonymize(table_of(rows), policy, algorithm=Drawn(groups, kind), allow_unsafe=True) as release:
        check_release(release, rows, workload)


ALGORITHMS = (
    ix.Lattice(),
    ix.Datafly(),
    ix.MuArgus(),
    Mondrian(labels="ranges"),
    TopDown(),
    LossyJoin(Mondrian()),
    LossyJoin(TopDown()),
    Anatomy(l=2, seed=0),
)


@pytest.mark.slow
@given(ANY_ROWS, st.sampled_from(ALGORITHMS), st.integers(1, 3), st.sampled_from(["remove", "blank"]), SOME)
@examples(20, opens_tables=True)
def test_estimates_on_the_algorithms_own_releases_are_those_of_plain_python(
    rows: list[Row], algorithm: Any, k: int, suppressed_rows: Any, some: dict[str, Any]
) -> None:
    policy = policy_of(ix.AlphaK(0.7, k), max_suppression=0.5, suppressed_rows=suppressed_rows)
    if isinstance(algorithm, ix.MuArgus):
        assume(not any(None in row.values() for row in rows))  # its blanks could be either
    try:
        release = ix.anonymize(table_of(rows), policy, algorithm=algorithm, allow_unsafe=True)
    except (ix.InfeasibleError, ix.PolicyError):
        assume(False)
    with release:
        check_release(release, rows, queries(table_of(rows), policy, **some))


# Laws.


@pytest.mark.slow
@given(ANY_ROWS, SOME)
@examples(8)
def test_the_original_answers_every_query_exactly(rows: list[Row], some: dict[str, Any]) -> None:
    found = queries(table_of(rows), policy_of(), **some).errors(table_of(rows))
    assert found.estimators == ("uniform", "overlap")
    assert set(found.average.values()) == set(found.median.values()) == {0.0}
    assert all((estimates == found.actual).all() for estimates in found.estimates.values())


@pytest.mark.slow
@given(ANY_ROWS, st.lists(st.integers(0, 5), min_size=1, max_size=24), SOME)
@examples(5)
def test_taken_literally_a_query_counts_cells_that_are_what_it_names_as_text(
    rows: list[Row], groups: list[int], some: dict[str, Any]
) -> None:
    policy = policy_of(ix.LDiversity(1))
    workload = queries(table_of(rows), policy, **some)
    with ix.anonymize(table_of(rows), policy, algorithm=Drawn(groups, "hierarchy"), allow_unsafe=True) as release:
        found, released = workload.errors(release, literal=True), release.table.to_pylist()
    assert found.estimators == ("uniform", "overlap", "literal")
    assert found.estimates["literal"].tolist() == [actual(released, asked(query)) for query in workload.queries]
    assert (found.estimates["literal"] <= found.estimates["overlap"]).all()
    assert (workload.errors(table_of(rows), literal=True).estimates["literal"] == found.actual).all()


@pytest.mark.slow
@given(ANY_ROWS, st.lists(st.integers(0, 5), min_size=1, max_size=24), SOME)
@examples(5)
def test_the_papers_estimate_and_overlap_are_never_below_the_actual_count(
    rows: list[Row], groups: list[int], some: dict[str, Any]
) -> None:
    policy = policy_of(ix.LDiversity(1))
    workload = queries(table_of(rows), policy, **some)
    for kind, estimator in (("classes", "paper"), ("hierarchy", "overlap"), ("ranges", "overlap")):
        with ix.anonymize(table_of(rows), policy, algorithm=Drawn(groups, kind), allow_unsafe=True) as release:
            found = workload.errors(release)
        assert (found.estimates[estimator] >= found.actual).all()
        assert (found.estimates[found.estimators[0]] <= found.estimates[estimator] + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("homogeneous", [QUASI, ("illness",)])
@given(rows=ANY_ROWS, some=SOME)
@examples(8)
def test_proportional_is_exact_where_a_class_has_one_tuple_or_one_value(
    homogeneous: tuple[str, ...], rows: list[Row], some: dict[str, Any]
) -> None:
    cells = [tuple(row[name] for name in homogeneous) for row in rows]
    classes = [str(cells.index(own)) for own in cells]
    tables = {
        "quasi": table_of(rows).select(QUASI).append_column("class_id", pa.array(classes)),
        "sensitive": table_of(rows).select(["illness"]).append_column("class_id", pa.array(classes)),
    }
    found = queries(table_of(rows), policy_of(), **some).errors(tables)
    assert found.estimates["proportional"] == pytest.approx(found.actual)


@given(ANY_ROWS, SOME)
@examples(8)
def test_a_query_names_as_many_different_values_as_the_formula_says(rows: list[Row], some: dict[str, Any]) -> None:
    workload = queries(table_of(rows), policy_of(), **some)
    assert len(workload) == len(workload.queries) == 8
    for query in workload.queries:
        names = [*query.predicates]
        assert names[-1] == "illness"
        assert len(names) == some["dimensions"] + 1
        assert names[:-1] == [name for name in QUASI if name in names]
        for name, values in query.predicates.items():
            domain = {row[name] for row in rows}
            assert len(values) == len(set(values)) == workload.predicate_sizes()[name]
            assert set(values) <= domain


# The draw.


def test_predicates_are_as_long_as_in_the_paper() -> None:
    """Table 8's domains at qd = 4 and s = 0.05: five predicates."""
    domains = {"Age": 74, "Work Class": 7, "Education": 16, "Marital Status": 7, "Race": 5, "Sex": 2}
    domains |= {"Native Country": 41, "Salary Class": 2, "Occupation": 14}
    assert [predicate_size(values, 5, 0.05) for values in domains.values()] == [41, 4, 9, 4, 3, 2, 23, 2, 8]


@pytest.mark.parametrize(
    ("values", "predicates", "selectivity", "size"),
    [(10, 3, 0.001, 1), (8, 2, 0.25, 4), (9, 2, 1.0, 9), (7, 1, 1e-12, 1), (1, 4, 0.5, 1), (100, 2, 0.01, 10)],
)
def test_a_whole_number_is_not_rounded_up(values: int, predicates: int, selectivity: float, size: int) -> None:
    assert predicate_size(values, predicates, selectivity) == size


ROWS: list[Row] = [
    {"town": town, "age": age, "sex": sex, "illness": illness}
    for town, age, sex, illness in [
        ("Ulm", "3", "f", "flu"),
        ("Ulm", "4", "m", "HIV"),
        ("Hof", "5", "f", "flu"),
        ("Kiel", "12", "m", "ulcer"),
        ("Kiel", "12", "f", "flu"),
        ("Jena", "20", "m", "HIV"),
    ]
]
TABLE = table_of(ROWS)


def in_words(workload: Workload) -> list[Any]:
    return [(sorted(query.predicates.items()), query.count) for query in workload.queries]


@pytest.mark.slow
def test_the_same_seed_draws_the_same_queries_from_a_table_of_any_kind(tmp_path: Path) -> None:
    TABLE.to_pandas().to_csv(tmp_path / "table.csv", index=False)
    shuffled = TABLE.take([3, 1, 5, 0, 4, 2])
    first = in_words(queries(TABLE, policy_of(), number=20, seed=7))
    for table in (TABLE.to_pandas(), tmp_path / "table.csv", shuffled):
        assert in_words(queries(table, policy_of(), number=20, seed=7)) == first
    assert in_words(queries(TABLE, policy_of(), number=20, seed=8)) != first
    assert in_words(queries(TABLE, policy_of(), number=30, seed=7))[:20] == first


@pytest.mark.slow
def test_columns_and_values_are_drawn_evenly() -> None:
    """One value in each of three columns, which is the same in all columns of a row."""
    columns = {name: ix.quasi(ix.suppress()) for name in "abcdef"} | {"s": ix.sensitive()}
    table = pa.table({name: ["x", "y", "z"] for name in columns})
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(1)])
    found = queries(table, policy, dimensions=2, selectivity=0.03, number=600)
    assert set(found.predicate_sizes().values()) == {1}
    names = Counter(name for query in found.queries for name in query.predicates)
    values = Counter(query.predicates["s"] for query in found.queries)
    assert names["s"] == 600
    assert all(150 < names[name] < 250 for name in "abcdef")
    assert all(150 < values[value,] < 250 for value in "xyz")


def test_queries_are_about_eligible_rows() -> None:
    policy = policy_of(eligible=[ix.where("town", "!=", "Kiel")])
    workload = queries(TABLE, policy, number=40)
    assert all("Kiel" not in query.predicates.get("town", ()) for query in workload.queries)
    kept = [row for row in ROWS if row["town"] != "Kiel"]
    assert all(query.count == actual(kept, asked(query)) for query in workload.queries)


def test_queries_that_hardly_any_row_matches_are_refused_and_no_cell_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indistinct.data_utility.workload.EMPTY_DRAWS", 300)
    columns = {f"c{place}": ix.quasi() for place in range(6)} | {"s": ix.sensitive()}
    values = [f"secret{place}" for place in range(400)]
    table = pa.table(dict.fromkeys(columns, values))
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(1)])
    with pytest.raises(ix.PolicyError, match="raise it above 1e-30") as caught:
        queries(table, policy, dimensions=6, selectivity=1e-30)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dimensions": 0}, "dimensions: must be a whole number from 1 to 3"),
        ({"dimensions": 4}, "dimensions: must be a whole number from 1 to 3"),
        ({"dimensions": True}, "dimensions"),
        ({"dimensions": 2.0}, "dimensions"),
        ({"selectivity": 0}, "selectivity: must lie above 0"),
        ({"selectivity": 1.5}, "selectivity"),
        ({"selectivity": float("nan")}, "selectivity"),
        ({"selectivity": "much"}, "selectivity"),
        ({"number": 0}, "number: must be a whole number of at least 1"),
        ({"seed": -1}, "seed: must be a whole number of at least 0"),
        ({"sensitive": "town"}, "sensitive: 'town' is not a sensitive column"),
        ({"number": 0, "seed": -1}, "2 mistakes"),
    ],
)
def test_nonsense_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ix.PolicyError, match=words):
        queries(TABLE, policy_of(), **options)


def test_a_table_that_does_not_fit_or_is_empty_is_refused() -> None:
    with pytest.raises(ix.PolicyError, match="no such column"):
        queries(TABLE.drop_columns(["sex"]), policy_of())
    with pytest.raises(ix.PolicyError, match="column 'town'"):
        queries(table_of([*ROWS, {**ROWS[0], "town": "Bonn"}]), policy_of())
    with pytest.raises(ix.InfeasibleError, match="no eligible rows"):
        queries(TABLE.slice(0, 0), policy_of())


@pytest.mark.slow
def test_a_policy_with_several_sensitive_columns_says_which_is_meant() -> None:
    table = TABLE.append_column("income", pa.array(list("abcabc")))
    columns = {**COLUMNS, "income": ix.sensitive()}
    plain = ix.Policy(columns=columns, privacy=[ix.KAnonymity(1)])
    with pytest.raises(ix.PolicyError, match="sensitive: say which of 'illness', 'income'"):
        queries(table, plain)
    assert queries(table, plain, sensitive="income", number=3).sensitive == "income"
    asking = ix.Policy(columns=columns, privacy=[ix.LDiversity(1, column="income")])
    assert queries(table, asking, number=3).sensitive == "income"
    with ix.anonymize(table, asking, algorithm=LossyJoin(Mondrian())) as release:
        found = queries(table, asking, sensitive="illness", number=30).errors(release)
        assert found.estimators == ("proportional", "paper")
        assert (found.estimates["paper"] >= found.actual).all()


@pytest.mark.slow
def test_a_policy_without_a_sensitive_column_has_queries_about_quasi_columns() -> None:
    columns = {name: column for name, column in COLUMNS.items() if name != "illness"}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])
    table = TABLE.drop_columns(["illness"])
    workload = queries(table, policy, dimensions=2, selectivity=0.25, number=20)
    assert workload.predicate_sizes() == {"town": 2, "age": 3, "sex": 1}
    assert {len(query.predicates) for query in workload.queries} == {2}
    with ix.anonymize(table, policy) as release:
        assert workload.errors(release).average["uniform"] > 0
    with pytest.raises(ix.PolicyError, match="the workload asks about none"):
        workload.errors({"quasi": table, "sensitive": table})


# What can be asked.


@pytest.mark.slow
def test_two_tables_by_hand() -> None:
    """Wong et al. 2007, section 7: COUNT the sensitive rows of every class that has a matching quasi row."""
    classes = pa.array(["1", "1", "1", "2", "2", "2"])
    tables = {
        "quasi": TABLE.select(QUASI).append_column("class_id", classes),
        "sensitive": TABLE.select(["illness"]).append_column("class_id", classes),
    }
    workload = queries(TABLE, policy_of(), number=300, dimensions=1, selectivity=0.2)
    found = workload.errors(tables)
    place = next(
        place
        for place, query in enumerate(workload.queries)
        if asked(query) == {"town": {"Ulm", "Jena"}, "illness": {"flu", "HIV"}}
    )
    assert found.actual[place] == 3  # both of Ulm, and Jena
    assert found.estimates["paper"][place] == 5  # all but the ulcer: both classes have a match
    assert found.estimates["proportional"][place] == pytest.approx(2 * 3 / 3 + 1 * 2 / 3)
    assert found.relative("paper")[place] == pytest.approx(2 / 3)


def test_one_table_by_hand() -> None:
    released = [{**row, "town": TOWNS[str(row["town"])][0], "age": "*"} for row in ROWS]
    workload = queries(TABLE, policy_of(), number=300, dimensions=1, selectivity=0.2)
    found = workload.errors(table_of(released))
    place = next(
        place
        for place, query in enumerate(workload.queries)
        if asked(query) == {"town": {"Ulm", "Jena"}, "illness": {"flu", "HIV"}}
    )
    # the south is Ulm or Hof, the east is Jena alone
    assert found.estimates["uniform"][place] == pytest.approx(3 / 2 + 1)
    assert found.estimates["overlap"][place] == 4


@pytest.mark.slow
def test_a_release_its_folder_its_table_and_its_file_answer_alike(tmp_path: Path) -> None:
    for algorithm in (Mondrian(), LossyJoin(Mondrian())):
        folder = tmp_path / algorithm.name
        policy = policy_of(ix.AlphaK(0.7, 2), max_suppression=0.5)
        TABLE.to_pandas().to_csv(tmp_path / "table.csv", index=False)
        workload = queries(tmp_path / "table.csv", policy, number=25)
        with ix.anonymize(tmp_path / "table.csv", policy, algorithm=algorithm) as release:
            expected = workload.errors(release).to_dict()
            release.write(folder)
            tables = dict(release.tables) if len(release.tables) > 1 else release.table
            files = {path.stem: path for path in folder.glob("*.csv")}
            for same in (folder, str(folder), tables, files if len(files) > 1 else files["table"]):
                assert workload.errors(same).to_dict() == expected


@pytest.mark.parametrize(
    ("release", "error", "words"),
    [
        (TABLE.drop_columns(["age", "illness"]), ix.PolicyError, "columns.age: the release has no such column"),
        ({"quasi": TABLE, "other": TABLE}, ix.TableError, "one table, or two"),
        ({"quasi": TABLE, "sensitive": TABLE}, ix.PolicyError, "columns.class_id"),
        (3, ix.TableError, "cannot open int"),
    ],
)
def test_what_is_no_release_is_refused(release: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        queries(TABLE, policy_of(), number=2).errors(release)


def test_a_folder_with_a_broken_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[]", "utf-8")
    with pytest.raises(ix.TableError, match="no manifest of a release"):
        queries(TABLE, policy_of(), number=2).errors(tmp_path)


def test_cells_that_the_original_does_not_have_match_nothing() -> None:
    released = table_of([{**ROWS[0], "town": "Bonn"}, {**ROWS[1], "illness": "gout"}])
    found = queries(TABLE, policy_of(), selectivity=1.0, number=5).errors(released)
    assert found.estimates["overlap"].tolist() == [0.0 if "town" in names else 1.0 for names in _columns_of(5)]


def _columns_of(number: int) -> list[list[str]]:
    return [[*query.predicates] for query in queries(TABLE, policy_of(), selectivity=1.0, number=number).queries]


def test_what_is_shown_quotes_no_value_but_says_the_figures() -> None:
    workload = queries(TABLE, policy_of(), number=10)
    assert repr(workload) == "Workload(10 queries about 3 quasi columns and 'illness', selectivity 0.05, seed 0)"
    found = workload.errors(TABLE)
    assert repr(found).startswith("QueryErrors(10 queries: uniform 0.0000 on average, 0.0000 in the median; overlap")
    assert found.to_dict() == {
        "queries": 10,
        "average": {"uniform": 0.0, "overlap": 0.0},
        "median": {"uniform": 0.0, "overlap": 0.0},
    }
    assert json.loads(json.dumps(workload.describe())) == {
        "queries": 10,
        "dimensions": 3,
        "selectivity": 0.05,
        "seed": 0,
        "sensitive": "illness",
    }
    with pytest.raises(ix.PolicyError, match="estimator: there is no 'paper'; this release has uniform and overlap"):
        found.relative("paper")


# Comparisons.

POLICY = policy_of(ix.AlphaK(0.7, 2), max_suppression=0.5)


@pytest.mark.slow
def test_a_comparison_asks_every_release_the_same_queries() -> None:
    workload = queries(TABLE, POLICY, number=50)
    asked_for = [ix.Lattice(), Mondrian(), LossyJoin(Mondrian()), ix.Datafly(preference=dict.fromkeys(QUASI, 0))]
    found = compare(TABLE, POLICY, algorithms=asked_for, workload=workload)
    for trial, algorithm in zip(found.trials[:3], asked_for[:3], strict=True):
        with ix.anonymize(TABLE, POLICY, algorithm=algorithm) as release:
            expected = workload.errors(release)
        assert trial.query_errors == pytest.approx(expected.average)
        assert trial.median_query_errors == pytest.approx(expected.median)
    assert [list(trial.query_errors) for trial in found.trials] == [
        ["uniform", "overlap"],
        ["uniform", "overlap"],
        ["proportional", "paper"],
        [],
    ]
    best = found.best("query-error")
    assert best is not None
    first = [next(iter(trial.query_errors.values())) for trial in found.trials[:3]]
    assert best.loss_by("query-error") == best.figure_by("query-error") == min(first)
    assert found.ranked("query-error")[-1] is found.trials[-1]
    assert found.title == "4 algorithms on 6 rows, 50 queries"
    assert "query-error" in str(found).splitlines()[0]
    document = json.loads(json.dumps(found.to_dict()))
    assert document["workload"]["queries"] == 50
    assert document["trials"][2]["query_errors"] == found.trials[2].query_errors


@pytest.mark.slow
def test_two_tables_compete_with_one_by_queries_only() -> None:
    """No cell of theirs is generalized, so every measure of cells would call them perfect."""
    workload = queries(TABLE, POLICY, number=50)
    found = compare(TABLE, POLICY, algorithms=[LossyJoin(Mondrian()), Mondrian(), ix.Lattice()], workload=workload)
    assert [trial.has_two_tables for trial in found.trials] == [True, False, False]
    assert found.trials[0].measures["precision"] == 1.0 > found.trials[1].measures["precision"]
    for measure in ("precision", "loss", "discernibility"):
        assert found.ranked(measure)[-1] is found.trials[0]
        assert found.best(measure) in found.trials[1:]
    errors = [next(iter(trial.query_errors.values())) for trial in found.ranked("query-error")]
    assert errors == sorted(errors)
    texts = [node.text for node in ElementTree.fromstring(found.svg(["precision"])).iter(f"{SVG}text")]
    assert any("Two tables have no generalized cells" in str(text) for text in texts)
    only = compare(TABLE, POLICY, algorithms=[LossyJoin(Mondrian())])
    assert only.best("precision") is only.trials[0]


@pytest.mark.slow
def test_a_chart_has_the_queries_beside_the_measures() -> None:
    def titles(content: str) -> str:
        return "".join(ElementTree.fromstring(content).itertext())

    workload = queries(TABLE, POLICY, number=10)
    found = compare(TABLE, POLICY, algorithms=["lattice", "datafly"], workload=workload)
    assert titles(found.svg()).count("query error") == 2  # its panel, and the description
    assert titles(found.svg(["query-error", "precision"])).count("query error") == 2
    without = compare(TABLE, POLICY, algorithms=["lattice"])
    assert "query error" not in titles(without.svg())
    assert "workload" not in without.to_dict()
    for wrong in (lambda: without.best("query-error"), lambda: without.svg(["query-error"])):
        with pytest.raises(ix.PolicyError, match="query-error needs queries"):
            wrong()
    with pytest.raises(ix.PolicyError, match="workload: must be made by queries"):
        compare(TABLE, POLICY, workload=50)  # type: ignore[arg-type]


# The command line.


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    save_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return "hospital.toml", "hospital.csv", "--algorithm", "lattice", "--algorithm", "datafly"


def run(*arguments: str, exit_code: int = 0) -> Any:
    result = CliRunner().invoke(app, ["compare", *arguments])
    assert result.exit_code == exit_code, result.output
    return result


@pytest.mark.slow
def test_the_command_shows_the_errors_of_both_estimators(example: tuple[str, ...]) -> None:
    shown = run(*example, "--queries").stdout
    assert "2 algorithms on 12 rows, 1,000 queries" in shown
    workload = queries("hospital.csv", ix.read_policy("hospital.toml"))
    for algorithm in ("lattice", "datafly"):
        with ix.anonymize("hospital.csv", ix.read_policy("hospital.toml"), algorithm=algorithm) as release:
            found = workload.errors(release)
        words = next(line.split() for line in shown.splitlines() if line.split()[:2] == [algorithm, "uniform"])
        figures = [f"{found.average[name]:.4f} {found.median[name]:.4f}".split() for name in found.estimators]
        assert words == [algorithm, "uniform", *figures[0], "overlap", *figures[1]]


@pytest.mark.slow
def test_what_is_said_about_queries_asks_for_them(example: tuple[str, ...]) -> None:
    options = ["--number", "20", "--dimensions", "2", "--selectivity", "0.3", "--seed", "4", "--sensitive", "Problem"]
    document = json.loads(run(*example, *options, "--json").stdout)
    assert document["workload"] == {
        "queries": 20,
        "dimensions": 2,
        "selectivity": 0.3,
        "seed": 4,
        "sensitive": "Problem",
    }
    assert all(list(trial["query_errors"]) == ["uniform", "overlap"] for trial in document["trials"])
    assert "workload" not in json.loads(run(*example, "--json").stdout)
    assert "Relative error" not in run(*example).stdout


@pytest.mark.slow
def test_it_says_that_cells_tell_nothing_of_two_tables(example: tuple[str, ...]) -> None:
    with Path("hospital.toml").open("a", encoding="utf-8") as policy:  # two tables need a model about values
        policy.write('\n[[privacy]]\nmodel = "l-diversity"\nl = 2\n')
    result = run(*example, "--algorithm", "lossy-join")
    assert "lossy-join: two tables without generalized cells, of which precision says nothing" in result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [words[0] for words in lines if words and words[-1] == "✓"] == ["lattice", "datafly", "lossy-join"]
    assert "best by precision: lattice (0.6917)" in result.stderr
    by_queries = run(*example, "--algorithm", "lossy-join", "--measure", "query-error", "--number", "300")
    assert "without generalized cells" not in by_queries.stderr
    assert re.search(r"lossy-join +proportional +0\.\d+ +0\.\d+ +paper +\d", by_queries.stdout)


@pytest.mark.slow
def test_the_errors_can_be_what_counts(example: tuple[str, ...]) -> None:
    result = run(*example, "--number", "200", "--measure", "query-error", "--chart", "chart.svg")
    assert re.search(r"best by query-error: \w+ \(0\.\d+\)", result.stderr)
    assert "query error" in Path("chart.svg").read_text("utf-8")
    assert "say --queries" in run(*example, "--measure", "query-error", exit_code=2).output
    assert "dimensions" in run(*example, "--dimensions", "9", exit_code=2).output
    assert "selectivity" in run(*example, "--selectivity", "0", exit_code=2).output


# The experiment of the paper.


@pytest.fixture(scope="module")
def wong() -> Any:
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks import wong as module
    finally:
        sys.path.remove(str(ROOT))
    return module


def test_the_experiments_columns_are_those_of_table_8(wong: Any) -> None:
    """Wong et al. 2007, Table 8: distinct values and heights."""
    table_8 = {"age": (74, 4), "workclass": (7, 3), "education": (16, 4), "marital-status": (7, 3), "race": (5, 2)}
    table_8 |= {"sex": (2, 1), "native-country": (41, 3), "salary-class": (2, 1), "occupation": (14, 2)}
    assert (*wong.QUASI, wong.SENSITIVE) == tuple(table_8)
    for name, (values, height) in table_8.items():
        hierarchy = wong.hierarchy(name)
        listed = map(str, range(17, 91)) if name == "age" else (row[0] for row in hierarchy.table())
        compiled = hierarchy.compile(sorted(listed))
        assert (len(compiled.values), compiled.height) == (values, height), name


def test_the_experiments_files_are_read_as_they_are_published(wong: Any) -> None:
    before = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0"
    first = f"{before}, 40, Cuba, <=50K"
    second = first.replace("Bachelors", "?").replace("<=50K", ">50K") + "\n" + first.replace("<=50K", ">50K.")
    table = wong.read([first + "\n\n", "|1x3 Cross validator\n" + second + "\n"])
    assert table.num_rows == 2
    assert table["salary-class"].to_pylist() == ["<=50K", ">50K"]
    assert table["native-country"].to_pylist() == ["Cuba", "Cuba"]


def test_the_experiment_varies_one_factor_at_a_time(wong: Any) -> None:
    default = wong.Case(8, 4, 0.05, wong.ROWS)
    found = wong.cases(wong.ROWS)
    assert default in found
    for case in found:
        changed = [name for name in ("d", "qd", "s", "n") if getattr(case, name) != getattr(default, name)]
        assert len(changed) <= 1
        assert case.qd <= case.d
