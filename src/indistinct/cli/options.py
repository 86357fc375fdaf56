"""The arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from indistinct.errors import PolicyError

PolicyPath = Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file.", show_default=False)]
Table = Annotated[
    str,
    typer.Argument(
        metavar="TABLE", help="The private table: CSV, Parquet, Arrow or file.duckdb::table.", show_default=False
    ),
]
ReleasePath = Annotated[
    str,
    typer.Argument(metavar="RELEASE", help="A folder that anonymize wrote, or any table file.", show_default=False),
]
EarlierPolicies = Annotated[
    list[Path] | None,
    typer.Option(
        "--earlier-policy",
        metavar="FILE",
        help="The policy of the earlier releases, or one for each in their order. Else POLICY.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Delimiter = Annotated[
    str | None, typer.Option(help="What separates the cells of a text file: ',' ';' '|' or tab. Else found out.")
]
Encoding = Annotated[str | None, typer.Option(help="How a text file is encoded, such as latin-1. Else UTF-8.")]
Memory = Annotated[str | None, typer.Option(help="How much memory the engine may use, such as 4GB. The rest spills.")]
Threads = Annotated[int | None, typer.Option(min=1, help="How many cores the engine may use. Else all.")]
Engine = Annotated[
    str | None,
    typer.Option(help="duckdb, or spark for Parquet paths, folders and tables that outgrow one machine. Else duckdb."),
]
Master = Annotated[
    str | None, typer.Option(help="Where Spark runs: local[4], yarn, spark://host:7077 or sc://host:15002. Else here.")
]
MaxTuples = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Generalize before counting where there are more distinct tuples. Else 20 million on Spark, no limit.",
    ),
]
TimeLimit = Annotated[float | None, typer.Option(min=0, help="Seconds that the search may take.")]

LEDGER_HELP = "The ledger: the path of its file, or postgresql://user@host/database."
Recipient = Annotated[
    str | None, typer.Option(help="Who gets the release; 'public' if everybody does. Needed with a ledger.")
]
Purpose = Annotated[str, typer.Option(help="What the release is for, as the ledger remembers it.")]
Source = Annotated[
    str, typer.Option(help="Which people the table is about: releases of the same people have the same source.")
]
Key = Annotated[
    list[str] | None,
    typer.Option(help="A column by which people are recognised; repeat it. Else the identifiers, or the whole row."),
]
Colluding = Annotated[
    list[str] | None,
    typer.Option(
        "--colluding",
        help="A recipient who might put releases together with this one; repeat it, or say none. Else all of them.",
    ),
]
Again = Annotated[
    str | None,
    typer.Option(
        help="Keep to earlier releases: consistent (tell nobody further apart) or based (nothing more specific either)."
    ),
]


def colluding(names: list[str] | None) -> Literal["all", "none"] | list[str]:
    """Give who might collude, as the ledger takes it.

    >>> colluding(None), colluding(["none"]), colluding(["a", "b"])
    ('all', 'none', ['a', 'b'])
    """
    if not names or names == ["all"]:
        return "all"
    return "none" if names == ["none"] else names


def reading(
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
    engine: str | None = None,
    master: str | None = None,
    max_tuples: int | None = None,
) -> dict[str, Any]:
    """Give what was said about reading a table, as ``open_table`` takes it.

    >>> reading(delimiter=";", memory="4GB")
    {'delimiter': ';', 'memory_limit': '4GB'}
    """
    if master is not None and engine != "spark":
        raise PolicyError("--master: says where Spark runs; add --engine spark")
    given = {"delimiter": delimiter, "encoding": encoding, "memory_limit": memory, "threads": threads}
    given |= {"engine": engine, "master": master, "max_tuples": max_tuples}
    return {name: value for name, value in given.items() if value is not None}
