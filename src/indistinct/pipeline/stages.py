"""anonymize() and the stages that every release goes through: count, search, recode, recount.

``anonymize`` goes from one to the next; so do fragments, ``compare``, µ-Argus's dialogue and the ledger, each with
something of its own in between. What a stage needs goes in, what it found comes out, and nothing is kept.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import indistinct
from indistinct.counting import FrequencyList, as_declared, encode_eligible, reporting_compilation
from indistinct.counting.joined_tables import TableCount
from indistinct.engine import ClassPlan, Encoded, LocalPlan, Plan, Rows, use_table
from indistinct.errors import InfeasibleError, PolicyError, VerificationError
from indistinct.linkage import count_encoded
from indistinct.pipeline.refusals import (
    refuse_cells,
    refuse_tables,
    refuse_unable,
    refuse_undrawn,
    refuse_without_ledger,
)
from indistinct.policy import PSEUDONYM, Person, Policy
from indistinct.policy.algorithms import declaration_of, options_said
from indistinct.policy.files.policy_file import load_policy
from indistinct.policy.stated_policy import policy_digest
from indistinct.progress import Watch
from indistinct.proof.checks import Check
from indistinct.proof.people_recount import count_people, released_people_check
from indistinct.randomness import SECURE, Draws, Seed
from indistinct.recoding import LinkedRecoding, Recoding
from indistinct.recoding.table_plans import table_plans, with_shifts
from indistinct.release import Release
from indistinct.release.manifest import MadeWith, StatedLimits, StatedSearch
from indistinct.release.perturbing import perturb
from indistinct.release.pseudonyms import PseudonymKey
from indistinct.search import Algorithm, Task, algorithm_named, algorithm_of, find_recoding, state_bound

if TYPE_CHECKING:
    from indistinct.disclosure_risk import OverallRisk


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
        return refuse_risk(recount(release, watch, allow_unsafe=allow_unsafe))


@dataclass(frozen=True, slots=True)
class Counted:
    """Tables that were counted for a policy: what a search is asked, and the rows that its answer can recode."""

    encoded: Mapping[str, Encoded]
    """The eligible rows of each table."""
    task: Task
    tables: Mapping[str, TableCount] = field(default_factory=dict)
    """The entries of each of several tables."""
    opened: ExitStack = field(default_factory=ExitStack)
    """What is closed with it."""

    @property
    def policy(self) -> Policy:
        """The policy that it was counted for."""
        return self.task.policy

    @property
    def only(self) -> Encoded:
        """The eligible rows of a single table."""
        (only,) = self.encoded.values()
        return only

    @property
    def max_tuples(self) -> int | None:
        """The most tuples that were to be counted; None where nobody said so, or several tables were counted."""
        return None if self.tables else self.only.max_tuples

    def works_in_fragments(self, algorithm: Algorithm) -> bool:
        """Return whether it was counted at a higher node, for an algorithm that recodes parts of it by themselves."""
        is_merged = any(self.task.frequencies.lowest)
        return is_merged and _can_work_in_fragments(algorithm, self.only, self.policy)

    def recode_parts(
        self, recoding: Recoding, policy: Policy | None = None, extra: tuple[str, ...] = ()
    ) -> dict[str, Rows]:
        """Return the rows of each released table, still with what says whose they are, and with ``extra`` columns.

        ``policy`` is that of the release, if another one than it was counted for.
        """
        if self.tables:
            return recode_linked(self.encoded, self.tables, recoding, extra, self.task.draws)
        policy = policy or self.policy
        extra = (*extra, *policy.person_columns, *policy.pseudonymous)
        return recode_rows(self.only, recoding, policy, extra, self.task.draws)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.opened.close()


@contextmanager
def open_tables(given: Any, policy: Policy, **reading: Any) -> Iterator[dict[str, Rows]]:
    """Return the rows of each table that a policy describes, for the time of the block; several are given by name."""
    named = policy.form.by_name(given, policy.parts)
    with ExitStack() as stack:
        yield {name: stack.enter_context(use_table(one, **reading)) for name, one in named.items()}


@contextmanager
def open_declared(given: Any, policy: Policy, **reading: Any) -> Iterator[dict[str, Rows]]:
    """Return the rows of each table with the cells that the policy declares, for the time of the block."""
    with open_tables(given, policy, **reading) as opened, ExitStack() as stack:
        policy.check_tables({name: rows.columns() for name, rows in opened.items()})
        parts = policy.parts.items()
        yield {name: stack.enter_context(as_declared(opened[name], part.policy)) for name, part in parts}


def choose_algorithm(algorithm: Algorithm | str | None, policy: Policy) -> Algorithm:
    """Return the algorithm that was asked for, by itself or by its name, or else the policy's."""
    if algorithm is None:
        return algorithm_of(policy)
    if not isinstance(algorithm, str):
        return algorithm
    return algorithm_of(policy) if algorithm == policy.algorithm else algorithm_named(algorithm)


