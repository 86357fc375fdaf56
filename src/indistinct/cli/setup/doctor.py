"""``indistinct doctor``: what is installed, what this machine has, and whether a tiny release succeeds."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import indistinct
from indistinct.cli import show
from indistinct.cli.options import AsJson, option
from indistinct.lazy import lazy_module

if TYPE_CHECKING:
    from importlib import metadata
else:
    metadata = lazy_module("importlib.metadata")

NEEDED = ("duckdb", "jinja2", "numba", "numpy", "pyarrow", "pydantic", "rich", "sqlalchemy", "typer")
OPTIONAL = {
    "cryptography": "signatures",
    "nicegui": "the studio",
    "pandas": "pandas frames",
    "polars": "polars frames",
    "psycopg": "tables and ledgers in PostgreSQL",
    "pyspark": "Spark",
}
"""What works without, and what it is for."""
LITTLE_SPACE = 1 << 30


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One thing that was looked at: what was found, whether it is well, and what to do if not."""

    name: str
    found: str
    is_well: bool = True
    advice: str = ""


def doctor(
    compile_kernels: Annotated[
        bool, option("Compile the kernels of the usual searches now, not in the first run.", "--compile")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look at the installation and the machine, and try a tiny release.

    Exit code 1 says that something that is needed is not well.
    """
    findings = [*_software(), *_machine(), *_self_test()]
    if compile_kernels:
        findings.append(_compiled_ahead())
    is_well = all(finding.is_well for finding in findings)
    if as_json:
        show.document({"is_well": is_well, "findings": [asdict(finding) for finding in findings]})
        raise typer.Exit(0 if is_well else 1)
    made = show.table(None, "", "what", "found", "advice")
    for finding in findings:
        made.add_row(show.mark(finding.is_well), finding.name, finding.found, finding.advice)
    show.out().print(made)
    if not is_well:
        show.say("something is not well; see the advice", show.BAD)
        raise typer.Exit(1)
    show.say("all is well", show.GOOD)
    show.next_steps(["demo"])


def _software() -> list[DoctorFinding]:
    """Return the versions of Python, of indistinct and of what it stands on."""
    findings = [
        DoctorFinding("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        DoctorFinding("indistinct", indistinct.__version__),
    ]
    for name in NEEDED:
        found = _version(name)
        advice = "" if found else f"{Path(sys.executable).name} -m pip install {name}"
        findings.append(DoctorFinding(name, found or "missing", found is not None, advice))
    for name, use in OPTIONAL.items():
        found = _version(name)
        advice = "" if found else f"for {use}: {Path(sys.executable).name} -m pip install {name}"
        findings.append(DoctorFinding(name, found or "not installed (optional)", True, advice))
    if _version("pyspark") is not None:
        findings.append(_java())
    return findings


def _java() -> DoctorFinding:
    """Return whether Spark would find Java, which it needs for all but Spark Connect."""
    from indistinct.engine.spark.session import java_is_there

    if java_is_there():
        return DoctorFinding("Java", "found, for --engine spark")
    return DoctorFinding("Java", "not found (optional)", True, "for --engine spark: install Java 17, or set JAVA_HOME")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _machine() -> list[DoctorFinding]:
    """Return the memory, the cores, and whether the engine can spill to the disk."""
    memory = _memory()
    findings = [
        DoctorFinding("memory", f"{_size(memory)} in all" if memory else "unknown"),
        DoctorFinding("cores", str(os.cpu_count() or 1)),
    ]
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    advice = "" if free >= LITTLE_SPACE else "free some space, or set TMPDIR to a folder on a larger disk"
    findings.append(DoctorFinding("temporary space", f"{_size(free)} free in {folder}", free >= LITTLE_SPACE, advice))
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"indistinct")
    except OSError as error:
        advice = "set TMPDIR to a folder that you can write to"
        findings.append(DoctorFinding("temporary folder", f"cannot be written ({error.strerror})", False, advice))
    return findings


def _memory() -> int | None:
    """Return the memory of the machine in bytes, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _size(size: int) -> str:
    """Return a size in bytes as people read it.

    >>> _size(17_179_869_184)
    '16.0 GiB'
    """
    return f"{size / (1 << 30):,.1f} GiB"


def _self_test() -> list[DoctorFinding]:
    """Release a tiny table and verify it against the original; say where compiled kernels are kept."""
    try:
        from indistinct import pipeline
        from indistinct.examples import EXAMPLES
        from indistinct.policy.files.policy_file import read_policy

        with EXAMPLES[0].paths() as (table, policy_path):
            policy = read_policy(policy_path)
            with pipeline.anonymize(table, policy) as release:
                verdict = release.verify(original=table)
    except Exception as error:
        advice = "install again with: python -m pip install --force-reinstall indistinct"
        return [DoctorFinding("self-test", f"failed: {type(error).__name__}", False, advice)]
    found = f"{verdict.rows} rows released and verified" if verdict.passed else "the release did not verify"
    advice = "" if verdict.passed else "do not use this installation"
    return [_kernels(), DoctorFinding("self-test", found, verdict.passed, advice)]


ROWS_TO_COMPILE = 60
COMPILED_AHEAD = ("lattice", "regroup", "mondrian")
"""What init and most policies name."""


def _compiled_ahead() -> DoctorFinding:
    """Make releases of a small made-up table with compiled kernels, with and without sensitive values."""
    import pyarrow

    import indistinct as ix
    from indistinct.kernel import Interpreter, all_kernels

    started = time.perf_counter()
    Interpreter.is_slow = True  # kernels are compiled from now on, however few rows there are
    cells = [str(place) for place in range(ROWS_TO_COMPILE)]
    table = {"age": cells, "zip": cells[::-1], "ill": [cell[-1] for cell in cells]}
    columns = {"age": ix.quasi(ix.intervals(5, 20)), "zip": ix.quasi(ix.prefix())}
    policies = [
        ix.Policy({**columns, "ill": ix.other()}, [ix.KAnonymity(3)], max_suppression=0.02),
        ix.Policy({**columns, "ill": ix.sensitive()}, [ix.KAnonymity(3), ix.LDiversity(2)], max_suppression=0.02),
    ]
    arrow = pyarrow.table(table)
    for policy in policies:
        for name in COMPILED_AHEAD:
            options = {"random_raise": 0.1} if name == "regroup" else {}
            with ix.anonymize(arrow, replace(policy, algorithm=name, options=options)) as release:
                release.verify(original=arrow).raise_if_failed()
                ix.attacks.run(release, policy, original=arrow)
    number = sum(bool(one.signatures) for one in all_kernels())
    return DoctorFinding("compiled", f"{number} kernels in {time.perf_counter() - started:.0f} s")


def _kernels() -> DoctorFinding:
    """Return where compiled kernels are kept, and what to do if they are not."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return DoctorFinding(
            "kernels", "not compiled: NUMBA_DISABLE_JIT is set", True, "unset it, or large tables are slow"
        )
    from indistinct.counting.kernels import grouping

    one: Any = grouping.merge_mapped
    folder = one.cache_folder
    if folder is None:
        return DoctorFinding(
            "kernels", "compiled anew in every process", True, "set NUMBA_CACHE_DIR to a folder of your own"
        )
    return DoctorFinding("kernels", f"compiled once, and kept in {folder}")
