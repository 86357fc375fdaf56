"""The pages of the studio by their address, one module each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from indistinct.studio.pages import (
    attack,
    columns,
    comparison,
    context,
    download,
    hierarchies,
    ledger,
    privacy,
    release,
    table,
    trade_off,
)
from indistinct.studio.work import Work

Page = Callable[[Work, Mapping[str, str]], None]

PAGES: dict[str, Page] = {
    "/": table.page,
    "/columns": columns.page,
    "/hierarchies": hierarchies.page,
    "/privacy": privacy.page,
    "/context": context.page,
    "/release": release.page,
    "/trade-off": trade_off.page,
    "/compare": comparison.page,
    "/attack": attack.page,
    "/ledger": ledger.page,
    "/download": download.page,
}
