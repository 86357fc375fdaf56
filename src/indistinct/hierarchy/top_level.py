"""The suppressed top of a hierarchy as an option: checked, written into specifications, and named."""

from __future__ import annotations

from typing import Any

from indistinct.errors import HierarchyError


def checked_top(top: object) -> str | None:
    """Return the label of a suppressed top, or None, and refuse anything else."""
    if top is not None and not (isinstance(top, str) and top):
        raise HierarchyError(f"top must be a label or None, got {top!r}")
    return top


def top_option(top: str | None) -> dict[str, Any]:
    """Return the option that a specification needs for a top other than ``*``; False leaves the top out.

    >>> top_option("*"), top_option("any"), top_option(None)
    ({}, {'top': 'any'}, {'top': False})
    """
    return {} if top == "*" else {"top": top or False}


def top_name(top: str | None) -> tuple[str, ...]:
    """Return the name of the level that an added top makes, if it was added."""
    return () if top is None else ("suppressed",)


def without_false(written: Any) -> Any:
    """Return what a specification says with None for False, which stands for it because TOML has no None.

    >>> without_false({"bounds": [[20, False]], "top": False})
    {'bounds': [[20, None]], 'top': None}
    """
    if isinstance(written, dict):
        return {name: without_false(value) for name, value in written.items()}
    if isinstance(written, list):
        return [without_false(item) for item in written]
    return None if written is False else written
