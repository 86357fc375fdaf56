"""Take a picture of every page of the studio, as docs/studio.md shows them: ``python scripts/screenshots.py``.

The people are drawn at random, always the same ones. Needs the extra ``test``, and Chromium with its driver.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LARGEST = 150_000
"""Bytes that a picture may have."""
PEOPLE = 20_000
WIDTHS = (1400, 800, 420)
"""Pixels: a desk, a tablet, a telephone."""
NARROW = ("columns", "release")
"""Pages that the docs show at every width."""
USUAL = (1280, 720)
HEIGHT_STEP = 40
"""Pixels by which a window is made lower until its picture is small enough."""
DRAWN = 0.3
"""Seconds until a chart has its new size."""

sys.path.insert(0, str(ROOT / "tests"))

from helpers import browser  # noqa: E402  # it lies among the helpers of the tests

JOBS = ("clerk", "manager", "teacher", "nurse", "welder", "driver", "cook")
ILLNESSES = ("asthma", "diabetes", "flu", "fracture", "hypertension", "migraine", "obesity")
FIRST = ("Ada", "Ben", "Cara", "Dan", "Eva", "Finn", "Gwen", "Hugo", "Ida", "Jon", "Kim", "Lea", "Max", "Nora", "Otto")
LAST = ("Adler", "Brook", "Cole", "Dean", "Ellis", "Frost", "Gray", "Hall", "Irving", "Jones", "Kent", "Lane", "Moore")
INITIALS = [f"{letter}." for letter in "ABCDEFGHIJKLMNOPRSTUVW"]


def main() -> int:
    """Go through the studio as a steward does, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, help="write every page at every width to this folder instead of docs")
    folder_of_all = parser.parse_args().to
    if absent := browser.missing():
        sys.stderr.write(f"install first: {', '.join(absent)}\n")
        return 1
    if folder_of_all is not None:
        folder_of_all.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        table, voters = _people(Path(folder))
        ledger = Path(folder) / "ledger.db"
        with browser.studio(table) as address, browser.browser() as page:
            page.open(address)
            camera = Camera(page, folder_of_all)
            _tour(page, camera, voters, ledger)
            _linked(page, camera, Path(folder))
    return 0


def _people(folder: Path) -> tuple[Path, Path]:
    """Write a table of patients, and a list of voters that has two of three of them."""
    draw = random.Random(1865)
    patients, voters = [], []
    called = [" ".join(parts) for parts in itertools.product(FIRST, INITIALS, INITIALS, LAST)]
    for number, name in enumerate(draw.sample(called, PEOPLE)):
        born = datetime.date(1935, 1, 1) + datetime.timedelta(draw.randrange(26_000))
        place, sex = f"021{draw.randrange(38, 44)}", draw.choice(("female", "male"))
        job, ill = draw.choice(JOBS), draw.choice(ILLNESSES)
        patients.append((str(100_000 + number), name, born.isoformat(), sex, place, job, ill))
        if draw.random() < 2 / 3:
            voters.append((name, born.strftime("%m/%d/%Y"), sex, place))
    return (
        _written(folder / "patients.csv", ("id", "name", "birth", "sex", "zip", "job", "illness"), patients),
        _written(folder / "voters.csv", ("Name", "DOB", "Sex", "ZIP"), voters),
    )


