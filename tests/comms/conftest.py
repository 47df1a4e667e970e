"""What several tests of comms need."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxgpu_tune.comms import nvrtc


@pytest.fixture
def compiles_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are compiled here: nothing compiled before is found, nothing is left."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    try:
        nvrtc.find_library()
    except nvrtc.CompileError as missing:
        pytest.skip(f"{missing} (in the extra 'dev')")
