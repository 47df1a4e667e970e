"""How far a real jax has started, each in a child process."""

from __future__ import annotations

import sys
from enum import Enum
from types import ModuleType, SimpleNamespace

import pytest

from jaxgpu_tune.host.phase import MISSING, joined_job, option_as_text, option_value, users_of_jax
from tests.child import run

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
    assert run(code, timeout=300).value == "started"


def test_r85_asking_starts_no_backend() -> None:
    """jax.distributed.initialize() still works afterwards."""
    code = "import os, jax\nfrom jaxgpu_tune.host.detect import detect_machine\ndetect_machine(os.environ)\n"
    assert run(code + "from jax._src import xla_bridge as b; tell(b.backends_are_initialized())").value is False


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("", None),
        ("import jax\n", {}),
        ("import jax; jax.config.update('jax_enable_x64', True)\n", {"jax_enable_x64": True}),
        ("import jax; jax.config.update('jax_platforms', '')\n", {}),
        ("import jax; jax.config.update('jax_platforms', 'cpu')\n", {"jax_platforms": "cpu"}),
        (
            "import jax; jax.config.update('jax_default_matmul_precision', 'highest')\n",
            {"jax_default_matmul_precision": "highest"},
        ),
    ],
)
def test_live_options_are_those_that_differ_from_jaxs_own(before: str, expected: dict[str, object] | None) -> None:
    """Of a real jax; None where it is not imported."""
    ask = "from jaxgpu_tune.host.packages import installed_versions\ntell(live_config(installed_versions().jax))"
    assert run(before + ASK + ask).value == expected


def test_a_live_option_that_came_by_its_variable() -> None:
    """jax has read it by then."""
    ask = "from jaxgpu_tune.host.packages import installed_versions\ntell(live_config(installed_versions().jax))"
    assert run("import jax\n" + ASK + ask, JAX_ENABLE_X64="1").value == {"jax_enable_x64": True}


def test_an_option_is_an_attribute_or_a_value_of_jax_config() -> None:
    """An attribute counts first: in a context manager it is the thread's own."""
    config = SimpleNamespace(values={"one": 1, "both": 1}, both=2, alone=3)
    assert [option_value(config, name) for name in ("one", "both", "alone")] == [1, 2, 3]
    assert option_value(config, "none") is MISSING and option_value(None, "one") is MISSING


def test_an_option_of_an_enum_is_a_word() -> None:
    """By its value where that is one, else by its name."""

    class Level(Enum):
        O1 = 31
        HIGH = "highest"

    assert (
        option_as_text(Level.O1),
        option_as_text(Level.HIGH),
        option_as_text("x"),
        option_as_text(3),
        option_as_text(None),
    ) == ("o1", "highest", "x", 3, None)


def test_the_packages_that_hold_jax_at_the_top(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name of the package, each once; jax's own and this library's do not count."""
    jax = ModuleType("jax")
    modules = {
        "jax": jax,
        "jaxlib.inner": SimpleNamespace(jax=jax),
        "user.part": SimpleNamespace(j=jax),
        "user.other": SimpleNamespace(j=jax),
        "another": SimpleNamespace(jnp=jax),
        "harmless": SimpleNamespace(math=1),
        "odd": None,
    }
    monkeypatch.setattr(sys, "modules", modules)
    assert users_of_jax() == ("another", "user")


def test_a_job_is_joined_between_initialize_and_shutdown(monkeypatch: pytest.MonkeyPatch) -> None:
    state = SimpleNamespace(client=None, process_id=1, num_processes=4)
    monkeypatch.setitem(sys.modules, "jax._src.distributed", SimpleNamespace(global_state=state))
    assert joined_job() is None
    state.client = object()
    found = joined_job()
    assert found is not None and (found.rank, found.count, found.client) == (1, 4, state.client)
