"""explain_row(): compared with counting by hand, and with trying every set of columns and every node."""

from __future__ import annotations

import json
from itertools import combinations, product

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers.profiles import examples
from indistinct.cli import app
from indistinct.errors import PolicyError, TableError
from indistinct.policy import Condition

AGES = ("20", "24", "31", "39", "52")
ZIPS = ("021", "022", "031", None)
SEXES = ("f", "m")
HEIGHTS = {"age": 3, "zip": 3, "sex": 1}


def policy_of(k, **more):
    columns = {
        "age": ix.quasi(ix.intervals(5, 20)),
        "zip": ix.quasi(ix.prefix(3, keep=[2, 1])),
        "sex": ix.quasi(ix.suppress()),
        **more.pop("columns", {}),
    }
    return ix.Policy(columns, privacy=[ix.KAnonymity(k)], **more)


def label(column, cell, level):
    """Return what a cell becomes, worked out anew."""
    if level == 0:
        return cell
    if level == HEIGHTS[column]:
        return "*"
    if cell is None:
        return None
    if column == "zip":
        return cell[: 3 - level]
    width = (5, 20)[level - 1]
    return int(cell) // width * width


def sharing(rows, row, node, people=None):
    """Return the rows, or the people, that share a row's labels at a node; columns without a level do not matter."""
    alike = [
        at
        for at, other in enumerate(rows)
        if all(label(c, other[c], level) == label(c, rows[row][c], level) for c, level in node.items())
    ]
    return len(alike) if people is None else len({people[at] for at in alike})


def table_of(rows, **more):
    return pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in HEIGHTS} | more)


ROWS = st.lists(
    st.fixed_dictionaries({"age": st.sampled_from(AGES), "zip": st.sampled_from(ZIPS), "sex": st.sampled_from(SEXES)}),
    min_size=1,
    max_size=20,
)


def compare(found, rows, row, k, people=None):
    """Compare what was found with every set of columns and every node."""
    ground = dict.fromkeys(HEIGHTS, 0)
    assert found.size == sharing(rows, row, ground, people)
    assert found.shares == {name: sharing(rows, row, {name: 0}, people) for name in HEIGHTS}
    assert found.cells == rows[row]
    small = {
        chosen
        for number in (1, 2, 3)
        for chosen in combinations(HEIGHTS, number)
        if sharing(rows, row, dict.fromkeys(chosen, 0), people) < k
    }
    minimal = {chosen for chosen in small if not any(set(other) < set(chosen) for other in small)}
    assert {one.columns for one in found.singled_out_by} == minimal
    for one in found.singled_out_by:
        assert one.size == sharing(rows, row, dict.fromkeys(one.columns, 0), people)
    if found.size >= k:
        assert (found.steps, found.remedies, found.singled_out_by) == ((), (), ())
        return
    reached = {}
    for name, height in HEIGHTS.items():
        levels = [n for n in range(1, height + 1) if sharing(rows, row, ground | {name: n}, people) >= k]
        if levels:
            reached[name] = levels[0], sharing(rows, row, ground | {name: levels[0]}, people)
    assert {step.column: (step.level, step.size) for step in found.steps} == reached
    assert {step.column for step in found.best_of_others} == set(HEIGHTS) - set(reached)
    nodes = [dict(zip(HEIGHTS, node, strict=True)) for node in product(*(range(h + 1) for h in HEIGHTS.values()))]
    enough = [node for node in nodes if sharing(rows, row, node, people) >= k]
    fewest = min((sum(node.values()) for node in enough), default=None)
    wanted = [{c: n for c, n in node.items() if n} for node in enough if sum(node.values()) == fewest]
    given_nodes = [{step.column: step.level for step in remedy.steps} for remedy in found.remedies]
    assert sorted(map(str, map(dict, given_nodes))) == sorted(map(str, wanted))
    assert bool(found.remedies) == (not found.notes)


@examples(60, opens_tables=True)
@given(rows=ROWS, k=st.integers(1, 6), data=st.data())
def test_a_row_is_explained_as_trying_everything_does(rows, k, data):
    row = data.draw(st.integers(0, len(rows) - 1))
    compare(ix.explain_row(table_of(rows), policy_of(k), row + 1), rows, row, k)


@examples(40, opens_tables=True)
@given(rows=ROWS, k=st.integers(1, 4), data=st.data())
def test_people_are_counted_where_the_policy_says_whose_row_it_is(rows, k, data):
    row = data.draw(st.integers(0, len(rows) - 1))
    people = data.draw(st.lists(st.sampled_from("pqr"), min_size=len(rows), max_size=len(rows)))
    policy = policy_of(k, columns={"who": ix.identifier()}, person="who")
    found = ix.explain_row(table_of(rows, who=people), policy, row + 1)
    assert found.noun == "people"
    compare(found, rows, row, k, people)


