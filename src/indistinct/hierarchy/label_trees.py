"""Labels as trees: nested from their paths, and drawn for reading."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def nest(paths: Iterable[Iterable[str | None]]) -> dict[str | None, Any]:
    """Return paths that start at the root as nested dictionaries.

    >>> nest([["*", "person", "white"], ["*", "person", "black"]])
    {'*': {'person': {'white': {}, 'black': {}}}}
    """
    root: dict[str | None, Any] = {}
    for path in paths:
        node = root
        for label in path:
            node = node.setdefault(label, {})
    return root


def label_text(label: str | None) -> str:
    """Return a label for reading; a missing value has a word of its own."""
    return "(missing)" if label is None else label


def branch_lines(nodes: dict[str | None, Any], most: int) -> list[str]:
    """Return the lines that draw what is below a label, with at most ``most`` children of each."""
    lines = []
    hidden = max(0, len(nodes) - most)
    visible = list(nodes.items())[: len(nodes) - hidden]
    for position, (label, below) in enumerate(visible, start=1):
        is_last = position == len(visible) and not hidden
        lines.append(f"{'└' if is_last else '├'}── {label_text(label)}")
        lines += [f"{' ' if is_last else '│'}   {line}" for line in branch_lines(below, most)]
    return lines + [f"└── … {hidden} more"] * bool(hidden)
