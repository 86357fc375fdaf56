"""suggestion(): the policy that a profile suggests, with its models and its algorithm, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from indistinct.linkage import unseen_pairs
from indistinct.pipeline.weighing import DIVERSE, MOST_MORE, MOST_OF_A_GROUP, Weighed, models_of, trial_loss, weigh
from indistinct.policy import Column, Policy, quasi
from indistinct.privacy import AlphaK, KAnonymity, LDiversity, PrivacyModel
from indistinct.profiling import (
    SHORTEST_PART,
    ColumnProfile,
    Profile,
    names_people,
    number_people,
    word_list,
    words_of,
)
from indistinct.progress import Watch
from indistinct.registry import DEFAULT_ALGORITHM
from indistinct.showing.words import counted

if TYPE_CHECKING:
    import pyarrow as pa

COMMON = 0.9
"""A value of such a share of all rows is known of everybody: no group is asked for another beside it."""
MOST_ALIKE = 0.1
"""A group of k rows that are put together by chance has one value more often than this: that costs much."""
MOST_ALIKE_WITHIN = 0.25
"""And so it does if groups of k rows that agree in one quasi column have one more often than this."""
HARDLY = 0.03
"""Models cost next to nothing, and are not tried, if that is so rare for the columns of all of them together."""
MOST_WEIGHED = 60
"""Of more sensitive columns the others get no model."""
MOST_NAMED = 8
"""Of more sensitive columns without a model the others are counted."""
MANY_QUASI = 30
"""More quasi columns than these are hardly what others know."""
RANDOM_RAISE = 0.1
"""Chance raises so large a share of the labels, so that none can be sharpened, which is proved for all models that are
suggested. It costs less than a tenth more loss (benchmarks, sharpening)."""
KEPT = 4.0
"""A column that must be kept weighs so much in the loss."""
MOST_ROWS = 400_000
"""A larger table is left to the search for whole columns, which counts tuples and takes seconds."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A policy that fits the table that was looked at, and what its models cost, where that was asked."""

    policy: Policy
    weighed: Weighed | None
    profile: Profile
    """What was looked at, with the columns that are dropped because no model of them can be had."""


def suggestion(
    profile: Profile,
    k: int = 5,
    max_suppression: int | float | None = 0.02,
    *,
    diverse: bool | None = None,
    kept: Sequence[str] = (),
    has_ranges: bool = False,
    watch: Watch | None = None,
) -> Suggestion:
    """Return the policy that a profile suggests, and what was weighed for it; ``reasons`` says it in sentences.

    Every sensitive column gets a model, so that no group shares a value, as long as all of them together raise the
    loss by no more than a tenth, which is tried on some rows; what then has none is dropped, since groups would tell
    it. With ``diverse`` all get one, whatever that costs, or none, and none is dropped. What is ``kept`` is not dropped
    either, and weighs more than other columns. With ``has_ranges`` labels are ranges and sets, which keep more and name
    values that occur.
    """
    alone = _with_models(profile, k, max_suppression, [])
    if diverse is False or k < DIVERSE:
        return Suggestion(_with_ranges(alone) if has_ranges else alone, None, profile)
    names, weighed = [one.name for one in _sensitive(profile)], None
    models = models_of(names, {})
    if diverse is None:
        weighed = _weigh(profile, alone, k, watch)
        chosen = {*weighed.chosen, *(name for name in kept if name not in weighed.limited)}
        models = models_of([name for name in names if name in chosen], weighed.limited)
        without = [one for one in _sensitive(profile) if one.name not in (*chosen, *weighed.limited)]
        profile = _with_dropped(profile, {one.name: _cause(one, k, weighed) for one in without})
    policy = _with_models(profile, k, max_suppression, models)
    policy = _with_weights(policy, kept)
    return Suggestion(_with_ranges(policy) if has_ranges else policy, weighed, profile)


def _with_ranges(policy: Policy) -> Policy:
    """Return the policy whose labels are ranges and sets; chance raises none of these, since their ends occur."""
    others = {name: said for name, said in policy.options.items() if name != "random_raise"}
    return replace(policy, algorithm="regroup", options={"measure": "loss"} | others | {"labels": "ranges"})


