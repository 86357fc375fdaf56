"""Reports and documents on histories: the chance is that of what may be known, and not of whole histories."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.report import render, report_facts

KNOWN = 2


@pytest.fixture(scope="module")
def histories():
    """Return tables of people and visits, their policy and a release."""
    rng = np.random.default_rng(3)
    tables = {
        "people": pa.table({"patient": np.arange(80), "born": rng.integers(1940, 2000, 80)}),
        "visits": pa.table(
            {"patient": rng.integers(0, 80, 300), "code": rng.choice(["E10", "E11", "I10", "J45"], 300)}
        ),
    }
    columns = {
        "people": {"born": ix.quasi(ix.intervals(20, 60))},
        "visits": {"code": ix.quasi(ix.prefix(3, keep=[1]))},
    }
    policy = ix.Policy(
        tables={
            "people": ix.LinkedTable(columns["people"], key="patient"),
            "visits": ix.LinkedTable(columns["visits"], references={"patient": "people"}),
        },
        person="patient",
        knows={"events": KNOWN},
        privacy=[ix.KAnonymity(4)],
        context=ix.Context(threshold=0.3, why="as usual"),
    )
    return tables, policy, ix.anonymize(tables, policy)


def fewest_who_fit(release) -> int:
    """Return how many people share the rarest row with the rarest events, in plain Python."""
    born = {row["pseudonym"]: row["born"] for row in release.tables["people"].to_pylist()}
    codes = defaultdict(list)
    for row in release.tables["visits"].to_pylist():
        codes[row["pseudonym"]].append(row["code"])
    shared = Counter(
        (born[one], chosen)
        for one in born
        for size in range(KNOWN + 1)
        for chosen in set(combinations(sorted(codes[one]), size))
    )
    return min(shared.values())


@pytest.mark.slow
def test_the_chance_is_that_of_the_rarest_events_that_may_be_known(histories):
    tables, policy, release = histories
    fewest = fewest_who_fit(release)
    assert fewest >= 4
    found = ix.overall_risk(release, policy)
    assert (found.data.units, found.data.records) == ("people", len(release.tables["people"]))
    assert found.r_data == found.data.maximum == 1 / fewest
    facts = report_facts(release, policy, original=tables)
    assert facts["known_events"]["fewest"] == fewest
    assert facts["overall_risk"]["r_data"] == 1 / fewest
    events = {"name": "visits", "eligible": 300, "released": len(release.tables["visits"])}
    assert facts["known_events"]["tables"] == [events]
    tried = {one["attack"]: one["severity"] for one in facts["attacks"]}
    assert tried["history"] == "nothing"
    assert facts["policy"]["person"] == ["patient"]
    assert facts["policy"]["known_events"] == KNOWN
    text = re.sub(r"<[^>]+>", "", render(facts))
    assert f"at least {fewest} people" in text


def test_a_policy_without_known_events_is_judged_by_whole_histories():
    tables = {
        "people": pa.table({"patient": [*range(6)], "sex": [*"ffffmm"]}),
        "visits": pa.table({"patient": [0, 1, 2, 3, 4, 5], "code": ["a", "a", "b", "b", "a", "a"]}),
    }
    policy = ix.Policy(
        tables={
            "people": ix.LinkedTable({"sex": ix.quasi()}, key="patient"),
            "visits": ix.LinkedTable({"code": ix.quasi()}, references={"patient": "people"}),
        },
        person="patient",
        privacy=[ix.KAnonymity(2)],
    )
    release = ix.anonymize(tables, policy)
    found = ix.overall_risk(release, policy)
    assert (found.data.records, found.data.maximum, found.data.average) == (6, 1 / 2, 3 / 6)
    assert report_facts(release, policy)["known_events"] is None


def test_documents_are_written_of_histories(histories):
    tables, policy, release = histories
    found = ix.dossier(release, policy, original=tables)
    assert len(found.papers) == 9
    assert found.facts["risk.overall"].numbers["r_data"] == 1 / fewest_who_fit(release)
