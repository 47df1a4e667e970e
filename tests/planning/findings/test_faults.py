"""Faults of what is installed that flags avoid: set whatever the preset, told in every case, and nothing where they are not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import jaxgpu_tune
from jaxgpu_tune import Finding, Machine, Report, plan
from jaxgpu_tune.host.packages import installed_versions
from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.knowledge.installs import FAULT, InstallFault, install_faults
from jaxgpu_tune.knowledge.vocabulary import when_problems
from tests.child import clean_environ, told
from tests.fleet import decision, machine

CODE = "nccl-too-old-for-kernels"
KERNEL, VMM = "xla_gpu_unsupported_use_cross_host_one_shot_kernel", "xla_gpu_experimental_vmm_disabled"
BOTH = f"--{VMM}=true --{KERNEL}="
RELEASE = "0.12.0.1"
needs_release = pytest.mark.skipif(installed_versions().jaxlib != RELEASE, reason=f"needs jaxlib {RELEASE}")


def faulty(**other: Any) -> Machine:
    """The machine where it was seen: two H200 with jaxlib 0.12.0.1 over NCCL 2.28.9."""
    here = {"card": "H200", "count": 2, "jaxlib": RELEASE, "nccl": "2.28.9", "phase": "not-imported"}
    return machine(**{**here, "libraries": {"nvidia-nccl-cu13": "2.28.9"}, **other})


def planned(preset: str = "auto", environ: dict[str, str] | None = None, **asked: Any) -> Report:
    """A plan for the faulty machine, unless another is given."""
    return plan(preset, **{"machine": faulty(), **asked}, environ=environ or {})


def told_of(report: Report) -> list[Finding]:
    """The findings about the fault."""
    return [finding for finding in report.findings if finding.code == CODE]


@pytest.mark.parametrize("fault", install_faults(), ids=lambda fault: fault.code)
def test_a_fault_of_the_table_is_complete(fault: InstallFault) -> None:
    """Conditions of the vocabulary, a public source, flags that its newest release has, each with where it was measured."""
    assert fault.code == fault.code.lower() and " " not in fault.code
    assert not when_problems(dict(fault.when)) and fault.message.endswith(".")
    assert fault.source.startswith("https://") and "pip install" in fault.hint
    assert ("{wheel}" in fault.hint) == bool(fault.library) == bool(fault.settings)
    for setting in fault.settings:
        assert known.flag(setting.name, known.releases()[-1]) and setting.reason and setting.measured
        assert not when_problems(dict(setting.measured), "measured")
        assert setting.source == f"{FAULT}{fault.code}"


@pytest.mark.parametrize("preset", [preset.name for preset in jaxgpu_tune.presets()])
def test_both_flags_are_set_whatever_the_preset(preset: str) -> None:
    report = planned(preset, probe=False)
    assert {f"--{KERNEL}=", f"--{VMM}=true"} <= set(report.xla_flags.split())
    assert decision(report, KERNEL).status == decision(report, VMM).status == "set"
    assert decision(report, KERNEL).source == f"fault {CODE}"
    (finding,) = told_of(report)
    assert finding.severity == "warning" and VMM in finding.message and "NCCL 2.28.9 has no" in finding.message
    assert "pip install -U 'nvidia-nccl-cu13>=2.29.2'" in finding.hint


def test_in_auto_nothing_else_is_set() -> None:
    assert planned().xla_flags == BOTH
    assert len(planned().decisions) == 2


HEALTHY = {
    "newer NCCL": faulty(nccl="2.29.2"),
    "one GPU": faulty(count=1),
    "no GPU": faulty(count=0),
    "NCCL unknown": faulty(nccl=None),
    "NCCL unreadable": faulty(nccl="system"),
    "older jaxlib": faulty(jaxlib="0.11.2"),
    "a jaxlib without the plugin, beside torch": faulty(plugins={}),
    "conda's jaxlib, which brings its own": faulty(jaxlib=f"{RELEASE}+cuda129", jax=RELEASE, plugins={}),
}


@pytest.mark.parametrize("here", HEALTHY.values(), ids=HEALTHY)
@pytest.mark.parametrize("preset", ["auto", "fsdp"])
def test_nothing_is_set_and_nothing_said_where_it_is_not(preset: str, here: Machine) -> None:
    """Not even a decision."""
    report = planned(preset, machine=here)
    assert not {KERNEL, VMM} & {one.name for one in report.decisions}
    assert not told_of(report) and VMM not in report.xla_flags


def test_one_process_for_each_gpu_is_a_job_of_several() -> None:
    ranks = {"rank": 0, "local_rank": 0, "count": 2, "local_count": 1}
    assert planned(machine=faulty(count=1, processes=ranks)).xla_flags == BOTH
    assert planned(machine=faulty(count=1), devices=16).xla_flags == BOTH


def test_on_the_cpu_it_does_not_matter() -> None:
    for report in (
        planned(platform="cpu"),
        planned(environ={"JAX_PLATFORMS": "cpu"}),
        planned(platform="cpu", devices=8),
    ):
        assert report.xla_flags == "" and not told_of(report)


@pytest.mark.parametrize(
    "overruling",
    [
        {"environ": {"XLA_FLAGS": f"--{VMM}=false"}},
        {"environ": {"XLA_FLAGS": f"--{KERNEL}=ALLREDUCE"}},
        {"environ": {"XLA_FLAGS": f"--{VMM}=0 --{KERNEL}="}},
        {"flags": {VMM: False}},
        {"flags": {KERNEL: None}},
        {"flags": {KERNEL: "ALLCOLLECTIVES"}},
    ],
    ids=str,
)
def test_what_the_user_says_wins_and_is_told_as_an_error(overruling: dict[str, Any]) -> None:
    (finding,) = told_of(planned(**overruling))
    assert finding.severity == "error" and f"--{KERNEL}= --{VMM}=true" in finding.hint
    with pytest.raises(jaxgpu_tune.BadSetting, match="ncclGetPeerDevicePointer"):
        planned(**overruling, strict=True)


def test_prefer_preset_lets_it_win_over_what_is_inherited() -> None:
    report = planned(environ={"XLA_FLAGS": f"--{VMM}=false"}, prefer="preset")
    assert report.xla_flags == BOTH and told_of(report)[0].severity == "warning"


@pytest.mark.parametrize("text", [BOTH, f"--{VMM} --{KERNEL}=", f"--{KERNEL}=NOOP --{KERNEL}= --{VMM}=True"])
def test_what_the_user_set_to_the_same_end_stays_and_counts(text: str) -> None:
    report = planned(environ={"XLA_FLAGS": text})
    assert decision(report, VMM).status == decision(report, KERNEL).status == "kept"
    assert told_of(report)[0].severity == "warning"


def test_a_users_preset_may_set_something_else_and_the_fault_is_avoided_nonetheless(tmp_path: Path) -> None:
    """It asks for a kernel that cannot work here."""
    mine = tmp_path / "mine.toml"
    mine.write_text(f'[[set]]\nflag = "{KERNEL}"\nvalue = "ALLREDUCE"\nwhen = {{ nccl = "<3" }}\n')
    assert planned(str(mine)).xla_flags == BOTH
    assert f"--{KERNEL}=ALLREDUCE (preset {mine})" in decision(planned(str(mine)), KERNEL).reason
    assert planned(str(mine), machine=faulty(nccl="2.30.7")).xla_flags == f"--{KERNEL}=ALLREDUCE"
    assert "unknown" in decision(planned(str(mine), machine=faulty(nccl=None)), KERNEL).reason


def test_strict_takes_a_fault_that_is_avoided() -> None:
    assert planned(strict=True).xla_flags == BOTH


@pytest.mark.parametrize(
    ("cuda", "libraries", "wheel"),
    [
        (13, {"nvidia-nccl-cu13": "2.28.9"}, "nvidia-nccl-cu13"),
        (12, {"nvidia-nccl-cu12": "2.28.9", "nvidia-nccl-cu13": "2.30.7"}, "nvidia-nccl-cu12"),
        (12, {"nvidia-nccl": "2.28.9", "nvidia-nccl-dev": "1"}, "nvidia-nccl"),
        (12, None, "nvidia-nccl-cu12"),
        (None, None, "nvidia-nccl-cu13"),
    ],
)
def test_the_hint_names_the_wheel_that_is_installed(cuda: int | None, libraries: Any, wheel: str) -> None:
    plugins = {f"jax-cuda{cuda}-{part}": RELEASE for part in ("plugin", "pjrt")} if cuda else None
    (finding,) = told_of(planned(machine=faulty(plugins=plugins, libraries=libraries)))
    assert finding.hint.startswith(f"pip install -U '{wheel}>=2.29.2'")


def test_compile_options_hold_neither_half_and_the_finding_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The one acts on the whole process, the other does not help alone; there is no report to tell it."""
    assert jaxgpu_tune.compiler_options("auto", machine=faulty(nccl="2.28.3")) == {}
    assert (
        "NCCL 2.28.3 has no ncclGetPeerDevicePointer" in caplog.text and "compiler_options() leaves them" in caplog.text
    )
    asked = jaxgpu_tune.compiler_options("auto", machine=faulty(), flags={KERNEL: ""})
    assert asked == {KERNEL: ""}


