"""LossyJoin: Tables 4 to 7 and Theorem 1 of Wong et al. 2007, its gap, and that every answer holds against a join."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers import adversary
from helpers.papers import table_of
from helpers.profiles import examples
from indistinct import testing
from indistinct.cli import app
from indistinct.counting import Groups, Tally
from indistinct.progress import Watch
from indistinct.recoding import SUPPRESSED, Classes, Pieces
from indistinct.registry import ALGORITHMS
from indistinct.search import Task
from indistinct.search.two_tables.lossy_join import LossyJoin

NO_GROUPING = ("lossy-join", "anatomy", "mu-argus", "m-invariance", "safepub")
"""Algorithms that make two tables themselves, draw rows, or make groups that are not always safe."""
LEVELS_OR_GROUPS = ("chosen", "applied")
"""Algorithms that ask for what they do."""
GROUPINGS = [name for name in ALGORITHMS if name not in (*NO_GROUPING, *LEVELS_OR_GROUPS)]

QUASI = ("Job", "Birth", "Postcode")
COLUMNS = (*QUASI, "Illness")

# Wong et al. 2007, Table 1, with the class of Table 4.
TABLE_4 = [
    ("clerk", "1975", "4350", "HIV", 1),
    ("manager", "1955", "4350", "flu", 1),
    ("clerk", "1955", "5432", "flu", 2),
    ("factory worker", "1955", "5432", "fever", 2),
    ("factory worker", "1975", "4350", "flu", 3),
    ("technical supporter", "1940", "4350", "fever", 3),
]
TABLE_1 = [row[:4] for row in TABLE_4]

# Tables 5 (NSS) and 6 (SS), the class first.
TABLE_5 = [
    (1, "clerk", "1975", "4350"),
    (1, "manager", "1955", "4350"),
    (2, "clerk", "1955", "5432"),
    (2, "factory worker", "1955", "5432"),
    (3, "factory worker", "1975", "4350"),
    (3, "technical supporter", "1940", "4350"),
]
TABLE_6 = [(1, "HIV"), (1, "flu"), (2, "flu"), (2, "fever"), (3, "flu"), (3, "fever")]

# Table 7, the join.
TABLE_7 = [
    (1, "clerk", "1975", "4350", "HIV"),
    (1, "manager", "1955", "4350", "HIV"),
    (1, "clerk", "1975", "4350", "flu"),
    (1, "manager", "1955", "4350", "flu"),
    (2, "clerk", "1955", "5432", "flu"),
    (2, "factory worker", "1955", "5432", "flu"),
    (2, "clerk", "1955", "5432", "fever"),
    (2, "factory worker", "1955", "5432", "fever"),
    (3, "factory worker", "1975", "4350", "flu"),
    (3, "technical supporter", "1940", "4350", "flu"),
    (3, "factory worker", "1975", "4350", "fever"),
    (3, "technical supporter", "1940", "4350", "fever"),
]

# The hierarchies that Tables 2 and 3 use.
JOBS = {"*": {"white-collar": ["clerk", "manager"], "blue-collar": ["factory worker", "technical supporter"]}}


def policy_of(alpha: Any = 0.5, k: int = 2, **more: Any) -> ix.Policy:
    return ix.Policy(
        columns={
            "Job": ix.quasi(ix.tree(JOBS)),
            "Birth": ix.quasi(ix.suppress()),
            "Postcode": ix.quasi(ix.suppress()),
            "Illness": ix.sensitive(),
        },
        privacy=[ix.AlphaK(alpha, k)],
        **more,
    )


@dataclass(frozen=True)
class AsPrinted:
    """Groups the rows of a table as somebody says: by the row's cells."""

    name: ClassVar[str] = "as-printed"

    group_of: dict[tuple[Any, ...], int]

    def run(self, task: Task, watch: Watch) -> Classes:
        frequencies = task.frequencies
        columns = [
            [hierarchy.values[code] for code in frequencies.entry_codes(column)]
            for column, hierarchy in enumerate(frequencies.hierarchies)
        ]
        columns += [
            [column.values[c] for c in frequencies.entries.codes[n]] for n, column in frequencies.sensitive.items()
        ]
        groups = np.array([self.group_of[cells] for cells in zip(*columns, strict=True)])
        pieces = Pieces(np.arange(len(groups)), frequencies.entries.counts, groups)
        return Classes.of_pieces(frequencies, pieces)


