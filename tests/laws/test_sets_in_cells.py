"""Sets in a cell: members become events of the row's person, and any few of them fit k people (Terrovitis 2008).

The oracle splits cells and counts sets in plain Python, and shares no code with the package.
"""

from __future__ import annotations

import json
import random
import tomllib
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.commands import answer, run
from helpers.profiles import examples
from indistinct.counting.declared_cells import as_declared
from indistinct.engine import use_table
from indistinct.policy import CellSet, Knows, LinkedTable
from indistinct.policy.files.policy_file import policy_of, policy_toml

ITEMS = {"E11": "E", "E12": "E", "I10": "I", "I11": "I", "J45": "J"}
TREE = ix.levels([[item, kind] for item, kind in ITEMS.items()], top="*")


def policy(separator: str | None = ";", k: int = 2, known: int = 2) -> ix.Policy:
    return ix.Policy(
        tables={
            "people": LinkedTable({"sex": ix.quasi(ix.suppress()), "codes": ix.drop()}, key="id"),
            "codes": LinkedTable(
                {"sex": ix.drop(), "codes": ix.quasi(TREE, set=CellSet(separator))}, references={"id": "people"}
            ),
        },
        privacy=[ix.KAnonymity(k)],
        person="id",
        knows=Knows(known),
    )


def as_cells(sets: list[list[str] | None], shape: str) -> list[Any]:
    if shape == "list":
        return sets
    text = json.dumps if shape == "json" else ";".join
    return [None if one is None else text(one) for one in sets]


def table(sets: list[list[str] | None], shape: str = "text") -> pa.Table:
    kind = pa.list_(pa.string()) if shape == "list" else pa.string()
    return pa.table(
        {
            "id": pa.array(range(len(sets)), pa.int64()),
            "sex": pa.array([("f", "m")[number % 2] for number in range(len(sets))], pa.string()),
            "codes": pa.array(as_cells(sets, shape), kind),
        }
    )


MESSY = st.lists(st.none() | st.lists(st.sampled_from([*ITEMS, "", " ", " I10", "E11 "]), max_size=5), max_size=8)


@examples(40)
@given(MESSY, st.sampled_from(["text", "json", "list"]))
def test_every_different_member_becomes_a_row(sets: list[list[str] | None], shape: str) -> None:
    asked = policy(";" if shape == "text" else None).parts["codes"].policy
    with use_table(table(sets, shape)) as rows, as_declared(rows, asked) as read:
        found = read.texts(["id", "sex", "codes"]).read_all().to_pylist()
    expected = [
        {"id": str(number), "sex": ("f", "m")[number % 2], "codes": member}
        for number, cell in enumerate(sets)
        for member in {one.strip() for one in cell or ()} - {""}
    ]
    assert Counter(map(str, found)) == Counter(map(str, expected))


def flags_policy(k: int = 2) -> ix.Policy:
    dropped = dict.fromkeys(ITEMS, ix.drop())
    return ix.Policy(
        tables={
            "people": LinkedTable({"sex": ix.quasi(ix.suppress()), **dropped}, key="id"),
            "codes": LinkedTable(
                {"sex": ix.drop(), **dropped, "codes": ix.quasi(TREE, set={"columns": list(ITEMS)})},
                references={"id": "people"},
            ),
        },
        privacy=[ix.KAnonymity(k)],
        person="id",
        knows=Knows(2),
    )


def flags(sets: list[list[str]], one: Any = 1, none: Any = 0) -> pa.Table:
    own = {item: [one if item in members else none for members in sets] for item in ITEMS}
    return pa.table({"id": range(len(sets)), "sex": ["f"] * len(sets), **own})


@examples(12)
@given(
    st.lists(st.lists(st.sampled_from(list(ITEMS)), max_size=4), min_size=4, max_size=9),
    st.sampled_from([(1, 0), (True, False), ("1", None), ("TRUE", ""), (1.0, 0.0)]),
)
def test_columns_of_0_and_1_are_one_set(sets: list[list[str]], cells: tuple[Any, Any]) -> None:
    given_table = flags(sets, *cells)
    with use_table(given_table) as rows, as_declared(rows, flags_policy().parts["codes"].policy) as read:
        found = read.texts(["id", "codes"]).read_all().to_pylist()
    expected = [{"id": str(n), "codes": one} for n, own in enumerate(sets) for one in set(own)]
    assert Counter(map(str, found)) == Counter(map(str, expected))
    given_tables = dict.fromkeys(("people", "codes"), given_table)
    with ix.anonymize(given_tables, flags_policy()) as release:
        assert release.verify(original=given_tables).passed


