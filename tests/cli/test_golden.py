"""What each command prints, held as files: on a machine that a file describes, at 80 and 140 columns.

``GOLDEN=write`` writes them anew; look at the difference before you commit it.
"""

from __future__ import annotations

import json
import os
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner

from jaxgpu_tune.cli.group import COMMANDS, group
from jaxgpu_tune.cli.pgle import COMMANDS as OF_PGLE
from tests.goldens import golden

GOLDEN = Path(__file__).parent / "golden"
ROOT = Path(__file__).resolve().parents[2]
MACHINES = ROOT / "tests" / "machines"
FILES = ROOT / "tests" / "planning" / "files" / "samples"
OURS = ("XLA_", "JAX_", "JAXGPU_TUNE", "NCCL_", "TF_", "CUDA_", "SLURM_", "OMPI_", "PMI", "LD_LIBRARY_PATH")
HERE = "here.json"
"""Of the installed jaxlib: `run` changes nothing for another one."""
OLD = "--xla_gpu_enable_async_collectives=true --xla_gpu_graph_level=0"

CASES: dict[str, tuple[list[str], dict[str, str]]] = {
    "env-sh": (["env", "fsdp"], {"XLA_FLAGS": OLD}),
    "env-powershell": (["env", "fsdp", "--format", "powershell"], {}),
    "env-dotenv": (["env", "fsdp", "--format", "dotenv"], {}),
    "env-docker": (["env", "fsdp", "--format", "docker", "--memory-fraction", "0.8"], {}),
    "env-compose": (["env", "fsdp", "--format", "compose"], {}),
    "env-kubernetes": (["env", "fsdp", "--format", "kubernetes"], {}),
    "env-slurm": (["env", "fsdp", "--format", "slurm"], {}),
    "env-ray": (["env", "fsdp", "--format", "ray"], {}),
    "env-json": (["env", "fsdp", "--json"], {}),
    "env-wrong": (["env", "fsdp", "--flag", "xla_gpu_autotune_levle=1"], {}),
    "plan": (["plan", "fsdp", "--memory-fraction", "0.9"], {"XLA_FLAGS": OLD}),
    "plan-verbose": (["plan", "fsdp", "-v"], {"XLA_FLAGS": OLD}),
    "plan-diff": (["plan", "fsdp", "--diff", "--env", "NCCL_DEBUG=INFO"], {"XLA_FLAGS": OLD}),
    "plan-nothing": (["plan", "while_loop"], {}),
    "check": (["check"], {"XLA_FLAGS": f"{OLD} --xla_gpu_autotune_levle=2 –xla_dump_to=x"}),
    "check-good": (["check", "--xla_gpu_autotune_level=2"], {}),
    "check-json": (["check", "--json", "--xla_gpu_autotune_level=x"], {}),
    "explain-flag": (["explain", "--xla_gpu_graph_level"], {}),
    "explain-variable": (["explain", "XLA_PYTHON_CLIENT_MEM_FRACTION"], {}),
    "flags": (["flags", "--grep", "combine_threshold|autotune"], {}),
    "flags-json": (["flags", "--grep", "autotune_level$", "--jaxlib", "0.5.1", "--json"], {}),
    "diff": (["diff", "0.7.1", "0.7.2"], {}),
    "diff-mine": (["diff", "0.4.30", "0.11.2", "--mine"], {"XLA_FLAGS": OLD}),
    "diff-json": (["diff", "0.7.1", "0.11.2", "--flags", OLD, "--json"], {}),
    "migrate": (["migrate", "--to", "0.11.2"], {"XLA_FLAGS": OLD}),
    "migrate-files": (
        [
            "migrate",
            "--to",
            "0.11.2",
            *(
                part
                for name in ("train.py", "job.sh", "Dockerfile", "job.yaml", "nb.ipynb", ".env")
                for part in ("--file", name)
            ),
        ],
        {},
    ),
    "explain-preset": (["explain", "decode"], {}),
    "presets": (["presets"], {}),
    "doctor-good": (["doctor"], {}),
    "doctor-preset": (["doctor", "decode"], {}),
    "doctor-bad": (
        ["doctor"],
        {
            "XLA_FLAGS": OLD,
            "JAX_PLATFORMS": "cpu",
            "CUDA_LAUNCH_BLOCKING": "1",
            "JAX_COORDINATOR_ADDRESS": "http://u:secret@h",
        },
    ),
    "doctor-no-gpu": (["doctor"], {"JAXGPU_TUNE_MACHINE": str(MACHINES / "no_gpu.json")}),
    "detect": (["detect"], {}),
    "detect-json": (["detect", "--json"], {"JAXGPU_TUNE_MACHINE": str(MACHINES / "no_gpu.json")}),
    "pgle-absent": (["pgle", "inspect", "absent.pb"], {}),
    "pgle-not-recorded": (["pgle", "use", "--store", "store", "--", "true"], {"JAXGPU_TUNE_MACHINE": HERE}),
    "profile-no-dashes": (["profile", "true", "--steps", "9"], {}),
    "profile-nothing": (["profile", "--", "no-such-command"], {}),
    "profile-wrong": (["profile", "--steps", "1", "--", "true"], {}),
    "compare-no-dashes": (["compare", "none", "fsdp"], {}),
    "compare-one": (["compare", "fsdp", "--", "python", "train.py"], {}),
    "tune-wrong": (["tune", "--budget", "soon", "--", "true"], {}),
    "tune-no-command": (["tune", "--budget", "20m"], {}),
    "bisect-nothing": (["bisect", "--", "true"], {}),
    "bisect-two": (["bisect", "--nan", "--slower", "5%", "--", "true"], {}),
    "run-nothing": (["run", "fsdp", "--", "no-such-command"], {"JAXGPU_TUNE_MACHINE": HERE}),
}


