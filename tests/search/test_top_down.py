"""TopDown against a simulation of its rules in plain Python, and the laws that its releases obey."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.brute_force import Column, columns, hierarchy_of
from helpers.profiles import examples
from helpers.simulation import MODELS, Simulation, Table, Values, alpha_k
from indistinct import testing
from indistinct.counting import FrequencyList, Sensitive, encode_eligible
from indistinct.engine import open_table
from indistinct.progress import Watch
from indistinct.recoding import SUPPRESSED, FullDomainRecoding, LocalRecoding
from indistinct.registry import MEASURES
from indistinct.search import Task
from indistinct.search.local.top_down import TopDown

# The same table in the package's terms.


def policy_of(table: Table, **more) -> ix.Policy:
    roles = {column.name: ix.quasi(hierarchy_of(column), weight=column.weight) for column in table.columns}
    roles |= {f"s{number}": ix.sensitive() for number in range(len(table.sensitive[0]))}
    return ix.Policy(columns=roles, privacy=[MODELS[name][1] for name in table.models], **more)


def arrow(table: Table) -> pa.Table:
    cells = {
        column.name: pa.array([row[c] for row in table.rows], pa.string()) for c, column in enumerate(table.columns)
    }
    return pa.table(cells | {f"s{n}": [v[n] for v in table.sensitive] for n in range(len(table.sensitive[0]))})


def task_of(table: Table, **more) -> Task:
    """Return the task of an algorithm, counted here and not by an engine."""
    policy = policy_of(table, **more)
    asked = policy.asked_sensitive
    counted = Counter(
        (row, tuple(kind[int(name[1:])] for name in asked))
        for row, kind in zip(table.rows, table.sensitive, strict=True)
    )
    compiled, codes = [], []
    for position, column in enumerate(table.columns):
        values = sorted({row[position] for row in table.rows}, key=lambda value: (value is None, value or ""))
        compiled.append(policy.columns[column.name].compile(values))
        codes.append(np.array([values.index(row[position]) for row, _ in counted], np.uint64))
    sensitive = {}
    for position, name in enumerate(asked):
        values = sorted({kind[position] for _, kind in counted})
        sensitive[name] = Sensitive(tuple(values)), np.array([values.index(kind[position]) for _, kind in counted])
    counts = np.array(list(counted.values()), np.int64)
    names, weights = policy.quasi, [column.weight for column in table.columns]
    return Task.of(FrequencyList.of_codes(names, compiled, codes, counts, weights, sensitive), policy)


def placed(recoding: LocalRecoding) -> Counter:
    """Count the rows of a recoding by their labels, their own values and the sensitive values that are asked about."""
    frequencies, pieces = recoding.frequencies, recoding.pieces
    codes = [frequencies.entry_codes(column) for column in range(len(frequencies.columns))]
    found: Counter = Counter()
    for entry, rows, group in zip(pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), strict=True):
        if group == SUPPRESSED:
            labels = None
        else:
            labels = tuple(
                own.texts[int(code)] for own, code in zip(recoding.labels, recoding.codes[:, group], strict=True)
            )
        row = tuple(h.values[c[entry]] for h, c in zip(frequencies.hierarchies, codes, strict=True))
        asked = frequencies.sensitive.items()
        kind = tuple(described.values[frequencies.entries.codes[name][entry]] for name, described in asked)
        found[labels, row, kind] += rows
    return found


@st.composite
def tables(draw: st.DrawFn, *, most_rows: int = 14) -> Table:
    drawn = [draw(columns("abc"[position])) for position in range(draw(st.integers(1, 3)))]
    number = draw(st.integers(1, 2))
    cells = [st.sampled_from([*values, *values[:1] * 2]) for _, values in drawn]
    kinds = st.tuples(*[st.sampled_from(["flu", "flu", "fever", "HIV", "cold"])] * number)
    rows = draw(st.lists(st.tuples(st.tuples(*cells), kinds), min_size=4, max_size=most_rows))
    models = draw(st.lists(st.sampled_from(list(MODELS)), min_size=1, max_size=2, unique=True))
    return Table(
        tuple(column for column, _ in drawn), tuple(r for r, _ in rows), tuple(k for _, k in rows), tuple(models)
    )


@pytest.mark.slow
@given(tables())
@examples(200)
def test_it_does_what_its_rules_say(table):
    simulation = Simulation(table)
    is_feasible = simulation.run()
    task = task_of(table)
    if not is_feasible:
        with pytest.raises(ix.InfeasibleError):
            TopDown().run(task, Watch())
        return
    assert placed(TopDown().run(task, Watch())) == simulation.released()


@pytest.mark.parametrize("models", [("(0.5, 2)",), ("(0.4, 1)",), ("t-closeness 0.3",), ("entropy 2",)])
@pytest.mark.parametrize("seed", range(3))
def test_it_does_what_its_rules_say_where_many_rows_return(models, seed):
    """Larger tables, in which remainders take back many rows at a time."""
    rng = np.random.default_rng(seed)
    groups = [(f"a{n}", f"g{n // 3}", "*") for n in range(9)]
    made = (Column("a", tuple(groups)), Column("b", tuple((f"b{n}", "*") for n in range(3))))
    rows = zip(np.minimum(rng.geometric(0.3, 200) - 1, 8), rng.integers(0, 3, 200), strict=True)
    kinds = rng.choice(["flu", "cold", "HIV"], 200, p=[0.42, 0.38, 0.2])
    # one region has hardly anything but one illness, so that its rows need many others around them
    rows = [(f"a{a}", f"b{b}") for a, b in rows]
    kinds = ["flu" if row[0] == "a1" else kind for row, kind in zip(rows, kinds, strict=True)]
    if models == ("(0.4, 1)",):
        kinds = [kind if kind != "flu" or n % 2 else "cough" for n, kind in enumerate(kinds)]
    table = Table(made, tuple(rows), tuple((str(kind),) for kind in kinds), models)
    simulation = Simulation(table)
    task = task_of(table)
    if simulation.run():
        assert len(simulation.classes) > 1
        assert placed(TopDown().run(task, Watch())) == simulation.released()
    else:
        with pytest.raises(ix.InfeasibleError):
            TopDown().run(task, Watch())


# Laws.

ALPHAS = [0.2, 0.25, 0.3, 1 / 3, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0]


def bags(recoding: LocalRecoding) -> dict[tuple[str | None, ...], list[Values]]:
    """Return the sensitive values of the rows that read the same."""
    found = defaultdict(list)
    for (labels, _, kind), rows in placed(recoding).items():
        found[labels] += [kind] * rows
    found.pop(None, None)
    return found


@given(
    tables(most_rows=30),
    st.sampled_from(ALPHAS),
    st.integers(1, 5),
    st.booleans(),
)
@examples(100)
def test_whatever_reads_the_same_is_safe_and_true(table, alpha, k, tighten):
    name = f"random ({alpha}, {k})"
    MODELS[name] = alpha_k(alpha, k), ix.AlphaK(alpha, k)
    kept = [own for own in table.models if "closeness" not in own]  # the table is another where rows are suppressed
    table = Table(table.columns, table.rows, table.sensitive, (*kept, name))
    task = task_of(table, max_suppression=6)
    models = [MODELS.pop(name)[0], *(MODELS[own][0] for own in kept)]
    try:
        recoding = TopDown(tighten=tighten).run(task, Watch())
    except ix.InfeasibleError:
        return
    found = placed(recoding)
    assert Counter(row for _, row, _ in found.elements()) == Counter(table.rows)
    assert recoding.suppressed_rows == sum(rows for (labels, _, _), rows in found.items() if labels is None) <= 6
    for labels, row, _ in found:
        if labels is not None:
            assert all(l in c.path(v) for l, c, v in zip(labels, table.columns, row, strict=True))  # noqa: E741
    for bag in bags(recoding).values():
        assert all(model.is_safe(bag, table.sensitive) for model in models)
    assert sorted(map(len, bags(recoding).values())) == sorted(recoding.sizes.tolist())


@given(tables())
def test_it_finds_a_release_wherever_there_is_one(table):
    """If every column can go to its top and all rows together are safe, that is a release."""
    climbing = [c for c, column in enumerate(table.columns) if column.height]
    if not climbing:
        return
    table = Table(
        tuple(table.columns[c] for c in climbing),
        tuple(tuple(row[c] for c in climbing) for row in table.rows),
        table.sensitive,
        table.models,
    )
    everyone = Simulation(table)
    if everyone.is_safe(range(len(table.rows))):
        recoding = TopDown().run(task_of(table), Watch())
        assert recoding.suppressed_rows == 0
        assert len(recoding.sizes) >= 1


@given(tables(most_rows=30))
def test_it_distorts_no_more_than_the_top_and_tightening_no_more_than_that(table):
    task = task_of(table)
    try:
        found, tight = (TopDown(tighten=tighten).run(task, Watch()) for tighten in (False, True))
    except ix.InfeasibleError:
        return
    groups, _ = task.frequencies.roll_up(task.frequencies.heights)
    top = FullDomainRecoding(task.frequencies, groups, np.zeros(len(groups), np.bool_))
    for name in ("ncp", "loss", "precision"):
        measure = MEASURES[name]()
        assert measure.loss(tight) <= measure.loss(found) + 1e-12
        assert measure.loss(found) <= measure.loss(top) + 1e-12


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(table, random):
    order = list(range(len(table.rows)))
    random.shuffle(order)
    shuffled = Table(
        table.columns, tuple(table.rows[n] for n in order), tuple(table.sensitive[n] for n in order), table.models
    )
    try:
        expected = placed(TopDown().run(task_of(table), Watch()))
    except ix.InfeasibleError:
        return
    assert placed(TopDown().run(task_of(shuffled), Watch())) == expected


@pytest.mark.slow
@pytest.mark.parametrize("tighten", [False, True])
def test_it_keeps_the_promises_of_every_algorithm(tighten):
    testing.check_algorithm(TopDown(tighten=tighten))


@pytest.mark.slow
@given(tables(most_rows=20))
@examples(15)
def test_what_is_published_verifies_against_the_original(table):
    data, policy = arrow(table), policy_of(table)
    try:
        release = ix.anonymize(data, policy, algorithm=TopDown())
    except ix.InfeasibleError:
        return
    with release:
        assert release.verify(original=data).passed
        assert release.suppressed == 0


# Single steps, by hand.


def by_hand(rows: Sequence[Sequence[str]], hierarchies: dict[str, list[tuple[str, ...]]], model, **options):
    """Release rows of the columns of the hierarchies and an illness; give them by their labels."""
    policy = ix.Policy(
        columns={name: ix.quasi(ix.levels(listed)) for name, listed in hierarchies.items()} | {"ill": ix.sensitive()},
        privacy=[model],
    )
    data = pa.table({name: [row[c] for row in rows] for c, name in enumerate([*hierarchies, "ill"])})
    with ix.anonymize(data, policy, algorithm=TopDown(**options)) as release:
        assert release.verify(original=data).passed
        found = defaultdict(list)
        for row in release.table.to_pylist():
            found[" ".join(str(row[name]) for name in hierarchies)].append(row["ill"])
    return {labels: sorted(ills) for labels, ills in found.items()}


REGION = {"region": [("north", "*"), ("south", "*"), ("west", "*")]}


@pytest.mark.slow
def test_a_child_spares_a_row_so_that_what_fell_back_is_safe():
    """The lonely row of the south falls back; of the north's three kinds, all as rare, the first joins it."""
    rows = [("north", "flu"), ("north", "fever"), ("north", "cough"), ("south", "HIV")]
    assert by_hand(rows, REGION, ix.AlphaK(0.5, 2)) == {"north": ["fever", "flu"], "*": ["HIV", "cough"]}


