"""The studio: the whole way from a table to a release in a browser, on the steward's own machine."""
