"""The ledger of several tables that belong together: people are followed with all their rows, release by release."""

from __future__ import annotations

import contextlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import indistinct as ix
from helpers.profiles import scaled
from indistinct.cli.commands import app
from indistinct.errors import InfeasibleError, LedgerError, PolicyError, RefusedError

HISTORIES = scaled(16)
WARDS = ["ea", "eb", "fa"]
ILLS = ["flu", "gout"]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[ix.Ledger]:
    with ix.Ledger.create(tmp_path / "ledger.db") as made:
        yield made


def policy(k: int = 2, *, keyed: bool = True, privacy: Any = None, **more: Any) -> ix.Policy:
    """Return the policy of patients, their visits, and the drugs of visits."""
    identifiers = {"drug_id": ix.identifier()} if keyed else {}
    tables = {
        "patients": ix.LinkedTable({"sex": ix.quasi(ix.suppress())}, key="who"),
        "visits": ix.LinkedTable(
            {"ward": ix.quasi(ix.prefix(2)), "ill": ix.sensitive()}, key="visit", references={"who": "patients"}
        ),
        "drugs": ix.LinkedTable(
            {"drug": ix.quasi(ix.suppress()), **identifiers},
            key="drug_id" if keyed else None,
            references={"visit": "visits"},
        ),
    }
    return ix.Policy(tables=tables, privacy=privacy or [ix.KAnonymity(k)], person="who", **more)


Patients = dict[str, str]
Visits = dict[str, tuple[str, str, str]]
"""visit -> patient, ward, illness"""
Drugs = dict[str, tuple[str, str]]
"""drug_id -> visit, drug"""


def tables_of(patients: Patients, visits: Visits, drugs: Drugs, *, keyed: bool = True) -> dict[str, pa.Table]:
    text = pa.string()

    def table(columns: dict[str, list[str]]) -> pa.Table:
        return pa.table({name: pa.array(cells, text) for name, cells in columns.items()})

    given = {"drug_id": list(drugs)} if keyed else {}
    return {
        "patients": table({"who": list(patients), "sex": list(patients.values())}),
        "visits": table(
            {
                "visit": list(visits),
                **{name: [row[place] for row in visits.values()] for place, name in enumerate(("who", "ward", "ill"))},
            }
        ),
        "drugs": table({**given, "visit": [row[0] for row in drugs.values()], "drug": [r[1] for r in drugs.values()]}),
    }


# Everybody has one visit; two of eye were given the same drug.
PATIENTS = {"Ann": "f", "Bob": "f", "Cid": "m", "Dan": "m"}
VISITS = {"1": ("Ann", "ea", "flu"), "2": ("Bob", "ea", "gout"), "3": ("Cid", "ea", "flu"), "4": ("Dan", "ea", "gout")}
DRUGS = {"a": ("1", "x"), "b": ("2", "x")}


@pytest.mark.slow
def test_the_same_tables_can_be_released_twice(ledger: ix.Ledger) -> None:
    given = tables_of(PATIENTS, VISITS, DRUGS)
    for number in (1, 2):
        with ledger.anonymize(given, policy(), recipient="R") as release:
            assert release.entry == number
            assert {name: table.column_names for name, table in release.tables.items()} == {
                "patients": ["sex", "pseudonym"],
                "visits": ["ward", "ill", "visit", "pseudonym"],
                "drugs": ["drug", "visit"],
            }
            assert release.verify(given).passed
    found = ledger.check(given, policy(), recipient="R")
    assert (found.passed, found.people, found.cells, found.smallest) == (True, 4, 2, 2)
    assert ledger.entries[0].details["key"] == [
        "patients.who",
        "visits.who",
        "visits.visit",
        "drugs.drug_id",
        "drugs.visit",
    ]
    assert ledger.verify().passed


@pytest.mark.slow
def test_a_newcomer_stands_out_by_what_she_was_given(ledger: ix.Ledger) -> None:
    ledger.anonymize(tables_of(PATIENTS, VISITS, DRUGS), policy(), recipient="R").close()
    more = tables_of(PATIENTS, VISITS, DRUGS | {"c": ("3", "x"), "d": ("4", "x")})
    assert ledger.check(more, policy(), recipient="R").passed  # both men have one drug more
    fewer = tables_of(PATIENTS, VISITS, {"a": ("1", "x"), "c": ("3", "x")})
    found = ledger.check(fewer, policy(), recipient="R", algorithm=ix.Chosen({"patients.sex": 1}))
    # By itself two people with a drug and two without; joined with entry 1 everybody is alone.
    assert (found.passed, found.smallest, found.at_risk) == (False, 1, 4)
    with pytest.raises(RefusedError, match="entry 1"):
        ledger.anonymize(fewer, policy(), recipient="R", algorithm=ix.Chosen({"patients.sex": 1}))
    assert len(ledger.entries) == 1


