"""``indistinct report``: everything that is known about a release, as one page of HTML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, BesideOptions, PolicyPath, Reading, argument, option
from indistinct.cli.paths import arguments_beside, on_terms_of
from indistinct.errors import ExposedError, OutputError, VerificationError

EXIT_CODES = {"failed": VerificationError.exit_code, "broken": ExposedError.exit_code}
"""What is concluded that must not leave the house."""


def report(
    policy_path: PolicyPath,
    release: Annotated[Path, argument("RELEASE", "A folder that anonymize wrote.")],
    output: Annotated[
        Path | None, option("The page to write: a file that ends in .html.", "--output", "-o", metavar="FILE")
    ] = None,
    edition: Annotated[
        str, option("internal (describes the private table) or public (for whoever gets the release).")
    ] = "internal",
    data: Annotated[str | None, option("What the table holds, of whom, from when. Else as in the policy.")] = None,
    purpose: Annotated[str | None, option("What the release is for. Else as in the policy.")] = None,
    recipient: Annotated[
        str | None, option("Who gets the release: one that the policy names, on its terms, or anybody.")
    ] = None,
    decided_by: Annotated[str | None, option("Who decided that the release may leave. Else as in the policy.")] = None,
    title: Annotated[str, option("What stands above the page.")] = "Release report",
    replace: Annotated[bool, option("Replace the file if it exists.", "--replace")] = False,
    *,
    beside: BesideOptions,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Write what is known about a release as one page: policy, risk, columns, cost, attacks, limits.

    The page loads nothing and runs nothing; print it to get a PDF. The internal edition is as confidential as the
    private table. Exit code 4 says that the release failed its recount, 6 that an attack exposes people; the page is
    written all the same.
    """
    from indistinct.policy.files.policy_file import read_policy
    from indistinct.report import refuse_place, render, report_facts, write_page

    chosen = _edition(edition)
    if output is None and not as_json:
        raise OutputError("say where to write the page, with -o report.html, or ask for --json")
    if output is not None:
        refuse_place(output)
        if output.exists() and not replace:
            raise OutputError(f"{output} exists already; name another file, or say --replace")
    policy = read_policy(policy_path)
    if recipient in policy.recipients:
        policy, recipient = on_terms_of(policy, recipient), None
    about = {"data": data, "purpose": purpose, "recipient": recipient, "decided_by": decided_by}
    with show.progress() as watch:
        facts = report_facts(
            release,
            policy,
            edition=chosen,
            about={name: text for name, text in about.items() if text is not None},
            watch=watch,
            **arguments_beside(beside, policy),
            **reading.arguments(),
        )
        if output is not None:
            write_page(output, render(facts, title), is_public=chosen == "public")
    concluded = facts["conclusion"]
    if as_json:
        show.document(facts | {"written": None if output is None else str(output)})
    else:
        assert output is not None  # asked for above
        _tell(output, chosen, concluded, bool(beside.original), policy_path, release)
    if concluded["outcome"] in EXIT_CODES:
        raise typer.Exit(EXIT_CODES[concluded["outcome"]])


def _edition(asked: str) -> Literal["internal", "public"]:
    from indistinct.errors import PolicyError

    if asked == "internal":
        return "internal"
    if asked == "public":
        return "public"
    raise PolicyError(f"--edition: must be internal or public, got {asked!r}")


def _tell(
    output: Path, edition: str, concluded: Mapping[str, Any], has_original: bool, policy_path: Path, release: Path
) -> None:
    """Say what was written, and what to do with it."""
    style = show.BAD if concluded["outcome"] in EXIT_CODES else "yellow" if concluded["attacks"] else show.GOOD
    show.say(concluded["text"], style)
    for one in concluded["attacks"]:
        show.say(f"  {one['title']}: {one['summary']}")
    show.say(f"{edition} edition written to {output}", "" if concluded["outcome"] in EXIT_CODES else show.GOOD)
    if edition == "public":
        return
    show.say("it describes the private table: keep it as you keep that", show.QUIET)
    goal = output.with_name(f"public-{output.name}")
    again = [] if has_original else [["report", policy_path, release, "--original", "TABLE", "-o", output, "--replace"]]
    show.next_steps(*again, ["report", policy_path, release, "--edition", "public", "-o", goal])