def two_tables(quasi, sensitive, columns=QUASI, values=("Illness",)):
    """Return printed tables as Arrow tables."""
    return {
        "quasi": table_of(("class_id", *columns), [tuple(map(str, row)) for row in quasi]),
        "sensitive": table_of(("class_id", *values), [tuple(map(str, row)) for row in sensitive]),
    }


def released_rows(release):
    """Return both tables of a release as the adversary reads them."""
    return tuple(adversary.rows_of(release.tables[name]) for name in ("quasi", "sensitive"))


def without_numbers(quasi, sensitive):
    """Return the classes of two tables, whatever their numbers are."""
    values = adversary.classes(sensitive)
    return Counter(
        (frozenset(Counter(rows).items()), frozenset(Counter(values.get(name, [])).items()))
        for name, rows in adversary.classes(quasi).items()
    )


def failed(verdict):
    """Return the names of the checks that failed."""
    return {check.name.split(" (")[0] for check in verdict.checks if not check.passed}


# The paper's tables.


@pytest.mark.slow
def test_table_4_becomes_tables_5_and_6():
    grouping = AsPrinted({row[:4]: row[4] for row in TABLE_4})
    with ix.anonymize(table_of(COLUMNS, TABLE_1), policy_of(), algorithm=LossyJoin(grouping)) as release:
        assert release.verdict.passed
        assert release.algorithm == "lossy-join"
        assert release.suppressed == 0
        assert release.facts.groups == 3
        assert release.measures["precision"] == 1.0  # no cell is changed
        quasi, sensitive = released_rows(release)
        assert release.verify(table_of(COLUMNS, TABLE_1)).passed
    assert without_numbers(quasi, sensitive) == without_numbers(TABLE_5, TABLE_6)


def test_top_down_finds_tables_5_and_6_from_table_1():
    """Table 3 is what the top-down algorithm makes of Table 1, and Table 4 has its classes."""
    with ix.anonymize(table_of(COLUMNS, TABLE_1), policy_of(), algorithm=LossyJoin()) as release:
        assert without_numbers(*released_rows(release)) == without_numbers(TABLE_5, TABLE_6)


@pytest.mark.slow
def test_tables_5_and_6_as_printed_verify():
    verdict = ix.verify(two_tables(TABLE_5, TABLE_6), policy_of(), original=table_of(COLUMNS, TABLE_1))
    assert verdict.passed
    assert (verdict.rows, verdict.groups, verdict.smallest_group) == (6, 3, 2)
    assert [check.id for check in verdict.checks] == [
        *("cells.columns", "cells.columns", "classes.sizes"),
        *("model.alpha-k", "classes.join", "truth.rows"),
    ]


def test_table_7_is_the_join_of_tables_5_and_6():
    """So the adversary of these tests joins as the paper does."""
    assert Counter(adversary.joined(TABLE_5, TABLE_6)) == Counter(TABLE_7)


def test_in_table_7_everybody_is_linked_to_two_values_as_somebody_else_is():
    """Section 3: the first record is linked to the bag {HIV, flu}, and so is the second."""
    bags = adversary.bags(TABLE_5, TABLE_6)
    assert all(len(bag) >= 2 for bag in bags.values())
    assert bags["clerk", "1975", "4350"] == {(("HIV",), 1), (("flu",), 1)} == bags["manager", "1955", "4350"]
    assert adversary.fewest_with_one_bag(TABLE_5, TABLE_6) == 2
    assert adversary.largest_share(TABLE_6) == Fraction(1, 2)


