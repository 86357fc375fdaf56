"""Looking at what a policy allows before one release is made: all solutions, the whole trade-off, the best tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from indistinct.counting import FrequencyList, as_declared, encode_eligible
from indistinct.engine import use_table
from indistinct.errors import InfeasibleError, PolicyError
from indistinct.pipeline.stages import count, open_tables, recode, recount
from indistinct.policy import Policy
from indistinct.policy.files.policy_file import load_policy
from indistinct.progress import Watch
from indistinct.quality import QualityMeasure
from indistinct.release import Release
from indistinct.search import (
    Datafly,
    DataflyStep,
    DistanceMatrix,
    Frontier,
    MinGenCell,
    Samarati,
    Solution,
    Task,
    minimal_solutions,
    sweep,
)


def solutions(
    table: Any, policy: Policy | str | os.PathLike[str], *, watch: Watch | None = None, **reading: Any
) -> list[Solution]:
    """Return every k-minimal generalization of a table: no column can stay lower without suppressing too many rows.

    Source: Samarati 2001, Definition 4.3.
    """
    policy = load_policy(policy)
    if policy.is_drawn:
        raise PolicyError(
            "solutions: for differential privacy levels are drawn; who chooses some by looking at the table spends "
            "more than epsilon says. To fix them beforehand, say min_level and max_level"
        )
    if policy.knows is not None:
        raise PolicyError("solutions: with knows each event has labels of its own, and no column one level")
    watch = watch or Watch()
    with open_tables(table, policy, **reading) as tables, count(tables, policy, watch, algorithm=Samarati()) as counted:
        task = counted.task
        watch.report("search")
        found = minimal_solutions(task, watch)
    if not found:
        raise task.infeasible(task.budget)
    return found


def best_tables(
    table: Any,
    policy: Policy | str | os.PathLike[str],
    *,
    algorithm: MinGenCell | None = None,
    watch: Watch | None = None,
    **reading: Any,
) -> list[Release]:
    """Return every k-anonymous table of greatest precision, cell by cell, for tables of some 15 to 20 rows.

    They are there to choose from. Let one of them leave the house: two together say more than k-anonymity allows.

    Source: Sweeney 2002, Figures 5 and 7.
    """
    policy = load_policy(policy, to="explore")
    watch = watch or Watch()
    chosen = algorithm or MinGenCell()
    with open_tables(table, policy, **reading) as tables, count(tables, policy, watch) as counted:
        watch.report("search")
        with ExitStack() as made:  # closed again if one of them cannot be released
            releases = [
                made.enter_context(recount(recode(counted, found, chosen, watch), watch))
                for found in chosen.all_minimal(counted.task, watch)
            ]
            made.pop_all()
    return releases


def frontier(
    table: Any,
    policy: Policy | str | os.PathLike[str],
    *,
    ks: Sequence[int] | None = None,
    measures: Sequence[QualityMeasure | str] | None = None,
    watch: Watch | None = None,
    **reading: Any,
) -> Frontier:
    """Return the whole trade-off: for every node and every k the rows to suppress and the measures, in one sweep.

    The policy's own k and suppression limit play no part in it. Models other than k-anonymity are refused: what they
    cost cannot be read from the sizes of groups.
    """
    policy = load_policy(policy, to="explore")
    watch = watch or Watch()
    with use_table(table, **reading) as rows:
        policy.check(rows.columns())
        watch.report("count")
        with as_declared(rows, policy) as read, encode_eligible(read, policy) as encoded:
            task = Task.of(FrequencyList.count(encoded, policy), policy)
    if task.frequencies.rows == 0:
        raise InfeasibleError("the table has no eligible rows")
    return sweep(task, watch, ks, measures)


def datafly_steps(
    table: Any, policy: Policy | str | os.PathLike[str], *, algorithm: Datafly | None = None, **reading: Any
) -> list[DataflyStep]:
    """Return Datafly's walk: the frequencies of all tuples as they are counted and after each step, for small tables.

    Source: Sweeney 2002, Figure 9.
    """
    policy = load_policy(policy, to="explore")
    chosen = algorithm or Datafly()
    with (
        open_tables(table, policy, **reading) as tables,
        count(tables, policy, Watch(), algorithm=chosen) as counted,
    ):
        return chosen.steps(counted.task)


def distance_matrix(table: Any, policy: Policy | str | os.PathLike[str], **reading: Any) -> DistanceMatrix:
    """Return the matrix of distance vectors between the outliers and all tuples of a small table.

    Tuples stand in the order in which the table first has them, so that it can be read beside the table.

    Source: Samarati 2001, section 5 and Figure 11.
    """
    policy = load_policy(policy, to="explore")
    with open_tables(table, policy, **reading) as tables, count(tables, policy, Watch()) as counted:
        matrix = DistanceMatrix.of(counted.task)
        codes = dict(zip(counted.task.frequencies.columns, matrix.codes.tolist(), strict=True))
        found = counted.only.rows_like(codes, (), limit=1)
        if found.num_rows < len(matrix.counts):
            return matrix  # counted by labels: nothing tells which row a tuple is
        return matrix.in_order_of(found["number"].to_numpy().astype(np.int64))
