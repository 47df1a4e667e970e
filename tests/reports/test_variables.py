"""Public reports on variables of NCCL and CUDA (facts: reports B, D, F and G), each as a test by its number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import jaxgpu_tune
from tests.child import told
from tests.fleet import codes, decision, machine

CONNECTIONS = "CUDA_DEVICE_MAX_CONNECTIONS"
SEEDS = ("NCCL_LL128_BUFFSIZE", "NCCL_LL_BUFFSIZE", "NCCL_PROTO")


def test_R21_what_an_image_brings_is_told_and_kept() -> None:
    """All but NCCL_VERSION, which NVIDIA's images set and no library reads."""
    image = {"NCCL_IB_SL": "1", "NCCL_NVLS_ENABLE": "0", "CUDA_MODULE_LOADING": "EAGER", CONNECTIONS: "1"}
    report = jaxgpu_tune.plan("auto", machine=machine(), environ={**image, "NCCL_VERSION": "2.28.9"})
    assert {d.name: d.value for d in report.decisions if d.status == "kept"} == image
    assert not set(report.environ) & {*image, "NCCL_VERSION"}


@pytest.mark.parametrize(
    ("environ", "name", "told"),
    [
        ({CONNECTIONS: "1"}, CONNECTIONS, f"Set now: {CONNECTIONS}=1."),
        ({"XLA_FLAGS": "--xla_gpu_autotune_level=2 --xla_gpu_autotune_level=3"}, "--xla_gpu_autotune_level", "Set now: --xla_gpu_autotune_level=3. jaxlib "),
        ({"JAX_ENABLE_X64": "1"}, "jax_enable_x64", "Set now: JAX_ENABLE_X64=1. jax "),
        ({"WANDB_API_KEY": "1"}, "fsdp", ""),
        ({}, CONNECTIONS, ""),
    ],
)  # fmt: skip
def test_R21_explain_tells_what_is_set_already(
    environ: dict[str, str], name: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in (CONNECTIONS, "XLA_FLAGS", "JAX_ENABLE_X64"):
        monkeypatch.delenv(variable, raising=False)
    for variable, text in environ.items():
        monkeypatch.setenv(variable, text)
    here = jaxgpu_tune.explain(name).here
    assert here.startswith(told) and ("Set now" in here) is bool(told)


@pytest.mark.parametrize(
    ("card", "count", "environ", "status"),
    [
        ("H100", 8, {}, "set"),
        ("H100", 8, {CONNECTIONS: "8"}, "kept"),
        ("H100", 1, {}, "unmet"),
        ("A100", 8, {}, "unmet"),
        ("B200", 8, {}, "unmet"),
    ],
)
def test_R76_one_connection_only_on_several_hopper_gpus_and_only_if_unset(
    card: str, count: int, environ: dict[str, str], status: str
) -> None:
    report = jaxgpu_tune.plan("jax-toolbox", machine=machine(card, count), environ=environ)
    assert decision(report, CONNECTIONS).status == status
    assert (CONNECTIONS in report.environ) is (status == "set")


def test_R76_not_where_the_gpus_differ() -> None:
    gpus = [{"compute_capability": "9.0", "memory_bytes": 2**36}, {"compute_capability": "8.0", "memory_bytes": 2**36}]
    report = jaxgpu_tune.plan("jax-toolbox", machine={"gpus": gpus, "jaxlib": "0.11.2"}, environ={})
    assert "differ" in decision(report, CONNECTIONS).reason


@pytest.mark.parametrize("preset", ["jax-nccl", "jax-toolbox"])
@pytest.mark.parametrize(("hosts", "count", "expected"), [(1, 8, "set"), (2, 8, "unmet"), (1, 1, "unmet")])
def test_the_seeds_nccl_variables_are_for_one_host_with_several_gpus(
    preset: str, hosts: int, count: int, expected: str
) -> None:
    layout = {"count": hosts, "local_count": 1, "rank": 0, "local_rank": 0, "launcher": "slurm"} if hosts > 1 else {}
    report = jaxgpu_tune.plan(preset, machine=machine(count=count, processes=layout), environ={})
    assert {decision(report, name).status for name in SEEDS} == {expected}


def test_maintained_presets_hold_no_variable_that_was_not_measured() -> None:
    """Promise 3: what NCCL and CUDA decide by themselves stays so, but for one hardware queue: six pairs on five programs."""
    found = [
        (setting.name, preset.name, bool(setting.measured))
        for preset in jaxgpu_tune.presets()
        for setting in preset.settings
        if preset.kind == "maintained" and setting.kind == "env" and setting.name.startswith(("NCCL_", "CUDA_"))
    ]
    queue = "CUDA_DEVICE_MAX_CONNECTIONS"
    assert sorted(found) == [(queue, "data_parallel", True), (queue, "fsdp", True)]


@pytest.mark.parametrize(
    ("name", "given", "used"),
    [
        ("NCCL_NVLS_ENABLE", "true", "1"),
        ("NCCL_P2P_DISABLE", "no", "0"),
        ("CUDA_MODULE_LOADING", "lazy", "LAZY"),
        ("NCCL_PROTO", "LL, Simple", "LL,Simple"),
    ],
)
def test_R44_what_is_plainly_meant_is_written_as_it_is_read(name: str, given: str, used: str) -> None:
    """NCCL reads numbers by strtoll: "true" is 0, so NVLS would be off for user buffers."""
    inherited = jaxgpu_tune.plan("auto", machine=machine(), environ={name: given})
    asked = jaxgpu_tune.plan("auto", machine=machine(), environ={}, env={name: given})
    for report in (inherited, asked):
        assert report.environ[name] == used
        hints = [one.hint for one in report.findings if one.code == "variable-repaired"]
        assert hints == [f"Write {name}={used} from now on."]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_BUFFSIZE", "4MB"),
        ("NCCL_MAX_CTAS", "many"),
        ("NCCL_PROTO", "LL129"),
        ("NCCL_ALGO", "allreduce:rnig"),
        (CONNECTIONS, "64"),
        (CONNECTIONS, "0"),
        ("CUDA_DEVICE_ORDER", "PCI"),
    ],
)
def test_a_value_that_cannot_be_read_is_refused_or_taken_out(name: str, value: str) -> None:
    with pytest.raises(jaxgpu_tune.BadSetting, match=name):
        jaxgpu_tune.plan("auto", machine=machine(), environ={}, env={name: value})
    report = jaxgpu_tune.plan("auto", machine=machine(), environ={name: value})
    assert report.environ[name] is None and decision(report, name).status == "dropped"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_PROTO", "SIMPLE,LL,LL128"),
        ("NCCL_PROTO", "^LL128"),
        ("NCCL_ALGO", "allreduce:tree,collnetdirect;broadcast:^ring"),
        ("NCCL_LL_BUFFSIZE", "-2"),
        ("NCCL_BUFFSIZE", "0x400000"),
        ("NCCL_DEBUG", "info"),
        ("NCCL_SOME_NEWER_SETTING", "x"),
    ],
)
def test_nccls_own_spellings_pass_as_they_are(name: str, value: str) -> None:
    report = jaxgpu_tune.plan("auto", machine=machine(), environ={}, env={name: value})
    assert report.environ[name] == value and not codes(report)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("NCCL_NVLS_ENABLED", "NCCL_NVLS_ENABLE"),
        ("NCCL_BUFSIZE", "NCCL_BUFFSIZE"),
        ("CUDA_DEVICE_MAX_CONNECTION", CONNECTIONS),
        ("NCCL_MAX_P2P_NCHANNELS", None),
        ("NCCL_LAUNCH_MODE", None),
    ],
)
def test_a_name_that_is_nearly_one_is_told(name: str, meant: str | None) -> None:
    for arguments in ({"environ": {name: "1"}}, {"environ": {}, "env": {name: "1"}}):
        report = jaxgpu_tune.plan("auto", machine=machine(), **arguments)
        told = [f.hint for f in report.findings if f.code == "unknown-variable"]
        assert told == ([f"Did you mean {meant}?"] if meant else [])


