"""Policies as TOML files."""
