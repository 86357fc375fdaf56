"""``indistinct anonymize``: makes a release, recounts it and writes it, or writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli import show
from indistinct.cli.options import (
    LEDGER_HELP,
    AsJson,
    MaxTuples,
    PolicyPath,
    Purpose,
    RandomRaise,
    ReadingAnywhere,
    Recipient,
    Review,
    TermsOptions,
    TimeLimit,
)
from indistinct.cli.paths import Tables, tables_given
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted, list_names

PLURALS = {"row": "rows", "person": "people"}

if TYPE_CHECKING:
    from indistinct.policy import Policy
    from indistinct.release import Release
    from indistinct.release.manifest import Facts
    from indistinct.search import Algorithm

MANY_QUASI, MUCH, NEARLY_LOST, MOST_NAMED = 8, 0.4, 0.8, 5
"""From so many quasi columns on, generalized by so large a share of their levels on average, it is said which of them
have climbed nearly all of theirs; no more than some are named."""


def anonymize(
    policy_path: PolicyPath,
    tables: Tables,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder of the release.")],
    algorithm: Annotated[
        str | None,
        typer.Option(help="Such as lattice, samarati, datafly or regroup, instead of the one that the policy names."),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(help="What lattice and regroup optimize, such as precision, loss or discernibility."),
    ] = None,
    random_raise: RandomRaise = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the release that the folder holds.")] = False,
    allow_unsafe: Annotated[
        bool, typer.Option("--allow-unsafe", help="Write a release that fails its recount; its manifest says so.")
    ] = False,
    with_verifier: Annotated[
        bool,
        typer.Option("--with-verifier", help="Add verify.py: a recipient recounts the release with Python alone."),
    ] = False,
    sign: Annotated[
        Path | None,
        typer.Option(
            metavar="KEY",
            help="Sign it with this private key, made by 'keys new'; recipients verify --key.",
            show_default=False,
        ),
    ] = None,
    with_metadata: Annotated[
        bool,
        typer.Option("--with-metadata", help="Add croissant.json and ro-crate-metadata.json, for catalogues of data."),
    ] = False,
    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger", "-l", metavar="URL", envvar="INDISTINCT_LEDGER", help=f"Check and enter it. {LEDGER_HELP}"
        ),
    ] = None,
    recipient: Recipient = None,
    purpose: Purpose = "",
    review: Review = None,
    *,
    terms: TermsOptions,
    reading: ReadingAnywhere,
    max_tuples: MaxTuples = None,
    time_limit: TimeLimit = None,
    seed: Annotated[
        str | None,
        typer.Option(
            metavar="SECRET",
            envvar="INDISTINCT_SEED",
            help="For runs that must repeat: the same rows in the same order. As secret as the table.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a release that satisfies the policy, recount it, and write it as a folder.

    The folder appears whole and verified, or not at all. With a ledger it is first checked against what was released
    before; exit code 5 says that it would undo an earlier release.
    """
    from indistinct import pipeline
    from indistinct.engine import open_table
    from indistinct.policy.files.policy_file import read_policy
    from indistinct.release.catalogue_records import write_metadata
    from indistinct.release.folder import refuse_occupied

    refuse_occupied(output, replace)
    policy = read_policy(policy_path)
    given = tables_given(policy, tables)
    key = None if sign is None else _signing_key(sign, allow_unsafe)
    chosen = _algorithm_asked_for(policy, algorithm, {"measure": measure, "random_raise": random_raise})
    if seed is not None:
        _warn_of_seed(ledger)
    if policy.tables:
        _refuse_for_several({"--ledger": ledger, "--max-tuples": max_tuples, "--engine": reading.engine})
    with ExitStack() as stack:
        watch = stack.enter_context(show.progress(time_limit))
        rows: Any = given
        if not policy.tables:
            rows = stack.enter_context(open_table(given, max_tuples=max_tuples, **reading.arguments()))
        if ledger is None or policy.tables:
            _refuse_ledger_options(
                {
                    "--recipient": recipient,
                    "--again": terms.again,
                    "--key": terms.key,
                    "--colluding": terms.colluding,
                    "--review": review,
                }
            )
            how = reading.arguments() if policy.tables else {}
            with pipeline.anonymize(
                rows, policy, algorithm=chosen, allow_unsafe=allow_unsafe, seed=seed, watch=watch, **how
            ) as release:
                watch.report("write")
                release.write(
                    output,
                    replace=replace,
                    allow_unsafe=allow_unsafe,
                    verifier=with_verifier,
                    metadata=with_metadata,
                    sign=key,
                )
        else:
            from indistinct.ledger import Ledger

            _refuse_with_ledger(with_verifier)
            with (
                Ledger(ledger) as entering,
                entering.anonymize(
                    rows,
                    policy,
                    recipient=_recipient_named(recipient, allow_unsafe),
                    purpose=purpose,
                    review=review,
                    algorithm=chosen,
                    folder=output,
                    replace=replace,
                    sign=key,
                    watch=watch,
                    **terms.arguments(),
                    **reading.engine_arguments(),
                ) as release,
            ):
                watch.report("write")
            if with_metadata:  # which the ledger need not keep: it follows from the manifest
                write_metadata(output)
    for note in rows.notes if not policy.tables else ():
        show.say(f"note: {note}", show.QUIET)
    if as_json:
        show.document(release_facts(release, output))
        return
    summarize(release, output)
    if release.entry is None and seed is None:
        show.say("not in a ledger: the same command makes a second, different release of the same people", show.QUIET)
    where = [] if reading.engine is None else ["--engine", reading.engine]
    where += [] if reading.master is None else ["--master", reading.master]
    originals = [part for table in tables for part in ("--original", table)]
    show.next_steps(["verify", policy_path, output, *originals, *where])


