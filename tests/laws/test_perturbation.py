"""Numbers that leave perturbed: as means of clusters by MDAV, or with noise; declared, named and proved."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from fractions import Fraction

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.policy.stated_policy import StatedMeans, StatedNoise
from indistinct.release.manifest import StatedPerturbation
from indistinct.release.perturbing import add_noise, cluster_sizes


def policy(column=None, **more):
    columns = {"ward": ix.quasi(), "cost": column or ix.other(perturb=ix.Microaggregation(2))}
    return ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)], **({"max_suppression": 0.9} | more))


def table(*rows):
    return pa.table({"ward": [ward for ward, _ in rows], "cost": pa.array([cost for _, cost in rows], pa.float64())})


STAYS = table(("a", 10), ("a", 20), ("a", 30), ("b", 40), ("b", None), ("b", 60), ("c", 999))


def costs(release):
    return sorted((row["ward"], -1 if row["cost"] is None else row["cost"]) for row in release.table.to_pylist())


def failed(verdict):
    return {check.name for check in verdict.checks if not check.passed}


def detail(verdict, name):
    return next(check.detail for check in verdict.checks if check.name == name)


def test_means_are_of_the_rows_that_leave_as_worked_out_by_hand():
    """The mean of 10, 20, 30, 40 and 60 is 32, from which 60 lies farthest: 60 and 40 are one cluster."""
    with ix.anonymize(STAYS, policy()) as release:
        assert costs(release) == [("a", 20), ("a", 20), ("a", 20), ("b", -1), ("b", 50), ("b", 50)]
        assert release.facts.perturbations == {"cost": StatedPerturbation(microaggregate=StatedMeans(k=2))}
        assert detail(release.verdict, "perturbed cost").startswith("declared: 2 means of clusters")
        verdict = release.verify(original=STAYS)
        assert verdict.passed
        assert "worked out anew" in detail(verdict, "perturbation of cost")
        assert "but for what is perturbed: cost" in detail(verdict, "truthful")


def by_definition(values, k):
    """Return the clusters of MDAV straight from its definition, on rows and distances, in exact numbers."""
    left = sorted(map(Fraction, values))
    clusters = []

    def farthest(goal):
        return min(left, key=lambda value: (-abs(value - goal), value))

    def take(value):
        near = sorted(left, key=lambda one: abs(one - value))[:k]
        for one in near:
            left.remove(one)
        clusters.append(near)

    while len(left) >= 3 * k:
        first = farthest(sum(left) / len(left))
        second = farthest(first)
        take(first)
        take(second)
    if len(left) >= 2 * k:
        take(farthest(sum(left) / len(left)))
    clusters.append(left)
    return sorted(sorted(cluster) for cluster in clusters)


@given(st.integers(2, 5), st.data())
@examples(300)
def test_clusters_are_those_of_the_definition(k, data):
    numbers = st.integers(-9, 9) | st.floats(-1e6, 1e6, allow_nan=False)
    values = np.sort(np.array(data.draw(st.lists(numbers, min_size=k, max_size=6 * k)), np.float64))
    ends = np.cumsum(cluster_sizes(values, k))
    found = [cluster.tolist() for cluster in np.split(values, ends[:-1])]
    assert ends[-1] == len(values)
    assert [list(map(float, cluster)) for cluster in by_definition(values.tolist(), k)] == found


cells = st.none() | st.integers(0, 12) | st.floats(-1000, 1000)


@given(st.lists(st.tuples(st.sampled_from("abc"), cells), min_size=4, max_size=25), st.integers(2, 4), st.booleans())
@examples(30, opens_tables=True)
def test_every_release_is_made_by_the_definition_and_proved(rows, k, blank):
    original = table(*rows)
    wanted = policy(ix.other(perturb=ix.Microaggregation(k)), suppressed_rows="blank" if blank else "remove")
    try:
        release = ix.anonymize(original, wanted)
    except ix.InfeasibleError:
        return
    with release:
        wards = {ward for ward, _ in rows if sum(other == ward for other, _ in rows) > 1}
        left = [cost for ward, cost in rows if cost is not None and (blank or ward in wards)]
        means = sorted(float(sum(cluster) / len(cluster)) for cluster in by_definition(left, k) for _ in cluster)
        shown = sorted(cost for cost in release.table["cost"].to_pylist() if cost is not None)
        assert shown == pytest.approx(means, rel=1e-12)
        assert release.verify(original=original).passed


def planted(change, column=None):
    """Return what a proof finds in a release in which somebody changed the cells (ward, cost) of the table."""
    column = column or ix.other(perturb=ix.Microaggregation(2))
    with ix.anonymize(STAYS, policy(column)) as release:
        rows = sorted(((row["ward"], row["cost"]) for row in release.table.to_pylist()), key=str)
    return ix.verify(table(*change(rows)), policy(column), original=STAYS, suppressed=1, node={"ward": 0})


def test_an_exact_number_among_means_is_found_without_the_original():
    def change(rows):
        return [("a", 10.0) if place == 0 else row for place, row in enumerate(rows)]

    verdict = planted(change)
    assert failed(verdict) == {"perturbed cost", "perturbation of cost"}
    assert "1 number stands in fewer than 2 rows" in detail(verdict, "perturbed cost")


@pytest.mark.parametrize(
    "other",
    [
        lambda ward, cost: (ward, None if cost is None else cost + 1),  # other means
        lambda ward, cost: (ward, {20: 50, 50: 20}.get(cost)),  # means of others
        lambda ward, cost: (ward, {None: 20}.get(cost, cost)),  # a missing cell is present
    ],
)
def test_means_that_are_not_those_of_the_original_are_found(other):
    assert failed(planted(lambda rows: [other(*row) for row in rows])) == {"perturbation of cost"}


def test_what_cannot_be_proved_is_said():
    """Two people share a row each in two wards, so nothing tells whose were left out."""
    original = pa.table(
        {
            "who": ["p", "p", "q", "q", "r"],
            "ward": ["a", "b", "a", "b", "a"],
            "cost": pa.array([1.0, 2.0, 3.0, 4.0, 5.0]),
        }
    )
    person = {"column": "who", "release": "pseudonym"}
    wanted = policy(person=person)
    with ix.anonymize(original, wanted) as release:
        verdict = release.verify(original=original)
        assert verdict.passed
        assert release.suppressed == 1
        assert "nothing tells which" in detail(verdict, "perturbation of cost")
        assert "linked rows" in {check.name for check in verdict.checks}


@pytest.mark.parametrize("kind", ["laplace", "normal", "uniform"])
def test_noise_has_the_scale_and_the_shape_that_it_says(kind):
    drawn = add_noise(np.zeros(40_000), ix.Noise(10.0, kind))
    assert abs(drawn.mean()) < 1
    size = {"laplace": 10, "normal": 10 * np.sqrt(2 / np.pi), "uniform": 5}[kind]
    assert np.abs(drawn).mean() == pytest.approx(size, rel=0.05)
    beyond = {"laplace": np.exp(-2), "normal": 0.0455, "uniform": 0}[kind]
    assert (np.abs(drawn) > 20).mean() == pytest.approx(beyond, abs=0.01)
    assert not np.array_equal(drawn, add_noise(np.zeros(40_000), ix.Noise(10.0, kind)))
    assert np.allclose(drawn, np.round(drawn, 2), atol=1e-9)  # no last bits that could tell the original


@pytest.mark.parametrize("kind", ["laplace", "normal", "uniform"])
def test_noise_is_declared_and_missing_cells_stay_missing(kind):
    column = ix.sensitive(perturb=ix.Noise(3, kind))
    with ix.anonymize(STAYS, policy(column)) as release:
        rows = release.table.to_pylist()
        assert [row["ward"] for row in rows if row["cost"] is None] == ["b"]
        assert release.facts.perturbations == {"cost": StatedPerturbation(noise=StatedNoise(scale=3.0, kind=kind))}
        verdict = release.verify(original=STAYS)
        assert verdict.passed
        assert "cells are not compared one by one" in detail(verdict, "perturbation of cost")


def test_uniform_noise_beyond_its_bounds_is_found():
    column = ix.other(perturb=ix.Noise(3, "uniform"))
    assert planted(lambda rows: rows, column).passed
    far = planted(lambda rows: [(ward, cost and cost + 9) for ward, cost in rows], column)
    assert failed(far) == {"perturbation of cost"}
    gone = planted(lambda rows: [(ward, None) for ward, _ in rows], column)
    assert failed(gone) == {"perturbation of cost"}


def test_a_folder_and_a_report_say_what_is_perturbed(tmp_path):
    path = tmp_path / "stays.csv"
    path.write_text("ward,cost\na,10\na,20\na, 30\nb,40\nb,?\nb,60\nc,999\n")
    wanted = policy(ix.other(perturb=ix.Microaggregation(2), missing=["?"]))
    with ix.anonymize(path, wanted) as release:
        folder = release.write(tmp_path / "out")
        page = release.report(tmp_path / "report.html").read_text()
    said = json.loads((folder / "manifest.json").read_text())
    assert said["perturbations"] == {"cost": {"microaggregate": {"k": 2}}}
    assert said["policy"]["columns"]["cost"]["microaggregate"] == {"k": 2}
    assert "means of clusters of at least 2 rows" in page
    assert "Numbers that are perturbed" in page
    assert sorted((folder / "table.csv").read_text().split()[1:]) == ["a,20.0"] * 3 + ["b,", "b,50.0", "b,50.0"]
    assert ix.verify(folder, wanted, original=path).passed
    assert "perturbed cost" in {check.name for check in ix.verify(folder).checks}  # as a recipient can


@pytest.mark.parametrize("kind", ["Int64", "int32", "float32", "str", "category", "Float64"])
def test_frames_of_every_kind_of_number_are_perturbed(kind):
    frame = pd.DataFrame({"ward": list("aaaabb"), "cost": pd.Series([1, 2, 7, 8, 9, 9]).astype(kind)})
    if kind == "category":
        frame["cost"] = frame["cost"].cat.rename_categories(str)
    with ix.anonymize(frame, policy()) as release:
        assert release.verify(original=frame).passed
        shown = release.table["cost"]
        assert sorted(map(float, shown)) == [1.5, 1.5, 7.5, 7.5, 9, 9]


@pytest.mark.parametrize(
    ("cell", "wrong"), [("about 5", 1), ("inf", 1), ("1e200", 1), ("12,5", 1), ("", 0), (" 7 ", 0), ("+1.5e1", 0)]
)
def test_what_is_no_number_is_counted_and_refused(cell, wrong):
    original = pa.table({"ward": list("aaaa"), "cost": ["1", "2", "3", cell]})
    checked = ix.check(original, policy())
    assert checked.is_feasible == (not wrong)
    if wrong:
        with pytest.raises(
            ix.PolicyError, match=r"columns.cost.microaggregate: 1 row holds what is no number"
        ) as caught:
            ix.anonymize(original, policy())
        assert cell not in str(caught.value).replace("1e150", "")


def test_too_few_numbers_are_refused():
    with pytest.raises(ix.InfeasibleError, match=r"columns.cost.microaggregate: .* fewer than k = 6"):
        ix.anonymize(STAYS, policy(ix.other(perturb=ix.Microaggregation(6))))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ix.other(perturb=ix.Microaggregation(1)), "at least 2"),
        (lambda: ix.other(perturb=ix.Microaggregation(True)), "at least 2"),
        (lambda: ix.Microaggregation.of({"size": 3}), "takes k"),
        (lambda: ix.other(perturb=ix.Noise(0)), "noise.scale"),
        (lambda: ix.Noise(float("nan")), "noise.scale"),
        (lambda: ix.Noise.of({"scale": 1, "kind": "cauchy"}), "noise.kind"),
        (lambda: ix.Noise.of({"kind": "normal"}), "takes scale and kind"),
        (lambda: ix.other(perturb=3), "perturb must be Microaggregation(k)"),
        (lambda: replace(ix.other(perturb=ix.Microaggregation(2)), noise=1), "microaggregate and noise"),
        (lambda: ix.other(perturb=ix.Noise(1), recode=ix.rounding(10)), "noise and recode"),
        (lambda: ix.other(perturb=ix.Noise(1), shift=3), "noise and shift"),
        (lambda: replace(ix.quasi(), noise=1), "its role is quasi"),
        (
            lambda: replace(
                policy(ix.sensitive(perturb=ix.Noise(1))), privacy=[ix.KAnonymity(2), ix.LDiversity(2, column="cost")]
            ),
            "columns.cost.noise: a model asks about its values",
        ),
        (lambda: ix.anonymize(STAYS, policy(), algorithm="mondrian"), "'mondrian' neither"),
        (lambda: ix.anonymize(STAYS, policy(ix.sensitive(perturb=ix.Noise(1))), algorithm="anatomy"), "anatomy"),
        (
            lambda: ix.Policy(
                tables={
                    "stays": ix.LinkedTable(
                        {"who": ix.identifier(), "ward": ix.quasi(), "cost": ix.other(perturb=ix.Noise(1))}
                    )
                },
                privacy=[ix.KAnonymity(2)],
                person={"column": "who", "release": "pseudonym"},
            ),
            "tables.stays.columns.cost: microaggregate and noise are not supported",
        ),
    ],
)
def test_mistakes_about_perturbations_are_named(make, message):
    with pytest.raises(ix.PolicyError) as caught:
        make()
    assert message in str(caught.value)


def test_a_ledger_refuses_perturbed_numbers(tmp_path):
    with ix.Ledger.create(tmp_path / "ledger.db") as ledger, pytest.raises(ix.LedgerError, match="microaggregate"):
        ledger.anonymize(STAYS, policy(), recipient="R")


@pytest.mark.parametrize(
    "column", [ix.other(perturb=ix.Microaggregation(3)), ix.sensitive(perturb=ix.Noise(2.5, "normal"))]
)
def test_policy_files_and_their_schema_know_perturbations(column):
    wanted = policy(column)
    text = ix.policy_toml(wanted)
    assert ix.parse_policy(text) == wanted
    jsonschema.validate(tomllib.loads(text), ix.policy_schema())
    broken = text.replace("k = 3", "k = 3, l = 2").replace("normal", "cauchy")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(broken), ix.policy_schema())
    with pytest.raises(ix.PolicyError, match=r"columns.cost"):
        ix.parse_policy(broken)


@pytest.mark.parametrize("stated", [{}, {"cost": {"microaggregate": {"k": 9}}}])
def test_a_manifest_that_says_other_perturbations_is_found(tmp_path, stated):
    with ix.anonymize(STAYS, policy()) as release:
        place = release.write(tmp_path / "out") / "manifest.json"
    said = json.loads(place.read_text())
    place.write_text(json.dumps(said | {"perturbations": stated}))
    for verdict in (ix.verify(tmp_path / "out", policy()), ix.verify(tmp_path / "out")):
        assert failed(verdict) == {"manifest"}


def test_a_manifest_with_other_words_of_perturbations_is_none(tmp_path):
    with ix.anonymize(STAYS, policy()) as release:
        place = release.write(tmp_path / "out") / "manifest.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"perturbations": {"cost": {"note": "Ann pays 999"}}}))
    with pytest.raises(ix.TableError, match="perturbations") as refused:
        ix.verify(tmp_path / "out", policy())
    assert "Ann" not in str(refused.value)


def test_fewer_numbers_than_a_cluster_has_are_no_means():
    """Of three rows with a number each, no cluster of five can be made, whatever was released."""
    table = pa.table({"town": ["a"] * 3, "pay": ["1", "2", "3"]})
    columns = {"town": ix.quasi(ix.suppress()), "pay": ix.other(perturb=ix.Microaggregation(5))}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])
    released = pa.table({"town": ["a"] * 3, "pay": [2.0] * 3})
    failed = [check.detail for check in ix.verify(released, policy, original=table).checks if not check.passed]
    assert any("3 numbers make no cluster of 5" in detail for detail in failed), failed
