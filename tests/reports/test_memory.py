"""Public reports on GPU memory (facts: reports D, and E where memory matters), each as a test by its number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxgpu_tune
from jaxgpu_tune import BadSetting, Finding, Machine, plan
from jaxgpu_tune.host.gpus import find_gpus
from jaxgpu_tune.planning.findings.diagnose import diagnose
from tests.child import told
from tests.fleet import GIB, codes, decision, machine
from tests.host.fake_nvml import Card, FakeNvml

MACHINES = Path(__file__).resolve().parent.parent / "machines"
OLD, NEW = "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"
PREALLOCATE, ALLOCATOR = "XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_ALLOCATOR"
POOL, UNIFIED = "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB", "TF_FORCE_UNIFIED_MEMORY"
MEMORY = {OLD, NEW, PREALLOCATE, ALLOCATOR, POOL, UNIFIED}
PRESETS = [preset.name for preset in jaxgpu_tune.presets()]


def of_file(name: str, **changes: Any) -> Machine:
    """A machine of tests/machines, with some facts changed."""
    return Machine.from_dict({**json.loads((MACHINES / f"{name}.json").read_text()), **changes})


def card(memory: int = 80 * GIB, count: int = 1, jaxlib: str = "0.11.2", **facts: Any) -> Machine:
    """GPUs alike of which only these facts are known."""
    gpu = {"compute_capability": "9.0", "memory_bytes": memory, "count": count, **facts}
    return Machine.from_dict({"gpus": [gpu], "jaxlib": jaxlib, "jax": jaxlib})


def planned(here: Machine, environ: dict[str, str] | None = None, **more: Any) -> jaxgpu_tune.Report:
    """A plan of "auto" for a machine in an environment."""
    return plan("auto", machine=here, environ=environ or {}, **more)


def finding(report: jaxgpu_tune.Report, code: str) -> Finding:
    """The one finding of that code."""
    (found,) = [f for f in report.findings if f.code == code]
    return found


def memory_of(report: jaxgpu_tune.Report) -> dict[str, str | None]:
    """What the plan does to the variables of the pool."""
    return {name: value for name, value in report.environ.items() if name in MEMORY}


# --- the fraction: R31, R32, R34, R35, R36, R47


@pytest.mark.parametrize(
    ("given", "meant"),
    [("100", "0.75"), ("10", "0.1"), ("75%", "0.75"), ("0,75", "0.75"), ("1.5", "0.75"), ("90", "0.9")],
)
def test_R31_R32_a_percentage_is_refused_with_the_ratio_that_was_meant(given: str, meant: str) -> None:
    """As an argument it raises; inherited it is taken out."""
    wrong = finding(planned(machine(count=4, jaxlib="0.4.14"), {OLD: given}), "bad-variable")
    assert wrong.severity == "error" and f"Did you mean {meant}?" in wrong.hint and given in wrong.message
    with pytest.raises(BadSetting, match="Did you mean"):
        planned(machine(), env={OLD: given})


@pytest.mark.parametrize(("given", "meant"), [("75%", "0.75"), ("0.5", "0.5"), (90, "0.9"), (100, "0.75")])
def test_R31_R32_the_argument_names_the_ratio_too(given: Any, meant: str) -> None:
    """Text is no number, however plain; 90 is no ratio. Named is what was given: https://github.com/jax-ml/jax/issues/17426"""
    with pytest.raises(BadSetting, match=f"^memory_fraction={given!r} .*Did you mean {meant}\\?"):
        planned(card(), memory_fraction=given)


def test_R40_a_wrong_allocator_is_told_by_the_argument() -> None:
    with pytest.raises(BadSetting, match=r"^allocator='cuda_asinc' is no allocator"):
        planned(card(), allocator="cuda_asinc")


