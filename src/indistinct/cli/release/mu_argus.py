"""``indistinct mu-argus``: a dialogue: see what is unsafe, generalize columns, and blank single cells of the rest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading, Table, WritingOptions, option
from indistinct.errors import InterruptedSearchError, PolicyError, VerificationError
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from indistinct.search import MuArgusDialogue, Suppressions, Unsafe

MOST_SHOWN = 20
"""Combinations and categories that are shown at once."""
QUESTION = "generalize which column? (number or name; show COLUMN, undo, done, quit)"


def mu_argus(
    policy_path: PolicyPath,
    table: Table,
    output: Annotated[Path, option("The folder of the release.", "--output", "-o", metavar="FOLDER")],
    *,
    writing: WritingOptions,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Make a release in a dialogue: µ-Argus shows rare combinations, and you say which column to generalize.

    Answers are read from stdin. What is left unsafe loses single cells. µ-Argus does not promise k-anonymity, so the
    release is recounted, and written only if it holds, or with --allow-unsafe.
    """
    from indistinct.cli.release.anonymize import release_facts, summarize
    from indistinct.pipeline.mu_argus_session import MuArgusSession
    from indistinct.policy.files.policy_file import read_policy
    from indistinct.release.manifest import refuse_occupied

    refuse_occupied(output, writing.replace)
    policy = read_policy(policy_path)
    with show.progress() as watch:
        session = MuArgusSession.open(table, policy, watch=watch, **reading.arguments())
    with session:
        _discuss(session, show.words() if as_json else show.out())
        try:
            with show.progress() as watch, session.release(allow_unsafe=writing.allow_unsafe, watch=watch) as release:
                watch.report("write")
                written = release.write(output, replace=writing.replace, allow_unsafe=writing.allow_unsafe)
        except VerificationError as error:
            if writing.allow_unsafe:
                raise
            advice = "nothing was written; generalize more columns, or add --allow-unsafe"
            raise VerificationError(f"{error}; {advice}") from None
    if as_json:
        show.document(release_facts(release, written) | _dialogue_facts(session))
        return
    summarize(release, written)
    show.next_steps(["verify", policy_path, output, "--original", table])


def _dialogue_facts(session: MuArgusDialogue) -> dict[str, object]:
    """Return what the dialogue ended with, as JSON takes it."""
    preview = session.suppressions()
    return {"levels": session.levels, "blank_cells": dict(preview.cells), "rows_with_blanks": preview.rows}


# The dialogue.


def _discuss(session: MuArgusDialogue, console: Console) -> None:
    """Let the holder generalize until they confirm the suppressions; raise if they leave before that."""
    _show_state(session, console)
    while True:
        answer = _answer(QUESTION)
        word, _, rest = answer.partition(" ")
        try:
            if answer in session.levels:  # also a column that is called like a word of the dialogue
                session.generalize(answer)
            elif word == "quit":
                raise _ended_early()
            elif word == "undo":
                session.undo()
            elif word == "show":
                console.print(_categories(session.unsafe(), _column(session, rest)))
                continue
            elif word != "done":
                session.generalize(_column(session, answer))
            elif _is_confirmed(session, console):
                return
        except PolicyError as mistake:
            show.say(str(mistake), "yellow")
            continue
        _show_state(session, console)


def _is_confirmed(session: MuArgusDialogue, console: Console) -> bool:
    """Show what would be blanked and what µ-Argus does not see, and ask whether to go on."""
    preview = session.suppressions()
    if preview.rows:
        console.print(_blank_cells(preview))
    say_cells = f"{counted(sum(preview.cells.values()), 'cell')} in {counted(preview.rows, 'row')} would be suppressed"
    show.say(say_cells if preview.rows else "no cell has to be suppressed", "yellow" if preview.rows else show.GOOD)
    if preview.small_groups:
        show.say(
            f"{counted(preview.small_groups, 'group')} with {counted(preview.small_group_rows, 'row')} in all would be "
            f"left with fewer than k = {session.k} rows: µ-Argus does not see them, but the recount does",
            show.BAD,
        )
    while True:
        answer = _answer("recount and write the release? (yes, no, quit)").lower()
        if answer in ("yes", "y", "no", "n"):
            return answer in ("yes", "y")
        if answer == "quit":
            raise _ended_early()


