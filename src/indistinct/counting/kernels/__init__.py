"""Compiled loops that roll up and count rows and people."""
