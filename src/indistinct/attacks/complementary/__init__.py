"""Joining several releases of the same people."""