def _with_weights(policy: Policy, kept: Sequence[str]) -> Policy:
    """Return the policy so that what others must find in the release is generalized less than the rest."""
    heavy = {name: replace(policy.columns[name], weight=KEPT) for name in kept if name in policy.quasi}
    return policy.with_columns({**policy.columns, **heavy}) if heavy else policy


def _with_dropped(profile: Profile, causes: Mapping[str, str]) -> Profile:
    """Return the profile with columns dropped that no model keeps groups from telling, each with the cause."""
    columns = tuple(
        replace(
            one,
            role="drop",
            recode=None,
            reason=f"{one.reason}; dropped, since groups would tell it: {causes[one.name]}",
            is_unsure=True,
        )
        if one.name in causes
        else one
        for one in profile.columns
    )
    return replace(profile, columns=columns)


def suggested_policy(
    profile: Profile, k: int = 5, max_suppression: int | float | None = 0.02, *, diverse: bool | None = None
) -> Policy:
    """Return the policy that a profile suggests; it fits the table that was looked at.

    ``diverse`` says whether every sensitive column gets a model, so that no group shares a value; None gives one to
    those that can have it for at most a tenth more loss.
    """
    return suggestion(profile, k, max_suppression, diverse=diverse).policy


def _with_models(
    profile: Profile, k: int, max_suppression: int | float | None, models: Sequence[PrivacyModel]
) -> Policy:
    """Return the policy with some models beside k-anonymity."""
    columns = columns_of(profile)
    is_crowded = not models and _is_crowded(profile, k, max_suppression)
    algorithm = suggested_algorithm(profile, is_crowded=is_crowded)
    person = profile.person or list(profile.names) or None
    return Policy(
        columns=columns,
        privacy=[KAnonymity(k), *models],
        max_suppression=max_suppression,
        algorithm=algorithm,
        options={"measure": "loss", "random_raise": RANDOM_RAISE} if algorithm == "regroup" else {},
        person=person,
        one_row_per_person=profile.is_one_row_each or _has_one_row_each(profile),
    )


def columns_of(profile: Profile) -> dict[str, Column]:
    """Return the columns as the policy that a profile suggests has them."""
    return {
        column.name: quasi(column.hierarchy, missing=column.missing_codes, unreadable=column.unreadable)
        if column.role == "quasi"
        else _as_it_leaves(column)
        for column in profile.columns
    }


def _as_it_leaves(column: ColumnProfile) -> Column:
    """Return a column that is not generalized: as it is, or recoded so that no rare value leaves."""
    if column.recode is None:
        return Column(column.role)
    return Column(
        column.role,
        recode=column.recode,
        recode_level=column.recode_level,
        missing=column.missing_codes,
        unreadable=column.unreadable,
    )


def _weigh(profile: Profile, alone: Policy, k: int, watch: Watch | None) -> Weighed:
    """Return which sensitive columns can have a model; without a trial where that hardly costs, or nothing can be
    tried.

    Those come first whose groups have one value least often. Where nearly all rows have one no second one is asked for.
    """
    sensitive = _sensitive(profile)
    asked = sorted((one for one in sensitive if one.largest_share < COMMON), key=lambda one: _alike(one, k))
    harmful = {one.name: values for one in sensitive if (values := _harmful(one, profile.rows))}
    if profile.person or profile.names:
        harmful = {}  # who has several rows counts once in a group, which shares do not survive: no random_raise then
    names = [column.name for column in asked[:MOST_WEIGHED]]
    if profile.sample is None or profile.rows > MOST_ROWS:
        hardly = [one.name for one in asked if not _hindrance(one, k)]
        chosen = tuple(hardly[:1] + [one.name for one in asked if one.name in hardly[1:] and _alike(one, k) <= HARDLY])
        return Weighed(0, 0.0, 0.0, chosen, {}, dict.fromkeys(one.name for one in asked if one.name not in chosen))
    if sum(_alike(one, k) for one in asked) <= HARDLY and all(one.determined_by is None for one in asked):
        others = {name: values for name, values in harmful.items() if name not in names}
        return Weighed(0, 0.0, 0.0, tuple(names), others, dict.fromkeys(one.name for one in asked[MOST_WEIGHED:]))
    sample = _row_of_each(profile.sample, [name for name in (profile.person, *profile.names) if name])
    tried = replace(
        alone,
        columns={name: _as_sampled(alone.columns[name]) for name in sample.column_names},
        algorithm="mondrian",  # a tenth of the time of Regroup; it loses a little more, with models or without
        options={},
        person=None,
        one_row_per_person=True,
    )
    weighed = weigh(sample, tried, names, harmful, watch)
    models = models_of(weighed.chosen, weighed.limited)
    weighed.by_ranges = trial_loss(sample, replace(tried, options={"labels": "ranges"}), models, watch or Watch())
    weighed.left |= dict.fromkeys(one.name for one in asked[MOST_WEIGHED:])
    return weighed


