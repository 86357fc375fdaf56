"""The recount of a release, and the proof against its original."""
