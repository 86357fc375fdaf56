"""model_utility(): a learner trained on releases, judged on rows that were held out before these were made."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.array_types import IntArray
from indistinct.data_utility import DecodedPair, decode_original
from indistinct.data_utility.model_scores import ModelTask, Task, score_marginals, score_model
from indistinct.engine import use_table
from indistinct.errors import PolicyError
from indistinct.pipeline.stages import anonymize, choose_algorithm
from indistinct.policy import Policy
from indistinct.policy.files.policy_file import load_policy
from indistinct.progress import Watch
from indistinct.release.manifest import Facts
from indistinct.search import Algorithm, algorithm_named

SPLITS = 5
HELD_OUT = 0.3
"""The share of rows, or of people, that no release is made of."""


@dataclass(frozen=True, slots=True)
class ModelUtility:
    """The scores of one learner on the same held-out rows: trained on a release, on the rows that it was made of, and
    on these with every column shuffled by itself.
    """

    target: str
    task: str
    learner: str
    metric: str
    rows: int
    """The rows that releases were made of, and on which learners were trained."""
    held_out: int
    release: tuple[float, ...]
    """A score for each split."""
    original: tuple[float, ...]
    marginals: tuple[float, ...]

    @property
    def means(self) -> dict[str, float]:
        """The mean score of each, over the splits."""
        return {name: float(np.mean(own)) for name, own in self._scores.items()}

    @property
    def spreads(self) -> dict[str, float]:
        """The standard deviation of each, over the splits."""
        return {name: float(np.std(own, ddof=1)) if len(own) > 1 else 0.0 for name, own in self._scores.items()}

    @property
    def _scores(self) -> dict[str, tuple[float, ...]]:
        return {"original": self.original, "release": self.release, "marginals": self.marginals}

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as JSON takes them."""
        return asdict(self) | {"means": self.means, "spreads": self.spreads}

    def __str__(self) -> str:
        said = [f"{name} {mean:.4f} ± {self.spreads[name]:.4f}" for name, mean in self.means.items()]
        return f"{self.metric} of {self.target} by {self.learner}, {len(self.release)} splits: {', '.join(said)}"


def model_utility(
    table: Any,
    policy: Policy | str | os.PathLike[str],
    target: str,
    *,
    algorithm: Algorithm | str | None = None,
    features: Sequence[str] | None = None,
    task: Task | None = None,
    learner: Any = "boosting",
    metric: str | None = None,
    splits: int = SPLITS,
    held_out: float = HELD_OUT,
    seed: int = 0,
    watch: Watch | None = None,
    **reading: Any,
) -> ModelUtility:
    """Return what a learner is worth that was trained on releases of a table.

    Each split draws ``held_out`` of the rows, or of the people where the policy says whose they are, and makes a
    release of the others: groups are never shaped by rows that judge them. The learner is ``boosting``, ``forest`` or
    any estimator of scikit-learn, the metric a scorer's name, the algorithm the policy's if not said. Nothing is
    written.
    """
    policy, watch = load_policy(policy, to="utility"), watch or Watch()
    if not isinstance(splits, int) or splits < 1 or not 0 < held_out < 1:
        raise PolicyError("splits: at least 1 is needed, and held_out must lie between 0 and 1")
    chosen = choose_algorithm(algorithm, policy)
    with use_table(table, **reading) as rows:
        whole = rows.head(rows.count())
    if whole.num_rows < 10:
        raise PolicyError("the table has too few rows to hold some of them out")
    rng = np.random.default_rng(seed)
    people = _people(whole, policy)
    scores = []
    for place in range(splits):
        watch.report("utility", place, splits)
        is_test = np.isin(people, rng.permutation(people.max() + 1)[: round(held_out * (people.max() + 1))])
        train, test = whole.filter(pa.array(~is_test)), whole.filter(pa.array(is_test))
        quiet = Watch(watch.time_limit, None, watch.is_cancelled)
        release = anonymize(train, policy, algorithm=chosen, watch=quiet)
        pair = DecodedPair.of(release, train, policy)
        asked = ModelTask.of(pair.original, target, features=features, task=task, learner=learner, metric=metric)
        judged, _ = decode_original(test, policy, pair.original)
        scores.append(
            (
                score_model(pair.release, judged, asked, seed=place),
                score_model(pair.original, judged, asked, seed=place),
                score_marginals(pair.original, judged, asked, seed=place),
            )
        )
    named = learner if isinstance(learner, str) else type(learner).__name__
    columns = zip(*scores, strict=True)
    return ModelUtility(target, asked.task, named, asked.metric, len(pair.original), len(judged), *columns)


def algorithm_that_made(said: Facts | None) -> Algorithm | None:
    """Return the algorithm that a release says it was made with; None for a table that says nothing."""
    if said is None:
        return None
    options: Mapping[str, Any] = said.options
    return algorithm_named(said.algorithm, **options)


def _people(whole: pa.Table, policy: Policy) -> IntArray:
    """Return a number for each row: of whose it is, where the policy says that, else its own."""
    names = [name for name in policy.person_columns if name in whole.column_names]
    found = np.zeros(whole.num_rows, np.int64)
    if not names:
        return np.arange(whole.num_rows)
    for name in names:
        codes = whole.column(name).combine_chunks().dictionary_encode(null_encoding="encode")
        own = np.asarray(codes.indices.to_numpy(zero_copy_only=False), np.int64)
        _, found = np.unique(found * (int(own.max(initial=0)) + 1) + own, return_inverse=True)
    return found
