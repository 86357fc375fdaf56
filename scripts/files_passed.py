"""Print the files of the package that a table passes through on its way to a release.

python scripts/files_passed.py          how many for a CSV file, for two tables, and with a ledger
python scripts/files_passed.py --names  and which

A file counts if one of its functions runs. Everything is imported before, so imports do not count.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import indistinct as ix

SOURCE = Path(ix.__file__).parent
ROWS = 8


def ways(folder: Path) -> dict[str, Callable[[], object]]:
    """Return what makes a release of a small CSV file, each way by its name."""
    table = folder / "people.csv"
    lines = [f"p{number},{20 + number % 2},a{number % 2},{'flu' if number < 4 else 'gout'}" for number in range(ROWS)]
    table.write_text("\n".join(["name,age,town,ill", *lines, ""]), "utf-8")
    columns = {
        "name": ix.identifier(),
        "age": ix.quasi(ix.intervals(5, 10)),
        "town": ix.quasi(ix.prefix(2)),
        "ill": ix.sensitive(),
    }
    alike = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])
    apart = ix.Policy(columns=columns, privacy=[ix.AlphaK(0.5, 2)], algorithm="lossy-join")
    ledger = ix.Ledger.create(folder / "ledger.db")

    def enter() -> None:
        with ledger:
            ledger.anonymize(table, alike, recipient="R", folder=folder / "entered", replace=True).close()

    return {
        "a CSV file": lambda: ix.anonymize(table, alike).write(folder / "one", replace=True),
        "two tables": lambda: ix.anonymize(table, apart).write(folder / "two", replace=True),
        "with a ledger": enter,
    }


def files_passed(act: Callable[[], object]) -> list[str]:
    """Return the files whose functions run, in the order in which they first do."""
    act()  # imports
    found: dict[str, None] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found[frame.f_code.co_filename] = None

    sys.setprofile(look)
    try:
        act()
    finally:
        sys.setprofile(None)
    ran = (Path(name) for name in found)
    return [path.relative_to(SOURCE).as_posix() for path in ran if path.is_relative_to(SOURCE)]


def main() -> None:
    """Count, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="also print which files")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, act in ways(Path(folder)).items():
            found = files_passed(act)
            sys.stdout.write(f"{name}: {len(found)} files\n")
            if asked.names:
                sys.stdout.write("".join(f"  {file}\n" for file in found))


if __name__ == "__main__":
    main()
