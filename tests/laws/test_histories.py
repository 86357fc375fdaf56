"""Histories: whoever knows a person's row and some of her events finds k people, and all that is released is true.

The oracle counts every multiset of events of every person in plain Python, and shares no code with the package.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import combinations, permutations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import cases, examples
from indistinct.pipeline.stages import count, open_tables
from indistinct.policy import Knows
from indistinct.progress import Watch
from indistinct.proof.history_sets import ReleasedEvents, count_sets
from indistinct.recoding.histories import table_of_entries
from indistinct.search.algorithm import algorithm_of, as_algorithm
from indistinct.search.histories.events import Events
from indistinct.search.histories.history_search import label_histories
from indistinct.search.histories.levels import LevelSearch

CODES = {"A1": "A", "A2": "A", "B1": "B", "B2": "B"}
TREE = ix.levels([[code, chapter] for code, chapter in CODES.items()], top="*")


def policy(k=2, events=2, **more):
    """Return a policy of people, their visits with a code and a month, and their drugs."""
    return ix.Policy(
        tables={
            "people": ix.LinkedTable({"born": ix.quasi(ix.intervals(10, 20))}, key="patient"),
            "visits": ix.LinkedTable(
                {"code": ix.quasi(TREE), "month": ix.quasi(ix.intervals(3, 6)), "note": ix.other()},
                references={"patient": "people"},
            ),
            "drugs": ix.LinkedTable({"drug": ix.quasi(ix.suppress())}, references={"patient": "people"}),
        },
        privacy=[ix.KAnonymity(k)],
        person="patient",
        knows=events if isinstance(events, dict) and {"dated", "number"} & set(events) else {"events": events},
        **more,
    )


def tables(people):
    """Return the tables of people, each as (born, [(code, month), …], [drug, …])."""
    rows: dict[str, list[dict[str, object]]] = {"people": [], "visits": [], "drugs": []}
    for number, (born, visits, drugs) in enumerate(people):
        rows["people"].append({"patient": f"p{number}", "born": born})
        rows["visits"] += [
            {"patient": f"p{number}", "code": code, "month": month, "note": f"{number % 2}"} for code, month in visits
        ]
        rows["drugs"] += [{"patient": f"p{number}", "drug": drug} for drug in drugs]
    schemas = {
        "people": pa.schema([("patient", pa.string()), ("born", pa.int64())]),
        "visits": pa.schema(
            [("patient", pa.string()), ("code", pa.string()), ("month", pa.int64()), ("note", pa.string())]
        ),
        "drugs": pa.schema([("patient", pa.string()), ("drug", pa.string())]),
    }
    return {name: pa.Table.from_pylist(rows[name], schemas[name]) for name in rows}


def histories(released):
    """Return the row and the events of each pseudonym, as a recipient joins them."""
    people = {row["pseudonym"]: (row["born"], []) for row in released["people"].to_pylist()}
    for row in released["visits"].to_pylist():
        people[row["pseudonym"]][1].append(("visits", row["code"], row["month"]))
    for row in released["drugs"].to_pylist():
        people[row["pseudonym"]][1].append(("drugs", row["drug"]))
    return list(people.values())


def dated_sets_of(events, known):
    """Return all that may be known: some events in full, and others without their month."""
    found = set()
    for size in range(known["dated"] + known["undated"] + 1):
        for chosen in permutations(events, size):
            for cut in range(size + 1):
                bare = [one[:2] if one[0] == "visits" else one for one in chosen[cut:]]
                if cut <= known["dated"] and size - cut <= known["undated"]:
                    found.add((tuple(sorted(chosen[:cut], key=str)), tuple(sorted(bare, key=str))))
    return found


def sets_of(events, known):
    """Return every multiset of events that may be known: so many of each table, or together."""
    if isinstance(known, dict) and "dated" in known:
        return dated_sets_of(events, known)
    limits = known if isinstance(known, dict) else None
    most = sum(known.values()) if limits else known
    found = set()
    for size in range(most + 1):
        for chosen in combinations(sorted(events, key=str), size):
            of_table = Counter(one[0] for one in chosen)
            if limits is None or all(number <= limits.get(name, 0) for name, number in of_table.items()):
                found.add(chosen)
    return found


def smallest_support(people, known):
    """Return how many people share the rarest set with a row, over all people and sets."""
    shared: Counter = Counter()
    if isinstance(known, dict) and "number" in known:
        known = known["events"]
        people = [((born, *sorted(Counter(one[0] for one in events).items())), events) for born, events in people]
    for born, events in people:
        shared.update((born, chosen) for chosen in sets_of(events, known))
    return min(shared.values(), default=0)


KNOWN = st.sampled_from(
    [
        *(1, 2, 3, {"visits": 1, "drugs": 1}, {"visits": 2}, {"visits": 2, "drugs": 1}),
        *({"dated": d, "undated": u, "time": ["visits.month"]} for d, u in ((1, 1), (0, 2), (1, 2), (2, 1))),
    ]
)
visit = st.tuples(st.sampled_from(sorted(CODES)), st.integers(0, 11))
person = st.tuples(
    st.sampled_from([21, 23, 34]), st.lists(visit, max_size=4), st.lists(st.sampled_from("xy"), max_size=3)
)
crowds = st.lists(person, min_size=2, max_size=9)


@pytest.mark.slow
@given(crowds, st.integers(2, 3), KNOWN)
@examples(120, opens_tables=True)
def test_whoever_knows_some_events_finds_k_people(people, k, known):
    if len(people) < k:
        return
    original, asked = tables(people), policy(k, known)
    with ix.anonymize(original, asked) as release:
        found = histories(release.tables)
        assert smallest_support(found, known) >= k
        verdict = release.verify(original=original)
        assert verdict.passed
        assert all(is_of(release, people))
        (check,) = [one for one in verdict.checks if one.id == "histories.sets"]
        per_person = [(born, one) for born, events in found for one in sets_of(events, known) if one and any(one)]
        assert check.numbers["sets"] == len(set(per_person))
        assert check.numbers["smallest"] == min(Counter(per_person).values(), default=0)


@given(crowds, st.integers(2, 3), KNOWN)
@examples(30, opens_tables=True)
def test_nothing_is_lost_that_one_level_a_column_keeps(people, k, known):
    if len(people) < k:
        return
    asked, watch = policy(k, known), Watch()
    with open_tables(tables(people), asked) as opened, count(opened, asked, watch) as counted:
        task = counted.task
        events = Events.of(task.frequencies, asked, table_of_entries(task.frequencies))
        found = label_histories(task, events, as_algorithm(algorithm_of(asked)), watch)
    search = LevelSearch(events, found.rows.groups, k, watch)
    nodes = list(product(*(range(len(column.places)) for column in events.columns)))
    most = max(search.at(node).kept for node in nodes)
    assert found.events.kept >= most - 1e-9
    best, node = search.best_of_all()
    assert best.kept == pytest.approx(search.at(node).kept)
    assert best.kept == pytest.approx(most)


@given(crowds, st.integers(2, 3), st.integers(1, 2))
@examples(40, opens_tables=True)
def test_whoever_knows_the_number_of_events_too_finds_k_people(people, k, known):
    if len(people) < k:
        return
    original, asked = tables(people), policy(k, {"events": known, "number": True})
    with ix.anonymize(original, asked) as release:
        found = histories(release.tables)
        verdict = release.verify(original=original)
        assert verdict.passed
    assert smallest_support(found, {"events": known, "number": True}) >= k
    (check,) = [one for one in verdict.checks if one.id == "histories.sets"]
    assert check.numbers["smallest"] == smallest_support(found, {"events": known, "number": True})
    if len({(born, len(visits), len(drugs)) for born, visits, drugs in people}) == 1:
        assert sum(len(events) for _, events in found) == sum(len(v) + len(d) for _, v, d in people)


@pytest.mark.slow
@given(st.lists(person, min_size=4, max_size=12), st.integers(2, 3), KNOWN, st.booleans())
@examples(40, opens_tables=True)
def test_ranges_keep_no_less_and_each_month_lies_in_its_own(people, k, known, has_missing):
    if has_missing:
        people = [(born, [(code, None if month == 3 else month) for code, month in v], d) for born, v, d in people]
    original, asked = tables(people), policy(k, known)
    plain = dataclasses.replace(asked, knows=dataclasses.replace(asked.knows, labels="hierarchy"))
    with ix.anonymize(original, asked) as release, ix.anonymize(original, plain) as other:
        assert release.facts.measures["ncp"] <= other.facts.measures["ncp"] + 1e-9
        assert release.verify(original=original).passed
        assert other.verify(original=original).passed
        assert not any("[" in str(row["month"]) for row in other.tables["visits"].to_pylist())
        months = [month for _, visits, _ in people for _, month in visits]
        for row in release.tables["visits"].to_pylist():
            assert all(end in months for end in ends_of(row["month"]))


@pytest.mark.slow
@given(st.lists(person, min_size=3, max_size=5), st.integers(0, 11), st.integers(0, 11), st.integers(0, 9))
@examples(40, opens_tables=True)
def test_ranges_are_true_if_people_can_be_found_for_them(people, low, high, place):
    original, asked = tables(people), policy(2, 2)
    visits = original["visits"].to_pylist()
    original["visits"] = pa.Table.from_pylist([row | {"note": ""} for row in visits], original["visits"].schema)
    with ix.anonymize(original, asked) as release:
        released = dict(release.tables)
    visits = released["visits"].to_pylist()
    if visits:
        visits[place % len(visits)]["month"] = f"[{min(low, high)}, {max(low, high)}]"
        texts = [row | {"month": str(row["month"])} for row in visits]
        released["visits"] = pa.Table.from_pylist(texts, pa.schema([(name, pa.string()) for name in visits[0]]))
    months = [month for _, own, _ in people for _, month in own]
    is_true = can_be(histories(released), people) and not (visits and {low, high} - set(months))
    (found,) = [one.passed for one in ix.verify(released, asked, original=original).checks if "truth" in one.id]
    assert found == is_true


def can_be(released, people):
    """Return whether each pseudonym can be a person of its own, as by hand."""
    return any(
        all(is_covered(row, people[one]) for row, one in zip(released, chosen, strict=True))
        for chosen in permutations(range(len(people)), len(released))
    )


def is_covered(row, one):
    """Return whether a pseudonym's row and events, each one of its own, lie over those of a person."""
    events = [("visits", *own) for own in one[1]] + [("drugs", drug) for drug in one[2]]
    if not covers(row[0], one[0]) or len(row[1]) > len(events):
        return False
    return any(
        all(
            mine[0] == theirs[0] and all(map(covers, mine[1:], theirs[1:]))
            for mine, theirs in zip(row[1], chosen, strict=True)
        )
        for chosen in permutations(events, len(row[1]))
    )


