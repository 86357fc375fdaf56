"""The privacy models against their definitions, written once more over plain rows, and everything built on them.

A row is a pair: its quasi cells and its sensitive cells. The definitions share no code with the package: they count
with Counters and Fractions, and move earth by min-cost flow, whatever the distance.
"""

from __future__ import annotations

import csv
import functools
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers import brute_force
from helpers.profiles import examples, scaled
from indistinct import testing
from indistinct.cli import app
from indistinct.counting import FrequencyList, Groups, Tally, encode_eligible
from indistinct.engine import open_table
from indistinct.progress import Watch
from indistinct.registry import MODELS
from indistinct.search import Task
from indistinct.search.full_domain.best_node.counters import GroupCounter, Stairs

Value = str | None
Row = tuple[tuple[Value, ...], tuple[Value, ...]]
NUMBERS = ("1", "2", "5", "10")
"""Sensitive values: numbers, so that they have an order."""


def said(model: ix.PrivacyModel) -> str:
    """Return a model in a few words."""
    return " ".join(str(value) for value in model.describe().values())


# The definitions.


def exact(number: float) -> Fraction:
    return Fraction(str(number))


def shares(values: Sequence[Value]) -> dict[Value, Fraction]:
    return {value: Fraction(count, len(values)) for value, count in Counter(values).items()}


def alpha_k(model: ix.AlphaK, own: Sequence[Value]) -> bool:
    """Wong et al. 2006, Definition 2."""
    limit = model.alpha if isinstance(model.alpha, Mapping) else dict.fromkeys(own, model.alpha)
    return len(own) >= model.k and all(share <= exact(limit.get(value, 1)) for value, share in shares(own).items())


def l_diversity(model: ix.LDiversity, own: Sequence[Value]) -> bool:
    """Machanavajjhala et al. 2007: distinct values, Definition 4.1 (entropy) and Definition 4.2 (recursive)."""
    counts = sorted(Counter(own).values(), reverse=True)
    if model.kind == "distinct":
        return len(counts) >= model.l
    if model.kind == "recursive":
        return counts[0] < exact(model.c) * sum(counts[model.l - 1 :])
    # −Σ p log p ≥ log l, without logarithms
    return len(own) ** len(own) >= model.l ** len(own) * math.prod(count**count for count in counts)


def beta_likeness(model: ix.BetaLikeness, own: Sequence[Value], everyone: Sequence[Value]) -> bool:
    """Cao and Karras 2012, Definitions 2 and 3."""
    p, q = shares(everyone), shares(own)
    limit = {value: min(model.beta, -math.log(p[value])) if model.enhanced else exact(model.beta) for value in q}
    return all((q[value] - p[value]) / p[value] <= limit[value] for value in q if p[value] < q[value])


def delta_disclosure(model: ix.DeltaDisclosure, own: Sequence[Value], everyone: Sequence[Value]) -> bool:
    """Brickell and Shmatikov 2008, Definition 1: for every value of the table."""
    p, q = shares(everyone), shares(own)
    return all(value in q and abs(math.log(q[value] / p[value])) < model.delta for value in p)


Path = Callable[[Value], Sequence[Value]]
"""Gives the labels of a sensitive value at every level, the value first."""


def t_closeness(model: ix.TCloseness, own: Sequence[Value], everyone: Sequence[Value], path: Path) -> bool:
    """Li et al. 2007, section 4: the earth mover's distance, with the ground distances of 4.1 and 4.2."""
    values = sorted(set(everyone), key=lambda value: (value is None, float(value or 0)))

    def apart(a: Value, b: Value) -> Fraction:
        if a == b:
            return Fraction(0)
        if model.distance == "equal":
            return Fraction(1)
        if model.distance == "ordered":
            return Fraction(abs(values.index(a) - values.index(b)), len(values) - 1)
        joined = next(level for level, (x, y) in enumerate(zip(path(a), path(b), strict=True)) if level and x == y)
        return Fraction(joined, len(path(a)) - 1)

    return earth_movers_distance(shares(own), shares(everyone), apart) <= exact(model.t)


def earth_movers_distance(
    have: Mapping[Value, Fraction], want: Mapping[Value, Fraction], apart: Callable[[Value, Value], Fraction]
) -> Fraction:
    """Move shares along cheapest paths, which may take back earlier moves, until everyone has what they want."""
    surplus, lacking, moved, work = dict(have), dict(want), Counter[tuple[Value, Value]](), Fraction(0)
    while any(surplus.values()):
        cost: dict[Any, Fraction] = {("from", value): Fraction(0) for value, share in surplus.items() if share}
        came: dict[Any, Any] = {}
        for _ in range(len(have) + len(want)):  # Bellman and Ford
            for a in have:
                for b in want:
                    steps = [(("from", a), ("to", b), apart(a, b))]
                    steps += [(("to", b), ("from", a), -apart(a, b))] if moved[a, b] else []
                    for start, end, price in steps:
                        if start in cost and (end not in cost or cost[start] + price < cost[end]):
                            cost[end], came[end] = cost[start] + price, start
        goal = min((end for end in cost if end[0] == "to" and lacking[end[1]]), key=lambda end: cost[end])
        way = [goal]
        while way[-1] in came:
            way.append(came[way[-1]])
        steps = list(zip(way[1:], way, strict=False))
        amount = min(
            surplus[way[-1][1]],
            lacking[goal[1]],
            *(moved[end[1], start[1]] for start, end in steps if start[0] == "to"),
        )
        for start, end in steps:
            moved[(start[1], end[1]) if start[0] == "from" else (end[1], start[1])] += (
                amount if start[0] == "from" else -amount
            )
        surplus[way[-1][1]] -= amount
        lacking[goal[1]] -= amount
        work += amount * cost[goal]
    return work


