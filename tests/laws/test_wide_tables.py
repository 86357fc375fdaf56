"""Tables of very many columns: the work grows with the columns, not with their pairs, and what is left out is said."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.engine import open_table
from indistinct.engine.duckdb import source
from indistinct.engine.duckdb.session import Session
from indistinct.linkage import Codes, functional_dependencies
from indistinct.linkage.spelling import FORMATS, ISO, _pattern
from indistinct.pipeline.suggesting import reasons, suggested_policy
from indistinct.profiling import combinations as sets_of_columns
from indistinct.profiling import profile, safe_harbor

WIDE = 95


def wide(columns: int, rows: int = 12) -> pa.Table:
    draw = np.random.default_rng(columns)
    return pa.table({f"v{n}": [str(value) for value in draw.integers(0, 2 + n % 7, rows)] for n in range(columns)})


@pytest.mark.slow
def test_columns_are_encoded_some_at_a_time_and_get_the_same_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    joins: list[int] = []
    execute = Session.execute

    def counting(session: Session, sql: str, parameters: tuple[object, ...] = ()) -> None:
        joins.append(sql.count(" JOIN "))
        execute(session, sql, parameters)

    table = wide(WIDE).append_column("gap", pa.array(["x", None] * 6))
    names, cells = table.column_names, table.to_pydict()
    with open_table(table) as rows:
        monkeypatch.setattr(Session, "execute", counting)
        encoded = rows.encode(names, [("v5", "!=", "1")])
        counted = encoded.count_by(names)
    texts = [[encoded.values[name][code] for code in codes] for name, codes in zip(names, counted.codes, strict=True)]
    found = Counter(dict(zip(zip(*texts, strict=True), counted.counts.tolist(), strict=True)))
    kept = [row for row in zip(*cells.values(), strict=True) if row[5] != "1"]
    assert found == Counter(kept)
    assert all(list(own) == sorted(own, key=lambda text: (text is None, text)) for own in encoded.values.values())
    assert max(joins) <= source.AT_ONCE
    assert len(joins) <= 4 + 3 * -(-len(names) // source.AT_ONCE)


@pytest.mark.slow
def test_a_wide_release_is_that_of_all_columns_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    table = wide(6, 40).append_column("note", pa.array([f"n{row}" for row in range(40)]))
    roles = {f"v{n}": ix.quasi(ix.suppress()) for n in range(6)} | {"note": ix.other()}
    policy = ix.Policy(columns=roles, privacy=[ix.KAnonymity(3)], max_suppression=0.2, algorithm="lattice")
    whole = ix.anonymize(table, policy, seed=7).table
    monkeypatch.setattr(source, "AT_ONCE", 2)
    assert ix.anonymize(table, policy, seed=7).table == whole


def test_sets_of_few_columns_are_looked_at_among_those_with_most_values(monkeypatch: pytest.MonkeyPatch) -> None:
    table = wide(9, 30)
    monkeypatch.setattr(sets_of_columns, "MOST_SETS", 10)
    monkeypatch.setattr(sets_of_columns, "FEWEST_SETS", 1)
    asked: list[tuple[int, ...]] = []
    alone = sets_of_columns.DistinctRows.alone

    def counting(counted: sets_of_columns.DistinctRows, columns: tuple[int, ...]) -> int:
        asked.append(tuple(columns))
        return alone(counted, columns)

    monkeypatch.setattr(sets_of_columns.DistinctRows, "alone", counting)
    with open_table(table) as rows:
        counted = sets_of_columns.DistinctRows.of(rows, table.column_names)
    sets_of_columns.minimal_combinations(counted, 0.01, 3)
    assert max(Counter(map(len, asked)).values()) <= 10
    of_two = {column for one in asked if len(one) == 2 for column in one}
    most = sorted(range(9), key=lambda place: (-counted.distinct[place], place))[:5]
    assert of_two <= set(most)
    found = ix.risk(table, table.column_names, most=3)
    assert any("sets of 2 columns among the 5 and of 3 columns among the 5 with most values" in n for n in found.notes)


@examples(40)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=20), st.integers(0, 2**4 - 1))
def test_rows_alone_are_those_of_counting_cells(cells: list[tuple[int, ...]], chosen: int) -> None:
    from indistinct.counting import Groups, Layout
    from indistinct.counting.kernels import grouping

    distinct = Counter(cells)
    layout = Layout.for_sizes([4] * 4)
    codes = np.array(list(distinct), np.uint64).T.copy()
    keys = grouping.pack(codes, layout.words, layout.shifts, layout.number_of_words)
    base = Groups(np.array(list(distinct.values()), np.int64), keys, (0,) * 4, layout)
    columns = [column for column in range(4) if chosen >> column & 1]
    alike = Counter(tuple(row[column] for column in columns) for row in cells)
    expected = sum(number == 1 for number in alike.values())
    assert sets_of_columns.DistinctRows(tuple("abcd"), (4,) * 4, base).alone(columns) == expected


def test_few_values_are_looked_at_where_these_leave_no_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def never(text: str) -> bool:
        asked.append(text)
        return False

    monkeypatch.setattr(safe_harbor, "PATTERNS", {"F": ("mail", never)})
    assert safe_harbor.identifiers_like("x", [f"{n}.5" for n in range(5_000)]) == []
    assert len(asked) <= 2 * safe_harbor.FIRST
    # nine of ten values at the end of the list are e-mail addresses: too few at first sight and in all
    values = [f"a{n}" for n in range(600)] + [f"a{n}@b.org" for n in range(4_400)]
    monkeypatch.setattr(safe_harbor, "PATTERNS", {"F": ("mail", lambda text: "@" in text)})
    assert [one.letter for one in safe_harbor.identifiers_like("x", values)] == ["F"]


@examples(200)
@given(st.text("0123456789./- ", min_size=4, max_size=10), st.sampled_from([form for form in FORMATS if form != ISO]))
def test_no_date_is_passed_over(text: str, form: str) -> None:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return
    assert _pattern(form).fullmatch(text)


@examples(100)
@given(st.dates(), st.sampled_from([*FORMATS[1:], "%d %b %Y", "%Y/%m/%d %H:%M:%S"]), st.booleans())
def test_a_date_fits_its_own_pattern(day: datetime, form: str, is_padded: bool) -> None:
    text = day.strftime(form) if day.year >= 1000 else "01"
    short = text if is_padded or "%b" in form else text.replace("/0", "/").replace(".0", ".").replace("-0", "-")
    try:
        datetime.strptime(short, form)
    except ValueError:
        return
    assert _pattern(form).fullmatch(short)


def test_what_is_not_looked_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functional_dependencies, "MOST_PAIRS", 3)
    table = pa.table({f"v{n}": [str(row % (2 + n)) for row in range(120)] for n in range(6)})
    roles = {f"v{n}": ix.quasi(ix.suppress()) if n < 2 else ix.other() for n in range(6)}
    policy = ix.Policy(columns=roles, privacy=[ix.KAnonymity(2)], algorithm="lattice")
    said = "3 of 8 pairs of columns"
    assert said in " ".join(ix.check(table, policy).notes)
    assert said in " ".join(ix.risk(table, policy=policy).notes)
    asked: list[int] = []
    explained_by = functional_dependencies.explained_by

    def counting(codes: Codes, others: Codes) -> tuple[float, bool]:
        asked.append(len(codes))
        return explained_by(codes, others)

    monkeypatch.setattr(functional_dependencies, "explained_by", counting)
    for original in (table, None):
        found = ix.attacks.dependencies(table, policy, original=original)
        assert said in " ".join(found.notes)
    assert len(asked) <= 2 * 3


def test_more_quasi_columns_than_anybody_knows_are_questioned() -> None:
    names = [f"hobby{n}" for n in range(32)]
    draw = np.random.default_rng(1)
    found = profile(pa.table({name: draw.choice(["a", "b", "c", str(n)], 60) for n, name in enumerate(names)}))
    policy = suggested_policy(found)
    many = len(policy.quasi)
    said = [one for one in reasons(found, policy) if "more than anybody knows" in one]
    assert many > 30
    assert f"{many} quasi columns are more" in said[0]
    assert "--known 3" in said[0]


def test_columns_beyond_what_is_counted_still_warn_that_they_single_rows_out() -> None:
    rows = 120
    draw = np.random.default_rng(3)
    cells = {f"v{n}": [str(value) for value in draw.integers(0, 50, rows)] for n in range(70)}
    table = pa.table({"sex": ["f", "m"] * (rows // 2)} | cells)
    roles = {"sex": ix.quasi(ix.suppress())} | {name: ix.other() for name in cells}
    policy = ix.Policy(columns=roles, privacy=[ix.KAnonymity(2)], algorithm="lattice")
    assert any("35 of 70 columns were looked at" in note for note in ix.check(table, policy).notes)