@pytest.mark.parametrize(("share", "warns"), [(0.75, False), (0.95, False), (0.96, True), (1.0, True)])
def test_R31_R47_more_than_95_percent_is_warned_of(share: float, warns: bool) -> None:
    """Asked for or inherited: NVIDIA's libraries need room too."""
    asked, inherited = planned(card(), memory_fraction=share), planned(card(), {OLD: str(share)})
    for report in (asked, inherited):
        assert ("memory-fraction-high" in codes(report)) is warns
    if warns:
        found = finding(asked, "memory-fraction-high")
        assert found.severity == "warning" and "cuDNN" in found.message and "0.95" in found.hint
        assert memory_of(asked) == {NEW: f"{share:g}"}, "what is asked for is warned of, not changed"


def test_R32_one_form_of_a_fraction_is_written() -> None:
    """.10 stays as the user wrote it, 0.10 as an argument becomes 0.1."""
    assert planned(card(), {OLD: ".10"}).environ == {}
    assert memory_of(planned(card(), memory_fraction=0.10)) == {NEW: "0.1"}


@pytest.mark.parametrize(("jaxlib", "warns"), [("0.4.22", True), ("0.4.23", True), ("0.4.25", False)])
def test_R33_releases_that_do_not_heed_the_variables_are_named(jaxlib: str, warns: bool) -> None:
    """Preallocation stays on there."""
    assert ("memory-variables-ignored" in codes(planned(card(jaxlib=jaxlib), {PREALLOCATE: "false"}))) is warns


@pytest.mark.parametrize(("processes", "share"), [(2, "0.45"), (6, "0.15")])
def test_R34_processes_share_the_total_memory_whatever_is_free(processes: int, share: str) -> None:
    """Whoever starts first or last gets the same."""
    for free in (80 * GIB, 30 * GIB):
        report = planned(card(free_bytes=free), processes_per_gpu=processes)
        assert memory_of(report) == {NEW: share} and "total memory" in decision(report, NEW).reason


def test_R34_before_0_4_the_fraction_was_of_what_is_free() -> None:
    """That is told."""
    old, new = planned(card(jaxlib="0.3.25"), {OLD: "0.15"}), planned(card(jaxlib="0.4.14"), {OLD: "0.15"})
    assert "free" in finding(old, "fraction-of-free-memory").message
    assert "fraction-of-free-memory" not in codes(new)


@pytest.mark.parametrize(("jaxlib", "name"), [("0.4.31", OLD), ("0.4.33", NEW), ("0.12.0.1", NEW)])
def test_R35_one_name_that_the_release_reads(jaxlib: str, name: str) -> None:
    """Whatever is set already and however it is asked for, exactly one of the two is left."""
    here = card(jaxlib=jaxlib)
    for environ in ({}, {OLD: "0.5"}, {NEW: "0.5"}, {OLD: "0.5", NEW: "0.6"}):
        for more in (
            {"memory_fraction": 0.4},
            {"env": {OLD: "0.4"}},
            {"env": {NEW: "0.4"}},
            {"memory_fraction": "auto"},
            {},
        ):
            final = environ | planned(here, environ, **more).environ
            left = {n: v for n, v in final.items() if n in (OLD, NEW) and v is not None}
            assert len(left) == (1 if environ or more else 0), (environ, more)
            assert set(left) <= {OLD, name}, (environ, more, "a name that is not read")


@pytest.mark.parametrize(
    ("jaxlib", "environ", "severity", "told"),
    [
        ("0.11.2", {OLD: ".8", NEW: ".9"}, "error", "which JAX answers by running on the CPU"),
        ("0.4.30", {OLD: ".8", NEW: ".9"}, "warning", f"jaxlib 0.4.30 does not read it; {OLD}=.8 stays"),
        ("0.4.30", {NEW: ".9"}, "warning", f"jaxlib 0.4.30 does not read it; {OLD}=.9 is used instead"),
    ],
)
def test_R35_what_two_names_do_is_told_for_the_release(
    jaxlib: str, environ: dict[str, str], severity: str, told: str
) -> None:
    """Before the newer name was read, both did no harm: https://github.com/openxla/xla/issues/16457"""
    one = finding(planned(card(jaxlib=jaxlib), environ), "two-fractions")
    assert one.severity == severity and told in one.message and one.hint
    assert (severity == "error") is ("CPU" in one.message)


