"""What init leaves out or counts by people, so that nothing of a release that nobody mended is told by its groups."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.pipeline import weighing
from indistinct.pipeline.suggesting import reasons, suggestion
from indistinct.profiling import SaidRoles, profile

ROWS = 400


def people(**more: list[str]) -> pa.Table:
    """Return made-up people with some further columns."""
    chance = random.Random(1)
    table = {
        "age": [str(chance.randint(18, 80)) for _ in range(ROWS)],
        "sex": [chance.choice("mf") for _ in range(ROWS)],
        "zip": [f"0{chance.randint(2100, 2199)}" for _ in range(ROWS)],
    }
    return pa.table(table | more)


def test_a_secret_that_groups_would_tell_is_dropped_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(2)
    table = people(illness=[chance.choice(["flu"] * 4 + ["cold"]) for _ in range(ROWS)])
    monkeypatch.setattr(weighing, "MOST_MORE", -1.0)  # no model is worth any loss
    found = profile(table)
    assert suggestion(found, diverse=True).policy.columns["illness"].role == "sensitive"
    assert suggestion(found, diverse=False).policy.columns["illness"].role == "sensitive"
    made = suggestion(found)
    assert made.policy.columns["illness"].role == "drop"
    assert any("illness" in one for one in reasons(made.profile, made.policy, made.weighed))
    with ix.anonymize(table, made.policy) as release:
        assert ix.attacks.run(release, made.policy).severity != "broken"


def test_a_secret_that_always_tells_what_is_generalized_is_dropped() -> None:
    table = people()
    told = table.append_column(
        "illness", pa.array([{"m": "flu", "f": "cold"}[one] for one in table["sex"].to_pylist()])
    )
    made = suggestion(profile(told))
    assert made.policy.columns["illness"].role == "drop"


def test_intervals_of_money_get_a_model() -> None:
    """Their weighing is done on labels, which are recoded only once."""
    chance = random.Random(3)
    found = suggestion(profile(people(income=[str(int(chance.expovariate(1 / 40_000))) for _ in range(ROWS)])))
    assert found.policy.columns["income"].recode is not None
    assert any(isinstance(one, ix.LDiversity) and one.column == "income" for one in found.policy.privacy)


def test_of_money_that_most_do_not_have_only_what_others_have_is_limited() -> None:
    chance = random.Random(4)
    gains = [str(chance.randint(1, 5) * 1000) if chance.random() < 0.08 else "0" for _ in range(ROWS)]
    found = suggestion(profile(people(capital_gain=gains)))
    limits = [one.alpha for one in found.policy.privacy if isinstance(one, ix.AlphaK) and one.column == "capital_gain"]
    assert found.policy.columns["capital_gain"].role == "sensitive"
    if found.policy.columns["capital_gain"].recode is not None:
        column = found.policy.columns["capital_gain"]
        common = column.recode_values(["0"])[0]
        labels = set(column.recode_values(sorted(set(gains)))) - {common}
        assert limits
        assert set(limits[0]) == labels  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(3))
def test_of_several_names_of_people_those_count_within_whose_rows_others_stay_the_same(seed: int) -> None:
    chance = random.Random(seed)
    teachers = {
        f"P{one}": (chance.choice("mf"), str(chance.randint(30, 64)), chance.choice("abcdefgh"), chance.choice("xyz"))
        for one in range(80)
    }
    rows = [chance.choice(sorted(teachers)) for _ in range(ROWS)]
    cells = {
        name: [teachers[row][place] for row in rows] for place, name in enumerate(("gender", "age", "rank", "dep"))
    }
    table = pa.table(cells | {"prof_id": rows, "students": [str(chance.randint(10, 130)) for _ in range(ROWS)]})
    assert profile(table).person == "prof_id"


def test_what_has_decimals_numbers_nobody() -> None:
    chance = random.Random(5)
    rows = [chance.randrange(60) for _ in range(ROWS)]
    means = [f"{chance.random():.3f}" for _ in range(60)]
    table = pa.table({"person.mean": [means[row] for row in rows], "x": [str(chance.randint(1, 9)) for _ in rows]})
    assert profile(table).person != "person.mean"


def test_what_is_open_is_said_and_stops_the_release() -> None:
    """A number that people share, and that some rows lack, settles nothing."""
    chance = random.Random(6)
    numbers = [None if row % 7 == 0 else f"{chance.randrange(90)}" for row in range(ROWS)]
    table = people(patient_id=numbers)  # type: ignore[arg-type]
    made = suggestion(profile(table))
    said = [one for one in reasons(made.profile, made.policy) if one.startswith("open: ")]
    if made.policy.person is None and not made.policy.one_row_per_person:
        assert len(said) == 1
        with pytest.raises(ix.PolicyError, match="person"):
            ix.anonymize(table, made.policy)
    settled = suggestion(profile(table, said=SaidRoles(person=())))
    assert not [one for one in reasons(settled.profile, settled.policy) if one.startswith("open: ")]
    ix.anonymize(table, settled.policy).close()


@pytest.mark.slow
def test_what_ranges_would_lose_is_tried_with_the_same_models_and_said() -> None:
    chance = random.Random(8)
    illness = [chance.choice(["flu"] * 3 + ["cold", "gout"]) for _ in range(ROWS)]
    made = suggestion(profile(people(illness=illness, job=[chance.choice("abcdefgh") for _ in range(ROWS)])))
    assert made.weighed is not None
    assert made.weighed.by_ranges is not None
    assert 0 < made.weighed.by_ranges < made.weighed.loss
    assert sum("--labels ranges" in one for one in reasons(made.profile, made.policy, made.weighed)) == 1
    by_ranges = suggestion(made.profile, has_ranges=True)
    assert not [
        one for one in reasons(by_ranges.profile, by_ranges.policy, by_ranges.weighed) if "--labels ranges" in one
    ]
