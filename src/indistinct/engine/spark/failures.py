"""Failures of Spark as errors of ours: what went wrong and what to do, without the cells that its messages quote.

Spark fails in the words of whoever noticed: Java, the bridge to it, a socket, or Python that got half an answer. All of
them pass one seam, ``spark_errors``, which stands around every verb of a table of Spark.
"""

from __future__ import annotations

import inspect
import re
import subprocess  # nosec B404 # nothing is started here: it names the Java that PySpark has started
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar

from indistinct.engine.rows import Rows
from indistinct.errors import IndistinctError, TableError

LONGEST_DEATH = 1.0
"""Seconds that a Java which was killed takes to go."""
LONGEST_SHUTDOWN = 5.0
"""Seconds that a Java which was told to end goes on telling errors."""
JAVA_IS_GONE = (
    "Spark has ended in the middle: its Java process is gone, stopped from outside or for want of memory; "
    "give it more with --memory, or spark.driver.memory, and try again in a new process"
)
SPARK_WAS_STOPPED = (
    "Spark has ended in the middle: it was stopped, from outside or by the program that uses it; "
    "try again with a new session"
)
SERVER_IS_GONE = (
    "the Spark Connect server does not answer: it has ended, or cannot be reached; see that it runs, "
    "and try again in a new process"
)
WORKER_IS_GONE = (
    "a Python process of Spark ended in the middle, stopped from outside or for want of memory; give it "
    "more with spark.executor.pyspark.memory, and try again"
)
LOST_WORKER = re.compile(
    r"Python worker (?:exited|failed to connect back)"
    r"|(?:EOFException|SocketException|ClosedChannelException|Broken pipe|Connection reset)[^\n]*\n"
    r"(?:\s*at [^\n]*\n){0,12}?\s*at org\.apache\.spark\.(?:api|sql\.execution)\.python\."
)
"""How Java tells that a Python process is gone: in these words, or only as an end of what it read or wrote there."""
STOPPED = re.compile(r"SparkContext (?:was|has been|is) shut|stopped SparkContext|Shutdown in progress|already stopped")
LOST_SERVER = re.compile(r"StatusCode\.UNAVAILABLE|RETRIES_EXCEEDED|INVALID_HANDLE\.SESSION_")
under_way: list[str] = []
"""The tables that Spark is asked about just now."""
Verbs = TypeVar("Verbs")


@contextmanager
def spark_errors(table: str) -> Iterator[None]:
    """Raise Spark's errors as a TableError that says what went wrong, without a cell.

    An error that came of an interrupt is that interrupt: PySpark asks Java for the rest of an answer first.
    """
    before = sys.exc_info()[1]
    under_way.append(table)
    try:
        yield
    except IndistinctError:
        raise
    except Exception as error:
        if _came_of_an_interrupt(error, before):
            raise KeyboardInterrupt from None
        if not isinstance(error, _errors()) and not _java_is_gone(error):
            raise
        raise TableError(f"{table}: {explain(error)}") from None
    finally:
        under_way.remove(table)


def telling_errors(kind: type[Verbs]) -> type[Verbs]:
    """Have all verbs of a class raise Spark's errors as ours, whichever of their lines meets one first.

    Those that it inherits from ``engine.sql`` are among them. What ``engine.rows`` has asks Spark by other verbs alone.
    """
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        verb = member.fget if isinstance(member, property) else member
        if name.startswith("_") or not isinstance(verb, FunctionType) or verb.__module__ == Rows.__module__:
            continue
        setattr(kind, name, property(_telling(verb)) if isinstance(member, property) else _telling(verb))
    return kind


def _telling(verb: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(verb)
    def tell(self: Any, *given: Any, **named: Any) -> Any:
        with spark_errors(self.name):
            return verb(self, *given, **named)

    return tell


def let_go(frame: Any) -> None:
    """Have Spark forget a frame that it stores; a Spark that has ended has forgotten it."""
    with suppress(TableError), spark_errors("Spark"):
        frame.unpersist()


def explain(error: Any) -> str:
    """Return what went wrong and what to do, without the cells that Spark's own message may quote."""
    try:
        message = str(error)
        name = getattr(error, "getCondition", lambda: None)() or type(error).__name__
    except Exception:  # the words of Java's errors are Java's: it is asked for them here
        return JAVA_IS_GONE
    if _is_lost(error, message) or "GATEWAY_EXITED" in message or _java_is_gone(error):
        return JAVA_IS_GONE
    if LOST_WORKER.search(message):
        return WORKER_IS_GONE
    if LOST_SERVER.search(f"{name} {message}"):
        return SERVER_IS_GONE
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
    if STOPPED.search(message):
        return SPARK_WAS_STOPPED
    if name == "Py4JJavaError" and _java_ends(LONGEST_SHUTDOWN):  # what Spark knows of itself has another name
        return JAVA_IS_GONE
    return f"Spark cannot read or compute it ({name}); Spark's own log says more"


def _errors() -> tuple[type[Exception], ...]:
    """Return the classes of errors that are Spark's or of what it is reached by, as far as they are loaded."""
    known = {"pyspark.errors": "PySparkException", "py4j.protocol": "Py4JError", "grpc": "RpcError"}
    return ConnectionError, *(
        getattr(sys.modules[module], name) for module, name in known.items() if module in sys.modules
    )


def _came_of_an_interrupt(error: BaseException, before: BaseException | None) -> bool:
    """Return whether an interrupt is behind an error, and came after what was being handled before."""
    behind = error.__cause__ or error.__context__
    while behind is not None and behind is not before:
        if isinstance(behind, KeyboardInterrupt):
            return True
        behind = behind.__cause__ or behind.__context__
    return False


def _is_lost(error: Any, message: str) -> bool:
    """Return whether the bridge to Java broke: it says so, or has no answer and so no trace of what Java did."""
    kind = type(error).__name__
    return (
        isinstance(error, ConnectionError)
        or kind == "Py4JNetworkError"
        or (kind == "Py4JError" and message.startswith("An error occurred while calling") and "Trace:" not in message)
    )


def _java_is_gone(error: Exception) -> bool:
    """Return whether the Java that this process started has ended: then Spark fails in words that say something else.

    An error that Java itself tells comes from one that lives; after others, one that was killed has a moment to go.
    """
    is_javas = any(getattr(error, name, None) is not None for name in ("java_exception", "_origin"))
    return _java_ends(0 if is_javas else LONGEST_DEATH)


def _java_ends(seconds: float) -> bool:
    """Return whether the Java that this process started has ended, or ends within some seconds."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)  # a client of Connect alone has none
    java = getattr(getattr(context, "_gateway", None), "proc", None)
    if not isinstance(java, subprocess.Popen):
        return False
    try:
        java.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
