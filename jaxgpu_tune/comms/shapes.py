"""The numbers that kernels and staging are made of: what a message of a size needs, and which kernel serves it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["GRID", "Shape", "one_shot_bytes"]

VECTOR = 16
"""Bytes that a thread moves at a time."""

GRID = 64
"""Blocks of each launch, whatever its size, since each keeps its own count of the calls. All fit on a GPU at once."""

CONTROL = 4
"""32-bit words of a block's control, as in kernels.cu."""

SLOTS = 3

ONE_SHOT_BYTES = {2: 1 << 62, 4: 512 << 10, 8: 256 << 10}
"""By ranks, up to which size every rank sends its whole message to each other. With two, two steps would move as much.
Four and eight: by the bytes that each way moves, not measured."""


def one_shot_bytes(world: int) -> int:
    """The largest message, in bytes, that goes in one step."""
    return ONE_SHOT_BYTES[world]


class Shape(NamedTuple):
    """A communicator's fixed sizes. ``max_bytes``: of the largest message of a rank."""

    world: int
    max_bytes: int

    @property
    def region(self) -> int:
        """Vectors that a rank may write into each slot of another: a whole message, or two chunks of one."""
        vectors = self.max_bytes // VECTOR
        return max(min(vectors, one_shot_bytes(self.world) // VECTOR), 2 * -(-vectors // self.world))

    @property
    def control_words(self) -> int:
        return CONTROL * GRID

    @property
    def staging_words(self) -> int:
        """32-bit words of a rank's staging."""
        return self.control_words + SLOTS * self.world * self.region * VECTOR // 4
