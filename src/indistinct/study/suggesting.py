"""suggested_policy(): the policy that a profile suggests, with its models and its algorithm, and why."""

from __future__ import annotations

from indistinct.linkage.telling_columns import unseen_pairs
from indistinct.policy import Column, Policy, quasi
from indistinct.policy.column_names import names_people
from indistinct.privacy import KAnonymity, LDiversity, PrivacyModel
from indistinct.showing.words import counted
from indistinct.study.column_roles import ColumnProfile
from indistinct.study.profiling import Profile

DIVERSE = 2
"""So many sensitive values each group is asked for: more costs much and protects little more."""
MOST_ALIKE = 0.1
"""A model is suggested if groups of k rows, put together by chance, have one value no more often than this."""
MOST_ALIKE_WITHIN = 0.25
"""And if groups of k rows that agree in one quasi column have one no more often than this."""
HARDLY, HARDLY_WITHIN, MOST_MODELS = 0.01, 0.1, 6
"""Further columns get a model if that is so rare for theirs; models are no more than so many."""
MOST_NAMED = 8
"""Of more sensitive columns without a model the others are counted."""
MANY_QUASI = 30
"""More quasi columns than these are hardly what others know."""
DOUBT = 0.1
"""Chance raises so large a share of the labels, so that none can be sharpened, which is proved for all models that are
suggested. It costs less than a tenth more loss (benchmarks, sharpening)."""
MOST_ROWS = 400_000
"""A larger table is left to the search for whole columns, which counts tuples and takes seconds."""


def suggested_policy(
    profile: Profile, k: int = 5, max_suppression: int | float | None = 0.02, *, diverse: bool = False
) -> Policy:
    """Give the policy that a profile suggests; it fits the table that was looked at.

    With ``diverse`` every sensitive column gets a model, whatever that costs, so that no group shares a value.
    """
    columns = {
        column.name: quasi(column.hierarchy, missing=column.missing_codes, unreadable=column.unreadable)
        if column.role == "quasi"
        else Column(column.role)
        for column in profile.columns
    }
    models = _models_of_all(profile) if diverse and k >= DIVERSE else suggested_models(profile, k)
    is_crowded = not models and _is_crowded(profile, k, max_suppression)
    algorithm = suggested_algorithm(profile, is_crowded=is_crowded)
    person = profile.person or list(profile.names) or None
    return Policy(
        columns=columns,
        privacy=[KAnonymity(k), *models],
        max_suppression=max_suppression,
        algorithm=algorithm,
        options={"measure": "loss", "doubt": DOUBT} if algorithm == "regroup" else {},
        person=person,
        one_row_per_person=_has_one_row_each(profile),
    )


def suggested_algorithm(profile: Profile, *, is_crowded: bool) -> str:
    """Give Regroup, which loses far less, unless k alone is asked of a table that is nearly so, or it is very large.

    Where no more rows stand in groups below k than may be suppressed, the lattice leaves all others as they are.
    """
    return "lattice" if is_crowded or profile.rows > MOST_ROWS else "regroup"


def _is_crowded(profile: Profile, k: int, max_suppression: int | float | None) -> bool:
    """Tell whether only as many rows as may be suppressed stand in groups of fewer than k; nobody of several."""
    if k - 1 > len(profile.small_groups) or (k > 1 and not profile.small_groups):
        return False
    limit = 0 if profile.person or profile.names else max_suppression or 0
    allowed = limit * profile.rows if isinstance(limit, float) else limit
    return sum(profile.small_groups[: k - 1]) <= allowed


def _has_one_row_each(profile: Profile) -> bool:
    """Tell whether a policy must say that every row is of somebody else, since else what repeats would be refused."""
    numbers = [one.name for one in profile.with_role("identifier") if names_people(one.name) == "number"]
    return bool(profile.namesakes) and (not numbers or any(name in numbers for name in profile.namesakes))


def suggested_models(profile: Profile, k: int) -> list[PrivacyModel]:
    """Give distinct l-diversity, l = 2, for the most sensitive column of a known topic that groups of k can have it of.

    A model costs much where groups often have one value by chance, and several cost far more than each. So of the
    other sensitive columns those get one, up to some, whose values are so spread that groups of k rows hardly ever
    have one. A column gets none if a group of k rows too often has one value by chance, be they any rows or some that
    agree in a quasi column, or if a quasi column tells it: groups would have to be far larger than k, or to lose that
    quasi column. ``reasons`` names the columns without a model.
    """
    first = next((column for column in _candidates(profile) if not _hindrance(column, k)), None)
    named = [] if first is None else [first.name]
    for column in _sensitive(profile):
        if len(named) < MOST_MODELS and column.name not in named and _is_spread(column, k):
            named.append(column.name)
    return [LDiversity(DIVERSE, column=name) for name in named]


def _models_of_all(profile: Profile) -> list[PrivacyModel]:
    """Give distinct l-diversity, l = 2, for every sensitive column that has several values."""
    return [LDiversity(DIVERSE, column=column.name) for column in _sensitive(profile)]


