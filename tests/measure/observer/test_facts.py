"""What a process tells of itself: its rank, its devices, how it ended."""

from __future__ import annotations

import sys

import jax
import pytest
from jax._src import distributed

from jaxgpu_tune.measure.observer.facts import (
    AT_COMPUTATION,
    AT_IMPORT,
    AT_START,
    RANKS,
    device_facts,
    on_gpu,
    pgle,
    place,
    settings,
    shown_exception,
)


@pytest.mark.parametrize(
    ("told", "rank"),
    [
        ({}, None),
        ({"RANK": "3"}, 3),
        ({"SLURM_PROCID": "0", "RANK": "3"}, 0),
        ({"SLURM_PROCID": "", "PMI_RANK": "2"}, 2),
        ({"OMPI_COMM_WORLD_RANK": "no", "RANK": "1"}, 1),
    ],
)
def test_a_launchers_word_counts_until_jax_knows(
    told: dict[str, str], rank: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several variables the first that holds a number."""
    for name in RANKS:
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert place() == {"rank": rank, "processes": None}
    for name, value in (("client", object()), ("process_id", 5), ("num_processes", 8)):
        monkeypatch.setattr(distributed.global_state, name, value)
    assert place() == {"rank": 5, "processes": 8}


def test_devices_are_told_once_the_program_has_started_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not started for it."""
    jax.devices()
    first, *_ = device_facts()
    assert (first["id"], first["platform"]) == (0, "cpu") and len(device_facts()) == jax.local_device_count()
    assert not on_gpu()
    with monkeypatch.context() as before:
        before.setattr("jax._src.xla_bridge._backends", {})
        assert device_facts() == []
    monkeypatch.delitem(sys.modules, "jax._src.xla_bridge")
    assert device_facts() == [] and not on_gpu()


def test_automatic_profiles_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not pgle()
    monkeypatch.setitem(sys.modules, "jax", None)  # type: ignore[arg-type]
    assert not pgle() and device_facts() == []


def test_the_exception_that_python_has_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first lines: a compiler's may be long."""
    monkeypatch.delattr(sys, "last_value", raising=False)
    assert shown_exception() is None
    monkeypatch.setattr(sys, "last_value", ValueError("no room" + "!" * 9999), raising=False)
    text = shown_exception()
    assert text is not None and text.startswith("ValueError: no room!") and len(text) == 4000


def test_settings_are_told_and_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Apart, by when they are read."""
    names = ("JAX_LOG_COMPILES", "XLA_FLAGS", "NCCL_PROTO")
    for name in (*names, "MY_TOKEN"):
        monkeypatch.setenv(name, "x")
    told = [settings(moment) for moment in (AT_IMPORT, AT_START, AT_COMPUTATION)]
    assert [[name for name in names if name in one] for one in told] == [[name] for name in names]
    assert not any("MY_TOKEN" in one for one in told)
