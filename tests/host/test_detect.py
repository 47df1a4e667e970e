"""The whole machine: files of machines, and what detection may not do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxgpu_tune import BadSetting, Machine
from jaxgpu_tune.host.detect import MACHINE_FILE, detect_machine, machine_of_file
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