def test_every_command_has_a_case() -> None:
    """A new command is held too."""
    assert {arguments[0] for arguments, _ in CASES.values()} == set(COMMANDS)


@pytest.mark.parametrize("columns", [80, 140])
@pytest.mark.parametrize("name", CASES)
def test_what_is_printed(name: str, columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code, stdout and stderr."""
    arguments, environ = CASES[name]
    for file in FILES.iterdir():
        (tmp_path / file.name.removesuffix(".txt")).write_bytes(file.read_bytes())
    (tmp_path / HERE).write_text(json.dumps({"jax": version("jax"), "jaxlib": version("jaxlib")}))
    monkeypatch.chdir(tmp_path)
    for variable in [variable for variable in os.environ if variable.startswith(OURS)]:
        monkeypatch.delenv(variable)
    machine = {"JAXGPU_TUNE_MACHINE": str(MACHINES / "h100x8.json"), "COLUMNS": str(columns)}
    result = CliRunner().invoke(group, arguments, env=machine | environ, prog_name="jaxgpu-tune")
    told = _told(result.exit_code, result.stdout, result.stderr)
    assert told == golden(GOLDEN / f"{name}-{columns}.txt", told)


HELPED = ("", *COMMANDS, *(f"pgle {name}" for name in OF_PGLE))


@pytest.mark.parametrize("name", HELPED)
def test_what_may_be_typed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Usage, options with what they take and their defaults, and subcommands, as the help of each command shows them."""
    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(group, [*name.split(), "--help"], prog_name="jaxgpu-tune")
    usage, _, rest = result.stdout.partition("\n\n")
    listed = (part for part in rest.split("\n\n") if part.startswith(("Options:", "Commands:")))
    told = "\n\n".join((usage, *listed)).rstrip() + "\n"
    assert told == golden(GOLDEN / f"help-{name.replace(' ', '-') or 'all'}.txt", told)


def _told(status: int, stdout: str, stderr: str) -> str:
    """Without what belongs to the host."""
    text = f"{stdout}--- stderr\n{stderr}--- exit code {status}\n".replace(f"{ROOT}/", "")
    return re.sub(
        r"jaxgpu_tune \d+\.\d+\.\d+, Python \S+, \w+ \w+", "jaxgpu_tune VERSION, Python VERSION, SYSTEM", text
    )
