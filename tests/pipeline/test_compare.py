"""``ix.compare``: the figures of releases made one by one, honest times, and no algorithm that ends the others."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections import Counter
from types import ModuleType, SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.papers import (
    FIGURE_6,
    FIGURE_6_COLUMNS,
    HOSPITAL,
    HOSPITAL_COLUMNS,
    SAMARATI,
    SWEENEY,
    policy_of,
    table_of,
)
from helpers.profiles import cases, examples
from indistinct.engine import open_table
from indistinct.pipeline.comparison import compare
from indistinct.pipeline.trials import Trial
from indistinct.recoding import FullDomainRecoding, LocalRecoding, Pieces
from indistinct.registry import ALGORITHMS, MEASURES
from indistinct.search import Task
from indistinct.showing.bars import DOUBTFUL, LEAST, Bars, Panel

SVG = "{http://www.w3.org/2000/svg}"
QUASI = HOSPITAL_COLUMNS[:4]
TABLE = table_of(HOSPITAL_COLUMNS, HOSPITAL)
FULL_DOMAIN = ("lattice", "samarati", "mingen", "datafly")
STUCK = ix.Datafly(preference=dict.fromkeys(QUASI, 0))
"""It may generalize nothing, so it finds no release."""


def hospital(k: int = 2, max_suppression: int | float | None = 0, **more: Any) -> ix.Policy:
    return policy_of(SWEENEY, QUASI, k, max_suppression, sensitive=["Problem"], **more)


class Made:
    """An algorithm of a user's own: what ``run`` gives is said when it is made."""

    def __init__(self, run: Any, name: str = "made") -> None:
        self.run = run
        self.name = name


def unsafe(task: Task, watch: ix.Watch) -> FullDomainRecoding:
    """Release every row as it is, which hides nobody."""
    base = task.frequencies.base
    return FullDomainRecoding(task.frequencies, base, np.zeros(len(base), np.bool_))


def in_one_group(task: Task, watch: ix.Watch) -> LocalRecoding:
    return LocalRecoding.of_pieces(
        task.frequencies, Pieces.whole(task.frequencies, np.zeros(len(task.frequencies.base), np.int64))
    )


def raising(error: Exception) -> Made:
    def run(task: Task, watch: ix.Watch) -> FullDomainRecoding:
        raise error

    return Made(run)


def trial_of(algorithm: Any, policy: ix.Policy | None = None, **more: Any) -> Trial:
    (trial,) = compare(TABLE, policy or hospital(), algorithms=[algorithm], **more).trials
    return trial


# Figures.


def made_alone(policy: ix.Policy, algorithm: str) -> ix.Release | ix.IndistinctError:
    """Return the release that ``anonymize`` makes, or the error that it raises."""
    try:
        return ix.anonymize(TABLE, policy, algorithm=algorithm)
    except (ix.InfeasibleError, ix.PolicyError, ix.VerificationError) as error:
        return error


@pytest.mark.slow
@pytest.mark.parametrize(("k", "limit"), cases([(2, 0), (2, 1), (2, None), (3, 0.25), (6, 1)], (2, 0), (3, 0.25)))
def test_the_figures_are_those_of_releases_made_one_by_one(k: int, limit: int | float | None) -> None:
    policy = hospital(k, limit)
    comparison = compare(TABLE, policy)
    assert [trial.label for trial in comparison.trials] == [
        name for name in ALGORITHMS if name not in ("safepub", "chosen", "applied")
    ]
    assert (comparison.rows, comparison.tuples) == (12, 12)
    for trial in comparison.trials:
        release = made_alone(policy, trial.algorithm)
        if isinstance(release, ix.VerificationError):
            assert (trial.ending, trial.verified) == ("unsafe", False)
            continue
        if isinstance(release, ix.IndistinctError):
            assert trial.ending == ("refused" if isinstance(release, ix.PolicyError) else "infeasible")
            assert trial.reason == str(release)
            continue
        with release:
            if "table" not in release.tables:  # two tables: classes are drawn at random, and their sizes are not cells
                assert (trial.ending, trial.verified) == ("released", True)
                continue
            cells = Counter(zip(*(release.table[name].to_pylist() for name in QUASI), strict=True))
            assert (trial.ending, trial.verified, trial.reason) == ("released", True, None)
            assert trial.node == release.node
            assert trial.suppressed == release.suppressed == len(HOSPITAL) - sum(cells.values())
            assert (trial.groups, trial.smallest_group) == (len(cells), min(cells.values()))
            assert trial.measures == pytest.approx(release.measures)
            assert trial.losses == pytest.approx({m: make().loss(release.recoding) for m, make in MEASURES.items()})
            assert (trial.is_proven, trial.gap) == (release.recoding.is_proven, release.recoding.gap)


