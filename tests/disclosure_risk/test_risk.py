"""risk(): compared with counting by hand, with simulated populations, and with figures of the literature."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers.profiles import examples
from indistinct.cli import app
from indistinct.disclosure_risk.individual_risk import individual_risk
from indistinct.disclosure_risk.population_estimates import (
    Histogram,
    estimate,
    pitman,
    shlosser,
    uniques_of_model,
    zayatz,
)
from indistinct.profiling import IDENTIFIERS, identifiers_like

COLUMNS = ("a", "b", "c", "d")


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[str | None, ...]]:
    cells = st.sampled_from(["x", "y", "z", None])
    return draw(st.lists(st.tuples(cells, cells, cells, cells), min_size=1, max_size=30))


def as_table(rows: list[tuple[str | None, ...]]) -> pa.Table:
    return pa.table({name: pa.array([row[at] for row in rows], pa.string()) for at, name in enumerate(COLUMNS)})


# Brute force


@pytest.mark.slow
@examples(60, opens_tables=True)
@given(tables(), st.sampled_from([0.2, 0.34, 0.5, 1.0]))
def test_prosecutor_and_marketer_risk_are_those_of_counting(rows, threshold):
    found = ix.risk(as_table(rows), COLUMNS, threshold=threshold, most=0)
    sizes = Counter(rows)
    chances = [1 / sizes[row] for row in rows]
    assert found.rows == len(rows)
    assert found.sizes == dict(sorted(Counter(sizes.values()).items()))
    assert found.uniques == sum(sizes[row] == 1 for row in rows)
    assert found.prosecutor.highest == max(chances)
    assert found.prosecutor.average == pytest.approx(sum(chances) / len(rows))
    assert found.prosecutor.at_risk == pytest.approx(sum(chance > threshold for chance in chances) / len(rows))
    assert found.marketer == pytest.approx(len(sizes) / len(rows))
    assert found.journalist is None


@pytest.mark.slow
@examples(60, opens_tables=True)
@given(tables(), tables())
def test_with_a_population_people_are_counted_there(rows, others):
    full = [tuple("x" if cell is None else cell for cell in row) for row in rows]
    people = full + [tuple("y" if cell is None else cell for cell in row) for row in others]
    found = ix.risk(as_table(full), COLUMNS, population=as_table(people), most=0)
    chances = [1 / people.count(row) for row in full]
    assert found.journalist is not None
    assert found.journalist.highest == pytest.approx(max(chances))
    assert found.journalist.at_risk == pytest.approx(sum(chance > 0.2 for chance in chances) / len(rows))
    groups = set(full)
    average = max(sum(chances) / len(rows), len(groups) / sum(people.count(row) for row in groups))
    assert found.journalist.average == pytest.approx(average)
    assert found.marketer == pytest.approx(sum(chances) / len(rows))
    assert not found.is_estimated
    assert found.notes == ()


def brute_force_combinations(rows, share, most):
    """Return all minimal sets of columns by checking every set, and every subset of it."""

    def alone(columns):
        counts = Counter(tuple(row[at] for at in columns) for row in rows)
        return sum(number == 1 for number in counts.values())

    enough = {
        columns
        for size in range(1, most + 1)
        for columns in combinations(range(len(COLUMNS)), size)
        if alone(columns) >= share * len(rows) - 1e-9 and alone(columns) >= 1
    }
    return {
        (tuple(COLUMNS[at] for at in columns), alone(columns))
        for columns in enough
        if not any(set(other) < set(columns) for other in enough)
    }


@pytest.mark.slow
@examples(80, opens_tables=True)
@given(tables(), st.integers(1, 4), st.sampled_from([0.3, 0.5, 0.8, 0.95]))
def test_columns_that_identify_are_those_of_trying_all(rows, most, nearly):
    found = ix.risk(as_table(rows), COLUMNS, most=most, nearly=nearly)
    assert {(one.columns, one.alone) for one in found.unique} == brute_force_combinations(rows, 1.0, most)
    close = {(one.columns, one.alone) for one in found.nearly_unique}
    assert close == {one for one in brute_force_combinations(rows, nearly, most) if one[1] < len(rows)}


# Individual risk


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (0.01, (0.046516871, 0.009631143, 0.004953221)),
        (0.1, (0.255842788, 0.082684135, 0.046368429)),
        (0.3, (0.515988345, 0.207433567, 0.125385614)),
        (0.7, (0.832241536, 0.391436416, 0.253315029)),
    ],
)
def test_individual_risk_has_the_figures_of_benedetti_and_franconi(p, expected):
    """Computed apart from this code, by closed forms and by summing up."""
    sizes = np.array([1, 2, 3])
    assert individual_risk(sizes, sizes / p) == pytest.approx(expected, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("f", "p"), list(product([1, 2, 7, 49, 50, 120], [0.02, 0.3, 0.49, 0.5, 0.9, 1.0])))
def test_individual_risk_is_the_mean_of_the_negative_binomial(f, p):
    chance, mean, size = p**f, 0.0, f
    logs = f * math.log(p)
    while size < f + 60 / p * (1 + f):
        mean += math.exp(logs) / size
        logs += math.log(size) - math.log(size - f + 1) + (math.log(1 - p) if p < 1 else -math.inf)
        size += 1
        if p == 1.0:
            break
    assert chance > 0 or f > 100
    assert individual_risk(np.array([f]), np.array([f / p]))[0] == pytest.approx(mean, rel=1e-9)


def test_weights_say_for_how_many_people_a_row_stands():
    table = pa.table({"zip": ["1", "1", "2"], "weight": ["10", "30", "5"]})
    found = ix.risk(table, ["zip"], weights="weight", most=0)
    chances = individual_risk(np.array([2, 1]), np.array([40.0, 5.0]))
    assert found.journalist is not None
    assert found.journalist.highest == pytest.approx(max(chances))
    assert found.marketer == pytest.approx((2 * chances[0] + chances[1]) / 3)
    with pytest.raises(ix.PolicyError, match="number above 0"):
        ix.risk(pa.table({"zip": ["1"], "weight": ["many"]}), ["zip"], weights="weight")


# Estimates of the population


def simulated(people: int, cells: int, fraction: float, seed: int) -> tuple[dict[int, int], int, int]:
    """Draw a population over cells of different weight and a sample of it: groups by size, uniques, groups in all."""
    rng = np.random.default_rng(seed)
    weights = rng.gamma(0.5, 1, cells)
    drawn = rng.choice(cells, people, p=weights / weights.sum())
    counts = np.bincount(drawn)
    sample = np.bincount(drawn[rng.permutation(people)[: int(people * fraction)]])
    sizes, numbers = np.unique(sample[sample > 0], return_counts=True)
    return dict(zip(sizes.tolist(), numbers.tolist(), strict=True)), int((counts == 1).sum()), int((counts > 0).sum())


@pytest.mark.parametrize(("fraction", "chosen"), [(0.05, "pitman"), (0.3, "snb")])
def test_the_chosen_estimate_comes_near_a_population_that_is_known(fraction, chosen):
    sizes, uniques, _ = simulated(60_000, 20_000, fraction, seed=3)
    found = estimate(sizes, 60_000)
    assert found.chosen == chosen
    assert uniques / 2 < found.population_uniques < 2 * uniques
    naive = sizes[1] / fraction  # as if every row alone in the sample were alone in the population
    assert abs(found.population_uniques - uniques) < abs(naive - uniques) / 2


def test_shlossers_estimator_counts_the_groups_of_the_population():
    sizes, _, groups = simulated(60_000, 20_000, 0.3, seed=3)
    assert shlosser(Histogram.of(sizes, 60_000)) == pytest.approx(groups, rel=0.1)


def test_zayatz_is_bayes_rule_worked_out_by_hand():
    """Half of 4 people are drawn: groups of 1 and 1. Each is drawn once with 1/2, and 2 of 4 with 2/3 · 1."""
    assert zayatz(Histogram.of({1: 2}, 4)) == pytest.approx(4.0)
    sample = Histogram.of({1: 1, 2: 1}, 6)  # a group of 2 gives one of 3 drawn of 6 with 2 · C(4, 2) / C(6, 3) = 0.6
    chance = (0.5 * 0.5) / (0.5 * 0.5 + 0.5 * 0.6)
    assert zayatz(sample) == pytest.approx(1 * chance / 0.5)


@pytest.mark.slow
def test_pitmans_parameters_are_those_of_greatest_likelihood():
    """The likelihood is written out as products, and no point of a grid beats the answer."""
    sizes = {1: 30, 2: 10, 3: 4, 7: 1}
    groups, rows = sum(sizes.values()), sum(size * number for size, number in sizes.items())

    def likelihood(theta: float, alpha: float) -> float:
        found = sum(math.log(theta + place * alpha) for place in range(1, groups))
        found -= sum(math.log(theta + place) for place in range(1, rows))
        for size, number in sizes.items():
            found += number * sum(math.log(place - alpha) for place in range(1, size))
        return found

    def uniques(theta: float, alpha: float, people: int) -> float:
        """One more person is alone, and stays alone, with the chances of Pitman's urn."""
        alone = 1.0
        for place in range(1, people):
            alone *= (theta + alpha + place - 1) / (theta + place)
        return people * alone

    grid = [(theta, alpha) for theta in np.geomspace(0.1, 1000, 120) for alpha in np.linspace(0.01, 0.99, 99)]
    best = max(grid, key=lambda point: likelihood(*point))
    found = pitman(Histogram.of(sizes, 5_000))
    assert found == pytest.approx(uniques(*best, 5_000), rel=0.05)


