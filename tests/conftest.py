"""What all tests share: the helpers in this folder can be imported, and hypothesis is steady in CI."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

SHARED = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("local", max_examples=50, **SHARED)
settings.register_profile("ci", max_examples=50, derandomize=True, database=None, print_blob=True, **SHARED)
settings.register_profile("thorough", max_examples=1000, **SHARED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") == "true" else "local"))
