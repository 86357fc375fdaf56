"""Spark that ends in the middle: what is said of it, and what it leaves. No test here starts a Spark."""

from __future__ import annotations

import atexit
import contextlib
import inspect
import io
import logging
import os
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from indistinct.engine.spark import failures, session
from indistinct.engine.spark.rows import SparkEncoded, SparkRows
from indistinct.errors import TableError

protocol = pytest.importorskip("py4j.protocol", reason='Spark is NOT tested here: pip install "indistinct[spark]"')


class Builder:
    """A builder of sessions that starts nothing, and tells what it was asked."""

    def __init__(self, made: Any) -> None:
        self.made, self.settings = made, {}
        self.options: str | None = None

    def config(self, key: str | None = None, value: object = None, *, map: dict[str, object] | None = None) -> Builder:
        self.settings |= map or {key: value}
        return self

    def appName(self, name: str) -> Builder:  # noqa: N802
        return self

    def master(self, name: str) -> Builder:
        return self.config("master", name)

    def getOrCreate(self) -> Any:  # noqa: N802
        self.options = os.environ.get("SPARK_SUBMIT_OPTS")
        if isinstance(self.made, Exception):
            raise self.made
        return self.made


def asked_of_spark(monkeypatch: pytest.MonkeyPatch, made: Any, master: str | None = None) -> dict[str, object]:
    builder = Builder(made)
    fake = type("SparkSession", (), {"getActiveSession": staticmethod(lambda: None), "builder": builder})
    monkeypatch.setattr(session, "_session_class", lambda: fake)
    monkeypatch.setattr(session, "java_is_there", lambda: True)
    with contextlib.suppress(TableError):
        session.find_session("spark", master, None, 1)
    return builder.settings | {"options of Java": builder.options}


def test_what_spark_puts_on_the_disk_lies_in_a_private_folder_that_goes_with_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shuffled rows are the private table; Spark itself lets everybody read them, and leaves them if it is killed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    java = subprocess.Popen(["cat"], stdin=subprocess.PIPE)  # it ends with its input, as Spark's Java does

    def shut_down() -> None:
        raise protocol.Py4JNetworkError("it is gone")

    gateway = SimpleNamespace(proc=java, shutdown=shut_down)
    made = SimpleNamespace(sparkContext=SimpleNamespace(_gateway=gateway), stop=lambda: None)
    exits: list[Any] = []
    monkeypatch.setattr(atexit, "register", lambda *call: exits.append(call))
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dmine=1")
    asked = asked_of_spark(monkeypatch, made)
    folder = Path(str(asked["spark.local.dir"]))
    assert folder.parent == tmp_path
    assert asked["options of Java"] == f'"-Djava.io.tmpdir={folder}" -Dmine=1'
    assert os.environ["SPARK_SUBMIT_OPTS"] == "-Dmine=1"
    assert folder.stat().st_mode & 0o077 == 0
    (folder / "blockmgr").mkdir()
    [(end, *given)] = exits
    end(*given)
    assert java.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_cannot_be_made_leaves_no_folder_and_no_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark import SparkContext
    from pyspark import java_gateway as starting

    java_gateway: Any = starting
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    assert "spark.local.dir" in asked_of_spark(monkeypatch, protocol.Py4JNetworkError("gone"))
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(SparkContext, "_gateway", "half made")
    monkeypatch.setattr(SparkContext, "_jvm", "half made")
    plain, started = java_gateway.Popen, []

    def interrupted() -> None:
        started.append(java_gateway.Popen(["cat"], stdin=subprocess.PIPE))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), session._ending_what_fails():
        interrupted()
    assert [java.returncode for java in started] == [-signal.SIGKILL]
    assert SparkContext._gateway is None  # the next session starts a Java of its own
    assert java_gateway.Popen is plain


def test_disks_that_were_named_for_spark_and_clusters_are_left_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(atexit, "register", lambda *call: None)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/scratch")
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)
    asked = asked_of_spark(monkeypatch, None)
    assert "spark.local.dir" not in asked
    assert "java.io.tmpdir" in str(asked["options of Java"])
    assert "SPARK_SUBMIT_OPTS" not in os.environ
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    asked = asked_of_spark(monkeypatch, None, "yarn")
    assert "spark.local.dir" not in asked
    assert asked["options of Java"] is None


