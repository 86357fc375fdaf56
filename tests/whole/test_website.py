"""The site builds without a warning, has every page and every public name, and its link checker finds what is wrong."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import indistinct as ix
from helpers.optional_modules import leave_out

ROOT = Path(__file__).resolve().parents[2]


def load() -> ModuleType:
    """Return scripts/website.py as a module."""
    spec = importlib.util.spec_from_file_location("website", ROOT / "scripts" / "website.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


website = load()


@pytest.mark.slow
def test_the_site_builds_from_one_command_and_every_link_leads_somewhere(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if missing := [name for name in website.NEEDED if importlib.util.find_spec(name) is None]:
        reason = f"NOT CHECKED: the documentation site, for want of {', '.join(missing)}: pip install -e '.[docs]'"
        leave_out(reason)
    assert website.main(["--to", str(tmp_path)]) == 0, capfd.readouterr().err
    assert "0 wrong links" in capfd.readouterr().err
    site = tmp_path / "html"
    assert [name for name in website.pages() if not (site / f"{name}.html").is_file()] == []
    described = set()
    for page in (site / "reference").glob("*.html"):
        described |= set(re.findall(r'id="indistinct\.([\w.]+)"', page.read_text("utf-8")))
    public: list[str] = ix.__all__  # type: ignore[attr-defined]
    assert {name for name in public if name not in ("__version__", "attacks", "hierarchies")} <= described
    assert {f"attacks.{name}" for name in ix.attacks.__all__ if name.islower()} <= described
    assert (site / "searchindex.js").stat().st_size > 100_000


def site_of(folder: Path, **pages: str) -> Path:
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<a href="there.html">', None),
        ('<a href="there.html#place">', None),
        ('<a href="#here"></a><p id="here">', None),
        ('<a href="https://example.org/a">', None),
        ('<a href="gone.html">', "no such file"),
        ('<a href="../outside.html">', "no such file"),
        ('<a href="there.html#gone">', "no such place"),
        ('<a href="#gone">', "no such place"),
        ('<a href="https://example">', "is not an address"),
        ('<a href="htp://example.org">', "is not an address"),
        ('<img src="gone.png">', "no such file"),
        ('<script src="https://example.org/count.js">', "from another server"),
        ('<link href="//fonts.example.org/a.css">', "from another server"),
    ],
)
def test_the_link_checker_tells_what_is_wrong(tmp_path: Path, text: str, said: str | None) -> None:
    found = list(website.wrong_links(site_of(tmp_path, index=text, there='<h2 id="place">')))
    assert (not found) if said is None else any(said in mistake for mistake in found)


def test_links_are_moved_to_where_pages_stand_on_the_site() -> None:
    names = {path.relative_to(ROOT).as_posix(): name for name, path in website.pages().items()} | website.OTHERS
    text = "[a](../CONTRIBUTING.md) [b](cli.md#demo) ![c](demo.svg) [d](../pyproject.toml)\n```\n[e](../x.md)\n```\n"
    moved = website.with_links(text, website.DOCS / "models.md", names)
    repository = f"{website.REPOSITORY}/pyproject.toml"
    expected = f"[a](contributing.md) [b](cli.md#demo) ![c](demo.svg) [d]({repository})"
    assert moved.splitlines() == [expected, "```", "[e](../x.md)", "```"]
    with pytest.raises(SystemExit, match=r"links to \.\./gone\.md, which is not there"):
        website.with_links("[a](../gone.md)", website.DOCS / "models.md", names)


def test_every_page_stands_in_the_sidebar_once() -> None:
    shown = re.findall(r"^[\w-]+$", website.sidebar([]), re.MULTILINE)
    assert sorted(shown) == sorted(name for name in website.pages() if name != "index")
