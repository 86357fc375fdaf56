"""verify.py on tables that belong together: who fits what is known is found by trying everybody, event by event."""

from __future__ import annotations

import hashlib
import json
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from helpers.verify_program import verify_program
from indistinct.release.alone.people_alone import fewest_alike

EVENTS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("12")), max_size=4)
PEOPLE = st.lists(st.tuples(st.sampled_from("fm"), EVENTS), min_size=1, max_size=5)
KNOWS = [
    {"events": 1},
    {"events": 2},
    {"events": 1, "number": True},
    {"dated": 1, "undated": 1},
    {"dated": 1, "undated": {"visits": 2}},
    None,
]


def fits(other, sex, known):
    """Say whether somebody has this row, and another event for each that is known; a day of None is not known."""
    own_sex, own = other
    return own_sex == sex and any(
        all(code == mine[0] and day in (None, mine[1]) for (code, day), mine in zip(known, chosen, strict=True))
        for chosen in permutations(own, len(known))
    )


def fewest(people, knows):
    """Return how many people fit the rarest that may be known of one."""
    if knows is None:
        return min(sum((sex, sorted(own)) == (s, sorted(o)) for s, o in people) for sex, own in people)
    full = knows.get("events") or knows["dated"]
    bare = knows.get("undated", 0)
    bare = bare["visits"] if isinstance(bare, dict) else bare
    found = []
    for sex, own in people:
        for size in range(min(full + bare, len(own)) + 1):
            for chosen in permutations(own, size):
                for cut in range(max(0, size - bare), min(full, size) + 1):
                    known = [*chosen[:cut], *((code, None) for code, _ in chosen[cut:])]
                    alike = [one for one in people if "number" not in knows or len(one[1]) == len(own)]
                    found.append(sum(fits(other, sex, known) for other in alike))
    return min(found)


@given(PEOPLE, st.sampled_from(KNOWS))
@examples(150)
def test_the_program_counts_those_who_fit(people, knows):
    quasi = {"role": "quasi"}
    policy = {
        "person": {"column": "p", "release": "pseudonym"},
        "tables": {
            "people": {"columns": {"sex": quasi, "p": {"role": "identifier"}}, "key": "p"},
            "visits": {"columns": {"code": quasi, "day": quasi}, "references": {"p": "people"}},
        },
    }
    if knows is not None:
        policy["knows"] = knows | ({"time": ["visits.day"]} if "undated" in knows else {})
    tables = {
        "people": [{"sex": sex, "pseudonym": str(n)} for n, (sex, _) in enumerate(people)],
        "visits": [{"code": c, "day": d, "pseudonym": str(n)} for n, (_, own) in enumerate(people) for c, d in own],
    }
    assert fewest_alike(policy, tables) == fewest(people, knows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a release of people, of whom others know two events."""
    (tmp_path / "people.csv").write_text("p,sex\n" + "".join(f"{n},{'fm'[n % 2]}\n" for n in range(12)))
    (tmp_path / "visits.csv").write_text("p,code\n" + "".join(f"{n},{code}\n" for n in range(12) for code in "ab"))
    policy = ix.Policy(
        tables={
            "people": ix.LinkedTable({"sex": ix.quasi()}, key="p"),
            "visits": ix.LinkedTable({"code": ix.quasi()}, references={"p": "people"}),
        },
        privacy=[ix.KAnonymity(3)],
        person="p",
        knows={"events": 2},
    )
    tables = {name: str(tmp_path / f"{name}.csv") for name in ("people", "visits")}
    with ix.anonymize(tables, policy) as release:
        release.write(tmp_path / "out", verifier=True)
    return tmp_path / "out"


def test_a_sound_release_is_counted_and_the_rest_left_to_the_package(folder, capsys):
    assert verify_program().main([str(folder)]) == 3
    said = capsys.readouterr().out
    assert "ok     at least 3 people share what may be known of one" in said
    assert "FAILED" not in said


def test_events_that_single_somebody_out_are_found(folder, capsys):
    path = folder / "visits.csv"
    path.write_text(path.read_text().replace("\nb,", "\nc,", 1))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["visits.csv"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert verify_program().main([str(folder)]) == 1
    assert "FAILED at least 3 people share what may be known of one" in capsys.readouterr().out
