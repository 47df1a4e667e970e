"""CUDA libraries that the loader finds before those that pip installed."""

from __future__ import annotations

import os
from collections.abc import Mapping

__all__ = ["cuda_folders"]

CUDA_LIBRARIES = ("libcudart.so", "libcublas.so", "libcudnn.so", "libnccl.so", "libcupti.so", "libnvJitLink.so")
PIPS_OWN = os.path.join("-packages", "nvidia", "")


def cuda_folders(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The folders of LD_LIBRARY_PATH that hold CUDA, other than pip's own."""
    named = dict.fromkeys(environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    return tuple(folder for folder in named if folder and PIPS_OWN not in folder and _has_cuda(folder))


def _has_cuda(folder: str) -> bool:
    try:
        return any(entry.startswith(CUDA_LIBRARIES) for entry in os.listdir(folder))
    except OSError:
        return False
