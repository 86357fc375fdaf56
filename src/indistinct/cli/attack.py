"""``indistinct attack``: a command for each attack of the registry, and ``attack all``.

An attack says of itself what it asks for and which options it has: its command, its help and what it shows are made
from that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature, cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli import show
from indistinct.cli.command import CommandLine, Group
from indistinct.cli.options import AsJson, EarlierPolicies, NamedRecipient, PolicyPath, Reading, ReleasePath, option
from indistinct.cli.paths import policy_of_recipient, tables_given
from indistinct.errors import ExposedError
from indistinct.showing.numbers import figure

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.attacks import Attack, AttackReport, AttackRun, Option, OtherTable
    from indistinct.policy import Policy

GOOD_ENOUGH = {"nothing": True, "something": None, "broken": False}
"""Whether a release can leave by what an attack found; None where that is to be decided."""
STYLES = {"broken": show.BAD, "something": "yellow", "nothing": show.GOOD}
FINDINGS_ARE_NO_ERROR = "Exit code 0 also with findings."


class AttackCommands(Group):
    """The commands of all attacks that there are when it is made."""

    def __init__(self, **settings: Any) -> None:
        from indistinct.registry import ATTACKS

        super().__init__(**settings)
        made = {name.replace("_", "-"): _function_of(attack) for name, attack in ATTACKS.items()}
        self.commands = {name: _command(name, function) for name, function in {**made, "all": run_all}.items()}


app = CommandLine(
    name="attack", cls=AttackCommands, help="Try to undo a release, as a recipient could.", no_args_is_help=True
)


@app.callback()
def attack() -> None:
    """Try to undo a release, as a recipient could."""


def _command(name: str, function: Callable[..., None]) -> Any:
    """Return a function as a command of its own."""
    single = CommandLine()
    single.command(name)(function)
    return typer.main.get_command(single)


def _function_of(kind: type[Attack]) -> Callable[..., None]:
    """Return the function of an attack's command: its parameters are what the attack asks for, and its options."""
    annotations: dict[str, Any] = {"policy_path": PolicyPath}
    before = [table for table in kind.asks if table.is_several]
    annotations |= {table.place: _argument(table) for table in before}
    annotations["release"] = ReleasePath
    annotations |= {table.place: _argument(table) for table in kind.asks if not table.is_several}
    defaults: dict[str, Any] = {}
    for table in kind.takes:
        annotations[table.place] = Annotated[str | None, option(table.help, metavar="TABLE")]
        defaults[table.place] = None
    for name, said in kind.options():
        annotations[name], defaults[name] = _option(name, said), None if said.is_several else kind.usual(name)
    if any(table.place == "earlier" for table in kind.asks):
        annotations["earlier_policies"], defaults["earlier_policies"] = EarlierPolicies, None
    annotations |= {"recipient": NamedRecipient, "reading": Reading, "as_json": AsJson}
    defaults |= {"recipient": None, "as_json": False}
    found = partial(_attack, kind)
    found.__name__ = kind.name  # type: ignore[attr-defined]
    found.__doc__ = f"{cleandoc(kind.__doc__ or kind.title)}\n\n{FINDINGS_ARE_NO_ERROR}"
    found.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name, Parameter.empty), annotation=annotation)
            for name, annotation in annotations.items()
        ]
    )
    return found


def _argument(table: OtherTable) -> Any:
    """Return how a table is given that an attack cannot do without."""
    taken = typer.Argument(metavar=table.metavar, help=table.help, show_default=False)
    return Annotated[list[str] if table.is_several or table.is_named else str, taken]


def _option(name: str, said: Option) -> Any:
    """Return how an option is given."""
    kind: Any = said.of
    if kind is not bool:
        kind = list[kind] | None if said.is_several else kind | None
    limits = {key: limit for key, limit in (("min", said.least), ("max", said.largest)) if limit is not None}
    flag = (f"--{name}/--no-{name}" if said.of is bool else f"--{name}").replace("_", "-")
    return Annotated[kind, option(said.help, flag, metavar=said.metavar, **limits)]