@pytest.mark.parametrize(
    ("alpha", "beta", "fraction"), [(0.7, 0.2, 0.25), (2, 0.5, 0.25), (0.3, 0.05, 0.3), (5, 0.8, 0.15)]
)
def test_the_slide_negative_binomial_model_is_found_again(alpha, beta, fraction):
    """Groups of a population that follows the model, sampled without chance, give its uniques back."""
    groups, share = 50_000, [beta**alpha]
    for size in range(2, 400):
        share.append(share[-1] * (alpha + size - 2) / (size - 1) * (1 - beta))
    ones, twos = (
        groups
        * sum(
            part * math.comb(size, drawn) * fraction**drawn * (1 - fraction) ** (size - drawn)
            for size, part in enumerate(share, 1)
            if size >= drawn
        )
        for drawn in (1, 2)
    )
    assert uniques_of_model(groups, ones, twos, fraction) == pytest.approx(groups * beta**alpha, rel=1e-6)


def test_a_table_that_is_the_population_needs_no_estimate():
    assert estimate({1: 3, 2: 2}, 7).population_uniques == 3
    assert estimate({2: 5}, 1000).population_uniques == 0
    with pytest.raises(ix.PolicyError, match="smaller than the table"):
        estimate({1: 3}, 2)


def test_risk_estimates_from_the_size_of_the_population():
    sizes, uniques, _ = simulated(20_000, 8_000, 0.05, seed=1)
    cells = [str(number) for number in range(sum(sizes.values()))]
    numbers = [size for size, count in sizes.items() for _ in range(count)]
    table = pa.table({"cell": [cell for cell, number in zip(cells, numbers, strict=True) for _ in range(number)]})
    found = ix.risk(table, ["cell"], population=20_000, most=0)
    assert found.estimate is not None
    assert uniques / 2 < found.estimate.population_uniques < 2 * uniques
    assert found.journalist is not None
    assert found.journalist.highest < found.prosecutor.highest
    assert found.is_estimated


