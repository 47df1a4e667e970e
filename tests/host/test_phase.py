"""How far a real jax has started, each in a child process."""

from __future__ import annotations

import pytest

from child import run

ASK = "from jaxgpu_tune.host.phase import phase, live_config\n"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("", "not-imported"),
        ("import jax\n", "imported"),
        ("import jax; jax.config.update('jax_platforms', 'cpu')\n", "imported"),
        ("import jax; jax.devices()\n", "started"),
    ],
)
def test_phase(before: str, expected: str) -> None:
    """Only a backend makes it "started"."""
    assert run(before + ASK + "tell(phase())").value == expected


def test_asking_imports_nothing() -> None:
    """Neither jax nor anything of it."""
    assert (
        run(
            ASK
            + "import sys; phase(); live_config(None); tell(sorted(m for m in sys.modules if m.startswith('jax') and 'gpu' not in m))"
        ).value
        == []
    )


def test_a_backend_that_is_starting_counts_and_is_not_waited_for() -> None:
    """The lock is held by whoever starts one; asking must not block."""
    code = "import jax; from jax._src import xla_bridge as b\n" + ASK + "with b._backend_lock:\n    tell(phase())"
    assert run(code, timeout=60).value == "started"


def test_r85_asking_starts_no_backend() -> None:
    """jax.distributed.initialize() still works afterwards."""
    code = "import os, jax\nfrom jaxgpu_tune.host.detect import detect_machine\ndetect_machine(os.environ)\n"
    assert run(code + "from jax._src import xla_bridge as b; tell(b.backends_are_initialized())").value is False
