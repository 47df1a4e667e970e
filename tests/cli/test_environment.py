"""What of a planned environment is said: all of it, or what differs here."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune import plan
from jaxgpu_tune.cli.environment import all_settings, changes_of, planned
from jaxgpu_tune.host import detect
from tests.child import ROOT
from tests.cli.typed import call
from tests.fleet import machine

H100X8 = str(ROOT / "tests" / "machines" / "h100x8.json")

ENVIRONS = st.dictionaries(st.sampled_from("ABCDE"), st.sampled_from(["", "1", "2"]))


def test_what_to_change_here_and_what_to_take_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in (("SAME", "1"), ("OTHER", "old"), ("GONE", "x")):
        monkeypatch.setenv(name, value)
    changes = changes_of({"SAME": "1", "OTHER": "new", "NEW": ""})
    assert changes == {"OTHER": "new", "NEW": "", "GONE": None} and list(changes) == ["NEW", "OTHER", "GONE"]


def test_a_process_that_inherits_nothing_needs_what_was_set_here_too() -> None:
    """Flags, variables and options, ours and those that were there; nothing else of this environment."""
    inherited = {"XLA_FLAGS": "--xla_dump_to=a", "NCCL_DEBUG": "INFO", "JAX_ENABLE_X64": "1", "HOME": "/h"}
    report = plan(machine=machine(), environ=inherited, env={"NCCL_ALGO": "Ring", "NCCL_DEBUG": None})
    final = {**inherited, "NCCL_ALGO": "Ring", "JAXGPU_TUNE_STATE": "{}"}
    del final["NCCL_DEBUG"]
    assert all_settings(report, final) == {
        "XLA_FLAGS": "--xla_dump_to=a",
        "NCCL_ALGO": "Ring",
        "JAX_ENABLE_X64": "1",
        "JAXGPU_TUNE_STATE": "{}",
        "NCCL_DEBUG": None,
    }
    assert all_settings(report, {"XLA_FLAGS": "x", "HOME": "/h"}) == {"XLA_FLAGS": "x", "NCCL_DEBUG": None}


@given(now=ENVIRONS, final=ENVIRONS)
def test_the_changes_lead_from_this_environment_to_the_other(now: dict[str, str], final: dict[str, str]) -> None:
    """And name nothing that stays."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", dict(now))
        changes = changes_of(final)
    after = {name: value for name, value in {**now, **changes}.items() if value is not None}
    assert after == final
    assert all(now.get(name) != value for name, value in changes.items())


@pytest.mark.usefixtures("machine")
def test_which_gpus_a_job_may_use_is_said_where_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its scheduler or its container, whatever is set on this host."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    report, final = planned("fsdp", {"env": {"NCCL_DEBUG": "INFO"}})
    told = all_settings(report, final)
    assert final["CUDA_VISIBLE_DEVICES"] == "0" and "CUDA_VISIBLE_DEVICES" not in told
    assert told["NCCL_DEBUG"] == "INFO" and told["XLA_FLAGS"] == report.xla_flags
    (call,) = json.loads(final["JAXGPU_TUNE_STATE"])["calls"]
    assert call[1] == "jaxgpu-tune" and call[2]["preset"] == "fsdp"


WITHOUT = "note: No GPU is seen here, so this is for a machine without GPUs."


@pytest.mark.usefixtures("login_node")
@pytest.mark.parametrize("command", [("plan", "fsdp"), ("env", "fsdp"), ("check",), ("check", "--xla_dump_to=x")])
def test_that_no_gpu_is_seen_is_told_with_what_to_do(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where it is meant so, and not of a machine that is described."""
    said = call(*command)
    assert said.stderr.startswith(WITHOUT) and "--machine node.json" in said.stderr and WITHOUT not in said.stdout
    words = (*command[:-1], "--machine", H100X8, command[-1]) if len(command) > 1 else (*command, "--machine", H100X8)
    assert WITHOUT not in call(*words).stderr
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert WITHOUT not in call(*command).stderr
    monkeypatch.delenv("JAX_PLATFORMS")
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", H100X8)
    assert WITHOUT not in call(*command).stderr


@pytest.mark.usefixtures("login_node")
def test_a_cuda_build_without_a_gpu_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the plan's own finding, which says what to do as well."""
    packages = detect.installed_versions()
    there = packages._replace(plugins={"jax-cuda12-plugin": packages.jaxlib or ""})
    monkeypatch.setattr(detect, "installed_versions", lambda: there)
    said = call("plan", "fsdp")
    assert "error (no-gpu)" in said.stdout and "--machine" in said.stdout and WITHOUT not in said.stderr
    assert WITHOUT in call("check").stderr