@pytest.mark.slow
@examples(40, opens_tables=True)
@given(rows=ROWS, k=st.integers(2, 6), low=st.fixed_dictionaries({"age": st.integers(0, 2), "zip": st.integers(0, 2)}))
def test_no_level_is_suggested_below_what_the_policy_demands(rows, k, low):
    demanded = {
        "age": ix.quasi(ix.intervals(5, 20), min_level=low["age"]),
        "zip": ix.quasi(ix.prefix(3, keep=[2, 1]), min_level=low["zip"]),
    }
    found = ix.explain_row(table_of(rows), policy_of(k, columns=demanded), 1)
    if found.size >= k:
        assert (found.steps, found.remedies) == ((), ())
        return
    start = {**low, "sex": 0}
    given_nodes = [{step.column: step.level for step in remedy.steps} for remedy in found.remedies]
    if sharing(rows, 0, start) >= k:
        assert given_nodes == [{name: level for name, level in start.items() if level}]
        assert (found.steps, found.notes) == ((), ("the levels that the policy demands are enough",))
        return
    reached = {}
    for name, height in HEIGHTS.items():
        allowed = range(max(1, start[name]), height + 1)
        levels = [level for level in allowed if sharing(rows, 0, start | {name: level}) >= k]
        if levels:
            reached[name] = levels[0], sharing(rows, 0, start | {name: levels[0]})
    assert {step.column: (step.level, step.size) for step in found.steps} == reached
    nodes = product(*(range(start[name], height + 1) for name, height in HEIGHTS.items()))
    enough = [node for node in (dict(zip(HEIGHTS, one, strict=True)) for one in nodes) if sharing(rows, 0, node) >= k]
    fewest = min((sum(node.values()) for node in enough), default=None)
    wanted = [{c: n for c, n in node.items() if n} for node in enough if sum(node.values()) == fewest]
    assert sorted(map(str, given_nodes)) == sorted(map(str, wanted))


def test_of_several_quasi_identifiers_the_one_that_exposes_most_is_explained():
    rows = [{"age": "20", "zip": "021", "sex": sex} for sex in "fffm"]
    policy = policy_of(2, quasi_identifiers={"place": ["age", "zip"], "body": ["sex"]})
    assert tuple(ix.explain_row(table_of(rows), policy, 4).cells) == ("sex",)
    assert ix.explain_row(table_of(rows), policy, 4, on="place").size == 4
    with pytest.raises(PolicyError, match="no quasi-identifier 'other'"):
        ix.explain_row(table_of(rows), policy, 4, on="other")


def test_a_row_that_is_not_there_or_not_released_is_refused_without_its_cells():
    rows = [{"age": "20", "zip": "021", "sex": "f"}, {"age": "31", "zip": "secret", "sex": "m"}]
    policy = policy_of(2, eligible=[Condition("sex", "==", "f")])
    with pytest.raises(TableError, match="has 2 rows, and no row 3"):
        ix.explain_row(table_of(rows), policy, 3)
    with pytest.raises(PolicyError, match="row 2 is not among those that the policy releases") as error:
        ix.explain_row(table_of(rows), policy, 2)
    assert "secret" not in str(error.value)
    for row in (0, True, "1"):
        with pytest.raises(PolicyError, match="whole number from 1"):
            ix.explain_row(table_of(rows), policy, row)


def test_codes_that_mean_missing_are_missing_and_types_of_columns_do_not_matter():
    table = pa.table({"age": [20, 999, 999, 31], "sex": ["f", "f", "f", "f"]})
    columns = {"age": ix.quasi(ix.intervals(5), missing=["999"]), "sex": ix.quasi(ix.suppress())}
    found = ix.explain_row(table, ix.Policy(columns, privacy=[ix.KAnonymity(3)]), 2)
    assert (found.cells, found.size) == ({"age": None, "sex": "f"}, 2)


def test_the_command_explains_a_row_by_a_policy_or_without(tmp_path):
    rows = [{"age": age, "zip": "021", "sex": "f"} for age in ("20", "24", "31", "39")]
    path = tmp_path / "people.csv"
    path.write_text("age,zip,sex\n" + "".join(f"{row['age']},{row['zip']},{row['sex']}\n" for row in rows))
    (tmp_path / "policy.toml").write_text(ix.policy_toml(policy_of(2)))
    asked = ["risk", str(path), "--policy", str(tmp_path / "policy.toml"), "--row", "2"]
    told = CliRunner().invoke(app, asked)
    assert told.exit_code == 0, told.output
    for words in ("What singles it out", "What would help", "row 2 stands alone", "20-24"):
        assert words in told.output
    told = CliRunner().invoke(app, [*asked, "--json"])
    found = json.loads(told.stdout)
    assert (found["size"], found["singled_out_by"]) == (1, [{"columns": ["age"], "size": 1}])
    assert [step["column"] for step in found["steps"]] == ["age"]
    assert CliRunner().invoke(app, ["risk", str(path), "--row", "1"]).exit_code == 0
    refused = CliRunner().invoke(app, [*asked, "--weights", "age"])
    assert refused.exit_code == 2
    assert "--weights" in refused.output
