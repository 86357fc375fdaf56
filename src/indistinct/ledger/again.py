"""Releasing again: how a search is told what earlier releases have shown, so that the next one undoes none of them.

What was released of a person before becomes one more quasi-identifying column, the history, which is never generalized
and never released. Groups then hold people of one history only, so that each part of a released group that somebody
can tell apart with the earlier releases satisfies the models by itself: Sweeney's first remedy, all that was released
before is part of the quasi-identifier. For her second remedy, a release that is based on an earlier one, the cells of
the people in that one are replaced by the labels which it gave them, so that nothing becomes more specific.

Where m-invariance was promised, the history is another one: the values that people's groups had.

Source: Sweeney 2002, "k-anonymity: a model for protecting privacy", Sections 3.2 and 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from indistinct.counting import FrequencyList, IntArray, Sensitive
from indistinct.engine import HISTORY, KEY, STATE
from indistinct.hierarchy import Hierarchy, keep
from indistinct.policy import Column, Policy, identifier, quasi, sensitive
from indistinct.privacy import PrivacyModel
from indistinct.privacy.m_invariance import Signed
from indistinct.recoding import SUPPRESSED, AnyRecoding, Classes, LocalRecoding, Pieces, Recoding
from indistinct.recoding.group_labels import Labels


def told_policy(
    policy: Policy,
    earlier: Sequence[Policy],
    hierarchies: dict[str, Hierarchy] | None = None,
    signed: str | None = None,
) -> Policy:
    """Give the policy for rows that were recognised: histories are never mixed, and earlier promises still hold.

    Without earlier releases the history plays no part. ``hierarchies`` take the place of the columns' own. With
    ``signed``, a sensitive column, the history is the values that people's groups had in that column; groups may mix
    them, but everybody must stay with the same values.
    """
    columns: dict[str, Column] = {
        name: replace(column, hierarchy=hierarchies[name]) if hierarchies and name in hierarchies else column
        for name, column in policy.columns.items()
    }
    history = identifier() if not earlier else quasi(keep()) if signed is None else sensitive()
    columns |= {KEY: identifier(), STATE: identifier(), HISTORY: history}
    assert policy.quasi_identifiers is not None  # set when the policy was made
    more = (HISTORY,) if earlier and signed is None else ()
    models = [*policy.privacy, *_still_promised(policy, earlier)]
    if earlier and signed is not None:
        asks_all = [model.asks_sensitive and model.column is None for model in models]
        models = [
            replace(model, column=signed) if asks else model  # type: ignore[type-var]  # models are dataclasses
            for model, asks in zip(models, asks_all, strict=True)
        ]
        models.append(Signed(HISTORY))
    return replace(
        policy,
        columns=columns,
        privacy=models,
        quasi_identifiers={name: (*names, *more) for name, names in policy.quasi_identifiers.items()},
        eligible=(),  # rows that are not eligible were left out when the others were recognised
    )


def _still_promised(policy: Policy, earlier: Sequence[Policy]) -> list[PrivacyModel]:
    """Give the models of earlier policies that a release under this one can be asked to keep, each once."""
    own = [model.describe() for model in policy.privacy]
    declared = policy.with_role("sensitive")
    models: list[PrivacyModel] = []
    for model in (model for one in earlier for model in one.privacy):
        column = getattr(model, "column", None)
        is_known = not model.asks_sensitive or (column in declared if column is not None else bool(declared))
        if getattr(model, "on", None) is not None:
            model = replace(model, on=None)  # type: ignore[type-var]  # models are dataclasses
        if is_known and model.describe() not in own:
            own.append(model.describe())
            models.append(model)
    return models


def settled(recoding: AnyRecoding, sizes: IntArray, k: int) -> AnyRecoding:
    """Give a recoding in which nobody is missed: of each history at least ``k`` people are left out, or none.

    ``sizes`` has the number of people of each history, also of those who are no longer in the table: if a few of them
    are left out of the next release, somebody who knows that they are gone finds them in the earlier one. Where that
    is so, more people of their history are suppressed, the smallest group first.
    """
    if HISTORY not in recoding.frequencies.columns:
        return recoding
    group_of = _group_of_pieces(recoding)
    history_of = _history_of_pieces(recoding)
    is_released = (group_of.groups != SUPPRESSED) & (history_of >= 0)
    left = np.bincount(history_of[is_released], group_of.rows[is_released], len(sizes)).astype(np.int64)
    gone = sizes - left
    too_few = np.flatnonzero((gone > 0) & (gone < k) & (left > 0))
    groups = recoding.groups if isinstance(recoding, Recoding) else recoding.sizes
    more = np.zeros(len(groups), np.bool_)
    parts = np.bincount(group_of.groups[is_released], group_of.rows[is_released], len(more)).astype(np.int64)
    history_of_group = np.full(len(more), -1)
    history_of_group[group_of.groups[is_released]] = history_of[is_released]
    for history in too_few.tolist():
        own = np.flatnonzero(history_of_group == history)
        own = own[np.argsort(parts[own], kind="stable")]
        enough = int(np.searchsorted(np.cumsum(parts[own]), k - gone[history])) + 1
        more[own[:enough]] = True
    return _without_groups(recoding, more) if more.any() else recoding


def _group_of_pieces(recoding: AnyRecoding) -> Pieces:
    """Give any recoding as pieces: so many rows of an entry to a group."""
    if not isinstance(recoding, Recoding):
        return recoding.pieces
    _, group_of = recoding.frequencies.roll_up(recoding.node)
    return Pieces.whole(recoding.frequencies, np.where(recoding.is_suppressed[group_of], SUPPRESSED, group_of))


def _history_of_pieces(recoding: AnyRecoding) -> IntArray:
    """Give the number of each piece's history, -1 for people who are new."""
    frequencies = recoding.frequencies
    column = frequencies.columns.index(HISTORY)
    values = frequencies.hierarchies[column].values
    numbers = np.array([-1 if value is None else int(value) for value in values], np.int64)
    history_of: IntArray = numbers[frequencies.entry_codes(column)[_group_of_pieces(recoding).tuples]]
    return history_of


