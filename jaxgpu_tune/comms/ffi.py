"""The launcher of kernels as a handler of XLA's FFI: built at first use by a C++ compiler, kept in the user's cache."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from pkgutil import get_data

import jax
import jaxlib.version

from .kept import kept

__all__ = ["TARGET", "BuildError", "built", "find_compiler", "load_launcher", "said"]

TARGET = "jaxgpu_tune_launch"
SOURCE = get_data(__name__, "launcher.cc") or b""
"""Read as the package was imported: it may lie in a zip file."""
STAGES = ("instantiate", "execute")
COMPILERS = ("g++", "clang++", "c++", "nvcc", "/usr/local/cuda/bin/nvcc")
OPTIONS = ("-shared", "-O2", "-std=c++17", "-w")
BUILD_SECONDS = 120


class BuildError(RuntimeError):
    """There is no C++ compiler, or it refused the source; the message holds the end of what it said."""


@cache
def load_launcher() -> None:
    """Build the launcher, unless it was built before, and make it known to XLA. Raises BuildError, OSError, TimeoutExpired."""
    with suppress(OSError):  # the library looks for the driver's functions among those that all libraries see
        ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
    compiler = find_compiler()
    if not compiler:
        raise BuildError(f"no C++ compiler: neither $CXX nor {', '.join(COMPILERS)}")
    library = _loaded(built(compiler))
    stages = {stage: jax.ffi.pycapsule(getattr(library, stage)) for stage in STAGES}
    jax.ffi.register_ffi_target(TARGET, stages, platform="CUDA")


def find_compiler() -> str | None:
    """The path of what $CXX names, else of the first of ``COMPILERS`` that is there."""
    named = filter(None, (os.environ.get("CXX"), *COMPILERS))
    return next(filter(None, map(shutil.which, named)), None)


def built(compiler: str) -> bytes:
    """The library. Kept by source, options, compiler, processor, and release of jaxlib, whose headers it includes. Raises BuildError."""
    shared = ("-Xcompiler=-fPIC", "-cudart=none") if Path(compiler).name == "nvcc" else ("-fPIC",)
    command = (compiler, *OPTIONS, *shared)
    made_of = SOURCE, command, said(compiler, "--version"), platform.machine(), jaxlib.version.__version__

    def build() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            source, library = Path(folder, "launcher.cc"), Path(folder, "launcher.so")
            source.write_bytes(SOURCE)
            said(*command, f"-I{jax.ffi.include_dir()}", str(source), "-o", str(library))
            return library.read_bytes()

    return kept("so", made_of, build)


def said(*command: str) -> str:
    """What a command writes to its standard output. Raises BuildError with the end of its errors if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=BUILD_SECONDS, check=False)
    if done.returncode:
        raise BuildError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()[-1000:]}")
    return done.stdout


def _loaded(library: bytes) -> ctypes.CDLL:
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(library)
        file.flush()
        return ctypes.CDLL(file.name)
