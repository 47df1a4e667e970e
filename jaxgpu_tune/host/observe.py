"""The only reader of the world: everything that planning may know, as one frozen value."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from ..knowledge.families import acts
from ..knowledge.pool import neighbours
from ..model import Decision, Machine, Observation
from ..planning.findings.option_needs import TORCH
from ..planning.settings.setting_names import VISIBLE
from ..planning.xla_flags.grammar import BLANKS
from ..state import Layer, State
from .apply import changed_behind_import, changed_options, former_options
from .detect import detect_machine, machine_file
from .looked_up import named_by_layers
from .marker import MARKER, follow, state_text
from .packages import entries_of
from .phase import live_config, phase

__all__ = ["cuda_folders", "flag_file", "observe", "relevant"]

CUDA_LIBRARIES = ("libcudart.so", "libcublas.so", "libcudnn.so", "libnccl.so", "libcupti.so", "libnvJitLink.so")
PIPS_OWN = os.path.join("-packages", "nvidia", "")


def observe(
    environ: Mapping[str, str], machine: Machine | None = None, live: bool = True, visible: str | None = None
) -> Observation:
    """What is there now. ``live`` False: a fresh process is planned for, so what this one has imported does not count.

    ``visible``: the CUDA_VISIBLE_DEVICES that the call asks for, which holds where none is set already.
    """
    passed = changed_behind_import(environ) if live else {}
    followed = follow(environ, passed)
    before, layers = followed.environ, followed.state.layers
    edited = changed_options() if live else {}
    asked = _visible(layers) if visible is None else {VISIBLE: visible}
    seen = machine if machine is not None else detect_machine({**asked, **before}, live)
    seen = seen._replace(phase=phase() if live else "not-imported")
    return Observation(
        machine=seen,
        environ=before,
        jax_config=_options(seen.jax, edited) if live else None,
        flag_file=flag_file(before.get("XLA_FLAGS", "")),
        modules=frozenset(one.module for one in neighbours() if live and one.module in sys.modules) | _cuda_users(live),
        cuda_folders=cuda_folders(before),
        live=live,
        layers=layers,
        named=named_by_layers(layers, described=machine is not None or machine_file(before) is not None),
        edits={**followed.state.edits, **{name.upper(): layers[-1].number for name in edited if layers}},
        notes=followed.findings,
        unread=passed,
    )


def _visible(layers: tuple[Layer, ...]) -> dict[str, str]:
    """The CUDA_VISIBLE_DEVICES that earlier calls ask for."""
    asked = [env[VISIBLE] for one in layers if VISIBLE in (env := one.arguments.get("env") or {})]
    return {VISIBLE: str(asked[-1])} if asked and asked[-1] is not None else {}


def _options(jax: str | None, edited: Mapping[str, Any]) -> dict[str, Any] | None:
    """The user's options of a live jax: what is not the default, and what was changed since we set it."""
    found = live_config(jax, former_options())
    return None if found is None else {**edited, **found}


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
    return any(entry.startswith(CUDA_LIBRARIES) for entry in entries_of(folder))


def relevant(observation: Observation, decisions: Iterable[Decision]) -> dict[str, str]:
    """What the plan can depend on, so that it can be made again from the report; what earlier calls asked for included."""
    environ = dict(observation.environ)
    if observation.layers:
        environ[MARKER] = state_text(State(observation.layers, edits=observation.edits))
    decided = {decision.name for decision in decisions if decision.kind == "env"}
    return {name: value for name, value in sorted(environ.items()) if acts(name, "told") or name in decided}
