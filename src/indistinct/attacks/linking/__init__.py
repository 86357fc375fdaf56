"""Linking a release with another table of people."""
