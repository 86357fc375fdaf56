"""What is published: packages, container, recipe, workflows, and that all of them say the same."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

import indistinct

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CONDA_NAMES = {"duckdb": "python-duckdb"}


def script(name: str, folder: str = "scripts") -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


contents, start_page, version, subjects = map(script, ("package_contents", "start_page", "version", "commit_subjects"))


# Packages.

TRACKED = [*(f"src/{name}" for name in contents.NEEDED_IN_WHEEL), "tests/test_x.py", "README.md"]
METADATA = [f"indistinct-1.dist-info/{name}" for name in contents.NEEDED_OF_METADATA]


def test_a_wheel_holds_the_package_as_git_has_it() -> None:
    good = [*contents.NEEDED_IN_WHEEL, *METADATA]
    assert contents.wheel_mistakes(good, TRACKED) == []
    assert contents.wheel_mistakes(good[1:], TRACKED) == ["indistinct/__init__.py is missing"]
    assert contents.wheel_mistakes([*good, "tests/test_x.py"], TRACKED) == [
        "tests/test_x.py does not belong into a wheel"
    ]
    assert contents.wheel_mistakes(good[:-1], TRACKED) == [
        f"{METADATA[-1].split('/', 1)[1]} of the metadata is missing"
    ]
    strange = contents.wheel_mistakes([*good, "indistinct/x.nbi"], TRACKED)
    assert strange == ["indistinct/x.nbi is not in git", "indistinct/x.nbi must never be published"]


def test_a_source_archive_holds_what_its_tests_need() -> None:
    good = [*TRACKED, *contents.NEEDED_IN_SOURCE]
    known = [*TRACKED, "pyproject.toml", "LICENSE", "CHANGELOG.md", "CITATION.cff"]
    assert contents.source_mistakes(good, known, ["src", "tests"]) == []
    assert contents.source_mistakes([*good, "ledger.db"], known, ["src"]) == [
        "ledger.db is not in git",
        "ledger.db must never be published",
    ]
    without = [name for name in good if not name.startswith("tests/")]
    assert contents.source_mistakes(without, known, ["src", "tests"]) == ["tests/test_x.py is missing"]


def test_what_git_has_is_in_the_source_archive() -> None:
    """So that its tests find what they read; whoever adds a file at the top says so in pyproject.toml."""
    if not (ROOT / ".git").exists():
        pytest.skip("only a clone knows what git has")
    here = {name.split("/")[0] for name in contents.tracked_files()}
    assert set(contents.included_in_source()) == here - {"pyproject.toml", ".gitignore", ".gitattributes"}


def test_the_page_runner_finds_a_command_that_does_not_do_what_is_shown() -> None:
    page = "```console\n$ a b  # exit code 3\nshown   here\n…\n$ c\n```\n```sh\nrm\n```\n"
    assert list(start_page.commands_of(page)) == [("a b", 3, ["shown here"]), ("c", 0, [])]
    assert start_page.mistake_of(3, "x\nshown here \n", 3, ["shown here"]) is None
    assert start_page.mistake_of(0, "shown here", 3, ["shown here"]) == "exit code 0 instead of 3"
    assert start_page.mistake_of(0, "b\na\n", 0, ["a", "b"]) == "it does not print 'b'"


def test_the_start_pages_have_commands_for_the_page_runner() -> None:
    pages = [(ROOT / name).read_text("utf-8") for name in start_page.START_PAGES]
    counts = [len(list(start_page.commands_of(page))) for page in pages]
    assert len(counts) == 3
    assert min(counts) >= 2
    commands = [command for page in pages for command, _, _ in start_page.commands_of(page)]
    assert all(command.startswith("indistinct ") for command in commands)


def test_every_link_of_the_readme_leads_somewhere_from_another_site(monkeypatch: pytest.MonkeyPatch) -> None:
    built_with = SimpleNamespace(MetadataHookInterface=object)  # hatchling is there while a package is built
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", built_with)
    made = script("hatch_build", ".").ReadmeHook()
    made.root = str(ROOT)
    metadata: dict[str, Any] = {}
    made.update(metadata)
    targets = re.findall(r"\]\(([^)\s]+)\)", metadata["readme"]["text"])
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    own = re.compile(r"https://github.com/indistinct/indistinct/(blob|raw)/main/([^)#\s]+)")
    for shown, file in own.findall("\n".join(targets)):
        assert (ROOT / file).is_file()
        assert (shown == "raw") == (Path(file).suffix in {".png", ".svg"})


# Versions.


def test_everything_that_names_the_version_names_the_same() -> None:
    assert set(version.versions().values()) == {indistinct.__version__}
    assert version.mistakes(None, version.versions(), "") == []


def test_a_tag_needs_its_version_and_a_section_of_the_changelog() -> None:
    named = {"package": "1.2.3", "recipe": "1.2.3"}
    text = "# Changelog\n\n## Unreleased\n\n## 1.2.3 (2027-01-01)\n- Better.\n\n## 1.2.2\n- Good.\n"
    assert version.mistakes("v1.2.3", named, text) == []
    assert version.notes_of("1.2.3", text) == "- Better."
    assert version.mistakes("v1.2.4", named, text) == ["the tag is v1.2.4, the version 1.2.3"]
    assert version.mistakes("v1.2.3", named, "## 1.2.30\n- x") == ["CHANGELOG.md has no section 1.2.3"]
    assert version.mistakes(None, named | {"recipe": "1.2"}, text) == ["recipe names 1.2, not 1.2.3"]
    assert version.mistakes(None, {"package": "1.2"}, text) == ["1.2 is no version of three numbers"]


def test_the_changelog_has_a_section_for_each_version_newest_first() -> None:
    found = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    numbers = [tuple(map(int, name.split()[0].split("."))) for name in found if name != "Unreleased"]
    assert numbers == sorted(numbers, reverse=True)
    assert found[0] == "Unreleased" or found[0].startswith(indistinct.__version__)


def test_the_classifiers_are_the_versions_of_python_that_are_tested() -> None:
    told = [line for line in PROJECT["project"]["classifiers"] if re.fullmatch(r".*:: 3\.\d+", line)]
    tested = yaml.safe_load((ROOT / ".github/workflows/checks.yml").read_text("utf-8"))["jobs"]["all"]["strategy"]
    assert [line.rpartition(" ")[2] for line in told] == tested["matrix"]["python"]


# Commits.


@pytest.mark.parametrize(
    ("subject", "is_right"),
    [
        ("Count tuples before decoding them", True),
        ("Seed every draw", True),
        ("Merge branch 'x' into a very long name that nobody chose by herself", True),
        ("x" * 61, False),
        ("count tuples", False),
        ("Counted tuples twice", False),
        ("Adding a model", False),
        ("Changelog", False),
        ("Count tuples.", False),
        ("", False),
    ],
)
def test_subjects_of_commits_keep_their_rule(subject: str, is_right: bool) -> None:
    assert (subjects.mistakes(subject) == []) == is_right


def test_a_message_is_read_as_git_gives_it(tmp_path: Path) -> None:
    (tmp_path / "message").write_text("# a remark\n\nCount tuples first\n\nbody\n", "utf-8")
    assert subjects.main(["--file", str(tmp_path / "message")]) == 0
    (tmp_path / "message").write_text("counted.\n", "utf-8")
    assert subjects.main(["--file", str(tmp_path / "message")]) == 1
    assert subjects.main([]) == 2


# The recipe and the image.


def recipe() -> dict[str, Any]:
    text = (ROOT / "recipe" / "recipe.yaml").read_text("utf-8")
    context = yaml.safe_load(text)["context"]
    for name, value in context.items():
        text = text.replace(f"${{{{ {name} }}}}", value)
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def test_the_recipe_says_what_the_project_says() -> None:
    made, project = recipe(), PROJECT["project"]
    wanted = []
    for line in project["dependencies"]:
        name, bounds = re.fullmatch(r"([a-z0-9]+)(.*)", line).groups()  # type: ignore[union-attr]
        wanted.append(f"{CONDA_NAMES.get(name, name)} {bounds}")
    assert sorted(made["requirements"]["run"]) == sorted([*wanted, f"python {project['requires-python']}"])
    assert made["package"] == {"name": project["name"], "version": indistinct.__version__}
    assert made["about"]["license"] == project["license"]
    assert made["about"]["summary"] == project["description"]
    assert made["build"]["python"]["entry_points"] == [f"{n} = {w}" for n, w in project["scripts"].items()]
    hatchling = PROJECT["build-system"]["requires"][0].replace(">=", " >=")
    assert hatchling in made["requirements"]["host"]


def test_the_image_runs_as_nobody_who_matters_and_holds_what_it_needs() -> None:
    lines = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ").splitlines()
    steps = [line.split(None, 1) for line in lines if line and not line.startswith("#")]
    users = [what for how, what in steps if how == "USER"]
    assert users, "somebody must be named, or it is root"
    assert all(re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user) for user in users)
    assert [how for how, _ in steps][-2:] == ["ENTRYPOINT", "CMD"]
    assert not any(how == "ADD" for how, _ in steps)
    extras = re.search(r'"\.\[(.+?)\]"', "\n".join(lines))
    assert extras is not None
    assert set(extras[1].split(",")) <= set(PROJECT["project"]["optional-dependencies"])
    copied = [name for how, what in steps if how == "COPY" and "--from" not in what for name in what.split()[:-1]]
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert {f"!{name}" for name in copied} == {line for line in ignored if line.startswith("!")}
    assert all((ROOT / name).exists() for name in copied)
    bases = {what.split()[0] for how, what in steps if how == "FROM"}
    minor = max(line.rpartition(" ")[2] for line in PROJECT["project"]["classifiers"] if ":: 3." in line)
    assert all(re.fullmatch(r"python:3\.\d+-slim", base) and base <= f"python:{minor}-slim" for base in bases)


# Workflows.


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_have_few_rights_and_a_limit_and_run_what_is_there(path: Path) -> None:
    text = path.read_text("utf-8")
    made = yaml.safe_load(text)
    assert made["permissions"] == {"contents": "read"}
    for name, job in made["jobs"].items():
        if "uses" in job:
            continue
        assert 0 < job["timeout-minutes"] <= 360, name
        for step in job["steps"]:
            if "actions/checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False, name
    for used in re.findall(r"uses: (\S+)(.*)", text):
        assert used[0].startswith("./") or re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", used[0]), used[0]
        assert used[0].startswith("./") or re.search(r"# v\d", used[1]), f"{used[0]}: say which version it is"
    for run in re.findall(r"(?:python3?|bash) ((?:scripts|\.ci)/[\w.]+)", text):
        assert (ROOT / run).exists(), run


def test_forms_and_owners_can_be_read() -> None:
    for path in (ROOT / ".github").rglob("*.yml"):
        assert isinstance(yaml.safe_load(path.read_text("utf-8")), dict), path.name
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert {hook["id"] for repo in hooks["repos"] for hook in repo["hooks"]} == {
        "ruff",
        "ruff-format",
        "mypy",
        "subject",
    }
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["license"] == PROJECT["project"]["license"]
    assert len(cited["references"]) >= 4
    owned = [
        line.split()[0] for line in (ROOT / ".github" / "CODEOWNERS").read_text("utf-8").splitlines() if line[0] != "#"
    ]
    assert all((ROOT / place.strip("/")).exists() for place in owned if place != "*")
