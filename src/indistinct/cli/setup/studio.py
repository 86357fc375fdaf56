"""``indistinct studio``: opens the studio in the browser, on this machine only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from indistinct.cli import show
from indistinct.cli.options import LEDGER_HELP, argument, option
from indistinct.cli.paths import named_tables, only_table
from indistinct.errors import PolicyError


def studio(
    tables: Annotated[
        list[str] | None, argument("TABLE", "The private table to open, or each of several as NAME=TABLE.")
    ] = None,
    policy: Annotated[Path | None, option("Go on with this policy file.", "--policy", "-p", metavar="FILE")] = None,
    port: Annotated[int, option("The port to listen on; 0 takes a free one.", min=0, max=65535)] = 0,
    listen: Annotated[
        str, option("Where to listen; for a container, whose port is published to 127.0.0.1 alone.", metavar="ADDRESS")
    ] = "127.0.0.1",
    browser: Annotated[bool, option("Open the browser.", "--browser/--no-browser")] = True,
    ledger: Annotated[
        str | None, option(LEDGER_HELP, "--ledger", "-l", metavar="URL", envvar="INDISTINCT_LEDGER")
    ] = None,
    as_json: Annotated[bool, option("Print the address as one JSON document on stdout.", "--json")] = False,
) -> None:
    """Open the studio: every step from a table to its release, in your browser.

    Nothing leaves this machine. The address that is printed holds a token and works once; end the studio with Ctrl-C.
    """
    from indistinct.policy.files.policy_file import text_of
    from indistinct.studio.server import serve

    if policy is not None and not tables:
        raise PolicyError("--policy: name the table that it is for, or each of several as NAME=TABLE")
    given = (named_tables(tables) or only_table(tables)) if tables else None
    text = "" if policy is None else text_of(policy)

    def ready(address: str) -> None:
        if as_json:
            show.document({"address": address})
        else:
            show.say(f"studio: {address}")
            show.say(
                "The address works once, in one browser. Ctrl-C ends the studio and removes its files.", show.QUIET
            )

    serve(given, policy=text, port=port, listen=listen, ledger=ledger, opens_browser=browser, on_ready=ready)
