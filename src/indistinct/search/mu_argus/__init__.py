"""µ-Argus: combinations that are rare, levels and cells that are suppressed."""
