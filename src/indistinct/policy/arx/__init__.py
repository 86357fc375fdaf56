"""Projects of ARX as policies."""
