"""AllReduce: without NVIDIA GPUs it is lax.psum, the same numbers and derivatives on 2, 4 and 8 host devices; what it says, what it refuses."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

from jaxgpu_tune.comms import AllReduce, all_reduce
from jaxgpu_tune.comms.shapes import Shape
from tests.child import ROOT, told, told_warm
from tests.comms.lowering import GAMMA, X, calls, lowered

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


@pytest.mark.usefixtures("compiles_anew")
def test_checked_shard_maps_get_psum(caplog: pytest.LogCaptureFixture) -> None:
    """With check_vma=True the result of a kernel would pass for one that differs between ranks. Told once: it is easily forgotten."""
    all_reduce._warn_once.cache_clear()
    program = lowered(lambda comm, x: (comm.psum(x) + comm.psum(x + 1))[None], X, check_vma=True)
    assert calls(program) == [] and "stablehlo.all_reduce" in program
    assert len(caplog.messages) == 1 and "pass check_vma=False" in caplog.text


@pytest.mark.usefixtures("compiles_anew")
def test_the_derivative_is_that_of_psum() -> None:
    """The kernel forward, lax.psum's transpose backward."""
    loss = lambda x, comm, gamma: (comm.psum_add_rmsnorm(x, x, gamma)[1] ** 2).sum()  # noqa: E731
    program = lowered(lambda comm, x, gamma: jax.grad(loss)(x, comm, gamma), X, GAMMA)
    assert calls(program) == ["jaxgpu_tune_add_rmsnorm"] and "stablehlo.all_reduce" in program
    program = lowered(lambda comm, x: jax.grad(lambda x: (comm.psum(x) ** 2).sum())(x), X)
    assert calls(program) == ["jaxgpu_tune_all_reduce"] and "stablehlo.all_reduce" in program


@pytest.mark.usefixtures("compiles_anew")
def test_forward_mode_is_refused() -> None:
    """By JAX itself, with its own words."""
    with pytest.raises(TypeError, match="forward-mode"):
        lowered(lambda comm, x: jax.jvp(comm.psum, (x,), (x,))[1], X)


def mesh() -> Mesh:
    """Of the one device that is always there."""
    return Mesh(np.array(jax.devices()[:1]), ("tp",))


def test_explain_says_which_path_and_why() -> None:
    """Here it is lax.psum, since there is no GPU."""
    comm = AllReduce(mesh(), "tp")
    reason = "AllReduce over 'tp', 1 ranks: lax.psum, since the devices are cpu, not NVIDIA GPUs."
    assert comm.explain() == comm.explain(jax.ShapeDtypeStruct((8, 4096), jnp.bfloat16)) == reason


def test_explain_says_which_kernel() -> None:
    """And why a message goes by lax.psum though others do not."""
    comm = AllReduce(mesh(), "tp")
    comm._setup = comm._setup._replace(objection="", shape=Shape(4, 1 << 20))
    assert comm.explain().endswith("4 ranks: kernels for messages up to 1048576 bytes, lax.psum above.")
    told = {rows: comm.explain(jax.ShapeDtypeStruct((rows, 4096), jnp.bfloat16)) for rows in (8, 128, 256)}
    assert told[8].endswith("the one-shot kernel for 65536 bytes of bfloat16.")
    assert told[128].endswith("the two-shot kernel for 1048576 bytes of bfloat16.")
    assert told[256].endswith("lax.psum, since 2097152 bytes, more than max_bytes=1048576.")
    rows = [jax.ShapeDtypeStruct((rows, 4096), jnp.bfloat16) for rows in (8, 128, 256)]
    fused = [comm.explain(x, jnp.ones(4096)) for x in rows]
    assert fused[0].endswith("the fused kernel for 65536 bytes of bfloat16.")
    apart = "addition and norm apart, since 1048576 bytes go in two steps; the fused kernel is for up to"
    assert f"the two-shot kernel for 1048576 bytes of bfloat16, {apart}" in fused[1] and fused[2] == told[256]
    comm._setup = comm._setup._replace(backend="ffi")
    assert "4 ranks, backend 'ffi': kernels for" in comm.explain()


def test_wrong_arguments_are_told_all_at_once() -> None:
    """What was given and what is allowed, whatever its type."""
    with pytest.raises(
        ValueError,
        match=r"'dp' is none.*'tp'.*max_bytes: 100.*multiple of 16.*timeout: -1.*at most 3600.*backend: 'nccl'.*'ptx', 'ffi'",
    ):
        AllReduce(mesh(), "dp", 100, timeout=-1, backend="nccl")
    wrong: dict[str, Any] = {"timeout": "60", "backend": [], "fence": "no", "untested": 1, "max_bytes": 2.0**20}
    for given in ({"mesh": jax.devices(), "axis": "tp"}, {"mesh": mesh(), "axis": ["tp"]}):
        with pytest.raises(ValueError, match=r"^(mesh|axis): \[.*allowed: ") as raised:
            AllReduce(**given, **wrong)
        assert all(f"; {name}: {value!r}; allowed: " in str(raised.value) for name, value in wrong.items())


@pytest.mark.parametrize("shapes", [((8, 64), (8, 32), (64,)), ((8, 64), (8, 64), (8,)), ((), (), ())])
def test_rows_that_do_not_fit_are_refused(shapes: tuple[tuple[int, ...], ...]) -> None:
    """On every path alike."""
    with pytest.raises(ValueError, match="must be alike"):
        AllReduce(mesh(), "tp").psum_add_rmsnorm(*map(jnp.ones, shapes))


@pytest.mark.parametrize("eps", [-1e-6, float("nan"), float("inf")])
def test_an_eps_that_is_none_is_refused(eps: float) -> None:
    """On every path alike, and with what else is wrong."""
    x = jnp.ones((8, 64))
    with pytest.raises(ValueError, match=r"must be alike.*; eps: .*at least 0"):
        AllReduce(mesh(), "tp").psum_add_rmsnorm(x, x, x, eps)
