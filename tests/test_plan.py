"""The plan as a whole: precedence, one decision a setting, the text of XLA_FLAGS, presets, arguments that are wrong."""

from __future__ import annotations

import json

import pytest

import jaxgpu_tune
from jaxgpu_tune import Machine, plan
from tests.fleet import codes, decision, machine

THRESHOLD = "xla_gpu_all_gather_combine_threshold_bytes"
COMMAND_BUFFER = "xla_gpu_enable_command_buffer"


def test_fsdp_on_hopper_says_the_measured_flags_in_the_newest_names() -> None:
    report = plan("fsdp", machine=machine(), environ={})
    assert "--xla_gpu_pipeline_all_gather=on" in report.xla_flags.split()
    assert f"--{THRESHOLD}=134217728" in report.xla_flags.split()
    assert decision(report, "xla_gpu_pipeline_reduce_scatter").status == "default"
    assert not report.applied


def test_fsdp_on_an_older_release_is_translated_and_says_so() -> None:
    report = plan("fsdp", machine=machine(jaxlib="0.6.2"), environ={})
    assert "--xla_gpu_enable_pipelined_all_gather=true" in report.xla_flags.split()
    assert decision(report, "xla_gpu_pipeline_all_gather").status == "translated"
    assert decision(report, "xla_gpu_enable_pipelined_all_gather").status == "set"
    assert decision(report, "xla_gpu_enable_latency_hiding_scheduler").status == "set"


@pytest.mark.parametrize("card", ["A100", "B200"])
def test_a_card_that_was_not_measured_gets_nothing_with_the_reason(card: str) -> None:
    report = plan("fsdp", machine=machine(card), environ={})
    assert report.xla_flags == ""
    assert "9.0" in decision(report, THRESHOLD).reason


def test_what_is_unknown_counts_as_unmet_with_the_reason_unknown() -> None:
    report = plan("fsdp", machine=Machine.from_dict({"jaxlib": "0.11.2"}), environ={})
    assert report.xla_flags == ""
    assert "unknown" in decision(report, THRESHOLD).reason


def test_what_is_set_already_wins_over_the_preset_and_the_loser_is_named() -> None:
    report = plan("fsdp", machine=machine(), environ={"XLA_FLAGS": f"--{THRESHOLD}=1024"})
    found = decision(report, THRESHOLD)
    assert (found.status, found.value) == ("kept", "1024")
    assert "134217728" in found.reason and "fsdp" in found.reason


def test_prefer_preset_swaps_the_two_and_warns() -> None:
    report = plan("fsdp", machine=machine(), environ={"XLA_FLAGS": f"--{THRESHOLD}=1024"}, prefer="preset")
    assert decision(report, THRESHOLD).value == "134217728"
    assert "overruled" in codes(report)


def test_r17_an_explicit_argument_beats_what_is_inherited_names_both_and_strict_raises() -> None:
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


def test_r16_r19_r20_flags_of_the_user_survive_one_by_one() -> None:
    mine = "--xla_force_host_platform_device_count=4 --xla_gpu_autotune_level=3"
    report = plan("fsdp", machine=machine(), environ={"XLA_FLAGS": mine})
    assert set(mine.split()) <= set(report.xla_flags.split())
    assert decision(report, "xla_force_host_platform_device_count").status == "kept"


def test_a_text_to_which_nothing_is_added_stays_as_it_was_written() -> None:
    mine = "  --xla_gpu_autotune_level=3   --xla_dump_to='a b' "
    report = plan("auto", machine=machine(count=1), environ={"XLA_FLAGS": mine})
    assert report.xla_flags == mine
    assert "XLA_FLAGS" in report.environ and report.environ["XLA_FLAGS"] == mine


def test_r05_an_empty_value_is_a_value() -> None:
    report = plan("auto", machine=machine(count=1), environ={}, cuda_graphs=False)
    assert report.xla_flags == f"--{COMMAND_BUFFER}="
    kept = plan("auto", machine=machine(count=1), environ={"XLA_FLAGS": f"--{COMMAND_BUFFER}="})
    assert kept.xla_flags == f"--{COMMAND_BUFFER}=" and decision(kept, COMMAND_BUFFER).value == ""


