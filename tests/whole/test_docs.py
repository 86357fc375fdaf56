"""The documentation is true: its code runs, its commands print what it shows, its links resolve, nothing is left out.

What the blocks of a page mean; the blocks of one page run in order, in one folder that holds the papers' examples:

    python    runs
    pycon     runs, and prints what is shown (doctest)
    console   a line after ``$`` runs and exits with 0, or with n if it ends with ``# exit code n``; the lines below it
              are among those it prints, in this order, whatever their spaces; a line with … alone stands for others
    toml      is a policy that is accepted, if it has a version
    others    are only shown (sh, text, json)

A comment ``<!-- file: name -->`` before a block saves the block under that name first.
"""

from __future__ import annotations

import ast
import dataclasses
import doctest
import inspect
import os
import re
import shlex
import subprocess
import tomllib
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Unpack

import pytest
import typer.main
from typer.testing import CliRunner

import indistinct as ix
from indistinct.attacks.run import attacks_in_markdown
from indistinct.cli import app
from indistinct.examples import EXAMPLES, save_examples
from indistinct.hierarchy import FORMS
from indistinct.hierarchy.catalogue import CATALOGUE
from indistinct.policy import OPERATORS
from indistinct.policy.files.policy_file import policy_of
from indistinct.registry import ALGORITHMS, MEASURES, MODELS
from indistinct.search import algorithm_named
from indistinct.search.full_domain.solutions import PREFERENCES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]
WIDTH = "120"
SHELL_COMMANDS = ("cat", "cp", "head", "sort")

BLOCK = re.compile(
    r"(?:^<!-- file: (?P<file>\S+) -->\n\n?)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
EXIT_CODE = re.compile(r"\s+# exit code (\d+)$")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    kind: str
    body: str
    file: str | None
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("body")) + 1
        yield Block(found["kind"], found["body"], found["file"], line)


