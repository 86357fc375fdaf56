"""Person trees: what several tables together tell of each person, read from their cells alone.

A person's tree is the multiset of her rows in each table, each row with the multisets of the rows that refer to it.
Trees are numbered by their whole content, with dictionaries and NumPy; nothing here shares code with the search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from indistinct.counting import Groups, IntArray, Tally
from indistinct.engine import Rows
from indistinct.policy import PSEUDONYM, Part, Policy, sensitive_columns
from indistinct.privacy.model import PrivacyModel
from indistinct.proof.checks import Check

NOBODY = -1
NO_DATE = np.iinfo(np.int64).min
MICROSECONDS_A_DAY = 86_400_000_000
START = datetime(1970, 1, 1)


class Tied(Protocol):
    """Tables and how their rows belong to people and to each other, as a policy of several tables says it."""

    @property
    def parts(self) -> Mapping[str, Part]:
        """The tables."""

    def in_order(self) -> tuple[str, ...]:
        """Return their names, each after those that its rows refer to."""


@dataclass(frozen=True, slots=True)
class SingleTable:
    """A single table whose rows are linked by a pseudonym."""

    parts: Mapping[str, Part]

    @classmethod
    def of(cls, policy: Policy) -> SingleTable:
        """Take its policy."""
        return cls({"table": Part(policy, policy.person_columns, None, None, None, None, None)})

    def in_order(self) -> tuple[str, ...]:
        """Return its name."""
        return tuple(self.parts)


class Numbers:
    """Gives the same number to the same content, whichever table or release it comes from."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], dict[str | None, int]] = {}
        self._contents: dict[tuple[str, bytes], int] = {}

    def of_texts(self, table: str, column: str, texts: Sequence[str | None]) -> IntArray:
        """Number the texts of a column of a table."""
        known = self._texts.setdefault((table, column), {})
        return np.array([known.setdefault(text, len(known)) for text in texts], np.int64)

    def texts_of(self, table: str, column: str) -> list[str | None]:
        """Return the texts of a column of a table that have been numbered, in the order of their numbers."""
        return list(self._texts.get((table, column), {}))

    def of_contents(self, kind: str, contents: Sequence[bytes]) -> IntArray:
        """Number contents of a kind."""
        known = self._contents
        return np.array([known.setdefault((kind, content), len(known)) for content in contents], np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """One table: the number of each cell, whose row it is, its key, and the row of another table it belongs to."""

    part: Part
    cells: Mapping[str, IntArray]
    moments: Mapping[str, IntArray]
    """The microseconds of each date of the columns whose dates move; NO_DATE where there is none."""
    persons: IntArray
    """The number of each row's person; NOBODY where a reference leads nowhere."""
    parents: IntArray
    """The place of the row that each belongs to in the table of that; NOBODY where there is none."""
    dangling: int
    """The rows whose reference leads nowhere."""
    strangers: int
    """The rows whose reference leads to a row of somebody else."""
    repeated: int
    """The rows whose key another row has, too."""


@dataclass(frozen=True, slots=True, eq=False)
class PersonTrees:
    """Several tables with whose rows they are."""

    tied: Tied
    tables: Mapping[str, Held]
    number: int
    """How many people there are."""
    first_moments: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """The earliest date of each person that moves; NO_DATE where she has none."""

    @classmethod
    def of(cls, tables: Mapping[str, Rows], tied: Tied, numbers: Numbers, *, is_released: bool) -> PersonTrees:
        """Read tables: released ones by their pseudonyms, others by the columns that the policy names."""
        people: dict[tuple[str | None, ...], int] = {}
        held: dict[str, Held] = {}
        keys: dict[str, dict[str | None, int]] = {}
        for name in tied.in_order():
            part = tied.parts[name]
            person = part.person if not is_released else (PSEUDONYM,) if part.person else ()
            held[name] = _read_held(name, tables[name], part, person, (numbers, people, keys, held))
        found = cls(tied, {name: held[name] for name in tied.parts}, len(people))
        return replace(found, first_moments=found._first_moments())

    def _first_moments(self) -> IntArray:
        first = np.full(self.number, np.iinfo(np.int64).max)
        for table in self.tables.values():
            for moments in table.moments.values():
                is_there = (moments != NO_DATE) & (table.persons != NOBODY)
                np.minimum.at(first, table.persons[is_there], moments[is_there])
        first[first == np.iinfo(np.int64).max] = NO_DATE
        return first

    def profiles(
        self, columns: Callable[[Part], Sequence[str]], numbers: Numbers, *, with_dates: bool = False
    ) -> IntArray:
        """Number the tree of each person over some columns; equal trees have equal numbers.

        ``with_dates`` also compares dates that move, by what lies between them and the first date of the person, and
        the time of the day of that.
        """
        of_rows: dict[str, list[IntArray]] = {name: [] for name in self.tables}
        of_people: list[IntArray] = []
        for name in reversed(self.tied.in_order()):
            table = self.tables[name]
            parts = [table.cells[column] for column in columns(table.part)]
            if with_dates:
                parts += [self._since_first(table, moments) for moments in table.moments.values()]
            rows = len(table.persons)
            kinds = numbers.of_contents(f"row {name}", _contents([*parts, *of_rows[name], np.zeros(rows, np.int64)]))
            if table.part.parent is None:
                of_people.append(_multisets(name, kinds, table.persons, self.number, numbers))
            else:
                above = len(self.tables[table.part.parent].persons)
                of_rows[table.part.parent].append(_multisets(name, kinds, table.parents, above, numbers))
        if with_dates:
            has_date = self.first_moments != NO_DATE
            of_people.append(np.where(has_date, self.first_moments % MICROSECONDS_A_DAY, NOBODY))
        return numbers.of_contents("person", _contents([*of_people, np.zeros(self.number, np.int64)]))

    def _since_first(self, table: Held, moments: IntArray) -> IntArray:
        """Return what lies between the first date of a person and each of hers."""
        first = self.first_moments[np.maximum(table.persons, 0)] if self.number else moments
        return np.where(moments == NO_DATE, NOBODY, moments - first)

    def groups(
        self, class_of: IntArray, is_left: NDArray[np.bool_], policy: Policy, model: PrivacyModel, numbers: Numbers
    ) -> Groups:
        """Return the people who are left in classes of those who share a profile, with their sensitive values.

        Each counts once for a value that her rows show, however often. Not everybody has a row in each table.
        """
        number = int(class_of.max(initial=-1)) + 1
        tallies = {}
        for name in sensitive_columns(model, policy):
            table, _, column = name.partition(".")
            held = self.tables[table]
            stays = (held.persons != NOBODY) & is_left[held.persons]
            values, persons = np.unique(np.stack([held.cells[column][stays], held.persons[stays]]), axis=1)
            present, value_of = np.unique(values, return_inverse=True)
            found, counts = np.unique(np.stack([class_of[persons], value_of.ravel()]), axis=1, return_counts=True)
            holders = np.unique(persons)
            known = numbers.texts_of(table, column)
            texts = tuple(known[value] for value in present.tolist())
            compiled = policy.columns[name].compile(texts)
            tallies[name] = Tally(
                found[0],
                found[1],
                counts.astype(np.int64),
                np.bincount(value_of.ravel(), minlength=len(texts)).astype(np.int64),
                texts,
                compiled if compiled.height else None,
                len(holders),
                np.bincount(class_of[holders], minlength=number).astype(np.int64),
            )
        return Groups.of_sizes(np.bincount(class_of[is_left], minlength=number), tallies)

    def rows_by_table(self) -> dict[str, int]:
        """Return the rows of each table."""
        return {name: len(table.persons) for name, table in self.tables.items()}

    def rows_of(self, is_chosen: NDArray[np.bool_]) -> int:
        """Return the number of rows of some people in all tables."""
        return sum(int(is_chosen[table.persons[table.persons != NOBODY]].sum()) for table in self.tables.values())


def _read_held(
    name: str,
    rows: Rows,
    part: Part,
    person: Sequence[str],
    known: tuple[Numbers, dict[tuple[str | None, ...], int], dict[str, dict[str | None, int]], Mapping[str, Held]],
) -> Held:
    """Read one table; ``known`` are numbers, people, the places of keys, and the tables read before."""
    numbers, people, keys, held = known
    shifted = part.policy.shifted
    compared = part.policy.compared_columns
    apart = [column for column in (part.key, part.reference) if column is not None]
    columns = list(dict.fromkeys([*compared, *shifted, *person, *apart]))
    texts, codes, length = _columns(rows, columns)
    cells = {column: numbers.of_texts(name, column, texts[column])[codes[column]] for column in compared}
    moments = {
        column: np.array([_moment(text, shift.format) for text in texts[column]], np.int64)[codes[column]]
        for column, shift in shifted.items()
    }
    parents = np.full(length, NOBODY)
    of_parent = np.full(length, NOBODY)
    if part.reference is not None and part.parent is not None:
        places = keys[part.parent]
        parents = np.array([places.get(text, NOBODY) for text in texts[part.reference]], np.int64)[
            codes[part.reference]
        ]
        is_found = parents != NOBODY
        of_parent[is_found] = held[part.parent].persons[parents[is_found]]
    persons = of_parent
    if person:
        whose = zip(*(np.array(texts[column], object)[codes[column]] for column in person), strict=True)
        persons = np.array([people.setdefault(one, len(people)) for one in whose], np.int64)
    repeated = 0
    if part.key is not None:
        keys[name] = {texts[part.key][code]: place for place, code in enumerate(codes[part.key].tolist())}
        repeated = length - len(keys[name])
    return Held(
        part,
        cells,
        moments,
        persons,
        parents,
        int((parents == NOBODY).sum()) if part.reference is not None else 0,
        int(((parents != NOBODY) & (of_parent != persons)).sum()),
        repeated,
    )


def _columns(rows: Rows, columns: Sequence[str]) -> tuple[dict[str, list[str | None]], dict[str, IntArray], int]:
    """Return the distinct texts of some columns, and which one each row has."""
    table = rows.texts(columns).read_all()
    texts, codes = {}, {}
    for column in columns:
        coded = table[column].combine_chunks().dictionary_encode(null_encoding="encode")
        coded = coded.combine_chunks() if hasattr(coded, "combine_chunks") else coded
        texts[column] = coded.dictionary.to_pylist()
        codes[column] = np.array(coded.indices.to_pylist(), np.int64)
    return texts, codes, table.num_rows


def _moment(text: str | None, form: str | None) -> int:
    """Return a date as microseconds; NO_DATE where there is none that can be read."""
    if text is None:
        return int(NO_DATE)
    try:
        found = datetime.fromisoformat(text.strip()) if form is None else datetime.strptime(text, form)
    except ValueError:
        return int(NO_DATE)
    if found.tzinfo is not None:
        found = found.astimezone(UTC).replace(tzinfo=None)
    since = found - START
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _contents(columns: Sequence[IntArray]) -> list[bytes]:
    """Return each row of some columns as bytes."""
    stacked = np.ascontiguousarray(np.stack(columns, axis=1))
    return stacked.view(f"V{stacked.shape[1] * 8}").ravel().tolist()


def _multisets(name: str, kinds: IntArray, owners: IntArray, number: int, numbers: Numbers) -> IntArray:
    """Number the multiset of the rows of each owner, by what kind of row each is."""
    order = np.lexsort((kinds, owners))
    order = order[owners[order] != NOBODY]
    sorted_kinds = np.ascontiguousarray(kinds[order])
    ends = np.searchsorted(owners[order], np.arange(number + 1))
    contents = [
        sorted_kinds[start:end].tobytes() for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]
    return numbers.of_contents(f"rows {name}", contents)


def linked_people_checks(mine: PersonTrees, theirs: PersonTrees, numbers: Numbers) -> list[Check]:
    """Check that each pseudonym stands for all rows of a person of her own, and that her dates move together."""

    def columns(part: Part) -> Sequence[str]:
        return part.policy.compared_columns

    shifts = [shift for part in mine.tied.parts.values() for shift in part.policy.shifted.values()]
    false = _surplus(mine.profiles(columns, numbers), theirs.profiles(columns, numbers))
    checks = [Check("truth.linked_rows", not false, {"wrong": false, "unit": "pseudonym"} if false else {})]
    if not shifts or false:
        return checks
    ours, others = (trees.profiles(columns, numbers, with_dates=True) for trees in (mine, theirs))
    torn, how, days = _surplus(ours, others), "distances", shifts[0].days
    if not torn:
        torn, how = _moved_too_far(mine, theirs, (ours, others), days), "too far"
    found = {"days": days} | ({"pseudonyms": torn, "how": how} if torn else {})
    return [*checks, Check("truth.dates", not torn, found)]


def _surplus(mine: IntArray, theirs: IntArray) -> int:
    """Return how many of these profiles are more than there are people who have them."""
    most = int(max(mine.max(initial=-1), theirs.max(initial=-1))) + 1
    return int(np.maximum(np.bincount(mine, minlength=most) - np.bincount(theirs, minlength=most), 0).sum())


def _moved_too_far(mine: PersonTrees, theirs: PersonTrees, profiles: tuple[IntArray, IntArray], days: int) -> int:
    """Return how many pseudonyms find no person of their own within ``days``, among those of equal distances.

    Whoever has the earliest date takes the earliest person she can: no other choice leaves more for those after her.
    """
    room = days * MICROSECONDS_A_DAY
    people: dict[int, list[int]] = {}
    for profile, first in sorted(zip(profiles[1].tolist(), theirs.first_moments.tolist(), strict=True)):
        people.setdefault(profile, []).append(first)
    next_of = dict.fromkeys(people, 0)
    lost = 0
    for profile, first in sorted(zip(profiles[0].tolist(), mine.first_moments.tolist(), strict=True)):
        if first == NO_DATE:
            continue
        there, place = people[profile], next_of[profile]
        while place < len(there) and there[place] < first - room:
            place += 1
        is_found = place < len(there) and there[place] <= first + room
        lost += not is_found
        next_of[profile] = place + is_found
    return lost
