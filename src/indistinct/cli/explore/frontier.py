"""``indistinct frontier``: what every k would cost, for several suppression limits, from one sweep of the lattice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from indistinct.atomic_files import write_whole
from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading, Table, TimeLimit, option
from indistinct.cli.paths import refuse_place
from indistinct.errors import PolicyError
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.policy import Policy
    from indistinct.search import Frontier, Point
    from indistinct.showing.chart import Chart

LIMITS = "0,0.01,0.02,0.05,0.1"
KINDS = (".parquet", ".json", ".svg")
MOST_KS = 10_000
MOST_SHOWN = 25
"""Rows of the table on the screen; files hold all."""
STYLES = ("cyan", "red", "green", "magenta", "yellow", "blue", "white")
"""One per line of the drawing."""


def frontier(
    policy_path: PolicyPath,
    table: Table,
    ks: Annotated[
        str | None, option("The ks to ask for, such as 2,5,10 or 2-100. The policy's own is added.", "--ks")
    ] = None,
    measure: Annotated[
        list[str] | None,
        option("What counts, such as precision, loss or discernibility; may be repeated, the first is shown."),
    ] = None,
    limits: Annotated[
        str, option("Suppression limits, such as 0,0.01,5: shares, or whole numbers of rows. The policy's is added.")
    ] = LIMITS,
    output: Annotated[
        Path | None,
        option(
            "Write every node and k (.parquet), the best releases (.json) or a chart (.svg).",
            "--output",
            "-o",
            metavar="FILE",
        ),
    ] = None,
    replace: Annotated[bool, option("Replace the file if it exists.", "--replace")] = False,
    *,
    reading: Reading,
    time_limit: TimeLimit = None,
    as_json: AsJson = False,
) -> None:
    """Show which k the table can afford: the best release for every k and suppression limit.

    The whole lattice is counted once, for k-anonymity on one quasi-identifier; policies with other models are refused.
    A release is made by anonymize.
    """
    from indistinct import pipeline
    from indistinct.policy.files.policy_file import read_policy

    if output is not None:
        refuse_place(output, "a frontier", KINDS, replace=replace)
    asked_ks, asked_limits = _ks(ks), _limits(limits)
    policy = read_policy(policy_path)
    own_k, own_limit = _own_k(policy), 0 if policy.max_suppression is None else policy.max_suppression
    all_limits = [limit for _, limit in sorted({_order(limit): limit for limit in [*asked_limits, own_limit]}.items())]
    with show.progress(time_limit) as watch:
        found = pipeline.frontier(
            table,
            policy,
            ks=_with_own(asked_ks, own_k),
            measures=_measures(policy, measure),
            watch=watch,
            **reading.arguments(),
        )
    first = next(iter(found.losses))
    own = found.best(own_k, own_limit, first) if own_k in found.ks else None
    content = found.to_dict(all_limits) | {
        "measure": first,
        "policy": {"k": own_k, "max_suppression": own_limit, "best": _point_facts(own)},
    }
    if output is not None:
        watch.report("write")
        if output.suffix == ".parquet":
            import pyarrow.parquet

            write_whole(output, lambda partial: pyarrow.parquet.write_table(found.to_arrow(), partial))
        elif output.suffix == ".svg":
            write_whole(output, _chart(found, all_limits, first).svg())
        else:
            write_whole(output, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    if as_json:
        show.document(content | {"written": None if output is None else str(output)})
        return
    _show(found, all_limits, first, (own_k, own_limit))
    _summarize(found, own, own_k, own_limit)
    if output is not None:
        show.say(f"written to {output}", show.GOOD)
    show.next_steps(["anonymize", policy_path, table, "-o", "release"])


def _own_k(policy: Policy) -> int:
    return max([model.least_rows for _, _, model in policy.requirements()], default=1)


def _with_own(asked: Sequence[int] | None, own_k: int) -> list[int] | None:
    """Return the ks to sweep; None for the usual ones if the policy's is among them."""
    from indistinct.search import DEFAULT_KS

    return None if asked is None and own_k in DEFAULT_KS else sorted({*(DEFAULT_KS if asked is None else asked), own_k})


def _measures(policy: Policy, asked: Sequence[str] | None) -> list[str]:
    """Return the measures that were asked for, else the usual ones, the policy's own first."""
    from indistinct.policy.algorithms import exact_measure_of
    from indistinct.search import DEFAULT_MEASURES

    if asked:
        return list(dict.fromkeys(asked))
    own = exact_measure_of(policy)
    return list(dict.fromkeys([*([own] if own else []), *DEFAULT_MEASURES]))


def _ks(text: str | None) -> list[int] | None:
    """Read numbers and ranges of them.

    >>> _ks("2-4, 10")
    [2, 3, 4, 10]
    """
    if text is None:
        return None
    found: set[int] = set()
    for part in text.split(","):
        ends = [end.strip() for end in part.split("-")]
        is_good = len(ends) <= 2 and all(end.isascii() and end.isdigit() and len(end) <= 9 for end in ends)
        low, high = (int(ends[0]), int(ends[-1])) if is_good else (0, 0)
        if not 1 <= low <= high:
            raise PolicyError(f"--ks: {part.strip()!r} is neither a k of at least 1 nor a range of them, such as 2-100")
        if high - low >= MOST_KS:
            raise PolicyError(f"--ks: {part.strip()!r} asks for more than {MOST_KS:,} ks; name fewer")
        found.update(range(low, high + 1))
    return sorted(found)


