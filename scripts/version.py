"""Check that everything which names the version names the same one: ``python scripts/version.py v0.2.0``.

Without a tag it compares the package, the citation and the recipe. With one, that tag is the version, and the changelog
has a section of it. ``--notes`` prints that section, for the page of the release.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEMANTIC = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
"""Three numbers, and before a release a letter as Python writes it (PEP 440): 1.0.0rc1."""
NAMED_IN = {
    "src/indistinct/__init__.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "recipe/recipe.yaml": r'^  version: "(.+)"$',
}


def versions() -> dict[str, str | None]:
    """Return the version that each file names."""
    found = {name: re.search(shape, (ROOT / name).read_text("utf-8"), re.M) for name, shape in NAMED_IN.items()}
    return {name: match[1] if match else None for name, match in found.items()}


def notes_of(version: str, changelog: str) -> str:
    """Return the section of a version in the changelog; empty if there is none."""
    found = re.search(rf"^## {re.escape(version)}\b.*?\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    return found[1].strip() if found else ""


def mistakes(tag: str | None, named: dict[str, str | None], changelog: str) -> list[str]:
    """Say what does not agree."""
    version = next(iter(named.values()))
    wrong = [f"{name} names {other}, not {version}" for name, other in named.items() if other != version]
    if version is None or not SEMANTIC.fullmatch(version):
        wrong.append(f"{version} is no version of three numbers")
    if tag is not None:
        wrong += [] if tag == f"v{version}" else [f"the tag is {tag}, the version {version}"]
        wrong += [] if notes_of(str(version), changelog) else [f"CHANGELOG.md has no section {version}"]
    return wrong


def main(arguments: list[str]) -> int:
    """Return 1 if something does not agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tag", nargs="?")
    parser.add_argument("--notes", action="store_true", help="print what the changelog says of this version")
    asked = parser.parse_args(arguments)
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    wrong = mistakes(asked.tag, versions(), changelog)
    for one in wrong:
        sys.stderr.write(f"{one}\n")
    if asked.notes and not wrong:
        sys.stdout.write(f"{notes_of(str(next(iter(versions().values()))), changelog)}\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