def test_R35_a_name_that_is_asked_for_and_not_read_is_told() -> None:
    """Its value would have been lost: https://github.com/openxla/xla/issues/16457"""
    one = finding(planned(card(jaxlib="0.4.30"), {OLD: "0.5"}, env={NEW: "0.8"}), "flag-translated")
    assert f"{OLD}=0.8 is used instead" in one.message


def test_R36_above_one_needs_unified_memory_that_xla_reads_as_such() -> None:
    """ " 1" and "yes" are false to XLA."""
    for word in ("1", "true", "True"):
        assert planned(card(), {UNIFIED: word, OLD: "4.0"}).findings == ()
    for word in ("yes", " 1", "0"):
        report = planned(card(), {UNIFIED: word, OLD: "4.0"})
        assert report.environ[OLD] is None, word
    asked = planned(card(), memory_fraction=3.2, env={UNIFIED: "true"})
    assert memory_of(asked) == {NEW: "3.2", UNIFIED: "true"} and not asked.findings
    assert "bounds nothing" in finding(planned(card(), {UNIFIED: "1", OLD: "0.5"}), "unified-memory-fraction").message


@pytest.mark.parametrize("preset", PRESETS)
def test_R47_nothing_about_memory_changes_unasked(preset: str) -> None:
    """No preset of this project sets a fraction; 1.0 is set by nothing but an explicit 1.0."""
    for name in ("h100x8", "gb10", "wsl_rtx4070", "mig"):
        report = plan(preset, machine=of_file(name), environ={})
        kind = next(p.kind for p in jaxgpu_tune.presets() if p.name == preset)
        assert report.environ.get(NEW) != "1"
        assert not (kind == "maintained" and memory_of(report)), (preset, memory_of(report))


@settings(max_examples=75, deadline=None)
@given(
    memory=st.integers(1, 300),
    count=st.integers(1, 8),
    free=st.floats(0, 1),
    processes=st.none() | st.integers(1, 100),
    capability=st.sampled_from(["7.0", "9.0", "12.1"]),
)
def test_R47_R34_auto_never_takes_the_whole_gpu_nor_looks_at_what_is_free(
    memory: int, count: int, free: float, processes: int | None, capability: str
) -> None:
    """All the shares on a GPU fit together, and the reserve is left unless the GPU is too small for it."""
    gpu = {"memory": memory * GIB, "count": count, "compute_capability": capability}
    more = {"memory_fraction": "auto", "processes_per_gpu": processes}
    report = planned(card(**gpu, free_bytes=int(free * memory * GIB)), **more)
    share = float(str(report.environ[NEW])) * (processes or 1)
    assert 0 < share <= (0.5 if capability == "12.1" else 0.92) + 1e-9
    assert share <= max(0.1, 1 - (1 if count == 1 else 2) / memory) + 1e-9
    assert report.environ == planned(card(**gpu), **more).environ


# --- allocators: R37, R38, R39, R40


def test_R37_of_platform_and_fraction_and_preallocation_one_is_in_force() -> None:
    """One warning says which."""
    together = {PREALLOCATE: "false", OLD: "0.5", ALLOCATOR: "platform"}
    found = finding(planned(card(), together), "memory-settings-idle")
    assert found.severity == "warning" and "platform alone is in force" in found.message
    assert f"{PREALLOCATE}=false and {OLD}=0.5 mean nothing" in found.message
    asked = planned(card(), allocator="platform", preallocate=False, memory_fraction=0.5)
    assert "memory-settings-idle" in codes(asked)
    assert "memory-settings-idle" not in codes(planned(card(), {ALLOCATOR: "platform"}))
    assert "memory-settings-idle" not in codes(planned(card(), {ALLOCATOR: "cuda_async", OLD: "0.5"}))


