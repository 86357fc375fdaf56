"""``indistinct utility``: what analyses of a release still give, beside the same analyses of its original."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading, ReleasePath, option, without_none
from indistinct.showing.numbers import figure, percent

if TYPE_CHECKING:
    from rich.table import Table as Shown

    from indistinct.data_utility.distributions import Marginals
    from indistinct.data_utility.own_analysis import OwnAnalysis
    from indistinct.data_utility.regression import ComparedRegression
    from indistinct.data_utility.utility_report import Utility
    from indistinct.pipeline.held_out import ModelUtility

SHOWN_PAIRS = 10
"""Pairs of columns that are listed, those that moved most."""


def utility(
    policy_path: PolicyPath,
    release: ReleasePath,
    original: Annotated[str, option("The private table.", metavar="TABLE", show_default=False)],
    regression: Annotated[
        list[str] | None, option("A regression to compare, as 'stay ~ age + sex'; may be repeated.", metavar="FORMULA")
    ] = None,
    query: Annotated[
        list[str] | None,
        option(
            "A query of your own, as 'select sex, avg(stay) from data group by sex', of both; may be repeated.",
            metavar="SQL",
        ),
    ] = None,
    draws: Annotated[
        int, option("Tables drawn from the release for queries; 0 takes means and likeliest values.", min=0)
    ] = 5,
    target: Annotated[
        str | None,
        option(
            "Also train a model of it on releases of 70 % of the rows, made as this one was, and judge it by the "
            "others.",
            metavar="COLUMN",
        ),
    ] = None,
    learner: Annotated[str, option("boosting or forest.")] = "boosting",
    metric: Annotated[str | None, option("A scorer of scikit-learn. Else accuracy, or r2.")] = None,
    splits: Annotated[int, option("How often rows are held out.", min=1)] = 5,
    bins: Annotated[int | None, option("Bins of equal frequency for numbers with more values. Else 20.", min=2)] = None,
    seed: Annotated[int, option("Draws other samples.", min=0)] = 0,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show whether analyses of a release give what they give on its original.

    Labels are spread over what they cover. The figures describe the private table: keep them as you keep that.
    """
    from indistinct.data_utility.utility_report import utility as measured
    from indistinct.policy.files.policy_file import read_policy

    policy = read_policy(policy_path)
    with show.progress() as watch:
        found = measured(
            release,
            original,
            policy,
            regressions=regression or (),
            own={one: one for one in query or ()},
            draws=draws,
            bins=bins,
            seed=seed,
            watch=watch,
            **reading.arguments(),
        )
        model = None
        if target is not None:
            from indistinct.pipeline.held_out import algorithm_that_made, model_utility
            from indistinct.release.released_tables import ReleasedTables

            made_by = algorithm_that_made(ReleasedTables.of(release, policy).said)
            options = {"learner": learner, "metric": metric, "splits": splits, "seed": seed, "algorithm": made_by}
            model = model_utility(
                original, policy, target, watch=watch, **without_none(**options), **reading.arguments()
            )
    if as_json:
        show.document(found.to_dict() | ({} if model is None else {"model": model.to_dict()}))
        return
    _show(found)
    if model is not None:
        _show_model(model)


def _show(found: Utility) -> None:
    console = show.out()
    console.print(_columns(found.marginals))
    if found.marginals.pairs:
        console.print(_pairs(found.marginals))
    if found.marginals.k_marginal is not None:
        show.say(f"k-marginal: {found.marginals.score_in_words}")
    show.say(f"pMSE ratio: {figure(found.propensity.ratio)} (0 is the same table, 1 as good as new rows)")
    for one in found.regressions:
        console.print(_regression(one))
        show.say(f"{one.regression}: {one.in_words}")
        for note in one.notes:
            show.say(f"note: {note}", "yellow")
    for own in found.own:
        console.print(_own(own))
    for note in found.notes:
        show.say(f"note: {note}", "yellow")


def _columns(found: Marginals) -> Shown:
    """Return how far each column moved."""
    heads = ("total variation", "exact", "suppressed", "mean before", "after")
    made = show.table("Columns", "column", *heads, right=heads)
    for one in found.columns:
        means = [figure(mean, "") for mean in (one.mean_before, one.mean_after)]
        made.add_row(one.column, figure(one.total_variation), percent(one.exact), percent(one.suppressed), *means)
    return made


def _pairs(found: Marginals) -> Shown:
    """Return the pairs that moved most."""
    heads = ("total variation", "Cramér's V before", "after", "correlation before", "after ")
    made = show.table("Pairs of columns", "columns", *heads, right=heads)
    worst = sorted(found.pairs, key=lambda one: (-one.total_variation, one.columns))
    for one in worst[:SHOWN_PAIRS]:
        strength = (one.cramers_v_before, one.cramers_v_after, one.correlation_before, one.correlation_after)
        made.add_row(", ".join(one.columns), figure(one.total_variation), *(figure(each, "") for each in strength))
    if len(found.pairs) > SHOWN_PAIRS:
        made.add_row(f"… {len(found.pairs) - SHOWN_PAIRS:,} more (--json has them all)", *[""] * 5, style=show.QUIET)
    return made


def _regression(found: ComparedRegression) -> Shown:
    """Return the coefficients before and after, each with its standard error."""
    heads = ("before", "error", "after", "error ", "overlap", "difference")
    made = show.table(str(found.regression), "term", *heads, "kept", right=heads)
    for one in found.coefficients:
        kept = [
            name for name, is_kept in (("sign", one.keeps_sign), ("significance", one.keeps_significance)) if is_kept
        ]
        figures = (one.before, one.error_before, one.after, one.error_after, one.overlap, one.standardised_difference)
        made.add_row(one.term, *(figure(each) for each in figures), ", ".join(kept))
    return made


def _own(found: OwnAnalysis) -> Shown:
    """Return the numbers of an analysis of the user's own."""
    heads = ("before", "after", "difference", "between draws")
    made = show.table(found.name, "figure", *heads, right=heads)
    for one in found.figures:
        figures = (one.before, one.after, one.difference, one.between_draws)
        made.add_row(one.figure or found.name, *(figure(each, "") for each in figures))
    return made


def _show_model(found: ModelUtility) -> None:
    """Show the scores of a learner, by what it was trained on."""
    heads = (found.metric, "spread")
    made = show.table(f"{found.learner} predicts {found.target}", "trained on", *heads, right=heads)
    for name, mean in found.means.items():
        made.add_row({"marginals": "marginals only"}.get(name, name), figure(mean), figure(found.spreads[name]))
    show.out().print(made)
    show.say(
        f"{len(found.release)} splits: releases of {found.rows:,} rows, judged by {found.held_out:,} that were held "
        "out before"
    )
