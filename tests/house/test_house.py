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
from helpers.syntax_trees import tree_of

SOURCE = Path(indistinct.__file__).parent
MAP = Path(__file__).parents[2] / "docs" / "how-it-works.md"
Function = ast.FunctionDef | ast.AsyncFunctionDef

MOST_LINES = 600
MOST_MODULES = 12
"""In one folder."""

# What breaks a rule today. Nothing may be added; whoever mends a file takes its line out.
STILL_TOO_LONG: set[str] = set()
STILL_TOO_FULL: set[str] = set()

MOST_FILES_PASSED = {"a CSV file": 64, "two tables": 67, "with a ledger": 77}
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
    return [(name, node) for name, path in files() for node in ast.walk(tree_of(path)) if isinstance(node, Function)]


def is_bare_participle(name: str) -> bool:
    """Return whether a name is one word that says what was done, and not what is done or returned."""
    word = name.strip("_")
    return word in IRREGULAR.split() or (word.endswith("ed") and "_" not in word and word not in NO_PARTICIPLES)


def is_property(function: Function) -> bool:
    """Return whether a function is read like a field, as ``verdict.passed`` is: such a name is a claim."""
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


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
        if is_bare_participle(function.name) and not is_property(function)
    }
    assert found == PUBLIC_NAMES


def test_the_rule_knows_participles():
    assert is_bare_participle("_told")
    assert is_bare_participle("recoded")
    assert not is_bare_participle("checked_rows")
    assert not is_bare_participle("seed")
