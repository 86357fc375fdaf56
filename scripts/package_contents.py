"""Check what stands in the files that are published: ``python scripts/package_contents.py dist/*``.

A wheel holds the package, exactly as git has it, and its metadata. A source archive holds what git has below the
folders that ``pyproject.toml`` names, so that its tests run. Neither holds what a build machine happened to have.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent

NEEDED_IN_WHEEL = (
    "indistinct/__init__.py",
    "indistinct/__init__.pyi",
    "indistinct/py.typed",
    "indistinct/examples/hospital.csv",
    "indistinct/release/alone/recount_alone.py",
)
NEEDED_OF_METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
NEEDED_IN_SOURCE = (*("pyproject.toml", "PKG-INFO", "README.md", "LICENSE"), *("CHANGELOG.md", "CITATION.cff"))
NEVER = ("__pycache__", ".git/", ".venv", ".nbi", ".nbc", ".pyc", ".env", ".key", ".db", ".ipynb_checkpoints")
MADE_UP = "tests/zoo/"
"""Releases and a ledger of people who never lived, which every version must go on reading."""
MOST_BYTES = {".whl": 3_000_000, ".gz": 12_000_000}


def names_in(path: Path) -> list[str]:
    """Return the names of all files in a wheel or a source archive; those of an archive without its folder."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return [one.filename for one in archive.infolist() if not one.is_dir()]
    with tarfile.open(path) as archive:
        return ["/".join(PurePosixPath(one.name).parts[1:]) for one in archive.getmembers() if not one.isdir()]


def wheel_mistakes(names: Iterable[str], tracked: Iterable[str]) -> list[str]:
    """Say what is wrong with the files of a wheel; ``tracked`` are those that git has."""
    names = list(names)
    own = {name for name in names if name.startswith("indistinct/")}
    about = {name.partition(".dist-info/")[2] for name in names if ".dist-info/" in name}
    wanted = {name.removeprefix("src/") for name in tracked if name.startswith("src/indistinct/")}
    others = [name for name in names if not name.startswith("indistinct/") and ".dist-info/" not in name]
    wrong = [f"{name} does not belong into a wheel" for name in others]
    wrong += [f"{name} is not in git" for name in sorted(own - wanted)]
    wrong += [f"{name} is missing" for name in sorted((wanted | set(NEEDED_IN_WHEEL)) - own)]
    wrong += [f"{name} of the metadata is missing" for name in sorted(NEEDED_OF_METADATA - about)]
    return wrong + _strange(names)


def source_mistakes(names: Iterable[str], tracked: Iterable[str], included: Iterable[str]) -> list[str]:
    """Say what is wrong with the files of a source archive; ``included`` are the places in git that it is to hold."""
    found, known = set(names), set(tracked)
    wanted = {name for name in known if any(name == place or name.startswith(f"{place}/") for place in included)}
    extra = found - known - {"PKG-INFO"}
    wrong = [f"{name} is not in git" for name in sorted(extra)]
    wrong += [f"{name} is missing" for name in sorted((wanted | set(NEEDED_IN_SOURCE)) - found)]
    return wrong + _strange(found)


def _strange(names: Iterable[str]) -> list[str]:
    found = [name for name in sorted(names) if any(part in name for part in NEVER) and not name.startswith(MADE_UP)]
    return [f"{name} must never be published" for name in found]


def tracked_files() -> list[str]:
    """Return the names of the files that git has."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


def included_in_source() -> list[str]:
    """Return the files and folders that ``pyproject.toml`` puts into a source archive."""
    said = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    names: list[str] = said["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    return [name.strip("/") for name in names]


def mistakes_of(path: Path) -> list[str]:
    """Say what is wrong with a file that is to be published."""
    names, tracked = names_in(path), tracked_files()
    is_wheel = path.suffix == ".whl"
    wrong = wheel_mistakes(names, tracked) if is_wheel else source_mistakes(names, tracked, included_in_source())
    size, most = path.stat().st_size, MOST_BYTES[path.suffix]
    return wrong + ([f"it has {size:,} bytes, more than {most:,}"] if size > most else [])


def main(arguments: list[str]) -> int:
    """Check each file, and give 1 if something is wrong with one."""
    if not arguments:
        sys.stderr.write("give the files to check: python scripts/package_contents.py dist/*\n")
        return 2
    found = {name: mistakes_of(Path(name)) for name in arguments}
    for name, wrong in found.items():
        sys.stdout.write(f"{name}: {len(names_in(Path(name)))} files, {'; '.join(wrong) or 'as they should be'}\n")
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
