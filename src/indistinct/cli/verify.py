"""``indistinct verify``: recounts a release from its own cells, and proves it against the original."""

from __future__ import annotations

from typing import Annotated

import typer

from indistinct.cli import show
from indistinct.cli.named_tables import tables_given
from indistinct.cli.options import AsJson, PolicyPath, ReadingAnywhere
from indistinct.errors import VerificationError


def verify(
    policy_path: PolicyPath,
    release: Annotated[
        str,
        typer.Argument(metavar="RELEASE", help="A folder that anonymize wrote, or any table file.", show_default=False),
    ],
    sensitive: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE", help="The second table of a release of two without a manifest; RELEASE is the quasi table."
        ),
    ] = None,
    original: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="The private table, to prove that the release is true; each of several as NAME=TABLE.",
        ),
    ] = None,
    *,
    reading: ReadingAnywhere,
    as_json: AsJson = False,
) -> None:
    """Recount a release from its cells alone; with the original also prove that it is true.

    Exit code 4 says that a check failed.
    """
    from indistinct.policy.tables_file import read_any_policy
    from indistinct.proof.verdict import verify as recount

    policy = read_any_policy(policy_path)
    given = tables_given(policy, original, "--original") if original else None
    options = reading.arguments()
    tables = release if sensitive is None else {"quasi": release, "sensitive": sensitive}
    with show.progress() as watch:
        watch.report("verify")
        verdict = recount(tables, policy, original=given, **options)
    if as_json:
        show.document(verdict.to_dict())
        raise typer.Exit(0 if verdict.passed else VerificationError.exit_code)
    console = show.out()
    console.print(show.verdict(verdict))
    found = f"{verdict.rows:,} rows in {verdict.groups_in_words}, the smallest of {verdict.smallest_group:,}"
    if not verdict.passed:
        show.say(f"FAILED: {found}. Do not hand this table out.", show.BAD)
        raise typer.Exit(VerificationError.exit_code)
    show.say(f"verified: {found}", show.GOOD)
    if given is None:
        second = [] if sensitive is None else ["--sensitive", sensitive]
        show.next_steps(["verify", policy_path, release, *second, "--original", "TABLE"])
