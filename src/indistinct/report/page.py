"""The report: everything that is known about a release, as facts, and as one page of HTML that needs nothing else."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Unpack

import indistinct
from indistinct.atomic_files import EVERYBODY, OWNER_ONLY, refuse_unwritable, write_whole
from indistinct.disclosure_risk import OverallRisk, data_risk
from indistinct.engine.opening import ReadingOptions
from indistinct.errors import OutputError, PolicyError
from indistinct.policy import Policy
from indistinct.policy.about import ABOUT, about_mistakes
from indistinct.policy.files.policy_file import load_policy
from indistinct.progress import Watch
from indistinct.registry import MEASURES
from indistinct.report import figures
from indistinct.report.conclusion import conclude
from indistinct.report.sections.attack_section import attack_outcomes
from indistinct.report.sections.column_section import columns
from indistinct.report.sections.known_events_section import known_events
from indistinct.report.sections.ledger_section import ledger_entries
from indistinct.report.sections.limits import limits
from indistinct.report.sections.policy_words import policy_in_words
from indistinct.report.sections.reproduce import reproduce
from indistinct.report.sections.risk_section import release_unicity, risks
from indistinct.report.sections.suppression import suppression
from indistinct.report.sections.three_questions import three_questions
from indistinct.report.sections.tradeoff import tradeoff
from indistinct.report.sections.utility_section import release_utility
from indistinct.report.subject import Edition, Subject, open_subject
from indistinct.showing.numbers import figure, percent
from indistinct.showing.page_templates import page_templates


class ReportOptions(ReadingOptions, total=False):
    """What a report may look at beside the release and its policy, and how tables are read."""

    original: Any
    """The private table, which only an internal edition looks at."""
    external: Any
    """A table that names people, to link with."""
    earlier: Sequence[Any]
    """Earlier releases of the same source."""
    population: Any
    """The number of people that the table was drawn from, or a table of them."""
    ledger: Any
    """A Ledger or its path, whose entries an internal edition lists."""
    about: Mapping[str, str] | None
    """What the policy does not say of the data, the purpose, the recipient and who decided."""


def report_facts(
    release: Any,
    policy: Policy,
    *,
    edition: Edition = "internal",
    watch: Watch | None = None,
    original: Any = None,
    external: Any = None,
    earlier: Sequence[Any] = (),
    population: Any = None,
    ledger: Any = None,
    about: Mapping[str, str] | None = None,
    **reading: Unpack[ReadingOptions],
) -> dict[str, Any]:
    """Return all that a report says, as JSON takes it.

    ``release`` is a Release or a release folder; ``ReportOptions`` says what the others are.
    """
    about = about or {}
    if mistakes := about_mistakes(about):
        raise PolicyError(mistakes)
    watch = watch or Watch()
    watch.report("report")
    with open_subject(release, policy, edition, original, **reading) as subject:
        limits_of_engine: dict[str, Any] = {
            name: value for name, value in reading.items() if name in ("memory_limit", "threads")
        }
        attacks = attack_outcomes(subject, external, earlier, watch=watch, **limits_of_engine)
        entries = ledger_entries(subject, ledger)
        risk = risks(subject, population, **limits_of_engine)
        unicity = release_unicity(subject)
        return {
            "edition": edition,
            "made_by": f"indistinct {indistinct.__version__}",
            "reported_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "about": _about(subject, {**policy.about, **about}, entries),
            "conclusion": conclude(subject.verdict.passed, attacks, is_public=edition == "public"),
            "verdict": subject.verdict.to_dict(),
            "release": _summary(subject),
            "policy": policy_in_words(
                subject.policy, is_public=edition == "public", generalizes=subject.form.generalizes
            ),
            "questions": three_questions(attacks, risk, unicity, subject.released_units, is_public=edition == "public"),
            "risk": risk,
            "threshold": {"value": subject.threshold, "is_chosen": subject.has_threshold},
            "overall_risk": _overall_risk(subject),
            "unicity": unicity,
            "known_events": known_events(subject, attacks),
            "columns": columns(subject),
            "measures": dict(subject.said.measures),
            "tradeoff": tradeoff(subject, watch),
            "utility": release_utility(subject, watch),
            "suppression": suppression(subject),
            "attacks": attacks,
            "ledger": entries,
            "limits": limits(subject),
            "reproduce": reproduce(subject, entries),
        }


def render(facts: Mapping[str, Any], title: str = "Release report") -> str:
    """Return the page of a report: one file of HTML with its style and pictures inside, and nothing that runs."""
    page: str = _template().render(
        facts,
        title=title,
        style=_picture((files(__package__) / "page.css").read_text("utf-8")),
        draw=figures,
        means={name: measure.title for name, measure in MEASURES.items()},
    )
    return page


@functools.cache  # to compile the template takes as long as to fill it in
def _template() -> Any:
    environment = page_templates(str(__package__))
    environment.filters |= {
        "figure": figure,
        "percent": percent,
        "picture": _picture,
        "capitalize_first": lambda text: text[:1].upper() + text[1:],
    }
    return environment.get_template("page.html")


def write_report(
    path: str | os.PathLike[str], release: Any, policy: Policy, *, title: str = "Release report", **options: Any
) -> Path:
    """Write the report of a release to a file, whole or not at all; ``options`` are those of ``report_facts``."""
    goal = Path(path)
    refuse_place(goal)
    facts = report_facts(release, load_policy(policy), **options)
    write_page(goal, render(facts, title), is_public=facts["edition"] == "public")
    return goal


def write_page(goal: Path, page: str, *, is_public: bool = False) -> None:
    """Write a page whole or not at all; only its owner may read one that describes the private table."""
    write_whole(goal, page, mode=EVERYBODY if is_public else OWNER_ONLY)


def refuse_place(goal: Path) -> None:
    """Raise if no report can be written at this place; cheap, so it can be asked beforehand."""
    if goal.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"{goal.name}: a report is a page; end its name in .html")
    if goal.is_dir():
        raise OutputError(f"{goal} is a folder; name a file")
    refuse_unwritable(goal)


def _summary(subject: Subject) -> dict[str, Any]:
    """Return what a reader wants to know first."""
    said = subject.said
    form = "cell by cell" if said.node is None else "column by column"
    form = form if subject.form.shows_recoding else subject.form.title
    return {
        "form": form,
        "k": subject.k,
        "noun": subject.verdict.noun,
        "nouns": subject.form.nouns,
        "units": subject.form.units,
        "algorithm": said.algorithm,
        **{name: getattr(said, name) for name in ("eligible", "released", "suppressed", "groups", "smallest_group")},
        "people": None if said.people is None else said.people.to_dict(),
        "tables": {name: list(rows.columns()) for name, rows in subject.tables.items()},
        "is_unsafe": subject.manifest is not None and bool(subject.manifest.unsafe),
    }


def _overall_risk(subject: Subject) -> dict[str, Any] | None:
    """Return R = R_data x R_context; None where the policy says no context, which is not for recipients."""
    context = subject.policy.context
    if context is None or subject.edition == "public":
        return None
    limit = context.record_limit or 1.0
    found = OverallRisk(
        data_risk(subject.released_tables, subject.tables, subject.policy, limit, subject.verdict), context
    )
    review = None if context.review_by is None else context.review_by.isoformat()
    return found.to_dict() | {"sentence": found.sentence, "review_by": review}


def _about(subject: Subject, given: Mapping[str, str], ledger: Mapping[str, Any] | None) -> dict[str, str | None]:
    """Return what the release is about: what was said now, else in its manifest, else in the ledger."""
    entry = (ledger or {}).get("entry") or {}
    known = {name: entry[name] for name in ("purpose", "recipient") if entry.get(name)}
    stated = {} if subject.manifest is None else subject.manifest.about or {}
    if subject.edition == "internal" and subject.policy.context is not None and subject.policy.context.decided_by:
        known["decided_by"] = subject.policy.context.decided_by
    said = {**known, **stated, **given}
    return {name: said.get(name) for name in ABOUT}


def _picture(svg: str) -> Any:
    """Mark a text of our own making, whose cells are escaped already, as HTML."""
    from markupsafe import Markup

    return Markup(svg)  # nosec B704 # figures escape every text that they show, and a test looks for scripts
