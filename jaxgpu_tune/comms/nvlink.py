"""What is asked of NVML: how two GPUs are joined of which this process may not see one."""

from __future__ import annotations

__all__ = ["NvmlError", "joined_by_nvlink"]


class NvmlError(RuntimeError):
    """NVML is missing or refused; the message is its own."""


def joined_by_nvlink(one: str, other: str) -> bool:
    """Whether two GPUs, by UUID, reach each other's memory over NVLink. Raises NvmlError."""
    import pynvml

    try:
        pynvml.nvmlInit()
        try:
            pair = [pynvml.nvmlDeviceGetHandleByUUID(uuid) for uuid in (one, other)]
            return bool(
                pynvml.nvmlDeviceGetP2PStatus(*pair, pynvml.NVML_P2P_CAPS_INDEX_NVLINK) == pynvml.NVML_P2P_STATUS_OK
            )
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError as failed:
        raise NvmlError(f"NVML: {failed}") from None
