"""The rows that a recoding releases, made one by one and counted anew, whatever kind it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from indistinct.counting import FrequencyList, Groups, Node, Tally
from indistinct.proof.truth.row_fits import Covers
from indistinct.recoding import Classes, FullDomainRecoding, LocalRecoding, Recoding
from indistinct.search import Task

TextTuple = tuple[str | None, ...]
Released = Counter[tuple[TextTuple, TextTuple]]
"""How many rows are released with these labels and these sensitive values."""


def released_rows(recoding: Recoding) -> Released:
    """Count the released rows anew, each kind of recoding in its own way."""
    if isinstance(recoding, Classes):
        return _released_in_classes(recoding)
    if isinstance(recoding, LocalRecoding):
        return _released_locally(recoding)
    assert isinstance(recoding, FullDomainRecoding), "an algorithm gives a recoding of indistinct.recoding"
    return _full_domain_rows(recoding)


def fingerprint(recoding: Recoding) -> object:
    """Return what must be the same when an algorithm answers twice."""
    if isinstance(recoding, FullDomainRecoding):
        return recoding.node, recoding.suppressed_rows
    pieces = recoding.as_pieces()
    placed = sorted(zip(pieces.tuples.tolist(), pieces.groups.tolist(), pieces.rows.tolist(), strict=True))
    if not isinstance(recoding, LocalRecoding):
        return placed
    return placed, [labels.texts for labels in recoding.labels], recoding.codes.tolist()


def _released_in_classes(recoding: Classes) -> Released:
    """Count the rows of each class, which stands for all labels, and check that every row has its place."""
    frequencies, pieces = recoding.frequencies, recoding.pieces
    placed = np.bincount(pieces.tuples, pieces.rows, len(frequencies.entries)).astype(np.int64)
    assert (placed == frequencies.entries.counts).all(), "every row of every tuple goes to one class, or is suppressed"
    sensitive = _sensitive_texts(frequencies)
    released: Released = Counter()
    for position, rows, group in zip(pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), strict=True):
        if group >= 0:
            released[(str(group),) * len(frequencies.columns), sensitive[position]] += rows
    return released


def _released_locally(recoding: LocalRecoding) -> Released:
    """Count the released rows of a local recoding, and check that every row has its place under a label of its own."""
    frequencies, pieces = recoding.frequencies, recoding.pieces
    placed = np.bincount(pieces.tuples, pieces.rows, len(frequencies.entries)).astype(np.int64)
    assert (placed == frequencies.entries.counts).all(), "every row of every tuple goes to one group, or is suppressed"
    assert (pieces.rows > 0).all(), "a piece has rows"
    values = [frequencies.entry_codes(column) for column in range(len(frequencies.columns))]
    covers = [Covers(hierarchy) for hierarchy in frequencies.hierarchies]
    sensitive = _sensitive_texts(frequencies)
    released: Released = Counter()
    for position, rows, group in zip(pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), strict=True):
        if group < 0:
            continue
        texts = [labels.texts[int(codes[group])] for labels, codes in zip(recoding.labels, recoding.codes, strict=True)]
        for column, text in enumerate(texts):
            assert values[column][position] in covers[column].of(text), "a row's labels cover its values"
        released[tuple(texts), sensitive[position]] += rows
    sizes = sizes_over(released, range(len(frequencies.columns)))
    assert sorted(sizes.values()) == sorted(recoding.sizes.tolist()), "no two groups carry the same labels"
    return released


def _full_domain_rows(recoding: FullDomainRecoding) -> Released:
    """Count the released rows of a full-domain recoding anew, row by row, without the search's own code."""
    frequencies = recoding.frequencies
    sensitive = _sensitive_texts(frequencies)
    value_codes = [frequencies.entry_codes(column) for column in range(len(frequencies.columns))]
    rows: Released = Counter()
    for position, count in enumerate(frequencies.entries.counts.tolist()):
        labels = _labels(frequencies, recoding.node, [int(codes[position]) for codes in value_codes])
        rows[labels, sensitive[position]] += count
    sizes = sizes_over(rows, range(len(frequencies.columns)))
    suppressed = set()
    codes_of = [recoding.groups.label_codes(column) for column in range(len(frequencies.columns))]
    for position, size in enumerate(recoding.groups.sizes.tolist()):
        labels = tuple(
            hierarchy.labels[level][int(codes[position])]
            for hierarchy, level, codes in zip(frequencies.hierarchies, recoding.node, codes_of, strict=True)
        )
        assert sizes[labels] == size, f"a group at {recoding.node} has {size} rows where {sizes[labels]} were counted"
        if recoding.is_suppressed[position]:
            suppressed.add(labels)
    return Counter({(labels, values): count for (labels, values), count in rows.items() if labels not in suppressed})


def _sensitive_texts(frequencies: FrequencyList) -> list[TextTuple]:
    """Return the sensitive values of each entry."""
    columns = [
        [column.values[code] for code in frequencies.entries.codes[name].tolist()]
        for name, column in frequencies.sensitive.items()
    ]
    return list(zip(*columns, strict=True)) if columns else [()] * len(frequencies.entries)


def sizes_over(released: Released, positions: Iterable[int]) -> Counter[TextTuple]:
    """Count the rows of each group over the columns at these positions."""
    positions, sizes = tuple(positions), Counter[TextTuple]()
    for (labels, _), rows in released.items():
        sizes[tuple(labels[position] for position in positions)] += rows
    return sizes


def recount(task: Task, recoding: Recoding, released: Released) -> None:
    """Check that released rows satisfy the policy."""
    frequencies, policy = task.frequencies, task.policy
    assert released, "something is released"
    for columns, model in policy.judged_sets():
        groups = _groups_over(released, [frequencies.columns.index(column) for column in columns], frequencies)
        satisfied = model.holds(groups)
        where = ", ".join(columns)
        assert satisfied.all(), f"{model.name} fails on {where} in {int((~satisfied).sum())} groups"
    if policy.max_suppression is not None:
        allowed = policy.allowed_suppression(frequencies.rows)
        assert recoding.suppressed_rows <= allowed, f"{recoding.suppressed_rows} rows suppressed, {allowed} allowed"


def _groups_over(released: Released, positions: Sequence[int], frequencies: FrequencyList) -> Groups:
    """Return the groups of released rows over the columns at these positions, with tallies of their sensitive
    values.
    """
    sizes = sizes_over(released, positions)
    number = {labels: group for group, labels in enumerate(sizes)}
    group_of = np.array([number[tuple(labels[position] for position in positions)] for labels, _ in released])
    counts = np.array(list(released.values()), np.int64)
    tallies = {}
    for place, (name, column) in enumerate(frequencies.sensitive.items()):
        codes = np.array([column.values.index(values[place]) for _, values in released])
        tallies[name] = Tally.of(group_of, codes, counts, column.values, column.hierarchy)
    return Groups.of_sizes(list(sizes.values()), tallies)


def _labels(frequencies: FrequencyList, node: Node, values: list[int]) -> tuple[str | None, ...]:
    """Return the labels at a node of a tuple of value codes."""
    return tuple(
        hierarchy.labels[level][int(hierarchy.maps[level][value])]
        for hierarchy, level, value in zip(frequencies.hierarchies, node, values, strict=True)
    )