@pytest.mark.slow
def test_sweeneys_hospital_by_hand() -> None:
    """Sweeney 2002, Figure 7: Datafly may leave rows out and so scores above MinGen, 0.75 against 0.6917."""
    found = compare(TABLE, hospital(max_suppression=None), algorithms=["mingen", "datafly"])
    mingen, datafly = found.trials
    assert mingen.measures["precision"] == pytest.approx(1 - (1 / 2 + 2 / 5 + 0 + 1 / 3) / 4)
    assert (datafly.measures["precision"], datafly.suppressed, datafly.smallest_group) == (pytest.approx(0.75), 2, 2)
    assert found.best("precision") is datafly
    assert found.best("completeness") is mingen


@pytest.mark.slow
@given(st.data())
@examples(8)
def test_the_exact_search_is_never_beaten_by_another_full_domain_recoding(data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.sampled_from(FIGURE_6), min_size=4, max_size=25))
    k, limit = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 3))
    measure = data.draw(st.sampled_from([*MEASURES]))
    policy = policy_of(SAMARATI, FIGURE_6_COLUMNS, k, limit, options={"measure": measure})
    found = compare(table_of(FIGURE_6_COLUMNS, rows), policy, algorithms=FULL_DOMAIN)
    exact, *others = found.trials
    assert exact.optimum_of == (measure if exact.is_feasible else None)
    for trial in others:
        if trial.verified:
            assert exact.losses[measure] <= trial.losses[measure] + 1e-12
            assert trial.smallest_group is not None
            assert trial.smallest_group >= k


@pytest.mark.slow
def test_the_policys_options_belong_to_the_algorithm_that_it_names() -> None:
    policy = hospital(algorithm="samarati", options={"preference": "fewest-attributes"})
    trials = {trial.algorithm: trial for trial in compare(TABLE, policy, algorithms=FULL_DOMAIN).trials}
    assert trials["samarati"].node == ix.anonymize(TABLE, policy).node
    assert trials["samarati"].node != ix.anonymize(TABLE, policy, algorithm=ix.Samarati()).node
    assert trials["lattice"].optimum_of == "precision"


@pytest.mark.slow
def test_what_is_proven_is_said_for_exact_algorithms_only() -> None:
    other_precision = ix.MinGen(precision=ix.Precision(count_suppressed_top=False))
    asked = [ix.Lattice("loss"), "mingen", "datafly", "samarati", other_precision]
    assert [trial.optimum_of for trial in compare(TABLE, hospital(), algorithms=asked).trials] == [
        "loss",
        "precision",
        None,
        None,
        None,  # the precision that is compared counts the other way
    ]


