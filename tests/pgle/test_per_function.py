"""A profile for one function."""

from __future__ import annotations

from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.pgle.binary_form import parse_binary
from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile
from jaxgpu_tune.pgle.profile_files import write_profile
from tests.child import told

H200 = {"name": "NVIDIA H200", "compute_capability": "9.0", "memory_bytes": 150 << 30, "count": 2}
MACHINE = {"gpus": [H200], "jax": "0.11.2", "jaxlib": "0.11.2"}
PROFILE = CostProfile((Cost("fusion.1", 2.5), Cost("all-gather-start", 70.0)))


@pytest.mark.parametrize("name", ["p.pb", "p.pbtxt"])
def test_its_content_is_an_option_of_the_function(tmp_path: Path, name: str) -> None:
    """In the binary form, whatever the file's, and not as a path, whose content no cache would know."""
    path = write_profile(PROFILE, tmp_path / name)
    options = jaxgpu_tune.compiler_options("auto", machine=MACHINE, pgle=path)
    assert parse_binary(options.pop("fdo_profile")) == PROFILE and options == {}


def test_a_folder_stays_named(tmp_path: Path) -> None:
    write_profile(PROFILE, tmp_path / f"{'0' * 32}.pb")
    options = jaxgpu_tune.compiler_options("auto", machine=MACHINE, pgle=tmp_path)
    assert options == {"xla_gpu_pgle_profile_file_or_directory_path": str(tmp_path)}


def test_a_file_that_xla_could_not_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.pb").write_text("costs {}")
    with pytest.raises(BadSetting, match="cannot be read as its name says"):
        jaxgpu_tune.compiler_options("auto", machine=MACHINE, pgle=tmp_path / "p.pb")


def test_a_release_whose_jit_takes_no_options_gets_none(tmp_path: Path) -> None:
    path = write_profile(PROFILE, tmp_path / "p.pb")
    old = {**MACHINE, "jax": "0.4.35", "jaxlib": "0.4.35"}
    assert jaxgpu_tune.compiler_options("auto", machine=old, pgle=path) == {}


def test_the_installed_jit_takes_it(tmp_path: Path) -> None:
    """On the CPU it changes nothing, and is accepted."""
    path = write_profile(PROFILE, tmp_path / "p.pb")
    code = f"""
        import jax, jaxgpu_tune
        machine = {{"gpus": [{H200!r}], "jax": jax.__version__, "jaxlib": jax.lib.__version__}}
        options = jaxgpu_tune.compiler_options("auto", machine=machine, pgle={str(path)!r})
        tell([sorted(options), float(jax.jit(lambda x: x + 1, compiler_options=options)(1.0))])
    """
    import textwrap

    assert told(textwrap.dedent(code), JAX_PLATFORMS="cpu") == [["fdo_profile"], 2.0]


@pytest.mark.parametrize(("release", "refused"), [("0.4.29", True), ("0.4.30", True), ("0.4.31", False)])
def test_releases_that_lose_the_costs_are_refused(release: str, refused: bool) -> None:
    machine = {"gpus": [H200], "jax": release, "jaxlib": release, "processes": {"count": 1}}
    report = jaxgpu_tune.plan("auto", environ={}, machine=machine, pgle="auto")
    assert ("pgle-refused" in [one.code for one in report.findings]) is refused
    assert ("jax_enable_pgle" in report.jax_config) is not refused


@pytest.mark.parametrize(("release", "set_"), [("0.4.38", True), ("0.5.0", True), ("0.5.1", False), ("0.11.2", False)])
def test_old_releases_need_the_scheduler_for_autopgle(release: str, set_: bool) -> None:
    """Else JAX profiles and compiles again, and nothing reads the profile."""
    machine = {"gpus": [H200], "jax": release, "jaxlib": release, "processes": {"count": 1}}
    report = jaxgpu_tune.plan("auto", environ={}, machine=machine, pgle="auto")
    assert ("--xla_gpu_enable_latency_hiding_scheduler=true" in report.xla_flags) is set_
    kept = jaxgpu_tune.plan(
        "auto", environ={"XLA_FLAGS": "--xla_gpu_enable_latency_hiding_scheduler=false"}, machine=machine, pgle="auto"
    )
    assert "latency_hiding_scheduler=true" not in kept.xla_flags
