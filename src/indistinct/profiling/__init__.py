"""What a table looks like: roles and hierarchies of its columns, guessed with reasons.

The names are listed in ``__init__.pyi`` and loaded when they are first asked for. The words of names and values that
say what a column is, in seven languages, are data: ``words.toml``.
"""

from indistinct.lazy import names_of_stub

__all__, __dir__, __getattr__ = names_of_stub(__name__, __file__)