def _row_of_each(sample: pa.Table, people: Sequence[str]) -> pa.Table:
    """Return the first row of each person, without the columns that name people: these are tried far more quickly."""
    if not people:
        return sample
    whose = zip(*(sample[name].to_pylist() for name in people), strict=True)
    first = {person: place for place, person in reversed(list(enumerate(whose)))}
    return sample.take(sorted(first.values())).drop_columns(list(people))


def _as_sampled(column: Column) -> Column:
    """Return a column as it stands in the sample: labels of a recoding stand there already."""
    return column if column.recode is None else Column(column.role)


def _harmful(column: ColumnProfile, rows: int) -> tuple[str, ...]:
    """Return the values of a column that a group must not share, where all may share another; none if that is not so.

    They are those beside a value that nearly all rows have, or beside no value at all, and those beside a "no" about
    health or offences. Of whoever did not survive the "no" harms as well.
    """
    if not column.values:
        return ()
    if column.missing > rows / 2:
        return column.values
    if column.largest_share >= COMMON:
        return column.values[1:]
    is_wanted = word_list("values.wanted").fits_any(words_of(column.name), SHORTEST_PART)
    harmless = [value for value in column.values if _is_absence(value, column.values)]
    if column.topic not in ("health", "offences") or is_wanted or column.values[0] not in harmless:
        return ()
    return tuple(value for value in column.values if value not in harmless)


def _is_absence(value: str, values: Sequence[str]) -> bool:
    """Return whether one of some values says that somebody does not have it: a word, or 0 beside 1.

    >>> [_is_absence(*one) for one in (("0_no", ()), ("No, never", ()), ("yes", ()), ("0", "01"), ("0", "012"))]
    [True, True, False, True, False]
    """
    if word_list("values.absence").fits_any(words_of(value)[:1]):
        return True
    return value in ("0", "0.0") and sorted(values) in (["0", "1"], ["0.0", "1.0"])


def suggested_algorithm(profile: Profile, *, is_crowded: bool) -> str:
    """Return Regroup, which loses far less, unless k alone is asked of a table that is nearly so, or it is very large.

    Where no more rows stand in groups below k than may be suppressed, the lattice leaves all others as they are.
    """
    return DEFAULT_ALGORITHM if is_crowded or profile.rows > MOST_ROWS else "regroup"


def _is_crowded(profile: Profile, k: int, max_suppression: int | float | None) -> bool:
    """Return whether only as many rows as may be suppressed stand in groups of fewer than k; nobody of several."""
    if k - 1 > len(profile.small_groups) or (k > 1 and not profile.small_groups):
        return False
    limit = 0 if profile.person or profile.names else max_suppression or 0
    allowed = limit * profile.rows if isinstance(limit, float) else limit
    return sum(profile.small_groups[: k - 1]) <= allowed


def _has_one_row_each(profile: Profile) -> bool:
    """Return whether a policy must say that every row is of somebody else, since else what repeats would be refused."""
    numbers = [one.name for one in profile.with_role("identifier") if names_people(one.name) == "number"]
    return bool(profile.namesakes) and (not numbers or any(name in numbers for name in profile.namesakes))