def test_columns_that_make_no_set_are_refused() -> None:
    good, asked = flags([["E11"], []] * 2), flags_policy()
    assert policy_of(tomllib.loads(policy_toml(asked))) == asked
    wrong = [good.drop_columns(["E12"]), good.append_column("codes", good["sex"])]
    wrong.append(flags([["E11"], []] * 2, "secret", "no"))
    for table_of_codes in wrong:
        with pytest.raises((ix.PolicyError, ix.TableError)) as error:
            ix.anonymize({"people": good, "codes": table_of_codes}, asked)
        assert "secret" not in str(error.value)
    for said in ({"columns": []}, {"columns": "E11"}, {"columns": ["a", "a"]}, {"columns": ["a"], "separator": ";"}):
        with pytest.raises(ix.PolicyError, match="set"):
            ix.quasi(TREE, set=said)


@examples(12)
@given(st.lists(st.lists(st.sampled_from(list(ITEMS)), max_size=4), min_size=4, max_size=9), st.integers(1, 3))
def test_any_few_members_fit_k_people(sets: list[list[str] | None], known: int) -> None:
    given_tables = dict.fromkeys(("people", "codes"), table(sets))
    with ix.anonymize(given_tables, policy(known=known)) as release:
        released = {name: one.to_pylist() for name, one in release.tables.items()}
        assert release.verify(original=given_tables).passed
    held: dict[str, list[str]] = {row["pseudonym"]: [] for row in released["people"]}
    sexes = {row["pseudonym"]: row["sex"] for row in released["people"]}
    for row in released["codes"]:
        held[row["pseudonym"]].append(row["codes"])
    shared: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for one, members in held.items():
        found = {some for size in range(known + 1) for some in combinations(sorted(members), size)}
        shared.update((sexes[one], some) for some in found)
    assert all(number >= 2 for number in shared.values())
    labels = {*ITEMS, *ITEMS.values(), "*"}
    assert all(label in labels for members in held.values() for label in members)


def test_a_member_that_nobody_has_is_found_out() -> None:
    sets: list[list[str] | None] = [["E11", "I10"]] * 4 + [["E11"]] * 4 + [[], None]
    given_tables = dict.fromkeys(("people", "codes"), table(sets))
    with ix.anonymize(given_tables, policy()) as release:
        assert release.facts.tables["codes"].released == 12
        people, codes = (release.tables[name].to_pylist() for name in ("people", "codes"))
    assert len(people) == 10
    forged = [row | {"codes": "J45"} if row["codes"] == "I10" else row for row in codes]
    tables = {"people": pa.Table.from_pylist(people), "codes": pa.Table.from_pylist(forged)}
    assert not ix.verify(tables, policy(), original=given_tables).passed


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_one_file_is_given_for_both_tables(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sets: list[list[str] | None] = [["E11", "I10"]] * 4 + [["J45"]] * 4 + [[], None]
    if form == "csv":
        pyarrow.csv.write_csv(table(sets), "people.csv")
    else:
        pyarrow.parquet.write_table(table(sets, "list"), "people.parquet")
    asked = policy(";" if form == "csv" else None)
    Path("policy.toml").write_text(policy_toml(asked), "utf-8")
    assert ix.read_policy("policy.toml") == asked
    given_tables = [f"{name}=people.{form}" for name in ("people", "codes")]
    originals = [word for one in given_tables for word in ("--original", one)]
    assert run("check", "policy.toml", *given_tables).exit_code == 0
    answer("anonymize", "policy.toml", *given_tables, "-o", "release")
    assert run("verify", "policy.toml", "release", *originals).exit_code == 0
    found = answer("attack", "history", "policy.toml", "release", *given_tables)
    assert all(one["fewer_in_release"] == 0 for one in found["findings"])


def test_cells_that_are_no_sets_are_refused_and_not_quoted() -> None:
    nested = pa.array([[["secret"]]], pa.list_(pa.list_(pa.string())))
    people = table([["E11"]] * 3)
    cases = [(table([["secret"], ["E11"]]), "2 cells"), (people.slice(0, 1).set_column(2, "codes", nested), "nested")]
    for given_table, says in cases:
        with pytest.raises(ix.TableError, match=says) as error:
            ix.anonymize({"people": people, "codes": given_table}, policy(None))
        assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        'version = 1\ncolumns.codes = { role = "quasi", set = { separator = ";" } }',
        'version = 1\nperson = "id"\n[tables.people]\nkey = "id"\ncolumns.codes = { role = "quasi", set = {} }',
        'version = 1\nperson = "id"\n[tables.a]\ncolumns.x = { role = "quasi", set = {} }\n'
        'columns.y = { role = "quasi", set = {} }',
        'version = 1\nperson = "id"\n[tables.a]\ncolumns.x = { role = "other", set = {} }',
        'version = 1\nperson = "id"\n[tables.a]\ncolumns.x = { role = "quasi", set = { separator = "" } }',
    ],
)
def test_a_set_is_a_quasi_column_of_a_table_of_events(text: str) -> None:
    with pytest.raises(ix.PolicyError, match="set"):
        policy_of(tomllib.loads(text + '\n[[privacy]]\nmodel = "k-anonymity"\nk = 2\n'))


