"""Analyses of releases: sound bounds of 24 questions to Adult, and a regression on visits with skewed counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import indistinct as ix
from benchmarks import tables, visits
from benchmarks.data import hierarchy_of
from benchmarks.setting import Figures, Setting, say

NORMAL = 1.959963984540054
KNOWN = ("age", "sex", "race", "marital-status")
"""The quasi columns of the smaller release."""
MEANS = (
    "",
    "sex=Female",
    "sex=Male",
    "race=Black",
    "workclass=Private",
    "education=Bachelors",
    "marital-status=Never-married",
    "marital-status=Divorced",
)
RATES = (
    "",
    "sex=Female",
    "sex=Male",
    "race=Black",
    "age>=40",
    "age<25",
    "education=Masters",
    "marital-status=Never-married",
)
MODELS = (
    ("age",),
    ("sex",),
    ("age", "sex"),
    ("age", "sex", "race"),
    ("age", "marital-status"),
    ("sex", "marital-status"),
)
QUESTIONS = [
    *(("mean", "age", one) for one in MEANS),
    *(("rate", "rich", one) for one in RATES),
    *(("linear", "rich", (names, names[0])) for names in MODELS),
    ("linear", "rich", (("age", "sex"), "sex")),
    ("linear", "rich", (("age", "sex", "race"), "sex")),
]
"""24 analyses: means of age, rates of high pay, and a coefficient of linear models."""
SEEDS = (1, 2, 3)
ROWS = 50_000
FORMULA = "readmitted=yes ~ race + gender + age + admission + days + diagnoses + inpatient + emergency"


def run_bounds(setting: Setting) -> list[Figures]:
    """Ask each question of releases of Adult, and compare the width of the bounds with the 95 % interval."""
    rows = setting.adult
    cells = {name: np.array(rows.values(at), object)[rows.codes[at]] for at, name in enumerate(rows.columns)}
    cells["rich"] = np.where(cells.pop("salary-class") == ">50K", "1", "0")
    found = []
    for quasi in (tuple(name for name in cells if name != "rich"), KNOWN):
        for labels in setting.few(("ranges", "hierarchy")):
            columns = {name: ix.quasi(hierarchy_of(name)) if name in quasi else ix.other() for name in cells}
            policy = ix.Policy(columns, [ix.KAnonymity(5)])
            with ix.anonymize(pa.table(cells), policy, algorithm=ix.Regroup(labels=labels)) as release:
                asked = [_asked(release, policy, cells, one) for one in QUESTIONS[:: 8 if setting.is_quick else 1]]
            inside, ratios = [is_inside for is_inside, _ in asked], [ratio for _, ratio in asked]
            found.append({"quasi": len(quasi), "labels": labels, "inside": sum(inside), "ratios": ratios})
            say(f"  {sum(inside)} of {len(asked)} inside; {_widths(found[-1])}")
    return found


def _asked(release: Any, policy: ix.Policy, cells: dict[str, Any], question: tuple[str, str, Any]) -> Any:
    """Return whether the true answer is inside the bounds, and their width in 95 % intervals of the original."""
    function, column, about = question
    y = cells[column].astype(float)
    if function == "linear":
        names, term = about
        query, known = f"linear({column} ~ {' + '.join(names)})", np.ones(len(y), np.bool_)
        x, titles = _features(cells, names)
    else:
        query = f"{function}({column if function == 'mean' else 'rich=1'}){f' where {about}' if about else ''}"
        known, x, titles, term = _where(cells, about), np.ones((len(y), 1)), [""], ""
    x, y = x[known], y[known]
    inverse = np.linalg.pinv(x.T @ x)
    truth = inverse @ (x.T @ y)
    error = np.sqrt(np.diag(inverse) * ((y - x @ truth) ** 2).sum() / max(1, len(y) - x.shape[1]))
    at = next(place for place, title in enumerate(titles) if title.partition("=")[0] == term)
    possible = {name: sorted(set(own)) for name, own in cells.items()}  # as a codebook says it
    ages = cells["age"].astype(int)
    between = possible | {"age": (int(ages.min()), int(ages.max())), "rich": (0, 1)}
    answers = ix.bounds(release, query, policy, between=between).answers
    answer = next((one for one in answers if one.group == titles[at]), answers[0])
    is_inside = (answer.low is None or answer.low <= truth[at] + 1e-9) and (
        answer.high is None or truth[at] - 1e-9 <= answer.high
    )
    interval = 2 * NORMAL * float(error[at])
    ratio = None if answer.width is None or not interval else answer.width / interval
    return bool(is_inside), ratio


def _where(cells: dict[str, Any], condition: str) -> Any:
    """Return the rows that meet a condition of the list above."""
    for sign in (">=", "<", "="):
        name, found, value = condition.partition(sign)
        if found:
            own = cells[name]
            if sign == "=":
                return own == value
            return own.astype(int) >= int(value) if sign == ">=" else own.astype(int) < int(value)
    return np.ones(len(cells["age"]), np.bool_)


def _features(cells: dict[str, Any], names: tuple[str, ...]) -> tuple[Any, list[str]]:
    parts, titles = [np.ones(len(cells["age"]))], ["(constant)"]
    for name in names:
        if name == "age":
            parts.append(cells[name].astype(float))
            titles.append(name)
            continue
        for value in sorted(set(cells[name]))[1:]:
            parts.append((cells[name] == value).astype(float))
            titles.append(f"{name}={value}")
    return np.column_stack(parts), titles


def _widths(one: Figures) -> str:
    ratios = np.array([np.inf if ratio is None else ratio for ratio in one["ratios"]])
    return f"{one['quasi']} quasi columns, {one['labels']}: {np.median(ratios):.2g} ({np.mean(ratios <= 1):.0%})"


def section_of_bounds(figures: list[Figures]) -> str:
    """Return the section of the page."""
    inside, asked = sum(one["inside"] for one in figures), sum(len(one["ratios"]) for one in figures)
    text = f"""Means, rates and coefficients on Adult, k = 5: {inside} of {asked} bounds hold the true value. Median
