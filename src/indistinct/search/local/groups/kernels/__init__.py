"""Compiled loops over groups of rows."""
