"""Without NVIDIA GPUs, AllReduce is lax.psum: the same numbers and derivatives, on 2, 4 and 8 host devices."""

from __future__ import annotations

import re

import pytest

from tests.child import ROOT, told, told_warm

SETUP = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P
from jaxgpu_tune.comms import AllReduce

mesh = Mesh(np.array(jax.devices()), ("tp",))
comm = AllReduce(mesh, "tp")
random = np.random.default_rng(0)
x, residual = (jnp.asarray(random.standard_normal((mesh.size, 4, 64)), jnp.float32) for _ in range(2))
gamma = jnp.asarray(random.standard_normal(64), jnp.float32)

def mapped(body, *specs, out=P("tp"), **options):
    return jax.jit(jax.shard_map(body, mesh=mesh, in_specs=(comm.spec, *specs), out_specs=out, **options))

def normed(x, residual, gamma):
    h = lax.psum(x, "tp") + residual
    return h, h * lax.rsqrt(jnp.mean(h * h, axis=-1, keepdims=True) + 1e-6) * gamma
"""

SAME_SUMS = """
ours = mapped(lambda comm, x: comm.psum(x), P("tp"), out=P())(comm, x)
theirs = mapped(lambda _, x: lax.psum(x, "tp"), P("tp"), out=P())(comm, x)
h, y = mapped(lambda comm, *rows: comm.psum_add_rmsnorm(*rows), P("tp"), P(), P(), out=P())(comm, x, residual[:1], gamma)
right = mapped(lambda _, *rows: normed(*rows), P("tp"), P(), P(), out=P())(comm, x, residual[:1], gamma)
tell({"explained": comm.explain(), "sums": bool((ours == theirs).all()),
      "rows": bool((h == right[0]).all()) and float(jnp.abs(y - right[1]).max()) < 1e-5})
"""


def on(devices: int, code: str) -> object:
    """What ``code`` tells in a child with so many host devices."""
    flag = f"--xla_force_host_platform_device_count={devices}"
    return told(SETUP + code, JAX_PLATFORMS="cpu", XLA_FLAGS=flag)


@pytest.mark.parametrize("devices", [2, 4, 8])
def test_same_numbers(devices: int) -> None:
    """Bit for bit for the sum; for the norm up to how XLA fuses it. With shard_map's own checks left on."""
    reason = f"AllReduce over 'tp', {devices} ranks: lax.psum, since the devices are cpu, not NVIDIA GPUs."
    assert on(devices, SAME_SUMS) == {"explained": reason, "sums": True, "rows": True}


@pytest.mark.slow
def test_same_derivatives() -> None:
    """Through the sum and through the norm, with and without shard_map's checks; and by the rules for the kernels, which are stood in for."""
    code = """
def loss(sums, comm, x, residual, gamma):
    h, y = sums(comm, x, residual, gamma)
    return ((y - 1) ** 2).sum() + (h ** 3).sum()

def ours(comm, x, residual, gamma):
    return comm.psum_add_rmsnorm(x, residual, gamma)

def summed(comm, x, residual, gamma):
    h = comm.psum(x) + residual
    return h, h * lax.rsqrt(jnp.mean(h * h, axis=-1, keepdims=True) + 1e-6) * gamma

def gradients(sums, check):
    body = lambda comm, *rows: jax.tree.map(lambda g: g[None], jax.grad(loss, (2, 3, 4), allow_int=True)(sums, comm, *rows))
    return mapped(body, P("tp"), P("tp"), P(), check_vma=check)(comm, x, residual, gamma)

theirs = lambda comm, *rows: normed(*rows)
def far(check):
    return [float(jnp.abs(a - b).max() / jnp.abs(b).max())
            for sums in (ours, summed, lambda *given: jax.vmap(jax.checkpoint(ours), (None, 0, 0, None))(*given))
            for a, b in zip(gradients(sums, check), gradients(theirs, check), strict=True)]

without = far(True) + far(False)
from jaxgpu_tune.comms import all_reduce, launch
launched = []
def stands_in(name, operation):
    setattr(launch, name, lambda setup, *given: (launched.append(name), operation(setup.axis, *given[:-1]))[1])
stands_in("psum", lambda axis, x: lax.psum(x, axis))
stands_in("add_rmsnorm", all_reduce._reference)
comm._setup = comm._setup._replace(objection="")
tell([*without, *far(False), sorted(set(launched))])
"""
    *far, launched = on(2, code)  # type: ignore[misc]
    assert len(far) == 27 and max(far) < 1e-5 and launched == ["add_rmsnorm", "psum"]


