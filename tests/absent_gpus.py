"""Compiling for GPUs that are not there, in tests: skipped where the compiler is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import absent_gpus


def toolkit() -> Path:
    """The folder of ptxas and libdevice."""
    found = absent_gpus.toolkit()
    if found is None:
        pytest.skip(absent_gpus.MISSING)
    return found
