"""Sections A and B of the reports: flags unknown, removed, renamed or of another type; merging with what is set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import jaxgpu_tune
from jaxgpu_tune import plan
from tests.child import told
from tests.cli.typed import call
from tests.fleet import codes, decision, machine

MACHINES = Path(__file__).resolve().parent.parent / "machines"
COMMAND_BUFFER = "xla_gpu_enable_command_buffer"


def test_R17_an_explicit_argument_beats_what_is_inherited_names_both_and_strict_raises() -> None:
    given = {
        "machine": machine(),
        "environ": {"XLA_FLAGS": "--xla_dump_to=/tmp/a"},
        "flags": {"--xla_dump_to": "/tmp/b"},
    }
    report = plan("auto", **given)
    assert report.xla_flags.split().count("--xla_dump_to=/tmp/b") == 1 and "/tmp/a" not in report.xla_flags
    (finding,) = [f for f in report.findings if f.code == "overruled"]
    assert "/tmp/a" in finding.message and "/tmp/b" in finding.message
    with pytest.raises(jaxgpu_tune.BadSetting, match="/tmp/a"):
        plan("auto", **given, strict=True)


def test_R16_R19_R20_flags_of_the_user_survive_one_by_one() -> None:
    mine = "--xla_force_host_platform_device_count=4 --xla_gpu_autotune_level=3"
    report = plan("fsdp", machine=machine(), environ={"XLA_FLAGS": mine})
    assert set(mine.split()) <= set(report.xla_flags.split())
    assert decision(report, "xla_force_host_platform_device_count").status == "kept"


def test_R05_an_empty_value_is_a_value() -> None:
    report = plan("auto", machine=machine(count=1), environ={}, cuda_graphs=False)
    assert report.xla_flags == f"--{COMMAND_BUFFER}="
    kept = plan("auto", machine=machine(count=1), environ={"XLA_FLAGS": f"--{COMMAND_BUFFER}="})
    assert kept.xla_flags == f"--{COMMAND_BUFFER}=" and decision(kept, COMMAND_BUFFER).value == ""


def test_R06_the_same_intent_gives_the_string_of_the_release() -> None:
    old = plan("auto", machine=machine(count=1, jaxlib="0.4.19"), environ={}, cuda_graphs=False)
    new = plan("auto", machine=machine(count=1), environ={}, cuda_graphs=False)
    assert old.xla_flags == "--xla_gpu_graph_level=0" and new.xla_flags == f"--{COMMAND_BUFFER}="


@pytest.mark.parametrize("asked", [{"cuda_graphs": False}, {"flags": {COMMAND_BUFFER: ""}}])
def test_R06_a_flag_that_nobody_wrote_needs_no_other_spelling(asked: dict[str, Any]) -> None:
    """The way to switch graphs off has changed with XLA: https://github.com/openxla/xla/issues/6195"""
    report = plan("auto", machine=machine(count=1, jaxlib="0.4.19"), environ={}, **asked)
    assert report.xla_flags == "--xla_gpu_graph_level=0"
    assert ("flag-translated" in codes(report)) is ("flags" in asked)
    assert any(one.status == "translated" for one in report.decisions) is ("flags" in asked)


def test_R05_graph_level_is_translated_from_the_release_that_removed_it() -> None:
    old = plan("auto", machine=machine(count=1, jaxlib="0.7.1"), environ={"XLA_FLAGS": "--xla_gpu_graph_level=0"})
    new = plan("auto", machine=machine(count=1, jaxlib="0.7.2"), environ={"XLA_FLAGS": "--xla_gpu_graph_level=0"})
    assert old.xla_flags == "--xla_gpu_graph_level=0" and new.xla_flags == f"--{COMMAND_BUFFER}="
    assert decision(new, "xla_gpu_graph_level").status == "translated" and "flag-translated" in codes(new)


def test_R01_R02_R03_a_removed_flag_that_is_the_default_anyway_is_dropped_with_one_warning() -> None:
    report = plan("auto", machine=machine(), environ={"XLA_FLAGS": "--xla_gpu_enable_async_all_reduce=true"})
    assert "async" not in report.xla_flags
    assert [f.severity for f in report.findings] == ["warning"] and "0.4.27" in report.findings[0].message
    off = plan("auto", machine=machine(count=1), environ={}, flags={"xla_gpu_enable_async_collectives": False})
    assert off.xla_flags.startswith("--xla_gpu_disable_async_collectives=all") and "true" not in off.xla_flags


