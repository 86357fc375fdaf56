"""The proof's parts by hand: what a manifest may say, and what single checks find on a few rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.counting import Groups
from indistinct.engine import open_table
from indistinct.policy import Person, Policy
from indistinct.proof import checks as shared
from indistinct.proof import known_columns, statements
from indistinct.proof.checks import Check, Checked, Recount, knows_few
from indistinct.proof.known_columns import CodedTuples, KnownColumns
from indistinct.proof.people_recount import NOT_COUNTED
from indistinct.proof.stated_measures import OF_ALL_RELEASES, OF_ORIGINAL
from indistinct.proof.stated_search import _name_mistakes
from indistinct.proof.verdict import Verdict
from indistinct.recoding.classes import NOT_PROTECTED, not_protected
from indistinct.release.forms import TWO_TABLES
from indistinct.release.manifest import policy_described, policy_digest

Cell = str | None
DIGEST = "0" * 64


def table(**columns: Sequence[Cell]) -> pa.Table:
    return pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})


def numbers(*values: int) -> Any:
    return np.array(values, np.int64)


# What a manifest may say


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("format", [1, 99], [True, "1", 1.0, None]),
        ("made_by", ["indistinct 0.1.0", "indistinct 1.0rc1+x"], ["indistinct", "other 1.0", "indistinct 0 <b>", 1]),
        (
            "made_at",
            ["2026-11-17T10:00:00+00:00"],
            ["2026-11-17T10:00:00", "2026-11-17T10:00:00+01:00", 5, None],
        ),
        ("eligible", [0, 5, (1 << 63) - 1], [-1, 1.5, True, "5", None, 1 << 63]),
        ("people", [{"eligible": 1}, {}], [{"eligible": -1}, [1], None, {"Ann": 1}]),
        ("node", [None, {"a": 1}], [{"a": "1"}, [], 3]),
        (
            "mean_levels",
            [{"a": 0.5, "b": 0}],
            [{"a": -0.5}, {"a": float("nan")}, {"a": float("inf")}, {"a": True}, {"a": "1"}],
        ),
        ("level_names", [{"a": "year"}], [{"a": 1}, "year"]),
        ("is_proven", [True, False], [None, "yes", 2, 1, 0.0]),
        ("gap", [None, 0, 0.5, 1], [1.5, -0.1, "0"]),
        ("is_cut_short", [True], [False, None, "yes"]),
        ("measures", [{"loss": 0.5, "average-group-size": 3}], [{"loss": "low"}, {"Loss of <b>": 0.5}, {"loss": None}]),
        ("form", ["two-tables", "linked tables"], ["one", None]),
        (
            "linked_tables",
            [{"a": {"columns": ["x"], "eligible": 1, "released": 1, "suppressed": 0, "delimiter": ",", "sheet": "s"}}],
            [
                {"a": {"note": "x"}},
                {"a": {"released": "1"}},
                {"a": []},
                {"a": {"columns": "x"}},
                {"a": {"columns": [1]}},
            ],
        ),
        ("link", ["class_id"], ["class", None]),
        ("tables", [{"quasi": ["a"]}], [{"quasi": "a"}, {"quasi": [1]}]),
        ("pseudonym_salt", ["0af1" * 8], ["xyz", "", 5, "0af", "0af1" * 9]),
        ("unsafe", [True], [False, 1, "yes"]),
        ("ledger_head", [DIGEST], ["0" * 63, "0" * 65, "g" * 64, 0, "A" * 64]),
        (
            "options",
            [{}, {"measure": "loss", "node": {"Year of birth": 1}, "sets": [["a", "b"]], "share": 0.5, "strict": None}],
            [[], None, {"note": "Ann has it"}, {"Ann has it": 1}, {"share": float("inf")}],
        ),
        ("limits", [{"time_limit": 2.5}], [{"note": 1}, {"time_limit": "1"}]),
        ("algorithm", ["mu-argus"], ["Ann has it", 1, ""]),
        ("about", [{"purpose": "x"}], [{"purpose": 1}, {"note": "x"}]),
        ("perturbations", [{"a": {"noise": {}}}], [{"a": {"noise": 1}}, {"a": 1}]),
        ("drawn", [{"k": 5, "epsilon": 1.0}], [{"k": "5"}]),
        ("delimiter", [",", "\t"], ["", ",,", 1]),
        ("policy", [{}], [[]]),
        ("verdict", [{}], [[]]),
        ("files", [{"a": DIGEST}], [{"a": "0"}, {"a": None}]),
    ],
)
def test_each_statement_has_its_shape(name: str, good: list[Any], bad: list[Any]) -> None:
    for said in good:
        assert statements.statement_mistakes({name: said}) == []
    for said in bad:
        assert statements.statement_mistakes({name: said}) == [f"{name} is impossible"], said


def test_statements_that_nobody_makes_are_counted() -> None:
    assert statements.statement_mistakes({"remark": "private", "note": 1}) == ["2 statements that no manifest makes"]
    assert statements.statement_mistakes({"remark": 1, "format": "1"}) == [
        "1 statement that no manifest makes",
        "format is impossible",
    ]


def test_several_tables_may_say_as_little_as_one() -> None:
    parts = {"people": ix.LinkedTable({"age": ix.quasi()}, key="id")}
    policy = ix.Policy(tables=parts, privacy=[ix.KAnonymity(2)], person="id")
    found = Recount((), numbers(2), 2)
    said = {"remark": "private"}
    assert statements.mistakes_of_tables(said, policy, found, []) == ["1 statement that no manifest makes"]


AGES = ix.levels([["1", "1-2", "*"], ["2", "1-2", "*"], ["3", "3-4", "*"], ["4", "3-4", "*"]])
COLUMNS = {"age": ix.quasi(AGES), "sex": ix.quasi(ix.suppress()), "ill": ix.sensitive()}
POLICY = Policy(COLUMNS, [ix.KAnonymity(2)], max_suppression=0.5)
OF_PEOPLE = Policy(COLUMNS, [ix.KAnonymity(2)], max_suppression=0.5, person="who")
FOUND = Recount((), numbers(2, 3), 5)
NAMES = AGES.level_names
MANIFEST: dict[str, Any] = {
    "eligible": 6,
    "released": 5,
    "suppressed": 1,
    "groups": 2,
    "smallest_group": 2,
    "node": {"age": 1, "sex": 0},
    "level_names": {"age": NAMES[1], "sex": ix.suppress().level_names[0]},
    "heights": {"age": 2, "sex": 1},
    "policy_sha256": policy_digest(POLICY),
    "made_by": f"indistinct {ix.__version__}",
    "verdict": {
        "passed": True,
        "rows": 5,
        "groups": 2,
        "smallest_group": 2,
        "checks": [{"name": "columns", "passed": True, "detail": "3 columns"}],
    },
}
COLUMNS_CHECK = Check("columns", True, "3 columns")
K = "k-anonymity (k = 2) on quasi-identifier"
NOT_THOSE = "verdict does not list the checks that the recount makes"


def told(by: Policy = POLICY, found: Recount = FOUND, /, **changed: Any) -> str:
    """Return what is wrong with the manifest when some statements are changed; an ellipsis takes one out."""
    own = {"verdict": verdict(checks=[*MANIFEST["verdict"]["checks"], *in_people(by)])}
    said = {name: value for name, value in (MANIFEST | own | changed).items() if value is not ...}
    recount = [Check("k", False, "one fails")] if changed.get("verdict") is FAILED else [COLUMNS_CHECK]
    check = statements.manifest_check(said, by, found, recount)
    assert check.name == "manifest"
    assert check.passed is (check.detail == "the table has the counts of the manifest")
    return "" if check.passed else check.detail


def verdict(**changed: Any) -> dict[str, Any]:
    return MANIFEST["verdict"] | changed


def in_people(by: Policy) -> list[dict[str, Any]]:
    """Return the checks that are made while rows still say whose they are."""
    k = {"name": f"people: {K}", "passed": True, "detail": "2 groups, the smallest of 2 people"}
    rows = {"name": "people: manifest", "passed": True, "detail": "the rows have the people of the manifest"}
    return ([rows] if by.links_rows else [k, rows]) if by.person_columns else []


FAILED = verdict(passed=False, checks=[{"name": "k", "passed": False, "detail": "one fails"}])
TWO = {"quasi": ["class_id", "age", "sex"], "sensitive": ["class_id", "ill"]}
OF_TWO: dict[str, Any] = {"form": TWO_TABLES.stated, "not_protected": not_protected(POLICY)}
UNREAD = "unreadable names a column that the policy does not let be unreadable"
TOO_MANY = "drawn: there are not so many candidates"
OTHER_COLUMNS = "tables does not name the columns of the two tables"
LOCAL: dict[str, Any] = {"node": None, "level_names": ..., "mean_levels": {"age": 2, "sex": 1}}


def people(**changed: int) -> dict[str, int]:
    return {"eligible": 5, "released": 5, "lost_rows": 0, "lost_all_rows": 0, "smallest_group": 2} | changed


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, ""),
        ({"released": 4}, "released is 5, not 4; eligible is not released and suppressed together"),
        ({"groups": 3}, "groups is 2, not 3"),
        ({"smallest_group": 1}, "smallest_group is 2, not 1"),
        ({"eligible": 7}, "eligible is not released and suppressed together"),
        ({"eligible": ...}, ""),
        ({"people": people()}, ""),
        ({"people": people(released=4, lost_rows=1, lost_all_rows=1)}, ""),
        ({"people": people(eligible=6, lost_rows=1, lost_all_rows=1)}, ""),
        ({"people": people(smallest_group=1)}, ""),
        ({"people": people(smallest_group=1, smallest_profile=1)}, ""),
        ({"people": people(smallest_profile=5)}, ""),
        ({"people": people(released=6, eligible=9)}, "people: more are released than there are"),
        ({"people": people(released=4, eligible=3)}, "people: more are released than there are"),
        ({"people": {"eligible": 3}}, "people: a number is missing"),
        ({"people": dict.fromkeys(["eligible", "released", "smallest_profile"], 3)}, "people: a number is missing"),
        ({"people": people(lost_all_rows=1)}, "people: the numbers do not go together"),
        ({"people": people(released=4, lost_all_rows=1)}, "people: the numbers do not go together"),
        ({"people": people(lost_rows=2)}, "people: the numbers do not go together"),
        (
            {"people": people(eligible=7, lost_rows=2, lost_all_rows=2), "suppressed": 1},
            "people: the numbers do not go together",
        ),
        ({"people": people(smallest_group=0)}, "people: the numbers do not go together"),
        ({"people": people(smallest_group=3)}, "people: the numbers do not go together"),
        ({"people": people(smallest_profile=0)}, "people: the numbers do not go together"),
        ({"people": people(smallest_profile=6)}, "people: the numbers do not go together"),
        ({**OF_TWO, "tables": TWO}, ""),
        ({**OF_TWO, "tables": TWO | {"quasi": ["class_id", "age", "sex", "Ann"]}}, OTHER_COLUMNS),
        ({**OF_TWO, "tables": TWO | {"quasi": ["class_id", "age"]}}, OTHER_COLUMNS),
        ({**OF_TWO, "tables": TWO | {"Ann": ["age"]}}, OTHER_COLUMNS),
        ({**OF_TWO, "tables": {}}, OTHER_COLUMNS),
        ({**OF_TWO, "not_protected": "Ann has it"}, "not_protected is not what two tables leave open"),
        ({"tables": TWO}, "tables is not said of such a release"),
        ({"not_protected": "Ann has it"}, "not_protected is not said of such a release"),
        ({"link": "class_id"}, "link is not said of such a release"),
        ({"linked_tables": {"Ann": {}}}, "linked_tables is not said of such a release"),
        ({**OF_TWO, "linked_tables": {}}, "linked_tables is not said of such a release"),
        ({"based": True}, "based is said of releases with a ledger alone"),
        ({"based": True, "ledger_head": DIGEST}, ""),
        ({"bound": {"ncp": 0.0}, "gap": 0.1}, "bound is said of releases alone whose cells climb one by one"),
        ({"delimiter": ";", "files": {"table.parquet": DIGEST}}, "delimiter is said of text alone"),
        ({"delimiter": ";", "files": {"table.csv": DIGEST}}, ""),
        ({"unreadable": {"age": 1}}, UNREAD),
        ({"unreadable": {"age": 1}, "policy": {"columns": [{"unreadable": 1}]}}, f"{UNREAD}; policy is not the policy"),
        ({"unreadable": {"Ann": 1}}, UNREAD),
        ({"remark": "private", "groups": 3}, "1 statement that no manifest makes"),
        ({"heights": ...}, "heights are not stated, beyond which no level may lie"),
        ({"heights": ..., "node": None, "level_names": ...}, "node and mean_levels do not go together"),
        (
            {"heights": ..., "node": None, "level_names": ..., "mean_levels": {"age": 1.0, "sex": 1.0}},
            "heights are not stated, beyond which no level may lie",
        ),
        ({"measures": {"average-group-size": 2.5}}, ""),
        ({"measures": {"average-group-size": 2.6}}, "average-group-size is 2.5, not what is stated"),
        ({"measures": {"average-group-size": 2.6}, "policy_sha256": DIGEST}, ""),
        ({"measures": {"average-group-size": 2.6}, "groups": 3}, "groups is 2, not 3"),
        (
            {"measures": {"discernibility": 9.0}, "heights": ..., "node": None, "level_names": ...},
            "node and mean_levels do not go together",
        ),
        ({"perturbations": {"pay": {"noise": {}}}}, "perturbations are not those that the policy declares"),
        ({"dates_moved": {"days": 3}}, "dates_moved is not what the policy declares"),
        ({"heights": {"age": 2}}, "heights is not of the quasi columns"),
        ({"node": {"age": 1, "sex": 0, "ill": 0}}, "node is not of the quasi columns"),
        ({"level_names": {"age": "x"}}, "level_names is not of the quasi columns"),
        ({**LOCAL, "mean_levels": {"age": 1.0}}, "mean_levels is not of the quasi columns"),
        ({"bottom": {"sex": 1}}, "bottom is not of the quasi columns"),
        ({**LOCAL, "level_names": MANIFEST["level_names"]}, "node and level_names do not go together"),
        ({**LOCAL, "mean_levels": ...}, "node and mean_levels do not go together"),
        ({"level_names": ...}, "node and level_names do not go together"),
        (LOCAL, ""),
        ({"node": {"age": 3, "sex": 0}}, "node of 'age' is beyond its height"),
        ({**LOCAL, "mean_levels": {"age": 2.5, "sex": 0}}, "mean_levels of 'age' is beyond its height"),
        ({"mean_levels": {"age": 1.0, "sex": 0.0}}, "node and mean_levels do not go together"),
        ({"bottom": {"age": 0, "sex": 2}}, "bottom of 'sex' is beyond its height"),
        ({"heights": {"age": 3, "sex": 1}}, "heights of 'age' is not that of its hierarchy"),
        (
            {"level_names": MANIFEST["level_names"] | {"age": "x"}},
            "level_names of 'age' is not what its hierarchy calls the level",
        ),
        ({"policy": policy_described(POLICY)}, ""),
        ({"policy": policy_described(POLICY) | {"algorithm": "datafly"}}, ""),
        ({"policy": policy_described(POLICY) | {"max_suppression": 0.9}}, "policy is not the policy"),
        ({"policy": {}}, "policy is not the policy"),
        ({"drawn": {"k": 5}}, "drawn is not what the policy asks for"),
        ({"drawn": {"candidates": 7}}, "drawn is not what the policy asks for"),
        ({"policy_sha256": DIGEST, "drawn": {"k": 5}}, ""),
        ({"verdict": ...}, ""),
        ({"verdict": verdict(rows=6)}, "verdict.rows is 5, as is counted, not what it says"),
        ({"verdict": verdict(rows=5.0)}, "verdict.rows is 5, as is counted, not what it says"),
        ({"verdict": verdict(groups=1)}, "verdict.groups is 2, as is counted, not what it says"),
        ({"verdict": verdict(smallest_group=3)}, "verdict.smallest_group is 2, as is counted, not what it says"),
        ({"verdict": verdict(note="private")}, "verdict says what no verdict says"),
        ({"verdict": verdict(checks={})}, "verdict says what no verdict says"),
        ({"verdict": verdict(known=[{"on": "all"}])}, "verdict.known is not what is counted"),
        ({"verdict": verdict(known=[])}, ""),
        ({"verdict": verdict(checks=[1])}, "verdict has a check that is none"),
        ({"verdict": verdict(checks=[{"name": "x", "passed": True}])}, "verdict has a check that is none"),
        ({"verdict": verdict(checks=[{"name": "x", "passed": True, "detail": 1}])}, "verdict has a check that is none"),
        (
            {"verdict": verdict(checks=[{"name": "x", "passed": True, "detail": "y"}])},
            NOT_THOSE,
        ),
        (
            {"made_by": "indistinct 9", "verdict": verdict(checks=[{"name": "x", "passed": True, "detail": "y"}])},
            NOT_THOSE,
        ),
        ({"verdict": verdict(checks=[])}, NOT_THOSE),
        ({"verdict": verdict(checks=[{"name": "x", "passed": 1, "detail": "y"}])}, "verdict has a check that is none"),
        ({"policy": policy_described(POLICY) | {"algorithm": "Ann has it"}}, "policy is not the policy"),
        (
            {"verdict": verdict(checks=[{"name": "columns", "passed": True, "detail": "4 columns"}])},
            "verdict has a check that comes out otherwise",
        ),
        (
            {
                "made_by": "indistinct 0.0.1",
                "verdict": verdict(checks=[{"name": "columns", "passed": True, "detail": "4"}]),
            },
            "verdict has a check that comes out otherwise",
        ),
        (
            {
                "made_by": "indistinct 0.0.1",
                "verdict": verdict(checks=[{"name": "columns", "passed": False, "detail": "4"}]),
            },
            "verdict has a check that comes out otherwise; verdict, its checks and unsafe do not say the same",
        ),
        (
            {"policy_sha256": DIGEST, "verdict": verdict(checks=[{"name": "columns", "passed": True, "detail": "4"}])},
            "",
        ),
        (
            {"verdict": verdict(checks=[{"name": "columns", "passed": True, "detail": "3 columns"}] * 2)},
            NOT_THOSE,
        ),
        ({"verdict": verdict(passed=False)}, "verdict, its checks and unsafe do not say the same"),
        ({"unsafe": True}, "verdict, its checks and unsafe do not say the same"),
        ({"unsafe": True, "verdict": FAILED}, ""),
        ({"verdict": FAILED}, "verdict, its checks and unsafe do not say the same"),
    ],
)
def test_statements_are_compared_with_table_and_policy(changed: dict[str, Any], words: str) -> None:
    if "people" in changed:  # which only a policy gives cause to state that says whose rows they are
        assert told(OF_PEOPLE, **({"policy_sha256": policy_digest(OF_PEOPLE)} | changed)) == words
    else:
        assert told(**changed) == words


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"people": people()}, "people are stated, but the policy does not say whose rows they are"),
        ({"pseudonym_salt": "0" * 32}, "a salt is stated, but the policy has no pseudonyms"),
        ({"bottom": {"age": 0, "sex": 0}}, "bottom is stated, but it is that of all tables"),
        ({"bottom": {"age": 0, "sex": 1}}, ""),
        ({"is_cut_short": True}, ""),
        ({"is_proven": True, "gap": 0.0}, ""),
        (
            {"is_cut_short": True, "is_proven": True, "gap": 0.0},
            "is_cut_short and is_proven are not said of one algorithm",
        ),
    ],
)
def test_what_a_policy_gives_no_cause_to_state_is_refused(changed: dict[str, Any], words: str) -> None:
    assert told(**changed) == words


def test_one_person_may_be_released_alone() -> None:
    alone = dict.fromkeys(("eligible", "released", "smallest_group"), 1) | dict.fromkeys(
        ("lost_rows", "lost_all_rows"), 0
    )
    said = {"people": alone, "released": 1, "suppressed": 0, "smallest_group": 1}
    assert statements._people_mistakes(said) == []
    assert statements._people_mistakes(said | {"people": alone | {"smallest_profile": 2}}) != []


def test_a_salt_goes_with_pseudonyms() -> None:
    linked = Policy(COLUMNS, [ix.KAnonymity(2)], person={"column": "who", "release": "pseudonym"})
    numbered = Policy(COLUMNS | {"no": ix.identifier(pseudonym=True)}, [ix.KAnonymity(2)])
    for by in (linked, numbered):
        assert told(by, pseudonym_salt="0" * 32, policy_sha256=policy_digest(by)) == ""


def test_a_stated_policy_may_be_the_one_that_is_asked_for() -> None:
    own = {"policy": policy_described(POLICY), "policy_sha256": DIGEST}
    said = MANIFEST | own | {"measures": {"average-group-size": 2.6}}
    assert statements.manifest_check(said, POLICY, FOUND, [COLUMNS_CHECK]).passed
    assert not statements.manifest_check(said, POLICY, FOUND, [COLUMNS_CHECK], is_stated=True).passed


def test_checks_of_people_have_their_words_and_no_others() -> None:
    """The release does not tell whose its rows are, so their outcome cannot be counted again."""
    of_people = replace(POLICY, person=Person("id"))
    own = {"policy_sha256": policy_digest(of_people)}

    columns, (k, rows) = MANIFEST["verdict"]["checks"][0], in_people(of_people)

    def said(*checks: dict[str, Any]) -> str:
        return told(of_people, verdict=verdict(checks=[columns, *checks]), **own)

    assert said(k, rows) == said(k | {"detail": "1 profile, the smallest of 1,000 people"}, rows) == ""
    uncounted = {"name": NOT_COUNTED.name, "passed": True, "detail": NOT_COUNTED.detail}
    for others in ((), (k,), (rows,), (rows, k), (k, rows, rows), (uncounted,), (k | {"name": "people: Ann"}, rows)):
        assert said(*others) == NOT_THOSE
    assert said(k | {"name": f"people: {K}".replace("= 2", "= 9")}, rows) == NOT_THOSE
    otherwise = "verdict has a check that comes out otherwise"
    assert said(k | {"detail": "2 groups, the smallest of 2 people, Ann among them"}, rows) == otherwise
    assert said(k | {"detail": rows["detail"]}, rows) == said(k, rows | {"detail": k["detail"]}) == otherwise
    assert said(k | {"passed": False}, rows).startswith(otherwise), "what fails says something else"
    blank = replace(of_people, suppressed_rows="blank")
    nobody = {"policy_sha256": policy_digest(blank), "released": 4, "eligible": 5}
    assert told(blank, verdict=verdict(checks=[columns, k]), **nobody) == ""  # which people are blank is not told
    assert told(blank, verdict=verdict(checks=[columns, k, rows]), **nobody) == NOT_THOSE


EVERY_MEASURE = (*OF_ALL_RELEASES, *OF_ORIGINAL)


def test_measures_that_were_not_worked_out_are_named() -> None:
    said = {"measures": {"precision": 1.0, "loss": 0.5, "own": 1.0, "mine": 2.0}}
    (words,) = statements.unchecked_statements(said, has_original=True, measured=OF_ALL_RELEASES)
    assert words == "what the manifest says of the measures loss, 2 of others"
    (words,) = statements.unchecked_statements(said, has_original=True, measured=EVERY_MEASURE)
    assert words == "what the manifest says of the measures 2 of others"
    known = {"measures": {"precision": 1.0, "loss": 0.5}}
    assert statements.unchecked_statements(known, has_original=True, measured=EVERY_MEASURE) == ()
    (words,) = statements.unchecked_statements(known, has_original=True, measured=OF_ALL_RELEASES)
    assert words == "what the manifest says of the measures loss"
    assert statements.unchecked_statements({"measures": 5}, has_original=True, measured=EVERY_MEASURE) == ()


def test_blank_rows_are_a_group_that_the_manifest_leaves_out() -> None:
    blank = replace(POLICY, suppressed_rows="blank")
    said = {"policy_sha256": policy_digest(blank)}
    assert told(blank, Recount((), numbers(1, 2, 3), 6), verdict=..., **said) == ""
    assert told(blank, FOUND, verdict=..., **said) == "released is 4, not 5"
    none = {"suppressed": 0, "eligible": 5, "verdict": ...}
    assert told(blank, FOUND, **none, **said) == ""
    assert told(blank, FOUND, **none, **said, groups=3) == "groups is 2, not 3"
    apart = {"form": "two-tables", "not_protected": NOT_PROTECTED, "level_names": ..., "node": {"age": 0, "sex": 0}}
    asks = replace(POLICY, privacy=(ix.LDiversity(2),))
    own = {"policy_sha256": policy_digest(asks)}
    assert told(asks, **apart, **own) == ""
    assert (
        told(asks, **(apart | {"not_protected": "nothing"}), **own) == "not_protected is not what two tables leave open"
    )
    blank_asks = replace(asks, suppressed_rows="blank")
    assert told(blank_asks, **apart, policy_sha256=policy_digest(blank_asks)) == ""  # two tables have no blank rows


def test_what_is_drawn_and_moved_follows_from_the_policy() -> None:
    model = ix.DifferentialPrivacy(1.0, 1e-5)
    drawn = Policy({"age": COLUMNS["age"], "sex": COLUMNS["sex"]}, [model, ix.KAnonymity(500)], algorithm="safepub")
    said = {**model.expenses(), "k": 500}
    own = {"policy_sha256": policy_digest(drawn), "verdict": ...}
    for number, complaint in ((6, ""), (1, ""), (7, TOO_MANY), (0, TOO_MANY), (6.0, TOO_MANY), (None, TOO_MANY)):
        found = said if number is None else {**said, "candidates": number}
        assert told(drawn, drawn=found, **own) == complaint
    said["candidates"] = 6
    assert told(drawn, drawn={**said, "k": model.k}, **own) == "drawn is not what the policy asks for"
    assert told(drawn, drawn={**said, "k": 500.0}, **own) == "drawn is not what the policy asks for"
    assert told(drawn, drawn=said, measures={"average-group-size": 2.5}, **own) == ""
    telling = "measures are stated that compare with rows that were not drawn"
    assert told(drawn, drawn=said, measures={"completeness": 5 / 6}, **own) == telling
    assert told(drawn, **own) == "drawn is not what the policy asks for"
    moved = replace(
        POLICY, columns=COLUMNS | {"day": ix.other(shift=ix.DateShift(30))}, person=Person("id", release="pseudonym")
    )
    own = {"policy_sha256": policy_digest(moved), "verdict": ...}
    assert told(moved, dates_moved={"days": 30}, **own) == ""
    assert told(moved, dates_moved={"days": 31}, **own) == "dates_moved is not what the policy declares"
    assert told(moved, dates_moved={"days": 30, "more": 1}, **own) == "dates_moved is not what the policy declares"


def test_levels_of_hierarchies_that_follow_from_values_are_not_compared() -> None:
    free = replace(POLICY, columns=COLUMNS | {"age": ix.quasi(ix.prefix())})
    said = {"policy_sha256": policy_digest(free), "verdict": ..., "heights": {"age": 9, "sex": 1}}
    said |= {"level_names": MANIFEST["level_names"] | {"age": "8 characters"}}
    assert told(free, **said) == ""
    assert told(free, **said | {"heights": {"age": 9, "sex": 2}}) == "heights of 'sex' is not that of its hierarchy"


def test_what_was_not_checked_is_said() -> None:
    none = statements.unchecked_statements({}, has_original=True, measured=EVERY_MEASURE)
    assert none == ()
    alone = statements.unchecked_statements({}, has_original=False, measured=OF_ALL_RELEASES)
    assert alone == ("what the manifest says of how many rows were suppressed, the level of each column",)
    both = {"gap": 0, "unreadable": {}, "mean_levels": {}}
    assert statements.unchecked_statements(both, has_original=True, measured=EVERY_MEASURE) == (
        "what the manifest says of how far it can be from the best",
    )
    (words,) = statements.unchecked_statements(both, has_original=True, measured=OF_ALL_RELEASES)
    assert words.endswith("how far it can be from the best, how far columns were generalized on average")
    (words,) = statements.unchecked_statements(both, has_original=False, measured=OF_ALL_RELEASES)
    assert "how many cells could not be read" in words


# Checks that all forms share


@dataclass(frozen=True, slots=True)
class Judged(Checked):
    subject = "table"


def test_checks_together() -> None:
    good, bad = Check("one", True, "fine"), Check("two", False, "not fine")
    assert Judged((good,)).passed
    assert not Judged((good, bad)).passed
    Judged((good,)).raise_if_failed()
    with pytest.raises(ix.VerificationError, match=r"^the table does not verify: two: not fine; two: not fine$"):
        Judged((bad, good, bad)).raise_if_failed()
    assert Judged((good, bad))._report("5 rows") == "FAILED: 5 rows\n✓ one: fine\n✗ two: not fine"
    assert Judged((good,))._report("5 rows") == "passed: 5 rows\n✓ one: fine"
    assert Judged((bad,))._checks_as_json() == [{"name": "two", "passed": False, "detail": "not fine"}]
    assert Recount((), numbers(3, 2), 5).smallest == 2
    assert Recount((), numbers(), 0).smallest == 0
    assert Recount((), numbers(), 4).smallest == 4


def test_columns_that_should_not_be_there() -> None:
    policy = Policy(
        {"name": ix.identifier(), "age": ix.quasi(rename="years"), "ill": ix.sensitive(), "gone": ix.drop()},
        [ix.KAnonymity(2)],
    )

    def said(*columns: str) -> str:
        check = shared.columns_check(columns, ("age", "ill"), policy)
        assert check.passed is ("no identifier" in check.detail)
        return check.detail

    assert said("age", "ill") == "2 columns, no identifier"
    assert said("age", "ill", "name") == "identifier 'name' is left in"
    assert said("age", "ill", "town") == "'town' is not in the policy"
    assert said("age") == "'ill' is missing"
    assert shared.columns_check(["age", "ill"], ("age",), policy).detail == "'ill' is not released here"
    assert shared.columns_check(["age", "name"], ("age", "name"), policy).passed
    assert said("ill") == "'years', which is 'age' of the policy, is missing"
    assert "should be called 'years'" in said("age", "ill", ix.policy.released_names.not_renamed("age"))  # type: ignore[attr-defined]


def test_limits_and_claims() -> None:
    assert shared.limit_checks(replace(POLICY, max_suppression=None), 5, 10) == []
    assert shared.limit_checks(POLICY, 5, 10) == [
        Check("suppression limit", True, "5 of 10 rows suppressed, 5 allowed")
    ]
    assert not shared.limit_checks(POLICY, 6, 10)[0].passed
    assert shared.claim_checks(None, 3) == shared.claim_checks(3, 3) == []
    assert shared.claim_checks(2, 3) == [
        Check("suppressed rows", False, "the release says 2, but 3 rows are missing from it")
    ]


def test_a_model_on_counted_groups() -> None:
    groups = Groups.of_sizes([1, 2, 4])
    assert shared.model_check(ix.KAnonymity(1, "work"), groups, "work") == Check(
        "k-anonymity (k = 1) on work", True, "3 groups, the smallest of 1 row"
    )
    assert shared.model_check(ix.KAnonymity(3), groups, "all", "class", "person") == Check(
        "k-anonymity (k = 3) on all", False, "2 of 3 classes fail, 3 people in them"
    )
    assert shared.model_check(ix.KAnonymity(1), Groups.of_sizes([4]), "all").detail == "1 group, the smallest of 4 rows"


def test_cells_that_cannot_be_read() -> None:
    def said(found: Mapping[str, int] | None, claimed: Mapping[str, int] | None) -> list[Check]:
        return shared.unreadable_checks(SimpleNamespace(unreadable=found), claimed)  # type: ignore[arg-type]

    assert said({}, {}) == said({}, None) == []
    claimed = [Check("unreadable cells", False, "the release says 3 in 'age', but there are none")]
    assert said({}, {"age": 3}) == said(None, {"age": 3}) == claimed
    assert said({"age": 1000}, None) == [
        Check("unreadable cells", True, "1,000 in 'age', dealt with as the policy says")
    ]
    assert said({"age": 2}, {"age": 2})[0].passed
    assert said({"age": 2}, {}) == [Check("unreadable cells", False, "the release says none, but there are 2 in 'age'")]
    assert said({"age": 2}, {"age": 3})[0].detail == "the release says 3 in 'age', but there are 2 in 'age'"


def test_cells_of_released_tables() -> None:
    policy = Policy(
        {
            "id": ix.identifier(pseudonym=True),
            "age": ix.quasi(AGES, min_level=1),
            "ill": ix.sensitive(missing=["9"]),
            "note": ix.other(),
        },
        [ix.KAnonymity(1)],
        suppressed_rows="blank",
    )
    with open_table(table(id=["0" * 32, "f" * 32], age=["1-2", None], ill=["a", None], note=["n", None])) as rows:
        assert shared.pseudonym_checks(rows, policy) == [
            Check("pseudonyms in id", True, "32 hexadecimal digits in every row")
        ]
        assert shared.level_checks(rows, policy) == [
            Check("level of age", True, "no value of the table is shown below level 1")
        ]
        recoded = Policy({"sex": ix.quasi(), "age": ix.sensitive(recode=AGES, recode_level=2)}, [ix.KAnonymity(1)])
        assert [check.passed for check in shared.level_checks(rows, recoded)] == [True]
        assert shared.code_checks(rows, policy, ["ill", "note"]) == [
            Check("missing cells in ill", True, "no cell shows a code that means missing")
        ]
        assert shared.count_blank_rows(rows, policy) == 1
        assert shared.count_blank_rows(rows, replace(policy, suppressed_rows="remove")) == 0
    with open_table(table(id=["Ann", None, "0" * 33], age=["1", "2", "*"], ill=["9", "9", "a"])) as rows:
        assert shared.pseudonym_checks(rows, policy) == [Check("pseudonyms in id", False, "3 values are none")]
        assert [check.passed for check in shared.level_checks(rows, recoded)] == [False]
        (level,) = shared.level_checks(rows, policy)
        assert (level.passed, level.detail[:16]) == (False, "2 labels are fin")
        (code,) = shared.code_checks(rows, policy, ["ill"])
        assert (code.passed, code.detail[:13]) == (False, "2 cells show ")
        assert shared.count_blank_rows(rows, policy) == 0
    with open_table(table(sex=["f"])) as rows:
        assert shared.pseudonym_checks(rows, policy) == shared.level_checks(rows, policy) == []
        assert shared.code_checks(rows, policy, ["ill"]) == []


def test_groups_with_their_sensitive_values() -> None:
    policy = Policy({"age": ix.quasi(), "ill": ix.sensitive(AGES), "job": ix.sensitive()}, [ix.LDiversity(1)])
    with open_table(table(age=["x", "y", "y", "y"], ill=["1", "2", "2", "3"], job=["a", "b", "c", "c"])) as rows:
        groups = shared.counted_groups(rows, ["age"], policy, ix.LDiversity(1))
        assert sorted(groups.sizes.tolist()) == [1, 3]
        ill, job = groups.tallies["ill"], groups.tallies["job"]
        assert sorted(map(sorted, ill.dense(2).tolist())) == [[0, 0, 1], [0, 1, 2]]
        assert ill.texts == ("1", "2", "3")
        assert ill.hierarchy is not None
        assert job.hierarchy is None
        assert shared.counted_groups(rows, ["age"], policy, ix.LDiversity(1, column="job")).tallies.keys() == {"job"}
        assert len(shared.counted_groups(rows, ["age"], policy, ix.KAnonymity(1))) == 0
        by_tree = ix.TCloseness(1, "hierarchical", column="job")
        groups = shared.counted_groups(rows, ["age"], policy, by_tree)
        with pytest.raises(ix.PolicyError, match="needs a hierarchy"):
            by_tree.satisfied(groups)


# Few known columns


def test_groups_by_some_columns() -> None:
    """a: 0 0 1 1, b: 0 1 0 1, of 1, 2, 3 and 4 rows."""
    tuples = CodedTuples(("a", "b"), np.array([[0, 0, 1, 1], [0, 1, 0, 1]]), numbers(1, 2, 3, 4))
    assert tuples.sizes_by(["a"]).tolist() == [3, 7]
    assert tuples.sizes_by(["b"]).tolist() == [4, 6]
    assert tuples.sizes_by(["a", "b"]).tolist() == [1, 2, 3, 4]
    people = replace(tuples, persons=numbers(0, 0, 1, 2))
    assert people.sizes_by(["a"]).tolist() == [1, 2]
    assert people.sizes_by(["b"]).tolist() == [2, 2]
    with open_table(table(a=["x", "x", "y"], b=["p", "q", "p"], who=["ann", "bob", "ann"])) as rows:
        counted = CodedTuples.of(rows, ["a", "b"], ["who"])
        assert counted.persons is not None
        assert len(set(counted.persons.tolist())) == 2
        assert sorted(counted.sizes_by(["a"]).tolist()) == [1, 2]
        assert sorted(counted.sizes_by(["b"]).tolist()) == [1, 1]
        assert CodedTuples.of(rows, ["a"]).persons is None
        assert sorted(CodedTuples.of(rows, ["a"]).counts.tolist()) == [1, 2]


def test_many_combinations_are_numbered_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.array([[0, 3, 1, 3], [2, 0, 2, 0], [1, 1, 0, 1]])
    for most in (1 << 20, 1):
        monkeypatch.setattr(known_columns, "MOST_PLACES", most)
        found = known_columns._combination_numbers(list(rows))
        assert [(found == one).sum() for one in found] == [1, 2, 1, 2]
    monkeypatch.setattr(known_columns, "MOST_PLACES", 1)
    wide = known_columns._combination_numbers([np.arange(40), np.arange(40), np.arange(40)])
    assert sorted(wide.tolist()) == list(range(40))


def test_what_few_known_columns_find() -> None:
    tuples = CodedTuples(("a", "b", "c"), np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]]), numbers(1, 2, 3, 4))
    model = ix.KAnonymity(4, known=1)
    found = KnownColumns.count(model, "all", ("a", "b", "c"), tuples)
    assert found == KnownColumns("all", 1, 3, 3, smallest=3, where=("a",), failing_sets=1, failing_groups=1)
    assert found.in_words == "any one of 3 quasi columns is shared by at least 3 rows"
    assert found.check(model) == Check(
        "k-anonymity (k = 4, known = 1) on all",
        False,
        "1 of 3 sets of 1 column fail, in 1 group; the smallest has 3 rows, by a",
    )
    assert found.to_dict() == {"on": "all", "known": 1, "columns": 3, "sets": 3, "smallest": 3}
    two = KnownColumns.count(ix.KAnonymity(1, known=2), "all", ("a", "b", "c"), tuples, "person")
    assert (two.sets, two.smallest, two.where, two.failing_sets) == (3, 1, ("a", "b"), 0)
    assert two.in_words == "any 2 of 3 quasi columns together are shared by at least 1 person"
    assert two.check(ix.KAnonymity(1, known=2)).detail == f"{two.in_words}; 3 sets of columns counted"
    one_set = KnownColumns.count(ix.KAnonymity(1, known=3), "all", ("a", "b", "c"), tuples)
    assert (one_set.sets, one_set.known, one_set.smallest) == (1, 3, 1)
    later = KnownColumns.count(model, "all", ("c", "b", "a"), tuples)
    assert (later.smallest, later.where) == (3, ("a",))
    tied = KnownColumns.count(model, "all", ("b", "c"), tuples)
    assert (tied.smallest, tied.where) == (4, ("b",))
    none = CodedTuples(("a", "b"), np.zeros((2, 0), np.int64), numbers())
    assert KnownColumns.count(model, "all", ("a", "b"), none).smallest == 0
    many = KnownColumns.count(ix.KAnonymity(5, known=2), "all", ("a", "b", "c"), tuples)
    assert (many.failing_sets, many.failing_groups) == (3, 10)
    assert knows_few(model, ["a", "b"])
    assert not knows_few(model, ["a"])
    assert not knows_few(ix.KAnonymity(2), ["a", "b"])


# The verdict itself


def test_a_verdict_in_words() -> None:
    good = Check("columns", True, "fine")
    found = Verdict((good,), 1234, 1, 1)
    assert found.groups_in_words == "1 group"
    assert str(found) == "passed: 1,234 rows, 1 group, smallest 1\n✓ columns: fine"
    assert found.to_dict() == {
        "passed": True,
        "rows": 1234,
        "groups": 1,
        "smallest_group": 1,
        "checks": [{"name": "columns", "passed": True, "detail": "fine"}],
    }
    known = KnownColumns("all", 1, 3, 3, 3, ("a",), 0, 0)
    more = replace(found, noun="class", groups=2, known=(known,), not_checked=("this", "that"))
    assert str(more).startswith("passed: 1,234 rows, 2 classes, smallest 1; any one of 3 quasi columns")
    assert str(more).endswith("\n– not checked: this\n– not checked: that")
    assert more.known_in_words == known.in_words
    assert replace(more, known=(known, replace(known, on="work"))).known_in_words == (
        f"{known.in_words} on all; {known.in_words} on work"
    )
    assert more.to_dict()["known"] == [known.to_dict()]
    assert more.to_dict()["not_checked"] == ["this", "that"]
    people = Check("people: k", True, "fine")
    counted = replace(found, checks=(good, NOT_COUNTED)).with_people([people, good])
    assert counted.checks == (good, people)
    assert found.with_people([]) is found


def test_checks_of_people_are_those_of_a_policy_that_counts_people() -> None:
    checks = [*MANIFEST["verdict"]["checks"], *in_people(OF_PEOPLE)]
    assert told(OF_PEOPLE, policy_sha256=policy_digest(OF_PEOPLE), verdict=verdict(checks=checks)) == ""
    assert told(verdict=verdict(checks=checks)) == NOT_THOSE
    assert told(verdict=verdict(checks=[checks[0] | {"name": 1}])) == "verdict has a check that is none"


def test_options_of_draws_may_stand_in_any_order() -> None:
    model = ix.DifferentialPrivacy(1.0, 1e-5)
    drawn = Policy({"age": COLUMNS["age"], "sex": COLUMNS["sex"]}, [model], algorithm="safepub")
    said = {"candidates": 6, **dict(reversed(model.expenses().items()))}
    own = {"policy_sha256": policy_digest(drawn), "verdict": ...}
    every = {"precision": 5 / 6, "discernibility": 19.0, "average-group-size": 2.5, "distinct-tuples": 2.0}
    assert told(drawn, drawn=said, measures=every | {"precision": 0.625}, **own) == ""


def test_cells_that_a_policy_lets_be_unreadable_may_be_stated() -> None:
    lax = replace(POLICY, columns=COLUMNS | {"age": ix.quasi(AGES, unreadable="missing")})
    own = {"policy_sha256": policy_digest(lax), "verdict": ...}
    assert told(lax, unreadable={"age": 1}, **own) == told(lax, unreadable={}, **own) == ""
    assert told(lax, unreadable={"sex": 1}, **own) == UNREAD
    rules = {"columns": {"age": {"unreadable": "missing"}, "sex": {}, "ill": "unreadable"}}
    assert not _name_mistakes({"unreadable": {"age": 1}, "policy": rules}, POLICY)
    assert _name_mistakes({"unreadable": {"sex": 1}, "policy": rules}, POLICY) == [UNREAD]
    assert _name_mistakes({"unreadable": {"ill": 1}, "policy": rules}, POLICY) == [UNREAD]
