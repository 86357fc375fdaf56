"""Risks: what a table tells about its people before anything is done to it; one file per question."""

from indistinct.study.risk.risk_report import Risk, risk

__all__ = ["Risk", "risk"]
