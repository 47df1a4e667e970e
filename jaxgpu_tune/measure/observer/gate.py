"""What happens where a program comes to its first device: it is held there until it is told to go, say.

So a run can start while another one is measured: it has imported what it needs, touched no GPU, holds none of its memory, and sleeps.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

__all__ = ["CUDA", "GO", "HELD", "before_devices", "hold"]

GO, HELD, CUDA = "go", "held-", "cuda"
LOOK = 0.02
LOST = 75
"""Exit code of a program that nobody can tell to go any more (EX_TEMPFAIL of sysexits.h)."""


def before_devices(act: Callable[[], None]) -> None:
    """Act where jax starts its first backend, once."""
    from jax._src import xla_bridge

    bridge: Any = xla_bridge
    begin = bridge._init_backend  # noqa: SLF001 - the one place that every way to a device goes through, in jax 0.4.18 to 0.12

    def starts(platform: str) -> Any:
        bridge._init_backend = begin  # noqa: SLF001
        act()
        return begin(platform)

    bridge._init_backend = starts  # noqa: SLF001


def hold(folder: str, parent: int) -> None:
    """Wait at the first device, until ``folder`` holds the file ``go``; end if the process ``parent`` is gone."""
    before_devices(lambda: _wait(folder, parent))


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
