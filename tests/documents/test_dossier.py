"""The documents that people sign: every heading is filled or a marked blank, and figures are those counted here."""

from __future__ import annotations

import json
import re
from collections import Counter

import jsonschema
import pyarrow as pa
import pyarrow.csv
import pytest

import indistinct as ix
from helpers.commands import run

HEADINGS = {
    "gdpr": [
        "actor",
        "holds",
        "means and cost",
        "measures",
        "recipient, by attacks",
        "holder of the original",
        "review",
    ],
    "wp216-ico": [
        "singling out",
        "linkability",
        "inference",
        "membership",
        "motivated intruder",
        "spectrum",
        "decision",
        "review",
    ],
    "quebec": [
        "purposes",
        "supervis",
        "direct identifiers removed",
        "preliminary analysis",
        "techniques and safeguards",
        "final analysis",
        "very low",
        "update",
        "register",
    ],
    "hipaa": ["data scope", "expert", "reproducible", "maximum and average", "threshold", "expiry", "signature"],
    "ema-health-canada": [
        "methodology",
        "direct identifiers",
        "indirect identifiers",
        "adversaries",
        "risk before",
        "threshold",
        "residual",
        "utility",
    ],
    "ehds-ihe": [
        "version",
        "data dictionary",
        "sharing model",
        "thresholds",
        "transformations",
        "residual risk",
        "approvals",
        "agreement",
        "inside",
    ],
    "iso-27559": ["6 context", "7 data", "8.2.2", "8.2.3", "mitigation", "8.3.4", "9 governance"],
    "nist-188-226": ["review board", "level", "re-identification study", "differential privacy"],
    "statistics-office": [
        "scenarios",
        "key variables",
        "household",
        "methods in order",
        "global risk",
        "above the threshold",
        "special uniques",
        "utility",
        "public or scientific",
    ],
}
"""What each regime asks for, in the words of its text."""
POLICY = """
version = 1
[about]
data = "visits <b>of 2025</b>"
[context]
sharing = "agreement"
deliberate = { value = 0.5, why = "agreed" }
inadvertent = { value = 0.1, why = "few" }
breach = { value = 0.2, why = "seldom" }
threshold = 0.2
why = "usual"
[recipients.university]
who = "University"
[recipients.ministry]
who = "Ministry"
context = { sharing = "public" }
[columns]
name = { role = "identifier" }
age = { role = "quasi", hierarchy = { intervals = [10, 100] } }
zip = { role = "quasi", hierarchy = { prefix = 2 } }
ill = { role = "sensitive" }
[[privacy]]
model = "k-anonymity"
k = 4
"""


