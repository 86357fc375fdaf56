"""Compiled loops of m-invariance."""
