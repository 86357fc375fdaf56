"""What a recipient is told who has a release folder and nothing else: no statement may be a remark."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.errors import TableError
from indistinct.policy.stated_policy import is_stated_policy, stated_policy
from indistinct.proof import statements
from indistinct.proof.checks import Check, Recount
from indistinct.proof.stated_search import form_mistakes, option_mistakes
from indistinct.proof.stated_verdict import _is_check, verdict_mistakes
from indistinct.recoding.classes import NOT_PROTECTED
from indistinct.registry import ALGORITHMS
from indistinct.release.manifest import policy_described
from proof.test_verify_by_hand import COLUMNS_CHECK, FOUND, MANIFEST, NOT_THOSE, POLICY, TWO, K, numbers, told, verdict

NOTE = "Ann has it"
DIGEST = "0" * 64
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


def described() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(policy_described(WHOLE)))
    made["columns"]["born"]["shift"] = {"days": 30}
    return made


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the described policy with another value at a path; an ellipsis takes it out."""
    said = described()
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
    return said


def test_what_ours_say_of_their_policy_can_be_read() -> None:
    assert is_stated_policy(described())
    assert is_stated_policy(changed("columns.id.pseudonym", "stable"))
    assert is_stated_policy(changed("columns.age.max_level", "10"))
    assert is_stated_policy(
        changed("privacy.3", {"model": "of-others", "share": 0.5, "column": "ill", "by": [1, None]})
    )


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("note", NOTE),
        ("algorithm", NOTE),
        ("algorithm", None),
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
        ("columns.age.hierarchy.height", 3.0),
        ("columns.age.hierarchy.height", None),
        ("columns.age.hierarchy.levels.0", 5),
        ("columns.age.hierarchy.levels", "abcd"),
        ("columns.age.hierarchy.sha256", "0" * 63),
        ("columns.age.hierarchy.sha256", 5),
        ("columns.zip.hierarchy.levels", [NOTE]),
        ("columns.born.shift", 30),
        ("columns.born.shift.days", 30.0),
        ("columns.pay.noise", NOTE),
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
        ("eligible.0.note", NOTE),
        ("eligible.0.column", NOTE),
        ("eligible.0.op", NOTE),
    ],
)
def test_what_no_policy_of_ours_says_is_refused(path: str, value: Any) -> None:
    said = changed(path, value)
    try:
        assert not is_stated_policy(said)
    except ix.PolicyError:  # of a shift that is none
        assert "shift" in path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a release that a recipient may get."""
    place = tmp_path_factory.mktemp("alone") / "release"
    cells = {"age": ["31", "32", "41", "42"] * 2, "zip": ["1011", "1012", "1011", "1012"] * 2, "ill": ["a", "b"] * 4}
    columns = {"age": ix.quasi(ix.intervals(5, 10)), "zip": ix.quasi(ix.prefix()), "ill": ix.sensitive()}
    with ix.anonymize(pa.table(cells), ix.Policy(columns, [ix.KAnonymity(2)])) as release:
        release.write(place)
    return place


def alone(folder: Path, into: Path, *path: str | int, value: Any) -> str:
    """Return what a recipient is told of a release whose manifest says something else at a path."""
    said: Any = json.loads((folder / "manifest.json").read_text("utf-8"))
    holder = said
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    for file in folder.iterdir():
        (into / file.name).write_bytes(file.read_bytes())
    (into / "manifest.json").write_text(json.dumps(said), "utf-8")
    try:
        return "; ".join(check.detail for check in ix.verify(into).checks if not check.passed)
    except TableError as error:
        return str(error)


def test_a_recipient_finds_no_remark_in_a_policy(folder: Path, tmp_path: Path) -> None:
    assert alone(folder, tmp_path, "format", value=2) == ""
    for path in (("columns", "age", "note"), ("columns", "zip", "role"), ("algorithm",), ("privacy", 0, "model")):
        assert "no policy that can be read" in alone(folder, tmp_path, "policy", *path, value=NOTE)


def test_a_recipient_finds_no_remark_in_levels_and_checks(folder: Path, tmp_path: Path) -> None:
    called = "is not what its hierarchy calls the level"
    assert alone(folder, tmp_path, "level_names", "age", value=NOTE) == f"level_names of 'age' {called}"
    assert alone(folder, tmp_path, "level_names", "zip", value=NOTE) == f"level_names of 'zip' {called}"
    otherwise = "verdict has a check that comes out otherwise"
    assert alone(folder, tmp_path, "verdict", "checks", 0, "detail", value=NOTE) == otherwise
    assert alone(folder, tmp_path, "verdict", "checks", 1, "name", value=NOTE) == NOT_THOSE
    assert "not what it says" in alone(folder, tmp_path, "verdict", "rows", value=8.0)


# The same by hand

OF_COLUMNS = {"name": "columns", "passed": True, "detail": "3 columns"}
OF_K = {"name": K, "passed": True, "detail": "2 groups, the smallest of 2 rows"}
K_CHECK = Check(**OF_K)  # type: ignore[arg-type]


def stated(**more: Any) -> str:
    """Return what is wrong with the manifest for whom its policy is the only one."""
    own = {"policy": policy_described(POLICY), "policy_sha256": DIGEST, "verdict": verdict(checks=[OF_COLUMNS, OF_K])}
    said = MANIFEST | own | more
    check = statements.manifest_check(said, POLICY, FOUND, [COLUMNS_CHECK, K_CHECK], is_stated=True)
    return "" if check.passed else check.detail


def test_heights_and_names_are_those_of_the_hierarchies_that_are_stated() -> None:
    assert stated() == ""
    assert stated(heights={"age": 3, "sex": 1}) == "heights of 'age' is not that of its hierarchy"
    names = MANIFEST["level_names"]
    assert stated(level_names=names | {"sex": NOTE}) == "level_names of 'sex' is not what its hierarchy calls the level"
    assert stated(level_names=..., node=None) != ""
    assert stated(drawn={"k": 5}) == "drawn is not what the policy asks for"
    turned = dict(reversed(policy_described(POLICY).items()))
    assert statements._without_algorithm(turned) == statements._without_algorithm(policy_described(POLICY))


def test_a_manifest_may_state_checks_that_its_reader_cannot_make() -> None:
    assert stated(verdict=verdict(checks=[OF_COLUMNS, OF_K])) == ""
    for checks in ([OF_COLUMNS, OF_K | {"detail": NOTE}], [OF_COLUMNS], [OF_K, OF_COLUMNS], [OF_COLUMNS, OF_K, OF_K]):
        assert stated(verdict=verdict(checks=checks)) != ""


def test_what_two_tables_leave_open_is_said_in_our_words_alone() -> None:
    apart: dict[str, Any] = {"form": "two-tables", "level_names": ..., "suppressed": 0, "eligible": 5}
    said = {name: value for name, value in (MANIFEST | apart).items() if value is not ...}
    by = dataclasses.replace(POLICY, privacy=(ix.LDiversity(2),))
    said |= {"policy": policy_described(by), "policy_sha256": DIGEST, "node": {"age": 0, "sex": 0}, "tables": TWO}
    said["verdict"] = verdict(checks=[OF_COLUMNS, OF_K | {"name": "l-diversity (l = 2) on the classes"}])
    for words, is_ours in ((NOT_PROTECTED, True), (NOTE, False)):
        found = statements.manifest_check(said | {"not_protected": words}, by, FOUND, [COLUMNS_CHECK], is_stated=True)
        assert found.passed is is_ours
        assert is_ours or found.detail == "not_protected is not what two tables leave open"


def test_levels_of_leading_characters_have_their_names_alone() -> None:
    by = ix.Policy({"age": ix.quasi(ix.prefix()), "sex": ix.quasi(ix.suppress())}, [ix.KAnonymity(2)])
    hierarchies = statements._own_hierarchies(by)
    wrong = ["level_names of 'age' is not what its hierarchy calls the level"]
    said: dict[str, Any] = {}
    for level, names in ((0, ["value"]), (1, ["8 characters", "9 characters"]), (9, ["1 character", "suppressed"])):
        for name in ("value", "1 character", "8 characters", "9 characters", "suppressed", NOTE):
            own = {"heights": {"age": 9, "sex": 1}, "level_names": {"age": name, "sex": "value"}}
            said = own | {"node": {"age": level, "sex": 0}}
            assert statements._hierarchy_mistakes(said, hierarchies) == ([] if name in names else wrong)
    lower = copy.deepcopy(hierarchies)
    lower["age"]["max_level"] = 2
    for name in ("value", "1 character", "8 characters", "suppressed", NOTE):
        said = {
            "heights": {"age": 2, "sex": 1},
            "level_names": {"age": name, "sex": "value"},
            "node": {"age": 2, "sex": 0},
        }
        assert statements._hierarchy_mistakes(said, lower) == (wrong if name in ("value", NOTE) else [])
    both = {"heights": {"age": 9, "sex": 2}, "level_names": {"age": NOTE, "sex": "value"}, "node": {"age": 1, "sex": 0}}
    turned = dict(reversed(hierarchies.items()))
    assert len(statements._hierarchy_mistakes(both, turned)) == 2
    of_others = copy.deepcopy(hierarchies)
    of_others["age"]["hierarchy"]["kind"] = "of-others"
    assert statements._hierarchy_mistakes(said, of_others) == []
    assert statements._hierarchy_mistakes({"node": None}, hierarchies) == []


@pytest.mark.parametrize("demanded", [{"max_level": 7}, {"max_level": NOTE}])
def test_a_highest_level_that_no_hierarchy_has_fails(demanded: dict[str, Any]) -> None:
    columns = {"sex": {"hierarchy": ix.suppress().describe(), **demanded}}
    said = {"heights": {"sex": 7}, "level_names": {"sex": "value"}, "node": {"sex": 7}}
    assert statements._hierarchy_mistakes(said, columns) == ["heights of 'sex' is not that of its hierarchy"]


def test_the_level_at_which_a_column_ends_has_a_number_or_a_name() -> None:
    levels = {"hierarchy": {"levels": ["value", "5", "10", "*"]}}
    demanded = [{}, {"max_level": "10"}, {"max_level": 1}, {"max_level": 4}, {"max_level": NOTE}]
    assert [statements._highest_level(levels | one) for one in demanded] == [3, 2, 1, None, None]


def test_what_is_proven_has_no_gap() -> None:
    together = "is_proven and gap do not go together"
    assert told(is_proven=True, gap=0.0) == told(is_proven=False, gap=0.5) == told(is_proven=False, gap=None) == ""
    assert told(is_proven=True, gap=0.5) == told(is_proven=True, gap=None) == told(is_proven=False, gap=0) == together


def test_what_is_said_of_a_form_of_release_alone() -> None:
    linked = {"form": "linked tables", "linked_tables": {}, "node": {}}
    assert form_mistakes(linked) == form_mistakes({"about": {}, "node": {}}) == []
    assert form_mistakes(linked | {"about": {}}) == ["about is not said of such a release"]
    assert form_mistakes(linked | {"link": "x"}) == ["link is not said of such a release"]


def test_options_of_an_algorithm_that_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = type("Plain", (), {"name": "plain", "run": lambda self, task, watch: None})
    monkeypatch.setitem(ALGORITHMS._registered, "plain", plain)
    assert option_mistakes({"algorithm": "plain", "options": {}}, POLICY) == []
    assert option_mistakes({"algorithm": "plain", "options": {"width": 1}}, POLICY) != []


def test_options_are_those_of_the_algorithm() -> None:
    def wrong(algorithm: str, options: dict[str, Any]) -> bool:
        return bool(option_mistakes({"algorithm": algorithm, "options": options}, POLICY))

    assert not wrong("lattice", {"measure": "loss"})
    assert wrong("lattice", {"note": 1})
    assert not wrong("chosen", {"node": {"age": 1, "sex": 0}})
    assert wrong("chosen", {"node": {NOTE: 1}})
    assert wrong("mu-argus", {"combinations": [["age", NOTE]]})
    assert not wrong("of-others", {"note": 1, "set": ["age", "plain-word", 5]})
    assert wrong("of-others", {"set": [NOTE]})
    assert not option_mistakes({}, POLICY)
    renamed = ix.Policy({"Age in years": ix.quasi(ix.suppress())}, [ix.KAnonymity(2)])
    assert not option_mistakes({"algorithm": "chosen", "options": {"node": {"Age in years": 1}}}, renamed)


ALONE = [
    ("columns", "3"),
    ("level of age", "no value of the table is shown below level 1"),
    ("level of work", "no value of the table is shown below level 1"),
    ("missing cells in ill", "no cell shows a code that means missing"),
    ("perturbed pay", "declared"),
    ("k-anonymity (k = 2) on all of them", "2 groups, the smallest of 2 rows"),
    ("alpha-k (alpha = 0.5, k = 2, column = ill) on all of them", "2 groups, the smallest of 2 rows"),
    (
        "k-map (k = 3, population = people.csv, link = {'age': 'Age in years'}) on all of them",
        "2 groups, the smallest of 2 rows",
    ),
    ("suppression limit", "1 of 6 rows suppressed, 1 allowed"),
]
"""The checks of a release of the whole policy: what they are called, and what they say."""
MADE = [Check(name, True, detail) for name, detail in ALONE if name.split()[0] not in ("level", "missing", "k-map")]
"""Those that can be made without the policy."""


def mistakes(checks: Any, policy: ix.Policy | None = None, **more: Any) -> list[str]:
    """Return what is wrong with checks of which only who has the policy can make some."""
    said = described()
    said["columns"]["ill"]["missing_codes"] = 1
    said |= more
    by, unchecked = stated_policy({"policy": said})
    if policy is None:
        assert [words.split(":")[0] for words in unchecked[:3]] == [
            "k-map",
            "that no label of age, work is finer than stated",
            "that age, ill show no code that means missing",
        ]
    stated = [dict(zip(("name", "detail"), check, strict=True)) | {"passed": True} for check in checks]
    manifest = MANIFEST | {"verdict": verdict(checks=stated)}
    return verdict_mistakes(manifest, policy or by, Recount((), numbers(2, 3), 5), MADE, described=said)


def test_checks_stand_where_the_maker_of_a_release_made_them() -> None:
    assert mistakes(ALONE) == []
    for place in range(len(ALONE)):
        others = [*ALONE[:place], *ALONE[place + 1 :]]
        assert mistakes(others) == mistakes([*ALONE, ALONE[place]]) == [NOT_THOSE]
        assert mistakes([*others, ALONE[place]]) == ([NOT_THOSE] if place < len(ALONE) - 1 else [])
        renamed = [*ALONE[:place], (NOTE, ALONE[place][1]), *ALONE[place + 1 :]]
        assert mistakes(renamed) == [NOT_THOSE]
        reworded = [*ALONE[:place], (ALONE[place][0], f"{ALONE[place][1]}, {NOTE}"), *ALONE[place + 1 :]]
        assert mistakes(reworded) == ["verdict has a check that comes out otherwise"]


def test_numbers_that_a_manifest_may_state() -> None:
    said = (0, 0.5, 1, 1.5, -0.5, float("inf"), True, "1", None)
    assert [one for one in said[:7] if statements._is_share(one)] == [0, 0.5, 1]
    assert [one for one in said if statements._is_number(one)] == [0, 0.5, 1, 1.5]
    assert [one for one in said if statements._is_count(one)] == [0, 1]
    assert not statements._is_share("1")
    moments = ("2026-01-31T10:00:00+00:00", "2026-01-31T10:00:00Z", "2026-01-31T10:00:00+01:00", "2026-01-31", 5)
    assert [statements._is_moment(one) for one in moments] == [True, *[False] * 4]
    options = ({"age": 1}, {"age": float("inf")}, ["age", 1], [float("inf")], None, True, "plain-word", NOTE)
    assert [statements._is_option(one) for one in options] == [True, False, True, False, True, True, True, False]
    is_salt, are_people = statements._is_hex(32), statements._by_name(statements._is_count, statements.PEOPLE)
    assert [is_salt(one) for one in ("0" * 32, "0" * 31, "x" * 32, 5)] == [True, *[False] * 3]
    assert are_people(dict.fromkeys(statements.PEOPLE, 1))
    assert statements._by_name(statements._is_count)({"Ann": 1})
    assert [are_people(one) for one in ({"released": 1}, {"Ann": 1}, {"released": -1}, 5)] == [True, *[False] * 3]


def test_checks_of_a_verdict_one_by_one() -> None:
    good = {"name": "columns", "passed": True, "detail": "3"}
    assert [_is_check(good | more) for more in ({}, {"name": 5}, {"detail": 5}, {"passed": 1}, {"note": NOTE})] == [
        True,
        *[False] * 4,
    ]
