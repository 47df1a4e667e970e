"""What is said of a flag, from what XLA's options were read to hold; and every flag of the installed jaxlib, as its parser writes it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest

from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.knowledge.compile_surface import JAXLIB_SETS
from jaxgpu_tune.knowledge.flag_spec import FlagSpec
from jaxgpu_tune.model import Machine
from jaxgpu_tune.planning.release.compile_options import fields_written
from jaxgpu_tune.planning.release.target import Target, target_of
from jaxgpu_tune.planning.xla_flags.grammar import quote
from jaxgpu_tune.proof import wire, xla_options
from jaxgpu_tune.proof.flags_read_back import (
    JAXLIB_READS,
    PLATFORM_MISFIT,
    OptionsReadBack,
    agree,
    shown_option,
    verified_flag,
)
from jaxgpu_tune.proof.verification import Verified
from jaxgpu_tune.proof.wanted import Wanted, flag_values
from tests.oracle import Oracle

UNTOLD = {
    "xla_cpu_collective_call_warn_stuck_timeout_seconds",
    "xla_cpu_enable_concurrency_optimized_scheduler",
    "xla_enable_nccl_symmetric_buffers_for_collectives",
    "xla_gpu_experimental_thunk_buffer_debug_filter_by_profile_annotation_re",
    "xla_gpu_experimental_thunk_buffer_debug_filter_by_thunk_id_ranges",
    "xla_gpu_enable_pipelined_reduce_scatter",
    "xla_gpu_graph_enable_concurrent_region",
}
"""Flags that write nested messages, or a field of another name in a way that is not known: they count as unreadable."""
RELEASE = version("jaxlib")
TARGET = target_of(Machine.from_dict({"jaxlib": RELEASE, "jax": RELEASE, "plugins": {}}))
SAMPLES = {
    "bool": ("true", "false"),
    "int32": ("3", "17"),
    "int64": ("3", "17"),
    "float": ("0.25", "2"),
    "text": ("x y", "z"),
    "map": ("a=1,b=2", "c=3"),
    "duration": ("2s", "1h30m"),
}


def samples(spec: FlagSpec) -> tuple[str, ...]:
    """Values of a flag, most of them not its default."""
    if spec.form == "list":
        return (",".join(spec.members[:2]), spec.members[-1]) if spec.members else ("a", "b")
    return spec.members[:3] if spec.form == "enum" else SAMPLES.get(spec.form, ())


def cases() -> Iterator[tuple[FlagSpec, str]]:
    """(flag, value that this release takes)."""
    for name, spec in known.flags(RELEASE).items():
        if spec.fields and name not in UNTOLD | JAXLIB_SETS and not spec.undefined:
            yield from ((spec, text) for text in samples(spec) if TARGET.refusal(name, text) is None)


def hold(spec: FlagSpec, text: str, options: xla_options.Options) -> bool:
    """Whether the options hold what the flag is expected to write."""
    expected = fields_written(spec.name, text, TARGET)
    return bool(expected) and all(agree(value, options[f], TARGET.flag(f)) for f, value in expected.items())


@pytest.fixture(scope="module")
def parsed() -> dict[str, xla_options.Options]:
    """The options that the real parser makes of each case's text, and of none."""
    texts = ["", *(quote(spec.name, text) for spec, text in cases())]
    schema = xla_options.schema()
    assert schema is not None
    zeros = wire.zeros(schema, xla_options.MESSAGE)
    with Oracle() as oracle:
        answers = oracle.ask(texts)
    assert all(answer.accepted for answer in answers), [
        t for t, a in zip(texts, answers, strict=True) if not a.accepted
    ]
    return {
        text: {**zeros, **wire.decode(schema, xla_options.MESSAGE, answer.effect)}
        for text, answer in zip(texts, answers, strict=True)
    }


@pytest.mark.slow
def test_every_flag_is_found_where_it_was_written(parsed: dict[str, xla_options.Options]) -> None:
    wrong = [quote(s.name, text) for s, text in cases() if not hold(s, text, parsed[quote(s.name, text)])]
    assert wrong == []
    assert len(parsed) > 350


@pytest.mark.slow
def test_no_flag_is_found_where_it_was_not_written(parsed: dict[str, xla_options.Options]) -> None:
    claimed = [
        quote(s.name, text) for s, text in cases() if hold(s, text, parsed[""]) and not TARGET.is_default(s.name, text)
    ]
    assert claimed == []


@pytest.mark.parametrize(("release", "status"), [("0.8.1", "unreadable"), ("0.9.1", "effective")])
def test_what_a_release_leaves_undefined_is_not_compared(release: str, status: str) -> None:
    name, text = "xla_gpu_enable_while_loop_unrolling", "WHILE_LOOP_UNROLLING_FULL_UNROLL"
    options, target = {name: text}, Target((release,))
    reading = OptionsReadBack(target, "cuda", options, options, lambda: options, {name: (text,)})
    found = verified_flag(Wanted("xla_flag", name, (text,)), reading)
    assert found.status == status
    assert ("undefined place" in found.why) == (status == "unreadable")


