"""Held-out rows: what releases are judged by that these rows did not shape."""

from indistinct.pipeline.held_out.held_out_models import ModelUtility, algorithm_that_made, model_utility

__all__ = ["ModelUtility", "algorithm_that_made", "model_utility"]
