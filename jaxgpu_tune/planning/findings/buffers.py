"""What NCCL needs to work on XLA's own buffers: user buffers by NVLink SHARP, and symmetric ones. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ...knowledge.pool import registering
from ...knowledge.versions import matches, numbers
from ...model import Finding, Machine
from ...wording import is_true
from ..base.conditions import Facts
from ..in_force import Settled
from ..settings.pool_variables import COLLECTIVE_POOL

__all__ = ["check_buffers"]

USER, NVLS = "xla_gpu_enable_nccl_user_buffers", "NCCL_NVLS_ENABLE"
SYMMETRIC = ("xla_gpu_experimental_enable_nccl_symmetric_buffers", "xla_enable_nccl_symmetric_buffers_for_collectives")
POOL_UNTIL = "<0.11.0"
"""From 0.11.0 on one pool serves both kinds of memory."""
NVLS_BUFFERS_SINCE, WINDOWS_SINCE = "2.19", "2.27"
"""NCCL's user guide: registration of user buffers for NVLink SHARP; ncclCommWindowRegister."""
NVLS_CAPABILITY = (9, 0)


def check_buffers(found: Settled, machine: Machine, facts: Facts) -> Iterator[Finding]:
    """What is missing for the buffers that are asked for, on several GPUs; what is unknown is not guessed at."""
    values = {**found.flags, **found.variables}
    if not facts.devices or facts.devices < 2:
        return
    if is_true(values.get(USER)):
        yield from _for_user_buffers(values, machine)
        yield from _too_old(USER, machine, NVLS_BUFFERS_SINCE)
    for name in registering(found.flags):
        if name in SYMMETRIC:
            yield from _too_old(name, machine, WINDOWS_SINCE)
    old = [one for one in facts.compute_capabilities or () if numbers(one) < NVLS_CAPABILITY]
    if old and (is_true(values.get(USER)) or values.get(NVLS) == "1"):
        message = f"NVLink SHARP needs compute capability 9.0, and these GPUs have {min(old, key=numbers)}: all-gather, all-reduce and reduce-scatter go on with copies."
        yield Finding("no-nvls", "warning", message, f"Take {USER} and {NVLS}=1 out.")


def _for_user_buffers(values: dict[str, str], machine: Machine) -> Iterator[Finding]:
    if machine.jaxlib and matches(POOL_UNTIL, machine.jaxlib) and values.get(COLLECTIVE_POOL, "").strip() in ("", "0"):
        message = f"{USER} takes its buffers from a second pool before jaxlib 0.11.0, which nothing has sized."
        hint = (
            f"Set {COLLECTIVE_POOL} (MiB, a multiple of 512), and lower the memory fraction by as much. The program needs no more "
            "than all arrays marked S(1) in jax.jit(step).lower(...).compile().as_text() take together."
        )
        yield Finding("buffers-without-pool", "warning", message, hint)


def _too_old(name: str, machine: Machine, least: str) -> Iterator[Finding]:
    if machine.nccl and numbers(machine.nccl) < numbers(least):
        message = f"{name} needs NCCL {least}; {machine.nccl} is installed."
        yield Finding("nccl-too-old", "warning", message, "Update the nvidia-nccl wheel, or take the flag out.")
