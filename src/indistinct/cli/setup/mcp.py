"""``indistinct mcp``: lets an assistant ask about tables and releases of one folder, and answers without a cell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from indistinct.cli.options import option


def mcp(
    root: Annotated[
        Path, option("The folder of tables, policies and releases; nothing outside it is looked at.", metavar="FOLDER")
    ],
) -> None:
    """Answer an assistant's questions by the Model Context Protocol: init, check, risk, verify, report.

    Answers are numbers and names of columns, never cells. It speaks over standard input and output, so an assistant
    starts it; it ends when that does.
    """
    from indistinct.mcp.tool_server import serve

    serve(root)
