"""What is compared: no settings, maintained presets, published sets, XLA's levels, AutoPGLE, what else was tried; and what each sets."""

from __future__ import annotations

import os
from ast import literal_eval
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import jaxgpu_tune
from benchmarks.tried import DEFAULT, FIRST, KEPT, LATER, NOTHING, Variant
from benchmarks.workloads import Workload

__all__ = ["DEFAULT", "LATER", "NOTHING", "Variant", "bare_environ", "environ_of", "settings_of", "variants_of"]

READ = ("XLA_", "JAX_", "TF_", "NCCL_", "CUDA_DEVICE_MAX", "JAXGPU_TUNE")
"""Variables that would change what is measured; not passed on."""
MACHINE = "JAXGPU_TUNE_MACHINE"


def variants_of(workload: Workload) -> list[Variant]:
    """For one workload, the default first; those of a late one are worth less."""
    late = int(workload.late)
    return [NOTHING, *(one._replace(worth=min(one.worth + late, LATER)) for one in _compared(workload))]


def _compared(workload: Workload) -> list[Variant]:
    own = [Variant(name, name) for name in (*workload.presets, *workload.judged, "auto")]
    if workload.until == "first step":
        return [*own, *workload.tried]
    rivals = [Variant(name, name, worth=FIRST) for name in workload.rivals]
    profiled = [Variant(f"{name}, AutoPGLE", name, {"pgle": "auto"}, LATER) for name in workload.presets[:1]]
    levels = [
        Variant("O1", "single_gpu", {"jax_config": {"jax_optimization_level": "O1"}}, LATER),
        Variant("AutoPGLE", "single_gpu", {"pgle": "auto"}, LATER),
        Variant("fast_compile", "fast_compile", worth=LATER),
    ]
    published = [Variant(name, name, worth=LATER) for name in published_for(workload)]
    return [*own, *rivals, *workload.tried, *published, *levels, *profiled]


def published_for(workload: Workload) -> Iterator[str]:
    """Its published sets, but for any that turns NVLink multicast (NVLS) on."""
    presets = {preset.name: preset for preset in jaxgpu_tune.presets()}
    for name in workload.published:
        if name not in workload.rivals and not any("NVLS" in setting.name for setting in presets[name].settings):
            yield name


def bare_environ() -> dict[str, str]:
    """This process's environment without anything that changes what is measured; NVLink multicast is off."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(READ) or name == MACHINE}
    return {**kept, "NCCL_NVLS_ENABLE": "0"}


def settings_of(variant: Variant, base: Mapping[str, str]) -> dict[str, str | None]:
    """The variables that the variant changes, without this library's own marker; ``KEPT`` stands for a folder."""
    if variant.preset is None:
        return {}
    return dict(_settings(variant.preset, repr(variant.arguments), tuple(sorted(base.items()))))


@cache
def _settings(preset: str, arguments: str, base: tuple[tuple[str, str], ...]) -> dict[str, str | None]:
    """Planned once for each share of the GPUs: several workloads ask for the same."""
    before = {name: text for name, text in base if name != "JAX_PLATFORMS"}  # a dry run has the GPUs' settings
    made = jaxgpu_tune.environ(
        preset, base=before, prefer="preset", machine=_described(before), **literal_eval(arguments)
    )
    names = sorted(name for name in {*made, *before} if not name.startswith("JAXGPU_TUNE"))
    return {name: made.get(name) for name in names if made.get(name) != before.get(name)}


def _described(base: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Of the machine that a dry run stands for, the GPUs that the process would see; None: those that are here."""
    if MACHINE not in base:
        return None
    machine = jaxgpu_tune.detect().to_dict()
    seen = base.get("CUDA_VISIBLE_DEVICES", "").split(",")
    named = [gpu for gpu in machine["gpus"] if {gpu["uuid"], str(gpu["index"])} & set(seen)]
    return {**machine, "gpus": named or machine["gpus"]}


def environ_of(variant: Variant, base: Mapping[str, str], kept: str = KEPT) -> dict[str, str]:
    """The environment that the variant gives a process; ``kept``: the folder that lasts."""
    changed = {**base, **settings_of(variant, base)}
    return {
        name: text.replace(KEPT, kept)
        for name, text in changed.items()
        if text is not None and not name.startswith("JAXGPU_TUNE")
    }
