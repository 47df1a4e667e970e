"""What doctor says of settings that configure() would mend, which stay as they are in a program that does not call it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import jaxgpu_tune
from jaxgpu_tune.cli.group import group

MACHINE = Path(__file__).resolve().parents[1] / "machines" / "h200x2_captured.json"
KEPT = "--xla_gpu_autotune_level=2"


def doctor(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]) -> tuple[list[str], str]:
    """The variables it names as mended, and its screen."""
    for name in [name for name in os.environ if name.startswith(("XLA_", "JAX"))]:
        monkeypatch.delenv(name)
    ran = [
        CliRunner().invoke(group, ["doctor", *more], env={**environ, "JAXGPU_TUNE_MACHINE": str(MACHINE)})
        for more in (["--json"], [])
    ]
    return json.loads(ran[0].stdout)["mended"], ran[1].stdout


@pytest.mark.parametrize(
    ("environ", "mended"),
    [
        ({}, []),
        ({"XLA_FLAGS": KEPT}, []),
        ({"XLA_FLAGS": f"{KEPT} stray"}, ["XLA_FLAGS"]),
        ({"XLA_FLAGS": "/no/such/file"}, ["XLA_FLAGS"]),
        ({"XLA_FLAGS": "--xla_gpu_graph_level=0", "JAX_ENABLE_X64": "maybe"}, ["JAX_ENABLE_X64", "XLA_FLAGS"]),
        ({"XLA_CLIENT_MEM_FRACTION": ".5", "XLA_PYTHON_CLIENT_MEM_FRACTION": ".6"}, ["XLA_PYTHON_CLIENT_MEM_FRACTION"]),
    ],
)
def test_what_is_mended_is_named(environ: dict[str, str], mended: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """And only that: where nothing is, there is no such line."""
    found, screen = doctor(monkeypatch, environ)
    assert found == mended
    assert (f"repair {', '.join(mended)} as said here" in " ".join(screen.split())) == bool(mended)


@pytest.mark.parametrize(("flags", "mended"), [(KEPT, []), (f"{KEPT} stray", ["XLA_FLAGS"])])
def test_what_this_library_set_is_not_mended(flags: str, mended: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """In a child of a configured process: what counts is what its user had set."""
    base = {"XLA_FLAGS": flags, "JAXGPU_TUNE_MACHINE": str(MACHINE)}
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", str(MACHINE))
    environ = jaxgpu_tune.environ("fsdp", base=base)
    assert "JAXGPU_TUNE_STATE" in environ
    assert doctor(monkeypatch, environ)[0] == mended


MACHINES = Path(__file__).resolve().parents[1] / "machines"


@pytest.mark.parametrize("file", [*sorted(MACHINES.glob("*.json")), None], ids=lambda file: file and file.stem)
def test_the_headline_says_what_the_findings_say(file: Path | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors: it counts them, and the exit code is 1. None: nothing keeps JAX from the GPU."""
    for name in [name for name in os.environ if name.startswith(("XLA_", "JAX"))]:
        monkeypatch.delenv(name)
    if file:
        monkeypatch.setenv("JAXGPU_TUNE_MACHINE", str(file))
    told, screen = (CliRunner().invoke(group, ["doctor", *more]) for more in (["--json"], []))
    errors = sum(one["severity"] == "error" for one in json.loads(told.stdout)["findings"])
    begins = f"about to die here, for {errors} reason" if errors else "Nothing keeps JAX from the GPU here."
    assert begins in screen.stdout.splitlines()[0] and screen.exit_code == bool(errors)


def test_a_library_that_is_too_old_or_new_is_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX fails or runs on the CPU with it."""
    codes = set()
    for name in ("h100_cudnn_9_5", "v100_cudnn_9_24"):
        monkeypatch.setenv("JAXGPU_TUNE_MACHINE", str(MACHINES / f"{name}.json"))
        told = json.loads(CliRunner().invoke(group, ["doctor", "--json"]).stdout)
        codes |= {one["code"] for one in told["findings"] if one["severity"] == "error"}
        assert told["ok"] is False
    assert {"cuda-library-too-old", "cuda-library-too-new"} <= codes


def test_the_home_folder_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its path names a person."""
    monkeypatch.setenv("HOME", "/data/people/ada")
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", str(MACHINE))
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=/data/people/ada/dump")
    said = CliRunner().invoke(group, ["doctor", "--json"]).stdout
    assert "ada" not in said and "/dump" in said