def test_R37_in_0_10_platform_is_a_pool() -> None:
    """There the other two are in force."""
    found = finding(planned(card(jaxlib="0.10.2"), {ALLOCATOR: "platform", OLD: "0.5"}), "memory-settings-idle")
    assert f"{ALLOCATOR}=platform is not in force" in found.message and f"{OLD}=0.5 counts" in found.message


def test_R38_on_wsl2_from_0_11_on_cuda_async_is_advised() -> None:
    """And nothing is changed unasked."""
    here = of_file("wsl_rtx4070")
    report = planned(here)
    found = finding(report, "wsl-memory")
    assert "4 GiB" in found.message and "cuda_async" in found.hint and not memory_of(report)
    assert "wsl-memory" not in codes(planned(here, allocator="cuda_async"))
    assert "wsl-memory" not in codes(planned(here._replace(jaxlib="0.10.1", jax="0.10.1", plugins={})))
    assert "wsl-memory" not in codes(planned(here._replace(wsl=False)))
    assert Machine.from_dict(here.to_dict()) == here and here.to_dict()["wsl"] is True


def test_R38_wsl2_is_told_by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Microsoft's own, as uname has it."""
    import os
    from types import SimpleNamespace

    for release, wsl in (("5.15.167.4-microsoft-standard-WSL2", True), ("6.8.0-45-generic", False)):
        monkeypatch.setattr(os, "uname", lambda release=release: SimpleNamespace(release=release))
        assert jaxgpu_tune.detect().wsl is wsl


def test_R39_a_vgpu_with_a_backend_that_needs_virtual_memory_management() -> None:
    """No setting helps, so the release that works is named."""
    shared = find_gpus({}, FakeNvml(Card("GPU-1111", "NVIDIA A40-12Q", (8, 6), 12 * GIB, virtualization=2))).gpus
    passed = find_gpus({}, FakeNvml(Card("GPU-1111", virtualization=1))).gpus
    here = Machine(gpus=shared, jax="0.10.1", jaxlib="0.10.1")
    assert "jaxlib<=0.10.0" in finding(planned(here), "vgpu-memory").hint
    assert "vgpu-memory" not in codes(planned(here._replace(jaxlib="0.10.0", jax="0.10.0")))
    assert "vgpu-memory" not in codes(planned(here._replace(gpus=passed)))
    assert Machine.from_dict(here.to_dict()) == here


@pytest.mark.parametrize(
    ("jaxlib", "warns"), [("0.4.14", False), ("0.4.16", True), ("0.4.28", True), ("0.4.30", False)]
)
def test_R40_platform_with_command_buffers(jaxlib: str, warns: bool) -> None:
    """Without graphs, or with cuda_async, there is nothing to warn of."""
    here = card(jaxlib=jaxlib)
    assert ("platform-with-graphs" in codes(planned(here, {ALLOCATOR: "platform"}))) is warns
    assert "platform-with-graphs" not in codes(planned(here, {ALLOCATOR: "platform"}, cuda_graphs=False))
    assert "platform-with-graphs" not in codes(planned(here, {ALLOCATOR: "cuda_async"}))


def test_R40_the_name_that_was_advised_is_written_as_the_one_that_is_read() -> None:
    """cuda_malloc_async would move the program to the CPU."""
    for report in (planned(card(), {ALLOCATOR: "cuda_malloc_async"}), planned(card(), allocator="CUDA_MALLOC_ASYNC ")):
        assert memory_of(report) == {ALLOCATOR: "cuda_async"} and "variable-repaired" in codes(report)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("TF_GPU_ALLOCATOR", ALLOCATOR),
        ("XLA_CLIENT_PREALLOCATE", PREALLOCATE),
        ("XLA_PYTHON_CLIENT_MEM_FRAC", OLD),
        ("XLA_PYTHON_CLIENT_PREALLOCATION", PREALLOCATE),
        ("JAX_MEM_FRACTION", OLD),
    ],
)
def test_R40_names_that_no_reader_knows(written: str, read: str) -> None:
    """As JAX's own page and near misses have them."""
    for report in (planned(card(), {written: "false"}), planned(card(), env={written: "false"})):
        (found,) = [f for f in report.findings if written in f.message]
        assert found.severity == "warning" and read in found.message + found.hint


