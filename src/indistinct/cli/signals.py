"""Signals that end a command: noted before they are raised, since an engine may turn them into an error of its own."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

received: list[int] = []
"""The signals that arrived, in their order."""


def listen() -> None:
    """End the command on Ctrl-C and on termination as an error does, so that nothing is left behind."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    received.append(number)
    raise KeyboardInterrupt
