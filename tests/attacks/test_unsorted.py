"""Unsorted matching: Sweeney's Example 5, orders that tell something, and that ours tell nothing."""

from __future__ import annotations

import math
import os
from itertools import permutations
from statistics import mean

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.papers import FIGURE_3, FIGURE_3_GT1, FIGURE_3_GT2, FIGURE_3_HIERARCHIES, policy_of, table_of
from helpers.profiles import examples
from indistinct.attacks import run
from indistinct.attacks.complementary import chains
from indistinct.attacks.order import row_order as order
from indistinct.attacks.order.unsorted import unsorted

POLICY = policy_of(FIGURE_3_HIERARCHIES, ("Race", "ZIP"), 2)
GT1, GT2, PT = (table_of(("Race", "ZIP"), rows) for rows in (FIGURE_3_GT1, FIGURE_3_GT2, FIGURE_3))


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    return table.take(np.random.default_rng(seed).permutation(len(table)))


def test_example_5_discloses_all_twelve_rows():
    report = unsorted(GT2, GT1, POLICY)
    assert (report.agreeing, report.expected, report.disclosed) == (12, 6.0, 12)
    assert report.is_telling
    assert "12 rows disclosed" in report.summary
    exact = math.factorial(6) ** 2 / math.factorial(12)
    assert report.signals[0].chance == pytest.approx(exact, abs=0.001)


def test_example_5_against_the_original_discloses_all_twelve_rows():
    report = unsorted(GT2, PT, POLICY)
    assert (report.agreeing, report.expected, report.disclosed) == (12, 2.0, 12)


@pytest.mark.parametrize("seed", range(6))
def test_in_random_order_nothing_is_disclosed(seed):
    report = unsorted(shuffled(GT2, seed), shuffled(GT1, seed + 100), POLICY)
    assert (report.disclosed, report.is_telling) == (0, False)
    assert "tells nothing" in report.summary


@pytest.mark.parametrize("fixed", [3, 5, 7])
def test_few_agreements_are_as_likely_as_fixed_points_of_random_orders(fixed):
    rows = 600  # beyond what is shuffled; all different, so one row is expected where it was
    everyone, ones = np.arange(rows), np.ones(rows, np.int64)
    orders = np.append(np.arange(fixed), np.roll(np.arange(fixed, rows), 1))
    found = order.agreement_by_position(everyone, orders, order.Agreement(everyone, everyone, ones, ones))
    derangements = [1, 0]
    for number in range(2, 40):
        derangements.append((number - 1) * (derangements[-1] + derangements[-2]))
    fewer = sum(derangements[39 - hit] / (math.factorial(hit) * math.factorial(39 - hit)) for hit in range(fixed))
    assert (found.found, found.expected) == (fixed, pytest.approx(1.0))
    assert found.chance == pytest.approx(1 - fewer, rel=0.01)  # exact for 39 rows, and nearly so for any number


# Larger tables: the chances come from the normal distribution.

ROWS = 2_000
PEOPLE = ix.Policy(
    columns={"age": ix.quasi(ix.intervals(10, 20)), "zip": ix.quasi(ix.prefix(4)), "ill": ix.sensitive()},
    privacy=[ix.KAnonymity(5)],
)


@pytest.fixture(scope="module")
def private():
    draw = np.random.default_rng(7).integers
    return pa.table(
        {
            "age": [str(age) for age in draw(20, 80, ROWS)],
            "zip": [f"{code:04}" for code in draw(0, 300, ROWS)],
            "ill": [f"illness {number}" for number in draw(0, 9, ROWS)],
        }
    )


