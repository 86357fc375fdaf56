"""Policies of tables whose form is known: what OMOP's columns become, and a release that needs no mending."""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.commands import answer, run
from helpers.profiles import examples
from indistinct.pipeline.suggesting import known_schema, ready_policy
from indistinct.pipeline.suggesting.concept_trees import concept_tree

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PEOPLE = {"person_id": [1, 2, 3], "gender_concept_id": [8507, 8532, 0], "year_of_birth": [1950, 1960, 1970]}
EVENTS = {
    "person_id": [1, 2, 2],
    "condition_concept_id": [10, 11, 0],
    "condition_start_date": ["2020-01-02", "2020-02-03", None],
    "condition_source_value": ["E11.9", "I10", "I10"],
}
CAUSE = {"person_id": [1], "cause_concept_id": [5]}


def folder_of(place: Path, **tables: Mapping[str, Any]) -> Path:
    """Write tables as CSV, or as Parquet where the name ends so."""
    place.mkdir()
    for name, columns in tables.items():
        stem, _, form = name.partition("__")
        if form == "parquet":
            pyarrow.parquet.write_table(pa.table(dict(columns)), place / f"{stem}.parquet")
        else:
            pyarrow.csv.write_csv(pa.table(dict(columns)), place / f"{stem}.csv")
    return place


def policy_of(folder: Path) -> ix.Policy:
    return ready_policy(folder, known_schema("omop")).policy


def test_every_column_of_the_form_has_a_place_and_every_reason_is_used() -> None:
    for name in ("omop", "fhir"):
        schema = known_schema(name)
        content = tomllib.loads(
            (EXAMPLES.parent / f"src/indistinct/pipeline/suggesting/{name}.toml").read_text("utf-8")
        )
        used = {reason for table in content["tables"].values() for reason in table["drop"]}
        assert used == set(content["reasons"])
        for table in schema.tables.values():
            twice = set(table.quasi) & set(table.dropped)
            assert twice <= {column for column, one in table.quasi.items() if one.unless}
            assert {one.unless for one in table.quasi.values()} - {None} <= set(table.quasi)


@pytest.fixture
def omop(tmp_path: Path) -> dict[str, Any]:
    folder = folder_of(tmp_path / "cdm", PERSON=PEOPLE, condition_occurrence__parquet=EVENTS)
    return {name: dict(table.columns) for name, table in policy_of(folder).tables.items()}


def test_kinds_and_years_and_dates_of_omop(omop: dict[str, Any]) -> None:
    assert list(omop) == ["person", "condition_occurrence"]
    assert omop["person"]["gender_concept_id"] == ix.quasi(ix.suppress(), missing=["0"])
    assert omop["person"]["year_of_birth"] == ix.quasi(ix.intervals(5, 10, 20, 40))
    assert omop["condition_occurrence"]["condition_start_date"].hierarchy.kind == "dates"
    roles = {name: column.role for name, column in omop["condition_occurrence"].items()}
    assert roles == {
        "condition_concept_id": "drop",
        "condition_start_date": "quasi",
        "condition_source_value": "quasi",
    }


def columns_with(tmp_path: Path, **more: Any) -> dict[str, Any]:
    tables = {"person": PEOPLE, "condition_occurrence": EVENTS} | more
    folder = folder_of(tmp_path / "cdm", **tables)
    made = policy_of(folder)
    return {f"{table}.{name}": one for table, part in made.tables.items() for name, one in part.columns.items()}


def test_codes_of_the_source_stand_in_where_no_ancestors_lie(tmp_path: Path) -> None:
    codes = ["E11.9", "E11.65", "I10", "J45.909", "C50.911", "N18.3", "E10.9", "I25.10", "J44.9", "M54.5", "F32.9"]
    rows = len(codes)
    events = {
        "person_id": [1] * rows,
        "condition_concept_id": [0, *range(1, rows)],
        "condition_start_date": ["2020-01-02"] * rows,
        "condition_source_value": codes,
    }
    found = columns_with(tmp_path, condition_occurrence=events)
    assert found["condition_occurrence.condition_source_value"].hierarchy.kind == "icd10_cm"
    assert found["condition_occurrence.condition_concept_id"].role == "drop"


