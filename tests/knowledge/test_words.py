"""Words that parsers know beside the members of their enums, and what comes of a value that is refused: the installed parser is asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import jaxgpu_tune
from jaxgpu_tune.host.packages import installed_versions
from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.planning.release.target import Target
from tests.fleet import machine
from tests.oracle import Oracle

RELEASE = known.resolve(installed_versions().jaxlib or "").release
SYMMETRIC, BACKEND = "xla_enable_nccl_symmetric_buffers_for_collectives", "xla_autotuner_preferred_backend"
WORDS = ("all", "ALL", "none", "any", "default", "auto", "off", "true", "0", "-1", "unspecified")


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    """The installed jaxlib."""
    with Oracle() as one:
        yield one


def test_no_word_is_refused_that_the_parser_takes_nor_the_other_way(oracle: Oracle) -> None:
    """Every flag of words or lists of words that this release has, so that a new special word is found."""
    specs = [known.flags(RELEASE)[name] for name in known.flags(RELEASE)]
    asked = [(s, word) for s in specs if s.members for word in WORDS]
    answers = oracle.ask([f'--{spec.name}="{word}"' for spec, word in asked])
    wrong = [
        (spec.name, word, answer.accepted)
        for (spec, word), answer in zip(asked, answers, strict=True)
        if answer.accepted != (known.check_value(spec, word, RELEASE) is None)
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("name", "text", "same"),
    [
        (SYMMETRIC, "all", "allcollectives"),
        (SYMMETRIC, "ALL", "allcollectives"),
        (SYMMETRIC, "all:1024", "ALLCOLLECTIVES:1024"),
        (SYMMETRIC, "allreduce,all", "allreduce,allcollectives"),
        (SYMMETRIC, "all-reduce", "ALLREDUCE"),
        (SYMMETRIC, "ragged_all_to_all:8:f32", "RAGGEDALLTOALL:8:F32"),
        (BACKEND, "none", "UNSPECIFIED_BACKEND"),
    ],
)
def test_other_words_for_a_member_have_its_effect(oracle: Oracle, name: str, text: str, same: str) -> None:
    spec = known.flag(name, RELEASE)
    if spec is None:
        pytest.skip(f"jaxlib {RELEASE} has no such flag")
    one, other = oracle.ask([f"--{name}={text}", f"--{name}={same}"])
    assert one.accepted and one.effect == other.effect
    assert known.canonical(spec, text) == known.canonical(spec, same)
    flag = f"--{name}={text}"
    report = jaxgpu_tune.plan("auto", machine=machine(jaxlib=RELEASE), environ={"XLA_FLAGS": flag}, probe=False)
    assert report.xla_flags == flag


def planned(text: str, jaxlib: str) -> jaxgpu_tune.Finding:
    """The finding about a value that is refused."""
    report = jaxgpu_tune.plan("auto", machine=machine(jaxlib=jaxlib), environ={"XLA_FLAGS": text}, probe=False)
    (found,) = [f for f in report.findings if f.code == "bad-flag-value"]
    assert report.xla_flags == ""
    return found


@pytest.mark.parametrize(
    ("text", "jaxlib", "outcome"),
    [
        ("--xla_gpu_autotune_level=99999999999", "0.4.30", "XLA would take it for 1215752191."),
        ("--xla_gpu_autotune_level=99999999999", "0.6.2", "XLA would take it for 1215752191."),
        ("--xla_gpu_autotune_level=-99999999999", "0.6.2", "XLA would take it for -1215752191."),
        ("--xla_gpu_autotune_level=99999999999999999999", "0.6.2", "XLA would take it for -1."),
        ("--xla_gpu_all_reduce_combine_threshold_bytes=99999999999999999999", "0.6.2", "it for 9223372036854775807."),
        ("--xla_gpu_autotune_level=99999999999", "0.8.1", "XLA would end the process."),
        ("--xla_gpu_autotune_level=high", "0.4.30", "XLA would end the process."),
        ("--xla_gpu_autotune_level=high", "0.4.28", "XLA would log it and keep the default."),
        ("--xla_force_host_platform_device_count=0", "0.12.0.1", "JAX would find no device."),
        ("--xla_force_host_platform_device_count=none", "0.12.0.1", "XLA would end the process."),
    ],
)
def test_what_comes_of_a_refused_value_is_told_truly(text: str, jaxlib: str, outcome: str) -> None:
    """Tried on 0.4.30, 0.6.2 and 0.12.0.1."""
    assert planned(text, jaxlib).message.endswith(outcome)
    name, _, value = text.removeprefix("--").partition("=")
    assert Target((jaxlib,), jaxlib=jaxlib).ends_process(name, value) is ("end the process" in outcome)


def test_the_parser_takes_no_devices(oracle: Oracle) -> None:
    assert oracle.ask(["--xla_force_host_platform_device_count=0"])[0].accepted


@pytest.mark.parametrize("text", ['"true"\'', "'true'\"", "\"true\"''"])
def test_quotes_behind_a_quoted_value_are_no_part_of_it(oracle: Oracle, text: str) -> None:
    """XLA has read the value when it comes to them, and stops; what follows is read on by us."""
    flag = f"--xla_gpu_enable_latency_hiding_scheduler={text}"
    plain = "--xla_gpu_enable_latency_hiding_scheduler=true"
    given, meant = oracle.ask([flag, plain])
    assert given.accepted and given.effect == meant.effect
    for behind in ("", " --xla_gpu_autotune_level=2"):
        report = jaxgpu_tune.plan("auto", machine=machine(), environ={"XLA_FLAGS": flag + behind}, probe=False)
        assert sorted(report.xla_flags.replace('"', "").split()) == sorted(f"{plain}{behind}".split())
        assert {"text-behind-quote"} == {f.code for f in report.findings}


def test_explain_gives_a_rules_bounds_and_no_measurement_of_what_was_not_there() -> None:
    assert any(
        t.startswith("a number of at least 3 becomes") for t in jaxgpu_tune.explain("xla_gpu_graph_level").translations
    )
    told = jaxgpu_tune.explain("xla_gpu_enable_triton_softmax_fusion", "0.11.2").presets
    assert told and not any("measured on" in one and "unmeasured" not in one for one in told)
