"""Running: every attack that applies to a release, told so that whoever answers for the data can decide.

For each attack it says what somebody was assumed to know, what was found, how bad that is, and what to do.
"""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from indistinct.errors import OutputError, PolicyError
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.attacks.complementary import ComplementaryReport
    from indistinct.attacks.downcoding import DowncodingReport
    from indistinct.attacks.homogeneity import HomogeneityReport
    from indistinct.attacks.linking import LinkReport
    from indistinct.attacks.unsorted import UnsortedReport
    from indistinct.policy import Policy

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
    "downcoding": "Sharpening labels of the release alone",
}
KNOWN = {
    "linking": ("the release", "a table that names people, such as a voter list", "the policy's hierarchies"),
    "complementary": ("the release", "every earlier release of the same source", "the policies' hierarchies"),
    "unsorted": ("the release in the order in which it is handed out", "the other table in its order"),
    "homogeneity": ("the release", "somebody's quasi-identifier, and that they are in the release"),
    "downcoding": ("the release", "the policy: its hierarchies, k and algorithm"),
}
"""What somebody is assumed to hold."""

TWO_TABLES = "a release of two tables generalizes nothing, and links by classes only"

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

    def to_dict(self) -> dict[str, Any]:
        """Give the outcome as JSON takes it."""
        return {
            "attack": self.attack,
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

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        worst = [outcome.title for outcome in self.outcomes if outcome.severity == self.severity]
        which = "" if self.severity == "nothing" else f" ({'; '.join(worst)})"
        return f"{counted(len(self.outcomes), 'attack')} on {self.release}; {SEVERITIES[self.severity]}{which}"

    def to_dict(self) -> dict[str, Any]:
        """Give the run as JSON takes it."""
        return {
            "release": self.release,
            "severity": self.severity,
            "summary": self.summary,
            "outcomes": [outcome.to_dict() for outcome in self.outcomes],
            "not_run": self.not_run,
        }

    def to_markdown(self) -> str:
        """Give the whole report as Markdown."""
        lines = [f"# Attacks on {_marked(self.release)}", "", f"**{_marked(self.summary)}.**", "", CONFIDENTIAL, ""]
        lines += ["| attack | outcome | found |", "| --- | --- | --- |"]
        lines += [f"| {_marked(one.title)} | {one.severity} | {_marked(one.summary)} |" for one in self.outcomes]
        for one in self.outcomes:
            lines += ["", f"## {_marked(one.title)}", "", f"**{SEVERITIES[one.severity].capitalize()}.** "]
            lines += [f"{_marked(one.summary[:1].upper() + one.summary[1:])}."]
            lines += ["", "What was assumed known:", *(f"- {_marked(known)}" for known in one.known)]
            lines += ["", "What was found:", *(f"- {name}: {_figure(value)}" for name, value in one.figures.items())]
            if one.findings:
                lines += ["", "The worst of it:", *(f"- {_marked(finding)}" for finding in one.findings)]
            if one.severity != "nothing":
                lines += ["", "What to do:", *(f"- {advice}" for advice in one.advice)]
            lines += ["", f"*{one.scope}*"]
        if self.not_run:
            lines += [
                "",
                "## Not run",
                "",
                *(f"- {TITLES[name]}: {_marked(why)}" for name, why in self.not_run.items()),
            ]
        return "\n".join([*lines, ""])

    def to_html(self) -> str:
        """Give the whole report as one page that needs nothing else and runs nothing."""
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
                _list("What was assumed known", one.known),
                _list("What was found", [f"{name}: {_figure(value)}" for name, value in one.figures.items()]),
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
        _write_whole(goal, makers[goal.suffix.lower()]())
        return goal

    def __str__(self) -> str:
        lines = [self.summary]
        for one in self.outcomes:
            lines += ["", f"{one.title}: {one.severity}", f"  {one.summary}"]
            lines += [f"  - {finding}" for finding in one.findings]
        lines += [f"not run: {TITLES[name]}: {why}" for name, why in self.not_run.items()]
        return "\n".join(lines)


def run(
    release: Any,
    policy: Policy,
    *,
    earlier: Sequence[Any] | Mapping[str, Any] = (),
    earlier_policies: Policy | Sequence[Policy] | None = None,
    external: Any = None,
    original: Any = None,
    most: int = 5,
    **reading: Any,
) -> AttackRun:
    """Run every attack that applies to a release, and give what a recipient could conclude.

    ``earlier`` are the earlier releases of the same source, earliest first, ``earlier_policies`` their policies if
    they had others. ``external`` is a table that names people. ``original`` is the private table: only the order of its
    rows is compared. ``most`` findings of each attack are described. ``reading`` goes to the engine.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, quasi, sensitive
    >>> policy = Policy(columns={"sex": quasi(), "ill": sensitive()}, privacy=[KAnonymity(2)])
    >>> found = run(pa.table({"sex": ["f", "f", "m", "m"], "ill": ["flu", "flu", "flu", "gout"]}), policy)
    >>> found.severity, [outcome.attack for outcome in found.outcomes]
    ('broken', ['homogeneity', 'downcoding'])
    """
    from indistinct.attacks.complementary import complementary
    from indistinct.attacks.downcoding import downcoding
    from indistinct.attacks.homogeneity import homogeneity
    from indistinct.attacks.opening import holds_two_tables, named, policy_of_each
    from indistinct.attacks.unsorted import unsorted

    before = named(earlier)
    policies = policy_of_each(policy if earlier_policies is None else earlier_policies, len(before))
    name = Path(release).name if isinstance(release, str | Path) else "the release"
    if name in before:
        raise PolicyError(f"earlier: {name} is the release itself; give the releases before it")
    tried = _Tried()
    if external is None:
        tried.not_run["linking"] = "no table that names people was given"
    else:
        from indistinct.attacks.linking import link

        tried.linking(link(release, external, policy, most=most, **reading))
    if holds_two_tables(release):
        tried.not_run |= dict.fromkeys(("complementary", "unsorted", "homogeneity", "downcoding"), TWO_TABLES)
    else:
        if before:
            both = {**before, name: release}
            tried.complementary(complementary(both, [*policies, policy], most=most, **reading))
        else:
            tried.not_run["complementary"] = "no earlier release was given"
        for (other, table), own in zip(before.items(), policies, strict=True):
            tried.unsorted(other, unsorted(release, table, policy, earlier_policy=own, **reading))
        if original is not None:
            tried.unsorted("the original", unsorted(release, original, policy, **reading))
        elif not before:
            tried.not_run["unsorted"] = "neither the original nor an earlier release was given"
        if policy.with_role("sensitive"):
            tried.homogeneity(homogeneity(release, policy, most=most, **reading))
        else:
            tried.not_run["homogeneity"] = "the policy has no sensitive column"
        tried.downcoding(downcoding(release, policy, most=most, **reading))
    order = list(SEVERITIES)
    outcomes = sorted(tried.outcomes, key=lambda one: (order.index(one.severity), list(TITLES).index(one.attack)))
    return AttackRun(name, tuple(outcomes), tried.not_run)


class _Tried:
    """Collects the outcomes of attacks, and why others did not apply."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.not_run: dict[str, str] = {}

    def homogeneity(self, report: HomogeneityReport) -> None:
        """Add what groups tell about sensitive values."""
        from indistinct.attacks.homogeneity import ADVICE, SCOPE

        figures: dict[str, float] = {"groups": report.groups}
        for column in report.columns:
            figures[f"rows that share their {column.column} with their whole group"] = column.same_rows
            figures[f"rows of groups that nearly all share one {column.column}"] = column.alike_rows
        is_some = any(column.alike_rows for column in report.columns)
        self._add(
            "homogeneity",
            report,
            _severity(report.is_broken, is_some),
            figures,
            [finding.sentence for finding in report.findings],
            (ADVICE, SCOPE),
        )

    def downcoding(self, report: DowncodingReport) -> None:
        """Add what labels tell about what lies below them."""
        from indistinct.attacks.downcoding import ADVICE, SCOPE

        figures = {
            "generalized cells": report.generalized_cells,
            "cells whose lower label is known": report.sharpened_cells,
            "smallest crowd that follows": report.smallest_crowd,
            "k": report.k,
        }
        self._add(
            "downcoding",
            report,
            _severity(False, bool(report.kinds) and (report.sharpened_cells > 0 or report.smallest_crowd < report.k)),
            figures,
            [finding.sentence for finding in report.findings],
            (ADVICE, SCOPE),
            assumed=tuple(report.assumed.values()),
        )

    def complementary(self, report: ComplementaryReport) -> None:
        """Add what follows from several releases."""
        from indistinct.attacks.complementary import ADVICE, SCOPE

        figures = {
            "releases": len(report.releases),
            "k": report.k,
            "combinations of labels that fewer than k rows have": report.below_k,
            "crowds of fewer than k that are in some of the releases only": report.kinds.get("absent", 0),
            "of these that are somebody's, if what is assumed is true": report.certain,
            "rows at risk": report.rows_at_risk,
            "rows that may be at risk": report.rows_possibly_at_risk,
        }
        self._add(
            "complementary",
            report,
            _severity(report.is_broken, bool(report.kinds)),
            figures,
            [finding.sentence for finding in report.findings],
            (ADVICE, SCOPE),
            assumed=report.assumed,
        )

    def unsorted(self, against: str, report: UnsortedReport) -> None:
        """Add what order tells."""
        from indistinct.attacks.unsorted import ADVICE, SCOPE

        figures = {
            "rows": report.rows,
            "positions that agree": report.agreeing,
            "positions that agree in random order": round(report.expected, 1),
            "rows disclosed": report.disclosed,
        }
        self._add(
            "unsorted",
            report,
            _severity(report.disclosed > 0, report.is_telling),
            figures,
            [f"{signal.what}, by chance {_seldom(signal.chance)}" for signal in report.signals if signal.is_telling],
            (ADVICE, SCOPE),
            against=against,
        )

    def linking(self, report: LinkReport) -> None:
        """Add who of another table fits whom."""
        from indistinct.attacks.linking import ADVICE, SCOPE, sentence

        figures = {
            "released rows": report.rows,
            "people of the other table": report.people,
            "rows that fit one person who fits no other row": report.one_to_one,
            "rows that fit one person only": report.unique_rows,
            "expected right guesses": round(report.expected_matches, 2),
        }
        self._add(
            "linking",
            report,
            _severity(report.one_to_one > 0, report.unique_rows > 0 or report.unique_people > 0),
            figures,
            [sentence(group) for group in report.worst],
            (ADVICE, SCOPE),
        )

    def _add(
        self,
        attack: str,
        report: Any,
        severity: Severity,
        figures: Mapping[str, float],
        findings: Sequence[str],
        words: tuple[tuple[str, ...], str],
        against: str | None = None,
        assumed: tuple[str, ...] = (),
    ) -> None:
        advice, scope = words
        known = (*KNOWN[attack], *(f"assumed: {one}" for one in assumed))
        self.outcomes.append(
            Outcome(attack, against, severity, report.summary, known, figures, tuple(findings), advice, scope, report)
        )


def _severity(is_broken: bool, is_some: bool) -> Severity:
    return "broken" if is_broken else "something" if is_some else "nothing"


def _seldom(chance: float) -> str:
    """Say how seldom something comes by chance.

    >>> _seldom(0.002), _seldom(1e-20)
    ('once in 500 tables', 'less than once in a million tables')
    """
    return f"once in {1 / chance:,.0f} tables" if chance >= 1e-6 else "less than once in a million tables"


def _figure(value: float) -> str:
    return f"{value:,}"


def _marked(text: str) -> str:
    """Give text that Markdown shows as it is.

    >>> _marked("0213* | a_b <i>")
    '0213\\\\* \\\\| a\\\\_b &lt;i>'
    """
    for mark in "\\`*_|[]#":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("<", "&lt;")


def _list(title: str, items: Sequence[str]) -> str:
    if not items:
        return ""
    return f"<h3>{html.escape(title)}</h3><ul>{''.join(f'<li>{html.escape(item)}</li>' for item in items)}</ul>"


def _write_whole(goal: Path, text: str) -> None:
    """Write a file beside its goal and give it its name when it is whole."""
    try:
        handle, staged = tempfile.mkstemp(dir=goal.parent, prefix=f".{goal.name}.")
    except OSError as error:
        raise OutputError(f"{goal}: cannot be written ({error.strerror})") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(staged, goal)
    except OSError as error:
        Path(staged).unlink(missing_ok=True)
        raise OutputError(f"{goal}: cannot be written ({error.strerror})") from None
