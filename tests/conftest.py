"""What all tests share: the helpers in this folder can be imported, hypothesis is steady in CI, and PostgreSQL runs."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

import postgres

SHARED = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("local", max_examples=50, **SHARED)
settings.register_profile("ci", max_examples=50, derandomize=True, database=None, print_blob=True, **SHARED)
settings.register_profile("quick", max_examples=8, derandomize=True, database=None, **SHARED)
settings.register_profile("thorough", max_examples=1000, **SHARED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") == "true" else "local"))


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
