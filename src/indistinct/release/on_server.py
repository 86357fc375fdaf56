"""A release as a table of the server where its rows are: recounted there before anybody sees it, with its manifest."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from indistinct.release.manifest import FORMAT, Manifest

if TYPE_CHECKING:
    from indistinct.engine import Rows


def publish_parts(
    parts: Mapping[str, Rows], table: str, *, replace: bool, recount: Callable[[Mapping[str, Rows]], Manifest]
) -> tuple[dict[str, Rows], str]:
    """Write released rows to a table of their server, and return them as they are there, and the table.

    Of a release of two tables each gets its name behind that of the table: ``visits_quasi``, ``visits_sensitive``.
    """
    from indistinct.engine.sql.database_tables import place_beside, publish

    taken = {name: place_beside(rows, table) for name, rows in parts.items()}
    is_one = len(taken) == 1
    places = {
        name: place if is_one else type(place)(place.schema, f"{place.table}_{name}")
        for name, (_, place) in taken.items()
    }
    written = publish(
        {name: rows for name, (rows, _) in taken.items()},
        places,
        recount=lambda staged: recount(staged).text,
        may_go=lambda said: replace and manifest_in(said) is not None,
    )
    return dict(written), str(next(iter(taken.values()))[1])


def manifest_in(said: str | None) -> Manifest | None:
    """Return the manifest that is said of a table of a server, if one is."""
    with suppress(ValueError, TypeError, RecursionError):
        if said is not None and json.loads(said).get("format") == FORMAT:
            return Manifest.model_validate_json(said)
    return None
