"""CUDA source to machine code: what NVRTC says of wrong source, and what is kept."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from jaxgpu_tune.comms import nvrtc
from tests.comms.variants import defines

pytestmark = pytest.mark.usefixtures("compiles_anew")


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
    monkeypatch.setattr(nvrtc, "SOURCE", nvrtc.SOURCE + b"\n")
    assert nvrtc.compiled("90", defines("BF16", 2, "one-shot")).startswith(b"\x7fELF")


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is compiled each time."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert nvrtc.compiled("90", defines("BF16", 2, "one-shot")).startswith(b"\x7fELF")
