"""indistinct: releases of person-level tables in which nobody can be singled out, made, proved and remembered.

The public names are listed in ``__init__.pyi`` and loaded when they are first asked for.
"""

from indistinct.lazy import names_of_stub

__version__ = "0.1.0"

__all__, __dir__, __getattr__ = names_of_stub(__name__, __file__)
