"""k-anonymity against whoever knows few columns: ``KAnonymity(k, known=m)``, from the policy file to the recount."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers import brute_force as bf
from helpers.profiles import examples
from indistinct.cli import app
from indistinct.policy.files.policy_entries import policy_schema
from indistinct.policy.files.policy_file import parse_policy, policy_toml
from indistinct.policy.stated_policy import policy_digest
from indistinct.search import Task, set_counts
from indistinct.search.full_domain.best_node.counters import SetCounter
from indistinct.search.full_domain.frontier import sweep
from indistinct.search.full_domain.solutions import minimal_solutions
from indistinct.search.set_counts import SetCounts
from indistinct.testing.recounted_rows import recount, released_rows

PEOPLE = pa.table(
    {
        "sex": ["f", "f", "m", "m", "f", "m"],
        "town": ["a", "a", "a", "b", "b", "b"],
        "job": ["x", "y", "x", "y", "x", "y"],
    }
)
"""Any one column is shared by three rows. Of pairs fa, mb, fx, my, ax, by are shared by two; fb, ma, fy, mx, ay, bx
stand alone."""


def policy_of(known, k=2, **more):
    columns = {name: ix.quasi(ix.suppress()) for name in PEOPLE.column_names}
    return ix.Policy(columns=columns, privacy=[ix.KAnonymity(k, known=known)], **more)


def test_one_known_column_needs_nothing_two_need_two_columns_and_three_are_plain_k_anonymity():
    """By hand: each two columns have a pair that stands alone, so for two known columns only one may stay."""
    alone = ix.anonymize(PEOPLE, policy_of(1, 3))
    assert alone.node == {"sex": 0, "town": 0, "job": 0}
    assert alone.facts.smallest_group == 1
    with pytest.raises(ix.InfeasibleError):
        ix.anonymize(PEOPLE, policy_of(1, 7))
    assert sum(ix.anonymize(PEOPLE, policy_of(2)).node.values()) == 2
    plain = ix.anonymize(PEOPLE, ix.Policy(columns=policy_of(2).columns, privacy=[ix.KAnonymity(2)]))
    assert ix.anonymize(PEOPLE, policy_of(3)).node == plain.node == ix.anonymize(PEOPLE, policy_of(9)).node


def test_a_row_that_one_set_suppresses_is_missing_from_the_others():
    """By hand: fay, max and fbx have pairs that stand alone; without them fax stands alone by sex and town."""
    never = replace(policy_of(2), columns=dict.fromkeys(PEOPLE.column_names, ix.quasi()))
    with pytest.raises(ix.InfeasibleError, match="4 of 6 rows must be suppressed, but the policy allows 3"):
        ix.anonymize(PEOPLE, replace(never, max_suppression=3))
    release = ix.anonymize(PEOPLE, replace(never, max_suppression=4))
    assert release.table.to_pylist() == [{"sex": "m", "town": "b", "job": "y"}] * 2


def test_the_release_says_what_holds_and_what_does_not():
    release = ix.anonymize(PEOPLE, policy_of(1, 3))
    said = "any one of 3 quasi columns is shared by at least 3 rows"
    assert said in repr(release)
    assert said in str(release.verdict)
    assert "groups of at least 1" in repr(release)
    check = next(check for check in release.verdict.checks if check.name.startswith("k-anonymity"))
    assert check.name == "k-anonymity (k = 3, known = 1) on quasi-identifier"
    assert check.detail == f"{said}; 3 sets of columns counted"
    told = release.verdict.to_dict()["known"]
    assert told == [{"on": "quasi-identifier", "known": 1, "columns": 3, "sets": 3, "smallest": 3}]


def test_a_recount_finds_one_planted_row(tmp_path):
    policy = policy_of(2, 3, max_suppression=0.5)
    table = pa.concat_tables([PEOPLE.select(["sex", "town", "job"])] * 3)
    assert ix.verify(table, policy).passed
    planted = pa.concat_tables([table, pa.table({"sex": ["f"], "town": ["a"], "job": ["z"]})])
    verdict = ix.verify(planted, policy)
    assert not verdict.passed
    failed = [check for check in verdict.checks if not check.passed]
    assert [check.detail for check in failed] == [
        "2 of 3 sets of 2 columns fail, in 2 groups; the smallest has 1 row, by sex, job"
    ]


def test_a_recipient_verifies_it_alone_and_a_changed_statement_is_found(tmp_path):
    ix.anonymize(PEOPLE, policy_of(1, 3)).write(tmp_path / "release")
    alone = ix.verify(tmp_path / "release")
    assert alone.passed
    assert alone.known[0].smallest == 3
    path = tmp_path / "release" / "manifest.json"
    manifest = json.loads(path.read_text())
    assert manifest["policy"]["privacy"] == [{"model": "k-anonymity", "k": 3, "known": 1}]
    manifest["verdict"]["known"][0]["smallest"] = 4
    path.write_text(json.dumps(manifest))
    assert not ix.verify(tmp_path / "release", policy_of(1, 3)).passed


def test_policy_files_say_it_and_digests_of_others_stay():
    policy = policy_of(2, 5)
    text = policy_toml(policy)
    assert "known = 2" in text
    assert parse_policy(text).privacy == policy.privacy
    plain = replace(policy, privacy=[ix.KAnonymity(5)])
    assert "known" not in policy_toml(plain)
    assert ix.KAnonymity(5).describe() == {"model": "k-anonymity", "k": 5}
    assert policy_digest(plain) != policy_digest(policy)
    schema = json.dumps(policy_schema())
    assert '"known"' in schema


@pytest.mark.parametrize("known", [0, -1, 2.0, True, "3"])
def test_what_is_no_number_of_columns_is_refused(known):
    with pytest.raises(ix.PolicyError, match="known must be a whole number of at least 1"):
        ix.KAnonymity(5, known=known)


def test_what_cannot_be_promised_is_refused(tmp_path):
    with pytest.raises(ix.PolicyError, match="drop known"):
        replace(policy_of(2), person={"column": "id", "release": "pseudonym"})
    columns = {**policy_of(2).columns, "ill": ix.sensitive()}
    models = [ix.KAnonymity(2, known=2), ix.LDiversity(2)]
    table = PEOPLE.append_column("ill", pa.array(list("abcabc")))
    for algorithm in ("lossy-join", "anatomy"):
        with pytest.raises(ix.PolicyError, match="with known cannot be met"):
            ix.anonymize(table, ix.Policy(columns=columns, privacy=models, algorithm=algorithm))


def test_several_quasi_identifiers_are_each_counted_by_themselves():
    policy = policy_of(2, 3, quasi_identifiers={"patient": ["sex", "town"], "doctor": ["job"]})
    assert [columns for columns, _ in policy.judged_sets()] == [("sex", "town"), ("job",)]
    named = policy_of(1, 3, quasi_identifiers={"patient": ["sex", "town"], "doctor": ["town", "job"]})
    verdict = ix.anonymize(PEOPLE, named).verdict
    assert [(one.on, one.sets) for one in verdict.known] == [("patient", 2), ("doctor", 2)]
    assert "on patient" in verdict.known_in_words


def oracle_of(case, known):
    """The same case with every set of so many columns as a quasi-identifier."""
    sets = tuple(combinations(range(len(case.columns)), min(known, len(case.columns))))
    return replace(case, quasi_identifiers=sets)


def task_of(case, known):
    plain = bf.task_of(replace(case, quasi_identifiers=None))
    policy = replace(plain.policy, privacy=[ix.KAnonymity(case.k, known=known)])
    return Task.of(plain.frequencies, policy)


KNOWN = st.integers(1, 4)
ALGORITHMS = st.sampled_from(["lattice", "samarati", "datafly", "mondrian", "regroup"])


@given(bf.cases(people=None), KNOWN)
@examples(60)
def test_the_optimum_and_the_minimal_nodes_are_those_of_brute_force(case, known):
    task, outcomes = task_of(case, known), bf.passing(oracle_of(case, known))
    found = minimal_solutions(task, ix.Watch())
    assert {solution.vector for solution in found} == bf.minimal(list(outcomes))
    for solution in found:
        assert solution.suppressed == len(outcomes[solution.vector].suppressed)
    for measure in ("precision", "loss", "discernibility"):
        try:
            recoding = ix.Lattice(measure).run(task, ix.Watch())
        except ix.InfeasibleError:
            assert not outcomes
            continue
        figure, larger_is_better = bf.MEASURES[measure]
        figures = {node: figure(one) for node, one in outcomes.items()}
        best = max(figures.values()) if larger_is_better else min(figures.values())
        assert figures[recoding.node] == pytest.approx(best)
        assert recoding.suppressed_rows == len(outcomes[recoding.node].suppressed)


@given(
    bf.cases(people=None, most_rows=14),
    KNOWN,
    st.sampled_from(["lattice", "samarati", "datafly", "mondrian", "regroup"]),
)
@examples(30, opens_tables=True)
def test_releases_hold_it_for_every_set_of_columns(case, known, algorithm):
    """Plain counts of the released cells, over sets of at most so many columns; people are told by their rows."""
    policy = replace(bf.policy_of_case(case), privacy=[ix.KAnonymity(case.k, known=known)], algorithm=algorithm)
    table = bf.table_of_case(case)
    try:
        release = ix.anonymize(table, policy)
    except ix.InfeasibleError:
        assume(False)
    names = list(policy.quasi)
    rows = list(zip(*(release.table.column(name).to_pylist() for name in names), strict=True))
    for size in range(1, min(known, len(names)) + 1):
        for chosen in combinations(range(len(names)), size):
            assert min(Counter(tuple(row[p] for p in chosen) for row in rows).values()) >= case.k
    assert ix.verify(release, policy, original=table).passed


def check_set_counter(codes, sizes, k, at_most):
    """Compare what goes by each two columns with what plain Counters say, until nothing more does."""
    rows = [tuple(codes[:, one]) for one in range(codes.shape[1])]
    left = dict(enumerate(sizes.tolist()))
    while True:
        failing = set()
        for chosen in combinations(range(len(codes)), 2):
            shared = Counter()
            for one, size in left.items():
                shared[tuple(rows[one][p] for p in chosen)] += size
            failing |= {one for one in left if shared[tuple(rows[one][p] for p in chosen)] < k}
        if not failing:
            break
        left = {one: size for one, size in left.items() if one not in failing}
    lost = int(sizes.sum()) - sum(left.values())
    labels = [[int(own.max()) + 1] for own in codes]
    sets = dict.fromkeys(combinations(range(len(codes)), 2), k)
    own = SetCounts(codes.astype(np.int32), list(range(len(codes))), labels, sizes.astype(np.int32), sets)
    for _ in range(2):  # what was counted serves again
        gone, rows_gone = own.taken_out([0] * len(codes), at_most)
        assert (rows_gone > at_most) == (lost > at_most)
        if lost <= at_most:
            assert rows_gone == lost
            assert set(gone.tolist()) == set(range(len(rows))) - left.keys()


@given(st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=4), st.integers(0, 5))
@examples(20)
def test_tuples_are_found_by_their_labels(cells, tuples):
    codes = np.array(cells, np.int32)[:, :tuples]
    starts, first, members = set_counts._index_labels(codes, [[4]] * len(codes))
    for row, at in enumerate(first):
        for label in range(4):
            own = members[row, starts[at + label] : starts[at + label + 1]]
            assert own.tolist() == np.flatnonzero(codes[row] == label).tolist()


@given(bf.cases(most_rows=14, most_columns=3), st.integers(1, 2), st.sets(st.integers(1, 6), min_size=1, max_size=3))
@examples(25)
def test_the_frontier_holds_every_figure_of_every_node_and_k(case, known, ks):
    names = ["precision", "loss", "discernibility", "distinct-tuples"]
    found = sweep(task_of(case, known), ix.Watch(), sorted(ks), names)
    for place, node in enumerate(map(tuple, found.nodes.tolist())):
        for column, k in enumerate(found.ks):
            one = bf.outcome(replace(oracle_of(case, known), k=k), node)
            assert found.suppressed[place, column] == len(one.suppressed)
            for name in names:
                assert found.values[name][place, column] == pytest.approx(bf.MEASURES[name][0](one)), name


A_LABEL_THAT_READS_LIKE_ITS_CHILD = bf.Case(
    (bf.Column("a", None, None, 1.0), bf.Column("b", (("b0", "b0"), (None, "b0")), None, 1.0)),
    (("a0", "b0"),),
    1,
    None,
)


@pytest.mark.slow
@given(bf.cases(most_rows=20), st.integers(1, 3))
@example(A_LABEL_THAT_READS_LIKE_ITS_CHILD, 1)
@examples(40)
def test_regroup_lowers_labels_of_its_groups_and_raises_none(case, known):
    """The groups are those of plain k-anonymity; each cell has their label or one below, and every set holds."""
    task, plain = task_of(case, known), task_of(case, None)
    try:
        before = ix.Regroup().run(plain, ix.Watch())
    except ix.InfeasibleError:
        assume(False)
    after = ix.Regroup().run(task, ix.Watch())
    recount(task, after, released_rows(after))
    assert after.suppressed_rows == before.suppressed_rows
    assert ix.NCP().loss(after) <= ix.NCP().loss(before) + 1e-12


def test_regroup_lowers_much_where_one_column_is_known():
    values = [(f"{n % 6}", f"{n % 7}", f"{(n * n) % 5}") for n in range(70)]
    table = pa.table({name: [row[p] for row in values] for p, name in enumerate("abc")})
    columns = {name: ix.quasi(ix.suppress()) for name in "abc"}
    plain = ix.Policy(columns=columns, privacy=[ix.KAnonymity(5)], algorithm="regroup")
    one = replace(plain, privacy=[ix.KAnonymity(5, known=1)])
    assert ix.anonymize(table, one).measures["ncp"] < ix.anonymize(table, plain).measures["ncp"] / 2


def test_init_asks_for_known_columns(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex,zip,age\n" + "".join(f"{'fm'[n % 2]},0213{n % 4},{20 + n}\n" for n in range(40)))
    said = CliRunner().invoke(app, ["init", str(path), "--known", "2", "-k", "3", "-o", str(tmp_path / "policy.toml")])
    assert said.exit_code == 0, said.output
    written = ix.read_policy(tmp_path / "policy.toml")
    assert written.privacy == (ix.KAnonymity(3, known=2),)
    assert written.algorithm == "lattice"


CODES = st.integers(0, 3)
DRAWN = st.lists(st.tuples(CODES, CODES, CODES, st.integers(1, 4)), min_size=1, max_size=14)


@pytest.mark.slow
@given(DRAWN, st.integers(1, 6), st.sampled_from([0, 3, 1000]), st.booleans())
@examples(60)
def test_what_goes_is_what_falls_by_plain_counting(drawn, k, at_most, is_numbered):
    table = np.array(drawn, np.int64).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_counts, "FEWEST_PLACES", 0 if is_numbered else 1024)
        patch.setattr(set_counts, "MOST_KEYS", 1 if is_numbered else 1 << 62)
        check_set_counter(table[:3], table[3], k, at_most)


@given(bf.cases(most_columns=4), KNOWN, st.randoms(use_true_random=False), st.integers(0, 40))
@examples(60)
def test_nodes_in_any_order_are_counted_as_by_brute_force(case, known, chance, most_counts):
    """Whatever was remembered of other nodes, and however often it is forgotten."""
    task, oracle = task_of(case, known), oracle_of(case, known)
    most = case.allowed
    counter = SetCounter(task, ix.Loss(), most)
    nodes = list(case.nodes())
    chance.shuffle(nodes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_counts, "MOST_COUNTS", most_counts)
        for node in [*nodes, *nodes[:5]]:
            one, found = bf.outcome(oracle, node), counter.outcome(node, counter.base)
            assert (found.suppressed_rows > most) == (len(one.suppressed) > most)
            if len(one.suppressed) <= most:
                assert found.suppressed_rows == len(one.suppressed)
                assert ix.Loss().loss(found) == pytest.approx(bf.loss(one))


@given(bf.cases(several=False), KNOWN)
@examples(40)
def test_it_is_what_listing_all_sets_of_columns_by_hand_is(case, known):
    task = task_of(case, known)
    names = task.frequencies.columns
    listed = {str(n): chosen for n, chosen in enumerate(combinations(names, min(known, len(names))))}
    by_hand = replace(task.policy, privacy=[ix.KAnonymity(case.k)], quasi_identifiers=listed)
    own = Task.of(task.frequencies, by_hand)

    def answer(one):
        try:
            found = ix.Lattice().run(one, ix.Watch())
        except ix.InfeasibleError:
            return None
        return found.node, found.suppressed_rows

    assert answer(task) == answer(own)


def test_the_linking_of_few_columns_finds_a_crowd_of_k():
    """The attack's own count: whoever knows so many columns of the private table finds k rows of the release."""
    values = [(f"{n % 3}", f"{n % 4}", f"{n % 5}", f"{(n * n) % 7}") for n in range(60)]
    table = pa.table({name: [row[p] for row in values] for p, name in enumerate("abcd")})
    hierarchies = {name: ix.quasi(ix.suppress()) for name in "abcd"}
    policy = ix.Policy(columns=hierarchies, privacy=[ix.KAnonymity(4, known=2)], max_suppression=0.2)
    release = ix.anonymize(table, policy)
    assert Counter(map(tuple, (row.values() for row in release.table.to_pylist()))).most_common()[-1][1] < 4
    for chosen in (("a", "b"), ("b", "d")):
        report = ix.attacks.link(release, table, policy, on=chosen)
        assert report.one_to_one == 0
        assert min(group.rows for group in report.worst) >= 4


