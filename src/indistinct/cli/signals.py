"""Signals that end a command: noted before they are raised, since an engine may turn them into an error of its own."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

received: list[int] = []
"""The signals that arrived, in their order."""


def listen() -> None:
    """End the command as an error does on Ctrl-C, termination, quitting and a closed terminal: nothing is left."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
        number = getattr(signal, name, None)
        # who starts a command with nohup wants it to outlive the terminal
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    received.append(number)
    raise KeyboardInterrupt
