"""Tables of many columns: encoded as Arrow, with the same values, codes and releases as by statements."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import indistinct as ix
from indistinct.engine import open_table
from indistinct.engine.duckdb import source
from indistinct.errors import TableError


def made(columns: int, rows: int = 30, seed: int = 1) -> pa.Table:
    chance = random.Random(seed)
    cells = ["a", "b", "ä", "z", "", None, "𝒳"]
    return pa.table({f"c{n}": pa.array(chance.choices(cells, k=rows), pa.string()) for n in range(columns)})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pyarrow.csv.write_csv(made(12), tmp_path / "table.csv")
    return tmp_path / "table.csv"


def test_wide_tables_have_the_same_values_and_counts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = [("c0", "!=", "b")]
    found = []
    for most in (400, 3):
        monkeypatch.setattr(source, "WIDE", most)
        with open_table(path) as rows, rows.encode(rows.columns()[:8], where) as encoded:
            counts = encoded.count_by(["c1", "c5"])
            tuples = sorted(zip(*(codes.tolist() for codes in counts.codes), counts.counts.tolist(), strict=True))
            found.append((dict(encoded.values), encoded.rows, tuples))
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_wide_table_is_released(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {f"c{n}": ix.quasi(ix.suppress()) for n in range(6)} | {f"c{n}": ix.other() for n in range(6, 12)}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])
    written = []
    for most in (400, 3):
        monkeypatch.setattr(source, "WIDE", most)
        with ix.anonymize(path, policy, algorithm=ix.Mondrian(), seed="s") as release:
            assert release.verify(original=path).passed
            written.append(release.table.to_pylist())
    assert written[0] == written[1]


def test_a_wide_table_that_changed_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "WIDE", 3)
    policy = ix.Policy(
        columns={f"c{n}": ix.quasi(ix.suppress()) if n < 6 else ix.other() for n in range(12)},
        privacy=[ix.KAnonymity(2)],
    )

    def change(stage: str, *_: object) -> None:
        if stage == "release":
            path.write_text(path.read_text("utf-8").replace("a", "q"), "utf-8")

    with pytest.raises(TableError, match="changed"):
        ix.anonymize(path, policy, algorithm=ix.Mondrian(), watch=ix.Watch(progress=change))


def test_thousands_of_columns_take_seconds(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(made(1_500, rows=5), tmp_path / "wide.csv")
    with open_table(tmp_path / "wide.csv") as rows, rows.encode(rows.columns()) as encoded:
        assert len(encoded.values) == 1_500
        assert encoded.count_by(["c7"]).counts.sum() == 5
