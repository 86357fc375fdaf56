"""Benchmarks: how fast the exact search is, beside ARX and the packages of PyPI; ``python -m benchmarks``."""
