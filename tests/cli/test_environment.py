"""The environment of a plan, as changes to this one and as a whole."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.cli.environment import all_settings, changes_of, planned
from jaxgpu_tune.host.marker import MARKER

ENVIRONS = st.dictionaries(st.sampled_from("ABCDE"), st.sampled_from(["", "1", "2"]))


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
def test_a_process_that_inherits_nothing_is_told_everything_but_the_gpus_of_this_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is set here already, options as their variables, what is removed; and nothing that is not the library's."""
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("MINE", "1")
    asked = {"jax_config": {"jax_debug_nans": True}, "env": {"NCCL_ALGO": None}}
    report, final = planned("fsdp", asked)
    told = all_settings(report, final)
    assert told["NCCL_DEBUG"] == "INFO" and told["XLA_FLAGS"] == report.xla_flags and MARKER in told
    assert told["JAX_DEBUG_NANS"] == final["JAX_DEBUG_NANS"]
    assert {"CUDA_VISIBLE_DEVICES", "MINE", "PATH"}.isdisjoint(told)
    assert "NCCL_ALGO" not in changes_of(final) and told.get("NCCL_ALGO", "absent") in (None, "absent")
