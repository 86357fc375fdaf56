"""``indistinct attack downcoding`` and ``refinement``: which generalized cells a release by itself lets sharpen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.attacks import DowncodingReport

Anything = Annotated[
    str,
    typer.Argument(metavar="RELEASE", help="A folder that anonymize wrote, or any table file.", show_default=False),
]
RecodingOf = Annotated[
    str | None, typer.Option(help="What a table without a manifest is: full-domain or local. Else found out.")
]
Most = Annotated[int, typer.Option(min=0, help="How many findings to describe; all are counted.")]


def downcoding(
    policy_path: PolicyPath,
    release: Anything,
    assume: Annotated[
        list[str] | None,
        typer.Option(
            help="What the release is believed to promise: lowest-labels, minimal, minimal-rows, or nothing. "
            "Else what its algorithm promises."
        ),
    ] = None,
    recoding: RecodingOf = None,
    suppressed: Annotated[
        int | None, typer.Option(min=0, help="How many rows were suppressed, if there is no manifest that says so.")
    ] = None,
    most: Most = 10,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show which generalized cells somebody can sharpen who sees the release and its policy only.

    A label that is no higher than it must be tells about the values below it. Exit code 0 also with findings.
    """
    from indistinct.attacks.sharpening.downcoding import downcoding as sharpen
    from indistinct.policy.files.policy_file import read_policy

    policy = read_policy(policy_path)
    report = sharpen(
        release,
        policy,
        assume=None if assume is None else [name for name in assume if name != "nothing"],
        recoding=recoding,  # type: ignore[arg-type]  # it is checked there
        suppressed=suppressed,
        most=most,
        **reading.arguments(),
    )
    show.either(report, _show, as_json)


def refinement(
    policy_path: PolicyPath,
    release: Anything,
    assume: Annotated[
        list[str] | None,
        typer.Option(
            help="What the release is believed to promise: what downcoding knows, and whole-tuples or node-by-node of "
            "all groups together, or nothing. Else what its algorithm promises."
        ),
    ] = None,
    recoding: RecodingOf = None,
    time_limit: Annotated[
        float, typer.Option(min=0, help="Seconds to look for; what was found by then is true.")
    ] = 60.0,
    most: Most = 10,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show which generalized cells all groups of a local release together sharpen.

    Integer and linear programs bound how many rows lie under each lower label. Exit code 0 also with findings.
    """
    from indistinct.attacks.sharpening.refinement import refinement as refine
    from indistinct.policy.files.policy_file import read_policy

    report = refine(
        release,
        read_policy(policy_path),
        assume=None if assume is None else [name for name in assume if name != "nothing"],
        recoding=recoding,  # type: ignore[arg-type]  # it is checked there
        time_limit=time_limit,
        most=most,
        **reading.arguments(),
    )
    show.either(report, _show, as_json)


def _show(report: DowncodingReport) -> None:
    console = show.out()
    console.print(_columns(report))
    if report.kinds:
        console.print(_findings(report))
        for number, finding in enumerate(report.findings, 1):
            show.tell(f"  {number}. {finding.sentence}")
        console.print()
    is_sharpened = report.sharpened_cells > 0 or report.smallest_crowd < report.k
    show.say(report.summary, show.BAD if is_sharpened else show.GOOD)
    for meaning in report.assumed.values() or ["nothing"]:
        show.say(f"assumed: {meaning}", show.QUIET)
    show.caveats(report.notes, report.advice if report.kinds else (), report.scope)


def _columns(report: DowncodingReport) -> Table:
    """Return the numbers of each column that has generalized cells."""
    numbers = ("generalized cells", "sharpened", "groups", "with crowds below k")
    size = f"{counted(report.rows, 'row')} in {counted(report.groups, 'group')}"
    title = f"{report.name.capitalize()}: {size}, {report.recoding}"
    made = show.table(title, "column", *numbers, right=numbers)
    for column in report.columns:
        figures = (
            column.generalized_cells,
            column.sharpened_cells,
            column.generalized_groups,
            column.groups_with_crowds,
        )
        made.add_row(column.column, *map(figure, figures))
    return made


def _findings(report: DowncodingReport) -> Table:
    """Return how often each kind of finding was made, worst first."""
    from indistinct.attacks.sharpening.downcoding_report import KINDS

    made = show.table("Findings, worst first", "findings", "kind", "what it says", right=("findings",))
    for kind, number in report.kinds.items():
        made.add_row(figure(number), kind, KINDS[kind])
    return made