def test_only_eligible_rows_are_counted_for_known_columns():
    """By hand: of the rows in town a, fax, fay and max, sex and job have the pairs fx, fy and mx, one row each."""
    where = [ix.where("town", "==", "a")]
    policy = policy_of(2, eligible=where)
    with ix.anonymize(PEOPLE, policy) as release:
        rows = release.table.to_pylist()
        assert release.facts.eligible == len(rows) == 3
        assert ix.verify(release.table, policy, original=PEOPLE).passed
    for names in combinations(PEOPLE.column_names, 2):
        assert min(Counter(tuple(row[name] for name in names) for row in rows).values()) >= 2
    with pytest.raises(ix.InfeasibleError):
        ix.anonymize(PEOPLE, policy_of(1, 4, eligible=where))


@pytest.mark.parametrize("algorithm", ["lattice", "samarati", "datafly"])
def test_known_columns_heed_the_levels_that_a_policy_demands(algorithm):
    """By hand: two known columns let one column stay; the town must go, so it is another that stays, or none."""
    columns = policy_of(2).columns | {"town": ix.quasi(ix.suppress(), min_level=1)}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2, known=2)])
    with ix.anonymize(PEOPLE, policy, algorithm=algorithm) as release:
        assert release.node["town"] == 1
        assert sum(release.node.values()) >= 2 or release.suppressed > 0
        rows = release.table.to_pylist()
    for names in combinations(PEOPLE.column_names, 2):
        assert min(Counter(tuple(row[name] for name in names) for row in rows).values()) >= 2
    kept = policy_of(2).columns | {name: ix.quasi(ix.suppress(), max_level=0) for name in ("sex", "town")}
    asked = ix.Policy(columns=kept, privacy=[ix.KAnonymity(2, known=2)], max_suppression=0)
    with pytest.raises(ix.InfeasibleError):
        ix.anonymize(PEOPLE, asked, algorithm=algorithm)
