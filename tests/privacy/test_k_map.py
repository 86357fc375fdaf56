"""k-map: k counted in a population, in every search, in the recount and in policy files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import cases, examples
from indistinct.counting import Groups, encode_eligible
from indistinct.engine import open_table
from indistinct.linkage import count_with_population
from indistinct.progress import Watch
from indistinct.search import Task
from indistinct.search.full_domain.lattice import Search

JOBS = (["clerk", "office", "*"], ["judge", "office", "*"], ["nurse", "care", "*"], ["cook", "care", "*"])
COLUMNS = ("age", "zip", "job")


def hierarchies() -> dict[str, Any]:
    return {
        "age": ix.quasi(ix.intervals(5, 20)),
        "zip": ix.quasi(ix.prefix(3)),
        "job": ix.quasi(ix.levels(JOBS)),
    }


def policy_of(*models: Any, **options: Any) -> ix.Policy:
    return ix.Policy(columns=hierarchies(), privacy=models, **options)


def as_table(rows: list[tuple[str | None, ...]], names: tuple[str, ...] = COLUMNS) -> pa.Table:
    return pa.table({name: pa.array([row[at] for row in rows], pa.string()) for at, name in enumerate(names)})


CELLS = (
    st.sampled_from(["18", "19", "23", "37", "38", "52"]),
    st.sampled_from(["021", "022", "031", "941"]),
    st.sampled_from([row[0] for row in JOBS]),
)


@st.composite
def sample_and_people(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Return people, and a sample of them."""
    people = draw(st.lists(st.tuples(*CELLS), min_size=4, max_size=40))
    sample = [one for one in people if draw(st.integers(0, 3)) == 0]
    return sample or people[:1], people


QUASI = hierarchies()


@cache
def label(name: str, cell: str, level: int) -> str | None:
    return QUASI[name].hierarchy.label(cell, level)


def labels_at(node: tuple[int, ...], row: tuple[str, ...]) -> tuple[str | None, ...]:
    return tuple(label(name, cell, level) for name, cell, level in zip(COLUMNS, row, node, strict=True))


def unsafe_rows(node: tuple[int, ...], sample: list[Any], people: list[Any], k: int) -> int:
    """Count by loops the rows whose labels fewer than k people have."""
    theirs = [labels_at(node, one) for one in people]
    return sum(theirs.count(labels_at(node, row)) < k for row in sample)


# Brute force


@pytest.mark.slow
@examples(25, opens_tables=True)
@given(sample_and_people(), st.integers(1, 6), st.integers(0, 3))
def test_every_node_is_judged_as_loops_over_people_judge_it(tables, k, budget):
    sample, people = tables
    policy = policy_of(ix.KMap(k, as_table(people)), max_suppression=budget)
    with open_table(as_table(sample)) as rows:
        search = Search(Task.of(count_with_population(encode_eligible(rows, policy), policy), policy), Watch())
    for node in search.nodes():
        assert search.recoding(node).suppressed_rows == unsafe_rows(node, sample, people, k)


@pytest.mark.slow
@examples(25, opens_tables=True)
@given(sample_and_people(), st.integers(1, 5), st.integers(0, 2))
def test_lattice_finds_the_optimum_of_trying_all_nodes(tables, k, budget):
    sample, people = tables
    policy = policy_of(ix.KMap(k, as_table(people)), max_suppression=budget)
    with open_table(as_table(sample)) as rows:
        search = Search(Task.of(count_with_population(encode_eligible(rows, policy), policy), policy), Watch())
    passing = [node for node in search.nodes() if unsafe_rows(node, sample, people, k) <= min(budget, len(sample) - 1)]
    measure = ix.Precision()
    if not passing:
        with pytest.raises(ix.InfeasibleError):
            ix.anonymize(as_table(sample), policy)
        return
    with ix.anonymize(as_table(sample), policy) as release:
        best = min(measure.loss(search.recoding(node)) for node in passing)
        assert measure.loss(release.recoding) == pytest.approx(best)
        verdict = release.verify(original=as_table(sample))
        assert verdict.passed, str(verdict)