def columns_asked(model: ix.PrivacyModel, names: Sequence[str]) -> list[int]:
    if not model.asks_sensitive:
        return []
    return [position for position, name in enumerate(names) if model.column in (None, name)]


def satisfied(
    model: ix.PrivacyModel,
    groups: Sequence[Sequence[Row]],
    names: Sequence[str] = ("illness",),
    paths: Mapping[str, Path] | None = None,
) -> list[bool]:
    """Return which groups of rows satisfy a model, by its definition; the groups are all that is released."""
    if isinstance(model, ix.KAnonymity):
        return [len(group) >= model.k for group in groups]
    if isinstance(model, ix.ProsecutorRisk):
        return [Fraction(1, len(group)) <= exact(model.at_most) for group in groups]
    if isinstance(model, ix.AverageRisk):
        return average_risk(model, [len(group) for group in groups])
    verdict = []
    for group in groups:
        holds = len(group) >= getattr(model, "k", 1)
        for position in columns_asked(model, names):
            own = [row[1][position] for row in group]
            everyone = [row[1][position] for other in groups for row in other]
            if isinstance(model, ix.AlphaK):
                holds &= alpha_k(model, own)
            elif isinstance(model, ix.LDiversity):
                holds &= l_diversity(model, own)
            elif isinstance(model, ix.PSensitive):  # Truta and Vinay 2006
                holds &= len(set(own)) >= model.p
            elif isinstance(model, ix.BetaLikeness):
                holds &= beta_likeness(model, own, everyone)
            elif isinstance(model, ix.DeltaDisclosure):
                holds &= delta_disclosure(model, own, everyone)
            else:
                assert isinstance(model, ix.TCloseness)
                holds &= t_closeness(model, own, everyone, (paths or {}).get(names[position], lambda value: [value]))
        verdict.append(holds)
    return verdict


def average_risk(model: ix.AverageRisk, sizes: Sequence[int]) -> list[bool]:
    """The mean over rows of 1 over the size of the row's group; while it is too high, the smallest groups go."""
    for least in sorted(set(sizes)):
        risks = [Fraction(1, size) for size in sizes if size >= least for _ in range(size)]
        if sum(risks) / len(risks) <= exact(model.at_most):
            return [size >= least for size in sizes]
    return [False] * len(sizes)


# Random models, hierarchies and tables.


def sensitive_models(column: str | None = None) -> st.SearchStrategy[ix.PrivacyModel]:
    share = st.sampled_from([0.1, 0.2, 0.25, 0.3, 0.35, 0.5, 0.6, 0.7, 0.75, 0.9, 1.0])
    table = st.dictionaries(st.sampled_from([*NUMBERS, "lacking"]), share, min_size=1, max_size=2)
    whole = st.integers(1, 3)
    positive = st.sampled_from([0.25, 0.5, 1.0, 1.5, 2.0, 3.0])
    named = st.just(column)
    return st.one_of(
        st.builds(ix.AlphaK, share | table, whole, column=named),
        st.builds(ix.LDiversity, whole, column=named),
        st.builds(ix.LDiversity, whole, st.just("entropy"), column=named),
        st.builds(ix.LDiversity, whole, st.just("recursive"), positive, column=named),
        st.builds(ix.PSensitive, whole, whole, column=named),
        st.builds(ix.TCloseness, share, st.sampled_from(["equal", "ordered", "hierarchical"]), column=named),
        st.builds(ix.BetaLikeness, positive, st.booleans(), column=named),
        st.builds(ix.DeltaDisclosure, positive, column=named),
    )


def models() -> st.SearchStrategy[ix.PrivacyModel]:
    risk = st.sampled_from([0.1, 0.2, 0.25, 0.3, 0.5, 1.0])
    return sensitive_models() | sensitive_models("illness") | st.builds(ix.ProsecutorRisk, risk) | average_risks()


def average_risks() -> st.SearchStrategy[ix.PrivacyModel]:
    return st.builds(ix.AverageRisk, st.sampled_from([0.1, 0.2, 0.25, 0.3, 0.5, 1.0]))


def label_rows() -> st.SearchStrategy[list[list[str]]]:
    """Draw a hierarchy of the sensitive values with two levels above them."""
    numbers = st.tuples(*(st.integers(0, 2) for _ in NUMBERS))
    return numbers.map(lambda labels: [[v, f"label {n}", "any"] for v, n in zip(NUMBERS, labels, strict=True)])


def path_in(listed: Sequence[Sequence[str]]) -> Path:
    """Return the path of a value; a missing one goes straight to the top."""
    known = {row[0]: row for row in listed}
    return lambda value: [None, None, "any"] if value is None else known[value]


def rows_of(quasi: int, sensitive: int, most: int = 24) -> st.SearchStrategy[list[Row]]:
    cells = st.tuples(*(st.sampled_from(["x", "x", "y", None]) for _ in range(quasi)))
    values = st.tuples(*(st.sampled_from([*NUMBERS, "1", "1", None]) for _ in range(sensitive)))
    return st.lists(st.tuples(cells, values), min_size=1, max_size=most)


def grouped(rows: Sequence[Row], positions: Sequence[int]) -> dict[tuple[Value, ...], list[Row]]:
    found: dict[tuple[Value, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[0][position] for position in positions), []).append(row)
    return found


