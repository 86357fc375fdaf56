"""The bound stated with local releases: never above the loss of any partition of the rows, found by trying them all."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct import testing
from indistinct.progress import Watch
from indistinct.quality import NCP, Loss, NonUniformEntropy, Precision
from indistinct.recoding import LocalRecoding, Pieces
from indistinct.search import MinGenCell
from indistinct.search.bounds.bounds import cell_bound, duals_by_nodes
from indistinct.search.bounds.stated_bound import rows_of_every_group, state_bound, value_shares
from indistinct.search.local.groups.space import Space
from search.test_mingen_cell import task_for

LETTERS: dict[str, tuple[str, ...]] = {
    "a": ("ab", "*"),
    "b": ("ab", "*"),
    "c": ("cd", "*"),
    "d": ("cd", "*"),
    "e": ("e", "*"),
}
DIGITS: dict[str, tuple[str, ...]] = {
    "1": ("1-2", "1-4", "*"),
    "2": ("1-2", "1-4", "*"),
    "3": ("3-4", "1-4", "*"),
    "4": ("3-4", "1-4", "*"),
}
DIGITS |= {"5": ("5-6", "5-6", "*"), "6": ("5-6", "5-6", "*")}
TREES: dict[str, dict[str, tuple[str, ...]]] = {"letter": LETTERS, "digit": DIGITS, "other": LETTERS}


def least(rows, k, cost, is_allowed=lambda group: True):
    """Return the least cost of all ways to suppress some rows, at 1 each, and divide the others into groups of k."""

    @cache
    def of(left):
        if not left:
            return 0.0
        first, rest = left[0], left[1:]
        found = 1.0 + of(rest)  # it is suppressed
        for mask in range(1 << len(rest)):
            group = (first, *(row for place, row in enumerate(rest) if mask >> place & 1))
            if len(group) >= k and is_allowed(group):
                others = tuple(row for place, row in enumerate(rest) if not mask >> place & 1)
                found = min(found, len(group) * cost(group) + of(others))
        return found

    return of(tuple(range(len(rows))))


def ncp_by_hand(rows, group):
    """The mean over columns of the share of all leaves that the lowest common label of some rows covers."""
    total = 0.0
    for column, tree in enumerate(TREES.values()):
        values = {rows[row][column] for row in group}
        if len(values) > 1:
            level = next(level for level in range(3) if len({tree[value][level] for value in values}) == 1)
            label = tree[values.pop()][level]
            total += sum(path[level] == label for path in tree.values()) / len(tree)
    return total / len(TREES)


@pytest.mark.slow
@given(
    st.lists(st.tuples(*(st.sampled_from(sorted(tree)) for tree in TREES.values())), min_size=2, max_size=8),
    st.integers(2, 3),
)
@examples(60)
def test_no_bound_exceeds_the_least_ncp_of_all_partitions_by_hand(rows, k):
    columns = {
        name: ix.quasi(ix.levels([value, *path] for value, path in tree.items())) for name, tree in TREES.items()
    }
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(TREES)})
    task = task_for(table, ix.Policy(columns=columns, privacy=[ix.KAnonymity(k)]))
    wanted = least(rows, k, lambda group: ncp_by_hand(rows, group)) / len(rows)
    for visits in (10**9, 60, 1):
        assert cell_bound(task.frequencies, NCP(), k, Watch(), visits=visits) <= wanted + 1e-9
    assert cell_bound(task.frequencies, NCP(), k, Watch(time_limit=0)) <= wanted + 1e-9


@pytest.mark.slow
@given(
    testing.frequency_lists(most_tuples=6),
    st.sampled_from([NCP(), Loss(), Precision(), NonUniformEntropy()]),
    st.sampled_from(["hierarchy", "ranges"]),
    st.integers(2, 3),
)
@examples(60)
def test_no_bound_exceeds_the_least_loss_of_all_partitions(frequencies, measure, kind, k):
    assume(frequencies.rows <= 7 and (kind == "hierarchy" or measure.name in ("ncp", "loss")))
    rows = np.repeat(np.arange(len(frequencies.base)), frequencies.base.sizes).tolist()
    whole = measure.prepare(frequencies).whole
    assume(whole > 0)

    @cache
    def kept(group):
        """What a row of a group keeps, by the labels that it is given; less than nothing where there are none."""
        tuples, numbers = np.unique([rows[row] for row in group], return_counts=True)
        pieces = Pieces(tuples, numbers, np.zeros(len(tuples), np.int64))
        try:
            recoding = LocalRecoding.of_pieces(frequencies, pieces, kind)
        except (AssertionError, IndexError, ValueError):
            return -1e9
        each = zip(frequencies.weights, recoding.labels, strict=True)
        return sum(
            float(weight * measure.kept(frequencies, column, own)[0]) for column, (weight, own) in enumerate(each)
        )

    fixed = [column for column, hierarchy in enumerate(frequencies.hierarchies) if len(hierarchy.labels[-1]) > 1]

    def cost(group):
        apart = {tuple(int(frequencies.entry_codes(column)[rows[row]]) for column in fixed) for row in group}
        return 1e9 if len(apart) > 1 and kind == "hierarchy" else 1.0 - kept(group)

    loss = 1.0 - (len(rows) - least(rows, k, cost)) / whole
    for visits in (10**9, 40):
        assert cell_bound(frequencies, measure, k, Watch(), kind, visits) <= max(loss, 0.0) + 1e-9


ILLS = st.sampled_from("xxyyz")
ROWS_WITH_VALUES = st.lists(
    st.tuples(*(st.sampled_from(sorted(tree)) for tree in TREES.values()), ILLS), min_size=2, max_size=8
)


def task_with_values(rows, model):
    columns = {
        name: ix.quasi(ix.levels([value, *path] for value, path in tree.items())) for name, tree in TREES.items()
    }
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate([*TREES, "ill"])})
    return task_for(table, ix.Policy(columns=columns | {"ill": ix.sensitive()}, privacy=[model], max_suppression=1.0))


@pytest.mark.slow
@given(
    ROWS_WITH_VALUES,
    st.sampled_from(
        [*map(ix.MInvariance, (2, 3)), ix.AlphaK(0.5, 3), ix.AlphaK(0.7, 2), ix.AlphaK({"x": 0.4, "y": 0.6}, 2)]
    ),
)
@examples(120)
def test_no_bound_exceeds_the_least_ncp_of_all_partitions_whose_values_have_their_shares(rows, model):
    def share(value):
        if isinstance(model, ix.MInvariance):
            return 1 / model.m
        return model.alpha if isinstance(model.alpha, float) else model.alpha.get(value, 1.0)

    def is_allowed(group):
        counts = Counter(rows[row][-1] for row in group)
        return all(number <= share(value) * len(group) + 1e-9 for value, number in counts.items())

    task = task_with_values(rows, model)
    k, shares = rows_of_every_group(task), value_shares(task)
    asked = model.m if isinstance(model, ix.MInvariance) else model.k
    wanted = least(rows, asked, lambda group: ncp_by_hand(rows, group), is_allowed) / len(rows)
    for visits in (10**9, 60, 1):
        assert cell_bound(task.frequencies, NCP(), k, Watch(), visits=visits, shares=shares) <= wanted + 1e-9
    assert cell_bound(task.frequencies, NCP(), k, Watch(time_limit=0), shares=shares) <= wanted + 1e-9


def test_rows_of_one_value_are_no_company_for_each_other():
    """Three a that are ill alike need the one b, each by itself; blind to values, two of them are a group."""
    rows = [("a", "1", "a", "x")] * 3 + [("b", "1", "a", "y")]
    task = task_with_values(rows, ix.MInvariance(2))
    pair = 2 / 5 / 3  # two of five letters, in one of three columns
    assert least(rows, 2, lambda group: ncp_by_hand(rows, group)) == pytest.approx(2 * pair)
    found = cell_bound(task.frequencies, NCP(), 2, Watch(), shares=value_shares(task))
    blind = cell_bound(task.frequencies, NCP(), 2, Watch())
    assert blind <= 2 * pair / 4 + 1e-9
    # an a and the b are priced 2 pairs together, so all rows at least 4 pairs (b pays half), at most 6 (it pays none)
    assert 4 * pair / 4 - 1e-6 <= found <= 6 * pair / 4 + 1e-9


def test_shares_are_of_the_column_that_is_limited_most_and_never_of_people():
    rows = [("a", "1", "a", "x"), ("b", "2", "b", "y"), ("a", "1", "a", "z")]
    assert value_shares(task_with_values(rows, ix.LDiversity(2))) is None
    table = pa.table({"q": list("aabb"), "ill": list("xyxy"), "job": list("uvvu"), "who": list("1234")})
    columns = {"q": ix.quasi(ix.suppress()), "ill": ix.sensitive(), "job": ix.sensitive(), "who": ix.identifier()}
    asked = ix.Policy(columns, [ix.AlphaK(0.7, 2, column="ill"), ix.AlphaK(0.5, 2, column="job")])
    task = task_for(table, asked)
    shares = value_shares(task)
    assert shares.limits.tolist() == [0.5, 0.5]
    assert shares.values.tolist() == task.frequencies.entries.codes["job"].tolist()
    assert value_shares(task_for(table, replace(asked, person="who"))) is None


def test_a_bound_by_hand():
    """An a to spare joins b, and c joins d, at half of the domain each; two of a stay as they are."""
    table = pa.table({"letter": list("aaabcd"), "same": ["x"] * 6})
    columns = {"letter": ix.quasi(ix.levels([value, *LETTERS[value]] for value in "abcd")), "same": ix.quasi(ix.keep())}
    task = task_for(table, ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)]))
    space = Space.of(task.frequencies, NCP())
    priced = dict(zip("abcd", duals_by_nodes(space, 2, Watch()), strict=True))
    # a is a group by itself. b may share a label with one a, which pays nothing: so b pays for both. c and d share.
    assert priced == pytest.approx({"a": 0.0, "b": 1.0, "c": 0.5, "d": 0.5})
    best = ix.Regroup().run(task, Watch())
    assert NCP().loss(best) == pytest.approx(2.0 / 12)
    assert cell_bound(task.frequencies, NCP(), 2, Watch()) == pytest.approx(2.0 / 12)


def table_of_rows(number=60):
    generator = np.random.default_rng(5)
    names = {name: sorted(tree) for name, tree in TREES.items()}
    drawn = {
        name: [values[place] for place in generator.integers(0, len(values), number)] for name, values in names.items()
    }
    columns = {name: ix.quasi(ix.levels([value, *path] for value, path in TREES[name].items())) for name in TREES}
    return pa.table(drawn), ix.Policy(columns=columns, privacy=[ix.KAnonymity(3)])


@pytest.mark.slow
@pytest.mark.parametrize(
    "algorithm",
    [
        *(
            ix.Regroup(),
            ix.Regroup(labels="ranges"),
            ix.Regroup("precision"),
            ix.Mondrian(),
            ix.Mondrian(labels="ranges"),
        ),
        *(ix.TopDown(), ix.KSimilar(), MinGenCell(program_size=100)),
    ],
    ids=str,
)
def test_every_local_release_states_a_bound_that_it_does_not_lose_less_than(algorithm):
    table, policy = table_of_rows()
    with ix.anonymize(table, policy, algorithm=algorithm) as release:
        ((name, bound),) = release.facts.bound.items()
        gap = release.facts.gap
        figure = release.measures[name]
        assert 0 < bound <= (1 - figure if name == "precision" else figure) + 1e-12
        assert gap == pytest.approx((1 - figure if name == "precision" else figure) - bound, abs=1e-9)
        assert release.verdict.passed


def test_an_m_invariant_release_states_the_bound_of_groups_with_so_many_values():
    table, policy = table_of_rows()
    table = table.append_column("ill", pa.array([f"v{row % 4}" for row in range(len(table))]))
    columns = {**policy.columns, "ill": ix.sensitive()}
    asked = ix.Policy(columns, [ix.MInvariance(3)], max_suppression=1.0)
    with ix.anonymize(table, asked, algorithm=ix.MInvariant()) as release:
        task = task_for(table, asked)
        bound, shares = release.facts.bound["ncp"], value_shares(task)
        visits = ix.MInvariant.bound_effort * len(task.frequencies.entries)
        assert bound == cell_bound(task.frequencies, NCP(), 3, Watch(), visits=visits, shares=shares)
        assert cell_bound(task.frequencies, NCP(), 3, Watch(), visits=visits) < bound <= release.measures["ncp"]
        assert release.facts.gap == pytest.approx(release.measures["ncp"] - bound)
        assert release.verdict.passed


@pytest.mark.slow
def test_no_bound_is_stated_where_groups_of_all_columns_may_be_small():
    table, policy = table_of_rows()
    known = replace(policy, privacy=[ix.KAnonymity(3, known=2)])
    assert rows_of_every_group(task_for(table, known)) == 1
    with ix.anonymize(table, known, algorithm=ix.Regroup()) as release:
        assert release.facts.bound is None
    with ix.anonymize(table, policy, algorithm=ix.Lattice()) as release:
        assert release.facts.bound is None
    with ix.anonymize(
        table, policy, algorithm=ix.Mondrian(random_raise=0.2)
    ) as release:  # nobody may learn what was raised
        assert release.facts.bound is None


def test_with_a_time_limit_the_bound_is_no_lower():
    table, policy = table_of_rows()
    task = task_for(table, policy)
    recoding = ix.Mondrian().run(task, Watch())
    cheap = state_bound(task, recoding, ix.Mondrian(), Watch())
    longer = state_bound(task, recoding, ix.Mondrian(), Watch(time_limit=60))
    assert 0 < cheap.bound["ncp"] <= longer.bound["ncp"] <= NCP().loss(recoding)
    assert state_bound(task, cheap, ix.Mondrian(), Watch()) is cheap


def test_verify_refuses_a_bound_above_the_loss_and_a_false_gap(tmp_path):
    import json

    table, policy = table_of_rows()
    with ix.anonymize(table, policy, algorithm=ix.Mondrian()) as release:
        release.write(tmp_path / "release")
    manifest = tmp_path / "release" / "manifest.json"
    said = json.loads(manifest.read_text("utf-8"))
    verdict = ix.verify(tmp_path / "release", policy)
    assert verdict.passed
    (unchecked,) = verdict.not_checked
    assert {"bound", "gap"} <= set(unchecked.numbers["statements"])
    loss = said["measures"]["ncp"]
    for bound, gap in (({"ncp": loss + 0.01}, 0.0), ({"ncp": 0.0}, loss / 2)):
        manifest.write_text(json.dumps({**said, "bound": bound, "gap": gap}), "utf-8")
        failed = [check for check in ix.verify(tmp_path / "release", policy).checks if not check.passed]
        assert [check.numbers["wrong"] for check in failed] == [["bound"]]
    for bound in ({"ncp": 2.0}, {"ncp": 0.0, "loss": 0.0}, {}):
        manifest.write_text(json.dumps({**said, "bound": bound, "gap": loss}), "utf-8")
        with pytest.raises(ix.TableError, match="bound"):
            ix.verify(tmp_path / "release", policy)
