"""Wong et al., "(α, k)-anonymity based privacy preservation by lossy join", 2007: Tables 1 to 3 through the public API.

Figure 1, the hierarchy of jobs, is a drawing; its tree is read off Table 3. Of birth and postcode only ground values
and suppressed ones are ever shown.
"""

from __future__ import annotations

from collections import Counter

import pytest

import indistinct as ix
from helpers.brute_force import Column
from helpers.papers import cells, paths, released_at, table_of
from helpers.simulation import Simulation, Table
from indistinct.examples import save_examples
from indistinct.search.local.top_down import TopDown

COLUMNS = ("Job", "Birth", "Postcode", "Illness")
HIERARCHIES = {
    "Job": paths(
        ("clerk", "white-collar", "*"),
        ("manager", "white-collar", "*"),
        ("factory worker", "blue-collar", "*"),
        ("technical supporter", "blue-collar", "*"),
    ),
    "Birth": paths(("1940", "*"), ("1955", "*"), ("1975", "*")),
    "Postcode": paths(("4350", "*"), ("5432", "*")),
}

# Table 1 prints "manger" for the manager of Tables 4 to 7.
TABLE_1 = [
    ("clerk", "1975", "4350", "HIV"),
    ("manager", "1955", "4350", "flu"),
    ("clerk", "1955", "5432", "flu"),
    ("factory worker", "1955", "5432", "fever"),
    ("factory worker", "1975", "4350", "flu"),
    ("technical supporter", "1940", "4350", "fever"),
]
TABLE_2 = [
    ("*", "*", "4350", "HIV"),
    ("*", "*", "4350", "flu"),
    ("*", "*", "5432", "flu"),
    ("*", "*", "5432", "fever"),
    ("*", "*", "4350", "flu"),
    ("*", "*", "4350", "fever"),
]
TABLE_3 = [
    ("white-collar", "*", "4350", "HIV"),
    ("white-collar", "*", "4350", "flu"),
    ("*", "1955", "5432", "flu"),
    ("*", "1955", "5432", "fever"),
    ("blue-collar", "*", "4350", "flu"),
    ("blue-collar", "*", "4350", "fever"),
]


def policy(alpha=0.5, k=2):
    columns = {name: ix.quasi(ix.levels(list(listed.values()))) for name, listed in HIERARCHIES.items()}
    return ix.Policy(columns=columns | {"Illness": ix.sensitive()}, privacy=[ix.AlphaK(alpha, k)])


def raw_table():
    return table_of(COLUMNS, TABLE_1)


def test_the_table_that_demo_saves_is_table_1_and_becomes_table_3(tmp_path):
    save_examples(tmp_path)
    release = ix.anonymize(tmp_path / "wong.csv", ix.read_policy(tmp_path / "wong.toml"))
    assert (tmp_path / "wong.csv").read_text("utf-8").splitlines() == [",".join(row) for row in (COLUMNS, *TABLE_1)]
    assert cells(release.table) == Counter(TABLE_3)


def test_table_1_is_not_anonymous():
    assert not ix.verify(raw_table(), policy()).passed


def test_table_2_is_a_full_domain_generalization_and_none_below_it_will_do():
    with released_at(raw_table(), policy(), (2, 1, 0)) as release:
        assert cells(release.table) == Counter(TABLE_2)
        assert release.verdict.groups == 2
    assert (2, 1, 0) in [solution.vector for solution in ix.solutions(raw_table(), policy())]


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "groups"), [(TABLE_2, 2), (TABLE_3, 3)], ids=["Table 2", "Table 3"])
def test_tables_2_and_3_satisfy_0_5_2_anonymity_and_no_more(rows, groups):
    table = table_of(COLUMNS, rows)
    verdict = ix.verify(table, policy(), original=raw_table(), is_local=True)
    assert verdict.passed, str(verdict)
    assert (verdict.rows, verdict.groups, verdict.smallest_group) == (6, groups, 2)
    assert not ix.verify(table, policy(k=3)).passed
    assert not ix.verify(table, policy(alpha=0.49)).passed


@pytest.mark.slow
@pytest.mark.parametrize("tighten", [False, True])
def test_table_3_is_what_the_top_down_approach_releases(tighten):
    table = raw_table()
    with ix.anonymize(table, policy(), algorithm=TopDown(tighten=tighten)) as release:
        assert cells(release.table) == Counter(TABLE_3)
        assert release.verify(original=table).passed


@pytest.mark.slow
def test_table_3_distorts_less_than_table_2():
    table = raw_table()
    with released_at(table, policy(), (2, 1, 0)) as full, ix.anonymize(table, policy(), algorithm=TopDown()) as local:
        assert local.measures["precision"] > full.measures["precision"]


def test_the_way_to_table_3():
    """Postcode leaves all six rows specialised; then Job all four of 4350, and Birth both of 5432."""
    columns = tuple(Column(name, tuple(map(tuple, listed.values()))) for name, listed in HIERARCHIES.items())
    rows = tuple(row[:3] for row in TABLE_1)
    simulation = Simulation(Table(columns, rows, tuple(row[3:] for row in TABLE_1), ("(0.5, 2)",)))
    assert simulation.run()
    assert simulation.trace == [
        (frozenset({0, 1, 2, 3, 4, 5}), "Postcode", 6),
        (frozenset({0, 1, 4, 5}), "Job", 4),
        (frozenset({2, 3}), "Birth", 2),
    ]
    assert Counter((*labels, TABLE_1[row][3]) for labels, members in simulation.classes for row in members) == Counter(
        TABLE_3
    )


# Tables 4 to 7 and Theorem 1: the lossy join.


def test_table_7_is_the_join_of_tables_5_and_6():
    with ix.anonymize(raw_table(), policy(), algorithm="lossy-join") as release:
        joined = release.join().select([*COLUMNS])
    assert cells(joined) == Counter(
        (*person[:3], illness[3]) for pair in ((0, 1), (2, 3), (4, 5)) for person in at(pair) for illness in at(pair)
    )
    with ix.anonymize(raw_table(), policy()) as release, pytest.raises(ix.TableError, match="two tables"):
        release.join()


def at(places):
    return [TABLE_1[place] for place in places]