def _written(path: Path, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def _tour(page: Any, camera: Camera, voters: Path, ledger: Path) -> None:
    page.see("Next: columns")
    page.alive()
    page.click("#ask")
    page.see("Use these answers")
    page.alive()
    camera.take("table", 980)
    page.go("Columns")
    page.see("its name speaks")
    page.until(lambda: len(page.all("td.values svg")) >= 4, "how values are distributed")
    camera.take("columns", 780)
    _hierarchy(page, camera)
    page.go("Privacy")
    page.click("//button[text()='Add']")
    page.see("Each group has at least l sensitive values")
    camera.take("privacy")
    page.click("[aria-label='Remove l-diversity']")
    page.go("Release")
    page.click("#run")
    page.see("Verified")
    page.alive()
    page.click("#explore")
    page.see("Coloured by")
    page.alive()
    camera.take("release", 860)
    camera.take("solutions", at="#solutions")
    page.go("Trade-off")
    page.click("#sweep")
    page.see("Loss for every k")
    page.alive()
    page.until(lambda: page.all("svg path"), "the curves")
    camera.take("trade-off")
    page.go("Compare")
    page.choose("#axis", "k-marginal")
    page.write("#ks", "5, 20, 100")
    page.click("//label[.//span[text()='samarati']]//input")
    page.click("#compare")
    page.see("No release is both safer")
    page.alive()
    camera.take("compare", 980)
    _attack(page, camera, voters)
    _ledger(page, camera, ledger)
    page.go("Download")
    camera.take("download", 900)


def _hierarchy(page: Any, camera: Camera) -> None:
    """Sort jobs into two groups."""
    page.open(page.driver.current_url.replace("/columns", "/hierarchies?column=job"))
    page.see("Labels at each level")
    page.choose("//label[.//span[text()='Kind']]//select", "tree")
    page.see("Drag a label")
    for label, jobs in {
        "office": ("clerk", "manager", "teacher"),
        "hands": ("nurse", "welder", "driver", "cook"),
    }.items():
        page.write("#new-label", label)
        page.click("#add-label")
        page.find(f'.twig[data-label="{label}"]')
        for job in jobs:
            place = f"[aria-label='Parent of {job}']"
            page.choose(place, page.options(place)[f"under {label}"])
            page.until(lambda job=job: f"    {job}" in page.find("#tree-text").get_attribute("value"), job)
    page.see("Labels at each level: 7 → 2 → 1")
    camera.take("hierarchies", 860)


def _attack(page: Any, camera: Camera, voters: Path) -> None:
    page.go("Attack")
    page.write("#external-path", str(voters))
    page.click("#open-external")
    page.see("people in voters.csv")
    page.alive()
    page.click("#link")
    page.see("What the linking found")
    page.alive()
    page.click("#measure")
    page.see("people who stand alone")
    page.alive()
    page.write("#row", "17")
    page.click("#explain")
    page.see("Row 17 ")
    page.alive()
    camera.take("attack", 1100, at="#explain")
    camera.take("questions", 860, at="#questions")


def _ledger(page: Any, camera: Camera, ledger: Path) -> None:
    page.go("Ledger")
    page.write("#ledger-url", str(ledger))
    page.click("#new-ledger")
    page.see("Nothing was released yet")
    page.alive()
    page.write("#recipient", "university")
    page.write("//label[.//span[text()='Purpose']]//input", "a study of asthma")
    page.write("#review", "05302027")
    page.click("#enter")
    page.until(lambda: "Reading" not in page.text and "smallest group" in page.text, "the entry")
    page.alive()
    page.write("#recipient", "insurer")
    page.click("#check-ledger")
    page.see("Joined with")
    camera.take("ledger")


def _linked(page: Any, camera: Camera, folder: Path) -> None:
    """Open visits beside the patients."""
    draw = random.Random(1865)
    patients = [(str(number), str(1935 + draw.randrange(70))) for number in range(1000)]
    visits = [(str(draw.randrange(1000)), draw.choice(("surgery", "medicine"))) for _ in range(1500)]
    people = _written(folder / "people.csv", ("patient", "born"), patients)
    stays = _written(folder / "visits.csv", ("patient", "ward"), visits)
    page.go("Table")
    page.write("#path", str(people))
    page.click("#open")
    page.see("1,000 rows")
    page.alive()
    page.write("#another", str(stays))
    page.click("#add")
    page.see("1,500 rows")
    page.alive()
    page.go("Columns")
    page.until(lambda: len(page.all("td.values svg")) >= 2, "how values are distributed")
    camera.take("linked", 980)


class Camera:
    """Takes each page at every width, and keeps those that the docs show, or all of them in a folder of your own."""

    def __init__(self, page: Any, folder: Path | None) -> None:
        self.page, self.folder = page, folder

    def take(self, name: str, height: int = 720, at: str = "") -> None:
        """Take a picture of the window, of this height at most, from the top or from the element ``at``."""
        for width in WIDTHS:
            is_shown = width == WIDTHS[0] or name in NARROW
            if self.folder is not None or is_shown:
                self._take(name, width, height if width == WIDTHS[0] else round(height * 1.35), at)
        self.page.resize(*USUAL)

    def _take(self, name: str, width: int, height: int, at: str) -> None:
        self.page.resize(width, 720)
        # paths of this machine are not for the docs
        self.page.driver.execute_script(
            "document.activeElement?.blur(); window.scrollTo(0, 0);"
            "const tidy = (text) => text.replace(/\\/[^ ]*\\/(?=[^/ ]+$)/, '/data/');"
            "document.querySelectorAll('p.small, input').forEach((e) => {"
            "  if (e.tagName === 'INPUT') { if (e.type === 'text') e.value = tidy(e.value); }"
            "  else if (e.textContent.startsWith('/')) e.textContent = tidy(e.textContent); });"
        )
        self.page.until(lambda: not self.page.too_wide(), f"{name} to fit a window of {width} pixels")
        tall = min(height, max(720, self.page.driver.execute_script("return document.documentElement.scrollHeight")))
        self.page.resize(width, tall)
        if at:
            self.page.driver.execute_script(
                "document.querySelector(arguments[0]).closest('section').scrollIntoView()", at
            )
        time.sleep(DRAWN)  # charts follow the width of their window a moment later
        path = (self.folder or DOCS) / f"studio-{name}{'' if width == WIDTHS[0] else f'-{width}'}.png"
        picture = small_enough(partial(self._picture, width), tall)
        path.write_bytes(picture)
        sys.stderr.write(f"{path.name}: {len(picture):,} bytes\n")

    def _picture(self, width: int, height: int) -> bytes:
        """Take the window at this height, from where it is scrolled to."""
        self.page.resize(width, height)
        time.sleep(DRAWN)
        picture: bytes = self.page.driver.get_screenshot_as_png()
        return picture


def small_enough(take: Callable[[int], bytes], height: int) -> bytes:
    """Take a picture that is no larger than the docs allow: of a lower window where it would be."""
    for tall in range(height, height // 2, -HEIGHT_STEP):
        picture = take(tall)
        if len(picture) <= LARGEST:
            return picture
    raise AssertionError(f"a picture of half the height still has more than {LARGEST:,} bytes")


if __name__ == "__main__":
    raise SystemExit(main())