def groups_of(
    groups: Sequence[Sequence[Row]], names: Sequence[str], listed: Mapping[str, Sequence[Sequence[str]]] | None = None
) -> Groups:
    """Return groups of rows in the package's terms."""
    tallies = {}
    for position, name in enumerate(names):
        cells = [(number, row[1][position]) for number, group in enumerate(groups) for row in group]
        present = {cell for _, cell in cells}
        texts = sorted(cell for cell in present if cell is not None) + [None] * (None in present)
        hierarchy = ix.levels(listed[name]).compile(texts) if listed else None
        numbers = np.array([number for number, _ in cells], np.int64)
        codes = np.array([texts.index(cell) for _, cell in cells], np.int64)
        tallies[name] = Tally.of(numbers, codes, np.ones(len(cells), np.int64), texts, hierarchy)
    return Groups.of_sizes([len(group) for group in groups], tallies)


def values_of(*groups: Mapping[Value, int]) -> list[list[Row]]:
    """Return groups of rows of which only one sensitive column matters, by the counts of its values."""
    return [[((), (value,)) for value, count in group.items() for _ in range(count)] for group in groups]


# 1. Verdicts are those of the definitions.


@pytest.mark.slow
@given(st.data())
@examples(80)
def test_every_group_is_judged_by_the_definition(data):
    names = data.draw(st.sampled_from([["illness"], ["illness", "income"]]))
    listed = {name: data.draw(label_rows()) for name in names}
    rows = data.draw(rows_of(2, len(names)))
    groups = list(grouped(rows, [0, 1]).values())
    paths = {name: path_in(listed[name]) for name in names}
    counted = groups_of(groups, names, listed)
    for model in data.draw(st.lists(models(), min_size=4, max_size=8)):
        assert model.satisfied(counted).tolist() == satisfied(model, groups, names, paths), model


@pytest.mark.slow
@given(st.data())
@examples(15)
def test_verify_finds_what_the_definitions_say(data):
    """On raw tables: several quasi columns and quasi-identifiers, several sensitive columns, missing cells."""
    quasi = data.draw(st.integers(1, 3))
    names = data.draw(st.sampled_from([["illness"], ["illness", "income"]]))
    listed = {name: data.draw(label_rows()) for name in names}
    rows = data.draw(rows_of(quasi, len(names)))
    asked = data.draw(st.lists(models(), min_size=1, max_size=5))
    sets = {"neighbour": list(range(quasi)), "employer": [0]} if data.draw(st.booleans()) else {"all": range(quasi)}
    policy = ix.Policy(
        columns={f"q{n}": ix.quasi() for n in range(quasi)}
        | {name: ix.sensitive(ix.levels(listed[name])) for name in names},
        privacy=asked,
        quasi_identifiers={name: [f"q{n}" for n in columns] for name, columns in sets.items()},
    )
    columns, *checks = ix.verify(table_of(rows, names), policy).checks
    assert columns.passed
    expected = [
        all(satisfied(model, list(grouped(rows, positions).values()), names, {n: path_in(listed[n]) for n in names}))
        for positions in sets.values()
        for model in asked
    ]
    assert [check.passed for check in checks] == expected, [check.name for check in checks]


def table_of(rows: Sequence[Row], names: Sequence[str]) -> pa.Table:
    cells = {f"q{n}": [row[0][n] for row in rows] for n in range(len(rows[0][0]))}
    cells |= {name: [row[1][n] for row in rows] for n, name in enumerate(names)}
    return pa.table({name: pa.array(values, pa.string()) for name, values in cells.items()})


@pytest.mark.parametrize(
    ("model", "groups", "verdict"),
    [
        # Wong et al. 2006: half of a group may have a value at alpha = 0.5
        (ix.AlphaK(0.5, 2), [{"HIV": 1, "flu": 1}, {"HIV": 2, "flu": 1}, {"HIV": 1}], [True, False, False]),
        (ix.AlphaK({"HIV": 0.25}, 2), [{"HIV": 1, "flu": 3}, {"HIV": 1, "flu": 2}, {"flu": 9}], [True, False, True]),
        # Machanavajjhala et al. 2007: two equally frequent values have entropy log 2, any other two less
        (ix.LDiversity(2, "entropy"), [{"a": 3, "b": 3}, {"a": 4, "b": 3}, {"a": 8, "b": 1, "c": 1}], [1, 0, 0]),
        # r1 < c (r2 + r3): 3 < 2 · 2, but not 4 < 2 · 2
        (ix.LDiversity(2, "recursive", 2), [{"a": 3, "b": 1, "c": 1}, {"a": 4, "b": 1, "c": 1}, {"a": 4}], [1, 0, 0]),
        (ix.PSensitive(2, 3), [{"a": 2, "b": 1}, {"a": 1, "b": 1}, {"a": 3}], [True, False, False]),
        (ix.ProsecutorRisk(0.3), [{"a": 4}, {"a": 3}], [True, False]),
        (ix.AverageRisk(0.25), [{"a": 1}, {"a": 7}], [True, True]),
        (ix.AverageRisk(0.25), [{"a": 1}, {"a": 2}, {"a": 1}, {"a": 6}], [False, True, False, True]),
    ],
    ids=lambda given: said(given) if isinstance(given, ix.PrivacyModel) else "",
)
def test_verdicts_that_can_be_checked_by_hand(model, groups, verdict):
    rows = values_of(*groups)
    assert model.satisfied(groups_of(rows, ["illness"])).tolist() == list(map(bool, verdict))
    assert satisfied(model, rows) == list(map(bool, verdict))


def test_t_closeness_of_the_papers_salaries():
    """Li et al. 2007, section 4.1: salaries 3k to 11k; {3k,4k,5k} is 0.375 away, {6k,8k,11k} only 0.167."""
    table = {str(n): 1 for n in range(3, 12)}
    rows = values_of(table, {"3": 1, "4": 1, "5": 1}, {"6": 1, "8": 1, "11": 1})
    groups = groups_of(rows, ["illness"])
    tally = replace(groups.tallies["illness"], totals=np.ones(9, np.int64))
    distances = ix.TCloseness(0.5, "ordered").distances("illness", tally, groups)
    assert distances == pytest.approx([0, 0.375, 1 / 6])


