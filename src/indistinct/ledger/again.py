"""Releasing again: a search knows what earlier releases have shown, so that the next one undoes none of them.

What was released of a person before becomes one more quasi-identifying column, the history, which is never generalized
and never released. Groups then hold people of one history only, so that each part of a released group that somebody
can tell apart with the earlier releases satisfies the models by itself: Sweeney's first remedy, all that was released
before is part of the quasi-identifier. For her second remedy, a release that is based on an earlier one, the cells of
the people in that one are replaced by the labels which it gave them, so that nothing becomes more specific.

Where m-invariance was promised, the history is another one: the values that people's groups had.

Source: Sweeney 2002, "k-anonymity: a model for protecting privacy", Sections 3.2 and 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from indistinct.counting import FrequencyList, IntArray, encode_eligible
from indistinct.engine import HISTORY, KEY, PARENT, PERSON, ROW, STATE, Rows
from indistinct.errors import InfeasibleError, LedgerError, RefusedError
from indistinct.hierarchy import Based, Hierarchy, keep
from indistinct.ledger.history import Earlier
from indistinct.ledger.terms import Terms, signed_column
from indistinct.pipeline import Counted, search
from indistinct.policy import Column, Policy, identifier, quasi, sensitive
from indistinct.privacy import PrivacyModel
from indistinct.privacy.models.m_invariance import Signed
from indistinct.progress import Watch
from indistinct.recoding import SUPPRESSED, Pieces, Recoding
from indistinct.search import Algorithm, MInvariant


@dataclass(frozen=True, slots=True)
class History:
    """What a search must know of earlier releases; nothing without any."""

    policies: tuple[Policy, ...] = ()
    """The policies of the earlier releases, whose promises still hold."""
    path: Path | None = None
    """The file with the history of each person who was released before."""
    sizes: IntArray | None = None
    """The people of each history; None where they may come and go one by one."""
    signed: str | None = None
    """The sensitive column whose values must stay the same in people's groups, if m-invariance was promised."""
    based: Mapping[str, Hierarchy] = field(default_factory=dict)
    """The columns in which nothing may become more specific, each with a hierarchy that knows earlier labels."""

    def policy(self, policy: Policy) -> Policy:
        """Return the policy of the search: histories are never mixed, and earlier promises still hold.

        With a ``signed`` column groups may mix histories, but everybody must stay with the same values.
        """
        based = {name: replace(policy.columns[name], hierarchy=one) for name, one in self.based.items()}
        policy = replace(policy, columns={**policy.columns, **based}) if based else policy
        if not self.policies:
            return with_internal_columns(policy)
        models = [*policy.privacy, *_still_promised(policy, self.policies)]
        if self.signed is None:
            assert policy.quasi_identifiers is not None  # set when the policy was made
            named = {name: (*columns, HISTORY) for name, columns in policy.quasi_identifiers.items()}
            return replace(with_internal_columns(policy, quasi(keep()), named), privacy=models)
        asks_all = [model.asks_sensitive and model.column is None for model in models]
        models = [
            replace(model, column=self.signed) if asks else model  # type: ignore[type-var]  # models are dataclasses
            for model, asks in zip(models, asks_all, strict=True)
        ]
        return replace(with_internal_columns(policy, sensitive()), privacy=[*models, Signed(HISTORY)])


def with_internal_columns(
    policy: Policy, history: Column | None = None, quasi_identifiers: Mapping[str, Sequence[str]] | None = None
) -> Policy:
    """Return the policy for rows whose people were recognised; the history plays a part only if it has a role."""
    names = (KEY, STATE, PERSON, ROW) if policy.person_columns else (KEY, STATE)
    internal = {**{name: identifier() for name in names}, HISTORY: history or identifier()}
    for part in policy.parts.values():
        for name in part.policy.columns:
            if name.lower() in (*internal, PARENT):
                raise LedgerError(
                    f"column {name!r} has a name that the ledger needs for itself; give the column another"
                )
    if policy.tables:
        tables = {}
        for name, table in policy.tables.items():
            nested = {PARENT: identifier()} if policy.parts[name].parent else {}
            tables[name] = replace(table, columns={**table.columns, **internal, **nested}, eligible=())
        return replace(policy, tables=tables)
    return replace(
        policy,
        columns={**policy.columns, **internal},
        quasi_identifiers=quasi_identifiers or policy.quasi_identifiers,
        eligible=(),  # rows that are not eligible were left out when the others were recognised
    )


