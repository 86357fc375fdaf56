"""A release for a purpose: what a classifier trained on a release is worth on rows held out before it was made."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

import indistinct as ix
from benchmarks import tables
from benchmarks.setting import Figures, Setting, say
from benchmarks.target_tables import TargetTable
from benchmarks.target_tables import tables as tables_to_predict
from indistinct.array_types import FloatArray
from indistinct.recoding.label_texts import read_label

KS = (5, 10, 100)
SPLITS = range(5)
TEST = 0.3
NO_TARGET = ("regroup", "mondrian")
LEARNERS = ("boosting", "forest")


def methods(table: TargetTable, k: int) -> dict[str, dict[str, Any]]:
    """Return the policies that are compared, by their names; for small groups those that differ most."""
    target, capped = table.target, {"column": table.target, "max_alike": 0.1}
    if k < KS[-1]:
        options = {"labels": "ranges"}
        return {
            "regroup": {"algorithm": "regroup", "options": options},
            "target: regroup": {"algorithm": "regroup", "options": options | {"target": target}},
        }
    found: dict[str, dict[str, Any]] = {
        name: {"algorithm": name, "options": {"labels": "ranges"}} for name in NO_TARGET
    }
    for name, wanted in (("regroup", target), ("regroup, 10 % alike", capped), ("mondrian", target)):
        found[f"target: {name}"] = {"algorithm": name.split(",")[0], "options": {"labels": "ranges", "target": wanted}}
    if table.name == "Adult":
        found["target: lattice"] = {"algorithm": "lattice", "options": {"target": target}, "max_suppression": 0.02}
    return found


def run_target(setting: Setting) -> list[Figures]:
    """Every method at every k, over five splits: groups are made of the training rows, test rows go to the nearest."""
    found: list[Figures] = []
    for table in tables_to_predict(setting.adult, setting.folder, is_quick=setting.is_quick):
        shown = Features(table)
        learners = _tuned(shown, table, is_quick=setting.is_quick)
        for split in SPLITS[:1] if setting.is_quick else SPLITS:
            is_test = np.random.default_rng(split).random(len(table)) < TEST
            train, test = table.rows(~is_test), table.rows(is_test)
            known: Figures = {"table": table.name, "split": split, "is_tuned_on": table.is_tuned_on}
            found.append({**known, "k": 1, "method": "original", **_scores(shown, learners, train, test)})
            for k in KS[:1] if setting.is_quick else KS:
                for name, way in methods(table, k).items():
                    found.append({**known, "k": k, "method": name, **_judged(shown, learners, train, test, k, way)})
                    one = found[-1]
                    say(f"  {table.name}, split {split}, k = {k}, {name}: {one['boosting']:.4f}")
        if not setting.is_quick and table.name == "Adult":
            found += _with_both_parts(shown, learners, table)
    return found


def _released(table: TargetTable, train: Mapping[str, list[str]], k: int, way: Mapping[str, Any]) -> Figures:
    """Return the released cells, NCP and CPU seconds."""
    import pyarrow as pa

    columns = {name: ix.sensitive() if name == table.target else ix.quasi(table.hierarchies[name]) for name in train}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(k)], **way)
    started = time.process_time()
    with ix.anonymize(pa.table(dict(train)), policy) as release:
        seconds = time.process_time() - started
        cells = {name: [str(cell) for cell in release.table[name].to_pylist()] for name in train}
        return {"cells": cells, "ncp": release.measures["ncp"], "cpu_seconds": seconds}


def _judged(
    shown: Features,
    learners: Mapping[str, Any],
    train: Mapping[str, list[str]],
    test: Mapping[str, list[str]],
    k: int,
    way: Mapping[str, Any],
) -> Figures:
    """Release the training rows, give test rows the labels of the groups that cover them, and score learners."""
    made = _released(shown.table, train, k, way)
    one = made.pop("cells")
    recoded, fits = _recode(shown, one, test)
    alike = _share_alike(one, shown.table.target)
    return {**made, **_scores(shown, learners, one, recoded), "alike": alike, "fits": fits}


def _with_both_parts(shown: Features, learners: Mapping[str, Any], table: TargetTable) -> list[Figures]:
    """Return the figures by the protocol of k-AnonML: all rows are released, then divided; without a target."""
    found: list[Figures] = []
    for name in NO_TARGET:
        cells = _released(table, table.rows(np.ones(len(table), np.bool_)), KS[-1], methods(table, KS[-1])[name])[
            "cells"
        ]
        for split in SPLITS:
            is_test = np.random.default_rng(split).random(len(table)) < TEST
            train, test = (
                {own: np.array(c)[side].tolist() for own, c in cells.items()} for side in (~is_test, is_test)
            )
            scores = _scores(shown, learners, train, test)
            found.append({"table": table.name, "split": split, "k": KS[-1], "method": name, "both": True, **scores})
    return found


def _tuned(shown: Features, table: TargetTable, *, is_quick: bool) -> dict[str, Any]:
    """Return both learners, tuned on the training rows of the first split as they are; small ones in a quick run."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.model_selection import GridSearchCV

    is_train = np.random.default_rng(0).random(len(table)) >= TEST
    train = table.rows(is_train)
    some = np.random.default_rng(0).permutation(int(is_train.sum()))[:4000]
    x, y = shown.matrix(train)[some], np.array(train[table.target])[some]
    grids = {
        "boosting": (
            HistGradientBoostingClassifier(max_iter=5 if is_quick else 100, random_state=0),
            {"learning_rate": [0.05, 0.15], "max_leaf_nodes": [7, 31]},
        ),
        "forest": (RandomForestClassifier(3 if is_quick else 30, random_state=0), {"min_samples_leaf": [2, 5, 15]}),
    }
    return {
        name: GridSearchCV(learner, grid, cv=3).fit(x, y).best_estimator_ for name, (learner, grid) in grids.items()
    }


