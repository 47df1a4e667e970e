"""The signature of configure() and of what plans alike: typed, shown, and strict about names and values, all at once."""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import get_type_hints

import pytest

import jaxgpu_tune
from jaxgpu_tune.arguments import Arguments
from jaxgpu_tune.planning.request import Request

ROOT = Path(__file__).resolve().parent.parent
CALLS = (
    jaxgpu_tune.configure,
    jaxgpu_tune.plan,
    jaxgpu_tune.environ,
    jaxgpu_tune.compiler_options,
    jaxgpu_tune.configured,
)
RIGHT = """
    import os
    import jaxgpu_tune
    from jaxgpu_tune import Report

    report: Report = jaxgpu_tune.configure("fsdp", memory_fraction=0.9, flags={"xla_gpu_autotune_level": 2}, late="warn")
    jaxgpu_tune.plan(prefer="preset", environ={}, jaxlib="0.5.1", compilation_cache=False, machine="machine.json")
    text: dict[str, str] = jaxgpu_tune.environ("auto", base=os.environ, env={"NCCL_DEBUG": None}, jaxlib="0.5.1")
    options: dict[str, object] = jaxgpu_tune.compiler_options(pgle="auto", jaxlib="0.11.2")

    @jaxgpu_tune.configured("fsdp", transfer_guard="log", memory_fraction="auto")
    def main(steps: int) -> float:
        return steps / 2

    half: float = main(3)
"""
WRONG = (
    'configure("fsdp", memory_fracton=0.5)',
    'configure(prefer="presett")',
    'plan(late="never")',
    'environ(memory_fraction="most")',
    'configured(platform="gpu")',
    'compiler_options(transfer_guard="disalow")',
    "configure(flags=[])",
)


def checker(name: str) -> list[str]:
    """The command of a type checker; skips where it is not here."""
    if name == "mypy":
        return [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    found = shutil.which("basedpyright", path=str(Path(sys.executable).parent)) or shutil.which("pyright")
    return [found, "--level", "error"] if found else pytest.skip("pyright is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mypy", "pyright"])
def test_type_checkers_know_the_arguments(name: str, tmp_path: Path) -> None:
    """A right program passes; each wrong line of another is told, at its line."""
    command = checker(name)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}))
    (tmp_path / "right.py").write_text(dedent(RIGHT))
    (tmp_path / "wrong.py").write_text("import jaxgpu_tune\n" + "".join(f"jaxgpu_tune.{line}\n" for line in WRONG))
    right, wrong = (
        subprocess.run([*command, f"{part}.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
        for part in ("right", "wrong")
    )
    assert right.returncode == 0, right.stdout
    assert all(f"wrong.py:{number}:" in wrong.stdout for number in range(2, len(WRONG) + 2)), wrong.stdout


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_the_signature_names_every_argument(call: object) -> None:
    """As help() and editors show it: by name, with type and default, and with the function's own result."""
    shown = inspect.signature(call)  # type: ignore[arg-type]
    assert set(Arguments.__annotations__) < set(shown.parameters)
    assert shown.parameters["prefer"].default == "existing" and shown.parameters["flags"].default is None
    assert shown.return_annotation == call.__annotations__["return"]


def test_every_argument_is_explained() -> None:
    """In the one docstring that lists them."""
    told = inspect.getdoc(Arguments) or ""
    assert [name for name in Arguments.__annotations__ if f"\n    {name}: " not in told] == []
    assert set(get_type_hints(Arguments)) == set(Arguments.__annotations__)


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
    for part in ("fsdpp", "XLA_CLIENT_MEM_FRACTION", "autotune_lvel", "disalow", "presett", "platfrom", "devices"):
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
