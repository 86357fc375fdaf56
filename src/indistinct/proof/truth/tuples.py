"""CellTuples: the distinct rows of a generalized table, counted anew for a proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.counting import IntArray
from indistinct.engine import Rows
from indistinct.policy import Policy


@dataclass(frozen=True, slots=True)
class CellTuples:
    """The distinct rows of a generalized table over its quasi and its asked sensitive columns, with their counts."""

    codes: IntArray
    """(quasi columns, tuples) label codes."""
    labels: Mapping[str, Sequence[str | None]]
    """The labels of each quasi column, by their codes."""
    values: Mapping[str, IntArray]
    texts: Mapping[str, Sequence[str | None]]
    counts: IntArray
    persons: IntArray
    """The number of each tuple's person; a tuple of several people occurs once for each, where that is counted."""

    @classmethod
    def of(cls, general: Rows, policy: Policy) -> CellTuples:
        """Count a generalized table."""
        asked, person = policy.asked_sensitive, policy.person_columns
        names = (*policy.quasi, *asked, *person)
        with general.encode(names) as encoded:
            texts, counted = encoded.values, encoded.count_by(names)
        codes = [np.asarray(code, np.int64) for code in counted.codes]
        end = len(policy.quasi) + len(asked)
        values = dict(zip(asked, codes[len(policy.quasi) : end], strict=True))
        told_apart = np.stack([np.zeros(len(counted.counts), np.int64), *codes[end:]])
        persons = np.unique(told_apart, axis=1, return_inverse=True)[1].ravel()
        labels = {name: texts[name] for name in policy.quasi}
        asked_texts = {name: texts[name] for name in asked}
        return cls(np.stack(codes[: len(policy.quasi)]), labels, values, asked_texts, counted.counts, persons)
