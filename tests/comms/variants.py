"""Variants of the kernels, as macros of their source."""

from __future__ import annotations

COMMON = {"GRID": 64, "REGION": 1 << 16, "TIMEOUT_NS": "1000ull"}
KERNELS: dict[str, dict[str, object]] = {
    "one-shot": {"ONE_SHOT": True, "VECTORS": 512, "THREADS": 64},
    "two-shot": {"TWO_SHOT": True, "VECTORS": 65535, "THREADS": 512},
    "fused": {"FUSED": True, "ROWS": 8, "WIDTH": 512, "THREADS": 512, "EPS": "1e-06f"},
    "fused, wide, gamma in float32": {
        "FUSED": True,
        "ROWS": 200,
        "WIDTH": 4095,
        "THREADS": 1024,
        "EPS": "1e-06f",
        "GAMMA_F32": True,
    },
}


def defines(element: str, world: int, kernel: str) -> dict[str, object]:
    """The macros of one variant."""
    return {f"ELEMENT_{element}": True, "WORLD": world, **COMMON, **KERNELS[kernel]}
