"""``check`` sees the environment whole, and the inside of files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.typed import call


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set but a machine with jaxlib 0.11.2."""
    for name in [n for n in os.environ if n.startswith(("XLA_", "JAX_", "JAXGPU_TUNE", "NCCL_", "TF_", "CUDA_"))]:
        monkeypatch.delenv(name)
    file = tmp_path / "machine.json"
    file.write_text(json.dumps({"gpus": [], "jax": "0.11.2", "jaxlib": "0.11.2"}))
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", str(file))
    monkeypatch.setenv("COLUMNS", "300")


WRONG = {
    "XLA_PYTHON_CLIENT_PREALLOCATE=flase": "Did you mean false?",
    "XLA_PYTHON_CLIENT_PREALOCATE=false": "Did you mean XLA_PYTHON_CLIENT_PREALLOCATE?",
    "CUDA_VISIBLE_DEVICE=0": "Did you mean CUDA_VISIBLE_DEVICES?",
    "CUDA_VISIBLE_DEVICES=0,one": "'one' names no device",
    "CUDA_DEVICE_MAX_CONNECTION=1": "Did you mean CUDA_DEVICE_MAX_CONNECTIONS?",
    "CUDA_MODULE_LOADING=LAZZY": "Allowed: LAZY, EAGER",
    "TF_FORCE_GPU_ALLOW_GROWT=1": "Did you mean TF_FORCE_GPU_ALLOW_GROWTH?",
    "NCCL_DEBUG=INF": "Allowed: VERSION, WARN, INFO",
    "NCCL_ALGOS=Ring": "Did you mean NCCL_ALGO?",
    "JAX_PLATFORM=cpu": "Did you mean JAX_PLATFORMS?",
    "JAXGPU_TUNE_PRESET=fspd": "Did you mean 'fsdp'?",
    "JAXGPU_TUNE_PRESET=missing.toml": "missing.toml: cannot be read",
    "JAXGPU_TUNE=disabled": "says neither on nor off",
    "JAXGPU_TUNE_MACHNE=x.json": "Did you mean JAXGPU_TUNE_MACHINE?",
    "JAXGPU_TUNE_COLOUR=x": "Its variables are JAXGPU_TUNE, JAXGPU_TUNE_PRESET and JAXGPU_TUNE_MACHINE.",
}


