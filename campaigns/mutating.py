"""Mutants: single small mistakes in functions of the package, planted in a process that has loaded them.

A mutant is one change of one place: a comparison, a number off by one, a condition dropped, a statement left out,
another value returned, two arguments exchanged. Texts, messages of errors, annotations and docstrings are left alone:
what they say is not what a release rests on.
"""

from __future__ import annotations

import ast
import copy
import gc
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType, FunctionType

Function = ast.FunctionDef | ast.AsyncFunctionDef
Edit = Callable[[ast.AST], ast.AST | None]
"""Gives what stands in the place of a node from now on; None leaves a statement out."""

SWAPPED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
SYMMETRIC = {"min", "max", "minimum", "maximum", "fmin", "fmax", "isclose", "array_equal", "intersect1d", "gcd"}
SYMMETRIC |= {"add", "multiply", "compare_digest", "isdisjoint", "with_role", "_size", "_add_up"}
"""Functions that do not care which argument comes first."""
SHOWING = {"__repr__", "__str__", "_repr_html_"}


@dataclass(frozen=True)
class Mutant:
    """One planted mistake: where it is, what it is, and how it is made in a copy of its function."""

    file: str
    """Below the package."""
    function: str
    line: int
    what: str
    lines: frozenset[int] = field(compare=False)
    """The lines of the statement: a test that runs none of them cannot notice."""
    place: int = field(compare=False, repr=False)
    edit: Edit = field(compare=False, repr=False)
    digest: str = field(compare=False, repr=False, default="")
    """Of the function as it is: the same as long as nothing in it changes, wherever its lines move."""

    @property
    def key(self) -> str:
        """Return a name that stays when lines move."""
        return f"{self.file} {self.function}: {self.what}"

    @property
    def name(self) -> str:
        """Return where it is and what it is, on one line."""
        return f"{self.file}:{self.line} {self.function}: {self.what}"

    def as_source(self, tree: ast.Module) -> ast.Module:
        """Return the module with the mistake in it."""
        changed = copy.deepcopy(tree)
        _Editor(self.place, self.edit).visit(_numbered(changed))
        return ast.fix_missing_locations(changed)


def mutants_of(path: Path, package: Path) -> list[Mutant]:
    """Return all mutants of a module, in the order of its lines."""
    tree = _numbered(ast.parse(path.read_text("utf-8")))
    name = path.relative_to(package).as_posix()
    found: list[Mutant] = []
    for function, qualified in outermost_functions(tree):
        if function.name in SHOWING:
            continue
        digest = hashlib.sha256(ast.unparse(function).encode()).hexdigest()[:16]
        for statement in _statements(function):
            lines = _own_lines(statement)
            for node, what, edit in _changes(statement, function):
                line = getattr(node, "lineno", statement.lineno)
                found.append(Mutant(name, qualified, line, what, lines, vars(node)["place"], edit, digest))
    return _with_numbers(sorted(found, key=lambda mutant: (mutant.line, mutant.place, mutant.what)))


def _with_numbers(mutants: list[Mutant]) -> list[Mutant]:
    """Number changes of a function that read alike, so that each has a name of its own."""
    seen: Counter[str] = Counter()
    numbered = []
    for mutant in mutants:
        seen[mutant.key] += 1
        number = seen[mutant.key]
        numbered.append(mutant if number == 1 else replace(mutant, what=f"{mutant.what} ({number})"))
    return numbered


def outermost_functions(tree: ast.Module) -> Iterator[tuple[Function, str]]:
    """Return functions and methods with their qualified names; what is defined inside them belongs to them."""

    def below(body: list[ast.stmt], prefix: str) -> Iterator[tuple[Function, str]]:
        for node in body:
            if isinstance(node, Function):
                yield node, prefix + node.name
            elif isinstance(node, ast.ClassDef):
                yield from below(node.body, f"{prefix}{node.name}.")

    yield from below(tree.body, "")


Live = dict[tuple[str, str], list[FunctionType]]
"""The functions of a process by file and qualified name; a decorated one is found as well."""


def live_functions(package: Path) -> Live:
    """Return the functions of the package that this process has loaded."""
    live: Live = {}
    for value in gc.get_objects():
        if type(value) is FunctionType and value.__code__.co_filename.startswith(str(package)):
            live.setdefault((value.__code__.co_filename, value.__code__.co_qualname), []).append(value)
    return live