def test_a_third_written_as_a_number_is_a_third():
    """Shares that differ by rounding only are equal."""
    groups = groups_of(values_of({"1": 1, "2": 1, "5": 1}, {"1": 2, "2": 2, "5": 1}), ["illness"])
    assert ix.AlphaK(1 / 3, 1).satisfied(groups).tolist() == [True, False]
    assert ix.AlphaK(1 / 3, 1).floor == ix.KAnonymity(3)
    assert ix.ProsecutorRisk(1 / 3).satisfied(groups).all()


def test_a_missing_value_is_a_value_like_any_other():
    groups = groups_of(values_of({"1": 2, None: 1}, {"1": 3}), ["illness"])
    assert ix.LDiversity(2).satisfied(groups).tolist() == [True, False]
    assert ix.AlphaK(0.7, 2).satisfied(groups).tolist() == [True, False]


def test_values_that_write_the_same_number_have_one_rank():
    rows = values_of({"1": 1, "1.0": 1}, {"1.0": 1, "2": 1}, {"1": 1, "2": 1})
    first, *others = ix.TCloseness(1, "ordered").distances(
        "income", groups_of(rows, ["income"]).tallies["income"], groups_of(rows, ["income"])
    )
    assert first == pytest.approx(1 / 3)  # 2 has a third of the table and is one step away
    assert others == pytest.approx([1 / 6, 1 / 6])


def test_dates_have_the_order_of_days():
    """As texts 9/1/2001 comes after 10/1/2001."""
    policy = ix.Policy(
        columns={"q": ix.quasi(), "day": ix.sensitive(ix.dates("year", format="%m/%d/%Y"))},
        privacy=[ix.TCloseness(0.5, "ordered"), ix.TCloseness(0.49, "ordered")],
    )
    days = ["9/1/2001", "9/2/2001", "10/1/2001", "9/1/2001", "9/2/2001", "10/1/2001"]
    # c, c, c against a, b, c: a third moves two steps of two, a third one of two
    table = pa.table({"q": ["x"] * 3 + ["y"] * 3, "day": [*days[:3], *[days[2]] * 3]})
    passed = [check.passed for check in ix.verify(table, policy).checks]
    assert passed == [True, True, True]
    far = pa.table({"q": ["x", "y"], "day": days[1:3]})
    assert [check.passed for check in ix.verify(far, policy).checks] == [True, True, False]


def test_values_that_are_not_released_have_no_rank():
    """The distance is the same whether or not it is known that a suppressed group had the value 5."""
    with_five = groups_of(values_of({"1": 1}, {"2": 1, "10": 2}, {"5": 1}), ["illness"])
    left = with_five.without(np.array([False, False, True]))
    known = groups_of(values_of({"1": 1}, {"2": 1, "10": 2}), ["illness"])
    model = ix.TCloseness(1, "ordered")
    expected = model.distances("illness", known.tallies["illness"], known)
    assert model.distances("illness", left.tallies["illness"], left)[:2] == pytest.approx(expected)


def test_a_model_is_not_satisfied_by_groups_whose_values_nobody_counted():
    for model in ALL_MODELS:
        if model.asks_sensitive:
            with pytest.raises(LookupError, match="sensitive"):
                model.satisfied(Groups.of_sizes([5]))


# 2. Claims about merging.

ALL_MODELS = [
    ix.KAnonymity(3),
    ix.AlphaK(0.5, 2),
    ix.AlphaK({"7001": 0.4, "7005": 0.2}, 2),
    ix.LDiversity(2),
    ix.LDiversity(2, "entropy"),
    ix.LDiversity(2, "recursive", 2.0),
    ix.TCloseness(0.4),
    ix.TCloseness(0.4, "ordered"),
    ix.TCloseness(0.4, "hierarchical", column="illness"),
    ix.BetaLikeness(1.0),
    ix.BetaLikeness(1.0, enhanced=True),
    ix.DeltaDisclosure(1.0),
    ix.PSensitive(2, 3),
    ix.ProsecutorRisk(0.3),
    ix.AverageRisk(0.3),
]


def test_no_model_is_left_out():
    """Three need more than a table: test_k_map.py, test_m_invariance.py and test_differential_privacy.py."""
    assert {model.name for model in ALL_MODELS} | {"k-map", "m-invariance", "differential-privacy"} == set(MODELS)


@pytest.mark.parametrize("model", ALL_MODELS, ids=said)
def test_every_model_keeps_its_promises(model):
    testing.check_model(model, examples=scaled(15))


@pytest.mark.slow
@given(st.data())
@examples(80)
def test_groups_may_be_merged_as_models_claim(data):
    """Any groups, not only those that a hierarchy joins."""
    model = data.draw(models())
    listed = {"illness": data.draw(label_rows())}
    counts = st.lists(st.integers(0, 4), min_size=4, max_size=4).filter(any)
    drawn = data.draw(st.lists(counts, min_size=1, max_size=8))
    groups = groups_of(values_of(*(dict(zip(NUMBERS, row, strict=True)) for row in drawn)), ["illness"], listed)
    into = np.array([data.draw(st.integers(0, len(drawn) - 1)) for _ in drawn])
    judged, floor = model.satisfied(groups), model.floor
    if floor is not None:
        assert floor.is_monotone
        assert (floor.satisfied(groups) | ~judged).all()
        assert _stays_satisfied(floor, groups, into)
    if model.is_monotone:
        assert _stays_satisfied(model, groups, into)
    is_out = np.zeros(len(groups), np.bool_)
    while (fails := ~model.satisfied(groups.without(is_out))).any():
        is_out |= fails
    assert model.is_monotone_unsuppressed
    assert model.satisfied(_merged(groups.without(is_out), into)).all()


