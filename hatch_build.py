"""The README as PyPI shows it: relative links and pictures lead to the repository, since PyPI has nothing beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "github.com/indistinct/indistinct"
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?://|#)(?P<place>[^)\s]+)\)")


def with_whole_links(text: str) -> str:
    """Give a page of which every link to a file of the repository is a whole address."""

    def whole(found: re.Match[str]) -> str:
        shown = "raw" if found["picture"] else "blob"
        return f"{found['picture']}[{found['text']}](https://{REPOSITORY}/{shown}/main/{found['place']})"

    return LINK.sub(whole, text)


class ReadmeHook(MetadataHookInterface):  # type: ignore[misc]
    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_whole_links(text)}
