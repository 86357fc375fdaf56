"""Modules of other packages that tests compare with, and that take long to load."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from indistinct.lazy import lazy_module


def optional_module(name: str) -> Any:
    """Return a module that is loaded when a test first asks it for something; skip a file of tests if it is missing.

    Every worker collects all files. The worker that runs these tests is alone to load what they compare with.
    """
    if find_spec(name.partition(".")[0]) is None:
        pytest.skip(f"NOT CHECKED: {name} is not installed", allow_module_level=True)
    return lazy_module(name)
