"""``indistinct solutions``: every k-minimal generalization of a table, and the preferred one among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading, Table, TimeLimit
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.algorithms.solutions import Solution


def solutions(
    policy_path: PolicyPath,
    table: Table,
    preference: Annotated[
        str,
        typer.Option(
            help="Which one is preferred: min-absolute, min-relative, max-distribution, min-suppression, "
            "highest-absolute-peak, highest-relative-peak, fewest-attributes or most-attributes."
        ),
    ] = "min-absolute",
    *,
    reading: Reading,
    time_limit: TimeLimit = None,
    as_json: AsJson = False,
) -> None:
    """List every k-minimal generalization, and mark the preferred one.

    No column of one can stay at a lower level without suppressing more rows than the policy allows.
    """
    from indistinct.algorithms.solutions import preference_named, preferred_solution
    from indistinct.pipeline import solutions as minimal
    from indistinct.policy.policy_file import read_policy

    policy = read_policy(policy_path)
    preference_named(preference)
    with show.progress(time_limit) as watch:
        found = minimal(table, policy, watch=watch, **reading.arguments())
    chosen = preferred_solution(found, preference)
    if as_json:
        show.document({"preference": preference, "solutions": [_solution_facts(one, one is chosen) for one in found]})
        return
    numbers = ("height", "suppressed", "groups", "precision")
    title = counted(len(found), "k-minimal generalization")
    made = show.table(title, "", "node", "generalized to", *numbers, right=numbers)
    for one in found:
        climbed = [f"{name} {level}/{one.heights[name]}" for name, level in one.node.items() if level]
        figures = [sum(one.vector), one.suppressed, one.groups, one.measures["precision"]]
        made.add_row(
            "→" if one is chosen else "",
            str(list(one.vector)),
            ", ".join(climbed) or "nothing",
            *map(figure, figures),
            style="bold" if one is chosen else "",
        )
    show.out().print(made)
    show.say(f"a node gives the levels of {', '.join(chosen.node)}; → is preferred by {preference}", show.QUIET)
    show.say(
        f'to release it put algorithm = "samarati" and options = {{ preference = "{preference}" }} into the policy',
        show.QUIET,
    )
    show.next_steps(["anonymize", policy_path, table, "-o", "release"])


def _solution_facts(solution: Solution, is_preferred: bool) -> dict[str, Any]:
    return {
        "node": dict(solution.node),
        "heights": dict(solution.heights),
        "height": sum(solution.vector),
        "suppressed": solution.suppressed,
        "groups": solution.groups,
        "measures": dict(solution.measures),
        "is_preferred": is_preferred,
    }
