"""People with several rows: every model, algorithm and engine counts people, and the proof counts them anew.

The oracles count people in plain Python from the rows; see also ``test_against_brute_force``, whose cases have people.
"""

from __future__ import annotations

import hmac
import math
from collections import Counter, defaultdict
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import brute_force as bf
from helpers.profiles import cases, examples
from indistinct.policy import Column
from indistinct.profiling import names_people
from indistinct.search.full_domain.solutions import minimal_solutions

LOCAL = {
    "mondrian": ix.Mondrian(),
    "mondrian relaxed": ix.Mondrian(strict=False),
    "regroup": ix.Regroup(),
    "regroup, ranges": ix.Regroup(labels="ranges"),
    "k-similar": ix.KSimilar(),
    "top-down": ix.TopDown(),
    "mingen-cell": ix.MinGenCell(),
}
FULL = {"lattice": ix.Lattice(), "samarati": ix.Samarati(), "datafly": ix.Datafly(), "mingen": ix.MinGen()}


def holders(rows):
    """Return the people of a group, and for each sensitive value those who have it."""
    having = defaultdict(set)
    for person, value in rows:
        having[value].add(person)
    return {person for person, _ in rows}, having


def spread(having):
    """Return how values are spread where each person counts once for each of her values."""
    total = sum(map(len, having.values()))
    return {value: len(people) / total for value, people in having.items()}


MODELS = {
    "k": (ix.KAnonymity(2), lambda group, _: len(holders(group)[0]) >= 2),
    "distinct": (ix.LDiversity(2), lambda group, _: len(holders(group)[1]) >= 2),
    "alpha": (
        ix.AlphaK(0.6, 2),
        lambda group, _: (
            len(holders(group)[0]) >= 2
            and all(len(people) <= 0.6 * len(holders(group)[0]) + 1e-9 for people in holders(group)[1].values())
        ),
    ),
    "entropy": (
        ix.LDiversity(2, "entropy"),
        lambda group, _: (
            -sum(share * math.log(share) for share in spread(holders(group)[1]).values()) >= math.log(2) - 1e-9
        ),
    ),
    "close": (
        ix.TCloseness(0.4),
        lambda group, table: (
            sum(
                max(0.0, share - spread(holders(table)[1])[value]) for value, share in spread(holders(group)[1]).items()
            )
            <= 0.4 + 1e-9
        ),
    ),
    "beta": (
        ix.BetaLikeness(1.0),
        lambda group, table: all(
            len(people) / len(holders(group)[0]) <= 2 * len(holders(table)[1][value]) / len(holders(table)[0]) + 1e-9
            for value, people in holders(group)[1].items()
        ),
    ),
    "risk": (ix.ProsecutorRisk(0.5), lambda group, _: len(holders(group)[0]) >= 2),
}


@st.composite
def asked(draw):
    """Draw a table of people with several rows and a sensitive value each, and the models that it must satisfy."""
    case = draw(bf.cases(most_rows=14, most_columns=2, people=True))
    values = draw(st.lists(st.sampled_from("uvw"), min_size=len(case.rows), max_size=len(case.rows)))
    names = draw(st.lists(st.sampled_from(sorted(MODELS)), min_size=1, max_size=2, unique=True))
    return case, values, names


def policy_and_table(case, values, names):
    policy = replace(
        bf.policy_of_case(case, columns={"illness": ix.sensitive(), "number": ix.other()}),
        privacy=[MODELS[name][0] for name in names],
    )
    return policy, bf.table_of_case(case, illness=values, number=range(len(case.rows)))


def groups_of(release, case, values):
    """Return the people and values of each released group: the number of a row says which it was."""
    columns = [column.name for column in case.columns]
    groups = defaultdict(list)
    for row in release.table.to_pylist():
        groups[tuple(row[name] for name in columns)].append((case.persons[row["number"]], values[row["number"]]))
    return groups


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FULL, *LOCAL])
@given(one=asked())
@examples(10, opens_tables=True)
def test_every_group_of_every_algorithm_satisfies_every_model_in_people(name, one):
    case, values, names = one
    policy, table = policy_and_table(case, values, names)
    try:
        release = ix.anonymize(table, policy, algorithm=(FULL | LOCAL)[name])
    except ix.InfeasibleError:
        return
    with release:
        groups = groups_of(release, case, values)
        everything = [row for group in groups.values() for row in group]
        for model in names:
            for group in groups.values():
                assert MODELS[model][1](group, everything), model
        assert "person" not in release.table.column_names
        verdict = release.verify(table)
        assert verdict.passed, str(verdict)
        assert any(check.name.startswith("people: ") for check in verdict.checks)


