"""Utility: against pandas, statsmodels and sums over all values, one by one."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import indistinct as ix
from helpers.commands import run
from helpers.profiles import cases, examples
from indistinct.report import report_facts

ROWS = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from("ab"), st.sampled_from(["x", "y", "z", None])),
    min_size=4,
    max_size=40,
)


def as_policy(k=1, **more):
    hierarchies = {"n": ix.intervals(5, 10), "s": ix.suppress(), "c": ix.suppress()}
    return ix.Policy({name: ix.quasi(one) for name, one in hierarchies.items()}, [ix.KAnonymity(k)], **more)


def as_table(rows):
    return pa.table({"n": [str(n) for n, _, _ in rows], "s": [s for _, s, _ in rows], "c": [c for *_, c in rows]})


def binned_by_pandas(before, after):
    """Return both tables with their numbers in bins, as pandas makes them from the first."""
    values = sorted({n for n, _, _ in before})
    if len(values) > 20:
        _, edges = pd.qcut([n for n, _, _ in before], 20, retbins=True, duplicates="drop")
        cut = lambda n: np.searchsorted(edges[1:-1], n, side="left")  # noqa: E731
    else:
        cut = lambda n: np.searchsorted(values[:-1], n)  # noqa: E731
    return [
        pd.DataFrame(
            {"n": [int(cut(n)) for n, *_ in rows], "s": [s for _, s, _ in rows], "c": [str(c) for *_, c in rows]}
        )
        for rows in (before, after)
    ]


@pytest.mark.slow
@examples(40, opens_tables=True)
@example([(0, "a", "x")] * 3 + [(2, "a", "x")], [(0, "a", "x")] * 3 + [(1, "a", "x")])
@given(ROWS, ROWS)
def test_marginals_and_pairs_are_those_of_pandas(before, after):
    found = ix.utility(as_table(after), as_table(before), as_policy()).marginals
    one, two = binned_by_pandas(before, after)
    for column in found.columns:
        shares = [frame[column.column].value_counts(normalize=True) for frame in (one, two)]
        expected = shares[0].sub(shares[1], fill_value=0).abs().sum() / 2
        assert column.total_variation == pytest.approx(expected, abs=1e-9)
    sums = []
    for pair in found.pairs:
        names = list(pair.columns)
        shares = [frame.value_counts(names, normalize=True) for frame in (one, two)]
        sums.append(shares[0].sub(shares[1], fill_value=0).abs().sum())
        assert pair.total_variation == pytest.approx(sums[-1] / 2, abs=1e-9)
    assert found.k_marginal == pytest.approx(500 * (2 - np.mean(sums)), abs=1e-6)  # SDNist's formula
    alone = []
    for first, second in itertools.combinations("nsc", 2):
        joint = pd.crosstab(one[first], one[second], normalize=True)
        alone.append(np.abs(joint.to_numpy() - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum())
    assert found.k_marginal_of_marginals == pytest.approx(500 * (2 - np.mean(alone)), abs=1e-6)


@examples(40, opens_tables=True)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from("ab")), min_size=4, max_size=30))
def test_correlations_and_cramers_v_are_those_of_pandas_and_chi_square(rows):
    frame = pd.DataFrame(rows, columns=["n", "m", "s"])
    assume(frame.n.nunique() > 1 and frame.m.nunique() > 1)
    policy = ix.Policy(
        {"n": ix.quasi(ix.intervals(5)), "m": ix.quasi(ix.intervals(5)), "s": ix.quasi(ix.suppress())},
        [ix.KAnonymity(1)],
    )
    pairs = {one.columns: one for one in ix.utility(frame, frame, policy).marginals.pairs}
    assert pairs["n", "m"].correlation_before == pytest.approx(frame.n.corr(frame.m))
    assert pairs["n", "m"].correlation_after == pytest.approx(frame.n.corr(frame.m))
    assert pairs["n", "s"].correlation_before is None
    table = pd.crosstab(frame.n, frame.s).to_numpy()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    chi = ((table - expected) ** 2 / expected).sum()
    least = min(table.shape) - 1
    assert pairs["n", "s"].cramers_v_before == pytest.approx(np.sqrt(chi / len(frame) / least) if least else 0)


@examples(30, opens_tables=True)
@given(st.lists(st.tuples(st.sets(st.sampled_from("abc"), min_size=1), st.sampled_from("xy")), min_size=3, max_size=12))
def test_pairs_spread_each_row_over_what_its_labels_cover(cells):
    labels = [f"{{{', '.join(sorted(cell))}}}" if len(cell) > 1 else min(cell) for cell, _ in cells]
    release = pa.table({"c": labels, "s": [s for _, s in cells]})
    original = pa.table({"c": [max(cell) for cell, _ in cells], "s": [s for _, s in cells]})
    policy = ix.Policy({name: ix.quasi(ix.suppress()) for name in "cs"}, [ix.KAnonymity(1)])
    decoded = ix.decode(release, policy=policy).columns["c"]
    expected = {}
    for label, (cell, s) in zip(labels, cells, strict=True):
        for value, weight in decoded.weights(label).items():
            assert value in cell
            expected[value, s] = expected.get((value, s), 0) + weight / len(cells)
        expected[max(cell), s] = expected.get((max(cell), s), 0) - 1 / len(cells)
    found = ix.utility(release, original, policy).marginals.pairs[0]
    assert found.total_variation == pytest.approx(sum(map(abs, expected.values())) / 2, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", cases(range(8), 0, 1, 2))
def test_the_propensity_score_is_that_of_statsmodels(seed):
    sm, linalg = pytest.importorskip("statsmodels.api"), pytest.importorskip("scipy.linalg")
    rng = np.random.default_rng(seed)
    values = np.array(["x", "y", "z", None], object)[: rng.integers(2, 5)]
    before, after = (
        [
            (int(n), str(s), c)
            for n, s, c in zip(
                rng.integers(0, top, 150), rng.choice(["a", "b"], 150), rng.choice(values, 150), strict=True
            )
        ]
        for top in (60, 70)
    )
    found = ix.utility(as_table(after), as_table(before), as_policy()).propensity
    frame = pd.DataFrame([*before, *after], columns=["n", "s", "c"])
    frame["n"] = (frame.n - 30) / 20
    known = {name: [value for value in "abxyz" if value in set(frame[name][: len(before)])] for name in "sc"}
    main = [frame.n, *(frame[name] == value for name in "sc" for value in known[name]), frame.c.isna()]
    terms = [one.astype(float).to_numpy() for one in main]
    terms += [one * two for one, two in itertools.combinations_with_replacement(terms, 2)]
    x = np.column_stack([np.ones(len(frame)), *terms])
    y = np.repeat([0.0, 1.0], [len(before), len(after)])
    rank = int(np.linalg.matrix_rank(x, tol=1e-7))
    pivots = linalg.qr(x, mode="r", pivoting=True)[1][:rank]
    fitted = sm.GLM(y, x[:, pivots], sm.families.Binomial()).fit(maxiter=200, tol=1e-12)
    share = len(after) / len(frame)
    pmse = np.mean((fitted.predict() - share) ** 2)
    assert found.terms == rank
    assert found.pmse == pytest.approx(pmse, rel=1e-4)
    expected = (rank - 1) * (1 - share) ** 2 * share / len(frame)
    assert found.ratio == pytest.approx(pmse / expected if rank > 1 else 0, rel=1e-4)


@examples(20, opens_tables=True)
@given(ROWS)
def test_an_untouched_table_scores_perfectly(rows):
    found = ix.utility(as_table(rows[::-1]), as_table(rows), as_policy())
    assert found.marginals.k_marginal == 1000
    assert found.marginals.sub_sample_equivalent == 1
    assert found.propensity.ratio == 0
    assert all(one.total_variation == 0 and one.exact == 1 for one in found.marginals.columns)
    assert not found.notes


@examples(20, opens_tables=True)
@given(ROWS)
def test_a_table_with_everything_suppressed_scores_as_its_marginals_do(rows):
    release = pa.table({name: ["*"] * len(rows) for name in "nsc"})
    found = ix.utility(release, as_table(rows), as_policy()).marginals
    assert found.k_marginal == pytest.approx(found.k_marginal_of_marginals, abs=1e-6)
    assert all(one.suppressed == 1 for one in found.columns)


def test_a_random_sample_scores_as_its_sub_sample_equivalent_says():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.integers(0, 8, 3000).astype(str) for name in "abcd"})
    policy = ix.Policy({name: ix.quasi(ix.suppress()) for name in "abcd"}, [ix.KAnonymity(1)])
    for share in (0.1, 0.5):
        found = ix.utility(frame.sample(frac=share, random_state=2), frame, policy)
        assert found.marginals.sub_sample_equivalent == pytest.approx(share, rel=0.15)


def test_only_eligible_rows_and_shared_columns_are_compared():
    policy = ix.Policy(
        {"name": ix.identifier(), "n": ix.quasi(ix.intervals(5)), "s": ix.quasi(ix.suppress())},
        [ix.KAnonymity(2)],
        eligible=[ix.where("s", "!=", "b")],
    )
    table = pa.table({"name": list("pqrst"), "n": [1, 2, 3, 4, 50], "s": ["a", "a", "a", "a", "b"]})
    release = ix.anonymize(table, policy)
    found = ix.utility(release, table)
    assert (found.rows, found.original_rows) == (4, 4)
    assert [one.column for one in found.marginals.columns] == ["n", "s"]
    assert found.marginals.columns[0].mean_before == 2.5


@pytest.mark.slow
def test_the_command_gives_the_same_figures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("demo", "--save", ".")
    run("anonymize", "hospital.toml", "hospital.csv", "-o", "may", "--algorithm", "mondrian")
    said = json.loads(run("utility", "hospital.toml", "may", "--original", "hospital.csv", "--json").stdout)
    assert said == json.loads(json.dumps(ix.utility("may", "hospital.csv", "hospital.toml").to_dict()))
    assert "Problem" in run("utility", "hospital.toml", "may", "--original", "hospital.csv").output


def test_a_report_has_the_figures_where_it_may_look_at_the_original():
    table = pa.table({"n": [1, 2, 3, 44], "s": ["a", "a", "b", "b"], "c": ["x", "y", "x", "y"]})
    release = ix.anonymize(table, as_policy(2), algorithm="mondrian")
    facts = report_facts(release, release.policy, original=table)["utility"]
    assert facts["marginals"] == ix.utility(release, table).marginals.to_dict()
    assert "left_out" in report_facts(release, release.policy)["utility"]
    assert "left_out" in report_facts(release, release.policy, original=table, edition="public")["utility"]


def test_a_policy_must_be_known():
    with pytest.raises(ix.PolicyError, match="policy"):
        ix.utility(pa.table({"n": ["1"]}), pa.table({"n": ["1"]}))


def test_masked_codes_are_spread_over_the_values_that_they_cover():
    policy = ix.Policy({"zip": ix.quasi(ix.prefix(5)), "s": ix.quasi(ix.suppress())}, [ix.KAnonymity(1)])
    original = pa.table({"zip": ["13053", "13053", "13068", "14850"], "s": ["a", "a", "b", "b"]})
    release = pa.table({"zip": ["130**", "130**", "130**", "148**"], "s": ["a", "a", "b", "b"]})
    column = ix.utility(release, original, policy).marginals.columns[0]
    assert (column.exact, column.suppressed) == (0, 0)
    assert column.total_variation == pytest.approx(0.125)  # half of three for two
    alone = ix.decode(release, policy=policy).columns["zip"]
    assert not alone.is_exact.any()


def test_a_release_without_rows_is_refused():
    table = as_table([(1, "a", "x")])
    with pytest.raises(ix.PolicyError, match="no row"):
        ix.utility(table.slice(0, 0), table, as_policy())