def _limits(text: str) -> list[int | float]:
    """Read suppression limits: numbers of rows if they are written without a decimal point, else shares.

    >>> _limits("0, 0.05, 12")
    [0, 0.05, 12]
    """
    from indistinct.policy import suppression_mistakes

    found: list[int | float] = []
    for part in text.split(","):
        limit: int | float | str = part.strip()
        for kind in (float, int):
            try:
                limit = kind(part)
            except ValueError:
                continue
        if mistakes := suppression_mistakes(limit):
            raise PolicyError([f"--limits: {mistake.partition(': ')[2]}" for mistake in mistakes])
        assert not isinstance(limit, str)  # else it was a mistake
        found.append(limit)
    return found


def _order(limit: int | float) -> tuple[bool, float]:
    """Shares come before numbers of rows, so 1.0, which is all rows, is not 1, which is one."""
    return isinstance(limit, int) and limit > 0, limit


def _limit_in_words(limit: int | float) -> str:
    """Return a suppression limit in words.

    >>> _limit_in_words(0), _limit_in_words(0.025), _limit_in_words(1.0), _limit_in_words(3)
    ('0 %', '2.5 %', '100 %', '3 rows')
    """
    if isinstance(limit, float) or limit == 0:
        return f"{100 * limit:.6g} %"
    return counted(limit, "row")


def _point_facts(point: Point | None) -> dict[str, Any] | None:
    if point is None:
        return None
    return {"k": point.k, "node": point.node, "suppressed": point.suppressed, "value": point.value}


def _shown_ks(found: Frontier, own_k: int) -> list[int]:
    """Return the ks that the screen has room for: all, or about evenly many of each size, the policy's among them."""
    from indistinct.search import DEFAULT_KS

    possible = [k for k in found.ks if k <= found.rows or k == own_k]
    if len(possible) <= MOST_SHOWN:
        return possible
    few = [k for k in possible if k in (possible[0], own_k, possible[-1], *DEFAULT_KS)]
    if len(few) < MOST_SHOWN // 3:
        few = sorted({*few, *possible[:: -(-len(possible) // (MOST_SHOWN - len(few)))]})
    return few


def _show(found: Frontier, limits: Sequence[int | float], measure: str, own: tuple[int, int | float]) -> None:
    """Print the best figures, k by suppression limit, and draw them."""
    from rich.text import Text

    console = show.out()
    names = [_limit_in_words(limit) for limit in limits]
    made = show.table(f"Best {measure} by k and suppression limit", "k", *names, right=("k", *names))
    shown = _shown_ks(found, own[0])
    for k in shown:
        cells = []
        for limit in limits:
            point = found.best(k, limit, measure)
            is_own = (k, _order(limit)) == (own[0], _order(own[1]))
            text = "–" if point is None else figure(point.value)
            cells.append(Text(f"→ {text}" if is_own else text, show.GENERALIZED if is_own else ""))
        made.add_row(str(k), *cells)
    console.print(made)
    chart = _chart(found, limits, measure)
    if any(len(line.points) > 1 for line in chart.lines):
        for pieces in chart.text(min(100, max(40, console.width - 2))):
            drawn = Text("  ")
            for text, line in pieces:
                drawn.append(text, show.QUIET if line is None else STYLES[line % len(STYLES)])
            console.print(drawn, soft_wrap=True)
        console.print(Text(f"  {measure} (up) over k (right), one line for each suppression limit", show.QUIET))
    if len(shown) < len(found.ks):
        show.say(f"{len(shown)} of {len(found.ks)} ks are shown; -o FILE.json holds all", show.QUIET)


def _chart(found: Frontier, limits: Sequence[int | float], measure: str) -> Chart:
    """Return one line per suppression limit: the measure's best figure over k."""
    from indistinct.showing.chart import Chart, Line

    lines = []
    for limit in limits:
        points = [(k, found.best(k, limit, measure)) for k in found.ks]
        lines.append(
            Line(_limit_in_words(limit), tuple((float(k), point.value) for k, point in points if point is not None))
        )
    title = f"Best {measure} by k and suppression limit"
    return Chart(
        title, "k (rows that each person hides among)", measure, tuple(lines), is_log_x=True, legend="suppressed up to"
    )


def _summarize(found: Frontier, own: Point | None, k: int, limit: int | float) -> None:
    """Say what the policy's own cell means."""
    asked = f"k = {k} with at most {_limit_in_words(limit)} suppressed"
    if own is None:
        show.say(f"→ the policy asks for {asked}: no node satisfies it", "yellow")
        return
    climbed = ", ".join(f"{name} {level}" for name, level in own.node.items() if level)
    show.say(
        f"→ the policy asks for {asked}: node {list(own.node.values())}, "
        f"{counted(own.suppressed, 'row')} of {found.rows:,} suppressed"
    )
    show.say(f"  levels: {climbed or 'nothing is generalized'}; {len(found.nodes):,} nodes were counted", show.QUIET)