@pytest.mark.slow
@given(asked())
@examples(60, opens_tables=True)
def test_lattice_finds_the_best_node_for_every_model_in_people(one):
    """Every node is tried, and failing groups are taken out until none fails; the table of a model is what is left."""
    case, values, names = one
    policy, table = policy_and_table(case, values, names)
    rows_of = list(zip(case.persons, values, strict=True))
    found = {}
    for node in case.nodes():
        rows = bf.generalized(case, node)
        kept = set(range(len(rows)))
        relative = [name for name in names if MODELS[name][0].asks_whole_table]
        for asked_now in ([name for name in names if name not in relative], names):
            while True:
                groups = defaultdict(list)
                for number in sorted(kept):
                    groups[rows[number]].append(number)
                everything = [rows_of[number] for number in kept]
                out = {
                    number
                    for numbers in groups.values()
                    for name in asked_now
                    if not MODELS[name][1]([rows_of[n] for n in numbers], everything)
                    for number in numbers
                }
                if not out:
                    break
                kept -= out
        outcome = bf.Outcome(case, node, rows, frozenset(range(len(rows))) - frozenset(kept))
        if outcome.passes:
            found[node] = outcome
    try:
        with ix.anonymize(table, policy) as release:
            node = tuple(release.node.values())
    except ix.InfeasibleError:
        assert not found
        return
    assert node in found
    assert release.suppressed == len(found[node].suppressed)
    assert bf.precision(found[node]) == pytest.approx(max(map(bf.precision, found.values())), abs=1e-9)


# What is counted, and what is refused.


VISITS = pa.table(
    {
        "patient": ["ann", "ann", "ann", "bob", "bob", "cid", "dee", "eve"],
        "ward": ["a", "a", "a", "a", "b", "b", "b", "b"],
        "illness": ["flu", "flu", "cough", "flu", "flu", "flu", "cough", "flu"],
    }
)


def visits_policy(k=2, **more):
    columns = {"ward": ix.quasi(ix.suppress()), "illness": ix.other()}
    return ix.Policy(**{"columns": columns, "privacy": [ix.KAnonymity(k)], "person": "patient"} | more)


def test_rows_of_one_person_do_not_hide_her():
    rows = ix.anonymize(VISITS, visits_policy(3, person=None, one_row_per_person=True, columns=columns_with_patient()))
    people = ix.anonymize(VISITS, visits_policy(3))
    assert rows.node == {"ward": 0}  # four rows each
    assert people.node == {"ward": 1}  # only two people in ward a
    assert people.recoding.released_rows == 8


def columns_with_patient(**more):
    return {"patient": ix.identifier(), "ward": ix.quasi(ix.suppress()), "illness": ix.other()} | more


@pytest.mark.slow
def test_a_release_that_looks_safe_and_is_not_fails_with_the_original():
    """Four rows of two people: enough for three rows, not for three people."""
    release = ix.anonymize(
        VISITS, visits_policy(3, person=None, one_row_per_person=True, columns=columns_with_patient())
    )
    alone = ix.verify(release.table, visits_policy(3))
    assert alone.passed
    said = {check.name: check.detail for check in alone.checks}
    assert "with the original people are counted" in said["people"]
    verdict = ix.verify(release.table, visits_policy(3), original=VISITS)
    assert [check.name for check in verdict.checks if not check.passed] == [
        "least suppression",
        "people: k-anonymity (k = 3) on quasi-identifier",
    ]


def test_groups_that_were_suppressed_are_not_counted():
    """Ward c has one patient, who is left out."""
    table = pa.concat_tables([VISITS, pa.table({"patient": ["fay"], "ward": ["c"], "illness": ["flu"]})])
    verdict = ix.anonymize(table, visits_policy(2, max_suppression=1)).verify(table)
    assert "2 groups, the smallest of 2 people" in str(verdict)
    assert "of 0 people" not in str(verdict)


def test_rows_that_are_missing_are_taken_for_those_that_leave_fewest_people():
    """Of ward a three of four rows are released: they may be those of one patient."""
    some = pa.table({"ward": ["a"] * 3 + ["b"] * 4, "illness": ["flu", "flu", "cough", "flu", "flu", "cough", "flu"]})
    verdict = ix.verify(some, visits_policy(2, max_suppression=1), original=VISITS)
    failed = {check.name: check.detail for check in verdict.checks if not check.passed}
    assert failed["people: k-anonymity (k = 2) on quasi-identifier"] == "1 of 2 groups fail, 1 person in them"


