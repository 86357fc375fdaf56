"""Release: what it holds, and that it is written whole or not at all."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import json
import os
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import indistinct as ix
from helpers.papers import HOSPITAL, HOSPITAL_COLUMNS, SWEENEY, cells, table_of
from indistinct.engine import open_table
from indistinct.engine.duckdb import DuckRows
from indistinct.engine.duckdb.rows import DuckEncoded
from indistinct.search import algorithm_named

TABLE = table_of(HOSPITAL_COLUMNS, HOSPITAL).append_column("Name", pa.array([f"n{n}" for n in range(12)]))


def policy(k=2, max_suppression=2, **more):
    columns = {"Name": ix.identifier()}
    columns |= {name: ix.quasi(ix.levels(list(SWEENEY[name].values()))) for name in SWEENEY}
    columns |= {"Problem": ix.sensitive()}
    return ix.Policy(columns=columns, privacy=[ix.KAnonymity(k)], max_suppression=max_suppression, **more)


@pytest.fixture
def release():
    with ix.anonymize(TABLE, policy()) as made:
        yield made


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, hidden ones too, with its content; folders as names with a slash."""
    return {
        str(path.relative_to(folder)) + ("/" if path.is_dir() else ""): b"" if path.is_dir() else path.read_bytes()
        for path in folder.rglob("*")
    }


# What a release holds.


def test_a_release_says_what_it_did(release):
    assert release.node == {"Race": 0, "Gender": 0, "ZIP": 0, "BirthDate": 2}
    assert release.suppressed == 2
    assert release.measures["precision"] == pytest.approx(0.75)
    assert release.verdict.passed
    assert release.facts.eligible == 12
    assert release.facts.released == 10
    assert release.facts.heights == {"Race": 2, "Gender": 2, "ZIP": 3, "BirthDate": 5}
    assert release.facts.is_proven is True
    assert "10 rows" in repr(release)
    assert "verified" in repr(release)


@pytest.mark.parametrize("algorithm", ["samarati", "mingen", "lattice", "mingen-cell", "k-similar"])
def test_an_algorithm_that_promises_an_optimum_says_whether_it_is_proven(algorithm):
    with ix.anonymize(TABLE, policy(), algorithm=algorithm) as release:
        assert release.facts.is_proven is True
        assert release.facts.gap == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "algorithm", ["mondrian", "datafly", "regroup", "top-down", "mu-argus", "lossy-join", "anatomy"]
)
def test_an_algorithm_that_promises_no_optimum_says_nothing_of_one(algorithm, tmp_path):
    diverse = dataclasses.replace(policy(), privacy=[ix.KAnonymity(2), ix.LDiversity(2)])
    with ix.anonymize(TABLE, diverse, algorithm=algorithm, allow_unsafe=True) as release:
        folder = release.write(tmp_path / "release", allow_unsafe=True)
        release.report(tmp_path / "report.html")
    said = json.loads((folder / "manifest.json").read_text("utf-8")).keys()
    assert not {"is_proven", "is_cut_short"} & said
    assert ("gap" in said) is ("bound" in said) is (algorithm in ("mondrian", "regroup", "top-down"))
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "proven to be the best" not in page
    assert "cut short" not in page


def test_an_algorithm_that_is_stopped_by_a_time_limit_says_so():
    with ix.anonymize(TABLE, policy(), algorithm="mondrian", watch=ix.Watch(time_limit=0)) as release:
        assert release.facts.is_cut_short is True
        assert release.facts.is_proven is None


def test_identifiers_are_dropped_and_columns_stand_in_the_policys_order(release):
    assert release.table.column_names == ["Race", "Gender", "ZIP", "BirthDate", "Problem"]


def test_a_release_is_closed_with_its_block():
    with ix.anonymize(TABLE, policy()) as release:
        table = release.table
    assert table.num_rows == 10
    release.close()  # twice is harmless


