"""Regime: a document that somebody asks for, as headings; each names the facts that fill it and what people must say.

The regimes are data: one file each in ``views``. A fact is either measured, or said by people in the policy.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indistinct.policy import Policy

HINTS: Mapping[str, str] = {
    "about.title": "what the release is called",
    "about.data": "what the table holds, of whom, from when and where",
    "about.purpose": "what the release is for",
    "context.sharing": "who can get it: public, agreement or controlled",
    "context.threats": "deliberate, inadvertent and breach, each a probability with a why",
    "context.threshold": "the risk that is accepted, and why",
    "context.decided_by": "who decided",
    "context.review_by": "until when the decision holds",
    "recipient.who": "who the recipient is",
    "recipient.holds": "what the recipient holds or can lawfully get",
    "recipient.means": "what an attempt would cost them, and what would help them",
    "recipient.contract": "the agreement that binds the recipient",
    "recipients": "who gets it: a [recipients.NAME] for each",
}
"""What people say in a policy, and what is asked for there."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document: the facts that fill it, and what only people can say."""

    title: str
    facts: tuple[str, ...] = ()
    ask: str = ""


@dataclass(frozen=True, slots=True)
class Regime:
    """A document that somebody asks for."""

    name: str
    title: str
    source: str
    headings: tuple[Heading, ...]
    is_per_recipient: bool = False

    @property
    def asked_of_policy(self) -> tuple[str, ...]:
        """What people say in the policy for this document, in the order of its headings."""
        return tuple(dict.fromkeys(name for one in self.headings for name in one.facts if name in HINTS))


@functools.cache
def regimes() -> Mapping[str, Regime]:
    """Return every regime by its name.

    >>> len(regimes()), regimes()["hipaa"].headings[0].title
    (9, 'Data scope')
    """
    found = {}
    for file in sorted((files(__package__) / "views").iterdir(), key=lambda one: one.name):
        if not file.name.endswith(".toml"):
            continue
        said = tomllib.loads(file.read_text("utf-8"))
        headings = tuple(
            Heading(one["title"], tuple(one.get("facts", ())), one.get("ask", "")) for one in said["headings"]
        )
        name = file.name.removesuffix(".toml")
        found[name] = Regime(name, said["title"], said["source"], headings, said.get("per_recipient", False))
    return found


def said_by_people(policy: Policy) -> dict[str, bool]:
    """Return for everything that people say in a policy whether this one says it, of each recipient that it names."""
    context, recipients = policy.context, policy.recipients.values()
    said = {name: bool(policy.about.get(name.removeprefix("about."))) for name in HINTS if name.startswith("about.")}
    is_public = context is not None and context.sharing == "public"
    threats = context is not None and (is_public or all(context.threats.values()))
    said |= {
        "context.sharing": context is not None and context.sharing is not None,
        "context.threats": threats,
        "context.threshold": context is not None and context.threshold is not None,
        "context.decided_by": bool((context and context.decided_by) or policy.about.get("decided_by")),
        "context.review_by": context is not None and context.review_by is not None,
        "recipients": bool(recipients) or is_public,
    }
    for name in ("who", "holds", "means", "contract"):
        said[f"recipient.{name}"] = bool(recipients) and all(getattr(one, name) for one in recipients)
    return said


def unsaid(policy: Policy) -> dict[str, tuple[str, ...]]:
    """Return for each regime what a policy does not say of what that asks for; nothing of those that lack nothing."""
    said = said_by_people(policy)
    missing = {
        name: tuple(one for one in regime.asked_of_policy if not said[one]) for name, regime in regimes().items()
    }
    return {name: lacks for name, lacks in missing.items() if lacks}
