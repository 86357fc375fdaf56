"""Histories: a ledger releases people who come, go, change and come back, to recipients who may put releases together.

Whatever it lets through is given to an adversary of the campaign's own (``possible_worlds.py``), who counts in how many
worlds each row is whose. After each release the coalition that it was made for must find nobody with a better chance
than was promised: 1 in k, no value above its share, as many values as were asked for. Where people have several rows,
each row must be possible for k different people.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

import indistinct as ix
from campaigns.possible_worlds import Held, chances
from campaigns.running import Options, Outcome

AGES = ["1", "2", "3", "4"]
TOWNS = ["ab", "ac", "bd", "be"]
ILLS = ["flu", "gout", "rash"]
RECIPIENTS = ["Ann's clinic", "university", "public"]
TOGETHER = 10
"""Histories that share a ledger; each is a source of its own."""
MOST_ROWS = 12
"""Rows that exist at most, so that all worlds can be counted."""


@dataclass
class Entered:
    """A release as its recipient holds it, and what was promised."""

    recipient: str
    held: Held
    k: int
    share: Fraction | None
    values: int


@dataclass
class History:
    """A table that changes, and what was released of it."""

    dice: random.Random
    has_visits: bool
    rows: dict[str, dict[str, str]] = field(default_factory=dict)
    away: dict[str, dict[str, str]] = field(default_factory=dict)
    entered: list[Entered] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    """What happened, for whoever reads of a fault."""
    born: int = 0

    def add(self, number: int) -> None:
        """Let people, or rows of people, come."""
        for _ in range(min(number, MOST_ROWS - len(self.rows) - len(self.away))):
            self.born += 1
            name = f"person {self.dice.randint(1, 7) if self.has_visits else self.born}"
            cells = {"age": self.dice.choice(AGES), "town": self.dice.choice(TOWNS), "ill": self.dice.choice(ILLS)}
            self.rows[f"m{self.born}"] = {"name": name, "visit": f"v{self.born}", "mark": f"m{self.born}", **cells}

    def change(self) -> None:
        """Let time pass: some come, some go, some come back, some move or fall ill; or nothing happens."""
        for what in self.dice.sample(["come", "go", "back", "move", "age", "ill", "nothing"], self.dice.randint(1, 3)):
            if what == "come":
                self.add(self.dice.randint(1, 4))
            elif what == "go":
                for mark in self.dice.sample(sorted(self.rows), min(len(self.rows) - 3, self.dice.randint(1, 3))):
                    self.away[mark] = self.rows.pop(mark)
            elif what == "back":
                for mark in self.dice.sample(sorted(self.away), min(len(self.away), 2)):
                    self.rows[mark] = self.away.pop(mark)
            elif what in ("move", "age", "ill"):
                column, domain = {"move": ("town", TOWNS), "age": ("age", AGES), "ill": ("ill", ILLS)}[what]
                for mark in self.dice.sample(sorted(self.rows), self.dice.randint(1, 2)):
                    self.rows[mark] = self.rows[mark] | {column: self.dice.choice(domain)}

    def table(self) -> pa.Table:
        """Return the table as it is now, in any order."""
        rows = self.dice.sample(list(self.rows.values()), len(self.rows))
        return pa.table({name: [row[name] for row in rows] for name in rows[0]})


def run(options: Options) -> Outcome:
    """Play one history after the other, and ask the adversary after each release."""
    outcome = Outcome(options)
    for name in ("releases let through", "of these after others", "releases refused", "no release found"):
        outcome.figures[name] = 0
    with ExitStack() as stack:
        ledger: Any = None
        for number in options.cases():
            if ledger is None or outcome.cases % TOGETHER == 0:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="campaign-")))
                ledger = stack.enter_context(ix.Ledger.create(folder / "ledger.db"))
            outcome.cases += 1
            history, fault = play(options.dice(number), ledger, f"history {number}", outcome)
            if fault:
                content: dict[str, bytes | str] = {"history.txt": "\n".join(history.told), "fault.txt": fault}
                outcome.add(number, fault, content)
    return outcome


def play(dice: random.Random, ledger: Any, source: str, outcome: Outcome) -> tuple[History, str]:
    """Play a history; give it, and the first promise that was broken, if any."""
    history = History(dice, has_visits=dice.random() < 0.25)
    history.add(dice.randint(6, 10))
    for _ in range(dice.randint(3, 5)):
        recipient = dice.choice(RECIPIENTS)
        colluding: Any = dice.choice(["all", "all", "none", [dice.choice(RECIPIENTS[:2])]])
        policy, promised = draw_policy(dice, history)
        again = None if history.has_visits else dice.choice([None, "consistent", "consistent", "based"])
        said = {"recipient": recipient, "colluding": colluding, "again": again}
        history.told += [json.dumps(list(history.rows.values())), f"{said} {promised} {policy.algorithm}"]
        key = {"key": "visit"} if history.has_visits else {}
        try:
            release = ledger.anonymize(history.table(), policy, source=source, **said, **key)
        except ix.RefusedError:
            outcome.figures["releases refused"] += 1
        except ix.IndistinctError as error:
            outcome.figures["no release found"] += 1
            history.told.append(f"{type(error).__name__}: {error}")
        except Exception as error:
            return history, f"unexpected {type(error).__name__}: {error}"
        else:
            with release:
                rows = {row["mark"]: row for row in release.table.to_pylist()}
            history.told.append(f"released {json.dumps(list(rows.values()))}")
            known = {mark: history.rows[mark] for mark in rows}
            history.entered.append(Entered(recipient, Held(rows, known), **promised))
            outcome.figures["releases let through"] += 1
            outcome.figures["of these after others"] += len(history.entered) > 1
            fault = broken_promise(history, recipient, colluding)
            if fault:
                return history, fault
        history.change()
    return history, ""


def draw_policy(dice: random.Random, history: History) -> tuple[ix.Policy, dict[str, Any]]:
    """Draw what the next release must satisfy, and say what that promises in plain numbers."""
    k = dice.choice([2, 2, 3])
    promised: dict[str, Any] = {"k": k, "share": None, "values": 1}
    models: list[ix.PrivacyModel] = [ix.KAnonymity(k)]
    kind = "" if history.has_visits else dice.choice(["", "", "values", "share"])
    if kind == "values":
        models.append(ix.LDiversity(2))
        promised["values"] = 2
    elif kind == "share":
        models.append(ix.AlphaK(alpha=0.75, k=k))
        promised["share"] = Fraction(3, 4)
    columns = {
        "name": ix.identifier(),
        "visit": ix.identifier() if history.has_visits else ix.drop(),
        "mark": ix.other(),
        "age": ix.quasi(ix.levels([[age, "12" if age in "12" else "34", "*"] for age in AGES])),
        "town": ix.quasi(ix.prefix(2)),
        "ill": ix.sensitive(),
    }
    local = ["mondrian", "regroup", "k-similar", "top-down"]
    policy = ix.Policy(
        columns=columns,
        privacy=models,
        max_suppression=dice.choice([0.0, 0.2, 0.6, 1.0]),
        algorithm=dice.choice(["lattice", "datafly", *local]),
        person="name" if history.has_visits else None,
    )
    return policy, promised


def covers(column: str, label: str, value: str) -> bool:
    """Return whether a label can stand for a value, by what the hierarchies of this campaign are."""
    if label in (value, "*"):
        return True
    if column == "age":
        return label in ("12", "34") and value in label
    return len(label) == len(value) and all(shown in ("*", true) for shown, true in zip(label, value, strict=True))


def held_by(history: History, recipient: str, colluding: Any) -> list[Entered]:
    """Return the releases of the coalition that the last one was made for; what is public everybody holds."""
    if recipient == "public" or colluding == "all":
        return history.entered
    others = [] if colluding == "none" else colluding
    return [one for one in history.entered if one.recipient in (recipient, "public", *others)]


def broken_promise(history: History, recipient: str, colluding: Any) -> str:
    """Say what a coalition finds out that it should not, or nothing."""
    entered = held_by(history, recipient, colluding)
    try:
        found = chances([one.held for one in entered], ["age", "town"], covers)
    except ValueError as error:
        return str(error)
    promised = {
        mark: max(one.k for one in entered if mark in one.held.rows) for one in entered for mark in one.held.rows
    }
    if history.has_visits:
        return _too_few_people(history, found, promised)
    for row, shares in found.items():
        for mark, share in shares.items():
            if share > Fraction(1, promised[mark]):
                return f"{row} is {mark} with a chance of {share}, where k = {promised[mark]} was promised"
    for one in entered:
        fault = _too_sure_values(one, found)
        if fault:
            return fault
    return ""


def _too_few_people(history: History, found: Any, promised: dict[str, int]) -> str:
    """Where people have several rows: each followed row must be possible for k different people."""
    owner = {mark: row["name"] for mark, row in (history.rows | history.away).items()}
    people: dict[str, set[str]] = defaultdict(set)
    for row, shares in found.items():
        for mark in shares:
            people[mark].add(owner[row])
    for mark, names in people.items():
        if len(names) < promised[mark]:
            return f"{mark} can be a row of {len(names)} people only, where k = {promised[mark]} was promised"
    return ""


def _too_sure_values(one: Entered, found: Any) -> str:
    """Say whose value of a release is too sure, or one of too few."""
    for row in one.held.known:
        sure: dict[str, Fraction] = defaultdict(Fraction)
        for mark, share in found[row].items():
            sure[one.held.rows[mark]["ill"]] += share
        if one.share is not None and max(sure.values()) > one.share:
            return f"{row} has a value with a chance of {max(sure.values())}, where {one.share} was promised"
        if len(sure) < one.values:
            return f"{row} has one of {len(sure)} values, where {one.values} were promised"
    return ""