def test_libraries_are_unpacked_only_where_they_can_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)
    quoted = tmp_path / 'a "b'
    quoted.mkdir()
    with session._unpacking_in(quoted):
        assert os.environ["SPARK_SUBMIT_OPTS"] == f'"-Djava.io.tmpdir={tmp_path}/a \\"b"'
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_NOEXEC))
    with session._unpacking_in(tmp_path):
        assert "SPARK_SUBMIT_OPTS" not in os.environ


BROKEN_BRIDGE = "An error occurred while calling o22.sc"


@pytest.mark.parametrize(
    "error",
    [
        protocol.Py4JNetworkError("Answer from Java side is empty"),
        protocol.Py4JError(BROKEN_BRIDGE),
        ConnectionRefusedError(111, "refused"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_java_that_is_gone_is_reported_as_such(error: Exception) -> None:
    def unpersist() -> None:
        raise error

    with pytest.raises(TableError, match=r"people: Spark has ended .* try again"), failures.spark_errors("people"):
        unpersist()
    failures.let_go(SimpleNamespace(unpersist=unpersist))  # it is gone with everything that it stored


def test_a_java_that_cannot_be_asked_for_the_words_of_its_error_is_gone() -> None:
    def send_command(command: str) -> str:
        raise ConnectionRefusedError(111, "Connection refused")

    client = SimpleNamespace(send_command=send_command)
    error = protocol.Py4JJavaError("An error occurred", SimpleNamespace(_target_id="o1", _gateway_client=client))
    with pytest.raises(TableError, match="people: Spark has ended"), failures.spark_errors("people"):
        raise error


class Gone:
    """Whatever is asked of it, Java is gone."""

    def __getattr__(self, name: str) -> Any:
        raise ConnectionRefusedError(111, "Connection refused")


@pytest.mark.parametrize("kind", [SparkRows, SparkEncoded])
def test_no_verb_of_a_table_of_spark_lets_an_error_of_the_bridge_through(kind: Any) -> None:
    """Each builds its question outside of Spark's own verbs, and that asks Java as well."""
    table = object.__new__(kind)
    vars(table).update(name="people", source=Gone(), _source=Gone(), _made=Gone(), _table=Gone(), _kept=None)
    vars(table).update(
        max_tuples=None, encodings=Gone(), _finalizer=SimpleNamespace(alive=True), values={}, _count=None
    )
    told = 0
    for name, member in vars(kind).items():
        if name.startswith("_") or not (callable(member) or isinstance(member, property)):
            continue
        verb = member.fget if isinstance(member, property) else member
        needed = [one for one in inspect.signature(verb).parameters.values() if one.default is one.empty]
        try:
            verb(table, *[{} for _ in needed[1:]])
        except TableError as error:
            told += "Spark has ended" in str(error)
        except (AttributeError, TypeError):
            pass  # what was given is no plan
    assert told > len([name for name in vars(kind) if not name.startswith("_")]) / 2


CRASHES = [
    "Job aborted … Python worker exited unexpectedly (crashed) … cell 'Ann'",
    "Lost task 1.0 in stage 21.0 (TID 13) (executor driver): java.io.EOFException\n"
    "\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)\n"
    "\tat org.apache.spark.api.python.PythonWorkerFactory.createWorker$1(PythonWorkerFactory.scala:213)\n cell 'Ann'",
    "SparkException: Job aborted 'Ann'\nCaused by: java.net.SocketException: Connection reset\n"
    "\tat java.base/sun.nio.ch.SocketChannelImpl.throwConnectionReset(SocketChannelImpl.java:401)\n"
    "\tat java.base/sun.nio.ch.SocketChannelImpl.read(SocketChannelImpl.java:434)\n"
    "\tat org.apache.spark.api.python.BasePythonRunner$ReaderInputStream.read(PythonRunner.scala:1)\n",
]


@pytest.mark.parametrize("crash", CRASHES, ids=["words", "end", "reset"])
def test_a_worker_that_is_gone_is_reported_as_such(crash: str) -> None:
    message = failures.explain(Exception(crash))
    assert "a Python process of Spark ended" in message
    assert "Ann" not in message


def test_an_end_of_a_file_is_no_worker_that_is_gone() -> None:
    frames = "java.io.EOFException\n\tat org.apache.parquet.Reader.read(Reader.java:1)\n"
    assert "cannot read" in failures.explain(Exception(f"Lost task: {frames}\tat java.base/java.lang.Thread.run\n"))


def test_a_server_that_is_gone_is_reported_as_such() -> None:
    words = "<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n\tdetails = …"
    assert "server does not answer" in failures.explain(Exception(words))
    assert "server does not answer" in failures.explain(Exception("[INVALID_HANDLE.SESSION_CHANGED] restarted"))


def test_a_spark_that_was_stopped_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java that was told to end tells other errors while it does."""
    from pyspark import SparkContext

    for words in (
        "Job 3 cancelled because SparkContext was shut down",
        "Cannot call methods on a stopped SparkContext",
    ):
        assert "Spark has ended in the middle: it was stopped" in failures.explain(Exception(words))
    java = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=java))
    monkeypatch.setattr(failures, "LONGEST_SHUTDOWN", 10)
    dying = type("Py4JJavaError", (Exception,), {"java_exception": "a pool that takes no more tasks"})()
    later = threading.Timer(0.01, java.terminate)
    later.start()
    assert "Java process is gone" in failures.explain(dying)
    later.join()
    java.communicate()


def test_an_error_that_came_of_an_interrupt_is_the_interrupt() -> None:
    """PySpark waits for the rest of an answer when it is interrupted, and fails with that."""

    def collect() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise protocol.Py4JError("Job cancelled")

    with pytest.raises(KeyboardInterrupt), failures.spark_errors("people"):
        collect()
    with pytest.raises(KeyboardInterrupt), failures.spark_errors("people"):
        failures.let_go(SimpleNamespace(unpersist=collect))
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:  # somebody goes on after an interrupt: what comes then is told as it is
        with pytest.raises(TableError, match="people: Spark"), failures.spark_errors("people"):
            raise protocol.Py4JError("Job cancelled") from None


def test_signals_reach_who_listened_before_spark_and_end_its_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark's own handler of Ctrl-C hides it from the command, and asks Java in the middle of another question."""
    cancelled, heard = threading.Event(), []
    made = SimpleNamespace(sparkContext=SimpleNamespace(cancelAllJobs=cancelled.set))
    ours = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]
    kept = {number: signal.getsignal(number) for number in ours}
    try:
        for number in ours[:2]:
            signal.signal(number, lambda number, frame: heard.append(number))
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with session._heeding_signals() as sessions:
            signal.signal(signal.SIGINT, lambda number, frame: heard.append("PySpark"))
            signal.signal(signal.SIGHUP, signal.default_int_handler)
            sessions.append(made)
        for number in ours[:2]:
            cancelled.clear()
            signal.raise_signal(number)
            assert cancelled.wait(10)
        assert heard == ours[:2]
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        before = signal.getsignal(signal.SIGINT)
        with contextlib.suppress(TableError), session._heeding_signals():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            raise TableError("no session was made")
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def test_threads_of_pyspark_print_nothing_of_a_java_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import SparkContext

    printed: list[object] = []
    server = SimpleNamespace(handle_error=lambda request, address: printed.append(request))
    monkeypatch.setattr(SparkContext, "_active_spark_context", SimpleNamespace(_accumulatorServer=server))
    root, bridge, shown = logging.getLogger(), logging.getLogger("py4j"), io.StringIO()
    before, handler = bridge.level, logging.StreamHandler(shown)
    try:
        root.addHandler(handler)
        with session._hushed_bridge():
            pass
        for error in (EOFError(), ValueError("another")):
            try:
                raise error
            except Exception:
                server.handle_error(type(error), None)
        assert printed == [ValueError]
        for place in (protocol.__file__, "/x/py4j/java_gateway.py"):
            root.handle(logging.LogRecord("root", logging.ERROR, place, 1, "broken", (), None))
        assert shown.getvalue() == "broken\n"
    finally:
        root.removeHandler(handler)
        root.removeFilter(session._is_not_the_bridges)
        bridge.setLevel(before)


def test_any_error_of_a_spark_whose_java_is_gone_is_reported_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark says that it cannot parse a type, and worse, when an answer of Java was cut off."""
    from pyspark import SparkContext

    java = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=java))
    monkeypatch.setattr(failures, "LONGEST_DEATH", 0.01)
    told = protocol.Py4JError("of a Java that lives")
    told._origin = "Java"
    with pytest.raises(TableError, match="people: Spark cannot read"), failures.spark_errors("people"):
        raise told
    with pytest.raises(ZeroDivisionError), failures.spark_errors("people"):
        raise ZeroDivisionError
    java.communicate()
    with pytest.raises(TableError, match="people: Spark has ended"), failures.spark_errors("people"):
        raise ZeroDivisionError
    with pytest.raises(TableError, match=r"^its own words$"), failures.spark_errors("people"):
        raise TableError("its own words")