def covers(label, value):
    """Return whether a label covers a code, a drug, a month or a year."""
    if str(label) in ("*", str(value), CODES.get(value)):
        return True
    if ends := ends_of(label):
        return ends[0] <= value <= ends[-1]
    low, dash, high = str(label or "").partition("-")
    return bool(dash) and int(low) <= value <= int(high)


def ends_of(label):
    """Return the first and last month of a range; none of other labels."""
    text = str(label or "").removesuffix(" or missing")
    return [int(end) for end in text.strip("[]").split(", ")] if text.startswith("[") else []


def with_results(people, results, alpha, known):
    """Return tables in which visits have a private result, and a policy of that."""
    original = tables(people)
    original["visits"] = original["visits"].append_column(
        "result", pa.array([results[place % len(results)] for place in range(len(original["visits"]))], pa.string())
    )
    own = policy(2, known)
    visits = own.tables["visits"]
    columns = {**visits.columns, "result": ix.sensitive()}
    asked = ix.Policy(
        tables={**own.tables, "visits": ix.LinkedTable(columns, references={"patient": "people"})},
        privacy=[ix.KAnonymity(2), ix.AlphaK(alpha, 2)],
        person="patient",
        knows=own.knows,
    )
    return original, asked


def most_sure(released, known):
    """Return the highest share of a result among the people who have a row and a set of events."""
    results: dict[str, set[str]] = {row["pseudonym"]: set() for row in released["people"].to_pylist()}
    for row in released["visits"].to_pylist():
        results[row["pseudonym"]].add(row["result"])
    holders: dict[object, list[set[str]]] = {}
    for own, (born, events) in zip(results.values(), histories(released), strict=True):
        for chosen in sets_of(events, known):
            holders.setdefault((born, chosen), []).append(own)
    shares = [Counter(one for own in some for one in own) for some in holders.values()]
    pairs = zip(shares, holders.values(), strict=True)
    return max((most / len(some) for own, some in pairs for most in own.values()), default=0)