def test_a_local_recoding_is_released_and_recounted_like_any_other() -> None:
    trial = trial_of(Made(in_one_group))
    assert (trial.verified, trial.node, trial.groups, trial.smallest_group) == (True, None, 1, 12)
    assert trial.measures["completeness"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_any_kind_of_table_is_compared(kind: str) -> None:
    table = TABLE
    if kind == "pandas":
        table = TABLE.to_pandas()
    elif kind == "polars":
        table = pytest.importorskip("polars").from_arrow(TABLE)
    assert all(trial.verified for trial in compare(table, hospital(), algorithms=FULL_DOMAIN).trials)


@pytest.mark.slow
def test_a_table_that_the_caller_opened_stays_open() -> None:
    with open_table(TABLE) as rows:
        first = compare(rows, hospital(), algorithms=["datafly"]).trials[0]
        assert rows.count() == 12
        assert compare(rows, hospital(), algorithms=["datafly"]).trials[0].node == first.node


# Trials without a release that verifies.


@pytest.mark.slow
def test_an_algorithm_without_an_answer_does_not_end_the_comparison() -> None:
    refusing = raising(ix.PolicyError("not with this policy"))
    trials = compare(TABLE, hospital(), algorithms=[STUCK, refusing, Made(unsafe, "bare"), "lattice"]).trials
    assert [trial.ending for trial in trials] == ["infeasible", "refused", "unsafe", "released"]
    assert "left as they are" in str(trials[0].reason)
    assert trials[1].reason == "not with this policy"
    assert trials[2].reason == "k-anonymity (k = 2) on quasi-identifier: 12 of 12 groups fail, 12 rows in them"
    assert [trial.verified for trial in trials] == [None, None, False, True]
    assert [trial.is_feasible for trial in trials] == [False, False, True, True]
    assert trials[0].measures == trials[0].losses == {}
    assert trials[2].smallest_group == 1


def test_a_missing_extra_is_a_reason_too() -> None:
    trial = trial_of(raising(ix.MissingExtraError('pip install "indistinct[exact]"')))
    assert (trial.ending, trial.reason) == ("refused", 'pip install "indistinct[exact]"')


def test_a_release_of_nothing_is_none() -> None:
    def nothing(task: Task, watch: ix.Watch) -> FullDomainRecoding:
        base = task.frequencies.base
        return FullDomainRecoding(task.frequencies, base, np.ones(len(base), np.bool_))

    assert trial_of(Made(nothing)).ending == "infeasible"


def test_blank_rows_that_would_stand_out_make_a_trial_infeasible() -> None:
    """Samarati's example suppresses one row; released blank it would be alone. Datafly suppresses k or none."""
    policy = policy_of(SAMARATI, FIGURE_6_COLUMNS, 2, 1, suppressed_rows="blank")
    samarati, datafly = compare(table_of(FIGURE_6_COLUMNS, FIGURE_6), policy, algorithms=["samarati", "datafly"]).trials
    assert samarati.ending == "infeasible"
    assert "'blank' is not safe" in str(samarati.reason)
    assert datafly.verified


def test_a_mistake_of_an_algorithm_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        trial_of(raising(ZeroDivisionError()))


def test_what_concerns_all_algorithms_is_raised() -> None:
    with pytest.raises(ix.InfeasibleError, match="fewer than k = 13"):
        compare(TABLE, hospital(13))
    with pytest.raises(ix.PolicyError, match="Problem"):
        compare(TABLE, policy_of(SWEENEY, QUASI, 2))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["latice", "lattice", "mondrean"], ["no 'latice'", "no 'mondrean'"]),
        (["lattice", ix.Lattice], ["neither an algorithm"]),
        ([3], ["3 is neither an algorithm"]),
        ([], ["name at least one"]),
    ],
)
def test_every_mistake_among_the_algorithms_is_reported_at_once(asked: list[Any], said: list[str]) -> None:
    with pytest.raises(ix.PolicyError) as caught:
        compare("no such table.csv", hospital(), algorithms=asked)  # told before the table is read
    assert len(caught.value.mistakes) == len(said)
    assert all(words in mistake for words, mistake in zip(said, caught.value.mistakes, strict=True))


@pytest.mark.slow
def test_algorithms_of_one_name_are_told_apart_by_their_options() -> None:
    asked = [
        "lattice",
        ix.Lattice("loss"),
        ix.Datafly(),
        ix.Samarati(preference="min-relative"),
        ix.Lattice("loss"),
        "lattice",
    ]
    assert [trial.label for trial in compare(TABLE, hospital(), algorithms=asked).trials] == [
        "lattice",
        "lattice (measure loss)",
        "datafly",
        "samarati",
        "lattice (measure loss) #5",
    ]
    assert [trial.label for trial in compare(TABLE, hospital(), algorithms="datafly").trials] == ["datafly"]


# Time.


@pytest.mark.slow
def test_a_search_that_runs_out_of_time_says_so() -> None:
    found = compare(TABLE, hospital(), algorithms=["samarati", "lattice", "datafly"], watch=ix.Watch(time_limit=0))
    samarati, lattice, datafly = found.trials
    assert samarati.ending == "interrupted"
    assert "time limit" in str(samarati.reason)
    assert lattice.verified
    assert lattice.is_proven is False
    assert lattice.gap is not None
    assert lattice.gap > 0
    assert lattice.optimum_of is None
    assert datafly.verified