def test_R40_an_update_mode_that_overrules_the_allocator() -> None:
    """Then vmm is in force."""
    asked = {"flags": {"xla_gpu_command_buffer_update_mode": "SKIP_TEMP"}}
    assert "allocator-overruled" in codes(planned(card(), allocator="cuda_async", **asked))
    assert "allocator-overruled" not in codes(planned(card(), **asked))


@pytest.mark.parametrize(
    ("allocator", "jaxlib", "known"),
    [
        ("vmm", "0.9.2", False),
        ("vmm", "0.10.2", True),
        ("address", "0.10.2", False),
        ("address", "0.11.2", True),
        ("", "0.11.2", False),
    ],
)
def test_R40_allocators_are_those_of_the_release(allocator: str, jaxlib: str, known: bool) -> None:
    """An empty text is no allocator either: jaxlib refuses it."""
    final = planned(card(jaxlib=jaxlib), {ALLOCATOR: allocator}).environ
    assert (ALLOCATOR not in final) if known else final[ALLOCATOR] is None


# --- who else uses the GPU: R41, R42, R43, R44


CONFIGURED = """
import sys, types
for name in {modules!r}:
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name]._initialized = True
import jaxgpu_tune
report = jaxgpu_tune.configure({arguments})
tell([[[f.code, f.severity, f.message, f.hint] for f in report.findings], report.environ,
      [d.reason for d in report.decisions if d.name == "XLA_CLIENT_MEM_FRACTION"]])
"""


def configured(tmp_path: Path, *modules: str, arguments: str = "") -> tuple[list[list[str]], dict[str, str], list[str]]:
    """configure() in a child on 8 x H100 (of a file, with the installed jaxlib) in which these modules are imported."""
    file = tmp_path / "machine.json"
    file.write_text(json.dumps(machine(jaxlib=str(jaxgpu_tune.detect().jaxlib)).to_dict()))
    findings, environ, reasons = told(
        CONFIGURED.format(modules=modules, arguments=arguments), JAXGPU_TUNE_MACHINE=str(file)
    )
    return [f for f in findings if f[0] == "gpu-neighbour"], environ, reasons


@pytest.mark.parametrize(
    ("modules", "advice", "severity"),
    [
        (("tensorflow",), "set_visible_devices", "warning"),
        (("torch", "torch.cuda"), "torch.cuda.set_per", "warning"),
        (("torch",), "torch.cuda.set_per", "note"),
        (("drjit", "drjit.cuda"), "drjit.flush_malloc_cache()", "note"),
    ],
)
def test_R41_R42_a_library_that_is_imported_and_takes_gpu_memory(
    tmp_path: Path, modules: tuple[str, ...], advice: str, severity: str
) -> None:
    """The advice, as a warning where it uses the GPU (torch may only read the data); nothing is changed unasked.

    Dr.Jit was starved by JAX's share: https://github.com/mitsuba-renderer/drjit/pull/506
    """
    ((_, told_as, message, hint),), environ, _ = configured(tmp_path, *modules)
    assert told_as == severity and "75%" in message
    assert "preallocate=False" in hint and advice in hint
    assert not MEMORY & set(environ)


def test_R41_auto_takes_it_into_account(tmp_path: Path) -> None:
    """Half of the GPU at most, and the reason says for whom."""
    findings, environ, (reason,) = configured(tmp_path, "torch", arguments='memory_fraction="auto"')
    assert environ[NEW] == "0.5" and "PyTorch in this process" in reason and not findings


