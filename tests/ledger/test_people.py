"""The ledger where a person has several rows: each row is followed, and what hides it is counted in people."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import indistinct as ix
from helpers.profiles import in_turn, scaled
from indistinct.cli.commands import app
from indistinct.engine import KEY, PERSON, ROW
from indistinct.errors import InfeasibleError, LedgerError, RefusedError, TableError
from indistinct.release.pseudonyms import with_fresh_pseudonyms

TOGETHER = 4
HISTORIES = scaled(2) * TOGETHER
STEPS = 3
AGES = ["1", "2", "3", "4"]
TOWNS = ["ab", "ac", "bd", "be"]
ILLS = ["flu", "gout", "rash"]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[ix.Ledger]:
    with ix.Ledger.create(tmp_path / "ledger.db") as made:
        yield made


def visits(*rows: str) -> pa.Table:
    """Return a table of visits, each as "patient visit ward ill"."""
    cells = [row.split() for row in rows]
    return pa.table({name: [row[place] for row in cells] for place, name in enumerate(("who", "visit", "ward", "ill"))})


def policy(k: int = 2, **more: Any) -> ix.Policy:
    columns = {
        "who": ix.identifier(),
        "visit": ix.identifier(),
        "ward": ix.quasi(ix.prefix(2)),
        "ill": ix.sensitive(),
    }
    said: dict[str, Any] = {"columns": columns, "privacy": [ix.KAnonymity(k)], "person": "who"}
    return ix.Policy(**said | more)


# Ann comes twice to the same ward. Every ward has three visits; eye has them of two people.
MARCH = ("Ann 1 ey flu", "Ann 2 ey gout", "Bob 3 ey flu", "Cid 4 su flu", "Dan 5 su flu", "Eve 6 su gout")


def test_the_same_release_can_be_given_twice(ledger: ix.Ledger) -> None:
    for number in (1, 2):
        with ledger.anonymize(visits(*MARCH), policy(), recipient="R") as release:
            assert release.entry == number
            assert release.table.column_names == ["ward", "ill"]
            assert release.verdict is not None
            assert "people: k-anonymity (k = 2) on quasi-identifier" in [one.name for one in release.verdict.checks]
    found = ledger.check(visits(*MARCH), policy(), recipient="R")
    assert (found.passed, found.people, found.cells, found.smallest) == (True, 5, 2, 2)
    assert ledger.entries[0].details["person"] == ["who"]
    assert ledger.verify().passed


@pytest.mark.parametrize("key", [None, "visit"])
def test_a_cell_of_k_rows_of_fewer_people_is_refused(ledger: ix.Ledger, key: str | None) -> None:
    together = visits(*MARCH, "Ann 7 ey flu", "Bob 8 ey flu", "Cid 9 ey flu")
    ledger.anonymize(together, policy(), recipient="R", key=key).close()
    # Without the rows of Bob and Cid in that ward: two rows are left out, of two people; three of Ann stay.
    later = visits(*MARCH[:2], *MARCH[3:], "Ann 7 ey flu", "Cid 9 ey flu")
    found = ledger.check(later, policy(), recipient="R", key=key)
    assert not found.passed
    assert (found.smallest, found.at_risk) == (1, 1)  # both rows that are gone are Bob's
    with pytest.raises(RefusedError, match=r"1 person less protected.*\(in entry 1, not in this release\)"):
        ledger.anonymize(later, policy(), recipient="R", key=key)
    assert len(ledger.entries) == 1


def test_values_are_counted_once_for_each_person(ledger: ix.Ledger) -> None:
    few = policy(privacy=[ix.AlphaK(0.7, 2)])
    table = visits("Ann 1 ey gout", "Ann 2 ey gout", "Ann 3 ey gout", "Bob 4 ey flu", "Cid 5 ey flu")
    found = ledger.check(table, few, recipient="R")
    assert found.passed  # two of three people have flu, one has gout three times
    tight = replace(few, privacy=[ix.AlphaK(0.5, 2)])
    with pytest.raises(InfeasibleError):
        ledger.check(table, tight, recipient="R")


def test_a_row_that_changed_is_followed_by_its_name(ledger: ix.Ledger) -> None:
    ledger.anonymize(visits(*MARCH), policy(), recipient="R", key="visit").close()
    moved = visits("Ann 1 su flu", *MARCH[1:])
    found = ledger.check(moved, policy(), recipient="R", key=["visit"])
    assert (found.passed, found.at_risk, found.unrecognised) == (False, 1, 0)


def test_rows_that_cannot_be_recognised_are_refused_with_the_way_out(ledger: ix.Ledger) -> None:
    ledger.anonymize(visits(*MARCH), policy(), recipient="R").close()
    moved = visits("Ann 1 su flu", *MARCH[1:])
    found = ledger.check(moved, policy(), recipient="R")
    assert (found.passed, found.unrecognised) == (False, 1)
    assert found.to_dict()["people_unrecognised"] == 1
    with pytest.raises(RefusedError, match=r"rows of 1 person cannot be recognised again.*--key"):
        ledger.anonymize(moved, policy(), recipient="R")
    assert len(ledger.entries) == 1


def test_equal_rows_are_recognised_where_they_stay_together(ledger: ix.Ledger) -> None:
    twice = visits("Ann 1 ey flu", "Ann 1 ey flu", "Bob 3 ey flu")
    ledger.anonymize(twice, policy(), recipient="R").close()
    assert ledger.check(twice, policy(), recipient="R").passed
    found = ledger.check(visits("Ann 1 ey flu", "Bob 3 ey flu"), policy(), recipient="R")
    assert (found.passed, found.unrecognised, found.smallest) == (False, 0, 1)  # one of Ann's rows is gone


def test_a_suppressed_row_is_recognised_when_it_is_released_later(ledger: ix.Ledger) -> None:
    table = visits(*MARCH, "Ann 7 ea flu", "Bob 8 ea gout", "Cid 9 ex flu")
    wide = policy(3, max_suppression=0.7, columns={**policy().columns, "ward": ix.quasi(ix.keep())})
    with ledger.anonymize(table, wide, recipient="R") as release:
        assert set(release.table["ward"].to_pylist()) == {"su"}
    narrow = replace(wide, privacy=[ix.KAnonymity(2)])
    found = ledger.check(table, narrow, recipient="R")
    assert (found.unrecognised, found.passed) == (0, True)
    assert found.people == 5


@pytest.mark.parametrize(
    ("more", "terms", "says"),
    [
        ({}, {"again": "consistent"}, "release without again"),
        ({}, {"again": "based"}, "release without again"),
        ({"columns": {**policy().columns, "visit": ix.identifier(pseudonym="stable")}}, {"key": "visit"}, "stable"),
        ({"privacy": [ix.MInvariance(2)]}, {}, "m-invariance over several releases"),
        ({}, {"key": "nobody"}, "no column of the policy"),
    ],
)
def test_what_needs_one_row_a_person_is_refused(
    ledger: ix.Ledger, more: dict[str, Any], terms: dict[str, Any], says: str
) -> None:
    asked = policy(**more)
    for verb in (ledger.anonymize, ledger.check):
        with pytest.raises(LedgerError, match=says):
            verb(visits(*MARCH), asked, recipient="R", **terms)
    assert ledger.entries == []


def test_what_needs_one_row_is_refused_after_releases_of_people(ledger: ix.Ledger) -> None:
    ledger.anonymize(visits(*MARCH), policy(), recipient="R").close()
    once = visits("Ann 1 ey flu", "Bob 3 ey flu")
    rows = policy(person=None)
    with pytest.raises(LedgerError, match="release without again"):
        ledger.anonymize(once, rows, recipient="R", key="who", again="consistent")


def test_rows_and_people_are_not_counted_together(ledger: ix.Ledger) -> None:
    rows = policy(person=None, one_row_per_person=True)
    ledger.anonymize(visits(*MARCH), rows, recipient="R", key=["who", "visit"]).close()
    with pytest.raises(LedgerError, match="entry 1 counted rows"):
        ledger.check(visits(*MARCH), policy(), recipient="R", key="visit")
    with pytest.raises(LedgerError, match="entry 1 recognises people by 'who', 'visit'"):
        ledger.check(visits(*MARCH), policy(), recipient="R")
    ledger.anonymize(visits(*MARCH), policy(), recipient="R", key="visit", source="b").close()
    with pytest.raises(LedgerError, match="entry 2 counted people by 'who'"):
        ledger.check(visits(*MARCH), rows, recipient="R", key=["who", "visit"], source="b")


def test_rows_of_people_who_had_one_each_count_as_people(ledger: ix.Ledger) -> None:
    once = ("Ann 1 ey flu", "Bob 3 ey flu", "Cid 4 su flu", "Dan 5 su flu")
    ledger.anonymize(visits(*once), policy(person=None), recipient="R", key="who").close()
    assert ledger.check(visits(*once), policy(), recipient="R").passed
    assert ledger.check(visits(*once[:3]), policy(), recipient="R").at_risk == 2  # one is gone, one is left
    found = ledger.check(visits(*once, "Ann 6 ey flu"), policy(), recipient="R")
    assert found.unrecognised  # nobody can tell which of the rows it was


def test_a_named_row_has_one_name(ledger: ix.Ledger) -> None:
    with pytest.raises(TableError, match="1 rows repeat the 'who', 'visit' of another"):
        ledger.check(visits("Ann 1 ey flu", "Ann 1 ey gout", "Bob 1 ey flu"), policy(), recipient="R", key="visit")
    assert ledger.check(visits("Ann 1 ey flu", "Bob 1 ey flu"), policy(), recipient="R", key="visit").passed


def test_rows_of_nobody_are_refused(ledger: ix.Ledger) -> None:
    table = pa.table({"who": ["Ann", None], "visit": ["1", "2"], "ward": ["ey", "ey"], "ill": ["flu", "flu"]})
    with pytest.raises(TableError, match="1 rows have nothing in 'who'"):
        ledger.anonymize(table, policy(), recipient="R")
    assert ledger.entries == []


@pytest.mark.parametrize("name", [KEY, PERSON, ROW])
def test_a_column_with_a_name_that_the_ledger_needs_is_refused(ledger: ix.Ledger, name: str) -> None:
    table = visits(*MARCH).append_column(name, pa.array(["x"] * len(MARCH)))
    asked = policy(columns={**policy().columns, name: ix.other()})
    with pytest.raises((LedgerError, TableError)):
        ledger.anonymize(table, asked, recipient="R")
    assert ledger.entries == []


def test_a_release_of_people_can_be_added(ledger: ix.Ledger, tmp_path: Path) -> None:
    with ix.anonymize(visits(*MARCH), policy()) as release:
        release.write(tmp_path / "march")
    entry, found = ledger.add(tmp_path / "march", policy(), visits(*MARCH), recipient="R", key="visit")
    assert (entry.details["person"], found.people, found.smallest) == (["who"], 5, 2)
    assert ledger.check(visits(*MARCH), policy(), recipient="R", key="visit").passed


def test_the_command_line_counts_people(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(ix.policy_toml(policy()), "utf-8")
    table = visits(*MARCH).to_pydict()
    rows = [",".join(row) for row in zip(*table.values(), strict=True)]
    (tmp_path / "visits.csv").write_text("\n".join([",".join(table), *rows]) + "\n", "utf-8")

    def run(*arguments: str) -> Any:
        files = ("policy.toml", "visits.csv", "out", "l.db")
        return CliRunner().invoke(app, [str(tmp_path / said) if said in files else said for said in arguments])

    assert run("ledger", "init", "l.db").exit_code == 0
    where = ("--ledger", "l.db", "--recipient", "R", "--key", "visit")
    made = run("anonymize", "policy.toml", "visits.csv", "-o", "out", *where, "--json")
    assert made.exit_code == 0, made.output
    found = run("ledger", "check", "policy.toml", "visits.csv", *where, "--json")
    assert (found.exit_code, json.loads(found.stdout)["people"]) == (0, 5)
    again = run("anonymize", "policy.toml", "visits.csv", "-o", "out", *where, "--replace", "--again", "consistent")
    assert again.exit_code == 2
    assert "--again" in again.stderr


@dataclass
class Visit:
    """A row of the table: whose it is, its cells now, and a mark that is released, by which it can be followed."""

    mark: str
    who: str
    age: str
    town: str
    ill: str


@dataclass
class World:
    """A table that changes, what was released of it, and everything that the adversary knows."""

    dice: random.Random
    visits: dict[str, Visit] = field(default_factory=dict)
    owner: dict[str, str] = field(default_factory=dict)
    released: list[tuple[int, dict[str, dict[str, Any]]]] = field(default_factory=list)
    """The k that was promised, and the rows by their marks."""
    known: list[dict[str, tuple[str, str]]] = field(default_factory=list)
    """At each release, the true age and town of every visit in the table."""
    several: bool = True
    linked: bool = False
    """Some releases have pseudonyms, fresh or stable; people then have fewer rows, of fewer kinds."""

    def add(self, number: int) -> None:
        for _ in range(number):
            mark = f"m{len(self.owner)}"
            who = f"p{self.dice.randrange(24 if self.linked else 8)}" if self.several else f"p{mark}"
            kinds = 2 if self.linked else 4
            self.owner[mark] = who
            self.visits[mark] = Visit(
                mark, who, self.dice.choice(AGES[:kinds]), self.dice.choice(TOWNS[:kinds]), self.dice.choice(ILLS)
            )

    def change(self) -> None:
        what = self.dice.choice(["add", "remove", "move", "nothing", "nothing", "all", *["month"] * 4 * self.linked])
        if what == "month":
            self.visits.clear()
            self.add(self.dice.randint(16, 40))
        if what in ("add", "all"):
            self.add(self.dice.randint(1, 8))
        if what in ("remove", "all"):
            for mark in self.dice.sample(sorted(self.visits), min(len(self.visits) - 6, self.dice.randint(1, 8))):
                del self.visits[mark]
        if what in ("move", "all"):
            for mark in self.dice.sample(sorted(self.visits), self.dice.randint(1, 3)):
                self.visits[mark].town = self.dice.choice(TOWNS)

    def table(self) -> pa.Table:
        rows = [vars(visit) for visit in self.visits.values()]
        self.dice.shuffle(rows)
        return pa.table(
            {name: [row[name] for row in rows] for name in ("who", "age", "town", "ill", "mark")}
            | {"visit": [row["mark"] for row in rows]}
        )

    def policy(self, algorithms: list[str]) -> ix.Policy:
        """Draw what the next release must satisfy."""
        models: list[list[Any]] = [
            [ix.KAnonymity(2)],
            [ix.KAnonymity(3)],
            [ix.AlphaK(0.8, 2)],
            [ix.KAnonymity(2), ix.LDiversity(2)],
        ]
        person: Any = "who"
        if self.linked and self.dice.random() < 0.8:
            person = {"column": "who", "release": "pseudonym", "suppress": self.dice.choice(["people", "rows"])}
            person["stable"] = self.dice.random() < 0.5
            models = models[:2] if "regroup" in algorithms else models
        return ix.Policy(
            columns={
                "who": ix.identifier(),
                "visit": ix.identifier(),
                "age": ix.quasi(ix.levels([[age, "12" if age in "12" else "34", "*"] for age in AGES])),
                "town": ix.quasi(ix.prefix(2)),
                "ill": ix.sensitive(),
                "mark": ix.other(),
            },
            privacy=self.dice.choice(models),
            person=person,
            max_suppression=self.dice.choice([0.5, 0.9] if self.linked else [0.0, 0.2, 0.6]),
            algorithm=self.dice.choice(algorithms),
        )

    def enter(self, asked: ix.Policy, table: pa.Table) -> None:
        k = max(int(getattr(model, "k", 1)) for model in asked.privacy)
        rows = {row["mark"]: row for row in table.to_pylist()}
        if asked.stable_pseudonyms:  # whatever they are, they name the same person in all releases that have them
            assert len({row["pseudonym"] for row in rows.values()}) == len({self.owner[mark] for mark in rows})
            rows = {mark: row | {"pseudonym": self.owner[mark]} for mark, row in rows.items()}
        self.released.append((k, rows))
        self.known.append({mark: (visit.age, visit.town) for mark, visit in self.visits.items()})


def covers(label: str, value: str) -> bool:
    """Return whether a released label can stand for a value of either column."""
    if label in (value, "*") or (label in ("12", "34") and value in label):
        return True
    return len(label) == len(value) == 2 and all(one in ("*", other) for one, other in zip(label, value, strict=True))


def bundles(world: World) -> list[list[str]]:
    """Return the released visits that the adversary knows to be of one person: marks that share pseudonyms, in turn."""
    marks = sorted({mark for _, rows in world.released for mark in rows})
    leader = {mark: mark for mark in marks}

    def lead(mark: str) -> str:
        return mark if leader[mark] == mark else lead(leader[mark])

    first: dict[str, str] = {}
    for _, rows in world.released:
        for mark, row in rows.items():
            if "pseudonym" in row:
                leader[lead(mark)] = lead(first.setdefault(row["pseudonym"], mark))
    return [[mark for mark in marks if lead(mark) == one] for one in marks if lead(one) == one]


def can_be(world: World, shown: list[str], known: list[str]) -> bool:
    """Return whether released visits can be some known ones: each was there when the other was, and labels cover it."""
    if len(shown) != len(known):
        return False
    if not shown:
        return True

    def fits(mark: str, visit: str) -> bool:
        return all(
            (mark in rows) == (visit in rows)
            and (
                mark not in rows
                or all(covers(rows[mark][c], world.known[n][visit][place]) for place, c in enumerate(("age", "town")))
            )
            for n, (_, rows) in enumerate(world.released)
        )

    return any(
        fits(shown[0], visit) and can_be(world, shown[1:], known[:place] + known[place + 1 :])
        for place, visit in enumerate(known)
    )


def fewest_people(world: World) -> int:
    """Return the fewest people whose visits can be known ones of a person, less what was promised.

    The adversary knows of every visit whose it is, its true values at any time and in which releases it is. She follows
    the released rows by their marks, and pseudonyms tell her which are of one person. Rows are candidates for visits if
    they were released when those were, and never else, and their labels cover the true values each time.
    """
    worst, all_bundles = 10**9, bundles(world)
    for known in all_bundles:
        owners = {world.owner[shown[0]] for shown in all_bundles if can_be(world, shown, known)}
        promised = max(k for k, rows in world.released if any(mark in rows for mark in known))
        worst = min(worst, len(owners) - promised)
    return worst


def broken_people(world: World, policies: list[ix.Policy]) -> tuple[int, int, int, set[str]]:
    """Return people, cells, the smallest cell and who is at risk, from nothing but released tables with their marks."""
    cells: dict[tuple[Any, ...], set[str]] = {}
    for bundle in bundles(world):
        histories = sorted(
            [(rows[mark]["age"], rows[mark]["town"]) if mark in rows else () for _, rows in world.released]
            for mark in bundle
        )
        cells.setdefault(tuple(map(tuple, histories)), set()).update(bundle)
    at_risk: set[str] = set()
    for marks in cells.values():
        owners = {world.owner[mark] for mark in marks}
        for place, one in enumerate(policies):
            rows = world.released[place][1]
            if not any(mark in rows for mark in marks):
                continue
            have = {ill: {world.owner[m] for m in marks if m in rows and rows[m]["ill"] == ill} for ill in ILLS}
            for model in one.privacy:
                said = model.describe()
                if (
                    len(owners) < said.get("k", 0)
                    or sum(map(bool, have.values())) < said.get("l", 0)
                    or max(map(len, have.values())) > said.get("alpha", 1) * len(owners) + 1e-9
                ):
                    at_risk |= owners
    people = {world.owner[mark] for marks in cells.values() for mark in marks}
    return len(people), len(cells), min(len({world.owner[m] for m in marks}) for marks in cells.values()), at_risk


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.parametrize(("first", "key"), in_turn(range(0, HISTORIES, TOGETHER), [None, "visit"]))
def test_whatever_is_let_through_hides_every_visit_among_k_people(first: int, key: str | None, tmp_path: Path) -> None:
    let_through = refused = 0
    linked = key is not None and bool(first // TOGETHER % 2)
    with ix.Ledger.create(tmp_path / "ledger.db") as ledger:
        for seed in range(first, first + TOGETHER):
            world = World(random.Random(seed), linked=linked)
            world.add(world.dice.randint(16, 40))
            for _ in range(STEPS):
                asked = world.policy(["lattice", "mondrian", "regroup", "datafly"])
                try:
                    release = ledger.anonymize(world.table(), asked, recipient="R", source=f"history {seed}", key=key)
                except RefusedError:
                    refused += 1
                except InfeasibleError:
                    pass
                else:
                    with release:
                        world.enter(asked, release.table)
                    let_through += len(world.released) > 1
                assert fewest_people(world) >= 0, f"history {seed} after {len(world.released)} releases"
                world.change()
    assert let_through  # the ledger does not just refuse
    assert refused > TOGETHER // 4


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, HISTORIES // 2, TOGETHER // 2))
def test_a_check_finds_what_is_counted_by_hand(first: int, tmp_path: Path) -> None:
    judged: set[tuple[bool, bool]] = set()
    linked = bool(first // (TOGETHER // 2) % 2)
    with ix.Ledger.create(tmp_path / "ledger.db") as ledger:
        for seed in range(first, first + TOGETHER // 2):
            world, policies = World(random.Random(seed), linked=linked), []
            world.add(world.dice.randint(16, 40))
            for _ in range(STEPS):
                asked, table = world.policy(["lattice", "samarati"]), world.table()
                said: dict[str, Any] = {"recipient": "R", "source": f"history {seed}", "key": "visit"}
                try:
                    with ix.anonymize(table, with_fresh_pseudonyms(asked)) as release:
                        world.enter(asked, release.table)
                        release.write(tmp_path / f"{seed}-{len(policies)}", replace=True)
                except InfeasibleError:
                    continue
                policies.append(asked)
                people, cells, smallest, at_risk = broken_people(world, policies)
                found = ledger.check(table, asked, **said)
                assert (found.people, found.cells, found.smallest) == (people, cells, smallest)
                assert found.at_risk == len(at_risk)
                judged.add((found.passed, bool(asked.stable_pseudonyms)))
                if not asked.stable_pseudonyms:
                    ledger.add(tmp_path / f"{seed}-{len(policies) - 1}", asked, table, **said)
                elif found.passed:
                    ledger.anonymize(table, asked, **said).close()
                else:
                    policies.pop(), world.released.pop(), world.known.pop()
                world.change()
    assert judged == {(True, False), (False, False)} | ({(True, True), (False, True)} if linked else set())


@pytest.mark.slow
@pytest.mark.slow
def test_where_everybody_has_one_row_people_are_counted_as_rows_are(tmp_path: Path) -> None:
    with ix.Ledger.create(tmp_path / "people.db") as people, ix.Ledger.create(tmp_path / "rows.db") as rows:
        for seed in range(3):
            world = World(random.Random(seed), several=False)
            world.add(world.dice.randint(16, 30))
            said: dict[str, Any] = {"recipient": "R", "source": f"history {seed}", "key": "who"}
            for _ in range(STEPS):
                asked, table = world.policy(["lattice"]), world.table()
                world.change()
                found = []
                for ledger, one in ((people, asked), (rows, replace(asked, person=None))):
                    with contextlib.suppress(InfeasibleError):
                        found.append(ledger.check(table, one, **said))
                        if found[-1].passed:
                            ledger.anonymize(table, one, **said).close()
                assert len(found) in (0, 2)
                assert len(set(found)) < 2
        assert len(people.entries) > 3
