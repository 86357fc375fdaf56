"""Spark sessions: how one is found or made, what it puts on the disk and says meanwhile, and how it ends."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import signal
import subprocess  # nosec B404 # nothing is started here: it names the Java that PySpark has started
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from indistinct.atomic_files import make_private_folder, remove_private_folder
from indistinct.engine.rows import usable_threads
from indistinct.engine.spark.failures import spark_errors, under_way
from indistinct.errors import MissingExtraError, TableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS: dict[str, bool | float | int | str | None] = {
    "spark.log.level": "ERROR",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Of a session that is made here; one that is given, or that runs already, is left as it is."""
ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
"""Signals that may end what Spark computes for us."""
MOST_CANCELLED = 60
"""How often jobs are cancelled after a signal, each half second, while somebody still waits for one."""
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
    with spark_errors("Spark"), _heeding_signals() as sessions, _hushed_bridge():
        made: SparkSession = _with_private_disk(builder) if is_local else builder.getOrCreate()
        sessions.append(made)
        return made


def _with_private_disk(builder: Any) -> SparkSession:
    """Make a session on this machine that puts what it shuffles and spills, rows of the table, in a private folder.

    Spark would put it where everybody may read it, and leave it there if it is killed, and so would Java with the
    libraries that it unpacks. The folder goes with this process, or is removed by the next one. Whoever names other
    disks in ``SPARK_LOCAL_DIRS`` has them used for rows.
    """
    folder = make_private_folder()
    try:
        if "SPARK_LOCAL_DIRS" not in os.environ:
            builder = builder.config("spark.local.dir", str(folder))
        with _unpacking_in(folder), _ending_what_fails():
            made: SparkSession = builder.getOrCreate()
    except BaseException:
        remove_private_folder(folder)
        raise
    atexit.register(_end, made, folder)
    return made


@contextmanager
def _unpacking_in(folder: Path) -> Iterator[None]:
    """Have a Java that starts meanwhile unpack its libraries in a folder, if they can be run from there."""
    can_run = not os.statvfs(folder).f_flag & os.ST_NOEXEC if hasattr(os, "ST_NOEXEC") else True
    before = os.environ.get("SPARK_SUBMIT_OPTS")
    if can_run:  # first, so that a folder which somebody has named there or in Spark's settings is the one
        quoted = re.sub(r'(["\\])', r"\\\1", str(folder))
        os.environ["SPARK_SUBMIT_OPTS"] = f'"-Djava.io.tmpdir={quoted}" {before or ""}'.rstrip()
    try:
        yield
    finally:
        if before is not None:
            os.environ["SPARK_SUBMIT_OPTS"] = before
        else:
            os.environ.pop("SPARK_SUBMIT_OPTS", None)


@contextmanager
def _ending_what_fails() -> Iterator[None]:
    """End a Java that is started meanwhile if no session comes of it: PySpark would forget it, or take it for whole."""
    from pyspark import SparkContext, java_gateway

    starting: Any = java_gateway
    plain, started = starting.Popen, []

    def start(*given: Any, **named: Any) -> Any:
        started.append(plain(*given, **named))
        return started[-1]

    starting.Popen = start
    try:
        yield
    except BaseException:
        for java in started:
            with java:
                java.kill()
            SparkContext._gateway = SparkContext._jvm = None
        raise
    finally:
        starting.Popen = plain


@contextmanager
def _heeding_signals() -> Iterator[list[Any]]:
    """Have signals do what they did before a session was made, once they have ended what the session computes.

    PySpark puts a handler of its own in the place of that for Ctrl-C. It asks Java on the connection that just
    waits for an answer, which fails; and nobody else hears of the signal.
    """
    sessions: list[Any] = []
    if threading.current_thread() is not threading.main_thread():  # others may not, and PySpark does not
        yield sessions
        return
    numbers = [getattr(signal, name) for name in ENDING if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}

    def end(number: int, frame: FrameType | None) -> None:
        for made in sessions:  # by a thread, which has a connection of its own
            threading.Thread(target=_cancel, args=(made,), daemon=True).start()
        handler = before[number]
        if callable(handler):
            handler(number, frame)

    try:
        yield sessions
    finally:
        for number, handler in before.items():
            if callable(handler) and sessions:
                signal.signal(number, end)
            elif handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def _cancel(made: Any) -> None:
    """End what a session computes, if it lives; again while somebody waits for it, who may just have begun."""
    with suppress(Exception), warnings.catch_warnings():
        for _ in range(MOST_CANCELLED):
            made.sparkContext.cancelAllJobs()
            time.sleep(0.5)
            if not under_way:
                return


@contextmanager
def _hushed_bridge() -> Iterator[None]:
    """Keep the bridge to Java from printing tracebacks of what is raised as well: a Java that is gone, an interrupt."""
    logging.getLogger().addFilter(_is_not_the_bridges)
    bridge = logging.getLogger("py4j")
    if bridge.level == logging.NOTSET:
        bridge.setLevel(logging.CRITICAL)
    yield
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    server = getattr(getattr(context, "_active_spark_context", None), "_accumulatorServer", None)
    if server is not None:
        plain = server.handle_error

        def handle_error(request: Any, address: Any) -> None:
            if not isinstance(sys.exc_info()[1], (EOFError, OSError)):
                plain(request, address)

        server.handle_error = handle_error


def _is_not_the_bridges(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parts[-2:] != ("py4j", "java_gateway.py")


def _end(made: Any, folder: Path) -> None:
    """End a session and the Java that was started for it, and remove its folder when nobody writes there."""
    gateway = made.sparkContext._gateway
    java = getattr(gateway, "proc", None)
    if isinstance(java, subprocess.Popen) and java.stdin is not None:  # else it has started us, as spark-submit does
        for step in (made.stop, gateway.shutdown, java.stdin.close):  # the last alone ends a Java that is busy
            with suppress(Exception), warnings.catch_warnings():
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
    """Return whether Spark would find a Java to run."""
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
