"""``AllReduce``: sums over a mesh axis for messages bound by latency, alone or with the addition and norm that follow."""

from __future__ import annotations

import math
from functools import cache, partial
from logging import getLogger
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, PartitionSpec

from . import launch
from .choice import against_facts, against_message, against_rows, kernel_for, mesh_facts
from .exchange import Exchange, Objection
from .ffi import load_launcher
from .launch import BACKENDS, Setup
from .self_test import try_kernels
from .shapes import Shape
from .staging import Staging, empty_state, spec_of, unjoined

__all__ = ["AllReduce"]

CHECKED = "shard_map takes the kernels' results for different on each rank: pass check_vma=False"


@jax.tree_util.register_pytree_node_class
class AllReduce:
    """All-reduce over one axis of a mesh, by a kernel that writes into the peers' memory, or by ``lax.psum`` where it cannot.

    Made once, outside ``jit``; then an argument of the jitted function and of ``shard_map``, with ``comm.spec``::

        comm = AllReduce(mesh, "tp")
        layer = shard_map(lambda comm, x: comm.psum(x), mesh=mesh, in_specs=(comm.spec, P()), out_specs=P(), check_vma=False)
        step = jax.jit(lambda comm, x: layer(comm, x))
        step(comm, x)

    ``max_bytes``: of the largest message of a rank that a kernel serves. ``timeout``: seconds after which a rank whose peer does
    not come ends with an error, which JAX raises; the process has to start again then. ``untested``: use the kernels on
    jaxlib releases, GPUs and numbers of ranks on which they were never run. ``backend``: by what the kernels are launched: "ptx", XLA's own call target
    for PTX, which needs nothing but is internal to XLA; or "ffi", its public FFI, for which a small library is built at first use
    by a C++ compiler of this machine. ``fence``: release and acquire fences in each call, so that PTX's memory model alone gives
    the order; without, it is also taken that a kernel's end has its stores in memory for peers, as was measured (docs/comms.md).
    Every process of the mesh makes the same communicators in the same order. Raises ValueError for wrong arguments, all at once,
    and in every process where one gives other arguments than another.
    """

    def __init__(
        self,
        mesh: Mesh,
        axis: str,
        max_bytes: int = 1 << 20,
        *,
        timeout: float = 60.0,
        untested: bool = False,
        backend: str = "ptx",
        fence: bool = False,
    ) -> None:
        _check(mesh, axis, max_bytes, timeout, backend, untested=untested, fence=fence)
        exchange = Exchange(mesh)
        exchange.agree(
            f"axis={axis!r}, max_bytes={max_bytes}, timeout={float(timeout)}, untested={untested}, backend={backend!r}, fence={fence}, "
            f"mesh={dict(mesh.shape)} of devices {[device.id for device in mesh.devices.flat]}"
        )
        objection = exchange.objection(against_facts(mesh_facts(mesh, axis, exchange), untested=untested))
        objection = objection or exchange.objection(unjoined(mesh, axis, exchange))
        architecture = "" if objection else mesh.local_devices[0].compute_capability.replace(".", "")
        self.spec: PartitionSpec = spec_of(mesh)
        shape = Shape(mesh.shape[axis], max_bytes)
        self._setup = Setup(axis, shape, architecture, int(timeout * 1e9), objection, backend=backend, fence=fence)
        self.state: jax.Array = empty_state(mesh)
        if not objection:
            self._start(mesh, exchange)

    def psum(self, x: jax.Array) -> jax.Array:
        """Inside ``shard_map``: what ``lax.psum(x, axis)`` of one array is, summed in float32 in the order of ranks and rounded once.

        Raises TypeError for a dict, a list or another tree of arrays.
        """
        self._check_inside()
        _check_arrays(x=x)
        x = jnp.asarray(x)
        if objection := self._objection(x):
            if objection == CHECKED:
                _warn_once(objection)
            return lax.psum(x, self._setup.axis)
        return _psum(self._setup, x, self.state)

    def psum_add_rmsnorm(
        self, x: jax.Array, residual: jax.Array, gamma: jax.Array, eps: float = 1e-6
    ) -> tuple[jax.Array, jax.Array]:
        """Inside ``shard_map``: ``h = psum(x) + residual`` and ``y = h / sqrt(mean(h**2) + eps) * gamma``, in one kernel.

        ``x``, ``residual``: (..., width), of one type; ``gamma``: (width,), of that type or float32. -> h and y, like x. The
        kernel rounds once, at the end, where separate operations round in between. ``eps`` is fixed when the program is traced.
        Raises TypeError for what is no array, ValueError where shapes do not fit, and for an ``eps`` below 0 or not finite.
        """
        self._check_inside()
        _check_arrays(x=x, residual=residual, gamma=gamma)
        eps = float(eps)  # the kernel holds it as a constant
        _check_rows(x, residual, gamma, eps)
        if self._objection(x) or against_rows(x.shape, x.dtype, gamma.dtype, self._setup.shape.world):
            return _added_and_normed(eps, self.psum(x), residual, gamma)
        return _add_rmsnorm(self._setup, eps, x, residual, gamma, self.state)

    def explain(self, x: Any = None, gamma: Any = None) -> str:
        """Which path is taken, and why: in general; for ``psum(x)``; or, with ``gamma``, for ``psum_add_rmsnorm(x, …, gamma)``.

        Both are arrays or ShapeDtypeStructs, as a rank sees them.
        """
        axis, shape, objection = self._setup.axis, self._setup.shape, self._setup.objection
        head = f"AllReduce over {axis!r}, {shape.world} ranks"
        objection = objection if x is None else self._objection(x)
        if objection:
            return f"{head}: lax.psum, since {objection}."
        head += "" if self._setup.backend == "ptx" else f", backend {self._setup.backend!r}"
        if x is None:
            return f"{head}: kernels for messages up to {shape.max_bytes} bytes, lax.psum above."
        size = x.size * x.dtype.itemsize
        apart = against_rows(x.shape, x.dtype, gamma.dtype, shape.world) if gamma is not None else ""
        kind = kernel_for(size, shape.world) if gamma is None or apart else "fused"
        told = f"{head}: the {kind} kernel for {size} bytes of {x.dtype}"
        return f"{told}, addition and norm apart, since {apart}." if apart else f"{told}."

    def tree_flatten(self) -> tuple[tuple[jax.Array], tuple[Setup, PartitionSpec]]:
        """The addresses are the array; the rest is fixed."""
        return (self.state,), (self._setup, self.spec)

    @classmethod
    def tree_unflatten(cls, fixed: tuple[Setup, PartitionSpec], arrays: tuple[jax.Array]) -> AllReduce:
        """What ``tree_flatten`` took apart."""
        made = object.__new__(cls)
        (made._setup, made.spec), (made.state,) = fixed, arrays
        return made

    def __copy__(self) -> AllReduce:
        return self

    def __deepcopy__(self, _: Any) -> AllReduce:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("an AllReduce holds addresses of this process's memory: make one in each process instead")

    def _objection(self, x: Any) -> str:
        """Why ``lax.psum`` is used for ``x`` (an array, a tracer or a ShapeDtypeStruct, as a rank sees it); empty for a kernel."""
        return (
            self._setup.objection
            or against_message(x.shape, x.dtype, self._setup.shape.max_bytes)
            or (CHECKED if self._setup.axis in _varying_axes(self.state) else "")
        )

    def _check_inside(self) -> None:
        """The state is this rank's alone, and of this mesh: another with the same devices would give ranks each other's memory."""
        axes = jax.sharding.get_abstract_mesh().axis_names if hasattr(jax.sharding, "get_abstract_mesh") else ()
        if self.state.size != self.state.shape[-1] or axes not in ((), tuple(self.spec)):
            raise ValueError(
                "the communicator was closed over, or used outside shard_map or over another mesh: pass it into shard_map"
                f" as an argument, with comm.spec among the in_specs, over the mesh that it was made for (axes: {', '.join(self.spec)})"
            )

    def _start(self, mesh: Mesh, exchange: Exchange) -> None:
        """Allocate, exchange addresses, and compare one program with ``lax.psum``; what fails in one process, all give up."""
        staging = Staging(mesh, self._setup.axis, self._setup.shape)
        try:
            if self._setup.backend == "ffi":
                exchange.all_do(load_launcher)
            told = exchange.heard(exchange.all_do(staging.allocate))
            self.state = exchange.all_do(staging.connect, told.values())
            exchange.all_do(try_kernels, self._setup, self.state, mesh)
        except Objection as objection:
            self._setup = self._setup._replace(objection=str(objection))
            _warn(str(objection))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _psum(setup: Setup, x: jax.Array, state: jax.Array) -> jax.Array:
    return launch.psum(setup, x, state)


