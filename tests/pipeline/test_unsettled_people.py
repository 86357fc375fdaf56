"""A release is refused while it is not said whose rows repeat, where the table itself shows it, whatever names say."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import indistinct as ix

ROWS = 600


def panel(people: int = 100, seed: int = 1) -> pa.Table:
    """Return rows of people whose sex, origin and town stay, and whose mood does not."""
    chance = random.Random(seed)
    fixed = [(chance.choice("mf"), chance.choice("abcd"), str(chance.randint(1, 30))) for _ in range(people)]
    whose = [chance.randrange(people) for _ in range(ROWS)]
    return pa.table(
        {
            "c1": [f"{one * 17 + 1000}" for one in whose],
            "c2": [fixed[one][0] for one in whose],
            "c3": [fixed[one][1] for one in whose],
            "c4": [fixed[one][2] for one in whose],
            "c5": [str(chance.randint(1, 5)) for _ in whose],
        }
    )


def policy(**more: object) -> ix.Policy:
    known = {name: ix.quasi(ix.suppress()) for name in ("c2", "c3", "c4")}
    roles = {"c1": ix.identifier(), **known, "c5": ix.other()}
    return ix.Policy(columns=roles, privacy=[ix.KAnonymity(3)], max_suppression=0.5, algorithm="regroup", **more)


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_agree_in_what_stays_are_of_one_until_the_policy_says_whose(seed: int) -> None:
    table = panel(seed=seed)
    with pytest.raises(ix.PolicyError, match="person = 'c1'") as found:
        ix.anonymize(table, policy())
    assert not any(cell in str(found.value) for cell in table["c1"].to_pylist())
    for settled in (policy(person="c1"), policy(one_row_per_person=True)):
        ix.anonymize(table, settled).close()


def test_rows_of_different_people_need_no_such_word() -> None:
    table = panel(people=ROWS * 50)
    ix.anonymize(table, policy()).close()


def test_columns_that_are_dropped_hide_nobody_in_a_wide_table() -> None:
    dropped = {f"d{number}": ix.drop() for number in range(450)}
    table = panel()
    for name in dropped:
        table = table.add_column(0, name, pa.array(["x"] * ROWS))
    wide = ix.Policy(
        columns={**dropped, **policy().columns}, privacy=[ix.KAnonymity(3)], max_suppression=0.5, algorithm="regroup"
    )
    with pytest.raises(ix.PolicyError, match="person = 'c1'"):
        ix.anonymize(table, wide)