def test_R04_a_replacement_that_is_the_default_emits_nothing_and_its_opposite_does() -> None:
    on = plan("auto", machine=machine(count=1), environ={}, flags={"xla_gpu_simplify_all_fp_conversions": True})
    off = plan("auto", machine=machine(count=1), environ={}, flags={"xla_gpu_simplify_all_fp_conversions": False})
    assert on.xla_flags == "" and off.xla_flags == "--xla_allow_excess_precision=false"


def test_R07_flags_have_a_first_version_too_and_both_sides_count() -> None:
    flag = {"xla_gpu_experimental_parallel_collective_overlap_limit": 2}
    skewed = machine(jaxlib="0.4.35", plugins={"jax-cuda12-pjrt": "0.4.30"})
    report = plan("auto", machine=skewed, environ={}, flags=flag)
    assert report.xla_flags == "" and {"unknown-flag", "version-skew"} <= codes(report)
    assert plan("auto", machine=machine(jaxlib="0.5.3"), environ={}, flags=flag).xla_flags.endswith("=2")


def test_R08_R09_gating_is_by_the_planned_release() -> None:
    name = "xla_gpu_enable_llvm_module_compilation_parallelism"
    assert plan("auto", machine=machine(jaxlib="0.10.2"), environ={}, flags={name: True}).xla_flags == f"--{name}=true"
    gone = plan("auto", machine=machine(jaxlib="0.12.0.1"), environ={}, flags={name: True})
    assert name not in gone.xla_flags and decision(gone, name).status in ("absent", "translated")


def test_R14_an_option_this_jax_lacks_is_a_warning_and_a_name_no_jax_has_an_error() -> None:
    report = plan("auto", machine=machine(), environ={}, jax_config={"jax_spmd_mode": "allow_all"})
    assert "jax_spmd_mode" not in report.jax_config and any("jax_spmd_mode" in f.message for f in report.findings)
    with pytest.raises(jaxgpu_tune.BadSetting, match="jax_enable_pgle"):
        plan("auto", machine=machine(), environ={}, jax_config={"jax_enable_pgel": True})


@pytest.mark.parametrize("name", ["JAX_SPMD_MODE", "JAX_ARRAY"])
def test_R14_a_variable_of_an_option_that_is_gone_ends_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """jax passes over it; XLA would not pass over a flag."""
    monkeypatch.setenv(name, "1")
    done = call("check", "--jaxlib", "0.11.2")
    assert done.exit_code == 0 and f"warning (flag-translated): {name.lower()}=1" in done.stdout


def test_R16_what_is_put_before_our_text_is_the_users_too() -> None:
    code = """
import os, jaxgpu_tune
report = jaxgpu_tune.configure("single_gpu", flags={"xla_gpu_autotune_level": 2})
os.environ["XLA_FLAGS"] = "--xla_dump_to=mine " + os.environ["XLA_FLAGS"]
report.restore()
tell(os.environ["XLA_FLAGS"])
"""
    assert told(code) == "--xla_dump_to=mine"


def inherited(text: str, **more: object) -> jaxgpu_tune.Report:
    """A plan that adds nothing to a text on one H100."""
    return plan("auto", machine=machine(count=1), environ={"XLA_FLAGS": text}, **more)


def test_R09_a_dash_for_the_equals_sign_is_reported_with_the_name_that_was_meant() -> None:
    report = inherited("--xla_gpu_enable_triton_gemm-false")
    assert "gemm-false" not in report.xla_flags
    assert any("xla_gpu_enable_triton_gemm" in f"{f.message} {f.hint}" for f in report.findings)


def test_R10_flags_of_tpus_are_taken_out_and_their_variable_named() -> None:
    report = inherited("--xla_tpu_spmd_rng_bit_generator_unsafe=1 --megascale_x=1 --xla_dump_to=a")
    assert report.xla_flags == "--xla_dump_to=a"
    assert any("LIBTPU_INIT_ARGS" in f"{f.message} {f.hint}" for f in report.findings)


