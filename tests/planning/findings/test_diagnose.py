"""Why JAX is slow, on the CPU or about to die: each cause is told, and nothing where there is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune import Machine
from jaxgpu_tune.host.surroundings import try_start
from jaxgpu_tune.planning.base.secrets import masked
from jaxgpu_tune.planning.findings.diagnose import Started, Surroundings, diagnose
from tests.fleet import machine

HERE = Surroundings(device_nodes=True, shared_memory_bytes=2**34)
PLUGINS = {"jax-cuda13-plugin": "0.11.2", "jax-cuda13-pjrt": "0.11.2"}
OLD_PLUGINS = {name.replace("13", "12"): version for name, version in PLUGINS.items()}
GOOD = machine(plugins=PLUGINS, driver="580.159.04", cuda_driver="13.0")
PIPS = GOOD._replace(libraries={"nvidia-cublas": "13.1.0.3"})
GIB = 2**30


def with_gpus(**change: Any) -> Machine:
    """The good machine, its GPUs changed."""
    return GOOD._replace(gpus=tuple(gpu._replace(**change) for gpu in GOOD.gpus or ()))


def told(
    here: Machine = GOOD,
    environ: dict[str, str] | None = None,
    around: Surroundings | None = HERE,
    started: Started | None = None,
) -> dict[str, str]:
    """Code -> severity."""
    return {finding.code: finding.severity for finding in diagnose(here, environ or {}, around, started)}


def test_a_good_machine_has_nothing() -> None:
    """With every part known, and with a trial start that went well."""
    assert told() == {}
    assert told(started=Started(3.0, "gpu", 8)) == {}


@pytest.mark.parametrize(
    ("case", "code", "severity"),
    [
        ({"here": GOOD._replace(gpus=()), "around": Surroundings(device_nodes=False)}, "no-gpu", "error"),
        ({"here": GOOD._replace(gpus=()), "environ": {"CUDA_VISIBLE_DEVICES": ""}}, "gpus-hidden", "error"),
        ({"here": GOOD._replace(gpus=None)}, "driver-silent", "error"),
        ({"environ": {"JAX_PLATFORMS": "cpu"}}, "platform-is-cpu", "error"),
        ({"environ": {"JAX_PLATFORM_NAME": "CPU"}}, "platform-is-cpu", "error"),
        ({"environ": {"JAX_PLATFORMS": "", "JAX_PLATFORM_NAME": "cpu"}}, "platform-is-cpu", "error"),
        ({"environ": {"JAX_PLATFORMS": '"cpu"\r'}}, "platform-is-cpu", "error"),
        ({"here": GOOD._replace(gpus=()), "environ": {"JAX_PLATFORMS": "cpu"}}, "platform-is-cpu", "note"),
        ({"here": GOOD._replace(plugins={})}, "no-cuda-plugin", "error"),
        ({"here": GOOD._replace(plugins={**PLUGINS, **OLD_PLUGINS})}, "two-cuda-plugins", "warning"),
        ({"here": GOOD._replace(plugins={"jax-cuda13-pjrt": "0.11.2"})}, "half-a-plugin", "error"),
        ({"here": GOOD._replace(plugins={**PLUGINS, "jax-cuda13-plugin": "0.11.1"})}, "plugin-unused", "error"),
        ({"here": GOOD._replace(jax="0.11.1")}, "jaxlib-too-new", "error"),
        ({"here": GOOD._replace(jaxlib="0.11.2.1", plugins=None)}, "jaxlib-too-new", "error"),
        ({"here": GOOD._replace(cuda_driver="12.8")}, "driver-too-old", "error"),
        ({"here": with_gpus(compute_capability="7.0")}, "gpu-too-old", "error"),
        ({"here": with_gpus(free_bytes=GIB // 2)}, "gpu-full", "error"),
        ({"here": with_gpus(free_bytes=40 * GIB)}, "gpu-occupied", "warning"),
        ({"around": HERE._replace(shared_memory_bytes=2**26)}, "small-shared-memory", "warning"),
        ({"here": PIPS, "around": HERE._replace(cuda_folders=("/usr/local/cuda/lib64",))}, "library-path", "warning"),
        ({"started": Started(60.0, timed_out=True)}, "start-hangs", "error"),
        ({"started": Started(1.0, status=-6, said="F0000 parse_flags_from_env.cc")}, "start-fails", "error"),
        ({"started": Started(1.0, "cpu", 1)}, "starts-on-cpu", "error"),
    ],
)
def test_each_cause_is_told_alone(case: dict[str, Any], code: str, severity: str) -> None:
    """One cause, one finding, with what to do."""
    assert told(**case) == {code: severity}
    (finding,) = diagnose(**{"machine": GOOD, "environ": {}, "around": HERE, **_named(case)})
    assert finding.hint or severity == "note" or "last words" in finding.message


def _named(case: dict[str, Any]) -> dict[str, Any]:
    return {{"here": "machine"}.get(name, name): value for name, value in case.items()}


@pytest.mark.parametrize(
    "case",
    [
        {"here": GOOD._replace(cuda_driver="12.8", plugins=OLD_PLUGINS)},
        {"here": with_gpus(compute_capability="7.0")._replace(plugins=OLD_PLUGINS)},
        {"here": GOOD._replace(plugins={}, jaxlib="0.4.25+cuda12.cudnn89", jax="0.4.25")},
        {"here": GOOD._replace(plugins=None)},
        {"here": GOOD._replace(plugins={**PLUGINS, "jax-cuda13-plugin": "0.11.2.post1"})},
        {"here": GOOD._replace(jax="0.11.3")},
        {"here": with_gpus(free_bytes=40 * GIB), "environ": {"XLA_PYTHON_CLIENT_MEM_FRACTION": ".4"}},
        {"here": with_gpus(free_bytes=40 * GIB), "environ": {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}},
        {"here": machine(count=1, plugins=PLUGINS), "around": HERE._replace(shared_memory_bytes=2**26)},
        {"around": HERE._replace(cuda_folders=("/usr/local/cuda/lib64",))},
        {"around": None},
        {"here": Machine.from_dict({"gpus": [{}], "jaxlib": "0.11.2"})},
    ],
)
def test_what_is_right_or_unknown_is_no_cause(case: dict[str, Any]) -> None:
    """Nothing is guessed."""
    assert told(**case) == {}


def test_a_trial_start_tells_how_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Well, by a signal with XLA's last words, or not in time."""
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    well = try_start(60)
    assert (well.platform, well.status, well.timed_out) == ("cpu", 0, False) and well.devices >= 1
    assert try_start(0.01).timed_out
    monkeypatch.setenv("XLA_FLAGS", "--xla_no_such_flag=1")
    dead = try_start(60)
    assert dead.platform is None and dead.status != 0 and dead.said


