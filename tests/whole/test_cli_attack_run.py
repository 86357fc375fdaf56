"""``indistinct attack complementary``, ``unsorted``, ``homogeneity`` and ``all``: what they print, write and refuse."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

import indistinct as ix
from helpers import commands
from helpers.papers import (
    FIGURE_3,
    FIGURE_3_GT1,
    FIGURE_3_GT2,
    FIGURE_3_HIERARCHIES,
    HOSPITAL,
    HOSPITAL_ADDED,
    HOSPITAL_COLUMNS,
    HOSPITAL_GT1,
    HOSPITAL_GT3,
    SWEENEY,
    policy_of,
    table_of,
)
from indistinct.attacks import run as run_attacks
from indistinct.examples import save_examples
from indistinct.policy.files.policy_file import policy_toml
from indistinct.registry import ATTACKS

run = partial(commands.run, "attack")
answer = partial(commands.answer, "attack")


def save(path: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def save_policy(path: Path, policy: ix.Policy) -> Path:
    path.write_text(policy_toml(policy), "utf-8")
    return path


@pytest.fixture
def hospital(tmp_path: Path) -> dict[str, Path]:
    """Return the policy and the releases of Examples 6 and 7 as files."""
    policy = policy_of(SWEENEY, HOSPITAL_COLUMNS[:4], 2, sensitive=["Problem"])
    tables = {
        "gt1": HOSPITAL_GT1,
        "gt3": HOSPITAL_GT3,
        "later": HOSPITAL_GT3 + HOSPITAL_ADDED,
        "safe": HOSPITAL_GT1 + HOSPITAL_ADDED,
    }
    files = {name: save(tmp_path / f"{name}.csv", HOSPITAL_COLUMNS, rows) for name, rows in tables.items()}
    return {"policy": save_policy(tmp_path / "hospital.toml", policy), **files}


@pytest.mark.slow
def test_examples_6_and_7_through_the_command(hospital: dict[str, Path]) -> None:
    for later in ("gt3", "later"):
        content = answer("complementary", hospital["policy"], hospital["gt1"], hospital[later])
        assert [one["pairs"] for one in content["releases"]] == [0, 18]
        assert [one["consistent_pairs"] for one in content["releases"]] == [0, 12]
        assert [tuple(one["labels"].values()) for one in content["findings"]] == [
            ("white", "1964", "male", "02138"),
            ("white", "1965", "female", "02139"),
        ]
    content = answer("complementary", hospital["policy"], hospital["gt1"], hospital["safe"])
    assert (content["kinds"], content["findings"]) == ({}, [])


@pytest.mark.slow
def test_complementary_says_what_it_found_and_what_helps(hospital: dict[str, Path]) -> None:
    result = run("complementary", hospital["policy"], hospital["gt1"], hospital["gt3"])
    assert result.exit_code == 0
    told = " ".join(result.output.split())
    assert "gt3.csv 12 18 12" in told
    assert "Race white, BirthDate 1964, Gender male, ZIP 02138" in told
    assert "2 rows of gt3.csv at risk" in told
    assert "base the new release on the earlier ones" in told


@pytest.mark.slow
def test_complementary_takes_policies_of_earlier_releases(hospital: dict[str, Path]) -> None:
    arguments = (hospital["policy"], hospital["gt1"], hospital["gt3"], "--earlier-policy", hospital["policy"])
    assert answer("complementary", *arguments, "--k", 1)["kinds"] == {}
    two = ("--earlier-policy", hospital["policy"])
    result = run("complementary", *arguments, *two)
    assert result.exit_code == 2
    assert "2 for 1 releases" in result.output


@pytest.fixture
def figure_3(tmp_path: Path) -> dict[str, Path]:
    policy = policy_of(FIGURE_3_HIERARCHIES, ("Race", "ZIP"), 2)
    tables = {"pt": FIGURE_3, "gt1": FIGURE_3_GT1, "gt2": FIGURE_3_GT2}
    files = {name: save(tmp_path / f"{name}.csv", ("Race", "ZIP"), rows) for name, rows in tables.items()}
    return {"policy": save_policy(tmp_path / "policy.toml", policy), **files}


@pytest.mark.slow
def test_example_5_through_the_command(figure_3: dict[str, Path]) -> None:
    for earlier in ("gt1", "pt"):
        content = answer("unsorted", figure_3["policy"], figure_3["gt2"], figure_3[earlier])
        assert (content["agreeing"], content["disclosed"], content["is_telling"]) == (12, 12, True)
    result = run("unsorted", figure_3["policy"], figure_3["gt2"], figure_3["gt1"])
    assert "12 rows disclosed by position" in " ".join(result.output.split())


@pytest.mark.slow
def test_homogeneity_shows_groups_with_one_value(hospital: dict[str, Path], tmp_path: Path) -> None:
    rows = [(*row[:4], "flu" if row[1] == "1967" else row[4]) for row in HOSPITAL_GT1]
    table = save(tmp_path / "same.csv", HOSPITAL_COLUMNS, rows)
    content = answer("homogeneity", hospital["policy"], table)
    counts = {"same_groups": 1, "same_rows": 2, "alike_groups": 1, "alike_rows": 2}
    nothing = {"common_rows": 0, "empty_rows": 0, "harmless_rows": 0, "exposed_values": 1}
    (column,) = content["columns"]
    flu = sum(row[4] == "flu" for row in rows) / len(rows)
    assert column.pop("bits") == pytest.approx(-math.log2(flu))
    assert column == {"column": "Problem", **counts, **nothing}
    assert content["findings"][0]["labels"]["BirthDate"] == "1967"
    told = run("homogeneity", hospital["policy"], table, "--share", "0.5").output
    assert "all have one and the same Problem" in " ".join(told.split())
    assert "flu" not in told


@pytest.mark.parametrize(("ill", "is_broken"), [(0, False), (3, True)])
def test_what_nearly_everybody_has_exposes_nobody(ill: int, is_broken: bool) -> None:
    policy = ix.Policy({"town": ix.quasi(), "hiv": ix.sensitive()}, [ix.KAnonymity(3)])
    towns = [str(row // 3) for row in range(60)]
    hiv = ["yes" if row < ill or row == 59 else "no" for row in range(60)]
    report = ix.attacks.homogeneity(pa.table({"town": towns, "hiv": hiv}), policy)
    (column,) = report.columns
    assert report.is_broken == is_broken  # a whole group that has it is told, that others have not is known anyhow
    assert column.same_rows - column.common_rows == ill
    assert [finding.labels for finding in report.findings] == [{"town": "0"}] * is_broken
    assert "of these rows have what at least 50% of the whole release have" in report.summary
    assert column.bits == pytest.approx(math.log2(60 / 4) if is_broken else 0)
    assert column.exposed_values == is_broken


@pytest.mark.parametrize(("limited", "exposed"), [(("yes",), 3), (("no",), 6), (("yes", "no"), 9), ((), 9)])
def test_of_values_that_are_limited_by_name_the_others_are_no_secret(limited: tuple[str, ...], exposed: int) -> None:
    """Of five towns of three one has it, two have not, and two are mixed."""
    models: list[ix.PrivacyModel] = [ix.KAnonymity(3)]
    models += [ix.AlphaK(dict.fromkeys(limited, 0.8), 2, column="hiv")] if limited else []
    policy = ix.Policy({"town": ix.quasi(), "hiv": ix.sensitive()}, models)
    table = pa.table({"town": list("aaabbbcccdddeee"), "hiv": ["yes"] * 3 + ["no"] * 6 + ["yes", "no", "no"] * 2})
    report = ix.attacks.homogeneity(table, policy, common=0.7)
    (column,) = report.columns
    assert (column.same_rows, column.exposed_rows, column.harmless_rows) == (9, exposed, 9 - exposed)
    assert ("have a value that the policy does not limit" in report.summary) is (exposed < 9)
    assert len(report.findings) == exposed / 3
    every = ix.Policy({"town": ix.quasi(), "hiv": ix.sensitive()}, [ix.KAnonymity(3), ix.AlphaK(0.8, 2)])
    found = ix.attacks.homogeneity(table, every, common=0.7).columns[0]
    assert found.exposed_rows == 9  # one share for all values names none
    usual = ix.attacks.homogeneity(table, policy).columns[0]  # two thirds have "no", which is news only if it is named
    assert usual.exposed_rows == (exposed if limited else 3)


@pytest.mark.parametrize("recorded", [0, 3])
def test_groups_of_which_nothing_was_recorded_expose_nobody(recorded: int) -> None:
    policy = ix.Policy({"town": ix.quasi(), "pay": ix.sensitive()}, [ix.KAnonymity(3)])
    pay = ["9" if row < recorded else None if row < 6 else str(row) for row in range(30)]
    table = pa.table({"town": [str(row // 3) for row in range(30)], "pay": pa.array(pay, pa.string())})
    report = ix.attacks.homogeneity(table, policy)
    (column,) = report.columns
    assert (column.same_rows, column.empty_rows, column.exposed_rows) == (6, 6 - recorded, recorded)
    assert report.is_broken == (recorded > 0)
    assert "of these rows have no value" in report.summary


def test_advice_on_groups_with_one_value_names_the_columns() -> None:
    cells = {"ill": ["flu"] * 9, "pay": ["9"] * 3 + [str(row) for row in range(6)]}
    policy = ix.Policy({"town": ix.quasi(), **dict.fromkeys(cells, ix.sensitive())}, [ix.KAnonymity(3)])
    table = pa.table({"town": list("aaabbbccc"), **cells})
    lines, drop, some, other = ix.attacks.homogeneity(table, policy).advice
    assert 'column = "pay" in the policy' in lines  # everybody has flu: no release could hide that
    assert 'pay = { role = "drop" }' in drop
    assert 'model = "alpha-k", alpha = { "…" = 0.8 }, k = 2, column = "pay"' in some
    assert 'pay = { role = "other" }' in other


def test_advice_on_groups_that_nearly_share_a_value_asks_for_what_is_not_met_yet() -> None:
    ill = ["flu"] * 9 + ["gout"] + ["flu", "gout"] * 5
    table = pa.table({"town": ["a"] * 10 + ["b"] * 10, "ill": ill})
    policy = ix.Policy({"town": ix.quasi(ix.suppress()), "ill": ix.sensitive()}, [ix.KAnonymity(5), ix.LDiversity(2)])
    first, *_ = ix.attacks.homogeneity(table, policy).advice
    assert 'model = "alpha-k", alpha = 0.8, k = 2, column = "ill"' in first
    assert "l-diversity" not in first
    asked = ix.Policy(policy.columns, [*policy.privacy, ix.AlphaK(0.8, 2, column="ill")])
    with ix.anonymize(table, asked) as release:
        assert not ix.attacks.homogeneity(release, asked).advice


def test_a_group_of_many_columns_is_described_by_what_it_tells() -> None:
    wide = {f"q{place}": ["*" if place < 9 else "x"] * 3 for place in range(12)}
    policy = ix.Policy({**dict.fromkeys(wide, ix.quasi(ix.suppress())), "ill": ix.sensitive()}, [ix.KAnonymity(3)])
    (finding,) = ix.attacks.homogeneity(pa.table({**wide, "ill": ["flu"] * 3}), policy, share=1.0).findings or (None,)
    assert finding is None  # the whole release has it
    table = pa.table({name: [*own, *(["y"] * 4)] for name, own in wide.items()} | {"ill": ["flu"] * 3 + list("abcd")})
    (finding,) = ix.attacks.homogeneity(table, policy).findings
    assert finding is not None
    assert finding.sentence == "Of the 3 rows with q9 x, q10 x, q11 x, and * in 9 all have one and the same ill."
    assert len(finding.labels) == 12


def test_a_summary_does_not_speak_of_groups_that_there_are_not() -> None:
    policy = ix.Policy({"town": ix.quasi(), "ill": ix.sensitive()}, [ix.KAnonymity(5)])
    table = pa.table({"town": ["a"] * 10 + ["b"] * 10, "ill": ["flu"] * 9 + ["gout"] + [str(row) for row in range(10)]})
    report = ix.attacks.homogeneity(table, policy)
    assert report.summary == "column ill is the same for at least 90% in 1 group"
    assert not report.is_broken


def test_a_summary_names_the_columns_that_tell_most() -> None:
    cells = {f"s{n}": ["x"] * (3 * n) + [str(row) for row in range(30 - 3 * n)] for n in range(9)}
    table = pa.table({"town": [str(row // 3) for row in range(30)]} | cells)
    policy = ix.Policy({"town": ix.quasi()} | {name: ix.sensitive() for name in cells}, [ix.KAnonymity(3)])
    said = ix.attacks.homogeneity(table, policy).summary
    assert said.startswith("column s4 is the same for all of 12 rows in 4 groups")
    assert said.endswith("; and 2 more columns")
    assert said.count("is the same") == 6


@pytest.mark.slow
def test_all_runs_every_attack_that_applies(hospital: dict[str, Path]) -> None:
    arguments = (hospital["policy"], hospital["gt3"], "--earlier", hospital["gt1"], "--original", hospital["gt1"])
    content = answer("all", *arguments, exit_code=6)
    assert content["severity"] == "broken"
    found = [(one["attack"], one["severity"]) for one in content["outcomes"] if one["attack"] != "singling_out"]
    assert found == [
        ("complementary", "broken"),
        ("unsorted", "broken"),
        ("unsorted", "broken"),
        ("uniqueness", "broken"),
        ("downcoding", "something"),
        ("homogeneity", "nothing"),
        ("dependencies", "nothing"),
    ]
    # nobody of this original fits the release
    assert list(content["not_run"]) == ["link", "refinement", "inference", "minimality", "definetti", "history"]
    told = " ".join(run("all", *arguments).output.split())
    assert "people are exposed" in told
    assert "not run: no table that names people was given" in told
    worst = content["outcomes"][0]
    advice = "; or ".join(one.removeprefix("or ") for one in worst["advice"])
    assert f"what it means: {worst['meaning']} what to do: {advice}" in told
    assert "every group still has its k rows, and no row is told whose it is" in told  # of sharpened labels
    assert "raise k" in told
    assert [one["meaning"] for one in content["outcomes"] if one["severity"] == "nothing"] == ["", ""]


@pytest.mark.slow
def test_the_report_is_written_as_markdown_and_json(hospital: dict[str, Path], tmp_path: Path) -> None:
    arguments = ("all", hospital["policy"], hospital["gt3"], "--earlier", hospital["gt1"], "--report")
    assert run(*arguments, tmp_path / "attacks.md").exit_code == 6
    markdown = (tmp_path / "attacks.md").read_text("utf-8")
    assert markdown.startswith("# Attacks on gt3.csv\n")
    assert "ZIP 0213\\*" in markdown
    titles = ("What was assumed known", "What was found", "What it means", "What to do", "rows at risk: 2", "Not run")
    assert all(title in markdown for title in titles)
    assert run(*arguments, tmp_path / "attacks.json").exit_code == 6
    assert json.loads((tmp_path / "attacks.json").read_text("utf-8"))["severity"] == "broken"
    for path in (tmp_path / "attacks.doc", tmp_path / "nowhere" / "attacks.md"):
        refused = run(*arguments, path)
        assert refused.exit_code == 2
        assert not path.exists()


def test_labels_cannot_smuggle_markup_into_a_report() -> None:
    policy = ix.Policy(columns={"sex": ix.quasi(), "ill": ix.sensitive()}, privacy=[ix.KAnonymity(2)])
    table = table_of(("sex", "ill"), [("<script>f</script>", "flu")] * 2)
    found = run_attacks(table, policy)
    assert "<script>" not in found.to_markdown()


@pytest.mark.slow
def test_attacks_on_releases_of_our_own_with_a_voter_list(tmp_path: Path) -> None:
    save_examples(tmp_path)
    policy = ix.read_policy(tmp_path / "hospital.toml")
    with ix.anonymize(tmp_path / "hospital.csv", policy) as release:
        folder = release.write(tmp_path / "release")
        found = run_attacks(
            release, policy, earlier={"before": folder}, original=tmp_path / "hospital.csv", external=voters(tmp_path)
        )
    outcomes = {outcome.attack: outcome for outcome in found.outcomes}
    surely = {"link", "complementary", "unsorted", "homogeneity", "uniqueness", "dependencies", "downcoding"}
    surely.add("inference")
    assert surely <= set(outcomes) <= {*surely, "singling_out"}
    assert set(found.not_run) == {"refinement", "minimality", "definetti", "history"}, (
        "the search was blind, and gave one table"
    )
    assert outcomes["complementary"].severity == "nothing"
    assert outcomes["link"].figures["rows that fit one person who fits no other row"] == 0


def voters(folder: Path) -> Path:
    """Save a list that names everybody in the hospital, and somebody else."""
    people = [(f"person {number}", row[1], row[3]) for number, row in enumerate(HOSPITAL)]
    return save(folder / "voters.csv", ("Name", "BirthDate", "ZIP"), [*people, ("somebody", "1/1/1980", "02138")])


@pytest.mark.slow
def test_a_release_of_two_tables_is_linked_and_its_classes_looked_at(tmp_path: Path) -> None:
    save_examples(tmp_path)
    columns = ix.read_policy(tmp_path / "hospital.toml").columns
    policy = ix.Policy(columns=columns, privacy=[ix.LDiversity(2)])
    with ix.anonymize(tmp_path / "hospital.csv", policy, algorithm=ix.Anatomy(seed=1)) as release:
        found = run_attacks(release, policy, external=voters(tmp_path))
    assert sorted(outcome.attack for outcome in found.outcomes) == ["homogeneity", "link", "uniqueness"]
    run = {"homogeneity", "link", "uniqueness"}
    assert set(found.not_run) == {name for name, kind in ATTACKS.items() if kind.is_in_all} - run


def test_the_release_is_not_an_earlier_one(hospital: dict[str, Path]) -> None:
    result = run("all", hospital["policy"], hospital["gt1"], "--earlier", hospital["gt1"])
    assert result.exit_code == 2
    assert "is the release itself" in result.output
