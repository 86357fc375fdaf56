"""The ledger: what was released, to whom, and what a next release may still say."""

from __future__ import annotations

from indistinct.ledger.entry import Draft, Entry

__all__ = ["Draft", "Entry"]
