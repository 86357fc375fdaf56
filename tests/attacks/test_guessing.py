"""Attacks that guess: rates with intervals, and each attack both ways, on releases made to be broken and on chance."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from functools import partial
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import commands
from helpers.profiles import examples
from indistinct.attacks.guessing.guess_report import Guess
from indistinct.attacks.guessing.inference import InferenceReport
from indistinct.attacks.guessing.rates import difference, paired_difference, wilson
from indistinct.engine.duckdb.rows import DuckEncoded
from indistinct.engine.plans import Counts
from indistinct.policy.files.policy_file import policy_toml

run = partial(commands.run, "attack")


# Rates


def test_the_intervals_of_rates_are_those_that_newcombe_published() -> None:
    """Statistics in Medicine 17 (1998): 877, Table II, method 10 for 56/70 and 48/80, 9/10 and 3/10, 10/10 and 0/10."""
    published = {
        (56, 70, 48, 80): (0.0524, 0.3339),
        (9, 10, 3, 10): (0.1705, 0.8090),
        (10, 10, 0, 10): (0.6075, 1.0),
        (5, 56, 0, 29): (-0.0381, 0.1926),
    }
    for counts, interval in published.items():
        assert [round(end, 4) for end in difference(*counts)] == list(interval)
    assert wilson(0, 0) == (0.0, 1.0)
    assert difference(0, 0, 1, 2) == (-1.0, 1.0) == paired_difference(0, 0, 0, 0)


@pytest.mark.parametrize("shares", [(0.4, 0.2, 0.1, 0.3), (0.1, 0.2, 0.25, 0.45), (0.7, 0.15, 0.15, 0.0)])
def test_the_interval_of_a_paired_difference_holds_it_in_95_of_100_tables(shares: tuple[float, ...]) -> None:
    """Counted exactly over all tables of 30 people, weighted by how likely each is."""
    people, wanted, held = 30, shares[1] - shares[2], 0.0
    for first, second, third in product(range(people + 1), repeat=3):
        counts = (first, second, third, people - first - second - third)
        if counts[3] < 0 or (shares[3] == 0 and counts[3]):
            continue
        low, high = paired_difference(*counts)
        if low <= wanted <= high:
            log = math.lgamma(people + 1) - sum(math.lgamma(count + 1) for count in counts)
            held += math.exp(log + sum(n * math.log(p) for n, p in zip(counts, shares, strict=True) if n))
    assert 0.93 < held < 0.995


# Inference

AGES = [str(age) for age in range(20, 60)]
ILLNESSES = ["flu", "gout", "HIV", "rash"]
PEOPLE = ix.Policy(
    columns={
        "age": ix.quasi(ix.intervals(10, 20, top="*")),
        "sex": ix.quasi(ix.suppress()),
        "ill": ix.sensitive(),
    },
    privacy=[ix.KAnonymity(2)],
)


def people(number: int, seed: int, illness: Any = None) -> pa.Table:
    """Random people; ``illness`` gives that of somebody, else it is drawn."""
    draw = random.Random(seed)
    ages, sexes = [draw.choice(AGES) for _ in range(number)], [draw.choice("fm") for _ in range(number)]
    ill = [draw.choice(ILLNESSES) if illness is None else illness(*one) for one in zip(ages, sexes, strict=True)]
    return pa.table({"age": ages, "sex": sexes, "ill": ill})


def label_of(age: str, level: int) -> str:
    """Write an age at a level, by hand."""
    if level == 0:
        return age
    width = 10 if level == 1 else 20
    low = int(age) // width * width
    return f"{low}-{low + width - 1}" if level < 3 else "*"


def covers(label: str, value: str) -> bool:
    """Return whether a label covers a value, by hand."""
    if label in ("*", value):
        return True
    return value.isdigit() and any(label == label_of(value, level) for level in (1, 2))


def oracle(
    taught: list[dict[str, str]], about: list[dict[str, str]], domain: dict[str, list[str]], blur: Any
) -> tuple[int, int]:
    """Guess by naive Bayes, row by row with plain numbers; give the fewest and the most that may be right.

    ``blur`` gives the labels of a cell, each with its share. Values as likely as the best may be guessed or not.
    """
    values = Counter(row["ill"] for row in taught)
    weights: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in domain}
    for row, name in product(taught, domain):
        for label, share in blur(name, row[name]).items():
            inside = [value for value in domain[name] if covers(label, value)]
            for value in inside:
                weights[name][value, row["ill"]] += share / len(inside)
    fewest = most = 0
    for person in about:
        scores = {}
        for ill, number in values.items():
            scores[ill] = math.log(number)
            for name in domain:
                overall = sum(weights[name][person[name], one] for one in values) / sum(weights[name].values())
                rows = sum(weights[name][value, ill] for value in domain[name])
                scores[ill] += math.log((weights[name][person[name], ill] + overall + 1e-12) / (rows + 1))
        best = [ill for ill, score in scores.items() if score > max(scores.values()) - 1e-4]
        fewest += best == [person["ill"]]
        most += person["ill"] in best
    return fewest, most


SMALL = st.lists(
    st.tuples(st.sampled_from(AGES[8:14]), st.sampled_from("fm"), st.sampled_from(ILLNESSES[:3]), st.integers(0, 7)),
    min_size=4,
    max_size=14,
)


@pytest.mark.slow
@examples(40, opens_tables=True)
@given(SMALL, SMALL)
def test_the_learner_guesses_what_plain_arithmetic_guesses(
    private: list[tuple[str, str, str, int]], others: list[tuple[str, str, str, int]]
) -> None:
    """Each released row has labels of its own levels, as a local recoding gives them."""
    original, control = (
        [dict(zip(("age", "sex", "ill"), row[:3], strict=True)) for row in rows] for rows in (private, others)
    )
    released = [
        {"age": label_of(age, levels % 4), "sex": "*" if levels > 3 else sex, "ill": ill}
        for age, sex, ill, levels in private
    ]
    domain = {name: sorted({row[name] for row in [*original, *control]}) for name in ("age", "sex")}

    def blur(name: str, value: str) -> dict[str, float]:
        """Return the labels of other people's cells, as often as rows with this value are expected to have them."""
        found: Counter[str] = Counter()
        for row in released:
            if covers(row[name], value):
                found[row[name]] += 1 / sum(covers(row[name], one) for one in domain[name])
        return {label: number / sum(found.values()) for label, number in found.items()}

    tables = [pa.Table.from_pylist(rows) for rows in (released, original, control)]
    guess = ix.attacks.inference(tables[0], PEOPLE, tables[1], control=tables[2], threads=1).guesses[0]
    assert guess.people == len(original)
    fewest, most = oracle(released, original, domain, lambda name, label: {label: 1.0})
    assert fewest <= guess.right <= most
    fewest, most = oracle(control, original, domain, blur)
    assert fewest <= guess.control_right <= most
    mode = max(Counter(row["ill"] for row in original).values())
    assert guess.baseline_right is not None
    assert guess.baseline_right <= mode