# HIPAA Safe Harbor

SHOWN = {
    "A": ("patient_name", ["Sue Carlson"]),
    "B": ("ZIP", ["02138", "02139"]),
    "C": ("visit", ["1961-09-15", "9/27/64"]),
    "D": ("contact", ["(617) 555-0134", "+1 617-555-0177"]),
    "E": ("fax", ["x"]),
    "F": ("contact", ["sue@example.org"]),
    "G": ("number", ["078-05-1120", "219-09-9999"]),
    "H": ("MRN", ["1"]),
    "I": ("health plan", ["1"]),
    "J": ("where to pay", ["DE89370400440532013000", "4111 1111 1111 1111"]),
    "K": ("driver license", ["1"]),
    "L": ("car", ["1HGCM82633A004352"]),
    "M": ("box", ["00:1A:2B:3C:4D:5E"]),
    "N": ("site", ["https://example.org/sue"]),
    "O": ("from", ["192.0.2.7", "2001:db8::1"]),
    "P": ("fingerprint", ["1"]),
    "Q": ("portrait", ["1.jpg"]),
    "R": ("key", ["123e4567-e89b-12d3-a456-426614174000"]),
}


@pytest.mark.parametrize("letter", IDENTIFIERS)
def test_each_of_the_eighteen_identifiers_is_recognized(letter):
    column, values = SHOWN[letter]
    assert [one.letter for one in identifiers_like(column, values)] == [letter]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("birth year", ["1961", "1962"]),
        ("age", ["17", "89"]),
        ("country name", ["Norway"]),
        ("illness", ["flu", "gout"]),
        ("price", ["12.50", "4111111111111112"]),
        ("job", ["clerk"]),
    ],
)
def test_what_safe_harbor_allows_is_not_recognized(column, values):
    assert identifiers_like(column, values) == []