def count(
    tables: Mapping[str, Rows],
    policy: Policy,
    watch: Watch,
    *,
    algorithm: Algorithm | None = None,
    secret: tuple[str, ...] = (),
    seed: Seed | None = None,
) -> Counted:
    """Check the policy against its tables, encode what is counted and count it: the only full scans before the release.

    A list that is too long is counted at a higher node, if the ``algorithm`` that it is for can work with that. No
    message names ``secret`` columns. Close it, or use it as a context manager, when its rows were recoded.
    """
    refuse_tables(tables, policy, seed)
    watch.report("count")
    with _reporting(watch), ExitStack() as opened:  # closed again if a table cannot be counted
        encoded = encode_tables(tables, policy, opened)
        may_merge = algorithm is not None and _may_merge(algorithm, encoded, policy)
        frequencies, of_tables = count_encoded(encoded, policy, may_merge=may_merge)
        task = replace(Task.of(frequencies, policy), secret=secret, draws=draws_of(seed, frequencies, policy))
        if not policy.is_drawn and task.number_of_people() < max(1, task.largest_k()):
            raise task.infeasible(task.budget)
        return Counted(encoded, task, of_tables, opened.pop_all())


def encode_tables(tables: Mapping[str, Rows], policy: Policy, opened: ExitStack) -> dict[str, Encoded]:
    """Return the eligible rows of each table with the cells that the policy declares, or raise with all mistakes."""
    read = {name: opened.enter_context(as_declared(tables[name], part.policy)) for name, part in policy.parts.items()}
    refuse_cells(read, policy)
    return {
        name: opened.enter_context(encode_eligible(read[name], part.policy, policy.counted_columns(name)))
        for name, part in policy.parts.items()
    }


def draws_of(seed: Seed | None, frequencies: FrequencyList, policy: Policy) -> Draws:
    """Return what a release is drawn from: with a seed, other numbers for each table, policy and version.

    Else two releases under one seed would give the same number to the classes that were made first. What columns are
    called in the release does not matter.
    """
    if seed is None:
        return SECURE
    purpose = (indistinct.__version__, policy_digest(policy, with_names=False), frequencies.digest())
    return Draws.of_seed(seed, " ".join(purpose).encode())


def search(counted: Counted, algorithm: Algorithm, watch: Watch) -> Recoding:
    """Have an algorithm find a recoding of what was counted; its time limit begins here."""
    refuse_unable(counted.policy, algorithm)
    watch.start()
    watch.report("search")
    with _reporting(watch):
        recoding = find_recoding(counted.task, algorithm, watch)
    refuse_nothing(recoding)
    return state_bound(counted.task, recoding, algorithm, watch) if recoding.takes_bound else recoding


def _reporting(watch: Watch) -> AbstractContextManager[None]:
    """Report to whoever waits if kernels must be compiled during the block, which happens once."""
    return reporting_compilation(lambda: watch.report("compile"))


def recode(counted: Counted, recoding: Recoding, algorithm: Algorithm, watch: Watch) -> Release:
    """Recode the rows that were counted, in fresh random order; ``algorithm`` is what found the way."""
    refuse_nothing(recoding)
    refuse_undrawn(counted.policy, algorithm)
    refuse_without_ledger(counted.policy)
    watch.report("release")
    policy = counted.policy
    person = policy.person if isinstance(policy.person, Person) else None
    key = PseudonymKey.fresh(person, draws=counted.task.draws) if policy.pseudonym_columns else None
    parts = counted.recode_parts(recoding)
    people = count_and_hide_people(parts, recoding, policy, key)
    salt = None if key is None else key.salt
    made = made_with(algorithm, watch, counted.task, counted.max_tuples, is_cut_short=recoding.is_cut_short)
    return Release(parts, recoding, policy, made, people, salt)


