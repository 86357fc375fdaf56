"""Attacks on linked tables: people are those whose trees of rows are equal, and each row fits by its own table."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import profiles
from helpers.commands import answer
from indistinct.attacks.attack import InapplicableError
from indistinct.registry import ATTACKS
from indistinct.release.forms import LINKED_TABLES

TOWN = ix.quasi(ix.levels([["a", "*"], ["b", "*"], ["c", "*"]]))
WARD = ix.quasi(ix.levels([["x", "*"], ["y", "*"]]))


def clinic_policy(k: int = 1) -> ix.Policy:
    """Patients, their visits, and what was prescribed at each."""
    return ix.Policy(
        tables={
            "patients": ix.LinkedTable({"town": TOWN}, key="who"),
            "visits": ix.LinkedTable({"ward": WARD}, key="visit", references={"who": "patients"}),
            "drugs": ix.LinkedTable({"drug": ix.sensitive()}, references={"visit": "visits"}),
        },
        privacy=[ix.KAnonymity(k)],
        person="who",
    )


People = list[tuple[str, list[tuple[str, list[str]]]]]
"""The town of each person, her visits by ward, and the drugs of each visit."""

people_lists = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.lists(st.tuples(st.sampled_from("xy"), st.lists(st.sampled_from("hi"), max_size=2)), max_size=2),
    ),
    min_size=1,
    max_size=6,
)


def released(people: People) -> dict[str, pa.Table]:
    """Return the tables as they are released, under pseudonyms."""
    rows: dict[str, list[dict[str, str]]] = {"patients": [], "visits": [], "drugs": []}
    for who, (town, visits) in enumerate(people):
        rows["patients"].append({"town": town, "pseudonym": f"{who:032x}"})
        for ward, drugs in visits:
            visit = f"{len(rows['visits']):032x}"
            rows["visits"].append({"ward": ward, "visit": visit, "pseudonym": f"{who:032x}"})
            rows["drugs"] += [{"drug": drug, "visit": visit} for drug in drugs]
    names = {"patients": ("town", "pseudonym"), "visits": ("ward", "visit", "pseudonym"), "drugs": ("drug", "visit")}
    return {
        table: pa.table({name: pa.array([row[name] for row in own], pa.string()) for name in names[table]})
        for table, own in rows.items()
    }


@profiles.examples(40, opens_tables=True)
@given(people_lists, st.sampled_from([0.5, 1.0]))
def test_homogeneity_agrees_with_comparing_trees(people: People, share: float) -> None:
    report = ix.attacks.homogeneity(released(people), clinic_policy(), share=share, threads=1)
    groups: defaultdict[Any, list[set[str]]] = defaultdict(list)
    for town, visits in people:
        tree = town, tuple(sorted((ward, len(drugs)) for ward, drugs in visits))
        groups[tree].append({drug for _, drugs in visits for drug in drugs})
    alike = []
    for own in groups.values():
        most = max(sum(value in drugs for drugs in own) for value in "hi")
        alike.append((len(own), most == len(own), most >= share * len(own) - 1e-9))
    (found,) = report.columns
    assert (report.unit, report.rows, report.groups) == ("person", len(people), len(groups))
    assert (found.same_groups, found.same_rows) == (sum(s for _, s, _ in alike), sum(n for n, s, _ in alike if s))
    assert (found.alike_groups, found.alike_rows) == (sum(a for *_, a in alike), sum(n for n, _, a in alike if a))


@profiles.examples(40, opens_tables=True)
@given(
    people_lists,
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from("PQR")), min_size=1, max_size=6),
)
def test_linking_agrees_with_trying_everybody(people: People, rows: list[tuple[str, str, str]]) -> None:
    """Somebody fits a pseudonym if each of its rows, in whichever table, fits one of hers in the list."""
    listed = pa.table({name: [row[place] for row in rows] for place, name in enumerate(("town", "ward", "who"))})
    report = ix.attacks.link(released(people), listed, clinic_policy(), threads=1)
    known = {whose: [(town, ward) for town, ward, own in rows if own == whose] for *_, whose in rows}
    pairs = [
        (place, whose)
        for place, (town, visits) in enumerate(people)
        for whose, own in known.items()
        if any(town == one for one, _ in own) and all(any(ward == one for _, one in own) for ward, _ in visits)
    ]
    of_units = Counter(sum(place == own for own, _ in pairs) for place in range(len(people)))
    of_people = Counter(sum(whose == own for _, own in pairs) for whose in known)
    assert (report.unit, report.rows, report.people) == ("pseudonym", len(people), len(known))
    assert report.people_of_rows == dict(sorted(of_units.items()))
    assert report.rows_of_people == dict(sorted(of_people.items()))


def test_guesses_are_about_rows_with_the_cells_of_the_rows_they_belong_to() -> None:
    """Who lives in a gets h, who lives in b gets i: the drug follows from the town of the patient of its visit."""
    people = [("ab"[who % 2], [("xy"[who // 2 % 2], ["hi"[who % 2]])]) for who in range(40)]
    tables = released(people)
    original = {
        "patients": tables["patients"].rename_columns(["town", "who"]),
        "visits": tables["visits"].rename_columns(["ward", "visit", "who"]),
        "drugs": tables["drugs"],
    }
    diverse = replace(clinic_policy(), privacy=[ix.LDiversity(1, column="drugs.drug")])  # asked of no other table
    (guess,) = ix.attacks.inference(tables, diverse, original).guesses
    assert (guess.what, guess.people, guess.right) == ("drugs.drug", 40, 40)
    report = ix.attacks.singling_out(tables, clinic_policy(), original, cells=[2], tries=20)
    assert [guess.what for guess in report.guesses] == ["patients: 1 cells", "visits: 2 cells", "drugs: 2 cells"]


def test_attacks_that_do_not_take_linked_tables_say_so() -> None:
    tables = released([("a", [("x", ["h"])])] * 4)
    found = ix.attacks.run(tables, clinic_policy())
    assert [outcome.attack for outcome in found.outcomes] == ["homogeneity", "uniqueness"]
    others = {name for name, kind in ATTACKS.items() if kind.is_in_all and LINKED_TABLES not in kind.forms}
    assert others <= set(found.not_run)
    with pytest.raises(InapplicableError):
        ix.attacks.downcoding(tables, clinic_policy())


@pytest.mark.slow
def test_linked_tables_are_attacked_from_the_command_line(tmp_path: Path) -> None:
    people = [("abc"[who % 3], [("x", ["hij"[who % 3]])]) for who in range(12)]
    tables = released(people)
    original = {
        "patients": tables["patients"].rename_columns(["town", "who"]),
        "visits": tables["visits"].rename_columns(["ward", "visit", "who"]),
        "drugs": tables["drugs"],
    }
    policy = clinic_policy(2)
    (tmp_path / "clinic.toml").write_text(ix.policy_toml(policy), "utf-8")
    with ix.anonymize(original, policy) as release:
        folder = release.write(tmp_path / "release")
    given = []
    for name, table in original.items():
        pa.csv.write_csv(table, tmp_path / f"{name}.csv")
        given.append(f"{name}={tmp_path / name}.csv")
    content = answer("attack", "inference", tmp_path / "clinic.toml", folder, *given)
    assert [guess["what"] for guess in content["guesses"]] == ["drugs.drug"]
    options = [text for one in given for text in ("--original", one)]
    content = answer("attack", "all", tmp_path / "clinic.toml", folder, *options, exit_code=6)
    assert {"homogeneity", "inference", "singling_out"} <= {one["attack"] for one in content["outcomes"]}
