"""Spark that ends in the middle: what is said of it, and what it leaves. No test here starts a Spark."""

from __future__ import annotations

import atexit
import contextlib
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from indistinct.engine.spark import session
from indistinct.errors import TableError

protocol = pytest.importorskip("py4j.protocol", reason='Spark is NOT tested here: pip install "indistinct[spark]"')


class Builder:
    """A builder of sessions that starts nothing, and tells what it was asked."""

    def __init__(self, made: Any) -> None:
        self.made, self.settings = made, {}

    def config(self, key: str | None = None, value: object = None, *, map: dict[str, object] | None = None) -> Builder:
        self.settings |= map or {key: value}
        return self

    def appName(self, name: str) -> Builder:  # noqa: N802
        return self

    def master(self, name: str) -> Builder:
        return self.config("master", name)

    def getOrCreate(self) -> Any:  # noqa: N802
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
    return builder.settings


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
    folder = Path(str(asked_of_spark(monkeypatch, made)["spark.local.dir"]))
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o077 == 0
    (folder / "blockmgr").mkdir()
    [(end, *given)] = exits
    end(*given)
    assert java.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_cannot_be_made_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    assert "spark.local.dir" in asked_of_spark(monkeypatch, protocol.Py4JNetworkError("gone"))
    assert list(tmp_path.iterdir()) == []


def test_disks_that_were_named_for_spark_and_clusters_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/scratch")
    assert "spark.local.dir" not in asked_of_spark(monkeypatch, None)
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    assert "spark.local.dir" not in asked_of_spark(monkeypatch, None, "yarn")


@pytest.mark.parametrize(
    "error", [protocol.Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111, "refused")]
)
def test_a_java_that_is_gone_is_told_as_such(error: Exception) -> None:
    def unpersist() -> None:
        raise error

    with pytest.raises(TableError, match=r"people: Spark has ended .* try again"), session.spark_errors("people"):
        unpersist()
    session.let_go(SimpleNamespace(unpersist=unpersist))  # it is gone with everything that it stored


def test_a_worker_that_is_gone_is_told_as_such() -> None:
    message = session.explain(Exception("Job aborted … Python worker exited unexpectedly (crashed) … cell 'Ann'"))
    assert "a Python process of Spark ended" in message
    assert "Ann" not in message


def test_any_error_of_a_spark_whose_java_is_gone_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark says that it cannot parse a type, and worse, when an answer of Java was cut off."""
    from pyspark import SparkContext

    java = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=java))
    monkeypatch.setattr(session, "LONGEST_DEATH", 0.01)
    told = protocol.Py4JError("of a Java that lives")
    told._origin = "Java"
    with pytest.raises(TableError, match="people: Spark cannot read"), session.spark_errors("people"):
        raise told
    with pytest.raises(ZeroDivisionError), session.spark_errors("people"):
        raise ZeroDivisionError
    java.communicate()
    with pytest.raises(TableError, match="people: Spark has ended"), session.spark_errors("people"):
        raise ZeroDivisionError
    with pytest.raises(TableError, match=r"^its own words$"), session.spark_errors("people"):
        raise TableError("its own words")
