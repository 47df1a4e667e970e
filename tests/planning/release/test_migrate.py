"""``migrate``: the same intent for another jaxlib, down as well as up, and nothing that it would refuse."""

from __future__ import annotations

import pytest

from jaxgpu_tune import Migration, migrate
from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.planning.xla_flags.grammar import scan

RELEASES = known.releases()
NEWEST = RELEASES[-1]
ALL = "allreduce,allgather,reducescatter,collectivebroadcast,alltoall,collectivepermute"
PIPELINED = tuple(f"xla_gpu_enable_pipelined_{name}" for name in ("all_gather", "all_reduce", "reduce_scatter"))
PIPELINE = tuple(f"xla_gpu_pipeline_{name}" for name in ("all_gather", "all_reduce", "reduce_scatter"))
THRESHOLDS = tuple(f"xla_gpu_{name}_combine_threshold_bytes" for name in ("all_gather", "all_reduce", "reduce_scatter"))


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XLA_FLAGS", "JAXGPU_TUNE_MACHINE"):
        monkeypatch.delenv(name, raising=False)


def text(*flags: str) -> str:
    return " ".join(f"--{flag}" for flag in flags)


def migrated(to: str, *flags: str) -> str:
    return migrate(text(*flags), to).xla_flags


@pytest.mark.parametrize(
    ("to", "given", "becomes"),
    [
        # R01, R02: removed, and already the default
        (NEWEST, ["xla_gpu_enable_async_all_reduce=true"], []),
        ("0.4.27", ["xla_gpu_enable_async_all_gather=true", "xla_gpu_enable_async_reduce_scatter=true"], []),
        ("0.4.26", ["xla_gpu_enable_async_all_reduce=true"], ["xla_gpu_enable_async_all_reduce=true"]),
        # R03: the switch became a list of exceptions
        (NEWEST, ["xla_gpu_enable_async_collectives=true"], []),
        ("0.4.30", ["xla_gpu_enable_async_collectives=false"], [f"xla_gpu_disable_async_collectives={ALL}"]),
        ("0.4.26", [f"xla_gpu_disable_async_collectives={ALL}"], ["xla_gpu_enable_async_collectives=false"]),
        ("0.4.26", ["xla_gpu_disable_async_collectives=alltoall"], ["xla_gpu_enable_async_all_to_all=false"]),
        (
            "0.4.26",
            ["xla_gpu_disable_async_collectives=allreduce,allgather"],
            ["xla_gpu_enable_async_all_gather=false", "xla_gpu_enable_async_all_reduce=false"],
        ),
        # R04: the successor's default is true; false changes the numbers
        ("0.5.0", ["xla_gpu_simplify_all_fp_conversions"], []),
        ("0.5.0", ["xla_gpu_simplify_all_fp_conversions=false"], ["xla_allow_excess_precision=false"]),
        ("0.4.28", ["xla_gpu_simplify_all_fp_conversions"], ["xla_gpu_simplify_all_fp_conversions"]),
        # R05, R06: CUDA graphs off
        ("0.7.2", ["xla_gpu_graph_level=0"], ["xla_gpu_enable_command_buffer="]),
        ("0.7.1", ["xla_gpu_graph_level=0"], ["xla_gpu_graph_level=0"]),
        ("0.4.18", ["xla_gpu_enable_command_buffer="], ["xla_gpu_graph_level=0"]),
        (NEWEST, ["xla_gpu_enable_command_buffer="], ["xla_gpu_enable_command_buffer="]),
        # members of a list
        (
            NEWEST,
            ["xla_gpu_enable_command_buffer=FUSION,CONDITIONALS"],
            ["xla_gpu_enable_command_buffer=FUSION,CONDITIONAL,WHILE"],
        ),
        (
            "0.4.30",
            ["xla_gpu_enable_command_buffer=FUSION,CONDITIONAL,WHILE"],
            ["xla_gpu_enable_command_buffer=FUSION,CONDITIONALS"],
        ),
        (
            NEWEST,
            ["xla_gpu_enable_command_buffer=+CONDITIONALS"],
            ["xla_gpu_enable_command_buffer=+CONDITIONAL,+WHILE"],
        ),
        # other successors
        (
            NEWEST,
            ["xla_gpu_experimental_enable_nvshmem=true"],
            ["xla_gpu_collectives_implementation=nvshmem"],
        ),
        ("0.4.18", ["xla_gpu_exclude_nondeterministic_ops=true"], ["xla_gpu_deterministic_ops=true"]),
    ],
)
def test_the_reports_cases(to: str, given: list[str], becomes: list[str]) -> None:
    found = migrate(text(*given), to)
    assert found.xla_flags == text(*becomes)
    assert found.decisions


