"""``indistinct init --omop`` and ``--fhir``: the policy of tables whose form is known, which runs as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from indistinct.atomic_files import OWNER_ONLY, write_whole
from indistinct.cli import show
from indistinct.cli.options import Reading
from indistinct.errors import OutputError

if TYPE_CHECKING:
    from indistinct.pipeline.suggesting import ReadyPolicy


def init_omop(folder: Path, k: int, output: Path | None, reading: Reading, *, as_json: bool) -> None:
    """Write the policy of the tables of OMOP in a folder."""
    from indistinct.pipeline.suggesting import known_schema, ready_policy

    refuse_existing(output)
    with show.progress() as watch:
        made = ready_policy(folder, known_schema("omop"), k, watch=watch, **reading.arguments())
    give_policy(made, folder, output, as_json=as_json)


def refuse_existing(output: Path | None) -> None:
    """Raise if the policy has a place where something is already."""
    if output is not None and output.exists():
        raise OutputError(f"{output} exists already; name another file, or remove it")


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