def test_R41_a_library_that_is_only_installed_is_for_doctor_to_tell() -> None:
    """Whether it will use the GPU is not known: a plan is silent, a diagnosis has a note, none where memory is taken as needed."""
    here = card()._replace(libraries={"torch": "2.8.0", "nvidia-cublas": "13.0.0.19"})
    assert "gpu-neighbour" not in codes(planned(here))
    (found,) = [one for one in diagnose(here, {}, None) if one.code == "gpu-neighbour"]
    assert found.severity == "note" and "PyTorch is installed" in found.message
    asked = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    assert not [one for one in diagnose(here, asked, None) if one.code == "gpu-neighbour"]


def test_R42_a_shared_gpu_needs_no_more_than_preallocation_off(tmp_path: Path) -> None:
    """The allocator stays the default, and the advice is gone."""
    findings, environ, _ = configured(tmp_path, "torch", arguments="preallocate=False")
    assert {n: environ[n] for n in MEMORY & set(environ)} == {PREALLOCATE: "false"} and not findings


@pytest.mark.parametrize(
    ("memory", "count", "share"),
    [(11, 2, "0.81"), (11, 1, "0.9"), (24, 4, "0.91"), (80, 8, "0.92"), (4, 2, "0.5")],
)
def test_R43_the_reserve_is_absolute_so_the_fraction_falls_with_the_card(memory: int, count: int, share: str) -> None:
    """One GiB for CUDA's libraries, another for NCCL where the job has several GPUs."""
    report = planned(card(memory * GIB, count), memory_fraction="auto")
    reason = decision(report, NEW).reason
    assert memory_of(report) == {NEW: share}
    assert f"{memory} GiB in all" in reason and ("NCCL" in reason) is (count > 1) and "92%" in reason


def test_R43_one_gpu_of_a_job_of_many_processes_leaves_room_for_nccl() -> None:
    """And each process computes the same, whatever is free on its GPU."""
    processes = {"rank": 0, "count": 8, "local_count": 8, "local_rank": 0, "launcher": "slurm"}
    shares = set()
    for rank, free in ((0, 10), (1, 4)):
        here = machine(count=1, processes={**processes, "rank": rank, "local_rank": rank})
        gpus = tuple(
            gpu._replace(memory_bytes=11 * GIB, free_bytes=free * GIB, display=rank == 0) for gpu in here.gpus or ()
        )
        shares.add(planned(here._replace(gpus=gpus), memory_fraction="auto").environ[NEW])
    assert shares == {"0.81"}


@pytest.mark.parametrize(
    ("memory", "share", "warns"), [(11, 0.8, False), (11, 0.9, True), (4, 0.6, True), (80, 0.92, False)]
)
def test_R43_what_a_stated_fraction_leaves_is_told_where_it_is_too_little(
    memory: int, share: float, warns: bool
) -> None:
    """Of a small card the same share leaves less, and NCCL needs its part: the reporter's 0.9 of 11 GB was too much."""
    report = planned(card(memory * GIB, 2), memory_fraction=share)
    assert ("memory-fraction-high" in codes(report)) is warns
    assert not warns or "leave 2 GiB" in finding(report, "memory-fraction-high").hint


def test_R47_an_idle_gpu_is_not_said_to_be_others() -> None:
    """The driver holds some of it, whatever share is asked for; that the share is too high is told by itself."""
    here = card(80 * GIB, 1)
    idle = here._replace(gpus=tuple(gpu._replace(free_bytes=79 * GIB) for gpu in here.gpus or ()))
    told = finding(planned(idle, memory_fraction=1.0), "memory-fraction-high").message
    assert "100% of the GPU's memory" in told and "gpu-occupied" not in codes(planned(idle, memory_fraction=1.0))


