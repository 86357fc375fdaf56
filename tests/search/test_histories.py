"""The search for histories: kernels against counts in plain Python, and labels that are as fine as sets allow."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers.profiles import examples
from indistinct.search.histories.events import Items
from indistinct.search.histories.kernels import label_sets

people = st.lists(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=5), min_size=1, max_size=6)


def items_of(given_people, together, sorts=1):
    """Return the items of people whose events are (label, is free); the parity of a label is its table.

    Labels in full are 0 to 4, those without time 10 and 11 by table, and 20 more where the event is free.
    """
    rows = [(person, label, free) for person, own in enumerate(given_people) for label, free in own]
    persons, labels, free = (np.array([row[place] for row in rows], np.int64) for place in range(3))
    own = np.stack([labels, labels % 2 + 10])[:sorts] + 20 * free
    events = SimpleNamespace(
        persons=persons, tables=labels % 2, kinds=np.array([[0, 1], [2, 2]])[:sorts], together=together
    )
    is_free = np.broadcast_to(free.astype(np.bool_), own.shape)
    return Items.of(events, np.arange(len(rows)), own, is_free)[0]


def sets_of(own, size, limits):
    """Return what may be known of a person: labels in full of some events, without time of some others."""
    found = set()
    for chosen in combinations(own, size):
        for bare in product((False, True), repeat=size):
            kinds = Counter(2 if is_bare else label % 2 for (label, _), is_bare in zip(chosen, bare, strict=True))
            if any(number > limits[kind] for kind, number in kinds.items()):
                continue
            labels = [
                (label % 2 + 10 if is_bare else label) + 20 * free
                for (label, free), is_bare in zip(chosen, bare, strict=True)
            ]
            if max(labels) >= 20:
                found.add(tuple(sorted(labels)))
    return found


@given(people, st.integers(1, 3), st.integers(1, 3), st.integers(0, 2), st.integers(1, 3))
@examples(300)
def test_sets_are_those_of_a_count_in_plain_python(given_people, size, limit, undated, parts):
    limits = np.array([size, limit, undated])
    if not any(given_people):
        return
    items = items_of(given_people, size, 1 + (undated > 0))
    found: Counter = Counter()
    for part in range(parts):
        keys, owners = items.sets(size, limits, part, parts, has_owners=True)
        assert len(keys) == len(owners)
        for key in keys.tolist():
            chosen = []
            for _ in range(size):
                key, digit = divmod(key, items.base)
                chosen.insert(0, digit)
            found[tuple(chosen)] += 1
    assert found == Counter(one for own in given_people for one in sets_of(own, size, limits))
    assert items.most_sets(size) >= sum(found.values())


@given(people, st.integers(1, 3), st.integers(1, 3))
@examples(200)
def test_breaking_leaves_no_rare_set_whole_and_touches_nothing_that_is_fixed(given_people, size, k):
    limits = np.array([size, size, 0])
    if not any(given_people):
        return
    items = items_of(given_people, size)
    is_left = np.ones(len(items.labels), np.bool_)
    items.break_rare(size, k, SimpleNamespace(limits=limits, private=None), is_left)
    assert is_left[items.labels < 20].all()
    shared = Counter(one for own in given_people for one in sets_of(own, size, limits))
    for start, end in zip(items.starts[:-1].tolist(), items.starts[1:].tolist(), strict=True):
        left = items.labels[start:end][is_left[start:end]].tolist()
        assert all(shared[one] >= k for one in combinations(left, size) if one[-1] >= 20)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 4)), min_size=1), st.integers(1, 3))
@examples(200)
def test_who_stays_leaves_every_set_to_none_or_k(triples, k):
    finer_of: dict[tuple[int, int], int] = {}
    once = {}
    for coarse, fine, person in triples:
        once[(finer_of.setdefault((coarse, fine), len(finer_of)), coarse, person)] = None
    rows = sorted(once, key=lambda row: row[2])
    holders = {coarse: {person for _, own, person in rows if own == coarse} for _, coarse, _ in rows}
    rows = [row for row in rows if len(holders[row[1]]) >= k]
    if not rows:
        return
    finer, coarser = (np.unique([row[place] for row in rows], return_inverse=True)[1] for place in (0, 1))
    owners = np.array([person for _, _, person in rows])
    stays = np.zeros(5, np.bool_)
    label_sets.who_stays(finer, coarser, owners, stays, k)
    for coarse in set(coarser.tolist()):
        own = [(f, p) for f, c, p in zip(finer.tolist(), coarser.tolist(), owners.tolist(), strict=True) if c == coarse]
        assert len({p for _, p in own if stays[p]}) in (0, *range(k, 9))
        times = Counter(f for f, p in set(own) if not stays[p])
        assert all(number >= k for number in times.values())
