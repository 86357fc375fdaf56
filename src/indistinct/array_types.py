"""The arrays that kernels take, by what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
IntArray = NDArray[np.int64]
UIntArray = NDArray[np.uint64]
FloatArray = NDArray[np.float64]
