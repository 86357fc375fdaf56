"""Cells as a policy reads them: codes that mean missing are missing, what cannot be read is dealt with, and sensitive
and other columns that are recoded have their labels.

Whoever holds an original table against a policy reads it through here, once, so that a cell means the same to a search,
to the proof, to risks, to attacks and to the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from indistinct.errors import PolicyError

if TYPE_CHECKING:
    from indistinct.engine import Encoded, Rows
    from indistinct.hierarchy import Hierarchy
    from indistinct.policy import Column, Policy

    Spared = Callable[[Hierarchy, Sequence[str], Sequence[str]], frozenset[str]]

UNREADABLE = '; or say unreadable = "missing" or "suppress" of the column'
"""What else can be done about cells that a hierarchy cannot read."""


def read_as_declared(rows: Rows, policy: Policy, spared: Spared | None = None) -> Rows:
    """Return the rows with the cells that the policy declares; the same rows if it declares nothing, or they were read.

    Others are to be closed by themselves, before those that were given. Columns that the table lacks do not matter.
    ``spared`` tells which of the texts that a hierarchy does not read stay as they are, given those that it reads; it
    is for tables that may be released already, whose cells are not recoded again.
    """
    if rows.unreadable is not None:
        return rows
    present = set(rows.columns())
    columns = {
        name: column
        for name, column in policy.columns.items()
        if name in present or (column.set and column.set.columns and present & set(column.set.columns))
    }
    split = _split_sets(rows, columns)
    if split is rows:
        return _read_declared(rows, columns, spared)
    try:
        read = _read_declared(split, columns, spared)
    except BaseException:
        split.close()
        raise
    if read is not split:
        split.close_but_for(read)
    read.unreadable = read.unreadable or {}
    return read


def _split_sets(rows: Rows, columns: Mapping[str, Column]) -> Rows:
    """Return a row for each member of a cell that holds a set; the same rows if none does."""
    for name, column in columns.items():
        if column.set is not None:
            return rows.with_members(name, column.set.separator, column.set.columns or ())
    return rows


def _read_declared(rows: Rows, columns: Mapping[str, Column], spared: Spared | None) -> Rows:
    """Return the rows with the cells that columns declare, each of which is one value."""
    recoded = {name: column for name, column in columns.items() if column.recode is not None and spared is None}
    read = _read_cells(rows, columns, spared, is_new=bool(recoded))
    if not recoded:
        return read
    try:
        labels = _labels(read, recoded)
    except BaseException:
        read.close()
        raise
    unreadable = read.unreadable
    read = read.with_labels(labels)
    read.unreadable = unreadable
    return read


def _labels(rows: Rows, recoded: Mapping[str, Column]) -> dict[str, dict[str | None, str | None]]:
    """Return the label of each text of columns that are recoded; raise one error with every column that cannot be."""
    labels: dict[str, dict[str | None, str | None]] = {}
    mistakes: list[str] = []
    with rows.encode(list(recoded)) as encoded:
        for name, column in recoded.items():
            values = encoded.values[name]
            try:
                labels[name] = dict(zip(values, column.recode_values(values), strict=True))
            except PolicyError as error:
                mistakes += mistakes_with_rows(encoded, name, error)
    if mistakes:
        raise PolicyError(mistakes)
    return labels


def mistakes_with_rows(encoded: Encoded, column: str, error: PolicyError) -> list[str]:
    """Return what is wrong with the cells of a column; with the first rows that a hierarchy has no label for."""
    codes: tuple[int, ...] = getattr(error, "codes", ())
    mistakes = [f"column {column!r}: {mistake}" for mistake in error.mistakes]
    if codes and (where := encoded.rows_with(column, codes)):
        mistakes[-1] += f" (data rows {', '.join(map(str, where))}{', …' if len(where) == 5 else ''})"
        if any(encoded.values[column][code] is not None for code in codes):
            mistakes[-1] += UNREADABLE
    return mistakes


def rows_without(encoded: Encoded, columns: Sequence[str]) -> dict[str, str]:
    """Return how many eligible rows have nothing in some columns, in words, by the columns of which some have not."""
    found = {}
    for column in columns:
        if None in encoded.values[column]:
            counted = encoded.count_by([column])
            rows = int(counted.counts[counted.codes[0] == len(encoded.values[column]) - 1].sum())
            found[column] = f"{rows} row has nothing" if rows == 1 else f"{rows} rows have nothing"
    return found


def _read_cells(rows: Rows, columns: Mapping[str, Column], spared: Spared | None, *, is_new: bool) -> Rows:
    """Return the rows with codes and unreadable cells as columns say; the same if that is nothing, unless
    ``is_new``.
    """
    codes = {name: column.missing_codes for name, column in columns.items() if column.missing_codes}
    rules = {name: column.unreadable for name, column in columns.items() if column.unreadable != "refuse"}
    if not (codes or rules or is_new):
        return rows
    read = rows.with_missing(codes, {})
    read.unreadable = {}
    if not rules:
        return read
    hierarchies = {name: columns[name].recode or columns[name].hierarchy for name in rules}
    with read:
        unreadable = _unreadable_texts(read, hierarchies, spared)
    found = {name: tuple(texts) for name, texts in unreadable.items()}
    gone = {name: texts for name, texts in found.items() if rules[name] == "missing"}
    read = rows.with_missing(
        {name: (*codes.get(name, ()), *gone.get(name, ())) for name in {**codes, **gone}},
        {name: texts for name, texts in found.items() if rules[name] == "suppress"},
    )
    read.unreadable = {name: sum(texts.values()) for name, texts in unreadable.items()}
    return read


@contextmanager
def as_declared(rows: Rows, policy: Policy, spared: Spared | None = None) -> Iterator[Rows]:
    """Return the rows with the cells that the policy declares, for the time of the block."""
    read = read_as_declared(rows, policy, spared)
    try:
        yield read
    finally:
        if read is not rows:
            read.close()


@contextmanager
def linked_as_declared(rows: Rows, pairs: Mapping[str, str], policy: Policy | None) -> Iterator[Rows]:
    """Return another table, whose columns are linked with those of a policy, with the same codes for missing cells.

    ``pairs`` gives for each column of the policy the one of the other table. What a hierarchy cannot read stays as it
    is: it fits only labels that cover everything.
    """
    columns = {} if policy is None else policy.columns
    codes = {
        theirs: columns[name].missing_codes
        for name, theirs in pairs.items()
        if name in columns and columns[name].missing_codes
    }
    if not codes:
        yield rows
        return
    with rows.with_missing(codes, {}) as read:
        yield read


def _unreadable_texts(
    rows: Rows, hierarchies: Mapping[str, Hierarchy], spared: Spared | None
) -> dict[str, dict[str, int]]:
    """Return the texts of each column that its hierarchy cannot read, with the number of their rows."""
    found: dict[str, dict[str, int]] = {}
    with rows.encode(list(hierarchies)) as encoded:
        for name, hierarchy in hierarchies.items():
            values = encoded.values[name]
            unread = [text for text in hierarchy.unreadable(values) if text is not None]
            if spared is not None and unread:
                readable = [text for text in values if text is not None and text not in set(unread)]
                kept = spared(hierarchy, unread, readable)
                unread = [text for text in unread if text not in kept]
            counted = encoded.count_by([name])
            number = dict(zip(counted.codes[0].tolist(), counted.counts.tolist(), strict=True))
            code_of = {text: code for code, text in enumerate(values)}
            found[name] = {text: number[code_of[text]] for text in unread}
    return found


def encode_eligible(rows: Rows, policy: Policy, columns: Sequence[str] | None = None) -> Encoded:
    """Encode some columns of a policy's eligible rows; if none are named, all that are counted before a search.

    Those are the quasi columns, the sensitive ones that models ask about, and those that say whose row it is.
    """
    asked = (*policy.quasi, *policy.asked_sensitive, *policy.person_columns) if columns is None else columns
    return rows.encode(asked, [condition.as_triple() for condition in policy.eligible])
