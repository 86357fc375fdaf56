"""What all tests share: helpers can be imported, slow tests are known, PostgreSQL and Spark run."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import resource
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.rich_utils  # it asks for colours when it is loaded: now, and not in a test that wants them
import typer.testing
from _pytest.doctest import DoctestModule

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1]))  # campaigns, benchmarks and scripts, which some tests run

from helpers import postgres, profiles, workers
from helpers.optional_modules import leave_out
from indistinct import kernel
from indistinct.engine.duckdb import session
from indistinct.kernel import Interpreter


class OneThread(session.Instance):
    """A DuckDB with one thread unless a test asks for more: of a few rows, to wake others takes longer than work."""

    def __init__(self, memory_limit: str | None, threads: int | None) -> None:
        super().__init__(memory_limit, threads)
        if threads is None:
            self._root.execute("SET GLOBAL threads = 1")


def compiled_in_turn(function: Any, compiled: Any = kernel._compile) -> Any:
    """Compile the kernels of a file in one worker at a time: others wait, and take its code from numba's cache."""
    made = compiled(function)
    at_once = made.compile

    def in_turn(types: Any) -> Any:
        with open(function.__code__.co_filename, "rb") as source:
            fcntl.flock(source, fcntl.LOCK_EX)
            return at_once(types)

    made.compile = in_turn
    return made


profiles.load()
if sys.platform != "win32":
    import fcntl

    vars(kernel)["_compile"] = compiled_in_turn
vars(session)["Instance"] = OneThread
Interpreter.is_slow = True  # kernels are compiled here, however few rows a test has; it does not depend on others
# CliRunner builds all commands for each call, which takes 20 ms; here they are built once
vars(typer.testing)["_get_command"] = functools.cache(typer.main.get_command)


EXPENSIVE = {"browser", "postgres_server", "postgresql", "spark", "window"}
"""Fixtures, and parameters of fixtures, that start other programs: whoever asks for one is slow."""
ODD_SECONDS = 1.0
"""Processor time from which a test that has no mark ``slow`` is named at the end of a run."""
TOOK = "processor seconds"
EXAMPLE = b">>> "
RAM_DISK = Path("/dev/shm")
"""Where Linux keeps files in memory: no test waits there until a disk has what a release or a ledger flushes."""
RAM_DISK_ROOM = 4 * 2**30
HEARD = {"SIGHUP": signal.SIG_DFL, "SIGINT": signal.default_int_handler, "SIGQUIT": signal.SIG_DFL}
_took: dict[str, float] = {}


def pytest_configure(config: pytest.Config) -> None:
    """Let ``tmp_path`` be in memory, if there is enough of it, and let programs that tests start hear every signal."""
    for name, heard in HEARD.items():
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, heard)  # nohup, and a shell that runs us in the background, have it ignored
    gc.disable()  # until all tests are collected: nothing of what is imported ends before
    if RAM_DISK.is_dir() and os.access(RAM_DISK, os.W_OK) and shutil.disk_usage(RAM_DISK).free > RAM_DISK_ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(RAM_DISK))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for examples in docstrings only where there are some: to look for them imports a module and all it needs."""
    found = yield
    has_examples = file_path.suffix == ".py" and EXAMPLE in file_path.read_bytes()
    return [one for one in found if has_examples or not isinstance(one, DoctestModule)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that start other programs as slow, and put slow ones first: then all workers end together."""
    for item in items:
        given = getattr(getattr(item, "callspec", None), "params", {}).values()
        asked = {*getattr(item, "fixturenames", ()), *(value for value in given if isinstance(value, str))}
        workers.check_group(item.nodeid, asked)
        if asked & EXPENSIVE:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over all that was imported and collected, which stays until the end."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Collect what tests left, for pytest to say what is wrong with it, before the collector sees everything again."""
    gc.collect()
    gc.unfreeze()
    with contextlib.suppress(ImportError):  # of pytest before 8.4
        from _pytest.unraisableexception import gc_collect_iterations_key

        config.stash[gc_collect_iterations_key] = 0  # it would collect five times, all that was imported


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist there is one worker
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> workers.Groups:
    """Keep tests together that share a program, whatever --dist says."""
    return workers.Groups(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note the processor time of a test and of the processes that it waited for."""
    before = _processor_seconds()
    result = yield
    if item.get_closest_marker("slow") is None:
        item.user_properties.append((TOOK, _processor_seconds() - before))
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect what workers noted."""
    for name, took in report.user_properties:
        if name == TOOK and report.when == "call":
            function = _function_of(report.nodeid)
            _took[function] = max(float(str(took)), _took.get(function, 0.0))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name the tests that take long and are not marked as slow."""
    odd = [name for name, took in _took.items() if took > ODD_SECONDS]
    if odd:
        terminalreporter.section("slow, but without @pytest.mark.slow")
        for name in sorted(odd, key=lambda name: -_took[name]):
            terminalreporter.line(f"{_took[name]:6.1f} s  {name}")


def _function_of(nodeid: str) -> str:
    """Return file and function of a test, without its parameters."""
    return nodeid.partition("[")[0]


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Return the URL of a PostgreSQL server of our own, without the name of a database."""
    if postgres.programs() is None:
        leave_out("NOT CHECKED: PostgreSQL. Install its server: apt-get install postgresql")
    with postgres.server() as running:
        yield running.url


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """Return the URL of a PostgreSQL database with an empty schema of its own, which takes less than a new database."""
    import psycopg

    schema = f"ledger_{secrets.token_hex(8)}"
    with psycopg.connect(f"{postgres_server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"{postgres_server}/postgres?options=-csearch_path%3D{schema}"


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """Return the URL of a ledger that is still to be made, and a folder for its files; once for each kind of
    database.
    """
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db"), tmp_path / "store"
    return request.getfixturevalue("postgres_url"), tmp_path / "store"


QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""Of a Java that lives for minutes: it compiles little, collects garbage in one thread and trusts Spark's classes."""


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One local session of Spark for all tests, with little memory and a driver that takes no large answers.

    A task may fail four times, as on a cluster. Without Spark or Java the tests are skipped, but in CI they fail.
    """
    from indistinct.engine.spark.session import java_is_there

    try:
        from pyspark.sql import SparkSession
    except ImportError:
        missing = 'pip install "indistinct[spark]"'
    else:
        missing = "" if java_is_there() else "install Java 17, on Debian: apt-get install openjdk-17-jre-headless"
    if missing:
        leave_out(f"Spark is NOT tested here: {missing}")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of a virtual environment that is not activated
    os.environ.setdefault("JAVA_TOOL_OPTIONS", QUICK_JAVA)
    settings: dict[str, bool | float | int | str | None] = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(postgres.free_port()),
        "spark.connect.grpc.port.maxRetries": "16",  # somebody may have taken it meanwhile
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.maxResultSize": "2m",
        "spark.driver.memory": "1g",
        "spark.log.level": "OFF",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",  # the same Java also serves Connect
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # of a few rows, to compile a query takes longer than to run it
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.master("local[2,4]").appName("tests").config(map=settings).getOrCreate()
    yield session
    session.stop()
