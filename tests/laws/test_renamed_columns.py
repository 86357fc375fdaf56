"""Columns that have another name in the release: only the header is another, and whoever opens it knows the column."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers.profiles import examples
from indistinct.cli import app
from indistinct.engine import open_table
from indistinct.engine.duckdb.table_files import Origin, write_file
from indistinct.engine.formats import FORMATS, format_to_write, load_format
from indistinct.errors import PolicyError
from indistinct.policy.released_names import named_as_in_policy
from indistinct.policy.stated_policy import policy_digest

TABLE = pa.table(
    {
        "name": ["Ann", "Bob", "Cid", "Dan"],
        "birth_date": ["1961-03-02", "1961-09-15", "1964-04-13", "1964-01-08"],
        "sex": ["f", "f", "m", "m"],
        "ill": ["flu", "gout", "flu", "burn"],
        "cost": [10, 20, 30, 40],
    }
)
NAMES = {"birth_date": "birth_year", "ill": "diagnosis", "cost": "euros"}
BIRTH = ix.dates("month", "year")
DIGEST = "4ce0d20e337c4ce7f2d40441757eb3798bc8c2e6375f70521ed7fa11923b245a"
"""Of the policy without new names: ledgers keep it, so it stays as it is."""


def policy(names: Mapping[str, str] = NAMES, **more: Any) -> ix.Policy:
    """Return a policy of the table in which some columns have new names."""
    columns = {
        "name": ix.identifier(),
        "birth_date": ix.quasi(BIRTH, rename=names.get("birth_date")),
        "sex": ix.quasi(ix.suppress(), rename=names.get("sex")),
        "ill": ix.sensitive(rename=names.get("ill")),
        "cost": ix.other(rename=names.get("cost")),
    }
    return ix.Policy(**{"columns": columns, "privacy": [ix.KAnonymity(2)], **more})


def header(table: pa.Table) -> list[str]:
    return list(table.column_names)


# What can be checked by hand.


def test_a_release_has_the_new_names_and_its_manifest_says_of_what(tmp_path: Path) -> None:
    with ix.anonymize(TABLE, policy()) as release:
        assert header(release.table) == ["birth_year", "sex", "diagnosis", "euros"]
        assert sorted(release.table["birth_year"].to_pylist()) == ["1961", "1961", "1964", "1964"]
        assert header(release.head(1)["table"]) == header(release.table)
        assert release.table.schema.field("euros").type == pa.int64()
        assert release.verify(TABLE).passed
        release.write(tmp_path / "out")
    said = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert {name: column.get("rename") for name, column in said["policy"]["columns"].items()} == {
        "name": None,
        "sex": None,
        **NAMES,
    }
    assert said["node"] == {"birth_date": 2, "sex": 0}  # by the names of the policy
    assert ix.verify(tmp_path / "out", policy(), original=TABLE).passed
    as_recipient = ix.verify(tmp_path / "out")
    assert as_recipient.passed, as_recipient
    assert ix.verify(tmp_path / "out", policy(), canonical=True).passed
    assert not ix.verify(tmp_path / "out", policy({})).passed  # the names are part of what was asked for


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ({"birth_year": "year"}, "'year' is not in the policy; 'birth_year', which is 'birth_date' of the policy, is "),
        ({"birth_year": "birth_date"}, "'birth_date' should be called 'birth_year'"),
        ({"birth_year": "name"}, "identifier 'name' is left in"),
    ],
)
def test_a_wrong_header_fails(names: Mapping[str, str], told: str) -> None:
    with ix.anonymize(TABLE, policy()) as release:
        wrong = release.table.rename_columns([names.get(name, name) for name in header(release.table)])
    verdict = ix.verify(wrong, policy())
    assert not verdict.passed
    assert told in str(verdict)


def test_a_column_beside_the_renamed_one_fails() -> None:
    """Somebody who puts the exact dates under their own name beside the years is found out."""
    with ix.anonymize(TABLE, policy()) as release:
        both = release.table.append_column("Birth_Date", TABLE["birth_date"])
    found = str(ix.verify(both, policy()))
    assert "FAILED" in found
    assert "'Birth_Date (not renamed)' is not in the policy" in found


def test_a_swapped_header_fails_against_the_original() -> None:
    given = {"ill": "a", "cost": "b"}
    with ix.anonymize(TABLE, policy(given)) as release:
        order = {"a": "b", "b": "a"}
        swapped = release.table.rename_columns([order.get(name, name) for name in header(release.table)])
    assert ix.verify(swapped, policy(given)).passed  # the cells alone do not tell
    assert not ix.verify(swapped, policy(given), original=TABLE).passed


def test_a_manifest_that_says_other_names_fails(tmp_path: Path) -> None:
    with ix.anonymize(TABLE, policy()) as release:
        release.write(tmp_path / "out")
    place = tmp_path / "out" / "manifest.json"
    said = json.loads(place.read_text())
    columns = said["policy"]["columns"]
    columns["ill"]["rename"], columns["cost"]["rename"] = "euros", "diagnosis"
    place.write_text(json.dumps(said))
    verdict = ix.verify(tmp_path / "out", policy(), original=TABLE)
    assert [check.name for check in verdict.checks if not check.passed] == ["manifest"]


def test_the_name_of_a_column_that_is_left_out_may_be_used() -> None:
    table = TABLE.append_column("year", pa.array(["61", "61", "64", "64"]))
    columns = {**policy({}).columns, "birth_date": ix.drop(), "year": ix.quasi(ix.suppress(), rename="birth_date")}
    with ix.anonymize(table, ix.Policy(columns, [ix.KAnonymity(2)])) as release:
        assert sorted(release.table["birth_date"].to_pylist()) == ["61", "61", "64", "64"]
        assert release.verify(table).passed
        assert ix.verify(release.table, release.policy, original=table).passed
        report = ix.attacks.unsorted(release.table, table, release.policy)  # the original has its own names
        assert report.rows == 4


# Every kind of table, and every form of release.


def kinds(folder: Path) -> dict[str, Any]:
    """Return the table as frames of every kind, and as a file of every format."""
    import duckdb

    found: dict[str, Any] = {
        "arrow": TABLE,
        "pandas": TABLE.to_pandas().astype({"sex": "category", "cost": "int32"}),
        "polars": pl.from_arrow(TABLE),
        "lazy": pl.from_arrow(TABLE).lazy(),  # type: ignore[union-attr]
        "relation": duckdb.from_arrow(TABLE),
    }
    with open_table(TABLE) as rows:
        for kind in FORMATS:
            if load_format(kind).written_as is None:
                found[kind] = write_file(rows.source, folder, "people", Origin(kind))  # type: ignore[attr-defined]
    return found


@pytest.mark.slow
def test_every_kind_of_table_leaves_with_the_new_names(tmp_path: Path) -> None:
    expected = ["birth_year", "sex", "diagnosis", "euros"]
    for kind, table in kinds(tmp_path).items():
        with ix.anonymize(table, policy()) as release:
            columns = release.table.collect_schema().names() if kind == "lazy" else list(release.table.columns)
            names = header(release.table) if isinstance(release.table, pa.Table) else columns
            assert names == expected, kind
            if kind == "pandas":
                assert release.table.dtypes["euros"] == "int32"
            release.write(tmp_path / kind)
            (file,) = [place for place in (tmp_path / kind).iterdir() if place.name != "manifest.json"]
            assert file.suffix == format_to_write(kind if kind in FORMATS else "arrow").suffixes[0]
        with open_table(file) as rows:
            assert list(rows.columns()) == expected, kind
        assert ix.verify(tmp_path / kind, policy(), original=table).passed, kind


def test_pandas_keeps_categories_under_a_new_name() -> None:
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "kind": pd.Categorical(["a", "b", "a", "b"])})
    columns = {"age": ix.quasi(ix.suppress()), "kind": ix.other(rename="sort")}
    with ix.anonymize(frame, ix.Policy(columns, [ix.KAnonymity(2)])) as release:
        assert release.table["sort"].dtype == "category"


@pytest.mark.parametrize("algorithm", ["lossy-join", "anatomy"])
def test_both_of_two_tables_have_the_new_names(algorithm: str, tmp_path: Path) -> None:
    own = policy(privacy=[ix.LDiversity(2)], algorithm=algorithm)
    with ix.anonymize(TABLE, own) as release:
        assert header(release.tables["quasi"]) == ["class_id", "birth_year", "sex", "euros"]
        assert header(release.tables["sensitive"]) == ["class_id", "diagnosis"]
        release.write(tmp_path / "out")
    said = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert said["tables"]["sensitive"]["columns"] == ["class_id", "diagnosis"]
    assert ix.verify(tmp_path / "out", own, original=TABLE).passed
    assert ix.verify(tmp_path / "out").passed
    asked = ix.queries(TABLE, own, number=5)
    assert len(asked.errors(tmp_path / "out").actual) == 5


def test_linked_tables_have_names_of_their_own(tmp_path: Path) -> None:
    """Two tables may call different columns by one name; each is found under the table's own."""
    given = {
        "patients": pa.table({"patient": list("abcd"), "age": ["30", "31", "52", "53"]}),
        "visits": pa.table({"patient": list("abcd"), "ward": ["eye", "ear", "eye", "ear"]}),
    }
    own = ix.Policy(
        tables={
            "patients": ix.LinkedTable({"age": ix.quasi(ix.intervals(10), rename="group")}, key="patient"),
            "visits": ix.LinkedTable(
                {"ward": ix.quasi(ix.suppress(), rename="group")}, references={"patient": "patients"}
            ),
        },
        privacy=[ix.KAnonymity(2)],
        person="patient",
    )
    with ix.anonymize(given, own) as release:
        assert "group" in header(release.tables["patients"])
        assert "group" in header(release.tables["visits"])
        release.write(tmp_path / "out")
    said = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "group" in said["tables"]["visits"]["columns"]
    assert ix.verify(tmp_path / "out", own, original=given).passed
    assert "rename" in ix.policy_toml(own)