@pytest.mark.parametrize("setting", WRONG)
def test_a_wrong_variable_of_any_family_is_told(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its value or its name."""
    name, _, value = setting.partition("=")
    monkeypatch.setenv(name, value)
    said = call("check").output
    assert WRONG[setting] in said and name in said


FINE = {
    "XLA_PYTHON_CLIENT_PREALLOCATE": "True",
    "CUDA_VISIBLE_DEVICES": "GPU-8932f937,GPU-1",
    "CUDA_HOME": "/usr/local/cuda",
    "CUDA_VERSION": "13.0.1",
    "CUDA_CACHE_MAXSIZE": "4294967296",
    "CUDA_MPS_PIPE_DIRECTORY": "/tmp/mps",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TF_CPP_MAX_VLOG_LEVEL": "1",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "NCCL_DEBUG": "info",
    "JAXGPU_TUNE_PRESET": "fsdp+reproducible",
    "JAXGPU_TUNE": "on",
}


def test_what_images_and_schedulers_set_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in FINE.items():
        monkeypatch.setenv(name, value)
    result = call("check")
    assert (result.output, result.exit_code) == ("Nothing is wrong.\n", 0)
    for value in ("", "-1", "NoDevFiles", "0,1", "MIG-1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
        assert call("check").output == "Nothing is wrong.\n"


def test_files_are_checked_with_their_lines(tmp_path: Path) -> None:
    script, good = tmp_path / "train.sh", tmp_path / "good.sh"
    script.write_text("#!/bin/sh\nexport XLA_FLAGS=--xla_gpu_graph_level=0\n")
    good.write_text("export XLA_FLAGS=--xla_gpu_autotune_level=2\n")
    result = call("check", "--file", str(script), "--file", str(good))
    assert result.exit_code == 1 and f"{script}:2: --xla_gpu_graph_level=0 is not for" in result.output
    told = json.loads(call("check", "--json", "--file", str(script)).stdout)
    assert [(one["file"], one["line"], one["code"]) for one in told] == [(str(script), 2, "flag-translated")]
    assert (
        call("check", "--file", str(script), "--file", str(script), "--json").stdout
        == json.dumps(told, indent=2) + "\n"
    )
    assert call("check", "--file", str(good)).output == "Nothing is wrong.\n"
    assert call("check", "--file", str(good), "--xla_dump_to=x").exit_code == 2
    assert call("check", "--file", str(tmp_path / "no.sh")).exit_code == 2


def test_in_a_notebook_the_cell_is_named(tmp_path: Path) -> None:
    """Its lines are nowhere to be seen in Jupyter; the same of migrate, and of the release that a cell installs."""
    file = tmp_path / "a.ipynb"
    sources = ["!pip install jax==0.11.2", "x = 1\n%env XLA_FLAGS=--xla_gpu_graph_level=0"]
    file.write_text(json.dumps({"cells": [{"cell_type": "code", "source": source} for source in sources]}))
    told = call("check", "--file", str(file)).output
    assert f"{file}: cell 2, line 2: --xla_gpu_graph_level=0 is not for" in told
    assert f"{file}: cell 1, line 1: jax 0.11.2 is installed" in call("migrate", "--file", str(file)).stderr
    found = json.loads(call("check", "--jaxlib", "0.11.2", "--json", "--file", str(file)).stdout)
    assert [(one["cell"], one["line"]) for one in found] == [(2, 2)]
    ((one,),) = (found["changes"] for found in json.loads(call("migrate", "--json", "--file", str(file)).stdout))
    assert list(one) == ["line", "cell", "before", "after", "why", "fatal"] and (one["cell"], one["line"]) == (2, 2)


@pytest.mark.parametrize("command", ["check", "migrate"])
def test_a_file_without_its_option_is_told(command: str, tmp_path: Path) -> None:
    file = tmp_path / "train.sh"
    file.write_text("--xla_gpu_autotune_level=2\n")
    hint = f"jaxgpu-tune {command} --file {file}"
    assert hint in call(command, str(file)).stderr and hint not in call(command, "--xla_dump_to=x").stderr


def test_check_names_what_is_wrong_and_ends_with_1() -> None:
    """A text that begins with dashes is the text, not an option."""
    result = call("check", "--xla_gpu_autotune_levle=2", "--jaxlib", "0.11.2")
    assert "xla_gpu_autotune_levle" in result.output
    assert result.exit_code == (1 if "error" in result.output else 0)


def test_check_warns_of_a_text_that_xla_reads_in_part() -> None:
    """Of several changes to a list it applies the first, and the process lives: no 1."""
    result = call("check", "--xla_gpu_enable_command_buffer=+WHILE,-FUSION", "--jaxlib", "0.6.2")
    assert result.exit_code == 0 and "warning (flag-half-read)" in result.output
    assert call("check", "--xla_gpu_ftz=1", "--jaxlib", "0.4.19").exit_code == 1


def test_check_finds_nothing_wrong_in_a_good_text() -> None:
    """Given, or in the environment."""
    result = call("check", "--xla_gpu_autotune_level=2 --xla_dump_to=/tmp/x")
    assert (result.exit_code, result.output) == (0, "Nothing is wrong.\n")
    assert json.loads(call("check", "--json", "--xla_gpu_autotune_level=2").output) == []


HANGS = "export XLA_FLAGS=--xla_gpu_enable_command_buffer=FUSION,COLLECTIVES\n"
OF_SEVERAL = "collectives-in-graphs"
NO_GPU = "No GPU is seen here"


def test_another_machine_may_be_meant(tmp_path: Path) -> None:
    """For a text, the environment and files: its GPUs, and its jaxlib."""
    node, script, job = tmp_path / "node.json", tmp_path / "train.sh", tmp_path / "job.sh"
    node.write_text(json.dumps({"gpus": [{"count": 8}], "jax": "0.5.1", "jaxlib": "0.5.1"}))
    script.write_text(HANGS)
    job.write_text(f"#SBATCH --gres=gpu:1\n{HANGS}")
    text = HANGS.partition("=")[2].strip()
    for what in ((text,), ("--file", str(script)), ("--file", str(job))):
        assert OF_SEVERAL in call("check", "--machine", str(node), *what).stdout
        assert OF_SEVERAL not in call("check", *what).stdout
    script.write_text("export XLA_FLAGS=--xla_gpu_graph_level=0\n")
    for what in (("--xla_gpu_graph_level=0",), ("--file", str(script))):
        assert "not for jaxlib 0.11.2" in call("check", *what).stdout
        assert "not for" not in call("check", "--machine", str(node), *what).stdout
    assert call("check", "--machine", "absent.json").exit_code == 2


@pytest.mark.usefixtures("login_node")
def test_on_a_login_node_a_job_is_judged_for_the_gpus_that_it_asks_for(tmp_path: Path) -> None:
    """What its lines say of them; a file that says nothing is judged for what is here."""
    script, job = tmp_path / "train.sh", tmp_path / "job.sh"
    script.write_text(HANGS)
    job.write_text(f"#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n{HANGS}")
    said = call("check", "--file", str(script))
    assert (said.stdout, NO_GPU in said.stderr) == ("Nothing is wrong.\n", True)
    said = call("check", "--file", str(job))
    assert f"warning (collectives-in-graphs): {job}:4: " in said.stdout and said.stderr == ""
    assert f"{job}:3: The job asks for 16 GPUs" in said.stdout
    assert NO_GPU in call("check", "--file", str(job), "--file", str(script)).stderr
