"""Machine code that comes with the package, so that nobody waits for a compiler: used only where it is safe.

``scripts/compile_kernels.py`` makes it before a wheel is built, for every Linux on x86-64 whose processor is not older
than 2013 or so. Kernels are called in a way of our own and ask nobody but the C library, so their code depends neither
on numba nor on Python. Where it does not fit, or its kernels were changed since, it is as if it were not there.
"""

from __future__ import annotations

import os
from functools import cache
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).parent / "compiled"
PROCESSOR = "x86-64-v3"
FEATURES = [
    "avx",
    "avx2",
    "bmi",
    "bmi2",
    "cx16",
    "f16c",
    "fma",
    "lzcnt",
    "movbe",
    "popcnt",
    "sahf",
    "sse3",
    "sse4.1",
    "sse4.2",
    "ssse3",
    "xsave",
]
"""What such a processor can do beyond the first ones of 64 bits."""
COMPILE = "INDISTINCT_COMPILE"
"""Where this is set, kernels are compiled here, for this very processor."""
CONVENTION = 1
"""Raised when kernels are called in another way than before."""


def shipped_path(name: str, kind_text: str) -> Path:
    """Return where the code of a kernel lies for arguments of some types."""
    return FOLDER / f"{name}-{sha256(kind_text.encode()).hexdigest()[:16]}.code"


@cache
def shipped_for(sources: str) -> str:
    """Return what shipped code depends on beside the types: the kernels' sources, and how they are called."""
    return sha256(repr((sources, PROCESSOR, CONVENTION)).encode()).hexdigest()


@cache
def is_served() -> bool:
    """Return whether there is some, this processor can do all that it asks for, and nobody wants to compile."""
    if os.environ.get(COMPILE) or not FOLDER.is_dir():
        return False
    from llvmlite import binding

    try:
        can = binding.get_host_cpu_features()
    except RuntimeError:  # of a processor of which LLVM knows nothing
        return False
    return all(can.get(feature, False) for feature in FEATURES)
