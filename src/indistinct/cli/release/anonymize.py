"""``indistinct anonymize``: makes a release, recounts it and writes it, or writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from indistinct.cli import show
from indistinct.cli.options import (
    AsJson,
    EnteringOptions,
    MaxTuples,
    PolicyPath,
    RandomRaise,
    ReadingAnywhere,
    TimeLimit,
    WritingOptions,
    option,
    without_none,
)
from indistinct.cli.paths import Tables, on_terms_of, tables_given
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted, list_names

if TYPE_CHECKING:
    from indistinct.attacks import UniquenessReport
    from indistinct.policy import Policy
    from indistinct.progress import Watch
    from indistinct.release import Release
    from indistinct.release.manifest import Facts
    from indistinct.search import Algorithm

MANY_QUASI, MUCH, NEARLY_LOST, MOST_NAMED = 8, 0.4, 0.8, 5
"""Quasi columns, and the share of their levels that they climbed on average, from which on a warning names those that
climbed nearly all of theirs; the share that is nearly all; and the most columns that are named."""
OPTIONS_OF_SOME = (
    ("measure", "optimizes no measure of your choice", "lattice"),
    ("random_raise", "raises no labels by chance", "regroup"),
)
"""An option, what an algorithm without it does not do, and an algorithm that has it."""
SEED_WARNING = "warning: the seed belongs to the secret: who knows it and guesses the table can undo the shuffling"


@dataclass(frozen=True, slots=True)
class ReleaseOptions(WritingOptions):
    """How a release is written, and what is put beside its tables."""

    with_verifier: Annotated[
        bool, option("Add verify.py: a recipient recounts the release with Python alone.", "--with-verifier")
    ] = False
    sign: Annotated[
        Path | None,
        option(
            "Sign it with this private key, made by 'keys new'; recipients verify --key.",
            metavar="KEY",
            show_default=False,
        ),
    ] = None
    with_metadata: Annotated[
        bool, option("Add croissant.json and ro-crate-metadata.json, for catalogues of data.", "--with-metadata")
    ] = False
    spreadsheet_safe: Annotated[
        bool, option("Write CSV as a workbook, in which no text is run as a formula.", "--spreadsheet-safe")
    ] = False

    def write(self, release: Release, folder: Path, key: Any) -> None:
        """Write a release as it was asked for."""
        release.write(
            folder,
            replace=self.replace,
            allow_unsafe=self.allow_unsafe,
            verifier=self.with_verifier,
            metadata=self.with_metadata,
            spreadsheet_safe=self.spreadsheet_safe,
            sign=key,
        )

    def key(self) -> Any:
        """Return the key to sign with, which is read before a long search."""
        from indistinct.release.signature import private_key

        return None if self.sign is None else private_key(self.sign)


def anonymize(
    policy_path: PolicyPath,
    tables: Tables,
    output: Annotated[
        str,
        option(
            "The folder of the release; or a table of the server where the rows are, by its address.",
            "--output",
            "-o",
            metavar="FOLDER",
        ),
    ],
    algorithm: Annotated[
        str | None, option("Such as lattice, samarati, datafly or regroup, instead of the one that the policy names.")
    ] = None,
    measure: Annotated[
        str | None, option("What lattice and regroup optimize, such as precision, loss or discernibility.")
    ] = None,
    random_raise: RandomRaise = None,
    *,
    writing: ReleaseOptions,
    entering: EnteringOptions,
    reading: ReadingAnywhere,
    max_tuples: MaxTuples = None,
    time_limit: TimeLimit = None,
    seed: Annotated[
        str | None,
        option(
            "For runs that must repeat: the same rows in the same order. As secret as the table.",
            metavar="SECRET",
            envvar="INDISTINCT_SEED",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a release that satisfies the policy, recount it, and write it as a folder, or as a table of its database.

    It appears whole and verified, or not at all. With a ledger it is first checked against what was released
    before; exit code 5 says that it would undo an earlier release.
    """
    from indistinct import pipeline
    from indistinct.engine import is_address
    from indistinct.errors import PolicyError
    from indistinct.pipeline.stages import open_tables
    from indistinct.policy.files.policy_file import read_policy
    from indistinct.release.manifest import refuse_occupied

    is_folder = not is_address(output)
    if is_folder:
        refuse_occupied(Path(output), writing.replace)
    read = read_policy(policy_path)
    policy = on_terms_of(read, entering.recipient)
    given = tables_given(policy, tables)
    mistakes = [*entering.mistakes(is_named=bool(read.recipients)), *_mistakes_together(writing, entering, seed)]
    mistakes += [] if is_folder else _mistakes_on_server(writing, entering)
    if policy.tables:
        mistakes += _mistakes_for_several(reading, max_tuples)
    if mistakes:
        raise PolicyError(mistakes)
    chosen = _algorithm_asked_for(policy, algorithm, {"measure": measure, "random_raise": random_raise})
    key = writing.key()
    if seed is not None:
        show.say(SEED_WARNING, "yellow")
    limits = without_none(max_tuples=max_tuples)
    with show.progress(time_limit) as watch, open_tables(given, policy, **reading.arguments(), **limits) as opened:
        rows = policy.form.as_given(opened)
        if entering.ledger is not None:
            engine = reading.engine_arguments()
            release = enter(rows, policy, chosen, Path(output), watch, writing=writing, entering=entering, **engine)
        else:
            with pipeline.anonymize(
                rows, policy, algorithm=chosen, allow_unsafe=writing.allow_unsafe, seed=seed, watch=watch
            ) as release:
                watch.report("write")
                if is_folder:
                    writing.write(release, Path(output), key)
                else:
                    release.publish(output, replace=writing.replace)
        notes = [note for one in opened.values() for note in one.notes]
    for note in notes:
        show.say(f"note: {note}", show.QUIET)
    if as_json:
        show.document(release_facts(release, output) | {"uniqueness": _alone(output, policy, reading).to_dict()})
        return
    summarize(release, output)
    if not show.is_quiet():
        show.finding(_alone(output, policy, reading))
        _note_formulas(output, policy, reading)
    if release.entry is None and seed is None:
        show.say("not in a ledger: the same command makes a second, different release of the same people", show.QUIET)
    where = [] if reading.engine is None else ["--engine", reading.engine]
    where += [] if reading.master is None else ["--master", reading.master]
    where += reading.as_typed()
    originals = [part for table in tables for part in ("--original", table)]
    whose = ["--recipient", entering.recipient] if read.recipients and entering.recipient else []
    show.next_steps(["verify", policy_path, output, *whose, *originals, *where])


