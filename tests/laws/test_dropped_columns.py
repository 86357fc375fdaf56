"""Columns that are dropped: not released, by any algorithm, though they name nobody."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import indistinct as ix

TABLE = pa.table(
    {
        "patient_id": ["7", "7", "8", "8"],
        "zip": ["02138", "02138", "02139", "02139"],
        "ill": ["flu", "gout", "flu", "gout"],
        "note": ["a", "b", "c", ""],
    }
)


def policy_for(algorithm: str = "lattice") -> ix.Policy:
    columns = {
        "patient_id": ix.drop(),
        "zip": ix.quasi(ix.prefix(5)),
        "ill": ix.sensitive(),
        "note": ix.drop(),
    }
    return ix.Policy(columns=columns, privacy=[ix.LDiversity(2)], algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ["lattice", "regroup", "anatomy"])
def test_no_release_has_a_dropped_column(algorithm: str) -> None:
    made = ix.anonymize(TABLE, policy_for(algorithm))
    shown = {name for part in made.tables.values() for name in part.column_names}
    assert shown - {"class_id"} == {"zip", "ill"}
    assert made.verify(TABLE).passed


def test_a_dropped_column_that_is_left_in_does_not_verify() -> None:
    released = ix.anonymize(TABLE, policy_for()).table
    left_in = released.append_column("note", pa.array(["a"] * 4))
    (wrong,) = [check for check in ix.verify(left_in, policy_for()).checks if not check.passed]
    assert (wrong.name, wrong.detail) == ("columns", "'note' is not released here")


def test_it_names_nobody_so_repeated_cells_are_no_people_with_several_rows() -> None:
    named = ix.Policy(columns={**policy_for().columns, "patient_id": ix.identifier()}, privacy=[ix.LDiversity(2)])
    with pytest.raises(ix.PolicyError, match="people seem to have several"):
        ix.anonymize(TABLE, named)
    assert ix.anonymize(TABLE, policy_for()).verify().passed


def test_conditions_may_ask_about_it_and_a_policy_file_says_it() -> None:
    policy = ix.Policy(columns=policy_for().columns, privacy=[ix.KAnonymity(1)], eligible=[ix.where("note", "present")])
    assert ix.anonymize(TABLE, policy).facts.released == 3
    assert ix.parse_policy(ix.policy_toml(policy)) == policy


def test_reports_and_ledgers_know_it(tmp_path: Path) -> None:
    made = ix.anonymize(TABLE, policy_for())
    page = made.report(tmp_path / "report.html", original=TABLE).read_text("utf-8")
    assert "not released, though it names nobody" in page
    ledger = ix.Ledger.create(tmp_path / "ledger")
    assert "note" not in ledger.anonymize(TABLE, policy_for(), recipient="A").table.column_names
