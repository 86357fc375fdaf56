"""Applying a recoding again: what the file holds, what new rows get, and when they are refused."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from itertools import product

import duckdb
import jsonschema
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from indistinct.cli import app
from indistinct.pipeline.applying import each_once, mapping_of, saved_recoding_of
from indistinct.recoding.saved import SavedRecoding, recoding_schema

QUASI = {
    "age": ix.quasi(ix.intervals(10, 40)),
    "sex": ix.quasi(ix.suppress()),
    "town": ix.quasi(ix.levels([["a", "north"], ["b", "north"], ["c", "south"], ["d", "south"]], top="*")),
}
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["18", "21", "25", "33", "47", "62", None]),
        st.sampled_from(["F", "M"]),
        st.sampled_from("abcd"),
        st.sampled_from(["flu", "cough", "gout"]),
    ),
    min_size=12,
    max_size=40,
)
WAYS = [
    ("mondrian", {"labels": "ranges"}),
    ("regroup", {}),
    ("regroup", {"labels": "ranges"}),
    ("lattice", {}),
]


def table(rows):
    return pa.table({name: [row[at] for row in rows] for at, name in enumerate(["age", "sex", "town", "ill"])})


def policy(way=WAYS[0], models=(), k=2, **more):
    name, options = way
    columns = {**QUASI, "ill": ix.sensitive()}
    return ix.Policy(columns, [ix.KAnonymity(k), *models], algorithm=name, options=options, max_suppression=0.9, **more)


def means(label, value):
    """Say whether a label of these hierarchies is true of a value, by reading it as a person does."""
    if label == value or label == "*":
        return True
    if value is None or label is None:
        return label is not None and label.endswith(" or missing")
    label = label.removesuffix(" or missing")
    if label in ("north", "south"):
        return value in {"north": "ab", "south": "cd"}[label]
    if label[0] == "{":
        return value in label[1:-1].split(", ")
    ends = label[1:-1].split(", ") if label[0] == "[" else label.split("-")
    return value.isdigit() and int(ends[0]) <= int(value) <= int(ends[-1])


def matched(released, original):
    """Say whether each released row has an original row of its own that it is true of: a matching by paths."""
    owner: dict[int, int] = {}

    def find(one, seen):
        for other, row in enumerate(original):
            fits = released[one][3] == row[3] and all(map(means, released[one][:3], row[:3]))
            if fits and other not in seen:
                seen.add(other)
                if other not in owner or find(owner[other], seen):
                    owner[other] = one
                    return True
        return False

    return all(find(one, set()) for one in range(len(released)))


def groups_of(rows):
    return Counter(row[:3] for row in rows)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(before=ROWS, after=ROWS, way=st.sampled_from(WAYS), diverse=st.booleans())
def test_new_rows_are_true_and_safe_alone_and_together(before, after, way, diverse):
    asked = policy(way, [ix.LDiversity(2)] if diverse else [])
    try:
        first = ix.anonymize(table(before), asked)
    except ix.InfeasibleError:
        return
    with first:
        old = list(zip(*first.table.to_pydict().values(), strict=True))
        saved = first.recoding.as_saved()
        shown = {(name, label) for name, column in first.table.to_pydict().items() for label in column}
        for name, labels in (saved.labels or {}).items():
            assert {(name, label) for label in labels} <= shown
        if saved.groups is not None:
            assert set(saved.group_labels()) == set(groups_of(old))
        try:
            second = ix.apply(table(after), asked, first)
        except ix.InfeasibleError:
            return
    with second:
        new = list(zip(*second.table.to_pydict().values(), strict=True))
        assert matched(new, after)
        for rows in (new, old + new):
            assert min(groups_of(rows).values()) >= 2
            if diverse:
                pairs = {(row[:3], row[3]) for row in rows}
                assert min(Counter(group for group, _ in pairs).values()) >= 2
        counted = ix.AppliedRows.of(saved, second.recoding)
        assert counted.left_out == len(after) - len(new)
        known = set(groups_of(old))
        if saved.groups is not None:
            assert counted.as_before == sum(row[:3] in known for row in new)
        assert counted.as_before + counted.wider == len(new)
        assert second.verify(original=table(after)).passed


@pytest.mark.slow
def test_a_table_under_its_own_recoding_keeps_every_label():
    rows = [*product(["18", "21"], ["F", "M"], "ab", ["flu", "gout"])] * 2
    with ix.anonymize(table(rows), policy(k=4)) as first, ix.apply(table(rows), policy(k=4), first) as again:
        assert groups_of(zip(*again.table.to_pydict().values(), strict=True)) == groups_of(
            zip(*first.table.to_pydict().values(), strict=True)
        )
        assert ix.AppliedRows.of(first.recoding.as_saved(), again.recoding) == ix.AppliedRows(len(rows), 0, 0)


def test_releases_that_fail_together_are_refused():
    """Each month alone is close to its own illnesses, and not to those of both months."""
    asked = policy(("mondrian", {}), [ix.TCloseness(0.2)])
    before = [("18", "F", "a", "flu")] * 4 + [("47", "M", "c", "flu")] * 4
    after = [("18", "F", "a", "gout")] * 4
    with ix.anonymize(table(before), asked) as first, pytest.raises(ix.RefusedError):
        ix.apply(table(after), asked, first)


def test_the_release_that_a_ledger_enters_is_the_one_that_was_looked_at(tmp_path):
    rows = [("18", "F", "a", "flu")] * 4
    looked_at = []

    def refuse(release):
        looked_at.append(release)
        raise ix.RefusedError("no")

    with ix.Ledger.create(tmp_path / "ledger.db") as ledger:
        with ledger.anonymize(table(rows), policy(), recipient="x", refuse=looked_at.append) as release:
            assert looked_at == [release]
        with pytest.raises(ix.RefusedError):
            ledger.anonymize(table(rows), policy(), recipient="y", refuse=refuse, folder=tmp_path / "y")
        assert [entry.recipient for entry in ledger.entries] == ["x"]
    assert not (tmp_path / "y").exists()


def test_a_file_holds_what_the_release_shows_and_is_read_again(tmp_path):
    rows = [*product(["18", "21", "62"], ["F", "M"], "abcd", ["flu", "gout"])]
    asked = policy(("mondrian", {"labels": "ranges"}), k=6)
    with ix.anonymize(table(rows), asked) as release:
        release.recoding.save(tmp_path / "recoding.json")
        release.write(tmp_path / "release")
    content = json.loads((tmp_path / "recoding.json").read_text())
    jsonschema.validate(content, recoding_schema())
    assert ix.SavedRecoding.read(tmp_path / "recoding.json") == saved_recoding_of(tmp_path / "release", asked)
    assert content.keys() == {"version", "hierarchies", "labels", "groups"}


@pytest.mark.parametrize(
    "change",
    [
        {"groups": [[0, 0]]},
        {"groups": [[0, 0, 99]]},
        {"labels": None},
        {"levels": {"age": 1, "sex": 0, "town": 0}},
        {"version": 2},
        {"rows": [1]},
    ],
)
def test_a_file_that_is_no_recoding_is_refused(tmp_path, change):
    with ix.anonymize(table([("18", "F", "a", "flu")] * 4), policy()) as release:
        content = json.loads(release.recoding.as_saved().text)
    (tmp_path / "changed.json").write_text(json.dumps(content | change))
    with pytest.raises(ix.TableError):
        ix.SavedRecoding.read(tmp_path / "changed.json")


def test_other_columns_and_hierarchies_are_refused():
    rows = [("18", "F", "a", "flu")] * 4
    with ix.anonymize(table(rows), policy()) as release:
        saved = release.recoding.as_saved()
    other = ix.Policy({**QUASI, "age": ix.quasi(ix.intervals(5, 40)), "ill": ix.sensitive()}, [ix.KAnonymity(2)])
    with pytest.raises(ix.PolicyError) as told:
        ix.apply(table(rows), other, saved)
    assert len(told.value.mistakes) == 1
    columns = {"age": QUASI["age"], "sex": ix.drop(), "town": ix.drop(), "ill": ix.sensitive()}
    fewer = ix.Policy(columns, [ix.KAnonymity(2)])
    with pytest.raises(ix.PolicyError):
        ix.apply(table(rows), fewer, saved)


@pytest.mark.parametrize("way", WAYS)
def test_a_mapping_gives_every_row_labels_that_are_true(way):
    """SQL and CSV, run by DuckDB on rows that the recoding was not made with."""
    before = [*product(["18", "21", "33", "62"], ["F", "M"], "abcd", ["flu"])]
    after = [*product(["18", "25", "47", None], ["F", "M"], "abd", ["gout"])]
    asked = policy(way, k=5)
    with ix.anonymize(table(before), asked) as release:
        mapping = mapping_of(release.recoding.as_saved(), asked, table(after))
        groups = set(release.recoding.as_saved().group_labels())
    given = table(after)
    found = duckdb.connect().register("table", given).sql(mapping.sql("table")).fetchall()
    assert all(all(map(means, row[-3:], row[:3])) for row in found)
    if groups:
        assert {row[-3:] for row in found} <= groups
        fits = [row for row in after if any(all(map(means, group, row[:3])) for group in groups)]
        assert len(found) == len(fits)
    else:
        assert len(found) == len(after)
    assert len(mapping.csv().splitlines()) == 1 + (len(groups) or sum(map(_cells, mapping.covered.values())))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("system", ["duckdb", "sqlite"])
def test_a_mapping_gives_the_labels_that_apply_gives(way, system):
    """Row by row, where no model closes a group; a text says which row it is."""
    before = [*product(["18", "21", "33", "62"], ["F", "M"], "abcd", ["flu"])]
    cells = product(["18", "25", "47", "61", None], ["F", "M"], "abd")
    after = [(*row, f"o'row {number}") for number, row in enumerate(cells)]
    weights = {"age": 0.2, "sex": 1.0, "town": 9.0}
    columns = {name: replace(column, weight=weights[name]) for name, column in QUASI.items()}
    asked, unasked = (replace(policy(way, k=k), columns=columns | {"ill": ix.sensitive()}) for k in (5, 1))
    with ix.anonymize(table(before), asked) as release:
        saved = release.recoding.as_saved()
    sql = mapping_of(saved, asked, table(after)).sql("rows")
    if system == "duckdb":
        given = table(after)
        found = duckdb.connect().register("rows", given).sql(sql).fetchall()
    else:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE TABLE rows (age INTEGER, sex TEXT, town TEXT, ill TEXT)")
            connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", after)
            found = connection.execute(sql).fetchall()
    with ix.apply(table(after), unasked, saved) as applied:
        expected = {row["ill"]: (row["age"], row["sex"], row["town"]) for row in applied.table.to_pylist()}
    mapped = {row[3]: row[-3:] for row in found}
    assert len(mapped) >= len(after) / 3
    assert mapped == {ill: expected[ill] for ill in mapped}
    groups = set(saved.group_labels()) if saved.levels is None else set()
    assert not {labels for ill, labels in expected.items() if ill not in mapped} & groups


@pytest.mark.parametrize(("weight", "town"), [(9.0, "a"), (0.1, "north")])
def test_mapping_and_apply_prefer_the_group_that_loses_least_by_the_weights_of_columns(weight, town):
    """One row fits two groups: one says more of the age, the other of the town."""
    columns = {**QUASI, "town": replace(QUASI["town"], weight=weight), "ill": ix.sensitive()}
    asked = replace(policy(("regroup", {}), k=1), columns=columns)
    digests = {name: column.hierarchy.digest() for name, column in QUASI.items()}
    texts = [["10-19", "*"], ["F"], ["a", "north"]]
    saved = SavedRecoding.of_groups(digests, texts, [[0, 1], [0, 0], [1, 0]])
    after = table([("18", "F", "a", "flu"), ("62", "M", "d", "flu"), ("33", "M", "c", "flu")])
    connection = duckdb.connect()
    connection.register("rows", after)
    ((*_, mapped),) = connection.sql(mapping_of(saved, asked, after).sql("rows")).fetchall()
    with ix.apply(after, asked, saved) as applied:
        (found,) = (row["town"] for row in applied.table.to_pylist() if row["sex"] == "F")
    assert mapped == found == town


def test_a_release_that_is_named_twice_is_counted_once(tmp_path):
    rows = [*product(["18", "21"], ["F", "M"], "ab", ["flu", "gout"])]
    with ix.anonymize(table(rows), policy(k=4)) as release:
        release.write(tmp_path / "may")
        named = [tmp_path / "may", str(tmp_path / "x" / ".." / "may"), release, release]
        assert each_once(named) == [tmp_path / "may", release]


def _cells(labels):
    return sum(len(own.values) + own.has_missing for own in labels.values())


@pytest.mark.slow
def test_the_commands_apply_and_map(tmp_path):
    rows = [*product(["18", "21", "33", "62"], ["F", "M"], "abcd", ["flu", "gout"])]
    header = "age,sex,town,ill\n"
    for month in ("may", "june"):
        (tmp_path / f"{month}.csv").write_text(header + "".join(",".join(row) + "\n" for row in rows))
    (tmp_path / "policy.toml").write_text(ix.policy_toml(policy(("mondrian", {}), k=4)))

    def run(*words):
        return CliRunner().invoke(app, [str(tmp_path / word) if "." in word or "/" in word else word for word in words])

    assert run("anonymize", "policy.toml", "may.csv", "-o", "out/may").exit_code == 0
    done = run("apply", "policy.toml", "out/may", "june.csv", "-o", "out/june", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["applied"] == {
        "as_before": 64,
        "wider": 0,
        "left_out": 0,
        "as_before_share": 1.0,
        "wider_share": 0.0,
        "left_out_share": 0.0,
    }
    for file in ("r.json", "r.sql", "r.csv"):
        assert run("recoding", "policy.toml", "out/may", "-o", file, "--values", "june.csv").exit_code == 0
    assert run("apply", "policy.toml", "r.json", "june.csv", "-o", "out/again").exit_code == 0
    assert run("apply", "policy.toml", "r.csv", "june.csv", "-o", "out/more").exit_code == 2
    assert not (tmp_path / "out/more").exists()


def test_a_release_that_fails_together_is_not_entered_in_a_ledger(tmp_path):
    (tmp_path / "policy.toml").write_text(ix.policy_toml(policy(("mondrian", {}), [ix.TCloseness(0.2)])))
    before = [("18", "F", "a", "flu")] * 4 + [("47", "M", "c", "flu")] * 4
    asked = ix.read_policy(tmp_path / "policy.toml")
    ix.anonymize(table(before), asked).write(tmp_path / "may")
    (tmp_path / "june.csv").write_text("age,sex,town,ill\n" + "18,F,a,gout\n" * 4)
    ix.Ledger.create(tmp_path / "ledger.db").close()
    words = ["apply", "policy.toml", "may", "june.csv", "-o", "june", "--ledger", "ledger.db", "--recipient", "x"]
    named = [str(tmp_path / word) if (tmp_path / word).exists() or word == "june" else word for word in words]
    assert CliRunner().invoke(app, named).exit_code == 5
    assert not (tmp_path / "june").exists()
    with ix.Ledger(tmp_path / "ledger.db") as ledger:
        assert ledger.entries == []
