"""``indistinct studio``: opens the studio in the browser, on this machine only."""

from __future__ import annotations

from typing import Annotated

from indistinct.cli import show
from indistinct.cli.options import LEDGER_HELP, argument, option


def studio(
    table: Annotated[str | None, argument("[FILE]", "The private table to open; or open one there.")] = None,
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
    from indistinct.studio.server import serve

    def ready(address: str) -> None:
        if as_json:
            show.document({"address": address})
        else:
            show.say(f"studio: {address}")
            show.say(
                "The address works once, in one browser. Ctrl-C ends the studio and removes its files.", show.QUIET
            )

    serve(table, port=port, listen=listen, ledger=ledger, opens_browser=browser, on_ready=ready)
