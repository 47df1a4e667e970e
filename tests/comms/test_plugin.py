"""The real GPU compiler takes a decode step with the kernels, for two GPUs that are not there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from jaxgpu_tune.comms import launch
from jaxgpu_tune.comms.ffi import find_compiler
from tests.absent_gpus import toolkit
from tests.child import ROOT, told

CODE = """
import re, sys
import decode, jax, jax.numpy as jnp, numpy as np
from benchmarks.absent_gpus import devices
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jaxgpu_tune.comms import AllReduce
from jaxgpu_tune.comms.ffi import load_launcher
from jaxgpu_tune.comms.launch import BACKENDS, Setup
from jaxgpu_tune.comms.shapes import Shape

mesh = Mesh(np.array(devices(2)), ("tp",))

def like(shape, dtype, spec):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))

backend, pad_to = sys.argv[1:]
if backend == "ffi":
    load_launcher()
fixed = Setup("tp", Shape(2, 1 << 20), "90", 10**9, "", backend=backend), P("tp")
comm = AllReduce.tree_unflatten(fixed, (like((2, 32), jnp.uint32, P("tp")),))
size = decode.Size(layers=2, pad_to=int(pad_to))
part = size.width // size.heads
shapes = {"qkv": (size.width, 2 * size.width), "out": (size.width,) * 2, "gate_up": (size.width, 2 * size.inner),
          "down": (size.inner, size.width), "norm_1": (size.width,), "norm_2": (size.width,)}
weights = [{n: like(s, jnp.bfloat16, decode.WEIGHTS[n]) for n, s in shapes.items()}] * size.layers
past = [{n: like((1, size.groups, size.past, part), jnp.bfloat16, s) for n, s in decode.CACHE.items()}] * size.layers
step = decode.make_step(size, mesh, "fused")
x, position = like((1, size.width), jnp.bfloat16, P()), like((), jnp.int32, P())
text = step.trace(comm, weights, past, x, position).lower().compile().as_text()
dots = [shape.split(",") for shape in re.findall(r"= \\w+\\[([\\d,]+)\\]\\S* dot\\(", text)]
tell({"products of 8 rows": sum("8" in shape for shape in dots), "calls": text.count(f'custom_call_target="{BACKENDS[backend]}"'), "copies": len(re.findall(r" copy\\(", text)),
      "others": "all-reduce" in text})
"""


@pytest.mark.parametrize(("backend", "pad_to"), [("ptx", 0), ("ptx", 8), ("ffi", 0)])
def test_a_decode_step_compiles_with_two_calls_a_layer(backend: str, pad_to: int, tmp_path: Path) -> None:
    """Nothing is copied for the calls, no other all-reduce is left, XLA takes no padding away, and all is one CUDA graph."""
    if backend == "ffi" and not find_compiler():
        pytest.skip("no C++ compiler")
    flags = f"--xla_gpu_cuda_data_dir={toolkit()} --xla_dump_to={tmp_path} --xla_dump_hlo_as_text"
    path = f"{ROOT}:{ROOT / 'examples'}"
    argv = (backend, str(pad_to))
    found = told(CODE, argv=argv, JAX_PLATFORMS="cpu", XLA_FLAGS=flags, JAXGPU_TUNE="off", PYTHONPATH=path)
    assert found == {"products of 8 rows": 8 if pad_to else 0, "calls": 4, "copies": 0, "others": False}
    (dumped,) = tmp_path.glob("*jit_step.thunk_sequence_after_thunk_passes.txt")
    (graph,) = [line for line in dumped.read_text().splitlines() if line and not line.startswith(" ")]
    assert "kCommandBuffer" in graph


@pytest.mark.parametrize("architecture", ["80", "89", "90", "100", "120"])
def test_what_the_driver_is_given_is_taken_for_every_gpu(architecture: str, tmp_path: Path) -> None:
    """From Ampere on; the version that it states is older than the newest of them."""
    assembler = toolkit() / "bin" / "ptxas"
    kernel = {"FUSED": True, "ROWS": 8, "WIDTH": 512, "THREADS": 512, "EPS": "1e-06f"}
    defines = {"ELEMENT_BF16": True, "WORLD": 2, "GRID": 64, "REGION": 1 << 16, "TIMEOUT_NS": "1000ull", **kernel}
    file = tmp_path / "kernel.ptx"
    file.write_text(launch._ptx(architecture, tuple(sorted(defines.items()))))
    ptxas = [str(assembler), f"-arch=sm_{architecture}", str(file), "-o", str(tmp_path / "code")]
    assert subprocess.run(ptxas, capture_output=True, text=True, check=False).stderr == ""
