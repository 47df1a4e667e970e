"""The plan as a whole: precedence, one decision a setting, the text of XLA_FLAGS, presets, arguments that are wrong."""

from __future__ import annotations

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


def test_a_text_to_which_nothing_is_added_stays_as_it_was_written() -> None:
    mine = "  --xla_gpu_autotune_level=3   --xla_dump_to='a b' "
    report = plan("auto", machine=machine(count=1), environ={"XLA_FLAGS": mine})
    assert report.xla_flags == mine
    assert "XLA_FLAGS" in report.environ and report.environ["XLA_FLAGS"] == mine


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


def test_options_come_typed_and_as_variables() -> None:
    report = plan("auto", machine=machine(count=1), environ={}, pgle="auto", jax_config={"jax_pgle_profiling_runs": 5})
    assert report.jax_config == {"jax_enable_pgle": True, "jax_pgle_profiling_runs": 5}
    assert (
        report.environ["JAX_ENABLE_PGLE"].lower() in ("true", "1") and report.environ["JAX_PGLE_PROFILING_RUNS"] == "5"
    )


@pytest.mark.parametrize(("text", "status"), [("O2", "set"), (None, "removed"), ("O3", "kept")])
def test_a_variable_of_an_option_that_is_asked_for_is_told_once(text: str | None, status: str) -> None:
    """As the option: not a second time as a variable that was set already and stays."""
    name = "JAX_OPTIMIZATION_LEVEL"
    report = plan("auto", machine=machine(count=1), environ={name: "O3"}, env={name: text})
    told = [(d.kind, d.value, d.status) for d in report.decisions if d.name.upper() == name]
    assert told == [("jax_config", text, status)]


def test_one_transfer_guard_is_taken_out_of_the_users_umbrella() -> None:
    option = "jax_transfer_guard_device_to_device"
    report = plan("auto", machine=machine(count=1), environ={"JAX_TRANSFER_GUARD": "log"}, jax_config={option: None})
    told = {d.name: (d.value, d.status) for d in report.decisions if d.name.startswith("jax_transfer")}
    assert told["jax_transfer_guard"] == ("log", "kept")
    assert told[option][1] == "unmet"  # no variable tells a fresh process


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


def test_the_order_of_flags_does_not_tell_who_lost() -> None:
    lost = {"XLA_FLAGS": "--xla_gpu_enable_pipelined_all_gather=false"}
    one = plan("fsdp", machine=machine(), environ=lost, prefer="preset")
    assert one.xla_flags == plan("fsdp", machine=machine(), environ={}).xla_flags


def test_several_changes_to_a_list_of_which_only_the_first_counts_stay_as_set_and_are_told() -> None:
    """What is asked for is said one by one."""
    given = {"environ": {"XLA_FLAGS": f"--{COMMAND_BUFFER}=+CUDNN,-FUSION"}}
    old = plan("auto", machine=machine(count=1, jaxlib="0.5.3"), **given, strict=True)
    assert old.xla_flags == given["environ"]["XLA_FLAGS"]
    assert codes(old) == {"flag-half-read"} and decision(old, COMMAND_BUFFER).status == "kept"
    asked = plan("auto", machine=machine(count=1, jaxlib="0.5.3"), flags={COMMAND_BUFFER: "-CUBLAS"}, **given)
    assert {"CUDNN", "FUSION"} <= (left := set(asked.xla_flags.split("=")[1].split(","))) and "CUBLAS" not in left
    both = plan("auto", machine=machine(count=1, jaxlib="0.5.3"), flags={COMMAND_BUFFER: "+CUDNN,-FUSION"}, environ={})
    assert "CUDNN" in both.xla_flags and "FUSION" not in both.xla_flags.replace("-FUSION", "")
    assert plan("auto", machine=machine(count=1, jaxlib="0.7.2"), **given).xla_flags == given["environ"]["XLA_FLAGS"]


GRAPHS = "xla_gpu_enable_command_buffer"
KERNELS, ONE_SHOT = "xla_gpu_experimental_use_collective_kernels", "xla_gpu_unsupported_use_all_reduce_one_shot_kernel"


def test_an_inherited_list_that_another_flag_changes_in_between_is_kept_as_it_is() -> None:
    text = f"--{KERNELS}=ALL_GATHER --{ONE_SHOT}=true --{KERNELS}=+ALL_TO_ALL"
    report = plan("auto", machine=machine(count=1, jaxlib="0.12.0.1"), environ={"XLA_FLAGS": text})
    assert report.xla_flags == text
    assert decision(report, KERNELS).value == "ALL_GATHER +ALL_TO_ALL" and decision(report, ONE_SHOT).value == "true"
    (note,) = (finding for finding in report.findings if finding.code == "repeated-flag")
    assert note.severity == "note" and note.message.startswith(f"--{KERNELS}=+ALL_TO_ALL changes the list")


def test_an_argument_that_changes_what_is_inherited_overrules_nothing() -> None:
    """So strict=True takes it; one that takes the place of a list does not pass."""
    inherited = {"machine": machine(count=1), "environ": {"XLA_FLAGS": f"--{GRAPHS}=FUSION"}, "strict": True}
    report = plan("auto", flags={GRAPHS: "+WHILE"}, **inherited)
    assert report.xla_flags == f"--{GRAPHS}=FUSION,WHILE" and "overruled" not in codes(report)
    assert f"--{GRAPHS}=+WHILE changes --{GRAPHS}=FUSION" in decision(report, GRAPHS).reason
    with pytest.raises(jaxgpu_tune.JaxGpuTuneError, match="was set already"):
        plan("auto", flags={GRAPHS: "WHILE"}, **inherited)


def test_digits_for_a_bool_are_words_where_digits_were_refused() -> None:
    report = plan("auto", machine=machine(count=1, jaxlib="0.4.19"), environ={"XLA_FLAGS": "--xla_gpu_ftz=1"})
    assert report.xla_flags == "--xla_gpu_ftz=true" and "flag-translated" in codes(report)