def test_perturbed_columns_and_pseudonyms_keep_their_meaning(tmp_path: Path) -> None:
    columns = {
        "name": ix.identifier(),
        "birth_date": ix.quasi(BIRTH, rename="year"),
        "sex": ix.other(rename="gender"),
        "ill": ix.sensitive(rename="diagnosis"),
        "cost": ix.other(perturb=ix.Microaggregation(2), rename="about"),
    }
    own = ix.Policy(columns, [ix.KAnonymity(2)], person={"column": "name", "release": "pseudonym"})
    with ix.anonymize(TABLE, own) as release:
        assert header(release.table) == ["year", "gender", "diagnosis", "about", "pseudonym"]
        release.write(tmp_path / "out")
    assert ix.verify(tmp_path / "out", own, original=TABLE).passed
    assert ix.verify(tmp_path / "out").passed


# The law: a release with new names is the one without, under another header.


@st.composite
def cases(draw: Any) -> tuple[pa.Table, dict[str, str], str]:
    """Draw a table of two quasi columns, a sensitive one and another, new names for some, and an algorithm."""
    rows = draw(st.integers(6, 12))
    cells = {name: draw(st.lists(st.sampled_from("abc"), min_size=rows, max_size=rows)) for name in ("p", "q", "s")}
    cells["o"] = draw(st.lists(st.sampled_from(["1", "2", None]), min_size=rows, max_size=rows))
    new = draw(
        st.lists(st.text("xyzXé .-\"'", min_size=1).map(str.strip).filter(bool), unique_by=str.lower, max_size=4)
    )
    algorithm = draw(st.sampled_from(["lattice", "datafly", "regroup", "mondrian", "lossy-join"]))
    return pa.table(cells), dict(zip(draw(st.permutations("pqso")), new, strict=False)), algorithm


