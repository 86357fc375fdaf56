"""Singling out: how often a description that was read from the release fits exactly one person of the private table.

A few cells of a released row describe somebody: 30 to 39 years, female, flu. Where they fit one person only, she is
singled out. Some descriptions do so by chance; the control shows how often, by people who are not in the release, or by
descriptions whose cells come from rows of their own.

Source: Cohen and Nissim, Towards formalizing the GDPR's notion of singling out, PNAS 2020; Giomi et al., PoPETs 2023,
whose attack takes raw values. Here a label fits every value that it covers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from indistinct.attacks.attack import (
    CONTROL,
    ORIGINAL,
    Attack,
    InapplicableError,
    OtherTable,
    option,
)
from indistinct.attacks.guessing.guess_report import Guess, GuessReport
from indistinct.attacks.guessing.known_cells import CodedRows, cells_of, people_of, with_shared_texts
from indistinct.attacks.guessing.rates import difference
from indistinct.attacks.joint_rows import attack_each_table
from indistinct.attacks.target import OnePolicy, Target, people_notes
from indistinct.counting import IntArray
from indistinct.hierarchy import keep
from indistinct.linkage import Coverage
from indistinct.policy import Policy
from indistinct.release.forms import LINKED_TABLES, ONE_TABLE, TWO_TABLES, Form

CELLS = (2, 3, 4)
TRIES = 300
MOST_PEOPLE = 200_000
"""Of a table with more distinct people nobody is looked for."""
SEED = 1


@dataclass(frozen=True, slots=True)
class SinglingOutReport(GuessReport):
    """How often a few cells of a released row fit one person, and how often cells by chance do."""

    attack: ClassVar[str] = "singling_out"
    main: ClassVar[str] = "a description read from the release singles somebody out and is"
    control: ClassVar[str] = "one without it"
    assumed: ClassVar[tuple[str, ...]] = ("nothing but the release, and the policy's hierarchies",)
    usual_advice: ClassVar[tuple[str, ...]] = (
        "release fewer columns as they are: recode or leave out those that are not quasi",
        "make columns that others may know quasi, so that k people share them",
    )
    scope: ClassVar[str] = (
        "Descriptions are cells of one row in a few columns, drawn at random. A better choice of rows and columns "
        "singles out more; and to single somebody out is not yet to know who it is."
    )


@dataclass(frozen=True, slots=True)
class SinglingOut(Attack):
    """Show how often a few cells of a released row fit exactly one person."""

    name: ClassVar[str] = "singling_out"
    title: ClassVar[str] = "Singling people out by a few cells"
    meaning: ClassVar[str] = "a few cells that stand in the release describe one person only, more often than by chance"
    asks: ClassVar[tuple[OtherTable, ...]] = (ORIGINAL,)
    takes: ClassVar[tuple[OtherTable, ...]] = (CONTROL,)
    forms: ClassVar[tuple[Form, ...]] = (ONE_TABLE, TWO_TABLES, LINKED_TABLES)

    cells: Sequence[int] = option(
        CELLS, "How many cells describe somebody. Else 2, 3 and 4.", int, least=1, is_several=True
    )
    tries: int = TRIES

    def attack(self, target: Target) -> SinglingOutReport:
        """Draw descriptions from the release, and count how often they fit one person."""
        return attack_each_table(self._describe, target, SinglingOutReport.of_tables)

    def _describe(self, target: Target) -> SinglingOutReport:
        policy = target.policy
        changed = {*policy.perturbed, *policy.shifted}
        with target.release.quasi_rows() as rows:
            names = [name for name in policy.with_role("quasi", "sensitive", "other") if name in rows.columns()]
            names = [name for name in names if name not in changed]
            if not names:
                raise InapplicableError("columns: the release has no column whose cells are those of people")
            released = cells_of(rows, names)
        if not len(released.counts):
            raise InapplicableError("the release has no row to describe")
        tables = [people_of(target.original, policy, names, "original", **target.reading)]
        if target.control is not None:
            tables.append(people_of(target.control, policy, names, "control", **target.reading))
        tables = with_shared_texts(tables, names)
        if max(len(table.counts) for table in tables) > MOST_PEOPLE:
            raise InapplicableError(f"original: has more than {MOST_PEOPLE:,} different people, too many to look for")
        people = _Described.of(policy, released, tables, names)
        draw = np.random.default_rng(SEED)
        upto = np.cumsum(released.counts) / released.counts.sum()
        guesses = []
        for number in sorted({min(one, len(names)) for one in self.cells}):
            right = control_right = 0
            for _ in range(self.tries):
                columns = draw.permutation(len(names))[:number].tolist()
                row, *others = upto.searchsorted(draw.random(number + 1), side="right").tolist()
                right += people.fitting(0, columns, [row] * number) == 1
                rows_of_control = others if target.control is None else [row] * number
                control_right += people.fitting(len(tables) - 1, columns, rows_of_control) == 1
            interval = difference(right, self.tries, control_right, self.tries)
            guesses.append(Guess(f"{number} cells", self.tries, right, self.tries, control_right, interval))
        return SinglingOutReport(tuple(guesses), tuple(people_notes(policy)))


def singling_out(
    release: Any,
    policy: OnePolicy,
    original: Any,
    *,
    control: Any = None,
    cells: Sequence[int] = CELLS,
    tries: int = TRIES,
    **reading: Any,
) -> SinglingOutReport:
    """Return how often a few cells of a released row fit exactly one person of the original.

    ``control`` is a table of people who are not in the release, to whom the same descriptions are held; without it the
    control's descriptions take each cell from another released row. For each number of ``cells`` there are
    ``tries`` tries, with a fixed seed. ``reading`` goes to the engine.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, other, quasi
    >>> policy = Policy(columns={"sex": quasi(), "bill": other()}, privacy=[KAnonymity(2)])
    >>> table = pa.table({"sex": ["f", "m"] * 20, "bill": [str(100 + row) for row in range(40)]})
    >>> singling_out(table, policy, table, cells=[2]).guesses[0].rate
    1.0
    """
    target = SinglingOut.target_of(release, policy, original=original, control=control, **reading)
    return SinglingOut(cells, tries).attack(target)


@dataclass(frozen=True, slots=True)
class _Described:
    """Who of some tables fits labels of a release."""

    released: CodedRows
    names: Sequence[str]
    ranks: Sequence[Sequence[IntArray]]
    """Of each table and column the rank of each distinct person."""
    counts: Sequence[IntArray]
    is_covered: Sequence[NDArray[np.bool_]]
    """Of each column (labels, ranks)."""

    @classmethod
    def of(cls, policy: Policy, released: CodedRows, tables: Sequence[CodedRows], names: Sequence[str]) -> _Described:
        """Work out what the labels of each column cover."""
        ranks: list[list[IntArray]] = [[] for _ in tables]
        covered = []
        for name in names:
            column = policy.columns[name]
            hierarchy = column.hierarchy if column.role == "quasi" else keep()
            found = Coverage.of(hierarchy, released.texts[name], tables[0].texts[name], missing_fits=False)
            is_covered = np.zeros((len(found.covered), found.number), np.bool_)
            for label, own in enumerate(found.covered):
                is_covered[label, np.asarray(own, np.int64)] = True
            covered.append(is_covered)
            for place, table in enumerate(tables):
                ranks[place].append(found.ranks[table.codes[name]])
        return cls(released, names, ranks, [table.counts for table in tables], covered)

    def fitting(self, table: int, columns: Sequence[int], rows: Sequence[int]) -> int:
        """Count the people of a table who fit the labels that some released rows have in some columns, one each."""
        fits = []
        for column, row in zip(columns, rows, strict=True):
            label = self.released.codes[self.names[column]][row]
            fits.append((self.is_covered[column][label], self.ranks[table][column]))
        (is_covered, ranks), *others = sorted(fits, key=lambda one: one[0].mean())  # what fits few values comes first
        left = np.flatnonzero(is_covered.take(ranks))
        for is_covered, ranks in others:
            left = left[is_covered.take(ranks.take(left))]
        return int(self.counts[table][left].sum())
