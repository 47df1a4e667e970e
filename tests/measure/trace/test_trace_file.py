"""Reading trace files: this library's own reader and JAX's tell the same, and what is no trace is told."""

from __future__ import annotations

import gzip
from pathlib import Path
from textwrap import dedent

import pytest

from jaxgpu_tune.measure.trace.trace_file import read_trace, trace_files
from tests.child import told
from tests.traces import ran, xspace

TRACED = """
    import sys
    import jax, jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    from jaxgpu_tune.measure.trace.hlo import collective_kind
    from jaxgpu_tune.measure.trace.trace_file import profile_data_events, read_trace, trace_files, wire_events
    from jaxgpu_tune.measure.trace.steps import host_calls
    from jaxgpu_tune.measure.trace.xspace import planes_of

    @jax.jit
    def train_step(w, x):
        y = jnp.tanh(x @ w)
        return w - 1e-3 * (x.T @ y), (y**2).mean()

    w = jax.device_put(jnp.ones((64, 64)), NamedSharding(Mesh(jax.devices(), ("x",)), P("x")))
    x = jnp.ones((32, 64))
    w, loss = train_step(w, x)
    loss.block_until_ready()
    with jax.profiler.trace(sys.argv[1]):
        for _ in range(5):
            w, loss = train_step(w, x)
            loss.block_until_ready()
    (file,) = trace_files(sys.argv[1])
    data = file.read_bytes()
    whole = read_trace(file)
    module = whole.modules["jit_train_step"].instructions
    sums = [one for one in module.values() if collective_kind(one.opcode)]
    products = [one for one in module.values() if "dot" in one.does and one.opcode == "dot"]
    own = list(wire_events(planes_of(data)))
    jaxs = list(profile_data_events(data)) if callable(getattr(jax.profiler, "ProfileData", None)) else own
    tell({
        "same": own == jaxs,
        "differ": [(repr(a), repr(b)) for a, b in zip(own, jaxs) if a != b][:3],
        "events": len(own),
        "calls": {name: len(found) for name, found in host_calls(whole).items()},
        "sums": [(one.opcode, one.operand_bytes, one.result_bytes) for one in sums],
        "products": sorted({(one.types, one.source.partition(":")[0]) for one in products}),
        "gpus": whole.gpus(),
        "memory": whole.modules["jit_train_step"].memory._asdict(),
    })
"""


def test_both_readers_tell_the_same_of_a_real_trace(tmp_path: Path) -> None:
    """Made here by JAX on two devices of the CPU (some releases have no reader of their own): events, calls counted once, and the program with its collectives and products."""
    found = told(dedent(TRACED), argv=(str(tmp_path),), JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="2")
    assert found["differ"] == [] and found["same"]
    assert found["events"] > 100
    assert found["calls"]["train_step"] == 5
    assert found["sums"] and all(taken > 0 and given > 0 for _, taken, given in found["sums"])
    assert found["products"] and all(types == ["f32", "f32"] for types, _ in found["products"])
    assert found["gpus"] == []
    assert found["memory"]["arguments"] == (32 * 64 + 64 * 64) * 4 // 2, "x and w, cut over two devices"
    assert found["memory"]["temporary"] > 0 and found["memory"]["largest"]


def test_a_zipped_file_is_read_alike(tmp_path: Path) -> None:
    """As traces are kept."""
    data = xspace([ran("dot", 0, 1)])
    (tmp_path / "one.xplane.pb").write_bytes(data)
    (tmp_path / "two.xplane.pb.gz").write_bytes(gzip.compress(data))
    one, two = (read_trace(path) for path in trace_files(tmp_path))
    assert one == two


@pytest.mark.parametrize(
    "data", [b"\x0a\xff\xff\xff\xff\x01abc", b"PK\x03\x04 this is a zip", b"\x0a\x05\x12\x03\xff\xfe\xfd"]
)
def test_what_is_no_trace_is_told(data: bytes) -> None:
    """Not an exception of the reader's own."""
    with pytest.raises(ValueError, match="no trace of JAX's profiler"):
        read_trace(data)
