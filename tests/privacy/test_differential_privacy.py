"""Differential privacy with true rows: k against exact fractions, the mechanism against its whole distribution."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.counting import FrequencyList
from indistinct.privacy.models.sampled_groups import delta_of, largest_share, least_k
from indistinct.progress import Watch
from indistinct.randomness import SECURE, Draws
from indistinct.search import Task
from indistinct.search.full_domain import safepub

# --- k, δ and β ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "share", "k"), [(1, 0.632, 61), (1, 0.316, 19), (2, 0.432, 17), (0.5, 0.393, 51), (2, 0.8646, 113)]
)
def test_the_known_points(epsilon: float, share: float, k: int) -> None:
    assert least_k(epsilon, 1e-5, share) == k
    assert delta_of(epsilon, k, share) <= 1e-5 < delta_of(epsilon, k - 1, share)


def exponential(number: Fraction) -> tuple[Fraction, Fraction]:
    """Bound e^number from below and above by its series."""
    term, total, step = Fraction(1), Fraction(1), 0
    while term > Fraction(1, 10**30) or step < 2 * number + 2:
        step += 1
        term = term * number / step
        total += term
    return total, total + 2 * term


def exact_delta(epsilon: float, k: int, share: float, most: int) -> tuple[Fraction, Fraction]:
    """Bound the largest P[Bin(n, β) > γn] for n from ⌈k/γ - 1⌉ to ``most``, in fractions alone."""
    beta = Fraction(share)
    low, high = (1 - (1 - beta) / bound for bound in exponential(Fraction(epsilon)))
    found = []
    for gamma in (high, low):
        first = math.ceil(k / gamma - 1)
        tails = [
            sum(
                (math.comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(math.floor(gamma * n) + 1, n + 1)),
                Fraction(0),
            )
            for n in range(max(0, first), most)
        ]
        found.append(max(tails))
    return found[0], found[1]


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "share"), [(1.0, 0.5), (1.0, 0.25), (2.0, 0.75), (0.5, 0.25), (3.0, 0.125)])
@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_k_agrees_with_exact_fractions(epsilon: float, share: float, delta: float) -> None:
    k = least_k(epsilon, delta, share)
    most = 3 * k + 60  # beyond that Chernoff's bound is far below δ
    at_least, at_most = exact_delta(epsilon, k, share, most)
    assert at_most <= Fraction(delta)
    assert exact_delta(epsilon, k - 1, share, most)[0] > Fraction(delta)
    assert at_least <= Fraction(delta_of(epsilon, k, share)) <= at_most * (1 + Fraction(1, 10**12))


@given(st.floats(0.01, 10))
def test_the_largest_share_may_be_drawn(epsilon: float) -> None:
    share = largest_share(epsilon)
    assert -math.log1p(-share) <= epsilon < -math.log1p(-min(1 - 1e-12, share + 2e-4)) or share > 0.999


@given(st.floats(0.01, 10), st.floats(0, 0.99))
def test_both_parts_of_epsilon_are_no_more_than_all(epsilon: float, for_levels: float) -> None:
    try:
        model = ix.DifferentialPrivacy(epsilon, 1e-5, for_levels=for_levels)
    except ix.PolicyError:
        return  # too little is left to draw anybody
    assert Fraction(model.epsilon_of_levels) + Fraction(model.epsilon_of_rows) <= Fraction(epsilon)
    assert -math.log1p(-model.share) <= model.epsilon_of_rows


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"epsilon": 0, "delta": 1e-5}, "epsilon must be a number above 0"),
        ({"epsilon": 25, "delta": 1e-5}, "at most 20"),
        ({"epsilon": 1, "delta": 0.9}, "delta must lie between"),
        ({"epsilon": 1, "delta": 1e-5, "sampled": 0.7}, "sampled must lie between 0.001 and 0.6132"),
        ({"epsilon": 1, "delta": 1e-5, "for_levels": 1}, "for_levels must be a share"),
        ({"epsilon": 0.0005, "delta": 1e-5}, "epsilon is too small"),
    ],
)
def test_parameters_that_promise_nothing_are_refused(given: dict[str, float], words: str) -> None:
    with pytest.raises(ix.PolicyError, match=words):
        ix.DifferentialPrivacy(**given)


# --- the mechanism --------------------------------------------------------------------------------------------------

SMALL = ix.DifferentialPrivacy(1.5, 0.05, for_levels=0.3)


def policy_of(model: ix.DifferentialPrivacy = SMALL, columns: int = 1) -> ix.Policy:
    hierarchy = ix.levels([["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]])
    return ix.Policy({f"q{column}": ix.quasi(hierarchy) for column in range(columns)}, [model], algorithm="safepub")


def task_of(rows: list[tuple[str, ...]], policy: ix.Policy) -> Task:
    tuples = Counter(rows)
    columns = list(policy.quasi)
    values = sorted({cell for row in rows for cell in row} | set("abc"))
    codes = [np.array([values.index(row[column]) for row in tuples]) for column in range(len(columns))]
    compiled = [policy.columns[name].compile(values) for name in columns]
    return Task.of(FrequencyList.of_codes(columns, compiled, codes, np.array(list(tuples.values()))), policy)


def node_weights(task: Task, model: ix.DifferentialPrivacy = SMALL) -> dict[tuple[int, ...], float]:
    nodes, scores, most = safepub.node_scores(task, model, safepub.candidate_levels(task.frequencies), Watch())
    weights = np.exp(model.epsilon_of_levels * (np.array([score / most for score in scores]) - max(scores) / most))
    return dict(zip(nodes, (weights / weights.sum()).tolist(), strict=True))


def binomial(tries: int, share: float) -> list[float]:
    return [math.comb(tries, hits) * share**hits * (1 - share) ** (tries - hits) for hits in range(tries + 1)]


LABELS = {0: {"a": "a", "b": "b", "c": "c"}, 1: {"a": "ab", "b": "ab", "c": "c"}, 2: dict.fromkeys("abc", "*")}


def distribution(table: Counter[str], k: int, share: float, nodes: dict[tuple[int, ...], float]) -> dict[object, float]:
    """Return the probability of every outcome, levels with the released rows of each label, by hand."""
    found: dict[object, float] = {}
    for (level,), weight in nodes.items():
        sizes: Counter[str] = Counter()
        for value, rows in table.items():
            sizes[LABELS[level][value]] += rows
        drawn = [binomial(sizes[label], share) for label in sorted(set(LABELS[level].values()))]
        for hits in product(*(range(len(one)) for one in drawn)):
            chance = weight * math.prod(one[hit] for one, hit in zip(drawn, hits, strict=True))
            outcome = (level, tuple(hit if hit >= k else 0 for hit in hits))
            found[outcome] = found.get(outcome, 0.0) + chance
    return found


def excess(of: dict[object, float], over: dict[object, float], epsilon: float) -> float:
    """Return what is left of one distribution beyond e^ε times the other: δ must be no less."""
    return sum(max(0.0, chance - math.exp(epsilon) * over.get(outcome, 0.0)) for outcome, chance in of.items())


def neighbours() -> list[tuple[Counter[str], Counter[str]]]:
    tables = [
        Counter(a=a, b=b, c=c) for a, b, c in [(9, 3, 0), (4, 4, 4), (6, 0, 8), (5, 2, 12), (0, 0, 7), (6, 6, 12)]
    ]
    return [(table, table + Counter([value])) for table in tables for value in "abc"]


def rows_of(table: Counter[str]) -> list[tuple[str]]:
    return [(value,) for value in table.elements()]


@pytest.mark.parametrize(("one", "more"), neighbours())
def test_no_neighbour_makes_an_outcome_much_more_likely(one: Counter[str], more: Counter[str]) -> None:
    policy, model = policy_of(), SMALL
    both = [
        distribution(table, model.k, model.share, node_weights(task_of(rows_of(table), policy)))
        for table in (one, more)
    ]
    assert all(abs(sum(chances.values()) - 1) < 1e-9 for chances in both)
    for of, over in (both, both[::-1]):
        assert excess(of, over, model.epsilon) <= model.delta


def test_the_same_test_catches_broken_mechanisms() -> None:
    policy, model = policy_of(), SMALL

    def worst(k: int, share: float, choose: bool) -> float:
        found = 0.0
        for pair in neighbours():
            both = []
            for table in pair:
                nodes = node_weights(task_of(rows_of(table), policy))
                best = max(nodes, key=lambda node: nodes[node])
                both.append(distribution(table, k, share, {best: 1.0} if choose else nodes))
            found = max(found, excess(both[0], both[1], model.epsilon), excess(both[1], both[0], model.epsilon))
        return found

    assert worst(model.k, model.share, choose=False) <= model.delta
    assert worst(2, model.share, choose=False) > model.delta  # groups that are too small
    assert worst(model.k, 0.999, choose=False) > model.delta  # hardly anybody left out
    assert worst(model.k, model.share, choose=True) > model.delta  # the best levels instead of drawn ones


@pytest.mark.slow
def test_what_is_drawn_has_the_stated_distribution() -> None:
    table, policy, model, runs = Counter(a=9, b=5, c=8), policy_of(), SMALL, 700
    task = task_of(rows_of(table), policy)
    expected = distribution(table, model.k, model.share, node_weights(task))
    found: Counter[object] = Counter()
    for _ in range(runs):
        recoding = safepub.SafePub().run(task, Watch())
        labels = recoding.frequencies.hierarchies[0].labels[recoding.node[0]]
        rows = dict(zip((labels[code] for code in recoding.groups.label_codes(0)), recoding.groups.sizes, strict=True))
        level = recoding.node[0]
        found[level, tuple(int(rows.get(label, 0)) for label in sorted(set(LABELS[level].values())))] += 1
    assert set(found) <= set(expected)
    for outcome, chance in expected.items():
        assert abs(found[outcome] - runs * chance) <= 7 * math.sqrt(runs * chance * (1 - chance)) + 3, outcome


@examples(40)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=2, max_size=60),
    st.tuples(st.sampled_from("abc"), st.sampled_from("abc")),
    st.floats(0.3, 3),
)
def test_one_person_raises_every_score_by_no_more_than_the_sensitivity(
    rows: list[tuple[str, str]], person: tuple[str, str], epsilon: float
) -> None:
    model = ix.DifferentialPrivacy(epsilon, 0.01)
    policy = policy_of(model, 2)
    tasks = [task_of(table, policy) for table in (rows, [*rows, person])]
    levels = safepub.candidate_levels(tasks[0].frequencies)
    (nodes, before, most), (others, after, same) = (safepub.node_scores(t, model, levels, Watch()) for t in tasks)
    assert nodes == others
    assert most == same
    assert all(0 <= high - low <= most for low, high in zip(before, after, strict=True))


def test_levels_that_keep_far_more_are_drawn() -> None:
    model = ix.DifferentialPrivacy(15.0, 0.1, for_levels=0.9)
    task = task_of([("a",)] * 90, policy_of(model))
    assert {safepub.draw_node(task, model, [[0, 1, 2]], Watch()) for _ in range(20)} == {(0,)}


def test_a_node_weighs_by_its_part_of_epsilon_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def look(weights: Sequence[float], draws: Draws) -> int:
        seen.extend(weights)
        return 0

    monkeypatch.setattr(safepub, "_draw_one", look)
    task = task_of([("a",)] * 30 + [("b",)] * 20 + [("c",)] * 25, policy_of())
    safepub.draw_node(task, SMALL, [[0, 1, 2]], Watch())
    expected = np.array(list(node_weights(task).values()))
    assert np.allclose(np.array(seen) / sum(seen), expected, rtol=1e-6)
    assert max(expected) > 1.2 * min(expected)


def test_the_sensitivity_is_what_one_person_can_change_and_no_less() -> None:
    policy, found = policy_of(), []
    for rows in range(1, 40):
        levels, scores, most = safepub.node_scores(task_of([("a",)] * rows, policy), SMALL, [[0, 1, 2]], Watch())
        assert levels[0] == (0,)  # where every cell is kept, a person counts for most
        found.append(scores[0])
    assert max(np.diff(found)) == most


@given(st.integers(1, 60), st.floats(0.01, 0.95))
def test_expected_rows_are_those_of_the_binomial_distribution(k: int, share: float) -> None:
    rows, most = safepub.released_rows(k, share)
    rises = np.diff(rows)
    assert (rises >= 0).all()
    assert int(rises.max()) == most
    for n in (k, k + 1, min(len(rows) - 3, 2 * k + 5)):
        expected = sum(hits * chance for hits, chance in enumerate(binomial(n, share)) if hits >= k)
        assert abs(rows[n] / safepub.UNIT - expected) < 1e-3 * max(1, n / 100)


def test_rows_are_drawn_with_exactly_the_stated_probability() -> None:
    class Fixed(Draws):
        def keys(self, number: int) -> np.ndarray:
            return np.arange(number, dtype=np.uint64) * np.uint64(2**62)

    drawn = safepub.draw_rows(np.array([1, 2, 3]), 0.5, Fixed())  # keys 0, 1/4, 1/2, 3/4, 0, 1/4
    assert drawn.tolist() == [1, 1, 2]
    many = safepub.draw_rows(np.array([100_000]), 0.25, SECURE)
    assert abs(int(many[0]) - 25_000) < 7 * math.sqrt(100_000 * 0.25 * 0.75)


def test_levels_of_large_lattices_are_thinned_by_their_heights_alone() -> None:
    hierarchy = ix.prefix(9).compile(["123456789", "987654321"])
    lists = [
        FrequencyList.of_codes(
            [f"q{c}" for c in range(8)], [hierarchy] * 8, [np.array(codes)] * 8, np.ones(2, np.int64)
        )
        for codes in ([0, 1], [1, 0])
    ]
    levels = [safepub.candidate_levels(frequencies) for frequencies in lists]
    assert levels[0] == levels[1]
    assert math.prod(map(len, levels[0])) <= safepub.MOST_NODES
    assert all(one[0] == 0 and one[-1] == 9 for one in levels[0])


# --- releases ------------------------------------------------------------------------------------------------------

MANY = 41_237
"""So many that levels at which nothing is left are hardly ever drawn."""
PEOPLE = pa.table({"age": [str(20 + i % 40) for i in range(MANY)], "sex": ["f" if i % 3 else "m" for i in range(MANY)]})
MODEL = ix.DifferentialPrivacy(1.0, 1e-3)
DRAWN = ix.Policy(
    {"age": ix.quasi(ix.intervals(10, 20)), "sex": ix.quasi(ix.suppress())},
    [MODEL],
    algorithm="safepub",
)


def test_a_release_is_recounted_true_and_keeps_its_secrets(tmp_path: Path) -> None:
    release = ix.anonymize(PEOPLE, DRAWN)
    assert release.verdict is not None
    assert release.verdict.passed
    folder = release.write(tmp_path / "release")
    verdict = ix.verify(folder, DRAWN, original=PEOPLE)
    assert verdict.passed
    assert [one for one in verdict.not_checked if "drawn" in one.numbers["statements"]]
    said = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert said["eligible"] == said["released"] == release.table.num_rows
    assert said["drawn"]["k"] == MODEL.k <= said["smallest_group"]
    assert set(said["measures"]) == {"precision", "discernibility", "average-group-size", "distinct-tuples"}
    assert str(MANY) not in json.dumps(
        {name: said[name] for name in said if name not in ("files", "policy_sha256", "policy")}
    )
    release.report(tmp_path / "report.html", edition="public")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "drawn with probability" in page
    assert "this is not differential privacy" not in page


def test_numbers_that_do_not_follow_from_the_policy_fail(tmp_path: Path) -> None:
    folder = ix.anonymize(PEOPLE, DRAWN).write(tmp_path / "release")
    place = folder / "manifest.json"
    said = json.loads(place.read_text("utf-8"))
    for name, value in (("epsilon", 0.1), ("k", 5), ("sampled", 0.9)):
        place.write_text(json.dumps(said | {"drawn": said["drawn"] | {name: value}}), "utf-8")
        assert not ix.verify(folder, DRAWN).passed
    place.write_text(json.dumps({key: said[key] for key in said if key != "drawn"}), "utf-8")
    assert not ix.verify(folder, DRAWN).passed


def test_a_fixed_node_spends_nothing_on_levels() -> None:
    columns = {"age": ix.quasi(ix.intervals(10, 20), min_level=2, max_level=2), "sex": ix.quasi(ix.keep())}
    policy = ix.Policy(columns, [ix.DifferentialPrivacy(1.0, 1e-3, for_levels=0)], algorithm="safepub")
    release = ix.anonymize(PEOPLE, policy)
    assert release.node == {"age": 2, "sex": 0}
    assert release.facts.drawn.epsilon_of_levels == 0


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"columns": {"age": ix.quasi(ix.suppress()), "sex": ix.other()}},
            "columns.sex: .*must take part in the grouping",
        ),
        ({"columns": {"age": ix.quasi(ix.suppress()), "sex": ix.sensitive()}}, "must take part in the grouping"),
        ({"columns": {"age": ix.quasi(ix.prefix()), "sex": ix.drop()}}, "depends on the values at hand"),
        ({"max_suppression": 0.5}, "keeps their number secret"),
        ({"suppressed_rows": "blank"}, "use 'remove'"),
        ({"person": "sex", "columns": {"age": ix.quasi(ix.suppress())}}, "one row each"),
        ({"quasi_identifiers": {"a": ["age"], "b": ["sex"]}}, "all quasi columns together"),
        ({"privacy": [ix.DifferentialPrivacy(1, 1e-3), ix.AverageRisk(0.2)]}, "only k-anonymity can stand there"),
        ({"algorithm": "lattice"}, "choose safepub"),
        ({"privacy": [ix.KAnonymity(5)]}, "must have one model differential-privacy"),
    ],
)
def test_policies_that_would_break_the_promise_are_refused(changed: dict[str, object], words: str) -> None:
    fields = {name: getattr(DRAWN, name) for name in ("columns", "privacy", "algorithm")} | changed
    with pytest.raises(ix.PolicyError, match=words):
        ix.anonymize(PEOPLE, ix.Policy(**fields))  # type: ignore[arg-type]


def test_a_seed_is_refused() -> None:
    with pytest.raises(ix.PolicyError, match="draws that nobody can repeat"):
        ix.anonymize(PEOPLE, DRAWN, seed=7)


def test_k_anonymity_beside_it_asks_for_larger_groups() -> None:
    policy = ix.Policy(DRAWN.columns, [*DRAWN.privacy, ix.KAnonymity(2000)], algorithm="safepub")
    release = ix.anonymize(PEOPLE, policy)
    assert release.facts.smallest_group >= 2000
    assert release.facts.drawn.k == 2000


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_release_of_nothing_is_a_release(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who would draw until something is left would choose by looking at the table."""
    monkeypatch.setattr(safepub, "draw_rows", lambda counts, share, draws: np.zeros(len(counts), np.int64))
    table, few = tmp_path / f"people.{ending}", PEOPLE.slice(0, 400).to_pandas()
    write = {"csv": few.to_csv, "parquet": few.to_parquet}.get(ending)
    few.to_json(table, orient="records", lines=True) if write is None else write(table, index=False)
    with ix.anonymize(table, DRAWN) as release:
        assert (release.facts.released, release.facts.groups, release.facts.smallest_group) == (0, 0, 0)
        folder = release.write(tmp_path / "release", verifier=True)
        release.report(tmp_path / "report.html", original=table)
    for verdict in (ix.verify(folder), ix.verify(folder, DRAWN), ix.verify(folder, DRAWN, original=table)):
        assert verdict.passed, str(verdict)
        assert (verdict.rows, verdict.groups) == (0, 0)
    program = [sys.executable, str(folder / "verify.py")]
    assert subprocess.run(program, check=False, capture_output=True).returncode == 3  # chance is not in its cells
    empty = PEOPLE.slice(0, 0)
    assert [
        one.id for one in ix.verify(empty, replace(DRAWN, privacy=[ix.KAnonymity(1)])).checks if not one.passed
    ] == ["cells.rows"]


