"""Weighing: which sensitive columns can have two values in every group, and what that costs, tried on some rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from indistinct.engine import use_table
from indistinct.errors import IndistinctError, InterruptedSearchError
from indistinct.pipeline.stages import choose_algorithm, count, search
from indistinct.privacy import AlphaK, LDiversity, PrivacyModel
from indistinct.quality import Loss
from indistinct.watch import Watch

if TYPE_CHECKING:
    import pyarrow as pa

    from indistinct.policy import Policy

MOST_MORE = 0.1
"""Models may raise the loss by so much: a tenth of all that a table can lose."""
MOST_TRIALS = 12
"""So many releases are tried; a column that no trial was left for gets no model."""
DIVERSE, MOST_OF_A_GROUP = 2, 0.8
"""So many values each group is asked for: more costs much and protects little more. Where single values are limited no
larger share of a group may have them: of five people four."""


@dataclass(slots=True)
class Weighed:
    """What models cost a table: the loss of its release without them, and with those that it can have."""

    rows: int
    """The rows that were tried."""
    alone: float
    """The loss with k-anonymity alone."""
    loss: float
    """The loss with a model for each of the chosen columns."""
    chosen: tuple[str, ...] = ()
    limited: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns of which no group may be nearly all of one of these values; all may share another, which harms nobody."""
    left: dict[str, float | None] = field(default_factory=dict)
    """Columns that cost too much, with the loss that one more model would lead to; None where it was not tried."""


def models_of(diverse: Sequence[str], limited: Mapping[str, Sequence[str]]) -> list[PrivacyModel]:
    """Give the models that ask for two values of some columns, and limit single values of others."""
    shares = {name: dict.fromkeys(values, MOST_OF_A_GROUP) for name, values in limited.items()}
    return [
        *(LDiversity(DIVERSE, column=name) for name in diverse),
        *(AlphaK(shares[name], DIVERSE, column=name) for name in limited),
    ]


def weigh(
    sample: pa.Table,
    policy: Policy,
    columns: Sequence[str],
    harmful: Mapping[str, tuple[str, ...]],
    watch: Watch | None = None,
) -> Weighed:
    """Give the columns that can have two values in every group for no more than ``MOST_MORE`` of loss.

    All are tried together first. Where that costs too much the harmful values of a column are limited instead, if
    ``harmful`` names any, and of the others each half is tried by itself, in this order, beside what was chosen before,
    and so on, until single columns are left that cost too much.
    """
    watch = watch or Watch()
    trials = 0

    def loss_of(diverse: Sequence[str], limited: Mapping[str, Sequence[str]]) -> float:
        nonlocal trials
        watch.report("weigh", trials)
        trials += 1
        return _loss(sample, policy, models_of(diverse, limited), watch)

    alone = loss_of((), {})
    others = {name: values for name, values in harmful.items() if name not in columns}
    together = loss_of(columns, others)
    if together <= alone + MOST_MORE:
        return Weighed(sample.num_rows, alone, together, tuple(columns), others)
    weighed = Weighed(sample.num_rows, alone, alone)
    if harmful and (loss := loss_of((), harmful)) <= alone + MOST_MORE:
        weighed.loss, weighed.limited = loss, dict(harmful)
    rest = [name for name in columns if name not in weighed.limited]
    blocks = [rest] if weighed.limited else _halves(rest)  # all of them together were too many
    while blocks:
        block = blocks.pop()
        if not block or trials >= MOST_TRIALS:
            weighed.left |= dict.fromkeys(block)
            continue
        loss = loss_of((*weighed.chosen, *block), weighed.limited)
        if loss <= alone + MOST_MORE:
            weighed.chosen, weighed.loss = (*weighed.chosen, *block), loss
        elif len(block) == 1:
            weighed.left[block[0]] = loss
        else:
            blocks += _halves(block)
    return weighed


def _halves(columns: Sequence[str]) -> list[Sequence[str]]:
    """Give both halves of some columns, the first half last, where it is taken first."""
    half = (len(columns) + 1) // 2
    return [columns[half:], columns[:half]]


def _loss(sample: pa.Table, policy: Policy, models: Sequence[PrivacyModel], watch: Watch) -> float:
    """Give the loss of the release that satisfies some models as well; all if there is none."""
    asked = replace(policy, privacy=[*policy.privacy, *models])
    chosen, quiet = choose_algorithm(None, asked), Watch(is_cancelled=watch.is_cancelled)
    try:
        with use_table(sample) as rows, count(rows, asked, quiet, algorithm=chosen) as counted:
            return Loss().loss(search(counted, chosen, quiet))
    except InterruptedSearchError:
        raise
    except IndistinctError:
        return 1.0  # no release of so few rows