ALGORITHMS = [
    ix.Lattice(measure="ncp"),
    ix.Samarati(),
    ix.MinGen(),
    ix.Datafly(),
    ix.Regroup(),
    ix.Regroup(labels="ranges"),
    ix.Mondrian(),
    ix.Mondrian(labels="ranges"),
    ix.KSimilar(),
    ix.TopDown(),
    ix.MinGenCell(),
]


def fits(column: str, label: str | None, value: str) -> bool:
    """Tell, without the code under test, whether a label can stand for a value."""
    if label in (None, "*"):
        return True
    if label.startswith("["):
        low, high = label[1:-1].split(", ") if "," in label else (label[1:-1],) * 2
        return int(low) <= int(value) <= int(high)
    if label.startswith("{"):
        return value in label[1:-1].split(", ")
    if column == "age":
        low, _, high = label.partition("-")
        return int(low) <= int(value) <= int(high or low)
    if column == "zip":
        return all(kept in ("*", digit) for kept, digit in zip(label, value, strict=True))
    return label in next(row for row in JOBS if row[0] == value)


@pytest.mark.slow
@examples(10, opens_tables=True)
@given(sample_and_people(), st.integers(2, 4))
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=[f"{place} {one.name}" for place, one in enumerate(ALGORITHMS)])
def test_in_every_release_each_row_fits_k_people(algorithm, tables, k):
    sample, people = tables
    policy = policy_of(ix.KMap(k, as_table(people)), max_suppression=0)
    try:
        release = ix.anonymize(as_table(sample), policy, algorithm=algorithm)
    except ix.InfeasibleError:
        assert len(people) < k or not isinstance(algorithm, ix.Lattice)
        return
    with release:
        for row in release.table.to_pylist():
            assert sum(all(fits(name, row[name], one[at]) for at, name in enumerate(COLUMNS)) for one in people) >= k
        assert release.verify(original=as_table(sample)).passed


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", cases(ALGORITHMS[:-1], *ALGORITHMS[:-1:2]), ids=lambda one: one.name)
def test_every_algorithm_finds_a_release(algorithm):
    """So that the test above does not hold because there is nothing to look at."""
    people = [
        (str(18 + number * 7 % 40), ("021", "022", "031")[number % 3], JOBS[number * 5 % 11 % 4][0])
        for number in range(240)
    ]
    policy = policy_of(ix.KMap(4, as_table(people * 2)))
    with ix.anonymize(as_table(people[::5]), policy, algorithm=algorithm) as release:
        for row in release.table.to_pylist():
            assert (
                2 * sum(all(fits(name, row[name], one[at]) for at, name in enumerate(COLUMNS)) for one in people) >= 4
            )
        assert release.verdict is not None
        assert release.verdict.passed
        with ix.anonymize(as_table(people[::5]), policy_of(ix.KAnonymity(4)), algorithm=algorithm) as strict:
            assert ix.Precision().loss(release.recoding) <= ix.Precision().loss(strict.recoding)


@pytest.mark.slow
def test_a_release_that_is_not_k_anonymous_can_satisfy_k_map():
    people = [("18", "021", "clerk")] * 5 + [("38", "941", "nurse")] * 5
    policy = policy_of(ix.KMap(5, as_table(people)))
    with ix.anonymize(as_table([people[0], people[-1]]), policy) as release:
        assert release.node == {"age": 0, "zip": 0, "job": 0}
        assert release.verdict is not None
        assert release.verdict.smallest_group == 1


@pytest.mark.slow
def test_the_recount_fails_what_fits_too_few():
    people = as_table([("18", "021", "clerk"), ("19", "022", "judge")])
    policy = policy_of(ix.KMap(2, people))
    assert ix.verify(as_table([("15-19", "02*", "office")]), policy).passed
    assert not ix.verify(as_table([("15-19", "021", "office")]), policy).passed


