"""Minimality: what follows about sensitive values from why a group was not divided.

An algorithm that looks at sensitive values generalizes no more than it must. So where a group could have been released
as several smaller ones, some of those would have failed: too many of their people have the same value. Whoever knows
the quasi cells of people counts only the ways of handing out the values of a group to its people in which that is so,
and some values become likelier for some people than their share of the group.

Source: Wong, Fu, Wang, Pei, Minimality attack in privacy preserving data publishing, VLDB 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from indistinct.attacks.guessing.guess_report import Guess, GuessReport
from indistinct.attacks.guessing.rates import paired_difference
from indistinct.attacks.people_notes import people_notes
from indistinct.errors import PolicyError

if TYPE_CHECKING:
    import os

    from indistinct.policy import Policy

BLIND = "no model asks about sensitive values, so the search saw none, and nothing follows from what it chose"


@dataclass(frozen=True, slots=True)
class MinimalityReport(GuessReport):
    """How often values are guessed right by why groups were not divided, and by their shares of a group."""

    attack: ClassVar[str] = "minimality"
    main_words: ClassVar[str] = "whoever knows why groups were not divided is"
    control_words: ClassVar[str] = "whoever knows only the shares of each group"
    assumed: ClassVar[tuple[str, ...]] = (
        "the quasi cells of everybody in the release as they were",
        "the policy, and that no group could have been divided by one column without breaking it",
    )
    advice: ClassVar[tuple[str, ...]] = (
        "ask for models that do not look at sensitive values, so that the search is blind",
        "or draw the release: differential-privacy, or anatomy, whose classes are random",
    )
    scope: ClassVar[str] = (
        "Groups were attacked one by one, of which it is known who is in them, by columns whose labels stand in the "
        "hierarchy. Other rules of an algorithm, and what several groups tell together, may tell more."
    )

    groups: int = 0
    """Groups that were attacked."""
    raised: int = 0
    """People of whom some value is believed more firmly than its share of the group says."""
    highest: float = 0.0
    """The firmest of these beliefs."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON takes it."""
        own = {"groups": self.groups, "raised": self.raised, "highest": self.highest}
        return {**GuessReport.to_dict(self), **own}


def minimality(
    release: Any, policy: Policy | str | os.PathLike[str], original: Any, **reading: Any
) -> MinimalityReport:
    """Return how often sensitive values follow from why groups were not divided.

    ``release`` is a Release, a release folder or a released table of any kind, ``original`` the private table: its
    quasi cells are known to whoever attacks, its sensitive cells say who is right. ``reading`` goes to the engine.

    Here two people have q1 and five q2. Had one of the two been without HIV, q1 would not have been generalized:

    >>> import pyarrow as pa
    >>> from indistinct import AlphaK, Policy, quasi, sensitive, suppress
    >>> policy = Policy(columns={"q": quasi(suppress()), "ill": sensitive()}, privacy=[AlphaK(0.5, 2)])
    >>> private = pa.table({"q": ["q1"] * 2 + ["q2"] * 5, "ill": ["HIV"] * 2 + ["flu", "gout", "rash", "cold", "burn"]})
    >>> released = pa.table({"q": ["*"] * 7, "ill": private["ill"]})
    >>> report = minimality(released, policy, private)
    >>> report.highest, report.raised
    (1.0, 7)
    """
    from indistinct.attacks.guessing.undivided_groups import UndividedGroups
    from indistinct.policy.load import load_policy
    from indistinct.release.released_tables import ReleasedTables

    policy = load_policy(policy, to="attack")
    if not policy.asked_sensitive:
        raise PolicyError(BLIND)
    found = UndividedGroups.read(ReleasedTables.of(release, policy, **reading), policy, original, **reading)
    guesses, raised, highest = [], 0, 0.0
    for name in policy.asked_sensitive:
        outcome = found.guess(name)
        both, first, second, neither = outcome.right
        people = sum(outcome.right)
        if people:
            interval = paired_difference(both, first, second, neither)
            guesses.append(Guess(name, people, both + first, people, both + second, interval))
        raised, highest = max(raised, outcome.raised), max(highest, outcome.highest)
    notes = (*people_notes(policy), *found.notes)
    return MinimalityReport(tuple(guesses), notes, len(found.groups), raised, highest)
