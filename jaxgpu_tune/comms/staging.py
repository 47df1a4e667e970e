"""Each rank's memory that its peers write into, and the addresses that a kernel needs, as an array of JAX."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from . import cuda, nvlink
from .exchange import Exchange
from .shapes import Shape

__all__ = ["Staging", "empty_state", "spec_of", "unjoined"]

EMPTY = 0xFFFFFFF1
"""As in kernels.cu."""

STATE_WORDS = 32
"""32-bit words of a rank's state: eight addresses, its own first and then those of the ranks after it, and its rank."""


def spec_of(mesh: Mesh) -> PartitionSpec:
    """How the state is split: one row a device."""
    return PartitionSpec(*mesh.axis_names)


def groups(mesh: Mesh, axis: str) -> Iterator[tuple[jax.Device, ...]]:
    """The devices that reduce together, each group in the order of ranks."""
    along = np.moveaxis(mesh.devices, mesh.axis_names.index(axis), -1)
    yield from (tuple(group) for group in along.reshape(-1, along.shape[-1]))


def empty_state(mesh: Mesh) -> jax.Array:
    """A state without addresses, for meshes where nothing but ``lax.psum`` is used."""
    return _sharded(mesh, {device: np.zeros(STATE_WORDS, np.uint32) for device in _local(mesh)})


class Staging:
    """The memory of one communicator: that of this process's devices, and how to reach that of the others."""

    def __init__(self, mesh: Mesh, axis: str, shape: Shape) -> None:
        self._mesh, self._axis, self._shape = mesh, axis, shape
        self._own: dict[jax.Device, int] = {}

    def allocate(self) -> str:
        """Allocate this process's; what the other processes need to open it. Raises cuda.CudaError."""
        for group in groups(self._mesh, self._axis):
            for device in filter(is_local, group):
                self._own[device] = _allocated(device, group, self._shape)
        shared = any(not is_local(device) for device in self._mesh.devices.flat)
        return json.dumps(
            {d.id: cuda.exported(d.local_hardware_id, a).hex() for d, a in self._own.items()} if shared else {}
        )

    def connect(self, told: Iterable[str]) -> jax.Array:
        """All addresses, from what ``allocate`` returned in each process. Raises cuda.CudaError.

        -> uint32 array of shape ``(*mesh.devices.shape, STATE_WORDS)``, a row a device.
        """
        handles = {int(number): handle for text in told for number, handle in json.loads(text).items()}
        rows = {}
        for group in groups(self._mesh, self._axis):
            for rank, device in enumerate(group):
                if is_local(device):
                    after = [group[(rank + step) % len(group)] for step in range(len(group))]
                    rows[device] = _row([self._own.get(d) or _opened(device, handles[d.id]) for d in after], rank)
        return _sharded(self._mesh, rows)


def unjoined(mesh: Mesh, axis: str, exchange: Exchange) -> str:
    """Which GPUs of a group are not joined by NVLink; empty if all are. A reason, too, where it cannot be learned."""
    try:
        mine = {device.id: cuda.uuid(device.local_hardware_id) for device in mesh.devices.flat if is_local(device)}
    except cuda.CudaError as failed:
        return str(failed)
    said = exchange.heard(json.dumps(mine)).values()
    uuids = {int(number): uuid for text in said for number, uuid in json.loads(text).items()}
    for group in groups(mesh, axis):
        for one, other in itertools.permutations(group, 2):
            if is_local(one) and (reason := _apart(one, other, uuids)):
                return reason
    return ""


def _apart(one: jax.Device, other: jax.Device, uuids: dict[int, str]) -> str:
    try:
        if is_local(other):
            joined = cuda.reaches_memory(one.local_hardware_id, other.local_hardware_id)
        else:
            joined = nvlink.joined_by_nvlink(uuids[one.id], uuids[other.id])
    except (cuda.CudaError, nvlink.NvmlError) as failed:
        return str(failed)
    return "" if joined else f"GPUs {one.id} and {other.id} are not joined by NVLink"


def _opened(device: jax.Device, handle: str) -> int:
    return cuda.imported(device.local_hardware_id, bytes.fromhex(handle))


def _allocated(device: jax.Device, group: Sequence[jax.Device], shape: Shape) -> int:
    ordinal = device.local_hardware_id
    peers = tuple(peer.local_hardware_id for peer in group if is_local(peer) and peer != device)
    address = cuda.allocate(ordinal, shape.staging_words, EMPTY, peers)
    cuda.copy_to_device(ordinal, address, bytes(4 * shape.control_words))
    return address


def _row(addresses: Sequence[int], rank: int) -> np.ndarray:
    row = np.zeros(STATE_WORDS // 2, np.uint64)
    row[: len(addresses)] = addresses
    row[8] = rank
    return row.view(np.uint32)


def _sharded(mesh: Mesh, rows: dict[jax.Device, np.ndarray]) -> jax.Array:
    shape = (*mesh.devices.shape, STATE_WORDS)
    one = (1,) * mesh.devices.ndim
    shards = [jax.device_put(row.reshape(*one, STATE_WORDS), device) for device, row in rows.items()]
    return jax.make_array_from_single_device_arrays(shape, NamedSharding(mesh, spec_of(mesh)), shards)


def _local(mesh: Mesh) -> list[jax.Device]:
    return [device for device in mesh.devices.flat if is_local(device)]


def is_local(device: jax.Device) -> bool:
    """Whether a device is one of this process's."""
    return device.process_index == jax.process_index()
