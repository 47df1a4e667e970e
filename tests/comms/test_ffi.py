"""The launcher: built by a compiler of this machine and kept, what it launches, and the reason where it cannot be had."""

from __future__ import annotations

import shutil
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.sharding import Mesh

from jaxgpu_tune.comms import AllReduce, ffi
from jaxgpu_tune.comms.exchange import Exchange
from jaxgpu_tune.comms.launch import Setup
from jaxgpu_tune.comms.shapes import Shape
from tests.child import told


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing built before is found, nothing is left."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ffi.load_launcher.cache_clear()


@pytest.fixture
def compiler() -> str:
    """The one that is used."""
    if not (found := ffi.find_compiler()):
        pytest.skip(f"none of {', '.join(ffi.COMPILERS)}")
    return found


@pytest.mark.slow
def test_it_is_built_once(compiler: str, tmp_path: Path) -> None:
    """A library with a function a stage, kept by source, options, compiler and jaxlib."""
    library = ffi.built(compiler)
    (kept,) = tmp_path.rglob("*.so")
    assert kept.read_bytes().endswith(library) and all(stage.encode() in library for stage in ffi.STAGES)
    before = kept.stat()
    assert ffi.built(compiler) == library and kept.stat() == before


@pytest.mark.slow
def test_nvcc_builds_it() -> None:
    """Where there is no other compiler by name."""
    nvcc = next(filter(None, map(shutil.which, ffi.COMPILERS[-2:])), None)
    if not nvcc:
        pytest.skip("no nvcc")
    assert ffi.built(nvcc).startswith(b"\x7fELF")


DRIVER = """
#include <string.h>
int loads;
static const char *kernel;
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { *active = device == 1; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return 0; }
int cuCtxPushCurrent_v2(void *context) { return 0; }
int cuCtxPopCurrent_v2(void **context) { return 0; }
int cuGetErrorName(int status, const char **name) { *name = "CUDA_ERROR_FROM_HERE"; return status < 0; }
int cuCtxGetCurrent(void **context) { *context = &loads; return 0; }
int cuModuleLoadData(void **module, const void *image) { loads++; *module = 0; return strcmp(image, "wrong") ? 0 : 218; }
int cuModuleGetFunction(void **function, void *module, const char *name) { *function = (void *)name; kernel = strdup(name); return 0; }
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **parameters, void **extra) {
  float *x = *(float **)parameters[0], *y = *(float **)parameters[1], *sum = *(float **)parameters[2], *told = *(float **)parameters[3];
  for (int i = 0; i < 8; ++i) sum[i] = x[i] + y[i];
  const float all[] = {gx, gy, gz, bx, by, bz, shared, 10 * loads + strlen(kernel)};
  memcpy(told, all, sizeof all);
  return 0;
}
"""
"""A driver with two GPUs, one of them in use, whose one kernel adds two operands and tells how it was launched."""

ON_CPU = """
import ctypes, sys, jax, jax.numpy as jnp, numpy as np
from jaxgpu_tune.comms import ffi, launch
driver = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
source = ffi.SOURCE.decode()
for there, here in ((".Ctx<ffi::PlatformStream<void*>>()", ""), ("Launch(void* stream, ", "Launch("), ("), stream, ", "), nullptr, ")):
    assert source.count(there) == 1
    source = source.replace(there, here)
ffi.SOURCE = source.encode()
register = jax.ffi.register_ffi_target
jax.ffi.register_ffi_target = lambda *given, platform: register(*given, platform="cpu")
ffi.load_launcher()
def launched(x, code):
    sizes = {f"{what}_{axis}": np.int32(n) for n, (what, axis) in enumerate(((w, a) for w in ("grid", "block") for a in "xyz"), 1)}
    call = jax.ffi.ffi_call(ffi.TARGET, (jax.ShapeDtypeStruct((8,), jnp.float32),) * 2)
    return call(x, x, name="four", kernel_type="ptx", kernel_data=code, shared_mem_bytes=np.int32(7), **sizes)
x = jnp.arange(8.0)
twice = jax.jit(lambda x: (launched(x, "code"), launched(x + 1, "code"))).lower(x).compile()
loads = ctypes.c_int.in_dll(driver, "loads").value
(once, first), (again, second) = twice(x)
try:
    jax.block_until_ready(launched(jnp.ones(8), "wrong"))
except jax.errors.JaxRuntimeError as error:
    tell([loads, once.tolist(), again.tolist(), first.tolist(), second.tolist(), str(error)])
"""


def test_it_launches_what_it_is_told(compiler: str, tmp_path: Path) -> None:
    """Operands before results, the sizes in their order, a kernel loaded once and before a call, the driver's errors by name.

    On the CPU, without a stream, through a driver that stands in for CUDA's.
    """
    (tmp_path / "driver.c").write_text(DRIVER)
    driver = str(tmp_path / "libdriver.so")
    ffi.said(compiler, "-shared", "-fPIC", "-x", "c", str(tmp_path / "driver.c"), "-o", driver)
    given = {"JAX_PLATFORMS": "cpu", "XDG_CACHE_HOME": str(tmp_path)}
    loads, once, again, first, second, error = told(ON_CPU, argv=(driver,), **given)
    assert loads == 1
    assert once == [2.0 * n for n in range(8)] and again == [2.0 * n + 2 for n in range(8)]
    assert first == second == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 14.0]
    assert "cuModuleLoadData: CUDA_ERROR_FROM_HERE" in error


def communicator() -> AllReduce:
    """As it is made on two GPUs, up to where the launcher is built."""
    comm = AllReduce(Mesh(np.array(jax.devices()[:1]), ("tp",)), "tp", backend="ffi")
    comm._setup = Setup("tp", Shape(2, 1 << 20), "90", 10**9, "", backend="ffi")
    return comm


def test_without_a_compiler_it_is_psum(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """With the reason in explain() and on the logger, and no exception."""
    monkeypatch.setattr(ffi, "COMPILERS", ("no-such-compiler",))
    monkeypatch.delenv("CXX", raising=False)
    comm, mesh = communicator(), Mesh(np.array(jax.devices()[:1]), ("tp",))
    comm._start(mesh, Exchange(mesh))
    reason = "lax.psum, since load_launcher failed: no C++ compiler: neither $CXX nor no-such-compiler"
    assert reason in comm.explain() and reason in caplog.text


def test_a_build_that_fails_is_told_with_the_compilers_words(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As any other reason."""
    monkeypatch.setattr(ffi, "SOURCE", b"nonsense;")
    comm, mesh = communicator(), Mesh(np.array(jax.devices()[:1]), ("tp",))
    comm._start(mesh, Exchange(mesh))
    assert "load_launcher failed" in comm.explain() and "nonsense" in comm.explain()
    assert compiler in comm.explain()