def _merged(groups: Groups, into: np.ndarray) -> Groups:
    tallies = {name: tally.merge(into) for name, tally in groups.tallies.items()}
    return Groups.of_sizes(np.bincount(into, groups.sizes, len(groups)).astype(np.int64), tallies)


def _stays_satisfied(model: ix.PrivacyModel, groups: Groups, into: np.ndarray) -> bool:
    """Return whether every satisfied group lies in a satisfied one after merging."""
    return bool((model.satisfied(_merged(groups, into))[into] | ~model.satisfied(groups)).all())


NOT_MONOTONE = [
    # what is merged are always the first two groups
    (ix.AlphaK(0.5, 2), [{"1": 2}, {"1": 1, "2": 1}]),
    (ix.AlphaK({"1": 0.5}, 2), [{"1": 2}, {"1": 1, "2": 1}]),
    (ix.LDiversity(2, "entropy"), [{"1": 2}, {"1": 1, "2": 1}]),
    (ix.LDiversity(2, "recursive", 2.0), [{"1": 2}, {"1": 1, "2": 1}]),
    (ix.TCloseness(0.2), [{"1": 1, "2": 3}, {"2": 1}, {"1": 2}]),
    (ix.TCloseness(0.2, "ordered"), [{"1": 1}, {"2": 1}, {"2": 5}]),
    (ix.TCloseness(0.2, "hierarchical"), [{"1": 1, "2": 3}, {"2": 1}, {"1": 2}]),
    (ix.BetaLikeness(0.5), [{"2": 1}, {"1": 1, "2": 1}, {"2": 2}]),
    (ix.BetaLikeness(0.5, enhanced=True), [{"1": 1, "2": 3}, {"2": 1}, {"1": 3}]),
    (ix.DeltaDisclosure(0.5), [{"2": 1}, {"1": 1, "2": 2}, {"1": 2, "2": 1}]),
    (ix.AverageRisk(0.25), [{"1": 1}, {"1": 1}, {"1": 2}, {"1": 6}]),
]


@pytest.mark.parametrize(("model", "groups"), NOT_MONOTONE, ids=[said(model) for model, _ in NOT_MONOTONE])
def test_where_a_model_says_that_it_is_not_monotone_it_is_not(model, groups):
    """Merging makes more rows go, so that a search may not skip what lies above a node."""
    assert not model.is_monotone
    listed = {"illness": [[value, "any"] for value in NUMBERS]}
    counted = groups_of(values_of(*groups), ["illness"], listed)
    merged = _merged(counted, np.array([0, 0, *range(2, len(groups))]))
    assert rows_to_suppress(model, merged) > rows_to_suppress(model, counted)


def test_counterexamples_are_complete():
    claimed = {(m.name, getattr(m, "kind", None)) for m in ALL_MODELS if not m.is_monotone}
    assert {(m.name, getattr(m, "kind", None)) for m, _ in NOT_MONOTONE} == claimed


def rows_to_suppress(model: ix.PrivacyModel, groups: Groups) -> int:
    is_out = np.zeros(len(groups), np.bool_)
    while (fails := ~model.satisfied(groups.without(is_out))).any():
        is_out |= fails
    return int(groups.sizes[is_out].sum())


# 3. Searches find what brute force finds.


@dataclass(frozen=True)
class Task3:
    """A table of quasi columns, the sensitive values of its rows, and the models of its policy."""

    case: brute_force.Case
    values: tuple[tuple[Value, ...], ...]
    listed: Sequence[Sequence[str]]
    models: tuple[ix.PrivacyModel, ...]

    @property
    def policy(self) -> ix.Policy:
        columns = {"illness": ix.sensitive(ix.levels(self.listed))}
        return replace(brute_force.policy_of_case(self.case, columns=columns), privacy=self.models)

    @property
    def table(self) -> pa.Table:
        illness = pa.array([value for (value,) in self.values], pa.string())
        return brute_force.table_of_case(self.case).append_column("illness", illness)

    def counted(self) -> Task:
        with open_table(self.table) as rows:
            return Task.of(FrequencyList.count(encode_eligible(rows, self.policy), self.policy), self.policy)


@st.composite
def searches(draw: st.DrawFn, **options: Any) -> Task3:
    case = draw(brute_force.cases(most_rows=16, most_columns=3, **options))
    values = st.tuples(st.sampled_from([*NUMBERS, "1", None]))
    drawn = draw(st.lists(values, min_size=len(case.rows), max_size=len(case.rows)))
    model = draw(sensitive_models() | average_risks())
    more = draw(st.sampled_from([(), (ix.KAnonymity(2),), (ix.LDiversity(2, "entropy"),), (ix.TCloseness(0.5),)]))
    return Task3(case, tuple(drawn), draw(label_rows()), (model, *more))


def outcome(given: Task3, node: brute_force.Node) -> brute_force.Outcome:
    """Take the rows of failing groups out until none fails; models that ask about the whole table come last."""
    rows = brute_force.generalized(given.case, node)
    kept = list(range(len(rows)))
    for models in ([model for model in given.models if not model.asks_whole_table], given.models):
        before = None
        while kept != before:
            before = kept
            for columns in given.case.quasi_identifiers or (tuple(range(len(given.case.columns))),):
                kept = without_failing(given, rows, kept, columns, models)
    return brute_force.Outcome(given.case, node, rows, frozenset(range(len(rows))) - frozenset(kept))


