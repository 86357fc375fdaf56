"""risk() of several tables that belong together: compared with comparing everybody's tree of rows with everybody's."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.commands import answer
from helpers.profiles import examples

POLICY = ix.Policy(
    tables={
        "patients": ix.LinkedTable({"town": ix.quasi(ix.suppress())}, key="who"),
        "visits": ix.LinkedTable({"ward": ix.quasi(ix.suppress())}, key="visit", references={"who": "patients"}),
        "drugs": ix.LinkedTable({"drug": ix.quasi(ix.suppress())}, references={"visit": "visits"}),
    },
    privacy=[ix.KAnonymity(2)],
    max_suppression=0.9,
    person="who",
)
COLUMNS = ("patients.town", "visits.ward", "drugs.drug")

People = list[tuple[str, list[tuple[str, list[str]]]]]
"""The town of each person, her visits by ward, and the drugs of each visit."""

people_lists: st.SearchStrategy[People] = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.lists(st.tuples(st.sampled_from("xy"), st.lists(st.sampled_from("hi"), max_size=2)), max_size=2),
    ),
    min_size=1,
    max_size=8,
)


def tables_of(people: People) -> dict[str, pa.Table]:
    rows: dict[str, list[tuple[str, ...]]] = {"patients": [], "visits": [], "drugs": []}
    for who, (town, visits) in enumerate(people):
        rows["patients"].append((f"p{who}", town))
        for ward, drugs in visits:
            visit = f"v{len(rows['visits'])}"
            rows["visits"].append((visit, f"p{who}", ward))
            rows["drugs"] += [(visit, drug) for drug in drugs]
    names = {"patients": ("who", "town"), "visits": ("visit", "who", "ward"), "drugs": ("visit", "drug")}
    return {
        table: pa.table({name: pa.array([row[at] for row in own], pa.string()) for at, name in enumerate(names[table])})
        for table, own in rows.items()
    }


def tree_of(person: tuple[str, list[tuple[str, list[str]]]], known: tuple[str, ...]) -> Any:
    """Return what is known of somebody: the cells of some columns, and how many rows belong to which."""
    town, visits = person
    own = sorted(
        (ward if "visits.ward" in known else "", tuple(sorted(d if "drugs.drug" in known else "" for d in drugs)))
        for ward, drugs in visits
    )
    return town if "patients.town" in known else "", tuple(own)


def alone_by(people: People, known: tuple[str, ...]) -> int:
    sizes = Counter(tree_of(person, known) for person in people)
    return sum(size == 1 for size in sizes.values())


@examples(40, opens_tables=True)
@given(people_lists, st.sampled_from([0.2, 0.5, 1.0]))
def test_risks_of_linked_tables_are_those_of_comparing_trees(people: People, threshold: float) -> None:
    found = ix.risk(tables_of(people), policy=POLICY, threshold=threshold, most=3, nearly=1.0, threads=1)
    sizes = Counter(tree_of(person, COLUMNS) for person in people)
    chances = [1 / sizes[tree_of(person, COLUMNS)] for person in people]
    rows = sum(1 + len(visits) + sum(len(drugs) for _, drugs in visits) for _, visits in people)
    assert (found.rows, found.people, found.groups, found.quasi) == (rows, len(people), len(sizes), COLUMNS)
    assert found.sizes == dict(Counter(sizes.values()))
    assert found.uniques == alone_by(people, COLUMNS)
    assert found.prosecutor.highest == max(chances)
    assert found.prosecutor.average == pytest.approx(sum(chances) / len(people))
    assert found.prosecutor.at_risk == pytest.approx(sum(chance > threshold + 1e-9 for chance in chances) / len(people))
    sets = [known for size in range(1, 4) for known in combinations(COLUMNS, size)]
    whole = [known for known in sets if alone_by(people, known) == len(people)]
    minimal = {known for known in whole if not any(set(less) < set(known) for less in whole)}
    assert {one.columns for one in found.unique} == minimal


@examples(20, opens_tables=True)
@given(people_lists, st.sampled_from([known for size in (1, 2) for known in combinations(COLUMNS, size)]))
def test_columns_of_linked_tables_can_be_named(people: People, known: tuple[str, ...]) -> None:
    found = ix.risk(tables_of(people), known, policy=POLICY, threads=1)
    sizes = Counter(tree_of(person, known) for person in people)
    assert (found.quasi, found.people, found.sizes) == (known, len(people), dict(Counter(sizes.values())))


def test_a_release_of_linked_tables_has_no_larger_risk_than_its_k(tmp_path: Any) -> None:
    people: People = [("ab"[who % 2], [("xy"[who // 2 % 2], ["h"])]) for who in range(12)]
    original = tables_of(people)
    with ix.anonymize(original, POLICY) as release:
        found = ix.risk(release.tables, policy=POLICY, population=100)
        folder = release.write(tmp_path / "release")
    assert (found.people, found.prosecutor.highest <= 0.5) == (12, True)
    assert found.journalist is not None
    assert found.journalist.highest < found.prosecutor.highest
    assert ix.risk(folder, policy=POLICY).sizes == found.sizes


def test_what_only_rows_of_one_table_have_is_refused() -> None:
    tables = tables_of([("a", [("x", ["h"])])] * 3)
    for given_, words in (
        ({"person": "who"}, "person: the policy says"),
        ({"weights": "town"}, "weights: .*people are counted"),
        ({"population": tables["patients"]}, "population: .*give how many"),
        ({"quasi": ["town"]}, "no quasi column 'town'"),
    ):
        with pytest.raises(ix.PolicyError, match=words):
            ix.risk(tables, policy=POLICY, **given_)
    with pytest.raises(ix.IndistinctError, match="several tables"):
        ix.risk(tables["patients"], policy=POLICY)
    with pytest.raises(ix.PolicyError, match="several tables"):
        ix.explain_row(tables, POLICY, 1)


@pytest.mark.slow
def test_the_command_takes_each_table_by_its_name(tmp_path: Any) -> None:
    people: People = [("ab"[who % 2], [("xy"[who % 3 % 2], ["h"])]) for who in range(9)]
    (tmp_path / "clinic.toml").write_text(ix.policy_toml(POLICY), "utf-8")
    given_ = []
    for name, table in tables_of(people).items():
        pa.csv.write_csv(table, tmp_path / f"{name}.csv")
        given_.append(f"{name}={tmp_path / name}.csv")
    content = answer("risk", *given_, "--policy", tmp_path / "clinic.toml")
    assert (content["people"], content["quasi"]) == (9, list(COLUMNS))
    assert content["uniques"] == alone_by(people, COLUMNS)


@examples(20, opens_tables=True)
@given(people_lists)
def test_unicity_of_linked_tables_is_that_of_people(people: People) -> None:
    found = ix.risk(tables_of(people), policy=POLICY, threads=1).unicity
    assert found is not None
    assert (found.unit, found.rows, set(found.columns)) == ("people", len(people), set(COLUMNS))
    for one in found.known:
        shares = [alone_by(people, known) / len(people) for known in combinations(COLUMNS, one.cells)]
        assert (one.mean, one.worst) == (pytest.approx(sum(shares) / len(shares)), max(shares))
