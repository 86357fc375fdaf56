"""Compiled loops of Mondrian."""
