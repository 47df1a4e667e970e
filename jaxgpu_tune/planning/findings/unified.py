"""TensorFlow's two variables of GPU memory: the one that XLA reads, and where it fails; the one that JAX does not read. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...knowledge import pool as known
from ...model import Finding, Machine
from ...wording import is_true, number_of
from ..settings.pool_variables import MEANS_FALSE, PREALLOCATE, UNIFIED, fraction_set, has_unified_memory
from .unfit_installs import older_gpus

__all__ = ["GROWTH", "check_unified", "why_not_beyond"]

GROWTH = "TF_FORCE_GPU_ALLOW_GROWTH"
TENSORFLOW = ("tensorflow", "tensorflow-gpu", "tf-nightly")


def check_unified(environ: Mapping[str, str], machine: Machine) -> Iterator[Finding]:
    """Findings about the two in force. ``environ``: the variables in force."""
    fraction = fraction_set(environ)
    if has_unified_memory(environ) and fraction:
        yield from _of_fraction(environ, fraction, machine)
    if (
        is_true((environ.get(GROWTH) or "").strip())
        and environ.get(PREALLOCATE) not in MEANS_FALSE
        and not _has_tensorflow(machine)
    ):
        message = f"{GROWTH}={environ[GROWTH]} speaks to TensorFlow: JAX does not read it, and takes its share of each GPU's memory when it starts."
        yield Finding("growth-for-tensorflow-only", "warning", message, f"Set {PREALLOCATE}=false (preallocate=False).")


def why_not_beyond(environ: Mapping[str, str], machine: Machine) -> str:
    """Why a GPU here cannot give more memory than it has, where unified memory with a fraction above 1 asks for it; else empty."""
    fraction = fraction_set(environ)
    return (
        _why_not(machine) if has_unified_memory(environ) and (number_of(environ.get(fraction, "")) or 0.0) > 1 else ""
    )


def _of_fraction(environ: Mapping[str, str], name: str, machine: Machine) -> Iterator[Finding]:
    stated, number, why = f"{name}={environ[name]}", number_of(environ[name]) or 0.0, _why_not(machine)
    if number < 1:
        message = f"With {UNIFIED} a fraction below 1 counts as 1: {stated} bounds nothing."
        yield Finding("unified-memory-fraction", "note", message, f"Unset {UNIFIED} to bound JAX.")
    elif number > 1 and why:
        message = f"{UNIFIED}={environ[UNIFIED]} with {stated} asks for more memory than the GPU has: {why}, so that JAX runs out of memory."
        yield Finding("no-memory-beyond", "warning", message, f"Unset both, {UNIFIED} and {name}.")


def _why_not(machine: Machine) -> str:
    if machine.wsl and machine.gpus:
        return "WSL2 does not page GPU memory (https://docs.nvidia.com/cuda/wsl-user-guide/index.html)"
    least = known.pages_from()
    old = older_gpus(machine, least)
    return f"{old[0]} does not page, which needs compute capability {least}" if old else ""


def _has_tensorflow(machine: Machine) -> bool:
    return any(name in TENSORFLOW for name in machine.libraries or {})
