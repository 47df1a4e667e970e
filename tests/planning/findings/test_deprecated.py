"""Flags that a release takes and does nothing with, and those that XLA calls deprecated: each is told, and no other."""

from __future__ import annotations

import pytest

from jaxgpu_tune import plan
from jaxgpu_tune.knowledge import flags as known
from tests.fleet import machine


def told(text: str, jaxlib: str) -> dict[str, str]:
    """Code -> hint of the notes about a text."""
    report = plan("auto", machine=machine(count=1, jaxlib=jaxlib), environ={"XLA_FLAGS": text}, probe=False)
    notes = [f for f in report.findings if f.code in ("flag-without-effect", "flag-deprecated")]
    assert all(f.severity == "note" for f in notes)
    return {f.code: f.hint for f in notes}


@pytest.mark.parametrize("release", [known.releases()[at] for at in (12, 21, 27, 33, 38, -1)])
def test_every_such_flag_of_a_release_is_told(release: str) -> None:
    """The table knows what each writes, and what the help text says."""
    specs = [known.flags(release)[name] for name in known.flags(release)]
    idle = [spec for spec in specs if not spec.fields and spec.name != "xla_fuel"]
    for spec in idle:
        assert "flag-without-effect" in told(f"--{spec.name}={spec.default}", release), spec.name
    going = [spec for spec in specs if spec.deprecated and spec.fields and spec.form == "bool"]
    for spec in going:
        assert "flag-deprecated" in told(f"--{spec.name}=true", release), spec.name
    assert idle or going or release == known.releases()[12]


@pytest.mark.parametrize(
    ("name", "release", "code"),
    [
        ("xla_gpu_strict_conv_algorithm_picker", "0.8.3", None),
        ("xla_gpu_strict_conv_algorithm_picker", "0.9.0", "flag-without-effect"),
        ("xla_gpu_enable_cudnn_fmha", "0.5.0", None),
        ("xla_gpu_enable_cudnn_fmha", "0.5.1", "flag-without-effect"),
        ("xla_gpu_enable_cublaslt", "0.10.1", None),
        ("xla_gpu_enable_cublaslt", "0.10.2", "flag-deprecated"),
        ("xla_gpu_enable_pipelined_all_gather", "0.11.0", None),
        ("xla_gpu_enable_pipelined_all_gather", "0.11.1", "flag-deprecated"),
        ("xla_gpu_enable_latency_hiding_scheduler", "0.11.2", None),
    ],
)
def test_from_the_release_on_that_says_so(name: str, release: str, code: str | None) -> None:
    assert [*told(f"--{name}=true", release)] == ([code] if code else [])


def test_what_stands_for_it_already_is_named() -> None:
    hint = told("--xla_gpu_enable_pipelined_all_gather=true", "0.11.2")["flag-deprecated"]
    assert "--xla_gpu_pipeline_all_gather=on" in hint
