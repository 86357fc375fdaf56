"""Bad input is answered with a clear error and the right exit code; no cell is quoted and nothing is left behind."""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import indistinct as ix
from indistinct import Ledger, cli, parse_policy, prefix, profile, risk
from indistinct.cli import app
from indistinct.engine import use_table
from indistinct.engine.duckdb import DuckRows
from indistinct.errors import LedgerError, PolicyError, TableError
from indistinct.hierarchy import UnknownValues

HEADER = "name,age,zip,born,illness"
ROWS = (
    "Zanzibar,431,90210,1964-09-27,wheezing",
    "Quixote,432,90211,1964-09-30,obesity",
    "Xerxes,433,90212,1965-04-18,wheezing",
    "Yolanda,434,90213,1965-04-15,obesity",
)
TABLE = "\n".join([HEADER, *ROWS]) + "\n"
CELLS = sorted({cell for row in ROWS for cell in row.split(",")} | {"fourhundred", "1964-02-31", "Müller"})
POLICY = """
version = 1
max_suppression = 0
[columns]
name = { role = "identifier" }
age = { role = "quasi", hierarchy = { intervals = [5, 10] } }
zip = { role = "quasi", hierarchy = { prefix = 5 } }
born = { role = "quasi", hierarchy = { dates = ["month", "year"] } }
illness = { role = "sensitive" }
[[privacy]]
model = "k-anonymity"
k = 2
"""


@dataclass(frozen=True)
class Case:
    """A bad table or policy, how the command is called, and what it must answer."""

    words: Sequence[str]
    exit_code: int = 2
    table: str | bytes = TABLE
    policy: str = POLICY
    options: Sequence[str] = ()
    kind: str = field(default="PolicyError")


