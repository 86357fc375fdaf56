"""``indistinct review``: whether the releases of a ledger still hold, by what is known today."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import show
from indistinct.cli.options import LEDGER_HELP, AsJson, argument, option
from indistinct.cli.paths import refuse_place
from indistinct.errors import ExposedError, PolicyError, VerificationError
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.ledger_review import LedgerReview


def review(
    url: Annotated[str, argument("LEDGER", LEDGER_HELP, envvar="INDISTINCT_LEDGER")],
    output: Annotated[Path | None, option("The page of the review: .html.", "--output", "-o", metavar="FILE")] = None,
    register: Annotated[
        Path | None, option("Also write the register of all releases: .csv or .html.", metavar="FILE")
    ] = None,
    since: Annotated[
        str | None, option("Recount and attack entries since then; all are joined.", metavar="N|DATE")
    ] = None,
    external: Annotated[
        str | None, option("A table that names people, such as a new voter list.", metavar="TABLE")
    ] = None,
    threshold: Annotated[
        float | None, option("The largest risk that is accepted now, where a policy accepts more.")
    ] = None,
    colluding: Annotated[
        str, option("all: everybody's releases are put together; none: those of each recipient.")
    ] = "all",
    state: Annotated[
        Path | None, option("Where an interrupted review goes on. Else beside the page.", metavar="FILE")
    ] = None,
    replace: Annotated[bool, option("Replace the files if they exist.", "--replace")] = False,
    as_json: AsJson = False,
) -> None:
    """Recount, attack and join every release of a ledger anew, and say what fell, whom to notify and what is due.

    For a scheduler: exit code 4 says that files or a recount failed or a risk is above its threshold, 6 that an attack
    exposes people or releases undo each other.
    """
    from indistinct.ledger_review import review_ledger, review_page, write_register

    if output is not None:
        refuse_place(output, "a review", (".html",), replace=replace)
    if register is not None:
        refuse_place(register, "a register", (".csv", ".html"), replace=replace)
    if colluding not in ("all", "none"):
        raise PolicyError(f"--colluding: must be all or none, got {colluding!r}")
    beside = None if output is None else output.with_name(f".{output.name}.state")
    with show.progress(None) as watch:
        found = review_ledger(
            url,
            since=int(since) if since is not None and since.isdecimal() else since,
            external=external,
            threshold=threshold,
            colluding="all" if colluding == "all" else "none",
            state=state or beside,
            watch=watch,
        )
    if output is not None:
        from indistinct.atomic_files import OWNER_ONLY, write_whole

        write_whole(output, review_page(found), mode=OWNER_ONLY)
    if register is not None:
        write_register(found, register)
    if as_json:
        show.document(found.to_dict())
    else:
        _tell(found, [path for path in (output, register) if path is not None])
    kinds = {notice.kind for notice in found.notices}
    if kinds & {"attack", "joined"}:
        raise typer.Exit(ExposedError.exit_code)
    if kinds:
        raise typer.Exit(VerificationError.exit_code)


def _tell(found: LedgerReview, written: list[Path]) -> None:
    """Say what fell, whom to notify, what is due and what holds."""
    for notice in found.notices:
        show.say(notice.sentence, show.BAD)
    for name, numbers in found.to_notify.items():
        show.say(f"notify {name}: entry {', '.join(map(str, numbers))}", "yellow")
    for one in found.due:
        show.say(f"due since {one.review}: entry {one.number}, {one.recipient}", "yellow")
    for note in found.notes:
        show.say(f"not judged: {note}", "yellow")
    show.say(f"{counted(len(found.holding), 'release')} of {len(found.entries)} hold", show.GOOD)
    for path in written:
        show.say(f"written to {path}", show.QUIET)
