"""Classes: rows grouped for a release of two tables, the column that links these, and which policies allow them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from indistinct.array_types import BoolArray
from indistinct.counting import FrequencyList, Node
from indistinct.engine.plans import CLASS, ClassPlan
from indistinct.errors import PolicyError
from indistinct.policy import Policy
from indistinct.recoding.recoding import GroupedRecoding, Pieces
from indistinct.release.forms import TWO_TABLES, Form

LINK = CLASS
"""The column that links the two tables of a release."""

NOT_PROTECTED = (
    "The quasi-identifiers are published as they are: whoever knows them learns who is in the table. Hidden is only "
    "which sensitive value of a class belongs to whom. Rows of the two tables correspond one to one within a class."
)

NOTHING_HIDDEN = "no model asks about sensitive values, and they are all that a release of two tables hides"


@dataclass(frozen=True, slots=True, eq=False)
class Classes(GroupedRecoding):
    """Rows in classes for a release of two tables: quasi cells as they are, sensitive ones apart, linked by class.

    No cell is generalized. What the release hides is which of a class's sensitive values belongs to whom.
    """

    form: ClassVar[Form] = TWO_TABLES

    @classmethod
    def of_pieces(cls, frequencies: FrequencyList, pieces: Pieces) -> Classes:
        """Number the groups of the pieces through as classes."""
        pieces, numbers = pieces.number_groups()
        return cls(frequencies, pieces, pieces.sizes(len(numbers)))

    @property
    def levels(self) -> dict[str, int]:
        """Every quasi column stays as it is."""
        return dict.fromkeys(self.frequencies.columns, 0)

    @property
    def node(self) -> Node:
        """The bottom of the lattice."""
        return (0,) * len(self.frequencies.columns)

    def looks_suppressed(self) -> bool:
        """Rows of two tables are removed, never left blank."""
        return False

    def without_groups(self, is_left_out: BoolArray) -> Classes:
        """Return the same classes without some of them."""
        return self.of_pieces(self.frequencies, self.pieces.without_groups(is_left_out))

    def plan(self, policy: Policy, extra: tuple[str, ...] = ()) -> ClassPlan:
        """Put the classes in the engine's terms; raise if the policy allows no release of two tables."""
        check_link(policy)
        frequencies, pieces = self.frequencies, self.pieces
        tuples = {name: frequencies.entry_codes(c)[pieces.tuples] for c, name in enumerate(frequencies.columns)}
        return ClassPlan(
            tables={"quasi": (*policy.with_role("quasi", "other"), *extra), "sensitive": policy.with_role("sensitive")},
            tuples=tuples | {name: codes[pieces.tuples] for name, codes in frequencies.entries.codes.items()},
            rows=pieces.rows,
            groups=pieces.groups,
            link=LINK,
        )

    def _seen_without(self, position: int | None, plain: FrequencyList, pieces: Pieces) -> Classes:
        """Return the same classes."""
        return self.of_pieces(plain, pieces)


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
        f"privacy: {model.name}{'' if model.known is None else ' with known'} cannot be met by a release of two "
        "tables, which publishes quasi-identifiers as they are; choose an algorithm that generalizes"
        for model in policy.privacy
        if model.asks_population or model.known is not None
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
