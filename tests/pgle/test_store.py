"""Recorded executables: each recording in a folder of its own, and which one serves a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.pgle.store import _likeness, default_root, finish_recording, new_folder, recorded, why_none
from tests.homeless import leave_home
from tests.pgle.test_sidecar import COMMAND, NOW


def test_each_recording_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """And counts only once something was kept and it is finished; the newest serves."""
    assert recorded(tmp_path, NOW) is None
    first = new_folder(tmp_path)
    assert finish_recording(first, NOW) == () and recorded(tmp_path, NOW) is None
    (first / "jit_step-0123-cache").write_bytes(b"")
    assert finish_recording(first, NOW) == ("jit_step",)
    second = tmp_path / "99991231-235959-1"
    second.mkdir()
    (second / "jit_step-4567-cache").write_bytes(b"")
    finish_recording(second, NOW)
    found = recorded(tmp_path, NOW._replace(command=("nsys", "profile", *COMMAND)))
    assert found is not None and found.folder == second
    longer = recorded(tmp_path, NOW._replace(command=("python", "train.py", "--steps", "9")))
    assert longer is not None and longer.folder == second


def test_the_very_command_comes_before_a_newer_one_of_its_program(tmp_path: Path) -> None:
    for name, command in (("1", COMMAND), ("2", ("python", "train.py", "--other")), ("3", ("python", "-m", "train"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "jit_step-0123-cache").write_bytes(b"")
        finish_recording(tmp_path / name, NOW._replace(command=command))
    for command, folder in (
        (COMMAND, "1"),
        (("python3", "train.py"), "2"),
        (("python", "-m", "train", "9"), "3"),
    ):
        found = recorded(tmp_path, NOW._replace(command=command))
        assert found is not None and found.folder.name == folder


@pytest.mark.parametrize(
    ("recorded_by", "asked", "likeness"),
    [
        (("python", "a.py"), ("nsys", "profile", "python", "a.py"), 2),
        (("python", "a.py"), ("python", "a.py", "-x"), 2),
        (("sh", "run.sh"), ("bash", "run.sh", "-x"), 1),
        (("python", "-m", "job"), ("torchrun", "-m", "job"), 1),
        (("python", "-m", "job"), ("python", "-m", "other"), 0),
        (("finish",), ("finish", "now"), 2),
        (("do", "finish"), ("now", "finish"), 0),
        (("do", "xsh"), ("now", "xsh"), 0),
        (("python", "a.py"), ("python", "b.py"), 0),
    ],
)
def test_which_commands_run_one_program(
    recorded_by: tuple[str, ...], asked: tuple[str, ...], likeness: int, tmp_path: Path
) -> None:
    """The whole command within the other, or a script or module that both name."""
    assert _likeness(NOW._replace(command=recorded_by), NOW._replace(command=asked)) == likeness
    folder = new_folder(tmp_path)
    (folder / "jit_a-b-0123-cache").write_bytes(b"")
    (folder / "jit_a-b-0123-atime").write_bytes(b"")
    assert finish_recording(folder, NOW._replace(command=recorded_by)) == ("jit_a-b",)
    assert (recorded(tmp_path, NOW._replace(command=asked)) is not None) is bool(likeness)


def test_the_default_root_is_the_users_cache() -> None:
    assert default_root().parts[-2:] == ("jaxgpu_tune", "pgle")


def test_without_a_home_a_folder_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_home(monkeypatch)
    with pytest.raises(BadSetting, match="give --store FOLDER"):
        default_root()


def test_why_a_recording_does_not_serve(tmp_path: Path) -> None:
    assert "Nothing was recorded of this command" in why_none(tmp_path, NOW).message
    folder = new_folder(tmp_path)
    (folder / "jit_step-0123-cache").write_bytes(b"")
    finish_recording(folder, NOW)
    assert "jaxlib 0.11.2, now 0.12.0" in why_none(tmp_path, NOW._replace(jaxlib="0.12.0")).message
    other = NOW._replace(command=("python", "eval.py"))
    assert recorded(tmp_path, other) is None and "only of: python train.py" in why_none(tmp_path, other).message
