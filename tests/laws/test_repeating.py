"""The same table and policy give the same recoding, and with the same seed the same release."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import indistinct as ix
from indistinct.cli import app
from indistinct.engine import use_table
from indistinct.pipeline.stages import choose_algorithm, count, search
from indistinct.progress import Watch
from indistinct.randomness import SECURE, Draws

SEED = "xyzzy-the-seed"
ROWS = 240
GENERATOR = np.random.default_rng(3)
TABLE = pa.table(
    {
        "age": [str(age) for age in GENERATOR.integers(20, 50, ROWS)],
        "zip": [str(code) for code in GENERATOR.integers(100, 130, ROWS)],
        "ill": [("flu", "cold", "ache", "burn")[kind] for kind in GENERATOR.integers(0, 4, ROWS)],
        "cost": [float(cost) if cost else None for cost in GENERATOR.integers(0, 50, ROWS)],
        "number": list(range(ROWS)),
    }
)
COLUMNS = {
    "age": ix.quasi(ix.intervals(5, 10)),
    "zip": ix.quasi(ix.prefix()),
    "ill": ix.sensitive(),
    "cost": ix.other(),
    "number": ix.other(),
}
POLICY = ix.Policy(columns=COLUMNS, privacy=[ix.KAnonymity(4), ix.LDiversity(2)])
LOCAL = ("regroup", "mondrian", "top-down", "lossy-join")
REVERSED = TABLE.take(list(range(ROWS))[::-1])


def recoding_of(table: Any, algorithm: str, time_limit: float | None = None) -> tuple[Any, ...]:
    """Return which rows of which tuple go to which group."""
    watch = Watch(time_limit=time_limit)
    chosen = choose_algorithm(algorithm, POLICY)
    with use_table(table) as rows, count({"table": rows}, POLICY, watch, algorithm=chosen) as counted:
        found = search(counted, chosen, watch)
        pieces = found.as_pieces()
        return found.levels, pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [*LOCAL, "lattice", "datafly"])
def test_a_recoding_follows_from_the_rows_and_not_from_their_order_or_kind(algorithm: str, tmp_path: Path) -> None:
    import polars

    mixed = TABLE.take(np.random.default_rng(1).permutation(ROWS))
    pyarrow.csv.write_csv(mixed, tmp_path / "table.csv")
    expected = recoding_of(TABLE, algorithm)
    for table in (TABLE, mixed, mixed.to_pandas(), polars.DataFrame(REVERSED), tmp_path / "table.csv"):
        assert recoding_of(table, algorithm) == expected
    if algorithm != "regroup":  # which uses the time that it is given
        assert recoding_of(TABLE, algorithm, time_limit=1000.0) == expected


def released(table: Any, algorithm: str, seed: int | str | None = SEED, **reading: Any) -> dict[str, Any]:
    with ix.anonymize(table, POLICY, algorithm=algorithm, seed=seed, **reading) as release:
        return {name: part.to_pydict() for name, part in release.tables.items()}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [*LOCAL, "lattice", "anatomy"])
def test_the_same_seed_gives_the_same_release_in_whatever_order_rows_come(algorithm: str) -> None:
    expected = released(TABLE, algorithm)
    assert released(TABLE, algorithm, threads=1) == expected
    assert repr(released(REVERSED, algorithm)) == repr(expected)
    for other in ("another seed", None):
        again = released(TABLE, algorithm, other)
        assert all(again[name] != expected[name] for name in expected)
    assert released(TABLE, algorithm, None) != released(TABLE, algorithm, None)


def test_rows_with_a_seed_stand_in_no_order_that_tells_the_source() -> None:
    order = released(TABLE, "lattice")["table"]["number"]
    assert sorted(order) == list(range(ROWS))
    neighbours = sum(abs(one - two) == 1 for one, two in pairwise(order))
    assert neighbours < 15  # of 239; a random order has two of them on average


def test_another_table_draws_other_numbers_from_the_same_seed() -> None:
    """With class numbers drawn alike, two releases would tell which classes were made first in both."""
    shorter = TABLE.slice(0, ROWS - 1)
    sizes = [np.bincount(released(table, "anatomy")["quasi"]["class_id"]) for table in (TABLE, shorter)]
    assert not np.array_equal(sizes[0][: len(sizes[1])], sizes[1])
    first, second = (Draws.of_seed(SEED, purpose).part("order").keys(64) for purpose in (b"a", b"b"))
    assert not (first == second).any()
    assert not (Draws.of_seed(SEED, b"a").part("groups").keys(64) == first).any()


def test_draws_without_a_seed_never_repeat_and_those_of_a_seed_show_nothing_of_it() -> None:
    assert not SECURE.repeats
    assert not (SECURE.part("order").keys(64) == SECURE.part("order").keys(64)).any()
    draws = Draws.of_seed(SEED, b"a")
    assert SEED not in repr(draws)
    assert draws.salt(b"key") == draws.salt(b"key") != draws.salt(b"another key")
    assert SECURE.salt(b"key") != SECURE.salt(b"key")
    keys = np.sort(draws.keys(20_000)) / 2.0**64
    assert np.abs(keys - np.arange(20_000) / 20_000).max() < 0.02  # uniform, by Kolmogorov and Smirnov


@pytest.mark.parametrize("seed", ["", "  ", True, 1.5, b"x"])
def test_what_is_no_seed_is_refused_and_not_quoted(seed: Any) -> None:
    with pytest.raises(ix.PolicyError, match="whole number or a text") as raised:
        ix.anonymize(TABLE, POLICY, seed=seed)
    assert "1.5" not in str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".jsonl"])
def test_files_are_byte_for_byte_the_same_and_say_nothing_of_the_seed(suffix: str, tmp_path: Path) -> None:
    import polars

    path = tmp_path / f"table{suffix}"
    frame = polars.DataFrame(TABLE)
    writers = {".csv": "write_csv", ".parquet": "write_parquet", ".arrow": "write_ipc", ".jsonl": "write_ndjson"}
    getattr(frame, writers[suffix])(path)
    found = []
    for number in range(2):
        folder = tmp_path / f"release-{number}"
        with ix.anonymize(path, POLICY, algorithm="regroup", seed=SEED) as release:
            release.write(folder)
        said = json.loads((folder / "manifest.json").read_text())
        said.pop("made_at")
        assert "seed" not in json.dumps(said)
        found.append((said, {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix == suffix}))
    assert len(found[0][1]) == 1
    assert found[0] == found[1]


DAYS = [f"2024-{1 + row % 12:02}-{1 + row % 28:02}" for row in range(ROWS)]
PEOPLE = TABLE.append_column("who", pa.array([f"person {row // 2}" for row in range(ROWS)]))
PEOPLE = PEOPLE.append_column("day", pa.array(DAYS))


def policy_of_people(**key: str) -> ix.Policy:
    person = {"column": "who", "release": "pseudonym", **key}
    columns = {"who": ix.identifier(), "day": ix.other(shift=300), **COLUMNS}
    return ix.Policy(columns=columns, privacy=[ix.KAnonymity(3)], person=person)


def test_pseudonyms_are_refused_without_a_key_that_the_holder_keeps() -> None:
    with pytest.raises(ix.PolicyError, match=r"a key that nobody keeps.*key_file"):
        ix.anonymize(PEOPLE, policy_of_people(), seed=SEED)


@pytest.mark.slow
def test_pseudonyms_and_moved_dates_repeat_under_the_same_key_and_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for key, seed in (("a", 5), ("a", "5"), ("b", 5), ("a", 6)):
        monkeypatch.setenv("THE_KEY", key * 40)
        with ix.anonymize(PEOPLE, policy_of_people(key_env="THE_KEY"), seed=seed) as release:
            found.append((release.facts.pseudonym_salt, release.table.sort_by("number").to_pydict()))
            if seed == "5":
                with ix.anonymize(PEOPLE, release.policy, seed=seed) as again:
                    assert again.table.equals(release.table)
    first, same, other_key, other_seed = found
    assert first == same
    assert other_key[0] != first[0]
    assert not set(other_key[1]["pseudonym"]) & set(first[1]["pseudonym"])
    assert other_key[1]["day"] == first[1]["day"]
    assert other_seed[1]["day"] != first[1]["day"]
    assert not set(other_seed[1]["pseudonym"]) & set(first[1]["pseudonym"])


def run(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def test_the_command_line_takes_a_seed_and_warns_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow.csv.write_csv(TABLE, tmp_path / "table.csv")
    (tmp_path / "policy.toml").write_text(ix.policy_toml(POLICY))
    given = ("anonymize", tmp_path / "policy.toml", tmp_path / "table.csv", "-o")
    first = run(*given, tmp_path / "one", "--seed", SEED)
    assert "the seed belongs to the secret" in first.stderr
    assert "second, different release" not in first.stderr
    monkeypatch.setenv("INDISTINCT_SEED", SEED)
    second = run(*given, tmp_path / "two", "--json")
    assert "the seed belongs to the secret" in second.stderr
    monkeypatch.delenv("INDISTINCT_SEED")
    plain = run(*given, tmp_path / "three")
    assert "not in a ledger: the same command makes a second, different release" in plain.stderr
    assert "seed" not in plain.output
    texts = [(tmp_path / name / "table.csv").read_bytes() for name in ("one", "two", "three")]
    assert texts[0] == texts[1] != texts[2]
    refused = run(*given, tmp_path / "four", "--seed", SEED, "--ledger", tmp_path / "ledger.db", code=2)
    assert "a ledger keeps each release" in refused.stderr
    assert not any(SEED in result.output for result in (first, second, plain, refused))
