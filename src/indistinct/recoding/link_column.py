"""The column that links the two tables of a release, and what a policy must say to allow such a release."""

from __future__ import annotations

from indistinct.errors import PolicyError
from indistinct.policy import Policy

LINK = "class_id"
"""The column that links the two tables of a release."""

TWO_TABLES = "two-tables"
"""What a manifest says of the form of such a release."""

NOT_PROTECTED = (
    "The quasi-identifiers are published as they are: whoever knows them learns who is in the table. Hidden is only "
    "which sensitive value of a class belongs to whom. Rows of the two tables correspond one to one within a class."
)

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


def not_protected(policy: Policy) -> str:
    """Say what a release of two tables does not hide."""
    unasked = [name for name in policy.with_role("sensitive") if name not in policy.asked_sensitive]
    if not unasked:
        return NOT_PROTECTED
    names = ", ".join(map(repr, unasked))
    return f"{NOT_PROTECTED} No model asks about {names}: all people of a class may have the same value there."