def _recode(
    shown: Features, released: Mapping[str, list[str]], test: Mapping[str, list[str]]
) -> tuple[dict[str, list[str]], float]:
    """Return test rows under the narrowest labels of a released group that cover them, else as they are."""
    target = shown.table.target
    names = [name for name in released if name != target]
    groups = sorted(set(zip(*(released[name] for name in names), strict=True)))
    covers, widths = [], np.zeros(len(groups))
    for place, name in enumerate(names):
        texts = {group[place] for group in groups}
        by_text = {text: shown.covered(name, text) for text in texts}
        covers.append(np.stack([by_text[group[place]] for group in groups]))
        widths += covers[-1].mean(axis=1)
    order = np.argsort(widths, kind="stable")
    own = np.stack([[shown.places[name][cell] for cell in test[name]] for name in names])
    chosen = np.full(own.shape[1], -1)
    for start in range(0, own.shape[1], 1000):
        part = own[:, start : start + 1000]
        fits = np.ones((len(groups), part.shape[1]), np.bool_)
        for place, cover in enumerate(covers):
            fits &= cover[:, part[place]]
        first = fits[order].argmax(axis=0)
        chosen[start : start + 1000] = np.where(fits.any(axis=0), order[first], -1)
    recoded = {
        name: [groups[group][place] if group >= 0 else cell for group, cell in zip(chosen, test[name], strict=True)]
        for place, name in enumerate(names)
    }
    return recoded | {target: test[target]}, float((chosen >= 0).mean())


def _share_alike(released: Mapping[str, list[str]], target: str) -> float:
    """Return the share of rows in groups in which all have one value of the target."""
    values: dict[tuple[str, ...], list[str]] = {}
    names = [name for name in released if name != target]
    for *labels, value in zip(*(released[name] for name in names), released[target], strict=True):
        values.setdefault(tuple(labels), []).append(value)
    return sum(len(own) for own in values.values() if len(set(own)) == 1) / len(released[target])


