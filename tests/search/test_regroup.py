"""Regroup: always valid, never below the exact optimum, the same each time."""

from __future__ import annotations

import os
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct import testing
from indistinct.counting import FrequencyList
from indistinct.progress import Watch
from indistinct.quality import NCP, Loss, NonUniformEntropy, Precision
from indistinct.recoding import LocalRecoding
from indistinct.search import Task
from indistinct.search.local import regroup
from indistinct.search.local.groups import anneal as annealing
from indistinct.search.local.groups.anneal import Annealing
from indistinct.search.local.groups.kernels import near_tuples, regrouping
from indistinct.search.local.groups.kernels.acceptance import RANDOM
from indistinct.search.local.groups.kernels.near_tuples import NOBODY
from indistinct.search.local.groups.kernels.parcel_groups import FREE, GROUP, LENDER, LOGGED, OWNER, ROWS, TUPLE
from indistinct.search.local.groups.nearness import lay_out_prices
from indistinct.search.local.groups.space import Space
from indistinct.search.local.regroup import Regroup, group_tuples

MEASURES = [NCP(), Loss(), Precision(), NonUniformEntropy()]


def partitions(rows, k):
    """Return every way to divide a list into parts of at least k."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for mask in range(1 << len(rest)):
        part = [first, *(row for place, row in enumerate(rest) if mask >> place & 1)]
        if len(part) >= k:
            left = [row for place, row in enumerate(rest) if not mask >> place & 1]
            if not left or len(left) >= k:
                for others in partitions(left, k):
                    yield [part, *others]


def cost_of(frequencies, kind, measure, part):
    """What a group of rows, given by their tuples, costs: from its labels, not from the space."""
    from indistinct.recoding import Pieces

    tuples, rows = np.unique(part, return_counts=True)
    recoding = LocalRecoding.of_pieces(frequencies, Pieces(tuples, rows, np.zeros(len(tuples), np.int64)), kind)
    kept = sum(
        float(weight * measure.kept(frequencies, column, labels)[0])
        for column, (weight, labels) in enumerate(zip(frequencies.weights, recoding.labels, strict=True))
    )
    return -len(part) * kept


def can_all_meet(frequencies):
    return all(h.height or len(h.values) == 1 for h in frequencies.hierarchies)


def check_valid(frequencies, pieces, k):
    placed = np.bincount(pieces.tuples, pieces.rows, len(frequencies.base))
    assert (placed == frequencies.base.sizes).all()
    assert (pieces.rows > 0).all()
    sizes = np.bincount(pieces.groups, pieces.rows)
    assert sizes[sizes > 0].min() >= k


@given(testing.frequency_lists(), st.integers(1, 6), st.sampled_from(["hierarchy", "ranges"]))
@examples(80)
def test_every_row_has_a_group_of_at_least_k(frequencies, k, kind):
    if not can_all_meet(frequencies) or frequencies.rows < k:
        return
    measures = MEASURES[:2] if kind == "ranges" else MEASURES
    for measure in measures:
        check_valid(frequencies, group_tuples(Space.of(frequencies, measure, kind), k, ix.Watch()), k)


def optimum_of(frequencies, k, kind):
    """The least NCP of all partitions of the rows."""
    rows = np.repeat(np.arange(len(frequencies.base)), frequencies.base.sizes).tolist()
    known = {}

    def cost(part):
        key = tuple(part)
        if key not in known:
            known[key] = cost_of(frequencies, kind, NCP(), part)
        return known[key]

    best = min(sum(cost(part) for part in parts) for parts in partitions(rows, k))
    whole = NCP().prepare(frequencies).whole
    return 1 + best / whole if whole else 0.0


def loss_of(frequencies, k, kind):
    pieces = group_tuples(Space.of(frequencies, NCP(), kind), k, ix.Watch())
    return NCP().loss(LocalRecoding.of_pieces(frequencies, pieces, kind))


@given(testing.frequency_lists(most_tuples=5), st.integers(2, 3), st.sampled_from(["hierarchy", "ranges"]))
@examples(30)
def test_it_is_never_below_the_optimum(frequencies, k, kind):
    if not can_all_meet(frequencies) or not k <= frequencies.rows <= 8:
        return
    assert loss_of(frequencies, k, kind) >= optimum_of(frequencies, k, kind) - 1e-9


@given(testing.frequency_lists(), st.integers(1, 30), st.sampled_from(["hierarchy", "ranges"]), st.booleans())
@examples(60)
def test_it_never_loses_more_than_mondrian(frequencies, k, kind, strict):
    policy = ix.Policy(columns={name: ix.quasi() for name in frequencies.columns}, privacy=[ix.KAnonymity(k)])
    task = Task.of(frequencies, policy)
    for measure in MEASURES[:2] if kind == "ranges" else MEASURES:
        try:
            found = Regroup(measure=measure, labels=kind).run(task, ix.Watch())
        except ix.InfeasibleError:
            return
        cut = ix.Mondrian(labels=kind, strict=strict).run(task, ix.Watch())
        if not strict or measure == NCP():  # what strict cuts win by other measures is not promised
            assert measure.loss(found) <= measure.loss(cut) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hierarchy", "ranges"])
@pytest.mark.parametrize("k", [2, 20, 100, 500, 1000])
def test_it_loses_no_more_than_mondrian_at_every_k(kind, k):
    frequencies = synthetic(4000, 6)
    policy = ix.Policy(columns={name: ix.quasi() for name in frequencies.columns}, privacy=[ix.KAnonymity(k)])
    task = Task.of(frequencies, policy)
    losses = [NCP().loss(one.run(task, ix.Watch())) for one in (Regroup(labels=kind), ix.Mondrian(labels=kind))]
    assert losses[0] <= losses[1] + 1e-9


def small_list(rng):
    """A random list of two to five tuples under hierarchies of pairs."""
    columns, tuples = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    found = np.unique(rng.integers(0, 4, (columns, tuples)), axis=1)
    compiled, codes = [], []
    for column in found:
        present = np.unique(column)
        compiled.append(ix.prefix(2).compile([f"{'ab'[value // 2]}{value}" for value in present]))
        codes.append(np.searchsorted(present, column))
    names = [f"c{n}" for n in range(columns)]
    return FrequencyList.of_codes(names, compiled, codes, rng.integers(1, 4, found.shape[1]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hierarchy", "ranges"])
def test_it_is_seldom_above_the_optimum_of_a_small_table(kind):
    rng = np.random.default_rng(5)
    drawn = [(small_list(rng), k) for _ in range(50) for k in (2, 3)]
    fitting = [(frequencies, k) for frequencies, k in drawn if k <= frequencies.rows <= 8]
    above = np.array([loss_of(frequencies, k, kind) - optimum_of(frequencies, k, kind) for frequencies, k in fitting])
    assert len(above) >= 60
    assert above.min() >= -1e-9
    assert (above < 1e-9).mean() >= 0.9
    assert above.mean() <= 0.01


@pytest.mark.parametrize(
    ("counts", "k", "loss"),
    [((2, 4), 3, 1 / 2), ((1, 3), 2, 1 / 2), ((2, 5), 3, 3 / 7), ((1, 1, 7), 4, 4 / 9), ((2, 3, 3), 4, 1)],
)
def test_a_few_odd_rows_take_only_what_they_lack(counts, k, loss):
    """Rows that are too few to form a group are joined by k minus their number, if k others stay."""
    table = pa.table({"a": np.repeat(list("xyz")[: len(counts)], counts).tolist()})
    policy = ix.Policy(columns={"a": ix.quasi(ix.suppress())}, privacy=[ix.KAnonymity(k)])
    with ix.anonymize(table, policy, algorithm=Regroup()) as release:
        assert release.measures["ncp"] == pytest.approx(loss)


def synthetic(rows, seed, sizes=(3, 1000, 8, 40)):
    """A list with a column of many values, whose costs are climbed for, and some that are related."""
    rng = np.random.default_rng(seed)
    people = rng.random(rows)
    codes = []
    for size in sizes:
        noisy = np.clip(people + rng.normal(0, 0.2, rows), 0, 0.999)
        codes.append((noisy * size).astype(np.int64))
    names = [f"c{n}" for n in range(len(sizes))]
    compiled, columns = [], []
    for code in codes:
        present = np.unique(code)
        values = sorted(f"{value:04}" for value in present)
        compiled.append(ix.prefix(4).compile(values))
        columns.append(np.searchsorted(present, code))
    tuples, counts = np.unique(np.stack(columns), axis=1, return_counts=True)
    return FrequencyList.of_codes(names, compiled, list(tuples), counts)


@pytest.mark.parametrize("kind", ["hierarchy", "ranges"])
@pytest.mark.parametrize("measure", MEASURES[:2])
def test_spans_cost_what_their_lowest_labels_cost(kind, measure):
    """Whatever the layout of a column: a table, steps between neighbours or positions of a range."""
    frequencies = synthetic(3000, 1, (3, 1000, 120, 40))
    space = Space.of(frequencies, measure, kind)
    columns = np.arange(len(space.sizes))
    prices, _ = lay_out_prices(space, columns)
    rng, numbers = np.random.default_rng(2), prices.numbers
    kinds = set()
    for column, size in enumerate(space.sizes.tolist()):
        if prices.columns[column, near_tuples.KIND] == near_tuples.SET:
            continue
        kinds.add(int(prices.columns[column, near_tuples.KIND]))
        low, high = np.sort(rng.integers(0, size, (2, 200)), axis=0)
        spans = np.zeros((200, len(columns)), np.int64), np.zeros((200, len(columns)), np.int64)
        alone = space.run_costs(*spans)
        spans[0][:, column], spans[1][:, column] = low, high
        found = [near_tuples.span_cost(column, *ends, prices.columns, numbers) for ends in zip(low, high, strict=True)]
        assert np.allclose(found, space.run_costs(*spans) - alone)
    assert kinds >= ({near_tuples.STEPS, near_tuples.TABLE} if kind == "hierarchy" else {near_tuples.RANGE})


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hierarchy", "ranges"])
@pytest.mark.parametrize("k", [2, 5, 30])
def test_long_columns_and_large_k(kind, k):
    frequencies = synthetic(3000, 1)
    space = Space.of(frequencies, NCP(), kind)
    assert kind == "ranges" or (space.table_at < 0).any(), "one column is too long for a table"
    pieces = group_tuples(space, k, ix.Watch())
    check_valid(frequencies, pieces, k)
    loss = NCP().loss(LocalRecoding.of_pieces(frequencies, pieces, kind))
    order = np.lexsort(space.ranks.T)
    naive = np.empty(len(order), np.int64)
    naive[order] = np.minimum(np.arange(len(order)) // k, len(order) // k - 1)
    from indistinct.recoding import Pieces

    assert loss < 0.8 * NCP().loss(LocalRecoding.of_pieces(frequencies, Pieces.whole(frequencies, naive), kind))


@pytest.mark.slow
def test_the_same_table_gives_the_same_groups():
    frequencies = synthetic(2000, 2)
    first, second = (group_tuples(Space.of(frequencies, NCP()), 5, ix.Watch()) for _ in range(2))
    assert (first.tuples == second.tuples).all()
    assert (first.groups == second.groups).all()


def test_without_time_the_first_groups_are_given():
    frequencies = synthetic(2000, 3)
    space = Space.of(frequencies, NCP())
    hurried = group_tuples(space, 5, ix.Watch(time_limit=0))
    check_valid(frequencies, hurried, 5)
    patient = group_tuples(space, 5, ix.Watch())
    losses = [NCP().loss(LocalRecoding.of_pieces(frequencies, pieces)) for pieces in (patient, hurried)]
    assert losses[0] < losses[1]


def test_frequent_tuples_lend_their_surplus():
    """Seven of one kind and one of another: five stay as they are only if the odd one borrows two."""
    table = pa.table({"a": ["x1"] * 7 + ["x2"], "b": ["y"] * 8})
    policy = ix.Policy(columns={"a": ix.quasi(ix.prefix(2)), "b": ix.quasi(ix.suppress())}, privacy=[ix.KAnonymity(3)])
    with ix.anonymize(table, policy, algorithm=Regroup()) as release:
        assert Counter(release.table["a"].to_pylist()) == {"x1": 5, "x*": 3}
        assert release.verify(original=table).passed


@pytest.mark.slow
@pytest.mark.parametrize("labels", ["hierarchy", "ranges"])
def test_dates_numbers_categories_and_missing_values_verify(labels):
    rng = np.random.default_rng(4)
    table = pa.table(
        {
            "born": [
                f"19{y}-{m:02}-11" for y, m in zip(rng.integers(50, 99, 300), rng.integers(1, 13, 300), strict=True)
            ],
            "age": pa.array([None if n % 17 == 0 else int(n) for n in rng.integers(1, 90, 300)]),
            "city": rng.choice(["Bonn", "Köln, Süd", "Ulm"], 300).tolist(),
            "note": rng.integers(0, 5, 300).tolist(),
        }
    )
    policy = ix.Policy(
        columns={
            "born": ix.quasi(ix.dates("month", "year", "10 years")),
            "age": ix.quasi(ix.intervals(5, 10), weight=2),
            "city": ix.quasi(ix.suppress()),
            "note": ix.other(),
        },
        privacy=[ix.KAnonymity(4)],
    )
    with ix.anonymize(table, policy, algorithm=Regroup(labels=labels)) as release:
        verdict = release.verify(original=table)
    assert verdict.passed, str(verdict)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measure": "discernibility"}, "ncp, loss, precision or entropy"),
        ({"labels": "words"}, "'hierarchy' or 'ranges'"),
        ({"labels": "ranges", "measure": "precision"}, "'loss' or 'ncp'"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(ix.PolicyError, match=words):
        Regroup(**options)


# With more time.


@pytest.mark.slow
@given(testing.frequency_lists(most_tuples=12), st.sampled_from(MEASURES), st.integers(2, 4))
@examples(20)
def test_more_effort_is_valid_never_costs_more_and_repeats(frequencies, measure, k):
    if frequencies.rows < k or not can_all_meet(frequencies):
        return
    space = Space.of(frequencies, measure)

    def cost(pieces):
        check_valid(frequencies, pieces, k)
        parts = [np.repeat(pieces.tuples[own], pieces.rows[own]) for own in _groups_of(pieces)]
        return sum(cost_of(frequencies, "hierarchy", measure, part.tolist()) for part in parts)

    plain, bettered, again = (
        group_tuples(space, k, Watch(), annealing) for annealing in (None, Annealing(4), Annealing(4))
    )
    assert cost(bettered) <= cost(plain) + 1e-9
    assert bettered.tuples.tolist() == again.tuples.tolist()
    assert bettered.groups.tolist() == again.groups.tolist()


def _groups_of(pieces):
    return [pieces.groups == group for group in np.unique(pieces.groups)]


@pytest.mark.parametrize(("threads", "k"), [(2, 3), (3, 2), (4, 6)])
def test_threads_share_groups_and_what_is_lent(monkeypatch, threads, k):
    """Each works on groups of its own, so what they give together is valid, never dearer, and lends what there is."""
    monkeypatch.setattr(regroup, "FEWEST_GROUPS", 5)
    divided = []
    divide = regroup.ParcelSearch.divide

    def watched(search):
        divide(search)
        parts = [part.groups for part in search.parts]
        if len(parts) == 1:  # the descent
            return
        facts, own = search.groups.facts, [part.free[: part.counters[FREE]] for part in parts]
        owners = np.bincount(facts[facts[:, ROWS] > 0, OWNER], minlength=threads)
        divided.append(owners.min() / owners.sum())
        assert sorted(np.concatenate(own).tolist()) == np.flatnonzero(facts[:, ROWS] == 0).tolist()
        assert (sum(part.spare for part in parts) == search.groups.spare).all()

    monkeypatch.setattr(regroup.ParcelSearch, "divide", watched)
    frequencies = synthetic(1500, 6, sizes=(3, 8, 40))
    space = Space.of(frequencies, NCP())
    losses = []
    for how in (None, Annealing(6, threads)):
        pieces = group_tuples(space, k, Watch(), how)
        check_valid(frequencies, pieces, k)
        losses.append(NCP().loss(LocalRecoding.of_pieces(frequencies, pieces)))
    assert losses[1] <= losses[0]
    assert len(divided) == 6
    assert min(divided) > 0.5 / threads


def test_threads_work_only_where_time_alone_is_limited():
    assert Annealing.of(0, Watch()) is None
    assert Annealing.of(3, Watch(time_limit=5.0)) == Annealing.of(3, Watch()) == Annealing(3, threads=1)
    assert Annealing.of(0, Watch(time_limit=5.0)).threads == min(os.cpu_count() or 1, annealing.MOST_THREADS)


def test_it_cools_down_while_it_works_not_before():
    """However late it begins, it begins warm; it ends cold; and with few tries it begins less warm."""
    heats = []

    class Measured:
        """Groups that no change makes cheaper; notes how warm each pass is."""

        passes_a_try, number_of_groups = 7, 2

        def total(self):
            return 10.0

        def try_changes(self, number, heat):
            heats.append(heat / 5.0)
            return True

        def save(self):
            return "saved"

        def restore(self, saved):
            assert saved == "saved"

    Annealing(annealing.PLENTY).run(Measured(), Watch())
    assert len(heats) == 7 * annealing.PLENTY
    assert heats[0] == annealing.WARM
    assert heats[-1] == pytest.approx(annealing.WARM * annealing.COOLING, rel=0.05)
    assert all(one > two for one, two in pairwise(heats))
    few, heats[:] = annealing.PLENTY // 8, []
    Annealing(few).run(Measured(), Watch())
    assert heats[0] == pytest.approx(annealing.WARM / 2)


@pytest.mark.slow
def test_effort_lowers_the_loss_of_a_random_table():
    generator = np.random.default_rng(3)
    table = pa.table({f"c{number}": [str(value) for value in generator.integers(0, 12, 400)] for number in range(4)})
    columns = {name: ix.quasi(ix.intervals([3, 6, 12])) for name in table.column_names}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(4)])
    losses = []
    for algorithm in (Regroup(), Regroup(effort=30)):
        with ix.anonymize(table, policy, algorithm=algorithm) as release:
            assert release.verdict.passed
            losses.append(release.measures["ncp"])
    assert losses[1] < losses[0]


def test_a_time_limit_is_kept_and_shared_between_what_is_never_joined():
    table = pa.table({"sex": ["f", "m"] * 30, "age": [str(20 + place % 37) for place in range(60)]})
    columns = {"sex": ix.quasi(ix.keep()), "age": ix.quasi(ix.intervals([5, 10, 100]))}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(3)])
    with ix.anonymize(table, policy, algorithm=Regroup(), watch=Watch(time_limit=0.3)) as release:
        assert release.verdict.passed
        assert release.verdict.smallest_group >= 3
    watch = Watch(time_limit=100.0)
    assert 49 < watch.part(0.5).time_limit <= 51
    assert Watch().part(0.5).time_limit is None
    assert Watch().share_of_time() == 0.0
    assert Watch(time_limit=0).share_of_time() == 1.0


class Capturing:
    """Stands in for the annealing, and keeps what it would be given."""

    threads = 1

    def run(self, search, watch):
        self.state = search.loose, search.groups, search.prices, search.parts[0].scratch


def most_promising(space, loose, groups, work):
    """The group near the pool that costs most, less what it would cost to join the first one; by its rows alone."""
    state, columns = int(groups.counters[RANDOM]), np.argsort(space.sizes, kind="stable")

    def draw(choices):
        nonlocal state
        state = state * 48271 % (2**31 - 1)
        return choices[state % len(choices)]

    pool = work.pool[: work.counters[regrouping.POOL]].tolist()
    taken = work.logged[: work.counters[regrouping.LOG]].tolist()
    first = loose.ranks[groups.parcels[work.taken[: work.taken_to[0, 0]], TUPLE]]
    found, most = NOBODY, -np.inf
    for _ in range(regrouping.TRIES):
        tuple_ = groups.parcels[draw(pool), TUPLE]
        other = draw(loose.near[loose.near_at[tuple_] : loose.near_at[tuple_ + 1]])
        group = groups.parcels[draw(range(loose.parcel_at[other], loose.parcel_at[other + 1])), GROUP]
        joined = np.empty((len(first) + 1, len(columns)), np.int64)
        joined[:, columns] = np.vstack([first, loose.ranks[other]])
        widened = space.run_costs(joined.min(axis=0)[None], joined.max(axis=0)[None])[0]
        if group != NOBODY and group not in taken and groups.costs[group] > 0:
            promise = regrouping.DEAR * groups.costs[group] - widened
            if promise > most + 1e-12:
                found, most = group, promise
    return found


def test_no_turn_has_the_number_of_one_that_groups_are_marked_with():
    """Else what a group was would not be kept, and undoing the turn would lose its rows."""
    captured = Capturing()
    group_tuples(Space.of(synthetic(400, 5, sizes=(3, 8, 40)), NCP()), 3, Watch(), captured)
    _, groups, _, scratch = captured.state
    assert 0 < groups.facts[:, LOGGED].max() <= scratch.counters[regrouping.TURN]


@pytest.mark.slow
def test_what_is_taken_apart_next_is_dear_and_fits():
    frequencies = synthetic(400, 5, sizes=(3, 8, 40))
    space, captured, k = Space.of(frequencies, NCP()), Capturing(), 3
    group_tuples(space, k, Watch(), captured)
    loose, groups, prices, work = captured.state
    chosen = []
    for group in np.flatnonzero((groups.costs > 0) & (groups.facts[:, LENDER] == NOBODY))[:20].tolist():
        work.counters[[regrouping.POOL, regrouping.LOG, regrouping.APART]] = 0
        work.counters[regrouping.TURN] += 1
        work.counters[regrouping.FREE_BEFORE] = groups.counters[FREE]
        regrouping.take_apart(group, k, groups, work)
        for _ in range(2):
            expected = most_promising(space, loose, groups, work)
            chosen.append(regrouping.neighbour(loose, groups, prices, work))
            assert chosen[-1] == expected
            if expected != NOBODY:
                regrouping.take_apart(expected, k, groups, work)
        regrouping.undo(k, groups, work)
    assert len(set(chosen) - {NOBODY}) > 10


@pytest.mark.parametrize("kind", ["hierarchy", "ranges"])
def test_what_is_near_is_sorted_before_groups_are_annealed(kind):
    """Each tuple keeps its links, the nearest first, with what a row costs beside each."""
    space, captured = Space.of(synthetic(300, 8, sizes=(3, 8, 40)), NCP(), kind), Capturing()
    group_tuples(space, 3, Watch(), captured)
    loose, _, prices, _ = captured.state
    shuffled = loose.near.copy()
    for start, end in pairwise(loose.near_at.tolist()):
        np.random.default_rng(start).shuffle(shuffled[start:end])
    links, costs = shuffled.copy(), np.empty(len(shuffled), np.float32)
    near_tuples.sort_links(loose.near_at, links, costs, loose.ranks, prices)
    columns = np.argsort(space.sizes, kind="stable")
    for one, (start, end) in enumerate(pairwise(loose.near_at.tolist())):
        assert sorted(links[start:end]) == sorted(shuffled[start:end])
        assert costs[start:end].tolist() == sorted(costs[start:end]) == loose.near_costs[start:end].tolist()
        pairs = np.empty((2, end - start, len(columns)), np.int64)
        pairs[0][:, columns], pairs[1][:, columns] = loose.ranks[one], loose.ranks[links[start:end]]
        assert space.run_costs(pairs.min(axis=0), pairs.max(axis=0)) == pytest.approx(costs[start:end], abs=1e-6)


@pytest.mark.parametrize("effort", [-1, 1.5, True, "much"])
def test_effort_is_a_whole_number(effort):
    with pytest.raises(ix.PolicyError, match="effort"):
        Regroup(effort=effort)
