"""The ledger as a data holder uses it: it lets releases through, refuses those that undo others, and remembers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

import indistinct as ix
from helpers.papers import HOSPITAL, HOSPITAL_ADDED, HOSPITAL_COLUMNS, HOSPITAL_GT1, SWEENEY, cells, table_of
from helpers.profiles import in_turn, scaled
from indistinct.cli.commands import app
from indistinct.engine import HISTORY, KEY, STATE
from indistinct.errors import LedgerError, RefusedError, TableError
from indistinct.ledger.store.entry_files import MEMBERS
from indistinct.progress import Watch
from indistinct.recoding import LocalRecoding, Pieces
from indistinct.registry import ALGORITHMS
from indistinct.search import Task

# Sweeney, "k-anonymity: a model for protecting privacy", Example 7: two patients come in.
NEW = [("black", "9/7/1965", "male", "02139", "headache"), ("black", "11/4/1965", "male", "02139", "rash")]
# The groups of GT1 and of GTt1, by the rows of the private table.
GT1 = ((0, 1), (2, 3, 7), (4, 5), (6, 8, 9), (10, 11))
GT_T1 = ((0, 1), (2, 3), (4, 5), (6, 10, 11), (7, 8, 9), (12, 13))
SAFE = HOSPITAL_GT1 + HOSPITAL_ADDED


KILLED = max(7, scaled(15))


@dataclass
class Grouped:
    """An algorithm that groups the rows of the hospital as it is told."""

    groups: Sequence[Sequence[int]]
    name: ClassVar[str] = "grouped"

    def run(self, task: Task, watch: Watch) -> LocalRecoding:
        frequencies = task.frequencies
        codes = [frequencies.entry_codes(column) for column in range(4)]
        values = [hierarchy.values for hierarchy in frequencies.hierarchies]
        group_of = {(HOSPITAL + NEW)[row][:4]: number for number, rows in enumerate(self.groups) for row in rows}
        goes_to = [
            group_of[tuple(values[column][codes[column][entry]] for column in range(4))]  # type: ignore[index]
            for entry in range(len(frequencies.entries))
        ]
        return LocalRecoding.of_pieces(frequencies, Pieces.whole(frequencies, np.array(goes_to)))


def hospital(more: bool = False) -> pa.Table:
    rows = HOSPITAL + NEW * more
    return table_of(("Name", *HOSPITAL_COLUMNS), [(f"patient {number}", *row) for number, row in enumerate(rows)])


def policy(algorithm: str = "mingen-cell", k: int = 2, **more: Any) -> ix.Policy:
    dates = {**SWEENEY["BirthDate"]}
    for row in NEW:
        month, _, year = row[1].split("/")
        dates[row[1]] = [row[1], f"{month}/{year}", year, "1965-69", "1960-69", "********"]
    hierarchies = {**SWEENEY, "BirthDate": dates}
    hierarchies["Gender"] = {value: [value, "human", "******"] for value in ("male", "female")}
    columns = {name: ix.quasi(ix.levels(list(hierarchies[name].values()))) for name in HOSPITAL_COLUMNS[:4]}
    return ix.Policy(
        columns={"Name": ix.identifier(), **columns, "Problem": ix.sensitive()},
        privacy=[ix.KAnonymity(k)],
        algorithm=algorithm,
        **more,
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[ix.Ledger]:
    with ix.Ledger.create(tmp_path / "ledger.db") as made:
        yield made


@pytest.fixture
def anywhere(ledger_place: tuple[str, Path]) -> Iterator[ix.Ledger]:
    """Return a ledger in SQLite, and once more in PostgreSQL."""
    with ix.Ledger.create(ledger_place[0], ledger_place[1]) as made:
        yield made


def people(number: int, first: int = 0, **more: Any) -> pa.Table:
    """So many people, half of them of either age, each with her own name."""
    names = [f"p{first + person}" for person in range(number)]
    columns = {
        "name": names,
        "age": ["1", "2"] * (number // 2) + ["1"] * (number % 2),
        "ill": ["flu", "gout"] * (number // 2) + ["flu"] * (number % 2),
    }
    return pa.table(columns | more)


def simple(k: int = 2, **more: Any) -> ix.Policy:
    return ix.Policy(
        columns={"name": ix.identifier(), "age": ix.quasi(ix.suppress()), "ill": ix.sensitive()},
        privacy=[ix.KAnonymity(k)],
        **more,
    )


@pytest.mark.slow
def test_the_second_release_of_example_7_is_refused_and_the_safe_one_is_found(
    anywhere: ix.Ledger, tmp_path: Path
) -> None:
    with anywhere.anonymize(hospital(), policy(), recipient="R", algorithm=Grouped(GT1)) as first:
        assert cells(first.table) == cells(table_of(HOSPITAL_COLUMNS, SAFE[:12]))
    found = anywhere.check(hospital(more=True), policy(), recipient="R", algorithm=Grouped(GT_T1))
    assert (found.at_risk, found.smallest, found.people) == (2, 1, 14)
    with pytest.raises(RefusedError, match="2 people less protected"):
        anywhere.anonymize(hospital(more=True), policy(), recipient="R", algorithm=Grouped(GT_T1))
    for again in ("based", "consistent"):
        with anywhere.anonymize(hospital(more=True), policy(), recipient="R", again=again) as second:  # type: ignore[arg-type]
            assert cells(second.table) == cells(table_of(HOSPITAL_COLUMNS, SAFE))
            assert second.verify(original=hospital(more=True)).passed
            second.write(tmp_path / again)
            verdict = ix.verify(tmp_path / again, policy(), original=hospital(more=True))
            assert verdict.passed
            is_based = "labels of the release that it is based on" in str(verdict)
            assert is_based == (again == "based")  # its measures say what it loses since then, not since the table
    assert [entry.number for entry in anywhere.entries] == [1, 2, 3]


@pytest.mark.slow
def test_nothing_becomes_more_specific_than_in_the_release_it_is_based_on(ledger: ix.Ledger) -> None:
    wide = simple(k=5)
    with ledger.anonymize(people(8), wide, recipient="R") as first:
        assert first.node == {"age": 1}
    with ledger.anonymize(people(8), simple(), recipient="R", again="consistent") as second:
        assert set(second.table["age"].to_pylist()) == {"*"}  # five were promised, and either age has four
    with ledger.anonymize(people(8), simple(), recipient="S", source="other people") as other:
        assert other.node == {"age": 0}
    with ledger.anonymize(people(24), simple(), recipient="R", source="third") as low:
        assert low.node == {"age": 0}
    with ledger.anonymize(people(24), simple(k=13), recipient="R", source="fourth"):
        pass
    with ledger.anonymize(people(24), simple(k=2), recipient="R", source="fourth", again="based") as based:
        assert set(based.table["age"].to_pylist()) == {"*"}


@pytest.mark.slow
def test_new_people_must_be_as_many_as_k(ledger: ix.Ledger) -> None:
    ledger.anonymize(people(8), simple(), recipient="R").close()
    with pytest.raises(RefusedError, match="in this release, not in entry 1"):
        ledger.anonymize(people(9), simple(), recipient="R")
    with pytest.raises(RefusedError, match="no release under this policy keeps to the earlier ones"):
        ledger.anonymize(people(9), simple(), recipient="R", again="consistent")
    with ledger.anonymize(people(9), simple(max_suppression=1), recipient="R", again="consistent") as second:
        assert second.table.num_rows == 8
        assert second.suppressed == 1


AGES = {"generalized": ix.suppress(), "kept": ix.keep()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "age"),
    in_turn(sorted(ALGORITHMS), AGES),
)
def test_a_refusal_names_no_column_but_the_holders(ledger: ix.Ledger, algorithm: str, age: str) -> None:
    columns = {"name": ix.identifier(), "age": ix.quasi(AGES[age]), "ill": ix.sensitive()}
    asked = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)], max_suppression=0)
    ledger.anonymize(people(8), asked, recipient="R").close()
    with pytest.raises(ix.IndistinctError) as refused:
        ledger.anonymize(people(9), asked, recipient="R", again="consistent", algorithm=algorithm)
    for internal in (KEY, STATE, HISTORY):
        assert internal not in str(refused.value)


@pytest.mark.parametrize("name", [KEY, STATE, HISTORY, HISTORY.upper()])
def test_a_column_with_a_name_that_the_ledger_needs_is_refused(ledger: ix.Ledger, name: str) -> None:
    asked = simple()
    asked = replace(asked, columns={**asked.columns, name: ix.other()})
    with pytest.raises(LedgerError, match="give the column another"):
        ledger.anonymize(people(8, **{name: ["x"] * 8}), asked, recipient="R")


@pytest.mark.slow
def test_somebody_who_is_gone_takes_others_with_her(ledger: ix.Ledger) -> None:
    ledger.anonymize(people(8), simple(k=2), recipient="R").close()
    without_one = people(8).slice(1)
    with pytest.raises(RefusedError, match="in entry 1, not in this release"):
        ledger.anonymize(without_one, simple(k=2), recipient="R")
    with ledger.anonymize(without_one, simple(k=2, max_suppression=4), recipient="R", again="consistent") as second:
        assert second.table["age"].to_pylist() == ["2"] * 4  # the other three of her group stay away as well


@pytest.mark.slow
def test_a_person_who_changed_is_recognised(ledger: ix.Ledger) -> None:
    ledger.anonymize(people(8), simple(), recipient="R").close()
    moved = people(8).to_pydict()
    moved["age"][0] = "2"
    with pytest.raises(RefusedError, match="smallest cell has 1 person"):
        ledger.anonymize(pa.table(moved), simple(), recipient="R")


@pytest.mark.slow
def test_promises_of_earlier_releases_still_hold(ledger: ix.Ledger) -> None:
    ledger.anonymize(people(12), simple(k=7), recipient="R").close()
    with pytest.raises(RefusedError, match=r"k-anonymity \(k = 7\) of entry 1"):
        ledger.anonymize(people(12), simple(k=2), recipient="R")


@pytest.mark.slow
def test_values_that_were_hidden_stay_hidden(ledger: ix.Ledger) -> None:
    """Two groups of two, each diverse, whose overlaps are not."""
    columns = {"name": list("abcd"), "x": list("1122"), "y": list("1212"), "ill": ["flu", "gout", "gout", "flu"]}
    rows = {
        name: cells * 3 if name != "name" else [f"{c}{n}" for n in range(3) for c in cells]
        for name, cells in columns.items()
    }
    quasi = {"x": ix.quasi(ix.suppress()), "y": ix.quasi(ix.suppress())}

    def diverse(kept: str) -> ix.Policy:
        own = {name: ix.quasi() if name == kept else column for name, column in quasi.items()}
        return ix.Policy(
            columns={"name": ix.identifier(), **own, "ill": ix.sensitive()},
            privacy=[ix.KAnonymity(2), ix.LDiversity(2)],
        )

    ledger.anonymize(pa.table(rows), diverse("x"), recipient="R").close()
    with pytest.raises(RefusedError, match="l-diversity"):
        ledger.anonymize(pa.table(rows), diverse("y"), recipient="R")


@pytest.mark.slow
def test_only_those_who_might_collude_count(ledger: ix.Ledger) -> None:
    ledger.anonymize(people(8), simple(), recipient="R").close()
    with pytest.raises(RefusedError):
        ledger.anonymize(people(9), simple(), recipient="S")
    with pytest.raises(RefusedError):
        ledger.anonymize(people(9), simple(), recipient="S", colluding=["R"])
    ledger.anonymize(people(9), simple(), recipient="S", colluding="none").close()
    ledger.anonymize(people(10), simple(), recipient="T", colluding=["nobody"]).close()
    with pytest.raises(RefusedError):  # what is public, everybody has
        ledger.anonymize(people(11), simple(), recipient="public", colluding="none")


@pytest.mark.slow
def test_what_is_public_counts_for_everybody(anywhere: ix.Ledger) -> None:
    anywhere.anonymize(people(8), simple(), recipient="public").close()
    with pytest.raises(RefusedError):
        anywhere.anonymize(people(9), simple(), recipient="S", colluding="none")


@pytest.mark.slow
def test_people_are_recognised_by_the_same_key_always(ledger: ix.Ledger) -> None:
    ledger.anonymize(people(8), simple(), recipient="R").close()
    other = ix.Policy(columns={**simple().columns, "name": ix.other()}, privacy=[ix.KAnonymity(2)])
    with pytest.raises(LedgerError, match="entry 1 recognises people by 'name'"):
        ledger.anonymize(people(8), other, recipient="R")
    ledger.anonymize(people(8), other, recipient="R", key="name").close()
    with pytest.raises(LedgerError, match="no column of the policy"):
        ledger.anonymize(people(8), other, recipient="R", key="nobody")


def test_a_key_names_one_person(ledger: ix.Ledger) -> None:
    twice = pa.table({"name": ["a", "a", "b", "c"], "age": list("1111"), "ill": ["flu"] * 4})
    with pytest.raises(TableError, match="1 rows repeat the 'name' of another"):
        ledger.anonymize(twice, simple(), recipient="R")
    nobody = pa.table({"name": ["a", None, "b", "c"], "age": list("1111"), "ill": ["flu"] * 4})
    with pytest.raises(TableError, match="1 rows have nothing in 'name'"):
        ledger.anonymize(nobody, simple(), recipient="R")
    assert ledger.entries == []


@pytest.mark.slow
def test_without_a_key_whole_rows_are_recognised(ledger: ix.Ledger) -> None:
    columns = {"age": ix.quasi(ix.suppress()), "ill": ix.sensitive()}
    unnamed = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])
    table = people(8).drop_columns("name")
    ledger.anonymize(table, unnamed, recipient="R").close()
    ledger.anonymize(table, unnamed, recipient="R").close()
    with pytest.raises(RefusedError):
        ledger.anonymize(table.slice(1), unnamed, recipient="R")


def test_terms_that_make_no_sense_are_refused(ledger: ix.Ledger) -> None:
    with pytest.raises(LedgerError, match="colluding must be 'all', 'none' or a list of recipients, got 'some'"):
        ledger.anonymize(people(8), simple(), recipient="R", colluding="some")
    with pytest.raises(LedgerError, match="again must be 'consistent' or 'based', got 'same'"):
        ledger.anonymize(people(8), simple(), recipient="R", again="same")
    with pytest.raises(LedgerError, match="say suppressed_rows = 'remove'"):
        ledger.anonymize(people(8), simple(suppressed_rows="blank"), recipient="R", again="consistent")
    assert ledger.entries == []


def test_a_policy_that_later_releases_could_not_be_held_to_is_refused(ledger: ix.Ledger) -> None:
    class Measure(ix.Loss):
        """A measure from elsewhere."""

    with pytest.raises(LedgerError, match="cannot be written in a policy file"):
        ledger.anonymize(people(8), simple(options={"measure": Measure()}), recipient="R")


@pytest.mark.slow
def test_a_model_that_asks_about_a_population_is_refused(ledger: ix.Ledger, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(people(8), tmp_path / "everybody.parquet")
    asked = replace(simple(), privacy=[ix.KMap(2, tmp_path / "everybody.parquet")])
    with pytest.raises(ix.PolicyError, match=r"several releases together mean for k-map.* use k-anonymity"):
        ledger.anonymize(people(8), asked, recipient="R")
    assert ledger.entries == []


@pytest.mark.slow
def test_a_promise_about_one_quasi_identifier_is_kept_for_all_that_follow(ledger: ix.Ledger) -> None:
    sets = {"by age": ["age"], "by town": ["town"]}
    columns = {**simple().columns, "town": ix.quasi(ix.suppress())}
    models = [ix.KAnonymity(5, on="by age"), ix.KAnonymity(2, on="by town")]
    towns = {"town": ["x"] * 8}
    named = ix.Policy(columns=columns, privacy=models, quasi_identifiers=sets)
    with ledger.anonymize(people(8, **towns), named, recipient="R") as first:
        assert first.node == {"age": 1, "town": 0}
    with ledger.anonymize(people(8), simple(k=2), recipient="R", again="consistent") as second:
        assert set(second.table["age"].to_pylist()) == {"*"}  # either age has four, and five were promised


@pytest.mark.slow
def test_two_tables_are_remembered_by_their_classes(ledger: ix.Ledger) -> None:
    private = people(8, ill=["flu", "gout", "gout", "flu"] * 2)
    two = ix.Policy(columns=simple().columns, privacy=[ix.KAnonymity(2), ix.LDiversity(2)], algorithm="lossy-join")
    with ledger.anonymize(private, two, recipient="R") as first:
        assert set(first.tables) == {"quasi", "sensitive"}
        assert ".key" not in first.tables["quasi"].column_names
    ledger.anonymize(private, two, recipient="R").close()  # the same classes: nothing new
    with pytest.raises(RefusedError, match="two tables"):
        ledger.anonymize(private, two, recipient="R", again="consistent")


@pytest.mark.slow
def test_the_folder_and_the_entry_say_the_same(ledger: ix.Ledger, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("name,age,ill\n" + "".join(f"p{n},{n % 2},flu\n" for n in range(8)), "utf-8")
    with ledger.anonymize(table, simple(), recipient="R", purpose="study", folder=tmp_path / "out") as release:
        assert release.entry == 1
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    entry = ledger.entries[0]
    assert entry.manifest == manifest
    assert (entry.recipient, entry.purpose, entry.source) == ("R", "study", "main")
    ledger.export(1, tmp_path / "again")
    for name in ("manifest.json", "table.csv"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    assert ledger.verify().passed


@pytest.mark.slow
def test_neither_keys_nor_the_history_leave_the_ledger(ledger: ix.Ledger, tmp_path: Path) -> None:
    for number, folder in enumerate(("one", "two"), start=1):
        with ledger.anonymize(
            people(8 * number), simple(), recipient="R", again="consistent", folder=tmp_path / folder
        ) as made:
            assert made.table.column_names == ["age", "ill"]
            assert "history" not in json.dumps(made.facts.to_dict())
    members = pyarrow.parquet.read_table(ledger.store.files.path(ledger.entries[0], MEMBERS))
    text = str(members.to_pylist())
    assert not any(f"p{number}" in text for number in range(8))
    assert members.column_names == ["key", "state", "group", "label.age", "value.ill"]


@pytest.mark.slow
def test_a_refused_release_leaves_nothing(ledger: ix.Ledger, tmp_path: Path) -> None:
    ledger.anonymize(people(8), simple(), recipient="R").close()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RefusedError):
        ledger.anonymize(people(9), simple(), recipient="R", folder=tmp_path / "deep" / "out")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_a_release_made_before_can_be_added(ledger: ix.Ledger, tmp_path: Path) -> None:
    with ix.anonymize(people(8), simple()) as made:
        made.write(tmp_path / "old")
    entry, found = ledger.add(tmp_path / "old", simple(), people(8), recipient="R")
    assert (entry.number, found.at_risk) == (1, 0)
    with pytest.raises(RefusedError):
        ledger.anonymize(people(9), simple(), recipient="R")
    with ix.anonymize(people(9), simple()) as made:
        made.write(tmp_path / "later")
    _, found = ledger.add(tmp_path / "later", simple(), people(9), recipient="R")
    assert found.at_risk == 1  # it has left the house; the ledger says what that means
    with pytest.raises(LedgerError, match="not the release of this original"):
        ledger.add(tmp_path / "old", simple(), people(10), recipient="R")
    with ix.anonymize(people(8), simple(), algorithm="mondrian") as made:
        made.write(tmp_path / "local")
    with pytest.raises(LedgerError, match="cannot be entered afterwards"):
        ledger.add(tmp_path / "local", simple(), people(8), recipient="R")


def test_what_is_no_release_folder_cannot_be_added(ledger: ix.Ledger, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"is no release folder: it has no manifest\.json"):
        ledger.add(tmp_path, simple(), people(8), recipient="R")


def overtake(ledger: ix.Ledger, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have something done in between, just before the next entry is made."""
    append, turns = ledger.store.append, [act]

    def overtaken(draft: Any, head: str) -> Any:
        if turns:
            turns.pop()()
        return append(draft, head)

    monkeypatch.setattr(ledger.store, "append", overtaken)


