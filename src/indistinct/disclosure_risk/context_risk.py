"""The risk of a release, R = R_data x R_context, held against the threshold of its policy.

R_data is the chance that an attempt finds somebody, from the released cells alone: one over the rows of a group, or
over its people where those are counted. Of several quasi-identifiers the worst one counts; where a policy says how
many events others know, the rarest set of so many. R_context is the probability of an attempt, as the policy's context
says it.

Source: ISO/IEC 27559:2022, 8.2; IHE De-Identification Handbook 2026, Process; Ontario's guidelines 2016, steps 3 to 6.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from indistinct.array_types import IntArray
from indistinct.engine import PROFILE, Rows
from indistinct.policy import PSEUDONYM, Policy
from indistinct.policy.context import Context
from indistinct.policy.files.policy_file import load_policy
from indistinct.proof.judges.several_tables import profile_sizes
from indistinct.proof.verdict import Verdict, verify
from indistinct.release.released_tables import ReleasedTables
from indistinct.showing.numbers import figure

ALMOST = 1 + 1e-12
"""A risk this much above its threshold is equal to it: floating-point numbers of one value differ by as much."""


@dataclass(frozen=True, slots=True)
class DataRisk:
    """The chance that an attempt finds somebody, by the released cells alone."""

    units: Literal["rows", "people"]
    records: int
    """How many rows were released, or people."""
    maximum: float
    """The chance of whoever is worst off; 0 if nothing was released."""
    average: float
    """The chance of a record on average; the maximum where people of groups cannot be told apart any more."""
    above: int | None
    """Records whose own chance is above the threshold; None where it cannot be counted."""
    is_average_known: bool = True
    """The average was counted; else the maximum stands for it."""


@dataclass(frozen=True, slots=True)
class OverallRisk:
    """R of a release, with what it is made of and what it is held against."""

    data: DataRisk
    context: Context

    @property
    def r_data(self) -> float:
        """The chance that counts: the maximum, or the average."""
        return self.data.maximum if self.context.which == "maximum" else self.data.average

    @property
    def r_context(self) -> float:
        """The probability of an attempt."""
        return self.context.likelihood

    @property
    def value(self) -> float:
        """R itself."""
        return self.r_data * self.r_context

    @property
    def reasons(self) -> tuple[Literal["threshold", "highest"], ...]:
        """What it is above: the threshold, or the largest chance that anybody may have."""
        limit, cutoff = self.context.limit, self.context.cutoff
        found: list[Literal["threshold", "highest"]] = []
        if limit is not None and self.value > limit.value * ALMOST:
            found.append("threshold")
        if limit is not None and cutoff is not None and self.data.maximum > cutoff * ALMOST:
            found.append("highest")
        return tuple(found)

    @property
    def is_above(self) -> bool | None:
        """The risk is above what was accepted; None where nothing was said."""
        return None if self.context.limit is None else bool(self.reasons)

    @property
    def sentence(self) -> str:
        """The risk in one line, with its parts."""
        which = "highest" if self.context.which == "maximum" else "average"
        which = which if self.data.is_average_known else "highest"
        parts = f"R = R_data × R_context = {figure(self.r_data)} ({which}) × {figure(self.r_context)}"
        said = f"{parts} = {figure(self.value)}"
        limit = self.context.limit
        if limit is None:
            return f"{said}; no threshold was said"
        held = "above" if "threshold" in self.reasons else "not above"
        told = f"{said}, {held} the threshold {figure(limit.value)}"
        if "highest" in self.reasons:
            told += f"; somebody's own chance is {figure(self.data.maximum)}, above {figure(self.context.cutoff or 0)}"
        return told

    def to_dict(self) -> dict[str, Any]:
        """Return the risk as JSON takes it."""
        limit = self.context.limit
        return {
            "r_data": self.r_data,
            "r_context": self.r_context,
            "r": self.value,
            "measure": self.context.which,
            "threshold": None if limit is None else limit.value,
            "threshold_source": None if limit is None else limit.source,
            "highest": self.context.cutoff,
            "is_above": self.is_above,
            "reasons": list(self.reasons),
            "data": asdict(self.data),
        }

    def __str__(self) -> str:
        return self.sentence


def overall_risk(release: Any, policy: Policy | str | os.PathLike[str], **reading: Any) -> OverallRisk:
    """Return R of a release, a folder or a Release, in the context of its policy; of none a public one is assumed."""
    policy = load_policy(policy)
    context = policy.context or Context()
    released = ReleasedTables.of(release, policy, **reading)
    with released.rows() as tables:
        data = data_risk(released, tables, policy, context.record_limit or 1.0)
    return OverallRisk(data, context)


def data_risk(
    released: ReleasedTables,
    tables: Mapping[str, Rows],
    policy: Policy,
    threshold: float = 1.0,
    verdict: Verdict | None = None,
) -> DataRisk:
    """Return the chances that the released cells leave; ``threshold`` is that of a record's own chance.

    ``verdict`` is that of the release, if it was recounted before.
    """
    said = released.said
    people = None if said is None else said.people
    if not any(one.count() for one in tables.values()):
        return DataRisk("rows", 0, 0.0, 0.0, 0)
    if policy.tables:
        sizes = profile_sizes(tables, policy)
        if policy.knows is None:
            return _of_sizes("people", [sizes], threshold)
        return _of_fewest(int(sizes.sum()), (verdict or verify(released, policy)).fewest_who_fit, threshold)
    rows = tables[released.form.first]
    groupings = [tuple(names) for names in (policy.quasi_identifiers or {}).values()]
    groupings = groupings if released.form.generalizes else [released.form.grouped_by(())]
    if policy.links_rows and PSEUDONYM in rows.columns():
        found: list[IntArray] = []
        for names in groupings:
            with rows.with_profiles(names, (PSEUDONYM,), PROFILE) as profiled:
                found.append(profiled.sizes_by((PROFILE,), (PSEUDONYM,)))
        return _of_sizes("people", found, threshold)
    if people is not None:  # whose rows they are is not released, so only what their maker counted is known
        return _of_fewest(people.released, people.smallest_group, threshold)
    return _of_sizes("rows", [rows.sizes_by(names) for names in groupings], threshold)


def _of_fewest(people: int, fewest: int, threshold: float) -> DataRisk:
    """Return the chances where at least so many people cannot be told apart, and no more is known of each."""
    highest = 1 / max(1, fewest)
    above = 0 if highest <= threshold * ALMOST else None
    return DataRisk("people", people, highest, highest, above, is_average_known=False)


def _of_sizes(units: Literal["rows", "people"], found: list[IntArray], threshold: float) -> DataRisk:
    """Return the worst of the chances by each of several quasi-identifiers."""
    chances = [1 / sizes for sizes in found]
    averages = [len(sizes) / max(1, int(sizes.sum())) for sizes in found]
    above = [int(sizes[each > threshold * ALMOST].sum()) for sizes, each in zip(found, chances, strict=True)]
    highest = max(float(np.max(each, initial=0.0)) for each in chances)
    return DataRisk(units, max(int(sizes.sum()) for sizes in found), highest, max(averages), max(above))