def test_a_failed_recount_is_never_released(monkeypatch):
    """Nothing leaves unverified: an engine that recodes wrongly is caught before anyone sees the table."""
    honest = DuckEncoded.recode

    def careless(self, plan):
        return honest(
            self, dataclasses.replace(plan, suppressed={name: codes[:0] for name, codes in plan.suppressed.items()})
        )

    monkeypatch.setattr(DuckEncoded, "recode", careless)
    with pytest.raises(ix.VerificationError, match="2 of 7 groups fail"):
        ix.anonymize(TABLE, policy())


def test_fewer_rows_than_k_are_refused():
    with pytest.raises(ix.InfeasibleError, match="12 eligible rows, fewer than k = 13"):
        ix.anonymize(TABLE, policy(13))


def test_a_table_without_eligible_rows_is_refused():
    with pytest.raises(ix.InfeasibleError, match="0 eligible rows"):
        ix.anonymize(TABLE, policy(eligible=[ix.where("Race", "==", "green")]))


@pytest.mark.slow
def test_only_eligible_rows_are_released():
    """Datafly's data holder declares which tuples may be released at all."""
    chosen = policy(2, 0, eligible=[ix.where("Race", "==", "black"), ix.where("Problem", "not in", ["wheezing"])])
    with ix.anonymize(TABLE, chosen) as release:
        assert release.facts.eligible == 5
        assert Counter(release.table["Problem"].to_pylist()) == Counter(
            row[4] for row in HOSPITAL if row[0] == "black" and row[4] != "wheezing"
        )
        assert release.verify(TABLE).passed


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "polars-lazy", "duckdb"])
def test_the_same_kind_of_table_comes_back(kind):
    import duckdb
    import pandas
    import polars

    connection = duckdb.connect()
    table, expected = {
        "arrow": lambda: (TABLE, pa.Table),
        "pandas": lambda: (TABLE.to_pandas(), pandas.DataFrame),
        "polars": lambda: (polars.DataFrame(TABLE), polars.DataFrame),
        "polars-lazy": lambda: (polars.DataFrame(TABLE).lazy(), polars.LazyFrame),
        "duckdb": lambda: (connection.from_arrow(TABLE), duckdb.DuckDBPyRelation),
    }[kind]()
    with ix.anonymize(table, policy()) as release:
        assert isinstance(release.table, expected)
        assert release.verify(table).passed
    connection.close()


def test_other_columns_keep_their_types_and_cells():
    table = pa.table(
        {
            "a": ["x", "x", "y", "y"],
            "cost": pa.array([1.5, None, 2.25, 3.0], pa.float64()),
            "visits": pa.array([1, 2, None, 4], pa.int32()),
            "is_new": [True, False, None, True],
        }
    )
    columns = {"a": ix.quasi(), "cost": ix.other(), "visits": ix.sensitive(), "is_new": ix.other()}
    with ix.anonymize(table, ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])) as release:
        assert release.table.schema.types == table.schema.types
        assert cells(release.table) == cells(table)


@pytest.mark.slow
def test_the_algorithm_is_the_policys_unless_told_otherwise():
    with ix.anonymize(TABLE, policy(algorithm="datafly")) as release:
        assert release.algorithm == "datafly"
    with ix.anonymize(TABLE, policy(algorithm="datafly"), algorithm="samarati") as release:
        assert release.algorithm == "samarati"
    with ix.anonymize(TABLE, policy(algorithm="lattice", options={"measure": "discernibility"})) as release:
        assert release.recoding.node != (0, 0, 0, 2) or release.measures["discernibility"] == 5 * 4 + 2 * 12
    with pytest.raises(ix.PolicyError, match="there is no 'magic'"):
        ix.anonymize(TABLE, policy(), algorithm="magic")


# Suppressed rows that stay, blank.


@pytest.mark.slow
def test_blank_rows_stay_with_their_other_cells():
    with ix.anonymize(TABLE, policy(suppressed_rows="blank"), algorithm=ix.Datafly()) as release:
        blank = [row for row in cells(release.table).elements() if row[0] is None]
        assert release.table.num_rows == 12
        assert release.suppressed == 2
        assert sorted(row[4] for row in blank) == ["hypertension", "short of breath"]
        assert all(row[:4] == (None,) * 4 for row in blank)
        assert release.verify(TABLE).passed


