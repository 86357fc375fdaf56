"""choose_boxes(): combinations of labels that have balanced groups in a good release, with whom each of them takes.

Charges of rows tell what boxes gain (``balanced_charges``). Boxes that gain something again and again while charges
move are given their groups; for the rows that are left charges move on, and again some boxes are chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from indistinct.counting import IntArray
from indistinct.progress import Watch
from indistinct.quality.measures import FloatArray
from indistinct.search.m_invariance.balanced_charges import Charging
from indistinct.search.m_invariance.kernels import balanced_boxes
from indistinct.search.m_invariance.kernels.balanced_boxes import Placed

SHARE = 0.1
"""In a round groups are chosen for this share of the rows that are left."""
FEWEST = 50
"""But for so many at the least."""
STEPS = 10
"""So often charges move in a round."""
STEP = 0.05
"""Charges move by this share of what a row costs in a known release."""
NEARLY = 0.8
"""A box that gains less than this share of what it did is left for a later round."""
WHOLE = 2
"""Once in so many rounds all boxes are looked at."""
IDLE, PATIENCE = 0.1, 5
"""It ends after so many rounds in a row that chose groups for less than this share of what was asked for."""
MOST_ROUNDS = 120


@dataclass(frozen=True, slots=True)
class Chosen:
    """Groups, and the boxes that they have."""

    keys: IntArray
    """(groups,) of their boxes."""
    levels: IntArray
    """(groups, columns)"""
    often: IntArray
    """(groups,) how often each has each of its values."""
    entries: IntArray
    """(pieces,) rows of these entries, ``rows`` of each, are in ``groups``."""
    rows: IntArray
    groups: IntArray
    values: IntArray
    """(pieces,) the sensitive value of each entry."""


def choose_boxes(charging: Charging, left: IntArray, scale: float, watch: Watch, until: float) -> Chosen:
    """Return groups of most of the rows that are left of each entry; the same rows give the same groups.

    ``scale`` is what a row costs in a known release. It ends early after a share of the time limit.
    """
    boxes = charging.boxes
    listed, rows = boxes.listed, charging.rows
    rows.left[:] = left[boxes.order]
    rows.charges[:] = charging.best_charges
    placed = _nothing(charging)
    is_free = np.ones(len(listed.costs), np.bool_)
    number, idle = 0, 0
    while number < MOST_ROUNDS and not watch.time_is_up() and watch.share_of_time() < until:
        watch.report("choose", int(placed.counters[2]), int(left.sum()))
        if number % WHOLE == 0 or idle:
            charging.leave_out(is_free)
            charging.weigh(np.flatnonzero(is_free & (np.diff(charging.listed.starts) >= charging.m)))
            near = np.flatnonzero(is_free & (charging.gains > 0.0))
        turns = _move(charging, near, scale)
        own = charging.gains[near]
        order = np.lexsort((near, -own, -turns))
        order = order[own[order] > 0.0]
        before = placed.counters.copy()
        asked = max(FEWEST, SHARE * float(rows.left.sum()))
        pace = np.append(asked, NEARLY * own[order])
        balanced_boxes.settle(near[order], pace, charging.listed, rows, charging.m, charging.bench, placed)
        is_free[placed.group[before[0] : placed.counters[0]]] = False
        near = near[is_free[near]]
        idle = idle + 1 if placed.counters[2] - before[2] < IDLE * asked else 0
        if idle == PATIENCE:
            break
        number += 1
    groups, pieces = int(placed.counters[0]), placed.pieces[:, : placed.counters[1]]
    own = placed.group[:groups]
    entries = boxes.order[pieces[0]]
    levels, often = boxes.nodes[listed.nodes[own]], placed.often[:groups]
    return Chosen(listed.keys[own], levels, often, entries, pieces[1], pieces[2], boxes.values[pieces[0]])


def _nothing(charging: Charging) -> Placed:
    """Return room for groups of all rows."""
    rows = int(charging.rows.left.sum())
    totals = np.bincount(charging.rows.values, charging.rows.left).astype(np.int64)
    return Placed(
        totals=totals,
        group=np.zeros(rows // charging.m + 1, np.int64),
        often=np.zeros(rows // charging.m + 1, np.int64),
        pieces=np.zeros((3, rows), np.int64),
        counters=np.zeros(3, np.int64),
    )


def _move(charging: Charging, near: IntArray, scale: float) -> FloatArray:
    """Move charges some steps; give how often each of these boxes gained something."""
    often = np.zeros(len(near))
    for step in range(STEPS):
        charging.weigh(near)
        often += charging.gains[near] > 0.0
        if step < STEPS - 1:
            charging.move(STEP * scale)
    return often