def enter(
    table: Any,
    policy: Policy,
    algorithm: Algorithm | str | None,
    folder: Path,
    watch: Watch,
    *,
    writing: ReleaseOptions,
    entering: EnteringOptions,
    refuse: Callable[[Release], None] | None = None,
    **reading: Any,
) -> Release:
    """Make a release that is checked against a ledger, write it and enter it there."""
    from indistinct.ledger import Ledger
    from indistinct.release.catalogue_records import write_metadata

    assert entering.ledger is not None  # asked before
    made = {"algorithm": algorithm, "folder": folder, "replace": writing.replace, "sign": writing.sign}
    told = {**made, "refuse": refuse, "watch": watch, **entering.arguments(), **reading}
    with Ledger(entering.ledger) as ledger, ledger.anonymize(table, policy, **told) as release:
        watch.report("write")
    if writing.with_metadata:  # which the ledger need not keep: it follows from the manifest
        write_metadata(folder)
    return release


def _alone(folder: str, policy: Policy, reading: ReadingAnywhere) -> UniquenessReport:
    """Count who stands alone in a release that was written."""
    from indistinct import attacks

    return attacks.uniqueness(folder, policy, **({} if reading.engine else reading.arguments()))


def _note_formulas(folder: str, policy: Policy, reading: ReadingAnywhere) -> None:
    """Say how many cells of released text files a spreadsheet would take for formulas, if any."""
    from indistinct.release.released_tables import ReleasedTables

    found = 0
    with ReleasedTables.of(folder, policy, **({} if reading.engine else reading.arguments())).rows() as tables:
        for rows in tables.values():
            found += rows.formula_cells(rows.columns()) if rows.kind == "csv" else 0
    if found:
        show.say(
            f"{counted(found, 'text cell begins', 'text cells begin')} with = + - @, a tab or a return: they leave as "
            "they are, and a spreadsheet that opens the file may run them as formulas; import such columns as text, or "
            "release them with --spreadsheet-safe",
            "yellow",
        )