def table():
    """Forty rows of people in few groups."""
    rows = range(40)
    columns = {"age": [20 + row % 9 for row in rows], "zip": [f"{row % 3}{row % 2}" for row in rows]}
    return pa.table({"name": [f"n{row}" for row in rows], **columns, "ill": ["abc"[row % 3] for row in rows]})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release with its dossier, and the folder that holds both."""
    place = tmp_path_factory.mktemp("dossier")
    pyarrow.csv.write_csv(table(), place / "people.csv")
    (place / "policy.toml").write_text(POLICY)
    with ix.anonymize(place / "people.csv", place / "policy.toml") as release:
        release.write(place / "release")
    found = ix.dossier(place / "release", place / "policy.toml", original=place / "people.csv")
    return place, found


def test_every_heading_of_every_regime_is_filled_or_a_marked_blank(made):
    _, found = made
    assert {paper.regime for paper in found.papers} == set(HEADINGS)
    for paper in found.papers:
        titles = [section.title.lower() for section in paper.sections]
        assert [asked for asked in HEADINGS[paper.regime] if not any(asked in title for title in titles)] == []
        for section in paper.sections:
            assert section.facts or section.blanks
            assert all(not found.facts[name].is_empty for name in section.facts)
    numbers = [blank.number for blank in found.blanks]
    assert numbers == list(range(1, len(numbers) + 1))
    assert {number for paper in found.papers for one in paper.sections for number in one.blanks} == set(numbers)


def test_each_recipient_has_a_statement_in_its_own_context(made):
    _, found = made
    assert {paper.name for paper in found.papers if paper.regime == "gdpr"} == {"gdpr-university", "gdpr-ministry"}
    with pyarrow.csv.open_csv(made[0] / "release" / "table.csv") as read:
        released = read.read_all()
    sizes = Counter(zip(*(released[name].to_pylist() for name in ("age", "zip")), strict=True))
    average, highest = len(sizes) / released.num_rows, 1 / min(sizes.values())
    assert found.facts["risk.overall"].numbers["r"] == pytest.approx(average * 0.5)
    assert found.facts["risk.overall@ministry"].numbers["r"] == pytest.approx(highest)
    assert found.facts["risk.after"].numbers["quasi-identifier"]["highest"] == pytest.approx(highest)
    before = Counter(zip(*(table()[name].to_pylist() for name in ("age", "zip")), strict=True))
    assert found.facts["risk.before"].numbers["quasi-identifier"]["average"] == pytest.approx(len(before) / 40)


def test_a_recipient_with_terms_of_its_own_is_told_so_and_counts_for_the_exit_code(made):
    place, _ = made
    for terms, is_other in (("k = 9", True), ('columns = ["age", "ill"]', True), ("", False)):
        own = POLICY.replace('who = "Ministry"', f'who = "Ministry"\n{terms}').replace("= 0.2\n", "= 0.15\n")
        found = ix.dossier(place / "release", ix.parse_policy(own), only=("gdpr", "hipaa"))
        paper = next(one for one in found.papers if one.recipient == "ministry")
        assert sum("--recipient ministry" in line for line in paper.decision) == is_other
        assert ("--recipient ministry" in found.facts["risk.overall@ministry"].command) != is_other
        assert not any("university" in line for line in paper.decision)
    assert found.facts["risk.overall"].numbers["is_above"] is False
    assert found.facts["risk.overall@ministry"].numbers["is_above"] is found.is_above is True


def test_where_people_repeat_figures_say_whether_they_count_rows_or_people(tmp_path):
    rows = [(f"p{n % 20}", 20 + n % 4, "ab"[n % 3 % 2]) for n in range(60)]
    columns = dict(zip(("name", "age", "ill"), map(list, zip(*rows, strict=True)), strict=True))
    said = ix.Likelihood(0.5, why="said")
    policy = ix.Policy(
        {"name": ix.identifier(), "age": ix.quasi(ix.intervals(10)), "ill": ix.sensitive()},
        [ix.KAnonymity(4)],
        person="name",
        context=ix.Context("controlled", said, said, said, 0.3, why="said"),
    )
    with ix.anonymize(pa.table(columns), policy) as release:
        found = ix.dossier(release, policy, original=pa.table(columns), population=2000, only=("statistics-office",))
    people = {age: {name for name, own, _ in rows if own == age} for age in range(20, 24)}
    before = dict(found.facts["risk.before"].table.rows)
    assert before["people in the smallest group"] == str(min(map(len, people.values())))
    assert before["rows above the threshold"] == "0"
    assert "0.3000 divided by R_context = 0.5000" in found.facts["risk.before"].said[0]
    after = found.facts["risk.after"]
    numbers = after.model_dump()["numbers"]["quasi-identifier"]
    assert 0 < numbers["journalist"] < numbers["highest"]
    assert "--population 2000" in after.command
    alone = [row for row in found.facts["special_uniques"].table.rows if row[0] == "private table"]
    assert alone == [("private table", "no 3 columns or fewer", "for 95\N{NO-BREAK SPACE}% of the people")]


def test_what_was_measured_carries_its_command(made):
    _, found = made
    measured = [fact for fact in found.facts.values() if fact.numbers and "context" not in fact.title.lower()]
    said = ("Threshold", "Probability of an attempt")
    assert [fact.title for fact in measured if not fact.command and fact.title not in said] == []
    assert all(fact.command.startswith("indistinct ") for fact in found.facts.values() if fact.command)


def test_the_folder_is_whole_private_and_its_facts_fit_their_schema(made, tmp_path):
    _, found = made
    goal = found.write(tmp_path / "dossier")
    names = {file.name for file in goal.iterdir()}
    assert names == {"index.html", "dossier.json", "dossier.schema.json"} | {
        f"{paper.name}.{kind}" for paper in found.papers for kind in ("html", "md")
    }
    assert all(file.stat().st_mode & 0o077 == 0 for file in goal.iterdir())
    facts = json.loads((goal / "dossier.json").read_text())
    jsonschema.validate(facts, json.loads((goal / "dossier.schema.json").read_text()))
    assert ix.Dossier.model_validate({name: said for name, said in facts.items() if name != "$schema"}) == found
    with pytest.raises(ix.OutputError):
        found.write(goal)
    found.write(goal, replace=True)
    with pytest.raises(ix.OutputError):
        found.write(tmp_path, replace=True)


def test_pages_escape_what_people_said_and_promise_nothing(made, tmp_path):
    _, found = made
    goal = found.write(tmp_path / "dossier")
    for file in goal.iterdir():
        text = file.read_text()
        assert not re.search(r"\b(anonymous|compliant|compliance|guarantees? that)\b", text, re.IGNORECASE)
        if file.suffix == ".html":
            assert "<script" not in text
            assert "<b>of 2025</b>" not in text
    first = (goal / "index.html").read_text()
    assert all(f'<li value="{blank.number}">' in first for blank in found.blanks)


def test_without_the_original_what_takes_it_is_a_blank(made):
    place, _ = made
    found = ix.dossier(place / "release", place / "policy.toml", only=("wp216-ico", "ema-health-canada"))
    assert {"--original TABLE"} <= {blank.place for blank in found.blanks}
    assert "risk.before" not in {n for p in found.papers for s in p.sections for n in s.facts}
    assert {paper.name for paper in found.papers} == {"wp216-ico", "ema-health-canada"}


@pytest.mark.slow
def test_the_command_says_by_its_exit_code_what_is_not_to_leave(made, tmp_path):
    place, _ = made
    policy, release, people = (str(place / name) for name in ("policy.toml", "release", "people.csv"))
    (tmp_path / "tight.toml").write_text(POLICY.replace("threshold = 0.2", "threshold = 0.001"))
    out = str(tmp_path / "out")
    assert run("dossier", str(tmp_path / "tight.toml"), release, "-o", out, "--only", "hipaa").exit_code == 4
    assert (tmp_path / "out" / "hipaa.html").exists()
    assert run("dossier", policy, release, "-o", out).exit_code == 2
    assert run("dossier", policy, release, "-o", str(tmp_path / "x"), "--only", "mine").exit_code == 2
    assert run("dossier", policy, release, "-o", str(tmp_path / "y"), "--original", people, "--json").exit_code in (
        0,
        6,
    )
