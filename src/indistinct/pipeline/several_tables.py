"""The path of several tables that belong together: the same stages as for one, with one search for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from indistinct.counting import encode_eligible
from indistinct.counting.declared_cells import as_declared
from indistinct.counting.joined_tables import JoinedCount, count_tables
from indistinct.engine import Encoded, Rows, use_table
from indistinct.errors import IndistinctError, PolicyError, TableError
from indistinct.pipeline.refusals import refused_cells
from indistinct.pipeline.stages import choose_algorithm, draws_of, made_with, recount, search_task
from indistinct.policy import Person, Policy
from indistinct.policy.algorithms import declaration_of
from indistinct.progress import Watch
from indistinct.proof.tables_verdict import refuse_other_engines
from indistinct.randomness import Seed
from indistinct.recoding import LinkedRecoding
from indistinct.release.pseudonyms import read_key, refuse_unrepeatable
from indistinct.release.tables_release import TablesRelease, recode_tables
from indistinct.search import Algorithm, Task
from indistinct.search.algorithm import algorithm_of, refusal


@dataclass(frozen=True, slots=True, eq=False)
class CountedTables:
    """Several tables that were counted for a policy: what a search is asked, and the rows its answer can recode."""

    encoded: Mapping[str, Encoded]
    joined: JoinedCount
    task: Task
    rows: int
    """The rows of all tables, eligible or not."""


def anonymize_tables(
    tables: Any,
    policy: Policy,
    *,
    algorithm: Algorithm | str | None = None,
    allow_unsafe: bool = False,
    seed: Seed | None = None,
    watch: Watch | None = None,
    **reading: Any,
) -> TablesRelease:
    """Return a release of several tables that satisfies a policy, recounted; raise if there is none."""
    watch = watch or Watch()
    joint = policy
    chosen = choose_algorithm(algorithm, joint)
    refuse_algorithm(chosen)
    if seed is not None:
        refuse_unrepeatable(policy.person)
    with _count_given(tables, policy, watch, reading) as counted:
        task = counted.task
        draws = draws_of(seed, task.frequencies, policy)
        if task.number_of_people() < max(1, task.largest_k()):
            raise task.infeasible(task.budget)
        recoding = search_task(task, chosen, watch)
        assert isinstance(recoding, LinkedRecoding)  # every column has one level
        watch.report("release")
        parts, salt = recode_tables(counted.encoded, counted.joined, recoding, policy, draws)
        release = TablesRelease(parts, counted.joined, recoding, (policy, made_with(chosen, watch, task)), salt)
    recount(release, watch, allow_unsafe=allow_unsafe)
    return release


def check_tables(
    tables: Any, policy: Policy, watch: Watch, reading: Mapping[str, Any]
) -> tuple[Task | None, int, IndistinctError | None]:
    """Return what was counted, all rows, and what anonymize would raise, if anything."""
    try:
        refuse_algorithm(algorithm_of(policy))
        with _count_given(tables, policy, watch, reading) as counted:
            watch.report("search")
            return counted.task, counted.rows, refusal(counted.task, watch)
    except PolicyError as error:
        return None, 0, error


def refuse_algorithm(algorithm: Algorithm) -> None:
    """Raise if an algorithm cannot look at all rows of a person in several tables."""
    declared = declaration_of(algorithm)
    if not declared.links_rows or declared.kind != "full-domain":
        raise PolicyError(
            f"tables: the algorithm {algorithm.name!r} does not look at all rows of a person in several tables; choose "
            "lattice, samarati, mingen or datafly"
        )


@contextmanager
def _count_given(tables: Any, policy: Policy, watch: Watch, reading: Mapping[str, Any]) -> Iterator[CountedTables]:
    """Count tables for the time of the block, or raise one error with every way in which they do not fit."""
    if not isinstance(tables, Mapping):
        raise TableError(f"the policy describes several tables; give each by its name: {', '.join(policy.parts)}")
    with ExitStack() as stack:
        rows: dict[str, Rows] = {
            name: stack.enter_context(use_table(source, **reading)) for name, source in tables.items()
        }
        refuse_other_engines(rows)
        policy.check_tables({name: opened.columns() for name, opened in rows.items()})
        assert isinstance(policy.person, Person)  # set when the policy was made
        read_key(policy.person)  # a key that is no good is said before the work
        watch.report("count")
        read = {name: stack.enter_context(as_declared(rows[name], part.policy)) for name, part in policy.parts.items()}
        mistakes = [
            f"tables.{name}: {mistake}"
            for name, part in policy.parts.items()
            for mistake in refused_cells(read[name], part.policy)
        ]
        if mistakes:
            raise PolicyError(mistakes)
        encoded = {
            name: stack.enter_context(encode_eligible(read[name], part.policy, (*part.policy.quasi, *part.identity)))
            for name, part in policy.parts.items()
        }
        joined = count_tables(encoded, policy)
        task = Task.of(joined.frequencies, policy)
        yield CountedTables(encoded, joined, task, sum(opened.count() for opened in rows.values()))
