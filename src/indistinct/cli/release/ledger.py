"""``indistinct ledger``: what was released to whom, and whether the record is still what was entered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli import show
from indistinct.cli.command import CommandLine
from indistinct.cli.options import (
    LEDGER_HELP,
    AsJson,
    PeopleOptions,
    PolicyPath,
    Purpose,
    Reading,
    Recipient,
    Review,
    TermsOptions,
    argument,
    option,
)
from indistinct.cli.paths import Tables, on_terms_of, tables_given
from indistinct.errors import LedgerError, RefusedError, VerificationError
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.ledger import Linked
    from indistinct.ledger.store import Entry, Store

app = CommandLine(name="ledger", help="Remember what was released to whom.", no_args_is_help=True)

Ledger = Annotated[
    str, option(LEDGER_HELP, "--ledger", "-l", metavar="URL", envvar="INDISTINCT_LEDGER", show_default=False)
]
StoreFolder = Annotated[
    Path | None,
    option(
        "Where the ledger's files are, if they are not where they were when it was made.",
        "--store",
        metavar="FOLDER",
        envvar="INDISTINCT_LEDGER_STORE",
        show_default=False,
    ),
]
Number = Annotated[int, argument("N", "The number of the entry.", min=1)]


@app.callback()
def ledger() -> None:
    """Remember what was released to whom."""


@app.command()
def init(
    url: Annotated[
        str,
        argument("URL", "A new file for the ledger, or postgresql://user@host/database.", envvar="INDISTINCT_LEDGER"),
    ],
    store: Annotated[
        Path | None,
        option(
            "Where the released tables are kept; PostgreSQL needs one. Else URL.store beside the file.",
            metavar="FOLDER",
            show_default=False,
        ),
    ] = None,
    witness: Annotated[
        Path | None,
        option(
            "A new file in which every head is noted, where writers of the ledger cannot change it.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        option("A budget: what releases of a source may spend together; with --delta.", show_default=False),
    ] = None,
    delta: Annotated[float | None, option("The δ of the budget.", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Make an empty ledger: a file and a folder that only you can read, or tables in PostgreSQL and the folder."""
    from indistinct.ledger.store import Spending, Store

    budget = Spending.of_budget(epsilon, delta)
    with Store.create(url, folder=store, witness=witness, budget=budget) as made:
        if as_json:
            show.document({"ledger": made.name, "store": str(made.files.folder), "head": made.head})
            return
        show.say(f"made the ledger {made.name}", show.GOOD)
        show.say(f"its files are kept in {made.files.folder}")
        if budget is not None:
            show.say(f"releases of a source may spend {budget} together, and others are refused")
        show.say("keep both private and back both up: the ledger holds the secret by which it knows people again")
        if made.witness is None:
            show.say(
                "WARNING: nothing notes its heads elsewhere, so nobody will see what is cut off; "
                "see ledger init --witness",
                show.BAD,
            )
        place = "URL" if "://" in url else url  # a URL may hold a password
        release = ["anonymize", "policy.toml", "TABLE", "-o", "release", "--ledger", place, "--recipient", "NAME"]
        show.next_steps(release, ["ledger", "list", "--ledger", place])