@pytest.mark.slow
def test_another_release_in_the_meantime_is_taken_into_account(
    ledger: ix.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a release is made, somebody else enters one that it does not go together with."""
    ledger.anonymize(people(8), simple(), recipient="R").close()
    other = ix.Ledger(tmp_path / "ledger.db")
    overtake(ledger, lambda: other.anonymize(people(12), simple(), recipient="S").close(), monkeypatch)
    with pytest.raises(RefusedError, match="entries 1, 2"):
        ledger.anonymize(people(14), simple(), recipient="R", folder=tmp_path / "out")
    other.close()
    assert len(ledger.entries) == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_release_that_keeps_to_others_is_made_anew_if_one_comes_in_between(
    ledger: ix.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.anonymize(people(8), simple(), recipient="R").close()
    with ix.Ledger(tmp_path / "ledger.db") as other:
        overtake(ledger, lambda: other.anonymize(people(12), simple(), recipient="S").close(), monkeypatch)
        asked = simple(max_suppression=2)
        with ledger.anonymize(people(14), asked, recipient="R", again="consistent", folder=tmp_path / "out") as made:
            assert (made.entry, made.suppressed) == (3, 2)  # two people alone are new beside both others
    assert [entry.recipient for entry in ledger.entries] == ["R", "S", "R"]
    assert ix.verify(tmp_path / "out", asked, original=people(14)).passed
    assert ledger.verify().passed


def test_whom_others_would_be_missed_beside_stay_out_or_nothing_leaves(ledger: ix.Ledger) -> None:
    """Of four people of one group one is gone; the other three go with her, and the policy allows none."""
    ledger.anonymize(people(8), simple(), recipient="R").close()
    fewer = people(8).slice(1)
    with pytest.raises(ix.RefusedError, match="of 7 rows must be suppressed, but the policy allows 0"):
        ledger.anonymize(fewer, simple(max_suppression=0), recipient="R", again="consistent")
    assert len(ledger.entries) == 1


@pytest.mark.slow
def test_a_release_is_added_after_one_that_comes_in_between(
    ledger: ix.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ix.anonymize(people(9), simple()) as made:
        made.write(tmp_path / "old")
    with ix.Ledger(tmp_path / "ledger.db") as other:
        overtake(ledger, lambda: other.anonymize(people(8), simple(), recipient="S").close(), monkeypatch)
        entry, found = ledger.add(tmp_path / "old", simple(), people(9), recipient="R")
    assert (entry.number, found.at_risk) == (2, 1)  # who is not in the other release is alone
    assert ledger.verify().passed


@pytest.mark.slow
def test_killed_in_the_middle_of_a_release_it_is_whole_or_was_never_there(tmp_path: Path) -> None:
    ix.Ledger.create(tmp_path / "ledger.db").close()
    (tmp_path / "out").mkdir()
    program = Path(__file__).parents[1] / "helpers" / "releasing_writers.py"
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "ledger.db"), str(tmp_path / "out"), str(KILLED), "1"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    finished = dict(line.split() for line in done.stdout.splitlines())
    with ix.Ledger(tmp_path / "ledger.db") as ledger:
        assert ledger.verify().passed
        entries = {entry.number: entry for entry in ledger.entries}
        assert {int(number) for number in finished.values()} <= set(entries)
        folders = [place for place in (tmp_path / "out").iterdir() if not place.name.startswith(".")]
        assert set(finished) <= {place.name for place in folders}
        assert len(entries) >= len(folders)  # what has a name was entered first
        manifests = [entry.manifest for entry in entries.values()]
        for place in folders:
            assert json.loads((place / "manifest.json").read_text("utf-8")) in manifests
        for number in entries:
            ledger.export(number, tmp_path / "again" / str(number))
            assert ix.verify(tmp_path / "again" / str(number), simple(), threads=1).passed
    assert finished, done.stderr  # some got through; each process was killed while it made one more


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with a policy, a ledger, and tables of eight and of nine people."""
    (tmp_path / "policy.toml").write_text(ix.policy_toml(simple()), "utf-8")
    for number in (8, 9):
        rows = zip(*people(number).to_pydict().values(), strict=True)
        text = "name,age,ill\n" + "".join(",".join(row) + "\n" for row in rows)
        (tmp_path / f"{number}.csv").write_text(text, "utf-8")
    assert run(tmp_path, "ledger", "init", "ledger.db").exit_code == 0
    return tmp_path


FILES = ("policy.toml", "ledger.db", "8.csv", "9.csv", "a", "b")


def run(folder: Path, *arguments: str) -> Result:
    """Run a command; arguments that name files are taken from a folder."""
    return CliRunner().invoke(app, [str(folder / said) if said in FILES else said for said in arguments])


def test_a_new_ledger_says_what_comes_next(tmp_path: Path) -> None:
    made = run(tmp_path, "ledger", "init", "ledger.db")
    assert f"next: indistinct anonymize policy.toml TABLE -o release --ledger {tmp_path / 'ledger.db'}" in made.stderr
    assert f"indistinct ledger list --ledger {tmp_path / 'ledger.db'}" in made.stderr
    assert run(tmp_path, "ledger", "list", "--ledger", "ledger.db").exit_code == 0


@pytest.mark.slow
def test_the_command_line_enters_releases_and_refuses_with_exit_code_5(files: Path) -> None:
    to_r = ("--ledger", "ledger.db", "--recipient", "R")
    first = run(files, "anonymize", "policy.toml", "8.csv", "-o", "a", *to_r, "--json")
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout)["entry"] == 1
    found = run(files, "ledger", "check", "policy.toml", "9.csv", *to_r, "--json")
    assert (found.exit_code, json.loads(found.stdout)["people_at_risk"]) == (5, 1)
    found = run(files, "ledger", "check", "policy.toml", "8.csv", *to_r)
    assert (found.exit_code, "the smallest of 4" in " ".join(found.output.split())) == (0, True)
    refused = run(files, "anonymize", "policy.toml", "9.csv", "-o", "b", *to_r)
    assert refused.exit_code == 5
    assert "--again" in refused.stderr
    assert not (files / "b").exists()
    again = run(files, "anonymize", "policy.toml", "9.csv", "-o", "b", *to_r, "--again", "sometimes")
    assert (again.exit_code, "'consistent' or 'based'" in again.stderr) == (2, True)


