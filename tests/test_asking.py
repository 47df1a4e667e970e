"""The signature of configure() and of what plans alike: typed, shown, and strict about names and values, all at once."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune.arguments import Arguments
from jaxgpu_tune.asking import observe_fresh
from jaxgpu_tune.planning.request import Request, make_request

CALLS = (
    jaxgpu_tune.configure,
    jaxgpu_tune.plan,
    jaxgpu_tune.environ,
    jaxgpu_tune.compiler_options,
    jaxgpu_tune.configured,
)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_the_signature_names_every_argument(call: object) -> None:
    """As help() and editors show it: by name, with type and default, and with the function's own result."""
    shown = inspect.signature(call)  # type: ignore[arg-type]
    assert set(Arguments.__annotations__) < set(shown.parameters)
    assert shown.parameters["prefer"].default == "existing" and shown.parameters["flags"].default is None
    assert shown.return_annotation == call.__annotations__["return"]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_a_misspelt_argument_is_told_with_the_nearest(call: object) -> None:
    """As a BadSetting, which is a TypeError too, as of every Python function."""
    with pytest.raises(jaxgpu_tune.BadSetting, match=r"'memory_fracton'. Did you mean memory_fraction=\?") as caught:
        call(memory_fracton=0.5)  # type: ignore[operator]
    assert isinstance(caught.value, TypeError)


def test_all_problems_of_a_call_come_at_once() -> None:
    """Names and values of arguments, the preset, and flags, each once."""
    with pytest.raises(jaxgpu_tune.BadSetting) as caught:
        jaxgpu_tune.plan(
            "fsdpp",
            environ={},
            memory_fraction=1.7,
            flags={"xla_gpu_autotune_lvel": 3},
            transfer_guard="disalow",  # type: ignore[typeddict-item]
            prefer="presett",  # type: ignore[typeddict-item]
            platfrom="cpu",  # type: ignore[call-arg]
            devices=0,
        )
    told = [finding.message for finding in caught.value.findings]
    for part in ("fsdpp", "memory_fraction", "autotune_lvel", "disalow", "presett", "platfrom", "devices"):
        assert sum(f"'{part}" in line or part in line.split(":")[0] for line in told) >= 1, part
    assert len(told) == 7


def test_defaults_are_those_of_the_request() -> None:
    """What is left out and what is None mean the same."""
    nothing = dict.fromkeys(Arguments.__annotations__)
    assert jaxgpu_tune.plan("auto", environ={}, **nothing) == jaxgpu_tune.plan("auto", environ={})  # type: ignore[typeddict-item]
    assert Request().late == "raise"


def test_a_machine_file_is_taken_by_its_path(tmp_path: Path) -> None:
    """As a Machine is; one that cannot be read is told with what else is wrong."""
    file = tmp_path / "machine.json"
    file.write_text('{"gpus": [{"compute_capability": "9.0", "count": 8}], "jaxlib": "0.5.1"}')
    assert len(jaxgpu_tune.plan(environ={}, machine=file).machine.gpus or ()) == 8
    with pytest.raises(jaxgpu_tune.BadSetting, match=r"none\.json") as caught:
        jaxgpu_tune.plan(environ={}, machine=tmp_path / "none.json", devices=0)
    assert len(caught.value.findings) == 2


def test_who_calls_is_the_module_outside_of_the_library() -> None:
    """The program itself by no name."""
    places: dict[str, dict[str, str]] = {
        name: {"__name__": name} for name in ("mine.train", "__main__", "jaxgpu_tune.api")
    }
    code = "from jaxgpu_tune.asking import caller\nsaid = caller()"
    for place in places.values():
        exec(code, place)
    assert places["mine.train"]["said"] == "configure() in mine.train"
    assert places["__main__"]["said"] == "configure()"
    assert places["jaxgpu_tune.api"]["said"] == f"configure() in {__name__}"


def test_for_another_release_what_is_installed_here_does_not_count() -> None:
    """Its plugins and libraries would be those of this one."""
    seen = observe_fresh(make_request(), {"A": "b"}, "0.5.1")
    assert (seen.machine.jaxlib, seen.machine.jax, seen.machine.plugins, seen.live) == ("0.5.1", "0.5.1", None, False)
    assert seen.environ == {"A": "b"} and observe_fresh(make_request(), {}, None).machine.jaxlib is not None
    with pytest.raises(jaxgpu_tune.BadSetting, match="newest"):
        observe_fresh(make_request(), {}, "newest")
