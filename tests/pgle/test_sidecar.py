"""What a profile was taken with."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxgpu_tune.model import Gpu, Machine
from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile
from jaxgpu_tune.pgle.profile_files import write_profile
from jaxgpu_tune.pgle.sidecar import Sidecar, flags_of, read_sidecar, sidecar_path, stale, taken_with, write_sidecar

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
    assert read_sidecar(path) is None
    assert [(one.code, one.severity) for one in stale(path, PROFILE, NOW)] == [("pgle-no-sidecar", "note")]


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
    assert [(one.code, one.severity) for one in found] == [("pgle-stale", "warning")] * bool(told)
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
    found = stale(path, CostProfile((Cost("fusion.1", 3.0),)), NOW)
    assert [(one.code, one.severity) for one in found] == [("pgle-changed", "warning")]


def test_flags_that_matter_are_kept_as_xla_reads_them() -> None:
    assert flags_of("--xla_a=1 --xla_dump_to=x --xla_b --xla_a='2 3'") == {"xla_a": "2 3", "xla_b": "true"}