@pytest.mark.slow
def test_rows_that_return_bring_down_the_shares_of_the_remainder():
    """With one row more the south would have k rows, but too much flu; flu itself never returns."""
    rows = [("north", ill) for ill in ("flu", "fever", "cough")] * 2 + [("south", "flu")] * 2
    assert by_hand(rows, REGION, ix.AlphaK(0.5, 3)) == {
        "north": ["cough", "fever", "flu", "flu"],
        "*": ["cough", "fever", "flu", "flu"],
    }


@pytest.mark.slow
def test_when_no_child_can_spare_a_row_the_smallest_falls_back():
    """The north has just k rows, and in the south one illness less would leave too much of the other."""
    rows = [("north", "flu"), ("north", "fever"), *[("south", "flu"), ("south", "fever")] * 2, ("west", "HIV")]
    assert by_hand(rows, REGION, ix.AlphaK(0.5, 2)) == {
        "south": ["fever", "fever", "flu", "flu"],
        "*": ["HIV", "fever", "flu"],
    }


@pytest.mark.slow
def test_a_column_is_given_up_when_all_children_fall_back():
    rows = [("north", "flu"), ("north", "fever"), ("south", "flu"), ("south", "fever"), ("west", "flu")]
    assert by_hand(rows, REGION, ix.AlphaK(0.6, 4)) == {"*": ["fever", "fever", "flu", "flu", "flu"]}