@pytest.mark.slow
def test_the_time_limit_is_for_each_algorithm_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("indistinct.progress.time", SimpleNamespace(monotonic=lambda: clock.now))
    seen = []

    def slow(task: Task, watch: ix.Watch) -> Any:
        seen.append(watch.time_is_up())
        clock.now += 100
        seen.append(watch.time_is_up())
        return in_one_group(task, watch)

    compare(TABLE, hospital(), algorithms=[Made(slow, "one"), Made(slow, "two")], watch=ix.Watch(time_limit=60))
    assert seen == [False, True] * 2


def test_a_cancelled_comparison_ends() -> None:
    with pytest.raises(ix.InterruptedSearchError, match="cancelled"):
        compare(TABLE, hospital(), watch=ix.Watch(is_cancelled=lambda: True))


def loading(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Made, list[bool]]:
    """Return an algorithm whose first run imports a module, and the list of its runs: was the module there?"""
    monkeypatch.delitem(sys.modules, name, raising=False)
    runs: list[bool] = []

    def run(task: Task, watch: ix.Watch) -> Any:
        runs.append(name in sys.modules)
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        return in_one_group(task, watch)

    return Made(run), runs


@pytest.mark.slow
def test_a_run_that_loads_code_is_repeated_and_the_repeat_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    trial_of(Made(in_one_group))  # whatever it needs itself is loaded
    algorithm, runs = loading("a_module_of_this_test", monkeypatch)
    assert trial_of(algorithm).is_warm
    assert runs == [False, True]
    runs.clear()
    assert trial_of(algorithm).is_warm
    assert runs == [True]


def test_a_long_run_that_loads_code_is_not_repeated_and_its_time_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indistinct.pipeline.comparison.REPEATED_BELOW", 0.0)
    algorithm, runs = loading("another_module_of_this_test", monkeypatch)
    found = compare(TABLE, hospital(), algorithms=[algorithm])
    assert runs == [False]
    assert not found.trials[0].is_warm
    assert "≤" in str(found)


@pytest.mark.slow
def test_no_search_profits_from_what_another_worked_out() -> None:
    kept = []

    def run(task: Task, watch: ix.Watch) -> Any:
        task.frequencies.remember("a thought", lambda: kept.append(1))
        return in_one_group(task, watch)

    trial_of(Made(in_one_group))
    compare(TABLE, hospital(), algorithms=[Made(run, "one"), Made(run, "two")])
    assert len(kept) == 2


@pytest.mark.slow
def test_times_are_measured() -> None:
    def busy(task: Task, watch: ix.Watch) -> Any:
        sum(range(300_000))
        return in_one_group(task, watch)

    quick, slow = compare(TABLE, hospital(), algorithms=[Made(in_one_group, "quick"), Made(busy, "slow")]).trials
    assert 0 < quick.cpu_seconds < slow.cpu_seconds
    assert slow.seconds > 0.0005


@pytest.mark.slow
def test_progress_names_the_algorithm_at_work() -> None:
    stages: list[str] = []
    watch = ix.Watch(progress=lambda stage, done, total: stages.append(stage))
    compare(TABLE, hospital(), algorithms=["lattice", "datafly"], watch=watch)
    stages = [stage for stage in stages if stage != "compile"]
    assert stages[0] == "count"
    assert {"lattice: search", "lattice: verify", "datafly: search", "datafly: release"} <= set(stages)


# What a comparison can tell.


def trial(label: str, loss: float, suppressed: int = 0, ending: Any = "released") -> Trial:
    if ending not in ("released", "unsafe"):
        return Trial(label, label, ending, "because", 0.1, 0.1, True)
    losses = dict.fromkeys(MEASURES, loss)
    measures = dict.fromkeys(MEASURES, 1 - loss)
    return Trial(label, label, ending, None, 0.1, 0.1, True, suppressed, 3, 2, measures=measures, losses=losses)


def placed(label: str, risk: float, utility: float | None, ending: Any = "released") -> Trial:
    figures = {} if utility is None else {"highest": risk, "average": risk}
    return dataclasses.replace(trial(label, 0.5, ending=ending), utility=utility, risk=figures)


