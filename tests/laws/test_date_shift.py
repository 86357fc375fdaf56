"""Dates that move: by one number of days for all rows of a person, so that what lies between them stays."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.release.manifest import StatedShifts

PERSON = {"column": "patient", "release": "pseudonym"}


def policy(days=30, form=None, **more):
    shift = {"days": days} | ({} if form is None else {"format": form})
    columns = {"ward": ix.quasi(ix.suppress()), "visit": ix.other(), "day": ix.other(shift=shift)}
    return ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)], person=PERSON, max_suppression=0.9, **more)


def stays(people):
    """Return the visits of people, each a list of (ward, date); the visit's number tells which one it was."""
    rows = [
        {"patient": f"p{number}", "ward": ward, "day": day} for number, days in enumerate(people) for ward, day in days
    ]
    for number, row in enumerate(rows):
        row["visit"] = number
    return pa.Table.from_pylist(rows)


def moved(release, original, read=datetime.date.fromisoformat):
    """Return by how many days the dates of each person have moved; a missing date stays missing."""
    cells = original.to_pylist()
    found: dict[str, set[int]] = {}
    for row in release.table.to_pylist():
        was = cells[row["visit"]]
        assert (row["day"] is None) == (was["day"] is None)
        if was["day"] is not None:
            found.setdefault(was["patient"], set()).add((read(row["day"]) - read(was["day"])).days)
    return found


dates = st.dates(datetime.date(1950, 1, 1), datetime.date(2030, 1, 1)).map(str)
people = st.lists(st.lists(st.tuples(st.sampled_from("ab"), dates | st.none()), min_size=1, max_size=3), min_size=2)


@given(people.filter(lambda found: any(day for days in found for _, day in days)), st.integers(1, 400))
@examples(25, opens_tables=True)
def test_the_distances_of_a_person_stay(found, days):
    original = stays(found)
    try:
        release = ix.anonymize(original, policy(days))
    except ix.InfeasibleError:
        return
    with release:
        for offsets in moved(release, original).values():
            (only,) = offsets
            assert -days <= only <= days
        assert release.facts.dates_moved == StatedShifts(days=days)
        verdict = release.verify(original=original)
        assert verdict.passed, str(verdict)
        assert "distances of dates" in [check.name for check in verdict.checks]


TWINS = [[("a", "2021-03-01"), ("a", "2021-03-11")]] * 2 + [[("a", "2020-02-28"), ("a", "2020-03-01")]] * 6


def test_people_move_by_numbers_of_their_own():
    original = stays(TWINS * 10)
    with ix.anonymize(original, policy(365)) as one, ix.anonymize(original, policy(365)) as other:
        first, second = moved(one, original), moved(other, original)
        assert len({min(offsets) for offsets in first.values()}) > 40
        assert first != second
        offsets = [min(found) for found in (*first.values(), *second.values())]
        assert min(offsets) < -200
        assert max(offsets) > 200


def forged(release, change):
    rows = sorted(release.table.to_pylist(), key=lambda row: row["visit"])
    change(rows)
    return pa.Table.from_pylist(rows)


def failed(table, asked, original):
    return {check.name for check in ix.verify(table, asked, original=original).checks if not check.passed}


def add_days(row, days):
    row["day"] = str(datetime.date.fromisoformat(row["day"]) + datetime.timedelta(days))


def test_a_distance_that_changed_and_an_offset_that_is_too_large_are_caught():
    original, asked = stays(TWINS), policy(30)

    def one_later(rows):
        add_days(rows[0], 1)

    def all_too_far(rows):
        for row in rows[:2]:
            add_days(row, 61)

    def all_a_little(rows):  # still within the range of an original, or of one with the same distances
        for row in rows[:2]:
            row["day"] = str(original["day"][row["visit"]].as_py())

    def none_that_can_be_read(rows):
        rows[0]["day"] = "in March"

    with ix.anonymize(original, asked) as release:
        assert failed(forged(release, none_that_can_be_read), asked, original) == {"distances of dates"}
        assert failed(forged(release, one_later), asked, original) == {"distances of dates"}
        assert failed(forged(release, all_too_far), asked, original) == {"distances of dates"}
        assert failed(forged(release, all_a_little), asked, original) == set()