TORCH = """
import sys, types, os, jaxgpu_tune
sys.modules["torch"] = types.ModuleType("torch")
sys.modules["torch.cuda"] = types.ModuleType("torch.cuda")
sys.modules["torch.cuda"]._initialized = STARTED
report = jaxgpu_tune.configure("single_gpu", env={"CUDA_DEVICE_MAX_CONNECTIONS": "1", "NCCL_DEBUG": "WARN"})
found = [d.status for d in report.decisions if d.name == "CUDA_DEVICE_MAX_CONNECTIONS"]
tell([found, os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS"), os.environ["NCCL_DEBUG"], [f.code for f in report.findings if "cuda" in f.code]])
"""


@pytest.mark.parametrize("started", [True, False])
def test_R76_nothing_of_cudas_is_set_where_torch_has_started_cuda(started: bool) -> None:
    """The driver has read its variables by then; a torch that is imported alone has not."""
    late = [["late"], None, "WARN", ["cuda-started"]]
    assert told(TORCH.replace("STARTED", str(started))) == (late if started else [["set"], "1", "WARN", []])


def test_R59_cuda_on_the_library_path_before_pips_is_named(tmp_path: Path) -> None:
    """Not pip's own folder, nor one without CUDA, nor where CUDA does not come from pip."""
    system, pips, other = (
        tmp_path / "cuda" / "lib64",
        tmp_path / "site-packages" / "nvidia" / "cublas",
        tmp_path / "other",
    )
    for folder, library in ((system, "libcublas.so.12"), (pips, "libcublas.so.13"), (other, "libz.so")):
        folder.mkdir(parents=True)
        (folder / library).touch()
    environ = {"LD_LIBRARY_PATH": f"{other}:{pips}:{system}:/nowhere:"}
    plugins = {"jax-cuda13-plugin": "0.11.2", "jax-cuda13-pjrt": "0.11.2"}
    from_pip = machine(plugins=plugins, libraries={"nvidia-cublas": "13.1.0.3"})
    report = jaxgpu_tune.plan("auto", machine=from_pip, environ=environ)
    (finding,) = (f for f in report.findings if f.code == "library-path")
    assert str(system) in finding.message and str(pips) not in finding.message and str(other) not in finding.message
    assert "LD_LIBRARY_PATH" not in report.environ
    for here, variables in ((machine(plugins=plugins), environ), (from_pip, {"LD_LIBRARY_PATH": f"{other}:{pips}"})):
        assert "library-path" not in codes(jaxgpu_tune.plan("auto", machine=here, environ=variables))