@pytest.mark.slow
def test_blank_rows_are_refused_where_they_would_be_too_few():
    """One blank row among k = 2 could be told by its illness alone."""
    table = TABLE.slice(0, 7)
    with pytest.raises(ix.InfeasibleError, match="blank"):
        ix.anonymize(table, policy(2, 1, suppressed_rows="blank"))
    with ix.anonymize(table, policy(2, 1, suppressed_rows="remove")) as release:
        assert release.suppressed == 1


def test_blank_rows_are_no_matter_when_none_is_suppressed():
    """Also where some rows have no quasi cell by nature: they are a group like any other."""
    table = pa.table({"a": ["x", "x", None, None], "ill": ["flu", "cold", "flu", "gout"]})
    columns = {"a": ix.quasi(), "ill": ix.sensitive()}
    blank = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)], suppressed_rows="blank", max_suppression=2)
    with ix.anonymize(table, blank) as release:
        assert release.suppressed == 0
        assert cells(release.table) == cells(table)
        assert release.verify(table).passed, str(release.verdict)


# The folder.


def test_a_written_release_holds_the_table_and_its_manifest(release, tmp_path):
    folder = release.write(tmp_path / "out")
    assert folder == tmp_path / "out"
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
    assert {path.name for path in folder.iterdir()} == {"table.parquet", "manifest.json"}
    assert cells(pyarrow.parquet.read_table(folder / "table.parquet")) == cells(release.table)
    assert (folder.stat().st_mode & 0o777) == 0o755


def test_the_manifest_says_what_was_done(release, tmp_path):
    folder = release.write(tmp_path / "out")
    said = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert said["made_by"] == f"indistinct {ix.__version__}"
    assert said["made_at"].endswith("+00:00")
    assert (said["eligible"], said["released"], said["suppressed"]) == (12, 10, 2)
    assert (said["groups"], said["smallest_group"]) == (5, 2)
    assert said["node"] == dict(release.node)
    assert said["measures"] == pytest.approx(dict(release.measures))
    assert said["algorithm"] == "lattice"
    assert said["verdict"]["passed"] is True
    assert said["policy"]["privacy"] == [{"model": "k-anonymity", "k": 2}]
    assert said["policy"]["columns"]["Name"] == {"role": "identifier"}
    assert said["policy"]["columns"]["ZIP"]["hierarchy"]["height"] == 3
    assert said["files"] == {"table.parquet": hashlib.sha256((folder / "table.parquet").read_bytes()).hexdigest()}


def test_the_manifest_quotes_no_ground_value_of_a_hierarchy(release, tmp_path):
    text = (release.write(tmp_path / "out") / "manifest.json").read_text("utf-8")
    for row in HOSPITAL:
        for cell in row:
            assert f'"{cell}"' not in text


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_is_released_as_a_file_of_its_kind(kind, tmp_path):
    source = tmp_path / f"patients.{kind}"
    if kind == "csv":
        pyarrow.csv.write_csv(TABLE, source)
    else:
        pyarrow.parquet.write_table(TABLE, source)
    with ix.anonymize(source, policy()) as release:
        folder = release.write(tmp_path / "out")
        assert isinstance(release.table, pa.Table)
    assert {path.name for path in folder.iterdir()} == {f"table.{kind}", "manifest.json"}
    assert ix.verify(folder, policy(), original=source).passed


@pytest.mark.slow
def test_a_release_with_semicolons_is_verified_with_semicolons(tmp_path):
    source = tmp_path / "patients.csv"
    lines = [";".join(TABLE.column_names), *(";".join(row) for row in cells(TABLE))]
    source.write_text("\n".join(lines) + "\n")
    with ix.anonymize(source, policy()) as release:
        folder = release.write(tmp_path / "out")
    assert (folder / "table.csv").read_text().splitlines()[0] == "Race;Gender;ZIP;BirthDate;Problem"
    assert ix.verify(folder, policy(), original=source).passed