def test_r69_cuda_graphs_true_gives_the_default_back() -> None:
    report = plan("auto", machine=machine(count=1), environ={"XLA_FLAGS": f"--{COMMAND_BUFFER}="}, cuda_graphs=True)
    assert report.xla_flags == "" and report.environ["XLA_FLAGS"] is None
    assert decision(report, COMMAND_BUFFER).status == "default"


def test_r06_the_same_intent_gives_the_string_of_the_release() -> None:
    old = plan("auto", machine=machine(count=1, jaxlib="0.4.19"), environ={}, cuda_graphs=False)
    new = plan("auto", machine=machine(count=1), environ={}, cuda_graphs=False)
    assert old.xla_flags == "--xla_gpu_graph_level=0" and new.xla_flags == f"--{COMMAND_BUFFER}="


def test_r05_graph_level_is_translated_from_the_release_that_removed_it() -> None:
    old = plan("auto", machine=machine(count=1, jaxlib="0.7.1"), environ={"XLA_FLAGS": "--xla_gpu_graph_level=0"})
    new = plan("auto", machine=machine(count=1, jaxlib="0.7.2"), environ={"XLA_FLAGS": "--xla_gpu_graph_level=0"})
    assert old.xla_flags == "--xla_gpu_graph_level=0" and new.xla_flags == f"--{COMMAND_BUFFER}="
    assert decision(new, "xla_gpu_graph_level").status == "translated" and "flag-translated" in codes(new)


def test_r01_r02_r03_a_removed_flag_that_is_the_default_anyway_is_dropped_with_one_warning() -> None:
    report = plan("auto", machine=machine(), environ={"XLA_FLAGS": "--xla_gpu_enable_async_all_reduce=true"})
    assert "async" not in report.xla_flags
    assert [f.severity for f in report.findings] == ["warning"] and "0.4.27" in report.findings[0].message
    off = plan("auto", machine=machine(count=1), environ={}, flags={"xla_gpu_enable_async_collectives": False})
    assert off.xla_flags.startswith("--xla_gpu_disable_async_collectives=all") and "true" not in off.xla_flags


def test_r04_a_replacement_that_is_the_default_emits_nothing_and_its_opposite_does() -> None:
    on = plan("auto", machine=machine(count=1), environ={}, flags={"xla_gpu_simplify_all_fp_conversions": True})
    off = plan("auto", machine=machine(count=1), environ={}, flags={"xla_gpu_simplify_all_fp_conversions": False})
    assert on.xla_flags == "" and off.xla_flags == "--xla_allow_excess_precision=false"


def test_r07_flags_have_a_first_version_too_and_both_sides_count() -> None:
    flag = {"xla_gpu_experimental_parallel_collective_overlap_limit": 2}
    skewed = machine(jaxlib="0.4.35", plugins={"jax-cuda12-pjrt": "0.4.30"})
    report = plan("auto", machine=skewed, environ={}, flags=flag)
    assert report.xla_flags == "" and {"unknown-flag", "version-skew"} <= codes(report)
    assert plan("auto", machine=machine(jaxlib="0.5.3"), environ={}, flags=flag).xla_flags.endswith("=2")


def test_r08_r09_gating_is_by_the_planned_release() -> None:
    name = "xla_gpu_enable_llvm_module_compilation_parallelism"
    assert plan("auto", machine=machine(jaxlib="0.10.2"), environ={}, flags={name: True}).xla_flags == f"--{name}=true"
    gone = plan("auto", machine=machine(jaxlib="0.12.0.1"), environ={}, flags={name: True})
    assert name not in gone.xla_flags and decision(gone, name).status in ("absent", "translated")


