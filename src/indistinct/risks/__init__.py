"""Risks: what a table tells about its people before anything is done to it; one file per question."""

from indistinct.risks.report import Risk, risk

__all__ = ["Risk", "risk"]
