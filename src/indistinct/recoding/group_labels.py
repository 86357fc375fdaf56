"""Covering: the labels that cover a group's values: the lowest of a hierarchy, or a range or set of what is there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from indistinct.array_types import BoolArray, IntArray
from indistinct.counting import FrequencyList
from indistinct.hierarchy import CompiledHierarchy
from indistinct.policy.algorithms import LabelKind
from indistinct.recoding.label_texts import range_label, set_label
from indistinct.recoding.recoding import Labels, distinct


def lowest_labels(
    frequencies: FrequencyList, column: int, tuples: IntArray, group_of: IntArray, groups: int, kind: LabelKind
) -> tuple[Labels, IntArray]:
    """Return the labels of one column that cover each group, and which one each group carries."""
    if not groups:
        nothing = np.zeros(0, np.int64)
        return Labels((), nothing, nothing, nothing), nothing
    hierarchy = frequencies.hierarchies[column]
    members = np.sort(group_of * len(hierarchy.values) + frequencies.entry_codes(column)[tuples])
    members = members[np.diff(members, prepend=-1) > 0]
    group_of, values = np.divmod(members, len(hierarchy.values))
    starts = np.searchsorted(group_of, np.arange(groups))
    levels, codes = _common_labels(hierarchy, values, starts)
    chosen, places = distinct(levels, codes)
    covering = _of_hierarchy(frequencies, column, levels[chosen], codes[chosen])
    if kind == "hierarchy" or not hierarchy.height:
        return _each_once(covering, places)
    positions = hierarchy.find_positions()
    if positions is None:
        return _narrower(*_sets(frequencies, column, values, starts, levels), covering, places)
    return _narrower(*_ranges(frequencies, column, positions, values, starts, levels), covering, places)


def labels_of_all_levels(frequencies: FrequencyList, column: int) -> tuple[Labels, IntArray]:
    """Return the labels of a column at all levels, each text once, and the place of each value's: (levels, values)."""
    hierarchy = frequencies.hierarchies[column]
    levels = np.concatenate([np.full(len(labels), level) for level, labels in enumerate(hierarchy.labels)])
    codes = np.concatenate([np.arange(len(labels)) for labels in hierarchy.labels])
    labels, places = _each_once(_of_hierarchy(frequencies, column, levels, codes), np.arange(len(codes)))
    before = np.cumsum([0, *map(len, hierarchy.labels)])
    return labels, np.stack([places[before[level] + own] for level, own in enumerate(hierarchy.maps)])


def labels_at(frequencies: FrequencyList, column: int, levels: IntArray, values: IntArray) -> tuple[Labels, IntArray]:
    """Return the labels that values of a column have at a level each, each text once, and which one each carries."""
    maps = np.stack(frequencies.hierarchies[column].maps)
    chosen, places = distinct(levels, maps[levels, values])
    return _each_once(_of_hierarchy(frequencies, column, levels[chosen], maps[levels, values][chosen]), places)


def used_labels(labels: Labels, places: IntArray) -> tuple[Labels, IntArray]:
    """Return the labels that occur, and where each place went."""
    used, moved = np.unique(places, return_inverse=True)
    texts = tuple(labels.texts[place] for place in used.tolist())
    return Labels(texts, labels.levels[used], labels.leaves[used], labels.rows[used]), moved


def join_labels(one: Labels, other: Labels, places: IntArray) -> tuple[Labels, IntArray]:
    """Return the labels of both that occur, each text once, and where each place went: those of the other follow."""
    both = Labels(
        one.texts + other.texts,
        np.concatenate([one.levels, other.levels]),
        np.concatenate([one.leaves, other.leaves]),
        np.concatenate([one.rows, other.rows]),
    )
    return _each_once(both, places)


def lack_labels(texts: Sequence[Sequence[str | None]], codes: Sequence[IntArray]) -> BoolArray:
    """Return which groups carry no label in any column: ``codes[column]`` are places in ``texts[column]``."""
    is_blank: BoolArray = np.ones(len(codes[0]), np.bool_)
    for names, code in zip(texts, codes, strict=True):
        is_blank &= np.array([text is None for text in names], np.bool_)[code]
    return is_blank


def _of_hierarchy(frequencies: FrequencyList, column: int, levels: IntArray, codes: IntArray) -> Labels:
    """Return some labels of a hierarchy, by their levels and codes."""
    per_level = {level: Labels.at_level(frequencies, column, level) for level in np.unique(levels).tolist()}
    pairs = list(zip(levels.tolist(), codes.tolist(), strict=True))
    return Labels(
        tuple(per_level[level].texts[code] for level, code in pairs),
        levels,
        np.array([per_level[level].leaves[code] for level, code in pairs], np.int64),
        np.array([per_level[level].rows[code] for level, code in pairs], np.int64),
    )