def _mistakes_together(writing: ReleaseOptions, entering: EnteringOptions, seed: str | None) -> list[str]:
    """Return which options exclude each other."""
    has_ledger = entering.ledger is not None
    excluded = {
        "--allow-unsafe: only a release that verifies is signed; leave out --sign or --allow-unsafe": (
            writing.allow_unsafe and writing.sign is not None
        ),
        "--allow-unsafe: a ledger takes verified releases only; leave one of the two out": (
            writing.allow_unsafe and has_ledger
        ),
        "--with-verifier: a ledger keeps no programs; copy verify.py from a release without a ledger": (
            writing.with_verifier and has_ledger
        ),
        "--spreadsheet-safe: a ledger enters a release in the format that came in; give it an Excel file instead": (
            writing.spreadsheet_safe and has_ledger
        ),
        "--seed: a ledger keeps each release, so none has to be made again; leave out --seed or --ledger": (
            seed is not None and has_ledger
        ),
    }
    return [mistake for mistake, is_so in excluded.items() if is_so]


def _mistakes_on_server(writing: ReleaseOptions, entering: EnteringOptions) -> list[str]:
    """Return which options do not work for a release that becomes a table of a server."""
    given = {
        "--ledger": entering.ledger is not None,
        "--allow-unsafe": writing.allow_unsafe,
        "--with-verifier": writing.with_verifier,
        "--with-metadata": writing.with_metadata,
        "--spreadsheet-safe": writing.spreadsheet_safe,
        "--sign": writing.sign is not None,
    }
    said = [name for name, is_given in given.items() if is_given]
    return [f"{' and '.join(said)}: only for a release that is a folder; give -o a folder"] if said else []


def _mistakes_for_several(reading: ReadingAnywhere, max_tuples: int | None) -> list[str]:
    """Return which options do not work for several tables that belong together."""
    given = {"--max-tuples": max_tuples, "--engine": reading.engine}
    said = [name for name, value in given.items() if value not in (None, "duckdb")]
    return [f"{' and '.join(said)}: not offered for several tables that belong together; leave it out"] if said else []


def _algorithm_asked_for(
    policy: Policy, algorithm: str | None, options: Mapping[str, str | float | None]
) -> Algorithm | str | None:
    """Return the algorithm that was asked for; a measure and random_raise are options of some."""
    from indistinct.errors import PolicyError
    from indistinct.policy.algorithms import declared_class, options_of
    from indistinct.search import algorithm_named

    asked = {name: value for name, value in options.items() if value is not None}
    if not asked:
        return algorithm if algorithm in (None, policy.algorithm) else algorithm_named(str(algorithm))
    chosen = algorithm or policy.algorithm
    declared = declared_class(chosen)
    known = tuple(asked) if declared is None else options_of(declared)
    for name, does, instead in OPTIONS_OF_SOME:
        if name in asked and name not in known:
            raise PolicyError(f"--{name.replace('_', '-')}: {chosen} {does}; add --algorithm {instead}")
    own = policy.options if chosen == policy.algorithm else {}
    return algorithm_named(chosen, **{**own, **asked})


def release_facts(release: Release, written: str | Path) -> dict[str, object]:
    assert release.verdict is not None  # a release is verified before it is written
    return {
        "written": str(written),
        **({} if release.entry is None else {"entry": release.entry}),
        **({} if release.signed_by is None else {"signed_by": release.signed_by}),
        **release.facts.to_dict(),
        "verdict": release.verdict.to_dict(),
    }


def row_lines(facts: Facts) -> list[tuple[str, Any]]:
    """Return how many rows are released and left out; of rows that were drawn the latter is a secret."""
    drawn = facts.drawn
    if drawn is None:
        released = f"{facts.released:,} of {facts.eligible:,} eligible"
        return [("rows released", released), ("rows suppressed", facts.suppressed)]
    return [
        ("rows released", f"{facts.released:,}; how many were left out is a secret"),
        ("drawn", f"each with probability {drawn.sampled:g}, in groups of at least {drawn.k:,}"),
        ("spent", f"ε = {drawn.epsilon:g} ({drawn.epsilon_of_levels:g} on the levels), δ = {drawn.delta:g}"),
    ]


def people_lines(facts: Facts) -> list[tuple[str, str]]:
    """Return what a release says of its people, where those have several rows."""
    people = facts.people
    if people is None:
        return []
    lost = f"{people.lost_rows:,} lost a row or more, {people.lost_all_rows:,} of them all"
    lines = [
        ("people released", f"{people.released:,} of {people.eligible:,} eligible; {lost}"),
        ("people in a group", f"at least {people.smallest_group:,}"),
    ]
    if people.smallest_profile is not None:
        lines.append(("people with one profile", f"at least {people.smallest_profile:,}"))
    return lines