@pytest.mark.slow
def test_a_group_that_too_few_people_fit_fails_in_a_local_release():
    """Cell by cell: ward a of three rows, all that fit are ann's and bob's; ward * fits everybody."""
    columns = {"ward": ix.quasi(ix.suppress()), "illness": ix.quasi(ix.suppress())}
    released = pa.table({"ward": ["a"] * 3 + ["*"] * 5, "illness": ["flu"] * 3 + ["*"] * 5})
    policy = visits_policy(3, columns=columns)
    verdict = ix.verify(released, policy, original=VISITS, is_local=True)
    failed = {check.name: check.detail for check in verdict.checks if not check.passed}
    assert failed == {"people": "1 of 2 groups fit the rows of fewer than 3 people"}
    two = ix.verify(released, replace(policy, privacy=[ix.KAnonymity(2)]), original=VISITS, is_local=True)
    assert "each of 2 groups fits the rows of at least 2 people" in str(two)
    assert two.passed


@pytest.mark.parametrize("algorithm", ["lossy-join", "anatomy", "mu-argus", "m-invariance"])
def test_algorithms_that_count_rows_refuse(algorithm):
    columns = {"ward": ix.quasi(ix.suppress()), "illness": ix.sensitive()}
    model = ix.MInvariance(2) if algorithm == "m-invariance" else ix.LDiversity(2)
    with pytest.raises(ix.PolicyError, match=f"'{algorithm}' counts rows, not people"):
        ix.anonymize(VISITS, visits_policy(columns=columns, privacy=[model]), algorithm=algorithm)


def test_the_distance_matrix_refuses():
    with pytest.raises(ix.PolicyError, match="distance matrix counts rows"):
        ix.anonymize(VISITS, visits_policy(), algorithm=ix.Samarati(satisfies="matrix"))


def test_too_few_people_are_said():
    with pytest.raises(ix.InfeasibleError, match="rows of 5 people, fewer than k = 6"):
        ix.anonymize(VISITS, visits_policy(6))


@pytest.mark.slow
def test_blank_rows_hide_people_as_well():
    """The suppressed rows of one person would be a group of hers."""
    table = VISITS.append_column("town", pa.array(["x"] * 3 + ["y"] * 5))
    columns = {"town": ix.quasi(), "ward": ix.quasi(ix.suppress()), "illness": ix.other()}
    policy = visits_policy(2, columns=columns, max_suppression=3, suppressed_rows="blank")
    with pytest.raises(ix.InfeasibleError, match="3 blank rows fail k-anonymity"):
        ix.anonymize(table, policy)
    assert ix.anonymize(table, replace(policy, suppressed_rows="remove")).suppressed == 3


@pytest.mark.parametrize(
    ("person", "columns", "message"),
    [
        (["ward"], {}, "'ward' says whose row it is and is never released, so it cannot be quasi"),
        ("illness", {}, "so it cannot be other"),
        ([], {}, "must name a column, or a list of columns"),
        (3, {}, "must name a column, or a list of columns"),
        (["patient", "patient"], {}, "names a column twice"),
        ({"row": "patient"}, {}, "takes column or columns.* got row"),
    ],
)
def test_mistakes_about_the_person_are_named(person, columns, message):
    with pytest.raises(ix.PolicyError, match=message):
        visits_policy(person=person, **columns)


def test_a_person_and_one_row_each_contradict():
    with pytest.raises(ix.PolicyError, match="one_row_per_person"):
        visits_policy(one_row_per_person=True)


def test_a_missing_person_column_is_named():
    with pytest.raises(ix.PolicyError, match=r"columns\.patient: the table has no such column"):
        ix.anonymize(VISITS.drop(["patient"]), visits_policy())


def test_rows_of_nobody_are_counted_and_not_quoted():
    table = VISITS.set_column(0, "patient", pa.array(["ann", None, "", "secret", "bob", "bob", "cid", "cid"]))
    with pytest.raises(ix.PolicyError, match="person: 2 rows have nothing in 'patient'") as refused:
        ix.anonymize(table, visits_policy())
    assert "secret" not in str(refused.value)
    present = visits_policy(eligible=[ix.where("patient", "present")])
    assert ix.anonymize(table, present).recoding.rows == 6


