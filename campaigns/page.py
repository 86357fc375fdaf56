"""The figures of docs/quality.md, written from results.json between two marks of each campaign's section."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
PAGE = HERE.parent / "docs" / "quality.md"


def write() -> None:
    """Put the figures of all campaigns on the page."""
    PAGE.write_text(with_figures(PAGE.read_text("utf-8"), json.loads(RESULTS.read_text("utf-8"))), "utf-8")


def with_figures(text: str, results: dict[str, Any]) -> str:
    """Give the page with the figures of each campaign between its marks, which must be there."""
    for name, result in results.items():
        place = re.compile(rf"(<!-- figures: {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not place.search(text):
            raise ValueError(f"{PAGE.name} has no place for the figures of {name}")
        made = figures(name, result)
        text = place.sub(lambda found, made=made: f"{found[1]}{made}{found[2]}", text)  # type: ignore[misc]
    return text


def figures(name: str, result: dict[str, Any]) -> str:
    """Give the line and the table of a campaign.

    >>> print(figures("fuzz", {"date": "2026-11-17", "cpu_seconds": 61.2, "seed": 0, "cases": 1200, "faults": [],
    ...     "figures": {"policy files": 1200}, "notes": {}}), end="")
    2026-11-17, `python -m campaigns fuzz --seed 0`: 1,200 cases in 61 s of processor time, **0 faults**.
    <BLANKLINE>
    | what | number |
    | --- | --- |
    | policy files | 1,200 |
    """
    first, *others = result["seed"] if isinstance(result["seed"], list) else [result["seed"]]
    command = f"`python -m campaigns {name} --seed {first}`"
    command += f" and, one after the other, with the seeds {', '.join(map(str, others))}" if others else ""
    faults = len(result["faults"])
    line = (
        f"{result['date']}, {command}: {result['cases']:,} cases in {result['cpu_seconds']:,.0f} s of processor time, "
        f"**{faults} fault{'' if faults == 1 else 's'}**.\n"
    )
    rows = [f"| {what} | {number:,} |" for what, number in result["figures"].items()]
    rows += [f"| {what} | {text} |" for what, text in result["notes"].items()]
    return "\n".join([line, "| what | number |", "| --- | --- |", *rows, ""]) if rows else line