def test_missing_parents_of_the_folder_are_made(release, tmp_path):
    assert (release.write(tmp_path / "a" / "b" / "out") / "manifest.json").is_file()


def test_an_empty_folder_is_filled(release, tmp_path):
    (tmp_path / "out").mkdir()
    assert (release.write(tmp_path / "out") / "manifest.json").is_file()


@pytest.mark.slow
def test_an_earlier_release_is_refused_unless_it_may_be_replaced(release, tmp_path):
    release.write(tmp_path / "out")
    before = snapshot(tmp_path)
    with pytest.raises(ix.OutputError, match="already holds a release"):
        release.write(tmp_path / "out")
    assert snapshot(tmp_path) == before
    with ix.anonymize(TABLE, policy(4, 4)) as other:
        other.write(tmp_path / "out", replace=True)
    assert ix.verify(tmp_path / "out", policy(4, 4)).passed
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_a_folder_with_other_things_is_refused_even_to_be_replaced(release, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    for replace in (False, True):
        with pytest.raises(ix.OutputError, match="is not empty"):
            release.write(tmp_path / "out", replace=replace)
    assert snapshot(tmp_path) == {"out/": b"", "out/thesis.txt": b"years of work"}


def test_replacing_a_release_spares_other_files_beside_it(release, tmp_path):
    """A folder with a release and a user's own notes must not lose the notes: refused, or they are still there."""
    folder = release.write(tmp_path / "out")
    (folder / "notes.txt").write_text("mine")
    with contextlib.suppress(ix.OutputError):
        release.write(folder, replace=True)
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_file_in_the_way_is_refused(release, tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(ix.OutputError, match="is a file"):
        release.write(tmp_path / "out")
    assert snapshot(tmp_path) == {"out": b"a file"}


def test_an_unwritable_place_is_refused(release, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda place, mode: False)  # root may write anywhere
    with pytest.raises(ix.OutputError, match="cannot be written"):
        release.write(tmp_path / "out")
    assert snapshot(tmp_path) == {}


def test_a_place_below_a_file_is_refused(release, tmp_path):
    (tmp_path / "file").write_text("a file")
    with pytest.raises(ix.OutputError, match="cannot be written"):
        release.write(tmp_path / "file" / "out")


def test_a_release_that_does_not_verify_is_never_written(release, tmp_path):
    release.policy = dataclasses.replace(release.policy, privacy=[ix.KAnonymity(3)])
    release.verdict = None
    with pytest.raises(ix.VerificationError):
        release.write(tmp_path / "out")
    assert snapshot(tmp_path) == {}


STEPS = {
    "the table": ("indistinct.engine.duckdb.DuckRows.write", None),
    "its digest": ("indistinct.release.release.file_digest", None),
    "the manifest": ("indistinct.release.release.Manifest.of", None),
    "the recount of what was written": ("indistinct.release.release.verify", None),
    "the flush": ("indistinct.release.release.flush_all", None),
    "fsync": ("os.fsync", None),
    "the first rename": ("os.replace", 0),
    "the second rename": ("os.replace", 1),
}
FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("earlier", "failure"),
    [(False, FULL), (True, FULL), (True, KeyboardInterrupt())],
    ids=["new, disk full", "replaced, disk full", "replaced, interrupted"],
)
def test_a_failure_at_any_step_leaves_the_old_state(release, tmp_path, monkeypatch, step, earlier, failure):
    """Nothing if there was nothing, and byte for byte the earlier release if there was one."""
    if earlier:
        with ix.anonymize(TABLE, policy(4, 4)) as other:
            other.write(tmp_path / "out")
    before = snapshot(tmp_path)
    name, spared = STEPS[step]
    if spared is not None:  # where names cannot be exchanged at once
        monkeypatch.setattr("indistinct.atomic_files._exchange", lambda *_: False)
    calls = [] if spared is None else [None] * spared
    honest = os.replace

    def fail(*arguments, **options):
        if calls:
            calls.pop()
            return honest(*arguments, **options)
        if spared is not None:  # only this one rename fails, so that the earlier release can come back
            monkeypatch.setattr("os.replace", honest)
        raise failure

    monkeypatch.setattr(name, fail)
    is_reached = not (step == "the second rename" and not earlier)
    if is_reached:
        expected = ix.OutputError if isinstance(failure, OSError) else type(failure)
        with pytest.raises(expected) as caught:
            release.write(tmp_path / "out", replace=True)
        if isinstance(failure, OSError):
            assert caught.value.exit_code == 2
        assert snapshot(tmp_path) == before
    monkeypatch.undo()
    release.write(tmp_path / "out", replace=True)  # and it can be tried again
    assert ix.verify(tmp_path / "out", policy()).passed
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_a_release_that_came_in_the_meantime_is_not_replaced(release, tmp_path, monkeypatch):
    """Two writers at one place: the second finds it empty when it begins, and taken when it is done."""
    honest = DuckRows.write

    def slow(self, folder, name="table", kind=None):
        monkeypatch.setattr(DuckRows, "write", honest)
        release.write(tmp_path / "out")
        return honest(self, folder, name)

    monkeypatch.setattr(DuckRows, "write", slow)
    entered = []
    with ix.anonymize(TABLE, policy(4, 4)) as other, pytest.raises(ix.OutputError, match="already holds a release"):
        other.write(tmp_path / "out", before_naming=entered.append)
    assert entered == []
    assert ix.verify(tmp_path / "out", policy()).passed
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_what_was_written_is_read_again_before_it_gets_its_name(release, tmp_path, monkeypatch):
    """A disk that loses a row is caught by the recount of the very file."""
    honest = DuckRows.write

    def lossy(self, folder, name="table", kind=None):
        path = honest(self, folder)
        table = pyarrow.parquet.read_table(path)
        pyarrow.parquet.write_table(table.slice(1), path)
        return path

    monkeypatch.setattr(DuckRows, "write", lossy)
    with pytest.raises(ix.VerificationError):
        release.write(tmp_path / "out")
    assert snapshot(tmp_path) == {}


@pytest.mark.slow
def test_no_temporary_files_are_left_behind(tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with ix.anonymize(TABLE, policy()) as release:
        release.table  # noqa: B018
    with pytest.raises(ix.InfeasibleError):
        ix.anonymize(TABLE, policy(13))
    ix.solutions(TABLE, policy())
    ix.verify(TABLE.drop_columns("Name"), policy())
    assert snapshot(tmp_path) == {}


SITES = pa.table({"site": ["A"] * 6 + ["B"] * 6, "age": [30, 31, 30, 31, 30, 31, 50, 51, 50, 51, 50, 51]})


def policy_of_site(site):
    columns = {"site": ix.other(), "age": ix.quasi(ix.suppress())}
    return ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)], eligible=[ix.where("site", "==", site)])


