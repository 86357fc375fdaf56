"""Commands before the first release, and around all of them."""
