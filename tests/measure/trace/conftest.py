"""Traces are read here by this library's own reader, also where another test has imported jax: JAX's, which is compiled, runs in a process of its own."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def _own_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an environment without jax."""
    for name in ("jax", "jax.profiler"):
        monkeypatch.setitem(sys.modules, name, None)
