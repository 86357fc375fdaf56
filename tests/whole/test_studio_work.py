"""What the studio does, without its pages: every action on a table, and what is left after one that fails."""

from __future__ import annotations

import collections
import csv
import itertools
import json
import threading
import xml.etree.ElementTree
import zipfile
from types import SimpleNamespace

import hypothesis.strategies as st
import pytest
from hypothesis import given
from typer.testing import CliRunner

import indistinct as ix
from indistinct.cli import app
from indistinct.errors import (
    HierarchyError,
    InfeasibleError,
    OutputError,
    PolicyError,
    TableError,
    VerificationError,
)
from indistinct.hierarchy import intervals, suppress
from indistinct.policy.files import policy_entries
from indistinct.progress import Watch
from indistinct.report import report_facts
from indistinct.search.full_domain.solutions import Solution
from indistinct.showing.small_bars import small_bars
from indistinct.studio import drafts
from indistinct.studio.drafts import HierarchyDraft
from indistinct.studio.jobs import Job, end_jobs
from indistinct.studio.opened import file_name
from indistinct.studio.pages.download import command_lines
from indistinct.studio.settings import choose_sharing, choose_way, say, say_recipient
from indistinct.studio.widgets import column_grid, lattice_chart
from indistinct.studio.widgets.controls import CSS
from indistinct.studio.widgets.distributions import distributions
from indistinct.studio.widgets.previews import Preview
from indistinct.studio.widgets.utility_card import distances, pair_distances
from indistinct.studio.work import Work


@pytest.fixture
def work(tmp_path):
    made = Work(folder=tmp_path / "private")
    made.folder.mkdir()
    yield made
    made.close()


@pytest.fixture
def hospital(work):
    work.open_example("hospital")
    return work


def run_by_command_line(work, text, tmp_path):
    """Run a policy on the open table by the command line; give the manifest and the rows of the release."""
    (tmp_path / "policy.toml").write_text(text, "utf-8")
    done = CliRunner().invoke(
        app, ["anonymize", str(tmp_path / "policy.toml"), work.original, "-o", str(tmp_path / "out")]
    )
    assert done.exit_code == 0, done.output
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    with (tmp_path / "out" / "table.csv").open(encoding="utf-8") as file:
        return manifest, collections.Counter(map(tuple, csv.reader(file)))


def test_a_table_comes_with_suggested_roles_and_reasons(hospital):
    assert {name: choice.role for name, choice in hospital.columns.items()} == {
        "Race": "quasi",
        "BirthDate": "quasi",
        "Gender": "quasi",
        "ZIP": "quasi",
        "Problem": "sensitive",
    }
    assert all(choice.reason for choice in hospital.columns.values())
    assert hospital.rows == 12
    assert hospital.heads["table"][0][0] == "Race"
    assert hospital.mistakes() == ()


def visits_table(folder):
    """Write a table of visits, for which secrets get models and exact numbers are recoded."""
    rows = [
        f"{20 + row % 40},{'fm'[row % 2]},{1000 + 37 * row},{['flu', 'cough', 'gout'][row % 3]}" for row in range(90)
    ]
    return written(folder / "visits.csv", ["age,sex,income,illness", *rows])


def written(path, lines):
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def clinic(folder):
    """Write people, their visits by ward and month, and the drug of each visit."""
    people = [f"p{who},{1940 + who % 4 * 10}" for who in range(60)]
    stays = [f"v{number},p{number % 60},{'ab'[number % 60 % 2]}" for number in range(90)]
    drugs = [f"v{number},{('insulin', 'heparin')[number // 4 % 2]}" for number in range(90)]
    return {
        "people": str(written(folder / "people.csv", ["who,born", *people])),
        "visits": str(written(folder / "stays.csv", ["visit,who,ward", *stays])),
        "drugs": str(written(folder / "drugs.csv", ["visit,drug", *drugs])),
    }


@pytest.mark.slow
def test_the_studio_begins_with_the_policy_that_init_writes(work, tmp_path):
    """Of one table, of one as small as those of the papers, and of several that belong together."""
    small = written(tmp_path / "few.csv", ["age,sex", *(f"{20 + row},f" for row in range(9))])
    tables = clinic(tmp_path)
    stories = {
        "one": (visits_table(tmp_path), [str(tmp_path / "visits.csv")]),
        "few": (small, [str(small)]),
        "several": (tables, [f"{name}={path}" for name, path in tables.items()]),
    }
    for name, (tables_given, arguments) in stories.items():
        goal = tmp_path / f"{name}.toml"
        done = CliRunner().invoke(app, ["init", *arguments, "-o", str(goal)])
        assert done.exit_code == 0, done.output
        work.open(tables_given)
        assert work.policy() == ix.read_policy(goal) == ix.parse_policy(work.policy_text())
        assert set(work.reasons) <= {line.removeprefix("# ") for line in goal.read_text("utf-8").splitlines()}
    assert set(work.links) == set(tables)
    assert [name for name, choice in work.columns.items() if choice.is_tie] == [
        "people.who", "visits.visit", "visits.who", "drugs.visit",
    ]  # fmt: skip
    work.set_role("visits.visit", "other")  # which the others refer to
    assert work.mistakes() == ()


@pytest.mark.slow
def test_answers_to_the_five_questions_give_the_policy_of_init_ask(work, tmp_path):
    path = visits_table(tmp_path)
    done = CliRunner().invoke(
        app, ["init", "--ask", str(path), "-o", str(tmp_path / "asked.toml")], input="\nage\nillness\n\n3\n"
    )
    assert done.exit_code == 0, done.output
    work.open(path)
    work.ask()
    assert [decision.asked for decision in work.decisions] == ["person", "known", "secret", "kept", "k"]
    with pytest.raises(PolicyError):
        work.answer({"known": "nobody"})
    work.answer({"known": "age", "secret": "illness", "k": "3"})
    assert work.policy() == ix.read_policy(tmp_path / "asked.toml")
    assert work.decisions == ()
    work.ask()
    with pytest.raises(PolicyError):
        work.answer({}, k="few")
    work.answer({}, k="3")  # the number of people, and not that of a way
    assert work.models[0]["k"] == 3