def table_lines(facts: Facts) -> list[tuple[str, str]]:
    """Return how many rows of each of several tables are released."""
    return [
        (f"rows of {name}", f"{table.released:,} of {table.eligible:,} eligible")
        for name, table in facts.tables.items()
        if table.released is not None and table.eligible is not None
    ]


def _much_lost(facts: Facts) -> str:
    """Say which of many quasi columns are nearly lost, and what would keep more; nothing if they are few, or kept."""
    lost = {name: level / facts.heights[name] for name, level in facts.levels.items() if facts.heights[name]}
    if len(lost) < MANY_QUASI or sum(lost.values()) < MUCH * len(lost):
        return ""
    worst = sorted((name for name in lost if lost[name] >= NEARLY_LOST), key=lambda name: -lost[name])
    named = f": nearly nothing is left of {list_names(worst[:MOST_NAMED])}" if worst else ""
    more = f" and {counted(len(worst) - MOST_NAMED, 'more column')}" if len(worst) > MOST_NAMED else ""
    return (
        f"{len(lost)} quasi columns are many to hide{named}{more}; make other what nobody can link by, and drop what "
        "is not needed: then more is left of the rest"
    )


def summarize(release: Release, written: str | Path) -> None:
    """Show what was released, what it cost and what the recount found."""
    assert release.verdict is not None  # a release is verified before it is written
    facts, form = release.facts, release.form
    console = show.out()
    console.print(show.levels(facts))
    console.print(show.measures(facts.measures))
    console.print(show.checks(release.verdict.checks))
    smallest = counted(facts.smallest_group, form.unit, form.units)
    lines = [
        ("algorithm", release.algorithm),
        *row_lines(facts),
        *table_lines(facts),
        (form.nouns, f"{facts.groups:,}, the smallest of {smallest}"),
        *([("known columns", release.verdict.known_in_words)] if release.verdict.known else []),
        *people_lines(facts),
        ("written to", written),
    ]
    console.print(show.facts(lines))
    for words, style in _remarks(release):
        show.say(words, style)
    if not release.verdict.passed:
        show.say(f"UNSAFE, and written to {written} because you allowed it; the manifest says so", show.BAD)
        return
    show.say(f"verified and written to {written}", show.GOOD)
    if release.signed_by is not None:
        show.say(f"signed by the key {release.signed_by}", show.GOOD)
    if release.entry is not None:
        show.say(f"entered in the ledger as entry {release.entry}: it undoes no earlier release", show.GOOD)
    if facts.not_protected is not None:
        show.say(f"not protected: {facts.not_protected}", "yellow")


def _remarks(release: Release) -> Iterator[tuple[str, str]]:
    """Return what is to be known of the search and of what is left, each with the style that it is printed in."""
    facts = release.facts
    if facts.start_node is not None:
        raised = ", ".join(f"{name} at level {level}" for name, level in facts.start_node.items() if level)
        yield (
            f"there were too many tuples to count them all: the search began with {raised}, and proves nothing of "
            "nodes below that",
            "yellow",
        )
    if facts.drawn is not None and not facts.released:
        yield (
            "of the rows that were drawn no group is large enough, so the release is empty; it is a release all the "
            "same, and has spent its epsilon and delta: another draw spends its own beside them "
            "(docs/differential-privacy.md)",
            "yellow",
        )
    if facts.is_proven is False:
        lower = "" if facts.gap is None else f": a release may have a loss lower by up to {figure(facts.gap)}"
        yield f"not proven to be the best{lower}", "yellow"
    for measure, bound in (facts.bound or {}).items() if facts.is_proven is None else ():
        yield (
            f"{measure}: no release in such groups and labels gets below {figure(bound)}, so this one could be lower "
            f"by at most {figure(facts.gap or 0.0)}",
            show.QUIET,
        )
    if lost := _much_lost(facts):
        yield lost, "yellow"
    if release.recoding.is_cut_short:
        limit = None if facts.limits is None else facts.limits.time_limit
        after = "by the time limit" if limit is None else f"after {limit:g} s"
        yield f"cut short {after}: with more time (--time-limit) the algorithm gives another release", "yellow"