def test_a_text_that_is_migrated_is_not_asked_to_make_up_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", written(tmp_path, faulty()))
    found = jaxgpu_tune.migrate("--xla_gpu_autotune_level=2")
    assert (found.xla_flags, found.findings) == ("--xla_gpu_autotune_level=2", ())


def written(folder: Path, here: Machine) -> str:
    """A file that describes the machine."""
    file = folder / "machine.json"
    file.write_text(json.dumps(here.to_dict()))
    return str(file)


def command(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    line = [sys.executable, "-m", "jaxgpu_tune", *words]
    return subprocess.run(line, env=clean_environ(**environ), capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.parametrize("words", [("check", "--json"), ("doctor", "--json")], ids=str)
def test_check_and_doctor_name_it_until_something_avoids_it(tmp_path: Path, words: tuple[str, ...]) -> None:
    """They look at what is set now, to which nothing is added."""
    told_on = {}
    for text in ("", BOTH):
        done = command(*words, JAXGPU_TUNE_MACHINE=written(tmp_path, faulty()), XLA_FLAGS=text)
        answer = json.loads(done.stdout)
        findings = answer["findings"] if isinstance(answer, dict) else answer
        told_on[text] = done.returncode, [f["severity"] for f in findings if f["code"] == CODE]
    assert told_on == {"": (1, ["error"]), BOTH: (0, ["warning"])}


def test_env_prints_both_in_every_form(tmp_path: Path) -> None:
    """As code for a shell, which sets them, and as text for what is no shell."""
    here = {"JAXGPU_TUNE_MACHINE": written(tmp_path, faulty())}
    told_in = {form: command("env", "--format", form, **here) for form in ("sh", "docker", "json")}
    assert all(done.returncode == 0 and CODE in done.stderr for done in told_in.values())
    evaluated = ["sh", "-c", f'{told_in["sh"].stdout}\nprintf %s "$XLA_FLAGS"']
    assert subprocess.run(evaluated, capture_output=True, text=True, check=True).stdout == BOTH
    assert f"XLA_FLAGS={BOTH}" in told_in["docker"].stdout.splitlines()
    assert json.loads(told_in["json"].stdout)["XLA_FLAGS"] == BOTH


@needs_release
def test_the_real_parser_takes_them_and_a_second_call_changes_nothing(tmp_path: Path) -> None:
    code = """
import os, jaxgpu_tune
first = jaxgpu_tune.configure("auto")
state = dict(os.environ)
same = jaxgpu_tune.configure("auto").decisions == first.decisions and state == dict(os.environ)
import jax
devices = jax.devices()
tell([first.xla_flags, same, len(devices), os.environ["XLA_FLAGS"]])
"""
    here = written(tmp_path, faulty())
    assert told(code, JAXGPU_TUNE_MACHINE=here) == [BOTH, True, 1, BOTH]


@needs_release
def test_too_late_it_is_not_avoided(tmp_path: Path) -> None:
    code = f"""
import jax, jaxgpu_tune
jax.devices()
report = jaxgpu_tune.configure("auto", late="warn")
tell([[d.status for d in report.decisions], [f.severity for f in report.findings if f.code == {CODE!r}], report.xla_flags])
"""
    here = written(tmp_path, faulty())
    assert told(code, JAXGPU_TUNE_MACHINE=here) == [["late", "late"], ["error"], ""]
