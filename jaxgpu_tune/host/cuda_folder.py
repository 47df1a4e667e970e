"""Whether a folder of this host holds what XLA compiles with."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..model import Finding, Machine
from ..planning.findings.compiler import from_wheels
from ..planning.settings.setting_names import DATA_DIR

__all__ = ["cuda_folder_findings", "has_libdevice"]

LIBDEVICE = os.path.join("nvvm", "libdevice")


def has_libdevice(folder: str | None) -> bool:
    """Whether what XLA compiles with lies below a folder."""
    return bool(folder) and os.path.isdir(os.path.join(str(folder), LIBDEVICE))


def cuda_folder_findings(folder: str | None, machine: Machine) -> Iterator[Finding]:
    """Why the folder that ``xla_gpu_cuda_data_dir`` names is of no use here, where XLA looks at it at all."""
    if not folder or not machine.gpus or from_wheels(machine) or has_libdevice(folder):
        return
    message = f"--{DATA_DIR}={folder}: no {LIBDEVICE} lies below it on this host, so XLA looks elsewhere for CUDA's compiler, and fails where there is none."
    hint = "Name the folder of a CUDA toolkit, such as /usr/local/cuda-12.4, or take the flag out."
    yield Finding("cuda-folder-empty", "warning", message, hint)