@pytest.mark.slow
@given(crowds, st.lists(st.sampled_from("uvw"), min_size=3, max_size=6), st.sampled_from([0.34, 0.5, 0.75]), KNOWN)
@examples(100, opens_tables=True)
def test_no_result_is_learned_for_sure_enough(people, results, alpha, known):
    original, asked = with_results(people, results, alpha, known)
    try:
        release = ix.anonymize(original, asked)
    except ix.InfeasibleError:
        return
    with release:
        assert most_sure(release.tables, known) <= alpha + 1e-9
        assert smallest_support(histories(release.tables), known) >= 2
        assert release.verify(original=original).passed
        wrong = release.tables["visits"].to_pylist()
        for row in wrong:
            row["result"] = "u"
        forged = release.tables | {"visits": pa.Table.from_pylist(wrong, release.tables["visits"].schema)}
        failed = [check.id for check in ix.verify(forged, asked).checks if not check.passed]
        assert failed == ["histories.values"] * (most_sure(forged, known) > alpha)


def is_of(release, people):
    """Return for each number of events whether no more people have as many in the release than in the original."""
    mine = Counter(len(events) for _, events in histories(release.tables))
    theirs = Counter(len(visits) + len(drugs) for _, visits, drugs in people)
    for most in range(8):
        yield sum(n for size, n in mine.items() if size >= most) <= sum(n for s, n in theirs.items() if s >= most)


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), max_size=6), min_size=1, max_size=6),
    st.integers(1, 4),
    st.integers(0, 2),
    st.integers(1, 3),
)
@examples(400)
def test_sets_are_counted_as_by_hand(people, together, undated, k):
    """Of the first table at most two events less one are known; a label without time is its half."""
    undated = min(undated, together)
    owners = [person for person, events in enumerate(people) for _ in events]
    events = [(table, label * 2 + table) for rows in people for table, label in rows]
    if not events:
        return
    kinds, labels = ([[t for t, _ in events], [2] * len(events)], [[n for _, n in events], [n // 4 for _, n in events]])
    sorts = 1 + (undated > 0)
    rows = ReleasedEvents(np.array(owners, np.int64), np.array(kinds[:sorts]), np.array(labels[:sorts]))
    limits = [together - undated, max(0, together - undated - 1), undated]
    shared: Counter = Counter()
    for own in people:
        mine = [(label * 2 + table, table) for table, label in own]
        known = set()
        for size in range(1, together + 1):
            for chosen in combinations(range(len(mine)), size):
                for bare in product((False, True), repeat=size):
                    some = [
                        (mine[e][0] // 4, 2) if is_bare else mine[e] for e, is_bare in zip(chosen, bare, strict=True)
                    ]
                    if all(sum(t == kind for _, t in some) <= limit for kind, limit in enumerate(limits)):
                        known.add(tuple(sorted(some)))
        shared.update(known)
    found = count_sets(rows, np.array(limits), together, k)
    assert found.sets == len(shared)
    assert found.failing == sum(number < k for number in shared.values())
    assert found.smallest == min(shared.values(), default=0)


CROWD = [(21, [("A1", 1), ("B1", 2)], ["x"]), (23, [("A2", 2), ("B2", 1)], ["y"]), (21, [("A1", 0)], [])] * 3


def with_illness(people, ills, model):
    """Return tables in which people have a private illness, and a policy of that."""
    original, own = tables(people), policy(2, 2)
    column = pa.array([ills[place % len(ills)] for place in range(len(people))], pa.string())
    original["people"] = original["people"].append_column("ill", column)
    listed = ix.LinkedTable(own.tables["people"].columns | {"ill": ix.sensitive()}, key="patient")
    return original, dataclasses.replace(own, tables={**own.tables, "people": listed}, privacy=[*own.privacy, model])


def how_alike(released, known):
    """Return over all sets the fewest illnesses of those who share one, and how far these are from all people's."""
    ills = {row["pseudonym"]: row["ill"] for row in released["people"].to_pylist()}
    overall = Counter(ills.values())
    holders: dict[object, list[str]] = {}
    for ill, (born, events) in zip(ills.values(), histories(released), strict=True):
        for chosen in sets_of(events, known):
            holders.setdefault((born, chosen), []).append(ill)
    far = [
        sum(abs(Counter(own)[ill] / len(own) - number / len(ills)) for ill, number in overall.items()) / 2
        for own in holders.values()
    ]
    return min((len(set(own)) for own in holders.values()), default=9), max(far, default=0)


@given(crowds, st.lists(st.sampled_from("uvw"), min_size=2, max_size=5), st.sampled_from([2, 3, 0.2, 0.4]))
@examples(60, opens_tables=True)
def test_who_fits_has_several_illnesses_or_those_of_all(people, ills, asked_for):
    model = ix.LDiversity(asked_for) if asked_for >= 2 else ix.TCloseness(asked_for)
    original, asked = with_illness(people, ills, model)
    try:
        release = ix.anonymize(original, asked)
    except ix.InfeasibleError:
        return
    with release:
        fewest, farthest = how_alike(release.tables, 2)
        assert fewest >= asked_for if asked_for >= 2 else farthest <= asked_for + 1e-9
        assert smallest_support(histories(release.tables), 2) >= 2
        assert release.verify(original=original).passed
        rows = release.tables["people"].to_pylist()
        wrong = [row | {"ill": "u" if place % 2 else row["ill"]} for place, row in enumerate(rows)]
        forged = release.tables | {"people": pa.Table.from_pylist(wrong, release.tables["people"].schema)}
        fewest, farthest = how_alike(forged, 2)
        is_wrong = fewest < asked_for if asked_for >= 2 else farthest > asked_for + 1e-9
        failed = [check.id for check in ix.verify(forged, asked).checks if not check.passed]
        assert failed == ["histories.values"] * is_wrong


def test_models_of_all_who_fit_are_asked_of_people_alone():
    for model in (ix.LDiversity(2), ix.TCloseness(0.3), ix.BetaLikeness(1)):
        with pytest.raises(ix.PolicyError):
            dataclasses.replace(with_results(CROWD, ["u"], 0.5, 1)[1], privacy=[model])
    with pytest.raises(ix.InfeasibleError):
        ix.anonymize(*with_results(CROWD, ["u"], 0.5, 1))  # two thirds of all people have the one result


def test_a_release_in_which_a_set_is_rare_fails():
    original, asked = tables(CROWD), policy(3)
    with ix.anonymize(original, asked) as release:
        released = dict(release.tables)
        assert ix.verify(released, asked).passed
        visits = released["visits"].to_pylist()
        visits[0]["code"] = "A2" if visits[0]["code"] == "A1" else "A1"
        wrong = released | {"visits": pa.Table.from_pylist(visits, released["visits"].schema)}
        failed = [one.id for one in ix.verify(wrong, asked).checks if not one.passed]
        assert failed == ["histories.sets"]


def test_an_event_that_nobody_had_is_found():
    original, asked = tables(CROWD), policy(2, 1)
    others = [(born, [("B2", month) for _, month in visits], drugs) for born, visits, drugs in CROWD]
    with ix.anonymize(original, asked) as release:
        assert release.verify(original=original).passed
        failed = [one for one in release.verify(original=tables(others)).checks if not one.passed]
        assert [one.id for one in failed] == ["truth.histories"]


def test_a_folder_is_verified_and_states_what_was_dropped(tmp_path):
    original, asked = tables(CROWD), policy(3)
    with ix.anonymize(original, asked) as release:
        said = release.facts.histories
        assert said.together == 2
        assert said.events == 21
        assert said.dropped == 21 - sum(release.facts.tables[name].released for name in ("visits", "drugs"))
        release.write(tmp_path / "release")
    assert ix.verify(tmp_path / "release", asked, original=original).passed


def test_fewer_rows_than_the_policy_allows_are_suppressed_or_nothing_is_released():
    original = tables([(21, [("A1", 1)] * (n < 2), []) for n in range(9)])
    with pytest.raises(ix.InfeasibleError):
        ix.anonymize(original, policy(3, 2, max_suppression=0))
    with ix.anonymize(original, policy(3, 2, max_suppression=0.8)) as release:
        assert release.suppressed == 2
        assert release.verify(original=original).passed


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["regroup", "mondrian", "datafly", "samarati"])
def test_people_are_recoded_by_other_algorithms(algorithm):
    original, asked = tables(CROWD), policy(2, 1)
    with ix.anonymize(original, asked, algorithm=algorithm) as release:
        assert smallest_support(histories(release.tables), 1) >= 2
        assert release.verify(original=original).passed


@pytest.mark.parametrize("algorithm", ["anatomy", "lossy-join", "mu-argus", "safepub"])
def test_algorithms_that_cannot_are_refused(algorithm):
    with pytest.raises(ix.PolicyError):
        ix.anonymize(tables(CROWD), policy(2, 1), algorithm=algorithm)


def test_algorithms_are_compared():
    found = ix.compare(tables(CROWD), policy(3), algorithms=["lattice", "datafly", "mu-argus"])
    assert [trial.verified for trial in found.trials] == [True, True, None]


def test_a_ledger_and_minimal_solutions_are_refused(tmp_path):
    with ix.Ledger.create(tmp_path / "ledger.sqlite") as ledger, pytest.raises(ix.LedgerError):
        ledger.anonymize(tables(CROWD), policy(3), recipient="a")
    with pytest.raises(ix.PolicyError):
        ix.solutions(tables(CROWD), policy(3))


def test_policies_say_all_that_is_wrong():
    shift = {"day": ix.other(shift={"days": 9})}
    with pytest.raises(ix.PolicyError) as error:
        ix.Policy(
            tables={
                "people": ix.LinkedTable({"born": ix.quasi()}, key="patient"),
                "visits": ix.LinkedTable(
                    shift | {"ill": ix.sensitive()}, key="visit", references={"patient": "people"}
                ),
                "drugs": ix.LinkedTable({}, references={"visit": "visits"}),
            },
            privacy=[ix.LDiversity(2)],
            person="patient",
            knows={"events": {"people": 1}},
        )
    assert len(error.value.mistakes) == 4
    with pytest.raises(ix.PolicyError):
        ix.Policy({"age": ix.quasi()}, [ix.KAnonymity(2)], knows=Knows(1))
    for wrong in (0, 9, {"visits": 0}, "2", True):
        with pytest.raises(ix.PolicyError):
            Knows(wrong)
    for wrong in ({"dated": 3, "undated": 2}, {"events": 1, "undated": 1}, {"events": 1, "time": ["visits.day"]}, {}):
        with pytest.raises(ix.PolicyError):
            Knows(**wrong)
    for wrong in ({"dated": 1, "undated": 1}, {"undated": 1, "time": ["people.born"]}, {"number": 1, "events": 1}):
        with pytest.raises(ix.PolicyError):
            policy(2, wrong if "dated" in wrong else {"dated": 0, **wrong})


def test_a_policy_file_says_it_again(tmp_path):
    undated = {"dated": {"visits": 1}, "undated": 1, "time": ["visits.month"]}
    for events in (2, {"visits": 2, "drugs": 1}, undated):
        asked = policy(3, events)
        path = tmp_path / "policy.toml"
        path.write_text(ix.policy_toml(asked) if hasattr(ix, "policy_toml") else toml_of(asked), "utf-8")
        assert ix.read_policy(path).knows == asked.knows


def toml_of(asked):
    from indistinct.policy.files.policy_file import policy_toml

    return policy_toml(asked)


def changed(table, rows):
    """Return the tables of the crowd with rows in place of, or beside, those of one."""
    original = tables(CROWD)
    schema = original[table].schema
    return original | {table: pa.Table.from_pylist(rows(original[table].to_pylist()), schema)}


VISIT = {"patient": "p0", "code": "A1", "month": 1, "note": "x"}


@pytest.mark.parametrize(
    "original",
    [
        changed("visits", lambda rows: [*rows, VISIT | {"patient": None}]),
        changed("visits", lambda rows: [*rows, VISIT | {"patient": "nobody"}]),
        changed("people", lambda rows: [*rows, rows[0]]),
        changed("visits", lambda rows: [*rows, VISIT | {"code": "secret-code"}]),
    ],
)
def test_tables_that_are_wrong_are_refused_and_nothing_is_written(original, tmp_path):
    with pytest.raises(ix.PolicyError) as error, ix.anonymize(original, policy(2)) as release:
        release.write(tmp_path / "release")
    assert "secret-code" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_people_without_events_stay_and_equal_events_and_missing_cells_are_released():
    original = changed("visits", lambda rows: [*rows, *rows, *(VISIT | {"month": None} for _ in range(2))])
    original["people"] = pa.concat_tables(
        [original["people"], pa.table({"patient": ["q1", "q2", "q3"], "born": [21, 21, 21]})]
    )
    with ix.anonymize(original, policy(2)) as release:
        assert release.facts.tables["people"].released == 12
        assert release.facts.tables["visits"].released >= 30
        assert release.verify(original=original).passed


MANY = [20_000, pytest.param(200_000, marks=pytest.mark.slow), pytest.param(1_000_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("many", cases(MANY, *MANY[:2]))
def test_somebody_may_have_very_many_events(many):
    original = changed("visits", lambda rows: [*rows, *(VISIT | {"month": place % 12} for place in range(many))])
    with ix.anonymize(original, policy(2)) as release:
        assert release.facts.tables["visits"].eligible == many + 15
        assert release.verify(original=original).passed
