"""Made-up tables that are wide: a survey of few-valued answers and demographics, and accounts of amounts and codes.

Each row has a few hidden traits; each column mixes some of them with chance of its own, so that columns hang together
as they do in real tables. All draws are seeded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import indistinct as ix

Floats = NDArray[np.float64]
TRAITS = 4


@dataclass(frozen=True)
class Wide:
    """A table, and the hierarchy of each of its columns."""

    name: str
    table: pa.Table
    hierarchies: dict[str, ix.Hierarchy]

    def policy(self, k: int, max_suppression: float) -> ix.Policy:
        """Return the policy: every column is quasi."""
        return ix.Policy(
            columns={name: ix.quasi(hierarchy) for name, hierarchy in self.hierarchies.items()},
            privacy=[ix.KAnonymity(k)],
            max_suppression=max_suppression,
        )


SURVEY: dict[str, tuple[Sequence[int], float, float]] = {
    "sex": ((2,), 0.2, 0.0),
    "race": ((6, 2), 0.5, 1.1),
    "state": ((51, 9, 4), 0.3, 0.4),
    "education": ((16, 5, 3), 0.8, 0.5),
    "marital": ((7, 3), 0.6, 0.9),
    "employment": ((8, 3), 0.7, 1.0),
    "occupation": ((23, 6), 0.7, 0.7),
    "income": ((12, 6, 3), 0.8, 0.3),
    "household": ((8, 4, 2), 0.6, 0.7),
    "health": ((5, 3), 0.6, 0.4),
    "smoking": ((4, 2), 0.4, 0.8),
    "exercise": ((5, 3), 0.5, 0.4),
    "insurance": ((3,), 0.6, 0.8),
    "internet": ((2,), 0.6, 0.5),
    "trust": ((5, 3), 0.4, 0.3),
}
"""For each column: how many labels there are at each level below the top, how much traits tell of it, how uneven."""


def survey(rows: int = 73_000, seed: int = 16) -> Wide:
    """People who answer questions of few values: 16 columns, age among them."""
    rng = np.random.default_rng(seed)
    traits = rng.standard_normal((rows, TRAITS))
    ages = np.clip(np.round(47 + 17 * _mixed(rng, traits, 0.6)), 18, 90).astype(int)
    columns, hierarchies = {"age": ages.astype(str)}, {"age": ix.intervals(5, 10, 20)}
    for name, (labels, told, uneven) in SURVEY.items():
        codes = _codes(rng, _mixed(rng, traits, told), labels[0], uneven)
        columns[name] = np.char.add(f"{name} ", codes.astype(str))
        hierarchies[name] = _tree(name, labels)
    return Wide("survey", pa.table(columns), hierarchies)


MONTHS = 6


def accounts(rows: int = 30_000, seed: int = 24) -> Wide:
    """Borrowers with half a year of bills, payments and delays: 24 columns, twelve of them amounts."""
    rng = np.random.default_rng(seed)
    traits = rng.standard_normal((rows, TRAITS))
    wealth = _mixed(rng, traits, 0.8)
    limits = np.clip(np.round(np.exp(11.7 + 0.9 * wealth) / 10_000), 1, 100).astype(int) * 10_000
    ages = np.clip(np.round(35 + 9 * _mixed(rng, traits, 0.5)), 21, 79).astype(int)
    columns = {"limit": limits.astype(str), "age": ages.astype(str)}
    hierarchies: dict[str, ix.Hierarchy] = {
        "limit": ix.intervals(50_000, 100_000, 500_000),
        "age": ix.intervals(5, 10, 20),
    }
    for name, labels, told, uneven in (
        ("sex", (2,), 0.2, 0.2),
        ("education", (6, 3), 0.5, 0.8),
        ("marriage", (4, 2), 0.4, 0.9),
        ("default", (2,), 0.5, 1.2),
    ):
        columns[name] = np.char.add(f"{name} ", _codes(rng, _mixed(rng, traits, told), labels[0], uneven).astype(str))
        hierarchies[name] = _tree(name, labels)
    debt, delay, paying = (_mixed(rng, traits, told) for told in (0.7, 0.6, 0.6))
    for month in range(1, MONTHS + 1):  # each month is much like the one before
        debt, delay, paying = (
            kept * trait + np.sqrt(1 - kept**2) * rng.standard_normal(rows)
            for trait, kept in ((debt, 0.97), (delay, 0.85), (paying, 0.7))
        )
        used = 1 / (1 + np.exp(-1.6 * debt + 0.8))
        bills = np.where(rng.random(rows) < 0.08, 0, np.round(limits * used * rng.uniform(0.9, 1.05, rows)))
        share = np.exp(-3 + 1.1 * paying)
        payments = np.where(rng.random(rows) < 0.18, 0, np.round(np.minimum(bills * share, 400_000)))
        is_round = rng.random(rows) < 0.5
        payments = np.where(is_round, np.round(payments, -3), payments)
        columns |= {
            f"delay {month}": (np.clip(np.round(1.1 * delay - 0.4), -2, 8).astype(int) + 2).astype(str),
            f"bill {month}": bills.astype(int).astype(str),
            f"paid {month}": payments.astype(int).astype(str),
        }
        hierarchies |= {
            f"delay {month}": ix.levels([[str(code), *_labels(code)] for code in range(11)]),
            f"bill {month}": ix.intervals(1_000, 10_000, 50_000, 200_000),
            f"paid {month}": ix.intervals(1_000, 5_000, 20_000, 100_000),
        }
    return Wide("accounts", pa.table(columns), hierarchies)


def _labels(code: int) -> list[str]:
    """Return the labels above a month's delay: not late, late, very late; late or not; any."""
    kind = "in time" if code <= 2 else "late" if code <= 4 else "very late"
    return [kind, "in time" if code <= 2 else "late at all", "*"]


def _mixed(rng: np.random.Generator, traits: Floats, told: float) -> Floats:
    """Draw a number for each row, of mean 0 and variance 1, of which the traits tell so much."""
    loadings = rng.standard_normal(traits.shape[1])
    told_by = traits @ (loadings / np.linalg.norm(loadings))
    mixed: Floats = told * told_by + np.sqrt(1 - told**2) * rng.standard_normal(len(traits))
    return mixed


def _codes(rng: np.random.Generator, numbers: Floats, values: int, uneven: float) -> NDArray[np.int64]:
    """Cut numbers into so many values, in order; the shares of values are the more uneven, the larger that is."""
    shares = np.exp(-uneven * np.arange(values)) + 0.02
    shares = rng.permutation(shares) if uneven > 0 else shares
    cuts = np.quantile(numbers, np.cumsum(shares / shares.sum())[:-1])
    found: NDArray[np.int64] = np.searchsorted(cuts, numbers)
    return found


def _tree(name: str, labels: Sequence[int]) -> ix.Hierarchy:
    """Return a hierarchy with so many labels at each level, neighbours together, and one top."""
    rows = []
    for value in range(labels[0]):
        code, row = value, [f"{name} {value}"]
        for level, (below, above) in enumerate(pairwise(labels), 1):
            code = code * above // below
            row.append(f"{name} {level}:{code}")
        rows.append([*row, "*"])
    return ix.levels(rows)
