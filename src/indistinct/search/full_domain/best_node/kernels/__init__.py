"""Compiled loops of the search for the best node."""
