"""maps(): null-map, k-map and wrong-map, compared with loops over rows and people."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples

JOBS = {"clerk": ("clerk", "office", "*"), "judge": ("judge", "office", "*"), "nurse": ("nurse", "care", "*")}
LABELS = ("clerk", "judge", "nurse", "office", "care", "*", None)
ZIPS = ("021", "02*", "03*", "*", None)
POLICY = ix.Policy(
    columns={"job": ix.quasi(ix.levels([list(row) for row in JOBS.values()])), "zip": ix.quasi(ix.prefix(3))},
    privacy=[ix.KAnonymity(1)],
)


def table(rows) -> pa.Table:
    return pa.table(
        {name: pa.array([row[at] for row in rows], pa.string()) for at, name in enumerate(("id", "job", "zip"))}
    )


def fits(row, one, *, surely: bool) -> bool:
    """Return whether a released row fits a person; if surely, who is not known fits only what covers everything."""
    for label, value, is_zip in ((row[1], one[1], False), (row[2], one[2], True)):
        if label in (None, "*"):
            continue
        if value is None:
            if surely:
                return False
        elif not (_masks(label, value) if is_zip else label in JOBS[value]):
            return False
    return True


def _masks(label: str, value: str) -> bool:
    return all(kept in ("*", digit) for kept, digit in zip(label, value, strict=True))


ROWS = st.lists(
    st.tuples(st.sampled_from("12345"), st.sampled_from(LABELS), st.sampled_from(ZIPS)), min_size=1, max_size=12
)
PEOPLE = st.lists(
    st.tuples(st.sampled_from("1234"), st.sampled_from([*JOBS, None]), st.sampled_from(["021", "022", "031", None])),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@examples(60, opens_tables=True)
@given(ROWS, PEOPLE)
def test_rows_map_as_loops_say(rows, people):
    found = ix.attacks.maps(table(rows), table(people), POLICY, on=["job", "zip"], key="id")
    fitting = [[one for one in people if fits(row, one, surely=False)] for row in rows]
    right = [any(one[0] == row[0] for one in some) for row, some in zip(rows, fitting, strict=True)]
    assert found.null_rows == sum(not some for some in fitting)
    assert found.right_rows == sum(right)
    assert found.wrong_rows == sum(bool(some) and not own for some, own in zip(fitting, right, strict=True))
    assert found.k == min(sum(fits(row, one, surely=True) for one in people) for row in rows)
    assert found.is_null_map == (not any(fitting))
    assert found.is_wrong_map == all(some and not own for some, own in zip(fitting, right, strict=True))
    assert bool(found.notes) == bool(found.wrong_rows)


def test_a_truthful_release_is_neither_null_nor_wrong():
    people = table([("1", "clerk", "021"), ("2", "judge", "022"), ("3", "nurse", "031")])
    policy = ix.Policy(columns={"id": ix.other(), **POLICY.columns}, privacy=[ix.KAnonymity(2)])
    with ix.anonymize(people, policy) as release:
        found = ix.attacks.maps(release, people, policy, on=["job", "zip"], key="id")
    assert (found.null_rows, found.wrong_rows) == (0, 0)
    assert found.k >= 2


@pytest.mark.slow
def test_without_a_key_nobody_can_tell_a_wrong_map():
    one = table([("1", "clerk", "021")])
    found = ix.attacks.maps(one, one, POLICY)
    assert (found.is_wrong_map, found.wrong_rows, found.k) == (None, None, 1)
    with pytest.raises(ix.PolicyError, match="the population has no column 'name'"):
        ix.attacks.maps(one, one, POLICY, key=("id", "name"))
