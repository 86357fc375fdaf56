"""Hierarchies of known codes: places, diagnoses, classifications."""
