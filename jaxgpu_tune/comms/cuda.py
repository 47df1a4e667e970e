"""What is asked of the CUDA driver itself: memory that peers may write, and how two GPUs are joined. By ctypes on libcuda."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

__all__ = ["HANDLE_BYTES", "CudaError", "allocate", "copy_to_device", "exported", "imported", "reaches_memory", "uuid"]

HANDLE_BYTES = 64
"""CU_IPC_HANDLE_SIZE."""

ACCESS_SUPPORTED, NATIVE_ATOMIC_SUPPORTED = 2, 3
"""CU_DEVICE_P2P_ATTRIBUTE_…; between GPUs, native atomics are what NVLink has and PCIe has not."""

LAZY_ENABLE_PEER_ACCESS = 1
PEER_ACCESS_ALREADY_ENABLED = 704


class CudaError(RuntimeError):
    """The driver is missing or refused; the message names the call and its error."""


class Handle(ctypes.Structure):
    """CUipcMemHandle: passed by value."""

    _fields_ = (("bytes", ctypes.c_char * HANDLE_BYTES),)


def reaches_memory(one: int, other: int) -> bool:
    """Whether two devices (CUDA ordinals of this process) reach each other's memory over NVLink. Raises CudaError."""
    return all(_p2p(attribute, one, other) for attribute in (ACCESS_SUPPORTED, NATIVE_ATOMIC_SUPPORTED))


def uuid(device: int) -> str:
    """The UUID of a device, as NVML writes it. Raises CudaError."""
    from uuid import UUID

    handle, raw = ctypes.c_int(), (ctypes.c_ubyte * 16)()
    _call("cuDeviceGet", ctypes.byref(handle), device)
    _call("cuDeviceGetUuid_v2", raw, handle)
    return f"GPU-{UUID(bytes=bytes(raw))}"


def allocate(device: int, words: int, fill: int, peers: tuple[int, ...]) -> int:
    """The address of ``words`` 32-bit words on a device, each holding ``fill``, that the ``peers`` of this process may write.

    It lives as long as the process: a program that is still running could write to it. Raises CudaError.
    """
    address = ctypes.c_uint64()
    with _context(device):
        _call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4 * words))
        _call("cuMemsetD32_v2", address, ctypes.c_uint(fill), ctypes.c_size_t(words))
        _call("cuCtxSynchronize")
    for peer in peers:
        with _context(peer):
            _call("cuCtxEnablePeerAccess", _primary(device), 0, allowed=(PEER_ACCESS_ALREADY_ENABLED,))
    return address.value


def copy_to_device(device: int, address: int, words: bytes) -> None:
    """Copy bytes to a device's memory, and wait. Raises CudaError."""
    with _context(device):
        _call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), words, ctypes.c_size_t(len(words)))
        _call("cuCtxSynchronize")


def exported(device: int, address: int) -> bytes:
    """The handle by which another process of this host opens an allocation. Raises CudaError."""
    handle = Handle()
    with _context(device):
        _call("cuIpcGetMemHandle", ctypes.byref(handle), ctypes.c_uint64(address))
    return ctypes.string_at(ctypes.byref(handle), HANDLE_BYTES)


def imported(device: int, handle: bytes) -> int:
    """The address, for a device of this process, of what another process exported. Raises CudaError."""
    address = ctypes.c_uint64()
    opened = Handle.from_buffer_copy(handle)
    with _context(device):
        _call("cuIpcOpenMemHandle_v2", ctypes.byref(address), opened, LAZY_ENABLE_PEER_ACCESS)
    return address.value


@contextmanager
def _context(device: int) -> Iterator[None]:
    """The primary context of a device, which is the one that XLA uses, as the current one."""
    _call("cuCtxPushCurrent_v2", _primary(device))
    try:
        yield
    finally:
        _call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))


@cache
def _primary(device: int) -> ctypes.c_void_p:
    context, handle = ctypes.c_void_p(), ctypes.c_int()
    _call("cuDeviceGet", ctypes.byref(handle), device)
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
    return context


def _p2p(attribute: int, one: int, other: int) -> bool:
    value = ctypes.c_int()
    _call("cuDeviceGetP2PAttribute", ctypes.byref(value), attribute, one, other)
    return bool(value.value)


def _call(name: str, *arguments: object, allowed: tuple[int, ...] = ()) -> None:
    status = getattr(_driver(), name)(*arguments)
    if status and status not in allowed:
        text = ctypes.c_char_p()
        _driver().cuGetErrorName(status, ctypes.byref(text))
        raise CudaError(f"{name}: {(text.value or b'unknown error').decode()} ({status})")


@cache
def _driver() -> ctypes.CDLL:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as missing:
        raise CudaError(f"no CUDA driver: {missing}") from None
    if status := driver.cuInit(0):
        raise CudaError(f"cuInit: error {status}")
    return driver