def test_dates_keep_their_types_and_the_time_of_the_day():
    day = datetime.datetime(2021, 3, 1, 14, 30)
    rows = {"patient": ["p", "q"], "ward": ["a", "a"], "visit": [0, 1], "day": [day, day]}
    with ix.anonymize(pd.DataFrame(rows), policy()) as release:
        assert str(release.table["day"].dtype).startswith("datetime64")
        assert {moment.time() for moment in release.table["day"]} == {day.time()}
    for kind in (pa.date32(), pa.timestamp("ms"), pa.timestamp("us", tz="UTC")):
        original = pa.table(rows)
        original = original.set_column(3, "day", original["day"].cast(pa.timestamp("us")).cast(kind, safe=False))
        with ix.anonymize(original, policy()) as release:
            assert release.table["day"].type == kind
            assert release.verify(original=original).passed
    original = pa.table(rows | {"day": ["2021-03-01 14:30:00", "2021-03-01"]})
    with ix.anonymize(original, policy()) as release:
        by_visit = {row["visit"]: row["day"] for row in release.table.to_pylist()}
        assert by_visit[0].endswith(" 14:30:00")
        assert len(by_visit[1]) == 10
        assert release.verify(original=original).passed


def test_dates_have_a_format():
    original = stays([[("a", "28.02.2021"), ("a", "02.03.2021")]] * 2)
    with ix.anonymize(original, policy(form="%d.%m.%Y")) as release:
        read = lambda text: datetime.datetime.strptime(text, "%d.%m.%Y")  # noqa: E731
        assert all(len(offsets) == 1 for offsets in moved(release, original, read).values())
        assert release.verify(original=original).passed


@pytest.mark.parametrize("cell", ["soon", "9999-12-31", "01.02.2021", "2021-3-1"])
def test_what_is_no_date_is_counted_and_not_quoted(cell):
    original = stays([[("a", "2021-03-01")], [("a", cell)], [("a", None)]])
    with pytest.raises(ix.PolicyError) as caught:
        ix.anonymize(original, policy())
    assert "columns.day.shift: 1 row holds what cannot be read as an ISO date" in str(caught.value)
    assert cell not in str(caught.value)
    assert not ix.check(original, policy()).is_feasible
    numbers = original.set_column(2, "day", pa.array([1, 2, 3]))
    with pytest.raises(ix.PolicyError, match="3 rows hold"):
        ix.anonymize(numbers, policy())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ix.other(shift=0), "from 1 to 3650"),
        (lambda: ix.other(shift=True), "from 1 to 3650"),
        (lambda: ix.other(shift={"days": 3, "form": "%Y"}), "takes days and format"),
        (lambda: ix.other(shift={"days": 3, "format": "%m/%d/%y"}), "year of four digits"),
        (lambda: replace(ix.quasi(), shift=3), "its role is quasi"),
        (lambda: replace(policy(), person="patient"), "release = 'pseudonym'"),
        (lambda: replace(policy(), person={**PERSON, "suppress": "rows"}), "not single rows"),
        (
            lambda: replace(policy(), columns={**policy().columns, "born": ix.other(shift=3)}),
            "the same days everywhere",
        ),
        (
            lambda: replace(
                policy(),
                columns={**policy().columns, "day": ix.sensitive(shift=30)},
                privacy=[ix.KAnonymity(2), ix.LDiversity(2)],
            ),
            "a model asks about its values",
        ),
    ],
)
def test_mistakes_about_shifts_are_named(make, message):
    with pytest.raises(ix.PolicyError, match=message):
        make()


def test_local_algorithms_refuse():
    with pytest.raises(ix.PolicyError, match=r"shift: the algorithm .regroup"):
        ix.anonymize(stays(TWINS), policy(), algorithm="regroup")


def test_the_policy_file_and_the_manifest_say_it(tmp_path):
    asked = policy()
    text = ix.policy_toml(asked)
    assert "shift = { days = 30 }" in text
    assert ix.parse_policy(text) == asked
    with ix.anonymize(stays(TWINS), asked) as release:
        folder = release.write(tmp_path / "release")
    said = (folder / "manifest.json").read_text()
    assert '"dates_moved"' in said
    assert ix.verify(folder, asked, original=stays(TWINS)).passed
    assert not ix.verify(folder, policy(29)).passed


def test_the_report_says_it_and_the_ledger_refuses(tmp_path):
    original, asked = stays(TWINS), policy()
    with ix.anonymize(original, asked) as release:
        page = release.report(tmp_path / "report.html", original=original).read_text("utf-8")
    assert "dates moved, all of a person by one number of days, 30 at most" in page
    with (
        ix.Ledger.create(tmp_path / "ledger.db") as ledger,
        pytest.raises(ix.LedgerError, match="dates that move"),
    ):
        ledger.anonymize(original, asked, recipient="public")