LEVEL, GRAPHS, OLD_GRAPHS = "xla_gpu_autotune_level", "xla_gpu_enable_command_buffer", "xla_gpu_graph_level"
KERNELS, ONE_SHOT = "xla_gpu_experimental_use_collective_kernels", "xla_gpu_unsupported_use_all_reduce_one_shot_kernel"
PASSES = "xla_disable_hlo_passes"
NEWEST = "0.11.2"


def verified(
    name: str,
    *values: str,
    now: str | None = None,
    compiled: dict[str, Any] | None = None,
    parsed: dict[str, Any] | None = None,
    plugin: dict[str, Any] | None = None,
    platform: str = "gpu",
    release: str = NEWEST,
    late: str = "",
) -> Verified:
    """A flag of these values. ``now``: XLA_FLAGS as it is; by default it holds them."""
    text = " ".join(f"--{name}={value}" for value in values) if now is None else now
    reading = OptionsReadBack(Target((release,)), platform, parsed, compiled, lambda: plugin, flag_values(text))
    return verified_flag(Wanted("xla_flag", name, values, late), reading)


def told(item: Verified) -> tuple[str, str, str | None]:
    """Status, why, and what was read."""
    return item.status, item.why, item.found


def test_what_the_options_hold_is_effective() -> None:
    """Those that jax compiles with, or, where those cannot be had, those that jaxlib parsed."""
    holds = ("effective", "XLA's options hold it", "2")
    assert told(verified(LEVEL, "2", compiled={LEVEL: 2}, parsed={LEVEL: 4})) == holds
    assert told(verified(LEVEL, "2", parsed={LEVEL: 2})) == holds
    assert told(verified(LEVEL, "4", "2", compiled={LEVEL: 2})) == holds
    assert verified(LEVEL, compiled={LEVEL: 4}).status == "effective"  # removed: XLA's own default
    assert verified(LEVEL, compiled={LEVEL: 3}).status == "ignored"


def test_what_came_late_is_ignored_with_its_reason() -> None:
    assert told(verified(LEVEL, "2", compiled={LEVEL: 2}, late="Too late.")) == ("ignored", "Too late.", "2")


def test_what_does_not_hold_was_read_before_or_is_set_otherwise_by_jax() -> None:
    """jaxlib's own reading tells which."""
    late = ("ignored", "XLA had read XLA_FLAGS before it held this", "4")
    assert told(verified(LEVEL, "2", compiled={LEVEL: 4}, parsed={LEVEL: 4})) == late
    assert told(verified(LEVEL, "2", compiled={LEVEL: 4})) == late
    status, why, _ = told(verified(LEVEL, "2", compiled={LEVEL: 4}, parsed={LEVEL: 2}))
    assert (status, why) == ("overridden", "XLA had read it, and jax sets it otherwise for every compile")
    status, why, found = told(verified(PASSES, "a", compiled={PASSES: []}, parsed={PASSES: ["a"]}))
    assert (status, found) == ("overridden", "") and "jax_compiler_enable_remat_pass sets it otherwise" in why
    status, why, _ = told(
        verified("xla_gpu_enable_fast_min_max", "true", compiled={"xla_gpu_enable_fast_min_max": False})
    )
    assert (status, why) == ("overridden", "XLA had read it, and jax sets it otherwise for every compile")


def test_xla_flags_changed_afterwards_is_overwritten() -> None:
    """What it was changed to is told, and which of both counts."""
    start = "XLA_FLAGS was changed after configure(), "
    for now, options, end in (
        (f"--{LEVEL}=3", {LEVEL: 2}, "to '3'; what was applied holds, since XLA had read it before"),
        (f"--{LEVEL}=3", {LEVEL: 3}, "to '3', and the change is what took effect"),
        (f"--{LEVEL}=3 --{LEVEL}=1", {LEVEL: 1}, "to '3 1', and the change is what took effect"),
        (f"--{LEVEL}=3", {LEVEL: 0}, "to '3'; what was applied did not take effect"),
        (f"--{LEVEL}=3", None, "to '3'; what took effect cannot be told"),
        ("", {LEVEL: 4}, "so that it is gone, and the change is what took effect"),
        ("--xla_dump_to=a", {LEVEL: 0}, "so that it is gone; what was applied did not take effect"),
    ):
        item = verified(LEVEL, "2", now=now, compiled=options)
        assert (item.status, item.why) == ("overwritten", start + end)