def _attack(
    kind: type[Attack],
    policy_path: Path,
    release: str,
    reading: Reading,
    recipient: str | None,
    as_json: bool,
    earlier: list[str] | str | None = None,
    earlier_policies: list[Path] | None = None,
    original: list[str] | str | None = None,
    **others: Any,
) -> None:
    """Try one attack, and show what it found; ``others`` are its options, and the other tables that it takes."""
    options = {name: _read(said, others.pop(name)) for name, said in kind.options()}
    policy = policy_of_recipient(policy_path, recipient)
    if earlier is not None:
        others["earlier"] = [earlier] if isinstance(earlier, str) else earlier
        others["earlier_policies"] = _policies(earlier_policies, policy)
    if original is not None:
        others["original"] = tables_given(policy, original, "ORIGINAL") if isinstance(original, list) else original
    made = kind(**{name: value for name, value in options.items() if value is not None})
    report = made.attack(kind.target_of(release, policy, **others, **reading.arguments()))
    show.either(report, _show, as_json)


def _read(said: Option, typed: Any) -> Any:
    """Return an option as the attack takes it; None if nothing was typed."""
    if typed is None or (said.is_several and not typed):
        return None
    return typed if said.read is None else said.read(typed)


def _policies(paths: list[Path] | None, policy: Policy) -> Policy | list[Policy]:
    """Read the policies of earlier releases: one for all, or one for each; without any, that of the release."""
    from indistinct.policy.files.policy_file import read_policy

    read = [read_policy(path) for path in paths or ()]
    return policy if not read else read[0] if len(read) == 1 else read


def _show(report: AttackReport) -> None:
    console = show.out()
    tables = report.tables()
    for one in tables:
        made = show.table(one.title, *one.heads, right=one.heads[one.words :])
        for row in one.rows:
            made.add_row(*map(figure, row))
        console.print(made)
    if not tables:
        console.print(show.facts(report.figures.items()))
    for number, sentence in enumerate(report.sentences, 1):
        show.tell(f"  {number}. {sentence}")
    show.say(report.summary, STYLES[report.severity])
    for assumed in report.assumptions:
        show.say(f"assumed: {assumed}", show.QUIET)
    show.caveats(report.notes, report.advice if report.is_found else (), report.scope)


def run_all(
    policy_path: PolicyPath,
    release: ReleasePath,
    earlier: Annotated[
        list[str] | None, option("An earlier release of the same source; earliest first.", metavar="RELEASE")
    ] = None,
    earlier_policies: EarlierPolicies = None,
    external: Annotated[str | None, option("A table that names people, such as a voter list.", metavar="TABLE")] = None,
    original: Annotated[
        list[str] | None,
        option(
            "The private table, to compare order and guesses with. Of linked tables each one, as NAME=TABLE.",
            metavar="TABLE",
        ),
    ] = None,
    report: Annotated[Path | None, option("Also write the whole report: .md or .json.", metavar="FILE")] = None,
    most: Annotated[int, option("How many findings of each attack to describe.", min=0)] = 5,
    recipient: NamedRecipient = None,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Run every attack that applies, and say what was assumed known, what was found and what to do.

    Exit code 6 says that an attack exposes people: do not hand the release out. Lesser findings leave it at 0.
    """
    from indistinct import attacks

    policy = policy_of_recipient(policy_path, recipient)
    with show.progress() as watch:
        found = attacks.run(
            release,
            policy,
            earlier=earlier or (),
            earlier_policies=_policies(earlier_policies, policy),
            external=external,
            original=tables_given(policy, original, "--original") if original else None,
            most=most,
            watch=watch,
            **reading.arguments(),
        )
    if report is not None:
        found.write(report)
    if as_json:
        show.document(found.to_dict())
    else:
        _show_all(found, report)
    if found.is_broken:
        raise typer.Exit(ExposedError.exit_code)


def _show_all(found: AttackRun, path: Path | None) -> None:
    console = show.out()
    console.print(_outcomes(found))
    for outcome in found.outcomes:
        if outcome.findings or outcome.meaning:
            console.print(outcome.title, style="bold")
            for finding in outcome.findings:
                show.tell(f"  - {finding}")
            if outcome.meaning:
                show.tell(f"what it means: {outcome.meaning}")
                if outcome.advice:
                    show.tell(f"what to do: {'; or '.join(one.removeprefix('or ') for one in outcome.advice)}")
    show.say(found.summary, STYLES[found.severity])
    if path is not None:
        show.say(f"the whole report is in {path}")


def _outcomes(found: AttackRun) -> Table:
    """Return the outcome of each attack, and why others were not run."""
    from indistinct.registry import ATTACKS

    made = show.table(f"Attacks on {found.release}", "", "attack", "outcome")
    for outcome in found.outcomes:
        made.add_row(show.mark(GOOD_ENOUGH[outcome.severity]), outcome.title, outcome.summary)
    for name, why in found.not_run.items():
        made.add_row("", ATTACKS[name].title, f"not run: {why}")
    return made
