"""Which platforms JAX is told to start: jax takes each name as it stands, blanks, quotes and all, and ends on one that it lacks. Pure."""

from __future__ import annotations

import re

from ...knowledge.versions import numbers
from ...machine import Machine
from ...wording import nearest
from .setting_names import PLATFORMS_OPTION

__all__ = ["OPTIONS", "RANKED", "gpus_alone", "names_of", "outcome_without_gpu", "platforms_read", "strange_names"]

RANKED = "jax_platform_name"
OPTIONS = (PLATFORMS_OPTION, RANKED)
"""The platforms that start; and which of all that start is the default, deprecated and read in any case."""
KNOWN = ("cpu", "cuda", "gpu", "oneapi", "proxy", "rocm", "tpu")
"""The names that jax itself knows (jax/_src/xla_bridge.py); a plugin may register another, such as METAL."""
OF_GPUS = ("cuda", "gpu", "rocm")
CPU_WITHOUT_GPU_SINCE = (0, 4, 31)
"""From which jaxlib on a plugin without a GPU leaves JAX to the CPU (jax-ml/jax#22703)."""
_BETWEEN, _QUOTES, NEAR = r"[,;\s]+", "\"'`\u2018\u2019\u201c\u201d", 0.75


def names_of(text: str) -> tuple[str, ...]:
    """The names that a text was meant to list."""
    words = re.split(_BETWEEN, "".join(mark for mark in text if mark not in _QUOTES))
    return tuple(word.lower() if word.lower() in KNOWN else word for word in words if word)


def gpus_alone(names: tuple[str, ...]) -> bool:
    """Whether JAX may start on GPUs only."""
    return bool(names) and all(name in OF_GPUS for name in names)


def outcome_without_gpu(names: tuple[str, ...], machine: Machine) -> str:
    """What JAX does where no GPU can be used, by the platforms that it is told to start."""
    if gpus_alone(names):
        return f"JAX does not start, since it is told to use {','.join(names)} alone (JAX_PLATFORMS)"
    raises = any(name.startswith("jax-cuda") for name in machine.plugins or ()) and "cpu" not in names
    if raises and numbers(machine.jaxlib or "") < CPU_WITHOUT_GPU_SINCE:
        return "JAX does not start"
    return "JAX runs on the CPU"


def platforms_read(option: str, text: str) -> str:
    """The text as jax can read it. Raises ValueError, with a sentence, for a name that is a known one misspelt."""
    names = names_of(text)
    wrong = [f"{name!r} (did you mean {near!r}?)" for name in strange_names(text) if (near := _near(name))]
    if wrong or (option == RANKED and len(names) > 1):
        allowed = f"{', '.join(KNOWN)}, or one that a plugin registers"
        what = f"names no platform of JAX: {', '.join(wrong)}" if wrong else "is read as one name"
        raise ValueError(f"{option}={text!r} {what}; allowed: {allowed}.")
    return ",".join(names)


def strange_names(text: str) -> tuple[str, ...]:
    """The names that jax itself does not know."""
    return tuple(name for name in names_of(text) if name not in KNOWN)


def _near(name: str) -> str | None:
    from ...knowledge.real_names import elsewhere

    return None if elsewhere(name) else nearest(name.lower(), KNOWN, NEAR)
