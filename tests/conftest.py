"""What all tests share: helpers can be imported, slow tests are known, PostgreSQL and Spark run."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import postgres
import profiles

profiles.load()


UNMARKED = "seconds without a marker"
EXPENSIVE = {"browser", "postgres_server", "postgresql", "spark"}
"""Fixtures, and parameters of fixtures, that start other programs: whoever asks for one is slow."""
SLOW_SECONDS = 3.0
"""Processor time from which a test should say that it is slow."""
_unmarked: dict[str, float] = {}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that start other programs as slow, and put slow ones first: then all workers end together."""
    for item in items:
        given = getattr(getattr(item, "callspec", None), "params", {}).values()
        if EXPENSIVE & {*getattr(item, "fixturenames", ()), *(value for value in given if isinstance(value, str))}:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note what a test took that does not say that it is slow."""
    before = time.process_time()
    result = yield
    took = time.process_time() - before
    if took > SLOW_SECONDS and item.get_closest_marker("slow") is None:
        item.user_properties.append((UNMARKED, took))
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect what workers noted."""
    for name, took in report.user_properties:
        if name == UNMARKED and report.when == "call":
            _unmarked[report.nodeid] = float(str(took))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say which tests should be marked; once kernels are compiled, nothing else takes so long by accident."""
    if _unmarked:
        terminalreporter.section("not marked as slow")
        for nodeid, took in sorted(_unmarked.items(), key=lambda pair: -pair[1]):
            terminalreporter.line(f"{took:6.1f} s  {nodeid}")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Give the URL of a PostgreSQL server of our own, without the name of a database."""
    if postgres.programs() is None:
        reason = "NOT CHECKED: ledgers in PostgreSQL. Install its server: apt-get install postgresql"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with postgres.server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """Give the URL of a PostgreSQL database with an empty schema of its own, which takes less than a new database."""
    import psycopg

    schema = f"ledger_{secrets.token_hex(8)}"
    with psycopg.connect(f"{postgres_server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"{postgres_server}/postgres?options=-csearch_path%3D{schema}"


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """Give the URL of a ledger that is still to be made, and a folder for its files; once for each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db"), tmp_path / "store"
    return request.getfixturevalue("postgres_url"), tmp_path / "store"


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
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"Spark is NOT tested here: {missing}")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of a virtual environment that is not activated
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.maxResultSize": "2m",
        "spark.driver.memory": "1g",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.master("local[2,4]").appName("tests").config(map=settings).getOrCreate()
    yield session
    session.stop()
