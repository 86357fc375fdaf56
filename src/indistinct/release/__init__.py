"""A release in its maker's hands: its tables, its facts, its verdict, and how it is written."""

from indistinct.lazy import names_of_stub

__all__, __dir__, __getattr__ = names_of_stub(__name__, __file__)
