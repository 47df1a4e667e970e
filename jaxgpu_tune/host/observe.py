"""The only reader of the world: everything that planning may know, as one frozen value."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from ..knowledge.pool import neighbours
from ..model import Machine, Observation
from .apply import former_options
from .detect import detect_machine
from .marker import before_us
from .phase import live_config, phase

__all__ = ["cuda_folders", "flag_file", "observe"]

BLANKS = " \t\r\n"
TORCH = "torch.cuda"
CUDA_LIBRARIES = ("libcudart.so", "libcublas.so", "libcudnn.so", "libnccl.so", "libcupti.so", "libnvJitLink.so")
PIPS_OWN = os.path.join("-packages", "nvidia", "")


def observe(
    environ: Mapping[str, str], machine: Machine | None = None, live: bool = True, visible: str | None = None
) -> Observation:
    """What is there now. ``live`` False: a fresh process is planned for, so what this one has imported does not count.

    ``visible``: the CUDA_VISIBLE_DEVICES that the call asks for, which holds where none is set already.
    """
    before = before_us(environ)
    asked = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    seen = machine if machine is not None else detect_machine({**asked, **before}, live)
    seen = seen._replace(phase=phase() if live else "not-imported")
    return Observation(
        machine=seen,
        environ=before,
        jax_config=live_config(seen.jax, former_options()) if live else None,
        flag_file=flag_file(before.get("XLA_FLAGS", "")),
        modules=frozenset(one.module for one in neighbours() if live and one.module in sys.modules) | _cuda_users(live),
        cuda_folders=cuda_folders(before),
        live=live,
    )


def _cuda_users(live: bool) -> frozenset[str]:
    """torch.cuda, where it has started CUDA in this process: its own mark is read, nothing of it is called."""
    started = live and getattr(sys.modules.get(TORCH), "_initialized", False) is True
    return frozenset([TORCH] if started else [])


def flag_file(text: str) -> str | None:
    """The text of the file that XLA_FLAGS names; None where it names none, or one that cannot be read."""
    if not text.strip(BLANKS) or text.lstrip(BLANKS).startswith("-"):
        return None
    try:
        with open(text, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def cuda_folders(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The folders of LD_LIBRARY_PATH that hold CUDA, which the loader finds before what pip installed; pip's own do not count."""
    named = dict.fromkeys(environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    return tuple(folder for folder in named if folder and PIPS_OWN not in folder and _has_cuda(folder))


def _has_cuda(folder: str) -> bool:
    try:
        return any(entry.startswith(CUDA_LIBRARIES) for entry in os.listdir(folder))
    except OSError:
        return False
