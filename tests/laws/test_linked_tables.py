"""Tables that belong together: k people share all that the tables tell of a person when a recipient joins them.

The oracle builds the tree of each person in plain Python, tries every node, and shares no code with the package.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.commands import run
from helpers.profiles import examples
from indistinct.counting.kernels import people_counts
from indistinct.release.manifest import StatedPeople, StatedRows, StatedShifts

WARDS = {"eye": "surgery", "ear": "surgery", "flu": "medicine"}
SITES = ix.levels([[ward, kind] for ward, kind in WARDS.items()], top="*")


def policy(k=2, *, patients=None, visits=None, drugs=None, **more):
    """Return a policy of patients, their visits, and the drugs of each visit."""
    return ix.Policy(
        tables={
            "patients": ix.LinkedTable(
                patients or {"age": ix.quasi(ix.intervals(10, 20)), "note": ix.other()}, key="patient"
            ),
            "visits": ix.LinkedTable(
                visits or {"ward": ix.quasi(SITES)}, key="visit", references={"patient": "patients"}
            ),
            "drugs": ix.LinkedTable(drugs or {"drug": ix.quasi(ix.suppress())}, references={"visit": "visits"}),
        },
        privacy=[ix.KAnonymity(k)],
        person="patient",
        **more,
    )


def tables(people):
    """Return the tables of people, each as (age, [(ward, [drug, …]), …])."""
    patients, visits, drugs = [], [], []
    for number, (age, stays) in enumerate(people):
        patients.append({"patient": f"p{number}", "age": age, "note": f"n{number % 2}"})
        for place, (ward, given_drugs) in enumerate(stays):
            visit = f"v{number}.{place}"
            visits.append({"visit": visit, "patient": f"p{number}", "ward": ward})
            drugs += [{"visit": visit, "drug": drug} for drug in given_drugs]
    schemas = {
        "patients": pa.schema([("patient", pa.string()), ("age", pa.int64()), ("note", pa.string())]),
        "visits": pa.schema([("visit", pa.string()), ("patient", pa.string()), ("ward", pa.string())]),
        "drugs": pa.schema([("visit", pa.string()), ("drug", pa.string())]),
    }
    made = {"patients": patients, "visits": visits, "drugs": drugs}
    return {name: pa.Table.from_pylist(made[name], schemas[name]) for name in made}


def age_at(age, level):
    if level == 0:
        return str(age)
    if level == 3:
        return "*"
    width = (10, 20)[level - 1]
    return (age // width * width, width)


def ward_at(ward, level):
    return (ward, WARDS[ward], "*")[level]


def tree_at(person, node):
    """Return the tree of a person at a node: her tuple, and the sorted trees of her visits."""
    age, stays = person
    visits = [
        (ward_at(ward, node[1]), tuple(sorted("*" if node[2] else drug for drug in given))) for ward, given in stays
    ]
    return str(age_at(age, node[0])), tuple(sorted(visits))


def rows_of(person):
    return 1 + len(person[1]) + sum(len(given) for _, given in person[1])


def cost_at(people, node, k):
    """Return the suppressed rows at a node, and the precision there, over the cells that the tables have."""
    shared = Counter(tree_at(person, node) for person in people)
    gone = [person for person in people if shared[tree_at(person, node)] < k]
    lost = cells = 0.0
    for person in people:
        visits, drugs = len(person[1]), sum(len(given) for _, given in person[1])
        cells += 1 + visits + drugs
        is_gone = person in gone
        lost += 1 + visits + drugs if is_gone else node[0] / 3 + visits * node[1] / 2 + drugs * node[2]
    return sum(map(rows_of, gone)), 1 - lost / cells


NODES = list(product(range(4), range(3), range(2)))
stay = st.tuples(st.sampled_from(sorted(WARDS)), st.lists(st.sampled_from("xy"), max_size=2))
person = st.tuples(st.sampled_from([21, 23, 34]), st.lists(stay, max_size=2))
crowds = st.lists(person, min_size=2, max_size=7)


@pytest.mark.slow
@given(crowds, st.integers(2, 3), st.sampled_from([0.0, 0.3, 0.6]))
@examples(60, opens_tables=True)
def test_the_exact_search_finds_the_best_node_for_trees(people, k, share):
    budget = int(share * sum(map(rows_of, people)) + 1e-9)
    at = {node: cost_at(people, node, k) for node in NODES}
    passing = [node for node, (rows, _) in at.items() if rows <= min(budget, sum(map(rows_of, people)) - 1)]
    original, asked = tables(people), policy(k, max_suppression=share)
    if not passing:
        with pytest.raises(ix.InfeasibleError):
            ix.anonymize(original, asked)
        assert not ix.check(original, asked).is_feasible
        return
    assert ix.check(original, asked).is_feasible
    with ix.anonymize(original, asked) as release:
        node = tuple(release.node.values())
        assert release.suppressed == at[node][0]
        assert release.measures["precision"] == pytest.approx(at[node][1])
        assert release.measures["precision"] == pytest.approx(max(at[passed][1] for passed in passing))
        check_release(release, people, node, k, original)
    for algorithm in ("samarati", "datafly"):
        with ix.anonymize(original, asked, algorithm=algorithm) as release:
            check_release(release, people, tuple(release.node.values()), k, original)
    if not budget:
        with ix.anonymize(original, asked, algorithm="mingen") as release:
            assert release.measures["precision"] == pytest.approx(max(at[passed][1] for passed in passing))


def joined(release):
    """Join released tables as a recipient does: the tree of each pseudonym."""
    released = {name: table.to_pylist() for name, table in release.tables.items()}
    drugs = {}
    for row in released["drugs"]:
        drugs.setdefault(row["visit"], []).append(row["drug"])
    visits = {}
    for row in released["visits"]:
        visits.setdefault(row["pseudonym"], []).append((row["ward"], tuple(sorted(drugs.pop(row["visit"], [])))))
    assert not drugs  # no reference leads nowhere
    trees = {
        row["pseudonym"]: (row["age"], tuple(sorted(visits.pop(row["pseudonym"], [])))) for row in released["patients"]
    }
    assert not visits
    return trees


def check_release(release, people, node, k, original):
    trees = joined(release)
    assert len(trees) == release.tables["patients"].num_rows
    assert min(Counter(trees.values()).values()) >= k
    shared = Counter(tree_at(person, node) for person in people)
    kept = Counter({tree: number for tree, number in shared.items() if number >= k})
    assert sorted(kept.values()) == sorted(Counter(trees.values()).values())
    assert release.facts.groups == len(kept)
    assert release.facts.smallest_group == min(kept.values())
    assert release.facts.people.released == sum(kept.values())
    verdict = release.verify(original=original)
    assert verdict.passed, str(verdict)
    assert verdict.rows == release.facts.released
    assert verdict.smallest_group == min(kept.values())


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 2), st.integers(1, 2), st.integers(-1, 5)), max_size=8),
    st.integers(1, 3),
)
@examples(80)
def test_trees_are_numbered_as_plain_python_does(entries, number):
    persons = np.array([person % number for person, *_ in entries], np.int64)
    places = np.array([place for _, place, *_ in entries], np.int64)
    rows = np.array([times for _, _, times, _ in entries], np.int64)
    parents = np.array([-1 if not at < up < len(entries) else up for at, (*_, up) in enumerate(entries)], np.int64)
    for at, up in enumerate(parents):  # what others belong to is one row, of the same person, and is there
        if up >= 0:
            rows[up], persons[up] = 1, persons[at]
    for at in reversed(range(len(entries))):
        if parents[at] >= 0:
            persons[at] = persons[parents[at]]
            places[at] = -1 if places[parents[at]] < 0 else places[at]

    def tree(at):
        below = [tree(child) for child in range(at) if parents[child] == at and places[child] >= 0]
        return places[at], rows[at] if not below else 1, tuple(sorted(below))

    def spread(person):
        found = []
        for at in range(len(entries)):
            if parents[at] < 0 and places[at] >= 0 and persons[at] == person:
                place, _, below = tree(at)
                found += [(int(place), _unfold(below))] * int(rows[at])
        return tuple(sorted(found))

    def _unfold(below):
        return tuple(sorted((int(place), _unfold(deeper)) for place, times, deeper in below for _ in range(int(times))))

    with np.errstate(over="ignore"):
        class_of = people_counts.number_trees(places, rows, parents, persons, number)
    profiles = [spread(person) for person in range(number)]
    for one, other in product(range(number), repeat=2):
        assert (class_of[one] == class_of[other]) == (profiles[one] == profiles[other])
    assert [found >= 0 for found in class_of] == [bool(profile) for profile in profiles]


TWINS = [(30, [("eye", ["x"]), ("ear", [])]), (30, [("eye", []), ("ear", ["x"])])]


def test_a_tree_may_be_unique_though_every_table_is_common():
    """Both have one visit to the eye, one to the ear and one drug; only the join tells in which stay it was given."""
    kept = policy(visits={"ward": ix.quasi()}, drugs={"drug": ix.quasi()})
    with pytest.raises(ix.InfeasibleError, match="must be suppressed"):
        ix.anonymize(tables(TWINS), kept)
    with ix.anonymize(tables(TWINS), policy()) as release:
        assert dict(release.node) == {"patients.age": 0, "visits.ward": 1, "drugs.drug": 0}
    apart = ix.Policy(
        tables={
            "patients": ix.LinkedTable({"age": ix.quasi(), "note": ix.other()}),
            "visits": ix.LinkedTable({"ward": ix.quasi(), "visit": ix.identifier()}),
            "drugs": ix.LinkedTable({"drug": ix.quasi(), "visit": ix.identifier()}, person="patient"),
        },
        privacy=[ix.KAnonymity(2)],
        person="patient",
    )
    original = tables(TWINS)
    original["drugs"] = original["drugs"].append_column("patient", pa.array(["p0", "p1"]))
    with ix.anonymize(original, apart) as release:  # nothing tells which visit a drug belongs to
        assert release.suppressed == 0
        assert set(release.node.values()) == {0}
        assert release.tables["drugs"].column_names == ["drug", "pseudonym"]


CROWD = [(31, [("eye", ["x"]), ("flu", [])])] * 3 + [(45, [("ear", [])])] * 2 + [(45, [])] * 2
"""Three profiles: those who have no visit are people as well."""


def test_people_without_a_row_in_some_table_are_people():
    with ix.anonymize(tables(CROWD), policy(visits={"ward": ix.quasi()})) as release:
        assert release.facts.people == StatedPeople(
            eligible=7, released=7, lost_rows=0, lost_all_rows=0, smallest_group=2, smallest_profile=2
        )
        assert release.facts.groups == 3
        assert release.suppressed == 0
        assert release.facts.tables["visits"] == StatedRows(
            columns=("ward", "visit", "pseudonym"), eligible=8, released=8, suppressed=0
        )


def held(release):
    return {name: table.to_pylist() for name, table in release.tables.items()}


def failed(released, asked, **more):
    """Return the names of the checks that released rows fail."""
    given = {name: pa.Table.from_pylist(rows) for name, rows in released.items()}
    return {check.name for check in ix.verify(given, asked, **more).checks if not check.passed}


@pytest.mark.slow
def test_planted_violations_are_caught():
    asked = policy(visits={"ward": ix.quasi()}, drugs={"drug": ix.quasi()})
    original = tables(CROWD)
    with ix.anonymize(original, asked) as release:
        assert not failed(held(release), asked, original=original)
        unique = held(release)  # one drug moves to the other visit of its patient: every table stays as it was
        moved = unique["drugs"][0]
        owner = {row["visit"]: row["pseudonym"] for row in unique["visits"]}
        moved["visit"] = next(v for v, p in owner.items() if p == owner[moved["visit"]] and v != moved["visit"])
        assert failed(unique, asked) == {"people: k-anonymity (k = 2) on all tables"}
        assert "linked rows" in failed(unique, asked, original=original)

        dangling = held(release)
        dangling["drugs"][0]["visit"] = "0" * 32
        assert "references" in failed(dangling, asked)

        stranger = held(release)
        visitor = stranger["visits"][0]["pseudonym"]
        stranger["patients"] = [row for row in stranger["patients"] if row["pseudonym"] != visitor]
        assert "references" in failed(stranger, asked)

        twice = held(release)
        twice["visits"].append(twice["visits"][0])
        assert "references" in failed(twice, asked)


def test_exchanged_pseudonyms_are_caught_with_the_original():
    asked = policy(
        visits={"ward": ix.quasi()}, drugs={"drug": ix.quasi()}, patients={"age": ix.quasi(), "note": ix.other()}
    )
    original = tables([(31, [("eye", ["x"])])] * 2 + [(31, [("ear", ["x"])])] * 2)
    notes = [f"n{number}" for number in range(4)]
    original["patients"] = original["patients"].set_column(2, "note", pa.array(notes))
    with ix.anonymize(original, asked) as release:
        exchanged = held(release)
        wards = {row["pseudonym"]: row["ward"] for row in exchanged["visits"]}
        one, other = (
            next(row for row in exchanged["patients"] if wards[row["pseudonym"]] == w) for w in ("eye", "ear")
        )
        one["pseudonym"], other["pseudonym"] = other["pseudonym"], one["pseudonym"]
        assert not failed(exchanged, asked)
        assert failed(exchanged, asked, original=original) == {"linked rows"}


@pytest.mark.slow
def test_the_folder_has_one_manifest_and_one_verdict(tmp_path):
    original = tables(CROWD)
    asked = policy()
    with ix.anonymize(original, asked) as release:
        folder = release.write(tmp_path / "release")
    assert sorted(path.name for path in folder.iterdir()) == [
        "drugs.parquet",
        "manifest.json",
        "patients.parquet",
        "visits.parquet",
    ]
    said = json.loads((folder / "manifest.json").read_text())
    assert said["form"] == "linked tables"
    assert set(said["files"]) == {f"{name}.parquet" for name in original}
    assert said["policy"]["tables"]["drugs"]["references"] == {"visit": "visits"}
    proved = ix.verify(folder, asked, original=original)
    assert proved.passed
    assert any("precision" in one.numbers.get("measures", []) for one in proved.not_checked)
    assert ix.verify(folder, asked, canonical=True).passed
    with pytest.raises(ix.TableError, match="give the policy of all of them"):
        ix.verify(folder)
    column = next(iter(said["heights"]))
    for malformed in (
        {"policy": said["policy"] | {"note": "Ann is row 3"}},
        {"level_names": said["level_names"] | {column: "Ann is row 3"}},
        {"verdict": said["verdict"] | {"checks": [{"id": "Ann is row 3", "passed": True, "numbers": {}}]}},
    ):
        (folder / "manifest.json").write_text(json.dumps(said | malformed))
        with pytest.raises((ix.TableError, ix.VerificationError)) as refused:
            ix.verify(folder, asked).raise_if_failed()
        assert "Ann" not in str(refused.value)
    drugs = said["tables"]["drugs"]
    for false in (
        {"heights": said["heights"] | {column: 50}},
        {"verdict": said["verdict"] | {"groups": 50}},
        {"tables": said["tables"] | {"drugs": drugs | {"columns": ["Ann"]}}},
        {"is_proven": False},
    ):
        (folder / "manifest.json").write_text(json.dumps(said | false))
        assert {c.name for c in ix.verify(folder, asked).checks if not c.passed} == {"manifest"}, false
    more = {name: said["people"][name] + 1 for name in ("eligible", "lost_rows", "lost_all_rows")}
    drugs = drugs | {"eligible": drugs["eligible"] + 1, "suppressed": drugs["suppressed"] + 1}
    false = {"eligible": said["eligible"] + 1, "suppressed": said["suppressed"] + 1, "people": said["people"] | more}
    false["tables"] = said["tables"] | {"drugs": drugs}
    (folder / "manifest.json").write_text(json.dumps(said | false))
    failing = {c.name for c in ix.verify(folder, asked, original=original).checks if not c.passed}
    assert failing == {"suppressed rows", "stated rows"}
    (folder / "manifest.json").write_text(json.dumps(said))
    other = replace(asked, max_suppression=0.5)
    assert {c.name for c in ix.verify(folder, other).checks if not c.passed} == {"policy"}
    with pytest.raises(ix.TableError, match="several tables"):
        ix.verify(folder, ix.Policy(columns={"age": ix.quasi()}, privacy=[ix.KAnonymity(2)]))
    (folder / "drugs.parquet").write_bytes((folder / "visits.parquet").read_bytes())
    assert not ix.verify(folder, asked).passed


@pytest.mark.slow
def test_what_a_manifest_says_of_each_table_is_compared(tmp_path):
    alone = (77, [("flu", ["y"])])
    asked = policy(
        max_suppression=1.0,
        patients={"age": ix.quasi(), "note": ix.other()},
        visits={"ward": ix.quasi()},
        drugs={"drug": ix.quasi()},
    )
    original = tables([*CROWD[:4], alone])
    with ix.anonymize(original, asked) as release:
        folder = release.write(tmp_path / "release")
    said = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert said["people"]["lost_rows"], "else nothing is suppressed"

    def wrong(**changed):
        (folder / "manifest.json").write_text(json.dumps(said | changed), "utf-8")
        checks = {check.id: check for check in ix.verify(folder, asked).checks}
        return set(checks["manifest.statements"].numbers.get("wrong", []))

    def of(name, **changed):
        return {"tables": said["tables"] | {name: said["tables"][name] | changed}}

    assert wrong() == set()
    for changed in (
        {"columns": ["drug", "Ann"]},
        {"columns": ["drug"]},
        {"eligible": 50},
        {"eligible": 51, "suppressed": 50},
        {"released": said["tables"]["drugs"]["released"] - 1},
        {"delimiter": ";"},
    ):
        assert "tables" in wrong(**of("drugs", **changed)), changed
    assert "tables" in wrong(tables={})
    assert {"tables", "released"} <= wrong(eligible=1, released=1, suppressed=0)
    people = said["people"]
    for changed in (
        {"eligible": people["eligible"] + 1},
        {"released": people["released"] - 1},
        {"lost_all_rows": people["lost_all_rows"] + 1},
        {"lost_rows": people["lost_all_rows"] - 1},
        {"lost_rows": said["suppressed"] + 1},
        {"smallest_profile": said["smallest_group"] + 1},
        {"smallest_group": said["smallest_group"] - 1},
        {"smallest_group": people["released"] + 1},
    ):
        assert wrong(people=people | changed) == {"people"}, changed
    assert wrong(dates_moved={"days": 3}) == {"dates_moved"}
    assert wrong(unreadable={"patients.age": 3}) == {"unreadable"}


def test_tables_of_several_kinds_are_given_back_as_they_came(tmp_path):
    original = tables(CROWD)
    semicolons = tmp_path / "drugs.csv"
    rows = original["drugs"].to_pylist()
    semicolons.write_text("visit;drug\n" + "".join(f"{row['visit']};{row['drug']}\n" for row in rows))
    commas = tmp_path / "visits.csv"
    commas.write_text(
        "visit,patient,ward\n" + "".join(",".join(r.values()) + "\n" for r in original["visits"].to_pylist())
    )
    mixed = {"patients": original["patients"].to_pandas(), "visits": commas, "drugs": semicolons}
    with ix.anonymize(mixed, policy()) as release:
        assert type(release.tables["patients"]).__module__.startswith("pandas")
        folder = release.write(tmp_path / "release")
    assert (folder / "drugs.csv").read_text().startswith("drug;visit")
    assert ix.verify(folder, policy(), original=mixed).passed


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t: t.pop("drugs"), "tables.drugs: this table was not given"),
        (lambda t: t.update(labs=t["drugs"]), "table 'labs' is not in the policy"),
        (
            lambda t: t.update(visits=t["visits"].drop_columns(["patient"])),
            "tables.visits: columns.patient: the table has",
        ),
        (
            lambda t: t.update(patients=nulls(t["patients"], "patient")),
            "tables.patients: 1 row has nothing in 'patient'",
        ),
        (lambda t: t.update(drugs=nulls(t["drugs"], "visit")), "tables.drugs: 1 row has nothing in 'visit'"),
        (
            lambda t: t.update(visits=t["visits"].slice(1)),
            "references.visit: 1 row refers to no eligible row of 'visits'",
        ),
        (lambda t: t.update(patients=t["patients"].slice(1)), "references.patient: 2 rows are of people who have no"),
        (lambda t: t.update(visits=pa.concat_tables([t["visits"]] * 2)), "16 rows have a key in 'visit' that another"),
    ],
)
def test_tables_that_do_not_fit_together_are_refused_and_no_cell_is_quoted(spoil, message, tmp_path):
    original = tables(CROWD)
    spoil(original)
    with pytest.raises(ix.PolicyError) as caught:
        ix.anonymize(original, policy())
    assert message in str(caught.value)
    assert "p0" not in str(caught.value)
    assert "v0" not in str(caught.value)
    assert not ix.check(original, policy()).is_feasible


def nulls(table, column):
    place = table.column_names.index(column)
    return table.set_column(place, column, pa.array([None, *table[column].to_pylist()[1:]]))


def test_rows_that_refer_to_somebody_else_are_refused():
    asked = policy(drugs={"drug": ix.quasi(ix.suppress()), "patient": ix.identifier()})
    original = tables(CROWD)
    own = pa.array([f"p{number}" for number in range(3)])
    good = original | {"drugs": original["drugs"].append_column("patient", own)}
    with ix.anonymize(good, asked) as release:
        assert release.tables["drugs"].column_names == ["drug", "visit", "pseudonym"]
        assert release.verify(original=good).passed
    bad = original | {"drugs": original["drugs"].append_column("patient", pa.array(["p1", "p1", "p2"]))}
    with pytest.raises(ix.PolicyError, match="1 row refers to a row of somebody else"):
        ix.anonymize(bad, asked)


PATIENTS = ix.LinkedTable({"age": ix.quasi(ix.suppress())}, key="patient")


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"a/b": PATIENTS}, "cannot name a file"),
        ({"manifest": PATIENTS}, "cannot name a file"),
        ({"a": PATIENTS, "A": PATIENTS}, "differs from another name only in case"),
        ({"a": replace(PATIENTS, references={"x": "b"})}, "there is no table 'b'"),
        ({"a": replace(PATIENTS, references={"x": "a"})}, "cannot refer to itself"),
        (
            {"a": PATIENTS, "b": ix.LinkedTable({"c": ix.quasi()}, references={"a": "d"}), "d": ix.LinkedTable({})},
            "no key",
        ),
        ({"a": ix.LinkedTable({"age": ix.other()})}, "no quasi column"),
        (
            {
                "a": ix.LinkedTable({"q": ix.quasi()}, key="k", references={"b": "b"}, person="patient"),
                "b": ix.LinkedTable({"q": ix.quasi()}, key="k", references={"a": "a"}, person="patient"),
            },
            "round in a circle",
        ),
        ({"a": ix.LinkedTable({"q": ix.quasi(), "patient": ix.quasi()})}, "never released"),
        (
            {
                "a": replace(PATIENTS, key="k"),
                "b": ix.LinkedTable({"q": ix.quasi(), "r": ix.other()}, references={"r": "a"}),
            },
            "joined by its pseudonyms",
        ),
        ({"a": PATIENTS, "b": ix.LinkedTable({"q": ix.quasi()}, person=("x", "y"))}, "as many columns"),
        ([1], "must give each table a name"),
        ({}, "no quasi column"),
    ],
)
def test_mistakes_in_the_description_are_named(described, message):
    with pytest.raises(ix.PolicyError, match=message):
        ix.Policy(tables=described, privacy=[ix.KAnonymity(2)], person="patient")


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([ix.LDiversity(2)], "l-diversity needs a sensitive column"),
        ([ix.KAnonymity(2, on="x")], "one quasi-identifier"),
        ([], "no model"),
    ],
)
def test_models_that_say_nothing_of_several_tables_are_refused(models, message):
    with pytest.raises(ix.PolicyError, match=message):
        ix.Policy(tables={"a": PATIENTS}, privacy=models, person="patient")


@pytest.mark.parametrize("algorithm", ["mondrian", "regroup", "lossy-join", "mu-argus", "k-similar"])
def test_algorithms_that_do_not_join_tables_refuse(algorithm):
    with pytest.raises(ix.PolicyError, match=f"{algorithm}.*several tables"):
        ix.anonymize(tables(CROWD), policy(), algorithm=algorithm)


def test_several_tables_are_compared_by_the_algorithms_that_join_them(tmp_path):
    """As one table is: each answer is what the algorithm releases alone; queries are asked of one table."""
    original, asked = tables(CROWD), policy()
    found = ix.compare(original, asked, algorithms=["lattice", "datafly", "regroup"])
    assert [trial.ending for trial in found.trials] == ["released", "released", "refused"]
    for trial in found.trials[:2]:
        with ix.anonymize(original, asked, algorithm=trial.algorithm) as release:
            assert (trial.node, trial.suppressed) == (release.node, release.suppressed)
            assert trial.people["smallest_profile"] == release.facts.people.smallest_profile
    with pytest.raises(ix.TableError, match="give each by its name"):
        ix.compare(original["patients"], asked)


def test_what_takes_one_table_says_so(tmp_path):
    original, asked = tables(CROWD), policy()
    for use in (
        lambda: ix.solutions(original["patients"], asked),
        lambda: ix.frontier(original["patients"], asked),
        lambda: ix.risk(original["patients"], policy=asked),
        lambda: ix.queries(original["patients"], asked),
        lambda: ix.for_recipient(asked, dict.fromkeys(asked.quasi, 0.5)),
    ):
        with pytest.raises(ix.IndistinctError, match="several tables"):
            use()
    with pytest.raises(ix.TableError, match="give each by its name: patients, visits, drugs"):
        ix.anonymize(original["patients"], asked)
    with ix.anonymize(original, asked) as release:
        with pytest.raises(ix.TableError, match="several tables"):
            _ = release.table
        with pytest.raises(ix.TableError, match="by its name"):
            release.verify(original=original["patients"])


def test_a_policy_file_describes_several_tables(tmp_path):
    import tomllib

    import jsonschema

    asked = policy(
        max_suppression=0.1,
        visits={"ward": ix.quasi(SITES), "day": ix.other(shift={"days": 30, "format": "%d.%m.%Y"})},
    )
    text = ix.policy_toml(asked)
    path = tmp_path / "policy.toml"
    path.write_text(text)
    assert ix.read_policy(path) == asked
    jsonschema.validate(tomllib.loads(text), ix.policy_schema())
    path.write_text(
        text.replace('role = "other"', 'role = "quasi"').replace("k = 2", "k = 0").replace("[10, 20]", "[]")
    )
    with pytest.raises(ix.PolicyError) as caught:
        ix.read_policy(path)
    for place in ("tables.patients.columns.age.hierarchy", "tables.visits.columns.day: shift", "privacy[0]"):
        assert place in str(caught.value)


def test_what_is_said_of_one_table_is_refused_of_several():
    """One error names all of it."""
    one = {
        "columns": {"age": ix.quasi()},
        "eligible": [ix.where("age", "present")],
        "quasi_identifiers": {"a": ["age"]},
        "suppressed_rows": "blank",
        "one_row_per_person": True,
    }
    with pytest.raises(ix.PolicyError) as caught:
        ix.Policy(tables={"patients": PATIENTS}, privacy=[ix.KAnonymity(2)], **one)
    assert [mistake.split(":")[0] for mistake in caught.value.mistakes] == [*one, "person"]


def test_a_recipient_who_cannot_link_by_a_column_gets_it_as_it_is():
    asked = policy()
    profile = dict.fromkeys(asked.quasi, 1) | {"visits.ward": 0}
    found = ix.for_recipient(asked, profile)
    assert set(asked.quasi) - set(found.quasi) == {"visits.ward"}
    assert found.columns["visits.ward"].role == "other"


def test_a_table_may_have_no_quasi_column():
    """How many drugs somebody gets is told all the same."""
    asked = policy(drugs={"drug": ix.sensitive()}, visits={"ward": ix.quasi()})
    people = [(31, [("eye", ["x"])])] * 2 + [(31, [("eye", ["x", "y"])])] * 2 + [(31, [("eye", ["y"])])]
    with ix.anonymize(tables(people), asked) as release:
        assert release.facts.groups == 2
        assert release.suppressed == 0
        assert release.verify(original=tables(people)).passed
    with pytest.raises(ix.InfeasibleError):
        ix.anonymize(tables(people[:3]), asked)


def test_the_holder_makes_pseudonyms_anew_in_all_tables(monkeypatch):
    import hashlib
    import hmac

    monkeypatch.setenv("CLINIC", "k" * 32)
    asked = replace(policy(), person={"column": "patient", "key_env": "CLINIC"})
    with ix.anonymize(tables(CROWD), asked) as release:
        key = hmac.digest(b"k" * 32, release.facts.pseudonym_salt.encode(), hashlib.sha256)
        expected = {hmac.digest(key, f"2:p{n}".encode(), hashlib.sha256).hex()[:32] for n in range(7)}
        assert set(release.tables["patients"]["pseudonym"].to_pylist()) == expected
        assert set(release.tables["visits"]["pseudonym"].to_pylist()) <= expected
    monkeypatch.setenv("CLINIC", "short")
    with pytest.raises(ix.PolicyError, match="at least 32"):
        ix.anonymize(tables(CROWD), asked)


def test_dates_move_together_in_all_tables():
    days = {
        "visits": {"ward": ix.quasi(), "day": ix.other(shift=90)},
        "drugs": {"drug": ix.quasi(), "when": ix.other(shift=90)},
    }
    asked = policy(**days)
    original = tables(CROWD)
    original["visits"] = original["visits"].append_column("day", pa.array([f"2021-03-{9 + n:02}" for n in range(8)]))
    original["drugs"] = original["drugs"].append_column("when", pa.array([f"2021-04-{9 + n:02}" for n in range(3)]))
    with ix.anonymize(original, asked) as release:
        assert release.facts.dates_moved == StatedShifts(days=90)
        assert not failed(held(release), asked, original=original)
        later = held(release)  # a drug, which says whose it is only through its visit, is given a day later
        when = np.datetime64(later["drugs"][0]["when"]) + np.timedelta64(1)
        later["drugs"][0]["when"] = str(when)
        assert not failed(later, asked)
        assert failed(later, asked, original=original) == {"distances of dates"}


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """A folder with the three tables as CSV files and their policy, which is also where commands run."""
    import pyarrow.csv

    for name, table in tables(CROWD).items():
        pyarrow.csv.write_csv(table, tmp_path / f"{name}.csv")
    (tmp_path / "policy.toml").write_text(ix.policy_toml(policy()))
    monkeypatch.chdir(tmp_path)
    return ["patients=patients.csv", "visits=visits.csv", "drugs=drugs.csv"]


def test_commands_take_several_tables(clinic, tmp_path):
    checked = run("check", "policy.toml", *clinic, "--json")
    assert json.loads(checked.stdout)["feasible"], checked.output
    made = run("anonymize", "policy.toml", *clinic, "-o", "release")
    assert made.exit_code == 0, made.output
    for shown in ("rows of drugs", "3 of 3 eligible", "profiles", "verified and written to release"):
        assert shown in made.output
    originals = [part for table in clinic for part in ("--original", table)]
    proved = run("verify", "policy.toml", "release", *originals, "--json")
    assert proved.exit_code == 0, proved.output
    names = [check["name"] for check in json.loads(proved.stdout)["checks"]]
    assert {"references", "linked rows", "drugs: truthful"} <= set(names)
    assert run("verify", "policy.toml", "release").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["patients.csv"], "give each as NAME=TABLE"),
        (["patients=patients.csv", "patients=visits.csv"], "is given twice"),
        (["patients=patients.csv", "visits=visits.csv"], "tables.drugs: this table was not given"),
        (["patients=patients.csv", "visits=visits.csv", "drugs=none.csv"], "no such file"),
        (["patients=patients.csv", "visits=visits.csv", "drugs=drugs.csv", "--max-tuples", "9"], "not offered"),
    ],
)
def test_commands_refuse_what_they_cannot_do_and_write_nothing(clinic, tmp_path, arguments, message):
    before = sorted(tmp_path.iterdir())
    result = run("anonymize", "policy.toml", *arguments, "-o", "release")
    assert result.exit_code in (1, 2), result.output
    assert message in " ".join(result.output.split())
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("visits", '"v0.0"', '"w0.0"', "references.visit: 1 row refers to no eligible row of 'visits'"),
        ("patients", '"p0"', '"q0"', "references.patient: 2 rows are of people who have no"),
        ("patients", '"p0"', "", "tables.patients: 1 row has nothing in 'patient'"),
        ("visits", '"v1.0"', '"v0.0"', "2 rows have a key in 'visit' that another"),
    ],
)
def test_commands_refuse_tables_whose_keys_do_not_match_and_write_nothing(clinic, tmp_path, name, old, new, message):
    path = tmp_path / f"{name}.csv"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    before = sorted(tmp_path.iterdir())
    for arguments in (["check"], ["anonymize", "-o", "release"]):
        result = run(arguments[0], "policy.toml", *clinic, *arguments[1:])
        assert result.exit_code in (1, 2, 3), result.output
        said = " ".join(result.output.split())
        assert message in said
        assert [cell for cell in ("p0", "q0", "v0", "v1", "w0") if cell in said] == []
        assert sorted(tmp_path.iterdir()) == before


def test_other_commands_say_that_they_take_one_table(clinic):
    result = run("solutions", "policy.toml", "patients.csv")
    assert result.exit_code == 2
    assert "describes several tables" in " ".join(result.output.split())
    assert run("anonymize", "policy.toml", "a.csv", "b.csv", "-o", "release").exit_code == 2


def test_what_else_is_false_is_caught():
    asked = policy(visits={"ward": ix.quasi()}, drugs={"drug": ix.quasi()})
    original = tables(CROWD)
    with ix.anonymize(original, asked) as release:
        false = held(release)
        for row in false["visits"]:
            row["ward"] = {"ear": "flu"}.get(row["ward"], row["ward"])
        assert "visits: truthful" in failed(false, asked, original=original)

        fewer = held(release)  # two people who need not go
        stay = {row["pseudonym"] for row in fewer["visits"]}
        fewer["patients"] = [row for row in fewer["patients"] if row["pseudonym"] in stay]
        assert failed(fewer, asked, original=original) == {"least suppression"}

        for name in original:
            left = {one: table for one, table in release.tables.items() if one != name}
            assert not ix.verify(left, asked).passed
        nothing = {name: table.slice(0, 0) for name, table in release.tables.items()}
        verdict = ix.verify(nothing, asked, original=original)
        assert [check.name for check in verdict.checks if not check.passed] == ["rows"]


def test_tables_in_spark_are_refused():
    with pytest.raises(ix.TableError, match="visits: several tables that belong together are not supported in Spark"):
        policy().form.refuse_engines({"visits": "spark"})


def test_cells_mean_in_several_tables_what_they_mean_in_one():
    """Codes that mean unknown, cells that cannot be read and levels that are demanded."""
    asked = policy(
        patients={"age": ix.quasi(ix.intervals(10, 20), unreadable="missing", min_level=1), "note": ix.other()},
        visits={"ward": ix.quasi(missing=["?"])},
        drugs={"drug": ix.quasi(), "dose": ix.sensitive(missing=["-1"])},
    )
    original = tables(CROWD)
    ages = [str(age) for age in original["patients"]["age"].to_pylist()]
    original["patients"] = original["patients"].set_column(1, "age", pa.array([*ages[:-2], "old", "old"]))
    wards = original["visits"]["ward"].to_pylist()
    original["visits"] = original["visits"].set_column(2, "ward", pa.array(["?" if w == "ear" else w for w in wards]))
    original["drugs"] = original["drugs"].append_column("dose", pa.array(["-1", "2", "3"]))
    with ix.anonymize(original, asked) as release:
        assert release.node["patients.age"] == 1
        assert release.facts.unreadable == {"patients.age": 2}
        assert release.suppressed == 0
        assert set(release.tables["visits"]["ward"].to_pylist()) == {"eye", "flu", None}
        assert set(release.tables["drugs"]["dose"].to_pylist()) == {None, "2", "3"}
        verdict = release.verify(original=original)
        assert verdict.passed, str(verdict)
        assert "patients: unreadable cells" in [check.name for check in verdict.checks]
        assert failed({**held(release), "patients": [r | {"age": "31"} for r in held(release)["patients"]]}, asked)
