"""Modules of other packages that tests compare with, which take long to load or may be missing."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any, NoReturn

import pytest

from indistinct.lazy import lazy_module


def leave_out(reason: str, *, whole_file: bool = False) -> NoReturn:
    """Skip a test, or a file of them, for want of what may be missing on a user's machine; in CI it fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=whole_file)


def optional_module(name: str) -> Any:
    """Return a module that is loaded when a test first asks it for something; without it a file of tests is left out.

    Every worker collects all files. The worker that runs these tests is alone to load what they compare with.
    """
    if find_spec(name.partition(".")[0]) is None:
        leave_out(f"NOT CHECKED: {name} is not installed", whole_file=True)
    return lazy_module(name)
