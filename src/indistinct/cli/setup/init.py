"""``indistinct init``: a first policy for a table, with the reason for every guess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.atomic_files import write_whole
from indistinct.cli import show
from indistinct.cli.options import AsJson, RandomRaise, Reading, argument, option
from indistinct.cli.paths import named_tables, only_table
from indistinct.cli.setup.init_ready import init_fhir, init_omop
from indistinct.errors import OutputError, PolicyError

if TYPE_CHECKING:
    from indistinct.policy import Policy
    from indistinct.profiling import Profile

MOST_OFFERED = 8
"""For no more sensitive columns without a model one is offered."""


def init(
    tables: Annotated[
        list[str] | None, argument("TABLE...", "The private table, or each of several as NAME=TABLE.")
    ] = None,
    k: Annotated[int, option("Hide each person among this number of rows.", "-k", "--k", min=1)] = 5,
    known: Annotated[
        int | None, option("Protect from whoever knows at most this number of quasi columns, not all.", min=1)
    ] = None,
    random_raise: RandomRaise = None,
    diverse: Annotated[
        bool | None,
        option(
            "Ask for two values of every sensitive column in each group, or of none; else where it costs little.",
            "--diverse/--no-diverse",
        ),
    ] = None,
    max_suppression: Annotated[
        str, option("Rows that may be suppressed: a share such as 0.02, or a number such as 3.")
    ] = "0.02",
    output: Annotated[
        Path | None, option("Write the policy here, not to stdout.", "--output", "-o", metavar="FILE")
    ] = None,
    labels: Annotated[
        str | None, option("hierarchy, or ranges: ranges and sets lose less, and name values that occur.")
    ] = None,
    ask: Annotated[bool, option("Ask the five questions that matter most, each with what it costs.", "--ask")] = False,
    omop: Annotated[
        Path | None, option("Instead of TABLE: a folder with tables of the OMOP CDM, CSV or Parquet.", metavar="DIR")
    ] = None,
    fhir: Annotated[
        Path | None, option("Instead of TABLE: a folder with a bulk export of FHIR, NDJSON.", metavar="DIR")
    ] = None,
    into: Annotated[Path | None, option("With --fhir: a new folder for its flat tables.", metavar="FOLDER")] = None,
    every: Annotated[bool, option("Show every column, not only those in doubt.", "--all")] = False,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Guess a policy for a table: the role and the hierarchy of each column, and why.

    Read every line before you rely on it: a guess cannot know what others know about your people. Of tables that belong
    together give each as NAME=TABLE: their keys are found. For tables of OMOP and FHIR nothing is guessed.
    """
    if omop is not None or fhir is not None:
        if tables or (omop is not None and fhir is not None):
            raise PolicyError("TABLE: --omop or --fhir names the folder of all tables; leave all else out")
        if omop is not None:
            init_omop(omop, k, output, reading, as_json=as_json)
        elif fhir is not None:
            init_fhir(fhir, into, k, output, reading, as_json=as_json)
        return
    if not tables:
        raise PolicyError("TABLE: name a table, several as NAME=TABLE, or a folder with --omop or --fhir")
    linked = named_tables(tables)
    if linked:
        _init_linked(linked, k, output, reading, as_json=as_json)
        return
    table = only_table(tables)
    from indistinct.pipeline.suggesting import reasons, suggestion
    from indistinct.policy.files.policy_file import policy_toml
    from indistinct.profiling import SaidRoles, comments, profile
    from indistinct.progress import Watch

    limit = _suppression(max_suppression)
    if labels not in (None, "hierarchy", "ranges") or (labels == "ranges" and (known or random_raise)):
        raise PolicyError("--labels: say hierarchy or ranges; ranges go neither with --known nor with --random-raise")
    if output is not None and output.exists():
        raise OutputError(f"{output} exists already; name another file, or remove it")
    with show.progress() as watch:
        found = profile(table, k, watch=watch, **reading.arguments())
    answers = None
    if ask:
        from indistinct.cli.setup.init_questions import ask as ask_all

        answers = ask_all(found, k, Watch())
        k = answers.k
    with show.progress() as watch:
        if answers is not None:
            said = SaidRoles(answers.person, answers.known, answers.secret)
            found = profile(table, k, said=said, watch=watch, **reading.arguments())
        kept = answers.kept if answers is not None else ()
        is_diverse = diverse if known is None else False
        has_ranges = labels == "ranges" or (labels is None and answers is not None and answers.has_ranges)
        suggested = suggestion(found, k, limit, diverse=is_diverse, kept=kept, has_ranges=has_ranges, watch=watch)
    policy, found = suggested.policy, suggested.profile
    if random_raise is not None:
        policy = _with_random_raise(policy, random_raise, known)
    why = reasons(found, policy, suggested.weighed)
    if known is not None:
        if diverse:
            raise PolicyError(
                "--diverse: where few columns are known groups are not asked for values; leave out one of them"
            )
        policy = _with_known(policy, k, known)
        why = [
            f"{policy.algorithm}, because groups by all columns may be small, and others would make them of {k} rows",
            f"known = {known}: any {known} quasi columns are shared by {k}; who knows more may find people alone",
        ]
    why = [*(answers.said if answers is not None else ()), *why]
    text = _head(table, why) + policy_toml(policy, comments(found)) + ("" if known else _offered_models(policy, found))
    if output is not None:
        write_whole(output, text)
    if as_json:
        written = None if output is None else str(output)
        show.document(found.to_dict() | {"reasons": why, "policy": text, "written": written})
        return
    if output is None:
        typer.echo(text, nl=False)
    from indistinct.cli.setup.init_questions import summarize

    summarize(found, is_whole=every)
    for reason in why:
        show.say(reason)
    name = output or "policy.toml"
    if output is None:
        show.say("save it as policy.toml and mend what is wrong; then:", show.QUIET)
    how = reading.as_typed()
    show.next_steps(["check", name, table, *how], ["anonymize", name, table, "-o", "release", *how])


