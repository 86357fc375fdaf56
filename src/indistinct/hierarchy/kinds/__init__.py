"""Kinds of hierarchies: listed values, numbers, dates, texts."""