def text_of(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def names_of(pages: list[Path]) -> list[str]:
    return [page.relative_to(ROOT).as_posix() for page in pages]


# What is shown runs.


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=names_of(PAGES))
def test_what_a_page_shows_is_what_happens(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    variables: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        where = f"{page.name}, line {block.line}"
        if block.file is not None:
            Path(block.file).write_text(block.body, "utf-8")
        if block.kind == "python":
            exec(compile(block.body, where, "exec"), variables)
        elif block.kind == "pycon":
            check_session(block, where, variables)
        elif block.kind == "console":
            check_commands(block, where, monkeypatch)
        elif block.kind == "toml" and "version" in tomllib.loads(block.body):
            policy_of(tomllib.loads(block.body), name=where)


def check_session(block: Block, where: str, variables: dict[str, Any]) -> None:
    """Run the examples of a block in the page's variables and compare what they print."""
    test = doctest.DocTestParser().get_doctest(block.body, {}, where, where, 0)
    test.globs = variables
    told: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    doctest.DocTestRunner(optionflags=flags, verbose=False).run(test, out=told.append, clear_globs=False)
    assert not told, "".join(told)


def check_commands(block: Block, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the commands of a block, and look for the lines shown below each among those it prints."""
    for part in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        asked = EXIT_CODE.search(command)
        command = EXIT_CODE.sub("", command)
        exit_code, printed = run(command, monkeypatch)
        assert exit_code == (int(asked[1]) if asked else 0), f"{where}: {command}\n{printed}"
        lines = iter([plain(line) for line in printed.splitlines()])
        for line in shown.splitlines():
            expected = plain(line)
            assert expected in ("", "…") or expected in lines, f"{where}: {command}\nno line {expected!r} in\n{printed}"


def plain(line: str) -> str:
    """Return a line without what depends on widths alone: runs of spaces and of rules."""
    return re.sub("─+", "─", " ".join(line.split()))


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Run one command and give its exit code and all that it prints."""
    words = shlex.split(command)
    if words[0] == "indistinct":
        result = CliRunner().invoke(app, words[1:])
        return result.exit_code, result.output
    if words[0] == "cd":
        monkeypatch.chdir(words[1])
        return 0, ""
    assert words[0] in SHELL_COMMANDS, f"pages run indistinct, cd and {', '.join(SHELL_COMMANDS)}, not {words[0]}"
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=False)
    return done.returncode, done.stdout + done.stderr


ONLY_SHOWN = {
    "CONTRIBUTING.md": (
        "py",
        "test_registry.py and test_formats.py do the exercises from the page",
    ),
    "README.md": ("sh", ".ci/run runs the second as it stands, and scripts/start_page.py what the first does"),
    "docs/databases.md": ("py", "tests/engine/test_spark.py"),
    "docs/health-records.md": ("sh", "test_ready_policy.py and test_fhir_tables.py run both on their examples"),
    "docs/installing.md": ("sh", "a workflow builds the image and runs it; there is no Docker on most machines"),
    "docs/papers.md": ("py", "tests/house/test_benchmarks.py, on made-up rows"),
    "docs/recipes.md": ("sh", "tests/whole/test_gate.py"),
    "docs/signatures.md": ("sh", "tests/release/test_signature.py, where OpenSSL is installed"),
    "docs/spark.md": ("py sh", "tests/engine/test_spark.py"),
    "docs/studio.md": ("sh", "tests/whole/test_studio.py"),
}
"""Pages with commands or code that are only shown here, and what runs them: Spark and browsers start slowly."""


def test_what_is_only_shown_here_is_run_elsewhere() -> None:
    shown: dict[str, set[str]] = {}
    for page, name in zip(PAGES, names_of(PAGES), strict=True):
        kinds = {block.kind for block in blocks(page)}
        assert kinds <= {"python", "pycon", "console", "toml", "text", "csv", "json", "yaml", "py", "sh"}, name
        if kinds & {"py", "sh"}:
            shown[name] = kinds & {"py", "sh"}
    assert shown == {name: set(kinds.split()) for name, (kinds, _) in ONLY_SHOWN.items()}


def test_the_readme_gives_exactly_two_commands_for_a_fresh_machine() -> None:
    shown = [block.body.strip() for block in blocks(ROOT / "README.md") if block.kind == "sh"]
    assert shown == [
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/indistinct demo",
        "python3 -m venv --upgrade-deps .venv"
        ' && .venv/bin/pip install -e ".[test]" && .venv/bin/python scripts/check.py --all',
    ]


def test_no_example_stands_outside_a_block_where_nothing_would_run_it() -> None:
    for page in PAGES:
        text = BLOCK.sub("", page.read_text("utf-8"))
        assert re.findall(r"^(?:>>>|\$) .*", text, re.MULTILINE) == [], page.name


def test_every_relative_link_resolves() -> None:
    for page in PAGES:
        for target in LINK.findall(page.read_text("utf-8")):
            if "://" not in target:
                path, _, anchor = target.partition("#")
                goal = page.parent / path if path else page
                assert goal.exists(), f"{page.name} links to {target}"
                assert not anchor or anchor in anchors(goal), f"{page.name} links to {target}"


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_a_page_names_no_place_on_a_machine() -> None:
    for page in PAGES:
        places = re.findall(r"(?<![\w.])/(?:home|root|tmp|usr|var|work|Users)/\S*", page.read_text("utf-8"))
        assert places == [], page.name


# Nothing is left out.


def api_entries() -> dict[str, str]:
    """The names of docs/api.md, each with the signature that it shows, if any."""
    return dict(re.findall(r"^\| `(\w+)(\(.*?\))?` \|", text_of("api.md"), re.MULTILINE))


def test_the_api_page_has_exactly_the_public_names() -> None:
    found = re.findall(r"^\| `([\w.]+)", text_of("api.md"), re.MULTILINE)
    within = {"attacks": ix.attacks, "hierarchies": ix.hierarchies}
    inner = [f"{room}.{name}" for room, names in within.items() for name in names.__all__ if name.islower()]
    public: list[str] = ix.__all__  # type: ignore[attr-defined]
    assert sorted(found) == sorted([*inner, *(name for name in public if name not in within)])


def test_the_api_page_shows_the_true_signatures() -> None:
    for name, signature in api_entries().items():
        if signature:
            shown = written_parameters(signature)
            value = getattr(ix, name)
            if dataclasses.is_dataclass(value):
                true = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
            else:
                true = [name for name in true_parameters(value) if not name.startswith("_")]
            assert shown == true, name


def true_parameters(function: Any) -> list[str]:
    """The parameters that a function takes; a dictionary of options stands for what it may hold."""
    taken = inspect.signature(function).parameters
    hints = typing.get_type_hints(function) if any("Unpack" in str(one.annotation) for one in taken.values()) else {}
    unpacked = {name: typing.get_args(hints[name])[0] for name in hints if typing.get_origin(hints[name]) is Unpack}
    return [one for name in taken for one in (unpacked[name].__annotations__ if name in unpacked else [name])]


def written_parameters(signature: str) -> list[str]:
    """The parameters that a written signature names."""
    made = ast.parse(f"def f{signature}: pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    arguments = made.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    names += [arguments.vararg.arg] if arguments.vararg else []
    names += [argument.arg for argument in arguments.kwonlyargs]
    return names + ([arguments.kwarg.arg] if arguments.kwarg else [])


def test_every_command_is_in_the_command_page_and_every_option_in_its_help() -> None:
    text = text_of("cli.md")
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        assert f"\n## {name}\n" in text, name
        section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
        for below in getattr(command, "commands", {}):
            assert f"{name} {below}" in section, f"{name} {below}"
        for made in (command, *getattr(command, "commands", {}).values()):
            for option in (parameter for parameter in made.params if parameter.param_type_name == "option"):
                assert option.help, f"{name} {made.name} {option.name}"
                assert not option.hidden, f"{name} {made.name} {option.name}"


def test_every_error_has_its_exit_code_in_the_api_page() -> None:
    public: list[str] = ix.__all__  # type: ignore[attr-defined]
    for name, value in ((name, getattr(ix, name)) for name in public if name.endswith("Error")):
        line = next(line for line in text_of("api.md").splitlines() if line.startswith(f"| `{name}`"))
        assert f"| {value.exit_code} |" in line


def mentioned(page: str, names: Any) -> list[str]:
    return [name for name in names if f"`{name}`" not in text_of(page)]


def test_every_algorithm_and_its_options_are_in_the_algorithm_page() -> None:
    assert mentioned("algorithms.md", ALGORITHMS) == []
    for name in ALGORITHMS:
        made = algorithm_named(name)
        fields = [field.name for field in dataclasses.fields(made)]
        assert mentioned("algorithms.md", [type(made).__name__, *fields]) == []


def test_every_preference_is_in_the_algorithm_page() -> None:
    assert mentioned("algorithms.md", PREFERENCES) == []


def test_every_measure_is_in_the_measure_page() -> None:
    assert mentioned("measures.md", [*MEASURES, *(type(make()).__name__ for make in MEASURES.values())]) == []


def test_the_attack_page_has_the_table_of_the_registry() -> None:
    assert attacks_in_markdown() in text_of("attacks.md")


def test_the_catalogue_has_paper_and_example_of_everything() -> None:
    attacks = [name for name in ix.attacks.__all__ if name.islower() and name != "run"]
    rooms: dict[str, Iterable[str]] = {
        "Algorithms": ALGORITHMS,
        "Models": MODELS,
        "Measures": MEASURES,
        "Attacks": attacks,
    }
    for title, names in rooms.items():
        section = text_of("catalogue.md").split(f"\n## {title}\n")[1].split("\n## ")[0]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "](" in line]
        found = {row[0].strip("`"): row[1:] for row in rows if row[0].startswith("`")}
        assert sorted(found) == sorted(names), title
        assert [name for name, cells in found.items() if len(cells) != 2 or not all(cells)] == []


def test_the_files_that_the_page_on_papers_names_are_there() -> None:
    named = re.findall(r"`([\w/]+(?:/|\.py))`", text_of("papers.md"))
    assert len(named) > 3
    for name in named:
        assert any((place / name).exists() for place in (ROOT, ROOT / "src" / "indistinct")), f"the page names {name}"


def test_every_hierarchy_and_its_options_are_in_the_hierarchy_page() -> None:
    assert mentioned("hierarchies.md", FORMS) == []
    for kind, form in FORMS.items():
        heading = "## The catalogue" if kind in CATALOGUE else f"### {kind}"
        section = text_of("hierarchies.md").split(f"\n{heading}\n")[1].split("\n### ")[0].split("\n## ")[0]
        assert kind not in CATALOGUE or f"\n| `{kind}` |" in section
        assert [option for option in form.option_names if f"`{option}`" not in section] == [], kind


def test_every_policy_key_operator_and_model_is_in_the_policy_page() -> None:
    schema = ix.policy_schema()
    keys = {*schema["properties"], *(key for part in schema["$defs"].values() for key in part["properties"])}
    for variant in schema["properties"]["privacy"]["items"]["anyOf"]:
        keys |= {*variant["properties"], *variant["properties"].get("at_level", {}).get("properties", {})}
    assert mentioned("policy.md", sorted(keys)) == []
    assert mentioned("policy.md", [*OPERATORS, *MODELS, *ALGORITHMS]) == []


def test_every_example_is_in_the_tutorial() -> None:
    assert [e.name for e in EXAMPLES if f"{e.name}.csv" not in text_of("tutorial.md")] == []