@pytest.mark.slow
def test_rows_of_rare_tuples_return_first():
    """The north's three tuples could all spare the row that the south lacks; the single one does."""
    hierarchies = {**REGION, "street": [(name, "*") for name in "abcd"]}
    rows = [("north", street, "flu") for street in "aabbc"] + [("south", "d", "flu")]
    found = by_hand(rows, hierarchies, ix.KAnonymity(2))
    assert found == {"north a": ["flu"] * 2, "north b": ["flu"] * 2, "* *": ["flu"] * 2}


@pytest.mark.slow
def test_the_column_that_leaves_most_rows_specialised_is_taken_then_the_one_with_fewest_children():
    listed = {"one": [(name, "*") for name in "abc"], "two": [("x", "*"), ("y", "*")]}
    equal = [(*cells, "flu") for cells in ("ax", "bx", "ax", "by", "cy", "cy")]
    assert by_hand(equal, listed, ix.KAnonymity(2)).keys() == {"* x", "* y"}  # the first would make three children
    fewer = [(*cells, "flu") for cells in ("ax", "ax", "by", "bx")]
    assert by_hand(fewer, listed, ix.KAnonymity(2)).keys() == {"a x", "b *"}  # the second keeps two rows of four


@pytest.mark.slow
def test_of_equal_columns_the_first_in_the_policy_is_taken():
    crossed = [("a", "x", "flu"), ("a", "y", "flu"), ("b", "x", "flu"), ("b", "y", "flu")]
    listed = {"one": [("a", "*"), ("b", "*")], "two": [("x", "*"), ("y", "*")]}
    assert by_hand(crossed, listed, ix.KAnonymity(2)).keys() == {"a *", "b *"}