@examples(60)
@given(st.lists(st.tuples(st.integers(1, 5), st.none() | st.integers(0, 5), st.booleans()), max_size=8))
def test_an_undominated_release_is_beaten_by_none_in_both(points: Any) -> None:
    trials = [
        placed(str(place), risk / 10, None if worth is None else worth / 5, "released" if verified else "unsafe")
        for place, (risk, worth, verified) in enumerate(points)
    ]
    found = ix.Comparison(10, 9, tuple(trials), utility="k-marginal score").list_undominated()
    judged = [(one.risk["highest"], one.utility) for one in trials if one.verified and one.utility is not None]
    wanted = {
        (risk, worth)
        for risk, worth in judged
        if not any(a <= risk and b >= worth and (a, b) != (risk, worth) for a, b in judged)
    }
    assert {(one.risk["highest"], one.utility) for one in found} == wanted
    assert len(found) == len(wanted)


@pytest.mark.slow
def test_a_map_has_each_algorithm_at_each_k_with_its_own_utility_and_risk() -> None:
    rng = np.random.default_rng(1)
    table = pa.table({"a": rng.integers(0, 20, 120), "b": rng.integers(0, 3, 120), "c": rng.normal(0, 1, 120).round(1)})
    policy = ix.Policy(
        {"a": ix.quasi(ix.intervals(2, 4)), "b": ix.quasi(ix.suppress()), "c": ix.other()}, [ix.KAnonymity(2)]
    )
    for asked, value in (
        ("k-marginal", lambda found: found.marginals.k_marginal),
        ("c ~ a", lambda found: found.regressions[0].overlap),
    ):
        found = compare(table, policy, algorithms=["lattice", "mondrian"], utility=asked, ks=[3, 6])
        assert [(one.algorithm, one.k) for one in found.trials] == [
            (name, k) for k in (3, 6) for name in ("lattice", "mondrian")
        ]
        for one in found.trials:
            asked_policy = dataclasses.replace(policy, privacy=[ix.KAnonymity(one.k)])
            release = ix.anonymize(table, asked_policy, algorithm=one.algorithm, seed=1)
            wanted = ix.utility(release, table, regressions=[asked] if "~" in asked else [])
            assert one.utility == pytest.approx(value(wanted), rel=0.02)
            assert one.risk["highest"] == 1 / one.smallest_group
            assert one.risk["average"] == one.groups / (120 - one.suppressed)
        said = json.loads(json.dumps(found.to_dict()))
        assert said["undominated"] == [one.label for one in found.list_undominated()]
        ElementTree.fromstring(found.map_svg())


def test_a_map_by_a_model_scores_rows_that_were_held_out() -> None:
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(1)
    age = rng.integers(0, 20, 200)
    table = pa.table({"age": age, "ill": np.where(age > 9, "yes", "no")})
    policy = ix.Policy({"age": ix.quasi(ix.intervals(2, 4)), "ill": ix.other()}, [ix.KAnonymity(2)])
    (one,) = compare(table, policy, algorithms=["mondrian"], utility="target=ill").trials
    assert one.utility is not None
    assert one.utility > 0.9


@pytest.mark.parametrize("asked", ["ncp", "target=", "", "c ~"])
def test_what_is_no_utility_is_refused(asked: str) -> None:
    with pytest.raises(ix.PolicyError):
        compare(TABLE, hospital(), algorithms=["datafly"], utility=asked)


def test_the_best_verifies_has_the_least_loss_and_suppresses_least() -> None:
    found = ix.Comparison(
        10,
        9,
        (
            trial("none", 0, ending="infeasible"),
            trial("worse", 0.5),
            trial("false", 0.1, ending="unsafe"),
            trial("many", 0.2, 3),
            trial("few", 0.2 + 1e-15, 1),
            trial("late", 0.2, 1),
        ),
    )
    assert [one.label for one in found.ranked()] == ["few", "late", "many", "worse", "false", "none"]
    best = found.best("loss")
    assert best is not None
    assert best.label == "few"
    assert ix.Comparison(10, 9, (trial("false", 0.1, ending="unsafe"),)).best() is None
    assert ix.Comparison(10, 9, (trial("none", 0, ending="refused"),)).best() is None


