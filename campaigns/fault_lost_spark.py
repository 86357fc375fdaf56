"""Spark that ends in the middle of a command: its Java, a Python worker of it, or the command itself is killed.

Each case has a Spark of its own, on this machine. The moment is the n-th request that the command sends to Java, drawn
at random, or a little later, while Spark works on it, or a moment of its start; a worker is killed when one is seen.
After a command that was killed, and after one in five others, it is run again without a fault.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaigns import fault_scenes, fault_server
from campaigns.fault_limits import clear, left, wrong_ending
from campaigns.fault_scenes import Scene
from campaigns.fault_server import Ended, Setup

if TYPE_CHECKING:
    from campaigns.faults import Stage

TABLE, MADE, GOAL = "people.parquet", "by spark", "sparked"
SPARK = [TABLE, "--engine", "spark", "--threads", "1"]
JAVA, WORKER, COMMAND = "Java", "a worker", "the command"
ENDINGS = {JAVA: ["SIGKILL", "SIGKILL", "SIGTERM"], WORKER: ["SIGKILL"], COMMAND: ["SIGKILL", "SIGTERM", "SIGINT"]}
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
QUICK_SPARK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
}
"""Of a few rows, to compile a query takes longer than to run it."""
LONGEST_DELAY = 0.4
"""Seconds within which a request that is under way is met."""
LONGEST_END = 60.0
"""Seconds that Java has to end when its command is gone."""
LONGEST_START = 4.0
"""Seconds within which a Java that starts is met."""
LONGEST_RUN = 400.0
"""Seconds on the wall after which a command hangs: half a minute of work, on a machine that may be busy."""
AT_START = 0
"""The number of no request: Java is starting."""


@dataclass(frozen=True)
class Loss:
    """Who is killed, how, and when: so many seconds after the n-th request, or after Java was started."""

    whom: str
    ending: str
    number: int
    delay: float

    def strike(self) -> None:
        """Send the signal, after the delay; if there is no worker yet, when there is one."""
        time.sleep(self.delay)
        process: int | None = os.getpid() if self.whom == COMMAND else java()
        while process is not None and self.whom == WORKER and (process := _worker_of(java())) is None:
            time.sleep(0.005)
            process = java()
        if process is not None:
            os.kill(process, signal.Signals[self.ending])


def wrong_release(scene: Scene, before: Path, after: Path) -> list[str]:
    """Find what is wrong with a folder of Spark's: it is not there, as it was, or verified by DuckDB."""
    goal, old = after / "work" / scene.goal, before / "work" / scene.goal
    if not goal.exists():
        return [f"{scene.goal}, which was there, is gone"] if old.exists() else []
    ended = fault_server.run(["verify", "policy.toml", scene.goal, "--original", TABLE], after)
    return [f"{scene.goal} is not whole: {ended.said[-300:]}"] if ended.code else []


IN_FRAGMENTS = Scene(
    "a release in fragments",
    ["anonymize", "policy.toml", *SPARK, "--algorithm", "mondrian", "--max-tuples", "20", "-o", GOAL],
    GOAL,
    wrong_release,
)
"""The scene in which Spark has Python processes."""
SCENES = [
    Scene("a release", ["anonymize", "policy.toml", *SPARK, "-o", GOAL], GOAL, wrong_release),
    IN_FRAGMENTS,
    Scene("a proof", ["verify", "policy.toml", MADE, "--original", *SPARK], MADE, wrong_release),
]


def prepare(folder: Path) -> None:
    """Return the template a table that Spark can read, and a release of it; let forks have loaded what they need."""
    import pyarrow.csv
    import pyarrow.parquet
    import pyspark.sql  # noqa: F401  # no session: each fork makes its own

    work = folder / "template" / "work"
    table = pyarrow.csv.read_csv(work / "people.csv", pyarrow.csv.ReadOptions(encoding="latin-1"))
    pyarrow.parquet.write_table(table, work / TABLE)
    by_duckdb = ["anonymize", "policy.toml", TABLE, "--threads", "1", "-o"]
    fault_server.warm([[*by_duckdb, MADE], [*by_duckdb, "warm", "--algorithm", "mondrian"]], work)
    (work / "warm").rename(folder / "warm by mondrian")


def lost_spark(stage: Stage, place: Path, dice: random.Random) -> list[str]:
    """End a part of Spark, or the command that uses it, and find what is wrong afterwards."""
    scene, whom = dice.choice(SCENES), dice.choice([JAVA, JAVA, WORKER, COMMAND])
    if whom == WORKER:
        scene = IN_FRAGMENTS
    asked = _times_asked(stage, scene)
    delay = dice.choice([0.0, dice.uniform(0, LONGEST_DELAY)])
    loss = Loss(whom, dice.choice(ENDINGS[whom]), dice.randint(1, asked), delay)
    if whom != WORKER and dice.random() < 0.15:
        loss = Loss(whom, loss.ending, AT_START, dice.uniform(0, LONGEST_START))
    ended = fault_server.run(scene.command, place, setup=_struck(loss, place), longest=LONGEST_RUN)
    found = [] if _is_over(place) else ["Java lives on"]
    found += _wrong_end(ended, loss) + scene.check(scene, stage.template, place)
    if ended.code >= 0:
        found += left(stage, place, scene.goal)
    if ended.code < 0 or dice.random() < 0.2:
        found += _wrong_next_run(stage, scene, place)
    found += _left_by_java(place)
    where = f"{scene.name}, {loss.ending} to {whom} {loss.delay:.2f} s after request {loss.number} of {asked}"
    return [f"{where}: {what}" for what in found]


