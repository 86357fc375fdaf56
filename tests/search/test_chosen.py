"""Chosen: a release at the levels that somebody named."""

from __future__ import annotations

import pytest

import indistinct as ix
from helpers.papers import HOSPITAL, HOSPITAL_COLUMNS, SWEENEY, policy_of, table_of

TABLE = table_of(HOSPITAL_COLUMNS, HOSPITAL)


def policy(**more: object) -> ix.Policy:
    return policy_of(SWEENEY, HOSPITAL_COLUMNS[:4], k=2, sensitive=["Problem"], **more)


@pytest.mark.slow
def test_every_solution_can_be_chosen() -> None:
    for solution in ix.solutions(TABLE, policy()):
        with ix.anonymize(TABLE, policy(), algorithm=ix.Chosen(solution.node)) as release:
            assert release.node == solution.node
            assert release.suppressed == solution.suppressed
            assert release.verify(original=TABLE).passed


def test_levels_that_suppress_too_many_rows_are_refused() -> None:
    with pytest.raises(ix.InfeasibleError, match="12 of 12 rows must be suppressed, but the policy allows 0"):
        ix.anonymize(TABLE, policy(), algorithm="chosen")


def test_mistakes_are_reported_at_once() -> None:
    with pytest.raises(ix.PolicyError) as told:
        ix.anonymize(TABLE, policy(), algorithm=ix.Chosen({"Race": 7, "Height": 1}))
    assert told.value.mistakes == (
        "options.node.Height: not a quasi column",
        "options.node.Race: there is no level 7; Race has levels 0 to 2",
    )
    for node in ({"Race": "1"}, {"Race": True}, 3):
        with pytest.raises(ix.PolicyError, match="must give the level of each column"):
            ix.Chosen(node)  # type: ignore[arg-type]


def test_a_policy_file_can_name_the_levels() -> None:
    text = ix.policy_toml(policy()).replace(
        'algorithm = "lattice"',
        'algorithm = "chosen"\noptions = { node = { Race = 2, BirthDate = 5, Gender = 1, ZIP = 1 } }',
    )
    read = ix.parse_policy(text)
    with ix.anonymize(TABLE, read) as release:
        assert release.node == {"Race": 2, "BirthDate": 5, "Gender": 1, "ZIP": 1}
    assert ix.parse_policy(ix.policy_toml(read)) == read
