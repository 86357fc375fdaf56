"""The figures of docs/quality.md and the README, written from results.json between two marks of each."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import wrap
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
PAGE = HERE.parent / "docs" / "quality.md"
README = HERE.parent / "README.md"
MOST_SHOWN = 6
"""Figures of each campaign on the page; results.json has all."""
SCORE = re.compile(r"(<!-- score -->\n).*?(<!-- end -->)", re.DOTALL)


def write() -> None:
    """Put the figures of all campaigns on the page."""
    results = json.loads(RESULTS.read_text("utf-8"))
    PAGE.write_text(with_figures(PAGE.read_text("utf-8"), results), "utf-8")
    README.write_text(with_score(README.read_text("utf-8"), results), "utf-8")


def with_score(text: str, results: dict[str, Any]) -> str:
    """Return the README with the share of planted mistakes that tests catch, and what random cases there were.

    >>> counted = {"mutants there are": 40, "mutants planted": 12, "not caught, and equivalent": 2}
    >>> counted |= {"caught by a test": 8, "caught as they hang": 1}
    >>> results = {"mutants": {"figures": counted}, "recount": {"cases": 1200}}
    >>> print(with_score("<!-- score -->\\n<!-- end -->", results))
    <!-- score -->
    Tests caught 90.0 % of 10 mistakes that were planted in the code that promises rest on; 28 others were not tried.
    Campaigns compared 1,200 random cases with code that shares nothing with it (recount 1,200).
    [Quality](docs/quality.md) has all figures, and what they do not cover.
    <!-- end -->
    """
    counted = results["mutants"]["figures"]
    met = counted["mutants planted"] - counted["not caught, and equivalent"]
    caught = counted["caught by a test"] + counted["caught as they hang"]
    cases = {name: results[name]["cases"] for name in ("recount", "alone", "histories") if name in results}
    listed = ", ".join(f"{name} {number:,}" for name, number in cases.items())
    made = (
        f"Tests caught {100 * caught / met:.1f} % of {met:,} mistakes that were planted in the code that promises rest "
        f"on; {counted['mutants there are'] - counted['mutants planted']:,} others were not tried.\n"
        f"Campaigns compared {sum(cases.values()):,} random cases with code that shares nothing with it ({listed}).\n"
        "[Quality](docs/quality.md) has all figures, and what they do not cover.\n"
    )
    return SCORE.sub(lambda found: f"{found[1]}{made}{found[2]}", text)


def with_figures(text: str, results: dict[str, Any]) -> str:
    """Return the page with the figures of each campaign between its marks, which must be there."""
    for name, result in results.items():
        place = re.compile(rf"(<!-- figures: {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not place.search(text):
            raise ValueError(f"{PAGE.name} has no place for the figures of {name}")
        made = figures(name, result)
        text = place.sub(lambda found, made=made: f"{found[1]}{made}{found[2]}", text)  # type: ignore[misc]
    return text


def figures(name: str, result: dict[str, Any]) -> str:
    """Return what a campaign tried, as a paragraph; results.json has the seeds and all figures.

    >>> print(figures("fuzz", {"date": "2026-11-17", "cpu_seconds": 61.2, "seed": [0, 1], "cases": 120, "faults": [],
    ...     "figures": {"files": 1200}, "notes": {"server": "none"}}), end="")
    2026-11-17, `python -m campaigns fuzz --seed 0` and 1 seed more: 120 cases in 61 s of processor time, **0 faults**.
    files 1,200. Server: none.
    """
    first, *others = result["seed"] if isinstance(result["seed"], list) else [result["seed"]]
    command = f"`python -m campaigns {name} --seed {first}`"
    command += f" and {len(others)} seed{'' if len(others) == 1 else 's'} more" if others else ""
    faults = len(result["faults"])
    line = (
        f"{result['date']}, {command}: {result['cases']:,} cases in {result['cpu_seconds']:,.0f} s of processor time, "
        f"**{faults} fault{'' if faults == 1 else 's'}**."
    )
    shown = list(result["figures"].items())[:MOST_SHOWN]
    counted = ", ".join(f"{what} {number:,}" for what, number in shown)
    notes = [f"{what[0].upper()}{what[1:]}: {text}" for what, text in result["notes"].items()]
    said = " ".join(f"{one}." for one in [counted, *notes] if one)
    return "\n".join([line, *wrap(said, 118, break_on_hyphens=False, break_long_words=False), ""])
