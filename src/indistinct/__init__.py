"""indistinct: releases of person-level tables in which nobody can be singled out, made, proved and remembered."""

from __future__ import annotations

__version__ = "0.1.0"