width in 95 % intervals of the original (share at most 1): {"; ".join(map(_widths, figures))}."""
    return tables.section("Sound answers", "bounds", text)


def run_visits(setting: Setting) -> list[Figures]:
    """Compare a logistic regression on visits, all of whose predictors are quasi, with that of the original."""
    found = []
    for seed in setting.few(SEEDS):
        table = visits_to_regress(setting.sized(ROWS), seed)
        for k in setting.few((5, 20)):
            with ix.anonymize(table, _policy(k), algorithm=ix.Regroup(labels="ranges")) as release:
                (one,) = ix.utility(release, table, regressions=[FORMULA]).regressions
            skewed = [pair.overlap or 0.0 for pair in one.coefficients if pair.term in ("inpatient", "emergency")]
            found.append(
                {"seed": seed, "k": k, "overlap": one.overlap, "disjoint": one.disjoint, "least_skewed": min(skewed)}
            )
            say(f"  seed {seed}, k = {k}: {one.in_words}; skewed counts at least {min(skewed):.3f}")
    return found


def visits_to_regress(rows: int, seed: int) -> pa.Table:
    """Draw visits with an outcome, and two counts of which most are 0 and some are above 20."""
    drawn = visits.visits(max(1, rows * 7 // 10), rows, seed)
    rng = np.random.default_rng(seed + 1)
    text = {name: np.array(drawn[name].to_pylist()) for name in ("race", "gender", "age", "admission")}
    age = np.array([int(one[1:].partition("-")[0]) for one in text["age"]]) + rng.integers(0, 10, rows)
    days = drawn["days"].to_numpy()
    often = rng.gamma(0.45, 1 / 0.45, rows) * np.exp((age - 60) / 100) * 0.63
    inpatient = np.minimum(rng.poisson(often), 21)
    emergency = np.minimum(rng.poisson(0.2 * rng.gamma(0.2, 5.0, rows)), 40)
    diagnoses = np.clip(rng.normal(7.4, 1.9, rows).round(), 1, 16).astype(int)
    chance = -1.2 + 0.006 * (age - 60) + 0.02 * days + 0.22 * np.minimum(inpatient, 6) + 0.1 * np.minimum(emergency, 5)
    chance += 0.04 * (diagnoses - 7) + 0.1 * (text["gender"] == "female") - 0.1 * (text["race"] == "black")
    chance += 0.15 * (text["admission"] == "emergency")
    readmitted = np.where(rng.random(rows) < 1 / (1 + np.exp(-chance)), "yes", "no")
    columns = {"race": text["race"], "gender": text["gender"], "age": age, "admission": text["admission"]}
    counts = {"days": days, "diagnoses": diagnoses, "inpatient": inpatient, "emergency": emergency}
    return pa.table(columns | counts | {"readmitted": readmitted})


def _policy(k: int) -> ix.Policy:
    columns = {name: ix.quasi(ix.suppress()) for name in ("race", "gender", "admission")}
    columns["age"] = ix.quasi(ix.intervals(5, 10, 20))
    columns |= {name: ix.quasi(ix.intervals(2, 4)) for name in ("days", "diagnoses", "inpatient", "emergency")}
    return ix.Policy(columns | {"readmitted": ix.other()}, [ix.KAnonymity(k)], one_row_per_person=True)


def section_of_visits(figures: list[Figures]) -> str:
    """Return the section of the page."""
    said = []
    for k in dict.fromkeys(one["k"] for one in figures):
        own = [one for one in figures if one["k"] == k]
        overlap, least = np.mean([one["overlap"] for one in own]), min(one["least_skewed"] for one in own)
        disjoint = sum(one["disjoint"] for one in own)
        said.append(f"k = {k}: {overlap:.3f}, {disjoint} disjoint, a skewed count at worst {least:.2f}")
    text = f"""Overlap of 95 % intervals of a logistic regression, three tables of 50,000 made-up visits, all eight
predictors quasi, two of them counts that are mostly 0. {"; ".join(said)}."""
    return tables.section("A regression with skewed counts", "visits", text)