def test_a_release_has_the_rows_that_were_searched_whatever_is_released_meanwhile():
    """Two policies with different filters take turns on one open table."""
    made = []

    class Interrupted:
        """Finds what another algorithm finds, after the same rows were released for another site."""

        name = "interrupted"

        def run(self, task, watch):
            with ix.anonymize(rows, policy_of_site("B")) as other:
                made.append(set(other.table["site"].to_pylist()))
            return algorithm_named("samarati").run(task, watch)

    with open_table(SITES) as rows, ix.anonymize(rows, policy_of_site("A"), algorithm=Interrupted()) as release:
        assert set(release.table["site"].to_pylist()) == {"A"}
        assert sorted(release.table["age"].to_pylist()) == [30, 30, 30, 31, 31, 31]
    assert made == [{"B"}]


def test_a_limit_of_tuples_for_one_release_does_not_concern_the_next():
    table = pa.table({"n": [str(n // 2) for n in range(40)]})
    policy = ix.Policy(columns={"n": ix.quasi(ix.suppress())}, privacy=[ix.KAnonymity(2)])
    with open_table(table) as rows:
        with ix.anonymize(rows, policy, max_tuples=5) as release:
            assert release.node == {"n": 1}
        with ix.anonymize(rows, policy) as release:
            assert release.node == {"n": 0}
