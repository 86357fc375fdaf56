"""Codes that mean missing, and cells that no hierarchy reads: one meaning in every part of the project."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import profiles
from indistinct.attacks import link
from indistinct.attacks.linking.maps import maps
from indistinct.engine import open_table
from indistinct.errors import PolicyError
from indistinct.policy import Column
from indistinct.policy.stated_policy import StatedPolicy, policy_digest

AGES = ["34", "36", "999", "91", "93", "?", "35", "999", "92"]
"""With unknown ages among them."""
FILE = """
version = 1
[columns]
age = {{ role = "quasi", {} }}
[[privacy]]
model = "k-anonymity"
k = 2
"""


def policy_for(age: Column, **more: Any) -> ix.Policy:
    return ix.Policy(columns={"age": age, **more}, privacy=[ix.KAnonymity(2)], max_suppression=2)


def ages(**said: Any) -> Column:
    return ix.quasi(ix.intervals(5, 10, high=90), **said)


def test_an_unknown_age_does_not_leave_as_ninety_and_more() -> None:
    plain = ix.anonymize(pa.table({"age": [a for a in AGES if a != "?"]}), policy_for(ages()))
    assert Counter(plain.table["age"].to_pylist())[">=90"] == 5  # 999 is a large number, if nobody says otherwise
    made = ix.anonymize(pa.table({"age": AGES}), policy_for(ages(missing=["999", "?"])))
    assert Counter(made.table["age"].to_pylist()) == {">=90": 3, None: 3, "35-39": 2}
    assert made.verify(pa.table({"age": AGES})).passed


def test_a_release_that_takes_the_code_for_a_number_does_not_verify() -> None:
    policy = policy_for(ages(missing=["999", "?"]))
    false = pa.table({"age": [">=90"] * 5 + ["35-39"] * 2})
    verdict = ix.verify(false, policy, original=pa.table({"age": AGES}))
    assert [check.name for check in verdict.checks if not check.passed] == ["truthful"]


def test_codes_are_missing_in_other_columns_too_and_keep_their_type() -> None:
    table = pa.table({"age": ["1"] * 4, "job": ["N", "clerk", "N", ""], "cost": [999.0, 1.5, float("nan"), 2.0]})
    policy = policy_for(ages(), job=ix.sensitive(missing=["N"]), cost=ix.other(missing=[999]))
    made = ix.anonymize(table, policy)
    assert Counter(made.table["job"].to_pylist()) == {None: 3, "clerk": 1}
    assert Counter(made.table["cost"].to_pylist()) == {None: 2, 1.5: 1, 2.0: 1}
    assert made.table.schema.field("cost").type == pa.float64()
    assert made.verify(table).passed
    left_in = made.table.set_column(2, "cost", pa.array([999.0, 1.5, 999.0, 2.0]))
    failed = [check for check in ix.verify(left_in, policy).checks if not check.passed]
    assert [(check.name, check.detail) for check in failed] == [
        ("missing cells in cost", "2 cells show a code that means missing, instead of none")
    ]


@pytest.mark.parametrize(
    ("cells", "code", "missing"),
    [
        (pa.array([999, 1]), "999", 1),
        (pa.array([999, 1]), "999.0", 1),
        (pa.array([999.0, 1]), "999", 1),
        (pa.array([999.0, 1.0], pa.float32()), "999", 1),
        (pa.array(["999.00", "1.00"]).cast(pa.decimal128(9, 2)), "999", 1),
        (pa.array([0.0, -0.0]), "0", 2),
        (pa.array([999.4, 1.0]), "999", 0),
        (pa.array([2**53 + 1, 1]), str(2**53), 0),
        (pa.array(["999.0", "1"]), "999", 0),
        (pa.array(["0999", "999"]), "999", 1),
        (pa.array(["N", "n"]), "N", 1),
        (pa.array([True, False]), "1", 0),
    ],
)
def test_codes_compare_as_numbers_in_columns_of_numbers_and_as_text_elsewhere(
    cells: pa.Array, code: str, missing: int
) -> None:
    with open_table(pa.table({"c": cells})) as rows, rows.with_missing({"c": [code]}, {}) as read:
        assert read.head(5)["c"].null_count == missing
        assert read.head(5)["c"].type == cells.type
    with open_table(pa.table({"c": cells})) as rows, rows.with_missing({}, {"c": [code]}) as left:
        assert left.count() == len(cells) - missing


def test_what_a_hierarchy_cannot_read_is_refused_with_its_number_unless_the_policy_says_otherwise() -> None:
    table = pa.table({"age": [*AGES, "n/a", "soon"]})
    codes = ["999", "?"]
    with pytest.raises(
        ix.PolicyError, match=r'2 values are not .* \(data rows 10, 11\); or say unreadable = "missing"'
    ):
        ix.anonymize(table, policy_for(ages(missing=codes)))
    taken = ix.anonymize(table, policy_for(ages(missing=codes, unreadable="missing")))
    assert Counter(taken.table["age"].to_pylist()) == {">=90": 3, None: 5, "35-39": 2}
    gone = ix.anonymize(table, policy_for(ages(missing=codes, unreadable="suppress")))
    assert Counter(gone.table["age"].to_pylist()) == {">=90": 3, None: 3, "35-39": 2}
    for made in (taken, gone):
        assert made.facts.unreadable == {"age": 2}
        assert "✓ unreadable cells: 2 in 'age'" in str(made.verify(table))
        assert not made.verify(pa.table({"age": [*AGES, "n/a"]})).passed


def test_rows_left_out_are_not_eligible_and_no_suppressed_ones() -> None:
    policy = policy_for(ages(missing=["999", "?"], unreadable="suppress"))
    made = ix.anonymize(pa.table({"age": [*AGES, *["n/a"] * 50]}), policy)
    assert made.suppressed == 1
    assert ix.check(pa.table({"age": [*AGES, *["n/a"] * 50]}), policy).figures["eligible"] == len(AGES)


def test_a_condition_sees_a_code_as_missing() -> None:
    policy = ix.Policy(
        columns={"age": ages(missing=[999, "?"])},
        privacy=[ix.KAnonymity(2)],
        eligible=[ix.where("age", ">", 90)],
        max_suppression=0,
    )
    assert ix.anonymize(pa.table({"age": AGES}), policy).facts.released == 3


@pytest.mark.parametrize(
    "written", ['["999", "?"]', '{ codes = [999, "?"] }', '{ codes = ["999", "?"], rule = "refuse" }']
)
def test_a_policy_file_says_it_in_any_form_and_back(written: str) -> None:
    policy = ix.parse_policy(FILE.format(f"missing = {written}"))
    column = policy.columns["age"]
    assert column.missing_codes == ("999", "?")
    assert column.missing == ("refuse" if "refuse" in written else "value")
    assert ix.parse_policy(ix.policy_toml(policy)) == policy


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('missing = "999"', "must be 'value' or 'refuse', or list codes"),
        ("missing = { kodes = [] }", "takes codes and rule, got kodes"),
        ("missing = [true]", "codes must be texts or numbers"),
        ('missing = { codes = "999" }', "codes must be a list"),
        ('missing = "refuse", unreadable = "missing"', "makes missing cells, which missing = 'refuse' refuses"),
    ],
)
def test_nonsense_is_refused_with_its_path(written: str, said: str) -> None:
    with pytest.raises(ix.PolicyError, match=r"columns\.age.*: .*" + said):
        ix.parse_policy(FILE.format(written))


def test_codes_that_are_refused_are_refused_as_missing_cells() -> None:
    with pytest.raises(ix.PolicyError, match="has missing cells, which its policy refuses"):
        ix.anonymize(pa.table({"age": AGES}), policy_for(ages(missing={"codes": ["999", "?"], "rule": "refuse"})))


def test_the_manifest_counts_codes_and_the_digest_knows_them() -> None:
    one, two = (policy_for(ages(missing=codes)) for codes in (["999"], ["998"]))
    assert StatedPolicy.of(one).to_dict() == StatedPolicy.of(two).to_dict()
    assert StatedPolicy.of(one).to_dict()["columns"]["age"]["missing_codes"] == 1
    assert policy_digest(one) != policy_digest(two) != policy_digest(policy_for(ages()))
    assert "missing_codes" not in str(StatedPolicy.of(policy_for(ages())).to_dict())


def test_risks_count_a_code_as_missing_before_and_after_a_release() -> None:
    policy = policy_for(ages(missing=["999", "?"], unreadable="missing"))
    table = pa.table({"age": [*AGES, "n/a"]})
    assert ix.risk(table, policy=policy).sizes == {1: 6, 4: 1}
    released = ix.anonymize(table, policy).table
    assert ix.risk(released, policy=policy).sizes == {2: 1, 3: 1, 4: 1}


def test_attacks_and_populations_know_the_codes_of_the_other_table() -> None:
    policy = policy_for(ages(missing=["999", "?"]))
    released = ix.anonymize(pa.table({"age": AGES}), policy)
    voters = pa.table({"Age": ["36", "999"]})
    assert link(released, voters, policy).columns[0].strangers == 0
    assert any("without a value" in note for note in link(released, voters, policy).notes)
    assert maps(released, voters, policy).null_rows == 0
    assert maps(released, pa.table({"Age": ["36", "95"]}), policy).null_rows == 0
    kept = ix.Policy(
        columns={"age": ages(missing=["999"])}, privacy=[ix.KMap(2, population=pa.table({"age": ["91", "999"]}))]
    )
    made = ix.anonymize(pa.table({"age": ["91", "92"]}), kept)
    assert set(made.table["age"].to_pylist()) == {"*"}  # who is 999 could be anybody, and is nobody at 90 and more


def test_a_ledger_follows_people_whose_age_became_unknown(tmp_path: Path) -> None:
    ledger = ix.Ledger.create(tmp_path / "ledger")
    policy = ix.Policy(
        columns={"id": ix.identifier(), "age": ages(missing=["999"], unreadable="missing")},
        privacy=[ix.KAnonymity(2)],
        max_suppression=2,
    )
    table = pa.table({"id": ["a", "b", "c", "d"], "age": ["34", "34", "999", "n/a"]})
    first = ledger.anonymize(table, policy, recipient="A")
    assert Counter(first.table["age"].to_pylist()) == {"34": 2, None: 2}
    assert first.facts.unreadable == {"age": 1}
    again = table.set_column(1, "age", pa.array(["34", "34", "", "999"]))
    assert ledger.check(again, policy, recipient="A").passed  # nothing has changed: missing is missing


@pytest.mark.parametrize("algorithm", ["lattice", "regroup", "mondrian", "datafly", "anatomy", "lossy-join"])
def test_every_kind_of_release_is_true_to_what_cells_mean(algorithm: str) -> None:
    cells = ["31", "32", "999", "36", "37", "?", "35", "n/a", "92", "93"]
    table = pa.table({"age": cells, "job": ["a", "b", "c", "N"] * 2 + ["a", "b"]})
    policy = ix.Policy(
        columns={
            "age": ages(missing=["999", "?"], unreadable="missing"),
            "job": ix.sensitive(missing=["N"]),
        },
        privacy=[ix.LDiversity(2)],
        max_suppression=4,
        algorithm=algorithm,
    )
    made = ix.anonymize(table, policy)
    assert made.verify(table).passed
    shown = {cell for part in made.tables.values() for column in part.columns for cell in column.to_pylist()}
    assert not shown & {"999", "?", "N", "n/a"}


CELLS = st.sampled_from(["1", "7", "12", "13", "99", "98", "?", "n/a", ""])


@pytest.mark.slow
@given(st.lists(CELLS, min_size=4, max_size=30), st.sampled_from(["missing", "suppress"]))
@profiles.examples(40, opens_tables=True)
def test_declared_cells_release_what_a_cleaned_table_releases(cells: list[str], rule: Any) -> None:
    """The oracle is the table as somebody would have cleaned it by hand."""
    declared = policy_for(ix.quasi(ix.intervals(5, 10), missing=["99", "98", "?"], unreadable=rule))
    by_hand = ["" if cell in ("99", "98", "?") else cell for cell in cells]
    by_hand = ["" if cell == "n/a" else cell for cell in by_hand if not (cell == "n/a" and rule == "suppress")]
    table, cleaned = pa.table({"age": cells}), pa.table({"age": pa.array(by_hand, pa.string())})
    plain = policy_for(ix.quasi(ix.intervals(5, 10)))
    try:
        wanted = ix.anonymize(cleaned, plain)
    except ix.InfeasibleError:
        with pytest.raises(ix.InfeasibleError):
            ix.anonymize(table, declared)
        return
    made = ix.anonymize(table, declared)
    assert made.node == wanted.node
    assert Counter(made.table["age"].to_pylist()) == Counter(wanted.table["age"].to_pylist())
    assert made.verify(table).passed
    assert ix.verify(wanted.table, declared, original=table).passed


@pytest.mark.parametrize("role", ["sensitive", "other", "identifier", "drop"])
def test_missing_cells_are_refused_in_columns_that_nobody_searches(role: str) -> None:
    table = pa.table({"age": ["1", "2", "3"], "x": ["a", None, "?"]})

    def own(codes: str, **more: Any) -> ix.Policy:
        text = "version = 1\n[columns]\nage = { role = 'quasi', hierarchy = { suppress = true } }\n"
        text += f"x = {{ role = '{role}', missing = {{ codes = [{codes}], rule = 'refuse' }} }}\n"
        made = ix.parse_policy(text + "[[privacy]]\nmodel = 'k-anonymity'\nk = 1\n")
        return replace(made, **more)

    for codes, rows in (("", "1 row has"), ("'?'", "2 rows have")):
        told = f"columns.x.missing: {rows} no cell there, which the policy refuses"
        with pytest.raises(PolicyError) as error:
            ix.anonymize(table, own(codes))
        assert told in str(error.value)
        assert told in str(ix.check(table, own(codes)))
    eligible = own("'?'", eligible=[ix.where("x", "present")])
    with ix.anonymize(table, eligible) as release:
        assert release.verify(table).passed
        assert release.table.num_rows == 1


def test_what_reads_no_cells_has_none_that_cannot_be_read() -> None:
    for column in (lambda: ix.other(unreadable="missing"), lambda: ix.sensitive(unreadable="suppress")):
        with pytest.raises(PolicyError, match="unreadable: no hierarchy reads the cells of this column"):
            column()
    assert ix.other(unreadable="missing", recode=ix.rounding(10)).unreadable == "missing"