def test_a_table_that_cannot_be_opened_leaves_the_work_as_it_was(hospital, tmp_path):
    hospital.set_role("Race", "other")
    before = hospital.policy_text()
    for path in (tmp_path / "nowhere.csv", "", tmp_path):
        with pytest.raises(TableError):
            hospital.open(path)
    assert hospital.policy_text() == before
    assert hospital.name == "hospital.csv"


def test_every_mistake_of_the_form_is_reported_at_once(hospital):
    for name in ("Race", "BirthDate", "Gender", "ZIP", "Problem"):
        hospital.set_role(name, "other")
    hospital.models = [{"model": "k-anonymity", "k": "many"}, {"model": "l-diversity", "l": 0}]
    hospital.max_suppression = 7.5
    text = "\n".join(hospital.mistakes())
    assert len(hospital.mistakes()) >= 3
    assert "privacy[0].k" in text
    assert "privacy[1]" in text
    assert "max_suppression" in text


@pytest.mark.slow
def test_the_policy_text_is_the_policy(hospital):
    hospital.columns["ZIP"].weight = 2.0
    assert ix.parse_policy(hospital.policy_text()) == hospital.policy()
    again = Work(folder=hospital.folder)
    again.open_example("hospital")
    again.take_policy(hospital.policy_text())
    assert again.policy() == hospital.policy()


POLICY = """
version = 1
max_suppression = 3
suppressed_rows = "blank"
algorithm = "datafly"

[columns]
Race = { role = "quasi", hierarchy = { suppress = "*" }, missing = "refuse" }
BirthDate = { role = "quasi", hierarchy = { dates = { levels = ["year"], format = "%m/%d/%Y" } }, weight = 2.5 }
Gender = { role = "quasi", hierarchy = { suppress = "*" } }
ZIP = { role = "quasi", hierarchy = { prefix = 5 } }
Problem = { role = "sensitive", hierarchy = { suppress = "*" } }

[quasi_identifiers]
one = ["Race", "BirthDate"]
two = ["Gender", "ZIP"]

[[eligible]]
column = "Race"
op = "present"

[[privacy]]
model = "k-anonymity"
k = 3
on = "one"

[[privacy]]
model = "k-anonymity"
k = 2
on = "two"
"""


def test_nothing_of_a_policy_file_is_lost(hospital):
    hospital.take_policy(POLICY)
    assert hospital.policy() == ix.parse_policy(POLICY)
    hospital.set_role("Race", "other")  # what was said of it as a quasi column is not said any more
    assert any("Race" in mistake for mistake in hospital.mistakes())
    with pytest.raises(PolicyError):
        hospital.take_policy(POLICY.replace("ZIP", "PLZ"))
    hospital.take_or_await(POLICY)
    assert hospital.awaited_tables == {}


PLAIN = """
version = 1
{more}
[columns]
Race = {{ role = "quasi", hierarchy = {{ suppress = "*" }} }}
BirthDate = {{ role = "quasi", hierarchy = {{ dates = {{ levels = ["year"], format = "%m/%d/%Y" }} }} }}
Gender = {{ role = "quasi" }}
ZIP = {{ role = "quasi", hierarchy = {{ prefix = {{ length = 5, keep = [3] }} }} }}
Problem = {{ role = "{role}"{said} }}

[[privacy]]
model = "k-anonymity"
k = 2
"""


def policy_with(more="", role="sensitive", said=""):
    return PLAIN.format(more=more, role=role, said=said and f", {said}")


BIRTH = next(line for line in policy_with().splitlines() if line.startswith("BirthDate"))
FEATURES = {
    "version": policy_with(),
    "max_suppression": policy_with("max_suppression = 0.125"),
    "max_unique": policy_with("max_unique = 0.25"),
    "suppressed_rows": policy_with('suppressed_rows = "blank"'),
    "algorithm": policy_with('algorithm = "datafly"'),
    "options": policy_with('algorithm = "lattice"\noptions = { measure = "loss" }'),
    "one_row_per_person": policy_with("one_row_per_person = true"),
    "person": policy_with('person = "Problem"', "identifier"),
    "person.columns": policy_with('person = { columns = ["Problem"] }', "identifier"),
    "person.column": policy_with('person = { column = "Problem", release = "nothing" }', "identifier"),
    "person.release": policy_with(
        'person = { column = "Problem", release = "pseudonym", suppress = "rows", key_env = "PSEUDONYMS" }',
        "identifier",
    ),
    "person.key_file": policy_with(
        'person = { column = "Problem", release = "pseudonym", key_file = "/secret/key" }', "identifier"
    ),
    "person.stable": policy_with('person = { column = "Problem", release = "pseudonym", stable = true }', "identifier"),
    "recipient_profile": policy_with("recipient_profile = { Race = 1, BirthDate = 0.5, Gender = 0, ZIP = 1 }"),
    "quasi_identifiers": policy_with('[quasi_identifiers]\na = ["Race", "ZIP"]\nb = ["Gender", "BirthDate"]'),
    "about": policy_with('[about]\npurpose = "a study"\ndecided_by = "the holder"'),
    "about.data": policy_with('[about]\ndata = "stays of 1997"'),
    "about.recipient": policy_with('[about]\nrecipient = "a university"'),
    "context": policy_with(
        '[context]\nsharing = "agreement"\nbreach = { value = 0.1, why = "seldom" }\nthreshold = 0.1\nwhy = "usual"\n'
        "review_by = 2027-05-30"
    ),
    "recipients": policy_with('[recipients.a]\nwho = "A"\nk = 3\ncontext = { sharing = "public" }'),
    "eligible": policy_with('[[eligible]]\ncolumn = "Problem"\nop = "!="\nvalue = "obesity"'),
    "privacy": policy_with() + '[[privacy]]\nmodel = "t-closeness"\nt = 0.5\ncolumn = "Problem"\n',
    "columns.role": policy_with(role="other"),
    "columns.role.drop": policy_with(role="drop"),
    "columns.hierarchy": policy_with(said='hierarchy = { tree = { "*" = ["obesity", "chest pain"] } }'),
    "columns.weight": policy_with(role="quasi", said="weight = 3.5"),
    "columns.missing": policy_with(role="quasi", said='missing = "refuse"'),
    "columns.missing.codes": policy_with(role="sensitive", said='missing = ["999", "?"]'),
    "columns.min_level": policy_with(role="quasi", said="min_level = 0"),
    "columns.max_level": policy_with(role="quasi", said='hierarchy = { suppress = true }, max_level = "suppressed"'),
    "columns.recode": policy_with(role="other", said='recode = { prefix = 3, level = "1 character" }'),
    "columns.unreadable": policy_with(role="quasi", said='unreadable = "suppress"'),
    "columns.pseudonym": policy_with(role="identifier", said="pseudonym = true"),
    "columns.shift": policy_with('person = { column = "Problem", release = "pseudonym" }', "identifier").replace(
        BIRTH, 'BirthDate = { role = "other", shift = { days = 30, format = "%m/%d/%Y" } }'
    ),
    "columns.microaggregate": policy_with(role="other", said="microaggregate = { k = 3 }"),
    "columns.rename": policy_with(role="sensitive", said='rename = "Diagnosis"'),
    "columns.noise": policy_with(role="other", said='noise = { scale = 2.5, kind = "normal" }'),
}
"""A policy for each thing that a policy file can say."""


