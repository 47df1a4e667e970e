"""What is set already, as wishes; and the flags that no table vouches for."""

from __future__ import annotations

import pytest

from jaxgpu_tune.model import Observation
from jaxgpu_tune.planning.merging.inherit import inherit, read_flags, unlisted_flags
from jaxgpu_tune.planning.release.target import target_of
from jaxgpu_tune.planning.request import make_request
from tests.fleet import machine

HERE = target_of(machine())
LEVEL, GRAPHS = "xla_gpu_autotune_level", "xla_gpu_enable_command_buffer"


def seen(xla_flags: str = "", **more: object) -> Observation:
    """What is there, with variables by capital names."""
    environ = {name: str(value) for name, value in more.items() if name.isupper()}
    rest = {name: value for name, value in more.items() if not name.isupper()}
    return Observation(machine(), {**({"XLA_FLAGS": xla_flags} if xla_flags else {}), **environ}, **rest)  # type: ignore[arg-type]


def wishes(observation: Observation, *wanted: str) -> list[tuple[str, str, object]]:
    """(kind, name, value) of what is inherited."""
    found = inherit(observation, read_flags(observation, HERE), wanted, HERE)
    assert {one.origin for one in found.wishes} <= {"existing"}
    return [(one.kind, one.name, one.value) for one in found.wishes]


def test_flags_that_no_release_has_or_whose_word_is_new_are_asked_about() -> None:
    """Of what is set and of what is asked for; what is removed needs no asking, nor do variables."""
    there = seen(f"--xla_strange=1 --{LEVEL}=2 --{GRAPHS}=NEW_KIND")
    asked = {"xla_other": "a b", LEVEL: 3, "xla_gone": None}
    request = make_request("auto", {"flags": asked, "env": {"xla_env": "1"}})
    assert list(unlisted_flags(request, there, HERE)) == [
        ("xla_strange", "--xla_strange=1"),
        (GRAPHS, f"--{GRAPHS}=NEW_KIND"),
        ("xla_other", '--xla_other="a b"'),
    ]
    mine = make_request("auto", {"flags": {GRAPHS: "OTHER_KIND"}})
    assert [name for name, _ in unlisted_flags(mine, seen(), HERE)] == [GRAPHS]
    assert list(unlisted_flags(make_request("auto", {"flags": {LEVEL: "many"}}), seen(), HERE)) == []
    assert list(unlisted_flags(make_request(), seen(f"--{GRAPHS}"), HERE)) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [("NCCL_ALGO", "Ring"), ("XLA_PYTHON_CLIENT_ALLOCATOR", "bfc"), ("CUDA_DEVICE_MAX_CONNECTIONS", "1")],
)
def test_variables_of_nccl_xla_and_cuda_are_inherited(name: str, text: str) -> None:
    """Others where they are wanted."""
    assert ("env", name, text) in wishes(seen(**{name: text, "MINE": "1"}))
    assert ("env", "MINE", "1") not in wishes(seen(MINE="1"))
    assert ("env", "MINE", "1") in wishes(seen(MINE="1"), "MINE")


def test_what_was_taken_out_since_is_a_wish_that_it_be_gone() -> None:
    """Of a flag, a variable, an option; not what stands there again, nor an option of a live jax."""
    edits = {f"--{LEVEL}": 1, "NCCL_ALGO": 1, "JAX_ENABLE_X64": 1, "--xla_dump_to": 1}
    there = seen("--xla_dump_to=a", edits=edits)
    gone = [one for one in wishes(there) if one[2] is None]
    assert gone == [("xla_flag", LEVEL, None), ("jax_config", "jax_enable_x64", None), ("env", "NCCL_ALGO", None)]
    live = wishes(there._replace(jax_config={}))
    assert ("jax_config", "jax_enable_x64", None) not in live and ("xla_flag", LEVEL, None) in live


def test_options_come_from_a_live_jax_before_their_variables() -> None:
    """A variable is read in capitals only, and empty ones are none."""
    there = seen(JAX_ENABLE_X64="1", JAX_DEBUG_NANS="1", JAX_LOG_COMPILES="")
    assert wishes(there) == [("jax_config", "jax_debug_nans", True), ("jax_config", "jax_enable_x64", True)]
    live = there._replace(jax_config={"jax_enable_x64": False})
    assert wishes(live) == [("jax_config", "jax_enable_x64", False)]
    assert wishes(there._replace(jax_config={}, environ={"JAX_DEBUG_NANS": "0"})) == [
        ("jax_config", "jax_debug_nans", False)
    ]
    damaged = seen(jax_config={"jax_platforms": "'cuda'"})
    assert wishes(damaged) == [("jax_config", "jax_platforms", "cuda")]
