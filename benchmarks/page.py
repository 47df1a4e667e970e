"""The text of docs/measured.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import jaxgpu_tune
from benchmarks import plots, steps
from benchmarks.outcome import Outcome, Row, tally
from benchmarks.told import cause
from benchmarks.tried import DEFAULT
from benchmarks.workloads import WORKLOADS
from jaxgpu_tune.measure.statistics import PAIRS

INTRODUCTION = f"""<!-- Written by `python -m benchmarks.tables`: measure anew with `python -m benchmarks.suite`, do not edit. -->

# What was measured

This page shows how each preset changed the time of a step, on which program and which GPU. It cannot say what a preset does to *your*
program: `jaxgpu-tune compare none PRESET -- python train.py` measures that.

**How.** Each run is a process of its own. Runs with a preset and runs with nothing set (the *default*) take turns on the same GPUs.
One of each makes a *pair*. *Speed* is the default's time divided by the preset's: 1.10 is ten percent faster, 0.95 five percent
slower. It is the median of the pairs, with the smallest and the largest in brackets.

**When it counts.** A preset is called *faster* or *slower* after {PAIRS} pairs that all agree and differ by at least half a percent in
the median. Otherwise *no difference is shown*, whatever the median is. The range of {PAIRS} pairs holds the true median with a
probability of 97 %. Fewer pairs decide nothing. This page shows them, with their number, only if a preset has nothing better on a
release. The files of results hold all others.

**What pairs do not show.** A process loads what an earlier one compiled, so six pairs cover one or two compilations. XLA chooses
kernels by timing them, so another compilation may be faster or slower. One setting (`CONCURRENT`, data parallel) was compiled three
times: a step took 45.8, 46.5 and 47.1 ms, and 47.2 ms by default. So a gain of one or two percent may not last. `compare` compiles each
run anew.

**Programs.** Programs that use JAX libraries are in `benchmarks/programs`. Each is a script that does not import this library
(`python -m benchmarks.programs.ppo --steps 200`). The others, in plain JAX, are in `benchmarks/workloads`.

