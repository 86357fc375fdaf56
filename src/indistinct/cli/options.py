"""The arguments and options that several commands share.

A dataclass is a group of options: a command takes it as one parameter, and ``CommandLine`` spreads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from indistinct.errors import PolicyError

FORMATS = "{formats}"
"""Stands in a help text for the formats of files that can be read; they are named when the text is shown."""
SERVER_TABLES = (
    "a table of PostgreSQL (postgresql://host/database?table=schema.name) or SQLite (sqlite:///file.db?table=name)"
)


def option(words: str, *flags: str, **settings: Any) -> Any:
    """Return an option with its words of help; Typer makes the flag of the parameter's name if none is given."""
    return typer.Option(*flags, help=words, **settings)


def argument(metavar: str, words: str, **settings: Any) -> Any:
    """Return an argument with its name and its words of help."""
    return typer.Argument(metavar=metavar, help=words, show_default=False, **settings)


PolicyPath = Annotated[Path, argument("POLICY", "The policy file.")]
Table = Annotated[str, argument("TABLE", f"The private table: {FORMATS}, or {SERVER_TABLES}.")]
ReleasePath = Annotated[str, argument("RELEASE", "A folder that anonymize wrote, or any table file.")]
EarlierPolicies = Annotated[
    list[Path] | None,
    option(
        "The policy of the earlier releases, or one for each in their order. Else POLICY.",
        "--earlier-policy",
        metavar="FILE",
    ),
]
AsJson = Annotated[bool, option("Print one JSON document on stdout.", "--json")]
MaxTuples = Annotated[
    int | None,
    option(
        "Generalize before counting where there are more distinct tuples. Else 20 million on Spark, no limit.", min=1
    ),
]
RandomRaise = Annotated[
    float | None,
    option("Let chance raise such a share of labels, so that none can be sharpened: 0.1, say.", metavar="SHARE"),
]
TimeLimit = Annotated[float | None, option("Seconds that the search may take.", min=0)]

