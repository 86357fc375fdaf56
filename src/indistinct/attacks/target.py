"""Target: a release under attack, and the tables that somebody may hold beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from indistinct.errors import PolicyError
from indistinct.linkage import read_once
from indistinct.policy import Policy
from indistinct.policy.files.policy_file import load_policy
from indistinct.release.forms import Form
from indistinct.release.released_tables import ReleasedTables

OnePolicy = Policy | str | os.PathLike[str]
"""A policy of one table, or the path of its file."""

ROWS = (
    "rows are counted, not people: whose they are is not in the release, so several of them may be one person's; "
    "people were counted when it was made"
)
LINKED = (
    "rows are counted, each by itself: those with the same pseudonym are one person's, and whoever knows several of "
    "them finds them together"
)


@dataclass(frozen=True, slots=True)
class Target:
    """A release with its policy, and what somebody may hold beside it."""

    release: ReleasedTables
    policy: Policy
    name: str = "the release"
    earlier: Mapping[str, Any] = field(default_factory=dict)
    """The earlier releases of the same source by name, earliest first."""
    earlier_policies: tuple[Policy, ...] = ()
    """The policy of each of them."""
    external: Any = None
    """A table of people."""
    original: Any = None
    """The private table."""
    control: Any = None
    """People who are not in the release."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """How the engine reads tables."""

    @classmethod
    def of(
        cls,
        release: Any,
        policy: OnePolicy,
        *,
        name: str | None = None,
        earlier: Sequence[Any] | Mapping[str, Any] = (),
        earlier_policies: OnePolicy | Sequence[OnePolicy] | None = None,
        external: Any = None,
        original: Any = None,
        control: Any = None,
        **reading: Any,
    ) -> Target:
        """Take a release of any kind; earlier ones had the same policy, unless theirs is given: one, or one each."""
        own = load_policy(policy)
        before, called = _names(earlier, release)
        policies = policy_of_each(own if earlier_policies is None else earlier_policies, len(before))
        tables = ReleasedTables.of(release, own, **reading)
        return cls(tables, own, name or called, before, tuple(policies), external, original, control, reading)

    @property
    def form(self) -> Form:
        """Which tables the release has."""
        return self.release.form

    @contextmanager
    def read_once(self) -> Iterator[Target]:
        """Return the same target, whose tables are read once, however many attacks ask for them in the block.

        The private table has the cells that the policy declares.
        """
        policy = self.policy
        with ExitStack() as stack:
            release, original = stack.enter_context(self.release.read_once()), self.original
            if original is not None:
                given = policy.form.by_name(original, policy.parts, "original")
                original = policy.form.as_given(
                    {
                        name: stack.enter_context(read_once(given[name], part.policy, **self.reading))
                        for name, part in policy.parts.items()
                    }
                )
            yield replace(self, release=release, original=original)


def _names(earlier: Sequence[Any] | Mapping[str, Any], release: Any) -> tuple[dict[str, Any], str]:
    """Return earlier releases by name, and the name of the release: those given, those of files, or numbers."""
    if isinstance(earlier, str | Path):
        raise PolicyError("releases: give several, earliest first")
    release = release.folder if isinstance(release, ReleasedTables) else release
    own = Path(release).name if isinstance(release, str | Path) else "the release"
    if isinstance(earlier, Mapping):
        return dict(earlier), own
    files = [Path(one).resolve() for one in earlier if isinstance(one, str | Path)]
    if isinstance(release, str | Path) and Path(release).resolve() in files:
        raise PolicyError(f"earlier: {own} is the release itself; give the releases before it")
    numbered = [f"release {number}" for number in range(1, len(earlier) + 2)]
    names = [
        Path(one).name if isinstance(one, str | Path) else number
        for one, number in zip(earlier, numbered, strict=False)
    ]
    if len({*names, own}) <= len(names):
        *names, own = numbered
    return dict(zip(names, earlier, strict=True)), own


def policy_of_each(policies: OnePolicy | Sequence[OnePolicy], number: int) -> list[Policy]:
    """Return a policy for each of some releases: the same for all, or one each."""
    if isinstance(policies, Policy | str | os.PathLike):
        return [load_policy(policies)] * number
    if len(policies) != number:
        raise PolicyError(f"policies: {len(policies)} for {number} releases; give one for all, or one for each")
    return [load_policy(policy) for policy in policies]


def people_notes(*policies: Policy) -> list[str]:
    """Say what is counted in releases of these policies; nothing where every row is of somebody else.

    >>> from indistinct import KAnonymity, Policy, quasi
    >>> policy = Policy(columns={"ward": quasi()}, privacy=[KAnonymity(2)], person="patient")
    >>> people_notes(policy)[0][:28]
    'rows are counted, not people'
    """
    if any(policy.links_rows for policy in policies):
        return [LINKED]
    return [ROWS] if any(policy.person_columns for policy in policies) else []
