"""What the package is trusted with: nothing is run that came as data, and SQL is made of quoted names only."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.syntax_trees import nodes_of, tree_of

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "indistinct"
MODULES = sorted(SOURCE.rglob("*.py"))
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "yaml.load"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
SQL = re.compile(
    r"\b(SELECT|INSERT|DELETE|CREATE|DROP|COPY|ATTACH|DETACH|FROM|JOIN|WHERE|GROUP BY|ORDER BY|ALTER|SET|HAVING) "
)
Function = ast.FunctionDef | ast.Module


def name_of(node: ast.AST) -> str:
    return ast.unparse(node)


def is_forbidden(called: ast.expr) -> bool:
    is_name = isinstance(called, ast.Name) or (isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name))
    return is_name and name_of(called) in FORBIDDEN_CALLS  # to write all others out takes seconds


def shown(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def test_nothing_is_run_that_came_as_data() -> None:
    for path in MODULES:
        for node in nodes_of(path):
            where = f"{shown(path)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Call):
                assert not is_forbidden(node.func), where
                assert "shell" not in {word.arg for word in node.keywords}, f"{where} starts a shell"
            if isinstance(node, ast.Import):
                assert not {alias.name.partition(".")[0] for alias in node.names} & FORBIDDEN_MODULES, where
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] not in FORBIDDEN_MODULES, where


def test_no_memory_is_mapped_to_be_run() -> None:
    """Code comes from Python's and numba's own loaders alone; one function of the C library renames a folder."""
    for path in MODULES:
        text = path.read_text("utf-8")
        found = re.search(r"\b(mmap|PROT_EXEC|cffi|dlopen|load_dynamic|add_object_file|add_raw_object)\b", text)
        assert not found, shown(path)
        calls = re.findall(r"ctypes\.\w+\([^)]*\)", text)
        assert calls == (["ctypes.CDLL(None, use_errno=True)"] if path.name == "atomic_files.py" else []), shown(path)


SAFE_CALLS = {
    "quote": "names of columns and tables, as SQL identifiers",
    "literal": "texts, as SQL literals",
    "text": "the SQL of a cell as text, which quotes its column",
    "number_sql": "SQL made of such a cell",
    "int": "a number",
    "len": "a number",
    "code_type": "one of three names of types",
    "fresh": "a name that the session counts up",
    "position": "a number",
    "index": "a number",
    "lower": "letters of what is followed by itself",
    "registered_table": "a name that the session counts up",
    "attach": "a name that the session counts up",
    "own_cell": "a quoted column, or SQL made of it",
    "has_text": "a quoted column compared with literals",
    "format": "SQL in which names that the session counted up are filled in",
}
"""Functions whose answer may stand in SQL, and what it is."""


SAFE_ENDINGS = (
    "_sql",
    "_digest",
    "_rows",
    "_scan",
    "_locally",
    "_by_column",
    "_lengths",
    "_order",
    "_cell",
    "_storage",
)
"""How functions of the engine are named that give SQL; each is looked at by itself."""
REASONED = {
    "a name that the session counts up, or one of a table that it made": {
        "apart",
        "coded",
        "database",
        "dictionary",
        "enter_context",
        "labels",
        "line",
        "lines",
        "other",
        "others",
        "own",
        "placed",
        "relation",
        "relation_of",
        "released",
        "rows",
        "_schema",
        "schema",
        "sent",
        "store",
        "stored",
        "table",
        "told",
        "unordered",
        "view",
    },
    "a name made of a letter and a number: g1, l0, k2": {"_as_texts", "by", "_groups", "name", "name_of", "names"},
    "SQL that was made of quoted names by whoever calls": {
        "_cells",
        "_every",
        "_is_released",
        "_people",
        "_read",
        "_where",
        "_with_alias",
        "cell",
        "cells",
        "codes",
        "columns",
        "condition",
        "counted",
        "distinct_estimate",
        "eligible",
        "first",
        "fromkeys",
        "groups",
        "get",
        "goal",
        "identifier",
        "is_linked",
        "join",
        "joined",
        "joins",
        "key",
        "key_of",
        "mine",
        "more",
        "new_name",
        "number",
        "options",
        "profiles",
        "query",
        "random_key",
        "read",
        "sha256",
        "shown",
        "single",
        "size",
        "spans_as_text",
        "sql",
        "stage",
        "text",
        "texts",
        "theirs",
        "where",
    },
    "a type, as the database itself writes it": {"_server_type", "kind"},
    "a part of a text that is read as a day": {"month", "year"},
    "a number": {"depths", "max", "number_of_rows", "position", "release"},
    "a setting of ours, by a name of ours": {"setting"},
    "a word of ours": {"action", "row_id"},
}
"""What stands in SQL and is not followed further, by what it is called and the reason why it may."""


class Scope:
    """What the names of a function were given, to follow what stands in SQL to where it came from."""

    def __init__(self, function: Function) -> None:
        self.given: dict[str, list[ast.expr]] = {}
        self.numbers: set[str] = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._bind(target, node.value)
            elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
                self._bind(node.target, node.value)
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                self._bind(node.optional_vars, node.context_expr)
            elif isinstance(node, ast.For | ast.comprehension):
                self._loop(node.target, node.iter)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.given.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, its in zip(target.elts, value.elts, strict=True):
                self._bind(one, its)

    def _loop(self, target: ast.expr, over: ast.expr) -> None:
        """Note counters: the first of ``enumerate``, and what ``range`` gives."""
        if not isinstance(over, ast.Call) or not isinstance(over.func, ast.Name):
            return
        if over.func.id == "enumerate" and isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
            self.numbers.add(target.elts[0].id)
        if over.func.id == "range" and isinstance(target, ast.Name):
            self.numbers.add(target.id)

    def unsure(self, node: ast.expr | None, seen: frozenset[str] = frozenset()) -> Iterator[str]:
        """Return what in an expression could be something that came from outside without being quoted."""
        match node:
            case None | ast.Constant():
                return
            case ast.JoinedStr():
                parts: list[ast.expr] = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
            case ast.Name(id=name) if name in self.numbers or name in seen or name.isupper():
                return
            case ast.Name(id=name) if name in self.given:
                parts, seen = self.given[name], seen | {name}
            case ast.IfExp():
                parts = [node.body, node.orelse]
            case ast.BoolOp():
                parts = node.values
            case ast.BinOp():
                parts = [node.left, node.right]
            case ast.List() | ast.Tuple():
                parts = node.elts
            case ast.Starred():
                parts = [node.value]
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                parts = [node.elt]
            case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join")):
                parts = node.args
            case ast.Call(func=ast.Name(id="map"), args=[how, *_]) if name_of(how).split(".")[-1] in SAFE_CALLS:
                return
            case ast.Call() if _is_safe(name_of(node.func).split(".")[-1]):
                return
            case _:
                yield last_word(node)
                return
        for part in parts:
            yield from self.unsure(part, seen)


def last_word(node: ast.expr) -> str:
    """Return what an expression is called: an attribute or a function without what it belongs to.

    >>> last_word(ast.parse("self.source.relation", mode="eval").body)
    'relation'
    """
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case ast.Subscript(value=whole):
            return last_word(whole)
        case ast.Call(func=called):
            return last_word(called)
    return name_of(node)


def _is_safe(function: str) -> bool:
    return function in SAFE_CALLS or function.endswith(SAFE_ENDINGS)


def functions_of(path: Path) -> Iterator[Function]:
    yield tree_of(path)
    yield from (node for node in nodes_of(path) if isinstance(node, ast.FunctionDef))


def sql_texts(function: Function) -> Iterator[ast.JoinedStr]:
    for node in ast.walk(function):
        if isinstance(node, ast.JoinedStr):
            fixed = " ".join(part.value for part in node.values if isinstance(part, ast.Constant))
            if SQL.search(fixed):
                yield node


def unquoted(path: Path) -> set[str]:
    """Return what stands in the SQL of a module and cannot be followed to something that is quoted."""
    innermost: dict[ast.JoinedStr, Function] = {}
    for function in functions_of(path):  # later ones lie inside earlier ones
        innermost |= dict.fromkeys(sql_texts(function), function)
    return {found for text, function in innermost.items() for found in Scope(function).unsure(text)}


@pytest.mark.slow
def test_sql_is_made_of_quoted_names() -> None:
    """Each name in SQL is quoted, or was made here; whatever else is found stands above with the reason, or fails."""
    found = {path: names for path in MODULES if (names := unquoted(path))}
    assert {path.relative_to(SOURCE).parts[0] for path in found} <= {"engine", "ledger"}, "SQL stands there only"
    assert set().union(*found.values()) == set().union(*REASONED.values())


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def f(name):\n    run(f'SELECT {name} FROM t')", {"name"}),
        ("def f(name):\n    cell = quote(name)\n    run(f'SELECT {cell} FROM t')", set()),
        ("def f(names):\n    cells = ', '.join(names)\n    run(f'SELECT {cells} FROM t')", {"names"}),
        ("def f(names):\n    cells = ', '.join(map(quote, names))\n    run(f'SELECT {cells} FROM t')", set()),
        ("def f(x):\n    part = f'= {x.value}'\n    run(f'SELECT 1 FROM t WHERE a {part}')", {"value"}),
        ("def f(x):\n    run(f'SELECT 1 FROM t LIMIT {int(x)}')", set()),
        ("def f(x):\n    run(f'DROP TABLE ' f'{x if x else quote(x)}')", {"x"}),
    ],
)
def test_the_rule_follows_names(tmp_path: Path, code: str, found: set[str]) -> None:
    (tmp_path / "module.py").write_text(code, "utf-8")
    assert unquoted(tmp_path / "module.py") == found


TOOLS = ("docs", "test")
"""What whoever works on the package installs: nothing of it runs where a table is."""


def requirements() -> dict[str, str]:
    """Return what the package needs, by name: the bounds of each, as pyproject.toml has them."""
    said = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = said["optional-dependencies"]
    lines = [*said["dependencies"], *(line for name in extras if name not in TOOLS for line in extras[name])]
    lines += [line for line in extras["test"] if line.startswith("polars")]  # frames that may be given
    return dict(re.fullmatch(r"([a-z0-9-]+)(?:\[[a-z,]+\])?(.*)", line).groups() for line in lines)


def oldest() -> dict[str, str]:
    lines = (ROOT / "constraints" / "oldest.txt").read_text("utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def test_the_oldest_versions_are_the_lower_bounds() -> None:
    lower = {name: re.search(r">=([0-9.]+)", bounds)[1].split(".") for name, bounds in requirements().items()}
    found = {name: version.split(".") for name, version in oldest().items()}
    assert found.keys() == lower.keys()
    for name, version in found.items():
        assert version[: len(lower[name])] == lower[name], name
        assert set(version[len(lower[name]) :]) <= {"0"}, name


def test_every_dependency_has_an_upper_bound() -> None:
    assert [name for name, bounds in requirements().items() if ",<" not in bounds] == []


def test_every_dependency_is_listed_with_what_it_is_trusted_with() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    listed = {
        name for line in page.splitlines() if line.startswith("| ") for name in re.findall(r"[a-z0-9-]+", line[:20])
    }
    assert requirements().keys() <= listed


def test_every_exception_from_bandit_has_its_reason() -> None:
    lines = [line for path in MODULES for line in path.read_text("utf-8").splitlines() if "# nosec" in line]
    assert [line for line in lines if not re.search(r"# nosec B\d{3} # \w+", line)] == []