@pytest.mark.parametrize(("old", "new"), list(zip(PIPELINED, PIPELINE, strict=True)))
def test_pipelining_that_was_off_stays_off(old: str, new: str) -> None:
    """``false`` is "the default" from 0.11.1 on: the name stays, the meaning moved."""
    for to in ("0.11.1", NEWEST):
        found = migrate(text(f"{old}=false"), to)
        assert found.xla_flags == text(f"{new}=off")
        assert any(d.name == old and d.status == "translated" for d in found.decisions)
    assert migrated("0.11.0", f"{new}=off") == text(f"{old}=false")
    assert migrated("0.11.0", f"{old}=false") == text(f"{old}=false")


@pytest.mark.parametrize(("old", "new"), list(zip(PIPELINED, PIPELINE, strict=True)))
def test_pipelining_that_was_on_stays_on(old: str, new: str) -> None:
    assert migrated(NEWEST, f"{old}=true") in (text(f"{old}=true"), text(f"{new}=on"))
    assert migrated("0.11.0", f"{new}=on") == text(f"{old}=true")


def test_a_name_nobody_knows_is_dropped_with_a_decision_and_a_finding() -> None:
    found = migrate(text("xla_gpu_nonsense=1", "xla_gpu_autotune_level=2"), NEWEST)
    assert found.xla_flags == text("xla_gpu_autotune_level=2")
    assert [(d.name, d.status) for d in found.decisions if d.status == "dropped"] == [("xla_gpu_nonsense", "dropped")]
    assert [f.code for f in found.findings] == ["unknown-flag"]


def test_what_is_removed_without_a_successor_says_so() -> None:
    found = migrate(text("xla_gpu_redzone_scratch_max_megabytes=16"), NEWEST)
    assert found.xla_flags == ""
    assert any("without a successor" in d.reason for d in found.decisions)


@pytest.mark.parametrize("to", ["0.4.18", "0.4.20"])
def test_a_bool_that_is_a_digit_is_a_word_where_digits_were_refused(to: str) -> None:
    assert migrated(to, "xla_gpu_enable_triton_gemm=0") == text("xla_gpu_enable_triton_gemm=false")
    assert migrated("0.4.21", "xla_gpu_enable_triton_gemm=0") == text("xla_gpu_enable_triton_gemm=0")


def test_changes_of_a_list_all_count_where_only_the_first_would() -> None:
    """Before 0.7.0 XLA applies only A of ``+A,-B``: each is said by itself, on top of whatever stands before it."""
    halves = ["xla_gpu_enable_command_buffer=+CONDITIONAL", "xla_gpu_enable_command_buffer=-CUBLAS"]
    said = migrate(text("xla_gpu_enable_command_buffer=+CONDITIONAL,-CUBLAS"), "0.6.2")
    assert said.xla_flags == text(*halves)
    assert [f.code for f in said.findings if f.severity != "note"] == ["flag-half-read"]
    assert migrated("0.6.2", *halves) == text(*halves)
    kept = "xla_gpu_enable_command_buffer=+CONDITIONAL,-CUBLAS"
    assert migrated("0.7.0", kept) == text(kept)
    assert migrated("0.6.2", "xla_gpu_enable_command_buffer=-CUBLAS") == text("xla_gpu_enable_command_buffer=-CUBLAS")


