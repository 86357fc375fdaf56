"""What commands show: data on stdout as tables or JSON, words and progress on stderr, always in one style."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import typer

from indistinct.showing.numbers import figure

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from indistinct.attacks import AttackReport
    from indistinct.errors import IndistinctError
    from indistinct.progress import Watch
    from indistinct.proof.checks import ShownCheck
    from indistinct.release.manifest import Facts

ACCENT = "cyan"
GENERALIZED = "bold yellow"
GOOD = "green"
BAD = "bold red"
QUIET = "dim"

STAGES = {
    "count": "counting tuples",
    "search": "searching",
    "anneal": "improving groups",
    "mix": "mending groups that fail",
    "exchange": "exchanging rows between groups",
    "bound": "working out what no release gets below",
    "height": "searching the lattice",
    "sweep": "sweeping the lattice",
    "combinations": "testing combinations",
    "suppress": "choosing cells to blank",
    "release": "making the release",
    "verify": "recounting the release",
    "write": "writing the release",
    "ledger": "checking against earlier releases",
    "profile": "looking at the columns",
    "weigh": "trying what models cost",
    "report": "counting for the report",
    "utility": "comparing with the original",
    "dependencies": "looking for columns that tell others",
    "join": "joining releases",
    "queries": "counting queries",
    "review": "looking at every release",
}

_quiet = ContextVar("quiet", default=False)
SUMMARY = ("precision", "accuracy", "completeness", "loss", "average-group-size", "discernibility")
"""The measures that a summary shows; ``--json`` gives all."""


class Reported(Protocol):
    """What a command found."""

    def to_dict(self) -> dict[str, Any]: ...


def out() -> Console:
    """Return the console of data. Cells are never read as markup."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False, quiet=_quiet.get())


def words() -> Console:
    """Return the console of words and progress."""
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False, emoji=False, quiet=_quiet.get())


@contextmanager
def quietly(is_quiet: bool = True) -> Iterator[None]:
    """Print nothing for the time of the block but errors and JSON documents."""
    before = _quiet.set(is_quiet or _quiet.get())
    try:
        yield
    finally:
        _quiet.reset(before)


