"""Facts that people say in the policy: what it is about, its context, who decided, and who gets the release."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from indistinct.documents.dossier_facts import Fact, FactTable
from indistinct.documents.material import Material
from indistinct.policy.context import SHARING, RecipientTerms
from indistinct.showing.numbers import figure


def about(name: str, title: str) -> Callable[[Material], Fact]:
    """Return what makes a fact of one text of [about]."""

    def make(known: Material) -> Fact:
        said = known.report["about"].get(name)
        return Fact(title=title, said=(said,) if said else ())

    return make


def sharing(known: Material) -> Fact:
    """Say how the release is shared."""
    given = known.context.sharing
    return Fact(title="Sharing model", said=(f"{given}: {SHARING[given]}",) if given else ())


def threats(known: Material) -> Fact:
    """Say how likely an attempt is, and why that is believed."""
    context = known.context
    if context.sharing == "public":
        return Fact(
            title="Probability of an attempt",
            said=("Of a public release an attempt is taken to be certain: R_context = 1.",),
            numbers={"r_context": 1.0},
        )
    said = {name: one for name, one in context.threats.items() if one is not None}
    if len(said) < len(context.threats):
        return Fact(title="Probability of an attempt")
    rows = tuple(
        (name, figure(one.probability), one.why, one.source or "as the policy says it") for name, one in said.items()
    )
    return Fact(
        title="Probability of an attempt",
        said=(f"R_context = {figure(context.likelihood)}, the greatest of the three.",),
        table=FactTable(heads=("way", "probability", "why", "source of the figure"), rows=rows),
        numbers={"r_context": context.likelihood, **{name: one.probability for name, one in said.items()}},
    )


def threshold(known: Material) -> Fact:
    """Say which risk is accepted, and why."""
    context, limit = known.context, known.context.limit
    if limit is None:
        return Fact(title="Threshold")
    which = "highest" if context.which == "maximum" else "average"
    said = [
        f"R is held against {figure(limit.value)}; R_data is the {which} chance of a record.",
        f"Why: {context.why}",
    ]
    said += [f"Source: {limit.source}"] if limit.source else []
    said += [] if context.cutoff is None else [f"Nobody's own chance may be above {figure(context.cutoff)}."]
    said += ["A release above it is refused."] if context.is_enforced else ["A release above it is named, not refused."]
    return Fact(title="Threshold", said=tuple(said), numbers={"threshold": limit.value, "highest": context.cutoff})


def decided_by(known: Material) -> Fact:
    """Say who decided."""
    who = known.context.decided_by or known.report["about"].get("decided_by")
    return Fact(title="Decided by", said=(who,) if who else ())


def review_by(known: Material) -> Fact:
    """Say until when the decision holds."""
    day = known.context.review_by
    return Fact(title="To be reviewed by", said=() if day is None else (day.isoformat(),))


def recipients(known: Material) -> Fact:
    """List who gets the release, on which terms."""
    if known.context.sharing == "public" and not known.recipients:
        return Fact(title="Recipients", said=("Everybody can get it.",))
    if not known.recipients:
        return Fact(title="Recipients")
    rows = tuple(
        (name, one.who or "…", one.contract or "…", "as for all" if one.k is None else figure(one.k))
        for name, one in known.recipients.items()
    )
    return Fact(title="Recipients", table=FactTable(heads=("name", "who", "agreement", "k"), rows=rows))


def of_recipient(terms: RecipientTerms | None, known: Material) -> dict[str, Fact]:
    """Return what the policy says of one recipient; of none, what it says of whoever gets the release."""
    anybody = known.report["about"].get("recipient") or ""
    given = terms or RecipientTerms(who=anybody)
    titles = {
        "who": "Who they are",
        "holds": "What they hold or can get",
        "means": "Means and cost",
        "contract": "Agreement",
    }
    said = {name: getattr(given, name) for name in titles}
    return {
        f"recipient.{name}": Fact(title=title, said=(said[name],) if said[name] else ())
        for name, title in titles.items()
    }


SAID: Mapping[str, Callable[[Material], Fact]] = {
    "about.title": about("title", "Title"),
    "about.data": about("data", "The data"),
    "about.purpose": about("purpose", "Purpose"),
    "context.sharing": sharing,
    "context.threats": threats,
    "context.threshold": threshold,
    "context.decided_by": decided_by,
    "context.review_by": review_by,
    "recipients": recipients,
}
"""The facts that people say, by name."""
