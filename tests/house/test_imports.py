"""Who may import whom, what ``import indistinct`` costs, and that the public names are what they say."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import indistinct
from helpers.syntax_trees import nodes_of
from indistinct.examples import save_examples

SOURCE = Path(indistinct.__file__).parent
LAZY = [
    "indistinct",
    *(f"indistinct.{name}" for name in ("counting", "linkage", "pipeline", "privacy", "quality", "release", "search")),
]
"""The packages that load a name's module when it is asked for."""

# The rooms, lowest first. A room may import itself and those that are named here, all of which stand above it in this
# table, so nothing can come back; imports inside functions count as well. A name with a dot is a room within a room.
BELOW_ALL = {"array_types", "atomic_files", "errors", "kernel", "lazy", "randomness"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "randomness": set(),
    "lazy": set(),
    "progress": set(),
    "atomic_files": set(),
    "registry": set(),
    "array_types": set(),
    "kernel": {"progress"},
    "showing": set(),
    "hierarchy": {"showing"},
    "hierarchies": {"hierarchy"},
    "engine.plans": set(),
    "release.forms": {"engine.plans"},
    "engine": {"engine.plans", "showing"},
    "policy": {"engine.plans", "hierarchy", "registry", "release.forms"},
    "regimes": {"policy"},
    "counting": {"hierarchy"},
    "privacy": {"counting", "hierarchy", "showing"},
    "recoding": {"counting", "engine.plans", "hierarchy", "policy", "privacy", "release.forms"},
    "quality": {"counting", "recoding", "registry", "showing"},
    "search": {
        "counting",
        "hierarchy",
        "policy",
        "privacy",
        "quality",
        "recoding",
        "registry",
        "showing",
        "progress",
    },
    "release": {"engine", "policy", "recoding", "showing"},
    "linkage": {"counting", "engine", "hierarchy", "policy", "privacy", "recoding", "release"},
    "proof": {
        "counting",
        "engine",
        "hierarchy",
        "linkage",
        "policy",
        "privacy",
        "recoding",
        "registry",  # what an algorithm that a manifest names says of itself, and nothing that it does
        "release",
        "showing",
    },
    "profiling": {
        "counting",
        "engine",
        "hierarchy",
        "linkage",
        "policy",
        "privacy",
        "proof",
        "recoding",
        "release",
        "showing",
        "progress",
    },
    "disclosure_risk": {
        "counting",
        "engine",
        "hierarchy",
        "linkage",
        "profiling",
        "policy",
        "privacy",
        "proof",
        "recoding",
        "release",
        "showing",
        "progress",
    },
    "attacks.labels": {"hierarchy", "linkage", "policy", "recoding"},
    "data_utility": {
        "attacks.labels",
        "counting",
        "engine",
        "hierarchy",
        "linkage",
        "policy",
        "privacy",
        "proof",
        "recoding",
        "release",
        "showing",
        "progress",
    },
    "attacks": {
        "attacks.labels",
        "search",
        "counting",
        "engine",
        "hierarchy",
        "linkage",
        "policy",
        "privacy",
        "recoding",
        "registry",
        "release",
        "showing",
        "progress",
    },
    "ledger.store": {"policy", "proof", "release", "showing"},
    "report": {
        "search",
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
        "release",
        "showing",
        "profiling",
        "disclosure_risk",
        "data_utility",
        "progress",
    },
    "documents": {
        "attacks",
        "disclosure_risk",
        "policy",
        "progress",
        "regimes",
        "registry",
        "release",
        "report",
        "showing",
    },
    "release.release": {
        "counting",
        "engine",
        "policy",
        "privacy",
        "proof",
        "quality",
        "recoding",
        "release",
        "report",
        "showing",
    },
    "pipeline": {
        "regimes",
        "search",
        "counting",
        "engine",
        "hierarchy",
        "linkage",
        "policy",
        "privacy",
        "proof",
        "quality",
        "recoding",
        "registry",
        "release",
        "release.release",
        "showing",
        "profiling",
        "disclosure_risk",
        "data_utility",
        "progress",
    },
    "ledger": {
        "search",
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
        "release.release",
        "showing",
        "progress",
    },
    "ledger_review": {
        "attacks",
        "disclosure_risk",
        "documents",
        "ledger",
        "ledger.store",
        "policy",
        "progress",
        "proof",
        "release",
        "showing",
    },
    "testing": {
        "search",
        "counting",
        "engine",
        "hierarchy",
        "policy",
        "privacy",
        "proof",
        "quality",
        "recoding",
        "registry",
        "progress",
    },
    "examples": set(),
    "papers": {
        "attacks",
        "engine",
        "examples",
        "hierarchy",
        "pipeline",
        "policy",
        "privacy",
        "proof",
        "search",
        "data_utility",
        "progress",
    },
}
for _room, _allowed in MAY_IMPORT.items():
    if "release" in {_room, *_allowed}:
        _allowed.add("release.forms")