@pytest.mark.slow
@given(cases())
@examples(24, opens_tables=True)
def test_only_the_header_is_another(case: tuple[pa.Table, dict[str, str], str]) -> None:
    table, names, algorithm = case
    hierarchy = ix.tree({"*": ["a", "b", "c"]})
    columns = {"p": ix.quasi(hierarchy), "q": ix.quasi(hierarchy), "s": ix.sensitive(), "o": ix.other()}
    plain = ix.Policy(columns, [ix.AlphaK(0.9, 2)], max_suppression=0.9, algorithm=algorithm)
    new = replace(plain, columns={name: replace(column, rename=names.get(name)) for name, column in columns.items()})
    try:
        before = ix.anonymize(table, plain, seed="s")
    except ix.InfeasibleError:
        with pytest.raises(ix.InfeasibleError):
            ix.anonymize(table, new, seed="s")
        return
    with before, ix.anonymize(table, new, seed="s") as after:
        for name, own in before.tables.items():
            assert after.tables[name] == own.rename_columns([names.get(one, one) for one in own.column_names])
        assert after.verify(table).to_dict() == before.verify(table).to_dict()
        assert ix.verify(after.tables if len(after.tables) > 1 else after.table, new, original=table).passed
        unlike = {"tables": {}, "policy_sha256": ""}
        assert after.facts.model_copy(update=unlike) == before.facts.model_copy(update=unlike)


