"""Registries: names of policy files that are loaded when asked for, and open to classes of other people."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import indistinct as ix
from indistinct import privacy, testing
from indistinct.cli import app
from indistinct.counting import Groups, Tally
from indistinct.policy.stated_policy import policy_digest
from indistinct.registry import ALGORITHMS, MEASURES, MODELS, Registry

REGISTRIES = {"models": MODELS, "measures": MEASURES, "algorithms": ALGORITHMS}
SALARIES = """zip,salary
02138,100
02139,300
02141,120
02142,900
02210,100
02211,110
02212,120
"""
POLICY = """version = 1
algorithm = "lattice"

[columns]
zip = { role = "quasi", hierarchy = { prefix = { length = 5, keep = [4, 3, 2] } } }
salary = { role = "sensitive" }

[[privacy]]
model = "k-e"
k = 2
e = 150.0
"""


@pytest.fixture
def entries(monkeypatch):
    """Leave the registries as they were."""
    registry: Any
    for registry in REGISTRIES.values():
        monkeypatch.setattr(registry, "_homes", dict(registry._homes))
        monkeypatch.setattr(registry, "_registered", dict(registry._registered))
        monkeypatch.setattr(registry, "_entry_points", dict(registry._entry_points))


def exercise():
    """Return the exercise of CONTRIBUTING: where its file belongs, the file, the line, and the entry point."""
    page = Path(__file__).parents[2].joinpath("CONTRIBUTING.md").read_text("utf-8")
    part = page.partition("## Adding a model")[2].partition("\n## ")[0]
    (place,) = re.findall(r"The file is\s+`src/indistinct/(\S+)\.py`", part)
    source, line = re.findall(r"```py\n(.*?)```", part, re.DOTALL)
    (point,) = re.findall(r"```toml\n(.*?)```", part, re.DOTALL)
    return place, source, line, point


@pytest.mark.slow
def test_adding_a_model_is_one_file_and_one_line(tmp_path, monkeypatch, entries):
    """The exercise of CONTRIBUTING, done: then everything knows the model."""
    place, source, line, _ = exercise()
    folder, module = place.split("/")
    assert folder == "privacy"
    (tmp_path / f"{module}.py").write_text(source)
    monkeypatch.setattr(privacy, "__path__", [*privacy.__path__, str(tmp_path)])
    MODELS._homes.update(ast.literal_eval(f"{{{line}}}"))
    try:
        model_class = import_module(f"indistinct.privacy.{module}").KE
        check_that_everything_knows(model_class, tmp_path)
    finally:
        sys.modules.pop(f"indistinct.privacy.{module}", None)


def check_that_everything_knows(model_class, folder):
    table, policy_file, release_folder = folder / "salaries.csv", folder / "policy.toml", folder / "release"
    table.write_text(SALARIES)
    policy_file.write_text(POLICY)
    policy = ix.read_policy(policy_file)
    assert policy.privacy == (model_class(2, 150.0),)
    assert ix.parse_policy(ix.policy_toml(policy)) == policy
    with pytest.raises(ix.PolicyError, match=r"privacy\[0\].k: input should be a valid integer"):
        ix.parse_policy(POLICY.replace("k = 2", "k = 'two'"))

    schema = ix.policy_schema()
    written = {
        "version": 1,
        "columns": {"zip": {"role": "quasi"}},
        "privacy": [{"model": "k-e", "k": 2, "e": 150.0}],
    }
    jsonschema.validate(written, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(written | {"privacy": [{"model": "k-e", "k": 2}]}, schema)

    with ix.anonymize(table, replace(policy, max_suppression=3)) as release:
        # 0213* = {100, 300} and 0214* = {120, 900} are far enough apart, 0221* = {100, 110, 120} is not
        assert (release.node, release.suppressed) == ({"zip": 1}, 3)
        assert release.verdict.passed
        page = release.report(folder / "report.html").read_text("utf-8")
        assert "k-e holds" in page
    assert not ix.verify(table, policy).passed
    tally = Tally.of(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 2]), np.ones(4, np.int64), ["1", "2", "3"])
    groups = Groups.of_sizes([2, 2], {"salary": tally})
    assert model_class(2, 2.0).satisfied(groups).tolist() == [False, True]
    testing.check_model(model_class(2, 3.0, column="income"), examples=10)

    run = CliRunner().invoke(app, ["anonymize", str(policy_file), str(table), "-o", str(release_folder)])
    assert run.exit_code == 0, run.output
    manifest = json.loads((release_folder / "manifest.json").read_text())
    assert manifest["policy"]["privacy"] == [{"model": "k-e", "k": 2, "e": 150.0}]
    assert CliRunner().invoke(app, ["verify", str(policy_file), str(release_folder)]).exit_code == 0


@pytest.mark.slow
def test_an_installed_package_adds_a_model_by_an_entry_point(tmp_path):
    _, source, _, point = exercise()
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "k_e.py").write_text(source)
    told = tmp_path / "my_package-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    group, line = re.fullmatch(r'\[project\.entry-points\."(.+)"\]\n(.+)\n', point).groups()
    (told / "entry_points.txt").write_text(f"[{group}]\n{line.replace(chr(34), '')}\n")
    code = (
        "import indistinct as ix\n"
        f"policy = ix.parse_policy('''{POLICY}''')\n"
        "print(policy.privacy[0], ix.parse_policy(ix.policy_toml(policy)) == policy, 'k-e' in str(ix.policy_schema()))"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert run.stdout == "KE(k=2, e=150.0, column=None, on=None) True True\n", run.stderr


@dataclass(frozen=True)
class Even(ix.PrivacyModel):
    """Every group has an even number of rows."""

    name: ClassVar[str] = "even"
    is_monotone_unsuppressed: ClassVar[bool] = True
    on: str | None = None

    def satisfied(self, groups):
        return groups.sizes % 2 == 0


@pytest.mark.slow
def test_a_model_that_a_program_registers_is_read_and_written(entries):
    policy = ix.Policy(columns={"a": ix.quasi(ix.suppress())}, privacy=[Even()])
    written = ix.policy_toml(policy)
    with pytest.raises(ix.PolicyError, match=r"privacy\[0\].model: got 'even'; .*@indistinct.register above its class"):
        ix.parse_policy(written)
    assert ix.register(Even) is Even
    assert ix.parse_policy(written) == policy
    assert "even" in json.dumps(ix.policy_schema())
    with ix.anonymize(pa.table({"a": ["x", "y"]}), ix.parse_policy(written)) as release:
        assert release.node == {"a": 1}


def test_a_measure_and_an_algorithm_can_be_registered(entries):
    class Flat(ix.Precision):
        """A measure of one's own."""

        name = "flat"

    class Quick(ix.Datafly):
        """An algorithm of one's own."""

        name = "quick"

    ix.register(Flat)
    ix.register(Quick)
    text = POLICY.replace('"lattice"', '"quick"').replace('"k-e"', '"k-anonymity"').replace("e = 150.0", "")
    assert ix.parse_policy(text).algorithm == "quick"
    with_measure = text.replace('"quick"', '"lattice"\noptions = { measure = "flat" }')
    assert ix.parse_policy(with_measure).options == {"measure": "flat"}
    assert "quick" in ix.policy_schema()["properties"]["algorithm"]["enum"]
    with ix.anonymize(
        pa.table({"zip": ["02138", "02139"], "salary": [1, 2]}), ix.parse_policy(with_measure)
    ) as release:
        assert "flat" in release.measures


