"""Compiled loops of the search for histories: sets of labels, and which of them are dropped."""