def reasons(profile: Profile, policy: Policy, weighed: Weighed | None = None) -> list[str]:
    """Say in sentences why a suggested policy has its algorithm and its models, and which columns determine others.

    ``weighed`` is what models cost, where that was tried.
    """
    many = len(profile.with_role("quasi"))
    k = next(model.k for model in policy.privacy if isinstance(model, KAnonymity))
    columns = counted(many, "quasi column")
    if policy.algorithm == "regroup":
        why = f"a table loses far less cell by cell than with one level for each column; here are {columns}"
    elif profile.rows > MOST_ROWS:
        why = f"it takes seconds for {profile.rows:,} rows, and finds the best level for each of {columns}"
    else:
        why = f"nearly all rows stand in groups of {k} or more by {columns} already"
    found = [*_open_decisions(profile, policy), f"{policy.algorithm}, because {why}"]
    if profile.rows_below:
        found.append(
            f"the last {counted(profile.rows_below, 'row lacks', 'rows lack')} most cells, as notes and totals below a "
            "sheet do: take them out of the table, else they are counted as people"
        )
    if many > MANY_QUASI:
        found.append(
            f"{columns} are more than anybody knows of a person, and little is left of a table that hides all of them: "
            "make other what nobody can link by, drop what is not needed, or ask against whoever knows few (--known 3)"
        )
    if policy.algorithm == "regroup":
        found.append(_said_of_random_raise(policy))
        found += _said_of_ranges(policy, weighed)
    if profile.namesakes:
        found.append(
            f"nothing shows that rows with the same {' and '.join(profile.namesakes)} are one person's, "
            "so they are taken for namesakes; if they are, say person"
        )
    diverse = [model.column for model in policy.privacy if isinstance(model, LDiversity) and model.column]
    limited = [model.column for model in policy.privacy if isinstance(model, AlphaK) and model.column]
    found += _said_of_models(diverse, weighed)
    found += _said_of_limits(limited)
    without = [column for column in _sensitive(profile) if column.name not in (*diverse, *limited)]
    found += _without_model(without, k, weighed)
    found += _said_of_dropped([one.name for one in profile.with_role("drop")])
    found += [f"{one.sentence}: whoever reads one learns the other" for one in profile.dependencies]
    released = [column.name for column in profile.columns if column.role in ("other", "sensitive")]
    return [*found, *unseen_pairs(released, policy.quasi)]


def _open_decisions(profile: Profile, policy: Policy) -> list[str]:
    """Say what must be decided before there is a release: whose rows those of one number are, where some lack one."""
    if policy.person is not None or policy.one_row_per_person:
        return []
    numbers = [one for one in profile.with_role("identifier") if names_people(one.name) == "number"]
    return [
        f"open: {one.name} is the same in several rows, and says nothing sure of whose they are: say person = "
        f"{one.name!r}, or one_row_per_person = true if every row is of somebody else; anonymize refuses until then"
        for one in numbers
        if number_people(profile.rows - one.missing, one.distinct)
    ]


def _said_of_models(names: Sequence[str], weighed: Weighed | None) -> list[str]:
    """Say why columns have a model, and what that costs."""
    if not names:
        return []
    said = (
        f"l-diversity (l = {DIVERSE}) of {_some(names)}, because otherwise everybody in a group may have the same value"
    )
    if weighed is None:
        return [f"{said}; it may cost much: compare the loss with that of a policy without it (--no-diverse)"]
    if not weighed.rows:
        return [f"{said}; it costs next to nothing (--no-diverse leaves it out)"]
    return [f"{said}; {_losses(weighed, weighed.loss)} (--no-diverse leaves it out)"]


def _said_of_limits(names: Sequence[str]) -> list[str]:
    """Say of which columns single values are limited, and what a group may share."""
    if not names:
        return []
    return [
        f"(α,k)-anonymity (alpha = {MOST_OF_A_GROUP}) of {_some(names)}: nearly all people have one value, or it says "
        "no; a group may share that, which is taken for harmless, and no group may share another; if it harms as well, "
        f"ask for {DIVERSE} values (--diverse)"
    ]


def _some(names: Sequence[str]) -> str:
    """Name some columns, and count the others."""
    more = f" and {counted(len(names) - MOST_NAMED, 'more column')}" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _losses(weighed: Weighed, loss: float) -> str:
    """Say what a trial lost with and without models."""
    return f"a trial with {weighed.rows:,} rows lost {loss:.3f} with it and {weighed.alone:.3f} without"


def _said_of_random_raise(policy: Policy) -> str:
    """Say what labels reveal of the values below them, and what is done about it."""
    if policy.options.get("labels") == "ranges":
        return (
            "labels are ranges and sets, which lose less: ends of a range and members of a set occur in its group, so "
            "more can be told of the values below than by labels of hierarchies (--labels hierarchy)"
        )
    if given := policy.options.get("random_raise"):
        return (
            f"random_raise = {given}: chance raises some labels, so that none can be sharpened, for up to 10 % more "
            "loss; "
            "each run makes another release, so give out one alone; without it (--random-raise 0) labels are the lowest"
        )
    return (
        "no random_raise: every group carries the lowest labels, which reveal something of the values below; "
        "random_raise = 0.1 "
        "among the options (--random-raise 0.1) lets chance raise some labels, so that none can be sharpened, for up "
        "to "
        "10 % more loss"
    )


