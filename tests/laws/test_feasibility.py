"""What check says is what anonymize does, for every algorithm and model; and what is released always verifies."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers.profiles import examples
from indistinct.cli import app
from indistinct.counting import FrequencyList, encode_eligible
from indistinct.engine import open_table
from indistinct.progress import Watch
from indistinct.registry import ALGORITHMS
from indistinct.search import Task
from indistinct.search.algorithm import refusal

CERTAIN = sorted(set(ALGORITHMS) - {"mu-argus"})
"""µ-Argus's releases may fail the recount, which is what its authors were told."""
LOCAL = ("mingen-cell", "regroup", "mondrian", "k-similar", "top-down")

COMPARING = st.one_of(
    st.builds(ix.TCloseness, st.sampled_from([0.1, 0.2, 0.3, 0.5]), st.sampled_from(["equal", "ordered"])),
    st.builds(ix.BetaLikeness, st.sampled_from([0.3, 1.0, 2.0]), st.booleans()),
    st.builds(ix.DeltaDisclosure, st.sampled_from([0.5, 1.0, 2.0])),
)
"""Models that compare groups with the whole table."""
AVERAGE = st.builds(ix.AverageRisk, st.sampled_from([0.2, 0.4, 0.5]))
OTHERS = st.sampled_from(
    [
        ix.AlphaK(0.4, 1),
        ix.AlphaK(0.5, 2),
        ix.AlphaK({"1": 0.5}, 2),
        ix.LDiversity(2),
        ix.LDiversity(2, "entropy"),
        ix.LDiversity(2, "recursive", 2.0),
        ix.PSensitive(2, 3),
        ix.MInvariance(2),
    ]
)
HIERARCHIES = {"kept": ix.keep(), "suppressed": ix.suppress(), "by prefix": ix.prefix(2)}


@st.composite
def questions(draw: st.DrawFn, algorithms: list[str], models: st.SearchStrategy[Any]) -> tuple[pa.Table, ix.Policy]:
    """Draw a small table, often with a column that is never generalized, and a policy that asks one of these models."""
    kinds = draw(st.lists(st.sampled_from(sorted(HIERARCHIES)), min_size=1, max_size=3))
    names = [f"q{number}" for number in range(len(kinds))]
    row = st.tuples(*(st.sampled_from(["a1", "a2", "b1"]) for _ in names), st.sampled_from("111223"))
    rows = draw(st.lists(row, min_size=3, max_size=14))
    asked = [draw(models), *draw(st.lists(COMPARING | AVERAGE | OTHERS | st.just(ix.KAnonymity(2)), max_size=2))]
    algorithm = draw(st.sampled_from(algorithms))
    asked += [ix.MInvariance(2)] * (algorithm == "m-invariance")  # which it cannot do without
    policy = ix.Policy(
        columns={name: ix.quasi(HIERARCHIES[kind]) for name, kind in zip(names, kinds, strict=True)}
        | {"illness": ix.sensitive()},
        privacy=draw(st.permutations(asked)),
        max_suppression=draw(st.sampled_from([0, 0.2, 0.5, 0.8])),
        algorithm=algorithm,
    )
    columns = list(zip(*rows, strict=True))
    return pa.table(dict(zip([*names, "illness"], columns, strict=True))), policy


def counted(table: pa.Table, policy: ix.Policy) -> Task:
    with open_table(table) as rows:
        return Task.of(FrequencyList.count(encode_eligible(rows, policy), policy), policy)


def check(table: pa.Table, policy: ix.Policy) -> None:
    """Ask whether the policy can be met, and hold anonymize to the answer; a failed recount raises."""
    refused = refusal(counted(table, policy), Watch())
    event(f"{policy.algorithm}: {'released' if refused is None else 'refused'}")
    if refused is not None:
        with pytest.raises(ix.InfeasibleError):
            ix.anonymize(table, policy)
        return
    with ix.anonymize(table, policy) as release:
        verdict = release.verify(table)
        assert verdict.passed, str(verdict)


@pytest.mark.slow
@given(questions(list(LOCAL), COMPARING | AVERAGE))
@examples(60, opens_tables=True)
def test_local_algorithms_release_or_refuse_where_models_ask_about_the_whole_table(question):
    check(*question)


@pytest.mark.slow
@given(questions(CERTAIN, COMPARING | OTHERS))
@examples(60, opens_tables=True)
def test_every_algorithm_does_what_check_says(question):
    check(*question)


def ward(algorithm: str, **more: Any) -> ix.Policy:
    """Six of ten rows have HIV; α = 0.5 holds only where some of them are suppressed."""
    columns = {"ward": ix.quasi(ix.suppress()), "illness": ix.sensitive()}
    return ix.Policy(columns=columns, privacy=[ix.AlphaK(0.5, 2)], algorithm=algorithm, **more)


WARDS = pa.table(
    {
        "ward": ["north"] * 3 + ["south"] * 3 + ["west"] * 4,
        "illness": ["HIV", "HIV", "flu", "HIV", "HIV", "fever", "HIV", "HIV", "flu", "flu"],
    }
)