GIB = 2**30
COMMON = (*(f"{name}=true" for name in PIPELINED), "xla_gpu_enable_while_loop_double_buffering=true")
BY_DIM = ("xla_gpu_enable_all_gather_combine_by_dim=false", "xla_gpu_enable_reduce_scatter_combine_by_dim=false")
NO_REMAT = "xla_disable_hlo_passes=rematerialization"
SCHEDULER = "xla_gpu_enable_latency_hiding_scheduler=true"
IN_USE = {
    "JAX-Toolbox MaxText": text(
        *(SCHEDULER, "xla_gpu_enable_command_buffer=", *COMMON, *BY_DIM, NO_REMAT),
        *(f"{name}={GIB}" for name in THRESHOLDS),
    ),
    "DreamerV3": text(
        *("xla_gpu_autotune_level=1", "xla_gpu_deterministic_ops=true", "xla_gpu_enable_triton_softmax_fusion=false"),
        *("xla_gpu_enable_async_all_gather=true", "xla_gpu_enable_async_reduce_scatter=true", "xla_gpu_graph_level=0"),
        *("xla_gpu_enable_triton_gemm=false", "xla_gpu_enable_highest_priority_async_stream=true", SCHEDULER),
        *("xla_gpu_enable_async_all_reduce=true", *COMMON, *BY_DIM, NO_REMAT),
    ),
    "A3": text(
        *(SCHEDULER, "xla_gpu_enable_triton_gemm=false", "xla_gpu_graph_level=0", "xla_gpu_all_reduce_contiguous=true"),
        *(*COMMON, *BY_DIM, NO_REMAT, "xla_gpu_enable_highest_priority_async_stream=true"),
    ),
    "A4": text(
        SCHEDULER, "xla_gpu_enable_command_buffer=FUSION,CUSTOM_CALL", "xla_gpu_cudnn_gemm_fusion_level=3", *COMMON
    ),
    "mixture of experts": text(
        *(SCHEDULER, "xla_gpu_experimental_parallel_collective_overlap_limit=4", "xla_gpu_memory_limit_slop_factor=85"),
        *("xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN",),
        *("xla_gpu_experimental_ragged_all_to_all_use_device_kernel=true",),
        *("xla_enable_nccl_symmetric_buffers_for_collectives=raggedalltoall",),
    ),
    "collective matmul": text(
        *("xla_gpu_multi_streamed_windowed_einsum=true", "xla_gpu_threshold_for_windowed_einsum_mib=0", SCHEDULER),
        *("xla_gpu_enable_while_loop_double_buffering=false", "xla_gpu_enable_command_buffer=''"),
    ),
    "pipeline parallel": text(
        *(SCHEDULER, "xla_gpu_enable_command_buffer=''", "xla_disable_hlo_passes=collective-permute-motion"),
        "xla_gpu_experimental_pipeline_parallelism_opt_level=PIPELINE_PARALLELISM_OPT_LEVEL_ENABLE",
        *("xla_gpu_enable_pipelined_p2p=true", "xla_gpu_collective_permute_decomposer_threshold=1024"),
    ),
    "user buffers": text(
        "xla_gpu_enable_nccl_user_buffers=true", "xla_gpu_experimental_enable_nccl_symmetric_buffers=true"
    ),
    "decode": text("xla_gpu_unsupported_use_all_reduce_one_shot_kernel=true"),
    "simulation": text("xla_gpu_triton_gemm_any=True", "xla_gpu_graph_min_graph_size=1"),
    "reproducible": text("xla_gpu_deterministic_ops=true", "xla_gpu_exclude_nondeterministic_ops=true"),
    "newest names": text(
        *(f"{name}=on" for name in PIPELINE), "xla_gpu_enable_command_buffer=FUSION,WHILE,CONDITIONAL"
    ),
}


def refusals(xla_flags: str, release: str) -> dict[str, str]:
    """What the release would refuse of a text, by flag."""
    found: dict[str, str] = {}
    for token in scan(xla_flags).tokens:
        spec = known.flag(str(token.name), release)
        why = (
            "unknown"
            if spec is None
            else known.check_value(spec, "true" if token.value is None else token.value, release)
        )
        if why:
            found[str(token.name)] = why
    return found


@pytest.mark.parametrize("name", IN_USE)
def test_a_set_in_use_is_accepted_by_every_release(name: str) -> None:
    found = {to: migrate(IN_USE[name], to).xla_flags for to in RELEASES}
    assert {to: refusals(flags, to) for to, flags in found.items() if refusals(flags, to)} == {}


@pytest.mark.parametrize("name", IN_USE)
@pytest.mark.parametrize("to", ["0.4.18", "0.4.30", "0.6.2", "0.11.0", "0.11.1", NEWEST])
def test_once_there_it_stays_as_it_is(name: str, to: str) -> None:
    once = migrate(IN_USE[name], to).xla_flags
    assert migrate(once, to).xla_flags == once


@pytest.mark.parametrize("name", IN_USE)
def test_every_flag_that_is_given_has_a_decision(name: str) -> None:
    given = {token.name for token in scan(IN_USE[name]).tokens}
    for to in ("0.4.18", NEWEST):
        assert given <= {d.name for d in migrate(IN_USE[name], to).decisions}


def test_what_the_release_takes_stays_as_it_is_written() -> None:
    """Order, quotes, digits and defaults are the user's own."""
    given = "--xla_gpu_enable_triton_gemm=1  --xla_gpu_autotune_level=4 --xla_disable_hlo_passes='a,b'"
    assert migrate(given, NEWEST).xla_flags == given


def test_up_and_down_again_is_the_same() -> None:
    given = text(*sorted(f"{name}=true" for name in PIPELINED))
    there = migrate(given, NEWEST).xla_flags
    assert sorted(migrate(there, "0.11.0").xla_flags.split()) == sorted(given.split())


def test_an_empty_text_stays_empty() -> None:
    assert migrate("", NEWEST) == Migration("", (), migrate("", NEWEST).findings)
