"""``indistinct init --omop`` and ``--fhir``: the policy of tables whose form is known, which runs as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from indistinct.atomic_files import OWNER_ONLY, whole_folder, write_whole
from indistinct.cli import show
from indistinct.cli.options import Reading
from indistinct.errors import OutputError, PolicyError

if TYPE_CHECKING:
    from indistinct.pipeline.suggesting import ReadyPolicy


def init_omop(folder: Path, k: int, output: Path | None, reading: Reading, *, as_json: bool) -> None:
    """Write the policy of the tables of OMOP in a folder."""
    from indistinct.pipeline.suggesting import known_schema, ready_policy

    refuse_existing(output)
    with show.progress() as watch:
        made = ready_policy(folder, known_schema("omop"), k, watch=watch, **reading.arguments())
    give_policy(made, folder, output, as_json=as_json)


def init_fhir(folder: Path, into: Path | None, k: int, output: Path | None, reading: Reading, *, as_json: bool) -> None:
    """Write the resources of a bulk export as flat tables to a new folder for their owner alone, and their policy."""
    from indistinct.pipeline.suggesting import flatten_fhir, known_schema, ready_policy

    if into is None:
        raise PolicyError("--into: name a new folder for the flat tables that the policy is for")
    if into.exists():
        raise OutputError(f"{into} exists already; name another folder")
    if not into.absolute().parent.is_dir():
        raise OutputError(f"{into.absolute().parent} is no folder; make it first")
    refuse_existing(output)
    with whole_folder(into) as staged:
        left_out = flatten_fhir(folder, staged)
        with show.progress() as watch:
            made = ready_policy(staged, known_schema("fhir"), k, watch=watch, **reading.arguments())
    tables = {name: into / path.name for name, path in made.tables.items()}
    made = replace(made, tables=tables, reasons=(*left_out, *made.reasons))
    give_policy(made, folder, output, as_json=as_json)


def refuse_existing(output: Path | None) -> None:
    """Raise if the policy has a place where something is already, or where nothing can be."""
    if output is not None and output.exists():
        raise OutputError(f"{output} exists already; name another file, or remove it")
    if output is not None and not output.absolute().parent.is_dir():
        raise OutputError(f"{output.absolute().parent} is no folder; make it first")


def give_policy(made: ReadyPolicy, folder: Path, output: Path | None, *, as_json: bool) -> None:
    """Write or print a policy, with the commands that come next; its hierarchies list codes of the private tables."""
    from indistinct.policy.files.policy_file import policy_toml

    head = [f"# A policy for the tables of {folder.name}; read it before you rely on it.", *_comments(made.reasons), ""]
    text = "\n".join([*head, policy_toml(made.policy, made.comments)])
    if output is not None:
        write_whole(output, text, mode=OWNER_ONLY)
    if as_json:
        written = None if output is None else str(output)
        tables = {name: str(path) for name, path in made.tables.items()}
        show.document({"tables": tables, "reasons": list(made.reasons), "policy": text, "written": written})
        return
    if output is None:
        typer.echo(text, nl=False)
    for reason in made.reasons:
        show.say(reason)
    name = output or "policy.toml"
    named = bool(made.policy.tables)
    given = [f"{table}={path}" if named else str(path) for table, path in made.tables.items()]
    originals = [word for one in given for word in ("--original", one)]
    show.next_steps(
        ["anonymize", name, *given, "-o", "release"],
        ["verify", name, "release", *originals],
        *([["attack", "history", name, "release", *given]] if made.policy.knows else []),
    )


def _comments(reasons: tuple[str, ...]) -> list[str]:
    return [f"# {' '.join(reason.split())}" for reason in reasons]
