"""Section E of the reports: which GPU, which platform."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune import Machine, plan
from jaxgpu_tune.knowledge.flags import flags
from tests.child import run
from tests.cli.typed import call
from tests.fleet import codes, decision, machine

MACHINES = Path(__file__).resolve().parent.parent / "machines"
PRESETS = [preset.name for preset in jaxgpu_tune.presets()]


def on(name: str, preset: str = "auto", **arguments: object) -> jaxgpu_tune.Report:
    """A plan for one of the machine files."""
    here = Machine.from_dict(json.loads((MACHINES / f"{name}.json").read_text()))
    return plan(preset, **{"machine": here, "environ": {}, **arguments})


def test_R50_without_a_gpu_no_gpu_setting_is_made() -> None:
    for name in (preset.name for preset in jaxgpu_tune.presets()):
        report = plan(name, machine=machine(count=0), environ={})
        assert "xla_gpu_" not in report.xla_flags, name
        assert not [n for n in report.environ if n.startswith(("NCCL_", "CUDA_", "XLA_PYTHON"))], name


def test_R48_cuda_visible_devices_is_never_written() -> None:
    for preset in jaxgpu_tune.presets():
        assert not any(s.name == "CUDA_VISIBLE_DEVICES" for s in preset.settings)


def test_R48_the_same_assignment_again_is_no_news() -> None:
    """Whoever repeats it."""
    same = {"CUDA_VISIBLE_DEVICES": "2,3"}
    report = plan("auto", machine=machine(count=2), environ=same, env=same)
    assert "CUDA_VISIBLE_DEVICES" not in report.environ and not codes(report)


def test_R50_before_0_4_31_the_cuda_plugin_needs_a_gpu_unless_jax_is_told_cpu() -> None:
    """Later releases go to the CPU by themselves."""
    old = plan("auto", machine=machine(count=0, jaxlib="0.4.30"), environ={})
    assert "plugin-without-gpu" in codes(old)
    assert any("JAX_PLATFORMS=cpu" in finding.hint for finding in old.findings)
    assert "JAX_PLATFORMS" not in old.environ
    told_cpu = plan("auto", machine=machine(count=0, jaxlib="0.4.30"), environ={"JAX_PLATFORMS": "cpu"})
    assert "plugin-without-gpu" not in codes(told_cpu)
    assert "plugin-without-gpu" not in codes(plan("auto", machine=machine(count=0, jaxlib="0.4.31"), environ={}))


@pytest.mark.parametrize(
    ("jaxlib", "platforms", "outcome"),
    [
        ("0.11.2", None, "JAX runs on the CPU"),
        ("0.11.2", "cuda,cpu", "JAX runs on the CPU"),
        ("0.11.2", "cuda", "JAX does not start, since it is told to use cuda alone"),
        ("0.4.30", None, "JAX does not start"),
    ],
)
def test_R50_what_JAX_does_without_a_gpu_is_told_once(
    jaxlib: str, platforms: str | None, outcome: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It raised an exception instead of going on with the CPU: https://github.com/jax-ml/jax/issues/22703"""
    here = machine(count=0, jaxlib=jaxlib)
    file = tmp_path / "machine.json"
    file.write_text(json.dumps(here.to_dict()))
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", str(file))
    environ = {} if platforms is None else {"JAX_PLATFORMS": platforms}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    (planned,) = [f for f in plan("auto", machine=here, environ=environ).findings if f.severity == "error"]
    (told,) = [f for f in json.loads(call("doctor", "--json").stdout)["findings"] if f["severity"] == "error"]
    assert f": {outcome}" in planned.message and f": {outcome}" in told["message"]
    assert call("check").exit_code == 0  # that there is no GPU is no fault of what is set


