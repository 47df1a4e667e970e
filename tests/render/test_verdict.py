"""The first lines of a report: what was done, and what it is worth here."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import jaxgpu_tune
from jaxgpu_tune.knowledge.gains import Gain
from jaxgpu_tune.model import Decision, Machine, Report
from jaxgpu_tune.render.text import render_text
from jaxgpu_tune.render.verdict import _listed, headline, worth
from tests.fleet import machine
from tests.render.written import EMPTY

MACHINES = Path(__file__).resolve().parent.parent / "machines"


@pytest.mark.parametrize(
    ("place", "told"), [("no_gpu", "there is no NVIDIA GPU here, so the preset sets nothing."), ("b200x8", "1 set; the preset sets nothing.")]
)  # fmt: skip
def test_what_is_asked_for_does_not_hide_that_the_preset_sets_nothing(place: str, told: str) -> None:
    """The first line says both."""
    report = jaxgpu_tune.plan("fsdp", environ={}, machine=MACHINES / f"{place}.json", flags={"xla_dump_to": "x"})
    assert " ".join(render_text(report, 200).split()).partition(" Asked")[0].partition(" warning")[0].endswith(told)


@pytest.mark.parametrize(
    ("preset", "place", "jaxlib", "told"),
    [
        ("fsdp", "h200x2_captured", "0.11.2", "Measured on 2 x H200, jaxlib 0.11.2: "),
        ("fsdp", "h200x2_captured", "0.11.0", "Not measured on 2 x H200, jaxlib 0.11.0. On 2 x H200, jaxlib 0.11.2: "),
        ("fsdp", "h100x8", "0.11.2", "Not measured on 8 x H100 80GB HBM3, jaxlib 0.11.2. On 2 x H200"),
        ("jax-toolbox", "h100x8", "0.5.1", "Not measured on 8 x H100"),
        ("jax-nccl", "h100x8", "0.5.1", "Nothing of it was measured by this project"),
        ("auto", "h100x8", "0.11.2", "nothing is set"),
    ],
)
def test_the_verdict_says_what_it_is_worth_here(preset: str, place: str, jaxlib: str, told: str) -> None:
    """Only a measurement on as many such GPUs and on this jaxlib counts as made here."""
    report = jaxgpu_tune.plan(preset, environ={}, machine=MACHINES / f"{place}.json", jaxlib=jaxlib)
    assert told in " ".join(render_text(report, 200).split())


def test_what_is_set_already_and_wins_over_the_preset_is_said_at_once() -> None:
    """The value of a container image, for example."""
    set_already = {"XLA_FLAGS": "--xla_gpu_command_buffer_scheduling_mode=SERIALIZE"}
    made = jaxgpu_tune.plan("simulation", machine=machine("H200", 1), environ=set_already)
    assert headline(made) == (
        "simulation: planned, not applied; nothing is set; 1 of yours kept, which the preset would set otherwise."
    )


@pytest.mark.parametrize(
    ("here", "processes", "devices", "told"),
    [
        (2, {"count": 4, "local_count": 1}, None, "Not measured on the job's 8 x H200, jaxlib 0.11.2. On 2 x H200"),
        (2, {"count": 2, "local_count": 2}, None, "Measured on 2 x H200"),
        (2, {}, 16, "Not measured on the job's 16 x H200"),
        (1, {"count": 2, "local_count": 1}, None, "Not measured on the job's 2 x H200"),
    ],
)
def test_r71_the_verdict_counts_the_gpus_of_the_whole_job(
    here: int, processes: dict[str, Any], devices: int | None, told: str
) -> None:
    """Where their number is known; what was measured on one host is not claimed for several."""
    place = machine("H200", count=here, processes=processes)
    report = jaxgpu_tune.plan("fsdp", environ={}, machine=place, devices=devices)
    assert told in " ".join(render_text(report, 200).split())


def report(*statuses: str, origin: str = "preset", **more: Any) -> Report:
    """With a decision of each status."""
    decisions = [Decision("xla_flag", f"xla_{n}", "1", s, "", "preset fsdp", origin) for n, s in enumerate(statuses)]
    return EMPTY._replace(decisions=tuple(decisions), **more)


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (report("set", "set", applied=True), "fsdp: applied; 2 set."),
        (report("merged", "set"), "fsdp: planned, not applied; 1 set, 1 merged with yours."),
        (report(), "fsdp: planned, not applied; nothing is set."),
        (
            report(machine=Machine(gpus=())),
            "fsdp: planned, not applied; there is no NVIDIA GPU here, so nothing is set.",
        ),
        (
            report("set", inputs={"environ": {"JAXGPU_TUNE": "off"}}),
            "fsdp: not applied, since JAXGPU_TUNE is off; 1 would be set.",
        ),
    ],
)
def test_the_headline_counts_what_became_of_settings(made: Report, line: str) -> None:
    assert headline(made) == line


def test_what_sets_nothing_is_worth_nothing_and_what_was_not_measured_says_how() -> None:
    """A setting that was asked for is none of the preset's; where nothing was measured, the command that does it is named."""
    assert worth(report()) == worth(report("set", origin="argument")) == worth(report("unmet")) == ""
    own = tuple(d._replace(source="preset mine.toml") for d in report("set").decisions)
    assert "jaxgpu-tune compare none mine -- COMMAND" in worth(EMPTY._replace(preset="mine", decisions=own))