def without_failing(
    given: Task3, rows: Sequence[Row], kept: Sequence[int], columns: Sequence[int], models: Sequence[ix.PrivacyModel]
) -> list[int]:
    """Return the kept rows whose group over these columns satisfies every model."""
    groups: dict[tuple[Value, ...], list[int]] = {}
    for number in kept:
        groups.setdefault(tuple(rows[number][column] for column in columns), []).append(number)
    cells = [[(rows[number], given.values[number]) for number in group] for group in groups.values()]
    verdicts = [satisfied(model, cells, paths={"illness": path_in(given.listed)}) for model in models]
    pairs = [pair for verdict in verdicts for pair in zip(groups.values(), verdict, strict=True)]
    failing = {number for group, holds in pairs if not holds for number in group}
    return [number for number in kept if number not in failing]


def passing(given: Task3) -> dict[brute_force.Node, brute_force.Outcome]:
    found = (outcome(given, node) for node in given.case.nodes())
    return {one.node: one for one in found if one.passes}


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True], ids=["one quasi-identifier", "two quasi-identifiers"])
@pytest.mark.parametrize("measure", ["precision", "discernibility"])
def test_lattice_finds_the_optimum(measure, several):
    figure, more_is_better = brute_force.MEASURES[measure]

    @given(searches(several=several))
    @examples(25)
    def check(given):
        found = passing(given)
        try:
            recoding = ix.Lattice(measure=measure).run(given.counted(), Watch())
        except ix.InfeasibleError:
            assert not found
            return
        losses = {node: figure(one) * (-1 if more_is_better else 1) for node, one in found.items()}
        best = [node for node, loss in losses.items() if loss <= min(losses.values()) + 1e-9]
        expected = min(best, key=lambda node: (len(found[node].suppressed), sum(node), node))
        assert recoding.node == expected
        assert recoding.suppressed_rows == len(found[expected].suppressed)
        assert recoding.is_proven

    check()


@pytest.mark.slow
@given(searches())
@examples(25, opens_tables=True)
def test_solutions_are_all_minimal_nodes(given):
    found = passing(given)
    try:
        solutions = ix.solutions(given.table, given.policy)
    except ix.InfeasibleError:
        solutions = []
    assert {one.vector for one in solutions} == brute_force.minimal(list(found))
    assert all(one.suppressed == len(found[one.vector].suppressed) for one in solutions)


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True], ids=["one quasi-identifier", "two quasi-identifiers"])
@pytest.mark.parametrize("algorithm", [ix.Lattice(), ix.Samarati(), ix.MinGen(), ix.Datafly()], ids=lambda a: a.name)
def test_what_is_released_verifies(algorithm, several):
    @given(searches(several=several))
    @examples(6)
    def check(given):
        try:
            release = ix.anonymize(given.table, given.policy, algorithm=algorithm)
        except ix.InfeasibleError:
            assume(False)
        with release:
            verdict = release.verify(given.table)
            assert verdict.passed, str(verdict)

    check()


@pytest.mark.slow
@given(searches())
@examples(25)
def test_samarati_finds_the_least_height(given):
    found = passing(given)
    try:
        recoding = ix.Samarati().run(given.counted(), Watch())
    except ix.InfeasibleError:
        assert not found
        return
    assert recoding.node in found
    assert sum(recoding.node) == min(map(sum, found))
    assert recoding.suppressed_rows == len(found[recoding.node].suppressed)


@pytest.mark.slow
@given(searches(), st.integers(0, 16))
@examples(25)
def test_a_count_that_stops_early_is_right_about_too_many(given, at_most):
    task = given.counted()
    for node in given.case.nodes():
        groups, _ = task.frequencies.roll_up(node)
        full, short = task.unsafe(groups), task.unsafe(groups, at_most)
        assert not (short & ~full).any()
        if groups.sizes[full].sum() <= at_most:
            assert (short == full).all()
        else:
            assert groups.sizes[short].sum() > at_most


@pytest.mark.slow
@given(searches(), st.randoms(use_true_random=False), st.sampled_from([1, 20, 1000]))
@examples(25)
def test_stairs_give_the_groups_of_each_node_in_any_order(given, random, room):
    task = given.counted()
    stairs = Stairs(GroupCounter(task), task.frequencies.heights, room)
    nodes = list(given.case.nodes())
    random.shuffle(nodes)
    for node in nodes:
        one, other = stairs.outcome(node), task.recoding(task.frequencies.roll_up(node)[0])
        assert one.node == node
        assert one.suppressed_rows == other.suppressed_rows
        assert sorted(one.released_sizes.tolist()) == sorted(other.released_sizes.tolist())  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_proof_agrees_with_the_search_where_one_model_changes_what_another_sees():
    """Two of six rows stand alone; without them a group of one value only is no longer close to the table."""
    policy = ix.Policy(
        columns={"q": ix.quasi(), "illness": ix.sensitive()},
        privacy=[ix.TCloseness(0.3), ix.KAnonymity(2)],
        max_suppression=1.0,
    )
    table = pa.table({"q": list("aabbcd"), "illness": list("121111")})
    with ix.anonymize(table, policy) as release:
        assert release.suppressed == 2
        assert release.verify(table).passed


# 4. What cannot be, and what is written wrongly, is refused with its reason.

