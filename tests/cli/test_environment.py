"""What of a planned environment is said: all of it, or what differs here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jaxgpu_tune import plan
from jaxgpu_tune.cli.environment import all_settings, changes_of
from tests.fleet import machine

if TYPE_CHECKING:
    import pytest


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
