"""m-invariance: releases of people who come and go, by which nobody's value becomes any surer.

The adversary knows everybody's quasi-identifying values at any time and who is in which release. She finds each
person's group in each release, keeps the values that all of them have, and counts.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples, scaled
from indistinct import testing
from indistinct.engine import open_table
from indistinct.errors import InfeasibleError, LedgerError, RefusedError
from indistinct.pipeline import count
from indistinct.progress import Watch
from indistinct.quality import NCP
from indistinct.search.algorithm import refusal
from indistinct.search.local.groups.space import Space
from indistinct.search.m_invariance.m_invariant import swap_rows
from indistinct.search.m_invariance.value_buckets import _nearest, _numbers
from search.test_mingen_cell import task_for

ALGORITHMS = [ix.MInvariant(), ix.MInvariant(two_tables=True)]
"""In one table, in two, and in one of which groups are improved."""
Row = tuple[str, str, str, str]
"""Name, age, ZIP code, illness."""
COLUMNS = ("name", "age", "zip", "ill")

# In the spirit of the paper's Tables 1 to 3: Bob, Alice and others; the second table is some months later.
FIRST: list[Row] = [
    ("Bob", "21", "12000", "dyspepsia"),
    ("Alice", "22", "14000", "bronchitis"),
    ("Andy", "24", "18000", "flu"),
    ("David", "23", "25000", "gastritis"),
    ("Gary", "41", "20000", "flu"),
    ("Helen", "36", "27000", "gastritis"),
    ("Jane", "37", "33000", "dyspepsia"),
    ("Ken", "40", "35000", "flu"),
    ("Linda", "43", "26000", "gastritis"),
    ("Paul", "52", "33000", "dyspepsia"),
    ("Steve", "56", "34000", "gastritis"),
]
GONE = ("Alice", "Andy", "Helen", "Ken", "Paul")
CAME: list[Row] = [
    ("Ray", "54", "36000", "dyspepsia"),
    ("Emily", "25", "21000", "flu"),
    ("Mary", "46", "30000", "gastritis"),
    ("Vince", "65", "41000", "flu"),
    ("Tom", "60", "44000", "gastritis"),
]
SECOND = [row for row in FIRST if row[0] not in GONE] + CAME


def table(rows: Sequence[Row]) -> pa.Table:
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)})


def policy(*models: ix.PrivacyModel, **more: Any) -> ix.Policy:
    return ix.Policy(
        columns={
            "name": ix.identifier(),
            "age": ix.quasi(ix.intervals(5, 10, 20)),
            "zip": ix.quasi(ix.prefix(5)),
            "ill": ix.sensitive(),
        },
        privacy=models or [ix.MInvariance(2)],
        **{"max_suppression": 0.6, "algorithm": "m-invariance"} | more,
    )


def with_role(name: str, column: Any, asked: ix.Policy) -> ix.Policy:
    """Return the policy with another role for one column."""
    return replace(asked, columns={**asked.columns, name: column}, quasi_identifiers=None)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[ix.Ledger]:
    with ix.Ledger.create(tmp_path / "ledger.db") as made:
        yield made


# The adversary, who shares no code with what she attacks.


def is_covered(value: str, label: str) -> bool:
    """Return whether a label of these hierarchies can stand for a value."""
    if label in ("*", value):
        return True
    if "-" in label:
        low, high = label.split("-")
        return int(low) <= int(value) <= int(high)
    return len(label) == len(value) and all(shown in ("*", true) for shown, true in zip(label, value, strict=True))


def groups_of(release: ix.Release) -> dict[tuple[str, str], Counter[str]]:
    """Return the values of each group of one released table, by its labels."""
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for age, zip_code, ill in zip(*(release.table[name].to_pylist() for name in COLUMNS[1:]), strict=True):
        found[age, zip_code][ill] += 1
    return found


def classes_of(release: ix.Release) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    sensitive = release.tables["sensitive"]
    for name, ill in zip(sensitive["class_id"].to_pylist(), sensitive["ill"].to_pylist(), strict=True):
        found[str(name)][ill] += 1
    return found


def possible(rows: Sequence[Row], release: ix.Release) -> dict[str, list[set[str]]]:
    """Return for each person the value sets of the groups that she may be in: those whose labels cover her values."""
    groups = groups_of(release)
    return {
        name: [
            set(values)
            for (label_of_age, label_of_zip), values in groups.items()
            if is_covered(age, label_of_age) and is_covered(zip_code, label_of_zip)
        ]
        for name, age, zip_code, _ in rows
    }


# One release.


@pytest.mark.parametrize("m", [0, 1, 2.0, True, "2"])
def test_m_is_a_whole_number_of_at_least_2(m: Any) -> None:
    with pytest.raises(ix.PolicyError, match="m must be a whole number of at least 2"):
        ix.MInvariance(m)


def test_a_policy_file_names_model_and_algorithm() -> None:
    written = ix.policy_toml(policy(options={"two_tables": True}))
    assert 'model = "m-invariance"' in written
    assert ix.parse_policy(written) == policy(options={"two_tables": True})


@given(st.lists(st.dictionaries(st.sampled_from("abcde"), st.integers(1, 4), min_size=1), min_size=1, max_size=4))
def test_a_group_holds_if_no_value_makes_up_more_than_one_in_m(groups: list[dict[str, int]]) -> None:
    from indistinct.counting import Groups, Tally

    of = [
        (number, "abcde".index(value), count) for number, group in enumerate(groups) for value, count in group.items()
    ]
    tally = Tally.of(*(np.array(column) for column in zip(*of, strict=True)), list("abcde"))  # type: ignore[call-arg]
    sizes = [sum(group.values()) for group in groups]
    for m in (2, 3, 4):
        expected = [all(count / sum(group.values()) <= 1 / m for count in group.values()) for group in groups]
        assert ix.MInvariance(m).satisfied(Groups.of_sizes(sizes, {"ill": tally})).tolist() == expected


@pytest.mark.slow
@pytest.mark.parametrize("two_tables", [False, True])
@pytest.mark.parametrize("m", [2, 3])
def test_the_algorithm_keeps_its_promises(m: int, two_tables: bool) -> None:
    model = ix.MInvariance(m, column="illness")
    testing.check_algorithm(ix.MInvariant(two_tables=two_tables), models=[model], examples=scaled(25))


def test_the_algorithm_satisfies_other_models_besides() -> None:
    models = [ix.MInvariance(2, column="illness"), ix.KAnonymity(4), ix.LDiversity(3, column="illness")]
    testing.check_algorithm(ix.MInvariant(), models=models, examples=scaled(25))


@pytest.mark.slow
@examples(25, opens_tables=True)
@given(st.randoms(use_true_random=False), st.integers(2, 4), st.booleans())
def test_each_group_has_m_values_each_equally_often(dice: random.Random, m: int, two_tables: bool) -> None:
    world = World(dice, people=dice.randint(4, 60))
    asked = policy(ix.MInvariance(m), max_suppression=1.0)
    try:
        release = ix.anonymize(world.table(), asked, algorithm=ix.MInvariant(two_tables=two_tables))
    except InfeasibleError:
        return
    with release:
        for values in (classes_of(release) if two_tables else groups_of(release)).values():
            assert len(values) >= m
            assert len(set(values.values())) == 1
        assert release.verify(world.table()).passed


@examples(200)
@given(st.lists(st.integers(0, 12), min_size=2, max_size=7), st.integers(2, 4))
def test_buckets_of_new_people_use_up_all_that_can_be(counts: list[int], m: int) -> None:
    if m * max(counts) > sum(counts):
        return
    numbers = _numbers(np.array(counts), m)
    used = Counter[int]()
    for value_set, number in numbers.items():
        assert len(set(value_set)) == len(value_set) >= m
        assert number > 0
        used.update(dict.fromkeys(value_set, number))
    assert [used[value] for value in range(len(counts))] == counts


@given(st.lists(st.integers(0, 50), min_size=1, unique=True), st.lists(st.integers(0, 50), max_size=9), st.data())
def test_the_nearest_are_chosen_once_each(places: list[int], goals: list[int], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(places)))
    chosen = _nearest(np.array(sorted(places)), number, np.array(sorted(goals), np.int64))
    assert len(set(chosen.tolist())) == len(chosen) == number
    assert all(0 <= place < len(places) for place in chosen.tolist())


def test_no_row_is_suppressed_in_two_tables_where_values_are_spread() -> None:
    rows = [(f"p{n}", str(20 + n % 50), f"{10000 + 37 * n}", "abcde"[n % 5]) for n in range(60)]
    with ix.anonymize(table(rows), policy(ix.MInvariance(3)), algorithm=ix.MInvariant(two_tables=True)) as release:
        assert release.suppressed == 0
        assert len(classes_of(release)) == 20


@pytest.mark.slow
def test_a_refusal_says_why_rows_find_no_place() -> None:
    rows = [(f"p{n}", "30", "12000", "flu" if n else "gout") for n in range(6)]
    asked = policy(max_suppression=3)
    with pytest.raises(InfeasibleError, match=r"^4 of 6 rows .* the policy allows 3 .*4 have values too frequent"):
        ix.anonymize(table(rows), asked)
    with open_table(table(rows)) as opened:
        assert refusal(count({"table": opened}, asked, Watch()).task, Watch()) is not None
        assert refusal(count({"table": opened}, replace(asked, max_suppression=4), Watch()).task, Watch()) is None


@pytest.mark.slow
def test_the_algorithm_needs_its_model_and_one_column() -> None:
    with pytest.raises(ix.PolicyError, match="needs the model m-invariance"):
        ix.anonymize(table(FIRST), policy(ix.LDiversity(2)))
    two = ix.Policy(
        columns={"name": ix.identifier(), "age": ix.quasi(ix.suppress()), "zip": ix.sensitive(), "ill": ix.sensitive()},
        privacy=[ix.MInvariance(2)],
        algorithm="m-invariance",
    )
    with pytest.raises(ix.PolicyError, match="say which of 'ill', 'zip' it is"):
        ix.anonymize(table(FIRST), two)
    with pytest.raises(ix.PolicyError, match="k-anonymity asks that equal quasi-identifiers share a class"):
        ix.anonymize(
            table(FIRST), policy(ix.MInvariance(2), ix.KAnonymity(2)), algorithm=ix.MInvariant(two_tables=True)
        )
    with pytest.raises(ix.PolicyError, match="two_tables: must be true or false"):
        ix.MInvariant(two_tables=1)  # type: ignore[arg-type]


# Two releases, as in the paper.


@pytest.mark.slow
def test_two_diverse_releases_tell_what_one_does_not() -> None:
    """Both are 2-diverse; who is in both is left with what the groups have in common, and that is one value."""
    diverse = policy(ix.LDiversity(2), algorithm="top-down")
    with ix.anonymize(table(FIRST), diverse) as first, ix.anonymize(table(SECOND), diverse) as second:
        before, after = possible(FIRST, first), possible(SECOND, second)
    left = {
        name: before[name][0] & after[name][0]
        for name in before.keys() & after.keys()
        if len(before[name]) == len(after[name]) == 1
    }
    told = {name: values for name, values in left.items() if len(values) == 1}
    true = {name: ill for name, _, _, ill in FIRST}
    assert told
    assert all(values == {true[name]} for name, values in told.items())


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=["one", "two"])
def test_two_m_invariant_releases_tell_no_more_than_one(ledger: ix.Ledger, algorithm: ix.MInvariant) -> None:
    with ledger.anonymize(table(FIRST), policy(), recipient="R", algorithm=algorithm) as first:
        assert first.entry == 1
    with pytest.raises(RefusedError, match=r"m-invariance \(m = 2\) of .*make it with the algorithm 'm-invariance'"):
        ledger.anonymize(table(SECOND), policy(), recipient="R", algorithm=algorithm)
    found = ledger.check(table(SECOND), policy(), recipient="R", algorithm=algorithm)
    assert found.at_risk > 0
    assert {failure["values_left"] for failure in found.to_dict()["failures"]} <= {0, 1, 2}
    with ledger.anonymize(table(SECOND), policy(), recipient="R", algorithm=algorithm, again="consistent") as second:
        assert second.entry == 2
        assert second.verify(table(SECOND)).passed
        if not algorithm.two_tables:
            assert 0 < second.facts.bound["ncp"] <= second.measures["ncp"]
            assert second.facts.gap == pytest.approx(second.measures["ncp"] - second.facts.bound["ncp"])
    before, after = value_sets(ledger, 1), value_sets(ledger, 2)
    in_both = before.keys() & after.keys()
    assert in_both
    assert all(set(before[key]) == set(after[key]) for key in in_both)
    assert ledger.verify().passed


@pytest.mark.slow
def test_who_has_another_value_than_her_signature_is_suppressed(ledger: ix.Ledger) -> None:
    rows = [(f"p{n}", str(20 + n), "12000", "ab"[n % 2]) for n in range(8)]
    with ledger.anonymize(table(rows), policy(), recipient="R") as first:
        assert first.suppressed == 0
    changed = [(*rows[0][:3], "c"), *rows[1:], ("new", "25", "12000", "a")]
    with ledger.anonymize(table(changed), policy(), recipient="R", again="consistent") as second:
        assert second.suppressed == 1
        assert "c" not in second.table["ill"].to_pylist()
    with pytest.raises(RefusedError, match="1 have other values now than when they were released"):
        ledger.anonymize(table(changed), policy(max_suppression=0), recipient="R", again="consistent")


@pytest.mark.slow
def test_a_value_that_nobody_has_any_more_leaves_its_people_out(ledger: ix.Ledger) -> None:
    rows = [(f"p{n}", str(20 + n), f"{n}2000", "ab"[n % 2]) for n in range(8)]
    with ledger.anonymize(table(rows), policy(), recipient="R"):
        pass
    left = [row for row in rows if row[3] == "a"] + [(f"q{n}", str(20 + n), f"{n}3000", "cd"[n % 2]) for n in range(8)]
    with ledger.anonymize(table(left), policy(), recipient="R", again="consistent") as second:
        assert set(second.table["ill"].to_pylist()) == {"c", "d"}
        assert second.suppressed == 4


@pytest.mark.slow
def test_an_earlier_release_that_shows_no_values_binds_nobody_to_any(ledger: ix.Ledger) -> None:
    hidden = with_role("ill", ix.identifier(), policy(ix.KAnonymity(1), algorithm="mondrian"))
    ledger.anonymize(table(FIRST), hidden, recipient="R", key="name").close()
    with ledger.anonymize(table(FIRST), policy(), recipient="R", key="name", again="consistent") as made:
        assert all(len(set(values)) >= 2 for values in groups_of(made).values())
    assert ledger.verify().passed


@pytest.mark.slow
def test_what_cannot_be_m_invariant_is_refused_in_clear_words(ledger: ix.Ledger) -> None:
    shown = with_role("zip", ix.other(), policy())
    with pytest.raises(LedgerError, match="rows of a person could be linked: leave out 'zip'"):
        ledger.anonymize(table(FIRST), shown, recipient="R")
    with pytest.raises(RefusedError, match=r"^refused: it would leave .* people less protected .* each equally often"):
        ledger.anonymize(table(FIRST), policy(max_suppression=0), recipient="R", algorithm="lattice")
    with ledger.anonymize(table(FIRST), policy(), recipient="R", again="consistent"):
        pass
    with pytest.raises(LedgerError, match="seen to by the algorithm 'm-invariance' alone, not by 'mondrian'"):
        ledger.anonymize(table(FIRST), policy(), recipient="R", algorithm="mondrian", again="consistent")
    with pytest.raises(LedgerError, match="say again='consistent'"):
        ledger.anonymize(table(FIRST), policy(), recipient="R", again="based")
    for role in (ix.other(), ix.quasi(ix.suppress())):  # the promise holds against later policies, too
        later = with_role("ill", role, policy(ix.KAnonymity(2), algorithm="lattice"))
        found = ledger.check(table(FIRST), later, recipient="R")
        assert any(failure.model == "m-invariance (m = 2)" and failure.promised_by == 1 for failure in found.failures)
    hidden = with_role("ill", ix.identifier(), policy(ix.KAnonymity(2), algorithm="lattice"))
    found = ledger.check(table(FIRST), hidden, recipient="R", key="name")
    assert not any("m-invariance" in failure.model for failure in found.failures)


@pytest.mark.slow
def test_a_larger_m_leaves_out_whom_a_smaller_one_released(ledger: ix.Ledger) -> None:
    rows = [(f"p{n}", str(20 + n), f"{n % 7}2000", "abcd"[n % 4]) for n in range(24)]
    with ledger.anonymize(table(rows[:12]), policy(), recipient="R"):
        pass
    asked = policy(ix.MInvariance(3), max_suppression=1.0)
    with ledger.anonymize(table(rows), asked, recipient="R", again="consistent") as second:
        assert all(len(values) >= 3 for values in groups_of(second).values())
        assert second.suppressed >= 12


# Many releases.


class World:
    """A table of people who come and go, each with an illness that stays."""

    def __init__(self, dice: random.Random, people: int) -> None:
        self.dice, self.born = dice, 0
        self.rows: dict[str, Row] = {}
        self.add(people)

    def add(self, number: int) -> None:
        for _ in range(number):
            self.born += 1
            name = f"p{self.born}"
            zip_code = f"{self.dice.randint(10, 30)}{self.dice.randint(0, 9)}00"
            self.rows[name] = (name, str(self.dice.randint(20, 69)), zip_code, self.dice.choice("aabbcde"))

    def pass_time(self) -> None:
        for name in self.dice.sample(sorted(self.rows), self.dice.randint(0, len(self.rows) // 3)):
            del self.rows[name]
        self.add(self.dice.randint(0, 15))

    def table(self) -> pa.Table:
        rows = sorted(self.rows.values())
        self.dice.shuffle(rows)
        return table(rows)


HISTORIES = max(2, scaled(4))
STEPS = 4


def members(ledger: ix.Ledger, number: int) -> dict[str, int]:
    """Return the group of each person in a release: what the adversary is taken to know, from the ledger's own
    notes.
    """
    import pyarrow.parquet

    from indistinct.ledger.store.entry_files import MEMBERS

    found = pyarrow.parquet.read_table(ledger.store.files.path(ledger.store.entry(number), MEMBERS))
    return dict(zip(found["key"].to_pylist(), found["group"].to_pylist(), strict=True))


def value_sets(ledger: ix.Ledger, number: int) -> dict[str, Counter[str]]:
    """Return for each person the values that her group has in a release, with their numbers."""
    import pyarrow.parquet

    from indistinct.ledger.store.entry_files import MEMBERS

    found = pyarrow.parquet.read_table(ledger.store.files.path(ledger.store.entry(number), MEMBERS))
    values: dict[int, Counter[str]] = defaultdict(Counter)
    for group, value in zip(found["group"].to_pylist(), found["value.ill"].to_pylist(), strict=True):
        values[group][value] += 1
    return {key: values[group] for key, group in members(ledger, number).items()}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=["one", "two"])
def test_whoever_intersects_all_releases_keeps_m_values_for_everybody(algorithm: ix.MInvariant, tmp_path: Path) -> None:
    released = again = 0
    with ix.Ledger.create(tmp_path / "ledger.db") as ledger:
        for seed in range(HISTORIES):
            world = World(random.Random(seed), 30)
            m = world.dice.choice([2, 3])
            left: dict[str, set[str]] = {}
            for _ in range(STEPS):
                with contextlib.suppress(RefusedError, InfeasibleError):
                    release = ledger.anonymize(
                        world.table(),
                        policy(ix.MInvariance(m), max_suppression=0.9),
                        recipient="R",
                        source=f"world {seed}",
                        again="consistent",
                        algorithm=algorithm,
                    )
                    release.close()
                    assert release.entry is not None
                    for key, values in value_sets(ledger, release.entry).items():
                        assert len(set(values.values())) == 1
                        again += key in left
                        left[key] = left.get(key, set(values)) & set(values)
                    released += 1
                world.pass_time()
            assert all(len(values) >= m for values in left.values())
    assert released > 3 * HISTORIES  # of four each
    assert again > 10 * HISTORIES  # so many times somebody was released again


@pytest.mark.slow
def test_without_the_ledger_l_diverse_releases_are_broken_in_many() -> None:
    broken = 0
    for seed in range(HISTORIES):
        world = World(random.Random(seed), 30)
        left: dict[str, set[str]] = {}
        for _ in range(STEPS):
            with ix.anonymize(world.table(), policy(ix.LDiversity(2), algorithm="mondrian")) as release:
                fitting = possible(list(world.rows.values()), release)
            for name, sets in fitting.items():
                if len(sets) == 1:  # the adversary is sure of the group
                    left[name] = left.get(name, sets[0]) & sets[0]
            world.pass_time()
        broken += any(len(values) == 1 for values in left.values())
    assert broken >= HISTORIES // 2


@pytest.mark.slow
def test_every_value_of_a_signature_is_as_likely_whatever_is_put_together(ledger: ix.Ledger) -> None:
    """All ways in which values can belong to people are tried: in those that fit, each has each value equally often."""
    dice = random.Random(5)
    rows = [(f"p{n}", str(dice.randint(20, 69)), f"{dice.randint(10, 99)}000", "ab"[n % 2]) for n in range(8)]
    steps = [rows[:6], rows[1:5] + rows[6:], [*rows[2:4], *rows[4:8]]]
    constraints: list[tuple[list[str], Counter[str]]] = []
    for step in steps:
        with ledger.anonymize(
            table(step), policy(), recipient="R", again="consistent", algorithm=ix.MInvariant(two_tables=True)
        ) as release:
            sets, groups = value_sets(ledger, release.entry or 0), members(ledger, release.entry or 0)
            for number in set(groups.values()):
                own = [key for key, group in groups.items() if group == number]
                constraints.append((own, sets[own[0]]))
    people = sorted({key for own, _ in constraints for key in own})
    worlds = [
        dict(zip(people, values, strict=True))
        for values in itertools.product("ab", repeat=len(people))
        if all(
            Counter(dict(zip(people, values, strict=True))[key] for key in own) == counts for own, counts in constraints
        )
    ]
    assert worlds
    for key in people:
        assert Counter(world[key] for world in worlds)["a"] * 2 == len(worlds)


@pytest.mark.slow
@given(st.randoms(use_true_random=False), st.integers(2, 4))
@examples(15)
def test_exchanges_keep_every_group_s_values_and_never_cost_more(dice: random.Random, m: int) -> None:
    """Groups of m values; those of the first have been released before and may change places among each other only."""
    number = dice.randint(3, 12)
    ages = [str(dice.randint(20, 60)) for _ in range(number * m)]
    table = pa.table({"age": ages, "job": [f"{place % m}" for place in range(number * m)]})
    columns = {"age": ix.quasi(ix.intervals(5, 20)), "job": ix.sensitive()}
    task = task_for(table, ix.Policy(columns=columns, privacy=[ix.LDiversity(2)]))
    space = Space.of(task.frequencies, NCP())
    entries = np.repeat(np.arange(len(space.counts)), space.counts)
    kinds = task.frequencies.entries.codes["job"][entries]
    by_kind = np.argsort(kinds, kind="stable")
    group_of = np.empty(len(entries), np.int64)
    group_of[by_kind] = np.tile(np.arange(number), m)
    found = swap_rows(space, entries, group_of, kinds, Watch())
    assert found.tolist() == swap_rows(space, entries, group_of, kinds, Watch()).tolist()

    def cost(groups: Any) -> float:
        ranks = space.ranks[entries].astype(np.int64)
        ends = [(ranks[groups == group].min(axis=0), ranks[groups == group].max(axis=0)) for group in range(number)]
        return float(space.run_costs(np.stack([low for low, _ in ends]), np.stack([high for _, high in ends])).sum())

    for group in range(number):
        assert sorted(kinds[found == group].tolist()) == list(range(m))
    assert cost(found) <= cost(group_of) + 1e-9


def test_exchanges_find_the_twins() -> None:
    """Each age has one row of either job, but groups join those that are far apart."""
    table = pa.table({"age": [str(age) for age in (20, 40, 60, 80)] * 2, "job": ["a"] * 4 + ["b"] * 4})
    columns = {"age": ix.quasi(ix.intervals(50)), "job": ix.sensitive()}
    task = task_for(table, ix.Policy(columns=columns, privacy=[ix.LDiversity(2)]))
    space = Space.of(task.frequencies, NCP())
    ages = [task.frequencies.hierarchies[0].values[code] for code in task.frequencies.entry_codes(0)]
    jobs = task.frequencies.entries.codes["job"]
    tens = np.array([int(age or 0) // 20 for age in ages])
    group_of = np.where(jobs == 0, tens - 1, 4 - tens)
    found = swap_rows(space, np.arange(8), group_of, jobs, Watch())
    assert len(set(zip(ages, found.tolist(), strict=True))) == 4
