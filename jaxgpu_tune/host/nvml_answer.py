"""What NVML tells, as a value."""

from __future__ import annotations

from ..model import Gpu
from ..values import Value

__all__ = ["NvmlAnswer"]


class NvmlAnswer(Value):
    """What NVML said: the GPUs this process may use (None: it could not be asked), the driver and its newest CUDA."""

    gpus: tuple[Gpu, ...] | None
    driver: str | None = None
    cuda_driver: str | None = None