def write_history(rows: Rows, terms: Terms, algorithm: Algorithm, earlier: Earlier, private: Path) -> History:
    """Write the history of everybody who was released before to a private folder, and say what a search must keep to.

    Where m-invariance was promised, it is the values that a person's group had; nobody is counted then, since people
    may come and go one by one.
    """
    signed = signed_column(terms.policy, earlier.policies)
    if not earlier.entries:
        return History()
    path, columns = private / "history.parquet", _columns_shown_last(terms.policy, earlier)
    if signed is not None:
        _refuse_other_ways(algorithm, terms)
        showing = [number for number, one in enumerate(earlier.policies) if signed in one.with_role("sensitive")]
        if not showing:
            return History(earlier.policies, signed=signed)
        with earlier.histories() as histories:
            histories.write_signatures(path, showing, signed)
        return History(earlier.policies, path, signed=signed)
    with earlier.histories() as histories:
        histories.write(path, columns)
        sizes = histories.cells()[1]
    if terms.again != "based":
        return History(earlier.policies, path, sizes)
    with encode_eligible(rows, terms.policy, columns) as encoded:
        values = encoded.values
    based = {name: Based(terms.policy.columns[name].hierarchy, values[name]) for name in columns}
    return History(earlier.policies, path, sizes, based=based)


def _columns_shown_last(policy: Policy, earlier: Earlier) -> tuple[str, ...]:
    """Return the quasi columns that the latest of the releases generalized, which the next one can be based on."""
    has_labels = earlier.entries[-1].said.shape.generalizes
    return tuple(name for name in policy.quasi if name in earlier.policies[-1].quasi) if has_labels else ()


def _refuse_other_ways(algorithm: Algorithm, terms: Terms) -> None:
    """Raise if a release that must be m-invariant with earlier ones is asked for in a way that does not see to it."""
    if algorithm.name != MInvariant.name:
        raise LedgerError(
            f"m-invariance over several releases is seen to by the algorithm {MInvariant.name!r} alone, not by "
            f"{algorithm.name!r}: say algorithm = {MInvariant.name!r}"
        )
    if terms.again == "based":
        raise LedgerError(
            "with m-invariance people move between groups, so a release cannot be based on an earlier "
            "one: say again='consistent' (--again consistent)"
        )


def search_again(counted: Counted, algorithm: Algorithm, history: History, watch: Watch) -> Recoding:
    """Search for a recoding that keeps to earlier releases, if there are any; refuse if there is none."""
    if not history.policies:
        return search(counted, algorithm, watch)
    try:
        recoding = search(counted, algorithm, watch)
    except InfeasibleError as error:
        needed = (
            ". New people must be as many as the models ask for, and of those who were released before enough must "
            "stay or go together: allow more suppression, or wait until more have changed"
        )
        raise RefusedError(
            f"no release under this policy keeps to the earlier ones: {error}{'' if history.sizes is None else needed}"
        ) from None
    if history.sizes is None:
        return recoding
    if not recoding.form.generalizes:
        raise RefusedError(
            "a release of two tables cannot be made to keep to earlier ones; release one table, or check it without "
            "again"
        )
    budget = max(counted.task.budget, recoding.suppressed_rows)
    models = (model for one in (counted.policy, *history.policies) for model in one.privacy)
    recoding = leave_out_enough(recoding, history.sizes, max(model.least_rows for model in models))
    if recoding.suppressed_rows > budget or recoding.released_rows == 0:
        raise RefusedError(
            f"to keep to the earlier releases {recoding.suppressed_rows} of {recoding.rows} rows must be suppressed, "
            f"but the policy allows {budget}: people who are gone would be missed in too small a group; allow more "
            "suppression"
        )
    return recoding


def leave_out_enough(recoding: Recoding, sizes: IntArray, k: int) -> Recoding:
    """Return a recoding in which nobody is missed: of each history at least ``k`` people are left out, or none.

    ``sizes`` has the number of people of each history, also of those who are no longer in the table: if a few of them
    are left out of the next release, somebody who knows that they are gone finds them in the earlier one. Where that
    is so, more people of their history are suppressed, the smallest group first.
    """
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
    """Return the number of each piece's history, -1 for people who are new."""
    column = frequencies.columns.index(HISTORY)
    values = frequencies.hierarchies[column].values
    numbers = np.array([-1 if value is None else int(value) for value in values], np.int64)
    history_of: IntArray = numbers[frequencies.entry_codes(column)[pieces.tuples]]
    return history_of


def _still_promised(policy: Policy, earlier: Sequence[Policy]) -> list[PrivacyModel]:
    """Return the models of earlier policies that a release under this one can be asked to keep, each once."""
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