REFUSED = {
    "closed over": "mapped(lambda _, x: comm.psum(x), P('tp'))",
    "closed over, a constant": "mapped(lambda _, x: comm.psum(np.ones(8)), P('tp'))",
    "outside shard_map": "jax.jit(lambda comm, x: comm.psum(x))",
    "as if it were the same on all ranks": "jax.jit(jax.shard_map(AllReduce.psum, mesh=mesh, in_specs=(P(), P('tp')), out_specs=P()))",
}


@pytest.mark.parametrize("program", REFUSED.values(), ids=REFUSED)
def test_a_communicator_whose_state_is_not_the_ranks_own_is_refused(program: str) -> None:
    """It must be an argument of shard_map, so that each rank gets its own addresses: the same on every platform."""
    code = f"""
try:
    ({program})(comm, x)
except ValueError as error:
    tell(str(error))
"""
    assert "closed over" in str(on(2, code))


@pytest.mark.parametrize("given", ["{'a': x}", "[x]", "(x, x)", "None"])
def test_a_tree_of_arrays_is_refused_by_name(given: str) -> None:
    """On the fallback too, which could sum it."""
    code = f"""
calls = "comm.psum({given})", "comm.psum_add_rmsnorm(x, {given}, gamma)", "comm.psum_add_rmsnorm({given}, residual, gamma)"
found = []
for call in calls:
    try:
        mapped(lambda comm, x, residual, gamma: eval(call, globals(), locals()), P("tp"), P("tp"), P())(comm, x, residual, gamma)
    except TypeError as error:
        found.append(str(error))
tell([*found, float(mapped(lambda comm: comm.psum(1.0), out=P())(comm))])
"""
    *refused, total = on(2, code)  # type: ignore[misc]
    assert total == 2 and [text.split()[0] for text in refused] == ["x", "residual", "x"]
    assert all("one array" in text for text in refused)


def test_a_mesh_whose_axes_are_named_in_another_order_is_refused() -> None:
    """JAX itself would move each rank's addresses to another device, and say nothing."""
    code = """
made, other = (Mesh(np.array(jax.devices()).reshape(2, 2), axes) for axes in (("dp", "tp"), ("tp", "dp")))
comm = AllReduce(made, "tp")
found = []
for mesh in (made, other):
    try:
        found.append(mapped(lambda comm, x: comm.psum(x), P("dp", "tp"), out=P("dp"))(comm, jnp.ones((2, 2))).tolist())
    except ValueError as error:
        found.append(str(error))
tell(found)
"""
    right, refused = on(4, code)  # type: ignore[misc]
    assert right == [[2.0], [2.0]] and "over another mesh" in refused and "dp, tp" in refused


def test_a_communicator_stays_in_its_process() -> None:
    """Copies are itself; pickled, its addresses would be another process's."""
    code = """
import copy, pickle
try:
    pickle.dumps(comm)
except TypeError as error:
    tell([copy.copy(comm) is comm, copy.deepcopy({"comm": comm})["comm"] is comm, str(error)])
"""
    same, deep, error = on(2, code)  # type: ignore[misc]
    assert same and deep and "in each process" in error


def test_an_axis_among_others() -> None:
    """The sum runs over the communicator's axis alone."""
    code = """
mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("dp", "tp"))
comm = AllReduce(mesh, "tp")
rows = jnp.arange(8.0).reshape(2, 4)
tell([comm.explain(), np.asarray(mapped(lambda comm, x: comm.psum(x), P("dp", "tp"), out=P("dp"))(comm, rows)).tolist()])
"""
    explained, sums = on(8, code)  # type: ignore[misc]
    assert "4 ranks" in explained and sums == [[6.0], [22.0]]


def test_the_page_about_it_shows_what_runs() -> None:
    """The program of docs/comms.md, with arrays of small size."""
    page = (ROOT / "docs" / "comms.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    arrays = """
import jax.numpy as jnp
x, residual, gamma, w = jnp.ones((2, 8)), jnp.ones((2, 4)), jnp.ones(4), jnp.ones((8, 4))
"""
    value = told_warm(
        arrays + program + "tell(h.tolist())", JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_force_host_platform_device_count=2"
    )
    assert value == [[9.0] * 4] * 2