@pytest.mark.parametrize("capability", ["6.1", "7.0", "7.5"])
@pytest.mark.parametrize("jaxlib", ["0.4.30", "0.9.2", "0.11.2"])
def test_R53_no_preset_switches_triton_on_below_compute_capability_8(capability: str, jaxlib: str) -> None:
    here = machine(count=1, jaxlib=jaxlib)
    here = here._replace(gpus=tuple(gpu._replace(compute_capability=capability) for gpu in here.gpus or ()))
    for preset in PRESETS:
        report = plan(preset, machine=here, environ={})
        on = [d.name for d in report.decisions if "triton" in d.name and d.status == "set" and d.value == "true"]
        assert not on, preset
    asked = plan("auto", machine=here, environ={}, flags={"xla_gpu_triton_gemm_any": True})
    assert "triton-on-old-gpu" in codes(asked) or flags(jaxlib)["xla_gpu_triton_gemm_any"].effective == "true"


def test_R53_the_flag_that_is_meant_is_named() -> None:
    """And what AlphaFold 3 needs on such a GPU: https://github.com/google-deepmind/alphafold3/issues/59"""
    flags = {"XLA_FLAGS": "--xla_gpu_enable_triton_gemm=true --xla_gpu_autotune_level=2"}
    (found,) = [f for f in on("mixed_1080ti_rtxpro6000", environ=flags).findings if f.code == "triton-on-old-gpu"]
    assert "Set here: xla_gpu_enable_triton_gemm." in found.message and "this GPU" not in found.message
    assert "custom-kernel-fusion-rewriter" in str(jaxgpu_tune.explain("xla_disable_hlo_passes"))


def test_R54_gpus_that_differ_are_judged_by_the_least_able_and_it_is_said() -> None:
    """A 1080 Ti beside a Blackwell card."""
    report = on("mixed_1080ti_rtxpro6000", "jax-docs")
    found = decision(report, "xla_gpu_triton_gemm_any")
    assert found.status == "unmet" and "8.0" in found.reason
    chosen = on("mixed_1080ti_rtxpro6000", "fsdp")
    reasons = [d.reason for d in chosen.decisions if d.status == "unmet"]
    assert chosen.xla_flags == "" and any("GPUs differ" in reason and "6.1" in reason for reason in reasons)


def test_R55_a_slice_is_one_gpu_without_settings_for_several() -> None:
    report = on("mig", "fsdp")
    assert len(report.machine.gpus or ()) == 1
    assert not [n for n in report.environ if n.startswith("NCCL_")] and "combine_threshold" not in report.xla_flags


@pytest.mark.parametrize(
    ("visible", "told"), [("MIG-a,MIG-b", True), ("0,MIG-b", True), ("MIG-a", False), ("GPU-a,GPU-b", False)]
)
def test_R55_several_slices_for_one_process_are_told(visible: str, told: bool) -> None:
    """It stays as it is: a launcher may mean it. https://github.com/jax-ml/jax/issues/15843"""
    report = on("mig", environ={"CUDA_VISIBLE_DEVICES": visible})
    assert ("doubtful-variable" in codes(report)) is told and "CUDA_VISIBLE_DEVICES" not in report.environ


def test_R56_each_of_jaxs_numbers_is_shown_with_the_gpus_uuid() -> None:
    """It counts from 0 in each process, whatever CUDA_VISIBLE_DEVICES names."""
    code = """
import jaxgpu_tune
from jaxgpu_tune.cli import main
print(jaxgpu_tune.explain("CUDA_VISIBLE_DEVICES"))
main(["detect"])
"""
    ended = run(code, JAXGPU_TUNE_MACHINE=str(MACHINES / "h200x2_captured.json"), CUDA_VISIBLE_DEVICES="3,1")
    uuids = [gpu.uuid for gpu in on("h200x2_captured").machine.gpus or ()]
    for number, uuid in enumerate(uuids):
        assert ended.stdout.count(f"JAX's GPU {number} is {uuid}") == 2, ended.stderr


def test_R48_a_file_that_takes_the_place_of_the_schedulers_gpus_is_told(tmp_path: Path) -> None:
    """As the review found it: https://github.com/ray-project/ray/pull/58322"""
    from tests.cli.typed import call

    line = 'os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(str(i) for i in range(num_gpus_per_worker))'
    (tmp_path / "config.py").write_text(f"import os\nimport ray\n\ndef set_up(num_gpus_per_worker):\n    {line}\n")
    done = call("check", "--file", str(tmp_path / "config.py"))
    assert done.exit_code == 0 and "(instead-of-assigned)" in done.stdout and "config.py:5" in done.stdout
