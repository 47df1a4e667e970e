"""The GPUs that this process may use: no CUDA context, no child process, and never an exception.

NVML is asked (``nvml``), where the kernel shows an NVIDIA device.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .nvml_answer import NvmlAnswer

__all__ = ["find_gpus", "has_device_node"]

NODES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")
"""One of these exists wherever an NVIDIA GPU can be used; /dev/dxg is WSL's."""


def has_device_node() -> bool:
    """Whether the kernel shows an NVIDIA device; without one NVML is not touched, which saves its start."""
    return any(map(os.path.exists, NODES))


def find_gpus(environ: Mapping[str, str], nvml: Any = None) -> NvmlAnswer:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves to this process, in CUDA's order. ``nvml``: another NVML to ask."""
    if nvml is None and not has_device_node():
        return NvmlAnswer(())
    from .nvml import asked

    return asked(nvml, environ)