def _psum_forward(setup: Setup, x: jax.Array, state: jax.Array) -> tuple[jax.Array, None]:
    return launch.psum(setup, x, state), None


def _psum_backward(setup: Setup, _: None, cotangent: jax.Array) -> tuple[jax.Array, None]:
    (transposed,) = jax.linear_transpose(lambda x: lax.psum(x, setup.axis), cotangent)(cotangent)
    return transposed, None


_psum.defvjp(_psum_forward, _psum_backward)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _add_rmsnorm(
    setup: Setup, eps: float, x: jax.Array, residual: jax.Array, gamma: jax.Array, state: jax.Array
) -> tuple[jax.Array, jax.Array]:
    return launch.add_rmsnorm(setup, eps, x, residual, gamma, state)


def _add_rmsnorm_forward(setup: Setup, eps: float, *operands: jax.Array) -> tuple[Any, Any]:
    return launch.add_rmsnorm(setup, eps, *operands), operands[:3]


def _add_rmsnorm_backward(setup: Setup, eps: float, operands: Any, cotangents: Any) -> tuple[Any, ...]:
    _, pull = jax.vjp(partial(_reference, setup.axis, eps), *operands)
    return (*pull(cotangents), None)


_add_rmsnorm.defvjp(_add_rmsnorm_forward, _add_rmsnorm_backward)


