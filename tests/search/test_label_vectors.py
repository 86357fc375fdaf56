"""Label vectors: balanced groups under labels that no other group has, as cheap as can be."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.progress import Watch
from indistinct.quality import NCP
from indistinct.search.local.groups.space import Space
from indistinct.search.m_invariance import label_vectors
from indistinct.search.m_invariance.label_vectors import fill_label_vectors
from indistinct.search.m_invariance.value_buckets import PeopleByValue, Pools
from indistinct.search.m_invariance.value_sets import Names
from search.test_mingen_cell import task_for

CITIES = {"a": "ab", "b": "ab", "c": "cd", "d": "cd", "e": "ef", "f": "ef"}
LABELS = {
    "city": [[city, above, "*"] for city, above in CITIES.items()],
    "sex": [["m", "*"], ["w", "*"]],
}
Row = tuple[str, str, str]
"""City, sex, illness."""


def policy(m: int, **more: Any) -> ix.Policy:
    columns = {name: ix.quasi(ix.levels(rows)) for name, rows in LABELS.items()} | {"ill": ix.sensitive()}
    return ix.Policy(columns, [ix.MInvariance(m)], **{"max_suppression": 1.0, "algorithm": "m-invariance"} | more)


def drawn(dice: random.Random, number: int) -> list[Row]:
    return [(dice.choice("abcdef"), dice.choice("mw"), dice.choice("xxyyz")) for _ in range(number)]


def table(rows: Sequence[Row]) -> pa.Table:
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(("city", "sex", "ill"))})


# The oracle: every way to group a few rows, and every way to call the groups.


def partitions(rows: Sequence[int]) -> Iterator[list[list[int]]]:
    if not rows:
        yield []
        return
    for rest in partitions(rows[1:]):
        yield [[rows[0]], *rest]
        for place, part in enumerate(rest):
            yield [*rest[:place], [rows[0], *part], *rest[place + 1 :]]


def names_of(part: Sequence[Row]) -> list[tuple[float, tuple[str, str]]]:
    """Return what a group may be called, and what a row loses by it."""
    found = []
    for city, sex in product(range(3), range(2)):
        labels = {
            (LABELS["city"]["abcdef".index(row[0])][city], LABELS["sex"]["mw".index(row[1])][sex]) for row in part
        }
        if len(labels) == 1:
            found.append((((0.0, 2 / 6, 1.0)[city] + (0.0, 1.0)[sex]) / 2, labels.pop()))
    return sorted(found)


def least_loss(rows: Sequence[Row], m: int) -> float:
    """Return the least NCP of a release with a group of balanced values for each combination of labels."""
    best = 1.0
    for grouping in partitions(range(len(rows))):
        parts, lost = [], 0
        for own in grouping:
            values = Counter(rows[place][2] for place in own)
            if len(values) >= m and len(set(values.values())) == 1:
                parts.append([rows[place] for place in own])
            else:
                lost += len(own)
        for chosen in product(*map(names_of, parts)):
            if len({labels for _, labels in chosen}) == len(chosen):
                cost = sum(len(part) * each for part, (each, _) in zip(parts, chosen, strict=True))
                best = min(best, (cost + lost) / len(rows))
    return best


@pytest.mark.slow
def test_small_tables_lose_little_more_than_the_least_possible() -> None:
    least = found = 0.0
    for seed in range(10):
        rows = drawn(random.Random(seed), 6)
        if max(Counter(row[2] for row in rows).values()) <= 3:
            optimum = least_loss(rows, 2)
            loss = NCP().loss(ix.MInvariant().run(task_for(table(rows), policy(2)), Watch()))
            assert loss >= optimum - 1e-9
            least, found = least + optimum, found + loss
    assert found < 1.3 * least


@pytest.mark.slow
@examples(40)
@given(st.randoms(use_true_random=False), st.integers(2, 3), st.sampled_from([1, 4, 10_000]))
def test_groups_are_balanced_and_no_two_have_the_same_labels(dice: random.Random, m: int, nodes: int) -> None:
    rows = drawn(dice, dice.randint(m, 40))
    task = task_for(table(rows), policy(m))
    space = Space.of(task.frequencies, NCP())
    names, people = Names(task.frequencies, space), PeopleByValue.of(task, space, "ill")
    lost: Counter[str] = Counter()
    pools = [Pools.of(people, 0, m, lost)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_vectors, "MOST_NODES", nodes)
        labelled = fill_label_vectors(task, NCP(), names, pools, m, Watch())
    groups: dict[int, Counter[int]] = defaultdict(Counter)
    for row, group in enumerate(labelled.group_of.tolist()):
        if group >= 0:
            groups[group][int(people.values[row])] += 1
            for column, (labels, _) in enumerate(names.columns):
                name = task.frequencies.columns[column]
                value = task.frequencies.hierarchies[column].values[int(people.codes[row, column])]
                carried = labels.texts[int(labelled.labels[group, column])]
                assert carried in next(own for own in LABELS[name] if own[0] == value)
    assert all(len(values) >= m and len(set(values.values())) == 1 for values in groups.values())
    assert len({tuple(row) for row in labelled.labels.tolist()}) == len(groups) == len(labelled.labels)
    left = Counter(people.values[row] for one in pools[0].free for row in one if labelled.group_of[row] < 0)
    assert m * max(left.values(), default=0) <= left.total()


def test_the_rows_of_a_signature_share_groups_of_its_values_alone() -> None:
    """Two people of x and y were released together; new ones of x, y and z stand nearer to them than they do."""
    rows = [("a", "m", "x"), ("f", "w", "y"), *[("a", "m", ill) for ill in "yz"], *[("f", "w", ill) for ill in "xz"]]
    task = task_for(table(rows), policy(2))
    space = Space.of(task.frequencies, NCP())
    names, people = Names(task.frequencies, space), PeopleByValue.of(task, space, "ill")
    values = task.frequencies.sensitive["ill"].values
    by_value = {ill: [row for row, code in enumerate(people.values.tolist()) if values[code] == ill] for ill in "xyz"}
    x = next(row for row in by_value["x"] if people.codes[row, 0] == people.codes[by_value["x"], 0].min())
    y = next(row for row in by_value["y"] if people.codes[row, 0] == people.codes[by_value["y"], 0].max())
    free = [np.array([row for row in own if row not in (x, y)], np.int64) for own in by_value.values()]
    value_set = tuple(sorted(int(people.values[row]) for row in (x, y)))
    pools = [Pools(people, 0, {value_set: np.array([[x], [y]])}, free)]
    labelled = fill_label_vectors(task, NCP(), names, pools, 2, Watch())
    assert labelled.group_of[x] == labelled.group_of[y] >= 0
    assert (labelled.group_of == labelled.group_of[x]).sum() == 2


def test_where_labels_are_too_many_to_number_buckets_are_divided() -> None:
    rows = drawn(random.Random(1), 30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_vectors, "MOST_KEYS", 1)
        with ix.anonymize(table(rows), policy(2)) as release:
            assert release.verify(table(rows)).passed
