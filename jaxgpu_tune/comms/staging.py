"""Each rank's memory that its peers write into, and the addresses that a kernel needs, as an array of JAX."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from . import cuda
from .exchange import Exchange
from .shapes import Shape

__all__ = ["empty_state", "groups", "spec_of", "state_of", "unjoined"]

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


def state_of(mesh: Mesh, axis: str, shape: Shape, exchange: Exchange) -> jax.Array:
    """Allocate the staging of this process's devices, open that of the others, and return all addresses.

    -> uint32 array of shape ``(*mesh.devices.shape, STATE_WORDS)``, a row a device. Raises cuda.CudaError, and what the
    exchange raises.
    """
    own = {d: _allocated(d, group, shape) for group in groups(mesh, axis) for d in group if _is_local(d)}
    handles = _handles(own, exchange) if len({d.process_index for d in mesh.devices.flat}) > 1 else {}
    rows = {}
    for group in groups(mesh, axis):
        for rank, device in enumerate(group):
            if _is_local(device):
                after = [group[(rank + step) % len(group)] for step in range(len(group))]
                rows[device] = _row([own.get(peer) or _opened(device, handles[peer.id]) for peer in after], rank)
    return _sharded(mesh, rows)


def _handles(own: dict[jax.Device, int], exchange: Exchange) -> dict[int, str]:
    """The handle of every device's staging, in hexadecimal, by the device's id."""
    mine = {device.id: cuda.exported(device.local_hardware_id, address).hex() for device, address in own.items()}
    said = exchange.heard(json.dumps(mine))
    return {int(number): handle for text in said.values() for number, handle in json.loads(text).items()}


def _opened(device: jax.Device, handle: str) -> int:
    return cuda.imported(device.local_hardware_id, bytes.fromhex(handle))


def unjoined(group: Sequence[jax.Device]) -> str:
    """Why not every pair of this process's devices in a group is joined by NVLink; empty if all are. Raises cuda.CudaError."""
    local = [device for device in group if _is_local(device)]
    for one, other in itertools.permutations(local, 2):
        if not cuda.joined_by_nvlink(one.local_hardware_id, other.local_hardware_id):
            return f"GPUs {one.local_hardware_id} and {other.local_hardware_id} are not joined by NVLink"
    return ""


def _allocated(device: jax.Device, group: Sequence[jax.Device], shape: Shape) -> int:
    ordinal = device.local_hardware_id
    peers = tuple(peer.local_hardware_id for peer in group if _is_local(peer) and peer != device)
    address = cuda.allocate(ordinal, shape.staging_words, EMPTY, peers)
    cuda.write(ordinal, address, bytes(4 * shape.control_words))
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
    return [device for device in mesh.devices.flat if _is_local(device)]


def _is_local(device: jax.Device) -> bool:
    return device.process_index == jax.process_index()
