"""Memory that peers write into: who reduces with whom, what each rank's addresses are, and which GPUs are apart."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from jaxgpu_tune.comms import cuda, nvlink, staging
from jaxgpu_tune.comms.shapes import Shape
from jaxgpu_tune.comms.staging import STATE_WORDS, Staging, empty_state, groups, spec_of, unjoined


def mesh_of(devices: list[Any], shape: tuple[int, ...], axes: tuple[str, ...]) -> Any:
    """As jax has it, of devices that are not there."""
    return SimpleNamespace(devices=np.array(devices, dtype=object).reshape(shape), axis_names=axes)


@dataclass(frozen=True)
class Device:
    """A GPU of a process."""

    id: int
    process_index: int
    local_hardware_id: int


def device(number: int, process: int = 0) -> Any:
    """The one of that number."""
    return Device(number, process, number)


@pytest.mark.parametrize(
    ("axis", "expected"),
    [("dp", [[0, 3], [1, 4], [2, 5]]), ("tp", [[0, 1, 2], [3, 4, 5]])],
)
def test_who_differs_along_the_axis_alone_reduces_together(axis: str, expected: list[list[int]]) -> None:
    mesh = mesh_of([device(number) for number in range(6)], (2, 3), ("dp", "tp"))
    assert [[one.id for one in group] for group in groups(mesh, axis)] == expected


def test_a_state_without_addresses_is_a_row_of_zeros_a_device() -> None:
    mesh = Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("dp", "tp"))
    state = empty_state(mesh)
    assert state.shape == (1, 1, STATE_WORDS) and state.dtype == np.uint32 and not np.asarray(state).any()
    assert spec_of(mesh) == P("dp", "tp") == state.sharding.spec


class Memory:
    """Stands for the driver: addresses by device, and what was written and opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cleared: list[tuple[int, int, int]] = []
        self.peers: dict[int, tuple[int, ...]] = {}
        for name in ("allocate", "copy_to_device", "exported", "imported"):
            monkeypatch.setattr(cuda, name, getattr(self, name))

    def allocate(self, ordinal: int, words: int, fill: int, peers: tuple[int, ...]) -> int:
        assert words == SHAPE.staging_words and fill == staging.EMPTY
        self.peers[ordinal] = peers
        return (ordinal + 1) << 33

    def copy_to_device(self, ordinal: int, address: int, words: bytes) -> None:
        assert not any(words)
        self.cleared.append((ordinal, address, len(words)))

    def exported(self, ordinal: int, _address: int) -> bytes:
        return bytes([ordinal]) * 4

    def imported(self, ordinal: int, handle: bytes) -> int:
        return handle[0] << 40 | ordinal


SHAPE = Shape(4, 1 << 12)


def test_each_rank_has_its_own_address_first_and_then_those_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes of two GPUs each: its own by their address, the other's by a handle; the control words are zero."""
    memory, rows = Memory(monkeypatch), {}
    monkeypatch.setattr(staging, "_sharded", lambda _, given: rows.update(given))
    mesh = mesh_of([device(0), device(1), device(2, 1), device(3, 1)], (4,), ("tp",))
    made = Staging(mesh, "tp", SHAPE)
    mine = json.loads(made.allocate())
    assert mine == {"0": "00000000", "1": "01010101"} and memory.peers == {0: (1,), 1: (0,)}
    assert memory.cleared == [(n, (n + 1) << 33, 4 * SHAPE.control_words) for n in (0, 1)]
    made.connect([json.dumps(mine), json.dumps({"2": "22222222", "3": "33333333"})])
    told = {one.id: row.view(np.uint64).tolist() for one, row in rows.items()}
    zero, one = 1 << 33, 2 << 33
    assert told[0][:4] == [zero, one, 0x22 << 40, 0x33 << 40] and told[0][8] == 0
    assert told[1][:4] == [one, 0x22 << 40 | 1, 0x33 << 40 | 1, zero] and told[1][8] == 1
    assert all(row[4:8] == [0] * 4 and len(row) == STATE_WORDS // 2 for row in told.values())


def test_gpus_that_are_apart_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a process by the driver, to another's by NVML; what neither can tell is a reason too."""
    mesh = mesh_of([device(0), device(1), device(2, 1)], (3,), ("tp",))
    exchange: Any = SimpleNamespace(heard=lambda mine: {0: mine, 1: json.dumps({"2": "GPU-2"})})
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(cuda, "uuid", lambda ordinal: f"GPU-{ordinal}")
    monkeypatch.setattr(cuda, "reaches_memory", lambda _one, _other: True)
    monkeypatch.setattr(nvlink, "joined_by_nvlink", lambda *pair: asked.append(pair) or True)
    assert unjoined(mesh, "tp", exchange) == "" and asked == [("GPU-0", "GPU-2"), ("GPU-1", "GPU-2")]
    monkeypatch.setattr(nvlink, "joined_by_nvlink", lambda one, _: one != "GPU-1")
    assert unjoined(mesh, "tp", exchange) == "GPUs 1 and 2 are not joined by NVLink"
    monkeypatch.setattr(cuda, "reaches_memory", lambda _one, _other: False)
    assert unjoined(mesh, "tp", exchange) == "GPUs 0 and 1 are not joined by NVLink"

    def refused(*_: object) -> bool:
        raise cuda.CudaError("cuDeviceGetP2PAttribute: no")

    monkeypatch.setattr(cuda, "reaches_memory", refused)
    assert unjoined(mesh, "tp", exchange) == "cuDeviceGetP2PAttribute: no"
    monkeypatch.setattr(cuda, "uuid", refused)
    assert unjoined(mesh, "tp", exchange) == "cuDeviceGetP2PAttribute: no"