def made_with(
    algorithm: Algorithm, watch: Watch, task: Task, max_tuples: int | None = None, *, is_cut_short: bool = False
) -> MadeWith:
    """Return what decided on a release beside the policy: the algorithm, its options, the limits of the run.

    Also what the search was: blind, if it saw no sensitive value, and randomised, if chance decided on its answer.
    """
    time_limit = watch.time_limit
    if is_cut_short and time_limit is None:  # the search ended by itself where nobody limited it
        time_limit = watch.ends_after or getattr(algorithm, "ends_after", None)
    has_limits = max_tuples is not None or time_limit is not None
    return MadeWith(
        algorithm.name,
        options_said(algorithm),
        StatedSearch(blind=task.is_blind, randomised=declaration_of(algorithm).is_randomised),
        StatedLimits(max_tuples=max_tuples, time_limit=time_limit) if has_limits else None,
    )


def recount(release: Release, watch: Watch, *, allow_unsafe: bool = False) -> Release:
    """Recount what will leave the house; a release that fails is closed and refused, unless that is allowed."""
    watch.report("verify")
    verdict = release.verify()
    if not verdict.passed and not allow_unsafe:
        release.close()
        verdict.raise_if_failed()
    return release


def refuse_risk(release: Release) -> Release:
    """Return a release whose risk may be accepted; one above a threshold that its policy enforces is refused."""
    found = risk_if_enforced(release, release.policy)
    if found is not None and found.is_above:
        release.close()
        raise VerificationError(f"refused: {found.sentence}; {_remedy(found)}")
    return release


def risk_if_enforced(release: Any, policy: Policy | None) -> OverallRisk | None:
    """Return the risk of a release whose policy enforces a threshold; None where none does."""
    if policy is None or policy.context is None or not policy.context.is_enforced:
        return None
    from indistinct.disclosure_risk import overall_risk

    return overall_risk(release, policy)


def _remedy(found: OverallRisk) -> str:
    """Say which k would be enough, whatever the groups, and what else can be done."""
    limit = found.context.limit
    assert limit is not None  # only what has a threshold is above it
    wanted = [found.r_context / limit.value] if "threshold" in found.reasons else []
    wanted += [1 / (found.context.cutoff or 1)] if "highest" in found.reasons else []
    k = math.ceil(max(wanted) - 1e-9)
    return f"k = {k:,} is enough, or say in [context] what makes an attempt less likely, or accept more and say why"


def refuse_nothing(recoding: Recoding) -> None:
    """Raise if nothing would be released; but of rows that were drawn nothing at all may be left, by chance."""
    if recoding.released_rows == 0 and recoding.draws is None:
        raise InfeasibleError("every row would have to be suppressed; lower k or add levels to the hierarchies")


def _may_merge(algorithm: Algorithm, encoded: Mapping[str, Encoded], policy: Policy) -> bool:
    """Return whether an algorithm can work with tuples that were merged before they were counted."""
    if len(encoded) > 1 or any(model.asks_population for model in policy.privacy):
        return False  # whether people of a population fit a tuple is asked about its values
    (only,) = encoded.values()
    return declaration_of(algorithm).uses_start_node or _can_work_in_fragments(algorithm, only, policy)


def _can_work_in_fragments(algorithm: Algorithm, encoded: Encoded, policy: Policy) -> bool:
    """Return whether parts of a table may be recoded by themselves: no model may compare them with the whole table."""
    return (
        encoded.can_work_in_fragments
        and declaration_of(algorithm).works_in_fragments
        and policy.suppressed_rows == "remove"
        and not policy.person_columns
        and not policy.pseudonymous
        and not any(model.asks_whole_table or model.asks_population for model in policy.privacy)
    )


def recode_rows(
    encoded: Encoded, recoding: Recoding, policy: Policy, extra: tuple[str, ...] = (), draws: Draws = SECURE
) -> dict[str, Rows]:
    """Return the released tables of one by name; ``extra`` columns stay beside the quasi columns, as they are."""
    plan = replace(recoding.plan(policy, extra), draws=draws)
    if policy.shifted:
        plan = _with_moved_dates(plan, recoding, policy)
    if policy.perturbed and not isinstance(plan, Plan):
        raise PolicyError("microaggregate and noise: numbers are perturbed only where every column has one level")
    if isinstance(plan, ClassPlan):
        return encoded.divide(plan)
    if plan.blank:
        _refuse_unsafe_blanks(recoding, policy)
    rows = encoded.recode(plan)
    return {recoding.form.first: perturb(rows, policy, draws) if policy.perturbed else rows}


