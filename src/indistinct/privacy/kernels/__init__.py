"""Compiled loops that judge the sensitive values of groups."""