def test_R11_another_xla_of_the_environment_reads_the_same_flags() -> None:
    """Told where flags are set, and compiler_options() is the way that touches JAX alone."""
    both = machine(count=1, libraries={"tensorflow": "2.15.0"})
    report = plan("auto", machine=both, environ={}, flags={"xla_gpu_enable_triton_gemm": False})
    (finding,) = [f for f in report.findings if f.code == "xla-flags-shared"]
    assert finding.severity == "note" and "tensorflow 2.15.0" in finding.message and "compiler_options" in finding.hint
    assert "xla-flags-shared" not in codes(plan("auto", machine=both, environ={}))
    options = jaxgpu_tune.compiler_options("single_gpu", machine=both, flags={"xla_gpu_enable_triton_gemm": False})
    assert options == {"xla_gpu_enable_triton_gemm": False}


def test_R11_a_check_tells_it_of_the_flags_as_they_stand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The program was TensorFlow's, without any JAX: https://github.com/google-research/proteinfer/issues/87"""
    file = tmp_path / "machine.json"
    file.write_text('{"gpus": [], "libraries": {"tensorflow": "2.4.0"}}')
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", str(file))
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_enable_triton_gemm=false")
    told = " ".join(call("check").stdout.split())
    assert "tensorflow 2.4.0 is installed" in told and "env -u XLA_FLAGS python" in told
    monkeypatch.delenv("XLA_FLAGS")
    assert "tensorflow" not in call("check").stdout


def test_R11_tensorflow_that_is_imported_here_is_a_warning() -> None:
    code = """
import sys, types
sys.modules["tensorflow"] = types.ModuleType("tensorflow")
import jaxgpu_tune
report = jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": 2})
tell([f.severity for f in report.findings if f.code == "xla-flags-shared"])
"""
    assert told(code) == ["warning"]


def test_R12_an_argument_of_a_program_is_no_flag() -> None:
    report = inherited("--flash_attention_implementation=xla --xla_disable_hlo_passes=custom-kernel-fusion-rewriter")
    assert report.xla_flags == "--xla_disable_hlo_passes=custom-kernel-fusion-rewriter"
    (finding,) = [f for f in report.findings if "flash_attention" in f.message]
    assert finding.code == "not-an-xla-flag" and "program" in f"{finding.message} {finding.hint}"


@pytest.mark.parametrize("card", ["H100", "A100", "B200"])
def test_R13_the_default_preset_is_small_and_each_setting_has_a_reason_and_a_source(card: str) -> None:
    """Published performance flags gained nothing on A100, or crashed."""
    report = plan("auto", machine=machine(card), environ={})
    ours = [d for d in report.decisions if d.status == "set"]
    assert len(ours) <= 3
    assert all(d.reason and d.source for d in report.decisions)
    assert "xla_gpu_triton_gemm_any" not in report.xla_flags
    assert jaxgpu_tune.explain("xla_gpu_enable_triton_gemm").presets


def test_R13_the_flags_that_crashed_are_a_hazard_where_they_did() -> None:
    text = "--xla_gpu_enable_triton_softmax_fusion=true --xla_gpu_triton_gemm_any=True"
    report = plan("auto", machine=machine("A100", 2, jaxlib="0.4.30"), environ={"XLA_FLAGS": text})
    assert "triton-softmax-crash" in codes(report)


def test_R15_triton_off_is_a_choice_for_compile_time_and_in_no_default() -> None:
    for card in ("H100", "A100", "B200"):
        assert "triton_gemm" not in plan("auto", machine=machine(card), environ={}).xla_flags
    fast = plan("fast_compile", machine=machine(count=1), environ={})
    assert "--xla_gpu_enable_triton_gemm=false" in fast.xla_flags.split()


def test_R18_of_a_repeated_flag_the_last_counts_and_is_printed_once() -> None:
    report = inherited(
        "--xla_gpu_autotune_level=1 --xla_dump_to=a --xla_gpu_autotune_level=3", flags={"xla_dump_to": "b"}
    )
    assert sorted(report.xla_flags.split()) == ["--xla_dump_to=b", "--xla_gpu_autotune_level=3"]


