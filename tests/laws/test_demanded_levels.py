"""Levels that a policy demands: no algorithm releases a label below or above them, and none that does verifies."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import profiles
from indistinct.attacks import downcoding
from indistinct.policy.stated_policy import StatedPolicy, policy_digest

BORN = ["1964-09-27", "1964-09-30", "1964-02-14", "1964-02-01", "1965-01-05", "1965-01-06"]


def dates_policy(algorithm: str = "lattice", **said: Any) -> ix.Policy:
    born = ix.quasi(ix.dates("month", "year", "10 years"), **said)
    return ix.Policy(columns={"born": born}, privacy=[ix.KAnonymity(2)], algorithm=algorithm, max_suppression=0)


def test_no_date_is_finer_than_a_year_if_that_is_demanded() -> None:
    table = pa.table({"born": BORN})
    assert set(ix.anonymize(table, dates_policy()).table["born"].to_pylist()) == {"1964-09", "1964-02", "1965-01"}
    made = ix.anonymize(table, dates_policy(min_level="year"))
    assert Counter(made.table["born"].to_pylist()) == {"1964": 4, "1965": 2}
    assert made.node == {"born": 2}
    assert made.verify(table).passed
    assert ix.check(table, dates_policy(min_level="year")).figures["lattice_nodes"] == 3


def test_a_finer_label_fails_with_the_original_and_a_value_also_without() -> None:
    table, policy = pa.table({"born": BORN}), dates_policy(min_level="year")
    months = ix.anonymize(table, dates_policy()).table
    failed = [check.name for check in ix.verify(months, policy, original=table).checks if not check.passed]
    assert failed == ["truthful"]
    days = pa.table({"born": ["1964-09-27"] * 2 + ["1964"] * 2})
    verdict = ix.verify(days, policy)
    assert [check.name for check in verdict.checks if not check.passed] == ["level of born"]
    assert ix.verify(pa.table({"born": ["1964"] * 2}), policy).passed


def test_what_may_not_be_coarser_than_a_month_suppresses_rows_instead() -> None:
    table = pa.table({"born": [*BORN, "1970-05-05"]})
    policy = ix.Policy(
        columns={"born": ix.quasi(ix.dates("month", "year"), max_level="month")},
        privacy=[ix.KAnonymity(2)],
        max_suppression=1,
    )
    made = ix.anonymize(table, policy)
    assert made.suppressed == 1
    assert made.verify(table).passed
    years = pa.table({"born": ["1964"] * 4 + ["1965"] * 2})
    assert not ix.verify(years, policy, original=table).passed
    with pytest.raises(ix.InfeasibleError, match="or raise max_level of 'born'"):
        ix.anonymize(table, ix.Policy(columns=policy.columns, privacy=policy.privacy))


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["lattice", "samarati", "mingen", "datafly", "regroup", "mondrian"])
def test_every_algorithm_that_says_so_keeps_to_the_levels(algorithm: str, tmp_path: Path) -> None:
    table = pa.table({"born": [*BORN, *BORN], "zip": ["02138", "02139", "02141", "02142", "94138", "94139"] * 2})
    columns = {
        "born": ix.quasi(ix.dates("month", "year", "10 years"), min_level="month", max_level="year"),
        "zip": ix.quasi(ix.prefix(5), min_level=2),
    }
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(3)], max_suppression=0, algorithm=algorithm)
    made = ix.anonymize(table, policy)
    assert {len(label) for label in made.table["born"].to_pylist()} <= {4, 7}
    assert {len(label.rstrip("*")) for label in made.table["zip"].to_pylist()} <= {0, 1, 2, 3}
    assert made.verify(table).passed
    folder = made.write(tmp_path / "release")
    assert ix.verify(folder).passed
    assert ix.verify(folder, policy, original=table).passed


@pytest.mark.parametrize("demanded", [{"max_level": 1}, {"max_level": "month"}, {"min_level": 1, "max_level": "month"}])
def test_a_height_beyond_the_highest_level_fails(demanded: dict[str, Any], tmp_path: Path) -> None:
    policy = dates_policy(**demanded)
    folder = ix.anonymize(pa.table({"born": BORN}), policy).write(tmp_path / "release")
    said = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert said["heights"] == {"born": 1}
    (folder / "manifest.json").write_text(json.dumps(said | {"heights": {"born": 3}}), "utf-8")
    for verdict in (ix.verify(folder), ix.verify(folder, policy)):
        (failed,) = [check for check in verdict.checks if not check.passed]
        assert (failed.id, failed.numbers) == ("manifest.statements", {"wrong": ["heights"]})


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("mu-argus", {}),
        ("top-down", {}),
        ("anatomy", {}),
        ("mingen-cell", {}),
        ("regroup", {"labels": "ranges"}),
        ("samarati", {"satisfies": "matrix"}),
    ],
)
def test_other_algorithms_refuse_by_name(algorithm: str, options: dict[str, Any]) -> None:
    policy = ix.Policy(
        columns={"born": ix.quasi(ix.dates("month", "year"), min_level=1), "ill": ix.sensitive()},
        privacy=[ix.LDiversity(2)],
        algorithm=algorithm,
        options=options,
    )
    table = pa.table({"born": BORN, "ill": list("ababab")})
    with pytest.raises(ix.PolicyError, match=f"algorithm '{algorithm}', as .* does not keep to min_level"):
        ix.anonymize(table, policy)
    assert not ix.check(table, policy).is_feasible


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"min_level": "decade"}, "min_level: there is no level 'decade'; say a number from 0 to 4, or one of"),
        ({"max_level": 9}, "max_level: there is no level 9"),
        ({"min_level": "year", "max_level": "month"}, "min_level: 2 lies above max_level, 1"),
        ({"min_level": True}, "there is no level True"),
    ],
)
def test_levels_that_are_not_there_are_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(ix.PolicyError, match=words):
        dates_policy(**said)


def test_a_level_whose_name_depends_on_the_values_is_looked_up_when_they_are_known() -> None:
    column = ix.quasi(ix.prefix(), min_level="2 characters")
    assert column.compile(["0213", "0214"]).lowest == 2
    with pytest.raises(ix.PolicyError, match="there is no level '2 characters'"):
        column.compile(["0", "1"])


def test_policy_files_and_manifests_say_the_levels() -> None:
    policy = dates_policy(min_level="year", max_level=3)
    assert ix.parse_policy(ix.policy_toml(policy)) == policy
    described = StatedPolicy.of(policy).to_dict()["columns"]["born"]
    assert (described["min_level"], described["max_level"]) == ("year", 3)
    assert policy_digest(policy) != policy_digest(dates_policy())
    with pytest.raises(ix.PolicyError, match="only a quasi column climbs"):
        ix.parse_policy(ix.policy_toml(policy).replace('role = "quasi"', 'role = "sensitive"'))


def test_downcoding_does_not_take_a_demanded_level_for_a_needed_one() -> None:
    table, policy = pa.table({"born": BORN[:2] * 3}), dates_policy(min_level="year")
    made = ix.anonymize(table, policy)
    assert made.node == {"born": 2}
    assert not downcoding(made, policy).sharpened_cells


@pytest.mark.slow
def test_populations_and_frontiers_stay_within_the_levels() -> None:
    people = pa.table({"born": [*BORN, "1964-10-10"]})
    born = ix.quasi(ix.dates("month", "year", "10 years"), min_level="year", max_level="year")
    policy = ix.Policy(columns={"born": born}, privacy=[ix.KMap(2, population=people)])
    assert ix.anonymize(pa.table({"born": BORN}), policy).node == {"born": 2}
    swept = ix.frontier(pa.table({"born": BORN}), dates_policy(min_level="year"), ks=[2])
    assert sorted(node[0] for node in swept.nodes.tolist()) == [2, 3, 4]


CELLS = st.tuples(st.integers(0, 39), st.sampled_from(["00", "01", "10", "11"]))


def labels_by_hand(cell: tuple[int, str]) -> tuple[list[str], list[str]]:
    """Age by 10 and by 20, and a code of two characters."""
    age, code = cell
    tens, twenties = age // 10 * 10, age // 20 * 20
    return (
        [str(age), f"{tens}-{tens + 9}", f"{twenties}-{twenties + 19}", "*"],
        [code, f"{code[0]}*", "*"],
    )


@pytest.mark.slow
@given(
    st.lists(CELLS, min_size=3, max_size=14),
    st.tuples(st.integers(0, 3), st.integers(0, 3)).map(sorted),
    st.tuples(st.integers(0, 2), st.integers(0, 2)).map(sorted),
    st.integers(0, 3),
)
@profiles.examples(60, opens_tables=True)
def test_the_lattice_is_exact_within_the_levels(cells: Any, ages: list[int], codes: list[int], budget: int) -> None:
    """Against every node of the restricted lattice, counted by hand; a hierarchy ends at its highest level."""
    columns = {
        "age": ix.quasi(ix.intervals(10, 20), min_level=ages[0], max_level=ages[1]),
        "code": ix.quasi(ix.prefix(2), min_level=codes[0], max_level=codes[1]),
    }
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)], max_suppression=budget)
    table = pa.table({"age": [str(age) for age, _ in cells], "code": [code for _, code in cells]})
    best = None
    for node in product(range(ages[0], ages[1] + 1), range(codes[0], codes[1] + 1)):
        sizes = Counter((ages_of[node[0]], codes_of[node[1]]) for ages_of, codes_of in map(labels_by_hand, cells))
        lost = sum(size for size in sizes.values() if size < 2)
        if lost <= min(budget, len(cells) - 1):
            kept = len(cells) - lost
            shares = [level / most if most else 0 for level, most in zip(node, (ages[1], codes[1]), strict=True)]
            precision = kept * sum(1 - share for share in shares) / (2 * len(cells))
            best = precision if best is None else max(best, precision)
    if best is None:
        with pytest.raises(ix.InfeasibleError):
            ix.anonymize(table, policy)
        return
    made = ix.anonymize(table, policy)
    assert made.measures["precision"] == pytest.approx(best)
    assert ages[0] <= made.node["age"] <= ages[1]
    assert codes[0] <= made.node["code"] <= codes[1]
    assert made.verify(table).passed


@pytest.mark.slow
@given(
    st.lists(CELLS, min_size=3, max_size=20),
    st.tuples(st.integers(0, 3), st.integers(0, 3)).map(sorted),
    st.tuples(st.integers(0, 2), st.integers(0, 2)).map(sorted),
    st.sampled_from(["regroup", "mondrian", "datafly", "samarati"]),
)
@profiles.examples(60, opens_tables=True)
def test_no_label_lies_outside_the_levels(cells: Any, ages: list[int], codes: list[int], algorithm: str) -> None:
    columns = {
        "age": ix.quasi(ix.intervals(10, 20), min_level=ages[0], max_level=ages[1]),
        "code": ix.quasi(ix.prefix(2), min_level=codes[0], max_level=codes[1]),
    }
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)], max_suppression=0.9, algorithm=algorithm)
    table = pa.table({"age": [str(age) for age, _ in cells], "code": [code for _, code in cells]})
    try:
        made = ix.anonymize(table, policy)
    except ix.InfeasibleError:
        return
    paths = list(map(labels_by_hand, cells))
    for column, (lowest, highest) in enumerate((ages, codes)):
        allowed = {path[column][level] for path in paths for level in range(lowest, highest + 1)}
        assert set(made.table.column(column).to_pylist()) <= allowed
    assert made.verify(table).passed
