"""What a profile was taken with, and where recordings are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxgpu_tune.model import Gpu, Machine
from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile
from jaxgpu_tune.pgle.profile_files import write_profile
from jaxgpu_tune.pgle.sidecar import Sidecar, flags_of, read_sidecar, sidecar_path, stale, taken_with, write_sidecar
from jaxgpu_tune.pgle.store import _likeness, default_root, finish_recording, new_folder, recorded, why_none

PROFILE = CostProfile((Cost("fusion.1", 2.5),))
MACHINE = Machine(
    gpus=(Gpu(0, name="NVIDIA H200"), Gpu(1, name="NVIDIA H200")),
    driver="580.1",
    jaxlib="0.11.2",
    plugins={"jax-cuda13-pjrt": "0.11.2"},
)
FLAGS = "--xla_gpu_autotune_level=2 --xla_gpu_pgle_profile_file_or_directory_path=/p.pb --xla_dump_to=/tmp"
COMMAND = ("python", "train.py")
NOW = taken_with(PROFILE, MACHINE, FLAGS, COMMAND)


def taken(folder: Path, sidecar: Sidecar | None = NOW) -> Path:
    path = write_profile(PROFILE, folder / "p.pb")
    if sidecar:
        write_sidecar(path, sidecar)
    return path


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = taken(tmp_path, NOW._replace(percentile=50, runs=2, program="jit_f"))
    assert read_sidecar(path) == NOW._replace(percentile=50, runs=2, program="jit_f")
    assert sidecar_path(path).name == "p.pb.json"
    assert list(stale(path, PROFILE, NOW)) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"digest": 1}'])
def test_what_is_none_of_ours_is_none(tmp_path: Path, text: str) -> None:
    path = taken(tmp_path, None)
    sidecar_path(path).write_text(text)
    assert read_sidecar(path) is None and [one.code for one in stale(path, PROFILE, NOW)] == ["pgle-no-sidecar"]


@pytest.mark.parametrize(
    ("machine", "flags", "command", "told"),
    [
        (MACHINE._replace(jaxlib="0.12.0"), FLAGS, COMMAND, ["jaxlib 0.11.2, now 0.12.0"]),
        (MACHINE._replace(gpus=MACHINE.gpus[:1]), FLAGS, COMMAND, ["GPUs 2 x NVIDIA H200, now NVIDIA H200"]),
        (
            MACHINE,
            f"{FLAGS} --xla_gpu_autotune_level=3 --xla_b=1",
            COMMAND,
            ["--xla_gpu_autotune_level =2, now =3", "--xla_b not set, now =1"],
        ),
        (MACHINE, FLAGS, ("python", "eval.py"), ["command 'python train.py', now 'python eval.py'"]),
        (MACHINE._replace(jaxlib=None, gpus=None), "--xla_gpu_autotune_level=2", COMMAND, []),
    ],
)
def test_each_difference_is_named(
    tmp_path: Path, machine: Machine, flags: str, command: tuple[str, ...], told: list[str]
) -> None:
    """What is unknown on one side is no difference, and flags that change nothing of the program are none."""
    found = list(stale(taken(tmp_path), PROFILE, taken_with(PROFILE, machine, flags, command)))
    assert [one.code for one in found] == ["pgle-stale"] * bool(told)
    assert all(one in found[0].message for one in told)


def test_all_that_a_profile_is_bound_to_is_told_in_words(tmp_path: Path) -> None:
    """Plugins with their versions, GPUs of several kinds one by one, none as none; a long command is cut."""
    long = ("python", "x" * 200)
    then = NOW._replace(program="jit_f", plugins={}, gpus=("A", "B"), command=long)
    now = NOW._replace(program="jit_g", plugins={"b": "2", "a": "1"}, gpus=(), command=("sh",))
    (finding,) = stale(taken(tmp_path, then), PROFILE, now)
    assert finding.message.partition("something else: ")[2] == (
        "program jit_f, now jit_g; CUDA plugin none, now a 1, b 2; GPUs A B, now none; "
        f"command '{' '.join(long)[:100]}…', now 'sh'."
    )
    exactly = NOW._replace(command=("x" * 100,))
    (finding,) = stale(taken(tmp_path, exactly), PROFILE, now._replace(program=None, plugins=None, gpus=None))
    assert f"command '{'x' * 100}', now" in finding.message
    assert taken_with(PROFILE, Machine(gpus=(Gpu(0),)), "", COMMAND).gpus == ("unknown",)
    assert taken_with(PROFILE, Machine(), "", COMMAND).plugins is None


def test_a_profile_that_was_changed(tmp_path: Path) -> None:
    path = taken(tmp_path)
    assert [one.code for one in stale(path, CostProfile((Cost("fusion.1", 3.0),)), NOW)] == ["pgle-changed"]


def test_flags_that_matter_are_kept_as_xla_reads_them() -> None:
    assert flags_of("--xla_a=1 --xla_dump_to=x --xla_b --xla_a='2 3'") == {"xla_a": "2 3", "xla_b": "true"}


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


def test_why_a_recording_does_not_serve(tmp_path: Path) -> None:
    assert "Nothing was recorded of this command" in why_none(tmp_path, NOW).message
    folder = new_folder(tmp_path)
    (folder / "jit_step-0123-cache").write_bytes(b"")
    finish_recording(folder, NOW)
    assert "jaxlib 0.11.2, now 0.12.0" in why_none(tmp_path, NOW._replace(jaxlib="0.12.0")).message
    other = NOW._replace(command=("python", "eval.py"))
    assert recorded(tmp_path, other) is None and "only of: python train.py" in why_none(tmp_path, other).message
