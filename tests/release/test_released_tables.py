"""ReleasedTables: whatever somebody holds of a release is opened in one way, and closed by whoever opened it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.engine import open_table
from indistinct.release.released_tables import ReleasedTables

TABLE = pa.table({"age": ["31", "34", "52", "57"], "illness": ["flu", "cold", "flu", "gout"]})


def policy(**more: Any) -> ix.Policy:
    columns = {"age": ix.quasi(ix.intervals(10)), "illness": ix.sensitive()}
    return ix.Policy(columns=columns, privacy=[ix.AlphaK(0.5, 2)], **more)


def cells(released: ReleasedTables) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of each table, sorted."""
    with released.rows() as tables:
        return {
            name: sorted(tuple(row.values()) for row in rows.texts(rows.columns()).read_all().to_pylist())
            for name, rows in tables.items()
        }


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "names"), [("lattice", ["table"]), ("lossy-join", ["quasi", "sensitive"])])
def test_a_release_its_folder_and_its_tables_are_the_same(algorithm: str, names: list[str], tmp_path: Path) -> None:
    with ix.anonymize(TABLE, policy(), algorithm=algorithm) as release:
        folder = release.write(tmp_path / "release")
        tables = release.tables if len(names) > 1 else release.table
        kinds = [ReleasedTables.of(kind) for kind in (release, folder, str(folder), tables)]
        assert [list(kind.sources) for kind in kinds] == [names] * 4
        assert [kind.form.generalizes for kind in kinds] == [len(names) == 1] * 4
        assert all(cells(kind) == cells(kinds[0]) for kind in kinds)
        made, written, _, bare = kinds
        assert made.manifest is None
        assert written.manifest is not None
        assert written.manifest.to_dict() == json.loads((folder / "manifest.json").read_text("utf-8"))
        assert made.said is not None
        assert all(getattr(written.manifest, name) == value for name, value in dict(made.said).items())
        assert bare.said is None
        assert all(kind.is_of(policy()) for kind in kinds)
        assert [kind.is_of(policy(max_suppression=2)) for kind in kinds] == [False, False, False, True]


def test_rows_that_were_open_before_stay_open() -> None:
    with open_table(TABLE) as mine:
        for released in (ReleasedTables.of(mine), ReleasedTables.of({"quasi": mine, "sensitive": TABLE})):
            with released.rows() as tables:
                assert mine in tables.values()
            with released.quasi_rows() as rows:
                assert rows is mine
        assert mine.count() == 4


def test_rows_that_it_opened_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    with open_table(TABLE) as mine:
        monkeypatch.setattr(type(mine), "close", lambda rows: closed.append(rows))
        with ReleasedTables.of({"quasi": TABLE, "sensitive": mine}).rows() as tables:
            opened = tables["quasi"]
        assert closed == [opened]
        with pytest.raises(KeyError), ReleasedTables.of(TABLE).only_rows() as rows:
            raise KeyError
        assert closed == [opened, rows]
    monkeypatch.undo()
    for one in (*closed, mine):
        one.close()


def test_what_takes_one_table_refuses_two() -> None:
    two = ReleasedTables.of({"quasi": TABLE, "sensitive": TABLE})
    with pytest.raises(ix.TableError, match="holds 2 tables"), two.only_rows():
        pass


@pytest.mark.parametrize("names", [[], ["quasi"], ["quasi", "other"], ["table", "quasi", "sensitive"]])
def test_other_tables_are_no_release(names: list[str]) -> None:
    with pytest.raises(ix.TableError, match="one table, or two"):
        ReleasedTables.of(dict.fromkeys(names, TABLE))


def test_a_folder_is_read_as_its_manifest_says(tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    source.write_text("age;illness\n31;flu\n34;cold\n52;flu\n57;gout\n", "utf-8")
    with ix.anonymize(source, policy(), delimiter=";") as release:
        folder = release.write(tmp_path / "release")
    released = ReleasedTables.of(folder, delimiter="|", encoding="latin-1", threads=1)
    assert released.reading == {"delimiter": None, "encoding": None, "sheet": None, "threads": 1}
    assert released.manifest is not None
    assert released.manifest.tables["table"].delimiter == ";"
    with released.only_rows() as rows:
        assert list(rows.columns()) == ["age", "illness"]
    assert released.is_as_stated()
    (path,) = released.sources.values()
    path.write_text(path.read_text("utf-8") + "30-39;flu\n", "utf-8")
    assert not released.is_as_stated()


@pytest.mark.parametrize("name", ["../people.csv", "missing.csv", "."])
def test_a_manifest_cannot_lead_out_of_its_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,illness\n31,flu\n", "utf-8")
    with ix.anonymize(TABLE, policy()) as release:
        folder = release.write(tmp_path / "release")
    said = json.loads((folder / "manifest.json").read_text("utf-8"))
    (folder / "manifest.json").write_text(json.dumps(said | {"files": {name: "0" * 64}}), "utf-8")
    with pytest.raises(ix.TableError, match="is not there"):
        ReleasedTables.of(folder)


class Answering:
    """A frame that has an attribute of every name, as those of Spark Connect have: a column."""

    def __getattr__(self, name: str) -> str:
        return f"the column {name}"


def test_a_frame_that_answers_to_every_name_is_one_table() -> None:
    frame = Answering()
    assert dict(ReleasedTables.of(frame).sources) == {"table": frame}
