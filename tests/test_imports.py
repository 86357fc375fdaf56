"""Who may import whom, what ``import indistinct`` costs, and that the public names are what they say."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import indistinct

SOURCE = Path(indistinct.__file__).parent

# A part may import those that are named here, and itself; imports inside functions count as well.
MAY_IMPORT = {
    "errors": set(),
    "words": set(),
    "notebook": set(),
    "watch": {"errors"},
    "kernels": set(),
    "hierarchy": {"errors", "notebook", "words"},
    "engine": {"errors"},
    "bottom": {"errors", "hierarchy"},
    "policy": {"errors", "hierarchy"},
    "frequency": {"bottom", "errors", "hierarchy", "kernels"},
    "privacy": {"errors", "frequency", "hierarchy"},
    "labels": set(),
    "covering": {"frequency", "hierarchy", "labels"},
    "recoding": {"covering", "frequency"},
    "quality": {"covering", "errors", "frequency", "recoding"},
    "algorithms": {
        "covering",
        "errors",
        "frequency",
        "hierarchy",
        "kernels",
        "link",
        "notebook",
        "policy",
        "privacy",
        "quality",
        "recoding",
        "watch",
        "words",
    },
    "policyfile": {"algorithms", "errors", "hierarchy", "policy", "privacy", "quality"},
    "column_names": set(),
    "link": {"errors", "policy"},
    "linkage": {"engine", "frequency", "hierarchy", "kernels", "labels"},
    "population": {"engine", "errors", "frequency", "hierarchy", "kernels", "linkage", "policy", "privacy"},
    "class_truth": {"engine", "frequency", "link", "policy", "privacy"},
    "checks": {"engine", "errors", "frequency", "policy", "privacy", "words"},
    "plans": {"engine", "link", "policy", "recoding"},
    "two_tables": {"checks", "class_truth", "engine", "frequency", "link", "plans", "policy", "words"},
    "truth": {"engine", "errors", "frequency", "hierarchy", "kernels", "labels", "policy", "privacy"},
    "verdict": {
        "checks",
        "engine",
        "errors",
        "frequency",
        "hierarchy",
        "manifest",
        "notebook",
        "policy",
        "population",
        "privacy",
        "truth",
        "two_tables",
        "words",
    },
    "manifest": {"policy", "verdict", "__init__"},
    "release": {
        "engine",
        "errors",
        "frequency",
        "link",
        "manifest",
        "notebook",
        "plans",
        "policy",
        "privacy",
        "quality",
        "recoding",
        "report",  # the door for users: release.report() asks what stands above it
        "verdict",
    },
    "fragments": {"bottom", "covering", "engine", "errors", "frequency", "recoding", "watch"},
    "pipeline": {
        "algorithms",
        "engine",
        "errors",
        "fragments",
        "frequency",
        "policy",
        "population",
        "quality",
        "recoding",
        "release",
        "verdict",
        "watch",
    },
}
# For type checkers only: what a part describes, but does not need.
MAY_NAME = {"fragments": {"algorithms"}, "bottom": {"engine"}, "frequency": {"engine", "policy"}, "policy": {"privacy"}}
ABOVE_THE_PIPELINE = {
    "__init__",
    "__main__",
    "attacks",
    "cli",
    "comparison",
    "examples",
    "ledger",
    "profiling",
    "report",
    "risks",
    "studio",
    "testing",
    "workload",
}


def modules():
    """Give every source file with the part of the package that it belongs to."""
    for path in sorted(SOURCE.rglob("*.py")):
        relative = path.relative_to(SOURCE)
        yield relative.parts[0].removesuffix(".py"), path


def imported_parts(path):
    """Give the parts of the package that a file imports: (needed when it runs, only named in annotations)."""
    tree = ast.parse(path.read_text("utf-8"))
    only_named = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    needed, named = set(), set()
    for node in ast.walk(tree):
        goal = named if node in only_named else needed
        if isinstance(node, ast.Import):
            goal |= {alias.name for alias in node.names if alias.name.split(".")[0] == "indistinct"}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "indistinct":
                goal |= {f"indistinct.{alias.name}" for alias in node.names}
            elif node.module.startswith("indistinct."):
                goal.add(node.module)

    def part(name):
        return name.split(".")[1] if "." in name else "__init__"

    return {part(name) for name in needed}, {part(name) for name in named}


def test_imports_point_one_way():
    wrong = []
    for part, path in modules():
        if part in ABOVE_THE_PIPELINE:
            continue
        assert part in MAY_IMPORT, f"{path.name}: say in this test what {part} may import"
        needed, named = imported_parts(path)
        allowed = MAY_IMPORT[part] | {part}
        wrong += [f"{path.relative_to(SOURCE)} imports {other}" for other in sorted(needed - allowed)]
        may_name = allowed | MAY_NAME.get(part, set())
        wrong += [f"{path.relative_to(SOURCE)} names {other}" for other in sorted(named - may_name)]
    assert not wrong


def test_the_order_of_the_design_has_no_way_back():
    """kernels ← frequency ← privacy, recoding ← quality ← algorithms ← pipeline: each may reach only what is below."""
    order = ["kernels", "frequency", "recoding", "quality", "algorithms", "pipeline"]
    reach = {}

    def below(part):
        if part not in reach:
            reach[part] = set()
            for other in MAY_IMPORT.get(part, set()):
                reach[part] |= {other} | below(other)
        return reach[part]

    for position, part in enumerate(order):
        assert not below(part) & set(order[position:]), part
    for part in ("kernels", "hierarchy", "engine"):
        assert below(part) <= {"errors", "notebook", "words"}
    for part in ("frequency", "privacy", "quality", "recoding", "algorithms"):
        assert "engine" not in below(part), f"{part} must not know where rows came from"


def test_only_the_engine_knows_duckdb_and_only_the_ledger_sqlalchemy():
    for part, path in modules():
        tree = ast.parse(path.read_text("utf-8"))
        roots = {
            name.split(".")[0]
            for node in ast.walk(tree)
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        if "duckdb" in roots:
            assert part in ("engine", "cli"), path
        if "sqlalchemy" in roots:
            assert part == "ledger", path
        if part == "kernels":
            assert "indistinct" not in roots, path


def loaded_by(code):
    """Give the modules that a fresh interpreter has loaded after some code."""
    program = f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


HEAVY = (
    "numpy",
    "numba",
    "duckdb",
    "pyarrow",
    "pandas",
    "polars",
    "pydantic",
    "typer",
    "rich",
    "scipy",
    "hypothesis",
    "sqlalchemy",
    "jinja2",
)


def test_importing_the_package_loads_no_heavy_module():
    loaded = loaded_by("import indistinct")
    assert not [name for name in HEAVY if name in loaded]
    assert not [name for name in loaded if name.startswith("indistinct.")]


def test_an_error_can_be_caught_without_loading_a_heavy_module():
    loaded = loaded_by("import indistinct as ix\nix.PolicyError, ix.IndistinctError")
    assert not [name for name in HEAVY if name in loaded]


def test_anonymizing_loads_no_frame_library_that_is_not_used():
    code = (
        "import pyarrow as pa, indistinct as ix\n"
        "policy = ix.Policy(columns={'a': ix.quasi()}, privacy=[ix.KAnonymity(2)])\n"
        "ix.anonymize(pa.table({'a': ['x', 'x']}), policy).table"
    )
    loaded = loaded_by(code)
    assert not [name for name in ("polars", "typer", "rich", "hypothesis", "jinja2") if name in loaded]


def test_the_public_names_are_sorted_and_listed_once():
    """Capitals first, as ruff sorts: constants, then classes, then functions."""
    names = indistinct.__all__

    def kind(name):
        return 0 if name.isupper() else 1 if name[0].isupper() else 2

    assert len(set(names)) == len(names)
    assert names == sorted(names, key=lambda name: (kind(name), name))


@pytest.mark.parametrize("name", indistinct.__all__)
def test_each_public_name_comes_from_its_home(name):
    value = getattr(indistinct, name)
    if name == "__version__":
        return
    home = import_module(".".join(part for part in ("indistinct", indistinct._HOME_OF[name]) if part))
    assert value is getattr(home, name)
    assert value.__doc__ or isinstance(value, type(indistinct)), f"{name} says nothing of itself"


def test_the_public_names_are_those_that_have_a_home():
    listed = [name for names in indistinct._HOMES.values() for name in names]
    assert sorted(listed) == sorted(set(listed))
    assert set(indistinct.__all__) - {"__version__"} == set(listed)
    assert set(dir(indistinct)) == set(indistinct.__all__)


def test_type_checkers_see_the_same_homes():
    """The imports under TYPE_CHECKING are those that happen lazily."""
    tree = ast.parse((SOURCE / "__init__.py").read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname or alias.name: node.module.removeprefix("indistinct").removeprefix(".")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    # a submodule that is itself public is imported from the package
    assert {name: home or name for name, home in seen.items()} == {
        name: home or name for name, home in indistinct._HOME_OF.items()
    }


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'anonymise'"):
        indistinct.anonymise  # noqa: B018


def test_policies_and_engines_know_the_same_operators():
    """Neither may import the other, so each lists them."""
    from indistinct.engine import base
    from indistinct.policy import OPERATORS

    assert base.OPERATORS == OPERATORS
