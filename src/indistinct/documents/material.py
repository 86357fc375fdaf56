"""Material: what the facts of a dossier are made of: the report's facts, the policy, its recipients, the commands."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from indistinct.disclosure_risk import OverallRisk
from indistinct.policy import Policy
from indistinct.policy.context import Context, RecipientTerms
from indistinct.release.manifest import Manifest


@dataclass(frozen=True, slots=True)
class FigureCommands:
    """How the figures are made again, with the paths that were given."""

    policy: str
    release: str
    originals: tuple[str, ...] = ()
    recipient: str | None = None
    more: tuple[str, ...] = ()
    """Other tables that attacks were given."""
    population: str | None = None
    """The population that a report was given."""

    def line(self, *words: str, with_original: bool = True, with_more: bool = False) -> str:
        """Return a command with the policy and the release."""
        said = [*words, self.policy, self.release]
        said += [text for one in self.originals for text in ("--original", one)] if with_original else []
        said += ["--recipient", self.recipient] if self.recipient else []
        said += ["--population", self.population] if self.population and words[0] == "report" else []
        return shlex.join(["indistinct", *said, *(self.more if with_more else ())])

    def risk_line(self, recipient: str | None, *, is_own: bool) -> str:
        """Return the command that computes R, in the context of a recipient if one is named.

        Of a release that was not made on the terms of the recipient only a dossier tells R in its context.
        """
        if not is_own:
            said = ["indistinct", "dossier", self.policy, self.release, "--only", "gdpr", "-o", "dossier"]
            return shlex.join(said)
        return replace(self, recipient=recipient or self.recipient).line("report", with_original=False) + " --json"

    def again(self, command: str) -> str:
        """Return a command of the report, which names no paths, with those that were given."""
        paths = {"policy.toml": self.policy, "TABLE": self.original, "release": self.release}
        return shlex.join(paths.get(word, word) for word in shlex.split(command))

    @property
    def original(self) -> str:
        """The private table, as commands name it."""
        return self.originals[0] if self.originals else "TABLE"


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that is known of a release when its dossier is made."""

    report: Mapping[str, Any]
    """The facts of the internal report."""
    policy: Policy
    """The policy that the release was made by."""
    recipients: Mapping[str, RecipientTerms]
    """Those who get it, by name."""
    manifest: Manifest | None
    risks: Mapping[str, OverallRisk]
    """R in the context of each recipient; under no name in that of the policy itself."""
    commands: FigureCommands
    has_original: bool
    membership: Mapping[str, Any] | None
    """The rates of the attack that tells who is in the release; None where it could not be tried."""
    given: Mapping[str, bool]
    """Which other tables attacks were given."""

    @property
    def context(self) -> Context:
        """The context of the policy; an empty one if it says none."""
        return self.policy.context or Context()


def path_in_words(given: Any, otherwise: str) -> str:
    """Return how a command names something that was given: its path, or a word in its place."""
    return os.fspath(given) if isinstance(given, str | os.PathLike) else otherwise