def _without_groups(recoding: AnyRecoding, is_left_out: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> AnyRecoding:
    """Give a recoding in which some more groups are suppressed."""
    if isinstance(recoding, Recoding):
        return replace(recoding, is_suppressed=recoding.is_suppressed | is_left_out, is_proven=False)
    pieces = recoding.pieces
    is_gone = (pieces.groups != SUPPRESSED) & is_left_out[np.maximum(pieces.groups, 0)]
    rest = Pieces(pieces.tuples, pieces.rows, np.where(is_gone, SUPPRESSED, pieces.groups))
    if isinstance(recoding, Classes):
        return Classes.of_pieces(recoding.frequencies, rest)
    numbers, renumbered = np.unique(rest.groups[rest.groups != SUPPRESSED], return_inverse=True)
    groups = rest.groups.copy()
    groups[groups != SUPPRESSED] = renumbered
    return replace(
        LocalRecoding.of_labels(
            recoding.frequencies, Pieces(rest.tuples, rest.rows, groups), recoding.labels, recoding.codes[:, numbers]
        ),
        is_proven=False,
    )


def without_history(recoding: AnyRecoding) -> AnyRecoding:
    """Give the recoding as the release shows it: without the column that only the search was told of."""
    frequencies = recoding.frequencies
    if HISTORY not in (*frequencies.columns, *frequencies.sensitive):
        return recoding
    plain, entry_of = _without_history(frequencies)
    pieces = _merged(_group_of_pieces(recoding), entry_of)
    if isinstance(recoding, Classes):
        return Classes.of_pieces(plain, pieces)
    others = [position for position, name in enumerate(frequencies.columns) if name != HISTORY]
    if isinstance(recoding, Recoding):
        labels = tuple(Labels.at_level(plain, position, recoding.node[other]) for position, other in enumerate(others))
        codes = np.stack([recoding.groups.label_codes(other) for other in others])
        used, renumbered = np.unique(pieces.groups[pieces.groups != SUPPRESSED], return_inverse=True)
        groups = pieces.groups.copy()
        groups[groups != SUPPRESSED] = renumbered
        pieces, codes = Pieces(pieces.tuples, pieces.rows, groups), codes[:, used]
    else:
        labels, codes = tuple(recoding.labels[other] for other in others), recoding.codes[others]
    return LocalRecoding.of_labels(plain, pieces, labels, codes, is_proven=recoding.is_proven, gap=recoding.gap)


def _without_history(frequencies: FrequencyList) -> tuple[FrequencyList, IntArray]:
    """Give the list without the history, and the entry there of each entry here."""
    others = [position for position, name in enumerate(frequencies.columns) if name != HISTORY]
    entries = frequencies.entries
    described = {name: column for name, column in frequencies.sensitive.items() if name != HISTORY}
    codes = np.stack(
        [*(frequencies.entry_codes(other) for other in others), *(entries.codes[name] for name in described)]
    )
    distinct, entry_of = np.unique(codes, axis=1, return_inverse=True)
    entry_of = entry_of.ravel()
    counts = np.bincount(entry_of, entries.counts, distinct.shape[1]).astype(np.int64)
    sensitive_codes: dict[str, tuple[Sensitive, IntArray]] = {
        name: (column, distinct[len(others) + position]) for position, (name, column) in enumerate(described.items())
    }
    plain = FrequencyList.of_codes(
        [frequencies.columns[other] for other in others],
        [frequencies.hierarchies[other] for other in others],
        list(distinct[: len(others)]),
        counts,
        [frequencies.weights[other] for other in others],
        sensitive_codes,
    )
    there = np.stack([*(plain.entry_codes(position) for position in range(len(others))), *plain.entries.codes.values()])
    place = np.empty(len(counts), np.int64)
    place[np.lexsort(distinct)] = np.lexsort(there)  # both hold the same entries, each in its own order
    return plain, place[entry_of]


def _merged(pieces: Pieces, entry_of: IntArray) -> Pieces:
    """Give pieces of other entries, those of one entry in one group together."""
    most = int(pieces.groups.max(initial=-1)) + 2
    keys, which = np.unique(entry_of[pieces.tuples] * most + pieces.groups + 1, return_inverse=True)
    rows = np.bincount(which.ravel(), pieces.rows, len(keys)).astype(np.int64)
    tuples, groups = np.divmod(keys, most)
    return Pieces(tuples, rows, groups - 1)
