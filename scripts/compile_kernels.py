"""Compile the kernels that come with a wheel: ``python scripts/compile_kernels.py``, then ``python -m build --wheel``.

Releases by every algorithm and the quick benchmark ask for nearly every kernel there is, with the types of arguments
that real tables have. Whatever they ask for is compiled for an ordinary processor (``kernels/shipped_code.py`` says
which), run, and kept in ``src/indistinct/kernels/compiled``. What they do not ask for is compiled by whoever needs it.
Arguments are parts of the benchmark to run instead of ``PARTS``; "none" runs none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "src" / "indistinct" / "kernels" / "compiled"
PARTS = (
    *("adult", "wide-adult", "anytime", "frontier", "growth", "wide", "models", "known", "people"),
    *("local", "invariance", "ledger", "tables", "link", "sharpening", "guessing", "peers"),
)
"""Parts of the benchmark that search, recount or attack in this process."""
OTHERS = (("k", "datafly"), ("k", "samarati"), ("k", "top-down"), ("k", "k-similar"), ("values", "top-down"))
"""Releases that are made beside those of the part "start"."""
FEWEST = 40
"""So many kernels are asked for at the least, or something is wrong."""


def main(arguments: list[str]) -> int:
    """Compile what releases and these parts of the benchmark ask for; give 1 if that is hardly anything."""
    if arguments[:1] == ["--work"]:
        work(Path(arguments[1]), arguments[2:])
        return 0
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    with tempfile.TemporaryDirectory(prefix="kernels-") as name:
        sys.path.insert(0, str(ROOT / "src"))
        from indistinct.kernels.shipped_code import PROCESSOR

        environment = {
            **os.environ,
            "INDISTINCT_SHIP_KERNELS": str(FOLDER),
            "NUMBA_CACHE_DIR": str(Path(name) / "cache"),
            "NUMBA_CPU_NAME": PROCESSOR,
            "NUMBA_CPU_FEATURES": "",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        }
        asked = [] if arguments == ["none"] else arguments or PARTS
        subprocess.run([sys.executable, __file__, "--work", name, *asked], env=environment, cwd=ROOT, check=True)
    made = list(FOLDER.glob("*.code"))
    size = sum(path.stat().st_size for path in made)
    sys.stdout.write(f"{FOLDER.relative_to(ROOT)}: {len(made)} kernels, {size / 1e6:.1f} MB\n")
    return int(len(made) < FEWEST)


def work(folder: Path, parts: list[str]) -> None:
    """Make small releases, and run parts of the benchmark, so that all kernels are asked for."""
    from benchmarks.__main__ import main as run
    from benchmarks.data import population, write_csv
    from benchmarks.setting import Setting
    from benchmarks.start import RUNS, policies

    import indistinct as ix
    from indistinct.kernels.kernel import Interpreter

    Interpreter.is_slow = True  # small tables, too, run compiled
    setting = Setting(True, folder, 1.0)
    table = write_csv(population(setting.adult, 3000), folder / "adult.csv")
    given = policies(setting)
    for policy, algorithm in [*RUNS.values(), *OTHERS]:
        sys.stdout.write(f"{algorithm}, {policy}\n")
        with ix.anonymize(table, replace(given[policy], algorithm=algorithm)) as release:
            if not release.verify(original=table).passed:
                raise SystemExit("compiled kernels made a release that fails its recount")
    if parts:
        Setting.few = lambda self, jobs, number=1: list(jobs)  # type: ignore[method-assign]
        run([*parts, "--quick", "--output", str(folder)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