def test_local_codes_climb_by_their_first_characters(tmp_path: Path) -> None:
    events = EVENTS | {"condition_source_value": ["AB12C", "AB13D", "ZZ9"]}
    found = columns_with(tmp_path, condition_occurrence=events)["condition_occurrence.condition_source_value"]
    assert found.hierarchy == ix.prefix(5, keep=[4, 3, 2, 1])


def test_ancestors_make_the_hierarchy_of_concepts(tmp_path: Path) -> None:
    steps = [(10, 10, 0), (11, 11, 0), (5, 10, 1), (5, 11, 1), (1, 5, 1), (1, 10, 2), (1, 11, 2), (7, 99, 1)]
    names = ("ANCESTOR_CONCEPT_ID", "DESCENDANT_CONCEPT_ID", "MIN_LEVELS_OF_SEPARATION")
    vocabulary = {name: [one[place] for one in steps] for place, name in enumerate(names)}
    more = EVENTS | {"person_id": [1, 2, 2, 3], "condition_concept_id": [10, 11, 0, 12]}
    more |= {"condition_start_date": ["2020-01-02"] * 4, "condition_source_value": ["E11.9"] * 4}
    found = columns_with(tmp_path, condition_occurrence=more, CONCEPT_ANCESTOR=vocabulary)
    column = found["condition_occurrence.condition_concept_id"]
    assert column.hierarchy.table(["10", "11", "12"]) == [["10", "5", "*"], ["11", "5", "*"], ["12", "12", "*"]]
    assert column.missing_codes == ("0",)


def test_a_time_stands_in_for_a_date_without_a_cell(tmp_path: Path) -> None:
    born = {"birth_datetime": ["1950-01-01 00:00:00"] * 3, "year_of_birth": pa.array([None] * 3, pa.int64())}
    events = EVENTS | {"condition_start_datetime": ["2020-01-02 10:00:00"] * 3}
    found = columns_with(tmp_path, person=PEOPLE | born, condition_occurrence=events)
    assert found["person.birth_datetime"].hierarchy.kind == "dates"
    assert found["person.year_of_birth"].role == "drop"
    assert found["condition_occurrence.condition_start_datetime"].role == "drop"


def test_people_alone_are_one_table(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "cdm", person=PEOPLE)
    made = policy_of(folder)
    assert (made.knows, dict(made.tables)) == (None, {})
    assert made.columns["person_id"].role == "identifier"
    assert ix.anonymize(folder / "person.csv", ix.Policy(made.columns, [ix.KAnonymity(3)])).facts.released == 3


def test_what_is_unknown_or_empty_is_left_out_and_named(tmp_path: Path) -> None:
    empty = {"person_id": pa.array([], pa.int64()), "death_date": pa.array([], pa.string())}
    note = {"note_id": [1], "person_id": [1]}
    own = EVENTS | {"hospital_code": ["a", "b", "c"]}
    folder = folder_of(tmp_path / "cdm", person=PEOPLE, condition_occurrence=own, death__parquet=empty, note=note)
    made = ready_policy(folder, known_schema("omop"))
    assert list(made.tables) == ["person", "condition_occurrence"]
    assert [reason.split(":")[0] for reason in made.reasons[:2]] == ["note.csv", "death"]
    assert made.policy.tables["condition_occurrence"].columns["hospital_code"].role == "drop"


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ({"death": {"person_id": [1]}}, "no table person"),
        ({"person": {"person_id": pa.array([], pa.int64())}}, "has no row"),
        ({"person": {"id": [1]}}, "'person_id'"),
        ({"person": {"person_id": [1, 1]}}, "1 row repeats"),
        ({"person": PEOPLE, "death": {"person_id": [1, 77, 78]}}, "2 people"),
        ({"person": PEOPLE, "death": {"person_id": [1, None]}}, "nothing in 'person_id'"),
        ({"person": PEOPLE, "death": EVENTS, "DEATH__parquet": EVENTS}, "DEATH.parquet and death.csv"),
        ({"person": PEOPLE, "death": CAUSE, "concept_ancestor": {"a": [1]}}, "'ancestor_concept_id'"),
    ],
)  # fmt: skip
def test_a_folder_that_no_release_can_be_made_of_is_refused(tmp_path: Path, tables: dict[str, Any], says: str) -> None:
    folder = folder_of(tmp_path / "cdm", **tables)
    result = run("init", "--omop", folder, "-o", tmp_path / "policy.toml")
    assert result.exit_code == 2
    assert says in result.stderr
    assert "77" not in result.stderr
    assert not (tmp_path / "policy.toml").exists()