@pytest.mark.parametrize(("limit", "exit_code"), [(0.6, 0), (0.5, 3)])
def test_check_counts_on_suppression_where_the_top_of_the_lattice_fails(tmp_path, monkeypatch, limit, exit_code):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text(ix.policy_toml(ward("lattice", max_suppression=limit)), "utf-8")
    pa.csv.write_csv(WARDS, "ward.csv")
    result = CliRunner().invoke(app, ["check", "policy.toml", "ward.csv", "--json"])
    assert result.exit_code == exit_code, result.output
    found = json.loads(result.stdout)
    assert found["feasible"] is (exit_code == 0)
    assert found["suppression_at_the_top"] == 10


@pytest.mark.parametrize("algorithm", LOCAL)
def test_check_knows_that_local_algorithms_suppress_no_single_groups(algorithm):
    refused = refusal(counted(WARDS, ward(algorithm, max_suppression=0.6)), Watch())
    assert "one value makes up 60 % of the rows" in str(refused)


def test_datafly_says_when_it_is_the_complement_that_is_too_much():
    table = pa.table({"q": ["a", "a", "a", "b"]})
    policy = ix.Policy(columns={"q": ix.quasi()}, privacy=[ix.KAnonymity(2)], max_suppression=2, algorithm="datafly")
    with pytest.raises(ix.InfeasibleError, match=r"^1 row must .* smallest group to hide them among 4 of 4, but 2 may"):
        ix.anonymize(table, policy)
    with ix.anonymize(table, policy, algorithm=ix.Datafly(complementary=False)) as release:
        assert release.suppressed == 1


# Rows that stay blank.


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (ix.LDiversity(2), "2 blank rows fail l-diversity"),
        (ix.AlphaK(0.5, 2), "2 blank rows fail alpha-k"),
        (ix.TCloseness(0.9), "not possible with t-closeness, which compares groups with the whole table"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
@pytest.mark.parametrize("algorithm", ["lattice", "mondrian"])
def test_blank_rows_are_judged_by_their_sensitive_values(algorithm, model, said):
    """Both of the suppressed rows have HIV, which is what their blank quasi-identifiers would tell."""
    table = pa.table({"q": list("aaaabc"), "illness": ["flu", "flu", "cold", "cold", "HIV", "HIV"]})
    policy = ix.Policy(
        columns={"q": ix.quasi(), "illness": ix.sensitive()},
        privacy=[ix.KAnonymity(2), model],
        max_suppression=2,
        suppressed_rows="blank",
        algorithm=algorithm,
    )
    with pytest.raises(ix.InfeasibleError, match=said):
        ix.anonymize(table, policy)


@pytest.mark.slow
def test_blank_rows_of_several_values_are_released():
    table = pa.table({"q": list("aaaabc"), "illness": ["flu", "flu", "cold", "cold", "HIV", "flu"]})
    columns = {"q": ix.quasi(), "illness": ix.sensitive()}
    policy = ix.Policy(columns, [ix.LDiversity(2), ix.KAnonymity(2)], max_suppression=2, suppressed_rows="blank")
    with ix.anonymize(table, policy) as release:
        assert release.table["q"].null_count == 2
        assert release.verify(table).passed


def test_blank_cells_of_mu_argus_are_no_suppressed_rows():
    """With one quasi column a blank cell leaves a row without any, like a suppressed one."""
    table = pa.table({"q": list("abba"), "illness": list("2111")})
    columns = {"q": ix.quasi(), "illness": ix.sensitive()}
    policy = ix.Policy(columns, [ix.PSensitive(2, 3)], max_suppression=0.5, suppressed_rows="blank")
    with pytest.raises(ix.InfeasibleError, match="could not be told from suppressed ones"):
        ix.anonymize(table, policy, algorithm="mu-argus")


# What a manifest and a frontier say of models about sensitive values.


@pytest.mark.slow
def test_the_digest_of_a_policy_covers_the_hierarchies_of_sensitive_columns(tmp_path):
    """Closeness by hierarchical distance depends on them; the manifest names no value that they list."""

    def manifest(name: str, kinds: dict[str, list[str]]) -> dict[str, Any]:
        columns = {"ward": ix.quasi(ix.suppress()), "illness": ix.sensitive(ix.tree({"any": kinds}))}
        policy = ix.Policy(columns=columns, privacy=[ix.TCloseness(0.9, "hierarchical")])
        with ix.anonymize(WARDS, policy) as release:
            folder = release.write(tmp_path / name)
        text = (folder / "manifest.json").read_text("utf-8")
        assert "fever" not in text
        return json.loads(text)

    one, other = (
        manifest("one", {"x": ["HIV", "flu"], "y": ["fever"]}),
        manifest("two", {"x": ["HIV"], "y": ["flu", "fever"]}),
    )
    assert one["policy_sha256"] != other["policy_sha256"]
    assert one["policy"]["columns"]["illness"]["hierarchy"]["height"] == 2


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ([ix.KAnonymity(2), ix.LDiversity(2)], "cannot tell what l-diversity would cost"),
        ([ix.AverageRisk(0.5), ix.AlphaK(0.5, 2)], "cannot tell what alpha-k, average-risk would cost"),
    ],
    ids=["l-diversity", "two"],
)
def test_a_frontier_is_refused_where_a_policy_asks_for_more_than_k(models, said):
    columns = {"ward": ix.quasi(ix.suppress()), "illness": ix.sensitive()}
    with pytest.raises(ix.PolicyError, match=said):
        ix.frontier(WARDS, ix.Policy(columns=columns, privacy=models))
