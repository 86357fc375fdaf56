"""A standalone cluster of Spark on this machine: one master, two workers; one of them is killed during a release."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import indistinct as ix
from helpers import postgres
from helpers.optional_modules import leave_out

pyspark = pytest.importorskip("pyspark", reason='Spark is NOT tested here: pip install "indistinct[spark]"')
pytestmark = pytest.mark.slow

HOST = "127.0.0.1"
ROWS = 2_000
JOB = """
import json, os, signal, sys
import indistinct as ix
from pyspark.sql import SparkSession
from indistinct.engine.spark.rows import SparkRows

master, table, folder, victim = sys.argv[1:]
session = SparkSession.builder.master(master).config(map={
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
    "spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0", "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"}).getOrCreate()
own, found = SparkRows.write, {}

def lose(self, *given):
    '''The released rows are stored on two workers; one of them is killed before they are written.'''
    found["executors"] = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    os.killpg(int(victim), signal.SIGKILL)
    return own(self, *given)

SparkRows.write = lose
policy = ix.Policy({"age": ix.quasi(ix.intervals(10, 20)), "town": ix.quasi(ix.suppress()), "n": ix.other()},
                   [ix.KAnonymity(5)])
with ix.anonymize(session.read.parquet(table), policy) as release:
    release.write(folder)
    print(json.dumps({**found, "released": release.facts.released}))
"""


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[int]]]:
    """Run a master and two workers until the block ends, and return its address and the workers' process groups."""
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    port = postgres.free_port()
    settings = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(program.parent.parent),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
    }
    running: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> int:
        """Start a process in a group of its own, in which its executors will be."""
        command = [str(program), f"org.apache.spark.deploy.{arguments[0]}", "--host", HOST, *arguments[1:]]
        with (folder / "log").open("ab") as log:
            running.append(subprocess.Popen(command, env=settings, stdout=log, stderr=log, start_new_session=True))
        return running[-1].pid

    master = f"spark://{HOST}:{port}"
    ports = ["--webui-port", "0"]
    try:
        start("master.Master", "--port", str(port), *ports)
        workers = [start("worker.Worker", "--cores", "1", "--memory", "700m", *ports, master) for _ in range(2)]
        yield master, workers
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(30)


def test_a_worker_that_is_killed_during_a_release_changes_no_row(tmp_path: Path) -> None:
    from indistinct.engine.spark.session import java_is_there

    if not java_is_there():
        leave_out("Spark is NOT tested here: install Java 17 or later")
    table = pa.table(
        {
            "age": pa.array([n * 7 % 60 for n in range(ROWS)]),
            "town": [f"town {n * 11 % 9}" for n in range(ROWS)],
            "n": list(range(ROWS)),
        }
    )
    given, folder = tmp_path / "given.parquet", tmp_path / "out"
    pyarrow.parquet.write_table(table, given)
    policy = ix.Policy(
        {"age": ix.quasi(ix.intervals(10, 20)), "town": ix.quasi(ix.suppress()), "n": ix.other()}, [ix.KAnonymity(5)]
    )
    with cluster(tmp_path) as (master, workers):
        done = subprocess.run(
            [sys.executable, "-c", JOB, master, str(given), str(folder), str(workers[0])],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"executors": 2, "released": ROWS}
    with ix.anonymize(table, policy) as expected:
        written = pyarrow.parquet.read_table(folder / "table.parquet")
        assert sorted(written.to_pylist(), key=str) == sorted(expected.table.to_pylist(), key=str)
    assert ix.verify(folder, policy, original=table).passed