def test_a_folder_that_is_none_and_a_table_beside_are_refused(tmp_path: Path) -> None:
    assert run("init", "--omop", tmp_path / "nowhere").exit_code == 2
    assert run("init", "table.csv", "--omop", tmp_path).exit_code == 2
    assert run("init").exit_code == 2


def test_the_example_is_what_its_script_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    importlib.import_module("made_up_health").write(tmp_path)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.*")}
    assert made == {path: (EXAMPLES / path).read_bytes() for path in made}
    assert len(made) >= 6


@pytest.mark.slow
def test_the_policy_of_the_example_runs_unmended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = answer("init", "--omop", EXAMPLES / "omop", "-o", "omop.toml")
    tables = [f"{name}={path}" for name, path in made["tables"].items()]
    assert list(made["tables"]) == ["person", "visit_occurrence", "condition_occurrence", "drug_exposure", "death"]
    assert (tmp_path / "omop.toml").stat().st_mode & 0o077 == 0
    answer("anonymize", "omop.toml", *tables, "-o", "release")
    originals = [word for one in tables for word in ("--original", one)]
    assert run("verify", "omop.toml", "release", *originals).exit_code == 0
    found = answer("attack", "history", "omop.toml", "release", *tables)
    assert all(one["fewer_in_release"] == 0 for one in found["findings"])
    assert sum(one["fewer_in_original"] for one in found["findings"]) > 0
    people = pyarrow.csv.read_csv(tmp_path / "release" / "person.csv")
    assert set(people.column_names) == {"gender_concept_id", "year_of_birth", "race_concept_id", "pseudonym"}


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25), st.sets(st.integers(0, 9), min_size=1))
def test_a_tree_of_concepts_has_only_true_ancestors_in_the_order_of_their_depth(
    edges: list[tuple[int, int]], concepts: set[int]
) -> None:
    parents: dict[str, set[str]] = {}
    for one, other in edges:
        if one != other:  # a smaller number stands above a larger one: no rings
            parents.setdefault(str(max(one, other)), set()).add(str(min(one, other)))
    steps: dict[tuple[str, str], int] = {}
    for concept in parents:
        reached, distance = {concept}, 0
        while reached:
            reached = {above for one in reached for above in parents.get(one, ())}
            distance += 1
            for above in reached:
                steps.setdefault((above, concept), distance)
    made = concept_tree([(*pair, distance) for pair, distance in steps.items()], sorted(map(str, concepts)))
    if made is None:
        return
    for value, *labels, top in made.table(sorted(map(str, concepts))):
        assert top == "*"
        below = value
        for label in labels:
            assert label == below or (label, below) in steps
            below = label


@examples(40)
@given(st.lists(st.tuples(*[st.sampled_from("abcd")] * 2, st.integers(0, 3)), max_size=8))
def test_a_broken_table_of_ancestors_makes_a_hierarchy_or_none(rows: list[tuple[str, str, int]]) -> None:
    made = concept_tree(rows, list("abcd"))
    assert made is None or len(made.table(list("abcd"))) == 4