def test_lists_that_add_up_are_joined_inherited_first() -> None:
    inherited = {"XLA_FLAGS": "--xla_disable_hlo_passes=constant_folding,dce"}
    report = plan(
        "auto", machine=machine(count=1), environ=inherited, flags={"xla_disable_hlo_passes": "rematerialization,dce"}
    )
    assert report.xla_flags == "--xla_disable_hlo_passes=constant_folding,dce,rematerialization"
    assert decision(report, "xla_disable_hlo_passes").status == "merged"


def test_command_buffers_are_not_joined() -> None:
    inherited = {"XLA_FLAGS": f"--{COMMAND_BUFFER}=FUSION"}
    report = plan("auto", machine=machine(count=1), environ=inherited, flags={COMMAND_BUFFER: ["FUSION", "CUBLAS"]})
    assert report.xla_flags == f"--{COMMAND_BUFFER}=FUSION,CUBLAS"


def test_aliases_write_one_field_and_the_argument_wins_over_both_names() -> None:
    inherited = {"XLA_FLAGS": "--xla_gpu_enable_pipelined_all_gather=true"}
    report = plan("auto", machine=machine(), environ=inherited, flags={"xla_gpu_pipeline_all_gather": "off"})
    assert "--xla_gpu_pipeline_all_gather=off" in report.xla_flags
    assert "xla_gpu_enable_pipelined_all_gather" not in report.xla_flags
    assert decision(report, "xla_gpu_enable_pipelined_all_gather").status == "dropped"


def test_inherited_aliases_keep_their_order() -> None:
    text = "--xla_gpu_pipeline_all_gather=off --xla_gpu_enable_pipelined_all_gather=true"
    report = plan("fsdp", machine=machine(), environ={"XLA_FLAGS": text})
    assert report.xla_flags.index("pipeline_all_gather=off") < report.xla_flags.index("pipelined_all_gather=true")


def test_r80_a_value_that_is_the_default_is_not_emitted_and_the_order_is_canonical() -> None:
    report = plan("auto", machine=machine(count=1), environ={}, flags={"xla_gpu_enable_triton_gemm": True})
    assert report.xla_flags == "" and decision(report, "xla_gpu_enable_triton_gemm").status == "default"
    one = plan("auto", machine=machine(count=1), environ={}, flags={"xla_gpu_autotune_level": 2, "xla_dump_to": "x"})
    two = plan("auto", machine=machine(count=1), environ={}, flags={"xla_dump_to": "x", "xla_gpu_autotune_level": 2})
    assert one.xla_flags == two.xla_flags


def test_none_removes_what_is_inherited() -> None:
    given = {"XLA_FLAGS": "--xla_dump_to=a --xla_gpu_autotune_level=2", "NCCL_DEBUG": "INFO"}
    report = plan(
        "auto", machine=machine(count=1), environ=given, flags={"xla_dump_to": None}, env={"NCCL_DEBUG": None}
    )
    assert report.xla_flags == "--xla_gpu_autotune_level=2" and report.environ["NCCL_DEBUG"] is None
    assert {d.name for d in report.decisions if d.status == "removed"} == {"xla_dump_to", "NCCL_DEBUG"}


def test_presets_join_and_the_later_wins() -> None:
    report = plan("fsdp+reproducible", machine=machine(), environ={})
    assert "xla_gpu_pipeline_all_gather" in report.xla_flags and "nondeterministic" in report.xla_flags


def test_layer_bytes_sizes_the_thresholds_in_whole_mib() -> None:
    report = plan("fsdp", machine=machine(), environ={}, layer_bytes=436_000_000)
    assert decision(report, THRESHOLD).value == str(416 * 2**20)
    assert "layer-bytes-unused" in codes(plan("auto", machine=machine(), environ={}, layer_bytes=1))


def test_r50_without_a_gpu_no_gpu_setting_is_made() -> None:
    for name in (preset.name for preset in jaxgpu_tune.presets()):
        report = plan(name, machine=machine(count=0), environ={})
        assert "xla_gpu_" not in report.xla_flags, name
        assert not [n for n in report.environ if n.startswith(("NCCL_", "CUDA_", "XLA_PYTHON"))], name