def document(content: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def either(found: Reported, in_words: Callable[[Any], None], as_json: bool) -> None:
    """Print what was found as one JSON document, or in words."""
    if as_json:
        document(found.to_dict())
    else:
        in_words(found)


def finding(found: AttackReport) -> None:
    """Say in a line what an attack found, beside a verdict of which it is no part."""
    say(f"{found.attack}: {found.summary}", "yellow" if found.is_broken else QUIET)


def caveats(notes: Iterable[str], advice: Sequence[str], scope: str) -> None:
    """Say what is to be known of a finding, what helps against it, and what was not looked at."""
    for note in notes:
        say(f"note: {note}", QUIET)
    if advice:
        say("what helps: " + "; ".join(advice))
    say(scope, QUIET)


def error_facts(error: IndistinctError) -> dict[str, Any]:
    """Return an error as JSON takes it."""
    return {"error": {"kind": type(error).__name__, "message": str(error), "exit_code": error.exit_code}}


def failure(kind: str, message: str, exit_code: int, as_json: bool) -> None:
    """Tell about an error: in red on stderr, or as a JSON document on stdout."""
    if as_json:
        document({"error": {"kind": kind, "message": message, "exit_code": exit_code}})
        return
    from rich.text import Text

    before = _quiet.set(False)  # errors are always told
    try:
        _sentence(words(), Text.assemble(("error: ", BAD), (message, "red")))
    finally:
        _quiet.reset(before)


def is_quiet() -> bool:
    """Return whether no words are to be shown."""
    return _quiet.get()


def say(text: str, style: str = "") -> None:
    """Print a line of words on stderr."""
    _sentence(words(), text, style)


def tell(text: str) -> None:
    """Print a finding, a line of data in words, on stdout."""
    _sentence(out(), text)


def _sentence(console: Console, text: str | Text, style: str = "") -> None:
    """Print words: on a screen no word is cut at its edge; elsewhere a line stays a line."""
    console.print(text, style=style, soft_wrap=not console.is_terminal)


def indent(text: str) -> None:
    """Print words on stderr below a line that they belong to."""
    from rich.padding import Padding

    console = words()
    console.print(
        Padding(text, (0, 0, 0, 4)) if console.is_terminal else f"    {text}", soft_wrap=not console.is_terminal
    )


def line(text: str, style: str = "") -> None:
    """Print on stderr what is to be copied: a line that stays one."""
    words().print(text, style=style, soft_wrap=True)


def next_steps(*commands: Sequence[object]) -> None:
    """Suggest on stderr what to do next: commands as they can be typed."""
    console = words()
    for position, command in enumerate(commands):
        console.print("next: " if position == 0 else "      ", style=QUIET, end="", soft_wrap=True)
        console.print(shell_line(command), style=ACCENT, soft_wrap=True)


def shell_line(command: Sequence[object]) -> str:
    """Return a command as it is typed in a shell.

    >>> shell_line(["verify", "policy.toml", "my release"])
    "indistinct verify policy.toml 'my release'"
    """
    return shlex.join(["indistinct", *map(str, command)])


def table(title: str | None, *columns: str, right: Iterable[str] = ()) -> Table:
    """Return an empty table in the house style; columns in ``right`` are numbers."""
    from rich import box

    from indistinct.cli.fitted_table import FittedTable

    made = FittedTable(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, header_style=ACCENT)
    numbers = set(right)
    for column in columns:
        made.add_column(column, justify="right" if column in numbers else "left")
    return made


def facts(pairs: Iterable[tuple[str, object]]) -> Table:
    """Return facts as two columns: what, and how much."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style=QUIET)
    grid.add_column()
    for name, value in pairs:
        grid.add_row(f"  {name}", figure(value))
    return grid


def level_bar(level: int, height: int) -> Text:
    """Draw how far a column climbed its hierarchy."""
    from rich.text import Text

    return Text.assemble(("■" * level, GENERALIZED if level else ""), ("□" * (height - level), QUIET))


def levels(facts_of_release: Facts) -> Table:
    """Return the level of each quasi column of a release, with its name; on average where cells climb one by one.

    A release of two tables changes no cell: what is shown are its tables.
    """
    if not facts_of_release.shape.generalizes:
        return _two_tables(facts_of_release)
    if facts_of_release.node is None:
        return _mean_levels(facts_of_release)
    made = table("Generalization", "column", "level", "of", "", "released as", right=("level", "of"))
    for name, level in facts_of_release.node.items():
        height = facts_of_release.heights[name]
        label = (facts_of_release.level_names or {})[name]
        made.add_row(name, str(level), str(height), level_bar(level, height), "as it is" if level == 0 else label)
    return made


def _two_tables(facts_of_release: Facts) -> Table:
    link = facts_of_release.link
    made = table(f"Two tables, linked by {link}", "table", "columns, as they are")
    for name, rows in facts_of_release.tables.items():
        made.add_row(name, ", ".join(column for column in rows.columns if column != link))
    return made


def _mean_levels(facts_of_release: Facts) -> Table:
    heads = ("column", "level on average", "of", "")
    made = table("Generalization, cell by cell", *heads, right=heads[1:3])
    for name, level in (facts_of_release.mean_levels or {}).items():
        height = facts_of_release.heights[name]
        made.add_row(name, f"{level:.2f}", str(height), level_bar(round(level), height))
    return made


def measures(figures: Mapping[str, float]) -> Table:
    """Return the measures that people know, in words."""
    from indistinct.registry import MEASURES

    made = table("Measures", "measure", "figure", right=("figure",))
    for name in (name for name in SUMMARY if name in figures):
        made.add_row(f"{name}: {MEASURES[name].title}", figure(figures[name]))
    return made


def checks(found: Iterable[ShownCheck], title: str = "Verification") -> Table:
    """Return checks, whether each passed, and what was found."""
    made = table(title, "", "check", "found")
    for check in found:
        made.add_row(mark(check.passed), check.name, check.detail)
    return made


def mark(is_good: bool | None) -> Text:
    """Return a check mark or a cross; an exclamation mark for what is to be decided."""
    from rich.text import Text

    if is_good is None:
        return Text("!", "yellow")
    return Text("✓", GOOD) if is_good else Text("✗", BAD)


def beside_or_below(console: Console, left: Table, right: Table) -> RenderableType:
    """Put two tables side by side where the console is wide enough, else one below the other."""
    from rich.console import Group
    from rich.table import Table

    needed = sum(console.measure(part).maximum for part in (left, right)) + 2
    if needed > console.width:
        return Group(left, "", right)
    grid = Table.grid(padding=(0, 2))
    grid.add_row(left, right)
    return grid


FIRST_LINE, NEXT_LINE = 5.0, 10.0
"""Seconds after which a command whose words go to a file says how far it is, and again."""


@dataclass(slots=True)
class PlainProgress:
    """Says in lines how far long work is, where nothing can be drawn: what is done, how far, how long still."""

    clock: Callable[[], float] = time.monotonic
    stage: str = ""
    started: float = 0.0
    next_line: float | None = None

    def __call__(self, stage: str, done: int | None, total: int | None) -> None:
        """Say how far a stage is, if nothing was said for a while."""
        now = self.clock()
        if stage != self.stage:
            self.stage, self.started = stage, now
        if self.next_line is None:
            self.next_line = now + FIRST_LINE
        _say_if_compiling(stage)
        if now >= self.next_line:
            self.next_line = now + NEXT_LINE
            say(stage_line(stage, done, total, now - self.started), QUIET)


def stage_line(stage: str, done: int | None, total: int | None, seconds: float) -> str:
    """Return a stage in words: how far it is, and after some seconds of it how long it still takes, about.

    >>> stage_line("count", 30, 100, 3.0), stage_line("mix", None, None, 1.0)
    ('counting tuples: 30 %, about 7 s more', 'mending groups that fail')
    """
    before, _, own = stage.rpartition(": ")
    shown = f"{before}: {STAGES.get(own, own)}" if before else STAGES.get(own, own)
    if done is None or not total:
        return shown
    left = f", about {seconds * (total - done) / done:.0f} s more" if 0 < done < total and seconds >= 1 else ""
    return f"{shown}: {100 * done / total:.0f} %{left}"


@contextmanager
def progress(time_limit: float | None = None) -> Iterator[Watch]:
    """Return a watch that shows the stages of long work on stderr: drawn on a terminal, else a line now and then."""
    from indistinct.progress import Watch

    console = words()
    if not console.is_terminal:
        yield Watch(time_limit=time_limit, progress=PlainProgress())
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    shown = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    with shown:
        task = shown.add_task("reading the table", total=None)

        begun: dict[str, float] = {}

        def report(stage: str, done: int | None, total: int | None) -> None:
            _say_if_compiling(stage)
            seconds = time.monotonic() - begun.setdefault(stage, time.monotonic())
            shown.update(task, description=stage_line(stage, done, total, seconds), completed=done or 0, total=total)

        yield Watch(time_limit=time_limit, progress=report)


def _say_if_compiling(stage: str) -> None:
    if stage == "compile":
        say("first run: the kernels are being compiled, which takes some seconds and happens once", QUIET)
