"""Compiled loops that several kinds of search share."""
