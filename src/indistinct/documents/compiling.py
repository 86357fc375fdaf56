"""dossier(): the facts of a release and the documents that regulators, handbooks and offices ask for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from indistinct import attacks
from indistinct.disclosure_risk import OverallRisk, overall_risk
from indistinct.documents.dossier_facts import Blank, Dossier, Fact, Paper, Section
from indistinct.documents.facts_done import DONE
from indistinct.documents.facts_measured import MEASURED, attacks_of_recipient, other_terms, overall
from indistinct.documents.facts_said import SAID, of_recipient
from indistinct.documents.material import FigureCommands, Material, path_in_words
from indistinct.errors import PolicyError
from indistinct.policy import Policy
from indistinct.policy.context import Context, RecipientTerms
from indistinct.policy.files.policy_file import load_policy
from indistinct.policy.files.recipient_profile import for_recipient
from indistinct.progress import Watch
from indistinct.regimes import HINTS, Heading, Regime, regimes
from indistinct.release.manifest import has_manifest, read_manifest
from indistinct.report import ReportOptions, report_facts

TAKES_MORE = {
    "risk.before": ("the private table was not given", "--original TABLE"),
    "question.singling_out": ("it takes the private table, or could not be measured on it", "--original TABLE"),
    "question.linking": ("nothing was released", "the release"),
    "question.inference": ("it takes the private table and a sensitive column", "--original TABLE"),
    "question.membership": ("it takes the private table, or could not be measured on it", "--original TABLE"),
    "attacks": ("no attack was run", "--original TABLE"),
}
"""Why a measured fact can be missing, and what gives it."""
RECIPIENT = "recipient."
OWN = ("risk.overall", "attacks.recipient", "context.sharing", "context.threats", "context.review_by")
"""What each statement for a recipient says in the recipient's own context."""


def dossier(
    release: Any,
    policy: Policy | str | os.PathLike[str],
    *,
    recipient: str | None = None,
    only: tuple[str, ...] = (),
    watch: Watch | None = None,
    **options: Unpack[ReportOptions],
) -> Dossier:
    """Return the documents about a release that people sign, with the facts in them.

    ``release`` is a Release or a release folder. ``recipient`` is one that the policy names, if the release was made on
    her terms. ``only`` names regimes; without it there is a document for each. ``options`` are those of a report: the
    original, a table that names people, earlier releases, a population, a ledger.
    """
    whole = load_policy(policy)
    own = whole if recipient is None else for_recipient(whole, recipient)
    if unknown := [name for name in only if name not in regimes()]:
        raise PolicyError(f"only: there is no {unknown[0]!r}; say {', '.join(regimes())}")
    chosen = [one for name, one in regimes().items() if not only or name in only]
    said = report_facts(release, own, watch=watch, **options)
    terms = {recipient: whole.recipients[recipient]} if recipient is not None else dict(whole.recipients)
    known = _material(release, own, terms, said, options, path_in_words(policy, "policy.toml"), recipient)
    return _Writer(known).write(chosen)


def _material(
    release: Any,
    policy: Policy,
    terms: Mapping[str, RecipientTerms],
    said: Mapping[str, Any],
    options: ReportOptions,
    policy_name: str,
    recipient: str | None,
) -> Material:
    """Put together what the facts are made of."""
    original = options.get("original")
    named = original.items() if isinstance(original, Mapping) else [("", original)]
    originals = tuple(f"{name}={path_in_words(one, 'TABLE')}".removeprefix("=") for name, one in named)
    has_original = original is not None
    more: list[str] = []
    if options.get("external") is not None:
        more += ["--external", path_in_words(options.get("external"), "NAMES")]
    for one in options.get("earlier", ()):
        more += ["--earlier", path_in_words(one, "EARLIER")]
    population = options.get("population")
    commands = FigureCommands(
        policy_name,
        path_in_words(release, "release"),
        originals if has_original else (),
        recipient,
        tuple(more),
        None
        if population is None
        else str(population)
        if isinstance(population, int)
        else path_in_words(population, "P"),
    )
    in_general = overall_risk(release, policy)
    risks = {"": in_general}
    context = policy.context or Context()
    for name, one in terms.items():
        risks[name] = OverallRisk(in_general.data, context if recipient else context.with_own(one.context))
    given = {name: options.get(name) not in (None, ()) for name in ("external", "earlier", "population")}
    manifest = read_manifest(Path(release)) if has_manifest(release) else None
    member = _membership(release, policy, original)
    return Material(said, policy, terms, manifest, risks, commands, has_original, member, given)


def _membership(release: Any, policy: Policy, original: Any) -> Mapping[str, Any] | None:
    """Return the rates of telling who is in the release; None where that cannot be tried."""
    if original is None:
        return None
    try:
        guesses: list[Mapping[str, Any]] = attacks.membership(release, policy, original).to_dict()["guesses"]
    except PolicyError:
        return None
    return guesses[0]