def test_a_class_that_is_defined_again_takes_its_own_place_and_no_other(entries):
    ix.register(Even)
    again = type("Even", (Even,), {"__module__": Even.__module__, "__qualname__": Even.__qualname__})
    ix.register(again)
    assert MODELS["even"] is again
    other = type("Odd", (Even,), {})
    with pytest.raises(ix.PolicyError, match="there is a 'even' already; give Odd another name"):
        ix.register(other)
    with pytest.raises(ix.PolicyError, match="there is a 'k-anonymity' already"):
        ix.register(type("Mine", (ix.KAnonymity,), {}))


@pytest.mark.parametrize(
    "wrong", [int, type("Nameless", (), {"satisfied": print}), type("Both", (), {"run": 1, "loss": 1})]
)
def test_what_is_neither_model_nor_measure_nor_algorithm_is_refused(entries, wrong):
    with pytest.raises(ix.PolicyError):
        ix.register(wrong)


@pytest.mark.parametrize("group", REGISTRIES)
def test_a_registry_is_a_mapping_of_all_that_it_knows(group):
    registry: Any = REGISTRIES[group]
    assert registry.group == f"indistinct.{group}"
    assert len(registry) == len(list(registry)) == len(set(registry))
    assert all(name in registry and registry[name].name == name for name in registry)
    assert "k-anonimity" not in registry
    with pytest.raises(KeyError):
        registry["k-anonimity"]


def test_an_entry_point_that_is_not_what_it_says_is_refused_by_name(entries):
    MODELS._entry_points["gone"] = EntryPoint("gone", "no_such_module:Model", MODELS.group)
    with pytest.raises(ix.PolicyError, match=r"entry point 'gone' of no_such_module .* ModuleNotFoundError"):
        MODELS["gone"]
    MODELS._entry_points["wrong"] = EntryPoint("wrong", "indistinct.privacy:KAnonymity", MODELS.group)
    with pytest.raises(ix.PolicyError, match="gives KAnonymity, whose name is 'k-anonymity'"):
        MODELS["wrong"]
    MODELS._entry_points["version"] = EntryPoint("version", "indistinct:__version__", MODELS.group)
    with pytest.raises(ix.PolicyError, match=r"is no class with a name and a method satisfied\(\)"):
        MODELS["version"]


def test_an_entry_point_does_not_take_the_place_of_what_the_package_has(entries):
    MODELS._entry_points["k-anonymity"] = EntryPoint("k-anonymity", "no_such_module:Model", MODELS.group)
    assert MODELS["k-anonymity"] is ix.KAnonymity
    assert list(MODELS).count("k-anonymity") == 1


def test_a_registry_of_another_kind_can_be_made():
    kinds: Registry[Even] = Registry("kind", "satisfied", {})
    kinds.add(Even)
    assert kinds.make("even") == Even()
    with pytest.raises(ix.PolicyError, match="kind: there is no 'odd'; choose one of even"):
        kinds.make("odd")


def test_the_digest_of_a_policy_covers_what_its_filters_compare_with():
    """Two policies that release other rows are not the same, though a public manifest names no value."""
    one, two, missing = (
        ix.Policy(columns={"a": ix.quasi()}, privacy=[ix.KAnonymity(2)], eligible=[condition])
        for condition in (ix.where("a", "==", "x"), ix.where("a", "==", "y"), ix.where("a", "missing"))
    )
    assert policy_digest(one) == policy_digest(replace(one, algorithm="samarati"))
    assert len({policy_digest(one), policy_digest(two), policy_digest(missing)}) == 3
