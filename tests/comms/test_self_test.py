"""The program that the kernels are tried with: it passes for sums that are those of lax.psum, and for no others."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh

from jaxgpu_tune.comms import launch
from jaxgpu_tune.comms.launch import Setup
from jaxgpu_tune.comms.self_test import WAIT_NS, try_kernels
from jaxgpu_tune.comms.staging import empty_state
from tests.comms.lowering import SETUP

MESH = Mesh(np.array(jax.devices()[:1]), ("tp",))


def tried(monkeypatch: pytest.MonkeyPatch, sums: Any, setup: Setup = SETUP) -> Setup:
    """With such sums in the place of the kernels'; the setup that they were called with."""
    seen: list[Setup] = []

    def psum(setup: Setup, x: jax.Array, _state: jax.Array) -> Any:
        seen.append(setup)
        return sums(lax.psum(x, setup.axis))

    monkeypatch.setattr(launch, "psum", psum)
    try_kernels(setup, empty_state(MESH), MESH)
    return seen[0]


def test_right_sums_pass_with_a_probe_that_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits ten seconds for a peer, though the user would wait longer."""
    patient = SETUP._replace(timeout_ns=10 * WAIT_NS)
    assert tried(monkeypatch, lambda total: total, patient) == patient._replace(gives_up=True, timeout_ns=WAIT_NS)


def test_a_wrong_sum_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """One element that is no number is enough."""
    with pytest.raises(RuntimeError, match=r"differ from lax\.psum's by up to nan"):
        tried(monkeypatch, lambda total: total.at[..., -1].set(jnp.nan))
