"""Every algorithm × model × measure × kind of table through one body, and the checks that plugin authors run."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import indistinct as ix
from helpers.papers import HOSPITAL, HOSPITAL_COLUMNS, SWEENEY, table_of
from helpers.profiles import cases, scaled
from indistinct import testing
from indistinct.quality import QualityMeasure
from indistinct.registry import ALGORITHMS, MEASURES, MODELS

MODELS_TO_CHECK = {
    "k-anonymity": ix.KAnonymity(3),
    "alpha-k": ix.AlphaK(0.6, 2),
    "l-diversity": ix.LDiversity(2),
    "l-diversity by entropy": ix.LDiversity(2, "entropy"),
    "l-diversity, recursive": ix.LDiversity(2, "recursive", c=2.0),
    "t-closeness": ix.TCloseness(0.5),
    "beta-likeness": ix.BetaLikeness(2.0),
    "beta-likeness, enhanced": ix.BetaLikeness(2.0, enhanced=True),
    "delta-disclosure": ix.DeltaDisclosure(3.0),
    "p-sensitive": ix.PSensitive(2, 3),
    "m-invariance": ix.MInvariance(2),
    "prosecutor-risk": ix.ProsecutorRisk(0.4),
    "average-risk": ix.AverageRisk(0.4),
}
ELSEWHERE = {"differential-privacy", "k-map"}
"""Models that need more than a table and any algorithm: tests/privacy has tests of them."""
ALGORITHMS_TO_CHECK = {
    **{f"lattice for {measure}": ix.Lattice(measure=measure) for measure in MEASURES},
    "lattice for precision without the top": ix.Lattice(measure=ix.Precision(count_suppressed_top=False)),
    "samarati": ix.Samarati(),
    "samarati with a preference": ix.Samarati(preference="max-distribution"),
    "mingen": ix.MinGen(),
    "datafly": ix.Datafly(),
    "datafly without complement": ix.Datafly(complementary=False, suppression=0),
    "mingen-cell": ix.MinGenCell(),
    "k-similar": ix.KSimilar(),
    "mondrian": ix.Mondrian(),
    "mondrian relaxed": ix.Mondrian(strict=False),
    "mondrian with ranges": ix.Mondrian(labels="ranges"),
    "regroup": ix.Regroup(),
    "regroup with ranges": ix.Regroup(labels="ranges"),
    "mu-argus": ix.MuArgus(),
    "top-down": ix.TopDown(),
    "lossy-join": ix.LossyJoin(),
    "anatomy": ix.Anatomy(seed=1),
    "m-invariance": ix.MInvariant(),
    "chosen": ix.Chosen(),
    "applied": ix.Applied(),
}
ONE_COLUMN = ("anatomy", "m-invariance")
"""They need one sensitive column, and m-invariance its model: tests/search has tests of them."""
QUICK = [name for name in ALGORITHMS_TO_CHECK if not name.startswith("lattice for ") and name not in ONE_COLUMN] + [
    "lattice for precision"
]
"""Lattice is the same search for every measure."""
TABLE = table_of(HOSPITAL_COLUMNS, HOSPITAL).append_column("visits", pa.array(range(12)))


def test_nothing_is_left_out():
    """A model, measure or algorithm that is added must be added here."""
    assert {model.name for model in MODELS_TO_CHECK.values()} | ELSEWHERE == set(MODELS)
    assert {algorithm.name for algorithm in ALGORITHMS_TO_CHECK.values()} | {"safepub"} == set(ALGORITHMS)


def test_names_are_what_policy_files_call_them():
    assert all(MEASURES[name]().name == name for name in MEASURES)
    assert all(ALGORITHMS[name]().name == name for name in ALGORITHMS)
    assert all(model.name == name for name, model in MODELS.items())


@pytest.mark.parametrize("name", MODELS_TO_CHECK)
def test_every_model_keeps_its_promises(name):
    testing.check_model(MODELS_TO_CHECK[name], examples=scaled(50))


@pytest.mark.parametrize("name", [*MEASURES, "precision without the top", "average-group-size over k"])
def test_every_measure_keeps_its_promises(name):
    special = {
        "precision without the top": ix.Precision(count_suppressed_top=False),
        "average-group-size over k": ix.AverageGroupSize(k=3),
    }
    measure = special[name] if name in special else MEASURES[name]()
    testing.check_measure(measure, examples=scaled(50))


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("model", MODELS_TO_CHECK)
def test_every_algorithm_satisfies_every_model(name, model):
    if name == "lossy-join" and not MODELS_TO_CHECK[model].asks_sensitive:
        with pytest.raises(ix.PolicyError, match="needs a sensitive column"):
            testing.check_algorithm(ALGORITHMS_TO_CHECK[name], models=[MODELS_TO_CHECK[model]], examples=scaled(15))
        return
    testing.check_algorithm(ALGORITHMS_TO_CHECK[name], models=[MODELS_TO_CHECK[model]], examples=scaled(10))


@pytest.mark.parametrize("name", [name for name in ALGORITHMS_TO_CHECK if name not in (*QUICK, *ONE_COLUMN)])
def test_lattice_finds_a_release_for_every_measure(name):
    testing.check_algorithm(ALGORITHMS_TO_CHECK[name], models=[ix.KAnonymity(3)], examples=scaled(15))


@pytest.mark.parametrize("name", ["samarati", "datafly", "mingen", "lattice for precision", "regroup", "mondrian"])
def test_every_algorithm_satisfies_any_k(name):
    testing.check_algorithm(ALGORITHMS_TO_CHECK[name], examples=scaled(50))


# Every kind of table.


def as_csv(folder, connection):
    pyarrow.csv.write_csv(TABLE, folder / "table.csv")
    return folder / "table.csv"


def as_parquet(folder, connection):
    pyarrow.parquet.write_table(TABLE, folder / "table.parquet")
    return folder / "table.parquet"


def as_ipc(folder, connection):
    pyarrow.feather.write_feather(TABLE, folder / "table.arrow")
    return folder / "table.arrow"


def as_database(folder, connection):
    connection.register("given", TABLE)
    connection.execute(f"ATTACH '{folder / 'table.duckdb'}' AS stored")
    connection.execute("CREATE TABLE stored.patients AS SELECT * FROM given")
    connection.execute("DETACH stored")
    return f"{folder / 'table.duckdb'}::patients"


def as_polars(folder, connection):
    import polars

    return polars.DataFrame(TABLE)


KINDS = {
    "arrow": lambda folder, connection: TABLE,
    "pandas": lambda folder, connection: TABLE.to_pandas(),
    "polars": as_polars,
    "polars-lazy": lambda folder, connection: as_polars(folder, connection).lazy(),
    "duckdb": lambda folder, connection: connection.from_arrow(TABLE),
    "csv": as_csv,
    "parquet": as_parquet,
    "ipc": as_ipc,
    "database": as_database,
}


RELEASED = ["lattice for precision", "regroup", "mondrian with ranges"]
"""One for each kind of labels: of one level, of several, and ranges."""


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), cases(product(KINDS, RELEASED), *zip(KINDS, 3 * RELEASED, strict=False)))
def test_every_algorithm_releases_every_kind_of_table(kind, name, tmp_path):
    """Models take turns: each is released with each algorithm, and from each kind of table."""
    import duckdb

    model = ["k-anonymity", "alpha-k"][([*KINDS].index(kind) + RELEASED.index(name)) % 2]
    with duckdb.connect() as connection:
        check_release(KINDS[kind](tmp_path, connection), model, name, tmp_path / "out")


def check_release(table, model, name, folder, **reading):
    """Released, written, read again, recounted, proved against the original, and the same on every engine."""
    policy = policy_for(model)
    with ix.anonymize(table, policy, algorithm=ALGORITHMS_TO_CHECK[name]) as release:
        assert (release.node, release.suppressed, release.measures) == expected(model, name)
        release.write(folder)
    verdict = ix.verify(folder, policy, original=table, **reading)
    assert verdict.passed, str(verdict)


def policy_for(model):
    columns = {column: ix.quasi(ix.levels(list(SWEENEY[column].values()))) for column in SWEENEY}
    columns |= {"Problem": ix.sensitive(), "visits": ix.other()}
    return ix.Policy(columns=columns, privacy=[MODELS_TO_CHECK[model]], max_suppression=3)


@functools.cache
def expected(model, name):
    """What Arrow gives."""
    with ix.anonymize(TABLE, policy_for(model), algorithm=ALGORITHMS_TO_CHECK[name]) as release:
        return release.node, release.suppressed, release.measures


# The checks must catch what they are for.


@dataclass(frozen=True)
class Parity(ix.PrivacyModel):
    """Groups of an even size: not monotone, though it says so."""

    name: ClassVar[str] = "parity"
    is_monotone: ClassVar[bool] = True
    on: str | None = None

    def satisfied(self, groups):
        return groups.sizes % 2 == 0

    def describe(self):
        return {"model": self.name}


@dataclass(frozen=True)
class Relative(Parity):
    """Judges a group by the others."""

    is_monotone: ClassVar[bool] = False

    def satisfied(self, groups):
        return (np.arange(len(groups)) > 0) | (groups.sizes == 0)


@dataclass(frozen=True)
class Nameless(Parity):
    is_monotone: ClassVar[bool] = False

    def describe(self):
        return {"size": np.int64(2)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "words"),
    [(Parity(), "not monotone"), (Relative(), "nothing but the group"), (Nameless(), "names the model")],
)
def test_check_model_catches_false_promises(model, words):
    with pytest.raises(AssertionError, match=words):
        testing.check_model(model)


class Size(QualityMeasure):
    """A loss beyond 1."""

    name: ClassVar[str] = "size"

    def loss(self, recoding):
        return float(recoding.suppressed_rows)

    def value(self, recoding):
        return self.loss(recoding)


class Eager(QualityMeasure):
    """A bound that does not hold: groups get fewer on the way up."""

    name: ClassVar[str] = "eager"

    def loss(self, recoding):
        return len(recoding.groups) / len(recoding.frequencies.base)

    def value(self, recoding):
        return self.loss(recoding)

    def bound_above(self, groups, frequencies):
        return len(groups) / len(frequencies.base)


class Steep(ix.AbsoluteDistance):
    """Level losses that add up to more than the loss."""

    name: ClassVar[str] = "steep"

    def loss(self, recoding):
        return super().loss(recoding) / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "words"),
    [(Size(), "does not lie in"), (Eager(), "bound_above"), (Steep(), "level_losses")],
)
def test_check_measure_catches_false_promises(measure, words):
    with pytest.raises(AssertionError, match=words):
        testing.check_measure(measure)


class Careless:
    """Leaves everything as it is."""

    name: ClassVar[str] = "careless"

    def run(self, task, watch):
        from indistinct.recoding import FullDomainRecoding

        groups = task.frequencies.base
        return FullDomainRecoding(task.frequencies, groups, np.zeros(len(groups), np.bool_))


class Lavish(Careless):
    """Suppresses whatever fails, beyond any limit."""

    def run(self, task, watch):
        recoding = task.recoding(task.frequencies.base)
        if recoding.released_rows == 0:
            raise ix.InfeasibleError("nothing is left")
        return recoding


class Fickle(Careless):
    """Gives another answer each time."""

    turn = 0

    def run(self, task, watch):
        self.turn += 1
        node = task.frequencies.heights if self.turn % 2 else (0,) * len(task.frequencies.heights)
        recoding = task.recoding(task.frequencies.roll_up(node)[0])
        if recoding.released_rows == 0:
            raise ix.InfeasibleError("nothing is left")
        return recoding


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "words"),
    [(Careless(), "fails on"), (Lavish(), "allowed"), (Fickle(), "the same answer")],
)
def test_check_algorithm_catches_false_answers(algorithm, words):
    strict = [ix.KAnonymity(2)]
    with pytest.raises(AssertionError, match=words):
        testing.check_algorithm(algorithm, models=strict)


def test_without_hypothesis_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    for call in (
        lambda: testing.check_model(ix.KAnonymity(2)),
        lambda: testing.check_measure(ix.Precision()),
        lambda: testing.check_algorithm(ix.Lattice()),
        testing.frequency_lists,
    ):
        with pytest.raises(ix.MissingExtraError, match=r'pip install "indistinct\[test\]"'):
            call()


@dataclass(frozen=True)
class Lonely(QualityMeasure):
    """The share of groups that are released with fewer than three rows: more than an Outcome can tell."""

    name: ClassVar[str] = "lonely"

    def loss(self, recoding):
        sizes = recoding.released_sizes
        return float((sizes < 3).sum()) / max(1, len(sizes))

    def value(self, recoding):
        return self.loss(recoding)


@pytest.mark.slow
def test_a_measure_of_ones_own_can_be_swept():
    testing.check_measure(Lonely(), examples=10)
    policy = ix.Policy(
        columns={name: ix.quasi(ix.levels(list(SWEENEY[name].values()))) for name in SWEENEY}
        | {"Problem": ix.sensitive(), "visits": ix.other()},
        privacy=[ix.KAnonymity(2)],
    )
    swept = ix.frontier(TABLE, policy, ks=[2, 3], measures=[Lonely(), "precision"])
    assert (swept.losses["lonely"][:, 1] == 0).all(), "at k = 3 no released group has fewer than three rows"
    for point in swept.curve(2, "lonely"):
        assert 0 <= point.loss <= 1
    best = swept.best(2, 12, "lonely")
    assert best is not None
    exact = ix.Lattice(Lonely())
    with ix.anonymize(TABLE, replace(policy, max_suppression=11), algorithm=exact) as release:
        assert swept.best(2, 11, "lonely").loss == pytest.approx(Lonely().loss(release.recoding))