LEDGER_HELP = "The ledger: the path of its file, or postgresql://user@host/database."
Recipient = Annotated[
    str | None,
    option("Who gets the release: one that the policy names, on its terms; else, with a ledger, anybody's name."),
]
NamedRecipient = Annotated[
    str | None, option("Whose release it is: one that the policy names, on its terms.", "--recipient", metavar="NAME")
]
Review = Annotated[
    str | None, option("When to look at it again, such as 2027-05-30.", metavar="DATE", show_default=False)
]
Purpose = Annotated[str, option("What the release is for, as the ledger remembers it.")]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a table is read: the options of every command that opens one.

    >>> Reading(delimiter=";", memory="4GB").arguments()
    {'memory_limit': '4GB', 'delimiter': ';'}
    """

    delimiter: Annotated[
        str | None, option("What separates the cells of a text file: ',' ';' '|' or tab. Else found out.")
    ] = None
    encoding: Annotated[str | None, option("How a text file is encoded, such as latin-1. Else UTF-8.")] = None
    sheet: Annotated[str | None, option("Which sheet of an Excel workbook, if it has several.")] = None
    codes: Annotated[bool, option("Read codes, not value labels, from Stata, SPSS, SAS files.", "--codes")] = False
    memory: Annotated[str | None, option("How much memory the engine may use, such as 4GB. The rest spills.")] = None
    threads: Annotated[
        int | None, option("How many threads the engine may use, at most 4 a core. Else one a core.", min=1)
    ] = None

    def arguments(self) -> dict[str, Any]:
        """Return what was said about reading a table, as ``open_table`` takes it."""
        return self.engine_arguments() | without_none(
            delimiter=self.delimiter, encoding=self.encoding, sheet=self.sheet, codes=self.codes or None
        )

    def as_typed(self) -> list[str]:
        """Return what was said about the file, as the next command needs it as well.

        >>> Reading(encoding="cp1252", memory="4GB").as_typed()
        ['--encoding', 'cp1252']
        """
        said = [("--delimiter", self.delimiter), ("--encoding", self.encoding), ("--sheet", self.sheet)]
        return [word for name, value in said if value for word in (name, value)] + ["--codes"] * self.codes

    def engine_arguments(self) -> dict[str, Any]:
        """Return what was said about the engine alone, for a table that is open and others beside it."""
        return without_none(memory_limit=self.memory, threads=self.threads)


@dataclass(frozen=True, slots=True)
class ReadingAnywhere(Reading):
    """How a table is read, and by which engine: the options of commands that also work where Spark runs."""

    engine: Annotated[
        str | None,
        option("duckdb, or spark for Parquet paths, folders and tables that outgrow one machine. Else duckdb."),
    ] = None
    master: Annotated[
        str | None, option("Where Spark runs: local[4], yarn, spark://host:7077 or sc://host:15002. Else here.")
    ] = None

    def __post_init__(self) -> None:
        if self.master is not None and self.engine != "spark":
            raise PolicyError("--master: says where Spark runs; add --engine spark")

    def engine_arguments(self) -> dict[str, Any]:
        if self.engine == "spark":
            import logging

            # of a Java that is gone, and of Ctrl-C, the bridge to it would print the traceback
            logging.getLogger().addHandler(logging.NullHandler())
        return Reading.engine_arguments(self) | without_none(engine=self.engine, master=self.master)


@dataclass(frozen=True, slots=True)
class BesideOptions:
    """What a report looks at beside a release."""

    original: Annotated[
        list[str] | None,
        option(
            "The private table, which nothing for recipients looks at; each of several as NAME=TABLE.", metavar="TABLE"
        ),
    ] = None
    external: Annotated[str | None, option("A table that names people, to link the release with.", metavar="TABLE")] = (
        None
    )
    earlier: Annotated[
        list[Path] | None, option("An earlier release of the same source and policy; repeat it.", metavar="RELEASE")
    ] = None
    population: Annotated[
        str | None, option("How many people the table was drawn from, or a table of them, for journalist risk.")
    ] = None
    ledger: Annotated[str | None, option(LEDGER_HELP, "--ledger", "-l", metavar="URL", envvar="INDISTINCT_LEDGER")] = (
        None
    )


@dataclass(frozen=True, slots=True)
class WritingOptions:
    """How a release is written to its folder."""

    replace: Annotated[bool, option("Replace the release that the folder holds.", "--replace")] = False
    allow_unsafe: Annotated[
        bool, option("Write a release that fails its recount; its manifest says so.", "--allow-unsafe")
    ] = False


@dataclass(frozen=True, slots=True)
class PeopleOptions:
    """Whom a release is about, as the ledger takes it."""

    source: Annotated[
        str, option("Which people the table is about: releases of the same people have the same source.")
    ] = "main"
    key: Annotated[
        list[str] | None,
        option(
            "A column by which people are recognised; repeat it. Else the identifiers, or the whole row. Where the "
            "policy says whose row it is, a column that tells a person's rows apart."
        ),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """Return whom the release is about, as the ledger takes it."""
        return {"source": self.source, "key": self.key}


@dataclass(frozen=True, slots=True)
class TermsOptions(PeopleOptions):
    """Whom a release is about, and how it keeps to what was released before.

    >>> TermsOptions().arguments()["colluding"], TermsOptions(colluding=["none"]).arguments()["colluding"]
    ('all', 'none')
    """

    colluding: Annotated[
        list[str] | None,
        option("A recipient who might put releases together with this one; repeat it, or say none. Else all of them."),
    ] = None
    again: Annotated[
        str | None,
        option(
            "Keep to earlier releases: consistent (tell nobody further apart) or based (nothing more specific either)."
        ),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """Return all terms, as the ledger takes them."""
        names = self.colluding or ["all"]
        colluding = names[0] if names in (["all"], ["none"]) else names
        return PeopleOptions.arguments(self) | {"colluding": colluding, "again": self.again}


@dataclass(frozen=True, slots=True)
class EnteringOptions(TermsOptions):
    """The ledger that a release is entered in, and what it remembers of it."""

    ledger: Annotated[
        str | None,
        option(f"Check and enter it. {LEDGER_HELP}", "--ledger", "-l", metavar="URL", envvar="INDISTINCT_LEDGER"),
    ] = None
    recipient: Recipient = None
    purpose: Purpose = ""
    review: Review = None

    def mistakes(self, *, is_named: bool = False) -> list[str]:
        """Return what is wrong by itself: options without their ledger, or a ledger without a recipient.

        ``is_named`` says that the policy names its recipients, so that one is chosen also without a ledger.
        """
        if self.ledger is not None:
            is_said = self.recipient is not None
            return [] if is_said else ["--recipient: say who gets the release, or 'public'; the ledger remembers it"]
        names = ("recipient", "again", "key", "colluding", "review")
        said = [f"--{name}" for name in names if getattr(self, name) and not (is_named and name == "recipient")]
        return [f"{' and '.join(said)}: only with a ledger; add --ledger"] if said else []

    def arguments(self) -> dict[str, Any]:
        """Return all of it but the ledger itself, as the ledger takes it."""
        said = {"recipient": self.recipient, "purpose": self.purpose, "review": self.review}
        return TermsOptions.arguments(self) | said


def without_none(**options: object) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None}