@pytest.mark.slow
def test_a_policy_file_that_is_loaded_is_downloaded_as_an_equal_policy(hospital):
    for feature, text in FEATURES.items():
        hospital.take_policy(POLICY)  # of which nothing may stay
        hospital.take_policy(text)
        wanted = ix.parse_policy(text)
        assert hospital.policy() == wanted, feature
        assert ix.parse_policy(hospital.policy_text()) == wanted, feature
        again = hospital.policy_text()
        hospital.take_policy(again)
        assert hospital.policy_text() == again, feature


def test_every_entry_of_a_policy_file_is_among_those_that_are_loaded_and_downloaded():
    said = set(policy_entries.PolicyEntries.model_fields) - {"columns", "tables", "knows"}  # of several, below
    said |= {f"columns.{name}" for name in policy_entries.ColumnEntry.model_fields} - {"columns.set"}
    said |= {f"person.{name}" for name in policy_entries.PersonEntry.model_fields} - {
        "person.suppress",
        "person.key_env",
    }
    assert said <= set(FEATURES), "say in FEATURES how a policy file says it; the studio must keep it"


def test_a_column_that_becomes_quasi_gets_a_hierarchy(hospital):
    hospital.set_role("Problem", "quasi")
    assert hospital.policy().columns["Problem"].hierarchy.height == 1


@pytest.mark.slow
def test_a_release_is_made_attacked_and_taken_home(hospital, tmp_path):
    """What is shown is what the commands give; a run that fails keeps it, and a new one forgets it."""
    for early in (hospital.measure_risk, lambda: hospital.make("report.html")):
        with pytest.raises(PolicyError):
            early()
    hospital.run()
    made = hospital.release
    assert made.verdict.passed
    assert "truthful" in {check.name for check in made.verdict.checks}
    assert {one.attack for one in hospital.attacked.outcomes} >= {"downcoding", "homogeneity", "unsorted", "uniqueness"}
    ((name, (columns, cells)),) = hospital.released_heads.items()
    assert (name, columns, len(cells)) == ("table", ("Race", "BirthDate", "Gender", "ZIP", "Problem"), 12)
    assert hospital.questions() == []
    hospital.measure_risk()
    assert [(one.uniques, one.prosecutor.highest) for one in hospital.risks] == [(12, 1.0), (0, 0.5)]
    reported = report_facts(made, made.policy, original=hospital.original)["questions"]
    assert [(one["question"], one.get("rate"), one["remains"]) for one in hospital.questions()] == [
        (one["question"], one.get("rate"), one["remains"]) for one in reported
    ]
    voters = hospital.example_files("hospital")[2]
    hospital.open_external(voters)
    pairs = hospital.suggested_pairs()
    assert pairs == {"BirthDate": "DOB", "Gender": "Sex", "ZIP": "ZIP"}
    hospital.link(pairs, ["Name"])
    assert hospital.linked == ix.attacks.link(made, str(voters), hospital.policy(), on=pairs, show=["Name"])
    with pytest.raises(PolicyError):
        hospital.link({})
    if hospital.is_held_back:
        hospital.accept()
    for file in ("release.zip", "report.html", "report-public.html"):
        with pytest.raises(OutputError):
            hospital.made_file(file)
        hospital.make(file)
    with zipfile.ZipFile(hospital.made_file("release.zip")) as archive:
        assert set(archive.namelist()) - {"./"} == {"table.csv", "manifest.json"}
        archive.extractall(tmp_path / "release")
    hospital.make("release.zip")  # once more
    assert "Release report" in hospital.made_file("report.html").read_text("utf-8")
    assert "9/20/1965" not in hospital.made_file("report-public.html").read_text("utf-8")  # generalized in all rows
    hospital.write(str(tmp_path / "written"))
    for folder in ("release", "written"):
        assert ix.verify(tmp_path / folder, hospital.policy(), original=hospital.original).passed
    hospital.models[0]["k"] = 500
    assert not hospital.is_current
    with pytest.raises(InfeasibleError):
        hospital.run()
    assert hospital.release is made
    assert (hospital.models[0]["k"], hospital.attacked is None) == (500, False)
    hospital.models[0]["k"] = 3
    hospital.anonymize()
    assert (hospital.attacked, hospital.risks, hospital.linked, hospital.made) == (None, None, None, {})
    assert hospital.released_policy_text
    hospital.open_example("samarati")
    assert (hospital.release, hospital.released_policy_text) == (None, "")


@pytest.mark.slow
def test_every_solution_can_be_applied_and_the_command_line_makes_the_same(hospital, tmp_path):
    before = hospital.algorithm, hospital.options
    with pytest.raises(InfeasibleError):
        hospital.apply(dict.fromkeys(("Race", "BirthDate", "Gender", "ZIP"), 0))
    assert (hospital.algorithm, hospital.options, hospital.release) == (*before, None)
    hospital.anonymize()
    first = dict(hospital.release.node)
    hospital.explore()
    nodes = [dict(solution.node) for solution in hospital.solutions]
    assert first in nodes
    assert len(nodes) > 1
    other = next(node for node in nodes if node != first)
    hospital.apply(other)
    assert dict(hospital.release.node) == other
    assert hospital.is_current
    manifest, rows = run_by_command_line(hospital, hospital.released_policy_text, tmp_path)
    assert manifest["node"] == other
    ((columns, cells),) = hospital.released_heads.values()
    assert rows == collections.Counter([columns, *map(tuple, cells)])