@pytest.mark.parametrize(("alpha", "k", "reason"), [(0.5, 3, "alpha-k"), (0.4, 2, "alpha-k")])
def test_tables_5_and_6_fail_a_policy_that_asks_for_more(alpha, k, reason):
    assert reason in failed(ix.verify(two_tables(TABLE_5, TABLE_6), policy_of(alpha, k)))


# Theorem 1.


@pytest.mark.slow
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_theorem_1_a_class_of_a_rows_has_a_squared_rows_in_the_join(grouping):
    """Each sensitive value of a class occurs a times as often as before, so shares stay as they are."""
    with ix.anonymize(table_of(COLUMNS, TABLE_1), policy_of(), algorithm=LossyJoin(grouping)) as release:
        quasi, sensitive = released_rows(release)
    joined = adversary.classes(adversary.joined(quasi, sensitive))
    values = adversary.classes(sensitive)
    for name, a in adversary.sizes(quasi).items():
        assert a >= 2
        assert len(joined[name]) == a * a
        shown, own = Counter(row[-1] for row in joined[name]), Counter(row[0] for row in values[name])
        assert shown == Counter({value: rows * a for value, rows in own.items()})
    assert adversary.is_safe(quasi, sensitive, k=2, alpha=Fraction(1, 2))


GAP_QUASI = [(1, "q"), (1, "b"), (1, "c"), (2, "q"), (2, "d"), (2, "e")]
GAP_SENSITIVE = [(1, "HIV"), (1, "flu"), (1, "fever"), (2, "cough"), (2, "asthma"), (2, "cold")]
GAP_POLICY = ix.Policy(
    columns={"who": ix.quasi(ix.suppress()), "Illness": ix.sensitive()},
    privacy=[ix.AlphaK(1 / 3, 3)],
)


def test_the_gap_of_theorem_1_is_found_by_verify():
    """Each class satisfies (1/3, 3), but q stands in both: two people are linked to its bag, and two to each other."""
    verdict = ix.verify(two_tables(GAP_QUASI, GAP_SENSITIVE, ["who"]), GAP_POLICY)
    assert failed(verdict) == {"join"}
    assert "6 people are linked to a bag of sensitive values that fewer than 3 share" in str(verdict)
    assert adversary.fewest_with_one_bag(GAP_QUASI, GAP_SENSITIVE) == 2
    assert adversary.largest_share(GAP_SENSITIVE) == Fraction(1, 3)
    assert min(adversary.sizes(GAP_QUASI).values()) == 3


def test_the_gap_is_there_also_where_both_classes_have_the_same_values():
    """b, c, d and e are then linked to one bag, but the two who are q to twice that."""
    sensitive = [(name, value) for name in (1, 2) for value in ("HIV", "flu", "fever")]
    verdict = ix.verify(two_tables(GAP_QUASI, sensitive, ["who"]), GAP_POLICY)
    assert failed(verdict) == {"join"}
    assert "2 people are linked" in str(verdict)
    assert adversary.fewest_with_one_bag(GAP_QUASI, sensitive) == 2


def test_people_of_different_classes_may_share_a_bag():
    """Definition 1 asks for k people with the same bag, not with the same classes."""
    quasi = [(1, "q"), (1, "b"), (2, "q"), (2, "c")]
    sensitive = [(name, value) for name in (1, 2) for value in ("HIV", "flu")]
    policy = ix.Policy(columns=GAP_POLICY.columns, privacy=[ix.AlphaK(0.5, 2)])
    assert adversary.fewest_with_one_bag(quasi, sensitive) == 2
    assert ix.verify(two_tables(quasi, sensitive, ["who"]), policy).passed