@pytest.mark.slow
def test_who_is_not_known_fits_only_what_covers_everything():
    people = as_table([("18", None, "clerk"), ("19", "02x1y", "astronaut")])
    policy = policy_of(ix.KMap(1, people))
    assert not ix.verify(as_table([("18", "021", "clerk")]), policy).passed
    assert ix.verify(as_table([("15-19", "*", "*")]), policy).passed


# Links


@pytest.mark.slow
def test_columns_are_linked_by_name_or_as_said():
    people = as_table([("18", "21", "clerk")] * 3, ("AGE", "postal", "Job"))
    sample = as_table([("18", "021", "clerk")])
    with ix.anonymize(sample, policy_of(ix.KMap(3, people, link={"age": "AGE", "zip": "postal"}))) as release:
        assert release.node == {"age": 0, "zip": 0, "job": 0}
    unlinked = policy_of(ix.KMap(3, as_table([("18", "x", "cook")] * 3, ("AGE", "other", "job"))))
    with ix.anonymize(sample, unlinked) as release:
        assert release.node["job"] == 1 + 1  # nobody of the population is a clerk or in an office
        assert release.node["age"] == 0


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"income": "age"}, "'income' is not a quasi column"),
        ({"age": "years"}, "the population has no column 'years'"),
    ],
)
def test_links_that_make_no_sense_are_refused(link, said):
    people = as_table([("18", "021", "clerk")])
    with pytest.raises(ix.PolicyError, match=said):
        ix.anonymize(people, policy_of(ix.KMap(1, people, link=link)))


def test_a_population_without_any_column_is_refused():
    sample = as_table([("18", "021", "clerk")])
    with pytest.raises(ix.PolicyError, match="say which belong together"):
        ix.anonymize(sample, policy_of(ix.KMap(1, pa.table({"name": ["Sue"]}))))


@pytest.mark.slow
def test_each_quasi_identifier_is_counted_by_its_own_columns():
    people = [("18", "021", "clerk")] * 2 + [("18", "941", "cook")] * 3
    sets = {"place": ["age", "zip"], "work": ["age", "job"]}
    policy = policy_of(ix.KMap(3, as_table(people), on="work"), ix.KAnonymity(1, on="place"), quasi_identifiers=sets)
    with ix.anonymize(as_table([people[0]]), policy) as release:
        assert release.node["zip"] == 0
        assert release.node["job"] > 0 or release.node["age"] > 0


@pytest.mark.slow
def test_together_with_other_models_all_must_hold():
    people = [("18", "021", "clerk")] * 4 + [("19", "021", "judge")] * 4
    policy = policy_of(ix.KMap(4, as_table(people)), ix.KAnonymity(2))
    with ix.anonymize(as_table([people[0], people[-1]]), policy) as release:
        assert release.recoding.released_groups == 1


# Files and refusals


@pytest.mark.slow
def test_a_policy_file_names_the_population_beside_it(tmp_path: Path):
    (tmp_path / "here").mkdir()
    pyarrow.csv.write_csv(as_table([("18", "021", "clerk")] * 3), tmp_path / "here" / "people.csv")
    text = ix.policy_toml(policy_of(ix.KMap(3, "people.csv", link={"age": "age"})))
    (tmp_path / "here" / "policy.toml").write_text(text, "utf-8")
    policy = ix.read_policy(tmp_path / "here" / "policy.toml")
    assert ix.policy_toml(policy) == text
    with ix.anonymize(as_table([("18", "022", "cook")]), policy) as release:
        folder = release.write(tmp_path / "out")
    assert ix.verify(folder, policy).passed
    assert str(tmp_path) not in (folder / "manifest.json").read_text("utf-8")


def test_models_are_equal_if_they_say_the_same():
    people = as_table([("18", "021", "clerk")])
    assert ix.KMap(3, "people.csv") == ix.KMap(3, "people.csv")
    assert ix.KMap(3, people) == ix.KMap(3, people)
    assert ix.KMap(3, people) != ix.KMap(3, as_table([("18", "021", "clerk")]))
    assert len({ix.KMap(3, "a.csv"), ix.KMap(3, "a.csv"), ix.KMap(3, "b.csv")}) == 2