def baskets(number: int, seed: int) -> list[set[str]]:
    """Return made-up baskets like those of BMS: most have one or two of 200 articles, some have many."""
    chance = random.Random(seed)
    articles = [f"{one:03}" for one in range(200)]
    often = [1 / place for place in range(1, len(articles) + 1)]
    chance.shuffle(articles)
    return [set(chance.choices(articles, often, k=1 + int(chance.expovariate(0.6)))) for _ in range(number)]


def covered(label: str) -> int:
    """Return how many articles a label covers."""
    return 200 if label == "*" else min(200, 10 ** label.count("*"))


def lost(label: str) -> float:
    return (covered(label) - 1) / 199


def apriori(baskets: list[set[str]], k: int, known: int) -> float:
    """Return what plain Apriori anonymisation loses of each member (Terrovitis, Mamoulis, Kalnis 2008).

    Smaller sets first; the label of a rare set climbs whose parent loses least, with all that lie below that parent.
    """
    label_of = {article: article for basket in baskets for article in basket}
    for size in range(1, known + 1):
        while True:
            counts = Counter(
                some
                for basket in baskets
                for some in combinations(sorted({label_of[article] for article in basket}), size)
            )
            rare = [some for some, number in counts.items() if number < k and set(some) != {"*"}]
            if not rare:
                break
            parents = {min((parent(label) for label in some if label != "*"), key=covered) for some in rare}
            goal = min(parents, key=lambda label: (covered(label), label))
            label_of = {one: goal if lies_below(label, goal) else label for one, label in label_of.items()}
    members = [article for basket in baskets for article in basket]
    return sum(lost(label_of[article]) for article in members) / len(members)


def parent(label: str) -> str:
    """Return the label above: 012, 01*, 0**, all."""
    if label.startswith(("*", "0**", "1**")):
        return "*"
    kept = label.rstrip("*")[:-1]
    return kept + "*" * (3 - len(kept))


def lies_below(label: str, goal: str) -> bool:
    """Return whether a label climbs to another, or is it."""
    while label not in ("*", goal):
        label = parent(label)
    return label == goal


@pytest.mark.slow
@pytest.mark.parametrize(("number", "seed"), [(300, 1), (1_000, 2), (3_000, 3)])
def test_no_more_is_lost_than_by_plain_apriori_anonymisation(number: int, seed: int) -> None:
    bought = baskets(number, seed)
    rows = pa.table({"id": range(number), "bought": [";".join(sorted(one)) for one in bought]})
    asked = ix.Policy(
        tables={
            "people": LinkedTable({"bought": ix.drop()}, key="id"),
            "sets": LinkedTable(
                {"bought": ix.quasi(ix.prefix(3, keep=[2, 1]), set={"separator": ";"})}, references={"id": "people"}
            ),
        },
        privacy=[ix.KAnonymity(5)],
        person="id",
        knows=Knows(2),
    )
    with ix.anonymize({"people": rows, "sets": rows}, asked) as release:
        labels = release.tables["sets"]["bought"].to_pylist()
    members = sum(map(len, bought))
    ours = (sum(map(lost, labels)) + members - len(labels)) / members
    theirs = apriori(bought, 5, 2)
    assert ours < theirs