@pytest.mark.parametrize("value", ["gpu", "gpu,cpu", "cpu,gpu"])
def test_R49_gpu_is_not_the_name_of_cuda(value: str) -> None:
    report = jaxgpu_tune.plan("auto", machine=machine(), environ={"JAX_PLATFORMS": value})
    assert "platform-gpu" in codes(report)
    asked = jaxgpu_tune.plan("auto", machine=machine(), environ={}, platform="cuda")
    assert asked.environ["JAX_PLATFORMS"] == "cuda"


@pytest.mark.parametrize("prefer", ["existing", "preset"])
@pytest.mark.parametrize("inherited", ["2,3", "", "GPU-8f6d1f3a"])
def test_R48_the_schedulers_gpus_are_never_overwritten(prefer: str, inherited: str, tmp_path: Path) -> None:
    """Not by a preset, nor by an argument."""
    preset = tmp_path / "mine.toml"
    preset.write_text('[[set]]\nenv = "CUDA_VISIBLE_DEVICES"\nvalue = "0,1"\n')
    for name, asked in ((str(preset), {}), ("auto", {"CUDA_VISIBLE_DEVICES": "0"})):
        report = jaxgpu_tune.plan(
            name, machine=machine(), environ={"CUDA_VISIBLE_DEVICES": inherited}, env=asked, prefer=prefer
        )
        assert "CUDA_VISIBLE_DEVICES" not in report.environ and "scheduler-assigned" in codes(report)


def test_secrets_are_passed_on_but_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    """Neither in what is printed nor in what is logged."""
    asked = {"HF_TOKEN": "hidden-one", "AWS_SECRET_ACCESS_KEY": "hidden-two", "NCCL_DEBUG": "INFO"}
    given = {"HF_TOKEN": "hidden-three"}
    report = jaxgpu_tune.plan("single_gpu", machine=machine(count=1), environ=given, env=asked)
    assert {name: report.environ[name] for name in asked} == asked
    shown = str(report) + report._repr_html_() + str(report.findings)
    assert "hidden" not in shown and "***" in shown and "INFO" in shown
    final = jaxgpu_tune.environ("single_gpu", base=given, machine=machine(count=1), env=asked)
    assert final["HF_TOKEN"] == "hidden-one" and "HF_TOKEN" in caplog.text and "hidden" not in caplog.text


USER, NVLS, POOL = "xla_gpu_enable_nccl_user_buffers", "NCCL_NVLS_ENABLE", "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB"
WINDOWS = "xla_gpu_experimental_enable_nccl_symmetric_buffers"


@pytest.mark.parametrize(
    ("here", "flags", "environ", "code"),
    [
        ({}, {USER: True}, {NVLS: "0"}, "user-buffers-without-nvls"),
        ({"jaxlib": "0.10.2"}, {USER: True}, {}, "buffers-without-pool"),
        ({"jaxlib": "0.10.2"}, {USER: True}, {POOL: "2048"}, None),
        ({}, {USER: True}, {}, None),
        ({"nccl": "2.18.3"}, {USER: True}, {}, "nccl-too-old"),
        ({"nccl": "2.26.2"}, {WINDOWS: True}, {}, "nccl-too-old"),
        ({"nccl": "2.28.9"}, {WINDOWS: True}, {}, None),
        ({"card": "A100"}, {USER: True}, {}, "no-nvls"),
        ({"card": "A100"}, {}, {NVLS: "1"}, "no-nvls"),
        ({"card": "A100", "count": 1}, {USER: True}, {}, None),
        ({"card": "A100"}, {}, {}, None),
    ],
)
def test_R44_what_buffers_for_nccl_need(
    here: dict[str, Any], flags: dict[str, bool], environ: dict[str, str], code: str | None
) -> None:
    report = jaxgpu_tune.plan("auto", machine=machine(**here), environ=environ, flags=flags)
    needs = {"user-buffers-without-nvls", "buffers-without-pool", "nccl-too-old", "no-nvls"}
    assert codes(report) & needs == ({code} if code else set())


@pytest.mark.parametrize(("card", "count", "status"), [("H100", 8, "set"), ("A100", 8, "unmet"), ("H100", 1, "unmet")])
def test_R44_nvls_is_switched_on_only_where_it_can_be(card: str, count: int, status: str) -> None:
    """And where someone has switched it off, it stays off."""
    report = jaxgpu_tune.plan("jax-toolbox-user-buffers", machine=machine(card, count), environ={})
    assert decision(report, NVLS).status == status
    off = jaxgpu_tune.plan("jax-toolbox-user-buffers", machine=machine(card, count), environ={NVLS: "0"})
    assert decision(off, NVLS).value == "0"
