"""Algorithms that release quasi and sensitive columns in two tables."""