def test_r52_platform_cpu_sets_jax_platforms_and_no_gpu_setting() -> None:
    report = plan("fsdp", machine=machine(), environ={}, platform="cpu")
    assert report.xla_flags == "" and report.environ == {"JAX_PLATFORMS": "cpu"}


def test_every_problem_of_the_arguments_comes_at_once() -> None:
    with pytest.raises(jaxgpu_tune.BadSetting) as caught:
        plan(
            "auto",
            prefer="me",
            late="never",
            devices=0,
            memory_fraction="lots",
            cuda_graphs="yes",
            flags={"a": object()},
        )
    assert len(caught.value.findings) == 6
    with pytest.raises(jaxgpu_tune.BadSetting) as both:
        plan(
            "auto", machine=machine(), environ={}, flags={"xla_gpu_autotune_levle": 1, "xla_gpu_autotune_level": "four"}
        )
    assert {f.code for f in both.value.findings} == {"unknown-flag", "bad-flag-value"}


def test_a_near_miss_names_the_closest() -> None:
    with pytest.raises(jaxgpu_tune.UnknownFlag, match="Did you mean --xla_gpu_autotune_level"):
        plan("auto", machine=machine(), environ={}, flags={"xla_gpu_autotune_levle": 1})
    with pytest.raises(jaxgpu_tune.UnknownPreset, match="fsdp"):
        plan("fspd", machine=machine(), environ={})
    with pytest.raises(jaxgpu_tune.BadFlagValue, match="xla_gpu_autotune_level"):
        plan("auto", machine=machine(), environ={}, flags={"xla_gpu_autotune_level": "4MB"})


def test_r14_an_option_this_jax_lacks_is_a_warning_and_a_name_no_jax_has_an_error() -> None:
    report = plan("auto", machine=machine(), environ={}, jax_config={"jax_spmd_mode": "allow_all"})
    assert "jax_spmd_mode" not in report.jax_config and any("jax_spmd_mode" in f.message for f in report.findings)
    with pytest.raises(jaxgpu_tune.BadSetting, match="jax_enable_pgle"):
        plan("auto", machine=machine(), environ={}, jax_config={"jax_enable_pgel": True})


def test_options_come_typed_and_as_variables() -> None:
    report = plan("auto", machine=machine(count=1), environ={}, pgle="auto", jax_config={"jax_pgle_profiling_runs": 5})
    assert report.jax_config == {"jax_enable_pgle": True, "jax_pgle_profiling_runs": 5}
    assert (
        report.environ["JAX_ENABLE_PGLE"].lower() in ("true", "1") and report.environ["JAX_PGLE_PROFILING_RUNS"] == "5"
    )


def test_transfer_guard_is_three_options_and_beats_an_inherited_umbrella() -> None:
    report = plan("auto", machine=machine(count=1), environ={"JAX_TRANSFER_GUARD": "disallow"}, transfer_guard="log")
    assert report.jax_config.pop("jax_transfer_guard") is None
    assert set(report.jax_config.values()) == {"log"} and len(report.jax_config) == 3
    assert report.environ["JAX_TRANSFER_GUARD"] == "log"
    assert "overruled" in codes(report)


def test_r82_nothing_disallows_transfers_unasked() -> None:
    for preset in jaxgpu_tune.presets():
        assert (
            "disallow" not in plan(preset.name, machine=machine(count=1), environ={}).jax_config.values()
            or preset.kind == "published"
        )


def test_a_report_round_trips_to_json_and_replays() -> None:
    first = plan("fsdp", machine=machine(), environ={"XLA_FLAGS": "--xla_dump_to=a"}, layer_bytes=1000)
    told = json.loads(json.dumps(first.to_dict()))
    again = plan(
        machine=Machine.from_dict(told["machine"]), environ=told["inputs"]["environ"], **told["inputs"]["arguments"]
    )
    assert again.to_dict()["decisions"] == told["decisions"] and again.xla_flags == first.xla_flags


