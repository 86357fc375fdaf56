"""Numba functions of arrays only: no project imports, no tables, no policies."""
