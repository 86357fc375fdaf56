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

from indistinct.counting import FrequencyList, IntArray
from indistinct.engine import HISTORY, KEY, STATE
from indistinct.hierarchy import Hierarchy, keep
from indistinct.policy import Column, Policy, identifier, quasi, sensitive
from indistinct.privacy import PrivacyModel
from indistinct.privacy.m_invariance import Signed
from indistinct.recoding import SUPPRESSED, Pieces, Recoding


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


def settled(recoding: Recoding, sizes: IntArray, k: int) -> Recoding:
    """Give a recoding in which nobody is missed: of each history at least ``k`` people are left out, or none.

    ``sizes`` has the number of people of each history, also of those who are no longer in the table: if a few of them
    are left out of the next release, somebody who knows that they are gone finds them in the earlier one. Where that
    is so, more people of their history are suppressed, the smallest group first.
    """
    if HISTORY not in recoding.frequencies.columns:
        return recoding
    group_of = recoding.as_pieces()
    history_of = _history_of_pieces(recoding.frequencies, group_of)
    is_released = (group_of.groups != SUPPRESSED) & (history_of >= 0)
    left = np.bincount(history_of[is_released], group_of.rows[is_released], len(sizes)).astype(np.int64)
    gone = sizes - left
    too_few = np.flatnonzero((gone > 0) & (gone < k) & (left > 0))
    more = np.zeros(recoding.number_of_groups, np.bool_)
    parts = np.bincount(group_of.groups[is_released], group_of.rows[is_released], len(more)).astype(np.int64)
    history_of_group = np.full(len(more), -1)
    history_of_group[group_of.groups[is_released]] = history_of[is_released]
    for history in too_few.tolist():
        own = np.flatnonzero(history_of_group == history)
        own = own[np.argsort(parts[own], kind="stable")]
        enough = int(np.searchsorted(np.cumsum(parts[own]), k - gone[history])) + 1
        more[own[:enough]] = True
    return recoding.without_groups(more) if more.any() else recoding


def _history_of_pieces(frequencies: FrequencyList, pieces: Pieces) -> IntArray:
    """Give the number of each piece's history, -1 for people who are new."""
    column = frequencies.columns.index(HISTORY)
    values = frequencies.hierarchies[column].values
    numbers = np.array([-1 if value is None else int(value) for value in values], np.int64)
    history_of: IntArray = numbers[frequencies.entry_codes(column)[pieces.tuples]]
    return history_of
