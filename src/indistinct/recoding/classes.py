"""Classes: rows grouped for a release of two tables, in which no cell is generalized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from indistinct.counting import FrequencyList, Node
from indistinct.engine.plans import ClassPlan
from indistinct.policy import Policy
from indistinct.recoding.link_column import LINK, TWO_TABLES, check_link, not_protected
from indistinct.recoding.pieces import Pieces
from indistinct.recoding.recoding import BoolArray, GroupedRecoding


@dataclass(frozen=True, slots=True, eq=False)
class Classes(GroupedRecoding):
    """Rows in classes for a release of two tables: quasi cells as they are, sensitive ones apart, linked by class.

    No cell is generalized. What the release hides is which of a class's sensitive values belongs to whom.
    """

    is_divided: ClassVar[bool] = True

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
        """Give the same classes without some of them."""
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

    def level_facts(self, policy: Policy) -> dict[str, Any]:
        """Say that there are two tables, what links them and what they do not hide."""
        return {"node": self.levels, "form": TWO_TABLES, "link": LINK, "not_protected": not_protected(policy)}

    def _seen_without(self, position: int | None, plain: FrequencyList, pieces: Pieces) -> Classes:
        """Give the same classes."""
        return self.of_pieces(plain, pieces)
