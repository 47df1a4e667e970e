"""The kernels' source: every variant compiles without a GPU, is called in programs for CUDA, and uses nothing that is ruled out."""

from __future__ import annotations

import itertools
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from jaxgpu_tune.comms import AllReduce, all_reduce, launch, nvrtc
from jaxgpu_tune.comms.launch import Setup
from jaxgpu_tune.comms.shapes import CONTROL, SLOTS, Shape
from jaxgpu_tune.comms.staging import EMPTY

COMMON = {"GRID": 64, "REGION": 1 << 16, "TIMEOUT_NS": "1000ull"}
KERNELS: dict[str, dict[str, object]] = {
    "one-shot": {"ONE_SHOT": True, "VECTORS": 512, "THREADS": 64},
    "two-shot": {"TWO_SHOT": True, "VECTORS": 65535, "THREADS": 512},
    "fused": {"FUSED": True, "ROWS": 8, "WIDTH": 512, "THREADS": 512, "EPS": "1e-06f"},
    "fused, wide, gamma in float32": {
        "FUSED": True,
        "ROWS": 200,
        "WIDTH": 4095,
        "THREADS": 1024,
        "EPS": "1e-06f",
        "GAMMA_F32": True,
    },
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing compiled before is found, nothing is left."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    try:
        nvrtc.find_library()
    except nvrtc.CompileError as missing:
        pytest.skip(f"{missing} (in the extra 'dev')")


def defines(element: str, world: int, kernel: str) -> dict[str, object]:
    """The macros of one variant."""
    return {f"ELEMENT_{element}": True, "WORLD": world, **COMMON, **KERNELS[kernel]}


ARCHITECTURES, ELEMENTS = ("80", "90", "100"), (("BF16", 2), ("F16", 4), ("F32", 8))
"""Ampere, Hopper and Blackwell; each type with one number of ranks."""


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("turn", [0, *(pytest.param(turn, marks=pytest.mark.slow) for turn in (1, 2))])
def test_compiles_to_machine_code(turn: int, kernel: str) -> None:
    """For each architecture and each type, in the slow tests for each with each."""
    first = turn + list(KERNELS).index(kernel)
    for place, architecture in enumerate(ARCHITECTURES):
        element, world = ELEMENTS[(first + place) % len(ELEMENTS)]
        code = nvrtc.compiled(architecture, defines(element, world, kernel))
        assert code.startswith(b"\x7fELF") and b"jaxgpu_tune_" in code


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_variant_compiles(kernel: str) -> None:
    """Each type with each number of ranks, as it is and for the probe."""
    for element, world, probe in itertools.product(("BF16", "F16", "F32"), (2, 4, 8), ({}, {"GIVE_UP": True})):
        assert nvrtc.compiled("90", {**defines(element, world, kernel), **probe}).startswith(b"\x7fELF")


@pytest.mark.parametrize("kernel", KERNELS)
def test_ptx_asks_for_nothing_that_is_ruled_out(kernel: str) -> None:
    """No multicast, no memory of a thread's own, and the instructions that the protocol rests on."""
    ptx = nvrtc.compiled("90", defines("BF16", 8, kernel), form="ptx").decode()
    assert not re.search(r"multimem|\.local|cluster|griddepcontrol", ptx)
    assert "ld.relaxed.sys.global.v4.u32" in ptx and "st.relaxed.sys.global.v4.u32" in ptx
    assert "%globaltimer" in ptx and "trap;" in ptx


def test_the_probe_gives_up_instead_of_ending_the_process() -> None:
    """An error in a kernel is the process's last; the probe's sums are compared anyway."""
    ptx = nvrtc.compiled("90", {**defines("BF16", 2, "one-shot"), "GIVE_UP": True}, form="ptx").decode()
    assert "trap;" not in ptx and "%globaltimer" in ptx


@pytest.mark.parametrize("kernel", KERNELS)
def test_fences_are_there_if_asked_for(kernel: str) -> None:
    """One before the first push, one after the last arrival."""
    plain, fenced = (
        nvrtc.compiled("90", {**defines("BF16", 4, kernel), **more}, form="ptx").decode()
        for more in ({}, {"FENCE": True})
    )
    assert "fence" not in plain and fenced.count("fence.acq_rel.sys;") == 2
    first, last = (find("fence.acq_rel.sys;") for find in (fenced.index, fenced.rindex))
    assert first < fenced.index("st.relaxed.sys") and fenced.rindex("ld.relaxed.sys") < last


def test_what_python_and_the_kernels_both_know_is_the_same() -> None:
    """The word that nothing has arrived in, and the sizes that the memory is made of."""
    source = nvrtc.SOURCE.read_text()
    for name, value in (("EMPTY", f"0x{EMPTY:X}u"), ("SLOTS", SLOTS), ("CONTROL", CONTROL)):
        assert re.search(rf"#define {name} {value}\b", source), name


def test_source_that_does_not_compile_tells_the_log() -> None:
    """With the line at fault."""
    with pytest.raises(nvrtc.CompileError, match=r"(?s)nvrtcCompileProgram.*kernels\.cu.*WORLD"):
        nvrtc.compiled("90", {**defines("BF16", 2, "one-shot"), "WORLD": "two"})


def test_what_was_compiled_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole files in the user's cache, by source, options and compiler; read again, and no leftovers."""
    code = nvrtc.compiled("90", defines("BF16", 2, "one-shot"))
    (kept,) = tmp_path.rglob("*.*")
    assert kept.read_bytes() == sha256(code).digest() + code and kept.suffix == ".cubin"
    kept.write_bytes(sha256(b"seen again").digest() + b"seen again")
    assert nvrtc.compiled("90", defines("BF16", 2, "one-shot")) == b"seen again"
    other = tmp_path / "other.cu"
    other.write_bytes(nvrtc.SOURCE.read_bytes() + b"\n")
    monkeypatch.setattr(nvrtc, "SOURCE", other)
    assert nvrtc.compiled("90", defines("BF16", 2, "one-shot")).startswith(b"\x7fELF")


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is compiled each time."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert nvrtc.compiled("90", defines("BF16", 2, "one-shot")).startswith(b"\x7fELF")


SETUP = Setup("tp", Shape(2, 1 << 20), "90", 10**9, "")


def lowered(body: Any, *arguments: Any, check_vma: bool = False, setup: Setup = SETUP) -> str:
    """The program for CUDA of ``body(comm, *arguments)`` on one rank of two; made without a GPU and never run."""
    mesh = Mesh(np.array(jax.devices()[:1]), ("tp",))
    comm = AllReduce(mesh, "tp")
    comm._setup = setup
    specs = (comm.spec, *(P("tp") for _ in arguments))
    mapped = jax.shard_map(body, mesh=mesh, in_specs=specs, out_specs=P("tp"), check_vma=check_vma)
    return str(jax.jit(mapped).trace(comm, *arguments).lower(lowering_platforms=("cuda",)).as_text())


def calls(program: str, backend: str = "ptx") -> list[str]:
    """What each call of ours in a program launches."""
    return re.findall(rf"@{re.escape(launch.BACKENDS[backend])}\(.*?[{{ ]name = \"(\w+)\"", program)


X = jnp.ones((8, 512), jnp.bfloat16)
GAMMA = jnp.ones(512, jnp.bfloat16)


def test_a_program_calls_the_kernels() -> None:
    """In XLA's own PTX call, so that it is part of the step's CUDA graph; no other all-reduce is left."""
    program = lowered(lambda comm, x, gamma: comm.psum_add_rmsnorm(comm.psum(x), x, gamma), X, GAMMA)
    assert calls(program) == ["jaxgpu_tune_all_reduce", "jaxgpu_tune_add_rmsnorm"]
    assert "stablehlo.all_reduce" not in program and ".version 8.0" in program


def test_the_other_back_end_is_another_target_of_the_same_call() -> None:
    """Operands and attributes are those of XLA's PTX call."""
    body = lambda comm, x: comm.psum(x)  # noqa: E731
    plain, ffi = lowered(body, X), lowered(body, X, setup=SETUP._replace(backend="ffi"))
    assert calls(ffi) == [] and calls(ffi, "ffi") == ["jaxgpu_tune_all_reduce"]
    assert ffi.replace(launch.BACKENDS["ffi"], launch.BACKENDS["ptx"]) == plain
    assert "fence.acq_rel.sys" in lowered(body, X, setup=SETUP._replace(fence=True)) and "fence." not in plain


def test_rows_too_many_for_the_fused_kernel_are_summed_by_the_other() -> None:
    """What goes in two steps has no room for the one step of the fused kernel; addition and norm are XLA's then."""
    rows = jnp.ones((1024, 512), jnp.bfloat16)
    setup = SETUP._replace(shape=Shape(4, 1 << 20))
    program = lowered(lambda comm, x, gamma: comm.psum_add_rmsnorm(x, x, gamma), rows, GAMMA, setup=setup)
    assert calls(program) == ["jaxgpu_tune_all_reduce"] and "stablehlo.all_reduce" not in program


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float16])
def test_every_type_is_called(dtype: Any) -> None:
    """The operands keep their types."""
    assert calls(lowered(lambda comm, x: comm.psum(x), X.astype(dtype))) == ["jaxgpu_tune_all_reduce"]


