"""Releases one after the other: whatever the ledger let through, an adversary who holds it all finds nobody.

The adversary here is the strongest there is. A column that is different for everybody and never changes is released as
it is, so that she can link all rows of a person without error. She knows of everybody the quasi-identifying values at
any time, and when she was in the table.
"""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest

import indistinct as ix
from helpers.profiles import scaled
from indistinct.errors import InfeasibleError, RefusedError
from indistinct.ledger.ledger import Ledger

AGES = ["1", "2", "3", "4"]
TOWNS = ["ab", "ac", "bd", "be"]
ILLS = ["flu", "gout", "rash"]
pytestmark = pytest.mark.slow

TOGETHER = 6
HISTORIES = scaled(3) * TOGETHER
STEPS = 3


@dataclass
class Person:
    """Somebody in the table: her cells now, and a mark by which all her rows can be linked."""

    mark: str
    age: str
    town: str
    ill: str


@dataclass
class World:
    """A table that changes, what was released of it, and everything that the adversary knows."""

    dice: random.Random
    people: dict[str, Person] = field(default_factory=dict)
    released: list[tuple[int, list[dict[str, str | None]]]] = field(default_factory=list)
    """The k that was promised, and the rows."""
    known: list[dict[str, tuple[str, str]]] = field(default_factory=list)
    """At each release, the true age and town of everybody who was in the table."""
    born: int = 0

    def add(self, number: int) -> None:
        for _ in range(number):
            self.born += 1
            mark = f"m{self.born}"
            self.people[mark] = Person(mark, self.dice.choice(AGES), self.dice.choice(TOWNS), self.dice.choice(ILLS))

    def change(self) -> None:
        """Let time pass: some come, some go, some move."""
        what = self.dice.choice(["add", "remove", "move", "nothing", "all"])
        if what in ("add", "all"):
            self.add(self.dice.randint(1, 6))
        if what in ("remove", "all"):
            for mark in self.dice.sample(sorted(self.people), min(len(self.people) - 4, self.dice.randint(1, 4))):
                del self.people[mark]
        if what in ("move", "all"):
            for mark in self.dice.sample(sorted(self.people), self.dice.randint(1, 3)):
                self.people[mark].town = self.dice.choice(TOWNS)

    def table(self) -> pa.Table:
        rows = [vars(person) | {"name": f"name {person.mark}"} for person in self.people.values()]
        self.dice.shuffle(rows)
        return pa.table({name: [row[name] for row in rows] for name in ("name", "age", "town", "ill", "mark")})

    def policy(self) -> ix.Policy:
        """Draw what the next release must satisfy."""
        k = self.dice.choice([2, 2, 3])
        return ix.Policy(
            columns={
                "name": ix.identifier(),
                "age": ix.quasi(ix.levels([[age, "12" if age in "12" else "34", "*"] for age in AGES])),
                "town": ix.quasi(ix.prefix(2)),
                "ill": ix.sensitive(),
                "mark": ix.other(),
            },
            privacy=[ix.KAnonymity(k)],
            max_suppression=self.dice.choice([0.0, 0.2, 0.6, 1.0]),
            algorithm=self.dice.choice(["lattice", "mondrian", "regroup", "k-similar", "datafly"]),
        )

    def enter(self, k: int, rows: list[dict[str, str | None]]) -> None:
        self.released.append((k, rows))
        self.known.append({person.mark: (person.age, person.town) for person in self.people.values()})


def covers(label: str | None, value: str, column: str) -> bool:
    """Return whether a released label can stand for a value, by what the hierarchies are."""
    if column == "age":
        return label in (value, "*") or (label in ("12", "34") and value in str(label))
    assert label is not None
    return label == "*" or all(shown in ("*", true) for shown, true in zip(label, value, strict=True))


def smallest_candidate_set(world: World) -> tuple[int, int]:
    """Return the fewest linked rows that can be somebody's, less what was promised of them, and how many there are.

    For each person the adversary keeps the marks that fit all she knows: wherever a mark was released, the person was
    in the table, and the labels cover her values at that time. Whoever is among those candidates should be hidden
    among as many as the strictest of the releases in which the candidates occur promised.
    """
    rows_of: dict[str, dict[int, dict[str, str | None]]] = {}
    for number, (_, rows) in enumerate(world.released):
        for row in rows:
            rows_of.setdefault(str(row["mark"]), {})[number] = row
    worst, found = 10**9, 0
    for person in {mark for known in world.known for mark in known}:
        candidates = [
            mark
            for mark, rows in rows_of.items()
            if all(
                person in world.known[number]
                and covers(row["age"], world.known[number][person][0], "age")
                and covers(row["town"], world.known[number][person][1], "town")
                for number, row in rows.items()
            )
        ]
        if candidates:
            promised = max(world.released[number][0] for mark in candidates for number in rows_of[mark])
            # Candidates of which less was promised do not count against a release that they were not in.
            own = [mark for mark in candidates if any(world.released[n][0] == promised for n in rows_of[mark])]
            if len(own) < promised:
                found += 1
            worst = min(worst, len(own) - promised)
    return worst, found


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, HISTORIES, TOGETHER))
def test_whatever_the_ledger_lets_through_an_adversary_who_holds_it_all_finds_nobody(
    first: int, tmp_path: Path
) -> None:
    let_through = refused = 0
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        for seed in range(first, first + TOGETHER):
            world = World(random.Random(seed))
            world.add(world.dice.randint(10, 24))
            for _ in range(STEPS):
                policy = world.policy()
                again = world.dice.choice([None, "consistent", "consistent", "based"])
                try:
                    release = ledger.anonymize(
                        world.table(), policy, recipient="R", source=f"history {seed}", again=again
                    )
                except RefusedError:
                    refused += 1
                except InfeasibleError:
                    assert not world.released or again is None  # the policy allows no release at all
                else:
                    with release:
                        world.enter(policy.privacy[0].k, release.table.to_pylist())  # type: ignore[attr-defined]
                    let_through += len(world.released) > 1
                worst, found = smallest_candidate_set(world)
                assert worst >= 0, f"history {seed}: {found} people found after {len(world.released)} releases"
                world.change()
    assert let_through > TOGETHER // 2  # the ledger does not just refuse
    assert refused > TOGETHER // 4


@pytest.mark.slow
def test_without_the_ledger_the_same_histories_are_broken() -> None:
    broken = 0
    for seed in range(TOGETHER):
        world = World(random.Random(seed))
        world.add(world.dice.randint(10, 24))
        for _ in range(STEPS):
            policy = world.policy()
            world.dice.choice([None, "consistent", "consistent", "based"])
            with contextlib.suppress(InfeasibleError), ix.anonymize(world.table(), policy) as release:
                world.enter(policy.privacy[0].k, release.table.to_pylist())  # type: ignore[attr-defined]
            world.change()
        broken += smallest_candidate_set(world)[0] < 0
    assert broken > TOGETHER // 2