def test_rows_are_followed_and_not_only_counted(ledger: ix.Ledger) -> None:
    """Each release shows the same of everybody; that one's visits changed places shows only to who follows rows."""
    patients = dict.fromkeys(("Ann", "Bob", "Cid", "Dan"), "f")
    first = {f"{who}{n}": (who, ward, "flu") for who in patients for n, ward in enumerate(("ea", "fa"))}
    ledger.anonymize(tables_of(patients, first, {}), policy(), recipient="R").close()
    moved = first | {"Ann0": ("Ann", "fa", "flu"), "Ann1": ("Ann", "ea", "flu")}
    found = ledger.check(tables_of(patients, moved, {}), policy(), recipient="R")
    assert (found.passed, found.smallest, found.at_risk) == (False, 1, 1)


def test_values_are_those_of_people_who_share_a_history(ledger: ix.Ledger) -> None:
    asked = policy(privacy=[ix.LDiversity(2, column="visits.ill")])
    given = tables_of(PATIENTS, VISITS, DRUGS)
    ledger.anonymize(given, asked, recipient="R").close()
    same = tables_of(PATIENTS, VISITS | {"2": ("Bob", "ea", "flu")}, {})
    found = ledger.check(same, asked, recipient="R", algorithm=ix.Chosen({"patients.sex": 1}))
    # By itself three have flu and one gout; of the two who were given a drug before, both have flu now.
    assert (found.passed, found.at_risk) == (False, 2)
    assert found.failures[0].model == "l-diversity (l = 2, column = visits.ill)"


@pytest.mark.slow
def test_rows_without_a_key_are_known_by_all_their_cells(ledger: ix.Ledger) -> None:
    unkeyed = policy(keyed=False)
    ledger.anonymize(tables_of(PATIENTS, VISITS, DRUGS, keyed=False), unkeyed, recipient="R").close()
    assert ledger.check(tables_of(PATIENTS, VISITS, DRUGS, keyed=False), unkeyed, recipient="R").passed
    other = {"a": ("1", "y"), "b": ("2", "y")}
    found = ledger.check(tables_of(PATIENTS, VISITS, other, keyed=False), unkeyed, recipient="R")
    assert (found.passed, found.unrecognised) == (False, 2)  # nobody knows whether x became y
    assert ledger.check(
        tables_of(PATIENTS, VISITS, DRUGS | {"c": ("3", "x"), "d": ("4", "x")}, keyed=False), unkeyed, recipient="R"
    ).passed


def test_a_row_that_moves_to_another_row_is_not_recognised(ledger: ix.Ledger) -> None:
    visits = VISITS | {"5": ("Ann", "fa", "flu"), "6": ("Bob", "fa", "flu")}
    ledger.anonymize(tables_of(PATIENTS, visits, DRUGS), policy(), recipient="R").close()
    moved = tables_of(PATIENTS, visits, {"a": ("5", "x"), "b": ("6", "x")})
    found = ledger.check(moved, policy(), recipient="R")
    assert (found.passed, found.unrecognised) == (False, 2)


def test_what_several_tables_cannot_have_is_refused_with_its_reason(ledger: ix.Ledger, tmp_path: Path) -> None:
    given = tables_of(PATIENTS, VISITS, DRUGS)
    with pytest.raises(LedgerError, match="the key of several tables"):
        ledger.check(given, policy(), recipient="R", key="visit")
    with pytest.raises(LedgerError, match="only where each person has one row"):
        ledger.check(given, policy(), recipient="R", again="consistent")
    with pytest.raises(PolicyError, match="known only while a release is made"):
        ledger.add(tmp_path, policy(), given, recipient="R")
    one = ix.Policy({"who": ix.identifier(), "sex": ix.quasi()}, [ix.KAnonymity(2)], person="who")
    ledger.anonymize(given["patients"], one, recipient="R").close()
    with pytest.raises(LedgerError, match="entry 1 recognises people by 'who'"):
        ledger.check(given, policy(), recipient="R")


def test_the_commands_take_several_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    named = []
    for name, table in tables_of(PATIENTS, VISITS, DRUGS).items():
        pyarrow.csv.write_csv(table, f"{name}.csv")
        named.append(f"{name}={name}.csv")
    Path("policy.toml").write_text(ix.policy_toml(policy()), "utf-8")
    ix.Ledger.create("l.db").close()
    entering = ["--ledger", "l.db", "--recipient", "R"]
    for command in (["ledger", "check", "policy.toml", *named], ["anonymize", "policy.toml", *named, "-o", "r"]):
        done = CliRunner().invoke(app, [*command, *entering])
        assert done.exit_code == 0, done.output
    assert sorted(path.name for path in Path("r").iterdir()) == [
        "drugs.csv",
        "manifest.json",
        "patients.csv",
        "visits.csv",
    ]


# Against plain Python, which knows nothing of digests, bundles or engines.


def labels(release: ix.Release, column: str, value: str) -> str:
    """Return what a cell is called in a release."""
    hierarchy = release.policy.columns[column].hierarchy
    assert release.node is not None
    level = release.node[column]
    return value if level == 0 else str(hierarchy.label(value, level))