def test_a_measure_that_does_not_exist_is_a_mistake() -> None:
    found = ix.Comparison(10, 9, (trial("one", 0.5),))
    for ask in (found.best, found.ranked, lambda measure: found.svg([measure])):
        with pytest.raises(ix.PolicyError, match="no 'beauty'"):
            ask("beauty")
    for measures in ("precision", []):
        with pytest.raises(ix.PolicyError, match="list of names"):
            found.svg(measures)


@pytest.mark.slow
def test_it_is_json() -> None:
    content = compare(
        TABLE, hospital(), algorithms=["lattice", raising(ix.InfeasibleError("no")), Made(unsafe, "bare")]
    )
    document = json.loads(json.dumps(content.to_dict(), allow_nan=False))
    assert document == content.to_dict()
    assert list(document) == ["rows", "tuples", "trials"]
    names = {field.name for field in dataclasses.fields(Trial)} | {"is_feasible", "verified"}
    assert [set(one) for one in document["trials"]] == [names] * 3
    assert [set(one["measures"]) for one in document["trials"]] == [set(MEASURES), set(), set(MEASURES)]
    assert document["trials"][0]["node"] == {"Race": 1, "BirthDate": 2, "Gender": 0, "ZIP": 1}


@pytest.mark.slow
def test_as_text_it_is_a_table_of_all_trials() -> None:
    found = compare(TABLE, hospital(), algorithms=["lattice", raising(ix.InfeasibleError("no")), Made(unsafe, "bare")])
    head, lattice, infeasible, bare = str(found).splitlines()
    assert head.split() == [
        "algorithm",
        "precision",
        "loss",
        "discernibility",
        "suppressed",
        "groups",
        "smallest",
        "seconds",
    ]
    assert lattice.split()[:2] == ["lattice", "0.6917"]
    assert lattice.endswith("✓")
    assert infeasible.split()[:2] == ["made", "–"]
    assert infeasible.endswith("infeasible")
    assert bare.endswith("✗")


@pytest.mark.slow
def test_no_cell_of_the_table_is_reported() -> None:
    secret = "Xq7"
    rows = [(*row[:4], f"{secret} {row[4]}") for row in HOSPITAL]
    table = table_of(HOSPITAL_COLUMNS, rows)
    found = compare(
        table,
        hospital(),
        algorithms=[*FULL_DOMAIN, Made(unsafe, "bare"), STUCK],
    )
    told = " ".join([str(found), repr(found), json.dumps(found.to_dict()), found.svg()])
    cells = {cell for row in HOSPITAL for cell in row[1:4:2]} | {secret}  # dates and ZIP codes
    # not as part of a number: some time or measure may well contain the digits of a ZIP code
    assert [cell for cell in cells if re.search(rf"(?<![\d.]){re.escape(cell)}(?!\d)", told)] == []


# Charts.


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.slow
def test_the_chart_has_every_algorithm_every_measure_and_what_failed() -> None:
    asked = [*FULL_DOMAIN, raising(ix.InfeasibleError("no")), Made(unsafe, "a <bare> one & more")]
    drawn = compare(TABLE, hospital(), algorithms=asked).svg(["discernibility", "loss"])
    shown = texts(drawn)
    for words in (
        *FULL_DOMAIN,
        "made",
        "a <bare> one & more",
        "loss by discernibility",
        "loss",
        "rows suppressed",
        "seconds",
    ):
        assert words in shown
    assert "no release: infeasible" in shown
    assert "does not verify" in shown
    assert "6 algorithms on 12 rows" in shown
    assert DOUBTFUL in drawn
    elements = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(drawn).iter()}
    assert elements <= {"svg", "title", "desc", "rect", "text", "path", "circle"}
    assert "href" not in drawn
    assert drawn.count("http") == 1  # the namespace


def test_the_chart_puts_the_best_on_top() -> None:
    found = ix.Comparison(10, 9, (trial("worse", 0.5), trial("better", 0.25), trial("worst", 0.75)))
    shown = [text for text in texts(found.svg()) if text in ("worse", "better", "worst")]
    assert shown == ["better", "worse", "worst"]


def bars(drawn: str) -> list[tuple[float, str | None]]:
    """Return the width and the colour of each bar."""
    return [
        (float(element.get("width", "nan")), element.get("stroke"))
        for element in ElementTree.fromstring(drawn).iter(f"{SVG}rect")
        if element.get("height") == "16"
    ]