**Words.** *FSDP*: each GPU holds a part of every weight, and gathers a whole layer just before it is needed. *Collective*: an
operation in which all GPUs exchange data. *Exposed* communication: the time in which a collective runs and nothing else.
*Compilation* is that of the first process. *Peak memory* is the most that arrays took on one GPU, with the variant and (in brackets)
by default. *Losses off by*: the largest relative difference to the default's losses in the first ten steps. Losses may differ because
kernels that are chosen by timing add in another order. *Several queues*: the preset without its `CUDA_DEVICE_MAX_CONNECTIONS=1`, as
it was before that setting was added. *One queue*: that setting alone. *Scatters to 64 MiB*, *8 GiB*: other combine thresholds.
*Protocols*: NCCL's, as `jax-toolbox` sets them. *Simulation's setting*: `xla_gpu_command_buffer_scheduling_mode=CONCURRENT`. Each
variant is defined in `benchmarks/tried.py`.
"""
OTHER_PURPOSE = {
    "fast_compile": "shorter compilation, at the cost of the step",
    "debug": "finding errors",
    "reproducible": "the same numbers in every run",
}
"""Presets that are not for speed; no gain is claimed for them."""


def page(measured: list[Outcome], traced: list[steps.Traced]) -> str:
    """The whole of it."""
    parts = [INTRODUCTION, *_in_short(measured), *steps.section(traced)]
    return "\n".join([*parts, *(line for outcome in measured if outcome.rows for line in _section(outcome))]) + "\n"


def _place(outcome: Outcome) -> tuple[str, str]:
    gpus = outcome.machine["gpus"]
    return (gpus[0]["name"] if gpus else "CPU", outcome.machine["jaxlib"])


def _in_short(measured: list[Outcome]) -> Iterator[str]:
    yield "## In short\n"
    yield "| preset | faster on | no difference shown on | slower on |"
    yield "|---|---|---|---|"
    for preset in jaxgpu_tune.presets():
        if preset.kind != "maintained":
            continue
        if preset.name in OTHER_PURPOSE:
            yield f"| `{preset.name}` | not for speed: {OTHER_PURPOSE[preset.name]} | | |"
        elif not preset.settings:
            yield f"| `{preset.name}` | sets nothing | | |"
        else:
            yield _tally_line(preset.name, measured)
    yield ""


def _tally_line(preset: str, measured: list[Outcome]) -> str:
    found = [tally(preset, outcome) for outcome in measured]
    told = ([name for one in found for name in one[place]] for place in range(3))
    cells = [f"{len(names)}: {'; '.join(names)}" if names else "0" for names in told]
    return f"| `{preset}` | {' | '.join(cells)} |"


def _section(outcome: Outcome) -> Iterator[str]:
    machine, (gpu, jaxlib) = outcome.machine, _place(outcome)
    measured = [(workload, row) for workload, rows in outcome.rows.items() for row in rows if row.variant != DEFAULT]
    decided = any(row.speed.word != "undecided" for _, row in measured)
    yield f"## {gpu}, jaxlib {jaxlib}{'' if decided else ', earlier, by fewer pairs'}\n"
    yield f"All of it: `benchmarks/results/suite-{outcome.name}.json`.\n"
    yield f"Driver {machine['driver']}, NCCL {machine['nccl']}, jax {machine['jax']}, NVLink multicast off.\n"
    yield from _speeds(outcome, measured)
    for workload, rows in outcome.rows.items():
        yield from _folded(outcome, workload, rows)
    for run in outcome.failed:
        yield f"{run['workload']} with {run['variant']} failed: `{cause(run)}`.\n"


def _speeds(outcome: Outcome, measured: Iterable[tuple[str, Row]]) -> Iterator[str]:
    yield f"![speed of each variant](images/{plots.speed_file(outcome)})\n"
    yield "| program | on | variant | default, ms | with it, ms | speed | verdict |"
    yield "|---|---|---|---|---|---|---|"
    yield from (_short_line(outcome, workload, row) for workload, row in measured if _is_main(workload, row.variant))
    yield ""


def _is_main(workload: str, variant: str) -> bool:
    one = WORKLOADS[workload]
    started = {tried.name for tried in one.tried} if one.until == "first step" else set()
    return variant in {*one.presets, *one.judged, *one.rivals, *started}


def _short_line(outcome: Outcome, workload: str, row: Row) -> str:
    where = outcome.card(workload).replace("NVIDIA ", "")
    cells = (WORKLOADS[workload].title, where, f"`{row.variant}`", f"{row.default_ms:.2f}", f"{row.step_ms:.2f}")
    return f"| {' | '.join(cells)} | {row.speed} | {verdict_told(row)} |"


def _folded(outcome: Outcome, workload: str, rows: Iterable[Row]) -> Iterator[str]:
    same = outcome.same.get(workload, {})
    yield f"<details markdown><summary>{WORKLOADS[workload].title}: all that was tried</summary>\n"
    yield "| variant | default, ms | with it, ms | speed | verdict | compilation, s | peak memory, GiB | losses off by |"
    yield "|---|---|---|---|---|---|---|---|"
    yield from (_full_line(row) for row in rows)
    equals = ", ".join(f"{name} = {other}" for name, other in same.items())
    yield f"\nThe same settings here, so measured once: {equals}.\n" if equals else ""
    yield from _flags_told(rows)
    yield "</details>\n"


def _full_line(row: Row) -> str:
    mine = row.variant == DEFAULT
    speed, verdict = ("1", "") if mine else (str(row.speed), verdict_told(row))
    peak = "" if row.peak_gib is None or row.default_peak_gib is None else f"{row.peak_gib:.2f}"
    beside = f" ({row.default_peak_gib:.2f})" if peak and not mine else ""
    times = (f"{row.default_ms:.2f}", f"{row.step_ms:.2f}", speed, verdict, f"{row.compile_seconds:.1f}")
    return f"| {' | '.join((row.variant, *times, peak + beside, f'{100 * row.loss_off:.2f} %'))} |"


def verdict_told(row: Row) -> str:
    """One word, or how many pairs there are."""
    words: Mapping[str, str] = {"faster": "faster", "slower": "slower", "no-difference": "no difference shown"}
    return words.get(row.speed.word) or f"none yet ({row.pairs} pairs{', not in turns' if row.pairs >= PAIRS else ''})"


def _flags_told(rows: Iterable[Row]) -> Iterator[str]:
    """What the processes began with, where there was anything; a default that ran both with it and without is not named."""
    told: dict[str, list[str]] = {}
    for row in rows:
        told.setdefault(row.flags, []).append(row.variant)
    for flags, variants in told.items():
        if flags:
            who = "Every process" if len(told) == 1 else f"{', '.join(variants)} and what it is compared with"
            yield f"{who} began with `{flags}`.\n"
