"""What lies around JAX on this host and can keep it from the GPU, and a trial start in a child process."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from ..planning.findings.diagnose import Started, Surroundings
from .cuda_folder import has_libdevice
from .gpus import has_device_node
from .observe import cuda_folders

__all__ = ["surroundings", "try_start"]

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - asked for its size, never written to
TRIAL = """
import jax
devices = jax.devices()
print("\\x01", devices[0].platform, len(devices))
"""
LAST_LINES = 3


def surroundings(environ: Mapping[str, str]) -> Surroundings:
    """What can be seen without loading anything."""
    return Surroundings(
        device_nodes=has_device_node(),
        shared_memory_bytes=_size(SHARED_MEMORY),
        cuda_folders=cuda_folders(environ),
        compiler_folder=next(filter(has_libdevice, map(environ.get, ("CUDA_HOME", "CONDA_PREFIX"))), None),
        ptxas_folder=_first_with("ptxas", environ.get("PATH", "")),
    )


def try_start(seconds: float) -> Started:
    """Let a child process start JAX's backend; it is ended after that many seconds."""
    import subprocess
    from time import monotonic

    start = monotonic()
    command = [sys.executable, "-c", TRIAL]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return Started(seconds=seconds, timed_out=True)
    told = [line.split() for line in done.stdout.splitlines() if line.startswith("\x01")]
    return Started(
        seconds=round(monotonic() - start, 1),
        platform=told[-1][1] if told else None,
        devices=int(told[-1][2]) if told else 0,
        status=done.returncode,
        said="\n".join([line for line in done.stderr.splitlines() if line.strip()][-LAST_LINES:]),
    )


def _first_with(program: str, path: str) -> str | None:
    """The first folder of a PATH that holds a program."""
    folders = (folder for folder in path.split(os.pathsep) if folder)
    return next((folder for folder in folders if os.access(os.path.join(folder, program), os.X_OK)), None)


def _size(path: str) -> int | None:
    try:
        found = os.statvfs(path)
    except (OSError, AttributeError):
        return None
    return found.f_frsize * found.f_blocks