CASES = {
    "empty file": Case(["people.csv", "empty", "header"], table="", kind="TableError"),
    "only blank lines": Case(["people.csv", "empty"], table="\n\n\n", kind="TableError"),
    "header only": Case(["0 eligible rows", "k = 2"], 3, table=HEADER + "\n", kind="InfeasibleError"),
    "ragged rows": Case(
        ["people.csv", "line 3", "6 cells", "header has 5"],
        table=TABLE.replace("Quixote,432", "Quixote,432,432"),
        kind="TableError",
    ),
    "fewer than k rows": Case(
        ["4 eligible rows", "k = 5", "lower k"], 3, policy=POLICY.replace("k = 2", "k = 5"), kind="InfeasibleError"
    ),
    "column missing": Case(
        ["columns.postcode", "no such column", "'zip'", "not declared"], policy=POLICY.replace("zip =", "postcode =")
    ),
    "person missing": Case(
        ["columns.patient", "no such column"], policy=POLICY.replace("[columns]", 'person = "patient"\n[columns]')
    ),
    "rows of nobody": Case(
        ["person: 2 rows have nothing in 'name'"],
        table=TABLE.replace("Quixote", "").replace("Xerxes", ""),
        policy=POLICY.replace("[columns]", 'person = "name"\n[columns]'),
    ),
    "person that is quasi": Case(
        ["'zip' says whose row it is", "cannot be quasi"],
        policy=POLICY.replace("[columns]", 'person = "zip"\n[columns]'),
    ),
    "column undeclared": Case(
        ["'name'", "not declared", "role"], policy=POLICY.replace('name = { role = "identifier" }', "")
    ),
    "column named twice": Case(
        ["people.csv", "'age'", "twice", "rename"], table=TABLE.replace("illness", "age"), kind="TableError"
    ),
    "column without a name": Case(
        ["people.csv", "column 3", "no name"], table=TABLE.replace("zip", ""), kind="TableError"
    ),
    "wrong delimiter": Case(["people.csv", "','", "';'"], options=["--delimiter", ";"], kind="TableError"),
    "unknown delimiter": Case(["columns.age", "no such column"], table=TABLE.replace(",", "^")),
    "delimiter of two characters": Case(["one character"], options=["--delimiter", "::"], kind="TableError"),
    "wrong encoding": Case(
        ["people.csv", "line 2", "UTF-8", "--encoding"],
        table=TABLE.replace("Zanzibar", "Müller").encode("latin-1"),
        kind="TableError",
    ),
    "unknown encoding": Case(["no encoding", "utf-8"], options=["--encoding", "klingon"], kind="TableError"),
    "encoding of bytes": Case(["no encoding", "utf-8"], options=["--encoding", "hex"], kind="TableError"),
    "encoding of other machines": Case(["one line", "encoding"], options=["--encoding", "cp037"], kind="TableError"),
    "all on one line": Case(
        ["one line", "1,000", "delimiter"], table=re.sub("[,\n]", "^", TABLE) * 20, kind="TableError"
    ),
    "no header": Case(
        ["first line", "4 of 5", "write the names"], table="\n".join(ROWS), options=(), kind="TableError"
    ),
    "no header above text": Case(
        ["first line", "3 of 4", "stand in their column again"],
        table="Ann,ward Zanzibar,flu,Ulm\nBob,ward B,gout,Ulm\nCid,ward Zanzibar,flu,Bonn\nDan,ward B,gout,Ulm\n",
        options=(),
        kind="TableError",
    ),
    "memory limit not understood": Case(["memory limit", "4GB"], options=["--memory", "plenty"], kind="TableError"),
    "memory limit below nothing": Case(["memory limit", "4GB"], options=["--memory", "-1GB"], kind="TableError"),
    "not a table": Case(["people.csv", "NUL"], table=b"PK\x00\x00\x00\x00", kind="TableError"),
    "non-numeric ages": Case(
        ["column 'age'", "1 value is not a number", "data rows 3"], table=TABLE.replace("433", "fourhundred")
    ),
    "impossible dates": Case(
        ["column 'born'", "1 value", "ISO date", "data rows 1"], table=TABLE.replace("1964-09-27", "1964-02-31")
    ),
    "hierarchy that lacks a value": Case(
        ["column 'zip'", "3 values have no label", "data rows 2, 3, 4"],
        policy=POLICY.replace("{ prefix = 5 }", '{ levels = [["90210", "*"]] }'),
    ),
    "hierarchy file that is not there": Case(
        ["columns.zip.hierarchy", "zip.csv", "cannot be read"],
        policy=POLICY.replace("{ prefix = 5 }", '{ levels = "zip.csv" }'),
    ),
    "hierarchy file that is a private table": Case(
        ["columns.zip.hierarchy", "people.csv", "line 3", "another one than before", "the last level has"],
        table=TABLE.replace("1964-09-30", "1964-09-27"),
        policy=POLICY.replace("{ prefix = 5 }", '{ levels = "people.csv" }'),
    ),
    "hierarchy file with a NUL in its path": Case(
        ["columns.zip.hierarchy", "NUL"], policy=POLICY.replace("{ prefix = 5 }", '{ levels = "a\\u0000.csv" }')
    ),
    "policy of lists in lists": Case(["too deep"], policy="a = " + "[" * 20_000 + "]" * 20_000),
    "policy with an endless number": Case(["too many digits"], policy="version = " + "1" * 9_000),
    "k of 0": Case(["privacy[0]", "k must be", "at least 1", "0"], policy=POLICY.replace("k = 2", "k = 0")),
    "k of -1": Case(["privacy[0]", "k must be", "at least 1", "-1"], policy=POLICY.replace("k = 2", "k = -1")),
    "k of five": Case(["privacy[0]", "k", "'five'"], policy=POLICY.replace("k = 2", 'k = "five"')),
    "k missing": Case(["privacy[0]", "k", "required"], policy=POLICY.replace("k = 2", "")),
    "suppression of 150 %": Case(
        ["max_suppression", "0.0 to 1.0", "1.5"], policy=POLICY.replace("max_suppression = 0", "max_suppression = 1.5")
    ),
    "policy not TOML": Case(["policy.toml is not TOML", "line 1"], policy="version: 1\n"),
    "several mistakes at once": Case(
        ["2 mistakes", "columns.age.hierarchy", "privacy[0]"],
        policy=POLICY.replace("intervals = [5, 10]", "intervals = [5, 7]").replace("k = 2", "k = 0"),
    ),
    "a column that is never generalized": Case(
        ["4 of 4 rows", "'zip'", "hierarchy"],
        3,
        policy=POLICY.replace(", hierarchy = { prefix = 5 }", ""),
        kind="InfeasibleError",
    ),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a good table and a good policy; temporary files go to a folder of their own beside it."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    work = tmp_path / "work"
    work.mkdir()
    (work / "people.csv").write_text(TABLE, "utf-8")
    (work / "policy.toml").write_text(POLICY, "utf-8")
    monkeypatch.chdir(work)
    return work


def assert_nothing_left(work: Path, *expected: str) -> None:
    """No file but the inputs, and no temporary file."""
    assert sorted(path.name for path in work.iterdir()) == sorted({"people.csv", "policy.toml", *expected})
    assert list((work.parent / "temporary").iterdir()) == []


def assert_quotes_no_cell(text: str) -> None:
    assert [cell for cell in CELLS if cell in text] == []


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("command", ["check", "anonymize"])
def test_bad_input_is_answered_clearly_and_leaves_nothing(place: Path, command: str, case: Case) -> None:
    content = case.table.encode() if isinstance(case.table, str) else case.table
    (place / "people.csv").write_bytes(content)
    (place / "policy.toml").write_text(case.policy, "utf-8")
    output = ["-o", "out"] if command == "anonymize" else []
    exit_code, stdout, stderr = run(command, "policy.toml", "people.csv", *output, *case.options)
    assert (exit_code, stderr.startswith("error: ")) == (case.exit_code, True), stderr
    assert [word for word in case.words if word not in stderr] == []
    assert_quotes_no_cell(stdout + stderr)
    exit_code, stdout, stderr = run(command, "policy.toml", "people.csv", *output, *case.options, "--json")
    assert exit_code == case.exit_code
    assert stderr == ""
    error = json.loads(stdout)["error"]
    assert error["kind"] in (case.kind, "HierarchyError")
    assert error["exit_code"] == case.exit_code
    assert [word for word in case.words if word not in error["message"]] == []
    assert_quotes_no_cell(stdout)
    assert_nothing_left(place)


@pytest.mark.parametrize(
    ("key", "mode", "word"),
    [
        ("Shandy", 0o600, "holds 6 bytes; a key needs at least 32"),
        ("Shandy" * 9, 0o644, "others can read"),
        ("Shandy" * 9, 0o640, "others can read"),
        (None, 0o600, "cannot read"),
    ],
)
@pytest.mark.parametrize("command", ["check", "anonymize"])
def test_a_key_of_pseudonyms_that_is_none_leaves_nothing(
    place: Path, command: str, key: str | None, mode: int, word: str
) -> None:
    person = 'person = { column = "name", release = "pseudonym", key_file = "key" }\n[columns]'
    (place / "policy.toml").write_text(POLICY.replace("[columns]", person), "utf-8")
    if key is not None:
        (place / "key").write_text(key, "utf-8")
        (place / "key").chmod(mode)
    output = ["-o", "out"] if command == "anonymize" else []
    exit_code, stdout, stderr = run(command, "policy.toml", "people.csv", *output)
    assert exit_code == 2, stdout
    assert word in stderr
    assert "Shandy" not in stdout + stderr
    assert_quotes_no_cell(stdout + stderr)
    assert_nothing_left(place, *(["key"] if key is not None else []))


@pytest.mark.parametrize("command", ["check", "anonymize", "solutions", "verify"])
def test_a_missing_table_is_named(place: Path, command: str) -> None:
    output = ["-o", "out"] if command == "anonymize" else []
    exit_code, _, stderr = run(command, "policy.toml", "nobody.csv", *output)
    assert exit_code == 2
    assert "nobody.csv: no such file" in stderr
    assert_nothing_left(place)


@pytest.mark.parametrize("command", ["check", "anonymize", "solutions", "verify"])
def test_a_missing_policy_is_named(place: Path, command: str) -> None:
    output = ["-o", "out"] if command == "anonymize" else []
    exit_code, _, stderr = run(command, "none.toml", "people.csv", *output)
    assert exit_code == 2
    assert "none.toml" in stderr
    assert "No such file" in stderr
    assert_nothing_left(place)


def test_an_output_below_a_file_is_refused_before_any_work(place: Path) -> None:
    exit_code, _, stderr = run("anonymize", "nothing.toml", "nobody.csv", "-o", "people.csv/out")
    assert exit_code == 2
    assert "cannot be written to" in stderr
    assert_nothing_left(place)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder where even root may not write")
def test_an_output_where_nobody_may_write_is_refused(place: Path) -> None:
    exit_code, _, stderr = run("anonymize", "policy.toml", "people.csv", "-o", "/proc/indistinct/out")
    assert exit_code == 2
    assert "/proc" in stderr
    assert_nothing_left(place)


def test_an_output_that_is_a_file_is_refused(place: Path) -> None:
    exit_code, _, stderr = run("anonymize", "policy.toml", "people.csv", "-o", "people.csv")
    assert exit_code == 2
    assert "is a file" in stderr
    assert (place / "people.csv").read_text("utf-8") == TABLE
    assert_nothing_left(place)


def test_a_folder_with_other_files_is_refused_even_with_replace(place: Path) -> None:
    (place / "out").mkdir()
    (place / "out" / "diary.txt").write_text("mine", "utf-8")
    exit_code, _, stderr = run("anonymize", "policy.toml", "people.csv", "-o", "out", "--replace")
    assert exit_code == 2
    assert "not empty" in stderr
    assert [path.name for path in (place / "out").iterdir()] == ["diary.txt"]
    assert_nothing_left(place, "out")


@pytest.mark.slow
def test_an_earlier_release_stays_unless_replace_is_said(place: Path) -> None:
    assert run("anonymize", "policy.toml", "people.csv", "-o", "out")[0] == 0
    before = (place / "out" / "manifest.json").read_bytes()
    exit_code, _, stderr = run("anonymize", "policy.toml", "people.csv", "-o", "out")
    assert exit_code == 2
    assert "already holds a release" in stderr
    assert "--replace" in stderr
    assert (place / "out" / "manifest.json").read_bytes() == before
    assert run("anonymize", "policy.toml", "people.csv", "-o", "out", "--replace", "--algorithm", "datafly")[0] == 0
    assert json.loads((place / "out" / "manifest.json").read_bytes())["algorithm"] == "datafly"
    assert_nothing_left(place, "out")


FAILURES: dict[str, tuple[BaseException, int, str]] = {
    "full disk": (OSError(errno.ENOSPC, "No space left on device"), 2, "No space left on device; nothing was written"),
    "Ctrl-C": (KeyboardInterrupt(), 130, "interrupted; nothing was written"),
    "unexpected error": (RuntimeError("Zanzibar"), 1, "unexpected RuntimeError"),
}


@pytest.mark.slow
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES.keys())
@pytest.mark.parametrize("has_earlier_release", [False, True])
def test_a_failure_in_the_middle_of_writing_leaves_the_old_state(
    place: Path, monkeypatch: pytest.MonkeyPatch, has_earlier_release: bool, failure: tuple[BaseException, int, str]
) -> None:
    error, code, words = failure
    before = None
    if has_earlier_release:
        assert run("anonymize", "policy.toml", "people.csv", "-o", "out")[0] == 0
        before = {path.name: path.read_bytes() for path in (place / "out").iterdir()}

    def break_off(self: DuckRows, folder: Path, name: str = "table", kind: str | None = None) -> Path:
        (folder / "table.csv").write_text("half a ro", "utf-8")
        raise error

    monkeypatch.setattr(DuckRows, "write", break_off)
    exit_code, stdout, stderr = run("anonymize", "policy.toml", "people.csv", "-o", "out", "--replace")
    assert exit_code == code
    assert words in stderr
    assert_quotes_no_cell(stdout + stderr)
    if has_earlier_release:
        assert {path.name: path.read_bytes() for path in (place / "out").iterdir()} == before
    assert_nothing_left(place, *(["out"] if has_earlier_release else []))