def test_too_few_people_for_one_group_leave_nothing() -> None:
    """That there are so few must not be told either."""
    with ix.anonymize(PEOPLE.slice(0, 10), DRAWN) as release:
        assert MODEL.k > 10
        assert release.facts.released == 0


# --- what tells of people who were not drawn --------------------------------------------------------------------------

STAYS = {
    "a missing cell": {"age": None, "sex": "f"},
    "a fraction": {"age": 30.5, "sex": "f"},
    "no number": {"age": "unknown", "sex": "f"},
    "a number that no other has": {"age": 10**12, "sex": "f"},
    "a text that no other has": {"age": 30, "sex": 'Ä, "b"'},
}
"""Somebody who is never drawn, and whose cells are like no others."""


def without_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the lowest levels, and everybody but those whose cells nobody shares."""
    monkeypatch.setattr(safepub, "draw_rows", lambda counts, share, draws: np.where(counts > 1, counts, 0))
    monkeypatch.setattr(safepub, "draw_node", lambda task, model, levels, watch: tuple(one[0] for one in levels))


def told_by(rows: list[dict[str, object]], kind: str, policy: ix.Policy, folder: Path) -> object:
    """Return all that leaves the house: the files, the manifest, the rows and their types, and what the release
    shows.
    """
    folder.mkdir()
    frame = pd.DataFrame(rows, dtype=None if kind == "pandas" else object)
    source: object = folder / f"people.{kind}"
    if kind == "jsonl":
        (folder / "people.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    elif kind == "csv":
        frame.to_csv(folder / "people.csv", index=False)
    elif kind == "xlsx":
        frame.to_excel(folder / "people.xlsx", index=False)
    else:
        source = frame
    with ix.anonymize(source, policy) as release:
        written = release.write(folder / "release")
        release.report(folder / "report.html", edition="public")
        said = json.loads((written / "manifest.json").read_text("utf-8"))
        del said["made_at"], said["files"]
        table = release.table if isinstance(release.table, pa.Table) else pa.Table.from_pandas(release.table)
        page = re.sub("made on [^<]*|[0-9-]+T[0-9:+.]+|[0-9a-f]{64}", "", (folder / "report.html").read_text("utf-8"))
        names = sorted(path.name for path in written.iterdir())
        return names, said, table.schema.types, Counter(map(str, table.to_pylist())), repr(release), str(release), page


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx", "pandas"])
def test_who_is_not_drawn_leaves_no_trace(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_chance(monkeypatch)
    people: list[dict[str, object]] = [{"age": 20 + i % 3, "sex": "fm"[i % 2]} for i in range(150)]
    columns = {"age": ix.quasi(ix.intervals(10, 20), unreadable="missing"), "sex": ix.quasi(ix.suppress())}
    policy = ix.Policy(columns, [ix.DifferentialPrivacy(3.0, 0.3)], algorithm="safepub")
    alone = told_by(people, kind, policy, tmp_path / "alone")
    for number, (what, stays) in enumerate(STAYS.items()):
        try:
            assert told_by([*people, stays], kind, policy, tmp_path / str(number)) == alone, what
        except (ix.PolicyError, ix.TableError) as error:  # nothing is released then
            assert kind != "csv"
            assert re.search("cells of floating numbers read 20.0|mixes types", str(error))  # noqa: PT017


def test_levels_are_not_chosen_and_tables_not_made_by_looking() -> None:
    policy = ix.Policy(
        {"sex": ix.quasi(ix.suppress())}, [ix.DifferentialPrivacy(3.0, 0.3, sampled=0.1)], algorithm="safepub"
    )
    table = PEOPLE.slice(0, 12).select(["sex"])
    with pytest.raises(ix.PolicyError, match="for differential privacy levels are drawn"):
        ix.solutions(table, policy)
    with pytest.raises(ix.PolicyError, match="'mingen-cell' draws no rows at random"):
        ix.best_tables(table, policy)


@pytest.mark.slow
def test_floating_numbers_are_reported_by_their_intervals_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    without_chance(monkeypatch)
    table = pa.table({"weight": [60.0 + i % 3 for i in range(90)]})
    for hierarchy, lowest, is_taken in [
        (ix.intervals(5, 10), None, False),
        (ix.intervals(5, 10), 1, True),
        (ix.rounding(5), 1, True),
        (ix.suppress(), 1, False),
    ]:
        column = ix.quasi(hierarchy, min_level=lowest)
        policy = ix.Policy({"weight": column}, [ix.DifferentialPrivacy(3.0, 0.3)], algorithm="safepub")
        assert ix.check(table, policy).is_feasible is is_taken
        if is_taken:
            assert ix.anonymize(table, policy).verify(table).passed


def test_check_reminds_of_what_no_epsilon_counts() -> None:
    listed = ix.levels([["f", "*"], ["m", "*"]])
    for table, names in ((PEOPLE, "; sex: just the values of the table"), (PEOPLE.slice(0, 1), "")):
        policy = ix.Policy(DRAWN.columns | {"sex": ix.quasi(listed)}, DRAWN.privacy, algorithm="safepub")
        (note,) = ix.check(table, policy).notes
        assert "nothing of the policy was made from this table" in note
        assert note.endswith("as if they came from it") is bool(names)
        assert names in note
    assert ix.check(PEOPLE, ix.Policy(DRAWN.columns, [ix.KAnonymity(2)])).notes == ()