def plant(mutant: Mutant, package: Path, live: Live) -> bool:
    """Return live functions the mistake; tell whether there was one that could take it."""
    path = package / mutant.file
    module = compile(mutant.as_source(ast.parse(path.read_text("utf-8"))), str(path), "exec")
    changed = _code_of(module, mutant.function)
    fitting = [
        function
        for function in live.get((str(path), mutant.function), [])
        if function.__code__.co_firstlineno == changed.co_firstlineno
        and changed.co_freevars in ((), function.__code__.co_freevars)
    ]
    for function in fitting:  # one that asks for super() no more must still seem to
        function.__code__ = changed.replace(co_freevars=function.__code__.co_freevars)
    return bool(fitting)


def _code_of(module: CodeType, qualified: str) -> CodeType:
    """Find the code of a function below that of its module."""
    waiting = [module]
    while waiting:
        code = waiting.pop()
        if code.co_qualname == qualified:
            return code
        waiting.extend(inner for inner in code.co_consts if isinstance(inner, CodeType))
    raise LookupError(qualified)


def _numbered(tree: ast.Module) -> ast.Module:
    """Return each node its number, which is the same in every copy."""
    for place, node in enumerate(ast.walk(tree)):
        vars(node)["place"] = place
    return tree


class _Editor(ast.NodeTransformer):
    """Puts an edit in its place."""

    def __init__(self, place: int, edit: Edit) -> None:
        self.place, self.edit = place, edit

    def visit(self, node: ast.AST) -> ast.AST:
        if vars(node).get("place") != self.place:
            return self.generic_visit(node)
        changed = self.edit(node)
        if changed is None:
            changed = ast.Pass()
        return ast.copy_location(changed, node) if isinstance(changed, (ast.expr, ast.stmt)) else changed


def _statements(function: Function) -> Iterator[ast.stmt]:
    """Return all statements of a function without its docstring, also those of functions inside."""
    for node in ast.walk(function):
        if isinstance(node, ast.stmt) and node is not function:
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not is_text and not isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)):
                yield node


def _own_lines(statement: ast.stmt) -> frozenset[int]:
    """Return the lines of a statement without those of the statements inside."""
    inside = [node for node in ast.walk(statement) if isinstance(node, ast.stmt) and node is not statement]
    lines = set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    for node in inside:
        lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(lines or {statement.lineno})


Change = tuple[ast.AST, str, Edit]


def _changes(statement: ast.stmt, function: Function) -> Iterator[Change]:
    """Return the changes of a statement and of its own expressions."""
    yield from _statement_changes(statement, function)
    if isinstance(statement, (ast.Raise, ast.Assert)):
        return
    for node in _own_expressions(statement):
        for changed, what, edit in _expression_changes(node):
            is_number = isinstance(changed, ast.Constant)  # which says little by itself
            yield changed, f"{what} in {_text(_head(statement))}" if is_number else what, edit


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Return the expressions of a statement that may be changed, outermost first."""
    first: list[ast.AST] = [node for node in ast.iter_child_nodes(statement) if not isinstance(node, ast.stmt)]
    if isinstance(statement, ast.AnnAssign):
        first = [statement.value] if statement.value is not None else []
    elif isinstance(statement, (*Function.__args__, ast.ClassDef)):  # type: ignore[attr-defined]
        first = []
    while first:
        node = first.pop()
        if isinstance(node, (ast.JoinedStr, ast.stmt, ast.arguments, ast.match_case)):
            continue
        yield node
        first.extend(child for child in ast.iter_child_nodes(node) if not _is_assertion(child))


def _is_assertion(node: ast.AST) -> bool:
    """Return whether this is ``strict=True``: as an assertion it never comes into play."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _statement_changes(statement: ast.stmt, function: Function) -> Iterator[Change]:
    if isinstance(statement, (ast.Expr, ast.AugAssign, ast.Raise)) or _stores_elsewhere(statement):
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Yield, ast.YieldFrom))):
            yield statement, f"left out: {_text(statement)}", lambda node: None
    elif isinstance(statement, (ast.If, ast.While)):
        for value in (True, False) if isinstance(statement, ast.If) else (False,):
            if not (isinstance(statement.test, ast.Constant)):
                yield statement, f"condition {_text(statement.test)} is {value}", _with_test(value)
    elif isinstance(statement, ast.Return) and statement.value is not None:
        for value in _other_values(statement.value, function):
            if ast.unparse(statement.value) == repr(value):
                continue
            yield statement, f"returns {value!r}", _returning(value)
    elif isinstance(statement, ast.Continue):
        yield statement, "break for continue", lambda node: ast.Break()
    elif isinstance(statement, ast.Break):
        yield statement, "continue for break", lambda node: ast.Continue()