@pytest.mark.parametrize("seconds", ["inf", "1e400"])
def test_a_time_limit_without_end_is_refused(place: Path, seconds: str) -> None:
    done = CliRunner().invoke(app, ["anonymize", "policy.toml", "people.csv", "-o", "out", "--time-limit", seconds])
    assert done.exit_code == 2, done.output
    assert "a time limit is a number of seconds" in done.stderr
    assert not (place / "out").exists()


@pytest.mark.slow
def test_an_unexpected_error_shows_its_traceback_only_on_request(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(self: DuckRows, folder: Path, name: str = "table", kind: str | None = None) -> Path:
        raise RuntimeError("Zanzibar")

    monkeypatch.setattr(DuckRows, "write", break_off)
    arguments = ["anonymize", "policy.toml", "people.csv", "-o", "out"]
    _, _, stderr = run(*arguments)
    assert "--debug" in stderr
    assert isinstance(CliRunner().invoke(app, ["--debug", *arguments]).exception, RuntimeError)


@pytest.mark.slow
def test_values_without_a_label_are_shown_on_request_only(place: Path) -> None:
    (place / "policy.toml").write_text(POLICY.replace("{ prefix = 5 }", '{ levels = [["90210", "*"]] }'), "utf-8")
    exit_code, stdout, stderr = run("check", "policy.toml", "people.csv", "--show-values")
    assert exit_code == 2
    assert all(value in stdout for value in ("90211", "90212", "90213"))
    assert_quotes_no_cell(stderr)
    exit_code, stdout, _ = run("check", "policy.toml", "people.csv", "--show-values", "--json")
    assert exit_code == 2
    assert json.loads(stdout)["unknown_values"] == {"zip": ["90211", "90212", "90213"]}


def test_check_tells_columns_and_hierarchies_that_do_not_fit_at_once(place: Path) -> None:
    (place / "policy.toml").write_text(POLICY.replace("illness =", "disease ="), "utf-8")
    (place / "people.csv").write_text(TABLE.replace("433", "fourhundred"), "utf-8")
    exit_code, _, stderr = run("check", "policy.toml", "people.csv")
    assert exit_code == 2
    assert all(words in stderr for words in ("columns.disease", "'illness'", "column 'age': 1 value is not a number"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-k", "0"], "-k"),
        (["-k", "five"], "-k"),
        (["--max-suppression", "1.5"], "--max-suppression"),
        (["--max-suppression", "some"], "--max-suppression"),
        (["-o", "people.csv"], "exists already"),
        (["-o", "no/such/folder/policy.toml"], "cannot write"),
    ],
)
def test_init_refuses_nonsense(place: Path, arguments: list[str], words: str) -> None:
    exit_code, stdout, stderr = run("init", "people.csv", *arguments)
    assert exit_code == 2
    assert words in stderr
    assert stdout == ""
    assert_nothing_left(place)


@pytest.mark.parametrize("name", ["empty file", "header only", "ragged rows", "column named twice", "wrong encoding"])
def test_init_answers_bad_tables(place: Path, name: str) -> None:
    table = CASES[name].table
    (place / "people.csv").write_bytes(table.encode() if isinstance(table, str) else table)
    exit_code, stdout, stderr = run("init", "people.csv")
    assert exit_code == 2
    assert "people.csv" in stderr
    assert_quotes_no_cell(stdout + stderr)
    assert_nothing_left(place)


def test_a_damaged_arrow_file_is_refused_before_its_offsets_lead_elsewhere(place: Path) -> None:
    """Arrow believes the offsets of texts; DuckDB would read beyond the file, which ends the process."""
    table = pa.table({"age": ["431", "432", "433"]})
    with pa.ipc.new_file(str(place / "people.arrow"), table.schema) as file:
        file.write_table(table)
    content = (place / "people.arrow").read_bytes()
    offsets = (3).to_bytes(4, "little") + (6).to_bytes(4, "little") + (9).to_bytes(4, "little")
    assert content.count(offsets) == 1
    (place / "people.arrow").write_bytes(content.replace(offsets, offsets[:8] + (2**30).to_bytes(4, "little")))
    with pytest.raises(TableError, match="is not an Arrow IPC file"), use_table(place / "people.arrow"):
        raise AssertionError("opened")


def test_json_lines_that_are_no_utf_16_are_refused(place: Path) -> None:
    (place / "people.jsonl").write_text('{"age": "431"}\n', "utf-8")
    with pytest.raises(TableError, match="is not utf-16"), use_table(place / "people.jsonl", encoding="utf-16"):
        raise AssertionError("opened")


@pytest.mark.parametrize("body", ["prefix = 9223372036854775808", "prefix = { length = 20000, keep = [2] }"])
def test_prefixes_of_endless_length_are_refused(body: str) -> None:
    with pytest.raises(PolicyError, match="length must be at most 256"):
        parse_policy(POLICY.replace("prefix = 5", body))


@pytest.mark.parametrize("name", ["name", "self"])
def test_options_named_like_our_own_parameters_are_refused(name: str) -> None:
    with pytest.raises(PolicyError, match=f"options.{name}: lattice has no such option"):
        parse_policy(POLICY.replace("[columns]", f"options = {{ {name} = 1 }}\n[columns]"))


def test_a_manifest_whose_delimiter_is_no_text_is_refused(place: Path) -> None:
    assert run("anonymize", "policy.toml", "people.csv", "-o", "out")[0] == 0
    said = json.loads((place / "out" / "manifest.json").read_text("utf-8"))
    (place / "out" / "manifest.json").write_text(json.dumps(said | {"delimiter": 0}), "utf-8")
    exit_code, _, stderr = run("verify", "policy.toml", "out")
    assert (exit_code, "no manifest of a release" in " ".join(stderr.split())) == (2, True), stderr


def test_a_prefix_of_the_values_at_hand_has_no_endless_levels() -> None:
    with pytest.raises(UnknownValues, match="1 value is longer than 256 characters"):
        prefix().compile(["a" * 300, "b"])
    assert prefix(keep=[2]).compile(["a" * 300, "b"]).height == 2


def test_a_ledger_whose_schema_is_no_text_is_refused(place: Path) -> None:
    """SQLite names the table that it cannot read, and what it says is then no text, either."""
    Ledger.create(place / "ledger.db").close()
    content = (place / "ledger.db").read_bytes()
    named = content.replace(b"tableindistinct_meta", b"tableindistinct_m\xf4ta").replace(
        b"CREATE TABLE", b"CREATE TABLX"
    )
    (place / "ledger.db").write_bytes(named)
    with pytest.raises(LedgerError, match="it is damaged"):
        Ledger(place / "ledger.db")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the system says: No space left on device; nothing was"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "x" * 999), f"File name too long: {'x' * 198}…"),
        (MemoryError(), "the memory is used up"),
    ],
)
def test_what_the_system_refuses_is_no_mistake_of_ours(
    place: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("indistinct.pipeline.policy_check.check", refuse)
    exit_code, _, stderr = run("check", "policy.toml", "people.csv")
    assert exit_code == 2
    assert words in stderr
    assert "report it" not in stderr


@pytest.mark.parametrize("command", [["verify", "policy.toml"], ["attack", "homogeneity", "policy.toml"]])
def test_a_path_that_is_too_long_is_reported(place: Path, command: list[str]) -> None:
    exit_code, _, stderr = run(*command, "x" * 3000)
    assert exit_code == 2
    assert "too long" in stderr


def test_names_that_are_not_utf8_are_refused(place: Path) -> None:
    """The engine takes paths as UTF-8 only."""
    name = os.fsdecode(b"\xff\xfe")
    (place / f"{name}.csv").write_text(TABLE, "utf-8")
    for arguments in (["check", "policy.toml", f"{name}.csv"], ["init", f"{name}.csv"]):
        exit_code, _, stderr = run(*arguments)
        assert exit_code == 2
        assert "not UTF-8" in stderr
    exit_code, _, stderr = run("anonymize", "policy.toml", "people.csv", "-o", name)
    assert exit_code in (2, 3)
    assert "report it" not in stderr


def test_a_list_of_nobody_links_nobody(place: Path) -> None:
    (place / "nobody.csv").write_text(HEADER + "\n", "utf-8")
    exit_code, _, stderr = run("attack", "link", "policy.toml", "people.csv", "nobody.csv")
    assert exit_code == 2
    assert "names nobody" in stderr


def test_a_vast_population_is_estimated(place: Path) -> None:
    exit_code, _, stderr = run("risk", "people.csv", "--population", "9" * 20)
    assert exit_code == 0
    assert "report it" not in stderr


def test_an_output_that_takes_nothing_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not even that it is full can be said there."""

    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    duplicated: list[int] = []
    monkeypatch.setattr(cli, "app", full)
    monkeypatch.setattr(cli.signals, "listen", lambda: None)
    monkeypatch.setattr(os, "dup2", lambda _, number: duplicated.append(number))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert duplicated == [1, 2]
    assert "cannot be written: No space left" in capsys.readouterr().err


def test_a_column_whose_name_has_no_word_is_looked_at(tmp_path: Path) -> None:
    """So is every file without a header: its first row is taken for names, 31 and % among them."""
    (tmp_path / "people.csv").write_text("Ann,31,%,flu\nBob,32,m,gout\nCid,31,f,gout\nDan,32,m,hiv\n")
    assert "31" in {column.name for column in profile(tmp_path / "people.csv").columns}
    assert risk(tmp_path / "people.csv").rows == 3


@pytest.mark.parametrize("kind", ["arrow", "pandas"])
def test_numbers_of_16_bits_are_read_and_given_back(kind: str) -> None:
    table = pa.table({"age": pa.array(np.array([1.5, 2.25, 3, 0.1] * 2, np.float16)), "sex": ["f", "m"] * 4})
    given = table if kind == "arrow" else table.to_pandas()
    policy = ix.Policy({"age": ix.other(), "sex": ix.quasi()}, [ix.KAnonymity(2)])
    with ix.anonymize(given, policy) as release:
        assert ix.verify(release.table, policy, original=given).passed
        back = release.table if kind == "arrow" else pa.Table.from_pandas(release.table)
    assert sorted(map(str, back["age"].to_pylist())) == sorted(map(str, table["age"].to_pylist()))


@pytest.mark.parametrize(
    ("given", "told"), [(pd.DataFrame(), "has no columns"), (pd.Series([1, 2]), "is no table with columns")]
)
def test_what_is_no_table_is_reported_as_such(given: object, told: str) -> None:
    with pytest.raises(TableError, match=told):
        ix.anonymize(given, ix.Policy({"age": ix.quasi()}, [ix.KAnonymity(2)]))
