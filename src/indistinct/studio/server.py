"""The server of the studio: one process, one steward, this machine only, and nothing left behind."""

from __future__ import annotations

import html
import os
import signal
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from indistinct.errors import MissingExtraError, OutputError
from indistinct.studio.guard import HOSTS, WELCOME, Guard
from indistinct.studio.work import Work

HOST = HOSTS[0]
SECONDS_FOR_BROWSER = 10.0
"""How long the token is good that a browser is opened with."""
OPENING = "open.html"
"""The private file that a browser is opened with: its command line, which every user can read, has no token."""
SECONDS_TO_END = 3
"""How long pages that are still open may keep the studio from ending."""


def serve(
    tables: str | Mapping[str, str] | None = None,
    *,
    policy: str = "",
    port: int = 0,
    ledger: str | None = None,
    listen: str = HOST,
    opens_browser: bool = True,
    on_ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve the studio until it is interrupted; ``on_ready`` is told the address with its token.

    Port 0 takes one that is free. ``listen`` is for containers, whose own address nobody else reaches: requests must
    name this machine all the same. ``policy`` is the text of a policy file for the ``tables``. The folder of uploads is
    private, and removed at the end.
    """
    with _bind_socket(port, listen) as listening, tempfile.TemporaryDirectory(prefix="indistinct-studio-") as private:
        before = tempfile.tempdir, os.environ.get("NICEGUI_STORAGE_PATH")
        tempfile.tempdir = private  # what others put aside while they work is as private as the table
        os.environ["NICEGUI_STORAGE_PATH"] = private
        work = Work(folder=Path(private), ledger_url=ledger)
        try:
            if tables is not None:
                work.start("Opening the table", lambda watch: work.open(tables, watch, text=policy))
            _serve(work, listening, opens_browser, on_ready)
        finally:
            work.close()
            tempfile.tempdir = before[0]
            if before[1] is None:
                del os.environ["NICEGUI_STORAGE_PATH"]


def _serve(work: Work, listening: socket.socket, opens_browser: bool, on_ready: Callable[[str], None]) -> None:
    try:
        import uvicorn

        from indistinct.studio.app import application
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("nicegui", "uvicorn", "fastapi"):
            raise
        raise MissingExtraError('the studio needs NiceGUI: pip install "indistinct[studio]"') from None
    port = listening.getsockname()[1]
    guarded = Guard(application(work), port=port)
    server = uvicorn.Server(
        uvicorn.Config(
            guarded, ws="wsproto", log_level="warning", access_log=False, timeout_graceful_shutdown=SECONDS_TO_END
        )
    )

    def address(token: str) -> str:
        return f"http://{HOST}:{port}/?token={token}"

    # From here on a signal is noted, not raised: an exception is lost if it comes while an object is freed.
    with server.capture_signals(), _note_others(server.handle_exit):
        on_ready(address(guarded.issue_token()))
        if opens_browser:
            # the socket listens already: the browser waits in its queue until the server takes it up
            file = _write_opening(work.folder, address(guarded.issue_token(SECONDS_FOR_BROWSER)))
            threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()
        server.run(sockets=[listening])


def _write_opening(folder: Path, address: str) -> Path:
    """Return a file that nobody else can read and that leads a browser to an address."""
    file = folder / OPENING
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as page:
        page.write(WELCOME.format(place=html.escape(address)))
    return file


@contextmanager
def _note_others(note: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Have signals that end the studio noted which the server does not know, unless they are ignored."""
    others = [getattr(signal, name) for name in ("SIGHUP", "SIGQUIT") if hasattr(signal, name)]
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in others if is_main}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _bind_socket(port: int, host: str = HOST) -> socket.socket:
    """Return a socket that listens on this machine's own address only, or where a container is asked."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(128)
    except OSError as error:
        made.close()
        raise OutputError(f"port {port} cannot be used: {error.strerror}; choose another with --port") from None
    return made
