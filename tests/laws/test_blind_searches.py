"""Blind and randomised: what a search can be, that it is enforced, stated in the manifest and checked by verify."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.progress import Watch
from indistinct.proof.statements import search_check
from indistinct.release.manifest import Facts, StatedSearch
from indistinct.search import Algorithm, Lattice, Task

COLUMNS = {"age": ix.quasi(ix.intervals(10, 20, top="*")), "sex": ix.quasi(ix.suppress()), "ill": ix.sensitive()}


def people(number: int = 40, seed: int = 3) -> pa.Table:
    draw = random.Random(seed)
    return pa.table(
        {
            "age": [str(draw.randrange(20, 60)) for _ in range(number)],
            "sex": [draw.choice("fm") for _ in range(number)],
            "ill": [draw.choice(["flu", "gout", "HIV"]) for _ in range(number)],
        }
    )


@dataclass(frozen=True, slots=True)
class Peeking(Algorithm):
    """Looks for sensitive values in everything that it is given, and leaves the search to another."""

    name: ClassVar[str] = "peeking"
    seen: ClassVar[list[tuple[str, ...]]] = []

    def run(self, task: Task, watch: Watch) -> Any:
        frequencies = task.frequencies
        found = {*frequencies.sensitive, *frequencies.entries.codes, *frequencies.base.tallies}
        self.seen.append(tuple(sorted(found)))
        return Lattice().run(task, watch)


@pytest.mark.parametrize(
    ("model", "is_blind"), [(ix.KAnonymity(4), True), (ix.AlphaK(0.8, 4), False), (ix.LDiversity(2), False)]
)
def test_a_blind_search_is_given_no_sensitive_value(model: Any, is_blind: bool, tmp_path: Path) -> None:
    policy = ix.Policy(columns=COLUMNS, privacy=[model], max_suppression=0.2)
    Peeking.seen.clear()
    with ix.anonymize(people(), policy, algorithm=Peeking()) as release:
        assert release.facts.search == StatedSearch(blind=is_blind, randomised=False)
        folder = release.write(tmp_path / "release")
    assert Peeking.seen == [() if is_blind else ("ill",)]
    (check,) = [check for check in ix.verify(folder, policy).checks if check.name == "search"]
    assert check.passed
    assert check.detail.startswith("blind" if is_blind else "not blind")


@pytest.mark.parametrize("algorithm", ["lattice", "mondrian", "regroup", "datafly"])
def test_what_a_blind_search_finds_does_not_depend_on_sensitive_values(algorithm: str) -> None:
    policy = ix.Policy(columns=COLUMNS, privacy=[ix.KAnonymity(4)], max_suppression=0.1)
    table = people()
    values = table["ill"].to_pylist()
    found = []
    for order in (values, values[::-1], ["flu"] * len(values)):
        with ix.anonymize(table.set_column(2, "ill", pa.array(order)), policy, algorithm=algorithm) as release:
            rows = release.table.select(["age", "sex"]).to_pylist()
            found.append(sorted((row["age"], row["sex"]) for row in rows))
    assert found[0] == found[1] == found[2]


def test_searches_that_draw_say_so_unless_they_have_a_seed_of_their_own() -> None:
    policy = ix.Policy(columns=COLUMNS, privacy=[ix.LDiversity(2)])
    said = []
    for algorithm in (ix.Anatomy(), ix.Anatomy(seed=1)):
        with ix.anonymize(people(), policy, algorithm=algorithm) as release:
            said.append(release.facts.search)
    assert [(one.blind, one.randomised) for one in said] == [(False, True), (False, False)]
    assert ix.SafePub().is_randomised
    assert not ix.Lattice().is_randomised


@pytest.mark.parametrize(
    ("algorithm", "blind", "randomised", "more", "complaint"),
    [
        ("regroup", True, False, {}, ""),
        ("regroup", True, True, {"options": {"random_raise": 0.1}}, ""),
        ("regroup", True, True, {"options": {"random_raise": 0.0}}, "randomised"),
        ("regroup", True, True, {}, "randomised"),
        ("regroup", True, False, {"options": {"random_raise": 0.1}}, "not randomised"),
        ("regroup", False, False, {}, "not blind"),
        ("regroup", False, False, {"ledger_head": "0" * 64}, ""),
        ("anatomy", True, True, {}, ""),
        ("anatomy", True, False, {"options": {"seed": 5}}, ""),
        ("anatomy", True, False, {}, "not randomised"),
        ("safepub", True, True, {}, ""),
        ("safepub", True, False, {}, "not randomised"),
        ("of-others", True, True, {}, ""),
    ],
)
def test_what_a_manifest_may_say_of_a_search(
    algorithm: str, blind: bool, randomised: bool, more: dict[str, Any], complaint: str
) -> None:
    policy = ix.Policy(columns=COLUMNS, privacy=[ix.KAnonymity(4)])
    search = StatedSearch(blind=blind, randomised=randomised)
    own = {"algorithm": algorithm, "search": search, "options": {}, "ledger_head": None, **more}
    check = search_check(Facts.model_construct(**own), policy)
    assert check.numbers.get("wrong", []) == ([complaint] if complaint else [])
    assert check.passed is not bool(complaint)


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"blind": True, "randomised": False}, "blind"),
        ({"blind": False, "randomised": True}, "randomised"),
    ],
)
def test_verify_finds_what_a_search_cannot_have_been(said: Any, complaint: str, tmp_path: Path) -> None:
    policy = ix.Policy(columns=COLUMNS, privacy=[ix.AlphaK(0.8, 4)], max_suppression=0.2)
    with ix.anonymize(people(), policy) as release:
        folder = release.write(tmp_path / "release")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    (folder / "manifest.json").write_text(json.dumps({**manifest, "search": said}), "utf-8")
    (failed,) = [check for check in ix.verify(folder, policy).checks if not check.passed]
    assert (failed.id, failed.numbers) == ("manifest.search", {"wrong": [complaint]})
    assert "HIV" not in failed.detail