def test_on_the_cpu_nothing_reads_flags_of_gpus() -> None:
    """Others are read there."""
    assert told(verified(LEVEL, "2", compiled={LEVEL: 2}, platform="cpu"))[:2] == ("ignored", PLATFORM_MISFIT)
    other = "xla_cpu_enable_fast_math"
    assert verified(other, "true", compiled={other: True}, platform="cpu").status == "effective"


def test_what_a_release_takes_and_leaves_is_ignored() -> None:
    """A flag without a field; ``xla_fuel``, which writes none, acts all the same."""
    release, name = "0.5.1", "xla_gpu_enable_triton_gemm_int4"
    status, why, found = told(verified(name, "true", compiled={}, release=release))
    assert status == "ignored" and why.endswith("takes it and does nothing with it") and found is None
    assert told(verified("xla_fuel", "a=1", compiled={}))[0] == "unreadable"


def test_another_flag_of_the_text_that_writes_the_same_field_overrides() -> None:
    text = f"--{GRAPHS}=CUBLAS --{OLD_GRAPHS}=0"
    item = verified(GRAPHS, "CUBLAS", now=text, compiled={GRAPHS: []}, release="0.5.1")
    assert told(item) == ("overridden", f"--{OLD_GRAPHS}=0 decides the same thing", "")
    alone = verified(GRAPHS, "CUBLAS", now=f"--{GRAPHS}=CUBLAS --{LEVEL}=0", compiled={GRAPHS: []}, release="0.5.1")
    assert alone.status == "ignored"


@pytest.mark.parametrize("added", [f"--{ONE_SHOT}=true", f"--{KERNELS}=+ALL_REDUCE --{ONE_SHOT}=true"])
def test_a_list_that_flags_of_two_names_change_is_not_known(added: str) -> None:
    text = f"--{KERNELS}=ALL_GATHER {added}"
    values = flag_values(text)[KERNELS]
    status, why, _ = told(verified(KERNELS, *values, now=text, compiled={KERNELS: ["ALLREDUCE"]}))
    assert (status, why) == (
        "unreadable",
        f"--{ONE_SHOT} writes the same list, and what they leave of it together is not known",
    )


def test_what_cannot_be_read_says_who_does_not_tell() -> None:
    """The plugin for what it reads itself, once; jaxlib for all else."""
    wide = "xla_gpu_nccl_terminate_on_error"
    assert verified(wide, "true", plugin={wide: True}, compiled={wide: False}).status == "effective"
    assert verified(wide, "true", plugin={wide: False}, compiled={wide: True}).status == "ignored"
    item = verified(wide, "true", compiled={wide: True})
    assert told(item) == (
        "unreadable",
        "the CUDA plugin does not tell what it made of XLA_FLAGS; it still holds what was applied",
        None,
    )
    assert told(verified(LEVEL, "2"))[:2] == (
        "unreadable",
        "this jaxlib does not tell what it made of XLA_FLAGS; it still holds what was applied",
    )
    assert told(verified("xla_no_such", "2", compiled={}))[1] == "no field of XLA's options is known to tell it"
    assert verified(JAXLIB_READS, "2", compiled={JAXLIB_READS: 2}, plugin={JAXLIB_READS: 1}).status == "effective"
    assert verified(LEVEL, "maybe", compiled={LEVEL: 4}).status == "unreadable"


@pytest.mark.parametrize(
    ("expected", "found", "adds_up", "same"),
    [
        ("a,b", ["b", "a"], False, True),
        ("a", ["a", "b"], False, False),
        ("a", ["a", "b"], True, True),
        ("a,c", ["a", "b"], True, False),
        ("", [], False, True),
        ("", ["a"], False, False),
        ("1,2", [1, 2], False, True),
        ("ALLCOLLECTIVES", ["x", "y"], False, True),
        ("ALLCOLLECTIVES", ["x"], False, False),
        ("a=1,b=2", {"b": "2", "a": "1"}, False, True),
        ("a=1", {"a": "2"}, False, False),
        ("0.1", 0.1, False, True),
        ("0.1", 0.2, False, False),
        ("nan", float("nan"), False, True),
        ("Abc", "ABC", False, True),
        ("abd", "ABC", False, False),
        (3, 3, False, True),
        (True, False, False, False),
    ],
)
def test_when_a_value_is_in_a_field(expected: Any, found: Any, adds_up: bool, same: bool) -> None:
    """Lists have no order, and where they add up jax may have added; texts of enums may be in capitals."""
    spec = Target((NEWEST,)).flag(PASSES if adds_up else LEVEL)
    assert agree(expected, found, spec) is same
    assert agree(expected, found, None) is (same and not (adds_up and len(found) != len(expected.split(","))))


def test_a_value_is_shown_as_it_is_written() -> None:
    assert [shown_option(one) for one in (True, 2, {"a": 1, "b": "c"}, ["a", "b"])] == ["true", "2", "a=1,b=c", "a,b"]