def test_R43_auto_without_facts_sets_nothing() -> None:
    """Its decision says why."""
    unknown = Machine.from_dict({"gpus": [{"compute_capability": "9.0"}], "jaxlib": "0.11.2"})
    report = planned(unknown, memory_fraction="auto")
    assert not memory_of(report) and decision(report, NEW).status == "unmet"


@pytest.mark.parametrize(("share", "warns"), [(0.8, False), (0.9, True), (0.92, True)])
def test_R44_registered_buffers_lie_outside_the_fraction(share: float, warns: bool) -> None:
    """Whether the flag asks for them or the size of their pool."""
    code = "registered-buffers-outside"
    flag = planned(machine(), memory_fraction=share, flags={"xla_gpu_enable_nccl_user_buffers": True})
    pool = planned(machine(), {POOL: "512"}, memory_fraction=share)
    assert (code in codes(flag)) is (code in codes(pool)) is warns
    assert code not in codes(planned(machine(count=1), {POOL: "512"}, memory_fraction=share))


@pytest.mark.parametrize(
    "text", ["--xla_gpu_enable_nccl_user_buffers=1", "--xla_gpu_experimental_enable_nccl_symmetric_buffers"]
)
def test_R44_auto_leaves_room_for_registered_buffers(text: str) -> None:
    """And says so: user buffers, symmetric buffers, and the pool of a stated size."""
    report = planned(machine(), {"XLA_FLAGS": text}, memory_fraction="auto")
    assert memory_of(report) == {NEW: "0.85"} and "registered buffers" in decision(report, NEW).reason
    assert "registered-buffers-outside" in codes(planned(machine(), {"XLA_FLAGS": text, OLD: "0.92"}))
    with_pool = planned(card(24 * GIB, 2), {POOL: "2048"}, memory_fraction="auto")
    assert with_pool.environ[NEW] == "0.83" and POOL in decision(with_pool, NEW).reason


def test_R44_without_nvls_the_buffers_are_in_vain() -> None:
    """NCCL_NVLS_ENABLE=0 in the environment."""
    asked = {"xla_gpu_enable_nccl_user_buffers": True}
    assert "user-buffers-without-nvls" in codes(planned(machine(), {"NCCL_NVLS_ENABLE": "0"}, flags=asked))
    assert "user-buffers-without-nvls" not in codes(planned(machine(), flags=asked))


@pytest.mark.parametrize(
    ("text", "jaxlib", "severities"),
    [
        ("512", "0.10.2", []),
        ("500", "0.10.2", ["note"]),
        ("40960", "0.10.2", ["warning"]),
        ("40960", "0.11.2", []),
        ("98304", "0.11.2", ["warning"]),
    ],
)
def test_R44_the_size_of_the_collective_pool(text: str, jaxlib: str, severities: list[str]) -> None:
    """Before 0.11 it lies beside the fraction, from 0.11 on inside; it must fit, and XLA takes multiples of 512 MiB."""
    report = planned(machine(jaxlib=jaxlib), {POOL: text})
    assert [f.severity for f in report.findings if f.code == "collective-pool-size"] == severities


# --- the GPU's own memory: R45, R46, and a GPU that others use


def test_R45_a_gpu_without_memory_of_its_own() -> None:
    """A warning unasked; auto gives at most half, and says why."""
    here = of_file("gb10")
    report = planned(here)
    found = finding(report, "host-memory-taken")
    assert "GB10" in found.message and "75%" in found.message and not memory_of(report)
    computed = planned(here, memory_fraction="auto")
    assert memory_of(computed) == {NEW: "0.5"} and "host's own" in decision(computed, NEW).reason
    assert "host-memory-taken" not in codes(computed) | codes(planned(here, preallocate=False))
    assert memory_of(planned(here, processes_per_gpu=2)) == {NEW: "0.25"}


