"""All attacks: every attack that applies to a release, and what they found, as text, Markdown or JSON.

It is for whoever answers for the data. For each attack it says what somebody was assumed to know, what was found, how
bad that is, and what to do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indistinct.atomic_files import OWNER_ONLY, write_whole
from indistinct.attacks.attack import Attack, InapplicableError
from indistinct.attacks.attack_report import SEVERITIES, AttackReport, Severity
from indistinct.attacks.target import OnePolicy, Target
from indistinct.errors import ExposedError, OutputError
from indistinct.progress import Watch
from indistinct.registry import ATTACKS
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

CONFIDENTIAL = (
    "This report quotes released labels and says where a release is weak. Keep it as you keep the private table."
)


@dataclass(frozen=True, slots=True)
class AttackOutcome:
    """What one attack found."""

    kind: type[Attack]
    report: AttackReport
    """The attack's own report."""
    against: str | None = None
    """The other table that it used, by name."""
    most: int = 5
    """How many findings are described."""

    @property
    def attack(self) -> str:
        """The name of the attack."""
        return self.kind.name

    @property
    def title(self) -> str:
        """The attack in words."""
        return self.kind.title + (f": {self.against}" if self.against else "")

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return self.report.severity

    @property
    def summary(self) -> str:
        """What was found in one sentence."""
        return self.report.summary

    @property
    def meaning(self) -> str:
        """What follows from it, in plain words; nothing if nothing was found."""
        return self.kind.meaning if self.report.is_found else ""

    @property
    def known(self) -> tuple[str, ...]:
        """What somebody is assumed to hold and to know."""
        return (*self.kind.held, *(f"assumed: {one}" for one in self.report.assumptions))

    @property
    def figures(self) -> Mapping[str, float]:
        """What was found in numbers."""
        return self.report.figures

    @property
    def findings(self) -> tuple[str, ...]:
        """The worst findings, in English."""
        return tuple(self.report.sentences[: self.most])

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do where something was found."""
        return self.report.advice

    def parts(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Return what a report says of the attack, each part with its title; parts with nothing are left out."""
        figures = [f"{name}: {figure(value)}" for name, value in self.figures.items()]
        parts = {
            "What was assumed known": self.known,
            "What was found": figures,
            "The worst of it": self.findings,
            "What to do": self.advice if self.report.is_found else (),
        }
        return ((title, items) for title, items in parts.items() if items)

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
            "scope": self.report.scope,
            "report": self.report.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class AttackRun:
    """The outcomes of all attacks on a release, worst first."""

    release: str
    outcomes: tuple[AttackOutcome, ...]
    not_run: dict[str, str]
    """Attacks that did not apply, by name, and why."""

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

    @property
    def left_out(self) -> list[str]:
        """The attacks that did not apply, each with why, in words."""
        return [f"{ATTACKS[name].title}: {why}" for name, why in self.not_run.items()]

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
            lines += [f"{_markdown(_sentence(one.summary))}"]
            lines += ["", f"What it means: {one.meaning}."] if one.meaning else []
            for title, items in one.parts():
                lines += ["", f"{title}:", *(f"- {_markdown(item)}" for item in items)]
            lines += ["", f"*{one.report.scope}*"]
        if self.not_run:
            lines += ["", "## Not run", "", *(f"- {_markdown(item)}" for item in self.left_out)]
        return "\n".join([*lines, ""])

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the report, whole or not at all: .md or .json by the end of its name."""
        goal = Path(path)
        makers: dict[str, Callable[[], str]] = {
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
        return "\n".join([*lines, *(f"not run: {one}" for one in self.left_out)])


def run(
    release: Any,
    policy: OnePolicy,
    *,
    earlier: Sequence[Any] | Mapping[str, Any] = (),
    earlier_policies: OnePolicy | Sequence[OnePolicy] | None = None,
    external: Any = None,
    original: Any = None,
    most: int = 5,
    watch: Watch | None = None,
    **reading: Any,
) -> AttackRun:
    """Run every attack that applies to a release, and return what a recipient could conclude.

    ``earlier`` are the earlier releases of the same source, earliest first, ``earlier_policies`` their policies if
    they had others. ``external`` is a table that names people. ``original`` is the private table: the order of its rows
    is compared, what tells what is learned from it, and it says whether guesses are right. ``most`` findings of each
    attack are described. ``reading`` goes to the engine.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, quasi, sensitive
    >>> policy = Policy(columns={"sex": quasi(), "ill": sensitive()}, privacy=[KAnonymity(2)])
    >>> found = run(pa.table({"sex": [*"ffmmm"], "ill": ["flu", "flu", "cold", "gout", "gout"]}), policy)
    >>> found.severity, [outcome.attack for outcome in found.outcomes]
    ('broken', ['homogeneity', 'uniqueness', 'dependencies', 'downcoding'])
    """
    target = Target.of(
        release,
        policy,
        earlier=earlier,
        earlier_policies=earlier_policies,
        external=external,
        original=original,
        **reading,
    )
    with target.read_once() as read:
        outcomes, not_run = _outcomes(read, most, watch or Watch())
    order = list(SEVERITIES)
    outcomes.sort(key=lambda one: order.index(one.severity))
    return AttackRun(target.name, tuple(outcomes), not_run)


def _outcomes(target: Target, most: int, watch: Watch) -> tuple[list[AttackOutcome], dict[str, str]]:
    """Try every attack; return what each found, and of those that do not apply, by name, why not."""
    outcomes: list[AttackOutcome] = []
    not_run: dict[str, str] = {}
    kinds = [one for one in ATTACKS.values() if one.is_in_all]
    for place, kind in enumerate(kinds):
        watch.report(f"{kind.title[:1].lower()}{kind.title[1:]}", place, len(kinds))
        watch.time_is_up()  # raises if the work was cancelled
        if why := kind.why_not(target):
            not_run[kind.name] = why
            continue
        attack = kind.of_all(most)
        for against, single in attack.targets(target):
            try:
                report = attack.attack(single)
            except InapplicableError as error:
                not_run[kind.name] = str(error)
                continue
            if report.why_left_out:
                not_run[kind.name] = report.why_left_out
            else:
                outcomes.append(AttackOutcome(kind, report, against, most))
    return outcomes, not_run


def attacks_in_markdown() -> str:
    """Return a table of all attacks: what each is called, what it tries, and what it must be given; for the docs."""
    lines = ["| attack | tries | asks for | takes a release of |", "| --- | --- | --- | --- |"]
    for name, kind in ATTACKS.items():
        asks = ", ".join([f"`{one.metavar}`" for one in kind.asks]) or "nothing else"
        lines.append(f"| `{name}` | {kind.title} | {asks} | {' or '.join(form.title for form in kind.forms)} |")
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _markdown(text: str) -> str:
    """Return text that Markdown shows as it is.

    >>> _markdown("0213* | a_b <i>")
    '0213\\\\* \\\\| a\\\\_b &lt;i>'
    """
    for mark in "\\`*_|[]#":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("<", "&lt;")