@app.command("list")
def list_entries(
    url: Ledger,
    source: Annotated[str | None, option("Only releases of this source.")] = None,
    recipient: Annotated[str | None, option("Only releases to this recipient.")] = None,
    due: Annotated[bool, option("Only releases whose day of review has come.", "--due")] = False,
    folder: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the releases in the order in which they were entered, and what they spent under differential privacy."""
    from indistinct.ledger.store import add_spending, due_entries

    with _open_store(url, folder) as store:
        every = store.entries()
        head = every[-1].hash if every else store.start
    entries = [entry for entry in every if source in (None, entry.source) and recipient in (None, entry.recipient)]
    entries = due_entries(entries) if due else entries
    spent = add_spending(entries)
    if as_json:
        private = {"spent": {name: one.to_dict() for name, one in spent.items()}} if spent else {}
        budget = {} if store.budget is None else {"budget": store.budget.to_dict()}
        listed = [_summary(entry) for entry in entries]
        show.document({"ledger": store.name, "head": head, "entries": listed, **private, **budget})
        return
    show.out().print(_table_of_entries(entries))
    for name, one in spent.items():
        show.say(f"source {name}: {one} spent" + ("" if store.budget is None else f" of {store.budget}"))
    show.say(f"{counted(len(entries), 'entry', 'entries')}, head {head}")
    if every:
        show.say("note the head where nobody who can write to the ledger can change it", show.QUIET)


@app.command("show")
def show_entry(number: Number, url: Ledger, folder: StoreFolder = None, as_json: AsJson = False) -> None:
    """Show all that one entry says: recipient, purpose, manifest, policy, files and hashes."""
    with _open_store(url, folder) as store:
        entry = store.entry(number)
    if as_json:
        show.document(entry.to_dict())
        return
    console = show.out()
    console.print(show.facts(_facts(entry)))
    files = show.table("Files", "file", "SHA-256")
    for name, sha256 in entry.files.items():
        files.add_row(name, sha256)
    console.print(files)
    console.print("Policy", style="bold")
    console.print(entry.policy, soft_wrap=True)


@app.command()
def verify(
    url: Ledger,
    head: Annotated[
        str | None, option("A head that was noted earlier; it must be in the chain.", metavar="HASH")
    ] = None,
    witness: Annotated[
        Path | None, option("Noted heads. Else those that the ledger was made with.", metavar="FILE")
    ] = None,
    release: Annotated[
        Path | None, option("A release of the ledger; the head in its manifest must be in the chain.", metavar="FOLDER")
    ] = None,
    folder: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Check that no entry and no stored file was changed, removed or inserted.

    Exit code 4 says that a check failed.
    """
    with _open_store(url, folder) as store:
        found = store.verify(head or _stated_head(release), witness)
    if as_json:
        show.document(found.to_dict())
        raise typer.Exit(0 if found.passed else VerificationError.exit_code)
    show.out().print(show.checks(found.checks, "The ledger"))
    if not found.passed:
        show.say("FAILED: the ledger is not what was entered. Restore it from a backup.", show.BAD)
        raise typer.Exit(VerificationError.exit_code)
    show.say(f"verified: {counted(found.entries, 'entry', 'entries')}, head {found.head}", show.GOOD)
    for warning in found.warnings:
        show.say(f"WARNING: {warning}", show.BAD)


@app.command()
def export(
    number: Number,
    output: Annotated[Path, option("The folder to write.", "--output", "-o", metavar="FOLDER", show_default=False)],
    url: Ledger,
    folder: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Write the release of one entry as a folder, as its recipient got it."""
    with _open_store(url, folder) as store:
        entry = store.entry(number)
        goal = store.files.export(entry, output)
    if as_json:
        show.document({"entry": number, "recipient": entry.recipient, "written": str(goal)})
        return
    show.say(f"wrote the release of entry {number}, for {entry.recipient}, to {goal}", show.GOOD)


@app.command()
def sweep(url: Ledger, folder: StoreFolder = None, as_json: AsJson = False) -> None:
    """Remove files without an entry, which a writer left that was stopped more than an hour ago."""
    with _open_store(url, folder) as store:
        number = store.sweep()
    if as_json:
        show.document({"removed": number})
        return
    show.say(f"removed {counted(number, 'folder')} without an entry")


@app.command()
def check(
    policy_path: PolicyPath,
    tables: Tables,
    url: Ledger,
    recipient: Recipient = "public",
    *,
    terms: TermsOptions,
    algorithm: Annotated[str | None, option("Instead of the one that the policy names.")] = None,
    folder: StoreFolder = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Return what a release would reveal together with earlier ones; nothing is released or entered.

    Exit code 5 says that it would undo an earlier release.
    """
    from indistinct.ledger import Ledger as Opened
    from indistinct.policy.files.policy_file import read_policy

    policy = on_terms_of(read_policy(policy_path), recipient)
    with show.progress(None) as watch, Opened(url, folder=folder) as opened:
        found = opened.check(
            tables_given(policy, tables),
            policy,
            recipient=recipient or "public",
            algorithm=algorithm,
            watch=watch,
            **terms.arguments(),
            **reading.arguments(),
        )
    _show_linked(found, as_json)
    if not found.passed:
        raise typer.Exit(RefusedError.exit_code)


@app.command()
def add(
    policy_path: PolicyPath,
    release: Annotated[Path, argument("RELEASE", "The release folder.")],
    url: Ledger,
    original: Annotated[str, option("The private table that it was made from.", metavar="TABLE", show_default=False)],
    recipient: Annotated[str, option("Who got it; 'public' if everybody did.", show_default=False)],
    purpose: Purpose = "",
    review: Review = None,
    *,
    people: PeopleOptions,
    folder: StoreFolder = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Enter a release that was made without the ledger, and say what it reveals together with the others.

    It has left the house, so it is entered whatever is found.
    """
    from indistinct.ledger import Ledger as Opened
    from indistinct.policy.files.policy_file import read_policy

    policy = on_terms_of(read_policy(policy_path), recipient)
    said = people.arguments() | {"review": review} | reading.arguments()
    with Opened(url, folder=folder) as opened:
        entry, found = opened.add(release, policy, original, recipient=recipient, purpose=purpose, **said)
    if as_json:
        show.document({"entry": entry.number, "hash": entry.hash, **found.to_dict()})
        return
    _show_linked(found, False)
    show.say(f"entered as entry {entry.number}", show.GOOD)


def _stated_head(release: Path | None) -> str | None:
    """Return the head that the manifest of a release states."""
    if release is None:
        return None
    from indistinct.release.manifest import read_manifest

    head = read_manifest(release).ledger_head
    if head is None:
        raise LedgerError(f"{release}: its manifest states no head of a ledger")
    return head


def _show_linked(found: Linked, as_json: bool) -> None:
    """Show what releases reveal together."""
    if as_json:
        show.document(found.to_dict())
        return
    show.out().print(
        show.facts(
            [
                ("checked against", ", ".join(map(str, found.entries)) or "nothing: no earlier release"),
                ("people in any release", found.people),
                ("cells that can be told apart", found.cells),
                ("smallest cell", found.smallest),
                ("people at risk", found.at_risk),
            ]
        )
    )
    show.say(found.reason, show.GOOD if found.passed else show.BAD)


def _open_store(url: str, folder: Path | None) -> Store:
    from indistinct.ledger.store import Store

    return Store(url, folder=folder)


def _summary(entry: Entry) -> dict[str, Any]:
    """Return what a list says of an entry."""
    said = ("number", "time", "source", "recipient", "purpose", "hash")
    review = {} if entry.review is None else {"review": entry.review}
    return {name: getattr(entry, name) for name in said} | {"released": entry.said.released} | review


def _table_of_entries(entries: list[Entry]) -> Table:
    has_review = any(entry.review is not None for entry in entries)
    heads = ("entry", "time", "source", "recipient", "purpose", *(["review"] if has_review else []), "rows", "hash")
    made = show.table(None, *heads, right=("entry", "rows"))
    for entry in entries:
        rows = "" if entry.said.released is None else entry.said.released
        made.add_row(
            str(entry.number),
            entry.time.replace("+00:00", "Z"),
            entry.source,
            entry.recipient,
            entry.purpose,
            *([entry.review or ""] if has_review else []),
            figure(rows),
            entry.hash[:12],
        )
    return made


def _facts(entry: Entry) -> list[tuple[str, object]]:
    said = ("number", "time", "source", "recipient", "purpose")
    facts: list[tuple[str, object]] = [(name, getattr(entry, name)) for name in said]
    facts += [(name, value) for name, value in entry.details.items()]
    facts += [
        (words, value)
        for words, value in (
            ("algorithm", entry.said.algorithm),
            ("rows", entry.said.released),
            ("suppressed rows", entry.said.suppressed),
        )
        if value is not None
    ]
    return [*facts, ("previous", entry.previous), ("hash", entry.hash)]