MADE_HERE = dict.fromkeys(("release.perturbing", "release.signing"), "release.release")
"""Modules of the inner room of a release in its maker's hands."""
AT_THE_DOOR = {"__init__", "__main__", "cli", "mcp", "studio"}
"""What users call: it may import every room."""
# For type checkers only: what a room describes, but does not need.
MAY_NAME = {
    "counting": {"engine", "policy"},
    "policy": {"privacy", "quality"},
    "registry": {"attacks", "search", "privacy", "quality"},
    "release.forms": {"policy"},
}
STILL_IN_RINGS: set[str] = set()
"""Modules that import themselves by way of others today, to be untangled: nothing may be added here."""


def room_of(module: str) -> str:
    """Return the room of a module by its dotted name without the package's."""
    inner = ".".join(module.split(".")[:2])
    inner = MADE_HERE.get(inner, inner)
    return inner if inner in MAY_IMPORT else module.split(".")[0]


def modules():
    """Return every source file with the room that it belongs to."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield room_of(".".join(path.relative_to(SOURCE).with_suffix("").parts)), path


@cache
def imported_modules(path):
    """Return the modules that a file imports, by their dotted names: (needed when it runs, only named in
    annotations).
    """
    only_named = {
        node
        for block in nodes_of(path)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    needed, named = set(), set()
    for node in nodes_of(path):
        goal = named if node in only_named else needed
        if isinstance(node, ast.Import):
            goal |= {alias.name for alias in node.names if alias.name.split(".")[0] == "indistinct"}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "indistinct":
                goal |= {f"indistinct.{alias.name}" for alias in node.names}
            elif node.module.startswith("indistinct."):
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                goal |= {name if is_module(name) else node.module for name in inner}
    return needed, named


def is_module(name):
    """Return whether a dotted name is a module or a package of ours."""
    place = SOURCE.joinpath(*name.split(".")[1:])
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def imported_parts(path):
    """Return the rooms that a file imports: (needed when it runs, only named in annotations)."""

    def room(name):
        return room_of(name.removeprefix("indistinct.")) if "." in name else "__init__"

    needed, named = imported_modules(path)
    return {room(name) for name in needed}, {room(name) for name in named}


@pytest.mark.slow
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
    assert not wrong


def test_the_order_of_the_rooms_has_no_way_back():
    seen = set(BELOW_ALL)
    for room, others in MAY_IMPORT.items():
        assert others <= seen, f"{room} may import {others - seen}, which stand after it"
        seen.add(room)


@pytest.mark.slow
def test_no_module_imports_itself_by_way_of_others():
    """Imports inside functions count, those for type checkers do not, nor does the front door."""
    imports = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(("indistinct", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
        imports[name] = {other for other in imported_modules(path)[0] if is_module(other) and other != "indistinct"}
    imports.pop("indistinct")
    found = []
    while free := {name for name, others in imports.items() if not others & set(imports)}:
        imports = {name: others for name, others in imports.items() if name not in free}
    for name in sorted(imports):  # what is left either is in a ring or leads to one
        reached, waiting = set(), [name]
        while waiting:
            for other in imports[waiting.pop()] & set(imports) - reached:
                reached.add(other)
                waiting.append(other)
        if name in reached:
            found.append(name)
    assert set(found) == STILL_IN_RINGS


ENGINES = (
    "indistinct.engine.duckdb",
    "indistinct.engine.spark",
    "indistinct.engine.postgres",
    "indistinct.engine.sqlite",
)


def test_file_formats_know_no_engine():
    for path in sorted((SOURCE / "engine" / "formats").glob("*.py")):
        known = set().union(*imported_modules(path))
        assert not [name for name in known if name.startswith(ENGINES)]


def test_who_must_not_know_whom():
    """Each room may reach only what is below it, and algorithms must not know where rows came from."""
    reach = {}

    def below(room):
        if room not in reach:
            reach[room] = set()
            for other in MAY_IMPORT.get(room, set()):
                reach[room] |= {other} | below(other)
        return reach[room]

    for room in ("counting", "privacy", "quality", "recoding", "search"):
        assert "engine" not in below(room), f"{room} must not know where rows came from"
    assert "privacy" not in below("engine")


def is_behind(name, owner):
    """Return whether a module lies behind the doors of a room: its own, and in attacks those of its families."""
    if not name.startswith(f"indistinct.{owner}."):
        return False
    return owner != "attacks" or not SOURCE.joinpath(*name.split(".")[1:], "__init__.py").is_file()


@pytest.mark.parametrize("owner", ["attacks", "linkage", "search"])
def test_a_room_is_entered_only_by_its_doors(owner):
    for room, path in modules():
        if room.split(".")[0] != owner:
            behind = [name for name in set().union(*imported_modules(path)) if is_behind(name, owner)]
            assert not behind, f"{path.relative_to(SOURCE)}: import it from indistinct.{owner}"


def test_kernels_know_nothing_but_each_other():
    for _, path in modules():
        if path.parent.name == "kernels":
            for name in set().union(*imported_modules(path)) - {"indistinct.kernel", "indistinct.array_types"}:
                assert "kernels" in name.split("."), path


@pytest.mark.slow
def test_only_the_engine_knows_duckdb_and_only_the_ledger_sqlalchemy():
    for room, path in modules():
        roots = {
            name.split(".")[0]
            for node in nodes_of(path)
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
    """Return the modules that a fresh interpreter has loaded after some code."""
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
    assert [name for name in loaded if name.startswith("indistinct.")] == ["indistinct.lazy"]


def test_an_error_can_be_caught_without_loading_a_heavy_module():
    loaded = loaded_by("import indistinct as ix\nix.PolicyError, ix.IndistinctError")
    assert not [name for name in HEAVY if name in loaded]


@pytest.mark.slow
def test_anonymizing_loads_no_frame_library_that_is_not_used():
    code = (
        "import pyarrow as pa, indistinct as ix\n"
        "policy = ix.Policy(columns={'a': ix.quasi()}, privacy=[ix.KAnonymity(2)])\n"
        "ix.anonymize(pa.table({'a': ['x', 'x']}), policy).table"
    )
    loaded = loaded_by(code)
    assert not [name for name in ("polars", "typer", "rich", "hypothesis", "jinja2") if name in loaded]


def loaded_by_command(*arguments):
    """Return the modules that a fresh interpreter has loaded after a command."""
    return loaded_by(
        "from contextlib import redirect_stdout\nfrom io import StringIO\nfrom indistinct.cli import app\n"
        f"with redirect_stdout(StringIO()):\n    app({list(arguments)}, standalone_mode=False)"
    )


def test_help_loads_nothing_that_works_on_tables():
    loaded = loaded_by_command("--help")
    assert not {"numpy", "numba", "duckdb", "pyarrow", "pydantic", "jinja2", "sqlalchemy"} & loaded
    assert not [name for name in loaded if name.startswith(("indistinct.policy", "indistinct.engine"))]


@pytest.mark.slow
def test_a_small_table_is_anonymized_without_what_only_others_need(tmp_path):
    save_examples(tmp_path)
    policy, table, goal = (str(tmp_path / name) for name in ("hospital.toml", "hospital.csv", "release"))
    loaded = loaded_by_command("anonymize", policy, table, "-o", goal, "--quiet")
    others = {"numba", "llvmlite", "highspy", "scipy", "pandas", "polars", "sqlalchemy", "jinja2"}
    assert not (others | {"pyarrow.compute", "pyarrow.parquet", "pyarrow.dataset"}) & loaded
    rooms = ("ledger", "report", "disclosure_risk", "attacks", "studio", "engine.spark")
    assert not [name for name in loaded if name.startswith(tuple(f"indistinct.{room}" for room in rooms))]
    ours = {name.rpartition(".")[2] for name in loaded if name.startswith("indistinct.")}
    assert not {"verify", "exploring", "in_fragments", "frontier", "row_fits", "fitting_people"} & ours


@pytest.mark.slow
def test_a_release_is_verified_without_the_search(tmp_path):
    save_examples(tmp_path)
    policy, table, goal = (str(tmp_path / name) for name in ("hospital.toml", "hospital.csv", "release"))
    loaded_by_command("anonymize", policy, table, "-o", goal, "--quiet")
    loaded = loaded_by_command("verify", policy, goal)
    assert "indistinct.policy.algorithms" in loaded
    assert not [name for name in loaded if name.startswith("indistinct.search")]


def test_the_public_names_are_sorted_and_listed_once():
    """Capitals first, as ruff sorts: constants, then classes, then functions."""
    names: list[str] = indistinct.__all__  # type: ignore[attr-defined]

    def kind(name):
        return 0 if name.isupper() else 1 if name[0].isupper() else 2

    assert len(set(names)) == len(names)
    assert names == sorted(names, key=lambda name: (kind(name), name))


@pytest.mark.parametrize("package", LAZY)
def test_each_name_of_a_lazy_package_comes_from_the_module_that_its_stub_names(package):
    """A stub is all that type checkers see, and the list that the package loads from."""
    module = import_module(package)
    tree = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text("utf-8"))
    seen = [alias for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    homes = {a.name: node.module for node in tree.body if isinstance(node, ast.ImportFrom) for a in node.names}
    assert all(alias.asname == alias.name for alias in seen), "a stub gives on what it imports by 'as' the same name"
    assert len(homes) == len(seen), "each name stands in one place"
    assert set(module.__all__) - {"__version__"} == set(homes)
    assert dir(module) == sorted(module.__all__)
    for name, home in homes.items():
        value = getattr(module, name)
        assert value is getattr(import_module(home), name)
        assert value.__doc__ or isinstance(value, type(indistinct)), f"{name} says nothing of itself"


@pytest.mark.slow
def test_a_lazy_package_loads_only_what_is_asked_for():
    loaded = loaded_by("from indistinct.privacy import KAnonymity\nfrom indistinct.search import Datafly")
    assert {"indistinct.privacy.models.k_anonymity", "indistinct.search.full_domain.datafly"} <= loaded
    assert not {"indistinct.privacy.models.t_closeness", "indistinct.search.full_domain.lattice"} & loaded


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import indistinct as ix; ix.policy_schema()",
        "import indistinct as ix; ix.Policy({'a': ix.quasi(), 's': ix.sensitive()}, [ix.TCloseness(0.1)])",
        "from indistinct.cli import app; app(['schema'], standalone_mode=False)",
    ],
)
def test_a_policy_and_its_schema_load_neither_compiled_code_nor_an_algorithm(code):
    loaded = loaded_by(code)
    assert not {"numpy", "numba", "duckdb", "pyarrow"} & loaded
    assert not [name for name in loaded if name.startswith(("indistinct.search", "indistinct.kernel"))]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'anonymise'"):
        indistinct.anonymise  # type: ignore[attr-defined]  # noqa: B018
