"""The house rules that a machine can check: modules and folders of a size, names that say what they name."""

from __future__ import annotations

import ast
import importlib.util
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import indistinct
from helpers.syntax_trees import nodes_of
from indistinct.release.manifest import Manifest

SOURCE = Path(indistinct.__file__).parent
MAP = Path(__file__).parents[2] / "docs" / "how-it-works.md"
Function = ast.FunctionDef | ast.AsyncFunctionDef

MOST_LINES = 600
MOST_MODULES = 12
"""In one folder."""

MOST_LINES_OF_A_FUNCTION = 50
MOST_LONG_FUNCTIONS = 0.01
MOST_WORDS = {"*.md": 80_000, "how-it-works.md": 3_000, "benchmarks.md": 5_000}
"""In the pages of docs/."""

# What breaks a rule today. Nothing may be added; whoever mends a file takes its line out.
STILL_TOO_LONG: set[str] = set()
STILL_TOO_FULL: set[str] = set()
STILL_WITHOUT_SHAPE = {
    "studio/pages/privacy.py _model",
    "studio/pages/privacy.py _number",
    "studio/pages/privacy.py _population",
}
"""Functions that take a tuple of anything, or options by their names in a dictionary."""
STILL_IN_ARRAYS: set[str] = set()
"""Modules that give several parameters as one array."""
STILL_READ_BY_KEY: set[str] = set()
"""Functions that read their own ``**options`` by key."""
STILL_READING_KEYS: set[str] = set()
"""Modules that read a manifest by the names of its fields as JSON."""
ALONE = "release/alone/"
"""The text of verify.py, which runs without this package: it has JSON and no types."""

MOST_FILES_PASSED = {"a CSV file": 61, "two tables": 63, "with a ledger": 76}
"""How many files a table passes through at most on its way to a release; 40 would be enough for readers."""

MAY_SHARE_A_NAME = {"recoding"}
"""Both engines recode by what the room of recodings says."""
NAMED_FOR_OTHERS = ("cli/", "studio/pages/")
"""A command and a page bear the name of what they show."""
IRREGULAR = (
    "begun bought bound built chosen done drawn driven fallen found given gone grown held hidden kept known laid led "
    "left lent lost made meant met paid said seen sent shown sold spent sworn taken thrown told torn understood woven "
    "written"
)
"""Without those that are verbs as they stand: cut, put, read, split, spread."""
NO_PARTICIPLES = {"embed", "exceed", "feed", "need", "proceed", "seed", "speed", "succeed"}
PUBLIC_NAMES = {
    "search satisfied",
    "attacks unsorted",
    "pipeline ranked",
    "privacy satisfied",
    "quality kept",
    "showing counted",
}
"""Participles by room that others call or implement: an attack and its command, a comparison's order, what tasks,
privacy models and measures of cells answer, and a number with its words, which every room says."""


def files() -> Iterator[tuple[str, Path]]:
    """Return every source file with its name below the package."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), path


@cache
def functions() -> list[tuple[str, Function]]:
    """Return every function with the file that it stands in."""
    return [(name, node) for name, path in files() for node in nodes_of(path) if isinstance(node, Function)]


def is_bare_participle(name: str) -> bool:
    """Return whether a name is one word that says what was done, and not what is done or returned."""
    word = name.strip("_")
    return word in IRREGULAR.split() or (word.endswith("ed") and "_" not in word and word not in NO_PARTICIPLES)


def is_property(function: Function) -> bool:
    """Return whether a function is read like a field, as ``verdict.passed`` is: such a name is a claim."""
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


WITHOUT_SHAPE = {"tuple", "tuple[Any, ...]", "dict", "dict[str, Any]"}


def hides_parameters(node: ast.AST) -> bool:
    """Return whether a call is given an array that is made there of several values, one of them a name."""
    if not isinstance(node, ast.Call):
        return False
    made = [one.args[0] for one in node.args if isinstance(one, ast.Call) and ast.unparse(one.func) == "np.array"]
    plain = (ast.Name, ast.Attribute, ast.Constant)
    return any(
        isinstance(one, ast.List)
        and len(one.elts) > 1
        and all(isinstance(value, plain) for value in one.elts)
        and not all(isinstance(value, ast.Constant) for value in one.elts)
        for one in made
    )


def reads_key(node: ast.AST, names: set[str]) -> str | None:
    """Return the key by which a dictionary of one of these names is read."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key)), ctx=ast.Load()) if (
            name in names
        ):
            return key
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="get" | "pop"), args=[ast.Constant(value=str(key)), *_]
        ) if name in names:
            return key
    return None


def asks_which_form(node: ast.AST) -> bool:
    """Return whether a form is compared with one of the three, or asked whether it is that of several tables."""
    forms = {"ONE_TABLE", "TWO_TABLES", "LINKED_TABLES"}
    if isinstance(node, ast.Attribute):
        return node.attr == "is_joined"
    return isinstance(node, ast.Compare) and any(
        isinstance(one, ast.Name) and one.id in forms
        for side in (node.left, *node.comparators)
        for one in ast.walk(side)
    )