class _Writer:
    """Writes documents one after the other; facts and blanks that several have are made once."""

    def __init__(self, known: Material) -> None:
        self.known = known
        self.facts: dict[str, Fact] = {}
        self.blanks: dict[tuple[str, str], Blank] = {}
        self.named: set[str] = set()

    def write(self, chosen: list[Regime]) -> Dossier:
        """Return the dossier with a document for each regime, and for each recipient where one is asked for."""
        papers = []
        for regime in chosen:
            names: list[str | None] = [*self.known.recipients] if regime.is_per_recipient else []
            papers += [self.paper(regime, name) for name in names or [None]]
        report = self.known.report
        about, held = report["about"], [one.is_above for one in self.known.risks.values()]
        is_above = None if set(held) == {None} else any(held)
        return Dossier(
            made_by=report["made_by"],
            made_at=report["reported_at"],
            title=about.get("title") or about.get("data") or "Release",
            verdict=report["conclusion"]["words"],
            decision=tuple(self.decision()),
            is_verified=report["verdict"]["passed"],
            is_broken=report["conclusion"]["outcome"] in ("failed", "broken"),
            is_above=is_above,
            facts=self.facts,
            papers=tuple(papers),
            blanks=tuple(self.blanks.values()),
        )

    def decision(self, recipient: str | None = None) -> list[str]:
        """Return the first lines: what was measured, against which threshold, and who decides.

        The statement for a recipient says only its own risk.
        """
        report, context = self.known.report, self.known.context
        risks = {n: one for n, one in self.known.risks.items() if recipient in (None, n)}
        lines = [f"{report['conclusion']['words']}. {report['conclusion']['text']}"]
        lines += [f"Found: {one['title']}: {one['summary']}." for one in report["conclusion"]["attacks"]]
        lines += [f"{name or 'In the context of the policy'}: {risk.sentence}." for name, risk in risks.items()]
        for name in filter(None, risks):
            lines += other_terms(self.known, name)
        who = context.decided_by or report["about"].get("decided_by")
        lines.append(f"Decided by: {who}." if who else "Who decides was not said.")
        lines.append(
            "To be reviewed by: " + ("not said." if context.review_by is None else f"{context.review_by.isoformat()}.")
        )
        return lines

    def paper(self, regime: Regime, recipient: str | None) -> Paper:
        """Return the document of a regime."""
        sections = tuple(
            self.section(heading, recipient if regime.is_per_recipient else None) for heading in regime.headings
        )
        name = regime.name if recipient is None else f"{regime.name}-{file_name(recipient)}"
        if name in self.named:  # two recipients whose names are nearly equal
            name = f"{name}-{len(self.named)}"
        self.named.add(name)
        return Paper(
            name=name,
            regime=regime.name,
            title=regime.title if recipient is None else f"{regime.title}: {recipient}",
            source=regime.source,
            recipient=recipient,
            decision=tuple(self.decision(recipient)),
            sections=sections,
        )

    def section(self, heading: Heading, recipient: str | None) -> Section:
        """Return a heading with its facts, and a blank for each that is missing or for people to say."""
        names, blanks = [], []
        for fact in heading.facts:
            name = self.fact(fact, recipient)
            if self.facts[name].is_empty:
                blanks.append(self.blank(*self.why_missing(fact, recipient)))
            else:
                names.append(name)
        if heading.ask:
            blanks.append(self.blank(heading.ask, "by hand"))
        return Section(title=heading.title, facts=tuple(names), blanks=tuple(blanks))

    def fact(self, name: str, recipient: str | None) -> str:
        """Make a fact, that of a recipient under a name of its own; return its name."""
        is_own = recipient is not None and (name.startswith(RECIPIENT) or name in OWN)
        key = f"{name}@{recipient}" if is_own else name
        if key not in self.facts:
            self.facts[key] = self.make(name, recipient if is_own else None)
        return key

    def make(self, name: str, recipient: str | None) -> Fact:
        """Make a fact."""
        known = self.known
        if name.startswith(RECIPIENT):
            return of_recipient(None if recipient is None else known.recipients[recipient], known)[name]
        if recipient is not None and name == "risk.overall":
            return overall(known, known.risks[recipient], recipient)
        if recipient is not None and name == "attacks.recipient":
            return attacks_of_recipient(known)
        if recipient is not None:
            own = replace(known.policy, context=known.risks[recipient].context)
            return SAID[name](replace(known, policy=own))
        return {**SAID, **MEASURED, **DONE}[name](known)

    def why_missing(self, name: str, recipient: str | None) -> tuple[str, str]:
        """Say what is missing, and where it is said."""
        if name in HINTS:
            start = f"recipients.{recipient or 'NAME'}" if name.startswith(RECIPIENT) else name.split(".")[0]
            key = name.split(".")[-1]
            place = start if key == start else f"{start}.{key}"
            return HINTS[name], f"policy: {place}"
        why, gives = TAKES_MORE.get(name, ("nothing of it is known", "by hand"))
        title = self.facts[name].title if name in self.facts else name
        return f"{title}: {why}", gives

    def blank(self, hint: str, place: str) -> int:
        """Return the number of a blank; the same one in several documents is one."""
        return self.blanks.setdefault((hint, place), Blank(number=len(self.blanks) + 1, hint=hint, place=place)).number


def file_name(name: str) -> str:
    """Return a name as part of a file's name.

    >>> file_name("City University, ward 3")
    'city-university-ward-3'
    """
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split()) or "recipient"