def reasons(profile: Profile, policy: Policy) -> list[str]:
    """Say in sentences why a suggested policy has its algorithm and its models, and which columns tell others."""
    many = len(profile.with_role("quasi"))
    k = next(model.k for model in policy.privacy if isinstance(model, KAnonymity))
    columns = counted(many, "quasi column")
    if policy.algorithm == "regroup":
        why = f"a table loses far less cell by cell than with one level for each column; here are {columns}"
    elif profile.rows > MOST_ROWS:
        why = f"it takes seconds for {profile.rows:,} rows, and finds the best level for each of {columns}"
    else:
        why = f"nearly all rows stand in groups of {k} or more by {columns} already"
    found = [f"{policy.algorithm}, because {why}"]
    if many > MANY_QUASI:
        found.append(
            f"{columns} are more than anybody knows of a person, and little is left of a table that hides all of them: "
            "make other what nobody can link by, drop what is not needed, or ask against whoever knows few (--known 3)"
        )
    if policy.algorithm == "regroup":
        found.append(_said_of_doubt(policy))
    if profile.namesakes:
        found.append(
            f"nothing shows that rows with the same {' and '.join(profile.namesakes)} are one person's, "
            "so they are taken for namesakes; if they are, say person"
        )
    named = {column.name: column for column in profile.columns}
    with_model = [model.column for model in policy.privacy if isinstance(model, LDiversity) and model.column]
    found += [_said_of_model(named[name], k) for name in with_model]
    found += _without_model([column for column in _sensitive(profile) if column.name not in with_model], k)
    found += [f"{one.sentence}: whoever reads one learns the other" for one in profile.dependencies]
    released = [column.name for column in profile.columns if column.role in ("other", "sensitive")]
    return [*found, *unseen_pairs(released, policy.quasi)]


def _said_of_model(column: ColumnProfile, k: int) -> str:
    """Say why a column has a model, and what it may cost."""
    said = f"l-diversity of {column.name}, because otherwise everybody in a group may have the same value"
    if hindrance := _hindrance(column, k):
        return f"{said}; it may cost much: {hindrance}"
    share = _in_percent(column.largest_share)
    return f"{said}; l = {DIVERSE}, since the most frequent value has {share} of all rows"


def _said_of_doubt(policy: Policy) -> str:
    """Say what labels tell of the values below them, and what is done about it."""
    if given := policy.options.get("doubt"):
        return (
            f"doubt = {given}: chance raises some labels, so that none can be sharpened, for up to 10 % more loss; "
            "each run makes another release, so give out one alone; without doubt (--doubt 0) labels are the lowest"
        )
    return (
        "no doubt: every group carries the lowest labels, which tell something of the values below; doubt = 0.1 "
        "among the options (--doubt 0.1) lets chance raise some labels, so that none can be sharpened, for up to "
        "10 % more loss"
    )


def _sensitive(profile: Profile) -> list[ColumnProfile]:
    """Give the sensitive columns that have several values, the most sensitive first."""
    return sorted(
        (column for column in profile.with_role("sensitive") if column.distinct > 1), key=lambda column: column.urgency
    )


def _candidates(profile: Profile) -> list[ColumnProfile]:
    """Give the sensitive columns of a known topic, the most sensitive first."""
    return [column for column in _sensitive(profile) if column.topic is not None]


def _is_spread(column: ColumnProfile, k: int) -> bool:
    """Tell whether groups of k rows hardly ever have one value of a column, also where they agree in another."""
    if k < DIVERSE or column.told_by is not None or not column.alike:
        return False
    return column.largest_share ** (k - 1) <= HARDLY and column.alike_within(k)[1] <= HARDLY_WITHIN


def _in_percent(share: float) -> str:
    """Give a share in whole percent, and neither none nor all where it is not.

    >>> _in_percent(0.183), _in_percent(0.0007), _in_percent(0.998)
    ('18 %', 'less than 1 %', 'more than 99 %')
    """
    percent = round(100 * share)
    if percent == 0 < share:
        return "less than 1 %"
    return "more than 99 %" if percent == 100 and share < 1 else f"{percent} %"


def _hindrance(column: ColumnProfile, k: int) -> str:
    """Say why groups of k rows can hardly have two values of a column; nothing if they can."""
    if column.told_by is not None:
        return f"{column.told_by}, which is quasi, mostly tells it: should that be sensitive too?"
    if k < DIVERSE or column.largest_share**k > MOST_ALIKE:
        return f"{_in_percent(column.largest_share)} of all rows have one value: groups would have to be much larger"
    within, alike = column.alike_within(k)
    if alike > MOST_ALIKE_WITHIN:
        often = f"{100 * alike:.0f} % of the groups of {k} rows that agree in {within} have one value by chance"
        return f"{often}: groups would have to be much larger"
    return ""


def _without_model(columns: list[ColumnProfile], k: int) -> list[str]:
    """Name the sensitive columns that have no model, and say why they have none."""
    said = [
        f"no model for {column.name}: {_hindrance(column, k) or 'each costs much of the table, and others come first'}"
        for column in columns[:MOST_NAMED]
    ]
    if len(columns) > MOST_NAMED:
        said.append(f"no model for {len(columns) - MOST_NAMED} more sensitive columns")
    if columns:
        said.append(
            "without a model a group may have one sensitive value, which then is that of each of its people; "
            "diverse (--diverse) asks for a model of each"
        )
    return said
