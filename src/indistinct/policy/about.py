"""What a release is about, in its holder's words: which data, what for, for whom, and who decided."""

from __future__ import annotations

from collections.abc import Mapping

ABOUT = {
    "title": "What the release is called, in catalogues of data.",
    "data": "What the table holds, of whom, from when and where.",
    "purpose": "What the release is for.",
    "recipient": "Who gets it; 'public' if everybody does.",
    "decided_by": "Who decided that it may leave, and when.",
    "creator": "The organization that made the release.",
    "license": "Under which licence it may be used: best the address of its text.",
}
"""What may be said. It is for reports and manifests, and no part of what a release must satisfy."""


def about_mistakes(about: object) -> list[str]:
    """List what is wrong with what was said.

    >>> about_mistakes({"purpose": "a study", "who": "me"})
    ['about.who: is not known here; say title, data, purpose, recipient, decided_by, creator, license']
    """
    if not isinstance(about, Mapping):
        return [f"about: must give texts for {', '.join(ABOUT)}, got {type(about).__name__}"]
    mistakes = [f"about.{name}: is not known here; say {', '.join(ABOUT)}" for name in about if name not in ABOUT]
    return mistakes + [
        f"about.{name}: must be a text, got {type(text).__name__}"
        for name, text in about.items()
        if name in ABOUT and not isinstance(text, str)
    ]