def shown(release: ix.Release, given: tuple[Patients, Visits, Drugs], k: int) -> dict[str, dict[tuple[str, str], str]]:
    """Return, for everybody who is released, the labels of each of her rows by table and key."""
    patients, visits, drugs = given
    rows: dict[str, dict[tuple[str, str], str]] = {
        who: {("patients", who): labels(release, "patients.sex", sex)} for who, sex in patients.items()
    }
    for visit, (who, ward, _) in visits.items():
        rows[who]["visits", visit] = labels(release, "visits.ward", ward)
    for drug, (visit, name) in drugs.items():
        rows[visits[visit][0]]["drugs", drug] = labels(release, "drugs.drug", name)

    def tree(who: str) -> Any:
        own = [
            (
                rows[who]["visits", visit],
                sorted(rows[who]["drugs", drug] for drug, (of, _) in drugs.items() if of == visit),
            )
            for visit, (whose, _, _) in visits.items()
            if whose == who
        ]
        return (rows[who]["patients", who], *map(repr, sorted(own)))

    sharing = Counter(map(tree, patients))
    return {who: rows[who] for who in patients if sharing[tree(who)] >= k}


def cells(releases: list[dict[str, dict[tuple[str, str], str]]], of: dict[tuple[str, str], str]) -> list[set[str]]:
    """Return the people who cannot be told apart by anybody who follows every row through all releases."""
    found: dict[Any, set[str]] = defaultdict(set)
    for who in {who for release in releases for who in release}:
        keys = {key for release in releases for key in release.get(who, ())}
        history = {key: tuple(release.get(who, {}).get(key, "-") for release in releases) for key in keys}
        drugs: dict[str, list[Any]] = defaultdict(list)
        for key in keys:
            if key[0] == "drugs":
                drugs[of[key]].append(history[key])
        visits = sorted((history[key], sorted(drugs[key[1]])) for key in keys if key[0] == "visits")
        found[repr((history["patients", who], visits))].add(who)
    return list(found.values())


def change(draw: random.Random, given: tuple[Patients, Visits, Drugs]) -> tuple[Patients, Visits, Drugs]:
    """Return the tables some time later: people, visits and drugs come and go, wards change."""
    patients, visits, drugs = dict(given[0]), dict(given[1]), dict(given[2])
    for _ in range(draw.randint(0, 2)):
        what = draw.randrange(4)
        if what == 0 and visits:
            visit = draw.choice(list(visits))
            visits[visit] = (visits[visit][0], draw.choice(WARDS), visits[visit][2])
        elif what == 1 and drugs:
            del drugs[draw.choice(list(drugs))]
        elif what == 2 and visits:
            drugs[f"d{draw.random()}"] = (draw.choice(list(visits)), "x")
        elif what == 3 and len(patients) > 3:
            gone = draw.choice(list(patients))
            del patients[gone]
            visits = {visit: row for visit, row in visits.items() if row[0] != gone}
            drugs = {drug: row for drug, row in drugs.items() if row[0] in visits}
    return patients, visits, drugs


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_what_releases_reveal_is_what_plain_python_finds(seed: int, ledger: ix.Ledger) -> None:
    draw, k = random.Random(seed), 2
    patients = {f"p{n}": draw.choice("fm") for n in range(draw.randint(4, 9))}
    visits = {f"v{n}": (draw.choice(list(patients)), draw.choice(WARDS), draw.choice(ILLS)) for n in range(8)}
    drugs = {f"d{n}": (draw.choice(list(visits)), draw.choice("xy")) for n in range(draw.randint(0, 4))}
    given = (patients, visits, drugs)
    held: list[dict[str, dict[tuple[str, str], str]]] = []
    parent_of: dict[tuple[str, str], str] = {}
    for _ in range(3):
        parent_of |= {("drugs", drug): visit for drug, (visit, _) in given[2].items()}
        node = {"patients.sex": draw.randint(0, 1), "visits.ward": draw.randint(0, 2), "drugs.drug": draw.randint(0, 1)}
        asked, offered = policy(k, max_suppression=1.0), tables_of(*given)
        with contextlib.suppress(InfeasibleError):
            with ix.anonymize(offered, asked, algorithm=ix.Chosen(node)) as like_it:
                new = shown(like_it, given, k)
            expected = [len(cell) for cell in cells([*held, new], parent_of)]
            found = ledger.check(offered, asked, recipient="R", algorithm=ix.Chosen(node))
            assert (found.people, found.cells, found.smallest) == (sum(expected), len(expected), min(expected))
            assert found.at_risk == sum(size for size in expected if size < k)
            assert found.passed == (min(expected) >= k)
            if found.passed:
                ledger.anonymize(offered, asked, recipient="R", algorithm=ix.Chosen(node)).close()
                held.append(new)
        given = change(draw, given)
