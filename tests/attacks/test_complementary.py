"""The complementary and the temporal attack: the papers' examples, a nested-loop adversary, and safe releases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.papers import (
    HOSPITAL_ADDED,
    HOSPITAL_COLUMNS,
    HOSPITAL_GT1,
    HOSPITAL_GT3,
    SWEENEY,
    at,
    policy_of,
    table_of,
)
from helpers.profiles import examples
from indistinct.attacks import ComplementaryReport
from indistinct.attacks.complementary.join import complementary
from indistinct.attacks.complementary.joined_releases import JoinedReleases
from indistinct.attacks.complementary.one_to_one import one_to_one
from indistinct.attacks.labels.label_reader import Reader
from indistinct.attacks.labels.meanings import DISJOINT
from indistinct.attacks.labels.vocabulary import Vocabulary
from indistinct.examples import save_examples

HOSPITAL_POLICY = policy_of(SWEENEY, HOSPITAL_COLUMNS[:4], 2, sensitive=["Problem"])
UNIQUE = [("white", "1964", "male", "02138"), ("white", "1965", "female", "02139")]


def hospital(*releases: Sequence[Sequence[str]], **options: Any) -> ComplementaryReport:
    return complementary([table_of(HOSPITAL_COLUMNS, rows) for rows in releases], HOSPITAL_POLICY, **options)


def labels_of(report: ComplementaryReport) -> list[tuple[Any, ...]]:
    return sorted(tuple(finding.labels.values()) for finding in report.findings)


@pytest.mark.slow
def test_example_6_finds_the_two_unique_tuples():
    report = hospital(HOSPITAL_GT1, HOSPITAL_GT3)
    assert report.on == ("Problem",)
    assert (report.releases[1].pairs, report.releases[1].consistent_pairs) == (18, 12)
    assert report.kinds == {"linked": 2}
    assert labels_of(report) == UNIQUE
    assert (report.certain, report.rows_at_risk, report.rows_possibly_at_risk, report.smallest) == (2, 2, 2, 1)
    assert report.is_broken
    first = report.findings[0]
    assert [(one.release, one.rows, one.labels["ZIP"]) for one in first.sources] == [
        ("release 1", 1, "0213*"),
        ("release 2", 1, "02138"),
    ]


def test_the_tables_that_demo_saves_are_those_of_example_6(tmp_path):
    save_examples(tmp_path)
    for name, rows in {"gt1": HOSPITAL_GT1, "gt3": HOSPITAL_GT3}.items():
        saved = (tmp_path / f"{name}.csv").read_text("utf-8").splitlines()
        assert saved == [",".join(row) for row in (HOSPITAL_COLUMNS, *rows)]
    policy = ix.read_policy(tmp_path / "gt.toml")
    paths = [tmp_path / "gt1.csv", tmp_path / "gt3.csv"]
    assert all(ix.verify(path, policy).passed for path in paths)
    found = complementary(paths, policy)
    assert sorted(tuple(one.labels[name] for name in HOSPITAL_COLUMNS[:4]) for one in found.findings) == UNIQUE


def test_example_6_does_not_depend_on_the_order_of_rows_or_releases():
    shuffled = hospital(HOSPITAL_GT3[::-1], HOSPITAL_GT1[5:] + HOSPITAL_GT1[:5])
    assert labels_of(shuffled) == UNIQUE
    assert shuffled.releases[1].consistent_pairs == 12


def test_example_7_finds_the_same_tuples_and_who_is_new():
    report = hospital(HOSPITAL_GT1, HOSPITAL_GT3 + HOSPITAL_ADDED)
    assert labels_of(report) == UNIQUE
    assert (report.releases[1].pairs, report.releases[1].consistent_pairs) == (18, 12)
    assert report.releases[1].rows_alone == 2
    assert report.releases[0].rows_alone == 0


@pytest.mark.slow
def test_the_safe_release_of_example_7_tells_nothing():
    report = hospital(HOSPITAL_GT1, HOSPITAL_GT1 + HOSPITAL_ADDED)
    assert (report.kinds, report.rows_at_risk, report.findings) == ({}, 0, ())
    assert not report.is_broken
    assert "nothing" in report.summary


def test_one_newcomer_stands_out_though_the_group_is_large_enough():
    report = hospital(HOSPITAL_GT1, [*HOSPITAL_GT1, ("black", "1965", "male", "02141", "rash")])
    assert report.kinds == {"absent": 1}
    (finding,) = report.findings
    assert (finding.rows, finding.absent, finding.labels["ZIP"]) == (1, ("release 1",), "02141")
    assert "release 1" in finding.sentence


@pytest.mark.slow
def test_a_third_release_is_linked_with_what_the_first_two_told():
    report = hospital(HOSPITAL_GT1, HOSPITAL_GT3, HOSPITAL_GT1)
    assert labels_of(report) == UNIQUE
    assert [len(finding.sources) for finding in report.findings] == [3, 3]


@pytest.mark.slow
def test_k_and_the_columns_to_link_by_can_be_given():
    assert hospital(HOSPITAL_GT1, HOSPITAL_GT3, k=1).kinds == {}
    assert hospital(HOSPITAL_GT1, HOSPITAL_GT3, k=3).below_k > 2
    assert hospital(HOSPITAL_GT1, HOSPITAL_GT3, on=[]).releases[1].pairs == 144


def test_each_release_can_have_a_policy_of_its_own():
    """The second release does not protect gender: it is released as it is, and generalized in the first."""
    columns = dict(HOSPITAL_POLICY.columns) | {"Gender": ix.other()}
    other = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])
    first, second = (table_of(HOSPITAL_COLUMNS, rows) for rows in (HOSPITAL_GT3, HOSPITAL_GT1))
    report = complementary({"GT3": first, "GT1": second}, [HOSPITAL_POLICY, other])
    assert report.on == ("Problem",)
    assert report.releases[1].consistent_pairs == 12


def test_a_report_tells_itself_as_text_and_json():
    report = hospital(HOSPITAL_GT1, HOSPITAL_GT3)
    content = report.to_dict()
    assert content["findings"][0]["labels"] == {"Race": "white", "BirthDate": "1964", "Gender": "male", "ZIP": "02138"}
    assert content["kinds"] == {"linked": 2}
    assert "what to do" in str(report)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"releases": [table_of(HOSPITAL_COLUMNS, HOSPITAL_GT1)]}, "at least two releases"),
        ({"releases": "somewhere"}, "at least two releases"),
        ({"policies": [HOSPITAL_POLICY]}, "1 for 2 releases"),
        ({"on": ["Illness"]}, "has no column 'Illness'"),
        ({"on": "Problem"}, "must list columns"),
        ({"k": 0}, "at least 1"),
    ],
)
def test_nonsense_is_refused(change, words):
    given = {"releases": [table_of(HOSPITAL_COLUMNS, rows) for rows in (HOSPITAL_GT1, HOSPITAL_GT3)]}
    arguments = given | {"policies": HOSPITAL_POLICY} | change
    with pytest.raises(ix.PolicyError, match=words):
        complementary(**arguments)


def test_a_label_that_is_in_no_hierarchy_is_refused_without_being_quoted():
    rows = [("martian", *HOSPITAL_GT1[0][1:])]
    with pytest.raises(ix.PolicyError, match="1 label of release 1 is not in its hierarchy") as caught:
        hospital(rows, HOSPITAL_GT1)
    assert "martian" not in str(caught.value)


# A nested-loop adversary on random tables. She reads a label as the set of values that it covers.

PLACES = {"a": ["a", "x", "*"], "b": ["b", "x", "*"], "c": ["c", "y", "*"]}
AGES = [str(age) for age in range(8)]
POLICY = ix.Policy(
    columns={
        "place": ix.quasi(ix.levels(list(PLACES.values()))),
        "age": ix.quasi(ix.intervals(2, 4)),
        "ill": ix.sensitive(),
    },
    privacy=[ix.KAnonymity(2)],
)


def place_label(place: str, level: int) -> str:
    return PLACES[place][level]


def age_label(age: str, level: int) -> str:
    width = (1, 2, 4)[level] if level < 3 else 0
    start = int(age) // width * width if width else 0
    return "*" if level == 3 else age if width == 1 else f"{start}-{start + width - 1}"


COVERED_PLACES = {label: {p for p in PLACES if label in PLACES[p]} for path in PLACES.values() for label in path}
COVERED_AGES = {
    age_label(age, level): {other for other in AGES if age_label(other, level) == age_label(age, level)}
    for age, level in product(AGES, range(4))
}

people = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(AGES), st.sampled_from("uvw")), max_size=8)


@st.composite
def histories(draw: st.DrawFn, most: int = 3) -> list[list[tuple[str, str, str]]]:
    """Return releases of people who come and go; each row is generalized by itself."""
    everybody = draw(people)
    releases = []
    for _ in range(draw(st.integers(2, most))):
        rows = []
        for place, age, ill in everybody:
            if draw(st.integers(0, 5)):
                levels = draw(st.tuples(st.integers(0, 2), st.integers(0, 3)))
                rows.append((place_label(place, levels[0]), age_label(age, levels[1]), ill))
        releases.append(draw(st.permutations(rows)))
    return releases


def covered(row: tuple[str, str, str]) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(COVERED_PLACES[row[0]]), frozenset(COVERED_AGES[row[1]])


Chain = tuple[tuple[int | None, ...], tuple[frozenset[str], frozenset[str]], str]


def chains_by_hand(releases: Sequence[Sequence[tuple[str, str, str]]]) -> tuple[list[Chain], list[int]]:
    """Link rows, not entries: a chain has a row of each release, or None where none fits."""
    chains: list[Chain] = [((number,), covered(row), row[2]) for number, row in enumerate(releases[0])]
    consistent = []
    for done, rows in enumerate(releases[1:], 1):
        longer: list[Chain] = []
        ended: list[Chain] = []
        taken = set()
        going = set()
        for members, sets, ill in chains:
            fits = []
            for number, row in enumerate(rows):
                met = tuple(mine & theirs for mine, theirs in zip(sets, covered(row), strict=True))
                if row[2] == ill and all(met):
                    fits.append(((*members, number), met, ill))
                    taken.add(number)
            longer += fits
            if fits:
                going |= set(enumerate(members))
            else:
                ended.append((members, sets, ill))
        consistent.append(len(longer))
        rows_going = {(release, releases[release][row]) for release, row in going if row is not None}
        for members, sets, ill in ended:  # a row goes on if one does that looks the same
            mine = {(release, releases[release][row]) for release, row in enumerate(members) if row is not None}
            if mine - rows_going:
                longer.append(((*members, None), sets, ill))
        longer += [((*[None] * done, n), covered(row), row[2]) for n, row in enumerate(rows) if n not in taken]
        chains = longer
    return chains, consistent


def crowds_by_hand(chains: Sequence[Chain], releases: int) -> tuple[dict[Any, int], dict[Any, int], set[Any]]:
    """Count the rows of each tuple: no row twice, and no more than any release has."""
    rows_of: dict[Any, list[set[int]]] = defaultdict(lambda: [set() for _ in range(releases)])
    for members, sets, ill in chains:
        there = tuple(member is not None for member in members)
        for release, member in enumerate(members):
            if member is not None:
                rows_of[sets, there, ill][release].add(member)
    tuples: dict[Any, int] = defaultdict(int)
    parts: dict[Any, int] = defaultdict(int)
    linked = set()
    for (sets, there, _), rows in rows_of.items():
        number = min(len(rows[release]) for release in range(releases) if there[release])
        tuples[sets] += number
        parts[sets, there] += number
        if all(there):
            linked.add(sets)
    return tuples, parts, linked


def as_table(rows: Sequence[tuple[str, str, str]]) -> pa.Table:
    return table_of(("place", "age", "ill"), rows)


@pytest.mark.slow
@examples(60, opens_tables=True)
@given(histories(), st.integers(1, 4))
def test_nested_loops_find_the_same(releases, k):
    report = complementary([as_table(rows) for rows in releases], POLICY, k=k, one_to_one=False, most=1000)
    chains, consistent = chains_by_hand(releases)
    tuples, parts, linked = crowds_by_hand(chains, len(releases))
    small = {sets: rows for sets, rows in tuples.items() if sets in linked and rows < k}
    absent = {part: rows for part, rows in parts.items() if not all(part[1]) and rows < k}
    assert report.below_k == len(small)
    assert report.kinds.get("absent", 0) == len(absent)
    assert report.smallest == min((tuples[sets] for sets in linked), default=0)
    assert sorted(one.rows for one in report.findings if one.kind == "linked") == sorted(small.values())
    assert report.releases[1].consistent_pairs == consistent[0]
    is_small = [
        chain[1] in small or (chain[1], tuple(member is not None for member in chain[0])) in absent for chain in chains
    ]
    verdicts = defaultdict(list)
    for chain, verdict in zip(chains, is_small, strict=True):
        if chain[0][-1] is not None:
            verdicts[chain[0][-1]].append(verdict)
    assert report.rows_at_risk == sum(map(all, verdicts.values()))
    assert report.rows_possibly_at_risk == sum(map(any, verdicts.values()))


SHOWN = {"place": POLICY.columns["place"], "age": POLICY.columns["age"]}
EACH = {
    name: ix.Policy(columns={name: column, "ill": ix.sensitive()}, privacy=[ix.KAnonymity(2)])
    for name, column in SHOWN.items()
}


def test_releases_of_different_columns_are_judged_by_all_of_them_together():
    """Each release hides everybody among two, and joined on a bill that is unique everybody is alone."""
    policies = [
        ix.Policy(columns={name: ix.quasi(), "bill": ix.other()}, privacy=[ix.KAnonymity(2)])
        for name in ("ward", "job")
    ]
    bills = ["1", "2", "3", "4"]
    first = pa.table({"ward": ["b0", "b0", "b2", "b2"], "bill": bills})
    second = pa.table({"job": ["a0", "a1", "a0", "a1"], "bill": bills})
    report = complementary([first, second], policies)
    assert (report.kinds, report.certain, report.smallest, report.rows_at_risk) == ({"linked": 4}, 4, 1, 4)
    assert labels_of(report) == [("b0", "a0"), ("b0", "a1"), ("b2", "a0"), ("b2", "a1")]
    assert report.is_broken


def test_what_a_policy_says_is_not_known_together_is_not_put_together():
    """The first policy says that nobody knows sex and job; the second speaks of the town only."""
    columns = {"sex": ix.quasi(), "job": ix.quasi(), "bill": ix.other()}
    apart = {"patient": ["sex"], "doctor": ["job"]}
    one = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)], quasi_identifiers=apart)
    other = ix.Policy(columns={"town": ix.quasi(), "bill": ix.other()}, privacy=[ix.KAnonymity(2)])
    bills = list("12345678")
    first = pa.table({"sex": list("ffffmmmm"), "job": list("ccddccdd"), "bill": bills})
    alike = pa.table({"town": list("xxxxxxxx"), "bill": bills})
    assert complementary([first, alike], [one, other]).kinds == {}
    second = pa.table({"town": list("xxyyxyxy"), "bill": bills})
    report = complementary([first, second], [one, other])
    assert sorted(tuple(finding.labels.items()) for finding in report.findings) == [
        (("job", "c"), ("town", "y")),
        (("job", "d"), ("town", "x")),
    ]


@examples(60, opens_tables=True)
@given(
    people,
    st.lists(st.sets(st.sampled_from(("place", "age")), min_size=1), min_size=2, max_size=2),
    st.integers(1, 4),
    st.data(),
)
def test_nested_loops_find_the_same_where_columns_differ(everybody, shown, k, data):
    levels = st.tuples(st.integers(0, 2), st.integers(0, 3))
    whole, tables, policies = [], [], []
    for names in shown:
        rows = []
        for place, age, ill in everybody:
            one, two = data.draw(levels)
            rows.append(
                (place_label(place, one if "place" in names else 2), age_label(age, two if "age" in names else 3), ill)
            )
        whole.append(rows)
        tables.append(as_table(rows).select([*sorted(names), "ill"]))
        policies.append(POLICY if len(names) == 2 else EACH[next(iter(names))])
    report = complementary(tables, policies, k=k, one_to_one=False, most=1000)
    chains, _ = chains_by_hand(whole)
    small: list[int] = []
    tuples_in_all = 0
    for judged in {frozenset(names) for names in [*shown, set().union(*shown)]}:
        kept = [place for place, name in enumerate(("place", "age")) if name in judged]
        tuples, _, linked = crowds_by_hand(
            [(members, tuple(sets[place] for place in kept), ill) for members, sets, ill in chains], 2
        )
        tuples_in_all += len(tuples)
        small += [rows for sets, rows in tuples.items() if sets in linked and rows < k]
    assert (report.tuples, report.below_k) == (tuples_in_all, len(small))
    assert sorted(one.rows for one in report.findings if one.kind == "linked") == sorted(small)


quasi_sets = st.lists(st.sets(st.sampled_from("abcd"), min_size=1), min_size=1, max_size=3)


@examples(100)
@given(st.lists(st.tuples(quasi_sets, st.lists(st.integers(2, 4), min_size=3, max_size=3)), min_size=1, max_size=3))
def test_what_all_policies_allow_to_be_known_is_judged_by_the_largest_k(shapes):
    """Every set of columns whose part in each policy lies in one of its sets is judged, or a larger one is."""
    policies = [
        ix.Policy(
            columns={name: ix.quasi() for name in sorted(set().union(*sets))},
            privacy=[ix.KAnonymity(k, on=str(number)) for number, k in zip(range(len(sets)), ks, strict=False)],
            quasi_identifiers={str(number): sorted(names) for number, names in enumerate(sets)},
        )
        for sets, ks in shapes
    ]
    columns = tuple(sorted(set().union(*(names for sets, _ in shapes for names in sets))))
    joined = JoinedReleases(("",) * len(policies), tuple(policies), columns, (), (), (), ())
    wanted = {frozenset(columns[place] for place in places): k for places, k in joined.requirements(None).items()}
    own = [[(frozenset(names), k) for names, k in zip(sets, ks, strict=False)] for sets, ks in shapes]
    for known in (frozenset(some) for size in range(1, 5) for some in combinations(columns, size)):
        for chosen in product(*own):
            if all(
                known & frozenset(policy.quasi) <= names for policy, (names, _) in zip(policies, chosen, strict=True)
            ):
                least = max(k for _, k in chosen)
                assert any(known <= judged and k >= least for judged, k in wanted.items())


@pytest.mark.slow
@examples(30, opens_tables=True)
@given(people.filter(len), st.data())
def test_what_is_true_is_never_ruled_out(everybody, data):
    """The same people twice: each tuple that somebody truly has is counted with at least all who have it."""
    levels = st.tuples(st.integers(0, 2), st.integers(0, 3))
    first = [data.draw(levels) for _ in everybody]
    second = [data.draw(levels) for _ in everybody]
    truth: dict[Any, int] = defaultdict(int)
    tables = []
    sets = [(frozenset("abc"), frozenset(AGES))] * len(everybody)
    for chosen in (first, second):
        rows = [
            (place_label(p, one), age_label(a, two), ill)
            for (p, a, ill), (one, two) in zip(everybody, chosen, strict=True)
        ]
        sets = [tuple(x & y for x, y in zip(s, covered(row), strict=True)) for s, row in zip(sets, rows, strict=True)]
        tables.append(as_table(rows))
    for one in sets:
        truth[one] += 1
    report = complementary(tables, POLICY, k=10**6, most=10**6)
    found = {
        (frozenset(COVERED_PLACES[one.labels["place"]]), frozenset(COVERED_AGES[one.labels["age"]])): one.rows
        for one in report.findings
        if one.kind == "linked"
    }
    assert all(found[one] >= number for one, number in truth.items())
    assert "absent" not in report.kinds


pairings = st.integers(1, 4).flatmap(
    lambda size: st.tuples(
        st.lists(st.integers(1, 2), min_size=size, max_size=size),
        st.lists(st.integers(1, 2), min_size=1, max_size=4),
        st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, 3))),
    )
)


def matchings_by_hand(lefts, room, pairs):
    """Return every way to pair off rows on the left, in their order, with room on the right."""
    if not lefts:
        yield []
        return
    yield from matchings_by_hand(lefts[1:], room, pairs)
    for left, right in pairs:
        if left == lefts[0] and room[right]:
            less = [rows - (entry == right) for entry, rows in enumerate(room)]
            yield from ([(left, right), *rest] for rest in matchings_by_hand(lefts[1:], less, pairs))


@examples(100)
@given(pairings)
def test_pairs_are_ruled_out_that_no_largest_matching_has(given_pairing):
    left_rows, right_rows, pairs = given_pairing
    pairs = sorted(pair for pair in pairs if pair[1] < len(right_rows))
    lefts = [entry for entry, rows in enumerate(left_rows) for _ in range(rows)]
    matchings = list(matchings_by_hand(lefts, right_rows, pairs))
    best = max(map(len, matchings))
    used = {pair for matched in matchings if len(matched) == best for pair in matched}
    left, right = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    found = one_to_one(left, right, np.array(left_rows), np.array(right_rows))
    assert found.alone == (len(lefts) - best, sum(right_rows) - best)
    assert [pair for pair, is_possible in zip(pairs, found.is_possible, strict=True) if is_possible] == sorted(used)


@pytest.mark.slow
def test_one_to_one_tells_apart_what_labels_do_not():
    """Both rows of the first release fit the second's ``a``; only one can have it, since ``b`` needs the other."""
    first, second = [("x", "1", "u"), ("b", "1", "u")], [("x", "1", "u"), ("a", "1", "u")]
    assert complementary([as_table(first), as_table(second)], POLICY).releases[1].ruled_out_pairs == 1
    assert complementary([as_table(first), as_table(second)], POLICY, one_to_one=False).below_k == 3
    assert complementary([as_table(first), as_table(second)], POLICY).below_k == 2


