"""Dependencies: columns that are released as they are and tell what became of a generalized one.

A column tells another as ``linkage.functional_dependencies`` defines it. Whoever knows what tells what, from a map, a
code book or rows that kept the value, undoes the generalization.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from indistinct.attacks.attack import Attack, OtherTable
from indistinct.attacks.attack_report import AttackReport, Severity
from indistinct.attacks.labels import WHOLE, Beginning, Reader, Span, Texts
from indistinct.attacks.target import OnePolicy, Target, people_notes
from indistinct.counting import read_as_declared
from indistinct.engine import Rows, use_table
from indistinct.linkage import (
    CodedColumn,
    Dependency,
    coded_columns,
    dependencies_between,
    guess,
    number_tuples,
    pairs_between,
    unseen_pairs,
)
from indistinct.policy import Policy
from indistinct.showing.words import counted

ADVICE = (
    "make the column that tells another quasi as well, so that both are generalized together",
    "or leave it out: declare it an identifier",
)

SCOPE = (
    "Looked for are single columns that tell a quasi column. Not shown is what several columns tell together, and what "
    "is merely likely. Without the original only values that the release kept somewhere can be told."
)


@dataclass(frozen=True, slots=True)
class Telling:
    """A column that tells quasi columns, and whom it leaves alone."""

    also: ClassVar[tuple[str, ...]] = ("sentence",)

    column: str
    tells: tuple[str, ...]
    is_exact: bool
    """No two rows with the same cell differ in any of them."""
    alone: int
    """Rows that no other row equals once the told values stand in the place of their labels."""
    below_k: int
    """Rows that fewer than k rows equal then."""

    @property
    def sentence(self) -> str:
        """What a recipient learns, in English."""
        how = "tells" if self.is_exact else "nearly tells"
        left = f"{counted(self.alone, 'row stands', 'rows stand')} alone, {self.below_k:,} among fewer than k"
        return f"{self.column} {how} {', '.join(self.tells)}: with it {left}."


@dataclass(frozen=True, slots=True)
class DependencyReport(AttackReport):
    """Which released columns tell generalized ones, and how many rows they leave alone: counts, and no cell."""

    attack: ClassVar[str] = "dependencies"
    usual_advice: ClassVar[tuple[str, ...]] = ADVICE
    scope: ClassVar[str] = SCOPE

    rows: int
    k: int
    columns: tuple[Telling, ...]
    alone: int
    """Rows that stand alone by all that is told together."""
    below_k: int
    notes: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        """Broken if rows stand among fewer than k by what columns always tell."""
        if any(one.below_k for one in self.columns if one.is_exact):
            return "broken"
        return "something" if self.below_k else "nothing"

    @property
    def figures(self) -> Mapping[str, float]:
        """How many columns tell others, and whom that exposes."""
        return {
            "columns that tell others": len(self.columns),
            "rows that stand alone by them": self.alone,
            "rows among fewer than k by them": self.below_k,
        }

    @property
    def sentences(self) -> list[str]:
        """What each column tells."""
        return [one.sentence for one in self.columns]

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        if not self.columns:
            return "no column that is released as it is tells a generalized one"
        which = "; ".join(f"{one.column} tells {', '.join(one.tells)}" for one in self.columns)
        left = f"{counted(self.alone, 'row stands', 'rows stand')} alone by it, {self.below_k:,} among fewer than k"
        return f"column {which}; {left}"


@dataclass(frozen=True, slots=True)
class Dependencies(Attack):
    """Show which columns that are released as they are tell a generalized one, and how many rows that leaves alone."""

    name: ClassVar[str] = "dependencies"
    title: ClassVar[str] = "Columns that tell others"
    meaning: ClassVar[str] = "a generalized cell can be read from another column, as if it had not been generalized"
    held: ClassVar[tuple[str, ...]] = (
        "the release",
        "what tells what: a map or a code book, or the rows that kept a value",
    )
    takes: ClassVar[tuple[OtherTable, ...]] = (
        OtherTable("original", "TABLE", "The private table, from which it is learned what tells what.", ""),
    )
    roles: ClassVar[tuple[str, ...]] = ("sensitive", "other")

    def attack(self, target: Target) -> DependencyReport:
        """Find what tells what, and count whom that exposes."""
        policy = target.policy
        k = max((getattr(model, "k", 1) for model in policy.models_of_groups), default=1)
        with target.release.only_rows() as table:
            quasi = [name for name in policy.quasi if name in table.columns()]
            shown = [name for name in policy.with_role("other", "sensitive") if name in table.columns()]
            released = coded_columns(table, [*quasi, *shown])
            count = table.count()
        notes = people_notes(policy)
        if not released and quasi and shown:
            return DependencyReport(count, k, (), 0, 0, (*notes, "the release is too large to be looked at for this"))
        if target.original is None:
            source: Mapping[str, CodedColumn] = released
            keep = {name: _is_single(released[name], policy, name) for name in quasi}
            notes = [*notes, *_notes_without_original(keep)]
        else:
            keep = {}
            with use_table(target.original, **target.reading) as rows:
                source = _read_original(rows, policy, [*quasi, *shown])
        notes = [*notes, *unseen_pairs(shown, quasi)]
        asked = [name for name in quasi if name in source and (name not in keep or keep[name].any())]
        pairs = list(pairs_between(source, shown, asked))
        told: dict[str, list[Dependency]] = {}
        for name in asked:
            telling = [one for one, other in pairs if other == name]
            among = {one: _where(source[one], keep.get(name)) for one in (*telling, name)}
            for found in dependencies_between(among, telling, [name]):
                told.setdefault(found.column, []).append(found)
        return _count_exposed(released, source, keep, told, quasi, DependencyReport(count, k, (), 0, 0, tuple(notes)))


def dependencies(release: Any, policy: OnePolicy, *, original: Any = None, **reading: Any) -> DependencyReport:
    """Return the columns that a release shows as they are and that tell a generalized column, and whom that exposes.

    What tells what is learned from the ``original`` if it is given, else from the released rows whose quasi cell is
    still a single value. ``reading`` goes to the engine.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, other, quasi, suppress
    >>> policy = Policy(columns={"town": quasi(suppress()), "height": other()}, privacy=[KAnonymity(4)])
    >>> original = pa.table({"town": ["Ulm", "Ulm", "Bern", "Bern"], "height": [478, 478, 540, 540]})
    >>> release = pa.table({"town": ["*"] * 4, "height": [478, 478, 540, 540]})
    >>> print(dependencies(release, policy, original=original).columns[0].sentence)
    height tells town: with it 0 rows stand alone, 4 among fewer than k.
    """
    return Dependencies().attack(Dependencies.target_of(release, policy, original=original, **reading))


def _read_original(rows: Rows, policy: Policy, names: list[str]) -> Mapping[str, CodedColumn]:
    """Read the columns of the original as the policy declares its cells."""

    read = read_as_declared(rows, policy)
    try:
        return coded_columns(read, [name for name in names if name in read.columns()])
    finally:
        if read is not rows:
            read.close()


def _where(column: CodedColumn, rows: Any) -> CodedColumn:

    return column if rows is None else CodedColumn(column.codes[rows], column.texts)


def _is_single(column: CodedColumn, policy: Policy, name: str) -> Any:
    """Return of each released row whether its cell is still one value, and no label for several."""

    reader = Reader(policy.columns[name], policy.suppressed_rows == "blank")
    single = []
    for text in column.texts:
        meaning = reader.read(text)
        body = None if meaning is None else meaning.body
        is_one = (
            (isinstance(body, Texts) and body.values == {text})
            or (isinstance(body, Beginning) and body.kept == WHOLE)
            or (
                isinstance(body, Span)
                and body.low is not None
                and body.high is not None
                and body.low[0] == body.high[0]
            )
        )
        single.append(is_one)
    return np.array(single, np.bool_)[column.codes]


def _notes_without_original(keep: Mapping[str, Any]) -> list[str]:
    """Say which columns are nowhere released as they were, so that nothing can be learned about them."""
    hidden = [name for name, rows in keep.items() if not rows.any()]
    if not hidden:
        return []
    return [f"{', '.join(hidden)} kept no value, so what tells it cannot be seen from the release: give the original"]


def _count_exposed(
    released: Mapping[str, CodedColumn],
    source: Mapping[str, CodedColumn],
    keep: Mapping[str, Any],
    told: Mapping[str, list[Dependency]],
    quasi: list[str],
    empty: DependencyReport,
) -> DependencyReport:
    """Put the told values beside the labels, and count the rows that few others equal then."""

    labels = [released[name].codes for name in quasi]
    everything, columns = list(labels), []
    for column, found in told.items():
        values = []
        for one in found:
            rows = keep.get(one.tells)
            guessed = guess(_where(source[column], rows), _where(source[one.tells], rows))
            place = {text: code for code, text in enumerate(source[column].texts)}
            by_text = np.array([guessed[place[text]] if text in place else -1 for text in released[column].texts])
            values.append(by_text[released[column].codes])
        sizes = _crowds([*labels, *values])
        everything += values
        exact = all(one.is_exact for one in found)
        tells = tuple(one.tells for one in found)
        columns.append(Telling(column, tells, exact, int((sizes == 1).sum()), int((sizes < empty.k).sum())))
    if not columns:
        return empty
    sizes = _crowds(everything)
    columns.sort(key=lambda one: (-one.below_k, one.column))
    return replace(empty, columns=tuple(columns), alone=int((sizes == 1).sum()), below_k=int((sizes < empty.k).sum()))


def _crowds(columns: list[Any]) -> Any:
    """Return for each row the number of rows that equal it in all columns."""
    numbers = number_tuples([column + 1 for column in columns], len(columns[0]))  # -1 is what nothing tells
    return np.bincount(numbers)[numbers]