def test_planning_on_the_result_changes_nothing() -> None:
    first = plan("fsdp", machine=machine(), environ={})
    again = plan("fsdp", machine=machine(), environ={"XLA_FLAGS": first.xla_flags})
    assert again.xla_flags == first.xla_flags


def test_no_jaxlib_is_a_fact_not_an_error() -> None:
    report = plan("fsdp", machine=Machine.from_dict({"gpus": [{"compute_capability": "9.0", "count": 8}]}), environ={})
    assert report.xla_flags == "" and "no-jaxlib" in codes(report)


def test_a_build_in_no_table_takes_only_what_its_neighbours_take() -> None:
    nightly = machine(jaxlib="0.7.2.dev20250801+abc1234", count=1)
    report = plan("auto", machine=nightly, environ={"XLA_FLAGS": "--xla_gpu_graph_level=0"}, probe=False)
    assert report.xla_flags == f"--{COMMAND_BUFFER}=" and "unknown-build" in codes(report)


def test_check_tells_what_is_wrong_with_a_text() -> None:
    found = jaxgpu_tune.check("--xla_gpu_enable_triton_gemm=yes --xla_gpu_nonsense=1", jaxlib="0.11.2")
    assert {f.code for f in found} >= {"bad-flag-value", "unknown-flag"}
    assert jaxgpu_tune.check("--xla_gpu_autotune_level=2", jaxlib="0.11.2") == ()


def test_environ_is_the_whole_environment_of_a_fresh_process() -> None:
    made = jaxgpu_tune.environ("fsdp", base={"PATH": "/bin", "XLA_FLAGS": "--xla_dump_to=a"}, machine=machine())
    assert (
        made["PATH"] == "/bin" and "--xla_dump_to=a" in made["XLA_FLAGS"] and "pipeline_all_gather" in made["XLA_FLAGS"]
    )
    assert jaxgpu_tune.environ("fsdp", base=made, machine=machine()) == made


def test_r48_cuda_visible_devices_is_never_written() -> None:
    for preset in jaxgpu_tune.presets():
        assert not any(s.name == "CUDA_VISIBLE_DEVICES" for s in preset.settings)


def test_r48_a_schedulers_assignment_beats_even_an_argument_and_says_so() -> None:
    report = plan(
        "auto", machine=machine(count=1), environ={"CUDA_VISIBLE_DEVICES": "2,3"}, env={"CUDA_VISIBLE_DEVICES": "0"}
    )
    assert "CUDA_VISIBLE_DEVICES" not in report.environ and "scheduler-assigned" in codes(report)


def test_r21_what_an_image_bakes_in_is_told_as_inherited() -> None:
    baked = {"XLA_FLAGS": "--xla_gpu_graph_level=0", "NCCL_IB_SL": "1", "CUDA_MODULE_LOADING": "EAGER", "PATH": "/bin"}
    report = plan("auto", machine=machine(count=1), environ=baked)
    assert {d.name for d in report.decisions if d.status == "kept"} >= {"NCCL_IB_SL", "CUDA_MODULE_LOADING"}
    assert "flag-translated" in codes(report)


def test_r44_user_buffers_with_nvls_switched_off_are_a_hazard() -> None:
    report = plan(
        "auto", machine=machine(), environ={"NCCL_NVLS_ENABLE": "0"}, flags={"xla_gpu_enable_nccl_user_buffers": True}
    )
    assert "user-buffers-without-nvls" in codes(report)


def test_r49_the_platform_gpu_is_a_hazard() -> None:
    assert "platform-gpu" in codes(plan("auto", machine=machine(count=1), environ={"JAX_PLATFORMS": "gpu"}))


def test_xla_flags_as_an_explicit_variable_are_explicit_flags() -> None:
    given = {"machine": machine(count=1), "environ": {"XLA_FLAGS": "--xla_dump_to=a --xla_gpu_autotune_level=1"}}
    report = plan("auto", **given, env={"XLA_FLAGS": "--xla_dump_to=b"})
    assert report.xla_flags == "--xla_dump_to=b --xla_gpu_autotune_level=1"
    with pytest.raises(jaxgpu_tune.BadSetting, match="XLA_FLAGS"):
        plan("auto", **given, env={"XLA_FLAGS": "--xla_dump_to=b stray"})