@pytest.mark.slow
def test_tightening_gives_remainders_the_lowest_labels_that_cover_them():
    """What falls back in the first column has one value in the second, which is not tried any more."""
    listed = {"one": [(name, "*") for name in "acd"], "two": [("x", "*"), ("y", "*")]}
    rows = [("a", "x", "flu"), ("a", "y", "flu"), ("c", "x", "flu"), ("d", "x", "flu")]
    assert by_hand(rows, listed, ix.KAnonymity(2)).keys() == {"a *", "* *"}
    assert by_hand(rows, listed, ix.KAnonymity(2), tighten=True).keys() == {"a *", "* x"}


def test_every_sensitive_column_is_protected():
    rows = tuple(("north",) for _ in range(4)) + tuple(("south",) for _ in range(4))
    kinds = [("flu", "rich"), ("flu", "poor"), ("fever", "rich"), ("fever", "poor")]
    alike = [("flu", "rich"), ("fever", "rich"), ("flu", "rich"), ("fever", "poor")]
    column = Column("region", (("north", "*"), ("south", "*")))
    specialised = TopDown().run(task_of(Table((column,), rows, (*kinds, *kinds), ("(0.5, 2)",))), Watch())
    assert bags(specialised).keys() == {("north",), ("south",)}
    others = [("flu", "rich"), ("fever", "poor"), ("flu", "poor"), ("fever", "poor")]
    kept = TopDown().run(task_of(Table((column,), rows, (*alike, *others), ("(0.5, 2)",))), Watch())
    assert bags(kept).keys() == {("*",)}


