"""First policies: what a profile suggests, the questions that matter most, tables that belong
together, and tables of known forms.

The names are listed in ``__init__.pyi`` and loaded when they are first asked for.
"""

from indistinct.lazy import names_of_stub

__all__, __dir__, __getattr__ = names_of_stub(__name__, __file__)
