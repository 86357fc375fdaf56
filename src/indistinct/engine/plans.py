"""What engines exchange with the rest: conditions, counts, plans of released rows and how people are recognised.

Plain data, which knows nothing of rows or of other parts of the project, but for what random choices are drawn from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from indistinct.array_types import Array, IntArray, np
from indistinct.randomness import SECURE, Draws

if TYPE_CHECKING:
    import pyarrow as pa

Condition = tuple[str, str, object]
"""A column, an operator and a value, such as ``("age", ">=", 18)``; a row is eligible if all its conditions hold."""

OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in", "present", "missing")


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each distinct tuple of codes occurs: one array of codes per column, and one of counts."""

    codes: tuple[Array, ...]
    counts: IntArray


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """How often each value of a column occurs in each group of rows: an entry per group and value."""

    groups: IntArray
    values: IntArray
    counts: IntArray
    texts: tuple[str | None, ...]
    """The values, in the order of their numbers; None for missing."""


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Rows that are in groups: the person and the group of each, and the numbers and texts of its values by column."""

    persons: IntArray
    groups: IntArray
    values: Mapping[str, IntArray]
    texts: Mapping[str, tuple[str | None, ...]]


@dataclass(frozen=True, slots=True)
class Shifts:
    """How dates move: by a number of days for each combination of values of some encoded columns.

    ``formats``  column -> the format of its dates, None for ISO dates and timestamps; these columns are copied
    ``codes``    encoded column -> (people,) value codes
    ``days``     (people,) the days by which the dates of rows with these values move
    """

    formats: Mapping[str, str | None]
    codes: Mapping[str, IntArray]
    days: IntArray


@dataclass(frozen=True, slots=True)
class Plan:
    """How eligible rows become released rows; every encoded column has a map.

    ``columns``     what to release, in order; a column without a map is copied
    ``maps``        column -> (values,) label code of each value code
    ``labels``      column -> (labels,) text of each label code, None for missing
    ``kept``        encoded columns whose map is the identity: released as they are, in their own type
    ``suppressed``  column -> (groups,) label codes: a row that equals one of these tuples is suppressed
    ``blank``       False: suppressed rows are left out. True: they stay, with every mapped column missing
    ``unblanked``   mapped columns that suppressed rows keep all the same
    ``shifts``      how the dates of copied columns move, if they do
    ``draws``       what random order and random choices are drawn from
    """

    columns: tuple[str, ...]
    maps: Mapping[str, IntArray]
    labels: Mapping[str, tuple[str | None, ...]]
    kept: frozenset[str] = frozenset()
    suppressed: Mapping[str, IntArray] = field(default_factory=dict)
    blank: bool = False
    unblanked: frozenset[str] = frozenset()
    shifts: Shifts | None = None
    draws: Draws = SECURE

    @property
    def copied(self) -> tuple[str, ...]:
        """The released columns without a map."""
        return tuple(column for column in self.columns if column not in self.maps)


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """How eligible rows become released rows when rows of a tuple go to groups, each with labels of its own.

    ``columns``  what to release, in order; a column without labels is copied
    ``tuples``   encoded column -> (pieces,) value codes of the tuple; every encoded column is there
    ``rows``     (pieces,) how many rows of the tuple go to the group; which ones is drawn at random
    ``groups``   (pieces,) number of the group, -1 for rows that are suppressed
    ``labels``   column -> text of each label code, None for missing
    ``codes``    column -> (groups,) label code that a group carries
    ``kept``     columns that carry nothing but their own values: released in their own type
    ``blank``    False: suppressed rows are left out. True: they stay, with every column that has labels missing
    ``draws``    what random order and random choices are drawn from
    """

    columns: tuple[str, ...]
    tuples: Mapping[str, IntArray]
    rows: IntArray
    groups: IntArray
    labels: Mapping[str, tuple[str | None, ...]]
    codes: Mapping[str, IntArray]
    kept: frozenset[str] = frozenset()
    blank: bool = False
    draws: Draws = SECURE

    @property
    def copied(self) -> tuple[str, ...]:
        """The released columns without labels."""
        return tuple(column for column in self.columns if column not in self.labels)


@dataclass(frozen=True, slots=True)
class ClassPlan:
    """How eligible rows become two tables that are linked by the class of a row only; no cell is changed.

    ``tables``  name -> columns of a table, without the class
    ``tuples``, ``rows``, ``groups``  which rows go to which class, as in a LocalPlan; those of class -1 are left out
    ``link``    the name of the column of classes
    ``draws``   what random order, random numbers and random choices are drawn from
    """

    tables: Mapping[str, tuple[str, ...]]
    tuples: Mapping[str, IntArray]
    rows: IntArray
    groups: IntArray
    link: str
    draws: Draws = SECURE

    @property
    def copied(self) -> tuple[str, ...]:
        """The released columns: all are copied."""
        return tuple(dict.fromkeys(column for columns in self.tables.values() for column in columns))


@dataclass(frozen=True, slots=True)
class FragmentPlan:
    """How eligible rows become released rows when their tuples are placed part by part, where the rows are.

    ``columns``    what to release, in order; a column that is not labelled is copied
    ``labelled``   the encoded columns that get labels
    ``merged``     labelled column -> a code for each code; a column without one stays as it is
    ``tuples``     labelled column -> (tuples,) merged codes of each distinct tuple
    ``fragments``  (tuples,) the number of the fragment to which a tuple belongs
    ``work``       makes pieces of the tuples of one fragment. It gets codes c0, c1, … of the encoded columns and the
                   rows n of each tuple; it gives codes, n, the group ``goal``, -1 for rows that are suppressed, and for
                   each labelled column its label: s0 the text, v0 the level, w0 the values and u0 the rows under it
    """

    columns: tuple[str, ...]
    labelled: tuple[str, ...]
    merged: Mapping[str, IntArray]
    tuples: Mapping[str, IntArray]
    fragments: IntArray
    work: Callable[[pa.Table], pa.Table]


ELSEWHERE = {
    "spark": "Spark",
    "postgres": "PostgreSQL",
    "sqlite": "SQLite",
    "snowflake": "Snowflake",
    "bigquery": "BigQuery",
}
"""The kinds of tables whose rows another system holds, in no order, and the name of the system."""
CLASS = "class_id"
"""The column that links the two tables of a release."""
KEY = ".key"
"""The column of a person's digest, STATE of a digest of her quasi cells, HISTORY of what was released of her before."""
STATE = ".state"
HISTORY = ".history"
PERSON = ".person"
"""Where a person may have several rows: the digest of whose row it is, and ROW of what tells her rows apart."""
ROW = ".row"
PARENT = ".parent"
"""Where rows belong to those of another table: the digest that tells which row of that table it is."""
PROFILE = ".profile"
"""The column of a person's profile, a digest of all her rows, while it is counted."""


