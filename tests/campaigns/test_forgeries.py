"""Forged releases: what ``indistinct verify`` refuses without policy and original, verify.py refuses as well."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from campaigns.running import Options  # noqa: E402

import indistinct as ix  # noqa: E402
from campaigns import forgeries  # noqa: E402
from helpers.profiles import scaled  # noqa: E402

COLUMNS = {"age": ix.quasi(ix.intervals(5, 10)), "sex": ix.quasi(ix.suppress()), "day": ix.other()}
POLICY = ix.Policy(COLUMNS | {"ill": ix.sensitive()}, [ix.KAnonymity(2), ix.LDiversity(1)], max_suppression=0.5)
POLICIES = {
    "lattice": POLICY,
    "mondrian": ix.Policy(COLUMNS | {"ill": ix.sensitive()}, [ix.KAnonymity(2)], algorithm="mondrian"),
    "anatomy": ix.Policy(COLUMNS | {"ill": ix.sensitive()}, [ix.LDiversity(2)], algorithm="anatomy"),
}


@pytest.fixture(params=POLICIES)
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    rows = {
        "age": [str(20 + row * 7 % 20) for row in range(24)],
        "sex": ["m", "f"] * 12,
        "day": [f"2020-03-{1 + row:02}" for row in range(24)],
        "ill": ["flu", "gout", "cold", "none"] * 6,
    }
    pa.csv.write_csv(pa.table(rows), tmp_path / "t.csv")
    with ix.anonymize(tmp_path / "t.csv", POLICIES[request.param]) as made:
        made.write(tmp_path / "out", verifier=True, metadata=True)
    return tmp_path / "out"


def statement(change: Callable[[dict[str, object]], object]) -> Callable[[Path], None]:
    def made(place: Path) -> None:
        path = place / "manifest.json"
        said = json.loads(path.read_text("utf-8"))
        change(said)
        path.write_text(json.dumps(said, indent=2) + "\n", "utf-8")

    return made


def text(old: str, new: str) -> Callable[[Path], None]:
    def made(place: Path) -> None:
        path = place / "manifest.json"
        said = path.read_text("utf-8")
        assert old in said
        path.write_text(said.replace(old, new, 1), "utf-8")

    return made


def link_elsewhere(place: Path) -> None:
    path = next(place.glob("*.csv"))
    path.rename(place.parent / path.name)
    path.symlink_to(place.parent / path.name)


def forge_record(place: Path) -> None:
    path = place / "croissant.json"
    path.write_text(path.read_text("utf-8").replace("24 rows", "25 rows"), "utf-8")


FORGERIES: dict[str, Callable[[Path], None]] = {
    "a name twice": text('"form":', '"form": "one table",\n  "form":'),
    "10.0 for 10": text('"released": 24', '"released": 24.0'),
    "a gap that is none": statement(lambda said: said.update(gap=float("nan"))),
    "suppressed and eligible": statement(lambda said: said.update(suppressed=3, eligible=27)),
    "a link": link_elsewhere,
    "a record": forge_record,
    "a measure": statement(lambda said: said.update(measures={**said["measures"], "precision": 1.5})),  # type: ignore[dict-item]
    "a check less": statement(lambda said: said["verdict"]["checks"].pop()),  # type: ignore[index]
}


@pytest.mark.parametrize("name", FORGERIES)
def test_verify_py_refuses_what_verify_refuses(release: Path, name: str) -> None:
    program = forgeries.load_program(release.parent)
    assert (forgeries.ours(release), forgeries.alone(program, release)) == (True, 0)
    FORGERIES[name](release)
    assert not forgeries.ours(release)
    assert forgeries.alone(program, release) in (1, 2)


@pytest.mark.slow
def test_no_change_passes_verify_py_that_verify_refuses() -> None:
    found = forgeries.run(Options("forgeries", seed=0, inputs=scaled(12, opens_tables=True)))
    assert found.faults == []
    assert found.figures["changes that verify refuses"] > found.figures["changes"] // 2
    assert found.figures["releases that verify.py judges in full"] > 0


@pytest.mark.slow
def test_a_blind_program_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    load = forgeries.load_program

    def blind(folder: Path) -> object:
        program = load(folder)
        program.wrong_statements = lambda *_: []  # type: ignore[attr-defined]
        return program

    monkeypatch.setattr(forgeries, "load_program", blind)
    assert forgeries.run(Options("forgeries", seed=0, inputs=2)).faults