@pytest.mark.slow
def test_lossy_join_closes_the_gap_by_keeping_equal_quasi_identifiers_together():
    rows = [(who, value) for (_, who), (_, value) in zip(GAP_QUASI, GAP_SENSITIVE, strict=True)]
    group_of = {row: name for row, (name, _) in zip(rows, GAP_QUASI, strict=True)}
    table = table_of(("who", "Illness"), rows)
    with ix.anonymize(table, GAP_POLICY, algorithm=LossyJoin(AsPrinted(group_of))) as release:
        quasi, sensitive = released_rows(release)
        assert release.verify(table).passed
    assert len(adversary.sizes(quasi)) == 1
    assert adversary.fewest_with_one_bag(quasi, sensitive) == 6


# What it publishes holds.


CELLS = st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from(["HIV", "flu", "fever"]))


def small_policy(alpha, k, **more):
    return ix.Policy(
        columns={
            "one": ix.quasi(ix.tree({"*": {"ab": ["a", "b"], "c!": ["c"]}})),
            "two": ix.quasi(ix.suppress()),
            "illness": ix.sensitive(),
        },
        privacy=[ix.AlphaK(alpha, k)],
        **more,
    )


def released_or_refused(table, policy, algorithm):
    """Return both tables of a proved release and the number of suppressed rows, or None if there is no release."""
    try:
        release = ix.anonymize(table, policy, algorithm=algorithm)
    except ix.InfeasibleError:
        return None
    with release:
        assert release.verify(table).passed
        return *released_rows(release), release.suppressed


@pytest.mark.slow
@given(
    grouping=st.sampled_from(GROUPINGS),
    rows=st.lists(CELLS, min_size=4, max_size=14),
    alpha=st.sampled_from([1.0, 0.75, 0.5]),
    k=st.integers(1, 4),
    limit=st.sampled_from([None, 0, 3]),
)
@examples(30, opens_tables=True)
def test_whatever_it_publishes_holds_against_a_join(grouping, rows, alpha, k, limit):
    table = table_of(("one", "two", "illness"), rows)
    policy = small_policy(alpha, k, max_suppression=limit)
    found = released_or_refused(table, policy, LossyJoin(grouping))
    if found is None:
        event("infeasible")
        return
    quasi, sensitive, suppressed = found
    event("suppressed some" if suppressed else "released all")
    assert adversary.is_safe(quasi, sensitive, k=k, alpha=Fraction(alpha))
    assert len({row[1:] for row in quasi}) == len(set(quasi)), "equal quasi-identifiers are in one class"
    assert suppressed == len(rows) - len(quasi)
    assert adversary.can_be_true(quasi, sensitive, [(row[:2], row[2:]) for row in rows])


MODELS = [
    ix.AlphaK(0.6, 2, column="illness"),
    ix.AlphaK({"7001": 0.5}, 2, column="illness"),
    ix.LDiversity(2, column="illness"),
    ix.TCloseness(0.5, column="illness"),
    ix.PSensitive(1, 3, column="illness"),
]


@pytest.mark.slow
@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_class_satisfies_every_model_whatever_the_grouping(grouping, model):
    """With several quasi-identifiers, too: groups that are safe over each of them may be too small over all."""

    @examples(12, derandomize=True, database=None)
    @given(testing.tasks(models=[model]))
    def check(task):
        try:
            found = LossyJoin(grouping).run(task, Watch())
        except ix.InfeasibleError:
            return
        pieces, frequencies = found.pieces, found.frequencies
        placed = np.bincount(pieces.tuples, pieces.rows, len(frequencies.entries))
        assert (placed == frequencies.entries.counts).all(), "every row has its place"
        is_released = pieces.groups != SUPPRESSED
        entries, rows, classes = pieces.tuples[is_released], pieces.rows[is_released], pieces.groups[is_released]
        assert found.suppressed_rows == frequencies.rows - rows.sum()
        pairs = set(zip(frequencies.entries.tuples[entries].tolist(), classes.tolist(), strict=True))
        assert len(pairs) == len({number for number, _ in pairs}), "equal quasi-identifiers are in one class"
        tallies = {
            name: Tally.of(classes, frequencies.entries.codes[name][entries], rows, column.values, column.hierarchy)
            for name, column in frequencies.sensitive.items()
        }
        groups = Groups.of_sizes(np.bincount(classes, rows).astype(np.int64), tallies)
        assert model.satisfied(groups).all()

    check()