@pytest.mark.slow
def test_what_was_explored_is_known_to_be_stale_and_a_map_is_that_of_compare(hospital):
    hospital.models.append({"model": "l-diversity", "l": 1})  # which a trade-off does not count
    hospital.sweep()
    stages = []
    watch = Watch(progress=lambda *said: stages.append(said))
    hospital.compare(["lattice", "mondrian"], watch, utility="k-marginal", ks=[2, 3])
    asked = ix.compare(
        hospital.original, hospital.policy(), algorithms=["lattice", "mondrian"], utility="k-marginal", ks=[2, 3]
    )
    found = hospital.comparison
    assert [(one.label, one.risk, one.utility) for one in found.list_undominated()] == [
        (one.label, one.risk, one.utility) for one in asked.list_undominated()
    ]
    assert {trial.label for trial in found.trials} == {
        f"{name}, k = {k}" for name in ("lattice", "mondrian") for k in (2, 3)
    }
    assert all(0 <= done <= total for _, done, total in stages)
    hospital.choose_k(3)
    assert [model.get("k") for model in hospital.models] == [3, None]
    hospital.choose_k(2)
    assert hospital.is_explored("frontier")
    hospital.choose_algorithm("samarati")  # nothing that was asked has changed
    assert hospital.is_explored("frontier")
    hospital.columns["ZIP"].hierarchy = {"suppress": True}
    assert not hospital.is_explored("frontier")
    assert not hospital.is_explored("comparison")


@pytest.mark.slow
def test_utility_is_that_of_the_command_and_goes_with_the_release(hospital):
    hospital.choose_algorithm("mondrian")
    hospital.anonymize()
    hospital.measure_utility(["Gender=male ~ Race"], None)
    found = ix.utility(hospital.release, hospital.original, regressions=["Gender=male ~ Race"])
    assert hospital.utility.to_dict() == found.to_dict()
    assert hospital.released_columns() == ["Race", "BirthDate", "Gender", "ZIP", "Problem"]
    pictures = [distances(found.marginals), pair_distances(found.marginals)]
    assert pictures[0].panels[0].values == tuple(one.total_variation for one in found.marginals.columns)
    assert pictures[1].panels[0].values == tuple(sorted(one.total_variation for one in found.marginals.pairs)[::-1])
    with pytest.raises(ix.PolicyError):
        hospital.measure_utility(["nothing"], None)
    assert hospital.utility is not None
    hospital.anonymize()
    assert hospital.utility is None


