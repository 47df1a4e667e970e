"""Section G of the reports: flags that cost memory, time or correctness. What strikes where is in knowledge/test_hazards."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune import plan
from jaxgpu_tune.knowledge.flags import releases
from jaxgpu_tune.knowledge.hazards import hazards
from tests.cli.typed import call
from tests.fleet import codes, decision, machine

COMMAND_BUFFER = "xla_gpu_enable_command_buffer"
SCHEDULER = "xla_gpu_enable_latency_hiding_scheduler"
MAINTAINED = [preset.name for preset in jaxgpu_tune.presets() if preset.kind == "maintained"]


def found(text: str, jaxlib: str = "0.11.2", count: int = 8, card: str = "H100", **more: str) -> set[str]:
    """The codes of a plan that adds nothing to what is set."""
    return codes(plan("auto", machine=machine(card, count, jaxlib), environ={"XLA_FLAGS": text, **more}))


def test_R69_cuda_graphs_true_gives_the_default_back() -> None:
    report = plan("auto", machine=machine(count=1), environ={"XLA_FLAGS": f"--{COMMAND_BUFFER}="}, cuda_graphs=True)
    assert report.xla_flags == "" and report.environ["XLA_FLAGS"] is None
    assert decision(report, COMMAND_BUFFER).status == "default"


@pytest.mark.parametrize("release", releases())
def test_R62_the_scheduler_is_for_several_gpus(release: str) -> None:
    for preset in MAINTAINED:
        assert SCHEDULER not in plan(preset, machine=machine(count=1, jaxlib=release), environ={}).xla_flags, preset
    assert "memory" in str(jaxgpu_tune.explain(SCHEDULER))


def test_R63_pipelined_collectives_of_2024_are_a_hazard_and_in_no_preset_of_that_time() -> None:
    assert "pipelining-diverged" in found("--xla_gpu_enable_pipelined_all_gather=true", "0.4.31")
    for preset in MAINTAINED:
        assert "pipeline" not in plan(preset, machine=machine(jaxlib="0.4.31"), environ={}).xla_flags, preset


def test_R64_copies_that_gave_wrong_numbers_are_in_no_preset_and_may_be_forced_with_a_warning() -> None:
    forced = plan("auto", machine=machine(), environ={}, flags={"xla_gpu_use_memcpy_local_p2p": True})
    assert "use_memcpy_local_p2p=true" in forced.xla_flags and "local-p2p-wrong-numbers" in codes(forced)
    for preset in jaxgpu_tune.presets():
        report = plan(preset.name, machine=machine(), environ={}, probe=False)
        assert "use_memcpy_local_p2p" not in report.xla_flags


def test_R65_pipelining_in_double_buffered_loops_of_2024() -> None:
    both = "--xla_gpu_enable_pipelined_all_gather=true --xla_gpu_enable_while_loop_double_buffering=true"
    assert "pipelining-double-buffering-crash" in found(both, "0.4.30")
    assert "pipelining-double-buffering-crash" not in found(both, "0.5.0")
    assert "double_buffering" not in plan("fsdp", machine=machine(jaxlib="0.4.30"), environ={}).xla_flags


def test_R66_two_sources_of_the_same_setting_are_told() -> None:
    report = plan("fsdp", machine=machine(count=4), environ={"JAX_OPTIMIZATION_LEVEL": "O1"})
    assert "threshold-overrules-o1" in codes(report)
    assert "o1-wrong-offsets" in found("", "0.11.1", JAX_OPTIMIZATION_LEVEL="O1")


def test_R67_thresholds_come_from_the_layer_and_never_are_8_gib() -> None:
    threshold = "xla_gpu_all_gather_combine_threshold_bytes"
    for preset in MAINTAINED:
        report = plan(preset, machine=machine(count=4), environ={})
        sizes = [d.value for d in report.decisions if "combine_threshold" in d.name and d.status == "set"]
        assert all(int(size or 0) <= 2**28 for size in sizes), preset
    sized = plan("fsdp", machine=machine(count=4), environ={}, layer_bytes=2**20 + 1)
    assert decision(sized, threshold).value == str(2 * 2**20)
    assert "huge-combine-threshold" in found(f"--{threshold}=8589934592")


def test_R68_collectives_are_captured_in_no_preset_and_warned_of() -> None:
    assert "collectives-in-graphs" in found(f"--{COMMAND_BUFFER}=FUSION,COLLECTIVES", "0.11.1", card="B200")
    for preset in jaxgpu_tune.presets():
        values = [str(s.value) for s in preset.settings if s.name == COMMAND_BUFFER]
        assert not any("COLLECTIVES" in value for value in values), preset.name


def test_R69_graphs_off_is_exactly_the_empty_value() -> None:
    report = plan("auto", machine=machine(count=1), environ={}, cuda_graphs=False)
    assert report.xla_flags == f"--{COMMAND_BUFFER}="


def test_R70_rocm_gets_nothing_of_nvidias_and_keeps_the_users_flags() -> None:
    amd = machine(count=0, plugins={"jax-rocm7-plugin": "0.11.2", "jax-rocm7-pjrt": "0.11.2"})
    for preset in ("auto", "fsdp"):
        report = plan(preset, machine=amd, environ={"XLA_FLAGS": f"--{COMMAND_BUFFER}="})
        assert "rocm" in codes(report) and report.xla_flags == f"--{COMMAND_BUFFER}="
        assert not [name for name in report.environ if name != "XLA_FLAGS"]


def test_R73_autotuning_off_is_advertised_nowhere_and_no_cure() -> None:
    assert "autotuning-off" in found("--xla_gpu_autotune_level=0", "0.6.2", count=1)
    for preset in MAINTAINED:
        assert "autotune_level=0" not in plan(preset, machine=machine(count=1), environ={}).xla_flags


@pytest.mark.parametrize("jaxlib", ["0.4.28", "0.4.30", "0.11.2"])
def test_R74_reproducible_uses_the_flag_of_the_release_and_says_that_compiling_can_fail(jaxlib: str) -> None:
    """TensorFlow's variables say nothing to JAX."""
    report = plan("reproducible", machine=machine(count=1, jaxlib=jaxlib), environ={})
    old = jaxlib == "0.4.28"
    assert ("--xla_gpu_deterministic_ops=true" in report.xla_flags.split()) is old
    assert ("--xla_gpu_exclude_nondeterministic_ops=true" in report.xla_flags.split()) is not old
    assert "deterministic-compile" in codes(report)
    assert "deterministic-for-tensorflow-only" in found("", TF_DETERMINISTIC_OPS="1")


def test_R75_reproducible_does_not_lean_on_the_cache_of_autotuning() -> None:
    report = plan("reproducible", machine=machine(count=1), environ={})
    assert "per_fusion_autotune_cache_dir" not in report.xla_flags
    leaning = "--xla_gpu_exclude_nondeterministic_ops=true --xla_gpu_per_fusion_autotune_cache_dir=/cache"
    assert "autotune-cache-not-reproducible" in found(leaning)


def test_every_hazard_has_its_public_source() -> None:
    assert all(hazard.source.startswith("https://") for hazard in hazards())


def test_R69_explain_and_a_run_that_ended_say_how_to_switch_graphs_off(tmp_path: Path) -> None:
    """A loader on the GPU broke the recording of a graph: https://github.com/NVIDIA/DALI/pull/6449"""
    assert "xla_gpu_enable_command_buffer" in str(jaxgpu_tune.explain("cuda_graphs"))
    words = "INTERNAL: CUDA error: Failed to end stream capture: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"
    (tmp_path / "a.py").write_text(f"import sys\nsys.exit({words!r})\n")
    done = call("compare", "none", "debug", "--", sys.executable, str(tmp_path / "a.py"))
    assert done.exit_code and "--no-cuda-graphs" in " ".join(done.stdout.split())
