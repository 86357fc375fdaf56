"""The column that links the two tables of a release, and what a policy must say to allow such a release."""

from __future__ import annotations

from indistinct.errors import PolicyError
from indistinct.policy import Policy

LINK = "class_id"
"""The column that links the two tables of a release."""

NOTHING_HIDDEN = "no model asks about sensitive values, and they are all that a release of two tables hides"


def check_link(policy: Policy) -> None:
    """Raise one error with every reason why a policy allows no release of two tables."""
    mistakes = []
    if not policy.with_role("sensitive"):
        mistakes.append("columns: a release of two tables needs a sensitive column; declare one with sensitive()")
    elif not policy.asked_sensitive:
        mistakes.append(f"privacy: {NOTHING_HIDDEN}; add one such as AlphaK or LDiversity, or release one table")
    mistakes += [
        f"columns.{name}: {LINK!r} is the column that links the two tables; give your column another name"
        for name in policy.columns
        if name.lower() == LINK
    ]
    if policy.suppressed_rows == "blank":
        mistakes.append(
            "suppressed_rows: rows of a release of two tables are removed, never left blank; say 'remove', or leave "
            "it out"
        )
    mistakes += [
        f"privacy: {model.name} cannot be met by a release of two tables, which publishes quasi-identifiers as they "
        "are; choose an algorithm that generalizes"
        for model in policy.privacy
        if model.asks_population
    ]
    if mistakes:
        raise PolicyError(mistakes)