@pytest.mark.slow
def test_several_quasi_identifiers_are_protected_together():
    """Alone, each column has two equal values, but over both every row is unique: a class shows both at once."""
    table = table_of(
        ("one", "two", "illness"), [("a", "x", "HIV"), ("a", "y", "flu"), ("b", "x", "flu"), ("b", "y", "HIV")]
    )
    policy = ix.Policy(
        columns={"one": ix.quasi(ix.suppress()), "two": ix.quasi(ix.suppress()), "illness": ix.sensitive()},
        privacy=[ix.AlphaK(0.5, 2)],
        quasi_identifiers={"patient": ["one"], "doctor": ["two"]},
    )
    with ix.anonymize(table, policy, algorithm=ix.Lattice()) as release:
        assert release.node == {"one": 0, "two": 0}
    with ix.anonymize(table, policy, algorithm=LossyJoin("lattice")) as release:
        assert adversary.is_safe(*released_rows(release), k=2, alpha=Fraction(1, 2))


@pytest.mark.slow
def test_the_classes_are_the_groups_of_the_grouping():
    table = table_of(COLUMNS, TABLE_1)
    with (
        ix.anonymize(table, policy_of(), algorithm=ix.Lattice(measure="loss")) as generalized,
        ix.anonymize(table, policy_of(), algorithm=LossyJoin(ix.Lattice(measure="loss"))) as release,
    ):
        groups = Counter(adversary.rows_of(generalized.table, QUASI))
        quasi, _ = released_rows(release)
    assert sorted(groups.values()) == sorted(adversary.sizes(quasi).values())


@pytest.mark.slow
def test_rows_that_the_grouping_suppresses_are_in_neither_table():
    with ix.anonymize(table_of(COLUMNS, TABLE_1), policy_of(), algorithm=LossyJoin("datafly")) as release:
        quasi, sensitive = released_rows(release)
        assert release.suppressed > 0
        assert release.verify(table_of(COLUMNS, TABLE_1)).passed
    assert len(quasi) == len(sensitive) == 6 - release.suppressed
    assert {row[1:] for row in quasi} <= {row[:3] for row in TABLE_1}


@pytest.mark.slow
def test_equal_tables_have_equal_classes():
    found = []
    for _ in range(2):
        with ix.anonymize(table_of(COLUMNS, TABLE_1), policy_of(), algorithm=LossyJoin("lattice")) as release:
            found.append(without_numbers(*released_rows(release)))
    assert found[0] == found[1]


# What is refused.


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_an_infeasible_policy_is_refused_with_the_reason(grouping):
    table = table_of(COLUMNS, [(*row[:3], "HIV") for row in TABLE_1])
    with pytest.raises(ix.InfeasibleError) as caught:
        ix.anonymize(table, policy_of(max_suppression=0), algorithm=LossyJoin(grouping))
    assert caught.value.exit_code == 3
    assert "alpha = 0.5" in str(caught.value)
    assert "HIV" not in str(caught.value)


@pytest.mark.parametrize("grouping", ["anatomy", "mu-argus", "lossy-join"])
def test_a_grouping_that_makes_no_safe_groups_is_refused(grouping):
    for one in (grouping, ALGORITHMS[grouping]()):
        with pytest.raises(ix.PolicyError, match=f"grouping: '{grouping}' makes no safe groups; choose lattice"):
            LossyJoin(one)


def test_an_unknown_grouping_is_refused_when_it_is_named():
    with pytest.raises(ix.PolicyError, match="grouping: 'topdown' makes no safe groups; choose lattice, "):
        LossyJoin("topdown")


# On the command line.


