"""Let a program import what it needs and come as far as its first device, and no further until it is told to go.

So a run can start while another one is measured: it has touched no GPU, holds none of its memory, and sleeps.
"""

from __future__ import annotations

import os
import time
from typing import Any

__all__ = ["CUDA", "GO", "HELD", "hold"]

GO, HELD, CUDA = "go", "held-", "cuda"
LOOK = 0.02
LOST = 75
"""Exit code of a program that nobody can tell to go any more (EX_TEMPFAIL of sysexits.h)."""


def hold(folder: str, parent: int) -> None:
    """Wait where jax starts its first backend, until ``folder`` holds the file ``go``; end if the process ``parent`` is gone."""
    from jax._src import xla_bridge

    bridge: Any = xla_bridge
    begin = bridge._init_backend  # noqa: SLF001 - the one place that every way to a device goes through, in jax 0.4.26 to 0.12

    def held(platform: str) -> Any:
        bridge._init_backend = begin  # noqa: SLF001
        _wait(folder, parent)
        return begin(platform)

    bridge._init_backend = held  # noqa: SLF001


def _wait(folder: str, parent: int) -> None:
    go = os.path.join(folder, GO)
    if not os.path.exists(go):
        with open(os.path.join(folder, f"{HELD}{os.getpid()}"), "w", encoding="utf-8") as file:
            file.write(CUDA if _uses_cuda() else "")
    while not os.path.exists(go):
        if not _lives(parent):
            os._exit(LOST)
        time.sleep(LOOK)


def _uses_cuda() -> bool:
    """Whether another library of this process has a GPU in use already (Linux)."""
    try:
        opened = [os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
    except OSError:
        return False
    return any(path.startswith("/dev/nvidia-uvm") for path in opened)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
