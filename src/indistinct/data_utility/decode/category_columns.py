"""Columns of categories: each label as weights of the values that it covers, by what the release itself tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.array_types import BoolArray, FloatArray, IntArray
from indistinct.data_utility.decode.label_covers import LabelCover
from indistinct.data_utility.decode.number_columns import ROUNDS, SHAPE, missing_shares


@dataclass(frozen=True, slots=True, eq=False)
class CategoryColumn:
    """A released column whose labels are texts, or sets of texts."""

    name: str
    labels: tuple[str | None, ...]
    codes: IntArray
    """The label of each row."""
    values: tuple[str, ...]
    """All values that some label of the release names."""
    label_of: IntArray
    """Labels and the values that they cover, as pairs, in the order of the labels."""
    value_of: IntArray
    weight: FloatArray
    """Of each pair: the probability of the value under its label, given that the cell is not missing."""
    missing: FloatArray
    """By label: the probability that it stands for a missing cell."""
    is_anything: FloatArray
    """By label: 1 if it says nothing, as a suppressed cell does; else 0."""
    is_exact: BoolArray
    """By label: whether it is one value, or says that the cell is missing."""
    kind = "category"

    def __len__(self) -> int:
        return len(self.codes)

    def masses(self, values: Sequence[str]) -> FloatArray:
        """Return for each label (rows) the probability of each of some values (columns), and of all others last."""
        place = {value: code for code, value in enumerate(values)}
        columns = np.array([place.get(value, len(values)) for value in self.values], np.int64)
        found = np.zeros((len(self.labels), len(values) + 1))
        np.add.at(found, (self.label_of, columns[self.value_of]), self.weight)
        return found

    def weights(self, label: str | None) -> dict[str, float]:
        """Return the values that a label covers, with their weights.

        Weights are given that the cell is not missing.
        """
        own = self.label_of == self.labels.index(label)
        return {
            self.values[value]: float(weight)
            for value, weight in zip(self.value_of[own], self.weight[own], strict=True)
        }

    @property
    def likeliest(self) -> list[str | None]:
        """By label: the value of greatest weight; None for a missing cell."""
        found: list[str | None] = [None] * len(self.labels)
        for pair in np.argsort(self.weight, kind="stable"):
            if self.missing[self.label_of[pair]] < 1:
                found[self.label_of[pair]] = self.values[self.value_of[pair]]
        return found

    def draw(self, rng: np.random.Generator) -> IntArray:
        """Return the code of one value for each row, drawn from what its label stands for; −1 for a missing one."""
        starts = np.searchsorted(self.label_of, np.arange(len(self.labels) + 1))
        cumulated = np.append(0.0, np.cumsum(self.weight))
        first, last = cumulated[starts[self.codes]], cumulated[starts[self.codes + 1]]
        chance = first + rng.random(len(self.codes)) * (last - first)
        pairs = np.clip(np.searchsorted(cumulated, chance, side="right") - 1, 0, max(0, len(self.value_of) - 1))
        is_missing = rng.random(len(self.codes)) < self.missing[self.codes]
        values = self.value_of[pairs] if len(self.value_of) else np.full(len(self.codes), -1)
        return np.asarray(np.where(is_missing, -1, values), np.int64)


def category_column(
    name: str,
    labels: Sequence[str | None],
    codes: IntArray,
    covers: Sequence[LabelCover],
    ends: FloatArray,
    domain: Sequence[str] = (),
) -> CategoryColumn:
    """Return a column as categories.

    A label such as ``130**`` covers those values that other labels name, and those of the ``domain``: values that are
    known from elsewhere. If there are none it is a category of its own.
    """
    branches = [cover.branch for cover in covers if cover.branch is not None]
    known = {text for text in domain if any(branch.holds(text) for branch in branches)} if branches else set()
    named = sorted({text for cover in covers for text in cover.texts or ()} | known)
    alone = [
        label
        for label, cover in zip(labels, covers, strict=True)
        if cover.branch is not None and not any(map(cover.branch.holds, named))
    ]
    values = tuple(sorted({*named, *(label for label in alone if label is not None)}))
    code_of = {value: code for code, value in enumerate(values)}
    pairs = [_codes_under(label, cover, values, code_of) for label, cover in zip(labels, covers, strict=True)]
    sizes = np.array([len(own) for own in pairs], np.int64)
    label_of = np.repeat(np.arange(len(pairs)), sizes)
    value_of = np.concatenate([*map(np.asarray, pairs), np.zeros(0)]).astype(np.int64)
    missing = missing_shares(covers, codes, ends)
    rows = np.bincount(codes, minlength=len(labels)) * (1 - missing)
    names = np.array([cover.is_set for cover in covers], np.bool_)
    weight = _weights(label_of, value_of, rows, np.where(names, ends, 0.0), len(values))
    anything = np.array([cover.is_anything for cover in covers], np.float64)
    exact = np.array([cover.is_missing or _is_one(cover) for cover in covers], np.bool_)
    return CategoryColumn(name, tuple(labels), codes, values, label_of, value_of, weight, missing, anything, exact)


def _is_one(cover: LabelCover) -> bool:
    return cover.texts is not None and len(cover.texts) == 1 and not cover.or_missing


def _codes_under(
    label: str | None, cover: LabelCover, values: Sequence[str], code_of: dict[str, int]
) -> Sequence[int] | IntArray:
    if cover.is_missing:
        return []
    if cover.texts is not None:
        return [code_of[text] for text in sorted(cover.texts)]
    if cover.branch is not None:
        return [code for value, code in code_of.items() if value == label or cover.branch.holds(value)]
    return np.arange(len(values))


def _weights(label_of: IntArray, value_of: IntArray, rows: FloatArray, ends: FloatArray, values: int) -> FloatArray:
    """Return the weight of each pair: a mixture of even and of the column's released shape, beside what is sure."""
    sizes = np.bincount(label_of, minlength=len(rows)).astype(np.float64)
    even = 1 / sizes[label_of] if len(label_of) else np.zeros(0)
    weight = even.copy()
    sure = np.minimum(ends[label_of], even)
    for _ in range(ROUNDS + 1):
        mass = np.bincount(value_of, (sure + (1 - sure * sizes[label_of]) * weight) * rows[label_of], values)
        inside = np.bincount(label_of, mass[value_of], len(rows))
        weight = np.where(inside[label_of] > 0, mass[value_of] / np.maximum(inside[label_of], 1e-300), even)
    spread = (1 - SHAPE) * even + SHAPE * weight
    return np.asarray(sure + (1 - sure * sizes[label_of]) * spread, np.float64)