class Features:
    """Labels as numbers: of a range the middle and both ends, of a set or a value equal weights of what it covers."""

    def __init__(self, table: TargetTable) -> None:
        self.table = table
        quasi = [name for name in table.columns if name != table.target]
        self.values = {name: sorted(set(table.columns[name])) for name in quasi}
        self.places = {name: {text: place for place, text in enumerate(own)} for name, own in self.values.items()}
        self._covered: dict[tuple[str, str], Any] = {}

    def covered(self, name: str, text: str) -> Any:
        """Return which values of a column a label covers."""
        if (name, text) not in self._covered:
            self._covered[name, text] = self._cover(name, text)
        return self._covered[name, text]

    def _cover(self, name: str, text: str) -> Any:
        values = self.values[name]
        found = np.zeros(len(values), np.bool_)
        if text in self.places[name]:
            found[self.places[name][text]] = True
            return found
        cover = read_label(text)
        if cover is None:
            paths = self.table.hierarchies[name].compile(values)
            for codes, labels in zip(paths.maps, paths.labels, strict=True):
                found |= np.array([labels[code] == text for code in codes])
        elif cover.is_range:
            low, high = (float(end) for end in (cover.values[0], cover.values[-1]))
            found |= np.array([low <= float(value) <= high for value in values])
        else:
            found[[self.places[name][value] for value in cover.values]] = True
        return found

    def matrix(self, table: Mapping[str, list[str]]) -> FloatArray:
        """Return the features of each row."""
        parts = []
        for name, values in self.values.items():
            is_number = all(value.lstrip("-").isdigit() for value in values)
            known: dict[str, FloatArray] = {}
            for text in set(table[name]):
                weights = self.covered(name, text) / max(1, self.covered(name, text).sum())
                numbers = np.array(values, float)[weights > 0] if is_number else weights
                known[text] = np.array([numbers.mean(), numbers.min(), numbers.max()]) if is_number else weights
            parts.append(np.stack([known[text] for text in table[name]]))
        return np.concatenate(parts, axis=1).astype(np.float64)


def _scores(
    shown: Features, learners: Mapping[str, Any], train: Mapping[str, list[str]], test: Mapping[str, list[str]]
) -> Figures:
    """Train both learners, and return accuracy and macro F1 on the test rows."""
    from sklearn.base import clone
    from sklearn.metrics import accuracy_score, f1_score

    target = shown.table.target
    x, y, x_test, y_test = shown.matrix(train), train[target], shown.matrix(test), test[target]
    scores: Figures = {}
    for name, learner in learners.items():
        told = clone(learner).fit(x, y).predict(x_test)
        scores[name] = float(accuracy_score(y_test, told))
        scores[f"{name}_f1"] = float(f1_score(y_test, told, average="macro"))
    return scores


def section(figures: list[Figures]) -> str:
    """Return the section of the page."""
    text = """Accuracy of boosting at k = 5/10/100 on 30 % of the rows, held out before the rest was released; mean over
five splits, and of Adult also macro F1 and the share of rows in groups of one class. Test rows get the narrowest labels
that cover them. Housing: is a block worth more than the median? Cuts were settled on Adult."""
    own = [one for one in figures if not one.get("both")]
    lattice = _mean(own, "Adult", KS[-1], "target: lattice", "boosting")
    own = [one for one in own if one["method"] != "target: lattice"]
    ways = list(dict.fromkeys(one["method"] for one in own))
    rows = []
    for table in dict.fromkeys(one["table"] for one in own):
        rows.append([table, *(_cells(own, table, way, "boosting") for way in ways)])
        if table == "Adult":
            rows.append(["macro F1", *(_cells(own, table, way, "boosting_f1") for way in ways)])
            rows.append(["alike", *(_cells(own, table, way, "alike") for way in ways)])
    both = [one for one in figures if one.get("both")]
    said = ", ".join(f"{way} {_mean(both, 'Adult', KS[-1], way, 'boosting')}" for way in NO_TARGET) if both else ""
    after = f"By k-AnonML's protocol (test rows shape the groups too), k = 100, no target: {said}." if said else ""
    after += f" Lattice with a target: Adult {lattice} at k = 100." if lattice else ""
    return tables.section("For a target", "target", f"{text} {after}", tables.table(["", *ways], rows))


def _cells(figures: list[Figures], table: str, method: str, name: str) -> str:
    """Return a score at each k; of the original there is one."""
    ks = [1] if method == "original" else KS
    return "/".join(_mean(figures, table, k, method, name) or "–" for k in ks)


def _mean(figures: list[Figures], table: str, k: int, method: str, name: str) -> str:
    """Return the mean of a score over the splits; nothing if it was not measured."""
    some = [one for one in figures if (one["table"], one["k"], one["method"]) == (table, k, method) and name in one]
    return f"{100 * np.mean([one[name] for one in some]):.1f}" if some else ""
