"""DowncodingReport: which cells of a release can be sharpened, in counts, labels and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from indistinct.attacks.attack_report import AttackReport, ReportTable, Severity
from indistinct.attacks.labels import Label
from indistinct.showing.words import cells_in_words, counted

Kind = Literal["certain", "counted", "named", "present", "crowd", "absent", "somewhere"]

KINDS: dict[Kind, str] = {
    "certain": "the lower label of every row is known",
    "counted": "it is known how many rows lie under each lower label",
    "named": "a lower label that is known has fewer than k rows",
    "present": "a lower label is known to occur",
    "crowd": "some lower label has fewer than k rows",
    "absent": "a lower label is known not to occur",
    "somewhere": "some rows of the table have a lower label with fewer than k rows",
}
"""What findings say, worst first."""

ADVICE = (
    "make it again with anonymize --random-raise 0.1, or say random_raise = 0.1 in the options of regroup, mondrian "
    "or k-similar: "
    "chance then raises some labels, and none tells",
    "give these columns hierarchies with larger steps, or release them higher than they must be",
    "raise k, so that the crowds that follow are larger",
    "suppress the rows of the worst groups",
    "use an algorithm that is not minimal (datafly), or release two tables, which generalize nothing",
)

SCOPE = (
    "This is what follows for certain from the released cells, the hierarchies and what is assumed. Not shown is what "
    "is merely likely, what follows from sensitive columns or other tables, and not every consequence of minimality: "
    "that nothing is found does not prove that nothing can be found."
)


class Bound(NamedTuple):
    """The least and the most rows of a group that lie under a lower label."""

    label: Label
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class SharpenedGroup:
    """What follows about one column of a group; of the whole table, if there is no group."""

    also: ClassVar[tuple[str, ...]] = ("sentence",)

    kind: Kind
    column: str
    group: dict[str, Label] | None
    """The released cells of the group."""
    rows: int
    """The rows of the group; for the whole table, those that would stand out one level lower."""
    bounds: tuple[Bound, ...]
    """The lower labels about which something follows."""
    crowd: int
    """Some rows, from 1 to this number, share a lower label that none of the other rows of the group has."""
    assumption: str | None
    """What has to be assumed for it, in words."""

    @property
    def sentence(self) -> str:
        """What follows, and from what, in English."""
        reason = f"if {self.assumption}" if self.assumption else "since the hierarchy has nothing else below its label"
        if self.group is None:
            where = "alone" if self.crowd == 1 else f"in a group of at most {self.crowd}"
            return (
                f"At least {counted(self.rows, 'row')} of the table would stand {where} if {self.column} were one "
                f"level lower, though it does not follow which, {reason}."
            )
        cells = cells_in_words(self.group, first=self.column)
        return f"Of the {counted(self.rows, 'row')} with {cells}: {self._what_follows()}, {reason}."

    def _what_follows(self) -> str:
        if self.kind == "certain":
            (only,) = (bound for bound in self.bounds if bound.least)
            return f"all have {self.column} {_show_label(only.label)}"
        occurring = [
            f"{_rows_in_words(bound)} {self.column} {_show_label(bound.label)}" for bound in self.bounds if bound.least
        ]
        absent = [_show_label(bound.label) for bound in self.bounds if not bound.most]
        parts = [_join_parts(occurring)] if occurring else []
        if self.kind in ("named", "present", "crowd") and self.crowd < self.rows:
            share = "1 row has" if self.crowd == 1 else f"at most {self.crowd} share"
            parts.append(f"{share} a lower label of {self.column} that none of the others has")
        if absent:
            parts.append(f"none has {self.column} {_join_parts(absent, 'or')}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class ColumnExposure:
    """What follows about one column, in numbers."""

    column: str
    generalized_cells: int
    sharpened_cells: int
    generalized_groups: int
    """Groups with a generalized label in this column."""
    groups_with_crowds: int
    """Groups with some rows that are known to share a lower label with fewer than k."""


@dataclass(frozen=True, slots=True)
class DowncodingReport(AttackReport):
    """What follows from a release alone: counts, released labels, and labels of the policy's hierarchies."""

    attack: ClassVar[str] = "downcoding"
    also: ClassVar[tuple[str, ...]] = ("generalized_cells", "sharpened_cells")
    usual_advice: ClassVar[tuple[str, ...]] = ADVICE
    scope: ClassVar[str] = SCOPE

    k: int
    rows: int
    groups: int
    recoding: Literal["full-domain", "local"]
    assumed: dict[str, str]
    """What was assumed, by name and in words."""
    columns: tuple[ColumnExposure, ...]
    smallest_crowd: int
    """The fewest rows of one group that are known to share a released or a lower label, which need not be known."""
    kinds: dict[Kind, int]
    """How many findings there are of each kind, worst first."""
    findings: tuple[SharpenedGroup, ...]
    """The worst ones, worst first; no more than were asked for."""
    notes: tuple[str, ...]

    @property
    def generalized_cells(self) -> int:
        """Released cells that carry a label above the values."""
        return sum(column.generalized_cells for column in self.columns)

    @property
    def sharpened_cells(self) -> int:
        """Generalized cells whose lower label is known for certain, though not always in which row of the group."""
        return sum(column.sharpened_cells for column in self.columns)

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        cells = counted(self.generalized_cells, "generalized cell")
        if not self.generalized_cells:
            return "no cell is generalized, so there is nothing to sharpen"
        if not self.kinds:
            return f"nothing follows about the {cells}"
        return (
            f"{self.sharpened_cells:,} of {cells} can be sharpened; the smallest crowd that follows is "
            f"{counted(self.smallest_crowd, 'row')}, where k is {self.k}"
        )

    @property
    def severity(self) -> Severity:
        """Something, if lower labels are known or a crowd is smaller than k."""
        is_some = bool(self.kinds) and (self.sharpened_cells > 0 or self.smallest_crowd < self.k)
        return "something" if is_some else "nothing"

    @property
    def figures(self) -> Mapping[str, float]:
        """How many cells can be sharpened."""
        return {
            "generalized cells": self.generalized_cells,
            "cells whose lower label is known": self.sharpened_cells,
            "smallest crowd that follows": self.smallest_crowd,
            "k": self.k,
        }

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is assumed of the algorithm."""
        return tuple(self.assumed.values())

    def tables(self) -> list[ReportTable]:
        """Return the numbers of each column that has generalized cells, and how often each kind of finding was made."""
        size = f"{counted(self.rows, 'row')} in {counted(self.groups, 'group')}"
        title = f"{self.attack.capitalize()}: {size}, {self.recoding}"
        heads = ("column", "generalized cells", "sharpened", "groups", "with crowds below k")
        columns = [
            (one.column, one.generalized_cells, one.sharpened_cells, one.generalized_groups, one.groups_with_crowds)
            for one in self.columns
        ]
        kinds = [(kind, KINDS[kind], number) for kind, number in self.kinds.items()]
        found = [ReportTable("Findings, worst first", ("kind", "what it says", "findings"), kinds, words=2)]
        return [ReportTable(title, heads, columns), *(found if kinds else [])]


def _show_label(label: Label) -> str:
    return "missing" if label is None else label


def _rows_in_words(bound: Bound) -> str:
    """Say how many rows have a lower label.

    >>> _rows_in_words(Bound("clerk", 1, 1)), _rows_in_words(Bound("clerk", 1, 4))
    ('exactly 1 has', 'between 1 and 4 have')
    """
    if bound.least < bound.most:
        return f"between {bound.least} and {bound.most} have"
    return f"exactly {bound.least} {'has' if bound.least == 1 else 'have'}"


def _join_parts(parts: Sequence[str], word: str = "and", most: int = 6) -> str:
    """Join parts as a sentence does.

    >>> _join_parts(["a", "b", "c"]), _join_parts(["a", "b"], "or")
    ('a, b and c', 'a or b')
    """
    if len(parts) > most:
        return f"{', '.join(parts[:most])} {word} {len(parts) - most} more"
    return f" {word} ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
