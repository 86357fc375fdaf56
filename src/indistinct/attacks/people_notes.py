"""What attacks count where a person may have several rows: rows, since a release does not say whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indistinct.policy import Policy

ROWS = (
    "rows are counted, not people: whose they are is not in the release, so several of them may be one person's; "
    "people were counted when it was made"
)
LINKED = (
    "rows are counted, each by itself: those with the same pseudonym are one person's, and whoever knows several of "
    "them finds them together"
)
ALIKE = "where all rows of a group have one value, so have all its people; other shares are those of rows"


TOGETHER = (
    "pseudonyms are counted in place of rows: all rows of one are linked together, and somebody fits it if each of "
    "them fits what is known of her; whether she has as many rows was not compared"
)
BY_PROFILE = "people are counted, by the pseudonyms: a group is those who have the same rows"
PERSONS = "people of the other table may have several rows there; each is counted once"


def link_notes(policy: Policy, *, is_linked: bool, has_persons: bool) -> list[str]:
    """Say what linking counts: pseudonyms or rows on one side, on the other people who may have several rows."""
    own = [TOGETHER] if is_linked else people_notes(policy)
    return [*own, *([PERSONS] if has_persons else [])]


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