HISTORY = """
version = 1
person = "who"
knows = { events = 1 }

[tables.people]
key = "who"
columns.born = { role = "quasi", hierarchy = { intervals = [20, 60] } }

[tables.visits]
references = { who = "people" }
columns.visit = { role = "drop" }
columns.ward = { role = "quasi", hierarchy = { suppress = "*" } }

[[privacy]]
model = "k-anonymity"
k = 5
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_history", [False, True])
def test_linked_tables_and_histories_go_the_whole_way_of_one_table(work, tmp_path, is_history):
    tables = clinic(tmp_path)
    if is_history:
        work.take_or_await(HISTORY)
        assert work.awaited_tables == {"people": "", "visits": ""}
        del tables["drugs"]
        work.open(tables, text=HISTORY)
    else:
        work.open(tables["people"])
        first = work.with_another(tables["visits"])
        assert first == {"people": tables["people"], "stays": tables["visits"]}
        work.open(tables)
        assert work.mistakes() == ()
    policy = work.policy()
    assert set(work.columns) == {f"{name}.{own}" for name, (names, _) in work.heads.items() for own in names}
    assert ix.parse_policy(work.policy_text()) == policy
    work.run()
    assert work.release.verdict.passed
    assert set(work.released_heads) == set(tables)
    assert {"homogeneity", "uniqueness"} & {one.attack for one in work.attacked.outcomes}
    work.measure_risk()
    assert work.risks[1].prosecutor.highest <= 0.2
    assert len(work.questions()) == 3
    drawn = distributions(work, work.columns)
    counted = {name: sum(bar["rows"] for bar in one.before["bars"]) for name, one in drawn.items()}
    assert counted["people.born"] == 60
    assert counted["visits.ward"] == 90
    assert work.preview("people.born", {"intervals": [20]}).values == 4
    work.open_external(tables["people"])
    assert work.suggested_pairs() == {"people.born": "born"}
    work.link({"people.born": "born"})
    for what in ("utility", "explore", "risk of a row"):
        assert work.refusal(what)
    for refused in (work.sweep, lambda: work.measure_utility([], None), lambda: work.explain_row(1)):
        with pytest.raises(PolicyError):
            refused()
    if work.is_held_back:
        work.accept()
    for file in ("release.zip", "report.html", "report-public.html", "dossier.zip"):
        work.make(file)
    with zipfile.ZipFile(work.made_file("release.zip")) as archive:
        archive.extractall(tmp_path / "release")
    assert ix.verify(tmp_path / "release", policy, original=tables).passed
    work.open_ledger(str(tmp_path / "ledger.db"), is_new=True)
    if is_history:
        with pytest.raises(ix.LedgerError, match="knows"):
            work.enter("university", "research")
    else:
        work.enter("university", "research")
        assert work.check_ledger("university").passed
        work.compare(["lattice", "datafly"])
        work.explore()
        assert dict(work.release.node) in [dict(one.node) for one in work.solutions]
        (tmp_path / "policy.toml").write_text(work.policy_text(), "utf-8")
        made, proved = [line.split()[1:] for line in command_lines(tables, is_linked=True).splitlines()]
        assert {word for word in made if "=" in word} == {word for word in proved if "=" in word}


@pytest.mark.slow
def test_the_ledger_remembers_and_refuses(hospital, tmp_path):
    hospital.open_ledger(str(tmp_path / "ledger.db"), is_new=True)
    assert hospital.entries() == []
    with pytest.raises(ix.LedgerError, match="review"):
        hospital.enter("university", "research", review="soon")
    hospital.enter("university", "research", review="2027-05-30")
    (entry,) = hospital.entries()
    assert (entry.recipient, entry.purpose, entry.review) == ("university", "research", "2027-05-30")
    assert hospital.release.entry == 1
    found = hospital.check_ledger("university")
    assert found.passed
    assert "joined with entry 1" in found.reason
    hospital.options = {"measure": "discernibility"}
    hospital.columns["BirthDate"].hierarchy = {"suppress": True}
    assert not hospital.check_ledger("university").passed
    with pytest.raises(ix.RefusedError):
        hospital.enter("university", "research")
    assert len(hospital.entries()) == 1
    assert hospital.release.entry == 1


def test_a_ledger_may_have_a_budget(hospital, tmp_path):
    with pytest.raises(ix.LedgerError, match="above 0"):
        hospital.open_ledger(str(tmp_path / "none.db"), is_new=True, budget=(0.0, 1e-5))
    hospital.open_ledger(str(tmp_path / "ledger.db"), is_new=True, budget=(2.0, 1e-5))
    budget = hospital.ledger_budget()
    assert (budget.epsilon, budget.delta) == (2.0, 1e-5)
    with pytest.raises(ix.RefusedError, match="budget"):
        hospital.enter("university", "research")


def test_people_may_be_recognised_by_several_columns_together(work, tmp_path):
    table = tmp_path / "people.csv"
    first, last = ("Ann", "Ann", "Bob", "Bob"), ("Ray", "Lee", "Ray", "Lee")
    rows = [f"{a},{b},{sex}" for a, b, sex in zip(first, last, "ffmm", strict=True)]
    table.write_text("\n".join(["first,last,sex", *rows]) + "\n")
    work.open(table)
    for name, role in {"first": "identifier", "last": "identifier", "sex": "quasi"}.items():
        work.set_role(name, role)
    work.models = [{"model": "k-anonymity", "k": 2}]
    work.say_one_row_per_person(True)
    work.open_ledger(str(tmp_path / "ledger.db"), is_new=True)
    with pytest.raises(ix.errors.IndistinctError):  # one column does not tell people apart, two together do
        work.enter("university", "research", ["last"])
    work.enter("university", "research", ["first", "last"])
    assert work.check_ledger("university", ["first", "last"]).passed


def test_uploads_stay_in_the_private_folder_whatever_their_name(work):
    for name in ("../../evil.csv", "/etc/passwd", "..", "", "a/b.csv", ".hidden"):
        place = work.keep_upload(name)
        assert place.parent.parent == work.folder / "uploads"
        assert place.parent.stat().st_mode & 0o077 == 0


@given(name=st.text(max_size=400))
def test_any_name_of_an_upload_becomes_one_that_a_file_can_have(name):
    made = file_name(name)
    assert 0 < len(made.encode()) <= 255
    assert made not in (".", "..")
    assert made.isprintable()
    assert not set(made) & {"/", "\\", "\0"}
    assert file_name(made) == made


@pytest.mark.slow
def test_an_uploaded_table_is_kept_until_another_one_is_open(work):
    first, bad, second = (work.keep_upload("a.csv") for _ in range(3))
    first.write_text("zip\n02138\n02139\n")
    bad.write_text("")
    second.write_text("zip\n02138\n02141\n")
    work.open(first)
    with pytest.raises(TableError):
        work.open(bad)
    assert tuple(work.values("zip")) == ("02138", "02139")
    work.open(second)
    assert not first.exists()
    assert tuple(work.values("zip")) == ("02138", "02141")


@pytest.mark.slow
def test_a_preview_shows_the_values_at_every_level(hospital):
    preview = hospital.preview("ZIP", {"prefix": {"length": 5, "keep": [4, 3]}})
    assert preview.rows[0] == ("02138", "0213*", "021**", "*")
    assert preview.labels == (3, 2, 1, 1)
    with pytest.raises(HierarchyError) as error:
        hospital.preview("Race", {"intervals": [5]})
    assert "black" not in str(error.value)


def test_a_preview_shows_what_is_extreme_and_what_is_rare():
    ages = [str(age) for age in (47, 3, 20, 112, 31, 30, *range(32, 46), 29)]
    counts = dict.fromkeys(ages, 10) | {"40": 1, "41": 2}
    shown = Preview.of(intervals(10, high=90), [*ages, None], counts)
    told = {row[0]: reason for row, reason in zip(shown.rows, shown.reasons, strict=True) if reason}
    assert told == {
        "3": "lowest", "20": "lowest", "47": "highest", "112": "highest", "40": "rare: 1 row", "41": "rare: 2 rows",
        None: "missing",
    }  # fmt: skip
    assert next(row for row in shown.rows if row[0] == "112")[1] == ">=90"
    assert [row[0] for row in shown.rows][:2] == ["3", "20"]  # in the order of numbers
    words = Preview.of(suppress(), ["fever", "a very long word", "flu"], {"fever": 5, "a very long word": 9, "flu": 9})
    assert set(words.reasons) == {"rare: 5 rows", "", "longest"}


@given(values=st.lists(st.integers(-300, 300), unique=True, min_size=1, max_size=60), data=st.data())
def test_a_preview_has_few_rows_and_always_the_lowest_and_the_highest(values, data):
    counts = {str(value): data.draw(st.integers(1, 9)) for value in values}
    shown = Preview.of(intervals(5), list(counts), counts)
    told = [int(row[0]) for row in shown.rows]
    assert len(told) == len(set(told)) == min(len(values), len(told)) <= 14
    assert {min(values), max(values)} <= set(told)
    assert min(counts.values()) in {counts[str(value)] for value in told}
    assert told == sorted(told)
    assert len(values) > 14 or len(told) == len(values)


SPECS = [
    {"intervals": [5, 10, 20]},
    {"intervals": {"widths": [5], "low": 10, "top": False}},
    {"rounding": [10, 100]},
    {"prefix": 5},
    {"prefix": {"length": 5, "keep": [4, 3], "top": False}},
    {"dates": ["month", "year", "10 years"]},
    {"dates": {"levels": ["year"], "format": "%m/%d/%y", "latest": 2025}},
    {"tree": {"*": {"manual": ["welder"], "office": ["clerk", "manager"]}}},
    {"levels": [["a", "x", "*"], ["b", "y", "*"]]},
    {"levels": {"source": [["a", "x"]], "top": "*"}},
    {"tree": {"nodes": {"all": ["a", "b"]}, "top": "*"}},
    {"intervals": {"widths": [5], "top": "any"}},
    {"top_bottom": {"bounds": [[10, 20]]}},
    {"top_bottom": [[0, 90], [18, 80]]},
    {"top_bottom": {"bounds": [[False, 90.5], [False, 80]], "top": False}},
    {"top_bottom": [[-5, False], [0, 70]]},
    {"intervals": {"widths": [5, 20], "origin": 3, "low": 18, "high": 90}},
    {"intervals": {"widths": [[18, 40, 65], [40]], "high": 100}},
    {"intervals": [0.5, 5.0]},
    {"suppress": "*"},
    {"keep": True},
    {"countries": True},
    {"icd10": ["block", "chapter"]},
    {"us_zip": {"levels": ["3 digits"], "small": ["036"], "top": False}},
]


def test_the_form_offers_the_whole_catalogue():
    from indistinct.hierarchy.catalogue import CATALOGUE
    from indistinct.studio.drafts import KINDS

    assert set(CATALOGUE) <= set(KINDS)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: str(spec)[:40])
def test_the_form_gives_back_the_hierarchy_that_filled_it(spec, tmp_path):
    from indistinct.hierarchy import from_spec

    given = HierarchyDraft.of(spec, ["a", "b", None]).spec()
    assert from_spec(given, tmp_path) == from_spec(spec, tmp_path)


def test_the_form_says_what_it_cannot_read():
    for draft in (
        HierarchyDraft("intervals", numbers="five"),
        HierarchyDraft("prefix", length="x"),
        HierarchyDraft("tree", tree="a\nb"),
        HierarchyDraft("tree", tree="*\n  a\n  a"),
        HierarchyDraft("levels", rows="  \n"),
        HierarchyDraft("intervals", high="90, 95"),
        HierarchyDraft("top_bottom"),
        HierarchyDraft("top_bottom", low="1", high="90, 80"),
        HierarchyDraft("top_bottom", high="old"),
    ):
        with pytest.raises(HierarchyError):
            draft.spec()


def test_labels_of_a_tree_are_moved_with_all_below_them():
    tree = "*\n  manual\n    welder\n  office\n    clerk"
    assert drafts.read_tree(drafts.move_label(tree, ["*", "manual"], ["*", "office"])) == {
        "*": {"office": {"clerk": [], "manual": ["welder"]}}
    }
    for path, goal in ((["*"], ["*", "office"]), (["*", "office"], ["*", "office"]), (["*", "x"], ["*"])):
        assert drafts.move_label(tree, path, goal) == tree
    grown = drafts.with_label(tree, ["*"], "service")
    assert drafts.paths(grown)[-1] == ("*", "service")
    assert drafts.without_label(tree, ["*", "manual"]) == "*\n  welder\n  office\n    clerk"


def test_a_job_tells_its_progress_and_stops_when_it_is_cancelled():
    reached, go_on = threading.Event(), threading.Event()

    def work(watch):
        watch.report("search", 3, 10)
        reached.set()
        go_on.wait(30)
        watch.report("search", 4, 10)

    job = Job("Searching", work).start()
    assert reached.wait(30)
    assert (job.progress, job.share) == ("Searching (3 of 10)", 0.3)
    job.cancel()
    go_on.set()
    job.wait(30)
    assert not job.is_running
    assert "cancelled" in job.error


def test_the_end_of_the_program_stops_what_still_runs():
    """A thread that is cut off would hold its tables, whose connections DuckDB then calls leaked."""
    reached = threading.Event()

    def work(watch):
        reached.set()
        while True:
            watch.report("search", 1, 2)

    job = Job("Searching", work).start()
    assert reached.wait(30)
    end_jobs()
    assert not job.is_running
    end_jobs()


def test_an_unexpected_error_of_a_job_quotes_no_cell():
    def work(watch):
        raise ValueError("Sue J. Carlson")

    job = Job("Searching", work).start().wait(30)
    assert "ValueError" in job.error
    assert "Sue" not in job.error


def test_one_job_runs_at_a_time(work):
    go_on = threading.Event()
    job = work.start("Waiting", lambda watch: go_on.wait(30))
    with pytest.raises(PolicyError, match="still running"):
        work.start("Another", lambda watch: None)
    go_on.set()
    job.wait(30)
    work.start("Another", lambda watch: None).wait(30)


def test_every_model_and_every_algorithm_has_words_for_people_who_choose():
    from indistinct.registry import ALGORITHMS, MODELS

    assert all(model.title and model.usual for model in MODELS.values())
    assert all(algorithm.title for algorithm in ALGORITHMS.values())


def contrast(one, other):
    """Return the contrast ratio of two colours by WCAG 2.1."""

    def luminance(colour):
        digits = colour.lstrip("#")
        digits = digits if len(digits) == 6 else "".join(digit * 2 for digit in digits)
        parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize(
    ("ink", "ground"),
    [
        ("ink", "ground"),
        ("ink", "soft"),
        ("quiet", "ground"),
        ("quiet", "#fff"),
        ("accent-dark", "soft"),
        ("#fff", "accent"),
        ("#fff", "good"),
        ("#6e2600", "bad-soft"),
        ("#004735", "good-soft"),
        ("note", "note-soft"),
    ],
)
def test_texts_have_the_contrast_that_wcag_asks(ink, ground):
    import re

    named = dict(re.findall(r"--([\w-]+): (#[0-9a-f]+)", CSS))
    assert contrast(named.get(ink, ink), named.get(ground, ground)) >= 4.5


@pytest.fixture
def visits(work, tmp_path):
    path = tmp_path / "visits.csv"
    lines = ["patient_id,ward", "ann,a", "ann,a", "ann,b", "bob,a", "bob,b", "cat,a", "dan,b", "eve,c"]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    work.open(path)
    work.set_role("patient_id", "identifier")
    work.set_role("ward", "quasi")
    work.models = [{"model": "k-anonymity", "k": 3}]
    work.max_suppression = 1
    work.choose_algorithm("lattice")
    return work


def test_whose_row_it_is_can_be_chosen_and_is_written_and_read(visits):
    assert visits.person == ["patient_id"]  # as its profile suggests
    visits.set_person("patient_id", True)
    assert visits.policy().person_columns == ("patient_id",)
    text = visits.policy_text()
    assert 'person = "patient_id"' in text
    visits.set_person("patient_id", False)
    assert visits.policy().person_columns == ()
    visits.take_policy(text)
    assert visits.person == ["patient_id"]
    assert visits.policy() == ix.parse_policy(text)
    visits.set_role("patient_id", "quasi")  # what is linked by says no longer whose row it is
    assert visits.person == []


def test_a_policy_file_may_say_whose_row_it_is_without_naming_the_column_otherwise(visits):
    visits.set_person("patient_id", False)
    text = visits.policy_text()
    start = text.index("patient_id = {")
    unnamed = text[:start] + text[text.index("\n", start) + 1 :]
    visits.take_policy(unnamed.replace("version = 1", 'version = 1\nperson = "patient_id"'))
    assert (visits.person, visits.columns["patient_id"].role) == (["patient_id"], "identifier")


def test_one_row_per_person_and_person_exclude_each_other(visits):
    visits.set_person("patient_id", True)
    visits.say_one_row_per_person(True)
    assert visits.person == []
    assert visits.policy().one_row_per_person
    again = visits.policy_text()
    visits.set_person("patient_id", True)
    assert not visits.policy().one_row_per_person
    visits.take_policy(again)
    assert visits.policy().one_row_per_person


def test_a_release_of_people_is_made_and_its_risk_says_what_was_counted(visits):
    visits.set_person("patient_id", True)
    visits.anonymize()
    assert visits.release.facts.people.released == 4
    visits.measure_risk()
    before, after = visits.risks
    assert (before.people, before.uniques) == (5, 1)
    assert after.people is None
    assert "rows were counted, not people" in after.notes[0]


def test_a_change_of_many_columns_is_made_in_each_and_refused_where_it_does_not_fit(hospital):
    names = ["Race", "BirthDate", "Problem"]
    assert column_grid.change_columns(hospital, names, column_grid.Change("quasi", "suppress", 2.5)) == []
    assert [hospital.columns[name].entry() for name in names] == [
        {"role": "quasi", "hierarchy": {"suppress": "*"}, "weight": 2.5}
    ] * 3
    before = dict(hospital.columns["ZIP"].hierarchy)
    refused = column_grid.change_columns(hospital, ["Race", "ZIP"], column_grid.Change(hierarchy="intervals", weight=4))
    assert [line.partition(" ")[0] for line in refused] == ["Race"]  # ZIP codes are numbers, races are not
    assert "black" not in refused[0]
    assert hospital.columns["Race"].hierarchy == {"suppress": "*"}
    assert (hospital.columns["Race"].weight, hospital.columns["ZIP"].weight) == (4, 4)
    assert (hospital.columns["Race"].role, hospital.columns["ZIP"].hierarchy != before) == ("quasi", True)


def test_columns_take_over_the_hierarchy_of_another(hospital):
    choices = column_grid.hierarchy_choices(hospital)
    assert "tree" not in choices
    assert choices["as column Gender"] == "as Gender has it"
    hospital.columns["Gender"].hierarchy = {"suppress": "?"}
    assert column_grid.change_columns(hospital, ["Race", "ZIP"], column_grid.Change(hierarchy="as column Gender")) == []
    assert hospital.columns["Race"].hierarchy == hospital.columns["ZIP"].hierarchy == {"suppress": "?"}


def test_distributions_count_every_row_before_and_after(hospital):
    hospital.set_role("Problem", "identifier")
    before = distributions(hospital, hospital.columns)
    assert set(before) == {"Race", "BirthDate", "Gender", "ZIP"}  # identifiers are not drawn
    assert before["Gender"].before["bars"] == [{"label": "male", "rows": 7}, {"label": "female", "rows": 5}]
    assert before["Gender"].after is None
    hospital.set_role("Problem", "sensitive")
    hospital.anonymize()
    after = distributions(hospital, hospital.columns)
    with hospital.release.parts["table"].encode(["ZIP"]) as encoded:
        released = encoded.count_by(["ZIP"]).counts.sum()
    assert all(sum(bar["rows"] for bar in one.after["bars"]) == released for one in after.values())
    assert [when for when, _ in after["ZIP"].small()] == ["before", "after"]
    assert len(after["ZIP"].large()) == 2
    assert all(xml.etree.ElementTree.fromstring(svg).tag.endswith("svg") for svg in after["ZIP"].large())
    hospital.open_example("samarati")
    assert "Gender" not in distributions(hospital, ["Gender"])  # nothing of the table before is left


@given(numbers=st.lists(st.integers(0, 10**6), max_size=30), words=st.text(max_size=20))
def test_small_bars_show_all_that_is_there_and_fit_their_picture(numbers, words):
    words = "".join(letter for letter in words if letter.isprintable())
    drawn = xml.etree.ElementTree.fromstring(small_bars(numbers, words))
    bars = [element for element in drawn.iter() if element.tag.endswith("rect")]
    assert len(bars) == sum(number > 0 for number in numbers)
    assert all(float(bar.get("x")) + float(bar.get("width")) <= 133 and float(bar.get("height")) >= 1 for bar in bars)
    assert drawn.get("aria-label") == words


@given(tops=st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_the_nodes_of_each_height_are_counted_without_listing_them(tops):
    listed = collections.Counter(map(sum, itertools.product(*(range(top + 1) for top in tops))))
    assert lattice_chart.nodes_by_height(tops) == tuple(listed[height] for height in range(sum(tops) + 1))


def test_the_outline_of_a_large_lattice_has_the_best_solutions_and_what_fails_below_them():
    heights = {"a": 30, "b": 40}
    solutions = [Solution({"a": at, "b": 40 - at}, heights, at, 5, {"precision": 1 / (at + 1)}) for at in range(31)]
    outline = lattice_chart.Outline.of(solutions)
    assert outline.solutions == tuple(solutions)
    assert sum(outline.combinations) == 31 * 41
    assert set(outline.below) == {(at, 39 - at) for at in range(31)}  # those of two solutions once
    many = [Solution({"a": 3, "b": at}, heights, 0, 5, {}) for at in range(41)] * 9
    assert len(lattice_chart.Outline.of(many).solutions) == 60


CODED = "id,age,ill\n" + "".join(f"p{n},{20 + n % 30 if n % 10 else 999},{('flu', 'gout')[n % 2]}\n" for n in range(60))


def coded_table(work, tmp_path):
    (tmp_path / "coded.csv").write_text(CODED)
    work.open(tmp_path / "coded.csv")
    for name, role in (("id", "identifier"), ("age", "quasi"), ("ill", "sensitive")):
        work.set_role(name, role)
    work.columns["age"].hierarchy = {"intervals": [10]}


def test_codes_that_mean_missing_are_missing_in_previews_and_distributions(work, tmp_path):
    coded_table(work, tmp_path)
    age = work.columns["age"]
    age.said = {}
    assert "999" in {row[0] for row in work.preview("age", age.hierarchy).rows}
    assert "999" in str(distributions(work, ["age"])["age"].before)
    age.said = {"role": "quasi", "missing": ["999"]}
    shown = work.preview("age", age.hierarchy)
    assert "999" not in {row[0] for row in shown.rows}
    assert (None, "missing") in {(row[0], reason) for row, reason in zip(shown.rows, shown.reasons, strict=True)}
    before = distributions(work, ["age"])["age"].before
    assert "999" not in str(before)
    assert [bar["rows"] for bar in before["bars"] if "missing" in bar["label"]] == [6]
    assert sum(bar["rows"] for bar in before["bars"]) == 60


def test_codes_that_the_profile_finds_are_declared(work, tmp_path):
    (tmp_path / "coded.csv").write_text(CODED)
    profile = ix.profile(tmp_path / "coded.csv")
    suggested = ix.suggested_policy(profile)
    work.open(tmp_path / "coded.csv")
    found = {name: column.missing_codes for name, column in work.policy().columns.items() if column.role == "quasi"}
    assert found == {name: suggested.columns[name].missing_codes for name in found}
    assert found["age"] == ("999",)


def test_a_column_has_a_new_name_in_the_release_and_is_found_there(hospital):
    hospital.columns["Problem"].rename = "Diagnosis"
    assert hospital.policy().columns["Problem"].rename == "Diagnosis"
    hospital.anonymize()
    ((columns, _),) = hospital.released_heads.values()
    assert columns[-1] == "Diagnosis"
    assert distributions(hospital, ["Problem"])["Problem"].after is not None
    hospital.attack()
    hospital.set_role("Problem", "drop")
    assert "rename" not in hospital.policy_text()


def test_rows_of_people_are_released_under_pseudonyms_if_that_is_chosen(work, tmp_path):
    coded_table(work, tmp_path)
    work.columns["age"].said = {"role": "quasi", "missing": ["999"]}
    work.set_person("id", True)
    assert not work.policy().links_rows
    work.links_rows = True
    assert work.policy().links_rows
    work.anonymize()
    ((columns, _),) = work.released_heads.values()
    assert columns == ("age", "ill", "pseudonym")
    text = work.policy_text()
    work.links_rows = False
    assert not work.policy().links_rows
    work.take_policy(text)
    assert work.links_rows


def test_a_release_that_attacks_break_leaves_only_by_a_decision(hospital, tmp_path):
    hospital.anonymize()
    assert not hospital.is_held_back  # nothing was tried
    hospital.attack()
    if not hospital.attacked.is_broken:
        outcome = SimpleNamespace(is_broken=True, severity="broken", summary="1 attack", outcomes=())
        hospital.attacked = outcome
    assert hospital.is_held_back
    for leave in (lambda: hospital.make("release.zip"), lambda: hospital.write(str(tmp_path / "out"))):
        with pytest.raises(ix.ExposedError):
            leave()
    assert not (tmp_path / "out").exists()
    hospital.accept()
    assert hospital.write(str(tmp_path / "out")).is_dir()
    hospital.anonymize()
    assert not hospital.is_accepted


def test_the_context_changes_no_cell_and_is_in_policy_risk_and_documents(hospital):
    hospital.anonymize()
    choose_sharing(hospital.more, "controlled")
    for threat, value in (("deliberate", 0.5), ("inadvertent", 0.25), ("breach", 0.1)):
        choose_way(hospital.more, threat, "value")
        assert hospital.mistakes()
        say(hospital.more, ("context", threat, "value"), value)
        say(hospital.more, ("context", threat, "why"), "said")
    say(hospital.more, ("context", "threshold"), 0.01)
    say(hospital.more, ("context", "why"), "strict")
    say_recipient(hospital.more, "university", {})
    assert (hospital.mistakes(), hospital.is_current) == ((), True)
    policy = ix.parse_policy(hospital.released_policy_text)
    assert (policy.context.likelihood, list(policy.recipients)) == (0.5, ["university"])
    risk = hospital.overall_risk()
    assert risk.value == pytest.approx(0.5 * risk.data.average)
    hospital.make("dossier.zip")
    with zipfile.ZipFile(hospital.made_file("dossier.zip")) as files:
        facts = json.loads(files.read("dossier.json"))
        assert "gdpr-university.md" in files.namelist()
    assert facts["facts"]["risk.overall"]["numbers"]["r"] == pytest.approx(risk.value)
    assert facts["is_above"] is True
    say(hospital.more, ("context", "enforce"), True)
    assert not hospital.is_current
    with pytest.raises(VerificationError):
        hospital.anonymize()
    choose_sharing(hospital.more, "public")
    assert hospital.more["context"] == {"sharing": "public", "threshold": 0.01, "why": "strict", "enforce": True}
