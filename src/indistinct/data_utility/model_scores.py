"""Scores of a model: a learner trained on a release, judged on rows that were held out before it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from indistinct.array_types import FloatArray
from indistinct.data_utility.decode import CategoryColumn, Decoded
from indistinct.data_utility.features import FeatureSpace
from indistinct.errors import MissingExtraError, PolicyError
from indistinct.policy.algorithms import PredictionTarget

Task = Literal["classification", "regression"]
LEARNERS = ("boosting", "forest")
"""The learners by name. Boosting stops where a tenth of the training rows gets no better, a forest takes the size of
its leaves from cross-validation; any estimator of scikit-learn may stand for them."""
METRICS = {"classification": "accuracy", "regression": "r2"}
TREES = 100
"""Of a forest; of boosting that cannot stop early."""
FOLDS = 3
"""Parts of the training rows by which a learner is tuned."""


@dataclass(frozen=True, slots=True)
class ModelTask:
    """What is predicted, from what, by which learner, and by which scorer of scikit-learn it is judged."""

    target: str
    features: tuple[str, ...]
    task: Task
    learner: Any = "boosting"
    metric: str = ""

    @classmethod
    def of(
        cls,
        table: Decoded,
        target: str,
        *,
        features: Sequence[str] | None = None,
        task: Task | None = None,
        learner: Any = "boosting",
        metric: str | None = None,
    ) -> ModelTask:
        """Return a task on a table: many different numbers are regressed on, as a search for a target does, and
        everything else classified.
        """
        column = table.column(target)
        values = [column.labels[code] for code in np.unique(column.codes) if column.missing[code] < 1]
        if len(values) < 2:
            raise PolicyError(f"target: {target!r} has one value only, so there is nothing to predict")
        if task is None:
            task = "regression" if PredictionTarget(target).is_regression(values) else "classification"
        if isinstance(learner, str) and learner not in LEARNERS:
            raise PolicyError(f"learner: must be {' or '.join(LEARNERS)} or an estimator, got {learner!r}")
        names = tuple(features or (name for name in table.columns if name != target))
        if target in names:
            raise PolicyError(f"features: {target!r} is the target itself")
        return cls(target, names, task, learner, metric or METRICS[task])


def score_model(train: Decoded, test: Decoded, task: ModelTask, *, seed: int = 0) -> float:
    """Return the score, on the test rows, of the learner that was trained on the training rows.

    Features are the means and weights of what cells stand for (FeatureSpace), so either table may be a release or an
    original; decode the second ``like`` the first. A target that was generalized itself is taken at its likeliest
    value, or its mean. Rows without a target are left out.
    """
    space = FeatureSpace.of(train, task.features)
    x, y = space.matrix(train), _target(train, task)
    tests, truth = space.matrix(test), _target(test, task)
    has_target, is_judged = _is_known(y), _is_known(truth)
    return fit_and_score(x[has_target], y[has_target], tests[is_judged], truth[is_judged], task, seed)


def score_marginals(train: Decoded, test: Decoded, task: ModelTask, *, seed: int = 0) -> float:
    """Return the score of the same learner if every column was shuffled by itself: what marginals alone are worth."""
    rng = np.random.default_rng(seed)
    space = FeatureSpace.of(train, task.features)
    x, y = space.matrix(train), _target(train, task)
    tests, truth = space.matrix(test), _target(test, task)
    has_target, is_judged = _is_known(y), _is_known(truth)
    x = x[rng.permutation(len(x))]  # how features go together tells nothing of a target that was shuffled
    return fit_and_score(x[has_target], y[has_target], tests[is_judged], truth[is_judged], task, seed)


def fit_and_score(x: FloatArray, y: Any, tests: FloatArray, truth: Any, task: ModelTask, seed: int) -> float:
    """Return the score of the learner on the tests; a class that training lacks counts as a mistake."""
    try:
        from sklearn.metrics import get_scorer
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise MissingExtraError('models need scikit-learn: pip install "indistinct[utility]"') from None
    if not len(x) or not len(tests):
        raise PolicyError(f"target: no row has a value of {task.target!r} to learn from, or to be judged by")
    scorer = get_scorer(task.metric)
    x, tests = _with_means(x, x), _with_means(tests, x)
    if len(np.unique(y)) < 2:
        from sklearn.dummy import DummyClassifier, DummyRegressor

        constant = DummyClassifier() if task.task == "classification" else DummyRegressor()
        return float(scorer(constant.fit(x, y), tests, truth))
    with threadpool_limits(1):  # small tables are no quicker in threads, and far slower beside other work
        return float(scorer(_make_learner(task, y, seed).fit(x, y), tests, truth))


def _make_learner(task: ModelTask, y: Any, seed: int) -> Any:
    """Return the learner, which tunes itself by cross-validation if it is one of ours, and if classes are large enough
    to be in all parts of it.
    """
    from sklearn.base import clone

    if not isinstance(task.learner, str):
        return clone(task.learner)
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold

    is_class = task.task == "classification"
    has_rare = is_class and int(np.unique(y, return_counts=True)[1].min()) < FOLDS
    if task.learner == "boosting":
        maker = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
        rounds = TREES if has_rare else 3 * TREES
        return maker(random_state=seed, early_stopping=not has_rare, max_iter=rounds, max_leaf_nodes=15)
    maker = RandomForestClassifier if is_class else RandomForestRegressor
    learner = maker(TREES, random_state=seed)
    grid = {"min_samples_leaf": [1, 5, 20]}
    folds = (StratifiedKFold if is_class and not has_rare else KFold)(FOLDS, shuffle=True, random_state=seed)
    return GridSearchCV(learner, grid, scoring=task.metric, cv=folds, error_score=0.0)


def _target(table: Decoded, task: ModelTask) -> Any:
    """Return the target of each row: its likeliest value, or its mean."""
    column = table.column(task.target)
    if isinstance(column, CategoryColumn):
        return np.array(column.likeliest, object)[column.codes]
    means = column.mean[column.codes]
    if task.task == "regression":
        return means
    nearest = column.middle[column.codes]
    return np.array([None if np.isnan(one) else f"{one:g}" for one in nearest], object)


def _is_known(target: Any) -> Any:
    if target.dtype == object:
        return np.array([one is not None for one in target], np.bool_)
    return np.isfinite(target)


def _with_means(x: FloatArray, like: FloatArray) -> FloatArray:
    """Return the features with the mean of the training rows where a number is missing."""
    with np.errstate(invalid="ignore"):
        counts = np.isfinite(like).sum(axis=0)
        means = np.where(counts > 0, np.nansum(like, axis=0) / np.maximum(counts, 1), 0.0)
    return np.where(np.isfinite(x), x, means)
