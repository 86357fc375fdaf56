"""``indistinct from-arx``: a project of ARX as a policy, and what has no counterpart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from indistinct.cli import show
from indistinct.cli.options import AsJson, argument, option
from indistinct.showing.words import counted


def from_arx(
    project: Annotated[Path, argument("PROJECT", "A file that ARX saved.")],
    output: Annotated[
        Path, option("A new folder for the policy.", "--output", "-o", metavar="FOLDER", show_default=False)
    ],
    k: Annotated[int, option("Taken if none of ARX's models has a counterpart.", "-k", "--k", min=1)] = 5,
    as_json: AsJson = False,
) -> None:
    """Write the policy of an ARX project (.deid), with its hierarchies, and list what could not be taken over."""
    from indistinct.policy.arx import read_arx

    found = read_arx(project, k=k)
    policy = found.write(output)
    if as_json:
        show.document({"policy": str(policy), "columns": len(found.policy.columns), "notes": list(found.notes)})
        return
    show.say(f"{counted(len(found.policy.columns), 'column', 'columns')}; the policy is {policy}")
    for note in found.notes:
        show.say(f"note: {note}")
    show.next_steps(["check", policy, "TABLE"])