def test_R09_a_file_that_installs_its_own_jax_is_judged_for_that_one(tmp_path: Path) -> None:
    """A container pinned to an old JAX, where the old flags are right: https://github.com/NVIDIA/JAX-Toolbox/pull/1010"""
    file = tmp_path / "Dockerfile"
    file.write_text('ENV XLA_FLAGS="--xla_gpu_graph_level=0"\nRUN pip install "jax[cuda12]==0.4.25"\n')
    named = ("--file", str(file))
    told, other = call("check", *named), call("check", *named, "--jaxlib", "0.11.2")
    assert (told.exit_code, other.exit_code) == (0, 1) and "judged for jaxlib 0.4.25" in " ".join(told.stdout.split())
    kept, changed = call("migrate", *named), call("migrate", *named, "--to", "0.11.2")
    assert kept.stdout == "" and "written for jaxlib 0.4.25" in kept.stderr
    assert "+ENV" in changed.stdout and "written for" not in changed.stderr
    file.write_text('ENV XLA_FLAGS="--xla_gpu_graph_level=0"\nRUN pip install "jax[cuda13]==0.11.2"\n')
    assert call("check", *named).exit_code == 1


def test_R03_a_jax_without_a_jaxlib_of_its_number(tmp_path: Path) -> None:
    """jax 0.4.37 came with jaxlib 0.4.36: https://github.com/jax-ml/jax/issues/25430"""
    file = tmp_path / "Dockerfile"
    file.write_text('ENV XLA_FLAGS="--xla_gpu_enable_async_collectives=true"\nRUN pip install jax==0.4.37\n')
    told = " ".join(call("check", "--file", str(file)).stdout.split())
    assert "is not for jaxlib 0.4.36" in told and "in no table" not in told
    assert told.count("As it stands, XLA ends the process on it.") == 1
    named = " ".join(call("check", "--jaxlib", "0.4.37", "--xla_gpu_autotune_level=2").stdout.split())
    assert "jax 0.4.37 runs with jaxlib 0.4.36" in named and "probe=True" not in named


@pytest.mark.parametrize(
    ("flag", "meant"),
    [
        ("xla_gpu_enable_triton_gemm=fasle", "'false'"),
        (f"{COMMAND_BUFFER}=FUSON,CUBLAS", "'FUSION'"),
        (f"{COMMAND_BUFFER}=cublaslt,fuson", "'FUSION'"),
    ],
)
def test_R15_a_value_that_is_misspelt_is_told_with_the_one_that_was_meant(flag: str, meant: str) -> None:
    """Such lines are copied for years: https://github.com/NVIDIA/JAX-Toolbox/pull/1469"""
    (found,) = [f for f in inherited(f"--{flag}").findings if f.code == "bad-flag-value"]
    assert f"Did you mean {meant}?" in found.message


ASYNC = [f"--xla_gpu_enable_async_{name}=true" for name in ("all_gather", "reduce_scatter", "all_reduce")]


def test_R02_what_holds_for_several_flags_is_told_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every config held three of them: https://github.com/AI-Hypercomputer/maxtext/pull/645"""
    report = inherited(" ".join(ASYNC))
    assert len(report.findings) == 3  # for programs one each
    same = f"The same holds for {ASYNC[1]} and {ASYNC[2]}."
    assert [" ".join(str(report).split()).count(text) for text in ("removed because", same)] == [1, 1]
    assert report._repr_html_().count("removed because this") == 1 + 3  # with the reasons, which are folded
    monkeypatch.setenv("XLA_FLAGS", " ".join(ASYNC))
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", str(MACHINES / "h100x1.json"))
    told = " ".join(call("doctor").stdout.split())
    assert "for 1 reason." in told and told.count("As it stands, XLA ends the process on it.") == 1
    file = tmp_path / "a3.sh"
    file.write_text(f"export XLA_FLAGS='{ASYNC[0]}\n  {ASYNC[1]} {ASYNC[2]}'\n")
    told = " ".join(call("check", "--file", str(file), "--jaxlib", "0.4.28").stdout.split())
    assert told.count("removed because") == 1 and f"{file}:2: {ASYNC[1]} and {file}:2: {ASYNC[2]}." in told