def _stores_elsewhere(statement: ast.stmt) -> bool:
    """Return whether a statement assigns to an attribute or an item: of a name left out Python itself would
    complain.
    """
    return isinstance(statement, ast.Assign) and all(
        isinstance(target, (ast.Attribute, ast.Subscript)) for target in statement.targets
    )


def _other_values(value: ast.expr, function: Function) -> list[object]:
    """Return constants that a function might return by mistake."""
    if isinstance(value, ast.Constant) and value.value is None:
        return []
    kind = "" if function.returns is None else ast.unparse(function.returns)
    if kind == "bool":
        return [True, False]
    if kind in ("int", "float"):
        return [0]
    return [[]] if kind.startswith("list[") else [None]


def _with_test(value: bool) -> Edit:
    def edit(node: ast.AST) -> ast.AST:
        vars(node)["test"] = ast.Constant(value)
        return node

    return edit


def _returning(value: object) -> Edit:
    def edit(node: ast.AST) -> ast.AST:
        return ast.Return(ast.List([], ast.Load()) if value == [] else ast.Constant(value))  # type: ignore[arg-type]

    return edit


def _expression_changes(node: ast.AST) -> Iterator[Change]:
    text = _text(node) if isinstance(node, ast.expr) else ""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in SWAPPED[type(operator)]:
                yield node, f"{other.__name__} in {text}", _with_comparison(place, other)
    elif isinstance(node, ast.BoolOp):
        word = "or" if isinstance(node.op, ast.And) else "and"
        yield node, f"{word} in {text}", _with_other_word
        for place, dropped in enumerate(node.values):
            yield node, f"without {_text(dropped)} in {text}", _without_operand(place)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert, ast.USub)):
        yield node, f"without the sign of {text}", lambda node: node.operand  # type: ignore[attr-defined]
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        if not any(
            isinstance(side, (ast.JoinedStr, ast.Constant)) and _is_text(side) for side in (node.left, node.right)
        ):
            yield node, f"{ARITHMETIC[type(node.op)].__name__} in {text}", _with_other_arithmetic
    elif isinstance(node, ast.IfExp):
        for value in (True, False):
            yield node, f"{_text(node.test)} is {value} in {text}", _with_test(value)
    elif isinstance(node, ast.comprehension):
        for place, condition in enumerate(node.ifs):
            yield node, f"without if {_text(condition)}", _without_condition(place)
    elif isinstance(node, ast.Call):
        plain = [argument for argument in node.args[:2] if not isinstance(argument, ast.Starred)]
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if len(plain) == 2 and called not in SYMMETRIC and ast.dump(plain[0]) != ast.dump(plain[1]):
            yield node, f"first arguments exchanged in {text}", _with_swapped_arguments
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield node, f"{not node.value} for {node.value}", lambda node: ast.Constant(not node.value)  # type: ignore[attr-defined]
        elif isinstance(node.value, int):
            yield node, f"{node.value + 1} for {node.value}", lambda node: ast.Constant(node.value + 1)  # type: ignore[attr-defined]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _with_comparison(place: int, other: type[ast.cmpop]) -> Edit:
    def edit(node: ast.AST) -> ast.AST:
        vars(node)["ops"][place] = other()
        return node

    return edit


def _with_other_word(node: ast.AST) -> ast.AST:
    vars(node)["op"] = ast.Or() if isinstance(vars(node)["op"], ast.And) else ast.And()
    return node


def _without_operand(place: int) -> Edit:
    def edit(node: ast.AST) -> ast.AST:
        values: list[ast.expr] = vars(node)["values"]
        del values[place]
        return node if len(values) > 1 else values[0]

    return edit


def _with_other_arithmetic(node: ast.AST) -> ast.AST:
    vars(node)["op"] = ARITHMETIC[type(vars(node)["op"])]()
    return node


def _without_condition(place: int) -> Edit:
    def edit(node: ast.AST) -> ast.AST:
        del vars(node)["ifs"][place]
        return node

    return edit


def _with_swapped_arguments(node: ast.AST) -> ast.AST:
    arguments: list[ast.expr] = vars(node)["args"]
    arguments[0], arguments[1] = arguments[1], arguments[0]
    return node


def _head(statement: ast.stmt) -> ast.AST:
    """Return a statement, of one with others inside what stands before them."""
    heads = (getattr(statement, name, None) for name in ("test", "iter", "subject"))
    return next((head for head in heads if isinstance(head, ast.AST)), statement)


def _text(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
