"""What NCCL needs for XLA's own buffers: each thing that is missing is told, on several GPUs, and nothing that is unknown."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.planning.base.conditions import Facts
from jaxgpu_tune.planning.base.wish import Wish
from jaxgpu_tune.planning.findings.buffers import check_buffers
from jaxgpu_tune.planning.in_force import Settled
from tests.absent_gpus import toolkit
from tests.child import ROOT
from tests.child import told as told_by_a_child
from tests.fleet import machine

USER, NVLS = "xla_gpu_enable_nccl_user_buffers", "NCCL_NVLS_ENABLE"
SYMMETRIC = "xla_gpu_experimental_enable_nccl_symmetric_buffers"
COLLECTIVES = "xla_enable_nccl_symmetric_buffers_for_collectives"
POOL = "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB"
OFF = ("false", "0", "", "noop")
SWITCH = st.sampled_from(["true", "1", "false", "0"])
LIST = st.sampled_from(["allreduce", "all:1024", "", "noop"])


def told(values: dict[str, Any], capability: str | None, devices: int | None, **here: Any) -> dict[str, str]:
    """Code -> message."""
    wishes = [
        Wish("xla_flag" if name[0] == "x" else "env", name, it, "argument", "", "") for name, it in values.items()
    ]
    facts = Facts(compute_capabilities=None if capability is None else (capability,), devices=devices)
    found = list(check_buffers(Settled.of(wishes), machine(**here), facts))
    assert all(one.severity == "warning" and one.hint for one in found)
    return {one.code: one.message for one in found}


@given(
    st.fixed_dictionaries({}, optional={USER: SWITCH, SYMMETRIC: SWITCH, COLLECTIVES: LIST}),
    st.sampled_from([None, "8.9", "9.0", "10.0"]),
    st.sampled_from([None, 0, 1, 2, 8]),
    st.sampled_from([None, "2.18.5", "2.19", "2.26.9", "2.27"]),
    st.sampled_from(["0.10.9", "0.11.0"]),
    st.fixed_dictionaries({}, optional={POOL: st.sampled_from(["0", "512"]), NVLS: st.sampled_from(["0", "1"])}),
)
def test_each_thing_that_is_missing_is_told(
    values: dict[str, str], capability: Any, devices: Any, nccl: Any, jaxlib: str, more: dict[str, str]
) -> None:
    found = told({**values, **more}, capability, devices, nccl=nccl, jaxlib=jaxlib)
    on = {name for name, it in values.items() if it not in OFF} if (devices or 0) > 1 else set()
    user, symmetric = USER in on, on - {USER}
    assert ("buffers-without-pool" in found) is (user and jaxlib == "0.10.9" and more.get(POOL) != "512")
    assert ("nccl-too-old" in found) is (
        (user and nccl == "2.18.5") or (bool(symmetric) and nccl in ("2.18.5", "2.19", "2.26.9"))
    )
    asked = user or (more.get(NVLS) == "1" and (devices or 0) > 1)
    assert ("no-nvls" in found) is (asked and capability == "8.9")
    assert "have 8.9:" in found.get("no-nvls", "have 8.9:")


CODE = """
import jax, jax.numpy as jnp, numpy as np
from benchmarks.absent_gpus import devices
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(devices(2)), ("data",))
x = jax.ShapeDtypeStruct((1024, 1024), jnp.float32, sharding=NamedSharding(mesh, P("data")))
step = jax.jit(lambda x: 2 * x @ x, out_shardings=NamedSharding(mesh, P())).lower(x)
tell({value: "S(1)" in step.compile({"xla_gpu_enable_nccl_user_buffers": value == "on"}).as_text() for value in ("on", "off")})
"""


def test_the_compiled_text_marks_what_comes_from_the_pool() -> None:
    """As the hint of a pool that nothing has sized says (seen with jaxlib 0.10.2 and 0.11.2)."""
    flags = f"--xla_gpu_cuda_data_dir={toolkit()}"
    found = told_by_a_child(CODE, JAX_PLATFORMS="cpu", XLA_FLAGS=flags, JAXGPU_TUNE="off", PYTHONPATH=str(ROOT))
    assert found == {"on": True, "off": False}