def _said_of_ranges(policy: Policy, weighed: Weighed | None) -> list[str]:
    """Say what ranges would lose, where that was tried and is less, and why they are not what is suggested."""
    by_ranges = None if weighed is None else weighed.by_ranges
    if weighed is None or by_ranges is None or by_ranges >= weighed.loss or policy.options.get("labels") == "ranges":
        return []
    return [
        f"labels by hierarchies lose {weighed.loss:.3f} in a trial with {weighed.rows:,} rows, ranges and sets "
        f"{by_ranges:.3f} (--labels ranges): their ends occur in the group, so more can be told of the values below"
    ]


def _sensitive(profile: Profile) -> list[ColumnProfile]:
    """Return the sensitive columns that have several values, the most sensitive first; a missing cell is one."""
    several = (one for one in profile.with_role("sensitive") if one.distinct + (one.missing > 0) > 1)
    return sorted(several, key=lambda column: column.urgency)


def _alike(column: ColumnProfile, k: int) -> float:
    """Return how often groups of k rows have one value of a column, put together by chance or as they agree in one."""
    return max(column.largest_share**k, column.alike_within(k)[1])


def _in_percent(share: float) -> str:
    """Return a share in whole percent, and neither none nor all where it is not.

    >>> _in_percent(0.183), _in_percent(0.0007), _in_percent(0.998)
    ('18 %', 'less than 1 %', 'more than 99 %')
    """
    percent = round(100 * share)
    if percent == 0 < share:
        return "less than 1 %"
    return "more than 99 %" if percent == 100 and share < 1 else f"{percent} %"


def _hindrance(column: ColumnProfile, k: int) -> str:
    """Say why groups of k rows can hardly have two values of a column; nothing if they can."""
    if column.determined_by is not None:
        return f"{column.determined_by}, which is quasi, mostly determines it: should that be sensitive too?"
    if k < DIVERSE or column.largest_share**k > MOST_ALIKE:
        return f"{_in_percent(column.largest_share)} of all rows have one value: groups would have to be much larger"
    within, alike = column.alike_within(k)
    if alike > MOST_ALIKE_WITHIN:
        often = f"{100 * alike:.0f} % of the groups of {k} rows that agree in {within} have one value by chance"
        return f"{often}: groups would have to be much larger"
    return ""


def _without_model(columns: list[ColumnProfile], k: int, weighed: Weighed | None) -> list[str]:
    """Name the sensitive columns that have no model, and say why they have none."""
    if not columns:
        return []
    said = [f"no model for {column.name}: {_cause(column, k, weighed)}" for column in columns[:MOST_NAMED]]
    if len(columns) > MOST_NAMED:
        said.append(f"no model for {counted(len(columns) - MOST_NAMED, 'more sensitive column')}")
    said.append(
        "without a model a group may have one sensitive value, which then is that of each of its people, and attack "
        "all says so: ask for a model of each (--diverse), drop the column, or make it other if it is no secret"
    )
    return said


def _said_of_dropped(names: Sequence[str]) -> list[str]:
    """Name the columns that are dropped, and say how they can stay."""
    if not names:
        return []
    return [
        f"dropped: {_some(names)}; the reason stands beside each. To keep a secret in spite of the loss ask for "
        f"{DIVERSE} values of each (--diverse); what is no secret and nobody can link by can be made other"
    ]


def _cause(column: ColumnProfile, k: int, weighed: Weighed | None) -> str:
    """Say why a column has no model."""
    if weighed is None:
        return "none was asked for"
    if column.largest_share >= COMMON:
        return f"{_in_percent(column.largest_share)} of all rows have one value, which no group could hide"
    loss = weighed.left.get(column.name)
    hindrance = _hindrance(column, k) or "others come first"
    if loss is None:
        return hindrance
    return f"{_losses(weighed, loss)}, and {MOST_MORE} more is allowed; {hindrance}"