@dataclass(frozen=True, slots=True)
class Recognition:
    """How people are recognised from one release to the next, without keeping who they are.

    ``key``       columns that name a person; only a digest of them is kept
    ``numbered``  rows with equal keys are numbered, instead of refused: for keys that are whole rows
    ``state``     columns whose change matters
    ``secret``    makes digests that nobody can compute who does not know it
    ``earlier``   a Parquet file with the history of each person who was released before, or None
    ``based``     columns whose cells are replaced by what was released last, for people whose state is the same
    ``where``     conditions on eligible rows; the others are left out
    ``person``    columns that say whose row it is, where a person may have several; KEY then is a number of the row
    ``row``       columns that tell the rows of a person apart; those that are equal in all of them are not
    ``names_rows``  no two rows may be equal in those columns
    ``table``     the name of the table, where it is one of several
    ``parent``    columns that hold the key of a row of the table ``above``
    """

    key: tuple[str, ...]
    state: tuple[str, ...]
    secret: str
    numbered: bool = False
    earlier: Path | None = None
    based: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    person: tuple[str, ...] = ()
    row: tuple[str, ...] = ()
    names_rows: bool = False
    table: str = ""
    parent: tuple[str, ...] = ()
    above: str = ""


@dataclass(frozen=True, slots=True)
class TableMembers:
    """The file of who was released in which group of one of several tables.

    ``has_people``  its rows say whose they are; else they are of the person whose row of the table ``above`` they name
    ``named``       no two rows have the same name
    ``values``      its columns of values
    """

    path: Path
    name: str
    above: str | None
    has_people: bool
    named: bool
    values: tuple[str, ...]


def sum_by_tuple(codes: Sequence[Array], counts: IntArray) -> Counts:
    """Return each distinct tuple of codes once, with its counts added up.

    >>> sum_by_tuple([np.array([1, 0, 1], np.uint32)], np.array([2, 3, 4])).counts
    array([3, 6])
    """
    if not codes:
        return Counts((), counts.sum(keepdims=True) if len(counts) else counts)
    distinct, where = np.unique(np.stack(codes), axis=1, return_inverse=True)
    return Counts(tuple(distinct), np.bincount(where.ravel(), counts, distinct.shape[1]).astype(np.int64))
