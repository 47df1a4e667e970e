"""CUDA source to PTX or cubin by NVRTC, which jax's CUDA wheels bring; what was compiled is kept in the user's cache."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from pkgutil import get_data

from .kept import kept

__all__ = ["CompileError", "compiled", "find_library"]

SOURCE = get_data(__name__, "kernels.cu") or b""
"""Read as the package was imported: it may lie in a zip file."""
PLACES = ("nvidia/cu*/lib/libnvrtc.so.*", "nvidia/cuda_nvrtc/lib/libnvrtc.so.*")
"""In the wheels nvidia-cuda-nvrtc (CUDA 13) and nvidia-cuda-nvrtc-cu12."""
SONAMES = ("libnvrtc.so.13", "libnvrtc.so.12")


class CompileError(RuntimeError):
    """NVRTC is missing, or refused the source; the message holds its log."""


def find_library() -> str:
    """The path or name of libnvrtc: of the wheels, else the system's. Raises CompileError."""
    found = sorted(_in_wheels(), key=_version)
    for name in (*map(str, reversed(found)), *SONAMES):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    raise CompileError(f"no libnvrtc in {', '.join(PLACES)} on sys.path, nor as {' or '.join(SONAMES)}")


def compiled(architecture: str, defines: Mapping[str, object], *, form: str = "cubin") -> bytes:
    """The code of ``all_reduce`` for an architecture ("90") and a shape.

    ``defines``: macros with their values (True: defined). ``form``: "cubin", or "ptx", whose text ends in no zero byte.
    Raises CompileError.
    """
    options = (
        f"--gpu-architecture={'sm' if form == 'cubin' else 'compute'}_{architecture}",
        "--std=c++17",
        *(f"-D{name}" if value is True else f"-D{name}={value}" for name, value in sorted(defines.items())),
    )
    library = _library()
    return kept(form, (SOURCE, options, library.version), lambda: library.compile(SOURCE, options, form))


class _Library:
    """libnvrtc, with its functions' results as exceptions."""

    def __init__(self, name: str) -> None:
        self._functions = ctypes.CDLL(name)
        self._functions.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        self.version = (major.value, minor.value)

    def compile(self, source: bytes, options: tuple[str, ...], form: str) -> bytes:
        program = ctypes.c_void_p()
        self._call("nvrtcCreateProgram", ctypes.byref(program), source, b"kernels.cu", 0, None, None)
        try:
            words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            try:
                self._call("nvrtcCompileProgram", program, len(options), words)
            except CompileError as failed:
                raise CompileError(f"{failed}\n{self._text(program, 'ProgramLog').decode()}") from None
            return self._text(program, "CUBIN" if form == "cubin" else "PTX")
        finally:
            self._call("nvrtcDestroyProgram", ctypes.byref(program))

    def _text(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(f"nvrtcGet{what}", program, buffer)
        return buffer.raw if what == "CUBIN" else buffer.raw.rstrip(b"\0")

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._functions, name)(*arguments)
        if status:
            raise CompileError(f"{name}: {self._functions.nvrtcGetErrorString(status).decode()}")


@cache
def _library() -> _Library:
    return _Library(find_library())


def _in_wheels() -> Iterator[Path]:
    for folder in map(Path, filter(None, sys.path)):
        for place in PLACES:
            yield from folder.glob(place)


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in path.name.split(".so.")[-1].split(".") if part.isdigit())