def _signing_key(path: Path, allow_unsafe: bool) -> Any:
    """Return the key to sign with, before a long search; raise if what is signed might be unsafe."""
    from indistinct.errors import PolicyError
    from indistinct.release.signature import private_key

    if allow_unsafe:
        raise PolicyError("--allow-unsafe: only a release that verifies is signed; leave out --sign or --allow-unsafe")
    return private_key(path)


def _refuse_with_ledger(with_verifier: bool) -> None:
    """Raise if a release that a ledger keeps is to carry a program: the ledger keeps tables and manifests alone."""
    from indistinct.errors import PolicyError

    if with_verifier:
        raise PolicyError("--with-verifier: a ledger keeps no programs; copy verify.py from a release without a ledger")


def _warn_of_seed(ledger: str | None) -> None:
    """Say what a seed is worth to others; raise if a ledger, which keeps what was released, is to enter the release."""
    from indistinct.errors import PolicyError

    if ledger is not None:
        raise PolicyError(
            "--seed: a ledger keeps each release, so none has to be made again; leave out --seed or --ledger"
        )
    show.say(
        "warning: the seed belongs to the secret: who knows it and guesses the table can undo the shuffling", "yellow"
    )


def _refuse_for_several(given: Mapping[str, object]) -> None:
    """Raise if something was said that several tables which belong together cannot heed."""
    from indistinct.errors import PolicyError

    if said := [name for name, value in given.items() if value not in (None, "duckdb")]:
        raise PolicyError(f"{' and '.join(said)}: not offered for several tables that belong together; leave it out")


def _refuse_ledger_options(given: Mapping[str, object]) -> None:
    """Raise if something was said that only a ledger can heed."""
    from indistinct.errors import PolicyError

    if said := [name for name, value in given.items() if value]:
        raise PolicyError(f"{' and '.join(said)}: only with a ledger; add --ledger")


def _recipient_named(recipient: str | None, allow_unsafe: bool) -> str:
    """Return the recipient of a release that is entered in a ledger."""
    from indistinct.errors import PolicyError

    if allow_unsafe:
        raise PolicyError("--allow-unsafe: a ledger takes verified releases only; leave one of the two out")
    if recipient is None:
        raise PolicyError("--recipient: say who gets the release, or 'public'; the ledger remembers it")
    return recipient


def _algorithm_asked_for(
    policy: Policy, algorithm: str | None, options: Mapping[str, str | float | None]
) -> Algorithm | str | None:
    """Return the algorithm that was asked for; a measure and random_raise are options of some."""
    from indistinct.errors import PolicyError
    from indistinct.policy.algorithms import declared_class, options_of
    from indistinct.search import algorithm_named

    asked = {option: value for option, value in options.items() if value is not None}
    if not asked:
        return algorithm if algorithm in (None, policy.algorithm) else algorithm_named(str(algorithm))
    name = algorithm or policy.algorithm
    declared = declared_class(name)
    known = tuple(asked) if declared is None else options_of(declared)
    if "measure" in asked and "measure" not in known:
        raise PolicyError(f"--measure: {name} optimizes no measure of your choice; add --algorithm lattice")
    if "random_raise" in asked and "random_raise" not in known:
        raise PolicyError(f"--random-raise: {name} raises no labels by chance; add --algorithm regroup")
    own = policy.options if name == policy.algorithm else {}
    return algorithm_named(name, **{**own, **asked})


def release_facts(release: Release, written: Path) -> dict[str, object]:
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


def summarize(release: Release, written: Path) -> None:
    """Show what was released, what it cost and what the recount found."""
    assert release.verdict is not None  # a release is verified before it is written
    facts = release.facts
    noun, unit = release.form.nouns, release.form.unit
    console = show.out()
    console.print(show.levels(facts))
    console.print(show.measures(facts.measures))
    console.print(show.verdict(release.verdict))
    console.print(
        show.facts(
            [
                ("algorithm", release.algorithm),
                *row_lines(facts),
                *table_lines(facts),
                (noun, f"{facts.groups:,}, the smallest of {counted(facts.smallest_group, unit, PLURALS[unit])}"),
                *([("known columns", release.verdict.known_in_words)] if release.verdict.known else []),
                *people_lines(facts),
                ("written to", written),
            ]
        )
    )
    if facts.start_node is not None:
        raised = ", ".join(f"{name} at level {level}" for name, level in facts.start_node.items() if level)
        show.say(
            f"there were too many tuples to count them all: the search began with {raised}, and proves nothing of "
            "nodes below that",
            "yellow",
        )
    if facts.drawn is not None and not facts.released:
        show.say(
            "of the rows that were drawn no group is large enough, so the release is empty; it is a release all the "
            "same, and has spent its epsilon and delta: another draw spends its own beside them "
            "(docs/differential-privacy.md)",
            "yellow",
        )
    if facts.is_proven is False:
        lower = "" if facts.gap is None else f": a release may have a loss lower by up to {figure(facts.gap)}"
        show.say(f"not proven to be the best{lower}", "yellow")
    for measure, bound in (facts.bound or {}).items() if facts.is_proven is None else ():
        show.say(
            f"{measure}: no release in such groups and labels gets below {figure(bound)}, so this one could be lower "
            f"by at most {figure(facts.gap or 0.0)}",
            show.QUIET,
        )
    if lost := _much_lost(facts):
        show.say(lost, "yellow")
    if release.recoding.is_cut_short:
        show.say("cut short by the time limit: with more time the algorithm gives another release", "yellow")
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
