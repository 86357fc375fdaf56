"""Build the documentation site and check it: ``python scripts/website.py``.

It takes the Markdown of docs/ as it stands, adds the pages of the reference, which are made of docstrings, and fails
on every warning of Sphinx, on every link or anchor that leads nowhere, and on whatever a page would load from another
server. No link to another site is followed. Needs the extra ``docs``: pip install -e ".[docs]".
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PLACE = ROOT / "build" / "website"
REPOSITORY = "https://github.com/indistinct/indistinct/blob/main"
NEEDED = ("sphinx", "myst_parser", "furo")

NAVIGATION = {
    "Start": ["installing", "tutorial", "studio"],
    "How to": [
        "choose-k",
        "build-hierarchies",
        "several-rows",
        "linked-tables",
        "histories",
        "health-records",
        "ledger",
        "apply",
        "utility",
        "question",
        "databases",
        "release-gate",
        "recipes",
        "report",
        "dossier",
        "from-arx",
        "from-sdcmicro",
    ],
    "Concepts": ["how-it-works", "guarantees", "differential-privacy"],
    "Catalogue": ["catalogue", "algorithms", "models", "measures", "attacks", "guessing", "hierarchies"],
    "Papers": ["papers", "figures", "wong"],
    "Reference": ["cli", "policy", "api", "reference/*", "signatures", "risk", "spark", "mcp"],
    "Evidence": ["comparison", "benchmarks", "quality", "dependencies"],
    "Project": ["changelog", "versions", "contributing", "security", "campaigns"],
}
"""What the sidebar shows, in this order; pages that nobody listed come last, under ``More``."""

OTHERS = {
    "README.md": "index",
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
    "campaigns/README.md": "campaigns",
}
"""Files outside docs/ that are pages of the site, or that a page stands for."""

LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~)")
ENTRY = re.compile(r"^\| `(?P<shown>(?P<name>[\w.]+)[^`]*)` \|", re.MULTILINE)
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""What a browser fetches by itself, unlike a link that somebody follows."""


def main(arguments: list[str]) -> int:
    """Build, check, and give an exit code that is not 0 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=PLACE, help="the folder to build in; build/website without it")
    place = parser.parse_args(arguments).to
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        tell(f'{", ".join(missing)} not installed: pip install -e ".[docs]"')
        return 2
    source, site = place / "source", place / "html"
    for folder in (source, site):
        shutil.rmtree(folder, ignore_errors=True)
    stage(source)
    if code := build(source, site):
        return code
    mistakes = sorted(wrong_links(site))
    for mistake in mistakes:
        tell(mistake)
    pages = len(list(site.rglob("*.html")))
    tell(f"{pages} pages, {len(mistakes)} wrong links: {site / 'index.html'}")
    return 1 if mistakes else 0


def tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def build(source: Path, site: Path) -> int:
    """Run Sphinx, for which a warning is a failure, and give its exit code."""
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", str(source), str(site)]
    return subprocess.run(command, check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}).returncode


# What Sphinx is given.


def pages() -> dict[str, Path]:
    """Return the file of every page by the page's name."""
    found = {path.stem: path for path in sorted(DOCS.glob("*.md"))}
    return found | {name: ROOT / file for file, name in OTHERS.items() if name not in found}


def stage(folder: Path) -> None:
    """Write what Sphinx reads: the pages with links that work there, pictures, the reference and the sidebar."""
    shutil.copytree(DOCS / "site", folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in DOCS.iterdir():
        if path.suffix in {".svg", ".png", ".html"}:
            shutil.copy(path, folder)
    names = {path.relative_to(ROOT).as_posix(): name for name, path in pages().items()} | OTHERS
    reference = write_reference(folder / "reference")
    for name, path in pages().items():
        text = with_links(path.read_text("utf-8"), path, names)
        if name == "api":
            text = with_entries(text)
        if name == "index":
            text += sidebar(reference)
        (folder / f"{name}.md").write_text(text, "utf-8")


def with_links(text: str, path: Path, names: dict[str, str]) -> str:
    """Return the text of a page with links to other pages by their names, and to other files in the repository."""

    def moved(found: re.Match[str]) -> str:
        label, target = found.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return found[0]
        file, _, anchor = target.partition("#")
        whole = posixpath.normpath(posixpath.join(path.parent.relative_to(ROOT).as_posix(), file))
        end = f"#{anchor}" if anchor else ""
        if whole in names:
            return f"{label}({names[whole]}.md{end})"
        if posixpath.dirname(whole) == "docs":
            return f"{label}({posixpath.basename(whole)}{end})"
        if not (ROOT / whole).exists():
            raise SystemExit(f"{path.relative_to(ROOT)} links to {target}, which is not there")
        return f"{label}({REPOSITORY}/{whole}{end})"

    lines, is_code = [], False
    for line in text.splitlines():
        is_code ^= bool(FENCE.match(line))
        lines.append(line if is_code else LINK.sub(moved, line))
    return "\n".join(lines) + "\n"


def sidebar(reference: list[str]) -> str:
    """Return the tables of contents that Sphinx makes the sidebar of; they are not shown on the start page."""
    listed = {name for section in NAVIGATION.values() for name in section}
    more = [name for name in pages() if name not in listed and name != "index"]
    parts = []
    for caption, names in {**NAVIGATION, "More": more}.items():
        entries = [one for name in names for one in (reference if name == "reference/*" else [name])]
        parts.append("\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```", ""]))
    return "".join(parts)


