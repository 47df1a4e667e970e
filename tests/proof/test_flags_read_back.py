"""What a flag is expected to write is what the real parser writes: every flag of the installed jaxlib, value by value."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version

import pytest

from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.knowledge.compile_surface import JAXLIB_SETS
from jaxgpu_tune.knowledge.flag_spec import FlagSpec
from jaxgpu_tune.model import Machine
from jaxgpu_tune.planning.release.compile_options import fields_written
from jaxgpu_tune.planning.release.target import Target, target_of
from jaxgpu_tune.planning.xla_flags.grammar import quote
from jaxgpu_tune.proof import wire, xla_options
from jaxgpu_tune.proof.flags_read_back import OptionsReadBack, agree, verified_flag
from jaxgpu_tune.proof.wanted import Wanted
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
    assert ("chance" in found.why) == (status == "unreadable")
