"""``plan``: what a preset would do here, in short, in full, as changes of variables, and as JSON."""

from __future__ import annotations

import json

import pytest

import jaxgpu_tune
from jaxgpu_tune.host.marker import MARKER
from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")


def test_in_short_and_with_every_reason() -> None:
    """What is not emitted is in the details only."""
    short, full = call("plan", "fsdp"), call("plan", "fsdp", "-v")
    assert short.exit_code == full.exit_code == 0
    assert short.stdout.startswith("fsdp: planned, not applied;") and full.stdout.startswith("fsdp: planned")
    assert "Environment" in full.stdout.splitlines() and "Environment" not in short.stdout.splitlines()


def test_as_json_it_is_the_report_of_plan() -> None:
    """For another jaxlib, too."""
    told = json.loads(call("plan", "fsdp", "--jaxlib", "0.5.1", "--memory-fraction", "0.5", "--json").stdout)
    assert told["xla_flags"] == jaxgpu_tune.plan("fsdp", jaxlib="0.5.1", memory_fraction=0.5).xla_flags
    assert told["machine"]["jaxlib"] == "0.5.1"


def test_the_changes_are_lines_of_old_and_new_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is removed has no new one; the marker is not the user's affair."""
    monkeypatch.setenv("NCCL_DEBUG", "WARN")
    monkeypatch.setenv("NCCL_ALGO", "Ring")
    lines = call("plan", "--env", "NCCL_DEBUG=INFO", "--no-env", "NCCL_ALGO", "--diff").stdout.splitlines()
    assert lines == ["-NCCL_DEBUG=WARN", "+NCCL_DEBUG=INFO", "-NCCL_ALGO=Ring"]
    assert MARKER not in call("plan", "fsdp", "--diff").stdout


def test_where_nothing_would_change_that_is_said() -> None:
    assert call("plan", "--diff").stdout == "Nothing would change.\n"


def test_an_error_ends_it_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is printed all the same."""
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_autotune_level=high")
    done = call("plan")
    assert done.exit_code == 1 and "error (" in done.stdout and "xla_gpu_autotune_level" in done.stdout