@given(st.lists(st.sampled_from(["a", "b", "c", "A", "x", "y"]), unique_by=str.lower), st.booleans())
def test_names_of_the_policy_are_found_and_never_doubled(names: list[str], is_release: bool) -> None:
    renamed = {"a": "x", "b": "y"}
    found = named_as_in_policy(names, renamed, is_release=is_release)
    assert list(found) == names
    assert len({own.lower() for own in found.values()}) == len(names)
    for name, own in found.items():
        if is_release:
            assert (own == "a") is (name == "x")
            assert (own == "b") is (name == "y")
        elif name in renamed:
            assert own == name


# Whoever opens a release finds what would be found without new names.

ROWS = 60
DRAWN = np.random.default_rng(5)
PEOPLE = pa.table(
    {
        "name": [f"P{number}" for number in range(ROWS)],
        "birth_date": [f"19{40 + year}-0{month}-11" for year, month in DRAWN.integers((0, 1), (12, 9), (ROWS, 2))],
        "sex": [("f", "m")[sex] for sex in DRAWN.integers(0, 2, ROWS)],
        "ill": [("flu", "gout", "burn")[ill] for ill in DRAWN.integers(0, 3, ROWS)],
        "cost": [int(cost) for cost in DRAWN.integers(0, 9, ROWS)],
    }
)


def releases(folder: Path, **more: Any) -> tuple[Path, Path]:
    """Write the release of the people with new names and without, from one seed."""
    for name, names in (("new", NAMES), ("plain", {})):
        with ix.anonymize(PEOPLE, policy(names, max_suppression=0.2, **more), seed=1) as release:
            release.write(folder / name / "release")
    return folder / "new" / "release", folder / "plain" / "release"


def both(folder: Path, find: Any, **more: Any) -> tuple[Any, Any]:
    """Return what is found in both releases, with the policy of each."""
    new, plain = releases(folder, **more)
    return find(new, policy(max_suppression=0.2)), find(plain, policy({}, max_suppression=0.2))


@pytest.mark.slow
def test_attacks_find_the_same(tmp_path: Path) -> None:
    def find(folder: Path, own: ix.Policy) -> Any:
        earlier = folder.parent / "earlier"
        with ix.anonymize(PEOPLE.slice(0, 50), replace(own, algorithm="datafly"), seed=2) as release:
            release.write(earlier)
        found = ix.attacks.run(folder, own, external=PEOPLE, earlier={"before": earlier}, original=PEOPLE).to_dict()
        linked = ix.attacks.link(folder, PEOPLE, own, on=["birth_date", "sex"], show=["name"]).to_dict()
        mapped = ix.attacks.maps(folder, PEOPLE, own).to_dict()
        return found, linked, mapped

    new, plain = both(tmp_path, find)
    assert new == plain
    assert set(new[0].get("not_run", ())) <= {
        "refinement",
        "minimality",
        "definetti",
        "history",
    }  # they have nothing to go by


@pytest.mark.slow
def test_a_link_may_name_columns_as_in_the_release(tmp_path: Path) -> None:
    new, _ = releases(tmp_path)
    voters = PEOPLE.rename_columns([{"birth_date": "birth_year"}.get(name, name) for name in PEOPLE.column_names])
    own = policy(max_suppression=0.2)
    expected = ix.attacks.link(new, PEOPLE, own).to_dict()
    for on in (None, ["birth_year", "sex"], {"birth_date": "birth_year", "sex": "sex"}):
        found = ix.attacks.link(new, voters, own, on=on).to_dict()
        different = {key for key in found if found[key] != expected[key]}
        assert different <= {"columns", "on"}, different


@pytest.mark.slow
def test_reports_workloads_and_risk_are_the_same(tmp_path: Path) -> None:
    from indistinct.report import report_facts

    def find(folder: Path, own: ix.Policy) -> Any:
        facts = report_facts(folder, own, original=PEOPLE)
        asked = ix.queries(PEOPLE, own, number=20)
        counted = asked.errors(folder).to_dict()
        table = next(place for place in folder.iterdir() if place.name != "manifest.json")
        return facts, str(counted), str(ix.risk(table, policy=own))

    new, plain = both(tmp_path, find)
    assert new[1:] == plain[1:]
    columns = [{key: value for key, value in column.items() if key != "rename"} for column in new[0]["columns"]]
    assert columns == plain[0]["columns"]
    assert new[0]["risk"] == plain[0]["risk"]


