"""Commands that make, check and keep releases."""