@pytest.mark.slow
def test_several_columns_may_name_a_person():
    """The same number in two clinics is of two people."""
    table = VISITS.append_column("clinic", pa.array(list("nsnnssns")))
    release = ix.anonymize(table, visits_policy(person=["clinic", "patient"]))
    assert {"patient", "clinic"}.isdisjoint(release.table.column_names)
    pairs = set(zip(table["ward"].to_pylist(), table["clinic"].to_pylist(), table["patient"].to_pylist(), strict=True))
    assert Counter(ward for ward, _, _ in pairs) == {"a": 3, "b": 4}
    assert ix.anonymize(table, visits_policy(3, person=["clinic", "patient"])).node == {"ward": 0}


def test_the_policy_file_and_the_schema_know_it():
    text = ix.policy_toml(visits_policy(person=["patient"]))
    assert 'person = "patient"' in text
    assert ix.parse_policy(text) == visits_policy()
    several = visits_policy(person=["patient", "clinic"])
    assert ix.parse_policy(ix.policy_toml(several)).person_columns == ("patient", "clinic")
    in_a_table = text.replace('person = "patient"', 'person = { column = "patient" }')
    assert ix.parse_policy(in_a_table) == visits_policy()
    alone = visits_policy(person=None, one_row_per_person=True)
    assert ix.parse_policy(ix.policy_toml(alone)) == alone
    properties = ix.policy_schema()["properties"]
    assert {"person", "one_row_per_person"} <= properties.keys()


# Nobody is fooled.


@pytest.mark.slow
def test_an_identifier_that_repeats_is_refused_with_the_way_out():
    policy = visits_policy(person=None, columns=columns_with_patient())
    expected = r"'patient' is the same in several rows \(5 different in 8\).*say person = 'patient'.*one_row_per_person"
    with pytest.raises(ix.PolicyError, match=expected) as refused:
        ix.anonymize(VISITS, policy)
    assert "ann" not in str(refused.value)
    assert ix.check(VISITS, policy).mistakes == tuple(refused.value.mistakes)
    assert ix.anonymize(VISITS, replace(policy, one_row_per_person=True)).recoding.rows == 8
    assert ix.anonymize(VISITS, replace(policy, person="patient")).recoding.rows == 8


def test_rows_that_are_not_eligible_do_not_count():
    policy = visits_policy(person=None, columns=columns_with_patient(), eligible=[ix.where("patient", ">=", "cid")])
    assert ix.anonymize(VISITS, policy).recoding.rows == 3


def test_names_may_be_those_of_several_people():
    names = [f"name {number}" for number in range(100)]
    table = pa.table({"name": [*names[:-1], names[0]], "ward": ["a"] * 100})
    columns = {"name": ix.identifier(), "ward": ix.quasi(ix.suppress())}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])
    assert ix.anonymize(table, policy).recoding.rows == 100
    with pytest.raises(ix.PolicyError, match="'name' is the same in several rows"):
        ix.anonymize(table.set_column(0, "name", pa.array(names[:50] * 2)), policy)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("patient_nbr", "number"),
        ("CustomerID", "number"),
        ("ssn", "number"),
        ("Versicherter", "number"),
        ("name", "name"),
        ("patient name", "name"),
        ("encounter_id", None),
        ("doctor", None),
        ("hospital_number", None),
        ("e-mail", None),
        ("age", None),
    ],
)
def test_names_of_columns_tell_whose_rows_they_are(name, kind):
    assert names_people(name) == kind