# The reference, which docstrings make.


def sections() -> Iterator[tuple[str, list[str]]]:
    """Return the groups of public names as docs/api.md has them; a test holds that none is left out there."""
    for part in (DOCS / "api.md").read_text("utf-8").split("\n## ")[1:]:
        if names := [found["name"] for found in ENTRY.finditer(part)]:
            yield part.partition("\n")[0], names


def slug(title: str) -> str:
    return re.sub(r"[^a-z]+", "-", title.lower()).strip("-")


def write_reference(folder: Path) -> list[str]:
    """Write a page for each group of names, which autodoc fills, and give the names of the pages."""
    folder.mkdir(parents=True)
    written = []
    for title, names in sections():
        documented = [name for name in names if not name.startswith("__")]
        if not documented:
            continue
        lines = [f"# Reference: {title[0].lower()}{title[1:]}", ""]
        lines += [f"From the docstrings. [Python names](../api.md#{slug(title)}) is the overview.", ""]
        for name in documented:
            lines += [f"## {name}", "", "```{eval-rst}", *directive(name, title), "```", ""]
        (folder / f"{slug(title)}.md").write_text("\n".join(lines), "utf-8")
        written.append(f"reference/{slug(title)}")
    return written


def directive(name: str, title: str) -> list[str]:
    """Return the lines that have autodoc describe a public name of a group."""
    import indistinct

    value = indistinct
    for part in name.split("."):
        value = getattr(value, part)
    if not isinstance(value, type):
        return [f".. autofunction:: indistinct.{name}"]
    is_model = issubclass(value, indistinct.PrivacyModel) and value is not indistinct.PrivacyModel
    is_made_only = is_model or title in {"Algorithms", "Measures"}  # the search calls their methods, users do not
    return [f".. autoclass:: indistinct.{name}", *([] if is_made_only else ["   :members:"])]


def with_entries(text: str) -> str:
    """Return the overview of names with a link from each name to its entry in the reference."""
    homes = {name: f"reference/{slug(title)}.md#{slug_of_name(name)}" for title, names in sections() for name in names}

    def linked(found: re.Match[str]) -> str:
        name = found["name"]
        return found[0] if name.startswith("__") else f"| [`{found['shown']}`]({homes[name]}) |"

    return ENTRY.sub(linked, text)


def slug_of_name(name: str) -> str:
    return name.lower().replace(".", "")


# What was built.


class Page(HTMLParser):
    """The places of a page that can be linked to, its links, and what a browser loads with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given:
            self.loaded.append(given[LOADED[tag]])


def wrong_links(site: Path) -> Iterator[str]:
    """Return every link of a built site that leads nowhere, and whatever it would load from elsewhere."""
    made = {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html")}
    for path, page in made.items():
        where = path.relative_to(site).as_posix()
        for target in [*page.links, *page.loaded]:
            if reason := wrong(target, path, site, made):
                yield f"{where}: {target}: {reason}"
        for target in page.loaded:
            if urlsplit(target).netloc:
                yield f"{where}: {target}: is loaded from another server"


def wrong(target: str, path: Path, site: Path, made: dict[Path, Page]) -> str | None:
    """Say what is wrong with a link of a page, or give nothing; a link to another site is judged by its form."""
    link = urlsplit(target)
    if link.scheme in {"data", "mailto"}:
        return None
    if link.scheme or link.netloc:
        is_address = link.scheme in {"http", "https"} and "." in link.netloc and not re.search(r"\s|[<>]", target)
        return None if is_address else "is not an address"
    goal = path if not link.path else (path.parent / unquote(link.path)).resolve()
    if goal.is_dir():
        goal /= "index.html"
    if not goal.is_file() or not goal.is_relative_to(site.resolve()):
        return "there is no such file"
    place = unquote(link.fragment)
    if place and goal.suffix == ".html" and place not in {"", "top", *made[goal].places}:
        return "there is no such place on the page"
    return None


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
