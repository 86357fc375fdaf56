"""Attacks that guess, and how often they are right."""