def test_the_map_of_the_house_names_every_room():
    """In the table of docs/how-it-works.md, with a row for each room."""
    rows = [line.split("|")[1] for line in MAP.read_text("utf-8").splitlines() if line.startswith("| `")]
    rooms = {path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("__init__.py")} - {"__init__.py", "examples"}
    assert [room for room in sorted(rooms) if not any(f"`{room}/" in row for row in rows)] == []


def test_no_module_is_too_long():
    found = {name for name, path in files() if len(path.read_text("utf-8").splitlines()) > MOST_LINES}
    assert found == STILL_TOO_LONG


def test_no_folder_is_too_full():
    modules = Counter(path.parent.relative_to(SOURCE).as_posix() for _, path in files() if path.stem != "__init__")
    assert {folder for folder, number in modules.items() if number > MOST_MODULES} == STILL_TOO_FULL


def test_few_functions_are_long():
    lengths = [(function.end_lineno or function.lineno) - function.lineno + 1 for _, function in functions()]
    assert sum(length > MOST_LINES_OF_A_FUNCTION for length in lengths) <= MOST_LONG_FUNCTIONS * len(lengths)


def test_the_pages_have_few_enough_words():
    for pattern, most in MOST_WORDS.items():
        assert sum(len(page.read_text("utf-8").split()) for page in MAP.parent.glob(pattern)) <= most, pattern


def test_a_class_has_a_name_of_its_own():
    names = Counter(node.name for _, path in files() for node in nodes_of(path) if isinstance(node, ast.ClassDef))
    assert {name for name, number in names.items() if number > 1} == set()


def test_parameters_have_shapes():
    found = {
        f"{name} {function.name}"
        for name, function in functions()
        for given in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if given.annotation is not None and ast.unparse(given.annotation) in WITHOUT_SHAPE
    }
    assert {name for name in found if not name.startswith(ALONE)} <= STILL_WITHOUT_SHAPE


def test_parameters_are_not_hidden_in_arrays():
    """An array that is made of several names at the call: ``np.array([reach, 0.0])``."""
    found = {name for name, path in files() for node in nodes_of(path) if hides_parameters(node)}
    assert found <= STILL_IN_ARRAYS


def test_options_are_parameters_and_not_read_by_key():
    found = {
        f"{name} {function.name}"
        for name, function in functions()
        if function.args.kwarg and any(reads_key(node, {function.args.kwarg.arg}) for node in ast.walk(function))
    }
    assert found <= STILL_READ_BY_KEY


def test_only_forms_know_which_form_it_is():
    """Everybody else asks a form for its noun, its tables and what is done with it."""
    found = {name for name, path in files() for node in nodes_of(path) if asks_which_form(node)}
    assert found == {"release/forms.py"}


def test_only_the_manifest_knows_its_names_as_json():
    fields = set(Manifest.model_fields)
    found = {
        name
        for name, path in files()
        for node in nodes_of(path)
        if (key := reads_key(node, {"manifest", "said", "stated"})) and key in fields
    }
    assert {name for name in found if not name.startswith(ALONE)} <= {"release/manifest.py", *STILL_READING_KEYS}


def test_the_rules_know_what_they_forbid():
    def of(code: str) -> list[ast.AST]:
        return list(ast.walk(ast.parse(code)))

    assert any(map(hides_parameters, of("run(np.array([reach, 0.0]))")))
    assert not any(map(hides_parameters, of("run(np.array([rows]), np.array(list))")))
    assert [key for node in of("how.get('a'), how['b'], other['c']") if (key := reads_key(node, {"how"}))] == ["a", "b"]
    assert any(map(asks_which_form, of("if said.form == ONE_TABLE.title: pass")))
    assert any(map(asks_which_form, of("if release.form.is_joined: pass")))
    assert not any(map(asks_which_form, of("form = ONE_TABLE")))


@pytest.mark.slow
def test_a_table_does_not_pass_through_ever_more_files(tmp_path):
    path = Path(__file__).parents[2] / "scripts" / "files_passed.py"
    spec = importlib.util.spec_from_file_location("files_passed", path)
    counting = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(counting)
    passed = {way: counting.files_passed(act) for way, act in counting.ways(tmp_path).items()}
    assert all(
        {"pipeline/stages.py", "engine/opening.py", "proof/verdict.py"} <= set(files) for files in passed.values()
    )
    assert "ledger/ledger.py" in passed["with a ledger"]
    assert [way for way, files in passed.items() if len(files) > MOST_FILES_PASSED[way]] == []


def test_no_two_rooms_have_a_module_of_one_name():
    """What DuckDB and Spark both do stands in files of one name, and a command is named for its room."""
    places = defaultdict(set)
    for name, path in files():
        if not path.stem.startswith("__") and not name.startswith(NAMED_FOR_OTHERS):
            places[path.stem].add(name.split("/")[0])
    found = {stem for stem, rooms in places.items() if len(rooms) > 1}
    assert found == MAY_SHARE_A_NAME


@pytest.mark.slow
def test_functions_are_verbs_or_say_what_they_return():
    found = {
        f"{name.split('/')[0]} {function.name}"
        for name, function in functions()
        if is_bare_participle(function.name) and not is_property(function) and not name.startswith(ALONE)
    }
    assert found == PUBLIC_NAMES


def test_the_rule_knows_participles():
    assert is_bare_participle("_told")
    assert is_bare_participle("recoded")
    assert not is_bare_participle("checked_rows")
    assert not is_bare_participle("seed")