def test_inference_breaks_a_release_that_tells_the_values_of_its_people() -> None:
    """Everybody shares a room, and an illness, with one other; who else slept in that room has any illness."""
    draw = random.Random(4)
    of_room = [draw.choice(ILLNESSES) for _ in range(150)]
    numbers = [str(row // 2) for row in range(300)]
    rooms = pa.table({"room": numbers, "ill": [of_room[row // 2] for row in range(300)]})
    others = pa.table({"room": numbers, "ill": [draw.choice(ILLNESSES) for _ in range(300)]})
    policy = ix.Policy(columns={"room": ix.quasi(), "ill": ix.sensitive()}, privacy=[ix.KAnonymity(2)])
    with ix.anonymize(rooms, policy) as release:
        report = ix.attacks.inference(release, policy, rooms, control=others)
        (divided,) = ix.attacks.inference(release, policy, rooms).guesses
    (guess,) = report.guesses
    assert guess.rate == 1.0
    assert guess.control < 0.45
    assert guess.interval[0] > 0.5
    assert report.found
    assert guess.control < divided.control < 1, "whoever shares the room teaches the control, unless others do"
    assert "ask for t-closeness" in str(report)
    assert report.to_dict()["guesses"][0]["is_found"]
    assert "inference" in report._repr_html_()


def test_inference_finds_nothing_where_values_are_drawn_by_chance() -> None:
    private = people(1500, seed=7)
    policy = ix.Policy(columns=PEOPLE.columns, privacy=[ix.KAnonymity(100)])
    for algorithm in ("lattice", "mondrian"):
        with ix.anonymize(private, policy, algorithm=algorithm) as release:
            report = ix.attacks.inference(release, policy, private)
        assert not report.found, report
        assert abs(report.guesses[0].rate - 0.25) < 0.06
        assert report.summary.endswith("more often than one that was trained on other people")


@pytest.mark.parametrize(("least", "words"), [(-0.01, "no more often"), (0.013, "hardly more often")])
def test_a_summary_does_not_deny_what_its_rates_say(least: float, words: str) -> None:
    """Above the control for sure, but not above the most frequent value: nothing is found, and it is said so."""
    guess = Guess("ill", 1000, 160, 1000, 144, (least, 0.02), baseline_right=149, baseline_interval=(0.004, 0.02))
    report = InferenceReport((guess,))
    assert not report.found
    assert f"right {words} than" in report.summary


def test_what_holds_for_everybody_is_not_held_against_a_release() -> None:
    """The young have flu: a learner guesses that from any people, in the release or not."""
    private = people(400, seed=1, illness=lambda age, sex: "flu" if age < "40" else "gout")
    others = people(400, seed=2, illness=lambda age, sex: "flu" if age < "40" else "gout")
    with ix.anonymize(private, PEOPLE) as release:
        for control in (None, others):
            (guess,) = ix.attacks.inference(release, PEOPLE, private, control=control).guesses
            assert guess.rate == guess.control == 1.0
            assert not guess.is_found
            assert guess.baseline is not None
            assert guess.baseline < 0.7


def test_inference_learns_from_the_classes_of_two_tables() -> None:
    private = people(300, seed=3, illness=lambda age, sex: ILLNESSES[int(age) % 2 + 2 * (sex == "f")])
    policy = ix.Policy(columns=PEOPLE.columns, privacy=[ix.LDiversity(2)], algorithm="anatomy")
    with ix.anonymize(private, policy) as release:
        (guess,) = ix.attacks.inference(release, policy, private).guesses
    assert guess.baseline is not None
    assert guess.rate > guess.baseline + 0.2


# Minimality


def fails_alone(values: list[str], model: ix.AlphaK | ix.LDiversity) -> bool:
    """Return whether a part fails a model, by hand."""
    if isinstance(model, ix.LDiversity):
        return len(set(values)) < model.l
    return len(values) < model.k or max(Counter(values).values()) > model.alpha * len(values) + 1e-9


@pytest.mark.slow
@examples(60, opens_tables=True)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["flu", "gout", "HIV"])), min_size=4, max_size=6),
    st.sampled_from([ix.AlphaK(0.5, 2), ix.LDiversity(2), ix.AlphaK(0.7, 1)]),
)
def test_what_is_believed_is_what_counting_all_worlds_gives(
    private: list[tuple[str, str]], model: ix.AlphaK | ix.LDiversity
) -> None:
    """Of all ways of handing out the illnesses those count in which a house by itself would have failed."""
    houses, ills = [house for house, _ in private], [ill for _, ill in private]
    policy = ix.Policy(columns={"house": ix.quasi(ix.suppress()), "ill": ix.sensitive()}, privacy=[model])
    table = pa.table({"house": houses, "ill": ills})
    report = ix.attacks.minimality(pa.table({"house": ["*"] * len(ills), "ill": ills}), policy, table, threads=1)
    worlds = list(permutations(ills))
    left = [
        world
        for world in worlds
        if len(set(houses)) > 1
        and any(
            fails_alone([ill for at, ill in zip(houses, world, strict=True) if at == one], model)
            for one in "ab"
            if one in houses
        )
    ]
    raised, firmest = 0, 0.0
    if left and len(left) < len(worlds):
        for person in range(len(ills)):
            beliefs = {ill: sum(world[person] == ill for world in left) / len(left) for ill in set(ills)}
            if max(beliefs[ill] - ills.count(ill) / len(ills) for ill in beliefs) > 0.01:
                raised, firmest = raised + 1, max(firmest, *beliefs.values())
    assert report.raised == raised
    assert abs(report.highest - firmest) < 1e-9


OTHERS = ["flu", "gout", "rash", "cold", "burn"]


def towns(number: int, draw: random.Random, *, is_planted: bool) -> pa.Table:
    """Towns of two houses, with two people and with five; if it is planted the two have HIV, else it is drawn."""
    rows = []
    for town in range(number):
        ills = ["HIV", "HIV", *draw.sample(OTHERS, 5)]
        if not is_planted:
            draw.shuffle(ills)
        rows += [(f"{town:02}{'a' if place < 2 else 'b'}", ill) for place, ill in enumerate(ills)]
    return pa.table({"house": [house for house, _ in rows], "ill": [ill for _, ill in rows]})


def test_minimality_breaks_a_release_that_was_generalized_for_two_people_with_hiv() -> None:
    """Wong et al., section 1: of seven people in a town two share a house; it was generalized since both have HIV."""
    policy = ix.Policy(
        columns={"house": ix.quasi(ix.prefix(3, keep=[2])), "ill": ix.sensitive()}, privacy=[ix.AlphaK(0.5, 2)]
    )
    private = towns(20, random.Random(2), is_planted=True)
    with ix.anonymize(private, policy, algorithm="mondrian") as release:
        assert set(release.table["house"].to_pylist()) == {f"{town:02}*" for town in range(20)}
        report = ix.attacks.minimality(release, policy, private)
    (guess,) = report.guesses
    assert report.highest == 1.0, "both of the small house have HIV for certain"
    assert report.raised == guess.people == 140
    assert guess.control_right == 40, "HIV is the most frequent illness of every town"
    assert guess.right > 55, "HIV for the two, and one of five illnesses for the others"
    assert report.found


def test_minimality_finds_nothing_where_the_search_saw_no_illness() -> None:
    """Every town was generalized whatever its illnesses are, so nothing follows from that it was."""
    columns = {"house": ix.quasi(ix.prefix(3, keep=[2])), "ill": ix.sensitive()}
    draw = random.Random(6)
    private = towns(60, draw, is_planted=False)
    claimed = ix.Policy(columns=columns, privacy=[ix.AlphaK(0.5, 2)])
    released = pa.table({"house": [f"{house[:2]}*" for house in private["house"].to_pylist()], "ill": private["ill"]})
    two_levels = pa.concat_tables([released, pa.table({"house": ["99x"] * 3, "ill": ["flu", "gout", "rash"]})])
    source = pa.concat_tables([private, pa.table({"house": ["99x"] * 3, "ill": ["flu", "gout", "rash"]})])
    report = ix.attacks.minimality(two_levels, claimed, source)
    assert report.groups == 60
    assert not report.found, report
    with pytest.raises(ix.PolicyError, match="the search saw none"):
        ix.attacks.minimality(released, ix.Policy(columns=columns, privacy=[ix.KAnonymity(5)]), private)


# deFinetti


def ward(number: int, seed: int, *, is_planted: bool) -> pa.Table:
    """Whoever smokes coughs, mostly, if it is planted; else illnesses are drawn."""
    draw = random.Random(seed)
    rows = []
    for _ in range(number):
        smokes, age, bed = draw.choice(["yes", "no"]), draw.randrange(20, 60), draw.randrange(40)
        likely = "cough" if smokes == "yes" else "gout" if age > 40 else "rash"
        ill = likely if is_planted and draw.random() < 0.8 else draw.choice([*ILLNESSES, "cough"])
        rows.append({"smokes": smokes, "age": str(age), "bed": str(bed), "ill": ill})
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("is_planted", [True, False])
def test_definetti_breaks_classes_whose_illness_goes_with_smoking_and_no_others(is_planted: bool) -> None:
    policy = ix.Policy(
        columns={name: ix.quasi() for name in ("smokes", "age", "bed")} | {"ill": ix.sensitive()},
        privacy=[ix.LDiversity(2)],
        max_suppression=0.3,
    )
    private = ward(600, 11, is_planted=is_planted)
    with ix.anonymize(private, policy, algorithm=ix.Anatomy(seed=3)) as release:
        report = ix.attacks.definetti(release, policy, private)
    (guess,) = report.guesses
    assert abs(guess.control - 0.5) < 0.07
    if is_planted:
        assert guess.rate > 0.75
        assert guess.interval[0] > 0.2
    else:
        assert not guess.is_found
        assert abs(guess.difference) < 0.1


def test_definetti_takes_two_tables_and_minimality_one() -> None:
    private = people(40, seed=8)
    policy = ix.Policy(columns=PEOPLE.columns, privacy=[ix.LDiversity(2)])
    with ix.anonymize(private, policy) as one, ix.anonymize(private, policy, algorithm=ix.Anatomy()) as two:
        with pytest.raises(ix.PolicyError, match="definetti"):
            ix.attacks.definetti(one, policy, private)
        found = [ix.attacks.run(release, policy, original=private, most=2) for release in (one, two)]
    assert max(len(outcome.findings) for run in found for outcome in run.outcomes) == 2  # of three ways to single out
    assert [[guess in run.not_run for guess in ("minimality", "definetti")] for run in found] == [
        [False, True],
        [True, False],
    ]


@pytest.mark.slow
def test_guesses_on_the_command_line(tmp_path: Path) -> None:
    private = people(60, seed=5)
    import pyarrow.csv

    pyarrow.csv.write_csv(private, tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(policy_toml(PEOPLE), "utf-8")
    ix.anonymize(private, PEOPLE).write(tmp_path / "release")
    given = ("inference", tmp_path / "policy.toml", tmp_path / "release", tmp_path / "people.csv")
    said = json.loads(run(*given, "--json").stdout)
    assert said["attack"] == "inference"
    assert said["guesses"][0]["people"] == 60
    shown = run(*given, "--known", "age", "--control", tmp_path / "people.csv")
    assert shown.exit_code == 0
    assert "assumed: somebody's quasi cells" in shown.output
    for mistake in (("--known", "height"), ("--control", tmp_path / "release" / "manifest.json")):
        refused = run(*given, *mistake)
        assert refused.exit_code in (2, 3)
        assert "Traceback" not in refused.output
    everything = json.loads(run("all", *given[1:3], "--original", given[3], "--json").stdout)
    assert "inference" in [one["attack"] for one in everything["outcomes"]]
    without = json.loads(run("all", *given[1:3], "--json").stdout)
    assert "original was not given" in without["not_run"]["inference"]


# Singling out


def test_singling_out_counts_whom_a_description_fits() -> None:
    """Bills single people out where each has one of her own; where all have the same, nobody is alone."""
    columns = {"age": ix.quasi(ix.intervals(10, 20, top="*")), "sex": ix.quasi(ix.suppress()), "bill": ix.other()}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(10)])
    draw = random.Random(1)
    found = {}
    for is_planted in (True, False):
        rows = [
            {"age": draw.choice(AGES), "sex": draw.choice("fm"), "bill": str(row if is_planted else row % 2)}
            for row in range(200)
        ]
        private = pa.Table.from_pylist(rows)
        with ix.anonymize(private, policy) as release:
            report = ix.attacks.singling_out(release, policy, private, tries=100)
            others = pa.Table.from_pylist([row | {"bill": "9"} for row in rows])
            held = ix.attacks.singling_out(release, policy, private, control=others, cells=[2], tries=100)
        found[is_planted] = report
        assert held.guesses[0].control_right == 0, "nobody of the others has such a bill, and quasi cells fit ten"
    two, three = found[True].guesses
    assert three.what == "3 cells"
    assert three.rate == 1.0, "all columns are known, and each has a bill of her own"
    assert three.control < 0.5
    assert three.is_found
    assert 0.4 < two.rate < 0.9, "two of three columns have the bill in two of three cases"
    assert all(guess.right == 0 and not guess.is_found for guess in found[False].guesses)


def test_a_report_answers_the_three_questions(tmp_path: Path) -> None:
    private = people(80, seed=5)
    policy = ix.Policy(columns=PEOPLE.columns, privacy=[ix.KAnonymity(5)])
    with ix.anonymize(private, policy) as release:
        from indistinct.report import render, report_facts

        inside = report_facts(release, policy, original=private)
        outside = report_facts(release, policy, edition="public", original=private)
    for facts in (inside, outside):
        assert [one["question"] for one in facts["questions"]] == ["singling out", "linking", "inference"]
        assert all(one["clauses"] for one in facts["questions"])
        assert "Three questions" in render(facts)
    assert all(
        0 <= one["rate"] <= 1 and one["interval"][0] <= one["difference"] <= one["interval"][1]
        for one in inside["questions"]
    )
    assert ["rate" in one for one in outside["questions"]] == [False, True, False]
    assert "law is met" in render(outside)


def test_what_is_drawn_does_not_follow_from_how_rows_were_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database gives groups in any order, and in another one the next time."""
    cells = [random.Random(row).choice("abcd") for row in range(60)]
    table = pa.table({"age": [str(row % 7) for row in range(60)], "job": cells, "bill": list(map(str, range(60)))})
    columns = {"age": ix.quasi(), "job": ix.quasi(), "bill": ix.other()}
    asked = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])
    found = ix.attacks.singling_out(table, asked, table)
    count_by = DuckEncoded.count_by

    def otherwise(self: DuckEncoded, *given: Any, **more: Any) -> Counts:
        counts = count_by(self, *given, **more)
        return Counts(tuple(codes[::-1] for codes in counts.codes), counts.counts[::-1])

    monkeypatch.setattr(DuckEncoded, "count_by", otherwise)
    assert ix.attacks.singling_out(table, asked, table) == found
