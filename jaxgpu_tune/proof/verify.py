"""Read back, in a process whose backend has started, every setting that was applied to it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from ..errors import BadSetting, TooEarly
from ..host.compilation_cache import cache_folder_findings
from ..host.detect import detect_machine
from ..host.phase import phase
from ..model import Finding, Machine, Report
from ..planning.release.target import target_of
from ..planning.settings.setting_names import CACHE_OPTION, PLATFORMS_OPTION
from ..planning.xla_flags.grammar import FLAGS
from .config import GPU_NAMES, verified_option
from .flags_read_back import PLATFORM_MISFIT, OptionsReadBack, verified_flag
from .memory_read_back import allocator_numbers
from .variables_read_back import Signs, verified_variable
from .verification import PROVEN, Verification, Verified
from .wanted import Wanted, applied_here, flag_values, left_by_parent
from .xla_options import jax_options, parsed_options, plugin_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["verify"]

PLUGIN = "jax-cuda"
HINTS = {
    "ignored": "Call configure() before the first use of a device, or launch with jaxgpu-tune run.",
    "overwritten": "Let configure() be the last to set it, or pass the value to configure().",
    "overridden": "Set it in one place only.",
}


def verify(off: bool) -> Verification:
    """Every setting that was applied, read back. ``off``: nothing was to be applied.

    Raises TooEarly if the backend has not started, and BadSetting with every finding if the report
    was strict and something proved wrong.
    """
    here = applied_here()
    machine = here[0].machine if here else detect_machine(os.environ)
    wanted = here[1] if here else left_by_parent(os.environ, machine)
    if not wanted and here is None:
        return Verification((), (_nothing_applied(off),))
    if phase() != "started":
        raise TooEarly.of([_not_started()])
    from ..render.waiting import waiting

    with waiting("Reading back what took effect"):
        found = _read_back(wanted, machine)
    if here and _is_strict(here[0]) and not found.ok:
        raise BadSetting.of(finding for finding in found.findings if finding.severity != "note")
    return found


def _read_back(wanted: Iterable[Wanted], machine: Machine) -> Verification:
    devices = sys.modules["jax"].local_devices()
    platform = devices[0].platform
    reading = _reading(devices, machine)
    around = _signs(devices, machine)
    items = tuple(_verified(one, reading, around, machine) for one in wanted)
    stray = platform == "cpu" and _is_for_gpus(machine)
    findings = (*([_on_cpu(machine)] if stray else []), *_findings(items, stray))
    return Verification(items, findings, platform, len(devices))


def _verified(one: Wanted, reading: OptionsReadBack, around: Signs, machine: Machine) -> Verified:
    if one.kind == "xla_flag":
        return verified_flag(one, reading)
    if one.kind == "env":
        return verified_variable(one, around)
    return verified_option(one, machine.jax, around.platform)


def _reading(devices: list[Any], machine: Machine) -> OptionsReadBack:
    return OptionsReadBack(
        target=target_of(machine),
        platform=devices[0].platform,
        parsed=parsed_options(),
        compiled=jax_options(),
        plugin=cache(lambda: plugin_options(devices[0])),
        now=flag_values(os.environ.get(FLAGS, "")),
    )


def _signs(devices: list[Any], machine: Machine) -> Signs:
    totals = {number: gpu.memory_bytes for number, gpu in enumerate(machine.gpus or ())}
    return Signs(
        platform=devices[0].platform,
        environ=dict(os.environ),
        memory=allocator_numbers(devices, totals) if devices[0].platform != "cpu" else (),
        nccl_log=_nccl_log(os.environ),
    )


def _nccl_log(environ: Mapping[str, str]) -> str:
    """What NCCL has written for this process, if it was asked to write to a file."""
    from platform import node

    path = environ.get("NCCL_DEBUG_FILE", "").replace("%h", node()).replace("%p", str(os.getpid()))
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _is_strict(report: Report) -> bool:
    return bool(report.inputs.get("arguments", {}).get("strict"))


def _findings(items: Iterable[Verified], stray: bool) -> Iterator[Finding]:
    """One for each way of going wrong, naming every setting that went that way. ``stray``: on the CPU by mistake."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for item in items:
        if item.status not in PROVEN:
            groups.setdefault((item.status, item.why, _hint(item)), []).append(item.name)
    for (status, why, hint), names in groups.items():
        expected = why == PLATFORM_MISFIT and not stray
        message = f"{', '.join(names)} ({status}): {why.removesuffix('.')}."
        yield Finding(f"setting-{status}", "note" if expected else "warning", message, "" if expected else hint)


def _hint(item: Verified) -> str:
    """What to do; for a cache's folder that cannot be used, as the plan says it."""
    unusable = cache_folder_findings(item.value) if item.name == CACHE_OPTION else ()
    return next((f.hint for f in unusable if f.message == item.why), HINTS[item.status])


def _is_for_gpus(machine: Machine) -> bool:
    """Whether JAX is meant to compute on GPUs here: it is asked to, or they or their plugin are there and the CPU is not asked for."""
    config = sys.modules["jax"].config
    listed = (getattr(config, PLATFORMS_OPTION, None) or getattr(config, "jax_platform_name", None) or "").split(",")
    asked = any(name.strip() in GPU_NAMES for name in listed)
    plugin = any(name.startswith(PLUGIN) for name in machine.plugins or ())
    return listed[0] != "cpu" and bool(asked or plugin or machine.gpus)


def _on_cpu(machine: Machine) -> Finding:
    """The failure that no one sees: JAX has skipped the GPUs and computes on the CPU."""
    there = f"{len(machine.gpus)} GPUs are here" if machine.gpus else "it is meant to run on GPUs"
    message = f"JAX runs on the CPU although {there}: the CUDA plugin failed to start, or is not installed."
    hint = (
        "Look for 'Jax plugin configuration error' on stderr; with JAX_PLATFORMS=cuda JAX says why instead of going on."
    )
    return Finding("runs-on-cpu", "error", message, hint)


def _nothing_applied(off: bool) -> Finding:
    if off:
        return Finding("switched-off", "note", "JAXGPU_TUNE=off: nothing was applied, so there is nothing to verify.")
    message = "Neither configure() in this process nor the parent that launched it has applied anything."
    return Finding(
        "nothing-applied", "error", message, "Call configure() before JAX starts, or launch with jaxgpu-tune run."
    )


def _not_started() -> Finding:
    message = "JAX's backend has not started, so nothing has taken effect that could be read back."
    return Finding(
        "not-started", "error", message, "Call verify() after the first use of a device, jax.devices() at the least."
    )
