"""check(): what is wrong with a policy on a table, and whether a release can satisfy it."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import indistinct as ix
from indistinct.cli import app

TABLE = pa.table({"zip": ["02138", "02139", "02139", "94110"], "ill": ["a", "b", "c", "d"]})
POLICY = ix.Policy(
    columns={"zip": ix.quasi(ix.prefix(5, keep=[4, 3])), "ill": ix.other()},
    privacy=[ix.KAnonymity(2)],
    max_suppression=1,
)


def test_a_policy_that_can_be_met_comes_with_its_figures():
    found = ix.check(TABLE, POLICY)
    assert (found.is_feasible, found.error, found.mistakes) == (True, None, ())
    assert found.figures == {
        "rows": 4,
        "eligible": 4,
        "tuples": 3,
        "unique_rows": 2,
        "k_of_the_table": 1,
        "k_of_the_policy": 2,
        "unsafe_rows": 2,
        "lattice_nodes": 4,
        "suppression_allowed": 1,
        "suppression_at_the_top": 0,
    }
    assert found.to_dict() == {**found.figures, "feasible": True}
    found.raise_if_infeasible()
    ix.anonymize(TABLE, POLICY).close()


def test_a_policy_that_cannot_be_met_says_what_anonymize_would_say():
    hard = replace(POLICY, privacy=[ix.KAnonymity(5)])
    found = ix.check(TABLE, hard)
    assert (found.is_feasible, found.mistakes, found.figures["k_of_the_policy"]) == (False, (), 5)
    with pytest.raises(ix.InfeasibleError) as ours:
        found.raise_if_infeasible()
    with pytest.raises(ix.InfeasibleError) as theirs:
        ix.anonymize(TABLE, hard)
    assert str(ours.value) == str(theirs.value) == str(found)


def test_all_mistakes_are_reported_at_once_and_no_cell():
    """A column that is missing does not hide that another one's hierarchy does not fit."""
    policy = ix.Policy(
        columns={"zip": ix.quasi(ix.levels([["02138", "0213*"]])), "age": ix.quasi(ix.intervals(5)), "ill": ix.other()},
        privacy=[ix.KAnonymity(2)],
    )
    found = ix.check(TABLE, policy)
    assert not found.is_feasible
    assert not found.figures
    assert len(found.mistakes) == 2
    assert "columns.age: the table has no such column" in found.mistakes[0]
    assert "zip" in found.mistakes[1]
    assert not found.unknown_values
    assert "94110" not in f"{found!r} {found} {found.to_dict()}"
    with pytest.raises(ix.PolicyError, match="2 mistakes"):
        found.raise_if_infeasible()


def test_the_values_that_a_hierarchy_lacks_are_given_to_whoever_asks():
    policy = replace(POLICY, columns={"zip": ix.quasi(ix.levels([["02138", "0213*"]])), "ill": ix.other()})
    found = ix.check(TABLE, policy, show_values=True)
    assert {name: sorted(values) for name, values in found.unknown_values.items()} == {"zip": ["02139", "94110"]}
    assert "94110" not in f"{found!r} {found} {found.to_dict()}"


def test_an_open_table_stays_open():
    from indistinct.engine import open_table

    with open_table(TABLE) as rows:
        assert ix.check(rows, POLICY).is_feasible
        assert rows.count() == 4


def test_a_check_says_that_stable_pseudonyms_need_a_ledger(tmp_path):
    table = pa.table({"id": ["a", "b", "c", "d"], "age": ["1", "2", "3", "4"]})
    columns = {"id": ix.identifier(pseudonym="stable"), "age": ix.quasi(ix.suppress())}
    policy = ix.Policy(columns, [ix.KAnonymity(2)])
    found = ix.check(table, policy)
    assert found.is_feasible  # with a ledger
    assert found.to_dict()["notes"] == list(found.notes)
    assert "the pseudonyms of id are to be the same in all releases, so only a ledger can release it" in found.notes[0]
    assert ix.check(table, replace(policy, columns={**columns, "id": ix.identifier()})).notes == ()
    (tmp_path / "policy.toml").write_text(ix.policy_toml(policy))
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    told = CliRunner().invoke(app, ["check", str(tmp_path / "policy.toml"), str(tmp_path / "people.csv")])
    assert told.exit_code == 0
    assert "only a ledger can release it (--ledger)" in " ".join(told.output.split())
