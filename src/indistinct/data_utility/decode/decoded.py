"""decode(): a released table whose labels analyses can take as numbers and weights."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.counting import as_declared, encode_eligible
from indistinct.data_utility.decode.category_columns import CategoryColumn, category_column
from indistinct.data_utility.decode.label_covers import CoverReader, LabelCover, column_of_statement
from indistinct.data_utility.decode.number_columns import NumberColumn, number_column
from indistinct.engine import use_table
from indistinct.errors import PolicyError
from indistinct.policy import Column, Policy
from indistinct.policy.files.policy_file import load_policy
from indistinct.policy.stated_policy import StatedColumn
from indistinct.release.manifest import Facts, Manifest
from indistinct.release.released_tables import ReleasedTables
from indistinct.showing.numbers import percent
from indistinct.showing.words import counted

How = Literal["spread", "middle", "draw", "bounds"]
HOWS = ("spread", "middle", "draw", "bounds")
DecodedColumn = NumberColumn | CategoryColumn
SELF_SPEAKING = ("intervals", "dates", "top_bottom", "prefix", "rounding", "suppress", "keep")
"""Kinds of hierarchies whose labels say themselves what they cover."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Decoded:
    """A table whose cells are distributions: each label over the values that it may stand for.

    A cell of a table that was never generalized stands for itself, so an original can be decoded as well, and
    whatever takes a Decoded takes both.
    """

    columns: Mapping[str, DecodedColumn]
    rows: int

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        kinds = ", ".join(f"{name}: {column.kind}" for name, column in self.columns.items())
        return f"Decoded({self.rows} rows; {kinds})"

    def column(self, name: str) -> DecodedColumn:
        """Return a column; raise a PolicyError if there is none of this name."""
        if name not in self.columns:
            raise PolicyError(f"column {name!r}: the table has none; it has {', '.join(map(repr, self.columns))}")
        return self.columns[name]

    def suppressed_rows(self, names: Sequence[str]) -> BoolArray:
        """Return which rows have, in one of some columns, a cell that says nothing: whoever drops these keeps a biased
        part of the table, since rare people are the ones that are suppressed.
        """
        found = np.zeros(self.rows, np.bool_)
        for column in map(self.column, names):
            found |= column.is_anything[column.codes] > 0
        return found

    def missing_rows(self, names: Sequence[str]) -> BoolArray:
        """Return which rows lack one of some columns: their label says that the cell is missing, or most likely so."""
        found = np.zeros(self.rows, np.bool_)
        for column in map(self.column, names):
            found |= column.missing[column.codes] > 0.5
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever analyses the rows has to know: how many a complete-case analysis of labels would drop."""
        suppressed = int(self.suppressed_rows(list(self.columns)).sum())
        if not suppressed:
            return ()
        share = percent(suppressed / self.rows)
        return (
            f"{counted(suppressed, 'released row')} ({share}) have a suppressed cell; whoever drops these keeps a "
            "biased part of the table",
        )

    def table(self, how: How = "spread", *, seed: int = 0) -> pa.Table:
        """Return the rows as numbers and texts.

        Columns of numbers and dates become, by ``how``: the mean of what a label stands for (``spread``), the middle of
        its ends (``middle``), a number drawn from it (``draw``), or beside the label ``…_low``, ``…_high`` and
        ``…_middle`` (``bounds``); where all cells are exact it is one column. Columns of categories stay as they are
        where each label is a value; else they become a column ``name=value`` of weights for each value (``spread``),
        the likeliest value (``middle``), a drawn one (``draw``), or stay labels (``bounds``).
        """
        if how not in HOWS:
            raise PolicyError(f"how: must be one of {', '.join(HOWS)}, got {how!r}")
        rng = np.random.default_rng(seed)
        found: dict[str, pa.Array] = {}
        for name, column in self.columns.items():
            if isinstance(column, NumberColumn):
                made = _numbers(name, column, how, rng)
            else:
                made = _categories(name, column, how, rng)
            if twice := found.keys() & made.keys():
                raise PolicyError(
                    [f"column {one!r}: the release has one of this name already" for one in sorted(twice)]
                )
            found |= made
        return pa.table(found)


def decode(
    release: Any,
    how: How | None = None,
    *,
    policy: Policy | str | os.PathLike[str] | None = None,
    like: Decoded | None = None,
    seed: int = 0,
    **reading: Any,
) -> Any:
    """Return a release with labels that analyses can take: a Decoded, or with ``how`` its Arrow table.

    ``release`` is a Release, a release folder or a table of any kind. A folder alone is enough where labels say
    themselves what they cover, as ranges, sets, intervals and dates do; what a label of a listed hierarchy covers
    stands in the ``policy``. The original is never looked at. ``like`` says which columns are numbers and which are
    categories, so that a table can be decoded as another was. ``reading`` goes to the engine.

    A label is spread over what it covers: half of it evenly, half in proportion to the shape of the column, which is
    estimated from all labels of the column (expectation and maximization, as Turnbull 1976 does for observations
    that are known by intervals). A range names its ends and a set its members, so each group has them at least once.
    A suppressed cell is spread over the whole column. A missing cell stays missing.

    >>> import pyarrow as pa
    >>> from indistinct import intervals, quasi, Policy, KAnonymity
    >>> policy = Policy({"age": quasi(intervals(10))}, [KAnonymity(2)])
    >>> decode(pa.table({"age": ["20-29", "20-29", "41"]}), "bounds", policy=policy).to_pylist()[0]
    {'age': '20-29', 'age_low': 20.0, 'age_high': 29.0, 'age_middle': 24.5}
    """
    table, loaded, said = _open_release(release, policy, reading)
    columns = _columns(loaded, said, table.column_names)
    found = _decode(table, columns, said, _is_blank(loaded, said), like)
    return found if how is None else found.table(how, seed=seed)


def decode_with_domains(release: Any, policy: Policy, original: Decoded) -> Decoded:
    """Return a release, decoded like its original; labels such as ``130**`` cover the values that the original has.

    Only which values there are is taken from it, and not how often.
    """
    table, loaded, said = _open_release(release, policy, {})
    columns = _columns(loaded, said, table.column_names)
    domains = {name: column.values for name, column in original.columns.items() if isinstance(column, CategoryColumn)}
    return _decode(table, columns, said, _is_blank(loaded, said), original, domains)


@dataclass(frozen=True, slots=True, eq=False)
class CoveredColumn:
    """A released column with what each of its labels covers."""

    labels: Sequence[str | None]
    codes: IntArray
    """The label of each row."""
    covers: Sequence[LabelCover]
    reader: CoverReader
    doubt: str | None = None
    """Why it is not known what the cells stand for, if that is so."""


def covered_columns(
    release: Any, policy: Policy | str | os.PathLike[str] | None = None, **reading: Any
) -> tuple[dict[str, CoveredColumn], int | None]:
    """Return what the labels of a release cover, by column, and how many rows it says to have left out.

    None where it does not say that. ``release`` and ``policy`` are those of ``decode``. Where it is not known what a
    label covers, or cells were altered, the column says so.
    """
    table, loaded, said = _open_release(release, policy, reading)
    columns = _columns(loaded, said, table.column_names)
    covered = _cover(table, columns, said, _is_blank(loaded, said))
    doubts = {name: _doubt(name, loaded, said) for name in covered}
    found = {name: replace(one, doubt=doubts[name]) for name, one in covered.items()}
    return found, None if said is None else said.suppressed


def _doubt(name: str, policy: Policy | None, said: Facts | None) -> str | None:
    """Say why it is not known what the cells of a column stand for, if that is so."""
    if policy is not None:
        stated = StatedColumn.of(policy.columns[name]) if name in policy.columns else None
    elif isinstance(said, Manifest):
        stated = said.policy.all_columns.get(name)
    else:
        return "a table says nothing of itself; give the policy"
    if stated is None:
        return None
    if stated.shift is not None or stated.noise is not None or stated.microaggregate is not None:
        return "its cells were altered, so they are not what people had"
    if stated.recode is not None:
        return "its cells were recoded before they were counted"
    if policy is not None or stated.role != "quasi":
        return None
    if stated.hierarchy is None or stated.hierarchy.kind in SELF_SPEAKING:
        return None
    is_exact = said is not None and said.node is not None and said.node.get(name) == 0
    return None if is_exact else "what its labels cover stands in the policy; give that"


def _open_release(
    release: Any, policy: Policy | str | os.PathLike[str] | None, reading: Mapping[str, Any]
) -> tuple[pa.Table, Policy | None, Facts | None]:
    """Return the rows of a release as texts, its policy as far as it is known, and what it says of itself."""
    loaded = None if policy is None else load_policy(policy, to="workload")
    released = ReleasedTables.of(release, loaded, **reading)
    with released.only_rows() as rows:
        table = rows.texts(list(rows.columns())).read_all()
    return table, getattr(release, "policy", None) if loaded is None else loaded, released.said


def decode_original(table: Any, policy: Policy, like: Decoded, **reading: Any) -> tuple[Decoded, IntArray | None]:
    """Return the eligible rows of a private table, of the columns of a decoded release, and whose each is.

    Each cell stands for itself. Rows of the same cells stand beside each other, in no other order. A column that holds
    categories in the release does so here, unless the release says nothing of it.
    """
    with use_table(table, **reading) as given, as_declared(given, policy) as rows:
        policy.check(rows.columns())
        names = [name for name in rows.columns() if name in like.columns]
        people = [name for name in policy.person_columns if name in rows.columns()]
        with encode_eligible(rows, policy, list(dict.fromkeys([*names, *people]))) as encoded:
            values, counted = encoded.values, encoded.count_by(list(encoded.columns))
    coded = dict(zip(values, counted.codes, strict=True))
    rows_of = np.repeat(np.arange(len(counted.counts)), counted.counts)
    columns: dict[str, DecodedColumn] = {}
    for name in names:
        labels, codes = list(values[name]), np.asarray(coded[name], np.int64)[rows_of]
        reader = CoverReader(policy.columns[name], is_blank_anything=False, level=0, longest=0)
        covers = [_itself(label) for label in labels]
        ends = np.zeros(len(labels))
        told = like.columns[name]
        is_category = told.kind == "category" and not (told.is_anything[told.codes] > 0).all()
        number = None if is_category else number_column(name, labels, codes, covers, reader, ends)
        columns[name] = number or category_column(name, labels, codes, covers, ends)
    whose = _groups([np.asarray(coded[name], np.int64)[rows_of] for name in people], len(rows_of)) if people else None
    return Decoded(columns, len(rows_of)), whose


def _itself(label: str | None) -> LabelCover:
    """Return what a cell of a private table covers: its value, or that it is missing."""
    if label is None:
        return LabelCover(or_missing=True, is_missing=True)
    return LabelCover(texts=frozenset([label]))


def _columns(policy: Policy | None, said: Facts | None, names: Sequence[str]) -> dict[str, Column]:
    """Return what each column is, by the policy or else by the manifest; any other column holds what it says."""
    found = {name: Column("other") for name in names}
    if policy is not None:
        return {name: policy.columns.get(name, one) for name, one in found.items()}
    if isinstance(said, Manifest):
        stated = said.policy.all_columns
        return {
            name: column_of_statement(stated[name].hierarchy, stated[name].role) if name in stated else one
            for name, one in found.items()
        }
    return {name: column_of_statement(None, "quasi") for name in names}


def _is_blank(policy: Policy | None, said: Facts | None) -> bool:
    """Return whether rows may be there whose quasi cells were all left blank."""
    if policy is not None:
        return policy.suppressed_rows == "blank"
    return isinstance(said, Manifest) and said.policy.suppressed_rows == "blank"


def _decode(
    table: pa.Table,
    columns: Mapping[str, Column],
    said: Facts | None,
    may_be_blank: bool,
    like: Decoded | None,
    domains: Mapping[str, Sequence[str]] | None = None,
) -> Decoded:
    covered = _cover(table, columns, said, may_be_blank)
    quasi = [name for name, column in columns.items() if column.role == "quasi"]
    groups = _groups([covered[name].codes for name in quasi], table.num_rows)
    names_ends = said is not None and said.options.get("labels") == "ranges"
    found: dict[str, DecodedColumn] = {}
    for name, one in covered.items():
        labels, codes, covers, reader = one.labels, one.codes, one.covers, one.reader
        named = np.array([cover.names_its_values for cover in covers], np.bool_)
        ends = _sure_shares(codes, groups, len(labels)) * (named & names_ends)
        kind = None if like is None or name not in like.columns else like.columns[name].kind
        column = None if kind == "category" else number_column(name, labels, codes, covers, reader, ends)
        domain = () if domains is None else domains.get(name, ())
        found[name] = column or category_column(name, labels, codes, covers, ends, domain)
    return Decoded(found, table.num_rows)


def _cover(
    table: pa.Table, columns: Mapping[str, Column], said: Facts | None, may_be_blank: bool
) -> dict[str, CoveredColumn]:
    """Return what the labels of each column cover."""
    coded = {name: _encode(table.column(name)) for name in table.column_names}
    quasi = [name for name, column in columns.items() if column.role == "quasi"]
    blank = np.full(table.num_rows, may_be_blank and bool(quasi))
    for name in quasi:
        labels, codes = coded[name]
        blank &= np.array([label is None for label in labels], np.bool_)[codes]
    if blank.any():  # a blank row says nothing, where a blank cell of another row is a missing one
        for name in quasi:
            labels, codes = coded[name]
            coded[name] = [*labels, None], np.where(blank, len(labels), codes)
    node = None if said is None else said.node
    found = {}
    for name, (labels, codes) in coded.items():
        longest = max((len(label) for label in labels if label is not None), default=0)
        level = None if node is None else node.get(name)
        reader = CoverReader(columns[name], is_blank_anything=False, level=level, longest=longest)
        covers = reader.covers(labels)
        if blank.any() and name in quasi:
            covers[-1] = LabelCover(or_missing=True)
        found[name] = CoveredColumn(labels, codes, covers, reader)
    return found


def _encode(cells: pa.ChunkedArray) -> tuple[list[str | None], IntArray]:
    """Return the labels of a column in order, and the label of each row."""
    coded = cells.combine_chunks().dictionary_encode(null_encoding="encode")
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    labels = coded.dictionary.to_pylist()
    order = sorted(range(len(labels)), key=lambda place: (labels[place] is None, labels[place] or ""))
    rank = np.argsort(np.array(order, np.int64), kind="stable") if order else np.zeros(0, np.int64)
    codes = np.asarray(coded.indices.to_numpy(zero_copy_only=False), np.int64)
    return [labels[place] for place in order], rank[codes] if len(codes) else codes


def _groups(codes: Sequence[IntArray], rows: int) -> IntArray:
    """Return the group of each row by all quasi cells."""
    group = np.zeros(rows, np.int64)
    for own in codes:
        _, group = np.unique(group * (int(own.max(initial=0)) + 1) + own, return_inverse=True)
    return group


def _sure_shares(codes: IntArray, groups: IntArray, labels: int) -> FloatArray:
    """Return for each label the number of groups that carry it, in rows that carry it: a value that each group has at
    least once has at least this share.
    """
    rows = np.bincount(codes, minlength=labels)
    pairs = np.unique(codes * (int(groups.max(initial=0)) + 1) + groups)
    carrying = np.bincount(pairs // (int(groups.max(initial=0)) + 1), minlength=labels)
    return np.asarray(np.minimum(carrying / np.maximum(rows, 1), 0.5), np.float64)


def _numbers(name: str, column: NumberColumn, how: How, rng: np.random.Generator) -> dict[str, pa.Array]:
    def array(numbers: FloatArray) -> pa.Array:
        if column.kind == "number":
            return pa.array(numbers, pa.float64(), from_pandas=True)
        return pa.array([date.fromordinal(round(day)) if np.isfinite(day) else None for day in numbers], pa.date32())

    if how == "bounds" and not column.is_exact[column.codes].all():
        ends = {"low": column.low, "high": column.high}
        shown = {end: np.where(np.isfinite(numbers), numbers, np.nan) for end, numbers in ends.items()}
        shown["middle"] = column.middle
        label = {name: pa.array(column.labels, pa.string()).take(pa.array(column.codes))}
        return label | {f"{name}_{end}": array(numbers[column.codes]) for end, numbers in shown.items()}
    if how == "draw":
        return {name: array(column.draw(rng))}
    return {name: array((column.mean if how == "spread" else column.middle)[column.codes])}


def _categories(name: str, column: CategoryColumn, how: How, rng: np.random.Generator) -> dict[str, pa.Array]:
    is_sure = (
        len(column.label_of) == sum(missing < 1 for missing in column.missing)
        and not ((column.missing > 0) & (column.missing < 1)).any()
    )
    labels = column.labels if how == "bounds" else column.likeliest
    if how == "draw":
        drawn = [*column.values, None]
        return {name: pa.array([drawn[code] for code in column.draw(rng)], pa.string())}
    if how == "spread" and not is_sure:
        masses = column.masses(column.values)
        masses[column.missing >= 1] = np.nan
        return {
            f"{name}={value}": pa.array(masses[column.codes, place], from_pandas=True)
            for place, value in enumerate(column.values)
        }
    return {name: pa.array(labels, pa.string()).take(pa.array(column.codes))}