def _answer(question: str) -> str:
    """Ask on stderr and read a line of stdin."""
    show.words().print(question, style="bold", end=" ")
    line = sys.stdin.readline()
    if not line:
        show.say("")
        raise _ended_early()
    if not sys.stdin.isatty():
        show.say(line.strip())  # so that a transcript reads like a dialogue
    return line.strip()


def _ended_early() -> InterruptedSearchError:
    return InterruptedSearchError("the dialogue ended before the release was confirmed; nothing was written")


def _column(session: MuArgusDialogue, said: str) -> str:
    """Return the column that was meant by a number or a name."""
    columns = list(session.levels)
    if said in columns:
        return said
    if said.isdecimal() and 1 <= int(said) <= len(columns):
        return columns[int(said) - 1]
    alike = [name for name in columns if name.casefold() == said.casefold()]
    if len(alike) == 1:
        return alike[0]
    raise PolicyError(f"that is no column; say a number from 1 to {len(columns)} or one of {', '.join(columns)}")


# What it shows.


def _show_state(session: MuArgusDialogue, console: Console) -> None:
    unsafe = session.unsafe()
    console.print(_columns(session, unsafe))
    if not unsafe:
        show.say(f"none of {counted(unsafe.tested, 'combination')} is unsafe at k = {unsafe.k}", show.GOOD)
        return
    console.print(_combinations(unsafe))
    show.say(
        f"{len(unsafe.combinations):,} of {counted(unsafe.tested, 'combination')} of columns are unsafe at "
        f"k = {unsafe.k}, in {counted(unsafe.rows, 'row')}",
        "yellow",
    )


def _columns(session: MuArgusDialogue, unsafe: Unsafe) -> RichTable:
    """Return each column with its level and its unsafe combinations by the number of their columns."""
    sizes = _sizes(unsafe)
    found_in = [_size_name(size) for size in sizes]
    title = "Columns, and unsafe combinations with them"
    made = show.table(title, "#", "column", "level", "of", "", *found_in, right=("#", "level", "of", *found_in))
    for number, (name, level) in enumerate(session.levels.items(), start=1):
        height = session.heights[name]
        found = unsafe.columns.get(name)
        figures = ["not tested" if found is None else figure(found.get(size, 0)) for size in sizes]
        made.add_row(str(number), name, str(level), str(height), show.level_bar(level, height), *figures)
    return made


def _combinations(unsafe: Unsafe) -> RichTable:
    made = show.table("Unsafe combinations", "columns", "values", "rows", right=("values", "rows"))
    ordered = sorted(unsafe.combinations, key=lambda one: (len(one.columns), -one.rows))
    for one in ordered[:MOST_SHOWN]:
        made.add_row(" × ".join(one.columns), figure(one.values), figure(one.rows))
    if len(ordered) > MOST_SHOWN:
        made.add_row(f"… {len(ordered) - MOST_SHOWN:,} more", style=show.QUIET)
    return made


def _categories(unsafe: Unsafe, column: str) -> RichTable:
    """Return the labels of a column that are in unsafe combinations, those in most of them first."""
    sizes = _sizes(unsafe)
    made = show.table(column, "label", "rows", *map(_size_name, sizes), right=("rows", *map(_size_name, sizes)))
    found = [one for one in unsafe.categories.get(column, ()) if one.unsafe]
    found.sort(key=lambda one: -sum(one.unsafe.values()))
    for one in found[:MOST_SHOWN]:
        figures = [figure(one.unsafe.get(size, 0)) for size in sizes]
        made.add_row("(missing)" if one.label is None else one.label, figure(one.rows), *figures)
    if len(found) > MOST_SHOWN:
        made.add_row(f"… {len(found) - MOST_SHOWN:,} more", style=show.QUIET)
    if not found:
        made.add_row("none is unsafe", style=show.QUIET)
    return made


def _blank_cells(preview: Suppressions) -> RichTable:
    made = show.table("Cells to suppress", "column", "cells", right=("cells",))
    for name, cells in preview.cells.items():
        made.add_row(name, figure(cells), style="" if cells else show.QUIET)
    return made


def _sizes(unsafe: Unsafe) -> list[int]:
    """Return the numbers of columns of the unsafe combinations."""
    return sorted({len(one.columns) for one in unsafe.combinations})


def _size_name(size: int) -> str:
    return {1: "alone", 2: "pairs", 3: "triples"}.get(size, f"{size} columns")