def test_a_preset_may_state_a_fraction_which_yields_to_what_is_set() -> None:
    (name,) = [n for n in plan("jax-toolbox", machine=machine(), environ={}).environ if "MEM_FRACTION" in n]
    kept = plan("jax-toolbox", machine=machine(), environ={name: "0.5"})
    assert name not in kept.environ and decision(kept, name).status == "kept"


@pytest.mark.parametrize(
    "text",
    [
        "--foo",
        "--help",
        "--xla_tpu_x=1",
        "-xla_gpu_ftz=1",
        "\u2013\u2013xla_gpu_ftz=1",
        "'--xla_gpu_ftz=1'",
        "--xla_gpu_ftz-false",
        "no/such/file",
    ],
)
def test_check_calls_every_text_that_ends_the_process_an_error(text: str) -> None:
    assert "error" in {finding.severity for finding in jaxgpu_tune.check(text, jaxlib="0.11.2")}


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (plan, {"jaxlib": "x"}),
        (plan, {"jaxlib": 5}),
        (plan, {"environ": {"XLA_FLAGS": None}}),
        (plan, {"layer_bytes": 2**63}),
        (plan, {"processes_per_gpu": 10**30}),
        (plan, {"env": {"A": "x\0"}}),
        (plan, {"env": {"JAXGPU_TUNE_STATE": "{}"}}),
        (plan, {"flags": {"xla_dump_to": "\0"}}),
        (plan, {"compilation_cache": ""}),
        (plan, {"flags": {"xla_force_host_platform_device_count": -1}}),
        (plan, {"flags": {"xla_gpu_enable_command_buffer": "FUSION,nope"}}),
        (jaxgpu_tune.check, {"xla_flags": 5}),
        (jaxgpu_tune.migrate, {"xla_flags": None}),
        (jaxgpu_tune.migrate, {"xla_flags": "", "to": "x"}),
    ],
)
def test_what_is_no_argument_raises_the_librarys_own_error(function: object, arguments: dict[str, object]) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - which of the library's errors is told by its class
        function(**arguments)  # type: ignore[operator]
    assert isinstance(caught.value, jaxgpu_tune.JaxGpuTuneError)


def test_the_order_of_flags_does_not_tell_who_lost() -> None:
    lost = {"XLA_FLAGS": "--xla_gpu_enable_pipelined_all_gather=false"}
    one = plan("fsdp", machine=machine(), environ=lost, prefer="preset")
    assert one.xla_flags == plan("fsdp", machine=machine(), environ={}).xla_flags


def test_off_leaves_the_environment_of_a_fresh_process_as_it_is() -> None:
    base = {"JAXGPU_TUNE": "off", "PATH": "/bin"}
    assert jaxgpu_tune.environ("fsdp", base=base, machine=machine()) == base


def test_several_changes_to_a_list_are_said_as_the_whole_list_where_only_the_first_would_count() -> None:
    given = {"environ": {"XLA_FLAGS": f"--{COMMAND_BUFFER}=+CUDNN,-FUSION"}}
    old = plan("auto", machine=machine(count=1, jaxlib="0.5.3"), **given)
    assert "FUSION" not in old.xla_flags and "CUDNN" in old.xla_flags and "+" not in old.xla_flags
    assert "flag-translated" in codes(old) and decision(old, COMMAND_BUFFER).status == "kept"
    assert plan("auto", machine=machine(count=1, jaxlib="0.7.2"), **given).xla_flags == given["environ"]["XLA_FLAGS"]


def test_digits_for_a_bool_are_words_where_digits_were_refused() -> None:
    report = plan("auto", machine=machine(count=1, jaxlib="0.4.19"), environ={"XLA_FLAGS": "--xla_gpu_ftz=1"})
    assert report.xla_flags == "--xla_gpu_ftz=true" and "flag-translated" in codes(report)
