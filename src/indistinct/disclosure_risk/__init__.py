"""Risks: what a table tells about its people before anything is done to it; one file per question."""

from indistinct.disclosure_risk.cell_unicity import Unicity, unicity
from indistinct.disclosure_risk.risk_report import Risk, risk
from indistinct.disclosure_risk.row_risk import RowRisk, explain_row

__all__ = ["Risk", "RowRisk", "Unicity", "explain_row", "risk", "unicity"]