ROWS = [
    (ward, str(30 + number), illness, income)
    for ward, cells in {
        "north": [("HIV", "10"), ("HIV", "20"), ("flu", "30")],
        "south": [("HIV", "10"), ("HIV", "20"), ("fever", "20")],
        "west": [("HIV", "10"), ("HIV", "20"), ("flu", "30"), ("flu", "10")],
    }.items()
    for number, (illness, income) in enumerate(cells)
]
HEAD = """
version = 1
[columns]
ward = { role = "quasi", hierarchy = { suppress = true } }
age = { role = "quasi", hierarchy = { intervals = [10, 20] } }
illness = { role = "sensitive" }
income = { role = "sensitive" }
[[privacy]]
"""


@pytest.fixture
def ward(tmp_path, monkeypatch):
    """A folder with a table in which six of ten rows have the same illness, which is also where commands run."""
    monkeypatch.chdir(tmp_path)
    with open("ward.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("ward", "age", "illness", "income"), *ROWS])
    return tmp_path


def run(command: str, policy: str, *more: str):
    """Run check or anonymize on the ward with a policy of these words."""
    with open("policy.toml", "w", encoding="utf-8") as file:
        file.write(policy)
    output = ["-o", "out"] if command == "anonymize" else []
    return CliRunner().invoke(app, [command, "policy.toml", "ward.csv", *output, *more])


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("command", ["check", "anonymize"])
@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (
            '"alpha-k"\nalpha = 0.5\nk = 2',
            "column 'illness': one value makes up 60 % of the rows, so alpha = 0.5 ",
        ),
        ('"alpha-k"\nalpha = { HIV = 0.59 }\nk = 2', "makes up 60 % of the rows, so alpha = 0.59 cannot hold"),
        ('"l-diversity"\nl = 4\ncolumn = "illness"', "column 'illness' has 3 different values"),
        (
            '"l-diversity"\nl = 3\nkind = "entropy"',
            "column 'illness': the values of all rows are spread no better",
        ),
        ('"l-diversity"\nl = 2\nkind = "recursive"\nc = 1.5', "the most frequent value occurs 1.5 times as often as"),
        ('"p-sensitive"\np = 4\nk = 2', "fewer than p = 4"),
        ('"prosecutor-risk"\nat_most = 0.05', "fewer than k = 20"),
        ('"average-risk"\nat_most = 0.05', "an average risk of 0.1, above 0.05"),
    ],
)
def test_policies_that_no_release_can_satisfy_leave_with_3_and_the_reason(ward, command, model, reason):
    result = run(command, f"{HEAD}model = {model}\n")
    assert result.exit_code == 3, result.output
    assert reason in words(result.output)
    assert "HIV" not in result.output
    assert not (ward / "out").exists()


def test_a_reason_is_in_the_document_too(ward):
    result = run("check", f'{HEAD}model = "l-diversity"\nl = 4\n', "--json")
    assert result.exit_code == 3
    assert "fewer than l = 4" in json.dumps(json.loads(result.stdout))


@pytest.mark.slow
def test_where_generalization_does_not_help_the_reason_says_so(ward):
    """Distances from the table are 0 at the top, so these models fail only where columns cannot climb."""
    policy = f'{HEAD}model = "t-closeness"\nt = 0.01\n'.replace("{ suppress = true }", "{ keep = true }")
    for command in ("check", "anonymize"):
        result = run(command, policy)
        assert result.exit_code == 3, result.output
        assert "give 'ward' a hierarchy" in words(result.output)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["check", "anonymize"])
@pytest.mark.parametrize(
    ("model", "mistakes"),
    [
        ('"alpha-k"\nalpha = 0\nk = 0', ["privacy[0]: k must be a whole number of at least 1, got 0"]),
        ('"alpha-k"\nalpha = 1.5\nk = 2', ["privacy[0]: alpha must lie above 0 and be at most 1, got 1.5"]),
        ('"alpha-k"\nalpha = "half"\nk = 2', ["privacy[0].alpha: input should be a valid number, got 'half'"]),
        ('"alpha-k"\nalpha = { HIV = "x" }\nk = 2', ["privacy[0].alpha.HIV: input should be a valid number"]),
        ('"alpha-k"\nalpha = {}\nk = 2', ["privacy[0]: alpha must be a share, or give some values a share of their"]),
        ('"alpha-k"\nk = 2.0', ["privacy[0].alpha: is required", "privacy[0].k: input should be a valid integer"]),
        ('"l-diversity"\nl = 0', ["privacy[0]: l must be a whole number of at least 1"]),
        ('"l-diversity"\nl = 2\nkind = "most"', ["privacy[0].kind: input should be 'distinct', 'entropy' or 'recurs"]),
        ('"l-diversity"\nl = 2\nkind = "recursive"', ["privacy[0]: c must be a number above 0, got None"]),
        ('"l-diversity"\nl = 2\nc = 3', ["privacy[0]: c belongs to kind = 'recursive', not to 'distinct'"]),
        ('"l-diversity"\nl = 2\ncolumn = "age"', ["l-diversity asks about 'age', which is not a sensitive column"]),
        ('"t-closeness"\nt = 0', ["privacy[0]: t must lie above 0 and be at most 1, got 0.0"]),
        ('"t-closeness"\nt = 0.2\ndistance = "near"', ["privacy[0].distance: input should be 'equal', 'ordered' or"]),
        ('"t-closeness"\nt = 0.2\ndistance = "ordered"', ["column 'illness': t-closeness by ordered distance needs"]),
        ('"t-closeness"\nt = 0.2\ndistance = "hierarchical"', ["column 'illness': t-closeness by hierarchical dist"]),
        ('"beta-likeness"\nbeta = inf', ["privacy[0]: beta must be a number above 0, got inf"]),
        ('"beta-likeness"\nbeta = 1\nenhanced = 1', ["privacy[0].enhanced: input should be a valid boolean"]),
        ('"delta-disclosure"\ndelta = -1', ["privacy[0]: delta must be a number above 0, got -1.0"]),
        ('"p-sensitive"\np = 2', ["privacy[0].k: is required"]),
        ('"prosecutor-risk"\nat_most = 0', ["privacy[0]: at_most must lie above 0 and be at most 1, got 0.0"]),
        ('"average-risk"\nat_most = nan', ["privacy[0]: at_most must lie above 0 and be at most 1, got nan"]),
        ('"average-risk"\nat_most = 0.2\ncolumn = "income"', ["privacy[0].column: is not known here"]),
    ],
)
def test_wrong_parameters_leave_with_2_and_say_where(ward, command, model, mistakes):
    result = run(command, f"{HEAD}model = {model}\n")
    assert result.exit_code == 2, result.output
    assert [mistake for mistake in mistakes if mistake not in words(result.output)] == []
    assert not (ward / "out").exists()