def test_init_finds_the_person():
    from indistinct.pipeline.suggesting import suggested_policy
    from indistinct.profiling import profile

    table = pa.table({"encounter_id": range(200), "patient_nbr": [n // 2 for n in range(200)], "age": [40] * 200})
    found = profile(table.append_column("sex", pa.array(["f", "m"] * 100)))
    assert found.person == "patient_nbr"
    assert {column.name: column.role for column in found.columns}["patient_nbr"] == "identifier"
    assert "100 different in 200 rows" in next(c.reason for c in found.columns if c.name == "patient_nbr")
    assert suggested_policy(found).person_columns == ("patient_nbr",)
    assert [column.name for column in found.columns] == ["encounter_id", "patient_nbr", "age", "sex"]


# Linked rows: all rows of a person together.


def linked(case, **more):
    return bf.policy_of_case(case, **{"columns": {"number": ix.other()}} | more)


def with_pseudonyms(policy, **more):
    return replace(policy, person={"column": "person", "release": "pseudonym", **more})


def linked_outcome(case, node):
    """Suppress whoever shares the multiset of her rows with fewer than k people."""
    rows = bf.generalized(case, node)
    profiles = {
        person: frozenset(
            Counter(row for row, whose in zip(rows, case.persons, strict=True) if whose == person).items()
        )
        for person in case.persons
    }
    shared = Counter(profiles.values())
    out = {number for number, person in enumerate(case.persons) if shared[profiles[person]] < case.k}
    return bf.Outcome(case, node, rows, frozenset(out))


@pytest.mark.slow
@given(bf.cases(people=True, most_columns=3))
@examples(80)
def test_the_exact_search_works_on_profiles(case):
    policy = with_pseudonyms(bf.policy_of_case(case))
    task = replace(bf.task_of(case), policy=policy)
    outcomes = {node: one for node in case.nodes() if (one := linked_outcome(case, node)).passes}
    for measure in ("precision", "loss", "discernibility", "distinct-tuples"):
        figure, more_is_better = bf.MEASURES[measure]
        try:
            found = ix.Lattice(measure=measure).run(task, ix.Watch())
        except ix.InfeasibleError:
            assert not outcomes
            continue
        best = (max if more_is_better else min)(figure(one) for one in outcomes.values())
        assert figure(outcomes[found.node]) == pytest.approx(best, abs=1e-9), measure
        assert found.suppressed_rows == len(outcomes[found.node].suppressed)
        assert found.is_proven
    if outcomes:
        lowest = ix.Samarati().run(task, ix.Watch())
        assert sum(lowest.node) == min(map(sum, outcomes))
        solutions = minimal_solutions(task, ix.Watch())
        assert {solution.vector for solution in solutions} == bf.minimal(list(outcomes))


@pytest.mark.slow
@pytest.mark.parametrize("suppress", ["people", "rows"])
@pytest.mark.parametrize("algorithm", cases([*FULL, "mondrian", "regroup"], "lattice", "datafly", "regroup"))
@given(case=bf.cases(people=True, most_rows=14, most_columns=2))
@examples(12, opens_tables=True)
def test_every_profile_of_a_release_is_that_of_k_people(algorithm, suppress, case):
    policy = with_pseudonyms(linked(case), suppress=suppress)
    table = bf.table_of_case(case, number=range(len(case.rows)))
    try:
        release = ix.anonymize(table, policy, algorithm=algorithm)
    except ix.InfeasibleError:
        return
    with release:
        names = [column.name for column in case.columns]
        rows, whose = defaultdict(list), defaultdict(set)
        for row in release.table.to_pylist():
            rows[row["pseudonym"]].append(tuple(str(row[name]) for name in names))
            whose[row["pseudonym"]].add(case.persons[row["number"]])
        shared = Counter(tuple(sorted(profile)) for profile in rows.values())
        assert min(shared.values()) >= case.k
        assert all(len(people) == 1 for people in whose.values())
        assert len({min(people) for people in whose.values()}) == len(whose)
        verdict = release.verify(table)
        assert verdict.passed, str(verdict)


def rows_outcome(case, node):
    """Whoever fails loses her rows in the group of fewest people, the first by its labels of equal ones."""
    rows = bf.generalized(case, node)
    kept = set(range(len(rows)))
    while True:
        of_person, people = defaultdict(Counter), defaultdict(set)
        for number in kept:
            of_person[case.persons[number]][rows[number]] += 1
            people[rows[number]].add(case.persons[number])
        profiles = {person: frozenset(counted.items()) for person, counted in of_person.items()}
        shared = Counter(profiles.values())
        failing = {person for person, profile in profiles.items() if shared[profile] < case.k}
        if not failing:
            return rows, kept, of_person
        fewest = {person: min(len(people[row]) for row in of_person[person]) for person in failing}
        for person in failing:
            rarest = [row for row in of_person[person] if len(people[row]) == fewest[person]]
            if len(rarest) > 1:
                return None  # which of them goes is the package's choice
            kept -= {n for n in kept if case.persons[n] == person and rows[n] == rarest[0]}


@pytest.mark.slow
@given(bf.cases(people=True, most_columns=2))
@examples(80)
def test_single_rows_are_suppressed_as_said(case):
    policy = with_pseudonyms(bf.policy_of_case(case), suppress="rows")
    task = replace(bf.task_of(case), policy=policy)
    best = None
    for node in case.nodes():
        groups, _ = task.frequencies.roll_up(node)
        found = task.recoding(groups)
        whole = replace(task, policy=with_pseudonyms(bf.policy_of_case(case))).recoding(groups)
        assert found.suppressed_rows <= whole.suppressed_rows
        expected = rows_outcome(case, node)
        if expected is not None:
            assert found.released_rows == len(expected[1])
        if found.released_rows and found.suppressed_rows <= case.allowed:
            loss = ix.Precision().loss(found)
            best = loss if best is None else min(best, loss)
    try:
        answer = ix.Lattice().run(task, ix.Watch())
    except ix.InfeasibleError:
        assert best is None
    else:
        assert ix.Precision().loss(answer) == pytest.approx(best, abs=1e-9)


@pytest.mark.slow
def test_aligned_rows_keep_people_whom_no_node_keeps():
    """Two patients went to wards a and b, two to a and c: at every node one of the wards is hidden for all."""
    table = pa.table(
        {
            "patient": [name for name in ("ann", "bob", "cid", "dee") for _ in range(2)],
            "ward": ["a", "b", "a", "b", "c", "d", "c", "e"],
            "illness": ["flu"] * 8,
        }
    )
    local = ix.anonymize(table, linked_policy(algorithm="regroup"))
    rows = defaultdict(list)
    for row in local.table.to_pylist():
        rows[row["pseudonym"]].append(row["ward"])
    assert sorted(map(sorted, rows.values())) == [["*", "c"], ["*", "c"], ["a", "b"], ["a", "b"]]
    assert ix.anonymize(table, linked_policy()).node == {"ward": 1}
    verdict = local.verify(table)
    assert verdict.passed
    assert "linked rows: not compared" in str(verdict)


def test_people_with_a_number_of_rows_of_their_own_lose_them():
    """Only ann came three times."""
    table = pa.table({"patient": ["ann"] * 3 + ["bob", "bob", "cid", "cid"], "ward": list("aaababa")[:7]})
    policy = linked_policy(columns={"ward": ix.quasi(ix.suppress())}, algorithm="mondrian", max_suppression=3)
    assert ix.anonymize(table, policy).suppressed == 3
    single = replace(policy, person={"column": "patient", "release": "pseudonym", "suppress": "rows"})
    assert ix.anonymize(table, single).suppressed == 1
    with pytest.raises(ix.InfeasibleError, match="3 of 7 rows are of people whose number of rows too few share"):
        ix.anonymize(table, replace(policy, max_suppression=2))
    assert not ix.check(table, replace(policy, max_suppression=2)).is_feasible
    sensitive = linked_policy(
        columns={"ward": ix.quasi(ix.suppress()), "illness": ix.sensitive()},
        privacy=[ix.LDiversity(2)],
        algorithm="regroup",
    )
    with pytest.raises(ix.PolicyError, match="aligned for k-anonymity only"):
        ix.anonymize(LINKED, sensitive)


LINKED = pa.table(
    {
        "patient": ["ann", "ann", "bob", "bob", "cid", "dee"],
        "ward": ["a", "b", "a", "b", "a", "a"],
        "illness": ["flu", "flu", "cough", "cough", "flu", "cough"],
    }
)


def linked_policy(**more):
    person = {"column": "patient", "release": "pseudonym", **more.pop("key", {})}
    return visits_policy(person=person, **more)


def test_pseudonyms_link_rows_and_are_fresh_each_time():
    first, second = (ix.anonymize(LINKED, linked_policy()) for _ in range(2))
    assert first.node == {"ward": 0}
    assert Counter(Counter(first.table["pseudonym"].to_pylist()).values()) == {2: 2, 1: 2}
    assert not set(first.table["pseudonym"].to_pylist()) & set(second.table["pseudonym"].to_pylist())
    assert all(
        len(text) == 32 and set(text) <= set("0123456789abcdef") for text in first.table["pseudonym"].to_pylist()
    )


def test_what_verify_finds_without_the_original(tmp_path):
    folder = ix.anonymize(LINKED, linked_policy()).write(tmp_path / "release")
    verdict = ix.verify(folder, linked_policy())
    assert verdict.passed
    assert "2 profiles, the smallest of 2 people" in str(verdict)


@pytest.mark.slow
def test_values_of_a_person_are_those_of_all_her_rows(tmp_path):
    """Ann and Bob share a profile of two wards; in each ward both had the same, and each had both."""
    stays = [("ann", "a", "flu"), ("ann", "b", "gout"), ("bob", "a", "flu"), ("bob", "b", "gout")]
    table = pa.table(dict(zip(("patient", "ward", "illness"), map(list, zip(*stays, strict=True)), strict=True)))
    columns = {"patient": ix.identifier(), "ward": ix.quasi(ix.suppress()), "illness": ix.sensitive()}
    policy = linked_policy(
        columns=columns, privacy=[ix.KAnonymity(2), ix.LDiversity(2, "entropy"), ix.PSensitive(2, 2)]
    )
    with ix.anonymize(table, policy) as release:
        assert release.node == {"ward": 0}
        folder = release.write(tmp_path / "release")
    for verdict in (ix.verify(folder), ix.verify(folder, policy), ix.verify(folder, policy, original=table)):
        assert verdict.passed, str(verdict)
        assert [one.id for one in verdict.checks if one.id.startswith("model.")] == ["model.k-anonymity"]


def test_the_search_for_the_most_precise_cells_proves_nothing_of_people(tmp_path):
    """What is proven there is the cost of people; that of their rows may be lower elsewhere, and that is said."""
    with ix.anonymize(LINKED, visits_policy(algorithm="mingen-cell")) as release:
        assert release.facts.is_proven is False
        folder = release.write(tmp_path / "release")
    assert ix.verify(folder, visits_policy(), original=LINKED).passed


def test_a_profile_of_one_person_is_caught():
    released = ix.anonymize(LINKED, linked_policy()).table
    rows = released.to_pylist()
    one = next(row["pseudonym"] for row in rows if row["ward"] == "b")
    alone = pa.Table.from_pylist([row for row in rows if not (row["pseudonym"] == one and row["ward"] == "b")])
    (failed,) = [check for check in ix.verify(alone, linked_policy()).checks if check.id == "people.model.k-anonymity"]
    assert not failed.passed
    assert [failed.numbers[name] for name in ("failing", "groups", "inside")] == [1, 2, 1]


def test_rows_under_a_false_pseudonym_are_caught_with_the_original():
    """Exchanging the pseudonyms of two rows of a ward leaves every count as it was."""
    rows = ix.anonymize(LINKED, linked_policy()).table.to_pylist()
    two = [row for row in rows if row["ward"] == "a" and row["illness"] == "flu"]
    two[0]["pseudonym"], two[1]["pseudonym"] = two[1]["pseudonym"], two[0]["pseudonym"]
    same = pa.Table.from_pylist(rows)
    assert ix.verify(same, linked_policy(), original=LINKED).passed  # both had the same cells
    often = {name for name, number in Counter(row["pseudonym"] for row in rows).items() if number == 2}
    ann, bob = (row for row in rows if row["ward"] == "a" and row["pseudonym"] in often)
    ann["pseudonym"], bob["pseudonym"] = bob["pseudonym"], ann["pseudonym"]
    verdict = ix.verify(pa.Table.from_pylist(rows), linked_policy(), original=LINKED)
    assert [check.name for check in verdict.checks if not check.passed] == ["linked rows"]


def test_identifiers_left_in_under_the_name_of_pseudonyms_are_caught():
    raw = pa.table({"ward": ["a"] * 2, "illness": ["flu"] * 2, "pseudonym": ["ann", "bob"]})
    failed = {check.name: check.detail for check in ix.verify(raw, linked_policy()).checks if not check.passed}
    assert failed == {"pseudonyms in pseudonym": "2 values are none"}


def test_other_identifiers_may_have_pseudonyms_as_well(tmp_path):
    """Equal cells of a column have equal pseudonyms, those of two columns have not."""
    table = LINKED.append_column("doctor", LINKED["patient"]).append_column("nurse", LINKED["patient"])
    columns = {"doctor": ix.identifier(pseudonym=True), "nurse": ix.identifier(pseudonym=True)}
    policy = visits_policy(columns=columns | {"ward": ix.quasi(ix.suppress()), "illness": ix.other()})
    assert ix.parse_policy(ix.policy_toml(policy)) == policy
    release = ix.anonymize(table, policy)
    assert release.table.column_names == ["ward", "illness", "doctor", "nurse"]
    found = [Counter(release.table[name].to_pylist()) for name in ("doctor", "nurse")]
    assert sorted(found[0].values()) == sorted(found[1].values()) == [1, 1, 2, 2]
    assert not found[0].keys() & found[1].keys()
    assert release.verify(table).passed
    assert ix.verify(release.write(tmp_path / "release"), policy).passed
    with pytest.raises(ix.PolicyError, match="only an identifier has one"):
        Column("other", pseudonym=True)


def test_the_holder_can_make_pseudonyms_anew_from_her_key(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "k" * 40)
    release = ix.anonymize(LINKED, linked_policy(key={"key_env": "SECRET"}))
    key = hmac.digest(b"k" * 40, release.facts.pseudonym_salt.encode(), "sha256")
    expected = {hmac.new(key, f"3:{name}".encode(), "sha256").hexdigest()[:32] for name in ("ann", "bob", "cid", "dee")}
    assert set(release.table["pseudonym"].to_pylist()) == expected
    folder = release.write(tmp_path / "release")
    assert "kkkk" not in (folder / "manifest.json").read_text("utf-8")
    assert "SECRET" not in (folder / "manifest.json").read_text("utf-8")


def test_a_key_that_others_could_know_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "key"
    asked = linked_policy(key={"key_file": str(path)})
    with pytest.raises(ix.PolicyError, match="cannot read"):
        ix.anonymize(LINKED, asked)
    path.write_text("short\n")
    path.chmod(0o600)
    with pytest.raises(ix.PolicyError, match="holds 5 bytes; a key needs at least 32"):
        ix.anonymize(LINKED, asked)
    path.write_text("x" * 64 + "\n")
    path.chmod(0o644)
    with pytest.raises(ix.PolicyError, match="others can read"):
        ix.anonymize(LINKED, asked)
    path.chmod(0o600)
    assert ix.anonymize(LINKED, asked).verdict.passed
    monkeypatch.delenv("NOTHING", raising=False)
    with pytest.raises(ix.PolicyError, match="no variable NOTHING"):
        ix.anonymize(LINKED, linked_policy(key={"key_env": "NOTHING"}))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"person": {"column": "patient", "key_env": "K"}}, "a key is for pseudonyms"),
        ({"person": {"column": "patient", "release": "name"}}, "must be 'nothing' or 'pseudonym'"),
        ({"person": {"column": "p", "release": "pseudonym", "key_env": "K", "key_file": "k"}}, "not both"),
        ({"person": {"column": "patient", "suppress": "rows"}}, "unless release = 'pseudonym'"),
        ({"person": {"column": "patient", "release": "pseudonym", "suppress": "none"}}, "'people' or 'rows'"),
        ({"suppressed_rows": "blank"}, "'blank' rows would still be linked"),
        ({"columns": {"ward": ix.quasi(), "pseudonym": ix.other()}}, "a column 'pseudonym' of its own"),
    ],
)
def test_mistakes_about_pseudonyms_are_named(more, message):
    with pytest.raises(ix.PolicyError, match=message):
        replace(linked_policy(), **more)


