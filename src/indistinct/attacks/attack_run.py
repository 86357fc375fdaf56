"""AttackRun: the outcomes of all attacks on a release, to be read as text, Markdown, HTML or JSON."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from indistinct.atomic_files import OWNER_ONLY, write_whole
from indistinct.errors import ExposedError, OutputError
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    pass

Severity = Literal["nothing", "something", "broken"]

SEVERITIES: dict[Severity, str] = {
    "broken": "people are exposed: do not hand this release out",
    "something": "something follows that the release does not say: decide whether it matters",
    "nothing": "nothing was found",
}
"""How bad the outcome of an attack is, worst first."""

TITLES = {
    "linking": "Linking with another table",
    "complementary": "Linking with earlier releases",
    "unsorted": "Reading the order of the rows",
    "homogeneity": "Groups with one sensitive value",
    "dependencies": "Columns that tell others",
    "downcoding": "Sharpening labels of the release alone",
    "inference": "Guessing sensitive values by a learner",
    "minimality": "Guessing by why groups were not divided",
    "definetti": "Guessing by what all classes say together",
    "singling_out": "Singling people out by a few cells",
    "refinement": "Sharpening labels by all groups together",
}
MEANINGS = {
    "linking": "somebody who has that table finds rows of people whom it names",
    "complementary": "the releases together tell people apart whom each of them hides",
    "unsorted": "the place of a row tells whose it is",
    "homogeneity": (
        "whoever knows that somebody is in such a group learns the sensitive value, without knowing which row is hers"
    ),
    "dependencies": "a generalized cell can be read from another column, as if it had not been generalized",
    "downcoding": (
        "every group still has its k rows, and no row is told whose it is; but who knows the hierarchies, and that "
        "labels are as low as they can be, can tell that some rows of a group lie in one part of a label and some in "
        "another: the crowd that hides a person may then be smaller than k"
    ),
    "inference": "rows of people who are in the release are guessed better than rows of people who are not",
    "minimality": "whoever knows the policy concludes, from what was not released, which values people have",
    "singling_out": "a few cells that stand in the release describe one person only, more often than by chance",
    "definetti": "which of the values of a class somebody has can be guessed from what goes with what in all classes",
}
"""What it means if an attack finds something, to whoever meets it for the first time."""
GUESSES = ("inference", "minimality", "definetti", "singling_out")
"""Attacks that guess, which the original tells whether they are right."""
CONFIDENTIAL = (
    "This report quotes released labels and says where a release is weak. Keep it as you keep the private table."
)

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b}"
    "h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.2rem;border-top:1px solid #ddd;padding-top:1rem}"
    "table{border-collapse:collapse}td,th{padding:.25rem .8rem .25rem 0;text-align:left;vertical-align:top}"
    ".broken{color:#a4161a;font-weight:600}.something{color:#8a5a00;font-weight:600}.nothing{color:#1b6b3a}"
    ".quiet{color:#666}"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one attack found."""

    attack: str
    against: str | None
    """The other table that it used, by name."""
    severity: Severity
    summary: str
    known: tuple[str, ...]
    """What somebody is assumed to hold and to know."""
    figures: Mapping[str, float]
    findings: tuple[str, ...]
    """The worst findings, in English."""
    advice: tuple[str, ...]
    scope: str
    report: Any
    """The attack's own report."""

    @property
    def title(self) -> str:
        """The attack in words."""
        return TITLES[self.attack] + (f": {self.against}" if self.against else "")

    @property
    def meaning(self) -> str:
        """What follows from it, in plain words; nothing if nothing was found."""
        return "" if self.severity == "nothing" else MEANINGS.get(self.attack, "")

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON takes it."""
        return {
            "attack": self.attack,
            "meaning": self.meaning,
            "against": self.against,
            "severity": self.severity,
            "summary": self.summary,
            "known": list(self.known),
            "figures": dict(self.figures),
            "findings": list(self.findings),
            "advice": list(self.advice),
            "scope": self.scope,
            "report": self.report.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class AttackRun:
    """The outcomes of all attacks on a release, worst first."""

    release: str
    outcomes: tuple[Outcome, ...]
    not_run: dict[str, str]
    """Attacks that did not apply, and why."""

    @property
    def severity(self) -> Severity:
        """The worst of all outcomes."""
        order = list(SEVERITIES)
        return min((outcome.severity for outcome in self.outcomes), key=order.index, default="nothing")

    @property
    def is_broken(self) -> bool:
        """Some attack exposes people."""
        return self.severity == "broken"

    def raise_if_broken(self) -> None:
        """Raise an ExposedError that names every attack that exposes people."""
        if self.is_broken:
            raise ExposedError(self.summary)

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        worst = [outcome.title for outcome in self.outcomes if outcome.severity == self.severity]
        which = "" if self.severity == "nothing" else f" ({'; '.join(worst)})"
        return f"{counted(len(self.outcomes), 'attack')} on {self.release}; {SEVERITIES[self.severity]}{which}"

    def to_dict(self) -> dict[str, Any]:
        """Return the run as JSON takes it."""
        return {
            "release": self.release,
            "severity": self.severity,
            "summary": self.summary,
            "outcomes": [outcome.to_dict() for outcome in self.outcomes],
            "not_run": self.not_run,
        }

    def to_markdown(self) -> str:
        """Return the whole report as Markdown."""
        lines = [f"# Attacks on {_markdown(self.release)}", "", f"**{_markdown(self.summary)}.**", "", CONFIDENTIAL, ""]
        lines += ["| attack | outcome | found |", "| --- | --- | --- |"]
        lines += [f"| {_markdown(one.title)} | {one.severity} | {_markdown(one.summary)} |" for one in self.outcomes]
        for one in self.outcomes:
            lines += ["", f"## {_markdown(one.title)}", "", f"**{SEVERITIES[one.severity].capitalize()}.** "]
            lines += [f"{_markdown(one.summary[:1].upper() + one.summary[1:])}."]
            lines += ["", f"What it means: {one.meaning}."] if one.meaning else []
            lines += ["", "What was assumed known:", *(f"- {_markdown(known)}" for known in one.known)]
            lines += ["", "What was found:", *(f"- {name}: {figure(value)}" for name, value in one.figures.items())]
            if one.findings:
                lines += ["", "The worst of it:", *(f"- {_markdown(finding)}" for finding in one.findings)]
            if one.severity != "nothing":
                lines += ["", "What to do:", *(f"- {advice}" for advice in one.advice)]
            lines += ["", f"*{one.scope}*"]
        if self.not_run:
            lines += [
                "",
                "## Not run",
                "",
                *(f"- {TITLES[name]}: {_markdown(why)}" for name, why in self.not_run.items()),
            ]
        return "\n".join([*lines, ""])

    def to_html(self) -> str:
        """Return the whole report as one page that needs nothing else and runs nothing."""
        parts = [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>Attacks on {html.escape(self.release)}</title><style>{STYLE}</style></head><body>",
            f"<h1>Attacks on {html.escape(self.release)}</h1>",
            f'<p class="{self.severity}">{html.escape(self.summary)}.</p>',
            f'<p class="quiet">{CONFIDENTIAL}</p>',
            "<table><thead><tr><th>attack</th><th>outcome</th><th>found</th></tr></thead><tbody>",
            *(
                f'<tr><td>{html.escape(one.title)}</td><td class="{one.severity}">{one.severity}</td>'
                f"<td>{html.escape(one.summary)}</td></tr>"
                for one in self.outcomes
            ),
            "</tbody></table>",
        ]
        for one in self.outcomes:
            parts += [
                f"<h2>{html.escape(one.title)}</h2>",
                f'<p class="{one.severity}">{SEVERITIES[one.severity].capitalize()}.</p>',
                f"<p>{html.escape(one.summary[:1].upper() + one.summary[1:])}.</p>",
                f"<p>What it means: {html.escape(one.meaning)}.</p>" if one.meaning else "",
                _list("What was assumed known", one.known),
                _list("What was found", [f"{name}: {figure(value)}" for name, value in one.figures.items()]),
                _list("The worst of it", one.findings),
                _list("What to do", one.advice if one.severity != "nothing" else ()),
                f'<p class="quiet">{html.escape(one.scope)}</p>',
            ]
        not_run = [f"{TITLES[name]}: {why}" for name, why in self.not_run.items()]
        return "\n".join([*parts, _list("Not run", not_run), "</body></html>", ""])

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the report, whole or not at all: .html, .md or .json by the end of its name."""
        goal = Path(path)
        makers: dict[str, Callable[[], str]] = {
            ".html": self.to_html,
            ".md": self.to_markdown,
            ".json": lambda: json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n",
        }
        if goal.suffix.lower() not in makers:
            raise OutputError(f"{goal.name}: a report ends in {', '.join(makers)}")
        write_whole(goal, makers[goal.suffix.lower()](), mode=OWNER_ONLY)
        return goal

    def __str__(self) -> str:
        lines = [self.summary]
        for one in self.outcomes:
            lines += ["", f"{one.title}: {one.severity}", f"  {one.summary}"]
            lines += [f"  - {finding}" for finding in one.findings]
        lines += [f"not run: {TITLES[name]}: {why}" for name, why in self.not_run.items()]
        return "\n".join(lines)


def _markdown(text: str) -> str:
    """Return text that Markdown shows as it is.

    >>> _markdown("0213* | a_b <i>")
    '0213\\\\* \\\\| a\\\\_b &lt;i>'
    """
    for mark in "\\`*_|[]#":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("<", "&lt;")


def _list(title: str, items: Sequence[str]) -> str:
    if not items:
        return ""
    return f"<h3>{html.escape(title)}</h3><ul>{''.join(f'<li>{html.escape(item)}</li>' for item in items)}</ul>"
