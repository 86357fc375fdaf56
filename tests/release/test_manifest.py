"""The manifest as it is read: what has another shape than ours is refused, and nothing of it is quoted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import indistinct as ix
from indistinct.errors import TableError
from indistinct.policy.stated_policy import StatedPolicy, stated_policy
from indistinct.release.manifest import Manifest, read_manifest
from proof.test_statements import DIGEST, NOTE, POLICY, document

WHOLE = ix.Policy(
    {
        "id": ix.identifier(pseudonym=True),
        "age": ix.quasi(ix.intervals(5, 10), min_level=1, missing={"rule": "value", "codes": ["99", "98"]}),
        "zip": ix.quasi(ix.prefix()),
        "born": ix.sensitive(),
        "pay": ix.other(perturb=ix.Noise(2.0)),
        "work": ix.other(recode=ix.levels([["nurse", "care", "*"], ["baker", "food", "*"]]), recode_level=1),
        "ill": ix.sensitive(),
    },
    [ix.KAnonymity(2), ix.AlphaK(0.5, 2, column="ill"), ix.KMap(3, "people.csv", link={"age": "Age in years"})],
    max_suppression=0.1,
    quasi_identifiers={"all of them": ["age", "zip"]},
    eligible=[ix.where("age", ">", 17)],
)


def read(text: str, folder: Path) -> Manifest:
    (folder / "manifest.json").write_text(text, "utf-8")
    return read_manifest(folder)


def said(**changed: Any) -> dict[str, Any]:
    return document(measures={"loss": 0.5}, **changed)


def refusal(text: str, folder: Path) -> str:
    """Return the error of a manifest that is refused, and check that it quotes nothing."""
    with pytest.raises(TableError) as caught:
        read(text, folder)
    assert NOTE not in str(caught.value)
    return str(caught.value)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    made = read(json.dumps(said()), tmp_path)
    assert made.to_dict() == said()
    assert read(made.text, tmp_path) == made
    assert list(made.to_dict())[:3] == ["format", "made_by", "made_at"]
    with pytest.raises(ValueError, match="frozen"):
        made.groups = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("format", [True, "3", 3.0, None]),
        ("made_by", ["indistinct", "other 1.0", "indistinct 0 <b>", 1]),
        ("made_at", ["2026-11-17T10:00:00", "2026-11-17T10:00:00+01:00", "2026-11-17T10:00:00Z", "2026-11-17", 5]),
        ("eligible", [-1, 1.5, True, "5", None, 1 << 63]),
        ("people", [{"eligible": 1}, [1], None, {"Ann": 1}]),
        ("node", [{"a": "1"}, [], 3, None, {"age": -1}]),
        ("mean_levels", [{"a": -0.5}, {"a": True}, {"a": "1"}]),
        ("level_names", [{"a": 1}, "year"]),
        ("is_proven", [None, "yes", 2, 1, 0.0]),
        ("gap", [1.5, -0.1, "0", 0]),
        ("is_cut_short", [False, None, "yes", 1]),
        ("measures", [{"loss": "low"}, {"Loss of <b>": 0.5}, {"loss": None}, {"loss": -1.0}]),
        ("form", ["one", None, "two-tables"]),
        ("tables", [{"quasi": "a"}, {"quasi": [1]}, {"a": {"note": "x"}}, {"a": {"columns": [1]}}]),
        ("tables", [{"a": {"columns": ["x"], "delimiter": ",,"}}, {"a": {"columns": ["x"], "released": True}}]),
        ("link", ["class", None]),
        ("pseudonym_salt", ["xyz", "", 5, "0af", "0af1" * 9]),
        ("unsafe", [False, 1, "yes"]),
        ("ledger_head", ["0" * 63, "0" * 65, "g" * 64, 0, "A" * 64]),
        ("options", [[], None, {NOTE: 1}]),
        ("limits", [{"note": 1}, {"time_limit": "1"}, {}, {"time_limit": -1.0}]),
        ("algorithm", [NOTE, 1, ""]),
        ("about", [{"purpose": 1}, {"note": "x"}, {}]),
        ("perturbations", [{"a": {"noise": 1}}, {"a": 1}]),
        ("drawn", [{"k": 5}, {"note": 1}]),
        ("bound", [{}, {"ncp": 0.5, "loss": 0.5}, {"ncp": 2.0}]),
        ("search", [{"blind": True}, {"blind": 1, "randomised": False}]),
        ("policy", [{}, []]),
        ("verdict", [{}, [], None]),
        ("files", [{"table.csv": "0"}, {"table.csv": None}, {}, {"a.csv": DIGEST, "b.csv": DIGEST}]),
    ],
)
def test_each_statement_has_its_shape(name: str, bad: list[Any], tmp_path: Path) -> None:
    for value in bad:
        refusal(json.dumps(said() | {name: value}), tmp_path)


def test_statements_that_nobody_makes_are_refused(tmp_path: Path) -> None:
    assert "groups" in refusal(json.dumps(said(groups="2")), tmp_path)
    for text in (
        json.dumps(said(remark=NOTE)),
        json.dumps(said()).replace('"groups": 2', '"groups": 2, "groups": 2'),
        json.dumps(said()).replace('"loss": 0.5', '"loss": NaN'),
        json.dumps(said()).replace('"loss": 0.5', '"loss": 1e999'),
        json.dumps(said(options={"width": float("inf")})),
        json.dumps(said()).replace('"is_proven": true', '"is_proven": true, "people": null'),
        "[]",
        "5",
        "",
        "[" * 100_000,
        NOTE,
    ):
        refusal(text, tmp_path)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_another_format_is_not_read(number: int, tmp_path: Path) -> None:
    assert "use the one that made it" in refusal(json.dumps({"format": number}), tmp_path)


def test_two_tables_have_their_names(tmp_path: Path) -> None:
    own = {"form": "two tables", "link": "class_id", "not_protected": "x"}
    two = {"quasi.csv": DIGEST, "sensitive.csv": DIGEST}
    made = read(json.dumps(said(files=dict(reversed(two.items())), **own)), tmp_path)
    assert list(made.table_files(tmp_path)) == ["quasi", "sensitive"]
    for files in ({"quasi.csv": DIGEST}, {"a.csv": DIGEST, "sensitive.csv": DIGEST}):
        refusal(json.dumps(said(files=files, **own)), tmp_path)


# The policy that a manifest states


def changed(path: str, value: Any) -> str:
    """Return the described policy with another value at a path; an ellipsis takes it out."""
    said = StatedPolicy.of(WHOLE).to_dict() | {"person": {"column": "id", "release": "pseudonym"}}
    said["columns"]["born"]["shift"] = {"days": 30}
    *above, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    holder: Any = said
    for part in above:
        holder = holder[part]
    if value is ...:
        del holder[last]
    elif isinstance(holder, list):
        holder[last:] = [value]
    else:
        holder[last] = value
    return json.dumps(said)


def test_a_policy_is_stated_without_values_and_made_again_as_far_as_it_can_be() -> None:
    stated = StatedPolicy.of(WHOLE)
    assert StatedPolicy.model_validate_json(json.dumps(stated.to_dict())) == stated
    assert not any(value in json.dumps(stated.to_dict()) for value in ('"99"', "nurse", "care"))
    made, unjudged = stated_policy(stated)
    assert [model.name for model in made.privacy] == ["k-anonymity", "alpha-k"]
    assert [(one.model, one.why) for one in unjudged] == [("k-map", "population")]
    assert made.released_columns == WHOLE.released_columns
    assert stated_policy(StatedPolicy.of(replace(POLICY, person={"column": "id", "release": "pseudonym"})))[
        0
    ].links_rows  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("columns.id.pseudonym", "stable"),
        ("columns.age.max_level", "10 wide"),
        ("privacy.3", {"model": "of-others", "share": 0.5, "column": "ill", "by": [1, None]}),
    ],
)
def test_what_a_policy_of_ours_may_say(path: str, value: Any) -> None:
    StatedPolicy.model_validate_json(changed(path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("note", NOTE),
        ("algorithm", NOTE),
        ("algorithm", None),
        ("quasi_identifiers.all of them", ["age", "ill"]),
        ("quasi_identifiers.all of them", ["age", "age"]),
        ("quasi_identifiers", {}),
        ("suppressed_rows", ...),
        ("eligible", ...),
        ("columns.id.role", NOTE),
        ("columns.id.pseudonym", False),
        ("columns.id.pseudonym", NOTE),
        ("columns.id.note", NOTE),
        ("columns.age.hierarchy", ...),
        ("columns.age.weight", ...),
        ("columns.age.missing", ...),
        ("columns.age.missing", NOTE),
        ("columns.age.weight", True),
        ("columns.age.min_level", -1),
        ("columns.age.min_level", True),
        ("columns.age.missing_codes", 0),
        ("columns.age.missing_codes", True),
        ("columns.age.unreadable", NOTE),
        ("columns.age.rename", 5),
        ("columns.age.hierarchy", []),
        ("columns.age.hierarchy.note", NOTE),
        ("columns.age.hierarchy.kind", NOTE),
        ("columns.age.hierarchy.kind", 5),
        ("columns.age.hierarchy.height", 9),
        ("columns.age.hierarchy.height", 3.5),
        ("columns.age.hierarchy.height", None),
        ("columns.age.hierarchy.levels.0", 5),
        ("columns.age.hierarchy.levels", "abcd"),
        ("columns.age.hierarchy.sha256", "0" * 63),
        ("columns.age.hierarchy.sha256", 5),
        ("columns.zip.hierarchy.levels", [NOTE]),
        ("columns.born.shift", 30),
        ("columns.born.shift.days", -3),
        ("columns.born.shift.format", NOTE),
        ("columns.pay.noise", NOTE),
        ("columns.pay.noise.note", NOTE),
        ("columns.work.recode.level", None),
        ("columns.work.recode.level", ...),
        ("columns.work.recode", NOTE),
        ("columns.work.recode.note", NOTE),
        ("privacy.0.model", NOTE),
        ("privacy.0.k", NOTE),
        ("privacy.1.column", NOTE),
        ("privacy.1.alpha", [0.5, NOTE]),
        ("privacy.1.alpha", {NOTE: 0.5}),
        ("privacy.3", {"model": "of-others", NOTE: 1}),
        ("privacy.3", {"share": 1}),
        ("eligible.0.note", NOTE),
        ("eligible.0.column", NOTE),
        ("eligible.0.op", NOTE),
        ("person.note", NOTE),
        ("person.release", NOTE),
    ],
)
def test_what_no_policy_of_ours_says_is_refused(path: str, value: Any) -> None:
    with pytest.raises(ValueError, match="validation error"):
        StatedPolicy.model_validate_json(changed(path, value))


def test_models_that_a_recipient_cannot_judge_ask_for_as_many_rows() -> None:
    models = [ix.AlphaK({"flu": 0.5}, 3), ix.TCloseness(0.2, "hierarchical")]
    policy = ix.Policy({"age": ix.quasi(), "ill": ix.sensitive(ix.suppress())}, models)
    made, unjudged = stated_policy(StatedPolicy.of(policy))
    assert [(one.model, one.why) for one in unjudged] == [("alpha-k", "limits"), ("t-closeness", "hierarchy")]
    assert [(model.name, model.least_rows) for model in made.privacy] == [("alpha-k", 3), ("alpha-k", 1)]
    of_others = StatedPolicy.of(POLICY).to_dict() | {"privacy": [{"model": "of-others", "share": 0.5}]}
    made, unjudged = stated_policy(StatedPolicy.model_validate_json(json.dumps(of_others)))
    assert (made.privacy[0].least_rows, unjudged[0].why) == (1, "not installed")