def test_the_first_three_measurements_are_named() -> None:
    """Those that are undecided come last; the others keep their order, whichever it is."""
    for order in permutations(range(5)):
        named = _listed(gain(number) for number in order).split("; ")
        assert [one.split()[0] for one in named[:3]] == [f"w{number}" for number in order if number < 3]
        assert named[3:] == ["2 more"]


def gain(number: int) -> Gain:
    """The last two are undecided."""
    verdict = "undecided" if number > 2 else "faster"
    return Gain("p", f"w{number}", "NVIDIA H200", 2, "1", 1.0 + number, 1, 9, 6, verdict)


def test_a_preset_that_is_named_twice_is_told_once() -> None:
    """As one that another brings along."""
    once, twice = (
        worth(jaxgpu_tune.plan(preset, environ={}, machine=MACHINES / "h200x2_captured.json"))
        for preset in ("fsdp", "fsdp+fsdp")
    )
    assert once == twice != ""


MINE = """
summary = "Mine"
extends = "{}"
[[set]]
flag = "xla_gpu_autotune_level"
value = 2
[[set]]
flag = "xla_gpu_all_reduce_combine_threshold_bytes"
value = 1024
"""


@pytest.mark.parametrize(
    ("base", "place", "told"),
    [
        ("fsdp", "h200x2_captured", "Measured, fsdp alone, on 2 x H200, jaxlib 0.11.2: FSDP"),
        (
            "fsdp",
            "h100x8",
            "Not measured on 8 x H100 80GB HBM3, jaxlib 0.11.2. On 2 x H200, jaxlib 0.11.2, fsdp alone: FSDP",
        ),
        ("jax-toolbox-permute", "h200x2_captured", "Nothing of it was measured"),
    ],
)
def test_of_a_file_that_extends_a_preset_what_is_its_own_is_told_apart(
    base: str, place: str, told: str, tmp_path: Path
) -> None:
    """What was measured was the preset that it extends; its own settings, and those in place of another, were not."""
    file = tmp_path / "mine.toml"
    file.write_text(MINE.format(base))
    said = worth(jaxgpu_tune.plan(file, environ={}, machine=MACHINES / f"{place}.json"))
    assert said.startswith(told)
    if base == "fsdp":
        own = "--xla_gpu_all_reduce_combine_threshold_bytes (in place of what fsdp sets); --xla_gpu_autotune_level."
        assert f"Not measured with it: {own} " in said and f"jaxgpu-tune compare fsdp {file} -- COMMAND" in said


def test_a_file_of_its_own_is_asked_for_what_it_says_was_measured(tmp_path: Path) -> None:
    """Such as one that ``tune`` wrote."""
    file = tmp_path / "tuned.toml"
    file.write_text('[[set]]\nflag = "xla_gpu_autotune_level"\nvalue = 2\nreason = "faster"\n')
    said = worth(jaxgpu_tune.plan(file, environ={}, machine=MACHINES / "h200x2_captured.json"))
    assert said.endswith(f"COMMAND. What its file says of it: jaxgpu-tune explain {file}.")


def test_of_joined_presets_those_that_were_not_measured_are_named() -> None:
    said = worth(jaxgpu_tune.plan("fsdp+reproducible", environ={}, machine=MACHINES / "h200x2_captured.json"))
    assert said.startswith("Measured, fsdp alone, ") and "--xla_gpu_exclude_nondeterministic_ops. Compare both" in said


def test_of_joined_presets_one_that_sets_nothing_here_is_worth_nothing() -> None:
    """On one GPU fsdp sets nothing; in a job of several processes pipeline_parallel does."""
    alone = worth(jaxgpu_tune.plan("fsdp+reproducible", environ={}, machine=MACHINES / "h100x1.json"))
    assert alone.startswith("Nothing of it was measured") and "fsdp alone" not in alone
    job = {"environ": {}, "machine": MACHINES / "slurm_h100x8_rank9.json"}
    assert worth(jaxgpu_tune.plan("fsdp+pipeline_parallel", **job)) == worth(jaxgpu_tune.plan("fsdp", **job))


def test_what_an_argument_brings_along_needs_no_measurement() -> None:
    """A compilation cache changes no step, and no preset can be compared with itself."""
    place = {"environ": {}, "machine": MACHINES / "h200x2_captured.json"}
    assert worth(jaxgpu_tune.plan("fsdp", compilation_cache="/c", **place)) == worth(jaxgpu_tune.plan("fsdp", **place))
