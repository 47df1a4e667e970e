"""What a shell offers: asked as bash asks, through click."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from jaxgpu_tune.cli.completion import offers
from jaxgpu_tune.cli.group import group
from jaxgpu_tune.knowledge import options
from jaxgpu_tune.knowledge.presets import preset_names


def offered(*words: str) -> list[str]:
    """The completions of the last word."""
    shell = ShellComplete(group, {}, "jaxgpu-tune", "_JAXGPU_TUNE_COMPLETE")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize(
    "command", [("plan",), ("env",), ("run",), ("doctor",), ("explain",), ("pgle", "use", "--preset")]
)
def test_presets_are_offered(command: tuple[str, ...]) -> None:
    assert [name for name in offered(*command, "fs") if name in preset_names()] == ["fsdp"]


def test_several_presets_and_variants() -> None:
    assert offered("env", "fsdp+repro") == ["fsdp+reproducible"]
    assert "fsdp+fsdp" not in offered("env", "fsdp+") and "none" in offered("compare", "n")


@pytest.mark.parametrize("option", ["--flag", "--no-flag"])
def test_flags_are_offered(option: str) -> None:
    assert offered("plan", option, "xla_gpu_autotune_lev") == ["xla_gpu_autotune_level"]
    assert offered("env", option, "no_such") == ["no_such"]  # left to the shell, which knows files


def test_variables_and_options_are_offered() -> None:
    assert offered("run", "--env", "NCCL_NVLS_E") == ["NCCL_NVLS_ENABLE"]
    assert "XLA_PYTHON_CLIENT_PREALLOCATE" in offered("plan", "--no-env", "XLA_PYTHON_CLIENT_P")
    assert offered("plan", "--config", "jax_enable_x") == ["jax_enable_x64"]


def test_values_that_are_known_are_offered() -> None:
    assert offers("flag", "xla_gpu_enable_latency_hiding_scheduler=") == [
        f"xla_gpu_enable_latency_hiding_scheduler={value}" for value in ("true", "false")
    ]
    assert offers("env", "NCCL_DEBUG=IN") == ["NCCL_DEBUG=INFO"]
    assert offers("config", "jax_enable_x64=t") == ["jax_enable_x64=true"]
    for name in options.names(None):  # each as the table has it
        known = options.option(name, None)
        if known is not None and known.type != "bool" and known.values:
            assert offers("config", f"{name}=") == [f"{name}={value}" for value in known.values]
    assert offers("flag", "xla_no_such=") == offers("env", "NO_SUCH=") == offers("config", "jax_no_such=") == []


@pytest.mark.parametrize("command", ["explain", "check", "migrate"])
def test_a_flag_with_its_dashes_is_a_word(command: str) -> None:
    """And the command's own options are offered beside it."""
    assert "--xla_gpu_autotune_level" in offered(command, "--xla_gpu_autotune_lev") and "--json" in offered(
        command, "--js"
    )


def test_bash_asks_the_hurried_commands_too() -> None:
    """As the script that bash evaluates does."""
    environ = {
        **os.environ,
        "_JAXGPU_TUNE_COMPLETE": "bash_complete",
        "COMP_WORDS": "jaxgpu-tune env fs",
        "COMP_CWORD": "2",
    }
    code = "import sys; sys.argv = ['jaxgpu-tune']; from jaxgpu_tune.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["plain,fsdp"], done.stderr


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("check", "--file", ""), "file"),
        (("plan", "--machine", ""), "file"),
        (("plan", "--compilation-cache", ""), "dir"),
        (("compare", "--keep", ""), "dir"),
        (("profile", "--keep", ""), "dir"),
        (("bisect", "--folder", ""), "dir"),
        (("pgle", "record", "--store", ""), "dir"),
        (("pgle", "inspect", ""), "file"),
        (("pgle", "convert", "x", ""), "file"),
        (("pgle", "diff", "a", ""), "file"),
    ],
)
def test_a_path_is_left_to_the_shell_as_what_it_is(words: tuple[str, ...], kind: str) -> None:
    shell = ShellComplete(group, {}, "jaxgpu-tune", "_JAXGPU_TUNE_COMPLETE")
    assert kind in [item.type for item in shell.get_completions(list(words[:-1]), words[-1])]
