"""What regulators, handbooks and offices ask to be written of a release: headings, and the facts that fill them."""

from __future__ import annotations

from indistinct.regimes.regime import HINTS, Heading, Regime, regimes, said_by_people, unsaid

__all__ = ["HINTS", "Heading", "Regime", "regimes", "said_by_people", "unsaid"]
