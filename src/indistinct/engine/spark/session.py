"""Spark sessions: how one is found or made, and its errors as ours, without the cells that Spark's messages quote."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess  # nosec B404 # nothing is started here: it names the Java that PySpark has started
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indistinct.engine.rows import usable_threads
from indistinct.errors import IndistinctError, MissingExtraError, TableError
from indistinct.whole_files import make_private_folder, remove_private_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS: dict[str, bool | float | int | str | None] = {
    "spark.log.level": "ERROR",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Of a session that is made here; one that is given, or that runs already, is left as it is."""
LONGEST_DEATH = 1.0
"""Seconds that a Java which was killed takes to go."""
LONGEST_END = 20.0
"""Seconds that Spark's Java has to end by itself, with the program that started it."""


def find_session(engine: object, master: str | None, memory_limit: str | None, threads: int | None) -> SparkSession:
    """Return the session that was given or that runs already, or make one.

    ``master`` says where, such as ``local[4]``, ``yarn`` or ``sc://host:15002``; ``memory_limit`` is the driver's.
    """
    if engine != "spark":
        return engine  # type: ignore[return-value]
    session_class = _session_class()
    with spark_errors("Spark"):
        active: SparkSession | None = session_class.getActiveSession()
    if active is not None:
        return active
    threads = usable_threads(threads)
    remote = master is not None and master.startswith("sc://")
    if not remote and not java_is_there() and "SPARK_REMOTE" not in os.environ:
        raise MissingExtraError(
            "Spark needs Java 17 or later, and there is none: install it (on Debian: apt-get install "
            "openjdk-17-jre-headless) or set JAVA_HOME; or name a Spark Connect server with --master sc://host:port"
        )
    builder, is_local = session_class.builder.appName("indistinct"), False
    if remote:
        builder = builder.remote(str(master))
    else:
        builder = builder.config(map=SETTINGS)
        if "MASTER" not in os.environ or master is not None:
            builder = builder.master(master or f"local[{threads or '*'}]")
        is_local = (master or os.environ.get("MASTER", "local")).startswith("local")
        if is_local:  # 200 parts, Spark's default, keep a few cores busy with nothing
            builder = builder.config("spark.sql.shuffle.partitions", 2 * (threads or os.cpu_count() or 1))
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # its workers run on this machine, too
        if memory_limit is not None:
            builder = builder.config("spark.driver.memory", _java_size(memory_limit))
    # Nothing of pandas is used here, so it does not matter that Spark has not been tried with the newest one.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    with spark_errors("Spark"):
        return _with_private_disk(builder) if is_local else builder.getOrCreate()


def _with_private_disk(builder: Any) -> SparkSession:
    """Make a session on this machine that puts what it shuffles and spills, rows of the table, in a private folder.

    Spark would put it where everybody may read it, and leave it there if it is killed. The folder goes with this
    process, or is removed by the next one. Whoever names other disks in ``SPARK_LOCAL_DIRS`` has them used.
    """
    if "SPARK_LOCAL_DIRS" in os.environ:
        made: SparkSession = builder.getOrCreate()
        return made
    folder = make_private_folder()
    try:
        made = builder.config("spark.local.dir", str(folder)).getOrCreate()
    except BaseException:
        remove_private_folder(folder)
        raise
    atexit.register(_end, made, folder)
    return made


def _end(made: Any, folder: Path) -> None:
    """End a session and the Java that was started for it, and remove its folder when nobody writes there."""
    gateway = made.sparkContext._gateway
    java = getattr(gateway, "proc", None)
    if isinstance(java, subprocess.Popen) and java.stdin is not None:  # else it has started us, as spark-submit does
        for step in (made.stop, gateway.shutdown, java.stdin.close):  # the last alone ends a Java that is busy
            with suppress(*_errors(), OSError), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that Java is gone already
                step()
        try:
            java.wait(LONGEST_END)
        except subprocess.TimeoutExpired:
            java.kill()
            java.wait()
    remove_private_folder(folder)


def _session_class() -> type[SparkSession]:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError('Spark is not installed; pip install "indistinct[spark]"') from None
    return SparkSession


