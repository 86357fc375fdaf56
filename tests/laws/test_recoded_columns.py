"""Sensitive and other columns that are recoded: rounded, top-coded, the month of a date; counted as released."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import profiles
from indistinct.attacks import link
from indistinct.policy.stated_policy import StatedPolicy, policy_digest

TABLE = pa.table(
    {
        "zip": ["02138"] * 4,
        "illness": ["flu", "flu", "gout", "gout"],
        "age": [91, 95, 34, 36],
        "cost": [1234.5, 1249.0, 80.0, None],
        "seen": ["1964-09-27", "1964-09-30", "1964-10-01", ""],
    }
)


def policy_with(**columns: Any) -> ix.Policy:
    named = {
        "zip": ix.quasi(ix.suppress()),
        "illness": ix.sensitive(),
        "age": ix.other(),
        "cost": ix.other(),
        "seen": ix.other(),
    }
    return ix.Policy(columns=named | columns, privacy=[ix.KAnonymity(2)])


RECODED = policy_with(
    age=ix.other(recode=ix.top_bottom((None, 90))),
    cost=ix.other(recode=ix.rounding(100)),
    seen=ix.other(recode=ix.dates("month", "year"), recode_level="month"),
)


def test_costs_are_rounded_ages_top_coded_and_dates_cut_to_the_month() -> None:
    made = ix.anonymize(TABLE, RECODED)
    assert Counter(made.table["age"].to_pylist()) == {">90": 2, "34": 1, "36": 1}
    assert Counter(made.table["cost"].to_pylist()) == {1200.0: 2, 100.0: 1, None: 1}
    assert made.table.schema.field("cost").type == pa.float64()
    assert Counter(made.table["seen"].to_pylist()) == {"1964-09": 2, "1964-10": 1, None: 1}
    assert made.verify(TABLE).passed


def test_cells_that_were_not_recoded_do_not_verify() -> None:
    plain = ix.anonymize(TABLE, policy_with()).table
    failed = {check.name for check in ix.verify(plain, RECODED).checks if not check.passed}
    assert failed == {"level of age", "level of cost", "level of seen"}
    assert "truthful" in {check.name for check in ix.verify(plain, RECODED, original=TABLE).checks if not check.passed}
    false = ix.anonymize(TABLE, RECODED).table.set_column(3, "cost", pa.array([1300.0, 1200.0, 100.0, None]))
    assert not ix.verify(false, RECODED, original=TABLE).passed


def test_models_count_what_is_released() -> None:
    table = pa.table({"zip": ["1", "1", "2", "2"], "pay": [1010, 1020, 980, 2010]})
    for recode, node in ((None, 0), (ix.rounding(100), 1)):
        policy = ix.Policy(
            columns={"zip": ix.quasi(ix.suppress()), "pay": ix.sensitive(recode=recode)}, privacy=[ix.LDiversity(2)]
        )
        made = ix.anonymize(table, policy)
        assert made.node == {"zip": node}  # 1010 and 1020 are the same thousand
        assert made.verify(table).passed


@pytest.mark.parametrize("algorithm", ["lattice", "regroup", "anatomy", "lossy-join"])
def test_every_kind_of_release_is_recoded_and_true(algorithm: str) -> None:
    table = pa.table({"zip": ["1", "1", "2", "2"], "pay": ["1010", "1990", "980", "2010"], "n": ["7", "93", "95", "8"]})
    columns = {
        "zip": ix.quasi(ix.suppress()),
        "pay": ix.sensitive(recode=ix.rounding(1000)),
        "n": ix.other(recode=ix.top_bottom((None, 90))),
    }
    policy = ix.Policy(columns=columns, privacy=[ix.LDiversity(2)], algorithm=algorithm)
    made = ix.anonymize(table, policy)
    assert made.verify(table).passed
    parts = list(made.tables.values())
    assert Counter(parts[-1]["pay"].to_pylist()) == {"1000": 2, "2000": 2}
    assert Counter(parts[0]["n"].to_pylist()) == {"7": 1, "8": 1, ">90": 2}


def test_other_kinds_of_tables_hold_labels_as_text_and_rounded_numbers_as_numbers() -> None:
    frame = polars.DataFrame({"zip": ["1"] * 2, "cost": [1249, 80], "age": [95, 34]})
    columns = {
        "zip": ix.quasi(),
        "cost": ix.other(recode=ix.rounding(100)),
        "age": ix.other(recode=ix.intervals(10)),
    }
    made = ix.anonymize(frame, ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])).table
    assert sorted(made.rows()) == [("1", 100, "30-39"), ("1", 1200, "90-99")]


def test_what_cannot_be_read_is_refused_with_its_rows_or_dealt_with() -> None:
    table = pa.table({"zip": ["1"] * 3, "cost": ["120", "n/a", "180"]})

    def policy(**said: Any) -> ix.Policy:
        columns = {"zip": ix.quasi(), "cost": ix.other(recode=ix.rounding(100), **said)}
        return ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])

    with pytest.raises(ix.PolicyError, match=r"column 'cost': 1 value .*data rows 2\); or say unreadable"):
        ix.anonymize(table, policy())
    assert "column 'cost'" in str(ix.check(table, policy()))
    assert ix.anonymize(table, policy(unreadable="suppress")).facts.released == 2
    taken = ix.anonymize(table, policy(missing=["n/a"]))
    assert Counter(taken.table["cost"].to_pylist()) == {"100": 1, "200": 1, None: 1}


def test_a_policy_file_says_it_and_the_manifest_as_well() -> None:
    assert ix.parse_policy(ix.policy_toml(RECODED)) == RECODED
    assert "recode = { rounding = [100] }" in ix.policy_toml(RECODED)
    assert 'level = "month"' in ix.policy_toml(RECODED)
    said = StatedPolicy.of(RECODED).to_dict()["columns"]
    assert (said["cost"]["recode"]["kind"], said["cost"]["recode"]["level"]) == ("rounding", 1)
    assert policy_digest(RECODED) != policy_digest(policy_with())
    assert "recode" not in str(StatedPolicy.of(policy_with()).to_dict())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ix.other(recode=ix.rounding(100), recode_level=7), "recode: there is no level 7"),
        (lambda: ix.other(recode="rounding"), "recode must be a hierarchy"),
        (
            lambda: ix.Policy(
                columns={"zip": ix.quasi(), "cost": ix.other(recode=ix.rounding(100))},
                privacy=[ix.KAnonymity(2)],
                eligible=[ix.where("cost", ">", 100)],
            ),
            "is recoded, and conditions would compare with its labels",
        ),
        (
            lambda: ix.parse_policy(ix.policy_toml(RECODED).replace('role = "other"', 'role = "identifier"')),
            "recode: of a",
        ),
    ],
)
def test_nonsense_is_refused(make: Any, words: str) -> None:
    with pytest.raises(ix.PolicyError, match=words):
        make()


def test_links_by_a_recoded_column_know_what_its_labels_cover() -> None:
    made = ix.anonymize(TABLE, RECODED)
    found = link(made, pa.table({"age": ["99", "35"]}), RECODED, on=["age"])
    assert found.rows_of_people == {0: 1, 2: 1}


def test_a_ledger_follows_rows_whose_cells_are_recoded_but_not_by_these(tmp_path: Path) -> None:
    columns = {"zip": ix.quasi(ix.suppress()), "cost": ix.other(recode=ix.rounding(100)), "id": ix.identifier()}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])
    table = pa.table({"zip": ["1", "1"], "cost": [1234, 1240], "id": ["a", "b"]})
    ledger = ix.Ledger.create(tmp_path / "ledger")
    assert ledger.anonymize(table, policy, recipient="A").table["cost"].to_pylist() == [1200, 1200]
    assert ledger.check(table, policy, recipient="A").passed
    with pytest.raises(ix.LedgerError, match="'cost', which is recoded"):
        ledger.check(table, policy, recipient="B", key="cost")


@given(st.lists(st.integers(-500, 500), min_size=2, max_size=12), st.sampled_from([10, 50, 100]))
@profiles.examples(20, opens_tables=True)
def test_intervals_of_any_numbers_are_those_counted_by_hand(numbers: list[int], width: int) -> None:
    columns = {"zip": ix.quasi(), "n": ix.other(recode=ix.intervals(width))}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(1)])
    table = pa.table({"zip": ["1"] * len(numbers), "n": numbers})
    made = ix.anonymize(table, policy)
    wanted = Counter(f"{n // width * width}-{n // width * width + width - 1}" for n in numbers if n >= 0)
    found = Counter(label for label in made.table["n"].to_pylist() if not label.startswith("-"))
    assert {label: rows for label, rows in found.items() if label in wanted} == wanted
    assert made.verify(table).passed