def generalized(table):
    """Generalize row by row, in the order of the rows."""
    ages = [int(age) // 20 * 20 for age in table["age"].to_pylist()]
    return pa.table(
        {
            "age": [f"{age}-{age + 19}" for age in ages],
            "zip": [code[:2] + "**" for code in table["zip"].to_pylist()],
            "ill": table["ill"],
        }
    )


@pytest.mark.slow
def test_our_own_order_tells_nothing(private, monkeypatch):
    """The secure generator is replaced by one with a seed, so that chance cannot fail the test once in a hundred."""
    monkeypatch.setattr(os, "urandom", np.random.default_rng(3).bytes)
    with ix.anonymize(private, PEOPLE) as one, ix.anonymize(private, PEOPLE) as other:
        against_the_original = unsorted(one, private, PEOPLE)
        against_another = unsorted(one, other, PEOPLE)
    assert not against_the_original.is_telling, str(against_the_original)
    assert not against_another.is_telling, str(against_another)


def test_the_order_of_the_source_is_found(private):
    report = unsorted(generalized(private), private, PEOPLE)
    assert report.agreeing == ROWS
    assert report.disclosed > ROWS / 2
    assert report.signals[0].chance < 1e-100


@pytest.mark.slow
def test_a_run_of_all_attacks_tells_how_seldom_chance_would_do_it(private):
    found = run(generalized(private), PEOPLE, original=private)
    (outcome,) = [outcome for outcome in found.outcomes if outcome.attack == "unsorted"]
    assert outcome.severity == "broken"
    assert "less than once in a million tables" in outcome.findings[0]


def test_tables_with_too_many_pairs_leave_the_other_attacks_alone(private, monkeypatch):
    monkeypatch.setattr(chains, "MOST_PAIRS", 1)
    earlier = {"before": generalized(private)}
    found = run(generalized(private), PEOPLE, earlier=earlier, original=private)
    assert {"downcoding", "homogeneity"} <= {outcome.attack for outcome in found.outcomes}
    for attack in ("complementary", "unsorted"):
        assert "pairs of entries that agree" in found.not_run[attack]


def test_the_order_of_the_source_is_found_behind_removed_rows(private):
    """A few rows less, and no position is right any more; but rows still stand near where they came from."""
    left = generalized(private).slice(100)
    report = unsorted(left, private, PEOPLE)
    assert "correlation" in {signal.name for signal in report.signals if signal.is_telling}
    assert any("shifted" in note for note in report.notes)


@pytest.mark.parametrize("column", ["age", "zip", "ill"])
def test_a_sorted_column_is_found(private, column):
    mixed = generalized(private).take(np.random.default_rng(1).permutation(ROWS))
    report = unsorted(mixed.sort_by(column), private, PEOPLE)
    assert f"neighbours in {column}" in {signal.name for signal in report.signals if signal.is_telling}
    assert report.disclosed == 0


def test_a_report_tells_itself_as_text_and_json():
    report = unsorted(GT2, GT1, POLICY)
    content = report.to_dict()
    assert content["is_telling"]
    assert content["signals"][0]["name"] == "position"
    assert "random order" in str(report)


def test_a_significance_that_is_none_is_refused():
    with pytest.raises(ix.PolicyError, match="between 0 and 1"):
        unsorted(GT2, GT1, POLICY, significance=1)


@pytest.mark.slow
def test_empty_tables_tell_nothing():
    empty = table_of(("Race", "ZIP"), [])
    assert not unsorted(empty, empty, POLICY).is_telling
    assert not unsorted(empty, GT1, POLICY).is_telling


# The statistics against all orders of a few rows.


@examples(30)
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=5),
    st.lists(st.integers(0, 2), min_size=1, max_size=5),
    st.sets(st.tuples(st.integers(0, 2), st.integers(0, 2))),
)
def test_the_expected_agreement_is_the_mean_over_all_orders(ours, theirs, pairs):
    longest = max(len(ours), len(theirs))
    padded = [*ours, *[None] * (longest - len(ours))]
    counts = [
        sum((mine, other) in pairs for mine, other in zip(mixed, theirs, strict=False))
        for mixed in permutations(padded)
    ]
    left, right = (np.array([pair[side] for pair in sorted(pairs)], np.int64) for side in (0, 1))
    sizes = [np.bincount(kinds, minlength=3) for kinds in (ours, theirs)]
    found = order.agreement_by_position(np.array(ours), np.array(theirs), order.Agreement(left, right, *sizes))
    assert found.expected == pytest.approx(mean(counts))
    assert found.found == sum(pair in pairs for pair in zip(ours, theirs, strict=False))
    as_much = mean(count >= found.found for count in counts)
    assert found.chance == pytest.approx(as_much, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_shuffling_and_the_normal_distribution_agree(seed, monkeypatch):
    generator = np.random.default_rng(seed)
    kinds = generator.integers(0, 4, 300), generator.integers(0, 5, 300)
    left, right = np.nonzero(generator.random((4, 5)) < 0.4)
    agreement = order.Agreement(
        left, right, *(np.bincount(one, minlength=n) for one, n in zip(kinds, (4, 5), strict=True))
    )
    ranks = generator.integers(0, 30, 300)
    places = generator.random(300)

    def chances():
        return [
            order.agreement_by_position(*kinds, agreement).chance,
            order.likeness_of_neighbours(ranks).chance,
            order.correlation_with_position(places).chance,
        ]

    by_shuffling = chances()
    monkeypatch.setattr(order, "SMALL", 0)
    assert chances() == pytest.approx(by_shuffling, abs=0.06)


@pytest.mark.parametrize("unreadable", ["missing", "suppress"])
def test_the_original_is_read_as_the_policy_declares_its_cells(unreadable: str) -> None:
    """Codes that mean missing, and cells that a hierarchy cannot read, stand in the original and not in the release."""
    grades = [*map(str, range(9, 13)), "other", "99"] * 10
    private = pa.table({"grade": grades, "ill": ["flu", "gout", "rash"] * 20})
    column = ix.quasi(ix.intervals(2), missing=["99"], unreadable=unreadable)
    policy = ix.Policy({"grade": column, "ill": ix.sensitive()}, [ix.KAnonymity(5)], max_suppression=0.5)
    with ix.anonymize(private, policy) as release:
        report = ix.attacks.unsorted(release, private, policy)
        assert report.disclosed == 0
        found = ix.attacks.run(release, policy, original=private)
    assert "unsorted" in [outcome.attack for outcome in found.outcomes]
