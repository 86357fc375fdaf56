"""``indistinct dossier``: the documents about a release that people sign, as a folder of pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, BesideOptions, NamedRecipient, PolicyPath, Reading, argument, option
from indistinct.cli.paths import arguments_beside, policy_of_recipient
from indistinct.errors import ExposedError, VerificationError
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.documents import Dossier

MOST_SHOWN = 12


def dossier(
    policy_path: PolicyPath,
    release: Annotated[Path, argument("RELEASE", "A folder that anonymize wrote.")],
    output: Annotated[Path, option("The folder of the documents.", "--output", "-o", metavar="FOLDER")],
    recipient: NamedRecipient = None,
    only: Annotated[
        list[str] | None, option("A document for this regime alone; repeat it. Else all.", metavar="REGIME")
    ] = None,
    replace: Annotated[bool, option("Replace the dossier that the folder holds.", "--replace")] = False,
    *,
    beside: BesideOptions,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Write the documents that regulators, handbooks and offices ask for: what was measured, and what is left blank.

    Blanks are for people to fill in; none of it says that a law is met. Exit code 4 says that the release failed its
    recount or is above its threshold, 6 that an attack exposes people; the documents are written all the same.
    """
    from indistinct.documents import dossier as compile_dossier
    from indistinct.documents import refuse_folder

    refuse_folder(output, replace=replace)
    policy = policy_of_recipient(policy_path, recipient)
    with show.progress() as watch:
        found = compile_dossier(
            release,
            policy_path,
            recipient=recipient,
            only=tuple(only or ()),
            watch=watch,
            **arguments_beside(beside, policy),
            **reading.arguments(),
        )
        found.write(output, replace=replace)
    if as_json:
        show.document({**found.to_dict(), "written": str(output)})
    else:
        _tell(found, output)
    if not found.is_verified or found.is_above:
        raise typer.Exit(VerificationError.exit_code)
    if found.is_broken:
        raise typer.Exit(ExposedError.exit_code)


def _tell(found: Dossier, output: Path) -> None:
    """Say what was found, what is left to fill in, and where it was written."""
    for line in found.decision:
        show.say(line)
    show.say(f"{counted(len(found.blanks), 'blank')} for people to fill in:", "yellow")
    for blank in found.blanks[:MOST_SHOWN]:
        show.tell(f"  {blank.number}. {blank.hint} ({blank.place})")
    if len(found.blanks) > MOST_SHOWN:
        show.say(f"  … and {len(found.blanks) - MOST_SHOWN} more", show.QUIET)
    show.say(
        f"{counted(len(found.papers), 'document')} written to {output}; begin with {output / 'index.html'}", show.GOOD
    )
    show.say("it describes the private table: keep it as you keep that", show.QUIET)
