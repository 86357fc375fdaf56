"""``indistinct solutions``: every k-minimal generalization of a table, and the preferred one among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading, TimeLimit, option
from indistinct.cli.paths import Tables, tables_given
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.search import Solution


def solutions(
    policy_path: PolicyPath,
    tables: Tables,
    preference: Annotated[
        str,
        option(
            "Which one is preferred: min-absolute, min-relative, max-distribution, min-suppression, highest-absolute-"
            "peak, highest-relative-peak, fewest-attributes or most-attributes."
        ),
    ] = "min-absolute",
    most: Annotated[int | None, option("How many to show, the preferred one among them. Else all.", min=1)] = None,
    *,
    reading: Reading,
    time_limit: TimeLimit = None,
    as_json: AsJson = False,
) -> None:
    """List every k-minimal generalization, and mark the preferred one.

    No column of one can stay at a lower level without suppressing more rows than the policy allows.
    """
    from indistinct.pipeline import solutions as minimal
    from indistinct.policy.files.policy_file import read_policy
    from indistinct.search import preference_named, preferred_solution

    policy = read_policy(policy_path)
    rank = preference_named(preference)
    with show.progress(time_limit) as watch:
        found = minimal(tables_given(policy, tables), policy, watch=watch, **reading.arguments())
    chosen = preferred_solution(found, preference)
    shown = found if most is None else sorted(found, key=lambda one: one is not chosen)[:most]
    if as_json:
        solved = [_solution_facts(one, one is chosen, rank(one) == rank(chosen)) for one in shown]
        show.document({"preference": preference, "found": len(found), "solutions": solved})
        return
    tied = [one for one in found if one is not chosen and rank(one) == rank(chosen)]
    numbers = ("height", "suppressed", "groups", "precision")
    title = counted(len(found), "k-minimal generalization") + (f", {len(shown)} shown" if shown is not found else "")
    made = show.table(title, "", "node", "generalized to", *numbers, right=numbers)
    for one in shown:
        climbed = [f"{name} {level}/{one.heights[name]}" for name, level in one.node.items() if level]
        figures = [sum(one.vector), one.suppressed, one.groups, one.measures["precision"]]
        made.add_row(
            "→" if one is chosen else "=" if one in tied else "",
            str(list(one.vector)),
            ", ".join(climbed) or "nothing",
            *map(figure, figures),
            style="bold" if one is chosen else "",
        )
    show.out().print(made)
    show.say(f"a node gives the levels of {', '.join(chosen.node)}; → is preferred by {preference}", show.QUIET)
    if tied:
        show.say(
            f"= ties with it by {preference}: {counted(len(tied), 'other')}; "
            f"→ has fewer steps relative to the heights, or fewer rows suppressed, or comes first",
            show.QUIET,
        )
    show.say("to release this one, or another by its levels, put these lines into the policy:", show.QUIET)
    for line in picking_lines(chosen):
        show.line(f"  {line}", show.ACCENT)
    show.next_steps(["anonymize", policy_path, *tables, "-o", "release"])


def picking_lines(solution: Solution) -> list[str]:
    """Return the lines of a policy that release a solution, whatever else is found later."""
    from indistinct.policy.files.policy_file import toml

    levels = {name: level for name, level in solution.node.items() if level}
    return ['algorithm = "chosen"', f"options = {toml({'node': levels})}"]


def _solution_facts(solution: Solution, is_preferred: bool, is_as_good: bool) -> dict[str, Any]:
    return {
        "node": dict(solution.node),
        "heights": dict(solution.heights),
        "height": sum(solution.vector),
        "suppressed": solution.suppressed,
        "groups": solution.groups,
        "measures": dict(solution.measures),
        "is_preferred": is_preferred,
        "is_tied": is_as_good and not is_preferred,
        "policy_lines": picking_lines(solution),
    }