def test_bars_are_as_long_as_their_figures_and_the_least_stands_out() -> None:
    drawn = Bars("t", ("a", "b", "c", "d"), (Panel("p", (0.2, 0.4, 0.1, None)),), doubtful=frozenset({2})).svg()
    (a, a_colour), (b, b_colour), (c, c_colour) = bars(drawn)
    assert b / a == pytest.approx(2, rel=0.01)
    assert c / a == pytest.approx(0.5, rel=0.01)
    assert a_colour == LEAST != b_colour
    assert c_colour == DOUBTFUL


def test_a_figure_in_doubt_is_not_the_least_even_if_it_equals_that() -> None:
    drawn = Bars("t", ("a", "b", "c"), (Panel("p", (0.2, 0.4, 0.2)),), doubtful=frozenset({2})).svg()
    root = ElementTree.fromstring(drawn)
    weights = [element.get("font-weight") for element in root.iter(f"{SVG}text") if element.text == "0.2"]
    assert sorted(map(str, weights)) == ["400", "400", "600"]  # with the tick of the axis


def test_equal_bars_have_no_least() -> None:
    drawn = Bars("t", ("a", "b"), (Panel("p", (0.3, 0.3)),)).svg()
    assert LEAST not in drawn
    assert len(bars(drawn)) == 2


figures = st.one_of(st.none(), st.floats(0, 1), st.integers(0, 10**9), st.floats(1e-9, 1e5))


@given(st.data())
def test_any_figures_are_drawn_inside_the_picture(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.text(st.characters(codec="ascii", categories=["L", "P"]), max_size=60), max_size=6))
    rows = st.lists(figures, min_size=len(names), max_size=len(names)).map(tuple)
    panels = data.draw(st.lists(st.builds(Panel, st.just("a < b"), rows, st.booleans()), max_size=7))
    doubtful = frozenset(data.draw(st.sets(st.integers(0, 5))))
    width = data.draw(st.integers(500, 1400))
    root = ElementTree.fromstring(
        Bars("t & t", tuple(names), tuple(panels), "s", ("", "none"), doubtful, "doubt").svg(width)
    )
    height = float(root.get("height", "nan"))
    for element in root.iter(f"{SVG}rect"):
        left, top = float(element.get("x", "0")), float(element.get("y", "0"))
        assert left >= 0
        assert left + float(element.get("width", "nan")) <= width + 0.1
        assert top + float(element.get("height", "nan")) <= height + 0.1
    for element in root.iter(f"{SVG}circle"):
        assert 0 <= float(element.get("cx", "nan")) <= width
    for element in root.iter(f"{SVG}text"):
        assert 0 <= float(element.get("x", "nan")) <= width
        assert 0 <= float(element.get("y", "nan")) <= height
    drawn = sum(value is not None for panel in panels if panel.is_log for value in panel.values)
    assert len(list(root.iter(f"{SVG}circle"))) == drawn


def test_a_search_that_nobody_limits_ends_and_says_so() -> None:
    table = pa.table({"age": [str(age) for age in range(40)], "zip": [str(10_000 + 7 * place) for place in range(40)]})
    policy = ix.Policy({"age": ix.quasi(ix.intervals(5, 10)), "zip": ix.quasi(ix.prefix())}, [ix.KAnonymity(2)])
    ended = ix.Watch(ends_after=0.0)
    with ix.anonymize(table, policy, algorithm=ix.Regroup(), watch=ended) as release:
        assert release.recoding.is_cut_short
        assert release.facts.is_cut_short
        assert release.facts.limits.time_limit in (0.0, ix.Regroup.ends_after)
        assert release.verify(original=table).passed
    with ix.anonymize(table, policy, algorithm=ix.Regroup()) as release:
        assert (release.recoding.is_cut_short, release.facts.limits) == (False, None)


def test_a_limit_that_is_set_counts_before_the_usual_one() -> None:
    watch = ix.Watch(time_limit=3.0)
    assert watch.ending_after(1.0) is watch
    assert ix.Watch().ending_after(0.0).time_is_up()
    assert not ix.Watch().ending_after(100.0).part(0.5).time_is_up()
