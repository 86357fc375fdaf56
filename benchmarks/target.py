"""A release for a purpose: what a classifier trained on a release is worth on rows held out before it was made."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import indistinct as ix
from benchmarks import tables
from benchmarks.adult import Rows
from benchmarks.data import hierarchy_of
from benchmarks.setting import Figures, Setting, say
from indistinct.array_types import FloatArray
from indistinct.recoding.label_texts import read_label

TARGET = "salary-class"
KS = (5, 10, 100)
SPLITS = 5
TEST = 0.3
METHODS: dict[str, dict[str, Any]] = {
    "regroup": {"algorithm": "regroup", "options": {"labels": "ranges"}},
    "mondrian": {"algorithm": "mondrian", "options": {"labels": "ranges"}},
    "target": {"algorithm": "mondrian", "options": {"labels": "ranges", "target": TARGET}},
    "target, 10 % alike": {
        "algorithm": "mondrian",
        "options": {"labels": "ranges", "target": {"column": TARGET, "max_alike": 0.1}},
    },
}
LEARNERS = ("boosting", "logistic")


def run_target(setting: Setting) -> list[Figures]:
    """Every method at every k, over five splits: groups are made of the training rows, test rows go to the nearest."""
    rows = setting.adult
    found: list[Figures] = []
    for split in range(1 if setting.is_quick else SPLITS):
        is_test = np.random.default_rng(split).random(len(rows)) < TEST
        train, test = _columns(rows, ~is_test), _columns(rows, is_test)
        shown = Features.of(rows)
        found.append({"split": split, "k": 1, "method": "original", **_scores(shown, train, test)})
        for k in KS[:1] if setting.is_quick else KS:
            for name, way in METHODS.items():
                found.append({"split": split, "k": k, "method": name, **_judged(shown, train, test, k, way)})
                one = found[-1]
                say(f"  split {split}, k = {k}, {name}: {one['boosting']:.4f}, F1 {one['boosting_f1']:.3f}")
    return found


def _columns(rows: Rows, is_chosen: Any) -> dict[str, list[str]]:
    """Return some of the rows as texts, column by column."""
    return {
        name: np.array(rows.values(column))[rows.codes[column][is_chosen]].tolist()
        for column, name in enumerate(rows.columns)
    }


def _judged(
    shown: Features, train: Mapping[str, list[str]], test: Mapping[str, list[str]], k: int, way: Mapping[str, Any]
) -> Figures:
    """Release the training rows, give test rows the labels of the groups that cover them, and score learners."""
    import pyarrow as pa

    columns = {name: ix.sensitive() if name == TARGET else ix.quasi(hierarchy_of(name)) for name in train}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(k)], **way)
    started = time.process_time()
    with ix.anonymize(pa.table(dict(train)), policy) as release:
        seconds = time.process_time() - started
        one = {name: [str(cell) for cell in release.table[name].to_pylist()] for name in train}
        ncp = release.measures["ncp"]
    recoded, fits = _recode(shown, one, test)
    alike = _share_alike(one)
    scores = _scores(shown, one, recoded)
    return {**scores, "ncp": ncp, "alike": alike, "fits": fits, "cpu_seconds": seconds}


def _recode(
    shown: Features, released: Mapping[str, list[str]], test: Mapping[str, list[str]]
) -> tuple[dict[str, list[str]], float]:
    """Return test rows under the narrowest labels of a released group that cover them, else as they are."""
    names = [name for name in released if name != TARGET]
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
    return recoded | {TARGET: test[TARGET]}, float((chosen >= 0).mean())


def _share_alike(released: Mapping[str, list[str]]) -> float:
    """Return the share of rows in groups in which all have one value of the target."""
    values: dict[tuple[str, ...], list[str]] = {}
    names = [name for name in released if name != TARGET]
    for *labels, value in zip(*(released[name] for name in names), released[TARGET], strict=True):
        values.setdefault(tuple(labels), []).append(value)
    return sum(len(own) for own in values.values() if len(set(own)) == 1) / len(released[TARGET])


class Features:
    """Labels as numbers: of a range the middle and both ends, of a set or a value equal weights of what it covers."""

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self.values = {name: list(own) for name, own in values.items()}
        self.places = {name: {text: place for place, text in enumerate(own)} for name, own in self.values.items()}

    @classmethod
    def of(cls, rows: Rows) -> Features:
        """Return the features of a table's quasi columns."""
        return cls({name: rows.values(column) for column, name in enumerate(rows.columns) if name != TARGET})

    def covered(self, name: str, text: str) -> Any:
        """Return which values of a column a label covers."""
        values = self.values[name]
        found = np.zeros(len(values), np.bool_)
        if text in self.places[name]:
            found[self.places[name][text]] = True
            return found
        cover = read_label(text)
        if cover is None:
            paths = hierarchy_of(name).compile(values)
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
            is_number = all(value.isdigit() for value in values)
            known: dict[str, FloatArray] = {}
            for text in set(table[name]):
                weights = self.covered(name, text) / max(1, self.covered(name, text).sum())
                numbers = np.array(values, float)[weights > 0] if is_number else weights
                known[text] = np.array([numbers.mean(), numbers.min(), numbers.max()]) if is_number else weights
            parts.append(np.stack([known[text] for text in table[name]]))
        return np.concatenate(parts, axis=1).astype(np.float64)


def _scores(shown: Features, train: Mapping[str, list[str]], test: Mapping[str, list[str]]) -> Figures:
    """Train both learners, and return accuracy and macro F1 on the test rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score, f1_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    learners = {
        "boosting": HistGradientBoostingClassifier(max_iter=150, learning_rate=0.08, random_state=0),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(C=0.3, max_iter=500)),
    }
    x, y, x_test, y_test = shown.matrix(train), train[TARGET], shown.matrix(test), test[TARGET]
    scores: Figures = {}
    for name in LEARNERS:
        told = learners[name].fit(x, y).predict(x_test)
        scores[name] = float(accuracy_score(y_test, told))
        scores[f"{name}_f1"] = float(f1_score(y_test, told, average="macro"))
    return scores


def section(figures: list[Figures]) -> str:
    """Return the section of the page."""
    text = """Adult: salary predicted from eight columns on 30 % of the rows, held out before the rest was released:
accuracy and macro F1 of boosting, accuracy of a logistic model, mean and deviation over the splits, and the share of
rows in groups of one salary class. Test rows get the narrowest released labels that cover them."""
    released = [one for one in figures if one["k"] > 1]
    ks = list(dict.fromkeys(one["k"] for one in released))
    rows = [
        [method, *(_cell([one for one in released if (one["k"], one["method"]) == (k, method)]) for k in ks)]
        for method in dict.fromkeys(one["method"] for one in released)
    ]
    original = f"The original: {_cell([one for one in figures if one['k'] <= 1])}."
    made = tables.table(["release", *(f"k = {k}" for k in ks)], rows)
    return tables.section("For a target", "target", f"{text} {original}", made)


def _cell(figures: list[Figures]) -> str:
    """Return both accuracies, F1, and where rows are released the share of those whose group is alike."""
    if not figures:
        return ""
    cells = [_spread(figures, name) for name in ("boosting", "boosting_f1", "logistic")]
    return ", ".join([*cells, _mean(figures, "alike")] if "alike" in figures[0] else cells)


def _spread(figures: list[Figures], name: str) -> str:
    values = [one[name] for one in figures]
    return f"{100 * np.mean(values):.2f}±{100 * np.std(values):.2f}"


def _mean(figures: list[Figures], name: str) -> str:
    return f"{100 * np.mean([one[name] for one in figures]):.1f}"
