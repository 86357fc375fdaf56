"""The studio end to end, in a real Chromium: what a steward sees and does, and what is taken home."""

from __future__ import annotations

import collections
import csv
import io
import json
import random
import time
import tomllib
import zipfile
from urllib.parse import urlsplit

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select
from typer.testing import CliRunner

from helpers import browser
from helpers.optional_modules import leave_out
from indistinct.cli import app
from indistinct.examples import EXAMPLES, save_examples

STEPS = (
    "Table",
    "Columns",
    "Hierarchies",
    "Privacy",
    "Context",
    "Release",
    "Trade-off",
    "Compare",
    "Attack",
    "Ledger",
    "Download",
)


WIDTHS = (420, 1400)
"""Pixels of the windows in which axe looks for barriers."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _installed():
    if absent := browser.missing():
        reason = f"NOT CHECKED: the studio in a browser. Install: {', '.join(absent)}"
        leave_out(reason)


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def window(_installed, downloads):
    """Return one Chromium with one studio for all tests; each opens a table of its own."""
    with browser.studio() as address, browser.browser(downloads) as page:
        page.open(address)
        start = urlsplit(page.driver.current_url)
        assert not start.query, "the token stays in the address"
        yield page


@pytest.fixture
def page(window):
    """Return the first page of the studio."""
    window.requests(), window.complaints()
    window.resize(1280)
    window.open(urlsplit(window.driver.current_url)._replace(path="/", query="", fragment="").geturl())
    yield window
    assert window.complaints() == []
    own = (f"http://{urlsplit(window.driver.current_url).netloc}/", "data:", "chrome:", "blob:")
    assert [url for url in window.requests() if not url.startswith(own)] == [], "somebody else was asked"


def downloaded(page, downloads, place, name):
    """Click a link that downloads, and give the bytes of the file."""
    path = downloads / name
    path.unlink(missing_ok=True)
    page.click(place)
    page.until(path.exists, f"the download of {name}")
    content = path.read_bytes()
    path.unlink()
    return content


def open_example(page, name="hospital"):
    page.click(f"#example-{name}")
    page.see(f"{name}.csv", "Next: columns")
    page.alive()


def drag(page, label, goal):
    """Drag a label of a tree onto another one, as a mouse does."""
    script = """
      const [from, to] = arguments;
      const find = (label) => document.querySelector(`.twig[data-label="${label}"]`);
      const carried = new DataTransfer();
      const fire = (element, kind) => element.dispatchEvent(
        new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer: carried}));
      fire(find(from), 'dragstart'); fire(find(to), 'dragover'); fire(find(to), 'drop');
    """
    page.find(f'.twig[data-label="{goal}"]')
    page.driver.execute_script(script, label, goal)


def test_the_whole_way_from_a_table_to_its_release(page, downloads, tmp_path):
    open_example(page)

    page.go("Columns")
    page.see("which others may know")
    page.click("#accept")
    page.see("How may each column be generalized?")
    page.alive()

    # a tree by mouse and by keyboard
    page.see("Drag a label")
    page.write("#new-label", "somebody")
    page.click("#add-label")
    page.find('.twig[data-label="somebody"]')
    drag(page, "black", "somebody")
    page.until(lambda: "  somebody\n    black" in page.find("#tree-text").get_attribute("value"), "what was dragged")
    page.choose("[aria-label='Parent of white']", page.options("[aria-label='Parent of white']")["under somebody"])
    page.click("[aria-label='Remove person']")
    page.see("Labels at each level: 2 → 1 → 1")

    # fewer levels of a code
    page.click("//nav[@aria-label='Quasi columns']//a[text()='ZIP']")
    page.see("Characters kept at each level", "0213*")
    page.write("#prefix-keep", "4")
    page.see("Labels at each level: 3 → 2 → 1")

    page.go("Release")
    page.click("#run")
    page.see("Verified", "What attacks found", "Rows that stand alone")
    page.alive()
    page.click("#explore")
    page.see("Coloured by")
    page.alive()
    assert page.barriers(*WIDTHS) == []
    page.find(".apply")
    first = page.find("tr.chosen").text
    page.click(".apply")
    page.see("chosen: k-anonymity")
    page.until(lambda: page.find("tr.chosen").text != first, "another solution to be released")
    page.alive()
    applied = page.find("tr.chosen").text
    page.until(lambda: page.click_solution() and page.find("tr.chosen").text != applied, "a click in the lattice")
    page.alive()

    page.go("Attack")
    page.write("#row", "7")
    page.click("#explain")
    page.see("Row 7 ", "rows that share it")
    page.click("#voters")
    page.see("16 people in hospital-voters.csv")
    page.alive()
    page.click("#link")
    page.see("What the linking found", "Worst first")
    page.alive()
    page.click("#attack")
    page.see("generalized cell", "Reading the order of the rows")
    page.alive()
    assert page.barriers(*WIDTHS) == []

    page.go("Download")
    if page.driver.find_elements("css selector", "#accept"):  # attacks found people: somebody decides
        page.click("#accept")
    policy = downloaded(page, downloads, "#take-policy", "policy.toml").decode()
    archive = downloaded(page, downloads, "#take-release", "hospital-release.zip")
    assert 'algorithm = "chosen"' in policy
    assert "somebody" in policy

    # the command line makes the same of it
    save_examples(tmp_path, EXAMPLES[:1])
    (tmp_path / "policy.toml").write_text(policy, "utf-8")
    command = ["anonymize", tmp_path / "policy.toml", tmp_path / "hospital.csv", "-o", tmp_path / "release"]
    done = CliRunner().invoke(app, list(map(str, command)))
    assert done.exit_code == 0, done.output
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        ours = json.loads(files.read("manifest.json"))
        our_rows = files.read("table.csv").decode()
    theirs = json.loads((tmp_path / "release" / "manifest.json").read_text("utf-8"))
    assert ours["node"] == theirs["node"]
    assert ours["policy_sha256"] == theirs["policy_sha256"]
    their_rows = (tmp_path / "release" / "table.csv").read_text("utf-8")
    rows = [collections.Counter(map(tuple, csv.reader(io.StringIO(text)))) for text in (our_rows, their_rows)]
    assert rows[0] == rows[1]


def test_the_context_is_asked_in_plain_questions_and_fills_policy_and_documents(page, downloads):
    def choose(label, value):
        page.choose(f"//label[span[normalize-space()='{label}']]//select", value)

    def fill(selector, text):
        page.write(selector, text)
        page.driver.execute_script("document.activeElement.blur()")

    open_example(page)
    page.go("Release")
    page.click("#run")
    page.see("Verified")
    page.go("Context")
    choose("Who can get it?", "agreement")
    page.see("The probability of an attempt, R_context, is 1.")  # so what follows is drawn anew already
    choose("Answer", "controls")
    page.find("#context-deliberate-why")
    page.see("why: is required")
    fill("#context-deliberate-why", "under contract")
    choose("Threshold of R", "ema-0070")
    fill("#context-why", "the figure of the field")
    fill("#context-review_by", "2027-05-30")
    page.write("#new-recipient", "university")
    page.click("#add-recipient")
    page.see("k for them", "This release: R = R_data × R_context", "above the threshold 0.0900")
    assert page.barriers(*WIDTHS) == []
    page.go("Download")
    said = tomllib.loads(downloaded(page, downloads, "#take-policy", "policy.toml").decode())
    assert said["context"]["deliberate"] == {"controls": "medium", "motives": "medium", "why": "under contract"}
    assert (said["context"]["threshold"], str(said["context"]["review_by"])) == ("ema-0070", "2027-05-30")
    assert list(said["recipients"]) == ["university"]
    with zipfile.ZipFile(io.BytesIO(downloaded(page, downloads, "#take-dossier", "hospital-dossier.zip"))) as files:
        facts = json.loads(files.read("dossier.json"))
        assert "gdpr-university.html" in files.namelist()
    assert facts["facts"]["risk.overall"]["numbers"]["threshold"] == 0.09


def test_a_failing_run_shows_its_error_and_keeps_the_work(page, tmp_path):
    save_examples(tmp_path, EXAMPLES[:1])
    (tmp_path / "hospital.csv").rename(tmp_path / "sent.csv")
    page.find("#path-file").send_keys(str(tmp_path / "sent.csv"))  # an upload, as by drag and drop
    page.see("sent.csv")
    page.alive()
    page.go("Columns")
    page.choose("[aria-label='Role of Gender']", "other")
    page.go("Privacy")
    page.write("#k-anonymity-k", "500")
    page.go("Release")
    page.see("k = 500")
    page.click("#run")
    alert = page.find("[role=alert]")
    page.until(lambda: alert.text, "the error")
    assert "500" in alert.text or "12 rows" in alert.text
    assert page.barriers(*WIDTHS) == []
    page.go("Columns")
    assert page.find("[aria-label='Role of Gender']").get_attribute("value") == "other"
    page.go("Privacy")
    assert page.find("#k-anonymity-k").get_attribute("value") == "500"
    page.write("#k-anonymity-k", "")
    page.see("privacy[0].k")
    page.write("#k-anonymity-k", "2")
    page.go("Release")
    page.click("#run")
    page.see("Verified")


def test_tables_that_belong_together_go_the_whole_way(page, downloads, tmp_path):
    people = [f"p{who},{1940 + who % 4 * 10}" for who in range(60)]
    stays = [f"p{number % 60},{'ab'[number % 60 % 2]}" for number in range(90)]
    for name, lines in {"people": ["who,born", *people], "stays": ["who,ward", *stays]}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    page.write("#path", str(tmp_path / "people.csv"))
    page.click("#open")
    page.see("60 rows")
    page.alive()
    page.click("#ask")
    page.see("How small may a group be")
    page.alive()
    page.write("#answer-k", "4")
    page.click("#answer")
    page.see("groups of 4")
    page.alive()
    page.write("#another", str(tmp_path / "stays.csv"))
    page.click("#add")
    page.see("90 rows", "refers to people.who")
    page.alive()
    page.go("Columns")
    page.see("who → people")
    assert list(page.options("[aria-label='Role of stays.who']").values()) == ["identifier"]
    page.choose("[aria-label='Role of stays.ward']", "quasi")
    page.go("Privacy")
    page.write("#knows-events", "1")
    page.go("Release")
    page.click("#run")
    page.see("Verified", "What attacks found", "After: people", "After: stays")
    page.alive()
    for step, told in {"Trade-off": "It takes one table", "Compare": "No map", "Attack": "It takes one table"}.items():
        page.go(step)
        page.see(told)
    page.go("Download")
    if page.all("#accept"):
        page.click("#accept")
    with zipfile.ZipFile(io.BytesIO(downloaded(page, downloads, "#take-release", "people-release.zip"))) as files:
        assert {"people.csv", "stays.csv", "manifest.json"} <= set(files.namelist())
    policy = tomllib.loads(downloaded(page, downloads, "#take-policy", "policy.toml").decode())
    assert policy["knows"]["events"] == 1
    assert list(policy["tables"]) == ["people", "stays"]


def test_thirty_roles_changed_as_fast_as_the_driver_can_are_all_in_the_policy_file(page, downloads, tmp_path):
    names = [f"answer{number}" for number in range(30)]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join([",".join(names), *(",".join(map(str, range(at, at + 30))) for at in (1, 2, 3))]) + "\n")
    page.write("#path", str(path))
    page.click("#open")
    page.see("answers.csv")
    page.alive()
    page.go("Columns")
    changes = [(name, ("other", "sensitive", "identifier")[at % 3]) for at, name in enumerate(names)]
    changes += [(name, "quasi") for name in names[:8]]  # and some once more
    for name, role in changes:
        Select(page.driver.find_element(By.CSS_SELECTOR, f"[aria-label='Role of {name}']")).select_by_value(role)
    wanted = dict(changes)
    page.until(lambda: len(page.all("td.values svg")) >= 20, "how values are distributed")
    for name in names[10:20]:  # and several at once
        page.click(f"//label[.//span[text()='Choose {name}']]//input")
    page.choose("#all-role", "quasi")
    page.choose("#all-hierarchy", "rounding")
    page.write("#all-weight", "3")
    page.click("#change-all")
    wanted |= dict.fromkeys(names[10:20], "quasi")
    page.until(lambda: page.find("[aria-label='Weight of answer19']").get_attribute("value") == "3", "the change")
    page.write("[aria-label='Weight of answer5']", "7")
    page.write("[aria-label='Name of answer6 in the release']", "sixth")
    person = next(name for name, role in wanted.items() if role == "identifier")
    page.click(f"//label[.//span[text()='{person} says whose row it is']]//input")
    page.choose("#released-of-people", "pseudonym")
    shown = {name: page.find(f"[aria-label='Role of {name}']").get_attribute("value") for name in names}
    assert shown == wanted
    page.go("Download")
    text = downloaded(page, downloads, "#take-policy", "policy.toml").decode()
    columns = tomllib.loads(text)["columns"]
    assert tomllib.loads(text)["person"] == {"column": person, "release": "pseudonym"}
    assert {name: column["rename"] for name, column in columns.items() if "rename" in column} == {"answer6": "sixth"}
    assert {name: columns[name]["role"] for name in names} == wanted
    assert columns["answer5"]["weight"] == 7
    assert all("rounding" in columns[name]["hierarchy"] and columns[name]["weight"] == 3 for name in names[10:20])
    page.go("Columns")
    assert {name: page.find(f"[aria-label='Role of {name}']").get_attribute("value") for name in names} == wanted


def test_a_table_of_50_mb_opens_without_freezing_the_page(page, tmp_path):
    draw = random.Random(7)
    lines = [
        f"{draw.randrange(10**9):09},{draw.randrange(90)},{draw.choice('mf')},{draw.randrange(10**5):05},"
        f"{'x' * 60}{draw.randrange(50)}\n"
        for _ in range(20_000)
    ]
    block = "".join(lines)
    path = tmp_path / "large.csv"
    with path.open("w") as file:
        file.write("record,age,sex,zip,note\n")
        for _ in range(1 + 50 * 10**6 // len(block)):
            file.write(block)
    assert path.stat().st_size >= 50 * 10**6
    page.write("#path", str(path))
    page.click("#open")
    answered = 0
    asking = "return fetch('/columns').then((answer) => answer.status)"
    while not page.driver.execute_script("return document.body.innerText.includes('large.csv')"):
        is_running = page.driver.execute_script(
            "const box = document.querySelector('.running'); return !!box && box.offsetParent !== null"
        )
        if page.driver.execute_script(asking) == 200 and is_running:
            answered += 1
        assert not page.all("[role=alert]"), page.text
        time.sleep(0.05)
    assert answered > 0, "no page was served while the table was being read"
    page.see(f"{20_000 * (1 + 50 * 10**6 // len(block)):,} rows")


def test_every_page_can_be_used_by_keyboard_and_screen_reader(page):
    open_example(page, "samarati")
    page.go("Release")
    page.click("#run")
    page.see("Verified")
    page.alive()
    page.click("#utility")
    page.see("Pairs that moved most")
    page.alive()
    page.go("Trade-off")
    page.click("#sweep")
    page.find("#k")
    page.alive()
    page.go("Compare")
    page.choose("#axis", "k-marginal")
    page.write("#ks", "2, 3")
    page.click("#compare")
    page.see("No release is both safer and more useful", "mondrian, k = 3")
    page.alive()
    for step in STEPS:
        page.go(step)
        nameless = page.driver.execute_script(
            """
            const named = (e) => e.getAttribute('aria-label') || e.labels?.length || e.innerText?.trim();
            return [...document.querySelectorAll('#main :is(input, select, textarea, button, a)')]
              .filter((e) => !named(e)).map((e) => e.outerHTML);
            """
        )
        assert nameless == [], step
        assert len(page.all("h1")) == 1
        for width in (1400, 800, 420, 1280):
            page.resize(width)
            page.until(lambda: page.too_wide() == [], f"{step} to fit a window of {width} pixels")
            assert page.driver.execute_script("return document.documentElement.scrollWidth") <= width
        assert page.barriers(*WIDTHS) == [], step
    first = page.driver.execute_script("return document.querySelector('a[href], button, input').getAttribute('href')")
    assert first == "#main", "the first thing that a keyboard reaches skips the navigation"
    page.driver.execute_script("document.querySelector('main').append(document.createElement('button'))")
    assert [barrier.split(": ")[1] for barrier in page.barriers(1400)] == ["button-name"], "a barrier is not seen"