@pytest.mark.slow
def test_labels_that_read_the_same_make_one_group():
    """The hierarchy calls a city and its region by one name: rows under either cannot be told apart."""
    region = [(name, name, "Bonn", "*") for name in ("Bonn", "a", "b")]
    policy = ix.Policy(
        columns={"place": ix.quasi(ix.levels([*region, ("c", "c", "c", "*")]))}, privacy=[ix.KAnonymity(2)]
    )
    data = pa.table({"place": ["Bonn", "Bonn", "a", "b", "c", "c"]})
    with ix.anonymize(data, policy, algorithm=TopDown()) as release:
        assert Counter(release.table["place"].to_pylist()) == {"Bonn": 4, "c": 2}
        assert release.verify(original=data).passed
    with open_table(data) as rows:
        recoding = TopDown().run(Task.of(FrequencyList.count(encode_eligible(rows, policy), policy), policy), Watch())
    assert sorted(recoding.sizes.tolist()) == [2, 4]


# Limits.


def test_columns_that_are_never_generalized_divide_the_table_first():
    column, fixed = Column("a", (("a1", "*"), ("a2", "*"))), Column("b", None)
    rows = (("a1", "x"), ("a2", "x"), ("a1", "x"), ("a1", "y"))
    table = Table((column, fixed), rows, (("flu",),) * 4, ("k-anonymity 2",))
    with pytest.raises(ix.InfeasibleError, match="'b' is never generalized"):
        TopDown().run(task_of(table), Watch())
    recoding = TopDown().run(task_of(table, max_suppression=1), Watch())
    assert recoding.suppressed_rows == 1
    assert bags(recoding).keys() == {("*", "x")}


def test_it_says_why_there_is_no_release():
    column = Column("a", (("a1", "*"), ("a2", "*")))
    table = Table((column,), (("a1",),) * 3, (("flu",), ("flu",), ("fever",)), ("(0.5, 2)",))
    with pytest.raises(ix.InfeasibleError, match="alpha"):
        TopDown().run(task_of(table), Watch())


def test_when_time_is_up_it_gives_what_it_has():
    rows = tuple((f"a{n % 4}", f"b{n % 2}") for n in range(16))
    made = (Column("a", tuple((f"a{n}", "*") for n in range(4))), Column("b", tuple((f"b{n}", "*") for n in range(2))))
    table = Table(made, rows, (("flu",),) * 16, ("k-anonymity 2",))
    late = TopDown().run(task_of(table), Watch(time_limit=0))
    assert (late.is_cut_short, late.sizes.tolist()) == (True, [16])
    in_time = TopDown().run(task_of(table), Watch())
    assert (in_time.is_cut_short, len(in_time.sizes)) == (False, 4)
    with pytest.raises(ix.InterruptedSearchError):
        TopDown().run(task_of(table), Watch(is_cancelled=lambda: True))


def test_progress_ends_with_all_rows():
    seen = []
    table = Table(
        (Column("a", (("a1", "*"), ("a2", "*"))),), (("a1",), ("a2",)) * 3, (("flu",),) * 6, ("k-anonymity 2",)
    )
    TopDown().run(task_of(table), Watch(progress=lambda *report: seen.append(report)))
    assert seen[-1] == ("search", 6, 6)


def test_options_must_make_sense():
    with pytest.raises(ix.PolicyError, match="tighten"):
        TopDown(tighten="yes")
