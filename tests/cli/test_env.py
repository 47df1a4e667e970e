"""``env``: what a shell evaluates, and what else it prints."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest

import jaxgpu_tune
from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")


def test_env_is_code_that_a_shell_evaluates() -> None:
    """With it evaluated, a program finds the flags, and the marker that tells where they come from."""
    code = call("env", "fsdp").stdout
    done = subprocess.run(["sh", "-c", f"{code}\nenv -0"], env={}, capture_output=True, text=True, check=True)
    found = dict(line.split("=", 1) for line in done.stdout.split("\0") if line)
    assert "--xla_gpu_pipeline_all_gather=on" in found["XLA_FLAGS"]
    assert json.loads(found["JAXGPU_TUNE_STATE"])["calls"] == [[1, "jaxgpu-tune env", {"preset": "fsdp"}]]


def test_env_in_json_agrees_with_the_code() -> None:
    """``--json`` and ``--format json`` are the same."""
    changes = json.loads(call("env", "fsdp", "--json").stdout)
    assert changes == json.loads(call("env", "fsdp", "--format", "json").stdout)
    assert f"export XLA_FLAGS={shlex.quote(changes['XLA_FLAGS'])}" in call("env", "fsdp").stdout


def test_env_takes_every_kind_of_setting() -> None:
    """Flags, variables and options, set and removed; typed where options are."""
    given = ("--flag", "xla_gpu_autotune_level=2", "--variable", "NCCL_DEBUG=INFO", "--config", "jax_debug_nans=true")
    changes = json.loads(call("env", "fsdp", *given, "--memory-fraction", "0.5", "--json").stdout)
    assert "--xla_gpu_autotune_level=2" in changes["XLA_FLAGS"]
    assert changes["NCCL_DEBUG"] == "INFO"
    assert changes["JAX_DEBUG_NANS"].lower() in ("1", "true")
    assert "0.5" in {value for name, value in changes.items() if "MEM_FRACTION" in name}


@pytest.mark.parametrize("line", ["env fsdp --cuda-graphs --format json", "env fsdp --no-cuda-graphs --format json"])
def test_env_for_another_jaxlib_speaks_its_words(line: str) -> None:
    """As plan(jaxlib=) does."""
    code = json.loads(call(*line.split(), "--jaxlib", "0.5.1").stdout)
    wanted = "--no-" not in line
    assert code["XLA_FLAGS"] == jaxgpu_tune.plan("fsdp", jaxlib="0.5.1", cuda_graphs=wanted).xla_flags
    assert ("--xla_gpu_enable_command_buffer=" in code["XLA_FLAGS"].split()) is not wanted


def test_env_removes_what_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an ``unset`` for a shell, null in JSON."""
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    assert "unset NCCL_DEBUG" in call("env", "fsdp", "--no-variable", "NCCL_DEBUG").stdout.split("\n")
    assert json.loads(call("env", "fsdp", "--no-variable", "NCCL_DEBUG", "--json").stdout)["NCCL_DEBUG"] is None


def test_env_keeps_findings_off_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    """They go to stderr, where no shell evaluates them."""
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_no_such_flag=1")
    result = call("env", "fsdp")
    assert "xla_gpu_no_such_flag" in result.stderr
    assert "no_such_flag" not in result.stdout.replace("JAXGPU_TUNE_STATE=", "\n").split("\n")[0]


def test_bytes_that_are_no_text_are_not_offered_another_format() -> None:
    """None could carry them."""
    result = call("env", "single_gpu", "--variable", "FOO=\udcff", "--format", "dotenv")
    assert result.exit_code == 2 and "Change the value." in result.stderr and "--format json" not in result.stderr


def test_undo_takes_back_what_env_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in json.loads(call("env", "fsdp", "--json").stdout).items():
        monkeypatch.setenv(name, value)
    done = call("env", "--undo", "--json")
    assert done.exit_code == 0
    undone = json.loads(done.stdout)
    assert {"XLA_FLAGS", "JAXGPU_TUNE_STATE"} <= set(undone) and set(undone.values()) == {None}
