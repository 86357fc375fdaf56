"""Labels that can be sharpened, since only some tables could be behind a release."""

from indistinct.attacks.sharpening.downcoding import Downcoding, downcoding
from indistinct.attacks.sharpening.downcoding_report import DowncodingReport
from indistinct.attacks.sharpening.refinement import Refinement, RefinementReport, refinement

__all__ = ["Downcoding", "DowncodingReport", "Refinement", "RefinementReport", "downcoding", "refinement"]
