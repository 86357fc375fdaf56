"""NumPy, which loads when something of it is first asked for, and arrays by what they hold.

A policy is read without NumPy. Modules that are loaded with one take ``np`` from here; others import NumPy as usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indistinct.lazy import lazy_module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
    BoolArray = NDArray[np.bool_]
    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]
    UIntArray = NDArray[np.uint64]
else:
    np = lazy_module("numpy")
    Array = BoolArray = FloatArray = IntArray = UIntArray = Any

__all__ = ["Array", "BoolArray", "FloatArray", "IntArray", "UIntArray", "np"]
