"""What is asked of the CUDA driver, call by call, by a driver that stands in for it; and what is told where there is none."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pytest

from jaxgpu_tune.comms import cuda
from jaxgpu_tune.comms.cuda import CudaError


class Driver:
    """Two devices. ``calls``: in their order, each with the device whose context was current; ``answers``: other than 0, by name."""

    def __init__(self, **answers: int) -> None:
        self.answers = answers
        self.calls: list[tuple[str, object]] = []
        self.current: list[Any] = []
        self.joined = {2: 1, 3: 1}

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any) -> int:
            now = self.current[-1] if self.current else None
            if name not in ("cuDeviceGet", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuGetErrorName"):
                self.calls.append((name, now))
            if effect := EFFECTS.get(name):
                effect(self, *given)
            return self.answers.get(name, 0)

        return call

    def _device_get(self, handle: Any, ordinal: int) -> None:
        handle._obj.value = ordinal + 100

    def _device_primary_ctx_retain(self, context: Any, handle: Any) -> None:
        context._obj.value = handle.value + 1000

    def _ctx_push_current(self, context: Any) -> None:
        self.current.append(context.value - 1100)

    def _ctx_pop_current(self, _: Any) -> None:
        self.current.pop()

    def _mem_alloc(self, address: Any, size: Any) -> None:
        address._obj.value = 1 << 40 | size.value

    def _device_get_peer_attribute(self, value: Any, attribute: int, _one: int, _other: int) -> None:
        value._obj.value = self.joined[attribute]

    def _device_get_uuid(self, raw: Any, _handle: Any) -> None:
        raw[:] = range(16)

    def _ipc_get_mem_handle(self, handle: Any, address: Any) -> None:
        ctypes.memmove(handle, address.value.to_bytes(64, "little"), 64)

    def _ipc_open_mem_handle(self, address: Any, handle: Any, _flags: int) -> None:
        address._obj.value = int.from_bytes(ctypes.string_at(ctypes.byref(handle), 64), "little") + 1

    def _get_error_name(self, status: int, text: Any) -> None:
        text._obj.value = b"CUDA_ERROR_OUT_OF_MEMORY" if status == 2 else None


EFFECTS: dict[str, Any] = {
    "cuDeviceGet": Driver._device_get,
    "cuDevicePrimaryCtxRetain": Driver._device_primary_ctx_retain,
    "cuCtxPushCurrent_v2": Driver._ctx_push_current,
    "cuCtxPopCurrent_v2": Driver._ctx_pop_current,
    "cuMemAlloc_v2": Driver._mem_alloc,
    "cuDeviceGetP2PAttribute": Driver._device_get_peer_attribute,
    "cuDeviceGetUuid_v2": Driver._device_get_uuid,
    "cuIpcGetMemHandle": Driver._ipc_get_mem_handle,
    "cuIpcOpenMemHandle_v2": Driver._ipc_open_mem_handle,
    "cuGetErrorName": Driver._get_error_name,
}


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    cuda._primary.cache_clear()
    yield
    cuda._primary.cache_clear()


def driver(monkeypatch: pytest.MonkeyPatch, **answers: int) -> Driver:
    """In the place of the machine's."""
    found = Driver(**answers)
    monkeypatch.setattr(cuda, "_driver", lambda: found)
    return found


def test_memory_is_filled_before_anybody_may_write_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the device's own context; each peer is let at it in the peer's. A peer that was let before is no error."""
    stands = driver(monkeypatch, cuCtxEnablePeerAccess=cuda.PEER_ACCESS_ALREADY_ENABLED)
    assert cuda.allocate(0, 10, 0xFFFFFFF1, (1,)) == 1 << 40 | 40
    assert [call for call in stands.calls if call[0] != "cuDevicePrimaryCtxRetain"] == [
        ("cuMemAlloc_v2", 0),
        ("cuMemsetD32_v2", 0),
        ("cuCtxSynchronize", 0),
        ("cuCtxEnablePeerAccess", 1),
    ]
    assert stands.current == []


def test_what_fails_is_told_by_name_and_leaves_no_context_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    stands = driver(monkeypatch, cuMemAlloc_v2=2)
    with pytest.raises(CudaError, match=r"^cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY \(2\)$"):
        cuda.allocate(0, 10, 0, ())
    assert stands.current == []
    driver(monkeypatch, cuMemcpyHtoD_v2=999)
    with pytest.raises(CudaError, match=r"cuMemcpyHtoD_v2: unknown error \(999\)"):
        cuda.copy_to_device(1, 1 << 40, b"1234")


def test_only_nvlink_reaches_memory_with_native_atomics(monkeypatch: pytest.MonkeyPatch) -> None:
    stands = driver(monkeypatch)
    assert cuda.reaches_memory(0, 1) is True
    for attribute in (2, 3):
        stands.joined = {2: 1, 3: 1, attribute: 0}
        assert cuda.reaches_memory(0, 1) is False


def test_what_one_process_exports_another_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 bytes, zeros among them."""
    driver(monkeypatch)
    handle = cuda.exported(0, 0x7F00_0000_1000)
    assert len(handle) == cuda.HANDLE_BYTES and b"\0" in handle[:2]
    assert cuda.imported(1, handle) == 0x7F00_0000_1001


def test_a_uuid_is_written_as_nvml_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    driver(monkeypatch)
    assert cuda.uuid(0) == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"


def test_without_a_driver_that_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ctypes.CDLL:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(cuda.ctypes, "CDLL", missing)
    cuda._driver.cache_clear()
    with pytest.raises(CudaError, match=r"no CUDA driver: libcuda\.so\.1"):
        cuda.uuid(0)
    cuda._driver.cache_clear()


@pytest.mark.parametrize("status", [0, 100])
def test_a_driver_is_started_once_and_told_where_it_does_not_start(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    stands = Driver(cuInit=status)
    monkeypatch.setattr(cuda.ctypes, "CDLL", lambda _: stands)
    cuda._driver.cache_clear()
    if status:
        with pytest.raises(CudaError, match="cuInit: error 100"):
            cuda.uuid(0)
    else:
        assert [cuda.uuid(0).startswith("GPU-0001") for _ in range(2)] == [True, True]
    assert [name for name, _ in stands.calls].count("cuInit") == 1
    cuda._driver.cache_clear()
