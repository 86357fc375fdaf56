"""Documents that people sign: facts of a release, once, and the views of them that regulators and offices ask for.

The names are listed in ``__init__.pyi`` and loaded when they are first asked for.
"""

from indistinct.lazy import names_of_stub

__all__, __dir__, __getattr__ = names_of_stub(__name__, __file__)