# Releases of our own kind: naive ones are broken, those based on an earlier one never.

HIERARCHIES = {"place": PLACES, "age": {age: [age_label(age, level) for level in range(4)] for age in AGES}}
NODES = list(product(range(3), range(4)))


def released(rows: Sequence[tuple[str, str, str]], node: tuple[int, int]) -> list[tuple[str, ...]]:
    return at(rows, ("place", "age"), HIERARCHIES, node)


def safe_nodes(rows: Sequence[tuple[str, str, str]], k: int) -> list[tuple[int, int]]:
    """Return the nodes whose groups all have k rows."""
    found = []
    for node in NODES:
        sizes: dict[Any, int] = defaultdict(int)
        for row in released(rows, node):
            sizes[row[:2]] += 1
        if sizes and min(sizes.values()) >= k:
            found.append(node)
    return found


def random_people(generator: np.random.Generator, number: int) -> list[tuple[str, str, str]]:
    draw = generator.integers
    return [("abc"[draw(3)], AGES[draw(8)], f"illness {draw(5 * number)}") for _ in range(number)]


@pytest.mark.slow
def test_naive_releases_are_broken_and_based_ones_are_not():
    generator = np.random.default_rng(5)
    tried = broken = 0
    for _ in range(7):
        rows = random_people(generator, 20)
        nodes = safe_nodes(rows, 2)
        pairs = list(product(nodes, nodes))
        for place in generator.permutation(len(pairs))[:8]:
            one, other = pairs[place]
            report = complementary([as_table(released(rows, one)), as_table(released(rows, other))], POLICY)
            if all(low <= high for low, high in zip(one, other, strict=True)):
                assert report.kinds == {}, "a release that is nowhere more specific tells nothing new"
            elif not all(low >= high for low, high in zip(one, other, strict=True)):
                tried += 1
                broken += report.is_broken
    assert tried > 8
    assert broken > tried / 4


