"""Weighing: which sensitive columns can have two values in every group, and what that costs, tried on some rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from indistinct.errors import IndistinctError, InterruptedSearchError
from indistinct.pipeline.stages import choose_algorithm, count, open_tables, search
from indistinct.privacy import AlphaK, LDiversity, PrivacyModel
from indistinct.progress import Watch
from indistinct.quality import Loss

if TYPE_CHECKING:
    import pyarrow as pa

    from indistinct.policy import Policy

MOST_MORE = 0.1
"""What models may raise the loss by: a tenth of all that a table can lose."""
MOST_TRIALS = 12
"""Releases that are tried; a column that no trial was left for gets no model."""
DIVERSE, MOST_OF_A_GROUP = 2, 0.8
"""Values that each group is asked for: more costs much and protects little more. Where single values are limited no
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
    by_ranges: float | None = None
    """The loss with the same models if labels are ranges and sets; None where it was not tried."""


def models_of(diverse: Sequence[str], limited: Mapping[str, Sequence[str]]) -> list[PrivacyModel]:
    """Return the models that ask for two values of some columns, and limit single values of others."""
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
    """Return the columns that can have two values in every group for no more than ``MOST_MORE`` of loss.

    All are tried together first. Where that costs too much the harmful values of a column are limited instead, if
    ``harmful`` names any, and the others are tried in this order. Of columns that cost too much together each half is
    tried by itself, beside what was chosen before, and so on, until single columns are left.
    """
    trial = _ModelTrial(sample, policy, watch or Watch())
    alone = trial.loss((), {})
    others = {name: values for name, values in harmful.items() if name not in columns}
    together = trial.loss(columns, others)
    if together <= alone + MOST_MORE:
        return Weighed(sample.num_rows, alone, together, tuple(columns), others)
    weighed = Weighed(sample.num_rows, alone, alone)
    blocks = [tuple(name for name in columns if name not in harmful), tuple(harmful)]
    while blocks:
        block = blocks.pop()
        if not block or trial.made >= MOST_TRIALS:
            weighed.left |= dict.fromkeys(block)
            continue
        more = {name: harmful[name] for name in block if name in harmful}
        diverse, limited = (*weighed.chosen, *(name for name in block if name not in more)), weighed.limited | more
        loss = trial.loss(diverse, limited)
        if loss <= alone + MOST_MORE:
            weighed.chosen, weighed.limited, weighed.loss = diverse, limited, loss
        elif len(block) == 1:
            weighed.left[block[0]] = loss
        else:
            half = (len(block) + 1) // 2
            blocks += [block[half:], block[:half]]  # the first half is taken first
    return weighed


@dataclass(slots=True)
class _ModelTrial:
    """Makes releases of some rows, and counts them."""

    sample: pa.Table
    policy: Policy
    watch: Watch
    made: int = 0

    def loss(self, diverse: Sequence[str], limited: Mapping[str, Sequence[str]]) -> float:
        """Return the loss of the release with models of some columns."""
        self.watch.report("weigh", self.made, MOST_TRIALS)
        self.made += 1
        return trial_loss(self.sample, self.policy, models_of(diverse, limited), self.watch)


def trial_loss(sample: pa.Table, policy: Policy, models: Sequence[PrivacyModel], watch: Watch) -> float:
    """Return the loss of a release of some rows that satisfies some models as well; all if there is none."""
    asked = replace(policy, privacy=[*policy.privacy, *models])
    chosen, quiet = choose_algorithm(None, asked), Watch(is_cancelled=watch.is_cancelled)
    try:
        with open_tables(sample, asked) as tables, count(tables, asked, quiet, algorithm=chosen) as counted:
            return Loss().loss(search(counted, chosen, quiet))
    except InterruptedSearchError:
        raise
    except IndistinctError:
        return 1.0  # no release of so few rows
