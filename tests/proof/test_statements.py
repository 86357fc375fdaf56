"""What a manifest states, rule by rule: which statement is wrong beside the tables, the policy and the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import indistinct as ix
from indistinct.policy import Person, Policy
from indistinct.policy.stated_policy import StatedPolicy, policy_digest
from indistinct.proof.checks import Check, Recount, model_numbers
from indistinct.proof.stated_measures import FROM_ORIGINAL, FROM_STATEMENTS, STATED_OF_DRAWN, measures_from_statements
from indistinct.proof.statements import RULES, manifest_check, search_check, unchecked_statements
from indistinct.recoding.classes import LINK, not_protected
from indistinct.release.manifest import Manifest, StatedCheck, StatedVerdict, who_checks

DIGEST = "0" * 64
NOTE = "Ann has it"
AGES = ix.levels([["1", "1-2", "*"], ["2", "1-2", "*"], ["3", "3-4", "*"], ["4", "3-4", "*"]])
COLUMNS = {"age": ix.quasi(AGES), "sex": ix.quasi(ix.suppress()), "ill": ix.sensitive()}
POLICY = Policy(COLUMNS, [ix.KAnonymity(2)], max_suppression=0.5)
OF_PEOPLE = replace(POLICY, person=Person("who"))
ASKS = replace(POLICY, privacy=(ix.LDiversity(2),))
K = Check(
    "model.k-anonymity",
    True,
    model_numbers({"k": 2}, "quasi-identifier") | {"groups": 2, "noun": "group", "unit": "row", "smallest": 2},
)
CHECKS = (Check("cells.columns", True, {"columns": 3}), K)
FOUND = Recount(CHECKS, np.array([2, 3]), 5)
ALL_MEASURES = (*FROM_STATEMENTS, *FROM_ORIGINAL)


def document(by: Policy = POLICY, checks: Sequence[Check] = CHECKS, /, **changed: Any) -> dict[str, Any]:
    """Return a manifest as JSON has it, with some statements changed; an ellipsis takes one out."""
    said: dict[str, Any] = {
        "form": "one table",
        "eligible": 6,
        "released": 5,
        "suppressed": 1,
        "groups": 2,
        "smallest_group": 2,
        "tables": {"table": {"columns": list(by.released_columns), "delimiter": ","}},
        "node": {"age": 1, "sex": 0},
        "level_names": {"age": AGES.level_names[1], "sex": "value"},
        "heights": {"age": 2, "sex": 1},
        "measures": {},
        "is_proven": True,
        "gap": 0.0,
        "algorithm": "lattice",
        "options": {},
        "search": {"blind": True, "randomised": False},
        "policy_sha256": policy_digest(by),
        "format": 3,
        "made_by": f"indistinct {ix.__version__}",
        "made_at": "2026-11-18T10:00:00+00:00",
        "policy": StatedPolicy.of(by).to_dict(),
        "verdict": verdict(*checks),
        "files": {"table.csv": DIGEST},
    }
    return {name: value for name, value in (said | changed).items() if value is not ...}


def verdict(*checks: Check, **changed: Any) -> dict[str, Any]:
    found = {"passed": all(check.passed for check in checks), "rows": 5, "groups": 2, "smallest_group": 2}
    return found | {"checks": [check.to_dict() for check in checks]} | changed


def measured(said: dict[str, Any], policy: Policy, found: Recount) -> Manifest:
    """Return a manifest that states the measures that follow from it, if it states none of its own."""
    made = Manifest.model_validate_json(json.dumps(said))
    if made.measures or policy.tables:
        return made
    names = STATED_OF_DRAWN if made.drawn is not None or made.options.get("random_raise") else ALL_MEASURES
    try:
        figures = measures_from_statements(made, policy, found.sizes)
    except KeyError:  # levels are wrong, which is said for itself
        figures = {}
    own = {name: figures[name].low if name in figures else 0.5 for name in names}
    own |= {name: min(value, 1.0) for name, value in own.items() if name in ("precision", "accuracy", "completeness")}
    return made.model_copy(update={"measures": own})


def wrong(by: Policy = POLICY, found: Recount = FOUND, /, *, is_stated: bool = False, **changed: Any) -> list[str]:
    """Return the statements that are wrong when some are changed."""
    said = measured(document(by, changed.pop("checks", CHECKS), **changed), by, found)
    check = manifest_check(said, by, found, list(FOUND.checks), is_stated=is_stated)
    assert check.id == "manifest.statements"
    assert check.passed is ("wrong" not in check.numbers)
    return list(check.numbers.get("wrong", []))


def test_every_statement_has_a_rule_and_somebody_who_can_check_it() -> None:
    assert RULES.keys() == Manifest.model_fields.keys()
    assert all(who_checks(name).since == 3 for name in Manifest.model_fields)
    unnamed = [
        name for name in Manifest.model_fields if who_checks(name).by == "nobody" and not who_checks(name).unchecked
    ]
    assert unnamed == []


LOCAL: dict[str, Any] = {
    "node": ...,
    "level_names": ...,
    "mean_levels": {"age": 2.0, "sex": 1.0},
    "algorithm": "mondrian",
    "is_proven": ...,
    "gap": ...,
}
TWO: dict[str, Any] = {
    "form": "two tables",
    "tables": {"quasi": {"columns": [LINK, "age", "sex"]}, "sensitive": {"columns": [LINK, "ill"]}},
    "files": {"quasi.parquet": DIGEST, "sensitive.parquet": DIGEST},
    "link": LINK,
    "not_protected": not_protected(POLICY),
    "level_names": ...,
    "node": {"age": 0, "sex": 0},
    "algorithm": "anatomy",
    "is_proven": ...,
    "gap": ...,
}


@pytest.mark.parametrize(
    ("changed", "statements"),
    [
        ({}, []),
        ({"released": 4, "eligible": 5}, ["released"]),
        ({"eligible": 7}, ["eligible"]),
        ({"groups": 3}, ["groups"]),
        ({"smallest_group": 1}, ["smallest_group"]),
        (
            {
                "people": dict.fromkeys(["eligible", "released", "smallest_group"], 5)
                | {"lost_rows": 0, "lost_all_rows": 0}
            },
            ["people"],
        ),
        ({"tables": {}}, ["tables"]),
        ({"tables": {"table": {"columns": ["age", "sex", "ill"]}}}, ["tables"]),
        ({"tables": {"table": {"columns": ["age", "sex", "ill", "Ann"], "delimiter": ","}}}, ["tables"]),
        ({"tables": {"table": {"columns": ["age", "sex", "ill"], "delimiter": ",", "eligible": 6}}}, ["tables"]),
        ({"files": {"table.parquet": DIGEST}}, ["tables"]),
        ({"link": LINK}, ["link"]),
        ({"not_protected": NOTE}, ["not_protected"]),
        (TWO, []),
        (TWO | {"not_protected": NOTE}, ["not_protected"]),
        (TWO | {"link": ...}, ["link"]),
        (TWO | {"tables": {"quasi": {"columns": [LINK, "age"]}, "sensitive": {"columns": [LINK, "ill"]}}}, ["tables"]),
        (TWO | {"level_names": {"age": "value", "sex": "value"}}, ["level_names"]),
        (TWO | {"algorithm": "lattice", "is_proven": False}, ["algorithm"]),
        (LOCAL, []),
        (LOCAL | {"mean_levels": {"age": 1.0}}, ["mean_levels"]),
        (LOCAL | {"mean_levels": {"age": 2.5, "sex": 0.0}}, ["mean_levels"]),
        (LOCAL | {"mean_levels": ...}, ["mean_levels"]),
        (LOCAL | {"algorithm": "lattice", "is_proven": False}, ["algorithm"]),
        (LOCAL | {"algorithm": "lattice", "is_proven": False, "ledger_head": DIGEST}, []),
        (LOCAL | {"level_names": {"age": "value", "sex": "value"}}, ["level_names"]),
        ({"algorithm": "mondrian", "is_proven": ..., "gap": ...}, ["algorithm"]),
        ({"algorithm": "of-others", "is_proven": ..., "gap": ...}, []),
        ({"mean_levels": {"age": 1.0, "sex": 0.0}}, ["mean_levels"]),
        ({"node": {"age": 3, "sex": 0}}, ["node", "level_names"]),
        ({"node": {"age": 1}}, ["node", "level_names"]),
        ({"level_names": {"age": "x", "sex": "value"}}, ["level_names"]),
        ({"level_names": ...}, ["level_names"]),
        ({"heights": {"age": 3, "sex": 1}}, ["heights"]),
        ({"heights": {"age": 2}}, ["node", "level_names", "heights"]),
        ({"start_node": {"age": 0, "sex": 1}}, ["start_node"]),
        ({"start_node": {"age": 0, "sex": 1}, "limits": {"max_tuples": 5}}, []),
        ({"start_node": {"age": 0, "sex": 0}, "limits": {"max_tuples": 5}}, ["start_node"]),
        ({"start_node": {"age": 0, "sex": 2}, "limits": {"max_tuples": 5}}, ["start_node"]),
        ({"unreadable": {"age": 1}}, ["unreadable"]),
        ({"perturbations": {"ill": {"noise": {"scale": 1.0, "kind": "laplace"}}}}, ["perturbations"]),
        ({"dates_moved": {"days": 3}}, ["dates_moved"]),
        (
            {
                "drawn": dict.fromkeys(["epsilon", "epsilon_of_levels", "delta", "sampled"], 0.5)
                | {"k": 2, "candidates": 1}
            },
            ["drawn"],
        ),
        ({"measures": dict.fromkeys(ALL_MEASURES, 0.5)}, ["measures"]),
        ({"measures": dict.fromkeys(STATED_OF_DRAWN, 0.5)}, ["measures"]),
        ({"measures": dict.fromkeys(ALL_MEASURES, 0.5), "policy_sha256": DIGEST}, []),
        ({"measures": dict.fromkeys(ALL_MEASURES, 0.5) | {"loss": 1.5}, "policy_sha256": DIGEST}, ["measures"]),
        ({"is_proven": ..., "gap": ...}, ["is_proven"]),
        ({"is_proven": False}, ["gap"]),
        ({"is_proven": False, "gap": 0.5}, []),
        ({"is_proven": False, "gap": ...}, []),
        ({"gap": ...}, ["gap"]),
        (LOCAL | {"gap": 0.5}, ["gap"]),
        (LOCAL | {"bound": {"ncp": 0.5}}, ["gap", "bound"]),
        (LOCAL | {"bound": {"ncp": 0.2}, "gap": 0.3}, []),
        (LOCAL | {"bound": {"ncp": 0.2}, "gap": 0.2}, ["bound"]),
        (LOCAL | {"bound": {"ncp": 0.6}, "gap": 0.0}, ["bound"]),
        (LOCAL | {"bound": {"own": 0.2}, "gap": 0.9}, []),
        ({"bound": {"ncp": 0.5}}, ["bound"]),
        ({"is_cut_short": True}, ["is_cut_short"]),
        (LOCAL | {"is_cut_short": True}, []),
        (LOCAL | {"options": {"random_raise": 0.1}}, []),
        (LOCAL | {"options": {"random_raise": 0.1}, "is_cut_short": True}, ["is_cut_short"]),
        (LOCAL | {"options": {"random_raise": 0.1}, "bound": {"ncp": 0.2}, "gap": 0.3}, ["gap", "bound"]),
        (LOCAL | {"options": {"random_raise": -1}}, ["options"]),
        ({"options": {"measure": "loss"}}, []),
        ({"options": {"note": 1}}, ["options"]),
        ({"algorithm": "chosen", "options": {"node": {"age": 1, "sex": 0}}, "is_proven": ..., "gap": ...}, []),
        ({"algorithm": "chosen", "options": {"node": {"age": 2}}, "is_proven": ..., "gap": ...}, ["options"]),
        ({"algorithm": "chosen", "options": {"node": {NOTE: 1}}, "is_proven": ..., "gap": ...}, ["options"]),
        ({"algorithm": "of-others", "options": {"set": ["age", 5]}, "is_proven": ..., "gap": ...}, []),
        ({"algorithm": "of-others", "options": {"set": [NOTE]}, "is_proven": ..., "gap": ...}, ["options"]),
        ({"pseudonym_salt": "0" * 32}, ["pseudonym_salt"]),
        ({"based": True}, ["based"]),
        ({"based": True, "ledger_head": DIGEST}, []),
        ({"policy": StatedPolicy.of(replace(POLICY, algorithm="datafly")).to_dict()}, []),
        ({"policy": StatedPolicy.of(replace(POLICY, max_suppression=0.9)).to_dict()}, ["policy"]),
        ({"unsafe": True}, ["unsafe"]),
        ({"verdict": verdict(*CHECKS, passed=False)}, ["verdict", "unsafe"]),
        ({"verdict": verdict(*CHECKS, rows=6)}, ["verdict"]),
        ({"verdict": verdict(*CHECKS, groups=1)}, ["verdict"]),
        ({"verdict": verdict(*CHECKS, smallest_group=3)}, ["verdict"]),
        ({"verdict": verdict(*CHECKS, known=[])}, ["verdict"]),
        ({"verdict": verdict()}, ["verdict"]),
        ({"verdict": verdict(*reversed(CHECKS))}, ["verdict"]),
        ({"verdict": verdict(*CHECKS, K)}, ["verdict"]),
        ({"verdict": verdict(Check("cells.columns", True, {"columns": 4}), K)}, ["verdict"]),
        ({"verdict": verdict(Check("cells.columns", True, {"columns": 4}), K), "policy_sha256": DIGEST}, []),
        ({"verdict": verdict(Check("cells.columns", True, {"columns": 3, "note": NOTE}), K)}, ["verdict"]),
    ],
)
def test_statements_are_compared_with_tables_policy_and_each_other(
    changed: dict[str, Any], statements: list[str]
) -> None:
    assert wrong(**changed) == statements


def people(**changed: int) -> dict[str, int]:
    return {"eligible": 5, "released": 5, "lost_rows": 0, "lost_all_rows": 0, "smallest_group": 2} | changed


def in_people(smallest: Any = 2, **changed: Any) -> Check:
    numbers = {**K.numbers, "unit": "person", "smallest": smallest}
    return Check("people.model.k-anonymity", True, numbers | changed)


STATED_PEOPLE = Check("people.stated", True)


@pytest.mark.parametrize(
    ("said", "is_possible"),
    [
        (people(), True),
        (people(released=4, lost_rows=1, lost_all_rows=1), True),
        (people(eligible=6, lost_rows=1, lost_all_rows=1), True),
        (people(smallest_group=1), True),
        (people(smallest_profile=1), False),
        (people(released=6, eligible=9), False),
        (people(released=4, eligible=3), False),
        (people(lost_all_rows=1), False),
        (people(lost_rows=2), False),
        (people(eligible=7, lost_rows=2, lost_all_rows=2), False),
        (people(smallest_group=0), False),
        (people(smallest_group=3), False),
        (None, False),
    ],
)
def test_numbers_of_people_go_together(said: dict[str, int] | None, is_possible: bool) -> None:
    smallest = 2 if said is None else said["smallest_group"]
    found = wrong(OF_PEOPLE, people=... if said is None else said, checks=(*CHECKS, in_people(smallest), STATED_PEOPLE))
    assert ("people" not in found) is is_possible
    if is_possible:
        assert found == []


def test_checks_of_people_are_those_that_were_made_with_possible_numbers() -> None:
    def said(*checks: Check, smallest_group: int = 2) -> list[str]:
        return wrong(OF_PEOPLE, people=people(smallest_group=smallest_group), checks=(*CHECKS, *checks))

    assert said(in_people(), STATED_PEOPLE) == []
    assert said(in_people(1), STATED_PEOPLE, smallest_group=1) == []
    others = [
        (),
        (in_people(),),
        (STATED_PEOPLE,),
        (STATED_PEOPLE, in_people()),
        (in_people(), STATED_PEOPLE, STATED_PEOPLE),
    ]
    for checks in others:
        assert said(*checks) == ["verdict"]
    for one in (
        in_people(3),
        in_people(0),
        in_people(True),
        in_people(groups=9),
        in_people(terms={"k": 9}),
        in_people(note=NOTE),
        replace(in_people(), passed=False),
    ):
        assert "verdict" in said(one, STATED_PEOPLE)
    assert said(in_people(), Check("people.stated", True, {"note": NOTE})) == ["verdict"]
    blank = replace(OF_PEOPLE, suppressed_rows="blank")
    recount = Recount(CHECKS, np.array([1, 2, 3]), 6)
    own = {
        "people": people(released=4, eligible=5, lost_rows=1, lost_all_rows=1),
        "verdict": verdict(*CHECKS, in_people(), rows=6, groups=3, smallest_group=1),
    }
    assert wrong(blank, recount, **own) == []  # which people are blank is not told


def test_people_by_some_quasi_columns_are_no_more_than_rows() -> None:
    """Of all quasi columns together the smallest group is stated; of some it may have as many people as rows."""
    models, sets = [ix.KAnonymity(2, on="quasi-identifier")], {"quasi-identifier": ["age"], "rest": ["sex"]}
    some = Policy(COLUMNS, models, quasi_identifiers=sets, person="who", max_suppression=0.5)
    for smallest in (1, 2):
        assert wrong(some, people=people(smallest_group=1), checks=(*CHECKS, in_people(smallest), STATED_PEOPLE)) == []
    assert wrong(some, people=people(smallest_group=1), checks=(*CHECKS, in_people(3), STATED_PEOPLE)) == ["verdict"]


def test_a_salt_goes_with_pseudonyms() -> None:
    numbered = Policy(COLUMNS | {"no": ix.identifier(pseudonym=True)}, [ix.KAnonymity(2)])
    assert wrong(numbered, pseudonym_salt="0" * 32) == []


def test_blank_rows_are_a_group_that_the_manifest_leaves_out() -> None:
    blank = replace(POLICY, suppressed_rows="blank")
    own = verdict(*CHECKS, rows=6, groups=3, smallest_group=1)
    assert wrong(blank, Recount(CHECKS, np.array([1, 2, 3]), 6), verdict=own) == []
    assert "released" in wrong(blank)
    assert wrong(blank, suppressed=0, eligible=5) == []
    assert (
        wrong(replace(ASKS, suppressed_rows="blank"), **TWO | {"not_protected": not_protected(ASKS)}) == []
    )  # two tables have no blank rows


def test_what_is_drawn_and_moved_follows_from_the_policy() -> None:
    model = ix.DifferentialPrivacy(1.0, 1e-5)
    drawn = Policy({"age": COLUMNS["age"], "sex": COLUMNS["sex"]}, [model, ix.KAnonymity(500)], algorithm="safepub")
    said = {**model.expenses(), "k": 500, "candidates": 6}
    own = {"algorithm": "safepub", "is_proven": ..., "gap": ...}
    for candidates, found in ((6, []), (1, []), (7, ["drawn"]), (0, ["drawn"])):
        assert wrong(drawn, drawn=said | {"candidates": candidates}, **own) == found
    assert wrong(drawn, drawn=said | {"k": model.k}, **own) == wrong(drawn, **own) == ["drawn"]
    assert wrong(drawn, drawn=said, measures=dict.fromkeys(ALL_MEASURES, 0.5), **own) == ["measures"]
    moved = replace(
        POLICY, columns=COLUMNS | {"day": ix.other(shift=30)}, person={"column": "id", "release": "pseudonym"}
    )
    linked = {"people": people(smallest_profile=2), "checks": (*CHECKS, STATED_PEOPLE)}
    assert wrong(moved, dates_moved={"days": 30}, **linked) == []
    assert wrong(moved, dates_moved={"days": 31}, **linked) == wrong(moved, **linked) == ["dates_moved"]


def test_cells_that_a_policy_lets_be_unreadable_may_be_stated() -> None:
    lax = replace(POLICY, columns=COLUMNS | {"age": ix.quasi(AGES, unreadable="missing")})
    assert wrong(lax, unreadable={"age": 1}) == wrong(lax) == []
    assert wrong(lax, unreadable={"sex": 1}) == wrong(lax, unreadable={}) == ["unreadable"]


@pytest.mark.parametrize(
    ("level", "names"), [(0, {"value"}), (1, {"8 characters", "9 characters"}), (9, {"1 character", "suppressed"})]
)
def test_levels_of_leading_characters_have_their_names_alone(level: int, names: set[str]) -> None:
    free = replace(POLICY, columns=COLUMNS | {"age": ix.quasi(ix.prefix())})
    own: dict[str, Any] = {"heights": {"age": 9, "sex": 1}, "node": {"age": level, "sex": 0}}
    for name in ("value", "1 character", "8 characters", "9 characters", "suppressed", NOTE):
        found = wrong(free, level_names={"age": name, "sex": "value"}, **own)
        assert found == ([] if name in names else ["level_names"])
    lower = replace(POLICY, columns=COLUMNS | {"age": ix.quasi(ix.prefix(), max_level=2)})
    own = {"heights": {"age": 2, "sex": 1}, "node": {"age": 2, "sex": 0}}
    for name in ("value", "1 character", "8 characters", "suppressed", NOTE):
        found = wrong(lower, level_names={"age": name, "sex": "value"}, **own)
        assert found == (["level_names"] if name in ("value", NOTE) else [])


@pytest.mark.parametrize(("demanded", "height"), [(None, 2), (1, 1), ("1-2 wide", None)])
def test_a_column_ends_at_the_level_that_is_demanded(demanded: Any, height: int | None) -> None:
    ages = ix.levels([["1", "1-2", "*"], ["2", "1-2", "*"]])
    demanded = ages.level_names[1] if isinstance(demanded, str) else demanded
    policy = replace(POLICY, columns=COLUMNS | {"age": ix.quasi(ages, max_level=demanded)})
    expected = 1 if height is None else height
    for stated in (1, 2):
        found = wrong(
            policy, heights={"age": stated, "sex": 1}, level_names={"age": ages.level_names[1], "sex": "value"}
        )
        assert found == ([] if stated == expected else ["heights"])


def test_without_a_policy_the_one_that_is_stated_is_held_to() -> None:
    assert wrong(is_stated=True) == wrong(is_stated=True, policy_sha256=DIGEST) == []
    assert wrong(is_stated=True, policy_sha256=DIGEST, heights={"age": 3, "sex": 1}) == ["heights"]
    assert wrong(is_stated=True, policy_sha256=DIGEST, level_names={"age": NOTE, "sex": "value"}) == ["level_names"]
    assert wrong(policy_sha256=DIGEST, heights={"age": 3, "sex": 1}) == []


def test_what_a_search_is_called() -> None:
    def found(blind: bool, randomised: bool, algorithm: str, policy: Policy = POLICY, **more: Any) -> list[str]:
        said = document(search={"blind": blind, "randomised": randomised}, algorithm=algorithm, **more)
        check = search_check(measured(said, POLICY, FOUND), policy)
        assert check.passed is ("wrong" not in check.numbers)
        return list(check.numbers.get("wrong", []))

    assert found(True, False, "lattice") == found(False, False, "lattice", ASKS) == []
    assert found(False, True, "safepub", ASKS) == found(True, True, "of-others") == []
    assert found(False, False, "lattice") == ["not blind"]
    assert found(False, False, "lattice", ledger_head=DIGEST) == []
    assert found(True, True, "lattice", ASKS) == ["blind", "randomised"]
    assert found(True, False, "anatomy") == ["not randomised"]
    assert found(True, False, "anatomy", options={"seed": 1}) == []


def test_what_was_not_checked_is_named() -> None:
    said = measured(document(unreadable={"age": 1}), POLICY, FOUND).model_copy(
        update={"measures": {"loss": 0.5, "own": 1.0}}
    )
    (proved,) = unchecked_statements(said, has_original=True, is_measured=True)
    always = ["is_proven", "gap", "algorithm", "options", "made_by", "made_at"]
    assert proved.numbers == {"statements": always, "measures": [], "other_measures": 1}
    (alone,) = unchecked_statements(said, has_original=False, is_measured=False)
    assert alone.numbers == {
        "statements": ["suppressed", "node", "unreadable", *always],
        "measures": ["loss"],
        "other_measures": 1,
    }
    assert "how many rows were suppressed" in str(alone)


def test_a_verdict_is_stated_by_ids_and_numbers() -> None:
    assert StatedVerdict(**{**verdict(), "checks": (StatedCheck(**K.to_dict()),)}).checks[0].numbers["smallest"] == 2