def test_checked_shard_maps_get_psum(caplog: pytest.LogCaptureFixture) -> None:
    """With check_vma=True the result of a kernel would pass for one that differs between ranks. Told once: it is easily forgotten."""
    all_reduce._warn_once.cache_clear()
    program = lowered(lambda comm, x: (comm.psum(x) + comm.psum(x + 1))[None], X, check_vma=True)
    assert calls(program) == [] and "stablehlo.all_reduce" in program
    assert len(caplog.messages) == 1 and "pass check_vma=False" in caplog.text


def test_the_derivative_is_that_of_psum() -> None:
    """The kernel forward, lax.psum's transpose backward."""
    loss = lambda x, comm, gamma: (comm.psum_add_rmsnorm(x, x, gamma)[1] ** 2).sum()  # noqa: E731
    program = lowered(lambda comm, x, gamma: jax.grad(loss)(x, comm, gamma), X, GAMMA)
    assert calls(program) == ["jaxgpu_tune_add_rmsnorm"] and "stablehlo.all_reduce" in program
    program = lowered(lambda comm, x: jax.grad(lambda x: (comm.psum(x) ** 2).sum())(x), X)
    assert calls(program) == ["jaxgpu_tune_all_reduce"] and "stablehlo.all_reduce" in program


def test_forward_mode_is_refused() -> None:
    """By JAX itself, with its own words."""
    with pytest.raises(TypeError, match="forward-mode"):
        lowered(lambda comm, x: jax.jvp(comm.psum, (x,), (x,))[1], X)