def test_ages_over_89_are_recognized():
    assert [one.letter for one in identifiers_like("age", ["17", "90"])] == ["C"]


def test_a_profile_says_what_safe_harbor_lists_and_by_which_columns_rows_are_told_apart():
    rows = [(f"sue{number}@example.org", str(20 + number % 8), str(number % 10)) for number in range(40)]
    emails, ages, houses = zip(*rows, strict=True)
    found = ix.profile(
        pa.table({"how": list(emails), "age": list(ages), "house": list(houses), "illness": ["a", "b"] * 20})
    )
    how, age, house, _ = found.columns
    assert (how.role, how.reason) == ("identifier", "its values are e-mail addresses; HIPAA (F)")
    assert age.reason.endswith("with house it tells 100 % of the rows apart")
    assert house.reason.endswith("with age it tells 100 % of the rows apart")
    assert [one.columns for one in found.identifying] == [("age", "house")]


# What is asked and refused


@pytest.mark.slow
def test_without_quasi_columns_those_of_the_policy_or_the_profile_are_taken():
    table = pa.table({"zip": ["02138", "02139"], "illness": ["flu", "gout"], "x": ["1", "2"]})
    policy = ix.Policy(columns={"zip": ix.quasi()}, privacy=[ix.KAnonymity(2)])
    assert ix.risk(table, policy=policy).quasi == ("zip",)
    assert ix.risk(table).quasi == ("zip", "x")
    assert [one.letter for one in ix.risk(table).safe_harbor] == ["B"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"quasi": ["income"]}, "no column 'income'"),
        ({"quasi": ["zip"], "population": 1}, "at least the 2 rows"),
        ({"quasi": ["zip"], "threshold": 0}, "threshold"),
        ({"quasi": ["zip"], "population": pa.table({"x": ["1"]})}, "the population has no column 'zip'"),
    ],
)
def test_what_cannot_be_measured_is_refused(options: dict[str, Any], said: str):
    with pytest.raises(ix.PolicyError, match=said):
        ix.risk(pa.table({"zip": ["02138", "02139"]}), **options)


def test_no_cell_is_quoted():
    secret = "Rumpelstiltskin"
    found = ix.risk(pa.table({"name": [secret, "b"], "zip": [secret, secret]}), ["zip"])
    assert secret not in str(found)
    assert secret not in json.dumps(found.to_dict())


# The command


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    rows = [f"0213{number % 3},{'fm'[number % 2]},{20 + number % 7}" for number in range(30)]
    path.write_text("\n".join(["zip,sex,age", *rows]) + "\n", "utf-8")
    return path


def test_the_command_shows_all_risks(people: Path):
    arguments = ["risk", str(people), "--quasi", "zip", "--quasi", "sex", "--quasi", "age", "--population", "1000"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    for word in ("prosecutor", "journalist", "marketer", "Group sizes", "HIPAA"):
        assert word in result.stdout
    assert "of 1,000 people about" in result.stderr


@pytest.mark.slow
def test_the_command_gives_json(people: Path):
    result = CliRunner().invoke(app, ["risk", str(people), "--population", str(people), "--json"])
    document = json.loads(result.stdout)
    found = ix.risk(str(people), population=str(people))
    assert document == json.loads(json.dumps(found.to_dict()))
    assert document["journalist"] == document["prosecutor"]
