"""anonymize(): the whole path from a private table to a verified release, on one screen."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from indistinct.algorithms import Algorithm, Task, algorithm_named, algorithm_of
from indistinct.algorithms.algorithm import declaration_of
from indistinct.algorithms.distance_matrix import DistanceMatrix
from indistinct.algorithms.frontier import Frontier, sweep
from indistinct.algorithms.mingen import MinGenCell
from indistinct.algorithms.solutions import Solution, minimal_solutions
from indistinct.counting import FrequencyList, encode_eligible, kernels_are_compiled
from indistinct.engine import Encoded, Rows, use_table
from indistinct.errors import InfeasibleError
from indistinct.linkage.population import count_with_population
from indistinct.pipeline.in_fragments import recoded_in_fragments
from indistinct.policy import Policy
from indistinct.quality import QualityMeasure
from indistinct.recoding import Recoding
from indistinct.release import Release
from indistinct.watch import Watch


def anonymize(
    table: Any,
    policy: Policy,
    *,
    algorithm: Algorithm | str | None = None,
    allow_unsafe: bool = False,
    watch: Watch | None = None,
    **reading: Any,
) -> Release:
    """Give a release of a table that satisfies a policy, recounted; raise if there is none.

    ``table`` is a path (CSV, Parquet, Arrow, ``file.duckdb::table``), a pandas or Polars frame, an Arrow table or a
    DuckDB relation; the release holds a table of the same kind. ``algorithm`` is an algorithm, its name, or None for
    the one that the policy names. With ``allow_unsafe`` a release that fails its recount, as µ-Argus's may, is given
    all the same; its verdict says what failed. ``reading`` goes to the engine: memory_limit, threads, delimiter,
    encoding.
    """
    watch = watch or Watch()
    chosen = chosen_algorithm(algorithm, policy)
    with use_table(table, **reading) as rows:  # the release holds its own rows
        with encode_checked(rows, policy, watch) as encoded:
            in_fragments = _works_in_fragments(chosen, encoded, policy)
            task = task_for(encoded, policy, may_merge=in_fragments or declaration_of(chosen).heeds_bottom)
            watch.start()
            if in_fragments and any(task.frequencies.lowest):
                watch.report("release")
                released, done = recoded_in_fragments(encoded, task, chosen)
                release = Release({"table": released}, done, policy, chosen.name)
            else:
                watch.report("search")
                release = recode_found(encoded, policy, chosen.run(task, watch), chosen.name, watch)
        return verify_made(release, watch, allow_unsafe=allow_unsafe)


def release_of(
    encoded: Encoded,
    policy: Policy,
    recoding: Recoding,
    algorithm: str,
    *,
    allow_unsafe: bool = False,
    watch: Watch | None = None,
) -> Release:
    """Recode the rows that were counted, in fresh random order, and recount what will leave the house."""
    watch = watch or Watch()
    release = recode_found(encoded, policy, recoding, algorithm, watch)
    return verify_made(release, watch, allow_unsafe=allow_unsafe)


def recode_found(encoded: Encoded, policy: Policy, recoding: Recoding, algorithm: str, watch: Watch) -> Release:
    """Recode the rows that were counted, in fresh random order; raise if nothing would be left of them."""
    if recoding.released_rows == 0:
        raise InfeasibleError("every row would have to be suppressed; lower k or add levels to the hierarchies")
    watch.report("release")
    return Release.build(encoded, recoding, policy, algorithm)


def verify_made(release: Release, watch: Watch, *, allow_unsafe: bool = False) -> Release:
    """Recount what will leave the house; what fails is given only if that is allowed."""
    watch.report("verify")
    verdict = release.verify()
    if not verdict.passed and not allow_unsafe:
        release.close()
        verdict.raise_if_failed()
    return release


def solutions(table: Any, policy: Policy, *, watch: Watch | None = None, **reading: Any) -> list[Solution]:
    """Give every k-minimal generalization of a table: no column can stay lower without suppressing too many rows.

    Source: Samarati 2001, Definition 4.3.
    """
    watch = watch or Watch()
    with use_table(table, **reading) as rows, encode_checked(rows, policy, watch) as encoded:
        task = task_for(encoded, policy, may_merge=True)
        watch.report("search")
        found = minimal_solutions(task, watch)
    if not found:
        raise task.infeasible(task.budget)
    return found


def best_tables(
    table: Any,
    policy: Policy,
    *,
    algorithm: MinGenCell | None = None,
    watch: Watch | None = None,
    **reading: Any,
) -> list[Release]:
    """Give every k-anonymous table of greatest precision, cell by cell, for tables of some 15 to 20 rows.

    They are there to choose from. Let one of them leave the house: two together say more than k-anonymity allows.

    Source: Sweeney 2002, Figures 5 and 7.
    """
    watch = watch or Watch()
    chosen = algorithm or MinGenCell()
    with use_table(table, **reading) as rows, encode_checked(rows, policy, watch) as encoded:
        task = task_for(encoded, policy)
        watch.report("search")
        found = chosen.all_minimal(task, watch)
        with ExitStack() as made:  # closed again if one of them cannot be released
            releases = [made.enter_context(release_of(encoded, policy, one, chosen.name, watch=watch)) for one in found]
            made.pop_all()
    return releases


def frontier(
    table: Any,
    policy: Policy,
    *,
    ks: Sequence[int] | None = None,
    measures: Sequence[QualityMeasure | str] | None = None,
    watch: Watch | None = None,
    **reading: Any,
) -> Frontier:
    """Give the whole trade-off: for every node and every k the rows to suppress and the measures, in one sweep.

    The policy's own k and suppression limit play no part in it. Models other than k-anonymity are refused: what they
    cost cannot be read from the sizes of groups.
    """
    watch = watch or Watch()
    with use_table(table, **reading) as rows, encode_checked(rows, policy, watch) as encoded:
        task = Task.of(FrequencyList.count(encoded, policy), policy)
    if task.frequencies.rows == 0:
        raise InfeasibleError("the table has no eligible rows")
    return sweep(task, watch, ks, measures)


def distance_matrix(table: Any, policy: Policy, **reading: Any) -> DistanceMatrix:
    """Give the matrix of distance vectors between the outliers and all tuples of a small table.

    Source: Samarati 2001, section 5 and Figure 11.
    """
    with use_table(table, **reading) as rows, encode_checked(rows, policy, Watch()) as encoded:
        return DistanceMatrix.of(task_for(encoded, policy))


def encode_checked(rows: Rows, policy: Policy, watch: Watch) -> Encoded:
    """Check the policy against the table and encode what is counted: the only full scans before the release."""
    policy.check(rows.columns())  # every mistake at once; an undeclared column is refused
    if not kernels_are_compiled():
        watch.report("compile")  # said first, though kernels are compiled when they are first used
    watch.report("count")
    return encode_eligible(rows, policy)


def task_for(encoded: Encoded, policy: Policy, *, may_merge: bool = False, secret: tuple[str, ...] = ()) -> Task:
    """Count a table that was encoded for a policy; a list that is too long is cut where it ``may_merge``.

    No message of a search names the ``secret`` columns.
    """
    # whether people of a population fit a tuple is asked about its values
    may_merge = may_merge and not any(model.asks_population for model in policy.privacy)
    frequencies = count_with_population(encoded, policy, may_merge=may_merge)
    task = replace(Task.of(frequencies, policy), secret=secret)
    if frequencies.rows < max(1, task.largest_k()):
        raise task.infeasible(task.budget)
    return task


def _works_in_fragments(algorithm: Algorithm, encoded: Encoded, policy: Policy) -> bool:
    """Tell whether parts of a table may be recoded by themselves: no model may compare them with the whole table."""
    return (
        encoded.can_work_in_fragments
        and declaration_of(algorithm).works_in_fragments
        and policy.suppressed_rows == "remove"
        and not any(model.asks_whole_table or model.asks_population for model in policy.privacy)
    )


def chosen_algorithm(algorithm: Algorithm | str | None, policy: Policy) -> Algorithm:
    """Give the algorithm that was asked for, by itself or by its name, or else the policy's."""
    if algorithm is None:
        return algorithm_of(policy)
    if not isinstance(algorithm, str):
        return algorithm
    return algorithm_of(policy) if algorithm == policy.algorithm else algorithm_named(algorithm)
