"""The report: its facts are those of a plain recount, its page needs nothing and runs nothing, and it keeps secrets."""

from __future__ import annotations

import json
import random
import re
import stat
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers.profiles import cases, examples
from indistinct.cli import app
from indistinct.examples import save_examples
from indistinct.registry import MEASURES, MODELS
from indistinct.report import figures, render, report_facts, write_page
from indistinct.report.sections.column_section import MOST_BARS, bars

VOID = {"meta", "br", "hr", "img", "input", "link", "area", "base", "col", "embed", "source", "track", "wbr"}
LOADING = {"script", "link", "img", "iframe", "object", "embed", "audio", "video", "base", "form", "image", "use"}


class Page(HTMLParser):
    """What a browser would make of a page: tags, attributes, texts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.styles: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.styles if self.open[-1:] == ["style"] else self.texts).append(data)

    @property
    def text(self) -> str:
        """All that can be read, attributes included."""
        return " ".join([*self.texts, *(str(v) for _, attrs in self.tags for v in attrs.values())])


def check_page(html: str) -> Page:
    """Check that a page loads nothing, runs nothing, and can be read by everybody."""
    page = Page(html)
    assert not {tag for tag, _ in page.tags} & LOADING
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for tag, attrs in page.tags:
        for name, value in attrs.items():
            assert not name.startswith("on"), f"{tag} runs {name}"
            assert "url(" not in (value or "")
            if name.split(":")[-1] in ("src", "href", "srcset", "action", "data", "poster", "background"):
                assert (value or "").startswith("#"), f"{tag} asks for {value}"
                assert (value or "")[1:] in ids
            if name in ("aria-labelledby", "aria-describedby"):
                assert value in ids
        if tag == "th":
            assert attrs.get("scope") in ("row", "col")
    assert not re.search(r"url\(|@import|expression\(", "".join(page.styles))
    assert ("html", {"lang": "en"}) in page.tags
    assert sum(tag == "h1" for tag, _ in page.tags) == 1
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    pictures = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert all(attrs.get("role") == "img" for attrs in pictures)
    assert sum(tag == "title" for tag, _ in page.tags) == 1 + len(pictures)
    assert sum(tag == "desc" for tag, _ in page.tags) == len(pictures)
    return page


# Tables of every form.

NAMES = [f"name-{n}-zyx" for n in range(12)]
PEOPLE = pa.table(
    {
        "name": NAMES,
        "zip": [
            "02138",
            "02139",
            "02138",
            "02141",
            "02142",
            "02141",
            "02138",
            None,
            "02139",
            "02142",
            "94110",
            "02138",
        ],
        "age": ["31", "34", "38", "52", "57", "51", "33", "36", "39", "58", "83", "37"],
        "sex": ["f", "m", "f", "f", "m", "m", "f", "f", "m", "f", "m", "m"],
        "illness": ["flu", "flu", "gout", "flu", "HIV", "gout", "flu", "HIV", "gout", "flu", "rabies", "gout"],
    }
)


def policy(*models: Any, **options: Any) -> ix.Policy:
    return ix.Policy(
        columns={
            "name": ix.identifier(),
            "zip": ix.quasi(ix.prefix(5)),
            "age": ix.quasi(ix.intervals(10, 20)),
            "sex": ix.quasi(ix.suppress()),
            "illness": ix.sensitive(),
        },
        privacy=models or [ix.KAnonymity(2)],
        **({"max_suppression": 3} | options),
    )


FORMS = {
    "full-domain": (policy(), None),
    "l-diversity": (policy(ix.KAnonymity(2), ix.LDiversity(2)), None),
    "local": (policy(max_suppression=None), ix.Regroup()),
    "ranges": (policy(max_suppression=None), ix.Mondrian(labels="ranges")),
    "two tables": (policy(ix.AlphaK(alpha=0.5, k=2)), ix.LossyJoin()),
    "several quasi-identifiers": (policy(quasi_identifiers={"a": ["zip", "sex"], "b": ["age"]}), None),
    "blank": (policy(suppressed_rows="blank", max_suppression=4), ix.Datafly()),
    "k-map": (policy(ix.KMap(2, population=PEOPLE)), None),
    "several rows a person": (policy(person="name"), None),
    "several rows a person, cell by cell": (policy(person="name", max_suppression=None), ix.Mondrian()),
    "filtered": (policy(eligible=[ix.where("illness", "!=", "rabies")]), None),
}
SELDOM_ALIKE = ("ranges", "two tables", "several quasi-identifiers", "several rows a person")
"""Forms whose reports have the least in common."""


@pytest.mark.slow
@pytest.mark.parametrize("form", cases(FORMS, *SELDOM_ALIKE))
def test_every_form_has_both_editions_from_memory_and_from_a_folder(form: str, tmp_path: Path) -> None:
    asked, algorithm = FORMS[form]
    with ix.anonymize(PEOPLE, asked, algorithm=algorithm) as release:
        folder = release.write(tmp_path / "release")
        for edition in ("internal", "public"):
            facts = report_facts(folder, asked, edition=edition, original=PEOPLE)
            page = check_page(render(facts))
            assert facts["verdict"]["passed"]
            assert facts["conclusion"]["words"] in page.text
            assert not [name for name in NAMES if name in page.text or name in json.dumps(facts)]
            in_memory = report_facts(release, asked, edition=edition, original=PEOPLE)
            assert {**facts, **UNLIKE} == {**in_memory, **UNLIKE}


@pytest.mark.slow
def test_a_release_in_memory_knows_the_private_counts_and_a_folder_does_not(tmp_path: Path) -> None:
    with ix.anonymize(PEOPLE, policy()) as release:
        folder = release.write(tmp_path / "release")
        assert report_facts(release, policy())["risk"][0]["before"] is not None
    assert report_facts(folder, policy())["risk"][0]["before"] is None


UNLIKE = dict.fromkeys(("reported_at", "reproduce", "verdict"))
"""What a folder says of itself and a release in memory does not: digests, times, and that its files are whole."""


# Facts.


def generalized(asked: ix.Policy, node: dict[str, int]) -> list[tuple[str | None, ...]]:
    return [
        tuple(asked.columns[name].hierarchy.label(row[name], level) for name, level in node.items())
        for row in PEOPLE.to_pylist()
    ]


def must_go(asked: ix.Policy, node: dict[str, int]) -> int:
    """Count the rows of groups below k at a node, one by one."""
    sizes = Counter(generalized(asked, node))
    return sum(size for size in sizes.values() if size < 2)


@pytest.mark.slow
def test_the_facts_are_those_of_a_plain_count() -> None:
    asked = policy()
    with ix.anonymize(PEOPLE, asked) as release:
        facts = report_facts(release, asked, original=PEOPLE)
        released = release.table.to_pylist()
    node = dict(release.node or {})
    assert release.suppressed  # else there is nothing to explain
    (risk,) = facts["risk"]
    for rows, found in ((PEOPLE.to_pylist(), risk["before"]), (released, risk["after"])):
        sizes = Counter(tuple(row[name] for name in asked.quasi) for row in rows)
        assert found["highest"] == max(1 / size for size in sizes.values())
        assert found["average"] == pytest.approx(len(sizes) / len(rows))
        assert found["at_risk"] == sum(size for size in sizes.values() if 1 / size > 0.2)
        assert found["alone"] == sum(size == 1 for size in sizes.values())
        assert sum(found["sizes"].values()) == found["rows"] == len(rows)
    for column in facts["columns"]:
        name = column["name"]
        counts = Counter(row[name] for row in released)
        shown = {bar["label"]: bar for bar in column["after"]["bars"]}
        assert {label: bar["rows"] for label, bar in shown.items() if bar["rows"]} == {
            "(missing)" if label is None else label: number for label, number in counts.items()
        }
        if column["role"] == "quasi":
            eligible = Counter(labels[asked.quasi.index(name)] for labels in generalized(asked, node))
        else:
            eligible = Counter(PEOPLE[name].to_pylist())
        assert {label: bar["before"] for label, bar in shown.items()} == {
            "(missing)" if label is None else label: number for label, number in eligible.items()
        }
    why = facts["suppression"]
    assert why["rows"] == why["required"] == must_go(asked, node) == release.suppressed
    for column in why["columns"]:
        name, level = column["name"], node[column["name"]]
        lower, higher = column["one_lower"], column["one_higher"]
        assert lower == (must_go(asked, node | {name: level - 1}) if level else None)
        assert higher == (must_go(asked, node | {name: level + 1}) if level < column["height"] else None)
        assert column["not_there"] == must_go(asked, {n: v for n, v in node.items() if n != name})
    saved = {column["name"]: why["required"] - column["not_there"] for column in why["columns"]}
    assert {one["name"]: one["rows"] for one in why["forced_by"]} == {n: rows for n, rows in saved.items() if rows > 0}
    labels = generalized(asked, node)
    sizes = Counter(labels)
    for hit in why["labels"]:
        place = asked.quasi.index(hit["column"])
        mine = [row for row in labels if (row[place] or "(missing)") == hit["label"]]
        assert (hit["rows"], hit["suppressed"]) == (len(mine), sum(sizes[row] < 2 for row in mine))


def test_the_chosen_point_of_an_exact_search_is_on_the_trade_off() -> None:
    asked = policy()
    with ix.anonymize(PEOPLE, asked) as release:
        facts = report_facts(release, asked)["tradeoff"]
    chosen = facts["chosen"]
    assert chosen["value"] == release.measures["precision"]
    own = next(line for line in facts["lines"] if line["limit"] == 3)
    assert dict(map(tuple, own["points"]))[2] == pytest.approx(chosen["value"])
    assert max(p["value"] for p in facts["curve"] if p["suppressed"] <= 3) == pytest.approx(chosen["value"])
    assert "this release" in figures.cost_by_k(facts)


@pytest.mark.slow
def test_what_cannot_be_drawn_is_said() -> None:
    for form, word in (("l-diversity", "more than that"), ("two tables", "generalizes nothing")):
        asked, algorithm = FORMS[form]
        with ix.anonymize(PEOPLE, asked, algorithm=algorithm) as release:
            assert word in report_facts(release, asked)["tradeoff"]["left_out"]


def test_groups_with_one_sensitive_value_are_reported() -> None:
    table = pa.table({"sex": ["f", "f", "m", "m", "m"], "illness": ["flu", "flu", "cold", "gout", "gout"]})
    asked = ix.Policy(columns={"sex": ix.quasi(), "illness": ix.sensitive()}, privacy=[ix.KAnonymity(2)])
    with ix.anonymize(table, asked) as release:
        (found,) = (one for one in report_facts(release, asked)["attacks"] if one["attack"] == "homogeneity")
    assert found["severity"] == "broken"
    assert "2 rows" in found["summary"]


@pytest.mark.slow
def test_the_population_and_earlier_releases_are_used_if_they_are_given(tmp_path: Path) -> None:
    asked = policy()
    with ix.anonymize(PEOPLE, asked) as release, ix.anonymize(PEOPLE, asked, algorithm="regroup") as earlier:
        facts = report_facts(release, asked, original=PEOPLE, population=1200, earlier=[earlier.table])
    (risk,) = facts["risk"]
    assert 0 < risk["after"]["journalist"] < risk["before"]["journalist"] < 1
    assert risk["identifying"][0]["columns"] == ["age"]  # no two people have the same age
    assert "complementary" in [one["attack"] for one in facts["attacks"] if one["severity"] != "not tried"]
    assert "journalist risk, highest" in check_page(render(facts)).text


@pytest.mark.slow
def test_the_internal_edition_lists_what_a_ledger_remembers(tmp_path: Path) -> None:
    asked = policy()
    with ix.Ledger.create(tmp_path / "ledger.db") as ledger:
        for recipient in ("Uni<b>versity", "City"):
            with ledger.anonymize(PEOPLE, asked, recipient=recipient, purpose="study", again="consistent") as release:
                facts = report_facts(release, asked, ledger=ledger)
                public = report_facts(release, asked, edition="public", ledger=ledger)
    assert public["ledger"] is None
    assert facts["ledger"]["entry"]["recipient"] == "City"
    assert facts["ledger"]["checked_against"] == [1]
    assert [entry["recipient"] for entry in facts["ledger"]["earlier"]] == ["Uni<b>versity"]
    assert "Uni<b>versity" in check_page(render(facts)).text
    with ix.anonymize(PEOPLE, asked) as release:
        facts = report_facts(release, asked, ledger=tmp_path / "ledger.db")
    assert facts["ledger"]["entry"] is None
    assert len(facts["ledger"]["earlier"]) == 2
    assert "is not in the ledger" in check_page(render(facts)).text


@given(st.dictionaries(st.text("ab1 ", max_size=3) | st.none(), st.integers(1, 9), max_size=40), st.booleans())
@examples(50)
def test_bars_lose_no_row(counts: dict[str | None, int], is_ordered: bool) -> None:
    order = {label: len(label or "") for label in counts} if is_ordered else None
    found = bars(counts, counts, order)
    assert sum(bar["rows"] for bar in found["bars"]) == sum(counts.values()) == found["rows"]
    assert sum(bar["before"] for bar in found["bars"]) == found["rows"]
    assert len(found["bars"]) <= MOST_BARS
    assert found["distinct"] == len(counts.keys() - {None})


# Secrets.

ROWS = st.lists(st.tuples(*[st.integers(0, 6)] * 3), min_size=4, max_size=20)


def canary_table(rows: list[tuple[int, int, int]]) -> tuple[pa.Table, ix.Policy]:
    """Make a table each of whose private values is a word that nothing else says, and a policy that lists them all."""
    values = [f"secretvalue{n}" for n in range(7)]
    job = {"*": {"lowlabel": values[:4], "highlabel": values[4:]}}
    table = pa.table(
        {
            "name": [f"secretname{n}x" for n in range(len(rows))],
            "job": [values[job] for job, _, _ in rows],
            "zip": [f"zq{zip_code}{zip_code}ws" for _, zip_code, _ in rows],
            "illness": [f"secretillness{illness}" for _, _, illness in rows],
        }
    )
    columns = {
        "name": ix.identifier(),
        "job": ix.quasi(ix.tree(job)),
        "zip": ix.quasi(ix.prefix(6)),
        "illness": ix.sensitive(),
    }
    models = [ix.AlphaK(alpha={"secretillness0": 0.9, "secretlimit": 0.8}, k=2)]
    eligible = [ix.where("illness", "!=", "secretillness6")]
    return table, ix.Policy(columns=columns, privacy=models, max_suppression=0.5, eligible=eligible)


@pytest.mark.slow
@given(ROWS, st.sampled_from(["lattice", "regroup", "datafly", "lossy-join"]))
@examples(8)
def test_the_public_edition_has_no_private_cell_that_is_not_in_the_release(
    rows: list[tuple[int, int, int]], algorithm: str
) -> None:
    table, asked = canary_table(rows)
    try:
        release = ix.anonymize(table, asked, algorithm=algorithm)
    except ix.InfeasibleError:
        return
    with release:
        facts = report_facts(release, asked, edition="public", original=table, external=table.select(["job"]))
        internal = render(report_facts(release, asked, original=table))
        tables = release.tables.values()
        released = {cell for table in tables for column in table.columns for cell in column.to_pylist()}
    said = check_page(render(facts)).text + json.dumps(facts)
    private = {cell for column in table.columns for cell in column.to_pylist()} | {"secretillness6", "secretlimit"}
    private |= {f"secretvalue{n}" for n in range(7)}
    assert not [cell for cell in private - released if cell in said]
    assert not [name for name in table["name"].to_pylist() if name in check_page(internal).text]


@pytest.mark.slow
def test_the_public_edition_is_the_same_whatever_the_private_table(tmp_path: Path) -> None:
    asked = policy()
    with ix.anonymize(PEOPLE, asked) as release:
        folder = release.write(tmp_path / "release")
    pages = [
        render({**report_facts(folder, asked, edition="public", original=table), "reported_at": ""})
        for table in (None, PEOPLE, PEOPLE.slice(0, 3))
    ]
    assert len(set(pages)) == 1


@pytest.mark.slow
def test_the_internal_edition_is_confidential_and_the_public_one_is_not(tmp_path: Path) -> None:
    asked = policy()
    with ix.anonymize(PEOPLE, asked) as release:
        for edition, mode in (("internal", 0o600), ("public", 0o644)):
            path = release.report(tmp_path / f"{edition}.html", edition=edition)
            assert stat.S_IMODE(path.stat().st_mode) == mode
            assert ("Confidential" in path.read_text("utf-8")) == (edition == "internal")


# Hostile texts.

EVIL = "<script>alert(1)</script>\"'&<b onload=x>"


@pytest.mark.slow
def test_cells_and_names_are_escaped_everywhere() -> None:
    table = pa.table({f"q{EVIL}": [EVIL] * 3 + ["<i>"] * 2, f"s{EVIL}": [EVIL, "a", "b", "c", "d"]})
    hierarchy = ix.tree({EVIL + "*": {"<u>": [EVIL], "<p>": ["<i>"]}})
    asked = ix.Policy(columns={f"q{EVIL}": ix.quasi(hierarchy), f"s{EVIL}": ix.sensitive()}, privacy=[ix.KAnonymity(2)])
    with ix.anonymize(table, asked) as release:
        page = check_page(render(report_facts(release, asked, original=table), title=EVIL))
        frontier = ix.frontier(table, asked)
        shown = [release, frontier, hierarchy, release.verify(original=table)]
    assert EVIL in page.text
    for one in shown:
        parsed = Page(one._repr_html_())  # type: ignore[attr-defined]
        assert not {tag for tag, _ in parsed.tags} & (LOADING | {"b", "i", "u", "p"})
    assert EVIL in Page(hierarchy._repr_html_()).text
    assert f"q{EVIL}" in Page(release._repr_html_()).text


@pytest.mark.slow
def test_notebooks_show_what_matters() -> None:
    asked, algorithm = FORMS["two tables"]
    with ix.anonymize(PEOPLE, asked, algorithm=algorithm) as release:
        assert "classes" in release._repr_html_()
        assert "✓ passed" in release.verdict._repr_html_()
        release.verdict = None
        assert "not verified yet" in release._repr_html_()
    asked, algorithm = FORMS["local"]
    with ix.anonymize(PEOPLE, asked, algorithm=algorithm) as release:
        assert "level on average" in release._repr_html_()
    failed = ix.verify(PEOPLE.drop_columns(["name"]), asked)
    assert "✗ FAILED" in failed._repr_html_()
    assert "5 wide" in ix.intervals(5)._repr_html_()
    assert "… 5 more" in ix.levels([[f"v{n}", "*"] for n in range(15)])._repr_html_()
    frontier = ix.frontier(PEOPLE, policy())
    assert f"{frontier.best(2).value:.4f}" in frontier._repr_html_()


# Files and the command.


def test_a_report_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(ix.OutputError, match="No space left"):
        write_page(tmp_path / "report.html", "text")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"), [("report.pdf", "end its name in .html"), ("no/report.html", "no folder")]
)
def test_a_place_that_takes_no_report_is_refused_first(name: str, message: str, tmp_path: Path) -> None:
    with ix.anonymize(PEOPLE, policy()) as release, pytest.raises(ix.OutputError, match=message):
        release.report(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_wrong_editions_and_tables_are_refused(tmp_path: Path) -> None:
    with ix.anonymize(PEOPLE, policy()) as release:
        with pytest.raises(ix.PolicyError, match="edition"):
            release.report(tmp_path / "report.html", edition="secret")
        with pytest.raises(ix.TableError, match="a report is made of"):
            report_facts(release.table, policy())


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    save_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(app, ["anonymize", "hospital.toml", "hospital.csv", "-o", "release"])
    assert ran.exit_code == 0, ran.output
    return tmp_path


def command(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["report", "hospital.toml", "release", *arguments])


@pytest.mark.slow
def test_the_command_writes_both_editions(saved: Path) -> None:
    ran = command("--original", "hospital.csv", "--external", "hospital-voters.csv", "-o", "report.html")
    assert ran.exit_code == 6, ran.output  # in a table of twelve rows half have a Problem of their own
    page = check_page((saved / "report.html").read_text("utf-8"))
    assert "9/20/1965" in page.text
    assert "linked to one row" in page.text
    ran = command("-o", "report.html")
    assert ran.exit_code == 2
    ran = command("--edition", "public", "-o", "report.html", "--replace", "--title", "For you", "--json")
    assert ran.exit_code == 6, ran.output
    assert json.loads(ran.stdout)["written"] == "report.html"
    page = check_page((saved / "report.html").read_text("utf-8"))
    assert "For you" in page.texts
    assert "9/20/1965" not in page.text


@pytest.mark.slow
def test_the_command_says_what_is_wrong(saved: Path) -> None:
    assert command().exit_code == 2
    assert command("--json", "--edition", "both").exit_code == 2
    assert json.loads(command("--json").stdout)["release"]["smallest_group"] == 2


@pytest.mark.slow
def test_a_release_that_was_changed_fails_in_its_report(saved: Path) -> None:
    path = saved / "release" / "table.csv"
    path.write_text("\n".join(path.read_text("utf-8").splitlines()[:-1]) + "\n", "utf-8")
    ran = command("-o", "report.html")
    assert ran.exit_code == 4
    assert "Do not hand this release out" in check_page((saved / "report.html").read_text("utf-8")).text


@pytest.mark.slow
def test_a_release_without_its_columns_is_refused(saved: Path) -> None:
    path = saved / "release" / "table.csv"
    path.write_text(path.read_text("utf-8").replace("ZIP", "Zone", 1), "utf-8")
    ran = command("--json")
    assert ran.exit_code == 4
    assert "'ZIP' is missing" in json.loads(ran.stdout)["error"]["message"]


def test_every_model_and_every_measure_has_words() -> None:
    assert all(model.title and model.sentence.endswith(".") for model in MODELS.values())
    assert all(measure.title for measure in MEASURES.values())


def test_models_say_people_where_people_are_counted() -> None:
    for name, model in MODELS.items():
        made = model(**model.usual, **({"population": PEOPLE} if model.asks_population else {}))
        assert "people" in made.in_words("people"), name
        assert not re.search(r"\brows\b", made.in_words("people")), name
        assert "counted in" not in made.in_words(), name


VISITS = pa.table(
    {
        "patient": ["ann", "ann", "ann", "bob", "bob", "cat", "dan", "eve"],
        "ward": ["a", "a", "b", "a", "b", "a", "b", "c"],
    }
)


def chance_by_series(size: int, weight: float) -> float:
    """The mean of 1 / F, where F people of the population are negative binomial given that ``size`` were drawn."""
    share, total, chance = size / weight, 0.0, (size / weight) ** size
    for people in range(size, 5000):
        total += chance / people
        chance *= people / (people + 1 - size) * (1 - share)
    return total


@pytest.mark.parametrize("seed", range(20))
def test_labels_are_spread_over_the_values_that_they_cover(seed: int) -> None:
    from indistinct.report.sections.column_section import spread_labels

    draw = random.Random(seed)
    values = [str(number) for number in sorted(draw.sample(range(40), 9))]
    labels = {f"{10 * ten}-{10 * ten + 9}": draw.randint(0, 9) for ten in range(4)}
    labels |= {value: draw.randint(0, 5) for value in draw.sample(values, 4)}
    under = {
        label: [v for v in values if v == label or ("-" in label and int(label.split("-")[0]) // 10 == int(v) // 10)]
        for label in labels
    }
    found = spread_labels(labels, ix.intervals(10), values)
    if not all(under.values()):
        assert found is None
        return
    wanted = {v: sum(rows / len(under[one]) for one, rows in labels.items() if v in under[one]) for v in values}
    assert found == pytest.approx(wanted)


def test_both_editions_speak_of_people_where_those_are_counted() -> None:
    asked = ix.Policy(
        columns={"ward": ix.quasi(ix.suppress())}, privacy=[ix.KAnonymity(3)], max_suppression=1, person="patient"
    )
    with ix.anonymize(VISITS, asked) as release:
        for edition in ("internal", "public"):
            facts = report_facts(release, asked, edition=edition, population=100)
            text = check_page(render(facts)).text
            assert "hidden among at least 3 people that look alike" in text
            assert "those that agree in patient. People are counted, not rows." in text
            assert "4 of 5 eligible people have a row in the release. 1 lost at least one row, 1 of them all." in text
            assert "Several rows of a person" in text
            (found,) = facts["risk"]
            assert found["after"]["people"] == {"smallest": 3, "highest": pytest.approx(1 / 3), "alone": 0}
            assert found["after"]["journalist"] == pytest.approx(chance_by_series(3, 3 * 100 / 4))
            if edition == "public":
                assert found["before"] is None
            else:
                assert found["before"]["people"] == {"smallest": 1, "highest": 1, "alone": 1}
                assert "k (people that each person hides among)" in text
            assert not [name for name in ("ann", "bob", "eve") if name in json.dumps(facts).split('"')]


@pytest.mark.slow
def test_the_demo_writes_a_report(tmp_path: Path) -> None:
    ran = CliRunner().invoke(app, ["demo", "--json", "--report", str(tmp_path / "report.html")])
    assert ran.exit_code == 0, ran.output
    check_page((tmp_path / "report.html").read_text("utf-8"))


def test_a_public_edition_addresses_the_recipient_and_an_internal_one_who_decides(tmp_path):
    from indistinct.report.conclusion import CONCLUSIONS, TO_RECIPIENTS, conclude

    assert set(CONCLUSIONS) == set(TO_RECIPIENTS)
    found = {"title": "t", "severity": "something", "summary": "s"}
    assert conclude(True, [found])["text"] == CONCLUSIONS["something"][1]
    assert conclude(True, [found], is_public=True)["text"] == TO_RECIPIENTS["something"]


def test_rows_at_risk_are_counted_from_the_threshold_of_the_policy():
    table = pa.table({"a": ["x"] * 2 + ["y"] * 8})
    usual = ix.Policy({"a": ix.quasi()}, [ix.KAnonymity(2)])
    said = ix.Policy({"a": ix.quasi()}, [ix.KAnonymity(2)], context=ix.Context("public", threshold=0.1, why="said"))
    for policy, limit, is_chosen, at_risk in ((usual, 0.2, False, 2), (said, 0.1, True, 10)):
        with ix.anonymize(table, policy) as release:
            facts = report_facts(release, policy)
            assert facts["threshold"] == {"value": limit, "is_chosen": is_chosen}
            assert facts["risk"][0]["after"]["at_risk"] == at_risk
            public = report_facts(release, policy, edition="public")
            assert (public["overall_risk"], public["threshold"]["value"]) == (None, 0.2)