@pytest.mark.parametrize("command", ["check", "anonymize"])
@pytest.mark.parametrize("model", [model for model in ALL_MODELS if model.asks_sensitive], ids=said)
def test_a_model_about_sensitive_values_needs_a_sensitive_column(ward, command, model):
    with pytest.raises(ix.PolicyError, match=f"{model.name} needs a sensitive column"):
        ix.Policy(columns={"ward": ix.quasi()}, privacy=[model])
    entry = "\n".join(f"{key} = {toml(value)}" for key, value in model.describe().items())
    result = run(command, HEAD.replace('"sensitive"', '"other"') + entry)
    assert result.exit_code == 2
    assert f"{model.name} needs a sensitive column" in words(result.output)


def toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {share}" for key, share in value.items()) + " }"
    return json.dumps(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ix.AlphaK({1: 0.5}, 2),
        lambda: ix.AlphaK({"HIV": 0}, 2),
        lambda: ix.AlphaK(True, 2),
        lambda: ix.AlphaK(0.5, True),
        lambda: ix.AlphaK(0.5, 2.0),
        lambda: ix.LDiversity("2"),
        lambda: ix.LDiversity(2, "recursive", math.nan),
        lambda: ix.TCloseness(1.1),
        lambda: ix.TCloseness(0.5, "close"),
        lambda: ix.BetaLikeness(0),
        lambda: ix.DeltaDisclosure(math.inf),
        lambda: ix.PSensitive(0, 2),
        lambda: ix.PSensitive(2, 0),
        lambda: ix.ProsecutorRisk(1.01),
        lambda: ix.AverageRisk("low"),
    ],
)
def test_wrong_parameters_are_refused_in_python_as_well(make):
    with pytest.raises(ix.PolicyError):
        make()


@functools.cache
def policy_validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(ix.policy_schema())


@pytest.mark.slow
@pytest.mark.parametrize("model", ALL_MODELS, ids=said)
def test_every_model_can_be_written_in_a_policy_file(model):
    sensitive = ix.sensitive(ix.tree({"any": {"viral": ["HIV", "flu"], "other": ["fever"]}}))
    policy = ix.Policy(columns={"ward": ix.quasi(), "illness": sensitive}, privacy=[model])
    text = ix.policy_toml(policy)
    again = ix.parse_policy(text)
    assert again == policy
    assert again.columns["illness"].hierarchy == sensitive.hierarchy
    content = {"version": 1, "columns": {"ward": {"role": "quasi"}}, "privacy": [model.describe()]}
    schema = policy_validator()
    schema.validate(content)
    with pytest.raises(jsonschema.ValidationError):
        schema.validate(content | {"privacy": [model.describe() | {"kay": 1}]})


@pytest.mark.slow
def test_a_release_by_hierarchical_distance_from_a_policy_file(ward):
    """A hierarchy of a sensitive column says which values are close; the column itself is released as it is."""
    policy = """
version = 1
[columns]
ward = { role = "quasi", hierarchy = { suppress = true } }
age = { role = "other" }
illness = { role = "sensitive", hierarchy = { tree = { any = { viral = ["HIV", "flu"], other = ["fever"] } } } }
income = { role = "other" }
[[privacy]]
model = "t-closeness"
distance = "hierarchical"
"""
    # the south moves 1/3 − 1/10 from fever to flu, across the top, and 2/3 − 6/10 from HIV to flu, half the way
    for t, level in ((0.2667, 0), (0.2666, 1)):
        result = run("anonymize", f"{policy}t = {t}\n", "--replace", "--json")
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["node"] == {"ward": level}
    (table,) = (place for place in (ward / "out").iterdir() if place.suffix == ".csv")
    with table.open(encoding="utf-8", newline="") as file:
        assert Counter(row["illness"] for row in csv.DictReader(file)) == Counter(row[2] for row in ROWS)


@pytest.mark.slow
def test_suppression_may_do_what_generalization_cannot():
    """Six of ten rows have HIV; without some of them half is possible."""
    policy = ix.Policy(
        columns={"ward": ix.quasi(ix.suppress()), "illness": ix.sensitive()},
        privacy=[ix.AlphaK(0.5, 2)],
        max_suppression=0.6,
    )
    table = pa.table({"ward": [row[0] for row in ROWS], "illness": [row[2] for row in ROWS]})
    with ix.anonymize(table, policy) as release:
        assert release.node == {"ward": 0}
        assert release.suppressed == 6  # north and south, two thirds of each
        assert release.verify(table).passed


@pytest.mark.parametrize("level", [-0.1, 1.5])
def test_an_anonymity_level_is_a_share(level):
    with pytest.raises(ix.PolicyError, match="between 0 and 1"):
        ix.KAnonymity.at_level(level, 54_805)
