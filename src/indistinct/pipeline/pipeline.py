"""anonymize(): the whole path from a private table to a verified release, on one screen."""

from __future__ import annotations

import os
from typing import Any

from indistinct.pipeline.refusals import refuse_without_ledger
from indistinct.pipeline.stages import choose_algorithm, count, made_with, open_tables, recode, recount, search
from indistinct.policy import Policy
from indistinct.policy.load import load_policy
from indistinct.progress import Watch
from indistinct.randomness import Seed
from indistinct.release import Release
from indistinct.search import Algorithm


def anonymize(
    table: Any,
    policy: Policy | str | os.PathLike[str],
    *,
    algorithm: Algorithm | str | None = None,
    allow_unsafe: bool = False,
    seed: Seed | None = None,
    watch: Watch | None = None,
    **reading: Any,
) -> Release:
    """Return a release of a table that satisfies a policy, recounted; raise if there is none.

    ``table`` is the path of a file in any of the formats of ``engine.formats``, or ``file.duckdb::table``, a pandas or
    Polars frame, an Arrow table, a DuckDB relation or a DataFrame of Spark; the release holds a table of the same kind.
    For a policy of several tables that belong together give each of them by its name; ``release.tables`` does so, too.
    ``policy`` is a policy or the path of its file. ``algorithm`` is an algorithm, its name, or None for the one that
    the policy names. With ``allow_unsafe`` a release that fails its recount, as µ-Argus's may, is given all the same;
    its verdict says what failed. ``reading`` goes to the engine: memory_limit, threads, delimiter, encoding.

    Random order and random choices come from the system's secure generator, so to release a table again gives a second,
    different release. With a ``seed``, a whole number or a text, the same table, policy and version give the same
    one. Keep it as secret as the table: who knows it and guesses the table can undo the shuffling.
    """
    watch, policy = watch or Watch(), load_policy(policy)
    chosen = choose_algorithm(algorithm, policy)
    refuse_without_ledger(policy)
    with open_tables(table, policy, **reading) as tables:  # the release holds its own rows
        with count(tables, policy, watch, algorithm=chosen, seed=seed) as counted:
            if counted.works_in_fragments(chosen):
                from indistinct.pipeline.in_fragments import recode_in_fragments

                release = recode_in_fragments(
                    counted, chosen, watch, made_with(chosen, watch, counted.task, counted.max_tuples)
                )
            else:
                release = recode(counted, search(counted, chosen, watch), chosen, watch)
        return recount(release, watch, allow_unsafe=allow_unsafe)
