"""``indistinct paper``: the papers' tables, figures and examples, computed anew beside what is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, argument, option
from indistinct.errors import PolicyError, VerificationError
from indistinct.showing.numbers import figure as number_text

if TYPE_CHECKING:
    from indistinct.papers import PaperStatement, PaperTable, Reproduction

MARKS = {"same": True, "known difference": None, "not printed": None, "not computed": None, "DIFFERS": False}


def paper(
    name: Annotated[str | None, argument("[FIGURE]", "Its name. Else all are listed.")] = None,
    every: Annotated[bool, option("Compute all but those that take long.", "--all")] = False,
    adult: Annotated[
        str | None, option("UCI Adult: the folder of its files, or a table. Else it is made up.", metavar="PATH")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the papers' tables, figures and examples, computed anew, beside what the papers print.

    Exit code 3 says that something differs that is not known to differ.
    """
    from indistinct.papers import FIGURES
    from indistinct.papers import paper as reproduce

    if name is not None and every:
        raise PolicyError("name a figure, or say --all; not both")
    if name is None and not every:
        _list(as_json)
        return
    names = [name] if name is not None else [own for own, (_, one) in FIGURES.items() if not one.is_large]
    found = []
    for own in names:
        found.append(reproduce(own, adult=adult))
        if not as_json:
            _print(found[-1], is_whole=name is not None)
    if as_json:
        agrees = all(one.agrees for one in found)
        show.document({"agrees": agrees, "figures": [one.to_dict() for one in found]})
    wrong = [one.name for one in found if not one.agrees]
    if wrong:
        show.say(f"differs, and is not known to: {', '.join(wrong)}", show.BAD)
        raise typer.Exit(VerificationError.exit_code)


def _list(as_json: bool) -> None:
    from indistinct.papers import FIGURES

    if as_json:
        facts = [
            {"name": name, "paper": of, "where": one.where, "title": one.title} for name, (of, one) in FIGURES.items()
        ]
        show.document({"figures": facts})
        return
    for of in dict.fromkeys(of for of, _ in FIGURES.values()):
        made = show.table(of, "name", "where", "what")
        for name, (whose, one) in FIGURES.items():
            if whose == of:
                made.add_row(name, one.where, one.title)
        show.out().print(made)
    show.next_steps(["paper", "achieving-figure-10"], ["paper", "--all"])


def _print(found: Reproduction, *, is_whole: bool) -> None:
    """Print all of a reproduction, or how each of its statements came out."""
    console = show.out()
    console.print(f"{found.name}: {found.title} ({found.paper}, {found.where})", style="bold", soft_wrap=True)
    made = show.table(None, "", "", "computed", "printed")
    for one in found.statements:
        is_table = hasattr(one.found, "rows")
        cells = _of_tables(one) if is_table else (_text(one.found), _text(one.printed))
        made.add_row(_mark(one), one.name, *cells)
    console.print(made)
    for one in found.statements:
        if is_whole and hasattr(one.found, "rows"):
            console.print(_side_by_side(one))
        if one.why:
            show.tell(f"  {one.name}: {one.why}")
    if found.note:
        show.say(f"note: {found.note}", show.QUIET)


def _mark(one: PaperStatement) -> Any:
    if one.status == "known difference":
        return show.mark(None)
    return "" if MARKS[one.status] is None else show.mark(MARKS[one.status])


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return f"[{', '.join(_text(item) for item in value)}]"
    return str(value) if isinstance(value, bool | str | int) else number_text(value)


def _of_tables(one: PaperStatement) -> tuple[str, str]:
    tables = (one.found, one.printed)
    first, second = ("–" if own is None else f"{sum(n for _, n in own.rows)} rows" for own in tables)
    return first, second


def _side_by_side(one: PaperStatement) -> Any:
    """Return a table's rows with how often each was computed, and how often it is printed."""
    found: PaperTable = one.found
    computed, printed = dict(found.rows), dict(() if one.printed is None else one.printed.rows)
    beside = () if one.printed is None else ("printed", "")
    made = show.table(one.name, *found.columns, "computed", *beside, right=("computed", "printed"))
    for cells in sorted({*computed, *printed}):
        counts = computed.get(cells, 0), printed.get(cells, 0)
        made.add_row(*cells, str(counts[0]), *((str(counts[1]), show.mark(counts[0] == counts[1])) if beside else ()))
    return made
