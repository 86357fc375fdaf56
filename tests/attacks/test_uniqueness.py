"""``attack uniqueness``: who stands alone by all released cells, and by the worst column that leaves unprotected."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers.profiles import scaled  # noqa: F401  # loads the profile
from indistinct.cli.commands import app
from indistinct.policy import PSEUDONYM
from indistinct.policy.files.policy_file import parse_policy, policy_toml

COLUMNS = {"sex": ix.quasi(ix.suppress()), "weight": ix.other(), "ill": ix.sensitive()}
POLICY = ix.Policy(COLUMNS, [ix.KAnonymity(2)])


def table_of(rows: list[tuple[str, str, str]]) -> pa.Table:
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)})


def alone(keys: list[object]) -> int:
    """Count those that occur once: the plain oracle."""
    return sum(number == 1 for number in Counter(keys).values())


ROWS = st.lists(st.tuples(st.sampled_from("fm"), st.sampled_from("123456"), st.sampled_from("abc")), min_size=2)


@given(ROWS)
def test_rows_alone_are_those_that_occur_once(rows: list[tuple[str, str, str]]) -> None:
    found = ix.attacks.uniqueness(table_of(rows), POLICY, threads=1)
    assert (found.rows, found.rows_alone, found.people) == (len(rows), alone(rows), None)
    by = {one.column: one.rows for one in found.columns}
    assert by == {"weight": alone([row[1] for row in rows]), "ill": alone([row[2] for row in rows])}
    assert found.columns[0].rows == max(by.values())
    assert found.is_broken == (max(by.values()) > 0.05 * len(rows))


@given(st.lists(st.tuples(st.sampled_from("pqrs"), st.sampled_from("fm"), st.sampled_from("12"), st.just("a"))))
def test_people_alone_are_those_whose_rows_nobody_else_has(rows: list[tuple[str, str, str, str]]) -> None:
    rows = [*rows, ("p", "f", "1", "a")]
    policy = ix.Policy(COLUMNS, [ix.KAnonymity(2)], person={"column": "who", "release": "pseudonym"})
    given = table_of([row[1:] for row in rows]).append_column(PSEUDONYM, pa.array([row[0] * 32 for row in rows]))
    found = ix.attacks.uniqueness(given, policy, threads=1)
    mine: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for row in rows:
        mine[row[0]].append(row[1:])
    assert found.people == len(mine)
    assert found.people_alone == alone([tuple(sorted(own)) for own in mine.values()])
    weights = alone([tuple(sorted(one[1] for one in own)) for own in mine.values()])
    assert next(one.people for one in found.columns if one.column == "weight") == weights


def test_people_of_linked_tables_are_compared_by_the_rows_of_each_table() -> None:
    policy = ix.Policy(
        tables={
            "people": ix.LinkedTable({"sex": ix.quasi(ix.suppress())}, key="who"),
            "stays": ix.LinkedTable(
                {"ward": ix.quasi(ix.suppress()), "bill": ix.other()}, references={"who": "people"}
            ),
        },
        privacy=[ix.KAnonymity(2)],
        person="who",
    )
    whose = ["a", "a", "b", "b", "c", "d"]
    tables = {
        "people": pa.table({"who": list("abcd"), "sex": list("ffff")}),
        "stays": pa.table({"who": whose, "ward": ["1"] * 6, "bill": ["5", "7", "7", "5", "9", "5"]}),
    }
    with ix.anonymize(tables, policy) as release:
        found = ix.attacks.uniqueness(release, policy)
    assert (found.people, found.people_alone, found.rows_alone) == (4, 2, 1)  # a and b have the same bills
    (bill,) = found.columns
    assert (bill.column, bill.rows, bill.people) == ("stays.bill", 1, 2)
    assert found.worst_share == 0.5


def test_cells_that_nobody_knows_are_not_counted(tmp_path: Path) -> None:
    columns = {"sex": ix.quasi(ix.suppress()), "weight": ix.other(perturb=ix.Noise(5.0)), "ill": ix.other()}
    policy = ix.Policy(columns, [ix.KAnonymity(2)])
    table = pa.table({"sex": ["f"] * 40, "weight": list(range(40)), "ill": ["a"] * 20 + ["b"] * 20})
    with ix.anonymize(table, policy) as release:
        release.write(tmp_path / "out")
        found = ix.attacks.uniqueness(release, policy)
    assert (found.rows_alone, [one.column for one in found.columns]) == (0, ["ill"])
    assert found == ix.attacks.uniqueness(tmp_path / "out")  # by what the manifest states
    assert found.severity == "nothing"


def test_the_limit_is_the_policys_or_the_callers() -> None:
    rows = [("f", str(number), "a") for number in range(10)] + [("f", "x", "a")] * 90
    table = table_of(rows)
    assert ix.attacks.uniqueness(table, POLICY).is_broken
    assert not ix.attacks.uniqueness(table, POLICY, limit=0.1).is_broken
    lax = ix.Policy(COLUMNS, [ix.KAnonymity(2)], max_unique=0.1)
    assert ix.attacks.uniqueness(table, lax).severity == "something"
    again = parse_policy(policy_toml(lax))
    assert (again.max_unique, parse_policy(policy_toml(POLICY)).max_unique) == (0.1, 0.05)
    with pytest.raises(ix.PolicyError, match="max_unique"):
        ix.Policy(COLUMNS, [ix.KAnonymity(2)], max_unique=5)


def test_commands_say_it_and_attack_all_finds_it(tmp_path: Path) -> None:
    rows = [("fm"[number % 2], str(number), "a") for number in range(40)]
    pa.csv.write_csv(table_of(rows), tmp_path / "t.csv")
    (tmp_path / "p.toml").write_text(policy_toml(POLICY), "utf-8")
    paths = [str(tmp_path / name) for name in ("p.toml", "t.csv", "out")]

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, list(arguments))
        return done.exit_code, " ".join(done.output.split())

    code, said = run("anonymize", paths[0], paths[1], "-o", paths[2])
    assert (code, "100.0% of 40 rows by weight alone" in said) == (0, True), said
    for arguments in (["verify", paths[2]], ["verify", paths[0], paths[2]]):
        code, said = run(*arguments)
        assert (code, "100.0% of 40 rows by weight alone" in said) == (0, True), said
    code, said = run("verify", paths[2], "--json")
    assert json.loads(said)["uniqueness"]["worst_share"] == 1.0
    code, said = run("attack", "all", paths[0], paths[2], "--json")
    outcomes = {one["attack"]: one for one in json.loads(said)["outcomes"]}
    assert outcomes["uniqueness"]["severity"] == "broken"
    assert run("attack", "all", paths[0], paths[2])[0] == ix.ExposedError.exit_code
    assert "weight" in outcomes["uniqueness"]["summary"]