@pytest.mark.slow
def test_what_the_ledger_lets_out_tells_nobody_anything(tmp_path):
    """Three releases by three algorithms: alone they undo each other, and not if the ledger is asked."""
    generator = np.random.default_rng(12)
    columns = {"number": ix.identifier(), **POLICY.columns}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(3)])
    broken = 0
    for number in range(2):
        rows = random_people(generator, 30)
        private = as_table(rows).add_column(0, "number", pa.array(range(30)))
        algorithms = (ix.Lattice(), ix.Mondrian(), ix.Regroup())
        naive = [ix.anonymize(private, policy, algorithm=one) for one in algorithms]
        broken += complementary(naive, policy).is_broken
        ledger = ix.Ledger.create(str(tmp_path / f"{number}.db"))
        safe = [
            ledger.anonymize(private, policy, recipient="University", algorithm=one, again="consistent")
            for one in algorithms
        ]
        report = complementary(safe, policy)
        assert not report.is_broken, str(report)
        assert report.rows_at_risk == 0
    assert broken > 0


@pytest.mark.slow
def test_releases_that_indistinct_made_are_read_with_what_they_say(tmp_path):
    rows = random_people(np.random.default_rng(2), 40)
    columns = dict(POLICY.columns)
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(4)])
    private = as_table(rows)
    with ix.anonymize(private, policy) as one, ix.anonymize(private, policy, algorithm=ix.Mondrian()) as other:
        folder = one.write(tmp_path / "one")
        report = complementary([folder, other], policy)
        again = complementary([folder, one], policy)
    assert [joined.rows for joined in report.releases] == [40, 40]
    assert again.kinds == {}
    assert report.on == ("ill",)


