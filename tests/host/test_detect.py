"""The whole machine: files of machines, and what detection may not do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from jaxgpu_tune import BadSetting, Machine
from jaxgpu_tune.host import detect
from jaxgpu_tune.host.detect import MACHINE_FILE, _is_wsl, detect_machine, machine_file, machine_of_file
from jaxgpu_tune.host.nvml_answer import NvmlAnswer
from jaxgpu_tune.host.packages import Installed
from jaxgpu_tune.host.phase import Joined
from jaxgpu_tune.model import Gpu
from tests.child import run

MACHINES = sorted((Path(__file__).parent.parent / "machines").glob("*.json"))


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)
def test_every_machine_file_is_read_and_round_trips(path: Path) -> None:
    """By the variable, and through to_dict and from_dict."""
    machine = detect_machine({MACHINE_FILE: str(path)})
    assert Machine.from_dict(json.loads(json.dumps(machine.to_dict()))) == machine
    assert [gpu.index for gpu in machine.gpus or ()] == list(range(len(machine.gpus or ())))


def test_a_few_lines_are_enough_and_the_rest_is_unknown() -> None:
    """Never filled from this host."""
    gpu = {"name": "NVIDIA H100 80GB HBM3", "compute_capability": "9.0", "memory_bytes": 85899345920, "count": 8}
    machine = Machine.from_dict({"gpus": [gpu], "jaxlib": "0.5.1"})
    assert len(machine.gpus or ()) == 8
    assert (machine.jax, machine.plugins, machine.phase, machine.driver, machine.processes.count) == (None,) * 5


def test_everything_wrong_comes_at_once() -> None:
    """Each wrong key and value is one finding; a near miss names the key."""
    wrong = {
        "gpu": [],
        "jaxlib": 5,
        "gpus": [{"compute_capability": "9", "memory_bytes": -1, "mig": "no", "count": 0}],
        "phase": "up",
    }
    with pytest.raises(BadSetting, match="'gpus'") as caught:
        Machine.from_dict(wrong)
    assert len(caught.value.findings) == 7


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "\udcff"])
def test_a_file_that_is_no_machine(tmp_path: Path, text: str) -> None:
    """Is refused with its name."""
    path = tmp_path / "machine.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(BadSetting):
        detect_machine({MACHINE_FILE: str(path)})
    with pytest.raises(BadSetting, match=r"missing\.json"):
        detect_machine({MACHINE_FILE: str(tmp_path / "missing.json")})


def test_the_file_that_this_process_names_counts_where_the_other_environment_names_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the variable that the documents name."""
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", "/mine")
    assert machine_file({"JAXGPU_TUNE_MACHINE": "/theirs"}) == "/theirs"
    assert machine_file({}) == machine_file({"JAXGPU_TUNE_MACHINE": ""}) == "/mine"
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", "")
    assert machine_file({}) is None


@pytest.mark.parametrize(
    ("release", "wsl"), [("6.6.87-Microsoft-standard-WSL2", True), ("6.8.0-generic", False), (None, None)]
)
def test_r38_wsl_is_told_by_its_kernel(release: str | None, wsl: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if release is None:
        monkeypatch.delattr(os, "uname")
    else:
        monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(release=release))
    assert _is_wsl() is wsl
    assert detect_machine({}).wsl is wsl


def test_a_machine_has_the_parts_that_were_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in its place; what a job has joined counts only for this process."""
    cards = NvmlAnswer((Gpu(0), Gpu(1)), "580.1", "13.0")
    versions = Installed(jax="1", jaxlib="2", plugins={"p": "3"}, nccl="4", libraries={"l": "5"})
    monkeypatch.setattr(detect, "find_gpus", lambda _: cards)
    monkeypatch.setattr(detect, "installed_versions", lambda: versions)
    monkeypatch.setattr(detect, "joined_job", lambda: Joined(1, 2, None))
    environ = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
    found = detect_machine({**environ, "OMPI_COMM_WORLD_SIZE": "4"})
    assert (found.gpus, found.driver, found.cuda_driver) == (cards.gpus, "580.1", "13.0")
    assert (found.jax, found.jaxlib, found.plugins, found.nccl, found.libraries) == (
        "1",
        "2",
        {"p": "3"},
        "4",
        {"l": "5"},
    )
    assert (found.processes.rank, found.processes.count, found.processes.local_device_ids) == (1, 2, (1,))
    other = detect_machine({**environ, "OMPI_COMM_WORLD_SIZE": "4"}, live=False).processes
    assert (other.rank, other.count) == (0, 4)
    monkeypatch.setattr(detect, "find_gpus", lambda _: NvmlAnswer(None))
    assert detect_machine(environ).processes.local_device_ids is None


WATCH = """
import os, sys
seen = []
PROCESS = ("os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec", "subprocess.Popen")
sys.addaudithook(lambda event, args: seen.append(event) if event in PROCESS else None)
"""


def test_r87_no_process_is_started_and_nothing_heavy_imported() -> None:
    """Every way to start a process raises an audit event."""
    code = "from jaxgpu_tune.host.detect import detect_machine\ndetect_machine(os.environ)\n"
    heavy = "[m for m in ('jax', 'jaxlib', 'numpy', 'importlib.metadata') if m in sys.modules]"
    assert run(WATCH + code + f"tell([seen, {heavy}])").value == [[], []]


def test_r87_the_watch_can_fail() -> None:
    """The test above would notice a child process."""
    assert run(WATCH + "import subprocess; subprocess.run([sys.executable, '-c', ''])\ntell(bool(seen))").value is True


def test_a_machine_file_with_a_byte_order_mark_is_read_and_a_missing_one_is_called_that(tmp_path: Path) -> None:
    """As editors of Windows write it."""
    file = tmp_path / "machine.json"
    file.write_bytes(b'\xef\xbb\xbf{"jaxlib": "0.11.2"}')
    assert machine_of_file(str(file), "here").jaxlib == "0.11.2"
    with pytest.raises(BadSetting, match=r"cannot be read: No such file or directory\.") as missing:
        machine_of_file(str(tmp_path / "none.json"), "here")
    assert "JSON" not in str(missing.value.findings[0].message)
