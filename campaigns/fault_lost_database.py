"""A PostgreSQL server that ends while a ledger uses it: a backend is killed, or the whole server stops at once.

The moment is a statement, a commit or a connection of the command, drawn at random: before it, while it is under way,
or after it. The server is started again, and the ledger must have what it had, or one entry more.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaigns import fault_postgres, fault_scenes, fault_server
from campaigns.fault_limits import clear, left
from campaigns.fault_scenes import IN_POSTGRES, SCENES
from campaigns.fault_server import Setup

if TYPE_CHECKING:
    from campaigns.faults import Stage
    from helpers.postgres import Server

ENDINGS = {
    "a backend is killed": signal.SIGKILL,
    "a backend is ended": signal.SIGTERM,
    "the server stops at once": signal.SIGQUIT,
    "the server is killed": signal.SIGKILL,
}
WHEN = ("before", "during", "after")
LONGEST_DELAY = 0.004
"""Seconds within which a statement that is under way is met."""


@dataclass(frozen=True)
class Loss:
    """What ends, and when: at the n-th time that the command asks something of the database."""

    ending: str
    number: int
    when: str
    delay: float

    def strike(self, server: Server, backend: int | None) -> None:
        """Send the signal; a backend that there is none of yet is left alone."""
        process = backend if "backend" in self.ending else server.process
        if process is not None:
            os.kill(process, ENDINGS[self.ending])


def lost_database(stage: Stage, place: Path, dice: random.Random) -> list[str]:
    """End the server, or the process of it that serves a command, in the middle of a release with a ledger in it."""
    assert stage.database is not None
    scene = SCENES[IN_POSTGRES]
    asked = _times_asked(stage)
    delay = dice.uniform(0, LONGEST_DELAY)
    loss = Loss(dice.choice(list(ENDINGS)), dice.randint(1, asked), dice.choice(WHEN), delay)
    ended = fault_server.run(scene.command, place, setup=_struck(loss, stage.database))
    stage.database.start_again()
    found = clear(ended) + scene.check(scene, stage.template, place) + left(stage, place, scene.goal)
    again = fault_server.run(scene.again, place)
    if again.code:
        found.append(f"the next run left with {again.code}: {again.said[-300:]}")
    found += fault_postgres.wrong_store(place) + left(stage, place, scene.goal)
    return [f"{loss.ending} {loss.when} request {loss.number} of {asked}: {what}" for what in found]


def _times_asked(stage: Stage) -> int:
    """Count how often a clean run asks something of the database."""
    if "requests" not in stage.counts:
        of_case, log = os.environ["PGDATABASE"], stage.folder / "requests.log"
        place = fault_scenes.copy_of(stage.template, stage.folder / "clean-requests")
        stage.begin_database(place.name)

        def note() -> None:
            handle = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            _watch(lambda _, is_done: None if is_done else os.write(handle, b"."))

        ended = fault_server.run(SCENES[IN_POSTGRES].command, place, setup=note)
        if ended.code:
            raise RuntimeError(f"the clean run left with {ended.code}: {ended.said}")
        stage.counts["requests"] = log.stat().st_size
        os.environ["PGDATABASE"] = of_case
    return stage.counts["requests"]


def _struck(loss: Loss, server: Server) -> Setup:
    """Return a setup under which the database ends at the moment that was drawn."""

    def setup() -> None:
        asked = [0]

        def meet(backend: int | None, is_done: bool) -> None:
            asked[0] += not is_done
            if asked[0] != loss.number or is_done != (loss.when == "after"):
                return
            if loss.when == "during":
                threading.Timer(loss.delay, loss.strike, (server, backend)).start()
            else:
                loss.strike(server, backend)

        _watch(meet)

    return setup


def _watch(meet: Callable[[int | None, bool], object]) -> None:
    """Have a function called before and after each connection, statement and commit, with its backend."""
    import psycopg

    def around(owner: Any, name: str, backend: Callable[[Any], int | None]) -> None:
        plain = getattr(owner, name)

        def met(this: Any, *given: Any, **named: Any) -> Any:
            meet(backend(this), False)
            answer = plain(this, *given, **named)
            meet(backend(this), True)
            return answer

        setattr(owner, name, met)

    around(psycopg.Cursor, "execute", lambda cursor: int(cursor.connection.info.backend_pid))
    around(psycopg.Connection, "commit", lambda connection: int(connection.info.backend_pid))
    plain_connect = psycopg.connect

    def connect(*given: Any, **named: Any) -> Any:
        meet(None, False)
        connection = plain_connect(*given, **named)
        meet(connection.info.backend_pid, True)
        return connection

    psycopg.connect = connect  # type: ignore[assignment]