@pytest.mark.slow
def test_the_command_line_says_what_is_missing(files: Path) -> None:
    nobody = run(files, "anonymize", "policy.toml", "8.csv", "-o", "a", "--ledger", "ledger.db")
    assert (nobody.exit_code, "--recipient" in nobody.stderr) == (2, True)
    nowhere = run(files, "anonymize", "policy.toml", "8.csv", "-o", "a", "--recipient", "R", "--again", "based")
    assert (nowhere.exit_code, "--recipient and --again: only with a ledger" in nowhere.stderr) == (2, True)
    unsafe = ("--ledger", "ledger.db", "--recipient", "R", "--allow-unsafe")
    assert run(files, "anonymize", "policy.toml", "8.csv", "-o", "a", *unsafe).exit_code == 2
    assert not (files / "a").exists()


@pytest.mark.slow
def test_the_command_line_adds_an_older_release(files: Path) -> None:
    assert run(files, "anonymize", "policy.toml", "8.csv", "-o", "a").exit_code == 0
    original = ("--original", "8.csv", "--ledger", "ledger.db", "--recipient", "R")
    added = run(files, "ledger", "add", "policy.toml", "a", *original, "--json")
    assert added.exit_code == 0, added.output
    assert json.loads(added.stdout)["entry"] == 1
    assert run(files, "ledger", "verify", "--ledger", "ledger.db").exit_code == 0


