"""page_templates(): the HTML templates of a room, in which every text is escaped and no name may be missing."""

from __future__ import annotations

from importlib.resources import files
from typing import Any


def page_templates(package: str) -> Any:
    """Return the Jinja environment of the templates that lie in a package."""
    import jinja2

    here = files(package)
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (here / name).read_text("utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
