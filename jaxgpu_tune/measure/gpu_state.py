"""Whether a GPU is busy with something else, or slowed down, asked of NVML: no CUDA context is made for it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from ..host.gpus import find_gpus
from ..host.nvml import ask, nvml_library
from ..model import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["GpuState"]

BUSY = 10
"""Percent of the last second in which a kernel ran, from which on a GPU that should be idle counts as busy."""
SLOWED = {
    0x08: "its hardware slows it down",
    0x20: "it is too warm (driver's limit)",
    0x40: "it is too warm (hardware's limit)",
    0x80: "its power supply brakes it",
}
"""NVML's nvmlClocksEventReasons that no program causes by itself; reaching the power cap (0x4) is usual."""
PATIENCE, LOOK = 5.0, 0.05
EVERY = 1.0
"""Seconds between two looks at what slows the GPUs."""
LITTLE = 64 * 2**20
"""Bytes by which free memory may differ from what was free at first."""


class GpuState:
    """Looks at the GPUs that ``environ`` leaves to a process. Without NVML, or without GPUs, it sees nothing."""

    def __init__(self, environ: Mapping[str, str], nvml: Any = None) -> None:
        self._nvml = nvml or nvml_library()
        self._handles = dict(self._open(environ)) if self._nvml else {}
        self._reasons: dict[int, int] = {}
        self._looked = float("-inf")
        self._free = self._memory()

    def wait_for_memory(self, patience: float = PATIENCE) -> None:
        """Until as much memory is free as at first, so that one run finds what the one before it had.

        If it does not come back in ``patience`` seconds, somebody else has it, and what is free then counts from now on.
        """
        end = time.monotonic() + patience
        while self._is_less() and time.monotonic() < end:
            time.sleep(LOOK)
        if self._is_less():
            self._free = self._memory()

    def busy(self) -> tuple[Finding, ...]:
        """To be asked while nothing of ours runs."""
        return tuple(
            _warning(
                "gpu-busy",
                f"GPU {index} is busy with something else: {used} % of the last second.",
                "Times vary with it; measure when the GPU is free (nvidia-smi shows who uses it).",
            )
            for index, handle in self._handles.items()
            if (used := self._used(handle)) >= BUSY
        )

    def look(self) -> None:
        """To be asked while a program runs, as often as one likes."""
        if (now := time.monotonic()) - self._looked < EVERY:
            return
        self._looked = now
        for index, handle in self._handles.items():
            self._reasons[index] = self._reasons.get(index, 0) | self._slowed(handle)

    def findings(self) -> tuple[Finding, ...]:
        """What slowed the GPUs while they were looked at."""
        return tuple(
            _warning(
                "gpu-throttled",
                f"GPU {index} did not run at full speed: {what}.",
                "Its times are not those of a healthy machine; compare again when it has cooled or is repaired.",
            )
            for index, reasons in self._reasons.items()
            for bit, what in SLOWED.items()
            if reasons & bit
        )

    def _open(self, environ: Mapping[str, str]) -> Iterator[tuple[int, Any]]:
        if ask(self._nvml, "nvmlInit", default=False) is False:
            return
        for gpu in find_gpus(environ).gpus or ():
            handle = ask(self._nvml, "nvmlDeviceGetHandleByUUID", (gpu.uuid or "").encode())
            if handle is not None:
                yield gpu.index, handle

    def _memory(self) -> dict[int, int]:
        """Bytes that are free, by GPU."""
        told = {index: ask(self._nvml, "nvmlDeviceGetMemoryInfo", handle) for index, handle in self._handles.items()}
        return {index: int(one.free) for index, one in told.items() if one is not None}

    def _is_less(self) -> bool:
        now = self._memory()
        return any(now.get(index, free) < free - LITTLE for index, free in self._free.items())

    def _used(self, handle: Any) -> int:
        rates = ask(self._nvml, "nvmlDeviceGetUtilizationRates", handle)
        return 0 if rates is None else int(rates.gpu)

    def _slowed(self, handle: Any) -> int:
        new = ask(self._nvml, "nvmlDeviceGetCurrentClocksEventReasons", handle)
        return int(
            ask(self._nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", handle, default=0) if new is None else new
        )


def _warning(code: str, message: str, hint: str) -> Finding:
    return Finding(code, "warning", message, hint)
