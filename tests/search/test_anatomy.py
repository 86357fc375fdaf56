"""Anatomy: classes as Xiao and Tao draw them, as few suppressed rows as possible, and that every answer holds."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers import adversary
from helpers.papers import table_of
from helpers.profiles import examples
from indistinct import testing
from indistinct.cli import app
from indistinct.counting import FrequencyList, Groups, Sensitive, Tally, encode_eligible
from indistinct.engine import open_table
from indistinct.hierarchy import suppress
from indistinct.progress import Watch
from indistinct.recoding import SUPPRESSED
from indistinct.search import Task
from indistinct.search.two_tables.anatomy import Anatomy

COUNTS = st.lists(st.integers(1, 7), min_size=1, max_size=6)


def task_of(tuples, values, *models, **more):
    """Return a task over one quasi column: so many rows for each pair of a tuple and a value."""
    counts = Counter(zip(tuples, values, strict=True))
    names = [sorted(set(part)) for part in (tuples, values)]
    codes = [np.array([known.index(pair[side]) for pair in counts], np.uint64) for side, known in enumerate(names)]
    frequencies = FrequencyList.of_codes(
        ["who"],
        [suppress().compile(names[0])],
        codes[:1],
        np.array(list(counts.values()), np.int64),
        sensitive={"illness": (Sensitive(tuple(names[1])), codes[1])},
    )
    columns = {"who": ix.quasi(ix.suppress()), "illness": ix.sensitive()}
    return Task.of(frequencies, ix.Policy(columns=columns, privacy=models, **more))


def values_of(counts):
    return [f"v{value}" for value, number in enumerate(counts) for _ in range(number)]


def task_of_counts(counts, *models, **more):
    """Return a task of people who all differ, so many of them with each value."""
    values = values_of(counts)
    return task_of([f"p{number:04}" for number in range(len(values))], values, *models, **more)


def classes_of(found):
    """Return the rows of each class as pairs of a tuple and a value, one for each row."""
    frequencies, pieces = found.frequencies, found.pieces
    who = [frequencies.hierarchies[0].values[code] for code in frequencies.entry_codes(0)]
    illness = [frequencies.sensitive["illness"].values[code] for code in frequencies.entries.codes["illness"]]
    rows = [
        (group, who[entry], illness[entry])
        for entry, number, group in zip(pieces.tuples, pieces.rows, pieces.groups, strict=True)
        for _ in range(number)
    ]
    return adversary.classes([row for row in rows if row[0] != SUPPRESSED])


def refused(task, algorithm):
    """Return the answer, or None if there is none."""
    try:
        return algorithm.run(task, Watch())
    except ix.InfeasibleError:
        return None


# As Xiao and Tao draw them.


def hands(counts, number):
    """Deal as in the paper, naively: while enough values have rows, one row of each of the most frequent."""
    left, dealt = dict(enumerate(counts)), []
    while sum(rows > 0 for rows in left.values()) >= number:
        hand = sorted(left, key=lambda value: (-left[value], value))[:number]
        for value in hand:
            left[value] -= 1
        dealt.append(frozenset(f"v{value}" for value in hand))
    return dealt, {f"v{value}": rows for value, rows in left.items() if rows}


@given(COUNTS, st.integers(2, 5))
@examples(200)
def test_classes_are_those_of_the_paper(counts, number):
    """Eligible if and only if no value has more than one in l of the rows; then at most l - 1 rows are left over.

    Xiao and Tao 2006, Properties 1 to 3: each value has one row left at most, a class lacks it, and so every class has
    different values only.
    """
    task = task_of_counts(counts, ix.LDiversity(number))
    found = refused(task, Anatomy())
    is_eligible = max(counts) * number <= sum(counts)
    event("eligible" if is_eligible else "not eligible")
    assert (found is not None) == is_eligible
    if found is None:
        return
    classes = classes_of(found)
    dealt, left = hands(counts, number)
    assert len(left) < number
    assert set(left.values()) <= {1}
    assert len(classes) == len(dealt) == sum(counts) // number
    shown = [frozenset(value for _, value in rows) for rows in classes.values()]
    for rows, values in zip(classes.values(), shown, strict=True):
        assert len(values) == len(rows), "no value occurs twice in a class"
        assert number <= len(rows) <= 2 * number - 1
    assert sorted(who for rows in classes.values() for who, _ in rows) == [f"p{n:04}" for n in range(sum(counts))]
    if not left:
        assert Counter(shown) == Counter(dealt)
        event("nothing left over")


def test_a_left_over_row_joins_any_class_that_lacks_its_value():
    dealt, left = hands([3, 2, 1, 1], 2)
    assert (len(dealt), left) == (3, {"v3": 1})
    expected = set()
    for chosen, values in enumerate(dealt):
        if "v3" not in values:
            joined = [other | {"v3"} if number == chosen else other for number, other in enumerate(dealt)]
            expected.add(frozenset(Counter(joined).items()))
    seen = set()
    for _ in range(60):
        classes = classes_of(Anatomy().run(task_of_counts([3, 2, 1, 1], ix.LDiversity(2)), Watch()))
        seen.add(frozenset(Counter(frozenset(value for _, value in rows) for rows in classes.values()).items()))
    assert seen == expected
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("models", "smallest"),
    [
        ([ix.LDiversity(3)], 3),
        ([ix.AlphaK(0.25, 1)], 4),
        ([ix.AlphaK(0.33, 1)], 4),
        ([ix.AlphaK(1 / 3, 1)], 3),
        ([ix.PSensitive(3, 1)], 3),
        ([ix.LDiversity(2), ix.LDiversity(4, "entropy")], 4),
        ([ix.TCloseness(1.0)], 2),
    ],
    ids=str,
)
def test_without_l_it_is_the_largest_that_the_models_ask_for(models, smallest):
    found = Anatomy().run(task_of_counts([6] * 6, *models), Watch())
    assert set(found.sizes.tolist()) == {smallest}


def test_l_may_be_larger_than_what_the_models_ask_for():
    found = Anatomy(4).run(task_of_counts([6] * 6, ix.LDiversity(2)), Watch())
    assert set(found.sizes.tolist()) == {4}


# Too frequent values.


@given(COUNTS, st.integers(2, 4), st.integers(0, 12))
@examples(150)
def test_as_few_rows_of_too_frequent_values_are_suppressed_as_can_be(counts, number, limit):
    best = max(
        (
            sum(kept)
            for kept in itertools.product(*(range(rows + 1) for rows in counts))
            if max(kept) * number <= sum(kept)
        ),
    )
    found = refused(task_of_counts(counts, ix.LDiversity(number), max_suppression=limit), Anatomy())
    least = sum(counts) - best
    event(f"{'some' if least else 'none'} to suppress, {'allowed' if least <= limit and best else 'not allowed'}")
    if least > limit or best == 0:
        assert found is None
        return
    assert found is not None
    assert found.suppressed_rows == least
    for rows in classes_of(found).values():
        assert len({value for _, value in rows}) == len(rows) >= number


def test_the_whole_table_is_what_is_released_for_models_that_compare_with_it():
    """Of ten rows of flu six are suppressed; the others are as close to what is left as can be, not to all rows."""
    table = table_of(("who", "illness"), [(f"p{n}", value) for n, value in enumerate(["flu"] * 10 + ["HIV"] * 4)])
    columns = {"who": ix.quasi(ix.suppress()), "illness": ix.sensitive()}
    policy = ix.Policy(columns, [ix.LDiversity(2), ix.TCloseness(0.1)], max_suppression=6)
    with ix.anonymize(table, policy, algorithm=Anatomy()) as release:
        assert release.suppressed == 6
        assert release.facts.groups == 4
        assert release.verify(table).passed


@pytest.mark.parametrize(
    ("counts", "limit", "words"),
    [
        ([6, 2, 2], 0, "makes up 60 % of the rows, but classes of 3 different values allow at most 33.33 %"),
        ([6, 2, 2], 3, "lower l, allow 4 suppressed rows, or use lossy-join"),
        ([6, 4], 10, "lower l, or use lossy-join"),
    ],
)
def test_a_refusal_says_how_much_is_too_much_and_what_to_do(counts, limit, words):
    with pytest.raises(ix.InfeasibleError) as caught:
        Anatomy().run(task_of_counts(counts, ix.LDiversity(3), max_suppression=limit), Watch())
    assert words in str(caught.value)
    assert caught.value.exit_code == 3
    assert "v0" not in str(caught.value)


def test_a_model_that_not_even_all_rows_satisfy_is_refused_in_its_own_words():
    with pytest.raises(ix.InfeasibleError, match="rows: 6; even as one group they have an average risk"):
        Anatomy().run(task_of_counts([3, 3], ix.LDiversity(2), ix.AverageRisk(0.1)), Watch())


# Other models.


MODELS = [
    [ix.LDiversity(2), ix.KAnonymity(5)],
    [ix.AlphaK(0.5, 3)],
    [ix.AlphaK({"v0": 0.2}, 1)],
    [ix.LDiversity(2, "recursive", c=1.0)],
    [ix.LDiversity(2, "entropy")],
    [ix.TCloseness(0.25)],
    [ix.BetaLikeness(0.5)],
    [ix.DeltaDisclosure(1.5)],
    [ix.PSensitive(2, 4)],
    [ix.LDiversity(2), ix.AverageRisk(0.3)],
]


@pytest.mark.parametrize("models", MODELS, ids=str)
def test_classes_are_joined_until_every_model_holds(models):
    @examples(25, derandomize=True, database=None)
    @given(COUNTS, st.integers(2, 9), st.sampled_from([0, 5]))
    def check(counts, people, limit):
        values = values_of(counts)
        task = task_of([f"p{number % people}" for number in range(len(values))], values, *models, max_suppression=limit)
        found = refused(task, Anatomy())
        if found is None:
            return
        event("answered")
        frequencies, pieces = found.frequencies, found.pieces
        placed = np.bincount(pieces.tuples, pieces.rows, len(frequencies.entries))
        assert (placed == frequencies.entries.counts).all(), "every row has its place"
        assert found.suppressed_rows <= limit
        is_released = pieces.groups != SUPPRESSED
        codes = frequencies.entries.codes["illness"][pieces.tuples[is_released]]
        tally = Tally.of(
            pieces.groups[is_released], codes, pieces.rows[is_released], frequencies.sensitive["illness"].values
        )
        groups = Groups.of_sizes(found.sizes, {"illness": tally})
        for model in models:
            assert model.satisfied(groups).all(), model
        if any(getattr(model, "k", 1) > 1 for model in models):
            stands_in = Counter(who for rows in classes_of(found).values() for who in {who for who, _ in rows})
            assert set(stands_in.values()) == {1}, "equal quasi-identifiers are in one class"

    check()


def test_as_few_classes_as_needed_are_joined():
    """k = 5 with classes of two: three are joined, not four."""
    found = Anatomy(2).run(task_of_counts([30, 30], ix.LDiversity(2), ix.KAnonymity(5)), Watch())
    assert set(found.sizes.tolist()) == {6}


def test_classes_that_fail_together_take_in_safe_ones():
    """The left-over value is rare and limited: the class that has it needs company of the others."""
    found = Anatomy(2).run(task_of_counts([20, 19, 1], ix.LDiversity(2), ix.AlphaK({"v2": 0.1}, 1)), Watch())
    classes = classes_of(found)
    with_it = [rows for rows in classes.values() if "v2" in {value for _, value in rows}]
    assert len(with_it) == 1
    assert len(with_it[0]) >= 10
    assert len(classes) > 10


@pytest.mark.parametrize("model", [ix.LDiversity(2, column="illness"), ix.AlphaK(0.6, 2, column="illness")], ids=str)
def test_it_answers_or_refuses_every_task(model):
    """Random hierarchies, weights, missing values and quasi-identifiers."""

    @examples(40, derandomize=True, database=None)
    @given(testing.tasks(models=[model]))
    def check(task):
        found = refused(task, Anatomy())
        if found is not None:
            assert (found.sizes >= 2).all()
            assert found.suppressed_rows <= task.budget

    check()


# Chance.


def test_classes_are_drawn_anew_each_time_and_alike_with_a_seed():
    task = task_of_counts([10, 10, 10], ix.LDiversity(3))

    def drawn(algorithm):
        return {frozenset(rows) for rows in map(tuple, classes_of(algorithm.run(task, Watch())).values())}

    assert drawn(Anatomy()) != drawn(Anatomy())
    assert drawn(Anatomy(seed=7)) == drawn(Anatomy(seed=7)) != drawn(Anatomy(seed=8))


@pytest.mark.slow
def test_everybody_meets_everybody_equally_often():
    """Six rows of each of two values: a given pair meets once in six times. Five deviations are one in 10⁶."""
    task, times = task_of_counts([6, 6], ix.LDiversity(2)), 600
    met = Counter()
    for _ in range(times):
        met.update(frozenset(who for who, _ in rows) for rows in classes_of(Anatomy().run(task, Watch())).values())
    expected, deviation = times / 6, (times * (1 / 6) * (5 / 6)) ** 0.5
    assert len(met) == 36
    assert all(abs(number - expected) < 5 * deviation for number in met.values())


def share_guessed(found, truth, counts, keys):
    """Guess who has which value from the classes alone, if rows were drawn in the order of these keys.

    The j-th class takes the j-th row of each of its values. Values differ in how fast they are used up, so that of two
    rows of a class the keys tell which one has which value.
    """
    used, moments = Counter(), {}
    for hand in hands(counts, 2)[0]:
        used.update(hand)
        pair = tuple(sorted(hand))
        moments.setdefault(pair, []).append([used[value] / counts[int(value[1:])] for value in pair])
    rank = dict(zip(sorted(truth), np.argsort(np.argsort(keys)) / len(keys), strict=True))
    right = guessed = 0
    for rows in classes_of(found).values():
        pair = tuple(sorted(value for _, value in rows))
        people = [who for who, _ in rows]
        if pair not in moments:
            continue  # with a row that was left over
        guess = min(
            itertools.permutations(people),
            key=lambda who: np.abs(np.array(moments[pair]) - [rank[one] for one in who]).sum(axis=1).min(),
        )
        right += sum(truth[who] == value for who, value in zip(guess, pair, strict=True))
        guessed += 2
    return right / guessed


def test_a_seed_that_others_know_gives_values_away_and_a_secret_draw_does_not():
    """300 guesses of one in two: by chance the share of right ones is 0.18 off once in 10⁹ times."""
    counts = [40, 240, 180, 140]
    values = np.random.default_rng(5).permutation(values_of(counts)).tolist()
    truth = {f"p{number:04}": value for number, value in enumerate(values)}
    task = task_of(list(truth), values, ix.LDiversity(2))
    keys = np.random.default_rng(3).integers(2**64, size=600, dtype=np.uint64)
    assert share_guessed(Anatomy(seed=3).run(task, Watch()), truth, counts, keys) > 0.85
    assert abs(share_guessed(Anatomy().run(task, Watch()), truth, counts, keys) - 0.5) < 0.18


# The whole path.


CELLS = st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["HIV", "flu", "fever"]))


@pytest.mark.slow
@given(
    rows=st.lists(CELLS, min_size=4, max_size=16),
    number=st.integers(2, 3),
    k=st.sampled_from([None, 2, 3]),
    limit=st.sampled_from([0, 4]),
)
@examples(25, opens_tables=True)
def test_whatever_it_publishes_holds_against_a_join(rows, number, k, limit):
    models = [ix.LDiversity(number)] if k is None else [ix.AlphaK(1 / number, k)]
    columns = {"who": ix.quasi(ix.suppress()), "illness": ix.sensitive()}
    table = table_of(("who", "illness"), rows)
    try:
        release = ix.anonymize(table, ix.Policy(columns, models, limit), algorithm=Anatomy())
    except ix.InfeasibleError:
        event("infeasible")
        return
    with release:
        quasi, sensitive = (adversary.rows_of(release.tables[name]) for name in ("quasi", "sensitive"))
        assert release.verify(table).passed
    event(f"k = {k}")
    assert adversary.sizes(quasi) == adversary.sizes(sensitive)
    assert adversary.fewest_values(sensitive) >= number
    assert adversary.largest_share(sensitive) <= Fraction(1, number)
    assert adversary.fewest_with_one_bag(quasi, sensitive) >= (k or 1)
    assert adversary.can_be_true(quasi, sensitive, [((who,), (value,)) for who, value in rows])


def test_quasi_identifiers_that_are_divided_between_classes_are_proved():
    """Ten people look alike and stand in at least five classes; the proof finds values for all."""
    table = table_of(
        ("who", "illness"), [("a", "HIV")] * 5 + [("a", "flu")] * 5 + [("b", "flu")] * 2 + [("b", "HIV")] * 2
    )
    policy = ix.Policy({"who": ix.quasi(), "illness": ix.sensitive()}, [ix.LDiversity(2)])
    with ix.anonymize(table, policy, algorithm=Anatomy()) as release:
        assert release.facts.groups == 7
        assert release.facts.smallest_group == 2
        assert release.verify(table).passed
        assert "join" not in str(release.verdict)


def test_two_sensitive_columns_need_a_choice():
    columns = {"who": ix.quasi(), "illness": ix.sensitive(), "cost": ix.sensitive()}
    rows = [(f"p{n}", f"v{n % 4}", str(n % 2)) for n in range(8)]
    table = table_of(("who", "illness", "cost"), rows)
    policy = ix.Policy(columns, [ix.LDiversity(2)])
    with pytest.raises(ix.PolicyError, match="say which of 'illness', 'cost' it is"):
        ix.anonymize(table, policy, algorithm=Anatomy())
    with ix.anonymize(table, policy, algorithm=Anatomy(column="illness")) as release:
        sensitive = adversary.rows_of(release.tables["sensitive"])
        assert adversary.fewest_values(sensitive, 0) >= 2
        assert adversary.fewest_values(sensitive, 1) >= 2


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Anatomy(1), "l"),
        (lambda: Anatomy(2.5), "l"),
        (lambda: Anatomy(seed=-1), "seed"),
        (lambda: Anatomy(column="cost").run(task_of_counts([2, 2], ix.LDiversity(2)), Watch()), "no model asks about"),
    ],
)
def test_nonsense_is_refused(made, words):
    with pytest.raises(ix.PolicyError, match=words):
        made()


def test_a_policy_without_a_model_of_values_is_reported_to_add_one():
    table = table_of(("who", "illness"), [("a", "x"), ("b", "y")])
    policy = ix.Policy({"who": ix.quasi(), "illness": ix.sensitive()}, [ix.KAnonymity(2)])
    with pytest.raises(ix.PolicyError, match="add one such as AlphaK or LDiversity"):
        ix.anonymize(table, policy, algorithm=Anatomy())


@pytest.mark.slow
def test_the_command_line_makes_an_anatomy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text(
        'version = 1\nalgorithm = "anatomy"\noptions = { l = 2 }\n[columns]\nwho = { role = "quasi" }\n'
        'illness = { role = "sensitive" }\n[[privacy]]\nmodel = "l-diversity"\nl = 2\n'
    )
    lines = [f"p{number},{'flu' if number % 2 else 'HIV'}" for number in range(8)]
    (tmp_path / "table.csv").write_text("\n".join(["who,illness", *lines]) + "\n")
    result = CliRunner().invoke(app, ["anonymize", "policy.toml", "table.csv", "-o", "out"])
    assert result.exit_code == 0, result.output
    assert "4, the smallest of 2 rows" in result.stdout
    result = CliRunner().invoke(app, ["verify", "policy.toml", "out", "--original", "table.csv"])
    assert "verified: 8 rows in 4 classes, the smallest of 2" in result.stderr
    (tmp_path / "table.csv").write_text("\n".join(["who,illness", *lines[:2], *lines[::2]]) + "\n")
    result = CliRunner().invoke(app, ["anonymize", "policy.toml", "table.csv", "-o", "out2"])
    assert result.exit_code == 3
    assert "one sensitive value makes up 83.33 % of the rows" in result.stderr
    assert "HIV" not in result.stderr


@pytest.mark.slow
def test_a_large_table_takes_no_more_than_a_moment():
    """45,222 rows, as many as Adult: 0.05 s where it was measured, of a processor that does nothing else."""
    generator = np.random.default_rng(1)
    shares = 1 / np.arange(1, 15)
    table = pa.table(
        {
            "who": generator.integers(0, 30_000, 45_222),
            "illness": generator.choice([f"v{n}" for n in range(14)], 45_222, p=shares / shares.sum()),
        }
    )
    policy = ix.Policy({"who": ix.quasi(), "illness": ix.sensitive()}, [ix.LDiversity(3), ix.TCloseness(0.2)])
    with open_table(table) as rows:
        task = Task.of(FrequencyList.count(encode_eligible(rows, policy), policy), policy)
    start = time.process_time()
    found = Anatomy().run(task, Watch())
    assert time.process_time() - start < 2
    assert found.released_rows == 45_222
    assert len(found.sizes) > 100
