"""The stages of a release: each gives what the next one takes, and composed by hand they are anonymize()."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.engine import open_table
from indistinct.errors import InfeasibleError, TableError, VerificationError
from indistinct.pipeline import choose_algorithm, count, recode, recount, search

TABLE = pa.table(
    {
        "name": [f"p{number}" for number in range(8)],
        "age": ["1", "1", "2", "2", "3", "3", "4", "5"],
        "ill": ["flu", "gout"] * 4,
    }
)
POLICY = ix.Policy(
    columns={"name": ix.identifier(), "age": ix.quasi(ix.suppress()), "ill": ix.sensitive()},
    privacy=[ix.KAnonymity(2)],
    max_suppression=2,
)


def cells(table: pa.Table) -> list[tuple[str, ...]]:
    return sorted(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


@pytest.mark.parametrize("algorithm", ["lattice", "mondrian", "datafly"])
def test_the_stages_one_by_one_are_anonymize(algorithm: str) -> None:
    watch = ix.Watch()
    with open_table(TABLE) as rows, count({"table": rows}, POLICY, watch) as counted:
        recoding = search(counted, choose_algorithm(algorithm, POLICY), watch)
        by_hand = recode(counted, recoding, choose_algorithm(algorithm, POLICY), watch)
    with recount(by_hand, watch), ix.anonymize(TABLE, POLICY, algorithm=algorithm) as release:
        assert cells(by_hand.table) == cells(release.table)
        assert by_hand.facts == release.facts
        assert by_hand.verdict == release.verdict


def test_what_was_counted_is_let_go_with_the_block() -> None:
    with open_table(TABLE) as rows:
        with count({"table": rows}, POLICY, ix.Watch()) as counted:
            recoding = search(counted, choose_algorithm(None, POLICY), ix.Watch())
        with pytest.raises(TableError, match="closed"):
            recode(counted, recoding, choose_algorithm(None, POLICY), ix.Watch())


def test_tables_that_were_counted_side_by_side_do_not_know_of_each_other() -> None:
    """What was found for some rows recodes those, whatever was counted in between."""
    first = replace(POLICY, eligible=[ix.where("ill", "==", "flu")], max_suppression=4)
    other = replace(POLICY, eligible=[ix.where("ill", "==", "gout")], max_suppression=4)
    watch = ix.Watch()
    with open_table(TABLE) as rows, count({"table": rows}, first, watch) as counted:
        recoding = search(counted, choose_algorithm(None, first), watch)
        count({"table": rows}, other, watch)
        with recount(recode(counted, recoding, choose_algorithm(None, first), watch), watch) as release:
            assert set(release.table["ill"].to_pylist()) == {"flu"}


def test_what_fails_its_recount_is_closed_unless_it_is_allowed() -> None:
    watch = ix.Watch()
    with (
        open_table(TABLE) as rows,
        count({"table": rows}, replace(POLICY, privacy=[ix.KAnonymity(1)]), watch) as counted,
    ):
        as_it_is = search(counted, choose_algorithm(None, counted.policy), watch)
    with open_table(TABLE) as rows, count({"table": rows}, POLICY, watch) as counted:
        with recount(
            recode(counted, as_it_is, choose_algorithm(None, POLICY), watch), watch, allow_unsafe=True
        ) as unsafe:
            assert unsafe.verdict is not None
            assert not unsafe.verdict.passed
        refused = recode(counted, as_it_is, choose_algorithm(None, POLICY), watch)
        with pytest.raises(VerificationError):
            recount(refused, watch)


def test_a_release_of_nothing_is_refused_before_rows_are_recoded() -> None:
    watch = ix.Watch()
    alone = pa.table({"name": ["a", "b"], "age": ["1", "2"], "ill": ["flu", "flu"]})
    kept = replace(POLICY, columns={**POLICY.columns, "age": ix.quasi()}, max_suppression=1.0)
    with open_table(alone) as rows, count({"table": rows}, kept, watch) as counted:
        recoding = counted.task.recoding(counted.task.frequencies.base)
        assert recoding.released_rows == 0
        with pytest.raises(InfeasibleError, match="every row would have to be suppressed"):
            recode(counted, recoding, choose_algorithm(None, kept), watch)