# What labels of every kind have in common.

DAYS = [f"196{year}-{month:02}-{day:02}" for year in range(4) for month in (1, 2, 7) for day in (1, 28)]
COLUMNS = {
    "levels": (ix.levels(list(PLACES.values())), list(PLACES)),
    "intervals": (ix.intervals(5, 10, low=7, high=33), [str(number) for number in range(40)]),
    "real intervals": (ix.intervals(0.5, 2.0), [str(number / 4) for number in range(-8, 16)]),
    "rounding": (ix.rounding(4, 10), [str(number) for number in range(-13, 30)]),
    "top_bottom": (ix.top_bottom((5, 30), (10, 20)), [str(number) for number in range(40)]),
    "prefix": (ix.prefix(4), [f"{number:04}" for number in range(0, 400, 7)]),
    "uneven prefix": (ix.prefix(), ["1", "12", "123", "1234", "2", "23"]),
    "dates": (ix.dates("month", "quarter", "year", "2 years"), DAYS),
    "suppress": (ix.suppress(), list("abc")),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_labels_meet_where_some_value_has_both(kind):
    """Labels of one level each, whatever the level: they have something in common if and only if values do."""
    hierarchy, values = COLUMNS[kind]
    rows = hierarchy.table(values)
    column = ix.quasi(hierarchy)
    longest = max(len(value) for value in values)
    for one, other in product(range(len(rows[0])), repeat=2):
        vocabulary = Vocabulary(Reader(column, False).number_of)
        readers = [Reader(column, False, level, longest) for level in (one, other)]
        codes = [
            {row[level]: vocabulary.code(reader.read(row[level]), row[level]) for row in rows}
            for reader, level in zip(readers, (one, other), strict=True)
        ]
        for mine, theirs in product(codes[0], codes[1]):
            both = {row[0] for row in rows if row[one] == mine and row[other] == theirs}
            met = vocabulary.meet(codes[0][mine], codes[1][theirs])
            assert (met != DISJOINT) == bool(both), (mine, theirs)
            if both:
                finer = mine if one <= other else theirs
                assert met == codes[0 if one <= other else 1][finer]


@pytest.mark.parametrize(
    ("hierarchy", "one", "other", "met"),
    [
        (ix.intervals(5, 10), "[17, 25]", "20-24", "20-24"),
        (ix.intervals(5, 10), "[17, 25]", "15-19", "[17, 20)"),
        (ix.intervals(5, 10), "[17, 25]", "[26, 40]", None),
        (ix.intervals(5, 10), "[17, 25]", "*", "[17, 25]"),
        (ix.levels(list(PLACES.values())), "{a, c}", "x", "a"),
        (ix.levels(list(PLACES.values())), "{b, c}", "{a, b, c}", "{b, c}"),
        (ix.levels(list(PLACES.values())), "{b, c}", "a", None),
        (ix.dates("year"), "[1964-03-01, 1965-02-01]", "1964", "[1964-03-01, 1964-12-31]"),
        (ix.suppress(), "{a, b} or missing", "{a, c} or missing", "{a} or missing"),
        (ix.prefix(5), "{02138, 02141}", "0213*", "02138"),
        (ix.prefix(5), "[02138, 02150]", "02139", "02139"),
    ],
)
def test_ranges_and_sets_meet(hierarchy, one, other, met):
    column = ix.quasi(hierarchy)
    reader = Reader(column, False, None, 5)
    vocabulary = Vocabulary(reader.number_of, is_dated="dates" in repr(hierarchy))
    codes = [vocabulary.code(reader.read(label), label) for label in (one, other)]
    for pair in (codes, codes[::-1]):
        found = vocabulary.meet(*pair)
        assert (None if found == DISJOINT else vocabulary.names[found]) == met


@pytest.mark.slow
def test_a_blank_cell_tells_nothing_where_cells_are_blanked():
    for missing, blanks in (("refuse", "remove"), ("value", "blank")):
        policy = ix.Policy(
            columns={"sex": ix.quasi(missing=missing), "ill": ix.sensitive()},
            privacy=[ix.KAnonymity(2)],
            suppressed_rows=blanks,
        )
        tables = [pa.table({"sex": ["f", "m"], "ill": ["u", "v"]}), pa.table({"sex": [None, "m"], "ill": ["u", "v"]})]
        assert complementary(tables, policy).releases[1].consistent_pairs == 2


def test_a_missing_value_fits_a_missing_value_only():
    policy = ix.Policy(columns={"sex": ix.quasi(), "ill": ix.sensitive()}, privacy=[ix.KAnonymity(2)])
    tables = [pa.table({"sex": ["f", None], "ill": ["u", "u"]})] * 2
    assert complementary(tables, policy).releases[1].consistent_pairs == 2


def test_several_quasi_identifiers_are_judged_one_by_one():
    policy = ix.Policy(
        columns={"sex": ix.quasi(), "job": ix.quasi(), "ill": ix.sensitive()},
        privacy=[ix.KAnonymity(2)],
        quasi_identifiers={"patient": ["sex"], "doctor": ["job"]},
    )
    table = pa.table({"sex": list("ffmm"), "job": list("cdcd"), "ill": list("uvwx")})
    assert complementary([table, table], policy).kinds == {}


@pytest.mark.slow
def test_empty_releases_tell_nothing():
    empty = as_table([])
    assert complementary([empty, empty], POLICY).kinds == {}
    assert complementary([as_table([("a", "1", "u")]), empty], POLICY).kinds == {"absent": 1}