def _reference(
    axis: str, eps: float, x: jax.Array, residual: jax.Array, gamma: jax.Array
) -> tuple[jax.Array, jax.Array]:
    return _added_and_normed(eps, lax.psum(x, axis), residual, gamma)


def _added_and_normed(
    eps: float, total: jax.Array, residual: jax.Array, gamma: jax.Array
) -> tuple[jax.Array, jax.Array]:
    h = total + residual
    wide = h.astype(jnp.float32)
    normed = wide * lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + eps)
    return h, (normed * gamma).astype(h.dtype)


def _warn(objection: str) -> None:
    getLogger("jaxgpu_tune").warning("jaxgpu_tune: AllReduce uses lax.psum, since %s.", objection)


_warn_once = cache(_warn)


def _check(mesh: Any, axis: Any, max_bytes: Any, timeout: Any, backend: Any, **switches: Any) -> None:
    wrong = []
    if not isinstance(mesh, Mesh):
        wrong.append(f"mesh: {mesh!r}; allowed: a jax.sharding.Mesh")
    elif not mesh.local_devices:
        wrong.append(f"mesh: {mesh!r} has no device of this process; allowed: where it has, and not at all elsewhere")
    elif axis not in mesh.axis_names:
        wrong.append(f"axis: {axis!r} is none of the mesh's; allowed: {', '.join(map(repr, mesh.axis_names))}")
    if type(max_bytes) is not int or max_bytes < 16 or max_bytes % 16:
        wrong.append(f"max_bytes: {max_bytes!r}; allowed: an int, a positive multiple of 16, in bytes")
    if not isinstance(timeout, (int, float)) or not 0 < timeout <= 3600:
        wrong.append(f"timeout: {timeout!r}; allowed: a number of seconds, more than 0 and at most 3600")
    if backend not in tuple(BACKENDS):
        wrong.append(f"backend: {backend!r}; allowed: {', '.join(map(repr, BACKENDS))}")
    wrong += [f"{name}: {given!r}; allowed: True, False" for name, given in switches.items() if type(given) is not bool]
    if wrong:
        raise ValueError("; ".join(wrong))


def _check_arrays(**operands: Any) -> None:
    wrong = [name for name, x in operands.items() if not jax.tree_util.all_leaves([x]) or x is None]
    if wrong:
        given = ", ".join(f"{name} is a {type(operands[name]).__name__}" for name in wrong)
        raise TypeError(
            f"{given}: allowed is one array each; of a tree of arrays sum each by itself, with jax.tree.map"
        )


def _check_rows(x: jax.Array, residual: jax.Array, gamma: jax.Array, eps: float) -> None:
    wrong = []
    if x.shape != residual.shape or x.dtype != residual.dtype or gamma.ndim != 1 or gamma.shape != x.shape[-1:]:
        given = (f"{n} {a.dtype}{list(a.shape)}" for n, a in (("x", x), ("residual", residual), ("gamma", gamma)))
        wrong.append(f"{', '.join(given)}: x and residual must be alike, gamma as long as their last dimension")
    if not 0 <= eps < math.inf:
        wrong.append(f"eps: {eps!r}; allowed: a number of at least 0")
    if wrong:
        raise ValueError("; ".join(wrong))


def _varying_axes(state: Any) -> frozenset[str]:
    """The axes over which shard_map knows the state to vary; none with check_vma=False. jax 0.11.2 has renamed the attribute."""
    kind = getattr(state, "aval", None)
    older: frozenset[str] = getattr(kind, "vma", None) or frozenset()
    return older or getattr(getattr(kind, "manual_axis_type", None), "varying", older)
