"""Signals that end a command: noted before they are raised, since an engine may turn them into an error of its own."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn

ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
received: list[int] = []
"""The signals that arrived, in their order."""
_heeded: set[int] = set()
"""Those that end a command."""


def listen() -> None:
    """End the command as an error does on Ctrl-C, termination, quitting and a closed terminal: nothing is left."""
    for name in ENDING:
        number = getattr(signal, name, None)
        # who starts a command with nohup wants it to outlive the terminal
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
            _heeded.add(number)
    sys.unraisablehook = _show_unless_ended


def finish() -> None:
    """Let nothing but a kill disturb what is cleaned up at the very end."""
    for number in _heeded:  # also where Spark has put a handler of its own before ours
        signal.signal(number, signal.SIG_IGN)


def _show_unless_ended(wrong: sys.UnraisableHookArgs) -> None:
    """Say nothing of a signal that came while Python cleaned up after an object: it goes on, and shows no traceback."""
    if not isinstance(wrong.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(wrong)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    received.append(number)
    raise KeyboardInterrupt
