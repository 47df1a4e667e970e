"""Sizes: what a message needs of the memory that peers write into."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

from jaxgpu_tune.comms.choice import against_rows, kernel_for
from jaxgpu_tune.comms.shapes import Shape


@pytest.mark.parametrize("world", [2, 4, 8])
@pytest.mark.parametrize("max_bytes", [16, 4096, 1 << 18, 1 << 20, (1 << 20) + 16, 1 << 24])
def test_every_message_fits_its_region(world: int, max_bytes: int) -> None:
    """Whatever the kernel, at every size from one vector to max_bytes, near the powers of two."""
    region = Shape(world, max_bytes).region
    near = {max(16, min(max_bytes, (1 << power) + 16 * step)) for power in range(4, 25) for step in (-1, 0, 1)}
    for size in {*near, max_bytes}:
        vectors = size // 16
        assert (2 * -(-vectors // world) if kernel_for(size, world) == "two-shot" else vectors) <= region, size
        if not against_rows((vectors, 8), jnp.bfloat16, jnp.bfloat16, world):
            assert vectors <= region, f"fused, {size}"