def test_releases_of_a_ledger_follow_each_other(tmp_path: Path) -> None:
    """A later release is based on an earlier one of other names; one made without the ledger is entered."""
    people = pa.table({"id": ["1", "2", "3", "4"], "age": ["30", "31", "50", "51"], "ill": list("abcd")})

    def own(new: str | None) -> ix.Policy:
        return ix.Policy(
            {"id": ix.identifier(), "age": ix.quasi(ix.intervals(10), rename=new), "ill": ix.sensitive()},
            [ix.KAnonymity(2)],
        )

    with ix.Ledger.create(tmp_path / "ledger") as ledger:
        terms: dict[str, Any] = {"source": "people", "recipient": "r", "key": ["id"]}
        with ledger.anonymize(people, own("years"), **terms) as release:
            assert header(release.table) == ["years", "ill"]
            first = sorted(release.table["years"].to_pylist())
            release.write(tmp_path / "one")
        with ledger.anonymize(people, own("age_group"), **terms, again="based") as release:
            assert sorted(release.table["age_group"].to_pylist()) == first
        with ix.anonymize(people, own("a")) as release:
            release.write(tmp_path / "two")
        assert ledger.add(tmp_path / "two", own("a"), original=people, **terms)


# What is refused.


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ({"ill": "cost"}, "columns.ill.rename: 'cost' is the name of another column, 'cost', which is released as"),
        ({"ill": "COST"}, "columns.ill.rename: 'COST' is the name of another column, 'cost'"),
        ({"ill": "Name"}, "columns.ill.rename: 'Name' is the name of another column, 'name', which is an identifier"),
        ({"ill": "x", "cost": "X"}, "columns.cost.rename: 'ill' has this name in the release already"),
        ({"ill": "cost", "cost": "ill"}, "columns.ill.rename: 'cost' is the name of another column"),
        ({"ill": "ill"}, "columns.ill.rename: the column is called 'ill' already"),
    ],
)
def test_names_that_could_be_taken_for_another_column_are_refused(names: Mapping[str, str], told: str) -> None:
    with pytest.raises(PolicyError) as error:
        policy(names)
    assert told in str(error.value)


@pytest.mark.parametrize("name", ["", " ", " a", "a\n", "class_id", "Class_ID", "pseudonym", ".key", ".person", 7])
def test_names_that_no_release_can_have_are_refused(name: Any) -> None:
    with pytest.raises(PolicyError, match="rename: "):
        ix.other(rename=name)


@pytest.mark.parametrize("role", ["identifier", "drop"])
def test_a_column_that_is_not_released_has_no_new_name(role: str) -> None:
    text = f'version = 1\n[columns]\na = {{ role = "{role}", rename = "b" }}\nq = {{ role = "quasi" }}\n'
    with pytest.raises(PolicyError, match=f"columns.a: rename: only a released column .* its role is {role}"):
        ix.parse_policy(text + '[[privacy]]\nmodel = "k-anonymity"\nk = 2\n')


def test_the_column_that_says_whose_row_it_is_keeps_its_name_to_itself() -> None:
    columns = {"a": ix.quasi(rename="Person")}
    with pytest.raises(PolicyError, match="'Person' is the name of the column that says whose row it is"):
        ix.Policy(columns, [ix.KAnonymity(2)], person="person")


# Files and commands.


def test_a_policy_file_keeps_new_names_and_others_keep_their_digest() -> None:
    text = ix.policy_toml(policy())
    assert text.count("rename") == len(NAMES)
    assert ix.parse_policy(text).renamed == NAMES
    assert policy_digest(ix.parse_policy(text)) == policy_digest(policy())
    assert policy_digest(policy()) != policy_digest(policy({}))
    assert policy_digest(policy(), with_names=False) == policy_digest(policy({}))
    assert "rename" not in ix.policy_toml(policy({}))
    assert policy_digest(policy({})) == DIGEST


def test_the_commands_speak_of_new_names(tmp_path: Path) -> None:
    place, file = tmp_path / "policy.toml", tmp_path / "people.csv"
    place.write_text(ix.policy_toml(policy()))
    pyarrow.csv.write_csv(TABLE, file)
    run = CliRunner()
    checked = run.invoke(app, ["check", str(place), str(file)])
    assert checked.exit_code == 0, checked.output
    assert "birth_date as birth_year" in " ".join(checked.output.split())
    made = run.invoke(app, ["anonymize", str(place), str(file), "-o", str(tmp_path / "out")])
    assert made.exit_code == 0, made.output
    verified = run.invoke(app, ["verify", str(place), str(tmp_path / "out"), "--original", str(file)])
    assert verified.exit_code == 0, verified.output
    assert run.invoke(app, ["verify", str(tmp_path / "out")]).exit_code == 0