def recode_linked(
    encoded: Mapping[str, Encoded],
    tables: Mapping[str, TableCount],
    recoding: Recoding,
    extra: tuple[str, ...] = (),
    draws: Draws = SECURE,
) -> dict[str, Rows]:
    """Return the released rows of several tables, still with what says whose they are, and with ``extra`` columns."""
    plans: Mapping[str, Plan | LocalPlan]
    if recoding.known_events is not None:
        from indistinct.recoding.histories import HistoryRecoding, history_plans

        assert isinstance(recoding, HistoryRecoding)  # no other knows of events
        plans = history_plans(tables, recoding, extra, draws)
    else:
        assert isinstance(recoding, LinkedRecoding)  # every column has one level
        plans = table_plans(tables, recoding, extra, draws)
    with ExitStack() as stack:
        parts = {name: stack.enter_context(encoded[name].recode(plan)) for name, plan in plans.items()}
        stack.pop_all()
    return parts


def _with_moved_dates(plan: Plan | LocalPlan | ClassPlan, recoding: Recoding, policy: Policy) -> Plan:
    """Return the plan in which the dates of each person move by a number of days of her own."""
    entries = recoding.frequencies.entries
    if not isinstance(plan, Plan) or entries.persons is None:
        raise PolicyError("shift: dates move only where every column has one level and it is said whose rows they are")
    return with_shifts(plan, policy, entries.codes, entries.persons)


def count_and_hide_people(
    parts: dict[str, Rows], recoding: Recoding, policy: Policy, key: PseudonymKey | None
) -> list[Check]:
    """Count the people on rows that are to leave, and then take out what says whose they are, or give pseudonyms.

    People of several tables are counted by their pseudonyms, when those tables are verified.
    """
    checks: list[Check] = []
    for name, part in policy.parts.items():
        place = policy.form.released_as(name, recoding.form)
        for column in part.policy.pseudonymous:
            assert key is not None  # made where there are pseudonyms
            own = key.for_column(_name_of_key(policy, name, column), part.policy)
            parts[place] = parts[place].with_pseudonyms((column,), own, column)
        if not part.person:
            continue
        if part.policy.is_whole:
            checks += count_people(parts[place], policy, part.person)
            facts = recoding.people_facts(policy)
            if facts is not None and (policy.suppressed_rows == "remove" or not recoding.suppressed_rows):
                checks.append(released_people_check(parts[place], policy, facts))
        if policy.links_rows and key is not None:
            parts[place] = parts[place].with_pseudonyms(part.person, key.for_person(part.policy), PSEUDONYM)
        else:
            parts[place] = parts[place].without(part.person)
    return checks


def _name_of_key(policy: Policy, table: str, column: str) -> str:
    """Return under which name an identifier gets its pseudonyms: a reference has those of the key it refers to."""
    part = policy.parts[table]
    if part.policy.is_whole:
        return column
    if column == part.reference and part.parent is not None:
        return f"{part.parent}.{policy.parts[part.parent].key}"
    return f"{table}.{column}"


def _refuse_unsafe_blanks(recoding: Recoding, policy: Policy) -> None:
    """Raise if suppressed rows, released with a blank quasi-identifier, would themselves be too small a group."""
    if recoding.looks_suppressed():
        raise InfeasibleError(
            "suppressed_rows = 'blank' is not possible here: some rows have no quasi cell at all and could not be told "
            "from suppressed ones; use suppressed_rows = 'remove', or leave those rows out with a filter"
        )
    if not recoding.suppressed_rows:
        return
    blanks = recoding.suppressed_as_one()
    for _, _, model in policy.requirements():
        if model.asks_whole_table:
            raise InfeasibleError(
                f"suppressed_rows = 'blank' is not possible with {model.name}, which compares groups with the whole "
                "table: blank rows would count there; use suppressed_rows = 'remove'"
            )
        if not model.holds(blanks).all():
            raise InfeasibleError(
                f"suppressed_rows = 'blank' is not safe here: {recoding.suppressed_rows} blank rows fail "
                f"{model.name}; use suppressed_rows = 'remove', or algorithm = 'datafly', which suppresses at least k"
            )
