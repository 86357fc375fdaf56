"""Releases of two tables, whatever made them: judged as an adversary would, proved, of every kind, in random order."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

import indistinct as ix
from helpers import adversary
from helpers.papers import table_of
from helpers.profiles import cases, examples
from indistinct.engine import Counts, ValueCounts, open_table
from indistinct.proof.judges.two_tables import judge, prove
from indistinct.search.two_tables.anatomy import Anatomy
from indistinct.search.two_tables.lossy_join import LossyJoin

ALGORITHMS = {"lossy join": LossyJoin("lattice"), "anatomy": Anatomy()}
BOTH = pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS.keys())


def policy_of(*models, **more):
    return ix.Policy(columns={"who": ix.quasi(ix.suppress()), "illness": ix.sensitive()}, privacy=models, **more)


def tables_of(quasi, sensitive):
    """Return rows, the class first, as the two tables of a release."""
    return {
        "quasi": table_of(("class_id", "who"), [tuple(map(str, row)) for row in quasi]),
        "sensitive": table_of(("class_id", "illness"), [tuple(map(str, row)) for row in sensitive]),
    }


def failed(verdict):
    """Return the names of the checks that failed."""
    return {check.name.split(" (")[0] for check in verdict.checks if not check.passed}


def released_rows(release):
    return tuple(adversary.rows_of(release.tables[name]) for name in ("quasi", "sensitive"))


@pytest.mark.parametrize("alpha", [0.5, {"flu": 0.5}], ids=["of all values", "of one value"])
def test_a_recipient_verifies_two_tables_whose_limits_the_manifest_does_not_name(alpha, tmp_path):
    table = pa.table({"who": list("abcdefgh"), "illness": ["flu", "gout", "burn", "cold"] * 2})
    with ix.anonymize(table, policy_of(ix.AlphaK(alpha, 2)), algorithm="lossy-join") as release:
        release.write(tmp_path / "out")
    found = ix.verify(tmp_path / "out")
    assert found.passed, str(found)
    assert ("limit for each of some values" in str(found)) is isinstance(alpha, dict)


# The adversary and verify agree.


@st.composite
def pairs_of_tables(draw):
    """Draw two tables that fit together, and often tamper with one of them."""
    classes = draw(st.integers(1, 3))
    cells = st.tuples(
        st.integers(1, classes), st.sampled_from("abcdef"[: draw(st.integers(2, 6))]), st.sampled_from("xyz")
    )
    rows = draw(st.lists(cells, min_size=2, max_size=9))
    quasi = [(name, who) for name, who, _ in rows]
    sensitive = [(name, value) for name, _, value in rows]
    what = draw(st.sampled_from(["nothing", "move", "exchange", "renumber", "drop", "drop value"]))
    one, other = draw(st.integers(0, len(rows) - 1)), draw(st.integers(0, len(rows) - 1))
    if what == "move":
        quasi[one] = (quasi[other][0], quasi[one][1])
    elif what == "exchange":
        (name, value), (other_name, other_value) = sensitive[one], sensitive[other]
        sensitive[one], sensitive[other] = (name, other_value), (other_name, value)
    elif what == "renumber":
        sensitive[one] = (draw(st.integers(1, 4)), sensitive[one][1])
    elif what == "drop":
        del quasi[one]
    elif what == "drop value":
        del sensitive[one]
    return what, rows, draw(st.permutations(quasi)), draw(st.permutations(sensitive))


@dataclass(frozen=True)
class PlainRows:
    """Rows that count their cells in plain Python: many more pairs of tables can be judged than with an engine."""

    names: tuple[str, ...]
    rows: list[tuple[object, ...]]

    def columns(self):
        return self.names

    def values_by(self, columns, column):
        places, place = [self.names.index(name) for name in columns], self.names.index(column)
        counts = Counter((tuple(row[at] for at in places), row[place]) for row in self.rows)
        groups, values = sorted({group for group, _ in counts}), sorted({value for _, value in counts})
        found = [(groups.index(group), values.index(value), rows) for (group, value), rows in counts.items()]
        by_group, by_value, rows = (np.array(part, np.int64) for part in zip(*sorted(found), strict=True))
        return ValueCounts(by_group, by_value, rows, tuple(map(str, values)))

    def encode(self, columns, where=()):
        values = {name: tuple(sorted({row[self.names.index(name)] for row in self.rows})) for name in columns}
        return PlainEncoded(self.names, self.rows, values)


class PlainEncoded:
    """Encoded rows in plain Python."""

    def __init__(self, names, rows, values):
        self.names, self.cells, self.values = names, rows, values

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def count_by(self, columns):
        counts = Counter(tuple(row[self.names.index(name)] for name in columns) for row in self.cells)
        codes = [[self.values[name].index(cells[at]) for cells in counts] for at, name in enumerate(columns)]
        return Counts(tuple(np.array(code, np.uint8) for code in codes), np.array(list(counts.values()), np.int64))


def plain_rows(quasi, sensitive):
    return PlainRows(("class_id", "who"), quasi), PlainRows(("class_id", "illness"), sensitive)


REQUIREMENTS = {
    "k": st.integers(1, 3),
    "alpha": st.sampled_from([Fraction(1), Fraction(3, 4), Fraction(1, 2)]),
    "l": st.integers(1, 2),
}


def models_of(k, alpha, l):  # noqa: E741
    return ix.KAnonymity(k), ix.AlphaK(float(alpha), k), ix.LDiversity(l)


@pytest.mark.slow
@given(pairs_of_tables(), st.fixed_dictionaries(REQUIREMENTS))
@examples(400)
def test_tables_are_judged_as_the_adversary_would(drawn, required):
    what, _, quasi, sensitive = drawn
    assume(quasi)
    assume(sensitive)
    checks, sizes = judge(*plain_rows(quasi, sensitive), policy_of(*models_of(**required)))  # type: ignore[call-arg]
    expected = adversary.is_safe(quasi, sensitive, **required)
    wrong = {check.name for check in checks if not check.passed}
    event(f"{what}: {'safe' if expected else 'unsafe by the join only' if wrong == {'join'} else 'unsafe'}")
    assert (not wrong) == expected, checks
    assert Counter(sizes.tolist()) == Counter(adversary.sizes(quasi).values())


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("xy")), min_size=6, max_size=10),
    st.integers(2, 3),
    st.integers(2, 3),
)
@examples(300)
def test_whoever_stands_in_several_classes_is_judged_by_the_values_of_all(rows, classes, k):
    """Classes are large enough and values do not matter: all depends on who shares a bag with whom."""
    quasi = [(number % classes, who) for number, (who, _) in enumerate(rows)]
    sensitive = [(number % classes, value) for number, (_, value) in enumerate(rows)]
    (*_, check), _ = judge(*plain_rows(quasi, sensitive), policy_of(ix.KAnonymity(k)))  # type: ignore[call-arg]
    expected = adversary.fewest_with_one_bag(quasi, sensitive) >= k
    event("shared" if expected else "not shared")
    assert check.name == "join"
    assert check.passed == expected


@pytest.mark.slow
def test_the_values_of_a_class_are_linked_once_for_each_row():
    """Everybody stands in both classes, but in other numbers: only the two who are r are linked to 6 a and 2 b."""
    quasi = [*((0, who) for who in "rsqq"), *((1, who) for who in "rsqs")]
    sensitive = [*((0, value) for value in "abba"), *((1, value) for value in "aaaa")]
    verdict = ix.verify(tables_of(quasi, sensitive), policy_of(ix.KAnonymity(3), ix.LDiversity(1)))
    assert failed(verdict) == {"join"}
    assert "2 people are linked to a bag of sensitive values that fewer than 3 share" in str(verdict)
    assert failed(ix.verify(tables_of(quasi, sensitive), policy_of(ix.KAnonymity(2), ix.LDiversity(1)))) == set()


def test_two_rows_in_one_class_link_to_the_same_values_as_one():
    quasi = [(0, "r"), (0, "r"), (0, "s")]
    sensitive = [(0, "a"), (0, "b"), (0, "c")]
    assert ix.verify(tables_of(quasi, sensitive), policy_of(ix.KAnonymity(3), ix.LDiversity(3))).passed


@pytest.mark.slow
@given(pairs_of_tables(), st.lists(st.sampled_from("abc"), max_size=2))
@examples(300)
def test_tables_that_can_be_true_are_proved_and_others_are_not(drawn, more):
    """Where equal quasi-identifiers are in one class the proof is exact; else it never doubts what can be true."""
    what, rows, quasi, sensitive = drawn
    assume(quasi)
    assume(sensitive)
    original = [(who, value) for _, who, value in rows] + [(who, "x") for who in more]
    (check,), eligible = prove(  # type: ignore[call-arg]
        *plain_rows(quasi, sensitive), PlainRows(("who", "illness"), original), policy_of(ix.KAnonymity(1))
    )
    expected = adversary.can_be_true(quasi, sensitive, [((who,), (value,)) for who, value in original])
    is_together = len({row[1:] for row in quasi}) == len(set(quasi))
    event(f"{what}: {'true' if expected else 'false'}, {'together' if is_together else 'divided'}")
    assert check.passed or not expected, check
    assert not is_together or check.passed == expected, check
    assert eligible == len(original)


@pytest.mark.slow
@given(pairs_of_tables(), st.fixed_dictionaries(REQUIREMENTS))
@examples(25, opens_tables=True)
def test_verify_agrees_with_the_adversary_whatever_was_tampered_with(drawn, required):
    _, rows, quasi, sensitive = drawn
    original = [(who, value) for _, who, value in rows]
    verdict = ix.verify(
        tables_of(quasi, sensitive), policy_of(*models_of(**required)), original=table_of(("who", "illness"), original)
    )
    is_safe = adversary.is_safe(quasi, sensitive, **required)
    is_true = adversary.can_be_true(quasi, sensitive, [((who,), (value,)) for who, value in original])
    assert (failed(verdict) <= {"truthful"}) == is_safe, str(verdict)
    assert not is_true or "truthful" not in failed(verdict), str(verdict)


@pytest.mark.slow
def test_a_value_that_no_quasi_identifier_of_the_class_has_is_no_truth():
    """The values of two classes are exchanged; each class is as safe as before."""
    quasi = [(1, "a"), (1, "b"), (2, "c"), (2, "d")]
    sensitive = [(1, "HIV"), (1, "flu"), (2, "cold"), (2, "fever")]
    original = table_of(("who", "illness"), [("a", "HIV"), ("b", "flu"), ("c", "cold"), ("d", "fever")])
    policy = policy_of(ix.AlphaK(0.5, 2))
    assert ix.verify(tables_of(quasi, sensitive), policy, original=original).passed
    exchanged = [(1, "HIV"), (1, "cold"), (2, "flu"), (2, "fever")]
    verdict = ix.verify(tables_of(quasi, exchanged), policy, original=original)
    assert failed(verdict) == {"truthful"}
    assert "2 classes have sensitive values that cannot be those of their quasi-identifiers" in str(verdict)


@pytest.mark.slow
def test_rows_that_were_made_up_are_no_truth():
    original = table_of(("who", "illness"), [("a", "HIV"), ("b", "flu"), ("c", "flu")])
    quasi, sensitive = [(1, "a"), (1, "b"), (1, "z")], [(1, "HIV"), (1, "flu"), (1, "HIV")]
    verdict = ix.verify(tables_of(quasi, sensitive), policy_of(ix.AlphaK(0.7, 2)), original=original)
    assert "1 rows of the quasi table are not in the original" in str(verdict)
    assert "1 rows of the sensitive table are not in the original" in str(verdict)


@pytest.mark.slow
def test_a_chain_of_exchanges_is_found_where_quasi_identifiers_are_divided():
    """a takes what b could have, b what c could: only one way is true, and a first guess may miss it."""
    original = [("a", "1"), ("a", "2"), ("b", "2"), ("b", "3"), ("c", "3"), ("c", "4")]
    quasi = [(1, "a"), (1, "b"), (1, "c")]
    table = table_of(("who", "illness"), original)
    for values, is_true in (("123", True), ("124", True), ("234", True), ("134", True), ("114", False), ("344", False)):
        sensitive = [(1, value) for value in values]
        verdict = ix.verify(tables_of(quasi, sensitive), policy_of(ix.LDiversity(1)), original=table)
        assert verdict.passed == is_true, values
        assert is_true == adversary.can_be_true(quasi, sensitive, [((who,), (value,)) for who, value in original])


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), [("1", "2"), ("2", "1")])
@pytest.mark.parametrize(("either", "other"), [("a", "b"), ("b", "a")])
def test_who_took_the_only_value_of_another_takes_another_one(either, other, low, high):
    """Whatever is tried first: one of these four asks for an exchange."""
    original = [(either, low), (either, high), (other, low), (other, low)]
    for values, is_true in (((low, high), True), ((high, high), False)):
        quasi, sensitive = [(1, either), (1, other)], [(1, value) for value in values]
        verdict = ix.verify(
            tables_of(quasi, sensitive), policy_of(ix.LDiversity(1)), original=table_of(("who", "illness"), original)
        )
        assert verdict.passed == is_true
        assert is_true == adversary.can_be_true(quasi, sensitive, [((who,), (value,)) for who, value in original])


@pytest.mark.slow
def test_more_suppressed_rows_than_allowed_are_found():
    quasi, sensitive = [(1, "a"), (1, "b")], [(1, "HIV"), (1, "flu")]
    original = table_of(("who", "illness"), [("a", "HIV"), ("b", "flu"), ("c", "flu")])
    for limit, passed in ((0, False), (1, True)):
        policy = policy_of(ix.AlphaK(0.5, 2), max_suppression=limit)
        assert ix.verify(tables_of(quasi, sensitive), policy, original=original).passed is passed
    policy = policy_of(ix.AlphaK(0.5, 2))
    verdict = ix.verify(tables_of(quasi, sensitive), policy, original=original, suppressed=0)
    assert failed(verdict) == {"suppressed rows"}


@pytest.mark.slow
def test_sensitive_columns_are_taken_together_for_a_bag_and_apart_for_a_model():
    """Both classes have the same illnesses and the same costs, but not the same combinations of them."""
    columns = {"who": ix.quasi(), "illness": ix.sensitive(), "cost": ix.sensitive()}
    policy = ix.Policy(columns=columns, privacy=[ix.AlphaK(0.5, 2)])
    quasi = [(1, "q"), (1, "b"), (2, "q"), (2, "c")]
    alike = [(1, "HIV", "9"), (1, "flu", "1"), (2, "HIV", "9"), (2, "flu", "1")]
    apart = [(1, "HIV", "9"), (1, "flu", "1"), (2, "HIV", "1"), (2, "flu", "9")]
    for sensitive, passed in ((alike, True), (apart, False)):
        tables = {
            "quasi": table_of(("class_id", "who"), [tuple(map(str, row)) for row in quasi]),
            "sensitive": table_of(("class_id", "illness", "cost"), [tuple(map(str, row)) for row in sensitive]),
        }
        assert failed(ix.verify(tables, policy)) == (set() if passed else {"join"})
        assert (adversary.fewest_with_one_bag(quasi, sensitive) >= 2) == passed


def test_without_a_k_nobody_needs_company():
    """l-diversity alone asks about values, so a quasi-identifier may stand in several classes."""
    quasi, sensitive = [(1, "q"), (1, "b"), (2, "q"), (2, "c")], [(1, "x"), (1, "y"), (2, "z"), (2, "w")]
    verdict = ix.verify(tables_of(quasi, sensitive), policy_of(ix.LDiversity(2)))
    assert verdict.passed
    assert "join" not in {check.name for check in verdict.checks}


def test_nobody_is_hidden_in_a_population():
    """The quasi-identifiers are not generalized, so that they fit no more people than they did."""
    tables = tables_of([(1, "a"), (1, "b")], [(1, "x"), (1, "y")])
    people = table_of(("who",), [("a",), ("a",), ("b",), ("b",)])
    verdict = ix.verify(tables, policy_of(ix.KMap(2, people), ix.LDiversity(2)))
    assert failed(verdict) == {"k-map"}
    assert "nobody is hidden in a population" in str(verdict)


def test_a_missing_cell_is_a_value_of_its_own():
    quasi = pa.table({"class_id": [1, 1, 2, 2], "who": ["a", None, None, "b"]})
    sensitive = pa.table({"class_id": [1, 1, 2, 2], "illness": ["flu", None, None, "flu"]})
    assert failed(ix.verify({"quasi": quasi, "sensitive": sensitive}, policy_of(ix.AlphaK(0.5, 2)))) == set()
    sensitive = pa.table({"class_id": [1, 1, 2, 2], "illness": ["flu", None, "HIV", "flu"]})
    assert failed(ix.verify({"quasi": quasi, "sensitive": sensitive}, policy_of(ix.AlphaK(0.5, 2)))) == {"join"}


def test_classes_can_be_left_out_and_never_look_suppressed():
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    policy = policy_of(ix.KAnonymity(2), ix.LDiversity(2))
    with ix.anonymize(table_of(("who", "illness"), rows), policy, algorithm=LossyJoin("lattice")) as release:
        classes = release.recoding
    assert classes.number_of_groups == 2
    rest = classes.without_groups(np.array([True, False]))
    assert (rest.number_of_groups, rest.released_rows, rest.suppressed_rows) == (1, 2, 2)
    assert not rest.looks_suppressed()


# What verify says about tables that are none.


def test_classes_of_different_sizes_are_counted():
    verdict = ix.verify(
        tables_of([(1, "a"), (1, "b"), (2, "c")], [(1, "x"), (2, "y"), (2, "z")]), policy_of(ix.LDiversity(1))
    )
    assert failed(verdict) == {"classes"}
    assert "2 classes; 2 classes have other numbers of rows in the sensitive table" in str(verdict)
    verdict = ix.verify(tables_of([(1, "a")], [(1, "x"), (3, "y")]), policy_of(ix.KAnonymity(1)))
    assert "1 class; 1 class has another number of rows in the sensitive table" in str(verdict)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["quasi"], "has the tables 'quasi' and 'sensitive'; given: 'quasi'"),
        (["sensitive"], "given: 'sensitive'"),
        ([], "given: none"),
        (["quasi", "sensitive", "third"], "given: 'quasi', 'sensitive', 'third'"),
    ],
)
def test_both_tables_are_needed_and_no_other(names, words):
    tables = tables_of([(1, "a")], [(1, "x")])
    with pytest.raises(ix.TableError, match=words):
        ix.verify({name: tables.get(name, tables["quasi"]) for name in names}, policy_of(ix.KAnonymity(1)))


def test_wrong_columns_are_reported_for_each_table():
    policy = ix.Policy(
        columns={"name": ix.identifier(), "who": ix.quasi(), "cost": ix.other(), "illness": ix.sensitive()},
        privacy=[ix.KAnonymity(1)],
    )
    tables = {
        "quasi": pa.table({"class_id": [1], "who": ["a"], "name": ["Ann"], "illness": ["flu"]}),
        "sensitive": pa.table({"illness": ["flu"], "age": [7]}),
    }
    verdict = ix.verify(tables, policy)
    nothing = {"identifiers": [], "to_rename": {}, "unknown": [], "elsewhere": [], "missing": [], "renamed": {}}
    assert [(check.id, dict(check.numbers)) for check in verdict.checks if not check.passed] == [
        (
            "cells.columns",
            {**nothing, "table": "quasi", "identifiers": ["name"], "elsewhere": ["illness"], "missing": ["cost"]},
        ),
        ("cells.columns", {**nothing, "table": "sensitive", "unknown": ["age"], "missing": ["class_id"]}),
    ]
    assert len(verdict.checks) == 2, "nothing else can be checked"
    assert "Ann" not in str(verdict)
    assert "flu" not in str(verdict)


@pytest.mark.parametrize("empty", ["quasi", "sensitive"])
def test_an_empty_table_fails(empty):
    tables = tables_of([(1, "a")], [(1, "x")])
    tables[empty] = tables[empty].slice(0, 0)
    verdict = ix.verify(tables, policy_of(ix.AlphaK(1.0, 1)), original=table_of(("who", "illness"), [("a", "x")]))
    assert [(check.id, check.numbers) for check in verdict.checks if not check.passed] == [
        ("cells.rows", {"table": empty})
    ]
    assert not verdict.passed


def test_an_original_of_another_kind_is_refused():
    with pytest.raises(ix.PolicyError, match=r"columns\.illness: the table has no such column"):
        ix.verify(tables_of([(1, "a")], [(1, "x")]), policy_of(ix.KAnonymity(1)), original=table_of(("who",), [("a",)]))


# What a policy must say.


@BOTH
def test_a_policy_that_allows_no_two_tables_is_told_everything_at_once(algorithm):
    columns = {"who": ix.quasi(), "Class_ID": ix.other(), "illness": ix.other()}
    table = table_of(("who", "Class_ID", "illness"), [("a", "1", "x"), ("b", "1", "y")])
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(1)], suppressed_rows="blank")
    with pytest.raises(ix.PolicyError) as caught:
        ix.anonymize(table, policy, algorithm=algorithm)
    assert caught.value.mistakes == (
        "columns: a release of two tables needs a sensitive column; declare one with sensitive()",
        "columns.Class_ID: 'class_id' is the column that links the two tables; give your column another name",
        "suppressed_rows: rows of a release of two tables are removed, never left blank; say 'remove', or leave it out",
    )
    assert caught.value.exit_code == 2


@BOTH
@pytest.mark.parametrize("models", [[ix.KAnonymity(2)], [ix.KAnonymity(2), ix.AverageRisk(0.5)]], ids=["k", "k, risk"])
def test_two_tables_that_hide_no_value_are_refused(algorithm, models):
    """Sensitive values are all that such a release hides; where no model asks about them a class may have but one."""
    table = table_of(("who", "illness"), [("a", "HIV"), ("b", "HIV"), ("c", "flu"), ("d", "flu")])
    with pytest.raises(ix.PolicyError, match="no model asks about sensitive values") as caught:
        ix.anonymize(table, policy_of(*models), algorithm=algorithm)
    assert caught.value.exit_code == 2
    in_one = tables_of([(1, "a"), (1, "b"), (2, "c"), (2, "d")], [(1, "HIV"), (1, "HIV"), (2, "flu"), (2, "flu")])
    assert failed(ix.verify(in_one, policy_of(*models))) == {"sensitive values"}


def test_it_is_reported_before_the_search():
    class Slow:
        name = "slow"

        def run(self, task, watch):
            raise AssertionError("searched in vain")

    policy = ix.Policy(columns={"who": ix.quasi()}, privacy=[ix.KAnonymity(1)])
    with pytest.raises(ix.PolicyError, match="needs a sensitive column"):
        ix.anonymize(table_of(("who",), [("a",)]), policy, algorithm=LossyJoin(Slow()))


# Kinds of tables.


def patients(rows=24):
    """A table with a column of every type that a frame may have, and rows that are equal but for their names."""
    return pa.table(
        {
            "name": [f"person {number}" for number in range(rows)],
            "age": pa.array([20 + number % 3 for number in range(rows)], pa.int16()),
            "sex": pa.array([("f", "m", None)[number % 3] for number in range(rows)], pa.string()),
            "born": pa.array([datetime.date(1990, 1, 1 + number % 3) for number in range(rows)]),
            "weight": pa.array([60.5 + number for number in range(rows)], pa.float64()),
            "illness": pa.array([("HIV", "flu", "cold", "fever")[number % 4] for number in range(rows)], pa.string()),
            "cost": pa.array([None if number == 5 else number * 10 for number in range(rows)], pa.int32()),
        }
    )


PATIENTS = ix.Policy(
    columns={
        "name": ix.identifier(),
        "age": ix.quasi(ix.suppress()),
        "sex": ix.quasi(ix.suppress()),
        "born": ix.quasi(ix.suppress()),
        "weight": ix.other(),
        "illness": ix.sensitive(),
        "cost": ix.sensitive(),
    },
    privacy=[ix.AlphaK(0.5, 3, column="illness")],
)


def source_of(kind, table, folder):
    """Return a table as another kind, and what comes back for it."""
    import duckdb
    import pandas
    import polars

    path = folder / "source"
    if kind == "csv":
        pyarrow.csv.write_csv(table, f"{path}.csv", pyarrow.csv.WriteOptions(delimiter=";"))
        return f"{path}.csv", pa.Table
    if kind == "parquet":
        pyarrow.parquet.write_table(table, f"{path}.parquet")
        return f"{path}.parquet", pa.Table
    if kind == "ipc":
        with pa.ipc.new_file(f"{path}.arrow", table.schema) as file:
            file.write_table(table)
        return f"{path}.arrow", pa.Table
    if kind == "database":
        with duckdb.connect(f"{path}.duckdb") as connection:
            connection.register("given", table)
            connection.execute("CREATE TABLE patients AS SELECT * FROM given")
        return f"{path}.duckdb::patients", pa.Table
    if kind == "duckdb":
        return duckdb.from_arrow(table), duckdb.DuckDBPyRelation
    frames = {
        "arrow": (lambda: table, pa.Table),
        "pandas": (lambda: table.to_pandas(types_mapper=None), pandas.DataFrame),
        "polars": (lambda: polars.DataFrame(table), polars.DataFrame),
        "polars-lazy": (lambda: polars.DataFrame(table).lazy(), polars.LazyFrame),
    }
    make, expected = frames[kind]
    return make(), expected


def as_arrow(table):
    import duckdb

    if isinstance(table, pa.Table):
        return table
    if hasattr(table, "collect"):
        table = table.collect()
    if isinstance(table, duckdb.DuckDBPyRelation):
        return table.to_arrow_table()
    return table.to_arrow() if hasattr(table, "to_arrow") else pa.Table.from_pandas(table, preserve_index=False)


def plain(cell):
    """Return a cell in the way in which tables of different kinds can be compared."""
    if cell in (None, "") or cell != cell:  # NaN is no cell either
        return None
    try:
        return float(cell)
    except (TypeError, ValueError):
        return str(cell)[:10]


def texts(table):
    """Return the rows of a table as a multiset of plain cells."""
    return Counter(
        zip(*([plain(cell) for cell in table[name].to_pylist()] for name in table.column_names), strict=True)
    )


KINDS = ["arrow", "pandas", "polars", "polars-lazy", "duckdb", "csv", "parquet", "ipc", "database"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", cases(KINDS, "pandas", "polars-lazy", "duckdb", "csv", "database"))
def test_every_kind_of_table_comes_back_as_two_of_its_kind(kind, tmp_path):
    table = patients()
    source, expected = source_of(kind, table, tmp_path)
    with ix.anonymize(source, PATIENTS, algorithm=LossyJoin("lattice")) as release:
        quasi, sensitive = (release.tables[name] for name in ("quasi", "sensitive"))
        written = release.write(tmp_path / "out")
        with pytest.raises(ix.TableError, match=r'release.tables\["quasi"\]'):
            _ = release.table
    assert isinstance(quasi, expected)
    assert isinstance(sensitive, expected)
    quasi, sensitive = as_arrow(quasi), as_arrow(sensitive)
    assert quasi.column_names == ["class_id", "age", "sex", "born", "weight"]
    assert sensitive.column_names == ["class_id", "illness", "cost"]
    assert pa.types.is_integer(quasi["class_id"].type)
    own = ["age", "sex", "born", "weight"]
    assert texts(quasi.select(own)) == texts(table.select(own))
    assert texts(sensitive.select(["illness", "cost"])) == texts(table.select(["illness", "cost"]))
    if kind not in ("csv", "pandas", "polars", "polars-lazy", "duckdb"):
        assert [quasi[name].type for name in own] == [table[name].type for name in own]
        assert sensitive["cost"].type == pa.int32()
    suffix = {"csv": ".csv", "ipc": ".arrow", "database": ".duckdb"}.get(kind, ".parquet")
    names = sorted(path.name for path in written.iterdir())
    assert names == ["manifest.json", f"quasi{suffix}", f"sensitive{suffix}"]
    original = source_of(kind, table, tmp_path)[0] if kind in ("duckdb", "polars-lazy") else source
    assert ix.verify(written, PATIENTS, original=original).passed
    for name, released in (("quasi", quasi), ("sensitive", sensitive)):
        with open_table(written / f"{name}{suffix}") as rows:
            assert texts(pa.Table.from_batches(rows.texts(rows.columns()))) == texts(released)
            assert rows.format() == ({"delimiter": ";"} if kind == "csv" else {})


@pytest.mark.slow
def test_frames_keep_their_own_types():
    import pandas
    import polars

    table = patients()
    frame = table.to_pandas().astype({"sex": "category", "illness": "category", "age": "int8"})
    with ix.anonymize(frame, PATIENTS, algorithm=Anatomy()) as release:
        quasi, sensitive = release.tables["quasi"], release.tables["sensitive"]
    assert quasi["age"].dtype == "int8"
    assert isinstance(quasi["sex"].dtype, pandas.CategoricalDtype)
    assert isinstance(sensitive["illness"].dtype, pandas.CategoricalDtype)
    assert quasi.index.tolist() == list(range(24)), "the index of the source does not survive"
    frame = polars.DataFrame(table).with_columns(
        polars.col("illness").cast(polars.Enum(["HIV", "cold", "fever", "flu", "scurvy"])),
        polars.col("age").cast(polars.UInt8),
    )
    with ix.anonymize(frame, PATIENTS, algorithm=Anatomy()) as release:
        quasi, sensitive = release.tables["quasi"], release.tables["sensitive"]
    assert quasi["age"].dtype == polars.UInt8
    assert sensitive["illness"].dtype == polars.Enum(["HIV", "cold", "fever", "flu"])


@pytest.mark.slow
def test_the_manifest_says_what_the_release_is_and_quotes_no_cell(tmp_path):
    with ix.anonymize(patients(), PATIENTS, algorithm=Anatomy()) as release:
        folder = release.write(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["form"] == "two tables"
    assert {name: table["columns"] for name, table in manifest["tables"].items()} == {
        "quasi": ["class_id", "age", "sex", "born", "weight"],
        "sensitive": ["class_id", "illness", "cost"],
    }
    assert "one to one" in manifest["not_protected"]
    assert "No model asks about 'cost': all people of a class may have the same value" in manifest["not_protected"]
    assert set(manifest["files"]) == {"quasi.parquet", "sensitive.parquet"}
    assert "HIV" not in json.dumps(manifest)
    assert "seed" not in json.dumps(manifest)


@pytest.mark.slow
def test_a_folder_of_two_tables_can_be_replaced_and_is_checked(tmp_path):
    with ix.anonymize(patients(), PATIENTS, algorithm=Anatomy()) as release:
        folder = release.write(tmp_path / "out")
        release.write(folder, replace=True)
    assert ix.verify(folder, PATIENTS).passed
    other = ix.Policy(columns=PATIENTS.columns, privacy=[ix.AlphaK(0.5, 2, column="illness")])
    assert failed(ix.verify(folder, other)) == {"policy"}
    manifest = json.loads((folder / "manifest.json").read_text())
    turned = dict(reversed(manifest["files"].items()))
    (folder / "manifest.json").write_text(json.dumps(manifest | {"files": turned}))
    assert ix.verify(folder, PATIENTS).passed, "files are told apart by their names"
    (folder / "manifest.json").write_text(json.dumps(manifest | {"groups": 7}))
    assert failed(ix.verify(folder, PATIENTS)) == {"manifest"}
    (folder / "sensitive.parquet").unlink()
    with pytest.raises(ix.TableError, match=r"the manifest's table 'sensitive.parquet' is not there"):
        ix.verify(folder, PATIENTS)
    del manifest["files"]["sensitive.parquet"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ix.TableError, match="is no manifest of a release"):
        ix.verify(folder, PATIENTS)


@pytest.mark.slow
@BOTH
def test_only_eligible_rows_are_in_the_tables_and_never_an_identifier(algorithm):
    policy = ix.Policy(
        columns=PATIENTS.columns,
        privacy=[ix.AlphaK(0.5, 2, column="illness")],
        eligible=[ix.where("weight", "<", 75), ix.where("illness", "!=", "flu")],
    )
    table = patients()
    with ix.anonymize(table, policy, algorithm=algorithm) as release:
        quasi, sensitive = release.tables["quasi"], release.tables["sensitive"]
        assert release.verify(table).passed
        assert release.facts.eligible == quasi.num_rows == sensitive.num_rows == 11
    expected = [row for row in table.to_pylist() if row["weight"] < 75 and row["illness"] != "flu"]
    assert sorted(quasi["weight"].to_pylist()) == sorted(row["weight"] for row in expected)
    assert Counter(sensitive["cost"].to_pylist()) == Counter(row["cost"] for row in expected)
    assert "name" not in [*quasi.column_names, *sensitive.column_names]


# Random order and random numbers.


def in_order(rows=3000):
    """A table whose rows say where they stand: quasi and sensitive cells that tell the position."""
    return pa.table(
        {
            "zone": [f"{number // 10:03}" for number in range(rows)],
            "place": list(range(rows)),
            "illness": [("HIV", "flu", "cold")[number % 3] for number in range(rows)],
            "stay": list(range(rows)),
        }
    )


IN_ORDER = ix.Policy(
    columns={"zone": ix.quasi(), "place": ix.other(), "illness": ix.sensitive(), "stay": ix.sensitive()},
    privacy=[ix.LDiversity(1, column="illness")],
)


def correlation(one, other):
    return abs(np.corrcoef(np.asarray(one, float), np.asarray(other, float))[0, 1])


@BOTH
def test_both_tables_stand_in_random_orders_of_their_own(algorithm):
    """A correlation above 6 / √n by chance happens once in 10⁸ times; a row at its own place in both about once."""
    with ix.anonymize(in_order(), IN_ORDER, algorithm=algorithm) as release:
        quasi, sensitive = release.tables["quasi"].to_pydict(), release.tables["sensitive"].to_pydict()
    positions = np.arange(3000)
    limit = 6 / np.sqrt(3000)
    assert correlation(positions, quasi["place"]) < limit
    assert correlation(positions, sensitive["stay"]) < limit
    place_of = np.argsort(quasi["place"])
    stay_of = np.argsort(sensitive["stay"])
    assert correlation(place_of, stay_of) < limit, "the position in one table tells nothing about that in the other"
    assert (place_of == stay_of).sum() < 15
    assert (place_of == positions).sum() < 15
    assert (stay_of == positions).sum() < 15
    first = {}
    for name, place in zip(quasi["class_id"], quasi["place"], strict=True):
        first[name] = min(place, first.get(name, place))
    assert sorted(first) == list(range(1, len(first) + 1))
    numbers = np.array(sorted(first))
    assert correlation(numbers, [first[name] for name in numbers]) < 6 / np.sqrt(len(numbers))
    assert correlation(positions, quasi["class_id"]) < limit
    assert correlation(positions, sensitive["class_id"]) < limit


@pytest.mark.slow
def test_class_numbers_and_orders_are_new_each_time():
    found = set()
    for _ in range(3):
        with ix.anonymize(in_order(60), IN_ORDER, algorithm=LossyJoin("lattice")) as release:
            quasi, sensitive = released_rows(release)
            found |= {tuple(quasi), tuple(sensitive), tuple(sorted(quasi))}
    assert len(found) == 9


@pytest.mark.slow
def test_which_of_equal_rows_goes_to_which_class_is_drawn_at_random():
    """Rows with one quasi-identifier and one illness differ in their stay alone, of which no model speaks.

    Two of four such rows are suppressed, if they were always the same the order of the table would tell.
    """
    table = pa.table({"who": ["a"] * 6, "illness": ["flu"] * 4 + ["HIV"] * 2, "stay": list(range(6))})
    policy = ix.Policy(
        columns={"who": ix.quasi(), "illness": ix.sensitive(), "stay": ix.sensitive()},
        privacy=[ix.LDiversity(2, column="illness")],
        max_suppression=2,
    )
    seen = Counter()
    for _ in range(12):
        with ix.anonymize(table, policy, algorithm=Anatomy(seed=0)) as release:
            assert release.suppressed == 2
            seen.update(stay for stay in release.tables["sensitive"]["stay"].to_pylist() if stay < 4)
    assert len(seen) == 4
    assert max(seen.values()) < 12, "by chance once in 1,000 million times"