def test_a_table_in_memory_cannot_be_written_to_a_file():
    with pytest.raises(ix.PolicyError, match="save it, and give its path"):
        ix.policy_toml(policy_of(ix.KMap(3, as_table([("18", "021", "clerk")]))))


@pytest.mark.parametrize("algorithm", [ix.LossyJoin(), ix.Anatomy()])
def test_two_tables_are_refused(algorithm):
    table = as_table([("18", "021", "clerk")] * 4).append_column("illness", pa.array(["a", "b", "a", "b"]))
    columns = {**hierarchies(), "illness": ix.sensitive()}
    policy = ix.Policy(columns=columns, privacy=[ix.KMap(2, table), ix.LDiversity(2)])
    with pytest.raises(ix.PolicyError, match="publishes quasi-identifiers as they are"):
        ix.anonymize(table, policy, algorithm=algorithm)


def test_what_cannot_be_met_says_so():
    people = as_table([("18", "021", "clerk")] * 2)
    with pytest.raises(ix.InfeasibleError, match="only 2 people of the population fit"):
        ix.anonymize(people, policy_of(ix.KMap(3, people)))
    with pytest.raises(ix.PolicyError, match="k must be a whole number"):
        ix.KMap(0, people)


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_population_must_be_named(nothing):
    with pytest.raises(ix.PolicyError, match="population must be a table, or the path of one"):
        ix.KMap(2, nothing)


def test_groups_are_judged_only_with_the_people_of_the_population():
    with pytest.raises(LookupError, match="k-map was asked about groups without the people of its population"):
        ix.KMap(2, "people.csv").satisfied(Groups.of_sizes([5]))
    with pytest.raises(LookupError, match="k-anonymity asks about no population"):
        _ = ix.KAnonymity(2).population_id


@pytest.mark.slow
def test_blank_rows_fit_everybody():
    people = [("18", "021", "clerk")] * 5
    policy = policy_of(ix.KMap(2, as_table(people)), max_suppression=1, suppressed_rows="blank")
    sample = as_table([people[0], ("52", "941", "cook")])
    with ix.anonymize(sample, policy) as release:
        assert release.verdict is not None
        assert release.verdict.passed


@pytest.mark.slow
@given(sample_and_people(), st.integers(1, 3))
@examples(12, opens_tables=True)
def test_a_population_of_several_tables_is_the_join_of_them(tmp_path_factory, drawn, k):
    sample, people = drawn
    folder = tmp_path_factory.mktemp("people")
    whole = pa.table({"who": [str(n) for n in range(len(people))]} | as_table(people).to_pydict())
    pyarrow.csv.write_csv(whole.select(["who", "age", "zip"]), folder / "register.csv")
    pyarrow.csv.write_csv(whole.select(["who", "job"]), folder / "jobs.csv")
    text = ix.policy_toml(policy_of(ix.KMap(k, [folder / "register.csv", folder / "jobs.csv"]), max_suppression=1.0))
    (folder / "policy.toml").write_text(text.replace(f"{folder}/", ""), "utf-8")
    several = ix.read_policy(folder / "policy.toml")
    one = policy_of(ix.KMap(k, as_table(people)), max_suppression=1.0)
    with ix.anonymize(as_table(sample), several) as ours, ix.anonymize(as_table(sample), one) as theirs:
        assert (ours.node, ours.suppressed) == (theirs.node, theirs.suppressed)
        assert several.privacy[0].terms()["population"] == ["register.csv", "jobs.csv"]
        ours.write(folder / "out")
        assert ix.verify(folder / "out", several).passed


def test_an_empty_list_of_populations_is_refused():
    with pytest.raises(ix.PolicyError, match="population"):
        ix.KMap(2, [])
