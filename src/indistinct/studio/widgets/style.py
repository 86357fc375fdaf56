"""The look of the studio: one accent, a palette that colour-blind people can tell apart, contrast of WCAG AA."""

from __future__ import annotations

from importlib.resources import files

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b5b5b")
"""After Okabe and Ito, Color Universal Design, 2008."""
RAMP = ("#fde8d2", "#f6c89f", "#c9c3d6", "#8fb4d9", "#4f8fc4", "#0b5c99")
"""From much lost to little lost; it grows darker as well, so that no hue is needed to read it."""

CSS = (files(__package__) / "page.css").read_text("utf-8")
SCRIPT = (files(__package__) / "page.js").read_text("utf-8")
