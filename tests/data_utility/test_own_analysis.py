"""Analyses of the user's own: against pandas on the original, and Rubin's rules by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import indistinct as ix
from helpers.commands import answer, run
from indistinct.data_utility.own_analysis import combine_draws


def drawn(seed, rows=300):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(20, 80, rows), "sex": rng.choice(["f", "m"], rows)})
    frame["paid"] = np.round(2.0 * frame.age + rng.normal(0, 10, rows), 1)
    return frame


def as_policy(k=1):
    return ix.Policy(
        {"age": ix.quasi(ix.intervals(5, 10)), "sex": ix.quasi(ix.suppress()), "paid": ix.other()}, [ix.KAnonymity(k)]
    )


def released(seed=1):
    frame = drawn(seed)
    return frame, ix.anonymize(frame, as_policy(5), algorithm=ix.Regroup(labels="ranges"))


def figures(found):
    return {one.figure: one for one in found.own[0].figures}


QUERY = "select sex, avg(paid) as paid, count(*) as rows from data where age >= 50 group by sex"


def test_a_query_of_an_untouched_table_gives_what_pandas_gives():
    frame = drawn(1)
    found = figures(ix.utility(frame, frame, as_policy(), own={"by sex": QUERY}))
    older = frame[frame.age >= 50].groupby("sex").paid
    assert set(found) == {f"{sex}: {name}" for sex in "fm" for name in ("paid", "rows")}
    for sex in "fm":
        for name, wanted in (("paid", older.mean()[sex]), ("rows", older.size()[sex])):
            one = found[f"{sex}: {name}"]
            assert one.before == pytest.approx(wanted)
            assert one.after == pytest.approx(wanted)
            assert one.between_draws == pytest.approx(0, abs=1e-9)


def test_a_query_of_a_release_is_the_mean_over_its_drawn_tables():
    frame, release = released()
    decoded = ix.decode(release)
    tables = [decoded.table("draw", seed=seed).to_pandas() for seed in range(4, 7)]
    wanted = [table[(table.age >= 50) & (table.sex == "f")].paid.mean() for table in tables]
    one = figures(ix.utility(release, frame, own={"by sex": QUERY}, draws=3, seed=4))["f: paid"]
    assert one.after == pytest.approx(np.mean(wanted))
    assert one.between_draws == pytest.approx(np.std(wanted, ddof=1))
    assert one.before == pytest.approx(frame[(frame.age >= 50) & (frame.sex == "f")].paid.mean())


def test_a_function_with_errors_is_combined_by_the_rules_of_rubin():
    frame, release = released()

    def mean_age(table):
        ages = table.to_pandas().age
        return {"age": (ages.mean(), ages.std() / np.sqrt(len(ages)))}

    one = figures(ix.utility(release, frame, own={"mean": mean_age}, draws=4))["age"]
    decoded = ix.decode(release)
    ages = [decoded.table("draw", seed=seed).to_pandas().age for seed in range(4)]
    within = np.mean([age.var() / len(age) for age in ages])
    between = np.var([age.mean() for age in ages], ddof=1)
    assert one.after == pytest.approx(np.mean([age.mean() for age in ages]))
    assert one.error_after == pytest.approx(np.sqrt(within + 1.25 * between))
    assert one.error_before == pytest.approx(frame.age.std() / np.sqrt(300))
    assert one.overlap > 0.9


def test_rubins_rules_by_hand():
    estimate, error = combine_draws([10.0, 12.0, 14.0], [1.0, 2.0, 2.0])
    assert (estimate, error) == (12.0, pytest.approx(np.sqrt(3 + 4 / 3 * 4)))
    assert combine_draws([1.0, 3.0], None) == (2.0, None)


def test_without_draws_labels_count_as_means_and_likeliest_values():
    frame, release = released()
    spread = ix.decode(release, "spread").to_pandas()
    found = ix.utility(release, frame, own={"age": lambda table: table.to_pandas().age.mean()}, draws=0)
    assert figures(found)[""].after == pytest.approx(spread.age.mean())
    assert found.own[0].draws == 0


def test_numbers_that_one_table_lacks_are_shown_as_such():
    frame = drawn(2)
    found = figures(ix.utility(frame.assign(sex="f"), frame, as_policy(), own={"by sex": QUERY}))
    assert found["m: rows"].after is None
    assert found["m: rows"].difference is None
    assert found["f: rows"].before is not None


@pytest.mark.parametrize(
    "analysis",
    ["select", "select nothing from data", "select sex from data", "select sex::int from data",
     "select 1 as a, 2 as b from data", "select * from read_csv('x.csv')", "select * from frame",
     lambda table: "many", lambda table: {"age": (1, 2, 3)}],
)  # fmt: skip
def test_what_is_no_analysis_is_refused_without_quoting_a_cell(analysis):
    frame = drawn(3)
    frame.loc[0, "sex"] = "Zsuzsanna"
    with pytest.raises(ix.PolicyError) as caught:
        ix.utility(frame, frame, as_policy(), own={"mine": analysis})
    assert "Zsuzsanna" not in str(caught.value)


def test_one_draw_is_refused():
    frame = drawn(3)
    with pytest.raises(ix.PolicyError, match="draws"):
        ix.utility(frame, frame, as_policy(), own={"mine": QUERY}, draws=1)


@pytest.mark.slow
def test_the_command_takes_queries(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn(4, 60).to_csv("paid.csv", index=False)
    (tmp_path / "policy.toml").write_text(ix.policy_toml(as_policy(3)))
    answer("anonymize", "policy.toml", "paid.csv", "-o", "release", "--algorithm", "mondrian")
    asked = ("utility", "policy.toml", "release", "--original", "paid.csv", "--query", QUERY, "--draws", "3")
    found = ix.utility("release", "paid.csv", "policy.toml", own={QUERY: QUERY}, draws=3)
    assert answer(*asked)["own"] == [one.to_dict() for one in found.own]
    assert "f: paid" in run(*asked).output
