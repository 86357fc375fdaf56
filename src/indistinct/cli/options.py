"""The arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

PolicyPath = Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file.", show_default=False)]
Table = Annotated[
    str,
    typer.Argument(
        metavar="TABLE", help="The private table: CSV, Parquet, Arrow or file.duckdb::table.", show_default=False
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Delimiter = Annotated[
    str | None, typer.Option(help="What separates the cells of a text file: ',' ';' '|' or tab. Else found out.")
]
Encoding = Annotated[str | None, typer.Option(help="How a text file is encoded, such as latin-1. Else UTF-8.")]
Memory = Annotated[str | None, typer.Option(help="How much memory the engine may use, such as 4GB. The rest spills.")]
Threads = Annotated[int | None, typer.Option(min=1, help="How many cores the engine may use. Else all.")]
TimeLimit = Annotated[float | None, typer.Option(min=0, help="Seconds that the search may take.")]


def reading(
    delimiter: str | None = None, encoding: str | None = None, memory: str | None = None, threads: int | None = None
) -> dict[str, Any]:
    """Give what was said about reading a table, as ``open_table`` takes it.

    >>> reading(delimiter=";", memory="4GB")
    {'delimiter': ';', 'memory_limit': '4GB'}
    """
    given = {"delimiter": delimiter, "encoding": encoding, "memory_limit": memory, "threads": threads}
    return {name: value for name, value in given.items() if value is not None}