def _wrong_next_run(stage: Stage, scene: Scene, place: Path) -> list[str]:
    """Run the command once more, and find what is wrong then: it must succeed, and sweep what a killed one left."""
    more = [] if scene.goal == MADE else ["--replace"]
    setup = _meeting(place, lambda number: None)
    again = fault_server.run([*scene.command, *more], place, setup=setup, longest=LONGEST_RUN)
    found = [f"the next run left with {again.code}: {again.said[-300:]}"] if again.code else []
    return found + left(stage, place, scene.goal)


def _wrong_end(ended: Ended, loss: Loss) -> list[str]:
    """Find what is wrong with the way a command ended: a lost Spark is an error in words of its own."""
    if loss.whom == COMMAND:
        return wrong_ending(ended, signal.Signals[loss.ending])
    unclear = "Spark cannot read or compute it" in ended.said or "the system says" in ended.said
    return clear(ended) + ([f"it does not say what happened: {ended.said[-300:]}"] if unclear else [])


def _left_by_java(place: Path) -> list[str]:
    """Find what Java left where it puts files by itself: nothing, whoever was killed."""
    return [f"Java left {path.name}" for path in (place / "java").rglob("*") if path.is_file()]


def _times_asked(stage: Stage, scene: Scene) -> int:
    """Count the requests of a clean run."""
    if scene.name not in stage.counts:
        place = fault_scenes.copy_of(stage.template, stage.folder / f"clean-spark-{len(stage.counts)}")
        log = place / "requests.log"

        def note(number: int) -> None:
            log.write_text(str(number), "ascii")

        ended = fault_server.run(scene.command, place, setup=_meeting(place, note), longest=LONGEST_RUN)
        if ended.code:
            raise RuntimeError(f"the clean run left with {ended.code}: {ended.said}")
        stage.counts[scene.name] = int(log.read_text("ascii"))
    return stage.counts[scene.name]


def _struck(loss: Loss, place: Path) -> Setup:
    """Return a setup under which somebody is killed at the moment that was drawn."""

    def meet(number: int) -> None:
        if number == loss.number:
            if loss.delay or loss.whom == WORKER:
                threading.Thread(target=loss.strike, daemon=True).start()
            else:
                loss.strike()

    setup = _meeting(place, meet)

    def setup_and_begin() -> None:
        setup()
        threading.Thread(target=_strike_at_start, args=(loss, place), daemon=True).start()

    return setup_and_begin if loss.number == AT_START else setup


def _strike_at_start(loss: Loss, place: Path) -> None:
    """Strike when there is a Java, and a while later."""
    while (process := java()) is None:
        time.sleep(0.005)
    (place / "java.pid").write_text(str(process), "ascii")
    loss.strike()


def _meeting(place: Path, meet: Callable[[int], None]) -> Setup:
    """Return a setup that has a function called with the number of each request to Java, whose own files lie apart."""

    def setup() -> None:
        from py4j.clientserver import ClientServerConnection

        (place / "java").mkdir(exist_ok=True)
        os.environ["JAVA_TOOL_OPTIONS"] = f"{QUICK_JAVA} -Djava.io.tmpdir={place / 'java'}"
        settings = " ".join(f"--conf {name}={value}" for name, value in QUICK_SPARK.items())
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"{settings} pyspark-shell"
        plain, count = ClientServerConnection.send_command, [0]

        def send_command(this: Any, command: str) -> Any:
            if not count[0]:
                (place / "java.pid").write_text(str(java()), "ascii")
            count[0] += 1
            meet(count[0])
            return plain(this, command)

        ClientServerConnection.send_command = send_command

    return setup


def java() -> int | None:
    """Return the process of this command's Java."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    if gateway is not None:
        return int(gateway.proc.pid)
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text("ascii").split()
    return int(children[0]) if children else None


def _worker_of(process: int | None) -> int | None:
    """Return a Python worker below Java: a child of the daemon that starts them."""
    for daemon in _children(process):
        for worker in _children(daemon):
            return worker
    return None


def _children(process: int | None) -> list[int]:
    """Return the children that any thread of a process has started."""
    found: list[int] = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, path.read_text("ascii").split())
    return found


def _is_over(place: Path) -> bool:
    """Wait until the Java of a command is gone; False if it does not go."""
    known = place / "java.pid"
    if not known.exists():
        return True
    status, until = Path(f"/proc/{known.read_text('ascii')}/status"), time.monotonic() + LONGEST_END
    while time.monotonic() < until:
        try:
            if "\nState:\tZ" in status.read_text("ascii"):
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False