def _common_labels(hierarchy: CompiledHierarchy, values: IntArray, starts: IntArray) -> tuple[IntArray, IntArray]:
    """Return the lowest level that may be released at which values share a label, and its code, from each start on."""
    levels, found = np.full(len(starts), -1), np.zeros(len(starts), np.int64)
    for level in range(hierarchy.lowest, hierarchy.height + 1):
        codes = hierarchy.maps[level][values]
        lowest = np.minimum.reduceat(codes, starts)
        is_new = (lowest == np.maximum.reduceat(codes, starts)) & (levels < 0)
        levels[is_new], found[is_new] = level, lowest[is_new]
    if (levels < 0).any():
        raise ValueError("a group has values of a column that is never generalized and so has no label for them")
    return levels, found


def _ranges(
    frequencies: FrequencyList, column: int, positions: IntArray, values: IntArray, starts: IntArray, levels: IntArray
) -> tuple[Labels, IntArray]:
    """Return each group the range from its first to its last value in the order of numbers or dates.

    A value alone is no range. A missing one stands last and has the last code.
    """
    names, counts = frequencies.hierarchies[column].values, frequencies.value_counts(column)
    missing = len(names) - 1 if names[-1] is None else len(names)
    sizes = np.diff(starts, append=len(values))
    or_missing = (values[starts + sizes - 1] == missing) & (sizes > 1)
    at = positions[values]
    low = np.minimum.reduceat(at, starts)
    high = np.maximum.reduceat(np.where((values == missing) & np.repeat(sizes > 1, sizes), -1, at), starts)
    chosen, places = distinct(low, high, or_missing, sizes == 1, levels)
    low, high, or_missing, is_alone = low[chosen], high[chosen], or_missing[chosen], sizes[chosen] == 1
    order = np.argsort(positions)
    first, last = (np.searchsorted(positions[order], ends) for ends in (low, high))
    rows_before = np.append(0, np.cumsum(counts[order]))
    texts = [
        names[one] if alone else range_label(names[one], names[other], more)
        for one, other, more, alone in zip(
            order[first].tolist(), order[last].tolist(), or_missing.tolist(), is_alone.tolist(), strict=True
        )
    ]
    missing_rows = int(counts[missing]) if missing < len(names) else 0
    rows = rows_before[last + 1] - rows_before[first] + missing_rows * or_missing
    return Labels(tuple(texts), levels[chosen], high - low + 1 + or_missing, rows), places


def _sets(
    frequencies: FrequencyList, column: int, values: IntArray, starts: IntArray, levels: IntArray
) -> tuple[Labels, IntArray]:
    """Return each group the set of its values; a value alone is no set."""
    names, counts = frequencies.hierarchies[column].values, frequencies.value_counts(column)
    ends = np.append(starts[1:], len(values))
    known: dict[bytes, int] = {}
    places = np.array(
        [
            known.setdefault(values[start:end].tobytes(), len(known))
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ],
        np.int64,
    )
    chosen = np.unique(places, return_index=True)[1]
    sizes = (ends - starts)[chosen]
    members = [values[start : start + size].tolist() for start, size in zip(starts[chosen], sizes, strict=True)]
    texts = [names[own[0]] if len(own) == 1 else set_label([names[value] for value in own]) for own in members]
    rows = np.add.reduceat(counts[values], starts)[chosen]
    return Labels(tuple(texts), levels[chosen], sizes, rows), places


def _narrower(own: Labels, own_places: IntArray, covering: Labels, places: IntArray) -> tuple[Labels, IntArray]:
    """Return each group its range or set, or the label of the hierarchy where that covers no more."""
    is_alone = covering.levels[places] == 0
    is_own = is_alone | (own.leaves[own_places] < covering.leaves[places])
    return join_labels(own, covering, np.where(is_own, own_places, len(own.texts) + places))


def _each_once(labels: Labels, places: IntArray) -> tuple[Labels, IntArray]:
    """Return the labels that occur, without repeated texts, and where each place went.

    Nobody can tell which of two labels that read the same is meant, so the text says no more than the wider of them.
    """
    used, places = np.unique(places, return_inverse=True)
    used = used.astype(np.int64)
    by_width = used[np.lexsort((labels.levels[used], labels.leaves[used]))].tolist()
    widest = {labels.texts[place]: place for place in by_width}
    number = {text: position for position, text in enumerate(widest)}
    moved = np.array([number[labels.texts[place]] for place in used.tolist()], np.int64)
    chosen = np.fromiter(widest.values(), np.int64, len(widest))
    kept = Labels(tuple(widest), labels.levels[chosen], labels.leaves[chosen], labels.rows[chosen])
    return kept, moved[places.ravel()]