def _init_linked(tables: dict[str, str], k: int, output: Path | None, reading: Reading, *, as_json: bool) -> None:
    """Write a first policy for tables that belong together."""
    from indistinct.pipeline.suggesting import linked_suggestion
    from indistinct.policy.files.policy_file import policy_toml

    if output is not None and output.exists():
        raise OutputError(f"{output} exists already; name another file, or remove it")
    with show.progress() as watch:
        made = linked_suggestion(tables, k, watch=watch, **reading.arguments())
    text = _head(", ".join(tables), made.reasons) + policy_toml(made.policy, made.comments())
    if output is not None:
        write_whole(output, text)
    if as_json:
        written = None if output is None else str(output)
        found = {name: one.to_dict() for name, one in made.profiles.items()}
        show.document({"tables": found, "reasons": list(made.reasons), "policy": text, "written": written})
        return
    if output is None:
        typer.echo(text, nl=False)
    for reason in made.reasons:
        show.say(reason)
    given = [*(f"{name}={path}" for name, path in tables.items()), *reading.as_typed()]
    name = output or "policy.toml"
    show.next_steps(["check", name, *given], ["anonymize", name, *given, "-o", "release"])


def _with_known(policy: Policy, k: int, known: int) -> Policy:
    """Return the policy against whoever knows few columns: by the lattice, and without models of groups by all columns.

    Such groups may be small, and local algorithms would make them of k rows all the same.
    """
    from indistinct.privacy import KAnonymity
    from indistinct.registry import DEFAULT_ALGORITHM

    return replace(policy, privacy=[KAnonymity(k, known=known)], algorithm=DEFAULT_ALGORITHM, options={})


def _with_random_raise(policy: Policy, random_raise: float, known: int | None) -> Policy:
    """Return the policy by which chance raises this share of the labels; none if it is 0."""
    others = {name: said for name, said in policy.options.items() if name != "random_raise"}
    if not random_raise:
        return replace(policy, options=others)
    if known is not None:
        raise PolicyError(
            "--random-raise: where few columns are known labels promise nothing; leave out --random-raise or --known"
        )
    if policy.algorithm != "regroup":
        raise PolicyError(f"--random-raise: {policy.algorithm} raises no labels by chance; leave it out")
    return replace(policy, options=others | {"random_raise": random_raise})


def _suppression(text: str) -> int | float:
    """Read a suppression limit: a number of rows if it is written without a decimal point, else a share."""
    from indistinct.policy import suppression_mistakes

    limit: int | float | str
    try:
        limit = int(text)
    except ValueError:
        try:
            limit = float(text)
        except ValueError:
            limit = text
    mistakes = suppression_mistakes(limit)
    if mistakes or isinstance(limit, str):
        raise PolicyError([f"--{mistake.replace('_', '-')}" for mistake in mistakes])
    return limit


def _head(table: str, reasons: Sequence[str]) -> str:
    said = "".join(f"# {' '.join(reason.split())}\n" for reason in reasons)
    return (
        f"# A first policy for {Path(table).name}: guesses to be read, not to be trusted.\n"
        "# identifier: never released. quasi: others may know it and link by it, so it is generalized.\n"
        f"# sensitive: nobody should learn it. other: neither. The last two are released as they are.\n{said}\n"
    )


def _offered_models(policy: Policy, found: Profile) -> str:
    """Return a model for each sensitive column that has none, as comments: whoever wants one takes the marks away."""
    from indistinct.pipeline.weighing import DIVERSE, MOST_OF_A_GROUP
    from indistinct.policy.files.policy_file import toml
    from indistinct.privacy import AlphaK, LDiversity

    asked = {model.column for model in policy.privacy if isinstance(model, LDiversity | AlphaK)}
    columns = [one for one in found.with_role("sensitive") if one.name not in asked][:MOST_OFFERED]
    if not columns or not policy.quasi:
        return ""
    said = ["", "# What would keep groups from sharing one value; take the marks away from those you want:"]
    for one in columns:
        said += ["# [[privacy]]", '# model = "l-diversity"', f"# l = {DIVERSE}", f"# column = {toml(one.name)}", ""]
        if len(one.values) > 1:
            shares = ", ".join(f"{toml(value)} = {MOST_OF_A_GROUP}" for value in one.values[1:])
            said += [f"# or, if {toml(one.values[0])} harms nobody and may be shared, for less loss:", "# [[privacy]]"]
            said += ['# model = "alpha-k"', f"# k = {DIVERSE}", f"# alpha = {{ {shares} }}"]
            said += [f"# column = {toml(one.name)}", ""]
    return "\n".join(said)
