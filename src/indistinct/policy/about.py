"""What a release is about, in its holder's words: which data, what for, for whom, and who decided."""

from __future__ import annotations

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