@pytest.mark.parametrize(
    "text",
    [
        "https://user:{}@host/path",
        "JAX_TOKEN={}",
        "--api-key={} --x",
        "Authorization: Bearer {}",
        "password: '{}'",
        "https://bucket/x?X-Amz-Signature={}&a=b",
    ],
)
@given(secret=st.text("abcXYZ0189", min_size=6, max_size=40))
def test_no_secret_leaves(text: str, secret: str) -> None:
    """Whatever it consists of."""
    assert secret not in masked({"findings": [text.format(secret)]})["findings"][0]


def test_secrets_are_known_by_their_form_and_by_the_variables_name() -> None:
    """Tokens of known services, long random words, variables that say what they are; paths lose the home folder."""
    assert masked("hf_abcdefghij and ghp_0123456789ab") == "*** and ***"
    assert masked("x aB3" + "k9Qz" * 10) == "x ***"
    assert masked({"HF_TOKEN": "abc", "JAX_PLATFORMS": "cuda"}) == {"HF_TOKEN": "***", "JAX_PLATFORMS": "cuda"}
    assert masked(["/home/ann/cache", "/home/anna"], "/home/ann") == ["~/cache", "/home/anna"]


@pytest.mark.parametrize(
    "text",
    [
        "--xla_gpu_enable_latency_hiding_scheduler=true --xla_gpu_all_gather_combine_threshold_bytes=134217728",
        "NVIDIA H100 80GB HBM3 (cc 9.0, 79.65 GiB), jax-cuda13-plugin 0.11.2",
        "GPU-00000000-0000-0000-0000-000000000000",
        "https://docs.jax.dev/en/latest/gpu_memory_allocation.html (source: jax-ml/jax#17426)",
        "/opt/conda/lib/python3.12/site-packages/nvidia/cudnn/lib:/usr/local/cuda-12.4/lib64",
        "LEGACY_COMMAND_BUFFER_CUSTOM_CALL_TARGETS",
    ],
)
def test_what_a_bug_report_needs_stays(text: str) -> None:
    """Flags, versions, paths and addresses."""
    assert masked(text) == text


@given(st.integers(0, 2**31), st.integers(0, 8))
def test_little_shared_memory_matters_where_nccl_joins_gpus(size: int, count: int) -> None:
    """Less than 512 MiB for two GPUs or more; one GPU needs none."""
    for there in (size, 2**29 - 1, 2**29):
        around = HERE._replace(shared_memory_bytes=there)
        codes = told(machine(count=count, plugins=PLUGINS), around=around)
        assert ("small-shared-memory" in codes) is (there < 512 * 2**20 and count > 1)


@pytest.mark.parametrize("visible", [None, "", "-1", "7"])
@pytest.mark.parametrize("around", [None, HERE, HERE._replace(device_nodes=False)])
def test_a_variable_hides_gpus_only_where_some_may_be(visible: str | None, around: Surroundings | None) -> None:
    """Of a host that has no device of NVIDIA's the variable says nothing; of one that is described alone it does."""
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    may_be = around is None or around.device_nodes
    expected = "gpus-hidden" if visible is not None and may_be else "no-gpu"
    assert set(told(GOOD._replace(gpus=()), environ, around)) == {expected}
    assert set(told(GOOD._replace(gpus=None), environ, around)) == {"driver-silent" if may_be else expected}


@given(st.integers(-64, 255).filter(bool), st.text("ab ", max_size=5))
def test_how_a_start_failed_is_told_by_its_number(status: int, said: str) -> None:
    """A signal is a negative one."""
    (found,) = diagnose(GOOD, {}, HERE, Started(1.0, status=status, said=said))
    end = f"(signal {-status})" if status < 0 else f"(exit code {status})"
    assert found.code == "start-fails" and end in found.message and found.message.endswith(said or "(none)")


def test_a_start_of_which_nothing_is_known_ended_without_a_device() -> None:
    """And no signal."""
    bare = Started(1.0)
    assert (bare.devices, bare.status, bare.timed_out, bare.platform) == (0, 0, False, None)
    (found,) = diagnose(GOOD, {}, HERE, bare)
    assert "(exit code 0)" in found.message
