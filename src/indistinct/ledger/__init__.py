"""The ledger: what was released, to whom, and what a next release may still say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indistinct.ledger.store.entry import Draft, Entry

if TYPE_CHECKING:
    from indistinct.ledger.ledger import Ledger

__all__ = ["Draft", "Entry", "Ledger"]


def __getattr__(name: str) -> Any:
    """Import the ledger itself when it is first asked for: it needs a database, which few runs do."""
    if name == "Ledger":
        from importlib import import_module

        return import_module("indistinct.ledger.ledger").Ledger
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
