"""Limits: what the guarantee of a release does not cover, as far as it concerns this one."""

from __future__ import annotations

from indistinct.policy import ALL_QUASI, Policy
from indistinct.recoding.classes import NOT_PROTECTED
from indistinct.report.subject import Subject

ALWAYS = (
    (
        "What others know besides",
        "Who can rule out some rows of a group by other knowledge is left with fewer than were promised.",
    ),
    (
        "Several releases of the same people",
        "Two releases that are each safe can reveal more together. A ledger checks a release against earlier ones. "
        "Without one, to make this release again makes a second, different one.",
    ),
    ("Membership", "That a person is in the table at all can follow from the release."),
    (
        "Knowledge of how the release was chosen",
        "A release that is as fine as it may be says that finer ones would have failed.",
    ),
    (
        "Sums and models",
        "Nothing is promised about statistics computed from the release; this is not differential privacy.",
    ),
    ("The law", "Whether the release counts as anonymous data is for a data protection officer to say."),
)

MEMBERSHIP, CHOICE, SUMS = ALWAYS[2:5]
BLIND_CHOICE = (CHOICE[0], f"{CHOICE[1]} The search saw no sensitive value, so nothing follows about those.")
NOT_WHERE_DRAWN = (MEMBERSHIP, CHOICE, SUMS)
"""What differential privacy does cover."""
DRAWN = (
    "Differential privacy",
    "That rows were drawn as the manifest says cannot be recounted from them; whoever made the release vouches for it. "
    "What several such releases of the same people spend adds up. What many people have in common can still be learnt.",
)

SEVERAL_ROWS = (
    "Every group by itself hides a person among other people. Who knows several rows of somebody looks at several "
    "groups; for what these reveal together nothing is promised."
)


def limits(subject: Subject) -> list[dict[str, str]]:
    """Return what is not protected, what concerns this policy first."""
    policy = subject.policy
    found = []
    if not subject.form.generalizes:
        found.append(("Who is in the tables", subject.said.not_protected or NOT_PROTECTED))
    found += _of_columns(policy)
    named = policy.quasi_identifiers or {}
    if len(named) > 1 or ALL_QUASI not in named:
        found.append(
            (
                "Columns of different quasi-identifiers together",
                "Each quasi-identifier is protected by itself, not all of their columns taken together.",
            )
        )
    always = [BLIND_CHOICE if one == CHOICE and subject.said.search.blind else one for one in ALWAYS]
    always = (
        [one for one in always if one not in NOT_WHERE_DRAWN and one != BLIND_CHOICE] if policy.is_drawn else always
    )
    found += [DRAWN] if policy.is_drawn else []
    return [{"title": title, "text": text} for title, text in (*found, *always)]


def _of_columns(policy: Policy) -> list[tuple[str, str]]:
    """Return what follows from the roles of columns and from models that do not ask about them."""
    found = [("Several rows of a person", SEVERAL_ROWS)] if policy.person_columns and not policy.links_rows else []
    unasked = [name for name in policy.with_role("sensitive") if name not in policy.asked_sensitive]
    if unasked:
        names = ", ".join(unasked)
        text = f"No model of the policy asks about {names}. If all rows of a group have the same value, it is revealed."
        found.append(("What a group has in common", text))
    if policy.perturbed:
        said = "; ".join(f"{name}: {how.in_words()}" for name, how in policy.perturbed.items())
        text = (
            f"{said}. These numbers are perturbed: none need be true of a person, and how close they are is not hidden."
        )
        found.append(("Numbers that are perturbed", text))
    others = [name for name in policy.with_role("other", "sensitive") if name not in policy.perturbed]
    if others:
        text = f"{', '.join(others)}: released as in the table. What names a person there is not hidden."
        found.append(("Columns that are not quasi-identifying", text))
    return found
