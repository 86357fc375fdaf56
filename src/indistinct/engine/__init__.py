"""Rows live here, privacy does not: open a table of any kind and ask for dictionaries, counts and released rows.

The names are listed in ``__init__.pyi`` and loaded when they are first asked for, so that the plain data of
``engine.plans`` can be had without any engine.
"""

from indistinct.lazy import names_of_stub

__all__, __dir__, __getattr__ = names_of_stub(__name__, __file__)