def test_a_ledger_keeps_a_day_of_review_and_lists_what_is_due(tmp_path):
    from datetime import date

    policy = ix.Policy(columns={"sex": ix.quasi(ix.suppress()), "name": ix.identifier()}, privacy=[ix.KAnonymity(2)])
    table = pa.table({"sex": ["f", "f", "m", "m"], "name": ["Ann", "Eve", "Bob", "Tom"]})
    with ix.Ledger.create(tmp_path / "ledger.db") as ledger:
        for source, review in (("a", "2020-02-29"), ("b", None), ("c", date(2019, 1, 1)), ("d", "2999-01-01")):
            ledger.anonymize(table, policy, recipient="University", source=source, review=review).close()
        assert [entry.review for entry in ledger.entries] == ["2020-02-29", None, "2019-01-01", "2999-01-01"]
        assert [entry.number for entry in ledger.due()] == [3, 1]
        assert [entry.number for entry in ledger.due(date(2019, 1, 1))] == [3]
        assert ledger.due(date(2018, 12, 31)) == []
        assert ledger.verify().passed
        with pytest.raises(ix.LedgerError, match="review: must be a day"):
            ledger.anonymize(table, policy, recipient="University", source="e", review="next spring")
    listed = CliRunner().invoke(app, ["ledger", "list", "--due", "--ledger", str(tmp_path / "ledger.db"), "--json"])
    assert [entry["review"] for entry in json.loads(listed.stdout)["entries"]] == ["2019-01-01", "2020-02-29"]
    shown = CliRunner().invoke(app, ["ledger", "list", "--ledger", str(tmp_path / "ledger.db")])
    assert "2999-01-01" in shown.output