@pytest.mark.parametrize(
    ("name", "capability", "warns"),
    [
        ("Orin", "8.7", True),
        ("NVIDIA Thor", "11.0", True),
        ("NVIDIA GH200 480GB", "9.0", False),
        ("NVIDIA B200", "10.0", False),
    ],
)
def test_R45_which_gpus_these_are(name: str, capability: str, warns: bool) -> None:
    """GH200's GPU has memory of its own."""
    here = card(64 * GIB, name=name, compute_capability=capability)
    assert ("host-memory-taken" in codes(planned(here))) is warns


@pytest.mark.parametrize("name", [OLD, PREALLOCATE])
def test_R46_explain_tells_that_preallocation_hides_the_true_use(name: str) -> None:
    """nvidia-smi shows the pool; the peak is the program's own number."""
    text = str(jaxgpu_tune.explain(name))
    assert "nvidia-smi" in text and "peak_bytes_in_use" in text


def test_R46_the_decision_says_what_nvidia_smi_will_show() -> None:
    """Where auto computed the share."""
    assert "nvidia-smi shows 92% in use" in decision(planned(card(), memory_fraction="auto"), NEW).reason


@pytest.mark.parametrize(
    ("free", "more", "code"),
    [
        (70, {}, None),
        (40, {}, "gpu-occupied"),
        (40, {"preallocate": False}, None),
        (40, {"memory_fraction": 0.4}, None),
        (40, {"allocator": "platform"}, None),
        (0, {}, "gpu-full"),
    ],
)
def test_a_gpu_that_others_use_already(free: int, more: dict[str, Any], code: str | None) -> None:
    """What is taken at the start must be free; the plan stays the same, since free memory is no fact of all processes."""
    report = planned(card(free_bytes=free * GIB), **more)
    assert codes(report) & {"gpu-occupied", "gpu-full"} == ({code} if code else set())
    on_cpu = planned(card(free_bytes=free * GIB), {"JAX_PLATFORMS": "cpu"}, **more)
    assert not codes(on_cpu) & {"gpu-occupied", "gpu-full"}
    assert report.environ == planned(card(), **more).environ
    if code == "gpu-occupied":
        assert "50%" in finding(report, code).message and "memory_fraction=0.47" in finding(report, code).hint


@pytest.mark.parametrize(("ids", "warns"), [([1], False), ([0], True), (None, False)])
def test_a_gpu_that_a_fellow_process_fills_is_not_this_ones(ids: list[int] | None, warns: bool) -> None:
    """Each process of a job on one host sees all GPUs and uses its own."""
    layout = {"count": 2, "local_count": 2, "rank": 1, "local_rank": 1, "launcher": "slurm", "local_device_ids": ids}
    here = machine(count=2, processes=layout)
    first, second = here.gpus or ()
    report = planned(here._replace(gpus=(first._replace(free_bytes=8 * GIB), second)))
    assert ("gpu-occupied" in codes(report)) is warns


def test_a_desktop_on_the_gpu_is_left_its_memory_where_one_process_decides() -> None:
    """As NVML tells of the display."""
    (gpu,) = find_gpus({}, FakeNvml(Card("GPU-1111", memory=12 * GIB, display=1))).gpus or ()
    report = planned(Machine(gpus=(gpu,), jax="0.11.2", jaxlib="0.11.2"), memory_fraction="auto")
    assert report.environ[NEW] == "0.83" and "the desktop" in decision(report, NEW).reason


def test_R55_a_mig_slice_is_a_gpu_of_its_own_size() -> None:
    """auto computes from the slice."""
    report = planned(of_file("mig"), memory_fraction="auto")
    assert report.environ[NEW] == "0.89" and "9.75 GiB in all" in decision(report, NEW).reason


def test_R54_of_gpus_that_differ_the_smallest_counts() -> None:
    """A fraction is one for all."""
    mixed = planned(of_file("mixed_1080ti_rtxpro6000"), memory_fraction="auto")
    small = min(gpu.memory_bytes or 0 for gpu in of_file("mixed_1080ti_rtxpro6000").gpus or ())
    assert float(str(mixed.environ[NEW])) == int((1 - 2 * GIB / small) * 100) / 100
