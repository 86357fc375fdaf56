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

# The rooms, lowest first. A room may import itself and those that are named here, all of which stand above it in this
# table, so nothing can come back; imports inside functions count as well. A name with a dot is a room within a room.
BELOW_ALL = {"errors"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "watch": set(),
    "registry": set(),
    "kernels": set(),
    "showing": set(),
    "hierarchy": {"showing"},
    "engine.plans": set(),
    "engine": {"engine.plans", "showing"},
    "policy": {"hierarchy", "registry"},
    "counting": {"hierarchy", "kernels"},
    "privacy": {"counting", "hierarchy", "showing"},
    "recoding": {"counting", "engine.plans", "hierarchy", "policy", "privacy"},
    "quality": {"counting", "recoding", "showing"},
    "algorithms": {
        "counting",
        "hierarchy",
        "kernels",
        "policy",
        "privacy",
        "quality",
        "recoding",
        "registry",
        "showing",
        "watch",
    },
    "released": {"engine", "policy", "recoding"},
    "linkage": {"counting", "engine", "hierarchy", "kernels", "policy", "privacy", "recoding", "released"},
    "proof": {
        "counting",
        "engine",
        "hierarchy",
        "kernels",
        "linkage",
        "policy",
        "privacy",
        "recoding",
        "released",
        "showing",
    },
    "study": {
        "counting",
        "engine",
        "hierarchy",
        "kernels",
        "linkage",
        "policy",
        "privacy",
        "proof",
        "recoding",
        "released",
        "showing",
        "watch",
    },
    "attacks": {
        "counting",
        "engine",
        "hierarchy",
        "kernels",
        "linkage",
        "policy",
        "privacy",
        "recoding",
        "released",
        "showing",
    },
    "ledger.store": {"policy", "proof", "released", "showing"},
    "report": {
        "algorithms",
        "attacks",
        "counting",
        "engine",
        "hierarchy",
        "ledger.store",
        "linkage",
        "policy",
        "privacy",
        "proof",
        "recoding",
        "registry",
        "released",
        "showing",
        "study",
        "watch",
    },
    "release": {
        "counting",
        "engine",
        "policy",
        "privacy",
        "proof",
        "quality",
        "recoding",
        "released",
        "report",
        "showing",
    },
    "pipeline": {
        "algorithms",
        "counting",
        "engine",
        "linkage",
        "policy",
        "privacy",
        "proof",
        "quality",
        "recoding",
        "registry",
        "release",
        "released",
        "showing",
        "study",
        "watch",
    },
    "ledger": {
        "algorithms",
        "counting",
        "engine",
        "hierarchy",
        "ledger.store",
        "pipeline",
        "policy",
        "privacy",
        "proof",
        "recoding",
        "registry",
        "release",
        "released",
        "showing",
        "watch",
    },
    "testing": {
        "algorithms",
        "counting",
        "engine",
        "hierarchy",
        "policy",
        "privacy",
        "proof",
        "quality",
        "recoding",
        "registry",
        "watch",
    },
    "examples": set(),
}
AT_THE_DOOR = {"__init__", "__main__", "cli", "studio"}
"""What users call: it may import every room."""
# For type checkers only: what a room describes, but does not need.
MAY_NAME = {"counting": {"engine", "policy"}, "policy": {"privacy"}, "recoding": {"engine"}}
STILL_WRONG: set[str] = {
    "attacks/opening.py imports release",
    "attacks/released.py imports release",
    "ledger/store/entry_files.py imports release",
    "policy/policy_file.py imports algorithms",
    "policy/policy_file.py imports privacy",
    "policy/policy_file.py imports quality",
    "recoding/plans.py imports engine",
    "released/manifest.py imports proof",
    "report/ledger_section.py imports ledger",
    "report/ledger_section.py imports release",
    "report/subject.py imports release",
    "study/workload.py imports release",
}
"""What points the wrong way today, to be turned round: nothing may be added here."""


def room_of(module: str) -> str:
    """Give the room of a module by its dotted name without the package's."""
    inner = ".".join(module.split(".")[:2])
    return inner if inner in MAY_IMPORT else module.split(".")[0]


def modules():
    """Give every source file with the room that it belongs to."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield room_of(".".join(path.relative_to(SOURCE).with_suffix("").parts)), path


def imported_parts(path):
    """Give the rooms that a file imports: (needed when it runs, only named in annotations)."""
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

    def room(name):
        return room_of(name.removeprefix("indistinct.")) if "." in name else "__init__"

    return {room(name) for name in needed}, {room(name) for name in named}


def test_imports_point_one_way():
    wrong = []
    for room, path in modules():
        if room in AT_THE_DOOR:
            continue
        assert room in MAY_IMPORT, f"{path.name}: say in this test what {room} may import"
        needed, named = imported_parts(path)
        allowed = MAY_IMPORT[room] | BELOW_ALL | {room}
        file = path.relative_to(SOURCE).as_posix()
        wrong += [f"{file} imports {other}" for other in sorted(needed - allowed - {"__init__"})]
        may_name = allowed | MAY_NAME.get(room, set())
        wrong += [f"{file} names {other}" for other in sorted(named - may_name)]
    assert set(wrong) == STILL_WRONG


def test_the_order_of_the_rooms_has_no_way_back():
    seen = set(BELOW_ALL)
    for room, others in MAY_IMPORT.items():
        assert others <= seen, f"{room} may import {others - seen}, which stand after it"
        seen.add(room)


def test_who_must_not_know_whom():
    """Each room may reach only what is below it, and algorithms must not know where rows came from."""
    reach = {}

    def below(room):
        if room not in reach:
            reach[room] = set()
            for other in MAY_IMPORT.get(room, set()):
                reach[room] |= {other} | below(other)
        return reach[room]

    for room in ("counting", "privacy", "quality", "recoding", "algorithms"):
        assert "engine" not in below(room), f"{room} must not know where rows came from"
    assert "privacy" not in below("engine")


def test_only_the_engine_knows_duckdb_and_only_the_ledger_sqlalchemy():
    for room, path in modules():
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
            assert room in ("engine", "cli"), path
        if "sqlalchemy" in roots:
            assert room == "ledger.store", path


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
