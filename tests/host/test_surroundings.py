"""What lies around JAX on this host; the trial start of a real backend."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from jaxgpu_tune.host import surroundings as around


def test_the_folders_that_variables_name(tmp_path: Path) -> None:
    """CUDA_HOME comes before conda's folder; of PATH the first with a ptxas that may be run."""
    toolkit, conda, plain, late = (tmp_path / name for name in ("toolkit", "conda", "plain", "late"))
    for folder in (toolkit, conda):
        (folder / "nvvm" / "libdevice").mkdir(parents=True)
    for folder, mode in ((plain, 0o644), (toolkit, 0o755), (late, 0o755)):
        folder.mkdir(exist_ok=True)
        (folder / "ptxas").touch(mode)
    path = os.pathsep.join(map(str, ("", tmp_path / "gone", plain, toolkit, late)))
    found = around.surroundings({"CUDA_HOME": str(toolkit), "CONDA_PREFIX": str(conda), "PATH": path})
    assert (found.compiler_folder, found.ptxas_folder) == (str(toolkit), str(toolkit))
    found = around.surroundings({"CUDA_HOME": str(plain), "CONDA_PREFIX": str(conda), "PATH": str(plain)})
    assert (found.compiler_folder, found.ptxas_folder, found.cuda_folders) == (str(conda), None, ())
    found = around.surroundings({})
    assert found.compiler_folder is None and found.ptxas_folder is None


def test_the_size_of_shared_memory_is_in_bytes(tmp_path: Path) -> None:
    assert around._size(str(tmp_path)) == shutil.disk_usage(tmp_path).total
    assert around._size(str(tmp_path / "gone")) is None
    assert around.surroundings({}).shared_memory_bytes == around._size("/dev/shm")


def test_a_trial_start_tells_the_platform_and_how_many_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=3")
    found = around.try_start(120)
    assert (found.platform, found.devices, found.status, found.timed_out) == ("cpu", 3, 0, False)
    assert 0 < found.seconds < 120


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [("import sys; sys.exit('a\\n\\nb\\nc\\n d \\n')", 1, "b\nc\n d "), ("import os; os.abort()", -6, "")],
)
def test_a_start_that_fails_leaves_its_last_words(
    code: str, status: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(around, "TRIAL", code)
    found = around.try_start(60)
    assert (found.platform, found.devices, found.status, found.said) == (None, 0, status, said)


def test_a_start_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(around, "TRIAL", "import time; time.sleep(99)")
    found = around.try_start(0.2)
    assert found.timed_out and found.seconds == 0.2 and found.platform is None