@pytest.mark.parametrize("algorithm", ["top-down", "k-similar"])
def test_algorithms_that_do_not_link_rows_refuse(algorithm):
    with pytest.raises(ix.PolicyError, match="does not look at all rows of a person together"):
        ix.anonymize(LINKED, linked_policy(), algorithm=algorithm)


def test_the_policy_file_says_how_a_person_is_released(tmp_path):
    policy = linked_policy(key={"key_file": "secret/key"})
    text = ix.policy_toml(policy)
    assert 'person = { column = "patient", release = "pseudonym", key_file = "secret/key" }' in text
    path = tmp_path / "policy.toml"
    path.write_text(text, "utf-8")
    assert ix.read_policy(path).person.key_file == str(tmp_path / "secret" / "key")


def test_k_map_counts_the_people_of_the_population():
    """Two wards of visits; in the town five people are known to have been in ward a, one in ward b."""
    population = pa.table({"ward": ["a"] * 5 + ["b"]})
    policy = visits_policy(privacy=[ix.KMap(2, population)])
    release = ix.anonymize(VISITS, policy)
    assert release.node == {"ward": 1}
    names = [check.name for check in release.verdict.checks]
    assert any(name.startswith("people: k-map") for name in names)
    assert release.verify(VISITS).passed
    with pytest.raises(ix.PolicyError, match="k-map counts people for one row each"):
        replace(policy, person={"column": "patient", "release": "pseudonym"})


def test_sensitive_values_of_rows_that_are_missing_cannot_be_proved():
    columns = {"ward": ix.quasi(ix.suppress()), "illness": ix.sensitive()}
    policy = visits_policy(columns=columns, privacy=[ix.AlphaK(0.9, 2)], max_suppression=1)
    some = pa.table({"ward": ["a"] * 3 + ["b"] * 4, "illness": ["flu", "flu", "cough", "flu", "flu", "cough", "flu"]})
    failed = {check.id: check.numbers for check in ix.verify(some, policy, original=VISITS).checks if not check.passed}
    assert failed["people.model.alpha-k"] == {"on": "quasi-identifier", "why": "partly released", "tuples": 1}
