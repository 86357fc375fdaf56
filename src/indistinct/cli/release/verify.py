"""``indistinct verify``: recounts a release from its own cells, and proves it against the original."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, NamedRecipient, ReadingAnywhere, argument, option
from indistinct.cli.paths import policy_of_recipient, tables_given
from indistinct.errors import PolicyError, VerificationError


def verify(
    policy_and_release: Annotated[
        list[str],
        argument(
            "[POLICY] RELEASE",
            "The policy file, and a folder that anonymize wrote or any table file; or such a folder alone.",
        ),
    ],
    sensitive: Annotated[
        str | None,
        option("The second table of a release of two without a manifest; RELEASE is the quasi table.", metavar="TABLE"),
    ] = None,
    original: Annotated[
        list[str] | None,
        option("The private table, to prove that the release is true; each of several as NAME=TABLE.", metavar="TABLE"),
    ] = None,
    canonical: Annotated[
        bool, option("Also compare each file with the one canonical writing of its rows.", "--canonical")
    ] = False,
    key: Annotated[
        Path | None,
        option(
            "The public key of whoever made it: that she signed this very release.", metavar="FILE", show_default=False
        ),
    ] = None,
    recipient: NamedRecipient = None,
    *,
    reading: ReadingAnywhere,
    as_json: AsJson = False,
) -> None:
    """Recount a release from its cells alone; with the original also prove that it is true.

    Without a policy a release folder is judged by its manifest, as a recipient can; what could not be checked is said.
    Exit code 4 says that a check failed.
    """
    from indistinct.proof.verdict import verify as recount

    policy_path, release = policy_and_release_of(policy_and_release)
    if policy_path is None and recipient is not None:
        raise PolicyError("--recipient: is one that the policy names; give the policy as well")
    policy = None if policy_path is None else policy_of_recipient(Path(policy_path), recipient)
    given: Any = original or None
    if policy is not None and original:
        given = tables_given(policy, original, "--original")
    options = reading.arguments()
    tables = release if sensitive is None else {"quasi": release, "sensitive": sensitive}
    with show.progress() as watch:
        watch.report("verify")
        verdict = recount(tables, policy, original=given, key=key, canonical=canonical, **options)
        alone = None
        if verdict.passed and (as_json or not show.is_quiet()):
            from indistinct import attacks

            alone = attacks.uniqueness(tables, policy, **options)
    if as_json:
        show.document(verdict.to_dict() | ({} if alone is None else {"uniqueness": alone.to_dict()}))
        raise typer.Exit(0 if verdict.passed else VerificationError.exit_code)
    console = show.out()
    console.print(show.checks(verdict.checks))
    found = f"{verdict.rows:,} rows in {verdict.groups_in_words}, the smallest of {verdict.smallest_group:,}"
    found += f"; {verdict.known_in_words}" if verdict.known else ""
    if not verdict.passed:
        show.say(f"FAILED: {found}. Do not hand this table out.", show.BAD)
        raise typer.Exit(VerificationError.exit_code)
    show.say(f"verified: {found}", show.GOOD)
    if alone is not None:
        show.finding(alone)
    for what in verdict.not_checked if policy_path is None or canonical else ():
        show.say(f"not checked: {what}", "yellow")
    if given is None and policy_path is not None:
        second = [] if sensitive is None else ["--sensitive", sensitive]
        show.next_steps(["verify", policy_path, release, *second, "--original", "TABLE"])


def policy_and_release_of(given: list[str]) -> tuple[str | None, str]:
    """Return the path of the policy, if there is one, and that of the release."""
    if len(given) > 2:
        raise PolicyError(f"verify takes a policy and a release, or a release alone; got {len(given)} paths")
    return (None, given[0]) if len(given) == 1 else (given[0], given[1])
