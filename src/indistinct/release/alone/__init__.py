"""verify.py: a program on Python's standard library alone that a release may carry, made of the files here."""

from pathlib import Path

from indistinct.release.alone.records_alone import records_of as records_of

VERIFIER = "verify.py"
"""What the program is called that a release may carry, so that a recipient can recount it without this package."""
PROGRAM = ("recount", "people", "records", "rules")
"""The files that it is put together of: what it does, and what that asks of the others."""
PARTS = "# What stands in files of its own is put here."
"""Where in the first the others are put."""


def verifier_text() -> str:
    """Return the program that recounts a release without this package, which a release may carry as ``verify.py``."""
    program, *parts = (Path(__file__).with_name(f"{name}_alone.py").read_text("utf-8") for name in PROGRAM)
    bodies = [part.partition("from __future__ import annotations\n")[2].strip() for part in parts]
    own = "".join(line for line in program.splitlines(keepends=True) if not line.startswith("from indistinct."))
    return own.replace(PARTS, "\n\n\n".join(bodies))