def java_is_there() -> bool:
    """Tell whether Spark would find a Java to run."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin") if home else None) is not None


def _java_size(memory: str) -> str:
    """Return a size as Java takes it.

    >>> _java_size("4GB"), _java_size("512 MiB")
    ('4g', '512m')
    """
    found = re.fullmatch(r"\s*(\d+)\s*([kmgt])i?b?\s*", memory, re.IGNORECASE)
    if found is None:
        raise TableError(f"memory limit {memory!r} is not understood; say for example '4GB'")
    return f"{found[1]}{found[2].lower()}"


def spark_path(path: str | os.PathLike[str]) -> str:
    """Return a path as Spark takes it: without a scheme it would be looked for on the cluster's own file system.

    >>> spark_path("s3://bucket/people"), spark_path("/Volumes/main/people")
    ('s3://bucket/people', '/Volumes/main/people')
    """
    text = os.fspath(path)
    if "://" in text or text.startswith(("dbfs:", "/Volumes/")):
        return text
    return text.replace("/dbfs/", "dbfs:/", 1) if text.startswith("/dbfs/") else f"file://{os.path.abspath(text)}"


@contextmanager
def spark_errors(table: str) -> Iterator[None]:
    """Raise Spark's errors as a TableError that says what went wrong, without a cell."""
    try:
        yield
    except IndistinctError:
        raise
    except Exception as error:
        if not isinstance(error, _errors()) and not _java_is_gone(error):
            raise
        raise TableError(f"{table}: {explain(error)}") from None


def let_go(frame: Any) -> None:
    """Have Spark forget a frame that it stores; a Spark that has ended has forgotten it."""
    with suppress(*_errors()):
        frame.unpersist()


def _errors() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError, ConnectionError


def _java_is_gone(error: Exception) -> bool:
    """Tell whether the Java that this process started has ended: then Spark fails in words that say something else.

    An error that Java itself tells comes from one that lives; after others, one that was killed has a moment to go.
    """
    from pyspark import SparkContext

    java = getattr(SparkContext._gateway, "proc", None)
    if not isinstance(java, subprocess.Popen):
        return False
    is_javas = any(getattr(error, name, None) is not None for name in ("java_exception", "_origin"))
    try:
        java.wait(0 if is_javas else LONGEST_DEATH)
    except subprocess.TimeoutExpired:
        return False
    return True


def explain(error: Any) -> str:
    """Return what went wrong and what to do, without the cells that Spark's own message may quote."""
    message = str(error)
    is_lost = isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError"
    if is_lost or "GATEWAY_EXITED" in message or _java_is_gone(error):
        return (
            "Spark has ended in the middle: its Java process is gone, stopped from outside or for want of memory; "
            "give it more with --memory, or spark.driver.memory, and try again in a new process"
        )
    if "Python worker exited" in message:
        return (
            "a Python process of Spark ended in the middle, stopped from outside or for want of memory; give it "
            "more with spark.executor.pyspark.memory, and try again"
        )
    if "maxResultSize" in message:
        return (
            "the answer of Spark is larger than spark.driver.maxResultSize; raise it, or lower max_tuples so that "
            "columns are generalized before they are counted"
        )
    if "OutOfMemoryError" in message or "exit code 137" in message:
        return "not enough memory; raise spark.driver.memory or spark.executor.memory"
    if "No space left" in message:
        return "a disk of Spark is full; free space in spark.local.dir, which is in TMPDIR or SPARK_LOCAL_DIRS"
    if "PATH_NOT_FOUND" in message or "TABLE_OR_VIEW_NOT_FOUND" in message:
        return "no such file or table; Spark reads Parquet files, folders of them, and tables of its catalog"
    if "PYTHON_VERSION_MISMATCH" in message or "No module named" in message:
        return "the Python of the executors must be the driver's, with pyarrow; set PYSPARK_PYTHON"
    name = getattr(error, "getCondition", lambda: None)() or type(error).__name__
    return f"Spark cannot read or compute it ({name}); Spark's own log says more"