POLICY_FILE = """
version = 1
algorithm = "lossy-join"
options = { grouping = "lattice" }

[columns]
Job = { role = "quasi", hierarchy = { suppress = true } }
Birth = { role = "quasi", hierarchy = { suppress = true } }
Postcode = { role = "quasi", hierarchy = { suppress = true } }
Illness = { role = "sensitive" }

[[privacy]]
model = "alpha-k"
alpha = 0.5
k = 2
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with Table 1 and a policy, which is also where commands run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY_FILE)
    lines = [";".join(COLUMNS), *(";".join(row) for row in TABLE_1)]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.slow
def test_the_command_line_shows_two_tables_and_what_is_not_protected(folder):
    result = run("anonymize", "policy.toml", "table.csv", "-o", "out")
    assert result.exit_code == 0, result.output
    assert "Two tables, linked by class_id" in result.stdout
    assert "Job, Birth, Postcode" in result.stdout
    assert "2, the smallest of 2 rows" in result.stdout
    assert "not protected: The quasi-identifiers are published as they are" in result.stderr
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["manifest.json", "quasi.csv", "sensitive.csv"]
    assert (folder / "out" / "quasi.csv").read_text().startswith("class_id;Job;Birth;Postcode\n")
    result = run("verify", "policy.toml", "out", "--original", "table.csv")
    assert result.exit_code == 0, result.output
    assert "verified: 6 rows in 2 classes, the smallest of 2" in result.stderr


@pytest.mark.slow
def test_the_json_of_a_release_of_two_tables_says_so(folder):
    told = json.loads(run("anonymize", "policy.toml", "table.csv", "-o", "out", "--json").stdout)
    assert told["form"] == "two tables"
    assert told["link"] == "class_id"
    columns = {name: table["columns"] for name, table in told["tables"].items()}
    assert columns == {"quasi": ["class_id", *QUASI], "sensitive": ["class_id", "Illness"]}
    assert told["groups"] == 2
    assert "who is in the table" in told["not_protected"]
    assert "No model" not in told["not_protected"], "there is one that asks about the only sensitive column"
    verdict = json.loads(run("verify", "policy.toml", "out", "--json").stdout)
    assert verdict["passed"]
    assert {"classes", "join"} <= {check["name"] for check in verdict["checks"]}


@pytest.mark.slow
def test_two_files_without_a_manifest_can_be_verified(folder):
    run("anonymize", "policy.toml", "table.csv", "-o", "out")
    both = ("verify", "policy.toml", "out/quasi.csv", "--sensitive", "out/sensitive.csv")
    result = run(*both)
    assert result.exit_code == 0, result.output
    assert "--sensitive out/sensitive.csv --original TABLE" in result.stderr
    assert run(*both, "--original", "table.csv").exit_code == 0
    assert run("verify", "policy.toml", "out/quasi.csv").exit_code == 4
    turned = run("verify", "policy.toml", "out/sensitive.csv", "--sensitive", "out/quasi.csv")
    assert turned.exit_code == 4
    assert "'Illness' is not released here" in turned.stdout.replace("\n", " ")


def test_an_infeasible_policy_leaves_with_3(folder):
    (folder / "policy.toml").write_text(POLICY_FILE.replace("0.5", "0.3"))
    result = run("anonymize", "policy.toml", "table.csv", "-o", "out")
    assert result.exit_code == 3
    assert not (folder / "out").exists()


@pytest.mark.slow
def test_a_changed_file_is_found(folder):
    run("anonymize", "policy.toml", "table.csv", "-o", "out")
    path = folder / "out" / "sensitive.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")  # only the order of the rows
    result = run("verify", "policy.toml", "out")
    assert result.exit_code == 4
    assert "a table was changed after the manifest" in " ".join(result.stdout.split())


def test_a_policy_file_is_reported_its_mistakes(folder):
    (folder / "policy.toml").write_text(POLICY_FILE.replace('grouping = "lattice"', 'grouping = "anatomy"'))
    result = run("anonymize", "policy.toml", "table.csv", "-o", "out")
    assert result.exit_code == 2
    assert "grouping: 'anatomy' makes no safe groups" in result.stderr
